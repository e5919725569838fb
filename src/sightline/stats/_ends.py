"""The ends of intervals, for many columns of the same number of images at once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from sightline.core.arrays import divide
from sightline.stats._resample import Weights, on_grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ends = tuple[NDArray[np.float64], NDArray[np.float64]]

__all__ = ["Clusters", "bca", "student", "studentised", "wilson"]

# Numbers of resampled columns in memory at once: 32 MB.
_BLOCK = 2**22


class Clusters:
    """Columns of n images each: for each image the sum of its values and their number.

    The figure of a column is the mean over all its values, sum of sums through sum of sizes.
    """

    def __init__(self, sums: NDArray[np.float64], sizes: NDArray[np.float64]) -> None:
        self.sums, self.sizes = sums, sizes
        self.n = sums.shape[1]

    @cached_property
    def single(self) -> bool:
        """Whether each image has just one value."""
        return bool((self.sizes == 1).all())

    @cached_property
    def total(self) -> NDArray[np.float64]:
        """The number of values of each column."""
        return np.asarray(self.sizes.sum(axis=1))

    @cached_property
    def value(self) -> NDArray[np.float64]:
        """The mean of each column; to the last bit where all its values are equal."""
        mean = self.sums.sum(axis=1) / self.total
        same = (self.sums == self.sums[:, :1]).all(axis=1) & (self.sizes == 1).all(axis=1)
        return np.where(same, self.sums[:, 0], mean)

    @cached_property
    def residuals(self) -> NDArray[np.float64]:
        """What an image's sum is off from that many mean values."""
        return self.sums - self.value[:, None] * self.sizes

    @cached_property
    def constant(self) -> NDArray[np.bool_]:
        """Which columns do not vary between images, but for rounding noise."""
        gap, peak = np.abs(self.residuals).max(axis=1), np.abs(self.sums).max(axis=1)
        return np.asarray(gap <= 1e-12 * peak)

    @cached_property
    def error(self) -> NDArray[np.float64]:
        """The standard error of each mean, clustered by image."""
        squares = (self.residuals**2).sum(axis=1)
        return np.asarray(np.sqrt(squares * self.n / (self.n - 1)) / self.total)

    def only(self, columns: NDArray[np.intp] | slice) -> Clusters:
        return Clusters(self.sums[columns], self.sizes[columns])

    def blocks(self, resamples: int) -> list[slice]:
        step = max(1, _BLOCK // resamples)
        return [slice(i, i + step) for i in range(0, len(self.sums), step)]


def wilson(clusters: Clusters, confidence: float) -> Ends:
    """Wilson's interval for a share, with the number of hits and misses that its spread is worth.

    With one hit or miss an image that is the number of images. Hits that are shared among tied
    pixels spread less and are worth more: as many as make the interval as wide as Student's, whose
    spread is known from few images as well. Where images have several values, the variance of the
    share, told by leaving out each image in turn, says what they are worth: at most their number;
    and few or unequal images widen it as Student's t does. Without any spread, an image is worth
    one.
    """
    p, tail = np.clip(clusters.value, 0.0, 1.0), 0.5 + confidence / 2
    worth: NDArray[np.float64]
    if clusters.single:
        z = np.full_like(p, ndtri(tail))
        half = stdtrit(clusters.n - 1, tail) * clusters.error
        worth = np.fmax(divide(p * (1 - p) * z**2, half**2), float(clusters.n))
    else:
        z = np.asarray(stdtrit(np.maximum(_equal_images(clusters) - 1, 1), tail), np.float64)
        worth = np.fmin(divide(p * (1 - p), _left_out(clusters)), clusters.total)
    size = np.where(clusters.constant, float(clusters.n), worth)
    middle = (p + z**2 / (2 * size)) / (1 + z**2 / size)
    half = z / (1 + z**2 / size) * np.sqrt(p * (1 - p) / size + z**2 / (4 * size**2))
    return np.clip(middle - half, 0.0, p), np.clip(middle + half, p, 1.0)


def _left_out(clusters: Clusters) -> NDArray[np.float64]:
    """Return the jackknife variance of each mean, in which a large image weighs as it should."""
    rest = 1 - clusters.sizes / clusters.total[:, None]
    gaps = clusters.residuals / (clusters.total[:, None] * rest)
    return np.asarray((gaps**2).sum(axis=1) * (clusters.n - 1) / clusters.n)


def _equal_images(clusters: Clusters) -> NDArray[np.float64]:
    """Return how many images of equal size would weigh as much as these do."""
    return np.asarray(clusters.total**2 / (clusters.sizes**2).sum(axis=1))


def student(clusters: Clusters, confidence: float) -> Ends:
    """Student's t with the clustered standard error."""
    half = stdtrit(clusters.n - 1, 0.5 + confidence / 2) * clusters.error
    return clusters.value - half, clusters.value + half


def bca(clusters: Clusters, confidence: float, weights: Weights) -> Ends:
    """Bias-corrected and accelerated bootstrap."""
    low, high = np.empty(len(clusters.sums)), np.empty(len(clusters.sums))
    tails = ndtri(np.array([0.5 - confidence / 2, 0.5 + confidence / 2]))
    for part in clusters.blocks(weights.resamples):
        here = clusters.only(part)
        draws, centre = _resampled_means(here, weights)
        below = (draws < centre).mean(axis=1) + (draws == centre).mean(axis=1) / 2
        edge = 0.5 / weights.resamples
        shift = ndtri(np.clip(below, edge, 1 - edge))[:, None] + tails
        bias = shift - tails
        stretch = np.maximum(1 - _acceleration(here)[:, None] * shift, 1e-9)
        low[part], high[part] = _quantiles(draws, ndtr(bias + shift / stretch)).T
    return low, high


def _resampled_means(
    clusters: Clusters, weights: Weights
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of each column in each resample, and without resampling (a column)."""
    sums = on_grid(clusters.sums)
    draws, centre = weights.sums(sums), sums.sum(axis=1, keepdims=True)
    if clusters.single:
        draws /= clusters.n
        return draws, centre / clusters.n
    sizes = on_grid(clusters.sizes)
    draws /= weights.sums(sizes)
    return draws, centre / sizes.sum(axis=1, keepdims=True)


def _acceleration(clusters: Clusters) -> NDArray[np.float64]:
    """Return a sixth of the skewness of what each image adds, told by leaving it out."""
    rest = clusters.sums.sum(axis=1, keepdims=True) - clusters.sums
    without = rest / (clusters.total[:, None] - clusters.sizes)
    gaps = without.mean(axis=1, keepdims=True) - without
    gaps /= np.abs(gaps).max(axis=1, keepdims=True)
    return np.asarray((gaps * gaps * gaps).sum(axis=1) / (6 * (gaps**2).sum(axis=1) ** 1.5))


def _quantiles(draws: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return quantiles of each row, (R, K) for shares (R, K); sorts the draws in place."""
    draws.sort(axis=1)
    place = shares * (draws.shape[1] - 1)
    below = np.floor(place).astype(np.intp)
    above = np.minimum(below + 1, draws.shape[1] - 1)
    one, other = (np.take_along_axis(draws, at, axis=1) for at in (below, above))
    return np.asarray(one + (place - below) * (other - one))


def studentised(clusters: Clusters, confidence: float, weights: Weights) -> Ends:
    """Bootstrap of the mean over its own standard error, resample by resample."""
    low, high = np.empty(len(clusters.sums)), np.empty(len(clusters.sums))
    tails = np.array([[0.5 + confidence / 2, 0.5 - confidence / 2]])
    for part in clusters.blocks(weights.resamples):
        here = clusters.only(part)
        ratios = _resampled_t(here, weights, float(stdtrit(1, tails[0, 0])))
        far, near = _quantiles(ratios, np.repeat(tails, len(ratios), axis=0)).T
        low[part], high[part] = here.value - far * here.error, here.value - near * here.error
    return low, high


def _resampled_t(clusters: Clusters, weights: Weights, most: float) -> NDArray[np.float64]:
    """Return (mean − value) / error of each column in each resample.

    A resample without spread, in which every drawn image has the same mean, says nothing about its
    error: its ratio is as large as can be. None is larger than Student's t with one degree of
    freedom is at the tail, so that a few values do not make an interval without end.
    """
    e, m, n = clusters.residuals, clusters.sizes, clusters.n
    gap, ee = (weights.sums(on_grid(part)) for part in (e, e * e))
    size: Any = n
    if not clusters.single:
        size, em, mm = (weights.sums(on_grid(part)) for part in (m, e * m, m * m))
    gap /= size
    squares = ee - gap**2 * n if clusters.single else ee - 2 * gap * em + gap**2 * mm
    flat = squares <= 1e-9 * (e * e).mean(axis=1, keepdims=True)
    error = np.sqrt(np.where(flat, 1.0, squares) * n / (n - 1)) / size
    return np.clip(np.where(flat, np.sign(gap) * most, gap / error), -most, most)
