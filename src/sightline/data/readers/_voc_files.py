"""The files of Pascal VOC, XML and masks: see `sightline.data.readers.voc`."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import numpy as np

from sightline.core import InputError
from sightline.data.formats.checks import located, show
from sightline.data.formats.lines import finite, read_text
from sightline.data.formats.shapes import box_shape
from sightline.data.images import image_size, inside, opened

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any
    from xml.etree.ElementTree import Element

    from numpy.typing import NDArray

    from sightline.data.formats.checks import Size
    from sightline.data.formats.shapes import Box, Shape

__all__ = [
    "MAX_BYTES",
    "read_facts",
    "read_object",
    "read_palette",
    "read_size",
    "read_xml",
    "written_size",
]

MAX_BYTES = 8_000_000
"""The largest file that is read; it holds more than 20,000 objects."""

_FLAGS = ("difficult", "truncated", "occluded")
_YES, _NO = ("1", "true", "yes"), ("", "0", "false", "no")
_FAR = 1 << 31  # no image is that wide; Pillow knows none either
_CORNERS = ("xmin", "ymin", "xmax", "ymax")
# Entities can make a few lines expand to gigabytes or name files elsewhere; VOC has none.
_DECLARATION = re.compile(r"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)


def read_xml(file: Path, root: Path) -> Element:
    """Return the annotation in a file that a stranger may have written."""
    inside(root, os.path.relpath(file, root))
    if os.path.isfile(file) and (size := file.stat().st_size) > MAX_BYTES:  # noqa: PTH113
        raise InputError(f"must have at most {MAX_BYTES:,} bytes, has {size:,}")
    content = read_text(file, root)
    if "\0" in content:  # as in UTF-16, in which declarations would not be seen
        raise InputError("is not UTF-8 text: it holds NUL, which XML has not")
    if found := _DECLARATION.search(content):
        raise InputError(f"must not declare a document type or entities, got {found[0]!r}")
    try:
        tree = ET.fromstring(content)  # noqa: S314 # declarations are refused above
    except ET.ParseError as error:
        raise InputError(f"is not valid XML: {error}") from error
    if tree.tag != "annotation":
        raise InputError(f"must be an <annotation>, got <{show(tree.tag)[1:-1]}>")
    return tree


def read_size(tree: Element, image: Path) -> Size:
    """Return the size that is written, or that of the image where it is missing or 0."""
    width, height = (_side(tree.findtext(f"size/{side}")) for side in ("width", "height"))
    if width and height:
        return width, height
    with located("size is missing, and cannot be taken from the image"):
        return image_size(image)


def written_size(tree: Element) -> Size | None:
    """Return the size that is written; None where it is not, or makes no sense."""
    try:
        width, height = (_side(tree.findtext(f"size/{side}")) for side in ("width", "height"))
    except InputError:
        return None
    return (width, height) if width and height else None


def _side(written: str | None) -> int:
    value = finite((written or "").strip() or "0", "width and height of size")
    if not 0 <= value < _FAR or value != int(value):
        raise InputError(f"width and height of size must be whole numbers >= 0, got {written!r}")
    return int(value)


def read_object(element: Element, size: Size) -> tuple[str, tuple[str, ...], Shape]:
    """Return the label, flags and box of an object or a part."""
    label, flags, (x0, y0, x1, y1) = read_facts(element)
    return label, flags, box_shape((x0 - 1, y0 - 1, x1, y1), "pixels", size)


def read_facts(element: Element) -> tuple[str, tuple[str, ...], Box]:
    """Return the label, the flags and the corners of an object or a part, as they are written."""
    label = (element.findtext("name") or "").strip()
    if not label:
        raise InputError("has no name")
    written = [(element.findtext(f"bndbox/{corner}") or "").strip() for corner in _CORNERS]
    x0, y0, x1, y1 = map(finite, written, _CORNERS)
    if x0 > x1 or y0 > y1:
        raise InputError(f"bndbox must have xmin <= xmax, ymin <= ymax, got {' '.join(written)}")
    flags = tuple(flag for flag in _FLAGS if _is_set(element, flag))
    return label, flags, (x0, y0, x1, y1)


def _is_set(element: Element, flag: str) -> bool:
    written = (element.findtext(flag) or "").strip()
    if written.lower() not in (*_YES, *_NO):
        raise InputError(f"{flag} must be 0 or 1, got {written!r}")
    return written.lower() in _YES


def read_palette(file: Path) -> NDArray[Any]:
    """Return the values of a palette image, not their colours."""
    with opened(file, ("PNG",), "a mask") as image:
        if image.mode not in ("P", "L"):
            raise InputError(f"must have a palette, has mode {image.mode!r}")
        return np.asarray(image)
