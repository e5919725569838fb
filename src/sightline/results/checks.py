"""What the checks of maps found, as a tidy table."""

from __future__ import annotations

# The texts put together here are names of columns and quoted names.
# ruff: noqa: S608
from typing import TYPE_CHECKING, Any

from sightline.core import UnknownNameError
from sightline.results._catalogue import refuse
from sightline.results._views import full_model, full_name
from sightline.results.leaderboard import so_far
from sightline.store.duckdb import quote

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    known = tables.manifest.get("checks", [])
    if check is not None and check not in NAMES:
        raise UnknownNameError(f"unknown check {check!r}. Known: {', '.join(NAMES)}")
    for what, name in (("model", model), ("method", method)):
        found = dict.fromkeys(full_name(one) if what == "model" else one["method"] for one in known)
        if name is not None and name not in found:
            refuse(f"checks of {what}", name, found)
    if measure is not None:
        _check_measure(tables, measure)
    frame = _read(tables.frame(_sql(check, model, method, measure)))
    groups = {(full_name(one), one["method"]): one["group"] for one in known}
    pairs = zip(frame["model"], frame["method"], strict=True)
    frame["group"] = [groups.get(pair, "") for pair in pairs]
    frame = frame[list(_COLUMNS)].reset_index(drop=True)
    frame.attrs["note"] = _note(tables, frame)
    return frame


def _check_measure(tables: Tables, measure: str) -> None:
    """Raise for a measure of which nothing is stored, as soon as anything is."""
    found = tables.frame("SELECT DISTINCT metric FROM checks ORDER BY metric")["metric"].tolist()
    if found and measure not in found:
        refuse("measure", measure, found)


def _sql(check: str | None, model: str | None, method: str | None, measure: str | None) -> str:
    """Return the query for the rows of some checks."""
    asked = {
        "split_part(\"check\", '/', 1)": check,
        full_model(): model,
        "method": method,
        "metric": measure,
    }
    where = [f"{column} = {quote(name)}" for column, name in asked.items() if name is not None]
    return f"""SELECT {full_model()} AS model, method, target, layer, seed, "check" AS path,
      metric AS measure, threshold, image, value
    FROM checks {"WHERE " + " AND ".join(where) if where else ""}"""


def _read(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose paths of checks are taken apart."""
    import pandas as pd

    known: dict[str, tuple[Any, ...]] = {path: _apart(path) for path in frame["path"].unique()}
    parts = [known[path] for path in frame["path"]]
    for place, name in enumerate(("check", "way", "redraw", "stage", "stage_name")):
        values = [part[place] for part in parts]
        whole = name in ("redraw", "stage")
        frame[name] = pd.array(values, dtype="Int64") if whole else pd.Series(values, dtype=str)
    frame["point"] = pd.to_numeric(frame["threshold"].replace("", None)).astype("float64")
    return frame


def _apart(path: str) -> tuple[str, str, int | None, int | None, str]:
    """Return check, way, redraw, stage and name of a check's path.

    >>> _apart("randomisation/top-down/2/03-blocks.8")
    ('randomisation', 'top-down', 2, 3, 'blocks.8')
    >>> _apart("reference/cross/1"), _apart("faithfulness")
    (('reference', 'cross', 1, None, ''), ('faithfulness', '', None, None, ''))
    >>> _apart("reference/training/seed2")
    ('reference', 'training', None, None, 'seed2')
    """
    check, _, rest = path.partition("/")
    way, _, rest = rest.partition("/")
    if way == "training":
        return check, way, None, None, rest
    redraw, _, rest = rest.partition("/")
    stage, _, name = rest.partition("-")
    return check, way, int(redraw) if redraw else None, int(stage) if stage else None, name


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
