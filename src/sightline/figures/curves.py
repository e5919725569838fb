"""Curves: rankings of pixels, thresholds, energy, layers. A line for each method.

Each draws on the axes it is given, or makes a figure of a fitting size; either way the figure is
returned. `sightline.figures.save` writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.figures._score_plots import collect_column, describe_beyond, select_axis_values
from sightline.figures.card import FigureCard
from sightline.figures.lines import (
    LINE,
    choose_lines,
    counts_words,
    direction,
    filled_table,
    format_selection,
    line_names,
    numbers,
    rows_of_lines,
)
from sightline.figures.panels import band, bars, legend_beside, share_axes, text_inches
from sightline.figures.style import BLACK, GREY, axes_for, figure_of, house_style, title

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from sightline.figures.lines import Chosen, Line, Table

__all__ = [
    "create_iou_threshold_curves",
    "create_pr_curve_comparison",
    "create_roc_curve_comparison",
    "draw_cumulative_energy",
    "draw_layer_progression",
]

_CHANCE: dict[str, Any] = {"color": BLACK, "lw": 1.1, "ls": (0, (5, 2.5)), "zorder": 4}
_CEILING: dict[str, Any] = {"color": BLACK, "lw": 1.1, "ls": (0, (1, 1.6)), "zorder": 4}
_MARKS = 5  # on a curve of many points
_CLOUDY = 6  # lines beyond which bands are faint


class _Legend:
    """What stands beside the axes: methods, the best first, under chance and ceiling."""

    def __init__(self, head: str) -> None:
        self.head = head
        self.handles: list[Any] = []
        self.texts: list[str] = []

    def add(self, handle: Any, text: str) -> None:
        self.handles.append(handle)
        self.texts.append(text)


def _axes_beside(ax: Axes | None, texts: Iterable[str], side: float) -> Axes:
    """Return axes that have room for a legend of these texts on their right."""
    lines = list(texts)
    height = max(side + 0.3, 1.0 + 0.165 * (len(lines) + 3))
    return axes_for(ax, side + 1.0 + text_inches(lines) + 0.6, height)


def _parts(table: pd.DataFrame, named: pd.DataFrame, what: str) -> dict[str, pd.DataFrame]:
    """Return the rows of each line from left to right, lines in the order of the table."""
    found = rows_of_lines(table, line_names(named, what))
    return {name: rows.sort_values("x", kind="stable") for name, rows in found.items()}


def _bracket(value: float, low: float, high: float) -> str:
    """Return a figure with its interval, where it has one."""
    ends = f" [{low:.2f}, {high:.2f}]" if np.isfinite(low) and np.isfinite(high) else ""
    return f"{value:.2f}{ends}"


def _sentence(*parts: str) -> str:
    """Join what is known into a line of notes."""
    return "; ".join(part for part in parts if part)


def _mean_at(x: NDArray[np.float64], lines: Iterable[Line], column: str) -> NDArray[np.float64]:
    """Return the mean of a column over lines at each x; NaN where none has it."""
    found: dict[float, list[float]] = {one: [] for one in x.tolist()}
    for line in lines:
        values = numbers(line.rows, column)
        for place, value in zip(numbers(line.rows, "x").tolist(), values.tolist(), strict=True):
            if np.isfinite(value):
                found[place].append(value)
    return np.array([np.mean(found[one]) if found[one] else np.nan for one in x.tolist()])


# --- rankings of pixels --------------------------------------------------------------------------


class _Score(NamedTuple):
    """What stands beside a line in the legend."""

    value: float
    low: float
    high: float
    n: float
    chance: float


class _Ranking(NamedTuple):
    """What ROC and precision–recall figures have in common."""

    chosen: Chosen
    scores: dict[str, _Score]
    given: bool

    @property
    def notes(self) -> str:
        """How many images there are, and what brackets and bands mean."""
        drawn = [self.scores[line.name] for line in self.chosen.lines]
        brackets = any(np.isfinite(one.low) and np.isfinite(one.high) for one in drawn)
        means = "means over images" if self.given else "areas under these lines"
        return _sentence(
            counts_words(one.n for one in drawn),
            means + (" with 95% intervals in brackets" if brackets else ""),
            *self.chosen.notes,
        )

    def texts(self) -> list[str]:
        """Return the figures and names of the lines, the best first."""
        named = ((self.scores[line.name], line.label) for line in self.chosen.lines)
        return [f"{_bracket(*one[:3])}  {label}" for one, label in named]


def create_roc_curve_comparison(
    curves: Table, scores: Table | None = None, *, ax: Axes | None = None
) -> Figure:
    """Draw how well each method ranks annotated pixels before the others: ROC curves.

    Parameters
    ----------
    curves
        A row for each line and point: columns that name the line (`name`, or model, method, …),
        `x` (false positive rate), `value` (true positive rate, mean over images) and, where they
        are known, `low`, `high`, `n`, `group`.
    scores
        A row for each line: columns that name it, `value` (AUC, mean over images) and, where they
        are known, `low`, `high`, `n`, `group`. Unless given, areas under the curves are shown.
    ax
        Where to draw; a new figure unless given.

    Examples
    --------
    >>> curves = {"method": ["cls"] * 3, "x": [0, 0.5, 1], "value": [0, 0.8, 1]}
    >>> figure = create_roc_curve_comparison(curves, {"method": ["cls"], "value": [0.66]})
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['0.66  cls', '0.50  chance']
    """
    ranking = _ranking(curves, scores)
    legend = _Legend(_legend_head("AUC", ranking))
    texts = ranking.texts()
    with house_style():
        ax = _axes_beside(ax, texts, 5.0)
        bands = _draw_lines(ax, ranking.chosen, legend, texts)
        (diagonal,) = ax.plot([0, 1], [0, 1], **_CHANCE)
        legend.add(diagonal, "0.50  chance")
        share_axes(ax, "False positive rate", "True positive rate")
        legend_beside(ax, legend.handles, legend.texts, legend.head)
        notes = _sentence(ranking.notes, "bands: 95% intervals" if bands else "")
        title(ax, "ROC: annotated pixels before others?", f"{notes}.")
        return figure_of(ax)


def create_pr_curve_comparison(
    curves: Table,
    scores: Table | None = None,
    *,
    chance: float | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw precision over recall of annotated pixels for each method.

    Parameters
    ----------
    curves
        As in `create_roc_curve_comparison`, with recall as `x` and precision as `value`.
    scores
        A row for each line, with the average precision as `value`; a column `chance` says what a
        map without information gets.
    chance
        What a map without information (a constant one) gets: the annotated share; a random
        ranking of few cells gets a little more. The mean of the column `chance` of
        `scores`, or of `curves`, unless given.
    ax
        Where to draw; a new figure unless given.

    Examples
    --------
    >>> curves = {"method": ["cls"] * 3, "x": [0, 0.5, 1], "value": [0.9, 0.6, 0.2]}
    >>> scores = {"method": ["cls"], "value": [0.55], "chance": [0.15]}
    >>> figure = create_pr_curve_comparison(curves, scores)
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['0.55  cls', '0.15  chance: the annotated share']
    """
    ranking = _ranking(curves, scores)
    if chance is None:
        known = [one.chance for one in ranking.scores.values() if np.isfinite(one.chance)]
        chance = float(np.mean(known)) if known else None
    elif not 0 <= chance <= 1:
        raise InputError(f"chance must be a share from 0 to 1; got {chance!r}")
    legend = _Legend(_legend_head("AP", ranking))
    texts = ranking.texts()
    with house_style():
        ax = _axes_beside(ax, [*texts, "0.00  chance: the annotated share"], 5.0)
        bands = _draw_lines(ax, ranking.chosen, legend, texts)
        if chance is not None:
            (level,) = ax.plot([0, 1], [chance, chance], **_CHANCE)
            legend.add(level, f"{chance:.2f}  chance: the annotated share")
        share_axes(ax, "Recall", "Precision")
        if legend.handles:
            legend_beside(ax, legend.handles, legend.texts, legend.head)
        unknown = "" if chance is not None else "the annotated share, chance, is not known"
        notes = _sentence(ranking.notes, "bands: 95% intervals" if bands else "", unknown)
        title(ax, "Precision and recall of annotated pixels", f"{notes}.")
        return figure_of(ax)


