"""Tables about labels: how many instances have one, which, and IoU corrected for the others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.results._missing_label_inputs import mean, names
from sightline.results.configuration_scores import measure_regions
from sightline.stats.corrections import holm
from sightline.stats.missing_labels import (
    compute_label_bias,
    labelling_looks_random,
    pu_band,
    pu_iou,
)

if TYPE_CHECKING:
    import pandas as pd

    from sightline.results._missing_label_inputs import Material
    from sightline.results.annotation_sets import Sets
    from sightline.results.configuration_scores import LineFigures

__all__ = ["compute_frequency_range", "counts_table", "labelling_table", "pu_table"]

FREQUENCY = (0.2, 1.0)
"""Labelling frequencies tried where nothing is known of it."""


def counts_table(material: Material) -> pd.DataFrame:
    """Return how many regions of each label there are, and how many have no label."""
    import pandas as pd

    tables = material.scenes.results._tables
    lines = tables.fetch("SELECT image, label, dropped FROM regions ORDER BY label")
    gold = None if material.gold is None else material.gold.regions()
    found = {label for _, label, dropped in lines if dropped in ("", "unlabelled")}
    labels = sorted(found | set(gold or ()))
    known = any(dropped == "unlabelled" for *_, dropped in lines)
    shared = set() if material.gold is None else set(material.gold.shared)
    rows = []
    for label in labels:
        mine = [(image, dropped) for image, other, dropped in lines if other == label]
        regions = sum(not dropped for _, dropped in mine)
        unlabelled = sum(dropped == "unlabelled" for _, dropped in mine) if known else None
        here = sum(not dropped and image in shared for image, dropped in mine)
        rows.append(
            {
                "label": label,
                "regions": regions,
                "unlabelled": unlabelled,
                "on_gold_images": None if gold is None else here,
                "gold": None if gold is None else gold.get(label, 0),
                "labelled": _frequency(regions, unlabelled, here, gold, label),
            }
        )
    frame = pd.DataFrame(rows)
    for column in ("unlabelled", "on_gold_images", "gold"):
        if len(frame):
            frame[column] = pd.array(frame[column].tolist(), dtype="Int64")
    return frame


def _frequency(
    regions: int, unlabelled: int | None, here: int, gold: dict[str, int] | None, label: str
) -> float:
    """Return the labelled share of the instances: as known, else by the gold set."""
    if unlabelled is not None:
        return regions / (regions + unlabelled) if regions + unlabelled else math.nan
    if gold is None or not gold.get(label):
        return math.nan
    return min(1.0, here / gold[label])


def pu_table(material: Material, counts: pd.DataFrame) -> pd.DataFrame:
    """Return the IoU of each line, corrected for instances without a label."""
    import pandas as pd

    instances, frequency = material.count_instances(), _range(counts)
    images = list(material.scenes.images)
    rows = []
    for one in material.shown:
        facts, ious = _corrected(one.regions, instances, frequency, material.seed)
        row = {"iou": mean(one.images["iou"]), "overlap": _overlap(one), **facts}
        gap = _compare_with_gold(ious.reindex(columns=images), material.sets[one.called])
        rows.append({**names(one.line), **row, **gap})
    frame = pd.DataFrame(rows)
    frame["gold_p_holm"] = holm(frame["gold_p"].to_numpy(np.float64))
    return frame


def _corrected(
    regions: pd.DataFrame,
    instances: dict[tuple[str, str], int] | None,
    frequency: tuple[float, float],
    seed: int,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Return the corrected IoU by known counts, or its band over frequencies; and by image.

    Of a band, the values by image are those of its two ends.
    """
    import pandas as pd

    recall, area, attended = (
        regions[key].to_numpy(np.float64) for key in ("recall", "area", "attended")
    )
    images, groups = list(regions["image"]), list(regions["label"])
    if instances is None:
        band = pu_band(recall, area, attended, images=images, groups=groups, frequency=frequency)
        by = f"labelling frequency {frequency[0]:.2f} to {frequency[1]:.2f} on every image"
        found = (by, math.nan, band.low, band.high, band.n)
        ends = [int(band.values.argmin()), int(band.values.argmax())] if band.n else []
        ious = pd.DataFrame(band.iou[ends], columns=list(band.images))
    else:
        counts = [instances[key] for key in zip(images, groups, strict=True)]
        pu = pu_iou(recall, area, attended, counts, images=images, groups=groups, seed=seed)
        found = ("known counts", pu.value, pu.low, pu.high, pu.n)
        ious = pd.DataFrame([pu.iou], columns=list(pu.images))
    return dict(zip(("by", "corrected", "low", "high", "n"), found, strict=True)), ious


