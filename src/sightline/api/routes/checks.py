"""Checks of whether maps are about the model."""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby
from typing import Annotated, Any

from fastapi import APIRouter, Query

from sightline.api.problems import PROBLEMS, Refusal, not_found
from sightline.api.routes._cells import point, read_note, records, to_table
from sightline.api.routes._check_tables import (
    STUDIED,
    AskedRedraw,
    CheckParamsDep,
    MeasureWord,
    RedrawnWords,
    filled,
    frame_of,
    kept_lines,
    one_of,
    read_metric,
    stock_of,
    stored_checks,
)
from sightline.api.schemas import (
    Background,
    BackgroundLine,
    Cascade,
    CascadeLine,
    CascadePoint,
    CheckList,
    Faithfulness,
    FaithfulnessLine,
    Parts,
    PartsLine,
    Reading,
    RemovalCurves,
    RemovalLine,
    Sanity,
    SanityLine,
)
from sightline.api.state import Here, Served
from sightline.attribution.sanity.table import (
    BASELINES,
    MEASURES,
    SIMILARITIES,
    STAGED,
    WAYS,
    WHOLE,
)
from sightline.results.faithfulness import (
    background_test,
    faithfulness_curves,
    faithfulness_table,
    parts_table,
)
from sightline.results.sanity import cascade_table, sanity_table

__all__ = ["router"]

router = APIRouter(tags=["checks"])

_MISSING: dict[int | str, dict[str, Any]] = {404: PROBLEMS[404], 409: PROBLEMS[409]}
_ABSOLUTE, _CURVE = "_abs", "_curve"


@router.get(
    "/api/checks",
    response_model=CheckList,
    responses=_MISSING,
    summary="Checks of whether maps are about the model: what is stored",
    description="Which checks the study ran, of which models and methods, and what can be asked of "
    "the routes below. 404 where the study ran none.",
)
def checks(served: Here) -> CheckList:
    """Return the checks that are stored."""
    stock = stock_of(served, *stored_checks(served))
    measured = frozenset[str]().union(*stock.measures.values())
    return CheckList(
        checks=stored_checks(served),
        models=stock.models,
        methods=tuple(sorted(stock.methods, key=lambda name: name in BASELINES)),
        targets=stock.targets,
        ways=tuple(way for way in WAYS if way in stock.ways),
        measures=tuple(name for name in SIMILARITIES if name in measured),
        readings=_readings(measured),
        faithfulness=tuple(name for name in MEASURES if name in measured),
        curves=tuple(name for name in MEASURES if f"{name}{_CURVE}" in measured),
        table=to_table(stock.table, "how many images and draws each check is over"),
    )


def _readings(measured: Collection[str]) -> tuple[Reading, ...]:
    signed = any(f"{name}{_ABSOLUTE}" in measured for name in SIMILARITIES)
    return ("signed", "absolute") if signed else ("signed",)


# --- randomisation -------------------------------------------------------------------------------


@router.get(
    "/api/checks/sanity",
    response_model=Sanity,
    responses=PROBLEMS,
    summary="Verdicts: do maps depend on what the model learnt?",
    description="A line for each model and method: how similar maps stay when the weights are "
    "randomised, next to the similarity to maps of other images. `verdict` compares the two (fail: "
    "the lower end of the difference above 0.1, or of the similarity above 0.6; pass: the upper "
    "end of the difference below 0.1), `guide` and `cascade` say what the guide's rule says. "
    "Verdicts do not rank methods. `layer` was checked, `best_layer` is the one that the "
    "leaderboard of `metric` reports.",
)
def check_sanity(served: Here, params: CheckParamsDep, how: RedrawnWords) -> Sanity:
    """Return the verdicts."""
    asked, metric = _asked(served, how, WHOLE), read_metric(served, params)
    frame = frame_of(
        served,
        ("sanity", metric, tuple(asked.items())),
        lambda: sanity_table(served.results, metric=metric, **asked),
    )
    lines = tuple(filled(SanityLine, line) for line in kept_lines(served, params, frame))
    return Sanity(**asked, lines=lines, note=frame.attrs["note"])


def _asked(served: Served, how: AskedRedraw, ways: tuple[str, ...]) -> dict[str, Any]:
    """Return what a table of randomisation is about; the first way that is stored is the usual."""
    stock = stock_of(served, "randomisation")
    measured = stock.measures["randomisation"]
    alike = [one for one in SIMILARITIES if one in measured]
    known = [name for name in ways if name in stock.ways]
    if not known:
        raise not_found(f"weights were redrawn in none of the ways {', '.join(ways)}")
    return {
        "measure": one_of("measure", how.measure, alike),
        "reading": one_of("reading", how.reading, _readings(measured)),
        "way": one_of("way", how.way, known),
    }


@router.get(
    "/api/checks/cascade",
    response_model=Cascade,
    responses=PROBLEMS,
    summary="Similarity of maps as one part of the network after the other is redrawn",
    description="A line for each model and method, with a point for each stage, from the trained "
    "network (stage −1) on; beside it what maps of other images, edges and another training reach, "
    "and the accuracy that the model has left.",
)
def check_cascade(served: Here, params: CheckParamsDep, how: RedrawnWords) -> Cascade:
    """Return similarities by stage."""
    asked, metric = _asked(served, how, STAGED), read_metric(served, params)
    frame = frame_of(
        served,
        ("cascade", metric, tuple(asked.items())),
        lambda: cascade_table(served.results, metric=metric, **asked),
    )
    lines = kept_lines(served, params, frame)
    found = tuple(_cascade_line(list(group)) for _, group in groupby(lines, key=_key))
    return Cascade(**asked, lines=found, note=frame.attrs["note"])


