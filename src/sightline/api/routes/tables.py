"""Tables over all images: leaderboard, layers, percentiles, ranks, labels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Annotated, Any
from urllib.parse import quote, urlencode

import pandas as pd
from fastapi import APIRouter, Query

from sightline.api.choice import AskedTable, TableWords
from sightline.api.problems import PROBLEMS, wrong
from sightline.api.routes import _frames as frames
from sightline.api.routes._cells import layer_of, plain, point, read_note, records
from sightline.api.routes._table_cache import keep
from sightline.api.schemas import (
    BestBaseline,
    Breakdown,
    BreakdownLine,
    Figure,
    Leaderboard,
    LeaderboardLine,
    Progression,
    ProgressionLine,
    Ranking,
    RankingCell,
    RankingLine,
    Sweep,
)
from sightline.api.state import Here, Served
from sightline.results._random import NAME as AVERAGE_PRECISION
from sightline.results._random import random_means
from sightline.results._wording import beside_name

__all__ = ["LeastWord", "router", "tables_ahead"]

router = APIRouter(tags=["tables"])

_METRICS = 40
# Lines of the leaderboard, and scores, whose tables are made before anybody asks.
_LINES_AHEAD, _SCORES_AHEAD = 50, 8
# At which the app shows scores unless asked.
_PERCENTILE = 90
MetricsWord = Annotated[
    str | None,
    Query(
        description="Scores to rank by, separated by commas; the usual ones unless given.",
        max_length=2000,
        examples=["coverage,iou@90"],
    ),
]
AncestorsWord = Annotated[
    bool, Query(description="Add lines for the labels above; each counts all regions below it.")
]
LeastWord = Annotated[
    int, Query(description="Leave out labels with fewer regions, or images.", ge=0, le=10**9)
]


@router.get(
    "/api/leaderboard",
    response_model=Leaderboard,
    responses=PROBLEMS,
    summary="All models and methods, the best first",
    description="A line for each model, method and target: the mean over images with its 95% "
    "interval, chance, ceiling and how many images it is over. Baselines are among them; those "
    "that are equal for several models are one line. `metric` decides what is shown, and which "
    "layer is best. Recall and lift come with another score (`beside`): they are never read alone. "
    "`best_baseline` reports how the best line compares with the best baseline of the run.",
)
def leaderboard(served: Here, words: TableWords) -> Leaderboard:
    """Return the leaderboard."""
    frame = frames.board(served, words)
    fields = LeaderboardLine.model_fields
    none: dict[str, Any] = dict.fromkeys(fields)
    other, values = _beside(served, words, frame.attrs["metric"])
    random = _random(served, words, frame.attrs["metric"])
    also = (
        {"beside": other, "beside_value": values.get(name), "random": random.get(name)}
        for name in frame["name"]
    )
    lines = tuple(
        LeaderboardLine(**none | _known(line, fields) | more)
        for line, more in zip(records(frame), also, strict=True)
    )
    best = frames.compare_best_baseline(served, words)
    return Leaderboard(
        metric=frame.attrs["metric"],
        lines=lines,
        best_baseline=None if best is None else BestBaseline(**best.to_dict()),
        **read_note(frame),
    )


def _beside(served: Served, words: AskedTable, metric: str) -> tuple[str | None, dict[str, Any]]:
    """Return what a score is never shown without, and its mean by the names of lines."""
    other = beside_name(served.name(metric), served.tables.names)
    if other is None:
        return None, {}
    words = frames.asked(served, words)
    found = frames.lines_of(served, words)
    frame = keep(served, ("beside", metric, other, words), lambda: found.board(other))
    return str(other), {line["name"]: line["value"] for line in records(frame)}


def _random(served: Served, words: AskedTable, metric: str) -> dict[str, Any]:
    """Return what a random ranking gets on average precision, by the names of lines."""
    if metric != str(AVERAGE_PRECISION):
        return {}
    found = frames.lines_of(served, frames.asked(served, words))
    means = random_means(served.tables, found.lines)
    return dict(zip(found.names, map(plain, means), strict=True))


def _known(line: dict[str, Any], fields: Any) -> dict[str, Any]:
    known = {name: value for name, value in line.items() if name in fields}
    return known | {"layer": layer_of(line["layer"])}


@router.get(
    "/api/layers",
    response_model=Progression,
    responses=PROBLEMS,
    summary="Scores by layer",
    description="A line for each model, method and target, with a point for each layer. Methods "
    "without layers have one point, and `layered` is false.",
)
def layers(served: Here, words: TableWords) -> Progression:
    """Return means by layer."""
    frame = frames.progression(served, words)
    lines = tuple(_layer_line(group) for group in _grouped(frame))
    return Progression(metric=frame.attrs["metric"], lines=lines, **read_note(frame))


_LINE = ("name", "models", "model", "method", "group", "target")


def _grouped(frame: pd.DataFrame) -> list[list[dict[str, Any]]]:
    """Return the lines of a table that belong to one model, method and target."""
    key = lambda line: tuple(line[name] for name in ("model", "method", "target"))  # noqa: E731
    return [list(lines) for _, lines in groupby(records(frame), key=key)]


def _layer_line(group: list[dict[str, Any]]) -> ProgressionLine:
    layered = any(line["layer"] is not None for line in group)
    points = tuple(point(line, line["layer"] or 0) for line in group)
    return ProgressionLine(
        **{name: group[0][name] for name in _LINE}, layered=layered, points=points
    )


@router.get(
    "/api/percentiles",
    response_model=Sweep,
    responses=PROBLEMS,
    summary="Scores by percentile",
    description="A line for each model, method and target, with a point for each percentile that "
    "was stored. The layer is one and the same along a line: that which the leaderboard of "
    "percentile 90 shows.",
)
def percentiles(served: Here, words: TableWords) -> Sweep:
    """Return means by percentile."""
    frame = frames.sweep(served, words)
    lines = tuple(_sweep_line(group) for group in _grouped(frame))
    return Sweep(metric=frame.attrs["metric"], lines=lines, **read_note(frame))


def _sweep_line(group: list[dict[str, Any]]) -> ProgressionLine:
    ordered = sorted(group, key=lambda line: line["percentile"])
    layer = layer_of(group[0]["layer"])
    return ProgressionLine(
        **{name: group[0][name] for name in _LINE},
        layer=layer,
        layered=layer is not None,
        points=tuple(point(line, line["percentile"]) for line in ordered),
    )


@router.get(
    "/api/ranking",
    response_model=Ranking,
    responses=PROBLEMS,
    summary="Ranks of models and methods by several scores",
    description="A line for each model, method and target, the best by `metric` first, with its "
    "mean and rank by each of `metrics`; equal ones share a rank. `significant` says whether it "
    "differs from the best by that score: sign-flip test over images, corrected by Holm for the "
    "lines, at 0.05; where layers were chosen on the same images, with layers chosen by halves.",
)
def ranking(served: Here, words: TableWords, metrics: MetricsWord = None) -> Ranking:
    """Return ranks by several scores."""
    asked = tuple(dict.fromkeys(one.strip() for one in (metrics or "").split(",") if one.strip()))
    if len(asked) > _METRICS:
        raise wrong(f"metrics must be at most {_METRICS}; got {len(asked)}", "metrics")
    frame = frames.ranking(served, words, asked)
    lines: dict[str, list[dict[str, Any]]] = {}
    for line in records(frame):
        lines.setdefault(line["name"], []).append(line)
    shown = tuple(dict.fromkeys(frame["metric"]))
    return Ranking(
        metrics=shown,
        lines=tuple(_ranking_line(one) for one in lines.values()),
        note="ranks by means over images, 1 is best; equal ones share a rank",
        warnings=frame.attrs["warnings"],
    )


def _ranking_line(group: list[dict[str, Any]]) -> RankingLine:
    fields = ("metric", "value", "rank", "significant")
    cells = tuple(RankingCell(**{name: line[name] for name in fields}) for line in group)
    named = {name: group[0][name] for name in _LINE}
    return RankingLine(**named, layer=layer_of(group[0]["layer"]), cells=cells)


@router.get(
    "/api/breakdown/labels",
    response_model=Breakdown,
    responses=PROBLEMS,
    summary="Scores of regions by label",
    description="A line for each label of regions: mean IoU, recall, pointing and coverage of its "
    "single regions, with intervals clustered by image. `percentile` (or `selection`) must be one "
    "that was stored.",
)
def label_breakdown(
    served: Here, words: TableWords, ancestors: AncestorsWord = False, min_count: LeastWord = 1
) -> Breakdown:
    """Return scores by label of regions."""
    frame, choice, token = frames.label_breakdown(served, words, ancestors)
    parents = served.taxonomy.parents
    lines = tuple(
        _label_line(line, token, parents.get(line["label"], ()))
        for line in records(frame)
        if line["n"] + line["undefined"] >= min_count
    )
    return Breakdown(
        by="labels", choice=choice, metric=f"iou@{token}", lines=lines, **read_note(frame)
    )


def tables_ahead(served: Served) -> Iterator[tuple[str, ...]]:
    """Yield the paths of tables that pages open with, a few at a time, then of each line.

    What is behind them is kept, also where words differ from those that are asked for later.
    """
    yield "/api/leaderboard", "/api/layers", "/api/images?limit=60"
    for name in served.results.metrics[:_SCORES_AHEAD]:
        word = quote(name)
        yield f"/api/leaderboard?metric={word}", f"/api/layers?metric={word}"
        yield (f"/api/images?sort={word}&limit=60",)
    for line in records(frames.board(served, AskedTable()))[:_LINES_AHEAD]:
        named = {name: line[name] for name in ("model", "method")} | {
            "layer": layer_of(line["layer"])
        }
        words = urlencode({name: word for name, word in named.items() if word is not None})
        yield _images_ahead(served, words)
        yield _image_ahead(served, words)
        if served.study["regions"]:
            yield (f"/api/breakdown/labels?{words}",)


def _images_ahead(served: Served, words: str) -> tuple[str, ...]:
    """Return the paths of a line's images, in the orders that are likely to be asked for."""
    page = f"/api/images?{words}&limit=60"
    names = served.results.metrics[:_SCORES_AHEAD]
    return page, *(f"{page}&sort={quote(name)}" for name in names)


