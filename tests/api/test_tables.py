"""Tables over all images say what the results say, and refuse what they do not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from sightline.results._catalogue import BASELINE
from tests.api.asking import LINE, get, refused, same

if TYPE_CHECKING:
    from fastapi.testclient import TestClient

    from sightline.api.state import Served

# --- leaderboard ---------------------------------------------------------------------------------


def test_the_leaderboard_compares_the_best_line_with_the_best_baseline(
    client: TestClient, served: Served
) -> None:
    expected = served.results.compare_best()
    assert expected is not None
    found = get(client, "leaderboard")["best_baseline"]
    assert found == expected.to_dict()
    assert found["sentence"].startswith(f"Best: {expected.configuration} (")
    narrow = get(client, "leaderboard", method="cls", layer="last")["best_baseline"]
    alone = served.results.compare_best(method="cls", layer="last")
    assert alone is not None
    assert narrow == alone.to_dict()
    assert narrow["baseline"] != ""


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"metric": "coverage"},
        {"model": "demo/vit-dino@lora"},
        {"method": "cls", "layer": 0},
        {"method": "cls", "layer": "split"},
        {"method": "cls", "head": 1, "layer": "last"},
        {"target": "predicted"},
        {"method": "random", "seed": 1},
    ],
    ids=str,
)
def test_the_leaderboard_has_the_lines_of_the_results(
    client: TestClient, served: Served, words: dict[str, Any]
) -> None:
    found = get(client, "leaderboard", **words)
    expected = served.results.leaderboard(**words)
    assert found["metric"] == expected.attrs["metric"]
    assert found["note"]
    keys = ["model", "method", "target"]
    rows = {tuple(row[keys]): row for _, row in expected.iterrows()}
    for line in found["lines"]:
        row = rows[line["model"], line["method"], line["target"]]
        same(line, row, (*LINE, "median", "std"))
        assert line["group"] == row["group"]
        by = f"by {found['metric']} on the same images"
        assert line["chosen"] == row["chosen"].replace("on the same images", by)
        assert str(line["layer"]) == str(row["layer"]) or (
            line["layer"] is None and (row["layer"] is pd.NA or row["layer"] == "")
        )
    shared = sum(line["models"] for line in found["lines"])
    assert shared == len(expected)


@pytest.mark.parametrize("words", [{}, {"layer": "split"}, {"percentile": 80}], ids=str)
def test_recall_has_another_score_beside_it(
    client: TestClient, served: Served, words: dict[str, Any]
) -> None:
    metric = "recall@90"
    found = get(client, "leaderboard", metric=metric, **words)
    words.pop("percentile", None)
    expected = served.results.leaderboard(metric, **words)
    keys = ["model", "method", "target"]
    rows = {tuple(row[keys]): row for _, row in expected.iterrows()}
    for line in found["lines"]:
        row = rows[line["model"], line["method"], line["target"]]
        assert line["beside"] == "iou@90"
        assert line["beside_value"] == pytest.approx(row["iou@90"])
    plain = get(client, "leaderboard", metric="iou@90")["lines"]
    assert {(line["beside"], line["beside_value"]) for line in plain} == {(None, None)}


def test_a_random_ranking_stands_beside_average_precision(
    client: TestClient, served: Served
) -> None:
    found = get(client, "leaderboard", metric="average_precision")
    expected = served.results.leaderboard("average_precision")
    rows = {(row["model"], row["method"], row["target"]): row for _, row in expected.iterrows()}
    known = [line for line in found["lines"] if line["random"] is not None]
    assert known
    for line in known:
        row = rows[line["model"], line["method"], line["target"]]
        assert line["random"] == pytest.approx(row["random"])
        assert line["random"] > line["chance"]
    assert all(line["random"] is None for line in get(client, "leaderboard")["lines"])


def test_lines_are_sorted_and_equal_baselines_are_one(client: TestClient) -> None:
    lines = get(client, "leaderboard")["lines"]
    values = [line["value"] for line in lines]
    assert values == sorted(values, reverse=True)
    assert lines[0]["rank"] == 1
    names = [line["name"] for line in lines]
    assert len(set(names)) == len(names)
    assert any(line["group"] == BASELINE and line["models"] > 1 for line in lines)
    corrected = [(line["corrected"], line["value"], line["chance"]) for line in lines]
    assert all((c > 0) == (v > chance) for c, v, chance in corrected)


def test_a_line_has_one_name_in_all_answers(client: TestClient) -> None:
    names = {
        (line["model"], line["method"], line["target"]): line["name"]
        for line in get(client, "leaderboard")["lines"]
    }
    for path in ("layers", "percentiles", "ranking"):
        for words in ({}, {"model": "demo/cnn"}):
            for line in get(client, path, **words)["lines"]:
                key = line["model"], line["method"], line["target"]
                assert line["name"] == names.get(key, line["name"])
                if words == {}:
                    assert key in names


def test_a_percentile_stands_for_the_iou_at_it(client: TestClient) -> None:
    assert get(client, "leaderboard", percentile=80) == get(client, "leaderboard", metric="iou@80")
    by_mass = get(client, "leaderboard", selection="mass60")
    assert by_mass["metric"] == "iou@mass60"
    assert get(client, "leaderboard", metric="coverage", percentile=80)["metric"] == "coverage"
    for path in ("breakdown/labels", "breakdown/styles"):
        assert get(client, path, metric="iou@80", percentile=90)["metric"] == "iou@80"


@pytest.mark.parametrize(
    ("path", "words", "field", "text"),
    [
        ("leaderboard", {"metric": "nope"}, "metric", "no scores of metric 'nope'"),
        ("leaderboard", {"percentile": 87}, "percentile", "iou@87 was not stored"),
        ("leaderboard", {"selection": "mean"}, "selection", "iou@mean was not stored"),
        ("leaderboard", {"selection": "nope"}, "selection", "nope"),
        ("leaderboard", {"ties": "include"}, "ties", "ties must be 'share'"),
        ("leaderboard", {"model": "nope"}, "model", "demo/vit-dino"),
        ("leaderboard", {"method": "nope"}, "method", "rollout"),
        ("leaderboard", {"layer": 77}, "layer", "'77'"),
        ("leaderboard", {"layer": "first"}, "layer", "first"),
        ("layers", {"target": "nope"}, "target", "predicted"),
        ("percentiles", {"metric": "coverage"}, "metric", "one with percentiles"),
        ("percentiles", {"seed": 9}, "seed", "'9'"),
        ("percentiles", {"ties": "include"}, "ties", "ties must be 'share'"),
        ("percentiles", {"percentile": 80}, "percentile", "does not go with"),
        ("layers", {"layer": 3}, "layer", "does not go with"),
        ("ranking", {"metrics": "coverage,nope"}, "metrics", "'nope'"),
        ("ranking", {"metrics": ",".join(f"m{n}" for n in range(50))}, "metrics", "at most 40"),
        ("breakdown/labels", {"percentile": 87}, "percentile", "iou@87"),
        ("breakdown/styles", {"metric": "nope"}, "metric", "nope"),
        ("breakdown/labels", {"min_count": -1}, "min_count", "min_count"),
        ("heads", {"method": "rollout"}, "method", "no single heads of these maps"),
        ("heads", {"model": "demo/cnn"}, "model", "no single heads of these maps"),
        ("heads", {"layer": "last"}, "layer", "must be a number"),
        ("heads/matrix", {"metric": "average_precision"}, "metric", "metric of regions"),
    ],
)  # fmt: skip
def test_what_is_not_stored_is_refused_by_name(
    client: TestClient, path: str, words: dict[str, Any], field: str, text: str
) -> None:
    found = refused(client, path, **words)
    assert found["field"] == field
    assert text in found["detail"]


# --- curves --------------------------------------------------------------------------------------


def test_layers_are_those_of_the_results(client: TestClient, served: Served) -> None:
    found = get(client, "layers", metric="coverage")
    expected = served.results.layer_progression("coverage")
    count = 0
    for line in found["lines"]:
        rows = expected[
            (expected["model"] == line["model"])
            & (expected["method"] == line["method"])
            & (expected["target"] == line["target"])
        ]
        assert line["layered"] == rows["layer"].notna().all()
        if line["layered"]:
            assert [point["x"] for point in line["points"]] == rows["layer"].tolist()
        else:
            assert [point["x"] for point in line["points"]] == [0]
        for point, (_, row) in zip(line["points"], rows.iterrows(), strict=True):
            same(point, row)
        count += len(line["points"]) * line["models"]
    assert count == len(expected)


def test_percentiles_rise_and_are_those_of_the_results(client: TestClient, served: Served) -> None:
    found = get(client, "percentiles", metric="recall", model="demo/vit-dino", method="cls")
    expected = served.results.percentile_sweep("recall", model="demo/vit-dino", method="cls")
    (line,) = found["lines"]
    assert found["metric"] == "recall"
    rows = expected.sort_values("percentile").reset_index(drop=True)
    assert [point["x"] for point in line["points"]] == rows["percentile"].tolist()
    for point, (_, row) in zip(line["points"], rows.iterrows(), strict=True):
        same(point, row)
    assert line["layer"] == rows["layer"].iloc[0]


# --- ranking -------------------------------------------------------------------------------------


def test_ranks_are_those_of_each_metric(client: TestClient) -> None:
    found = get(client, "ranking", metrics="coverage, iou@90,coverage")
    assert found["metrics"] == ["coverage", "iou@90"]
    board = get(client, "leaderboard")["lines"]
    assert [line["name"] for line in found["lines"]] == [line["name"] for line in board]
    for line, other in zip(found["lines"], board, strict=True):
        cell = line["cells"][1]
        assert (cell["metric"], cell["value"]) == ("iou@90", other["value"])
        assert cell["rank"] == other["rank"]
    by_coverage = sorted(found["lines"], key=lambda line: line["cells"][0]["rank"])
    values = [line["cells"][0]["value"] for line in by_coverage]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("metric", ["coverage", "pointing"])
def test_what_differs_from_the_best_is_marked_as_a_comparison_marks_it(
    client: TestClient, served: Served, metric: str
) -> None:
    found = get(client, "ranking", metrics=metric, layer="last")
    cells = {line["name"]: line["cells"][0] for line in found["lines"]}
    best = min(found["lines"], key=lambda line: line["cells"][0]["rank"])
    assert cells[best["name"]]["significant"] is None
    tested = [cell["significant"] for name, cell in cells.items() if name != best["name"]]
    assert all(isinstance(one, bool) for one in tested)
    # By hand: sign flips of the images' differences, Holm over all lines.
    from sightline.report._lines import choose_lines
    from sightline.results._views import Name
    from sightline.stats.paired_tests import compare_family

    lines = choose_lines(served.results, layer="last")
    table = lines.values(Name(metric, "")).pivot_table(
        index="image", columns="name", values="value"
    )
    gaps = np.column_stack(
        [table[best["name"]] - table[name] for name in cells if name != best["name"]]
    )
    holm = compare_family(gaps).holm
    assert tested == [bool(p < 0.05) for p in holm]
    assert (False in tested) == (metric == "pointing")


@pytest.mark.parametrize("layer", [2, "best", "split"])
def test_lines_of_one_model_are_ranked_under_their_names(client: TestClient, layer: Any) -> None:
    names = {line["name"] for line in get(client, "leaderboard")["lines"]}
    words = {"model": "demo/vit-dino@lora", "layer": layer, "metrics": "iou@90,coverage"}
    lines = get(client, "ranking", **words)["lines"]
    assert {line["name"] for line in lines if line["group"] != BASELINE} <= names
    tested = [line["cells"][1]["significant"] for line in lines]
    assert tested.count(None) == 1


def test_a_metric_without_a_better_side_does_not_lead(client: TestClient, served: Served) -> None:
    assert "sparsity" not in served.results.metrics
    found = get(client, "ranking")
    assert {"coverage", "iou@90"} <= set(found["metrics"])


# --- breakdowns ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ancestors", [False, True])
def test_labels_are_those_of_the_results(
    client: TestClient, served: Served, ancestors: bool
) -> None:
    found = get(client, "breakdown/labels", percentile=80, ancestors=ancestors)
    expected = served.results.feature_breakdown(percentile=80, ancestors=ancestors)
    assert (found["by"], found["metric"]) == ("labels", "iou@80")
    assert [line["label"] for line in found["lines"]] == expected["label"].tolist()
    for line, (_, row) in zip(found["lines"], expected.iterrows(), strict=True):
        iou, recall, pointing, coverage = line["figures"]
        assert iou["metric"] == "iou@80"
        assert recall["metric"] == "recall@80"
        spread = ("low", "high", "median", "std", "chance")
        same(iou, row.rename({"iou": "value"}), ("value", *spread, "ceiling"))
        for figure in (recall, pointing, coverage):
            base = figure["metric"].partition("@")[0]
            row_of = {name: row[f"{base}_{name}"] for name in spread}
            same(figure, row_of | {"value": row[base]}, ("value", *spread))
        assert (line["n"], line["images"]) == (row["n"], row["images"])
    assert found["choice"]["model"] in found["note"]


def test_labels_make_a_tree(client: TestClient, served: Served) -> None:
    lines = get(client, "breakdown/labels", ancestors=True)["lines"]
    labels = {line["label"]: line for line in lines}
    below = [line for line in lines if line["parents"]]
    assert below
    for line in below:
        for parent in line["parents"]:
            assert labels[parent]["n"] >= line["n"]
        assert tuple(line["parents"]) == served.taxonomy.parents[line["label"]]


def test_rare_labels_can_be_left_out(client: TestClient) -> None:
    every = get(client, "breakdown/labels")["lines"]
    some = get(client, "breakdown/labels", min_count=5)["lines"]
    assert some == [line for line in every if line["n"] + line["undefined"] >= 5]
    assert 0 < len(some) < len(every)


def test_styles_are_those_of_the_results(client: TestClient, served: Served) -> None:
    found = get(client, "breakdown/styles", metric="coverage", method="rollout")
    expected = served.results.style_breakdown("coverage", method="rollout")
    assert [line["label"] for line in found["lines"]] == expected["label"].tolist()
    for line, (_, row) in zip(found["lines"], expected.iterrows(), strict=True):
        same(line["figures"][0], row, ("value", "low", "high", "median", "std", "chance", "n"))
    assert found["choice"]["method"] == "rollout"
    assert "method" not in found["choice"]["chosen"]
    assert "model" in found["choice"]["chosen"]
