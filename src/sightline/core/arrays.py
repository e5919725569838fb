"""Arrays at the border: their namespace, checks that name what is wrong, division without noise."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

# numpy array, torch tensor, or anything else that follows the array API standard.
Array = Any

__all__ = [
    "Array",
    "as_array",
    "divide",
    "has_triton",
    "is_torch",
    "namespace",
    "nan_where",
    "shape_of",
    "share",
    "to_numpy",
]


_NAMESPACES: dict[type, Any] = {}


def namespace(*arrays: Array) -> Any:
    """Return the array-API namespace that the arrays share."""
    kind = type(arrays[0])
    alike = len(arrays) == 1 or all(type(array) is kind for array in arrays)
    if alike and kind in _NAMESPACES:
        return _NAMESPACES[kind]
    found = array_api_compat.array_namespace(*arrays)
    if alike and found.__name__.startswith("array_api_compat."):
        _NAMESPACES[kind] = found  # looking it up anew each time would cost microseconds
    return found


def is_torch(array: Array) -> bool:
    """Say whether the array is a torch tensor, without importing torch."""
    return bool(array_api_compat.is_torch_array(array))


def as_array(value: Any) -> Array:
    """Return arrays as they are and make numpy arrays of everything else."""
    if array_api_compat.is_array_api_obj(value):
        return value
    return np.asarray(value)


def has_triton(tensor: Any) -> bool:
    """Say whether a tensor is on a GPU for which Triton is installed."""
    return bool(tensor.is_cuda) and _triton_is_there()


@cache
def _triton_is_there() -> bool:
    return find_spec("triton") is not None


def to_numpy(array: Array) -> Any:
    """Return a numpy array with the same values, without a copy where that is possible."""
    if is_torch(array):
        # numpy has no such type; float32 holds every value
        short = str(array.dtype) == "torch.bfloat16"
        return (array.float() if short else array).detach().cpu().numpy()
    return np.asarray(array)


def divide(numerator: Array, denominator: Array) -> Array:
    """Divide, with NaN and no warning wherever the denominator is zero."""
    if isinstance(numerator, np.ndarray) and isinstance(denominator, np.ndarray):
        shape = np.broadcast_shapes(numerator.shape, denominator.shape)
        return np.divide(
            numerator, denominator, out=np.full(shape, np.nan), where=denominator != 0
        )[()]
    if is_torch(numerator) and is_torch(denominator):  # in few steps: each is sent to the device
        return nan_where(denominator == 0, numerator / denominator)
    xp = namespace(numerator, denominator)
    zero = denominator == 0
    safe = xp.where(zero, xp.ones_like(denominator), denominator)
    return nan_where(zero, numerator / safe)


def share(counts: Array, total: Array | float) -> Array:
    """Divide counts by their total, one for all or one for each, exactly: a whole is 1.

    Devices divide by a plain number by multiplying with its rounded inverse.
    """
    if isinstance(total, int | float):
        return counts / namespace(counts).full_like(counts, total)
    return divide(counts, total)


def nan_where(condition: Array, value: Array) -> Array:
    """Replace values by NaN where the condition holds."""
    if isinstance(value, np.ndarray):
        return np.where(condition, np.nan, value)[()]
    if is_torch(value) and is_torch(condition) and condition.ndim <= value.ndim:
        there = zip(condition.shape[::-1], value.shape[::-1], strict=False)
        if all(a in (1, b) for a, b in there):
            return value.masked_fill(condition, np.nan)
    xp = namespace(condition, value)
    result = xp.where(condition, xp.full_like(value, xp.nan), value)
    return result if result.shape else result[()]  # numpy's arrays without axes become numbers


def shape_of(shape: Sequence[int]) -> str:
    """Write a shape for a message.

    >>> shape_of((3, 14, 14))
    '3×14×14'
    """
    return "×".join(str(size) for size in shape) or "a single number"
