"""Axes for figures of several panels, and what all of them share: legends, names, bars, boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.figures._score_plots import GRID
from sightline.figures.style import BLACK, GREY, axes_for, house_style, new_figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from sightline.figures.lines import Look

__all__ = [
    "BEYOND",
    "MEAN",
    "band",
    "bars",
    "cell_axes",
    "draw_box",
    "legend_beside",
    "name_rows",
    "panels",
    "share_axes",
    "shifts",
    "text_inches",
]

MEAN: dict[str, Any] = {"ls": "none", "marker": "D", "mfc": "white", "mec": BLACK}
"""How the mean of a box is marked."""
BEYOND: dict[str, Any] = {"ls": "none", "marker": "."}
"""How values beyond the whiskers of a box are marked."""


def panels(
    axes: Sequence[Axes] | None,
    count: int,
    *,
    size: tuple[float, float],
    columns: int | None = None,
) -> list[Axes]:
    """Return the axes of a figure's panels: those given, or new ones in rows.

    Parameters
    ----------
    axes
        As many as there are panels; a new figure unless given.
    count
        How many panels.
    size
        Width and height of the new figure, in inches.
    columns
        Panels in a row; all of them unless given.

    Examples
    --------
    >>> len(panels(None, 3, size=(9, 3)))
    3
    """
    if axes is not None:
        given = list(axes)
        if len(given) != count:
            raise InputError(f"axes must be {count}, one for each panel; got {len(given)}")
        return [axes_for(ax, *size) for ax in given]
    wide = min(columns or count, count)
    figure = new_figure(*size)
    rows = -(-count // wide)
    return [figure.add_subplot(rows, wide, place + 1) for place in range(count)]


def legend_beside(ax: Axes, handles: Sequence[Any], texts: Sequence[str], head: str = "") -> None:
    """Put a legend to the right of axes, where it covers nothing.

    Parameters
    ----------
    ax
        Beside which.
    handles, texts
        What is shown, and what it is called.
    head
        Over the legend.

    Examples
    --------
    >>> ax = new_figure(4, 3).add_subplot()
    >>> legend_beside(ax, ax.plot([0, 1]), ["rising"], "Lines")
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['rising']
    """
    found = ax.legend(
        list(handles),
        list(texts),
        title=head or None,
        loc="upper left",
        bbox_to_anchor=(1.02, 1),
        borderaxespad=0,
        alignment="left",
        title_fontsize=8,
        handlelength=2.6,
    )
    for text in found.get_texts():
        text.set_parse_math(False)


def text_inches(texts: Iterable[str], size: float = 8) -> float:
    """Return how wide the longest of some texts is, in inches.

    Parameters
    ----------
    texts
        Lines of text.
    size
        Of the letters, in points.

    Examples
    --------
    >>> text_inches([]), text_inches(["wide"]) > text_inches(["ill"])
    (0.0, True)
    """
    with house_style():
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import text_to_path

        font = FontProperties(size=size)
        found = [text_to_path.get_text_width_height_descent(text, font, False) for text in texts]
        return float(max((width for width, _, _ in found), default=0.0)) / 72


def share_axes(ax: Axes, across: str, up: str) -> None:
    """Let both axes run from 0 to 1.

    Parameters
    ----------
    ax
        Which.
    across, up
        What is called what.

    Examples
    --------
    >>> ax = new_figure(4, 3).add_subplot()
    >>> share_axes(ax, "Recall", "Precision")
    >>> ax.get_xlabel(), ax.get_xticks().tolist()
    ('Recall', [0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
    """
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.03), xlabel=across, ylabel=up)
    ticks = [0, 0.2, 0.4, 0.6, 0.8, 1]
    ax.set_xticks(ticks)
    ax.set_yticks(ticks)
    ax.grid(color=GRID, lw=0.6)


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Name the rows of axes from the top down, at 0, 1 and so on.

    Parameters
    ----------
    ax
        Which.
    names
        One for each row.

    Examples
    --------
    >>> ax = new_figure(4, 3).add_subplot()
    >>> name_rows(ax, ["first", "second"])
    >>> [text.get_text() for text in ax.get_yticklabels()], bool(ax.yaxis_inverted())
    (['first', 'second'], True)
    """
    ax.set_yticks(np.arange(len(names)), names, fontsize=8, parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(names) - 0.45, -0.55)
    ax.grid(axis="x", color=GRID, lw=0.6)


def cell_axes(
    ax: Axes,
    across: Sequence[str],
    down: Sequence[str],
    *,
    sizes: tuple[float, float] = (8, 8),
    turned: bool = True,
) -> None:
    """Name the columns and rows of a matrix of cells, and part the cells by white lines.

    Parameters
    ----------
    ax
        Which.
    across, down
        Names of columns and rows.
    sizes
        Of their letters, in points.
    turned
        Whether the names of columns run upwards.

    Examples
    --------
    >>> ax = new_figure(4, 3).add_subplot()
    >>> cell_axes(ax, ["a", "b"], ["x"])
    >>> [text.get_text() for text in ax.get_xticklabels()], ax.get_xticks(minor=True).tolist()
    (['a', 'b'], [0.5])
    """
    for axis, names, size, angle in (
        (ax.xaxis, across, sizes[0], 90 if turned else 0),
        (ax.yaxis, down, sizes[1], 0),
    ):
        places = np.arange(len(names))
        axis.set_ticks(places, names, fontsize=size, rotation=angle, parse_math=False)
        axis.set_ticks(places[1:] - 0.5, minor=True)
    ax.grid(which="minor", color="white", lw=0.8)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)


def shifts(count: int, step: float) -> list[float]:
    """Return how far things that share a place stand to the side of it.

    Parameters
    ----------
    count
        How many things.
    step
        Between two of them.

    Examples
    --------
    >>> shifts(3, 0.5), shifts(0, 0.5)
    ([-0.5, 0.0, 0.5], [])
    """
    return [step * (one - (count - 1) / 2) for one in range(count)]


def draw_box(
    ax: Axes,
    place: float,
    values: NDArray[np.float64],
    style: dict[str, Any],
    *,
    high: float = 0.6,
    marks: tuple[str, str] = (BLACK, GREY),
) -> bool:
    """Draw quartiles, median, mean, whiskers to the furthest within 1.5 boxes, dots beyond.

    Parameters
    ----------
    ax
        Where.
    place
        The row, on the y axis.
    values
        Finite, one at least.
    style
        Of the box: facecolor, edgecolor, lw, ls.
    high
        How high the box is, in rows.
    marks
        Colours of the median and of the dots.

    Returns
    -------
    bool
        Whether there are dots beyond the whiskers.

    Examples
    --------
    >>> ax, values = new_figure(4, 3).add_subplot(), np.array([1.0, 2, 3, 4, 50])
    >>> draw_box(ax, 0, values, {"facecolor": "white", "edgecolor": BLACK})
    True
    """
    lower, median, upper = np.percentile(values, [25, 50, 75])
    reach = 1.5 * (upper - lower)
    inside = values[(values >= lower - reach) & (values <= upper + reach)]
    beyond = values[(values < lower - reach) | (values > upper + reach)]
    ends = [inside.min(), upper], [lower, inside.max()]
    ax.hlines([place] * 2, *ends, color=style["edgecolor"], lw=1.1)
    ax.barh(place, upper - lower, high, left=lower, zorder=2, **style)
    ax.vlines(median, place - high / 2, place + high / 2, color=marks[0], lw=1.8, zorder=4)
    size = min(4, 10 * high)
    ax.plot([values.mean()], [place], zorder=5, ms=size, **MEAN)
    if len(beyond):
        dots = np.full(len(beyond), place)
        ax.plot(beyond, dots, zorder=3, ms=0.75 * size, color=marks[1], **BEYOND)
    return bool(len(beyond))


def band(ax: Axes, x: Any, low: Any, high: Any, look: Look, *, alpha: float = 0.15) -> bool:
    """Draw intervals along a line as a band, where they are known; say whether any is.

    Parameters
    ----------
    ax
        Where.
    x, low, high
        Places and ends; NaN where there are none.
    look
        Of the line.
    alpha
        How much of what is below is hidden.

    Examples
    --------
    >>> from sightline.figures.lines import looks_of
    >>> ax, look = new_figure(4, 3).add_subplot(), looks_of(["a"])["a"]
    >>> band(ax, [0, 1], [0.1, 0.2], [0.3, 0.4], look), band(ax, [0], [np.nan], [np.nan], look)
    (True, False)
    """
    known = np.isfinite(low) & np.isfinite(high)
    if not np.any(known):
        return False
    ax.fill_between(x, low, high, where=known, color=look.colour, alpha=alpha, lw=0, zorder=1)
    return True


def bars(ax: Axes, x: Any, low: Any, high: Any, look: Look, *, across: bool = False) -> bool:
    """Draw intervals as bars at single places, where they are known; say whether any is.

    Parameters
    ----------
    ax
        Where.
    x, low, high
        Places and ends; NaN where there are none.
    look
        Of the line.
    across
        Ends lie on the x axis, places on the y axis.

    Examples
    --------
    >>> from sightline.figures.lines import looks_of
    >>> ax, look = new_figure(4, 3).add_subplot(), looks_of(["a"])["a"]
    >>> bars(ax, [0, 1], [0.1, np.nan], [0.3, np.nan], look)
    True
    >>> len(ax.collections[0].get_segments())
    1
    """
    known = np.isfinite(low) & np.isfinite(high)
    if not np.any(known):
        return False
    draw = ax.hlines if across else ax.vlines
    place, first, last = (np.asarray(part, np.float64)[known] for part in (x, low, high))
    draw(place, first, last, color=look.colour, lw=1.1, alpha=0.75, zorder=2)
    return True
