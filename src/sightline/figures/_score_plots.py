"""What figures of scores share: directions, order, chance, rows that are kept, legends below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.figures.lines import BASELINE, counts_words, direction, line_names, numbers
from sightline.figures.style import BLACK, figure_of
from sightline.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from sightline.figures.lines import Line
    from sightline.metrics import MetricSpec

    Numbers = NDArray[np.float64]

CHANCE: dict[str, Any] = {"color": BLACK, "lw": 1.2, "ls": (0, (3, 1.6))}
CEILING: dict[str, Any] = {"color": "#8C8C8C", "lw": 2.4, "ls": "-"}
GRID = "#EEEEEE"
BEYOND_AXIS = "beyond the axis, without an interval"


# --- metrics -------------------------------------------------------------------------------------


def spec_of(metric: str) -> MetricSpec | None:
    """Return what is known of a metric; nothing of one from another tool."""
    return METRICS.get(metric.partition("@")[0])


def falls(metric: str) -> bool:
    """Say whether lower values are better."""
    return direction(metric) == "lower"


def known_chance(metric: str) -> float:
    """Return the chance of a metric where it is one number whatever the areas, else NaN."""
    spec = spec_of(metric)
    try:
        return float(str(spec.chance)) if spec is not None and spec.chance else float("nan")
    except ValueError:  # a formula of areas
        return float("nan")


def direction_words(metric: str) -> str:
    """Return which values are better, in words; nothing where that is not known."""
    spec = spec_of(metric)
    if spec is None:
        return ""
    if spec.direction == "neither":
        return "neither end is better"
    return f"{spec.direction} is better"


# --- tables --------------------------------------------------------------------------------------


def are_baselines(table: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which rows are of methods that know nothing of the model."""
    if "group" not in table:
        return np.zeros(len(table), np.bool_)
    return np.asarray(table["group"] == BASELINE, np.bool_)


def keys_of(table: pd.DataFrame, what: str) -> list[str]:
    """Return which line each row is of: its name in full, or the words that tell lines apart."""
    return [str(name) for name in table["name"]] if "name" in table else line_names(table, what)


def best_first(values: Numbers, metric: str) -> NDArray[np.intp]:
    """Return the places of the defined values, the best first, equal ones as they came."""
    known = np.flatnonzero(np.isfinite(values))
    signed = values[known] if falls(metric) else -values[known]
    return known[np.argsort(signed, kind="stable")]


def kept_of(
    order: NDArray[np.intp], baseline: NDArray[np.bool_], most: int, baselines: int
) -> NDArray[np.intp]:
    """Return the first methods and the first baselines of an order, as many as there is room.

    Room that the one group leaves is the other's.
    """
    base = baseline[order]
    grey = int(base.sum())
    spare, spare_grey = max(0, most - (len(order) - grey)), max(0, baselines - grey)
    room = np.where(
        base, np.cumsum(base) <= baselines + spare, np.cumsum(~base) <= most + spare_grey
    )
    return order[room]


# --- words ---------------------------------------------------------------------------------------


def plural(count: int, word: str) -> str:
    """Return a number of things."""
    return counts_words([count], word)


def kept_words(baseline: Sequence[bool], known: int, metric: str | None = None) -> str:
    """Return how many lines are drawn of those that could be; nothing where all are.

    Of a metric that has no better end, or of which nothing is known, they are but the highest.
    """
    if len(baseline) >= known:
        return ""
    spec = None if metric is None else spec_of(metric)
    best = metric is None or (spec is not None and spec.direction != "neither")
    grey = sum(map(bool, baseline))
    told = plural(len(baseline) - grey, "method") + f" and {plural(grey, 'baseline')}" * bool(grey)
    return f"the {'best' if best else 'highest'} {told} of {plural(known, 'line')} are drawn"


def sentences(*parts: str) -> str:
    """Return parts as sentences, empty ones left out."""
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in parts if part)


def one_sentence(*parts: str) -> str:
    """Return parts as one sentence, empty ones left out."""
    told = "; ".join(part for part in parts if part)
    return f"{told}." if told else ""


def score_text(value: float) -> str:
    """Return a score in three digits."""
    return f"{value:.3f}" if np.isfinite(value) else "–"


# --- marks ---------------------------------------------------------------------------------------


