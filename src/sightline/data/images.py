"""Image files: opened when asked for, upright, and never larger or elsewhere than allowed."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageOps

from sightline.records import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["ENDINGS", "MAX_PIXELS", "image_size", "inside", "is_image", "read_image", "to_rgb"]

MAX_PIXELS = 80_000_000
"""The largest image that is decoded; a few kilobytes can declare any size."""
ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif", ".ppm")

# Pillow opens formats beyond these, some by calling other programs.
_FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF", "GIF", "PPM")
# Orientations 5 to 8 of EXIF turn the image by 90 degrees.
_ORIENTATION, _TURNED = 0x0112, (5, 6, 7, 8)


def is_image(path: str | os.PathLike[str]) -> bool:
    """Return whether a file has the ending of an image."""
    return Path(path).suffix.lower() in ENDINGS


def inside(root: str | os.PathLike[str], name: str) -> Path:
    """Return the path of a file named in a data set; one that leaves the folder is an error.

    Names come from files that strangers wrote: no absolute path, no "..", no link to elsewhere.

    Examples
    --------
    >>> inside("data", "a/../../secret.jpg")
    Traceback (most recent call last):
        ...
    sightline.records.errors.InputError: 'a/../../secret.jpg' leaves the folder data
    """
    path = Path(root, name)
    try:
        good = path.resolve().is_relative_to(Path(root).resolve())
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(f"{name!r} is not the name of a file: {error}") from error
    if not good:
        raise InputError(f"{name!r} leaves the folder {root}")
    return path


def image_size(path: str | os.PathLike[str], *, upright: bool = True) -> tuple[int, int]:
    """Return the width and height of an image as it is seen upright, or as it is stored.

    Only the header is read, but for an upright PNG, whose orientation may stand at the end.
    """
    with _opened(path) as image:
        return _upright_size(image) if upright else image.size


def read_image(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Return an image as RGB `(height, width, 3)`, turned upright by its EXIF orientation.

    Grey images and palettes become RGB, 16 bits become 8, transparency is dropped.

    Raises
    ------
    InputError
        If the file is missing, broken, truncated, of another format, or has more than
        `MAX_PIXELS`; the message names it.
    """
    with _opened(path) as image:
        image.load()
        return np.asarray(to_rgb(ImageOps.exif_transpose(image)))


@contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Image.Image]:
    try:
        if not S_ISREG(Path(path).stat().st_mode):  # a pipe would be waited for, for ever
            raise InputError("is not a file")
        with Image.open(path, formats=_FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                raise InputError(_too_large(f"{image.width} x {image.height} pixels"))
            yield image
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such image") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise InputError(f"{path}: {_too_large('far more')}") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except MemoryError:
        raise
    except Exception as error:  # Pillow raises anything on files that are broken on purpose
        raise InputError(f"{path}: cannot be read as an image: {error}") from error


def _too_large(seen: str) -> str:
    return f"image must have at most {MAX_PIXELS:,} pixels, the file declares {seen}"


def _upright_size(image: Image.Image) -> tuple[int, int]:
    width, height = image.size
    # Pillow tells the upright size of a TIFF by itself.
    turned = image.format != "TIFF" and image.getexif().get(_ORIENTATION) in _TURNED
    return (height, width) if turned else (width, height)


def to_rgb(image: Image.Image) -> Image.Image:
    """Return an image of any mode as RGB; 16 bits become 8, transparency is dropped."""
    if image.mode in ("I", "F"):
        kind = "whole numbers of 32 bits" if image.mode == "I" else "floating-point numbers"
        raise InputError(f"holds {kind}, whose white is unknown; save it with 8 or 16 bits")
    if image.mode.startswith("I;16"):  # Pillow would clip them
        wide: NDArray[Any] = np.asarray(image)
        return Image.fromarray((wide >> 8).astype(np.uint8)).convert("RGB")
    if image.mode == "P" and "transparency" in image.info:
        image = image.convert("RGBA")
    return image.convert("RGB")
