"""The images and classes that results name, as the ground truth has them.

Ultralytics' `predictions.json` calls an image by the stem of its file, as an integer where that is
all digits. It numbers classes from 0, from 1 (since pull request 18140 of December 2024) or, for
COCO itself, as COCO's 91 categories.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from sightline.data.images import is_image
from sightline.detection.files._json_records import show
from sightline.records import InputError
from sightline.records.checks import check_choice

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from sightline.detection.columns import GroundTruth, Picture
    from sightline.detection.files._json_records import Place

__all__ = ["CATEGORY_IDS", "CategoryIds", "match_classes", "match_images"]

CategoryIds: TypeAlias = Literal["zero", "one", "coco91"]
"""The `category_id` of the first class is 0 or 1, or the classes are the 80 of COCO by its ids."""

CATEGORY_IDS: tuple[CategoryIds, ...] = ("zero", "one", "coco91")

_COCO91 = sorted(set(range(1, 91)) - {12, 26, 29, 30, 45, 66, 68, 69, 71, 83})
_MOST_DIGITS = 19  # of an integer of 64 bits
_NUMBERED_AS = {
    "zero": "as the labels",
    "one": "from 1, as Ultralytics does since December 2024",
    "coco91": "by COCO's ids, as Ultralytics does for COCO itself",
}
_Images: TypeAlias = "dict[Any, list[Any]]"
"""The images that each name may stand for."""


def match_images(place: Place, names: NDArray[Any], truth: GroundTruth | None) -> NDArray[Any]:
    """Return the id in the ground truth of each image that results name.

    One file names all its images in one way, the first that has them all: by ids of the ground
    truth, names of files, these without folders, or stems. So 7 is never the id of one image and
    the stem of the next.

    Parameters
    ----------
    place : Place
        Of the results, for errors.
    names : array of int64 or of objects
        Integers, or integers and strings.
    truth : GroundTruth or None
        Without it names must be all integers or all strings, and are kept.
    """
    if truth is None:
        return _keep_one_kind(place, names)
    known = np.unique(truth.image) if truth.images is None else truth.images
    if names.dtype.kind == known.dtype.kind == "i" and np.isin(names, known).all():
        return names
    rows = names.tolist()
    unique = dict.fromkeys(rows)
    images = _choose_naming(unique, known.tolist(), truth.pictures)
    for row, name in enumerate(rows):
        if len(images.get(name, ())) != 1:
            place.fail(row, _explain_image(name, images, truth))
        unique[name] = images[name][0]
    return np.array([unique[name] for name in rows], known.dtype)


def match_classes(
    place: Place,
    categories: NDArray[np.int64],
    truth: GroundTruth | None,
    category_ids: CategoryIds | None = None,
) -> NDArray[np.int64]:
    """Return the class in the ground truth of each category that results name.

    Categories are those of the ground truth, except where its classes are places in a list of
    names: then all of them must fit one numbering, and no other unless `category_ids` says which.

    Parameters
    ----------
    place : Place
        Of the results, for errors.
    categories : array of int64
        The `category_id` of each result.
    truth : GroundTruth or None
        What is there.
    category_ids : {"zero", "one", "coco91"}, optional
        The numbering.
    """
    if category_ids is not None:
        check_choice("category_ids", category_ids, CATEGORY_IDS)
    if truth is None or not truth.indexed_classes:
        if category_ids is not None:
            raise InputError(
                f"{place.source}: category_ids is for YOLO's labels; the classes of this ground "
                "truth have ids of their own"
            )
        _check_numbered(place, categories, truth)
        return categories
    ids, rows = np.unique(categories, return_index=True)
    tables = _numberings(truth.classes, ids)
    if category_ids is not None:
        tables = {category_ids: tables[category_ids]}
    elif truth.classes is not None and set(truth.classes.tolist()) != set(range(len(_COCO91))):
        del tables["coco91"]  # only COCO's own 80 classes are numbered so
    fitting = [name for name, table in tables.items() if table.keys() >= set(ids.tolist())]
    if not fitting:
        best = max(tables.values(), key=lambda table: sum(number in table for number in ids))
        row = min(row for number, row in zip(ids, rows, strict=True) if number not in best)
        place.fail(int(row), _explain_class(int(categories[row]), tables))
    if len(fitting) > 1 and len(ids):
        numbered = ", or ".join(f"{_NUMBERED_AS[name]} ({name!r})" for name in fitting)
        raise InputError(
            f"{place.source}: category_id {ids[0]} to {ids[-1]} may number the classes {numbered}; "
            "say which by category_ids (--category-ids)"
        )
    labels = np.array([tables[fitting[0]][number] for number in ids.tolist()], np.int64)
    return labels[np.searchsorted(ids, categories)]


# --- images --------------------------------------------------------------------------------------


def _keep_one_kind(place: Place, names: NDArray[Any]) -> NDArray[Any]:
    """Return integers or strings; both together stand for images only where these are known."""
    if names.dtype.kind == "i":
        return names
    for row, name in enumerate(names.tolist()):
        if not isinstance(name, str):
            message = "image_id must be text, as in other records, without a ground truth"
            place.fail(row, f"{message}; got {show(name)}")
    return names.astype(np.str_)


def _choose_naming(
    names: Collection[Any], images: list[Any], pictures: Mapping[Any, Picture]
) -> _Images:
    """Return what the names stand for in the way of naming that has most of them."""
    ids = {image: [image] for image in images}
    if all(name in ids for name in names):
        return ids  # files of images need not be read
    files, bases, stems = (defaultdict[Any, list[Any]](list) for _ in range(3))
    for image in images:
        file = _file_name(image, pictures)
        if file is None:
            continue
        base = PurePosixPath(file).name
        # What has the name of its id and no ending of an image is a stem: a.b is no file a.
        stem = PurePosixPath(file).stem if file != image or is_image(file) else base
        files[file].append(image)
        bases[base].append(image)
        stems[stem].append(image)
        if stem.isdecimal() and stem.isascii() and len(stem) <= _MOST_DIGITS:
            stems[int(stem)].append(image)
    for name in names:
        if isinstance(name, str) and is_image(name) and name not in bases:
            bare = PurePosixPath(name).stem
            if bare in files:  # the file's ending is not known
                bases[name] = files[bare]
    return max(ids, files, bases, stems, key=lambda naming: sum(name in naming for name in names))


def _file_name(image: Any, pictures: Mapping[Any, Picture]) -> str | None:
    """Return the name of an image's file; an id that is text stands for it."""
    if image in pictures:
        return pictures[image].name
    return image if isinstance(image, str) else None


