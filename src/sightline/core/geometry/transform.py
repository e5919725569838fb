"""The way from the pixels of an image to the grid of a model, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import lru_cache
from math import hypot, nan, sqrt
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sightline.core import Annotation, InputError, Region
from sightline.core import raster as _raster
from sightline.core.arrays import shape_of
from sightline.core.checks import check_choice
from sightline.core.errors import shown
from sightline.core.geometry._areas import (
    NEAR,
    NOTHING,
    Pair,
    Rect,
    as_rect,
    box_share,
    carry_rect,
    clip_box,
    clip_boxes,
    half_covered,
    meet,
    sample_axis,
    share_within,
    snap,
    snap_all,
    sum_between,
)
from sightline.core.geometry._checks import (
    Size,
    check_numbers,
    check_size,
    show_size,
    size_or,
)
from sightline.core.run_lengths import decode_rle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from sightline.core.raster import Mask

__all__ = ["Geometry"]


@dataclass(frozen=True, repr=False, slots=True)
class Geometry:
    """The way from the pixels of an image to the input of a model, along each axis on its own.

    Start with `Geometry.of` and add steps, or use `fit_geometry`.

    Attributes
    ----------
    source, size : tuple of 2 ints
        Width and height of the image and of the input.
    scale, offset : tuple of 2 floats
        Pixel x of the image lies at ``scale * x + offset`` on the input; a flip scales by -1.
    content : tuple of 4 floats
        Corners (in pixels) of what is image on the input; the rest is padding. Later padding does
        not bring back what was cropped away. All 0 when nothing of the image is left.
    patch : tuple of 2 ints
        Width and height of a cell of the grid, in pixels of the input.

    Examples
    --------
    >>> Geometry.of(640, 480).resize(298, 224).crop(37, 0, 224, 224).patches(14)
    Geometry(640x480 -> 224x224, scale 0.466x0.467, offset -37.0,0.0, patch 14x14)
    """

    source: Size
    size: Size
    scale: Pair
    offset: Pair
    content: Rect
    patch: Size = (1, 1)

    def __post_init__(self) -> None:
        for name in ("source", "size", "patch"):
            object.__setattr__(self, name, check_size(getattr(self, name), name))
        for name, count in (("scale", 2), ("offset", 2), ("content", 4)):
            object.__setattr__(self, name, check_numbers(getattr(self, name), count, name))
        if 0 in self.scale:
            raise InputError(f"scale must not be 0, got {self.scale}")
        possible = meet(
            meet(self.content, (0, 0, *self.size)),
            carry_rect((0, 0, *self.source), self.scale, self.offset),
        )
        if np.abs(np.subtract(possible, self.content)).max() > 1e-6:
            raise InputError(f"content must be corners of image on the input, got {self.content}")
        object.__setattr__(self, "content", possible)

    def __repr__(self) -> str:
        (w, h), (x, y) = self.scale, self.offset
        steps = f"scale {w:.3g}x{h:.3g}, offset {x:.1f},{y:.1f}, patch {show_size(self.patch)}"
        plain = self.content == _affine(self.source, self.size, self.scale, self.offset).content
        lost = "" if plain else ", content " + ",".join(f"{edge:.1f}" for edge in self.content)
        return f"Geometry({show_size(self.source)} -> {show_size(self.size)}, {steps}{lost})"

    @classmethod
    def of(cls, width: int, height: int) -> Geometry:
        """Return the geometry of an image that is shown as it is."""
        return _affine((width, height), (width, height))

    def resize(self, width: int, height: int) -> Geometry:
        """Stretch to a size."""
        size = check_size((width, height), "size")
        return self.then(_affine(self.size, size, (width / self.size[0], height / self.size[1])))

    def crop(self, left: int, top: int, width: int, height: int) -> Geometry:
        """Cut out a rectangle; where it reaches outside there is padding, as with Pillow."""
        return self.then(_affine(self.size, (width, height), offset=(-left, -top)))

    def pad(self, left: int, top: int, right: int, bottom: int) -> Geometry:
        """Add a border."""
        if min(left, top, right, bottom) < 0:
            raise InputError(f"padding must be >= 0, got {(left, top, right, bottom)}")
        return self.crop(-left, -top, self.size[0] + left + right, self.size[1] + top + bottom)

    def flip(self, horizontal: bool = True, vertical: bool = False) -> Geometry:
        """Mirror left and right, top and bottom, or both."""
        scale = (-1 if horizontal else 1, -1 if vertical else 1)
        offset = (self.size[0] if horizontal else 0, self.size[1] if vertical else 0)
        return self.then(_affine(self.size, self.size, scale, offset))

    def patches(self, width: int, height: int | None = None) -> Geometry:
        """Cut the input into patches (square unless a height is given), which must divide it."""
        made = replace(self, patch=(width, width if height is None else height))
        made.grid  # noqa: B018 (raises where the patches do not fit)
        return made

    def then(self, second: Geometry) -> Geometry:
        """Return this geometry followed by a second one, whose image is this one's input.

        The patches are those of the second, or of the first where the second has none.
        """
        if second.source != self.size:
            first = f"the first ends at {show_size(self.size)}"
            raise InputError(f"second geometry starts from {show_size(second.source)}, {first}")
        (ax, ay), (bx, by), (ox, oy) = self.scale, second.scale, self.offset
        content = meet(carry_rect(self.content, second.scale, second.offset), second.content)
        offset = (bx * ox + second.offset[0], by * oy + second.offset[1])
        patch = self.patch if second.patch == (1, 1) else second.patch
        return Geometry(self.source, second.size, (ax * bx, ay * by), offset, content, patch)

    def inverse(self) -> Geometry:
        """Return the way back, without patches; its `content` is what the way there had kept."""
        (sx, sy), (ox, oy) = self.scale, self.offset
        return _affine(self.size, self.source, (1 / sx, 1 / sy), (-ox / sx, -oy / sy), self.content)

    def to_dict(self) -> dict[str, list[float]]:
        """Return plain values for JSON; `from_dict` reads them back exactly."""
        return {name: list(value) for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Geometry:
        """Return the geometry that `to_dict` described."""
        names = [field.name for field in fields(cls)]
        if not isinstance(values, Mapping) or set(values) != set(names):
            raise InputError(f"geometry must have {', '.join(names)}; got {shown(values)}")
        return cls(**values)

    @property
    def grid(self) -> Size:
        """Columns and rows of patches."""
        (columns, right), (rows, below) = map(divmod, self.size, self.patch)
        if right or below:
            raise InputError(
                f"input {show_size(self.size)} is no multiple of the patch {show_size(self.patch)}"
            )
        return columns, rows

    @property
    def content_box(self) -> Rect:
        """What is image on the input, as normalised corners; the rest is padding."""
        return self._shares(self.content)

    @property
    def visible_box(self) -> Rect:
        """What the model sees of the image, as normalised corners."""
        return _visible_box(self)

    def to_input(self, x: ArrayLike, y: ArrayLike) -> tuple[Any, Any]:
        """Return where points of the image (in pixels) lie on the input (in pixels)."""
        (sx, sy), (ox, oy) = self.scale, self.offset
        return np.multiply(x, sx) + ox, np.multiply(y, sy) + oy

    def to_source(self, x: ArrayLike, y: ArrayLike) -> tuple[Any, Any]:
        """Return where points of the input (in pixels) come from on the image (in pixels)."""
        (sx, sy), (ox, oy) = self.scale, self.offset
        return np.subtract(x, ox) / sx, np.subtract(y, oy) / sy

    def points_to_grid(self, x: ArrayLike, y: ArrayLike) -> tuple[Any, Any]:
        """Return where points of the image (in pixels) lie on the grid, in columns and rows.

        The whole part is the cell; the centre of the first cell is at 0.5.
        """
        on_input = self.to_input(x, y)
        return on_input[0] / self.patch[0], on_input[1] / self.patch[1]

    def carry_boxes(self, boxes: ArrayLike) -> NDArray[np.float64]:
        """Return boxes `(n, 4)` of the image on the input: normalised corners, not clipped."""
        corners = np.asarray(boxes, np.float64)
        if corners.ndim != 2 or corners.shape[1] != 4:
            raise InputError(f"boxes must be (n, 4), got {shape_of(corners.shape)}")
        carried = np.sort(self._carry_points(corners.reshape(-1, 2, 2)) / self.size, axis=1)
        return carried.reshape(-1, 4)

    def clip_boxes(self, boxes: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return boxes `(n, 4)` of the image on the input, cut to what is image there.

        As `carry_region` does it one by one, to the last bit; and which of them are out of sight.
        """
        corners = np.asarray(boxes, np.float64).reshape(-1, 2, 2)
        carried = snap_all(np.sort(self._carry_points(corners), axis=1))
        kept, lost = clip_boxes(carried, self.content)
        return snap_all(kept / self.size).reshape(-1, 4), lost

    def carry(self, annotation: Annotation) -> Annotation:
        """Return the annotation of the model's input.

        Regions keep their order, labels, flags and indices. Those wholly out of sight join
        `dropped`, where regions stay as they were on the image.

        Raises
        ------
        InputError
            If the annotation is for an image of another size.
        """
        self._check(annotation)
        pairs = [(region, self.carry_region(region)) for region in annotation.regions]
        lost = [region for region, carried in pairs if carried is None]
        return replace(
            annotation,
            width=self.size[0],
            height=self.size[1],
            regions=tuple(carried for _, carried in pairs if carried is not None),
            dropped=tuple(sorted((*annotation.dropped, *lost), key=lambda region: region.index)),
        )

    def carry_region(self, region: Region) -> Region | None:
        """Return a region on the input, cut to what is image there; None when out of sight.

        A box stays a box and a polygon a polygon. A mask (or RLE) becomes a mask at the input's
        size: pixels of which it covers half or more, those with the largest share where none is.
        A point stays a point: its disc on the image may be an ellipse on the input, and `radius`
        is that of the disc of equal area. A disc that padding cuts becomes a polygon.
        """
        if region.kind == "mask":
            return self._carry_mask(region, _shape(region))
        if region.kind == "polygon":
            return self._carry_polygon(region, _shape(region))
        box = as_rect(np.sort(self._carry_points(np.reshape(region.box, (2, 2))), axis=0))
        if region.kind == "point":
            return self._carry_point(region, box)
        kept = clip_box(box, self.content)
        if kept is None:
            return None
        return _changed(region, self._shares(kept), kept != box)

    def visible(self, region: Region) -> float:
        """Return the share of a region's area inside the image that the model sees.

        By exact areas; a disc counts as a polygon of 64 corners, and the parts of a polygon count
        one by one where they overlap. What has no area, a line or a point, counts by its box: by
        the length of the line, or the point. NaN when nothing of it is inside the image.
        """
        if region.kind == "mask":
            return share_within(_shape(region), self.visible_box)
        if region.kind == "box":
            return box_share(region.box, self.visible_box)
        parts = _shape(region) if region.kind == "polygon" else [_ring(region.box)]
        if all(_raster.polygon_area(part) <= NEAR**2 for part in parts):
            return box_share(region.box, self.visible_box)
        inside = [_raster.clip_polygon(part, (0, 0, 1, 1)) for part in parts]
        total = sum(map(_raster.polygon_area, inside))
        if total <= NEAR**2:
            return nan
        seen = (_raster.clip_polygon(part, self.visible_box) for part in inside if len(part))
        return snap(sum(map(_raster.polygon_area, seen)) / total)

    def visible_share(self, annotation: Annotation) -> float:
        """Return the share of the annotated area (the union, less ignored) that the model sees.

        Exact for a single region; several are drawn at the size of the image, the longer side
        between 256 and 1024. NaN when nothing is annotated.
        """
        self._check(annotation)
        if len(annotation.regions) == 1 and annotation.scored:
            return self.visible(annotation.regions[0])
        return share_within(annotation.union_mask(*self._raster_size()), self.visible_box)

    def covered_shares(self, region: Region) -> NDArray[np.float64]:
        """Return the share of each cell of the grid `(rows, columns)` that a region covers.

        Exact for a box and a mask. A polygon and a disc are drawn first, at the size of the image,
        the longer side between 256 and 1024. What the model does not see covers nothing.

        Examples
        --------
        >>> window = Region(box=(0.25, 0.0, 0.75, 0.5))
        >>> Geometry.of(80, 40).patches(20, 20).covered_shares(window).tolist()
        [[0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
        """
        onto = self.resize(*self.grid)
        if region.kind == "box":
            kept = onto.carry_region(region)
            return np.zeros(onto.size[::-1]) if kept is None else _box_shares(kept.box, onto.size)
        drawn = region.kind != "mask"
        return _covered(region.to_mask(*self._raster_size()) if drawn else _shape(region), onto)

    def content_mask(self, height: int | None = None, width: int | None = None) -> Mask:
        """Return the cells (of the grid, by default) that are image: at least half of their area.

        Where no cell reaches half, those with the largest share.
        """
        width, height = size_or(self.grid, width, height)
        return half_covered(_covered(np.ones((1, 1)), self.resize(width, height)))

    def seen_mask(self, height: int | None = None, width: int | None = None) -> Mask:
        """Return the pixels of the image whose centres the model sees, at least one if it does."""
        width, height = size_or(self.source, width, height)
        if self.content == NOTHING:
            return np.zeros((height, width), np.bool_)
        return _raster.box_mask(self.visible_box, height, width)

    def to_image(
        self,
        maps: ArrayLike,
        height: int | None = None,
        width: int | None = None,
        *,
        fill: float = nan,
        how: Literal["nearest", "bilinear"] = "nearest",
    ) -> NDArray[Any]:
        """Return maps on the grid as maps over the whole image.

        Parameters
        ----------
        maps : array (..., rows, columns)
            On the model's grid; numpy alone. Floats keep their precision, others become float64.
        height, width : int, optional
            Size of the result; that of the image by default.
        fill : float
            Value of the pixels that the model did not see: all but `seen_mask`.
        how : {"nearest", "bilinear"}
            Each pixel takes the value of the cell under its centre, or interpolates between the
            centres of cells; beyond the outermost centres the value stays.

        Returns
        -------
        array (..., height, width)
        """
        values, cells = np.asarray(maps), self.grid[::-1]
        if values.shape[-2:] != cells:
            wanted = f"maps must be (..., rows, columns) on the grid {shape_of(cells)}"
            raise InputError(f"{wanted}, got {shape_of(values.shape)}")
        check_choice("how", how, ("nearest", "bilinear"))
        width, height = size_or(self.source, width, height)
        kind = values.dtype if values.dtype.kind == "f" else np.dtype(np.float64)
        values = values.astype(np.promote_types(kind, np.float32))
        x = (np.arange(width) + 0.5) * self.source[0] / width
        y = (np.arange(height) + 0.5) * self.source[1] / height
        columns, rows = self.points_to_grid(x, y)
        values = sample_axis(values.swapaxes(-1, -2), rows, how).swapaxes(-1, -2)
        found = sample_axis(values, columns, how)
        return np.where(self.seen_mask(height, width), found, fill).astype(kind)

    def _carry_points(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return normalised points of the image in pixels of the input."""
        carried = points * self.source * np.array(self.scale) + self.offset
        whole = np.round(carried)  # else rounding errors would reach outside and be cut
        snapped: NDArray[np.float64] = np.where(np.abs(carried - whole) < NEAR, whole, carried)
        return snapped

    def _shares(self, rect: Rect) -> Rect:
        """Return corners on the input as shares of it."""
        return as_rect(np.reshape(rect, (2, 2)) / self.size)

    def _carry_mask(self, region: Region, given: Mask) -> Region | None:
        mask = half_covered(_covered(given, self))
        cut = share_within(given, self.visible_box) < 1
        return _changed(region, _raster.mask_box(mask), cut, mask) if mask.any() else None

    def _carry_polygon(self, region: Region, given: Iterable[NDArray[np.float64]]) -> Region | None:
        """Map the vertices and cut each part; one that only leans on the edge is out of sight."""
        carried = [self._carry_points(points) for points in given]
        kept = [_raster.clip_polygon(points, self.content) for points in carried]
        cut = any(not np.array_equal(a, b) for a, b in zip(carried, kept, strict=True))
        seen = [
            part / self.size
            for part, whole in zip(kept, carried, strict=True)
            if len(part) >= 3
            and (_raster.polygon_area(part) > NEAR or _raster.polygon_area(whole) <= NEAR)
        ]
        if not seen:
            return None
        shape = tuple(tuple(part.ravel().tolist()) for part in seen)
        return _changed(region, _raster.polygon_box(seen), cut, shape)

    def _carry_point(self, region: Region, box: Rect) -> Region | None:
        x, y, rx, ry = _disc(box)
        x0, y0, x1, y1 = self.content
        away = hypot((min(max(x, x0), x1) - x) / rx, (min(max(y, y0), y1) - y) / ry)
        if away > 1 or self.content == NOTHING:
            return None
        drawn = meet(box, (0, 0, *self.size))
        if drawn != meet(box, self.content):
            polygon = replace(region, kind="polygon", mask=(), radius=0.0)
            return self._carry_polygon(polygon, [_ring(region.box)])
        radius = region.radius * sqrt(abs(self.scale[0] * self.scale[1]))
        cut = drawn not in (box, NOTHING)
        return _changed(replace(region, radius=radius), self._shares(box), cut)

    def _raster_size(self) -> Size:
        """Return height and width of the raster on which shares are measured."""
        longer = max(self.source)
        factor = min(max(longer, 256), 1024) / longer
        return max(1, round(self.source[1] * factor)), max(1, round(self.source[0] * factor))

    def _check(self, annotation: Annotation) -> None:
        said = (annotation.width, annotation.height)
        if any(a not in (None, b) for a, b in zip(said, self.source, strict=True)):
            name = f"annotation of {annotation.image_id!r}"
            seen = (
                f"is for an image of {said[0]}x{said[1]}, the geometry for {show_size(self.source)}"
            )
            raise InputError(f"{name} {seen}")


@lru_cache(4096)  # images of a data set share few geometries, and all their maps ask
def _visible_box(geometry: Geometry) -> Rect:
    return geometry.inverse().content_box


def _affine(
    source: Size,
    size: Size,
    scale: Pair = (1, 1),
    offset: Pair = (0, 0),
    content: Rect | None = None,
) -> Geometry:
    """Return the geometry that keeps of the image (or of `content` on it) what the input holds."""
    source, size = check_size(source, "source"), check_size(size, "size")
    carried = carry_rect(content or (0, 0, *source), scale, offset)
    return Geometry(source, size, scale, offset, meet(carried, (0, 0, *size)))


def _changed(region: Region, box: Any, cut: bool, mask: Any = None) -> Region:
    flags = region.flags if not cut or "clipped" in region.flags else (*region.flags, "clipped")
    return replace(region, box=box, mask=mask, flags=flags)


def _shape(region: Region) -> Any:
    """Return the mask of a region at its own size, or its polygons as points."""
    try:
        if region.kind == "polygon":
            return [_raster.polygon_points(part) for part in region.mask or ()]
        if isinstance(region.mask, Mapping):
            return decode_rle(region.mask)
    except ValueError as error:
        raise InputError(f"region {region.index} ({region.label!r}): {error}") from error
    return np.asarray(region.mask, np.bool_)


def _ring(box: Rect) -> NDArray[np.float64]:
    """Return 64 points around the disc in a box."""
    x, y, rx, ry = _disc(box)
    turn = np.arange(64) * np.pi / 32
    return np.stack([x + rx * np.cos(turn), y + ry * np.sin(turn)], axis=1)


def _disc(box: Rect) -> Rect:
    """Return centre and radii of the disc in a box; those of a mere point are next to nothing."""
    x0, y0, x1, y1 = box
    return (x0 + x1) / 2, (y0 + y1) / 2, max((x1 - x0) / 2, NEAR), max((y1 - y0) / 2, NEAR)


def _box_shares(box: Rect, size: Size) -> NDArray[np.float64]:
    """Return the share of each cell that a box covers, `(rows, columns)`."""
    parts = []
    for axis in (1, 0):  # rows, then columns
        low, high = (box[axis + end] * size[axis] for end in (0, 2))
        start = np.arange(size[axis])
        parts.append(np.clip(np.minimum(start + 1, high) - np.maximum(start, low), 0, 1))
    shares: NDArray[np.float64] = parts[0][:, None] * parts[1]
    return shares


def _covered(mask: NDArray[Any], geometry: Geometry) -> NDArray[np.float64]:
    """Return the share of each pixel of the input that a mask over the image covers."""
    for axis in (1, 0):  # rows, then columns
        cell = geometry.scale[axis] * geometry.source[axis] / len(mask)  # in pixels of the input
        edges = np.arange(geometry.size[axis] + 1.0)
        edges = np.clip(edges, geometry.content[axis], geometry.content[axis + 2])
        mask = sum_between(mask, (edges - geometry.offset[axis]) / cell).T * abs(cell)
    return mask
