"""How much a mean IoU moves when more regions go missing: a sensitivity band, not an interval.

The band says what further gaps in the annotation would do to the figure. It does not say where the
figure for a complete annotation lies: where the missing instances are like the annotated ones, that
is further away from the band than the figure at hand.
A value inside the band is no evidence that only missing labels keep it low.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sightline.core import InputError
from sightline.stats._flips import FEWEST, flip_pvalues
from sightline.stats._resample import Weights
from sightline.stats.missing_labels.overlap import Overlaps, iou_of, overlaps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from sightline.metrics.selection import Sign, Ties
    from sightline.stats.missing_labels.overlap import Annotations, Atoms, Maps

__all__ = [
    "RATES",
    "Band",
    "DeltaBand",
    "bootstrap_iou_under_dropout",
    "delta_bands",
    "delta_under_dropout",
    "dropout_bands",
    "dropout_sweep",
]

RATES = (0.1, 0.2, 0.3, 0.4, 0.5)
_FLIPS = 9999  # at least, of the undisturbed difference
_TAILS = (2.5, 97.5)


@dataclass(frozen=True, slots=True)
class Band:
    """A sensitivity band: where the mean IoU goes as regions are left out at random.

    Unpacks into its ends: ``low, high = band``.

    Attributes
    ----------
    rate : float
        Probability with which each region was left out.
    value : float
        Mean IoU with every region that is annotated.
    low, high : float
        The middle 95% of the draws. No confidence belongs to it.
    mean : float
        Mean of the draws.
    emptied : float
        Mean share of images that lost every region, and with it their value.
    n, undefined : int
        Images with and without a value to begin with.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.stats.missing_labels import dropout_sweep
    >>> field = np.arange(16.0).reshape(4, 4)
    >>> (band,) = dropout_sweep([field] * 2, [[field >= 12, field < 2]] * 2, 75, (0.5,), 20)
    >>> band.rate, round(band.value, 3), band.low <= band.mean <= band.high
    (0.5, 0.667, True)
    """

    rate: float
    value: float
    low: float
    high: float
    mean: float
    emptied: float
    n: int
    undefined: int = 0

    def __iter__(self) -> Iterator[float]:
        yield self.low
        yield self.high


@dataclass(frozen=True, slots=True)
class DeltaBand:
    """How the difference of two lines fares as regions are left out at random.

    Attributes
    ----------
    rate : float
        Probability with which each region was left out.
    value : float
        Mean difference a − b with every region that is annotated.
    low, high, mean : float
        The middle 95% and the mean of the draws' mean differences.
    same_sign : float
        Share of the draws whose mean difference has the sign of `value`.
    p : float
        Median over the draws of the sign-flip p-value; that of the difference itself at rate 0.
    significant : float
        Share of the draws with p ≤ 0.05.
    emptied : float
        Mean share of images that lost every region.
    n, undefined : int
        Images with a value on both sides, and without.
    reason : str
        Why there is no p-value, or "".
    p_draws : array (draws,)
        The p-value of each draw.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.stats.missing_labels import delta_under_dropout
    >>> good = np.arange(16.0).reshape(4, 4)
    >>> masks = [[good >= 14, (good >= 12) & (good < 14)]] * 3
    >>> (band,) = delta_under_dropout([good] * 3, [-good + 16] * 3, masks, 75, (0.3,), 20)
    >>> band.value, band.same_sign, band.n
    (1.0, 1.0, 3)
    """

    rate: float
    value: float
    low: float
    high: float
    mean: float
    same_sign: float
    p: float
    significant: float
    emptied: float
    n: int
    undefined: int = 0
    reason: str = ""
    p_draws: NDArray[np.float64] = field(
        repr=False, compare=False, default_factory=lambda: np.empty(0)
    )


def bootstrap_iou_under_dropout(
    attention_maps: Maps,
    annotations: Annotations,
    percentile: float = 90,
    dropout_rate: float = 0.3,
    n_bootstrap: int = 1000,
    *,
    selection: str = "percentile",
    sign: Sign | None = None,
    ties: Ties = "share",
    seed: int = 0,
) -> Band:
    """Return a sensitivity band of the mean IoU when regions go missing at random.

    Each draw leaves out each region with probability `dropout_rate`, takes the IoU of each image
    with the union of what is left, and averages over images drawn with replacement. An image that
    lost every region has no value in that draw and is counted in `emptied`.

    Parameters
    ----------
    attention_maps
        One map (H, W) for each image.
    annotations
        For each image its `Annotation`, or the masks (K, H, W) of its regions.
    percentile, selection, sign, ties
        As in `compute_iou`.
    dropout_rate
        In [0, 1).
    n_bootstrap
        How many draws.
    seed
        The same seed draws the same regions, whatever the rate: a region missing at 0.1 is also
        missing at 0.2.

    Examples
    --------
    >>> maps = [np.arange(16.0).reshape(4, 4)] * 2
    >>> windows = np.stack([maps[0] >= 14, (maps[0] >= 12) & (maps[0] < 14)])
    >>> band = bootstrap_iou_under_dropout(maps, [windows, windows], 75)
    >>> band.value, band.low, band.high
    (1.0, 0.5, 1.0)
    """
    return dropout_sweep(
        attention_maps,
        annotations,
        percentile,
        (dropout_rate,),
        n_bootstrap,
        selection=selection,
        sign=sign,
        ties=ties,
        seed=seed,
    )[0]


def dropout_sweep(
    attention_maps: Maps,
    annotations: Annotations,
    percentile: float = 90,
    rates: Sequence[float] = RATES,
    n_bootstrap: int = 1000,
    *,
    selection: str = "percentile",
    sign: Sign | None = None,
    ties: Ties = "share",
    seed: int = 0,
) -> list[Band]:
    """Return a sensitivity band for each of several rates; see `bootstrap_iou_under_dropout`.

    Examples
    --------
    >>> maps = [np.arange(16.0).reshape(4, 4)] * 2
    >>> [band.rate for band in dropout_sweep(maps, [[maps[0] >= 12]] * 2, n_bootstrap=10)]
    [0.1, 0.2, 0.3, 0.4, 0.5]
    """
    given = overlaps(
        attention_maps, annotations, percentile, selection=selection, sign=sign, ties=ties
    )
    return dropout_bands([given], rates, n_bootstrap, seed=seed)[0]


def dropout_bands(
    lines: Sequence[Overlaps],
    rates: Sequence[float] = RATES,
    n_bootstrap: int = 1000,
    *,
    seed: int = 0,
) -> list[list[Band]]:
    """Return for each line of maps its bands, one for each rate; the same draws for all.

    Parameters
    ----------
    lines
        What the selections cover, from `overlaps`; all of the same images.
    rates, n_bootstrap, seed
        As in `dropout_sweep`.

    Examples
    --------
    >>> maps = [np.arange(16.0).reshape(4, 4)] * 2
    >>> line = overlaps(maps, [[maps[0] >= 12]] * 2)
    >>> ((band,),) = dropout_bands([line], [0.5], 100)
    >>> round(band.value, 2), band.low == band.high, 0.4 < band.emptied < 0.6
    (0.4, True, True)
    """
    atoms = _check(lines, rates, n_bootstrap)
    full = np.stack([line.iou() for line in lines])
    defined = np.isfinite(full)
    sums = np.zeros((2, len(rates), len(lines), n_bootstrap))
    emptied = np.zeros((len(rates), len(lines), n_bootstrap))
    images = _image_weights(defined, n_bootstrap, seed)
    for image, kept in enumerate(_region_draws(atoms, n_bootstrap, seed)):
        weights = np.stack([table[image] for table in images])
        for at, rate in enumerate(rates):
            ious = _kept_ious(lines, image, kept >= rate)
            left = np.isfinite(ious)
            sums[0, at] += np.where(left, ious, 0) * weights
            sums[1, at] += left * weights
            emptied[at] += ~left * weights
    return [
        [
            _band(rate, full[line], sums[:, at, line], emptied[at, line])
            for at, rate in enumerate(rates)
        ]
        for line in range(len(lines))
    ]


def _band(
    rate: float,
    full: NDArray[np.float64],
    sums: NDArray[np.float64],
    emptied: NDArray[np.float64],
) -> Band:
    n = int(np.isfinite(full).sum())
    value = float(np.nanmean(full)) if n else np.nan
    means = sums[0][sums[1] > 0] / sums[1][sums[1] > 0]
    low, high = np.percentile(means, _TAILS) if len(means) else (np.nan, np.nan)
    mean = float(means.mean()) if len(means) else np.nan
    share = float(emptied.mean()) / n if n else np.nan
    return Band(rate, value, float(low), float(high), mean, share, n, len(full) - n)


def _check(lines: Sequence[Overlaps], rates: Sequence[float], draws: int) -> tuple[Atoms, ...]:
    for rate in rates:
        if not 0 <= rate < 1:
            raise InputError(f"dropout rates must lie in [0, 1); got {rate!r}")
    if draws < 1:
        raise InputError(f"n_bootstrap must be at least 1; got {draws!r}")
    if not lines:
        raise InputError("there must be at least one line of maps; got none")
    for line in lines[1:]:
        if [a.regions for a in line.atoms] != [a.regions for a in lines[0].atoms]:
            raise InputError("all lines must be of the same images with the same regions")
    return lines[0].atoms


def _image_weights(defined: NDArray[np.bool_], draws: int, seed: int) -> list[NDArray[np.uint16]]:
    """Return for each line how often each image is drawn, (images, draws); 0 if it has no value.

    Lines with a value on the same images share one table.
    """
    tables: dict[bytes, NDArray[np.uint16]] = {}
    for mask in defined:
        if mask.tobytes() not in tables:
            table = tables[mask.tobytes()] = np.zeros((len(mask), draws), np.uint16)
            for part, block in Weights(int(mask.sum()), draws, seed) if mask.any() else ():
                table[mask, part] = block.T
    return [tables[mask.tobytes()] for mask in defined]


def _region_draws(atoms: Sequence[Atoms], draws: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Yield for each image a number in [0, 1) for each draw and region, (draws, K).

    A region is left out where its number is below the rate.
    """
    rng = np.random.default_rng([seed, 1])
    for image in atoms:
        yield rng.random((draws, image.regions))


