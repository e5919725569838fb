"""Lists of boxes, one an image: `[box, class]` of what is there, `[box, score, class]` of found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.detection._entries import Rows, one_id, to_xywh
from sightline.detection._items import as_number, box_column, plain
from sightline.detection.columns import Detections, GroundTruth

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sightline.detection._entries import BoxForm

__all__ = ["checked_boxes", "list_detections", "list_ground_truth"]

_TRUE = "[box, class] or [box, class, difficult]"
_FOUND = "[box, score, class]"


def list_ground_truth(
    given: Sequence[Any], ids: list[Any], *, box_format: BoxForm = "xyxy"
) -> GroundTruth:
    """Read ``[box, class]``, or ``[box, class, difficult]``, of each image.

    >>> truth = list_ground_truth([[[(0, 0, 4, 5), "cat"]], []], ["a", "b"])
    >>> truth.image.tolist(), truth.box.tolist(), truth.images.tolist()
    (['a'], [[0.0, 0.0, 4.0, 5.0]], ['a', 'b'])
    """
    rows, items = _items(given, ids, "ground truth", (2, 3), _TRUE)
    box = _boxes([item[0] for item in items], rows, box_format)
    label = _labels([item[1] for item in items], rows)
    flags = [plain(item[2]) if len(item) == 3 else 0 for item in items]
    flags = [int(flag) if isinstance(flag, bool) else flag for flag in flags]
    difficult = _numbers(flags, "difficult", rows)
    odd = (difficult != 0) & (difficult != 1)
    rows.refuse(odd, "difficult", "must be True or False", difficult)
    return GroundTruth.from_arrays(rows.image_column(), label, box, difficult=difficult, images=ids)


def list_detections(
    given: Sequence[Any], ids: list[Any], *, box_format: BoxForm = "xyxy"
) -> Detections:
    """Read ``[box, score, class]`` of each image.

    >>> list_detections([[[(0, 0, 4, 5), 0.9, "cat"]]], ["a"]).score.tolist()
    [0.9]
    """
    rows, items = _items(given, ids, "detections", (3,), _FOUND)
    box = _boxes([item[0] for item in items], rows, box_format)
    score = _numbers([item[1] for item in items], "score", rows)
    rows.refuse(~np.isfinite(score), "score", "must be finite", score)
    label = _labels([item[2] for item in items], rows)
    return Detections.from_arrays(rows.image_column(), label, box, score)


def _items(
    given: Sequence[Any], ids: list[Any], what: str, sizes: tuple[int, ...], form: str
) -> tuple[Rows, list[Any]]:
    """Return the items of all images, each of the right length."""
    entries: list[list[Any]] = []
    for image, entry in zip(ids, given, strict=True):
        if isinstance(entry, str | bytes) or not hasattr(entry, "__iter__"):
            raise InputError(
                f"{what}: image {image!r} must have a list of {form}; got {type(entry).__name__}"
            )
        entries.append(list(entry))
        for number, item in enumerate(entries[-1]):
            sized = hasattr(item, "__len__") and not isinstance(item, str | bytes | dict)
            if not sized or len(item) not in sizes:
                raise InputError(
                    f"{what}: image {image!r}, entry {number}: must be {form}; got {item!r}"
                )
    rows = Rows(what, ids, [len(entry) for entry in entries])
    return rows, [item for entry in entries for item in entry]


def _boxes(values: list[Any], rows: Rows, box_format: BoxForm) -> NDArray[np.float64]:
    box, wrong = box_column(values)
    if wrong is not None:
        at = np.arange(len(values)) == wrong
        rows.refuse(at, "box", "must be 4 numbers", _as_column(values))
    return checked_boxes(to_xywh(box, box_format), box, rows)


def checked_boxes(
    box: NDArray[np.float64], given: NDArray[np.float64], rows: Rows
) -> NDArray[np.float64]:
    """Return boxes with finite numbers and sides of at least 0; errors show them as given."""
    endless = np.any(~np.isfinite(box), axis=1)
    rows.refuse(np.asarray(endless, np.bool_), "box", "must be finite", given)
    negative = np.asarray(np.any(box[:, 2:] < 0, axis=1), np.bool_)
    rows.refuse(negative, "box", "must have a width and a height of at least 0", given)
    return box


def _numbers(values: list[Any], field: str, rows: Rows) -> NDArray[np.float64]:
    """Return numbers; those of other kinds are refused by the row."""
    numbers = [as_number(value) for value in values]
    wrong = np.array([number is None for number in numbers], np.bool_)
    if wrong.any():
        rows.refuse(wrong, field, "must be a number", _as_column(values))
    return np.array(numbers, np.float64)


def _labels(values: list[Any], rows: Rows) -> NDArray[Any]:
    """Return classes, all of them integers or all strings."""
    column = _as_column(values)
    for row, value in enumerate(values):
        try:
            column[row] = one_id(value, "class")
        except InputError:
            rule = "must be an integer of 64 bits or a string"
            rows.refuse(np.arange(len(values)) == row, "class", rule, _as_column(values))
    texts = np.array([isinstance(value, str) for value in column], np.bool_)
    if len(values):
        rule = "must be integers everywhere or strings everywhere"
        rows.refuse(texts != texts[0], "class", f"{rule} (the first is {column[0]!r})", column)
    return column.astype(np.str_ if texts.any() else np.int64)


def _as_column(values: list[Any]) -> NDArray[np.object_]:
    column = np.empty(len(values), object)
    for row, value in enumerate(values):
        column[row] = value
    return column
