"""Axes for figures of several panels, and what all of them share: legends, bars, chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sightline.figures.style import axes_for, new_figure
from sightline.records import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["legend_beside", "panels"]


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
