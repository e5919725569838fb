"""Curves are drawn where the numbers are, sorted and named, and can be read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from sightline.core import InputError
from sightline.figures import new_figure
from sightline.figures.curves import (
    create_iou_threshold_curves,
    create_pr_curve_comparison,
    create_roc_curve_comparison,
    draw_cumulative_energy,
    draw_layer_progression,
)
from tests.figures.drawn import assert_legible
from tests.figures.samples_curves import (
    SAMPLES,
    board,
    energy,
    layers,
    points,
    pr,
    roc,
    sweep,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def entries(figure: Figure) -> list[str]:
    legend = figure.axes[0].get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def notes(figure: Figure) -> str:
    return " ".join(figure.axes[0].texts[0].get_text().split())


def lines(figure: Figure) -> list[Any]:
    """Lines of more than one point."""
    return [line for line in figure.axes[0].lines if len(line.get_xdata()) > 1]  # type: ignore[arg-type]


def bands(figure: Figure) -> list[Any]:
    from matplotlib.collections import PolyCollection

    return [one for one in figure.axes[0].collections if isinstance(one, PolyCollection)]


# --- rankings ------------------------------------------------------------------------------------


def test_roc_lines_are_the_curves_and_the_best_comes_first() -> None:
    curves = points(3, roc)
    scores = board(3, lambda skill: 1 / (2 - 0.9 * skill))
    figure = create_roc_curve_comparison(curves, scores)
    order = scores.sort_values("value", ascending=False)
    found = lines(figure)
    for line, name in zip(found, order["name"], strict=False):
        rows = curves[curves["name"] == name]
        assert np.asarray(line.get_xdata()).tolist() == rows["x"].tolist()
        assert np.asarray(line.get_ydata()).tolist() == rows["value"].tolist()
    best = order.iloc[0]
    head = f"{best['value']:.2f} [{best['low']:.2f}, {best['high']:.2f}]  "
    assert entries(figure)[0].startswith(head)
    assert entries(figure)[-1] == "0.50  chance"
    assert np.asarray(found[-1].get_ydata()).tolist() == [0, 1]
    assert notes(figure) == "120 images; means over images with 95% intervals in brackets."
    assert figure.axes[0].get_xlabel() == "False positive rate"
    assert figure.axes[0].get_ylabel() == "True positive rate"


def test_baselines_are_grey_thin_and_hollow() -> None:
    figure = SAMPLES["roc"](3)
    looks = {
        text.split("  ")[-1].partition(" · layer")[0]: line
        for text, line in zip(entries(figure), lines(figure), strict=True)
    }
    assert looks["random"].get_color() == "#6E6E6E"
    assert looks["random"].get_markerfacecolor() == "white"
    assert looks["random"].get_linewidth() < looks["cls"].get_linewidth()
    assert looks["cls"].get_color() == "#0072B2"


def test_looks_follow_the_table_whatever_the_scores() -> None:
    first = create_roc_curve_comparison(points(3, roc), board(3, lambda skill: skill))
    second = create_pr_curve_comparison(points(3, pr), board(3, lambda skill: 1 - skill))

    def looks(figure: Figure) -> dict[str, Any]:
        names = [text.split("  ")[-1] for text in entries(figure)]
        return {name: line.get_color() for name, line in zip(names, lines(figure), strict=True)}

    one, two = looks(first), looks(second)
    shared = set(one) & set(two)
    assert len(shared) == 3
    assert {name: one[name] for name in shared} == {name: two[name] for name in shared}


def test_without_scores_areas_are_shown_and_said() -> None:
    curves = {"method": ["a"] * 3 + ["b"] * 3, "x": [0, 0.5, 1] * 2, "value": [0, 0.5, 1, 0, 1, 1]}
    figure = create_roc_curve_comparison(curves)
    assert entries(figure) == ["0.75  b", "0.50  a", "0.50  chance"]
    assert notes(figure) == "areas under these lines."
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert legend.get_title().get_text() == "Area, method"


def test_points_in_any_order_give_one_line_from_left_to_right() -> None:
    curves = {"method": ["a"] * 3, "x": [1, 0, 0.5], "value": [1, 0, 0.7]}
    line = lines(create_roc_curve_comparison(curves))[0]
    assert np.asarray(line.get_xdata()).tolist() == [0, 0.5, 1]
    assert np.asarray(line.get_ydata()).tolist() == [0, 0.7, 1]


def test_precision_has_the_annotated_share_as_chance() -> None:
    scores = board(3, lambda skill: skill).assign(chance=[0.1, 0.2, 0.3])
    figure = create_pr_curve_comparison(points(3, pr), scores)
    level = lines(figure)[-1]
    assert np.asarray(level.get_ydata()).tolist() == pytest.approx([0.2, 0.2])
    assert entries(figure)[-1] == "0.20  chance: the annotated share"
    given = create_pr_curve_comparison(points(3, pr), scores, chance=0.4)
    assert entries(given)[-1] == "0.40  chance: the annotated share"
    none = create_pr_curve_comparison(points(3, pr))
    assert "chance" not in " ".join(entries(none))
    assert notes(none).endswith("the annotated share, chance, is not known.")


def test_intervals_along_curves_are_bands() -> None:
    curves = points(3, roc)
    assert not bands(create_roc_curve_comparison(curves))
    wide = curves.assign(low=curves.value - 0.1, high=curves.value + 0.1)
    figure = create_roc_curve_comparison(wide)
    assert len(bands(figure)) == 3
    assert notes(figure).endswith("bands: 95% intervals.")
    edge = bands(figure)[0].get_paths()[0].vertices
    assert edge[:, 1].max() == pytest.approx(1.1)


def test_undefined_curves_are_counted_and_not_drawn() -> None:
    curves = points(3, roc)
    gone = curves["name"] == "cls"
    curves.loc[gone, "value"] = np.nan
    figure = create_roc_curve_comparison(curves, board(3, lambda skill: skill))
    assert len(lines(figure)) == 3
    assert notes(figure).endswith("1 undefined not drawn.")
    all_gone = create_roc_curve_comparison(curves.assign(value=np.nan))
    assert entries(all_gone) == ["0.50  chance"]
    assert notes(all_gone).endswith("3 undefined not drawn.")


def test_of_very_many_lines_the_best_are_drawn() -> None:
    names = [f"m{i}" for i in range(40)] + [f"b{i}" for i in range(9)]
    curves = pd.DataFrame(
        [(name, x, x) for name in names for x in (0.0, 1.0)], columns=["method", "x", "value"]
    )
    scores = pd.DataFrame({"method": names, "value": np.linspace(0.9, 0.1, len(names))})
    scores["group"] = ["baseline" if name[0] == "b" else "cam" for name in names]
    figure = create_roc_curve_comparison(curves, scores)
    drawn = [text.split("  ")[-1] for text in entries(figure)[:-1]]
    assert drawn == [*names[:18], *[f"b{i}" for i in range(6)]]
    assert "25 more, less good or baselines, not drawn" in notes(figure)
    assert_legible(figure)
    looks = {
        (line.get_color(), str(line._unscaled_dash_pattern), line.get_marker())
        for line in lines(figure)
    }
    assert len(looks) == 25


def test_lines_of_both_tables_are_matched_by_the_columns_they_share() -> None:
    curves = {
        "model": ["a", "a", "b", "b"],
        "method": ["cls"] * 4,
        "x": [0, 1] * 2,
        "value": [0, 1] * 2,
    }
    scores = {"model": ["b", "a"], "method": ["cls"] * 2, "layer": [3, 5], "value": [0.7, 0.6]}
    assert entries(create_roc_curve_comparison(curves, scores))[:2] == [
        "0.70  b cls",
        "0.60  a cls",
    ]


def test_long_names_that_differ_in_the_middle_stay_two_lines() -> None:
    names = ["a" * 60 + middle + "b" * 60 for middle in "xy"]
    curves = {"name": [names[0]] * 2 + [names[1]] * 2, "x": [0, 1] * 2, "value": [0, 1, 0, 0.5]}
    figure = create_roc_curve_comparison(curves)
    assert len({text.split("  ")[-1] for text in entries(figure)}) == 3
    assert_legible(figure)


@pytest.mark.parametrize(
    ("curves", "scores", "message"),
    [
        ({"method": [], "x": [], "value": []}, None, "curves must have at least one row"),
        ({"method": ["a"], "value": [1]}, None, "curves must have a column 'x'; it has method"),
        ({"x": [0], "value": [1]}, None, "must have a column 'method' or 'name'; it has x, value"),
        ({"method": ["a"], "x": ["?"], "value": [1]}, None, "column 'x' must hold numbers"),
        (
            {"method": ["a"], "x": [0], "value": [1]},
            {"method": ["b"], "value": [1]},
            "none for 'a'",
        ),
        (
            {"method": ["a"], "x": [0], "value": [1]},
            {"method": ["a", "a"], "value": [1, 2]},
            "one row for each line; 'a' has several",
        ),
        ({"method": ["a"], "x": [0], "value": [1]}, {"value": [1]}, "scores must name its lines"),
        ([1], None, "curves must be a table"),
    ],
)
def test_tables_that_do_not_fit_are_refused(curves: Any, scores: Any, message: str) -> None:
    for draw in (create_roc_curve_comparison, create_pr_curve_comparison):
        with pytest.raises(InputError, match=message):
            draw(curves, scores)


def test_a_chance_beyond_a_share_is_refused() -> None:
    with pytest.raises(InputError, match=r"chance must be a share from 0 to 1; got 12"):
        create_pr_curve_comparison(points(2, pr), chance=12)


# --- thresholds ----------------------------------------------------------------------------------


def test_thresholds_go_from_few_pixels_to_many() -> None:
    table = sweep(3)
    figure = create_iou_threshold_curves(table)
    rows = table[table["name"] == "cls"].sort_values("percentile", ascending=False)
    line = next(one for one in lines(figure) if one.get_color() == "#0072B2")
    assert np.asarray(line.get_xdata()).tolist() == [5, 10, 15, 20, 25, 30, 40, 50]
    assert np.asarray(line.get_ydata()).tolist() == rows["value"].tolist()
    peak = rows.iloc[int(rows["value"].argmax())]
    assert f"{peak['value']:.2f} at {100 - peak['percentile']}%  cls" in entries(figure)
    assert len(bands(figure)) == 3
    assert notes(figure) == "120 images; bands: 95% intervals."
    assert figure.axes[0].get_ylabel() == "iou"


def test_chance_is_drawn_and_a_far_ceiling_said() -> None:
    table = sweep(3)
    figure = create_iou_threshold_curves(table)
    level, ceiling = lines(figure)[-2:]
    wanted = table[table["name"] == "cls"].sort_values("percentile", ascending=False)
    assert np.asarray(level.get_ydata()).tolist() == pytest.approx(wanted["chance"].tolist())
    assert np.asarray(ceiling.get_ydata()).tolist() == pytest.approx(wanted["ceiling"].tolist())
    assert entries(figure)[-2:] == ["chance", f"ceiling, up to {wanted['ceiling'].max():.2f}"]
    assert figure.axes[0].get_ylim()[1] < wanted["ceiling"].max()
    near = create_iou_threshold_curves(table.assign(ceiling=0.3))
    assert entries(near)[-1] == "ceiling"
    assert near.axes[0].get_ylim()[1] > 0.3
    plain = create_iou_threshold_curves(table.drop(columns=["chance", "ceiling"]))
    assert len(entries(plain)) == 3


def test_layers_of_a_sweep_do_not_make_lines() -> None:
    table = {"method": ["a"] * 4, "model": ["m"] * 2 + ["n"] * 2, "layer": [3, 3, 5, 5],
             "percentile": [95, 90] * 2, "value": [0.1, 0.2, 0.3, 0.4]}  # fmt: skip
    figure = create_iou_threshold_curves(table)
    assert entries(figure) == ["0.40 at 10%  n a · layer 5", "0.20 at 10%  m a · layer 3"]


def test_where_lower_is_better_the_lowest_is_best() -> None:
    table = {"method": ["a", "a", "b", "b"], "percentile": [95, 90] * 2, "value": [3, 2, 1, 4]}
    assert entries(create_iou_threshold_curves(table, metric="kl"))[0] == "1.00 at 5%  b"
    assert entries(create_iou_threshold_curves(table, metric="ours"))[0] == "4.00 at 10%  b"


# --- energy --------------------------------------------------------------------------------------


def test_energy_ends_at_the_coverage() -> None:
    table = energy(5)
    figure = draw_cumulative_energy(table)
    ends = table[table["x"] == 1].set_index("name")["value"].sort_values(ascending=False)
    assert [text[:4] for text in entries(figure)[:-1]] == [f"{end:.2f}" for end in ends]
    assert entries(figure)[-1] == "0.12  a uniform map"
    level = lines(figure)[-1]
    assert np.asarray(level.get_ydata()).tolist() == pytest.approx(
        np.linspace(0, 0.12, 101).tolist()
    )
    assert "[" in entries(figure)[0]
    assert "faint" not in notes(figure)


def test_energy_anywhere_is_drawn_beside_few_lines_only() -> None:
    few = draw_cumulative_energy(energy(3))
    assert len(lines(few)) == 3 + 3 + 1
    assert "faint dots: energy inside or not" in notes(few)
    assert len(lines(draw_cumulative_energy(energy(6)))) == 6 + 1
    bare = draw_cumulative_energy(energy(3).drop(columns=["total", "chance", "low", "high", "n"]))
    assert len(lines(bare)) == 3
    assert notes(bare) == ""


def test_energy_without_an_interval_does_not_stretch_the_axis() -> None:
    table = energy(3)
    few = table["name"] == "cls"
    table.loc[few, ["value", "low", "high", "total"]] = [0.99, np.nan, np.nan, 1]
    table["total"] = np.where(few, 1, table["high"])
    figure = draw_cumulative_energy(table)
    assert figure.axes[0].get_ylim()[1] == pytest.approx(1.05 * table["high"].max())
    assert f"{few.sum()} without an interval beyond the axis" in notes(figure)
    bare = draw_cumulative_energy(table.drop(columns=["low", "high"]))
    assert bare.axes[0].get_ylim()[1] == pytest.approx(1.05)
    assert "beyond the axis" not in notes(bare)


# --- layers --------------------------------------------------------------------------------------


def layered() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "method": ["cls"] * 3 + ["ig", "edge", "gone"],
            "group": ["attention"] * 3 + ["gradient", "baseline", "cam"],
            "layer": [2, 0, 1, None, None, 0],
            "value": [0.2, 0.1, 0.4, 0.3, 0.25, np.nan],
            "low": [0.1, 0.05, 0.3, 0.2, 0.2, np.nan],
            "high": [0.3, 0.15, 0.5, 0.4, 0.3, np.nan],
            "chance": 0.06,
            "ceiling": 0.73,
            "n": [12, 12, 12, 12, 11, 0],
        }
    )


def test_layers_are_in_order_and_methods_without_stand_beside() -> None:
    figure = draw_layer_progression(layered(), metric="iou@90")
    ax = figure.axes[0]
    over = next(one for one in ax.lines if one.get_color() == "#0072B2")
    assert np.asarray(over.get_xdata()).tolist() == [0, 1, 2]
    assert np.asarray(over.get_ydata()).tolist() == [0.1, 0.4, 0.2]
    assert entries(figure) == [
        "0.40 at layer 1*  cls",
        "0.30  ig",
        "0.25  edge",
        "0.06  chance",
        "0.73  ceiling",
    ]
    flat = next(one for one in ax.lines if one.get_color() == "#D55E00")
    assert float(np.asarray(flat.get_xdata())[0]) > 2.5
    across = next(one for one in lines(figure) if one.get_color() == "#6E6E6E")
    assert np.asarray(across.get_ydata()).tolist() == [0.25, 0.25]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0", "1", "2", "none"]
    assert "11 to 12 images" in notes(figure)
    assert re.search(r"\* best of \d+ layers on the same images: optimistic", notes(figure))
    assert notes(figure).endswith("1 undefined not drawn.")


def test_scores_without_an_interval_do_not_stretch_the_axis() -> None:
    few = layered().assign(ceiling=np.nan)
    few.loc[few["method"] == "ig", ["value", "low", "high"]] = [2.0, np.nan, np.nan]
    figure = draw_layer_progression(few, metric="iou@90")
    assert figure.axes[0].get_ylim()[1] == pytest.approx(0.5 * 1.05)
    assert "1 without an interval beyond the axis" in notes(figure)
    bare = draw_layer_progression(few.drop(columns=["low", "high"]), metric="iou@90")
    assert bare.axes[0].get_ylim()[1] == pytest.approx(2 * 1.05)
    assert "beyond the axis" not in notes(bare)


def test_the_metric_is_read_off_the_table() -> None:
    table = layered()
    table.attrs["metric"] = "coverage"
    assert draw_layer_progression(table).axes[0].get_ylabel() == "coverage"
    assert draw_layer_progression(table, metric="iou@50").axes[0].get_ylabel() == "iou@50"


def test_only_methods_without_layers_and_one_layer_can_be_drawn() -> None:
    table = layered()
    flat = draw_layer_progression(table[table["layer"].isna()])
    assert entries(flat)[:2] == ["0.30  ig", "0.25  edge"]
    assert_legible(flat)
    one = draw_layer_progression(table[table["layer"] == 1])
    assert entries(one)[0] == "0.40 at layer 1  cls"
    assert "same images" not in notes(one)
    assert_legible(one)


def test_many_layers_have_room() -> None:
    figure = draw_layer_progression(layers(5, depth=48))
    ticks = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert ticks[:3] == ["0", "4", "8"]
    assert_legible(figure)


def test_values_below_zero_are_seen() -> None:
    table = {"method": ["a", "a"], "layer": [0, 1], "value": [-0.4, 0.2]}
    assert draw_layer_progression(table, metric="cc").axes[0].get_ylim()[0] < -0.4
    assert draw_layer_progression(layered()).axes[0].get_ylim()[0] == 0


# --- all -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("count", [1, 24])
def test_one_method_and_very_many_can_be_read(name: str, count: int) -> None:
    assert_legible(SAMPLES[name](count))


def test_all_draw_on_axes_given_and_change_nothing() -> None:
    figure = new_figure(24, 12)
    axes = figure.subplots(2, 3).ravel()
    tables = [points(3, roc), points(3, pr), sweep(3), energy(3), layers(3)]
    before = [table.copy() for table in tables]
    made = [
        create_roc_curve_comparison(tables[0], ax=axes[0]),
        create_pr_curve_comparison(tables[1], ax=axes[1]),
        create_iou_threshold_curves(tables[2], ax=axes[2]),
        draw_cumulative_energy(tables[3], ax=axes[3]),
        draw_layer_progression(tables[4], ax=axes[4]),
    ]
    axes[5].remove()
    assert all(one is figure for one in made)
    assert_legible(figure)
    for table, old in zip(tables, before, strict=True):
        pd.testing.assert_frame_equal(table, old)
