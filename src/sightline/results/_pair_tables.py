"""Tables about pairs of models: how their difference fares as labels are left out."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr

from sightline.metrics import METRICS
from sightline.results._missing_label_inputs import or_none
from sightline.results.leaderboard import layer_column
from sightline.results.missing_label_findings import SHOWN_RATE
from sightline.stats.confidence import interval
from sightline.stats.corrections import holm
from sightline.stats.missing_labels import RATES, Overlaps, delta_bands

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from sightline.results._missing_label_inputs import Material
    from sightline.results.configuration_scores import LineFigures
    from sightline.stats.missing_labels import PPI

__all__ = ["deltas_tables"]

# What pairs are compared by, and the metric whose range that has.
_COMPARED = {"iou": "iou", "recall": "recall", "label_recall": "recall", "coverage": "coverage"}


def deltas_tables(material: Material) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return how each pair fares by rate, and what can be said of it by every measure."""
    import pandas as pd

    rows, verdicts = [], []
    pairs = list(_pairs(material))
    for number, (a, b) in enumerate(pairs):
        material.move(number, len(pairs), f"Comparing {a.line.model} with {b.line.model}")
        names = {
            "a": a.line.model,
            "b": b.line.model,
            "method": a.line.method,
            "target": a.line.target,
            "layer_a": a.line.layer,
            "layer_b": b.line.layer,
        }
        bands = delta_bands(*_shared(a, b), (0, *RATES), material.draws, seed=material.seed)
        rows += [
            {**names, "rate": band.rate, "difference": band.value, "low": band.low,
             "high": band.high, "mean": band.mean, "same_sign": band.same_sign, "p": band.p,
             "significant": band.significant, "emptied": band.emptied, "n": band.n}
            for band in bands
        ]  # fmt: skip
        verdicts.append({**names, **_verdict(material, a, b, bands)})
    frame = pd.DataFrame(verdicts)
    if len(frame):
        for column in ("p", "joined_p"):
            place = list(frame).index(column) + 1
            frame.insert(place, f"{column}_holm", holm(frame[column].to_numpy(np.float64)))
    found = pd.DataFrame(rows), frame
    for table in found:
        for column in ("layer_a", "layer_b"):
            if column in table:
                table[column] = layer_column(or_none(table[column]))
    return found


def _pairs(material: Material) -> Iterator[tuple[LineFigures, LineFigures]]:
    """Yield lines that differ in their model alone."""
    for a, b in combinations(material.shown, 2):
        first, second = a.line.picks[0][:2], b.line.picks[0][:2]
        alike = first == second and a.line.head == b.line.head
        if alike and a.line.model != b.line.model and set(a.images.index) & set(b.images.index):
            yield a, b


def _verdict(
    material: Material, a: LineFigures, b: LineFigures, bands: Sequence[Any]
) -> dict[str, Any]:
    """Return how two lines differ, by every measure at hand."""
    gaps = {
        key: interval(_gaps(a, b, key), limits=METRICS[metric].difference_range)
        for key, metric in _COMPARED.items()
    }
    sets = material.sets[a.called].minus(material.sets[b.called])
    on_gold = sets.on_gold()
    both = sets.joined()
    tested = next(band for band in bands if band.rate == SHOWN_RATE)
    return {
        "difference": gaps["iou"].value,
        "low": gaps["iou"].low,
        "high": gaps["iou"].high,
        "p": bands[0].p,
        "same_sign": bands[-1].same_sign,
        "significant": bands[-1].significant,
        "p_dropout": tested.p,
        "significant_dropout": tested.significant,
        **{
            f"{key}{end}": getattr(gaps[key], field)
            for key in ("recall", "label_recall", "coverage")
            for end, field in (("", "value"), ("_low", "low"), ("_high", "high"))
        },
        "gold": math.nan if on_gold is None else on_gold.value,
        "gold_low": math.nan if on_gold is None else on_gold.low,
        "gold_high": math.nan if on_gold is None else on_gold.high,
        "joined": math.nan if both is None else both.value,
        "joined_low": math.nan if both is None else both.low,
        "joined_high": math.nan if both is None else both.high,
        "joined_p": math.nan if both is None else _p_value(both),
        "n": gaps["iou"].n,
    }


def _p_value(both: PPI) -> float:
    """Return the two-sided p-value of a joined difference."""
    if math.isnan(both.value) or not both.se:
        return math.nan if math.isnan(both.value) else float(not both.value)
    return 2 * float(stdtr(both.df, -abs(both.value) / both.se))


def _gaps(a: LineFigures, b: LineFigures, key: str) -> Any:
    """Return the differences of two lines by image.

    At a fixed selected area the recall of all regions together says what IoU says: `recall` is the
    mean over the regions of an image, `label_recall` the mean over its labels.
    """
    sides = [_by_image(one, key) for one in (a, b)]
    return (sides[0] - sides[1]).to_numpy(np.float64)


def _by_image(one: LineFigures, key: str) -> pd.Series[float]:
    if key == "recall":
        return one.regions.groupby("image")["recall"].mean()
    if key == "label_recall":
        labels = one.regions.groupby(["image", "label"], dropna=False)["recall"].mean()
        return labels.groupby("image").mean()
    return one.images[key]


def _shared(a: LineFigures, b: LineFigures) -> tuple[Overlaps, Overlaps]:
    """Return what two lines cover on the images that both have."""
    if a.images.index.equals(b.images.index):
        return a.overlaps, b.overlaps
    common = a.images.index.intersection(b.images.index)
    return _only(a, common), _only(b, common)


def _only(one: LineFigures, images: Any) -> Overlaps:
    places = one.images.index.get_indexer(images)
    given = one.overlaps
    return Overlaps(
        tuple(given.atoms[i] for i in places),
        tuple(given.inside[i] for i in places),
        given.selected[places],
    )
