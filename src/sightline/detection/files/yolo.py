"""YOLO: text files, one an image; each line has a class and a box in shares of the image.

::

    labels/<image>.txt      class cx cy width height             what is there
                            class x y x y x y …                  the same as a polygon
                            class cx cy width height confidence  what was found
    images/<image>.jpg      tells how many pixels the image has
    data.yaml               names of the classes

Detections may also have a track behind their confidence, or be polygons with a confidence, as
ultralytics writes them. Images are called by the names of their files without folder and ending,
classes by their numbers. Of a polygon the box around it counts; with `masks`, every line is a
polygon, drawn by COCO's rasteriser at the size of its image.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from sightline.core import InputError
from sightline.data.formats.checks import located
from sightline.data.formats.lines import finite, lines, read_text
from sightline.data.images import image_size, is_image
from sightline.data.readers._image_files import find_image, is_debris
from sightline.data.readers.yolo import read_label_files, read_line
from sightline.detection.columns import Detections, GroundTruth, Picture
from sightline.detection.files._columns import existing, read_words, same_width
from sightline.detection.masks import read_mask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from sightline.data.readers.yolo import LabelFile
    from sightline.detection.columns import Rle

__all__ = ["ImageSizes", "read_yolo_detections", "read_yolo_ground_truth", "yolo_image_sizes"]

ImageSizes: TypeAlias = "Mapping[str, tuple[int, int]] | tuple[int, int]"
"""Width and height of each image by its name, or of all images."""

_TRUE = ("class", "cx", "cy", "width", "height")
_FOUND = (*_TRUE, "confidence")


class _File(NamedTuple):
    """A label file; its image is `image`, or in one of `places`."""

    name: str
    where: str
    text: str
    image: Path | None = None
    places: tuple[Path, ...] = ()


def read_yolo_ground_truth(
    path: str | os.PathLike[str],
    *,
    split: str | None = None,
    image_sizes: ImageSizes | None = None,
    names: Sequence[str] | Mapping[int, str] | None = None,
    masks: bool = False,
) -> GroundTruth:
    r"""Read label files.

    Parameters
    ----------
    path : path
        The folder of a data set, or its .yaml file; see `sightline.data.readers.yolo`. Or a folder
        of label files alone, as labels/val, whose images are in images/val; there only images
        that have a file are known, if an empty one.
    split : str, optional
        Only the images of one split: train, val or test.
    image_sizes : mapping of str to (int, int), or (int, int), optional
        Width and height by the name of the image, with or without its ending, or of all images.
        Without it, the images are asked.
    names : sequence of str or mapping of int to str, optional
        Names of the classes, instead of those in data.yaml or classes.txt.
    masks : bool
        Read the polygons as masks, which then overlap instead of the boxes and have the areas. A
        line with a box has no mask and is an error.

    Raises
    ------
    InputError
        If something is missing or does not fit; the message names the file, line and field.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "labels").mkdir()
    ...     _ = Path(folder, "labels", "a.txt").write_text("3 0.5 0.5 0.2 0.4\n")
    ...     truth = read_yolo_ground_truth(folder, image_sizes=(100, 50))
    >>> truth.image.tolist(), truth.label.tolist(), truth.box.round(9).tolist()
    (['a'], [3], [[40.0, 15.0, 20.0, 20.0]])
    """
    root = existing(path, "a YOLO folder or its .yaml file")
    files, known = _true_files(root, split, names)
    parts = _parts(files, image_sizes, partial(_truths, polygons=masks or None), masks)
    if known is not None:
        for part in parts:
            _check_named(part, known)
    label, box, _, runs = _joined(parts)
    truth = GroundTruth.from_arrays(
        np.repeat([part.name for part in parts], [len(part.label) for part in parts]),
        label,
        box,
        masks=runs if masks else None,
        images=[part.name for part in parts],
        classes=None if known is None else sorted(known),
        names=known,
        pixel="continuous",
        pictures={part.name: part.picture for part in parts},
    )
    return replace(truth, indexed_classes=True)


def read_yolo_detections(
    path: str | os.PathLike[str],
    truth: GroundTruth | None = None,
    *,
    image_sizes: ImageSizes | None = None,
    masks: bool = False,
) -> Detections:
    r"""Read label files with confidences, as ultralytics writes them with save_txt and save_conf.

    Parameters
    ----------
    path : path
        A folder of text files, or the one that has them in labels/.
    truth : GroundTruth, optional
        What is there; an image that it does not have is an error.
    image_sizes : mapping of str to (int, int), or (int, int), optional
        As in `read_yolo_ground_truth`; `yolo_image_sizes` tells those of a data set. Without it,
        images beside the text files, in images/ or in the folder above are asked.
    masks : bool
        As in `read_yolo_ground_truth`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("3 0.5 0.5 0.2 0.4 0.9\n")
    ...     found = read_yolo_detections(folder, image_sizes={"a": (100, 50)})
    >>> found.box.round(9).tolist(), found.score.tolist()
    ([[40.0, 15.0, 20.0, 20.0]], [0.9])
    """
    files = _found_files(existing(path, "a folder of YOLO text files"))
    if truth is not None and truth.images is not None:
        known = set(truth.images.tolist())
        for file in files:
            if file.name not in known:
                raise InputError(
                    f"{file.where}: image must be one of the {len(known)} of the ground truth; "
                    f"got {file.name!r}"
                )
    parts = _parts(files, image_sizes, _detections, masks)
    label, box, score, runs = _joined(parts)
    images = np.repeat([part.name for part in parts], [len(part.label) for part in parts])
    return Detections.from_arrays(
        images, label, box, score, masks=runs if masks else None, pixel="continuous"
    )


def yolo_image_sizes(
    path: str | os.PathLike[str], *, split: str | None = None
) -> dict[str, tuple[int, int]]:
    r"""Return width and height of the images of a data set that are there, by name.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Image.new("RGB", (4, 3)).save(Path(folder, "a.png"))
    ...     _ = Path(folder, "a.txt").write_text("0 0.5 0.5 1 1\n")
    ...     yolo_image_sizes(folder)
    {'a': (4, 3)}
    """
    root = existing(path, "a YOLO folder or its .yaml file")
    files, _ = _true_files(root, split, None)
    found = ((file.name, file.image or find_image(file.name, file.places)) for file in files)
    return {name: image_size(image) for name, image in found if image and image.is_file()}


class _Part(NamedTuple):
    """The boxes of an image in pixels; `lines` says where each is from."""

    name: str
    where: str
    lines: list[int]
    label: NDArray[np.int64]
    box: NDArray[np.float64]
    score: NDArray[np.float64]
    masks: list[Rle]
    picture: Picture


class _LabelRows(NamedTuple):
    """The lines of a file: class, box and confidence in `rows` (N, 6); `polygons` has [] of a box.

    Coordinates are shares of the image.
    """

    numbers: list[int]
    rows: NDArray[np.float64]
    polygons: list[list[float]]


def _true_files(
    root: Path, split: str | None, names: Sequence[str] | Mapping[int, str] | None
) -> tuple[list[_File], dict[int, str] | None]:
    """Return the label files of a data set, or of a folder that holds nothing else; and names."""
    if split is not None or not _holds_labels_alone(root):
        files, known = read_label_files(root, split, names=names)
        return _named(files), known
    pairs = names.items() if isinstance(names, Mapping) else enumerate(names or ())
    return _found_files(root), dict(pairs) or None


def _holds_labels_alone(root: Path) -> bool:
    """Say whether a folder has text files, and neither images, a .yaml file nor labels/."""
    if not root.is_dir() or (root / "labels").is_dir():
        return False
    names = [path.name for path in root.iterdir() if not is_debris(path.name)]
    others = any(is_image(name) or name.endswith((".yaml", ".yml")) for name in names)
    return not others and any(name.endswith(".txt") for name in names)


def _named(files: Iterable[LabelFile]) -> list[_File]:
    """Call each image by its file's name without folder and ending."""
    found: dict[str, _File] = {}
    for file in files:
        bare = file.name.rpartition("/")[2]
        # A label file without an image has its own name, without an ending.
        name = bare if file.image is None else Path(bare).stem
        if name in found:
            raise InputError(
                f"{file.where}: image {name!r} is also that of {found[name].where}; "
                "choose one with split="
            )
        found[name] = _File(name, file.where, file.text, file.image)
    return list(found.values())


