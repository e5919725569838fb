"""What lines of a table are called, and how each of up to 24 is told apart from the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.core.words import merge_counts
from sightline.figures.style import COLOURS, GREY, shown
from sightline.metrics import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    Table = pd.DataFrame | Mapping[str, Any]

__all__ = [
    "BASELINE",
    "LINE",
    "MOST",
    "Chosen",
    "Line",
    "Look",
    "as_table",
    "choose_lines",
    "counts_words",
    "direction",
    "filled_table",
    "format_label",
    "format_selection",
    "label_lines",
    "line_names",
    "list_selections",
    "looks_of",
    "numbers",
    "rows_of_lines",
    "short_names",
]

BASELINE = "baseline"
"""The group of methods that know nothing of the model."""
LINE = ("model", "method", "target", "layer", "head")
"""Columns that say which line a row of a table belongs to, unless there is a column `name`."""

MOST = 24
"""Lines that one figure can hold; of more, the best are drawn."""
_MOST_BASELINES = 6
_LONGEST = 60

_LINE_COLOURS = tuple(COLOURS.values())[:6]
_DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)))
_MARKERS = "os^DvPX*<>phdH8"
_SIZES = {"P": 6.5, "X": 6.5, "*": 8.0, "D": 4.6, "<": 5.6, ">": 5.6, "p": 6.0, "h": 6.0, "H": 6.0}
_BASE_DASHES: tuple[Any, ...] = ((0, (3, 2)), (0, (1, 1.2)), (0, (5, 1, 1, 1)))
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
        size = _SIZES.get(self.marker, 5.0)  # so that all look about as large
        return {"marker": self.marker, "ms": size, "mfc": inside, "mec": edge, "mew": 0.7}


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
    sightline.core.errors.InputError: curves must have a column 'value'; it has x
    """
    import pandas as pd

    seen: object = given
    if not isinstance(seen, (pd.DataFrame, Mapping)):
        expected = "a table: a DataFrame or columns by name"
        raise InputError(f"{what} must be {expected}; got {type(seen).__name__}")
    table = pd.DataFrame(given).reset_index(drop=True)
    table.attrs = dict(getattr(given, "attrs", {}))
    for column in needed:
        if column not in table:
            has = ", ".join(map(str, table.columns)) or "none"
            raise InputError(f"{what} must have a column {column!r}; it has {has}")
    return table


def filled_table(given: Table, what: str, needed: Iterable[str]) -> pd.DataFrame:
    """Return a table as `as_table` does, which has at least one row."""
    table = as_table(given, what, needed)
    if table.empty:
        raise InputError(f"{what} must have at least one row; it has none")
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
        full = [str(name) for name in rows["name"]]
    elif "method" in rows:
        used = _telling(rows)
        full = [_called(row, used) for row in rows[used].itertuples(index=False)]
    else:
        has = ", ".join(map(str, rows.columns)) or "none"
        raise InputError(f"{what} must have a column 'method' or 'name'; it has {has}")
    short = short_names(full, _LONGEST)
    return [short[name] for name in full]


def short_names(names: Iterable[str], longest: int) -> dict[str, str]:
    """Return names as they are shown, no two alike: long ones lose their middle.

    Names that would look alike keep apart by four digits that follow from the whole name.

    Parameters
    ----------
    names
        What things are called.
    longest
        Characters that are shown.

    Examples
    --------
    >>> names = ["cls", "rollout of model 1 at layers", "rollout of model 2 at layers"]
    >>> list(short_names(names, 14).values())
    ['cls', 'roll…ers #5aa1', 'roll…ers #44f1']
    """
    short = {name: shown(name, longest) for name in dict.fromkeys(names)}
    seen = Counter(short.values())
    for name, text in short.items():
        if seen[text] > 1 and text != name:
            mark = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:4]
            short[name] = f"{shown(name, longest - 6)} #{mark}"
    return short


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
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # a column with gaps holds no whole numbers
        plain = column in ("model", "method")
        words.append(str(value) if plain else f"{column} {value}")
    return " ".join(words)


# --- rows of lines -------------------------------------------------------------------------------


class Line(NamedTuple):
    """One line of a figure.

    Attributes
    ----------
    name, label
        What it is called, and what is shown of that.
    look
        How it is drawn.
    rows
        Of the table.
    score
        By which lines are sorted.
    """

    name: str
    label: str
    look: Look
    rows: pd.DataFrame
    score: float


