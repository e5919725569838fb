"""Checks at the public border of the metrics, and the loop from one map to a batch of them."""

from __future__ import annotations

import inspect
import math
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, get_args

from sightline.core import InputError, MapError
from sightline.core.arrays import Array, as_array, is_torch, namespace, shape_of
from sightline.core.checks import check_choice
from sightline.metrics.fixations import ADVICE, is_made_of_points
from sightline.metrics.selection import Sign, Threshold

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "against",
    "RGB",
    "apply_sign",
    "check_channels",
    "check_counts",
    "check_density",
    "check_finite",
    "check_maps",
    "check_masks",
    "check_weights",
    "each_map",
    "find_fixated",
    "nonfinite_error",
    "of_map",
    "refuse_signed",
    "refuse_signed_selection",
    "resolve_sign",
]


RGB = 3
"""Channels of an attribution of an RGB input."""


def check_maps(maps: Any) -> Array:
    """Return `maps` as an array `(..., H, W)` of real numbers that is not empty."""
    maps = _array(maps, "maps")
    if len(maps.shape) < 2:
        raise InputError(f"maps must have shape (..., H, W); got shape {shape_of(maps.shape)}")
    if 0 in maps.shape:
        raise InputError(f"maps must not be empty; got shape {shape_of(maps.shape)}")
    if not _is_real(maps):
        raise InputError(f"maps must hold real numbers; got dtype {maps.dtype}")
    return maps


def _array(value: Any, name: str) -> Array:
    try:
        return as_array(value)
    except (ValueError, TypeError, OverflowError) as error:  # lists of different length
        raise InputError(f"{name} must be an array of numbers: {error}") from error


def _is_real(array: Array) -> bool:
    known = namespace(array).isdtype(array.dtype, ("bool", "real floating", "integral"))
    return bool(known or (is_torch(array) and array.dtype.is_floating_point))


def check_channels(maps: Array) -> None:
    """Raise for a batch of attributions of RGB inputs, which would get three scores per image."""
    if len(maps.shape) != 4:
        return
    _, first, rows, last = maps.shape
    advice = (
        "score_maps(..., channels='mean_abs', 'sum' or 'max_abs') or reduce_channels make one map "
        "of them; score_maps(..., channels='separate') is for three maps per image, as of layers"
    )
    if first == RGB:
        raise InputError(
            f"maps of shape {shape_of(maps.shape)} look like attributions of RGB inputs "
            f"(images, 3, H, W), as Captum returns them: {advice}"
        )
    if last == RGB and min(first, rows) > RGB:
        raise InputError(
            f"maps of shape {shape_of(maps.shape)} look like attributions of RGB inputs with the "
            f"channels last (images, H, W, 3): move them to axis 1; then {advice}"
        )


def check_masks(masks: Any, maps: Array, name: str = "masks") -> Array:
    """Return `masks` as booleans of the maps' shape.

    One `(H, W)` mask serves every map, and a leading axis of length 1 serves the maps' whole axis.
    """
    masks = _like(masks, maps, name)
    xp = namespace(masks)
    if not _is_real(masks):
        raise InputError(f"{name} must hold only 0 and 1 (or booleans); got dtype {masks.dtype}")
    if not xp.isdtype(masks.dtype, "bool"):
        odd = (masks != 0) & (masks != 1)
        if bool(xp.any(odd)):
            seen = masks[odd][0]
            raise InputError(
                f"{name} must hold only 0 and 1 (or booleans); found {seen:g}. "
                f"For a grey-level mask say which pixels count, e.g. {name} > 0"
            )
        masks = masks != 0
    return xp.broadcast_to(masks, maps.shape)


def check_density(target: Any, maps: Array, name: str = "target") -> Array:
    """Return a soft target for metrics that compare it pixel by pixel, not one made of points."""
    target = _check_weights(target, maps, name)
    if is_made_of_points(target):
        raise InputError(
            f"{name} is made of points (most of its positive pixels are alone). {ADVICE}"
        )
    return namespace(target).broadcast_to(target, maps.shape)


def check_weights(weights: Any, maps: Array, name: str) -> Array:
    """Return weights of pixels as finite, non-negative float64 of the maps' shape."""
    weights = _check_weights(weights, maps, name)
    return namespace(weights).broadcast_to(weights, maps.shape)


def _check_weights(weights: Any, maps: Array, name: str) -> Array:
    weights = _like(weights, maps, name)
    xp = namespace(weights)
    weights = xp.astype(weights, xp.float64)
    if not bool(xp.all(xp.isfinite(weights))) or bool(xp.any(weights < 0)):
        raise InputError(f"{name} must be finite and not negative everywhere")
    return weights


