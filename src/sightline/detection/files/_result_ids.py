"""The images and classes that results name, as the ground truth has them.

Ultralytics' `predictions.json` calls an image by the stem of its file, as an integer where that is
all digits; recent versions also write its `file_name`. It numbers classes from 0, from 1 (since
pull request 18140 of December 2024) or, for COCO itself, as COCO's 91 categories.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from sightline.core import InputError
from sightline.core.checks import check_choice
from sightline.data.images import is_image
from sightline.detection.files._coco_pictures import CocoPictures
from sightline.detection.files._json_records import show

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

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


def match_images(
    place: Place,
    names: NDArray[Any],
    truth: GroundTruth | None,
    read_files: Callable[[], Sequence[Any]],
) -> NDArray[Any]:
    """Return the id in the ground truth of each image that results name.

    One file names all its images in one way, the first that has them all: by ids of the ground
    truth, names of files, these without folders, or stems. So 7 is never the id of one image and
    the stem of the next.

    Integers that are all ids are ambiguous only if all are stems too, each of one image, and some
    of another image than the id's. Then the `file_name` of the results decides; without it, they
    are refused.

    Parameters
    ----------
    place : Place
        Of the results, for errors.
    names : array of int64 or of objects
        Integers, or integers and strings.
    truth : GroundTruth or None
        Without it names must be all integers or all strings, and are kept.
    read_files : callable
        Returns the `file_name` of each result, None where there is none; called only if it decides.
    """
    if truth is None:
        return _keep_one_kind(place, names)
    known = np.unique(truth.image) if truth.images is None else truth.images
    if names.dtype.kind == known.dtype.kind == "i" and np.isin(names, known).all():
        rivals = _list_rivals(known[np.isin(known, names)], known, truth.pictures)
        if not rivals or not _are_stems(place, names, rivals, read_files(), truth.pictures):
            return names
        return np.array([rivals.get(name, name) for name in names.tolist()], known.dtype)
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
) -> NDArray[Any]:
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
    classes = np.array(sorted(truth.class_places)) if truth.class_places else truth.classes
    ids = np.unique(categories)
    table = _choose_numbering(place, categories, ids, classes, category_ids)
    labels = np.array([table[number] for number in ids.tolist()], np.int64)
    if truth.class_places:
        labels = np.array([truth.class_places[label] for label in labels.tolist()], np.str_)
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


def _list_rivals(
    used: NDArray[np.int64], known: NDArray[np.int64], pictures: Mapping[Any, Picture]
) -> dict[int, int]:
    """Return the image that each id means as a stem, where another; none if not all are stems."""
    numbers = _number_stems(known, pictures)
    if np.array_equal(numbers[np.searchsorted(known, used)], used):
        return {}  # as in COCO itself
    stems, first, counts = np.unique(numbers, return_index=True, return_counts=True)
    if not np.isin(used, stems[(counts == 1) & (stems >= 0)]).all():
        return {}
    others = known[first[np.searchsorted(stems, used)]]
    differ = others != used
    return dict(zip(used[differ].tolist(), others[differ].tolist(), strict=True))


def _number_stems(known: NDArray[np.int64], pictures: Mapping[Any, Picture]) -> NDArray[np.int64]:
    """Return the integers that the stems of images' files are, negative where they are none."""
    stems = pictures.stems if isinstance(pictures, CocoPictures) else None
    if stems is None or not np.isin(known, stems[0]).all():
        files = [_file_name(image, pictures) for image in known.tolist()]
        return np.array([_number_stem(file or "") for file in files], np.int64)
    order = np.argsort(stems[0])
    return stems[1][order[np.searchsorted(stems[0], known, sorter=order)]]


def _number_stem(file: str) -> int:
    """Return the integer that the stem of a file is, -1 where it is none of 64 bits."""
    base = file.rpartition("/")[2]
    number = _read_number(base.rpartition(".")[0] or base)
    return -1 if number is None or number >= 1 << 63 else number


def _are_stems(
    place: Place,
    names: NDArray[np.int64],
    rivals: Mapping[int, int],
    files: Sequence[Any],
    pictures: Mapping[Any, Picture],
) -> bool:
    """Return whether integers are stems by the `file_name` beside them, all in the same way."""
    rows: dict[tuple[int, str | None], int] = {}
    for row in np.flatnonzero(np.isin(names, list(rivals))).tolist():
        file = files[row] if isinstance(files[row], str) else None
        rows.setdefault((names[row].item(), file), row)
    votes: set[int | None] = set()
    for (name, file), row in rows.items():
        both = [_file_name(image, pictures) for image in (name, rivals[name])]
        stems = [None if known is None else PurePosixPath(known).stem for known in both]
        stem = None if file is None else PurePosixPath(file).stem
        votes.add(stems.index(stem) if stem is not None and stem in stems else None)
        if votes not in ({0}, {1}):
            seen = "" if file is None else f"; got file_name {show(file)}"
            place.fail(
                row,
                f"image_id {name} may be the id of image {name} ({show(both[0])}) or the stem of "
                f"image {rivals[name]} ({show(both[1])}); write the file_name of its image into "
                f"each record, or into image_id itself{seen}",
            )
    return votes == {1}


def _read_number(stem: str) -> int | None:
    """Return the value of digits."""
    plain = stem.isdecimal() and stem.isascii() and len(stem) <= _MOST_DIGITS
    return int(stem) if plain else None


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
        if (number := _read_number(stem)) is not None:
            stems[number].append(image)
    for name in names:
        if isinstance(name, str) and is_image(name) and name not in bases:
            bare = PurePosixPath(name).stem
            if bare in files:  # the file's ending is not known
                bases[name] = files[bare]
    return max(ids, files, bases, stems, key=lambda naming: sum(name in naming for name in names))


def _file_name(image: Any, pictures: Mapping[Any, Picture]) -> str | None:
    """Return the name of an image's file; an id that is text stands for it."""
    if image in pictures:
        return pictures[image].file or pictures[image].name
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
        instead = "as ground truth take the path of COCO's or YOLO's files, which number classes"
        place.fail(0, f"{message}, as {show(classes[0])}; got {categories[0]}; {instead}")


def _choose_numbering(
    place: Place,
    categories: NDArray[np.int64],
    ids: NDArray[np.int64],
    classes: NDArray[Any] | None,
    category_ids: CategoryIds | None,
) -> dict[int, int]:
    """Return the class of each category in the only numbering that fits all; `ids` are theirs."""
    tables = _numberings(classes, ids)
    if category_ids is not None:
        tables = {category_ids: tables[category_ids]}
    elif classes is not None and set(classes.tolist()) != set(range(len(_COCO91))):
        del tables["coco91"]  # only COCO's own 80 classes are numbered so
    fitting = [name for name, table in tables.items() if table.keys() >= set(ids.tolist())]
    if not fitting:
        best = max(tables.values(), key=lambda table: sum(number in table for number in ids))
        row = int(np.argmax(~np.isin(categories, list(best))))
        place.fail(row, _explain_class(int(categories[row]), tables))
    if len(fitting) > 1 and len(ids):
        numbered = ", or ".join(f"{_NUMBERED_AS[name]} ({name!r})" for name in fitting)
        raise InputError(
            f"{place.source}: category_id {ids[0]} to {ids[-1]} may number the classes {numbered}; "
            "say which by category_ids (--category-ids)"
        )
    return tables[fitting[0]]


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
