"""Tables of single heads."""

from __future__ import annotations

# The texts put together here are SQL of ours, with checked or quoted names.
# ruff: noqa: S608
from typing import TYPE_CHECKING

from sightline.records import InputError
from sightline.results._lines import make_lines, units_sql
from sightline.results._values import spreads
from sightline.results.leaderboard import average_ranks, so_far, with_note

if TYPE_CHECKING:
    import pandas as pd

    from sightline.results._catalogue import Where
    from sightline.results._tables import Tables
    from sightline.results._views import Name

__all__ = ["head_feature_matrix", "head_ranking"]


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
    frame["rank"] = average_ranks(frame["value"], name)
    frame = frame.sort_values(["rank", "layer", "head"], kind="stable").reset_index(drop=True)
    frame.attrs["metric"] = str(name)
    note = f"means of {name} over images with 95% intervals; equal heads share a rank"
    return with_note(frame, note, "" if len(frame) else _NO_HEADS, so_far(tables))


_NO_HEADS = "the study kept no single heads of these maps"
_BESIDE = ("chance", "ceiling")


def head_feature_matrix(tables: Tables, name: Name, where: Where) -> pd.DataFrame:
    """Return heads by labels of regions; see `Results.head_feature_matrix`."""
    units = units_sql(
        tables,
        tables.scores([name], where.models, where.methods),
        f"region IS NOT NULL AND {where.sql()}",
        "target, layer, head, image, region",
    )
    sql = f"""WITH units AS ({units})
SELECT target, layer, head, label, avg(value ORDER BY image, region) AS value,
  count(value) AS n
FROM units JOIN regions USING (image, region) GROUP BY ALL ORDER BY ALL"""
    found = tables.frame(sql)
    _check_one(where, set(found["target"]))
    frame = found.pivot(index=["layer", "head"], columns="label", values="value")
    counts = found.groupby("label")["n"].max()
    frame.attrs["n"] = {str(label): int(n) for label, n in counts.items()}
    frame.attrs["metric"] = str(name)
    note = f"means of {name} over the regions of each label; attrs['n'] counts them"
    return with_note(frame, note, "" if len(frame) else _NO_HEADS, so_far(tables))


def _check_one(where: Where, targets: set[str]) -> None:
    """Refuse to lay heads of several models or targets on top of one another."""
    if where.models is None or len(where.models) > 1:
        raise InputError(f"model must be one model; got {', '.join(where.models or ())}")
    if len(targets) > 1:
        raise InputError(f"target must be given: maps of {', '.join(sorted(targets))} are stored")
