"""SQL of the views: the one place where chance and ceiling are put beside the stored scores."""

from __future__ import annotations

# The texts put together here are names of columns, metrics and files, each of them quoted.
# ruff: noqa: S608
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.core import row_schema
from sightline.metrics import METRICS
from sightline.store.duckdb import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = [
    "RATIOS",
    "Name",
    "full_model",
    "full_name",
    "keys",
    "quote",
    "read_files",
    "same_keys",
    "scores_sql",
    "weight_sql",
]

AREA = "attention_area"
# What rows beside those of metrics hold: the selected share, chance, and what a uniform map gets.
_KINDS = (AREA, "chance", "uniform")
_NULLABLE = ("region", "layer", "head", "seed")
RATIOS = {"iou_corrected": "iou"}
"""Metrics whose mean is a ratio of sums, and the metric whose room they are a share of."""


class Name(NamedTuple):
    """A metric and its threshold, as rows hold them.

    >>> str(Name("iou", "90")), str(Name("coverage", ""))
    ('iou@90', 'coverage')
    """

    metric: str
    threshold: str

    def __str__(self) -> str:
        return f"{self.metric}@{self.threshold}" if self.threshold else self.metric


def keys() -> tuple[str, ...]:
    """Return the key columns of the long table."""
    names = row_schema().names
    return tuple(names[: names.index("value")])


def same_keys(one: str, other: str, names: Iterable[str]) -> str:
    """Return the condition that rows of two tables have the same keys.

    >>> same_keys("a", "b", ["image", "layer"])
    'a."image" = b."image" AND a."layer" IS NOT DISTINCT FROM b."layer"'
    """
    return " AND ".join(
        f'{one}."{name}" {"IS NOT DISTINCT FROM" if name in _NULLABLE else "="} {other}."{name}"'
        for name in names
    )


def full_model(table: str = "") -> str:
    """Return the SQL of a model's full name, ``base@variant``."""
    dot = f"{table}." if table else ""
    return f"{dot}model || CASE {dot}variant WHEN '' THEN '' ELSE '@' || {dot}variant END"


def full_name(one: Mapping[str, Any]) -> str:
    """Return the full name of the model of what a manifest lists.

    >>> full_name({"model": "demo/vit", "variant": "seed2"})
    'demo/vit@seed2'
    """
    return f"{one['model']}@{one['variant']}" if one["variant"] else str(one["model"])


def read_files(paths: Iterable[Path]) -> str:
    """Return the SQL that reads parquet files as one table."""
    return f"read_parquet([{', '.join(quote(str(path)) for path in paths)}])"


def scores_sql(
    rows: str,
    stored: Iterable[Name],
    wanted: Collection[Name] | None = None,
    also: Sequence[str] = (),
) -> str:
    """Return the SQL of the scores: rows of metrics, with chance and ceiling beside each value.

    Parameters
    ----------
    rows
        What to read: a view or a call of `read_parquet`.
    stored
        Every metric and threshold of the rows. Figures that do not follow from areas have rows of
        their own there, which are joined to those of their metric.
    wanted
        The scores that are asked for, companions of metrics among them; by default all metrics.
    also
        Columns of `rows` beyond those of the schema to pass through.

    Notes
    -----
    Chance and ceiling are null where the value is NaN, so that their means are taken over the same
    images as that of the score.
    """
    stored = sorted(set(stored))
    extra = [name for name in stored if name.metric not in METRICS]
    real = [name for name in stored if name.metric in METRICS]
    if wanted is not None:
        real = [name for name in stored if name in wanted and _kind(name) not in _KINDS]
    joined = [name for name in real if any(_belongs(name, other) for other in extra)]
    plain = [name for name in real if name not in joined]
    parts = []
    if plain or not joined:
        where = _where(plain) if extra or wanted is not None else "true"
        parts.append(_branch(rows, plain, (), where, also))
    if joined:
        kinds = [kind for kind in _KINDS if any(_kind(other) == kind for other in extra)]
        parts.append(_branch(rows, joined, kinds, _where(joined), also))
    return "\nUNION ALL\n".join(parts)


def weight_sql(names: Iterable[Name]) -> str:
    """Return the SQL of what a score counts in a mean, over the columns of scores.

    A score on the scale from chance to ceiling counts by the room between the two, so that means
    are Σ(score − chance) / Σ(ceiling − chance) of the metric that it corrects. Others count 1.
    """
    metrics = dict.fromkeys(name.metric for name in names if name.metric in RATIOS)
    cases = [f"WHEN {quote(metric)} THEN {_room(RATIOS[metric])}" for metric in metrics]
    return f"CASE metric {' '.join(cases)} ELSE 1.0 END" if cases else "1.0"


def _room(metric: str) -> str:
    """Return the SQL of ceiling − chance out of the selected and the annotated share."""
    spec = METRICS[metric]
    formulas = [part.sql for part in (spec.ceiling, spec.chance) if part is not None]
    room = " - ".join(f"({sql})" for sql in formulas)
    names = {"a": "selected", "g": "area::DOUBLE"}
    return re.sub(r"\b[ag]\b", lambda letter: names[letter[0]], room)


