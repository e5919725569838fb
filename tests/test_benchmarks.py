"""The benchmarks run: their data, their tables and our side of them. No time is asserted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks import data as data_bench
from benchmarks import maps as bench
from benchmarks import study as study_bench
from benchmarks._maps_data import make, make_boxes

if TYPE_CHECKING:
    from pathlib import Path

SMALL = 16


@pytest.fixture
def data() -> tuple[np.ndarray, np.ndarray]:
    return make(6, SMALL)


@pytest.fixture
def figures() -> bench.Figures:
    return {(name, size): 1.0 for name, tool in bench.TOOLS.items() for size in tool.maps}


def test_maps_are_smooth_float32_in_the_unit_interval() -> None:
    maps, masks = make(32, 64)
    assert maps.shape == masks.shape == (32, 64, 64)
    assert maps.dtype == np.float32
    assert masks.dtype == bool
    assert 0 <= maps.min() < maps.max() <= 1
    assert masks.mean() == pytest.approx(0.1, abs=0.02)
    assert masks.any(axis=(1, 2)).all()


def test_a_seed_makes_the_same_data() -> None:
    for one, two, other in zip(make(2, 8), make(2, 8), make(2, 8, seed=1), strict=True):
        np.testing.assert_array_equal(one, two)
        assert (one != other).any()


def test_boxes_lie_inside_and_have_the_stated_sides() -> None:
    boxes = np.stack(make_boxes(5, 7))
    sides = boxes[..., 2:] - boxes[..., :2]
    assert boxes.shape == (5, 7, 4)
    assert boxes.min() >= 0
    assert boxes.max() <= 1
    assert sides.min() >= 1 / 16 - 1e-12
    assert sides.max() <= 1 / 2 + 1e-12


@pytest.mark.parametrize("name", [n for n, t in bench.TOOLS.items() if t.package == "sightline"])
def test_ours_runs_and_tells_auc(data: tuple[np.ndarray, np.ndarray], name: str) -> None:
    for call in bench.TOOLS[name].prepare(*data):
        assert np.shape(call()) == (6,)


def test_scikit_learn_and_ours_see_the_same_auc(data: tuple[np.ndarray, np.ndarray]) -> None:
    (ours,), (theirs,) = bench.sightline(*data), bench.scikit_learn(*data)
    np.testing.assert_allclose(ours(), theirs(), rtol=0, atol=1e-12)


def test_the_bare_sort_sorts_every_row(data: tuple[np.ndarray, np.ndarray]) -> None:
    (call,) = bench.numpy_sort(*data)
    assert call() is None


def test_the_fastest_round_counts() -> None:
    rounds = [[(1.0, 4.0), (2.0, 2.0)], [(3.0, 3.0), (1.5, 5.0)]]
    assert bench.fastest(rounds) == [bench.Seconds(1.0, 3.0), bench.Seconds(1.5, 2.0)]


def test_figures_of_a_round() -> None:
    rounds = [bench.Seconds(cpu=1.0, wall=3.0), bench.Seconds(cpu=1.5, wall=2.0)]
    assert bench.per_map(rounds, 10) == pytest.approx(100)
    assert bench.added(rounds, 10) == pytest.approx(50)
    assert bench.speed_up(rounds, 10) == pytest.approx(1.5)


def test_a_plain_table_is_aligned() -> None:
    assert bench.table([["tool", "ms"], ["a", "1.25"]]).splitlines() == [
        "tool    ms",
        "----  ----",
        "a     1.25",
    ]


def test_a_markdown_table_has_edges() -> None:
    assert bench.table([["tool", "ms"], ["a", "1.25"]], markdown=True).splitlines() == [
        "| tool |   ms |",
        "| ---- | ---: |",
        "| a    | 1.25 |",
    ]


def test_targets_are_met_missed_or_not_run(figures: bench.Figures) -> None:
    figures["scikit-learn", 224] = 60.0
    del figures["quantus", 224]
    verdicts = {(row[0], row[1]): row[-1] for row in bench.target_rows(figures)}
    assert verdicts["times faster than scikit-learn", "224"] == "met"
    assert verdicts["times faster than scikit-learn", "16"] == "missed"
    assert verdicts["times faster than Quantus' seven calls", "224"] == "not run"


@pytest.mark.parametrize("markdown", [False, True])
def test_the_report_names_every_tool(figures: bench.Figures, markdown: bool) -> None:
    text = bench.report(figures, 1e-9, markdown=markdown)
    assert all(n in text for n, t in bench.TOOLS.items() if t.figure is bench.per_map)
    assert text.count("25 boxes") == 2


def test_the_difference_names_the_worst_column() -> None:
    gpu = pytest.importorskip("benchmarks.maps_gpu")
    nan = float("nan")
    wanted = {"a": np.array([1.0, nan]), "b": np.array([2.0, 3.0])}
    assert gpu.difference(wanted, wanted) == (0.0, "")
    assert gpu.difference(wanted | {"b": np.array([2.5, 3.0])}, wanted) == (0.5, "b")
    assert gpu.difference(wanted | {"a": np.array([1.0, 1.0])}, wanted) == (np.inf, "a")
    assert gpu.difference({"a": wanted["a"]}, wanted)[0] == np.inf


@pytest.mark.parametrize("name", data_bench.TASKS)
def test_every_data_set_is_made_and_measured(name: str, tmp_path: Path) -> None:
    task = data_bench.TASKS[name]
    task.make(tmp_path, 20, 60)
    assert task.measure(tmp_path, 20) > 0


def test_targets_of_data_sets_are_met_or_missed() -> None:
    rows = data_bench.rows({"wikichurches": 0.3, "coco": 2.5, "facades": 59.0})
    assert [row[-1] for row in rows[1:]] == ["met", "missed", "missed"]
    assert rows[1][2:4] == ["≤ 0.3", "0.3"]
    assert rows[3][2:4] == ["≥ 60", "59"]


def test_studies_are_measured_and_asked() -> None:
    runs, answers = study_bench.measure([2, 4, 8])
    assert [one["scores"] for one in runs.values()] == [5 * size * (21 + 18 * 10) for size in runs]
    assert answers["scores"] == runs[8]["scores"]
    wanted = [line[0] for line in study_bench.verdicts(runs, answers)[1:]]
    assert wanted == [target.text for target in study_bench.TARGETS.values()]
    assert len(study_bench.costs(runs)) == 4
