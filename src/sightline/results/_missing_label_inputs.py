"""What a report on missing labels is made of: measured lines, and scores on other labels."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.results.leaderboard import layer_column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from sightline.results._lines import Line
    from sightline.results._views import Name
    from sightline.results.annotation_sets import OtherStore, Sets
    from sightline.results.configuration_scores import LineFigures
    from sightline.results.map_reader import Scenes

    Progress = Callable[[int, int, str], object]

__all__ = [
    "Labelled",
    "Material",
    "labelled",
    "line_columns",
    "mean",
    "mean_of",
    "names",
    "or_none",
    "records",
    "shown_of",
]


@dataclass(frozen=True, eq=False)
class Material:
    """What the tables of a report are made of.

    Attributes
    ----------
    scenes : Scenes
        The maps of the study.
    name : Name
        The metric.
    lines : sequence of LineFigures
        Every line, measured.
    sets : mapping
        The scores of each line that is shown against every annotation.
    completed, gold : OtherStore or None
        Stores with other annotations.
    draws, seed : int
        How often labels are left out, and what is drawn from.
    move : callable
        Told how much is done, of how much, and of what.
    """

    scenes: Scenes
    name: Name
    lines: Sequence[LineFigures]
    sets: dict[str, Sets]
    completed: OtherStore | None
    gold: OtherStore | None
    draws: int
    seed: int
    move: Progress

    @property
    def shown(self) -> list[LineFigures]:
        """The lines that findings are about: all but baselines, if there are others."""
        return shown_of(self.lines)

    def count_instances(self) -> dict[tuple[str, str], int] | None:
        """Return how many instances of a label an image has, by both; None if not known."""
        lines = self.scenes.results._tables.fetch(
            "SELECT image, label, dropped FROM regions WHERE dropped IN ('', 'unlabelled')"
        )
        if not any(dropped for *_, dropped in lines):
            return None
        return dict(Counter((image, label) for image, label, _ in lines))

    @property
    def main(self) -> LineFigures:
        """The best line that is no baseline."""
        return max(self.shown, key=lambda one: _least(one.line.sums.mean()))


def shown_of(lines: Sequence[LineFigures]) -> list[LineFigures]:
    """Return the lines that are no baselines; all where there are no others."""
    return [line for line in lines if not line.baseline] or list(lines)


def _least(value: float) -> float:
    return -math.inf if math.isnan(value) else value


def names(line: Line) -> dict[str, Any]:
    """Return the columns that say which line it is."""
    return {
        "model": line.model,
        "method": line.method,
        "group": line.group,
        "target": line.target,
        "layer": line.layer,
    }


def line_columns(lines: Sequence[Line]) -> dict[str, Any]:
    """Return the columns that say which line it is."""
    import pandas as pd

    texts = ("model", "method", "group", "target")
    columns: dict[str, Any] = {
        name: pd.Series([getattr(line, name) for line in lines], dtype=str) for name in texts
    }
    columns["layer"] = layer_column(line.layer for line in lines)
    if any(line.head is not None for line in lines):
        columns["head"] = pd.array([line.head for line in lines], dtype="Int64")
    return columns


def mean(values: Any) -> float:
    """Return the mean of what is defined; NaN if nothing is."""
    defined = np.asarray(values, np.float64)
    defined = defined[np.isfinite(defined)]
    return float(defined.mean()) if len(defined) else math.nan


def mean_of(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the mean of arrays of one shape, entry by entry, of what is defined; else NaN."""
    if len(parts) == 1:
        return parts[0]
    stacked = np.stack(parts)
    defined = np.isfinite(stacked)
    total = np.where(defined, stacked, 0).sum(0)
    counts = defined.sum(0)
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)


class Labelled(NamedTuple):
    """How many instances have a label.

    Attributes
    ----------
    known, total : int
        So many, of so many.
    gold : bool
        Whether they were counted on gold images; else the data know of all instances.
    """

    known: int
    total: int
    gold: bool

    @property
    def share(self) -> float:
        """The share that has a label: at most 1, though people may have marked fewer as gold."""
        return min(1.0, self.known / self.total)


def labelled(counts: pd.DataFrame) -> Labelled | None:
    """Return how many instances have a label, out of the counts of a report; None: not known."""
    if not len(counts):
        return None
    if counts["unlabelled"].notna().any():
        known = int(counts["regions"].sum())
        return Labelled(known, known + int(counts["unlabelled"].sum()), gold=False)
    if counts["gold"].notna().any() and counts["gold"].sum():
        return Labelled(int(counts["on_gold_images"].sum()), int(counts["gold"].sum()), gold=True)
    return None


def or_none(values: Any) -> list[Any]:
    """Return the entries of a column, those that are missing as None."""
    import pandas as pd

    return [None if pd.isna(one) else one if isinstance(one, str) else int(one) for one in values]


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the lines of a table, each by its columns."""
    found: list[Any] = frame.to_dict("records")
    return found
