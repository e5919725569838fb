"""Predictions and ground truths one by one, as lists hold them: read and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline._arrays import is_torch, to_numpy
from sightline.records import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Items", "check_ids", "check_numbers", "check_one_kind", "plain", "read_items"]


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
    sightline.records.errors.InputError: class id must be an integer or a string; got None
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


def read_items(items: list[Any], image: list[Any], what: str, *, sized: bool) -> Items:
    """Read `[box, score, class_id]` or `[box, class_id]`, the latter with an optional flag.

    >>> read_items([[(0, 0, 2, 2), "cat"]], [7], "ground truth", sized=False).label
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
    check_numbers(box, score, what, image, sized=sized)
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
    """Return boxes (N, 4); all at once where they are plain numbers."""
    table = None
    if all(type(box) in (tuple, list) for box in boxes):
        try:
            table = np.array(boxes)
        except (TypeError, ValueError, RuntimeError):
            table = None
    if table is None or table.shape != (len(boxes), 4) or table.dtype.kind not in "iuf":
        rows = [_box(box, where, what) for box, where in zip(boxes, image, strict=True)]
        return np.array(rows, np.float64).reshape(-1, 4)
    return table.astype(np.float64)


def _box(box: Any, where: Any, what: str) -> list[float]:
    """Return four numbers, of a list, an array, or a tensor on any device."""
    try:
        whole = is_torch(box) or isinstance(box, np.ndarray)
        values = to_numpy(box).tolist() if whole else [plain(edge) for edge in box]
    except TypeError:
        values = []
    good = isinstance(values, list) and len(values) == 4
    if not good or any(isinstance(v, bool) or not isinstance(v, int | float) for v in values):
        raise InputError(f"the box of a {what} has 4 numbers; got {box!r} in image {where!r}")
    return [float(value) for value in values]


def _scores(scores: list[Any], image: list[Any]) -> NDArray[np.float64]:
    if set(map(type, scores)) <= {float, int}:
        return np.array(scores, np.float64)
    values = [plain(score) for score in scores]
    for value, where in zip(values, image, strict=True):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"a score must be a number; got {value!r} in image {where!r}")
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
    sized: bool,
) -> None:
    """Raise where a box or a score cannot be, and name its image."""
    low = np.zeros((1, 2)) if sized else box[:, :2]
    form = "xywh" if sized else "xyxy"
    for rule, bad in (
        ("finite numbers as its box", ~np.isfinite(box).all(axis=1)),
        (f"a width and height of at least 0 ({form})", (box[:, 2:] < low).any(axis=1)),
        ("a finite score", ~np.isfinite(score)),
    ):
        if bad.any():
            row = int(np.argmax(bad))
            seen = f"{box[row].tolist()} with score {score[row]}"
            raise InputError(f"each {what} has {rule}; got {seen} in image {plain(image[row])!r}")
