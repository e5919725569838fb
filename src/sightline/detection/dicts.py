"""Dicts of tensors, one an image, as torchvision and transformers give and take them.

A target has `boxes`, `labels` and perhaps `image_id`, `area`, `iscrowd` and `masks`; a prediction
has `boxes`, `labels`, `scores` and perhaps `masks` and `image_id`. Values are tensors on any
device, arrays, or lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import is_torch, shape_of, to_numpy
from sightline.detection._entries import Rows, check_form, image_ids, one_id, to_xywh
from sightline.detection._lists import checked_boxes
from sightline.detection.columns import Detections, GroundTruth
from sightline.detection.masks import mask_boxes, read_mask

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from sightline.detection._entries import BoxForm
    from sightline.detection.columns import Rle

__all__ = ["dict_detections", "dict_ground_truth", "own_image_ids"]

_MASK_AT = 0.5


def dict_ground_truth(
    targets: Sequence[Mapping[str, Any]],
    images: Iterable[Any] | None = None,
    *,
    box_format: BoxForm = "xyxy",
    masks: bool = False,
) -> GroundTruth:
    """Read targets as torchvision's detectors are trained with.

    Parameters
    ----------
    targets : sequence of dict
        Each has `boxes` (N, 4), `labels` (N,) and perhaps `area` (N,), `iscrowd` (N,), `image_id`,
        `masks` (N, H, W) or run lengths.
    images : iterable, optional
        The id of each image, where they have no `image_id`; else images count from 0.
    box_format : {"xyxy", "xywh", "cxcywh"}
        How boxes are written, in pixels, unless they say so themselves as torchvision's
        `BoundingBoxes` do.
    masks : bool
        Read the masks too. Then `boxes` may be missing.

    Raises
    ------
    InputError
        If an entry does not fit; the message names the image, the entry and the field.

    Examples
    --------
    >>> target = {"boxes": np.array([[0, 0, 4, 5]]), "labels": np.array([1]), "image_id": 7}
    >>> truth = dict_ground_truth([target])
    >>> truth.image.tolist(), truth.box.tolist()
    ([7], [[0.0, 0.0, 4.0, 5.0]])
    """
    read = _Reader("ground truth", targets, images, box_format, masks)
    return GroundTruth.from_arrays(
        read.rows.image_column(),
        read.labels(),
        read.box,
        area=read.optional("area"),
        crowd=read.optional("iscrowd"),
        masks=read.masks,
        images=read.rows.ids,
    )


def dict_detections(
    predictions: Sequence[Mapping[str, Any]],
    images: Iterable[Any] | None = None,
    *,
    box_format: BoxForm = "xyxy",
    masks: bool = False,
) -> Detections:
    """Read what torchvision's detectors, or transformers' post-processing, return.

    Parameters
    ----------
    predictions : sequence of dict
        Each has `boxes` (N, 4), `labels` (N,), `scores` (N,) and perhaps `image_id`, `masks`
        (N, 1, H, W) with probabilities, set from 0.5 on, or run lengths.
    images, box_format, masks
        As in `dict_ground_truth`.

    Examples
    --------
    >>> found = {"boxes": [[0, 0, 4, 5]], "labels": [1], "scores": [0.5]}
    >>> dict_detections([found], images=["a"]).image.tolist()
    ['a']
    >>> dict_detections([{"boxes": [[0, 0, 4, 5]], "labels": [1]}])
    Traceback (most recent call last):
    sightline.core.errors.InputError: detections: image 0: scores must be there; its keys are
    boxes, labels
    """
    read = _Reader("detections", predictions, images, box_format, masks)
    score = read.numbers("scores")
    read.rows.refuse(~np.isfinite(score), "scores", "must be finite", score)
    return Detections.from_arrays(
        read.rows.image_column(), read.labels(), read.box, score, masks=read.masks
    )


def own_image_ids(entries: Sequence[Mapping[str, Any]], what: str) -> list[Any] | None:
    """Return the `image_id` of each entry, None where none has one.

    >>> own_image_ids([{"image_id": np.array([4])}, {"image_id": 2}], "ground truth")
    [4, 2]
    """
    having = ["image_id" in entry for entry in entries]
    if not any(having):
        return None
    if not all(having):
        place = having.index(False)
        raise InputError(
            f"{what}: image_id must be in every dict, or in none; it is not in number {place}"
        )
    pairs = enumerate(entries)
    return [one_id(entry["image_id"], f"{what}: image_id of number {n}") for n, entry in pairs]


class _Reader:
    """The entries of one side; `box` and `masks` are read at once, other fields when asked for."""

    def __init__(
        self,
        what: str,
        entries: Sequence[Mapping[str, Any]],
        images: Iterable[Any] | None,
        box_format: BoxForm,
        masks: bool,
    ) -> None:
        check_form(box_format)
        for place, entry in enumerate(entries):
            if not isinstance(entry, Mapping):
                raise InputError(
                    f"{what}: number {place} must be a dict; got {type(entry).__name__}"
                )
        self.entries = entries
        ids = _names(entries, images, what)
        pairs = [(f"{what}: image {i!r}", entry) for i, entry in zip(ids, entries, strict=True)]
        runs = [_masks(entry, where) if masks else None for where, entry in pairs]
        found = [
            _boxes(entry, where, part, box_format)
            for (where, entry), part in zip(pairs, runs, strict=True)
        ]
        self.rows = Rows(what, ids, [len(given) for given, _ in found])
        none = np.zeros((0, 4))
        given = np.concatenate([none, *(pair[0] for pair in found)])
        box = np.concatenate([none, *(pair[1] for pair in found)])
        self.box = checked_boxes(box, given, self.rows)
        self.masks = self._all_masks(runs) if masks else None

    def field(self, name: str) -> list[NDArray[Any]]:
        """Return a field of every entry, one value for each box."""
        rows, found = self.rows, []
        for image, count, entry in zip(rows.ids, rows.counts, self.entries, strict=True):
            where = f"{rows.what}: image {image!r}"
            if name not in entry and count:
                raise InputError(f"{where}: {name} must be there; {_keys(entry)}")
            values = _array(entry.get(name, ()), f"{where}: {name}")
            if values.size == 0:
                values = values.reshape(0)
            if values.shape != (count,):
                raise InputError(
                    f"{where}: {name} must have one value for each of {count} boxes; "
                    f"got the shape {shape_of(values.shape)}"
                )
            found.append(values)
        return found

    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return a field of numbers."""
        parts = [np.zeros(0)]
        for image, values in zip(self.rows.ids, self.field(name), strict=True):
            if values.size and values.dtype.kind not in "iufb":
                where = f"{self.rows.what}: image {image!r}"
                raise InputError(f"{where}: {name} must be numbers; got {values.dtype}")
            parts.append(values.astype(np.float64))
        return np.concatenate(parts)

    def optional(self, name: str) -> NDArray[np.float64] | None:
        """Return a field that all entries with boxes have, or none."""
        if not any(name in entry for entry in self.entries):
            return None
        values = self.numbers(name)
        wrong = ~((values == 0) | (values == 1)) if name == "iscrowd" else ~(values >= 0)
        rule = "must be 0 or 1" if name == "iscrowd" else "must be a number of at least 0"
        self.rows.refuse(wrong | ~np.isfinite(values), name, rule, values)
        return values

    def labels(self) -> NDArray[Any]:
        """Return the classes, all of them integers or all strings."""
        fields = zip(self.rows.ids, self.field("labels"), self.entries, strict=True)
        parts = [part for part in fields if part[1].size]
        for image, values, entry in parts:
            text = values.dtype.kind == "U"
            mixed = text and not _all_texts(entry["labels"])
            if values.dtype.kind not in "iuU" or mixed or text != (parts[0][1].dtype.kind == "U"):
                raise InputError(
                    f"{self.rows.what}: image {image!r}: labels must be integers everywhere or "
                    f"strings everywhere; got {entry['labels']!r}"
                )
        return np.concatenate([part[1] for part in parts]) if parts else np.zeros(0, np.int64)

    def _all_masks(self, parts: list[list[Rle] | None]) -> list[Rle]:
        found: list[Rle] = []
        for image, count, part in zip(self.rows.ids, self.rows.counts, parts, strict=True):
            where = f"{self.rows.what}: image {image!r}"
            if part is None and count:
                raise InputError(f"{where}: masks must be there; masks=False compares boxes")
            if len(part or ()) != count:
                seen = len(part or ())
                raise InputError(
                    f"{where}: masks must be one for each of {count} boxes; got {seen}"
                )
            found += part or ()
        return found


