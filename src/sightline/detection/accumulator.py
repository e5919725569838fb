"""Results gathered batch by batch, in any order, in one process or in many."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.detection._entries import check_form, image_ids
from sightline.detection.columns import Detections, GroundTruth, same_kind
from sightline.detection.readers import as_ground_truth, as_tables, has_image_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from sightline.detection._entries import BoxForm
    from sightline.detection.columns import Rle
    from sightline.detection.results import DetectionResults

__all__ = ["DetectionAccumulator"]


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Both sides of some images, whose ids are all in `images`, sorted."""

    truth: GroundTruth
    found: Detections
    images: NDArray[Any]

    @property
    def size(self) -> int:
        """What its memory grows with."""
        return len(self.images) + len(self.truth) + len(self.found)


class DetectionAccumulator:
    """Gathers ground truth and detections of batches of images, and evaluates them together.

    The result has the same bits whatever the order of updates and merges: images are put in the
    order of their ids. Boxes are kept as columns. It can be pickled and sent to other processes.

    Parameters
    ----------
    box_format : {"xyxy", "xywh", "cxcywh"}
        How boxes in lists and dicts are written.
    masks : bool, optional
        Whether masks are compared, and not boxes; None compares those of columns, where both sides
        have them, and reads none from other forms.
    **options
        Those of `evaluate_detections`, checked by name: protocol, iou_thresholds, max_dets, …

    Examples
    --------
    >>> gathered = DetectionAccumulator(iou_thresholds=[0.5])
    >>> for image in ("b", "a"):
    ...     gathered.update({image: [[(0, 0, 4, 5), "cat"]]}, {image: [[(0, 0, 4, 4), 0.9, "cat"]]})
    >>> len(gathered)
    2
    >>> gathered.update({"a": []}, {"a": []})
    Traceback (most recent call last):
    sightline.core.errors.InputError: each image must be given once; image 'a' was given before
    """

    def __init__(
        self, *, box_format: BoxForm = "xyxy", masks: bool | None = None, **options: Any
    ) -> None:
        check_form(box_format)
        if not isinstance(masks, bool | None):
            raise InputError(f"masks must be True, False or None; got {masks!r}")
        self._box_format: BoxForm = box_format
        self._options = {**_full_options(options), "masks": masks}
        self._batches: list[_Batch] = []

    def __len__(self) -> int:
        """Return the number of images so far."""
        return sum(len(batch.images) for batch in self._batches)

    def __repr__(self) -> str:
        return f"<DetectionAccumulator: {len(self)} images>"

    def update(
        self, ground_truth: Any, detections: Any, *, images: Iterable[Any] | None = None
    ) -> None:
        """Add a batch of images, whole: no other batch may have one of them.

        Parameters
        ----------
        ground_truth, detections
            In any form that `evaluate_detections` takes. Detections in a list without ids are of
            the images of the ground truth, in its order.
        images : iterable, optional
            The ids of the images, where lists do not have them; of columns and mappings, all that
            there are, those without boxes too.

        Raises
        ------
        InputError
            If something does not fit, an image has no id or was given before. Then nothing is
            added.
        """
        ids = None if images is None else image_ids(images, "images")
        batch = _read(ground_truth, detections, ids, self._box_format, bool(self._options["masks"]))
        self._add(batch)

    def merge(self, other: DetectionAccumulator) -> None:
        """Add all images of another one, which stays as it is.

        Examples
        --------
        >>> first, second = DetectionAccumulator(), DetectionAccumulator()
        >>> first.update({1: []}, {1: []})
        >>> second.update({2: []}, {2: []})
        >>> first.merge(second)
        >>> len(first), len(second)
        (2, 1)
        """
        if not isinstance(other, DetectionAccumulator):
            raise InputError(f"other must be a DetectionAccumulator; got {type(other).__name__}")
        _check_same(self._options, other._options)
        before = list(self._batches)
        try:
            for batch in list(other._batches):
                self._add(batch)
        except InputError:
            self._batches = before
            raise

    def compute(self) -> DetectionResults:
        """Evaluate all images given so far; more may follow.

        Examples
        --------
        >>> gathered = DetectionAccumulator()
        >>> box = (0, 0, 40, 40)
        >>> gathered.update({"a": [[box, "cat"]]}, {"a": [[box, 0.9, "cat"]]})
        >>> round(gathered.compute().figures["AP"], 9)
        1.0
        """
        from sightline.detection.evaluate import evaluate_detections

        truth, found = self.tables()
        return evaluate_detections(truth, found, **self._options)

    def tables(self) -> tuple[GroundTruth, Detections]:
        """Return what was given as columns, in the order of image ids; boxes are numbered anew.

        Examples
        --------
        >>> gathered = DetectionAccumulator()
        >>> for image in (7, 3):
        ...     gathered.update({image: [[(0, 0, 4, 5), 1]]}, {image: []})
        >>> gathered.tables()[0].image.tolist()
        [3, 7]
        """
        if not self._batches:
            empty: list[Any] = []
            found = Detections.from_arrays(empty, empty, empty, empty)
            return GroundTruth.from_arrays(empty, empty, empty, images=empty), found
        batch = _join(self._batches)
        return batch.truth, batch.found

    def reset(self) -> None:
        """Forget all images; the options stay.

        Examples
        --------
        >>> gathered = DetectionAccumulator()
        >>> gathered.update({1: []}, {1: []})
        >>> gathered.reset()
        >>> len(gathered)
        0
        """
        self._batches = []

    def _add(self, batch: _Batch) -> None:
        """Add a batch; small ones are joined to larger ones, so that there are few."""
        if not len(batch.images):
            return
        for known in self._batches:
            _check_alike(known, batch)
        batches = [*self._batches, batch]
        while len(batches) > 1 and batches[-2].size <= 2 * batches[-1].size:
            batches[-2:] = [_join(batches[-2:])]
        self._batches = batches


