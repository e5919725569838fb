"""Boxes of many images as columns: what the matching reads.

Row i of every column tells of the same box. Images and classes are named by integers or by
strings. Results never depend on the order of images: the canonical order is that of the image
ids, within an image that of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import shape_of, to_numpy
from sightline.detection.masks import mask_areas, read_mask

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = [
    "Detections",
    "GroundTruth",
    "Picture",
    "Pixel",
    "Rle",
    "as_extents",
    "box_areas",
    "same_kind",
]

Rle = dict[str, Any]
"""A mask as pycocotools writes it: its `size` (height, width) and its `counts`."""

Pixel = Literal["continuous", "inclusive"]
"""Whether a width is the distance of two edges, or of a first and a last pixel, one less."""


class Picture(NamedTuple):
    """The file of an image, and its sides in pixels; None where they are not known.

    Where a data set calls an image otherwise than its file, `file` is the path of that in it.

    Examples
    --------
    >>> from sightline.detection import Picture
    >>> Picture("a.jpg", 640, 480)
    Picture(name='a.jpg', width=640, height=480, file=None)
    """

    name: str
    width: int | None = None
    height: int | None = None
    file: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class GroundTruth:
    """The annotated boxes of a data set; make it with `from_arrays`.

    Attributes
    ----------
    image, label : array of shape (N,)
        The ids of the image and of the class, integers or strings.
    box : array of shape (N, 4)
        Left edge, upper edge, width, height in pixels.
    area : array of shape (N,)
        What decides about the size range: the area of the object.
    crowd : array of bool, shape (N,)
        Whether the box holds a crowd: any number of detections may match it, none of them counts.
    ids : array of shape (N,)
        Different integers, any of them, 0 too.
    difficult : array of bool, shape (N,)
        Whether the object need not be found by the protocol of Pascal VOC; others do not ask.
    masks : tuple of dict, optional
        Run lengths of each object; then these overlap, not the boxes.
    images, classes : array, optional
        All ids there are, sorted, those without boxes too. Without them, all that ground truth
        and detections name are known.
    names : mapping
        What classes are called, where that is known.
    pixel : {"continuous", "inclusive"}, optional
        How widths and heights are written, where that is known.
    pictures : mapping
        Of each id of an image its `Picture`, where that is known.
    indexed_classes : bool
        Whether classes are places in a list of names, from 0 on, as in YOLO's label files; other
        files may number the same classes from 1, or as COCO does.
    class_places : mapping
        Of each place in that list its class, where classes are the names and not the places.

    Examples
    --------
    >>> from sightline.detection import GroundTruth
    >>> truth = GroundTruth.from_arrays(["a", "a"], [3, 5], [[0, 0, 4, 5], [1, 1, 2, 2]])
    >>> len(truth), truth.area.tolist(), truth.crowd.tolist()
    (2, [20.0, 4.0], [False, False])
    """

    image: NDArray[Any]
    label: NDArray[Any]
    box: NDArray[np.float64]
    area: NDArray[np.float64]
    crowd: NDArray[np.bool_]
    ids: NDArray[np.int64]
    difficult: NDArray[np.bool_]
    masks: tuple[Rle, ...] | None
    images: NDArray[Any] | None
    classes: NDArray[Any] | None
    names: Mapping[Any, str]
    pixel: Pixel | None
    pictures: Mapping[Any, Picture] = field(default_factory=dict)
    indexed_classes: bool = False
    class_places: Mapping[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.image)

    @classmethod
    def from_arrays(
        cls,
        image: Any,
        label: Any,
        box: Any,
        *,
        area: Any = None,
        crowd: Any = None,
        ids: Any = None,
        difficult: Any = None,
        masks: Sequence[Rle] | None = None,
        images: Any = None,
        classes: Any = None,
        names: Mapping[Any, str] | None = None,
        pixel: Pixel | None = None,
        pictures: Mapping[Any, Picture] | None = None,
    ) -> GroundTruth:
        """Check columns and put them together.

        Without `area` it is that of the mask, else of the box; without `crowd` or `difficult`
        there are none; without `ids` they count from 1.

        Examples
        --------
        >>> truth = GroundTruth.from_arrays([7, 7], ["cat", "dog"], [[0, 0, 4, 5], [2, 2, 8, 8]])
        >>> len(truth), truth.area.tolist(), truth.crowd.tolist()
        (2, [20.0, 64.0], [False, False])
        """
        what = "ground truth"
        boxes = _boxes(box, what)
        image_ids = _ids(image, "image", what, len(boxes))
        labels = _ids(label, "label", what, len(boxes))
        runs = _masks(masks, what, len(boxes))
        return cls(
            image_ids,
            labels,
            boxes,
            _areas(area, boxes, runs, what),
            _flags(crowd, "crowd", len(boxes)),
            _numbers(ids, len(boxes)),
            _flags(difficult, "difficult", len(boxes)),
            runs,
            _all_ids(images, image_ids, "image"),
            _all_ids(classes, labels, "label"),
            dict(names or {}),
            pixel,
            pictures if pictures is not None else {},
        )


@dataclass(frozen=True, slots=True, eq=False)
class Detections:
    """What a detector found; make it with `from_arrays`.

    Attributes
    ----------
    image, label, box, area, masks, pixel
        As in `GroundTruth`; the area is that of the mask, else of the box.
    score : array of shape (N,)
        The detector's confidence. Equal scores keep the canonical order.

    Examples
    --------
    >>> from sightline.detection import Detections
    >>> found = Detections.from_arrays(["a", "b"], [3, 5], [[0, 0, 4, 5], [1, 1, 2, 2]], [0.9, 0.2])
    >>> len(found), found.area.tolist(), len(found.of_classes([5]))
    (2, [20.0, 4.0], 1)
    """

    image: NDArray[Any]
    label: NDArray[Any]
    box: NDArray[np.float64]
    score: NDArray[np.float64]
    area: NDArray[np.float64]
    masks: tuple[Rle, ...] | None
    pixel: Pixel | None

    def __len__(self) -> int:
        return len(self.image)

    @classmethod
    def from_arrays(
        cls,
        image: Any,
        label: Any,
        box: Any,
        score: Any,
        *,
        area: Any = None,
        masks: Sequence[Rle] | None = None,
        pixel: Pixel | None = None,
    ) -> Detections:
        """Check columns and put them together.

        Examples
        --------
        >>> Detections.from_arrays([7], ["cat"], [[0, 0, 4, 5]], [0.9]).area.tolist()
        [20.0]
        >>> Detections.from_arrays([7], ["cat"], [[0, 0, -4, 5]], [0.9])
        Traceback (most recent call last):
        sightline.core.errors.InputError: detections: box must have a width and a height of at
        least 0; row 0 is [0.0, 0.0, -4.0, 5.0]
        """
        what = "detections"
        boxes = _boxes(box, what)
        runs = _masks(masks, what, len(boxes))
        return cls(
            _ids(image, "image", what, len(boxes)),
            _ids(label, "label", what, len(boxes)),
            boxes,
            _finite(score, "score", what, len(boxes)),
            _areas(area, boxes, runs, what),
            runs,
            pixel,
        )

    def of_classes(self, known: NDArray[Any] | None) -> Detections:
        """Return those of the given classes; None stands for all.

        Examples
        --------
        >>> boxes = [[0, 0, 4, 5], [0, 0, 2, 2]]
        >>> found = Detections.from_arrays([7, 7], ["cat", "dog"], boxes, [0.9, 0.8])
        >>> found.of_classes(np.array(["cat"])).score.tolist()
        [0.9]
        """
        if known is None or not len(self):
            return self
        kept = np.isin(self.label, known)
        return self if kept.all() else self.at(kept)

    def at(self, rows: NDArray[Any]) -> Detections:
        """Return the given rows.

        Examples
        --------
        >>> boxes = [[0, 0, 4, 5], [0, 0, 2, 2]]
        >>> found = Detections.from_arrays([7, 7], ["cat", "dog"], boxes, [0.9, 0.8])
        >>> found.at([1]).label.tolist()
        ['dog']
        """
        places = np.arange(len(self))[rows]
        masks = None if self.masks is None else tuple(self.masks[place] for place in places)
        return Detections(
            self.image[places],
            self.label[places],
            self.box[places],
            self.score[places],
            self.area[places],
            masks,
            self.pixel,
        )


_Columns = TypeVar("_Columns", GroundTruth, Detections)


def as_extents(side: _Columns, pixel: Pixel) -> _Columns:
    """Return boxes whose widths are distances of edges; areas of boxes follow them."""
    if pixel == "continuous":
        return side
    box = side.box + np.array([0.0, 0.0, 1.0, 1.0])
    of_box = side.area == box_areas(side.box)
    if side.masks is not None:
        of_box[:] = False
    return replace(side, box=box, area=np.where(of_box, box_areas(box), side.area))


def box_areas(box: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return width times height; what is beyond the floats is infinite.

    >>> box_areas(np.array([[0, 0, 2, 3], [0, 0, 1e200, 1e200]])).tolist()
    [6.0, inf]
    """
    with np.errstate(over="ignore"):
        return box[:, 2] * box[:, 3]


