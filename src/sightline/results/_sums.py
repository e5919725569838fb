"""Scores summed up over images: of all maps at once, on each half of them."""

from __future__ import annotations

# The texts put together here are SQL of ours, with checked names.
# ruff: noqa: S608
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.results._catalogue import Where
from sightline.results._views import Name, full_model, weight_sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa

    from sightline.results._tables import Tables

__all__ = [
    "HALVES",
    "NOTHING",
    "ROOM",
    "Candidate",
    "Candidates",
    "Found",
    "Halves",
    "Scores",
    "Sums",
    "mean_sql",
    "narrowed",
    "sum_up",
    "undefined_scores",
    "units_sql",
]

HALVES = """SELECT image, (row_number() OVER (ORDER BY sha256(image)) - 1) % 2 AS half,
  row_number() OVER (ORDER BY image) - 1 AS number FROM images"""


ROOM = 1e-9
"""Below this the room of an image between chance and ceiling is rounding."""


class Candidate(NamedTuple):
    """Maps among which a choice is made."""

    method: str
    target: str
    layer: int | None


class Sums(NamedTuple):
    """Numbers of images and sums over those with a defined score.

    `value` is the sum of scores, each times its weight, and `weight` that of the weights: 1 each,
    but for metrics whose mean is a ratio of sums.
    """

    n: float
    undefined: float
    value: float
    chance: float
    ceiling: float
    selected: float
    uniform: float
    weight: float

    def mean(self, what: str = "value") -> float:
        """Return the mean score, or that of what stands beside it."""
        total: float = getattr(self, what)
        over = self.weight if what == "value" else self.n
        return total / over if over > ROOM * self.n else math.nan

    def __add__(self, other: object) -> Sums:
        if not isinstance(other, Sums):
            return NotImplemented
        return Sums(*(_add(*pair) for pair in zip(self, other, strict=True)))


def _add(one: float, other: float) -> float:
    """Add, where a half without defined scores adds nothing."""
    return other if math.isnan(one) else one if math.isnan(other) else one + other


class Scores(NamedTuple):
    """Scores of single images.

    Attributes
    ----------
    sums
        Over all of them.
    numbers
        Of the images with a defined score, in the order of their names.
    values
        The scores of these images, after the mean over seeds.
    weights
        What each of them counts in the mean.
    """

    sums: Sums
    numbers: Any
    values: Any
    weights: Any

    def __add__(self, other: object) -> Scores:
        if not isinstance(other, Scores):
            return NotImplemented
        pairs = zip(self[1:], other[1:], strict=True)
        return Scores(self.sums + other.sums, *map(np.concatenate, pairs))


def undefined_scores(count: float) -> Scores:
    """Return the scores of so many images, none of which is defined."""
    sums = Sums(0, count, *[math.nan] * 6)
    return Scores(sums, np.empty(0, np.int64), np.empty(0), np.empty(0))


NOTHING = undefined_scores(0)
"""Of no image."""
Halves = tuple[Scores, Scores]
Candidates = dict[Candidate, Halves]
Found = dict[tuple[str, int | None], Candidates]


def units_sql(tables: Tables, scores: str, where: str, by: str, names: Iterable[Name]) -> str:
    """Return the SQL of scores averaged over seeds, one for each combination of `by`.

    `names` are the metrics of the scores; what each score counts in a mean is its `weight`.
    """
    # Sums are taken in one and the same order each time, so that no bit of them changes.
    order = " ORDER BY seed" if tables.catalogue.seeds else ""
    weight = weight_sql(names)
    figures = {name: name for name in Sums._fields[2:]} | {"weight": weight}
    found = {
        name: f"avg({figure}{order}) FILTER (NOT isnan(value))" for name, figure in figures.items()
    }
    if order and weight != _ALIKE:
        weighed = found["value"].replace("avg(value", f"avg(value * {weight}")
        found["value"] = f"{weighed} / {found['weight']}"
    means = ", ".join(f"{sql} AS {name}" for name, sql in found.items())
    return f"SELECT {by}, {means} FROM ({scores}) WHERE {where} GROUP BY ALL"


_ALIKE = weight_sql(())


