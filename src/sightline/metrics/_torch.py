"""The pass over a batch of tensors where they are: one batched sort, then running counts.

It gives the same counts as the kernels of the CPU. On a GPU with Triton the usual maps and rules
take the kernels of `_fused`, a few times as quick; all else is plain torch, batched and free of
transfers to the host, but for regions that are not boxes and for matched selection of regions,
which loop.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sightline.core.arrays import has_triton
from sightline.metrics._border import nonfinite_error
from sightline.metrics._counts import POINTS, Counts, Plan, RegionCounts, Selected, join
from sightline.metrics.selection import HUGE, ROUNDING, SHRINK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.metrics._regions import RegionTable
    from sightline.metrics.selection import Threshold, Ties

Tensor = Any

__all__ = ["from_numpy", "measure"]

# Working memory is about 60 bytes a pixel, 40 in fused kernels: chunks keep it bounded for any
# batch.
CHUNK_PIXELS = 1 << 27
FUSED_PIXELS = 1 << 28
F64 = torch.float64
NARROW = (
    torch.float32,
    torch.float16,
    torch.bfloat16,
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
)


def from_numpy(counts: Counts) -> Counts:
    """Return the counts of the CPU pass as tensors."""
    found: Counts = _tensors(counts)
    return found


def _tensors(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        changes = {field.name: _tensors(getattr(value, field.name)) for field in fields(value)}
        for name in {"map", "region"} & changes.keys():  # positions stay in main memory
            changes[name] = getattr(value, name)
        return replace(value, **changes)
    return torch.from_numpy(value.copy()) if hasattr(value, "__array__") else value


def sent(array: NDArray[Any], device: Any) -> Tensor:
    """Return an array on a device; the host does not wait for it to get there."""
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def measure(
    maps: Tensor,
    masks: Tensor,
    plan: Plan,
    *,
    table: RegionTable | None = None,
    drop: bool = False,
    begun: Any = None,
) -> Counts:
    """Measure maps `(B, H, W)` against masks of the same shape, chunk by chunk.

    What `begin` has begun with the same maps and masks goes on from there.
    """
    batch, pixels = maps.shape[0], maps.shape[1] * maps.shape[2]
    if _fits_kernels(maps, plan):
        with _on(maps):
            return _measure_fused(maps, masks, plan, table, drop, begun)
    flat = maps.reshape(batch, -1)
    finite = torch.isfinite(flat).all(dim=1) if maps.dtype.is_floating_point else None
    if finite is not None and not drop and not bool(finite.all()):
        index = int(torch.argmin(finite.to(torch.uint8)))
        raise nonfinite_error(index, flat[index].to(F64))
    step = max(1, CHUNK_PIXELS // pixels)
    parts = []
    for start in range(0, batch, step):
        rows = slice(start, min(start + step, batch))
        here = None if finite is None or not drop else finite[rows]
        parts.append(_measure_chunk(maps[rows], masks[rows], plan, table, rows, here))
    return parts[0] if len(parts) == 1 else join(parts)


def _fits_kernels(maps: Tensor, plan: Plan) -> bool:
    """Say whether the fused kernels can measure maps: not all signs and rules are in them."""
    return (
        _on_gpu(maps)
        and maps.dtype in NARROW
        and plan.sign != "signed"
        and maps.numel() > 0
        and all(
            ties == "share" and threshold.kind in ("top", "percentile", "matched")
            for threshold, ties in plan.all
        )
    )


def _on_gpu(maps: Tensor) -> bool:
    """Say whether maps are where Triton can be used."""
    return has_triton(maps)


def begin(maps: Tensor, masks: Tensor, plan: Plan) -> Any:
    """Have the device sort the first chunk of maps, without waiting; None if it is not to."""
    if not _fits_kernels(maps, plan):
        return None
    first = slice(0, _fused_step(maps))
    with _on(maps):
        return _ordered(maps[first], masks[first], plan)


def _on(maps: Tensor) -> AbstractContextManager[object]:
    """Have kernels run where the maps are, which need not be the first device."""
    return torch.cuda.device(maps.device) if maps.is_cuda else nullcontext()


def _fused_step(maps: Tensor) -> int:
    """Return how many maps make a chunk."""
    return max(1, FUSED_PIXELS // int(maps.shape[1] * maps.shape[2]))


def _ordered(maps: Tensor, masks: Tensor, plan: Plan) -> Any:
    from sightline.metrics._fused import FusedOrder

    plain = maps.view(torch.uint8) if maps.dtype == torch.bool else maps
    return FusedOrder(plain, masks, plan.sign)


def _measure_fused(
    maps: Tensor, masks: Tensor, plan: Plan, table: RegionTable | None, drop: bool, begun: Any
) -> Counts:
    """Measure maps by the fused kernels, chunk by chunk; the host never waits for a sort."""
    step, parts = _fused_step(maps), []
    for start in range(0, len(maps), step):
        rows = slice(start, min(start + step, len(maps)))
        ordered = begun if begun is not None else _ordered(maps[rows], masks[rows], plan)
        begun = None
        if not drop and not ordered.all_finite():
            index = int(torch.argmin(ordered.finite.to(torch.uint8)))
            raise nonfinite_error(start + index, maps[start + index].reshape(-1).to(F64))
        counts = _fused_chunk(ordered, plan, table, rows)
        parts.append(_dropped(counts, ordered.finite, rows) if drop else counts)
    return parts[0] if len(parts) == 1 else join(parts)


def _fused_chunk(ordered: Any, plan: Plan, table: RegionTable | None, rows: slice) -> Counts:
    """Return the counts of a chunk of maps."""
    inside = ordered.total.to(F64)
    budgets = torch.cat([_budget(ordered, inside, *item) for item in plan.all], dim=1)
    selected, cuts = _selected(ordered, budgets)
    regions = None
    if table is not None:
        regions = _fused_regions(ordered, plan, table, rows, selected, cuts)
    auc, precision, best, chosen = ordered.ranking()
    return Counts(
        ordered.pixels,
        inside[:, 0],
        ordered.within,
        ordered.energy[:, 0],
        auc,
        precision,
        best,
        chosen,
        _budgets_first(selected),
        regions,
        ordered.curves(POINTS) if plan.curves else None,
    )


def _fused_regions(
    ordered: Any,
    plan: Plan,
    table: RegionTable,
    rows: slice,
    selected: Selected,
    cuts: Tensor,
) -> RegionCounts:
    """Count each region's pixels above and at the cuts of its map, or at its own."""
    owner, region = table.rows(rows.start, rows.stop)
    known = ordered.regions(table, rows, len(owner))
    at = known.owner
    budget, over, tied = selected.budget[at], selected.above[at], selected.tied[at]
    size, energy, above, upto = known.counted(cuts[at])
    for k, regional in enumerate(plan.regional):
        if not regional:
            above[:, k] = upto[:, k] = torch.nan
    own = [k for k, (t, _) in enumerate(plan.all) if t.kind == "matched" and plan.regional[k]]
    if own:
        found, cut = _selected(ordered, size[:, None], at)
        _, _, own_above, own_upto = known.counted(cut)
        for k in own:
            budget[:, k] = size
            over[:, k], tied[:, k] = found.above[:, 0], found.tied[:, 0]
            above[:, k], upto[:, k] = own_above[:, 0], own_upto[:, 0]
    chosen = _budgets_first(Selected(budget, over, tied, above, upto - above))
    return RegionCounts(owner, region, size, energy, ordered.energy[at, 0], chosen)


