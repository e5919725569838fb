"""Lines of a leaderboard: means over images, and how a layer or method was chosen."""

from __future__ import annotations

# The texts put together here are SQL of ours, with checked names.
# ruff: noqa: S608
import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.metrics import METRICS
from sightline.records import InputError, UnknownNameError
from sightline.results._catalogue import BASELINE, Where
from sightline.results._views import Name, full_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from sightline.results._tables import Tables

__all__ = [
    "HALVES",
    "Candidate",
    "Line",
    "Scores",
    "Sums",
    "best_line",
    "find_line",
    "make_lines",
    "narrowed",
    "rounded",
    "sum_up",
    "units_of",
    "units_sql",
]

# Of a mean; further digits come from rounding and decide no rank.
DIGITS = 12
HALVES = """SELECT image, (row_number() OVER (ORDER BY sha256(image)) - 1) % 2 AS half,
  row_number() OVER (ORDER BY image) - 1 AS number FROM images"""


class Candidate(NamedTuple):
    """Maps among which a choice is made."""

    method: str
    target: str
    layer: int | None


class Sums(NamedTuple):
    """Numbers of images and sums over those with a defined score."""

    n: float
    undefined: float
    value: float
    chance: float
    ceiling: float
    selected: float
    uniform: float

    def mean(self, what: str = "value") -> float:
        """Return the mean score, or that of what stands beside it."""
        total: float = getattr(self, what)
        return total / self.n if self.n else math.nan

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
    """

    sums: Sums
    numbers: Any
    values: Any

    def __add__(self, other: object) -> Scores:
        if not isinstance(other, Scores):
            return NotImplemented
        pairs = zip(self[1:], other[1:], strict=True)
        return Scores(self.sums + other.sums, *map(np.concatenate, pairs))


_NONE = (np.empty(0, np.int64), np.empty(0))
_NOTHING = Scores(Sums(0, 0, *[math.nan] * 5), *_NONE)
Halves = tuple[Scores, Scores]
Candidates = dict[Candidate, Halves]
Found = dict[tuple[str, int | None], Candidates]


@dataclass(frozen=True, slots=True)
class Line:
    """The scores of one way to make maps.

    Attributes
    ----------
    model, head, group
        Whose maps.
    picks
        The method, target and layer used on each half of the images; the same one twice unless
        they were chosen by halves.
    chosen
        How, in words; empty where there was nothing to choose.
    scores
        Those of the images.
    seed
        That of the maps, where one was asked for.
    blind
        The halves of the images for which nothing could be chosen, as no score of the other half
        is defined; their scores count as undefined.
    """

    model: str
    head: int | None
    group: str
    picks: tuple[Candidate, Candidate]
    chosen: str
    scores: Scores = field(compare=False, repr=False)
    seed: int | None = None
    blind: tuple[int, ...] = ()

    @property
    def sums(self) -> Sums:
        """Over the images."""
        return self.scores.sums

    @property
    def method(self) -> str:
        """The method, or those of both halves."""
        return _both(self.picks[0].method, self.picks[1].method)

    @property
    def target(self) -> str:
        """What is explained, or that of both halves."""
        return _both(self.picks[0].target, self.picks[1].target)

    @property
    def layer(self) -> int | str | None:
        """The layer, or those of both halves."""
        first, second = (pick.layer for pick in self.picks)
        if not self.blind and first == second:
            return first
        return _both(
            *(
                "-" if half in self.blind else _dash(layer)
                for half, layer in enumerate((first, second))
            )
        )

    @property
    def split(self) -> bool:
        """Whether the choice on one half was made on the other."""
        return self.chosen.startswith("split")

    def told(self) -> str:
        """Say in words what the line is about."""
        parts = [self.model, self.method, self.target]
        if self.layer is not None:
            parts.append(f"layer {self.layer}")
        if self.head is not None:
            parts.append(f"head {self.head}")
        if self.seed is not None:
            parts.append(f"seed {self.seed}")
        chosen = f" ({self.chosen})" if self.chosen else ""
        return " · ".join(part for part in parts if part) + chosen

    def at(self, found: Found) -> Scores:
        """Return the line's scores out of those of another metric."""
        return _put_together(found.get((self.model, self.head), {}), self.picks, self.blind)

    def sql(self) -> str:
        """Return the condition on rows of scores, where `half` says which half an image is in."""
        first, second = self.picks
        head = "head IS NULL" if self.head is None else f"head = {self.head}"
        seed = "" if self.seed is None else f" AND (seed = {self.seed} OR seed IS NULL)"
        common = f"\"check\" = '' AND {head} AND {full_model()} = $model{seed}"
        if first == second:
            return f"{common} AND {_is(first, 0)}"
        return f"{common} AND ((half = 0 AND {_is(first, 0)}) OR (half = 1 AND {_is(second, 1)}))"

    def value_sql(self) -> str:
        """Return the SQL of a score, null on a half of the images for which nothing was chosen."""
        halves = ", ".join(map(str, self.blind))
        return f"CASE WHEN half IN ({halves}) THEN NULL ELSE value END" if halves else "value"

    def values(self) -> dict[str, str]:
        """Return the values that the condition names."""
        first, second = self.picks
        found = {"model": self.model, "method0": first.method, "target0": first.target}
        if first != second:
            found |= {"method1": second.method, "target1": second.target}
        return found