def _image_ahead(served: Served, words: str) -> tuple[str, ...]:
    """Return the paths of a line on one image: the means beside its scores are those of all."""
    image = quote(next(iter(served.images), ""))
    scores = f"/api/metrics/{image}"
    levels = {_PERCENTILE, *served.study["percentiles"][:_SCORES_AHEAD]}
    at = (f"{scores}?{words}&percentile={level:g}" for level in sorted(levels))
    others = (f"{scores}/layers", f"{scores}/percentiles", f"/api/maps/{image}")
    return *at, *(f"{one}?{words}" for one in others)


_BESIDE = ("low", "high", "median", "std", "chance", "ceiling")


def _label_line(line: dict[str, Any], token: str, parents: tuple[str, ...]) -> BreakdownLine:
    figures = []
    for metric in ("iou", "recall", "pointing", "coverage"):
        before = "" if metric == "iou" else f"{metric}_"
        ends = {end: line.get(f"{before}{end}") for end in _BESIDE}
        name = f"{metric}@{token}" if metric in ("iou", "recall") else metric
        figures.append(Figure(metric=name, value=line[metric], n=line["n"], **ends))
    counts = {name: line[name] for name in ("n", "images", "undefined")}
    return BreakdownLine(label=line["label"], parents=parents, figures=tuple(figures), **counts)


@router.get(
    "/api/breakdown/styles",
    response_model=Breakdown,
    responses=PROBLEMS,
    summary="Scores of images by label",
    description="A line for each label of images; an image with two labels counts in both.",
)
def style_breakdown(served: Here, words: TableWords, min_count: LeastWord = 1) -> Breakdown:
    """Return scores by label of images."""
    frame, chosen = frames.style_breakdown(served, words)
    metric = str(chosen.name)
    lines = []
    for line in records(frame):
        if line["n"] + line["undefined"] < min_count:
            continue
        figure = Figure(metric=metric, **{name: line[name] for name in ("value", *_BESIDE, "n")})
        counts = {"n": line["n"], "images": line["n"], "undefined": line["undefined"]}
        lines.append(BreakdownLine(label=line["label"], figures=(figure,), **counts))
    return Breakdown(
        by="styles",
        choice=chosen.choice,
        metric=metric,
        lines=tuple(lines),
        **read_note(frame),
    )
