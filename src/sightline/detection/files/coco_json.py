"""COCO's JSON files: ground truths (images, categories, annotations) and results of a detector.

Files as they are usually written are read in one fast pass over their bytes; any other, and every
file whose masks are asked for, by Python's own reader. What comes out is the same. Errors name the
file, the record (counted from 0), the field, what it must be and what it is.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from stat import S_ISCHR
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.data.formats.checks import has_half
from sightline.detection.columns import Detections, GroundTruth, box_areas
from sightline.detection.files import _json_columns as fast
from sightline.detection.files import _json_scan as scan
from sightline.detection.files._coco_pictures import CocoPictures
from sightline.detection.files._json_records import (
    Place,
    list_of_records,
    read_columns,
    read_image_ids,
    show,
)
from sightline.detection.files._result_ids import match_classes, match_images
from sightline.detection.masks import mask_areas, mask_boxes, read_mask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sightline.detection.columns import Rle
    from sightline.detection.files._result_ids import CategoryIds
    from sightline.detection.masks import Size

__all__ = [
    "coco_detections",
    "coco_ground_truth",
    "read_coco_detections",
    "read_coco_ground_truth",
]

_LISTS = ("images", "annotations", "categories")
_EXPECTED = "lists of images, annotations and categories"


def read_coco_ground_truth(path: str | os.PathLike[str], *, masks: bool = False) -> GroundTruth:
    """Read the ground truths of a COCO file.

    Parameters
    ----------
    path : path
        The .json file, an object with images, annotations and categories.
    masks : bool
        Whether to read the masks too: polygons or run lengths; then these overlap, not the boxes.

    Returns
    -------
    GroundTruth
        With all images and classes that the file lists. An annotation without `area` has that of
        its mask, where it is read, else of its box; one without `iscrowd` is not a crowd.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> content = {
    ...     "images": [{"id": 7, "width": 640, "height": 480}],
    ...     "categories": [{"id": 1, "name": "cat"}],
    ...     "annotations": [{"id": 0, "image_id": 7, "category_id": 1, "bbox": [0, 0, 4, 5]}],
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "truth.json")
    ...     _ = path.write_text(json.dumps(content))
    ...     truth = read_coco_ground_truth(path)
    >>> len(truth), dict(truth.names), truth.area.tolist()
    (1, {1: 'cat'}, [20.0])
    """
    source, text = str(path), _read(path)
    found = None if masks else fast.scan_ground_truth(text)
    if found is None:
        return coco_ground_truth(_parsed(text, source), masks=masks, source=source)
    truth = _ground_truth(
        source, found.annotations, found.images, _names(source, found.categories), None
    )
    sure = (found.stems != scan.UNSURE_STEM).all()
    stems = (found.images, found.stems - 1) if sure else None
    return replace(truth, pictures=CocoPictures(found.pictures, stems))


def read_coco_detections(
    path: str | os.PathLike[str],
    truth: GroundTruth | None = None,
    *,
    masks: bool = False,
    category_ids: CategoryIds | None = None,
) -> Detections:
    """Read the results of a detector from a COCO results file.

    Parameters
    ----------
    path : path
        The .json file, a list of objects with image_id, category_id, score and bbox or
        segmentation.
    truth : GroundTruth, optional
        Then every image must be one of its images: by id or, all of them, by the name or the stem
        of its file (7 is also the stem of 007.jpg). Classes need not be, except those of YOLO.
    masks : bool
        Whether to read the masks too, which must be run lengths.
    category_ids : {"zero", "one", "coco91"}, optional
        How the results number the classes of YOLO's labels: as these, from 1, or as COCO's 91
        categories. Without it the only numbering that fits all results is taken.

    Returns
    -------
    Detections
        The areas are those that pycocotools takes: of the boxes if the first record has one, else
        of the masks, which then also make the boxes that are missing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "found.json")
    ...     _ = path.write_text(
    ...         '[{"image_id": 7, "category_id": 1, "bbox": [0, 0, 4, 5], "score": 0.9}]'
    ...     )
    ...     found = read_coco_detections(path)
    >>> found.image.tolist(), found.score.tolist()
    ([7], [0.9])
    """
    source, text = str(path), _read(path)
    columns = None if masks else fast.scan_detections(text)
    if columns is None:
        return coco_detections(
            _parsed(text, source), truth, masks=masks, category_ids=category_ids, source=source
        )
    place, ints = Place(source), columns.ints
    image = match_images(place, ints["image_id"], truth, partial(_file_names, text, source))
    del text
    label = match_classes(place, ints["category_id"], truth, category_ids)
    return _detections(place, (image, label), columns.numbers)


def coco_ground_truth(
    content: Any, *, masks: bool = False, source: str = "ground truth"
) -> GroundTruth:
    """Return the ground truths of a COCO file that is parsed already.

    Parameters
    ----------
    content : dict
        With lists of images, annotations and categories.
    masks : bool
        As in `read_coco_ground_truth`.
    source : str
        What errors call it.

    Examples
    --------
    >>> coco_ground_truth({
    ...     "images": [{"id": 7}],
    ...     "categories": [{"id": 1, "name": "cat"}],
    ...     "annotations": [{"id": 3, "image_id": 8, "category_id": 1, "bbox": [0, 0, 4, 5]}],
    ... })
    Traceback (most recent call last):
    sightline.core.errors.InputError: ground truth: annotations[0] (id 3): image_id must be the
    id of one of the 1 images; got 8
    """
    images, records, categories = _lists(content, source)
    names = _names(source, categories)
    known = read_columns(Place(source, "images"), images, fast.IMAGES.fields).ints["id"]
    place = Place(source, "annotations")
    columns = read_columns(place, records, _boxes_optional(fast.ANNOTATIONS.fields))
    without = np.isnan(columns.numbers["bbox"][:, 0])
    wanted = np.ones(len(records), np.bool_) if masks else without
    runs = _truth_masks(place, records, wanted, _Sizes(source, images))
    if without.any():
        columns.numbers["bbox"][without] = mask_boxes(
            [run for run, asked in zip(runs, without[wanted], strict=True) if asked]
        )
    truth = _ground_truth(source, columns, known, names, runs if masks else None)
    return replace(truth, pictures=CocoPictures(images))


def coco_detections(
    content: Any,
    truth: GroundTruth | None = None,
    *,
    masks: bool = False,
    category_ids: CategoryIds | None = None,
    source: str = "detections",
) -> Detections:
    """Return the detections of a COCO results file that is parsed already.

    Parameters
    ----------
    content : list of dict
        With image_id, category_id, score and bbox or segmentation.
    truth, masks, category_ids
        As in `read_coco_detections`.
    source : str
        What errors call it.

    Examples
    --------
    >>> coco_detections([{"image_id": 7, "category_id": 1, "bbox": [0, 0, 4, 5], "score": "x"}])
    Traceback (most recent call last):
    sightline.core.errors.InputError: detections: record 0: score must be a finite number; got
    'x'
    """
    place = Place(source)
    if isinstance(content, dict):
        swapped = "; it looks like ground truth" if "annotations" in content else ""
        raise InputError(f"{source}: must be a list of detections; got an object{swapped}")
    records = list_of_records(place, content)
    fields = _boxes_optional(fast.DETECTIONS.fields)
    columns = read_columns(place, records, [one for one in fields if one.name != "image_id"])
    names = read_image_ids(place, records)
    image = match_images(place, names, truth, partial(_file_names, records, source))
    ids = image, match_classes(place, columns.ints["category_id"], truth, category_ids)
    without = np.isnan(columns.numbers["bbox"][:, 0])
    by_box = not len(records) or not without[0]
    if by_box and without.any():
        place.fail(int(np.argmax(without)), "bbox is missing, which the first record has")
    runs = None if by_box and not masks else _found_masks(place, records)
    if by_box or runs is None:
        return _detections(place, ids, columns.numbers, runs if masks else None)
    columns.numbers["bbox"][without] = mask_boxes(runs)[without]
    return _detections(place, ids, columns.numbers, runs if masks else None, mask_areas(runs))


# --- files ---------------------------------------------------------------------------------------


def _read(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Return the bytes of a file, and a zero after them."""
    try:
        with Path(os.fsdecode(path)).open("rb") as stream:
            about = os.fstat(stream.fileno())
            if S_ISCHR(about.st_mode):  # /dev/zero has no end
                raise InputError(f"{path}: must be a .json file; it is a device")
            text = np.empty(about.st_size + 1, np.uint8)
            read = stream.readinto(text[:-1].data)
            rest = stream.read()  # pipes do not tell how much there is
    except MemoryError:
        raise InputError(f"{path}: is larger than the memory that is left") from None
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"path {path!r} is not the name of a file: {error}") from None
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: must be a .json file; it is a folder") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    if rest:
        text = np.frombuffer(text[:read].tobytes() + rest + b"\0", np.uint8).copy()
    else:
        text = text[: read + 1]
        text[-1] = 0
    if len(text) == 1:
        raise InputError(f"{path}: must be JSON; the file is empty")
    return text


