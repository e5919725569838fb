"""What lines of a table are called, and how each of up to 24 is told apart from the others."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.figures.style import COLOURS, GREY, shown
from sightline.records import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    Table = pd.DataFrame | Mapping[str, Any]

__all__ = ["BASELINE", "LINE", "Look", "as_table", "line_names", "looks_of"]

BASELINE = "baseline"
"""The group of methods that know nothing of the model."""
LINE = ("model", "method", "target", "layer", "head")
"""Columns that say which line a row of a table belongs to, unless there is a column `name`."""

_LINE_COLOURS = tuple(COLOURS.values())[:6]
_DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
_MARKERS = "os^DvPX*<>phdH8"
_BASE_DASHES: tuple[Any, ...] = ((0, (1, 1)), (0, (3, 2)), (0, (5, 1, 1, 1)))
_BASE_MARKERS = "osD^v"


class Look(NamedTuple):
    """How one line is drawn: no two of a figure share colour, dashes and marker.

    Attributes
    ----------
    colour
        Of line and marker.
    dash
        matplotlib's line style.
    marker
        Told apart in grey, too: no two of the first 15 lines share one.
    baseline
        Drawn thin, its markers hollow.
    """

    colour: str
    dash: Any
    marker: str
    baseline: bool = False

    @property
    def line(self) -> dict[str, Any]:
        """Arguments of `Axes.plot` for a line with markers."""
        width = 1.0 if self.baseline else 1.5
        return {"color": self.colour, "ls": self.dash, "lw": width, **self.point}

    @property
    def point(self) -> dict[str, Any]:
        """Arguments of `Axes.plot` for its markers."""
        inside = "white" if self.baseline else self.colour
        edge = self.colour if self.baseline else "white"
        return {"marker": self.marker, "ms": 5, "mfc": inside, "mec": edge, "mew": 0.7}


def looks_of(names: Sequence[str], baselines: Iterable[str] = ()) -> dict[str, Look]:
    """Return how each line is drawn: methods in colour, baselines in grey.

    Parameters
    ----------
    names
        What lines are called, in the order in which they take colours.
    baselines
        Those of them that know nothing of the model.

    Examples
    --------
    >>> looks = looks_of(["cls", "rollout", "random"], ["random"])
    >>> [look.colour for look in looks.values()]
    ['#0072B2', '#D55E00', '#6E6E6E']
    """
    grey = set(baselines)
    found: dict[str, Look] = {}
    taken = {True: 0, False: 0}
    for name in dict.fromkeys(names):
        base = name in grey
        found[name] = _look(taken[base], baseline=base)
        taken[base] += 1
    return found


def _look(place: int, *, baseline: bool) -> Look:
    if baseline:
        dash = _BASE_DASHES[place // len(_BASE_MARKERS) % len(_BASE_DASHES)]
        return Look(GREY, dash, _BASE_MARKERS[place % len(_BASE_MARKERS)], True)
    colour = _LINE_COLOURS[place % len(_LINE_COLOURS)]
    dash = _DASHES[place // len(_LINE_COLOURS) % len(_DASHES)]
    return Look(colour, dash, _MARKERS[place % len(_MARKERS)])


def as_table(given: Table, what: str, needed: Iterable[str]) -> pd.DataFrame:
    """Return a table as a DataFrame of its own; columns that are missing are named.

    Parameters
    ----------
    given
        A DataFrame, or columns by name.
    what
        The argument, for messages.
    needed
        Columns that must be there.

    Examples
    --------
    >>> as_table({"x": [1]}, "curves", ["x", "value"])
    Traceback (most recent call last):
        ...
    sightline.records.errors.InputError: curves must have a column 'value'; it has x
    """
    import pandas as pd

    seen: object = given
    if not isinstance(seen, (pd.DataFrame, Mapping)):
        expected = "a table: a DataFrame or columns by name"
        raise InputError(f"{what} must be {expected}; got {type(seen).__name__}")
    table = pd.DataFrame(given).reset_index(drop=True)
    for column in needed:
        if column not in table:
            has = ", ".join(map(str, table.columns)) or "none"
            raise InputError(f"{what} must have a column {column!r}; it has {has}")
    return table


def line_names(table: Table, what: str = "table") -> list[str]:
    """Return what each row's line is called: its `name`, or the words that tell lines apart.

    Of the columns model, method, target, layer and head, those are used that are needed to tell
    the lines apart; the method is always among them. Layers are words of their own only where one
    method has several.

    Parameters
    ----------
    table
        Rows; a column `name` is taken as it is.
    what
        The argument, for messages.

    Examples
    --------
    >>> line_names({"model": ["a", "a"], "method": ["cls", "random"], "layer": [3, None]})
    ['cls', 'random']
    >>> line_names({"model": ["a", "b"], "method": ["cls", "cls"]})
    ['a cls', 'b cls']
    """
    rows = as_table(table, what, ())
    if "name" in rows:
        return [shown(name, 60) for name in rows["name"]]
    if "method" not in rows:
        raise InputError(f"{what} must have a column 'method' or 'name'; it has {list(rows)}")
    used = _telling(rows)
    return [_called(row, used) for row in rows[used].itertuples(index=False)]


def _telling(rows: pd.DataFrame) -> list[str]:
    """Return the fewest columns, the method among them, that keep all lines apart."""
    there = [column for column in LINE if column in rows]
    count = len(rows[there].astype(object).drop_duplicates())
    others = [column for column in there if column != "method"]
    best = there
    for chosen in product((False, True), repeat=len(others)):
        used = ["method", *(name for name, taken in zip(others, chosen, strict=True) if taken)]
        apart = len(rows[used].astype(object).drop_duplicates()) == count
        if apart and len(used) < len(best):
            best = used
    return [column for column in LINE if column in best]


def _called(row: Sequence[Any], used: Sequence[str]) -> str:
    import pandas as pd

    words = []
    for column, value in zip(used, row, strict=True):
        if pd.isna(value) or value == "":
            continue
        plain = column in ("model", "method")
        words.append(str(value) if plain else f"{column} {value}")
    return shown(" ".join(words), 60)
