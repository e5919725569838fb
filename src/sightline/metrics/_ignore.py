"""Pixels to ignore are taken out of a map before it is measured: what is left is a map of one row.

Selection, energy and area then know nothing of them. What needs the places of pixels is made
before they are taken out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import MapError
from sightline.core.arrays import Array, is_torch, namespace, to_numpy
from sightline.metrics._border import nonfinite_error
from sightline.metrics._counts import Counts, join, take
from sightline.metrics._regions import alike

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sightline.metrics._regions import RegionTable

    Measure = Callable[[Array, Array, RegionTable | None], Counts]

__all__ = ["each_kept", "measure_kept", "without"]


def measure_kept(
    measure: Measure,
    maps: Array,
    masks: Array,
    table: RegionTable | None,
    ignored: NDArray[np.bool_],
) -> Counts:
    """Measure maps `(B, H, W)` without their ignored pixels, in a pass over whole maps.

    Maps without ignored pixels are measured together, and so are neighbours that ignore the same
    pixels under the same regions.
    """
    some = np.any(ignored, axis=(1, 2))
    parts = []
    if not some.all():
        rows = np.flatnonzero(~some)
        own = None if table is None else replace(table, spans=table.spans[rows])
        parts.append(_measure_rows(measure, maps[rows], masks[rows], own, rows))
    for same in alike(ignored, None if table is None else table.spans):
        if not some[same.start]:
            continue
        keep, rows = ~ignored[same.start], np.arange(same.start, same.stop)
        own = None if table is None else table.kept(same.start, keep, len(rows))
        kept, inside = (_as_rows(array[same], keep) for array in (maps, masks))
        found = _measure_rows(measure, kept, inside, own, rows)
        parts.append(_located(found, table, same.start, keep))
    return _in_order(join(parts), np.concatenate([np.flatnonzero(~some), np.flatnonzero(some)]))


def each_kept(
    function: Callable[..., Array], maps: Array, *others: Array, ignored: NDArray[np.bool_]
) -> Array:
    """Apply a metric for which places do not matter to each map without its ignored pixels."""
    xp = namespace(maps)
    values = []
    for row, left_out in enumerate(ignored):
        if left_out.all():
            values.append(np.nan)
            continue
        kept = (_as_rows(array[row : row + 1], ~left_out)[0] for array in (maps, *others))
        values.append(float(function(*kept)))
    device = {"device": maps.device} if is_torch(maps) else {}
    return xp.asarray(values, dtype=xp.float64, **device)


def _as_rows(array: Array, keep: NDArray[np.bool_]) -> Array:
    """Return the kept pixels of maps as `(B, 1, n)`; if there are none, one pixel of value 0."""
    xp = namespace(array)
    if not keep.any():
        return xp.zeros_like(array)[:, :1, :1]
    if is_torch(array):
        return array[:, xp.asarray(keep, device=array.device)][:, None]
    # NumPy would make two indices of each pixel for all maps at once, and none for one alone.
    rows = [one[keep][None] for one in array]
    return rows[0][None] if len(rows) == 1 else xp.stack(rows)


def _measure_rows(
    measure: Measure, maps: Array, masks: Array, table: RegionTable | None, rows: NDArray[Any]
) -> Counts:
    """Measure some maps of a batch and number them as in the batch."""
    try:
        counts = measure(maps, masks, table)
    except MapError as error:
        values = np.asarray(to_numpy(maps[error.index]), np.float64).ravel()
        raise nonfinite_error(int(rows[error.index]), values) from error
    xp = namespace(counts.inside)
    pixels = xp.full_like(counts.inside, counts.pixels)
    regions = counts.regions
    if regions is not None:
        regions = replace(regions, map=rows[regions.map])
    return replace(counts, pixels=pixels, regions=regions)


def _located(
    counts: Counts, table: RegionTable | None, row: int, keep: NDArray[np.bool_]
) -> Counts:
    """Number regions as in the whole table, from those of `row`; without pixels there are 0."""
    if counts.regions is not None and table is not None:
        region = counts.regions.region + table.spans[row, 0]
        counts = replace(counts, regions=replace(counts.regions, region=region))
    return counts if keep.any() else replace(counts, pixels=counts.pixels * 0)


def _in_order(counts: Counts, rows: NDArray[Any]) -> Counts:
    """Bring maps and their regions back into the order of the batch."""
    regions = counts.regions
    counts = take(replace(counts, regions=None), np.argsort(rows))
    if regions is not None:
        regions = take(regions, np.argsort(regions.map, kind="stable"))
    return replace(counts, regions=regions)


def without(array: Array, ignored: NDArray[np.bool_]) -> Array:
    """Set ignored pixels to 0."""
    xp = namespace(array)
    device = {"device": array.device} if is_torch(array) else {}
    zero = xp.zeros_like(array[:1, :1, :1])
    return xp.where(xp.asarray(ignored, **device), zero, array)
