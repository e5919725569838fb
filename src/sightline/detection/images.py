"""The images that cost most: how much AP would rise if one of them alone were perfect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.core.threads import in_threads, threads_for
from sightline.detection._options import find_threshold
from sightline.detection._weighted_ap import LANES, Cell, cells, check_same_evaluation, perfect
from sightline.detection.coco import ROWS_PER_THREAD

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from sightline.detection.coco import CocoArrays, CocoMatches
    from sightline.detection.columns import GroundTruth

__all__ = ["ImageCosts", "image_costs"]

_SLICE = 64 * LANES
"""Images that a thread takes at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class ImageCosts:
    """What each image costs; arrays with one entry an image.

    Attributes
    ----------
    image : array
        The ids.
    cost : array
        How much AP would rise if the image alone were perfect; NaN where there is no AP.
    false_positives, misses : array of int
        At the IoU `threshold`, over all classes and whatever the score.
    threshold : float
        0.5, or the lowest IoU threshold where 0.5 is not among them.

    Examples
    --------
    >>> from sightline import evaluate_detections
    >>> box = (0, 0, 40, 40)
    >>> truth = {"a": [[box, "cat"]], "b": [[box, "cat"]]}
    >>> evaluate_detections(truth, {"a": [[box, 0.9, "cat"]]}).costliest_images(1)
      image     cost  false_positives  misses
    0     b  0.49505                0       1
    """

    image: NDArray[Any]
    cost: NDArray[np.float64]
    false_positives: NDArray[np.int64]
    misses: NDArray[np.int64]
    threshold: float

    def __len__(self) -> int:
        return len(self.image)

    def costliest(self, count: int = 10) -> ImageCosts:
        """Return the images that cost most, from the highest cost down; equal ones by id.

        Examples
        --------
        >>> none = np.zeros(3, int)
        >>> costs = ImageCosts(np.array([3, 5, 8]), np.array([0.1, 0.4, 0.1]), none, none, 0.5)
        >>> costs.costliest(2).image.tolist()
        [5, 3]
        """
        if not isinstance(count, int | np.integer) or count < 0:
            raise InputError(f"count must be a whole number, at least 0; got {count!r}")
        order = np.argsort(-self.cost, kind="stable")[:count]
        return ImageCosts(
            self.image[order],
            self.cost[order],
            self.false_positives[order],
            self.misses[order],
            self.threshold,
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a table of the four columns.

        Examples
        --------
        >>> none = np.zeros(1, int)
        >>> costs = ImageCosts(np.array([3]), np.array([0.1]), none, none, 0.5)
        >>> costs.to_frame().columns.tolist()
        ['image', 'cost', 'false_positives', 'misses']
        """
        import pandas as pd

        names = ("image", "cost", "false_positives", "misses")
        return pd.DataFrame({name: getattr(self, name) for name in names})


def image_costs(
    matches: CocoMatches,
    arrays: CocoArrays,
    truth: GroundTruth,
    /,
    *,
    threads: int | None = None,
) -> ImageCosts:
    """Find out how much AP would rise if one image alone were perfect, for each image.

    Perfect means that all its ground truths are found before any other detection, as many of a
    class as an image may have, and that nothing else is reported in it. So an object that was found
    with less confidence than others' errors costs something, too. The costs are exact, those of
    another evaluation; they do not add up, since two images can cost the same ranks.

    Parameters
    ----------
    matches, arrays : CocoMatches, CocoArrays
        Of one evaluation, with a size range called "all".
    truth : GroundTruth
        What was matched.
    threads : int, optional
        As many as there are cores unless given; they do not change the result.

    Returns
    -------
    ImageCosts

    Examples
    --------
    >>> from sightline.detection.coco import accumulate_matches, match_detections
    >>> from sightline.detection.columns import Detections, GroundTruth
    >>> truth = GroundTruth.from_arrays([1, 2], [3, 3], [[0, 0, 40, 40], [0, 0, 40, 40]])
    >>> found = Detections.from_arrays([1, 2], [3, 3], [[0, 0, 40, 40], [90, 0, 9, 9]], [0.9, 0.8])
    >>> matches = match_detections(truth, found)
    >>> costs = image_costs(matches, accumulate_matches(matches), truth)
    >>> costs.cost.round(3).tolist(), costs.misses.tolist(), costs.false_positives.tolist()
    ([0.0, 0.495], [0, 1], [0, 1])
    """
    check_same_evaluation(matches, arrays)
    if "all" not in matches.size_ranges:
        raise InputError(f"size_ranges must have 'all'; got {', '.join(matches.size_ranges)}")
    size = list(matches.size_ranges).index("all")
    table = cells(matches, truth, arrays.max_dets[-1:], [size], whole=True)
    level = find_threshold(matches.thresholds)
    wrong, missed = _counts(table, level, len(matches.images))
    counted = [cell for cell in table if len(cell.truth_image)]
    cost = np.full(len(matches.images), np.nan)
    if counted:
        workers = threads_for(threads, len(matches.row), ROWS_PER_THREAD)
        cost = _rises(counted, arrays, len(matches.images), workers) / len(counted)
    return ImageCosts(matches.images, cost, wrong, missed, float(matches.thresholds[level]))


def _counts(
    table: list[Cell], level: int, images: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count false positives and misses of each image at one threshold."""
    wrong, missed = np.zeros(images, np.int64), np.zeros(images, np.int64)
    for cell in table:
        wrong += np.bincount(cell.image[(cell.false >> level) & 1 == 1], minlength=images)
        missed -= np.bincount(cell.image[(cell.true >> level) & 1 == 1], minlength=images)
        missed[cell.truth_image] += cell.truth_count.astype(np.int64)
    return wrong, missed


def _rises(table: list[Cell], arrays: CocoArrays, images: int, workers: int) -> NDArray[np.float64]:
    """Return how much the AP of the classes would rise in sum if an image were perfect."""
    thresholds = len(arrays.thresholds)
    asked = [_asked(cell, arrays.max_dets[-1]) for cell in table]
    found = [np.empty((len(which), thresholds)) for which, _ in asked]
    tasks = [
        (c, slice(start, start + _SLICE))
        for c in sorted(range(len(table)), key=lambda c: -len(table[c].image))
        for start in range(0, len(asked[c][0]), _SLICE)
    ]

    def run(task: int) -> None:
        c, part = tasks[task]
        cell, (which, counts) = table[c], asked[c]
        last = np.flatnonzero(cell.true)[-1:].sum() + 1  # nothing below it matters
        perfect(
            cell.image[:last], cell.limit[:last], cell.true[:last], cell.false[:last],
            which[part], counts[part], float(cell.truth_count.sum()), np.ones((images, LANES)),
            arrays.recall_points, thresholds, found[c][part],
        )  # fmt: skip

    in_threads(run, range(len(tasks)), workers)
    rise = np.zeros(images)
    for (which, _), values in zip(asked, found, strict=True):
        means = values.mean(axis=1)
        rise[which[1:]] += means[1:] - means[0]
    return rise


def _asked(cell: Cell, most: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the images that a class is in, after -1 for none, and their ground truths."""
    which = np.union1d(cell.image, cell.truth_image).astype(np.int64)
    counts = np.zeros(len(which) + 1)
    counts[1 + np.searchsorted(which, cell.truth_image)] = np.minimum(cell.truth_count, most)
    return np.concatenate([[-1], which]), counts