def mean_sql(order: str) -> str:
    """Return the SQL of the mean over units, added up in this order; null where none counts."""
    weights = f"sum(weight ORDER BY {order})"
    mean = f"sum(value * weight ORDER BY {order}) / {weights}"
    return f"CASE WHEN {weights} > {ROOM} * count(value) THEN {mean} END"


def narrowed(found: Found, where: Where) -> Found:
    """Return the scores of some maps out of those of all, of the same head and seed."""
    narrow: Found = {}
    for (model, head), candidates in found.items():
        some = {pick: halves for pick, halves in candidates.items() if _fits(pick, where)}
        if some and (where.models is None or model in where.models):
            narrow[model, head] = some
    return narrow


def _fits(pick: Candidate, where: Where) -> bool:
    return (
        (where.methods is None or pick.method in where.methods)
        and (where.layer is None or pick.layer in (None, where.layer))
        and (where.target is None or pick.target in ("", where.target))
    )


def sum_up(tables: Tables, names: Sequence[Name], where: Where) -> dict[Name, Found]:
    """Return the scores of all maps, by model and head, over each half of the images.

    Where rows are in memory, those of all maps are summed up once and stay at hand.
    """
    every_seed = where.seed is None or tables.catalogue.only_seed(where.seed)
    if not (tables.preloaded and where.head is None and every_seed):
        return _sum_up(tables, names, where)

    def every(name: Name) -> Found:
        return tables.at_hand(("sums", name), lambda: _sum_up(tables, [name], _EVERY)[name])

    return {name: narrowed(every(name), where) for name in names}


_EVERY = Where()


def _sum_up(tables: Tables, names: Sequence[Name], where: Where) -> dict[Name, Found]:
    by = f"metric, threshold, {full_model()} AS model, method, target, layer, head, image"
    scores = tables.scores(names, whole=True)
    units = units_sql(tables, scores, f"region IS NULL AND {where.sql()}", by, names)
    sql = f"""WITH units AS ({units})
SELECT metric, threshold, model, head, method, target, layer, coalesce(half, 0) AS half,
  count(value) AS n, count(*) - count(value) AS undefined,
  sum(value * weight ORDER BY number) AS value,
  {", ".join(_total_sql(figure) for figure in Sums._fields[3:])},
  list(number ORDER BY number) FILTER (value IS NOT NULL) AS numbers,
  list(value ORDER BY number) FILTER (value IS NOT NULL) AS scores,
  list(weight ORDER BY number) FILTER (value IS NOT NULL) AS weights
FROM units LEFT JOIN ({HALVES}) USING (image)
GROUP BY ALL ORDER BY metric, threshold, model, head NULLS FIRST, method, target,
  layer NULLS FIRST, half"""
    found: dict[Name, Found] = {name: {} for name in names}
    for metric, threshold, model, head, *pick_of, half, here in _read(tables.arrow(sql)):
        pick = Candidate(*pick_of)
        candidates = found[Name(metric, threshold)].setdefault((model, head), {})
        halves = candidates.setdefault(pick, (NOTHING, NOTHING))
        candidates[pick] = (halves[0], here) if half else (here, halves[1])
    return found


def _read(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Yield the names of lines with their scores."""
    *columns, numbers, values, weights = table.columns
    lists = zip(_arrays(numbers), _arrays(values), _arrays(weights), strict=True)
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    for row, arrays in zip(rows, lists, strict=True):
        yield *row[:8], Scores(Sums(*(_number(total) for total in row[8:])), *arrays)


def _arrays(column: pa.ChunkedArray) -> Iterator[Any]:
    """Yield the lists of a column as arrays; a list that is null is empty."""
    for chunk in column.chunks:
        flat = chunk.values.to_numpy(zero_copy_only=False)
        yield from (flat[start:end] for start, end in pairwise(chunk.offsets.to_pylist()))


def _total_sql(figure: str) -> str:
    """Return the sum of what stands beside scores, null unless it stands beside all of them."""
    total = f"sum({figure} ORDER BY number)"
    return f"CASE WHEN count({figure}) = count(value) THEN {total} END AS {figure}"


def _number(value: float | None) -> float:
    return math.nan if value is None else value
