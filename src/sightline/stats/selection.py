"""The best of several candidates, without praising it for luck."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import shape_of
from sightline.stats._given import floats
from sightline.stats._resample import on_grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Direction", "Selection", "split_half"]

Direction = Literal["higher", "lower"]
_FEWEST = 4
_UNSCORED = "no candidate has a value on both halves of the images"


@dataclass(frozen=True)
class Selection:
    """What choosing the best candidate is worth.

    Attributes
    ----------
    value
        The honest value: no image is scored by a candidate that it helped to choose.
    naive
        The best candidate's value on the images it was chosen on.
    optimism
        How much better the naive value looks than the honest one; positive for both directions.
    best
        The best candidate on all images; −1 if there is none.
    picks
        Share of choices that fell on each candidate: how firm the choice is.
    values
        The honest value of each image, over the splits: e.g. for an interval.
    n
        Images with a defined value of some candidate.
    reason
        Why the value is NaN; else "".

    Examples
    --------
    >>> from sightline.stats import split_half
    >>> found = split_half([[0.1, 0.5], [0.2, 0.6], [0.1, 0.7], [0.3, 0.6]])
    >>> found.best, found.picks.tolist(), round(found.value, 3), found.n
    (1, [0.0, 1.0], 0.6, 4)
    """

    value: float
    naive: float
    optimism: float
    best: int
    picks: NDArray[np.float64]
    values: NDArray[np.float64]
    n: int
    reason: str = ""


def split_half(
    table: Any,
    /,
    *,
    direction: Direction = "higher",
    seed: int = 0,
    repeats: int = 100,
) -> Selection:
    """Value of the best candidate (layer, method, …), chosen on other images than it is scored on.

    The images are cut into random halves; each half is scored by the candidate that does best on
    the other one; this is averaged over many cuts. The value of the best candidate on the same
    images it was chosen on is too good: with enough candidates one of them is lucky.

    For a nested choice, e.g. the best layer of the best method, make a column of every
    combination: what is chosen together must be split together.

    Parameters
    ----------
    table
        A value for each image and candidate; NaN where undefined. A candidate's mean is over the
        images that define it.
    direction
        Whether "higher" or "lower" values are better. Of equals the first is chosen.
    seed, repeats
        Random cuts into halves. One that leaves no image with a score is left out.

    Returns
    -------
    Selection
        With NaN below 4 images; the reason says so.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> luck = split_half(rng.normal(size=(400, 30)))  # no candidate is better than 0
    >>> luck.naive > 0.1, abs(luck.value) < 0.05
    (True, True)
    """
    given = _checked(table, direction, repeats)
    defined = np.isfinite(given)
    n, candidates = int(defined.any(axis=1).sum()), given.shape[1]
    sign = 1.0 if direction == "higher" else -1.0
    sums, counts = on_grid(np.where(defined, given, 0.0).T), defined.T.astype(np.float64)
    means = _means(sums.sum(axis=1), counts.sum(axis=1), sign)
    best = int(means.argmax()) if n else -1
    naive = sign * float(means[best]) if n else math.nan
    if n < _FEWEST:
        nothing, rows = np.full(candidates, np.nan), np.full(len(given), np.nan)
        reason = f"too few images: {n}, halves need {_FEWEST}"
        return Selection(math.nan, naive, math.nan, best, nothing, rows, n, reason)
    halves = _halves(np.asarray(defined.any(axis=1)), repeats, seed)
    chosen = [
        _means(side @ sums.T, side @ counts.T, sign).argmax(axis=1) for side in (halves, 1 - halves)
    ]
    picks = np.bincount(np.concatenate(chosen), minlength=candidates) / (2 * repeats)
    # The first half's choice scores the second half, and the other way round.
    scores = np.where(halves.T == 0, given[:, chosen[0]], given[:, chosen[1]])
    valid = np.isfinite(scores)
    scores = np.where(valid, scores, 0.0)
    values = _ratio(scores.sum(axis=1), valid.sum(axis=1))
    cuts = _ratio(scores.sum(axis=0), valid.sum(axis=0))
    cuts = cuts[np.isfinite(cuts)]
    value = float(cuts.mean()) if len(cuts) else math.nan
    reason = "" if len(cuts) else _UNSCORED
    return Selection(value, naive, sign * (naive - value), best, picks, values, n, reason)


def _checked(table: Any, direction: Direction, repeats: int) -> NDArray[np.float64]:
    given = floats(table, "table", 2, "images × candidates")
    if not given.shape[1]:
        raise InputError(f"table must be images × candidates; got {shape_of(given.shape)}")
    if direction not in get_args(Direction):
        raise InputError(f"direction must be higher or lower; got {direction!r}")
    if repeats < 1:
        raise InputError(f"repeats must be at least 1; got {repeats}")
    return given


def _halves(usable: NDArray[np.bool_], repeats: int, seed: int) -> NDArray[np.float64]:
    """Return for each cut which images are in the first half, as 1 and 0."""
    rng = np.random.default_rng(seed)
    at = np.flatnonzero(usable)
    found = np.zeros((repeats, len(usable)))
    order = rng.random((repeats, len(at))).argsort(axis=1)[:, : len(at) // 2]
    np.put_along_axis(found, at[order], 1.0, axis=1)
    return found


def _means(
    sums: NDArray[np.float64], counts: NDArray[np.float64], sign: float
) -> NDArray[np.float64]:
    """Return means, turned so that higher is better; −inf where nothing is defined."""
    found = np.full(sums.shape, -np.inf)
    np.divide(sign * sums, counts, out=found, where=counts > 0)
    return found


def _ratio(sums: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    found = np.full(sums.shape, np.nan)
    np.divide(sums, counts, out=found, where=counts > 0)
    return found