def _legend_head(score: str, ranking: _Ranking) -> str:
    return f"{score}, method" if ranking.given else "Area, method"


def _ranking(curves: Table, scores: Table | None) -> _Ranking:
    """Check the tables of a ROC or precision–recall figure and join them by line."""
    points = filled_table(curves, "curves", ("x", "value"))
    board = None if scores is None else filled_table(scores, "scores", ("value",))
    names, listed = _joint_names(points, board)
    parts = {
        name: rows.assign(x=numbers(rows, "x", "curves")).sort_values("x", kind="stable")
        for name, rows in rows_of_lines(points, names).items()
    }
    if board is None:
        found = {name: _area(rows) for name, rows in parts.items()}
    else:
        found = _listed_scores(parts, board, listed)
        if "group" in board and "group" not in points:
            groups = dict(zip(listed, board["group"], strict=True))
            parts = {name: rows.assign(group=groups.get(name)) for name, rows in parts.items()}
    drawable = {
        name: found[name].value if np.isfinite(numbers(rows, "value", "curves")).any() else np.nan
        for name, rows in parts.items()
    }
    return _Ranking(choose_lines(parts, drawable), found, board is not None)


def _joint_names(points: pd.DataFrame, board: pd.DataFrame | None) -> tuple[list[str], list[str]]:
    """Name the lines of both tables by the same columns, so that the same line is called alike."""
    import pandas as pd

    if board is None:
        return line_names(points, "curves"), []
    shared = [one for one in ("name", *LINE) if one in points and one in board]
    if not {"name", "method"} & set(shared):
        line_names(points, "curves")  # says what is missing
        raise InputError("scores must name its lines as curves does, by 'name' or 'method'")
    both = pd.concat([points[shared].astype(object), board[shared].astype(object)])
    names = line_names(both, "curves and scores")
    return names[: len(points)], names[len(points) :]


