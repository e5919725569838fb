"""YOLO: one text file of boxes or polygons for each image.

::

    images/train/a.jpg  labels/train/a.txt      or train/images/a.jpg, train/labels/a.txt,
                                                or a.jpg and a.txt side by side,
                                                or a.jpg and labels/a.txt
    data.yaml           names of the classes; folders or lists of images of train, val and test
    classes.txt         names of the classes, one a line; also obj.names

A label file in any other folder called labels belongs to the only image without one that has its
name; where there are several, it is a problem. An image without a label file, or with an empty one,
has no objects, but some image must have one. A label file without an image is read as well: only
its pixels are missing. Links to other folders are not followed.

Each line is an object, in shares of the image: `class cx cy width height`, the same with a
confidence behind it, or `class x y x y x y …`, a polygon. Two kinds of line can be read in more
than one way, and are taken for polygons only if the option `polygons` says so, or other lines of
the file do, with another count of numbers that is above six: six numbers behind the class (three
points, or a box with its confidence and the number of a track) and an odd count of seven or more (a
polygon with a confidence, or key points).

Names come from the option, else from data.yaml, dataset.yaml or the only other .yaml file, else
from classes.txt or obj.names (beside the folders, or in labels/). Where there is none, the number
of a class is its label.

Splits are those of the .yaml file. What it says about places outside the folder is not followed (a
leading "../", which some tools write, is dropped); an image it does not place belongs to the first
folder above it that is named train, val, valid or test, with or without a number. Who asks for
"val" also gets "valid", and the other way round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sightline.core import InputError, Taxonomy
from sightline.data.dataset import Dataset, from_annotations
from sightline.data.formats.drafts import Draft, Facts
from sightline.data.formats.lines import finite, lines, read_text
from sightline.data.formats.shapes import box_shape, polygon_shape
from sightline.data.images import inside
from sightline.data.problems import Problems
from sightline.data.readers._image_files import claim
from sightline.data.readers._yolo_files import class_names, find_config, find_items, read_config

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from sightline.core import Annotation
    from sightline.data.formats.shapes import Shape
    from sightline.data.readers._yolo_files import Item

__all__ = ["LabelFile", "read", "read_label_files", "read_line"]

# Images that a shape may be wide or high; in pixels, most are larger.
_WIDEST = 3.0


class LabelFile(NamedTuple):
    """An image and what its label file says.

    Attributes
    ----------
    name : str
        The path of the image in the folder, without the folder called images.
    where : str
        The file that errors name.
    text : str
        The content of the label file, "" where there is none.
    image : Path or None
        The file of the image, which need not be there.
    split : str
        The split of the image, "" where there is none.
    """

    name: str
    where: str
    text: str
    image: Path | None
    split: str


class _Folder(NamedTuple):
    """A folder of label files; `names` are those of the classes, where something says them."""

    root: Path
    names: dict[int, str] | None
    items: Iterator[Item]


def read(
    path: Path,
    problems: Problems,
    split: str | None,
    *,
    names: Sequence[str] | Mapping[int, str] | None = None,
    polygons: bool | None = None,
) -> Dataset:
    """Open a YOLO data set; see `sightline.data.load_dataset`.

    Parameters
    ----------
    path : Path
        The folder, or its .yaml file.
    problems : Problems
        Raises, or collects what is set aside: a line, or an image whose label file cannot be read.
    split : str or None
        Where two splits share an image, it belongs to this one.
    names : sequence of str or mapping of int to str, optional
        The names of the classes, instead of those in files.
    polygons : bool, optional
        Whether lines that can be read in more than one way are polygons; False refuses all lines
        that are no boxes. By default the other lines of the file decide.
    """
    if not isinstance(polygons, bool | None):
        raise InputError(f"polygons must be True, False or None, got {polygons!r}")
    root, known, items = _open(path, problems, split, names)
    contents: dict[str, tuple[str, str]] = {}
    files: dict[str, Path] = {}
    splits: dict[str, str] = {}
    taken: dict[str, str] = {}
    for item in items:
        with problems.at(str(root / item.record)):
            file = _read_item(root, item)
            image_id = claim(item.name, item.record, taken)
            contents[image_id], splits[image_id] = (file.where, file.text), item.split
            if file.image is not None:
                files[image_id] = file.image
    annotations: dict[str, Annotation] = {}
    for image_id, (where, text) in contents.items():
        draft = Draft(image_id, None)
        annotations[image_id] = _annotate(draft, where, text, known, polygons, problems)
    return from_annotations(
        "yolo",
        annotations,
        files,
        splits=splits,
        root=root,
        taxonomy=Taxonomy.flat(_numbers(annotations) if known is None else known.values()),
        skipped=problems,
    )


def read_label_files(
    path: Path,
    split: str | None = None,
    *,
    names: Sequence[str] | Mapping[int, str] | None = None,
) -> tuple[list[LabelFile], dict[int, str] | None]:
    """Return the label files with their images, and the names of the classes where they are said.

    Parameters are those of `read`; a file that cannot be read raises.
    """
    problems = Problems()
    root, known, items = _open(path, problems, split, names)
    found: list[LabelFile] = []
    for item in items:
        if split is None or item.split == split:
            with problems.at(str(root / item.record)):
                found.append(_read_item(root, item))
    if not found:
        raise InputError(f"{path}: has no images in split {split!r}")
    return found, known


def _open(
    path: Path,
    problems: Problems,
    split: str | None,
    names: Sequence[str] | Mapping[int, str] | None,
) -> _Folder:
    root = path.parent if path.is_file() else path
    config_file = path if path.is_file() else find_config(root)
    within = None if path.is_file() else root
    config = {} if config_file is None else read_config(config_file, within)
    known = class_names(root, config_file, config, names)
    return _Folder(root, known, find_items(root, config, split, problems))


def _read_item(root: Path, item: Item) -> LabelFile:
    image = None if item.image is None else _unlinked(root, item.image)
    text = "" if item.label is None else read_text(_unlinked(root, item.label))
    return LabelFile(item.name, str(root / item.record), text, image, item.split)


def _unlinked(root: Path, name: str) -> Path:
    """Return a file's path; a link must stay in the folder."""
    path = root / name
    return inside(root, name) if path.is_symlink() else path


