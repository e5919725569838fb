"""Figures of all metrics at once: a heatmap of ranks, and a radar chart.

Each draws on the axes it is given, or makes a figure of a fitting size; either way the figure is
returned. `sightline.figures.save` writes it.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.figures._score_plots import (
    GRID,
    are_baselines,
    falls,
    fit,
    kept_of,
    kept_words,
    keys_of,
    known_chance,
    plural,
    score_text,
    sentences,
)
from sightline.figures.card import FigureCard
from sightline.figures.lines import (
    counts_words,
    filled_table,
    format_selection,
    label_lines,
    list_selections,
    looks_of,
    numbers,
)
from sightline.figures.panels import cell_axes, legend_beside
from sightline.figures.style import (
    BLACK,
    GREY,
    axes_for,
    even_scale,
    figure_of,
    house_style,
    shown,
    title,
)
from sightline.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from sightline.figures._score_plots import Numbers
    from sightline.figures.lines import Table

__all__ = ["create_methods_ranking_heatmap", "create_metrics_radar_chart"]

ROWS, BASE_ROWS = 32, 8
"""Lines of a heatmap: the best methods, the best baselines."""
COLUMNS = 20
"""Metrics of a heatmap."""
POLYGONS = 6
"""Methods of a radar chart."""
AXES = 12
"""Metrics of a radar chart."""
_NAME = 44  # characters of a name beside a row
_TIED = 1e-9  # scores that are no further apart are equal: sums differ in their last digits


class _Scores(NamedTuple):
    """Scores of lines (rows) by metrics (columns), NaN where there is none."""

    names: list[str]
    baseline: NDArray[np.bool_]
    metrics: list[str]
    values: Numbers
    chance: Numbers
    n: Numbers
    undirected: list[str]
    parts: dict[str, pd.DataFrame]

    def labels(self, longest: int) -> list[str]:
        """Return what is shown of each line."""
        labels = label_lines({name: self.parts[name] for name in self.names}, longest)
        return [labels[name] for name in self.names]

    @property
    def selection(self) -> str:
        """How the layers or methods of the lines were chosen."""
        return format_selection(
            how for name in self.names for how in list_selections(self.parts[name])
        )

    def rows(self, kept: NDArray[np.intp]) -> _Scores:
        names = [self.names[i] for i in kept]
        return self._replace(names=names, baseline=self.baseline[kept], values=self.values[kept])


def _scores(table: Table) -> _Scores:
    """Return a long table as lines by metrics; metrics that have no better end are left out."""
    frame = filled_table(table, "table", ("metric", "value"))
    frame = frame.assign(key=keys_of(frame, "table"), value=numbers(frame, "value"))
    twice = frame.duplicated(["key", "metric"])
    if twice.any():
        key, metric = frame.loc[twice, ["key", "metric"]].iloc[0]
        told = f"{shown(key)} has several of {metric}"
        raise InputError(f"table must have one value for each line and metric; {told}")
    there = [str(name) for name in dict.fromkeys(frame["metric"])]
    neither = [name for name in there if _spec(name).direction == "neither"]
    metrics = [name for name in there if name not in neither]
    keys = list(dict.fromkeys(frame["key"]))
    wide = frame.pivot(index="key", columns="metric", values="value")
    grey = frame.assign(base=are_baselines(frame)).groupby("key")["base"].any().reindex(keys)
    return _Scores(
        keys,
        grey.to_numpy(np.bool_),
        metrics,
        wide.reindex(index=keys, columns=metrics).to_numpy(np.float64),
        np.array([_chance(frame, metric) for metric in metrics], np.float64),
        numbers(frame[np.isfinite(frame["value"]) & frame["metric"].isin(metrics)], "n"),
        neither,
        {str(key): rows for key, rows in frame.groupby("key", sort=False)},
    )


def _spec(metric: str) -> Any:
    return METRICS[metric.partition("@")[0]]


def _chance(frame: pd.DataFrame, metric: str) -> float:
    """Return the mean chance of a metric; where none is given, what is known of it."""
    found = numbers(frame[frame["metric"] == metric], "chance")
    found = found[np.isfinite(found)]
    return float(found.mean()) if len(found) else known_chance(metric)


def _undirected_words(scores: _Scores) -> str:
    said = ", ".join(scores.undirected)
    return f"left out, as neither end is better: {said}" if said else ""


def _wrapped(metric: str, longest: int = 11) -> str:
    """Return a metric's name in lines that are broken behind _ and before @."""
    lines = [""]
    for part in re.findall(r"@[^_]*|[^_@]*_?", metric):
        if lines[-1] and len(lines[-1] + part) > longest:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


