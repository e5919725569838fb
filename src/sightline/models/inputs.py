"""Images brought to a device together: in 8 bits, and given their colours' scale there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from sightline.models.model import Inputs, image_key, neighbours
from sightline.models.preprocess import as_image

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from sightline.core.geometry import Geometry
    from sightline.models.model import Model
    from sightline.models.preprocess import ImageLike

__all__ = ["load_inputs"]


class _Picture(NamedTuple):
    """Pixels of an image as they lie on the input, where on it, the way there, and its key."""

    pixels: NDArray[np.uint8]
    place: tuple[int, int]
    geometry: Geometry
    key: int


def load_inputs(
    model: Model,
    images: Sequence[ImageLike],
    batch: int,
    *,
    each: Callable[..., Any] = map,
) -> list[Inputs]:
    """Return the batches of `model.batches`, the same to the last bit, for a model on a device.

    Parameters
    ----------
    model : Model
        Whose input they become.
    images : sequence of images
        As `model.batches` takes them.
    batch : int
        The most images of a batch.
    each : callable
        `map`, or that of a pool of threads in which images are read and resized.
    """
    ways: dict[tuple[int, int], Geometry] = {}
    read = [as_image(image) for image in images] if each is map else list(each(as_image, images))
    for picture in read:
        size = picture.shape[1], picture.shape[0]
        if size not in ways:  # finding a way takes longer than laying out an image
            ways[size] = model.preprocess.geometry(*size, model.patch)

    def laid_out(picture: NDArray[np.uint8]) -> _Picture:
        geometry = ways[picture.shape[1], picture.shape[0]]
        pixels, place = model.preprocess.laid_out(picture, geometry)
        return _Picture(pixels, place, geometry, image_key(picture))

    found = []
    whole = list(each(laid_out, read))
    for some in neighbours(whole, lambda one: one.geometry.size, lambda _: batch):
        _, _, geometries, keys = zip(*some, strict=True)
        found.append(Inputs(_pixels(model, some), geometries, keys))
    return found


def _pixels(model: Model, some: list[_Picture]) -> Tensor:
    """Return what the network takes of a batch, made where the network is."""
    device, (width, height) = model.device, some[0].geometry.size
    kinds = {(one.pixels.shape, one.place) for one in some}
    if len(kinds) > 1:  # each of them lies elsewhere on the input
        return torch.cat([_pixels(model, [one]) for one in some])
    ((rows, columns, _), (x, y)) = kinds.pop()
    pinned = device.type == "cuda"  # the copy then goes on by itself
    raw = torch.empty((len(some), rows, columns, 3), dtype=torch.uint8, pin_memory=pinned)
    view = raw.numpy()
    for number, one in enumerate(some):
        view[number] = one.pixels
    colours = raw.to(device, non_blocking=True).permute(0, 3, 1, 2).float()
    # A tensor: devices divide by a plain number by multiplying with its rounded inverse.
    whole = torch.full((1,), 255.0, device=device)
    mean, std = (
        torch.tensor(values, device=device)[:, None, None]
        for values in (model.preprocess.mean, model.preprocess.std)
    )
    scaled = (colours / whole - mean) / std
    if (columns, rows) == (width, height):
        return scaled.to(model.dtype).contiguous()
    canvas = torch.zeros((len(some), 3, height, width), dtype=model.dtype, device=device)
    canvas[:, :, y : y + rows, x : x + columns] = scaled.to(model.dtype)
    return canvas
