"""The COCO protocol over columns: match once, then precision and recall of every cell.

The arrays are those of pycocotools to the last bit: detections are taken from the highest score
down, each by the best ground truth left; crowds and ground truths out of the size range are
ignored, with what matches them; so are unmatched detections out of the range, whose ends belong
to it. One thing differs: a ground truth of id 0 is an ordinary one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import shape_of
from sightline.core.compilation import announce_compilation
from sightline.core.threads import in_threads, threads_for
from sightline.detection import _kernels as kernels
from sightline.detection._options import at_threshold, find_threshold
from sightline.detection.columns import Detections, GroundTruth, same_kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sightline.detection.columns import Rle

__all__ = [
    "IOU_THRESHOLDS",
    "MAX_DETS",
    "RECALL_POINTS",
    "SIZE_LETTERS",
    "SIZE_RANGES",
    "CocoArrays",
    "CocoMatches",
    "accumulate_matches",
    "check_limits",
    "check_recall_points",
    "check_sizes",
    "coco_arrays",
    "match_detections",
    "places_of",
]

IOU_THRESHOLDS = tuple(np.linspace(0.5, 0.95, 10).tolist())
RECALL_POINTS = tuple(np.linspace(0.0, 1.0, 101).tolist())
SIZE_RANGES: Mapping[str, tuple[float, float]] = {
    "all": (0.0, 1e5**2),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e5**2),
}
MAX_DETS = (1, 10, 100)
SIZE_LETTERS = {"s": "small", "m": "medium", "l": "large"}
"""How the names of figures end that are of one size."""

_Table = TypeVar("_Table", GroundTruth, Detections)

# Below this many detections a second thread costs more than it brings.
ROWS_PER_THREAD = 20_000
CHUNKS_PER_THREAD = 16
# The bits of a signed integer of 64; the sizes have as many.
MOST_THRESHOLDS = 63


@dataclass(frozen=True, slots=True, eq=False)
class CocoMatches:
    """What each detection is, at each threshold and in each size range.

    Detections are in the order of scores: class by class, from the highest down, equal ones in
    the canonical order. N of them are of a known class.

    Attributes
    ----------
    images, classes : array
        The sorted ids; numbers below are places in them.
    thresholds : array of shape (T,)
        The IoU thresholds.
    size_ranges : dict
        Name and closed range of each of A sizes.
    most : int
        Detections of a class that an image could have; those of a higher rank are not matched.
    starts : array of shape (K + 1,)
        Where each class begins.
    row, image, rank : array of shape (N,)
        The row in the columns, the number of the image, the place among those of its image and
        class, from 0.
    score : array
        The scores of the columns' rows.
    outside : array of shape (N,)
        Bit a is set where the detection is not in size range a.
    hit : array of bool, shape (N,)
        Whether it reaches the lowest threshold with any ground truth of its image and class.
    true, ignored : array of shape (N, A)
        Bit t is set where it is a true positive, or ignored, at threshold t. Read these where
        `hit` is set; elsewhere nothing is true, and ignored is what is outside.
    totals : array of shape (K, A)
        The ground truths that count.
    """

    images: NDArray[Any]
    classes: NDArray[Any]
    thresholds: NDArray[np.float64]
    size_ranges: dict[str, tuple[float, float]]
    most: int
    starts: NDArray[np.int64]
    row: NDArray[np.int32]
    image: NDArray[np.int32]
    rank: NDArray[np.int32]
    score: NDArray[np.float64]
    outside: NDArray[Any]
    hit: NDArray[np.bool_]
    true: NDArray[Any]
    ignored: NDArray[Any]
    totals: NDArray[np.int64]

    def cell(self, threshold: int, size: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return whether each detection is true, and whether it is ignored, in one cell."""
        true = (self.true[:, size] >> threshold) & 1 == 1
        aside = (self.ignored[:, size] >> threshold) & 1 == 1
        return true & self.hit, np.where(self.hit, aside, (self.outside >> size) & 1 == 1)


