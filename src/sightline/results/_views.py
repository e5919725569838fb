"""SQL of the views: the one place where chance and ceiling are put beside the stored scores."""

from __future__ import annotations

# The texts put together here are names of columns, metrics and files, each of them quoted.
# ruff: noqa: S608
import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.metrics import CONDITIONS, METRICS
from sightline.store.duckdb import quote

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

__all__ = [
    "BESIDE",
    "CONDITIONS_SQL",
    "LONG_KEYS",
    "RATIOS",
    "Name",
    "beside_sql",
    "build_table_view",
    "full_model",
    "full_name",
    "long_sql",
    "long_view",
    "quote",
    "read_files",
    "read_constants",
    "scores_sql",
    "weight_sql",
]

LONG_KEYS = (
    *("study", "rules", "image", "region", "model", "variant", "layer", "head", "method", "target"),
    *("seed", "check", "metric", "threshold"),
)
"""Columns that identify a score in the long view."""
_FACTS = ("chance", "uniform")
RATIOS = {"iou_corrected": "iou"}
"""Metrics whose mean is a ratio of sums, and the metric whose room they are a share of."""


_CASES = ", ".join(
    f"CASE WHEN undefined & {1 << bit} > 0 THEN {quote(text)} END"
    for bit, text in enumerate(CONDITIONS)
)
CONDITIONS_SQL = f"nullif(concat_ws('; ', {_CASES}), '')"
"""The conditions of a row as a text, null where none holds."""


class Name(NamedTuple):
    """A metric and its threshold, as rows hold them.

    >>> str(Name("iou", "90")), str(Name("coverage", ""))
    ('iou@90', 'coverage')
    """

    metric: str
    threshold: str

    def __str__(self) -> str:
        return f"{self.metric}@{self.threshold}" if self.threshold else self.metric


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
    table: str, columns: Collection[str], names: Iterable[Name], *, regions: bool = False
) -> str:
    """Return the SQL of the scores of some metrics, a row each, with chance and ceiling.

    Parameters
    ----------
    table
        What to read: `scores` or, with `regions`, `region_scores`.
    columns
        Its columns.
    names
        Metrics and thresholds; those without a column have no rows.

    Notes
    -----
    Chance and ceiling are null where the value is NaN, so that their means are taken over the same
    images as that of the score.
    """
    parts = [
        _select(table, columns, name, regions=regions)
        for name in names
        if str(name) in columns and not _is_fact(name)
    ]
    return "\nUNION ALL\n".join(parts) or _select(table, columns, None, regions=regions)


def _is_fact(name: Name) -> bool:
    """Return whether a column stands beside scores: a selected fraction, chance, a uniform map."""
    metric, _, kind = name.metric.rpartition("_")
    return name.metric == "selected_fraction" or (metric in METRICS and kind in _FACTS)


BESIDE = ("selected", "chance", "ceiling", "uniform")
"""What the long view has beside each score."""


def beside_sql(table: str, columns: Collection[str], names: Iterable[Name]) -> str:
    """Return the SQL of rows with several scores and what stands beside each, as ``name|kind``."""
    keys = ["rules", "image", *(["region"] if "region" in columns else []), "model", "variant"]
    keys += ["layer", "head", "method", "target", "seed", "pixels", "undefined"]
    facts = "annotated_fraction AS area, visible_fraction AS visible"
    parts = []
    for name in names:
        parts += [f'"{name}" AS "{name}|value"', f'"{name}" IS NOT NULL AS "{name}|stored"']
        for kind, sql in zip(BESIDE, _formulas(columns, name), strict=True):
            if read_constant(sql) is None:
                parts.append(f'{_over_facts(sql, columns, name)} AS "{name}|{kind}"')
    return f"SELECT {', '.join([*keys, facts, *parts])} FROM {table}"


def read_constants(columns: Collection[str], name: Name) -> dict[str, float]:
    """Return what stands beside a score and is the same in all rows, which `beside_sql` omits."""
    formulas = zip(BESIDE, _formulas(columns, name), strict=True)
    found = {kind: read_constant(sql) for kind, sql in formulas}
    return {kind: value for kind, value in found.items() if value is not None}


def read_constant(sql: str) -> float | None:
    """Return the number that a formula is, NaN for NULL; None for one over columns."""
    try:
        return math.nan if sql == "NULL" else float(sql.removesuffix("::DOUBLE"))
    except ValueError:
        return None


def _formulas(columns: Collection[str], name: Name) -> tuple[str, str, str, str]:
    """Return the SQL of the selected fraction, and over it of chance, ceiling, a uniform map."""
    metric, threshold = name
    return (
        selected_sql(columns, name),
        _read_or(columns, f"{metric}_chance@{threshold}".rstrip("@"), _chance(name)),
        _ceiling(name) or "NULL",
        _read_or(columns, f"{metric}_uniform@{threshold}".rstrip("@"), None),
    )


