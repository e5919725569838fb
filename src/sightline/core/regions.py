"""Regions that a person marked on an image, and the annotation they make up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

from sightline.core.errors import InputError, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sightline.core.raster import Mask
    from sightline.core.taxonomy import Taxonomy

__all__ = ["Annotation", "BoundingBox", "ImageAnnotation", "Region", "to_image_id"]

_IMAGE_ID = re.compile(r"[A-Za-z0-9._-]{1,200}")
_STRANGE = re.compile(r"[^A-Za-z0-9._-]")
KINDS = ("box", "mask", "polygon", "point")


def to_image_id(name: str) -> str:
    """Return the image id of a file name.

    "/" becomes "__", a space "_", and any other character that an id cannot hold "-" with its
    number in hexadecimal. A backslash is read as "/", and "./" changes nothing. Two names may get
    one id; data sets refuse that.

    Raises
    ------
    InputError
        If the name is empty, "..", a URL, or the id would have more than 200 characters.

    Examples
    --------
    >>> to_image_id("churches/west front.jpg")
    'churches__west_front.jpg'
    >>> to_image_id("Köln (2).jpg")
    'K-f6ln_-282-29.jpg'
    """
    if "://" in name:
        what = "is a URL; images are files, and nothing is fetched"
        raise InputError(f"image name {shown(name)} {what}")
    parts = name.replace("\\", "/").split("/")
    plain = "__".join(part for part in parts if part not in ("", ".")).replace(" ", "_")
    image_id = _STRANGE.sub(lambda found: f"-{ord(found[0]):x}", plain)
    if image_id == "..":
        raise InputError(f"image name {shown(name)} is that of a folder")
    if not _IMAGE_ID.fullmatch(image_id):
        what = f"must give an id of 1 to 200 characters, gives {len(image_id)}"
        raise InputError(f"image name {shown(name)} {what}")
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
        "ignore": its pixels are left out of every score. "crowd": one region for many objects.
        "difficult": hard to see. "truncated", "occluded": seen in part. "clipped": it reached
        outside the image. "hidden": a part that is in the file but out of sight. "empty": a mask
        without pixels.
    index : int
        Its position among the regions of its image in the file, dropped ones counted.
    source : str
        Where it comes from: the record of the file.
    score : float or None
        Confidence of a region that a machine proposed.

    Examples
    --------
    >>> from sightline.core import Region
    >>> door = Region("door", box=(0, 0.5, 0.5, 1))
    >>> door.to_mask(2, 4).astype(int).tolist(), door.difficult
    ([[0, 0, 0, 0], [1, 1, 0, 0]], False)
    """

    label: str = ""
    kind: str = "box"
    box: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)
    mask: Mask | Mapping[str, Any] | tuple[tuple[float, ...], ...] | None = None
    radius: float = 0.0
    flags: tuple[str, ...] = ()
    index: int = 0
    source: str = ""
    score: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"kind of region must be one of {', '.join(KINDS)}, got {self.kind!r}")
        if (self.mask is not None) != (self.kind in ("mask", "polygon")):
            raise InputError(f"region of kind {self.kind!r}: mask belongs to 'mask' and 'polygon'")
        x0, y0, x1, y1 = self.box
        if not all(map(isfinite, self.box)) or x1 < x0 or y1 < y0:
            raise InputError(f"box must be finite with x0 <= x1, y0 <= y1, got {self.box}")

    @property
    def difficult(self) -> bool:
        """Whether it is marked as hard to see."""
        return "difficult" in self.flags

    @property
    def crowd(self) -> bool:
        """Whether it stands for many objects."""
        return "crowd" in self.flags

    @property
    def ignore(self) -> bool:
        """Whether its pixels are left out of every score."""
        return "ignore" in self.flags

    def to_mask(self, height: int, width: int) -> Mask:
        """Return the region on a grid of (height, width) that covers the whole image.

        Raises
        ------
        InputError
            If polygons or run lengths do not fit.
        """
        from sightline.core import raster as _raster
        from sightline.core import run_lengths as _rle

        x0, y0, x1, y1 = self.box
        try:
            if self.kind == "point":
                centre, radii = ((x0 + x1) / 2, (y0 + y1) / 2), ((x1 - x0) / 2, (y1 - y0) / 2)
                return _raster.disc_mask(*centre, radii, height, width)
            if self.kind == "polygon":
                return _raster.polygon_mask(cast("Any", self.mask), height, width)
            if self.kind == "mask":
                mask = _rle.decode_rle(self.mask) if isinstance(self.mask, Mapping) else self.mask
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
        1 to 200 of ``A-Z a-z 0-9 . _ -``, but not "." or "..".
    width, height : int or None
        Size of the image in pixels, None when the file does not say.
    regions : tuple of Region
        In the order of the file.
    labels : tuple of str
        Labels of the whole image: styles, a class.
    dropped : tuple of Region
        Regions wholly outside the image or hidden; they keep their `index` and are never drawn.

    Examples
    --------
    >>> from sightline.core import Annotation, Region
    >>> facade = Annotation("a.jpg", 200, 100, (Region("door", box=(0, 0, 0.5, 1)),), ("Gothic",))
    >>> facade.union_mask(2, 4).astype(int).tolist(), facade.labels
    ([[1, 1, 0, 0], [1, 1, 0, 0]], ('Gothic',))
    """

    image_id: str
    width: int | None = None
    height: int | None = None
    regions: tuple[Region, ...] = ()
    labels: tuple[str, ...] = ()
    dropped: tuple[Region, ...] = ()

    def __post_init__(self) -> None:
        if not _IMAGE_ID.fullmatch(self.image_id) or self.image_id in (".", ".."):
            rule = f"must match {_IMAGE_ID.pattern} and not be '.' or '..'"
            raise InputError(f"image_id {rule}, got {shown(self.image_id)}")

    @property
    def scored(self) -> tuple[Region, ...]:
        """The regions that are scored: all but those to ignore."""
        return tuple(region for region in self.regions if not region.ignore)

    @property
    def bboxes(self) -> tuple[Region, ...]:
        """The box of each scored region: masks, polygons and points as the box around them.

        Examples
        --------
        >>> parts = Region("door", box=(0, 0, 0.5, 1)), Region("void", flags=("ignore",))
        >>> (bbox,) = Annotation("a", 4, 1, parts).bboxes
        >>> bbox.label, bbox.to_mask(1, 4).tolist()
        ('door', [[True, True, False, False]])
        """
        return tuple(
            region if region.kind == "box" else replace(region, kind="box", mask=None, radius=0.0)
            for region in self.scored
        )

    @property
    def ignored(self) -> tuple[Region, ...]:
        """The regions whose pixels are left out of every score."""
        return tuple(region for region in self.regions if region.ignore)

    def ignoring(self, *flags: str) -> Annotation:
        """Return the annotation with every region that has one of `flags` ignored as well.

        Examples
        --------
        >>> crowd = Region("person", flags=("crowd",))
        >>> Annotation("a.jpg", regions=(crowd,)).ignoring("crowd").regions[0].flags
        ('crowd', 'ignore')
        """
        return replace(self, regions=tuple(_ignoring(region, flags) for region in self.regions))

    def union_mask(self, height: int, width: int) -> Mask:
        """Return where any scored region is, on a grid of (height, width) over the whole image.

        Pixels to ignore are left out.
        """
        return _union(self.scored, height, width) & ~self.ignore_mask(height, width)

    get_union_mask = union_mask

    def ignore_mask(self, height: int, width: int) -> Mask:
        """Return the pixels that are left out of every score: the union of the ignored regions."""
        return _union(self.ignored, height, width)

    def region_masks(self, height: int, width: int) -> Mask:
        """Return one mask per region, those to ignore included, (n, height, width)."""
        import numpy as np

        masks = np.zeros((len(self.regions), height, width), np.bool_)
        for mask, region in zip(masks, self.regions, strict=True):
            mask[:] = region.to_mask(height, width)
        return masks

    def label_masks(
        self, height: int, width: int, taxonomy: Taxonomy | None = None
    ) -> dict[str, Mask]:
        """Return for each label the union of its scored regions, without the pixels to ignore.

        Parameters
        ----------
        height, width : int
            Size of the grid over the whole image.
        taxonomy : Taxonomy, optional
            Adds a mask for every label above those of the regions.

        Examples
        --------
        >>> parts = (Region("window", box=(0, 0, 0.5, 1)), Region("door", box=(0.5, 0, 1, 1)))
        >>> masks = Annotation("a.jpg", regions=parts).label_masks(1, 4)
        >>> {label: mask.astype(int).tolist() for label, mask in masks.items()}
        {'window': [[1, 1, 0, 0]], 'door': [[0, 0, 1, 1]]}
        """
        kept = ~self.ignore_mask(height, width)
        masks: dict[str, Mask] = {}
        for region in self.scored:
            mask = region.to_mask(height, width) & kept
            known = taxonomy is not None and region.label in taxonomy
            above = taxonomy.ancestors(region.label) if taxonomy is not None and known else ()
            for label in (region.label, *above):
                masks[label] = masks[label] | mask if label in masks else mask
        return masks

    def soft_target(self, height: int, width: int) -> NDArray[np.float64]:
        """Return a density that is high in the middle of each scored region, in [0, 1].

        A Gaussian for the box of each region on the grid, σ = side / 4, joined by the maximum; 0
        where pixels are ignored. A region that is wholly ignored has none.
        """
        from sightline.core import raster as _raster

        ignored = self.ignore_mask(height, width)
        masks = [region.to_mask(height, width) for region in self.scored]
        boxes = [_raster.mask_box(mask) for mask in masks if (mask & ~ignored).any()]
        target = _raster.soft_target(filter(None, boxes), height, width)
        target[ignored] = 0
        return target


def _union(regions: Iterable[Region], height: int, width: int) -> Mask:
    import numpy as np

    union = np.zeros((height, width), np.bool_)
    for region in regions:
        union |= region.to_mask(height, width)
    return union


def _ignoring(region: Region, flags: Sequence[str]) -> Region:
    if region.ignore or not set(flags) & set(region.flags):
        return region
    return replace(region, flags=(*region.flags, "ignore"))


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
