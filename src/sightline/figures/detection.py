"""Figures about detections: curves, confusions, kinds of error, calibration, intervals.

Each draws on the axes it is given, or makes a figure of a fitting size; either way the figure is
returned. `sightline.figures.save` writes it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from sightline.core import InputError
from sightline.detection import ERROR_TYPES, calculate_ap
from sightline.figures.card import FigureCard
from sightline.figures.lines import counts_words
from sightline.figures.panels import legend_beside, share_axes
from sightline.figures.style import (
    BLACK,
    COLOURS,
    GREY,
    LIGHT,
    axes_for,
    even_scale,
    figure_of,
    house_style,
    shown,
    title,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from sightline.detection import BestF1, ConfusionMatrix, Interpolation, PRData, Reliability

__all__ = [
    "draw_confusion_matrix",
    "draw_error_types",
    "draw_intervals",
    "draw_pr_curves",
    "draw_reliability",
]

LINES = 8
"""Curves in colour; with more classes half of them are the best, half the worst."""
ROWS = 120
"""Classes in a figure of intervals; with more, half of them are the best, half the worst."""
_FEW = 30  # detections in a bin below which its share says little
_LINE_COLOURS = tuple(COLOURS.values())[:6]


class ErrorsLike(Protocol):
    """What is drawn of `ErrorTypes`."""

    @property
    def map(self) -> float:
        """Mean AP."""

    @property
    def counts(self) -> dict[str, int]:
        """Errors of each kind."""

    @property
    def cost(self) -> dict[str, float]:
        """What each kind costs."""


# --- precision and recall ------------------------------------------------------------------------


class _Curve(NamedTuple):
    """One class: its place among the colours follows from its AP."""

    key: Any
    label: str
    ap: float
    data: PRData


def draw_pr_curves(
    curves: Mapping[Any, PRData],
    *,
    names: Mapping[Any, str] | None = None,
    best: Mapping[Any, BestF1] | None = None,
    iou: float | None = None,
    interpolation: Interpolation = "coco101",
    ax: Axes | None = None,
) -> Figure:
    """Draw precision over recall of each class, and their mean.

    A line shows at each recall the best precision at that recall or beyond: the area under it is
    the AP. Up to 8 classes are in colour; of more, the 4 with the highest and the 4 with the lowest
    AP, and the rest grey. Classes without ground truth are not drawn, only counted.

    Parameters
    ----------
    curves
        As `calculate_pr_data` or `DetectionResults.pr_curves` give them.
    names
        What classes are called; their ids unless given.
    best
        As `DetectionResults.best_f1` gives them: dots on the classes in colour.
    iou
        Of the curves, for the title.
    interpolation
        Of the AP that is written beside each class; see `calculate_ap`.
    ax
        Where to draw; a new figure unless given.

    Examples
    --------
    >>> from sightline.detection import calculate_pr_data
    >>> curves = calculate_pr_data([(0.9, True, "cat"), (0.5, False, "cat")], {"cat": 2})
    >>> figure = draw_pr_curves(curves, iou=0.5)
    >>> figure.axes[0].get_title(loc="left")
    'Precision and recall at IoU 0.5'
    """
    with house_style():
        ax = axes_for(ax, 7.6, 4.8)
        sorted_curves = _sorted_curves(curves, names or {}, interpolation)
        half = LINES // 2
        many = len(sorted_curves) > LINES
        top = sorted_curves[:half] if many else sorted_curves
        bottom = sorted_curves[-half:] if many else []
        middle = sorted_curves[half:-half] if many else []
        for curve in middle:
            ax.plot(*_falling(curve.data), color=LIGHT, lw=0.7, drawstyle="steps-pre", zorder=1)
        handles = [_coloured(ax, curve, i, best or {}) for i, curve in enumerate([*top, *bottom])]
        texts = [f"{one.ap:.2f}  {one.label} ({one.data['num_gt']:,})" for one in (*top, *bottom)]
        if middle:
            handles.insert(half, ax.plot([], [], color=LIGHT, lw=1.5)[0])
            texts.insert(half, f"{counts_words([len(middle)], 'class')} in between")
        if len(sorted_curves) > 1:
            handles.insert(0, _mean_line(ax, sorted_curves))
            texts.insert(0, f"{np.mean([one.ap for one in sorted_curves]):.2f}  mean")
        share_axes(ax, "Recall", "Precision")
        if handles:
            legend_beside(ax, handles, texts, "AP, class (objects)")
        _pr_title(ax, sorted_curves, len(curves), iou, dots=bool(best))
        return figure_of(ax)


def _sorted_curves(
    curves: Mapping[Any, PRData], names: Mapping[Any, str], interpolation: Interpolation
) -> list[_Curve]:
    """Return the classes with ground truths, the highest AP first."""
    found = []
    for key, data in curves.items():
        if data["num_gt"]:
            ap = calculate_ap(data["precision"], data["recall"], interpolation=interpolation)
            found.append(_Curve(key, shown(names.get(key, key)), ap, data))
    return sorted(found, key=lambda one: -one.ap)


def _falling(data: PRData) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return recall and the best precision from there on, corners only, down to 0 at the end."""
    recall = np.concatenate([[0.0], data["recall"], data["recall"][-1:]])
    best = np.maximum.accumulate(data["precision"][::-1])[::-1]
    best = np.concatenate([best[:1], best, [0.0]])[: len(recall)]
    if len(recall) < 2:
        return np.zeros(1), np.zeros(1)
    corner = np.ones(len(best), np.bool_)
    corner[1:-1] = (best[1:-1] != best[2:]) | (best[1:-1] != best[:-2])
    return recall[corner], best[corner]