# --- ranks ---------------------------------------------------------------------------------------

_WIDE, _HIGH = 0.78, 0.34  # inches of a cell


def create_methods_ranking_heatmap(table: Table, *, ax: Axes | None = None) -> Figure:
    """Draw the rank of each line by each metric, the best mean rank on top.

    Cells have the rank and, below it, the score; darker is better. Equal scores share the mean of
    their ranks. Undefined scores are grey and have no rank. Baselines are ranked with the methods,
    their names are grey. The best 32 methods and 8 baselines are drawn, all are ranked.

    Parameters
    ----------
    table
        A row for each line and metric: columns that name lines (model, method, target, layer, head,
        or `name`), `metric`, `value` and, where they are known, `n`, `group`. Which end of a metric
        is better is what `METRICS` says: others cannot be ranked.
    ax
        Where to draw; a new figure unless given.

    Examples
    --------
    >>> table = {"method": ["cls", "rollout"] * 2, "metric": ["coverage"] * 2 + ["kl"] * 2,
    ...          "value": [0.2, 0.4, 3.0, 2.5]}
    >>> figure = create_methods_ranking_heatmap(table)
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['rollout', 'cls']
    """
    scores = _scores(table)
    if not scores.metrics:
        raise InputError(f"table must have a metric with a better end; {_undirected_words(scores)}")
    ranks = _ranks(scores)
    mean = _mean_ranks(ranks)
    order = np.argsort(np.where(np.isnan(mean), np.inf, mean), kind="stable")
    kept = kept_of(order, scores.baseline, ROWS, BASE_ROWS)
    drawn = scores.rows(kept)
    with house_style():
        own = ax is None
        wide, high = max(_WIDE * min(len(drawn.metrics), COLUMNS), 2.8), _HIGH * len(kept)
        ax = axes_for(ax, wide + 0.09 * _NAME + 3, high + 3)
        shares = _shares(ranks)[kept, :COLUMNS]
        _draw_cells(ax, shares)
        _write_means(ax, mean[kept])
        _heat_axes(ax, drawn)
        if own:
            fit([ax], width=wide)
        title(ax, "Ranks of methods", _heat_notes(scores, drawn, mean))
        if own:
            fit([ax], height=high)
        # Last: hundreds of texts, which would be laid out for nothing.
        _write_cells(ax, drawn, ranks[kept], shares)
        return figure_of(ax)


def _ranks(scores: _Scores) -> Numbers:
    """Return the ranks of each metric, 1 the best, shared by equal scores, NaN if undefined."""
    import pandas as pd

    down = [1.0 if falls(metric) else -1.0 for metric in scores.metrics]
    steps = [_steps(column * sign) for column, sign in zip(scores.values.T, down, strict=True)]
    return pd.DataFrame(np.column_stack(steps)).rank(method="average").to_numpy(np.float64)


def _steps(column: Numbers) -> Numbers:
    """Return numbers that count values upwards; those that differ by rounding alone are one."""
    found = np.full(len(column), np.nan)
    known = np.isfinite(column)
    values, places = np.unique(column[known], return_inverse=True)
    found[known] = np.cumsum(np.diff(values, prepend=values[:1]) > _TIED)[places]
    return found


def _shares(ranks: Numbers) -> Numbers:
    """Return the share of the others that each rank has behind it: 1 the best, 0 the worst.

    Alone, a line is neither.
    """
    count = np.isfinite(ranks).sum(axis=0)
    share = (count - ranks) / np.maximum(count - 1, 1)
    return np.where((count == 1) & np.isfinite(ranks), 0.5, share)


def _mean_ranks(ranks: Numbers) -> Numbers:
    """Return the mean rank of each line over the metrics that it has."""
    count = np.isfinite(ranks).sum(axis=1)
    return np.where(count, np.nansum(ranks, axis=1) / np.maximum(count, 1), np.nan)


