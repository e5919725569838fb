"""Tables about lines: their scores side by side, where these disagree, and what gaps do to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.results._missing_label_inputs import mean, names
from sightline.results._values import spreads
from sightline.stats.missing_labels import RATES, compute_region_mean, divergence, dropout_bands

if TYPE_CHECKING:
    import pandas as pd

    from sightline.results._missing_label_inputs import Material
    from sightline.results.configuration_scores import LineFigures
    from sightline.stats.missing_labels.regions import MeanOver

__all__ = ["divergence_table", "dropout_table", "lines_table"]


def lines_table(material: Material) -> pd.DataFrame:
    """Return the scores of each line side by side, the best first."""
    import pandas as pd

    spans = spreads(material.name, [one.line for one in material.lines])
    instances = material.count_instances()
    rows = []
    for one, span in zip(material.lines, spans, strict=True):
        images, regions = one.images, one.regions
        means = {key: mean(images[key]) for key in ("chance", "share", "coverage", "pointing")}
        flags = _diverging(regions)
        rows.append(
            {
                **names(one.line),
                "iou": mean(images["iou"]),
                "low": span.low,
                "high": span.high,
                **means,
                "coverage_chance": mean(images["area"]),
                "region_iou": _average_regions(regions, "iou", instances),
                "region_recall": _average_regions(regions, "recall", instances),
                "region_lift": _average_regions(regions, "lift", instances),
                "label_recall": _average_regions(regions, "recall", None, "image_label"),
                "flagged": flags.share,
                "n": int(images["iou"].notna().sum()),
                "undefined": int(images["iou"].isna().sum()),
                "chosen": one.line.chosen,
            }
        )
    return pd.DataFrame(rows).sort_values("iou", ascending=False, ignore_index=True, kind="stable")


def _average_regions(
    regions: pd.DataFrame,
    score: str,
    instances: dict[tuple[str, str], int] | None,
    mean_over: MeanOver = "regions",
) -> float:
    """Return the mean of a score over all regions, labelled or not, or over images and labels."""
    images, labels = list(regions["image"]), list(regions["label"])
    counts = None
    if instances is not None:
        counts = [instances[key] for key in zip(images, labels, strict=True)]
    values = regions[score].to_numpy(np.float64)
    return compute_region_mean(
        values, images=images, labels=labels, instances=counts, mean_over=mean_over
    )


def divergence_table(material: Material) -> pd.DataFrame:
    """Return where metrics disagree, by label; the first line of each is about all labels."""
    import pandas as pd

    rows = []
    for one in material.shown:
        groups = [(None, one.regions), *one.regions.groupby("label", sort=True)]
        for label, regions in groups:
            found = _diverging(regions)
            rows.append(
                {
                    **names(one.line),
                    "label": label,
                    "flagged": int(found.flags.sum()),
                    "share": found.share,
                    "by_chance": found.chance,
                    "hit": mean(regions["pointing"]),
                    "coverage_lift": mean(regions["coverage"] / regions["area"]),
                    "ceiling_share": mean(regions["share"]),
                    "regions": found.n,
                    "undefined": found.undefined,
                    "sentence": found.sentence,
                }
            )
    return pd.DataFrame(rows)


def dropout_table(material: Material) -> pd.DataFrame:
    """Return the sensitivity bands of each line, by rate."""
    import pandas as pd

    groups: dict[tuple[str, ...], list[LineFigures]] = {}
    for one in material.lines:
        groups.setdefault(tuple(one.images.index), []).append(one)
    rows = []
    for number, some in enumerate(groups.values()):
        material.move(number, len(groups), "Leaving labels out")
        bands = dropout_bands(
            [one.overlaps for one in some], (0, *RATES), material.draws, seed=material.seed
        )
        for one, found in zip(some, bands, strict=True):
            rows += [
                {**names(one.line), "rate": band.rate, "value": band.value, "low": band.low,
                 "high": band.high, "mean": band.mean, "emptied": band.emptied, "n": band.n}
                for band in found
            ]  # fmt: skip
    return pd.DataFrame(rows)


def _diverging(regions: pd.DataFrame) -> Any:
    figures = (regions[key] for key in ("pointing", "coverage", "iou", "attended", "area"))
    return divergence(*(figure.to_numpy(np.float64) for figure in figures))