def _scored(maps: Tensor, sign: str) -> Tensor:
    """Apply the sign rule; keep every value in float32 or float64."""
    values = maps.to(torch.float32 if maps.dtype in NARROW else F64)
    if sign == "absolute":
        return values.abs()
    return values.clamp(min=0) if sign == "positive" else values


class _Sorted:
    """A chunk of maps in ascending order, with what lies inside the annotation counted along."""

    def __init__(self, values: Tensor, inside: Tensor) -> None:
        self.values, order = torch.sort(values, dim=1)
        self.pixels = values.shape[1]
        self.inside = torch.gather(inside, 1, order)
        upto = torch.cumsum(self.inside, 1, dtype=torch.int64)
        self.total = upto[:, -1:]
        self.before = upto - self.inside.to(torch.int64)
        top = values.amax(dim=1, keepdim=True).to(F64)
        self.scale = torch.ones_like(top).masked_fill(top.abs() > HUGE, SHRINK)
        self.energies = self.values.to(F64) * self.scale
        self.energy = self.energies.sum(dim=1, keepdim=True)

    def at(self, place: Tensor) -> Tensor:
        """Return the values at places of the ascending order."""
        return torch.gather(self.values, 1, place)

    def located(self, cuts: Tensor) -> tuple[Tensor, ...]:
        """Return where values that equal each cut start and stop, and what is annotated before."""
        cuts = cuts.contiguous()
        start, stop = (torch.searchsorted(self.values, cuts, right=r) for r in (False, True))
        return start, stop, self.inside_before(start), self.inside_before(stop)

    def inside_before(self, place: Tensor) -> Tensor:
        """Return how many annotated pixels come before a position."""
        n = self.values.shape[1]
        found = torch.gather(self.before, 1, place.clamp(max=n - 1))
        return torch.where(place < n, found, self.total)

    def groups(self) -> tuple[Tensor, Tensor]:
        """Return for each pixel where its tie group starts, and the annotated pixels before."""
        place = torch.arange(self.values.shape[1], device=self.values.device)
        fresh = torch.ones_like(self.inside)
        fresh[:, 1:] = self.values[:, 1:] != self.values[:, :-1]
        # Position and count both never fall along a row, so one running maximum carries the pair.
        pair = torch.where(fresh, (place << 32) | self.before, 0)
        pair = torch.cummax(pair, dim=1).values
        return pair >> 32, pair & 0xFFFFFFFF

    def at_least(self, cut: Tensor) -> Tensor:
        """Count the values that are at least a float64 cut."""
        return (self.values.to(F64) >= cut).sum(dim=1, keepdim=True).to(F64)


