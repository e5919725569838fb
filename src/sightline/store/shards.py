"""Shards: the tables and maps of one task, each in a file of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.core.geometry import Geometry
from sightline.store.checksums import BLANK, KEY, DamagedError, find_damaged, seal_parts
from sightline.store.files import write_whole
from sightline.store.folder import how_to_mend

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = [
    "STUDY",
    "VALUES",
    "VIEWS",
    "StoredMaps",
    "read_maps",
    "read_value_count",
    "read_views",
    "read_ways",
    "write_maps",
    "write_table",
]

VIEWS = "sightline-views"
VALUES = "sightline-values"
STUDY = "sightline-study"


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


def write_table(
    path: Path,
    table: pa.Table,
    *,
    kind: str,
    about: Mapping[str, str] | None = None,
    row_group: int | None = None,
) -> int:
    """Write a table to a Parquet file with its checksum; it is there whole or not at all.

    Parameters
    ----------
    path : Path
        The file.
    table : Table
        What to write.
    kind : str
        What it is: see `write_whole`.
    about : mapping, optional
        Texts for the metadata of the file.
    row_group : int, optional
        Rows in a group, the unit in which readers skip rows; all in one by default.

    Returns
    -------
    int
        How many scores the table holds.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = table.schema.metadata or {}
    own = {name: text for name, text in texts.items() if name not in _OWN}
    count = _count_values(table)
    table = table.replace_schema_metadata(own or None)  # one that was read has a checksum
    texts = [f.name for f in table.schema if pa.types.is_dictionary(f.type) or f.name == "image"]
    file = pa.BufferOutputStream()  # other than a BytesIO it is filled without the interpreter
    with pq.ParquetWriter(
        file,
        table.schema,
        compression="zstd",
        compression_level=3,
        use_dictionary=texts,
        write_statistics=["image"],
        store_schema=bool(table.schema.metadata),  # without it, metadata is lost, too
    ) as writer:
        writer.write_table(table, row_group)
        # The checksum comes last, behind texts that others chose.
        writer.add_key_value_metadata({VALUES: str(count), **(about or {}), KEY: BLANK})
    write_whole(path, seal_parts(file.getvalue(), path.name), kind)
    return count


def _count_values(table: pa.Table) -> int:
    """Return how many scores a table holds: its numbers of float64 and the points of its curves."""
    import pyarrow as pa
    import pyarrow.compute as pc

    count = 0
    for name, kind, column in zip(
        table.schema.names, table.schema.types, table.columns, strict=True
    ):
        if kind == pa.float64():
            count += len(column) - column.null_count
        elif kind == pa.list_(pa.float64()) and name != "curve_fractions":
            count += pc.sum(pc.list_value_length(column)).as_py() or 0
    return count


def read_value_count(path: Path) -> int:
    """Return how many scores a table that `write_table` wrote holds."""
    import pyarrow.parquet as pq

    return int((pq.read_metadata(path).metadata or {}).get(VALUES.encode(), 0))


_UNREADABLE = (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
_OWN = tuple(name.encode() for name in (KEY, VALUES, STUDY, VIEWS))  # of the file, not the table


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
    content = save(arrays, {"sightline": json.dumps(about)})
    write_whole(path, seal_parts(content, path.name), "maps")


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