def _names(
    entries: Sequence[Mapping[str, Any]], images: Iterable[Any] | None, what: str
) -> list[Any]:
    """Return the ids of the images: their own, those given, or their places."""
    own = own_image_ids(entries, what)
    if images is None:
        return image_ids(range(len(entries)) if own is None else own, what)
    given = image_ids(images, what)
    if len(given) != len(entries):
        raise InputError(f"{what}: images must name each of {len(entries)} dicts; got {len(given)}")
    for place, (name, said) in enumerate(zip(given, own or given, strict=True)):
        if name != said:
            raise InputError(
                f"{what}: image_id of number {place} must be that of images, {name!r}; got {said!r}"
            )
    return given


def _keys(entry: Mapping[str, Any]) -> str:
    """Say what an entry has instead."""
    shares = "class_labels" in entry
    hint = " (those of transformers' training, whose boxes are shares, not pixels)"
    return f"its keys are {', '.join(map(str, entry))}{hint if shares else ''}"


def _all_texts(values: Any) -> bool:
    """Return whether what became an array of texts was nothing else: numpy makes texts of 1."""
    return hasattr(values, "dtype") or all(isinstance(value, str) for value in values)


def _array(value: Any, where: str) -> NDArray[Any]:
    try:
        return cast("NDArray[Any]", to_numpy(value))
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{where} must be a tensor, an array or a list; {error}") from None


