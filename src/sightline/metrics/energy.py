"""Energy: how much of a map's sum lies inside the annotation."""

from __future__ import annotations

from sightline.core.arrays import Array, divide, namespace
from sightline.metrics._border import against
from sightline.metrics.selection import energy_of

__all__ = ["compute_coverage", "compute_energy_based_pointing_game", "compute_relevance_mass"]


@against("mask", signed=False)
def compute_coverage(values: Array, inside: Array) -> Array:
    """Share of the map's energy inside the annotation: Σ A·G / Σ A.

    Also called energy-based pointing game and relevance mass accuracy. Range [0, 1], higher is
    better, chance ``g``, the annotated share of the image. No threshold is involved. NaN for an
    empty annotation and for a map that sums to zero.

    Examples
    --------
    >>> import numpy as np
    >>> float(compute_coverage([[3.0, 1.0]], [[True, False]]))
    0.75

    References
    ----------
    Wang et al. (2020), Score-CAM, arXiv:1910.01279.
    """
    xp = namespace(values)
    energy, weight = energy_of(values), xp.astype(inside, xp.float64)
    empty = xp.sum(weight) == 0
    within = xp.where(empty, xp.full_like(weight, xp.nan), energy * weight)
    return divide(xp.sum(within), xp.sum(energy))


compute_energy_based_pointing_game = compute_coverage
compute_relevance_mass = compute_coverage