def mark(ax: Axes, values: Numbers, style: dict[str, Any], *, above: int = 2) -> Any:
    """Mark a value in each row: one line where all are equal; return what a legend shows.

    Nothing is drawn, and nothing returned, where no value is defined.
    """
    from matplotlib.lines import Line2D

    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return None
    if len(known) == len(values) and np.ptp(values) < 1e-9:
        ax.axvline(float(values[0]), zorder=above, **style)
        return Line2D([], [], **style)
    tick = {"color": style["color"], "lw": style["lw"], "ls": "-"}
    ax.vlines(values[known], known - 0.42, known + 0.42, zorder=above, **_collection(tick))
    return Line2D([], [], ls="none", marker="|", ms=9, mew=style["lw"], color=style["color"])


def _collection(style: dict[str, Any]) -> dict[str, Any]:
    """Return the style of a line as collections of lines take it."""
    return {"colors": style["color"], "linewidths": style["lw"], "linestyles": style["ls"]}


def collect_column(lines: Sequence[Line], column: str) -> Numbers:
    """Return a column of the tables of all lines."""
    return np.concatenate([np.zeros(0), *(numbers(line.rows, column) for line in lines)])


def select_axis_values(value: Numbers, low: Numbers, high: Numbers) -> Numbers:
    """Return the values that an axis must hold: those with an interval, or all where none has."""
    known = np.isfinite(value)
    has = known & np.isfinite(low) & np.isfinite(high)
    return value[has if has.any() else known]


def find_dot_limits(low: Numbers, high: Numbers, *marks: Numbers) -> tuple[float, float]:
    """Return between which ends dots are drawn: those of intervals and marks, if it has any."""
    has = np.isfinite(low) & np.isfinite(high)
    if not has.any():
        return -np.inf, np.inf
    ends = np.concatenate([low[has], high[has], *marks])
    return float(np.nanmin(ends)), float(np.nanmax(ends))


def place_dot(
    value: float, limits: tuple[float, float], point: dict[str, Any]
) -> tuple[float, dict[str, Any]]:
    """Return where a dot is drawn, and how: beyond the limits as an arrow at them."""
    low, high = limits
    if value < low or value > high:
        arrow = {"marker": ">" if value > high else "<", "clip_on": False}
        return float(np.clip(value, low, high)), point | arrow
    return value, point


def describe_beyond(values: Numbers, limits: tuple[float, float]) -> str:
    """Return how many values an axis does not hold; nothing where it holds all."""
    beyond = int(((values < limits[0]) | (values > limits[1])).sum())
    return f"{beyond} without an interval beyond the axis" if beyond else ""


def span_of(values: Sequence[Numbers]) -> tuple[float, float]:
    """Return limits that hold all defined values, and 0 where it is near."""
    known = np.concatenate([one[np.isfinite(one)] for one in values])
    if not len(known):
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    low = 0.0 if 0 < low < 0.4 * high else low
    high = 0.0 if 0 > high > 0.4 * low else high
    pad = 0.03 * (high - low) or 0.05
    return low - pad, high + pad


def fit(
    axes: Sequence[Axes],
    *,
    width: float | None = None,
    height: float | None = None,
    columns: int = 1,
) -> None:
    """Resize a figure of our own until its axes are as large as said, in inches.

    How wide names are is known only once they are laid out.
    """
    figure = figure_of(axes[0])
    _lay_out(figure)
    found = axes[0].get_window_extent()
    across, up = figure.get_size_inches()
    if width is not None:
        across += columns * (width - found.width / figure.dpi)
    if height is not None:
        up += -(-len(axes) // columns) * (height - found.height / figure.dpi)
    figure.set_size_inches(across, up)
    if width is not None:  # notes are as wide as the axes
        _lay_out(figure)


def _lay_out(figure: Figure) -> None:
    """Give all axes their places, without the cost of drawing."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)


def legend_below(ax: Axes, entries: Sequence[tuple[Any, str]], *, inches: float) -> None:
    """Put a legend under axes and their labels, so many inches wide; its columns fit."""
    from matplotlib.transforms import ScaledTranslation

    if not entries:
        return
    under = ScaledTranslation(0, -0.5, figure_of(ax).dpi_scale_trans)
    wide = [38 + 4.7 * len(text) for _, text in entries]
    columns = len(entries) if sum(wide) <= 72 * inches else int(72 * inches / max(wide))
    found = ax.legend(
        [handle for handle, _ in entries],
        [text for _, text in entries],
        loc="upper left",
        bbox_to_anchor=(0, 0),
        bbox_transform=ax.transAxes + under,
        borderaxespad=0,
        borderpad=0,
        ncols=max(1, columns),
        columnspacing=1.6,
        handlelength=2.2,
    )
    for text in found.get_texts():
        text.set_parse_math(False)