def _select(table: str, columns: Collection[str], name: Name | None, *, regions: bool) -> str:
    """Return the SQL of the rows of one score; of none, a table without rows."""
    value = "NULL::DOUBLE" if name is None else f'"{name}"'
    metric, threshold = name or ("", "")
    selected, chance, ceiling, uniform = _formulas(columns, name) if name else ["NULL"] * 4
    return f"""SELECT rules, image, {"region" if regions else "NULL::INTEGER AS region"}, model,
  variant, layer, head, method, target, seed, {quote(metric)} AS metric,
  {quote(threshold)} AS threshold, value, area, visible, pixels, undefined,
  {quote(str(name or ""))} AS name, a AS selected,
  CASE WHEN isnan(value) THEN NULL ELSE ({chance})::DOUBLE END AS chance,
  CASE WHEN isnan(value) THEN NULL ELSE ({ceiling})::DOUBLE END AS ceiling,
  CASE WHEN isnan(value) THEN NULL ELSE ({uniform})::DOUBLE END AS uniform
FROM (SELECT *, {value} AS value, annotated_fraction AS area, visible_fraction AS visible,
  annotated_fraction::DOUBLE AS g, ({selected})::DOUBLE AS a FROM {table})
WHERE value IS NOT NULL"""


def long_sql(scores: str, study: str) -> str:
    """Return the SQL of the long view: `scores_sql` with every key."""
    columns = [*LONG_KEYS, "value", "area", "visible", "name", "selected"]
    columns += ["chance", "ceiling", "uniform"]
    given = {"study": f"{quote(study)} AS study", "check": "'' AS \"check\""}
    return f"SELECT {', '.join(given.get(name, name) for name in columns)} FROM ({scores})"


def long_view(sql: str) -> str:
    """Return the SQL of the long view as people query it: full names of models, null for NaN."""
    value = "CASE WHEN NOT isnan(value) THEN value END AS value"
    return f"SELECT * REPLACE ({full_model()} AS model, {value}) FROM ({sql})"


def build_table_view(table: str, columns: Mapping[str, str]) -> str:
    """Return the SQL of a results table as people query it.

    NaN is null, so that averages leave undefined scores out, `undefined` is a text, and chance,
    ceiling and corrected IoU have columns beside the scores.
    """
    numbers = {column for column, kind in columns.items() if kind == "DOUBLE"}
    parts = []
    for column in columns:
        metric, _, threshold = column.partition("@")
        quoted = f'"{column}"'
        if column == "undefined":
            parts.append(f"{CONDITIONS_SQL} AS undefined")
        elif column == "model":
            parts.append(f"{full_model()} AS model")
        elif column in numbers:
            parts.append(f"CASE WHEN NOT isnan({quoted}) THEN {quoted} END AS {quoted}")
            parts += _derived(columns, Name(metric, threshold))
        else:
            parts.append(quoted)
    return f"SELECT {', '.join(parts)} FROM {table}"


def _derived(columns: Collection[str], name: Name) -> Iterator[str]:
    """Yield chance, ceiling and corrected IoU of a score, unless they are columns themselves."""
    if name.metric not in METRICS:
        return
    formulas = {"chance": _chance(name), "ceiling": METRICS[name.metric].ceiling and _ceiling(name)}
    found = {}
    for kind, sql in formulas.items():
        derived = str(Name(f"{name.metric}_{kind}", name.threshold))
        if sql and derived not in columns:
            found[kind] = _over_facts(sql, columns, name)
            yield f'CASE WHEN NOT isnan("{name}") THEN {found[kind]} END AS "{derived}"'
    for corrected, metric in RATIOS.items():
        derived = str(Name(corrected, name.threshold))
        if metric == name.metric and len(found) == len(formulas) and derived not in columns:
            room = f"nullif({found['ceiling']} - {found['chance']}, 0)"
            value = f'("{name}" - {found["chance"]}) / {room}'
            yield f'CASE WHEN NOT isnan("{name}") THEN {value} END AS "{derived}"'


def _over_facts(sql: str, columns: Collection[str], name: Name) -> str:
    """Return a formula over a and g as one over the columns of a table."""
    if sql.startswith('"'):  # a column
        return sql
    facts = {"a": f"({selected_sql(columns, name)})", "g": "annotated_fraction::DOUBLE"}
    return "(" + re.sub(r"\b[ag]\b", lambda letter: facts[letter[0]], sql) + ")::DOUBLE"


def _read_or(columns: Collection[str], column: str, sql: str | None) -> str:
    """Return a column where it is stored, else a formula."""
    return f'"{column}"' if column in columns else sql or "NULL"


def selected_sql(columns: Collection[str], name: Name) -> str:
    """Return the SQL of the selected fraction of a threshold: stored, or as it follows."""
    token = name.threshold
    if name.metric not in METRICS or not METRICS[name.metric].thresholded:
        return "NULL"
    if f"selected_fraction@{token}" in columns:
        return f'"selected_fraction@{token}"'
    if token == "matched":  # noqa: S105
        return "annotated_fraction::DOUBLE"
    is_number = re.fullmatch(r"\d+(\.\d+)?", token)
    return f"{(100 - float(token)) / 100!r}::DOUBLE" if is_number else "NULL"


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
