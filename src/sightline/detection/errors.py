"""Why average precision is lost: kinds of error, and how much each costs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.detection._options import check_share
from sightline.detection._pairs import Pairs, close_pairs, first_of_each, skipped
from sightline.detection._tables import by_score, read_scene
from sightline.detection.ap import calculate_ap_per_class, curves_in_order
from sightline.detection.matching import match_scene

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from sightline.detection._entries import BoxForm
    from sightline.detection._tables import Pixel, Scene
    from sightline.detection.ap import Interpolation
    from sightline.detection.matching import Matches

__all__ = ["ERROR_TYPES", "ErrorTypes", "error_types"]

# The order of the numbers in `ErrorTypes.kind`; "missed" is one of ground truths.
ERROR_TYPES = ("classification", "localisation", "both", "duplicate", "background", "missed")
_CLS, _LOC, _BOTH, _DUP, _BKG = range(5)
_HIT, _IGNORED = -1, -2


@dataclass(frozen=True, slots=True, eq=False)
class ErrorTypes:
    """The errors of a detector and the AP that each kind costs.

    Attributes
    ----------
    map
        Mean AP as it is, over classes with ground truths; NaN without any, as are the costs.
    counts
        How many errors of each kind there are.
    cost
        For each kind how much mean AP would rise if its errors alone were put right, and the same
        for all "false_positives" and all "false_negatives".
    kind
        For each prediction the place of its error in `ERROR_TYPES`; -1 it is right, -2 it counts
        neither way: it lies in a crowd, or finds a difficult object.
    partner
        For each prediction the ground truth that it found, or would have found but for its error
        (classification, localisation); else -1.
    missed
        For each ground truth whether it is missed.

    Examples
    --------
    >>> from sightline.detection import ERROR_TYPES, error_types
    >>> found = error_types([[[(0, 0, 10, 10), 0.9, "dog"]]], [[[(0, 0, 10, 10), "cat"]]])
    >>> ERROR_TYPES[found.kind[0]], found.cost["classification"]
    ('classification', 1.0)
    """

    map: float
    counts: dict[str, int]
    cost: dict[str, float]
    kind: NDArray[np.int8]
    partner: NDArray[np.intp]
    missed: NDArray[np.bool_]


def error_types(
    predictions: Any,
    ground_truths: Any,
    *,
    iou_threshold: float = 0.5,
    background_threshold: float = 0.1,
    images: tuple[Iterable[Any], Iterable[Any]] | None = None,
    box_format: BoxForm = "xyxy",
    pixel: Pixel | None = None,
    interpolation: Interpolation = "coco101",
) -> ErrorTypes:
    """Sort the errors of a detector into six kinds and say how much AP each kind costs.

    A prediction that finds nothing has, in this order, the error of

    - localisation: it overlaps an object of its class, by less than `iou_threshold`;
    - classification: it overlaps one of another class by at least `iou_threshold`;
    - duplicate: it overlaps one of its class by as much, which a more confident one has found;
    - background: it overlaps nothing by `background_threshold` or more;
    - both: anything else, so it overlaps one of another class, but by too little.

    At a threshold itself an overlap is enough: to be found, or to be seen.

    An object is missed that no prediction finds, nor would find but for a localisation or
    classification error.

    To put an error right: predictions with the first two become true positives of the object, the
    most confident one if there are several, and are dropped if it is found already; those with
    the other kinds are dropped; missed objects no longer count. A class with nothing left to
    find then has an AP of 1. Costs do not add up to 1 − mAP, since errors hide each other.

    The kinds and their order are those of TIDE, whose counts these are. Its program differs in

    - predictions: it takes the 100 most confident ones of each image that has ground truths;
    - classes: one without ground truth, or with nothing left to find but with predictions, enters
      its mean AP as 0; here the first is left out, and the second counts 1;
    - putting right: where errors of localisation and of classification are about one object, it
      corrects only the most confident of them all; here each kind is put right by itself;
    - crowds: it sorts predictions in a crowd into kinds, too, and lets them find objects;
    - bounds: it asks for more than `iou_threshold` in a crowd; an overlap of just `iou_threshold`
      with an object that is found already is one of localisation there, a duplicate here, and one
      of just `background_threshold` with another class is background there, both here;
    - order: where errors are put right, wrong predictions go before right ones of equal score;
    - recall: its 101 levels are rounded otherwise than COCO's.

    Parameters
    ----------
    predictions, ground_truths, images, box_format, pixel
        A data set, in any form that `match_dataset` takes. Crowds and difficult objects need not
        be found. Predictions without a match are not counted if they overlap a difficult object of
        their class, or if their box lies in a crowd of it to a share of `iou_threshold`.
    iou_threshold, background_threshold
        From which IoU on an object is found, and from which on it is seen at all.
    interpolation
        As in `calculate_ap`.

    Examples
    --------
    >>> box, near = (0, 0, 10, 10), (0, 0, 10, 4)
    >>> found = error_types([[[near, 0.9, "cat"]]], [[[box, "cat"]]])
    >>> found.map, found.counts["localisation"], found.cost["localisation"]
    (0.0, 1, 1.0)

    References
    ----------
    Bolya et al. (2020), TIDE: a general toolbox for identifying object detection errors,
    arXiv:2008.08115.
    """
    limit = check_share("iou_threshold", iou_threshold)
    least = check_share("background_threshold", background_threshold)
    if least > limit:
        raise InputError(f"background_threshold must be at most {limit} (IoU); got {least}")
    scene = read_scene(
        predictions, ground_truths, images=images, box_format=box_format, pixel=pixel
    )
    pairs = close_pairs(scene)
    same = scene.found.label[pairs.found] == scene.true.label[pairs.true]
    matches = _base(scene, pairs.at(same), limit)
    kind, partner = _kinds(matches, scene, (pairs.at(same), pairs.at(~same)), limit, least)
    missed = ~scene.true.skip
    missed[partner[partner >= 0]] = False
    return _summary(scene, matches, kind, partner, missed, interpolation)


def _base(scene: Scene, own: Pairs, limit: float) -> Matches:
    """Match what counts; return predictions in a crowd as neither right nor wrong."""
    matches = match_scene(scene, limit, pairs=own.at(~scene.true.skip[own.true]))
    hit = matches.hit.copy()
    inside = own.found[skipped(scene, own, limit)]
    hit[inside[hit[inside] == 0]] = -1
    counted = scene.true.label[~scene.true.skip]
    return replace(matches, hit=hit, num_gt=np.bincount(counted, minlength=len(scene.labels)))


def _kinds(
    matches: Matches, scene: Scene, pairs: tuple[Pairs, Pairs], limit: float, least: float
) -> tuple[NDArray[np.int8], NDArray[np.intp]]:
    """Return the kind of each prediction's error, and the object that it is about.

    The pairs are those of the same class and those of different ones.
    """
    plain = [each.at(~scene.true.skip[each.true]) for each in pairs]
    (own_iou, own), (other_iou, other) = (_nearest(each, len(matches.hit)) for each in plain)
    kind = np.full(len(matches.hit), _BOTH, np.int8)
    kind[np.maximum(own_iou, other_iou) < least] = _BKG
    kind[own_iou >= limit] = _DUP
    kind[other_iou >= limit] = _CLS
    kind[(own_iou >= least) & (own_iou < limit)] = _LOC
    kind[matches.hit == 1] = _HIT
    kind[matches.hit == -1] = _IGNORED
    partner = np.where(kind == _LOC, own, np.where(kind == _CLS, other, matches.partner))
    return kind, partner


def _nearest(pairs: Pairs, size: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return for each prediction its largest IoU, 0 without, and with which object, -1 without."""
    iou, partner = np.zeros(size), np.full(size, -1, np.intp)
    np.maximum.at(iou, pairs.found, pairs.iou)
    best = pairs.at(pairs.iou == iou[pairs.found])
    place = first_of_each(best.found, size)  # the objects of each prediction come as given
    partner[place >= 0] = best.true[place[place >= 0]]
    return iou, partner


