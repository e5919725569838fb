"""Scores of one image, computed when asked for: by any percentile or rule, for any region."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Path, Query

from sightline.api.choice import AskedMap, MapWords, choose_map, find_where, sources_of
from sightline.api.problems import PROBLEMS, naming, not_found, of_store, wrong
from sightline.api.routes._at_once import answered, layers_there, scores_there
from sightline.api.routes._frames import find_row_warnings
from sightline.api.routes._single import (
    check_map,
    curve_of,
    key_of,
    map_of,
    means_of,
    number,
    on_demand,
    percentiles_by_name,
    points_of,
    region_columns,
    rule_of,
    whole_scores,
)
from sightline.api.schemas import (
    Choice,
    Figure,
    HeadLine,
    ImageHeads,
    ImageLayers,
    ImageMetrics,
    ImageModels,
    ImageModelsLine,
    ImagePercentiles,
    Point,
)
from sightline.api.state import Here, Served
from sightline.core import InputError
from sightline.metrics import METRICS
from sightline.metrics.engine import parse_metric
from sightline.results._full_scores import MOST_PIXELS, Whole
from sightline.results._layer_rows import areas_decide, stored_layers
from sightline.results._lines import Line, make_lines
from sightline.results._views import Name
from sightline.results.image_maps import figure_of
from sightline.results.image_scores import ImageFigures, Mean, figures_of, quick_metrics
from sightline.results.on_demand import NoMapError
from sightline.results.scored_map import MapKey, OneMap, Rule, scores_of

__all__ = ["router", "score_lines", "warm_up"]

router = APIRouter(tags=["scores of one image"])

BboxIndex = Annotated[
    int, Path(description="Index of a region in the order of the annotation file.", examples=[0])
]
RegionWord = Annotated[
    int | None,
    Query(description="Index of a region; all of them together unless given.", examples=[0]),
]
ScoreWord = Annotated[
    str | None,
    Query(
        description="A metric of /api/metrics, iou unless given; a threshold behind an @ takes the "
        "place of percentile and selection.",
        max_length=100,
        examples=["iou", "coverage", "recall@mass60"],
    ),
]


# --- all figures of one map ----------------------------------------------------------------------


@router.get(
    "/api/metrics/{image_id}",
    summary="Scores of one map against all regions of its image",
    response_model=ImageMetrics,
    responses=PROBLEMS,
)
async def get_image_metrics(served: Here, image_id: str, words: MapWords) -> ImageMetrics:
    """Every score of the map by the rule asked for, beside chance, ceiling and the data set's mean.

    A mean has an interval where the study stored the score by the same rule.
    """
    make = partial(_metrics, served, image_id, words, None)
    return await answered(served, "metrics", words, make, scores_there(served, image_id, words))


@router.get(
    "/api/metrics/{image_id}/bbox/{bbox_index}",
    summary="Scores of one map against one region",
    response_model=ImageMetrics,
    responses=PROBLEMS,
)
def get_region_metrics(
    served: Here, image_id: str, bbox_index: BboxIndex, words: MapWords
) -> ImageMetrics:
    """The same of a single region; means are over the regions of the same label."""
    served.region(image_id, bbox_index)
    return _metrics(served, image_id, words, bbox_index)


class _Panel(NamedTuple):
    """All figures of a map, and what is told of it."""

    figures: ImageFigures
    key: MapKey
    shape: tuple[int, ...]
    on_grid: bool
    label: str | None


def _panel(served: Served, image_id: str, choice: Choice, region: int | None) -> _Panel:
    scores = whole_scores(served)
    if region is None and scores.has(rule := _rule(choice)) and scores.complete(choice.sign):
        found = _whole(served, image_id, choice)
        return _Panel(scores.figures(found, rule), found.key, found.shape, found.on_grid, None)
    one, rule = map_of(served, image_id, choice), _rule(choice)
    with naming("selection"):
        figures = figures_of(one, rule, region, scores.panel(one.sign))
    label = None if region is None else one.region(region).label
    return _Panel(figures, one.key, one.values.shape, one.on_grid, label)


def _whole(served: Served, image_id: str, choice: Choice) -> Whole:
    """Return the scores of the map of a choice against all regions of an image.

    Raises
    ------
    Refusal
        404, if there is no such image, or no map of it; 409, if maps were not kept.
    """
    scores, key = whole_scores(served), key_of(choice)
    found = scores.kept(image_id, key, choice.ties)
    if found is None:
        with scores.turn(image_id):
            found = scores.kept(image_id, key, choice.ties)
            if found is None:
                found, *_ = scores.several(_together(served, image_id, choice), choice.ties)
    return found


def _together(served: Served, image_id: str, choice: Choice) -> list[OneMap]:
    """Return the map of a choice, then those that it is looked at beside: all lines of the tables.

    Scoring one takes ten times as long as adding one more. Large maps, which take long, come alone.
    """
    one, maps = map_of(served, image_id, choice), on_demand(served)
    lines = served.kept("maps of lines", lambda: _maps_of_lines(served))
    scored = whole_scores(served)
    found = [one]
    for key in lines if one.key in lines else ():
        if len(found) >= MOST_PIXELS // max(one.values.size, 1):
            break
        if key != one.key and scored.kept(image_id, key, choice.ties) is None:
            with suppress(NoMapError):
                found.append(maps.map(image_id, key))
    return found


def _maps_of_lines(served: Served) -> tuple[MapKey, ...]:
    """Return which maps the lines of the leaderboard are about."""
    found = []
    for line in _all_lines(served, AskedMap()):
        pick, seed = line.picks[0], sources_of(served, line)[0]["seed"]
        found.append(MapKey(line.model, pick.method, pick.layer, line.head, pick.target, seed))
    return tuple(found)


def _metrics(served: Served, image_id: str, words: AskedMap, region: int | None) -> ImageMetrics:
    choice = choose_map(served, words).choice
    panel, rule = _panel(served, image_id, choice, region), _rule(choice)
    found = panel.figures
    means = _means(served, panel.key, rule, list(found.figures), panel.label)
    return ImageMetrics(
        image=image_id,
        region=region,
        label=panel.label,
        choice=choice,
        **_named(found, rule),
        attention_area=number(found.attention_area),
        annotation_area=number(found.annotation_area),
        visible=number(found.visible),
        figures=tuple(
            _figure(name, figure, means.get(name)) for name, figure in found.figures.items()
        ),
        divergence=found.divergence,
        rank=_rank(found, rule, means),
        note=_about(served, panel, rule),
    )


def warm_up(served: Served) -> None:
    """Score one map, so that what scores maps is there when the first is asked for."""
    for image in list(served.images)[:1]:
        _metrics(served, image, AskedMap(), None)


def score_lines(served: Served) -> Iterator[str]:
    """Score the maps of all lines of the leaderboard, one image after the other; yield their ids.

    No more than are kept: what is asked for then need not be computed.
    """
    lines = len(_all_lines(served, AskedMap()))
    for image in list(served.images)[: whole_scores(served).room // max(lines, 1)]:
        get_image_models(served, image, AskedMap())
        yield image


def _rule(choice: Choice) -> Rule:
    with naming("selection"):
        return rule_of(choice)


def _means(
    served: Served, key: MapKey, rule: Rule, names: list[str], label: str | None
) -> dict[str, Mean]:
    """Return the data set's means: over images, or over the regions of a label."""
    means = means_of(served)
    if label is not None:
        token = means.token_of(rule)
        by_label = served.kept(("region means", key, token), lambda: means.of_regions(key, token))
        return by_label.get(label, {})
    found: dict[str, Mean] = {}
    for thresholded in (False, True):  # apart: those without do not follow the percentile
        some = tuple(
            name
            for name in means.names(rule, names)
            if METRICS[name.metric].thresholded is thresholded
        )
        scores = {
            name: served.scores_of_all(name, key.head, key.seed).get((key.model, key.head), {})
            for name in some
        }
        found |= served.kept(("image means", key, some), partial(means.of_images, key, scores))
    return found


