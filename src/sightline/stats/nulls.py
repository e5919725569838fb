"""Could it be chance? Nulls whose false-positive rate is what they say.

A null says what would have been exchangeable if the maps knew nothing of the regions: the maps of
different images (`cross_image`, which keeps what all images share, as a pull to the centre), or
the places of one map (`torus_shift`, which does not). Permuting pixels is not offered: maps are
smooth, so that pixels are never exchangeable and such a test finds "significance" in 26 to 80% of
maps that know nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import divide
from sightline.stats.cross import CrossScores, cross_scores
from sightline.stats.torus import TorusScores, torus_scores

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from sightline.core.choices import Direction

    Floats = NDArray[np.float64]

__all__ = [
    "CrossScores",
    "Null",
    "TorusScores",
    "best_of",
    "cross_image",
    "cross_scores",
    "torus_scores",
    "torus_shift",
]


TIE = 1e-9
"""Scores this close count as equal."""
LEAST_IMAGES = 5
"""Images below which a data set gets no p-value."""
LEAST_RIVALS = 20
"""Maps or places, the own one among them, below which an image gets no p-value."""
# Draws are made in pieces of about this many numbers.
CHUNK = 1 << 20

CROSS = (
    "assumes that, if maps knew nothing of their images' regions, the maps of the images of one "
    "geometry class would be exchangeable; what they all share, as a pull to the centre, counts as "
    "chance"
)
TORUS = (
    "assumes that, if a map knew nothing of the regions, it would be as likely at every place that "
    "a shift around the edges takes it to; no centre-bias control"
)


@dataclass(frozen=True)
class Null:
    """A mean score beside what it would be by chance.

    Attributes
    ----------
    kind
        ``"cross-image"`` or ``"torus"``.
    assumption
        What the p-values rest on, in one sentence.
    value
        Mean score over the images that count.
    mean
        Its mean under the null, over all exchanges and not only those drawn.
    sd
        Standard deviation of the drawn means.
    p
        p-value of the data set, one-sided; NaN with a `reason` for too few images.
    p_images
        p-value of each image ``(n,)``; NaN where it has too few rivals, or no score.
    n, undefined, alone
        Images that count; those without a score; those with no other image in their class.
    blocks
        Groups within which maps are exchanged.
    reason, reason_images
        Why `p` is NaN, and why scores of some images have no p-value; empty if all have.
    draws
        The drawn means, where they were asked for. Lines scored on the same images with the same
        seed have the same exchanges in the same order.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.stats import torus_scores, torus_shift
    >>> peak = np.eye(4)[:1, :, None] * np.eye(4)[0]  # one map, highest in a corner
    >>> null = torus_shift(torus_scores(peak, peak > 0, "pointing"), draws=99)
    >>> null.kind, null.value, round(null.mean, 4), null.n
    ('torus', 1.0, 0.0625, 1)
    """

    kind: Literal["cross-image", "torus"]
    assumption: str
    value: float
    mean: float
    sd: float
    p: float
    p_images: Floats
    n: int
    undefined: int
    alone: int
    blocks: int
    reason: str
    reason_images: str
    draws: Floats | None


def cross_image(
    scores: CrossScores,
    /,
    *,
    direction: Direction | None = None,
    permutations: int = 9999,
    seed: int = 0,
    keep_draws: bool = False,
) -> Null:
    """Test scores against those that the maps get on the regions of other images.

    The p-value of the data set exchanges maps among the images of a block; that of an image is the
    share of maps of its block that score as high on its regions. Both count the maps as they
    are, scores within 1e-9 are ties, and ties count against significance.

    Parameters
    ----------
    scores
        From `cross_scores`; or your own matrices as `CrossScores`.
    direction
        Which values are better; by default what the metric says.
    permutations
        Exchanges drawn for the p-value of the data set.
    seed
        Decides them.
    keep_draws
        Whether to return their means too, for corrections over many lines.

    Examples
    --------
    >>> import numpy as np
    >>> maps = np.random.default_rng(0).random((25, 8, 8))
    >>> null = cross_image(cross_scores(maps, maps > 0.8, "auc_roc"), permutations=999)
    >>> null.value, round(null.mean, 2), null.p, float(null.p_images[0])
    (1.0, 0.52, 0.001, 0.04)
    """
    better = _better(direction or scores.direction)
    _check_draws("permutations", permutations)
    own, expected, p_images = (np.full(scores.n, np.nan) for _ in range(3))
    sums = _Sums(permutations)
    shared = [len(indices) > 1 for indices, _ in scores.blocks]
    for number, (indices, matrix) in enumerate(scores.blocks):
        if not shared[number]:
            continue
        own[indices] = np.diagonal(matrix)
        expected[indices] = _means(matrix.T)
        p_images[indices] = _shares(better * matrix.T)
        for rows, values in _exchanged(matrix, permutations, [seed, number]):
            sums.add(rows, values)
    alone = sum(len(indices) for indices, _ in scores.blocks if len(indices) < 2)
    found = _Found(own, expected, p_images, sums.means(), alone, sum(shared))
    return found.null("cross-image", CROSS, better, keep_draws)


def torus_shift(
    scores: TorusScores,
    /,
    *,
    direction: Direction | None = None,
    draws: int = 9999,
    seed: int = 0,
    keep_draws: bool = False,
) -> Null:
    """Test scores against those of the same maps moved around the torus. No centre-bias control.

    The p-value of an image is the share of all places at which its map scores as high; that of the
    data set draws a place for each image. Both count the map as it is, scores within 1e-9 are
    ties, and ties count against significance. Where maps and annotations both gather in the
    centre, nearly every map comes out "significant": use `cross_image`.

    Parameters
    ----------
    scores
        From `torus_scores`.
    direction
        Which values are better; by default what the metric says.
    draws
        Places drawn for each image.
    seed
        Decides them.
    keep_draws
        Whether to return the drawn means too, for corrections over many lines.

    Examples
    --------
    >>> import numpy as np
    >>> maps = np.random.default_rng(0).random((5, 8, 8))
    >>> null = torus_shift(torus_scores(maps, maps > 0.8, "auc_roc"), draws=999)
    >>> round(null.value, 6), round(null.mean, 2), null.p, float(null.p_images[0])
    (1.0, 0.5, 0.001, 0.015625)
    >>> null.assumption.endswith("no centre-bias control")
    True
    """
    better = _better(direction or scores.direction)
    _check_draws("draws", draws)
    expected, p_images = (np.full(scores.n, np.nan) for _ in range(2))
    sums = _Sums(draws)
    generator = np.random.default_rng(seed)
    for image, shifts in enumerate(scores.shifts):
        # What is undefined at one place is so at all, yet draws: lines must stay in step.
        places = generator.integers(len(shifts), size=draws)
        if np.isnan(shifts[0]):
            continue
        sums.add_all(shifts[places])
        expected[image] = shifts.mean()
        if len(shifts) >= LEAST_RIVALS:
            p_images[image] = np.mean(better * shifts >= better * shifts[0] - TIE)
    found = _Found(scores.values, expected, p_images, sums.means(), 0, scores.n)
    return found.null("torus", TORUS, better, keep_draws)


def best_of(nulls: Sequence[Null], /, *, direction: Direction = "higher") -> Null:
    """Test the best of several candidates, such as the layers of a model.

    The best candidate on some images is partly the luckiest one. In each draw, too, the best is
    chosen anew, so that the p-value pays for the choice.

    Parameters
    ----------
    nulls
        Of the candidates, with `keep_draws`, on the same images and with the same seed.
    direction
        Which values are better.

    Returns
    -------
    Null
        Of the best candidate, first among equals; `p`, `mean`, `sd` and `draws` are those of the
        best in each draw. The p-values of images are the candidate's own and know nothing of the
        choice.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> layers, masks = rng.random((8, 30, 6, 6)), rng.random((30, 6, 6)) > 0.8
    >>> crossed = [cross_scores(layer, masks, "auc_roc") for layer in layers]
    >>> nulls = [cross_image(one, permutations=999, keep_draws=True) for one in crossed]
    >>> best = best_of(nulls)
    >>> min(null.p for null in nulls) < best.p
    True
    """
    better, drawn = _better(direction), [null.draws for null in nulls if null.draws is not None]
    if not nulls or len(drawn) < len(nulls) or len({len(one) for one in drawn}) > 1:
        counts = [None if null.draws is None else len(null.draws) for null in nulls]
        raise InputError(
            "nulls must hold at least one candidate, all with the same number of draws "
            f"(keep_draws=True); got draws {counts}"
        )
    values = np.array([null.value for null in nulls])
    if np.isnan(values).all():
        return nulls[0]
    best = nulls[int(np.nanargmax(better * values))]
    draws = better * np.fmax.reduce([better * one for one in drawn])
    p = best.p if math.isnan(best.p) else _p_value(best.value, draws, better)
    return replace(best, p=p, draws=draws, mean=_mean(draws), sd=_sd(draws))


class _Sums:
    """Sums of defined scores under each draw."""

    def __init__(self, draws: int) -> None:
        self.sums, self.counts = np.zeros(draws), np.zeros(draws)

    def add(self, rows: slice, values: Floats) -> None:
        """Add scores `(draws, images)` to some of the draws."""
        defined = np.isfinite(values)
        self.sums[rows] += np.where(defined, values, 0).sum(axis=1)
        self.counts[rows] += defined.sum(axis=1)

    def add_all(self, values: Floats) -> None:
        """Add scores `(draws,)` of one image that are all defined."""
        self.sums += values
        self.counts += 1

    def means(self) -> Floats:
        means: Floats = divide(self.sums, self.counts)
        return means


@dataclass(frozen=True)
class _Found:
    """What both nulls come down to: of each image its score, its mean under the null and its p."""

    own: Floats
    expected: Floats
    p_images: Floats
    draws: Floats
    alone: int
    blocks: int

    def null(
        self, kind: Literal["cross-image", "torus"], assumption: str, better: int, keep: bool
    ) -> Null:
        n, value = int(np.isfinite(self.own).sum()), _mean(self.own)
        reason = _too_few(n, self.alone)
        p = math.nan if reason else _p_value(value, self.draws, better)
        return Null(
            kind,
            assumption,
            value,
            _mean(self.expected),
            _sd(self.draws),
            p,
            self.p_images,
            n,
            len(self.own) - self.alone - n,
            self.alone,
            self.blocks,
            reason,
            self._too_few_rivals("maps in their class" if kind == "cross-image" else "places"),
            self.draws if keep else None,
        )

    def _too_few_rivals(self, rivals: str) -> str:
        without = int((np.isfinite(self.own) & np.isnan(self.p_images)).sum())
        if not without:
            return ""
        return f"too few {rivals}: {without} images have fewer than the {LEAST_RIVALS} needed"


def _p_value(value: float, draws: Floats, better: int) -> float:
    """Return the share of draws that are as good, the value itself among them."""
    # A draw without any defined score counts against significance.
    as_good = ~(better * draws < better * value - TIE)
    return (1 + int(as_good.sum())) / (1 + len(draws))


def _sd(draws: Floats) -> float:
    defined = np.isfinite(draws)
    if defined.all():
        return float(draws.std())  # the same as nanstd, sooner
    return float(np.nanstd(draws)) if defined.any() else math.nan


def _exchanged(
    matrix: Floats, permutations: int, seed: list[int]
) -> Iterator[tuple[slice, Floats]]:
    """Yield what every image scores with the map of another, some permutations at a time."""
    generator, size = np.random.default_rng(seed), len(matrix)
    step = max(1, CHUNK // size)
    for start in range(0, permutations, step):
        rows = slice(start, min(start + step, permutations))
        order = np.tile(np.arange(size), (rows.stop - start, 1))
        yield rows, matrix[generator.permuted(order, axis=1, out=order), np.arange(size)]


def _shares(rivals: Floats) -> Floats:
    """Return for each row the share of its defined entries that are as high as its own.

    The own entry of row i stands at i. NaN where it is undefined, or one of too few.
    """
    mine = np.diagonal(rivals)
    defined = np.isfinite(rivals).sum(axis=1)
    as_high = (rivals >= mine[:, None] - TIE).sum(axis=1)
    enough = np.isfinite(mine) & (defined >= LEAST_RIVALS)
    return np.where(enough, as_high / np.maximum(defined, 1), np.nan)


def _means(rows: Floats) -> Floats:
    """Return the mean of what is defined in each row; NaN if nothing is."""
    defined = np.isfinite(rows)
    means: Floats = divide(np.where(defined, rows, 0).sum(axis=1), defined.sum(axis=1))
    return means


def _mean(values: Floats) -> float:
    defined = np.isfinite(values)
    count = int(defined.sum())
    return float(np.where(defined, values, 0).sum() / count) if count else math.nan


def _too_few(n: int, alone: int) -> str:
    if n >= LEAST_IMAGES:
        return ""
    left_out = f"; {alone} alone in their class" if alone else ""
    return f"too few images: {n} with a score, {LEAST_IMAGES} are needed{left_out}"


def _better(direction: Direction) -> int:
    """Return 1 where higher is better and -1 where lower is."""
    if direction not in ("higher", "lower"):
        raise InputError(
            "direction must be 'higher' or 'lower': a score that is neither better nor worse "
            f"has no p-value against chance; got {direction!r}"
        )
    return 1 if direction == "higher" else -1


def _check_draws(name: str, draws: int) -> None:
    if draws < 1:
        raise InputError(f"{name} must be at least 1; got {draws}")
