"""A map as bytes: a header of JSON, then the numbers, then the masks of regions.

Little endian: ``SLM1``, the length of the header (uint32), the header (JSON of `MapHeader` in
UTF-8, spaces at its end, so that what follows starts at a multiple of 4), the values (float32, row
by row), then for each region of the header a mask (one bit for each value, most significant bit
first, each mask filled up to whole bytes), and last, where the header says so, that of what does
not count.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.api.schemas import MapHeader

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["MAGIC", "MEDIA_TYPE", "decode_map", "encode_map"]

MAGIC = b"SLM1"
MEDIA_TYPE = "application/octet-stream"


def encode_map(
    header: MapHeader,
    values: NDArray[Any],
    masks: Iterable[NDArray[np.bool_]] = (),
    ignore: NDArray[np.bool_] | None = None,
) -> bytes:
    """Return a map as bytes.

    Parameters
    ----------
    header
        What it is; its regions are those of `masks`.
    values : array (rows, columns)
        Of the map.
    masks
        One for each region of the header, in its order.
    ignore
        Pixels that do not count, where the header says that there are some.
    """
    text = header.model_dump_json().encode()
    text += b" " * (-len(text) % 4)
    parts = [MAGIC, struct.pack("<I", len(text)), text, values.astype("<f4").tobytes()]
    parts += [np.packbits(mask).tobytes() for mask in masks]
    if ignore is not None:
        parts.append(np.packbits(ignore).tobytes())
    return b"".join(parts)


def decode_map(
    content: bytes,
) -> tuple[MapHeader, NDArray[np.float32], dict[int, NDArray[np.bool_]], NDArray[np.bool_] | None]:
    """Return what `encode_map` made bytes of: the header, values, masks by region, and the rest.

    For Python programs that read the service, and for tests.
    """
    if content[:4] != MAGIC:
        raise ValueError(f"must begin with {MAGIC!r}; got {content[:4]!r}")
    (length,) = struct.unpack_from("<I", content, 4)
    header = MapHeader.model_validate_json(content[8 : 8 + length])
    shape, start = (header.rows, header.columns), 8 + length
    count = header.rows * header.columns
    values = np.frombuffer(content, "<f4", count, start).reshape(shape)
    each, start = -(-count // 8), start + 4 * count
    wanted = len(header.regions) + header.ignore
    bits = np.frombuffer(content, np.uint8, each * wanted, start).reshape(wanted, each)
    masks = np.unpackbits(bits, axis=1, count=count).astype(np.bool_).reshape(wanted, *shape)
    regions = dict(zip(header.regions, masks, strict=False))
    return header, values, regions, masks[-1] if header.ignore else None
