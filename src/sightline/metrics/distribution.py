"""Distribution: the map and a soft target as densities over the image.

A soft target is high in the middle of each region and fades towards its edges: see `soft_target`.
`score_maps` and studies make it from the box of each region's pixels on the map, whose edges are
rounded to whole pixels; a box off the pixels' edges, given to `soft_target` itself, keeps its own.
Points are no target: see `compute_point_density`. NSS and information gain look at the annotated
pixels alone and take a mask, or how often each pixel was fixated.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

from sightline.core.arrays import Array, namespace, to_numpy
from sightline.core.raster import soft_target
from sightline.metrics._border import (
    against,
    check_counts,
    check_maps,
    check_weights,
    each_map,
    find_fixated,
    refuse_signed,
)
from sightline.metrics.selection import Sign, energy_of

__all__ = [
    "compute_cc",
    "compute_emd",
    "compute_information_gain",
    "compute_kl",
    "compute_mse",
    "compute_nss",
    "compute_sim",
    "soft_target",
]

EPSILON = 2.220446049250313e-16
"""Keeps logarithms of empty pixels finite, as in the saliency benchmarks."""
EMD_CELLS = 32


def _density(values: Array) -> Array | None:
    """Scale to sum 1; None if there is nothing to scale."""
    xp = namespace(values)
    energy = energy_of(values)
    total = xp.sum(energy)
    return None if float(total) == 0 else energy / total


@against("counts")
def compute_nss(values: Array, inside: Array) -> Array:
    """Normalised scanpath saliency: mean over annotated pixels of (A − mean A) / std A.

    Unbounded, higher is better, chance 0; a constant map scores 0. The standard deviation is the
    population's. The mask may hold counts of fixations: each repeat then counts. Defined for signed
    maps too. NaN for an empty annotation.

    Examples
    --------
    >>> float(compute_nss([[1.0, 0.0], [0.0, 1.0]], [[1, 0], [0, 0]]))
    1.0
    >>> round(float(compute_nss([[4.0, 1.0, 1.0, 0.0]], [[2, 0, 0, 1]])), 3)  # fixated thrice
    0.778

    References
    ----------
    Peters et al. (2005); Bylinskii et al. (2018), arXiv:1604.03605.
    """
    xp = namespace(values)
    fixated = find_fixated(inside)
    if not bool(xp.any(fixated)):
        return math.nan
    centred = _centred(values)
    return 0.0 if centred is None else _mean_over(centred[fixated], inside[fixated])


def _mean_over(values: Array, counts: Array) -> Array:
    """Return the mean over annotated pixels, or over fixations where they are counted."""
    xp = namespace(values)
    if xp.isdtype(counts.dtype, "bool"):
        return xp.mean(values)
    return xp.sum(values * counts) / xp.sum(counts)


def _centred(values: Array) -> Array | None:
    """Subtract the mean and divide by the standard deviation; None for a constant array."""
    xp = namespace(values)
    if bool(xp.max(values) == xp.min(values)):
        return None
    values = values / xp.max(xp.abs(values))  # squares neither overflow nor vanish
    values = values - xp.mean(values)
    deviation = xp.sqrt(xp.mean(values * values))
    return None if float(deviation) == 0 else values / deviation


@against("density")
def compute_cc(values: Array, wanted: Array) -> Array:
    """Pearson correlation between map and soft target.

    Range [−1, 1], higher is better, chance 0; a constant map scores 0. Defined for signed maps too.
    `score_maps` makes the target of the regions' boxes in whole pixels. NaN for a constant target.
    A target made of points is refused, as by SIM and KL: see `compute_point_density`.

    Examples
    --------
    >>> round(float(compute_cc([[3.0, 1.0]], [[1.0, 0.5]])), 12)
    1.0

    References
    ----------
    Bylinskii et al. (2018), What do different evaluation metrics tell us about saliency models?,
    arXiv:1604.03605.
    """
    xp = namespace(values)
    expected, centred = _centred(wanted), _centred(values)
    if expected is None:
        return math.nan
    return 0.0 if centred is None else xp.mean(centred * expected)


@against("density", signed=False)
def compute_sim(values: Array, wanted: Array) -> Array:
    """Similarity: the common part of map and target, both scaled to sum 1: Σ min(A, T).

    Range [0, 1], higher is better. No chance value; a uniform map's value is given as reference.
    `score_maps` makes the target of the regions' boxes in whole pixels. NaN for a map or target
    that sums to zero.

    Examples
    --------
    >>> float(compute_sim([[3.0, 1.0]], [[1.0, 1.0]]))
    0.75

    References
    ----------
    Bylinskii et al. (2018), arXiv:1604.03605.
    """
    xp = namespace(values)
    found, expected = _density(values), _density(wanted)
    if found is None or expected is None:
        return math.nan
    return xp.sum(xp.where(found < expected, found, expected))


@against("density", signed=False)
def compute_kl(values: Array, wanted: Array) -> Array:
    """Kullback–Leibler divergence of the map from the target: Σ T log(ε + T / (ε + A)).

    Both are scaled to sum 1. Range [0, ∞) up to ε, lower is better. No chance value; a uniform
    map's value is given as reference. `score_maps` makes the target of the regions' boxes in whole
    pixels. NaN for a map or target that sums to zero.

    Examples
    --------
    >>> round(float(compute_kl([[1.0, 1.0]], [[1.0, 0.0]])), 4)
    0.6931

    References
    ----------
    Bylinskii et al. (2018), arXiv:1604.03605.
    """
    xp = namespace(values)
    found, expected = _density(values), _density(wanted)
    if found is None or expected is None:
        return math.nan
    return xp.sum(expected * xp.log(EPSILON + expected / (EPSILON + found)))


def compute_information_gain(
    attention: Any, mask: Any, /, baseline: Any = None, *, sign: Sign | None = None
) -> Array:
    """Bits per annotated pixel that the map knows beyond a baseline map.

    ``mean over annotated pixels of log2(ε + A) − log2(ε + B)``, both scaled to sum 1; without a
    baseline B is uniform. Unbounded, higher is better, chance 0. The mask may hold counts of
    fixations: each repeat then counts. NaN for an empty annotation, and for a map or baseline that
    sums to zero.

    Examples
    --------
    >>> round(float(compute_information_gain([[1.0, 0.0]], [[1, 0]])), 6)
    1.0

    References
    ----------
    Kümmerer et al. (2015), Information-theoretic model comparison unifies saliency metrics.
    """
    refuse_signed(sign)
    maps = check_maps(attention)
    masks = check_counts(mask, maps)
    xp = namespace(maps)
    uniform = xp.ones_like(xp.astype(maps, xp.float64))
    prior = uniform if baseline is None else check_weights(baseline, maps, "baseline")

    def definition(values: Array, inside: Array, before: Array) -> Array:
        found, expected, fixated = _density(values), _density(before), find_fixated(inside)
        if found is None or expected is None or not bool(xp.any(fixated)):
            return math.nan
        gain = xp.log2(EPSILON + found[fixated]) - xp.log2(EPSILON + expected[fixated])
        return _mean_over(gain, inside[fixated])

    return each_map(definition, maps, masks, prior, sign=sign)


def compute_mse(attention: Any, target: Any, /, *, sign: Sign | None = None) -> Array:
    """Mean squared difference to the soft target, the map scaled to maximum 1.

    Range [0, 1], lower is better. It rewards dark maps, since most of a target is near 0, and says
    so with a warning. No chance value; a uniform map's value is given as reference. `score_maps`
    makes the target of the regions' boxes in whole pixels. NaN for an empty target.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     float(compute_mse([[2.0, 0.0]], [[1.0, 1.0]]))
    0.5
    """
    value = _squared_error(attention, target, sign=sign)
    warnings.warn("MSE rewards dark maps: do not rank by it", UserWarning, stacklevel=2)
    return value


@against("density", signed=False)
def _squared_error(values: Array, wanted: Array) -> Array:
    xp = namespace(values)
    if not bool(xp.any(wanted > 0)):
        return math.nan
    top = xp.max(values)
    scaled = values / top if float(top) > 0 else values
    return xp.mean((scaled - wanted) ** 2)


@against("target", signed=False)
def compute_emd(values: Array, wanted: Array) -> float:
    """Earth mover's distance between map and target, both scaled to sum 1.

    The least share of mass times distance, in image diagonals, that turns one into the other.
    Range [0, 1], lower is better. Maps are first pooled to at most 32 × 32 cells. No chance value;
    a uniform map's value is given as reference. `score_maps` makes the target of the regions' boxes
    in whole pixels. NaN for a map or target that sums to zero.

    Examples
    --------
    >>> round(float(compute_emd([[1.0, 0.0]], [[0.0, 1.0]])), 4)
    0.4472

    References
    ----------
    Rubner et al. (2000), The earth mover's distance as a metric for image retrieval; Flamary et
    al. (2021), POT: Python optimal transport.
    """
    found, expected = _density(values), _density(wanted)
    if found is None or expected is None:
        return math.nan
    return _transport(to_numpy(found), to_numpy(expected))


def _transport(found: Any, expected: Any) -> float:
    import numpy as np
    import ot

    height, width = found.shape
    rows, columns = _pooling(height), _pooling(width)
    found, expected = rows @ found @ columns.T, rows @ expected @ columns.T
    # Cell centres in units of the image's diagonal.
    y = (np.arange(len(rows)) + 0.5) * height / len(rows)
    x = (np.arange(len(columns)) + 0.5) * width / len(columns)
    places = np.stack([axis.ravel() for axis in np.meshgrid(y, x, indexing="ij")], axis=1)
    cost = np.linalg.norm(places[:, None] - places[None], axis=2) / math.hypot(height, width)
    supply, demand = found.ravel() / found.sum(), expected.ravel() / expected.sum()
    give, take = supply > 0, demand > 0
    return float(ot.emd2(supply[give], demand[take], cost[np.ix_(give, take)], numItermax=10**7))


def _pooling(size: int) -> Any:
    """Matrix that pools `size` pixels into at most 32 cells, dividing pixels between cells."""
    import numpy as np

    cells = min(size, EMD_CELLS)
    edges = np.linspace(0, size, cells + 1)
    pixels = np.arange(size)
    overlap = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    return np.clip(overlap, 0, 1)
