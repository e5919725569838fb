"""Pixels taken away or put back, the highest of a map first: curves, and the area under each.

It draws on the axes it is given, or makes a figure of a fitting size; either way the figure is
returned. `sightline.figures.save` writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError, UnknownNameError
from sightline.figures._score_plots import (
    BEYOND_AXIS,
    describe_beyond,
    find_dot_limits,
    place_dot,
    select_axis_values,
)
from sightline.figures.card import FigureCard
from sightline.figures.lines import (
    Line,
    choose_lines,
    counts_words,
    filled_table,
    line_names,
    numbers,
    rows_of_lines,
)
from sightline.figures.panels import band, bars, text_inches
from sightline.figures.style import (
    BLACK,
    GREY,
    axes_for,
    figure_of,
    house_style,
    new_figure,
    title,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sightline.figures.lines import Chosen, Table

__all__ = ["draw_removal_curves"]

_LINES = 18
_BANDS = 4  # methods beyond which bands would hide each other
_FEW = 10  # images below which bands would fill the panel
_NAME = 40
_GRID = "#EEEEEE"
_RANDOM: dict[str, Any] = {"color": BLACK, "lw": 1.1, "ls": (0, (5, 2.5)), "zorder": 1}


class _Measure(NamedTuple):
    """What a panel shows."""

    head: str
    across: str
    lower: bool


_MEASURES = {
    "deletion": _Measure("Deletion", "Pixels removed, highest first", True),
    "insertion": _Measure("Insertion", "Pixels shown, highest first", False),
    "road_morf": _Measure("ROAD, highest first", "Pixels imputed, highest first", True),
    "road_lerf": _Measure("ROAD, lowest first", "Pixels imputed, lowest first", False),
    "pixel_flipping": _Measure("Pixel flipping", "Patches flipped, highest first", True),
}


def draw_removal_curves(
    curves: Table, areas: Table | None = None, *, axes: Sequence[Axes] | None = None
) -> Figure:
    """Draw what becomes of a class's score while pixels go in the order that a map gives them.

    Above a panel for each measure: the mean curve of each line; of up to four methods and on ten
    images or more with its interval, baselines without. Below it the area under the curve of each
    line with its interval, the random map's dashed; ‡ marks those that are not shown to be better
    than it. The names on the left hold for all panels.

    Parameters
    ----------
    curves
        A row for each measure, line and point: columns that name the line, `measure` ("deletion",
        "insertion", "road_morf", "road_lerf", "pixel_flipping"), `share` (of the pixels that were
        changed), `value` (mean score of the class) and, where they are known, `low`, `high`, `n`,
        `group`.
    areas
        A row for each measure and line: the columns that name the line, `measure`, `value` and,
        where they are known, `low`, `high`, `random` (that of the random map), `difference_low`,
        `difference_high` (to it, image by image). Computed from the curves, without intervals,
        unless given.
    axes
        Two for each measure: those of the curves, then those of the areas. A new figure unless
        given.

    Examples
    --------
    >>> curves = {"method": ["cls"] * 2 + ["random"] * 2, "measure": ["deletion"] * 4,
    ...           "share": [0, 1] * 2, "value": [0.9, 0.1, 0.9, 0.3]}
    >>> figure = draw_removal_curves(curves)
    >>> [text.get_text() for text in figure.axes[1].get_yticklabels()]
    ['cls', 'random']
    """
    rows = _curves(curves)
    measures = [one for one in _MEASURES if one in set(rows["measure"])]
    ends = _areas(rows) if areas is None else _rows(areas, "areas", ("measure", "value"))
    ends = ends.assign(line=line_names(ends, "areas"))
    chosen = _chosen(rows, ends, measures[0])
    with house_style():
        above, below = _places(axes, len(measures), chosen.lines)
        beyond = []
        for place, measure in enumerate(measures):
            curve_rows = rows[rows["measure"] == measure]
            beyond.append(_draw_curves(above[place], curve_rows, chosen, measure))
            above[place].set_ylabel("" if place else "Score of the class")
            _draw_areas(below[place], ends[ends["measure"] == measure], chosen, named=place == 0)
        figure = figure_of(above[0])
        figure.draw_without_rendering()  # how wide panels are is known from here on
        for place, measure in enumerate(measures):
            told = _curve_notes(rows, chosen) if place == 0 else _better(measure)
            told += f"; {beyond[place]}" if beyond[place] else ""
            title(above[place], _MEASURES[measure].head, told, lines=_note_lines(len(measures)))
        title(below[0], "Area under the curve", _area_notes(ends, measures, chosen))
        return figure


def _rows(given: Table, what: str, needed: Sequence[str]) -> pd.DataFrame:
    """Return a table that has these columns, a row, and measures that are known."""
    table = filled_table(given, what, needed)
    for one in dict.fromkeys(table["measure"]):
        if one not in _MEASURES:
            known = ", ".join(_MEASURES)
            raise UnknownNameError(f"{what}: measure must be one of {known}; got {one!r}")
    return table


def _curves(given: Table) -> pd.DataFrame:
    table = _rows(given, "curves", ("measure", "share", "value"))
    share = numbers(table, "share", "curves")
    outside = ~((share >= 0) & (share <= 1))
    if outside.any():
        raise InputError(f"curves: share must lie in 0 to 1; got {share[outside][0]:g}")
    named = table.assign(line=line_names(table, "curves"), share=share)
    return named.assign(value=numbers(table, "value", "curves"))


def _areas(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the area under each curve, the mean height over its shares."""
    import pandas as pd

    found = []
    for (measure, name), one in rows.groupby(["measure", "line"], sort=False):
        one = one.sort_values("share")
        x, y = one["share"].to_numpy(), one["value"].to_numpy()
        wide = x[-1] - x[0]
        area = float(np.trapezoid(y, x) / wide) if wide > 0 else np.nan
        found.append({"measure": measure, "name": name, "value": area})
    table = pd.DataFrame(found)
    blind = table[table["name"] == "random"].set_index("measure")["value"]
    return table.assign(random=table["measure"].map(blind))


