"""Figures that compare scores show what they were given, and all of it can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from sightline.core import InputError
from sightline.figures import (
    draw_breakdown,
    draw_leaderboard,
    draw_metrics_comparison,
    new_figure,
)
from sightline.figures._score_plots import kept_of, span_of
from sightline.figures.style import COLOURS, GREY, shown
from sightline.stats import interval
from tests.figures.drawn import assert_legible, notes_of, row_names
from tests.figures.samples_comparing import (
    METRICS,
    SAMPLES,
    board,
    breakdown,
    by_image,
    line_name,
    styles,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _right(ax: Axes) -> list[str]:
    """Return what stands beside the rows."""
    return [
        text.get_text() for text in ax.texts if getattr(text, "xycoords", "") != "axes fraction"
    ]


def _dots(ax: Axes) -> list[tuple[float, float, Any]]:
    """Return the dots of rows: place, value and fill."""
    return [
        (float(line.get_ydata()[0]), float(line.get_xdata()[0]), line.get_markerfacecolor())  # type: ignore[index, arg-type]
        for line in ax.lines
        if line.get_marker() not in ("None", "", None) and len(np.atleast_1d(line.get_xdata())) == 1
    ]


def _bars(ax: Axes) -> dict[float, tuple[float, float]]:
    """Return the intervals by row."""
    found = {}
    for line in ax.lines:
        x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
        if len(x) == 2 and y[0] == y[1] and line.get_marker() in ("None", None):
            found[float(y[0])] = (float(x[0]), float(x[1]))
    return found


def _legend(owner: Any) -> list[str]:
    found = owner.get_legend() if hasattr(owner, "get_legend") else owner.legends[0]
    return [text.get_text() for text in found.get_texts()]


@pytest.mark.parametrize("count", [1, 2, 24, 60])  # of 3 and 15: test_cards.py
@pytest.mark.parametrize("name", SAMPLES)
def test_figures_can_be_read(name: str, count: int) -> None:
    assert_legible(SAMPLES[name](count))


def test_room_that_methods_leave_is_for_baselines() -> None:
    order = np.arange(6)
    grey = np.array([False, True, True, False, True, True])
    assert kept_of(order, grey, 3, 2).tolist() == [0, 1, 2, 3, 4]
    assert kept_of(order, grey, 1, 1).tolist() == [0, 1]
    assert kept_of(order, ~grey, 1, 3).tolist() == [0, 1, 2, 3]


def test_axes_hold_all_values() -> None:
    assert span_of([np.array([np.nan])]) == (0, 1)
    low, high = span_of([np.array([0.1, 0.9]), np.array([np.nan, 1.0])])
    assert low < 0 < 1 < high < 1.1
    low, high = span_of([np.array([0.6, 0.9])])
    assert 0.5 < low < 0.6
    assert 0.9 < high < 1


# --- leaderboard ---------------------------------------------------------------------------------


def test_a_leaderboard_has_the_best_on_top_with_values_and_intervals() -> None:
    table = board(3).iloc[[2, 0, 1]]
    ax = draw_leaderboard(table).axes[0]
    ordered = table.sort_values("value", ascending=False).reset_index(drop=True)
    chosen = ["*" * ("same images" in how) for how in ordered["chosen"]]
    assert row_names(ax) == [
        f"{name}{mark}" for name, mark in zip(ordered["name"], chosen, strict=True)
    ]
    assert [dot[:2] for dot in _dots(ax)] == list(enumerate(ordered["value"]))
    ends = zip(ordered["low"], ordered["high"], strict=True)
    assert _bars(ax) == dict(enumerate(ends))
    first = ordered.iloc[0]
    assert _right(ax)[0] == f"{first['value']:.3f} [{first['low']:.3f}, {first['high']:.3f}]"
    assert ax.get_title(loc="left") == "Leaderboard of iou@90"
    assert ax.get_xlabel() == "iou@90"
    assert "120 images; higher is better. Bars: 95% intervals." in notes_of(ax)


def test_of_a_metric_whose_lower_values_are_better_the_lowest_is_on_top() -> None:
    table = {"method": ["a", "b", "c"], "value": [3.0, 1.0, 2.0]}
    ax = draw_leaderboard(table, metric="kl").axes[0]
    assert row_names(ax) == ["b", "c", "a"]
    assert "Lower is better" in notes_of(ax)
    ax = draw_leaderboard(table, metric="entropy").axes[0]
    assert row_names(ax) == ["a", "c", "b"]
    assert "Neither end is better" in notes_of(ax)


def test_a_metric_of_another_tool_is_drawn_without_a_claim() -> None:
    ax = draw_leaderboard({"method": ["a", "b"], "value": [1, 2]}, metric="their_own").axes[0]
    assert row_names(ax) == ["b", "a"]
    assert "better" not in notes_of(ax)
    assert draw_leaderboard({"method": ["a"], "value": [1]}).axes[0].get_title(loc="left") == (
        "Leaderboard"
    )


def test_chance_and_ceiling_are_drawn_where_they_are_known() -> None:
    ax = draw_leaderboard(board(3)).axes[0]
    upright = [
        float(line.get_xdata()[0])  # type: ignore[index, arg-type]
        for line in ax.lines
        if list(np.asarray(line.get_ydata())) == [0, 1]
    ]
    assert upright == [0.06, 0.73]
    assert {"chance", "ceiling"} <= set(_legend(ax))
    low, high = ax.get_xlim()
    assert low < 0.06 < 0.73 < high
    plain = draw_leaderboard({"method": ["a"], "value": [0.3]}, metric="iou@90").axes[0]
    assert _legend(plain) == ["method"]


def test_chance_that_is_one_number_needs_no_column() -> None:
    ax = draw_leaderboard({"method": ["a", "b"], "value": [0.7, 0.8]}, metric="auc_roc").axes[0]
    assert "chance" in _legend(ax)
    assert 0.5 in [float(np.asarray(line.get_xdata())[0]) for line in ax.lines]
    assert ax.get_xlim()[0] < 0.5


@pytest.mark.parametrize("last", [np.nan, 0.07])
def test_chance_that_differs_has_a_tick_in_each_row(last: float) -> None:
    table = board(3).assign(chance=[0.05, 0.06, last])
    ax = draw_leaderboard(table).axes[0]
    ticks = [
        segment[:, 0].tolist() for one in ax.collections for segment in one.get_segments()  # type: ignore[attr-defined]
    ]  # fmt: skip
    assert [0.05, 0.05] in ticks
    assert [0.06, 0.06] in ticks


def test_marks_of_what_was_chosen_and_of_what_is_not_better_than_chance() -> None:
    table = {
        "method": ["a", "b", "c", "d"],
        "value": [0.4, 0.3, 0.2, 0.1],
        "low": [0.35, 0.25, 0.05, np.nan],
        "high": [0.45, 0.35, 0.3, np.nan],
        "chance": [0.1] * 4,
        "chosen": ["best of 12 layers on the same images", "split half", None, ""],
    }
    ax = draw_leaderboard(table, metric="iou@90").axes[0]
    assert [text[-1] for text in _right(ax)] == ["]", "]", "‡", "0"]
    assert row_names(ax) == ["a*", "b", "c", "d"]
    assert "* best of 12 layers on the same images: optimistic." in notes_of(ax)
    assert "‡ not better than chance" in notes_of(ax)
    lower = draw_leaderboard(table | {"chance": [0.45] * 4}, metric="kl").axes[0]
    texts = dict(zip(row_names(lower), _right(lower), strict=True))
    assert texts["a*"].endswith("‡")  # reaches it from the better side
    assert not texts["b"].endswith("‡")


def test_baselines_are_grey_and_hollow_and_groups_are_told_apart() -> None:
    ax = draw_leaderboard(board(4)).axes[0]
    assert [dot[2] for dot in _dots(ax)][3] == "white"
    marked = [line for line in ax.lines if line.get_marker() != "None"]
    assert len({(line.get_marker(), line.get_markerfacecolor()) for line in marked}) == 4
    assert set(_legend(ax)) == {"chance", "ceiling", "attention", "gradient", "cam", "baseline"}
    (hollow,) = (line for line in marked if line.get_markerfacecolor() == "white")
    assert hollow.get_markeredgecolor() == GREY


def test_of_many_lines_the_best_are_drawn_and_what_is_undefined_is_counted() -> None:
    table = pd.concat([board(60), board(5).iloc[2:3]], ignore_index=True)
    ax = draw_leaderboard(table, metric="iou@90").axes[0]
    assert len(row_names(ax)) == 40
    assert "The best 32 methods and 8 baselines of 59 lines are drawn" in notes_of(ax)
    assert "2 undefined lines not drawn" in notes_of(ax)
    assert sum(dot[2] == "white" for dot in _dots(ax)) == 8  # baselines


def test_a_leaderboard_on_given_axes_leaves_their_figure_as_large_as_it_was() -> None:
    figure = new_figure(9, 4)
    left, right = figure.subplots(1, 2)
    assert draw_leaderboard(board(3), ax=left) is figure
    draw_breakdown(styles(3), metric="iou@90", ax=right)
    assert figure.get_size_inches().tolist() == [9, 4]
    assert_legible(figure)


def test_names_are_shown_as_they_are() -> None:
    names = ["$x_1$", "a_b", "<b>", "n" * 80]
    ax = draw_leaderboard({"name": names, "value": [4, 3, 2, 1]}).axes[0]
    assert row_names(ax)[:3] == names[:3]
    assert len(row_names(ax)[3]) == 44
    assert "…" in row_names(ax)[3]
    alike = [f"{'n' * 30}{i}{'n' * 30}" for i in range(3)]
    ax = draw_leaderboard({"name": alike, "value": [3, 2, 1]}).axes[0]
    assert len(set(row_names(ax))) == 3


def test_a_table_that_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(InputError, match="table must have a column 'value'"):
        draw_leaderboard({"method": ["a"]})
    with pytest.raises(InputError, match="table must have at least one row; it has none"):
        draw_leaderboard({"method": [], "value": []})
    with pytest.raises(InputError, match="column 'value' must hold numbers"):
        draw_leaderboard({"method": ["a"], "value": ["much"]})
    with pytest.raises(InputError, match="'method' or 'name'"):
        draw_leaderboard({"value": [1.0]})


def test_a_leaderboard_without_a_defined_line_says_so() -> None:
    figure = draw_leaderboard({"method": ["a"], "value": [np.nan]}, metric="iou@90")
    assert "1 undefined line not drawn" in notes_of(figure.axes[0])
    assert_legible(figure)


def test_images_are_counted_of_the_lines_that_are_drawn() -> None:
    table = {"name": ["a", "b"], "value": [0.1, np.nan], "n": [120, 0]}
    assert notes_of(draw_leaderboard(table, metric="iou@90").axes[0]) == (
        "120 images; higher is better. 1 undefined line not drawn."
    )


def test_of_a_metric_without_a_better_end_the_highest_are_drawn() -> None:
    table = {"name": [f"m{i}" for i in range(60)], "value": np.arange(60.0)}
    for metric, word in (("entropy", "highest"), ("iou@90", "best"), ("", "highest")):
        notes = notes_of(draw_leaderboard(table, metric=metric).axes[0])
        assert f"The {word} 40 methods of 60 lines are drawn." in notes


def test_an_interval_beyond_chance_is_marked_on_the_worse_side_alone() -> None:
    table = {"name": ["a", "b"], "value": [3.0, 1.0], "low": [2.5, 0.5], "high": [3.5, 1.5]}
    for metric, marked in (("kl", [False, True]), ("iou@90", [False, True])):
        ax = draw_leaderboard(table | {"chance": [2.0, 2.0]}, metric=metric).axes[0]
        assert ["‡" in text for text in _right(ax)] == marked
        assert "the interval reaches it, or lies on its worse side." in notes_of(ax)


# --- breakdown -----------------------------------------------------------------------------------


def test_a_breakdown_is_sorted_and_counts_what_it_is_of() -> None:
    table = breakdown(4)
    ax = draw_breakdown(table, metric="iou@90", what="feature").axes[0]
    order = np.argsort(-table["iou"])
    assert row_names(ax) == [shown(table["label"][i], 44) for i in order]
    assert [dot[1] for dot in _dots(ax)] == table["iou"][order].tolist()
    assert _right(ax) == [f"{table['n'][i]:,}" for i in order]
    assert ax.get_title(loc="left") == "iou@90 by feature"
    assert notes_of(ax) == "4 features; higher is better. Bars: 95% intervals. Right: regions."
    of_images = draw_breakdown(styles(4), what="style").axes[0]
    assert notes_of(of_images) == "4 styles. Bars: 95% intervals. Right: images."
    assert of_images.get_title(loc="left") == "Score by style"


def test_a_column_of_another_metric_has_its_own_ends() -> None:
    table = breakdown(4)
    ax = draw_breakdown(table, metric="recall@90").axes[0]
    order = np.argsort(-table["recall"])
    assert [dot[1] for dot in _dots(ax)] == table["recall"][order].tolist()
    ends = zip(table["recall_low"][order], table["recall_high"][order], strict=True)
    assert _bars(ax) == dict(enumerate(ends))
    assert "ceiling" not in _legend(ax)
    with pytest.raises(InputError, match="must have a column 'pointing'"):
        draw_breakdown(table, metric="pointing")


def test_dots_are_hollow_where_the_interval_reaches_chance() -> None:
    table = {
        "label": ["a", "b", "c"],
        "value": [0.3, 0.2, 0.1],
        "low": [0.2, 0.05, np.nan],
        "high": [0.4, 0.3, np.nan],
        "chance": [0.1, 0.1, 0.2],
    }
    ax = draw_breakdown(table, metric="iou@90").axes[0]
    assert [dot[2] for dot in _dots(ax)] == [COLOURS["blue"], "white", COLOURS["blue"]]
    assert "not better than chance" in _legend(ax)
    assert not _right(ax)


def test_of_many_labels_the_best_and_the_worst_are_drawn() -> None:
    count = 101
    table = {"label": [f"l{i}" for i in range(count)], "value": [*range(count - 1), np.nan]}
    ax = draw_breakdown(table, metric="iou@90").axes[0]
    assert row_names(ax) == [f"l{i}" for i in (*range(99, 59, -1), *range(39, -1, -1))]
    assert "The 40 best and the 40 worst are drawn. 1 undefined label not drawn." in notes_of(ax)


def test_a_breakdown_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="at least one row"):
        draw_breakdown({"label": [], "value": []})
    with pytest.raises(InputError, match="must have a column 'iou'"):
        draw_breakdown({"label": ["a"]})


# --- box plots -----------------------------------------------------------------------------------


def _one_line(values: list[float], metric: str = "coverage", **more: Any) -> dict[str, Any]:
    images = [f"i{k}" for k in range(len(values))]
    return {"method": "cls", "image": images, "metric": metric, "value": values} | more


def test_a_box_has_quartiles_median_mean_whiskers_and_what_is_beyond() -> None:
    values = [0.0, 0.1, 0.2, 0.3, 0.4, 0.9]  # the last 2.1 boxes away
    ax = draw_metrics_comparison(pd.DataFrame(_one_line(values))).axes[0]
    (box,) = ax.patches
    lower, median, upper = np.percentile(values, [25, 50, 75])
    assert (box.get_x(), box.get_width()) == (lower, pytest.approx(upper - lower))  # type: ignore[attr-defined]
    lines = {line.get_marker(): np.asarray(line.get_xdata()).tolist() for line in ax.lines}
    assert lines["D"] == [np.mean(values)]
    assert lines["."] == [0.9]
    whiskers, middle = (
        [segment[:, 0].tolist() for segment in one.get_segments()]  # type: ignore[attr-defined]
        for one in ax.collections
    )
    assert whiskers == [[0.0, lower], [upper, 0.4]]
    assert middle == [[median, median]]


def test_hits_and_misses_have_bars_with_intervals() -> None:
    values = [1.0, 0.0, 1.0, 1.0, 0.5]
    figure = draw_metrics_comparison(pd.DataFrame(_one_line(values, "pointing")))
    (bar,) = figure.axes[0].patches
    known = interval(values, kind="share")
    assert bar.get_width() == pytest.approx(known.value)  # type: ignore[attr-defined]
    assert _bars(figure.axes[0]) == {0.0: (known.low, known.high)}
    assert _legend(figure) == ["share of hits, 95% interval"]


def test_panels_share_their_rows_by_the_first_metric() -> None:
    table = by_image(6)
    figure = draw_metrics_comparison(table)
    assert tuple(ax.get_title(loc="left") for ax in figure.axes) == METRICS
    means = table[table["metric"] == "iou@90"].groupby("name")["value"].mean()
    ordered = means.sort_values(ascending=False).index
    assert row_names(figure.axes[0]) == [shown(name, 44) for name in ordered]
    assert set(row_names(figure.axes[1])) == {""}
    one = draw_metrics_comparison(table, metrics=["kl", "coverage"])
    assert len(one.axes) == 2
    means = table[table["metric"] == "kl"].groupby("name")["value"].mean()
    assert row_names(one.axes[0]) == [shown(name, 44) for name in means.sort_values().index]
    assert one.axes[0].get_xlabel() == "lower is better"


def test_chance_is_the_mean_over_the_images() -> None:
    table = pd.DataFrame(_one_line([0.2, 0.4], chance=[0.1, 0.3]))
    figure = draw_metrics_comparison(table)
    assert 0.2 in [float(np.asarray(line.get_xdata())[0]) for line in figure.axes[0].lines]
    assert "chance" in _legend(figure)
    ranked = draw_metrics_comparison(pd.DataFrame(_one_line([0.8, 0.9], "auc_roc")))
    assert 0.5 in [float(np.asarray(line.get_xdata())[0]) for line in ranked.axes[0].lines]
    none = draw_metrics_comparison(pd.DataFrame(_one_line([0.8, 0.9], "best_iou")))
    assert "chance" not in _legend(none)


def test_what_is_undefined_or_not_drawn_is_counted() -> None:
    figure = draw_metrics_comparison(by_image(3))
    assert notes_of(figure.axes[1]) == "37 to 40 images"
    assert figure.legends[0].get_title().get_text() == "Values that are undefined: coverage 3."
    names = tuple(f"other{i}" for i in range(10))
    many = draw_metrics_comparison(by_image(40, images=4, metrics=names))
    assert len(many.axes) == 8
    assert len(row_names(many.axes[0])) == 24
    words = many.legends[0].get_title().get_text()
    assert words == (
        "The highest 18 methods and 6 baselines of 40 lines are drawn. 2 more metrics not drawn."
    )


def test_lines_without_any_score_are_counted_not_drawn() -> None:
    table = by_image(3, images=4, metrics=("coverage", "iou@90"))
    gone = table["name"] == line_name(2)
    table.loc[gone, "value"] = np.nan
    figure = draw_metrics_comparison(table, metrics=["coverage", "iou@90"])
    assert len(row_names(figure.axes[0])) == 2
    assert "1 undefined line not drawn." in figure.legends[0].get_title().get_text()
    only = table[~gone | (table["metric"] == "iou@90")]
    other = draw_metrics_comparison(only, metrics=["coverage"])  # not a line of that metric
    assert "line" not in other.legends[0].get_title().get_text()
    table.loc[gone & (table["metric"] == "iou@90"), "value"] = 0.2
    kept = draw_metrics_comparison(table)
    assert len(row_names(kept.axes[0])) == 3
    assert [notes_of(ax) for ax in kept.axes] == ["1 to 4 images", "4 images"]
    table["value"] = np.nan
    none = draw_metrics_comparison(table)
    assert [notes_of(ax) for ax in none.axes] == ["no scores"] * 2
    assert_legible(none)


def test_long_names_of_metrics_fit_over_their_panels() -> None:
    long = ("iou_corrected@matched", "a_metric_of_another_tool_with_a_long_name")
    figure = draw_metrics_comparison(by_image(3, images=4, metrics=long))
    assert_legible(figure)
    assert figure.axes[0].get_title(loc="left") == long[0]


def test_boxes_on_given_axes() -> None:
    figure = new_figure(12, 8)
    axes = figure.subplots(1, 2)
    table = by_image(3)
    assert draw_metrics_comparison(table, metrics=["iou@90", "pointing"], axes=axes) is figure
    assert figure.get_size_inches().tolist() == [12, 8]
    assert row_names(axes[0]) == row_names(axes[1]) != [""] * 3
    assert_legible(figure)
    one = new_figure(9, 5).subplots()
    draw_metrics_comparison(table, metrics=["coverage"], axes=[one])
    assert notes_of(one) == "37 to 40 images. Values that are undefined: coverage 3."
    with pytest.raises(InputError, match="axes must be 4"):
        draw_metrics_comparison(table, axes=axes)


def test_a_line_without_scores_of_a_metric_keeps_its_row() -> None:
    table = by_image(2)
    table = table[~((table["name"] == line_name(0)) & (table["metric"] == "coverage"))]
    figure = draw_metrics_comparison(table, metrics=["coverage", "kl"])
    assert row_names(figure.axes[0]) == [line_name(1), line_name(0)]
    assert len(figure.axes[0].patches) == 1
    assert len(figure.axes[1].patches) == 2


def test_values_that_cannot_be_drawn_are_refused() -> None:
    table = pd.DataFrame(_one_line([0.1, 0.2]))
    with pytest.raises(InputError, match="values has none of 'iou@90'; it has coverage"):
        draw_metrics_comparison(table, metrics=["iou@90"])
    with pytest.raises(InputError, match="metrics must be names"):
        draw_metrics_comparison(table, metrics=[])
    with pytest.raises(InputError, match="cls has several of coverage for image i0"):
        draw_metrics_comparison(table.assign(image="i0"))
    with pytest.raises(InputError, match="at least one row"):
        draw_metrics_comparison(table.iloc[:0])
    with pytest.raises(InputError, match="must have a column 'metric'"):
        draw_metrics_comparison({"method": ["a"], "image": ["i"], "value": [1]})


def test_a_score_without_an_interval_does_not_stretch_the_axis() -> None:
    table = {"label": ["door", "tower", "rare"], "value": [0.2, 0.3, 1.0], "n": [20, 12, 1],
             "low": [0.1, 0.2, np.nan], "high": [0.3, 0.4, np.nan]}  # fmt: skip
    ax = draw_breakdown(table, metric="iou@90").axes[0]
    assert ax.get_xlim()[1] == pytest.approx(0.4 * 1.03)
    arrows = [line for line in ax.lines if line.get_marker() == ">"]
    assert [float(np.asarray(line.get_xdata())[0]) for line in arrows] == [ax.get_xlim()[1]]
    legend = ax.get_legend()
    assert legend is not None
    assert "beyond the axis, without an interval" in [t.get_text() for t in legend.get_texts()]
    bare = {name: table[name] for name in ("label", "value", "n")}
    assert draw_breakdown(bare, metric="iou@90").axes[0].get_xlim()[1] > 1
