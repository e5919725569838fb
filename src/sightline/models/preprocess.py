"""From an image to the pixels a model takes, and the geometry of the way there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from PIL import Image

from sightline.core import InputError, Sample
from sightline.core.geometry import FITS, Geometry, fit_geometry
from sightline.data.images import MAX_PIXELS, read_image, to_rgb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["MAX_INPUT", "ImageLike", "Preprocess", "as_image"]

ImageLike: TypeAlias = "NDArray[Any] | Image.Image | Sample | str | PathLike[str]"

MAX_INPUT = 4096 * 4096
"""The largest input in pixels that a model is given; larger ones need a `size`."""

_FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "box": Image.Resampling.BOX,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
    "hamming": Image.Resampling.HAMMING,
}


@dataclass(frozen=True, slots=True)
class Preprocess:
    """How images become the input of a model.

    Attributes
    ----------
    size : (width, height) or None
        Of the input; for `fit="native"` the longest side, square, or None for any.
    fit : {"squash", "crop", "letterbox", "native"}
        How an image of another shape is brought to that size; see `fit_geometry`.
    resize_to : int or None
        Length of the short side before "crop"; None for that of the input.
    mean, std : tuple of 3 floats
        Taken from each colour channel (from 0 to 1), and divided by.
    resample : {"nearest", "box", "bilinear", "bicubic", "lanczos", "hamming"}
        Pillow's filter.

    Notes
    -----
    Padding has the value 0 after this: the mean colour.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.models import Preprocess
    >>> preprocess = Preprocess(size=(32, 32), fit="crop")
    >>> values, way = preprocess(np.zeros((48, 64, 3), np.uint8))
    >>> values.shape, way.visible_box
    ((3, 32, 32), (0.11904761904761904, 0.0, 0.8809523809523809, 1.0))
    """

    size: tuple[int, int] | None = (224, 224)
    fit: str = "squash"
    resize_to: int | None = None
    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.5, 0.5, 0.5)
    resample: str = "bicubic"

    def __post_init__(self) -> None:
        for name in ("size", "resize_to"):
            _check_lengths(name, getattr(self, name), 2 if name == "size" else 1)
        if self.fit not in FITS:
            raise InputError(f"fit must be one of {', '.join(FITS)}, got {self.fit!r}")
        if self.resample not in _FILTERS:
            raise InputError(f"resample must be one of {', '.join(_FILTERS)}: {self.resample!r}")
        if self.size is None and self.fit != "native":
            raise InputError(f"fit {self.fit!r} needs a size")
        if self.size is not None and self.fit != "native" and prod(self.size) > MAX_INPUT:
            seen = f"{self.size[0]} x {self.size[1]}"
            raise InputError(f"size must have at most {MAX_INPUT:,} pixels, got {seen}")
        for name in ("mean", "std"):
            try:
                values = tuple(float(value) for value in getattr(self, name))
            except (TypeError, ValueError):
                values = ()
            if len(values) != 3 or not np.isfinite(values).all():
                raise InputError(f"{name} must be 3 numbers, got {getattr(self, name)!r}")
            object.__setattr__(self, name, values)
        if min(self.std) <= 0:
            raise InputError(f"std must be above 0, got {self.std}")

    def geometry(self, width: int, height: int, patch: tuple[int, int] = (1, 1)) -> Geometry:
        """Return the way from an image of this size to the input, which `patch` must divide."""
        crops = self.fit == "crop"
        found = fit_geometry(
            self.fit,
            width,
            height,
            size=self._longest if self.fit == "native" else self.size,
            patch=patch,
            resize_to=(self.resize_to or min(self.size or (0,))) if crops else None,
        )
        if found.size[0] * found.size[1] > MAX_INPUT:
            seen = f"{found.size[0]} x {found.size[1]} for an image of {width} x {height}"
            raise InputError(
                f"input must have at most {MAX_INPUT:,} pixels, got {seen}; give a smaller size"
            )
        return found

    @property
    def _longest(self) -> int | None:
        return None if self.size is None else max(self.size)

    def __call__(
        self, image: NDArray[np.uint8], patch: tuple[int, int] = (1, 1)
    ) -> tuple[NDArray[np.float32], Geometry]:
        """Return the input `(3, height, width)` and the way there."""
        geometry = self.geometry(image.shape[1], image.shape[0], patch)
        return self.apply(image, geometry), geometry

    def apply(self, image: NDArray[np.uint8], geometry: Geometry) -> NDArray[np.float32]:
        """Return an image `(height, width, 3)` as the input `(3, height, width)`."""
        width, height = geometry.size
        part, (x, y) = self.laid_out(image, geometry)
        mean, std = np.array(self.mean, np.float32), np.array(self.std, np.float32)
        scaled = (part.astype(np.float32) / np.float32(255) - mean) / std
        canvas = np.zeros((3, height, width), np.float32)
        canvas[:, y : y + part.shape[0], x : x + part.shape[1]] = scaled.transpose(2, 0, 1)
        return canvas

    def laid_out(
        self, image: NDArray[np.uint8], geometry: Geometry
    ) -> tuple[NDArray[np.uint8], tuple[int, int]]:
        """Return the pixels of an image that lie on the input, and column and row of the first.

        They are resized, and cut where the input ends; around them there is padding.
        """
        (width, height), (x, y) = geometry.source, geometry.scale
        whole = (round(width * x), round(height * y))
        if whole[0] * whole[1] > MAX_PIXELS:
            raise InputError(
                f"an image of {width} x {height} is too narrow for fit {self.fit!r}: "
                f"it would be resized to {whole[0]} x {whole[1]}; use fit 'squash' or 'letterbox'"
            )
        resized = image
        if whole != geometry.source:
            resized = np.asarray(Image.fromarray(image).resize(whole, _FILTERS[self.resample]))
        width, height = geometry.size
        left, top = (-round(offset) for offset in geometry.offset)
        part = resized[max(0, top) : top + height, max(0, left) : left + width]
        return part, (max(0, -left), max(0, -top))


def _check_lengths(name: str, given: Any, count: int) -> None:
    lengths = given if isinstance(given, tuple) else (given,)
    good = all(isinstance(n, int | np.integer) and n >= 1 for n in lengths)
    if given is not None and (not good or len(lengths) != count):
        wanted = "(width, height) in pixels" if count == 2 else "a length in pixels"
        raise InputError(f"{name} must be {wanted}, got {given!r}")


def as_image(image: ImageLike) -> NDArray[np.uint8]:
    """Return an image as RGB in 8 bits, `(height, width, 3)`.

    Parameters
    ----------
    image : array, PIL image, Sample or path
        Arrays are 8-bit: `(height, width)` grey, or 3 or 4 channels, of which the fourth is
        dropped. A file may hold any mode that `read_image` reads; of an animation, its first frame.
        PIL images are taken as they are, files turned upright.

    Raises
    ------
    InputError
        If it is something else, empty, or has more than `MAX_PIXELS`.
    """
    if isinstance(image, Sample):
        return as_image(image.image())
    if isinstance(image, str | PathLike):
        return read_image(image)
    if isinstance(image, Image.Image):
        _check_pixels(*image.size)
        return as_image(np.asarray(to_rgb(image)))
    if not isinstance(image, np.ndarray):
        raise InputError(
            f"image must be an array, a PIL image, a Sample or a path: {type(image).__name__}"
        )
    if image.dtype != np.uint8:
        raise InputError(f"image must hold 8-bit values (uint8), got {image.dtype}")
    if image.ndim not in (2, 3) or image.shape[2:] not in ((), (3,), (4,)) or 0 in image.shape:
        raise InputError(f"image must be (height, width, 3), got {image.shape}")
    _check_pixels(image.shape[1], image.shape[0])
    if image.ndim == 2:
        return np.repeat(image[..., None], 3, axis=2)
    return np.ascontiguousarray(image[..., :3])


def _check_pixels(width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        seen = f"{width} x {height}"
        raise InputError(f"image must have at most {MAX_PIXELS:,} pixels, got {seen}")


def as_images(images: ImageLike | Sequence[ImageLike]) -> list[ImageLike]:
    """Return one or several images as a list."""
    if isinstance(images, np.ndarray) and images.ndim == 4:
        return list(images)
    if isinstance(images, np.ndarray | Image.Image | Sample | str | PathLike):
        return [images]
    if not isinstance(images, Iterable):
        kind = type(images).__name__  # type: ignore[unreachable]
        raise InputError(f"images must be an image or a sequence of images, got {kind}")
    return list(images)
