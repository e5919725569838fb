"""Query words, and the maps that they stand for; what is left out is chosen, and said so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from inspect import Signature, signature
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_type_hints

from fastapi import Depends, Query

from sightline.api.problems import naming, wrong
from sightline.api.schemas import Choice
from sightline.api.state import Served
from sightline.core.choices import Ties
from sightline.metrics.selection import Threshold, parse_selection
from sightline.results._catalogue import BASELINE, Where
from sightline.results._lines import Line
from sightline.results._views import Name, full_name

__all__ = [
    "AskedMap",
    "AskedTable",
    "Chosen",
    "MapWords",
    "MetricWord",
    "TableWords",
    "Words",
    "check_ties",
    "choose_line",
    "choose_map",
    "find_where",
    "read_words",
    "refuse_words",
    "sources_of",
    "stored_name",
    "threshold_of",
    "unknown_word",
]

T = TypeVar("T")

_PERCENTILE = 90.0
_RULES = ("percentile", "mass", "mean", "matched")

ModelWord = Annotated[
    str | None,
    Query(
        description="Full name of a model; a base stands for all its variants.",
        max_length=200,
        examples=["demo/vit"],
    ),
]
MethodWord = Annotated[
    str | None, Query(description="Name of a method.", max_length=200, examples=["rollout"])
]
NumberedLayer = Annotated[int | None, Query(description="From 0.", ge=0, examples=[5])]
AnyLayer = Annotated[
    Annotated[int, Query(ge=0)] | Literal["best", "last", "split"] | None,
    Query(
        description="From 0; or best (on the same images), last, or split (for each half of the "
        "images that which did best on the other half).",
        examples=["best"],
    ),
]
HeadWord = Annotated[
    int | None, Query(description="From 0; heads are fused unless given.", ge=0, examples=[1])
]
TargetWord = Annotated[
    str | None, Query(description="What is explained.", max_length=200, examples=["predicted"])
]
SeedWord = Annotated[
    int | None, Query(description="Of a method that draws random numbers.", examples=[0])
]
PercentileWord = Annotated[
    float | None,
    Query(
        description="Any number between 0 and 100; 90 selects the top 10% of pixels.",
        gt=0,
        lt=100,
        examples=[90],
    ),
]
SelectionWord = Annotated[
    str | None,
    Query(
        description="How pixels are selected: percentile, mass60 (or another share), mean, "
        "matched.",
        max_length=40,
        examples=["percentile"],
    ),
]
TiesWord = Annotated[
    Ties | None,
    Query(description="What pixels equal to the threshold get: a share each, or all."),
]
MetricWord = Annotated[
    str | None,
    Query(
        description="A score that the study stored, metric[@threshold].",
        max_length=100,
        examples=["iou@90"],
    ),
]


@dataclass(frozen=True, slots=True)
class Words:
    """Words that choose maps, and how their pixels are selected; none need be given."""

    model: ModelWord = None
    method: MethodWord = None
    head: HeadWord = None
    target: TargetWord = None
    seed: SeedWord = None
    percentile: PercentileWord = None
    selection: SelectionWord = None
    ties: TiesWord = None


@dataclass(frozen=True, slots=True)
class AskedMap(Words):
    """Words that choose one map of each image."""

    layer: NumberedLayer = None


@dataclass(frozen=True, slots=True)
class AskedTable(Words):
    """Words that choose the maps of a table over all images."""

    layer: AnyLayer = None
    metric: MetricWord = None


def read_words(kind: type[T]) -> Callable[..., Awaitable[T]]:
    """Return a dependency that reads the fields of a dataclass from the query.

    FastAPI would call the class itself in a thread of its pool, where it had to wait for a free one
    twice; this runs at once.
    """
    hints = get_type_hints(kind, include_extras=True)
    fields = signature(kind).parameters.values()

    async def read(**values: Any) -> T:
        return kind(**values)

    known = [one.replace(annotation=hints[one.name]) for one in fields]
    read.__signature__ = Signature(known)  # type: ignore[attr-defined]
    return read


MapWords = Annotated[AskedMap, Depends(read_words(AskedMap))]
"""Words of a route about one image: the type of a parameter."""
TableWords = Annotated[AskedTable, Depends(read_words(AskedTable))]
"""Words of a route about all images: the type of a parameter."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The maps that words stand for.

    Attributes
    ----------
    choice : Choice
        As answers tell it.
    line : Line
        As the tables know it.
    name : Name
        The score by which it was chosen, and which a table shows.
    """

    choice: Choice
    line: Line
    name: Name


def choose_map(served: Served, words: AskedMap) -> Chosen:
    """Return the one map of each image that words stand for.

    What is left out is the leaderboard's best line that is no baseline, by the score that leads
    the tables, whatever the percentile: a threshold that moves must not change the map. Of maps
    that were drawn several times it is the first.

    Raises
    ------
    Refusal
        422, naming the word that stands for nothing; 409, if nothing is stored yet.
    """
    name = served.name(None)
    line = _line_of_map(served, words)
    seeds = [source["seed"] for source in sources_of(served, line)]
    seed = words.seed if words.seed in seeds else seeds[0]
    rule = _asked_rule(served, words)
    choice = _choice(served, words, line, _Filled(seed, rule, words.ties), name)
    return Chosen(choice, line, name)


def _line_of_map(served: Served, words: AskedMap) -> Line:
    """Return the line of the tables that words of a map stand for, whatever the percentile."""
    bare = replace(words, percentile=None, selection=None, ties=None)

    def find() -> Line:
        where = find_where(served, words, words.layer)
        return _line(served, served.name(None), where, words.layer)

    return served.kept(("line of map", bare), find)


def choose_line(served: Served, words: AskedTable, *, regions: bool = False) -> Chosen:
    """Return the line of a table over all images that words stand for.

    Parameters
    ----------
    served, words
        What is stored, and what is asked.
    regions
        Whether the score must be one that single regions have.

    Notes
    -----
    Tables show what is stored: the threshold of the choice is that of the score (see
    `stored_name`), and ties are the study's. `seed` is null unless it was asked for: scores are
    means over seeds. `layer` is null, too, where halves of the images have different ones; `why`
    names them.

    Raises
    ------
    Refusal
        422, naming the word that stands for nothing; 409, if nothing is stored yet.
    """
    name = stored_name(served, words, regions=regions)
    where = find_where(served, words, words.layer)
    line = _line(served, name, where, words.layer)
    seeds = [source["seed"] for source in sources_of(served, line)]
    seed = words.seed if words.seed in seeds else None
    rule = _rule_of_name(name) or _asked_rule(served, words)
    choice = _choice(served, words, line, _Filled(seed, rule, None), name)
    return Chosen(choice, line, name)


def stored_name(served: Served, words: AskedTable, *, regions: bool = False) -> Name:
    """Return the stored score that words stand for.

    That is `metric`; without one, IoU (the leading score where none is stored) by `percentile` or
    `selection`; without these, the leading score.

    Raises
    ------
    Refusal
        422, naming the word that stands for nothing; 409, if nothing is stored yet.
    """
    token = threshold_of(words)
    with naming("metric"):
        name = served.name(words.metric, regions=regions)
    if words.metric is not None or token is None:
        return name
    metric = "iou" if any(one.metric == "iou" for one in served.tables.names) else name.metric
    known = [str(one) for one in served.tables.names if one.metric == metric and one.threshold]
    field = "selection" if words.selection not in (None, "percentile") else "percentile"
    if f"{metric}@{token}" not in known:
        raise wrong(
            f"{metric}@{token} was not stored; stored: {', '.join(known) or 'none'}. Scores of one "
            "image take any percentile and selection",
            field,
        )
    with naming(field):
        return served.name(f"{metric}@{token}", regions=regions)


def threshold_of(words: Words) -> str | None:
    """Return the threshold that percentile or selection name; None where neither does."""
    if words.percentile is None and words.selection is None:
        return None
    percentile = _PERCENTILE if words.percentile is None else words.percentile
    with naming("selection"):
        (rule,) = parse_selection(words.selection or "percentile", [percentile])
    return str(rule)


def check_ties(served: Served, words: Words) -> None:
    """See that ties are those of the study: tables hold what was stored.

    Raises
    ------
    Refusal
        422, if others are asked for.
    """
    stored = served.study["ties"]
    if words.ties not in (None, stored):
        raise wrong(
            f"ties must be {stored!r}, as the study has it: tables hold what was stored; "
            "scores of one image take any",
            "ties",
        )


def refuse_words(words: Words, names: tuple[str, ...], what: str) -> None:
    """Refuse words that something does not take: none may pass unseen.

    Raises
    ------
    Refusal
        422, naming the first that was given.
    """
    for name in names:
        if getattr(words, name) is not None:
            raise wrong(f"{name} does not go with {what}", name)


def _rule_of_name(name: Name) -> Threshold | None:
    """Return the rule of a score that depends on one."""
    rule = Threshold.parse(name.threshold) if name.threshold else None
    return rule if rule is not None and rule.kind in _RULES else None


def _asked_rule(served: Served, words: Words) -> Threshold:
    """Return how pixels are selected; the study's way unless asked."""
    stored = served.study["selection"]
    usual = "percentile" if "percentile" in stored or not stored else stored[0]
    percentile = _PERCENTILE if words.percentile is None else words.percentile
    with naming("selection"):
        (rule,) = parse_selection(words.selection or usual, [percentile])
    return rule


