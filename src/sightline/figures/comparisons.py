"""Figures that compare scores: leaderboards, box plots, breakdowns.

Each draws on the axes it is given, or makes a figure of a fitting size; either way the figure is
returned. `sightline.figures.save` writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.figures._score_plots import (
    BEYOND_AXIS,
    CEILING,
    CHANCE,
    GRID,
    are_baselines,
    best_first,
    direction_words,
    falls,
    fit,
    kept_of,
    kept_words,
    keys_of,
    known_chance,
    legend_below,
    mark,
    place_dot,
    plural,
    score_text,
    select_axis_values,
    sentences,
    span_of,
    spec_of,
)
from sightline.figures.card import FigureCard
from sightline.figures.lines import (
    BASELINE,
    Look,
    as_table,
    counts_words,
    filled_table,
    format_label,
    format_selection,
    label_lines,
    list_selections,
    looks_of,
    numbers,
    short_names,
)
from sightline.figures.panels import BEYOND, MEAN, draw_box, panels
from sightline.figures.style import (
    BLACK,
    COLOURS,
    GREY,
    axes_for,
    figure_of,
    house_style,
    shown,
    title,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from sightline.figures._score_plots import Numbers
    from sightline.figures.lines import Table

    _Entries = list[tuple[Any, str]]

__all__ = ["draw_breakdown", "draw_leaderboard", "draw_metrics_comparison"]

METHODS, BASELINES = 32, 8
"""Lines of a leaderboard: the best methods, the best baselines."""
BOXES, BASE_BOXES = 18, 6
"""Lines of box plots: the best methods, the best baselines."""
PANELS = 8
"""Metrics of box plots."""
LABELS = 80
"""Labels of a breakdown; with more, half of them are the best, half the worst."""
_NAME = 44  # characters of a name beside a row
_BOX = 0.24  # inches that a box's row is high
_ACROSS, _ROW = 4.2, 0.215  # inches that rows are wide, and each is high


# --- rows of values with intervals ---------------------------------------------------------------


class _Rows(NamedTuple):
    """Values from the top down, with what stands beside each."""

    names: list[str]
    value: Numbers
    low: Numbers
    high: Numbers
    chance: Numbers
    ceiling: Numbers
    looks: list[Look]
    right: list[str]

    @property
    def bars(self) -> NDArray[np.bool_]:
        """Where there is an interval."""
        return np.isfinite(self.low) & np.isfinite(self.high)

    def near_chance(self, metric: str) -> NDArray[np.bool_]:
        """Return which intervals reach chance, or lie on its worse side."""
        at = self.high >= self.chance if falls(metric) else self.low <= self.chance
        return np.asarray(at & self.bars, np.bool_)


def _row_figure(
    ax: Axes | None,
    rows: _Rows,
    entries: _Entries,
    metric: str,
    texts: tuple[str, str],
) -> Figure:
    """Draw rows, the legend with further entries, head and notes."""
    own = ax is None
    beside = max(map(len, rows.names), default=0) + max(map(len, rows.right), default=0)
    ax = axes_for(ax, _ACROSS + 1 + 0.09 * beside, 3 + _ROW * len(rows.names))
    legend_below(ax, _draw_rows(ax, rows, metric or "value") + entries, inches=_ACROSS)
    if own:
        fit([ax], width=_ACROSS)
    title(ax, *texts)
    if own:
        fit([ax], height=_ROW * max(len(rows.names), 2))
    return figure_of(ax)


def _draw_rows(ax: Axes, rows: _Rows, label: str) -> _Entries:
    """Draw a dot and an interval in each row; return the legend's entries for what is marked."""
    from matplotlib.lines import Line2D

    places = np.arange(len(rows.names))
    held = select_axis_values(rows.value, rows.low, rows.high)
    low, high = span_of([held, rows.low, rows.high, rows.chance, rows.ceiling])
    ax.set_xlim(low, high)
    ax.set(ylim=(len(places) - 0.4, -0.6), xlabel=label)
    ax.hlines(places, 0, 1, transform=ax.get_yaxis_transform(), color=GRID, lw=0.6, zorder=0)
    marks = [
        (mark(ax, rows.chance, CHANCE), "chance"),
        (mark(ax, rows.ceiling, CEILING), "ceiling"),
    ]
    for place, look in enumerate(rows.looks):
        if rows.bars[place]:
            ends = [rows.low[place], rows.high[place]]
            width = 1.4 if look.baseline else 2.4
            ax.plot(ends, [place, place], color=look.colour, lw=width, alpha=0.55, zorder=3)
        value, point = place_dot(rows.value[place], (low, high), look.point | {"ms": 6})
        ax.plot([value], [place], ls="none", zorder=4, **point)
    ax.set_yticks(places, rows.names, fontsize=8, parse_math=False)
    ax.tick_params(axis="y", length=0)
    _write_right(ax, rows.right)
    if ((rows.value < low) | (rows.value > high)).any():
        arrow = Line2D([], [], ls="none", marker=">", color=GREY)
        marks.append((arrow, BEYOND_AXIS))
    return [(handle, text) for handle, text in marks if handle is not None]


