"""Parts to pixels: the picture, and which of its pixels show which part."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw

from sightline.core.raster import mask_pixels
from sightline.data.facades.changes import Changes
from sightline.data.facades.dice import Dice
from sightline.data.facades.painters import PAINTERS
from sightline.data.facades.scene import GROUND
from sightline.data.facades.surfaces import draw_backdrop, draw_grain, draw_masonry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from sightline.data.facades.camera import Camera
    from sightline.data.facades.colours import Backdrop, Colour, Look
    from sightline.data.facades.painters import Shape
    from sightline.data.facades.scene import Part

    Outlines = list[tuple[list[int], Colour]]
    Bounds = tuple[int, int, int, int]

__all__ = ["Drawing", "Setting", "Sight", "draw"]

_FINE = 2  # lines are drawn at twice the size and reduced


@dataclass(frozen=True, slots=True)
class Setting:
    """All that a drawing needs beside the parts.

    Attributes
    ----------
    size : int
        Side of the picture in pixels.
    seed, index : int
        Where clouds, stones and grain come from; the same pixels whatever the parts are.
    """

    size: int
    camera: Camera
    look: Look
    backdrop: Backdrop
    seed: int
    index: int


@dataclass(frozen=True, slots=True)
class Sight:
    """What can be seen of a labelled part.

    Attributes
    ----------
    mask : array of bool (size, size)
        The pixels of which half or more show the part, or what belongs to it.
    box : tuple of 4 floats or None
        Normalised corners of the tight box around the mask, None when it is empty.
    share : float
        How much of its silhouette is visible.
    """

    mask: NDArray[np.bool_]
    box: tuple[float, float, float, float] | None
    share: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture and its truth.

    Attributes
    ----------
    image : array of uint8 (size, size, 3)
        The picture.
    sights : tuple of Sight
        One for each labelled part, in their order.
    background : array of bool (size, size)
        Pixels of nothing but sky and ground.
    """

    image: NDArray[np.uint8]
    sights: tuple[Sight, ...]
    background: NDArray[np.bool_]


def draw(parts: Sequence[Part], setting: Setting) -> Drawing:
    """Return the drawing of parts, painted in their order.

    A part covers whatever was painted before it, except the parts that it belongs to: a window
    makes no hole in its tower.
    """
    size = setting.size
    clouds, stones, grain = (
        Dice(setting.seed, setting.index, name).rng for name in ("clouds", "stones", "grain")
    )
    canvas = _prime(setting, clouds)
    tracker = _Tracker(parts, size * _FINE)
    pen = ImageDraw.Draw(canvas)
    for number, (outlines, bounds) in enumerate(_outlines(parts, setting)):
        for points, colour in outlines:
            pen.polygon(points, fill=colour)
        tracker.paint(number, [points for points, _ in outlines], bounds)
    *colours, strength = (np.asarray(band) for band in canvas.reduce(_FINE).split())
    relief = draw_masonry(setting.camera, setting.look.masonry, size, stones)
    relief *= strength
    relief >>= 8
    relief += draw_grain(size, grain)
    sights, background = tracker.sights()
    image = _expose(colours, relief, setting.look.gain)
    _retouch(image, parts, tracker, setting)
    return Drawing(image, sights, background)


def _expose(
    colours: Sequence[NDArray[np.uint8]], relief: NDArray[np.int16], gain: int
) -> NDArray[np.uint8]:
    """Return the picture: the colours with what the surfaces add, brighter or darker."""
    image = np.empty((*relief.shape, 3), np.uint8)
    for channel, plane in enumerate(colours):
        levels = np.clip(plane + relief, 0, 255).astype(np.uint16)
        levels *= np.uint16(gain)  # up to 2
        levels >>= 7
        image[..., channel] = np.minimum(levels, 255)
    return image


def _retouch(
    image: NDArray[np.uint8], parts: Sequence[Part], tracker: _Tracker, setting: Setting
) -> None:
    """Give parts another texture or colour in the finished picture, where they are to have it."""
    for number, part in enumerate(parts):
        if "texture" in part.changes:
            _changes_of(setting).hatch(image, tracker.quarters(number))
    # Colours leave less room for hatching: last, so that no value depends on them.
    for number, part in enumerate(parts):
        if "colour" in part.changes:
            first = next(PAINTERS[part.name](part.box, setting.look, part.variant))
            _changes_of(setting).recolour(image, tracker.quarters(number), first.colour)


def _changes_of(setting: Setting) -> Changes:
    return Changes.draw(Dice(setting.seed, setting.index, "changes"))


def _prime(setting: Setting, rng: np.random.Generator) -> Image.Image:
    """Return the canvas with the background on it; its fourth channel is the masonry's."""
    size = setting.size
    _, foot = setting.camera.project(np.array([0.0, 1.0]), np.array([GROUND, GROUND]))
    horizon = int(min(foot) * size) - size // 40
    planes = draw_backdrop(setting.backdrop, horizon, size, rng)
    bands = [*map(Image.fromarray, planes), Image.new("L", (size, size))]
    canvas = Image.merge("RGBX", bands)
    return canvas.resize((size * _FINE, size * _FINE), Image.Resampling.NEAREST)


