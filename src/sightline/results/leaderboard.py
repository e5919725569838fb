"""Tables with a line for each way to make maps."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core.checks import MIN_IMAGES
from sightline.core.words import merge_counts
from sightline.metrics import METRICS
from sightline.results._catalogue import refuse
from sightline.results._lines import make_lines, rounded
from sightline.results._random import NAME, random_means
from sightline.results._sums import ROOM, sum_up
from sightline.results._values import spreads
from sightline.results._views import Name
from sightline.results._wording import beside, beside_name, ratio

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import pandas as pd

    from sightline.results._catalogue import Where
    from sightline.results._lines import Line
    from sightline.results._sums import Found, Scores
    from sightline.results._tables import Tables
    from sightline.results._values import Spread

    _Key = tuple[str, str, str, int | None]  # model, method, target and layer of maps

__all__ = [
    "BEST_PERCENTILE",
    "CHOSEN",
    "GRIDS",
    "PERCENTILES",
    "QUARTILES",
    "average_ranks",
    "compute_percentile_quartiles",
    "empty_board",
    "find_warnings",
    "has_mixed_grids",
    "layer_column",
    "layer_progression",
    "leaderboard",
    "list_map_keys",
    "percentile_sweep",
    "put_beside",
    "ranked",
    "so_far",
    "with_note",
]

RANDOM = "random is what a random ranking of the pixels or cells gets, a little more than chance"
CHOSEN = "what was chosen on the same images looks better than it is"
GRIDS = (
    "maps were scored on grids of different sizes or parts of the image, which draw the same "
    "regions differently: "
    "figures, chance and ceiling of one grid do not compare with those of another, while "
    "resolution pixels scores all on one raster"
)
BEST_PERCENTILE = Name("best_iou_percentile", "")
QUARTILES = ("percentile_q1", "percentile_median", "percentile_q3")
PERCENTILES = (
    "best percentile: the one at which the IoU of an image is largest, median and quartiles over "
    "images"
)


def with_note(frame: pd.DataFrame, *notes: str, warnings: Sequence[str] = ()) -> pd.DataFrame:
    """Put what a reader must know into the table's attributes.

    Why intervals are missing is part of the note, and so are warnings.
    """
    few = _explain_missing(frame)
    missing = "" if any(few in note for note in notes) else few
    frame.attrs["note"] = "; ".join(note for note in (*notes, missing, *warnings) if note)
    frame.attrs["warnings"] = tuple(warnings)
    return frame


def _explain_missing(frame: pd.DataFrame) -> str:
    """Return why rows have no interval, where they have too few images."""
    count = next((name for name in ("images", "n") if name in frame), "")
    if not count or "low" not in frame:
        return ""
    few = (frame[count] > 0) & (frame[count] < MIN_IMAGES) & frame["low"].isna()
    return f"no interval below {MIN_IMAGES} images" if few.any() else ""


def so_far(tables: Tables) -> str:
    """Say how far a study is that is not finished."""
    done, count = tables.progress
    return "" if done == count else f"so far: {tables.progress}"


def average_ranks(values: pd.Series[float], name: Name) -> pd.Series[float]:
    """Return ranks, 1 for the best; equal values share theirs, and NaN has none."""
    direction = METRICS[name.metric].direction
    if direction == "neither":
        return values * math.nan
    return values.map(rounded).rank(method="average", ascending=direction == "lower")


def leaderboard(
    tables: Tables,
    name: Name,
    where: Where,
    layer: int | str,
    method: str | None,
    found: Found | None = None,
) -> pd.DataFrame:
    """Return the lines with their ranks, the best first; see `Results.leaderboard`."""
    lines = make_lines(tables, name, where, layer, method, found)
    frame = ranked(name, lines, head=where.head is not None)
    put_beside(tables, name, where, lines, frame)
    peaks = _put_percentiles(tables, name, where, lines, frame)
    if name == NAME:
        _put_random(tables, lines, frame)
    by = frame["value"].map(rounded)
    order = (by if METRICS[name.metric].direction == "lower" else -by).sort_values(kind="stable")
    frame = frame.loc[order.index].reset_index(drop=True)
    frame.attrs["metric"] = str(name)
    return with_note(
        frame,
        _about(name),
        peaks,
        RANDOM if "random" in frame else "",
        _choice(lines),
        _nothing(lines, where),
        so_far(tables),
        warnings=find_warnings(tables, list_map_keys(lines)),
    )


def _put_percentiles(
    tables: Tables, name: Name, where: Where, lines: Sequence[Line], frame: pd.DataFrame
) -> str:
    """Put the percentiles that give the best IoU into its table; return how to read them."""
    if name.metric != "best_iou" or BEST_PERCENTILE not in tables.names:
        return ""
    found = sum_up(tables, [BEST_PERCENTILE], where)[BEST_PERCENTILE]
    place = list(frame).index("n")
    for at, column in enumerate(
        compute_percentile_quartiles(line.at(found) for line in lines).items()
    ):
        frame.insert(place + at, *column)
    return PERCENTILES


def compute_percentile_quartiles(scores: Iterable[Scores]) -> dict[str, list[float]]:
    """Return the quartiles over images of the percentile at which the IoU is largest, by column."""
    values = [one.values if len(one.values) else np.array([np.nan]) for one in scores]
    table = [np.quantile(each, (0.25, 0.5, 0.75)).tolist() for each in values]
    return {name: [row[at] for row in table] for at, name in enumerate(QUARTILES)}


def list_map_keys(lines: Iterable[Line]) -> set[_Key]:
    """Return the maps that lines are scores of, on either half of the images."""
    return {
        (line.model, *pick)
        for line in lines
        for half, pick in enumerate(line.picks)
        if half not in line.blind
    }


def find_warnings(tables: Tables, keys: Collection[_Key]) -> tuple[str, ...]:
    """Return what forbids to compare the scores of some maps with one another, in sentences."""
    grids = (GRIDS,) if has_mixed_grids(tables, keys) else ()
    return *_circular(tables, {model for model, *_ in keys}), *grids


def has_mixed_grids(tables: Tables, keys: Collection[_Key] | None = None) -> bool:
    """Return whether maps were scored on grids that draw the same regions differently.

    All maps of the study by default. What each was scored on is stored with its rows.
    """
    chosen = tables.views.keys() if keys is None else tables.views.keys() & set(keys)
    chunks: dict[int, set[tuple[int, frozenset[Any]]]] = {}
    for key in chosen:
        for number, views in tables.views[key].items():
            chunks.setdefault(number, set()).add(views)
    return any(_differ(found) for found in chunks.values())


def _differ(found: Collection[tuple[int, frozenset[Any]]]) -> bool:
    """Return whether images of a chunk have several views; maps of some images may be missing."""
    most, views = max(found, key=lambda one: one[0])
    return any(not some <= views or (count == most and some != views) for count, some in found)


def _circular(tables: Tables, models: Collection[str]) -> Iterator[str]:
    """Say which models are scored against regions that their own weights proposed."""
    facts = tables.manifest["data"].get("review") or {}
    for model, other in facts.get("shared", ()) if facts.get("which") == "completed" else ():
        why = f"shares weights with {other}, which proposed regions"
        if model in models:
            yield f"{model} {why}: its scores are circular"


def ranked(name: Name, lines: Sequence[Line], *, head: bool = False) -> pd.DataFrame:
    """Return lines as a leaderboard has them, with their ranks, in the order given."""
    found = spreads(name, lines)
    frame = _frame(lines, found, head=head)
    place = list(frame).index("chance")
    for what in ("std", "median"):
        frame.insert(place, what, [getattr(one, what) for one in found])
    if name.metric == "iou":
        frame.insert(list(frame).index("n"), "corrected", [_corrected(one) for one in lines])
    frame.insert(0, "rank", average_ranks(frame["value"], name))
    return frame


def put_beside(
    tables: Tables,
    name: Name,
    where: Where,
    lines: Sequence[Line],
    frame: pd.DataFrame,
    *,
    short: bool = False,
) -> None:
    """Put what a score is never shown without into the table of its lines, where it is stored.

    The column is called as that score, `short` without a threshold that is the same.
    """
    other = beside_name(name, tables.names)
    if other is None:
        return
    found = sum_up(tables, [other], where)[other]
    same = short and other.threshold in ("", name.threshold)
    column = other.metric if same else str(other)
    frame.insert(list(frame).index("n"), column, [line.at(found).sums.mean() for line in lines])
    frame.attrs["beside"] = column


def _put_random(tables: Tables, lines: Sequence[Line], frame: pd.DataFrame) -> None:
    """Put what a random ranking gets beside chance, where it is known of any line."""
    found = random_means(tables, lines)
    if not all(map(math.isnan, found)):
        frame.insert(list(frame).index("chance") + 1, "random", found)


def empty_board() -> pd.DataFrame:
    """Return a leaderboard of nothing."""
    frame = _frame([], [], head=False)
    frame.insert(0, "rank", frame["value"])
    return frame


def layer_progression(
    tables: Tables, name: Name, where: Where, found: Found | None = None
) -> pd.DataFrame:
    """Return a line for each layer; see `Results.layer_progression`."""
    lines = make_lines(tables, name, where, "all", None, found)
    frame = _frame(lines, spreads(name, lines), head=where.head is not None)
    frame = frame.drop(columns="chosen")
    put_beside(tables, name, where, lines, frame)
    frame.attrs["metric"] = str(name)
    warnings = find_warnings(tables, list_map_keys(lines))
    notes = _about(name), _nothing(lines, where), so_far(tables)
    return with_note(frame, *notes, warnings=warnings)


def percentile_sweep(
    tables: Tables, metric: str, where: Where, layer: int | str | None
) -> pd.DataFrame:
    """Return a line for each percentile; see `Results.percentile_sweep`."""
    import pandas as pd

    names = [n for n in tables.names if n.metric == metric and n.threshold[:1].isdigit()]
    if not names:
        known = dict.fromkeys(n.metric for n in tables.names if n.threshold[:1].isdigit())
        refuse("metric with percentiles", metric, known)
    lead = Name(metric, "90") if Name(metric, "90") in names else names[0]
    lines = make_lines(tables, lead, where, "best" if layer is None else layer)
    found = sum_up(tables, names, where)
    parts = []
    for name in names:
        at = [replace(line, scores=line.at(found[name])) for line in lines]
        part = _frame(at, spreads(name, at), head=where.head is not None)
        part.insert(list(part).index("value"), "percentile", float(name.threshold))
        part.insert(
            list(part).index("ceiling") + 1, "selected", [line.sums.mean("selected") for line in at]
        )
        put_beside(tables, name, where, lines, part, short=True)
        parts.append(part)
    frame = pd.concat(parts)
    frame = frame.sort_values(["model", "method", "target"], kind="stable").reset_index(drop=True)
    ways = "; ".join(merge_counts(line.chosen for line in lines))
    layers = f"layers by {lead}: {ways}" if ways else ""
    frame.attrs["metric"] = metric
    about = f"means of {metric} over images with 95% intervals"
    about = "; ".join(filter(None, (about, ratio(lead), beside(lead))))
    warnings = find_warnings(tables, list_map_keys(lines))
    notes = about, layers, _nothing(lines, where), so_far(tables)
    return with_note(frame, *notes, warnings=warnings)


def _about(name: Name) -> str:
    """Say how to read a metric."""
    direction = METRICS[name.metric].direction
    better = f"{direction} is better" if direction != "neither" else "no value is better"
    about = f"means of {name} over images with 95% intervals, {better}"
    return "; ".join(filter(None, (about, ratio(name), beside(name))))


def _nothing(lines: Sequence[Line], where: Where) -> str:
    """Say so where a selection finds nothing."""
    return "" if lines else f"no scores of {where.told()} are stored"


def _choice(lines: Sequence[Line]) -> str:
    """Say what choices on the same images mean for the reader."""
    if any(line.chosen.startswith("best") for line in lines):
        return f"{CHOSEN}, see chosen"
    if any(line.split for line in lines):
        way = "on each half of the images, what did best on the other half (first|second half)"
        return f"{way}, see chosen" if any(line.blind for line in lines) else way
    return ""


def _frame(lines: Sequence[Line], found: Sequence[Spread], *, head: bool) -> pd.DataFrame:
    """Return lines, with the intervals of their means, as a table in their order."""
    import pandas as pd

    columns: dict[str, Any] = {
        "model": pd.Series([line.model for line in lines], dtype=str),
        "method": pd.Series([line.method for line in lines], dtype=str),
        "group": pd.Series([line.group for line in lines], dtype=str),
        "target": pd.Series([line.target for line in lines], dtype=str),
        "layer": layer_column(line.layer for line in lines),
        "head": pd.array([line.head for line in lines], dtype="Int64"),
        "value": [line.sums.mean() for line in lines],
        "low": [one.low for one in found],
        "high": [one.high for one in found],
        "chance": [line.sums.mean("chance") for line in lines],
        "ceiling": [line.sums.mean("ceiling") for line in lines],
        "uniform": [line.sums.mean("uniform") for line in lines],
        "n": [int(line.sums.n) for line in lines],
        "undefined": [int(line.sums.undefined) for line in lines],
        "chosen": pd.Series([line.chosen for line in lines], dtype=str),
    }
    if not head:
        del columns["head"]
    frame = pd.DataFrame(columns)
    return frame.drop(columns="uniform") if frame["uniform"].isna().all() else frame


def layer_column(found: Iterable[int | str | None]) -> Any:
    """Return numbers of layers; texts where halves have different ones."""
    import pandas as pd

    layers: list[Any] = list(found)
    if any(isinstance(layer, str) for layer in layers):
        return pd.Series(["" if layer is None else str(layer) for layer in layers], dtype=str)
    return pd.array(layers, dtype="Int64")


def _corrected(line: Line) -> float:
    """Return Σ(iou − chance) / Σ(ceiling − chance)."""
    sums = line.sums
    room = sums.ceiling - sums.chance
    return (sums.value - sums.chance) / room if room > ROOM * max(sums.n, 1) else math.nan