@dataclass(frozen=True, slots=True, eq=False)
class CocoArrays:
    """Precision, recall and scores of every cell, -1 where there is no ground truth.

    T thresholds, R recalls, K classes, A sizes, M limits to the detections of an image and class.

    Attributes
    ----------
    precision, scores : array of shape (T, R, K, A, M)
        The highest precision at that recall or beyond; the score where the recall is reached.
    recall : array of shape (T, K, A, M)
        The recall of all detections.
    ground_truths : array of shape (K, A)
        The ground truths that count.
    detections : array of shape (K, M)
        The detections that take part.
    classes : array
        The K ids, sorted.
    thresholds, recall_points, size_ranges, max_dets
        What was asked for.

    Examples
    --------
    >>> from sightline.detection import Detections, GroundTruth, coco_arrays
    >>> truth = GroundTruth.from_arrays([1], [3], [[0, 0, 40, 40]])
    >>> arrays = coco_arrays(truth, Detections.from_arrays([1], [3], [[0, 0, 40, 36]], [0.9]))
    >>> arrays.precision.shape, arrays.classes.tolist(), round(arrays.figures()["AP"], 3)
    ((10, 101, 1, 4, 3), [3], 0.9)
    """

    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    scores: NDArray[np.float64]
    ground_truths: NDArray[np.int64]
    detections: NDArray[np.int64]
    classes: NDArray[Any]
    thresholds: NDArray[np.float64]
    recall_points: NDArray[np.float64]
    size_ranges: dict[str, tuple[float, float]]
    max_dets: tuple[int, ...]

    def figures(self) -> dict[str, float]:
        """Return the 12 COCO figures; NaN where a figure has no ground truth or was not asked for.

        Classes without ground truth are left out of the means. AP, AP by size and AR by size are
        of the largest limit to the detections.
        """
        last = self.max_dets[-1]
        result = {"AP": self.mean_precision()}
        for name, level in (("AP50", 0.5), ("AP75", 0.75)):
            result[name] = self._precision(at_threshold(self.thresholds, level))
        sizes = SIZE_LETTERS
        result |= {f"AP{s}": self.mean_precision(size=size) for s, size in sizes.items()}
        result |= {f"AR{limit}": self.mean_recall(limit=limit) for limit in MAX_DETS}
        return result | {f"AR{s}": self.mean_recall(size=z, limit=last) for s, z in sizes.items()}

    def mean_precision(self, *, size: str = "all", threshold: float | None = None) -> float:
        """Return the mean precision of a size, at one of the thresholds or at all of them."""
        if threshold is None:
            return self._precision(slice(None), size)
        find_threshold(self.thresholds, threshold, "threshold")  # raises where it is none of them
        return self._precision(at_threshold(self.thresholds, threshold), size)

    def mean_recall(self, *, size: str = "all", limit: int = 100) -> float:
        """Return the mean recall of a size with so many detections of an image and class."""
        column = np.array(self.max_dets) == limit
        return _mean(self.recall[:, :, self._size(size)][..., column])

    def class_precision(self, *, size: str = "all") -> NDArray[np.float64]:
        """Return the AP of each class, over all thresholds; NaN without ground truth."""
        cells = self.precision[..., -1][..., self._size(size)]
        return np.array([_mean(cells[:, :, k]) for k in range(len(self.classes))])

    def _precision(self, rows: slice | NDArray[np.bool_], size: str = "all") -> float:
        return _mean(self.precision[rows, :, :, :, -1][..., self._size(size)])

    def _size(self, name: str) -> NDArray[np.bool_]:
        return np.array([other == name for other in self.size_ranges], np.bool_)


