"""What is drawn but not annotated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.data.facades.painters.brush import Shape, facets, paints
from sightline.data.facades.shapes import (
    Box,
    ellipse,
    mirrored,
    rectangle,
    smooth,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sightline.data.facades.colours import Look


@paints("wall")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(rectangle(box), look.wall.base)
    yield Shape(rectangle(Box(box.x0, box.y0, box.x1, box.y0 + 0.018)), look.wall.dark)
    yield Shape(rectangle(Box(box.x0, box.y0, box.x1, box.y0 + 0.012)), look.trim.base)
    yield Shape(rectangle(Box(box.x0, box.y1 - 0.022, box.x1, box.y1)), look.wall.shade)


@paints("roof")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(mirrored(((1.0, 0.0), (0.82, 1.0)), box), look.roof.shade)


@paints("left lean-to roof")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(((box.x0 - 0.01, box.y1), (box.x1, box.y0), (box.x1, box.y1)), look.roof.base)


@paints("right lean-to roof")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(((box.x1 + 0.01, box.y1), (box.x0, box.y0), (box.x0, box.y1)), look.roof.base)


@paints("round tree")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(rectangle(box.part(0.45, 0.6, 0.55, 1.0)), look.wood.dark)
    crown = (
        (0.1, 0.2, 0.7, 0.66),
        (0.3, 0.26, 0.92, 0.7),
        (0.2, 0.0, 0.8, 0.5),
        (0.24, 0.4, 0.8, 0.76),
    )
    for blob in crown:
        yield Shape(ellipse(box.part(*blob)), look.leaves.shade)
    x = 0.06 if look.light < 0 else -0.06
    for x0, y0, x1, y1 in crown[:3]:
        lit = box.part(x0 + 0.1 - x, y0 + 0.04, x1 - 0.1 - x, y1 - 0.12)
        yield Shape(ellipse(lit), look.leaves.base if variant < 0.5 else look.leaves.light)


@paints("slim tree")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(rectangle(box.part(0.42, 0.9, 0.58, 1.0)), look.wood.dark)
    body = box.part(0.0, 0.0, 1.0, 0.93)
    profile = smooth(((0.3, 0.0), (0.9, 0.12), (0.8, 0.5), (0.4, 0.85), (0.0, 1.0)))
    yield from facets(profile, body, look.leaves, look)


@paints("bush")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    for blob in ((0.0, 0.35, 0.5, 1.0), (0.45, 0.25, 1.0, 1.0), (0.2, 0.0, 0.78, 1.0)):
        yield Shape(ellipse(box.part(*blob)), look.leaves.shade)
    for blob in ((0.08, 0.4, 0.36, 0.75), (0.28, 0.06, 0.68, 0.5), (0.62, 0.32, 0.92, 0.7)):
        yield Shape(ellipse(box.part(*blob)), look.leaves.base)


@paints("car")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    cabin = box.part(0.18, 0.0, 0.8, 0.5)
    yield Shape(mirrored(((1.0, 0.0), (0.7, 1.0)), cabin), look.cloth.shade)
    yield Shape(mirrored(((0.86, 0.0), (0.62, 0.8)), cabin), look.glass.dark)
    yield Shape(rectangle(cabin.part(0.46, 0.1, 0.52, 1.0)), look.cloth.shade)
    body = smooth(((0.98, 0.0), (1.0, 0.5), (0.9, 0.9), (0.7, 1.0), (0.0, 1.0)))
    yield Shape(mirrored(body, box.part(0.0, 0.42, 1.0, 0.88)), look.cloth.base)
    for x in (0.14, 0.68):
        yield Shape(ellipse(box.part(x, 0.62, x + 0.18, 1.0)), look.metal.deep)


@paints("person")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    coat = look.cloth if variant < 0.5 else look.wood
    for x in (0.22, 0.54):
        yield Shape(rectangle(box.part(x, 0.6, x + 0.24, 1.0)), look.glass.deep)
    yield Shape(
        mirrored(((0.6, 0.0), (0.85, 0.7), (0.5, 1.0)), box.part(0.0, 0.18, 1.0, 0.66)), coat.base
    )
    yield Shape(ellipse(box.part(0.28, 0.0, 0.72, 0.2)), (204, 160, 130, 0))
