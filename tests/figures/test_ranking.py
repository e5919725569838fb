"""Ranks and radar charts show what they were given, and all of it can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from sightline.core import InputError, UnknownNameError
from sightline.figures import (
    create_methods_ranking_heatmap,
    create_metrics_radar_chart,
    new_figure,
)
from sightline.figures.ranking import _wrapped
from sightline.figures.style import GREY, even_scale
from sightline.metrics import METRICS
from tests.figures.drawn import assert_legible, notes_of, row_names
from tests.figures.samples_ranking import SAMPLES, many
from tests.figures.test_comparing import _legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@pytest.mark.parametrize("count", [1, 2, 24, 60])  # of 3 and 15: test_cards.py
@pytest.mark.parametrize("name", SAMPLES)
def test_figures_can_be_read(name: str, count: int) -> None:
    assert_legible(SAMPLES[name](count))


@pytest.mark.parametrize("name", SAMPLES)
def test_every_metric_of_a_direction_can_be_drawn(name: str) -> None:
    every = tuple(f"{one}@90" if spec.thresholded else one for one, spec in METRICS.items())
    draw = create_methods_ranking_heatmap if name == "ranking" else create_metrics_radar_chart
    figure = draw(many(4, metrics=every))
    assert "neither end is better: entropy, gini, sparsity" in notes_of(figure.axes[0])
    assert_legible(figure)


def test_names_of_metrics_are_broken_where_they_can_be() -> None:
    assert _wrapped("iou@90") == "iou@90"
    assert _wrapped("average_precision") == "average_\nprecision"
    assert _wrapped("iou_corrected@matched") == "iou_\ncorrected\n@matched"
    assert _wrapped("top_k_any").replace("\n", "") == "top_k_any"


# --- ranks ---------------------------------------------------------------------------------------


def _table(values: dict[str, list[float]], **more: Any) -> pd.DataFrame:
    """Return scores by metric, of lines a, b, c…"""
    parts = [
        pd.DataFrame({"method": list("abcdef")[: len(one)], "metric": metric, "value": one})
        for metric, one in values.items()
    ]
    return pd.concat(parts, ignore_index=True).assign(**more)


def _cells(figure: Figure) -> dict[tuple[int, int], tuple[str, str]]:
    """Return rank and score of each cell, by row and column."""
    plain = [text for text in figure.axes[0].texts if not hasattr(text, "xycoords")]
    return {
        (round(rank.get_position()[1]), int(rank.get_position()[0])): (
            rank.get_text(),
            score.get_text(),
        )
        for rank, score in zip(plain[::2], plain[1::2], strict=True)
    }


def _means(figure: Figure) -> list[str]:
    found = [
        text.get_text()
        for text in figure.axes[0].texts
        if isinstance(getattr(text, "xycoords", ""), tuple)
    ]
    assert found[-1] == "mean\nrank"
    return found[:-1]


def test_ranks_follow_directions_and_ties_share_them() -> None:
    table = _table({"coverage": [0.2, 0.5, 0.5], "kl": [3.0, 1.0, 2.0]})
    figure = create_methods_ranking_heatmap(table)
    assert row_names(figure.axes[0]) == ["b", "c", "a"]
    assert _cells(figure) == {
        (0, 0): ("1.5", "0.500"),
        (0, 1): ("1", "1.000"),
        (1, 0): ("1.5", "0.500"),
        (1, 1): ("2", "2.000"),
        (2, 0): ("3", "0.200"),
        (2, 1): ("3", "3.000"),
    }
    assert _means(figure) == ["1.2", "1.8", "3.0"]
    shades = figure.axes[0].images[0].get_array()
    assert shades is not None
    assert np.asarray(shades).tolist() == [[0.75, 1], [0.75, 0.5], [0, 0]]
    assert figure.axes[0].images[0].get_cmap().name == even_scale().name


def test_letters_are_white_on_dark_cells() -> None:
    figure = create_methods_ranking_heatmap(_table({"coverage": [0.3, 0.2, 0.1]}))
    plain = [text for text in figure.axes[0].texts if not hasattr(text, "xycoords")]
    assert [text.get_color() for text in plain[::2]] == ["white", "#000000", "#000000"]


def test_scores_that_differ_by_rounding_alone_share_a_rank() -> None:
    table = _table({"coverage": [0.1 + 0.2, 0.3, 0.3 - 1e-8, np.nan], "kl": [2.0, 1.0, 3.0, 4.0]})
    cells = _cells(create_methods_ranking_heatmap(table))
    assert sorted(cells[i, 0][0] for i in range(4)) == ["", "1.5", "1.5", "3"]


def test_lines_and_images_that_are_not_ranked_are_not_counted() -> None:
    table = _table({"coverage": [0.3, np.nan], "entropy": [0.5, 0.6]}).assign(n=[120, 0, 7, 7])
    notes = notes_of(create_methods_ranking_heatmap(table).axes[0])
    assert notes.startswith("1 method ranked on 120 images.")
    assert "1 score undefined, not ranked (grey); mean ranks are of the others." in notes


def test_undefined_scores_are_grey_and_not_ranked() -> None:
    table = _table({"coverage": [np.nan, 0.5, 0.4], "auc_roc": [0.9, 0.8, 0.7]}, n=120)
    figure = create_methods_ranking_heatmap(table)
    assert row_names(figure.axes[0]) == ["a", "b", "c"]
    cells = _cells(figure)
    assert cells[0, 0] == ("", "–")
    assert cells[1, 0] == ("1", "0.500")
    assert cells[2, 0] == ("2", "0.400")
    shades: Any = figure.axes[0].images[0].get_array()
    assert np.ma.getmaskarray(shades).tolist() == [[True, False], [False, False], [False, False]]
    assert _means(figure) == ["1.0", "1.5", "2.5"]
    notes = notes_of(figure.axes[0])
    assert "3 methods ranked on 120 images" in notes
    assert "1 score undefined, not ranked (grey)" in notes


def test_a_line_that_a_metric_lacks_is_undefined_there() -> None:
    table = _table({"coverage": [0.3, 0.5], "auc_roc": [0.9]})
    figure = create_methods_ranking_heatmap(table)
    assert _cells(figure)[row_names(figure.axes[0]).index("b"), 1] == ("", "–")


def test_a_line_without_any_score_is_last() -> None:
    figure = create_methods_ranking_heatmap(_table({"coverage": [np.nan, 0.5, 0.4]}))
    assert row_names(figure.axes[0]) == ["b", "c", "a"]
    assert _means(figure) == ["1.0", "2.0", "–"]
    assert_legible(figure)


def test_baselines_are_ranked_and_named_in_grey() -> None:
    table = _table({"coverage": [0.3, 0.5], "auc_roc": [0.6, 0.9]})
    table["group"] = np.where(table["method"] == "b", "baseline", "cam")
    ax = create_methods_ranking_heatmap(table).axes[0]
    assert [label.get_color() for label in ax.get_yticklabels()] == [GREY, "#000000"]
    assert "1 method and 1 baseline (grey, italic) ranked" in notes_of(ax)


def test_of_many_lines_the_best_are_drawn_but_all_are_ranked() -> None:
    count = 50
    table = {
        "name": [f"m{i}" for i in range(count)],
        "metric": "coverage",
        "value": np.arange(count) / 100,
        "group": ["cam"] * 49 + ["baseline"],
    }
    figure = create_methods_ranking_heatmap(pd.DataFrame(table))
    assert row_names(figure.axes[0]) == [f"m{i}" for i in range(49, 9, -1)]
    assert _cells(figure)[39, 0][0] == "40"
    assert "The best 39 methods and 1 baseline of 50 lines are drawn" in notes_of(figure.axes[0])
    metrics = tuple(f"iou@{p}" for p in range(50, 80))
    wide = create_methods_ranking_heatmap(many(3, metrics=metrics))
    assert len(wide.axes[0].get_xticklabels()) == 20
    assert "10 more metrics counted but not drawn" in notes_of(wide.axes[0])


def test_a_heatmap_on_given_axes_leaves_their_figure_as_large_as_it_was() -> None:
    figure = new_figure(12, 5)
    left, right = figure.subplots(1, 2)
    table = _table({"coverage": [0.2, 0.5, 0.3], "kl": [3.0, 1.0, 2.0], "auc_roc": [0.5, 0.6, 0.7]})
    assert create_methods_ranking_heatmap(table, ax=left) is figure
    assert create_metrics_radar_chart(table, ax=right) is figure
    assert figure.get_size_inches().tolist() == [12, 5]
    assert_legible(figure)


@pytest.mark.parametrize(
    "draw", [create_methods_ranking_heatmap, create_metrics_radar_chart], ids=["ranks", "radar"]
)
def test_a_table_that_cannot_be_ranked_is_refused(draw: Any) -> None:
    with pytest.raises(UnknownNameError, match="unknown metric 'theirs'"):
        draw(_table({"theirs": [1.0]}))
    with pytest.raises(InputError, match="one value for each line and metric; a has several of kl"):
        draw({"method": ["a", "a"], "metric": ["kl", "kl"], "value": [1, 2]})
    with pytest.raises(InputError, match="at least one row"):
        draw({"method": [], "metric": [], "value": []})
    with pytest.raises(InputError, match="must have a column 'metric'"):
        draw({"method": ["a"], "value": [1]})
    with pytest.raises(InputError, match=r"with a better end.*entropy"):
        draw(_table({"entropy": [0.4, 0.5]}))


def test_long_names_that_differ_in_the_middle_are_two_lines() -> None:
    names = [f"{'n' * 40}{middle}{'n' * 40}" for middle in "ab"]
    table = {"name": names, "metric": ["coverage"] * 2, "value": [0.1, 0.2]}
    assert len(set(row_names(create_methods_ranking_heatmap(table).axes[0]))) == 2


# --- radar ---------------------------------------------------------------------------------------


def _polygons(figure: Figure) -> dict[str, list[float]]:
    """Return the corners of each polygon, by its name in the legend."""
    chart: Any = figure.axes[0].child_axes[0]
    corners = [np.asarray(line.get_ydata(), float).round(6).tolist() for line in chart.lines]
    assert all(np.array_equal(one[:1], one[-1:], equal_nan=True) for one in corners)  # closed
    return dict(zip(_legend(figure.axes[0]), [one[:-1] for one in corners], strict=True))


def test_scores_in_0_to_1_are_drawn_as_they_are_with_chance() -> None:
    table = _table({"coverage": [0.2, 0.5], "auc_roc": [0.7, 0.8], "iou@90": [0.3, 0.1]}, n=60)
    table["chance"] = [0.1, 0.1, np.nan, np.nan, 0.06, 0.06]
    figure = create_metrics_radar_chart(table)
    assert _polygons(figure) == {
        "b": [0.5, 0.8, 0.1],
        "a": [0.2, 0.7, 0.3],
        "chance": [0.1, 0.5, 0.06],  # that of AUC is known
    }
    notes = notes_of(figure.axes[0])
    assert notes == "60 images. Further out is better, on every axis."
    chart: Any = figure.axes[0].child_axes[0]
    assert chart.get_ylim() == (0, 0.8)
    assert len(chart.patches) == 1  # chance is shaded


def test_others_are_rescaled_and_the_notes_say_how() -> None:
    table = _table({"emd": [0.2, 0.5], "cc": [0.0, 0.5], "nss": [1.0, 3.0], "kl": [4.0, 2.0]})
    figure = create_metrics_radar_chart(table)
    corners = _polygons(figure)
    assert corners["a"] == [0.8, 0.5, pytest.approx(1 / 3, abs=1e-5), 0.0]
    assert corners["b"] == [0.5, 0.75, 1.0, 1.0]
    np.testing.assert_array_equal(corners["chance"], [np.nan, 0.5, 0.0, np.nan])
    notes = notes_of(figure.axes[0])
    assert "Turned over (1 − score): emd." in notes
    assert "Rescaled from [-1, 1] to [0, 1]: cc." in notes
    assert "Rescaled from the worst (0) to the best (1) of lines and chance: nss, kl." in notes
    assert "No chance is known on 2 axes" in notes
    chart: Any = figure.axes[0].child_axes[0]
    assert not chart.patches  # an open polygon has no inside


def test_where_all_are_equal_a_rescaled_axis_is_in_the_middle() -> None:
    values = {"kl": [2.0, 2.0], "emd": [0.2, 0.2], "best_iou": [0.4, 0.4]}
    figure = create_metrics_radar_chart(_table(values))
    assert _polygons(figure)["a"] == pytest.approx([0.5, 0.8, 0.4])


def test_undefined_lines_of_a_radar_are_counted_apart() -> None:
    table = _table({one: [0.4, np.nan] for one in ("coverage", "auc_roc", "iou@90")})
    notes = notes_of(create_metrics_radar_chart(table).axes[0])
    assert "1 undefined line not drawn." in notes
    assert "further" not in notes.replace("Further out", "")


def test_metrics_stand_clockwise_from_the_top_away_from_the_chart() -> None:
    metrics = ("coverage", "average_precision", "auc_roc", "iou@90")
    figure = create_metrics_radar_chart(_table({one: [0.5] for one in metrics}))
    (chart,) = figure.axes[0].child_axes
    figure.draw_without_rendering()
    boxes = {text.get_text().replace("\n", ""): text.get_window_extent() for text in chart.texts}
    middle = chart.get_window_extent()
    assert boxes["coverage"].y0 > middle.y1 - 1
    assert boxes["average_precision"].x0 > middle.x1 - 1
    assert boxes["auc_roc"].y1 < middle.y0 + 1
    assert boxes["iou@90"].x1 < middle.x0 + 1


def test_rings_end_within_the_chart() -> None:
    table = _table({one: [0.66] for one in ("coverage", "average_precision", "iou@90")})
    (chart,) = create_metrics_radar_chart(table).axes[0].child_axes
    assert chart.get_ylim()[1] == pytest.approx(0.7)
    assert list(chart.get_yticks()) == [0.2, 0.4, 0.6]


def test_the_best_six_methods_and_the_best_baseline_are_drawn() -> None:
    table = many(20)
    figure = create_metrics_radar_chart(table)
    names = _legend(figure.axes[0])
    assert len(names) == 8
    assert sum(name.endswith("(best baseline)") for name in names) == 1
    assert names[6].endswith("(best baseline)")
    assert names[-1] == "chance"
    assert "13 further lines not drawn" in notes_of(figure.axes[0])
    chart: Any = figure.axes[0].child_axes[0]
    looks = {(one.get_color(), one.get_marker()) for one in chart.lines}
    assert len(looks) == 8
    assert chart.lines[6].get_color() == GREY


def test_more_metrics_than_there_is_room_for_are_counted() -> None:
    metrics = tuple(f"iou@{p}" for p in range(50, 65))
    figure = create_metrics_radar_chart(many(2, metrics=metrics))
    assert all(len(one) == 12 for one in _polygons(figure).values())
    assert "3 further metrics not drawn" in notes_of(figure.axes[0])


def test_polygons_are_open_where_a_score_is_undefined() -> None:
    table = _table({"coverage": [np.nan, 0.1], "auc_roc": [0.7, 0.6], "iou@90": [0.9, 0.1]})
    figure = create_metrics_radar_chart(table)
    corners = _polygons(figure)
    assert next(iter(corners)) == "b"  # complete ones first
    assert np.isnan(corners["a"][0])
    assert "1 line left open where undefined" in notes_of(figure.axes[0])


def test_fewer_than_three_metrics_make_no_polygon() -> None:
    expected = "at least 3 metrics with a better end.*it has coverage, kl, entropy"
    with pytest.raises(InputError, match=expected):
        create_metrics_radar_chart(_table({"coverage": [0.1], "kl": [1.0], "entropy": [0.4]}))
