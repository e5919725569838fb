"""What is stored of an evaluation of detections: its parts as tables."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.store.detection_boxes import detection_boxes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from sightline.detection import (
        BestF1,
        CocoArrays,
        ConfusionMatrix,
        DetectionResults,
        ErrorTypes,
        PRData,
        Reliability,
    )
    from sightline.store.detection_boxes import DetectionBoxes

__all__ = ["DetectionParts", "detection_notes", "detection_parts", "detection_tables", "thin_curve"]

POINTS = 1000
"""The most points of a raw curve that are kept."""

_STRAIGHT = 1e-12  # nearer to a line than this is on it, but for rounding


@dataclass(frozen=True, eq=False)
class DetectionParts:
    """What is stored of one evaluation; `detection_parts` takes it out of its results.

    Attributes
    ----------
    summary : mapping
        Values that JSON has; `protocol` and the figures among them.
    classes : DataFrame
        A line for each class.
    curves : mapping
        Of each class its `PRData` at one IoU.
    iou : float
        That IoU.
    best : mapping
        Of each class the score from which on F1 is highest there.
    names : mapping
        What classes are called.
    confidence : float
        Lowest score that the confusion matrix counts.
    arrays, confusion, errors, reliability, images, boxes : optional
        Further parts.

    Examples
    --------
    >>> import pandas as pd
    >>> parts = DetectionParts({"protocol": "voc"}, pd.DataFrame({"class": ["cat"], "ap": [0.5]}))
    >>> parts.iou, parts.confusion is None
    (0.5, True)
    """

    summary: Mapping[str, Any]
    classes: pd.DataFrame
    curves: Mapping[Any, PRData] = field(default_factory=dict)
    iou: float = 0.5
    best: Mapping[Any, BestF1] = field(default_factory=dict)
    names: Mapping[Any, str] = field(default_factory=dict)
    arrays: CocoArrays | None = None
    confusion: ConfusionMatrix | None = None
    errors: ErrorTypes | None = None
    reliability: Reliability | None = None
    images: pd.DataFrame | None = None
    boxes: DetectionBoxes | None = None
    confidence: float = 0.25


def detection_parts(results: DetectionResults, *, confidence: float = 0.25) -> DetectionParts:
    """Take out of an evaluation what is stored of it.

    The curves, the confusion matrix, the error types and the reliability are of IoU 0.5, or of the
    lowest IoU that was evaluated where 0.5 is not among them; an IoU of 0 has no confusions, no
    error types and no boxes. Scores outside 0 to 1 have no reliability; only the protocol "coco"
    has costs of images.

    Examples
    --------
    >>> from sightline.detection.evaluate import evaluate_detections
    >>> box = (0, 0, 40, 40)
    >>> results = evaluate_detections([[[box, "cat"]]], [[[box, 0.9, "cat"]]], protocol="voc")
    >>> parts = detection_parts(results)
    >>> parts.iou, parts.errors.map, parts.confusion.class_labels
    (0.5, 1.0, ['cat', 'Others', 'Background'])
    """
    known = results.settings.iou_thresholds
    iou = 0.5 if 0.5 in known else min(known)
    coco = results.settings.protocol == "coco"
    return DetectionParts(
        summary=results.to_dict(),
        classes=results.by_class(),
        curves=results.pr_curves(iou),
        iou=iou,
        best=results.best_f1(iou),
        names=results.names,
        arrays=results.arrays,
        confusion=results.confusion_matrix(iou, confidence) if iou > 0 else None,
        errors=results.error_types(iou, min(iou, 0.1)) if iou > 0 else None,
        reliability=_reliability(results, iou),
        images=results.costliest_images(results.images) if coco else None,
        boxes=detection_boxes(results, iou) if iou > 0 else None,
        confidence=confidence,
    )


def _reliability(results: DetectionResults, iou: float) -> Reliability | None:
    """Return how far scores can be trusted; None where they are no shares."""
    score = results.detections.score
    if len(score) and not 0 <= score.min() <= score.max() <= 1:
        return None
    return results.reliability(iou=iou)


def detection_notes(parts: DetectionParts) -> dict[str, Any]:
    """Return what stands in results.json about the parts."""
    notes: dict[str, Any] = {
        "curves": {
            "iou": parts.iou,
            "classes": [
                {"class": key, "ground_truths": data["num_gt"], "detections": len(data["recall"])}
                for key, data in parts.curves.items()
            ],
        }
    }
    if parts.confusion is not None:
        matrix = parts.confusion
        labels = list(matrix.class_labels)
        notes["confusion"] = {
            "labels": labels,
            "names": [*(_called(one, parts.names) for one in labels[:-2]), *labels[-2:]],
            "others_confused": matrix.others_confused,
            "confidence": parts.confidence,
        }
    if parts.errors is not None:
        found = parts.errors
        cost = {key: _number(value) for key, value in found.cost.items()}
        notes["errors"] = {"map": _number(found.map), "counts": dict(found.counts), "cost": cost}
    if parts.reliability is not None:
        notes["reliability"] = {
            "ece": _number(parts.reliability.ece),
            "mce": _number(parts.reliability.mce),
        }
    return notes


def _called(label: Any, names: Mapping[Any, str]) -> str:
    return str(names.get(label, label))


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def detection_tables(parts: DetectionParts, /) -> dict[str, pa.Table]:
    """Return the tables that there are, by the names of their files.

    Examples
    --------
    >>> import pandas as pd
    >>> classes = pd.DataFrame({"class": ["cat"], "ap": [0.5]})
    >>> detection_tables(DetectionParts({"protocol": "voc"}, classes))["classes"].to_pylist()
    [{'class': 'cat', 'ap': 0.5}]
    """
    import pyarrow as pa

    tables = {"classes": pa.Table.from_pandas(parts.classes, preserve_index=False)}
    if parts.curves:
        tables["curves"] = _curve_table(parts)
    if parts.confusion is not None:
        tables["confusion"] = _confusion_table(parts.confusion, parts.names)
    if parts.reliability is not None:
        found = parts.reliability
        tables["reliability"] = pa.table(
            {
                "low": found.edges[:-1],
                "high": found.edges[1:],
                "count": found.count,
                "confidence": found.confidence,
                "precision": found.precision,
            }
        )
    if parts.errors is not None:
        kinds = list(parts.errors.counts)
        tables["errors"] = pa.table(
            {
                "error": kinds,
                "count": [parts.errors.counts[kind] for kind in kinds],
                "cost": [float(parts.errors.cost[kind]) for kind in kinds],
            }
        )
    if parts.images is not None:
        tables["images"] = pa.Table.from_pandas(parts.images, preserve_index=False)
    return tables


def _confusion_table(found: ConfusionMatrix, names: Mapping[Any, str]) -> pa.Table:
    import pyarrow as pa

    rows, columns = np.nonzero(found.matrix)
    last = len(found.class_labels) - 2  # what follows are no ids
    called = np.array(
        [_called(one, names if i < last else {}) for i, one in enumerate(found.class_labels)],
        object,
    )
    return pa.table(
        {
            "row": rows,
            "column": columns,
            "true": pa.array(called[rows], pa.string()),
            "predicted": pa.array(called[columns], pa.string()),
            "count": found.matrix[rows, columns],
        }
    )


def _curve_table(parts: DetectionParts) -> pa.Table:
    """Return the thinned curves, then those of 101 points."""
    import pyarrow as pa

    pieces = [_raw_piece(key, data, parts.iou) for key, data in parts.curves.items()]
    if parts.arrays is not None:
        pieces += _even_pieces(parts.arrays)
    joined = {name: [value for one in pieces for value in one[name]] for name in pieces[0]}
    kinds = {"kind": pa.string(), "iou": pa.float64(), "recall": pa.float64()}
    kinds |= {"precision": pa.float64(), "confidence": pa.float64()}
    return pa.table({name: pa.array(values, kinds.get(name)) for name, values in joined.items()})


def _piece(key: Any, kind: str, iou: float, **columns: NDArray[np.float64]) -> dict[str, list[Any]]:
    count = len(columns["recall"])
    same = {"class": [key] * count, "kind": [kind] * count, "iou": [float(iou)] * count}
    return same | {name: values.tolist() for name, values in columns.items()}


def _raw_piece(key: Any, data: PRData, iou: float) -> dict[str, list[Any]]:
    recall, precision, confidence = data["recall"], data["precision"], data["confidence"]
    kept = thin_curve(recall, precision)
    columns = {"recall": recall, "precision": precision, "confidence": confidence}
    return _piece(key, "raw", iou, **{name: values[kept] for name, values in columns.items()})


def _even_pieces(arrays: CocoArrays) -> Iterable[dict[str, list[Any]]]:
    """Yield the 101 points of all sizes, of each threshold and class with ground truths."""
    size = list(arrays.size_ranges).index("all")
    for k, key in enumerate(arrays.classes.tolist()):
        if not arrays.ground_truths[k, size]:
            continue
        for t, iou in enumerate(arrays.thresholds.tolist()):
            reached = arrays.recall_points <= arrays.recall[t, k, size, -1]
            yield _piece(
                key,
                "coco101",
                iou,
                recall=arrays.recall_points,
                precision=arrays.precision[t, :, k, size, -1],
                confidence=np.where(reached, arrays.scores[t, :, k, size, -1], np.nan),
            )


def thin_curve(recall: Any, precision: Any, most: int = POINTS) -> NDArray[np.intp]:
    """Choose the points of a curve that keep its shape.

    A curve with no more points than `most` keeps them all. Of others the two ends are kept, and
    then, again and again, the point that lies furthest from the lines between those kept, until
    there are `most`, or none lies off the lines.

    Parameters
    ----------
    recall, precision
        Of each point, in order. Points of NaN recall are laid out evenly.
    most
        How many points to keep, at least 2.

    Returns
    -------
    array of int
        The places of the points kept, rising.

    Examples
    --------
    >>> thin_curve([0, 0.1, 0.2, 0.3], [1, 1, 1, 0], most=3).tolist()
    [0, 2, 3]
    """
    x, y = (np.asarray(values, np.float64) for values in (recall, precision))
    count = len(x)
    if most < 2:
        raise InputError(f"most must be at least 2; got {most}")
    if count <= most:
        return np.arange(count)
    if np.isnan(x).any():
        x = np.linspace(0, 1, count)
    kept = {0, count - 1}
    waiting: list[tuple[float, int, int, int]] = []
    _offer(waiting, x, y, 0, count - 1)
    while waiting and len(kept) < most:
        _, start, middle, end = heappop(waiting)
        kept.add(middle)
        _offer(waiting, x, y, start, middle)
        _offer(waiting, x, y, middle, end)
    return np.array(sorted(kept), np.intp)


def _offer(
    waiting: list[tuple[float, int, int, int]],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    start: int,
    end: int,
) -> None:
    """Put the point between two that lies furthest from their line on the heap."""
    if end - start < 2:
        return
    dx, dy = x[start + 1 : end] - x[start], y[start + 1 : end] - y[start]
    along, up = float(x[end] - x[start]), float(y[end] - y[start])
    length = along * along + up * up
    place = np.clip((dx * along + dy * up) / length, 0, 1) if length else np.zeros(len(dx))
    distance = np.hypot(dx - place * along, dy - place * up)
    best = int(np.argmax(distance))
    if distance[best] > _STRAIGHT:
        heappush(waiting, (-float(distance[best]), start, start + 1 + best, end))