def _short_names(names: Sequence[str]) -> list[str]:
    short = short_names(names, _NAME)
    return [short[name] for name in names]


def _write_right(ax: Axes, texts: Sequence[str]) -> None:
    for place, text in enumerate(texts):
        ax.annotate(
            text, (1, place), (7, 0), xycoords=("axes fraction", "data"), fontsize=7.5,
            textcoords="offset points", va="center", color=GREY, annotation_clip=False,
            parse_math=False,
        )  # fmt: skip


# --- leaderboard ---------------------------------------------------------------------------------

_NEAR = "‡"
_WITHIN = "the interval reaches it, or lies on its worse side"


def draw_leaderboard(table: Table, *, metric: str | None = None, ax: Axes | None = None) -> Figure:
    """Draw the score of each line with its interval, the best on top, with chance and ceiling.

    Baselines are grey and hollow, other groups of methods have colours and markers of their own.
    * marks lines whose layer or method was chosen on the same images, ‡ those that are not better
    than chance: their interval reaches it, or lies on its worse side. The best 32 methods and 8
    baselines are drawn. What is undefined is not drawn, only counted.

    Parameters
    ----------
    table
        As `Results.leaderboard` gives it: columns that name lines (model, method, target, layer,
        head, or `name`), `value` and, where they are known, `low`, `high`, `chance`, `ceiling`,
        `n`, `group`, `chosen`.
    metric
        Of the values; what the table says unless given. It tells which end is better: of an unknown
        one, the highest is on top.
    ax
        Where to draw; a new figure unless given.

    Examples
    --------
    >>> table = {"method": ["rollout", "cls", "random"], "value": [0.2, 0.3, 0.1],
    ...          "group": ["attention", "attention", "baseline"], "n": [120, 120, 120]}
    >>> figure = draw_leaderboard(table, metric="iou@90")
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['cls', 'rollout', 'random']
    """
    metric = _metric_of(table, metric)
    frame = filled_table(table, "table", ("value",))
    order = best_first(numbers(frame, "value"), metric)
    kept = kept_of(order, are_baselines(frame), METHODS, BASELINES)
    rows = _board_rows(frame, kept, metric)
    with house_style():
        entries = _group_entries(frame.iloc[kept], rows.looks)
        notes = _board_notes(frame.iloc[kept], rows, metric, (len(order), len(frame)))
        head = f"Leaderboard of {metric}" if metric else "Leaderboard"
        return _row_figure(ax, rows, entries, metric, (head, notes))


def _metric_of(table: Table, metric: str | None) -> str:
    """Return the metric that is meant: that given, or what the table says."""
    said = getattr(table, "attrs", {}).get("metric", "")
    return str(said) if metric is None else metric


