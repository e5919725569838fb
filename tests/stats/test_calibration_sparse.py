"""Sparse labels on façades: what is promised of every estimator, and what fails as it must."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.calibration.sparse import run
from tests.stats.calibrated import check_page

if TYPE_CHECKING:
    from benchmarks.calibration.lines import Line


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    return run(1000, small=True)


def figures(lines: list[Line], what: str) -> list[float]:
    return [line.figure for line in lines if line.what == what]


def test_every_promise_is_kept(lines: list[Line]) -> None:
    assert [line for line in lines if not line.holds] == []
    check_page(lines)
    gated = {line.what for line in lines if line.gated}
    assert {
        "bias of PPI++",
        "coverage of PPI++, population",
        "width of PPI++ over gold alone",
        "Δ-IoU differs, no dropout",
        "Δ-IoU differs, one draw at dropout 0.3",
        "labelling does not look random by area",
    } <= gated


def test_one_label_of_many_says_too_little(lines: list[Line]) -> None:
    naive = [
        line.figure
        for line in lines
        if line.what == "bias of IoU with the label" and line.setting.endswith(" instances")
    ]
    by_count = naive[:4]
    assert by_count == sorted(by_count, reverse=True)
    assert by_count[0] < -0.2
    assert by_count[-1] < -0.7


def test_other_figures_say_too_little_as_well(lines: list[Line]) -> None:
    hits = figures(lines, "bias of pointing")
    assert hits[:4] == sorted(hits[:4], reverse=True), "the more instances, the less it hits"
    assert max(hits) < -0.1
    assert max(figures(lines, "bias of coverage")) < -0.3
    label = figures(lines, "bias of IoU with the label")[4:]
    union = figures(lines, "bias of IoU with all labels of an image")
    assert all(one < other < 0 for one, other in zip(label, union, strict=True))


def test_the_dropout_band_is_no_interval_for_the_truth(lines: list[Line]) -> None:
    assert max(figures(lines, "dropout band holds the truth")[:2]) == 0


def test_recall_is_right_only_where_labels_are_random(lines: list[Line]) -> None:
    even, drawn, salient = figures(lines, "bias of recall")
    assert abs(even) < 0.1
    assert abs(drawn) < 0.1
    assert salient > 0.3


def test_a_better_model_looks_worse(lines: list[Line]) -> None:
    random, salient = figures(lines, "IoU with the label says significantly worse")
    assert random == 0
    assert salient > 0.5
    assert figures(lines, "IoU with every label says significantly worse") == [0, 0]


def test_a_salient_choice_is_noticed(lines: list[Line]) -> None:
    power = [line.figure for line in lines if line.note == "power"]
    assert min(power) > 0.7
