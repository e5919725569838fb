"""Photos: the photographs inside scikit-image, with regions drawn by hand.

`photos.json` holds the outlines and what each file must be; the pixels stay in that package.
"""

from __future__ import annotations

import json
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.core import InputError, MissingPackageError
from sightline.data.annotations import read_annotation_file
from sightline.data.dataset import from_annotations

if TYPE_CHECKING:
    from sightline.data.dataset import Dataset
    from sightline.data.problems import Problems

__all__ = ["photos", "read"]

REGIONS = Path(__file__).with_name("photos.json")
DRAWN_ON = "0.26.0"
"""The version of scikit-image whose files the regions were drawn on."""


def photos() -> Dataset:
    """Return the photographs inside scikit-image with the regions that are drawn on them.

    Objects and their parts are outlined by hand, each instance of every label. The labels of an
    image are the classes of ImageNet that it shows; some show none.

    Raises
    ------
    MissingPackageError
        If scikit-image is not installed.
    InputError
        If a file of it is another than the one that was drawn on.

    Examples
    --------
    >>> shown = photos()
    >>> len(shown), shown.by_id("chelsea.png").labels
    (7, ('tabby',))
    >>> sorted({region.label for region in shown.by_id("chelsea.png").annotation.regions})
    ['cat', 'ear', 'eye', 'nose']
    """
    from sightline.data.problems import Problems

    return read(None, Problems(False), None)


def read(path: Path | None, problems: Problems, split: str | None) -> Dataset:
    """Return the data set for `load_dataset`; see `photos`. It has no options and no path."""
    folder = _folder()
    found = read_annotation_file(REGIONS, problems)
    files = {}
    for record in json.loads(REGIONS.read_text("utf-8"))["images"]:
        name = record["image"]
        with problems.at(f"photos: image {name!r}"):
            _check(folder / name, record)
            files[name] = folder / name
    annotations = {name: found.annotations[name] for name in files}
    return from_annotations(
        "photos", annotations, files, root=folder, taxonomy=found.taxonomy, skipped=problems
    )


def _folder() -> Path:
    """Return where scikit-image keeps its pictures; the package itself is not imported."""
    spec = find_spec("skimage")
    places = list(spec.submodule_search_locations or []) if spec else []
    if not places:
        line = "pip install 'sightline[models]'"
        raise MissingPackageError(f"the photographs are those inside scikit-image: {line}")
    return Path(places[0]) / "data"


def _check(file: Path, record: dict[str, Any]) -> None:
    """Raise unless a file is the one that the regions were drawn on."""
    try:
        seen = sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{file} cannot be read ({_installed()}): {error.strerror}") from error
    if seen != record["sha256"]:
        raise InputError(
            f"{file} must be the picture of scikit-image {DRAWN_ON}, on which the regions are "
            f"drawn (SHA-256 {record['sha256'][:12]}…), got {seen[:12]}… of {_installed()}"
        )


def _installed() -> str:
    try:
        return f"scikit-image {version('scikit-image')}"
    except PackageNotFoundError:
        return "a scikit-image of unknown version"