def _board_rows(frame: pd.DataFrame, kept: NDArray[np.intp], metric: str) -> _Rows:
    keys = keys_of(frame, "table")
    chance = numbers(frame, "chance")
    chance = np.where(np.isfinite(chance), chance, known_chance(metric))
    value, low, high, ceiling = (
        numbers(frame, name)[kept] for name in ("value", "low", "high", "ceiling")
    )
    looks = _group_looks(frame.iloc[kept])
    rows = _Rows(
        _format_names(frame, keys, kept), value, low, high, chance[kept], ceiling, looks, []
    )
    near = rows.near_chance(metric)
    for i in range(len(kept)):
        text = score_text(rows.value[i])
        if rows.bars[i]:
            text += f" [{rows.low[i]:.3f}, {rows.high[i]:.3f}]"
        rows.right.append(text + f" {_NEAR}" * bool(near[i]))
    return rows


def _format_names(frame: pd.DataFrame, keys: Sequence[str], kept: NDArray[np.intp]) -> list[str]:
    """Return the names of rows, with the layers that were chosen for them."""
    names = _short_names([keys[i] for i in kept])
    if "chosen" not in frame:
        return names
    chosen = frame["chosen"].fillna("").astype(str)
    layers = frame["layer"] if "layer" in frame else [None] * len(frame)
    pairs = list(zip(layers, chosen, strict=True))
    return [format_label(name, *pairs[i]) for name, i in zip(names, kept, strict=True)]


def _group_looks(frame: pd.DataFrame) -> list[Look]:
    """Return how each line is drawn: one look for each group of methods."""
    groups = _groups(frame)
    found = looks_of(list(dict.fromkeys(groups)), [BASELINE])
    return [found[group] for group in groups]


def _groups(frame: pd.DataFrame) -> list[str]:
    import pandas as pd

    if "group" not in frame:
        return [""] * len(frame)
    return ["" if pd.isna(group) else str(group) for group in frame["group"]]


def _group_entries(frame: pd.DataFrame, looks: Sequence[Look]) -> _Entries:
    """Return the legend's entries for groups of methods."""
    from matplotlib.lines import Line2D

    found = dict(zip(_groups(frame), looks, strict=True))
    return [
        (Line2D([], [], ls="none", **look.point | {"ms": 6}), shown(group or "method"))
        for group, look in found.items()
    ]


def _board_notes(drawn: pd.DataFrame, rows: _Rows, metric: str, counts: tuple[int, int]) -> str:
    """Say what is drawn of so many lines that are defined, of so many in all."""
    marks = "".join(rows.right)
    defined, given = counts
    return sentences(
        "; ".join(filter(None, (counts_words(numbers(drawn, "n")), direction_words(metric)))),
        "bars: 95% intervals" if rows.bars.any() else "",
        format_selection(list_selections(drawn)),
        f"{_NEAR} not better than chance: {_WITHIN}" if _NEAR in marks else "",
        kept_words([look.baseline for look in rows.looks], defined, metric),
        _undefined_words(given - defined, "line"),
    )


def _undefined_words(count: int, word: str) -> str:
    return f"{plural(count, f'undefined {word}')} not drawn" if count else ""


# --- breakdown -----------------------------------------------------------------------------------


