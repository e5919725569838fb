"""The confusion matrix of a detector: what is taken for what, missed, or made up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import divide
from sightline.core.checks import check_choice
from sightline.detection._items import check_ids, check_one_kind, plain
from sightline.detection._options import check_number, check_share
from sightline.detection._pairs import Pairs, close_pairs, skipped, take
from sightline.detection._tables import Scene, by_score, read_scene
from sightline.detection.ap import ClassCounts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from sightline.detection._entries import BoxForm
    from sightline.detection._tables import Pixel

__all__ = [
    "ClassCounts",
    "ConfusionMatrix",
    "ConfusionPairs",
    "Matching",
    "confusion_pairs",
    "generate_confusion_matrix",
]

Matching = Literal["any_class", "same_class"]
_DECIMALS = 9
"""Of an IoU: pairs that agree in these overlap alike."""


@dataclass(frozen=True, slots=True, eq=False)
class ConfusionMatrix:
    """Counts of true classes (rows) by predicted classes (columns); unpacks into the first two.

    Attributes
    ----------
    matrix
        ``(N + 2, N + 2)`` whole numbers. In the last row predictions without an object, in the last
        column objects without a prediction.
    class_labels
        The N target classes, "Others", "Background".
    others_confused
        Matches between two different classes of which neither is a target. They are not in the
        matrix, where they would look like correct ones.

    Examples
    --------
    >>> from sightline.detection import generate_confusion_matrix
    >>> box = (0, 0, 10, 10)
    >>> found = generate_confusion_matrix([[[box, 0.9, "cat"]]], [[[box, "dog"]]])
    >>> found.class_labels, found.matrix[1].tolist(), found.class_counts()[1].fn
    (['cat', 'dog', 'Others', 'Background'], [1, 0, 0, 0], 1)
    """

    matrix: NDArray[np.int64]
    class_labels: list[Any]
    others_confused: int = 0

    def __iter__(self) -> Iterator[Any]:
        return iter((self.matrix, self.class_labels))

    def normalised(self, over: Literal["true", "predicted", "all"] = "true") -> NDArray[np.float64]:
        """Return shares of each row (true), column (predicted) or of all; NaN over nothing."""
        check_choice("over", over, ("true", "predicted", "all"))
        axis = {"true": 1, "predicted": 0, "all": None}[over]
        table = self.matrix.astype(np.float64)
        shares = divide(table, np.asarray(table.sum(axis=axis, keepdims=True)))
        return np.asarray(shares, np.float64)

    def class_counts(self) -> tuple[ClassCounts, ...]:
        """Return the counts of each target class and of the others together."""
        hits = np.diag(self.matrix)[:-1]
        extra = np.zeros(len(hits), np.int64)
        extra[-1] = self.others_confused
        wrong = self.matrix.sum(axis=0)[:-1] - hits + extra
        missed = self.matrix.sum(axis=1)[:-1] - hits + extra
        columns = (hits.tolist(), wrong.tolist(), missed.tolist())
        return tuple(
            ClassCounts.of(label, *counts)
            for label, *counts in zip(self.class_labels[:-1], *columns, strict=True)
        )


class ConfusionPairs(NamedTuple):
    """What a confusion matrix counts, one by one: each pair is 1 in a cell.

    Attributes
    ----------
    found, true
        Rows of the predictions and of the ground truths as given; -1 where there is none: an
        object without a prediction, or a prediction without an object.

    Examples
    --------
    >>> from sightline.detection import confusion_pairs
    >>> box = (0, 0, 10, 10)
    >>> pairs = confusion_pairs([[[box, 0.9, "cat"]]], [[[box, "dog"]]])
    >>> pairs.found.tolist(), pairs.true.tolist()
    ([0], [0])
    """

    found: NDArray[np.intp]
    true: NDArray[np.intp]


def confusion_pairs(
    predictions: Any,
    ground_truths: Any,
    iou_threshold: float = 0.5,
    confidence_threshold: float = 0.25,
    *,
    matching: Matching = "any_class",
    pixel: Pixel | None = None,
) -> ConfusionPairs:
    """Return which prediction was taken for which object; see `generate_confusion_matrix`.

    Examples
    --------
    >>> box, far = (0, 0, 10, 10), (50, 50, 60, 60)
    >>> pairs = confusion_pairs([[[box, 0.9, "cat"]]], [[[box, "dog"], [far, "dog"]]])
    >>> pairs.found.tolist(), pairs.true.tolist()
    ([0, -1], [0, 1])
    """
    scene, rows, partner, judged = _prepared(
        lambda: read_scene(predictions, ground_truths, pixel=pixel),
        iou_threshold, confidence_threshold, matching,
    )  # fmt: skip
    hit, missed = _hit_and_missed(scene, partner)
    alone, lost = rows[judged & ~hit], np.flatnonzero(missed)
    return ConfusionPairs(
        np.concatenate([rows[hit], alone, np.full(len(lost), -1)]),
        np.concatenate([partner[hit], np.full(len(alone), -1), lost]),
    )


def generate_confusion_matrix(
    predictions: Any,
    ground_truths: Any,
    iou_threshold: float = 0.5,
    confidence_threshold: float = 0.25,
    target_classes: Sequence[Any] | None = None,
    *,
    matching: Matching = "any_class",
    images: tuple[Iterable[Any], Iterable[Any]] | None = None,
    box_format: BoxForm = "xyxy",
    pixel: Pixel | None = None,
) -> ConfusionMatrix:
    """Count what each object was taken for.

    Parameters
    ----------
    predictions, ground_truths, images, box_format, pixel
        A data set, in any form that `match_dataset` takes. Crowds and difficult objects are not
        counted. Nor are predictions without a match that overlap a difficult object, or whose box
        lies in a crowd to a share of `iou_threshold`; under "same_class" one of their own class.
    iou_threshold
        From which IoU on a prediction and an object belong together.
    confidence_threshold
        Predictions with a lower score are left out.
    target_classes
        Classes with a row of their own; all others share "Others". None takes all.
    matching
        "any_class": pairs are formed by IoU, whatever their classes; ties (to 9 decimals) go to
        pairs of the same class, then to the higher score, then to the first given. "same_class":
        from the most confident prediction down, each takes the free object of its own class that
        it overlaps most; confusions then show as one miss and one false positive.

    Returns
    -------
    ConfusionMatrix
        ``matrix, class_labels = generate_confusion_matrix(…)`` works too.

    Examples
    --------
    >>> box = (0, 0, 10, 10)
    >>> matrix, labels = generate_confusion_matrix([[[box, 0.9, "cat"]]], [[[box, "dog"]]])
    >>> labels
    ['cat', 'dog', 'Others', 'Background']
    >>> matrix[1].tolist()
    [1, 0, 0, 0]
    """
    scene, _, partner, judged = _prepared(
        lambda: read_scene(
            predictions, ground_truths, images=images, box_format=box_format, pixel=pixel
        ),
        iou_threshold, confidence_threshold, matching,
    )  # fmt: skip
    return _counted(scene, partner, judged, _targets(scene, target_classes))


class _Prepared(NamedTuple):
    """A scene with the predictions that are sure enough, their rows, and what `_matched` found."""

    scene: Scene
    rows: NDArray[np.intp]
    partner: NDArray[np.intp]
    judged: NDArray[np.bool_]


def _prepared(
    read: Callable[[], Scene],
    iou_threshold: float,
    confidence_threshold: float,
    matching: Matching,
) -> _Prepared:
    """Check the options, and only then read the boxes and match them."""
    check_choice("matching", matching, ("any_class", "same_class"))
    limit = check_share("iou_threshold", iou_threshold)
    least = check_number("confidence_threshold", confidence_threshold)
    scene = read()
    rows = np.flatnonzero(scene.found.score >= least)
    scene = scene._replace(found=scene.found.at(rows))
    return _Prepared(scene, rows, *_matched(scene, limit, matching))


def _targets(scene: Scene, given: Sequence[Any] | None) -> list[Any]:
    """Return the classes with a row of their own."""
    if given is None:
        return list(scene.labels)
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(f"target_classes must be a list of class ids; got {given!r}")
    targets = [plain(label) for label in given]
    check_ids("target_classes", targets)
    check_one_kind("target_classes and class ids", targets, scene.labels)
    if len(set(targets)) != len(targets):
        raise InputError(f"target_classes must differ from each other; got {targets}")
    return targets


def _matched(
    scene: Scene, limit: float, matching: Matching
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the object of each prediction (-1 without), and which predictions count."""
    pairs = close_pairs(scene, same_label=matching == "same_class")
    close = ~scene.true.skip[pairs.true] & (pairs.iou >= limit)
    sorted_ = _in_order(scene, pairs.at(close), matching)
    partner = take(sorted_, len(scene.found), len(scene.true))
    judged = np.ones(len(partner), np.bool_)
    judged[pairs.found[skipped(scene, pairs, limit)]] = False
    return partner, judged | (partner >= 0)