def _parsed(text: NDArray[np.uint8], source: str) -> Any:
    """Parse the bytes of a file, the zero after them left out."""
    try:
        return json.loads(text[:-1].tobytes())
    except RecursionError:
        raise InputError(f"{source}: must be JSON; it is nested too deep") from None
    except ValueError as error:
        raise InputError(f"{source}: must be JSON; {error}") from None


def _lists(content: Any, source: str) -> list[list[dict[str, Any]]]:
    """Return the three lists of a ground truth."""
    if isinstance(content, (list, tuple)):
        swapped = "; it looks like detections" if content else ""
        raise InputError(f"{source}: must be an object with {_EXPECTED}; got a list{swapped}")
    if not isinstance(content, dict):
        raise InputError(f"{source}: must be an object with {_EXPECTED}; got {show(content)}")
    for name in _LISTS:
        if name not in content:
            raise InputError(f"{source}: {name} is missing; expected {_EXPECTED}")
    return [list_of_records(Place(source, name), content[name]) for name in _LISTS]


# --- fields --------------------------------------------------------------------------------------


def _boxes_optional(fields: Sequence[fast.Field]) -> list[fast.Field]:
    """Let masks stand for boxes."""
    return [replace(field, needed=field.needed and field.name != "bbox") for field in fields]


