"""What crosses the layers: the error tree, regions, annotations and samples."""

from __future__ import annotations

from sightline.core.errors import (
    InputError,
    MapError,
    MissingPackageError,
    SightlineError,
    UnknownNameError,
)
from sightline.core.regions import (
    Annotation,
    BoundingBox,
    ImageAnnotation,
    Region,
    to_image_id,
)
from sightline.core.samples import Sample
from sightline.core.taxonomy import Taxonomy

__all__ = [
    "Annotation",
    "BoundingBox",
    "ImageAnnotation",
    "InputError",
    "MapError",
    "MissingPackageError",
    "Region",
    "Sample",
    "SightlineError",
    "Taxonomy",
    "UnknownNameError",
    "to_image_id",
]