def find_where(served: Served, words: Words, layer: int | str | None = None) -> Where:
    """Check the names of words one after the other, so that the wrong one is named.

    Raises
    ------
    Refusal
        422, naming the word and what is stored.
    """
    given: dict[str, Any] = {}
    find = served.tables.catalogue.where
    every = {"model": words.model, "method": words.method, "layer": layer, "head": words.head}
    for field, value in (every | {"target": words.target, "seed": words.seed}).items():
        if value is not None:
            given[field] = value
            with naming(field):
                find(**given)
    return find(**given)


def _line(served: Served, name: Name, where: Where, layer: int | str | None) -> Line:
    with naming("layer" if layer is not None else "method"):
        return served.line(name, where, layer)


def sources_of(served: Served, line: Line) -> list[dict[str, Any]]:
    """Return the lines of the manifest that maps come from, one for each seed."""
    pick = line.picks[0]
    wanted = (line.model, pick.method, pick.target, "")

    def find() -> list[dict[str, Any]]:
        every = served.manifest["sources"]
        found = [
            one
            for one in every
            if (full_name(one), one["method"], one["target"], one["check"]) == wanted
        ]
        return [one for one in found if line.seed is None or one["seed"] in (None, line.seed)]

    return served.kept(("sources", wanted, line.seed), find)


