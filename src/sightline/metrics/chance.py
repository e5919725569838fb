"""Chance and ceiling: what an IoU or an average precision must be read against.

Letters: ``a`` selected share, ``g`` annotated share of the image.
"""

from __future__ import annotations

import math
from typing import Any

from sightline._arrays import Array, as_array, divide, is_torch, namespace, nan_where, to_numpy
from sightline.records import InputError

__all__ = [
    "average_precision_random",
    "chance_corrected_iou",
    "iou_ceiling",
    "iou_chance",
    "mean_corrected_iou",
    "top_k_any_chance",
]


def iou_chance(a: Any, g: Any, /, *, pixels: int | None = None) -> Array:
    """Expected IoU of a selection that knows nothing: a g / (a + g − a g).

    Parameters
    ----------
    a, g
        Selected and annotated share of the image.
    pixels
        If given, the exact mean over all placements of the selection in an image of that many
        pixels (hypergeometric) instead of the closed form; a fractional pixel is interpolated.

    Examples
    --------
    >>> round(iou_chance(0.10, 0.103), 4), round(iou_chance(0.10, 0.103, pixels=1000), 4)
    (0.0535, 0.0537)
    """
    if pixels is not None:
        return _exact_chance(float(a), float(g), pixels)
    if isinstance(a, int | float) and isinstance(g, int | float):
        return a * g / (a + g - a * g) if a + g else math.nan
    a, g = as_array(a), as_array(g)
    return divide(a * g, a + g - a * g)


def _exact_chance(a: float, g: float, pixels: int) -> float:
    from scipy.stats import hypergeom

    def mean(selected: int, annotated: int) -> float:
        if selected + annotated == 0:
            return math.nan
        law = hypergeom(pixels, annotated, selected)
        hits = range(max(0, selected + annotated - pixels), min(selected, annotated) + 1)
        return math.fsum(law.pmf(h) * h / (selected + annotated - h) for h in hits)

    annotated = round(g * pixels)
    if abs(annotated - g * pixels) > 1e-6:
        raise InputError(f"g = {g} is not a whole number of {pixels} pixels")
    low = math.floor(a * pixels + 1e-9)
    part = max(a * pixels - low, 0.0)
    exact = mean(low, annotated)
    return exact if part < 1e-9 else (1 - part) * exact + part * mean(low + 1, annotated)


def iou_ceiling(a: Any, g: Any, /) -> Array:
    """Largest IoU possible at the areas a and g: min(a, g) / max(a, g).

    Examples
    --------
    >>> round(iou_ceiling(0.5, 0.103), 3)
    0.206
    """
    if isinstance(a, int | float) and isinstance(g, int | float):
        return min(a, g) / max(a, g) if max(a, g) else math.nan
    a, g = as_array(a), as_array(g)
    xp = namespace(a, g)
    return divide(xp.where(a < g, a, g), xp.where(a < g, g, a))


def chance_corrected_iou(iou: Any, a: Any, g: Any, /) -> Array:
    """(IoU − chance) / (ceiling − chance); NaN where a or g is 0 or 1.

    Examples
    --------
    >>> round(float(chance_corrected_iou(0.25, 0.10, 0.103)), 3)
    0.214
    """
    iou, a, g = as_array(iou), as_array(a), as_array(g)
    namespace(iou, a, g)
    chance = iou_chance(a, g)
    value = divide(iou - chance, iou_ceiling(a, g) - chance)
    trivial = (a == 0) | (a == 1) | (g == 0) | (g == 1)
    return nan_where(trivial, value)


def mean_corrected_iou(iou: Any, a: Any, g: Any, /) -> float:
    """Chance-corrected IoU of a data set: Σ (IoU − chance) / Σ (ceiling − chance).

    The ratio of sums keeps images in which hardly anything can be won from shouting down the
    others. Images where the correction is undefined are left out.

    Examples
    --------
    >>> round(mean_corrected_iou([0.25, 0.1], [0.1, 0.1], [0.103, 0.5]), 3)
    0.2
    """
    iou, a, g = as_array(iou), as_array(a), as_array(g)
    xp = namespace(iou, a, g)
    valid = xp.isfinite(chance_corrected_iou(iou, a, g))
    chance, ceiling = iou_chance(a, g)[valid], iou_ceiling(a, g)[valid]
    room = float(xp.sum(ceiling - chance))
    return float(xp.sum(iou[valid] - chance)) / room if room else math.nan


def average_precision_random(inside: Any, pixels: Any, /) -> Array:
    """Mean average precision of a random ranking: (H_N + (P − 1)(N − H_N)/(N − 1)) / N.

    ``inside`` is P, the annotated pixels, ``pixels`` is N, and H_N the N-th harmonic number. It is
    a little above the share P/N, which is what a map of equal values gets. NaN for P = 0.

    Examples
    --------
    >>> round(float(average_precision_random(10, 100)), 4)
    0.1381
    """
    inside = as_array(inside) * 1.0
    total = _like(pixels, inside)
    xp = namespace(inside, total)
    harmonic = _like(_harmonics(pixels), inside)
    others = xp.where(total > 1, total - 1, xp.ones_like(total))
    rest = (inside - 1) * (total - harmonic) / others
    return nan_where(inside == 0, divide(harmonic + rest, total))


def _like(numbers: Any, array: Array) -> Array:
    """Return one number, or one for each item, as floats where `array` is."""
    xp = namespace(array)
    device = {"device": array.device} if is_torch(array) else {}
    return xp.asarray(numbers, dtype=xp.float64, **device) + xp.zeros_like(array)


def _harmonics(pixels: Any) -> Any:
    if isinstance(pixels, int):
        return _harmonic(pixels)
    return [_harmonic(int(n)) for n in to_numpy(pixels)]


def _harmonic(n: int) -> float:
    """Return 1 + 1/2 + … + 1/n to the last digits."""
    if n < 1000:
        return math.fsum(1 / i for i in range(1, n + 1))
    return math.log(n) + 0.5772156649015329 + 1 / (2 * n) - 1 / (12 * n**2) + 1 / (120 * n**4)


def top_k_any_chance(inside: Any, pixels: Any, k: int, /) -> Array:
    """Chance that k random pixels include an annotated one: 1 − C(N − P, k) / C(N, k).

    NaN where there are fewer than k pixels.

    Examples
    --------
    >>> round(float(top_k_any_chance(10, 100, 5)), 4)
    0.4162
    """
    inside = as_array(inside) * 1.0
    total = _like(pixels, inside)
    missed = nan_where(total < k, namespace(inside).ones_like(inside))
    for i in range(k):
        missed = missed * divide(total - inside - i, total - i)  # 0 once too few are outside
    return 1 - missed
