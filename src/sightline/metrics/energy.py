"""Energy: how much of a map's sum lies inside the annotation."""

from __future__ import annotations

from typing import Any

from sightline._arrays import Array, divide, namespace
from sightline.metrics._border import check_maps, check_masks, each_map
from sightline.metrics.selection import Sign, energy_of
from sightline.records import InputError

__all__ = ["compute_coverage", "compute_energy_based_pointing_game", "compute_relevance_mass"]


def compute_coverage(attention: Any, mask: Any, /, *, sign: Sign = "positive") -> Array:
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
    if sign == "signed":
        raise InputError("coverage of a signed map is undefined; use sign 'positive' or 'absolute'")
    maps = check_maps(attention)
    masks = check_masks(mask, maps)
    xp = namespace(maps)

    def definition(values: Array, inside: Array) -> Array:
        energy, weight = energy_of(values), xp.astype(inside, xp.float64)
        empty = xp.sum(weight) == 0
        within = xp.where(empty, xp.full_like(weight, xp.nan), energy * weight)
        return divide(xp.sum(within), xp.sum(energy))

    return each_map(definition, maps, masks, sign=sign)


compute_energy_based_pointing_game = compute_coverage
compute_relevance_mass = compute_coverage
