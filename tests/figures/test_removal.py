"""Removal curves and layers: areas, doubts and steps are where the numbers are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from sightline.attribution.sanity.table import CURVES
from sightline.core import InputError, UnknownNameError
from sightline.figures.layers import draw_layer_changes
from sightline.figures.removal import _MEASURES, draw_removal_curves
from sightline.results.faithfulness import BETTER
from tests.figures.drawn import assert_legible
from tests.figures.samples_checks import removal_sample
from tests.figures.test_checks import entries, marks, names, notes, spans


def small(**more: Any) -> dict[str, Any]:
    curves = {
        "method": ["cls"] * 3 + ["random"] * 3,
        "measure": ["insertion"] * 6,
        "share": [0, 0.5, 1] * 2,
        "value": [0.0, 0.4, 0.8, 0.0, 0.6, 1.0],
        "group": ["attention"] * 3 + ["baseline"] * 3,
        "n": [8] * 6,
    }
    return {**curves, **more}


def test_areas_follow_from_curves_and_the_best_is_on_top() -> None:
    curves, areas = draw_removal_curves(small()).axes
    assert names(areas) == ["random", "cls"]
    assert [x for x, _ in marks(areas, "o")] == pytest.approx([0.55, 0.4])
    dashed = [line for line in areas.lines if line.get_marker() == "None"]
    assert np.asarray(dashed[0].get_xdata())[0] == pytest.approx(0.55)
    assert notes(curves) == "higher is better; 8 images"
    assert notes(areas) == "dashed: the random map"
    drawn = [np.asarray(line.get_ydata()).tolist() for line in curves.lines]
    assert drawn == [[0.0, 0.6, 1.0], [0.0, 0.4, 0.8]]


def test_areas_that_are_given_have_intervals_and_doubts() -> None:
    areas = {"method": ["cls", "ig", "random"], "measure": ["deletion"] * 3,
             "value": [0.3, 0.2, 0.5], "low": [0.2, 0.1, 0.4], "high": [0.4, 0.3, 0.6],
             "random": [0.5] * 3, "difference_low": [-0.3, -0.4, 0.0],
             "difference_high": [0.01, -0.01, 0.0]}  # fmt: skip
    curves = pd.DataFrame(small(measure=["deletion"] * 6))
    other = curves[curves["method"] == "cls"].assign(method="ig")
    figure = draw_removal_curves(pd.concat([curves, other], ignore_index=True), areas)
    ax = figure.axes[1]
    assert names(ax) == ["ig", "cls", "random"]
    assert [[end[0] for end in span] for span in spans(ax)] == [[0.1, 0.3], [0.2, 0.4], [0.4, 0.6]]
    doubts = [text for text in ax.texts if text.get_text() == "‡"]
    assert [text.xy[1] for text in doubts] == [1]  # type: ignore[attr-defined]
    assert "‡: not shown to be better than it" in notes(ax)
    assert notes(figure.axes[0]).startswith("lower is better")


def test_an_area_without_an_interval_does_not_stretch_the_axis() -> None:
    nan = np.nan
    areas = {"method": ["cls", "random"], "measure": ["insertion"] * 2, "value": [9.0, 0.5],
             "low": [nan, 0.4], "high": [nan, 0.6]}  # fmt: skip
    ax = draw_removal_curves(small(), areas).axes[1]
    assert marks(ax, ">") == [(0.6, 0)]
    assert ax.get_xlim()[1] < 0.7
    assert notes(ax) == "bars: 95% intervals; arrows: beyond the axis, without an interval"
    bare = {name: areas[name] for name in ("method", "measure", "value")}
    assert draw_removal_curves(small(), bare).axes[1].get_xlim()[1] > 9


@pytest.mark.parametrize("images", [9, 10])
def test_a_curve_without_an_interval_does_not_stretch_the_axis(images: int) -> None:
    nan = np.nan
    ends = {"low": [nan] * 3 + [0.0, 0.5, 0.9], "high": [nan] * 3 + [0.1, 0.7, 1.1],
            "value": [0.0, 4.0, 8.0, 0.0, 0.6, 1.0], "n": [images] * 6}  # fmt: skip
    few = draw_removal_curves(small(**ends)).axes[0]
    assert few.get_ylim() == pytest.approx((-0.05, 1.05))  # bands of baselines are not drawn
    assert notes(few).endswith("; 2 without an interval beyond the axis")
    bare = draw_removal_curves(small(value=ends["value"])).axes[0]
    assert bare.get_ylim() == pytest.approx((-0.4, 8.4))
    assert "beyond the axis" not in notes(bare)


def test_bands_are_within_the_axis() -> None:
    ends = {"low": [-0.3, 0.3, 0.7] * 2, "high": [0.1, 0.7, 1.3] * 2, "n": [10] * 6}
    low, high = draw_removal_curves(small(**ends)).axes[0].get_ylim()
    assert low < -0.3
    assert high > 1.3


def test_what_is_better_is_as_the_analysis_says() -> None:
    assert {name for name, one in _MEASURES.items() if one.lower} == {
        name for name in CURVES if BETTER[name] == "lower"
    }
    assert set(_MEASURES) == set(CURVES)


def test_of_what_should_be_high_the_lower_end_leaves_doubts() -> None:
    areas = {"method": ["cls", "random"], "measure": ["insertion"] * 2, "value": [0.6, 0.5],
             "random": [0.5] * 2, "difference_low": [0.0, 0.0],
             "difference_high": [0.2, 0.0]}  # fmt: skip
    for low, doubts in ((0.0, 1), (0.01, 0)):
        areas["difference_low"] = [low, 0.0]
        ax = draw_removal_curves(small(), areas).axes[1]
        assert sum(text.get_text() == "‡" for text in ax.texts) == doubts


@pytest.mark.parametrize(("images", "bands"), [(10, 1), (9, 0)])
def test_methods_have_bands_where_images_are_many(images: int, bands: int) -> None:
    ends = {"low": [0.0, 0.3, 0.7] * 2, "high": [0.1, 0.7, 1.0] * 2, "n": [images] * 6}
    ax = draw_removal_curves(small(**ends)).axes[0]
    assert len(ax.collections) == bands  # of the method, not of the random map
    assert ("bands" in notes(ax)) == bool(bands)


def test_very_many_lines_can_be_read() -> None:
    figure = removal_sample(24)
    assert_legible(figure)
    assert len(names(figure.axes[4])) == 18
    assert "6 more" in notes(figure.axes[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"measure": ["dropout"] * 6},
            "measure must be one of deletion, .*; got 'dropout'",
        ),
        ({"share": [0, 1, 2] * 2}, "share must lie in 0 to 1; got 2"),
        ({"value": ["?"] * 6}, "column 'value' must hold numbers"),
    ],
)
def test_curves_that_do_not_fit_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises((InputError, UnknownNameError), match=message):
        draw_removal_curves(small(**change))
    with pytest.raises(InputError, match="curves must have at least one row"):
        draw_removal_curves({"method": [], "measure": [], "share": [], "value": []})


def test_steps_between_layers() -> None:
    table = {
        "method": ["b", "b", "a", "a"],
        "layer": [3, 0, 0, 3],
        "next": [11, 3, 3, 11],
        "value": [0.9, 0.7, 0.2, np.nan],
        "low": [0.8, 0.6, 0.1, np.nan],
        "high": [1.0, 0.8, 0.3, np.nan],
        "n": [6] * 4,
    }
    ax = draw_layer_changes(table).axes[0]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0→3", "3→11"]
    assert entries(ax) == ["0.20  a", "0.80  b"]
    assert np.asarray(ax.lines[1].get_ydata()).tolist() == [0.7, 0.9]
    assert len(spans(ax)) == 3
    assert notes(ax).startswith("6 images; bars: 95% intervals")
    assert ax.get_ylim()[0] == pytest.approx(-0.08)
    few = {**table, "value": [0.9, 0.7, -0.9, np.nan], "low": [0.8, 0.6, np.nan, np.nan]}
    ax = draw_layer_changes(few).axes[0]
    assert ax.get_ylim()[0] == pytest.approx(-0.08)
    assert notes(ax).endswith("; 1 without an interval beyond the axis")
    bare = draw_layer_changes({**few, "low": [np.nan] * 4, "high": [np.nan] * 4}).axes[0]
    assert bare.get_ylim()[0] == pytest.approx(-0.95)
    assert draw_layer_changes({**few, "low": [-0.5, 0.6, np.nan, np.nan]}).axes[0].get_ylim()[
        0
    ] == pytest.approx(-0.55)
    with pytest.raises(InputError, match="correlations must lie in -1 to 1; got 2"):
        draw_layer_changes({"method": ["a"], "layer": [0], "next": [1], "value": [2]})
    with pytest.raises(InputError, match="must hold the numbers of layers"):
        draw_layer_changes({"method": ["a"], "layer": [None], "next": [1], "value": [1]})
