"""Maps as pictures: colours, over the image or alone, and the edges of regions."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from sightline.api.colours import Palette, palette
from sightline.results._grids import read

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["coloured", "mixed", "outlined", "to_png"]


def coloured(
    values: NDArray[Any], span: tuple[float, float], sign: str, colours: Palette | None = None
) -> NDArray[np.uint8]:
    """Return the colours of a map, `(rows, columns, 4)`; nothing where it is NaN.

    Parameters
    ----------
    values
        Of the map, as it is stored.
    span
        The least and the greatest value, as maps are read: the first and the last colour. Of
        signed maps, the larger of their magnitudes is either end.
    sign
        How values are read.
    colours
        Inferno unless given; for signed maps blue, white, red.

    Examples
    --------
    >>> coloured(np.array([[0.0, 1.0, np.nan]]), (0.0, 1.0), "positive", "greys").tolist()
    [[[0, 0, 0, 255], [255, 255, 255, 255], [0, 0, 0, 0]]]
    """
    name: Palette = colours or ("rdbu" if sign == "signed" else "inferno")
    low, high = span
    if sign == "signed":
        high = max(abs(low), abs(high))
        low = -high
    seen = np.isfinite(values)
    as_read = read(np.where(seen, values, 0.0), sign)
    room = high - low
    share = (as_read - low) / room if room > 0 else np.full(values.shape, 0.5 * (sign == "signed"))
    steps = np.clip(np.round(share * 255), 0, 255).astype(np.uint8)
    found = np.zeros((*values.shape, 4), np.uint8)
    found[..., :3] = palette(name)[steps]
    found[..., 3] = 255
    found[~seen] = 0
    return found


def mixed(
    picture: NDArray[np.uint8], colours: NDArray[np.uint8], opacity: float
) -> NDArray[np.uint8]:
    """Return a picture `(rows, columns, 3)` under colours, which cover so much of it.

    >>> grey, red = np.full((1, 1, 3), 100, np.uint8), np.array([[[255, 0, 0, 255]]], np.uint8)
    >>> mixed(grey, red, 0.5).tolist()
    [[[178, 50, 50]]]
    """
    cover = colours[..., 3:].astype(np.float32) * np.float32(opacity / 255)
    found = picture + cover * (colours[..., :3].astype(np.float32) - picture)
    return np.round(found).astype(np.uint8)


def outlined(picture: NDArray[np.uint8], masks: Iterable[NDArray[np.bool_]]) -> NDArray[np.uint8]:
    """Return a picture with the edges of regions: white, with black around them."""
    edges = np.zeros(picture.shape[:2], np.bool_)
    for mask in masks:
        edges |= mask & _grown(~mask, beyond=True)
    found = picture.copy()
    found[_grown(edges, beyond=False)] = 0
    found[edges] = 255
    return found


def _grown(mask: NDArray[np.bool_], *, beyond: bool) -> NDArray[np.bool_]:
    """Return a mask with the pixels beside it, given what is beyond the picture."""
    wide = np.pad(mask, 1, constant_values=beyond)
    sides = (wide[:-2, 1:-1], wide[2:, 1:-1], wide[1:-1, :-2], wide[1:-1, 2:])
    found: NDArray[np.bool_] = mask | sides[0] | sides[1] | sides[2] | sides[3]
    return found


def to_png(picture: NDArray[np.uint8]) -> bytes:
    """Return a picture as a PNG file."""
    content = BytesIO()
    Image.fromarray(picture).save(content, "PNG", compress_level=4)
    return content.getvalue()
