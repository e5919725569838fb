"""How alike two maps are: ranks, structure, directions of edges, and where they are highest.

Maps are divided by their root mean square first, never stretched from 0 to 1: the least and the
largest cell of a map say little about it, and Spearman, HOG and overlap do not depend on scale at
all. A map that is constant, or holds what is no number, is like nothing: NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sightline.core import InputError
from sightline.stats._ranks import centred_ranks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

__all__ = [
    "Views",
    "compare",
    "hog",
    "overlap",
    "resized",
    "scaled",
    "spearman",
    "ssim",
]

Floats: TypeAlias = NDArray[np.float64]

# SSIM: sides of its window, and its constants for maps whose root mean square is 1.
WINDOW = 7
_LUMINANCE, _CONTRAST = 0.01**2, 0.03**2
# HOG: the raster that all maps are brought to, the side of a cell, and directions in half a turn.
RASTER, CELL, DIRECTIONS = 112, 8, 9
_TINY = 1e-5
# Share of the cells that counts as highest.
TOP = 0.1


@dataclass(frozen=True, eq=False)
class Views:
    """What similarities need to know of maps; each is found once, whatever they are compared with.

    Attributes
    ----------
    maps : array (maps, rows, columns)
        Divided by their root mean square.
    ranks : array (maps, cells)
        Centred, of length 1; ties share their rank.
    edges : array (maps, features)
        HOG, centred, of length 1.
    top : array (maps, cells)
        How much of each cell is among the highest tenth, of length 1.
    windows : tuple of two arrays (maps, rows, columns)
        Mean and variance in each window of SSIM.
    """

    maps: Floats
    ranks: Floats
    edges: Floats
    top: Floats
    windows: tuple[Floats, Floats]

    @classmethod
    def of(cls, maps: ArrayLike) -> Views:
        """Return the views of maps `(maps, rows, columns)`."""
        values = scaled(maps)
        flat = values.reshape(len(values), -1)
        edges = _centred(_histograms(values))
        return cls(values, _ranks(flat), edges, _unit(_top(flat)), _windows(values))


def compare(first: Views, second: Views) -> dict[str, Floats]:
    """Return all similarities of two stacks of maps, pair by pair, by name.

    Examples
    --------
    >>> maps = np.random.default_rng(0).random((1, 14, 14))
    >>> same = compare(Views.of(maps), Views.of(3 * maps))
    >>> {name: round(float(value[0]), 6) for name, value in same.items()}
    {'spearman': 1.0, 'ssim': 1.0, 'hog': 1.0, 'overlap': 1.0}
    """
    _check_pair(first.maps, second.maps)
    return {
        "spearman": _products(first.ranks, second.ranks),
        "ssim": _ssim((first.maps, *first.windows), (second.maps, *second.windows)),
        "hog": _products(first.edges, second.edges),
        "overlap": _products(first.top, second.top),
    }


def scaled(maps: ArrayLike) -> Floats:
    """Return maps divided by their root mean square; NaN for one that is constant or not finite.

    Examples
    --------
    >>> scaled([[[3.0, -4.0]]]).round(3).tolist()
    [[[0.849, -1.131]]]
    """
    values = np.asarray(maps, np.float64)
    if values.ndim != 3 or not values[0:1].size:
        raise InputError(f"maps must be (maps, rows, columns), got shape {values.shape}")
    flat = values.reshape(len(values), -1)
    with np.errstate(invalid="ignore"):
        most = np.abs(flat).max(axis=1)
        plain = ~np.isfinite(flat).all(axis=1) | (flat.max(axis=1) == flat.min(axis=1))
    # By the largest first: squares of tiny or huge values would vanish or overflow.
    small = flat / np.where(plain, 1.0, most)[:, None]
    small[plain] = np.nan
    found: Floats = small / np.sqrt(np.square(small).mean(axis=1, keepdims=True))
    return found.reshape(values.shape)


def spearman(first: ArrayLike, second: ArrayLike) -> Floats:
    """Return Spearman's rank correlation of maps, pair by pair; ties share their rank.

    Examples
    --------
    >>> spearman([[[1, 2], [3, 4]]], [[[1, 4], [9, 16]]]).round(6).tolist()
    [1.0]
    """
    a, b = _pair(first, second)
    return _products(_ranks(_flat(a)), _ranks(_flat(b)))


def ssim(first: ArrayLike, second: ArrayLike) -> Floats:
    """Return the structural similarity of maps, pair by pair.

    The mean over all windows of 7 x 7 cells that lie on the map (of a smaller map, as many as it
    has along a side), with equal weights, and constants for a range of 1, which is the root mean
    square of each map. A window whose means have opposite signs counts 0: as the formula stands,
    a map would be like its own inverse, since both of its factors turn negative.

    References
    ----------
    Wang et al. 2004, Image quality assessment: from error visibility to structural similarity.
    """
    a, b = _pair(first, second)
    return _ssim((a, *_windows(a)), (b, *_windows(b)))


def hog(first: ArrayLike, second: ArrayLike) -> Floats:
    """Return the correlation of the maps' histograms of gradients, pair by pair.

    Maps are brought to 112 x 112 pixels, so that grids of any size can be compared: cells of 8 x 8,
    9 directions in half a turn, each cell's histogram of length 1. NaN where a map's cells have
    all the same histogram.

    References
    ----------
    Dalal and Triggs 2005, Histograms of oriented gradients for human detection.
    """
    a, b = _pair(first, second)
    return _products(_centred(_histograms(a)), _centred(_histograms(b)))


def overlap(first: ArrayLike, second: ArrayLike) -> Floats:
    """Return how far the highest tenths of two maps are the same cells, pair by pair.

    The share of the one that is in the other; about 0.1 by chance. Where equal cells could all be
    the last to get in, each takes an equal share, and the cosine of the shares is taken.

    Examples
    --------
    >>> maps = np.arange(20.0).reshape(1, 4, 5)
    >>> overlap(maps, maps).round(6).tolist(), overlap(maps, -maps).tolist()
    ([1.0], [0.0])
    """
    a, b = _pair(first, second)
    return _products(_unit(_top(_flat(a))), _unit(_top(_flat(b))))


def _pair(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    a, b = scaled(first), scaled(second)
    _check_pair(a, b)
    return a, b


def _check_pair(first: Floats, second: Floats) -> None:
    if first.shape != second.shape:
        raise InputError(f"maps must have one shape, got {first.shape} and {second.shape}")


def _flat(maps: Floats) -> Floats:
    return maps.reshape(len(maps), -1)


def _products(first: Floats, second: Floats) -> Floats:
    """Return the inner products of vectors of length 1."""
    found: Floats = np.clip(np.einsum("mi,mi->m", first, second), -1, 1)
    return found


def _centred(values: Floats) -> Floats:
    return _unit(values - values.mean(axis=1, keepdims=True))


def _unit(values: Floats) -> Floats:
    """Return vectors divided by their length; NaN where they are but noise."""
    length = np.sqrt(np.square(values).sum(axis=1, keepdims=True))
    return values / np.where(length > 1e-9, length, np.nan)


def _ranks(flat: Floats) -> Floats:
    """Return the ranks of cells, centred and of length 1; ties share the mean of theirs."""
    return np.where(np.isnan(flat), np.nan, _unit(centred_ranks(flat)))


def _top(flat: Floats) -> Floats:
    """Return how much of each cell is among the highest tenth; at least one cell is."""
    count = flat.shape[1]
    wanted = max(1, round(TOP * count))
    known = np.nan_to_num(flat)
    least = np.partition(known, count - wanted, axis=1)[:, count - wanted, None]
    above, level = known > least, known == least
    share = (wanted - above.sum(axis=1)) / level.sum(axis=1)
    return np.where(np.isnan(flat), np.nan, above + level * share[:, None])


def _ssim(first: Sequence[Floats], second: Sequence[Floats]) -> Floats:
    """Return SSIM from maps with the means and variances of their windows.

    Pair by pair: what is computed of one pair stays in the caches of a processor.
    """
    pairs = (
        tuple(part[place : place + 1] for part in (*first, *second))
        for place in range(len(first[0]))
    )
    return np.array([_structural(*pair)[0] for pair in pairs])


def _structural(
    one: Floats,
    mean: Floats,
    spread: Floats,
    other: Floats,
    mean_other: Floats,
    spread_other: Floats,
) -> Floats:
    """Return SSIM of two maps of the same shape, each with mean and variance in its windows."""
    product = mean * mean_other
    both = _window_means(one * other) - product
    level = (2 * product + _LUMINANCE) / (mean**2 + mean_other**2 + _LUMINANCE)
    structure = (2 * both + _CONTRAST) / (spread + spread_other + _CONTRAST)
    found: Floats = (np.maximum(level, 0) * structure).mean(axis=(1, 2))
    return found


def _windows(maps: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance in each window that lies on a map."""
    mean = _window_means(maps)
    return mean, np.maximum(_window_means(maps * maps) - mean * mean, 0)


