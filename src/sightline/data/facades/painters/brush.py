"""What all painters use: shapes, the table of painters, and bodies with a lit and a dark side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from sightline.data.facades.colours import Colour, Look, Ramp
from sightline.data.facades.shapes import Box, Outline, mirrored, rectangle

__all__ = ["PAINTERS", "Painter", "Shape", "column", "facets", "paints"]


class Shape(NamedTuple):
    """A filled outline."""

    outline: Outline
    colour: Colour


Painter: TypeAlias = Callable[[Box, Look, float], Iterator[Shape]]
PAINTERS: dict[str, Painter] = {}


def paints(name: str) -> Callable[[Painter], Painter]:
    """Enter a painter into the table."""

    def enter(painter: Painter) -> Painter:
        PAINTERS[name] = painter
        return painter

    return enter


def facets(profile: Outline, box: Box, ramp: Ramp, look: Look) -> Iterator[Shape]:
    """Yield a symmetric body whose side away from the light is in shade."""
    yield Shape(mirrored(profile, box), ramp.base)
    x, half, h = box.middle, -look.light * box.width / 2, box.height
    shade = [(x + half * u, box.y1 - h * v) for u, v in profile]
    yield Shape([(x + 0.3 * half, box.y1), *shade, (x, box.y0)], ramp.dark)


def column(box: Box, look: Look) -> Iterator[Shape]:
    """Yield a round column with base and capital."""
    yield Shape(rectangle(box.part(0.12, 0.0, 0.88, 1.0)), look.trim.base)
    lit, dark = (0.14, 0.66) if look.light < 0 else (0.66, 0.14)
    yield Shape(rectangle(box.part(lit, 0.08, lit + 0.2, 0.94)), look.trim.light)
    yield Shape(rectangle(box.part(dark, 0.08, dark + 0.22, 0.94)), look.trim.dark)
    yield Shape(rectangle(box.part(0.0, 0.0, 1.0, 0.08)), look.trim.light)
    yield Shape(rectangle(box.part(0.0, 0.93, 1.0, 1.0)), look.trim.light)