def _draw_cells(ax: Axes, shares: Numbers) -> None:
    """Draw the cells, and the scale beside them where there is room."""
    mesh = ax.imshow(np.ma.masked_invalid(shares), cmap=even_scale(), vmin=0, vmax=1, aspect="auto")
    if len(shares) < 3:
        return
    aspect = min(22, 5 * len(shares))  # of few rows, or it is a hairline
    bar = figure_of(ax).colorbar(mesh, ax=ax, shrink=0.8, aspect=aspect, pad=0.02, ticks=[0, 1])
    bar.ax.set_yticklabels(["last", "first"])
    bar.set_label("Rank")
    bar.outline.set_visible(False)


def _write_cells(ax: Axes, drawn: _Scores, ranks: Numbers, shares: Numbers) -> None:
    """Write rank and score into each cell."""
    for i, j in np.ndindex(*shares.shape):
        colour = "white" if shares[i, j] > 0.55 else BLACK
        ink: dict[str, Any] = {"ha": "center", "color": colour, "in_layout": False}
        ax.text(
            j, i, _rank_text(float(ranks[i, j])), va="bottom", fontsize=8.5, weight="bold", **ink
        )
        ax.text(j, i + 0.04, score_text(float(drawn.values[i, j])), va="top", fontsize=7, **ink)


def _rank_text(rank: float) -> str:
    """Return a rank; one that is shared can have a fraction."""
    return f"{rank:g}" if np.isfinite(rank) else ""


def _write_means(ax: Axes, means: Numbers) -> None:
    """Write the mean ranks to the right of the cells."""
    style: dict[str, Any] = {
        "xycoords": ("axes fraction", "data"), "textcoords": "offset points", "fontsize": 8,
        "annotation_clip": False,
    }  # fmt: skip
    for place, mean in enumerate(means):
        text = f"{mean:.1f}" if np.isfinite(mean) else "–"
        ax.annotate(text, (1, place), (30, 0), va="center", ha="right", **style)
    ax.annotate(
        "mean\nrank", (1, len(means) - 0.5), (30, -5), va="top", ha="right", color=GREY, **style
    )


def _heat_axes(ax: Axes, drawn: _Scores) -> None:
    metrics = [_wrapped(name) for name in drawn.metrics[:COLUMNS]]
    cell_axes(ax, metrics, drawn.labels(_NAME), sizes=(7.5, 8), turned=False)
    for label, grey in zip(ax.get_yticklabels(), drawn.baseline, strict=True):
        label.set(color=GREY if grey else BLACK, style="italic" if grey else "normal")


def _heat_notes(scores: _Scores, drawn: _Scores, mean: Numbers) -> str:
    known = np.isfinite(mean)
    grey = int(scores.baseline[known].sum())
    ranked = plural(int(known.sum()) - grey, "method")
    ranked += f" and {plural(grey, 'baseline')} (grey, italic)" if grey else ""
    gaps = int((~np.isfinite(scores.values[:, :COLUMNS])).sum())
    more = len(scores.metrics) - COLUMNS
    images = counts_words(scores.n)
    return sentences(
        f"{ranked} ranked" + (f" on {images}" if images else ""),
        "bold: rank, darker is better, shared by equal scores; below it: mean score",
        drawn.selection,
        f"{plural(gaps, 'score')} undefined, not ranked (grey); mean ranks are of the others"
        if gaps
        else "",
        kept_words(drawn.baseline.tolist(), len(scores.names)),
        f"{plural(more, 'more metric')} counted but not drawn" if more > 0 else "",
        _undirected_words(scores),
    )


# --- radar ---------------------------------------------------------------------------------------


class _Scaled(NamedTuple):
    """Scores and chance as they are drawn: 0 to 1, higher is better, with what was done to each."""

    scores: _Scores
    values: Numbers
    chance: Numbers
    notes: list[str]