def _measure_chunk(
    maps: Tensor,
    masks: Tensor,
    plan: Plan,
    table: RegionTable | None,
    rows: slice,
    finite: Tensor | None,
) -> Counts:
    values = _scored(maps, plan.sign)
    flat = values.reshape(len(values), -1)
    if finite is not None:
        flat = torch.where(finite[:, None], flat, 0)
        values = flat.reshape(values.shape)
    ordered = _Sorted(flat, masks.reshape(flat.shape))
    inside = ordered.total.to(F64)
    budgets = torch.cat([_budget(ordered, inside, *item) for item in plan.all], dim=1)
    selected, cuts = _selected(ordered, budgets)
    auc, precision, best, chosen = _ranking(ordered)
    within = torch.where(ordered.inside, ordered.energies, 0.0).sum(dim=1)
    regions = None
    if table is not None:
        regions = _regions(values, ordered, plan, table, rows, selected, cuts)
    counts = Counts(
        flat.shape[1],
        inside[:, 0],
        within,
        ordered.energy[:, 0],
        auc,
        precision,
        best,
        chosen,
        _budgets_first(selected),
        regions,
        _curves(ordered) if plan.curves else None,
    )
    return counts if finite is None else _dropped(counts, finite, rows)


def _dropped(counts: Counts, finite: Tensor, rows: slice) -> Counts:
    """Set everything about maps that are not finite to NaN."""
    nan = torch.where(finite, 0.0, torch.nan).to(F64)
    names = (
        *("inside", "energy_inside", "energy", "auc_roc", "average_precision"),
        *("best_iou", "best_selected"),
    )
    changes: dict[str, Any] = {name: getattr(counts, name) + nan for name in names}
    chosen = counts.selected
    changes["selected"] = replace(chosen, budget=chosen.budget + nan)
    if counts.curves is not None:
        changes["curves"] = counts.curves + nan.to(torch.float32)
    if counts.regions is not None:
        part = counts.regions
        owner = sent(part.map - rows.start, nan.device)
        more = {name: getattr(part, name) + nan[owner] for name in names[:3]}
        budget = part.selected.budget + nan[owner]
        changes["regions"] = replace(part, **more, selected=replace(part.selected, budget=budget))
    return replace(counts, **changes)


def _ranking(ordered: _Sorted) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """AUC, average precision, best IoU and what it selects from where tie groups start."""
    inside, total, n = ordered.inside, ordered.total, ordered.values.shape[1]
    (start, below), outside = ordered.groups(), n - total
    # Twice the pairs an annotated pixel wins: outside pixels under its group and not above it.
    doubled = torch.where(inside, start - below, -below).sum(dim=1, keepdim=True) + outside * total
    auc = doubled.to(F64) / (2.0 * total.to(F64) * outside.to(F64))
    hits, count, P = (total - below).to(F64), (n - start).to(F64), total.to(F64)
    precision = torch.where(inside, hits / count, 0.0).sum(dim=1, keepdim=True) / P
    ious = hits / (P + count - hits)
    best = ious.amax(dim=1, keepdim=True)
    chosen = torch.where(ious == best, count, torch.inf).amin(dim=1, keepdim=True)
    best, chosen = (torch.where(total > 0, one, torch.nan) for one in (best, chosen))
    auc = torch.where((total > 0) & (outside > 0), auc, torch.nan)
    return auc[:, 0], precision[:, 0], best[:, 0], chosen[:, 0]


