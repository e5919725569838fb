"""Pascal VOC: ground truth in XML, detections as the devkit's result files.

::

    Annotations/<image>.xml                 objects with name, bndbox, difficult
    ImageSets/Main/<split>.txt              which images a split has
    results/comp3_det_test_car.txt          image score xmin ymin xmax ymax, one a line

Classes are called by their names, images by the names of their XML files without the ending. Boxes
go from a first to a last pixel, so widths are xmax - xmin and `pixel` is "inclusive".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.data.formats.checks import located
from sightline.data.formats.lines import read_text
from sightline.data.readers._image_files import is_debris
from sightline.data.readers.voc import read_files
from sightline.detection.columns import Detections, GroundTruth, Picture
from sightline.detection.files._columns import existing, read_words

if TYPE_CHECKING:
    import os
    from collections.abc import Collection
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["read_voc_detections", "read_voc_ground_truth"]

_FIELDS = ("image", "score", "xmin", "ymin", "xmax", "ymax")
_DEVKIT = re.compile(r"comp\d+_det_[^_]+_(.+)", re.DOTALL)


def read_voc_ground_truth(path: str | os.PathLike[str], *, split: str | None = None) -> GroundTruth:
    """Read the objects of a folder of XML files.

    Parameters
    ----------
    path : path
        The folder, VOC2007, VOC2012 or a like one, or the one (VOCdevkit) that holds exactly one.
    split : str, optional
        A list of images in ImageSets/Main, or a folder; without it all images are read.

    Returns
    -------
    GroundTruth
        `difficult` as the files say; widths are xmax - xmin, and `pixel` is "inclusive".

    Raises
    ------
    InputError
        If something is missing or does not fit; the message names the file, object and field.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> box = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>5</xmax><ymax>9</ymax></bndbox>"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     content = f"<annotation><object><name>cat</name>{box}</object></annotation>"
    ...     _ = pathlib.Path(folder, "a.xml").write_text(content)
    ...     truth = read_voc_ground_truth(folder)
    >>> truth.image.tolist(), truth.label.tolist(), truth.box.tolist()
    (['a'], ['cat'], [[1.0, 1.0, 4.0, 8.0]])
    """
    root = existing(path, "a folder of XML files")
    if not root.is_dir():
        raise InputError(f"{path}: must be a folder of XML files; it is a file")
    by_image = read_files(root, split)
    rows = [(image, item) for image, found in by_image.items() for item in found.objects]
    corners = np.array([item.corners for _, item in rows], np.float64).reshape(-1, 4)
    return GroundTruth.from_arrays(
        [image for image, _ in rows],
        [item.label for _, item in rows],
        np.hstack([corners[:, :2], corners[:, 2:] - corners[:, :2]]),
        difficult=np.array(["difficult" in item.flags for _, item in rows], np.bool_),
        images=list(by_image),
        classes=sorted({item.label for _, item in rows}),
        pixel="inclusive",
        pictures={image: Picture(image, *(one.size or ())) for image, one in by_image.items()},
    )


def read_voc_detections(
    path: str | os.PathLike[str], truth: GroundTruth | None = None
) -> Detections:
    r"""Read result files as the devkit writes them, one for each class.

    Parameters
    ----------
    path : path
        A file, or a folder of them. A file is named after its class: ``comp3_det_test_car.txt``,
        ``results_car.txt`` or ``car.txt``.
    truth : GroundTruth, optional
        What is there; its classes are looked for in names of files (the longest that fits is
        taken), and an image that it does not have is an error.

    Returns
    -------
    Detections
        Widths are xmax - xmin, and `pixel` is "inclusive".

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "comp3_det_test_car.txt")
    ...     _ = file.write_text("000004 0.702732 89 112 516 466\n")
    ...     found = read_voc_detections(folder)
    >>> found.image.tolist(), found.label.tolist(), found.box.tolist()
    (['000004'], ['car'], [[89.0, 112.0, 427.0, 354.0]])
    """
    classes = () if truth is None or truth.classes is None else truth.classes.tolist()
    images: list[str] = []
    labels: list[str] = []
    parts: list[NDArray[np.float64]] = [np.zeros((0, 5))]
    taken: dict[str, Path] = {}
    for file in _files(existing(path, "a result file or a folder of them")):
        label = _class_of(file.stem, classes)
        if label in taken:
            raise InputError(f"{file}: is of class {label!r}, and so is {taken[label].name}")
        taken[label] = file
        names, values = _read_file(file, truth)
        images += names
        labels += [label] * len(names)
        parts.append(values)
    values = np.concatenate(parts)
    box = np.hstack([values[:, 1:3], values[:, 3:] - values[:, 1:3]])
    return Detections.from_arrays(images, labels, box, values[:, 0], pixel="inclusive")


def _files(path: Path) -> list[Path]:
    """Return the result files of a folder in order."""
    if path.is_file():
        return [path]
    found = sorted(file for file in path.glob("*.txt") if not is_debris(file.name))
    if not found:
        raise InputError(f"{path}: must hold result files such as comp3_det_test_car.txt; has none")
    return found


def _class_of(stem: str, classes: Collection[Any]) -> str:
    """Return the class that a file is named after.

    >>> _class_of("comp3_det_test_dining_table", ()), _class_of("my_dining_table", ["dining_table"])
    ('dining_table', 'dining_table')
    """
    fitting = [str(name) for name in classes if f"_{stem}".endswith(f"_{name}")]
    if fitting:
        return max(fitting, key=len)
    devkit = _DEVKIT.fullmatch(stem)
    return devkit[1] if devkit else stem.rpartition("_")[2]


def _read_file(file: Path, truth: GroundTruth | None) -> tuple[list[str], NDArray[np.float64]]:
    """Return the images, and scores with corners, of one file."""
    with located(str(file)):
        text = read_text(file, file.parent)
    lines, images, values = read_words(text, _FIELDS, str(file))
    negative = (values[:, 3] < values[:, 1]) | (values[:, 4] < values[:, 2])
    if negative.any():
        row = int(np.argmax(negative))
        raise InputError(
            f"{file} line {lines[row]}: must have xmin <= xmax and ymin <= ymax; "
            f"got {values[row, 1:].tolist()}"
        )
    if truth is not None and truth.images is not None:
        known = set(truth.images.tolist())
        for line, image in zip(lines, images, strict=True):
            if image not in known:
                raise InputError(
                    f"{file} line {line}: image must be one of the {len(known)} of the ground "
                    f"truth; got {image!r}"
                )
    return images, values
