"""What divides a wall: uprights and friezes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.data.facades.painters.brush import Shape, column, facets, paints
from sightline.data.facades.shapes import (
    Box,
    arch,
    comb,
    ellipse,
    mirrored,
    pointed_arch,
    rectangle,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sightline.data.facades.colours import Look


@paints("lesene")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(rectangle(box), look.wall.light if variant < 0.5 else look.trim.base)
    edge = (0.8, 1.0) if look.light < 0 else (0.0, 0.2)
    yield Shape(rectangle(box.part(edge[0], 0.0, edge[1], 1.0)), look.wall.dark)
    yield Shape(rectangle(box.part(-0.15, 0.96, 1.15, 1.0)), look.trim.shade)


@paints("buttress")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    box = box.grown(0.2 * box.width, 0.0)
    for half, y0 in ((0.28, 0.0), (0.4, 0.3), (0.5, 0.62)):
        stage = box.part(0.5 - half, y0, 0.5 + half, 1.0)
        yield Shape(rectangle(stage), look.trim.shade)
        dark = (
            stage.part(0.66, 0.0, 1.0, 1.0) if look.light < 0 else stage.part(0.0, 0.0, 0.34, 1.0)
        )
        yield Shape(rectangle(dark), look.trim.dark)
        cap = Box(stage.x0, stage.y0 - 0.35 * box.width, stage.x1, stage.y0 + 0.12 * box.width)
        yield Shape(mirrored(((1.1, 0.0), (0.5, 1.0)), cap), look.trim.light)
    height = (2.0 + variant) * box.width
    pinnacle = Box(box.x0, box.y0 - height, box.x1, box.y0).part(0.2, 0.0, 0.8, 1.0)
    yield from facets(((0.7, 0.0), (0.7, 0.3), (1.0, 0.36), (0.0, 1.0)), pinnacle, look.trim, look)


@paints("pilaster")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(rectangle(box.part(0.1, 0.0, 0.9, 1.0)), look.trim.base)
    for x in (0.24, 0.46, 0.68) if variant < 0.5 else (0.3, 0.62):
        yield Shape(rectangle(box.part(x, 0.1, x + 0.1, 0.9)), look.trim.dark)
    edge = 0.82 if look.light < 0 else 0.1
    yield Shape(rectangle(box.part(edge, 0.0, edge + 0.08, 1.0)), look.trim.dark)
    w = box.width / box.height
    yield Shape(rectangle(box.part(-0.1, 0.0, 1.1, 0.3 * w)), look.trim.light)
    yield Shape(rectangle(box.part(0.0, 0.3 * w, 1.0, 0.7 * w)), look.trim.shade)
    yield Shape(rectangle(box.part(-0.1, 1.0 - 0.8 * w, 1.1, 1.0)), look.trim.light)


@paints("paired column")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    wide = box.grown(0.25 * box.width, 0.0)
    w = wide.width / wide.height
    plinth = 1.0 - (0.6 + 0.6 * variant) * w
    yield Shape(rectangle(wide.part(0.06, 0.0, 0.94, 1.0)), look.wall.dark)
    for shaft in wide.part(0.02, 0.3 * w, 0.98, plinth).columns(2):
        yield from column(shaft.grown(-0.06 * shaft.width, 0.0), look)
    yield Shape(rectangle(wide.part(-0.06, 0.0, 1.06, 0.3 * w)), look.trim.light)
    yield Shape(rectangle(wide.part(-0.06, plinth, 1.06, 1.0)), look.trim.base)


def _cells(box: Box, pitch: float) -> list[Box]:
    """Return boxes side by side, about `pitch` times as wide as high."""
    return box.columns(max(3, int(box.width / (box.height * pitch) + 0.5)))


@paints("arch frieze")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(rectangle(box), look.trim.base)
    yield Shape(rectangle(box.part(0.0, 0.0, 1.0, 0.2)), look.trim.light)
    arches = [cell.part(0.14, 0.34, 0.86, 1.0) for cell in _cells(box, 0.62 + 0.3 * variant)]
    yield Shape(comb(arches, arch), look.wall.dark)


@paints("tracery gallery")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(rectangle(box), look.trim.base)
    cells = _cells(box, 0.5 + 0.2 * variant)
    yield Shape(comb([c.part(0.16, 0.2, 0.84, 0.86) for c in cells], pointed_arch), look.trim.deep)
    yield Shape(rectangle(box.part(0.0, 0.0, 1.0, 0.12)), look.trim.light)
    yield Shape(rectangle(box.part(0.0, 0.88, 1.0, 1.0)), look.trim.light)


@paints("dentil cornice")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(rectangle(box), look.trim.base)
    yield Shape(rectangle(box.grown(0.008, 0.0).part(0.0, 0.0, 1.0, 0.24)), look.trim.light)
    yield Shape(rectangle(box.part(0.0, 0.24, 1.0, 0.56)), look.trim.deep)
    teeth = [c.part(0.2, 0.24, 0.8, 0.5) for c in _cells(box, 0.3 + 0.15 * variant)]
    yield Shape(comb(teeth, rectangle), look.trim.light)
    yield Shape(rectangle(box.part(0.0, 0.74, 1.0, 0.8)), look.trim.dark)


@paints("statue niches")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(rectangle(box), look.trim.shade)
    yield Shape(rectangle(box.part(0.0, 0.9, 1.0, 1.0)), look.trim.light)
    cells = _cells(box, 1.15 + 0.5 * variant)
    yield Shape(comb([c.part(0.2, 0.06, 0.8, 0.9) for c in cells], arch), look.trim.deep)
    yield Shape(comb([c.part(0.36, 0.36, 0.64, 0.9) for c in cells], arch), look.trim.light)
    for cell in cells:
        yield Shape(ellipse(cell.part(0.42, 0.17, 0.58, 0.36)), look.trim.light)