def _named(found: ImageFigures, rule: Rule) -> dict[str, float | None]:
    """Return the figures that an answer names one by one."""
    iou = found.figures.get(rule.named("iou"), {})
    names = ("coverage", "recall", "precision", "lift", "pointing")
    return {
        "iou": number(iou.get("value")),
        "chance": number(iou.get("chance")),
        "ceiling": number(iou.get("ceiling")),
        "corrected": number(found.value(rule.named("iou_corrected"))),
        **{name: number(found.value(rule.named(name))) for name in names},
    }


def _figure(name: str, figure: dict[str, float], mean: Mean | None) -> Figure:
    beside: dict[str, Any] = {name: number(one) for name, one in figure.items()}
    if mean is not None:
        ends = {"mean": mean.mean, "low": mean.low, "high": mean.high}
        beside |= {name: number(one) for name, one in ends.items()} | {"n": mean.n}
    return Figure(metric=name, **beside)


def _rank(found: ImageFigures, rule: Rule, means: dict[str, Mean]) -> float | None:
    name = rule.named("iou")
    return number(means[name].rank(found.value(name))) if name in means else None


def _about(served: Served, panel: _Panel, rule: Rule) -> str:
    """Say what a reader of the numbers must know."""
    rows, columns = panel.shape
    where = "cells, the model's own" if panel.on_grid else "pixels over the image"
    over = "images" if panel.label is None else f"regions labelled {panel.label}"
    parts = [f"scored on {rows} × {columns} {where}", f"means are over all {over}"]
    if rule.named("iou") not in map(str, means_of(served).names(rule, [rule.named("iou")])):
        parts.append(f"the study did not store this rule ({rule}), so that IoU has no mean")
    if panel.key.seed is not None:
        parts.append(f"map and means of seed {panel.key.seed}")
    return "; ".join(parts)