def _explain_image(name: Any, images: _Images, truth: GroundTruth) -> str:
    """Return why a name does not stand for one image."""
    if name in images:
        files = [_file_name(image, truth.pictures) for image in images[name]]
        pair = zip(images[name][:2], files, strict=False)
        both = " and ".join(f"{show(image)} ({show(file)})" for image, file in pair)
        return f"image_id must name one image of the ground truth; {show(name)} names {both}"
    known = truth.image if truth.images is None else truth.images
    few = ", ".join([*map(show, list(images)[:3]), *["…"] * (len(images) > 3)])
    return (
        f"image_id must be one of the {len(np.unique(known))} images of the ground truth, all by "
        f"id, by file name or by stem ({few}); got {show(name)}"
    )


# --- classes -------------------------------------------------------------------------------------


def _check_numbered(place: Place, categories: NDArray[np.int64], truth: GroundTruth | None) -> None:
    """Refuse numbers for classes that have names only, as those of Pascal VOC."""
    classes = None if truth is None else truth.label if truth.classes is None else truth.classes
    if classes is not None and len(classes) and classes.dtype.kind != "i" and len(categories):
        message = "category_id is a number, but the ground truth has names of classes only"
        place.fail(0, f"{message}, as {show(classes[0])}; got {categories[0]}")


def _numberings(
    classes: NDArray[Any] | None, ids: NDArray[np.int64]
) -> dict[CategoryIds, dict[int, int]]:
    """Return the class of each category in each numbering.

    Without a list of classes any of them is one.
    """
    coco = {number: label for label, number in enumerate(_COCO91)}
    if classes is None:
        classes = np.unique([ids, ids - 1])
    else:
        coco = {number: label for number, label in coco.items() if label in classes}
    known = classes[classes >= 0].tolist()
    return {
        "zero": {label: label for label in known},
        "one": {label + 1: label for label in known},
        "coco91": coco,
    }


def _explain_class(number: int, tables: Mapping[CategoryIds, Mapping[int, int]]) -> str:
    """Return which categories there are."""
    ranges = "; ".join(
        f"{min(table)} to {max(table)} {_NUMBERED_AS[name]}"
        for name, table in tables.items()
        if table
    )
    return f"category_id must be a class of the ground truth ({ranges}); got {number}"
