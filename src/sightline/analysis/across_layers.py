"""How maps change from layer to layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.analysis._checked import framed
from sightline.analysis._material import names
from sightline.analysis._rasters import RASTER, coarser, read, spread_over, to_cells
from sightline.analysis.agreement import CELLS, IMAGES
from sightline.records import InputError
from sightline.results._lines import make_lines
from sightline.results.leaderboard import so_far, with_note
from sightline.stats.confidence import intervals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from sightline.analysis.scenes import Scenes
    from sightline.results._lines import Line

    Progress = Callable[[int, int, str], object]

__all__ = ["layer_changes"]

_COLUMNS = (
    *("model", "method", "group", "target", "layer", "next", "spearman", "low", "high", "images"),
)


def layer_changes(
    scenes: Scenes,
    *,
    model: str | None = None,
    method: str | None = None,
    target: str | None = None,
    most: int = IMAGES,
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Return how alike the maps of each layer are to those of the next layer that is stored.

    Maps are brought to one raster and ranked as for `map_agreement`.

    Parameters
    ----------
    scenes
        The maps of a study.
    model, method, target
        Which maps; see `Results`. All that have layers by default.
    most
        How many images at most, spread evenly over the study's.
    progress
        Told how many layers are read, of how many, and what is done.

    Returns
    -------
    DataFrame
        model, method, group, target, layer, next (the layer it is compared with), spearman (mean
        over images), low, high (its 95% interval over images), images.

    Raises
    ------
    InputError
        If no method has maps of two layers, or maps were not kept.
    """
    stacks = _stacks(scenes, model, method, target)
    images = spread_over(scenes.images, most)
    count, done = sum(map(len, stacks)), 0
    rows: list[dict[str, Any]] = []
    for lines in stacks:
        before: dict[str, NDArray[np.float64]] = {}
        for place, line in enumerate(lines):
            here = _cells(scenes, line, images)
            if place:
                rows.append(_change(lines[place - 1], line, before, here))
            before, done = here, done + 1
            if progress is not None:
                progress(done, count, "maps across layers")
    return with_note(
        framed(rows, _COLUMNS),
        "Spearman's correlation of an image's maps of one layer and the next that is stored, mean "
        f"over at most {most} images with 95% intervals",
        "a low value says that maps change, not which of the two is right",
        so_far(scenes.results._tables),
    )


def _stacks(
    scenes: Scenes, model: str | None, method: str | None, target: str | None
) -> list[list[Line]]:
    """Return the lines of each method that has several layers, from the first layer on."""
    tables = scenes.results._tables
    where = tables.catalogue.where(model=model, method=method, target=target)
    found: dict[tuple[str, ...], list[Line]] = {}
    for line in make_lines(tables, tables.name(None), where, "all"):
        if isinstance(line.layer, int):
            found.setdefault((line.model, line.method, line.target), []).append(line)
    stacks = [
        sorted(lines, key=lambda line: line.picks[0].layer or 0)
        for lines in found.values()
        if len(lines) > 1
    ]
    if not stacks:
        raise InputError(f"{where.told()}: no maps of two layers or more are stored")
    return stacks


def _cells(scenes: Scenes, line: Line, images: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Return the maps of a line by image, on coarse rasters."""
    maps = scenes.first_maps(line, images=images, resolution=RASTER)
    return {
        image: to_cells(read(values, maps.sign), unseen, coarser(values.shape, CELLS))
        for image, values, unseen in zip(maps.images, maps.maps, maps.unseen, strict=True)
    }


def _alike(pairs: Sequence[tuple[NDArray[np.float64], ...]]) -> NDArray[np.float64]:
    """Return Spearman's correlation of each pair; those that are seen alike are ranked together."""
    groups: dict[bytes, list[int]] = {}
    for place, pair in enumerate(pairs):
        groups.setdefault(np.isfinite(pair).all(axis=0).tobytes(), []).append(place)
    found = np.full(len(pairs), np.nan)
    for seen, places in groups.items():
        both = np.stack([pairs[place] for place in places])[..., np.frombuffer(seen, bool)]
        if both.shape[-1] > 1:
            found[places] = _spearman(both)
    return found


def _spearman(pairs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlation of pairs `(n, 2, cells)`; NaN where one of two maps is constant."""
    from scipy.stats import rankdata

    ranks: Any = rankdata(pairs, axis=-1)
    ranks -= ranks.mean(axis=-1, keepdims=True)
    one, other = ranks[:, 0], ranks[:, 1]
    size = np.sqrt((one**2).sum(axis=-1)) * np.sqrt((other**2).sum(axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: NDArray[np.float64] = np.clip((one * other).sum(axis=-1) / size, -1, 1)
    return found


def _change(
    line: Line,
    following: Line,
    maps: dict[str, NDArray[np.float64]],
    others: dict[str, NDArray[np.float64]],
) -> dict[str, Any]:
    """Return how alike the maps of two layers are."""
    pairs = [
        (one.ravel(), others[image].ravel())
        for image, one in maps.items()
        if image in others and others[image].shape == one.shape
    ]
    figures = intervals(_alike(pairs).reshape(-1, 1), limits=(-1, 1)).at(0)
    return {
        **names(line),
        "next": following.layer,
        "spearman": figures.value,
        "low": figures.low,
        "high": figures.high,
        "images": figures.n,
    }
