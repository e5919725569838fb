"""The lines that figures of a store are about: the same maps in every one of them."""

from __future__ import annotations

# The texts put together here are SQL of ours, with checked or quoted names.
# ruff: noqa: S608
import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core.words import merge_counts
from sightline.figures.lines import format_label, format_selection, line_names
from sightline.metrics import METRICS
from sightline.results._catalogue import BASELINE
from sightline.results._lines import make_lines, rounded
from sightline.results._sums import HALVES, sum_up
from sightline.results._views import Name, full_model
from sightline.results._wording import beside, ratio
from sightline.results.curves import points_sql
from sightline.results.leaderboard import (
    BEST_PERCENTILE,
    PERCENTILES,
    compute_percentile_quartiles,
    ranked,
    with_note,
)
from sightline.store.duckdb import quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from sightline.results import Results
    from sightline.results._catalogue import Where
    from sightline.results._lines import Line
    from sightline.results._sums import Found, Scores
    from sightline.results._tables import Tables

__all__ = ["BASELINES", "METHODS", "Lines", "choose_lines", "lines_where"]

METHODS, BASELINES = 15, 6
"""Lines that a figure shows at most: of methods, and of baselines."""


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines of a leaderboard, the best first; equal baselines of several models are one.

    Attributes
    ----------
    tables
        Of the store.
    lead
        The metric by which layers were chosen, and lines are ordered.
    where
        Which maps they were chosen from.
    lines
        Whose maps.
    names
        What each is called.
    models
        How many models share each.
    called
        What the maps of each model, method and target are called, those that share a line too.
    """

    tables: Tables
    lead: Name
    where: Where
    lines: tuple[Line, ...]
    names: tuple[str, ...]
    models: tuple[int, ...]
    called: Mapping[tuple[str, str, str], str] = field(default_factory=dict)
    _found: dict[Name, Found] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def groups(self) -> list[str]:
        """Of each line."""
        return [line.group for line in self.lines]

    def renamed(self, called: Mapping[tuple[str, str, str], str]) -> Lines:
        """Return the lines under names of others, if these tell them apart."""
        names = tuple(
            called.get(_key(line), name) for line, name in zip(self.lines, self.names, strict=True)
        )
        if len(set(names)) < len(names):
            return self
        new = dict(zip(self.names, names, strict=True))
        own = {key: new.get(name, name) for key, name in self.called.items()}
        return replace(self, names=names, called=own)

    def pick(self, places: Iterable[int]) -> Lines:
        """Return some of the lines."""
        kept = list(places)
        parts = {
            name: tuple(getattr(self, name)[i] for i in kept)
            for name in ("lines", "names", "models")
        }
        return replace(self, **parts)  # type: ignore[arg-type]

    def shown(self, methods: int = METHODS, baselines: int = BASELINES) -> Lines:
        """Return the lines that a figure has room for.

        Of a method with several targets it is the best one. Every kind of baseline comes before a
        second one of a kind, as most models share it: chance is not crowded out by near relations
        of the best.
        """
        firsts = self._firsts()
        plain = [place for place in firsts if self.lines[place].group != BASELINE][:methods]
        grey = [place for place in firsts if self.lines[place].group == BASELINE]
        kinds: Counter[str] = Counter()
        turn = {}
        for place in sorted(grey, key=lambda place: -self.models[place]):
            turn[place] = kinds[self.lines[place].method]
            kinds[self.lines[place].method] += 1
        grey = sorted(grey, key=lambda place: (turn[place], place))[:baselines]
        return self.pick(sorted(plain + grey))

    def firsts(self) -> Lines:
        """Return the best line of each model and method: of one target, where it has several."""
        return self.pick(self._firsts())

    def _firsts(self) -> list[int]:
        found: dict[tuple[str, str], int] = {}
        for place, line in enumerate(self.lines):
            found.setdefault((line.model, line.method), place)
        return list(found.values())

    def best(self) -> Lines:
        """Return the one line that a figure of one is about: the best that is no baseline."""
        plain = [place for place, group in enumerate(self.groups) if group != BASELINE]
        return self.pick((plain or [0])[:1])

    def columns(self) -> dict[str, Any]:
        """Return the columns that say which line a row is about."""
        import pandas as pd

        from sightline.results.leaderboard import layer_column

        texts = ("model", "method", "group", "target")
        found: dict[str, Any] = {"name": pd.Series(self.names, dtype=str)}
        for name in texts:
            found[name] = pd.Series([getattr(line, name) for line in self.lines], dtype=str)
        found["layer"] = layer_column(line.layer for line in self.lines)
        found["chosen"] = pd.Series([self._describe_choice(line) for line in self.lines], dtype=str)
        return found

    def board(self, name: Name) -> pd.DataFrame:
        """Return the leaderboard of these lines by a metric, the best first.

        Layers are those chosen by `lead`: lines are about the same maps under every metric.
        """
        scored = self._scored(name)
        frame = ranked(name, scored)
        peaks = name.metric == "best_iou" and BEST_PERCENTILE in self.tables.names
        if peaks:
            found = compute_percentile_quartiles(
                line.scores for line in self._scored(BEST_PERCENTILE)
            )
            frame = frame.assign(**found)
        frame.insert(0, "name", list(self.names))
        frame["chosen"] = [self._describe_choice(line) for line in self.lines]
        frame["models"] = list(self.models)
        sign = -1 if METRICS[name.metric].direction == "lower" else 1
        order = (-sign * frame["value"].map(rounded)).sort_values(kind="stable", na_position="last")
        frame = frame.loc[order.index].reset_index(drop=True)
        frame.attrs["metric"] = str(name)
        about = f"means of {name} over images with 95% intervals"
        told = PERCENTILES if peaks else ""
        return with_note(frame, about, ratio(name), beside(name), told, self.choice())

    @property
    def labels(self) -> tuple[str, ...]:
        """What figures of images show of each: its name, and the layer that was chosen for it."""
        pairs = zip(self.names, self.lines, strict=True)
        return tuple(format_label(name, line.layer, line.chosen) for name, line in pairs)

    @property
    def selection(self) -> str:
        """How layers were chosen, for the notes of figures."""
        return format_selection(map(self._describe_choice, self.lines))

    def _describe_choice(self, line: Line) -> str:
        """Return how the layer of a line was chosen, and by which metric on the same images."""
        return line.chosen.replace("on the same images", f"by {self.lead} on the same images")

    def choice(self) -> str:
        """Say how layers were chosen, and by which metric."""
        ways = merge_counts(line.chosen for line in self.lines)
        return f"layers by {self.lead}: {'; '.join(ways)}" if ways else ""

    def load(self, names: Iterable[Name]) -> None:
        """Read the means of several metrics at once."""
        missing = [name for name in dict.fromkeys(names) if name not in self._found]
        if missing:
            self._found.update(sum_up(self.tables, missing, self.where))

    def _scored(self, name: Name) -> list[Line]:
        if name == self.lead:
            return list(self.lines)
        self.load([name])
        return [replace(line, scores=line.at(self._found[name])) for line in self.lines]

    def values(self, name: Name) -> pd.DataFrame:
        """Return the score of each line on each image, with chance and ceiling."""
        scores = self.tables.scores([name], whole=True)
        means = ", ".join(
            f"avg({what} ORDER BY seed) FILTER (NOT isnan(value)) AS {what}"
            for what in ("value", "chance", "ceiling")
        )
        sql = f"""WITH picks AS ({self._picks_sql()})
