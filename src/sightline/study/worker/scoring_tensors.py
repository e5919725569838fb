"""Maps of a chunk scored on the device where they are; only their figures come to the host."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from sightline.core.geometry.tensors import tensors_to_image
from sightline.metrics._regions import RegionTable
from sightline.metrics._tables import fetch
from sightline.metrics._torch import sent
from sightline.study.worker.scores import (
    Line,
    Scored,
    call,
    carried,
    joined,
    raster_of,
    seen_of,
    tables,
    unseen,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sightline.core import Annotation
    from sightline.core.geometry import Geometry
    from sightline.metrics import Scores
    from sightline.study.plan.sources import Scoring, Source
    from sightline.study.worker.tensors import Block, TensorMaps

__all__ = ["Figures", "score_tensors"]

# Maps are scored together up to this many pixels, 1 GB of float32, or as a device has room for.
MOST_PIXELS = 1 << 28
_BYTES_EACH = 256
# Edges of boxes that are drawn there: with more, unions are drawn on the host.
_MOST_DRAWN = 1 << 28


class Figures:
    """The figures of a task in main memory, of which the tables are made when asked for.

    Attributes
    ----------
    odd : bool
        Whether some maps are not finite, so that they have no figures.
    """

    def __init__(
        self,
        source: Source,
        scoring: Scoring,
        heads: tuple[int | None, ...],
        parts: list[tuple[list[Line], Scores]],
    ) -> None:
        self.source, self.scoring, self.heads, self.parts = source, scoring, heads, parts
        self.odd = any(np.isnan(scores["annotation_area"]).any() for _, scores in parts)

    def scored(self) -> Scored:
        """Return the results tables."""
        return joined(
            self.scoring,
            [
                tables(self.source, self.scoring, self.heads, lines, scores)
                for lines, scores in self.parts
            ],
        )


def score_tensors(
    source: Source, scoring: Scoring, maps: TensorMaps, annotations: Sequence[Annotation]
) -> Figures:
    """Score the maps of a source on some images where they are; see `score_chunk`."""
    parts = []
    for block in maps.blocks:
        for scene in _scenes(scoring, maps, block, annotations):
            scores = _scored(source, scoring, scene)
            fetch(scores)
            parts.append((scene.lines, scores))
    return Figures(source, scoring, maps.heads, parts)


class _Scene(NamedTuple):
    """Maps that are scored at once, and all that they are scored against."""

    values: torch.Tensor
    lines: list[Line]
    ground: _Ground


def _scored(source: Source, scoring: Scoring, scene: _Scene) -> Scores:
    ground = scene.ground
    return call(scoring, source.sign, scene.values, ground.table, ground.ignore, masks=ground.masks)


def _scenes(
    scoring: Scoring, maps: TensorMaps, block: Block, annotations: Sequence[Annotation]
) -> Iterator[_Scene]:
    """Yield the maps of a block on the raster where they are scored, as many as fit at once."""
    first = block.layers[0]
    layers = tuple(maps.layers[k] for k in block.layers)
    images = range(block.start, block.start + len(block.values))
    ways = [maps.geometries[image][first] for image in images]
    cells = tuple(block.values.shape[-2:])
    by_shape: dict[tuple[int, int], list[int]] = {}
    for number, way in enumerate(ways):
        by_shape.setdefault(raster_of(scoring, way, cells), []).append(number)
    for shape, all_of in by_shape.items():
        each = block.values.shape[1] * block.values.shape[2] * shape[0] * shape[1]
        step = max(1, _most_pixels(block.values.device) // each)
        for some in (all_of[start : start + step] for start in range(0, len(all_of), step)):
            chosen = tuple(annotations[images[k]] for k in some)
            there = tuple(ways[k] for k in some)
            values = _values(scoring, block.values, some, there, shape)
            lead = tuple(values.shape[:3])
            ground = _ground(
                scoring.resolution == "grid", chosen, there, lead, shape, values.device
            )
            lines = [
                Line(maps.images[images[k]], layers, *seen)
                for k, seen in zip(some, ground.seen, strict=True)
            ]
            yield _Scene(values, lines, ground)


@lru_cache
def _most_pixels(device: torch.device) -> int:
    from sightline.models.memory import total_memory

    return min(MOST_PIXELS, total_memory(device) // _BYTES_EACH)


def _values(
    scoring: Scoring,
    values: torch.Tensor,
    some: list[int],
    ways: tuple[Geometry, ...],
    shape: tuple[int, int],
) -> torch.Tensor:
    """Return maps of some images on the raster; those that came one way go back at once."""
    chosen = _of_images(values, some)
    if scoring.resolution == "grid":
        return chosen
    kinds = dict.fromkeys(ways)
    if len(kinds) == 1:
        return tensors_to_image(chosen, ways[0], *shape)
    found = chosen.new_empty((*chosen.shape[:3], *shape))
    for way in kinds:
        same = [k for k, other in enumerate(ways) if other == way]
        index = torch.tensor(same, device=values.device)
        found[index] = tensors_to_image(chosen[index], way, *shape)
    return found


def _of_images(values: torch.Tensor, some: list[int]) -> torch.Tensor:
    if some == list(range(some[0], some[-1] + 1)):
        return values[some[0] : some[-1] + 1]
    return values[torch.tensor(some, device=values.device)]


@dataclass(frozen=True, eq=False)
class _Ground:
    """What maps of some images are scored against, built once for all sources.

    Attributes
    ----------
    table : RegionTable
        The regions of all maps.
    masks : Tensor (images, 1, 1, rows, columns)
        Their union.
    ignore : array or None
        As `masks`: pixels that are not image, or that the model did not see.
    seen : sequence of pairs
        The share of the annotated area that the model could see, and that of each region.
    """

    table: RegionTable
    masks: torch.Tensor
    ignore: Any
    seen: Sequence[tuple[float, tuple[float, ...]]]


@lru_cache(8)
def _ground(
    on_grid: bool,
    annotations: tuple[Annotation, ...],
    ways: tuple[Geometry, ...],
    lead: tuple[int, ...],
    shape: tuple[int, int],
    device: torch.device,
) -> _Ground:
    table = _table(on_grid, annotations, ways, lead, shape)
    hidden = [unseen(way, None if on_grid else shape) for way in ways]
    ignore = None
    if any(one is not None for one in hidden):
        nothing = np.zeros(shape, np.bool_)
        ignore = np.stack([nothing if one is None else one for one in hidden])[:, None, None]
    masks = _union(table, len(annotations), shape, device)[:, None, None]
    return _Ground(table, masks, ignore, _seen(annotations, ways))


def _seen(
    annotations: tuple[Annotation, ...], ways: tuple[Geometry, ...]
) -> list[tuple[float, tuple[float, ...]]]:
    """Return what the model could see of each image's regions; see `seen_of`."""
    whole = {way: way.visible_box == (0.0, 0.0, 1.0, 1.0) for way in dict.fromkeys(ways)}
    found = []
    for way, one in zip(ways, annotations, strict=True):
        count = len(one.regions)
        plain = whole[way] and count and not any(region.ignore for region in one.regions)
        found.append((1.0, (1.0,) * count) if plain else seen_of(way, one))
    return found