def _full_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return all options, and refuse what cannot be evaluated before any image is given."""
    from sightline.detection.evaluate import check_intervals, check_options, evaluate_detections

    parameters = inspect.signature(evaluate_detections).parameters.values()
    # The images are those of each batch.
    known = {
        p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "images"
    }
    for name in options:
        if name not in known:
            raise InputError(f"options must be of {', '.join(known)}; got {name!r}")
    full = {name: options.get(name, value) for name, value in known.items()}
    for check in (check_options, check_intervals):
        check(**{name: full[name] for name in inspect.signature(check).parameters})
    del full["box_format"]  # boxes are read by then
    return full


def _check_same(options: dict[str, Any], others: dict[str, Any]) -> None:
    for name in sorted({*options, *others}):
        mine, theirs = options.get(name), others.get(name)
        if not np.array_equal(np.array(mine, object), np.array(theirs, object)):
            raise InputError(f"both must have the same {name}; got {mine!r} and {theirs!r}")


def _read(
    ground_truth: Any,
    detections: Any,
    ids: list[Any] | None,
    box_format: BoxForm,
    masks: bool,
) -> _Batch:
    """Return a batch whose images all have names."""
    if isinstance(ground_truth, Iterator):
        ground_truth = list(ground_truth)
    if not has_image_ids(ground_truth):
        if ids is None:
            raise InputError(
                "images must be named, since batches come in any order: by image_id in dicts, keys "
                "of a mapping, or images="
            )
    elif ids is not None:
        truth = as_ground_truth(ground_truth, box_format=box_format, masks=masks)
        ground_truth = _listing(truth, ids)
    truth, found = as_tables(
        ground_truth, detections, images=ids, box_format=box_format, masks=masks
    )
    if truth.images is not None:
        return _Batch(truth, found, truth.images)
    same_kind(truth.image, found.image, "image")
    return _Batch(truth, found, np.unique(_column([truth.image, found.image])))


def _listing(truth: GroundTruth, ids: list[Any]) -> GroundTruth:
    """Return the ground truth with all images of the batch, those without boxes too."""
    given = np.unique(np.array(ids)) if ids else np.zeros(0, np.int64)
    named = truth.image if truth.images is None else truth.images
    same_kind(given, named, "image")
    if extra := np.setdiff1d(named, given).tolist():
        raise InputError(f"images must name every image of the batch; {extra[0]!r} is not there")
    return replace(truth, images=given)


def _check_alike(known: _Batch, new: _Batch) -> None:
    """Refuse what cannot stand in one table."""
    same_kind(known.images, new.images, "image")
    place = np.minimum(np.searchsorted(known.images, new.images), len(known.images) - 1)
    again = known.images[place] == new.images
    if again.any():
        image = new.images[int(np.argmax(again))].item()
        raise InputError(f"each image must be given once; image {image!r} was given before")
    for what, mine, theirs in (
        ("ground truth", known.truth, new.truth),
        ("detections", known.found, new.found),
    ):
        same_kind(mine.label, theirs.label, f"class of the {what}")
        if mine.pixel != theirs.pixel:
            raise InputError(
                f"{what}: pixel must be the same in all batches; "
                f"got {mine.pixel!r} and {theirs.pixel!r}"
            )
        if len(mine) and len(theirs) and (mine.masks is None) != (theirs.masks is None):
            raise InputError(f"{what}: masks must be in all batches or in none")
    if known.truth.classes is not None and new.truth.classes is not None:
        same_kind(known.truth.classes, new.truth.classes, "class")
    for key in known.truth.names.keys() & new.truth.names.keys():
        pair = known.truth.names[key], new.truth.names[key]
        if pair[0] != pair[1]:
            raise InputError(
                f"names must be the same in all batches; class {key!r} is {pair[0]!r} and "
                f"{pair[1]!r}"
            )


def _join(batches: Sequence[_Batch]) -> _Batch:
    """Return one batch in the order of image ids; within an image rows stay in their order."""
    truths = [batch.truth for batch in batches]
    founds = [batch.found for batch in batches]
    images = np.sort(_column([batch.images for batch in batches]))
    truth = GroundTruth(
        **_joined(truths, "box", "area", "crowd", "difficult"),
        ids=np.arange(1, sum(map(len, truths)) + 1),
        images=images,
        classes=_classes(truths),
        names=dict(sorted(chain.from_iterable(side.names.items() for side in truths))),
        pictures=dict(chain.from_iterable(side.pictures.items() for side in truths)),
    )
    found = Detections(**_joined(founds, "box", "score", "area"))
    return _Batch(truth, found, images)


def _joined(sides: Sequence[GroundTruth | Detections], *names: str) -> dict[str, Any]:
    """Return what both kinds of sides have, and columns of numbers, in the order of image ids."""
    images = _column([side.image for side in sides])
    labels = _column([side.label for side in sides])
    order = np.argsort(images, kind="stable")
    numbers = {name: np.concatenate([getattr(side, name) for side in sides]) for name in names}
    return {
        "image": images[order],
        "label": labels[order],
        **{name: column[order] for name, column in numbers.items()},
        "masks": _runs(sides, order),
        "pixel": sides[0].pixel,
    }


def _column(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Join ids; those of an empty side may be of another kind."""
    filled = [part for part in parts if len(part)]
    return np.concatenate(filled) if filled else parts[0]


def _runs(sides: Sequence[GroundTruth | Detections], order: NDArray[np.intp]) -> Any:
    """Join masks, which all sides with rows have, or none."""
    if any(side.masks is None for side in sides if len(side)):
        return None
    if all(side.masks is None for side in sides):
        return None
    runs: list[Rle] = [run for side in sides for run in side.masks or ()]
    return tuple(runs[row] for row in order.tolist())


def _classes(truths: Sequence[GroundTruth]) -> NDArray[Any] | None:
    """Return all classes that are listed; None where some batch lists none."""
    listed = [truth.classes for truth in truths]
    if any(classes is None for classes in listed):
        return None
    return np.unique(_column([classes for classes in listed if classes is not None]))
