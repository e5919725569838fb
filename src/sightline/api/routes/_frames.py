"""The tables over all images that words ask for, each computed once and kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from sightline.api.choice import (
    AskedTable,
    check_ties,
    choose_line,
    find_where,
    refuse_words,
    stored_name,
    threshold_of,
)
from sightline.api.problems import Refusal, naming, wrong
from sightline.api.routes._cells import layer_of
from sightline.api.routes._table_cache import keep
from sightline.metrics import METRICS
from sightline.report._figure_data import directed_metrics
from sightline.report._figures_scores import RANKED
from sightline.report._lines import Lines, lines_where
from sightline.report.figures import StoreFigures
from sightline.report.scores import Scored
from sightline.results._catalogue import Where
from sightline.results.leaderboard import (
    CHOSEN,
    find_warnings,
    list_map_keys,
    so_far,
    with_note,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sightline.api.choice import Chosen
    from sightline.api.schemas import Choice
    from sightline.api.state import Served
    from sightline.results import BaselineComparison
    from sightline.results._lines import Line
    from sightline.results._views import Name

__all__ = [
    "asked",
    "board",
    "compare_best_baseline",
    "find_row_warnings",
    "given_words",
    "label_breakdown",
    "lines_of",
    "progression",
    "ranking",
    "style_breakdown",
    "sweep",
]

_SIGNIFICANT = 0.05


# --- words ---------------------------------------------------------------------------------------


def asked(served: Served, words: AskedTable) -> AskedTable:
    """Return words whose metric is that of the percentile or selection asked for, if any.

    Raises
    ------
    Refusal
        422, if words ask for what tables over all images do not have: they hold what was stored.
    """
    check_ties(served, words)
    if words.metric is not None or threshold_of(words) is None:
        return words
    return replace(words, metric=str(stored_name(served, words)))


def given_words(words: AskedTable) -> dict[str, Any]:
    """Return the words that choose maps, as `Results` takes them."""
    fields = ("model", "method", "layer", "head", "target", "seed")
    return {field: getattr(words, field) for field in fields}


def _named(served: Served, words: AskedTable) -> tuple[Name, Where]:
    with naming("metric"):
        name = served.name(words.metric)
    return name, find_where(served, words, words.layer)


# --- lines ---------------------------------------------------------------------------------------


def lines_of(served: Served, words: AskedTable) -> Lines:
    """Return the lines of the leaderboard; baselines that are equal for several models are one."""
    found = _own_lines(served, words)
    if found.where == Where():
        return found
    # A line has one name in all answers, also where there are no others beside it.
    return found.renamed(_own_lines(served, AskedTable()).called)


def _own_lines(served: Served, words: AskedTable) -> Lines:
    """Return the lines under names that tell them apart, and no more."""
    name, where = _named(served, words)
    key = ("lines", name, where, words.layer)
    return keep(served, key, lambda: lines_where(served.tables, name, where, words.layer))


def board(served: Served, words: AskedTable) -> pd.DataFrame:
    """Return the leaderboard, the best first."""
    words = asked(served, words)
    name, where = _named(served, words)
    found = lines_of(served, words)
    key = ("board", name, where, words.layer)
    frame = keep(served, key, lambda: found.board(name))
    flattered = any(line.chosen.startswith("best") for line in found.lines)
    more = CHOSEN if flattered else "", so_far(served.tables)
    return _noted(frame, *more, warnings=_warnings(served, found.lines))


def compare_best_baseline(served: Served, words: AskedTable) -> BaselineComparison | None:
    """Return the best configuration against the best baseline of the run."""
    words = asked(served, words)
    name, _ = _named(served, words)
    given = given_words(words)
    given["layer"] = "best" if words.layer is None else words.layer
    key = ("best baseline", name, words)
    return keep(served, key, lambda: served.results.compare_best(str(name), **given))


def _warnings(served: Served, lines: Iterable[Line]) -> tuple[str, ...]:
    return find_warnings(served.tables, list_map_keys(lines))


def find_row_warnings(served: Served, rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return what speaks against comparing the scores of the maps that rows of a table name."""
    maps: set[Any] = {
        (row["model"], row["method"], row["target"], layer_of(row["layer"])) for row in rows
    }
    return find_warnings(served.tables, maps)


def _noted(frame: pd.DataFrame, *more: str, warnings: tuple[str, ...]) -> pd.DataFrame:
    """Return a table that is kept, with more notes."""
    copy = frame.copy(deep=False)
    copy.attrs = {**frame.attrs}
    return with_note(copy, str(frame.attrs.get("note", "")), *more, warnings=warnings)


def progression(served: Served, words: AskedTable) -> pd.DataFrame:
    """Return a line for each model, method, target and layer; equal baselines are one."""
    refuse_words(words, ("layer",), "the table of all layers")
    words = asked(served, words)
    name, _ = _named(served, words)
    given = given_words(words)
    del given["layer"]
    key = ("progression", name, words)
    frame = keep(served, key, lambda: served.results.layer_progression(str(name), **given))
    return _called(frame, lines_of(served, words))


def sweep(served: Served, words: AskedTable) -> pd.DataFrame:
    """Return a line for each model, method, target and percentile; equal baselines are one."""
    served.name(None)  # says so where nothing is stored yet
    check_ties(served, words)
    refuse_words(words, ("percentile", "selection"), "the table of all percentiles")
    metric = (words.metric or "iou").partition("@")[0]
    known = dict.fromkeys(one.partition("@")[0] for one in served.results.metrics if "@" in one)
    if metric not in known:
        raise wrong(
            f"metric must be one with percentiles: {', '.join(known) or 'none is stored'}; "
            f"got {metric!r}",
            "metric",
        )
    words = replace(words, metric=None)
    find_where(served, words, words.layer)
    key = ("sweep", metric, words)
    given = given_words(words)
    frame = keep(served, key, lambda: served.results.percentile_sweep(metric, **given))
    return _called(frame, lines_of(served, replace(words, layer=None)))


