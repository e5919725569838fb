"""Pixels that no outline describes: sky, ground, masonry and grain, in whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sightline.data.facades.camera import Camera
    from sightline.data.facades.colours import Backdrop, Masonry

__all__ = ["Levels", "draw_backdrop", "draw_grain", "draw_masonry"]

Levels: TypeAlias = NDArray[np.int16]
_CLOUD = (246, 246, 248)


def _noise(
    rng: np.random.Generator, shape: tuple[int, int], cells: tuple[int, int], octaves: int = 1
) -> Levels:
    """Return smooth noise from 0 to 255: random values at the corners of cells, blended between.

    With more octaves, each cell is halved and a third as strong noise is added, again and again.
    """
    values = rng.integers(0, 256, (cells[0] + 1, cells[1] + 1), dtype=np.int16)
    for _ in range(octaves - 1):
        rows, columns = (2 * side - 1 for side in values.shape)
        values = _stretch(_stretch(values.T, columns).T, rows)
        values = (3 * values + rng.integers(0, 256, values.shape, dtype=np.int16)) // 4
    return _stretch(_stretch(values.T, shape[1]).T, shape[0])


def _stretch(values: Levels, count: int) -> Levels:
    """Return `count` rows blended from the given ones."""
    steps = np.arange(count) * (len(values) - 1)
    cell, share = steps // count, steps % count * 128 // count
    share = share * share * (384 - 2 * share) >> 14  # no kinks where cells meet
    blended = np.diff(values, axis=0)[cell]  # 255 * 128 fits into 16 bits
    blended *= share.astype(np.int16)[:, None]
    blended >>= 7
    blended += values[cell]
    return blended


def draw_backdrop(
    backdrop: Backdrop, horizon: int, size: int, rng: np.random.Generator
) -> NDArray[np.uint8]:
    """Return sky, hills and the ground below `horizon`: red, green and blue, (3, size, size).

    The shapes come from `rng`, the colours from `backdrop`; neither depends on the other.
    """
    planes = np.empty((3, size, size), np.uint8)
    _draw_sky(planes[:, :horizon], backdrop, rng)
    _draw_ground(planes[:, horizon:], backdrop, rng)
    return planes


def _draw_sky(planes: NDArray[np.uint8], backdrop: Backdrop, rng: np.random.Generator) -> None:
    _, height, width = planes.shape
    cover = _noise(rng, (height, width), (5, 2), octaves=3)
    cover -= 190 - backdrop.clouds // 2
    cover *= 2
    np.clip(cover, 0, 116, out=cover)
    rows = np.arange(height, dtype=np.int32)[:, None]
    is_hill = rows >= height - _noise(rng, (2, width), (1, 6))[0].astype(np.int32) * width // 5000
    colours = zip(planes, _CLOUD, *backdrop.sky, backdrop.ground, strict=True)
    for plane, cloud, top, bottom, ground in colours:
        clear = (top + (bottom - top) * rows // height).astype(np.int16)
        levels = (cloud - clear) * cover
        levels >>= 8
        levels += clear
        np.copyto(levels, np.int16((bottom + ground) // 2), where=is_hill)
        plane[:] = levels


def _draw_ground(planes: NDArray[np.uint8], backdrop: Backdrop, rng: np.random.Generator) -> None:
    _, height, width = planes.shape
    shade = _noise(rng, (height, width), (7, 12)) >> 4
    shade += (24 * np.arange(height) // height + 96).astype(np.int16)[:, None]
    np.minimum(shade, 128, out=shade)  # 255 * 128 fits into 16 bits
    for plane, colour in zip(planes, backdrop.ground, strict=True):
        plane[:] = shade * np.int16(colour) >> 7


def draw_masonry(camera: Camera, masonry: Masonry, size: int, rng: np.random.Generator) -> Levels:
    """Return what stones and their joints add to the brightness of a wall, (size, size)."""
    tones = rng.integers(-masonry.tone, masonry.tone + 1, 256, dtype=np.int16)
    levels = _noise(rng, (size, size), (5, 7)) - np.int16(128)
    levels >>= 3
    places = (np.arange(size, dtype=np.float32) + np.float32(0.5)) / np.float32(size)
    x, y = camera.unproject(places[None, :], places[:, None])
    course, in_course = _split(y * np.float32(masonry.courses))
    stone, in_stone = _split(x * np.float32(masonry.stones) + (course & 1) * np.float32(0.5))
    levels += tones.take((course * 37 + stone * 101) & 255)
    levels -= np.int16(masonry.joint) * ((in_course < 0.17) | (in_stone < 0.085))
    return levels


def _split(places: NDArray[np.float32]) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """Return the whole and the broken part of numbers."""
    whole = np.floor(places)
    return whole.astype(np.int16), places - whole


def draw_grain(size: int, rng: np.random.Generator) -> Levels:
    """Return fine noise from -5 to 5, (size, size)."""
    noise = rng.integers(0, 256, (size, size), dtype=np.uint8)  # bytes are drawn faster
    return (noise // 24).astype(np.int16) - np.int16(5)