# --- one score over layers, percentiles, models, heads -------------------------------------------


class _Asked:
    """One score of one image, as the routes below are asked for it."""

    def __init__(
        self,
        served: Served,
        image_id: str,
        words: AskedMap,
        region: int | None,
        metric: str | None,
    ) -> None:
        served.image(image_id)
        if region is not None:
            served.region(image_id, region, "region")
        choice = choose_map(served, words).choice
        self.served, self.image, self.region = served, image_id, region
        self.rule, self.name = _score(_rule(choice), metric, choice.sign, region is not None)
        base = self.name.partition("@")[0]
        # By the rule itself where there is one: names are rounded.
        self.wanted = base if METRICS[base].thresholded else self.name
        self.choice = choice.model_copy(
            update={"selection": self.rule.selection, "percentile": self.rule.percentile}
        )

    def here(self, sign: str, rule: Rule, metric: str) -> bool:
        """Say whether a score is among those that maps are given at once."""
        scores = whole_scores(self.served)
        by_rule = METRICS[metric.partition("@")[0]].thresholded
        known = metric in quick_metrics(scores.panel(sign))
        return self.region is None and known and (not by_rule or scores.has(rule))

    def about(self, *notes: str) -> str:
        """Return a note: what is shown, and what else is to be said."""
        what = "all regions together" if self.region is None else f"region {self.region}"
        return "; ".join(part for part in (f"{self.name} of {what}", *notes) if part)


def _score(rule: Rule, metric: str | None, sign: str, region: bool) -> tuple[Rule, str]:
    """Return the rule and the name of a score that is asked for."""
    text = metric or "iou"
    with naming("metric"):
        ((spec, threshold),) = parse_metric(text, (rule.threshold,))
        if spec.level == "dataset":
            raise InputError(f"{spec.name} is a figure of all images; one image has none")
        if region and (spec.level != "region" or (threshold and not spec.thresholded)):
            names = [one.name for one in METRICS.values() if one.level == "region"]
            raise InputError(f"regions have {', '.join(names)}; got {text!r}")
        if sign == "signed" and spec.category in ("energy", "complexity"):
            raise InputError(f"a signed map has no energy, so no {spec.name}")
        if threshold is not None and spec.thresholded:
            kind = threshold.kind == "percentile"
            rule = replace(
                rule,
                selection="percentile" if kind else str(threshold),
                percentile=threshold.level if kind else rule.percentile,
            )
    return rule, spec.name if threshold is None else f"{spec.name}@{threshold}"


