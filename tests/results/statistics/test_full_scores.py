"""Maps scored at many percentiles at once: the same figures to the last bit, scored once."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.results import _full_scores as _whole
from sightline.results import open_results, open_scenes
from sightline.results._full_scores import WholeScores
from sightline.results.image_scores import ImageFigures, figures_of, quick_metrics
from sightline.results.on_demand import NoMapError, OnDemand
from sightline.results.scored_map import MapKey, OneMap, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

STORES = ("sparse", "odd", "cropped", "given")
LEVELS = (1.0, 50.0, 90.0, 99.0)


def maps_of(maps: OnDemand, image: str) -> Iterator[OneMap]:
    """Yield every map of an image that is stored."""
    for source in maps.scenes.sources:
        for layer, head in product(source.layers, source.heads):
            key = MapKey(source.name, source.method, layer, head, source.target, source.seed)
            try:
                yield maps.map(image, key)
            except NoMapError:
                continue


def check_same(one: ImageFigures, other: ImageFigures) -> None:
    assert list(one.figures) == list(other.figures)
    for name, figure in one.figures.items():
        assert figure.keys() == other.figures[name].keys()
        for what, value in figure.items():
            assert np.array_equal(value, other.figures[name][what], equal_nan=True), (name, what)
    beside = ("attention_area", "annotation_area", "visible")
    for name in beside:
        assert np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True), name
    assert one.divergence == other.divergence


@pytest.mark.parametrize("ties", ["share", "include"])
@pytest.mark.parametrize("store", STORES)
def test_figures_are_those_of_each_map_by_itself(
    store: str, ties: Any, request: pytest.FixtureRequest
) -> None:
    with open_results(request.getfixturevalue(store)) as results:
        maps = OnDemand(open_scenes(results))
        scores = WholeScores(maps)
        for image in maps.scenes.images[::6]:
            ones = list(maps_of(maps, image))
            for one, whole in zip(ones, scores.several(ones, ties), strict=True):
                assert (whole.key, whole.sign, whole.shape) == (one.key, one.sign, one.values.shape)
                names = quick_metrics(scores.panel(one.sign))
                for level in LEVELS:
                    rule = Rule(percentile=level, ties=ties)
                    assert scores.has(rule)
                    check_same(figures_of(one, rule, None, names), scores.figures(whole, rule))


def test_only_percentiles_that_are_there_are_answered(request: pytest.FixtureRequest) -> None:
    with open_results(request.getfixturevalue("sparse")) as results:
        scores = WholeScores(OnDemand(open_scenes(results)))
        assert scores.has(Rule(percentile=90))
        assert not scores.has(Rule(percentile=90.0000001))  # which is called 90, too
        assert not scores.has(Rule(percentile=73.25))
        assert not scores.has(Rule("mass60"))


def test_a_map_is_scored_once(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_results(request.getfixturevalue("sparse")) as results:
        maps = OnDemand(open_scenes(results))
        scores, image = WholeScores(maps), maps.scenes.images[0]
        one = next(maps_of(maps, image))
        assert scores.kept(image, one.key, "share") is None
        (whole,) = scores.several([one], "share")
        monkeypatch.setattr(_whole, "score_maps", None)  # whoever scores again fails
        assert scores.kept(image, one.key, "share") is whole
        assert scores.kept(image, one.key, "include") is None
        assert scores.kept(maps.scenes.images[1], one.key, "share") is None
