"""The layer that was checked is the layer that the leaderboard reports, or the table says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from sightline.results import choose_best_layers, find_best_layers, open_results, sanity_table
from sightline.results.checked_layers import add_best_layers, find_unchecked
from sightline.study import Study, load_study

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sightline.results import Results

CNN = ("demo/cnn", "gradcam", "predicted")


@pytest.fixture(scope="module")
def results(demo_store: Path) -> Iterator[Results]:
    """What the demo's study stored."""
    with open_results(demo_store) as opened:
        yield opened


@pytest.fixture(scope="module")
def study(demo_store: Path) -> Study:
    """The demo's study, as it is stored."""
    return load_study(demo_store / "study.yml")


def make_checked(*layers: int | None, **change: Any) -> pd.DataFrame:
    """Return a table of some checked layers of one method."""
    names = dict(zip(("model", "method", "target"), CNN, strict=True)) | change
    frame = pd.DataFrame([{**names, "layer": layer} for layer in layers])
    frame["layer"] = pd.array(layers, dtype="Int64")
    frame.attrs["note"] = "as it was"
    return frame


@pytest.mark.parametrize("metric", [None, "coverage"])
def test_best_layers_are_those_of_the_leaderboard(results: Results, metric: str | None) -> None:
    board = results.leaderboard(metric).dropna(subset="layer")
    keys = zip(board["model"], board["method"], board["target"], strict=True)
    assert find_best_layers(results, metric) == dict(zip(keys, board["layer"], strict=True))


def test_a_run_is_checked_on_the_layers_that_its_leaderboard_reports(results: Results) -> None:
    table = sanity_table(results)
    assert table["layer"].tolist() == table["best_layer"].tolist()
    assert table["layer"].tolist() == [find_best_layers(results)[CNN]]
    assert "best layer" not in table.attrs["note"]
    assert find_unchecked(table) == []


def test_a_table_says_where_the_checked_layer_is_not_the_best_one(results: Results) -> None:
    best = find_best_layers(results)[CNN]
    other = best - 1
    found = add_best_layers(make_checked(other), results)
    assert found["best_layer"].tolist() == [best]
    assert find_unchecked(found) == [("demo/cnn gradcam (predicted)", f"layer {other}", best)]
    assert found.attrs["note"].startswith(
        f"as it was; checked on layer {other}, the leaderboard's best layer by "
        f"{results._tables.name(None)} is {best}: demo/cnn gradcam (predicted); "
        f"`sightline sanity RUN --layers {best}` checks them"
    )
    both = add_best_layers(make_checked(other, best), results)
    assert both["best_layer"].tolist() == [best, best]
    assert both.attrs["note"] == "as it was"
    bare = add_best_layers(make_checked(None, method="edge", target=""), results)
    assert bare["best_layer"].isna().all()


def test_the_best_layer_is_that_of_the_metric_that_is_shown(results: Results) -> None:
    best = {name: find_best_layers(results, name) for name in results.metrics}
    usual = find_best_layers(results)
    differing = [
        (name, key) for name, layers in best.items() for key in usual if layers[key] != usual[key]
    ]
    name, (model, method, target) = differing[0]
    layer = usual[model, method, target]
    table = make_checked(layer, model=model, method=method, target=target)
    assert find_unchecked(add_best_layers(table, results)) == []
    ((_, which, other),) = find_unchecked(add_best_layers(table, results, name))
    assert (which, other) == (f"layer {layer}", best[name][model, method, target])


def test_what_is_checked_is_not_chosen_again(study: Study, results: Results) -> None:
    names = [name for name, _ in study.checks.asked()]
    assert choose_best_layers(study, results, names) == study
    assert choose_best_layers(study, results, names, alone=True) == study


def test_layers_that_a_study_asks_for_are_kept_unless_the_best_are_to_be_alone(
    study: Study, results: Results
) -> None:
    values = study.to_dict()
    values["checks"] = {"parts": {**values["checks"]["parts"], "layers": 0, "best_layers": []}}
    asked = Study.from_dict(values)
    found = choose_best_layers(asked, results, ["parts"]).checks.parts
    alone = choose_best_layers(asked, results, ["parts"], alone=True).checks.parts
    assert found is not None
    assert alone is not None
    assert (found.layers, alone.layers) == ((0,), "best")
    best = find_best_layers(results)[CNN]
    for one in (found, alone):
        assert [(entry.model, entry.layer) for entry in one.best_layers] == [("demo/cnn", best)]


def test_without_layers_there_is_nothing_to_choose(study: Study, results: Results) -> None:
    values = study.to_dict()
    values["checks"] = {"parts": {"methods": ["edge"]}}
    asked = Study.from_dict(values)
    assert choose_best_layers(asked, results, ["parts"], alone=True) == asked
