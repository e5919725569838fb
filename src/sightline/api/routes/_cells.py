"""Tables as answers: cells become plain values, and what is undefined is null."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from sightline.api.schemas import Point, Table

__all__ = ["layer_of", "plain", "point", "read_note", "records", "to_table"]


def plain(value: Any) -> Any:
    """Return a value that JSON has; None where it is missing or not finite.

    >>> plain(pd.NA), plain(float("nan")), plain(("a",))
    (None, None, ('a',))
    """
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set) or (hasattr(value, "ndim") and value.ndim):
        return tuple(plain(one) for one in value)
    if hasattr(value, "item"):
        value = value.item()
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    return None if isinstance(value, float) and not math.isfinite(value) else value


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the lines of a table as plain values by column."""
    columns = {str(name): [plain(one) for one in frame[name].tolist()] for name in frame}
    return [dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)]


def read_note(frame: pd.DataFrame) -> dict[str, Any]:
    """Return the note of a table and its warnings, which answers keep apart.

    >>> frame = pd.DataFrame()
    >>> frame.attrs |= {"note": "means; so far; not comparable", "warnings": ("not comparable",)}
    >>> read_note(frame)
    {'note': 'means; so far', 'warnings': ('not comparable',)}
    """
    warnings = tuple(frame.attrs.get("warnings", ()))
    parts = (part for part in str(frame.attrs["note"]).split("; ") if part not in warnings)
    return {"note": "; ".join(parts), "warnings": warnings}


def point(line: dict[str, Any], x: float) -> Point:
    """Return a point of a curve out of a line of a table."""
    fields = ("value", "low", "high", "chance", "ceiling", "n", "undefined")
    return Point(x=x, **{name: line.get(name) for name in fields})


def layer_of(layer: int | str | None) -> int | str | None:
    """Return a layer as a number, or those of both halves; None where there is none.

    >>> layer_of("5"), layer_of("5|6"), layer_of("")
    (5, '5|6', None)
    """
    if isinstance(layer, str) and layer.isdecimal():
        return int(layer)
    return None if layer == "" else layer


def to_table(frame: pd.DataFrame, note: str = "") -> Table:
    """Return any table.

    >>> to_table(pd.DataFrame({"a": [1.0, float("nan")]})).rows
    ((1.0,), (None,))
    """
    rows = tuple(tuple(line.values()) for line in records(frame))
    said = note or str(frame.attrs.get("note", ""))
    return Table(columns=tuple(map(str, frame)), rows=rows, note=said)
