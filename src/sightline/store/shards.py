"""Shards: the rows, curves and maps of one task, each in a file of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.core.geometry import Geometry
from sightline.store.checksums import BLANK, KEY, DamagedError, find_damaged, seal
from sightline.store.files import write_whole
from sightline.store.folder import how_to_mend

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["StoredMaps", "read_maps", "read_views", "read_ways", "write_maps", "write_rows"]

VIEWS = "sightline-views"


@dataclass(frozen=True, eq=False)
class StoredMaps:
    """Maps of one source on a chunk of images, on their own grids.

    Attributes
    ----------
    images : tuple of str
        The images' ids.
    values : tuple of tuples of arrays
        ``values[image][layer]`` is `(heads, rows, columns)`.
    geometries : tuple of tuples of Geometry
        How the pixels of each image reached the grid of each layer.
    layers, heads : tuple of int or None
        Numbers of the layers and heads; None where there are none, or heads are fused.
    targets : tuple of str
        The class that each image's maps explain; empty where they explain none.
    about : mapping
        How they were made: model, method, parameters, sign.
    """

    images: tuple[str, ...]
    values: tuple[tuple[NDArray[Any], ...], ...]
    geometries: tuple[tuple[Geometry, ...], ...]
    layers: tuple[int | None, ...]
    heads: tuple[int | None, ...]
    targets: tuple[str, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)


def write_rows(
    path: Path, rows: pa.Table, views: Mapping[str, Any] | None = None, *, kind: str = "rows"
) -> None:
    """Write a table of rows so that it is small and there whole or not at all, with its checksum.

    Keys repeat and are kept as dictionaries; what is left of their order and of the values is
    packed by zstd.

    Parameters
    ----------
    path : Path
        The file.
    rows : Table
        Of scores or curves.
    views : mapping, optional
        On which grids the maps were scored, for `read_views`.
    kind : str
        What the rows are: see `write_whole`.
    """
    import pyarrow.parquet as pq

    about = {name: text for name, text in (rows.schema.metadata or {}).items() if name != _KEY}
    rows = rows.replace_schema_metadata(about or None)  # one that was read has a checksum
    texts = [field.name for field in rows.schema if field.name not in _PLAIN]
    file = BytesIO()
    with pq.ParquetWriter(
        file,
        rows.schema,
        compression="zstd",
        compression_level=3,
        use_dictionary=texts,
        use_byte_stream_split=[name for name in _PLAIN if name in rows.schema.names],
        write_statistics=["image"],
        store_schema=bool(rows.schema.metadata),  # without it, metadata is lost, too
    ) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata({KEY: BLANK})
        if views is not None:
            writer.add_key_value_metadata({VIEWS: json.dumps(views)})
    write_whole(path, seal(file.getvalue(), path.name), kind)


_UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
_KEY = KEY.encode()
_PLAIN = ("value",)  # as many values as rows: a dictionary of them would only add to them


def read_views(path: Path) -> tuple[int, dict[int | None, frozenset[tuple[Any, ...]]]]:
    """Read on which grids the maps of a task were scored: how many images, and by layer the views.

    A view is what maps on the same grid have in common: rows, columns, the cells that
    do not count, and the part of the image that is seen. A file without such a record has none.
    """
    import pyarrow.parquet as pq

    text = (pq.read_metadata(path).metadata or {}).get(VIEWS.encode())
    if text is None:
        return 0, {}
    record = json.loads(text)
    views = zip(record["layers"], record["views"], strict=True)
    return record["images"], {layer: frozenset(map(tuple, some)) for layer, some in views}


def write_maps(path: Path, maps: StoredMaps) -> None:
    """Write maps as float32 with their checksum; `read_maps` reads them back."""
    from safetensors.numpy import save

    arrays = {
        f"{i}/{k}": np.ascontiguousarray(layer, np.float32)
        for i, image in enumerate(maps.values)
        for k, layer in enumerate(image)
    }
    if _equal_shapes(maps):
        arrays = {
            str(k): np.stack([image[k] for image in maps.values]).astype(np.float32, copy=False)
            for k in range(len(maps.layers))
        }
    known: dict[Geometry, int] = {}
    ways = [[known.setdefault(way, len(known)) for way in image] for image in maps.geometries]
    about = {
        KEY: BLANK,  # first, before texts that others chose
        "images": maps.images,
        "layers": maps.layers,
        "heads": maps.heads,
        "targets": maps.targets,
        "geometries": [way.to_dict() for way in known],
        "ways": ways,
        "about": dict(maps.about),
    }
    content = seal(save(arrays, {"sightline": json.dumps(about)}), path.name)
    write_whole(path, content, "maps")


def _equal_shapes(maps: StoredMaps) -> bool:
    return all(len({image[k].shape for image in maps.values}) == 1 for k in range(len(maps.layers)))


def read_maps(path: Path, image: str | None = None) -> StoredMaps:
    """Read maps that `write_maps` wrote.

    Parameters
    ----------
    path : Path
        The file.
    image : str, optional
        Return the maps of this image alone. The checksum is of the whole file, which is read once
        for it, and again only where it has changed; then the other maps stay on the disk.

    Raises
    ------
    InputError
        If the file is not one of those or does not hold the image; `DamagedError` if it is damaged.
    """
    from safetensors import SafetensorError, safe_open

    if find_damaged([path]) is not None:
        raise DamagedError(f"{path}: must hold the maps of a task, is damaged; {how_to_mend(path)}")
    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads(file.metadata()["sightline"])
            images = list(about["images"])
            chosen = range(len(images)) if image is None else [images.index(image)]
            values = _values(file, len(about["layers"]), chosen, whole=image is None)
        ways, targets = _ways(about), about["targets"]
        return StoredMaps(
            tuple(images[i] for i in chosen),
            values,
            tuple(ways[i] for i in chosen),
            tuple(about["layers"]),
            tuple(about["heads"]),
            tuple(targets[i] for i in chosen) if targets else (),
            about["about"],
        )
    except (*_UNREADABLE, SafetensorError) as error:
        raise InputError(f"{path}: must hold the maps of a task: {error!r}") from error


def read_ways(path: Path) -> tuple[tuple[int | None, ...], tuple[tuple[Geometry, ...], ...]]:
    """Read of maps that `write_maps` wrote their layers and how each image came to each grid.

    The maps themselves stay on the disk, and are not checked.

    Raises
    ------
    InputError
        If the file is not there, or not one of those.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            about = json.loads(file.metadata()["sightline"])
        return tuple(about["layers"]), _ways(about)
    except (*_UNREADABLE, SafetensorError) as error:
        raise InputError(f"{path}: must hold the maps of a task: {error!r}") from error


def _ways(about: Mapping[str, Any]) -> tuple[tuple[Geometry, ...], ...]:
    """Return how each image came to the grid of each layer."""
    known = [Geometry.from_dict(way) for way in about["geometries"]]
    return tuple(tuple(known[way] for way in image) for image in about["ways"])


def _values(
    file: Any, layers: int, chosen: Iterable[int], *, whole: bool
) -> tuple[tuple[NDArray[Any], ...], ...]:
    """Return the maps of some images, layer by layer; those of equal size lie in one array."""
    there = set(file.keys())
    arrays = {k: file.get_tensor(str(k)) for k in range(layers) if whole and str(k) in there}
    return tuple(
        tuple(
            file.get_tensor(f"{i}/{k}")
            if f"{i}/{k}" in there
            else (arrays[k][i] if k in arrays else file.get_slice(str(k))[i])
            for k in range(layers)
        )
        for i in chosen
    )
