"""How much the maps of methods agree.

It draws on the axes it is given, or makes a figure of a fitting size; either way the figure is
returned. `sightline.figures.save` writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.figures._score_plots import fit, plural, sentences
from sightline.figures.card import FigureCard
from sightline.figures.lines import short_names
from sightline.figures.panels import cell_axes
from sightline.figures.style import BLACK, axes_for, figure_of, house_style, title
from sightline.stats._order import leaf_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from sightline.figures._score_plots import Numbers

__all__ = ["draw_agreement_matrix"]

MAPS = 40
"""Lines of an agreement matrix."""


def draw_agreement_matrix(
    matrix: ArrayLike,
    names: Sequence[str],
    *,
    ends: tuple[ArrayLike, ArrayLike] | None = None,
    n: int | None = None,
    selection: str = "",
    ax: Axes | None = None,
) -> Figure:
    """Draw how much the maps of methods agree, alike ones beside each other.

    Lines are ordered by clustering them: agreement is their closeness, average linkage, and
    neighbours in the tree are turned so that alike ones touch. Of more than 40 lines the first 40
    are drawn. What is undefined is a dash.

    Parameters
    ----------
    matrix
        Spearman's correlations, (k, k), symmetric, in -1 to 1.
    names
        What the k lines are called.
    ends
        Lower and upper ends of the correlations' 95% intervals over images, (k, k) each; written
        below the numbers.
    n
        How many images were compared.
    selection
        How the layers of the lines were chosen, as `format_selection` gives it; for the notes.
    ax
        Where to draw; a new figure unless given.

    Examples
    --------
    >>> matrix = [[1, 0.1, 0.8], [0.1, 1, 0.2], [0.8, 0.2, 1]]
    >>> figure = draw_agreement_matrix(matrix, ["cls", "random", "rollout"], n=60)
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['random', 'rollout', 'cls']
    """
    values = _checked_matrix(matrix, names, "matrix")[:MAPS, :MAPS]
    order = leaf_order(values)
    spans = [_checked_matrix(one, names, "ends")[np.ix_(order, order)] for one in ends or ()]
    values = values[np.ix_(order, order)]
    shown = [str(names[i]) for i in order]
    short = short_names(shown, 34)
    labels = [short[name] for name in shown]
    with house_style():
        own, side = ax is None, max(len(labels) * (0.56 if spans else 0.4), 2.6)
        around = 0.09 * max(map(len, labels)) + 2.4
        ax = axes_for(ax, side + around, side + around)
        drawn = np.ma.masked_invalid(np.where(np.eye(len(values)) > 0, np.nan, values))
        aspect: Any = "auto" if own else "equal"
        mesh = ax.imshow(drawn, cmap=_diverging(), vmin=-1, vmax=1, aspect=aspect)
        _matrix_bar(ax, mesh)
        cell_axes(ax, labels, labels)
        if own:
            fit([ax], width=side)
        notes = _matrix_notes(values, len(names), n, spans=bool(spans))
        title(ax, "Agreement of maps", " ".join(filter(None, (notes, sentences(selection)))))
        if own:
            fit([ax], height=side)
        _matrix_numbers(ax, values, spans)
        return figure_of(ax)


def _checked_matrix(matrix: ArrayLike, names: Sequence[str], what: str) -> Numbers:
    """Return a matrix as numbers; refuse what cannot be agreement."""
    try:
        values = np.array(matrix, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers, (k, k): {error}") from error
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not len(values):
        raise InputError(f"{what} must be square, with a row; got the shape {values.shape}")
    if len(names) != len(values):
        raise InputError(f"names must be {len(values)}, one for each row; got {len(names)}")
    if not np.allclose(values, values.T, atol=1e-6, equal_nan=True):
        raise InputError(f"{what} must be symmetric; it is not")
    if np.nanmax(np.abs(values), initial=0.0) > 1 + 1e-6:
        seen = float(np.nanmax(np.abs(values)))
        raise InputError(f"{what} must lie in -1 to 1; it reaches {seen:g}")
    return values


_ROOM = 30  # points of a cell that can hold an interval


def _matrix_bar(ax: Axes, mesh: Any) -> None:
    bar = figure_of(ax).colorbar(mesh, ax=ax, shrink=0.8, aspect=22, pad=0.02, ticks=[-1, 0, 1])
    bar.set_label("Spearman's ρ")
    bar.outline.set_visible(False)


def _diverging() -> Any:
    from matplotlib import colormaps

    return colormaps["RdBu_r"].with_extremes(bad="#EDEDED")


def _matrix_numbers(ax: Axes, values: Numbers, spans: Sequence[Numbers] = ()) -> None:
    """Write the numbers into the cells, and below them intervals, unless they would not fit."""
    figure = figure_of(ax)
    figure.draw_without_rendering()
    cell = 72 * ax.get_window_extent().width / figure.dpi / len(values)
    size = min(8.5, cell / 2.9)
    if size < 4.5:
        return
    for i, j in np.ndindex(*values.shape):
        value = float(values[i, j])
        colour = "white" if i != j and abs(value) > 0.62 else BLACK
        known = i != j and cell > _ROOM and all(np.isfinite(one[i, j]) for one in spans)
        up = -0.13 if known and spans else 0
        ax.text(
            j, i + up, _short(value), ha="center", va="center", fontsize=size, color=colour,
            in_layout=False,
        )  # fmt: skip
        if known and spans:
            ax.text(
                j, i + 0.24, " ".join(_short(float(one[i, j])) for one in spans), ha="center",
                va="center", fontsize=min(5.8, cell / 6.4), color=colour, in_layout=False,
            )  # fmt: skip


def _short(value: float) -> str:
    """Return a correlation in as few signs as can be."""
    if not np.isfinite(value):
        return "–"
    text = f"{abs(value):.2f}"
    sign = "−" if value < 0 and text != "0.00" else ""
    return sign + ("1" if text == "1.00" else text[1:])


def _matrix_notes(values: Numbers, given: int, n: int | None, *, spans: bool) -> str:
    undefined = int(np.isnan(values[np.triu_indices(len(values), 1)]).sum())
    return sentences(
        "Spearman's ρ between maps of the same image"
        + (f", mean over {plural(n, 'image')}" if n is not None else ""),
        "below it its 95% interval" if spans else "",
        "alike ones stand together",
        f"the first {len(values)} of {given:,} lines are drawn" if len(values) < given else "",
        f"{plural(undefined, 'pair')} undefined (–)" if undefined else "",
    )


CARDS = (
    FigureCard(
        name="agreement",
        title="Agreement of maps",
        function=draw_agreement_matrix,
        file="agreement_matrix",
        group="scores",
        shows="Spearman's correlation between the maps of each pair of lines, mean over images, "
        "with its interval; alike lines stand together.",
        reading="Dark red blocks are lines that say the same, so that counting them twice proves "
        "nothing. Agreement is not truth: methods can be wrong together.",
        needs="Stored maps of several lines.",
    ),
)