def _summary(
    scene: Scene,
    matches: Matches,
    kind: NDArray[np.int8],
    partner: NDArray[np.intp],
    missed: NDArray[np.bool_],
    interpolation: Interpolation,
) -> ErrorTypes:
    """Count the errors, and put each kind right in turn."""
    order = by_score(scene.found.score, scene.found.image)
    fewer = matches.num_gt - np.bincount(scene.true.label[missed], minlength=len(matches.num_gt))
    hits = np.bincount(matches.label[matches.hit == 1], minlength=len(matches.num_gt))
    fixed: dict[str, Matches] = {
        name: _corrected(scene, matches, order[(kind == number)[order]], partner)
        if number in (_CLS, _LOC)
        else replace(matches, hit=_dropped(matches, kind == number))
        for number, name in enumerate(ERROR_TYPES[:5])
    }
    fixed["missed"] = replace(matches, num_gt=fewer)
    fixed["false_positives"] = replace(matches, hit=_dropped(matches, matches.hit == 0))
    fixed["false_negatives"] = replace(matches, num_gt=hits)
    mean = _mean(order, matches.num_gt > 0, interpolation)
    base = mean(matches)
    counts = {name: int((kind == number).sum()) for number, name in enumerate(ERROR_TYPES[:5])}
    return ErrorTypes(
        map=base,
        counts={**counts, "missed": int(missed.sum())},
        cost={name: mean(each) - base for name, each in fixed.items()},
        kind=kind,
        partner=partner,
        missed=missed,
    )


def _dropped(matches: Matches, rows: NDArray[np.bool_]) -> NDArray[np.int8]:
    return np.where(rows, -1, matches.hit).astype(np.int8)


def _corrected(
    scene: Scene, matches: Matches, wrong: NDArray[np.intp], partner: NDArray[np.intp]
) -> Matches:
    """Let the most confident wrong prediction of each free object find it; drop the others.

    The rows of the wrong ones are sorted by score.
    """
    taken = np.zeros(len(scene.true), np.bool_)
    taken[partner[matches.hit == 1]] = True
    rows = wrong[~taken[partner[wrong]]]
    rows = rows[np.unique(partner[rows], return_index=True)[1]]
    hit, label = matches.hit.copy(), matches.label.copy()
    hit[wrong] = -1
    hit[rows] = 1
    label[rows] = scene.true.label[partner[rows]]
    return replace(matches, hit=hit, label=label)


def _mean(
    order: NDArray[np.intp], counted: NDArray[np.bool_], interpolation: Interpolation
) -> Callable[[Matches], float]:
    """Return what takes the mean AP over the classes that had ground truths; NaN without any."""

    def mean(matches: Matches) -> float:
        found = calculate_ap_per_class(curves_in_order(matches, order), interpolation=interpolation)
        values = np.array(list(found.values()))[counted]
        return float(np.mean(np.where(np.isnan(values), 1.0, values))) if len(values) else math.nan

    return mean
