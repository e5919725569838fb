"""The lines of a report: one way to make maps each, the same maps under every metric."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.metrics import METRICS
from sightline.report._lines import choose_lines
from sightline.results._catalogue import BASELINE
from sightline.results._views import Name
from sightline.results.comparison import paired_figures
from sightline.results.leaderboard import QUARTILES, ranked

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from sightline.report._lines import Lines
    from sightline.results import Results
    from sightline.results._lines import Line

__all__ = ["FIRST", "Scored", "read_scores"]

FIRST = ("pointing", "coverage", "auc_roc", "average_precision")
"""Metrics that come first in tables, in the guide's order; IoU follows."""
_FIGURES = ("value", "low", "high", "median", "std", "chance", "ceiling", "corrected", "n",
            "undefined", *QUARTILES)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Scored:
    """All means of a report.

    A line is a model, a method and a target, with the layer that did best by the main metric: the
    same maps are behind its scores under all metrics. Baselines that are equal for several models
    are one line.

    Attributes
    ----------
    metric
        The main one, by which lines are sorted and layers chosen.
    metrics
        All that are stored: those of the guide first.
    about
        A row for each line, the best first: name, model, method, target, layer, group, chosen.
    table
        A row for each line and metric: name, metric, value, low, high, median, std, chance,
        ceiling, corrected, n, undefined; of best_iou the quartiles of its percentile.
    lines
        The lines themselves, in the order of `about`.
    halves
        The same with layers chosen for each half of the images on the other one; None where no
        layer was chosen on the images that it is scored on.
    """

    metric: str
    metrics: tuple[str, ...]
    about: pd.DataFrame
    table: pd.DataFrame
    lines: Lines
    halves: Lines | None
    _images: list[str]

    @property
    def direction(self) -> str:
        """Which values of the main metric are better."""
        return METRICS[self.metric.partition("@")[0]].direction

    def of(self, metric: str) -> pd.DataFrame:
        """Return the rows of a metric with the names of lines, in their order."""
        rows = self.table[self.table["metric"] == metric]
        return self.about.merge(rows, on="name", how="left")

    def row(self, name: str, metric: str | None = None) -> dict[str, Any]:
        """Return all that is known of a line under a metric, the main one unless given."""
        rows = self.of(metric or self.metric)
        return {str(key): value for key, value in rows[rows["name"] == name].iloc[0].items()}

    def names(self, *, baselines: bool) -> list[str]:
        """Return the names of the baselines, or of all others, the best first; none undefined."""
        rows = self.of(self.metric)
        group = rows["group"] == BASELINE
        wanted = rows[(group if baselines else ~group) & rows["value"].notna()]
        return list(wanted["name"])

    @cached_property
    def best(self) -> str | None:
        """The best line that is no baseline, if there is one."""
        return next(iter(self.names(baselines=False)), None)

    def compare(self, pairs: Sequence[tuple[str, str]], metric: str | None = None) -> pd.DataFrame:
        """Compare lines image by image; see `Results.compare` for the columns.

        A layer that did best on the same images would win by that alone: where there is one, lines
        are compared with layers chosen by halves.
        """
        import pandas as pd

        lines = self._compared(_name(metric or self.metric))
        found = [(lines[a], lines[b]) for a, b in pairs]
        frame = pd.DataFrame(pairs, columns=["a", "b"])
        if not pairs:
            return frame
        return frame.assign(**paired_figures(_name(metric or self.metric), found))

    def _compared(self, metric: Name) -> dict[str, Line]:
        """Return the scores by which lines are compared, by the lines' names."""
        used = self.lines if self.halves is None else self.halves
        found = dict(zip(used.names, used._scored(metric), strict=True))
        whose = [(line.model, line.method, line.target) for line in self.lines.lines]
        called = [used.called[key] for key in whose]
        return {name: found[own] for name, own in zip(self.lines.names, called, strict=True)}

    def by_halves(self, name: str) -> dict[str, float] | None:
        """Return value, low and high of the main metric, the line's layer chosen by halves."""
        if self.halves is None:
            return None
        line = self._compared(_name(self.metric))[name]
        (row,) = ranked(_name(self.metric), [line]).to_dict("records")
        return {key: float(row[key]) for key in ("value", "low", "high")}

    def values(self, metric: str | None = None) -> pd.DataFrame:
        """Return scores of single images, a row for each image and a column for each line."""
        import pandas as pd

        table = np.full((len(self._images), len(self.lines)), np.nan)
        for column, line in enumerate(self.lines._scored(_name(metric or self.metric))):
            table[line.scores.numbers, column] = line.scores.values
        return pd.DataFrame(table, index=pd.Index(self._images, name="image"),
                            columns=list(self.about["name"]))  # fmt: skip


def _name(metric: str) -> Name:
    return Name(*metric.partition("@")[::2])


def read_scores(results: Results, metric: str | None = None, lines: Lines | None = None) -> Scored:
    """Read the means of all lines under all metrics.

    Parameters
    ----------
    results
        Of a study.
    metric
        The main one; that which leads the leaderboard unless given.
    lines
        Those of that metric, where they are at hand.

    Raises
    ------
    InputError
        If nothing is stored, or no value of the metric is better than another.
    """
    import pandas as pd

    tables = results._tables
    main = tables.name(metric)
    if METRICS[main.metric].direction == "neither":
        raise InputError(f"{main}: no value is better than another, so that no line leads a report")
    lines = choose_lines(results, str(main)) if lines is None else lines
    if not len(lines):
        raise InputError(f"{results.path}: no scores of {main} are stored yet")
    names = _ordered([name for name in tables.names if name.metric in METRICS])
    lines.load(names)
    boards = [lines.board(name).assign(metric=str(name)) for name in names]
    kept = ["name", "metric", *_FIGURES]
    table = pd.concat([board.reindex(columns=kept) for board in boards], ignore_index=True)
    images = tables.query("SELECT image FROM images ORDER BY image")["image"].tolist()
    chosen = any("same images" in line.chosen for line in lines.lines)
    halves = choose_lines(results, str(main), layer="split") if chosen else None
    metrics = tuple(map(str, names))
    return Scored(str(main), metrics, _about(lines), table, lines, halves, images)


def _ordered(names: Sequence[Name]) -> list[Name]:
    """Return metrics as the guide orders them, then IoU from strict to loose, then the others."""

    def place(name: Name) -> tuple[float, float]:
        if str(name) in FIRST:
            return 0, FIRST.index(str(name))
        if name.metric == "iou":
            return 1, -float(name.threshold) if name.threshold.isdigit() else 0
        return 2, 0

    return sorted(names, key=place)


def _about(lines: Lines) -> pd.DataFrame:
    """Return what each line is; a baseline that models share names how many."""
    import pandas as pd

    frame = pd.DataFrame(lines.columns())
    models = len({line.model for line in lines.lines})
    frame["model"] = [
        model if count == 1 else f"all {count} models" if count == models else f"{count} models"
        for model, count in zip(frame["model"], lines.models, strict=True)
    ]
    frame["chosen"] = [line.chosen for line in lines.lines]
    return frame
