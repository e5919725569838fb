"""The regions of a batch of maps as flat columns of pixel boxes and packed masks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import Annotation, InputError
from sightline.core.arrays import shape_of, to_numpy
from sightline.core.raster import mask_pixels
from sightline.metrics.fixations import ADVICE, is_made_of_points

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from sightline.core import Region

__all__ = ["RegionTable", "alike"]


@dataclass(frozen=True, slots=True)
class RegionTable:
    """Regions in pixels: half-open boxes, and the pixels of those that are not whole boxes.

    Attributes
    ----------
    spans : (maps, 2) first region of each map and where its regions stop
    boxes : (regions, 4) x0, y0, x1, y1
    offsets : (regions + 1,) into `masks`; a region without bytes there is its whole box
    masks : eight pixels a byte, as `numpy.packbits` has them, each region from a byte of its own
    labels : one per region, "" where there is none
    numbers : (regions,) the region's number in its annotation
    ignored : (maps, height, width) pixels that annotations say to ignore, None without any
    point : the first region that is a point without extent, "" without any
    """

    spans: NDArray[np.int64]
    boxes: NDArray[np.int64]
    offsets: NDArray[np.int64]
    masks: NDArray[np.uint8]
    labels: tuple[str, ...]
    numbers: NDArray[np.int32]
    ignored: NDArray[np.bool_] | None = None
    point: str = ""

    @classmethod
    def build(
        cls, regions: Sequence[Any] | Annotation, lead: tuple[int, ...], height: int, width: int
    ) -> RegionTable:
        """Read the `regions` argument of `score_maps` for maps of the leading shape `lead`.

        An entry serves one map, all maps of one index of the first axis, or all there are. Each is
        drawn once.
        """
        if isinstance(regions, Annotation):
            raise InputError(
                "regions must be a list with an entry for each map, or one for all; "
                f"put the annotation of {regions.image_id!r} in a list: regions=[annotation]"
            )
        each = _maps_per_entry(len(regions), lead)
        if all(map(_is_boxes, regions)):
            return cls._of_boxes(regions, each, height, width)
        entries = [_entry(entry, i) for i, entry in enumerate(regions)]
        sizes = [len(entry.shapes) for entry in entries]
        stops = np.cumsum(sizes, dtype=np.int64)
        spans = np.stack([stops - sizes, stops], axis=1)
        boxes, masks = _pixels(entries, height, width)
        lengths = np.fromiter((mask.size for mask in masks), np.int64, len(masks))
        return cls(
            np.repeat(spans, each, axis=0),
            boxes,
            np.concatenate([[0], np.cumsum(lengths)]),
            np.concatenate([_WHOLE, *(mask for mask in masks if mask.size)]),
            tuple(label for entry in entries for label in entry.labels),
            np.array([number for entry in entries for number in entry.numbers], np.int32),
            _ignored(regions, each, height, width),
            _first_point(regions),
        )

    @classmethod
    def _of_boxes(
        cls, regions: Sequence[NDArray[Any]], each: int, height: int, width: int
    ) -> RegionTable:
        """Read boxes alone, which may be a hundred thousand, without a look at each."""
        sizes = np.array([len(entry) for entry in regions], np.int64)
        stops = np.cumsum(sizes)
        count = int(stops[-1])

        def entries() -> list[_Entry]:
            return [_entry(entry, i) for i, entry in enumerate(regions)]

        boxes = _boxes(
            np.concatenate(regions).astype(np.float64, copy=False), entries, height, width
        )
        return cls(
            np.repeat(np.stack([stops - sizes, stops], axis=1), each, axis=0),
            boxes,
            np.zeros(count + 1, np.int64),
            _WHOLE,
            ("",) * count,
            (np.arange(count) - np.repeat(stops - sizes, sizes)).astype(np.int32),
        )

    def rows(
        self, start: int = 0, stop: int | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return for every pair of map and region the map and the position of the region.

        With `start` and `stop`, those of some of the maps alone.
        """
        spans = self.spans[start:stop]
        sizes = spans[:, 1] - spans[:, 0]
        first = spans[:, 0] - (np.cumsum(sizes) - sizes)
        owner = np.repeat(np.arange(start, start + len(sizes)), sizes)
        return owner, np.arange(len(owner)) + np.repeat(first, sizes)

    def kept(self, index: int, keep: NDArray[np.bool_], maps: int) -> RegionTable:
        """Return the regions of one map over its kept pixels, which are laid out in one row.

        The table is one for a number of maps that have the same regions and the same kept pixels.
        """
        masks = [self.mask(region, *keep.shape)[keep] for region in range(*self.spans[index])]
        if not keep.any():  # a map without pixels is measured as a single one outside
            masks = [np.zeros(1, np.bool_) for _ in masks]
        size = 1, max(int(keep.sum()), 1)
        return RegionTable.build([[mask[None] for mask in masks]], (maps,), *size)

    def mask(self, region: int, height: int, width: int) -> NDArray[np.bool_]:
        """Return one region as a mask."""
        x0, y0, x1, y1 = self.boxes[region]
        packed = self.masks[self.offsets[region] : self.offsets[region + 1]]
        out = np.zeros((height, width), bool)
        out[y0:y1, x0:x1] = _unpacked(packed, y1 - y0, x1 - x0) if packed.size else True
        return out

    def refuse_points(self, height: int, width: int) -> None:
        """Raise for a region that is a point, or a mask made of points."""
        masks = np.flatnonzero(np.diff(self.offsets)).tolist()
        made = (k for k in masks if is_made_of_points(self.mask(k, height, width)))
        point = self.point or next((f"region {k}" for k in made), "")
        if point:
            raise InputError(f"{point} is a point or a mask made of points, not an area. {ADVICE}")

    def union(self, height: int, width: int) -> NDArray[np.bool_]:
        """Return the union of each map's regions, `(maps, height, width)`."""
        out = np.zeros((len(self.spans), height, width), bool)
        for same in alike(self.spans):
            for region in range(*self.spans[same.start]):
                out[same] |= self.mask(region, height, width)
        return out


