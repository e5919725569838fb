"""The table of tests against chance, and what it says in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sightline.metrics import METRICS
from sightline.results._baseline_pairs import ALPHA
from sightline.results._catalogue import BASELINE
from sightline.results._lines import rounded
from sightline.results._missing_label_inputs import line_columns, records
from sightline.results._values import spreads
from sightline.results._wording import line_name
from sightline.results.leaderboard import layer_column
from sightline.stats.corrections import benjamini_hochberg, holm
from sightline.stats.nulls import CROSS, TORUS
from sightline.stats.paired_tests import max_t_pvalues

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from sightline.results._lines import Line
    from sightline.results._views import Name
    from sightline.stats.nulls import Null

    Floats = NDArray[np.float64]

__all__ = [
    "NullKind",
    "Tested",
    "best_first",
    "frame_of_images",
    "frame_of_lines",
    "notes",
    "sentence",
]

NullKind = Literal["cross-image", "torus"]


@dataclass(frozen=True)
class Tested:
    """A line, the test of it, and what its images score.

    Attributes
    ----------
    line, null, images
        The line, its null and its images.
    units
        Their scores with chance and selected share, as stored.
    expected
        The mean score of each image under the null.
    exact
        Mean exact chance of the images with a score; NaN of other metrics than IoU.
    family
        Which lines were drawn together.
    """

    line: Line
    null: Null
    images: tuple[str, ...]
    units: pd.DataFrame
    expected: Floats
    exact: float
    family: int


def best_first(found: list[Tested], name: Name) -> list[Tested]:
    sign = 1 if METRICS[name.metric].direction == "lower" else -1
    means = [rounded(one.line.sums.mean()) for one in found]
    order = sorted(range(len(found)), key=lambda k: (math.isnan(means[k]), sign * means[k]))
    return [found[k] for k in order]


def frame_of_lines(found: Sequence[Tested], name: Name, null: NullKind) -> pd.DataFrame:
    """Return the lines as a table, in their order."""
    import pandas as pd

    lines = [one.line for one in found]
    p = np.array([one.null.p for one in found])
    spans = spreads(name, lines)
    columns: dict[str, Any] = {
        **line_columns(lines),
        "value": [line.sums.mean() for line in lines],
        "low": [span.low for span in spans],
        "high": [span.high for span in spans],
        "chance": [line.sums.mean("chance") for line in lines],
        "exact": [one.exact for one in found],
        _NULL_MEAN[null]: [one.null.mean for one in found],
        "p": p,
        "p_holm": holm(p),
        "p_bh": benjamini_hochberg(p),
        "p_max_t": _max_t(found, name),
        "n": [int(line.sums.n) for line in lines],
        "undefined": [int(line.sums.undefined) for line in lines],
        "classes": [one.null.blocks for one in found],
        "alone": [one.null.alone for one in found],
        "chosen": pd.Series([line.chosen for line in lines], dtype=str),
        "reason": pd.Series([_reason(one) for one in found], dtype=str),
    }
    if null == "torus":
        del columns["classes"], columns["alone"]
    if name.metric != "iou":
        del columns["exact"]
    return pd.DataFrame(columns)


_NULL_MEAN = {"cross-image": "cross", "torus": "shifted"}


def _reason(one: Tested) -> str:
    """Say why there is no p-value, or that it leaves images out."""
    null = one.null
    if null.reason and null.alone and len(one.images) > 1:
        return f"{null.reason}; resolution: grid with fit: squash makes all images alike"
    if null.alone and not null.reason:
        images = "1 image" if null.alone == 1 else f"{null.alone} images"
        return f"p without {images} that no other is shown like"
    return null.reason


def _max_t(found: Sequence[Tested], name: Name) -> Floats:
    """Return p-values corrected over all lines, from the draws that lines have in common.

    Where lines have different images they are drawn apart, and each group of them bears its share
    of the error.
    """
    sign = -1.0 if METRICS[name.metric].direction == "lower" else 1.0
    p = np.full(len(found), np.nan)
    families = sorted({one.family for one in found})
    for family in families:
        some = [
            k for k, one in enumerate(found) if one.family == family and not math.isnan(one.null.p)
        ]
        if some:
            observed = np.array([sign * found[k].null.value for k in some])
            draws = np.stack([sign * _draws(found[k].null) for k in some])
            p[some] = np.minimum(1, len(families) * max_t_pvalues(observed, draws, two_sided=False))
    return p


def _draws(null: Null) -> Floats:
    return np.zeros(0) if null.draws is None else null.draws


def frame_of_images(found: Sequence[Tested]) -> pd.DataFrame:
    """Return a line for each line and image."""
    import pandas as pd

    parts = []
    for one in found:
        count = len(one.images)
        named = line_columns([one.line])
        part: dict[str, Any] = {
            key: pd.Series([values[0]] * count, dtype=object) for key, values in named.items()
        }
        part |= {
            "image": pd.Series(one.images, dtype=str),
            "value": one.units["value"].to_numpy(np.float64),
            "chance": one.units["chance"].to_numpy(np.float64),
            _NULL_MEAN[one.null.kind]: one.expected,
            "p": one.null.p_images,
            "p_holm": holm(one.null.p_images),
            "p_bh": benjamini_hochberg(one.null.p_images),
        }
        parts.append(pd.DataFrame(part))
    frame = pd.concat(parts, ignore_index=True)
    for column in ("model", "method", "group", "target"):
        frame[column] = frame[column].astype(str)
    frame["layer"] = layer_column(frame["layer"].astype(object).where(frame["layer"].notna(), None))
    return frame


def notes(found: Sequence[Tested], null: NullKind, images: bool) -> list[str]:
    """Return what must be known to read the p-values."""
    assumption = CROSS if null == "cross-image" else TORUS
    notes = [f"p-values are one-sided against the {null} null, which {assumption}"]
    if images:
        notes.append("corrected over the images of a line: p_holm, p_bh")
        if any(np.isnan(one.null.p_images).all() for one in found):
            notes.append("an image has a p-value among 20 or more maps")
    else:
        notes.append(f"corrected over {len(found)} lines: p_holm, p_bh, p_max_t")
    if any(one.null.alone and not one.null.reason for one in found):
        notes.append(
            "alone: images that no other is shown like: p and cross do without them, value does not"
        )
    if any(one.line.chosen.startswith("best") for one in found):
        notes.append(
            "p-values of images do not know that layers were chosen on the same images, and are "
            "too small for it"
            if images
            else "a layer that was chosen as the best is chosen again in each draw: p pays for it"
        )
    return notes


def sentence(frame: pd.DataFrame, name: Name, null: NullKind) -> str:
    """Say in words what the table shows."""
    lower = METRICS[name.metric].direction == "lower"
    side, what = ("below", "lowest") if lower else ("above", "highest")
    rivals = "other images' maps" if null == "cross-image" else "the same maps moved around"
    tested = frame[frame["p"].notna()]
    if tested.empty:
        reason = next((text for text in frame["reason"] if text), "too few images")
        return f"Nothing can be said about chance: {reason}."
    shown = tested[tested["p_max_t"] <= ALPHA]
    baselines = int((shown["group"] == BASELINE).sum())
    total = f"{len(tested)} line{'' if len(tested) == 1 else 's'}"
    corrected = f"max-T corrected p ≤ {ALPHA:g} over {total}"
    if shown.empty:
        return (
            f"No line scores {side} what {rivals} score on the same regions ({corrected}): "
            "no difference from chance could be shown, which is no proof that there is none."
        )
    best = records(shown)[0]
    verb = "scores" if len(shown) == 1 else "score"
    among = f"{baselines} of them baselines" if baselines else "no baseline among them"
    first = (
        f"{len(shown)} of {total} {verb} {side} what {rivals} score on the same regions "
        f"({corrected}), {among}"
    )
    called = line_name(best["model"], best["method"], best["target"], best["layer"])
    mean = best[_NULL_MEAN[null]]
    closed = "" if math.isnan(best["chance"]) else f", closed-form chance {best['chance']:.3f}"
    second = (
        f"the {what} of these is {called} with {name} {best['value']:.3f} "
        f"(95% interval {best['low']:.3f} to {best['high']:.3f}) against {mean:.3f} of "
        f"{rivals}{closed}"
    )
    return f"{first}; {second}."
