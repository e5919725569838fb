"""The pass over maps on a GPU in a few kernels: keys, one sort, one look at the sorted keys.

A key is the bits of a value that is not negative, with the annotation in the last place: sorted
keys tell values and annotated pixels alike, and nothing has to be looked up by index. What follows
the sort reads each key once. `_torch` has the same pass in plain torch, for all other tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import triton
import triton.language as tl

from sightline.metrics._torch import sent

if TYPE_CHECKING:
    from sightline.metrics._regions import RegionTable

Tensor = Any

__all__ = ["FusedOrder"]

F64 = torch.float64
# Keys that one step of a kernel looks at, at most; counts are kept for the start of each block.
_BLOCK = 1024
_ZERO = tl.constexpr(-(2**31))  # the key of a 0 outside the annotation: keys are signed
_SIGNS = {"positive": 0, "absolute": 1}


class FusedOrder:
    """A chunk of maps as sorted keys, with the figures that one look at them gives.

    Parameters
    ----------
    maps, masks : Tensor (maps, height, width)
        On a GPU; values of at most 32 bits.
    sign : {"positive", "absolute"}
        Which part of the values counts.

    Attributes
    ----------
    total : Tensor (maps, 1)
        Annotated pixels, int64.
    energy, within : Tensor (maps, 1), (maps,)
        Sum of all values, and of those inside the annotation.
    finite : Tensor (maps,)
        Whether all values of a map are.
    """

    def __init__(self, maps: Tensor, masks: Tensor, sign: str) -> None:
        maps, masks = maps.contiguous(), masks.contiguous()
        self.maps, self.sign = maps, _SIGNS[sign]
        self.count, self.pixels = len(maps), maps.shape[1] * maps.shape[2]
        block = min(_BLOCK, max(64, triton.next_power_of_2(self.pixels)))
        self._sizes = {"BLOCK": block, "num_warps": max(1, block // 256)}
        device = maps.device
        keys = torch.empty((self.count, self.pixels), dtype=torch.int32, device=device)
        total = torch.empty(self.count, dtype=torch.int32, device=device)
        finite = torch.empty(self.count, dtype=torch.bool, device=device)
        energy, self.within = (torch.empty(self.count, dtype=F64, device=device) for _ in range(2))
        _pack[(self.count,)](
            maps, masks.view(torch.uint8), keys, total, finite, energy, self.within, self.pixels,
            SIGN=self.sign, **self._sizes,
        )  # fmt: skip
        self._fine = _fetched(finite.all())
        self.finite, self.energy = finite, energy[:, None]
        self.total = total[:, None].to(torch.int64)
        self.keys = torch.sort(keys, dim=1).values
        del keys
        blocks = triton.cdiv(self.pixels, block)
        self._before = torch.empty((self.count, blocks), dtype=torch.int32, device=device)
        doubled = torch.empty(self.count, dtype=torch.int64, device=device)
        precision, best, chosen = (
            torch.empty(self.count, dtype=F64, device=device) for _ in range(3)
        )
        _rank[(self.count,)](
            self.keys, total, self._before, doubled, precision, best, chosen, self.pixels, blocks,
            **self._sizes,
        )  # fmt: skip
        self._ranked = doubled, precision, best, chosen

    def all_finite(self) -> bool:
        """Say whether all values of all maps are finite; the sort goes on meanwhile."""
        return bool(self._fine)

    def regions(self, table: RegionTable, rows: slice, pairs: int) -> _Regions:
        """Return some regions (positions in a table) of maps (positions in this chunk)."""
        return _Regions(self, table, rows, pairs)

    def ranking(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return AUC, average precision, best IoU and how many pixels it selects."""
        doubled, precision, best, chosen = self._ranked
        inside = self.total[:, 0].to(F64)
        outside = self.pixels - inside
        auc = doubled.to(F64) / (2.0 * inside * outside)
        auc = torch.where((inside > 0) & (outside > 0), auc, torch.nan)
        best, chosen = (torch.where(inside > 0, one, torch.nan) for one in (best, chosen))
        return auc, precision / inside, best, chosen

    def at(self, place: Tensor, owner: Tensor | None = None) -> Tensor:
        """Return the values at places of the ascending order, of each map or of an owner's."""
        if owner is None:
            return _values(torch.gather(self.keys, 1, place))
        return _values(self.keys[owner[:, None], place])

    def located(self, cuts: Tensor, owner: Tensor | None = None) -> tuple[Tensor, ...]:
        """Return where values that equal each cut start and stop, and what is annotated before.

        Parameters
        ----------
        cuts : Tensor (maps, cuts) or (items, cuts)
            Finite values of float32, none negative.
        owner : Tensor (items,), optional
            The map of each line of `cuts`; by default there is one line for each map.

        Returns
        -------
        start, stop, before_start, before_stop : Tensors of the shape of `cuts`, int64
        """
        cuts = cuts.contiguous()
        lines = cuts.numel()
        if owner is None:
            owner = torch.arange(self.count, dtype=torch.int64, device=cuts.device)
        found = torch.empty((4, lines), dtype=torch.int64, device=cuts.device)
        if lines:
            _locate[(lines,)](
                self.keys, self._before, owner, cuts, found, lines, cuts.shape[1], self.pixels,
                self._before.shape[1], **self._sizes,
            )  # fmt: skip
        start, stop, before_start, before_stop = found.reshape(4, *cuts.shape)
        return start, stop, before_start, before_stop

    def curves(self, points: int) -> Tensor:
        """Return ROC and precision–recall at even steps, `(2, points, maps)`; see `Scores`."""
        out = torch.empty((2, points, self.count), dtype=torch.float32, device=self.keys.device)
        total = self.total[:, 0].to(torch.int32)
        _trace[(self.count, points)](
            self.keys, self._before, total, out, self.count, self.pixels, self._before.shape[1],
            POINTS=points, **self._sizes, BLOCKS=triton.next_power_of_2(self._before.shape[1]),
        )  # fmt: skip
        return out