def _compare_with_gold(ious: pd.DataFrame, sets: Sets) -> dict[str, float]:
    """Return gold minus corrected IoU on the gold images, paired; NaN without a gold set.

    Of a band it is the end that the gold scores are beyond, and 0 where they are beyond none.
    """
    keys = ("difference", "low", "high", "p")
    if sets.gold is None or not len(ious):
        return {f"gold_{key}": math.nan for key in keys}
    gaps = [
        compute_label_bias(row, sets.gold, strata=sets.strata, limits=sets.limits)
        for row in ious.to_numpy()
    ]
    least, most = gaps[0], gaps[-1]
    if len(gaps) > 1 and least.difference >= 0 >= most.difference:
        return dict(
            zip((f"gold_{key}" for key in keys), (0.0, math.nan, math.nan, 1.0), strict=True)
        )
    beyond = most if most.difference > 0 else least
    return {f"gold_{key}": getattr(beyond, key) for key in keys}


def _overlap(one: LineFigures) -> float:
    """Return the share of the regions' summed area that lies in more than one region."""
    atoms = one.overlaps.atoms
    summed = sum(float(image.member.sum(1) @ image.pixels) for image in atoms)
    union = sum(float(image.pixels.sum()) for image in atoms)
    return 1 - union / summed if summed else math.nan


def _range(counts: pd.DataFrame) -> tuple[float, float]:
    """Return the labelling frequencies to try: around that of the gold set, if there is one."""
    total = int(counts["gold"].sum()) if "gold" in counts else 0
    if not total:
        return FREQUENCY
    return compute_frequency_range(int(counts["on_gold_images"].sum()), total)


def compute_frequency_range(labelled: int, gold: int) -> tuple[float, float]:
    """Return the labelling frequencies to try, by the regions of the gold images in both sets."""
    share = min(1.0, labelled / gold)
    return max(0.02, 0.8 * share), min(1.0, 1.2 * share)


def labelling_table(material: Material) -> pd.DataFrame:
    """Return whether labelled instances look chosen at random; nothing where none is known."""
    import pandas as pd

    columns = ["quantity", "p", "p_holm", "rank", "direction", "groups", "instances", "reason"]
    if material.count_instances() is None:
        return pd.DataFrame(columns=columns)
    main, scenes = material.main, material.scenes
    maps = scenes.maps(main.line, scenes.seeds(main.line)[0], complete=True)
    _, regions = measure_regions(maps, material.name.threshold, scenes.scoring.ties)
    labelled = set(zip(main.regions["image"], main.regions["region"], strict=True))
    taken = [pair in labelled for pair in zip(regions["image"], regions["region"], strict=True)]
    groups = list(zip(regions["image"], regions["label"], strict=True))
    quantities = {
        "area": regions["area"],
        "distance to the centre": _distances(maps, regions),
        f"recall of {main.called}": regions["recall"],
    }
    rows = []
    for what, values in quantities.items():
        test = labelling_looks_random(values, taken, groups, seed=material.seed)
        figures = (test.p, test.statistic, test.direction, test.groups, test.instances)
        rows.append((what, *figures, test.reason))
    frame = pd.DataFrame(rows, columns=[name for name in columns if name != "p_holm"])
    frame.insert(2, "p_holm", holm(frame["p"].to_numpy(np.float64)))
    return frame


def _distances(maps: Any, regions: pd.DataFrame) -> Any:
    """Return how far the middle of each region is from that of what the model saw."""
    middles = {
        (image, region.index): np.hypot(
            (region.box[0] + region.box[2]) / 2 - 0.5, (region.box[1] + region.box[3]) / 2 - 0.5
        )
        for image, annotation in zip(maps.images, maps.regions, strict=True)
        for region in annotation.scored
    }
    keys = zip(regions["image"], regions["region"], strict=True)
    return np.array([middles[image, int(region)] for image, region in keys])
