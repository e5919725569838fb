"""Chance and ceiling: what an IoU or an average precision must be read against.

Letters: ``a`` selected share, ``g`` annotated share of the image.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import Array, as_array, divide, is_torch, namespace, nan_where, to_numpy

__all__ = [
    "average_precision_random",
    "chance_corrected_iou",
    "iou_ceiling",
    "iou_chance",
    "mean_corrected_iou",
    "top_k_any_chance",
]


def iou_chance(a: Any, g: Any, /, *, pixels: Any = None) -> Array:
    """Expected IoU of a selection that knows nothing: a g / (a + g − a g).

    Parameters
    ----------
    a, g
        Selected and annotated share of the image.
    pixels
        If given, the exact mean over all placements of the selection in an image of that many
        pixels (hypergeometric) instead of the closed form; a fractional pixel is interpolated. One
        number, or one for each pair of shares.

    Examples
    --------
    >>> round(iou_chance(0.10, 0.103), 4), round(iou_chance(0.10, 0.103, pixels=1000), 4)
    (0.0535, 0.0537)
    """
    if pixels is not None:
        return _exact_chance(a, g, pixels)
    if isinstance(a, int | float) and isinstance(g, int | float):
        return a * g / (a + g - a * g) if a + g else math.nan
    a, g = as_array(a), as_array(g)
    return divide(a * g, a + g - a * g)


def _exact_chance(a: Any, g: Any, pixels: Any) -> Any:
    """Return the exact mean, a number for numbers and a numpy array for arrays."""
    given = [np.asarray(to_numpy(value), np.float64) for value in (a, g, pixels)]
    a, g, pixels = (value.ravel() for value in np.broadcast_arrays(*given))
    _check_shares(a, g, pixels)
    a, g = np.minimum(a, 1), np.minimum(g, 1)  # what is above is rounding
    annotated = np.rint(g * pixels)
    # A share may have been kept in float32.
    odd = np.abs(annotated - g * pixels) > 1e-6 + pixels * 2.0**-24
    if odd.any():
        first = int(np.argmax(odd))
        raise InputError(f"g = {g[first]} is not a whole number of {int(pixels[first])} pixels")
    low = np.minimum(np.floor(a * pixels + 1e-9), pixels)
    part = a * pixels - low
    part = np.where(part < 1e-9, 0, part)
    exact = _placement_means(low, annotated, pixels)
    between = part > 0
    above = _placement_means(low[between] + 1, annotated[between], pixels[between])
    exact[between] = (1 - part[between]) * exact[between] + part[between] * above
    shape = np.broadcast_shapes(*(value.shape for value in given))
    return exact.reshape(shape) if shape else float(exact[0])


def _check_shares(a: Any, g: Any, pixels: Any) -> None:
    for name, share in (("a", a), ("g", g)):
        odd = (share < 0) | (share > 1 + 1e-9)
        if odd.any():
            raise InputError(f"{name} must be a share in [0, 1]; got {share[odd][0]}")
    odd = ~((pixels >= 1) & (pixels == np.rint(pixels)))
    if odd.any():
        raise InputError(f"pixels must be whole numbers of at least 1; got {pixels[odd][0]}")


def _placement_means(selected: Any, annotated: Any, pixels: Any) -> Any:
    """Return the mean IoU over all placements of so many selected pixels; flat arrays."""
    triples = np.stack([selected, annotated, pixels], axis=1)
    different, place = np.unique(triples, axis=0, return_inverse=True)
    # Beyond this distance from the mean lie less than 1e-16 of the placements (Hoeffding).
    reach = np.sqrt(19 * np.minimum(different[:, 0], different[:, 1])) + 2
    means = np.full(len(different), np.nan)
    order = np.argsort(reach)  # NaN last
    step = 256
    for start in range(0, len(order), step):
        rows = order[start : start + step]
        rows = rows[np.isfinite(reach[rows])]
        if len(rows):
            means[rows] = _hypergeometric_means(different[rows].T, reach[rows])
    return means[place.ravel()]


def _hypergeometric_means(counts: Any, reach: Any) -> Any:
    """Return the means of hits / (selected + annotated − hits), over hits within reach."""
    selected, annotated, pixels = counts
    centre = selected * annotated / pixels
    least = np.maximum(np.maximum(0, selected + annotated - pixels), np.floor(centre - reach))
    most = np.minimum(np.minimum(selected, annotated), np.ceil(centre + reach))
    hits = least[:, None] + np.arange(int((most - least).max()) + 1)
    k, p, n = selected[:, None], annotated[:, None], pixels[:, None]
    inside = hits <= most[:, None]
    up = np.where(hits < most[:, None], (k - hits) * (p - hits), 1)
    down = np.where(hits < most[:, None], (hits + 1) * (n - k - p + hits + 1), 1)
    # Ratios of neighbours, added up as logarithms, and scaled by the sum: no factorial needed.
    steps = np.log(up) - np.log(down)
    logs = np.concatenate([np.zeros_like(k), np.cumsum(steps, axis=1)[:, :-1]], axis=1)
    weight = np.where(
        inside, np.exp(logs - np.where(inside, logs, -np.inf).max(axis=1)[:, None]), 0
    )
    union = np.where(inside, k + p - hits, 1)
    iou = divide(np.where(inside, hits, 0), union)
    return (weight * iou).sum(axis=1) / weight.sum(axis=1)


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
    if isinstance(numbers, int | float):  # a device would have to wait for an array of the host
        return xp.full_like(array, numbers)
    device = {"device": array.device} if is_torch(array) else {}
    return xp.asarray(numbers, dtype=xp.float64, **device) + xp.zeros_like(array)


def _harmonics(pixels: Any) -> Any:
    counts = to_numpy(pixels)
    if not counts.ndim:
        return _harmonic(int(counts))
    return [_harmonic(int(n)) for n in counts]


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
