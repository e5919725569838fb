"""Lines of a leaderboard: means over images, and how a layer or method was chosen."""

from __future__ import annotations

# The texts put together here are SQL of ours, with checked names.
# ruff: noqa: S608
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sightline.core import InputError, UnknownNameError
from sightline.metrics import METRICS
from sightline.results._catalogue import BASELINE, Where
from sightline.results._sums import HALVES, NOTHING, Scores, sum_up, undefined_scores, units_sql
from sightline.results._views import Name, full_model
from sightline.results._wording import line_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sightline.results._sums import Candidate, Candidates, Found, Halves, Sums
    from sightline.results._tables import Tables

__all__ = ["Line", "best_line", "find_line", "make_lines", "rounded", "units_of"]

# Of a mean; further digits come from rounding and decide no rank.
DIGITS = 12


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
        numbers = self.layer, self.head, self.seed
        chosen = f" ({self.chosen})" if self.chosen else ""
        return line_name(self.model, self.method, self.target, *numbers) + chosen

    def at(self, found: Found) -> Scores:
        """Return the line's scores out of those of another metric."""
        return _put_together(found.get((self.model, self.head), {}), self.picks, self.blind)

    def sql(self) -> str:
        """Return the condition on rows of scores, where `half` says which half an image is in."""
        first, second = self.picks
        head = "head IS NULL" if self.head is None else f"head = {self.head}"
        seed = "" if self.seed is None else f" AND (seed = {self.seed} OR seed IS NULL)"
        common = f"{head} AND {full_model()} = $model{seed}"
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


def units_of(tables: Tables, name: Name, line: Line, by: str = "image") -> str:
    """Return the SQL of a line's scores, one for each image, or each combination of `by`."""
    scores = tables.scores([name], whole="region" not in by)
    if line.split:
        value = f"{line.value_sql()} AS value"
        scores = f"SELECT * REPLACE ({value}) FROM ({scores}) LEFT JOIN ({HALVES}) USING (image)"
    level = "region IS NOT NULL" if "region" in by else "region IS NULL"
    return units_sql(tables, scores, f"{level} AND {line.sql()}", by, [name])


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
        candidates.get(pick, (NOTHING, NOTHING))[half] for half, pick in enumerate(picks)
    )
    halves = [
        undefined_scores(scores.sums.n + scores.sums.undefined) if half in blind else scores
        for half, scores in enumerate((first, second))
    ]
    return halves[0] + halves[1]


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
    """Return the one line that a table is about: the best that is not a baseline, if there is.

    Raises
    ------
    InputError
        If all layers or heads are asked for: which of them it is about would not be said.
    """
    for what, asked in (("layer", layer), ("head", where.head)):
        if asked == "all":
            raise InputError(f"{what} 'all' is for a table with a line for each; this is about one")
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