def _found_files(root: Path) -> list[_File]:
    """Return the text files of a folder and those below, links not followed."""
    if root.is_file():
        raise InputError(f"{root}: must be a folder of YOLO text files; it is a file")
    base = root / "labels" if (root / "labels").is_dir() else root
    found: dict[str, _File] = {}
    for folder, below, names in os.walk(base):
        below[:] = sorted(name for name in below if not is_debris(name))
        places = Path(folder), Path(folder).parent, root, root / "images", _opposite(Path(folder))
        for name in sorted(names):
            if not name.endswith(".txt") or name == "classes.txt" or is_debris(name):
                continue
            path, stem = Path(folder, name), name.removesuffix(".txt")
            if stem in found:
                raise InputError(f"{path}: image {stem!r} is also that of {found[stem].where}")
            with located(str(path)):
                text = read_text(path, root)
            found[stem] = _File(stem, str(path), text, None, places)
    if not found:
        raise InputError(f"{base}: must hold .txt files, one an image; has none")
    return list(found.values())


def _opposite(folder: Path) -> Path:
    """Return where the images of label files lie: images/val for labels/val."""
    parts = folder.absolute().parts
    if "labels" not in parts:
        return folder
    last = len(parts) - 1 - parts[::-1].index("labels")
    return Path(*parts[:last], "images", *parts[last + 1 :])


