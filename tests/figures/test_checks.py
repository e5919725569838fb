"""Checks are drawn where the numbers are, say what does not follow, and can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from sightline.core import InputError, UnknownNameError
from sightline.figures import new_figure
from sightline.figures.checks import (
    create_cascade_randomization_plot,
    create_model_vs_method_analysis,
)
from sightline.figures.drops import draw_perturbation_drops
from sightline.stats import compare_groups, interval
from tests.figures.drawn import assert_legible
from tests.figures.samples_checks import SAMPLES, STAGES, cascade, drops, judged, with_beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D


def notes(ax: Axes) -> str:
    text = next(one for one in ax.texts if one.get_fontsize() == 8 and one.get_color() == "#6E6E6E")
    return " ".join(text.get_text().split())


def names(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


def entries(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def is_at_name(line: Line2D, ax: Axes) -> bool:
    """Return whether a mark is next to a name, not at a value."""
    return not line.get_transform().contains_branch_seperately(ax.transData)[0]


def marks(ax: Axes, marker: str) -> list[Any]:
    """Where marks of one kind are, but for those next to names."""
    found = []
    for line in ax.lines:
        if line.get_marker() == marker and not is_at_name(line, ax):
            found += list(
                zip(
                    np.asarray(line.get_xdata()).tolist(),
                    np.asarray(line.get_ydata()).tolist(),
                    strict=True,
                )
            )
    return found


def spans(ax: Axes) -> list[Any]:
    """Ends of bars."""
    from matplotlib.collections import LineCollection

    return [
        [segment[0].tolist(), segment[1].tolist()]
        for one in ax.collections
        if isinstance(one, LineCollection)
        for segment in one.get_segments()
    ]


# --- right and wrong -----------------------------------------------------------------------------


def plain(**columns: Any) -> pd.DataFrame:
    """One method, eight images in two classes, three of them wrong; each of them twice."""
    table = {
        "method": "cls",
        "image": list("abcdefgh"),
        "label": list("xxxxyyyy"),
        "value": [0.5, 0.6, 0.7, 0.2, 0.4, 0.3, 0.1, 0.6],
        "correct": [True, True, True, False, True, False, False, True],
    }
    once = pd.DataFrame({**table, **columns})
    return pd.concat([once, once.assign(image=list("ijklmnop"))], ignore_index=True)


def test_boxes_are_quartiles_of_right_and_of_wrong() -> None:
    ax = create_model_vs_method_analysis(plain(), metric="iou@90").axes[0]
    boxes = [(one.get_x(), one.get_x() + one.get_width()) for one in ax.patches]  # type: ignore[attr-defined]
    right, wrong = [0.5, 0.6, 0.7, 0.4, 0.6], [0.2, 0.3, 0.1]
    wanted = [np.percentile(side * 2, [25, 75]).tolist() for side in (right, wrong)]
    assert np.allclose(boxes, wanted)
    assert sorted(x for x, _ in marks(ax, "D")) == pytest.approx([0.2, 0.56])
    assert "10 | 6" in [text.get_text() for text in ax.texts]
    assert names(ax) == ["cls"]
    assert ax.get_xlabel() == "iou@90"
    assert notes(ax).startswith("16 images; beside: right | wrong")


def test_the_difference_has_the_interval_of_two_groups() -> None:
    table = plain()
    ax = create_model_vs_method_analysis(table, metric="iou@90").axes[1]
    found = compare_groups(table["value"], table["correct"], limits=(0, 1))
    assert marks(ax, "o") == [(pytest.approx(0.36), 0)]
    (span,) = spans(ax)
    assert [end[0] for end in span] == pytest.approx([found.low, found.high])
    assert ax.get_xlim()[0] == pytest.approx(-ax.get_xlim()[1])
    assert "right of 0: better where the model is right" in notes(ax)
    assert "bars: 95% intervals (wide: 6 on one side)" in notes(ax)
    assert "plausibility, not faithfulness" in notes(ax)


def test_differences_that_are_given_are_drawn_and_adjusted_ones_below_them() -> None:
    gaps = {"method": ["cls"], "difference": [0.3], "low": [0.1], "high": [0.5],
            "adjusted": [0.2], "adjusted_low": [-0.1], "adjusted_high": [0.4]}  # fmt: skip
    ax = create_model_vs_method_analysis(plain(), gaps, metric="iou@90").axes[1]
    (first, place), (second, below) = marks(ax, "o")
    assert (first, second) == (0.3, 0.2)
    assert place < below
    assert [[end[0] for end in span] for span in spans(ax)] == [[0.1, 0.5], [-0.1, 0.4]]
    assert "hollow: at equal annotated area and confidence" in notes(ax)
    with pytest.raises(InputError, match="differences must have a column 'low'"):
        create_model_vs_method_analysis(plain(), {"method": [], "difference": []}, metric="iou@90")


def test_a_mark_without_an_interval_does_not_stretch_the_axis() -> None:
    """An adjusted difference of +0.69 from one wrong image set the scale of the whole panel."""
    gaps = {"method": ["cls"], "difference": [0.3], "low": [0.1], "high": [0.5],
            "adjusted": [2.4], "adjusted_low": [np.nan], "adjusted_high": [np.nan]}  # fmt: skip
    ax = create_model_vs_method_analysis(plain(), gaps, metric="iou@90").axes[1]
    assert marks(ax, "o") == [(0.3, 0)]
    assert ax.get_xlim()[1] == pytest.approx(1.08 * 0.5)


def test_few_images_on_one_side_have_no_difference() -> None:
    few = plain(correct=[True] * 6 + [False] * 2)  # 12 right, 4 wrong
    figure = create_model_vs_method_analysis(few, metric="iou@90")
    assert "Fewer than 5 images\non one side everywhere." in [
        t.get_text() for t in figure.axes[1].texts
    ]
    assert marks(figure.axes[1], "o") == []
    assert "12 | 4" in [text.get_text() for text in figure.axes[0].texts]
    both = pd.concat([plain(), few.assign(method="ig")], ignore_index=True)
    ax = create_model_vs_method_analysis(both, metric="iou@90").axes[1]
    assert marks(ax, "o") == [(pytest.approx(0.36), 0)]
    assert marks(ax, "s") == []
    assert "1 with fewer than 5 images on a side not drawn" in notes(ax)


def test_a_point_per_model_and_method_over_the_accuracy_of_the_model() -> None:
    other = plain(method="ig", value=0.2, correct=[True] * 4 + [False] * 4)
    table = pd.concat([plain(model="m"), other.assign(model="n")], ignore_index=True)
    ax = create_model_vs_method_analysis(table, metric="iou@90").axes[2]
    assert ax.get_xlabel() == "Accuracy of the model"
    assert marks(ax, "o") == [(pytest.approx(0.625), pytest.approx(0.425))]
    assert marks(ax, "s") == [(0.5, pytest.approx(0.2))]
    score, right = (
        interval(plain()["value"], limits=(0, 1)),
        interval(plain()["correct"], kind="share"),
    )
    first = [np.asarray(span) for span in spans(ax)[:2]]
    np.testing.assert_allclose(first[0], [[0.625, score.low], [0.625, score.high]])
    np.testing.assert_allclose(first[1], [[right.low, 0.425], [right.high, 0.425]])
    assert notes(ax) == (
        "a point per model and method, marks as at the names, bars: 95% intervals."
    )
    alone = create_model_vs_method_analysis(plain(), metric="iou@90").axes[2]
    assert notes(alone).endswith("one accuracy: no trend to see.")
    few = create_model_vs_method_analysis(plain().iloc[:4], metric="iou@90").axes[2]
    assert marks(few, "o") == []


def test_each_name_has_the_mark_of_its_points() -> None:
    table = pd.concat([plain(), plain(method="ig", value=0.2)], ignore_index=True)
    names, _, models, _ = create_model_vs_method_analysis(table, metric="iou@90").axes
    assert [text.get_text() for text in names.get_yticklabels()] == ["cls", "ig"]
    marked = [line for line in names.lines if is_at_name(line, names)]
    beside = [line for line in marked if line.get_marker() in ("o", "s")]
    assert [np.asarray(line.get_ydata()).tolist() for line in beside] == [[0], [1]]
    points = [line for line in models.lines if line.get_marker() in ("o", "s")]
    looks = [
        [(line.get_marker(), line.get_markerfacecolor()) for line in some]
        for some in (beside, points)
    ]
    assert looks[0] == looks[1] != []


def test_points_are_classes_over_the_accuracy_on_them() -> None:
    ax = create_model_vs_method_analysis(plain(), metric="iou@90").axes[3]
    assert sorted(marks(ax, "o")) == [
        (0.5, pytest.approx(0.35)),
        (0.75, pytest.approx(0.5)),
    ]
    assert notes(ax) == "2 classes; marks as at the names."
    assert ax.get_xlabel() == "Accuracy of the model on the class"


def test_classes_of_few_images_are_counted_and_not_drawn() -> None:
    table = plain(label=list("xxxxyyyz"))
    ax = create_model_vs_method_analysis(table, metric="iou@90").axes[3]
    assert len(marks(ax, "o")) == 2
    assert notes(ax) == "2 classes; 1 with fewer than 5 images not drawn; marks as at the names."
    each = create_model_vs_method_analysis(plain(label=list("abcdefgh")), metric="iou@90").axes[3]
    assert "Fewer than 5 images of each class." in [text.get_text() for text in each.texts]


def test_accuracy_is_that_of_the_lines_own_model() -> None:
    other = plain(method="ig", correct=[True] * 4 + [False] * 4)
    table = pd.concat([plain(model="m"), other.assign(model="n")], ignore_index=True)
    ax = create_model_vs_method_analysis(table, metric="iou@90").axes[3]
    assert {x for x, _ in marks(ax, "o")} == {0.5, 0.75}
    assert {x for x, _ in marks(ax, "s")} == {0.0, 1.0}


def test_marks_are_the_same_in_all_panels() -> None:
    figure = create_model_vs_method_analysis(judged(15), metric="iou@90")
    _, *places = figure.axes
    looks = [
        {
            (line.get_marker(), line.get_markerfacecolor())
            for line in ax.lines
            if line.get_marker() not in ("None", "")
        }
        for ax in places
    ]
    assert looks[0] == looks[1] == looks[2]
    assert len(looks[0]) == 15


def test_all_right_is_said_and_drawn() -> None:
    figure = create_model_vs_method_analysis(plain(correct=True), metric="iou@90")
    first, middle, _, last = figure.axes
    assert "All predictions are right:\nthere is nothing to compare." in [
        t.get_text() for t in middle.texts
    ]
    assert "16 | 0" in [text.get_text() for text in first.texts]
    assert notes(last).endswith("accuracy is 1.00 everywhere.")
    assert_legible(figure)
    wrong = create_model_vs_method_analysis(plain(correct=False), metric="iou@90")
    assert any("predictions are wrong" in text.get_text() for text in wrong.axes[1].texts)


def test_without_a_defined_score_there_is_nothing_to_compare() -> None:
    values = {"method": ["m"], "image": ["a"], "value": [np.nan], "correct": [True]}
    figure = create_model_vs_method_analysis(values, metric="iou@90")
    for ax in figure.axes[1:]:
        assert "Nothing to compare." in [text.get_text() for text in ax.texts]


def test_without_classes_there_is_a_point_for_each_model() -> None:
    table = pd.concat([plain(model="m"), plain(model="n", correct=[True] * 7 + [False])])
    figure = create_model_vs_method_analysis(table.drop(columns="label"), metric="iou@90")
    ax = figure.axes[3]
    assert sorted(x for marker in "os" for x, _ in marks(ax, marker)) == [0.625, 0.875]
    assert notes(ax).startswith("no classes are given: a point for each model")


def test_chance_is_drawn_where_it_is_known() -> None:
    def levels(table: pd.DataFrame, metric: str) -> list[float]:
        ax = create_model_vs_method_analysis(table, metric=metric).axes[0]
        return [
            float(np.asarray(one.get_xdata())[0]) for one in ax.lines if one.get_marker() == "None"
        ]

    assert levels(plain(chance=[0.1] * 4 + [0.3] * 4), "iou@90") == [pytest.approx(0.2)]
    assert levels(plain(), "auc_roc") == [0.5]
    assert levels(plain(), "iou@90") == []


def test_hits_are_shares_with_intervals_and_no_boxes() -> None:
    table = plain(value=[1, 1, 0, 1, 0, 0, 1, 1])
    ax = create_model_vs_method_analysis(table, metric="pointing").axes[0]
    assert not ax.patches
    wanted = interval([1, 1, 0, 0, 1] * 2, kind="share")
    assert marks(ax, "o") == [(pytest.approx(0.6), pytest.approx(-0.19))]
    assert [end[0] for end in spans(ax)[0]] == pytest.approx([wanted.low, wanted.high])


def test_a_share_of_one_image_does_not_stretch_the_axis() -> None:
    many = [0] * 60 + [1] * 6
    table = {"method": "cls", "image": [f"i{i}" for i in range(67)], "value": [*many, 1],
             "correct": [True] * 66 + [False]}  # fmt: skip
    ax = create_model_vs_method_analysis(pd.DataFrame(table), metric="pointing").axes[0]
    high = interval(many, kind="share").high
    assert marks(ax, ">") == [(pytest.approx(high), pytest.approx(0.19))]
    assert ax.get_xlim()[1] < high + 0.05
    assert "arrows: beyond the axis, without an interval" in notes(ax)


def test_a_score_of_one_wrong_image_does_not_stretch_the_axis() -> None:
    many = [0.05 + 0.1 * i / 28 for i in range(29)]
    table = {"method": "cls", "image": [f"i{i}" for i in range(30)], "value": [*many, 0.9],
             "correct": [True] * 29 + [False]}  # fmt: skip
    ax = create_model_vs_method_analysis(pd.DataFrame(table), metric="iou@90").axes[0]
    assert len(ax.patches) == 1  # the box of the right predictions
    assert marks(ax, ">") == [(pytest.approx(0.15), pytest.approx(0.19))]
    assert ax.get_xlim()[1] < 0.2
    assert "arrows: beyond the axis, without an interval" in notes(ax)


def test_undefined_values_unknown_predictions_and_lower_scores() -> None:
    table = plain(correct=[True, True, None, False, True, False, False, True]).astype(
        {"correct": object}
    )
    table.loc[0, "value"] = np.nan
    gone = plain(method="gone", value=np.nan)
    figure = create_model_vs_method_analysis(pd.concat([table, gone]), metric="kl")
    assert "7 | 6" in [text.get_text() for text in figure.axes[0].texts]
    assert "1 undefined not drawn" in notes(figure.axes[0])
    assert "left of 0" in notes(figure.axes[1])
    only = create_model_vs_method_analysis(table, metric="kl")
    assert "2 images without prediction" in notes(only.axes[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"correct": ["yes"] * 8}, "column 'correct' must hold True and False; got 'yes'"),
        ({"correct": [2] * 8}, r"column 'correct' must hold True and False; got 2"),
        ({"correct": [None] * 8}, "always missing"),
        ({"value": ["?"] * 8}, "column 'value' must hold numbers"),
    ],
)
def test_values_that_do_not_fit_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        create_model_vs_method_analysis(plain(**change), metric="iou@90")
    with pytest.raises(InputError, match="values must have at least one row"):
        create_model_vs_method_analysis(plain().iloc[:0], metric="iou@90")
    with pytest.raises(InputError, match="axes must be 4, one for each panel; got 1"):
        create_model_vs_method_analysis(
            plain(), metric="iou", axes=[new_figure(3, 3).add_subplot()]
        )


def test_rows_are_named_in_both_panels_of_somebody_elses_figure() -> None:
    figure = new_figure(20, 6)
    axes = figure.subplots(1, 4).tolist()
    assert create_model_vs_method_analysis(judged(5), metric="iou@90", axes=axes) is figure
    assert names(axes[0]) == names(axes[1])
    assert_legible(figure)


# --- weights made random -------------------------------------------------------------------------


def test_stages_keep_their_order_and_the_fastest_fall_comes_first() -> None:
    table = {
        "method": ["slow", "slow", "fast", "fast"],
        "stage": ["trained", "all $weights$", "all $weights$", "trained"],
        "value": [1, 0.8, 0.1, 1],
        "low": [1, 0.7, 0.0, 1],
        "high": [1, 0.9, 0.2, 1],
        "n": [8] * 4,
    }
    figure = create_cascade_randomization_plot(table)
    ax = figure.axes[0]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["trained", "all $weights$"]
    assert entries(ax)[:2] == ["0.10  fast", "0.80  slow"]
    fast = ax.lines[0]
    assert np.asarray(fast.get_xdata()).tolist() == pytest.approx([-0.025, 0.975])
    assert np.asarray(fast.get_ydata()).tolist() == [1, 0.1]
    slow = [[low[1], high[1]] for low, high in spans(ax) if low[0] > 1]
    assert slow == [[0.7, 0.9]]
    assert notes(ax).startswith("8 images; bars: 95% intervals")


def test_levels_are_drawn_and_the_guides_named_as_its_own() -> None:
    figure = create_cascade_randomization_plot(
        cascade(3), references={"edges": 0.22, "$o_1$": 0.41}
    )
    ax = figure.axes[0]
    assert entries(ax)[3:] == [
        "0.22  edges",
        "0.41  $o_1$",
        "0.00  no relation",
        "0.60  the guide: above, unreliable",
        "0.30  the guide: below, reliable",
    ]
    levels = [float(np.asarray(one.get_ydata())[0]) for one in ax.lines[3:]]
    assert levels == [0.22, 0.41, 0, 0.6, 0.3]


def test_correlations_below_zero_and_undefined_ones_are_taken() -> None:
    table = cascade(3)
    table.loc[table["name"] == "cls", "value"] = np.nan
    table.loc[(table["name"] == "random") & (table["stage"] == STAGES[-1]), "value"] = -0.5
    figure = create_cascade_randomization_plot(table)
    assert figure.axes[0].get_ylim()[0] < -0.5
    assert notes(figure.axes[0]).endswith("1 undefined not drawn.")
    assert entries(figure.axes[0])[0] == "-0.50  random"


def test_similarities_without_an_interval_do_not_stretch_the_axis() -> None:
    table = with_beside(cascade(3))
    few = (table["name"] == "random") & (table["stage"] == STAGES[-1])
    table.loc[few, ["value", "low", "high"]] = [-0.5, np.nan, np.nan]
    ax = create_cascade_randomization_plot(table).axes[0]
    lowest = float(table.loc[~few, "low"].min())
    assert ax.get_ylim()[0] == pytest.approx(min(-0.08, lowest - 0.05))
    assert notes(ax).endswith("1 without an interval beyond the axis.")
    bare = create_cascade_randomization_plot(table.drop(columns=["low", "high"])).axes[0]
    assert bare.get_ylim()[0] == pytest.approx(-0.55)
    for reached in (
        create_cascade_randomization_plot(table, references={"edges": -0.4}),
        create_cascade_randomization_plot(table.assign(cross=-0.4)),
    ):
        assert reached.axes[0].get_ylim()[0] == pytest.approx(-0.45)


def test_what_lines_are_compared_with_stands_behind_the_stages() -> None:
    figure = create_cascade_randomization_plot(with_beside(cascade(3)), measure="ssim")
    ax = figure.axes[0]
    ticks = [text.get_text() for text in ax.get_xticklabels()]
    assert ticks[-3:] == ["embedding", "other images", "edges"]
    place = float(ax.get_xticks()[-2])
    beside = {
        (line.get_marker(), round(float(np.asarray(line.get_ydata())[0]), 3))
        for line in ax.lines
        if len(np.asarray(line.get_xdata())) == 1
        and abs(float(np.asarray(line.get_xdata())[0]) - place) < 0.5
    }
    assert {value for _, value in beside} == {0.2, 0.21, 0.22}
    assert len({marker for marker, _ in beside}) == 2  # a method's own; the baseline's is hollow
    assert "0.25  accuracy of the model" in entries(ax)
    assert not any("the guide" in text for text in entries(ax))
    assert ax.get_ylabel().startswith("Structural similarity")
    two = with_beside(cascade(3))
    two.loc[two["name"] == "cls", "accuracy"] = 0.9
    with pytest.raises(InputError, match="accuracy must be one for all lines of a stage"):
        create_cascade_randomization_plot(two)
    with pytest.raises(UnknownNameError, match="measure must be one of spearman, ssim"):
        create_cascade_randomization_plot(cascade(1), measure="cosine")


def test_what_is_no_correlation_is_refused() -> None:
    with pytest.raises(InputError, match="correlations must lie in -1 to 1; got 80"):
        create_cascade_randomization_plot({"method": ["a"], "stage": ["x"], "value": [80]})
    with pytest.raises(InputError, match=r"got 1\.5"):
        create_cascade_randomization_plot(cascade(1), references={"a": 1.5})
    with pytest.raises(InputError, match="table must have at least one row"):
        create_cascade_randomization_plot({"method": [], "stage": [], "value": []})


# --- pixels changed ------------------------------------------------------------------------------


def test_drops_stand_in_rows_the_largest_first() -> None:
    table = {
        "perturbation": ["hue", "hue", "blur", "blur", "none"],
        "kind": ["focused", "dual", "dual", "focused", "dual"],
        "value": [0.1, 0.0, 0.2, 0.5, 0.9],
        "low": [0.0, -0.1, 0.1, 0.4, np.nan],
        "high": [0.2, 0.1, 0.3, 0.6, np.nan],
        "n": [8, 8, 8, 7, 8],
    }
    ax = draw_perturbation_drops(table).axes[0]
    assert names(ax) == ["blur", "hue", "none"]
    assert [x for x, _ in marks(ax, "o")] == [0.5, 0.1]
    assert [x for x, _ in marks(ax, "s")] == [0.2, 0.0]
    assert [round(y) for _, y in marks(ax, "s")] == [0, 1]
    assert len(spans(ax)) == 4
    assert entries(ax) == ["where the map is high", "where it is low"]
    assert notes(ax) == (
        "7 to 8 images; bars: 95% intervals; arrows: beyond the axis, without an interval."
    )
    assert [(x, round(y)) for x, y in marks(ax, ">")] == [(0.6, 2)]
    assert ax.get_xlim()[1] < 0.7
    bare = {name: table[name] for name in ("perturbation", "kind", "value")}
    plain_ax = draw_perturbation_drops(bare).axes[0]
    assert [x for x, _ in marks(plain_ax, "s")] == [0.2, 0.0, 0.9]
    assert plain_ax.get_xlim()[1] > 0.9


def test_undefined_drops_are_counted_and_very_many_left_out() -> None:
    table = drops(60)
    table.loc[0, "value"] = np.nan
    figure = draw_perturbation_drops(table)
    assert "1 undefined not drawn; 20 smaller not drawn" in notes(figure.axes[0])
    assert len(names(figure.axes[0])) == 40
    assert_legible(figure)


def test_drops_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="kind must be one of focused, dual, global; got 'local'"):
        draw_perturbation_drops({"perturbation": ["a"], "kind": ["local"], "value": [1]})
    with pytest.raises(InputError, match="'a' has several of 'dual'"):
        draw_perturbation_drops({"perturbation": ["a"] * 2, "kind": ["dual"] * 2, "value": [1, 2]})
    with pytest.raises(InputError, match="at least one row"):
        draw_perturbation_drops({"perturbation": [], "kind": [], "value": []})


# --- all -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - {"removal-curves", "layer-changes"}))
@pytest.mark.parametrize("count", [1, 24])
def test_one_method_and_very_many_can_be_read(name: str, count: int) -> None:
    figure: Figure = SAMPLES[name](count)
    assert_legible(figure)
