"""The pass over a batch on the CPU: maps are packed, sorted and measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core.compilation import announce_compilation
from sightline.core.threads import by_workers, threads_for
from sightline.metrics import _kernels as kernels
from sightline.metrics._border import nonfinite_error
from sightline.metrics._counts import POINTS, Counts, Plan, RegionCounts, Selected
from sightline.metrics._sort import key_sort

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.metrics._regions import RegionTable

__all__ = ["measure"]

# The keys of a chunk should stay in the second-level cache between packing, sorting, measuring.
# Threads meet at the interpreter lock before each of these steps: they take larger chunks.
CHUNK_BYTES = 1 << 18
SHARED_CHUNK_BYTES = 1 << 20
# Above this many pixels memory counts more than time: no rank is kept of each pixel inside.
LARGE = 1 << 24
# Below this many pixels a second thread costs more than it brings.
PIXELS_PER_THREAD = 1 << 17

_RULES = {
    ("top", "share"): kernels.FIXED,
    ("percentile", "share"): kernels.FIXED,
    ("percentile", "include"): kernels.QUANTILE,
    ("mass", "share"): kernels.MASS,
    ("mass", "include"): kernels.MASS_WHOLE,
    ("mean", "share"): kernels.MEAN,
    ("mean", "include"): kernels.MEAN,
    ("matched", "share"): kernels.MATCHED,
    ("matched", "include"): kernels.MATCHED_WHOLE,
}


@dataclass(frozen=True, slots=True)
class _Output:
    """Arrays of which each chunk fills its own rows."""

    energy: NDArray[np.float64]
    ranking: NDArray[np.float64]
    budgets: NDArray[np.float64]
    counts: NDArray[np.int64]
    cuts: NDArray[np.float64]
    finite: NDArray[np.bool_]
    region_sums: NDArray[np.float64]
    region_counts: NDArray[np.float64]
    curves: NDArray[np.float32] | None

    @classmethod
    def empty(cls, maps: int, plan: Plan, rows: int) -> _Output:
        """Allocate for a number of maps, what is asked of each, and pairs of map and region."""
        budgets = len(plan.all)
        return cls(
            np.empty((maps, 3)),
            np.empty((maps, 5)),
            np.empty((maps, budgets)),
            np.empty((maps, budgets, 4), np.int64),
            np.empty((maps, budgets)),
            np.ones(maps, bool),
            np.empty((rows, 2)),
            np.full((rows, budgets, 5), np.nan),
            np.empty((maps, 2, POINTS), np.float32) if plan.curves else None,
        )


def measure(
    maps: NDArray[Any],
    masks: NDArray[np.bool_],
    plan: Plan,
    *,
    table: RegionTable | None = None,
    drop: bool = False,
    threads: int | None = None,
) -> Counts:
    """Measure maps `(B, H, W)` against masks of the same shape.

    A map that is not finite raises, or with `drop` measures as NaN. Neither chunks nor threads
    change a bit: each map is treated alone.
    """
    announce_compilation(kernels.measure, "the scoring kernels")
    batch, pixels = len(maps), maps.shape[1] * maps.shape[2]
    out = _Output.empty(batch, plan, len(table.rows()[0]) if table else 0)
    workers = threads_for(threads, batch * pixels, PIXELS_PER_THREAD)
    step = max(1, (CHUNK_BYTES if workers == 1 else SHARED_CHUNK_BYTES) // (4 * pixels))
    step = min(step, -(-batch // workers))
    chunks = [slice(start, min(start + step, batch)) for start in range(0, batch, step)]
    by_workers(lambda: _Worker(maps, masks, plan, table, step, out).measure, chunks, workers)
    if not drop and not out.finite.all():
        index = int(np.argmin(out.finite))
        raise nonfinite_error(index, np.asarray(maps[index]).ravel())
    return _collect(out, pixels, table)


def _region_arrays(table: RegionTable | None) -> tuple[Any, ...] | None:
    """Return the columns that the region kernel reads, with the first output row of each map."""
    if table is None:
        return None
    sizes = table.spans[:, 1] - table.spans[:, 0]
    spans = np.column_stack([table.spans, np.cumsum(sizes) - sizes])
    return spans, table.boxes, table.offsets, table.masks


class _Worker:
    """One thread's buffers, reused from chunk to chunk."""

    def __init__(
        self,
        maps: NDArray[Any],
        masks: NDArray[np.bool_],
        plan: Plan,
        table: RegionTable | None,
        step: int,
        out: _Output,
    ) -> None:
        self.maps, self.masks, self.plan, self.out = maps, masks, plan, out
        self.regions = _region_arrays(table)
        self.absolute = plan.sign == "absolute"
        pixels = maps.shape[1] * maps.shape[2]
        self.rules, levels = _rules(plan, pixels)
        self.levels = np.tile(levels, (step, 1))
        self.region_rules = np.where(plan.regional, self.rules, kernels.SKIPPED)
        wide = plan.sign == "signed" or _float_type(maps) == np.float64
        self.float = np.dtype(np.float64 if wide else np.float32)
        self.given = np.dtype(_float_type(maps))
        self.signed: Any = np.int64 if wide else np.int32
        self.magnitude = self.signed(np.iinfo(self.signed).max)
        self.keys = np.empty((step, pixels), np.uint64 if wide else np.uint32)
        self.sort = key_sort(pixels, self.keys.dtype)
        large = pixels > LARGE and not plan.curves
        ranks = pixels // kernels.BLOCK + 1 if large else pixels + 1
        self.ranks = np.empty(ranks, np.int32 if pixels < 2**31 else np.int64)
        cell = np.zeros(1, self.keys.dtype)
        self.cells = cell, cell.view(self.float)

    def measure(self, rows: slice) -> None:
        """Measure some maps and write them to their rows of the output."""
        values = np.ascontiguousarray(self.maps[rows], self.given)
        rules, levels = self.rules, self.levels[: len(values)]
        if self.plan.sign == "signed":
            finite = np.array(np.isfinite(values).all(axis=(1, 2)))
            self.out.finite[rows] = finite
            if not finite.all():
                values = np.where(finite[:, None, None], values, 0)
            rules, levels = _fixed_quantiles(rules, levels, values)
            values = _in_order(values)
        out, energy = self.out, self.out.energy[rows]
        keys = self._sorted_keys(values, rows)
        found = out.budgets[rows], out.counts[rows], out.cuts[rows]
        kernels.measure(
            keys, energy, rules, levels, (self.ranks, *self.cells), out.ranking[rows], *found
        )
        if out.curves is not None:
            kernels.curves(keys, self.ranks, out.curves[rows])
        if self.regions is not None:
            spans, *shapes = self.regions
            regions = spans[rows], *shapes
            rules = np.where(self.region_rules == kernels.SKIPPED, kernels.SKIPPED, rules)
            kernels.match_regions(
                keys, energy, rules, regions, found, self.cells, out.region_counts
            )
            pixels = keys.view(self.float)  # the keys are needed no more: their memory is
            sums = out.region_sums, out.region_counts
            kernels.count_regions(values, energy[:, 2], self.absolute, rules, regions, pixels, sums)

    def _sorted_keys(self, values: NDArray[Any], rows: slice) -> NDArray[Any]:
        """Sort each map's pixels with their mask bit; note energies and what is not finite."""
        flat, keys = values.reshape(len(values), -1), self.keys[: len(values)]
        inside = np.ascontiguousarray(self.masks[rows]).reshape(flat.shape).view(np.uint8)
        top = np.empty(len(flat), self.signed)
        bits, energy, finite = flat.view(self.signed), self.out.energy[rows], self.out.finite[rows]
        kernels.pack(flat, bits, inside, self.absolute, self.magnitude, keys, top, energy)
        largest = top.view(self.float)
        finite &= np.isfinite(largest)
        if self.float == np.float64:
            for b in np.flatnonzero(largest > kernels.HUGE):
                if self.absolute or flat[b].max() > kernels.HUGE:  # else it was a negative value
                    kernels.shrink(flat[b], inside[b], self.absolute, energy[b])
        self.sort(keys)
        return keys


