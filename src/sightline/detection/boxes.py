"""What became of each single box of an evaluation: found, missed, made up, or set aside."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sightline.detection._pairs import Pairs, close_pairs, take
from sightline.detection._tables import by_score, read_scene
from sightline.detection.coco import CocoMatches
from sightline.detection.columns import as_extents

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.detection._tables import Scene
    from sightline.detection.results import DetectionResults

__all__ = ["BoxMatches", "match_boxes"]


class BoxMatches(NamedTuple):
    """Each box of an evaluation at one IoU, in the order of its tables.

    From the most confident detection down, each takes an object or does not; those below a
    confidence change nothing above it. So the same table tells what is found from any confidence
    on: the detections with that score or a higher one.

    Attributes
    ----------
    hit : array of int8, one a detection
        1 true positive, 0 false positive, -1 neither: it lies in a crowd, finds a difficult object
        or one of no size to count, has no class of the ground truth, or is beyond the limit to the
        detections of an image and class.
    partner : array of int, one a detection
        Row of the ground truth that it finds, -1 without.
    iou : array, one a detection
        With that one; NaN without.
    counts : array of bool, one a ground truth
        Whether it has to be found.

    Examples
    --------
    >>> from sightline.detection import evaluate_detections, match_boxes
    >>> box = (0, 0, 40, 40)
    >>> found = match_boxes(evaluate_detections([[[box, "cat"]]], [[[(0, 0, 40, 30), 0.9, "cat"]]]))
    >>> found.hit.tolist(), found.iou.tolist()
    ([1], [0.75])
    """

    hit: NDArray[np.int8]
    partner: NDArray[np.intp]
    iou: NDArray[np.float64]
    counts: NDArray[np.bool_]


def match_boxes(results: DetectionResults, iou: float | None = None) -> BoxMatches:
    """Return what became of each box, by the protocol of an evaluation.

    Parameters
    ----------
    results
        What `evaluate_detections` returned.
    iou
        One of its IoU thresholds; 0.5 unless given, or the lowest there is.

    Examples
    --------
    >>> from sightline.detection.evaluate import evaluate_detections
    >>> box, far = (0, 0, 40, 40), (80, 80, 90, 90)
    >>> found = [[[far, 0.8, "cat"], [box, 0.9, "cat"]]]
    >>> matches = match_boxes(evaluate_detections([[[box, "cat"]]], found))
    >>> matches.hit.tolist(), matches.partner.tolist(), matches.counts.tolist()
    ([0, 1], [-1, 0], [True])
    """
    place = results.threshold_place(iou)
    if isinstance(results.matches, CocoMatches):
        return _coco(results, results.matches, place)
    found, truth, matches = results.detections, results.ground_truth, results.matches[place]
    known = np.ones(len(found), np.bool_)
    if truth.classes is not None and len(found):
        known = np.isin(found.label, truth.classes)
    hit, partner = np.full(len(found), -1, np.int8), np.full(len(found), -1, np.intp)
    hit[known], partner[known] = matches.hit, matches.partner
    counts = np.ones(len(truth), np.bool_)
    if results.settings.protocol == "voc":
        counts = ~(truth.crowd | truth.difficult)
    return BoxMatches(hit, partner, _overlaps(results, partner), counts)


def _coco(results: DetectionResults, matches: CocoMatches, place: int) -> BoxMatches:
    """Take what the protocol's own pass found; it tells all but the partners."""
    size = list(matches.size_ranges).index("all")
    true, aside = matches.cell(place, size)
    aside = aside | (matches.rank >= results.settings.max_dets[-1])
    hit = np.full(len(results.detections), -1, np.int8)
    hit[matches.row] = np.where(aside, -1, true)
    truth, (low, high) = results.ground_truth, matches.size_ranges["all"]
    area = as_extents(truth, results.settings.pixel).area  # that which was matched
    counts = ~truth.crowd & (area >= low) & (area <= high)
    scene = _scene(results)
    pairs = close_pairs(scene, same_label=True)
    limit = min(float(matches.thresholds[place]), 1 - 1e-10)  # as the protocol has it
    near = (pairs.iou >= limit) & counts[pairs.true] & (hit[pairs.found] == 1)
    partner = take(_greedy(scene, pairs.at(near)), len(hit), len(truth))
    return BoxMatches(hit, partner, _overlaps(results, partner, pairs), counts)


def _scene(results: DetectionResults) -> Scene:
    return read_scene(results.detections, results.ground_truth, pixel=results.settings.pixel)


def _greedy(scene: Scene, pairs: Pairs) -> Pairs:
    """Sort pairs by confidence, then overlap; of equal ones COCO's protocol takes the last."""
    rank = np.empty(len(scene.found), np.intp)
    rank[by_score(scene.found.score, scene.found.image)] = np.arange(len(rank))
    return pairs.at(np.lexsort((-pairs.true, -pairs.iou, rank[pairs.found])))


def _overlaps(
    results: DetectionResults, partner: NDArray[np.intp], pairs: Pairs | None = None
) -> NDArray[np.float64]:
    """Return the IoU of each detection with its partner."""
    if pairs is None:
        pairs = close_pairs(_scene(results), same_label=True)
    iou = np.full(len(partner), np.nan)
    own = partner[pairs.found] == pairs.true
    iou[pairs.found[own]] = pairs.iou[own]
    return iou