def create_metrics_radar_chart(table: Table, *, ax: Axes | None = None) -> Figure:
    """Draw the scores of the best methods as polygons over axes of one direction and range.

    Metrics in 0 to 1 whose higher values are better are drawn as they are. Others are brought to
    that: turned over, moved from their range, or stretched from the worst to the best line where
    the range has no end (0.5 where all are equal); the notes say which. The best 6 methods by the
    mean over the axes are in colour, the best baseline is grey, chance is a shaded polygon. Axes
    without a score are left open. At most 12 metrics are drawn.

    Parameters
    ----------
    table
        See `create_methods_ranking_heatmap`; `chance`, where it is known, is drawn as well. At
        least 3 metrics with a better end.
    ax
        Whose place the chart takes; a new figure unless given.

    Examples
    --------
    >>> table = {"method": ["cls"] * 3, "metric": ["coverage", "auc_roc", "iou@90"],
    ...          "value": [0.4, 0.8, 0.2], "chance": [0.1, 0.5, 0.06]}
    >>> figure = create_metrics_radar_chart(table)
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    ['cls', 'chance']
    """
    scores = _scores(table)
    if len(scores.metrics) < 3:
        seen = ", ".join([*scores.metrics, *scores.undirected])
        expected = "at least 3 metrics with a better end, or there is no polygon"
        raise InputError(f"table must have {expected}; it has {seen}")
    scaled = _scaled(scores)
    kept = _best_polygons(scaled)
    with house_style():
        own = ax is None
        frame = axes_for(ax, 10, 6)
        frame.set_axis_off()
        chart: Any = frame.inset_axes((0.12, 0.05, 0.76, 0.82), projection="polar")
        top = _radar_axes(chart, scaled)
        handles, texts = _draw_polygons(chart, scaled, kept)
        _radar_labels(chart, scaled.scores.metrics[:AXES], top)
        legend_beside(frame, handles, texts)
        if own:
            fit([frame], width=5.2)
        title(frame, "Metrics side by side", _radar_notes(scaled, kept))
        if own:
            fit([frame], height=4.6)
        return figure_of(frame)


def _scaled(scores: _Scores) -> _Scaled:
    """Bring all metrics to 0 to 1, higher better; say what was done to those that were not."""
    values, chance = scores.values.copy(), scores.chance.copy()
    done: dict[str, list[str]] = {}
    for j, metric in enumerate(scores.metrics[:AXES]):
        low, high = _spec(metric).range
        how = ""
        if not math.isfinite(high - low):
            known = np.append(values[:, j], chance[j])
            known = known[np.isfinite(known)]
            low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
            how = "rescaled from the worst (0) to the best (1) of lines and chance"
        elif (low, high) != (0, 1):
            how = f"rescaled from [{low:g}, {high:g}] to [0, 1]"
        if high - low < _TIED:  # all are equal: neither the worst nor the best
            low, high = low - 0.5, low + 0.5
        span = high - low
        values[:, j], chance[j] = (values[:, j] - low) / span, (chance[j] - low) / span
        if falls(metric):
            values[:, j], chance[j] = 1 - values[:, j], 1 - chance[j]
            how = how or "turned over (1 − score)"
        if how:
            done.setdefault(how, []).append(metric)
    notes = [f"{how}: {', '.join(names)}" for how, names in done.items()]
    return _Scaled(scores, values[:, :AXES], chance[:AXES], notes)


def _best_polygons(scaled: _Scaled) -> NDArray[np.intp]:
    """Return the lines that are drawn, the best mean first: methods, then the best baseline.

    Those without a score on some axis come after those with all.
    """
    known = np.isfinite(scaled.values)
    count = known.sum(axis=1)
    mean = np.where(known, scaled.values, 0).sum(axis=1) / np.maximum(count, 1)
    order = np.lexsort((-mean, -count))
    order, grey = order[count[order] > 0], scaled.scores.baseline
    return np.concatenate([order[~grey[order]][:POLYGONS], order[grey[order]][:1]])