def _parts(
    files: Sequence[_File],
    image_sizes: ImageSizes | None,
    read: Callable[[_File], _LabelRows],
    masks: bool,
) -> list[_Part]:
    """Read each file and bring its boxes to pixels, and its polygons where masks are compared."""
    found: list[_Part] = []
    sizes = _without_endings(image_sizes)
    for file in files:
        numbers, rows, polygons = read(file)
        wide = (rows[:, 3:5] < 0).any(axis=1)
        _refuse(wide, rows[:, 3:5], numbers, file, "width and height must be at least 0")
        odd = (rows[:, 0] < 0) | (rows[:, 0] != np.floor(rows[:, 0])) | (rows[:, 0] >= 2**53)
        _refuse(odd, rows[:, 0], numbers, file, "class must be a whole number of at least 0")
        score = rows[:, 5]
        beyond = (score < 0) | (score > 1)
        _refuse(beyond, score, numbers, file, "confidence must be from 0 to 1")
        known = _size(file, sizes) if len(rows) else None
        runs = _draw_polygons(file, numbers, polygons, known) if masks and known else []
        size = np.array(known or (1, 1), np.float64)
        side = rows[:, 3:5] * size
        box = np.hstack([rows[:, 1:3] * size - side / 2, side])
        picture = Picture(file.image.name if file.image else file.name, *(known or ()))
        label = rows[:, 0].astype(np.int64)
        found.append(_Part(file.name, file.where, numbers, label, box, score, runs, picture))
    return found


def _draw_polygons(
    file: _File, numbers: list[int], polygons: list[list[float]], size: tuple[int, int]
) -> list[Rle]:
    """Return the masks of polygons at the width and height of their image."""
    masks = []
    for number, polygon in zip(numbers, polygons, strict=True):
        with located(f"{file.where} line {number}"):
            if not polygon:
                raise InputError(
                    "must be a polygon, since masks are compared: x, y of three points or more; "
                    "got a box"
                )
            # As in `polygon_mask`: x = 3.5 must come back from 3.5 / W * W as 3.5.
            points = np.round(np.reshape(polygon, (-1, 2)) * size, 6)
            masks.append(read_mask([points.ravel().tolist()], size[::-1]))
    return masks


def _refuse(wrong: Any, seen: NDArray[Any], numbers: list[int], file: _File, rule: str) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(f"{file.where} line {numbers[row]}: {rule}; got {seen[row].tolist()}")


def _joined(
    parts: Sequence[_Part],
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], list[Rle]]:
    return (
        np.concatenate([np.zeros(0, np.int64), *(part.label for part in parts)]),
        np.concatenate([np.zeros((0, 4)), *(part.box for part in parts)]),
        np.concatenate([np.zeros(0), *(part.score for part in parts)]),
        [mask for part in parts for mask in part.masks],
    )


def _check_named(part: _Part, names: Mapping[int, str]) -> None:
    for line, label in zip(part.lines, part.label.tolist(), strict=True):
        if label not in names:
            raise InputError(
                f"{part.where} line {line}: class {label} has no name; "
                f"named are {min(names)} to {max(names)}"
            )


