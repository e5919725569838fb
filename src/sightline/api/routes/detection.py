"""Stored evaluations of detections: figures, classes, curves, confusions, and single images."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query

from sightline.api.problems import PROBLEMS, Refusal, not_found, of_store, wrong
from sightline.api.routes._cells import plain, to_table
from sightline.api.schemas import (
    Confusion,
    DetectedBox,
    Detection,
    DetectionClass,
    DetectionCurve,
    DetectionImage,
    DetectionImages,
    DetectionImageSummary,
    DetectionList,
    DetectionSummary,
    Figure,
    Table,
)
from sightline.api.state import Here, Served
from sightline.detection import ConfusionMatrix
from sightline.results import StoredDetection, detection_names, open_detection
from sightline.results.detection_boxes import BoxLine, StoredBoxes
from sightline.store.detection_parts import thin_curve

__all__ = ["router"]

router = APIRouter(tags=["detection"])

_CONFIDENCE = 0.25
_POINTS = 250
_BACKGROUND = "Background"

NamePart = Annotated[
    str, Path(description="Name of a stored evaluation.", max_length=200, examples=["eager"])
]
ConfidenceWord = Annotated[
    float | None,
    Query(
        description="Lowest score that counts; that of the stored confusion matrix unless given.",
        allow_inf_nan=False,
        examples=[0.25],
    ),
]
ClassWord = Annotated[
    str | None,
    Query(
        description="Name of a class, or Background: a row or column of the confusion matrix.",
        max_length=300,
        examples=["door"],
    ),
]
StateWord = Annotated[
    Literal["TP", "FP", "FN"] | None, Query(description="Count these; errors unless given.")
]
LimitWord = Annotated[int, Query(description="How many at most.", ge=1, le=1000)]
OffsetWord = Annotated[int, Query(description="How many to leave out first.", ge=0, le=10**9)]


@router.get(
    "/api/detection",
    response_model=DetectionList,
    responses={409: PROBLEMS[409]},
    summary="The stored evaluations of detections",
    description="A line for each, with COCO's 12 figures; none where `sightline detect GT DT "
    "--store STORE` has put none into the store.",
)
def detections(served: Here) -> DetectionList:
    """Return the stored evaluations."""
    names = detection_names(served.results.path)
    return DetectionList(evaluations=tuple(_summary(_open(served, name)) for name in names))


def _summary(found: StoredDetection) -> DetectionSummary:
    return DetectionSummary(
        name=found.name,
        protocol=found.protocol,
        images=found.about["results"].get("images"),
        figures=_figures(found),
    )


def _figures(found: StoredDetection) -> tuple[Figure, ...]:
    ends = found.intervals
    return tuple(
        Figure(
            metric=name,
            value=plain(value),
            low=plain(ends.get(name, (math.nan, math.nan))[0]),
            high=plain(ends.get(name, (math.nan, math.nan))[1]),
            n=found.about["results"].get("images"),
        )
        for name, value in found.figures.items()
    )


def _open(served: Served, name: str) -> StoredDetection:
    """Return an evaluation of the store."""
    known = detection_names(served.results.path)
    if name not in known:
        raise not_found(
            f"no evaluation {name!r} is stored; stored: {', '.join(known) or 'none'}", "name"
        )
    with of_store():
        return served.kept(("detection", name), lambda: open_detection(served.results.path, name))


def _boxes(found: StoredDetection) -> StoredBoxes:
    """Return the boxes of an evaluation."""
    with of_store():
        boxes = found.boxes
    if boxes is None:
        raise Refusal(
            409,
            f"the boxes of {found.name} were not stored; evaluate the detections again "
            "(sightline detect … --store …) to have them",
        )
    return boxes


def _confidence(found: StoredDetection, asked: float | None) -> float:
    """Return the lowest score that counts."""
    if asked is not None:
        return asked
    return _CONFIDENCE if found.confidence is None else found.confidence


# --- one evaluation ------------------------------------------------------------------------------


@router.get(
    "/api/detection/{name}",
    response_model=Detection,
    responses=PROBLEMS,
    summary="All of one evaluation of detections",
    description="COCO's 12 figures, the classes, precision over recall, the confusion matrix, what "
    "kinds of error cost, and how far confidences can be trusted. Counts and the confusion matrix "
    "are of the `confidence` asked for, by the engine that made the evaluation; that needs the "
    "boxes to be stored.",
)
def detection(served: Here, name: NamePart, confidence: ConfidenceWord = None) -> Detection:
    """Return all of one evaluation."""
    found = _open(served, name)
    with of_store():
        boxes = found.boxes
    if boxes is None and confidence not in (None, found.confidence):
        _boxes(found)
    least = _confidence(found, confidence)
    errors = found.errors
    with of_store():
        return Detection(
            name=name,
            protocol=found.protocol,
            iou=found.iou,
            confidence=found.confidence if boxes is None else least,
            figures=_figures(found),
            classes=_classes(found, boxes, least),
            curves=_curves(found),
            confusion=_confusion(served, found, boxes, least),
            errors={} if errors is None else plain(errors.cost),
            counts={} if errors is None else dict(errors.counts),
            reliability=_reliability(found),
            boxes=boxes is not None,
            note=_note(found, boxes),
        )


def _note(found: StoredDetection, boxes: StoredBoxes | None) -> str:
    parts = [f"counts, curves and errors at IoU {found.iou:g}, by the protocol {found.protocol}"]
    if boxes is None:
        parts.append("boxes were not stored: counts by class are not known")
    left = found.about["results"].get("left_out")
    if left:
        count = sum(left.values())
        parts.append(f"{count:,} detections of classes that the ground truth does not list")
    return "; ".join(parts)


def _classes(
    found: StoredDetection, boxes: StoredBoxes | None, confidence: float
) -> tuple[DetectionClass, ...]:
    counts = {} if boxes is None else boxes.class_counts(confidence)
    lines = found.classes.to_dict("records")
    return tuple(_class(line, counts.get(line["class"])) for line in lines)


def _class(line: Mapping[Any, Any], counts: Any) -> DetectionClass:
    fields = ("precision", "recall", "f1", "tp", "fp", "fn")
    told = {name: plain(getattr(counts, name, None)) for name in fields}
    return DetectionClass(
        key=str(line["class"]),
        name=str(line["name"]),
        ap=plain(line["AP"]),
        ap50=plain(line.get("AP50")),
        best_confidence=plain(line["threshold"]),
        best_f1=plain(line["f1"]),
        **told,
    )


def _curves(found: StoredDetection) -> tuple[DetectionCurve, ...]:
    """Return the curves with so many points that a screen can show."""
    curves = []
    for key, data in found.pr_curves().items():
        kept = thin_curve(data["recall"], data["precision"], _POINTS)
        columns = {
            column: plain(data[column][kept].tolist())
            for column in ("recall", "precision", "confidence")
        }
        if data["num_gt"]:
            curves.append(DetectionCurve(key=str(key), name=found.names[key], **columns))
    return tuple(curves)


def _confusion(
    served: Served, found: StoredDetection, boxes: StoredBoxes | None, confidence: float
) -> Confusion | None:
    matrix = found.confusion_matrix()
    if boxes is not None and confidence != found.confidence:
        key = ("confusion", found.name, confidence)
        matrix = served.kept(key, lambda: boxes.confusion_matrix(confidence))
    return None if matrix is None else _told(matrix, found.names)


def _told(matrix: ConfusionMatrix, names: Mapping[Any, str]) -> Confusion:
    """Return a matrix without "Others", which is empty where every class has its row."""
    labels, counts = [str(names.get(one, one)) for one in matrix.class_labels], matrix.matrix
    kept = list(range(len(labels)))
    others = len(labels) - 2
    if not counts[others].any() and not counts[:, others].any():
        kept.remove(others)
    rows = counts[kept][:, kept].tolist()
    return Confusion(
        labels=tuple(labels[place] for place in kept), counts=tuple(tuple(row) for row in rows)
    )


def _reliability(found: StoredDetection) -> Table | None:
    import pandas as pd

    known = found.reliability()
    if known is None:
        return None
    columns: dict[str, Any] = {"low": known.edges[:-1], "high": known.edges[1:]}
    columns |= {name: getattr(known, name) for name in ("count", "confidence", "precision")}
    return to_table(pd.DataFrame(columns), f"ECE {known.ece:.4f}, MCE {known.mce:.4f}")


# --- images --------------------------------------------------------------------------------------


@router.get(
    "/api/detection/{name}/images",
    response_model=DetectionImages,
    responses=PROBLEMS,
    summary="Images of an evaluation: behind a cell of the confusion matrix, or with most errors",
    description="With `true` and `predicted` the images that the cell counts, `count` being how "
    "often; with `state` those with most of it; else those with most errors. Equal ones are in "
    "the order of their names.",
)
def detection_images(
    served: Here,
    name: NamePart,
    true: ClassWord = None,
    predicted: ClassWord = None,
    state: StateWord = None,
    confidence: ConfidenceWord = None,
    limit: LimitWord = 100,
    offset: OffsetWord = 0,
) -> DetectionImages:
    """Return images of an evaluation."""
    if (true is None) != (predicted is None):
        missing = "predicted" if predicted is None else "true"
        raise wrong("true and predicted name a cell: both must be given, or none", missing)
    if true is not None and state is not None:
        raise wrong("state does not go with a cell (true, predicted)", "state")
    found = _open(served, name)
    boxes, least = _boxes(found), _confidence(found, confidence)
    lines = boxes.image_counts(least).to_dict("records")
    if true is not None and predicted is not None:
        cell = (_class_of(found, true, "true"), _class_of(found, predicted, "predicted"))
        key = ("cell", name, least, *cell)
        counts = served.kept(key, lambda: boxes.cell_images(least, *cell))
    else:
        columns = ("fp", "fn") if state is None else (state.lower(),)
        counts = {line["image"]: sum(line[column] for column in columns) for line in lines}
    ids = _image_ids(served, found, boxes)
    kept = [line for line in lines if counts.get(line["image"], 0)]
    kept.sort(key=lambda line: (-counts[line["image"]], ids[line["image"]]))
    items = tuple(
        DetectionImageSummary(
            image=ids[line["image"]],
            count=counts[line["image"]],
            shown=ids[line["image"]] in served.images,
            **{column: line[column] for column in ("tp", "fp", "fn")},
        )
        for line in kept[offset : offset + limit]
    )
    return DetectionImages(name=name, total=len(kept), items=items)


def _class_of(found: StoredDetection, text: str, field: str) -> Any:
    """Return a class by its name; None stands for the background."""
    for key, called in found.names.items():
        if text in (called, str(key)):
            return key
    if text == _BACKGROUND:
        return None
    known = ", ".join(list(found.names.values())[:20])
    raise wrong(f"no class {text!r} was evaluated; there are {known}, {_BACKGROUND}", field)


def _image_ids(served: Served, found: StoredDetection, boxes: StoredBoxes) -> dict[Any, str]:
    """Return what the service calls each image: as the study does, where it has the image."""
    return served.kept(("detection ids", found.name), lambda: _name_images(served, boxes))


def _name_images(served: Served, boxes: StoredBoxes) -> dict[Any, str]:
    stems: dict[str, list[str]] = {}
    for image in served.images:
        stems.setdefault(PurePosixPath(image).stem, []).append(image)
    found: dict[Any, str] = {}
    for key, name in zip(boxes.pictures["image"], boxes.pictures["name"], strict=True):
        flat, last = str(name).replace("/", "__"), str(name).rpartition("/")[2]
        fitting = [one for one in (flat, last) if one in served.images]
        alone = stems.get(PurePosixPath(last).stem, [])
        found[key] = fitting[0] if fitting else alone[0] if len(alone) == 1 else flat
    if len(set(found.values())) < len(found):  # names without their folders are not told apart
        keys = zip(boxes.pictures["image"], boxes.pictures["name"], strict=True)
        return {key: str(name).replace("/", "__") for key, name in keys}
    return found


@router.get(
    "/api/detection/{name}/images/{image_id}",
    response_model=DetectionImage,
    responses=PROBLEMS,
    summary="Ground truth and detections of one image",
    description="True boxes first, then what was found from `confidence` on, the most confident "
    "first, each with what became of it by the protocol of the evaluation. `across` and "
    "`taken_for` come from pairing boxes whatever their classes, as the confusion matrix does.",
)
def detection_image(
    served: Here,
    name: NamePart,
    image_id: Annotated[str, Path(max_length=500, examples=["facade-00000.png"])],
    confidence: ConfidenceWord = None,
) -> DetectionImage:
    """Return ground truth and detections of one image."""
    found = _open(served, name)
    boxes, least = _boxes(found), _confidence(found, confidence)
    ids = _image_ids(served, found, boxes)
    key = next((one for one, called in ids.items() if called == image_id), None)
    if key is None:
        raise not_found(
            f"no image {image_id!r} was evaluated in {name}; it has {len(ids):,} images", "image_id"
        )
    size = _size(served, boxes, key, image_id)
    lines = boxes.image_boxes(key, least)
    states = [line.state for line in lines]
    return DetectionImage(
        name=name,
        image=image_id,
        confidence=least,
        iou=found.iou,
        boxes=tuple(_box(line, size, found.names) for line in lines),
        tp=states.count("TP"),
        fp=states.count("FP"),
        fn=states.count("FN"),
    )


def _size(served: Served, boxes: StoredBoxes, key: Any, image_id: str) -> tuple[int, int]:
    """Return the sides of an image in pixels."""
    size = boxes.size_of(key)
    if size is not None:
        return size
    known = served.images.get(image_id)
    if known is not None and known.width and known.height:
        return known.width, known.height
    raise Refusal(
        409,
        f"the size of image {image_id!r} is not known: neither the evaluated files tell it nor is "
        "the image one of the study",
    )


def _box(line: BoxLine, size: tuple[int, int], names: Mapping[Any, str]) -> DetectedBox:
    x0, y0, x1, y1 = line.corners
    width, height = size
    taken_for = None if line.taken_for is None else str(names.get(line.taken_for, line.taken_for))
    return DetectedBox(
        box=(x0 / width, y0 / height, x1 / width, y1 / height),
        label=str(names.get(line.label, line.label)),
        score=line.score,
        state=line.state,  # type: ignore[arg-type]
        iou=line.iou,
        partner=line.partner,
        across=line.across,
        taken_for=taken_for,
    )
