"""What the maps of a line score on each image and each region, whatever the study computed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.metrics import score_maps
from sightline.results._catalogue import BASELINE
from sightline.results._missing_label_inputs import mean_of
from sightline.results._wording import line_name
from sightline.stats.missing_labels import Overlaps, atoms_of, lift, overlaps, share_of_ceiling

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from sightline.metrics.selection import Ties
    from sightline.results._lines import Line
    from sightline.results.map_reader import LineMaps, Scenes
    from sightline.stats.missing_labels import Atoms

__all__ = ["FIGURES", "LineFigures", "Measurer", "measure", "measure_regions"]


@dataclass(frozen=True, eq=False)
class LineFigures:
    """A line's figures.

    Attributes
    ----------
    line : Line
        Whose they are.
    images : DataFrame
        By image id: iou, chance, ceiling, share (of the ceiling), recall, lift, coverage, pointing,
        attended (selected share), area (annotated share).
    regions : DataFrame
        A line for each labelled region, with image, region (its number), label, and the same of
        the region alone.
    overlaps : Overlaps
        What the selections cover, of the first seed.
    seeds : int
        How many seeds the figures are means of.
    """

    line: Line
    images: pd.DataFrame
    regions: pd.DataFrame
    overlaps: Overlaps
    seeds: int

    @property
    def baseline(self) -> bool:
        """Whether the maps know nothing of the model."""
        return self.line.group == BASELINE

    @property
    def called(self) -> str:
        """The line in a few words."""
        line = self.line
        return line_name(line.model, line.method, line.target, line.layer, line.head)


FIGURES = (
    *("iou", "chance", "ceiling", "share", "recall", "lift", "coverage", "pointing"),
    *("attended", "area"),
)


class Measurer:
    """Measures lines one after the other; groups of pixels are found once for all of them."""

    def __init__(self, scenes: Scenes, threshold: str) -> None:
        self.scenes, self.threshold = scenes, threshold
        self._atoms: dict[tuple[str, Hashable], Atoms] = {}

    def measure(self, line: Line) -> LineFigures:
        """Return the figures of a line: means over its seeds."""
        seeds = self.scenes.seeds(line)
        found: list[tuple[pd.DataFrame, pd.DataFrame]] = []
        first: Overlaps | None = None
        for seed in seeds:
            maps = self.scenes.maps(line, seed)
            found.append(measure_regions(maps, self.threshold, self.scenes.scoring.ties))
            first = first or self._overlaps(maps)
        images, regions = (_mean([pair[k] for pair in found]) for k in (0, 1))
        covered = first or Overlaps((), (), np.empty(0))
        return LineFigures(line, images, regions, covered, len(seeds))

    def _overlaps(self, maps: LineMaps) -> Overlaps:
        plain = self.threshold[:1].isdigit()
        return overlaps(
            maps.maps,
            [self._atoms_of(maps, i) for i in range(len(maps.images))],
            float(self.threshold) if plain else 90,
            selection="percentile" if plain else self.threshold,
            sign=maps.sign,  # type: ignore[arg-type]
            ties=self.scenes.scoring.ties,
        )

    def _atoms_of(self, maps: LineMaps, i: int) -> Atoms:
        key = maps.images[i], maps.views[i]
        if key not in self._atoms:
            shape = maps.maps[i].shape
            scored = maps.regions[i].scored
            masks = np.zeros((len(scored), *shape), np.bool_)
            for mask, region in zip(masks, scored, strict=True):
                mask[:] = region.to_mask(*shape)
            self._atoms[key] = atoms_of(masks, maps.ignore[i])
        return self._atoms[key]


def measure(scenes: Scenes, line: Line, threshold: str = "90") -> LineFigures:
    """Return the figures of a line at a threshold.

    Parameters
    ----------
    scenes : Scenes
        The maps of the study.
    line : Line
        Which of them.
    threshold : str
        Of the selection: a percentile, "mass60", "mean".
    """
    return Measurer(scenes, threshold).measure(line)


def measure_regions(
    maps: LineMaps, threshold: str, ties: Ties = "share"
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the figures of each image, and of each region: see `LineFigures`."""
    import pandas as pd

    groups: dict[tuple[int, ...], list[int]] = {}
    for i, values in enumerate(maps.maps):
        groups.setdefault(values.shape, []).append(i)
    parts = [_measure(maps, some, threshold, ties) for some in groups.values()]
    images = pd.concat([part[0] for part in parts]).loc[list(maps.images)]
    place = {image: i for i, image in enumerate(maps.images)}
    regions = pd.concat([part[1] for part in parts], ignore_index=True)
    order = np.argsort([place[image] for image in regions["image"]], kind="stable")
    return images, regions.iloc[order].reset_index(drop=True)


def _measure(
    maps: LineMaps, some: Sequence[int], threshold: str, ties: Ties
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Score the maps of one size."""
    import pandas as pd

    energy = () if maps.sign == "signed" else ("coverage",)
    plain = threshold[:1].isdigit()
    scores = score_maps(
        np.stack([maps.maps[i] for i in some]),
        regions=[maps.regions[i] for i in some],
        ignore=_stacked([maps.unseen[i] for i in some], maps.maps[some[0]].shape),
        metrics=(f"iou@{threshold}", f"recall@{threshold}", "pointing", *energy),
        selection="percentile" if plain else threshold,
        percentiles=(float(threshold),) if plain else (90,),
        sign=maps.sign,  # type: ignore[arg-type]
        ties=ties,
        threads=1,
    )
    ids = np.array([maps.images[i] for i in some], object)
    images = pd.DataFrame(_figures(scores, threshold), index=ids)
    parts = scores.regions
    if parts is None:
        return images, pd.DataFrame(columns=["image", "region", "label", *FIGURES])
    names = {"image": ids[parts.map], "region": parts.region, "label": parts.label}
    return images, pd.DataFrame({**names, **_figures(parts, threshold)})


def _figures(scores: Any, threshold: str) -> dict[str, NDArray[np.float64]]:
    """Return figures by name."""
    iou, recall = scores[f"iou@{threshold}"], scores[f"recall@{threshold}"]
    a, g = scores[f"attention_area@{threshold}"], scores["annotation_area"]
    return {
        "iou": iou,
        "chance": scores[f"iou_chance@{threshold}"],
        "ceiling": scores[f"iou_ceiling@{threshold}"],
        "share": share_of_ceiling(iou, a, g),
        "recall": recall,
        "lift": lift(recall, a),
        "coverage": scores.get("coverage", np.full(iou.shape, np.nan)),
        "pointing": scores["pointing"],
        "attended": a,
        "area": g,
    }


def _stacked(
    masks: Sequence[NDArray[np.bool_] | None], shape: tuple[int, ...]
) -> NDArray[np.bool_] | None:
    if all(mask is None for mask in masks):
        return None
    nothing = np.zeros(shape, np.bool_)
    return np.stack([nothing if mask is None else mask for mask in masks])


def _mean(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the mean over seeds, of what is defined."""
    if len(frames) == 1:
        return frames[0]
    found = frames[0].copy()
    found[list(FIGURES)] = mean_of([one[list(FIGURES)].to_numpy(np.float64) for one in frames])
    return found
