"""The text files of CUB-200-2011: `sightline.data.readers.cub` says which they are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from sightline.core import InputError
from sightline.data.formats.checks import located
from sightline.data.formats.lines import finite, row, table, whole, yes
from sightline.data.images import image_size
from sightline.data.problems import Problems
from sightline.data.readers._image_files import claim, find_image

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sightline.data.formats.checks import Size

__all__ = ["Image", "Places", "line_of", "read_boxes", "read_images", "read_parts", "read_places"]

Places: TypeAlias = dict[int, dict[int, list[Any]]]  # image, part -> x, y, visible
_Value = TypeVar("_Value")
_COORDINATE = r"(-?[0-9]{1,9}(?:\.[0-9]{1,9})?)"
_PLACE = re.compile(rf"([0-9]{{1,9}}) ([0-9]{{1,9}}) {_COORDINATE} {_COORDINATE} ([01])")


class Image(NamedTuple):
    """An image before its regions are made."""

    number: int
    name: str
    path: Path
    where: str
    image_id: str
    size: Size
    label: str
    split: str


def read_images(root: Path, problems: Problems) -> list[Image]:
    """Return what the files and the headers of the images say about each image."""
    names = table(root / "images.txt", problems, _name_line, root)
    classes = table(root / "classes.txt", problems, _name_line, root)
    class_of = table(root / "image_class_labels.txt", problems, _class_line, root)
    train = table(root / "train_test_split.txt", problems, _split_line, root)
    found: list[Image] = []
    taken: dict[str, str] = {}
    for number, name in names.items():
        with problems.at(where := f"{root / 'images.txt'}: image {number} ({name})"):
            label = line_of(class_of, number, "image_class_labels.txt")
            label_name = line_of(classes, label, f"classes.txt for its class {label}")
            split = "train" if line_of(train, number, "train_test_split.txt") else "test"
            path = find_image(name, [root / "images"]) or root / "images" / name
            with located("coordinates are in pixels of the image (skip_bad leaves it out)"):
                size = image_size(path)
            image_id = claim(name, f"image {number}", taken)
            found.append(Image(number, name, path, where, image_id, size, label_name, split))
    return found


def read_boxes(root: Path, problems: Problems) -> dict[int, list[float]]:
    """Return x, y, width and height by image."""
    return table(root / "bounding_boxes.txt", problems, _box_line, root)


def read_parts(root: Path) -> dict[int, str]:
    """Return the names of the parts; a bad line is never skipped, it would misname places."""
    return table(root / "parts" / "parts.txt", Problems(), _name_line, root)


def read_places(root: Path, problems: Problems, parts: Mapping[int, str]) -> Places:
    """Return where the parts are."""

    def parse(line: str) -> tuple[tuple[int, int], list[Any]]:
        image, part, *place = _plain_place(line) or row(
            line, image=whole, part=whole, x=finite, y=finite, visible=yes
        )
        if part not in parts:
            raise InputError(f"part {part} is not in parts.txt")
        return (image, part), place

    places: Places = {}
    lines = table(root / "parts" / "part_locs.txt", problems, parse, root)
    for (image, part), place in lines.items():
        places.setdefault(image, {})[part] = place
    return places


def _plain_place(line: str) -> tuple[Any, ...] | None:
    """Return what `row` would, five times as fast: there are 180,000 lines; None when unsure."""
    if (found := _PLACE.fullmatch(line)) is None:
        return None
    image, part, x, y, visible = found.groups()
    return int(image), int(part), float(x), float(y), visible == "1"


def line_of(lines: Mapping[int, _Value], number: int, file: str) -> _Value:
    """Return what a file says about a number."""
    if number not in lines:
        raise InputError(f"has no line in {file}")
    return lines[number]


def _name_line(line: str) -> tuple[int, str]:
    number, _, name = line.partition(" ")
    if not name:
        raise InputError(f"must be a number and a name, got {line!r}")
    return whole(number, "its number"), name.strip()


def _class_line(line: str) -> tuple[int, int]:
    return row(line, image=whole, label=whole)


def _split_line(line: str) -> tuple[int, bool]:
    return row(line, image=whole, train=yes)


def _box_line(line: str) -> tuple[int, list[float]]:
    image, *box = row(line, image=whole, x=finite, y=finite, width=finite, height=finite)
    if min(box[2:]) < 0:
        raise InputError(f"width and height must be >= 0, got {line!r}")
    return image, box