def _window_means(values: Floats) -> Floats:
    """Return the mean of each window that lies on a map; along one side, then along the other."""
    from scipy.ndimage import uniform_filter1d

    found = values
    for axis in (1, 2):
        side = min(WINDOW, values.shape[axis])
        inside = slice(side // 2, side // 2 + values.shape[axis] - side + 1)
        means = uniform_filter1d(found, side, axis=axis)
        found = means[:, inside] if axis == 1 else means[:, :, inside]
    return found


def _histograms(maps: Floats) -> Floats:
    """Return how strong the edges of each direction are in each cell: `(maps, features)`."""
    # Rounding errors of equal cells would turn edges by half a circle.
    pixels = np.round(resized(maps, (RASTER, RASTER)), 9)
    across, down = np.zeros_like(pixels), np.zeros_like(pixels)
    across[:, :, 1:-1] = pixels[:, :, 2:] - pixels[:, :, :-2]
    down[:, 1:-1] = pixels[:, 2:] - pixels[:, :-2]
    angles = np.rad2deg(np.arctan2(down, across)) % 180
    strength = np.hypot(across, down)
    # An angle of 180 - 1e-17 degrees is 180 in numbers: the last direction.
    bins = np.minimum(np.nan_to_num(angles) * DIRECTIONS // 180, DIRECTIONS - 1)
    cells = RASTER // CELL
    found = np.stack(
        [
            np.where(bins == one, strength, 0)
            .reshape(len(maps), cells, CELL, cells, CELL)
            .mean(axis=(2, 4))
            for one in range(DIRECTIONS)
        ],
        axis=-1,
    )
    lengths = np.sqrt(np.square(found).sum(axis=-1, keepdims=True) + _TINY**2)
    found = (found / lengths).reshape(len(maps), -1)
    return np.where(np.isnan(maps[:, :1, 0]), np.nan, found)


def resized(maps: Floats, size: tuple[int, int]) -> Floats:
    """Return maps `(maps, rows, columns)` with another number of rows and columns.

    Fewer cells take the mean of what they cover; more are interpolated between centres. Equal
    cells stay equal.
    """
    found = maps
    for axis, count in zip((1, 2), size, strict=True):
        if found.shape[axis] != count:
            last = np.moveaxis(found, axis, -1)
            fewer = count < found.shape[axis]
            found = np.moveaxis((_means if fewer else _between)(last, count), -1, axis)
    return found


def _between(values: Floats, count: int) -> Floats:
    """Return so many values along the last axis, interpolated between the centres of fewer."""
    old = values.shape[-1]
    places = np.clip((np.arange(count) + 0.5) * old / count - 0.5, 0, old - 1)
    low = np.minimum(places.astype(int), max(old - 2, 0))
    start = values[..., low]
    found: Floats = start + (values[..., np.minimum(low + 1, old - 1)] - start) * (places - low)
    return found


def _means(values: Floats, count: int) -> Floats:
    """Return the means of so many equal parts of the last axis."""
    old = values.shape[-1]
    if old % count == 0:
        found: Floats = values.reshape(*values.shape[:-1], count, old // count).mean(axis=-1)
        return found
    edges, cells = np.linspace(0, old, count + 1), np.arange(old)
    stops = np.minimum(edges[1:, None], cells + 1)
    shared = np.maximum(stops - np.maximum(edges[:-1, None], cells), 0) * count / old
    parts: Floats = np.einsum("...o,no->...n", values, shared)
    return parts
