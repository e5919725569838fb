"""Tower tops and gables; each reaches the middle of its box's upper side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.data.facades.painters.brush import Shape, facets, paints
from sightline.data.facades.shapes import (
    Box,
    arch,
    comb,
    ellipse,
    mirrored,
    pointed_arch,
    rectangle,
    smooth,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sightline.data.facades.colours import Look


@paints("pyramid roof")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    eaves = 1.06 + 0.12 * variant
    yield from facets(((eaves, 0.0), (eaves, 0.03), (0.0, 1.0)), box, look.roof, look)
    yield Shape(
        rectangle(box.grown(0.05 * box.width, 0.0).part(0.0, 0.95, 1.0, 1.0)), look.trim.base
    )


@paints("spire")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    for x in (0.0, 0.88):
        pinnacle = box.part(x, 0.7, x + 0.12, 1.0)
        yield Shape(mirrored(((1.0, 0.0), (1.0, 0.4), (0.0, 1.0)), pinnacle), look.trim.base)
    profile = ((0.84, 0.0), (0.6, 0.1), (0.0, 1.0)) if variant < 0.6 else ((0.8, 0.0), (0.0, 1.0))
    yield from facets(profile, box, look.roof, look)
    dormer = box.part(0.38, 0.76, 0.62, 1.0)
    yield Shape(mirrored(((1.0, 0.0), (1.0, 0.45), (0.0, 1.0)), dormer), look.trim.light)
    yield Shape(pointed_arch(dormer.part(0.25, 0.4, 0.75, 1.0)), look.glass.deep)
    knob = box.part(0.46, 0.0, 0.54, 0.0)
    yield Shape(
        ellipse(knob.grown(0.0, 0.04 * box.width).moved(0, 0.05 * box.width)), look.trim.light
    )


@paints("lantern cupola")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    rail = box.part(-0.04, 0.74, 1.04, 1.0)
    yield Shape(rectangle(rail), look.trim.light)
    gaps = [cell.part(0.28, 0.25, 0.72, 0.8) for cell in rail.columns(7)]
    yield Shape(comb(gaps, arch), look.trim.deep)
    drum = box.part(0.2, 0.62, 0.8, 0.78)
    yield Shape(rectangle(drum), look.trim.base)
    dome = box.part(0.16, 0.3 - 0.04 * variant, 0.84, 0.64)
    quarter = smooth(((1.0, 0.0), (1.0, 0.55), (0.6, 0.95), (0.0, 1.0)))
    yield from facets(quarter, dome, look.roof, look)
    yield Shape(rectangle(box.part(0.41, 0.1, 0.59, 0.31)), look.trim.light)
    yield Shape(rectangle(box.part(0.46, 0.14, 0.54, 0.28)), look.glass.deep)
    yield from facets(quarter, box.part(0.39, 0.0, 0.61, 0.12), look.roof, look)


_ONION = smooth(
    ((0.62, 0.0), (0.62, 0.06), (1.12, 0.16), (1.14, 0.34), (0.72, 0.47), (0.3, 0.55), (0.26, 0.6))
)
_BULB = smooth(((0.5, 0.0), (1.2, 0.2), (1.0, 0.5), (0.2, 0.66), (0.12, 1.0), (0.0, 1.0)))


@paints("onion dome")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(rectangle(box.part(-0.03, 0.95, 1.03, 1.0)), look.trim.light)
    lantern = box.part(0.37, 0.28, 0.63, 0.46)
    yield Shape(rectangle(lantern), look.trim.light)
    yield Shape(
        comb([c.part(0.25, 0.2, 0.75, 0.9) for c in lantern.columns(2)], arch), look.glass.deep
    )
    profile = [*_ONION, (0.26, 0.64), (0.0, 0.64)]
    yield from facets(profile, box.part(0.02, 0.1, 0.98, 0.97), look.roof, look)
    bulb = box.part(0.34 - 0.03 * variant, 0.0, 0.66 + 0.03 * variant, 0.3)
    yield from facets(_BULB, bulb, look.roof, look)


def _coping(box: Box, thickness: float, look: Look) -> Iterator[Shape]:
    """Yield a triangle of wall with a border of stone, darker on the side away from the light."""
    apex = (box.middle, box.y0)
    yield Shape(mirrored(((1.0, 0.0), (0.0, 1.0)), box), look.wall.base)
    for side, foot in ((-1, (box.x0, box.y1)), (1, (box.x1, box.y1))):
        inner = (foot[0] - side * 2.2 * thickness, foot[1])
        edge = (foot, apex, (apex[0], apex[1] + 1.8 * thickness), inner)
        yield Shape(edge, look.trim.light if side == look.light else look.trim.shade)


@paints("plain gable")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield from _coping(box, 0.016, look)
    if variant < 0.5:
        yield Shape(rectangle(box.part(0.04, 0.955, 0.96, 1.0)), look.trim.base)


@paints("steep gable")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    for side in (-1, 1):
        for step in range(1, 7):  # crockets
            x = box.middle + side * box.width / 2 * (1 - step / 7)
            y = box.y1 - box.height * step / 7
            yield Shape(ellipse(Box(x - 0.011, y - 0.014, x + 0.011, y + 0.006)), look.trim.base)
    yield from _coping(box, 0.02, look)
    panels = [box.part(x, y, x + 0.09, 0.93) for x, y in ((0.24, 0.66), (0.355, 0.5))]
    panels += [box.part(1 - x - 0.09, y, 1 - x, 0.93) for x, y in ((0.355, 0.5), (0.24, 0.66))]
    if variant < 0.7:
        yield Shape(comb(panels, pointed_arch), look.wall.dark)
    knob = Box(box.middle - 0.014, box.y0, box.middle + 0.014, box.y0 + 0.024)
    yield Shape(ellipse(knob), look.trim.light)


@paints("triangular pediment")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(mirrored(((1.04, 0.0), (1.04, 0.1), (0.0, 1.0)), box), look.trim.light)
    inner = box.part(0.13, 0.22, 0.87, 0.84)
    yield Shape(mirrored(((1.0, 0.0), (0.0, 1.0)), inner), look.trim.deep)
    field = inner.part(0.05, 0.14, 0.95, 1.0)
    yield Shape(mirrored(((1.0, 0.0), (0.0, 1.0)), field), look.wall.shade)
    yield Shape(rectangle(box.part(-0.02, 0.94, 1.02, 1.0)), look.trim.dark)
    if variant < 0.5:
        teeth = [
            cell.part(0.2, 0.0, 0.8, 1.0) for cell in box.part(0.1, 0.88, 0.9, 0.94).columns(15)
        ]
        yield Shape(comb(teeth, rectangle), look.trim.dark)


_VOLUTE = smooth(
    ((1.0, 0.0), (1.02, 0.12), (0.86, 0.2), (0.74, 0.14), (0.66, 0.26), (0.58, 0.52), (0.5, 0.66))
)


@paints("volute gable")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    top = [(0.56, 0.66), (0.56, 0.74), (0.48, 0.74)]
    curve = smooth(((0.48, 0.74), (0.42, 0.9), (0.2, 0.98), (0.0, 1.0)))
    outline = [*_VOLUTE, *top, *curve]
    yield Shape(mirrored(outline, box), look.trim.light)
    inner = [(0.94 * u, 0.02 + 0.93 * v) for u, v in outline]
    yield Shape(mirrored(inner, box.part(0.0, 0.02, 1.0, 1.0)), look.wall.base)
    yield Shape(rectangle(box.part(0.22, 0.27, 0.78, 0.31)), look.trim.light)
    yield Shape(rectangle(box.part(0.22, 0.31, 0.78, 0.335)), look.wall.dark)
    for side in (-1, 1):
        yield from _volute_eye(box, side, look)
        post = box.middle + side * 0.19 * box.width
        if variant < 0.7:
            yield Shape(
                rectangle(Box(post - 0.012, box.y0 + 0.34 * box.height, post + 0.012, box.y1)),
                look.trim.base,
            )


def _volute_eye(box: Box, side: int, look: Look) -> Iterator[Shape]:
    x, y = box.middle + side * 0.41 * box.width, box.y1 - 0.1 * box.height
    for r, colour in ((0.058, look.trim.light), (0.04, look.wall.dark), (0.022, look.trim.light)):
        r *= box.width
        yield Shape(ellipse(Box(x - r, y - r, x + r, y + r)), colour)