class Chosen(NamedTuple):
    """The lines that are drawn, the best first, and how many are not.

    Attributes
    ----------
    lines
        The best first.
    undefined
        Lines without a score.
    left_out
        Lines for which there is no room.
    selection
        How the layers or methods of the lines that are drawn were chosen.
    """

    lines: list[Line]
    undefined: int
    left_out: int
    selection: str = ""

    @property
    def notes(self) -> list[str]:
        """How layers were chosen, and what is to be said of lines that are not drawn."""
        undefined = f"{self.undefined} undefined not drawn" if self.undefined else ""
        rest = f"{self.left_out} more, less good or baselines, not drawn" if self.left_out else ""
        return [note for note in (self.selection, undefined, rest) if note]


def rows_of_lines(table: pd.DataFrame, names: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Return the rows of each line, in the order in which lines first appear.

    Parameters
    ----------
    table
        Rows of all lines.
    names
        The line of each row, as `line_names` gives them.

    Examples
    --------
    >>> table = as_table({"method": ["b", "a", "b"], "value": [1, 2, 3]}, "table", ())
    >>> {name: len(rows) for name, rows in rows_of_lines(table, line_names(table)).items()}
    {'b': 2, 'a': 1}
    """
    places: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        places.setdefault(name, []).append(place)
    return {name: table.iloc[rows] for name, rows in places.items()}


def choose_lines(
    parts: Mapping[str, pd.DataFrame],
    scores: Mapping[str, float],
    *,
    lower: bool = False,
    most: int = MOST,
    longest: int = 44,
) -> Chosen:
    """Return the lines to draw, the best first, each with its look.

    Looks follow the order of the table, not that of the scores: tables whose lines stand in the
    same order give the same looks, whatever their numbers. Of more lines than there is room for,
    up to 6 baselines and the best others are kept.

    Parameters
    ----------
    parts
        The rows of each line, as `rows_of_lines` gives them; a column `group` marks baselines,
        `layer` and `chosen` say which layer was chosen, and how.
    scores
        By which lines are sorted; lines whose score is NaN are not drawn.
    lower
        Lower scores are better.
    most
        Lines to draw.
    longest
        Characters of a name that are shown.

    Examples
    --------
    >>> table = as_table({"method": ["a", "b"], "value": [0.1, 0.2]}, "table", ())
    >>> chosen = choose_lines(rows_of_lines(table, line_names(table)), {"a": 0.1, "b": 0.2})
    >>> [line.name for line in chosen.lines]
    ['b', 'a']
    """
    known = [name for name in parts if np.isfinite(scores.get(name, np.nan))]
    ranked = sorted(known, key=lambda name: scores[name] if lower else -scores[name])
    base = {name for name in known if _is_baseline(parts[name])}
    kept = set(ranked)
    if len(ranked) > most:
        greys = [name for name in ranked if name in base][:_MOST_BASELINES]
        kept = {*greys, *[name for name in ranked if name not in base][: most - len(greys)]}
    looks = looks_of([name for name in parts if name in kept], base)
    labels = label_lines({name: parts[name] for name in looks}, longest)
    lines = [
        Line(name, labels[name], looks[name], parts[name], float(scores[name]))
        for name in ranked
        if name in kept
    ]
    selection = format_selection(how for line in lines for how in list_selections(line.rows))
    return Chosen(lines, len(parts) - len(known), len(ranked) - len(lines), selection)


# --- layers that were chosen ---------------------------------------------------------------------


def format_label(name: str, layer: Any, chosen: str) -> str:
    """Return the label of a configuration: its name and its layer, marked where it was chosen.

    Parameters
    ----------
    name
        What it is called.
    layer
        A number, or those of both halves of the images; None or missing where it has none.
    chosen
        How the layer or the method was chosen, as leaderboards have it; empty where it was not.

    Examples
    --------
    >>> format_label("cls", 9, "best of 12 layers on the same images"), format_label("cls", 9, "")
    ('cls · layer 9*', 'cls · layer 9')
    """
    import pandas as pd

    star = "*" if "same images" in chosen else ""
    if pd.isna(layer) or layer == "" or name.endswith(f"layer {layer}"):
        return f"{name}{star}"
    number = int(layer) if isinstance(layer, float) else layer
    return f"{name} · layer {number}{star}"


def format_selection(chosen: Iterable[str]) -> str:
    """Return how the layers or methods of configurations were chosen, for the notes of a figure.

    Parameters
    ----------
    chosen
        Of each, as leaderboards have it.

    Examples
    --------
    >>> format_selection(["best of 12 layers on the same images", "", "split-half of 4 layers"])
    '* best of 12 layers on the same images: optimistic; layers: split-half of 4 layers'
    """
    ways = merge_counts(chosen)
    return "; ".join(
        f"* {way}: optimistic" if "same images" in way else f"layers: {way}" for way in ways
    )


def list_selections(rows: pd.DataFrame) -> list[str]:
    """Return how the layers or methods of rows were chosen; nothing where that is not known.

    Parameters
    ----------
    rows
        With a column `chosen`, as leaderboards have it.

    Examples
    --------
    >>> list_selections(as_table({"chosen": ["last of 4 layers", ""]}, "table", ()))
    ['last of 4 layers', '']
    """
    import pandas as pd

    if "chosen" not in rows:
        return []
    return ["" if pd.isna(how) else str(how) for how in dict.fromkeys(rows["chosen"])]


def label_lines(parts: Mapping[str, pd.DataFrame], longest: int) -> dict[str, str]:
    """Return what is shown of each line: its short name and its layer.

    Parameters
    ----------
    parts
        The rows of each line, as `rows_of_lines` gives them, with `layer` where they have one,
        and `chosen` where it was chosen.
    longest
        Characters of a name that are shown; the layer is never cut.

    Examples
    --------
    >>> rows = {"method": ["cls"], "layer": [9], "chosen": ["last of 12 layers"]}
    >>> label_lines({"cls": as_table(rows, "table", ())}, 20)
    {'cls': 'cls · layer 9'}
    """
    short = short_names(parts, longest)
    found = {}
    for name, rows in parts.items():
        ways = [how for how in list_selections(rows) if how]
        layers = list(dict.fromkeys(rows["layer"])) if "layer" in rows else []
        layer = layers[0] if len(layers) == 1 else None
        found[name] = format_label(short[name], layer, ways[0] if ways else "")
    return found


def _is_baseline(rows: pd.DataFrame) -> bool:
    return "group" in rows and bool((rows["group"] == BASELINE).any())


def numbers(table: pd.DataFrame, column: str, what: str = "table") -> NDArray[np.float64]:
    """Return a column as numbers; all NaN where the table has no such column.

    Parameters
    ----------
    table
        Rows.
    column
        Its name.
    what
        The argument, for messages.

    Examples
    --------
    >>> table = as_table({"value": [1, None]}, "table", ())
    >>> numbers(table, "value").tolist(), numbers(table, "low").tolist()
    ([1.0, nan], [nan, nan])
    """
    import pandas as pd

    if column not in table:
        return np.full(len(table), np.nan)
    try:
        return np.asarray(pd.to_numeric(table[column]).astype("float64"), np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: column {column!r} must hold numbers: {error}") from error


def counts_words(counts: Iterable[float], thing: str = "image") -> str:
    """Return how many there are, in words; "" where that is not known.

    Parameters
    ----------
    counts
        Of each line.
    thing
        What is counted.

    Examples
    --------
    >>> counts_words([120, 120]), counts_words([118, 120, float("nan")]), counts_words([1], "class")
    ('120 images', '118 to 120 images', '1 class')
    """
    known = [int(count) for count in counts if np.isfinite(count)]
    if not known:
        return ""
    low, high = min(known), max(known)
    words = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f"{words} {thing if high == 1 else _several(thing)}"


def _several(thing: str) -> str:
    """Return the plural of a word, or of the last of some."""
    for one, many in (("axis", "axes"), ("class", "classes"), ("category", "categories")):
        if thing.endswith(one):
            return thing.removesuffix(one) + many
    return f"{thing}s"


def direction(metric: str | None) -> str:
    """Return which values of a metric are better: "higher" where nothing is known of it.

    Parameters
    ----------
    metric
        ``metric[@threshold]``, or None.

    Examples
    --------
    >>> direction("iou@90"), direction("kl"), direction("of another tool")
    ('higher', 'lower', 'higher')
    """
    base = (metric or "").partition("@")[0]
    return METRICS[base].direction if base in METRICS else "higher"
