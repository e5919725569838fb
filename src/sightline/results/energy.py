"""Where the energy of maps lies: how much of it is annotated among their brightest pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.results._grids import read, spread_over

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from sightline.results._lines import Line
    from sightline.results.map_reader import LineMaps, Scenes

    Progress = Callable[[int, int, str], object]

__all__ = ["Energy", "cumulative_energy", "energy_curve"]

POINTS = 101
IMAGES = 500
"""Images that are used unless said otherwise."""
_LEVELS = 1 << 14


class Energy(NamedTuple):
    """How energy gathers.

    Attributes
    ----------
    table : DataFrame
        place (of the line), x (share of pixels, the brightest first), value (mean share of a map's
        whole energy that lies among them and is annotated), low, high (its 95% interval), total
        (the same, annotated or not), chance (annotated share times x), n (images with a defined
        share), undefined.
    n, images : int
        How many images were used, the most of any line, and how many the study has.
    """

    table: pd.DataFrame
    n: int
    images: int


def cumulative_energy(
    scenes: Scenes,
    lines: Sequence[Line],
    *,
    most: int = IMAGES,
    progress: Progress | None = None,
) -> Energy:
    """Return how the energy of the maps of lines gathers over their pixels, the brightest first.

    At x = 1 a curve is the coverage of its line on these images. Of methods that draw random
    numbers it is the first seed.

    Parameters
    ----------
    scenes
        The maps of a study.
    lines
        Whose maps.
    most
        How many images at most, spread evenly over the study's.
    progress
        Told how many lines are done, of how many, and what is done.
    """
    import pandas as pd

    images = spread_over(scenes.images, most)
    tables = []
    for place, line in enumerate(lines):
        maps = scenes.first_maps(line, images=images)
        tables.append(_table(place, maps))
        if progress is not None:
            progress(place + 1, len(lines), "energy of maps")
    table = pd.concat(tables, ignore_index=True)
    return Energy(table, int((table["n"] + table["undefined"]).max()), len(scenes.images))


def _table(place: int, maps: LineMaps) -> pd.DataFrame:
    """Return the mean curve of a line."""
    import pandas as pd

    from sightline.stats.confidence import intervals

    found = [
        energy_curve(read(values, maps.sign), mask, ignore)
        if maps.sign != "signed"
        else np.full((3, POINTS), np.nan)  # energy below zero has no meaning
        for values, mask, ignore in zip(maps.maps, maps.masks, maps.ignore, strict=True)
    ]
    curves = np.stack(found)
    known = np.isfinite(curves[:, 0, -1])
    curves = curves[known]
    nothing = np.full(POINTS, np.nan)
    value, total, chance = curves.mean(axis=0) if len(curves) else (nothing,) * 3
    ends = intervals(curves[:, 0], limits=(0, 1)) if len(curves) else None
    columns: dict[str, Any] = {"place": place, "x": np.linspace(0, 1, POINTS), "value": value}
    columns["low"] = nothing if ends is None else ends.low
    columns["high"] = nothing if ends is None else ends.high
    columns |= {"total": total, "chance": chance, "n": int(known.sum())}
    return pd.DataFrame({**columns, "undefined": int((~known).sum())})


def energy_curve(
    values: NDArray[Any], mask: NDArray[np.bool_], ignore: NDArray[np.bool_] | None = None
) -> NDArray[np.float64]:
    """Return how the energy of one map gathers over its pixels, the brightest first.

    Values are told apart on 16,384 levels, even in their square roots; what is on one level is
    taken up evenly, as ties are. The end is exact.

    Parameters
    ----------
    values : array (rows, columns)
        A map without values below zero.
    mask : array (rows, columns)
        What is annotated.
    ignore : array (rows, columns), optional
        Pixels that count for nothing.

    Returns
    -------
    array (3, 101)
        At x = 0, 0.01, … 1: the share of all energy that lies among the brightest x of the pixels
        and is annotated; the share that lies among them; the annotated share of pixels times x.
        NaN where there is no energy, or nothing is annotated.

    Examples
    --------
    >>> curve = energy_curve(np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([[1, 0], [0, 0]], bool))
    >>> curve[:, [0, 25, 50, 100]].tolist()
    [[0.0, 0.75, 0.75, 0.75], [0.0, 0.75, 1.0, 1.0], [0.0, 0.0625, 0.125, 0.25]]
    """
    flat, inside = values.ravel(), mask.ravel()
    if ignore is not None:
        flat, inside = values[~ignore], mask[~ignore]
    top = float(flat.max()) if flat.size else 0.0
    if top <= 0 or not inside.any():
        return np.full((3, POINTS), np.nan)
    levels = (np.sqrt(flat / top) * (1 - _LEVELS) + (_LEVELS - 1)).astype(np.int64)
    energy = flat.astype(np.float64)
    counts = np.bincount(levels, minlength=_LEVELS)
    there = np.flatnonzero(counts)
    x = np.r_[0, np.cumsum(counts[there])] / flat.size
    at = np.linspace(0, 1, POINTS)
    curves = []
    for weights in (energy * inside, energy):
        gathered = np.cumsum(np.bincount(levels, weights, _LEVELS)[there])
        curves.append(np.interp(at, x, np.r_[0.0, gathered]) / energy.sum())
    return np.stack([*curves, at * inside.mean()])
