"""The facades of one seed as a data set."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from sightline.data.dataset import Dataset
from sightline.data.facades.facade import Facade, Labelling, check_labelling, check_whole
from sightline.data.facades.styles import taxonomy
from sightline.records import Sample

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from sightline.data.problems import Problems

__all__ = ["facades", "read"]

_KEPT = 4  # drawings at hand, so that image and annotation of a sample are drawn once


def facades(
    count: int = 200,
    seed: int = 0,
    size: int = 224,
    labelling: Labelling = "exhaustive",
    confounded: bool = False,
) -> Dataset:
    """Return church fronts drawn by code; a sample is drawn when it is asked for.

    Image i is the same whatever the count; any 4k images from the first on hold k of each style,
    and every fifth is of the split "test", the others of "train".

    Parameters
    ----------
    count : int
        How many, 1 or more.
    seed : int
        Other seeds give other facades.
    size : int
        Side of the pictures in pixels, 64 to 1024.
    labelling : {"exhaustive", "representative", "salient"}
        Which instances are annotated: all, or one per part type (see `Facade.annotation`).
    confounded : bool
        Whether sky and ground have the colours that belong to the style.

    Raises
    ------
    InputError
        If an argument does not fit.

    Examples
    --------
    >>> churches = facades(count=10)
    >>> churches.splits
    {'train': 8, 'test': 2}
    >>> churches[0].image_id, churches[0].image().shape
    ('facade-00000.png', (224, 224, 3))
    """
    check_whole("count", count, 1, 10**9)
    check_whole("seed", seed, 0, 2**32 - 1)
    check_whole("size", size, 64, 1024)
    check_labelling(labelling)
    numbers = {f"facade-{index:05}.png": index for index in range(count)}

    @lru_cache(_KEPT)
    def drawn(image_id: str) -> Facade:
        return Facade.generate(seed, numbers[image_id], size, confounded=confounded)

    def make(image_id: str) -> Sample:
        def load() -> NDArray[np.uint8]:
            return drawn(image_id).image()

        annotation = drawn(image_id).annotation(labelling, image_id)
        return Sample(image_id, annotation, splits[image_id], None, load)

    splits = {
        image_id: "test" if index % 5 == 4 else "train" for image_id, index in numbers.items()
    }
    return Dataset("facades", splits, make, taxonomy=taxonomy())


def read(
    path: Path | None,
    problems: Problems,
    split: str | None,
    *,
    count: int = 200,
    seed: int = 0,
    size: int = 224,
    labelling: Labelling = "exhaustive",
    confounded: bool = False,
) -> Dataset:
    """Return the data set for `load_dataset`; see `facades`. There is no file to read."""
    return facades(count, seed, size, labelling, confounded)
