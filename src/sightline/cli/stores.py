"""What a store of results looks like on a terminal."""

import re
import shlex
from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.cli.output import SHOWN_NAMES, add_row, console, new_table, number, timespan
from sightline.core import InputError
from sightline.core.words import counted, merge_counts

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from sightline.results.diff import Difference
    from sightline.study import Run

__all__ = [
    "SHOWN_LINES",
    "compact",
    "comparison_blocks",
    "demo_lines",
    "difference_blocks",
    "finished_lines",
    "format_best_baseline",
    "frame_blocks",
    "frame_records",
    "layer_lines",
    "leaderboard_blocks",
    "merged",
    "note_lines",
    "skipped_lines",
    "summary_blocks",
    "without_intervals",
]

SHOWN_LINES = 40
_BLOCKS = "▁▂▃▄▅▆▇█"
# Columns that --all shows.
_EXTRA = ("corrected", "images", "selected", "area", "rank", "group", "chosen", "median", "std")
_BESIDE = ("_chance", "_low", "_high", "_median", "_std")
_INTERVAL = "95% interval"
_PERCENTILE = "best percentile"
_NUMBERS = (
    "layer",
    "layers",
    "chance",
    _INTERVAL,
    _PERCENTILE,
    "band at 30%",
)  # columns of texts that are no names
_NOTHING = "a map that knows nothing"
_NARROWEST = 10  # letters that a name keeps where the screen is narrow


def skipped_lines(run: "Run") -> list[str]:
    """Return the images that were left out, with the reason for each."""
    found = [why if image in why else f"{image}: {why}" for image, why in _skipped(run).items()]
    if not found:
        return []
    more = len(found) - SHOWN_NAMES
    rest = [f"  … and {more} more: {run.store.manifest_path} lists them"] if more > 0 else []
    return [f"Images left out ({len(found)}):", *(f"  {one}" for one in found[:SHOWN_NAMES]), *rest]


def _skipped(run: "Run") -> dict[str, str]:
    return dict(run.plan.skipped or {})


def finished_lines(runs: "Sequence[Run]", program: str) -> list[str]:
    """Return what the runs of a study did, where its results are, and what to do with them."""
    rows, maps, finished = (
        sum(getattr(run, name) for run in runs) for name in ("rows", "maps", "finished")
    )
    seconds = timespan(sum(run.seconds for run in runs))
    what = "Nothing was left to do"
    if finished:
        what = f"Stored: {counted(rows, 'score')} of {counted(maps, 'map')} in {seconds}"
    path = runs[-1].store.path
    command = shlex.join([program, "show", str(path)])
    return [what, f"Results: {path}", f"Next, look at them again:\n  {command}"]


def demo_lines(
    path: Path, program: str, compared: tuple[str, str], *, checked: bool = False
) -> list[str]:
    """Return what to look at after the demo; two methods serve as an example of a comparison."""
    command = shlex.join([program, "show", str(path)])
    compare, stats = (shlex.join([program, one, str(path)]) for one in ("compare", "stats"))
    return [
        f"  {command} --by labels",
        f"  {command} --layer split --metric coverage",
        f"  {compare} --a {compared[0]} --b {compared[1]} --by method",
        f"  {stats} --against chance",
        *([f"  {shlex.join([program, 'sanity', str(path)])}"] if checked else []),
        f"The study, with every choice: {path / 'study.yml'}; the scores: {path / 'scores'}",
        f"The maps: {path / 'maps'}; what was used: {path / 'manifest.json'}",
    ]


def summary_blocks(path: Path) -> "list[Table | str]":
    """Return the leaderboard of a store."""
    from sightline.results import open_results

    with open_results(path) as results:
        return leaderboard_blocks(results.leaderboard(), results.study["name"])


def leaderboard_blocks(frame: "pd.DataFrame", study: str) -> "list[Table | str]":
    """Return a leaderboard; baselines that are alike for several models share a line."""
    shown = _counted_once(compact(merged(frame)))
    heading, table, *notes = frame_blocks(shown, f"{study}: {frame.attrs['metric']}", len(frame))
    return [heading, table, *format_best_baseline(frame), *notes]


def format_best_baseline(frame: "pd.DataFrame") -> list[str]:
    """Return how the best configuration of a leaderboard compares with the best baseline."""
    found = frame.attrs.get("best_baseline")
    return [] if found is None else [found["sentence"]]


