"""Image files: opened when asked for, upright, and never larger or elsewhere than allowed."""

from __future__ import annotations

import io
import re
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from sightline.core import InputError
from sightline.core.errors import shown
from sightline.core.memory import is_out_of_memory
from sightline.core.paths import resolved

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = [
    "ENDINGS",
    "MAX_BYTES",
    "MAX_PIXELS",
    "image_size",
    "inside",
    "is_image",
    "opened",
    "read_image",
    "to_rgb",
]

MAX_PIXELS = 80_000_000
"""The largest image that is decoded; a few kilobytes can declare any size."""
MAX_BYTES = 8 * MAX_PIXELS + 60_000_000
"""The largest file that is read: four channels of 16 bits, and room for what else is in it."""
ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".tif", ".tiff", ".gif", ".ppm")

# Pillow opens formats beyond these, some by calling other programs.
_FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "TIFF", "GIF", "PPM")
# A progressive JPEG has about ten scans. Each is a pass over all pixels, and takes a few bytes.
_MOST_SCANS, _MOST_SEGMENTS = 100, 100_000
_MOST_JUNK = 1_000_000  # bytes in no segment, which Pillow passes over one by one
# The marks that a decoder heeds: the end, and all with a length behind them. Others stand in data.
_MARK = re.compile(rb"\xff(?:\xd9|[\xc0-\xcf\xda-\xfe](..))", re.DOTALL)
_SCAN, _END, _WINDOW = 0xDA, 0xD9, 1 << 16
# The shortest JPEG has a bit for each block of 8 x 8 pixels; where bytes lack, pixels are made up.
_PIXELS_A_BYTE = 8 * 8 * 8
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
    sightline.core.errors.InputError: 'a/../../secret.jpg' leaves the folder data
    """
    path = Path(root, name)
    try:
        good = resolved(path).is_relative_to(Path(root).resolve())
    except (OSError, ValueError) as error:
        if is_out_of_memory(error):
            raise
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{shown(name)} is not the name of a file: {why}") from error
    if not good:
        raise InputError(f"{shown(name)} leaves the folder {root}")
    return path


def image_size(path: str | os.PathLike[str], *, upright: bool = True) -> tuple[int, int]:
    """Return the width and height of an image as it is seen upright, or as it is stored.

    Only the header is read, but for an upright PNG, whose orientation may stand at the end.
    """
    with opened(path) as image:
        return _upright_size(image) if upright else image.size


def read_image(path: str | os.PathLike[str]) -> NDArray[np.uint8]:
    """Return an image as RGB `(height, width, 3)`, turned upright by its EXIF orientation.

    Grey images and palettes become RGB, 16 bits become 8, transparency is dropped.

    Raises
    ------
    InputError
        If the file is missing, broken, truncated, of another format, or has more than
        `MAX_PIXELS` or `MAX_BYTES`; the message names it.
    """
    with opened(path) as image:
        if image.format in ("JPEG", "MPO"):
            _check_jpeg(image)
        image.load()
        ImageOps.exif_transpose(image, in_place=True)
        if image.format == "PPM" and image.mode == "I":  # Pillow brings its white to 65535
            image = Image.fromarray(np.asarray(image).astype(np.uint16))
        return np.asarray(to_rgb(image))


@contextmanager
def opened(
    path: str | os.PathLike[str], formats: tuple[str, ...] = _FORMATS, what: str = "an image"
) -> Iterator[Image.Image]:
    """Open an image of one of `formats`, which errors call `what`; at first its header is read.

    Raises
    ------
    InputError
        As `read_image`; also for whatever is raised inside while the image is read, but for a lack
        of memory, which is raised as it is.
    """
    try:
        about = Path(path).stat()
        if not S_ISREG(about.st_mode):  # a pipe would be waited for, for ever
            raise InputError("is not a file")
        if about.st_size > MAX_BYTES:
            seen = f"the file has {about.st_size:,}"
            raise InputError(f"image must have at most {MAX_BYTES:,} bytes, {seen}")
        with _Stream(path, about.st_size) as stream:
            _check_head(stream, about.st_size)
            with Image.open(stream, formats=formats) as image:
                if image.width * image.height > MAX_PIXELS:
                    raise InputError(_too_large(f"{image.width} x {image.height} pixels"))
                yield image
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such image") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise InputError(f"{path}: {_too_large('far more')}") from error
    except InputError as error:
        if is_out_of_memory(error):
            raise
        raise InputError(f"{path}: {error}") from error
    except UnidentifiedImageError as error:
        why = f"its start is that of no {', '.join(formats)}"
        raise InputError(f"{path}: cannot be read as {what}: {why}") from error
    except Exception as error:  # Pillow raises anything on files that are broken on purpose
        if is_out_of_memory(error):
            raise
        raise InputError(f"{path}: cannot be read as {what}: {error}") from error


class _Stream(io.BufferedReader):
    """A file that sets aside no more memory than it has bytes, however many are asked for."""

    def __init__(self, path: str | os.PathLike[str], size: int) -> None:
        super().__init__(io.FileIO(path))
        self._bytes = size

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(size if size is None else min(size, self._bytes + 1))


def _check_head(stream: Any, size: int) -> None:
    """Raise where finding the first scan of a JPEG would take for ever."""
    segments, junk, last = 0, 0, 2
    if stream.read(2) == b"\xff\xd8":
        for mark, begin, end in _marks(stream):
            segments, junk, last = segments + 1, junk + begin - last, end
            if mark == _SCAN or max(junk - _MOST_JUNK, segments - _MOST_SEGMENTS) > 0:
                break
        else:
            junk += max(0, size - last)
    stream.seek(0)
    if segments > _MOST_SEGMENTS:
        raise InputError(_too_many_segments())
    if junk > _MOST_JUNK:
        raise InputError(f"a JPEG must have at most {_MOST_JUNK:,} bytes in no segment")


def _check_jpeg(image: Image.Image) -> None:
    """Raise where decoding would take for ever, or make up most of the pixels."""
    stream: Any = image.fp  # type: ignore[attr-defined]
    size, scans = stream.seek(0, io.SEEK_END), 0
    for number, (mark, _, end) in enumerate(_marks(stream)):
        if mark == _END:  # phones put films and more behind it
            size = end
            break
        if number == _MOST_SEGMENTS:
            raise InputError(_too_many_segments())
        scans += mark == _SCAN
    if scans > _MOST_SCANS:
        raise InputError(f"a JPEG must have at most {_MOST_SCANS} scans, this one has {scans}")
    pixels = image.width * image.height
    if pixels > _PIXELS_A_BYTE * size:
        raise InputError(f"has {size:,} bytes, too few for the {pixels:,} pixels it declares")


def _too_many_segments() -> str:
    return f"a JPEG must have at most {_MOST_SEGMENTS:,} segments, this one has more"


def _marks(stream: Any) -> Iterator[tuple[int, int, int]]:
    """Yield the marks of a JPEG as a decoder meets them, with where each begins and its part ends.

    What looks like a mark inside a segment is passed over with it.
    """
    start, window, place = 0, b"", 2
    while True:
        found = _MARK.search(window, place - start)
        if found is None:
            place = max(place, start + len(window) - 3)  # a mark and its length may be cut in two
            start = stream.seek(place)
            window = stream.read(_WINDOW)
            if len(window) < 4:
                return
            continue
        length = 0 if found[1] is None else max(2, int.from_bytes(found[1], "big"))
        begin = start + found.start()
        place = begin + 2 + length
        yield found[0][1], begin, place


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
    return image if image.mode == "RGB" else image.convert("RGB")
