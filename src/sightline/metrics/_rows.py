"""Scores as rows of the long table: keys are encoded once per map, and only codes are spread.

There are two blocks of rows, that of the maps and that of their regions. In each, the rows of one
metric stand together.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from sightline.core import InputError, row_schema
from sightline.core.arrays import is_torch, to_numpy
from sightline.metrics.selection import Threshold
from sightline.metrics.spec import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from sightline.metrics.scores import Columns, Scores
    from sightline.metrics.selection import Ties

    Positions = NDArray[np.int32]

__all__ = ["fetch", "to_rows"]

_OURS = ("region", "metric", "threshold", "value", "area")
_EMPTY: dict[str, Any] = {"visible": 1.0}


class _Block(NamedTuple):
    """Columns, the map of each of their lines, and which of the columns become rows."""

    columns: Columns
    owner: Positions
    names: list[str]

    def spread(self, lines: NDArray[Any]) -> NDArray[Any]:
        """Repeat what is known of each line for its rows."""
        return np.tile(lines, len(self.names))

    def per_name(self, values: NDArray[Any]) -> NDArray[Any]:
        """Repeat what is known of each column for its rows."""
        return np.repeat(values, len(self.owner))

    def column(self, name: str) -> NDArray[np.float64]:
        """Return the values of a column, one per line."""
        found: NDArray[np.float64] = to_numpy(self.columns[name]).reshape(-1)
        return found


def to_rows(scores: Scores, keys: Mapping[str, Any], regions: Mapping[str, Any]) -> pa.Table:
    """Lay the columns of maps and of regions under one another; see `Scores.to_rows`."""
    schema = row_schema()
    allowed = [name for name in schema.names if name not in _OURS]
    unknown = sorted({*keys, *regions} - set(allowed))
    if unknown:
        raise InputError(f"not a key column: {unknown}; known: {', '.join(allowed)}")
    if regions and scores.regions is None:
        raise InputError(f"got {', '.join(regions)} of regions, but no regions were scored")
    blocks = _blocks(scores)
    data = {**_our_columns(blocks, scores), **_key_columns(blocks, keys, regions)}
    return pa.table([data[name] for name in schema.names], schema=schema)


def fetch(scores: Scores) -> None:
    """Bring what becomes rows, and the curves, to main memory: on a device the host waits once."""
    blocks = _blocks(scores)
    names = [list(dict.fromkeys(["annotation_area", *block.names])) for block in blocks]
    parts = [b.columns[name] for b, some in zip(blocks, names, strict=True) for name in some]
    curves = list(scores.curves.values())
    if not is_torch(parts[0]):
        return
    values, drawn = _fetched([parts, curves])
    found = iter(values)
    for block, some in zip(blocks, names, strict=True):
        block.columns._done.update((name, next(found)) for name in some)
    scores.curves = dict(zip(scores.curves, drawn, strict=True))


def _fetched(lists: Sequence[Sequence[Any]]) -> list[list[NDArray[Any]]]:
    """Return lists of tensors of one type as arrays; the copies of a list are one."""
    import torch

    joined = [torch.cat([part.reshape(-1) for part in some]) for some in lists if some]
    there = joined
    if joined[0].is_cuda:
        there = [_landing(k, one).copy_(one, non_blocking=True) for k, one in enumerate(joined)]
        torch.cuda.current_stream(joined[0].device).synchronize()
        there = [one.clone() for one in there]
    arrays, found = iter(there), []
    for some in lists:
        sizes = [part.numel() for part in some]
        split = next(arrays).split(sizes) if some else ()
        found.append([a.numpy().reshape(b.shape) for a, b in zip(split, some, strict=True)])
    return found


_LANDINGS = threading.local()


def _landing(place: int, tensor: Any) -> Any:
    """Return pinned memory for a copy of a tensor, of which each thread has some for each place.

    To get it takes long: it is used again.
    """
    import torch

    kept = vars(_LANDINGS)
    name, count = f"{place} {tensor.dtype}", tensor.numel()
    if name not in kept or kept[name].numel() < count:
        kept[name] = torch.empty(2 * count, dtype=tensor.dtype, pin_memory=True)
    return kept[name][:count]


def _blocks(scores: Scores) -> list[_Block]:
    """Return the block of the maps and, if regions were given, that of the regions."""
    parts: list[tuple[Columns, NDArray[Any]]] = [(scores, np.arange(scores.counts.inside.shape[0]))]
    if scores.regions is not None:
        parts.append((scores.regions, scores.regions.map))
    return [
        _Block(columns, owner.astype(np.int32), _names(columns, scores.plan.ties))
        for columns, owner in parts
    ]


def _names(columns: Iterable[str], ties: Ties) -> list[str]:
    """Return the columns that become rows, those of one metric together."""
    known, found = set(METRICS), dict[str, list[str]]()  # a set: asking the registry takes longer
    for name in columns:
        figure, _, token = name.partition("@")
        if figure in known or _must_be_kept(figure, token, ties):
            found.setdefault(figure, []).append(name)
    return [name for together in found.values() for name in together]


def _must_be_kept(figure: str, token: str, ties: Ties) -> bool:
    """Say whether a figure beside the metrics follows neither from the threshold nor the areas."""
    if figure == "attention_area":
        return ties == "include" or Threshold.parse(token).kind not in ("percentile", "matched")
    metric, _, what = figure.rpartition("_")
    if what != "chance":
        return what in ("uniform", "percentile")
    chance = METRICS[metric].chance
    return chance is None or chance.sql is None or token.startswith("tol")


def _our_columns(blocks: Sequence[_Block], scores: Scores) -> dict[str, pa.Array]:
    """Return the columns that keys have no say in."""
    names = [name for block in blocks for name in block.names]
    starts = np.cumsum([0, *(len(block.names) for block in blocks)])
    by_name = np.concatenate(
        [
            block.per_name(np.arange(start, start + len(block.names), dtype=np.int32))
            for start, block in zip(starts, blocks, strict=False)
        ]
    )
    areas = [block.spread(block.column("annotation_area").astype(np.float32)) for block in blocks]
    values = [block.column(name) for block in blocks for name in block.names]
    return {
        "region": _region_numbers(blocks, scores),
        "metric": _taken(pa.array([name.partition("@")[0] for name in names]), by_name),
        "threshold": _taken(pa.array([name.partition("@")[2] for name in names]), by_name),
        "value": pa.array(np.concatenate(values or [np.empty(0)])),
        "area": pa.array(np.concatenate(areas)),
    }


def _region_numbers(blocks: Sequence[_Block], scores: Scores) -> pa.Array:
    """Return the number of each row's region, null for those of whole maps."""
    whole = len(blocks[0].owner) * len(blocks[0].names)
    found = [pa.nulls(whole, pa.int32())]
    if scores.regions is not None:
        found.append(pa.array(blocks[1].spread(scores.regions.region)))
    return pa.concat_arrays(found)


