"""What speaks for and against maps: right answers, other methods, other layers, bad images."""

from __future__ import annotations

from itertools import groupby
from typing import Annotated, Any

import pandas as pd
from fastapi import APIRouter, Query

from sightline.api.choice import AskedTable, Chosen, MetricWord, TableWords, choose_line
from sightline.api.problems import PROBLEMS, Refusal, naming, of_store, wrong
from sightline.api.routes import _frames as frames
from sightline.api.routes._cells import layer_of, plain, read_note, records
from sightline.api.routes._check_tables import CheckWords, filled, frame_of, kept_lines, line_key
from sightline.api.routes._table_cache import keep
from sightline.api.schemas import (
    AccuracyLine,
    AgreementLine,
    AgreementMatrix,
    ClassLine,
    Correctness,
    CorrectnessLine,
    FailureImage,
    FailureReason,
    Failures,
    LayerChange,
    LayerChanges,
    LayerChangesLine,
)
from sightline.api.state import Here, Served
from sightline.metrics import METRICS
from sightline.report._lines import Lines
from sightline.results.agreement import map_agreement
from sightline.results.correctness import (
    class_scatter,
    compute_accuracy_scatter,
    correct_and_wrong,
)
from sightline.results.failures import failure_cases, failure_reasons, worst_images
from sightline.results.map_changes import layer_changes
from sightline.results.predictions import stored_predictions

__all__ = ["router"]

router = APIRouter(tags=["checks"])

# Of the worst images: so many at most unless asked, and no more than one in so many.
_COUNT, _ONE_IN = 12, 4
CountWord = Annotated[
    int | None,
    Query(
        description="How many of the worst images; 12, or a quarter of fewer, unless given.",
        ge=1,
        le=200,
    ),
]


def _predictions(served: Served) -> pd.DataFrame | None:
    """Return what the study's classifiers said of its images, where that is stored."""
    with of_store():
        return keep(served, "predictions", lambda: stored_predictions(served.results))


# --- right and wrong -----------------------------------------------------------------------------


@router.get(
    "/api/checks/correctness",
    response_model=Correctness,
    responses=PROBLEMS,
    summary="Do maps score better where the model is right?",
    description="A line for each model and method: scores on images whose label the model predicts "
    "and on the others, their difference, and the same adjusted for annotated area and confidence, "
    "null with a reason below 5 images on either side; a point for each model and method with the "
    "accuracy of the model; and a line for each class of images with its accuracy. A difference "
    "shows that maps agree with people where the model is right, not that they are faithful. 409 "
    "where the models have not been asked what they predict.",
)
def check_correctness(served: Here, words: CheckWords, metric: MetricWord = None) -> Correctness:
    """Return scores where the model is right and where it is wrong."""
    with naming("metric"):
        name = str(served.name(metric))
    known = _predictions(served)
    if known is None:
        raise Refusal(
            409,
            "what the models predict is not stored; `sightline sanity STORE` and `sightline report "
            "STORE` ask them, once",
        )
    given: dict[str, Any] = {"predictions": known}
    lines = frame_of(
        served, ("correct", name), lambda: correct_and_wrong(served.results, name, **given)
    )
    models = frame_of(
        served,
        ("accuracy", name),
        lambda: compute_accuracy_scatter(served.results, name, **given),
    )
    classes = frame_of(
        served, ("classes", name), lambda: class_scatter(served.results, name, **given)
    )
    kept = kept_lines(served, words, lines)
    return Correctness(
        metric=name,
        lines=tuple(filled(CorrectnessLine, one) for one in kept),
        models=tuple(filled(AccuracyLine, one) for one in kept_lines(served, words, models)),
        classes=tuple(filled(ClassLine, one) for one in kept_lines(served, words, classes)),
        **read_note(lines) | {"warnings": frames.find_row_warnings(served, kept)},
    )


# --- agreement -----------------------------------------------------------------------------------


