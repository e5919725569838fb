"""Tables of single heads."""

from __future__ import annotations

# The texts put together here are SQL of ours, with checked or quoted names.
# ruff: noqa: S608
from typing import TYPE_CHECKING

from sightline.core import InputError, Taxonomy
from sightline.metrics import METRICS
from sightline.results._catalogue import refuse
from sightline.results._lines import find_line, make_lines, units_of
from sightline.results._sums import mean_sql, units_sql
from sightline.results._values import spreads
from sightline.results._wording import beside, ratio
from sightline.results.leaderboard import (
    average_ranks,
    find_warnings,
    list_map_keys,
    put_beside,
    so_far,
    with_note,
)
from sightline.store.duckdb import quote

if TYPE_CHECKING:
    import pandas as pd

    from sightline.results._catalogue import Where
    from sightline.results._tables import Tables
    from sightline.results._views import Name

__all__ = ["exemplars", "head_feature_matrix", "head_ranking"]


def head_ranking(tables: Tables, name: Name, where: Where) -> pd.DataFrame:
    """Return a line for each head, the best first; see `Results.head_ranking`."""
    import pandas as pd

    lines = make_lines(tables, name, where, "all")
    _check_one(where, {line.target for line in lines})
    found = spreads(name, lines)
    frame = pd.DataFrame(
        {
            "layer": pd.array([line.picks[0].layer for line in lines], dtype="Int64"),
            "head": pd.array([line.head for line in lines], dtype="Int64"),
            "value": [line.sums.mean() for line in lines],
            "low": [one.low for one in found],
            "high": [one.high for one in found],
            **{what: [line.sums.mean(what) for line in lines] for what in _BESIDE},
            "n": [int(line.sums.n) for line in lines],
            "undefined": [int(line.sums.undefined) for line in lines],
        }
    )
    put_beside(tables, name, where, lines, frame)
    frame["rank"] = average_ranks(frame["value"], name)
    frame = frame.sort_values(["rank", "layer", "head"], kind="stable").reset_index(drop=True)
    frame.attrs["metric"] = str(name)
    note = f"means of {name} over images with 95% intervals; equal heads share a rank"
    about = (note, ratio(name), beside(name))
    notes = *about, "" if len(frame) else _NO_HEADS, so_far(tables)
    return with_note(frame, *notes, warnings=find_warnings(tables, list_map_keys(lines)))


_NO_HEADS = "the study kept no single heads of these maps"
_BESIDE = ("chance", "ceiling")


def head_feature_matrix(tables: Tables, name: Name, where: Where) -> pd.DataFrame:
    """Return heads by labels of regions; see `Results.head_feature_matrix`."""
    units = units_sql(
        tables,
        tables.scores([name]),
        f"region IS NOT NULL AND {where.sql()}",
        "target, layer, head, image, region",
        [name],
    )
    sql = f"""WITH units AS ({units})
SELECT target, layer, head, label, {mean_sql("image, region")} AS value,
  count(value) AS n
FROM units JOIN regions USING (image, region) GROUP BY ALL ORDER BY ALL"""
    found = tables.frame(sql)
    _check_one(where, set(found["target"]))
    frame = found.pivot(index=["layer", "head"], columns="label", values="value")
    counts = found.groupby("label")["n"].max()
    frame.attrs["n"] = {str(label): int(n) for label, n in counts.items()}
    frame.attrs["metric"] = str(name)
    note = f"means of {name} over the regions of each label; attrs['n'] counts them"
    keys = {
        (model, method, target, layer)
        for model in where.models or ()
        for method in where.methods or ()
        for target, layer in zip(found["target"], found["layer"], strict=True)
    }
    notes = note, ratio(name), "" if len(frame) else _NO_HEADS, so_far(tables)
    return with_note(frame, *notes, warnings=find_warnings(tables, keys))


def exemplars(
    tables: Tables,
    name: Name,
    where: Where,
    layer: int | str | None,
    label: str | None,
    limit: int,
) -> pd.DataFrame:
    """Return the images, or regions, on which maps do best; see `Results.exemplars`."""
    if limit < 1:
        raise InputError(f"limit must be at least 1; got {limit}")
    if METRICS[name.metric].direction == "neither":
        raise InputError(f"{name}: no value is better than another, so no image is best")
    line = find_line(tables, name, where, layer)
    by = "image" if label is None else "image, region"
    worst_first = "ASC" if METRICS[name.metric].direction == "lower" else "DESC"
    regions = "" if label is None else f"JOIN ({_labelled(tables, label)}) USING (image, region)"
    sql = f"""WITH units AS ({units_of(tables, name, line, by)})
SELECT image, {"NULL::INTEGER AS region" if label is None else "region"}, value, chance, ceiling
FROM units {regions} WHERE value IS NOT NULL
ORDER BY value {worst_first}, {by} LIMIT {limit}"""
    frame = tables.frame(sql, line.values())
    frame["region"] = frame["region"].astype("Int64")
    frame.attrs["metric"] = str(name)
    what = "images" if label is None else f"regions labelled {label}"
    note = f"{what} with the best {name}: {line.told()}"
    return with_note(frame, note, "" if len(frame) else "none has a score", so_far(tables))


def _labelled(tables: Tables, label: str) -> str:
    """Return the SQL of the regions of a label and of the labels below it."""
    taxonomy = Taxonomy(tables.manifest["data"]["taxonomy"])
    known = [one for (one,) in tables.fetch("SELECT DISTINCT label FROM regions ORDER BY label")]
    names = [
        one
        for one in known
        if one == label or (one in taxonomy and label in taxonomy.ancestors(one))
    ]
    if not names:
        refuse("label", label, known)
    listed = ", ".join(quote(one) for one in names)
    return f"SELECT image, region FROM regions WHERE label IN ({listed})"


def _check_one(where: Where, targets: set[str]) -> None:
    """Refuse to lay heads of several models or targets on top of one another."""
    if where.models is None or len(where.models) > 1:
        raise InputError(f"model must be one model; got {', '.join(where.models or ())}")
    if len(targets) > 1:
        raise InputError(f"target must be given: maps of {', '.join(sorted(targets))} are stored")