class _Regions:
    """The regions of the maps of an order, where these are.

    Maps may share regions: these are sent once, and each map's are found there.

    Attributes
    ----------
    owner : Tensor
        For each pair of map and region, which of the maps.
    """

    def __init__(self, order: FusedOrder, table: RegionTable, rows: slice, pairs: int) -> None:
        self.order, device = order, order.maps.device
        spans = table.spans[rows]
        low, high = int(spans[:, 0].min()), int(spans[:, 1].max())
        first, last = table.offsets[low], table.offsets[high]
        self._boxes = sent(table.boxes[low:high].astype(np.int32), device)
        self._whole = bool(first == last)  # boxes alone
        self._offsets = sent(8 * (table.offsets[low : high + 1] - first), device)
        self._drawn = sent(np.unpackbits(table.masks[first:last]), device)
        there = sent(spans - low, device)
        sizes = there[:, 1] - there[:, 0]
        numbers = torch.arange(len(spans), device=device)
        self.owner = torch.repeat_interleave(numbers, sizes, output_size=pairs)
        start = there[:, 0] - (sizes.cumsum(0) - sizes)
        self._region = torch.arange(pairs, device=device) + start[self.owner]

    def counted(self, cuts: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return size, energy and the pixels above and up to each of the cuts `(regions, cuts)`."""
        maps, items, number = self.order.maps, len(self.owner), cuts.shape[1]
        size, energy = (torch.empty(items, dtype=F64, device=maps.device) for _ in range(2))
        above, upto = (torch.empty(cuts.shape, dtype=F64, device=maps.device) for _ in range(2))
        # Boxes are mostly a small part of a map.
        block = min(512, max(64, triton.next_power_of_2(self.order.pixels) // 4))
        if items:
            _sum[(items,)](
                maps, self._drawn, self._boxes, self._offsets, self._region, self.owner,
                cuts.contiguous(), size, energy, above, upto,
                maps.shape[1], maps.shape[2], number,
                WHOLE=self._whole, SIGN=self.order.sign,
                CUTS=max(2, triton.next_power_of_2(number)),
                BLOCK=block, num_warps=max(1, block // 128),
            )  # fmt: skip
        return size, energy, above, upto


class _fetched:  # noqa: N801 (reads like the function it stands for)
    """A value on its way to the host, who waits for it when it is asked for, and for no more."""

    def __init__(self, value: Tensor) -> None:
        self._value, self._there = value, None
        if value.is_cuda:
            self._value = torch.empty(value.shape, dtype=value.dtype, pin_memory=True)
            self._value.copy_(value, non_blocking=True)
            self._there = torch.cuda.Event()
            self._there.record()

    def __bool__(self) -> bool:
        if self._there is not None:
            self._there.synchronize()
        return bool(self._value)


def _values(keys: Tensor) -> Tensor:
    """Return the values that keys stand for."""
    return ((keys.to(torch.int64) + 2**31) >> 1).to(torch.int32).view(torch.float32)


@triton.jit
def _signed(x, SIGN: tl.constexpr):
    """Apply the rule of the sign; there is no negative zero afterwards."""
    x = x.to(tl.float32)
    if SIGN == 0:
        return tl.where(x > 0, x, 0.0)
    return tl.abs(x)


@triton.jit
def _pack(
    maps, masks, keys, total, finite, energy, within, pixels,
    SIGN: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Write the keys of a map, count its annotated pixels and add up its values."""
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    count = tl.zeros([BLOCK], tl.int32)
    odd = tl.zeros([BLOCK], tl.int32)
    all_of, some = tl.zeros([BLOCK], tl.float64), tl.zeros([BLOCK], tl.float64)
    for start in range(0, pixels, BLOCK):
        here = start + lane
        there = here < pixels
        raw = tl.load(maps + row * pixels + here, mask=there, other=0).to(tl.float32)
        inside = tl.load(masks + row * pixels + here, mask=there, other=0) != 0
        odd += ((raw != raw) | (tl.abs(raw) == float("inf"))).to(tl.int32)
        value = _signed(raw, SIGN)
        bits = value.to(tl.int32, bitcast=True)
        key = ((bits << 1) | inside.to(tl.int32)) ^ _ZERO
        tl.store(keys + row * pixels + here, key, mask=there)
        count += inside.to(tl.int32)
        wide = value.to(tl.float64)
        all_of += wide
        some += tl.where(inside, wide, 0.0)
    tl.store(total + row, tl.sum(count, 0))
    tl.store(finite + row, tl.sum(odd, 0) == 0)
    tl.store(energy + row, tl.sum(all_of, 0))
    tl.store(within + row, tl.sum(some, 0))


@triton.jit
def _larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def _rank(
    keys, total, before, doubled, precision, best, chosen, pixels, blocks, BLOCK: tl.constexpr
):  # fmt: skip
    """Rank the annotated pixels of a map by where the group of values equal to theirs starts."""
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    inside_all = tl.load(total + row)
    seen = tl.zeros([], tl.int32)
    carried = tl.zeros([], tl.int64)  # start of the group, and annotated pixels before it
    pairs = tl.zeros([BLOCK], tl.int64)
    hit_share = tl.zeros([BLOCK], tl.float64)
    highest = tl.zeros([BLOCK], tl.float64)
    fewest = tl.zeros([BLOCK], tl.float64)  # pixels that the highest selects: ever fewer
    for block in range(blocks):
        here = block * BLOCK + lane
        there = here < pixels
        key = tl.load(keys + row * pixels + here, mask=there, other=0)
        last = tl.load(keys + row * pixels + here - 1, mask=there & (here > 0), other=0)
        mark = tl.where(there, key & 1, 0)
        fresh = there & ((here == 0) | ((key >> 1) != (last >> 1)))
        upto = tl.cumsum(mark, 0)
        tl.store(before + row * blocks + block, seen)
        ahead = seen + upto - mark
        pair = tl.where(fresh, (here.to(tl.int64) << 32) | ahead.to(tl.int64), 0)
        pair = tl.maximum(tl.associative_scan(pair, 0, _larger), carried)
        begin, below = (pair >> 32).to(tl.int32), (pair & 0x7FFFFFFF).to(tl.int32)
        won = tl.where(mark == 1, begin - below, -below)
        pairs += tl.where(there, won, 0).to(tl.int64)
        hits, taken = (inside_all - below).to(tl.float64), (pixels - begin).to(tl.float64)
        hit_share += tl.where(mark == 1, hits / taken, 0.0)
        joint = hits / (inside_all.to(tl.float64) + taken - hits)
        joint = tl.where(there, joint, -1.0)
        fewest = tl.where(joint >= highest, taken, fewest)
        highest = tl.maximum(highest, joint)
        seen += tl.sum(mark, 0)
        carried = tl.max(pair, 0)
    outside = (pixels - inside_all).to(tl.int64)
    tl.store(doubled + row, tl.sum(pairs, 0) + outside * inside_all)
    tl.store(precision + row, tl.sum(hit_share, 0))
    top = tl.max(highest, 0)
    tl.store(best + row, top)
    tl.store(chosen + row, tl.min(tl.where(highest == top, fewest, 1e300), 0))


@triton.jit
def _first(keys, base, wanted, pixels):
    """Return the first place whose key is at least the wanted one."""
    low = tl.zeros([], tl.int32)
    high = low + pixels
    while low < high:
        middle = (low + high) // 2
        if tl.load(keys + base + middle) < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@triton.jit
def _marked(keys, before, row, place, pixels, blocks, BLOCK: tl.constexpr):
    """Return how many annotated pixels come before a place."""
    block = tl.minimum(place // BLOCK, blocks - 1)
    here = block * BLOCK + tl.arange(0, BLOCK)
    key = tl.load(keys + row * pixels + here, mask=here < place, other=0)
    return tl.load(before + row * blocks + block) + tl.sum(key & 1, 0)


@triton.jit
def _locate(
    keys, before, owner, cuts, found, lines, columns, pixels, blocks, BLOCK: tl.constexpr
):  # fmt: skip
    """Find where the values that equal a cut start and stop, and what is annotated before."""
    line = tl.program_id(0).to(tl.int64)
    row = tl.load(owner + line // columns)
    bits = tl.load(cuts + line).to(tl.int32, bitcast=True)
    wanted = (bits << 1) ^ _ZERO
    start = _first(keys, row * pixels, wanted, pixels)
    # The largest key of the value is its annotated one: the next place begins after it.
    low = start
    high = low * 0 + pixels
    while low < high:
        middle = (low + high) // 2
        if tl.load(keys + row * pixels + middle) > (wanted | 1):
            high = middle
        else:
            low = middle + 1
    tl.store(found + line, start.to(tl.int64))
    tl.store(found + lines + line, low.to(tl.int64))
    marked = _marked(keys, before, row, start, pixels, blocks, BLOCK)
    tl.store(found + 2 * lines + line, marked.to(tl.int64))
    marked = _marked(keys, before, row, low, pixels, blocks, BLOCK)
    tl.store(found + 3 * lines + line, marked.to(tl.int64))


@triton.jit
def _sum(
    maps, drawn, boxes, offsets, region, owner, cuts, size, energy, above, upto,
    height, width, number,
    WHOLE: tl.constexpr, SIGN: tl.constexpr, CUTS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Count the pixels of a region, above and up to each of its cuts, and add up their values."""
    item = tl.program_id(0).to(tl.int64)
    row, which = tl.load(owner + item), tl.load(region + item)
    box = boxes + which * 4
    x0, y0, x1, y1 = tl.load(box), tl.load(box + 1), tl.load(box + 2), tl.load(box + 3)
    across = tl.maximum(x1 - x0, 1)
    area = (x1 - x0) * (y1 - y0)
    offset, past = tl.load(offsets + which), tl.load(offsets + which + 1)
    column = tl.arange(0, CUTS)
    cut = tl.load(cuts + item * number + column, mask=column < number, other=float("inf"))
    lane = tl.arange(0, BLOCK)
    over, least = tl.zeros([CUTS], tl.int32), tl.zeros([CUTS], tl.int32)
    pixels, held = tl.zeros([BLOCK], tl.int32), tl.zeros([BLOCK], tl.float64)
    for start in range(0, area, BLOCK):
        here = start + lane
        there = here < area
        if not WHOLE:  # noqa: SIM102 (the one is known when it is compiled)
            if past > offset:  # else it is its whole box
                there = there & (tl.load(drawn + offset + here, mask=there, other=0) != 0)
        y, x = y0 + here // across, x0 + here % across
        raw = tl.load(maps + row * height * width + y * width + x, mask=there, other=0)
        value = _signed(raw, SIGN)
        held += tl.where(there, value.to(tl.float64), 0.0)
        pixels += there.to(tl.int32)
        value = tl.where(there, value, -1.0)
        over += tl.sum((value[None, :] > cut[:, None]).to(tl.int32), 1)
        least += tl.sum((value[None, :] >= cut[:, None]).to(tl.int32), 1)
    tl.store(size + item, tl.sum(pixels, 0).to(tl.float64))
    tl.store(energy + item, tl.sum(held, 0))
    tl.store(above + item * number + column, over.to(tl.float64), mask=column < number)
    tl.store(upto + item * number + column, least.to(tl.float64), mask=column < number)


@triton.jit
def _group(keys, base, place, pixels):
    """Return where the group of values equal to that at a place starts and stops."""
    key = tl.load(keys + base + place) & -2
    start = _first(keys, base, key, pixels)
    low = place
    high = low * 0 + pixels
    while low < high:
        middle = (low + high) // 2
        if tl.load(keys + base + middle) > (key | 1):
            high = middle
        else:
            low = middle + 1
    return start, low


@triton.jit
def _trace(
    keys, before, total, out, count, pixels, blocks,
    POINTS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr,
):  # fmt: skip
    """Trace one point of the ROC and one of the precision–recall curve of a map."""
    row, step = tl.program_id(0).to(tl.int64), tl.program_id(1)
    steps = POINTS - 1
    left = steps - step  # hundredths that are not yet reached
    inside = tl.load(total + row).to(tl.int64)
    outside = pixels - inside
    base = row * pixels
    number = tl.arange(0, BLOCKS)
    ahead = tl.load(before + row * blocks + number, mask=number < blocks, other=0).to(tl.int64)
    begins = number.to(tl.int64) * BLOCK
    lane = tl.arange(0, BLOCK)
    # The last place before which no more than the recall's share is annotated, and its group.
    fits = (number < blocks) & (steps * ahead <= left * inside)
    block = tl.sum(fits.to(tl.int32), 0) - 1
    here = block * BLOCK + lane
    there = here < pixels
    mark = tl.where(there, tl.load(keys + base + here, mask=there, other=0) & 1, 0)
    upto = tl.load(before + row * blocks + block) + tl.cumsum(mark, 0) - mark
    fits = there & (steps * upto.to(tl.int64) <= left * inside)
    place = block * BLOCK + tl.sum(fits.to(tl.int32), 0) - 1
    start, _ = _group(keys, base, place, pixels)
    hits = inside - _marked(keys, before, row, start, pixels, blocks, BLOCK)
    precision = hits.to(tl.float64) / (pixels - start).to(tl.float64)
    precision = tl.where(inside > 0, precision, float("nan"))
    tl.store(out + (POINTS + step) * count + row, precision.to(tl.float32))
    # The last place before which less than the false positives' share lies outside.
    fits = (number < blocks) & (steps * (begins - ahead) < left * outside)
    block = tl.maximum(tl.sum(fits.to(tl.int32), 0) - 1, 0)
    here = block * BLOCK + lane
    there = here < pixels
    mark = tl.where(there, tl.load(keys + base + here, mask=there, other=0) & 1, 0)
    upto = tl.load(before + row * blocks + block) + tl.cumsum(mark, 0) - mark
    fits = there & (steps * (here - upto).to(tl.int64) < left * outside)
    place = tl.maximum(block * BLOCK + tl.sum(fits.to(tl.int32), 0) - 1, 0)
    start, stop = _group(keys, base, place, pixels)
    most = inside - _marked(keys, before, row, start, pixels, blocks, BLOCK)
    hits = inside - _marked(keys, before, row, stop, pixels, blocks, BLOCK)
    misses = pixels - stop - hits
    lost = stop - start - (most - hits)
    wanted = step * outside - steps * misses
    mixed = hits * steps * lost + (most - hits) * wanted
    share = mixed.to(tl.float64) / (steps * lost * inside).to(tl.float64)
    share = tl.where(step == steps, 1.0, share)
    share = tl.where((inside > 0) & (outside > 0), share, float("nan"))
    tl.store(out + step * count + row, share.to(tl.float32))