def _boxes(
    entry: Mapping[str, Any], where: str, masks: list[Rle] | None, box_format: BoxForm
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return boxes as they are given, and as x, y, width, height."""
    if "boxes" not in entry:
        if masks is None:
            raise InputError(f"{where}: boxes must be there; {_keys(entry)}")
        around = mask_boxes(masks)
        return around, around
    value = _array(entry["boxes"], f"{where}: boxes")
    try:
        box: NDArray[np.float64] = value.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{where}: boxes must be numbers; got {value.dtype}") from None
    box = box.reshape(0, 4) if box.size == 0 else box
    if box.ndim != 2 or box.size != 4 * len(box):
        raise InputError(f"{where}: boxes must have the shape (N, 4); got {shape_of(value.shape)}")
    return box, to_xywh(box, _own_format(entry["boxes"]) or box_format)


def _own_format(boxes: Any) -> BoxForm | None:
    """Return the form that torchvision's `BoundingBoxes` carry."""
    name = str(getattr(getattr(boxes, "format", None), "value", "")).lower()
    if not name or not is_torch(boxes):
        return None
    check_form(name)
    return cast("BoxForm", name)


def _masks(entry: Mapping[str, Any], where: str) -> list[Rle] | None:
    """Return the masks of an image as run lengths."""
    from pycocotools import mask

    given = entry.get("masks")
    if given is None:
        return None
    if isinstance(given, list | tuple) and all(isinstance(item, dict) for item in given):
        return [_run_lengths(item, f"{where}, entry {n}") for n, item in enumerate(given)]
    pixels = _set_pixels(given, where)
    sides: tuple[int, ...] = pixels.shape
    if pixels.ndim == 4 and sides[1] == 1:
        pixels = pixels.reshape(len(pixels), *sides[2:])
    if pixels.ndim and len(pixels) == 0:
        return []
    if pixels.ndim != 3:
        raise InputError(
            f"{where}: masks must have the shape (N, H, W) or (N, 1, H, W); got {shape_of(sides)}"
        )
    planes = np.asfortranarray(np.moveaxis(pixels, 0, -1).astype(np.uint8))
    return cast("list[Rle]", mask.encode(planes))


def _set_pixels(given: Any, where: str) -> NDArray[np.bool_]:
    """Return where masks are set: truth as it is, probabilities from a half on."""
    if not (is_torch(given) or isinstance(given, np.ndarray)):
        given = _array(given, f"{where}: masks")
    if is_torch(given):
        share = given.dtype.is_floating_point
    elif given.dtype.kind in "biuf":
        share = given.dtype.kind == "f"
    else:
        raise InputError(f"{where}: masks must be True and False, or numbers; got {given.dtype}")
    # On the device, so that little is moved.
    return cast("NDArray[np.bool_]", to_numpy(given >= _MASK_AT if share else given != 0))


def _run_lengths(value: dict[str, Any], where: str) -> Rle:
    """Return run lengths as pycocotools packs them."""
    try:
        return read_mask(value)
    except InputError as error:
        raise InputError(f"{where}: masks {error}") from None