class _Filled(NamedTuple):
    """What of a choice does not follow from its line; ties are the study's unless given."""

    seed: int | None
    rule: Threshold
    ties: Ties | None


def _choice(served: Served, words: Words, line: Line, given: _Filled, name: Name) -> Choice:
    pick, (rule, asked) = line.picks[0], (given.rule, words.percentile)
    by_level = rule.kind == "percentile"
    filled: dict[str, Any] = {
        "model": line.model,
        "method": pick.method,
        "layer": pick.layer if line.picks[0] == line.picks[1] else None,
        "target": pick.target,
        "seed": given.seed,
        "selection": "percentile" if by_level else str(rule),
        "percentile": rule.level if by_level else _PERCENTILE if asked is None else asked,
        "ties": given.ties or served.study["ties"],
    }
    chosen = tuple(
        field
        for field, value in filled.items()
        if value not in (None, "") and getattr(words, field, None) != value
    )
    sign = sources_of(served, line)[0]["sign"]
    why = _why(served, line, name, (*chosen, given.seed))
    return Choice(**filled, head=line.head, sign=sign, chosen=chosen, why=why)


def _why(served: Served, line: Line, name: Name, chosen: tuple[Any, ...]) -> str:
    """Say how what was not asked for was chosen."""
    parts = []
    if {"model", "method", "target"} & set(chosen[:-1]):
        by = f"chosen by {name}"
        parts.append(by if line.group == BASELINE else f"{by}, baselines excluded")
    if line.chosen:
        parts.append(f"layer {line.layer}: {line.chosen}")
    seeds = len(sources_of(served, line))
    if seeds > 1:
        means = f"scores are means over {seeds} seeds"
        parts.append(means if chosen[-1] is None else f"map of the first seed, {means}")
    return "; ".join(parts)


def unknown_word(name: str, known: list[str]) -> Exception:
    """Return the error for a query word that a route does not have."""
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return wrong(f"{name}: no such query word{hint} Known: {', '.join(known) or 'none'}", name)
