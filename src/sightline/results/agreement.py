"""Whether methods show the same: rank correlation of their maps, image by image."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sightline.results._grids import RASTER, coarser, read, spread_over, to_cells
from sightline.stats._order import leaf_order
from sightline.stats._ranks import centred_ranks
from sightline.stats.confidence import intervals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from sightline.results._lines import Line
    from sightline.results.map_reader import Scenes

    Progress = Callable[[int, int, str], object]

__all__ = ["Agreement", "CellsByImage", "map_agreement", "rank_correlations"]

IMAGES = 60
"""Images that are compared unless said otherwise."""
CELLS = 56
"""Longer side of the raster on which maps are compared."""


class Agreement(NamedTuple):
    """How much the maps of lines agree.

    Attributes
    ----------
    matrix : array (lines, lines)
        Spearman's correlation, ties sharing their rank; mean over images. NaN where no image has
        one, as the maps of a line are constant.
    counts : array (lines, lines)
        Over how many images each mean is.
    n : int
        How many images were compared: the most of any two lines.
    images : int
        How many the study has.
    low, high : array (lines, lines)
        Ends of the 95% interval of each mean over images; NaN below two images.
    order : array (lines,)
        In which lines are neighbours that agree: clustered by average linkage on 1 − correlation,
        branches turned so that neighbours are as close as can be.
    """

    matrix: NDArray[np.float64]
    counts: NDArray[np.int64]
    n: int
    images: int
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    order: NDArray[np.intp]


def map_agreement(
    scenes: Scenes,
    lines: Sequence[Line],
    *,
    most: int = IMAGES,
    progress: Progress | None = None,
) -> Agreement:
    """Return how much the maps of lines agree on the same images.

    Maps are read as they were scored (values below zero as zero, or by their size), brought to one
    raster over the image, whose longer side has 56 cells (of an image whose size is not known, that
    of its first map), each the mean of its pixels, and ranked.
    Cells that one of the models did not see are left out. Of methods that draw random numbers it is
    the first seed.

    Parameters
    ----------
    scenes
        The maps of a study.
    lines
        Whose maps.
    most
        How many images at most, spread evenly over the study's.
    progress
        Told how many lines are read, of how many, and what is done.
    """
    images = spread_over(scenes.images, most)
    found = CellsByImage(scenes, images)
    for place, line in enumerate(lines):
        found.add(line)
        if progress is not None:
            progress(place + 1, len(lines), "agreement of maps")
    return _agreement([rank_correlations(some) for some in found.cells], len(scenes.images))


class CellsByImage:
    """The maps of lines on coarse rasters, those of one image together.

    Parameters
    ----------
    scenes
        The maps of a study.
    images
        Which of them.

    Attributes
    ----------
    cells : list of lists of arrays (rows, columns)
        For each image the map of each line that was added; None where it has none.
    """

    def __init__(self, scenes: Scenes, images: Sequence[str]) -> None:
        self._scenes, self._images = scenes, images
        self._sizes: dict[str, tuple[int, ...]] = {}
        self.cells: list[list[NDArray[np.float64] | None]] = [[] for _ in images]

    def add(self, line: Line) -> None:
        """Read the maps of another line."""
        maps = self._scenes.first_maps(line, images=self._images, resolution=RASTER)
        found = {}
        for image, values, unseen in zip(maps.images, maps.maps, maps.unseen, strict=True):
            size = self._sizes.setdefault(image, coarser(values.shape, CELLS))
            found[image] = to_cells(read(values, maps.sign), unseen, size)
        for some, image in zip(self.cells, self._images, strict=True):
            some.append(found.get(image))


def _agreement(matrices: Sequence[NDArray[np.float64]], images: int) -> Agreement:
    """Return the means of correlations (lines, lines), one matrix an image."""
    each = np.stack(matrices)
    size = each.shape[1]
    above = np.triu_indices(size)
    figures = intervals(each[:, *above], limits=(-1, 1))
    matrix, low, high, counts = np.full((4, size, size), np.nan)
    for whole, values in (
        (matrix, figures.value), (low, figures.low), (high, figures.high), (counts, figures.n)
    ):  # fmt: skip
        whole[above] = values
        whole.T[above] = values
    return Agreement(
        matrix,
        counts.astype(np.int64),
        int(counts.max(initial=0)),
        images,
        low,
        high,
        leaf_order(matrix),
    )


def rank_correlations(maps: Sequence[NDArray[np.float64] | None]) -> NDArray[np.float64]:
    """Return Spearman's correlations of the maps of one image; NaN where one has none."""
    count = len(maps)
    matrix = np.full((count, count), np.nan)
    there = [place for place, one in enumerate(maps) if one is not None]
    if not there:
        return matrix
    values = np.stack([np.ravel(maps[place]) for place in there])  # type: ignore[arg-type]
    seen = np.isfinite(values).all(axis=0)
    if seen.sum() < 2:
        return matrix
    ranks = centred_ranks(values[:, seen])
    size = np.sqrt((ranks**2).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = ranks @ ranks.T / np.outer(size, size)
    found[size == 0] = np.nan
    found[:, size == 0] = np.nan
    matrix[np.ix_(there, there)] = np.clip(found, -1, 1)
    return matrix
