"""Scores as wide Arrow tables: one row per map, or per map and region, one column per score."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sightline.core import InputError
from sightline.core.arrays import is_torch, to_numpy
from sightline.metrics._columns import SELECTED, list_stored_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from sightline.metrics.scores import Columns, Scores

__all__ = ["FACTS", "build_table", "fetch"]

_TYPES = {"annotated_fraction": np.float32, "pixels": np.int32, "undefined": np.uint16}
FACTS = tuple(_TYPES)
"""Columns that every table has before those of the scores."""


def build_table(
    columns: Columns, keys: Mapping[str, Any], curves: Mapping[str, Any] | None = None
) -> pa.Table:
    """Return columns as a table; see `Scores.to_table`."""
    count = columns["annotation_area"].reshape(-1).shape[0]
    data = {name: _build_key(name, value, count) for name, value in keys.items()}
    for name in (*FACTS, *list_stored_columns(columns, columns._part.plan.ties)):
        if name in data:
            raise InputError(f"keys must not be named like a column of scores: {name!r}")
        data[name] = _read_column(columns, name)
    for kind, points in (curves or {}).items():
        data[kind] = _build_lists(to_numpy(points).reshape(count, -1))
    return pa.table(data)


def _read_column(columns: Columns, name: str) -> pa.Array:
    values: NDArray[Any] = to_numpy(columns.fact(_source(name))).reshape(-1)
    return pa.array(values.astype(_TYPES.get(name, np.float64), copy=False))


def _build_lists(points: NDArray[np.float32]) -> pa.Array:
    """Return the rows of an array as lists."""
    offsets = np.arange(0, points.size + 1, max(points.shape[1], 1), dtype=np.int32)
    return pa.ListArray.from_arrays(offsets, np.ascontiguousarray(points).ravel())


def _build_key(name: str, value: Any, count: int) -> pa.Array:
    """Return a key column, texts as a dictionary, from one value for all rows or one for each."""
    if isinstance(value, pa.Array | pa.ChunkedArray):
        array = value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value
    else:
        single = value is None or isinstance(value, str) or np.ndim(value) == 0
        values = [value] if single else _flatten(value)
        try:
            array = pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise InputError(f"{name} must hold values of one type: {error}") from error
        if pa.types.is_string(array.type):
            array = array.dictionary_encode()
        if single:
            array = array.take(pa.array(np.zeros(count, np.int32)))
    if len(array) != count:
        raise InputError(f"{name} must have one value, or one per row ({count}); got {len(array)}")
    return array


def _flatten(value: Any) -> Any:
    value = to_numpy(value) if is_torch(value) else value
    return value.reshape(-1) if isinstance(value, np.ndarray) else value


def fetch(scores: Scores) -> None:
    """Copy what becomes tables to main memory: on a device the host waits once."""
    groups = [group for group in (scores, scores.regions) if group is not None]
    ties = scores.plan.ties
    names = [
        [_source(name) for name in (*FACTS, *list_stored_columns(group, ties))] for group in groups
    ]
    parts = [g.fact(name) for g, some in zip(groups, names, strict=True) for name in some]
    if not is_torch(parts[0]):
        return
    values, curves = _fetch_lists([parts, list(scores.curves.values())])
    arrays = iter(values)
    for group, some in zip(groups, names, strict=True):
        group._done.update((name, next(arrays)) for name in some)
    scores.curves = dict(zip(scores.curves, curves, strict=True))


def _source(name: str) -> str:
    """Return the column of `Scores` that a column of a table is made of."""
    if name == "annotated_fraction":
        return "annotation_area"
    return name.replace("selected_fraction", SELECTED)


def _fetch_lists(lists: Sequence[Sequence[Any]]) -> list[list[NDArray[Any]]]:
    """Return lists of tensors of one type as arrays; the copies of a list are one."""
    import torch

    flat = [torch.cat([tensor.reshape(-1) for tensor in some]) for some in lists if some]
    if flat[0].is_cuda:
        copies = [_pinned(k, one).copy_(one, non_blocking=True) for k, one in enumerate(flat)]
        torch.cuda.current_stream(flat[0].device).synchronize()
        flat = [copy.clone() for copy in copies]
    whole, arrays = iter(flat), []
    for some in lists:
        sizes = [tensor.numel() for tensor in some]
        split = next(whole).split(sizes) if some else ()
        arrays.append([a.numpy().reshape(b.shape) for a, b in zip(split, some, strict=True)])
    return arrays


_PINNED = threading.local()


def _pinned(place: int, tensor: Any) -> Any:
    """Return pinned memory for a copy of a tensor, kept by thread since to get it is slow."""
    import torch

    kept = vars(_PINNED)
    name, count = f"{place} {tensor.dtype}", tensor.numel()
    if name not in kept or kept[name].numel() < count:
        kept[name] = torch.empty(2 * count, dtype=tensor.dtype, pin_memory=True)
    return kept[name][:count]