def coco_arrays(
    gt: GroundTruth,
    dt: Detections,
    /,
    *,
    iou_thresholds: Sequence[float] | NDArray[np.float64] = IOU_THRESHOLDS,
    recall_points: Sequence[float] | NDArray[np.float64] = RECALL_POINTS,
    size_ranges: Mapping[str, tuple[float, float]] = SIZE_RANGES,
    max_dets: Sequence[int] = MAX_DETS,
    threads: int | None = None,
) -> CocoArrays:
    """Evaluate detections by the COCO protocol.

    Parameters
    ----------
    gt, dt : GroundTruth, Detections
        Boxes, or masks where both have them. Detections of a class that the ground truth does not
        list are left out; those in an image that it does not list are an error.
    iou_thresholds : sequence of float
        At most 63.
    recall_points : sequence of float
        Ascending.
    size_ranges : mapping
        Closed ranges of areas by name.
    max_dets : sequence of int
        Ascending limits to the detections of one image and class.
    threads : int, optional
        As many as there are cores unless given; they do not change the result.

    Returns
    -------
    CocoArrays

    Examples
    --------
    >>> truth = GroundTruth.from_arrays([1, 1], [3, 3], [[0, 0, 40, 40], [50, 50, 20, 20]])
    >>> found = Detections.from_arrays([1, 1], [3, 3], [[0, 0, 40, 40], [90, 0, 9, 9]], [0.9, 0.8])
    >>> arrays = coco_arrays(truth, found)
    >>> arrays.recall.shape, arrays.figures()["AR100"], round(arrays.figures()["AP"], 3)
    ((10, 1, 4, 3), 0.5, 0.505)
    """
    points, limits = check_recall_points(recall_points), check_limits(max_dets)
    matches = match_detections(
        gt, dt, iou_thresholds=iou_thresholds, size_ranges=size_ranges, most=limits[-1],
        threads=threads,
    )  # fmt: skip
    return accumulate_matches(matches, recall_points=points, max_dets=limits, threads=threads)


def match_detections(
    gt: GroundTruth,
    dt: Detections,
    /,
    *,
    iou_thresholds: Sequence[float] | NDArray[np.float64] = IOU_THRESHOLDS,
    size_ranges: Mapping[str, tuple[float, float]] = SIZE_RANGES,
    most: int = MAX_DETS[-1],
    threads: int | None = None,
) -> CocoMatches:
    """Match the `most` best detections of each image and class with its ground truths.

    See `coco_arrays` for the parameters.

    Examples
    --------
    >>> truth = GroundTruth.from_arrays([1], [3], [[0, 0, 40, 40]])
    >>> found = Detections.from_arrays([1, 1], [3, 3], [[0, 0, 4, 4], [0, 0, 40, 40]], [0.8, 0.9])
    >>> matches = match_detections(truth, found)
    >>> matches.row.tolist(), matches.cell(0, 0)[0].tolist()
    ([1, 0], [True, False])
    """
    thresholds, (names, sizes) = _thresholds(iou_thresholds), check_sizes(size_ranges)
    if most < 1:
        raise InputError(f"most must be at least 1; got {most}")
    workers = _threads(threads, len(dt))
    announce_compilation(kernels.match_groups, "the matching kernels")
    gt, dt = _writable(gt), _writable(dt)
    truth, found = _arrange(gt, dt)
    state = _State.of(truth, found, dt, sizes, thresholds, workers)
    _match(gt, dt, state, thresholds, sizes, most, workers)
    return CocoMatches(
        truth.images, truth.classes, thresholds, names, most, found.starts, state.by_score,
        found.image[state.by_score], state.rank, dt.score, state.outside, state.hit, state.true,
        state.ignored, _totals(gt, truth, sizes),
    )  # fmt: skip


