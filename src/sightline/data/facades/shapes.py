"""Outlines in the plane of the facade: x to the right, y down, the unit square is the picture.

Only +, -, *, / and sqrt are used, which every machine rounds alike: points on circles come from
the rational parametrisation ((1 - t²) / (1 + t²), 2t / (1 + t²)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import sqrt
from typing import NamedTuple, TypeAlias

__all__ = [
    "Box",
    "Outline",
    "arch",
    "comb",
    "ellipse",
    "half_turn",
    "mirrored",
    "pointed_arch",
    "rectangle",
    "smooth",
    "strip",
]

Outline: TypeAlias = Sequence[tuple[float, float]]


class Box(NamedTuple):
    """A rectangle by its corners."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        """Extent in x."""
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        """Extent in y."""
        return self.y1 - self.y0

    @property
    def middle(self) -> float:
        """The x of the axis."""
        return (self.x0 + self.x1) / 2

    def part(self, x0: float, y0: float, x1: float, y1: float) -> Box:
        """Return a box inside, by shares of the width and the height."""
        w, h = self.width, self.height
        return Box(self.x0 + x0 * w, self.y0 + y0 * h, self.x0 + x1 * w, self.y0 + y1 * h)

    def grown(self, dx: float, dy: float | None = None) -> Box:
        """Return the box with each side moved out (or in, when negative)."""
        dy = dx if dy is None else dy
        return Box(self.x0 - dx, self.y0 - dy, self.x1 + dx, self.y1 + dy)

    def moved(self, dx: float, dy: float) -> Box:
        """Return the box at another place."""
        return Box(self.x0 + dx, self.y0 + dy, self.x1 + dx, self.y1 + dy)

    def columns(self, count: int) -> list[Box]:
        """Return equal boxes side by side."""
        return [self.part(i / count, 0.0, (i + 1) / count, 1.0) for i in range(count)]


def _arc(stop: float, steps: int) -> tuple[tuple[float, float], ...]:
    """Return points (cos, sin) from angle 0 to the angle with tan(angle / 2) = stop."""
    ts = [stop * i / steps for i in range(steps + 1)]
    return tuple(((1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)) for t in ts)


_QUARTER = _arc(1.0, 5)
_HALF = (*((-c, s) for c, s in _QUARTER), *((c, s) for c, s in reversed(_QUARTER[:-1])))
_FULL = (*_HALF, *((-c, -s) for c, s in _HALF[1:-1]))
_SIXTH = _arc(0.5773502691896257, 4)  # up to 60 degrees
_SIXTH_SINE = _SIXTH[-1][1]


def rectangle(box: Box) -> Outline:
    """Return the outline of a box, from its left foot to its right foot."""
    x0, y0, x1, y1 = box
    return ((x0, y1), (x0, y0), (x1, y0), (x1, y1))


def ellipse(box: Box) -> Outline:
    """Return the ellipse that fills a box."""
    x, y = box.middle, (box.y0 + box.y1) / 2
    rx, ry = box.width / 2, box.height / 2
    return [(x + rx * c, y - ry * s) for c, s in _FULL]


def half_turn(box: Box) -> Outline:
    """Return the upper half of an ellipse that fills a box."""
    x, rx = box.middle, box.width / 2
    return [(x + rx * c, box.y1 - box.height * s) for c, s in _HALF]


def arch(box: Box, rise: float = 0.5) -> Outline:
    """Return a rectangle with a curved top that rises by a share of the width (0.5: round)."""
    rise = min(rise * box.width, box.height)
    curve = half_turn(Box(box.x0, box.y0, box.x1, box.y0 + rise))
    return [(box.x0, box.y1), *curve, (box.x1, box.y1)]


def pointed_arch(box: Box, rise: float = 0.9) -> Outline:
    """Return a rectangle whose top is two arcs that meet in a point."""
    w = box.width
    rise = min(rise * w, box.height)
    foot, scale = box.y0 + rise, rise / _SIXTH_SINE
    left = [(box.x1 - w * c, foot - scale * s) for c, s in _SIXTH]
    right = [(box.x0 + w * c, foot - scale * s) for c, s in reversed(_SIXTH[:-1])]
    return [(box.x0, box.y1), *left, *right, (box.x1, box.y1)]


def mirrored(profile: Outline, box: Box) -> Outline:
    """Return a symmetric outline from its right half.

    The profile runs from the foot to the top in shares: distance from the axis (1: half the width
    of the box) and height over the foot (1: its height).
    """
    x, half, h = box.middle, box.width / 2, box.height
    right = [(x + half * u, box.y1 - h * v) for u, v in profile]
    return right + [(x - half * u, box.y1 - h * v) for u, v in reversed(profile)]


def smooth(profile: Outline, rounds: int = 2) -> Outline:
    """Return a profile with its corners cut (Chaikin); both ends stay."""
    points = list(profile)
    for _ in range(rounds):
        cut = [points[0]]
        for (ax, ay), (bx, by) in pairwise(points):
            cut += [(ax * 0.75 + bx * 0.25, ay * 0.75 + by * 0.25)]
            cut += [(ax * 0.25 + bx * 0.75, ay * 0.25 + by * 0.75)]
        points = [*cut, points[-1]]
    return points


def comb(cells: Sequence[Box], outline: Callable[[Box], Outline]) -> Outline:
    """Return one outline of equal shapes in a row, joined along their common foot.

    The shapes must start and end at the foot of their box, as arches do. One outline is drawn
    faster than many.
    """
    return [point for cell in cells for point in outline(cell)]


def strip(start: tuple[float, float], stop: tuple[float, float], width: float) -> Outline:
    """Return a straight bar from one point to another."""
    (ax, ay), (bx, by) = start, stop
    dx, dy = bx - ax, by - ay
    scale = width / 2 / sqrt(dx * dx + dy * dy)
    ux, uy = -dy * scale, dx * scale
    return ((ax + ux, ay + uy), (bx + ux, by + uy), (bx - ux, by - uy), (ax - ux, ay - uy))
