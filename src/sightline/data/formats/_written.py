"""What the writers of annotation files share: the images, and their regions in order."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from sightline.core import InputError, to_image_id
from sightline.core import raster as _raster
from sightline.data.formats.checks import check_flags, pixel_size
from sightline.data.formats.shapes import encode_rle

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.core import Annotation, Region
    from sightline.data.formats.checks import Size

__all__ = [
    "Json",
    "WrittenImage",
    "check_region",
    "disc_record",
    "filled",
    "in_order",
    "rle_record",
    "said",
]

Json: TypeAlias = dict[str, Any]


class WrittenImage(NamedTuple):
    """An image of a file to write: its regions, its name and split there, and where it lies."""

    annotation: Annotation
    name: str
    split: str = ""
    file: Path | None = None
    root: Path | None = None

    @property
    def given(self) -> Json:
        """Its id, where the name does not say it."""
        image_id = self.annotation.image_id
        return {} if to_image_id(self.name) == image_id else {"id": image_id}

    @property
    def size(self) -> Size | None:
        """Its width and height, where they are known."""
        return pixel_size({"width": self.annotation.width, "height": self.annotation.height})


def in_order(annotation: Annotation) -> list[tuple[Region, bool]]:
    """Return the regions as they were numbered, and whether each is dropped."""
    both = chain(annotation.regions, annotation.dropped)
    ordered = sorted(both, key=attrgetter("index"))
    dropped = set(map(id, annotation.dropped))
    return [(region, id(region) in dropped) for region in ordered]


def check_region(region: Region, before: int) -> None:
    """Raise where a region could not be read again, or its number is not above the one before."""
    check_flags(list(region.flags))
    if region.index <= before:
        raise InputError("another region has this number; each needs an index of its own")
    if region.kind == "polygon":
        for part in cast("tuple[tuple[float, ...], ...]", region.mask):
            _raster.polygon_points(part)


def disc_record(region: Region) -> Json:
    """Return the disc of a point."""
    return {"box": list(map(float, region.box)), "radius": float(region.radius)}


def rle_record(region: Region) -> Json:
    """Return a mask as run lengths; those it has already stay as they are."""
    if not isinstance(region.mask, Mapping):
        return encode_rle(cast("Any", region.mask))
    counts = region.mask["counts"]
    plain = counts.decode("ascii") if isinstance(counts, bytes) else counts
    return {"size": [int(side) for side in region.mask["size"]], "counts": plain}


def said(**values: Any) -> Json:
    """Return the entries that say something."""
    return {key: value for key, value in values.items() if value}


def filled(**values: Any) -> Json:
    """Return the entries that are not None."""
    return {key: value for key, value in values.items() if value is not None}
