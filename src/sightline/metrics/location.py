"""Location: whether the map points into the annotation."""

from __future__ import annotations

import math
from typing import Any

from sightline.core import InputError
from sightline.core.arrays import Array, namespace
from sightline.metrics._border import check_maps, check_masks, each_map
from sightline.metrics.selection import Sign, select

__all__ = [
    "compute_pointing_game",
    "dilate",
    "pointing_game_hit",
    "top_k_pointing_accuracy",
    "top_k_pointing_hit",
]


def pointing_game_hit(
    attention: Any, mask: Any, /, tolerance: float = 0, *, sign: Sign | None = None
) -> Array:
    """Whether the map's maximum lies inside the annotation; of tied maxima, the share that does.

    Range [0, 1], higher is better, chance ``g``, or the share of the image within `tolerance` of
    the annotation. NaN for an empty annotation.

    Parameters
    ----------
    attention, mask
        Maps ``(..., H, W)`` and the annotation.
    tolerance
        A maximum this many pixels of the map away from the annotation still hits. The published
        protocol allows 15 pixels at image scale: on a coarser map scale it down.
    sign
        As in `compute_iou`.

    Examples
    --------
    >>> float(pointing_game_hit([[1.0, 5.0], [5.0, 0.0]], [[0, 1], [0, 0]]))
    0.5

    References
    ----------
    Zhang et al. (2016), Top-down neural attention by excitation backprop, arXiv:1608.00507.
    """
    maps = check_maps(attention)
    masks = check_masks(mask, maps)
    near = dilate(masks, tolerance)
    xp = namespace(maps)

    def definition(values: Array, inside: Array) -> Array:
        if not bool(xp.any(inside)):
            return math.nan
        peak = xp.astype(values == xp.max(values), xp.float64)
        return xp.sum(peak * xp.astype(inside, xp.float64)) / xp.sum(peak)

    return each_map(definition, maps, near, sign=sign)


compute_pointing_game = pointing_game_hit


def dilate(masks: Array, radius: float, /) -> Array:
    """Grow masks ``(..., H, W)`` by a disc: all pixels within `radius` of a pixel of the mask.

    Examples
    --------
    >>> import numpy as np
    >>> dilate(np.array([[True, False, False]]), 1).tolist()
    [[True, True, False]]
    """
    if not (radius >= 0 and math.isfinite(radius)):
        raise InputError(f"tolerance must be a finite number of pixels ≥ 0; got {radius!r}")
    xp, (height, width) = namespace(masks), masks.shape[-2:]
    grown = masks
    for dy in range(min(math.floor(radius), height - 1) + 1):
        reach = min(math.floor(math.sqrt(radius**2 - dy**2)), width - 1)
        wide = _widen(masks, reach)
        still = xp.zeros_like(wide[..., :dy, :])
        down = xp.concat([still, wide[..., : height - dy, :]], axis=-2)
        up = xp.concat([wide[..., dy:, :], still], axis=-2)
        grown = grown | down | up
    return grown


def _widen(masks: Array, reach: int) -> Array:
    """Grow masks to the left and right by `reach` pixels, counting along each row."""
    xp, width = namespace(masks), masks.shape[-1]
    counts = xp.cumulative_sum(xp.astype(masks, xp.int64), axis=-1)
    before = xp.zeros_like(counts[..., :1])
    counts = xp.concat([before, counts], axis=-1)
    columns = xp.arange(width, device=counts.device)
    right = xp.where(columns + reach + 1 > width, width, columns + reach + 1)
    left = xp.where(columns - reach < 0, 0, columns - reach)
    return xp.take(counts, right, axis=-1) > xp.take(counts, left, axis=-1)


def top_k_pointing_accuracy(
    attention: Any, mask: Any, /, k: int = 5, *, sign: Sign | None = None
) -> Array:
    """Share of the k highest pixels that are annotated, tied ones in equal parts.

    Range [0, 1], higher is better, chance ``g``. NaN for an empty annotation and for a map of
    fewer than k pixels.

    Examples
    --------
    >>> float(top_k_pointing_accuracy([[4.0, 3.0], [2.0, 1.0]], [[1, 0], [1, 0]], 3))
    0.6666666666666666
    """
    maps, masks = _top(attention, mask, k)
    xp = namespace(maps)

    def definition(values: Array, inside: Array) -> Array:
        flat, weight = xp.reshape(values, (-1,)), xp.astype(xp.reshape(inside, (-1,)), xp.float64)
        if k > flat.shape[0] or not bool(xp.any(inside)):
            return math.nan
        return xp.sum(select(flat, k) * weight) / k

    return each_map(definition, maps, masks, sign=sign)


def top_k_pointing_hit(
    attention: Any, mask: Any, /, k: int = 5, *, sign: Sign | None = None
) -> Array:
    """Chance that at least one of the k highest pixels is annotated, ties broken at random.

    Range [0, 1], higher is better, chance ``1 − C(N − P, k) / C(N, k)``. NaN for an empty
    annotation and for a map of fewer than k pixels.

    Examples
    --------
    >>> float(top_k_pointing_hit([[4.0, 3.0], [2.0, 1.0]], [[0, 0], [1, 0]], 2))
    0.0
    """
    maps, masks = _top(attention, mask, k)
    xp = namespace(maps)

    def definition(values: Array, inside: Array) -> float:
        flat, chosen = xp.reshape(values, (-1,)), xp.reshape(inside, (-1,))
        if k > flat.shape[0] or not bool(xp.any(inside)):
            return math.nan
        cut = xp.sort(flat)[flat.shape[0] - k]
        above, tied = flat > cut, flat == cut
        if bool(xp.any(above & chosen)):
            return 1.0
        draws = k - int(xp.sum(xp.astype(above, xp.int64)))
        group = int(xp.sum(xp.astype(tied, xp.int64)))
        outside = group - int(xp.sum(xp.astype(tied & chosen, xp.int64)))
        return 1.0 - math.comb(outside, draws) / math.comb(group, draws)

    return each_map(definition, maps, masks, sign=sign)


def _top(attention: Any, mask: Any, k: int) -> tuple[Array, Array]:
    if k < 1 or k != int(k):
        raise InputError(f"k must be a whole number of pixels ≥ 1; got {k!r}")
    maps = check_maps(attention)
    return maps, check_masks(mask, maps)