def _float_type(maps: NDArray[Any]) -> type[np.float32 | np.float64]:
    """Return the smaller of float32 and float64 that keeps every value."""
    return np.float32 if np.can_cast(maps.dtype, np.float32) else np.float64


def _rules(plan: Plan, pixels: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the rule of each budget and its parameter."""
    rules = np.array([_RULES[threshold.kind, ties] for threshold, ties in plan.all])
    levels = np.array([threshold.level for threshold, _ in plan.all])
    for k, (threshold, ties) in enumerate(plan.all):
        if threshold.kind == "percentile":
            share = threshold.level / 100
            levels[k] = share if ties == "include" else pixels * (100 - threshold.level) / 100
        elif threshold.kind == "top" and threshold.level > pixels:
            levels[k] = np.nan
    return rules, levels


def _fixed_quantiles(
    rules: NDArray[np.int64], levels: NDArray[np.float64], values: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Turn quantiles into counts of pixels: keys of signed maps keep the order, not the values."""
    rules, levels = rules.copy(), levels.copy()
    quantiles = np.flatnonzero(rules == kernels.QUANTILE)
    if not quantiles.size:
        return rules, levels
    flat = values.reshape(len(values), -1).astype(np.float64)
    for k in quantiles:
        cuts = np.quantile(flat, levels[0, k], axis=1)
        levels[:, k] = np.count_nonzero(flat >= cuts[:, None], axis=1)
        rules[k] = kernels.FIXED
    return rules, levels


def _in_order(values: NDArray[Any]) -> NDArray[np.float64]:
    """Replace signed values by non-negative ones with the same order and the same ties."""
    if values.dtype == np.float32:
        bits = (values + np.float32(0)).view(np.int32)  # adding 0 makes -0.0 one with 0.0
        flips = bits >> 31
        flips &= 0x7FFFFFFF
        bits ^= flips
        del flips
        order = bits.astype(np.float64)
        order += 2.0**31
        return order
    ranks = [np.unique(value, return_inverse=True)[1].reshape(value.shape) for value in values]
    return np.stack(ranks).astype(np.float64)


def _budgets_first(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Turn (items, budgets, kinds) into contiguous (kinds, budgets, items)."""
    return np.ascontiguousarray(counts.transpose(2, 1, 0), np.float64)


def _collect(out: _Output, pixels: int, table: RegionTable | None) -> Counts:
    """Give the columns their names; what belongs to a map that is not finite becomes NaN."""
    bad = ~out.finite
    out.energy[bad], out.ranking[bad], out.budgets[bad] = np.nan, np.nan, np.nan
    if out.curves is not None:
        out.curves[bad] = np.nan
    regions = None
    if table is not None:
        owner, region = table.rows()
        out.region_sums[bad[owner]], out.region_counts[bad[owner]] = np.nan, np.nan
        regions = RegionCounts(
            owner,
            region,
            out.region_sums[:, 0],
            out.region_sums[:, 1],
            out.energy[owner, 0],
            Selected(*_budgets_first(out.region_counts)),
        )
    return Counts(
        pixels,
        out.ranking[:, 0],
        out.energy[:, 1],
        out.energy[:, 0],
        out.ranking[:, 1],
        out.ranking[:, 2],
        out.ranking[:, 3],
        out.ranking[:, 4],
        Selected(np.ascontiguousarray(out.budgets.T), *_budgets_first(out.counts)),
        regions,
        None if out.curves is None else out.curves.transpose(1, 2, 0),
    )
