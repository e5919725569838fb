"""Outlines of regions that are no boxes, as rings a page can draw."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sightline.core import Region

__all__ = ["outline_of", "trace_rings"]

Ring = tuple[tuple[float, float], ...]

# The longer side of the raster on which masks are traced, and the corners of a disc.
_RASTER, _CORNERS = 256, 32


def outline_of(region: Region, width: int | None, height: int | None) -> tuple[Ring, ...]:
    """Return the rings around a region, x and y as shares of the image; none of a box."""
    if region.kind == "box":
        return ()
    if region.kind == "point":
        return (_disc(region.box),)
    if region.kind == "polygon":
        rings: Any = region.mask
        return tuple(tuple((float(x), float(y)) for x, y in _pairs(ring)) for ring in rings)
    wide, high = width or _RASTER, height or _RASTER
    scale = min(1.0, _RASTER / max(wide, high))
    rows, columns = max(1, round(high * scale)), max(1, round(wide * scale))
    found = trace_rings(region.to_mask(rows, columns))
    return tuple(tuple((x / columns, y / rows) for x, y in ring) for ring in found)


def _pairs(ring: Any) -> Any:
    return np.asarray(ring, dtype=float).reshape(-1, 2)


def _disc(box: tuple[float, float, float, float]) -> Ring:
    x0, y0, x1, y1 = box
    angles = [2 * math.pi * i / _CORNERS for i in range(_CORNERS)]
    return tuple(
        (
            (x0 + x1) / 2 + (x1 - x0) / 2 * math.cos(angle),
            (y0 + y1) / 2 + (y1 - y0) / 2 * math.sin(angle),
        )
        for angle in angles
    )


def trace_rings(mask: Any) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Return the rings along the edges of the cells of a mask, x and y in cells.

    The mask lies to the right of the way, so that rings around it and around its holes turn in
    opposite directions. Cells that touch by a corner alone are kept apart.

    Examples
    --------
    >>> trace_rings([[0, 1], [0, 0]])
    (((1, 0), (2, 0), (2, 1), (1, 1)),)
    """
    ways = _edges(np.pad(np.asarray(mask, dtype=bool), 1))
    rings = []
    while ways:
        start = min(ways)
        ring = _follow(ways, start)
        rings.append(_corners(ring))
    return tuple(rings)


def _edges(padded: Any) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """Return where the edges between a mask and the rest lead from each corner."""
    ways: dict[tuple[int, int], list[tuple[int, int]]] = {}
    # (rows to look back, columns to look back), start and end of the edge from the cell's corner.
    sides = (
        ((-1, 0), (0, 0), (1, 0)),  # above: to the right
        ((0, 1), (1, 0), (1, 1)),  # right: down
        ((1, 0), (1, 1), (0, 1)),  # below: to the left
        ((0, -1), (0, 1), (0, 0)),  # left: up
    )
    for (down, right), start, end in sides:
        beside = np.roll(padded, (-down, -right), (0, 1))
        for y, x in np.argwhere(padded & ~beside).tolist():
            at = (x - 1 + start[0], y - 1 + start[1])
            ways.setdefault(at, []).append((x - 1 + end[0], y - 1 + end[1]))
    return ways


def _follow(
    ways: dict[tuple[int, int], list[tuple[int, int]]], start: tuple[int, int]
) -> list[tuple[int, int]]:
    """Take the edges of one ring out of all."""
    ring, here, before = [start], start, (0, 0)
    while True:
        there = _next(ways[here], here, before)
        ways[here].remove(there)
        if not ways[here]:
            del ways[here]
        before, here = (there[0] - here[0], there[1] - here[1]), there
        if here == start:
            return ring
        ring.append(here)


def _next(
    ends: list[tuple[int, int]], here: tuple[int, int], before: tuple[int, int]
) -> tuple[int, int]:
    """Return where to go on: at a corner where two cells touch, around the cell one came along."""
    if len(ends) == 1:
        return ends[0]
    right = (-before[1], before[0])
    return next((end for end in ends if (end[0] - here[0], end[1] - here[1]) == right), ends[0])


def _corners(ring: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Leave out points on straight lines."""
    found = []
    for i, (x, y) in enumerate(ring):
        (px, py), (nx, ny) = ring[i - 1], ring[(i + 1) % len(ring)]
        if (x - px, y - py) != (nx - x, ny - y):
            found.append((x, y))
    return tuple(found)
