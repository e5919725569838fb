"""Lines compared with a baseline of the same model, image by image."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sightline.analysis._material import line_columns
from sightline.metrics import METRICS
from sightline.records import InputError
from sightline.results._lines import units_of
from sightline.results._wording import beside
from sightline.results.leaderboard import so_far, with_note
from sightline.stats.paired import compare_family, compare_paired

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from sightline.results._lines import Line
    from sightline.results._tables import Tables
    from sightline.results._views import Name

    Floats = NDArray[np.float64]

__all__ = ["ALPHA", "against_lines"]

ALPHA = 0.05


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
    images = [image for (image,) in tables.fetch("SELECT image FROM images")]
    sides = [[_values(tables, name, line, images) for line in pair] for pair in pairs]
    tests = [compare_paired(a, b, flips=flips, seed=seed) for a, b in sides]
    family = compare_family(np.stack([a - b for a, b in sides], axis=1), flips=flips, seed=seed)
    low, high = METRICS[name.metric].range
    ends = np.clip([(test.low, test.high) for test in tests], low - high, high - low)
    frame = pd.DataFrame(
        {
            **line_columns([a for a, _ in pairs]),
            "against": pd.Series([_told_short(b) for _, b in pairs], dtype=str),
            "value": [test.value_a for test in tests],
            "other": [test.value_b for test in tests],
            "difference": [test.difference for test in tests],
            "low": ends[:, 0],
            "high": ends[:, 1],
            "p": [test.p for test in tests],
            "p_wilcoxon": [test.p_wilcoxon for test in tests],
            "p_holm": family.holm,
            "p_bh": family.bh,
            "p_max_t": family.max_t,
            "dz": [test.dz for test in tests],
            "n": [test.n for test in tests],
            "undefined": [test.undefined for test in tests],
            "chosen": pd.Series([a.chosen for a, _ in pairs], dtype=str),
            "reason": pd.Series([test.reason for test in tests], dtype=str),
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
    )


def _belong(a: Line, b: Line) -> bool:
    """Say whether b is the baseline that stands beside a."""
    if (a.model, a.head) != (b.model, b.head) or a.method == b.method:
        return False
    return len({a.target, b.target} - {""}) < 2


def _told_short(line: Line) -> str:
    return line.method if line.layer is None else f"{line.method} layer {line.layer}"


def _values(tables: Tables, name: Name, line: Line, images: Sequence[str]) -> Floats:
    frame = tables.frame(units_of(tables, name, line), line.values()).set_index("image")
    values: Floats = frame["value"].reindex(list(images)).to_numpy(np.float64)
    return values


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
