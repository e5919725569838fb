"""What lists and dicts of images share: ids of images, forms of boxes, errors that say where.

Rows of all images stand one after another; `Rows` knows which image and which of its boxes each is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import to_numpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BoxForm", "Rows", "check_form", "image_ids", "one_id", "to_xywh"]

BoxForm = Literal["xyxy", "xywh", "cxcywh"]
_FORMS = ("xyxy", "xywh", "cxcywh")


class Rows(NamedTuple):
    """Where rows come from.

    Attributes
    ----------
    what : str
        "ground truth" or "detections".
    ids : list
        The images, in the order given.
    counts : list of int
        How many rows each has.
    """

    what: str
    ids: list[Any]
    counts: list[int]

    def image_column(self) -> NDArray[Any]:
        """Return the image of each row."""
        known = np.array(self.ids, np.str_ if self.ids and isinstance(self.ids[0], str) else None)
        return np.repeat(known, self.counts) if self.ids else np.zeros(0, np.int64)

    def refuse(self, wrong: NDArray[np.bool_], field: str, rule: str, seen: NDArray[Any]) -> None:
        """Raise with the first row that is wrong, if one is.

        >>> Rows("detections", ["a", "b"], [2, 1]).refuse(
        ...     np.array([False, False, True]), "score", "must be finite", np.array([0, 0, np.inf])
        ... )
        Traceback (most recent call last):
        sightline.core.errors.InputError: detections: image 'b', entry 0: score must be finite;
        got inf
        """
        if wrong.any():
            row = int(np.argmax(wrong))
            ends = list(accumulate(self.counts))
            image = int(np.searchsorted(ends, row, side="right"))
            entry = row - ends[image] + self.counts[image]
            where = f"{self.what}: image {self.ids[image]!r}, entry {entry}"
            value = (
                seen[row].tolist() if isinstance(seen[row], np.ndarray | np.generic) else seen[row]
            )
            raise InputError(f"{where}: {field} {rule}; got {value!r}")


def check_form(box_format: str) -> None:
    """Raise unless boxes can be written so."""
    if box_format not in _FORMS:
        raise InputError(f"box_format must be one of {', '.join(_FORMS)}; got {box_format!r}")


def to_xywh(box: NDArray[np.float64], box_format: BoxForm) -> NDArray[np.float64]:
    """Return left edge, upper edge, width and height of boxes (N, 4) in any form.

    >>> to_xywh(np.array([[1.0, 2.0, 4.0, 6.0]]), "xyxy").tolist()
    [[1.0, 2.0, 3.0, 4.0]]
    >>> to_xywh(np.array([[1.0, 2.0, 4.0, 6.0]]), "cxcywh").tolist()
    [[-1.0, -1.0, 4.0, 6.0]]
    """
    first, second = box[:, :2], box[:, 2:]
    with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is refused by name
        if box_format == "xyxy":
            return np.hstack([first, second - first])
        return box if box_format == "xywh" else np.hstack([first - second / 2, second])


def image_ids(given: Iterable[Any], what: str) -> list[Any]:
    """Return the ids of images, all of them integers or all strings, each there once.

    >>> image_ids(np.array([7, 3]), "ground truth")
    [7, 3]
    """
    if isinstance(given, str):
        raise InputError(f"{what}: images must be a list of image ids; got {given!r}")
    found = [one_id(value, f"{what}: image id {place}") for place, value in enumerate(given)]
    kinds = {isinstance(value, str) for value in found}
    if len(kinds) == 2:
        number = next(value for value in found if not isinstance(value, str))
        text = next(value for value in found if isinstance(value, str))
        raise InputError(
            f"{what}: image ids must be integers everywhere or strings everywhere; "
            f"got {number!r} and {text!r}"
        )
    if len(set(found)) < len(found):
        twice = Counter(found).most_common(1)[0][0]
        raise InputError(f"{what}: each image must be there once; image {twice!r} is there twice")
    return found


def one_id(value: Any, what: str) -> int | str:
    """Return an integer of 64 bits or a string, out of whatever holds one value.

    >>> one_id(np.array([5]), "image_id")
    5
    """
    plain = value
    if not isinstance(value, int | str | Sequence) and hasattr(value, "shape"):
        column = to_numpy(value)
        plain = column.item() if column.size == 1 else value
    if isinstance(plain, str):
        return str(plain)
    if isinstance(plain, int) and not isinstance(plain, bool) and -(2**63) <= plain < 2**63:
        return int(plain)
    raise InputError(f"{what} must be an integer of 64 bits or a string; got {value!r}")
