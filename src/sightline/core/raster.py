"""Shapes to boolean masks of (height, width).

Coordinates are normalised: (0, 0) is the top left corner of the image, (1, 1) the bottom right one,
and a mask is laid over the whole image. Nothing here knows about files or labels; what does not fit
raises `ValueError`, and callers say where it came from.
"""

from __future__ import annotations

from math import ceil, floor, isfinite
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.core.run_lengths import decode_rle

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "Mask",
    "box_mask",
    "box_pixels",
    "clip_polygon",
    "disc_mask",
    "disc_touches",
    "mask_box",
    "mask_pixels",
    "polygon_area",
    "polygon_box",
    "polygon_mask",
    "polygon_points",
    "polygon_touches",
    "resize_mask",
    "soft_target",
]

Mask: TypeAlias = NDArray[np.bool_]

# An edge this close (in pixels) to a pixel's centre or border counts as lying on it, so that the
# round trip pixels -> normalised -> pixels cannot move an edge.
_NEAR = 1e-9
# COCO's rasteriser walks along edges and takes memory for every step: a vertex this many image
# sizes away is an error in the file.
_FAR = 10.0
# For the same reason an outline may be this many sides of the image long: far more than one that
# follows every pixel of a tree.
_LONGEST = 2000.0
# Masks are resized in blocks of this many pixels: 16 MB of sums.
_BLOCK = 2**22


def box_pixels(box: Sequence[float], height: int, width: int) -> tuple[int, int, int, int] | None:
    """Return the pixels of a box: half-open columns and rows `(x0, y0, x1, y1)`.

    The box is clipped to the image (the far edge stays where it is). A pixel is in when its centre
    is in or lies on an edge; that rounds edges, and treats left and right, top and bottom alike. A
    box too small to hold a centre covers the pixel under its own centre, or both neighbours when
    its centre lies between them.

    Parameters
    ----------
    box : sequence of 4 floats
        Normalised corners x0, y0, x1, y1.
    height, width : int
        Size of the mask.

    Returns
    -------
    tuple of 4 ints or None
        None when the box lies wholly outside. A box that only leans on the border from outside is
        outside; one without width or height that lies on the border is inside.

    Raises
    ------
    ValueError
        If a corner is not finite, or the corners are in the wrong order.

    Examples
    --------
    >>> box_pixels((0.1, 0.0, 0.5, 0.31), 10, 10)
    (1, 0, 5, 3)
    >>> box_pixels((-0.2, 0.5, 0.5, 1.3), 10, 10)
    (0, 5, 5, 10)
    """
    x0, y0, x1, y1 = (float(corner) for corner in box)
    if not all(map(isfinite, (x0, y0, x1, y1))):
        raise ValueError(f"box corners must be finite, got {_show(box)}")
    if x1 < x0 or y1 < y0:
        raise ValueError(f"box corners must be x0 <= x1 and y0 <= y1, got {_show(box)}")
    across, down = _edges_pixels(x0, x1, width), _edges_pixels(y0, y1, height)
    if across is None or down is None:
        return None
    return across[0], down[0], across[1], down[1]


def _edges_pixels(low: float, high: float, size: int) -> tuple[int, int] | None:
    """Return the pixels between two edges, half-open; None if they lie wholly outside.

    `metrics._kernels.box_pixels` does the same for many boxes.
    """
    overlap = min(high, 1.0) - max(low, 0.0)
    if overlap < 0 or (overlap == 0 and low < high):
        return None
    start, stop = (_snap(min(max(edge, 0.0), 1.0) * size) for edge in (low, high))
    first, last = ceil(start - 0.5), floor(stop + 0.5)
    if first >= last:  # without any pixel's centre: what lies under its own
        centre = _snap((start + stop) / 2)
        first, last = max(ceil(centre) - 1, 0), min(floor(centre) + 1, size)
    return first, last


def box_mask(box: Sequence[float], height: int, width: int) -> Mask:
    """Return the mask of a box (see `box_pixels`); nothing is set when it lies wholly outside."""
    mask = np.zeros((height, width), np.bool_)
    pixels = box_pixels(box, height, width)
    if pixels is not None:
        x0, y0, x1, y1 = pixels
        mask[y0:y1, x0:x1] = True
    return mask


def disc_mask(
    x: float, y: float, radius: float | tuple[float, float], height: int, width: int
) -> Mask:
    """Return the mask of a disc around a point.

    A pixel is in when its centre is. A disc too small to hold a pixel's centre covers the pixel
    under its own centre; nothing is set when it lies wholly outside.

    Parameters
    ----------
    x, y : float
        Normalised centre.
    radius : float or pair of floats
        Radius as a share of the width and of the height. A circle on an image that is not square
        has two: r / image width, r / image height.
    height, width : int
        Size of the mask.
    """
    rx, ry = radius if isinstance(radius, tuple) else (radius, radius)
    if not all(map(isfinite, (x, y, rx, ry))) or rx < 0 or ry < 0:
        raise ValueError(f"disc needs finite x, y and radius >= 0, got {_show((x, y, rx, ry))}")
    rx, ry = max(rx, _NEAR), max(ry, _NEAR)
    if not disc_touches(x, y, rx, ry):
        return np.zeros((height, width), np.bool_)
    dx = ((np.arange(width) + 0.5) / width - x) / rx
    dy = ((np.arange(height) + 0.5) / height - y) / ry
    mask: Mask = dx**2 + dy[:, None] ** 2 <= 1 + _NEAR
    if mask.any():
        return mask
    x, y = min(max(x, 0.0), 1.0), min(max(y, 0.0), 1.0)
    return box_mask((x, y, x, y), height, width)


