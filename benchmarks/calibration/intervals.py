"""How often do 95% intervals hold the true value?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from benchmarks.calibration.lines import Line
from sightline.core.checks import MIN_IMAGES
from sightline.stats import compare_groups
from sightline.stats.confidence import intervals

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from sightline.stats.confidence import Kind

    Values = NDArray[np.float64]
    # Sums and numbers of values, each (images, repeats), and the mean they are drawn around.
    Draw = tuple[Values, Values, float]
    Drawing = Callable[[np.random.Generator, int, int], Draw]

__all__ = ["SETTINGS", "Setting", "coverage", "regions", "run"]

GATES = {25: (0.90, 0.98), 139: (0.92, 0.97), 1000: (0.92, 0.97)}
# Repeats that share the weights of a bootstrap.
_TOGETHER = 100
# The most regions that an image has.
_MOST = 25


@dataclass(frozen=True)
class Setting:
    """Scores of images, drawn around a known mean."""

    name: str
    draw: Drawing
    kind: Kind = "mean"
    gated: bool = True


def _alone(values: Values, truth: float) -> Draw:
    return values, np.ones_like(values), truth


def _skewed(rng: np.random.Generator, n: int, repeats: int) -> Draw:
    return _alone(rng.beta(1, 6, (n, repeats)), 1 / 7)


def _half_zero(rng: np.random.Generator, n: int, repeats: int) -> Draw:
    some = rng.random((n, repeats)) < 0.5
    return _alone(rng.beta(1, 6, (n, repeats)) * some, 1 / 14)


def _gaps(rng: np.random.Generator, n: int, repeats: int) -> Draw:
    values = rng.beta(1, 6, (n, repeats))
    values[rng.random((n, repeats)) < 1 / 8] = np.nan
    return _alone(values, 1 / 7)


def _differences(rng: np.random.Generator, n: int, repeats: int) -> Draw:
    """Differences of two models' half-zero scores on the same images."""
    one, other = (_half_zero(rng, n, repeats)[0] for _ in range(2))
    return _alone(1.5 * one - other, 0.5 / 14)


def _hit_differences(rng: np.random.Generator, n: int, repeats: int) -> Draw:
    """Differences of two models' hits: −1, 0 and 1."""
    one, other = (_hits(share)(rng, n, repeats)[0] for share in (0.6, 0.4))
    return _alone(one - other, 0.2)


def _heavy(rng: np.random.Generator, n: int, repeats: int) -> Draw:
    return _alone(rng.lognormal(0, 1.5, (n, repeats)), float(np.exp(1.5**2 / 2)))


def _rare(rng: np.random.Generator, n: int, repeats: int) -> Draw:
    some = rng.random((n, repeats)) < 0.05
    return _alone(rng.beta(1, 6, (n, repeats)) * some, 1 / 140)


def _hits(share: float) -> Drawing:
    def draw(rng: np.random.Generator, n: int, repeats: int) -> Draw:
        return _alone((rng.random((n, repeats)) < share).astype(np.float64), share)

    return draw


def _shared_hits(rng: np.random.Generator, n: int, repeats: int) -> Draw:
    """Hits, one in five of them shared with one to three equal pixels elsewhere."""
    hit, part = rng.random((n, repeats)) < 0.6, rng.random((n, repeats)) < 0.2
    shares: Values = np.where(part, 1.0 / rng.integers(2, 5, (n, repeats)), 1.0)
    return _alone(hit * shares, 0.6 * (0.8 + 0.2 * (1 / 2 + 1 / 3 + 1 / 4) / 3))


def regions(rng: np.random.Generator, n: int, repeats: int) -> Values:
    """Return how many regions each image has: 1 to 25, about 4 in the mean."""
    return np.minimum(rng.geometric(0.25, (n, repeats)), _MOST).astype(np.float64)


def _clustered(rng: np.random.Generator, n: int, repeats: int) -> Draw:
    """Scores of regions that go up and down with their image (correlation 0.35 within it)."""
    counts = regions(rng, n, repeats)
    return _region_sums(rng, rng.beta(12 / 7, 72 / 7, counts.shape), counts), counts, 1 / 7


def _crowded(rng: np.random.Generator, n: int, repeats: int) -> Draw:
    """As `_clustered`, where regions of images with more than three score half as much."""
    counts = regions(rng, n, repeats)
    means = rng.beta(12 / 7, 72 / 7, counts.shape) * np.where(counts > 3, 0.5, 1.0)
    size = np.minimum(np.arange(1, 400), _MOST)
    weight = 0.25 * 0.75 ** np.arange(399) * size
    truth = float((weight * np.where(size > 3, 0.5, 1.0)).sum() / weight.sum()) / 7
    return _region_sums(rng, means, counts), counts, truth


