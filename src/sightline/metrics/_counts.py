"""What one pass over a batch of maps yields, and what it is asked for."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from sightline.core.arrays import Array, divide, namespace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sightline.metrics.selection import Sign, Threshold, Ties

__all__ = ["POINTS", "Counts", "Plan", "RegionCounts", "Selected", "join", "take"]

T = TypeVar("T")

POINTS = 101
"""Points of a curve: at 0, 1, …, 100 hundredths."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a pass must find: budgets of pixels under one sign rule.

    `thresholds` are those of the selection under the rule `ties`; `shared` are the fixed ones
    (the maximum, the top k, as many as are annotated), whose ties are always shared. With `curves`
    it finds the ROC and precision–recall curves too.
    """

    shared: tuple[Threshold, ...]
    thresholds: tuple[Threshold, ...]
    sign: Sign
    ties: Ties
    curves: bool = False

    @property
    def all(self) -> tuple[tuple[Threshold, Ties], ...]:
        """Every threshold with its tie rule, in the order of the counts' first axis."""
        shared: list[tuple[Threshold, Ties]] = [(threshold, "share") for threshold in self.shared]
        return (*shared, *((threshold, self.ties) for threshold in self.thresholds))

    @property
    def regional(self) -> tuple[bool, ...]:
        """Which of them regions are measured at: the maximum and those of the selection."""
        first = (threshold.level == 1 for threshold in self.shared)
        return (*first, *(True for _ in self.thresholds))


@dataclass(frozen=True, slots=True)
class Selected:
    """Pixels selected by each budget; arrays `(budgets, items)` in float64."""

    budget: Array
    above: Array
    tied: Array
    above_inside: Array
    tied_inside: Array

    @property
    def share(self) -> Array:
        """Weight of each tied pixel."""
        xp = namespace(self.budget)
        taken = divide(self.budget - self.above, self.tied)
        return xp.where(self.budget == 0, xp.zeros_like(taken), taken)

    @property
    def hits(self) -> Array:
        """Selected pixels inside the annotation."""
        return self.above_inside + self.share * self.tied_inside


@dataclass(frozen=True, slots=True)
class RegionCounts:
    """The same for the regions, one item per pair of map and region."""

    map: Array
    region: Array
    inside: Array
    energy_inside: Array
    energy: Array
    selected: Selected


@dataclass(frozen=True, slots=True)
class Counts:
    """One pass over a batch: arrays `(maps,)` in float64, and the selected pixels.

    `best_selected` is how many pixels the threshold of the best IoU selects.

    `pixels` is one number for all maps, or an array when pixels are ignored. `curves` is `(2,
    POINTS, maps)` in float32: ROC and precision–recall.
    """

    pixels: Array | int
    inside: Array
    energy_inside: Array
    energy: Array
    auc_roc: Array
    average_precision: Array
    best_iou: Array
    best_selected: Array
    selected: Selected
    regions: RegionCounts | None = None
    curves: Array | None = None


def join(parts: Sequence[T]) -> T:
    """Concatenate counts field by field, along the items."""
    return _each(parts, lambda arrays: namespace(*arrays).concat(arrays, axis=-1))


def take(part: T, items: Any) -> T:
    """Return the counts of some items, by their positions."""
    return _each([part], lambda arrays: arrays[0][..., items])


def _each(parts: Sequence[T], change: Any) -> T:
    """Apply `change` to the arrays of each field; numbers and nothing stay as they are."""
    first: Any = parts[0]
    changed = {}
    for field in fields(first):
        values = [getattr(part, field.name) for part in parts]
        if is_dataclass(values[0]):
            changed[field.name] = _each(values, change)
        elif hasattr(values[0], "shape"):
            changed[field.name] = change(values)
    found: T = replace(first, **changed)
    return found