def _names(source: str, categories: Any) -> dict[int, str | None]:
    """Return what each class is called, None where that is not said."""
    place = Place(source, "categories")
    records = list_of_records(place, categories)
    ids = read_columns(place, records, fast.IMAGES.fields).ints["id"]
    place.refuse(_again(ids), "id must be different from those before", ids)
    names = [record.get("name") for record in records]
    for row, name in enumerate(names):
        if name is not None and not isinstance(name, str):
            place.fail(row, f"name must be text; got {show(name)}", ids[row].item())
        if name is not None and has_half(name):
            place.fail(row, "name must be text; got half of a character", ids[row].item())
    return dict(zip(ids.tolist(), names, strict=True))


def _file_names(results: NDArray[np.uint8] | list[dict[str, Any]], source: str) -> list[Any]:
    """Return the `file_name` of results, of records or of bytes, None where there is none."""
    records = results if isinstance(results, list) else _parsed(results, source)
    return [record.get("file_name") for record in records]


class _Sizes:
    """Height and width of images, by id."""

    def __init__(self, source: str, images: Sequence[dict[str, Any]]) -> None:
        self.place = Place(source, "images")
        self.images = images
        self.rows = {record["id"]: row for row, record in enumerate(images)}

    def of(self, image: int) -> Size | None:
        """Return the size of an image, None of one that is not listed."""
        row = self.rows.get(image)
        if row is None:
            return None
        sides = [self.images[row].get(name) for name in ("height", "width")]
        for name, side in zip(("height", "width"), sides, strict=True):
            if not isinstance(side, int) or isinstance(side, bool) or side < 1:
                message = f"{name} must be a number of pixels, which polygons need"
                self.place.fail(row, f"{message}; got {show(side)}", image)
        return sides[0], sides[1]  # type: ignore[return-value]