def draw_breakdown(
    table: Table, *, metric: str | None = None, what: str = "label", ax: Axes | None = None
) -> Figure:
    """Draw the score of each label with its interval, the best on top, with chance and ceiling.

    Dots are hollow where the interval reaches chance, or lies on its worse side. Of more than 80
    labels, the best 40 and the worst 40 are drawn. What is undefined is not drawn, only counted.

    Parameters
    ----------
    table
        As `Results.feature_breakdown` or `Results.style_breakdown` give it: `label`, `value` and,
        where they are known, `low`, `high`, `chance`, `ceiling`, `n`; `name`, `layer`, `chosen`
        of the line that it is about, the same in all rows. Instead of `value` there may
        be a column of the metric's own name: `iou` with the same others, or, say, `recall` with
        `recall_low`, `recall_high` and `recall_chance`.
    metric
        Of the values; what the table says unless given, and IoU where it has that column.
    what
        What labels are of, one of them: "label", "style", "feature".
    ax
        Where to draw; a new figure unless given.

    Examples
    --------
    >>> table = {"label": ["door", "tower"], "value": [0.1, 0.4], "n": [20, 12]}
    >>> figure = draw_breakdown(table, metric="iou@90", what="feature")
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['tower', 'door']
    """
    metric = _metric_of(table, metric)
    frame = filled_table(table, "table", ("label",))
    columns = _breakdown_columns(frame, metric)
    metric = metric or ("" if "value" in frame else "iou")
    order = best_first(columns["value"], metric)
    half = LABELS // 2
    kept = order if len(order) <= LABELS else np.r_[order[:half], order[-half:]]
    rows = _breakdown_rows(frame, columns, kept, metric)
    with house_style():
        notes = _breakdown_notes(frame, rows, (what, metric), len(order))
        texts = (f"{metric or 'Score'} by {what}", notes)
        return _row_figure(ax, rows, _hollow_entry(rows), metric, texts)


def _breakdown_columns(frame: pd.DataFrame, metric: str) -> dict[str, Numbers]:
    """Return the columns that are drawn, whatever their names are."""
    base = metric.partition("@")[0] or "iou"
    source = "value" if "value" in frame else base
    as_table(frame, "table", (source,))
    prefix = "" if source in ("value", "iou") else f"{base}_"
    ends = ("low", "high", "chance", "ceiling")
    found = {name: numbers(frame, prefix + name) for name in ends}
    chance = np.where(np.isfinite(found["chance"]), found["chance"], known_chance(base))
    return found | {"value": numbers(frame, source), "chance": chance}


def _breakdown_rows(
    frame: pd.DataFrame, columns: dict[str, Numbers], kept: NDArray[np.intp], metric: str
) -> _Rows:
    names = _short_names([str(frame["label"][i]) for i in kept])
    count = numbers(frame, "n")[kept]
    right = [f"{n:,.0f}" if np.isfinite(n) else "" for n in count] if "n" in frame else []
    value, low, high, chance, ceiling = (
        columns[name][kept] for name in ("value", "low", "high", "chance", "ceiling")
    )
    rows = _Rows(names, value, low, high, chance, ceiling, [], right)
    blue = COLOURS["blue"]
    rows.looks.extend(Look(blue, "-", "o", bool(near)) for near in rows.near_chance(metric))
    return rows


def _hollow_entry(rows: _Rows) -> _Entries:
    """Return the legend's entry for labels that are not better than chance."""
    from matplotlib.lines import Line2D

    hollow = [look for look in rows.looks if look.baseline][:1]
    text = "not better than chance"
    return [(Line2D([], [], ls="none", **look.point | {"ms": 6}), text) for look in hollow]


def _breakdown_notes(frame: pd.DataFrame, rows: _Rows, about: tuple[str, str], defined: int) -> str:
    """Say what is drawn of labels: what they are of, by which metric."""
    what, metric = about
    of = "regions" if "images" in frame else "images"
    half = LABELS // 2
    parts = {str(name): rows for name, rows in frame.groupby("name")} if "name" in frame else {}
    names = label_lines(parts, _NAME)
    return sentences(
        f"of {', '.join(names.values())}" if names else "",
        format_selection(list_selections(frame)),
        "; ".join(filter(None, (plural(defined, what), direction_words(metric)))),
        "bars: 95% intervals" if rows.bars.any() else "",
        f"right: {of}" if rows.right else "",
        f"the {half} best and the {half} worst are drawn" if len(rows.names) < defined else "",
        _undefined_words(len(frame) - defined, what),
    )


# --- box plots -----------------------------------------------------------------------------------


class _Panel(NamedTuple):
    """The scores of one metric: one array for each line, in the order of the rows."""

    metric: str
    values: list[Numbers]
    chance: Numbers
    undefined: int


