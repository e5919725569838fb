"""What feeds a figure out of a store, and words that all of them share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sightline.core import InputError, UnknownNameError
from sightline.core.words import counted
from sightline.metrics import METRICS
from sightline.results._catalogue import BASELINE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from sightline.report._lines import Lines
    from sightline.report.figures import Choice, Drawn, StoreFigures

__all__ = [
    "OF_LINE",
    "OF_SCORES",
    "Feed",
    "chosen_metrics",
    "directed_metrics",
    "direction_of",
    "labelled_images",
    "layers_missing",
    "measure_of",
    "nothing_missing",
    "told",
    "told_one",
]


OF_LINE = ("model", "method", "target")
"""What a figure of lines can be told."""
OF_SCORES = ("metric", *OF_LINE, "layer")
"""What a figure of the scores of lines can be told."""


class Feed(NamedTuple):
    """How a figure comes out of a store.

    Attributes
    ----------
    draw
        Draws it.
    missing
        Says why it cannot be drawn; empty where it can.
    uses
        The parts of a choice that it goes by.
    """

    draw: Callable[[StoreFigures, Choice], Drawn]
    missing: Callable[[StoreFigures], str]
    uses: tuple[str, ...] = OF_SCORES


def layers_missing(store: StoreFigures) -> str:
    """Say that no method has several layers, where none has."""
    sources = store.results.manifest["sources"]
    several = any(len(one["layers"]) > 1 for one in sources if not one["check"])
    return "" if several else "no method of the study has several layers"


def nothing_missing(store: StoreFigures) -> str:
    """Say that nothing is missing where there are scores."""
    return "" if len(store.lines()) else "no scores are stored"


def labelled_images(store: StoreFigures) -> int:
    """Return how many images have labels."""
    found = store.results._tables.fetch("SELECT count(*) FROM images WHERE len(labels) > 0")
    return int(found[0][0])


def told(shown: Lines, every: Lines, *more: str) -> str:
    """Say which lines are drawn, and how many are not."""
    parts, several = [], len(every.firsts()) < len(every)
    for what, base in (("method", False), ("baseline", True)):
        drawn, all_ = (
            sum((group == BASELINE) is base for group in lines.groups)
            for lines in (shown, every.firsts())
        )
        if all_:
            parts.append(f"{drawn} of " * (drawn < all_) + counted(all_, what))
    targets = f"of several targets the best by {every.lead}" if several else ""
    return "; ".join(one for one in (" and ".join(parts), *more, targets, shown.choice()) if one)


def told_one(lines: Lines, *more: str) -> str:
    """Say which line a figure is about."""
    return "; ".join(one for one in (lines.lines[0].told(), *more) if one)


def chosen_metrics(store: StoreFigures, wanted: Iterable[str], least: int = 1) -> list[str]:
    """Return the metrics of a list that are stored; the first that are where these are too few."""
    return _chosen(store.results.metrics, wanted, least)


def directed_metrics(store: StoreFigures, wanted: Iterable[str], least: int) -> list[str]:
    """Return the same of the metrics of which one direction is better."""
    names = store.results.metrics
    better = [name for name in names if direction_of(name) != "neither"]
    return _chosen(better, wanted, least)


def measure_of(store: StoreFigures, metric: str | None, known: Sequence[str]) -> str | None:
    """Return the measure of a check that a choice names; None where it names none.

    A score of the study is none: reports and the app choose one for all of their figures.
    """
    if metric is None or metric in known:
        return metric
    try:
        store.results._tables.name(metric)
    except UnknownNameError:
        raise InputError(f"metric must be one of {', '.join(known)}; got {metric!r}") from None
    return None


def direction_of(metric: str) -> str:
    """Return which values of a metric are better: higher, lower, neither."""
    return METRICS[metric.partition("@")[0]].direction


def _chosen(stored: Sequence[str], wanted: Iterable[str], least: int) -> list[str]:
    found = [name for name in wanted if name in stored]
    more = [name for name in stored if name not in found]
    return [*found, *more[: max(0, least - len(found))]]