def alike(*arrays: NDArray[Any] | None) -> list[slice]:
    """Return the runs of neighbouring items that are equal in each of the arrays."""
    given = [array for array in arrays if array is not None]
    count = len(given[0])
    changes = np.zeros(count - 1, np.bool_)
    for array in given:
        changes |= (array[1:] != array[:-1]).any(axis=tuple(range(1, array.ndim)))
    starts = [0, *(np.flatnonzero(changes) + 1).tolist(), count]
    return [slice(*pair) for pair in pairwise(starts)]


def _unpacked(packed: NDArray[np.uint8], rows: int, columns: int) -> NDArray[np.uint8]:
    """Return packed pixels, one a byte."""
    return np.unpackbits(packed, count=rows * columns).reshape(rows, columns)


class _Entry(NamedTuple):
    """The regions of one map: an (n, 4) array of boxes, or a list of boxes, masks, drawers."""

    shapes: NDArray[np.float64] | list[Any]
    labels: Sequence[str]
    numbers: Sequence[int]


_WHOLE: NDArray[np.uint8] = np.empty(0, np.uint8)


def _is_boxes(entry: Any) -> bool:
    """Say whether an entry is an array of boxes."""
    return (
        type(entry) is np.ndarray
        and entry.ndim == 2
        and entry.shape[1] == 4
        and entry.dtype != np.bool_
    )


def _entry(entry: Any, index: int) -> _Entry:
    """Read what was given for one map."""
    if isinstance(entry, Annotation):
        scored = entry.scored
        shapes = [_shape(region) for region in scored]
        labels = [region.label for region in scored]
        return _Entry(shapes, labels, [region.index for region in scored])
    array = to_numpy(entry) if hasattr(entry, "shape") else None
    if array is not None and _is_boxes(array):
        return _Entry(array.astype(np.float64), [""] * len(array), range(len(array)))
    if array is not None and array.ndim not in (3, 1):
        raise InputError(
            f"regions[{index}] must be boxes (n, 4), masks (n, H, W) or a list of either; "
            f"got shape {shape_of(array.shape)}"
        )
    shapes = [to_numpy(shape) for shape in entry]
    return _Entry(shapes, [""] * len(shapes), range(len(shapes)))


def _maps_per_entry(entries: int, lead: tuple[int, ...]) -> int:
    """Return how many maps each entry of `regions` serves."""
    maps, first = math.prod(lead), lead[0] if lead else 1
    if entries not in (1, first, maps):
        per_index = f", one per index of their first axis ({first})" if first != maps else ""
        raise InputError(
            f"regions must have one entry for all maps (1){per_index} "
            f"or one entry per map ({maps}); got {entries}"
        )
    return maps // entries


