"""Statistics, slow and obvious: one number at a time."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def ratio(sums: Sequence[float], sizes: Sequence[float], drawn: Sequence[int]) -> float:
    """Mean over all values of the drawn images."""
    return sum(sums[i] for i in drawn) / sum(sizes[i] for i in drawn)


def error(sums: Sequence[float], sizes: Sequence[float], drawn: Sequence[int]) -> float:
    """Standard error of that mean, clustered by image."""
    mean, n = ratio(sums, sizes, drawn), len(drawn)
    squares = sum((sums[i] - mean * sizes[i]) ** 2 for i in drawn)
    return math.sqrt(n / (n - 1) * squares) / sum(sizes[i] for i in drawn)


def draws(weights: NDArray[np.float64]) -> list[list[int]]:
    """Turn how often each image is drawn into lists of images."""
    return [[i for i, k in enumerate(row) for _ in range(int(k))] for row in weights]


def bca(
    sums: Sequence[float], sizes: Sequence[float], resamples: list[list[int]], confidence: float
) -> tuple[float, float]:
    """Efron's bias-corrected and accelerated interval."""
    n, normal = len(sums), NormalDist()
    value = ratio(sums, sizes, range(n))
    means = sorted(ratio(sums, sizes, drawn) for drawn in resamples)
    below = sum((m < value) + 0.5 * (abs(m - value) < 1e-13) * (m >= value) for m in means)
    below += sum(-0.5 for m in means if m < value and abs(m - value) < 1e-13)
    bias = normal.inv_cdf(below / len(means))
    without = [ratio(sums, sizes, [j for j in range(n) if j != i]) for i in range(n)]
    gaps = [sum(without) / n - w for w in without]
    skew = sum(g**3 for g in gaps) / (6 * sum(g**2 for g in gaps) ** 1.5)
    ends = []
    for tail in ((1 - confidence) / 2, (1 + confidence) / 2):
        z = bias + normal.inv_cdf(tail)
        ends.append(float(np.quantile(means, normal.cdf(bias + z / (1 - skew * z)))))
    return ends[0], ends[1]


def studentised(
    sums: Sequence[float], sizes: Sequence[float], resamples: list[list[int]], confidence: float
) -> tuple[float, float]:
    """Bootstrap-t, with ratios no further out than Student's t with one degree of freedom."""
    everyone = range(len(sums))
    value, spread = ratio(sums, sizes, everyone), error(sums, sizes, everyone)
    most = math.tan(math.pi * confidence / 2)
    ratios = []
    for drawn in resamples:
        gap, own = ratio(sums, sizes, drawn) - value, error(sums, sizes, drawn)
        flat = own <= 1e-5 * spread
        ratios.append(math.copysign(most, gap) if flat else max(-most, min(most, gap / own)))
    low, high = np.quantile(ratios, [(1 - confidence) / 2, (1 + confidence) / 2])
    return value - float(high) * spread, value - float(low) * spread


def sign_flip(differences: Sequence[float]) -> float:
    """Share of all sign patterns whose sum is at least as far from zero."""
    seen = abs(sum(differences))
    tolerance = 1e-9 * max(abs(d) for d in differences)
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return sum(total >= seen - tolerance for total in sums) / len(sums)


def step_down(differences: NDArray[np.float64]) -> list[float]:
    """Westfall and Young's step-down max-T over all sign patterns, with Student's t."""
    images, comparisons = differences.shape

    def statistic(column: NDArray[np.float64]) -> float:
        spread = column.std(ddof=1)
        if spread < 1e-12:
            return math.inf if abs(column.mean()) > 1e-12 else 0.0
        return abs(float(column.mean() / spread))

    seen = [statistic(differences[:, j]) for j in range(comparisons)]
    order = sorted(range(comparisons), key=lambda j: -seen[j])
    flipped = [
        [statistic(np.array(signs) * differences[:, j]) for j in range(comparisons)]
        for signs in itertools.product((1, -1), repeat=images)
    ]
    found, worst = [0.0] * comparisons, 0.0
    for place, j in enumerate(order):
        left = order[place:]
        reached = [max(row[k] for k in left) >= seen[j] * (1 - 1e-9) for row in flipped]
        worst = max(worst, sum(reached) / len(reached))
        found[j] = worst
    return found


def wilson(hits: float, n: float, z: float) -> tuple[float, float]:
    """Ends of {p: |share − p| ≤ z √(p (1 − p) / n)}, by solving the equation."""
    share = hits / n
    roots = np.roots([1 + z**2 / n, -2 * share - z**2 / n, share**2])
    return float(roots.real.min()), float(roots.real.max())


def holm(p: Sequence[float]) -> list[float]:
    """The smallest level at which Holm's procedure rejects each."""

    def rejected(level: float) -> set[int]:
        found: set[int] = set()
        for place, j in enumerate(sorted(range(len(p)), key=lambda j: p[j])):
            if p[j] > level / (len(p) - place) * (1 + 1e-12):
                break
            found.add(j)
        return found

    levels = sorted({1.0, *(min(1.0, q * k) for q in p for k in range(1, len(p) + 1))})
    return [next((x for x in levels if j in rejected(x)), 1.0) for j in range(len(p))]
