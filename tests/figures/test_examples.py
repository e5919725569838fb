"""Figures that explain scores on one image: numbers, marks and words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.core import InputError
from sightline.figures import (
    COLOURS,
    Example,
    create_ebpg_visualization,
    create_pointing_game_visualization,
    draw_examples,
    new_figure,
)
from sightline.metrics import compute_coverage, pointing_game_hit
from tests.figures.drawn import assert_legible
from tests.figures.samples_images import image_of, map_of, mask_of, names_of, scores_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RNG = np.random.default_rng(3)


def texts_of(ax: Axes) -> list[str]:
    return [text.get_text().replace("\n", " ") for text in ax.texts]


def legend_of(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def marks_of(ax: Axes) -> dict[str, list[tuple[float, float]]]:
    """Return where marks are, as shares of width and height, by their shape."""
    wide, high = ax.get_xlim()[1], ax.get_ylim()[0]
    found: dict[str, list[tuple[float, float]]] = {}
    for line in ax.lines:
        points = np.column_stack([line.get_xdata(), line.get_ydata()]) / (wide, high)
        if len(points):
            found[str(line.get_marker())] = [tuple(point) for point in points.round(6).tolist()]
    return found


# --- pointing game -------------------------------------------------------------------------------


def test_a_hit_is_a_green_star_and_a_miss_a_red_cross_on_both_panels() -> None:
    mask = np.array([[True, False], [False, False]])
    for values, said, mark, at in (
        ([[9.0, 1], [0, 2]], "hit", "*", (0.25, 0.25)),
        ([[1.0, 9], [0, 2]], "miss", "X", (0.75, 0.25)),
    ):
        figure = create_pointing_game_visualization(image_of(), values, mask, name="cls")
        assert texts_of(figure.axes[0])[:2] == [
            f"score {1 if said == 'hit' else 0}; chance 0.25",
            f"cls: {said}",
        ]
        for ax in figure.axes[:2]:
            assert marks_of(ax) == {mark: [at]}
            line = next(line for line in ax.lines if np.size(line.get_xdata()))
            colour = str(line.get_markerfacecolor())
            red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
            assert (green > red) if said == "hit" else (red > 2 * max(green, blue))
            assert line.get_markeredgecolor() == "white"
        assert legend_of(figure.axes[1]) == [
            "hit: annotated" if said == "hit" else "miss: not annotated"
        ]


def test_tied_maxima_are_all_marked_and_share_the_score() -> None:
    values = np.array([[5.0, 1, 5], [0, 5, 0]])
    mask = np.array([[1, 0, 0], [0, 0, 0]])
    figure = create_pointing_game_visualization(image_of(), values, mask, name="cls")
    marks = marks_of(figure.axes[0])
    assert marks["*"] == [(1 / 6, 0.25)] or marks["*"] == [(0.166667, 0.25)]
    assert len(marks["X"]) == 2
    note, head = texts_of(figure.axes[0])[:2]
    assert head == "cls: tied"
    assert note == "score 0.33: the annotated share of 3 tied maxima; chance 0.17"


@pytest.mark.parametrize("sign", ["positive", "absolute", "signed"])
@pytest.mark.parametrize("seed", range(6))
def test_the_score_is_that_of_the_metric(sign: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 3, (6, 5)).astype(float)
    mask = rng.random((6, 5)) < 0.4
    figure = create_pointing_game_visualization(image_of(), values, mask, name="m", sign=sign)
    expected = float(pointing_game_hit(values, mask, sign=sign))
    found = re.match(r"score ([\d.]+)", texts_of(figure.axes[0])[0])
    assert found is not None
    assert float(found[1]) == pytest.approx(expected, abs=0.005)
    said = "hit" if expected == 1 else "miss" if expected == 0 else "tied"
    assert texts_of(figure.axes[0])[1] == f"m: {said}"


def test_a_constant_map_is_marked_here_and_there_and_scores_chance() -> None:
    figure = create_pointing_game_visualization(
        image_of(), np.ones((20, 20)), np.arange(400).reshape(20, 20) < 100, name="cls"
    )
    note = texts_of(figure.axes[0])[0]
    assert note.startswith("score 0.25: the annotated share of 400 tied maxima, 40 of them marked")
    assert note.endswith("chance 0.25")
    marks = [at for some in marks_of(figure.axes[0]).values() for at in some]
    assert len(marks) == 40
    assert {(0.025, 0.025), (0.975, 0.975)} <= set(marks)  # from the first to the last
    assert texts_of(figure.axes[2])[0] == "100% reached; IoU 0.25 (chance 0.25, ceiling 0.25)"


def test_without_an_annotation_the_score_is_undefined() -> None:
    figure = create_pointing_game_visualization(
        image_of(), map_of(), np.zeros((14, 14)), name="cls"
    )
    assert texts_of(figure.axes[0])[:2] == ["nothing is annotated in sight", "cls: undefined"]
    assert list(marks_of(figure.axes[0])) == ["o"]
    assert legend_of(figure.axes[1]) == ["the maximum"]
    assert_legible(figure)
    with pytest.raises(InputError, match="mask must be what is annotated; got None"):
        create_pointing_game_visualization(image_of(), map_of(), None, name="cls")


def test_the_top_part_and_the_annotation_in_three_colours() -> None:
    values = np.arange(100.0).reshape(10, 10)
    mask = np.zeros((10, 10), bool)
    mask[8:] = True
    image = np.zeros((300, 300, 3), np.uint8)
    figure = create_pointing_game_visualization(image, values, mask, name="cls", percent=30)
    assert legend_of(figure.axes[2]) == ["both: 20%", "map only: 10%", "annotation only: 0%"]
    assert texts_of(figure.axes[2]) == [
        "30% reached; IoU 0.67 (chance 0.14, ceiling 0.67)",
        "Top 30% and the annotation",
    ]
    drawn = np.asarray(figure.axes[2].images[0].get_array()).astype(int)
    both, only, neither = drawn[280, 150], drawn[225, 150], drawn[100, 150]
    assert np.ptp(neither) == 0
    assert min(both[0], both[1]) > both[2] + 60  # yellow
    assert only[0] > only[1] + 60  # vermillion
    assert (both @ [0.3, 0.6, 0.1]) > (only @ [0.3, 0.6, 0.1]) + 50  # apart in grey, too


def test_a_mask_on_another_raster_is_brought_to_the_map() -> None:
    fine = np.zeros((100, 100), bool)
    fine[:50, :60] = True
    coarse = create_pointing_game_visualization(image_of(), [[5.0, 1], [0, 0]], fine, name="m")
    assert texts_of(coarse.axes[0])[:2] == ["score 1; chance 0.25", "m: hit"]
    assert texts_of(coarse.axes[1])[0] == "30% of the image"


def test_a_small_annotation_is_not_lost_on_a_coarse_map() -> None:
    fine = np.zeros((100, 100), bool)
    fine[2:8, 2:8] = True
    figure = create_pointing_game_visualization(image_of(), [[5.0, 1], [0, 0]], fine, name="m")
    assert texts_of(figure.axes[0])[:2] == ["score 1; chance 0.25", "m: hit"]
    energy = create_ebpg_visualization(image_of(), [[5.0, 1], [3, 1]], fine, name="m")
    assert wedges_of(energy.axes[1])[0] == pytest.approx(0.5 * 36 / 2500)
    assert legend_of(energy.axes[1])[2] == "chance: 0.4%, the annotated share"


def test_what_is_not_seen_is_neither_hit_nor_missed() -> None:
    values = np.array([[np.nan, np.nan, 3.0, 1.0, 0.0, 0.0]])
    unseen = create_pointing_game_visualization(
        image_of(), values, [[1, 1, 0, 0, 0, 0]], name="m", percent=25
    )
    assert texts_of(unseen.axes[0])[:2] == ["nothing is annotated in sight", "m: undefined"]
    half = create_pointing_game_visualization(
        image_of(), values, [[1, 1, 1, 1, 0, 0]], name="m", percent=25
    )
    assert texts_of(half.axes[2])[0] == "25% reached; IoU 0.50 (chance 0.20, ceiling 0.50)"
    assert legend_of(half.axes[2]) == ["both: 25%", "map only: 0%", "annotation only: 25%"]


@pytest.mark.parametrize("size", [(300, 30), (30, 300)])
def test_the_key_of_a_narrow_picture_can_be_read(size: tuple[int, int]) -> None:
    figure = create_pointing_game_visualization(
        image_of(*size), map_of(signed=True), mask_of(*size), name="m" * 80, sign="signed"
    )
    assert_legible(figure)
    key = figure.axes[3].get_window_extent()
    assert key.width / figure.dpi > 0.8
    (text,) = figure.axes[3].texts
    assert text.get_window_extent().y1 < figure.axes[0].get_window_extent().y0


def test_percent_and_axes_are_checked() -> None:
    with pytest.raises(InputError, match="percent must lie between 0 and 100; got 0"):
        create_pointing_game_visualization(image_of(), map_of(), mask_of(), name="m", percent=0)
    figure = new_figure(9, 4)
    axes = list(figure.subplots(1, 3))
    done = create_pointing_game_visualization(image_of(), map_of(), mask_of(), name="m", axes=axes)
    assert done is figure
    with pytest.raises(InputError, match="axes must be 3, one for each panel; got 2"):
        create_pointing_game_visualization(image_of(), map_of(), mask_of(), name="m", axes=axes[:2])


# --- energy --------------------------------------------------------------------------------------


def wedges_of(ax: Axes) -> list[float]:
    """Return the shares of a pie."""
    from matplotlib.patches import Wedge

    found = [one for one in ax.patches if isinstance(one, Wedge)]
    return [abs(one.theta2 - one.theta1) / 360 for one in found]


@pytest.mark.parametrize("sign", ["positive", "absolute"])
def test_the_pie_shows_the_share_that_the_metric_gives_and_chance(sign: Any) -> None:
    values, mask = map_of(signed=True), RNG.random((14, 14)) < 0.3
    figure = create_ebpg_visualization(image_of(), values, mask, name="cls", sign=sign)
    share = float(compute_coverage(values, mask, sign=sign))
    chance = float(mask.mean())
    assert wedges_of(figure.axes[1]) == pytest.approx([share, 1 - share], abs=1e-6)
    (line,) = figure.axes[1].lines
    x, y = (np.asarray(one)[1] for one in line.get_data())
    assert np.arctan2(x, y) % (2 * np.pi) == pytest.approx(2 * np.pi * chance)
    assert legend_of(figure.axes[1]) == [
        f"inside: {round(100 * share, 1):g}%",
        f"outside: {round(100 - 100 * share, 1):g}%",
        f"chance: {round(100 * chance, 1):g}%, the annotated share",
    ]


def test_energy_is_blue_inside_and_orange_outside_and_pale_where_there_is_none() -> None:
    values = np.array([[4.0, 4.0, 0.0]])
    figure = create_ebpg_visualization(
        np.zeros((300, 300, 3), np.uint8), values, [[1, 0, 0]], name="cls"
    )
    drawn = np.asarray(figure.axes[0].images[0].get_array()).astype(int)
    inside, outside, nothing = drawn[150, 20], drawn[150, 150], drawn[150, 290]
    assert inside[2] > inside[0] + 100
    assert outside[0] > outside[2] + 100
    assert np.ptp(nothing) == 0
    assert texts_of(figure.axes[1])[1] == "50% of the energy inside"


def test_bars_are_sorted_with_intervals_chance_and_baselines_in_grey() -> None:
    scores = {"name": ["low", "high", "base", "lost"], "value": [0.2, 0.6, 0.4, np.nan],
              "low": [0.1, 0.5, 0.3, np.nan], "high": [0.3, 0.7, np.nan, np.nan],
              "chance": [0.15, 0.15, 0.15, 0.15], "group": ["", "", "baseline", ""],
              "n": [120, 120, 119, 0]}  # fmt: skip
    figure = create_ebpg_visualization(image_of(), map_of(), mask_of(), name="low", scores=scores)
    ax: Any = figure.axes[2]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["high", "base", "low"]
    assert [patch.get_width() for patch in ax.patches] == [0.6, 0.4, 0.2]
    from matplotlib.colors import to_hex

    colours = [to_hex(patch.get_facecolor()).upper() for patch in ax.patches]
    assert colours[0] == colours[2] == COLOURS["sky"]
    assert len({colours[1][i : i + 2] for i in (1, 3, 5)}) == 1
    assert [patch.get_linewidth() > 0 and patch.get_edgecolor()[3] > 0 for patch in ax.patches] == [
        False, False, True,
    ]  # fmt: skip
    lines = [np.asarray(line.get_xdata()).tolist() for line in ax.lines]
    assert [0.5, 0.7] in lines
    assert [0.1, 0.3] in lines
    assert lines.count([0.15, 0.15]) == 3
    note, head = texts_of(ax)[:2]
    assert head == "Energy inside, by method"
    assert note == (
        "mean of 119 to 120 images; grey lines: intervals; black ticks: chance; "
        "grey bars: baselines; 1 undefined not drawn"
    )
    assert texts_of(ax)[2:] == ["0.60", "0.40", "0.20"]


def test_a_bar_without_an_interval_does_not_stretch_the_axis() -> None:
    scores = {"name": ["few", "many"], "value": [0.9, 0.2], "low": [np.nan, 0.1],
              "high": [np.nan, 0.3], "n": [2, 20]}  # fmt: skip

    def draw(table: dict[str, Any]) -> Axes:
        return create_ebpg_visualization(
            image_of(), map_of(), mask_of(), name="a", scores=table
        ).axes[2]

    ax = draw(scores)
    assert ax.get_xlim()[1] == pytest.approx(1.08 * 0.3)
    assert "cut bars: beyond the axis, without an interval" in texts_of(ax)[0]
    single = draw({name: scores[name] for name in ("name", "value")})
    assert single.get_xlim()[1] == pytest.approx(1.08 * 0.9)
    assert "cut bars" not in texts_of(single)[0]


def test_of_many_methods_the_best_are_drawn() -> None:
    scores = {"name": [f"m{i}" for i in range(40)], "value": np.linspace(0, 1, 40)}
    figure = create_ebpg_visualization(image_of(), map_of(), mask_of(), name="a", scores=scores)
    labels = [text.get_text() for text in figure.axes[2].get_yticklabels()]
    assert labels == [f"m{i}" for i in range(39, 15, -1)]
    assert "24 best of 40 drawn" in texts_of(figure.axes[2])[0]
    assert_legible(figure)


def test_bars_with_gaps_and_with_wide_names() -> None:
    names = ["W" * 27 + f"{i}" + "W" * 27 for i in range(3)]
    table: dict[str, Any] = {"name": names, "value": [0.3, 0.2, 0.1], "n": [None, 120, 120],
                             "low": [None, 0.1, 0.0], "high": [None, 0.3, 0.2]}  # fmt: skip
    figure = create_ebpg_visualization(image_of(), map_of(), mask_of(), name="a", scores=table)
    left, right = (figure.axes[i].get_tightbbox() for i in (1, 2))
    assert left is not None
    assert right is not None
    assert left.x1 < right.x0
    assert len({text.get_text() for text in figure.axes[2].get_yticklabels()}) == 3
    assert texts_of(figure.axes[2])[0] == "mean of 120 images; grey lines: intervals"
    with pytest.raises(InputError, match="scores: column 'value' must hold numbers"):
        create_ebpg_visualization(
            image_of(), map_of(), mask_of(), name="a", scores={"name": ["a"], "value": ["x"]}
        )


def test_a_map_may_be_called_chance() -> None:
    figure = create_ebpg_visualization(image_of(), map_of(), mask_of(), name="chance")
    assert [text.get_text() for text in figure.axes[2].get_yticklabels()] == ["chance"] * 2


def test_without_scores_the_map_stands_beside_chance() -> None:
    figure = create_ebpg_visualization(image_of(), [[3.0, 1.0]], [[1, 0]], name="cls")
    ax: Any = figure.axes[2]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["cls", "chance"]
    assert [patch.get_width() for patch in ax.patches] == [0.75, 0.5]


@pytest.mark.parametrize(
    ("values", "mask"), [(np.zeros((4, 4)), np.eye(4)), (np.ones((4, 4)), np.zeros((4, 4)))]
)
def test_energy_of_nothing_or_in_nothing_is_undefined(values: Any, mask: Any) -> None:
    figure = create_ebpg_visualization(image_of(), values, mask, name="cls")
    assert texts_of(figure.axes[1])[1] == "Energy inside: undefined"
    assert not wedges_of(figure.axes[1])
    assert [text.get_text() for text in figure.axes[2].get_yticklabels()] == ["chance"]
    assert_legible(figure)


def test_energy_has_no_sign_and_tables_have_rows() -> None:
    with pytest.raises(InputError, match="sign must be 'positive' or 'absolute'; got 'signed'"):
        create_ebpg_visualization(image_of(), map_of(), mask_of(), name="a", sign="signed")
    with pytest.raises(InputError, match="scores must have one row at least"):
        create_ebpg_visualization(
            image_of(), map_of(), mask_of(), name="a", scores={"name": [], "value": []}
        )
    with pytest.raises(InputError, match="scores must have a column 'value'"):
        create_ebpg_visualization(image_of(), map_of(), mask_of(), name="a", scores={"name": []})


def test_energy_on_given_axes() -> None:
    figure = new_figure(14, 5)
    axes = list(figure.subplots(1, 3))
    done = create_ebpg_visualization(
        image_of(), map_of(), mask_of(), name="cls", scores=scores_of(5), axes=axes
    )
    assert done is figure
    assert figure.axes == axes
    assert_legible(figure)


# --- examples ------------------------------------------------------------------------------------


def test_examples_show_image_and_map_with_edges_and_their_captions() -> None:
    found = [
        Example(image_of(), map_of(), mask_of(), "best: 0.81\nfacade-00001"),
        Example(image_of(120, 90), map_of(signed=True), None, "worst: 0.02", "signed"),
    ]
    figure = draw_examples(found, head=names_of(3)[2])
    assert texts_of(figure.axes[0]) == ["facade-00001", "best: 0.81"]
    assert texts_of(figure.axes[1]) == []
    assert texts_of(figure.axes[2]) == ["worst: 0.02"]
    assert [len(ax.collections) for ax in figure.axes[:4]] == [2, 2, 0, 0]
    assert len(figure.axes) == 4 + 2  # keys of both kinds of colours
    assert np.asarray(figure.axes[2].images[0].get_array()).shape == (256, 192, 3)
    assert_legible(figure)


def test_examples_stand_below_each_other_or_three_in_a_row() -> None:
    one = Example(image_of(), map_of())
    for count, rows in ((3, 3), (4, 4), (5, 2), (9, 3)):
        figure = draw_examples([one] * count)
        tops = {round(ax.get_position().y1, 4) for ax in figure.axes[: 2 * count]}
        assert len(tops) == rows


def test_examples_are_plain_tuples_too_and_one_at_least() -> None:
    figure = draw_examples([(image_of(), map_of(), mask_of(), "a", "positive")])  # type: ignore[list-item]
    assert texts_of(figure.axes[0]) == ["a"]
    with pytest.raises(InputError, match="examples must hold one at least"):
        draw_examples([])
    with pytest.raises(InputError, match="map 1 must be a map"):
        draw_examples([Example(image_of(), map_of()), Example(image_of(), [1.0])])