def disc_touches(x: float, y: float, rx: float, ry: float) -> bool:
    """Return whether a disc is in the image or touches it; arguments as in `disc_mask`."""
    rx, ry = max(rx, _NEAR), max(ry, _NEAR)
    away_x, away_y = min(max(x, 0.0), 1.0) - x, min(max(y, 0.0), 1.0) - y
    return (away_x / rx) ** 2 + (away_y / ry) ** 2 <= 1


def polygon_mask(polygons: Iterable[Sequence[float]], height: int, width: int) -> Mask:
    """Return the union of polygons, drawn by COCO's rasteriser at (height, width).

    Parameters
    ----------
    polygons : iterable of sequences of floats
        Each x, y, x, y, … in normalised coordinates, three points or more.
    height, width : int
        Size of the mask. At the size of the image the result is that of `COCO.annToMask`.

    Raises
    ------
    ValueError
        If a polygon has fewer than three points or an odd count, a vertex is not finite or lies
        more than ten image sizes away, or the outline is 2000 image sides long.
    """
    from pycocotools import mask as coco

    parts = [polygon_points(polygon) for polygon in polygons]
    if not parts:
        raise ValueError("needs a polygon, got none")
    # COCO rounds 5x + 0.5: x = 3.5 must come back from 3.5 / W * W as 3.5, not as 3.4999999999.
    pixels = [np.round(part * np.array((width, height)), 6).ravel().tolist() for part in parts]
    mask = decode_rle(coco.merge(coco.frPyObjects(pixels, height, width)))
    if mask.any() or not polygon_touches(parts):
        return mask
    return _centre_mask(polygon_box(parts), height, width)


def polygon_points(polygon: ArrayLike) -> NDArray[np.float64]:
    """Return a polygon x, y, x, y, … as (n, 2) points.

    What would crash or mislead COCO's rasteriser raises `ValueError`: see `polygon_mask`.
    """
    flat = np.asarray(polygon, np.float64).ravel()
    if flat.size < 6 or flat.size % 2:  # four numbers would be read as a box
        raise ValueError(f"polygon needs x, y of three points or more, got {flat.size} numbers")
    if not np.isfinite(flat).all():
        raise ValueError("polygon has a vertex that is not finite")
    if flat.min() < -_FAR or flat.max() > 1 + _FAR:
        raise ValueError(f"polygon has a vertex more than {_FAR:g} image sizes outside the image")
    points = flat.reshape(-1, 2)
    if len(points) > _LONGEST / (1 + 2 * _FAR):  # else it cannot be
        steps = np.abs(np.diff(points, axis=0, append=points[:1])).max(axis=1).sum()
        if steps > _LONGEST:
            raise ValueError(f"polygon is {steps:.0f} image sides long, more than {_LONGEST:.0f}")
    return points


def polygon_box(polygons: Iterable[ArrayLike]) -> tuple[float, float, float, float]:
    """Return the corners of the tight box around polygons."""
    points = np.concatenate([np.asarray(p, np.float64).reshape(-1, 2) for p in polygons])
    (x0, y0), (x1, y1) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return x0, y0, x1, y1


def clip_polygon(points: NDArray[np.float64], to: Sequence[float]) -> NDArray[np.float64]:
    """Clip a polygon `(n, 2)` to a rectangle, edge by edge (Sutherland and Hodgman 1974)."""
    for edge, sign in enumerate((1, 1, -1, -1)):
        depth = sign * (points[:, edge % 2] - to[edge])
        inside, ahead = depth >= 0, np.roll(depth, -1)
        crosses = inside != (ahead >= 0)
        part = depth / np.where(crosses, depth - ahead, 1.0)
        cuts = points + part[:, None] * (np.roll(points, -1, axis=0) - points)
        cuts[:, edge % 2] = to[edge]
        keep = np.stack([inside, crosses], axis=1).ravel()
        points = np.stack([points, cuts], axis=1).reshape(-1, 2)[keep]
    return points


def polygon_area(points: NDArray[np.float64]) -> float:
    """Return the area of a polygon `(n, 2)`; 0 without points."""
    if len(points) < 3:
        return 0.0
    x, y = (points - points[0]).T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def polygon_touches(polygons: Iterable[ArrayLike]) -> bool:
    """Return whether some of the area of polygons, or a line without area, is in the image."""
    for polygon in polygons:
        points = np.asarray(polygon, np.float64).reshape(-1, 2)
        if polygon_area(points) <= _NEAR**2:
            touches = box_pixels(polygon_box([points]), 1, 1) is not None
        else:
            touches = polygon_area(clip_polygon(points, (0, 0, 1, 1))) > _NEAR**2
        if touches:
            return True
    return False