SELECT place, image, {means}
FROM ({scores}) AS s JOIN ({HALVES}) AS h USING (image) JOIN picks ON {_SAME}
WHERE region IS NULL GROUP BY place, image ORDER BY place, image"""
        return self.named(self.tables.frame(sql))

    def curves(self, kind: str) -> pd.DataFrame:
        """Return the mean of the images' curves of each line: x, value, n."""
        sql = f"""WITH picks AS ({self._picks_sql()}), units AS (
  SELECT place, image, point, avg(value ORDER BY seed) FILTER (NOT isnan(value)) AS value
  FROM ({points_sql(kind)}) AS s JOIN ({HALVES}) AS h USING (image) JOIN picks ON {_SAME}
  GROUP BY place, image, point)
SELECT place, point / 100 AS x, avg(value ORDER BY image) AS value, count(value) AS n
FROM units GROUP BY place, point ORDER BY place, point"""
        return self.named(self.tables.frame(sql))

    def _picks_sql(self) -> str:
        """Return the SQL of the maps of each line: on each half of the images."""
        rows = [
            f"({place}, {half}, {quote(line.model)}, {quote(pick.method)}, {quote(pick.target)}, "
            f"{'NULL' if pick.layer is None else pick.layer}, "
            f"{'NULL' if line.head is None else line.head})"
            for place, line in enumerate(self.lines)
            for half, pick in enumerate(line.picks)
            if half not in line.blind
        ]
        names = "place, half, p_model, p_method, p_target, p_layer, p_head"
        return f"SELECT * FROM (VALUES {', '.join(rows)}) AS t({names})"

    def named(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Put what lines are in the place of their numbers, a column `place`."""
        import pandas as pd

        told = pd.DataFrame(self.columns())
        places = frame["place"].to_numpy(np.int64)
        left = told.iloc[places].reset_index(drop=True)
        return pd.concat([left, frame.drop(columns="place").reset_index(drop=True)], axis=1)


_SAME = f"""picks.half = h.half
  AND {full_model("s")} = p_model AND s.method = p_method AND s.target = p_target
  AND s.layer IS NOT DISTINCT FROM p_layer AND s.head IS NOT DISTINCT FROM p_head"""


def choose_lines(
    results: Results,
    metric: str | None = None,
    *,
    model: str | None = None,
    method: str | None = None,
    layer: int | str | None = None,
    target: str | None = None,
) -> Lines:
    """Return the lines of a leaderboard, the best first."""
    tables = results._tables
    name = tables.name(metric)
    where = tables.catalogue.where(model=model, method=method, layer=layer, target=target)
    return lines_where(tables, name, where, layer)


def lines_where(tables: Tables, name: Name, where: Where, layer: int | str | None = None) -> Lines:
    """Return the lines of the maps that are meant, the best first."""
    lines = make_lines(tables, name, where, "best" if layer is None else layer)
    sign = -1 if METRICS[name.metric].direction == "lower" else 1
    lines = sorted(lines, key=lambda line: -_worth(line, sign))
    return _merged(Lines(tables, name, where, tuple(lines), (), ()))


def _worth(line: Line, sign: int) -> float:
    mean = rounded(line.sums.mean())
    return -math.inf if math.isnan(mean) else sign * mean


def _merged(found: Lines) -> Lines:
    """Join the lines of a baseline whose scores are the same for several models, and name all."""
    groups = _equal_baselines(found)
    columns = replace(found, names=("",) * len(found.lines)).columns()
    own = {key: columns[key] for key in ("model", "method", "target")}
    named = line_names(own) if groups else []
    shared = Counter(found.lines[places[0]].method for places in groups if places[1:])
    names: list[str] = []
    called: dict[tuple[str, str, str], str] = {}
    for places in groups:
        method = found.lines[places[0]].method
        # The name of a method alone must be that of no other line.
        alone = len(places) > 1 and shared[method] == 1 and method not in named
        names.append(method if alone else named[places[0]])
        called |= {_key(found.lines[place]): names[-1] for place in places}
    lines = tuple(found.lines[places[0]] for places in groups)
    counts = tuple(map(len, groups))
    return replace(found, lines=lines, names=tuple(names), models=counts, called=called)


def _key(line: Line) -> tuple[str, str, str]:
    return line.model, line.method, line.target


def _equal_baselines(found: Lines) -> list[list[int]]:
    """Return the places of lines, those of baselines that are equal by every metric together.

    By one metric alone, as the pointing game, maps that differ can have the same scores.
    """
    groups: dict[Any, list[int]] = {}
    for place, line in enumerate(found.lines):
        one: Any = _alike(line, line.scores) if line.group == BASELINE else place
        groups.setdefault(one, []).append(place)
    tied = [places for places in groups.values() if places[1:]]
    methods = tuple(dict.fromkeys(found.lines[places[0]].method for places in tied))
    if not tied:
        return list(groups.values())
    names = [name for name in found.tables.names if name.metric in METRICS]
    every = sum_up(found.tables, names, replace(found.where, methods=methods))
    groups.clear()
    for place, line in enumerate(found.lines):
        key: Any = place
        if line.group == BASELINE and line.method in methods:
            key = tuple(_alike(line, line.at(every[name])) for name in names)
        groups.setdefault(key, []).append(place)
    return list(groups.values())


def _alike(line: Line, scores: Scores) -> tuple[Any, ...]:
    """Return what is the same where the maps of two models score the same on each image."""
    key = scores.numbers.tobytes(), scores.values.tobytes(), scores.sums.undefined
    return line.method, line.target, line.layer, *key
