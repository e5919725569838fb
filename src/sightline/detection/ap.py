"""From matches to precision and recall, average precision, its mean, and the best threshold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import shape_of
from sightline.core.checks import check_choice
from sightline.detection._items import check_ids, plain
from sightline.detection._options import check_number, read_numbers
from sightline.detection._tables import by_score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sightline.detection.matching import Matches

__all__ = [
    "BestF1",
    "ClassCounts",
    "Interpolation",
    "PRData",
    "best_f1",
    "calculate_ap",
    "calculate_ap_per_class",
    "calculate_map",
    "calculate_pr_data",
    "class_counts_at",
    "curves_in_order",
    "matches_pr_data",
    "pr_curve",
]

Interpolation = Literal["all_points", "coco101", "voc11"]


class PRData(TypedDict):
    """One class: precision and recall after each prediction, from the most confident down.

    Examples
    --------
    >>> from sightline.detection import calculate_pr_data
    >>> data = calculate_pr_data([(0.9, True, "cat"), (0.4, False, "cat")], {"cat": 2})["cat"]
    >>> sorted(data), data["recall"].tolist()
    (['confidence', 'num_gt', 'precision', 'recall'], [0.5, 0.5])
    """

    precision: NDArray[np.float64]
    recall: NDArray[np.float64]
    confidence: NDArray[np.float64]
    num_gt: int


class BestF1(NamedTuple):
    """The lowest score to keep, and what that gives.

    Examples
    --------
    >>> from sightline.detection import best_f1, calculate_pr_data
    >>> data = calculate_pr_data([(0.9, True, "cat"), (0.4, False, "cat")], {"cat": 1})
    >>> best_f1(data["cat"])
    BestF1(threshold=0.9, f1=1.0, precision=1.0, recall=1.0)
    """

    threshold: float
    f1: float
    precision: float
    recall: float


class ClassCounts(NamedTuple):
    """How one class fares at a confidence; a share of nothing is NaN.

    Examples
    --------
    >>> from sightline.detection import ClassCounts
    >>> counts = ClassCounts.of("cat", tp=3, fp=1, fn=2)
    >>> counts.precision, counts.recall
    (0.75, 0.6)
    """

    label: Any
    tp: int
    fp: int
    fn: int
    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, label: Any, tp: int, fp: int, fn: int) -> ClassCounts:
        """Add the shares to the counts.

        Examples
        --------
        >>> ClassCounts.of("cat", 1, 1, 0)
        ClassCounts(label='cat', tp=1, fp=1, fn=0, precision=0.5, recall=1.0, f1=0.6666666666666666)
        """
        return cls(
            label, tp, fp, fn, _share(tp, tp + fp), _share(tp, tp + fn),
            _share(2 * tp, 2 * tp + fp + fn),
        )  # fmt: skip


def _share(part: int, whole: int) -> float:
    return part / whole if whole else math.nan


def calculate_pr_data(
    all_match_results: Iterable[Any],
    all_num_gt_per_class: Mapping[Any, int] | Iterable[Mapping[Any, int]],
) -> dict[Any, PRData]:
    """Precision and recall of each class after each of its predictions, by falling score.

    Parameters
    ----------
    all_match_results
        ``(score, is_tp, class_id)`` of all images in one list, or one list an image, as
        `match_predictions` gives them. Equal scores keep their order.
    all_num_gt_per_class
        How many ground truths each class has; or one such mapping an image, which are summed.

    Returns
    -------
    dict
        For each class that has predictions or ground truths, `precision`, `recall`, `confidence`
        and `num_gt`. Without ground truths recall is NaN.

    Examples
    --------
    >>> data = calculate_pr_data([(0.5, False, 7), (0.9, True, 7)], {7: 2})
    >>> data[7]["precision"].tolist(), data[7]["recall"].tolist()
    ([1.0, 0.5], [0.5, 0.5])
    """
    counts = _summed_counts(all_num_gt_per_class)
    by_class: dict[Any, list[tuple[float, bool]]] = {label: [] for label in counts}
    results = [_result(row) for row in _flat_results(all_match_results)]
    check_ids("class id", [*counts, *(label for _, _, label in results)])
    for score, is_tp, label in results:
        by_class.setdefault(label, []).append((score, is_tp))
    data = {}
    for label in sorted(by_class):
        rows = np.array(by_class[label], np.float64).reshape(-1, 2)
        order = np.argsort(-rows[:, 0], kind="stable")
        num_gt, hits = counts.get(label, 0), int(rows[:, 1].sum())
        if num_gt < hits:
            raise InputError(
                f"class {label!r} must have as many ground truths as true positives, {hits}; "
                f"got {num_gt}"
            )
        data[label] = pr_curve(rows[order, 0], rows[order, 1] > 0, num_gt)
    return data


def _flat_results(given: Iterable[Any]) -> list[Any]:
    """Return the results of all images in one list."""
    if not isinstance(given, Iterable):
        raise InputError(f"match results must be a list of (score, is_tp, class_id); got {given!r}")
    entries = [_entry(entry) for entry in given]
    nested = [not entry or _is_listed(entry[0]) for entry in entries]
    if all(nested):
        return [_entry(row) for entry in entries for row in entry]
    return entries


def _is_listed(value: Any) -> bool:
    return isinstance(value, list | tuple) or getattr(value, "ndim", 0) > 0


def _entry(entry: Any) -> list[Any]:
    if isinstance(entry, str | bytes | dict) or not hasattr(entry, "__iter__"):
        raise InputError(f"a match result must be (score, is_tp, class_id); got {entry!r}")
    return list(entry)


def _result(row: list[Any]) -> tuple[float, bool, Any]:
    """Check one result."""
    if len(row) != 3:
        raise InputError(f"a match result must be (score, is_tp, class_id); got {row!r}")
    score, is_tp, label = map(plain, row)
    if type(score) is float and type(is_tp) is bool and math.isfinite(score):
        return score, is_tp, label
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        raise InputError(f"the score of a match result must be a finite number; got {score!r}")
    if not isinstance(is_tp, int | float) or is_tp not in (0, 1):
        raise InputError(f"is_tp of a match result must be true or false; got {is_tp!r}")
    return float(score), bool(is_tp), label


def _summed_counts(given: Any) -> dict[Any, int]:
    counts: dict[Any, int] = {}
    several = isinstance(given, Iterable) and not isinstance(given, Mapping)
    for part in given if several else [given]:
        if not isinstance(part, Mapping):
            raise InputError(f"ground truths must be counted by class id; got {part!r}")
        for key, value in part.items():
            label, count = plain(key), plain(value)
            if not isinstance(count, int | float) or not count >= 0 or count % 1:
                raise InputError(
                    f"ground truths of class {label!r} must be a whole number; got {count!r}"
                )
            counts[label] = counts.get(label, 0) + int(count)
    return counts


def matches_pr_data(matches: Matches, /) -> dict[Any, PRData]:
    """Precision and recall of each class, from the matches of a data set.

    Examples
    --------
    >>> from sightline.detection.matching import match_dataset
    >>> box = (0, 0, 10, 10)
    >>> data = matches_pr_data(match_dataset([[[box, 0.9, 1]]], [[[box, 1]]]))
    >>> data[1]["recall"].tolist()
    [1.0]
    """
    return curves_in_order(matches, by_score(matches.score, matches.image))


def curves_in_order(matches: Matches, order: NDArray[np.intp], /) -> dict[Any, PRData]:
    """Precision and recall of each class, from rows that are sorted by score already."""
    order = order[matches.hit[order] >= 0]
    label = matches.label[order]
    if len(matches.labels) < 2**15:
        label = label.astype(np.int16)  # so that the sort counts instead of comparing
    order = order[np.argsort(label, kind="stable")]
    ends = np.searchsorted(matches.label[order], np.arange(len(matches.labels) + 1))
    score, hit = matches.score[order], matches.hit[order] == 1
    return {
        label: pr_curve(score[rows], hit[rows], int(matches.num_gt[i]))
        for i, label in enumerate(matches.labels)
        for rows in [slice(ends[i], ends[i + 1])]
    }


def class_counts_at(matches: Matches, confidence: float, /) -> dict[Any, ClassCounts]:
    """Count the true and false positives and the misses of each class from a confidence on.

    Predictions that count neither way are left out.

    Parameters
    ----------
    matches
        Of a data set.
    confidence
        The lowest score that is kept.

    Returns
    -------
    dict
        For each class `tp`, `fp`, `fn`, `precision`, `recall` and `f1`; NaN where nothing is kept
        (precision), there is nothing to find (recall), or both (F1).

    Examples
    --------
    >>> from sightline.detection.matching import match_dataset
    >>> box = (0, 0, 10, 10)
    >>> found = match_dataset([[[box, 0.9, "cat"], [box, 0.3, "cat"]]], [[[box, "cat"]]])
    >>> class_counts_at(found, 0.5)["cat"].precision, class_counts_at(found, 0.3)["cat"].precision
    (1.0, 0.5)
    """
    least = check_number("confidence", confidence)
    kept = matches.score >= least
    hits, wrong = (
        np.bincount(matches.label[kept & (matches.hit == value)], minlength=len(matches.labels))
        for value in (1, 0)
    )
    rows = (hits.tolist(), wrong.tolist(), (matches.num_gt - hits).tolist())
    return {
        label: ClassCounts.of(label, *counts)
        for label, *counts in zip(matches.labels, *rows, strict=True)
    }


def pr_curve(score: NDArray[np.float64], hit: NDArray[np.bool_], num_gt: int) -> PRData:
    """Count along the predictions, which are sorted."""
    positives = np.cumsum(hit).astype(np.float64)
    recall = positives / num_gt if num_gt else np.full(len(hit), np.nan)
    precision = positives / np.arange(1, len(hit) + 1)
    return PRData(precision=precision, recall=recall, confidence=score, num_gt=num_gt)


def calculate_ap(
    precision: Any, recall: Any, *, interpolation: Interpolation = "all_points"
) -> float:
    """Average precision of one class: the area under its precision over recall.

    Precision is first made to fall: at each point it is the best from there on.

    Parameters
    ----------
    precision, recall
        After each prediction, from the most confident down, as `calculate_pr_data` gives them.
    interpolation
        "all_points": the area, with the point (recall 0, precision 1) before the first.
        "coco101": the mean precision at recalls 0, 0.01, …, 1. "voc11": at 0, 0.1, …, 1.

    Returns
    -------
    float
        In [0, 1], higher is better. 0 where one of the lists is empty, so without predictions; NaN
        without ground truths (NaN recall).

    Examples
    --------
    >>> recall, precision = [1/3, 2/3, 2/3, 1, 1], [1, 1, 2/3, 3/4, 3/5]
    >>> round(calculate_ap(precision, recall), 6)
    0.916667
    >>> round(calculate_ap(precision, recall, interpolation="voc11"), 6)
    0.909091

    References
    ----------
    Everingham et al. (2010), The Pascal visual object classes challenge; Lin et al. (2014),
    Microsoft COCO, arXiv:1405.0312.
    """
    check_choice("interpolation", interpolation, ("all_points", "coco101", "voc11"))
    heights, reach = read_numbers("precision", precision), read_numbers("recall", recall)
    if not heights.size or not reach.size:
        return 0.0
    _check_curve(heights, reach)
    if np.isnan(reach).any():
        return math.nan
    falling = np.maximum.accumulate(heights[::-1])[::-1]
    if interpolation == "all_points":
        return float(np.sum(np.diff(reach, prepend=0.0) * falling))
    levels = np.linspace(0, 1, 101) if interpolation == "coco101" else np.arange(11) / 10
    places = np.searchsorted(reach, levels, side="left")
    return float(np.mean(np.append(falling, 0.0)[places]))


def _check_curve(precision: NDArray[np.float64], recall: NDArray[np.float64]) -> None:
    if precision.ndim != 1 or precision.shape != recall.shape:
        raise InputError(
            "precision and recall must be two lists of one length; "
            f"got {shape_of(precision.shape)} and {shape_of(recall.shape)}"
        )
    if not ((precision >= 0) & (precision <= 1)).all():
        raise InputError(f"precision must lie within 0 and 1; got {precision.tolist()[:5]}")
    if (np.diff(recall) < 0).any() or (recall < 0).any() or (recall > 1).any():
        raise InputError(f"recall must rise within 0 and 1; got {recall.tolist()[:5]}")


def calculate_ap_per_class(
    pr_data: Mapping[Any, PRData], /, *, interpolation: Interpolation = "all_points"
) -> dict[Any, float]:
    """Average precision of each class; NaN where it has no ground truth.

    Examples
    --------
    >>> calculate_ap_per_class(calculate_pr_data([(0.9, True, 7), (0.8, False, 8)], {7: 1}))
    {7: 1.0, 8: nan}
    """
    return {
        label: calculate_ap(data["precision"], data["recall"], interpolation=interpolation)
        if data["num_gt"]
        else math.nan
        for label, data in pr_data.items()
    }


def calculate_map(ap_scores_per_class: Mapping[Any, Any]) -> float:
    """Mean of the classes' average precisions.

    Classes whose AP is undefined (NaN, None) are left out; 0.0 if nothing is left.

    Examples
    --------
    >>> calculate_map({"cat": 0.5, "dog": 1.0, "owl": float("nan")})
    0.75
    """
    given: Any = ap_scores_per_class
    if not isinstance(given, Mapping):
        raise InputError(f"APs must be a mapping from class id to AP; got {given!r}")
    values: list[Any] = [plain(value) for value in given.values()]
    numbers = [float(v) for v in values if not isinstance(v, bool) and isinstance(v, Real)]
    scores = [value for value in numbers if math.isfinite(value)]
    return float(np.mean(scores)) if scores else 0.0


def best_f1(data: PRData, /) -> BestF1:
    """Find the score from which on predictions of one class give the highest F1.

    Predictions of equal score are kept or dropped together. Of equally good thresholds the highest
    is taken. Without predictions the threshold is NaN and F1 is 0; without ground truths all is
    NaN.

    Examples
    --------
    >>> data = calculate_pr_data([(0.9, True, 7), (0.8, True, 7), (0.3, False, 7)], {7: 2})
    >>> best_f1(data[7])
    BestF1(threshold=0.8, f1=1.0, precision=1.0, recall=1.0)
    """
    score, n = np.asarray(data["confidence"]), len(data["confidence"])
    if not data["num_gt"]:
        return BestF1(math.nan, math.nan, math.nan, math.nan)
    if not n:
        return BestF1(math.nan, 0.0, math.nan, 0.0)
    hits = np.rint(np.asarray(data["recall"]) * data["num_gt"])
    f1 = 2 * hits / (np.arange(1, n + 1) + data["num_gt"])
    last = np.append(score[1:] != score[:-1], True)
    best = int(np.argmax(np.where(last, f1, -1.0)))
    found: Sequence[Any] = (score[best], f1[best], data["precision"][best], data["recall"][best])
    return BestF1(*(float(value) for value in found))
