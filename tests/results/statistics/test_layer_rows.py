"""Scores of all layers out of the rows of a study: those that maps get, to the last bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.results import open_results, open_scenes
from sightline.results._catalogue import Where
from sightline.results._full_scores import WholeScores
from sightline.results._layer_rows import areas_decide, stored_layers
from sightline.results._sums import sum_up
from sightline.results.image_maps import figure_of
from sightline.results.on_demand import OnDemand
from sightline.results.scored_map import MapKey, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sightline.results import Results
    from sightline.results._views import Name


def layered(maps: OnDemand) -> Iterator[MapKey]:
    """Yield the last layer of every source that has layers, and whose maps are not drawn."""
    for one in maps.scenes.sources:
        if one.layers[0] is not None and one.seed is None and None in one.heads and not one.check:
            yield MapKey(one.name, one.method, one.layers[-1], None, one.target)


def names_of(results: Results) -> list[Name]:
    found = [one for one in results._tables.names if one.threshold.isdigit()]
    return [one for one in found if areas_decide(str(one), "share")][:3]


def computed(maps: OnDemand, image: str, key: MapKey, name: Name) -> dict[MapKey, dict[str, Any]]:
    rule = Rule(percentile=float(name.threshold))
    stacks = maps.stacks(image, key, rule, name.metric, whole=True)
    return {
        one: figure_of(stack.scores, place, str(name))
        for stack in stacks
        for place, one in enumerate(stack.keys)
    }


@pytest.mark.parametrize("store", ["sparse", "odd", "cropped"])
def test_rows_and_one_map_tell_what_all_layers_get(
    store: str, request: pytest.FixtureRequest
) -> None:
    with open_results(request.getfixturevalue(store)) as results:
        maps, told = OnDemand(open_scenes(results)), 0
        numbers = {image: i for i, image in enumerate(sorted(maps.scenes.images))}
        scores, names = WholeScores(maps), names_of(results)
        rows = sum_up(results._tables, names, Where())
        for image in maps.scenes.images[::5]:
            for key in layered(maps):
                (whole,) = scores.several([maps.map(image, key)], "share")
                for name in names:
                    stored = rows[name].get((key.model, None), {})
                    found = stored_layers(maps, whole, (image, numbers[image]), str(name), stored)
                    if found is None:
                        continue
                    expected = computed(maps, image, key, name)
                    assert [one for one, _ in found] == list(expected)
                    for one, figure in found:
                        for what in ("value", "chance", "ceiling"):
                            assert figure[what] == expected[one][what], (one, name, what)
                    told += 1
        assert told > 0


def test_what_rows_do_not_tell_is_left_to_others(odd: Any) -> None:
    with open_results(odd) as results:
        maps = OnDemand(open_scenes(results))
        image, key = maps.scenes.images[0], next(layered(maps))
        (name, *_) = names_of(results)
        rows = sum_up(results._tables, [name], Where())[name][key.model, None]
        (whole,) = WholeScores(maps).several([maps.map(image, key)], "share")
        number = sorted(maps.scenes.images).index(image)

        def told(number: int, stored: Any, one: Any = whole) -> bool:
            return stored_layers(maps, one, (image, number), str(name), stored) is not None

        assert told(number, rows)
        assert not told(number, {})
        assert not told(len(maps.scenes.images), rows)
        assert not told(number, rows, whole._replace(key=key._replace(seed=1)))
        fresh = OnDemand(maps.scenes)  # of which nothing is at hand
        assert stored_layers(fresh, whole, (image, number), str(name), rows) is None


def test_layers_on_other_pixels_are_told_apart(odd: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_results(odd) as results:
        maps = OnDemand(open_scenes(results))
        image, key = maps.scenes.images[0], next(layered(maps))
        stored = maps.stored(image, maps.source(key))
        assert maps.on_one_raster(image, key)
        first, *others = stored.values[0]
        wider = np.zeros((first.shape[0], first.shape[1], first.shape[2] + 1), first.dtype)
        object.__setattr__(stored, "values", ((wider, *others),))
        views = iter("ab")
        monkeypatch.setattr("sightline.results.on_demand.view_of", lambda *_: next(views))
        assert not maps.on_one_raster(image, key)
        monkeypatch.setattr("sightline.results.on_demand.view_of", lambda *_: "a")
        assert maps.on_one_raster(image, key) == (maps.scenes.scoring.resolution != "grid")
