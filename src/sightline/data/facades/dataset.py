"""The facades of one seed as a data set."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING

from sightline.core import InputError, Sample
from sightline.data.dataset import Dataset
from sightline.data.facades.facade import Facade, Labelling, check_labelling, check_whole
from sightline.data.facades.styles import taxonomy

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from sightline.data.problems import Problems

__all__ = ["facade_of", "facades", "read"]

_MOST = 1_000_000
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
        How many, up to a million.
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
    check_whole("count", count, 1, _MOST)
    check_whole("seed", seed, 0, 2**32 - 1)
    check_whole("size", size, 64, 1024)
    check_labelling(labelling)
    splits = {f"facade-{index:05}.png": _split(index) for index in range(count)}
    make = partial(_make_sample, seed, size, labelling, confounded)
    return Dataset("facades", splits, make, taxonomy=taxonomy())


# Functions, not closures: a data set goes to other processes.


def _make_sample(
    seed: int, size: int, labelling: Labelling, confounded: bool, image_id: str
) -> Sample:
    index = int(image_id.removeprefix("facade-").removesuffix(".png"))
    annotation = _drawn(seed, index, size, confounded).annotation(labelling, image_id)
    load = partial(_load, seed, index, size, confounded)
    return Sample(image_id, annotation, _split(index), None, load)


def _split(index: int) -> str:
    return "test" if index % 5 == 4 else "train"


def _load(seed: int, index: int, size: int, confounded: bool) -> NDArray[np.uint8]:
    return _drawn(seed, index, size, confounded).image()


@lru_cache(_KEPT)
def _drawn(seed: int, index: int, size: int, confounded: bool) -> Facade:
    return Facade.generate(seed, index, size, confounded=confounded)


def facade_of(sample: Sample) -> Facade:
    """Return the facade that a sample shows: its votes, and what it would be with a change.

    Raises
    ------
    InputError
        If the sample is not one of `facades`, drawn here: of a written folder, `facades.json`
        tells what to `generate`.

    Examples
    --------
    >>> facade = facade_of(facades(count=10)[2])
    >>> facade.style, facade.evidence["Gothic"], facade.without("window").evidence["Gothic"]
    ('Gothic', 5, 4)
    """
    load = sample.load
    if not isinstance(load, partial) or load.func is not _load:
        raise InputError(
            f"image {sample.image_id!r} must be of a data set that load_dataset('facades') draws, "
            f"got one {'without a file' if sample.path is None else f'read from {sample.path}'}"
        )
    return _drawn(*load.args)


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
