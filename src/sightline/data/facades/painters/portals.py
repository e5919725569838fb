"""Portals and their doors; each leaves the middle of its lower half to the door."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.data.facades.painters.brush import Shape, column, paints
from sightline.data.facades.shapes import (
    Box,
    Outline,
    arch,
    ellipse,
    half_turn,
    mirrored,
    pointed_arch,
    rectangle,
    smooth,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sightline.data.facades.colours import Look


def _nested(box: Box, look: Look, outline: Callable[[Box], Outline], steps: int) -> Iterator[Shape]:
    """Yield stepped reveals, lit and shaded in turn, down to the dark of the doorway."""
    inset = 0.26 * box.width / steps
    yield Shape(outline(box), look.trim.light)
    for step in range(1, steps + 1):
        inner = Box(box.x0 + step * inset, box.y0 + step * inset, box.x1 - step * inset, box.y1)
        colour = look.trim.deep if step == steps else (look.trim.dark, look.trim.base)[step % 2]
        yield Shape(outline(inner), colour)


@paints("stepped round portal")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield from _nested(box, look, arch, 4 if variant < 0.5 else 6)
    yield Shape(half_turn(box.part(0.3, 0.34, 0.7, 0.52)), look.trim.base)
    for x in (0.06, 0.86):
        yield Shape(rectangle(box.part(x, 0.44, x + 0.08, 0.48)), look.trim.light)


@paints("pointed portal")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    gable = box.part(0.0, 0.0, 1.0, 0.52)
    yield Shape(mirrored(((1.0, 0.0), (0.0, 1.0)), gable), look.trim.base)
    yield Shape(mirrored(((0.78, 0.0), (0.0, 0.78)), gable), look.wall.shade)
    eye = box.part(0.43, 0.14, 0.57, 0.14)
    yield Shape(ellipse(eye.grown(0.0, eye.width / 2)), look.trim.deep)
    for x in (0.0, 0.88):
        post = box.part(x, 0.3, x + 0.12, 1.0)
        yield Shape(rectangle(post), look.trim.shade)
        peak = ((post.x0, post.y0), (post.middle, post.y0 - 1.6 * post.width), (post.x1, post.y0))
        yield Shape(peak, look.trim.light)
    body = box.part(0.1, 0.22, 0.9, 1.0)
    yield from _nested(body, look, pointed_arch, 4 if variant < 0.5 else 5)
    yield Shape(pointed_arch(box.part(0.3, 0.36, 0.7, 0.52)), look.trim.base)


@paints("temple portal")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(rectangle(box.part(0.06, 0.22, 0.94, 1.0)), look.trim.shade)
    yield Shape(rectangle(box.part(0.27, 0.4, 0.73, 1.0)), look.trim.deep)
    for x in (0.08, 0.78):
        yield from column(box.part(x, 0.36, x + 0.14, 1.0), look)
    yield Shape(rectangle(box.part(0.02, 0.24, 0.98, 0.36)), look.trim.base)
    yield Shape(rectangle(box.part(0.02, 0.335, 0.98, 0.36)), look.trim.dark)
    head = box.part(0.0, 0.0, 1.0, 0.25)
    yield Shape(mirrored(((1.0, 0.0), (1.0, 0.12), (0.0, 1.0)), head), look.trim.light)
    yield Shape(mirrored(((0.7, 0.16), (0.0, 0.74)), head), look.trim.dark)
    if variant < 0.4:
        yield Shape(ellipse(head.part(0.44, 0.45, 0.56, 0.82)), look.trim.light)


@paints("scroll portal")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(rectangle(box.part(0.06, 0.3, 0.94, 1.0)), look.trim.shade)
    yield Shape(arch(box.part(0.26, 0.38, 0.74, 1.0), 0.3), look.trim.deep)
    for x in (0.07, 0.79):
        yield from column(box.part(x, 0.4, x + 0.14, 1.0), look)
    yield Shape(rectangle(box.part(0.0, 0.28, 1.0, 0.36)), look.trim.light)
    yield Shape(rectangle(box.part(0.06, 0.355, 0.94, 0.38)), look.trim.dark)
    for side in (-1, 1):
        yield from _scroll(box.part(0.0, 0.06, 1.0, 0.3), side, look)
    crest = smooth(((0.3, 0.0), (0.9, 0.35), (0.5, 0.6), (0.8, 0.85), (0.0, 1.0)))
    yield Shape(mirrored(crest, box.part(0.38, 0.0, 0.62, 0.3)), look.trim.base)
    yield Shape(ellipse(box.part(0.44, 0.09, 0.56, 0.22)), look.trim.light)
    if variant < 0.5:
        yield Shape(rectangle(box.part(0.47, 0.36, 0.53, 0.44)), look.trim.light)


# fmt: off
_SCROLL = smooth((
    (1.0, 0.0), (0.98, 0.3), (0.72, 0.5), (0.5, 0.95), (0.26, 0.95),
    (0.22, 0.6), (0.36, 0.5), (0.42, 0.7), (0.55, 0.4), (0.6, 0.0),
))
# fmt: on


def _scroll(box: Box, side: int, look: Look) -> Iterator[Shape]:
    """Yield one half of a broken pediment that rolls up towards the middle."""
    half = side * box.width / 2
    outline = [(box.middle + half * u, box.y1 - box.height * v) for u, v in _SCROLL]
    yield Shape(outline, look.lit(look.trim, side))
    eye = 0.07 * box.width
    x, y = box.middle + 0.34 * half, box.y1 - 0.68 * box.height
    yield Shape(ellipse(Box(x - eye, y - eye, x + eye, y + eye)), look.trim.light)


@paints("door")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(rectangle(box), look.wood.base)
    for x in (0.1, 0.58):
        for y0, y1 in ((0.08, 0.44), (0.54, 0.92)):
            panel = box.part(x, y0, x + 0.32, y1)
            yield Shape(rectangle(panel), look.wood.dark if variant < 0.6 else look.wood.light)
    yield Shape(rectangle(box.part(0.47, 0.0, 0.53, 1.0)), look.wood.deep)