def _curves(ordered: _Sorted) -> Tensor:
    """Return ROC and precision–recall at even steps, `(2, POINTS, B)`; see `Scores`."""
    start, below = ordered.groups()
    total, n = ordered.total, start.shape[1]
    outside, steps = n - total, POINTS - 1
    left = torch.arange(steps, -1, -1, device=start.device)  # hundredths that are not yet reached
    # The first group from the top whose recall reaches the step.
    place = torch.searchsorted(steps * below, left * total, right=True) - 1
    hits, first = total - torch.gather(below, 1, place), torch.gather(start, 1, place)
    precision = hits.to(F64) / (n - first).to(F64)
    # The first group from the top whose false positive rate exceeds the step; none at the last.
    place = (torch.searchsorted(steps * (start - below), left * outside) - 1).clamp(min=0)
    first = torch.gather(start, 1, place)
    after = torch.searchsorted(start, first, right=True)
    hits, upto = (total - ordered.inside_before(at) for at in (after, first))
    misses, lost = n - after - hits, after - first - (upto - hits)
    wanted = (steps - left) * outside - steps * misses
    mixed = hits * steps * lost + (upto - hits) * wanted
    roc = mixed.to(F64) / (steps * lost * total).to(F64)
    roc[:, -1] = 1.0
    roc = torch.where((total > 0) & (outside > 0), roc, torch.nan)
    precision = torch.where(total > 0, precision, torch.nan)
    return torch.stack([roc.T, precision.T]).to(torch.float32)


def _budget(ordered: Any, inside: Tensor, threshold: Threshold, ties: Ties) -> Tensor:
    """Return the number of pixels that a rule takes from each map, `(B, 1)`."""
    n, level = ordered.pixels, threshold.level
    whole = torch.ones_like(inside)
    if threshold.kind == "top":
        return whole * (level if level <= n else torch.nan)
    if threshold.kind == "percentile":
        if ties == "share":
            return whole * (n * (100 - level) / 100)
        return ordered.at_least(_quantile(ordered.values, level / 100))
    if threshold.kind == "matched":
        if ties == "share":
            return inside
        place = (n - ordered.total).clamp(max=n - 1)
        found = ordered.at_least(torch.gather(ordered.values, 1, place).to(F64))
        return torch.where(inside > 0, found, 0.0)
    if threshold.kind == "mean":
        above = ordered.energies * n > ordered.energy * (1 + ROUNDING)
        constant = ordered.values[:, :1] == ordered.values[:, -1:]
        return torch.where(constant, float(n), above.sum(dim=1, keepdim=True).to(F64))
    return _mass(ordered, level, ties)


def _quantile(values: Tensor, share: float) -> Tensor:
    """Linear interpolation between two order statistics, rounding as numpy does."""
    place = share * (values.shape[1] - 1)
    lower = int(place)
    weight = place - lower
    a = values[:, lower : lower + 1].to(F64)
    b = values[:, min(lower + 1, values.shape[1] - 1)][:, None].to(F64)
    return b - (b - a) * (1 - weight) if weight >= 0.5 else a + (b - a) * weight


def _mass(ordered: _Sorted, share: float, ties: Ties) -> Tensor:
    values, total = ordered.energies, ordered.energy
    n = values.shape[1]
    positive = (values > 0).sum(dim=1, keepdim=True).to(F64)
    if share == 1:  # no sum that rounds: all that have any mass
        return torch.where(total > 0, positive, torch.nan)
    falling = values.flip(1)
    held = torch.cumsum(falling, dim=1)
    slack = ROUNDING if ties == "include" else 0.0
    reached = (held < share * total - slack * total).sum(dim=1, keepdim=True)
    cut = torch.gather(falling, 1, reached.clamp(max=n - 1))
    if ties == "include":
        taken = (values >= cut).sum(dim=1, keepdim=True).to(F64)
    else:
        above = (values > cut).sum(dim=1, keepdim=True)
        before = torch.gather(held, 1, (above - 1).clamp(min=0))
        before = torch.where(above > 0, before, 0.0)
        taken = above + (share * total - before) / torch.where(cut > 0, cut, 1.0)
    taken = torch.where(cut > 0, taken, positive)
    return torch.where(total > 0, taken, torch.nan)


