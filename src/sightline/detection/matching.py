"""Which prediction finds which ground truth: the plain protocol and that of Pascal VOC."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sightline.core import InputError
from sightline.core.checks import check_choice
from sightline.detection._options import check_share
from sightline.detection._pairs import Pairs, close_pairs, first_of_each, take
from sightline.detection._tables import by_score, read_scene

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sightline.detection._entries import BoxForm
    from sightline.detection._tables import Pixel, Scene

__all__ = [
    "MatchProtocol",
    "Matches",
    "match_dataset",
    "match_predictions",
    "match_scene",
    "match_thresholds",
]

MatchProtocol = Literal["simple", "voc"]


@dataclass(frozen=True, slots=True, eq=False)
class Matches:
    """What became of each prediction of a data set, in the order they were given.

    Attributes
    ----------
    image, label
        Numbers of its image and class, into `images` and `labels`.
    score
        Its confidence.
    hit
        1 true positive, 0 false positive, -1 neither: it found a difficult object.
    partner
        Row of the ground truth that it found, -1 without.
    num_gt
        For each class how many ground truths there are to find.
    images, labels
        The ids, sorted.

    Examples
    --------
    >>> from sightline.detection import match_dataset
    >>> box = (0, 0, 10, 10)
    >>> found = match_dataset([[[box, 0.9, "cat"], [box, 0.8, "cat"]]], [[[box, "cat"]]])
    >>> found.hit.tolist(), found.partner.tolist(), found.labels
    ([1, 0], [0, -1], ('cat',))
    """

    image: NDArray[np.intp]
    label: NDArray[np.intp]
    score: NDArray[np.float64]
    hit: NDArray[np.int8]
    partner: NDArray[np.intp]
    num_gt: NDArray[np.int64]
    images: tuple[Any, ...]
    labels: tuple[Any, ...]


def match_predictions(
    predictions: Sequence[Any],
    ground_truths: Sequence[Any],
    iou_threshold: float = 0.5,
    *,
    box_format: BoxForm = "xyxy",
    pixel: Pixel = "continuous",
) -> tuple[list[tuple[float, bool, Any]], dict[Any, int]]:
    """Say of each prediction of one image whether it finds a ground truth of its class.

    From the most confident prediction down, each takes the free ground truth of its class that it
    overlaps most, if their IoU is at least `iou_threshold`. Equal scores go in the order given, and
    of equal overlaps the first ground truth is taken. No score is too low: filter afterwards.

    Parameters
    ----------
    predictions
        ``[box, score, class_id]`` each.
    ground_truths
        ``[box, class_id]`` each.
    iou_threshold
        Above 0, at most 1.
    box_format
        "xyxy" (two corners), "xywh" (corner, width, height) or "cxcywh" (centre, width, height).
    pixel
        "continuous", or "inclusive": widths and heights count one pixel more, as in Pascal VOC.

    Returns
    -------
    match_results
        ``(score, is_tp, class_id)`` of every prediction, in the order given.
    num_gt_per_class
        How many ground truths each class has.

    Examples
    --------
    >>> predictions = [[(0, 0, 10, 10), 0.6, "cat"], [(0, 0, 10, 9), 0.9, "cat"]]
    >>> match_predictions(predictions, [[(0, 0, 10, 10), "cat"]])
    ([(0.6, False, 'cat'), (0.9, True, 'cat')], {'cat': 1})
    """
    limit = check_share("iou_threshold", iou_threshold)
    scene = read_scene([predictions], [ground_truths], box_format=box_format, pixel=pixel)
    found = match_scene(scene, limit)
    labels = [scene.labels[code] for code in found.label]
    hits = (found.hit == 1).tolist()
    results = list(zip(found.score.tolist(), hits, labels, strict=True))
    counts = zip(scene.labels, found.num_gt.tolist(), strict=True)
    return results, {label: count for label, count in counts if count}


def match_dataset(
    predictions: Any,
    ground_truths: Any,
    iou_threshold: float = 0.5,
    *,
    protocol: MatchProtocol = "simple",
    images: tuple[Iterable[Any], Iterable[Any]] | None = None,
    box_format: BoxForm = "xyxy",
    pixel: Pixel | None = None,
) -> Matches:
    """Match all images of a data set; nothing matches across images.

    Parameters
    ----------
    predictions, ground_truths
        One list an image as `match_predictions` takes it, a mapping from image id to such a list,
        one flat list with `images`, or records with the columns image, label, box (x, y, width,
        height) and score, such as `GroundTruth` and `Detections`, whose masks overlap instead of
        boxes if both have them. Class ids are integers or strings. A third entry of a ground truth
        says that it is difficult.
    iou_threshold
        From which IoU on a match counts; under "voc" it must be above.
    protocol
        "simple": as `match_predictions`; difficult objects and crowds are ordinary ones. "voc":
        each prediction looks only at the ground truth of its class that it overlaps most, even if
        that is taken already; what finds a difficult one (or a crowd) counts neither way, and
        difficult ones need not be found.
    images
        For flat lists the image id of each prediction and of each ground truth.
    box_format
        "xyxy" (two corners), "xywh" (corner, width, height) or "cxcywh" (centre, width, height).
    pixel
        "continuous" or "inclusive" (widths and heights count one pixel more). None takes what the
        records say, else the protocol's: inclusive under "voc".

    Examples
    --------
    >>> box = (0, 0, 10, 10)
    >>> match_dataset([[[box, 0.9, 1]], [[box, 0.8, 1]]], [[[box, 1]], []]).hit.tolist()
    [1, 0]

    References
    ----------
    Everingham et al. (2010), The Pascal visual object classes challenge.
    """
    (matches,) = match_thresholds(
        predictions, ground_truths, (iou_threshold,), protocol=protocol, images=images,
        box_format=box_format, pixel=pixel,
    )  # fmt: skip
    return matches


def match_thresholds(
    predictions: Any,
    ground_truths: Any,
    iou_thresholds: Iterable[float],
    *,
    protocol: MatchProtocol = "simple",
    images: tuple[Iterable[Any], Iterable[Any]] | None = None,
    box_format: BoxForm = "xyxy",
    pixel: Pixel | None = None,
) -> tuple[Matches, ...]:
    """Match a data set at several IoU thresholds; overlaps are computed once.

    See `match_dataset` for the parameters.

    Examples
    --------
    >>> box, near = (0, 0, 10, 10), (0, 0, 10, 6)
    >>> low, high = match_thresholds([[[near, 0.9, 1]]], [[[box, 1]]], [0.5, 0.75])
    >>> low.hit.tolist(), high.hit.tolist()
    ([1], [0])
    """
    check_choice("protocol", protocol, ("simple", "voc"))
    if not isinstance(iou_thresholds, Iterable):
        raise InputError(f"iou_thresholds must be a list of numbers; got {iou_thresholds!r}")
    limits = [check_share("iou_threshold", value) for value in iou_thresholds]
    scene = read_scene(
        predictions, ground_truths, images=images, box_format=box_format, pixel=pixel,
        otherwise="inclusive" if protocol == "voc" else "continuous",
    )  # fmt: skip
    pairs = close_pairs(scene, same_label=True)
    if protocol == "simple":
        pairs = pairs.at(pairs.iou >= min(limits, default=1.0))
    pairs = _by_confidence(scene, pairs)
    return tuple(_judged(scene, pairs, limit, protocol) for limit in limits)


def match_scene(scene: Scene, limit: float, *, pairs: Pairs | None = None) -> Matches:
    """Match columns by the plain steps; pairs of one class may be known already."""
    pairs = close_pairs(scene, same_label=True) if pairs is None else pairs
    sorted_ = _by_confidence(scene, pairs.at(pairs.iou >= limit))
    return _judged(scene, sorted_, limit, "simple")


def _judged(scene: Scene, pairs: Pairs, limit: float, protocol: MatchProtocol) -> Matches:
    """Match by one of the protocols; the pairs are sorted by confidence and overlap."""
    if protocol == "voc":
        hit, partner = _voc(scene, pairs, limit)
    else:
        partner = take(pairs.at(pairs.iou >= limit), len(scene.found), len(scene.true))
        hit = (partner >= 0).astype(np.int8)
    counted = scene.true.label[~scene.true.skip] if protocol == "voc" else scene.true.label
    return Matches(
        image=scene.found.image,
        label=scene.found.label,
        score=scene.found.score,
        hit=hit,
        partner=partner,
        num_gt=np.bincount(counted, minlength=len(scene.labels)),
        images=scene.images,
        labels=scene.labels,
    )


def _by_confidence(scene: Scene, pairs: Pairs) -> Pairs:
    """Sort pairs by the rank of their prediction, then by overlap, then by ground truth."""
    rank = np.empty(len(scene.found), np.intp)
    rank[by_score(scene.found.score, scene.found.image)] = np.arange(len(rank))
    return pairs.at(np.lexsort((pairs.true, -pairs.iou, rank[pairs.found])))


def _voc(scene: Scene, pairs: Pairs, limit: float) -> tuple[NDArray[np.int8], NDArray[np.intp]]:
    """Judge each prediction by the one ground truth that it overlaps most."""
    place = first_of_each(pairs.found, len(scene.found))
    best = pairs.at(np.sort(place[place >= 0]))
    best = best.at(best.iou > limit)
    hit = np.zeros(len(scene.found), np.int8)
    partner = np.full(len(hit), -1, np.intp)
    difficult = scene.true.skip[best.true]
    hit[best.found[difficult]] = -1
    plain = best.at(~difficult)
    first = np.sort(np.unique(plain.true, return_index=True)[1])
    hit[plain.found[first]] = 1
    partner[plain.found[first]] = plain.true[first]
    partner[best.found[difficult]] = best.true[difficult]
    return hit, partner
