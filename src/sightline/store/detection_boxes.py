"""The boxes of an evaluation of detections as tables: what is there, what was found, the images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from sightline.detection import BoxMatches, DetectionResults, Detections, GroundTruth
    from sightline.detection.columns import Rle

__all__ = ["DetectionBoxes", "box_tables", "detection_boxes"]


class DetectionBoxes(NamedTuple):
    """All boxes of an evaluation, and what became of each at one IoU."""

    ground_truth: GroundTruth
    detections: Detections
    matches: BoxMatches
    images: tuple[Any, ...]


def detection_boxes(results: DetectionResults, iou: float) -> DetectionBoxes:
    """Take the boxes out of an evaluation.

    Examples
    --------
    >>> from sightline.detection.evaluate import evaluate_detections
    >>> box = (0, 0, 40, 40)
    >>> results = evaluate_detections([[[box, "cat"]], []], [[[box, 0.9, "cat"]], []])
    >>> detection_boxes(results, 0.5).images
    (0, 1)
    """
    from sightline.detection import match_boxes

    truth, found = results.ground_truth, results.detections
    images = truth.images
    if images is None:
        images = np.unique(
            np.concatenate([one.image for one in (truth, found) if len(one)] or [truth.image])
        )
    return DetectionBoxes(truth, found, match_boxes(results, iou), tuple(images.tolist()))


def box_tables(boxes: DetectionBoxes, /) -> dict[str, pa.Table]:
    """Return the tables by the names of their files.

    Examples
    --------
    >>> from sightline.detection.evaluate import evaluate_detections
    >>> box = (0, 0, 40, 40)
    >>> results = evaluate_detections({"a.png": [[box, "cat"]]}, {"a.png": [[box, 0.9, "cat"]]})
    >>> tables = box_tables(detection_boxes(results, 0.5))
    >>> list(tables), tables["boxes_found"]["hit"].to_pylist()
    (['boxes_true', 'boxes_found', 'pictures'], [1])
    """
    return {
        "boxes_true": _true(boxes),
        "boxes_found": _found(boxes),
        "pictures": _pictures(boxes),
    }


def _true(boxes: DetectionBoxes) -> pa.Table:
    import pyarrow as pa

    truth, matches = boxes.ground_truth, boxes.matches
    partner = np.full(len(truth), -1, np.intp)
    hits = np.flatnonzero(matches.hit == 1)
    partner[matches.partner[hits]] = hits
    columns = _columns(truth) | {
        "area": truth.area,
        "crowd": truth.crowd,
        "difficult": truth.difficult,
        "counts": matches.counts,
        "partner": _rows(partner),
    }
    return pa.table(columns | _masks(truth.masks))


def _found(boxes: DetectionBoxes) -> pa.Table:
    import pyarrow as pa

    found, matches = boxes.detections, boxes.matches
    columns = _columns(found) | {
        "area": found.area,
        "score": found.score,
        "hit": matches.hit,
        "partner": _rows(matches.partner),
        "iou": pa.array(matches.iou, from_pandas=True),
    }
    return pa.table(columns | _masks(found.masks))


def _columns(side: GroundTruth | Detections) -> dict[str, Any]:
    edges = ("x", "y", "width", "height")
    named = {"image": side.image.tolist(), "label": side.label.tolist()}
    return named | {name: side.box[:, column] for column, name in enumerate(edges)}


def _rows(partner: Any) -> pa.Array:
    """Return rows; none where it is -1."""
    import pyarrow as pa

    return pa.array(partner.astype(np.int64), mask=partner < 0)


def _masks(masks: Sequence[Rle] | None) -> dict[str, Any]:
    """Return run lengths with the sides of their images, where there are any."""
    if masks is None:
        return {}
    import pyarrow as pa

    return {
        "mask": pa.array([one["counts"] for one in masks], pa.binary()),
        "mask_rows": pa.array([int(one["size"][0]) for one in masks], pa.int32()),
        "mask_columns": pa.array([int(one["size"][1]) for one in masks], pa.int32()),
    }


def _pictures(boxes: DetectionBoxes) -> pa.Table:
    import pyarrow as pa

    from sightline.detection import Picture  # here, since kernels come with it

    known = boxes.ground_truth.pictures
    found = [known.get(image) or Picture(str(image)) for image in boxes.images]
    return pa.table(
        {
            "image": list(boxes.images),
            "name": pa.array([one.name for one in found], pa.string()),
            "width": pa.array([one.width for one in found], pa.int32()),
            "height": pa.array([one.height for one in found], pa.int32()),
        }
    )
