"""Precision and recall where each image counts a number of times, without matching again.

A cell is one class in one size range. Its events are the detections that count for something at
some threshold, from the highest score down. A detection of an image with weight w stands for w
detections in a row: precision only rises along a row, so that its end is all that is needed, and
the numbers are to the last bit those of a data set that holds the image w times. Where scores
within an image are equal, its copies would take turns; here they do not.

Eight sets of weights, the lanes, go through the events together: what a detection is at a
threshold is looked up once for all of them. Weights are whole numbers in float64, so that sums are
exact in any order.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.core.compilation import announce_compilation, compiled
from sightline.core.threads import in_threads
from sightline.detection.coco import places_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sightline.detection.coco import CocoArrays, CocoMatches
    from sightline.detection.columns import GroundTruth

Array = Any

__all__ = [
    "LANES",
    "Cell",
    "Weighted",
    "cells",
    "check_same_evaluation",
    "needs",
    "peaks_of",
    "perfect",
    "truth_counts",
    "weigh_all",
    "weigh_block",
    "weigh_truths",
]

LANES = 8
"""Sets of weights that are worked on together: a line of the cache."""
_EPS = 2.220446049250313e-16
_SLICE = 8
"""Blocks of lanes that a thread takes at a time in a large cell."""
_LARGE = 5000
"""Events of a large cell."""
_SLOTS = 256
"""Totals of ground truths of which it is kept what recalls need."""


class Cell(NamedTuple):
    """What counts of one class in one size range.

    Of each event `image`, `score`, `limit` (the place of the first limit that the detection is
    within), `true` and `false` (bits of the thresholds); `truth_image` and `truth_count` say how
    many ground truths an image has.
    """

    image: NDArray[np.int32]
    score: NDArray[np.float64]
    limit: NDArray[np.int32]
    true: NDArray[Any]
    false: NDArray[Any]
    truth_image: NDArray[np.int64]
    truth_count: NDArray[np.float64]


class Weighted(NamedTuple):
    """Of each set of weights, thresholds last but one.

    `precision` (C, blocks, T, LANES) is the mean over the recall points, `recall`
    (C, blocks, M, T, LANES) that of each limit; NaN without ground truth.
    """

    precision: NDArray[np.float64]
    recall: NDArray[np.float64]


@compiled
def collect(
    begin: int,
    end: int,
    size: int,
    thresholds: int,
    limits: Array,
    rank: Array,
    outside: Array,
    hit: Array,
    true: Array,
    ignored: Array,
    steps: Array,
    places: Array,
    trues: Array,
    falses: Array,
) -> tuple[int, int]:
    """Write the events of one class and size.

    Returns how many there are, and how many up to the last that is true somewhere.
    """
    full = (1 << thresholds) - 1 if thresholds < 63 else 0x7FFFFFFFFFFFFFFF
    count = last = 0
    for step in range(begin, end):
        if rank[step] >= limits[-1]:
            continue
        if hit[step]:
            right = true[step, size] & full
            wrong = full & ~(right | ignored[step, size])
        else:
            right, wrong = 0, 0 if (outside[step] >> size) & 1 else full
        if not right | wrong:
            continue
        place = 0
        while rank[step] >= limits[place]:
            place += 1
        steps[count], places[count] = step, place
        trues[count], falses[count] = right, wrong
        count += 1
        if right:
            last = count
    return count, last


@compiled
def _needed(points: Array, total: float, need: Array) -> None:
    """Write how many true positives each recall needs (R + 1), the last one endless."""
    for r in range(points.size):
        if points[r] > 1:
            need[r] = np.inf
            continue
        many = np.ceil(points[r] * total)
        while many > 0 and (many - 1) / total >= points[r]:
            many -= 1
        while many / total < points[r]:
            many += 1
        need[r] = many
    need[points.size] = np.inf


@compiled
def needs(points: Array, total: Array, known: Array, columns: Array, need: Array) -> None:
    """Write how many true positives each recall needs (R + 1, LANES), the last one endless.

    Totals come again and again: `columns` (slots, R + 1) keeps what the totals in `known` (slots)
    need, 0 where there is none yet.
    """
    for b in range(LANES):
        slot = int(total[b]) % known.size
        if known[slot] != total[b]:
            _needed(points, total[b], columns[slot])
            known[slot] = total[b]
        need[:, b] = columns[slot]


@compiled
def peaks_of(true: Array, false: Array) -> Array:
    """Return the bits of the thresholds at which a false positive, or nothing, follows a true one.

    Precision is highest there: only these places can show in a curve.
    """
    peaks, follow = np.empty_like(true), true[:0].sum()
    for e in range(true.size - 1, -1, -1):
        peaks[e] = true[e] & ~follow
        follow = (follow | true[e]) & ~false[e]
    return peaks


@compiled
def _begin(start: Array, need: Array, right: Array, at: Array, curve: Array) -> None:
    """Count what is found before all events, at every threshold."""
    for b in range(LANES):
        if start[b] > 0:
            for t in range(right.shape[0]):
                right[t, b] = start[b]
                while need[at[t, b], b] <= start[b]:
                    at[t, b] += 1
                curve[t, at[t, b], b] = start[b] / (start[b] + _EPS)


@compiled
def _close(at: Array, curve: Array, mean: Array) -> None:
    """Let precision fall, and take its mean over the recalls; beyond the last reached, it is 0."""
    value = np.empty(LANES)
    for t in range(curve.shape[0]):
        value[:] = 0.0
        mean[t] = 0.0
        for r in range(at[t].max(), 0, -1):
            for b in range(LANES):
                value[b] = curve[t, r, b] if curve[t, r, b] > value[b] else value[b]
                curve[t, r, b] = value[b]
                mean[t, b] += value[b]
        mean[t] /= curve.shape[1] - 1


@compiled
def weigh_block(
    image: Array,
    limit: Array,
    true: Array,
    false: Array,
    peaks: Array,
    weights: Array,
    need: Array,
    start: Array,
    curve: Array,
    mean: Array,
    found: Array,
) -> None:
    """Follow the events of one cell with one block of weights (images, LANES).

    `need` (R + 1, LANES) says how many true positives each recall needs, `start` (LANES) how many
    ground truths are found before all events. `curve` (T, R + 1, LANES) gets the highest precision
    at each recall or beyond, from place 1 on, `mean` (T, LANES) its mean over the recalls, `found`
    (M, T, LANES) the true events within each limit. Lanes whose total is 0 mean nothing.
    """
    thresholds = curve.shape[0]
    full = (1 << thresholds) - 1 if thresholds < 63 else 0x7FFFFFFFFFFFFFFF
    base, wrong = np.zeros(LANES), np.zeros((thresholds, LANES))
    right, at = np.zeros((thresholds, LANES)), np.zeros((thresholds, LANES), np.int64)
    value = np.empty(LANES)
    curve[:], found[:] = 0.0, 0.0
    _begin(start, need, right, at, curve)
    for e in range(image.size):
        weight = weights[image[e]]
        if false[e] == full:
            for b in range(LANES):
                base[b] += weight[b]
            continue
        for t in range(thresholds):
            if (true[e] >> t) & 1:
                for b in range(LANES):
                    right[t, b] += weight[b]
                    found[limit[e], t, b] += weight[b]
                if not (peaks[e] >> t) & 1:
                    continue
                for b in range(LANES):
                    value[b] = right[t, b] / ((right[t, b] + wrong[t, b] + base[b]) + _EPS)
                for b in range(LANES):
                    place = at[t, b]
                    while need[place, b] <= right[t, b]:
                        place += 1
                    at[t, b] = place
                    if value[b] > curve[t, place, b]:
                        curve[t, place, b] = value[b]
            elif (false[e] >> t) & 1:
                for b in range(LANES):
                    wrong[t, b] += weight[b]
    _close(at, curve, mean)
    for m in range(1, found.shape[0]):
        found[m] += found[m - 1]


@compiled
def weigh(
    image: Array,
    limit: Array,
    true: Array,
    false: Array,
    weights: Array,
    totals: Array,
    points: Array,
    precision: Array,
    recall: Array,
) -> None:
    """Write mean precision (blocks, T, LANES) and recall (blocks, M, T, LANES) of one cell.

    `weights` (blocks, images, LANES); `totals` (blocks, LANES).
    """
    curve = np.empty((precision.shape[1], points.size + 1, LANES))
    peaks, start = peaks_of(true, false), np.zeros(LANES)
    known, columns = np.zeros(_SLOTS), np.empty((_SLOTS, points.size + 1))
    need = np.empty((points.size + 1, LANES))
    for n in range(weights.shape[0]):
        some = False
        for b in range(LANES):
            some |= totals[n, b] > 0
        if not some:
            precision[n], recall[n] = np.nan, np.nan
            continue
        needs(points, np.maximum(totals[n], 1.0), known, columns, need)
        weigh_block(
            image, limit, true, false, peaks, weights[n], need, start, curve,
            precision[n], recall[n],
        )  # fmt: skip
        for b in range(LANES):
            precision[n, :, b] *= 1.0 if totals[n, b] > 0 else np.nan
            recall[n, :, :, b] /= totals[n, b] if totals[n, b] > 0 else np.nan


@compiled
def weigh_truths(image: Array, count: Array, weights: Array, totals: Array) -> None:
    """Write the ground truths (blocks, LANES) of one cell."""
    totals[:] = 0.0
    for n in range(weights.shape[0]):
        for i in range(image.size):
            for b in range(LANES):
                totals[n, b] += count[i] * weights[n, image[i], b]


@compiled
def perfect(
    image: Array,
    limit: Array,
    true: Array,
    false: Array,
    which: Array,
    counts: Array,
    total: float,
    weights: Array,
    points: Array,
    thresholds: int,
    result: Array,
) -> None:
    """Write the mean precision of one cell (n, T) if one image alone were perfect.

    Image `which[i]` has `counts[i]` ground truths, all of them found before anything else, and no
    detection; -1 is no image. `weights` (images, LANES) are ones, and are so again at the end.
    """
    curve = np.empty((thresholds, points.size + 1, LANES))
    found = np.empty((1, thresholds, LANES))
    start, mean = np.zeros(LANES), np.empty((thresholds, LANES))
    peaks, need = peaks_of(true, false), np.empty((points.size + 1, LANES))
    known, columns = np.zeros(1), np.empty((1, points.size + 1))
    needs(points, np.full(LANES, total), known, columns, need)
    for begin in range(0, which.size, LANES):
        lanes = min(LANES, which.size - begin)
        for b in range(lanes):
            start[b] = counts[begin + b]
            if which[begin + b] >= 0:
                weights[which[begin + b], b] = 0.0
        weigh_block(image, limit, true, false, peaks, weights, need, start, curve, mean, found)
        for b in range(lanes):
            if which[begin + b] >= 0:
                weights[which[begin + b], b] = 1.0
            result[begin + b] = mean[:, b]


def cells(
    matches: CocoMatches,
    truth: GroundTruth,
    max_dets: Sequence[int],
    sizes: Sequence[int],
    *,
    whole: bool = False,
) -> list[Cell]:
    """Return the cells of all classes and, within a class, of these size ranges.

    The ground truths must be those that were matched. False positives below the last true one
    change nothing; they are there only in the `whole` cells.
    """
    announce_compilation(collect, "the kernels that weigh images")
    counts = truth_counts(matches, truth)
    limits = np.array(max_dets, np.int64)
    if limits[-1] > matches.most:
        raise InputError(f"max_dets must be at most {matches.most}, as matched; got {limits[-1]}")
    result = []
    for k, (begin, end) in enumerate(pairwise(matches.starts)):
        steps, places = (np.empty(end - begin, np.int32) for _ in range(2))
        trues, falses = (np.empty(end - begin, matches.true.dtype) for _ in range(2))
        for a in sizes:
            every, last = collect(
                begin, end, a, len(matches.thresholds), limits, matches.rank, matches.outside,
                matches.hit, matches.true, matches.ignored, steps, places, trues, falses,
            )  # fmt: skip
            count = every if whole else last
            image, score = matches.image[steps[:count]], matches.score[matches.row[steps[:count]]]
            place, true, false = (part[:count].copy() for part in (places, trues, falses))
            result.append(Cell(image, score, place, true, false, *counts[k][a]))
    return result


def check_same_evaluation(matches: CocoMatches, arrays: CocoArrays) -> None:
    """Refuse arrays that were not accumulated from these matches, as far as that can be seen."""
    names = (("thresholds", "thresholds"), ("classes", "classes"), ("totals", "ground_truths"))
    same = all(np.array_equal(getattr(matches, a), getattr(arrays, b)) for a, b in names)
    if not same or matches.size_ranges != arrays.size_ranges:
        raise InputError("arrays must be accumulated from the matches; got those of others")


def truth_counts(
    matches: CocoMatches, truth: GroundTruth
) -> list[list[tuple[NDArray[np.int64], NDArray[np.float64]]]]:
    """Return, of each class and size, the images with ground truths that count, and how many."""
    image, label = places_of(matches.images, truth.image), places_of(matches.classes, truth.label)
    ends, area = np.array(list(matches.size_ranges.values())), truth.area[:, None]
    inside = (area >= ends[:, 0]) & (area <= ends[:, 1]) & ~truth.crowd[:, None]
    known = (image >= 0) & (label >= 0)
    result = []
    if known.all():
        rows = np.argsort(label, kind="stable")
        bounds = np.searchsorted(label[rows], np.arange(len(matches.classes) + 1))
        for begin, end in pairwise(bounds):
            part = rows[begin:end]
            pairs = (np.unique(image[part[kept]], return_counts=True) for kept in inside[part].T)
            result.append([(place, count.astype(np.float64)) for place, count in pairs])
    seen = [[int(count.sum()) for _, count in pairs] for pairs in result]
    if seen != matches.totals.tolist():
        raise InputError(
            "truth must be the ground truth that was matched; "
            f"got one of {len(truth)} boxes that gives other counts"
        )
    return result


def weigh_all(
    given: Sequence[Cell],
    weights: NDArray[np.float64],
    points: NDArray[np.float64],
    shape: tuple[int, int],
    workers: int,
) -> Weighted:
    """Weigh all cells with blocks of weights (blocks, images, LANES); `shape` is (M, T).

    Cells and slices of blocks are divided among threads, which do not change a bit.
    """
    blocks = len(weights)
    precision = np.empty((len(given), blocks, shape[1], LANES))
    recall = np.empty((len(given), blocks, *shape, LANES))

    def run(task: int) -> None:
        c, part = tasks[task]
        cell, totals = given[c], np.empty((len(weights[part]), LANES))
        weigh_truths(cell.truth_image, cell.truth_count, weights[part], totals)
        weigh(
            cell.image, cell.limit, cell.true, cell.false, weights[part], totals,
            points, precision[c, part], recall[c, part],
        )  # fmt: skip

    tasks = []
    for c in sorted(range(len(given)), key=lambda c: -len(given[c].image)):
        step = _SLICE if len(given[c].image) >= _LARGE else max(blocks, 1)
        tasks += [(c, slice(i, i + step)) for i in range(0, blocks, step)]
    in_threads(run, range(len(tasks)), workers)
    return Weighted(precision, recall)