class _Lines(NamedTuple):
    """The rows that all panels share."""

    names: list[str]
    labels: list[str]
    baseline: list[bool]
    known: int
    undefined: int
    selection: str


def draw_metrics_comparison(
    values: Table, *, metrics: Sequence[str] | None = None, axes: Sequence[Axes] | None = None
) -> Figure:
    """Draw how the scores of images spread, a box for each line and a panel for each metric.

    Rows are the same in all panels: the line with the best mean of the first metric is on top.
    Metrics that are a hit or a miss on each image have bars in place of boxes: the share of hits
    with its 95% interval. The best 18 methods and 6 baselines are drawn, of up to 8 metrics unless
    they are named; lines without any score are only counted.

    Parameters
    ----------
    values
        A row for each line, image and metric: columns that name lines (see `draw_leaderboard`),
        `image`, `metric`, `value` and, where they are known, `chance`, `group`.
    metrics
        Which, in this order; those of the table unless given.
    axes
        Where to draw, one for each metric; a new figure unless given.

    Examples
    --------
    >>> values = {"method": ["cls"] * 3, "image": ["a", "b", "c"], "metric": ["coverage"] * 3,
    ...           "value": [0.2, 0.4, 0.3], "chance": [0.1, 0.1, 0.1]}
    >>> figure = draw_metrics_comparison(values)
    >>> figure.axes[0].get_title(loc="left")
    'coverage'
    """
    frame = filled_table(values, "values", ("image", "metric", "value"))
    wanted, left_out = _wanted_metrics(frame, metrics)
    frame = frame.assign(key=keys_of(frame, "values"), value=numbers(frame, "value", "values"))
    lines = _box_lines(frame[frame["metric"].isin(wanted)], wanted[0])
    found = [_panel(frame, metric, lines) for metric in wanted]
    columns = _columns(len(found)) if axes is None else 1
    rows = -(-len(found) // columns)
    words = _boxes_words(lines, found, left_out)
    size = (4.5 + 3.4 * columns, 2 + rows * (1.8 + _BOX * len(lines.names)))
    with house_style():
        places = panels(axes, len(found), size=size, columns=columns)
        handles: dict[str, Any] = {}
        for i, (ax, panel) in enumerate(zip(places, found, strict=True)):
            handles |= _draw_panel(ax, panel, lines)
            _name_rows(ax, lines, named=i % columns == 0)
            more = f". {words}" if words and i == 0 and axes is not None else ""
            notes = counts_words([len(one) for one in panel.values if len(one)]) or "no scores"
            title(ax, shown(panel.metric, 22), notes + more)
        _box_legend(places, handles, words, own=axes is None)
        if axes is None:
            high = _BOX * max(len(lines.names), 2)
            fit(places, width=max(2.3, 4 / columns), height=high, columns=columns)
        return figure_of(places[0])


def _columns(count: int) -> int:
    """Return how many panels stand side by side: up to 4, rows as even as can be."""
    return -(-count // -(-count // 4))


def _wanted_metrics(frame: pd.DataFrame, metrics: Sequence[str] | None) -> tuple[list[str], int]:
    """Return the metrics that are drawn, and how many of the table's are not."""
    there = [str(name) for name in dict.fromkeys(frame["metric"])]
    if metrics is None:
        return there[:PANELS], len(there[PANELS:])
    if not metrics or isinstance(metrics, str):
        raise InputError(f"metrics must be names of metrics; got {metrics!r}")
    for name in metrics:
        if name not in there:
            raise InputError(f"metrics: values has none of {name!r}; it has {', '.join(there)}")
    return list(dict.fromkeys(metrics)), 0


def _box_lines(frame: pd.DataFrame, metric: str) -> _Lines:
    """Return the lines, the best mean of a metric first, those that have but others last."""
    every = list(dict.fromkeys(frame["key"]))
    keys = list(dict.fromkeys(frame["key"][np.isfinite(frame["value"])]))
    means = frame[frame["metric"] == metric].groupby("key")["value"].mean().reindex(keys)
    order = best_first(means.to_numpy(np.float64), metric)
    rest = np.setdiff1d(np.arange(len(keys)), order)
    baseline = frame.assign(base=are_baselines(frame)).groupby("key")["base"].any().reindex(keys)
    grey = baseline.to_numpy(np.bool_)
    kept = kept_of(np.r_[order, rest], grey, BOXES, BASE_BOXES)
    names = [keys[i] for i in kept]
    found = dict(list(frame.groupby("key", sort=False)))
    parts = {name: found[name] for name in names}
    labels = label_lines(parts, _NAME)
    return _Lines(
        names,
        [labels[name] for name in names],
        grey[kept].tolist(),
        len(keys),
        len(every) - len(keys),
        format_selection(how for rows in parts.values() for how in list_selections(rows)),
    )


def _panel(frame: pd.DataFrame, metric: str, lines: _Lines) -> _Panel:
    rows = frame[frame["metric"] == metric]
    by_line = dict(list(rows.groupby("key", sort=False)))
    found, chance, undefined = [], [], 0
    for name in lines.names:
        one = by_line.get(name, rows[:0])
        if one["image"].duplicated().any():
            image = one["image"][one["image"].duplicated()].iloc[0]
            told = f"{shown(name)} has several of {metric} for image {shown(image)}"
            raise InputError(f"values must have one value for each line, image and metric; {told}")
        all_values = one["value"].to_numpy(np.float64)
        known = np.isfinite(all_values)
        found.append(all_values[known])
        undefined += int((~known).sum())
        level = numbers(one, "chance", "values")[known]
        level = level[np.isfinite(level)]
        chance.append(level.mean() if len(level) else known_chance(metric))
    return _Panel(metric, found, np.array(chance), undefined)


def _draw_panel(ax: Axes, panel: _Panel, lines: _Lines) -> dict[str, Any]:
    """Draw the boxes, or bars, of one metric; return what the legend shows."""
    spec = spec_of(panel.metric)
    bars = spec is not None and spec.share
    handles = {"chance": mark(ax, panel.chance, CHANCE, above=3)}
    for place, (values, grey) in enumerate(zip(panel.values, lines.baseline, strict=True)):
        if len(values):
            look = _box_style(grey)
            handles |= _bar(ax, place, values, look) if bars else _box(ax, place, values, look)
    ends = [*panel.values, panel.chance, np.zeros(1 if bars else 0)]
    ax.set_xlim(*span_of(ends))
    ax.set_ylim(len(lines.names) - 0.4, -0.6)
    ax.locator_params(axis="x", nbins=5)
    ax.set_xlabel(direction_words(panel.metric))
    ax.grid(axis="x", color=GRID, lw=0.6)
    return {text: handle for text, handle in handles.items() if handle is not None}


def _box_style(grey: bool) -> dict[str, Any]:
    edge = GREY if grey else COLOURS["blue"]
    inside = "white" if grey else "#CFE3F1"
    return {"facecolor": inside, "edgecolor": edge, "ls": (0, (2, 1)) if grey else "-", "lw": 1.1}


def _box(ax: Axes, place: int, values: Numbers, style: dict[str, Any]) -> dict[str, Any]:
    """Draw the box of a line; return what the legend shows."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    beyond = draw_box(ax, place, values, style)
    group = "baseline: quartiles" if style["facecolor"] == "white" else "method: quartiles"
    entries = {group: Patch(**style), "median": Line2D([], [], color=BLACK, lw=1.8)}
    entries["mean"] = Line2D([], [], ms=4, **MEAN)
    if beyond:
        entries["beyond 1.5 box lengths"] = Line2D([], [], ms=3, color=GREY, **BEYOND)
    return entries


def _bar(ax: Axes, place: int, values: Numbers, style: dict[str, Any]) -> dict[str, Any]:
    """Draw the share of hits with its interval."""
    from matplotlib.lines import Line2D

    from sightline.stats import interval

    share = interval(values, kind="share")
    ax.barh(place, share.value, 0.6, zorder=2, **style)
    if np.isfinite(share.low):
        ax.plot([share.low, share.high], [place, place], color=BLACK, lw=1.4, zorder=4)
    return {"share of hits, 95% interval": Line2D([], [], color=BLACK, lw=1.4)}


def _name_rows(ax: Axes, lines: _Lines, *, named: bool) -> None:
    names = lines.labels if named else [""] * len(lines.labels)
    ax.set_yticks(np.arange(len(names)), names, fontsize=8, parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def _boxes_words(lines: _Lines, found: Sequence[_Panel], left_out: int) -> str:
    drawn = kept_words(lines.baseline, lines.known, found[0].metric)
    parts = [lines.selection, drawn, _undefined_words(lines.undefined, "line")]
    if left_out:
        parts.append(f"{plural(left_out, 'more metric')} not drawn")
    if missing := {one.metric: one.undefined for one in found if one.undefined}:
        told = ", ".join(f"{metric} {count:,}" for metric, count in missing.items())
        parts.append(f"values that are undefined: {told}")
    return sentences(*parts)


def _box_legend(places: Sequence[Axes], handles: dict[str, Any], words: str, *, own: bool) -> None:
    """Put the legend under the figure, or under the last axes of somebody else's."""
    texts = sorted(handles, key=_BOX_ORDER.index)
    if not own:
        legend_below(places[-1], [(handles[text], text) for text in texts], inches=4)
        return
    marks = [handles[text] for text in texts]
    figure = figure_of(places[0])
    wide = _columns(len(places)) + 1
    figure.legend(
        marks, texts, title=words or None, loc="outside lower left", ncols=wide,
        alignment="left", title_fontsize=8, handlelength=2.2, columnspacing=1.6,
    )  # fmt: skip


_BOX_ORDER = (
    "method: quartiles", "baseline: quartiles", "median", "mean", "beyond 1.5 box lengths",
    "share of hits, 95% interval", "chance",
)  # fmt: skip


# --- cards ---------------------------------------------------------------------------------------

CARDS = (
    FigureCard(
        name="leaderboard",
        title="Leaderboard",
        function=draw_leaderboard,
        file="leaderboard",
        group="scores",
        shows="The mean score of each line with its 95% interval, the best on top, baselines in "
        "grey, with chance and, where there is one, the best score possible.",
        reading="Two lines whose intervals overlap may still differ: compare them image by image. "
        "A method that is no better than a baseline has not shown that its map comes from the "
        "model. * was chosen on the same images and is optimistic; ‡ is not better than chance.",
        needs="The leaderboard of a metric.",
    ),
    FigureCard(
        name="metrics-comparison",
        title="Scores image by image",
        function=draw_metrics_comparison,
        file="metrics_comparison",
        group="scores",
        shows="A panel for each metric: quartiles, median, mean and spread of the images' scores "
        "of each line, or the share of hits, with chance.",
        reading="Wide boxes: the score depends on the image more than on the method. A mean far "
        "from the median is made by few images. Boxes are spreads of images, no intervals of "
        "means.",
        needs="Scores of images by line and metric.",
    ),
    FigureCard(
        name="features",
        title="Scores by feature",
        function=draw_breakdown,
        file="feature_breakdown",
        group="scores",
        shows="How well single regions are found, by their label, with 95% intervals, chance and "
        "ceiling of each label.",
        reading="Small regions have a low ceiling: compare a dot with its own chance and ceiling, "
        "not with other labels. Hollow dots are not better than chance.",
        needs="Scores of regions (a study with regions) for one line.",
    ),
    FigureCard(
        name="styles",
        title="Scores by style",
        function=draw_breakdown,
        file="style_breakdown",
        group="scores",
        shows="The mean score of the images of each label (style, class), with 95% intervals, "
        "chance and ceiling.",
        reading="Intervals that overlap widely say that labels do not differ. An image with two "
        "labels counts in both.",
        needs="Scores of images with labels for one line.",
    ),
)
