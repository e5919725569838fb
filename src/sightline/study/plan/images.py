"""The images of a study: opened, digested, and laid out in tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.data.datasets import DATASETS, load_dataset
from sightline.data.formats.checks import located
from sightline.data.images import MAX_BYTES, image_size, inside
from sightline.store.files import plain_digest
from sightline.store.tables import raster_size, region_lines
from sightline.study.plan.sources import digest_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from sightline.annotation.review_results import Reviewed
    from sightline.core import Annotation, Region, Sample
    from sightline.data.dataset import Dataset
    from sightline.study import Data

__all__ = [
    "Card",
    "Cards",
    "annotation_digest",
    "file_pixels",
    "pixels_digest",
    "read_cards",
    "reviewed_of",
    "study_dataset",
    "unlabelled_regions",
]

# The longer side of the raster on which the annotated share of an image is measured.
_LARGEST = 256


def study_dataset(data: Data, reviewed: Reviewed | None = None) -> Dataset:
    """Open the data set of a study, all of it where a study takes the first images alone.

    Its annotations are those of the review, where the study asks for them: `reviewed`, read unless
    given.
    """
    options: dict[str, Any] = {}
    if data.name == "facades":
        given = {"count": data.count, "seed": data.seed, "labelling": data.labelling}
        options = {name: value for name, value in given.items() if value is not None}
    dataset = load_dataset(data.name, data.path, split=data.split, **options)
    reviewed = reviewed or reviewed_of(data)
    if reviewed is None:
        return dataset
    _check_same(data, reviewed)
    here = frozenset(dataset.ids)
    known = {name: one for name, one in reviewed.annotations.items() if name in here}
    if not known:
        raise InputError(
            f"data: review: {data.review} has {data.annotations} annotations of "
            f"{len(reviewed.annotations)} images, and none is in {data.name}"
        )
    return dataset.annotated(known)


def _check_same(data: Data, reviewed: Reviewed) -> None:
    """Raise where images of a review are others, though they have the same names."""
    from sightline.annotation.review_results import other_images

    if why := other_images(reviewed.facts["data"], {"name": data.name, "seed": data.seed}):
        raise InputError(f"data: review: {data.review}: {why}: their images are not the same")


def reviewed_of(data: Data) -> Reviewed | None:
    """Return what the review came to that a study asks for; None where it asks for none."""
    if data.annotations == "given" or data.review is None:
        return None
    from sightline.annotation.review_results import read_reviewed

    with located("data: review"):
        return read_reviewed(data.review, data.annotations)


@dataclass(frozen=True)
class Card:
    """What the plan must know of an image.

    Attributes
    ----------
    image : str
        Its id.
    digest, annotation : str
        Hashes over its pixels and over what is annotated; the first is "" where it has no file.
    line : mapping
        Of the table of images.
    regions : tuple of mappings
        Its lines of the table of regions.
    """

    image: str
    digest: str
    annotation: str
    line: Mapping[str, Any]
    regions: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Cards:
    """The images of a study in order.

    Attributes
    ----------
    cards : tuple of Card
    annotations : str
        Digest of all annotations of the data.
    missing : mapping
        Images that have no file, with what is missing.
    """

    cards: tuple[Card, ...]
    annotations: str
    missing: Mapping[str, str] = field(default_factory=dict)


def read_cards(
    dataset: Dataset, data: Data, *, pixels: bool, progress: Callable[[int, int], object]
) -> Cards:
    """Look at every image of a study.

    Parameters
    ----------
    dataset : Dataset
        From `study_dataset`.
    data : Data
        How they were asked for.
    pixels : bool
        Whether models will see them: the content of their files is then digested.
    progress : callable
        Called with the number of images done and of all.
    """
    cards: list[Card] = []
    used = len(dataset) if data.count is None else min(data.count, len(dataset))
    for number in range(used):
        cards.append(_card(dataset[number], data, pixels, dataset.root))
        progress(number + 1, used)
    if not cards:
        raise InputError(f"data: {data.name} holds no images")
    missing = {card.image: _missing(dataset.by_id(card.image)) for card in cards if not card.digest}
    digest = _annotations_digest(dataset, data, cards)
    return Cards(tuple(cards), digest, missing if pixels else {})


def _annotations_digest(dataset: Dataset, data: Data, cards: list[Card]) -> str:
    """Return the digest that rules hold: it does not depend on how many images are used.

    A drawn image is the same however many are drawn.
    """
    if data.name == "facades" and data.annotations == "given":
        usual = DATASETS[data.name].options
        seed = usual["seed"] if data.seed is None else data.seed
        return digest_of(data.name, seed, data.labelling or usual["labelling"])[:16]
    rest = (dataset[number].annotation for number in range(len(cards), len(dataset)))
    every = [card.annotation for card in cards] + [annotation_digest(one) for one in rest]
    return digest_of(data.name, every)[:16]


def _card(sample: Sample, data: Data, pixels: bool, root: Path | None) -> Card:
    annotation = sample.annotation
    digest = pixels_digest(sample, root) if pixels else ""
    unlabelled = unlabelled_regions(sample, data)
    regions = tuple(region_lines(annotation, unlabelled))
    line = {
        "image": sample.image_id,
        "split": sample.split,
        "labels": list(sample.labels),
        "width": annotation.width,
        "height": annotation.height,
        "area": _annotated(annotation),
        "regions": len(annotation.scored),
        "digest": digest,
    }
    return Card(sample.image_id, digest, annotation_digest(annotation), line, regions)


def _annotated(annotation: Annotation) -> float:
    """Return the annotated share of an image, on a raster whose longer side is at most 256."""
    return float(annotation.union_mask(*raster_size(annotation, _LARGEST)).mean())


def _missing(sample: Sample) -> str:
    where = "has no file" if sample.path is None else f"{sample.path} is not there"
    return f"image {sample.image_id!r}: {where}, and a model must see it"


def pixels_digest(sample: Sample, root: Path | None = None) -> str:
    """Return a hash over the file of an image, or over what is drawn; "" where there is none.

    A file that is refused when it is read, since it is too large or a link out of `root`, is not
    opened: its hash is one over its name and size.
    """
    if sample.path is None and sample.load is None:
        return ""
    if sample.path is None:
        picture = sample.image()
        return sha256(repr(picture.shape).encode() + picture.tobytes()).hexdigest()[:16]
    if not sample.path.is_file():
        return ""
    if not _may_be_read(sample.path, root):
        return digest_of("unread", sample.path.name, sample.path.stat().st_size)[:16]
    return plain_digest(sample.path)[:16]


def file_pixels(sample: Sample, root: Path | None = None) -> int:
    """Return how many pixels the file of an image declares; 0 where that cannot be read.

    A file that is refused when it is read is not opened here either: see `pixels_digest`.
    """
    path = sample.path
    if path is None or not path.is_file() or not _may_be_read(path, root):
        return 0
    try:
        width, height = image_size(path, upright=False)
    except InputError:  # a broken file is told of, or skipped, where it is read
        return 0
    return width * height


def _may_be_read(path: Path, root: Path | None) -> bool:
    try:
        if root is not None:
            inside(root, str(path.absolute()))
    except InputError:
        return False
    return path.stat().st_size <= MAX_BYTES


def annotation_digest(annotation: Annotation) -> str:
    """Return a hash over what is annotated on an image."""
    size = annotation.width, annotation.height
    groups = [list(map(_described, some)) for some in (annotation.regions, annotation.dropped)]
    return digest_of(annotation.image_id, size, annotation.labels, groups)[:16]


def _described(region: Region) -> list[Any]:
    mask: Any = region.mask
    if isinstance(mask, np.ndarray):
        mask = [mask.shape, sha256(np.packbits(mask).tobytes()).hexdigest()]
    box = [float(edge) for edge in region.box]
    flags = list(region.flags)
    return [region.index, region.label, region.kind, box, region.radius, flags, _plain(mask)]


def _plain(mask: Any) -> Any:
    """Return run lengths and polygons as plain values."""
    if isinstance(mask, bytes):
        return mask.decode("latin-1")
    if isinstance(mask, dict):
        return {key: _plain(value) for key, value in mask.items()}
    return mask


def unlabelled_regions(sample: Sample, data: Data) -> tuple[Region, ...]:
    """Return the instances that a sparse labelling left out, which drawn images know."""
    sparse = data.labelling not in (None, "exhaustive") and data.annotations == "given"
    if data.name != "facades" or not sparse:
        return ()
    from sightline.data.facades import facade_of

    labelled = {region.index for region in sample.annotation.regions}
    truth = facade_of(sample).annotation("exhaustive", sample.image_id)
    return tuple(region for region in truth.regions if region.index not in labelled)