def _in_order(scene: Scene, pairs: Pairs, matching: Matching) -> Pairs:
    """Sort pairs so that the first free one is always the one to take."""
    rank = np.empty(len(scene.found), np.intp)
    rank[by_score(scene.found.score, scene.found.image)] = np.arange(len(rank))
    rank = rank[pairs.found]
    if matching == "same_class":
        return pairs.at(np.lexsort((pairs.true, -pairs.iou, rank)))
    other = scene.found.label[pairs.found] != scene.true.label[pairs.true]
    # Overlaps that are equal in whole numbers may differ in the last bit of their floats.
    return pairs.at(np.lexsort((pairs.true, rank, other, -np.round(pairs.iou, _DECIMALS))))


def _hit_and_missed(
    scene: Scene, partner: NDArray[np.intp]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which predictions have an object, and which objects to be found have none."""
    hit = partner >= 0
    missed = ~scene.true.skip
    missed[partner[hit]] = False
    return hit, missed


def _counted(
    scene: Scene, partner: NDArray[np.intp], judged: NDArray[np.bool_], targets: list[Any]
) -> ConfusionMatrix:
    others, background = len(targets), len(targets) + 1
    place = {label: i for i, label in enumerate(targets)}
    index = np.array([place.get(label, others) for label in scene.labels], np.intp)
    matrix = np.zeros((len(targets) + 2, len(targets) + 2), np.int64)
    hit, missed = _hit_and_missed(scene, partner)
    predicted, true = scene.found.label[hit], scene.true.label[partner[hit]]
    apart = (index[predicted] == others) & (index[true] == others) & (predicted != true)
    np.add.at(matrix, (index[true[~apart]], index[predicted[~apart]]), 1)
    size = len(matrix)
    matrix[:, background] += np.bincount(index[scene.true.label[missed]], minlength=size)
    matrix[background] += np.bincount(index[scene.found.label[judged & ~hit]], minlength=size)
    return ConfusionMatrix(matrix, [*targets, "Others", "Background"], int(apart.sum()))
