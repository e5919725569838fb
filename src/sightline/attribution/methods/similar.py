"""Patch-feature similarity: where an image looks, to the model, like a region of it."""

from __future__ import annotations

from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional

from sightline.attribution.methods.boxes import checked_box
from sightline.attribution.methods.maps import Maps, grid_geometries
from sightline.core import InputError, Region
from sightline.core import raster as _raster
from sightline.models import Model, load_model
from sightline.models.hooks import first_tensor, outputs, undisturbed
from sightline.models.preprocess import ImageLike, as_image, as_images

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from sightline.core.geometry import Geometry
    from sightline.models import Inputs

__all__ = ["as_region", "patch_features", "region_feature", "similarity"]

# Images in memory at once, without gradients.
_BATCH = 16


def similarity(
    model: Model | str | nn.Module,
    image: ImageLike,
    box: Any,
    *,
    layer: int | None = None,
    other: ImageLike | Sequence[ImageLike] | None = None,
) -> Maps:
    """Return how similar each patch is to a region: the cosine with the region's mean feature.

    The mean is over patches, each weighted by the share of it that the region covers. Values are
    from -1 to 1; a patch whose feature is 0 has 0.

    Parameters
    ----------
    model : Model, str or nn.Module
        A model, or what `load_model` takes.
    image : image
        An array `(height, width, 3)` in 8 bits, a path, a PIL image or a sample of a data set.
    box : four numbers, Region or array of bool (height, width)
        The region on that image. Numbers are corners x0, y0, x1, y1 in its pixels; a mask covers
        the whole image, at any size.
    layer : int, optional
        Whose output is compared, counted from 0; -1 is the last. Unless given, the features at the
        end of the network.
    other : image or sequence of images, optional
        Whose patches are compared with the region; those of the image itself unless given.

    Raises
    ------
    InputError
        If the region is not on the image, or the model does not see it.

    Examples
    --------
    >>> from sightline import load_dataset
    >>> churches = load_dataset("facades", count=2, seed=0)
    >>> maps = similarity("demo/vit-dino", churches[0], (64, 64, 96, 96))
    >>> maps.of().shape, round(float(maps.of()[4:6, 4:6].mean()), 1)
    ((14, 14), 0.9)
    >>> similarity("demo/vit-dino", churches[0], (64, 64, 96, 96), other=churches[1])
    Maps(similarity of demo/vit-dino: 1 images x 1 layers x 1 heads)
    """
    model = model if isinstance(model, Model) else load_model(model)
    number = None if layer is None else model.layer_indices(layer)[0]
    todo = [image] if other is None else as_images(other)
    if not todo:
        raise InputError("other must hold at least one image, got none")
    picture = as_image(image)
    region = as_region(box, picture.shape[1], picture.shape[0])
    begun = perf_counter()
    # Not inference mode: what a network keeps from a pass must serve later passes with gradients.
    with undisturbed(model.network), torch.inference_mode(False), torch.no_grad():
        vector = region_feature(model, picture, region, layer=number)
        parts = [_compared(model, inputs, vector, number) for inputs in model.batches(todo, _BATCH)]
    width, height = picture.shape[1::-1]
    corners = np.multiply(region.box, (width, height, width, height))
    return Maps(
        tuple(chain.from_iterable(values for values, _ in parts)),
        tuple(chain.from_iterable(ways for _, ways in parts)),
        (number,),
        (None,),
        model.name,
        "similarity",
        "signed",
        params={"region": region.kind, "box": corners.tolist()},
        seconds=perf_counter() - begun,
    )


