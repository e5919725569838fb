"""What routes about one image have in common: from query words to one map."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sightline.api.problems import Refusal, not_found
from sightline.api.schemas import Choice
from sightline.api.state import Served
from sightline.core import InputError
from sightline.metrics.scores import Columns, Scores
from sightline.results._full_scores import PERCENTILES, WholeScores
from sightline.results.image_maps import figure_of
from sightline.results.image_scores import DatasetMeans
from sightline.results.on_demand import NoMapError, OnDemand
from sightline.results.scored_map import MapKey, OneMap, Rule, scores_of

__all__ = [
    "check_map",
    "curve_of",
    "key_of",
    "map_of",
    "means_of",
    "number",
    "on_demand",
    "percentiles_by_name",
    "points_of",
    "region_columns",
    "rule_of",
    "whole_scores",
]


def on_demand(served: Served) -> OnDemand:
    """Return the maps of the store."""
    return served.kept("on demand", lambda: OnDemand(served.scenes))


def whole_scores(served: Served) -> WholeScores:
    """Return the scores of maps against all regions, at many percentiles."""
    return served.kept("whole scores", lambda: WholeScores(on_demand(served)))


def means_of(served: Served) -> DatasetMeans:
    """Return the means of the store."""
    return served.kept("means", lambda: DatasetMeans(served.results))


def key_of(choice: Choice) -> MapKey:
    """Return which map a choice is about."""
    return MapKey(
        choice.model, choice.method, choice.layer, choice.head, choice.target, choice.seed
    )


def rule_of(choice: Choice) -> Rule:
    """Return how a choice selects pixels."""
    return Rule(choice.selection, choice.percentile, choice.ties)


def map_of(served: Served, image_id: str, choice: Choice) -> OneMap:
    """Return the map of a choice on an image.

    Raises
    ------
    Refusal
        404, if there is no such image, or no map of it; 409, if maps were not kept.
    """
    served.image(image_id)
    maps = on_demand(served)
    with _told():
        return maps.map(image_id, key_of(choice))


def check_map(served: Served, image_id: str, choice: Choice) -> None:
    """Raise as `map_of` does where there is no such map."""
    served.image(image_id)
    maps, key = on_demand(served), key_of(choice)
    with _told():
        maps.stored(image_id, maps.source(key))


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except NoMapError as error:
        raise not_found(str(error), "image_id") from error
    except InputError as error:
        raise Refusal(409, str(error)) from error


def number(value: float | None) -> float | None:
    """Return a number as answers hold it: null where it is undefined."""
    if value is None or value != value or value in (float("inf"), float("-inf")):
        return None
    return float(value)


def region_columns(scores: Scores, place: int, region: int | None) -> tuple[Columns, int]:
    """Return the columns of maps or of regions, and where that of a map, or its region, stands."""
    parts = scores.regions
    if region is None or parts is None:
        return scores, place
    same = (parts.map == place) & (parts.region == region)
    return parts, int(same.argmax())


def curve_of(
    one: OneMap, rule: Rule, metric: str, more: Iterable[float], region: int | None
) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yield a metric of a map at percentiles, from low to high.

    Parameters
    ----------
    one, rule
        The map, and what equal pixels get.
    metric
        One with thresholds.
    more
        Percentiles beside the whole ones from 1 to 99.
    region
        Index of a region; all of them together unless given.
    """
    by_name = percentiles_by_name(tuple(more))
    rule = replace(rule, selection="percentile")
    scores = scores_of(one, rule, [metric], [percentile for percentile, _ in by_name])
    columns, place = region_columns(scores, 0, region)
    yield from points_of(columns, place, metric, by_name)


@lru_cache(256)
def percentiles_by_name(more: tuple[float, ...]) -> tuple[tuple[float, str], ...]:
    """Return percentiles from low to high, with their names: the whole ones and some more."""
    found = {str(Rule(percentile=p)): float(p) for p in (*more, *PERCENTILES) if 0 < p < 100}
    return tuple(sorted((percentile, name) for name, percentile in found.items()))


def points_of(
    columns: Mapping[str, Any], place: int, metric: str, by_name: Iterable[tuple[float, str]]
) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yield a metric of scores at percentiles."""
    for percentile, name in by_name:
        yield percentile, figure_of(columns, place, f"{metric}@{name}")