def mask_pixels(mask: NDArray[Any]) -> tuple[int, int, int, int] | None:
    """Return the half-open columns and rows x0, y0, x1, y1 around a mask, None when it is empty.

    >>> mask_pixels(np.array([[0, 0, 0], [0, 1, 1]]))
    (1, 1, 3, 2)
    """
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if rows.size == 0:
        return None
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def mask_box(mask: Mask) -> tuple[float, float, float, float] | None:
    """Return the normalised corners of the tight box around a mask, None when it is empty."""
    pixels = mask_pixels(mask)
    if pixels is None:
        return None
    (x0, y0, x1, y1), (height, width) = pixels, mask.shape
    return x0 / width, y0 / height, x1 / width, y1 / height


def resize_mask(mask: Mask, height: int, width: int) -> Mask:
    """Return a mask at another size: a pixel is in when at least half of its area is covered.

    The areas are exact. A mask that has any pixel keeps one: where no pixel reaches half, those
    with the largest covered share are in.
    """
    mask = np.asarray(mask, np.bool_)
    if mask.shape == (height, width):
        return mask.copy()
    rows, columns = mask.shape
    if height % rows == 0 and width % columns == 0:
        return mask.repeat(height // rows, 0).repeat(width // columns, 1)
    # First along the side that shrinks more, so that what lies between is not larger than both.
    if rows * width >= columns * height:
        covered = _pool(_pool(mask, height).T, width).T
    else:
        covered = _pool(_pool(mask.T, width).T, height)
    resized: Mask = 2 * covered >= rows * columns
    if resized.any() or not mask.any():
        return resized
    largest: Mask = covered == covered.max()
    return largest


def soft_target(
    boxes: Iterable[Sequence[float]], height: int, width: int, /
) -> NDArray[np.float64]:
    """Soft target of boxes: a Gaussian per box with σ = side / 4, joined by the maximum.

    Parameters
    ----------
    boxes
        Corners ``(x0, y0, x1, y1)`` as shares of the image.
    height, width
        Size of the target in pixels.

    Returns
    -------
    numpy.ndarray
        ``(height, width)`` in [0, 1]; all zero without boxes.

    Examples
    --------
    >>> soft_target([(0.0, 0.0, 1.0, 1.0)], 1, 3).round(2).tolist()
    [[0.41, 1.0, 0.41]]
    """
    target = np.zeros((height, width))
    y = (np.arange(height)[:, None] + 0.5) / height
    x = (np.arange(width)[None, :] + 0.5) / width
    for box in boxes:
        x0, y0, x1, y1 = (float(edge) for edge in box)
        # A side shorter than a pixel counts as one, else no pixel centre might lie near it.
        wide, high = max(x1 - x0, 1 / width), max(y1 - y0, 1 / height)
        across, down = (x - (x0 + x1) / 2) / (wide / 4), (y - (y0 + y1) / 2) / (high / 4)
        np.maximum(target, np.exp(-(across**2 + down**2) / 2), out=target)
    return target


def _snap(edge: float) -> float:
    """Return the half-integer that an edge is within rounding error of, else the edge."""
    half = floor(2 * edge + 0.5) / 2
    return half if abs(edge - half) < _NEAR else edge


def _centre_mask(box: Sequence[float], height: int, width: int) -> Mask:
    """Return the pixel under the centre of the part of `box` inside the image."""
    if box_pixels(box, height, width) is None:
        return np.zeros((height, width), np.bool_)
    x0, y0, x1, y1 = (min(max(float(edge), 0.0), 1.0) for edge in box)
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    return box_mask((x, y, x, y), height, width)


def _pool(rows: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Sum rows into `count` equal bands; a row on a border is split. In units of 1 / count rows."""
    step = max(_BLOCK // len(rows), 1)
    blocks = [rows[:, start : start + step] for start in range(0, rows.shape[1], step)]
    return np.concatenate([_pool_block(block, count) for block in blocks], axis=1)


def _pool_block(rows: NDArray[Any], count: int) -> NDArray[np.int64]:
    whole, part = np.divmod(np.arange(count + 1) * len(rows), count)
    small = rows.dtype == np.bool_ and len(rows) < 2**31
    sums = rows.cumsum(axis=0, dtype=np.int32 if small else np.int64)
    above = np.where(whole[:, None] > 0, sums[whole - 1], 0).astype(np.int64)
    cut = rows[np.minimum(whole, len(rows) - 1)]  # after the last row the part is 0
    bands: NDArray[np.int64] = np.diff(count * above + part[:, None] * cut, axis=0)
    return bands


def _show(numbers: Iterable[float]) -> str:
    return "(" + ", ".join(f"{number:g}" for number in numbers) + ")"