def _called(frame: pd.DataFrame, lines: Lines) -> pd.DataFrame:
    """Leave one line of baselines that are equal, and put names beside all."""
    firsts = {
        (line.model, line.method, line.target): (name, count)
        for line, name, count in zip(lines.lines, lines.names, lines.models, strict=True)
    }
    keys = list(zip(frame["model"], frame["method"], frame["target"], strict=True))
    kept = [key in firsts for key in keys]
    told = [firsts[key] for key in keys if key in firsts]
    found = frame[kept].copy()
    found.insert(0, "name", [name for name, _ in told])
    found["models"] = [count for _, count in told]
    found.attrs = dict(frame.attrs)
    return found.reset_index(drop=True)


# --- ranking -------------------------------------------------------------------------------------


def ranking(served: Served, words: AskedTable, metrics: tuple[str, ...]) -> pd.DataFrame:
    """Return rank, mean and difference from the best of each line by each metric.

    Returns
    -------
    DataFrame
        name, model, method, group, target, layer, models, metric, value, rank, significant (a
        boolean, or None where it was not tested).
    """
    words = asked(served, words)
    name, _ = _named(served, words)
    if METRICS[name.metric].direction == "neither":
        raise wrong(f"{name}: no value is better than another, so no layer is best by it", "metric")
    with naming("metrics"):
        names = tuple(served.name(metric) for metric in metrics or _ranked(served))
    return keep(served, ("ranking", words, names), lambda: _ranks(served, words, names))


def _ranked(served: Served) -> tuple[str, ...]:
    found = directed_metrics(StoreFigures(served.results, predictions=False), RANKED, 2)
    if not found:
        raise Refusal(409, "no metric of the study says what is better, so nothing can be ranked")
    return tuple(found)


def _ranks(served: Served, words: AskedTable, names: tuple[Name, ...]) -> pd.DataFrame:
    # A copy, so that the scores of single images are not kept.
    lines = replace(lines_of(served, words), _found={})
    lines.load(names)
    compared = _compared(served, words, lines)
    order = {one: place for place, one in enumerate(lines.names)}
    parts = []
    for name in names:
        frame = lines.board(name)
        frame["metric"] = str(name)
        frame["significant"] = _significant(compared, frame, str(name))
        part = frame[list(_RANKING)]
        parts.append(part.sort_values("name", key=lambda one: one.map(order), kind="stable"))
    frame = pd.concat(parts, ignore_index=True)
    frame.attrs = {"warnings": _warnings(served, lines.lines)}
    return frame


_RANKING = ("name", "model", "method", "group", "target", "layer", "models", "metric", "value",
            "rank", "significant")  # fmt: skip


def _compared(served: Served, words: AskedTable, lines: Lines) -> Scored:
    """Return lines to compare; where layers were chosen on the same images, by halves instead."""
    halves = None
    if any("same images" in line.chosen for line in lines.lines):
        halves = _own_lines(served, replace(words, layer="split"))
        halves = replace(halves, _found=lines._found)  # of the same maps
    none = pd.DataFrame({"name": list(lines.names)})
    return Scored(str(lines.lead), (), none, none, lines, halves, [])


def _significant(scored: Scored, frame: pd.DataFrame, metric: str) -> list[bool | None]:
    """Say of each line whether it differs from the best by this metric beyond chance."""
    ranks = frame["rank"]
    if ranks.isna().all():
        return [None] * len(frame)
    best = str(frame["name"].iloc[int(ranks.argmin())])
    others = [str(one) for one in frame.loc[ranks.notna(), "name"] if one != best]
    if not others:
        return [None] * len(frame)
    tested = scored.compare([(best, one) for one in others], metric)
    told = dict(zip(tested["b"], tested["p_holm"], strict=True))
    values = [told.get(one) for one in frame["name"]]
    return [None if p is None or p != p else bool(p < _SIGNIFICANT) for p in values]


# --- breakdowns ----------------------------------------------------------------------------------


def label_breakdown(
    served: Served, words: AskedTable, ancestors: bool
) -> tuple[pd.DataFrame, Choice, str]:
    """Return the regions' scores by label, whose maps they are of, and the threshold."""
    named = (words.metric or "").partition("@")[2]
    token = named or threshold_of(words)
    lead = f"iou@{token or _usual(served)}"
    words = asked(served, words)
    known = lead if lead in served.results.metrics else None
    chosen = choose_line(served, replace(words, metric=known))
    given = given_words(words)
    key = ("labels", words, token, ancestors)
    with naming("metric" if named else "percentile"):
        frame = keep(
            served,
            key,
            lambda: served.results.feature_breakdown(
                **given, percentile=token, ancestors=ancestors
            ),
        )
    frame = _noted(frame, warnings=_warnings(served, [chosen.line]))
    return frame, chosen.choice, token or _usual(served)


def _usual(served: Served) -> str:
    """Return the threshold that is shown unless one is named: 90, or the highest."""
    found = [one.partition("@")[2] for one in served.results.metrics if one.startswith("iou@")]
    return "90" if "90" in found or not found else found[0]


def style_breakdown(served: Served, words: AskedTable) -> tuple[pd.DataFrame, Chosen]:
    """Return the images' scores by label, and whose maps they are of."""
    words = asked(served, words)
    chosen = choose_line(served, words)
    key = ("styles", chosen.name, words)
    given = given_words(words)
    frame = keep(served, key, lambda: served.results.style_breakdown(str(chosen.name), **given))
    return _noted(frame, warnings=_warnings(served, [chosen.line])), chosen
