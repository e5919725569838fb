"""The compiled passes around the one sort of each map.

A map without negative values orders like the bits of its floats, so one unsigned key holds both
the value and whether the pixel is inside the annotation: ``bits << 1 | inside``. Sorted, the keys
serve every ranking and every threshold; among equal values the outside pixels come first.

The kernels release the interpreter lock and are driven by threads, a chunk of maps at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sightline.core.compilation import compiled, compiled_sums

Array = Any
Number = Any

# How a budget, the number of selected pixels, comes about.
SKIPPED, FIXED, QUANTILE, MASS, MASS_WHOLE, MEAN, MATCHED, MATCHED_WHOLE = range(8)
# What is wrong with a box, the first of it that holds.
FINE, NOT_FINITE, FAR, UNORDERED, OUTSIDE = range(5)
ROUNDING = 1e-12
"""Relative distance within which a value counts as equal to a computed threshold."""
BLOCK = 1 << 12
"""Keys between two counts of inside pixels, where a map is too large to keep a rank of each."""
HUGE, SHRINK = 1e290, 2.0**-600
"""Maps with values above `HUGE` are summed after multiplication by `SHRINK`, lest sums overflow."""


@compiled_sums
def pack(
    values: Array,
    bits: Array,
    inside: Array,
    absolute: bool,
    magnitude: Any,
    keys: Array,
    top: Array,
    energy: Array,
) -> None:
    """Write each map's keys after its sign rule, its energies, and the bits of its largest value.

    `values` and `bits` (maps, pixels) are the same floats, the latter as signed integers, of which
    `magnitude` has every bit but the sign. `energy` (maps, 3) is total, total inside, scale 1.
    """
    unsigned, zero = keys.dtype.type, bits.dtype.type(0)
    for b in range(bits.shape[0]):
        largest, total, within = zero, 0.0, 0.0
        for i in range(bits.shape[1]):
            size = bits.dtype.type(bits[b, i] & magnitude)
            largest = max(largest, size)
            # As integers, negative floats are negative and -0.0 is the smallest: both become 0.
            kept = size if absolute else max(bits[b, i], zero)
            keys[b, i] = (unsigned(kept) << unsigned(1)) | unsigned(inside[b, i])
            value: Number = np.float64(values[b, i])
            value = abs(value) if absolute else max(value, 0.0)
            total += value
            within += value if inside[b, i] else 0.0
        top[b] = largest
        energy[b, 0], energy[b, 1], energy[b, 2] = total, within, 1.0


@compiled_sums
def shrink(values: Array, inside: Array, absolute: bool, energy: Array) -> None:
    """Sum one map whose plain sum would overflow; `energy` as in `pack`, with scale `SHRINK`."""
    total, within = 0.0, 0.0
    for i in range(values.size):
        value = (abs(values[i]) if absolute else max(values[i], 0.0)) * SHRINK
        total += value
        within += value if inside[i] else 0.0
    energy[0], energy[1], energy[2] = total, within, SHRINK


@compiled
def _ranks(keys: Array, ranks: Array) -> Number:
    """Write the positions of the inside pixels in ascending order; return how many there are.

    Where `ranks` is shorter than the map, it gets the inside pixels below each `BLOCK` of keys.
    """
    count: Number = 0
    if ranks.size <= keys.size:
        for block in range(ranks.size):
            ranks[block] = count
            for i in range(block * BLOCK, min((block + 1) * BLOCK, keys.size)):
                count += np.int64(keys[i] & keys.dtype.type(1))
        return count
    for i in range(keys.size):
        ranks[count] = i
        count += np.int64(keys[i] & keys.dtype.type(1))
    return count


@compiled
def _first(sorted_: Array, stop: Number, value: Any) -> Number:
    """Return the first position below `stop` that holds at least `value`, else `stop`."""
    low, high = 0, stop
    while low < high:
        middle = (low + high) >> 1
        if sorted_[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _inside_below(keys: Array, ranks: Array, count: Number, stop: Number) -> Number:
    """Count the inside pixels below a position."""
    if ranks.size > keys.size:
        return _first(ranks, count, stop)
    found = np.int64(ranks[stop // BLOCK])
    for i in range(stop // BLOCK * BLOCK, stop):
        found += np.int64(keys[i] & keys.dtype.type(1))
    return found


@compiled
def _tie_group(keys: Array, ranks: Array, i: Number) -> tuple[Number, Number]:
    """Return the inside pixels below the tie group of inside pixel `i`, and where it starts."""
    key = keys[ranks[i]]
    while i >= 0 and keys[ranks[i]] == key:
        i -= 1
    first = np.int64(ranks[i + 1])
    tied = key ^ keys.dtype.type(1)
    if first > 0 and keys[first - 1] == tied:
        return i + 1, _first(keys, first, tied)
    return i + 1, first


@compiled
def _ranking(keys: Array, ranks: Array, count: int, out: Array) -> None:
    """AUC, average precision, best IoU and what it selects, one tie group of inside pixels each."""
    pixels = keys.size
    if count == 0:
        out[:] = np.nan
        return
    left, pairs, precision = count, np.int64(0), 0.0
    best: tuple[Number, Number] = (np.int64(0), np.int64(1))
    best_selected = np.int64(0)
    while left > 0:
        last = left
        left, start = _tie_group(keys, ranks, left - 1)
        first = np.int64(ranks[left])
        hits, selected = count - left, pixels - start
        below, upto = start - left, first - left  # outside pixels under / not above the group
        pairs += (last - left) * (below + upto)
        precision += (last - left) * (hits / selected)
        union = count + selected - hits
        if hits * best[1] > best[0] * union:  # fractions compared without dividing
            best = (hits, union)
            best_selected = selected
    outside = pixels - count
    out[0] = pairs / (2.0 * count * outside) if outside else np.nan
    out[1] = precision / count
    out[2] = best[0] / best[1]
    out[3] = best_selected


@compiled
def _ranking_without_ranks(keys: Array, count: int, out: Array) -> None:
    """What `_ranking` writes, the tie groups found by a walk down the keys."""
    pixels = keys.size
    if count == 0:
        out[:] = np.nan
        return
    one, first = keys.dtype.type(1), pixels
    left, pairs, precision = count, np.int64(0), 0.0
    best: tuple[Number, Number] = (np.int64(0), np.int64(1))
    best_selected = np.int64(0)
    while left > 0:
        last, stop = left, first
        while not keys[stop - 1] & one:
            stop -= 1
        key, first = keys[stop - 1], stop - 1
        while first > 0 and keys[first - 1] == key:
            first -= 1
        left, start, tied = last - (stop - first), first, key ^ one
        if first > 0 and keys[first - 1] == tied:
            start = _first(keys, first, tied)
        hits, selected = count - left, pixels - start
        below, upto = start - left, first - left  # outside pixels under / not above the group
        pairs += (last - left) * (below + upto)
        precision += (last - left) * (hits / selected)
        union = count + selected - hits
        if hits * best[1] > best[0] * union:  # fractions compared without dividing
            best = (hits, union)
            best_selected = selected
    outside = pixels - count
    out[0] = pairs / (2.0 * count * outside) if outside else np.nan
    out[1] = precision / count
    out[2] = best[0] / best[1]
    out[3] = best_selected


@compiled
def _value(key: Any, cast: Array, floats: Array) -> Number:
    """Return the map value of a key; `cast` and `floats` are two views of one scratch cell."""
    cast[0] = key >> 1
    return np.float64(floats[0])


@compiled
def _at_least(keys: Array, value: float, cast: Array, floats: Array) -> Number:
    """Count the pixels whose value is at least `value`."""
    low, high = 0, keys.size
    while low < high:
        middle = (low + high) >> 1
        if _value(keys[middle], cast, floats) < value:
            low = middle + 1
        else:
            high = middle
    return keys.size - low


@compiled
def _quantile(keys: Array, share: float, cast: Array, floats: Array) -> Number:
    """Return the linearly interpolated quantile, rounding as numpy does."""
    place = share * (keys.size - 1)
    lower = int(np.floor(place))
    weight = place - lower
    a = _value(keys[lower], cast, floats)
    b = _value(keys[min(lower + 1, keys.size - 1)], cast, floats)
    return b - (b - a) * (1 - weight) if weight >= 0.5 else a + (b - a) * weight


@compiled
def _above_mean(keys: Array, total: float, scale: float, cast: Array, floats: Array) -> Number:
    """Count the pixels above the mean; a constant map counts whole."""
    if keys[0] >> 1 == keys[-1] >> 1:
        return keys.size
    low, high = 0, keys.size
    while low < high:
        middle = (low + high) >> 1
        value = _value(keys[middle], cast, floats) * scale * keys.size
        if value > total * (1 + ROUNDING):
            high = middle
        else:
            low = middle + 1
    return keys.size - low


@compiled
def _mass(
    keys: Array, share: float, whole: bool, total: float, scale: float, cast: Array, floats: Array
) -> Number:
    """Count the highest pixels that hold `share` of the total; the last group in part or whole."""
    if total == 0.0:
        return np.nan
    # The whole of it is reached at the last value above 0, however the sums round.
    target, held, end = np.inf if share == 1.0 else share * total, 0.0, keys.size
    while end > 0:
        key = keys[end - 1] >> 1
        start = end - 1
        while start > 0 and keys[start - 1] >> 1 == key:
            start -= 1
        value = _value(keys[end - 1], cast, floats) * scale
        group = value * (end - start)
        if value == 0.0:
            break
        if whole and held + group >= target - ROUNDING * total:
            return np.float64(keys.size - start)
        if not whole and held + group >= target:
            return keys.size - end + (target - held) / value
        held += group
        end = start
    return np.float64(keys.size - end)


@compiled
def _budget(
    keys: Array, rule: int, level: float, count: int, energy: Array, cast: Array, floats: Array
) -> Number:
    """Return the number of pixels that a selection rule takes, as a real number."""
    if rule == FIXED:
        return level
    if rule == QUANTILE:
        return np.float64(_at_least(keys, _quantile(keys, level, cast, floats), cast, floats))
    if rule == MEAN:
        return np.float64(_above_mean(keys, energy[0], energy[2], cast, floats))
    if rule == MATCHED:
        return np.float64(count)
    if rule == MATCHED_WHOLE:
        if count == 0:
            return 0.0
        value = _value(keys[keys.size - count], cast, floats)
        return np.float64(_at_least(keys, value, cast, floats))
    return _mass(keys, level, rule == MASS_WHOLE, energy[0], energy[2], cast, floats)


@compiled
def _group(keys: Array, budget: float, out: Array) -> None:
    """Find the tie group in which a budget ends: its key, pixels above it, pixels in it."""
    one = keys.dtype.type(1)
    if not budget > 0.0:  # nothing is selected, or the budget is undefined
        out[0], out[1], out[2] = keys.size, 0, 0
        return
    place = max(keys.size - np.int64(np.ceil(budget)), 0)
    low = (keys[place] >> one) << one
    start = _first(keys, keys.size, low)
    stop = keys.size if low == keys[-1] & ~one else _first(keys, keys.size, low + one + one)
    out[0], out[1], out[2] = place, keys.size - stop, stop - start


@compiled
def measure(
    keys: Array,
    energy: Array,
    rules: Array,
    levels: Array,
    cells: tuple[Array, Array, Array],
    ranking: Array,
    budgets: Array,
    counts: Array,
    cuts: Array,
) -> None:
    """Take everything that one pass over sorted keys (maps, pixels) gives.

    Parameters
    ----------
    keys : (B, N) sorted keys
    energy : (B, 3) total, total inside, scale
    rules, levels : (K,) and (B, K) selection rules and their parameters
    cells : scratch: ranks (N + 1,), or (N // BLOCK + 1,) which takes longer and less memory;
        an unsigned cell and the same cell as float
    ranking : (B, 5) out: inside pixels, AUC, average precision, best IoU, pixels it selects
    budgets : (B, K) out: selected pixels
    counts : (B, K, 4) out: above, tied, above inside, tied inside
    cuts : (B, K) out: value of the tie group in which the budget ends
    """
    ranks, cast, floats = cells
    group = np.empty(3, np.int64)
    for b in range(keys.shape[0]):
        row = keys[b]
        count = _ranks(row, ranks)
        ranking[b, 0] = count
        if ranks.size > row.size:
            _ranking(row, ranks, count, ranking[b, 1:])
        else:
            _ranking_without_ranks(row, count, ranking[b, 1:])
        for k in range(rules.size):
            budget = _budget(row, rules[k], levels[b, k], count, energy[b], cast, floats)
            budgets[b, k] = budget
            _group(row, budget, group)
            stop = row.size - group[1]
            upto_stop = _inside_below(row, ranks, count, stop)
            upto_start = _inside_below(row, ranks, count, stop - group[2])
            counts[b, k, 0], counts[b, k, 1] = group[1], group[2]
            counts[b, k, 2], counts[b, k, 3] = count - upto_stop, upto_stop - upto_start
            cuts[b, k] = _value(row[group[0]], cast, floats) if group[2] else np.inf


@compiled
def curves(keys: Array, ranks: Array, out: Array) -> None:
    """Write the curves of sorted keys (maps, pixels) to `out` (maps, 2, points)."""
    for b in range(keys.shape[0]):
        count = _ranks(keys[b], ranks)
        _curves(keys[b], ranks, count, out[b, 0], out[b, 1])


@compiled
def _curves(keys: Array, ranks: Array, count: int, roc: Array, precision: Array) -> None:
    """Walk down the tie groups of inside pixels: each is a point of ROC and precision–recall.

    `roc` gets the true positive rate at even steps of the false positive rate, linear between the
    points; `precision` that of the first group which reaches each even step of recall.
    """
    steps, outside = roc.size - 1, keys.size - count
    roc[:], precision[:] = np.nan, np.nan
    if count == 0:
        return
    x, y, left = np.int64(0), np.int64(0), count
    if not keys[-1] & keys.dtype.type(1):  # the highest pixels are all outside
        precision[0], y = 0.0, np.int64(1)
    while left > 0:
        hits, above = count - left, keys.size - 1 - np.int64(ranks[left - 1])
        misses = above - hits
        while x * outside < steps * misses:  # rates are compared, and mixed below, as fractions
            roc[x] = hits / count
            x += 1
        left, start = _tie_group(keys, ranks, left - 1)
        gained, lost = count - left - hits, np.int64(ranks[left]) - start
        while x * outside < steps * (misses + lost):
            mixed = hits * steps * lost + gained * (x * outside - steps * misses)
            roc[x] = mixed / (steps * lost * count)
            x += 1
        while y <= steps and y * count <= steps * (hits + gained):
            precision[y] = (hits + gained) / (keys.size - start)
            y += 1
    if outside:
        roc[x:] = 1.0


@compiled
def _gather(image: Array, box: Array, mask: Array, absolute: bool, out: Array) -> Number:
    """Copy a region's pixels, after the sign rule; an empty `mask` stands for the whole box."""
    width, n = box[2] - box[0], 0
    zero = image.dtype.type(0)
    for y in range(box[1], box[3]):
        row, copy = image[y, box[0] : box[2]], out[n : n + width]
        for x in range(width):
            copy[x] = abs(row[x]) if absolute else max(row[x], zero)
        n += width
    return n if mask.size == 0 else _keep(out, mask, n)


@compiled
def _keep(values: Array, mask: Array, size: int) -> Number:
    """Move those of `size` values that a packed mask marks to the front; return how many."""
    n: Number = 0
    for i in range(size):
        values[n] = values[i]
        n += np.int64((mask[i >> 3] >> (7 - (i & 7))) & 1)
    return n


@compiled_sums
def _sum(values: Array, scale: float) -> Number:
    total = 0.0
    for i in range(values.size):
        total += np.float64(values[i]) * scale
    return total


@compiled
def _count(values: Array, cut: Number) -> tuple[Number, Number]:
    """Count the values above and at a cut."""
    # Counters as wide as the values let the comparison fill whole vector registers.
    above, upto = np.int32(0), np.int32(0)
    for i in range(values.size):
        above = np.int32(above + np.int32(values[i] > cut))
        upto = np.int32(upto + np.int32(values[i] >= cut))
    return np.int64(above), np.int64(upto - above)


@compiled
def match_regions(
    keys: Array,
    energy: Array,
    rules: Array,
    regions: tuple[Array, Array, Array, Array],
    found: tuple[Array, Array, Array],
    cells: tuple[Array, Array],
    results: Array,
) -> None:
    """Find for each region its budgets, the pixels above and at them, and the cuts.

    Parameters
    ----------
    keys, energy : as in `measure`
    rules : (K,) selection rules, of which some are `SKIPPED`
    regions : spans (B, 3): first region of a map, stop, first row of `results`; pixel boxes (R, 4);
        offsets (R + 1,) into masks, the packed pixels of those regions that are not whole boxes
    found : budgets, counts and cuts of the maps, from `measure`
    cells : scratch: an unsigned cell and the same cell as float
    results : (rows, K, 5) out: budget, above, tied, cut
    """
    spans, boxes, offsets, masks = regions
    budgets, counts, cuts = found
    cast, floats = cells
    group = np.empty(3, np.int64)
    for b in range(keys.shape[0]):
        row = spans[b, 2]
        for r in range(spans[b, 0], spans[b, 1]):
            size = (boxes[r, 2] - boxes[r, 0]) * (boxes[r, 3] - boxes[r, 1])
            if offsets[r] < offsets[r + 1]:
                size = _count_set(masks[offsets[r] : offsets[r + 1]])
            for k in range(rules.size):
                if rules[k] == SKIPPED:
                    continue
                cut, budget = cuts[b, k], budgets[b, k]
                above, tied = counts[b, k, 0], counts[b, k, 1]
                if rules[k] == MATCHED or rules[k] == MATCHED_WHOLE:
                    budget = _budget(keys[b], rules[k], 0.0, size, energy[b], cast, floats)
                    _group(keys[b], budget, group)
                    above, tied = group[1], group[2]
                    cut = _value(keys[b, group[0]], cast, floats) if tied else np.inf
                results[row, k, 0], results[row, k, 1], results[row, k, 2] = budget, above, tied
                results[row, k, 3] = cut
            row += 1


@compiled
def _count_set(mask: Array) -> Number:
    """Count the pixels of a packed mask."""
    count: Number = 0
    for i in range(mask.size):
        byte = np.int64(mask[i])
        while byte:
            byte &= byte - 1
            count += 1
    return count


@compiled
def count_regions(
    images: Array,
    scales: Array,
    absolute: bool,
    rules: Array,
    regions: tuple[Array, Array, Array, Array],
    pixels: Array,
    out: tuple[Array, Array],
) -> None:
    """Count each region's pixels above and at its cuts.

    Parameters
    ----------
    images : (B, H, W) the maps as given
    scales : (B,) what sums are multiplied by
    rules, regions : as in `match_regions`
    pixels : (B, N) scratch
    out : sums (rows, 2): pixels and energy of each region; counts (rows, K, 5): in, budget, above,
        tied, cut; out, budget, above, tied, above inside, tied inside
    """
    spans, boxes, offsets, masks = regions
    sums, results = out
    for b in range(images.shape[0]):
        row, values = spans[b, 2], pixels[b]
        for r in range(spans[b, 0], spans[b, 1]):
            mask = masks[offsets[r] : offsets[r + 1]]
            size = _gather(images[b], boxes[r], mask, absolute, values)
            sums[row, 0], sums[row, 1] = size, _sum(values[:size], scales[b])
            for k in range(rules.size):
                if rules[k] == SKIPPED:
                    continue
                cut = images.dtype.type(results[row, k, 3])
                results[row, k, 3], results[row, k, 4] = _count(values[:size], cut)
            row += 1


@compiled
def box_pixels(boxes: Array, height: int, width: int, pixels: Array, faults: Array) -> None:
    """Write the pixels of boxes (n, 4) and what is wrong with each: `_raster.box_pixels` of many.

    Edges are shares of the image in [0, 1], and may lie up to 1 outside.
    """
    for i in range(boxes.shape[0]):
        faults[i] = FINE
        for axis in range(2):
            low, high = boxes[i, axis], boxes[i, axis + 2]
            fault = OUTSIDE
            if not (np.isfinite(low) and np.isfinite(high)):
                fault = NOT_FINITE
            elif min(low, high) < -1 or max(low, high) > 2:
                fault = FAR
            elif high < low:
                fault = UNORDERED
            overlap = min(high, 1.0) - max(low, 0.0)
            if fault != OUTSIDE or overlap < 0 or (overlap == 0 and low < high):
                faults[i] = fault if faults[i] == FINE else min(fault, faults[i])
                continue
            size = height if axis else width
            start = _snap(min(max(low, 0.0), 1.0) * size)
            stop = _snap(min(max(high, 0.0), 1.0) * size)
            first, last = np.ceil(start - 0.5), np.floor(stop + 0.5)
            if first >= last:
                centre = _snap((start + stop) / 2)
                first, last = max(np.ceil(centre) - 1, 0.0), min(np.floor(centre) + 1, 1.0 * size)
            pixels[i, axis], pixels[i, axis + 2] = first, last


@compiled
def _snap(edge: Number) -> Number:
    """See `_raster._snap`."""
    half = np.floor(2 * edge + 0.5) / 2
    return half if abs(edge - half) < 1e-9 else edge