def check_counts(counts: Any, maps: Array, name: str = "mask") -> Array:
    """Return how often each pixel was fixated, of the maps' shape: booleans if at most once."""
    counts = _like(counts, maps, name)
    if namespace(counts).isdtype(counts.dtype, "bool"):
        return check_masks(counts, maps, name)
    counts = check_weights(counts, maps, name)
    xp = namespace(counts)
    if bool(xp.any(counts != xp.floor(counts))):
        seen = float(counts[counts != xp.floor(counts)][0])
        raise InputError(
            f"{name} must hold whole numbers of fixations (or booleans); found {seen:g}"
        )
    return counts if bool(xp.any(counts > 1)) else counts > 0


def find_fixated(counts: Array) -> Array:
    """Return the pixels that counts of fixations, or booleans, mark."""
    return counts if namespace(counts).isdtype(counts.dtype, "bool") else counts > 0


def _like(other: Any, maps: Array, name: str) -> Array:
    """Check that `other` lives where the maps live and fits them."""
    other = _array(other, name)
    if is_torch(maps) != is_torch(other):
        if is_torch(other):
            raise InputError(f"{name} is a torch tensor but maps is not; give both as one kind")
        import torch

        other = torch.as_tensor(other, device=maps.device)
    if is_torch(maps) and other.device != maps.device:
        raise InputError(f"maps are on {maps.device} but {name} on {other.device}")
    if tuple(other.shape[-2:]) != tuple(maps.shape[-2:]) or len(other.shape) < 2:
        raise InputError(
            f"{name} must have the maps' height and width {shape_of(maps.shape[-2:])}; "
            f"got shape {shape_of(other.shape)}"
        )
    if len(other.shape) != 2 and not _spreads(other.shape, maps.shape):
        raise InputError(
            f"{name} must be one (H, W) array or have the shape of maps {shape_of(maps.shape)}, "
            f"where a leading 1 serves a whole axis; got shape {shape_of(other.shape)}"
        )
    return other


def _spreads(shape: Sequence[int], whole: Sequence[int]) -> bool:
    """Say whether every axis has the length that it must have, or 1."""
    return len(shape) == len(whole) and all(
        one in (1, full) for one, full in zip(shape, whole, strict=True)
    )


def check_finite(maps: Array) -> None:
    """Raise and name the first map that holds NaN or infinity."""
    xp = namespace(maps)
    if not xp.isdtype(maps.dtype, "real floating") or bool(xp.all(xp.isfinite(maps))):
        return
    flat = xp.reshape(maps, (-1, math.prod(maps.shape[-2:])))
    for index in range(flat.shape[0]):
        if not bool(xp.all(xp.isfinite(flat[index, :]))):
            raise nonfinite_error(index, flat[index, :])


def nonfinite_error(index: int, values: Array) -> MapError:
    """Describe a map with NaN or infinity; `values` are its pixels."""
    xp = namespace(values)
    nans, infs = (int(xp.count_nonzero(test(values))) for test in (xp.isnan, xp.isinf))
    return MapError(
        f"map {index} is not finite: {nans} NaN and {infs} infinite of {values.shape[0]} pixels",
        index,
    )


def resolve_sign(maps: Any, /, sign: Sign | None = None, *, first: int = 0) -> Sign:
    """Return `sign`; without one "positive", if no value of the maps ``(..., H, W)`` is negative.

    Negative values mean different things for different methods, so that they need a stated rule.
    NaN and infinity are not judged here. `first` is the index of the first map in messages.

    Examples
    --------
    >>> resolve_sign([[0.0, 0.5]])
    'positive'
    >>> resolve_sign([[-0.5, 0.5]])
    Traceback (most recent call last):
    ...
    sightline.core.errors.MapError: map 0 has negative values (smallest -0.5): ...
    """
    if sign is not None:
        check_choice("sign", sign, get_args(Sign))
        return sign
    maps = check_maps(maps)
    xp = namespace(maps)
    if xp.isdtype(maps.dtype, ("bool", "unsigned integer")) or bool(xp.min(maps) >= 0):
        return "positive"
    flat = xp.reshape(maps, (-1, math.prod(maps.shape[-2:])))
    if not xp.isdtype(maps.dtype, "real floating"):
        flat = xp.astype(flat, xp.float64)
    smallest = xp.min(xp.where(xp.isfinite(flat), flat, xp.zeros_like(flat[:1, :1])), axis=-1)
    negative = xp.nonzero(smallest < 0)[0]
    if not negative.shape[0]:
        return "positive"
    index = int(negative[0])
    raise MapError(
        f"map {index + first} has negative values (smallest {float(smallest[index]):.3g}): "
        "give sign, which says what they mean: 'positive' (0, as for attention), 'absolute' (as "
        "much as positive ones, as for gradients) or 'signed' (less than 0: rankings alone, "
        "without energy)",
        index + first,
    )


