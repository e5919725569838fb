"""Which of the formats a path has: COCO JSON, Pascal VOC or YOLO."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from sightline.core import InputError
from sightline.data.formats.checks import located
from sightline.data.formats.lines import lines, read_text
from sightline.data.readers._image_files import is_debris
from sightline.detection.files._columns import existing

if TYPE_CHECKING:
    import os
    from pathlib import Path

__all__ = ["FileFormat", "find_format"]

FileFormat = Literal["coco", "voc", "yolo"]

_EXPECTED = "a COCO .json file, a folder of Pascal VOC, or a folder or .yaml file of YOLO"
_XML = ("*.xml", "Annotations/*.xml", "annotations/*.xml", "*/*.xml", "*/Annotations/*.xml")
_DEVKIT_XML = "VOCdevkit/*/Annotations/*.xml"
_LABELS = ("labels/*.txt", "labels/*/*.txt", "*/labels/*.txt")
_FAR = 2.0  # shares of an image are near 0 to 1, pixels are not


def find_format(path: str | os.PathLike[str]) -> FileFormat:
    """Say what a path holds, by the endings of files and, of .txt files, by what is in them.

    Raises
    ------
    InputError
        If nothing tells; the message says what is expected.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "comp3_det_test_car.txt")
    ...     _ = file.write_text("000004 0.702732 89 112 516 466")
    ...     find_format(folder)
    'voc'
    """
    found = existing(path, _EXPECTED)
    if found.is_dir():
        return _of_folder(found)
    ending = found.suffix.lower()
    if ending == ".json":
        return "coco"
    if ending in (".yaml", ".yml"):
        return "yolo"
    if ending == ".txt":
        return _of_text(found)
    raise InputError(f"{path}: must be {_EXPECTED}; its ending is {ending!r}")


def _of_folder(root: Path) -> FileFormat:
    if any(_first(root, pattern) for pattern in (*_XML, _DEVKIT_XML)):
        return "voc"
    if any(_first(root, pattern) for pattern in ("*.yaml", "*.yml", *_LABELS)):
        return "yolo"
    texts = sorted(root.glob("*.txt"))
    texts = [file for file in texts if not is_debris(file.name) and file.name != "classes.txt"]
    for file in texts:
        if file.stat().st_size:
            return _of_text(file)
    if texts:
        return _of_text(texts[0])
    if name := _first(root, "*.json"):
        raise InputError(f"{root}: must be {_EXPECTED}; it holds {name.name}, name that file")
    raise InputError(f"{root}: must be {_EXPECTED}; it holds none of their files")


def _first(root: Path, pattern: str) -> Path | None:
    """Return a file in a folder."""
    return next((file for file in root.glob(pattern) if not is_debris(file.name)), None)


def _of_text(file: Path) -> FileFormat:
    """Tell `image score x y x y` from `class cx cy w h confidence`."""
    with located(str(file)):
        text = read_text(file)
    for _, line in lines(text):
        words = line.split()
        if len(words) != 6:
            return "yolo"
        try:
            number, *values = map(float, words)
        except ValueError:  # a name
            return "voc"
        if not number.is_integer() or max(values[1:]) > _FAR:
            return "voc"
    return "voc" if "_det_" in file.stem else "yolo"
