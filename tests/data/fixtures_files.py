"""Small files for the tests of data set readers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import ArrayLike


def write_texts(root: Path, texts: Mapping[str, str | bytes]) -> None:
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)


def write_image(path: Path, size: tuple[int, int], colour: Any = (10, 20, 30)) -> None:
    """Write an image of (width, height) in one colour."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path, format="JPEG" if path.suffix == ".jpg" else "PNG")


def write_grey(path: Path, values: ArrayLike, mode: str = "L") -> None:
    """Write an image of single bytes, as grey levels ("L") or as indices of a palette ("P")."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.fromarray(np.asarray(values, np.uint8))
    if mode == "P":
        # Colours that say nothing about the index, and two indices that look alike.
        colours = [(value * 37 % 251, 7, 0) for value in range(256)]
        colours[2] = colours[1]
        image.putpalette([byte for colour in colours for byte in colour])
    image.convert(mode).save(path, format="PNG")
