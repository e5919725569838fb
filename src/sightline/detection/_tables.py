"""Predictions and ground truths in any of their forms, as columns with numbered images and labels.

The forms: one list an image, a mapping from image id to list, flat lists with `images`, or records
with the columns `image`, `label`, `box` (x, y, width, height) and `score`, and perhaps `area`,
`crowd`, `difficult`, `masks`, `images`, `classes` and `pixel`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import shape_of, to_numpy
from sightline.core.checks import check_choice
from sightline.detection._entries import check_form, to_xywh
from sightline.detection._items import (
    check_ids,
    check_numbers,
    check_one_kind,
    plain,
    read_items,
)
from sightline.detection._options import check_number
from sightline.detection.columns import Pixel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sightline.detection._entries import BoxForm

__all__ = [
    "Objects",
    "Pixel",
    "Scene",
    "by_score",
    "read_scene",
]


@dataclass(frozen=True)
class Objects:
    """Boxes of a data set, one row each, in the order they were given.

    `low` and `high` are corners ``(n, 2)``; `extent` is the area of the box and `area` that of the
    object, where one was given. `skip` marks crowds and difficult objects, `crowd` the former.
    `mask` has run lengths.
    """

    image: NDArray[np.intp]
    label: NDArray[np.intp]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    extent: NDArray[np.float64]
    score: NDArray[np.float64]
    area: NDArray[np.float64]
    skip: NDArray[np.bool_]
    crowd: NDArray[np.bool_]
    mask: NDArray[np.object_] | None = None

    def __len__(self) -> int:
        return len(self.image)

    def at(self, rows: NDArray[Any]) -> Objects:
        """Return the given rows."""
        columns = {name: column for name, column in vars(self).items() if column is not None}
        return replace(self, **{name: column[rows] for name, column in columns.items()})


class Scene(NamedTuple):
    """What was found and what is true; codes of images and labels index into their tuples.

    `more` is what each width and height counts beyond the distance of its corners.
    """

    found: Objects
    true: Objects
    images: tuple[Any, ...]
    labels: tuple[Any, ...]
    more: float = 0.0


class _Rows(NamedTuple):
    """Columns before images and labels are numbered; boxes are corner and size, or two corners."""

    image: Any
    label: Any
    box: NDArray[np.float64]
    score: NDArray[np.float64]
    skip: NDArray[np.bool_]
    crowd: NDArray[np.bool_]
    sized: bool
    more: float
    area: NDArray[np.float64] | None = None
    mask: NDArray[np.object_] | None = None
    images: NDArray[Any] | None = None
    classes: NDArray[Any] | None = None


def by_score(score: NDArray[np.float64], image: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return rows from the highest score down; ties by image, then as given."""
    if (image[1:] >= image[:-1]).all():
        return np.argsort(-score, kind="stable")
    return np.lexsort((image, -score))


def read_scene(
    predictions: Any,
    ground_truths: Any,
    /,
    *,
    images: tuple[Iterable[Any], Iterable[Any]] | None = None,
    areas: Any = None,
    box_format: BoxForm = "xyxy",
    pixel: Pixel | None = None,
    otherwise: Pixel = "continuous",
) -> Scene:
    """Return both sides as columns, with common numbers for images and labels, in sorted order.

    Widths count as `pixel` says, else as the records say, else as `otherwise` says.

    >>> scene = read_scene([[[(0, 0, 2, 2), 0.9, "cat"]], []], [[], [[(0, 0, 2, 2), "dog"]]])
    >>> scene.labels, scene.found.image.tolist(), scene.true.label.tolist()
    (('cat', 'dog'), [0], [1])
    """
    check_form(box_format)
    flat = images is not None
    sides = _listed(predictions, flat), _listed(ground_truths, flat)
    _check_alike(*sides, flat)
    ids = (None, None) if images is None else _two(images)
    found = _rows(sides[0], "prediction", ids[0], box_format)
    true = _rows(sides[1], "ground truth", ids[1], box_format)
    more = _more(sides, pixel, otherwise)
    scene = _scene(found._replace(more=more[0]), true._replace(more=more[1]))
    if areas is None:
        return scene
    given = _areas(areas, sides[1], len(true.box))
    return scene._replace(true=replace(scene.true, area=given))


def _more(sides: Sequence[Any], pixel: Pixel | None, otherwise: Pixel) -> list[float]:
    """Return what the widths of each side count beyond the distance of their ends.

    A side that does not tell is taken to be as the other.
    """
    told = [pixel or getattr(side, "pixel", None) for side in sides]
    for each in told:
        check_choice("pixel", each or otherwise, ("continuous", "inclusive"))
    both = [told[0] or told[1] or otherwise, told[1] or told[0] or otherwise]
    return [1.0 if each == "inclusive" else 0.0 for each in both]


def _scene(found: _Rows, true: _Rows) -> Scene:
    """Number images and labels."""
    images, (place, where) = _codes("image", found.image, true.image)
    _check_images(found, true)
    labels, (label, kind, _) = _codes("class id", found.label, true.label, true.classes)
    common = min(found.more, true.more)
    return Scene(
        _objects(found, place, label, common), _objects(true, where, kind, common),
        images, labels, common,
    )  # fmt: skip


