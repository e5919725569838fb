"""What the checks of maps found, as a tidy table."""

from __future__ import annotations

# The texts put together here are names of columns and quoted names.
# ruff: noqa: S608
from typing import TYPE_CHECKING, Any

from sightline.attribution.sanity.table import STORED_CURVES, STORED_MEASURES
from sightline.core import UnknownNameError
from sightline.results._catalogue import refuse
from sightline.results._views import full_model, full_name
from sightline.results.leaderboard import so_far
from sightline.store.duckdb import quote

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pandas as pd

    from sightline.results._tables import Tables

__all__ = ["NAMES", "checks_table"]

NAMES = ("randomisation", "reference", "faithfulness", "parts")
_COLUMNS = (
    *("model", "method", "group", "target", "layer", "seed", "check", "way", "redraw", "stage"),
    *("stage_name", "measure", "point", "image", "value"),
)


def checks_table(
    tables: Tables,
    check: str | None = None,
    model: str | None = None,
    method: str | None = None,
    measure: str | None = None,
) -> pd.DataFrame:
    """Return the rows of checks; see `Results.checks`.

    Raises
    ------
    UnknownNameError
        If a name is asked for of which nothing is stored; the message lists those that are.
    """
    import pandas as pd

    known = tables.manifest.get("checks", [])
    if check is not None and check not in NAMES:
        raise UnknownNameError(f"unknown check {check!r}. Known: {', '.join(NAMES)}")
    for what, name in (("model", model), ("method", method)):
        found = dict.fromkeys(full_name(one) if what == "model" else one["method"] for one in known)
        if name is not None and name not in found:
            refuse(f"checks of {what}", name, found)
    stored = _list_measures(tables)
    if measure is not None:
        _check_measure(stored, measure)
    if stored:
        frame = tables.frame(_sql(stored, check, model, method, measure))
    else:
        frame = pd.DataFrame(columns=_COLUMNS)
    groups = {(full_name(one), one["method"]): one["group"] for one in known}
    pairs = zip(frame["model"], frame["method"], strict=True)
    frame["group"] = [groups.get(pair, "") for pair in pairs]
    frame = frame[list(_COLUMNS)].reset_index(drop=True)
    frame.attrs["note"] = _note(tables, frame)
    return frame


def _list_measures(tables: Tables) -> list[str]:
    """Return the measures and curves of which something is stored."""
    known = [*STORED_MEASURES, *STORED_CURVES]
    columns = [name for name in known if name in tables.columns("checks")]
    if not columns:
        return []
    counts = ", ".join(f'count("{name}")' for name in columns)
    (row,) = tables.fetch(f"SELECT {counts} FROM stored.checks")
    return [name for name, count in zip(columns, row, strict=True) if count]


def _check_measure(stored: Collection[str], measure: str) -> None:
    """Raise for a measure of which nothing is stored, as soon as anything is."""
    if stored and measure not in stored:
        refuse("measure", measure, sorted(stored))


def _sql(
    columns: Collection[str],
    check: str | None,
    model: str | None,
    method: str | None,
    measure: str | None,
) -> str:
    """Return the query for the rows of some checks, a row for each number and point."""
    asked = {'"check"': check, full_model(): model, "method": method}
    where = [f"{column} = {quote(name)}" for column, name in asked.items() if name is not None]
    keys = f"""{full_model()} AS model, method, target, layer, seed, "check", "order" AS way,
      draw AS redraw, stage_index AS stage, stage AS stage_name"""
    parts = []
    for number, name in enumerate(columns if measure is None else [measure]):
        values = f'NULL::DOUBLE AS point, image, "{name}" AS value'
        if name in STORED_CURVES:
            values = f'unnest(curve_fractions) AS point, image, unnest("{name}") AS value'
        parts.append(
            f"""SELECT place, {number} AS number, {keys}, {quote(name)} AS measure, {values}
    FROM rows WHERE {" AND ".join([*where, f'"{name}" IS NOT NULL'])}"""
        )
    return f"""WITH rows AS (SELECT *, row_number() OVER () AS place FROM stored.checks)
SELECT * EXCLUDE (place, number) FROM ({" UNION ALL ".join(parts)})
ORDER BY place, number, point"""


def _note(tables: Tables, frame: pd.DataFrame) -> str:
    """Say in a line what must be known of the table."""
    known = tables.manifest.get("checks", [])
    if not known:
        return (
            "The study asked for no checks: give it a section `checks`, or `sightline sanity` it."
        )
    images = frame["image"].nunique()
    chunks: Mapping[str, Any] = tables.manifest["checked"]
    counts = {name: sum(len(one["images"]) for one in some) for name, some in chunks.items()}
    told = ", ".join(f"{name} on {count} images" for name, count in counts.items())
    note = f"Checks of maps: {told}; here {images} images. NaN where a measure is undefined."
    rest = so_far(tables)
    return f"{note} {rest[0].upper()}{rest[1:]}." if rest else note
