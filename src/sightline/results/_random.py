"""What a random ranking gets on average precision: a little more than a map of equal values.

It follows from the annotated share and the number of pixels or cells. That number is not stored
with the scores: it is that of the raster over the image, or of the grid of the maps that are kept.
Where pixels were left out, or no maps are kept, it is not known, and nothing is said.
"""

from __future__ import annotations

# The texts put together here are SQL of ours, with checked names.
# ruff: noqa: S608
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.metrics import average_precision_random
from sightline.results._views import Name, full_model, full_name
from sightline.store.folder import tasks_of
from sightline.store.shards import read_ways

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sightline.results._lines import Line
    from sightline.results._sums import Candidate
    from sightline.results._tables import Tables

__all__ = ["NAME", "random_means"]

NAME = Name("average_precision", "")


def random_means(tables: Tables, lines: Sequence[Line]) -> list[float]:
    """Return the mean over the images of each line; NaN where it is not known."""
    resolution = tables.manifest["study"].get("resolution")
    if resolution is None:
        return [math.nan] * len(lines)
    if resolution == "grid":
        return [_on_grid(tables, line) for line in lines]
    found = tables.at_hand(("random",), lambda: _by_image(tables, resolution))
    several = (found[line.scores.numbers] for line in lines)
    return [float(one.mean()) if len(one) else math.nan for one in several]


def _by_image(tables: Tables, resolution: str | int) -> Any:
    """Return the figure of each image, in the order of their names, on a raster over it."""
    scores = tables.scores([NAME], whole=True)
    sql = f"""SELECT width, height, least, most FROM images LEFT JOIN (
  SELECT image, min(area) AS least, max(area) AS most FROM ({scores})
  GROUP BY image) USING (image) ORDER BY image"""
    sides = tables.frame(sql).to_numpy(float, na_value=math.nan)
    sizes, least, most = sides[:, :2], sides[:, 2], sides[:, 3]
    if resolution != "pixels":
        sizes = np.maximum(1, np.rint(sizes * (float(resolution) / sizes.max(1, keepdims=True))))
    pixels = sizes.prod(axis=1)
    known = (least == most) & _whole(least, pixels)
    return np.where(known, average_precision_random(np.rint(least * pixels), pixels), math.nan)


def _whole(areas: Any, pixels: Any) -> Any:
    """Say whether shares are those of whole numbers of pixels: else these are not all that count.

    Shares are stored with 24 bits.
    """
    inside = areas * pixels
    return np.abs(inside - np.rint(inside)) <= 1e-3 + 1e-7 * pixels


def _on_grid(tables: Tables, line: Line) -> float:
    """Return the mean of a line on a grid of the same number of cells for each image.

    The figure is linear in the annotated share, whose mean is that of chance.
    """
    picks = {pick for half, pick in enumerate(line.picks) if half not in line.blind}
    cells = {_cells(tables, line.model, pick) for pick in picks}
    count, share = cells.pop() if len(cells) == 1 else None, line.sums.mean("chance")
    if count is None or math.isnan(share):
        return math.nan
    return float(average_precision_random(share * count, count))


def _cells(tables: Tables, model: str, pick: Candidate) -> int | None:
    """Return how many cells of a grid are image, as kept maps tell; None where they do not."""
    return tables.at_hand(("cells", model, pick), lambda: _read_cells(tables, model, pick))


def _read_cells(tables: Tables, model: str, pick: Candidate) -> int | None:
    counts = set()
    for task in tasks_of(tables.manifest):
        source = task.source
        own = full_name(source), source["method"], source["target"], source["check"]
        if own == (model, pick.method, pick.target, ""):
            counts.add(_counted(tables.store.map_file(task.name), pick.layer))
    count = counts.pop() if len(counts) == 1 else None
    if count is None:
        return None
    areas = tables.at_hand(("areas",), lambda: _areas(tables))
    drawn = areas[model, pick.method, pick.target, pick.layer]
    return count if _whole(drawn, count).all() else None


def _areas(tables: Tables) -> dict[tuple[Any, ...], Any]:
    """Return the annotated shares of images as the grids of all maps draw them."""
    scores = tables.scores([NAME], whole=True)
    sql = f"""SELECT {full_model()}, method, target, layer, list(DISTINCT area) FROM ({scores})
GROUP BY ALL"""
    return {tuple(key): np.array(areas) for *key, areas in tables.fetch(sql)}


def _counted(path: Any, layer: int | None) -> int | None:
    """Return the cells of a layer's grid, if all images of a file have as many."""
    try:
        layers, ways = read_ways(path)
    except InputError:
        return None
    if layer not in layers:
        return None
    counts = {int(way.content_mask().sum()) for way in {one[layers.index(layer)] for one in ways}}
    return counts.pop() if len(counts) == 1 else None
