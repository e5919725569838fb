"""Checks, prototypes and reviews, where the store holds them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

from fastapi import APIRouter

from sightline.api.problems import PROBLEMS, Refusal, not_found, of_store
from sightline.api.routes._cells import to_table
from sightline.api.schemas import CheckList, PrototypeList, ReviewList
from sightline.api.state import Here, Served

__all__ = ["router"]

router = APIRouter(tags=["checks"])

_MISSING: dict[int | str, dict[str, Any]] = {404: PROBLEMS[404], 409: PROBLEMS[409]}
# Means over images, as the leaderboard has them: of each seed's scores, those that are defined.
_MEANS = """
SELECT "check", CASE WHEN variant = '' THEN model ELSE model || '@' || variant END AS model,
  method, target, layer, head, name, avg(value) FILTER (NOT isnan(value)) AS value,
  count(DISTINCT image) AS images
FROM scores WHERE "check" <> '' AND region IS NULL
GROUP BY ALL ORDER BY ALL
"""


@router.get(
    "/api/checks",
    response_model=CheckList,
    responses=_MISSING,
    summary="Checks of whether maps mean anything",
    description="Means over images of the scores of maps that were made under a check, by model, "
    "method and layer. 404 where the study ran none.",
)
def checks(served: Here) -> CheckList:
    """Return the checks that are stored."""
    found = [one["check"] for one in served.manifest["sources"] if one["check"]]
    names = tuple(dict.fromkeys(name.partition("/")[0] for name in found))
    if not names:
        raise not_found(
            "no checks are stored: the study ran none. Checks re-make maps of models whose weights "
            "were randomised, and are listed under `checks` in a study's file"
        )
    with of_store():
        frame = served.kept("checks", lambda: served.results.query(_MEANS))
    return CheckList(checks=names, table=to_table(frame, "means over images"))


@router.get(
    "/api/prototypes",
    response_model=PrototypeList,
    responses=_MISSING,
    summary="Stored analyses of prototypes",
    description="404 where the store holds none.",
)
def prototypes(served: Here) -> PrototypeList:
    """Return the analyses of prototypes that are stored."""
    folder = served.results.path / "prototypes"
    names = sorted(one.name for one in folder.iterdir() if one.is_dir()) if folder.is_dir() else []
    if not names:
        raise not_found("no analyses of prototypes are stored: they lie in STORE/prototypes/NAME")
    return PrototypeList(names=tuple(names))


@router.get(
    "/api/reviews",
    response_model=ReviewList,
    responses=_MISSING,
    summary="Stored reviews of proposed annotations",
    description="404 where the store holds none.",
)
def reviews(served: Here) -> ReviewList:
    """Return how many reviews are stored."""
    path = served.results.path / "reviews.sqlite"
    if not path.is_file():
        raise not_found(
            "no reviews are stored: they lie in STORE/reviews.sqlite once people have reviewed "
            "proposed annotations"
        )
    return ReviewList(count=_count(served))


def _count(served: Served) -> int:
    path = served.results.path / "reviews.sqlite"
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as found:
            ((count,),) = found.execute("SELECT count(*) FROM reviews").fetchall()
    except sqlite3.Error as error:
        raise Refusal(409, f"{path.name} cannot be read: {error}") from error
    return int(count)