def _key_columns(
    blocks: Sequence[_Block], keys: Mapping[str, Any], regions: Mapping[str, Any]
) -> dict[str, pa.Array]:
    """Return the key columns; what `regions` says replaces what the maps say in their rows."""
    by_map = [block.spread(block.owner) for block in blocks]
    everywhere = np.concatenate(by_map)
    nowhere = np.zeros_like(everywhere)
    found = {}
    for field in row_schema():
        name = field.name
        if name in _OURS:
            continue
        pool = _pool(field, keys.get(name, _EMPTY.get(name)), len(blocks[0].owner), "map")
        index = everywhere if len(pool) > 1 else nowhere
        if name in regions:
            own = _pool(field, regions[name], len(blocks[1].owner), "region")
            lines = np.arange(len(blocks[1].owner), dtype=np.int32) % max(len(own), 1)
            index = np.concatenate(
                [index[: len(by_map[0])], blocks[1].spread(lines + np.int32(len(pool)))]
            )
            pool = pa.concat_arrays([pool, own])
        found[name] = _taken(pool, index, field.type)
    return found


def _pool(field: pa.Field, value: Any, count: int, item: str) -> pa.Array:
    """Return the values of a key, one for all or one for each item, in no encoding yet."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    single = value is None or isinstance(value, str) or np.ndim(value) == 0
    values = [value] if single else _flat(value)
    if not single and len(values) != count:
        raise InputError(
            f"{field.name} must be one value or have one value per {item} ({count}); "
            f"got {len(values)}"
        )
    try:
        if kind == pa.string():
            texts = values.to_pylist() if isinstance(values, pa.Array) else values
            return pa.array(["" if text is None else str(text) for text in texts], kind)
        return values.cast(kind) if isinstance(values, pa.Array) else pa.array(values, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        raise InputError(f"{field.name} must hold values of type {kind}: {error}") from error


def _flat(value: Any) -> Any:
    """Return one value per item as something with a length that Arrow reads."""
    if isinstance(value, pa.ChunkedArray):
        return value.combine_chunks()
    if is_torch(value):
        value = to_numpy(value)
    return value.reshape(-1) if isinstance(value, np.ndarray) else value


def _taken(pool: pa.Array, index: Positions, kind: pa.DataType | None = None) -> pa.Array:
    """Spread the values of a pool over the rows; texts stay codes into the pool."""
    if kind is None or pa.types.is_dictionary(kind):
        pool = pool.dictionary_encode()
    return pool.take(pa.array(index))
