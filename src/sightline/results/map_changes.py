"""How maps change from layer to layer."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.results._check_rows import framed
from sightline.results._grids import spread_over
from sightline.results._lines import make_lines
from sightline.results._missing_label_inputs import names
from sightline.results.agreement import IMAGES, CellsByImage, rank_correlations
from sightline.results.leaderboard import so_far, with_note
from sightline.stats.confidence import intervals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from sightline.results._lines import Line
    from sightline.results.map_reader import Scenes

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
        found = CellsByImage(scenes, images)
        for line in lines:
            found.add(line)
            done += 1
            if progress is not None:
                progress(done, count, "maps across layers")
        rows += _changes(lines, [rank_correlations(some) for some in found.cells])
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


def _changes(
    lines: Sequence[Line], matrices: Sequence[NDArray[np.float64]]
) -> list[dict[str, Any]]:
    """Return how alike the maps of neighbouring layers are, of matrices (layers, layers)."""
    each = np.reshape([one.diagonal(1) for one in matrices], (-1, len(lines) - 1))
    found = intervals(each, limits=(-1, 1))
    return [
        {
            **names(line),
            "next": following.layer,
            "spearman": found.at(place).value,
            "low": found.at(place).low,
            "high": found.at(place).high,
            "images": found.at(place).n,
        }
        for place, (line, following) in enumerate(pairwise(lines))
    ]
