"""Complexity: how concentrated a map is, whatever is annotated."""

from __future__ import annotations

import math

from sightline.core.arrays import Array, namespace
from sightline.metrics._border import of_map
from sightline.metrics.selection import energy_of

__all__ = ["compute_entropy", "compute_gini", "compute_sparsity"]


@of_map
def compute_entropy(values: Array) -> Array:
    """Shannon entropy of the map's distribution over the pixels: −Σ p log p / log N, p = A / Σ A.

    Range [0, 1]: 0 for a single pixel, 1 for a constant map. Neither is better. NaN for a map that
    sums to zero or has one pixel.

    Examples
    --------
    >>> float(compute_entropy([[1.0, 1.0], [0.0, 0.0]]))
    0.5

    References
    ----------
    Bhatt et al. (2020), Evaluating and aggregating feature-based model explanations,
    arXiv:2005.00631.
    """
    xp = namespace(values)
    energy = energy_of(xp.reshape(values, (-1,)))
    total = xp.sum(energy)
    if float(total) == 0 or energy.shape[0] == 1:
        return math.nan
    share = energy / total
    share = share[share > 0]
    return -xp.sum(share * xp.log(share)) / math.log(energy.shape[0])


@of_map
def compute_gini(values: Array) -> Array:
    """Gini index of the map: Σ (2i − N − 1) A₍ᵢ₎ / (N Σ A), values in ascending order.

    Range [0, 1): 0 for a constant map, 1 − 1/N for a single pixel. Neither is better. NaN for a
    map that sums to zero.

    Examples
    --------
    >>> float(compute_gini([[1.0, 0.0], [0.0, 0.0]]))
    0.75

    References
    ----------
    Chalasani et al. (2020), Concise explanations of neural networks, arXiv:1810.06583.
    """
    xp = namespace(values)
    energy = xp.sort(energy_of(xp.reshape(values, (-1,))))
    n, total = energy.shape[0], xp.sum(energy)
    if float(total) == 0:
        return math.nan
    rank = xp.arange(1, n + 1, dtype=xp.float64, device=energy.device)
    return xp.sum((2 * rank - n - 1) * (energy / total)) / n


@of_map
def compute_sparsity(values: Array) -> Array:
    """Hoyer sparsity: (√N − Σ A / √(Σ A²)) / (√N − 1).

    Range [0, 1]: 0 for a constant map, 1 for a single pixel. Neither is better. NaN for a map that
    sums to zero or has one pixel.

    Examples
    --------
    >>> float(compute_sparsity([[1.0, 0.0], [0.0, 0.0]]))
    1.0

    References
    ----------
    Hoyer (2004), Non-negative matrix factorization with sparseness constraints.
    """
    xp = namespace(values)
    flat = xp.reshape(values, (-1,))
    root, top = math.sqrt(flat.shape[0]), xp.max(flat)
    if float(top) == 0 or flat.shape[0] == 1:
        return math.nan
    flat = flat / top  # squares neither overflow nor vanish
    return (root - xp.sum(flat) / xp.sqrt(xp.sum(flat * flat))) / (root - 1)