def accumulate_matches(
    matches: CocoMatches,
    /,
    *,
    recall_points: Sequence[float] | NDArray[np.float64] = RECALL_POINTS,
    max_dets: Sequence[int] = MAX_DETS,
    threads: int | None = None,
) -> CocoArrays:
    """Turn matches into precision, recall and scores; see `coco_arrays` for the parameters.

    Examples
    --------
    >>> truth = GroundTruth.from_arrays([1], [3], [[0, 0, 40, 40]])
    >>> found = Detections.from_arrays([1], [3], [[0, 0, 40, 40]], [0.9])
    >>> accumulate_matches(match_detections(truth, found)).ground_truths.tolist()
    [[1, 0, 1, 0]]
    """
    points, limits = check_recall_points(recall_points), check_limits(max_dets)
    if limits[-1] > matches.most:
        raise InputError(f"max_dets must be at most {matches.most}, as matched; got {limits[-1]}")
    shape = (*matches.totals.shape, len(limits), len(matches.thresholds))
    precision, scores = np.full((*shape, len(points)), -1.0), np.full((*shape, len(points)), -1.0)
    recall, limit = np.full(shape, -1.0), np.array(limits, np.int64)
    counts = np.zeros((len(matches.classes), len(limits)), np.int64)

    def run(k: int) -> None:
        kernels.accumulate(
            matches.starts[k], matches.starts[k + 1], matches.score, matches.row, matches.rank,
            matches.outside, matches.hit, matches.true, matches.ignored, matches.totals[k],
            points, limit, counts[k], precision[k], recall[k], scores[k],
        )  # fmt: skip

    in_threads(run, _largest_first(matches.starts), _threads(threads, len(matches.row)))
    return CocoArrays(
        precision.transpose(3, 4, 0, 1, 2), recall.transpose(3, 0, 1, 2),
        scores.transpose(3, 4, 0, 1, 2), matches.totals, counts, matches.classes,
        matches.thresholds, points, matches.size_ranges, limits,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Arranged:
    """Rows class by class, in a class image by image, in an image as given."""

    images: NDArray[Any]
    classes: NDArray[Any]
    image: NDArray[np.int32]
    order: NDArray[np.int32]
    starts: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _State:
    """What the kernels write; see there."""

    truth: _Arranged
    by_score: NDArray[np.int32]
    rank: NDArray[np.int32]
    by_rank: NDArray[np.int32]
    outside: NDArray[Any]
    groups: NDArray[np.int32]
    hit: NDArray[np.bool_]
    true: NDArray[Any]
    ignored: NDArray[Any]

    @classmethod
    def of(
        cls,
        truth: _Arranged,
        found: _Arranged,
        dt: Detections,
        sizes: NDArray[np.float64],
        thresholds: NDArray[np.float64],
        workers: int,
    ) -> _State:
        """Join the groups, sort each class and make room for the matches."""
        count = len(found.order)
        starts = np.empty(count, np.int32)
        groups = np.empty((min(count, len(truth.order)), 4), np.int32)
        joined = kernels.join_groups(
            found.order, found.image, found.starts, truth.order, truth.image, truth.starts,
            starts, groups,
        )  # fmt: skip
        by_score, rank, by_rank = (np.empty(count, np.int32) for _ in range(3))
        outside = np.empty(count, _bits(len(sizes)))

        def run(k: int) -> None:
            kernels.sort_class(
                found.starts[k], found.starts[k + 1], found.order, starts, dt.score, dt.area,
                sizes, by_score, rank, by_rank, outside,
            )  # fmt: skip

        in_threads(run, _largest_first(found.starts), workers)
        shape, bits = (count, len(sizes)), _bits(len(thresholds))
        true, ignored = np.zeros(shape, bits), np.zeros(shape, bits)
        hit = np.zeros(count, np.bool_)
        return cls(truth, by_score, rank, by_rank, outside, groups[:joined], hit, true, ignored)


def _writable(table: _Table) -> _Table:
    """Copy columns that must not be written: the kernels would be compiled again for them."""
    columns = {field.name: getattr(table, field.name) for field in fields(table)}
    locked: dict[str, Any] = {
        name: column.copy()
        for name, column in columns.items()
        if isinstance(column, np.ndarray) and not column.flags.writeable
    }
    return replace(table, **locked) if locked else table


def _bits(count: int) -> type[np.signedinteger[Any]]:
    """Return the integers that have a bit for each of so many things, beside the sign."""
    return np.int32 if count < 32 else np.int64


def _arrange(gt: GroundTruth, dt: Detections) -> tuple[_Arranged, _Arranged]:
    """Number images and classes and put both tables in the canonical order."""
    images = _known(gt.images, gt.image, dt.image, "image")
    classes = _known(gt.classes, gt.label, dt.label, "label")
    known = _codes(images, dt.image)
    if (known < 0).any():
        row = int(np.argmax(known < 0))
        raise InputError(
            f"detections: image must be one of the {len(images)} of the ground truth; "
            f"row {row} is {dt.image[row].item()!r}"
        )
    return (
        _ordered(images, classes, _codes(images, gt.image), _codes(classes, gt.label)),
        _ordered(images, classes, known, _codes(classes, dt.label)),
    )


def _known(
    known: NDArray[Any] | None, of_gt: NDArray[Any], of_dt: NDArray[Any], name: str
) -> NDArray[Any]:
    """Return the sorted ids there are: those listed, else all that are named."""
    same_kind(of_gt if known is None else known, of_dt, name)
    if known is not None:
        return known
    return np.unique(np.concatenate([part for part in (of_gt, of_dt) if len(part)] or [of_gt]))


def _codes(known: NDArray[Any], values: NDArray[Any]) -> NDArray[np.int32]:
    """Return the place of each value among the sorted ids, -1 where it is not there; quickly."""
    some = len(known) > 0 and len(values) > 0 and known.dtype.kind == "i"
    if some and int(known[-1]) - int(known[0]) < (1 << 22):
        return kernels.look_up(known, values)  # type: ignore[no-any-return]
    return places_of(known, values).astype(np.int32)


def places_of(known: NDArray[Any], values: NDArray[Any]) -> NDArray[np.int64]:
    """Return the place of each value among sorted ids, -1 where it is not there.

    >>> places_of(np.array(["a", "c"]), np.array(["c", "b"])).tolist()
    [1, -1]
    """
    if len(known) == 0 or len(values) == 0 or known.dtype.kind != values.dtype.kind:
        return np.full(len(values), -1, np.int64)
    places = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[places] == values, places, -1)