def _is(pick: Candidate, half: int) -> str:
    layer = "layer IS NULL" if pick.layer is None else f"layer = {pick.layer}"
    return f"(method = $method{half} AND target = $target{half} AND {layer})"


def _both(first: str, second: str) -> str:
    return first if first == second else f"{first}|{second}"


def _dash(layer: int | None) -> str:
    return "-" if layer is None else str(layer)


def rounded(value: float) -> float:
    """Return a mean without the digits that come from rounding alone."""
    return round(value, DIGITS) if math.isfinite(value) else value


def units_sql(tables: Tables, scores: str, where: str, by: str) -> str:
    """Return the SQL of scores averaged over seeds, one for each combination of `by`."""
    # Sums are taken in one and the same order each time, so that no bit of them changes.
    order = " ORDER BY seed" if tables.catalogue.seeds else ""
    defined = "FILTER (NOT isnan(value))"
    means = ", ".join(f"avg({name}{order}) {defined} AS {name}" for name in Sums._fields[2:])
    return f"SELECT {by}, {means} FROM ({scores}) WHERE {where} GROUP BY ALL"


def units_of(tables: Tables, name: Name, line: Line, by: str = "image") -> str:
    """Return the SQL of a line's scores, one for each image, or each combination of `by`."""
    methods = [pick.method for pick in line.picks]
    scores = tables.scores([name], [line.model], methods, whole="region" not in by)
    if line.split:
        value = f"{line.value_sql()} AS value"
        scores = f"SELECT * REPLACE ({value}) FROM ({scores}) LEFT JOIN ({HALVES}) USING (image)"
    level = "region IS NOT NULL" if "region" in by else "region IS NULL"
    return units_sql(tables, scores, f"{level} AND {line.sql()}", by)


_LAYERS = ("best", "split", "last", "all")


def make_lines(
    tables: Tables,
    name: Name,
    where: Where,
    layer: int | str = "best",
    method: str | None = None,
    found: Found | None = None,
) -> list[Line]:
    """Return the lines of a table, in the order of their names.

    Parameters
    ----------
    tables, name, where
        What is averaged.
    layer
        ``"best"``, ``"split"``, ``"last"``, ``"all"``, or a number, which `where` holds too.
    method
        ``"best"`` or ``"split"`` to choose among methods too, with one line for each model.
    found
        The scores of these maps, where `sum_up` has found them before; see `narrowed`.
    """
    if not isinstance(layer, int) and layer not in _LAYERS:
        raise InputError(f"layer must be a number or one of {', '.join(_LAYERS)}; got {layer!r}")
    direction = METRICS[name.metric].direction
    if direction == "neither":
        if method is not None:
            raise InputError(f"{name}: no value is better than another, so no method is best")
        layer = "last" if layer in ("best", "split") else layer
    if method is not None and (layer == "all" or (method, layer) == ("best", "split")):
        raise InputError(f"method {method!r} does not go with layer {layer!r}")
    sign = -1 if direction == "lower" else 1
    if found is None:
        found = sum_up(tables, [name], where)[name]
    lines = []
    for (model, head), candidates in found.items():
        groups = {pick: tables.catalogue.group(model, pick.method) for pick in candidates}
        for same in _same_line(candidates, groups, method):
            chosen = _chosen(same, method or layer, layer, sign)
            for picks, how, scores, blind in chosen:
                group = _both(groups[picks[0]], groups[picks[1]])
                lines.append(Line(model, head, group, picks, how, scores, where.seed, blind))
    return lines


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
    scores = tables.scores(names, where.models, where.methods, whole=True)
    units = units_sql(tables, scores, f"region IS NULL AND {where.sql()}", by)
    sql = f"""WITH units AS ({units})
SELECT metric, threshold, model, head, method, target, layer, coalesce(half, 0) AS half,
  count(value) AS n, count(*) - count(value) AS undefined, sum(value ORDER BY number) AS value,
  {", ".join(_total_sql(figure) for figure in Sums._fields[3:])},
  list(number ORDER BY number) FILTER (value IS NOT NULL) AS numbers,
  list(value ORDER BY number) FILTER (value IS NOT NULL) AS scores
FROM units LEFT JOIN ({HALVES}) USING (image)
GROUP BY ALL ORDER BY metric, threshold, model, head NULLS FIRST, method, target,
  layer NULLS FIRST, half"""
    found: dict[Name, Found] = {name: {} for name in names}
    for metric, threshold, model, head, *pick_of, half, here in _read(tables.arrow(sql)):
        pick = Candidate(*pick_of)
        candidates = found[Name(metric, threshold)].setdefault((model, head), {})
        halves = candidates.setdefault(pick, (_NOTHING, _NOTHING))
        candidates[pick] = (halves[0], here) if half else (here, halves[1])
    return found


