"""The ways in which processors bring an image to the input of a model."""

from __future__ import annotations

from typing import Literal

from sightline.core import InputError
from sightline.core.checks import check_choice
from sightline.core.choices import FITS
from sightline.core.geometry._checks import Size, check_pair, one_side, show_size
from sightline.core.geometry.transform import Geometry

__all__ = ["FITS", "fit_geometry"]


def fit_geometry(
    fit: str,
    width: int,
    height: int,
    *,
    size: int | Size | None = None,
    patch: int | Size = 1,
    resize_to: int | None = None,
    rounding: Literal["floor", "round"] = "floor",
    offset: Literal["trunc", "floor", "round"] = "trunc",
) -> Geometry:
    """Return how a processor brings an image of (width, height) to the input of a model.

    Parameters
    ----------
    fit : {"squash", "crop", "letterbox", "native"}
        squash: the whole image, stretched to `size`. crop: short side to `resize_to`, then the
        centre, on padding where the image is shorter. letterbox: scaled to fit inside `size`,
        centred on padding. native: its own size, each side to the nearest multiple of the patch.
    width, height : int
        Size of the image.
    size : int or (width, height)
        Size of the input. For "native" the longest side allowed; None allows any.
    patch : int or (width, height)
        Patch of the model; the input must be a multiple.
    resize_to : int, optional
        Length of the short side before "crop"; the side of a square `size` by default.
    rounding : {"floor", "round"}
        How the other side becomes whole when one is scaled to a length: transformers and
        torchvision floor.
    offset : {"trunc", "floor", "round"}
        How half of what is too much (below 0: too little) becomes whole. transformers' fast
        processors: "trunc", towards 0; its slow ones: "floor"; torchvision: "round".

    Examples
    --------
    >>> fit_geometry("crop", 640, 480, size=224, resize_to=256, patch=14)
    Geometry(640x480 -> 224x224, scale 0.533x0.533, offset -58.0,-16.0, patch 14x14)
    """
    check_choice("fit", fit, FITS)
    check_choice("rounding", rounding, ("floor", "round"))
    check_choice("offset", offset, ("trunc", "floor", "round"))
    if resize_to is not None and fit != "crop":
        raise InputError(f"resize_to belongs to fit 'crop', not to {fit!r}")
    image, cell = Geometry.of(width, height), check_pair(patch, "patch")
    if fit == "native":
        return image.resize(*_native_size(image.size, size, cell)).patches(*cell)
    goal = check_pair(size, "size")
    if fit == "squash":
        return image.resize(*goal).patches(*cell)
    if fit == "crop":
        axis = int(height < width)
        side = (
            one_side(goal, "size, where there is no resize_to,") if resize_to is None else resize_to
        )
    else:
        axis = int(goal[1] * width < goal[0] * height)  # the side that fills the input
        side = goal[axis]
    resized = image.resize(*_scaled(image.size, axis, side, rounding))
    left, top = (_halved(n - c, offset) for n, c in zip(resized.size, goal, strict=True))
    return resized.crop(left, top, *goal).patches(*cell)


def _scaled(size: Size, axis: int, side: int, rounding: str) -> Size:
    """Return a size scaled so that one axis gets a length; the other keeps a pixel at least."""
    other = side * size[1 - axis] / size[axis]
    length = max(1, int(other) if rounding == "floor" else round(other))
    return (side, length) if axis == 0 else (length, side)


def _halved(rest: int, how: str) -> int:
    if how == "floor":
        return rest // 2
    return round(rest / 2) if how == "round" and rest > 0 else int(rest / 2)


def _native_size(image: Size, longest: int | Size | None, patch: Size) -> Size:
    limit = (
        max(image) if longest is None else one_side(check_pair(longest, "size"), "size of 'native'")
    )
    if longest is not None and (limit % patch[0] or limit % patch[1]):
        raise InputError(
            f"size {limit} of fit 'native' is no multiple of the patch {show_size(patch)}"
        )
    factor = min(1.0, limit / max(image))
    width, height = (
        max(1, int(side * factor / cell + 0.5)) * cell
        for side, cell in zip(image, patch, strict=True)
    )
    return width, height
