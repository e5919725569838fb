"""Predictions and ground truths one by one, as lists hold them: read and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import is_torch, to_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sightline.detection._entries import BoxForm

__all__ = [
    "Items",
    "as_number",
    "box_column",
    "check_ids",
    "check_numbers",
    "check_one_kind",
    "plain",
    "read_items",
]


class Items(NamedTuple):
    """Columns of items; the score of a ground truth is 0, the flag of a prediction is not set."""

    label: list[Any]
    box: NDArray[np.float64]
    score: NDArray[np.float64]
    flag: NDArray[np.bool_]


def plain(value: Any) -> Any:
    """Return a number of Python where one of numpy or torch was given.

    >>> plain(np.int64(3)), plain("cat")
    (3, 'cat')
    """
    try:
        return value.item() if hasattr(value, "item") else value
    except (RuntimeError, ValueError):  # more than one number
        return value


def check_ids(name: str, values: Sequence[Any]) -> None:
    """Raise unless all are integers, or all are strings: 7 and "7" would never meet.

    >>> check_ids("class id", [1, None])
    Traceback (most recent call last):
    sightline.core.errors.InputError: class id must be an integer or a string; got None
    """
    kinds = set(map(type, values))
    if kinds <= {int} or kinds <= {str}:
        return
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise InputError(f"{name} must be an integer or a string; got {value!r}")
    texts = [value for value in values if isinstance(value, str)]
    check_one_kind(name, [value for value in values if not isinstance(value, str)], texts)


def check_one_kind(name: str, first: Sequence[Any], second: Sequence[Any]) -> None:
    """Raise where integers stand on one side and strings on the other."""
    if len(first) and len(second) and isinstance(first[0], str) != isinstance(second[0], str):
        raise InputError(
            f"{name} must be integers everywhere or strings everywhere; "
            f"got {first[0]!r} and {second[0]!r}"
        )


def read_items(items: list[Any], image: list[Any], what: str, *, form: BoxForm) -> Items:
    """Read `[box, score, class_id]` or `[box, class_id]`, the latter with an optional flag.

    >>> read_items([[(0, 0, 2, 2), "cat"]], [7], "ground truth", form="xyxy").label
    ['cat']
    """
    scored = what == "prediction"
    _check_lengths(items, image, what)
    label = [plain(item[2] if scored else item[1]) for item in items]
    check_ids(f"the class id of a {what}", label)
    box = _boxes([item[0] for item in items], image, what)
    score = _scores([item[1] for item in items], image) if scored else np.zeros(len(items))
    flag = np.zeros(len(items), np.bool_)
    if not scored:
        flag[:] = [len(item) == 3 and _flag(item[2], item) for item in items]
    check_numbers(box, score, what, image, form=form)
    return Items(label, box, score, flag)


def _check_lengths(items: list[Any], image: list[Any], what: str) -> None:
    scored = what == "prediction"
    shape = "[box, score, class_id]" if scored else "[box, class_id]"
    for item, where in zip(items, image, strict=True):
        sized = hasattr(item, "__len__") and not isinstance(item, str | bytes | dict)
        if not sized or len(item) not in ((3,) if scored else (2, 3)):
            hint = "give one list an image, or images="
            raise InputError(f"a {what} must be {shape} ({hint}); got {item!r} in image {where!r}")


def _boxes(boxes: list[Any], image: list[Any], what: str) -> NDArray[np.float64]:
    box, wrong = box_column(boxes)
    if wrong is not None:
        seen = f"got {boxes[wrong]!r} in image {image[wrong]!r}"
        raise InputError(f"the box of a {what} has 4 numbers; {seen}")
    return box


def box_column(boxes: list[Any]) -> tuple[NDArray[np.float64], int | None]:
    """Return boxes (N, 4), and the row of the first that is not four numbers, if one is not.

    >>> box_column([(0, 0, 4, 5), (0, 0, "4", 5)])[1]
    1
    """
    table = None
    if all(type(box) in (tuple, list) for box in boxes):  # all at once
        try:
            table = np.array(boxes)
        except (TypeError, ValueError, RuntimeError):
            table = None
    if table is not None and table.shape == (len(boxes), 4) and table.dtype.kind in "iuf":
        return table.astype(np.float64), None
    column = np.zeros((len(boxes), 4))
    for row, box in enumerate(boxes):
        values = _box(box)
        if values is None:
            return column, row
        column[row] = values
    return column, None


def _box(box: Any) -> list[float] | None:
    """Return four numbers, of a list, an array, or a tensor on any device; None of others."""
    try:
        whole = is_torch(box) or isinstance(box, np.ndarray)
        values = [as_number(edge) for edge in (to_numpy(box).tolist() if whole else box)]
    except TypeError:
        return None
    numbers = [value for value in values if value is not None]
    return numbers if len(numbers) == len(values) == 4 else None


def as_number(value: Any) -> float | None:
    """Return a number of Python, numpy or torch; None of truths, texts and all else.

    >>> as_number(np.float32(0.5)), as_number(True), as_number("0.5")
    (0.5, None, None)
    """
    found = plain(value)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        return float(found)
    except OverflowError:
        return None


def _scores(scores: list[Any], image: list[Any]) -> NDArray[np.float64]:
    if set(map(type, scores)) <= {float}:
        return np.array(scores, np.float64)
    values = [as_number(score) for score in scores]
    if None in values:
        row = values.index(None)
        seen = f"got {plain(scores[row])!r} in image {image[row]!r}"
        raise InputError(f"a score must be a number; {seen}")
    return np.array(values, np.float64)


def _flag(value: Any, item: Any) -> bool:
    flag = plain(value)
    if not isinstance(flag, int | float) or flag not in (0, 1):
        raise InputError(
            f"the third entry of a ground truth says whether it is difficult, 0 or 1; got {item!r}"
        )
    return bool(flag)


def check_numbers(
    box: NDArray[np.float64],
    score: NDArray[np.float64],
    what: str,
    image: Sequence[Any] | NDArray[Any],
    *,
    form: BoxForm,
) -> None:
    """Raise where a box or a score cannot be, and name its image."""
    low = box[:, :2] if form == "xyxy" else np.zeros((1, 2))
    for rule, bad in (
        ("finite numbers as its box", ~np.isfinite(box).all(axis=1)),
        (f"a width and height of at least 0 ({form})", (box[:, 2:] < low).any(axis=1)),
        ("a finite score", ~np.isfinite(score)),
    ):
        if bad.any():
            row = int(np.argmax(bad))
            seen = f"{box[row].tolist()} with score {score[row]}"
            raise InputError(f"each {what} has {rule}; got {seen} in image {plain(image[row])!r}")
