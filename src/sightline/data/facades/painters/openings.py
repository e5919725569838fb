"""Windows, and the centrepieces over the portal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.data.facades.painters.brush import Shape, paints
from sightline.data.facades.shapes import (
    Box,
    Outline,
    arch,
    comb,
    ellipse,
    half_turn,
    mirrored,
    pointed_arch,
    rectangle,
    smooth,
    strip,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sightline.data.facades.colours import Colour, Look


def _glazed(box: Box, look: Look, outline: Callable[[Box], Outline]) -> Iterator[Shape]:
    """Yield an opening: a reveal, whose far side catches the light, and glass set back in it."""
    w = box.width
    yield Shape(outline(box), look.trim.deep)
    lit = box.grown(-0.1 * w, 0.0).moved(-look.light * 0.1 * w, 0.0)
    yield Shape(outline(Box(lit.x0, box.y0 + 0.1 * w, lit.x1, box.y1)), look.trim.shade)
    yield Shape(outline(Box(lit.x0 + 0.1 * w, box.y0 + 0.16 * w, lit.x1, box.y1)), look.glass.dark)


def _bars(box: Box, rows: int, colour: Colour) -> Iterator[Shape]:
    """Yield a mullion and cross bars."""
    thick = 0.1 * box.width
    yield Shape(strip((box.middle, box.y0), (box.middle, box.y1), thick), colour)
    for row in range(1, rows):
        y = box.y0 + box.height * row / rows
        yield Shape(strip((box.x0, y), (box.x1, y), thick * 0.8), colour)


@paints("round-arch window")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(arch(box), look.trim.light)
    opening = box.part(0.16, 0.0, 0.84, 0.96)
    opening = Box(opening.x0, box.y0 + 0.16 * box.width, opening.x1, opening.y1)
    if variant < 0.5:
        yield from _glazed(opening, look, arch)
        return
    yield Shape(arch(opening), look.trim.dark)
    for light in opening.part(0.06, 0.2, 0.94, 1.0).columns(2):
        yield Shape(arch(light.grown(-0.06 * light.width, 0.0)), look.glass.deep)


@paints("pointed window")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(pointed_arch(box), look.trim.light)
    opening = box.part(0.15, 0.0, 0.85, 0.97)
    opening = Box(opening.x0, box.y0 + 0.24 * box.width, opening.x1, opening.y1)
    yield from _glazed(opening, look, pointed_arch)
    foot = opening.part(0.0, 0.42, 1.0, 1.0)
    lancets = 2 if variant < 0.6 else 3
    yield Shape(comb(foot.columns(lancets), pointed_arch), look.trim.base)
    inner = [cell.grown(-0.13 * cell.width, 0.0) for cell in foot.columns(lancets)]
    yield Shape(comb([c.part(0.0, 0.08, 1.0, 1.0) for c in inner], pointed_arch), look.glass.dark)
    eye = 0.24 * opening.width
    y = foot.y0 - 0.1 * opening.width
    yield Shape(ellipse(Box(box.middle - eye, y - eye, box.middle + eye, y + eye)), look.trim.base)
    eye *= 0.6
    yield Shape(ellipse(Box(box.middle - eye, y - eye, box.middle + eye, y + eye)), look.glass.dark)


@paints("pedimented window")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    head = box.part(0.0, 0.0, 1.0, 0.24)
    yield Shape(rectangle(box.part(0.12, 0.22, 0.88, 1.0)), look.trim.base)
    yield Shape(((head.x0, head.y1), (head.middle, head.y0), (head.x1, head.y1)), look.trim.light)
    yield Shape(mirrored(((0.6, 0.12), (0.0, 0.68)), head), look.trim.dark)
    yield Shape(rectangle(box.part(0.0, 0.22, 1.0, 0.28)), look.trim.light)
    yield Shape(rectangle(box.part(0.12, 0.28, 0.88, 0.31)), look.trim.dark)
    opening = box.part(0.25, 0.35, 0.75, 0.92)
    yield from _glazed(opening, look, rectangle)
    yield from _bars(opening, 2 if variant < 0.5 else 3, look.trim.light)
    yield Shape(rectangle(box.part(0.02, 0.93, 0.98, 1.0)), look.trim.light)


@paints("segmental window")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield Shape(arch(box.part(0.1, 0.1, 0.9, 0.95), 0.2), look.trim.base)
    yield Shape(_brow(box.part(0.0, 0.0, 1.0, 0.3)), look.trim.light)
    opening = box.part(0.23, 0.2, 0.77, 0.88)
    yield from _glazed(opening, look, lambda inner: arch(inner, 0.22))
    yield from _bars(opening.part(0.0, 0.08, 1.0, 1.0), 3, look.trim.light)
    yield Shape(rectangle(box.part(0.42, 0.02, 0.58, 0.22)), look.trim.light)
    apron = smooth(((0.2, 0.0), (0.45, 0.3), (0.9, 0.35), (0.95, 1.0)))
    yield Shape(mirrored(apron, box.part(0.0, 0.9, 1.0, 1.0)), look.trim.light)


def _brow(box: Box) -> Outline:
    """Return a curved moulding over an opening, with ears that curl up at its ends."""
    upper = smooth(((1.0, 0.35), (0.92, 0.5), (0.7, 0.55), (0.4, 0.95), (0.0, 1.0)))
    lower = smooth(((0.0, 0.72), (0.36, 0.68), (0.66, 0.3), (0.9, 0.22), (1.0, 0.1)))
    x, half = box.middle, box.width / 2
    right = [*upper, *lower]
    left = [*reversed(lower), *reversed(upper)]
    points = [(x + half * u, box.y1 - box.height * v) for u, v in right]
    return points + [(x - half * u, box.y1 - box.height * v) for u, v in left]


def _ring(box: Box, look: Look, share: float) -> Iterator[Shape]:
    """Yield a round frame of some depth and dark glass in it; `share` is the width of the frame."""
    d = share * box.width
    yield Shape(ellipse(box), look.trim.light)
    yield Shape(ellipse(box.grown(-0.5 * d)), look.trim.shade)
    yield Shape(ellipse(box.grown(-d)), look.trim.deep)
    inner = box.grown(-1.15 * d).moved(-look.light * 0.12 * d, 0.12 * d)
    yield Shape(ellipse(inner), look.glass.dark)


@paints("oculus")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    box = box.part(0.14, 0.14, 0.86, 0.86)
    yield from _ring(box, look, 0.17 + 0.06 * variant)
    eye = box.grown(-0.2 * box.width)
    for bar in (eye.part(0.46, 0.0, 0.54, 1.0), eye.part(0.0, 0.46, 1.0, 0.54)):
        yield Shape(rectangle(bar), look.metal.dark)


_EIGHT = ((1, 0), (0.7071, 0.7071), (0, 1), (-0.7071, 0.7071))
_TWELVE = ((1, 0), (0.866, 0.5), (0.5, 0.866), (0, 1), (-0.5, 0.866), (-0.866, 0.5))


@paints("rose window")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    yield from _ring(box, look, 0.1)
    x, y, r = box.middle, (box.y0 + box.y1) / 2, 0.4 * box.width
    for a, b in _EIGHT if variant < 0.5 else _TWELVE:
        bar = strip((x - r * a, y - r * b), (x + r * a, y + r * b), 0.05 * box.width)
        yield Shape(bar, look.trim.light)
    for share, colour in ((0.25, look.trim.light), (0.2, look.glass.dark)):
        yield Shape(ellipse(box.grown((share - 0.5) * box.width)), colour)
    for share, colour in ((0.11, look.trim.light), (0.06, look.glass.dark)):
        yield Shape(ellipse(box.grown((share - 0.5) * box.width)), colour)


@paints("lunette")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    box = box.part(0.0, 0.22, 1.0, 0.78)
    yield Shape(half_turn(box), look.trim.light)
    yield from _glazed(box.part(0.1, 0.18, 0.9, 0.9), look, half_turn)
    for x in (0.34, 0.66):
        post = box.part(x - 0.035, 0.2, x + 0.035, 0.92)
        yield Shape(rectangle(post), look.trim.light)
    if variant < 0.5:
        yield Shape(rectangle(box.part(0.14, 0.56, 0.86, 0.62)), look.trim.base)
    yield Shape(rectangle(box.part(0.0, 0.9, 1.0, 1.0)), look.trim.light)


@paints("oval window")
def _(box: Box, look: Look, variant: float) -> Iterator[Shape]:
    frame = box.part(0.17, 0.04, 0.83, 0.96)
    for key in ((0.42, 0.0, 0.58, 0.2), (0.42, 0.8, 0.58, 1.0)):
        yield Shape(rectangle(box.part(*key)), look.trim.light)
    for ear in ((0.1, 0.4, 0.26, 0.6), (0.74, 0.4, 0.9, 0.6)):
        yield Shape(ellipse(box.part(*ear)), look.trim.light)
    yield from _ring(frame, look, 0.16 + 0.06 * variant)
    yield from _bars(frame.part(0.24, 0.2, 0.76, 0.8), 3, look.trim.base)
