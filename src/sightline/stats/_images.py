"""Values image by image: what belongs to which, by any labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import to_numpy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["numbered", "plain_labels", "sums_by_image"]

# Nothing is to be done about labels of these types, and most are.
_PLAIN = {str, int, float, bool, type(None)}


def plain_labels(labels: Iterable[Any], /) -> list[Any]:
    """Return labels that are equal wherever they say the same, from any array or sequence.

    Entries of a tensor are not equal to each other as objects, and rows of an array have no hash.

    >>> plain_labels(np.array([[1, 2], [1, 2]]))
    [(1, 2), (1, 2)]
    """
    if hasattr(labels, "shape"):
        labels = array = to_numpy(labels)
        if array.ndim == 1 and array.dtype != object:
            found: list[Any] = array.tolist()
            return found
    return [label if type(label) in _PLAIN else _plain(label) for label in labels]


def _plain(label: Any) -> Any:
    if isinstance(label, list | tuple) or (hasattr(label, "shape") and label.shape):
        return tuple(_plain(part) for part in label)
    return label.item() if hasattr(label, "item") else label


def numbered(labels: Iterable[Any], /) -> tuple[tuple[Any, ...], NDArray[np.intp]]:
    """Return the distinct labels in the order of their first use, and the number of each.

    >>> numbered(["b", "a", "b"])
    (('b', 'a'), array([0, 1, 0]))
    """
    names: dict[Any, int] = {}
    codes = [names.setdefault(label, len(names)) for label in plain_labels(labels)]
    return tuple(names), np.array(codes, np.intp)


def sums_by_image(
    values: NDArray[np.float64], images: Iterable[Any] | None, name: str, /
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum of each image's defined values, and how many they are.

    Without `images` each value has one of its own. `name` is that of the values.
    """
    codes = np.arange(len(values)) if images is None else numbered(images)[1]
    if len(codes) != len(values):
        raise InputError(f"images must name one for each of {len(values)} {name}; got {len(codes)}")
    valid = np.isfinite(values)
    size = int(codes.max()) + 1 if len(codes) else 0
    sums = np.bincount(codes[valid], values[valid], minlength=size)
    counts = np.bincount(codes[valid], minlength=size)
    return sums.astype(np.float64), counts.astype(np.float64)
