"""Which columns of scores are stored: scores, and what does not follow from areas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.metrics.selection import Threshold
from sightline.metrics.spec import METRICS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sightline.metrics.selection import Ties

__all__ = ["SELECTED", "list_stored_columns"]

SELECTED = "attention_area"
"""The selected fraction of a threshold, among the columns of `Scores`."""


def list_stored_columns(columns: Iterable[str], ties: Ties) -> list[str]:
    """Return the scores among columns, and what does not follow from threshold and areas.

    The selected fraction of a threshold is named once, ``selected_fraction@THRESHOLD``.
    """
    known, names = set(METRICS), list[str]()  # a set: asking the registry takes longer
    for name in columns:
        metric, at, token = name.partition("@")
        if metric in known:
            names.append(name)
        elif metric == SELECTED and at and _is_selection_stored(token, ties):
            names.append(f"selected_fraction@{token}")
        elif _is_companion_stored(metric, token):
            names.append(name)
    return names


def _is_selection_stored(token: str, ties: Ties) -> bool:
    return ties == "include" or Threshold.parse(token).kind not in ("percentile", "matched")


def _is_companion_stored(name: str, token: str) -> bool:
    """Return whether chance or another companion of a metric does not follow from the areas."""
    metric, _, kind = name.rpartition("_")
    if kind != "chance":
        return kind in ("uniform", "percentile")
    chance = METRICS[metric].chance
    return chance is None or chance.sql is None or token.startswith("tol")