def _check_images(found: _Rows, true: _Rows) -> None:
    """Raise where predictions name an image that the ground truth does not list."""
    if true.images is None or not len(found.image):
        return
    known = np.asarray(true.images)
    check_one_kind("image", [known[0].item()] if len(known) else [], [found.image[0].item()])
    strange = ~np.isin(found.image, known)
    if strange.any():
        row = int(np.argmax(strange))
        raise InputError(
            "the image of each prediction must be one that the ground truth lists; "
            f"got {found.image[row].item()!r} in row {row}"
        )


def _listed(side: Any, flat: bool) -> Any:
    """Return lists where iterators were given; records stay what they are."""
    if _is_record(side):
        return side
    if isinstance(side, Mapping):
        return {plain(key): _list(entry, key) for key, entry in side.items()}
    if not isinstance(side, Iterable) or isinstance(side, str | bytes):
        raise InputError(
            f"boxes must be lists, a mapping by image id, or columns; got {type(side).__name__}"
        )
    return list(side) if flat else [_list(entry, i) for i, entry in enumerate(side)]


def _list(entry: Any, image: Any) -> list[Any]:
    if not isinstance(entry, Iterable) or isinstance(entry, str | bytes):
        raise InputError(f"image {image!r} must have a list of boxes; got {entry!r}")
    return list(entry)


def _two(images: Any) -> tuple[Any, Any]:
    if not isinstance(images, list | tuple) or len(images) != 2:
        raise InputError(
            "images must be two lists, of the predictions' and of the ground truths' images; "
            f"got {images!r}"
        )
    return images[0], images[1]


def _check_alike(predictions: Any, ground_truths: Any, flat: bool) -> None:
    """Raise where nothing says which predictions and ground truths belong together."""
    kinds = [_kind(side) for side in (predictions, ground_truths)]
    if kinds[0] != kinds[1]:
        raise InputError(
            f"predictions and ground_truths must have the same form; got {kinds[0]} and {kinds[1]}"
        )
    if flat and kinds[0] != "lists":
        raise InputError(f"images go with flat lists; got {kinds[0]}, which names its own")
    if kinds[0] == "lists" and not flat and len(predictions) != len(ground_truths):
        sizes = f"{len(predictions)} and {len(ground_truths)}"
        raise InputError(
            "predictions and ground_truths must have one list an image each, or come with images=; "
            f"got {sizes}"
        )


def _kind(side: Any) -> str:
    if _is_record(side):
        return "columns"
    return "a mapping" if isinstance(side, Mapping) else "lists"


def _is_record(side: Any) -> bool:
    return all(hasattr(side, name) for name in ("image", "label", "box"))


def _rows(side: Any, what: str, ids: Iterable[Any] | None, box_format: BoxForm) -> _Rows:
    if _is_record(side):
        return _from_record(side, what)
    items, image = _flat(side, what, ids)
    read = read_items(items, image, what, form=box_format)
    crowd, sized = np.zeros(len(items), np.bool_), box_format != "xyxy"
    box = to_xywh(read.box, box_format) if sized else read.box
    return _Rows(image, read.label, box, read.score, read.flag, crowd, sized, 0.0)


def _flat(side: Any, what: str, ids: Iterable[Any] | None) -> tuple[list[Any], list[Any]]:
    """Return all items, and the image of each."""
    if ids is not None:
        image = [plain(value) for value in ids]
        if len(image) != len(side):
            raise InputError(
                f"images must name one for each of {len(side)} {what}s; got {len(image)}"
            )
        return list(side), image
    entries = list(side.items() if isinstance(side, Mapping) else enumerate(side))
    items = [item for _, entry in entries for item in entry]
    return items, [key for key, entry in entries for _ in entry]


def _from_record(side: Any, what: str) -> _Rows:
    """Read columns; those of `GroundTruth` and `Detections` were checked when they were made."""
    box = _numbers(side.box, "box", what, np.float64)
    box = box.reshape(0, 4) if not box.size else box
    if box.ndim != 2 or box.shape[1] != 4:
        raise InputError(
            f"the boxes of {what}s must have the shape (N, 4): x, y, width, height; "
            f"got {shape_of(box.shape)}"
        )
    kinds: dict[str, Any] = {"image": None, "label": None, "score": np.float64, "area": np.float64}
    kinds |= {"crowd": np.bool_, "difficult": np.bool_}
    found = {name: _column(side, name, what, kind, len(box)) for name, kind in kinds.items()}
    if found["score"] is None and what == "prediction":
        raise InputError("columns of predictions must have a score for each box; got none")
    none = np.zeros(len(box))
    score = none if found["score"] is None else found["score"]
    crowd, difficult = (none > 0 if found[k] is None else found[k] for k in ("crowd", "difficult"))
    check_numbers(box, score, what, found["image"], form="xywh")
    return _Rows(
        found["image"], found["label"], box, score, crowd | difficult, crowd, True, 0.0,
        found["area"], _masks(getattr(side, "masks", None)),
        *(getattr(side, name, None) for name in ("images", "classes")),
    )  # fmt: skip


