"""What crosses the layers: the error tree, the row schema, regions, annotations and samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from sightline.core.rows import row_schema
from sightline.core.samples import Sample
from sightline.core.taxonomy import Taxonomy

if TYPE_CHECKING:
    import pyarrow as pa

    ROW_SCHEMA: pa.Schema

__all__ = [
    "Annotation",
    "BoundingBox",
    "ImageAnnotation",
    "InputError",
    "MapError",
    "MissingPackageError",
    "ROW_SCHEMA",
    "Region",
    "Sample",
    "SightlineError",
    "Taxonomy",
    "UnknownNameError",
    "row_schema",
    "to_image_id",
]


def __getattr__(name: str) -> Any:
    """Compute `ROW_SCHEMA` when it is first asked for: pyarrow is slow to import."""
    if name == "ROW_SCHEMA":
        return row_schema()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