@router.get(
    "/api/metrics/{image_id}/layers",
    summary="One image's score over the layers",
    response_model=ImageLayers,
    responses=PROBLEMS,
)
async def get_image_layers(
    served: Here,
    image_id: str,
    words: MapWords,
    region: RegionWord = None,
    metric: ScoreWord = None,
) -> ImageLayers:
    """A point for each layer of the model, by the same method; none where it has no layers."""
    make = partial(_layers, served, image_id, words, region, metric)
    there = layers_there(served, image_id, words) if region is None and metric is None else None
    return await answered(served, "layers", words, make, there)


def _layers(
    served: Served, image_id: str, words: AskedMap, region: int | None, metric: str | None
) -> ImageLayers:
    asked = _Asked(served, image_id, words, region, metric)
    stored = _stored_lines(asked)
    lines = _lines(asked, heads=False) if stored is None else stored
    points = [
        Point(x=float(key.layer), **_of_point(figure))
        for key, figure in lines
        if key.layer is not None
    ]
    nothing = "" if points else f"{asked.choice.method} has no layers"
    return ImageLayers(
        image=image_id,
        region=region,
        choice=asked.choice,
        metric=asked.name,
        points=tuple(sorted(points, key=lambda point: point.x)),
        note=asked.about(nothing),
        warnings=find_row_warnings(served, (key._asdict() for key, _ in lines)),
    )


def _stored_lines(asked: _Asked) -> list[tuple[MapKey, dict[str, Any]]] | None:
    """Return the score of every layer as the study stored it; None where it did not.

    One of the maps must be scored: its areas are those of the others.
    """
    served, choice = asked.served, asked.choice
    if not asked.here(choice.sign, asked.rule, asked.wanted):
        return None
    whole = whole_scores(served).kept(asked.image, key_of(choice), choice.ties)
    if whole is None or choice.layer is None:
        return None if whole is None else []
    name = Name(*asked.name.partition("@")[::2])
    by_rows = choice.ties == served.study["ties"] and name in served.tables.names
    if not (by_rows and asked.rule.exact and areas_decide(asked.name, choice.ties)):
        return None
    numbers = served.kept(
        "numbers", lambda: {one: i for i, one in enumerate(sorted(served.images))}
    )
    rows = served.scores_of_all(name, choice.head, choice.seed).get((choice.model, choice.head), {})
    image = asked.image, numbers[asked.image]
    return stored_layers(on_demand(served), whole, image, asked.name, rows)


def _lines(asked: _Asked, *, heads: bool) -> list[tuple[MapKey, dict[str, Any]]]:
    """Return the score of every layer, or every head of every layer."""
    check_map(asked.served, asked.image, asked.choice)  # says why there are none
    whole = asked.region is None and bool(quick_metrics([asked.wanted]))
    with naming("selection"):
        stacks = on_demand(asked.served).stacks(
            asked.image, key_of(asked.choice), asked.rule, asked.wanted, heads=heads, whole=whole
        )
    found = []
    for stack in stacks:
        for place, key in enumerate(stack.keys):
            columns, at = region_columns(stack.scores, place, asked.region)
            found.append((key, figure_of(columns, at, asked.name)))
    return found


def _of_point(figure: dict[str, Any]) -> dict[str, Any]:
    return {name: number(figure[name]) for name in ("value", "chance", "ceiling")}