def _kind(name: Name) -> str:
    """Return what rows beside those of metrics hold."""
    return AREA if name.metric == AREA else name.metric.rpartition("_")[2]


def _belongs(name: Name, other: Name) -> bool:
    """Say whether other rows must be read beside those of a metric."""
    if other.threshold != name.threshold:
        return False
    if other.metric == AREA:
        return _is_thresholded(name)
    return other.metric.rpartition("_")[0] == name.metric and _kind(other) in _KINDS


def _is_thresholded(name: Name) -> bool:
    return name.metric in METRICS and METRICS[name.metric].thresholded


def _where(names: Sequence[Name], dot: str = "r.") -> str:
    """Return the condition that a row is of one of these metrics."""
    tokens: dict[str, list[str]] = {}
    for name in names:
        tokens.setdefault(name.metric, []).append(name.threshold)
    metrics: dict[tuple[str, ...], list[str]] = {}
    for metric, found in tokens.items():
        metrics.setdefault(tuple(found), []).append(metric)
    parts = [
        f"({dot}metric IN ({_list(some)}) AND {dot}threshold IN ({_list(found)}))"
        for found, some in metrics.items()
    ]
    return "(" + (" OR ".join(parts) or "false") + ")"


def _list(texts: Iterable[str]) -> str:
    return ", ".join(quote(text) for text in texts)


def _branch(
    rows: str, names: Sequence[Name], kinds: Sequence[str], where: str, also: Sequence[str]
) -> str:
    """Return the SQL of scores that have companions of these kinds."""
    columns = [*row_schema().names, *also]
    found = {kind: f"{kind}.value" if kind in kinds else "NULL::DOUBLE" for kind in _KINDS}
    return f"""SELECT {", ".join(f'"{name}"' for name in columns)},
  CASE threshold WHEN '' THEN metric ELSE metric || '@' || threshold END AS name,
  a AS selected,
  CASE WHEN isnan(value) THEN NULL ELSE coalesce(c, {_case(names, _chance)}) END AS chance,
  CASE WHEN isnan(value) THEN NULL ELSE {_case(names, _ceiling)} END AS ceiling,
  CASE WHEN isnan(value) THEN NULL ELSE u END AS uniform
FROM (
  SELECT {", ".join(f'r."{name}"' for name in columns)}, r.area::DOUBLE AS g,
    coalesce({found[AREA]}, {_selected(names)}) AS a,
    {found["chance"]} AS c, {found["uniform"]} AS u
  FROM {rows} AS r
  {" ".join(_join(rows, kind) for kind in kinds)}
  WHERE {where}
)"""


def _join(rows: str, kind: str) -> str:
    """Return the join that puts companions beside the rows of their metric."""
    metric = f"'{AREA}'" if kind == AREA else f"r.metric || '_{kind}'"
    wanted = f"metric = '{AREA}'" if kind == AREA else f"metric LIKE '%\\_{kind}' ESCAPE '\\'"
    same = same_keys(kind, "r", [key for key in keys() if key != "metric"])
    return (
        f"LEFT JOIN (SELECT * FROM {rows} WHERE {wanted}) AS {kind} "
        f"ON {kind}.metric = {metric} AND {same}"
    )


def _selected(names: Sequence[Name]) -> str:
    """Return the selected share where it follows from the threshold."""
    cases = []
    for token in sorted({name.threshold for name in names if _is_thresholded(name)}):
        if token == "matched":  # noqa: S105
            cases.append("WHEN 'matched' THEN r.area::DOUBLE")
        elif re.fullmatch(r"\d+(\.\d+)?", token):
            cases.append(f"WHEN {quote(token)} THEN {(100 - float(token)) / 100!r}::DOUBLE")
    return f"CASE r.threshold {' '.join(cases)} END" if cases else "NULL::DOUBLE"


def _case(names: Sequence[Name], formula: Callable[[Name], str | None]) -> str:
    """Return one expression that holds the formulas of all metrics."""
    metrics: dict[str, dict[str, None]] = {}
    other = [name for name in names if formula(name) is None]
    for name in names:
        if name not in other:
            metrics.setdefault(formula(name) or "", {})[name.metric] = None
    cases = [
        f"WHEN metric IN ({_list(some)}) THEN ({sql})::DOUBLE" for sql, some in metrics.items()
    ]
    if other:
        cases.insert(0, f"WHEN {_where(other, '')} THEN NULL::DOUBLE")
    return f"CASE {' '.join(cases)} END" if cases else "NULL::DOUBLE"


def _chance(name: Name) -> str | None:
    """Return chance over a and g; with a tolerance, what is near the annotation counts too."""
    if name.metric not in METRICS:
        return None
    chance = METRICS[name.metric].chance
    return None if chance is None or name.threshold.startswith("tol") else chance.sql


def _ceiling(name: Name) -> str | None:
    """Return the best value over a and g, or the end of the range where areas set no bound."""
    if name.metric not in METRICS:
        return None
    spec = METRICS[name.metric]
    if spec.ceiling is not None:
        return spec.ceiling.sql
    best = {"higher": spec.range[1], "lower": spec.range[0]}.get(spec.direction, math.inf)
    return repr(best) if math.isfinite(best) else None