def region_feature(model: Model, image: ImageLike, box: Any, *, layer: int | None = None) -> Tensor:
    """Return the mean feature of a region `(channels,)`, in single precision.

    Parameters
    ----------
    model : Model
        The model.
    image, box, layer
        As in `similarity`.

    Examples
    --------
    >>> import numpy as np
    >>> grey = np.full((64, 64, 3), 128, np.uint8)
    >>> region_feature(load_model("demo/vit-dino"), grey, (0, 0, 32, 32)).shape
    torch.Size([128])
    """
    picture = as_image(image)
    region = as_region(box, picture.shape[1], picture.shape[0])
    inputs = model.prepare(picture)
    with undisturbed(model.network), torch.no_grad():
        features = patch_features(model, inputs.pixels, layer)
    way = _on_grid(model, inputs.geometries[0], features)
    shares = torch.from_numpy(way.covered_shares(region)).to(features)
    if not shares.sum() > 0:
        raise InputError(_unseen(model, region, way))
    vector = (features[0] * shares).sum((1, 2)) / shares.sum()
    if not vector.any():
        raise InputError(f"{model.name}: the mean feature of the region is 0: nothing is similar")
    return vector


def as_region(box: Any, width: int, height: int) -> Region:
    """Return a region of an image of this size, given as `similarity` takes it.

    Raises
    ------
    InputError
        If it is none, or not on the image.

    Examples
    --------
    >>> as_region((10, 20, 30, 40), 100, 80).box
    (0.1, 0.25, 0.3, 0.5)
    """
    if isinstance(box, Region):
        return box
    if isinstance(box, np.ndarray) and box.ndim == 2:
        if box.dtype != np.bool_ or not box.any():
            seen = "none is set" if box.dtype == np.bool_ else f"got {box.dtype}"
            raise InputError(f"mask of the region must be of bool with some set, {seen}")
        return Region("", "mask", _raster.mask_box(box) or (0, 0, 1, 1), box)
    x0, y0, x1, y1 = checked_box(box, width, height).tolist()
    return Region(box=(x0 / width, y0 / height, x1 / width, y1 / height))


def _unseen(model: Model, region: Region, way: Geometry) -> str:
    """Return why a region has no feature."""
    edges = np.multiply(way.visible_box, (*way.source, *way.source))
    seen = ", ".join(f"{edge:.4g}" for edge in edges)
    if way.visible(region) > 0:
        return "the region has no area: a box or a mask has a mean feature, a line has none"
    return (
        f"the region is out of sight: with fit {model.preprocess.fit!r} {model.name} sees of the "
        f"image ({way.source[0]} x {way.source[1]}) the box {seen}; give another fit"
    )


def patch_features(model: Model, pixels: Tensor, layer: int | None = None) -> Tensor:
    """Return the features of patches `(batch, channels, rows, columns)`, in single precision.

    Of a layer, or those at the end of the network. Hooks are gone afterwards; gradients are the
    caller's to turn off.

    Raises
    ------
    InputError
        If the layer was not used in the forward pass.
    """
    if layer is None:
        return model(pixels).features.float()
    module = model.layers[layer]
    with outputs([module]) as seen:
        model(pixels)
    if module not in seen:
        raise InputError(f"layer {layer} of {model.name} was not used in its forward pass")
    return model.to_grid(first_tensor(seen[module]), pixels).float()


def _on_grid(model: Model, geometry: Geometry, features: Tensor) -> Geometry:
    """Return the way from an image to the cells of features."""
    rows, columns = features.shape[2:]
    return grid_geometries(model.name, geometry, [(int(rows), int(columns))])[0]


def _compared(
    model: Model, inputs: Inputs, vector: Tensor, layer: int | None
) -> tuple[list[tuple[NDArray[np.float32], ...]], list[tuple[Geometry, ...]]]:
    """Return the maps of a batch, image by image, and the way to each."""
    features = patch_features(model, inputs.pixels, layer)
    cosines = functional.cosine_similarity(features, vector[None, :, None, None], dim=1)
    values = cosines.clamp(-1, 1).cpu().numpy().copy()
    ways = [_on_grid(model, geometry, features) for geometry in inputs.geometries]
    return [(one[None],) for one in values], [(way,) for way in ways]
