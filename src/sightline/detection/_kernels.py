"""The compiled passes of the matching: order, join, match, accumulate.

Detections and ground truths lie class by class, in a class image by image, in an image as they
were given. A group is what one image has of one class: a run of such places. Detections have a
second order, class by class from the highest score down; `rank` is a detection's place among
those of its group.

What a detection is at up to 63 IoU thresholds is one integer, a bit for each threshold.

The kernels release the interpreter lock and are driven by threads; each call writes places of its
own, so that neither chunks nor threads change a bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sightline.core.compilation import compiled

Array = Any

__all__ = [
    "accumulate",
    "counting_order",
    "join_groups",
    "look_up",
    "match_groups",
    "sort_class",
    "sum_runs",
]

_DIGIT = 11
"""Bits that one pass of the sort looks at."""
_SHORT = 48
"""Below this many scores, inserting is faster than counting digits."""
_ALMOST_ONE = 1 - 1e-10
"""No threshold is stricter: equal boxes match at 1 in spite of rounding."""
_EPS = 2.220446049250313e-16


@compiled
def look_up(known: Array, values: Array) -> Array:
    """Return the place of each integer among the sorted ids, -1 where it is not there."""
    low, high = known[0], known[-1]
    table = np.full(high - low + 1, -1, np.int32)
    for place in range(known.size):
        table[known[place] - low] = place
    places = np.empty(values.size, np.int32)
    for i in range(values.size):
        places[i] = table[values[i] - low] if low <= values[i] <= high else -1
    return places


@compiled
def counting_order(codes: Array, order: Array, starts: Array) -> Array:
    """Return `order` sorted by the codes of what it names, equal ones as they were.

    `starts` (codes + 1, zeros) receives where each code begins.
    """
    for item in order:
        starts[codes[item] + 1] += 1
    for code in range(1, starts.size):
        starts[code] += starts[code - 1]
    free = starts[:-1].copy()
    result = np.empty_like(order)
    for item in order:
        code = codes[item]
        result[free[code]] = item
        free[code] += 1
    return result


@compiled
def _descending_keys(scores: Array, which: Array) -> Array:
    """Return integers that ascend where the scores of the items `which` descend."""
    values = np.empty(which.size)
    for i in range(which.size):
        values[i] = scores[which[i]] + 0.0  # -0.0 becomes 0.0
    keys = values.view(np.int64)
    for i in range(keys.size):
        # Negative floats order backwards as integers: turned over, all of them ascend.
        ascending = keys[i] if keys[i] >= 0 else keys[i] ^ np.int64(0x7FFFFFFFFFFFFFFF)
        keys[i] = ~ascending
    return keys


@compiled
def _insert_sort(keys: Array, order: Array, moves: int) -> bool:
    """Sort keys, and order with them, in place; equal keys stay as they are.

    Stops after so many moves and says whether everything is sorted.
    """
    for i in range(1, keys.size):
        key, item, j = keys[i], order[i], i - 1
        while j >= 0 and keys[j] > key:
            keys[j + 1], order[j + 1] = keys[j], order[j]
            j -= 1
        keys[j + 1], order[j + 1] = key, item
        moves -= i - 1 - j
        if moves < 0:
            return bool(i + 1 == keys.size)
    return True


@compiled
def _digit_sort(keys: Array, order: Array, turn: int) -> tuple[Array, Array]:
    """Return keys and order sorted by six digits of the keys, from digit `turn` (the lowest: 0) on.

    Equal keys stay as they are.
    """
    size = 1 << _DIGIT
    spare_keys, spare_order = np.empty_like(keys), np.empty_like(order)
    counts = np.empty(size, np.int64)
    for digit in range(turn, 6):
        shift = max(0, _DIGIT * digit - 2)  # six of them end at the sign; two share bits
        flip = size >> 1 if digit == 5 else 0  # the sign: negative ones come first
        counts[:] = 0
        for key in keys:
            counts[((key >> shift) & (size - 1)) ^ flip] += 1
        total = 0
        for value in range(size):
            counts[value], total = total, total + counts[value]
        for i in range(keys.size):
            value = ((keys[i] >> shift) & (size - 1)) ^ flip
            place = counts[value]
            spare_keys[place], spare_order[place] = keys[i], order[i]
            counts[value] = place + 1
        keys, spare_keys = spare_keys, keys
        order, spare_order = spare_order, order
    return keys, order


@compiled
def _sorted_order(keys: Array, order: Array) -> Array:
    """Return the order sorted by the keys; equal keys stay as they are."""
    if keys.size <= _SHORT:
        _insert_sort(keys, order, keys.size * keys.size)
        return order
    # The upper half of the bits tells nearly all scores apart; a few moves do the rest.
    keys, order = _digit_sort(keys, order, 3)
    if not _insert_sort(keys, order, 4 * keys.size):
        keys, order = _digit_sort(keys, order, 0)
    return order


@compiled
def sort_class(
    begin: int,
    end: int,
    order: Array,
    starts: Array,
    scores: Array,
    areas: Array,
    sizes: Array,
    by_score: Array,
    rank: Array,
    by_rank: Array,
    outside: Array,
) -> None:
    """Sort the detections of one class, at places `begin` to `end`, by score.

    Place p holds detection `order[p]`, and its group begins at place `starts[p]`. For each step of
    the order by score this writes the detection (`by_score`), its `rank` and in which size ranges
    `sizes` (A, 2) it is not (`outside`, a bit for each); `by_rank` gets the step of each rank of
    each group.
    """
    which = order[begin:end]
    bits = np.zeros(which.size, outside.dtype)
    for i in range(which.size):
        area = areas[which[i]]
        for a in range(sizes.shape[0]):
            bits[i] |= (area < sizes[a, 0] or area > sizes[a, 1]) << a
    keys = _descending_keys(scores, which)
    places = np.empty(which.size, np.int32)
    for i in range(places.size):
        places[i] = begin + i
    places = _sorted_order(keys, places)
    taken = np.zeros(end - begin, np.int32)
    for i in range(places.size):
        place = places[i]
        first = starts[place]
        before = taken[first - begin]
        by_score[begin + i], rank[begin + i] = order[place], before
        by_rank[first + before] = begin + i
        taken[first - begin] = before + 1
        outside[begin + i] = bits[place - begin]


@compiled
def join_groups(
    dt_order: Array,
    dt_image: Array,
    dt_class: Array,
    gt_order: Array,
    gt_image: Array,
    gt_class: Array,
    starts: Array,
    groups: Array,
) -> int:
    """Find the groups that have detections and ground truths; return how many there are.

    `dt_class`, `gt_class` (K + 1) say where the classes begin. `starts` gets where the group of
    each detection begins, `groups` (N, 4) the places of detections and of ground truths.
    """
    found = 0
    for k in range(dt_class.size - 1):
        g, last = gt_class[k], gt_class[k + 1]
        d = dt_class[k]
        while d < dt_class[k + 1]:
            image, begin = dt_image[dt_order[d]], d
            while d < dt_class[k + 1] and dt_image[dt_order[d]] == image:
                starts[d] = begin
                d += 1
            while g < last and gt_image[gt_order[g]] < image:
                g += 1
            first = g
            while g < last and gt_image[gt_order[g]] == image:
                g += 1
            if g > first:
                groups[found, 0], groups[found, 1] = begin, d
                groups[found, 2], groups[found, 3] = first, g
                found += 1
    return found


@compiled
def sum_runs(text: Array) -> tuple[int, int]:
    """Return how many pixels the compressed run lengths of a mask have, and how many are set.

    Both are -1 where the text is broken. A run is five bits of each of its bytes, the lowest
    first; the sixth says that more follow, and the sign is that of the last. From the fourth run
    on, it is the difference to the run before the last. Every second run is set.
    """
    total, area, before, last, run, shift, count = 0, 0, 0, 0, 0, 0, 0
    for byte in text:
        bits: Any = np.int64(byte) - 48
        if bits < 0 or bits > 63 or shift > 30:
            return -1, -1
        run |= (bits & 31) << shift
        shift += 5
        if bits & 32:
            continue
        if bits & 16:
            run -= 1 << shift
        run += before if count > 2 else 0
        if run < 0 or run >= 1 << 32:
            return -1, -1
        total += run
        area += run if count & 1 else 0
        before, last, run, shift, count = last, run, 0, 0, count + 1
    return (total, area) if shift == 0 else (-1, -1)


@compiled
def _overlap_boxes(box: Array, others: Array, crowd: Array, overlaps: Array) -> None:
    """Write the IoU of a box (x, y, w, h) with others (4, n); of a crowd, the share inside it."""
    x, y, w, h = box[0], box[1], box[2], box[3]
    right, bottom, area = w + x, h + y, w * h
    for j in range(overlaps.size):  # without branches, so that it takes several at a time
        left, top, wide, high = others[0, j], others[1, j], others[2, j], others[3, j]
        width = min(right, wide + left) - max(x, left)
        height = min(bottom, high + top) - max(y, top)
        inside = width * height
        whole = area if crowd[j] else area + wide * high - inside
        overlaps[j] = inside / whole if (width > 0) & (height > 0) else 0.0


@compiled
def _candidates(
    overlaps: Array, count: int, limits: Array, lowest: float, which: Array, reach: Array
) -> int:
    """Collect the ground truths that reach any threshold, the best first; return their number.

    Among equals the last comes first. `reach` gets the bits of the thresholds. -1 is returned
    where an overlap is NaN: boxes so small that their areas vanish.
    """
    found = 0
    for j in range(count):
        if overlaps[j] < lowest:
            continue
        if overlaps[j] != overlaps[j]:
            return -1
        c = found
        while c > 0 and overlaps[which[c - 1]] <= overlaps[j]:
            which[c] = which[c - 1]
            c -= 1
        which[c] = j
        found += 1
    for c in range(found):
        bits = 0
        for t in range(limits.size):
            bits |= (overlaps[which[c]] >= limits[t]) << t
        reach[c] = bits
    return found


@compiled
def _take(found: int, which: Array, reach: Array, taken: Array, aside: Array, crowd: Array) -> Any:
    """Let a detection take, at each threshold, the best candidate that is free.

    Ground truths set `aside` count only where no other is left. Returns the bits of the thresholds
    at which it took one that counts, and one set aside.
    """
    left, result = ~0, (0, 0)
    for turn in range(2):
        mine = 0
        for c in range(found):
            j = which[c]
            if aside[j] != turn:
                continue
            bits = left & reach[c] & (~0 if crowd[j] else ~taken[j])
            taken[j] |= bits
            left &= ~bits
            mine |= bits
        result = (mine, 0) if turn == 0 else (result[0], mine)
    return result


@compiled
def _take_one_by_one(
    overlaps: Array, count: int, limits: Array, taken: Array, aside: Array, crowd: Array
) -> Any:
    """Do what `_take` does where an overlap is NaN, to which nothing compares as less."""
    counted, ignored = 0, 0
    for t in range(limits.size):
        best = -1
        for turn in range(2):
            level = limits[t]
            for j in range(count):
                used = (taken[j] >> t) & 1 and not crowd[j]
                if aside[j] == turn and not used and not overlaps[j] < level:
                    best, level = j, overlaps[j]
            if best >= 0:
                break
        if best >= 0:
            taken[best] |= 1 << t
            counted |= (1 - aside[best]) << t
            ignored |= aside[best] << t
    return counted, ignored


@compiled
def _limits(thresholds: Array) -> tuple[Array, float, int]:
    """Return the IoU to reach for each threshold, the lowest of them, and a bit for each."""
    limits, lowest = np.empty(thresholds.size), np.inf
    for t in range(limits.size):
        limits[t] = min(thresholds[t], _ALMOST_ONE)
        lowest = min(lowest, limits[t])
    return limits, lowest, (1 << limits.size) - 1 if limits.size < 63 else 0x7FFFFFFFFFFFFFFF


@compiled
def match_groups(
    groups: Array,
    dt_box: Array,
    by_score: Array,
    by_rank: Array,
    outside: Array,
    gt_order: Array,
    gt_box: Array,
    gt_area: Array,
    gt_crowd: Array,
    given: Array,
    offsets: Array,
    thresholds: Array,
    sizes: Array,
    most: int,
    hit: Array,
    true: Array,
    ignored: Array,
) -> None:
    """Match the detections of groups, from the highest score down, for each size and threshold.

    Only the `most` first of a group take part. A group's overlaps are in `given` from its offset
    on, or are those of the boxes where there are no offsets. Where a detection reaches the lowest
    threshold with any ground truth, `hit` is set and `true` and `ignored` (N, A) tell the rest.
    """
    largest = 1
    for n in range(groups.shape[0]):
        largest = max(largest, groups[n, 3] - groups[n, 2])
    limits, lowest, full = _limits(thresholds)
    overlaps, boxes = np.empty(largest), np.empty((4, largest))
    which, reach = np.empty(largest, np.int64), np.empty(largest, np.int64)
    crowd = np.empty(largest, np.bool_)
    taken = np.empty((sizes.shape[0], largest), np.int64)
    aside = np.empty((sizes.shape[0], largest), np.int64)
    for n in range(groups.shape[0]):
        begin, end, first = groups[n, 0], groups[n, 1], groups[n, 2]
        count = groups[n, 3] - first
        for j in range(count):
            item = gt_order[first + j]
            crowd[j], area = gt_crowd[item], gt_area[item]
            for side in range(4):
                boxes[side, j] = gt_box[item, side]
            for a in range(sizes.shape[0]):
                aside[a, j] = crowd[j] or area < sizes[a, 0] or area > sizes[a, 1]
                taken[a, j] = 0
        for i in range(min(end - begin, most)):
            step = by_rank[begin + i]
            if offsets.size:
                for j in range(count):
                    overlaps[j] = given[offsets[n] + i * count + j]
            else:
                box = dt_box[by_score[step]]
                _overlap_boxes(box, boxes[:, :count], crowd, overlaps[:count])
            found = _candidates(overlaps, count, limits, lowest, which, reach)
            if not found:
                continue
            hit[step] = True
            for a in range(sizes.shape[0]):
                if found > 0:
                    counted, rest = _take(found, which, reach, taken[a], aside[a], crowd)
                else:
                    counted, rest = _take_one_by_one(
                        overlaps, count, limits, taken[a], aside[a], crowd
                    )
                if (outside[step] >> a) & 1:
                    rest |= full & ~counted
                true[step, a], ignored[step, a] = counted, rest


@compiled
def _tally(
    begin: int, end: int, rank: Array, outside: Array, hit: Array, limits: Array, sizes: int
) -> tuple[Array, Array]:
    """Return the steps with a hit, and how many false positives without one come before each.

    The latter (hits, M, A) are false at every threshold.
    """
    count = 0
    for step in range(begin, end):
        count += hit[step]
    steps = np.empty(count, np.int64)
    before = np.empty((count, limits.size, sizes), np.int32)
    running = np.zeros((limits.size, sizes), np.int32)
    n = 0
    for step in range(begin, end):
        if hit[step]:
            steps[n] = step
            for m in range(limits.size):
                for a in range(sizes):
                    before[n, m, a] = running[m, a]
            n += 1
            continue
        for m in range(limits.size):
            for a in range(sizes):
                running[m, a] += (rank[step] < limits[m]) & (1 - ((outside[step] >> a) & 1))
    return steps, before


@compiled
def _curve(
    a: int,
    limit: int,
    hits: Array,
    before: Array,
    rank: Array,
    true: Array,
    ignored: Array,
    precision: Array,
    steps: Array,
    found: Array,
) -> None:
    """Write precision and step of each true positive (T, ground truths) and how many there are."""
    wrong = np.zeros(found.size, np.int64)
    found[:] = 0
    for h in range(hits.size):
        step = hits[h]
        if rank[step] >= limit:
            continue
        counted, rest = true[step, a], true[step, a] | ignored[step, a]
        for t in range(found.size):
            wrong[t] += 1 - ((rest >> t) & 1)
        if not counted:
            continue
        for t in range(found.size):
            if (counted >> t) & 1:
                n = found[t]
                precision[t, n] = (n + 1.0) / (float(before[h] + wrong[t] + n + 1) + _EPS)
                steps[t, n] = step
                found[t] = n + 1


@compiled
def _read_curve(
    count: int,
    total: int,
    opening: float,
    points: Array,
    curve: Array,
    steps: Array,
    scores: Array,
    by_score: Array,
    precision: Array,
    levels: Array,
) -> None:
    """Write precision and score at each recall of `points` from `count` true positives."""
    for i in range(count - 1, 0, -1):
        curve[i - 1] = max(curve[i - 1], curve[i])
    n = 0
    for r in range(points.size):
        while n < count and (n + 1) / total < points[r]:
            n += 1
        reached = n < count
        precision[r] = curve[n] if reached else 0.0
        levels[r] = scores[by_score[steps[n]]] if reached else 0.0
        if points[r] <= 0:
            levels[r] = opening  # a recall of nothing is reached at once


@compiled
def accumulate(
    begin: int,
    end: int,
    scores: Array,
    by_score: Array,
    rank: Array,
    outside: Array,
    hit: Array,
    true: Array,
    ignored: Array,
    totals: Array,
    points: Array,
    limits: Array,
    counts: Array,
    precision: Array,
    recall: Array,
    levels: Array,
) -> None:
    """Write the curves of one class, whose detections are the steps `begin` to `end`.

    `totals` (A) counts its ground truths; `counts` (M, zeros) gets the number of detections within
    each of the `limits`. The results are `precision` and `levels`
    (A, M, T, R) and `recall` (A, M, T); without ground truths they stay as they are.
    """
    for step in range(begin, end):
        for m in range(limits.size):
            counts[m] += rank[step] < limits[m]
    top = scores[by_score[begin]] if end > begin else 0.0
    hits, before = _tally(begin, end, rank, outside, hit, limits, totals.size)
    found = np.empty(recall.shape[2], np.int64)
    for a in range(totals.size):
        if totals[a] == 0:
            continue
        curve = np.empty((found.size, totals[a]))
        steps = np.empty((found.size, totals[a]), np.int32)
        for m in range(limits.size):
            if m and counts[m - 1] == end - begin:  # the shorter list held everything
                for t in range(found.size):
                    recall[a, m, t] = recall[a, m - 1, t]
                    for r in range(points.size):
                        precision[a, m, t, r] = precision[a, m - 1, t, r]
                        levels[a, m, t, r] = levels[a, m - 1, t, r]
                continue
            _curve(a, limits[m], hits, before[:, m, a], rank, true, ignored, curve, steps, found)
            for t in range(found.size):
                recall[a, m, t] = found[t] / totals[a]
                _read_curve(
                    found[t], totals[a], top, points, curve[t], steps[t], scores, by_score,
                    precision[a, m, t], levels[a, m, t],
                )  # fmt: skip