def _counted_once(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table that says how many images there are below it, where all lines have as many."""
    if len(frame) and frame["n"].nunique() == 1 and " over images" in frame.attrs["note"]:
        images = counted(int(frame["n"].iloc[0]), "image")
        note = frame.attrs["note"].replace(" over images", f" over {images}", 1)
        frame = frame.drop(columns="n")
        frame.attrs["note"] = note
    return frame


def comparison_blocks(frame: "pd.DataFrame", study: str) -> "list[Table | str]":
    """Return a comparison: what was tested, what that means, and how to read it."""
    layer = "layer " if frame.attrs["by"] == "layer" else ""
    sides = [
        f"{side} = {layer}{frame[side].iloc[0]}"
        for side in ("a", "b")
        if frame[side].nunique() == 1
    ]
    title = f"{study}: {', '.join([frame.attrs['metric'], *sides])}"
    shown = _counted_once(_tested(frame))
    heading, table, *notes = frame_blocks(shown, title, len(frame))
    if isinstance(table, str) and "chance" in shown:  # wider than the screen
        heading, table, *notes = frame_blocks(shown.drop(columns="chance"), title, len(frame))
    return [heading, table, *frame.attrs["summary"], *notes]


def _tested(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return the pairs that differ, or all where none does, in columns that fit a screen."""
    by, differ = frame.attrs["by"], frame["equal"] != 1
    some = frame[differ] if differ.any() else frame
    figures = {"value_a": "a", "value_b": "b", "difference": "a − b"}
    names = [one for one in ("model", "method", "target") if one != by]
    shown = some[[*names, *figures, "low", "high", "p", "p_holm", "n"]].rename(columns=figures)
    shown.insert(list(shown).index("a − b"), "chance", _chances(some))
    if len(some) == 1:
        shown = shown.drop(columns="p_holm")
    if by != "layer":
        both = [_marked(some[f"layer_{side}"], some[f"chosen_{side}"]) for side in ("a", "b")]
        layers = [", ".join(filter(None, pair)) for pair in zip(*both, strict=True)]
        shown.insert(len(names), "layers", layers)
    for place, side in enumerate(("a", "b")):
        if frame[side].nunique() > 1:
            shown.insert(place, f"{by} {side}", some[side])
    told = [part for part in _notes(frame) if not re.search("same images|split-half", part)]
    ways = _ways([*some["chosen_a"], *some["chosen_b"]])
    shown.attrs = {**frame.attrs, "note": "; ".join([*told, *ways])}
    return compact(shown)


def _chances(frame: "pd.DataFrame") -> "list[str]":
    """Return chance of both sides: one number where it is the same."""
    pairs = zip(frame["chance_a"], frame["chance_b"], strict=True)
    return [", ".join(dict.fromkeys(number(one) for one in pair if one == one)) for pair in pairs]


def _marked(layers: "pd.Series[Any]", chosen: "pd.Series[Any]") -> "list[str]":
    """Return layers as texts, with a mark where they were chosen on the same images."""
    texts = layers.astype(object).where(layers.notna(), "").astype(str)
    return list(texts.where(~chosen.astype(str).str.contains("same images"), texts + "*"))


def compact(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table without what a reader can do without: empty columns, what is always the same.

    How layers were chosen becomes a mark on them and a note.
    """
    shown = _with_interval(frame)
    if "chosen" in shown and "layer" in shown:
        shown["layer"] = _marked(shown["layer"], shown["chosen"])
        told = [part for part in _notes(shown) if "see chosen" not in part]
        shown.attrs["note"] = "; ".join([*told, *_ways(shown["chosen"])])
    return shown.drop(columns=[name for name in shown if _dull(str(name), shown[name])])


def _with_interval(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return a copy of a table whose intervals are one column, where there is room for it."""
    shown = _with_percentiles(frame.copy())
    if not {"low", "high"} <= set(frame):
        return shown
    low, high = (frame[end].to_numpy(float) for end in ("low", "high"))
    if "percentile" in frame:
        shown.attrs["note"] = without_intervals(frame.attrs["note"])
    else:
        place = list(shown).index("low")
        shown.insert(place, _INTERVAL, [_between(*both) for both in zip(low, high, strict=True)])
    if {"iou", "coverage"} <= set(frame) and frame["iou"].notna().any():
        shown = shown.drop(columns="coverage")
    return shown.drop(columns=["low", "high"])


def _with_percentiles(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table whose quartiles of the best percentile are one column."""
    names = ["percentile_median", "percentile_q1", "percentile_q3"]
    if not set(names) <= set(frame):
        return frame
    quartiles = frame[names].itertuples(index=False)
    texts = [
        "" if one[0] != one[0] else "{:.1f} ({:.1f} to {:.1f})".format(*one) for one in quartiles
    ]
    frame.insert(list(frame).index(names[1]), _PERCENTILE, texts)
    return frame.drop(columns=names)


def without_intervals(note: str) -> str:
    """Return a note for a table whose intervals are not shown."""
    return note.replace(" with 95% intervals", "")


def _between(low: float, high: float) -> str:
    return "" if low != low else f"{number(low)} to {number(high)}"


def _dull(name: str, values: "pd.Series[Any]") -> bool:
    """Say whether a column tells nothing, or only what few ask for."""
    if name in _EXTRA or name.endswith(_BESIDE):
        return True
    if name == "undefined":
        return not values.any()
    if name == "target":
        return values[values != ""].nunique() < 2
    return bool((values.isna() | (values.astype(str) == "")).all())


def _notes(frame: "pd.DataFrame") -> list[str]:
    return [part for part in str(frame.attrs.get("note", "")).split("; ") if part]


def _ways(chosen: Iterable[Any]) -> list[str]:
    """Return how layers or methods were chosen, those that differ in numbers alone as one."""
    found = []
    for way in merge_counts(map(str, chosen)):
        option = "--method" if "methods" in way else "--layer"
        flattered = f"*{way}, which flatters it: {option} split does not"
        found.append(flattered if "same images" in way else way)
    return found


def merged(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Join the lines of a baseline whose scores are the same for several models."""
    import pandas as pd

    alike = ["method", "group", "target", "layer", "value", "n", "undefined"]
    models = frame["model"].nunique()
    firsts = []
    for keys, lines in frame.groupby(alike, sort=False, dropna=False):
        if keys[1] == "baseline" and len(lines) > 1:
            others = f"{lines['model'].iloc[0]} + {len(lines) - 1} more"
            shared = f"all {models} models" if len(lines) == models else others
            firsts.append(lines.head(1).assign(model=shared))
        else:
            firsts.append(lines)
    merged = pd.concat(firsts).astype(frame.dtypes.to_dict()) if firsts else frame
    merged = merged.loc[sorted(merged.index)]
    merged.attrs = frame.attrs
    return merged


def frame_blocks(
    frame: "pd.DataFrame",
    title: str,
    shown: int = SHOWN_LINES,
    *,
    whole: bool = False,
    more: str = "--all shows them",
) -> "list[Table | str]":
    """Return a title, a table and its notes.

    Names are cut where the screen is narrow, numbers never: a table that has no room for them is
    wider than the screen.

    Parameters
    ----------
    frame, title
        What to show. Columns may share a name.
    shown
        How many lines; the last line counts the others.
    whole
        Cut no names either.
    more
        How to see the others.
    """
    left = len(frame) - shown
    rest = [f"{left:,} more: {more}."] if left > 0 else []
    return [title, _laid_out(frame.head(shown), whole), *rest, *note_lines(frame)]


def _laid_out(frame: "pd.DataFrame", whole: bool) -> "Table | str":
    """Return a table for the screen, or as text where it is wider."""
    table = new_table("", [str(name) for name in frame])
    table.padding, table.pad_edge = (0, 1, 0, 0), False
    columns = [_cells(frame.iloc[:, place]) for place in range(len(frame.columns))]
    texts = [_is_text(frame.iloc[:, place]) for place in range(len(frame.columns))]
    widths = [
        max(map(len, [str(name), *cells])) for name, cells in zip(frame, columns, strict=True)
    ]
    fits = _shrink(widths, [text and not whole for text in texts], console().width)
    for column, text, width in zip(table.columns, texts, widths, strict=True):
        column.no_wrap, column.overflow, column.width = True, "ellipsis", width
        column.justify = "left" if text else "right"
    for line in zip(*columns, strict=True):
        add_row(table, *line)
    return table if fits else _wide(table)


def _shrink(widths: list[int], texts: Sequence[bool], room: int) -> bool:
    """Make columns of names narrower, the widest first, until all fit; say whether they do."""
    before = list(widths)
    while sum(widths) + 2 * len(widths) > room:
        names = [place for place, text in enumerate(texts) if text]
        widest = max(names, key=widths.__getitem__, default=None)
        if widest is None or widths[widest] <= _NARROWEST:
            widths[:] = before
            return False
        widths[widest] -= 1
    return True


def _cells(values: "pd.Series[Any]") -> list[str]:
    return [_written(value, str(values.name)) for value in values]


def _is_text(values: "pd.Series[Any]") -> bool:
    from pandas.api.types import is_numeric_dtype

    return not is_numeric_dtype(values.dtype) and values.name not in _NUMBERS


def _wide(table: "Table") -> str:
    """Return a table as text, as wide as it needs to be."""
    from rich.console import Console

    screen = Console(file=StringIO(), width=100_000)
    screen.print(table, markup=False)
    assert isinstance(screen.file, StringIO)  # noqa: S101 (as given)
    return "\n".join(line.rstrip() for line in screen.file.getvalue().splitlines())


def note_lines(frame: "pd.DataFrame") -> list[str]:
    """Return what must be known to read a table, as sentences."""
    metric = str(frame.attrs.get("metric", "")) or " "
    return [
        f"{note if note.startswith(metric) else note[:1].upper() + note[1:]}."
        for note in _notes(frame)
    ]


def _written(value: Any, name: str) -> str:
    """Return a value as a cell."""
    import numpy as np
    import pandas as pd

    if isinstance(value, list | tuple | np.ndarray):
        return ", ".join(map(str, value))
    if value is None or pd.isna(value):
        return ""
    if not isinstance(value, float):
        return str(value)
    if name == "p" or name.startswith("p_"):
        return f"{value:.2g}"
    tiny = 0 < abs(value) < 0.0005
    return f"{value:.3g}" if tiny or name in ("rank", "percentile") else number(value)


def frame_records(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the lines of a table as JSON holds them; what is missing or infinite is null."""
    import json

    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise InputError(f"two columns are called {twice[0]!r}: name one of them with AS")
    text = frame.to_json(orient="records", double_precision=15, date_format="iso")
    return json.loads(text)  # type: ignore[no-any-return]


def layer_lines(frame: "pd.DataFrame") -> list[str]:
    """Return how scores change from layer to layer, as a small chart for each model and method.

    The height of a block is the score over the largest of all.
    """
    layered = frame[frame["layer"].notna() & frame["value"].notna()]
    if layered.empty:
        return ["No maps of single layers are stored."]
    top = float(layered["value"].max())
    metric = frame.attrs["metric"]
    lines = [f"{metric} from the first layer to the last (a full block is {top:.3f}):"]
    several = layered["target"].replace("", None).nunique() > 1
    by = [name for name in ("model", "method", "target", "head") if name in layered]
    groups = {
        _called(*map(str, keys), several=several): one
        for keys, one in layered.groupby(by, sort=False)
    }
    width = max(map(len, [*groups, _NOTHING]))
    for name, one in groups.items():
        values = one.sort_values("layer")["value"].to_list()
        told = _told(one, metric, frame.attrs.get("beside"))
        lines.append(f"  {name:{width}}  {_chart(values, top)}  {told}")
    chance = layered["chance"].mean()
    if chance == chance:
        lines.append(f"  {_NOTHING:{width}}  {_chart([chance], top)}  {chance:.3f}")
    return lines


def _called(model: str, method: str, target: str, head: str = "", *, several: bool) -> str:
    """Return the names of a line, with the target where there are several, and the head."""
    shown = f"({target})" if several and target else ""
    return " ".join(filter(None, (model, method, shown, f"head {head}" if head else "")))


def _chart(values: Sequence[float], top: float) -> str:
    if top <= 0:
        return _BLOCKS[0] * len(values)
    last = len(_BLOCKS) - 1
    return "".join(_BLOCKS[min(max(round(value / top * last), 0), last)] for value in values)


def _told(lines: "pd.DataFrame", metric: str, beside: str | None = None) -> str:
    """Say which layer is best, and what its score must be read beside."""
    from sightline.metrics import METRICS

    direction = METRICS[metric.partition("@")[0]].direction
    if direction == "neither":
        return f"{lines['value'].min():.3f} to {lines['value'].max():.3f}"
    values = lines["value"].to_numpy()
    best = lines.iloc[int(values.argmin() if direction == "lower" else values.argmax())]
    also = f" ({beside} {best[beside]:.3f})" if beside else ""
    return f"best {best['value']:.3f} at layer {best['layer']}{also}"


def difference_blocks(found: "Difference", all_lines: bool = False) -> "list[Table | str]":
    """Return how two stores differ: every setting, and the scores that are not the same."""
    blocks: list[Table | str] = []
    if len(found.settings):
        lines = found.settings.itertuples(index=False)
        told = [f"  {one.key}: {_setting(one.a)} → {_setting(one.b)}" for one in lines]
        blocks += [f"Settings that differ ({len(told)}):", *told]
    scores = found.scores
    differ = scores[scores[["only_a", "only_b", "changed"]].any(axis=1)]
    rows = int(scores["both"].sum())
    if differ.empty:
        return [*blocks, f"The scores are the same: {counted(rows, 'score')}."]
    title = f"Scores that differ ({len(differ)} of {len(scores)} lines)"
    shown = len(scores) if all_lines else SHOWN_LINES
    return [*blocks, *frame_blocks(scores if all_lines else differ, title, shown, whole=all_lines)]


def _setting(value: Any) -> str:
    return "nothing" if value is None else str(value)