def _chosen(rows: pd.DataFrame, areas: pd.DataFrame, measure: str) -> Chosen:
    """Return the lines, the best by the first measure on top."""
    parts = rows_of_lines(rows, rows["line"].tolist())
    first = areas[areas["measure"] == measure]
    scores = dict(zip(first["line"], numbers(first, "value", "areas").tolist(), strict=True))
    for name in parts:  # of a line that the first measure lacks, it stands last
        if not np.isfinite(scores.get(name, np.nan)):
            known = np.isfinite(parts[name]["value"]).any()
            scores[name] = np.inf * (1 if _MEASURES[measure].lower else -1) if known else np.nan
    finite = {name: float(np.clip(one, -1e300, 1e300)) for name, one in scores.items()}
    return choose_lines(parts, finite, lower=_MEASURES[measure].lower, most=_LINES, longest=_NAME)


def _places(
    axes: Sequence[Axes] | None, count: int, lines: Sequence[Line]
) -> tuple[list[Axes], list[Axes]]:
    """Return the axes of curves and of areas."""
    if axes is not None:
        given = [axes_for(ax, 3, 3) for ax in axes]
        if len(given) != 2 * count:
            raise InputError(f"axes must be {2 * count}, two for each measure; got {len(given)}")
        return given[:count], given[count:]
    label = text_inches(line.label for line in lines)
    high = max(0.2 * len(lines), 0.7)
    wide = 2.55 if count > 1 else 4.2
    figure = new_figure(wide * count + label + 0.9, 2.6 + high + 2.1)
    grid = figure.add_gridspec(2, count, height_ratios=[2.6, high])
    above = [figure.add_subplot(grid[0, place]) for place in range(count)]
    return above, [figure.add_subplot(grid[1, place]) for place in range(count)]