def _selected(
    ordered: Any, budgets: Tensor, owner: Tensor | None = None
) -> tuple[Selected, Tensor]:
    """Count pixels above and at the value where each budget ends; return the values too.

    There is a line of budgets for each map or, with `owner`, for each item of a map (fused only).
    """
    n = ordered.pixels
    some = budgets > 0
    ends = torch.where(some, torch.ceil(budgets), 1.0).to(torch.int64)
    place = (n - ends).clamp(0, n - 1)
    if owner is None:
        cuts, total = ordered.at(place), ordered.total
        start, stop, upto_start, upto_stop = ordered.located(cuts)
    else:
        cuts, total = ordered.at(place, owner), ordered.total[owner]
        start, stop, upto_start, upto_stop = ordered.located(cuts, owner)
    found = (n - stop, stop - start, total - upto_stop, upto_stop - upto_start)
    counts = (torch.where(some, part.to(F64), 0.0) for part in found)
    return Selected(budgets, *counts), torch.where(some, cuts, torch.inf)


def _regions(
    values: Tensor,
    ordered: _Sorted,
    plan: Plan,
    table: RegionTable,
    rows: slice,
    selected: Selected,
    cuts: Tensor,
) -> RegionCounts:
    """Count each region's pixels above and at the cuts of its map."""
    owner, region = table.rows(rows.start, rows.stop)
    device = values.device
    at = sent(owner - rows.start, device)
    parts = [getattr(selected, field.name)[at] for field in fields(selected)]
    cut = cuts[at]
    masked = table.offsets[region + 1] > table.offsets[region]
    wanted = [k for k, regional in enumerate(plan.regional) if regional]
    size, energy, above, upto = _boxes(values, ordered.scale, table.boxes[region], at, cuts, wanted)

    @cache  # a region may serve many maps
    def drawn(region: int) -> Tensor:
        return torch.as_tensor(table.mask(region, *values.shape[1:]), device=device)

    for i in masked.nonzero()[0].tolist():
        pixels = values[at[i]][drawn(int(region[i]))]
        size[i] = pixels.numel()
        energy[i] = (pixels.to(F64) * ordered.scale[at[i]]).sum()
        above[i], upto[i] = _versus(pixels, cut[i])
    budget, over, tied = parts[0].clone(), parts[1].clone(), parts[2].clone()
    for k, (threshold, ties) in enumerate(plan.all):
        if threshold.kind != "matched" or not plan.regional[k]:
            continue
        for i in range(len(region)):
            row = _row(ordered, int(at[i]))
            row.total = size[i].to(torch.int64).reshape(1, 1)
            budget[i, k] = _budget(row, size[i].reshape(1, 1), threshold, ties)[0, 0]
            found, own = _selected(row, budget[i, k].reshape(1, 1))
            over[i, k], tied[i, k] = found.above[0, 0], found.tied[0, 0]
            pixels = values[at[i]][drawn(int(region[i]))]
            above[i, k], upto[i, k] = (part[0] for part in _versus(pixels, own[0]))
    chosen = _budgets_first(Selected(budget, over, tied, above, upto - above))
    return RegionCounts(owner, region, size, energy, ordered.energy[at, 0], chosen)


def _budgets_first(selected: Selected) -> Selected:
    """Turn (items, budgets) into (budgets, items)."""
    return Selected(*(getattr(selected, f.name).T.contiguous() for f in fields(selected)))


def _row(ordered: _Sorted, index: int) -> _Sorted:
    """Return one map of a sorted chunk."""
    row = _Sorted.__new__(_Sorted)
    for name, value in vars(ordered).items():
        setattr(row, name, value if name == "pixels" else value[index : index + 1])
    return row


def _versus(pixels: Tensor, cuts: Tensor) -> tuple[Tensor, Tensor]:
    """Count pixels above each cut, and at or above it."""
    return (
        (pixels[:, None] > cuts).sum(dim=0).to(F64),
        (pixels[:, None] >= cuts).sum(dim=0).to(F64),
    )


def _boxes(
    values: Tensor, scale: Tensor, boxes: Any, at: Tensor, cuts: Tensor, wanted: list[int]
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sum over boxes by integral images: pixels, energy, counts above and up to the wanted cuts."""
    x0, y0, x1, y1 = sent(boxes, values.device).unbind(1)
    size = ((x1 - x0) * (y1 - y0)).to(F64)

    def over(image: Tensor) -> Tensor:
        table = torch.nn.functional.pad(image.cumsum(1).cumsum(2), (1, 0, 1, 0))
        return table[at, y1, x1] - table[at, y0, x1] - table[at, y1, x0] + table[at, y0, x0]

    energy = over(values.to(F64) * scale[:, :, None])
    above = torch.full((len(boxes), cuts.shape[1]), torch.nan, dtype=F64, device=values.device)
    upto = above.clone()
    for k in wanted:
        cut = cuts[:, k, None, None]
        above[:, k] = over((values > cut).to(torch.int32)).to(F64)
        upto[:, k] = over((values >= cut).to(torch.int32)).to(F64)
    return size, energy, above, upto