@router.get(
    "/api/checks/agreement",
    response_model=AgreementMatrix,
    responses=PROBLEMS,
    summary="Do methods show the same?",
    description="Rank correlations of the maps of methods, image by image, then averaged, with "
    "intervals over images. Lines are so ordered that those that agree stand together.",
)
def check_agreement(served: Here, words: TableWords) -> AgreementMatrix:
    """Return how much methods agree."""
    lines = frames.lines_of(served, frames.asked(served, words)).shown()
    key = ("agreement", tuple((one.model, one.told()) for one in lines.lines))
    scenes = served.scenes
    with of_store():
        found = keep(served, key, lambda: map_agreement(scenes, lines.lines))
    order = [int(one) for one in found.order]
    return AgreementMatrix(
        lines=tuple(_agreement_line(lines, place) for place in order),
        **{
            name: plain(matrix[order][:, order])
            for name, matrix in (
                ("values", found.matrix),
                ("low", found.low),
                ("high", found.high),
                ("counts", found.counts),
            )
        },
        images=found.n,
        note=f"Spearman's correlation of maps, mean over {found.n} of {found.images} images with "
        "95% intervals; those that agree stand together",
    )


def _agreement_line(lines: Lines, place: int) -> AgreementLine:
    line = lines.lines[place]
    told = {name: getattr(line, name) for name in ("model", "method", "group", "target")}
    return AgreementLine(name=lines.names[place], **told, layer=layer_of(line.layer))


# --- failures ------------------------------------------------------------------------------------


@router.get(
    "/api/checks/failures",
    response_model=Failures,
    responses=PROBLEMS,
    summary="The worst images of a method, and what is peculiar about them",
    description="`items` are the images with the lowest scores; `reasons` says which peculiarities "
    "are found more often among them than among the others. That is association: no reason need "
    "be the cause.",
)
def check_failures(served: Here, words: TableWords, count: CountWord = None) -> Failures:
    """Return the worst images."""
    chosen = _failing(served, words)
    metric, usual = str(chosen.name), max(1, min(_COUNT, len(served.images) // _ONE_IN))
    given, how_many = _given(chosen, words), usual if count is None else count

    def found() -> tuple[pd.DataFrame, pd.DataFrame]:
        known = _predictions(served)
        known = pd.DataFrame(columns=_UNKNOWN) if known is None else known
        cases = failure_cases(served.results, metric, **given, predictions=known)
        return failure_reasons(cases, how_many), worst_images(cases, how_many)

    key = ("failures", metric, tuple(given.items()), how_many)
    with naming("count"):
        reasons, worst = keep(served, key, found)
    return Failures(
        choice=chosen.choice,
        metric=metric,
        items=tuple(_failure(line) for line in records(worst)),
        reasons=tuple(filled(FailureReason, one) for one in records(reasons)),
        note=reasons.attrs["note"],
    )


_UNKNOWN = ["model", "image", "predicted", "probability", "label", "correct"]


def _failing(served: Served, words: AskedTable) -> Chosen:
    """Return the maps whose worst images are asked for."""
    for field in ("head", "seed", "target"):
        if getattr(words, field) is not None:
            raise wrong(f"{field} does not go with failures", field)
    chosen = choose_line(served, frames.asked(served, words))
    if METRICS[chosen.name.metric].direction == "neither":
        raise wrong(f"{chosen.name}: no value is worse than another", "metric")
    return chosen


def _given(chosen: Chosen, words: AskedTable) -> dict[str, Any]:
    choice = chosen.choice
    return {
        "model": choice.model,
        "method": choice.method,
        "layer": words.layer if choice.layer is None else choice.layer,
    }


def _failure(line: dict[str, Any]) -> FailureImage:
    reasons = tuple(one for one in str(line["reasons"]).split("; ") if one)
    return filled(FailureImage, line, reasons=reasons)


# --- layers --------------------------------------------------------------------------------------


@router.get(
    "/api/checks/layers",
    response_model=LayerChanges,
    responses=PROBLEMS,
    summary="How do maps change from layer to layer?",
    description="A line for each model and method with layers: the rank correlation of the maps of "
    "each layer and the next, mean over images.",
)
def check_layers(served: Here, words: CheckWords) -> LayerChanges:
    """Return how maps change from layer to layer."""
    scenes = served.scenes
    frame = frame_of(served, "layers", lambda: layer_changes(scenes))
    lines = groupby(kept_lines(served, words, frame), key=line_key)
    return LayerChanges(
        lines=tuple(_changes(list(points)) for _, points in lines), note=frame.attrs["note"]
    )


def _changes(points: list[dict[str, Any]]) -> LayerChangesLine:
    steps = tuple(LayerChange(**_step(one)) for one in points)
    return filled(LayerChangesLine, points[0], points=steps)


def _step(one: dict[str, Any]) -> dict[str, Any]:
    return {name: one[name] for name in LayerChange.model_fields}