def _coloured(ax: Axes, curve: _Curve, place: int, best: Mapping[Any, BestF1]) -> Any:
    colour = _LINE_COLOURS[place % len(_LINE_COLOURS)]
    dash = "-" if place < len(_LINE_COLOURS) else (0, (3, 1.2))
    (line,) = ax.plot(
        *_falling(curve.data), color=colour, ls=dash, lw=1.4, drawstyle="steps-pre", zorder=3
    )
    point = best.get(curve.key)
    if point is not None and math.isfinite(point.precision):
        ax.plot(
            [point.recall], [point.precision], "o", ms=5, mfc=colour, mec="white", mew=0.8, zorder=5
        )
    return line


def _mean_line(ax: Axes, curves: Sequence[_Curve]) -> Any:
    """Draw the mean of the classes' precisions at 101 recalls."""
    levels = np.linspace(0, 1, 101)
    heights = []
    for curve in curves:
        best = np.maximum.accumulate(curve.data["precision"][::-1])[::-1]
        heights.append(np.append(best, 0.0)[np.searchsorted(curve.data["recall"], levels)])
    return ax.plot(levels, np.mean(heights, axis=0), color=BLACK, lw=2.2, zorder=4)[0]


def _pr_title(
    ax: Axes, drawn: Sequence[_Curve], given: int, iou: float | None, *, dots: bool
) -> None:
    objects = sum(one.data["num_gt"] for one in drawn)
    notes = f"{counts_words([len(drawn)], 'class')} with {counts_words([objects], 'object')}"
    if missing := given - len(drawn):
        notes += f"; {missing:,} without ground truth not drawn"
    notes += ". Best precision at each recall or beyond"
    notes += "; dots: best F1." if dots and drawn else "."
    at = "" if iou is None else f" at IoU {iou:g}"
    title(ax, f"Precision and recall{at}", notes)


# --- confusion -----------------------------------------------------------------------------------

Normalise = Literal["true", "predicted", "all"]
_LARGE = 150  # labels beyond which cells have no edges, and their lines no counts
_GAP = 0.45  # cells between the classes and what is none
_UNITS = {
    "true": "% of the objects of the true class",
    "predicted": "% of the detections of the predicted class",
    "all": "% of all",
    None: "Count",
}


class _Grid(NamedTuple):
    """A confusion matrix as it is drawn.

    `values` are percentages or counts, `totals` counts of rows, or of columns where shares are of
    the predicted; `plain` is how many of the labels are classes.
    """

    values: NDArray[np.float64]
    totals: NDArray[np.int64]
    labels: list[str]
    plain: int
    normalise: Normalise | None

    @property
    def centres(self) -> NDArray[np.float64]:
        place = np.arange(len(self.labels))
        return place + 0.5 + _GAP * (place >= self.plain)

    @property
    def end(self) -> float:
        return len(self.labels) + _GAP

    @property
    def of_columns(self) -> bool:
        return self.normalise == "predicted"

    @property
    def top(self) -> float:
        """The value that is darkest."""
        if self.normalise is not None:
            return 100.0
        return max(float(np.nan_to_num(self.values).max()), 1.0)


