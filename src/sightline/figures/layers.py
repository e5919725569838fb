"""How maps change from layer to layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sightline.core import InputError
from sightline.figures._score_plots import collect_column, describe_beyond, select_axis_values
from sightline.figures.card import FigureCard
from sightline.figures.lines import (
    choose_lines,
    counts_words,
    filled_table,
    line_names,
    numbers,
    rows_of_lines,
)
from sightline.figures.panels import bars, legend_beside, text_inches
from sightline.figures.style import BLACK, axes_for, figure_of, house_style, title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sightline.figures.lines import Chosen, Table

__all__ = ["draw_layer_changes"]

_TICKS = 26  # steps that are named; of more, every other


def draw_layer_changes(table: Table, *, ax: Axes | None = None) -> Figure:
    """Draw how like the maps of neighbouring layers are, along the layers of each method.

    Parameters
    ----------
    table
        A row for each line and step: columns that name the line (the layer is not one of them),
        `layer`, `next` (the two layers), `value` (Spearman's correlation of their maps of the same
        image, mean over images) and, where they are known, `low`, `high`, `n`, `group`.
    ax
        Where to draw; a new figure unless given.

    Examples
    --------
    >>> table = {"method": ["cls"] * 2, "layer": [0, 1], "next": [1, 2], "value": [0.4, 0.8]}
    >>> figure = draw_layer_changes(table)
    >>> [text.get_text() for text in figure.axes[0].get_xticklabels()]
    ['0→1', '1→2']
    """
    rows = _rows(table)
    steps = sorted(set(zip(rows["layer"], rows["next"], strict=True)))
    chosen = _chosen(rows, steps)
    texts = [f"{round(line.score, 2) + 0.0:.2f}  {line.label}" for line in chosen.lines]
    with house_style():
        wide = min(max(4.6, 0.42 * len(steps) + 1), 11)
        high = max(4.2, 1.9 + 0.165 * len(texts))
        ax = axes_for(ax, wide + 1.4 + text_inches(texts), high)
        handles, seen = [], False
        for line in chosen.lines:
            x, value, low, end = (numbers(line.rows, one) for one in ("x", "value", "low", "high"))
            seen |= bars(ax, x, low, end, line.look)
            handles += ax.plot(x, value, **line.look.line, zorder=2 if line.look.baseline else 3)
        beyond = _draw_axes(ax, steps, chosen)
        legend_beside(ax, handles, texts, "Mean of all steps, method")
        notes = _notes(rows, chosen, beyond, bars_seen=seen)
        title(ax, "How maps change from layer to layer", notes)
        return figure_of(ax)


def _rows(given: Table) -> pd.DataFrame:
    table = filled_table(given, "table", ("layer", "next", "value"))
    parts = {name: numbers(table, name, "table") for name in ("layer", "next", "value")}
    for value in parts["value"][np.isfinite(parts["value"])].tolist():
        if not -1 - 1e-9 <= value <= 1 + 1e-9:
            raise InputError(f"correlations must lie in -1 to 1; got {value:g}")
    if not (np.isfinite(parts["layer"]) & np.isfinite(parts["next"])).all():
        raise InputError("table: columns 'layer' and 'next' must hold the numbers of layers")
    whole = {name: parts[name].astype(np.int64) for name in ("layer", "next")}
    return table.assign(value=parts["value"], **whole)


def _chosen(rows: pd.DataFrame, steps: list[tuple[int, int]]) -> Chosen:
    """Return the lines; those that change most first."""
    names = line_names(rows.drop(columns="layer"), "table")
    place = {step: x for x, step in enumerate(steps)}
    keys = zip(rows["layer"], rows["next"], strict=True)
    placed = rows.assign(x=[place[key] for key in keys])
    parts = {
        name: one.sort_values("x", kind="stable")
        for name, one in rows_of_lines(placed, names).items()
    }
    scores = {
        name: float(np.nanmean(one["value"])) if np.isfinite(one["value"]).any() else np.nan
        for name, one in parts.items()
    }
    return choose_lines(parts, scores, lower=True)


def _draw_axes(ax: Axes, steps: list[tuple[int, int]], chosen: Chosen) -> str:
    """Draw the axes and return a note on values that they do not hold."""
    ax.axhline(0, color=BLACK, lw=1.1, ls=(0, (5, 2.5)), zorder=1)
    value, low, high = (collect_column(chosen.lines, one) for one in ("value", "low", "high"))
    held = np.concatenate([select_axis_values(value, low, high), low[np.isfinite(high)]])
    ax.set_ylim(min(-0.08, np.nanmin(held, initial=0) - 0.05), 1.06)
    ax.set_xlim(-0.4, len(steps) - 0.6)
    every = -(-len(steps) // _TICKS)
    places = np.arange(0, len(steps), every)
    names = [f"{steps[i][0]}→{steps[i][1]}" for i in places]
    slanted = len(names) > 11
    ax.set_xticks(
        places, names, rotation=45 if slanted else 0, ha="right" if slanted else "center",
        rotation_mode="anchor",
    )  # fmt: skip
    ax.set_xlabel("From layer to layer")
    ax.set_ylabel("Spearman's ρ of the two maps")
    ax.grid(axis="y", color="#EEEEEE", lw=0.6)
    return describe_beyond(value, ax.get_ylim())


def _notes(rows: pd.DataFrame, chosen: Chosen, beyond: str, *, bars_seen: bool) -> str:
    images = counts_words(numbers(rows, "n", "table").tolist())
    ends = "bars: 95% intervals" if bars_seen else ""
    what = "1: the map stays the same; 0: no relation"
    return "; ".join(part for part in (images, ends, what, *chosen.notes, beyond) if part)


CARDS = (
    FigureCard(
        name="layer-changes",
        title="How maps change from layer to layer",
        function=draw_layer_changes,
        file="layer_changes",
        group="curves",
        shows="Spearman's correlation between a method's maps of one layer and of the next, mean "
        "over images, with intervals; a line for each method.",
        reading="Where a line is low, the layer shows something else than the one before. Layers "
        "that barely differ are not several findings. A line says nothing about which layer is "
        "right: see the scores by layer.",
        needs="Stored maps of several layers.",
        unselected="It shows every layer of each method.",
    ),
)