def _outlines(parts: Sequence[Part], setting: Setting) -> Iterator[tuple[Outlines, Bounds]]:
    """Yield the shapes of each part at their places on the canvas, and whole pixels around them."""
    side = setting.size * _FINE
    shapes = _shapes(parts, setting)
    points = chain.from_iterable(shape.outline for each in shapes for shape in each)
    flat = np.fromiter(chain.from_iterable(points), np.float64).reshape(-1, 2)
    # Pillow fills a polygon with the pixels of its corners; floor names the pixel of a corner.
    places = np.floor(np.stack(setting.camera.project(*flat.T), axis=1) * side).astype(np.int32)
    starts = np.cumsum([0, *(sum(len(shape.outline) for shape in each) for each in shapes)])[:-1]
    low = np.clip(np.minimum.reduceat(places, starts), 0, side) // _FINE * _FINE
    high = np.clip(np.maximum.reduceat(places, starts) // _FINE * _FINE + _FINE, 0, side)
    numbers, start = places.ravel().tolist(), 0
    for each, (x0, y0), (x1, y1) in zip(shapes, low.tolist(), high.tolist(), strict=True):
        outlines = []
        for outline, colour in each:
            stop = start + 2 * len(outline)
            outlines.append((numbers[start:stop], colour))
            start = stop
        yield outlines, (x0, y0, x1, y1)


def _shapes(parts: Sequence[Part], setting: Setting) -> list[list[Shape]]:
    """Return the shapes of each part, leaning where they are to lean."""
    shapes = [list(PAINTERS[p.name](p.box, setting.look, p.variant)) for p in parts]
    for number, part in enumerate(parts):
        if "shape" in part.changes:
            shapes[number] = _changes_of(setting).lean_shapes(shapes[number], part.box)
    return shapes


class _Tracker:
    """Keeps for every fine pixel which part was painted last: its number + 1, 0 for none.

    Parameters
    ----------
    parts : sequence of Part
        What will be painted; what belongs to a part follows it directly.
    side : int
        Side of the canvas in fine pixels.
    """

    def __init__(self, parts: Sequence[Part], side: int) -> None:
        self._parts = parts
        self._stencil = Image.new("L", (side, side))
        self._pen = ImageDraw.Draw(self._stencil)
        self._silhouettes: dict[int, tuple[Bounds, NDArray[np.bool_]]] = {}

    def paint(self, number: int, outlines: Sequence[list[int]], bounds: Bounds) -> None:
        """Note that a part is painted within bounds."""
        for points in outlines:
            self._pen.polygon(points, fill=number + 1)
        if self._parts[number].is_labelled:
            silhouette = np.asarray(self._stencil.crop(bounds)) == number + 1
            self._silhouettes[number] = bounds, silhouette

    def sights(self) -> tuple[tuple[Sight, ...], NDArray[np.bool_]]:
        """Return what is seen of the labelled parts, and where nothing is painted."""
        last = np.asarray(self._stencil)
        sights = tuple(self._sight(number, last) for number in self._silhouettes)
        either = last[::_FINE] | last[1::_FINE]
        return sights, (either[:, ::_FINE] | either[:, 1::_FINE]) == 0

    def quarters(self, number: int) -> NDArray[np.int64]:
        """Return how many quarters of each pixel show a part, without what belongs to it."""
        top = (np.asarray(self._stencil) == number + 1).astype(np.int64)
        rows = top[::_FINE] + top[1::_FINE]
        return np.asarray(rows[:, ::_FINE] + rows[:, 1::_FINE])

    def _sight(self, number: int, last: NDArray[np.uint8]) -> Sight:
        (x0, y0, x1, y1), silhouette = self._silhouettes[number]
        top = last[y0:y1, x0:x1]
        seen = silhouette & (top > number) & (top <= self._last_of_family(number) + 1)
        upper, lower = seen[::_FINE], seen[1::_FINE]
        both, either = upper & lower, upper | lower
        half = both[:, ::_FINE] | both[:, 1::_FINE]  # two of four or more
        half |= either[:, ::_FINE] & either[:, 1::_FINE]
        mask = np.zeros([side // _FINE for side in last.shape], np.bool_)
        mask[y0 // _FINE : y1 // _FINE, x0 // _FINE : x1 // _FINE] = half
        mask.flags.writeable = False  # it is handed out again and again
        share = int(np.count_nonzero(seen)) / max(int(np.count_nonzero(silhouette)), 1)
        return Sight(mask, _tight_box(half, y0 // _FINE, x0 // _FINE, len(mask)), share)

    def _last_of_family(self, number: int) -> int:
        """Return the number of the last part that belongs to a part, or its own."""
        last = number
        while last + 1 < len(self._parts) and self._parts[last + 1].parent >= number:
            last += 1
        return last


def _tight_box(
    inner: NDArray[np.bool_], top: int, left: int, size: int
) -> tuple[float, float, float, float] | None:
    """Return the box around the pixels of a window of the picture."""
    pixels = mask_pixels(inner)
    if pixels is None:
        return None
    x0, y0, x1, y1 = pixels
    return (left + x0) / size, (top + y0) / size, (left + x1) / size, (top + y1) / size