def draw_confusion_matrix(
    matrix: ConfusionMatrix,
    *,
    normalise: Normalise | None = "true",
    names: Mapping[Any, str] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw what each object was taken for: true classes in rows, predicted ones in columns.

    Numbers stand in the cells where they fit. "Others" and "Background" are set apart from the
    classes; what has neither objects nor detections is left out. The strip beside the matrix counts
    what each row, or column, shares out. Rows without anything are grey.

    Parameters
    ----------
    matrix
        As `generate_confusion_matrix` gives it.
    normalise
        Shares of each row ("true"), column ("predicted"), of "all"; None draws counts, their
        colours by the square root.
    names
        What classes are called; their ids unless given.
    ax
        Where to draw; a new figure unless given.

    Examples
    --------
    >>> from sightline.detection import generate_confusion_matrix
    >>> box = (0, 0, 10, 10)
    >>> found = generate_confusion_matrix([[[box, 0.9, "dog"]]], [[[box, "cat"]]])
    >>> figure = draw_confusion_matrix(found)
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['cat', 'dog', 'Background']
    """
    if normalise not in _UNITS:
        raise InputError(f"normalise must be 'true', 'predicted', 'all' or None; got {normalise!r}")
    with house_style():
        grid = _grid(matrix, normalise, names or {})
        ax = axes_for(ax, *_matrix_size(grid))
        mesh = _mesh(ax, grid)
        bar = figure_of(ax).colorbar(mesh, ax=ax, shrink=0.6, aspect=25, pad=0.02)
        bar.set_label(_UNITS[normalise])
        bar.outline.set_visible(False)
        _matrix_title(ax, matrix, normalise)
        cell = _cell_points(ax, grid)
        _tick_labels(ax, grid, cell)
        _strip(ax, grid, cell)
        _cell_numbers(ax, grid, cell)
        return figure_of(ax)


def _grid(matrix: ConfusionMatrix, normalise: Normalise | None, names: Mapping[Any, str]) -> _Grid:
    counts, plain = matrix.matrix, len(matrix.class_labels) - 2
    kept = np.asarray(counts.any(axis=0) | counts.any(axis=1))
    kept[plain] |= bool(matrix.others_confused)
    kept[-1] = True
    if not kept[:plain].any():
        kept[:plain] = True
    values = counts * 1.0 if normalise is None else 100 * matrix.normalised(normalise)
    values[-1, -1] = np.nan  # nothing taken for nothing
    labels = [shown(names.get(one, one)) for one in matrix.class_labels[:plain]]
    labels += [str(one) for one in matrix.class_labels[plain:]]
    return _Grid(
        np.asarray(values[np.ix_(kept, kept)], np.float64),
        counts.sum(axis=0 if normalise == "predicted" else 1)[kept],
        [label for label, keep in zip(labels, kept, strict=True) if keep],
        int(kept[:plain].sum()),
        normalise,
    )


def _matrix_size(grid: _Grid) -> tuple[float, float]:
    """Return width and height of a figure whose cells and labels have room."""
    count = len(grid.labels)
    side = min(max(count * min(max(5.0 / count, 0.17), 0.75), 2.6), 22.0)
    label = 0.07 * max(map(len, grid.labels))
    return side + label + 2.2, side + label + 1.5


def _mesh(ax: Axes, grid: _Grid) -> Any:
    """Draw the cells, classes and the rest apart; return what the colour bar is of."""
    from matplotlib.colors import Normalize, PowerNorm

    norm = PowerNorm(0.5, 0, grid.top) if grid.normalise is None else Normalize(0, grid.top)
    blocks = [(0, grid.plain), (grid.plain, len(grid.labels))]
    count = len(grid.labels)
    for first, last in blocks:
        for left, right in blocks:
            if first == last or left == right:
                continue
            across, down = (
                np.arange(a, b + 1) + _GAP * (a >= grid.plain)
                for a, b in ((left, right), (first, last))
            )
            mesh = ax.pcolormesh(
                across,
                down,
                np.ma.masked_invalid(grid.values[first:last, left:right]),
                cmap=even_scale(),
                norm=norm,
                edgecolors="#E4E4E4" if count <= _LARGE else "none",
                linewidth=0.6 if count <= 40 else 0.2,
                rasterized=count > _LARGE,  # a vector file would have a million squares
            )
    ax.set_aspect("equal")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set(xlabel="Predicted", ylabel="True")
    return mesh


def _tick_labels(ax: Axes, grid: _Grid, cell: float) -> None:
    """Name rows and columns in letters that fit; every second, third… where none would."""
    size = min(8.0, max(cell * 0.72, 6.0))
    step = math.ceil(size * 1.05 / cell)
    kept = [i for i in range(len(grid.labels)) if i % step == 0 or i >= grid.plain]
    if step > 1:  # these stand beside those set apart
        kept = [i for i in kept if i >= grid.plain or i <= grid.plain - step]
        kept = [i for i in kept if i < grid.plain or i == len(grid.labels) - 1]
    labels = [grid.labels[i] for i in kept]
    level = max(map(len, grid.labels)) * size * 0.62 <= cell
    ax.set_yticks(grid.centres[kept], labels, fontsize=size, parse_math=False)
    ax.set_xticks(
        grid.centres[kept], labels, fontsize=size, parse_math=False, rotation=0 if level else 90
    )


def _cell_points(ax: Axes, grid: _Grid) -> float:
    """Return how wide a cell is once the figure is laid out, with labels and counts."""
    figure = figure_of(ax)
    cell = 72 * ax.get_window_extent().width / figure.dpi / grid.end
    _tick_labels(ax, grid, cell)
    _strip(ax, grid, cell)
    figure.draw_without_rendering()
    low, high = sorted(ax.get_xlim())
    return float(ax.get_window_extent().width / (high - low) * 72 / figure.dpi)


def _strip(ax: Axes, grid: _Grid, cell: float) -> None:
    """Make room for the counts beside the matrix, and write them."""
    for text in [*ax.texts]:
        if text.get_gid() == "count":
            text.remove()
    size = min(8.0, cell * 0.72)
    counts = [f"{total:,}" for total in grid.totals.tolist()]
    gap, wide = 5 / cell, (max(map(len, counts)) * size * 0.66 + 9) / cell
    ax.set_ylim(grid.end, -wide if grid.of_columns else 0)
    ax.set_xlim(0, grid.end + (0 if grid.of_columns else wide))
    if size < 4 or len(counts) > _LARGE:
        return
    for centre, count in zip(grid.centres, counts, strict=True):
        x, y = (centre, -gap) if grid.of_columns else (grid.end + wide, centre)
        ax.text(
            float(x), float(y), count, fontsize=size, color=GREY, gid="count", in_layout=False,
            ha="center" if grid.of_columns else "right",
            va="bottom" if grid.of_columns else "center",
            rotation=90 if grid.of_columns else 0,
        )  # fmt: skip


def _cell_numbers(ax: Axes, grid: _Grid, cell: float) -> None:
    """Write the numbers into the cells, unless they would not fit."""
    if cell * 0.6 < 5:
        return
    filled = [(i, j, grid.values[i, j]) for i, j in np.argwhere(grid.values > 0).tolist()]
    texts = [_cell_text(value, grid.normalise) for _, _, value in filled]
    size = min(9.0, 0.86 * cell / (0.64 * max(map(len, texts), default=1)), cell * 0.6)
    if size < 5:
        return
    for (i, j, value), text in zip(filled, texts, strict=True):
        share = value / grid.top
        dark = share if grid.normalise else math.sqrt(share)
        ax.text(
            float(grid.centres[j]), float(grid.centres[i]), text, fontsize=size, ha="center",
            va="center", color="white" if dark > 0.5 else BLACK, in_layout=False,
        )  # fmt: skip


def _cell_text(value: float, normalise: Normalise | None) -> str:
    if normalise is None:
        return f"{value:,.0f}"
    text = f"{value:.0f}"
    return "<1" if text == "0" else ">99" if text == "100" and value < 100 else text


def _matrix_title(ax: Axes, matrix: ConfusionMatrix, normalise: Normalise | None) -> None:
    objects = int(matrix.matrix[:-1].sum()) + matrix.others_confused
    found = int(matrix.matrix[:, :-1].sum()) + matrix.others_confused
    notes = f"{counts_words([objects], 'object')}, {counts_words([found], 'detection')}. "
    notes += "Last row: found where nothing is; last column: missed."
    used = np.asarray(matrix.matrix.any(axis=0) | matrix.matrix.any(axis=1))[:-2]
    if used.any() and not used.all():
        notes += f" {counts_words([(~used).sum()], 'class')} without either not drawn."
    if len(matrix.class_labels) <= _LARGE:
        notes += f" {'Above' if normalise == 'predicted' else 'Right'}: counts."
    if matrix.others_confused:
        notes += f" {matrix.others_confused:,} between other classes not shown."
    title(ax, "What objects were taken for", notes)


# --- kinds of error ------------------------------------------------------------------------------


def draw_error_types(errors: ErrorsLike, *, ax: Axes | None = None) -> Figure:
    """Draw how much mean AP each kind of error costs, and how many there are.

    Parameters
    ----------
    errors
        As `error_types` gives them.
    ax
        Where to draw; a new figure unless given.

    Examples
    --------
    >>> from sightline.detection import error_types
    >>> box, near = (0, 0, 10, 10), (0, 0, 10, 4)
    >>> figure = draw_error_types(error_types([[[near, 0.9, "cat"]]], [[[box, "cat"]]]))
    >>> figure.axes[0].get_xlabel()
    'Mean AP gained if put right'
    """
    groups = ("false_positives", "false_negatives")
    kinds = [kind for kind in (*ERROR_TYPES, *groups) if kind in errors.cost]
    with house_style():
        ax = axes_for(ax, 6.4, 3.9)
        places = [i + 0.5 * (kind in groups) for i, kind in enumerate(kinds)]
        costs = [errors.cost[kind] for kind in kinds]
        lengths = np.nan_to_num(costs).tolist()  # undefined where there is nothing to find
        colours = [*_LINE_COLOURS, LIGHT, LIGHT]
        ax.barh(places, lengths, color=[colours[i] for i in range(len(kinds))], height=0.72)
        for place, kind, cost, end in zip(places, kinds, costs, lengths, strict=True):
            number = f"  ({errors.counts[kind]:,})" if kind in errors.counts else ""
            ax.annotate(
                f"{_figure(cost)}{number}", (max(end, 0.0), place), (4, 0),
                textcoords="offset points", va="center", fontsize=8,
            )  # fmt: skip
        ax.set_yticks(places, [kind.replace("_", " ").capitalize() for kind in kinds])
        ax.set_ylim(max(places, default=0) + 0.6, -0.6)
        top = max(*lengths, 0.0, 0.01)
        ax.set_xlim(min(*lengths, 0.0) * 1.05, top * 1.32)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("Mean AP gained if put right")
        total = counts_words([sum(errors.counts.values())], "error")
        notes = f"Mean AP {_figure(errors.map)}; {total}, in brackets by kind. "
        notes += "Errors hide each other: gains do not add up."
        title(ax, "What each kind of error costs", notes)
        return figure_of(ax)


# --- calibration ---------------------------------------------------------------------------------


def draw_reliability(reliability: Reliability, *, ax: Axes | None = None) -> Figure:
    """Draw how often detections are right over how confident they are, with a histogram below.

    Circles of bins with fewer than 30 detections are hollow.

    Parameters
    ----------
    reliability
        As `reliability_curve` gives it.
    ax
        Whose place the curve and the histogram take; a new figure unless given.

    Examples
    --------
    >>> from sightline.detection import reliability_curve
    >>> figure = draw_reliability(reliability_curve([0.9, 0.8, 0.2], [True, True, False]))
    >>> [ax.get_ylabel() for ax in figure.axes[0].child_axes]
    ['Share that is right', 'Detections']
    """
    with house_style():
        frame = axes_for(ax, 5.2, 5.8)
        frame.set_axis_off()
        ax, below = (frame.inset_axes((0, y, 1, height)) for y, height in ((0.3, 0.7), (0, 0.26)))
        ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls=(0, (4, 3)), zorder=1)
        used = reliability.count > 0
        x, y = reliability.confidence[used], reliability.precision[used]
        blue = COLOURS["blue"]
        ax.vlines(x, x, y, color=COLOURS["orange"], lw=2.2, zorder=2)
        ax.plot(x, y, color=blue, lw=1.4, zorder=3)
        fill = np.where(reliability.count[used] < _FEW, "white", blue)
        ax.scatter(x, y, s=30, c=fill.tolist(), edgecolors=blue, linewidths=1.3, zorder=4)
        share_axes(ax, "", "Share that is right")
        ax.tick_params(axis="x", labelbottom=False)
        _histogram(below, reliability)
        total = int(reliability.count.sum())
        notes = f"{counts_words([total], 'detection')}; "
        notes += f"ECE {_figure(reliability.ece)}, largest gap {_figure(reliability.mce)}"
        few = bool((reliability.count[used] < _FEW).any())
        notes += f". Hollow: fewer than {_FEW} detections." if few else "."
        title(frame, "Are confidences right?", notes)
        return figure_of(frame)


def _figure(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "undefined"


def _histogram(ax: Axes, reliability: Reliability) -> None:
    """Draw the counts; by powers of ten where they differ much."""
    count, edges = reliability.count, reliability.edges
    ax.bar(
        edges[:-1], count, width=np.diff(edges), align="edge", color=COLOURS["sky"],
        edgecolor="white", linewidth=0.8,
    )  # fmt: skip
    used = count[count > 0]
    if not len(used):
        ax.set_ylim(0, 1)
        ax.set_yticks([0])
    elif used.max() > 50 * used.min():
        ax.set_yscale("log")
        ax.set_ylim(0.7, float(used.max()) * 2)
        ax.minorticks_off()
    else:
        ax.locator_params(axis="y", integer=True, nbins=4)
    ax.set(xlim=(-0.01, 1.01), xlabel="Confidence", ylabel="Detections")
    ax.set_xticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


# --- intervals -----------------------------------------------------------------------------------


def draw_intervals(table: Any, *, value: str = "AP", ax: Axes | None = None) -> Figure:
    """Draw the AP of each class with its interval, the highest first, and their mean.

    Classes without ground truth are not drawn, only counted. Of more than 120 classes the best 60
    and the worst 60 are drawn.

    Parameters
    ----------
    table
        As `DetectionResults.by_class` gives it: a DataFrame, or columns by name, with `name`, the
        value, `ground_truths` and, where there are intervals of the value, `low` and `high`.
    value
        The column to draw. Intervals are those of the AP: others are drawn without.
    ax
        Where to draw; a new figure unless given.

    Examples
    --------
    >>> table = {"name": ["cat", "dog"], "AP": [0.4, 0.6], "low": [0.3, 0.5], "high": [0.5, 0.7],
    ...          "ground_truths": [20, 10]}
    >>> figure = draw_intervals(table)
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['dog', 'cat']
    """
    columns = _interval_columns(table, value)
    known = np.flatnonzero(np.isfinite(columns["value"]))
    order = known[np.argsort(-columns["value"][known], kind="stable")]
    drawn = order if len(order) <= ROWS else np.r_[order[: ROWS // 2], order[-ROWS // 2 :]]
    with house_style():
        ax = axes_for(ax, 6.6, 1.5 + max(len(drawn) * 0.185, 1.0))
        rows = np.arange(len(drawn))
        middle, low, high = (columns[key][drawn] for key in ("value", "low", "high"))
        ends = np.isfinite(low) & np.isfinite(high)
        ax.hlines(rows[ends], low[ends], high[ends], color=COLOURS["sky"], lw=3)
        ax.plot(middle, rows, "o", color=COLOURS["blue"], ms=4.2, zorder=3)
        if len(order):
            mean = float(columns["value"][order].mean())
            ax.axvline(mean, color=BLACK, lw=1, ls=(0, (4, 3)), zorder=1)
        _interval_labels(ax, [shown(columns["name"][i]) for i in drawn], columns["n"][drawn])
        ax.set(xlim=(-0.01, 1.01), ylim=(len(drawn) - 0.4, -0.6), xlabel=value)
        ax.grid(axis="x", color="#EEEEEE", lw=0.6)
        _interval_title(ax, value, columns, order, len(drawn))
        return figure_of(ax)


def _interval_columns(table: Any, value: str) -> dict[str, Any]:
    """Return the columns that are drawn; ends are NaN where there are none."""
    for name in ("name", value, "ground_truths"):
        if name not in table:
            raise InputError(f"table must have a column {name!r}; has {', '.join(map(str, table))}")
    middle = np.asarray(table[value], np.float64)
    ends = {}
    for end in ("low", "high"):
        there = end in table and value == "AP"
        ends[end] = np.asarray(table[end], np.float64) if there else np.full(len(middle), np.nan)
    count = np.asarray(table["ground_truths"], np.int64)
    return {"value": middle, "name": list(table["name"]), "n": count, **ends}


def _interval_labels(ax: Axes, names: list[str], counts: NDArray[np.int64]) -> None:
    """Name the rows on the left and count their objects on the right."""
    ax.set_yticks(np.arange(len(names)), names, fontsize=7.5, parse_math=False)
    ax.tick_params(axis="y", length=0)
    wide = max((len(f"{n:,}") for n in counts.tolist()), default=1) * 5.2
    for row, n in enumerate(counts.tolist()):
        ax.annotate(
            f"{n:,}", (1, row), (6 + wide, 0), xycoords=("axes fraction", "data"),
            textcoords="offset points", ha="right", va="center", fontsize=7.5, color=GREY,
            annotation_clip=False,
        )  # fmt: skip


def _interval_title(
    ax: Axes, value: str, columns: dict[str, Any], order: NDArray[np.intp], drawn: int
) -> None:
    notes = counts_words([len(order)], "class")
    if len(order):
        notes += f", mean {columns['value'][order].mean():.3f} (dashed)"
    if drawn < len(order):
        notes += f"; {drawn // 2} best and {drawn // 2} worst drawn"
    if missing := len(columns["value"]) - len(order):
        notes += f"; {missing:,} undefined not drawn"
    bars = bool(np.isfinite(columns["low"][order]).any())
    notes += ". Bars: intervals. Right: objects." if bars else ". Right: objects."
    title(ax, f"{value} of each class", notes)


# --- cards ---------------------------------------------------------------------------------------

CARDS = (
    FigureCard(
        name="detection-pr",
        title="Precision and recall of detections",
        function=draw_pr_curves,
        file="detection_pr_curves",
        group="detection",
        shows="Precision over recall of each class at one IoU, and of their mean; dots: best F1.",
        reading="The area under a line is the AP of its class. A line that ends early misses "
        "objects at any confidence.",
        needs="Curves of classes, as `evaluate_detections` gives them.",
        unselected="Detections have no layers to choose among.",
    ),
    FigureCard(
        name="detection-classes",
        title="AP of classes",
        function=draw_intervals,
        file="detection_classes",
        group="detection",
        shows="AP of each class with its interval, where one was asked for, and its objects.",
        reading="Intervals of classes with few objects are wide: their order means little.",
        needs="The table of classes of an evaluation.",
        unselected="Detections have no layers to choose among.",
    ),
    FigureCard(
        name="confusion-matrix",
        title="What objects were taken for",
        function=draw_confusion_matrix,
        file="confusion_matrix",
        group="detection",
        shows="True classes in rows, predicted ones in columns, Others and Background set apart.",
        reading="A row shares out the objects of a class: off the diagonal is what they were "
        "taken for, the last column what was missed.",
        needs="A confusion matrix, as `generate_confusion_matrix` gives it.",
        unselected="Detections have no layers to choose among.",
    ),
    FigureCard(
        name="error-types",
        title="What kinds of error cost",
        function=draw_error_types,
        file="error_types",
        group="detection",
        shows="The AP that mending all errors of one kind would give, and their number.",
        reading="Costs do not add up to what is missing: mending two kinds together can give more "
        "or less than the sum.",
        needs="Error types of an evaluation.",
        unselected="Detections have no layers to choose among.",
    ),
    FigureCard(
        name="reliability",
        title="Reliability of confidences",
        function=draw_reliability,
        file="reliability",
        group="detection",
        shows="The share of detections that are right, by confidence, and how many there are.",
        reading="On the diagonal a confidence of 0.8 is right 8 times of 10; below it the "
        "detector is too sure.",
        needs="Reliability of an evaluation whose scores lie in 0 to 1.",
        unselected="Detections have no layers to choose among.",
    ),
)