def _table(
    on_grid: bool,
    annotations: tuple[Annotation, ...],
    ways: tuple[Geometry, ...],
    lead: tuple[int, ...],
    shape: tuple[int, int],
) -> RegionTable:
    """Return the regions of all maps; boxes, which are many, are carried to the grid together."""
    regions = [region for one in annotations for region in one.regions]
    if not regions or not all(one.kind == "box" and not one.ignore for one in regions):
        some = zip(ways, annotations, strict=True)
        drawn = [carried(way, one) if on_grid else one for way, one in some]
        return RegionTable.build(drawn, lead, *shape)
    boxes = np.array([region.box for region in regions])
    counts = [len(one.regions) for one in annotations]
    lost = np.zeros(len(boxes), np.bool_)
    if on_grid:
        owner = np.repeat(_numbered(ways), counts)
        for number, way in enumerate(dict.fromkeys(ways)):
            boxes[owner == number], lost[owner == number] = way.clip_boxes(boxes[owner == number])
    boxes[lost] = 0.0, 0.0, 1.0, 1.0
    entries = np.split(boxes, np.cumsum(counts)[:-1])
    table = RegionTable.build(entries, lead, *shape)
    table.boxes[lost] = 0  # without a pixel
    numbers = np.array([region.index for region in regions], np.int32)
    return replace(table, numbers=numbers, labels=tuple(region.label for region in regions))


def _numbered(ways: tuple[Geometry, ...]) -> list[int]:
    """Return for each way the position of the first that equals it among those that differ."""
    known = {way: number for number, way in enumerate(dict.fromkeys(ways))}
    return [known[way] for way in ways]


def _union(
    table: RegionTable, images: int, shape: tuple[int, int], device: torch.device
) -> torch.Tensor:
    """Return the union of each image's regions, `(images, rows, columns)`, drawn there."""
    spans = table.spans[:: len(table.spans) // images]
    most = int((spans[:, 1] - spans[:, 0]).max(initial=1))
    if table.masks.size or images * most * sum(shape) > _MOST_DRAWN:
        return sent(replace(table, spans=spans).union(*shape), device)
    boxes = np.zeros((images, most, 4), np.int64)
    counts = spans[:, 1] - spans[:, 0]
    owner = np.repeat(np.arange(images), counts)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    boxes[owner, place] = table.boxes[place + np.repeat(spans[:, 0], counts)]
    x0, y0, x1, y1 = sent(boxes, device).unbind(-1)

    def within(low: torch.Tensor, high: torch.Tensor, size: int) -> torch.Tensor:
        at = torch.arange(size, device=device)
        return ((at >= low[..., None]) & (at < high[..., None])).float()

    # How many boxes a pixel is in: whole numbers, which products of 0 and 1 give exactly.
    return within(y0, y1, shape[0]).mT @ within(x0, x1, shape[1]) > 0
