"""Where a map differs from another of the same image."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sightline.core import InputError
from sightline.results._grids import read

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.results.scored_map import OneMap

__all__ = ["Scale", "map_shift"]

Scale = Literal["raw", "share"]
"""Whether values are compared as they are, or as shares of their map's sum."""


def map_shift(a: OneMap, b: OneMap, scale: Scale = "raw") -> OneMap:
    """Return a map of what b has more than a; it is signed. Its `cells` are still those of b.

    Values are taken as they are scored: negative ones as 0 where the sign is "positive", without
    their signs where it is "absolute".

    Parameters
    ----------
    a, b
        Two maps of one image on one raster.
    scale
        ``"raw"``, or ``"share"``: each value divided by the sum of its map over the pixels that
        count, so that maps of methods with different units can be compared.

    Raises
    ------
    InputError
        If the maps are of two images or lie on different rasters; by shares, if one has no sum.
    """
    if a.image != b.image:
        raise InputError(f"both maps must be of one image; got {a.image!r} and {b.image!r}")
    if a.values.shape != b.values.shape or not np.allclose(a.place, b.place):
        shapes = " and ".join(" × ".join(map(str, one.values.shape)) for one in (a, b))
        raise InputError(
            f"both maps must lie on one raster; those of {a.key.told()} and {b.key.told()} have "
            f"{shapes} cells (a study with `resolution: pixels` scores all on one)"
        )
    values = _as_read(b, scale) - _as_read(a, scale)
    unseen = a.unseen if b.unseen is None else b.unseen
    if a.unseen is not None and b.unseen is not None:
        unseen = a.unseen | b.unseen
    return replace(b, values=values, unseen=unseen, sign="signed")


def _as_read(one: OneMap, scale: Scale) -> NDArray[Any]:
    values = np.asarray(read(np.asarray(one.values, np.float64), one.sign))
    if scale == "raw":
        return values
    kept = values if one.ignore is None else values[~one.ignore]
    total = float(kept.sum())
    if not total > 0:
        raise InputError(
            f"a map must have a positive sum to be compared by shares; {one.key.told()}"
        )
    return values / total