def _kept_ious(
    lines: Sequence[Overlaps], image: int, kept: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the IoU of an image with the regions kept in each draw, (lines, draws)."""
    atoms = lines[0].atoms[image]
    if any(line.atoms[image] is not atoms for line in lines):  # maps on different rasters
        return np.concatenate([_kept_ious([line], image, kept) for line in lines])
    covered = atoms.covered(kept)
    inside = np.stack([line.inside[image] for line in lines], axis=1)
    selected = np.array([line.selected[image] for line in lines])
    return iou_of(covered @ inside, selected, (covered @ atoms.pixels)[:, None]).T


def delta_under_dropout(
    maps_a: Maps,
    maps_b: Maps,
    annotations: Annotations,
    percentile: float = 90,
    rates: Sequence[float] = (0, *RATES),
    n_bootstrap: int = 1000,
    *,
    flips: int = 1999,
    selection: str = "percentile",
    sign: Sign | None = None,
    ties: Ties = "share",
    seed: int = 0,
) -> list[DeltaBand]:
    """Ask whether the difference in IoU of two models survives when regions go missing at random.

    Both are scored on the same images with the same regions left out.

    Parameters
    ----------
    maps_a, maps_b
        One map (H, W) for each image and side; the difference is a − b.
    annotations, percentile, n_bootstrap, selection, sign, ties, seed
        As in `bootstrap_iou_under_dropout`.
    rates
        0 stands for the annotation as it is.
    flips
        Sign flips of the test in each draw, the same for all; at least 9999 at rate 0.

    Returns
    -------
    list of DeltaBand
        Of a dropout that knows nothing of the models. Labels that are missing for a reason, such
        as the salient instance alone being labelled, can still turn the difference around.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> masks = rng.random((8, 2, 6, 6)) < 0.2
    >>> good = [union + rng.random((6, 6)) for union in masks.any(1)]
    >>> none, some = delta_under_dropout(good, rng.random((8, 6, 6)), masks, 70, (0, 0.3), 50)
    >>> none.p, some.same_sign
    (0.0078125, 1.0)
    """
    a, b = (
        overlaps(maps, annotations, percentile, selection=selection, sign=sign, ties=ties)
        for maps in (maps_a, maps_b)
    )
    return delta_bands(a, b, rates, n_bootstrap, flips=flips, seed=seed)


def delta_bands(
    a: Overlaps,
    b: Overlaps,
    /,
    rates: Sequence[float] = (0, *RATES),
    n_bootstrap: int = 1000,
    *,
    flips: int = 1999,
    seed: int = 0,
) -> list[DeltaBand]:
    """Do `delta_under_dropout` with what the selections cover, from `overlaps`.

    Examples
    --------
    >>> maps = [np.arange(16.0).reshape(4, 4)] * 2
    >>> line = overlaps(maps, [[maps[0] >= 12]] * 2)
    >>> delta_bands(line, line, [0], 10)[0].value
    0.0
    """
    _check([a, b], rates, n_bootstrap)
    if flips < 1:
        raise InputError(f"flips must be at least 1; got {flips!r}")
    full = a.iou() - b.iou()
    (images,) = _image_weights(np.isfinite(full)[None], n_bootstrap, seed)
    found = []
    for rate in rates:
        gaps = _gaps(a, b, rate, n_bootstrap if rate else 1, seed)
        # Images are not resampled: a test cannot count an image twice.
        p = flip_pvalues(gaps[np.isfinite(full)], flips if rate else max(flips, _FLIPS), seed)
        found.append(_delta(rate, full, gaps, images, p))
    return found


def _gaps(a: Overlaps, b: Overlaps, rate: float, draws: int, seed: int) -> NDArray[np.float64]:
    """Return the differences of each draw, (images, draws)."""
    gaps = np.empty((len(a), draws))
    for image, kept in enumerate(_region_draws(a.atoms, draws, seed)):
        one, other = _kept_ious([a, b], image, kept >= rate)
        gaps[image] = one - other
    return gaps


def _delta(
    rate: float,
    full: NDArray[np.float64],
    gaps: NDArray[np.float64],
    images: NDArray[np.uint16],
    p: NDArray[np.float64],
) -> DeltaBand:
    n = int(np.isfinite(full).sum())
    value = float(np.nanmean(full)) if n else np.nan
    left = np.isfinite(gaps)
    filled = np.where(left, gaps, 0)
    counts = (left * images).sum(0)
    means = (filled * images).sum(0)[counts > 0] / counts[counts > 0]
    low, high = np.percentile(means, _TAILS) if len(means) else (np.nan, np.nan)
    tested = p[np.isfinite(p)]
    few = "" if len(tested) else f"too few images: {n}, a sign-flip test needs {FEWEST}"
    lost = ~left[np.isfinite(full)]
    return DeltaBand(
        rate=rate,
        value=value,
        low=float(low),
        high=float(high),
        mean=float(means.mean()) if len(means) else np.nan,
        same_sign=float((np.sign(means) == np.sign(value)).mean()) if len(means) else np.nan,
        p=float(np.median(tested)) if len(tested) else np.nan,
        significant=float((tested <= 0.05).mean()) if len(tested) else np.nan,
        emptied=float(lost.mean()) if n else np.nan,
        n=n,
        undefined=len(full) - n,
        reason=few,
        p_draws=p,
    )
