"""Ground truth and detections in all their forms, as columns.

The forms: columns; paths of COCO JSON, Pascal VOC or YOLO files; parsed COCO JSON; a data set of
`load_dataset`; one list an image, or a mapping from image id to lists; dicts of tensors, one an
image, in a list or a mapping from image id.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from sightline.core import InputError
from sightline.detection._entries import check_form, image_ids
from sightline.detection._lists import list_detections, list_ground_truth
from sightline.detection.columns import Detections, GroundTruth, same_kind
from sightline.detection.dicts import dict_detections, dict_ground_truth, own_image_ids

if TYPE_CHECKING:
    from sightline.detection._entries import BoxForm
    from sightline.detection.files._result_ids import CategoryIds
    from sightline.detection.files.yolo import ImageSizes

__all__ = ["as_detections", "as_ground_truth", "as_tables", "has_image_ids"]

_Path: TypeAlias = "str | os.PathLike[str]"
_FORMS = (
    "columns, a path, parsed COCO JSON, a data set, one list an image, a mapping by image id, "
    "or dicts of tensors"
)


class _Entries(NamedTuple):
    """One thing an image: a list of boxes, or a dict; `ids` where they have them."""

    items: list[Any]
    ids: list[Any] | None
    dicts: bool


def as_ground_truth(
    given: Any,
    *,
    images: Iterable[Any] | None = None,
    box_format: BoxForm = "xyxy",
    masks: bool = False,
    split: str | None = None,
    image_sizes: ImageSizes | None = None,
) -> GroundTruth:
    """Return what is there as columns.

    Parameters
    ----------
    given
        `GroundTruth` (taken as it is); the path of a COCO JSON file, a folder of Pascal VOC, a
        folder or .yaml file of YOLO; parsed COCO JSON; a data set of `load_dataset`; one list of
        ``[box, class]`` or ``[box, class, difficult]`` an image, or a mapping from image id to
        such lists; dicts of tensors as torchvision's targets, in a list or a mapping.
    images : iterable, optional
        The ids of images that stand in a list; without them, they count from 0.
    box_format : {"xyxy", "xywh", "cxcywh"}
        How boxes in lists and dicts are written, in pixels: two corners; a corner, width and
        height; or a centre, width and height.
    masks : bool
        Read masks too, from forms that have them.
    split : str, optional
        The split of Pascal VOC or YOLO files to read.
    image_sizes : mapping of str to (int, int), or (int, int), optional
        Width and height of the images of YOLO files, where those are not there.

    Returns
    -------
    GroundTruth

    Raises
    ------
    InputError
        If something does not fit; the message names the file or image, the record and the field.

    Examples
    --------
    >>> truth = as_ground_truth({"a": [[(0, 0, 4, 5), "cat"]], "b": []})
    >>> truth.images.tolist(), truth.box.tolist()
    (['a', 'b'], [[0.0, 0.0, 4.0, 5.0]])
    """
    check_form(box_format)
    if isinstance(given, GroundTruth):
        return given
    if isinstance(given, Detections):
        raise InputError("ground truth: must not be Detections; are both sides swapped?")
    if isinstance(given, str | os.PathLike):
        return _truth_of_files(given, masks, split, image_sizes)
    if isinstance(given, Mapping) and "annotations" in given:
        from sightline.detection.files.coco_json import coco_ground_truth

        return coco_ground_truth(given, masks=masks)
    if _is_dataset(given):
        from sightline.detection._regions import region_ground_truth

        return region_ground_truth(given, masks=masks)
    what = "ground truth"
    entries = _entries(given, what)
    if isinstance(entries, list):
        raise InputError(f"{what}: must not be COCO results; are both sides swapped?")
    ids = _ids(entries, images, what)
    if entries.dicts:
        return dict_ground_truth(entries.items, ids, box_format=box_format, masks=masks)
    return list_ground_truth(entries.items, ids, box_format=box_format)


def as_detections(
    given: Any,
    truth: GroundTruth | None = None,
    *,
    images: Iterable[Any] | None = None,
    box_format: BoxForm = "xyxy",
    masks: bool = False,
    image_sizes: ImageSizes | None = None,
    category_ids: CategoryIds | None = None,
) -> Detections:
    """Return what was found as columns.

    Parameters
    ----------
    given
        `Detections` (taken as they are); the path of a COCO results file, of Pascal VOC's result
        files or of a folder of YOLO text files; parsed COCO results; a data set whose regions have
        scores; one list of ``[box, score, class]`` an image, or a mapping from image id to such
        lists; dicts of tensors as torchvision's detectors and transformers'
        `post_process_object_detection` return them, in a list or a mapping.
    truth : GroundTruth, optional
        What is there; where it lists its images, a detection in another one is an error. COCO
        results may also name images by their files, as Ultralytics' predictions.json does.
    images, box_format, masks, image_sizes
        As in `as_ground_truth`. Where ground truth and detections are both lists, `as_tables`
        keeps their images together.
    category_ids : {"zero", "one", "coco91"}, optional
        How COCO results number the classes of YOLO's labels, where several numberings fit them.

    Examples
    --------
    >>> found = as_detections([{"boxes": [[0, 0, 4, 5]], "labels": [3], "scores": [0.5]}])
    >>> found.image.tolist(), found.label.tolist(), found.score.tolist()
    ([0], [3], [0.5])
    """
    check_form(box_format)
    what = "detections"
    if isinstance(given, GroundTruth) or (isinstance(given, Mapping) and "annotations" in given):
        raise InputError(f"{what}: must not be ground truth; are both sides swapped?")
    if isinstance(given, Detections):
        found = given
    elif isinstance(given, str | os.PathLike):
        found = _detections_of_files(given, truth, masks, image_sizes, category_ids)
    elif _is_dataset(given):
        from sightline.detection._regions import region_detections

        found = region_detections(given, masks=masks)
    else:
        found = _detections_of_entries(given, truth, images, box_format, masks, category_ids)
    if truth is not None:
        _check_known(found, truth)
    return found


def as_tables(
    ground_truth: Any,
    detections: Any,
    *,
    images: Iterable[Any] | None = None,
    box_format: BoxForm = "xyxy",
    masks: bool = False,
    split: str | None = None,
    image_sizes: ImageSizes | None = None,
    category_ids: CategoryIds | None = None,
) -> tuple[GroundTruth, Detections]:
    """Return both sides as columns whose images belong together.

    Detections in a list without image ids are of the images of the ground truth, in its order; of
    YOLO files, the images of the ground truth tell how large they are.

    Parameters
    ----------
    ground_truth, detections, images, box_format, masks, split, image_sizes, category_ids
        As in `as_ground_truth` and `as_detections`.

    Examples
    --------
    >>> target = {"boxes": [[0, 0, 4, 5]], "labels": [3], "image_id": 17}
    >>> found = {"boxes": [[0, 0, 4, 4]], "labels": [3], "scores": [0.5]}
    >>> as_tables([target], [found])[1].image.tolist()
    [17]
    """
    order = None if images is None else image_ids(images, "images")
    if image_sizes is None and _is_yolo(ground_truth) and _is_yolo(detections):
        from sightline.detection.files.yolo import yolo_image_sizes

        image_sizes = yolo_image_sizes(ground_truth, split=split) or None
    if _is_listed(ground_truth):
        ground_truth = list(ground_truth)
        entries = _entries(ground_truth, "ground truth")
        if isinstance(entries, _Entries):
            order = _ids(entries, order, "ground truth")
    truth = as_ground_truth(
        ground_truth,
        images=order,
        box_format=box_format,
        masks=masks,
        split=split,
        image_sizes=image_sizes,
    )
    found = as_detections(
        detections,
        truth,
        images=order,
        box_format=box_format,
        masks=masks,
        image_sizes=image_sizes,
        category_ids=category_ids,
    )
    return truth, found


def has_image_ids(given: Any) -> bool:
    """Say whether images are named: only those of plain lists are not.

    >>> has_image_ids([[[(0, 0, 4, 5), "cat"]]]), has_image_ids({"a": []})
    (False, True)
    """
    if not _is_listed(given):
        return True
    entries = _entries(given, "given")
    return isinstance(entries, list) or entries.ids is not None


def _is_listed(given: Any) -> bool:
    """Say whether it is one thing after another, of which only places are known."""
    named = isinstance(given, str | os.PathLike | Mapping) or _is_dataset(given)
    return isinstance(given, Iterable) and not named


def _is_dataset(given: Any) -> bool:
    if isinstance(given, Mapping | list | tuple):
        return False
    from sightline.data.dataset import Dataset

    return isinstance(given, Dataset)


def _format(path: _Path) -> str:
    """Say what the files at a path are; the readers of folders are not loaded for JSON."""
    if os.fspath(path).lower().endswith(".json"):
        return "coco"
    from sightline.detection.files.detect import find_format

    return find_format(path)


def _is_yolo(given: Any) -> bool:
    return isinstance(given, str | os.PathLike) and _format(given) == "yolo"


def _entries(given: Any, what: str) -> _Entries | list[Any]:
    """Return one thing an image, or COCO results as they are."""
    if isinstance(given, Mapping):
        if {"boxes", "labels"} & set(given):
            raise InputError(f"{what}: must be a list of dicts, one an image; got a single dict")
        items = list(given.values())
        ids = list(given)
    elif isinstance(given, Iterable) and not hasattr(given, "dtype"):
        items, ids = list(given), None
    else:
        raise InputError(f"{what}: must be {_FORMS}; got {type(given).__name__}")
    dicts = [isinstance(item, Mapping) for item in items]
    if not any(dicts):
        return _Entries(items, ids, False)
    if not all(dicts):
        place = dicts.index(not dicts[0])
        raise InputError(
            f"{what}: must be a dict for every image, or for none; number {place} is "
            f"{type(items[place]).__name__}"
        )
    if ids is None and "category_id" in items[0]:
        return items
    return _Entries(items, own_image_ids(items, what) if ids is None else ids, True)


def _ids(entries: _Entries, images: Iterable[Any] | None, what: str) -> list[Any]:
    """Return the ids of images: their own, those given, or their places."""
    own = None if entries.ids is None else image_ids(entries.ids, what)
    if images is None:
        return list(range(len(entries.items))) if own is None else own
    named = image_ids(images, what)
    if len(named) != len(entries.items):
        raise InputError(
            f"{what}: must have one entry for each of {len(named)} images; got {len(entries.items)}"
        )
    if own is not None and own != named:
        place = next(n for n, pair in enumerate(zip(own, named, strict=True)) if len(set(pair)) > 1)
        raise InputError(
            f"{what}: image {place} must be {named[place]!r}, as images says; got {own[place]!r}"
        )
    return named


def _truth_of_files(
    path: _Path, masks: bool, split: str | None, image_sizes: ImageSizes | None
) -> GroundTruth:
    kind = _format(path)
    if kind == "coco":
        from sightline.detection.files.coco_json import read_coco_ground_truth

        if split is not None:
            raise InputError(f"{path}: split is of Pascal VOC and YOLO files; got {split!r}")
        return read_coco_ground_truth(path, masks=masks)
    if kind == "voc":
        from sightline.detection.files.voc import read_voc_ground_truth

        return read_voc_ground_truth(path, split=split)
    from sightline.detection.files.yolo import read_yolo_ground_truth

    return read_yolo_ground_truth(path, split=split, image_sizes=image_sizes, masks=masks)


def _detections_of_files(
    path: _Path,
    truth: GroundTruth | None,
    masks: bool,
    image_sizes: ImageSizes | None,
    category_ids: CategoryIds | None,
) -> Detections:
    kind = _format(path)
    if kind == "coco":
        from sightline.detection.files.coco_json import read_coco_detections

        return read_coco_detections(path, truth, masks=masks, category_ids=category_ids)
    if category_ids is not None:
        raise InputError(f"{path}: category_ids is for COCO results; got {category_ids!r}")
    if kind == "voc":
        from sightline.detection.files.voc import read_voc_detections

        return read_voc_detections(path, truth)
    from sightline.detection.files.yolo import read_yolo_detections

    return read_yolo_detections(path, truth, image_sizes=image_sizes, masks=masks)


def _detections_of_entries(
    given: Any,
    truth: GroundTruth | None,
    images: Iterable[Any] | None,
    box_format: BoxForm,
    masks: bool,
    category_ids: CategoryIds | None,
) -> Detections:
    """Read lists, mappings, dicts of tensors and COCO results."""
    what = "detections"
    entries = _entries(given, what)
    if isinstance(entries, list):
        from sightline.detection.files.coco_json import coco_detections

        return coco_detections(entries, truth, masks=masks, category_ids=category_ids)
    if entries.ids is None and images is None and truth is not None:
        _check_places(len(entries.items), truth)
    # Those with names of their own may come in any order.
    ids = _ids(entries, images if entries.ids is None else None, what)
    if entries.dicts:
        return dict_detections(entries.items, ids, box_format=box_format, masks=masks)
    return list_detections(entries.items, ids, box_format=box_format)


def _check_places(count: int, truth: GroundTruth) -> None:
    """Refuse a list where places do not say which images are meant."""
    if count and not np.array_equal([] if truth.images is None else truth.images, range(count)):
        raise InputError(
            f"detections: a list of {count} needs the ids of its images (images=, image_id or a "
            "mapping), since those of the ground truth are not 0, 1, 2, …, one for each"
        )


def _check_known(found: Detections, truth: GroundTruth) -> None:
    """Refuse a detection in an image that the ground truth does not have."""
    if truth.images is None or not len(found):
        return
    same_kind(truth.images, found.image, "image")
    unknown = ~np.isin(found.image, truth.images)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise InputError(
            f"detections: row {row}: image must be one of the {len(truth.images)} of the ground "
            f"truth (give it there, without boxes, if nothing is in it); "
            f"got {found.image[row].item()!r}"
        )
