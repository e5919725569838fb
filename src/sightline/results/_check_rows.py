"""Rows of checks as the tables of the analysis read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.results._missing_label_inputs import or_none
from sightline.results.leaderboard import layer_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from sightline.results import Results

__all__ = ["LINE", "by_line", "framed", "of_check", "side_by_side", "stored_rows"]

LINE = ("model", "method", "target", "layer")
"""Columns that say which maps were checked."""


def stored_rows(results: Results, check: str) -> pd.DataFrame:
    """Return the rows of one check of a store, and of what it is compared with.

    Raises
    ------
    InputError
        If there are none.
    """
    if check == "randomisation":
        return results.checks()
    found = results.checks(check)
    if found.empty:
        raise _lacking(check, (one["part"] for one in results.manifest.get("checks", ())))
    return found


def _lacking(check: str, stored: Iterable[str]) -> InputError:
    known = ", ".join(dict.fromkeys(stored)) or "none"
    return InputError(
        f"no rows of the check {check!r} are stored (checks: {known}); add it to the section "
        "`checks` of the study and run it, or use `sightline sanity`"
    )


def of_check(frame: pd.DataFrame, check: str, way: str | None = None) -> pd.DataFrame:
    """Return the rows of one check, of one of its ways; see `Results.checks`.

    Raises
    ------
    InputError
        If there are none.
    """
    found = frame[(frame["check"] == check).to_numpy()]
    if found.empty:
        raise _lacking(check, frame["check"])
    if way is None:
        return found
    of_way = found[(found["way"] == way).to_numpy()]
    if of_way.empty:
        stored = ", ".join(dict.fromkeys(found["way"]))
        raise InputError(f"{check} was not run in the way {way!r}; stored: {stored}")
    return of_way


def by_line(frame: pd.DataFrame) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the rows of each line with its names, in the order in which lines come."""
    for key, rows in frame.groupby(list(LINE), sort=False, dropna=False, observed=True):
        yield dict(zip(LINE, (*key[:3], *or_none(key[3:])), strict=True)), rows


def side_by_side(
    frame: pd.DataFrame, columns: Sequence[str]
) -> tuple[list[tuple[Any, ...]], NDArray[np.float64]]:
    """Return values as (images, columns), and what each column is of; NaN where one is missing."""
    keys = list(columns)
    places = frame.groupby(keys, sort=False, dropna=False, observed=True).ngroup().to_numpy()
    names, first = np.unique(places, return_index=True)
    _, rows = np.unique(frame["image"].astype(str).to_numpy(), return_inverse=True)
    table = np.full((rows.max(initial=-1) + 1, len(names)), np.nan)
    table[rows, places] = frame["value"].to_numpy(np.float64)
    heads = frame[keys].iloc[first]
    return list(heads.itertuples(index=False, name=None)), table


def framed(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Return rows as a table; layers are whole numbers or missing."""
    import pandas as pd

    frame = pd.DataFrame(list(rows), columns=list(columns))
    for column in ("layer", "next"):
        if column in frame:
            frame[column] = layer_column(or_none(frame[column]))
    return frame