def apply_sign(maps: Array, sign: Sign | None) -> Array:
    """Return the maps as float64 after the sign rule, the one step before every metric."""
    sign = resolve_sign(maps, sign)
    xp = namespace(maps)
    maps = xp.astype(maps, xp.float64)
    if sign == "signed":
        return maps
    return xp.abs(maps) if sign == "absolute" else xp.where(maps > 0, maps, xp.zeros_like(maps))


def each_map(
    function: Callable[..., Any], maps: Array, *others: Array, sign: Sign | None = None
) -> Any:
    """Apply a definition for one map `(H, W)` to each map of a batch `(..., H, W)`.

    `others` have the maps' shape. Returns an array of the leading shape where the maps were, or a
    tuple of such arrays when the definition returns a tuple.
    """
    check_channels(maps)
    check_finite(maps)
    maps = apply_sign(maps, sign)
    xp, lead, size = namespace(maps), tuple(maps.shape[:-2]), tuple(maps.shape[-2:])
    flat = [xp.reshape(array, (-1, *size)) for array in (maps, *others)]
    values = [function(*(array[i, ...] for array in flat)) for i in range(flat[0].shape[0])]
    if isinstance(values[0], tuple):
        return type(values[0])(
            *(_stack(column, maps, lead) for column in zip(*values, strict=True))
        )
    return _stack(values, maps, lead)


class MapMetric(Protocol):
    """How a metric of the map alone is called."""

    __name__: str

    def __call__(self, attention: Any, /, *, sign: Sign | None = None) -> Array:
        """Measure maps `(..., H, W)`."""


class PairMetric(Protocol):
    """How a metric of a map and what it is compared with is called."""

    __name__: str

    def __call__(self, attention: Any, target: Any, /, *, sign: Sign | None = None) -> Array:
        """Compare maps `(..., H, W)` with one target `(H, W)` or one for each."""


def of_map(definition: Callable[[Array], Any]) -> MapMetric:
    """Make a metric of a definition for one map `(H, W)` of energies."""

    @wraps(definition)
    def metric(attention: Any, /, *, sign: Sign | None = None) -> Array:
        refuse_signed(sign)
        return each_map(definition, check_maps(attention), sign=sign)

    return cast("MapMetric", _as_called(metric))


def against(
    need: Literal["mask", "counts", "target", "density"], *, signed: bool = True
) -> Callable[[Callable[[Array, Array], Any]], PairMetric]:
    """Make a metric of a definition for one map and its mask (booleans), counts or soft target.

    With `signed=False` the metric is one of energies and refuses signed maps, as must every metric
    that changes when a number is added to the map.
    """
    checks: dict[str, tuple[str, Callable[[Any, Array, str], Array]]] = {
        "mask": ("mask", check_masks),
        "counts": ("mask", check_counts),
        "target": ("target", check_weights),
        "density": ("target", check_density),
    }
    name, check = checks[need]

    def decorate(definition: Callable[[Array, Array], Any]) -> PairMetric:
        @wraps(definition)
        def metric(attention: Any, target: Any, /, *, sign: Sign | None = None) -> Array:
            if not signed:
                refuse_signed(sign)
            maps = check_maps(attention)
            return each_map(definition, maps, check(target, maps, name), sign=sign)

        return cast("PairMetric", _as_called(metric, target=name))

    return decorate


def _as_called(metric: Any, target: str = "") -> Any:
    """Let help() show how a metric is called, not the definition that it wraps."""
    signature = inspect.signature(metric, follow_wrapped=False)
    own = [
        parameter.replace(name=target) if parameter.name == "target" else parameter
        for parameter in signature.parameters.values()
    ]
    metric.__signature__ = signature.replace(parameters=own)
    return metric


def refuse_signed(sign: Sign | None) -> None:
    """Raise where a signed map has no meaning."""
    if sign == "signed":
        raise InputError("a signed map has no energy: use sign 'positive' or 'absolute'")


def refuse_signed_selection(sign: Sign | None, threshold: Threshold | None) -> None:
    """Raise where pixels are selected by the energy that a signed map does not have."""
    if sign == "signed" and threshold is not None and threshold.kind in ("mass", "mean"):
        raise InputError(f"{threshold.kind} selection needs sign 'positive' or 'absolute'")


def _stack(values: Sequence[Any], maps: Array, lead: tuple[int, ...]) -> Array:
    """Stack numbers or arrays, one per map, into the leading shape."""
    xp = namespace(maps)
    device = {"device": maps.device} if is_torch(maps) else {}
    stacked = xp.stack([xp.asarray(value, dtype=xp.float64, **device) for value in values])
    shaped = xp.reshape(stacked, lead + tuple(stacked.shape[1:]))
    return shaped if shaped.shape else shaped[()]