def _ignored(
    regions: Sequence[Any], each: int, height: int, width: int
) -> NDArray[np.bool_] | None:
    """Return what annotations say to ignore on each map."""
    if not any(isinstance(entry, Annotation) and entry.ignored for entry in regions):
        return None
    out = np.zeros((len(regions), height, width), np.bool_)
    for index, entry in enumerate(regions):
        if isinstance(entry, Annotation) and entry.ignored:
            out[index] = entry.ignore_mask(height, width)
    return np.repeat(out, each, axis=0)


def _first_point(regions: Sequence[Any]) -> str:
    """Return the name of the first region that is a point without extent; "" without any."""
    for entry in regions:
        for region in entry.scored if isinstance(entry, Annotation) else ():
            if region.kind == "point" and region.radius == 0:
                return f"region {region.index} of {entry.image_id!r}"
    return ""


def _shape(region: Region) -> Any:
    """Return a region's box, or a function that draws it at any size."""
    return np.array(region.box) if region.kind == "box" else region.to_mask


def _pixels(
    entries: Sequence[_Entry], height: int, width: int
) -> tuple[NDArray[np.int64], list[NDArray[np.uint8]]]:
    """Return every region's pixel box and, where it is not the whole box, its mask."""
    masks: dict[int, tuple[tuple[int, ...], NDArray[np.uint8]]] = {}
    parts, start = [], 0
    for i, entry in enumerate(entries):
        part = entry.shapes
        if isinstance(part, list):
            part = np.tile([0.0, 0.0, 1.0, 1.0], (len(entry.shapes), 1))
            for j, shape in enumerate(entry.shapes):
                if np.shape(shape) == (4,):
                    part[j] = shape
                else:
                    drawn = shape(height, width) if callable(shape) else shape
                    name = f"region {entry.numbers[j]} of regions[{i}]"
                    masks[start + j] = _from_mask(drawn, name, height, width)
        parts.append(part)
        start += len(part)
    boxes = _boxes(np.concatenate(parts), lambda: entries, height, width)
    for k, (box, _) in masks.items():
        boxes[k] = box
    return boxes, [masks[k][1] if k in masks else _WHOLE for k in range(start)]


def _boxes(
    boxes: NDArray[np.float64],
    entries: Callable[[], Sequence[_Entry]],
    height: int,
    width: int,
) -> NDArray[np.int64]:
    """Check boxes given as shares of the image and return their pixels."""
    from sightline.metrics import _kernels as kernels

    pixels = np.zeros(boxes.shape, np.int64)
    faults = np.empty(len(boxes), np.uint8)
    kernels.box_pixels(np.ascontiguousarray(boxes), height, width, pixels, faults)
    if faults.any():
        fault = int(faults[faults > 0].min())
        k = int(np.argmax(faults == fault))
        names = [(i, number) for i, entry in enumerate(entries()) for number in entry.numbers]
        place = "region {1} of regions[{0}]".format(*names[k])
        raise InputError(f"{place} {_FAULTS[fault]}: {tuple(boxes[k].tolist())}")
    return pixels


# By the numbers that `_kernels` has for them.
_FAULTS = (
    "is fine",
    "has a box that is not finite",
    "has box edges that are no shares of the image in [0, 1]",
    "must be a box (x0, y0, x1, y1) with x0 ≤ x1 and y0 ≤ y1",
    "lies wholly outside the image",
)


def _from_mask(
    mask: NDArray[Any], name: str, height: int, width: int
) -> tuple[tuple[int, int, int, int], NDArray[np.uint8]]:
    """Return the tight box of a mask and, if it is not the whole box, its packed pixels."""
    if mask.shape != (height, width):
        raise InputError(
            f"{name} must be a box (x0, y0, x1, y1) or a mask of the map's size "
            f"{shape_of((height, width))}; got shape {shape_of(mask.shape)}"
        )
    if mask.dtype != np.bool_ and np.any((mask != 0) & (mask != 1)):
        raise InputError(f"{name} must be a mask of 0 and 1; found {mask.max():g}")
    box = mask_pixels(mask)
    if box is None:
        return (0, 0, 0, 0), _WHOLE
    x0, y0, x1, y1 = box
    tight = mask[y0:y1, x0:x1]
    return box, _WHOLE if tight.all() else np.packbits(tight != 0)