def _radar_axes(chart: Any, scaled: _Scaled) -> float:
    """Lay out angles and rings; return how far out the rings reach."""
    count = scaled.values.shape[1]
    both = np.concatenate([scaled.values.ravel(), scaled.chance])
    reached = float(np.nanmax(both, initial=0.1))
    top = min(1.0, math.ceil(reached * 10 - 1e-9) / 10)
    step = 0.2 if top > 0.5 else 0.1
    rings = [round(step * i, 1) for i in range(1, int(top / step + 1e-9) + 1)]
    chart.set_theta_offset(np.pi / 2)
    chart.set_theta_direction(-1)
    chart.set_xticks(_angles(count), [""] * count)
    chart.set_yticks(rings, [f"{ring:g}" for ring in rings], fontsize=7, color=GREY)
    chart.set_rlabel_position(180 / count)
    for label in chart.get_yticklabels():
        label.set_bbox({"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 0.6})
    chart.set_ylim(0, top)
    chart.grid(color="#DDDDDD", lw=0.7)
    chart.spines["polar"].set_color("#BBBBBB")
    return top


def _angles(count: int) -> Numbers:
    return np.linspace(0, 2 * np.pi, count, endpoint=False)


def _closed(values: Numbers) -> tuple[Numbers, Numbers]:
    """Return a polygon's corners, the first again at the end."""
    corners = np.append(values, values[:1])
    return np.append(_angles(len(values)), 2 * np.pi), corners


def _draw_polygons(
    chart: Any, scaled: _Scaled, kept: NDArray[np.intp]
) -> tuple[list[Any], list[str]]:
    """Draw chance and lines; return what the legend shows."""
    handles, texts = [], []
    names = [scaled.scores.names[i] for i in kept]
    grey = [name for name, i in zip(names, kept, strict=True) if scaled.scores.baseline[i]]
    looks, labels = looks_of(names, grey), scaled.scores.rows(kept).labels(32)
    for i, name, label in zip(kept, names, labels, strict=True):
        handles += chart.plot(
            *_closed(scaled.values[i]), zorder=3, clip_on=False, **looks[name].line
        )
        texts.append(label + (" (best baseline)" if name in grey else ""))
    if np.isfinite(scaled.chance).any():
        line = {"color": BLACK, "lw": 1.1, "ls": (0, (3, 1.6)), "marker": ".", "ms": 3}
        handles += chart.plot(*_closed(scaled.chance), zorder=2, **line)
        if np.isfinite(scaled.chance).all():
            chart.fill(*_closed(scaled.chance), color=GRID, zorder=1)
        texts.append("chance")
    return handles, texts


def _radar_labels(chart: Any, metrics: Sequence[str], top: float) -> None:
    """Write the metrics around the chart, each away from its centre."""
    for angle, metric in zip(_angles(len(metrics)), metrics, strict=True):
        across, up = math.sin(angle), math.cos(angle)
        side = "center" if abs(across) < 0.1 else "left" if across > 0 else "right"
        level = "center" if abs(up) < 0.8 else "bottom" if up > 0 else "top"
        chart.text(angle, top * 1.07, _wrapped(metric, 14), ha=side, va=level, fontsize=8)


def _radar_notes(scaled: _Scaled, kept: NDArray[np.intp]) -> str:
    scores = scaled.scores
    known = int(np.isfinite(scaled.values).any(axis=1).sum())
    rest, undefined = known - len(kept), len(scores.names) - known
    more = len(scores.metrics) - AXES
    missing = int((~np.isfinite(scaled.chance)).sum())
    open_axes = int((~np.isfinite(scaled.values[kept])).any(axis=1).sum())
    return sentences(
        counts_words(scores.n),
        "further out is better, on every axis",
        scores.rows(kept).selection,
        *scaled.notes,
        f"no chance is known on {plural(missing, 'axis')}" if missing else "",
        f"{plural(open_axes, 'line')} left open where undefined" if open_axes else "",
        f"{plural(rest, 'further line')} not drawn" if rest else "",
        f"{plural(undefined, 'undefined line')} not drawn" if undefined else "",
        f"{plural(more, 'further metric')} not drawn" if more > 0 else "",
        _undirected_words(scores),
    )


# --- cards ---------------------------------------------------------------------------------------

CARDS = (
    FigureCard(
        name="ranking",
        title="Ranks of methods",
        function=create_methods_ranking_heatmap,
        file="methods_ranking_heatmap",
        group="scores",
        shows="Methods in rows, metrics in columns: the rank, darker is better, and the mean "
        "score. The best mean rank is on top; equal scores share a rank.",
        reading="A row that is dark throughout is good by any measure; one that changes depends on "
        "the metric. Ranks hide how large differences are, and metrics that are alike count more "
        "than once in the mean rank.",
        needs="Leaderboards of several metrics.",
    ),
    FigureCard(
        name="radar",
        title="Metrics side by side",
        function=create_metrics_radar_chart,
        file="metrics_radar_chart",
        group="scores",
        shows="A polygon for each of the best methods, the best baseline and chance, over metrics "
        "of one direction and range; others are rescaled, and the notes say how.",
        reading="Further out is better on each axis. Read corners, not areas: the area depends on "
        "the order of the axes. There are no intervals here: see the leaderboard.",
        needs="Leaderboards of at least three metrics.",
    ),
)
