"""Figures about detections show what they were given, and all of it can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.core import InputError
from sightline.detection import (
    ERROR_TYPES,
    ConfusionMatrix,
    ErrorTypes,
    PRData,
    best_f1,
    calculate_ap,
    reliability_curve,
)
from sightline.figures import (
    draw_confusion_matrix,
    draw_error_types,
    draw_intervals,
    draw_pr_curves,
    draw_reliability,
    new_figure,
)
from sightline.figures.detection import _falling
from tests.figures.drawn import assert_legible, curves_of, matrix_of, names_of, table_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COUNTS = (1, 3, 15, 80)


def _labels(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].get_yticklabels()]


def _notes(figure: Figure, ax: int = 0) -> str:
    """Return the notes under the title."""
    (found,) = (
        text.get_text()
        for text in figure.axes[ax].texts
        if getattr(text, "xycoords", "") == "axes fraction"
    )
    return " ".join(found.split())


def _errors(**cost: float) -> ErrorTypes:
    groups = ("false_positives", "false_negatives")
    counts = {kind: 1000 * i for i, kind in enumerate(ERROR_TYPES)}
    costs = {kind: 0.01 * i for i, kind in enumerate((*ERROR_TYPES, *groups))}
    empty: Any = np.zeros(0)
    return ErrorTypes(0.25, counts, costs | cost, empty, empty, empty)


# --- precision and recall ------------------------------------------------------------------------


@pytest.mark.parametrize("count", COUNTS)
def test_curves_can_be_read(count: int) -> None:
    curves = curves_of(count)
    best = {key: best_f1(data) for key, data in curves.items()}
    assert_legible(draw_pr_curves(curves, names=names_of(count), best=best, iou=0.5))


def _area(data: PRData) -> float:
    """Return the area under the line that is drawn."""
    x, y = _falling(data)
    return float(np.sum(np.diff(x) * y[1:]))


@pytest.mark.parametrize("seed", range(5))
def test_the_area_under_a_line_is_the_ap(seed: int) -> None:
    for data in curves_of(6, seed).values():
        if data["num_gt"]:
            assert _area(data) == pytest.approx(calculate_ap(data["precision"], data["recall"]))
            assert _falling(data)[1][-1] == 0  # where recall ends


def test_up_to_eight_classes_are_all_in_colour() -> None:
    ax = draw_pr_curves(curves_of(3), names={0: "zero"}).axes[0]
    legend = ax.get_legend()
    assert legend is not None
    assert legend.get_texts()[0].get_text().endswith("mean")
    shown = [text.get_text() for text in legend.get_texts()[1:]]
    assert [text[:4] for text in shown] == sorted((text[:4] for text in shown), reverse=True)
    assert sum("zero (" in text for text in shown) == 1
    colours = {line.get_color() for line in ax.lines}
    assert len(colours) == 4


def test_of_many_classes_the_best_and_the_worst_are_in_colour() -> None:
    curves = curves_of(30)
    figure = draw_pr_curves(curves, names=names_of(30), iou=0.75)
    legend = figure.axes[0].get_legend()
    assert legend is not None
    texts = [text.get_text() for text in legend.get_texts()]
    values = sorted(
        calculate_ap(one["precision"], one["recall"], interpolation="coco101")
        for one in curves.values()
        if one["num_gt"]
    )
    assert [float(text[:4]) for text in texts[1:5]] == [round(v, 2) for v in values[:-5:-1]]
    assert texts[5] == "21 classes in between"
    assert [float(text[:4]) for text in texts[6:]] == [round(v, 2) for v in values[3::-1]]
    assert float(texts[0][:4]) == round(float(np.mean(values)), 2)
    assert len({(one.get_color(), one.get_linestyle()) for one in legend.get_lines()}) == 10
    assert figure.axes[0].get_title(loc="left") == "Precision and recall at IoU 0.75"
    objects = sum(one["num_gt"] for one in curves.values())
    assert f"29 classes with {objects:,} objects; 1 without ground truth" in _notes(figure)


def test_the_mean_line_is_the_mean_of_the_aps() -> None:
    curves = {key: data for key, data in curves_of(10).items() if data["num_gt"]}
    ax = draw_pr_curves(curves).axes[0]
    (mean,) = (line for line in ax.lines if line.get_color() == "#000000")
    aps = [
        calculate_ap(one["precision"], one["recall"], interpolation="coco101")
        for one in curves.values()
    ]
    assert np.mean(np.asarray(mean.get_ydata(), float)) == pytest.approx(np.mean(aps))


def test_dots_are_where_f1_is_best() -> None:
    curves = curves_of(2)
    best = {key: best_f1(data) for key, data in curves.items()}
    ax = draw_pr_curves(curves, best=best).axes[0]
    dots = {
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]))  # type: ignore[index, arg-type]
        for line in ax.lines
        if line.get_marker() == "o"
    }
    assert dots == {(one.recall, one.precision) for one in best.values()}


def test_nothing_to_draw_is_drawn() -> None:
    figure = draw_pr_curves({})
    assert figure.axes[0].get_legend() is None
    assert "0 classes with 0 objects" in _notes(figure)
    none = {key: data for key, data in curves_of(5).items() if not data["num_gt"]}
    assert "1 without ground truth" in _notes(draw_pr_curves(none))
    assert_legible(figure)


# --- confusion -----------------------------------------------------------------------------------


@pytest.mark.parametrize("normalise", ["true", "predicted", "all", None])
@pytest.mark.parametrize("count", [1, 3, 15])
def test_a_matrix_can_be_read(count: int, normalise: Any) -> None:
    matrix = matrix_of(count, others=count == 15)
    assert_legible(draw_confusion_matrix(matrix, normalise=normalise, names=names_of(count)))


def test_a_matrix_of_many_classes_can_be_read() -> None:
    assert_legible(draw_confusion_matrix(matrix_of(80), names=names_of(80)))


def _cells(figure: Figure) -> dict[tuple[int, int], str]:
    """Return the numbers in the cells by row and column, those set apart by their gap."""
    ax = figure.axes[0]
    texts: list[Any] = list(ax.texts)
    found = [text for text in texts if text.get_ha() == text.get_va() == "center"]
    return {(int(y), int(x)): text.get_text() for text in found for x, y in [text.get_position()]}


def test_cells_hold_percentages_and_the_strip_counts() -> None:
    counts = np.array([[150, 49, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0], [999, 1, 0, 0]])
    matrix = ConfusionMatrix(counts, ["a", "b", "Others", "Background"])
    figure = draw_confusion_matrix(matrix)
    assert _cells(figure) == {(0, 0): "75", (0, 1): "24", (0, 2): "<1", (2, 0): ">99", (2, 1): "<1"}
    strip = [text.get_text() for text in figure.axes[0].texts if text.get_gid() == "count"]
    assert strip == ["200", "0", "1,000"]
    assert "200 objects, 1,199 detections" in _notes(figure)
    assert _labels(figure) == ["a", "b", "Background"]


def test_shares_of_the_predicted_are_counted_by_column() -> None:
    counts = np.array([[1500, 0, 0, 1], [500, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    matrix = ConfusionMatrix(counts, ["a", "b", "Others", "Background"])
    figure = draw_confusion_matrix(matrix, normalise="predicted")
    assert _cells(figure) == {(0, 0): "75", (1, 0): "25", (0, 2): "100"}
    strip = [text.get_text() for text in figure.axes[0].texts if text.get_gid() == "count"]
    assert strip == ["2,000", "0", "1"]
    counted = draw_confusion_matrix(matrix, normalise=None)
    assert _cells(counted) == {(0, 0): "1,500", (1, 0): "500", (0, 2): "1"}


def test_colours_are_the_shares_and_nothing_is_grey() -> None:
    counts = np.array([[3, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0], [0, 2, 0, 0]])
    ax = draw_confusion_matrix(ConfusionMatrix(counts, [1, 2, "Others", "Background"])).axes[0]
    meshes: list[Any] = list(ax.collections)
    parts = [np.ma.filled(mesh.get_array(), np.nan) for mesh in meshes]
    np.testing.assert_array_equal(parts[0], [[75, 0], [np.nan, np.nan]])
    np.testing.assert_array_equal(parts[1], [[25], [np.nan]])
    np.testing.assert_array_equal(parts[2], [[0, 100]])
    np.testing.assert_array_equal(parts[3], [[np.nan]])


def test_others_are_shown_where_there_are_some() -> None:
    counts = np.zeros((3, 3), np.int64)
    none = ConfusionMatrix(counts, ["a", "Others", "Background"])
    assert _labels(draw_confusion_matrix(none)) == ["a", "Background"]
    apart = ConfusionMatrix(counts, ["a", "Others", "Background"], 4)
    figure = draw_confusion_matrix(apart)
    assert _labels(figure) == ["a", "Others", "Background"]
    assert "4 between other classes not shown" in _notes(figure)
    assert "4 objects, 4 detections" in _notes(figure)
    counts[1, 0] = 2
    some = ConfusionMatrix(counts, ["a", "Others", "Background"])
    assert _labels(draw_confusion_matrix(some, names={"a": "Abbey", "Others": "no"})) == [
        "Abbey",
        "Others",
        "Background",
    ]


def test_numbers_that_do_not_fit_are_left_out() -> None:
    figure = new_figure(2.6, 2.6)
    draw_confusion_matrix(matrix_of(15), ax=figure.add_subplot())
    assert not _cells(figure)
    assert len(_cells(draw_confusion_matrix(matrix_of(15)))) >= 15
    wide = ConfusionMatrix(np.diag([1234567] * 30 + [0, 0]), [*range(30), "Others", "Background"])
    assert not _cells(draw_confusion_matrix(wide, normalise=None))
    assert len(_cells(draw_confusion_matrix(wide))) == 30


def test_of_very_many_classes_some_are_named() -> None:
    figure = draw_confusion_matrix(matrix_of(400), names=names_of(400))
    labels = _labels(figure)
    assert labels[-1] == "Background"
    assert 50 < len(labels) < 300
    assert "counts" not in _notes(figure)
    assert not _cells(figure)


def test_a_wrong_share_is_refused() -> None:
    with pytest.raises(InputError, match=r"normalise must be .* got 'rows'"):
        draw_confusion_matrix(matrix_of(2), normalise="rows")  # type: ignore[arg-type]


# --- kinds of error ------------------------------------------------------------------------------


@pytest.mark.parametrize("cost", [{}, {"missed": 0.9}, {"duplicate": -0.03}])
def test_errors_can_be_read(cost: dict[str, float]) -> None:
    assert_legible(draw_error_types(_errors(**cost)))


def test_bars_are_costs_with_counts() -> None:
    found = _errors()
    figure = draw_error_types(found)
    ax = figure.axes[0]
    widths = [bar.get_width() for bar in ax.patches]  # type: ignore[attr-defined]
    assert widths == list(found.cost.values())
    assert _labels(figure)[:1] + _labels(figure)[-1:] == ["Classification", "False negatives"]
    texts = [text.get_text() for text in ax.texts]
    assert texts[1] == "0.010  (1,000)"
    assert texts[6] == "0.060"
    assert _notes(figure).startswith("Mean AP 0.250; 15,000 errors")


def test_what_costs_less_than_nothing_is_seen() -> None:
    ax = draw_error_types(_errors(duplicate=-0.03)).axes[0]
    assert ax.get_xlim()[0] < -0.03
    assert ax.get_xlim()[1] > 0.07


def test_no_errors_are_drawn_as_none() -> None:
    none = dict.fromkeys(_errors().cost, 0.0)
    assert_legible(draw_error_types(_errors(**none)))


# --- calibration ---------------------------------------------------------------------------------


def _scores(count: int, power: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(count)
    scores = rng.random(count) ** power
    return scores, rng.random(count) < scores


@pytest.mark.parametrize(("count", "power"), [(0, 1.0), (1, 1.0), (500, 1.0), (20000, 12.0)])
@pytest.mark.parametrize("binning", ["width", "mass"])
def test_reliability_can_be_read(count: int, power: float, binning: Any) -> None:
    found = reliability_curve(*_scores(count, power), binning=binning)
    assert_legible(draw_reliability(found))


def test_points_are_the_bins_and_few_are_hollow() -> None:
    scores = [0.05] * 40 + [0.95] * 3
    found = reliability_curve(scores, [False] * 40 + [True] * 3)
    figure = draw_reliability(found)
    curve, below = figure.axes[0].child_axes
    points = next(one for one in curve.collections if hasattr(one, "get_sizes"))
    assert np.ma.filled(points.get_offsets()).tolist() == [
        [pytest.approx(0.05), 0.0],
        [pytest.approx(0.95), 1.0],
    ]
    faces = np.asarray(points.get_facecolor())
    assert faces[1].tolist() == [1, 1, 1, 1]
    assert faces[0].tolist() != [1, 1, 1, 1]
    heights = [bar.get_height() for bar in below.patches]  # type: ignore[attr-defined]
    assert heights == found.count.tolist()
    assert "43 detections; ECE 0.050, largest gap 0.050. Hollow" in _notes(figure)


@pytest.mark.parametrize(("power", "scale"), [(1.0, "linear"), (12.0, "log")])
def test_counts_that_differ_much_are_drawn_by_powers_of_ten(power: float, scale: str) -> None:
    _, below = draw_reliability(reliability_curve(*_scores(20000, power))).axes[0].child_axes
    assert below.get_yscale() == scale


# --- intervals -----------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [*COUNTS, 300])
def test_intervals_can_be_read(count: int) -> None:
    assert_legible(draw_intervals(table_of(count)))


def test_classes_are_sorted_with_their_ends() -> None:
    table = {
        "name": ["a", "b", "c", "d"],
        "AP": [0.2, np.nan, 0.8, 0.5],
        "low": [0.1, np.nan, 0.7, np.nan],
        "high": [0.3, np.nan, 0.9, np.nan],
        "ground_truths": [1, 0, 2000, 3],
    }
    figure = draw_intervals(table)
    ax = figure.axes[0]
    assert _labels(figure) == ["c", "d", "a"]
    ends = [segment[:, 0].tolist() for segment in ax.collections[0].get_segments()]  # type: ignore[attr-defined]
    assert ends == [[0.7, 0.9], [0.1, 0.3]]
    dots, mean = ax.lines
    assert np.asarray(dots.get_xdata()).tolist() == [0.8, 0.5, 0.2]
    assert np.asarray(mean.get_xdata()).tolist() == pytest.approx([0.5, 0.5])
    assert [text.get_text() for text in ax.texts][:3] == ["2,000", "3", "1"]
    assert _notes(figure).startswith("3 classes, mean 0.500 (dashed); 1 undefined not drawn. Bars")


def test_a_frame_is_taken_and_other_figures_have_no_ends() -> None:
    import pandas as pd

    frame = pd.DataFrame({**table_of(4), "AR1": [0.1, 0.2, 0.3, 0.4]})
    figure = draw_intervals(frame, value="AR1")
    assert figure.axes[0].get_xlabel() == "AR1"
    assert "Bars" not in _notes(figure)
    assert len(_labels(figure)) == 4


def test_of_very_many_classes_the_best_and_the_worst_are_drawn() -> None:
    table = table_of(300)
    figure = draw_intervals(table)
    order = np.argsort(-np.nan_to_num(table["AP"], nan=-1), kind="stable")[:299]
    wanted = [*order[:60], *order[-60:]]
    dots = figure.axes[0].lines[0]
    assert np.asarray(dots.get_xdata()).tolist() == table["AP"][wanted].tolist()
    assert "60 best and 60 worst drawn" in _notes(figure)


def test_a_table_without_a_column_is_refused() -> None:
    with pytest.raises(InputError, match="must have a column 'ground_truths'; has name, AP"):
        draw_intervals({"name": [], "AP": []})
    assert "0 classes" in _notes(draw_intervals({"name": [], "AP": [], "ground_truths": []}))


# --- all -----------------------------------------------------------------------------------------


def test_all_draw_on_axes_given_and_return_their_figure() -> None:
    figure = new_figure(20, 11)
    axes = figure.subplots(2, 3).ravel()
    made = [
        draw_pr_curves(curves_of(15), names=names_of(15), ax=axes[0]),
        draw_error_types(_errors(), ax=axes[1]),
        draw_reliability(reliability_curve(*_scores(500)), ax=axes[2]),
        draw_intervals(table_of(10), ax=axes[3]),
        draw_confusion_matrix(matrix_of(3), names=names_of(3), ax=axes[4]),
    ]
    assert all(one is figure for one in made)
    axes[5].remove()
    assert_legible(figure)


def test_what_is_given_is_not_changed() -> None:
    curves, matrix, table = curves_of(6), matrix_of(4), table_of(6)
    held = [*(data["recall"] for data in curves.values()), matrix.matrix, table["AP"]]
    for array in held:
        array.setflags(write=False)
    draw_pr_curves(curves)
    draw_intervals(table)
    for normalise in ("true", None):
        draw_confusion_matrix(matrix, normalise=normalise)


def test_the_ap_beside_a_curve_is_that_of_the_evaluation() -> None:
    curves = curves_of(3)
    for rule in ("all_points", "voc11"):
        figure = draw_pr_curves(curves, interpolation=rule)
        legend = figure.axes[0].get_legend()
        assert legend is not None
        written = sorted(text.get_text()[:4] for text in legend.get_texts()[1:])
        aps = (
            calculate_ap(one["precision"], one["recall"], interpolation=rule)
            for one in curves.values()
            if one["num_gt"]
        )
        assert written == sorted(f"{ap:.2f}" for ap in aps)


def test_letters_that_the_font_lacks_are_no_warning() -> None:
    matrix = ConfusionMatrix(np.eye(3, dtype=np.int64), ["名前", "Others", "Background"], 0)
    assert_legible(draw_confusion_matrix(matrix))