def _truth_masks(
    place: Place, records: Sequence[dict[str, Any]], wanted: NDArray[np.bool_], sizes: _Sizes
) -> list[Rle]:
    """Return the run lengths of the annotations that are wanted."""
    runs = []
    for row in np.flatnonzero(wanted).tolist():
        record = records[row]
        found = record.get("segmentation")
        polygons = isinstance(found, (list, tuple))
        size = sizes.of(record["image_id"]) if polygons else None
        if polygons and size is None:
            message = f"image_id must be the id of one of the {len(sizes.rows)} images"
            place.fail(row, f"{message}; got {show(record['image_id'])}", record["id"])
        runs.append(_mask(place, row, record, size))
    return runs


def _found_masks(place: Place, records: Sequence[dict[str, Any]]) -> list[Rle]:
    """Return the run lengths of detections."""
    return [_mask(place, row, record, None) for row, record in enumerate(records)]


def _mask(place: Place, row: int, record: dict[str, Any], size: Size | None) -> Rle:
    """Return the run lengths of one record."""
    number, found = record.get("id"), record.get("segmentation")
    if found is None:
        missing = "segmentation is" if record.get("bbox") else "bbox and segmentation are"
        place.fail(row, f"{missing} missing", number)
    try:
        return read_mask(found, size)
    except InputError as error:
        place.fail(row, f"segmentation {error}", number)


def _again(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where a value is that was there before."""
    again = np.ones(len(values), np.bool_)
    again[np.unique(values, return_index=True)[1]] = False
    return again


# --- columns -------------------------------------------------------------------------------------


def _ground_truth(
    source: str,
    columns: fast.Columns,
    images: NDArray[np.int64],
    names: dict[int, str | None],
    masks: list[Rle] | None,
) -> GroundTruth:
    """Check what the records say and put it together."""
    of_images = Place(source, "images")
    of_images.refuse(_again(images), "id must be different from those before", images)
    place, ints, numbers = Place(source, "annotations"), columns.ints, columns.numbers
    ids = ints["id"]
    _refuse_again(place, ids)
    for field, known in (("image_id", images), ("category_id", np.array(list(names), np.int64))):
        what = "images" if field == "image_id" else "categories"
        message = f"{field} must be the id of one of the {len(known)} {what}"
        place.refuse(~np.isin(ints[field], known), message, ints[field], ids)
    _check_boxes(place, numbers["bbox"], ids)
    area, crowd = numbers["area"], ints["iscrowd"]
    place.refuse(np.isinf(area) | (area < 0), "area must be finite and at least 0", area, ids)
    place.refuse((crowd != 0) & (crowd != 1), "iscrowd must be 0 or 1", crowd, ids)
    if np.isnan(area).any():
        instead = box_areas(numbers["bbox"])
        area = np.where(np.isnan(area), instead if masks is None else mask_areas(masks), area)
    return GroundTruth.from_arrays(
        ints["image_id"], ints["category_id"], numbers["bbox"], area=area, crowd=crowd, ids=ids,
        masks=masks, images=images, classes=np.array(list(names), np.int64),
        names={number: name for number, name in names.items() if name is not None},
    )  # fmt: skip


def _detections(
    place: Place,
    ids: tuple[NDArray[Any], NDArray[Any]],
    numbers: dict[str, NDArray[np.float64]],
    masks: list[Rle] | None = None,
    area: NDArray[np.float64] | None = None,
) -> Detections:
    """Check boxes and scores and put them together with images and classes."""
    box, score = numbers["bbox"], numbers["score"]
    _check_boxes(place, box, None)
    place.refuse(~np.isfinite(score), "score must be a finite number", score)
    area = box_areas(box) if area is None else area
    return Detections.from_arrays(*ids, box, score, area=area, masks=masks)


def _check_boxes(place: Place, box: NDArray[np.float64], ids: NDArray[Any] | None) -> None:
    place.refuse(~np.isfinite(box).all(axis=1), "bbox must be 4 finite numbers", box, ids)
    message = "bbox must have a width and a height of at least 0"
    place.refuse((box[:, 2:] < 0).any(axis=1), message, box, ids)


def _refuse_again(place: Place, ids: NDArray[np.int64]) -> None:
    """Refuse an annotation whose id another has, and name both."""
    again = _again(ids)
    if again.any():
        row = int(np.argmax(again))
        first = int(np.argmax(ids == ids[row]))
        message = f"id must be different from all others; annotations[{first}] has it too"
        place.fail(row, message, ids[row].item())
