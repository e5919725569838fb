"""Parts that say nothing about the style."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.data.facades.painters.brush import Shape, paints
from sightline.data.facades.shapes import (
    Box,
    ellipse,
    rectangle,
    strip,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sightline.data.facades.colours import Look


@paints("bell tower")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(rectangle(box), look.wall.base)
    dark = box.part(0.84, 0.0, 1.0, 1.0) if look.light < 0 else box.part(0.0, 0.0, 0.16, 1.0)
    yield Shape(rectangle(dark), look.wall.shade)
    bright = box.part(0.0, 0.0, 0.07, 1.0) if look.light < 0 else box.part(0.93, 0.0, 1.0, 1.0)
    yield Shape(rectangle(bright), look.wall.light)
    yield Shape(
        rectangle(Box(box.x0 - 0.006, box.y0, box.x1 + 0.006, box.y0 + 0.014)), look.trim.light
    )
    yield Shape(rectangle(Box(box.x0, box.y0 + 0.014, box.x1, box.y0 + 0.02)), look.wall.dark)
    for y in (0.36, 0.68) if variant < 0.6 else (0.5,):
        course = box.y0 + y * box.height
        yield Shape(rectangle(Box(box.x0, course, box.x1, course + 0.008)), look.trim.base)


@paints("clock")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(ellipse(box), look.metal.base)
    yield Shape(ellipse(box.grown(-0.1 * box.width)), (238, 234, 222, 0))
    x, y, r = box.middle, (box.y0 + box.y1) / 2, 0.34 * box.width
    thick = 0.09 * box.width
    yield Shape(strip((x, y), (x, y - r), thick), look.metal.deep)
    end = (x + (variant - 0.5) * 2 * r * 0.7, y + 0.4 * r)
    yield Shape(strip((x, y), end, thick), look.metal.deep)


@paints("cross")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(rectangle(box.part(0.38, 0.0, 0.62, 1.0)), look.metal.base)
    yield Shape(rectangle(box.part(0.0, 0.24, 1.0, 0.24 + 0.15)), look.metal.base)


@paints("steps")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    count = 2 + int(3 * variant)
    for step in range(count):
        inset = 0.12 * (count - 1 - step) / count
        tread = box.part(inset, step / count, 1 - inset, (step + 1) / count)
        yield Shape(rectangle(tread), look.trim.light)
        yield Shape(rectangle(tread.part(0.0, 0.5, 1.0, 1.0)), look.trim.shade)
