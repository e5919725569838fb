"""Lines are named by what tells them apart, and take looks in the order of the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.core import InputError
from sightline.figures import new_figure
from sightline.figures.lines import (
    MOST,
    as_table,
    choose_lines,
    counts_words,
    direction,
    line_names,
    looks_of,
    numbers,
    rows_of_lines,
    short_names,
)
from sightline.figures.panels import band, bars, legend_beside, panels, text_inches
from sightline.metrics import METRICS

# --- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"method": ["a", "b"]}, ["a", "b"]),
        ({"method": ["a", "b"], "model": ["m", "m"]}, ["a", "b"]),
        ({"method": ["a", "a"], "model": ["m", "n"]}, ["m a", "n a"]),
        ({"method": ["a", "a"], "layer": [3, 5]}, ["a layer 3", "a layer 5"]),
        ({"method": ["a", "b"], "layer": [3, None]}, ["a", "b"]),
        ({"method": ["a", "a"], "target": ["", "label"]}, ["a", "a target label"]),
        ({"method": ["a", "a"], "head": [None, 2]}, ["a", "a head 2"]),
        ({"method": ["a", "a"], "name": ["x", "y"]}, ["x", "y"]),
        ({"method": ["$a_1$", "<b>"]}, ["$a_1$", "<b>"]),
        ({"method": []}, []),
    ],
)
def test_lines_are_called_by_what_tells_them_apart(columns: Any, names: list[str]) -> None:
    table = pd.DataFrame(columns).astype({"layer": "Int64"} if "layer" in columns else {})
    assert line_names(table) == names


def test_rows_of_one_line_have_one_name() -> None:
    table = {"method": ["a", "a", "b"], "model": ["m", "m", "m"], "x": [0, 1, 0]}
    assert line_names(table) == ["a", "a", "b"]


@given(st.lists(st.text(max_size=90), max_size=8), st.integers(12, 60))
def test_short_names_are_as_many_as_long_ones(names: list[str], longest: int) -> None:
    short = short_names(names, longest)
    assert set(short) == set(names)
    assert len(set(short.values())) == len(short)
    assert all(len(one) <= longest and one.isprintable() for one in short.values())


def test_a_short_name_depends_on_the_names_it_would_look_like_only() -> None:
    one, two = ("a" * 40 + middle + "b" * 40 for middle in "xy")
    both = short_names([one, two], 30)
    assert both.items() <= short_names([two, "z", one], 30).items()
    assert both[one] != both[two]
    assert short_names([one], 30)[one] == "a" * 15 + "…" + "b" * 14


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"model": ["a"]}, "curves must have a column 'method' or 'name'; it has model"),
        ({}, "it has none"),
        (5, "curves must be a table: a DataFrame or columns by name; got int"),
    ],
)
def test_what_cannot_be_named_is_refused(table: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        line_names(table, "curves")


def test_a_table_is_a_copy_that_keeps_what_is_said_of_it() -> None:
    given_table = pd.DataFrame({"x": [1.0, 2.0]}, index=[5, 6])
    given_table.attrs["metric"] = "iou@90"
    table = as_table(given_table, "t", ["x"])
    assert list(table.index) == [0, 1]
    assert table.attrs == {"metric": "iou@90"}
    table["y"] = 0
    assert list(given_table) == ["x"]


# --- choosing ------------------------------------------------------------------------------------


def parts_of(names: list[str], baselines: set[str]) -> dict[str, pd.DataFrame]:
    groups = ["baseline" if name in baselines else "cam" for name in names]
    return rows_of_lines(pd.DataFrame({"name": names, "group": groups}), names)


def test_the_best_come_first_and_keep_the_looks_of_their_places() -> None:
    names = ["a", "b", "c", "d"]
    chosen = choose_lines(parts_of(names, {"b"}), {"a": 0.1, "b": 0.5, "c": 0.3, "d": np.nan})
    assert [line.name for line in chosen.lines] == ["b", "c", "a"]
    assert {line.name: line.look for line in chosen.lines} == looks_of(["a", "b", "c"], ["b"])
    assert (chosen.undefined, chosen.left_out) == (1, 0)
    assert chosen.notes == ["1 undefined not drawn"]
    lower = choose_lines(parts_of(names, set()), {"a": 0.1, "b": 0.5}, lower=True)
    assert [line.name for line in lower.lines] == ["a", "b"]
    assert lower.undefined == 2


def test_of_too_many_the_best_and_some_baselines_are_kept() -> None:
    methods, bases = [f"m{i}" for i in range(30)], [f"b{i}" for i in range(10)]
    scores = {name: i for i, name in enumerate([*bases, *methods])}
    chosen = choose_lines(parts_of([*methods, *bases], set(bases)), scores)
    kept = [line.name for line in chosen.lines]
    assert len(kept) == MOST
    assert kept == [*methods[:-19:-1], *bases[:-7:-1]]
    assert chosen.left_out == 16
    assert chosen.notes == ["16 more, less good or baselines, not drawn"]
    few = choose_lines(parts_of(methods[:3], set()), scores, most=2)
    assert [line.name for line in few.lines] == ["m2", "m1"]


def test_equal_scores_keep_the_order_of_the_table() -> None:
    chosen = choose_lines(parts_of(["b", "a"], set()), {"a": 1, "b": 1})
    assert [line.name for line in chosen.lines] == ["b", "a"]


# --- numbers -------------------------------------------------------------------------------------


def test_numbers_are_floats_and_missing_ones_nan() -> None:
    table = pd.DataFrame(
        {"a": pd.array([1, None], dtype="Int64"), "b": [True, False], "c": ["x", 1]}
    )
    assert numbers(table, "a").tolist() == [1.0, pytest.approx(np.nan, nan_ok=True)]
    assert numbers(table, "b").tolist() == [1.0, 0.0]
    assert np.isnan(numbers(table, "none")).all()
    with pytest.raises(InputError, match="curves: column 'c' must hold numbers"):
        numbers(table, "c", "curves")


def test_counts_are_words() -> None:
    assert counts_words([]) == ""
    assert counts_words([np.nan]) == ""
    assert counts_words([1]) == "1 image"
    assert counts_words([1200.0, 5]) == "5 to 1,200 images"


def test_directions_are_those_of_the_metrics() -> None:
    for name, spec in METRICS.items():
        assert direction(name) == spec.direction
    assert direction(None) == "higher"
    assert direction("iou@90") == "higher"


# --- panels --------------------------------------------------------------------------------------


def test_panels_are_in_rows_or_those_given() -> None:
    axes = panels(None, 5, size=(6, 4), columns=2)
    assert len(axes) == 5
    grid = {(ax.get_subplotspec().rowspan.start, ax.get_subplotspec().colspan.start) for ax in axes}  # type: ignore[union-attr]
    assert grid == {(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)}
    given_axes = new_figure(4, 3).subplots(1, 2)
    assert panels(given_axes, 2, size=(1, 1)) == list(given_axes)
    with pytest.raises(InputError, match="axes must be 3, one for each panel; got 2"):
        panels(given_axes, 3, size=(1, 1))


def test_intervals_are_drawn_where_they_are_known() -> None:
    ax, look = new_figure(4, 3).add_subplot(), looks_of(["a"])["a"]
    nan = np.nan
    assert bars(ax, [0, 1, 2], [0.1, nan, 0.3], [0.2, 0.5, 0.4], look, across=True)
    segments = ax.collections[0].get_segments()  # type: ignore[attr-defined]
    assert [part.tolist() for part in segments] == [[[0.1, 0], [0.2, 0]], [[0.3, 2], [0.4, 2]]]
    assert not band(ax, [0, 1], [nan, nan], [nan, nan], look)
    assert len(ax.collections) == 1


def test_a_legend_stands_beside_and_reads_no_formulas() -> None:
    figure = new_figure(6, 3)
    ax = figure.add_subplot()
    legend_beside(ax, ax.plot([0, 1]), ["$a_1$"])
    legend = ax.get_legend()
    assert legend is not None
    assert not legend.get_texts()[0].get_parse_math()
    figure.draw_without_rendering()
    assert legend.get_window_extent().x0 > ax.get_window_extent().x1


def test_text_is_as_wide_as_it_is_drawn() -> None:
    figure = new_figure(6, 3)
    text = figure.text(0, 0.5, "a name of a method", fontsize=8)
    assert text_inches(["a name of a method", "ill"]) == pytest.approx(
        text.get_window_extent().width / figure.dpi, rel=0.05
    )
