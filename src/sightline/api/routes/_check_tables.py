"""What the checks of a store say: which are stored, what was asked, tables that are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import pandas as pd
from fastapi import Depends, Query

from sightline.api.choice import MethodWord, MetricWord, ModelWord, TargetWord, read_words
from sightline.api.problems import Refusal, naming, not_found, of_store, wrong
from sightline.api.routes._cells import layer_of, records
from sightline.api.routes._table_cache import keep
from sightline.api.schemas import Answer, Reading
from sightline.api.state import Served
from sightline.results._views import full_name

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = [
    "AskedCheck",
    "AskedRedraw",
    "CheckParams",
    "CheckParamsDep",
    "CheckWords",
    "MeasureWord",
    "RedrawnWords",
    "STUDIED",
    "Stock",
    "checks_of",
    "filled",
    "frame_of",
    "kept_lines",
    "line_key",
    "read_metric",
    "need",
    "one_of",
    "stock_of",
    "stored_checks",
]

T = TypeVar("T", bound=Answer)

STUDIED = ("model", "method", "target", "layer")
"""Columns that say whose maps were checked."""

WayWord = Annotated[
    str | None,
    Query(
        description="How weights were redrawn: full, top-down, bottom-up, single.",
        max_length=40,
        examples=["full"],
    ),
]
MeasureWord = Annotated[
    str | None,
    Query(
        description="By what maps are compared, or what is measured; as /api/checks lists them.",
        max_length=60,
        examples=["spearman"],
    ),
]
ReadingWord = Annotated[
    Reading, Query(description="Whether maps are compared as they are, or by size of values.")
]


@dataclass(frozen=True, slots=True)
class AskedCheck:
    """Words that leave lines of a check away; none need be given."""

    model: ModelWord = None
    method: MethodWord = None
    target: TargetWord = None


@dataclass(frozen=True, slots=True)
class CheckParams(AskedCheck):
    """Which lines of a check, and whose best layers they are compared with."""

    metric: MetricWord = None


CheckParamsDep = Annotated[CheckParams, Depends(read_words(CheckParams))]
"""Query parameters of a check: the type of a parameter."""

CheckWords = Annotated[AskedCheck, Depends(read_words(AskedCheck))]
"""Words of a route about checks: the type of a parameter."""


@dataclass(frozen=True, slots=True)
class AskedRedraw:
    """How maps of redrawn networks are compared; none need be given."""

    measure: MeasureWord = None
    reading: ReadingWord = "signed"
    way: WayWord = None


RedrawnWords = Annotated[AskedRedraw, Depends(read_words(AskedRedraw))]
"""Words of a route about redrawn networks: the type of a parameter."""


# --- what is stored ------------------------------------------------------------------------------


def stored_checks(served: Served) -> tuple[str, ...]:
    """Return the names of the checks that the study asked for."""
    names = (one["part"] for one in checks_of(served))
    return tuple(dict.fromkeys(names))


def checks_of(served: Served) -> list[dict[str, Any]]:
    """Return the lines of the manifest that are checks of a method."""
    found: list[dict[str, Any]] = served.manifest.get("checks", [])
    return found


def need(served: Served, *names: str) -> None:
    """See that one of some checks is stored.

    Raises
    ------
    Refusal
        404, saying what would make it.
    """
    stored = stored_checks(served)
    if not stored:
        raise not_found(
            "no checks are stored: the study ran none. List them under `checks` in the study's "
            "file and run it again, or run `sightline sanity RUN`"
        )
    if not set(names) & set(stored):
        raise not_found(
            f"the check {names[0]!r} is not stored; stored: {', '.join(stored)}. List it under "
            "`checks` in the study's file and run it again"
        )


@dataclass(frozen=True)
class Stock:
    """What is stored of checks.

    Attributes
    ----------
    models, methods, targets : tuple of str
        That were checked.
    measures : mapping
        By the name of a check.
    ways : tuple of str
        In which weights were redrawn, among what else is kept beside them.
    table : DataFrame
        A line for each check of each method: images, draws, numbers.
    """

    models: tuple[str, ...]
    methods: tuple[str, ...]
    targets: tuple[str, ...]
    measures: Mapping[str, frozenset[str]]
    ways: tuple[str, ...]
    table: pd.DataFrame


def stock_of(served: Served, *names: str) -> Stock:
    """Return what is stored of checks; some of those named must be there.

    Raises
    ------
    Refusal
        404, if the study does not have them; 409, if nothing of them is stored yet.
    """
    need(served, *names)
    with of_store():
        stock = keep(served, "stock of checks", lambda: _stock(served.results.checks()))
    if not any(name in stock.measures for name in names):
        raise Refusal(409, f"nothing of the check {names[0]} is stored yet: {_how_far(served)}")
    return stock


def _how_far(served: Served) -> str:
    done, count = served.results.progress
    return f"{done} of {count} tasks are done"


def _stock(rows: pd.DataFrame) -> Stock:
    def names(column: str) -> tuple[str, ...]:
        return tuple(str(one) for one in rows[column].dropna().unique())

    groups = rows.groupby(["check", *STUDIED], sort=False, dropna=False, observed=True)
    table = groups.agg(
        images=("image", "nunique"), draws=("redraw", "nunique"), numbers=("value", "size")
    )
    by_check = rows.groupby("check", sort=False, observed=True)["measure"]
    return Stock(
        models=names("model"),
        methods=names("method"),
        targets=tuple(name for name in names("target") if name),
        measures={str(name): frozenset(map(str, some.unique())) for name, some in by_check},
        ways=names("way"),
        table=table.reset_index(),
    )


def one_of(field: str, asked: str | None, known: Iterable[str], usual: str = "") -> str:
    """Return what was asked for, if it is known; else what is usual, or the first.

    Raises
    ------
    Refusal
        422, naming the field and what is stored.
    """
    names = list(dict.fromkeys(known))
    if asked is None:
        return usual if usual in names else names[0]
    if asked not in names:
        raise wrong(f"{field} must be one of {', '.join(names)}; got {asked!r}", field)
    return asked


def frame_of(served: Served, key: Hashable, make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """Return a table, made once."""
    with of_store():
        return keep(served, ("check", key), make)


def read_metric(served: Served, params: CheckParams) -> str:
    """Return the score whose leaderboard the checked layers are compared with.

    Raises
    ------
    Refusal
        422, if it is not stored.
    """
    with naming("metric"):
        return str(served.name(params.metric))


# --- lines ---------------------------------------------------------------------------------------


def filled(kind: type[T], line: Mapping[str, Any], **more: Any) -> T:
    """Return a line of an answer out of a line of a table, which may have further columns."""
    known = {name: line[name] for name in kind.model_fields if name in line}
    for name in ("layer", "best_layer", "layer_one", "layer_other"):
        if name in known:
            known[name] = layer_of(known[name])
    return kind(**known | more)


def line_key(line: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return whose maps a line of a table is about, whatever the layer."""
    return tuple(line[name] for name in ("model", "method", "target"))


def kept_lines(served: Served, words: AskedCheck, frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the lines of a table that words do not leave away.

    Raises
    ------
    Refusal
        422, naming a word that stands for nothing, neither in the table nor in the study.
    """
    lines = records(frame)
    for field in ("model", "method", "target"):
        asked = getattr(words, field)
        if asked is None or field not in frame:
            continue
        _check(served, field, asked, {str(line[field]) for line in lines})
        lines = [line for line in lines if _fits(asked, str(line[field]), field)]
    return lines


def _fits(asked: str, name: str, field: str) -> bool:
    """Say whether a name is meant; the base of a model stands for its variants."""
    return name == asked or (field == "model" and name.partition("@")[0] == asked)


def _check(served: Served, field: str, asked: str, there: set[str]) -> None:
    """See that a word stands for something; a model that was not checked has no lines."""
    sources = (*served.manifest["sources"], *checks_of(served))
    study = {full_name(one) if field == "model" else str(one[field]) for one in sources}
    known = sorted({name for name in there | study if name})
    if not any(_fits(asked, name, field) for name in known):
        raise wrong(f"no {field} {asked!r} is stored; stored: {', '.join(known) or 'none'}", field)
