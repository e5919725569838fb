"""What words stand for, and what is chosen where they are left out."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from sightline.api.choice import (
    AskedMap,
    AskedTable,
    choose_line,
    choose_map,
    sources_of,
    stored_name,
)
from sightline.api.problems import Refusal
from sightline.api.routes._single import rule_of
from sightline.results._catalogue import find_name
from sightline.results._lines import find_line
from sightline.results._views import Name

if TYPE_CHECKING:
    from sightline.api.state import Served


def test_nothing_asked_is_the_best_that_is_no_baseline(served: Served) -> None:
    board = served.results.leaderboard()
    best = board[board["group"] != "baseline"].iloc[0]
    for found in (choose_map(served, AskedMap()), choose_line(served, AskedTable())):
        choice = found.choice
        assert (choice.model, choice.method) == (best["model"], best["method"])
        assert (choice.layer, choice.target) == (best["layer"], best["target"])
        assert (choice.selection, choice.percentile, choice.ties) == ("percentile", 90, "share")
        assert {"model", "method", "layer", "selection", "percentile", "ties"} <= set(choice.chosen)
        assert "chosen by iou@90" in choice.why
        assert "best of 3 layers on the same images" in choice.why


def test_what_is_asked_narrows_the_choice(served: Served) -> None:
    board = served.results.leaderboard(model="demo/cnn")
    best = board[board["group"] != "baseline"].iloc[0]
    choice = choose_map(served, AskedMap(model="demo/cnn")).choice
    assert (choice.model, choice.method) == ("demo/cnn", best["method"])
    assert "model" not in choice.chosen


def test_all_asked_leaves_nothing_to_choose(served: Served) -> None:
    words = AskedMap(
        model="demo/vit-dino@lora", method="gradcam", layer=2, target="predicted",
        percentile=75.5, selection="percentile", ties="include",
    )  # fmt: skip
    choice = choose_map(served, words).choice
    assert (choice.chosen, choice.why) == ((), "")
    assert (choice.layer, choice.percentile, choice.ties) == (2, 75.5, "include")
    assert choice.sign == "positive"
    saliency = choose_map(served, AskedMap(model="demo/cnn", method="saliency")).choice
    assert saliency.sign == "absolute"


def test_a_base_stands_for_its_variants(served: Served) -> None:
    choice = choose_line(served, AskedTable(model="demo/vit-dino")).choice
    assert choice.model == "demo/vit-dino"  # the full name comes first
    board = served.results.leaderboard(model="demo/vit-dino")
    assert set(board["model"]) == {"demo/vit-dino"}


def test_a_baseline_can_be_asked_for(served: Served) -> None:
    found = choose_map(served, AskedMap(method="centre"))
    assert (found.choice.method, found.choice.layer) == ("centre", None)
    assert "baselines excluded" not in found.choice.why


def test_the_map_does_not_move_with_the_threshold(served: Served) -> None:
    """A slider that moves must not show another map."""
    usual = choose_map(served, AskedMap())
    for words in (
        AskedMap(percentile=50),
        AskedMap(percentile=99.9),
        AskedMap(selection="mass60"),
        AskedMap(selection="matched", ties="include"),
    ):
        assert choose_map(served, words).line == usual.line


@pytest.mark.parametrize(
    ("selection", "told"),
    [
        ("percentile", "percentile"),
        ("mass", "mass60"),
        ("mass60", "mass60"),
        ("mass32.5", "mass32.5"),
        ("mean", "mean"),
        ("matched", "matched"),
    ],
)
def test_every_rule_can_be_asked_of_a_map(served: Served, selection: str, told: str) -> None:
    choice = choose_map(served, AskedMap(selection=selection, percentile=33.3)).choice
    assert choice.selection == told
    assert str(rule_of(choice).threshold) == ("33.3" if selection == "percentile" else told)


def test_of_maps_that_were_drawn_the_first_is_shown(served: Served) -> None:
    words = AskedMap(model="demo/cnn", method="random")
    choice = choose_map(served, words).choice
    assert (choice.seed, "seed" in choice.chosen) == (0, True)
    assert "map of the first seed, scores are means over 2 seeds" in choice.why
    asked = choose_map(served, replace(words, seed=1))
    assert (asked.choice.seed, "seed" in asked.choice.chosen) == (1, False)
    assert asked.line.seed == 1
    assert [one["seed"] for one in sources_of(served, asked.line)] == [1]


def test_a_seed_of_maps_that_draw_nothing_is_none(served: Served) -> None:
    words = AskedMap(model="demo/vit-dino", method="cls", seed=1)
    assert choose_map(served, words).choice.seed is None


def test_a_head_is_asked_for_or_all_are_fused(served: Served) -> None:
    words = AskedMap(model="demo/vit-dino", method="cls", layer=2)
    assert choose_map(served, words).choice.head is None
    assert choose_map(served, replace(words, head=3)).choice.head == 3


def test_layers_of_tables_have_names(served: Served) -> None:
    words = AskedTable(model="demo/vit-dino", method="cls")
    board = served.results.leaderboard(model="demo/vit-dino", method="cls", layer="last")
    last = choose_line(served, replace(words, layer="last"))
    assert last.choice.layer == board["layer"][0] == 11
    assert "layer 11: last of 3 layers" in last.choice.why
    split = choose_line(served, replace(words, layer="split"))
    assert "split-half of 3 layers" in split.choice.why
    one_layer = split.line.picks[0] == split.line.picks[1]
    assert split.choice.layer == (split.line.layer if one_layer else None)


def test_tables_show_the_threshold_of_their_score(served: Served) -> None:
    found = choose_line(served, AskedTable(metric="iou@50", percentile=80, ties="include"))
    assert str(found.name) == "iou@50"
    assert (found.choice.percentile, found.choice.ties) == (50, "share")
    assert {"percentile", "ties"} <= set(found.choice.chosen)


def test_without_a_score_the_words_name_its_threshold(served: Served) -> None:
    assert str(choose_line(served, AskedTable(percentile=80)).name) == "iou@80"
    by_mass = choose_line(served, AskedTable(selection="mass60"))
    assert str(by_mass.name) == "iou@mass60"
    assert by_mass.choice.selection == "mass60"
    assert str(choose_line(served, AskedTable(metric="coverage", percentile=80)).name) == "coverage"


def test_a_percentile_alone_stands_for_iou_whatever_leads() -> None:
    names = [Name("coverage", ""), Name("iou", "95"), Name("iou", "80")]
    served: Any = SimpleNamespace(tables=SimpleNamespace(names=names))
    served.name = lambda metric, regions=False: find_name(metric, names, regions=regions)
    assert str(stored_name(served, AskedTable())) == "coverage"
    assert str(stored_name(served, AskedTable(percentile=95))) == "iou@95"
    assert str(stored_name(served, AskedTable(metric="iou@80", percentile=95))) == "iou@80"
    with pytest.raises(Refusal, match="iou@90 was not stored; stored: iou@95, iou@80"):
        stored_name(served, AskedTable(selection="percentile"))


@pytest.mark.parametrize(
    ("words", "field", "told"),
    [
        ({"model": "demo/vit"}, "model", "demo/vit-dino"),
        ({"model": "demo/cnn", "method": "cls"}, "method", "gradcam"),
        ({"method": "clss"}, "method", "did you mean 'cls'?"),
        ({"layer": 7}, "layer", "Stored: 0, 2, 3, 11"),
        ({"model": "demo/cnn", "layer": 11}, "layer", "Stored: 0, 2, 3"),
        ({"head": 9}, "head", "Stored: 0, 1, 2, 3"),
        ({"model": "demo/cnn", "head": 0}, "head", "none"),
        ({"target": "label"}, "target", "predicted"),
        ({"seed": 5}, "seed", "Stored: 0, 1"),
        ({"selection": "top"}, "selection", "'matched'"),
        ({"selection": "mass0"}, "selection", "(0, 100]"),
    ],
)
def test_a_word_that_stands_for_nothing_is_named(
    served: Served, words: dict[str, Any], field: str, told: str
) -> None:
    for asked in (AskedMap(**words), AskedTable(**words)):
        choose: Any = choose_map if isinstance(asked, AskedMap) else choose_line
        with pytest.raises(Refusal) as caught:
            choose(served, asked)
        assert (caught.value.status, caught.value.field) == (422, field)
        assert told in str(caught.value)


def test_a_score_that_is_not_stored_is_named(served: Served) -> None:
    for words, field in (
        (AskedTable(metric="iou@81"), "metric"),
        (AskedTable(metric="dice@90"), "metric"),
        (AskedTable(percentile=81), "percentile"),
        (AskedTable(selection="mean"), "selection"),
    ):
        with pytest.raises(Refusal) as caught:
            choose_line(served, words)
        assert caught.value.field == field
    with pytest.raises(Refusal, match="metric of regions"):
        choose_line(served, AskedTable(metric="average_precision"), regions=True)


def test_regions_are_found_by_their_index(served: Served) -> None:
    image = next(iter(served.images))
    scored = [one for one in served.regions[image] if not one.dropped]
    assert served.region(image, scored[0].region) == scored[0]
    hidden = next(one for one in served.regions[image] if one.dropped)
    for index, told in ((hidden.region, "not scored: unlabelled"), (10**9, "has no region")):
        with pytest.raises(Refusal, match=told) as caught:
            served.region(image, index)
        assert (caught.value.status, caught.value.field) == (404, "bbox_index")


def test_the_same_line_is_looked_for_once(served: Served, monkeypatch: Any) -> None:
    choose_map(served, AskedMap())
    monkeypatch.setattr("sightline.api.state.make_lines", None)
    choose_map(served, AskedMap(percentile=12))


@pytest.mark.parametrize("metric", ["iou@90", "coverage", "iou@mass60"])
@pytest.mark.parametrize(
    "words",
    [
        {},
        {"model": "demo/vit-dino"},
        {"method": "gradcam", "layer": 2},
        {"target": "predicted", "layer": "split"},
        {"method": "random", "seed": 1},
        {"head": 2, "layer": "last"},
        {"layer": 0},
    ],
)
def test_a_line_is_the_one_that_tables_find(
    served: Served, metric: str, words: dict[str, Any]
) -> None:
    """One query finds all lines; a choice among them is the same as one that is asked for."""
    name, layer = served.name(metric), words.get("layer")
    where = served.tables.catalogue.where(**words)
    found, expected = served.line(name, where, layer), find_line(served.tables, name, where, layer)
    assert found == expected
    assert found.sums == expected.sums
    assert found.scores.values.tolist() == expected.scores.values.tolist()
