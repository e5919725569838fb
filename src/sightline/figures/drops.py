"""How much a score drops when pixels are changed where a map is high, where it is low, or all.

It draws on the axes it is given, or makes a figure of a fitting size; either way the figure is
returned. `sightline.figures.save` writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.figures._score_plots import BEYOND_AXIS, find_dot_limits, one_sentence, place_dot
from sightline.figures.card import FigureCard
from sightline.figures.lines import Look, counts_words, filled_table, numbers, short_names
from sightline.figures.panels import bars, legend_beside, name_rows, shifts, text_inches
from sightline.figures.style import BLACK, COLOURS, GREY, axes_for, figure_of, house_style, title

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sightline.figures.lines import Table

__all__ = ["draw_perturbation_drops"]

_KINDS = {
    "focused": ("where the map is high", Look(COLOURS["blue"], "-", "o")),
    "dual": ("where it is low", Look(COLOURS["vermillion"], "-", "s", True)),
    "global": ("everywhere", Look(GREY, "-", "^")),
}
_MOST_CHANGES = 40


def draw_perturbation_drops(table: Table, *, ax: Axes | None = None) -> Figure:
    """Draw how much a score drops when pixels are changed where a map is high, low, or everywhere.

    Parameters
    ----------
    table
        A row for each change and place: `perturbation` (its name), `kind` ("focused": where the map
        is high, "dual": where it is low, "global": everywhere), `value` (mean drop of the score)
        and, where they are known, `low`, `high`, `n`.
    ax
        Where to draw; a new figure unless given.

    Examples
    --------
    >>> table = {"perturbation": ["blur", "blur"], "kind": ["focused", "dual"],
    ...          "value": [0.4, 0.1]}
    >>> figure = draw_perturbation_drops(table)
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['where the map is high', 'where it is low']
    """
    rows = filled_table(table, "table", ("perturbation", "kind", "value"))
    _check_kinds(rows)
    names, undefined, rest = _changes(rows)
    kinds = [kind for kind in _KINDS if kind in set(rows["kind"])]
    with house_style():
        labels = short_names(names, 40)
        wide = 4.6 + text_inches(labels.values())
        ax = axes_for(ax, wide + 1.9, 1.7 + max(len(names) * (0.12 + 0.11 * len(kinds)), 0.9))
        ax.axvline(0, color=BLACK, lw=1, zorder=1)
        handles, seen = [], False
        drawn = rows[rows["perturbation"].astype(str).isin(names)]
        limits = find_dot_limits(numbers(drawn, "low"), numbers(drawn, "high"), np.zeros(1))
        value = numbers(drawn, "value")
        beyond = ((value < limits[0]) | (value > limits[1])).any()
        for shift, kind in zip(shifts(len(kinds), 0.22), kinds, strict=True):
            part = rows[rows["kind"] == kind].set_index(
                rows[rows["kind"] == kind]["perturbation"].astype(str)
            )
            handle, some = _drops(ax, part.reindex(names), _KINDS[kind][1], shift, limits)
            handles.append(handle)
            seen |= some
        name_rows(ax, [labels[name] for name in names])
        ax.set_xlabel("Drop of the score")
        legend_beside(ax, handles, [_KINDS[kind][0] for kind in kinds], "Changed")
        undefined_note = f"{undefined} undefined not drawn" if undefined else ""
        more = f"{rest} smaller not drawn" if rest else ""
        ends = "bars: 95% intervals" if seen else ""
        arrows = f"arrows: {BEYOND_AXIS}" if beyond else ""
        count = counts_words(numbers(rows, "n", "table").tolist())
        notes = one_sentence(count, ends, arrows, undefined_note, more)
        title(ax, "What changed pixels cost", notes)
        return figure_of(ax)


def _check_kinds(rows: pd.DataFrame) -> None:
    if unknown := [one for one in rows["kind"] if one not in _KINDS]:
        raise InputError(f"kind must be one of {', '.join(_KINDS)}; got {unknown[0]!r}")
    twice = rows.duplicated(["perturbation", "kind"])
    if twice.any():
        one = rows[twice].iloc[0]
        told = f"{one['perturbation']!r} has several of {one['kind']!r}"
        raise InputError(f"table must have one row for each perturbation and kind; {told}")


def _changes(rows: pd.DataFrame) -> tuple[list[str], int, int]:
    """Return the changes to draw, the largest drop first, and how many rows and changes are not."""
    values = numbers(rows, "value", "table")
    best: dict[str, tuple[int, float]] = {}
    for name, kind, value in zip(rows["perturbation"], rows["kind"], values.tolist(), strict=True):
        if np.isfinite(value):
            place = (list(_KINDS).index(kind), -value)
            best[str(name)] = min(best.get(str(name), place), place)
    names = sorted(best, key=lambda name: best[name])
    return names[:_MOST_CHANGES], int((~np.isfinite(values)).sum()), len(names[_MOST_CHANGES:])


def _drops(
    ax: Axes, part: pd.DataFrame, look: Look, shift: float, limits: tuple[float, float]
) -> tuple[Any, bool]:
    """Draw one kind of change in all rows; return its handle and whether it has intervals."""
    value, low, high = (numbers(part, one) for one in ("value", "low", "high"))
    place = np.arange(len(part)) + shift
    known = np.isfinite(value)
    seen = bars(ax, place[known], low[known], high[known], look, across=True)
    inside = (value >= limits[0]) & (value <= limits[1])
    (handle,) = ax.plot(value[inside], place[inside], ls="none", **look.point, zorder=3)
    for row in np.flatnonzero(known & ~inside):
        end, point = place_dot(value[row], limits, look.point)
        ax.plot([end], [place[row]], ls="none", **point, zorder=3)
    return handle, seen


CARDS = (
    FigureCard(
        name="perturbation-drops",
        title="What changed pixels cost",
        function=draw_perturbation_drops,
        file="perturbation_drops",
        group="prototypes",
        shows="The mean drop of a score when pixels are changed where the map is high, where it "
        "is low, or everywhere, with intervals.",
        reading="A map points to what matters for a change if changing where it is high costs "
        "more than changing where it is low. Compare places within one change only: changes differ "
        "in strength.",
        needs="Drops of a score under changes, as of a benchmark of prototypes.",
        unselected="Prototypes have no layers to choose among.",
    ),
)
