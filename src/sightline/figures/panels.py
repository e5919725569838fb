"""Axes for figures of several panels, and what all of them share: legends, bars, chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.figures.style import axes_for, house_style, new_figure
from sightline.records import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes

    from sightline.figures.lines import Look

__all__ = ["band", "bars", "legend_beside", "panels", "share_axes", "text_inches"]


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


def legend_beside(
    ax: Axes, handles: Sequence[Any], texts: Sequence[str], head: str = "", *, columns: int = 1
) -> None:
    """Put a legend to the right of axes, where it covers nothing.

    Parameters
    ----------
    ax
        Beside which.
    handles, texts
        What is shown, and what it is called.
    head
        Over the legend.
    columns
        How many entries stand side by side.

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
        ncols=columns,
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
    ax.grid(color="#EEEEEE", lw=0.6)


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
