"""Tables by label: of regions, and of images."""

from __future__ import annotations

# The texts put together here are SQL of ours, with checked or quoted names.
# ruff: noqa: S608
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import Taxonomy
from sightline.metrics.selection import Threshold
from sightline.results._catalogue import refuse
from sightline.results._lines import find_line, units_of
from sightline.results._sums import mean_sql
from sightline.results._values import spread_of
from sightline.results._views import Name
from sightline.results._wording import ratio
from sightline.results.leaderboard import so_far, with_note
from sightline.store.duckdb import quote

if TYPE_CHECKING:
    import pandas as pd

    from sightline.results._catalogue import Where
    from sightline.results._lines import Line
    from sightline.results._tables import Tables

__all__ = ["feature_breakdown", "style_breakdown"]


def _means_sql(order: str) -> str:
    """Return the SQL of means and counts; what stands beside scores must stand beside all."""
    chance, ceiling = (
        f"CASE WHEN count({name}) = count(value) THEN avg({name} ORDER BY {order}) END AS {name}"
        for name in ("chance", "ceiling")
    )
    return f"""{mean_sql(order)} AS value, {chance}, {ceiling},
  count(value) AS n, count(DISTINCT image) FILTER (value IS NOT NULL) AS images,
  count(*) - count(value) AS undefined,
  list(value ORDER BY {order}) FILTER (value IS NOT NULL) AS scores,
  list(image ORDER BY {order}) FILTER (value IS NOT NULL) AS units,
  list(weight ORDER BY {order}) FILTER (value IS NOT NULL) AS weights"""


_SINGLE = ["scores", "units", "weights"]


def _with_interval(frame: pd.DataFrame, name: Name) -> pd.DataFrame:
    """Put 95% intervals, clustered by image, and spreads in the place of the single scores."""
    found = [spread_of(name, *each) for each in zip(*map(frame.get, _SINGLE), strict=True)]
    place = list(frame).index("value") + 1
    for what in ("std", "median", "high", "low"):
        frame.insert(place, what, np.array([getattr(one, what) for one in found], float))
    return frame.drop(columns=_SINGLE)


def feature_breakdown(
    tables: Tables,
    where: Where,
    layer: int | str | None,
    percentile: float | str | None,
    *,
    ancestors: bool,
) -> pd.DataFrame:
    """Return a line for each label of regions; see `Results.feature_breakdown`."""
    import pandas as pd

    token = str(Threshold.parse(str(_usual(tables) if percentile is None else percentile)))
    names = [Name("iou", token), Name("recall", token), Name("pointing", ""), Name("coverage", "")]
    stored = [name for name in names if name in tables.names]
    if not stored:
        refuse("any of the metrics", ", ".join(map(str, names)), tables.names)
    lead = names[0] if names[0] in stored else tables.name(None)
    line = find_line(tables, lead, where, layer)
    found = {name: _by_label(tables, name, line, ancestors=ancestors) for name in stored}
    counts = found[stored[0]]
    columns: dict[str, Any] = {"label": counts.index.to_series()}
    for name in names:
        before = "" if name.metric == "iou" else f"{name.metric}_"
        beside = _FIGURES if name.metric == "iou" else [one for one in _FIGURES if one != "ceiling"]
        for source in beside:
            column = name.metric if source == "value" else f"{before}{source}"
            columns[column] = found[name][source] if name in found else math.nan
    columns |= {column: counts[column] for column in ("n", "images", "undefined")}
    frame = pd.DataFrame(columns, index=counts.index).reset_index(drop=True)
    lacking = ", ".join(str(name) for name in names if name not in stored)
    return with_note(
        frame,
        f"means over regions with 95% intervals by image, at {_called(token)}: {line.told()}",
        _instead(token) if percentile is None else "",
        f"not computed by this study: {lacking}" if lacking else "",
        "" if len(frame) else "the study scored no single regions",
        so_far(tables),
    )


_FIGURES = ("value", "low", "high", "median", "std", "chance", "ceiling")
_USUAL = "90"


def _usual(tables: Tables) -> str:
    """Return the threshold to show unless one is named: 90, or the first that is stored."""
    stored = {name.metric for name in tables.names}
    lead = "iou" if "iou" in stored else "recall"
    found = [name.threshold for name in tables.names if name.metric == lead]
    return _USUAL if _USUAL in found or not found else found[0]


def _called(token: str) -> str:
    return f"percentile {token}" if token[:1].isdigit() else f"threshold {token}"


def _instead(token: str) -> str:
    """Say which threshold takes the place of the usual one."""
    if token == _USUAL:
        return ""
    highest = ", the highest of this study" if token[:1].isdigit() else ""
    return f"percentile {_USUAL} was not computed: {_called(token)}{highest}"


def _by_label(tables: Tables, name: Name, line: Line, *, ancestors: bool) -> pd.DataFrame:
    """Return means over the regions of each label."""
    sql = f"""WITH units AS ({units_of(tables, name, line, "image, region")})
SELECT name AS label, {_means_sql("image, region")}
FROM units JOIN regions USING (image, region) JOIN ({_labels_sql(tables, ancestors)}) USING (label)
GROUP BY name ORDER BY name"""
    return _with_interval(tables.frame(sql, line.values()), name).set_index("label")


def _labels_sql(tables: Tables, ancestors: bool) -> str:
    """Return the SQL of the labels under which regions of each label count."""
    if not ancestors:
        return "SELECT DISTINCT label, label AS name FROM regions"
    taxonomy = Taxonomy(tables.manifest["data"]["taxonomy"])
    pairs = [
        f"({quote(label)}, {quote(name)})"
        for (label,) in tables.fetch("SELECT DISTINCT label FROM regions ORDER BY label")
        for name in (label, *(taxonomy.ancestors(label) if label in taxonomy else ()))
    ]
    return f"SELECT * FROM (VALUES {', '.join(pairs)}) AS t(label, name)"


def style_breakdown(
    tables: Tables, name: Name, where: Where, layer: int | str | None
) -> pd.DataFrame:
    """Return a line for each label of images; see `Results.style_breakdown`."""
    line = find_line(tables, name, where, layer)
    units = units_of(tables, name, line)
    sql = f"""WITH units AS ({units}), labelled AS (
  SELECT units.*, unnest(CASE WHEN len(labels) > 0 THEN list_distinct(labels) ELSE [NULL] END)
    AS label
  FROM units JOIN images USING (image))
SELECT label, {_means_sql("image")} FROM labelled GROUP BY label ORDER BY label"""
    frame = _with_interval(tables.frame(sql, line.values()), name)
    without = int(frame.loc[frame["label"].isna(), ["n", "undefined"]].to_numpy().sum())
    frame = frame[frame["label"].notna()].drop(columns="images").reset_index(drop=True)
    frame.attrs["metric"] = str(name)
    return with_note(
        frame,
        f"means of {name} over images with 95% intervals: {line.told()}",
        ratio(name),
        "an image with two labels counts in both",
        f"images without a label, left out: {without}" if without else "",
        so_far(tables),
    )