def _key(line: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(line[name] for name in STUDIED)


def _cascade_line(stages: list[dict[str, Any]]) -> CascadeLine:
    ordered = sorted(stages, key=lambda one: one["stage"])
    points = tuple(filled(CascadePoint, one) for one in ordered)
    return filled(CascadeLine, ordered[-1], points=points)


# --- faithfulness --------------------------------------------------------------------------------


@router.get(
    "/api/checks/faithfulness",
    response_model=Faithfulness,
    responses=PROBLEMS,
    summary="Does the answer of the model depend on what maps rank first?",
    description="A line for each model, method and measure, with what a random map gets on "
    "the same images. `better` says which values are better; `measure` leaves one of them.",
)
def check_faithfulness(
    served: Here, params: CheckParamsDep, measure: MeasureWord = None
) -> Faithfulness:
    """Return measures of faithfulness."""
    measured = stock_of(served, "faithfulness").measures["faithfulness"]
    known = [name for name in MEASURES if name in measured]
    asked = known if measure is None else [one_of("measure", measure, known)]
    metric = read_metric(served, params)
    frame = frame_of(
        served,
        ("faithfulness", metric),
        lambda: faithfulness_table(served.results, metric=metric),
    )
    lines = kept_lines(served, params, frame)
    return Faithfulness(
        measures=tuple(asked),
        lines=tuple(filled(FaithfulnessLine, one) for one in lines if one["measure"] in asked),
        note=frame.attrs["note"],
    )


@router.get(
    "/api/checks/curves",
    response_model=RemovalCurves,
    responses=PROBLEMS,
    summary="The score of the class as pixels are changed",
    description="A line for each model and method: pixels are changed in the order in which the "
    "map ranks them, and x is the share that was changed. `measure` is one of `curves` of "
    "/api/checks, the first unless given.",
)
def check_curves(
    served: Here, params: CheckParamsDep, measure: MeasureWord = None
) -> RemovalCurves:
    """Return curves of removal."""
    measured = stock_of(served, "faithfulness").measures["faithfulness"]
    known = [name for name in MEASURES if f"{name}{_CURVE}" in measured]
    if not known:
        raise not_found("no curves are stored: the study measured none that has any")
    asked, metric = one_of("measure", measure, known), read_metric(served, params)
    frame = frame_of(
        served,
        ("curves", asked, metric),
        lambda: faithfulness_curves(served.results, asked, metric=metric),
    )
    lines = tuple(
        _removal_line(list(group))
        for _, group in groupby(kept_lines(served, params, frame), key=_key)
    )
    return RemovalCurves(measure=asked, lines=lines, note=frame.attrs["note"])


def _removal_line(points: list[dict[str, Any]]) -> RemovalLine:
    ordered = sorted(points, key=lambda one: one["share"])
    drawn = tuple(point(one | {"n": one["images"]}, one["share"]) for one in ordered)
    return filled(RemovalLine, points[0], points=drawn)


# --- parts ---------------------------------------------------------------------------------------


@router.get(
    "/api/checks/parts",
    response_model=Parts,
    responses=PROBLEMS,
    summary="Do maps rank first the parts that decide?",
    description="Of images drawn by code it is known which parts change the class when they are "
    "taken away. A line for each model and method: precision, recall and average precision of what "
    "the map ranks first, with the share of deciding parts as chance.",
)
def check_parts(served: Here, params: CheckParamsDep) -> Parts:
    """Return how well deciding parts are found."""
    stock_of(served, "parts")
    metric = read_metric(served, params)
    frame = frame_of(served, ("parts", metric), lambda: parts_table(served.results, metric=metric))
    lines = tuple(filled(PartsLine, one) for one in kept_lines(served, params, frame))
    return Parts(lines=lines, note=frame.attrs["note"])


@router.get(
    "/api/checks/background",
    response_model=Background,
    responses=PROBLEMS,
    summary="Do maps of one model lie more on the background than those of another?",
    description="A line for each method that both have: the share of the map outside all annotated "
    "regions, paired by image, with a p-value by sign flips. Without `one` and `other` the first "
    "two models.",
)
def check_background(
    served: Here,
    one: Annotated[str | None, Query(description="Full name of a model.", max_length=200)] = None,
    other: Annotated[str | None, Query(description="Full name of another.", max_length=200)] = None,
) -> Background:
    """Return which of two models looks more at the background."""
    known = [str(name) for name in served.results.models]
    first = one_of("one", one, known)
    second = one_of("other", other, [name for name in known if name != first] or known)
    if first == second:
        raise Refusal(409, "two models are needed; the study has one")
    frame = frame_of(
        served,
        ("background", first, second),
        lambda: background_test(served.results, first, second),
    )
    lines = tuple(filled(BackgroundLine, line) for line in records(frame))
    return Background(one=first, other=second, lines=lines, **read_note(frame))
