"""Scores that are linear in the annotation: each pixel of a map has a weight, inside they add up.

What a score needs beside the sum over the annotated pixels is how many pixels the map selects, how
many are annotated, and how many there are. So one matrix product scores every map on every
annotation, and one Fourier transform a map at every place.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import divide
from sightline.core.checks import check_choice
from sightline.metrics import METRICS, IoU
from sightline.metrics._border import (
    apply_sign,
    refuse_signed,
    refuse_signed_selection,
)
from sightline.metrics.engine import parse_metric
from sightline.metrics.overlap import Overlap
from sightline.metrics.selection import HUGE, SHRINK, Sign, Threshold, Ties, budget
from sightline.stats._ranks import centred_ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.metrics import MetricSpec

    Floats = NDArray[np.float64]

__all__ = ["Rule", "Weights"]

OVERLAPS = ("iou", "iou_share", "iou_corrected", "dice", "precision", "recall", "lift")
POINTED = ("pointing", "top_k_pointing")


@dataclass(frozen=True, slots=True)
class Weights:
    """Weight of each pixel of each map, `(maps, pixels)`, and the pixels each selects, `(maps,)`.

    `selected` is NaN for a map on which the score is undefined, whatever the annotation; for scores
    that select no pixels it is 0, or the sum of the weights.
    """

    pixels: Floats
    selected: Floats


@dataclass(frozen=True, slots=True)
class Rule:
    """A metric with its threshold and what was done to the maps before."""

    spec: MetricSpec
    threshold: Threshold | None
    sign: Sign | None
    ties: Ties

    @classmethod
    def parse(cls, metric: str, sign: Sign | None = None, ties: Ties = "share") -> Rule:
        """Read ``metric[@threshold]`` and refuse what cannot be scored on another's regions."""
        if sign is not None:
            check_choice("sign", sign, get_args(Sign))
        check_choice("ties", ties, get_args(Ties))
        found = parse_metric(metric, ())
        if not found:
            raise InputError(f"{metric} has a value for each threshold: name one, as {metric}@90")
        ((spec, threshold),) = found
        if spec.needs != ("mask",) or spec.level == "dataset":
            fitting = [name for name, other in METRICS.items() if _fits(other)]
            raise InputError(
                f"{metric} does not compare a map with annotated pixels alone; "
                f"expected one of {', '.join(fitting)}"
            )
        if spec.category == "energy":
            refuse_signed(sign)
        refuse_signed_selection(sign, threshold)
        return cls(spec, threshold, sign, ties)

    @property
    def column(self) -> str:
        """The metric's column in what `score_maps` returns."""
        name = self.spec.name
        return name if self.threshold is None else f"{name}@{self.threshold}"

    @property
    def linear(self) -> bool:
        """Whether the score follows from a sum over the annotated pixels."""
        name, threshold = self.spec.name, self.threshold
        if name in OVERLAPS:
            return threshold is not None and threshold.kind != "matched"
        plain = threshold is None or threshold.kind == "top"
        return name in ("coverage", "auc_roc", *POINTED) and plain

    def weights(self, maps: NDArray[Any]) -> Weights:
        """Return what the pixels of maps `(maps, pixels)` weigh."""
        values = apply_sign(maps, self.sign)
        if self.spec.name == "auc_roc":
            return Weights(centred_ranks(values), np.zeros(len(values)))
        if self.spec.name == "coverage":
            energy = np.where(values.max(axis=1, keepdims=True) > HUGE, values * SHRINK, values)
            total = energy.sum(axis=1)
            shares = energy / np.where(total == 0, 1, total)[:, None]
            return Weights(shares, np.where(total == 0, np.nan, 1.0))
        counts = self._budgets(values)
        return Weights(_select(values, counts), counts)

    def _budgets(self, values: Floats) -> Floats:
        if self.threshold is None:  # pointing: the maximum
            return np.ones(len(values))
        kind, ties = self.threshold.kind, self.ties
        if kind == "top" or (kind == "percentile" and ties == "share"):  # the same for every map
            return np.full(len(values), budget(values[0], 0, self.threshold, ties))
        return np.array([budget(row, 0, self.threshold, ties) for row in values])

    def score(self, sums: Floats, selected: Floats, annotated: Floats, pixels: int) -> Floats:
        """Turn sums of weights over annotated pixels into scores; all broadcast.

        NaN wherever the metric is undefined.
        """
        name = self.spec.name
        sums = np.where(np.isnan(selected), np.nan, sums)
        if name == "auc_roc":
            value = 0.5 + divide(sums, annotated * (pixels - annotated))
        elif name in ("coverage", *POINTED):
            value = np.where(annotated == 0, np.nan, sums / selected)
        else:
            value = inspect.unwrap(self.spec.function)(Overlap(sums, selected, annotated, pixels))
        found: Floats = value.iou if isinstance(value, IoU) else value
        return found


def _fits(spec: MetricSpec) -> bool:
    return spec.needs == ("mask",) and spec.level != "dataset"


def _select(values: Floats, counts: Floats) -> Floats:
    """Return the weight in [0, 1] of each pixel when each map selects its count, as `select`."""
    pixels = values.shape[1]
    known = np.where(np.isnan(counts), 0, counts)
    place = np.clip(pixels - np.ceil(known), 0, pixels - 1).astype(np.int64)
    ordered = np.partition(values, np.unique(place), axis=1)
    cut = np.take_along_axis(ordered, place[:, None], axis=1)
    above, tied = values > cut, values == cut
    part = (known - above.sum(axis=1)) / tied.sum(axis=1)
    weights: Floats = above + tied * part[:, None]
    return weights