def _ordered(
    images: NDArray[Any], classes: NDArray[Any], image: NDArray[np.int32], label: NDArray[np.int32]
) -> _Arranged:
    """Sort rows by image, then by class; rows of an unknown class are left out."""
    rows = np.flatnonzero(label >= 0).astype(np.int32)
    if len(rows) and (image[1:] < image[:-1]).any():
        rows = kernels.counting_order(image, rows, np.zeros(len(images) + 1, np.int64))
    starts = np.zeros(len(classes) + 1, np.int64)
    order = kernels.counting_order(label, rows, starts)
    return _Arranged(images, classes, image, order, starts)


def _mask_overlaps(
    gt: GroundTruth, dt: Detections, state: _State, most: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the overlaps of masks, group by group, and where each group begins."""
    if gt.masks is None or dt.masks is None:
        return np.empty(0), np.empty(0, np.int64)
    from pycocotools import mask

    parts, offsets, total = [np.empty(0)], [], 0
    for begin, end, first, last in state.groups.tolist():
        rows = state.by_score[state.by_rank[begin : min(end, begin + most)]]
        others = state.truth.order[first:last]
        table = mask.iou(
            [dt.masks[row] for row in rows],
            [gt.masks[row] for row in others],
            gt.crowd[others].astype(int).tolist(),
        )
        if (table < 0).any():
            d, g = (int(places[0]) for places in np.nonzero(table < 0))
            raise InputError(_other_size(dt.masks, int(rows[d]), gt.masks, int(others[g])))
        parts.append(np.ascontiguousarray(table).ravel())
        offsets.append(total)
        total += table.size
    return np.concatenate(parts), np.array(offsets, np.int64)


def _other_size(found: Sequence[Rle], row: int, truth: Sequence[Rle], other: int) -> str:
    """Say that two masks of an image are not of one size; they would overlap nowhere."""
    mine, theirs = (shape_of(mask["size"]) for mask in (found[row], truth[other]))
    return (
        f"detections: masks must have the size of their image: row {row} is {mine}, "
        f"row {other} of the ground truth is {theirs}"
    )


def _match(
    gt: GroundTruth,
    dt: Detections,
    state: _State,
    thresholds: NDArray[np.float64],
    sizes: NDArray[np.float64],
    most: int,
    workers: int,
) -> None:
    """Match all groups, a chunk at a time."""
    given, offsets = _mask_overlaps(gt, dt, state, most)
    step = max(1, -(-len(state.groups) // (CHUNKS_PER_THREAD * workers)))

    def run(start: int) -> None:
        rows = slice(start, start + step)
        kernels.match_groups(
            state.groups[rows], dt.box, state.by_score, state.by_rank, state.outside,
            state.truth.order, gt.box, gt.area, gt.crowd, given, offsets[rows], thresholds, sizes,
            most, state.hit, state.true, state.ignored,
        )  # fmt: skip

    in_threads(run, range(0, len(state.groups), step), workers)


def _threads(asked: int | None, rows: int) -> int:
    """Return as many threads as asked, else as there are cores and rows for."""
    return threads_for(asked, rows, ROWS_PER_THREAD)


def _largest_first(starts: NDArray[np.int64]) -> list[int]:
    """Return the classes, those with most detections first, so that no thread ends late."""
    return np.argsort(-np.diff(starts), kind="stable").tolist()  # type: ignore[no-any-return]


def _totals(gt: GroundTruth, truth: _Arranged, sizes: NDArray[np.float64]) -> NDArray[np.int64]:
    """Count the ground truths (K, A) that count: no crowd, and in the range."""
    area = gt.area[:, None]
    counts = ~gt.crowd[:, None] & (area >= sizes[:, 0]) & (area <= sizes[:, 1])
    sums = np.zeros((len(truth.order) + 1, len(sizes)), np.int64)
    np.cumsum(counts[truth.order], axis=0, out=sums[1:])
    return np.diff(sums[truth.starts], axis=0)


def _mean(cells: NDArray[np.float64]) -> float:
    """Return the mean of the cells that are defined, NaN without any."""
    defined = cells[cells > -1]
    return float(np.mean(defined)) if defined.size else float("nan")


def _numbers(values: Any, expected: str) -> NDArray[np.float64]:
    """Return numbers in a row."""
    try:
        numbers = np.array(values, np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.ndim != 1 or not numbers.size or np.isnan(numbers).any():
        raise InputError(f"{expected}; got {values!r}")
    return numbers


def _thresholds(values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Check the IoU thresholds."""
    expected = f"iou_thresholds must be 1 to {MOST_THRESHOLDS} numbers from 0 to 1"
    thresholds = _numbers(values, expected)
    if thresholds.size > MOST_THRESHOLDS or not ((thresholds >= 0) & (thresholds <= 1)).all():
        raise InputError(f"{expected}; got {values!r}")
    return thresholds


def check_sizes(
    ranges: Mapping[str, tuple[float, float]],
) -> tuple[dict[str, tuple[float, float]], NDArray[np.float64]]:
    """Check the size ranges; return them by name and as an array (A, 2)."""
    try:
        names = {name: (float(low), float(high)) for name, (low, high) in ranges.items()}
    except (AttributeError, TypeError, ValueError):
        raise InputError(f"size_ranges must be pairs of numbers by name; got {ranges!r}") from None
    if not 0 < len(names) <= MOST_THRESHOLDS:
        raise InputError(f"size_ranges must be 1 to {MOST_THRESHOLDS} ranges; got {len(names)}")
    for name, (low, high) in names.items():
        if not low <= high:
            raise InputError(f"size_ranges: {name} must not end below its start; got {low}, {high}")
    return names, np.array(list(names.values()), np.float64)


def check_recall_points(values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Check the recall points."""
    expected = "recall_points must be numbers in ascending order"
    points = _numbers(values, expected)
    if not (np.diff(points) >= 0).all():
        raise InputError(f"{expected}; got {values!r}")
    return points


def check_limits(values: Sequence[int]) -> tuple[int, ...]:
    """Check the limits to the detections of one image and class."""
    expected = "max_dets must be whole numbers from 1 on, ascending"
    limits = _numbers(values, expected)
    if limits[0] < 1 or (limits % 1 != 0).any() or not (np.diff(limits) > 0).all():
        raise InputError(f"{expected}; got {values!r}")
    return tuple(int(limit) for limit in limits)
