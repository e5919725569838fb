"""Two models, or two methods, image by image."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sightline.metrics import METRICS
from sightline.records import InputError
from sightline.results._lines import make_lines, units_of
from sightline.results.leaderboard import layer_column, so_far, with_note

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from sightline.results._catalogue import Where
    from sightline.results._lines import Line
    from sightline.results._tables import Tables
    from sightline.results._views import Name

__all__ = ["By", "compare"]

By = Literal["model", "method"]
# Scores closer than this are equal.
_EQUAL = 1e-9


def compare(
    tables: Tables, name: Name, sides: tuple[Where, Where], layer: int | str, by: By
) -> pd.DataFrame:
    """Return a line for each pair of lines that belong together; see `Results.compare`."""
    import pandas as pd

    if layer == "all":
        raise InputError("layer must be best, split, last or a number; got 'all'")
    first, second = (make_lines(tables, name, where, layer) for where in sides)
    pairs = [(a, b) for a in first for b in second if _belong(a, b, by)]
    if not pairs:
        raise InputError(f"nothing to compare: no {_other(by)} is stored for both")
    frame = pd.DataFrame([_named(a, b, by) | _pair(tables, name, a, b) for a, b in pairs])
    for column in ("layer_a", "layer_b"):
        frame[column] = layer_column(frame[column].astype(object))
    frame.attrs["metric"] = str(name)
    chosen = {line.chosen for pair in pairs for line in pair if line.chosen}
    note = f"{name}, paired by image; differences are a − b"
    alone = _alone([*first, *second], pairs)
    return with_note(frame, note, " and ".join(sorted(chosen)), alone, so_far(tables))


def _alone(lines: Sequence[Line], pairs: Sequence[tuple[Line, Line]]) -> str:
    """Name the lines that have no counterpart."""
    paired = {id(line) for pair in pairs for line in pair}
    names = [replace(line, chosen="").told() for line in lines if id(line) not in paired]
    return f"stored for one of the two only, and left out: {', '.join(names)}" if names else ""


def _other(by: By) -> str:
    return "method" if by == "model" else "model"


def _belong(a: Line, b: Line, by: By) -> bool:
    """Say whether two lines differ only in what is compared."""
    if by == "model":
        return (a.picks[0][:2], a.head) == (b.picks[0][:2], b.head)
    targets = {a.target, b.target} - {""}
    return (a.model, a.head) == (b.model, b.head) and len(targets) < 2


def _named(a: Line, b: Line, by: By) -> dict[str, Any]:
    """Return what is compared, and what both have in common."""
    first, second = (a.model, b.model) if by == "model" else (a.method, b.method)
    return {
        "a": first,
        "b": second,
        "model": "" if by == "model" else a.model,
        "method": "" if by == "method" else a.method,
        "target": a.target or b.target,
        "layer_a": a.layer,
        "layer_b": b.layer,
    }


def _pair(tables: Tables, name: Name, a: Line, b: Line) -> dict[str, Any]:
    """Return the figures of one pair."""
    one, other = (
        tables.frame(units_of(tables, name, line), line.values()).set_index("image")["value"]
        for line in (a, b)
    )
    images = one.index.union(other.index)
    x, y = (side.reindex(images).to_numpy(np.float64) for side in (one, other))
    both = np.isfinite(x) & np.isfinite(y)
    gaps = (x - y)[both]
    direction = METRICS[name.metric].direction
    better = gaps * {"higher": 1, "lower": -1, "neither": np.nan}[direction]
    return {
        "n": int(both.sum()),
        "value_a": _mean(x[both]),
        "value_b": _mean(y[both]),
        "difference": _mean(gaps),
        "better": _mean(better > _EQUAL) if direction != "neither" else np.nan,
        "equal": _mean(np.abs(gaps) <= _EQUAL),
        "worse": _mean(better < -_EQUAL) if direction != "neither" else np.nan,
        "only_a": int((np.isfinite(x) & ~np.isfinite(y)).sum()),
        "only_b": int((np.isfinite(y) & ~np.isfinite(x)).sum()),
    }


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