def _numbers(annotations: Mapping[str, Annotation]) -> list[str]:
    """Return the labels of all regions, which are numbers, in order."""
    found = (a.regions + a.dropped for a in annotations.values())
    return sorted({region.label for regions in found for region in regions}, key=int)


def _annotate(
    draft: Draft,
    where: str,
    text: str,
    names: Mapping[int, str] | None,
    polygons: bool | None,
    problems: Problems,
) -> Annotation:
    counts = {len(line.split()) - 1 for _, line in lines(text)}
    for line_number, line in lines(text):
        number = draft.number()
        with problems.at(f"{where} line {line_number}"):
            first, values, score = read_line(line, counts, polygons)
            facts = Facts(_label(first, names), (), f"line {line_number}", score)
            draft.add(number, _shape(values), facts)
    return draft.finish()


def read_line(
    line: str, counts: Collection[int] = (), polygons: bool | None = None
) -> tuple[float, list[float], float | None]:
    """Return the class of a line, its box or its polygon, and its confidence where it has one.

    Parameters
    ----------
    line : str
        A line of a label file.
    counts : collection of int
        How many numbers follow the class in the lines of the file.
    polygons : bool, optional
        As in `read`.

    Examples
    --------
    >>> read_line("3 0.5 0.5 0.25 0.25 0.9")
    (3.0, [0.5, 0.5, 0.25, 0.25], 0.9)
    """
    first, *values = (finite(word, "each word of a line") for word in line.split())
    if len(values) not in (4, 5):
        _check_polygon(len(values), counts, polygons)
    score = values.pop() if len(values) % 2 else None
    if score is not None and not 0 <= score <= 1:
        raise InputError(f"confidence must be 0 to 1, got {score:g}")
    return first, values, score


def _check_polygon(count: int, counts: Collection[int], polygons: bool | None) -> None:
    """Raise unless a class and `count` numbers, in a file with lines of `counts`, are a polygon."""
    if count < 6 or polygons is False:
        raise InputError(
            "must be a class and 4 numbers (box), 5 (box and confidence)"
            f"{'' if polygons is False else ' or x, y of three points or more'}, "
            f"got a class and {count} numbers"
        )
    if polygons or not (count == 6 or count % 2) or any(n > 6 and n != count for n in counts):
        return
    may = "a box with confidence and track" if count == 6 else "a box with key points"
    raise InputError(
        f"a class and {count} numbers may be {may}, which is not read, or a polygon"
        f"{' with a confidence' if count % 2 else ''}; polygons=True reads it as a polygon"
    )


def _shape(values: list[float]) -> Shape:
    """Return what a line draws, wherever it lies; what is far too large was given in pixels."""
    shape = polygon_shape([values], "exact", None) if len(values) > 4 else _box(values)
    x0, y0, x1, y1 = shape.box
    if not max(x1 - x0, y1 - y0) <= _WIDEST:
        raise InputError(
            "coordinates must be shares of the image, from 0 to 1, and not pixels; got a shape of "
            f"{x1 - x0:g} x {y1 - y0:g} images"
        )
    return shape


def _box(values: list[float]) -> Shape:
    x, y, width, height = values
    if width < 0 or height < 0:
        raise InputError(f"width and height must be >= 0, got {width:g} and {height:g}")
    corners = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
    return box_shape(corners, "exact", None)


def _label(number: float, names: Mapping[int, str] | None) -> str:
    """Return the name of a class; some tools write its number as 3.0."""
    if number < 0 or number != int(number):
        raise InputError(f"class must be a whole number >= 0, got {number:g}")
    if names is None:
        return str(int(number))
    if number not in names:
        raise InputError(f"class {number:g} has no name; named are {min(names)} to {max(names)}")
    return names[int(number)]
