"""Checks as the analysis tells them; what the store does not hold is told with what makes it."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from fastapi.testclient import TestClient

from sightline.api import create_app
from sightline.attribution.sanity.table import BASELINES, SIMILARITIES
from sightline.results import find_best_layers, open_results
from sightline.results.agreement import map_agreement
from sightline.results.correctness import (
    class_scatter,
    compute_accuracy_scatter,
    correct_and_wrong,
)
from sightline.results.failures import failure_cases, failure_reasons, worst_images
from sightline.results.faithfulness import (
    background_test,
    faithfulness_curves,
    faithfulness_table,
    parts_table,
)
from sightline.results.map_changes import layer_changes
from sightline.results.predictions import PREDICTIONS, stored_predictions
from sightline.results.sanity import cascade_table, sanity_table
from sightline.store import Store, check_tasks
from sightline.store.checksums import save_json
from tests.api.asking import get, refused

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sightline.api.state import Served
    from sightline.results import Results

NAMES = ("model", "method", "target")


@pytest.fixture(scope="module")
def results(api_store: Path) -> Iterator[Results]:
    """What is stored."""
    with open_results(api_store) as found:
        yield found


@pytest.fixture(scope="module")
def rows(results: Results) -> pd.DataFrame:
    """All numbers of checks."""
    return results.checks()


@pytest.fixture
def store(api_store: Path, tmp_path: Path) -> Path:
    """A copy of the store that may be changed."""
    return shutil.copytree(api_store, tmp_path / "store")


def _client(store: Path) -> TestClient:
    return TestClient(create_app(store), base_url="http://127.0.0.1")


def _same(lines: list[dict[str, Any]], frame: pd.DataFrame) -> None:
    """See that lines of an answer hold what a table does, null for undefined."""
    assert len(lines) == len(frame) > 0
    for line, row in zip(lines, frame.to_dict("records"), strict=True):
        for name in set(line) & set(row):
            if pd.isna(row[name]):
                assert line[name] is None, name
            else:
                assert line[name] == row[name], name


# --- what is stored ------------------------------------------------------------------------------


def test_what_is_stored_is_listed(client: TestClient, rows: pd.DataFrame) -> None:
    found = get(client, "checks")
    assert set(found["checks"]) == set(rows["check"]) - {"reference"}
    assert found["checks"] == get(client, "health")["checks"]
    assert set(found["models"]) == set(rows["model"])
    assert found["methods"] == ["gradcam", *BASELINES]  # those that know nothing come last
    assert found["targets"] == ["predicted"]
    assert found["ways"] == ["full", "top-down"]
    assert (found["measures"], found["readings"]) == (list(SIMILARITIES), ["signed"])
    assert found["faithfulness"] == found["curves"] == ["deletion", "insertion"]
    lines = [dict(zip(found["table"]["columns"], row, strict=True))
             for row in found["table"]["rows"]]  # fmt: skip
    assert sum(line["numbers"] for line in lines) == len(rows)
    drawn = next(line for line in lines if line["check"] == "randomisation")
    same = rows[(rows["check"] == "randomisation") & (rows["method"] == drawn["method"])
                & (rows["model"] == drawn["model"])]  # fmt: skip
    assert (drawn["images"], drawn["draws"]) == (same["image"].nunique(), same["redraw"].nunique())


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("checks", "`checks` in the study's file"),
        ("checks/sanity", "`sightline sanity RUN`"),
        ("checks/curves", "no checks are stored"),
    ],
)
def test_what_is_not_held_is_told(unchecked: TestClient, path: str, text: str) -> None:
    assert text in refused(unchecked, path, 404)["detail"]


@pytest.fixture(scope="module")
def unchecked(api_store: Path, tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    """The service over a store of a study that ran no checks."""
    store = shutil.copytree(api_store, tmp_path_factory.mktemp("unchecked") / "store")
    manifest = json.loads((store / "manifest.json").read_text())
    manifest |= {"checks": [], "checked": {}}
    save_json(store / "manifest.json", manifest)
    return _client(store)


def test_a_study_without_checks_says_so(unchecked: TestClient) -> None:
    health = get(unchecked, "health")
    assert health["checks"] == []
    assert "no checks" in health["missing"]["checks"]


def test_a_check_that_was_not_run_is_told_beside_those_that_were(store: Path) -> None:
    manifest = json.loads((store / "manifest.json").read_text())
    manifest["checks"] = [one for one in manifest["checks"] if one["part"] == "randomisation"]
    save_json(store / "manifest.json", manifest)
    detail = refused(_client(store), "checks/faithfulness", 404)["detail"]
    assert "'faithfulness' is not stored; stored: randomisation" in detail


def test_a_check_that_is_planned_says_how_far_the_study_is(store: Path, results: Results) -> None:
    tasks = list(check_tasks(results.manifest))
    assert tasks
    for task in tasks:
        Store(store).check_file(task).unlink()
    detail = refused(_client(store), "checks/sanity", 409)["detail"]
    assert "randomisation is stored yet" in detail
    assert "tasks are done" in detail


# --- randomisation -------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [{}, {"measure": "ssim", "way": "top-down"}])
def test_verdicts_are_those_of_the_analysis(
    client: TestClient, results: Results, words: dict[str, Any]
) -> None:
    found = get(client, "checks/sanity", **words)
    frame = sanity_table(results, **words)
    _same(found["lines"], frame)
    assert found["note"] == frame.attrs["note"]
    assert (found["measure"], found["way"]) == (
        words.get("measure", "spearman"), words.get("way", "full"),
    )  # fmt: skip


@pytest.mark.parametrize("path", ["sanity", "cascade", "faithfulness", "curves", "parts"])
def test_the_best_layer_of_the_leaderboard_stands_next_to_the_checked_one(
    client: TestClient, results: Results, path: str
) -> None:
    def layers(**words: Any) -> set[tuple[int | None, int | None]]:
        lines = get(client, f"checks/{path}", **words)["lines"]
        return {
            (line["layer"], line["best_layer"]) for line in lines if line["method"] == "gradcam"
        }

    best = {
        name: find_best_layers(results, name)["demo/cnn", "gradcam", "predicted"]
        for name in results.metrics
    }
    usual = best[str(get(client, "metrics")["default"])]
    assert layers() == {(usual, usual)}
    other = next(name for name, layer in best.items() if layer != usual)
    assert layers(metric=other) == {(usual, best[other])}
    note = get(client, f"checks/{path}", metric=other)["note"]
    assert f"checked on layer {usual}, the leaderboard's best layer by {other} is" in note


def test_lines_are_left_away(client: TestClient, results: Results) -> None:
    frame = sanity_table(results)
    model, method = frame["model"].iloc[0], frame["method"].iloc[0]
    one = get(client, "checks/sanity", model=model, method=method)
    _same(one["lines"], frame[(frame["model"] == model) & (frame["method"] == method)])
    base = get(client, "checks/sanity", model=model.partition("@")[0])
    assert {line["model"].partition("@")[0] for line in base["lines"]} == {model.partition("@")[0]}


@pytest.mark.parametrize(
    ("path", "words", "field"),
    [
        ("sanity", {"measure": "deletion"}, "measure"),
        ("sanity", {"way": "single"}, "way"),
        ("sanity", {"reading": "absolute"}, "reading"),  # no map that is stored has signs
        ("cascade", {"way": "full"}, "way"),
        ("sanity", {"model": "demo/none"}, "model"),
        ("parts", {"metric": "none"}, "metric"),
        ("cascade", {"method": "none"}, "method"),
        ("curves", {"measure": "infidelity"}, "measure"),
        ("faithfulness", {"measure": "spearman"}, "measure"),
        ("correctness", {"metric": "none"}, "metric"),
        ("background", {"one": "demo/none"}, "one"),
        ("failures", {"count": 12}, "count"),
        ("failures", {"target": "predicted"}, "target"),
        ("agreement", {"model": "demo/none"}, "model"),
    ],
)
def test_words_that_stand_for_nothing_are_named(
    client: TestClient, path: str, words: dict[str, Any], field: str
) -> None:
    assert refused(client, f"checks/{path}", **words)["field"] == field


def test_a_model_that_was_not_checked_has_no_lines(client: TestClient, results: Results) -> None:
    checked = set(results.checks("randomisation")["model"])
    for model in results.models:
        lines = get(client, "checks/sanity", model=model)["lines"]
        bases = {name.partition("@")[0] for name in checked}
        assert bool(lines) == (model in checked | bases)


def test_a_cascade_begins_with_the_trained_network(client: TestClient, results: Results) -> None:
    found = get(client, "checks/cascade")
    frame = cascade_table(results)
    points = [
        {name: line[name] for name in (*NAMES, "layer", "cross", "edge", "training")} | point
        for line in found["lines"]
        for point in line["points"]
    ]
    _same(points, frame)
    for line in found["lines"]:
        first = line["points"][0]
        assert (first["stage"], first["similarity"]) == (-1, 1)
        assert line["seeds"] == results.manifest["study"]["checks"]["randomisation"]["seeds"]
        assert [one["stage"] for one in line["points"]] == list(range(-1, len(line["points"]) - 1))
        assert len(line["points"]) > 2


# --- faithfulness and parts ----------------------------------------------------------------------


def test_faithfulness_stands_beside_the_random_map(client: TestClient, results: Results) -> None:
    found = get(client, "checks/faithfulness")
    frame = faithfulness_table(results)
    _same(found["lines"], frame)
    assert {line["measure"] for line in found["lines"]} == set(found["measures"])
    assert "random" in {line["method"] for line in found["lines"]}
    one = get(client, "checks/faithfulness", measure=found["measures"][0])
    assert {line["measure"] for line in one["lines"]} == {found["measures"][0]}


def test_curves_are_those_of_the_analysis(client: TestClient, results: Results) -> None:
    found = get(client, "checks/curves")
    assert found["measure"] == get(client, "checks")["curves"][0]
    frame = faithfulness_curves(results, found["measure"])
    points = [
        {name: line[name] for name in (*NAMES, "layer")}
        | point
        | {"share": point["x"], "images": point["n"]}
        for line in found["lines"]
        for point in line["points"]
    ]
    _same(points, frame)
    for line in found["lines"]:
        shares = [point["x"] for point in line["points"]]
        assert shares == sorted(shares)
        assert shares[0] == 0
    other = get(client, "checks/curves", measure="insertion")["lines"]
    assert [line["points"] for line in other] != [line["points"] for line in found["lines"]]


def test_parts_are_those_of_the_analysis(client: TestClient, results: Results) -> None:
    if "parts" not in get(client, "checks")["checks"]:
        pytest.fail("the store behind these tests must hold the check `parts`")
    _same(get(client, "checks/parts")["lines"], parts_table(results))


def test_the_background_is_compared_between_two_models(
    client: TestClient, results: Results
) -> None:
    found = get(client, "checks/background")
    assert [found["one"], found["other"]] == results.models[:2]
    _same(found["lines"], background_test(results, *results.models[:2]))
    turned = get(client, "checks/background", one=found["other"], other=found["one"])
    for line, other in zip(found["lines"], turned["lines"], strict=True):
        assert line["difference"] == pytest.approx(-other["difference"], abs=1e-12)
    first, *_, last = results.models
    third = get(client, "checks/background", one=first, other=last)
    _same(third["lines"], background_test(results, first, last))


# --- right and wrong, agreement, failures, layers ------------------------------------------------


def test_scores_where_the_model_is_right(client: TestClient, results: Results) -> None:
    known = stored_predictions(results)
    found = get(client, "checks/correctness", metric="coverage")
    _same(found["lines"], correct_and_wrong(results, "coverage", predictions=known))
    _same(found["models"], compute_accuracy_scatter(results, "coverage", predictions=known))
    assert {"right_images", "reason"} < set(found["lines"][0])
    _same(found["classes"], class_scatter(results, "coverage", predictions=known))
    assert found["metric"] == "coverage"
    assert get(client, "checks/correctness")["metric"] == get(client, "metrics")["default"]


def test_models_are_not_asked_by_the_service(store: Path) -> None:
    (store / PREDICTIONS).unlink()
    client = _client(store)
    assert "`sightline report" in refused(client, "checks/correctness", 409)["detail"]
    reasons = get(client, "checks/failures")["reasons"]
    assert "wrong class" not in {one["reason"] for one in reasons}
    assert not (store / PREDICTIONS).exists()


def test_agreement_puts_those_together_that_agree(client: TestClient, served: Served) -> None:
    found = get(client, "checks/agreement", model="demo/cnn")
    assert {line["model"] for line in found["lines"]} == {"demo/cnn"}
    values, low, high = (np.array(found[name], float) for name in ("values", "low", "high"))
    count = len(found["lines"])
    assert values.shape == (count, count)
    np.testing.assert_array_equal(values, values.T)
    assert np.all((low <= values + 1e-12) & (values <= high + 1e-12))
    from sightline.api.choice import AskedTable
    from sightline.api.routes._frames import lines_of

    lines = lines_of(served, AskedTable(model="demo/cnn")).shown()
    direct = map_agreement(served.scenes, lines.lines)
    order = list(direct.order)
    np.testing.assert_allclose(values, direct.matrix[np.ix_(order, order)], rtol=0, atol=0)
    assert [line["name"] for line in found["lines"]] == [lines.names[place] for place in order]


def test_the_worst_images_come_with_what_is_peculiar(client: TestClient, results: Results) -> None:
    found = get(client, "checks/failures", metric="coverage", method="rollout", count=4)
    choice = found["choice"]
    assert choice["method"] == "rollout"
    given = {name: choice[name] for name in ("model", "method", "layer")}
    given["predictions"] = stored_predictions(results)
    cases = failure_cases(results, "coverage", **given)
    worst = worst_images(cases, 4)
    assert [one["image"] for one in found["items"]] == list(worst["image"])
    assert [one["value"] for one in found["items"]] == list(worst["value"])
    assert ["; ".join(one["reasons"]) for one in found["items"]] == list(worst["reasons"])
    _same(found["reasons"], failure_reasons(cases, 4))
    assert "associations" in found["note"]
    assert len(get(client, "checks/failures")["items"]) == 3  # a quarter of 12 images
    fewer = get(client, "checks/failures", metric="coverage", method="rollout", count=2)
    assert fewer["items"] == found["items"][:2]


def test_maps_change_from_layer_to_layer(client: TestClient, served: Served) -> None:
    found = get(client, "checks/layers", method="cls")
    frame = layer_changes(served.scenes, method="cls")
    points = [
        {name: line[name] for name in NAMES} | point
        for line in found["lines"]
        for point in line["points"]
    ]
    _same(points, frame)
    assert {(one["layer"], one["next"]) for one in points} == {(0, 2), (2, 11)}