def _column(side: Any, name: str, what: str, kind: Any, count: int) -> Any:
    """Return a column of as many values as there are boxes, None if there is none."""
    values = getattr(side, name, None)
    if values is None:
        return None
    column = _numbers(values, name, what, kind)
    if column.shape != (count,):
        raise InputError(
            f"columns of {what}s must have one {name} for each of {count} boxes; "
            f"got {shape_of(column.shape)}"
        )
    return column


def _numbers(values: Any, name: str, what: str, kind: Any) -> NDArray[Any]:
    try:
        return np.asarray(to_numpy(values), kind)
    except (TypeError, ValueError) as error:
        raise InputError(f"the {name} of {what}s must be numbers; {error}") from None


def _masks(given: Sequence[Any] | None) -> NDArray[np.object_] | None:
    if given is None:
        return None
    column = np.empty(len(given), object)
    column[:] = list(given)
    return column


def _areas(areas: Any, ground_truths: Any, n: int) -> NDArray[np.float64]:
    """Flatten areas that are given as the ground truths are, or in one list."""
    flat = _flat_areas(areas, ground_truths)
    found = np.array([check_number("gt_areas", value) for value in flat], np.float64)
    if len(found) != n:
        raise InputError(f"gt_areas must have one area for each of {n} objects; got {len(found)}")
    wrong = ~(np.isfinite(found) & (found >= 0))
    if wrong.any():
        raise InputError(f"gt_areas must be finite and at least 0; got {found[wrong][0].item()}")
    return found


def _flat_areas(areas: Any, ground_truths: Any) -> list[Any]:
    keyed = isinstance(ground_truths, Mapping)
    if keyed != isinstance(areas, Mapping) or not isinstance(areas, Iterable):
        form = "a mapping by image id" if keyed else "lists"
        raise InputError(f"gt_areas must be {form}, as the ground truths are; got {areas!r}")
    if isinstance(areas, Mapping):
        parts = {key: _list(areas.get(key, ()), key) for key in ground_truths}
        return _joined(parts, ground_truths)
    entries = list(areas)
    if not any(np.ndim(entry) for entry in entries):
        return entries
    if _is_record(ground_truths) or len(entries) != len(ground_truths):
        raise InputError(f"gt_areas must be lists as the ground truths are; got {len(entries)}")
    parts = {i: _list(entry, i) for i, entry in enumerate(entries)}
    return _joined(parts, dict(enumerate(ground_truths)))


def _joined(parts: Mapping[Any, list[Any]], ground_truths: Mapping[Any, Any]) -> list[Any]:
    """Join the areas of all images; raise where one has not as many as objects."""
    for key, part in parts.items():
        if len(part) != len(ground_truths[key]):
            raise InputError(
                f"gt_areas must have one area for each of {len(ground_truths[key])} objects "
                f"in image {key!r}; got {len(part)}"
            )
    return [value for part in parts.values() for value in part]


def _codes(name: str, *sides: Any) -> tuple[tuple[Any, ...], list[NDArray[np.intp]]]:
    """Number the distinct values of all sides in sorted order."""
    given = [() if side is None else side for side in sides]
    kinds = {side.dtype.kind if isinstance(side, np.ndarray) else "" for side in given if len(side)}
    if kinds in ({"i"}, {"U"}):
        names, codes = np.unique(
            np.concatenate([side for side in given if len(side)]), return_inverse=True
        )
        known, every = tuple(names.tolist()), codes.astype(np.intp)
    else:
        values = [plain(value) for side in given for value in side]
        check_ids(name, values)
        known = tuple(sorted(set(values)))
        number = {value: i for i, value in enumerate(known)}
        every = np.array([number[value] for value in values], np.intp)
    return known, np.split(every, np.cumsum([len(side) for side in given])[:-1])


def _objects(
    rows: _Rows, image: NDArray[np.intp], label: NDArray[np.intp], common: float
) -> Objects:
    """Return corners, which all lie `common` closer than widths count, and what follows."""
    low, given = rows.box[:, :2], rows.box[:, 2:]
    side = given if rows.sized else given - low
    high = (low + given if rows.sized else given) + (rows.more - common)
    reach = high - low + common  # as overlaps are computed, so that a box overlaps itself by all
    area, counted = side[:, 0] * side[:, 1], (side[:, 0] + rows.more) * (side[:, 1] + rows.more)
    own = counted if rows.area is None else rows.area
    if rows.mask is None:  # an area that is that of the box follows what the box counts
        own = np.where(own == area, counted, own)
    return Objects(
        image=image,
        label=label,
        low=low,
        high=high,
        extent=reach[:, 0] * reach[:, 1],
        score=rows.score,
        area=own,
        skip=rows.skip,
        crowd=rows.crowd,
        mask=rows.mask,
    )