@router.get(
    "/api/metrics/{image_id}/percentiles",
    summary="One image's score over the percentiles",
    response_model=ImagePercentiles,
    responses=PROBLEMS,
)
async def get_image_percentiles(
    served: Here,
    image_id: str,
    words: MapWords,
    region: RegionWord = None,
    metric: ScoreWord = None,
) -> ImagePercentiles:
    """A point for each percentile from 1 to 99, those of the study, and the one asked for."""
    make = partial(_percentiles, served, image_id, words, region, metric)
    there = scores_there(served, image_id, words) if region is None and metric is None else None
    return await answered(served, "percentiles", words, make, there)


def _percentiles(
    served: Served, image_id: str, words: AskedMap, region: int | None, metric: str | None
) -> ImagePercentiles:
    asked = _Asked(served, image_id, words, region, metric)
    base = asked.name.partition("@")[0]
    if not METRICS[base].thresholded:
        names = [one.name for one in METRICS.values() if one.thresholded]
        raise wrong(f"metric: percentiles have {', '.join(names)}; got {base!r}", "metric")
    points = [Point(x=x, **_of_point(figure)) for x, figure in _curve(asked, base)]
    known = [point for point in points if point.value is not None]
    return ImagePercentiles(
        image=image_id,
        region=region,
        choice=asked.choice,
        metric=base,
        points=tuple(points),
        best=max(known, key=lambda point: point.value or 0.0, default=None),
        note=asked.about("the best percentile is chosen on the annotation of this image"),
    )