def _size(file: _File, given: ImageSizes | None) -> tuple[int, int]:
    """Return the width and height of an image; names in a mapping have no ending any more."""
    if given is None:
        image = file.image or find_image(file.name, file.places)
        if image is None or not image.is_file():
            raise InputError(
                f"{file.where}: the size of image {file.name!r} in pixels must be known; there is "
                "no image of that name beside it or in images/, so give image_sizes="
            )
        with located(file.where):
            return image_size(image)
    size: Any = given.get(file.name) if isinstance(given, Mapping) else given
    sides = list(size) if isinstance(size, tuple | list) else []
    if len(sides) != 2 or not all(_is_side(side) for side in sides):
        raise InputError(
            f"{file.where}: image_sizes must have the width and height of {file.name!r} in whole "
            f"pixels; got {size!r}"
        )
    return int(sides[0]), int(sides[1])


def _is_side(value: Any) -> bool:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and int(value) >= 1


def _without_endings(given: ImageSizes | None) -> ImageSizes | None:
    """Return sizes by the names of images as files of labels have them."""
    if not isinstance(given, Mapping):
        return given
    found = {Path(name).stem: size for name, size in given.items() if is_image(name)}
    return {**found, **given}


def _truths(file: _File, polygons: bool | None = None) -> _LabelRows:
    """Return class, box and a confidence of 1 of each line; `polygons` is that of `read_line`."""
    if same_width(file.text, len(_TRUE)):
        numbers, words, values = read_words(file.text, _TRUE, file.where)
        rows = _with_class(numbers, words, values, file.where, np.ones(len(words)))
        return _LabelRows(numbers, rows, [[]] * len(numbers))
    counts = {len(line.split()) - 1 for _, line in lines(file.text)}
    numbers, found, outlines = [], [], []
    for number, line in lines(file.text):
        with located(f"{file.where} line {number}"):
            first, shape, score = read_line(line, counts, polygons)
            if score is not None:
                raise InputError(
                    f"must be {' '.join(_TRUE)!r} or a polygon; got a confidence behind it, "
                    "as detections have"
                )
            numbers.append(number)
            found.append([first, *_around(shape), 1.0])
            outlines.append(shape if len(shape) > 4 else [])
    return _LabelRows(numbers, np.array(found, np.float64).reshape(-1, 6), outlines)


def _detections(file: _File) -> _LabelRows:
    """Return class, box and confidence of each line."""
    if same_width(file.text, len(_FOUND)):
        numbers, words, values = read_words(file.text, _FOUND, file.where)
        rows = _with_class(numbers, words, values[:, :4], file.where, values[:, 4])
        return _LabelRows(numbers, rows, [[]] * len(numbers))
    numbers, found, outlines = [], [], []
    for number, line in lines(file.text):
        with located(f"{file.where} line {number}"):
            first, *shape = (finite(word, "each word of a line") for word in line.split())
            count = len(shape)
            if count == 6 and shape[5].is_integer():
                shape.pop()  # the number of a track
            if len(shape) % 2 == 0 or len(shape) < 5:
                raise InputError(
                    f"must be {' '.join(_FOUND)!r}, or a polygon and a confidence; got a class and "
                    f"{count} numbers (ultralytics: save_conf=True)"
                )
            score = shape.pop()
            numbers.append(number)
            found.append([first, *_around(shape), score])
            outlines.append(shape if len(shape) > 4 else [])
    return _LabelRows(numbers, np.array(found, np.float64).reshape(-1, 6), outlines)


def _with_class(
    numbers: list[int],
    words: list[str],
    values: NDArray[np.float64],
    where: str,
    score: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return class, box and confidence as columns."""
    if all(word.isdecimal() and word.isascii() for word in words):
        label = np.array(words, object).astype(np.float64)
    else:  # some tools write 3.0
        label = np.zeros(len(words))
        for row, word in enumerate(words):
            with located(f"{where} line {numbers[row]}"):
                label[row] = finite(word, "class")
    return np.hstack([label[:, None], values, score[:, None]])


def _around(values: Sequence[float]) -> tuple[float, float, float, float]:
    """Return centre and sides of a box, or of that around a polygon."""
    if len(values) == 4:
        return values[0], values[1], values[2], values[3]
    x, y = values[0::2], values[1::2]
    low, high = (min(x), min(y)), (max(x), max(y))
    centre = (low[0] + high[0]) / 2, (low[1] + high[1]) / 2
    return *centre, high[0] - low[0], high[1] - low[1]
