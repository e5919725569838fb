"""Tables of images: all with one score each, or one with all its scores."""

from __future__ import annotations

# The texts put together here are SQL of ours, with checked or quoted names.
# ruff: noqa: S608
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast

from sightline.core import InputError, UnknownNameError
from sightline.results._catalogue import Where, refuse
from sightline.results._lines import find_line, units_of
from sightline.results._sums import HALVES, units_sql
from sightline.results._views import full_model
from sightline.results.leaderboard import so_far, with_note

if TYPE_CHECKING:
    import pandas as pd

    from sightline.results._lines import Line
    from sightline.results._tables import Tables
    from sightline.results._views import Name

__all__ = ["COLUMNS", "Filter", "one_image", "scores_of_images", "table_of_images"]

COLUMNS = ("image", "area", "regions", "split")
"""Columns, beside metrics, by which images can be sorted."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Which images to list, and how.

    Attributes
    ----------
    sort_by
        A metric or one of `COLUMNS`.
    ascending
        Smallest first.
    label, split
        Of the images to keep; None for all.
    limit
        How many at most.
    """

    sort_by: str | None
    ascending: bool = False
    label: str | None = None
    split: str | None = None
    limit: int | None = None


def table_of_images(
    tables: Tables, where: Where, layer: int | str | None, wanted: Filter
) -> pd.DataFrame:
    """Return a line for each image; see `Results.images`."""
    by_column = wanted.sort_by in COLUMNS
    name = tables.name(None if by_column else wanted.sort_by)
    line = find_line(tables, name, where, layer)
    column = wanted.sort_by if by_column else "value"
    if wanted.limit is not None and wanted.limit < 1:
        raise InputError(f"limit must be at least 1; got {wanted.limit}")
    conditions, values = _conditions(tables, wanted)
    sql = f"""WITH units AS ({units_of(tables, name, line)})
SELECT image, value, chance, ceiling, area, regions, labels, split
FROM units JOIN images USING (image) WHERE {conditions}
ORDER BY {column} {"ASC" if wanted.ascending else "DESC"} NULLS LAST, image
{"" if wanted.limit is None else f"LIMIT {int(wanted.limit)}"}"""
    frame = tables.frame(sql, line.values() | values)
    frame["labels"] = [tuple(labels) for labels in frame["labels"]]
    frame.attrs["metric"] = str(name)
    return with_note(frame, f"{name} of each image: {line.told()}", so_far(tables))


def scores_of_images(tables: Tables, name: Name, line: Line) -> pd.DataFrame:
    """Return a line's score on each image that has one stored, defined or not.

    Returns
    -------
    DataFrame
        image, value, chance, ceiling, visible (the share of the annotated area that the model
        could see).
    """
    plain = not line.split and (line.head, line.seed) == (None, None)
    if tables.preloaded and plain and line.picks[0] == line.picks[1]:
        every = tables.at_hand(("images", name), lambda: _of_every_line(tables, name))
        if (line.model, *line.picks[0]) in every:
            return every[line.model, *line.picks[0]]
    scores = tables.scores([name], whole=True)
    seen = f"""SELECT image, min(visible) AS visible
FROM ({scores}) LEFT JOIN ({HALVES}) USING (image)
WHERE region IS NULL AND {line.sql()} GROUP BY image"""
    sql = f"""WITH units AS ({units_of(tables, name, line)}), seen AS ({seen})
SELECT image, value, chance, ceiling, visible FROM units JOIN seen USING (image) ORDER BY image"""
    return tables.frame(sql, line.values())


def _of_every_line(tables: Tables, name: Name) -> dict[tuple[Any, ...], pd.DataFrame]:
    """Return the scores on each image of all maps with fused heads, out of one query."""
    import pandas as pd

    keys = ["model", "method", "target", "layer"]
    columns = ["image", "value", "chance", "ceiling", "visible"]
    # What is no aggregate is what units are grouped by.
    by = f"{full_model()} AS model, method, target, layer, image, min(visible) AS visible"
    scores, where = tables.scores([name], whole=True), f"region IS NULL AND {Where().sql()}"
    sql = f"""WITH units AS ({units_sql(tables, scores, where, by, [name])})
SELECT {", ".join((*keys, *columns))} FROM units ORDER BY image"""
    frame = tables.frame(sql)
    found: dict[tuple[Any, ...], pd.DataFrame] = {}
    for key, some in frame.groupby(keys, dropna=False):
        model, method, target, layer = cast("tuple[Any, ...]", key)
        place = model, method, target, None if pd.isna(layer) else int(layer)
        found[place] = some[columns].reset_index(drop=True)
    return found


def _conditions(tables: Tables, wanted: Filter) -> tuple[str, dict[str, str]]:
    """Return the condition on images, and the values it names."""
    parts, values = ["true"], {}
    if wanted.split is not None:
        _check("split", wanted.split, tables, "SELECT DISTINCT split FROM images ORDER BY 1")
        parts.append("split = $split")
        values["split"] = wanted.split
    if wanted.label is not None:
        known = "SELECT unnest(labels) FROM images UNION SELECT label FROM regions ORDER BY 1"
        _check("label", wanted.label, tables, known)
        parts.append(
            "(list_contains(labels, $label) OR image IN "
            "(SELECT image FROM regions WHERE label = $label AND dropped = ''))"
        )
        values["label"] = wanted.label
    return " AND ".join(parts), values


def _check(what: str, value: str, tables: Tables, sql: str) -> None:
    known = [one for (one,) in tables.fetch(sql)]
    if value not in known:
        refuse(what, value, known)


def one_image(tables: Tables, image_id: str) -> pd.DataFrame:
    """Return all scores of an image; see `Results.image`."""
    found = tables.fetch("SELECT chunk FROM images WHERE image = $image", {"image": image_id})
    if not found:
        known = [one for (one,) in tables.fetch("SELECT image FROM images ORDER BY image")]
        close = get_close_matches(image_id, known, n=3)
        hint = f"; nearest: {', '.join(close)}" if close else ""
        raise UnknownNameError(f"no image {image_id!r} is stored{hint}")
    scores = tables.scores_of_image(image_id)
    if scores.empty:
        raise InputError(f"nothing is stored yet of image {image_id!r}: {tables.progress}")
    return with_note(scores, f"all of {image_id}", so_far(tables))
