"""Lines compared with a baseline of the same model, image by image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.core import InputError
from sightline.metrics import METRICS
from sightline.results._missing_label_inputs import line_columns
from sightline.results._wording import beside
from sightline.results.comparison import paired_figures
from sightline.results.leaderboard import find_warnings, list_map_keys, so_far, with_note
from sightline.stats._flips import FEWEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from sightline.results._lines import Line
    from sightline.results._tables import Tables
    from sightline.results._views import Name

__all__ = ["ALPHA", "against_lines"]

ALPHA = 0.05
_FIGURES = (
    *("difference", "low", "high", "p", "p_wilcoxon", "p_holm", "p_bh", "p_max_t", "dz", "n"),
)


def against_lines(
    tables: Tables,
    name: Name,
    lines: Sequence[Line],
    others: Sequence[Line],
    against: str,
    drawn: tuple[int, int],
) -> pd.DataFrame:
    """Compare each line with that of a baseline of the same model, image by image."""
    import pandas as pd

    flips, seed = drawn
    pairs = [(a, b) for a in lines for b in others if _belong(a, b)]
    if not pairs:
        raise InputError(f"nothing to compare: no other method is stored beside {against!r}")
    figures = paired_figures(name, pairs, flips=flips, seed=seed)
    ((images,),) = tables.fetch("SELECT count(*) FROM images")
    frame = pd.DataFrame(
        {
            **line_columns([a for a, _ in pairs]),
            "against": pd.Series([_told_short(b) for _, b in pairs], dtype=str),
            "value": figures["value_a"],
            "other": figures["value_b"],
            **{figure: figures[figure] for figure in _FIGURES},
            "undefined": images - figures["n"],
            "chosen": pd.Series([a.chosen for a, _ in pairs], dtype=str),
            "reason": pd.Series([_reason(n) for n in figures["n"]], dtype=str),
        }
    )
    frame.attrs["metric"], frame.attrs["against"] = str(name), against
    frame.attrs["sentence"] = _sentence_of_pairs(frame, name, against)
    return with_note(
        frame,
        f"{name} minus that of {against} of the same model, paired by image",
        "p-values are two-sided by sign flips, which assumes that the two would be exchangeable "
        "within each image if they were equally good",
        f"corrected over {len(pairs)} comparisons: p_holm, p_bh, p_max_t",
        "p-values do not know that layers were chosen on the same images, and are too small for it"
        if any(a.chosen.startswith("best") for a, _ in pairs)
        else "",
        beside(name),
        so_far(tables),
        warnings=find_warnings(tables, list_map_keys(line for pair in pairs for line in pair)),
    )


def _belong(a: Line, b: Line) -> bool:
    """Say whether b is the baseline that stands beside a."""
    if (a.model, a.head) != (b.model, b.head) or a.method == b.method:
        return False
    return len({a.target, b.target} - {""}) < 2


def _told_short(line: Line) -> str:
    return line.method if line.layer is None else f"{line.method} layer {line.layer}"


def _reason(n: int) -> str:
    """Say why there is no p-value."""
    return "" if n >= FEWEST else f"too few images: {n}, p-values need {FEWEST}"


def _sentence_of_pairs(frame: pd.DataFrame, name: Name, against: str) -> str:
    tested = frame[frame["p"].notna()]
    if tested.empty:
        reason = next((text for text in frame["reason"] if text), "too few images")
        return f"Nothing can be said about {against}: {reason}."
    sign = -1 if METRICS[name.metric].direction == "lower" else 1
    shown = tested[tested["p_max_t"] <= ALPHA]
    better = int((sign * shown["difference"] > 0).sum())
    worse = len(shown) - better
    rest = len(tested) - len(shown)
    lines = "1 line" if len(tested) == 1 else f"{len(tested)} lines"
    return (
        f"Of {lines}, {better} score{'s' if better == 1 else ''} better than {against} and {worse} "
        f"worse (max-T corrected p ≤ {ALPHA:g}); for {rest} no difference could be shown."
    )