def _read(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Yield the names of lines with their scores."""
    *columns, numbers, values = table.columns
    lists = zip(_arrays(numbers), _arrays(values), strict=True)
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


def _same_line(
    candidates: Candidates, groups: Mapping[Candidate, str], method: str | None
) -> Iterator[Candidates]:
    """Put together what competes for one line; baselines never compete."""
    lines: dict[tuple[str, str] | None, Candidates] = {}
    for pick, halves in candidates.items():
        pooled = method is not None and groups[pick] != BASELINE
        lines.setdefault(None if pooled else pick[:2], {})[pick] = halves
    yield from lines.values()


def _chosen(
    candidates: Candidates, how: int | str, layer: int | str, sign: int
) -> Iterator[tuple[tuple[Candidate, Candidate], str, Scores, tuple[int, ...]]]:
    """Yield what lines are made of: maps for each half, how chosen, scores, halves without maps."""
    if layer == "last":
        last: dict[tuple[str, str], Candidate] = {pick[:2]: pick for pick in candidates}
        number = len(candidates)
        candidates = {pick: candidates[pick] for pick in last.values()}
        if how == "last":
            ((pick, halves),) = candidates.items()
            yield (pick, pick), f"last of {number} layers" if number > 1 else "", _total(halves), ()
            return
    if how not in ("best", "split") or len(candidates) == 1:
        for pick, halves in candidates.items():
            yield (pick, pick), "", _total(halves), ()
        return
    among = _among(candidates)
    if how == "best":
        best = _best({pick: _total(halves).sums for pick, halves in candidates.items()}, sign)
        yield (best, best), f"best of {among} on the same images", _total(candidates[best]), ()
        return
    # The maps for a half are those that did best on the other half.
    first, second = (
        _best({pick: halves[other].sums for pick, halves in candidates.items()}, sign)
        for other in (1, 0)
    )
    blind = tuple(
        half for half in (0, 1) if not any(two[1 - half].sums.n for two in candidates.values())
    )
    scores = _put_together(candidates, (first, second), blind)
    yield (first, second), f"split-half of {among}{_BLIND[blind]}", scores, blind


_WITHOUT = "no score of the other half is defined"
_BLIND = {
    (): "",
    (0,): f", none for the first half: {_WITHOUT}",
    (1,): f", none for the second half: {_WITHOUT}",
    (0, 1): ", none for either half: no score is defined",
}


def _put_together(
    candidates: Candidates, picks: tuple[Candidate, Candidate], blind: tuple[int, ...]
) -> Scores:
    """Return the scores of what was picked for each half; all is undefined where nothing was."""
    first, second = (
        candidates.get(pick, (_NOTHING, _NOTHING))[half] for half, pick in enumerate(picks)
    )
    halves = [
        _undefined(scores.sums) if half in blind else scores
        for half, scores in enumerate((first, second))
    ]
    return halves[0] + halves[1]


def _undefined(sums: Sums) -> Scores:
    """Return as many scores, none of which is defined."""
    return Scores(Sums(0, sums.n + sums.undefined, *[math.nan] * 5), *_NONE)


def _among(candidates: Candidates) -> str:
    """Say how many there were to choose from."""
    methods = len({pick[:2] for pick in candidates})
    if methods == 1:
        return f"{len(candidates)} layers"
    what = "methods" if methods == len(candidates) else "methods and layers"
    return f"{len(candidates)} {what}"


def _total(halves: Halves) -> Scores:
    return halves[0] + halves[1]


def _best(candidates: Mapping[Candidate, Sums], sign: int) -> Candidate:
    """Return the best; among equals the first."""
    return max(candidates, key=lambda pick: _worth(candidates[pick], sign))


def find_line(tables: Tables, name: Name, where: Where, layer: int | str | None = None) -> Line:
    """Return the one line that a table is about: the best that is not a baseline, if there is."""
    lines = make_lines(tables, name, where, "best" if layer is None else layer)
    return best_line(lines, name, where)


def best_line(lines: Sequence[Line], name: Name, where: Where) -> Line:
    """Return the best of some lines that is not a baseline, if there is one."""
    if not lines:
        raise UnknownNameError(f"no scores of {where.told()} are stored")
    sign = -1 if METRICS[name.metric].direction == "lower" else 1
    return max(lines, key=lambda line: (line.group != BASELINE, _worth(line.sums, sign)))


def _worth(sums: Sums, sign: int) -> float:
    """Return a number that is the higher the better a mean is; what has no score comes last."""
    mean = rounded(sums.mean())
    return -math.inf if math.isnan(mean) else sign * mean
