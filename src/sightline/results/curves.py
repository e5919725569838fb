"""Mean curves over images."""

from __future__ import annotations

# The texts put together here are SQL of ours, with checked or quoted names.
# ruff: noqa: S608
from typing import TYPE_CHECKING

from sightline.core import InputError
from sightline.results._lines import find_line
from sightline.results._sums import HALVES
from sightline.results.leaderboard import so_far, with_note

if TYPE_CHECKING:
    import pandas as pd

    from sightline.results._catalogue import Where
    from sightline.results._tables import Tables

__all__ = ["AXES", "mean_curve", "points_sql"]

AXES = {"roc": ("false positive rate", "true positive rate"), "pr": ("recall", "precision")}


def points_sql(kind: str) -> str:
    """Return the SQL of the points of the stored curves: the keys of a map, point, value."""
    return f"""SELECT image, model, variant, method, target, layer, head, seed,
  unnest(range(len({kind}))) AS point, unnest({kind}) AS value FROM stored.scores"""


def mean_curve(tables: Tables, kind: str, where: Where, layer: int | str | None) -> pd.DataFrame:
    """Return the mean of the images' curves; see `Results.curves`."""
    if kind not in AXES:
        raise InputError(f"kind must be one of {', '.join(AXES)}; got {kind!r}")
    name = tables.name(None)
    line = find_line(tables, name, where, layer)
    sql = f"""WITH units AS (
  SELECT image, point, avg(value ORDER BY seed) FILTER (NOT isnan(value)) AS value
  FROM (SELECT * REPLACE ({line.value_sql()} AS value)
    FROM ({points_sql(kind)}) LEFT JOIN ({HALVES}) USING (image))
  WHERE {line.sql()} GROUP BY ALL)
SELECT point, point / 100 AS x, avg(value ORDER BY image) AS value, count(value) AS n,
  count(*) - count(value) AS undefined
FROM units GROUP BY point ORDER BY point"""
    frame = tables.frame(sql, line.values())
    across, up = AXES[kind]
    return with_note(
        frame,
        f"mean {up} at each {across}: {line.told()}",
        "" if len(frame) else "the study kept no curves of these maps",
        so_far(tables),
    )
