"""What crosses the layers: the error tree, the row schema, regions and annotations.

The error tree::

    SightlineError
    ├── InputError (ValueError)        something given does not fit: what, expected, seen
    │   └── MapError                   one map of a batch does not fit; `.index` says which
    ├── UnknownNameError (KeyError)    a name nobody registered; the known ones are listed
    └── MissingPackageError (ImportError)   an extra is not installed; the pip line is named
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pyarrow as pa

    from sightline._raster import Mask

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
    "SightlineError",
    "UnknownNameError",
    "row_schema",
    "to_image_id",
]


def __getattr__(name: str) -> Any:
    """Compute `ROW_SCHEMA` when it is first asked for: pyarrow is slow to import."""
    if name == "ROW_SCHEMA":
        return row_schema()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class SightlineError(Exception):
    """Base of every error that Sightline raises on purpose."""


class InputError(SightlineError, ValueError):
    """An argument or a file does not fit; the message names it, the expectation and the value."""


class MapError(InputError):
    """One map of a batch cannot be scored.

    Attributes
    ----------
    index : int
        Position of the map in the flattened batch.
    """

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message)
        self.index = index


class UnknownNameError(SightlineError, KeyError):
    """A name that is not in its table."""

    def __str__(self) -> str:
        return str(self.args[0])


class MissingPackageError(SightlineError, ImportError):
    """A package of an extra is missing; the message holds the line that installs it."""


@cache
def row_schema() -> pa.Schema:
    """Return the schema of the long table of scores (one row, one score with its full key).

    The key is everything before `value`. `region` is null for the union of all regions, `layer`
    and `head` are null where there is none or heads are fused. `area` is the annotated share of
    the image; chance and ceiling are derived from it and are not stored.
    """
    import pyarrow as pa

    text = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            ("study", text),
            ("rules", text),
            ("image", text),
            ("region", pa.int32()),
            ("model", text),
            ("variant", text),
            ("layer", pa.int16()),
            ("head", pa.int16()),
            ("method", text),
            ("target", text),
            ("seed", pa.int32()),
            ("check", text),
            ("metric", text),
            ("threshold", text),
            ("value", pa.float64()),
            ("area", pa.float32()),
            ("visible", pa.float32()),
        ]
    )


_IMAGE_ID = re.compile(r"[A-Za-z0-9._-]{1,200}")
KINDS = ("box", "mask", "polygon", "point")


def to_image_id(name: str) -> str:
    """Return the image id of a file name: "/" becomes "__", and the rest must fit.

    Raises
    ------
    InputError
        If a character is not a letter, a digit or one of ``._-``, or there are none or over 200.

    Examples
    --------
    >>> to_image_id("churches/front.jpg")
    'churches__front.jpg'
    """
    image_id = name.replace("/", "__")
    if not _IMAGE_ID.fullmatch(image_id):
        raise InputError(
            f"image name {name!r} must be 1 to 200 letters, digits, '.', '_', '-' or '/'"
        )
    return image_id


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """What a person marked on an image.

    Attributes
    ----------
    label : str
        What it shows; "" when nobody said.
    kind : {"box", "mask", "polygon", "point"}
        How it was marked.
    box : tuple of 4 floats
        Normalised corners x0, y0, x1, y1: the box itself, or the tight box around the mask, the
        polygon or the disc of the point (not clipped there: it says where the disc is).
    mask : array of bool (height, width), COCO RLE, tuple of polygons, or None
        The shape of a "mask" (array or RLE) or of a "polygon" (each x, y, x, y, … normalised).
    radius : float
        Radius of a point's disc in pixels of the image.
    flags : tuple of str
        "crowd": one region for many objects. "clipped": it reached outside the image.
    index : int
        Its position among the regions of its image in the file, dropped ones counted.
    source : str
        Where it comes from: the record of the file.
    """

    label: str = ""
    kind: str = "box"
    box: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)
    mask: Mask | Mapping[str, Any] | tuple[tuple[float, ...], ...] | None = None
    radius: float = 0.0
    flags: tuple[str, ...] = ()
    index: int = 0
    source: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"kind of region must be one of {', '.join(KINDS)}, got {self.kind!r}")
        if (self.mask is not None) != (self.kind in ("mask", "polygon")):
            raise InputError(f"region of kind {self.kind!r}: mask belongs to 'mask' and 'polygon'")
        x0, y0, x1, y1 = self.box
        if not all(map(isfinite, self.box)) or x1 < x0 or y1 < y0:
            raise InputError(f"box must be finite with x0 <= x1, y0 <= y1, got {self.box}")

    def to_mask(self, height: int, width: int) -> Mask:
        """Return the region on a grid of (height, width) that covers the whole image.

        Raises
        ------
        InputError
            If polygons or run lengths do not fit.
        """
        from sightline import _raster

        x0, y0, x1, y1 = self.box
        try:
            if self.kind == "point":
                centre, radii = ((x0 + x1) / 2, (y0 + y1) / 2), ((x1 - x0) / 2, (y1 - y0) / 2)
                return _raster.disc_mask(*centre, radii, height, width)
            if self.kind == "polygon":
                return _raster.polygon_mask(cast("Any", self.mask), height, width)
            if self.kind == "mask":
                mask = (
                    _raster.decode_rle(self.mask) if isinstance(self.mask, Mapping) else self.mask
                )
                return _raster.resize_mask(cast("Mask", mask), height, width)
            return _raster.box_mask(self.box, height, width)
        except ValueError as error:
            raise InputError(f"region {self.index} ({self.label!r}): {error}") from error


@dataclass(frozen=True, slots=True, eq=False)
class Annotation:
    """The regions of one image, and the labels of the image as a whole.

    Attributes
    ----------
    image_id : str
        1 to 200 of ``A-Z a-z 0-9 . _ -``.
    width, height : int or None
        Size of the image in pixels, None when the file does not say.
    regions : tuple of Region
        In the order of the file.
    labels : tuple of str
        Labels of the whole image: styles, a class.
    dropped : tuple of Region
        Regions wholly outside the image; they keep their `index` and are never drawn.
    """

    image_id: str
    width: int | None = None
    height: int | None = None
    regions: tuple[Region, ...] = ()
    labels: tuple[str, ...] = ()
    dropped: tuple[Region, ...] = ()

    def __post_init__(self) -> None:
        if not _IMAGE_ID.fullmatch(self.image_id):
            raise InputError(f"image_id must match {_IMAGE_ID.pattern}, got {self.image_id!r}")

    def union_mask(self, height: int, width: int) -> Mask:
        """Return where any region is, on a grid of (height, width) over the whole image."""
        import numpy as np

        union = np.zeros((height, width), np.bool_)
        for region in self.regions:
            union |= region.to_mask(height, width)
        return union

    get_union_mask = union_mask

    def region_masks(self, height: int, width: int) -> Mask:
        """Return one mask per region, (n, height, width)."""
        import numpy as np

        masks = np.zeros((len(self.regions), height, width), np.bool_)
        for mask, region in zip(masks, self.regions, strict=True):
            mask[:] = region.to_mask(height, width)
        return masks


ImageAnnotation = Annotation


@dataclass(frozen=True, slots=True)
class BoundingBox:
    """A labelled box by its left top corner and its size, all normalised.

    Examples
    --------
    >>> BoundingBox(left=0.25, top=0.0, width=0.5, height=0.5).to_mask(2, 4).astype(int)
    array([[0, 1, 1, 0],
           [0, 0, 0, 0]])
    """

    left: float
    top: float
    width: float
    height: float
    label: str = ""

    def __post_init__(self) -> None:
        numbers = (self.left, self.top, self.width, self.height)
        if not all(map(isfinite, numbers)) or self.width < 0 or self.height < 0:
            raise InputError(f"box needs finite left, top and width, height >= 0, got {numbers}")

    def to_region(self, index: int = 0) -> Region:
        """Return the box as a region."""
        box = (self.left, self.top, self.left + self.width, self.top + self.height)
        return Region(label=self.label, box=box, index=index)

    def to_mask(self, height: int, width: int) -> Mask:
        """Return the box on a grid of (height, width); see `Region.to_mask`."""
        return self.to_region().to_mask(height, width)
