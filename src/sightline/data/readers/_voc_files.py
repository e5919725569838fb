"""The files of Pascal VOC, lists, XML and masks: see `sightline.data.readers.voc`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import numpy as np
from PIL import Image

from sightline.data.formats.checks import located
from sightline.data.formats.lines import finite, read_text, table
from sightline.data.formats.shapes import box_shape
from sightline.data.images import image_size, inside
from sightline.records import InputError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any
    from xml.etree.ElementTree import Element

    from numpy.typing import NDArray

    from sightline.data.formats.checks import Size
    from sightline.data.formats.shapes import Shape
    from sightline.data.problems import Problems

__all__ = ["MAX_BYTES", "read_object", "read_palette", "read_size", "read_splits", "read_xml"]

MAX_BYTES = 8_000_000
"""The largest file that is read; it holds more than 20,000 objects."""

_SPLITS = ("train", "val", "test")
_FLAGS = ("difficult", "truncated", "occluded")
_CORNERS = ("xmin", "ymin", "xmax", "ymax")
# Entities can make a few lines expand to gigabytes or name files elsewhere; VOC has none.
_DECLARATION = re.compile(r"<!\s*(DOCTYPE|ENTITY)", re.IGNORECASE)


def read_splits(root: Path, problems: Problems, split: str | None, masks: bool) -> dict[str, str]:
    """Return the ids to read with their splits."""
    folder = root / "ImageSets" / "Segmentation"
    if not (masks and folder.is_dir()):
        folder = root / "ImageSets" / "Main"
    if split is not None:
        file = inside(folder, f"{split}.txt")
        if not file.is_file():
            known = ", ".join(sorted(other.stem for other in folder.glob("*.txt"))) or "none"
            raise InputError(f"{file}: no list of split {split!r}; lists: {known}")
        return dict.fromkeys(table(file, problems, _id_line), split)
    tags: dict[str, str] = {}
    for name in _SPLITS:
        if (file := folder / f"{name}.txt").is_file():
            tags = {**dict.fromkeys(table(file, problems, _id_line), name), **tags}
    ids = sorted(file.stem for file in (root / "Annotations").glob("*.xml"))
    return {name: tags.get(name, "") for name in ids}


def _id_line(line: str) -> tuple[str, None]:
    if len(line.split()) != 1:
        raise InputError(f"must be one id, got {line!r}")
    return line, None


def read_xml(file: Path) -> Element:
    """Return the annotation in a file that a stranger may have written."""
    if file.is_file() and (size := file.stat().st_size) > MAX_BYTES:
        raise InputError(f"must have at most {MAX_BYTES:,} bytes, has {size:,}")
    content = read_text(file)
    if found := _DECLARATION.search(content):
        raise InputError(f"must not declare a document type or entities, got {found[0]!r}")
    try:
        tree = ET.fromstring(content)  # noqa: S314 # declarations are refused above
    except ET.ParseError as error:
        raise InputError(f"is not valid XML: {error}") from error
    if tree.tag != "annotation":
        raise InputError(f"must be an <annotation>, got <{tree.tag}>")
    return tree


def read_size(tree: Element, image: Path) -> Size:
    """Return the size that is written, or that of the image where it is missing or 0."""
    width, height = (_side(tree.findtext(f"size/{side}")) for side in ("width", "height"))
    if width and height:
        return width, height
    with located("size is missing, and cannot be taken from the image"):
        return image_size(image)


def _side(written: str | None) -> int:
    value = finite((written or "").strip() or "0", "width and height of size")
    if value < 0 or value != int(value):
        raise InputError(f"width and height of size must be whole numbers >= 0, got {written!r}")
    return int(value)


def read_object(element: Element, size: Size) -> tuple[str, tuple[str, ...], Shape]:
    """Return the label, flags and box of an object or a part."""
    label = (element.findtext("name") or "").strip()
    if not label:
        raise InputError("has no name")
    written = [(element.findtext(f"bndbox/{corner}") or "").strip() for corner in _CORNERS]
    x0, y0, x1, y1 = map(finite, written, _CORNERS)
    if x0 > x1 or y0 > y1:
        raise InputError(f"bndbox must have xmin <= xmax, ymin <= ymax, got {' '.join(written)}")
    flags = tuple(flag for flag in _FLAGS if (element.findtext(flag) or "").strip() == "1")
    return label, flags, box_shape((x0 - 1, y0 - 1, x1, y1), "pixels", size)


def read_palette(file: Path) -> NDArray[Any]:
    """Return the values of a palette image, not their colours."""
    try:
        with Image.open(file, formats=("PNG",)) as image:
            if image.mode not in ("P", "L"):
                raise InputError(f"must have a palette, has mode {image.mode!r}")
            return np.asarray(image)
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        raise InputError(f"{file}: cannot be read as a mask: {error}") from error