def _curve(asked: _Asked, metric: str) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yield a metric at percentiles, from low to high."""
    served, choice = asked.served, asked.choice
    more = (*served.study["percentiles"], choice.percentile)
    if asked.here(choice.sign, replace(asked.rule, selection="percentile"), metric):
        found = _whole(served, asked.image, choice)
        return points_of(found.columns, 0, metric, percentiles_by_name(more))
    one = map_of(served, asked.image, choice)
    return curve_of(one, asked.rule, metric, more, asked.region)


@router.get(
    "/api/metrics/{image_id}/models",
    summary="All models on one image",
    response_model=ImageModels,
    responses=PROBLEMS,
)
def get_image_models(
    served: Here,
    image_id: str,
    words: MapWords,
    region: RegionWord = None,
    metric: ScoreWord = None,
) -> ImageModels:
    """A line for each model and method, the best first; words narrow them.

    Layers are those of the leaderboard unless one is asked for.
    """
    asked = _Asked(served, image_id, words, region, metric)
    found, missing = [], 0
    for line in _all_lines(served, words):
        choice = _choice_of(served, asked, line)
        try:
            with of_store(NoMapError):
                found.append((choice, line.group, _scored_or_not(asked, choice)))
        except NoMapError:
            missing += 1
    figures = _figures_of_lines(asked, [one for *_, one in found])
    lines = [
        (choice, group, figure) for (choice, group, _), figure in zip(found, figures, strict=True)
    ]
    if not lines:
        raise not_found(f"no map of image {image_id} is stored yet", "image_id")
    ranks = _ranks([figure["value"] for *_, figure in lines], asked.name)
    shown = [
        ImageModelsLine(choice=choice, group=group, **_of_point(figure), rank=rank)
        for (choice, group, figure), rank in zip(lines, ranks, strict=True)
    ]
    return ImageModels(
        image=image_id,
        region=region,
        metric=asked.name,
        lines=tuple(sorted(shown, key=_by_rank)),
        note=asked.about(
            f"layers are those of the leaderboard by {served.name(None)}" * (words.layer is None),
            f"maps that are not stored: {missing}" if missing else "",
        ),
        warnings=find_row_warnings(served, (key_of(choice)._asdict() for choice, *_ in found)),
    )


def _all_lines(served: Served, words: AskedMap) -> list[Line]:
    """Return the lines of the leaderboard that words leave."""
    name, layer = served.name(None), "best" if words.layer is None else words.layer
    where = find_where(served, words, words.layer)
    key = "lines", name, where, layer
    return served.kept(key, lambda: make_lines(served.tables, name, where, layer))


def _choice_of(served: Served, asked: _Asked, line: Line) -> Choice:
    """Return the choice that a line of the leaderboard stands for."""
    pick, source = line.picks[0], sources_of(served, line)[0]
    return asked.choice.model_copy(
        update={
            "model": line.model,
            "method": pick.method,
            "layer": pick.layer,
            "head": line.head,
            "target": pick.target,
            "seed": source["seed"],
            "sign": source["sign"],
            "chosen": ("layer",) if line.chosen else (),
            "why": line.chosen,
        }
    )


def _scored_or_not(asked: _Asked, choice: Choice) -> Whole | OneMap:
    """Return the scores of a map where they are there, else the map."""
    key = key_of(choice)
    known = whole_scores(asked.served).kept(asked.image, key, choice.ties)
    return on_demand(asked.served).map(asked.image, key) if known is None else known


def _figures_of_lines(asked: _Asked, found: list[Whole | OneMap]) -> list[dict[str, Any]]:
    """Return the score of each map; those that are not scored yet are scored together."""
    at_once = [
        one
        for one in found
        if isinstance(one, OneMap) and asked.here(one.sign, asked.rule, asked.wanted)
    ]
    scored = whole_scores(asked.served).several(at_once, asked.choice.ties)
    known = {whole.key: whole for whole in scored}
    return [_one_figure(known.get(one.key, one), asked) for one in found]


def _one_figure(one: Whole | OneMap, asked: _Asked) -> dict[str, Any]:
    base = METRICS[asked.name.partition("@")[0]]
    by_sum = base.thresholded and asked.rule.threshold.kind in ("mass", "mean")
    if one.sign == "signed" and (by_sum or base.category in ("energy", "complexity")):
        return dict.fromkeys(("value", "chance", "ceiling"), float("nan"))
    if isinstance(one, Whole):
        if asked.here(one.sign, asked.rule, asked.wanted):
            return figure_of(one.columns, 0, asked.name)
        one = on_demand(asked.served).map(asked.image, one.key)
    with naming("selection"):
        scores = scores_of(one, asked.rule, [asked.wanted])
    columns, place = region_columns(scores, 0, asked.region)
    return figure_of(columns, place, asked.name)


def _ranks(values: Iterable[float], name: str) -> list[float | None]:
    """Return ranks, 1 for the best; equal values share theirs."""
    import pandas as pd

    from sightline.results.leaderboard import average_ranks

    ranks = average_ranks(pd.Series(list(values), dtype=float), Name(*name.partition("@")[::2]))
    return [number(rank) for rank in ranks]


def _by_rank(line: ImageModelsLine | HeadLine) -> float:
    return float("inf") if line.rank is None else line.rank


@router.get(
    "/api/metrics/{image_id}/heads",
    summary="The heads on one image",
    response_model=ImageHeads,
    responses=PROBLEMS,
)
def get_image_heads(
    served: Here,
    image_id: str,
    words: MapWords,
    region: RegionWord = None,
    metric: ScoreWord = None,
    every_layer: Annotated[
        bool, Query(description="Heads of all layers; else of the layer of the choice alone.")
    ] = True,
) -> ImageHeads:
    """A line for each head of the model, the best first; none where the study kept no heads."""
    asked = _Asked(served, image_id, words, region, metric)
    found = [
        (key, figure)
        for key, figure in _lines(asked, heads=True)
        if every_layer or key.layer == asked.choice.layer
    ]
    ranks = _ranks([figure["value"] for _, figure in found], asked.name)
    lines = [
        HeadLine(layer=key.layer or 0, head=key.head or 0, **_of_point(figure), rank=rank)
        for (key, figure), rank in zip(found, ranks, strict=True)
    ]
    choice = asked.choice
    nothing = f"the study kept no single heads of {choice.method} of {choice.model}"
    return ImageHeads(
        image=image_id,
        region=region,
        choice=choice,
        metric=asked.name,
        lines=tuple(sorted(lines, key=lambda one: (_by_rank(one), one.layer, one.head))),
        note=asked.about("" if lines else nothing, "equal heads share a rank"),
        warnings=find_row_warnings(served, (key._asdict() for key, _ in found)),
    )
