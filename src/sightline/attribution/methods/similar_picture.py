"""Pictures of similarity: the region on its image, and the map over what is compared with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from sightline.attribution.methods.picture import arrange_maps
from sightline.attribution.methods.similar import as_region
from sightline.data.pictures import Block, Item, beside, padded, paint, stacked, text_block
from sightline.models.preprocess import ImageLike, as_image

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.attribution.methods.maps import Maps
    from sightline.core import Region

__all__ = ["draw_similarity"]

# Between tiles and around the page, and the longer side of an image.
_GAP, _TILE = 12, 384


def draw_similarity(
    maps: Maps,
    image: ImageLike,
    box: Any,
    *,
    other: ImageLike | None = None,
    fit: str = "",
) -> Image.Image:
    """Draw the region on its image, and the map over the image that is compared with it.

    Parameters
    ----------
    maps : Maps
        From `similarity`, of one image.
    image, box, other
        As `similarity` had them.
    fit : str
        How images were brought to the input, for the title.

    Examples
    --------
    >>> from sightline.attribution.methods import similarity
    >>> grey = np.full((64, 64, 3), 128, np.uint8)
    >>> maps = similarity("demo/vit-dino", grey, (0, 0, 32, 32))
    >>> draw_similarity(maps, grey, (0, 0, 32, 32)).mode
    'RGB'
    """
    picture = as_image(image)
    region = as_region(box, picture.shape[1], picture.shape[0])
    if other is None:
        page = arrange_maps(maps, image, names=["outlined: the region"], tile=_TILE, fit=fit)
        return paint(_outlined(page, region))
    page = arrange_maps(maps, other, names=["compared with the region"], tile=_TILE, fit=fit)
    top = next(item.box[1] for item in page.items if isinstance(item.content, Image.Image))
    scale = _TILE / max(picture.shape[:2])
    size = [max(1, round(side * scale)) for side in picture.shape[1::-1]]
    shown = Image.fromarray(picture).resize((size[0], size[1]), Image.Resampling.LANCZOS)
    label = text_block("outlined: the region", _TILE)
    own = stacked([_outlined(Block.of(shown), region), label], 4)
    return paint(beside([padded(own, top=top - _GAP, border=_GAP), page]))


def _outlined(page: Block, region: Region) -> Block:
    """Return a page with the region on its pictures: all that are as large as the first."""
    pictures = [item for item in page.items if isinstance(item.content, Image.Image)]
    size = pictures[0].box[2] - pictures[0].box[0], pictures[0].box[3] - pictures[0].box[1]
    items = [
        Item(item.box, _marked(item.content, region))
        if isinstance(item.content, Image.Image) and item.content.size == size
        else item
        for item in page.items
    ]
    return Block(page.width, page.height, tuple(items))


def _marked(picture: Image.Image, region: Region) -> Image.Image:
    """Return a picture with the edge of a region: white, with a black line on either side."""
    mask = region.to_mask(picture.height, picture.width)
    pixels = np.array(picture)
    steps = [_grown(mask, step) for step in (-2, -1, 1, 2)]
    pixels[steps[3] & ~steps[0]] = 0
    pixels[steps[2] & ~steps[1]] = 255
    return Image.fromarray(pixels)


def _grown(mask: NDArray[np.bool_], by: int) -> NDArray[np.bool_]:
    """Return a mask grown by a few pixels, or shrunk where that is below 0."""
    if by < 0:
        # The edge of the picture is no edge of what is outside.
        return ~_grown(~np.pad(mask, -by), -by)[-by:by, -by:by]
    for _ in range(by):
        wide = np.pad(mask, 1)
        sides = (wide[:-2, 1:-1], wide[2:, 1:-1], wide[1:-1, :-2], wide[1:-1, 2:])
        mask = mask | sides[0] | sides[1] | sides[2] | sides[3]
    return mask
