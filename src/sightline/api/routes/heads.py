"""Single heads: all of a model, each by label of regions, and the images on which one does best."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import pandas as pd
from fastapi import APIRouter, Query

from sightline.api.choice import (
    AskedTable,
    TableWords,
    check_ties,
    choose_line,
    find_where,
    refuse_words,
    stored_name,
)
from sightline.api.problems import PROBLEMS, Refusal, naming, not_found, wrong
from sightline.api.routes._cells import read_note, records
from sightline.api.routes._frames import asked, board
from sightline.api.routes._single import number
from sightline.api.routes._table_cache import keep
from sightline.api.routes.tables import LeastWord
from sightline.api.schemas import (
    Choice,
    ExemplarImage,
    Exemplars,
    HeadLine,
    HeadMatrix,
    HeadRanking,
)
from sightline.api.state import Here, Served
from sightline.core import UnknownNameError
from sightline.metrics import METRICS
from sightline.results._catalogue import BASELINE
from sightline.results._lines import Line
from sightline.results._views import Name, full_name

__all__ = ["Headed", "choose_heads", "matrix_of", "ranking_of", "router", "with_heads"]

router = APIRouter(tags=["tables"])


# --- whose heads ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Headed:
    """Whose heads a table is about.

    Attributes
    ----------
    choice
        As answers tell it; its layer is null unless one was asked for.
    name
        The score.
    given
        As `Results` takes the words.
    """

    choice: Choice
    name: Name
    given: dict[str, Any]


def choose_heads(served: Served, words: AskedTable, *, regions: bool = False) -> Headed:
    """Choose the model and method whose single heads are looked at.

    Raises
    ------
    Refusal
        404, if no single heads are stored; 422, if none are of what was asked.
    """
    refuse_words(words, ("head", "seed"), "a table of heads")
    words = asked(served, words)
    if isinstance(words.layer, str):
        raise wrong(f"layer must be a number: heads are of layers; got {words.layer!r}", "layer")
    pairs = with_heads(served)
    if not pairs:
        raise Refusal(
            404, "no single heads are stored; a study with `heads: all` in its file stores them"
        )
    lead = choose_line(served, words, regions=regions)
    frame = board(served, replace(words, metric=str(lead.name), percentile=None, selection=None))
    for line in frame.itertuples(index=False):
        if (line.model, line.method) in pairs and line.group != BASELINE:
            return _headed(served, words, str(line.model), str(line.method), regions)
    told = ", ".join(f"{model} {method}" for model, method in sorted(pairs))
    field = "method" if words.method is not None else "model"
    raise wrong(f"no single heads of these maps are stored; stored: {told}", field)


def with_heads(served: Served) -> set[tuple[str, str]]:
    """Return the models and methods of which single heads are stored."""
    return {
        (full_name(one), one["method"])
        for one in served.manifest["sources"]
        if not one["check"] and any(head is not None for head in one["heads"])
    }


def _headed(served: Served, words: AskedTable, model: str, method: str, regions: bool) -> Headed:
    chosen = choose_line(served, replace(words, model=model, method=method), regions=regions)
    own = {"model": words.model == model, "method": words.method == method}
    told = tuple(field for field, asked_for in own.items() if not asked_for)
    others = tuple(one for one in chosen.choice.chosen if one not in ("layer", *told))
    target = chosen.choice.target
    update: dict[str, Any] = {"chosen": told + others, "layer": words.layer}
    update["why"] = "the best line that has single heads" if told else ""
    choice = chosen.choice.model_copy(update=update)
    given = {"model": model, "method": method, "layer": words.layer, "target": target or None}
    return Headed(choice, chosen.name, given)


def ranking_of(served: Served, headed: Headed) -> pd.DataFrame:
    """Return the heads, the best first."""
    key = ("heads", headed.name, tuple(headed.given.items()))
    return keep(served, key, lambda: served.results.head_ranking(str(headed.name), **headed.given))


def matrix_of(served: Served, headed: Headed) -> pd.DataFrame:
    """Return heads by labels of regions."""
    key = ("head matrix", headed.name, tuple(headed.given.items()))
    return keep(
        served, key, lambda: served.results.head_feature_matrix(str(headed.name), **headed.given)
    )


# --- tables of heads -----------------------------------------------------------------------------


@router.get(
    "/api/heads",
    response_model=HeadRanking,
    responses=PROBLEMS,
    summary="The heads of a model, the best first",
    description="Of all layers, or of one (`layer`). Without `model` and `method` the best line of "
    "the leaderboard whose single heads were stored.",
)
def head_ranking(served: Here, words: TableWords) -> HeadRanking:
    """Return the heads of a model."""
    headed = choose_heads(served, words)
    frame = ranking_of(served, headed)
    lines = tuple(HeadLine(**line) for line in records(frame))
    return HeadRanking(
        choice=headed.choice, metric=str(headed.name), lines=lines, **read_note(frame)
    )


@router.get(
    "/api/heads/matrix",
    response_model=HeadMatrix,
    responses=PROBLEMS,
    summary="Heads by labels of regions",
    description="The mean score of each head over the regions of each label: which head looks at "
    "what. `metric` must be one that single regions have.",
)
def head_matrix(served: Here, words: TableWords, min_count: LeastWord = 1) -> HeadMatrix:
    """Return heads by labels of regions."""
    headed = choose_heads(served, words, regions=True)
    frame = matrix_of(served, headed)
    counts = frame.attrs["n"]
    labels = [str(one) for one in frame.columns if counts.get(str(one), 0) >= min_count]
    values = tuple(tuple(line.values()) for line in records(frame[labels]))
    return HeadMatrix(
        choice=headed.choice,
        metric=str(headed.name),
        labels=tuple(labels),
        counts=tuple(counts[label] for label in labels),
        heads=tuple((int(layer), int(head)) for layer, head in frame.index),
        values=values,
        note=frame.attrs["note"].partition(";")[0],
        warnings=frame.attrs["warnings"],
    )


# --- images of a head ----------------------------------------------------------------------------


@router.get(
    "/api/heads/exemplars",
    summary="Images on which a head does best",
    response_model=Exemplars,
    responses=PROBLEMS,
)
def get_exemplars(
    served: Here,
    words: TableWords,
    label: Annotated[
        str | None,
        Query(
            description="Label of regions, or one above theirs: list these in place of images.",
            max_length=200,
            examples=["window"],
        ),
    ] = None,
    limit: Annotated[int, Query(description="How many at most.", ge=1, le=200)] = 12,
) -> Exemplars:
    """The images, or the regions of one label, with the highest scores of a head.

    Without a head, the best one of what was asked for is taken.
    """
    name, line = _head_line(served, words, label)
    pick = line.picks[0]
    with naming("label"):
        frame = served.results.exemplars(
            str(name), model=line.model, method=pick.method, layer=pick.layer, head=line.head,
            target=pick.target or None, seed=words.seed, label=label, limit=limit,
        )  # fmt: skip
    items = tuple(
        ExemplarImage(
            image=row["image"],
            region=None if label is None else int(row["region"]),
            value=number(row["value"]),
            chance=number(row["chance"]),
        )
        for row in frame.to_dict("records")
    )
    return Exemplars(
        choice=_head_choice(served, words, line),
        metric=str(name),
        label=label,
        items=items,
        note=frame.attrs["note"],
    )


def _head_line(served: Served, words: AskedTable, label: str | None) -> tuple[Name, Line]:
    """Return the head that words stand for, the best of them where they leave several."""
    check_ties(served, words)
    if words.layer == "split":
        told = "layer must be a number, best or last: a head is of one layer; got 'split'"
        raise wrong(told, "layer")
    name = stored_name(served, words, regions=label is not None)
    if METRICS[name.metric].direction == "neither":
        field = "percentile" if words.metric is None else "metric"
        raise wrong(f"{name}: no value is better than another, so no image is best", field)
    where = find_where(served, words, words.layer)
    if words.head is None:
        where = replace(where, head="all")
    layer = "best" if words.layer is None else words.layer
    try:
        return name, served.line(served.name(None), where, layer)
    except UnknownNameError as error:
        raise not_found("the study kept no single heads of these maps", "head") from error


def _head_choice(served: Served, words: AskedTable, line: Line) -> Choice:
    """Return the choice of a head."""
    exact = replace(
        words, model=line.model, method=line.method, head=line.head, layer=line.picks[0].layer
    )
    choice = choose_line(served, exact).choice
    given = ("model", "method", "layer", "head")
    chosen = [one for one in given if getattr(words, one) is None]
    why = f"best head by {served.name(None)} among what was asked for" if chosen else ""
    return choice.model_copy(update={"chosen": (*chosen, *choice.chosen), "why": why})