def _boxes(values: Any, what: str) -> NDArray[np.float64]:
    """Return boxes (N, 4) with finite numbers and sides of at least 0."""
    boxes = _floats(values, "box", what)
    if boxes.size == 0:
        boxes = boxes.reshape(0, 4)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise InputError(
            f"{what}: box must have the shape (N, 4): x, y, width, height; "
            f"got {shape_of(boxes.shape)}"
        )
    _refuse(~np.isfinite(boxes).all(axis=1), boxes, f"{what}: box must be finite")
    negative = (boxes[:, 2:] < 0).any(axis=1)
    _refuse(negative, boxes, f"{what}: box must have a width and a height of at least 0")
    return boxes


def _floats(values: Any, name: str, what: str) -> NDArray[np.float64]:
    """Return a float64 array of our own reading, whatever arrays came."""
    try:
        column = to_numpy(values)
        if column.dtype.kind in "iufbO":
            return np.ascontiguousarray(column, np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise InputError(f"{what}: {name} must be numbers; {error}") from None
    raise InputError(f"{what}: {name} must be numbers; got {column.dtype}")


def _refuse(wrong: Any, values: NDArray[Any], message: str) -> None:
    """Raise with the first wrong row, if there is one."""
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InputError(f"{message}; row {row} is {values[row : row + 1].tolist()[0]!r}")


def _column(values: NDArray[Any], name: str, what: str, count: int) -> None:
    """Refuse a column that does not have one value for each box."""
    if values.shape != (count,):
        raise InputError(
            f"{what}: {name} must have one value for each of {count} boxes; "
            f"got the shape {shape_of(values.shape)}"
        )


def _finite(values: Any, name: str, what: str, count: int) -> NDArray[np.float64]:
    """Return a column of finite numbers."""
    column = _floats(values, name, what)
    _column(column, name, what, count)
    _refuse(~np.isfinite(column), column, f"{what}: {name} must be finite")
    return column


def _ids(values: Any, name: str, what: str, count: int) -> NDArray[Any]:
    """Return a column of integers (int64) or of strings."""
    column = to_numpy(values)
    if column.size == 0:
        column = column.astype(np.int64)
    if column.dtype.kind == "O" and all(isinstance(value, str) for value in column.flat):
        column = column.astype(np.str_)
    if column.dtype.kind not in "iuU":
        raise InputError(f"{what}: {name} must be integers or strings; got {column.dtype}")
    _column(column, name, what, count)
    if column.dtype.kind == "u":
        _refuse(column > np.iinfo(np.int64).max, column, f"{what}: {name} must be below 2^63")
    return column if column.dtype.kind == "U" else np.ascontiguousarray(column, np.int64)


def _all_ids(known: Any, used: NDArray[Any], name: str) -> NDArray[Any] | None:
    """Return the sorted ids there are, if given, and refuse boxes that name another."""
    if known is None:
        return None
    every = to_numpy(known)
    every = np.unique(_ids(every, f"{name}s", "ground truth", every.size))
    if len(used):
        same_kind(every, used, name)
        _refuse(~np.isin(used, every), used, f"ground truth: {name} must be one of those given")
    return every


def same_kind(known: NDArray[Any], used: NDArray[Any], name: str) -> None:
    """Refuse integers beside strings: 7 and "7" would never meet."""
    if len(known) and len(used) and known.dtype.kind != used.dtype.kind:
        raise InputError(
            f"{name} must be integers everywhere or strings everywhere; "
            f"got {known[0].item()!r} and {used[0].item()!r}"
        )


def _flags(values: Any, name: str, count: int) -> NDArray[np.bool_]:
    """Return a column of flags, none of them set unless given."""
    if values is None:
        return np.zeros(count, np.bool_)
    column = to_numpy(values)
    _column(column, name, "ground truth", count)
    _refuse((column != 0) & (column != 1), column, f"ground truth: {name} must be 0 or 1")
    return np.asarray(column, np.bool_)


def _numbers(values: Any, count: int) -> NDArray[np.int64]:
    """Return the ids of the annotations, all different."""
    if values is None:
        return np.arange(1, count + 1)
    column = _ids(values, "ids", "ground truth", count)
    if column.dtype.kind == "U":
        raise InputError(f"ground truth: ids must be integers; got {column[0].item()!r}")
    _, first = np.unique(column, return_index=True)
    twice = np.ones(count, np.bool_)
    twice[first] = False
    _refuse(twice, column, "ground truth: ids must be different")
    return column


def _areas(
    values: Any, boxes: NDArray[np.float64], masks: tuple[Rle, ...] | None, what: str
) -> NDArray[np.float64]:
    """Return the areas given, else those of the masks, else those of the boxes."""
    if values is None:
        return box_areas(boxes) if masks is None else mask_areas(masks)
    areas = _finite(values, "area", what, len(boxes))
    _refuse(areas < 0, areas, f"{what}: area must be at least 0")
    return areas


def _masks(values: Sequence[Rle] | None, what: str, count: int) -> tuple[Rle, ...] | None:
    """Return run lengths, one for each box."""
    if values is None:
        return None
    if len(values) != count:
        raise InputError(
            f"{what}: masks must have one for each of {count} boxes; got {len(values)}"
        )
    found = []
    for row, value in enumerate(values):
        try:
            found.append(read_mask(value))
        except InputError as error:
            raise InputError(f"{what}: masks: row {row} {error}") from None
    return tuple(found)