def _clustered_half_zero(rng: np.random.Generator, n: int, repeats: int) -> Draw:
    """As `_clustered`, where all regions of every second image score 0."""
    sums, counts, truth = _clustered(rng, n, repeats)
    return sums * (rng.random(sums.shape) < 0.5), counts, truth / 2


def _region_sums(rng: np.random.Generator, means: Values, counts: Values) -> Values:
    sums = np.zeros_like(means)
    for i in range(_MOST):
        some = counts > i
        sums[some] += rng.beta(6 * means[some], 6 * (1 - means[some]))
    return sums


def _clustered_hits(share: float, correlation: float) -> Drawing:
    """Hits of regions, with this correlation between those of one image."""
    size = 1 / correlation - 1

    def draw(rng: np.random.Generator, n: int, repeats: int) -> Draw:
        counts = regions(rng, n, repeats)
        chances = rng.beta(share * size, (1 - share) * size, counts.shape)
        return rng.binomial(counts.astype(np.int64), chances).astype(np.float64), counts, share

    return draw


SETTINGS = (
    Setting("IoU-like, skewed", _skewed),
    Setting("half of the images 0", _half_zero),
    Setting("an eighth undefined", _gaps),
    Setting("difference of two, each half 0", _differences),
    Setting("difference of hits", _hit_differences),
    *(Setting(f"share {p:g}", _hits(p), "share") for p in (0.03, 0.1, 0.5, 0.9, 0.97)),
    Setting("share, ties shared", _shared_hits, "share"),
    Setting("share, all pixels tied", _skewed, "share"),
    Setting("1–25 regions", _clustered),
    Setting("1–25 regions, crowded ones score less", _crowded),
    Setting("1–25 regions, half of the images 0", _clustered_half_zero),
    *(
        Setting(f"1–25 regions, share {p:g}, correlation {r:g}", _clustered_hits(p, r), "share")
        for p in (0.05, 0.5, 0.9)
        for r in (0.15, 0.35)
    ),
    Setting("heavy skew (log-normal, σ = 1.5)", _heavy, gated=False),
    Setting("heavy skew (19 of 20 images 0)", _rare, gated=False),
)


def coverage(setting: Setting, n: int, repeats: int, *, resamples: int = 2000) -> Line:
    """Return how often the interval holds the truth, over that many data sets of n images."""
    rng = np.random.default_rng([crc32(setting.name.encode()), n])
    low, high = np.empty(repeats), np.empty(repeats)
    for start in range(0, repeats, _TOGETHER):
        part = slice(start, min(start + _TOGETHER, repeats))
        sums, counts, truth = setting.draw(rng, n, part.stop - start)
        found = intervals(sums, counts=counts, kind=setting.kind, resamples=resamples, seed=start)
        low[part], high[part] = found.low, found.high
    figure = float(((low <= truth) & (truth <= high)).mean())
    below, above = float((high < truth).mean()), float((low > truth).mean())
    method = "/".join(sorted({*found.method.tolist()}))
    note = f"{method}; too low {below:.3f}, too high {above:.3f}; width {(high - low).mean():.3f}"
    least, most = GATES.get(n, (None, None)) if setting.gated else (None, None)
    return Line("coverage", f"{setting.name}, n = {n}", figure, least, most, note)


def group_coverage(few: int, many: int, repeats: int) -> Line:
    """Return how often the interval of right − wrong holds the truth, with so many wrong images."""
    rng = np.random.default_rng([few, many])
    right = np.arange(few + many) >= few
    held = 0
    for _ in range(repeats):
        scores = rng.beta(np.where(right, 2.0, 1.0), 5)
        found = compare_groups(scores, right, limits=(0, 1))
        held += found.low <= 2 / 7 - 1 / 6 <= found.high
    setting = f"IoU-like, {many} right and {few} wrong"
    return Line("coverage, difference of two groups", setting, held / repeats, None, None, "")


def run(repeats: int, *, small: bool = False) -> list[Line]:
    """Return the coverage of every setting at 25, 139 and 1,000 images, of some at the least.

    If small, that of 1,000 images for the first two settings only.
    """
    few = [coverage(SETTINGS[i], MIN_IMAGES, repeats) for i in (0, 1, 3, 4)]
    groups = [group_coverage(n, 60, repeats) for n in (MIN_IMAGES, 25)]
    found = [
        coverage(setting, n, repeats)
        for i, setting in enumerate(SETTINGS)
        for n in GATES
        if n < 1000 or i < 2 or not small
    ]
    return found + few + groups
