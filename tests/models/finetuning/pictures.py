"""Small labelled pictures whose class shows in their colour."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from sightline.core import Annotation, Region, Sample
from sightline.data import Dataset, from_annotations

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["COLOURS", "make_data", "picture", "write_pictures"]

COLOURS = {"blue": (40, 60, 200), "green": (50, 190, 60), "red": (200, 50, 40)}


def picture(label: str, number: int) -> NDArray[np.uint8]:
    noise = np.random.default_rng([number, *COLOURS[label]]).integers(-40, 41, (24, 32, 3))
    return (np.array(COLOURS[label]) + noise).clip(0, 255).astype(np.uint8)


def make_data(
    count: int = 24, first: int = 0, marked: tuple[int, ...] = (), **labels: tuple[str, ...]
) -> Dataset:
    """Pictures in memory, of each class in turn; those `marked` have a region."""
    names = {f"i{number:03}.png": number for number in range(first, first + count)}

    def make(image_id: str) -> Sample:
        number = names[image_id]
        label = list(COLOURS)[number % 3]
        regions = (Region("door"),) if number in marked else ()
        given = labels.get(f"i{number:03}", (label,))
        annotation = Annotation(image_id, 32, 24, regions, given)
        return Sample(image_id, annotation, "", None, partial(picture, label, number))

    return Dataset("drawn", dict.fromkeys(names, ""), make)


def write_pictures(folder: Path, count: int, **changes: Any) -> Dataset:
    """Write pictures into files and open them."""
    folder.mkdir(parents=True, exist_ok=True)
    annotations, files = {}, {}
    for sample in make_data(count, **changes):
        files[sample.image_id] = folder / sample.image_id
        Image.fromarray(sample.image()).save(files[sample.image_id])
        annotations[sample.image_id] = sample.annotation
    return from_annotations("folder", annotations, files, root=folder)