def _draw_curves(ax: Axes, rows: pd.DataFrame, chosen: Chosen, measure: str) -> str:
    """Draw the curve of each line and return a note on values that the axis does not hold."""
    parts = rows_of_lines(rows, rows["line"].tolist())
    banded = _has_bands(rows, chosen)
    for place, line in enumerate(chosen.lines):
        if line.name not in parts:
            continue
        one = parts[line.name].sort_values("share", kind="stable")
        x, value, low, high = (numbers(one, name) for name in ("share", "value", "low", "high"))
        if banded and not line.look.baseline:
            band(ax, x, low, high, line.look, alpha=0.12)
        every = max(len(x) // 5, 1)  # marks of lines stand beside each other
        ax.plot(x, value, **line.look.line, markevery=(place % every, every),
                zorder=2 if line.look.baseline else 3)  # fmt: skip
    ax.set_xlim(-0.02, 1.02)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    ax.set_xlabel(_MEASURES[measure].across)
    ax.grid(color=_GRID, lw=0.6)
    return _limit_curves(ax, rows, [line for line in chosen.lines if line.name in parts], banded)


def _limit_curves(ax: Axes, rows: pd.DataFrame, lines: Sequence[Line], banded: bool) -> str:
    """Let the y axis hold curves with intervals, all if none has; return a note on the others."""
    drawn = rows[rows["line"].isin([line.name for line in lines])]
    value, low, high = (numbers(drawn, name) for name in ("value", "low", "high"))
    with_band = banded & ~drawn["line"].isin([one.name for one in lines if one.look.baseline])
    held = [select_axis_values(value, low, high), low[with_band], high[with_band]]
    ends = np.concatenate(held)
    ends = ends[np.isfinite(ends)]
    if len(ends):
        ax.dataLim.intervaly = (ends.min(), ends.max())
        ax.autoscale_view(scalex=False)
    return describe_beyond(value, ax.get_ylim())


def _draw_areas(ax: Axes, rows: pd.DataFrame, chosen: Chosen, *, named: bool) -> None:
    """Draw the area of each line in its row, the random map's as a dashed line."""
    by_line = {
        name: one.iloc[0] for name, one in rows_of_lines(rows, rows["line"].tolist()).items()
    }
    blind = numbers(rows, "random", "areas")
    if np.isfinite(blind).any():
        ax.axvline(float(blind[np.isfinite(blind)].mean()), **_RANDOM)
    least, most = _find_area_limits(rows)
    for place, line in enumerate(chosen.lines):
        row = by_line.get(line.name)
        value = np.nan if row is None else _number(row, "value")
        if not np.isfinite(value):
            ax.annotate("–", (0.5, place), xycoords=("axes fraction", "data"), va="center",
                        ha="center", color=GREY, fontsize=8)  # fmt: skip
            continue
        bars(ax, [place], [_number(row, "low")], [_number(row, "high")], line.look, across=True)
        end, point = place_dot(value, (least, most), line.look.point)
        ax.plot([end], [place], ls="none", **point, zorder=3)
        if row is not None and _doubtful(row, line):
            ax.annotate("‡", (1, place), (2, 0), xycoords=("axes fraction", "data"), color=GREY,
                        textcoords="offset points", va="center", fontsize=7.5,
                        annotation_clip=False)  # fmt: skip
    labels = [line.label if named else "" for line in chosen.lines]
    ax.set_yticks(np.arange(len(labels)), labels, fontsize=8, parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.locator_params(axis="x", nbins=4)
    ax.grid(axis="x", color=_GRID, lw=0.6)


def _find_area_limits(rows: pd.DataFrame) -> tuple[float, float]:
    return find_dot_limits(*(numbers(rows, name, "areas") for name in ("low", "high", "random")))


def _number(row: Any, column: str) -> float:
    value = row.get(column, np.nan)
    return np.nan if value is None else float(value)


def _doubtful(row: Any, line: Line) -> bool:
    """Say whether an area is not shown to be better than the random map's."""
    low, high = _number(row, "difference_low"), _number(row, "difference_high")
    if not (np.isfinite(low) and np.isfinite(high)) or line.name.split()[-1] == "random":
        return False
    return bool(high >= 0 if _MEASURES[row["measure"]].lower else low <= 0)


def _better(measure: str) -> str:
    return "lower is better" if _MEASURES[measure].lower else "higher is better"


def _note_lines(count: int) -> int:
    return 2 if count > 1 else 0


def _curve_notes(rows: pd.DataFrame, chosen: Chosen) -> str:
    """Say what is drawn; the first panel speaks for all."""
    first = next(one for one in _MEASURES if one in set(rows["measure"]))
    images = counts_words(numbers(rows, "n", "curves").tolist())
    bands = "bands: 95% intervals of methods" if _has_bands(rows, chosen) else ""
    parts = (_better(first), images, bands, *chosen.notes)
    return "; ".join(part for part in parts if part)


def _has_bands(rows: pd.DataFrame, chosen: Chosen) -> bool:
    methods = sum(not line.look.baseline for line in chosen.lines)
    few = bool((numbers(rows, "n") < _FEW).any())
    return methods <= _BANDS and not few and bool(np.isfinite(numbers(rows, "low")).any())


def _area_notes(areas: pd.DataFrame, measures: Sequence[str], chosen: Chosen) -> str:
    ends = "bars: 95% intervals" if np.isfinite(numbers(areas, "low")).any() else ""
    spans = ((rows, _find_area_limits(rows)) for _, rows in areas.groupby("measure"))
    outside = any(
        ((numbers(rows, "value") < least) | (numbers(rows, "value") > most)).any()
        for rows, (least, most) in spans
    )
    beyond = f"arrows: {BEYOND_AXIS}" if outside else ""
    blind = "dashed: the random map" if np.isfinite(numbers(areas, "random")).any() else ""
    order = f"sorted by {_MEASURES[measures[0]].head.lower()}" if len(measures) > 1 else ""
    by_name = {line.name: line for line in chosen.lines}
    some = any(
        row["line"] in by_name and _doubtful(row, by_name[row["line"]])
        for _, row in areas.iterrows()
    )
    doubt = "‡: not shown to be better than it" if some else ""
    return "; ".join(part for part in (ends, beyond, blind, doubt, order) if part)


CARDS = (
    FigureCard(
        name="removal-curves",
        title="Insertion, deletion and ROAD",
        function=draw_removal_curves,
        file="removal_curves",
        group="checks",
        shows="Above: the score of the explained class while pixels are removed, shown or imputed "
        "in the order of the map, a panel for each measure. Below: the area under each curve with "
        "its interval, baselines in grey, the random map's area dashed.",
        reading="A map that points to what the model uses makes the score fall fast when its "
        "highest pixels go, and rise fast when they come. Read each panel against the random map "
        "and the baselines: images without pixels look like nothing the model has seen, and the "
        "shape of what is removed alone moves the score. ROAD fills holes in to make that less. "
        "Scores of different models cannot be compared.",
        needs="Curves and areas of a faithfulness check.",
        unselected="It shows what a check measures, by which no layer was chosen.",
    ),
)
