"""Ranking: do annotated pixels rank above the others? No threshold, no scale."""

from __future__ import annotations

import math
from typing import Any

from sightline.core.arrays import Array, namespace
from sightline.metrics._border import against, check_maps, check_masks, check_weights, each_map
from sightline.metrics.selection import Sign, select

__all__ = [
    "compute_auc_judd",
    "compute_auc_roc",
    "compute_average_precision",
    "compute_relevance_rank",
    "compute_shuffled_auc",
]


@against("mask")
def compute_auc_roc(values: Array, inside: Array) -> Array:
    """Chance that an annotated pixel outranks another, ties counting half: area under the ROC.

    Range [0, 1], higher is better, chance 0.5. NaN for an empty annotation and for one that covers
    the whole image. It weighs all ranks alike, so a small annotation in a large, dark background
    scores high easily.

    Examples
    --------
    >>> float(compute_auc_roc([[4.0, 3.0], [2.0, 1.0]], [[1, 0], [1, 0]]))
    0.75

    References
    ----------
    Fawcett (2006), An introduction to ROC analysis.
    """
    xp = namespace(values)
    hit, rest = values[inside], xp.sort(values[~inside])
    pairs = hit.shape[0] * rest.shape[0]
    if pairs == 0:
        return math.nan
    lower = xp.searchsorted(rest, hit, side="left")
    upper = xp.searchsorted(rest, hit, side="right")
    return xp.sum(xp.astype(lower + upper, xp.float64)) / (2 * pairs)


@against("mask")
def compute_average_precision(values: Array, inside: Array) -> Array:
    """Mean precision at the rank of each annotated pixel, tied pixels ranked together.

    Range [0, 1], higher is better. A constant map scores ``g``, the annotated share; a random
    ranking scores `average_precision_random`, slightly more. NaN for an empty annotation.

    Examples
    --------
    >>> round(float(compute_average_precision([[4.0, 3.0], [2.0, 1.0]], [[1, 0], [1, 0]])), 4)
    0.8333

    References
    ----------
    Buckley & Voorhees (2000), Evaluating evaluation measure stability.
    """
    xp = namespace(values)
    hit, everything = xp.sort(values[inside]), xp.sort(xp.reshape(values, (-1,)))
    if hit.shape[0] == 0:
        return math.nan
    hits = hit.shape[0] - xp.searchsorted(hit, hit, side="left")
    count = everything.shape[0] - xp.searchsorted(everything, hit, side="left")
    return xp.mean(xp.astype(hits, xp.float64) / xp.astype(count, xp.float64))


@against("mask")
def compute_relevance_rank(values: Array, inside: Array) -> Array:
    """Share of the P highest pixels that are annotated, P being the number annotated.

    Range [0, 1], higher is better, chance ``g``. NaN for an empty annotation.

    Examples
    --------
    >>> float(compute_relevance_rank([[4.0, 3.0], [2.0, 1.0]], [[1, 0], [1, 0]]))
    0.5

    References
    ----------
    Arras et al. (2022), CLEVR-XAI, arXiv:2003.07258.
    """
    xp = namespace(values)
    weight = xp.astype(xp.reshape(inside, (-1,)), xp.float64)
    count = float(xp.sum(weight))
    if count == 0:
        return math.nan
    return xp.sum(select(xp.reshape(values, (-1,)), count) * weight) / count


@against("mask")
def compute_auc_judd(values: Array, inside: Array) -> Array:
    """Area under the ROC whose thresholds are the annotated pixels' values alone.

    Range [0, 1], higher is better, chance 0.5, which equal values score. Noise scores more, 0.5 +
    1 / (2(P + 1)) on average: lines between few thresholds cut the steps' corners. Equal values
    share a threshold (the original adds noise to break ties). NaN for an empty annotation and for
    one that covers the whole image.

    Examples
    --------
    >>> float(compute_auc_judd([[4.0, 3.0], [2.0, 1.0]], [[1, 0], [1, 0]]))
    0.875

    References
    ----------
    Judd et al. (2009), Learning to predict where humans look; Bylinskii et al. (2018),
    arXiv:1604.03605.
    """
    xp = namespace(values)
    hit, rest = xp.sort(values[inside]), xp.sort(values[~inside])
    if hit.shape[0] == 0 or rest.shape[0] == 0:
        return math.nan
    # Going up in value both rates fall, from (1, 1) to (0, 0).
    true = 1 - xp.astype(xp.searchsorted(hit, hit, side="left"), xp.float64) / hit.shape[0]
    false = 1 - xp.astype(xp.searchsorted(rest, hit, side="left"), xp.float64) / rest.shape[0]
    one, zero = xp.ones_like(true[:1]), xp.zeros_like(true[:1])
    true, false = xp.concat([one, true, zero]), xp.concat([one, false, zero])
    return xp.sum((false[:-1] - false[1:]) * (true[:-1] + true[1:])) / 2


def compute_shuffled_auc(
    attention: Any, mask: Any, others: Any, /, *, sign: Sign | None = None
) -> Array:
    """AUC against the places that are annotated in other images, which cancels centre bias.

    ``others`` counts, for each pixel, the other images in which it is annotated; the counts weigh
    the pixels. Range [0, 1], higher is better, chance 0.5. NaN for an empty annotation and where
    no other image has any.

    Examples
    --------
    >>> float(compute_shuffled_auc([[4.0, 3.0], [2.0, 1.0]], [[1, 0], [0, 0]], [[3, 1], [0, 0]]))
    0.625

    References
    ----------
    Zhang et al. (2008), SUN; Bylinskii et al. (2018), arXiv:1604.03605.
    """
    maps = check_maps(attention)
    masks = check_masks(mask, maps)
    counts = check_weights(others, maps, "others")
    xp = namespace(maps)

    def definition(values: Array, inside: Array, weight: Array) -> Array:
        hit, total = xp.sort(values[inside]), xp.sum(weight)
        if hit.shape[0] == 0 or float(total) == 0:
            return math.nan
        flat = xp.reshape(values, (-1,))
        above = hit.shape[0] - xp.searchsorted(hit, flat, side="right")
        upto = hit.shape[0] - xp.searchsorted(hit, flat, side="left")
        won = xp.astype(above + upto, xp.float64) / (2 * hit.shape[0])
        return xp.sum(won * xp.reshape(weight, (-1,))) / total

    return each_map(definition, maps, masks, counts, sign=sign)
