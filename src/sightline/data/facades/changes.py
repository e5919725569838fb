"""One property of a part changes and the others stay: its colour, its shape or its texture.

colour
    The finished picture takes another hue where the part shows, and keeps the HSV value (the
    largest channel) of every pixel.
shape
    The part leans before it is painted: its outlines are sheared by half of its shorter side at
    either end, which keeps their areas.
texture
    Hatching is laid over the finished picture where the part shows, around the same mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from sightline.core import InputError
from sightline.data.facades.painters.brush import Shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sightline.data.facades.colours import Colour, Rgb
    from sightline.data.facades.dice import Dice
    from sightline.data.facades.shapes import Box, Outline

    Picture = NDArray[np.uint8]
    Counts = NDArray[np.int64]

__all__ = ["Change", "Changes", "check_change"]

Change: TypeAlias = Literal["colour", "shape", "texture"]
_TINTS: tuple[Rgb, ...] = (  # in 1/256 of the value: one channel keeps all of it
    (256, 84, 84),
    (256, 226, 70),
    (100, 256, 110),
    (80, 230, 256),
    (90, 120, 256),
    (256, 90, 200),
)
_DEPTH = 36  # of the hatching, in levels
_QUARTERS = 4  # of a pixel, which a part may show in
_PATTERNS = ("rising", "falling", "checks")


def check_change(what: str) -> None:
    """Raise unless it is a property that can change alone."""
    known = get_args(Change)
    if what not in known:
        raise InputError(f"what must be one of {', '.join(known)}, got {what!r}")


@dataclass(frozen=True, slots=True)
class Changes:
    """What the changed parts of one picture look like.

    Attributes
    ----------
    tints : tuple of colours
        In the order of liking; a part takes the first whose hue is far from its own.
    lean : int
        The side to which parts lean, -1 or 1.
    pattern : {"rising", "falling", "checks"}
        Of the hatching.
    """

    tints: tuple[Rgb, ...]
    lean: int
    pattern: str

    @classmethod
    def draw(cls, dice: Dice) -> Changes:
        """Return random ones; none of the three depends on which is asked for."""
        return cls(tuple(dice.shuffled(_TINTS)), dice.pick((-1, 1)), dice.pick(_PATTERNS))

    def lean_shapes(self, shapes: Sequence[Shape], box: Box) -> list[Shape]:
        """Return the shapes of a part in a box, leaning."""
        return [Shape(_leaning(outline, box, self.lean), colour) for outline, colour in shapes]

    def recolour(self, image: Picture, quarters: Counts, colour: Colour) -> None:
        """Turn the hue where a part shows, in place; no pixel's largest channel changes.

        Parameters
        ----------
        image : array of uint8 (size, size, 3)
            The finished picture.
        quarters : array of int (size, size)
            How many quarters of each pixel show the part.
        colour : colour
            What most of the part is painted in.
        """
        where = quarters > 0
        old, share = image[where].astype(np.int32), quarters[where][:, None]
        value = old.max(axis=1, keepdims=True)
        tinted = value * np.array(self._tint(colour), np.int32) >> 8
        mixed = old * (_QUARTERS - share) + tinted * share
        image[where] = mixed * value // np.maximum(mixed.max(axis=1, keepdims=True), 1)

    def _tint(self, colour: Colour) -> Rgb:
        """Return the first tint that is far from a colour; of six, four are at least."""
        return next(tint for tint in self.tints if _is_far(colour, tint))

    def hatch(self, image: Picture, quarters: Counts) -> None:
        """Lay the pattern over a part, in place, with as much added as taken away.

        Pixels of which a part has less than half stay; none is driven to black or white.
        """
        where = 2 * quarters >= _QUARTERS
        old = image[where].astype(np.int32)
        room = np.minimum(255 - old.max(axis=1), old.min(axis=1))
        depth = np.minimum(room, _DEPTH) * quarters[where] // _QUARTERS
        up = self._signs(len(image))[where] > 0
        more, less = int(depth[up].sum()), int(depth[~up].sum())
        fair = min(more, less)
        steps = np.where(up, _scaled(depth, fair, more), -_scaled(depth, fair, less))
        image[where] = old + steps[:, None]

    def _signs(self, size: int) -> Counts:
        """Return -1 and 1 in the pattern; a stripe is a 56th of the picture wide."""
        width = max(size // 56, 2)
        x, y = np.arange(size)[None, :], np.arange(size)[:, None]
        stripe = {
            "rising": (x + y) // width,
            "falling": (x - y) // width,
            "checks": x // width + y // width,
        }[self.pattern]
        return (stripe & 1) * 2 - 1


def _scaled(numbers: Counts, part: int, whole: int) -> Counts:
    """Return part / whole of the numbers, rounded."""
    return (numbers * part + whole // 2) // max(whole, 1)


def _is_far(colour: Colour, tint: Rgb) -> bool:
    """Return whether the hues of two colours are 60 degrees or more apart, or one has none."""
    (a, b), (c, d) = (
        (2 * red - green - blue, green - blue) for red, green, blue in (colour[:3], tint)
    )
    product = a * c + 3 * b * d  # of lengths and cosine, as hues lie on a circle
    return product <= 0 or 4 * product * product <= (a * a + 3 * b * b) * (c * c + 3 * d * d)


def _leaning(outline: Outline, box: Box, lean: int) -> Outline:
    """Return an outline sheared along the longer side of a box, about the middle of the box."""
    middle = (box.y0 + box.y1) / 2
    if box.height >= box.width:
        slope = lean * box.width / box.height
        return [(x + slope * (y - middle), y) for x, y in outline]
    slope = lean * box.height / box.width
    return [(x, y + slope * (x - box.middle)) for x, y in outline]