def _area(rows: pd.DataFrame) -> _Score:
    """Return the area under a line; NaN where a point is undefined."""
    area = float(np.trapezoid(numbers(rows, "value", "curves"), numbers(rows, "x", "curves")))
    n, chance = numbers(rows, "n", "curves"), numbers(rows, "chance", "curves")
    return _Score(area, np.nan, np.nan, _first(n), _first(chance))


def _first(values: NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(known[0]) if len(known) else np.nan


def _listed_scores(
    parts: Mapping[str, pd.DataFrame], board: pd.DataFrame, listed: list[str]
) -> dict[str, _Score]:
    """Return the score of each curve; a curve without one is an error that names it."""
    columns = [numbers(board, name, "scores") for name in _Score._fields]
    found: dict[str, _Score] = {}
    for place, name in enumerate(listed):
        if name in found:
            raise InputError(f"scores must have one row for each line; {name!r} has several")
        found[name] = _Score(*(float(column[place]) for column in columns))
    if missing := [name for name in parts if name not in found]:
        known = ", ".join(found)
        raise InputError(f"scores must have a row for each curve; none for {missing[0]!r}: {known}")
    return found


def _draw_lines(ax: Axes, chosen: Chosen, legend: _Legend, texts: list[str]) -> bool:
    """Draw lines, marks at other places on each, and bands; say whether there are bands."""
    alpha = 0.18 if len(chosen.lines) <= _CLOUDY else 0.07
    seen = False
    for place, (line, text) in enumerate(zip(chosen.lines, texts, strict=True)):
        x, value, low, high = (numbers(line.rows, one) for one in ("x", "value", "low", "high"))
        seen |= band(ax, x, low, high, line.look, alpha=alpha)
        step = max(len(x) // _MARKS, 1)
        every = (int(step * (place % _MARKS + 0.5) / _MARKS), step) if len(x) > 20 else 1
        depth = 2 if line.look.baseline else 3
        (handle,) = ax.plot(x, value, **line.look.line, markevery=every, zorder=depth)
        legend.add(handle, text)
    return seen


# --- thresholds ----------------------------------------------------------------------------------


def create_iou_threshold_curves(
    sweep: Table, *, metric: str = "iou", ax: Axes | None = None
) -> Figure:
    """Draw a score of each method over the share of pixels that is selected.

    Parameters
    ----------
    sweep
        As `Results.percentile_sweep` gives it: columns that name the line, `percentile` (the top
        100 − percentile % of pixels are selected), `value` and, where they are known, `low`,
        `high`, `chance`, `ceiling`, `n`, `group`.
    metric
        What is drawn, without the part behind the @.
    ax
        Where to draw; a new figure unless given.

    Examples
    --------
    >>> sweep = {"method": ["cls"] * 2, "percentile": [95, 90], "value": [0.1, 0.3],
    ...          "chance": [0.04, 0.06]}
    >>> figure = create_iou_threshold_curves(sweep)
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['0.30 at 10%  cls', 'chance']
    """
    table = filled_table(sweep, "sweep", ("percentile", "value"))
    table = table.assign(x=100 - numbers(table, "percentile", "sweep"))
    parts = _parts(table, table.drop(columns="layer", errors="ignore"), "sweep")
    chosen, best = _best_points(parts, metric)
    texts = [
        f"{best[one.name][1]:.2f} at {best[one.name][0]:g}%  {one.label}" for one in chosen.lines
    ]
    legend = _Legend("Best value, method")
    with house_style():
        ax = _axes_beside(ax, texts, 5.0)
        seen = _draw_lines(ax, chosen, legend, texts)
        levels = np.unique(numbers(table, "x"))
        _references(ax, levels, chosen, legend)
        ax.set_xlabel("Selected pixels, the highest first (% of the image)")
        ax.set_xticks(levels, [f"{one:g}" for one in levels])
        beyond = _score_axis(ax, metric, chosen)
        legend_beside(ax, legend.handles, legend.texts, legend.head)
        bands = "bands: 95% intervals" if seen else ""
        notes = _sentence(_images_of(chosen), bands, *chosen.notes, beyond)
        title(ax, f"{metric} by threshold", f"{notes}." if notes else "")
        return figure_of(ax)


def _best_points(
    parts: Mapping[str, pd.DataFrame], metric: str | None
) -> tuple[Chosen, dict[str, tuple[float, float]]]:
    """Return the lines and, for each, where it is best and how good it is there."""
    lower = direction(metric) == "lower"
    best: dict[str, tuple[float, float]] = {}
    for name, rows in parts.items():
        value, x = numbers(rows, "value"), numbers(rows, "x")
        if np.isfinite(value).any():
            place = int(np.nanargmin(value) if lower else np.nanargmax(value))
            best[name] = (float(x[place]), float(value[place]))
    scores = {name: value for name, (_, value) in best.items()}
    return choose_lines(parts, scores, lower=lower), best


def _references(ax: Axes, levels: NDArray[np.float64], chosen: Chosen, legend: _Legend) -> None:
    """Draw chance and ceiling, means over the lines, where the table has them."""
    for column, style in (("chance", _CHANCE), ("ceiling", _CEILING)):
        value = _mean_at(levels, chosen.lines, column)
        if np.isfinite(value).any():
            (handle,) = ax.plot(levels, value, **style)
            beyond = column == "ceiling" and _is_far(chosen)
            legend.add(handle, f"ceiling, up to {np.nanmax(value):.2f}" if beyond else column)


def _all_of(chosen: Chosen, *columns: str) -> NDArray[np.float64]:
    """Return the known values of columns of all lines."""
    values = np.concatenate([collect_column(chosen.lines, column) for column in columns])
    return np.asarray(values[np.isfinite(values)], np.float64)


def _collect_held(chosen: Chosen) -> NDArray[np.float64]:
    """Return what the y axis must hold: values with an interval, or all where none has one."""
    held = select_axis_values(
        *(collect_column(chosen.lines, one) for one in ("value", "low", "high"))
    )
    return np.concatenate([held, _all_of(chosen, "low", "high", "chance")])


def _is_far(chosen: Chosen) -> bool:
    """Return whether the ceiling is so far above that lines would have no room below it."""
    values, ceiling = _collect_held(chosen), _all_of(chosen, "ceiling")
    if not len(values) or not len(ceiling):
        return False
    return bool(ceiling.max() > 1.5 * max(values.max(), 0.0))


def _score_axis(ax: Axes, metric: str | None, chosen: Chosen) -> str:
    """Set the limits of the y axis and return a note on values that it does not hold.

    It holds all but a far ceiling and values without an interval, and begins at 0 where no value
    is below.
    """
    values = _collect_held(chosen)
    far = _is_far(chosen)
    if not far:
        values = np.concatenate([values, _all_of(chosen, "ceiling")])
    beyond = ""
    if len(values):
        low, high = min(float(values.min()), 0.0), float(values.max())
        room = (0.2 if far else 0.05) * (high - low) or 0.05
        low, high = low - (room if low < 0 else 0), high + room
        ax.set_ylim(low, high)
        beyond = describe_beyond(_all_of(chosen, "value"), (low, high))
    ax.set_ylabel(metric or "Score", parse_math=False)
    ax.grid(axis="y", color="#EEEEEE", lw=0.6)
    return beyond


def _images_of(chosen: Chosen) -> str:
    return counts_words(n for line in chosen.lines for n in numbers(line.rows, "n").tolist())


# --- energy --------------------------------------------------------------------------------------


def draw_cumulative_energy(curves: Table, *, ax: Axes | None = None) -> Figure:
    """Draw how much of a map's energy lies inside the annotation among its brightest pixels.

    Each line ends at the method's coverage, which is the energy-based pointing game.

    Parameters
    ----------
    curves
        A row for each line and point: columns that name the line, `x` (share of pixels, the
        brightest first), `value` (share of the map's whole energy that lies among these pixels and
        inside the annotation, mean over images) and, where they are known, `low`, `high`, `total`
        (share that lies among these pixels, inside or not), `chance` (annotated share times x),
        `n`, `group`.
    ax
        Where to draw; a new figure unless given.

    Examples
    --------
    >>> curves = {"method": ["cls"] * 3, "x": [0, 0.5, 1], "value": [0, 0.3, 0.4],
    ...           "chance": [0, 0.1, 0.2]}
    >>> figure = draw_cumulative_energy(curves)
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['0.40  cls', '0.20  a uniform map']
    """
    table = filled_table(curves, "curves", ("x", "value"))
    table = table.assign(x=numbers(table, "x", "curves"))
    parts = _parts(table, table, "curves")
    chosen = choose_lines(parts, {name: _last(rows, "value") for name, rows in parts.items()})
    texts = [
        f"{_bracket(line.score, _last(line.rows, 'low'), _last(line.rows, 'high'))}  {line.label}"
        for line in chosen.lines
    ]
    legend = _Legend("Coverage, method")
    with house_style():
        ax = _axes_beside(ax, [*texts, "0.00  a uniform map"], 5.0)
        seen = _draw_lines(ax, chosen, legend, texts)
        whole = _totals(ax, chosen)
        levels = np.unique(numbers(table, "x"))
        level = _mean_at(levels, chosen.lines, "chance")
        if np.isfinite(level).any():
            (handle,) = ax.plot(levels, level, **_CHANCE)
            legend.add(handle, f"{level[np.isfinite(level)][-1]:.2f}  a uniform map")
        beyond = _energy_axes(ax, chosen, level, totals=bool(whole))
        if legend.handles:
            legend_beside(ax, legend.handles, legend.texts, legend.head)
        ends = "brackets, bands: 95% intervals" if seen else ""
        notes = _sentence(_images_of(chosen), ends, whole, *chosen.notes, beyond)
        title(ax, "Energy inside the annotation", f"{notes}." if notes else "")
        return figure_of(ax)


def _last(rows: pd.DataFrame, column: str) -> float:
    """Return the value at the largest x."""
    return float(numbers(rows, column)[-1])


def _totals(ax: Axes, chosen: Chosen) -> str:
    """Draw the energy anywhere as faint lines, unless there are many; return what notes say."""
    known = [line for line in chosen.lines if np.isfinite(numbers(line.rows, "total")).any()]
    if not known or len(chosen.lines) > 3:
        return ""
    for line in known:
        x, total = numbers(line.rows, "x"), numbers(line.rows, "total")
        ax.plot(x, total, color=line.look.colour, lw=0.9, ls=(0, (1, 2)), zorder=1)
    return "faint dots: energy inside or not"


def _energy_axes(ax: Axes, chosen: Chosen, level: NDArray[np.float64], *, totals: bool) -> str:
    """Set the limits of both axes and return a note on values that they do not hold."""
    value, low, high = (collect_column(chosen.lines, one) for one in ("value", "low", "high"))
    drawn = [value, collect_column(chosen.lines, "total")] if totals else [value]
    held = np.concatenate([*(select_axis_values(one, low, high) for one in drawn), high, level])
    top = max(float(np.nanmax(held, initial=0)) * 1.05, 0.05)
    ax.set_xlim(-0.01, 1.02)
    ax.set_ylim(0, top)
    ax.set_xticks(np.linspace(0, 1, 6), [f"{one:g}" for one in range(0, 101, 20)])
    ax.set_xlabel("Pixels, the brightest first (% of the image)")
    ax.set_ylabel("Share of the map's energy")
    ax.grid(color="#EEEEEE", lw=0.6)
    return describe_beyond(value, (0, top))


# --- layers --------------------------------------------------------------------------------------


def draw_layer_progression(
    table: Table, *, metric: str | None = None, ax: Axes | None = None
) -> Figure:
    """Draw a score of each method over the layers of its model.

    Methods without layers are marks in a strip on the right, baselines among them with a thin line
    across.

    Parameters
    ----------
    table
        As `Results.layer_progression` gives it: columns that name the line, `layer` (missing for
        methods without), `value` and, where they are known, `low`, `high`, `chance`, `ceiling`,
        `n`, `group`.
    metric
        What is drawn, as ``metric[@threshold]``; ``table.attrs["metric"]`` unless given.
    ax
        Where to draw; a new figure unless given.

    Examples
    --------
    >>> table = {"method": ["cls", "cls", "edge"], "layer": [0, 1, None], "value": [0.1, 0.3, 0.2],
    ...          "group": ["attention", "attention", "baseline"]}
    >>> figure = draw_layer_progression(table, metric="iou@90")
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['0.30 at layer 1*  cls', '0.20  edge']
    """
    rows = filled_table(table, "table", ("layer", "value"))
    metric = metric or rows.attrs.get("metric")
    rows = rows.assign(x=numbers(rows, "layer", "table"))
    rows = rows.drop(columns="layer")  # it is the axis, and names no line
    parts = _parts(rows, rows, "table")
    chosen, best = _best_points(parts, metric)
    texts = [_layer_text(line, *best[line.name]) for line in chosen.lines]
    legend = _Legend("Best value, method")
    with house_style():
        ax = _axes_beside(ax, texts, 5.4)
        layers = np.unique(numbers(rows, "x")[np.isfinite(numbers(rows, "x"))])
        seen = _draw_layers(ax, chosen, layers, legend, texts)
        _level_references(ax, chosen, legend)
        _layer_axis(ax, layers)
        beyond = _score_axis(ax, metric, chosen)
        legend_beside(ax, legend.handles, legend.texts, legend.head)
        notes = _sentence(
            _images_of(chosen),
            "bands: 95% intervals" if seen else "",
            format_selection(_describe_peak(line) for line in chosen.lines),
            *chosen.notes,
            beyond,
        )
        title(ax, f"{metric or 'Score'} by layer", f"{notes}." if notes else "")
        return figure_of(ax)


def _layer_text(line: Line, layer: float, value: float) -> str:
    star = "*" if _describe_peak(line) else ""
    at = f" at layer {layer:g}{star}" if np.isfinite(layer) else ""
    return f"{value:.2f}{at}  {line.label}"


def _describe_peak(line: Line) -> str:
    """Return how the layer in the legend was chosen; empty where there is one alone."""
    values, layers = numbers(line.rows, "value"), numbers(line.rows, "x")
    count = len(set(layers[np.isfinite(values) & np.isfinite(layers)].tolist()))
    return f"best of {count} layers on the same images" if count > 1 else ""


def _draw_layers(
    ax: Axes, chosen: Chosen, layers: NDArray[np.float64], legend: _Legend, texts: list[str]
) -> bool:
    """Draw lines over layers, and marks for those without; say whether there are intervals."""
    alpha = 0.18 if len(chosen.lines) <= _CLOUDY else 0.07
    end = float(layers[-1]) if len(layers) else -1.0
    flat = [line for line in chosen.lines if not np.isfinite(numbers(line.rows, "x")).any()]
    places = dict(zip((one.name for one in flat), _strip(end, len(flat)), strict=True))
    seen = False
    for line, text in zip(chosen.lines, texts, strict=True):
        x, value, low, high = (numbers(line.rows, one) for one in ("x", "value", "low", "high"))
        if line.name in places:
            x = np.full(len(value), places[line.name])
            seen |= bars(ax, x, low, high, line.look)
            if line.look.baseline and len(layers):
                ax.plot([layers[0], x[0]], [value[0]] * 2, color=GREY, lw=0.6, alpha=0.7, zorder=1)
        else:
            seen |= band(ax, x, low, high, line.look, alpha=alpha)
        depth = 2 if line.look.baseline else 3
        (handle,) = ax.plot(x, value, **line.look.line, zorder=depth)
        legend.add(handle, text)
    if flat and len(layers):
        ax.axvline(end + 0.5, color="#DDDDDD", lw=0.8, zorder=0)
    return seen


def _strip(end: float, count: int) -> NDArray[np.float64]:
    """Return places for marks of methods without layers, to the right of the last layer."""
    return np.asarray(end + 1 + 0.45 * np.arange(count), np.float64)


def _level_references(ax: Axes, chosen: Chosen, legend: _Legend) -> None:
    """Draw chance and ceiling across, means over lines and layers."""
    for column, style in (("chance", _CHANCE), ("ceiling", _CEILING)):
        values = _all_of(chosen, column)
        if len(values):
            level = float(values.mean())
            beyond = column == "ceiling" and _is_far(chosen)
            text = f"{level:.2f}  {column}{', beyond the axis' if beyond else ''}"
            legend.add(ax.axhline(level, **style), text)


def _layer_axis(ax: Axes, layers: NDArray[np.float64]) -> None:
    """Tick every layer, or every second, third… of many; name the strip of those without."""
    step = max(1, -(-len(layers) // 14))
    ticks = layers[::step].tolist()
    texts = [f"{one:g}" for one in ticks]
    beyond = float(ax.dataLim.x1) > (layers[-1] if len(layers) else -np.inf) + 0.5
    if beyond:
        first = (layers[-1] if len(layers) else -1.0) + 1
        middle = (first + float(ax.dataLim.x1)) / 2
        ticks, texts = [*ticks, middle], [*texts, "none"]
    ax.set_xticks(ticks, texts)
    ax.set_xlim(float(ax.dataLim.x0) - 0.4, float(ax.dataLim.x1) + 0.4)
    ax.set_xlabel("Layer, the first one 0" + ("; none: methods without layers" if beyond else ""))


# --- cards ---------------------------------------------------------------------------------------

CARDS = (
    FigureCard(
        name="roc",
        title="ROC curves",
        function=create_roc_curve_comparison,
        file="roc_curves",
        group="curves",
        shows="True positive rate over false positive rate of pixels for each method, mean over "
        "images; the dashed diagonal is a random ranking.",
        reading="The area under a line is the chance that an annotated pixel ranks above another: "
        "0.5 knows nothing. With small annotations even a high area leaves most bright pixels "
        "outside: read the precision–recall curves as well.",
        needs="Mean ROC curves; AUCs with intervals for the legend.",
    ),
    FigureCard(
        name="pr",
        title="Precision–recall curves",
        function=create_pr_curve_comparison,
        file="pr_curves",
        group="curves",
        shows="Precision over recall of annotated pixels for each method, mean over images; the "
        "dashed line is a map without information (a constant one), the annotated share; a random "
        "ranking of few cells gets a little more.",
        reading="The left end says how clean the brightest pixels are, the right end how much has "
        "to be taken in to find all. Compare with the dashed line: it moves with the data.",
        needs="Mean precision–recall curves; average precisions with intervals, and the annotated "
        "share.",
    ),
    FigureCard(
        name="thresholds",
        title="Scores over thresholds",
        function=create_iou_threshold_curves,
        file="iou_threshold_curves",
        group="curves",
        shows="IoU, or another score with thresholds, over the share of pixels that is selected, "
        "with bands for intervals, chance (dashed) and the largest value possible (dotted).",
        reading="A line that stays on top does so at every threshold. A peak on the left means "
        "few, well placed pixels; on the right, a diffuse map. Values at different thresholds have "
        "different chances and ceilings.",
        needs="A sweep over percentiles.",
    ),
    FigureCard(
        name="energy-curves",
        title="Cumulative energy",
        function=draw_cumulative_energy,
        file="cumulative_energy",
        group="curves",
        shows="The share of a map's energy that lies inside the annotation, among its brightest "
        "pixels, for each method; each line ends at the coverage. Dashed: a uniform map.",
        reading="A line that rises at once has its energy in few pixels inside. Two methods with "
        "the same end can get there by a few bright pixels or by a glow over everything.",
        needs="Maps and annotations, or curves made of them.",
    ),
    FigureCard(
        name="layers",
        title="Scores over layers",
        function=draw_layer_progression,
        file="layer_progression",
        group="curves",
        shows="The score of each method at each layer with bands for intervals, chance (dashed) "
        "and ceiling (dotted); methods without layers stand in a strip on the right.",
        reading="A peak (*) was chosen on the same images: the best of many layers looks better "
        "than it is. Layers of different models are not the same depth.",
        needs="Scores of several layers.",
    ),
)
