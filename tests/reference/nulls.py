"""Slow, obvious code for the nulls: every pair, every shift and every permutation in a loop."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.metrics import score_maps

if TYPE_CHECKING:
    from collections.abc import Sequence

TIE = 1e-9
_SIGN: dict[str, Any] = {"sign": "positive"}


def score(one_map: Any, mask: Any, column: str, **options: Any) -> float:
    return float(score_maps(one_map, mask, metrics=[column], **_SIGN | options)[column])


def cross_matrices(
    maps: Any, masks: Any, columns: Sequence[str], ignore: Any = None, **options: Any
) -> dict[str, np.ndarray[Any, Any]]:
    """Score every map on every mask, pair by pair."""
    n = len(maps)
    found = {column: np.empty((n, n)) for column in columns}
    for i, j in itertools.product(range(n), range(n)):
        left_out = None if ignore is None else ignore[j]
        scores = score_maps(maps[i], masks[j], metrics=columns, ignore=left_out, **_SIGN | options)
        for column, matrix in found.items():
            matrix[i, j] = scores[column]
    return found


def shifted_scores(one_map: Any, mask: Any, column: str, **options: Any) -> list[float]:
    height, width = one_map.shape
    return [
        score(np.roll(one_map, (dy, dx), (0, 1)), mask, column, **options)
        for dy in range(height)
        for dx in range(width)
    ]


def defined_mean(values: Any) -> float:
    defined = [value for value in values if not math.isnan(value)]
    return math.fsum(defined) / len(defined) if defined else math.nan


def all_permutations_p(matrix: Any, better: int = 1) -> float:
    """The exact p-value of a data set: over every permutation, not some drawn ones."""
    n = len(matrix)
    observed = better * defined_mean(matrix[j, j] for j in range(n))
    means = [
        better * defined_mean(matrix[order[j], j] for j in range(n))
        for order in itertools.permutations(range(n))
    ]
    return sum(mean >= observed - TIE for mean in means) / len(means)


def image_p(rivals: Any, own: float, better: int = 1) -> float:
    defined = [value for value in rivals if not math.isnan(value)]
    if math.isnan(own) or len(defined) < 20:
        return math.nan
    as_high = [better * value >= better * own - TIE for value in defined]
    return float(np.mean(as_high))
