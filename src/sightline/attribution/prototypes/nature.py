"""What the similarity to prototypes is made of: drops of scores, and what they are worth.

Tables are those of `sightline.attribution.prototypes.score_drops`. The unit is the image: intervals
and tests take images as drawn at random, with all their rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.attribution.prototypes.score_drops import Floats, Rows, read_rows
from sightline.core import UnknownNameError
from sightline.stats import holm, interval, intervals
from sightline.stats._flips import flip_pvalues

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = [
    "ALL",
    "FEWEST",
    "Effect",
    "Premise",
    "effects",
    "natures",
    "premise",
]

ALL = -1
"""The prototype of an `Effect` over all prototypes."""
FEWEST = 10
"""Images below which there is no interval, and nothing is decided.

Of differences around 0, fewer give ends above 0 more often than they say: with a long tail to the
left 6.5% of the time at 6 images and 5% at 10, where 2.5% is meant.
"""
# Drawn patterns of signs: enough for Holm's correction of a family, up to where it takes long.
_FLIPS, _MOST_FLIPS = 9999, 39_999
_KINDS = ("focused", "dual", "difference", "whole")


class Effect(NamedTuple):
    """What one perturbation does to the score of one prototype, or of all.

    Attributes
    ----------
    prototype : int
        Its number; `ALL` (-1) for all prototypes.
    perturbation : str
        Its name.
    images : int
        With a defined focused drop.
    undefined : int
        Rows without: their original score is 0 or less.
    focused, dual, whole : float
        Mean drop of the focused, dual and global copies over the rows; NaN where there are none.
    difference : float
        Mean of focused minus dual drop; one within 1e-6 of 0 counts as 0, since networks in single
        precision do not tell more.
    focused_low, focused_high, dual_low, dual_high, whole_low, whole_high : float
        Ends of the intervals; NaN below `FEWEST` images.
    difference_low, difference_high : float
        Ends of the intervals; NaN below `FEWEST` images.
    matters : bool or None
        Whether the interval of the difference lies above 0. None where nothing is decided: below
        `FEWEST` images, or without dual copies.
    p, p_holm : float
        Two-sided, of the sign-flip test of the difference; and by Holm over all prototypes and
        perturbations (for `ALL`: over the perturbations). NaN where `matters` is None.

    Notes
    -----
    `matters` is not corrected for many comparisons: with 95% intervals about 1 in 40 prototypes
    and perturbations without any effect is told to matter. Where one false finding is too many,
    take ``p_holm < 0.05 and difference > 0``. Of n images p is 2 / 2ⁿ at least, and 1 in 40,000 of
    any number: with few images and many prototypes, or with more than 2,000 comparisons, `p_holm`
    cannot get there.

    Examples
    --------
    >>> table = {"img_id": range(12), "proto_idx": [3] * 12, "perturbation": ["hue"] * 12,
    ...     "original_score": [1.0] * 12, "focused": [0.5] * 12, "dual": [0.9] * 12}
    >>> over_all, found = effects(table)
    >>> over_all.prototype == ALL, found.prototype, found.images
    (True, 3, 12)
    >>> round(found.focused, 2), round(found.dual, 2), round(found.difference, 2), found.matters
    (0.5, 0.1, 0.4, True)
    """

    prototype: int
    perturbation: str
    images: int
    undefined: int
    focused: float
    focused_low: float
    focused_high: float
    dual: float
    dual_low: float
    dual_high: float
    difference: float
    difference_low: float
    difference_high: float
    whole: float
    whole_low: float
    whole_high: float
    matters: bool | None
    p: float
    p_holm: float


class Premise(NamedTuple):
    """How often the method's premise holds: a focused copy loses more than its dual.

    Attributes
    ----------
    rows : int
        With both drops.
    images : int
        That they are of.
    share, share_low, share_high : float
        Of these rows, how many have a focused drop above the dual one.
    equal : float
        Share of the rows where both drops are equal (within 1e-6), which is no support.
    prototypes : int
        With such rows.
    prototype_share : float
        Of these prototypes, how many have a mean focused drop above the mean dual one.
    difference, difference_low, difference_high : float
        Mean of focused minus dual drop. All ends are NaN below `FEWEST` images.

    Examples
    --------
    >>> table = {"img_id": [0, 1, 2, 3], "proto_idx": [5, 5, 7, 7], "perturbation": ["hue"] * 4,
    ...     "original_score": [1.0] * 4, "focused": [0.5, 0.5, 0.5, 0.8],
    ...     "dual": [0.9, 0.9, 0.5, 0.6]}
    >>> found = premise(table)
    >>> found.rows, found.share, found.equal, found.prototypes, found.prototype_share
    (4, 0.5, 0.25, 2, 0.5)
    """

    rows: int
    images: int
    share: float
    share_low: float
    share_high: float
    equal: float
    prototypes: int
    prototype_share: float
    difference: float
    difference_low: float
    difference_high: float


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of drops by image, of groups of rows that have equally many images.

    Attributes
    ----------
    prototypes : array (groups,)
        Whose rows the groups are.
    sums, counts : array (images, groups, perturbations, kinds)
        Of the defined drops of each image.
    rows : array (groups, perturbations)
        How many rows there are, defined or not.
    """

    prototypes: NDArray[np.int64]
    sums: Floats
    counts: Floats
    rows: NDArray[np.int64]


def _summed(rows: Rows, group: NDArray[np.int64]) -> list[_Sums]:
    """Return the sums of each group of rows, those with equally many images together."""
    pairs, pair = np.unique(np.stack((group, rows.image)), axis=1, return_inverse=True)
    groups, first, sizes = np.unique(pairs[0], return_index=True, return_counts=True)
    slot = np.arange(pairs.shape[1]) - np.repeat(first, sizes)
    at = np.searchsorted(groups, group)
    values = np.stack([rows.drop[kind] for kind in _KINDS], axis=1)
    found = []
    for size in np.unique(sizes):
        chosen = np.flatnonzero(sizes == size)
        keep = sizes[at] == size
        shape = (int(size), len(chosen), len(rows.names))
        place = (slot[pair[keep]], np.searchsorted(chosen, at[keep]), rows.perturbation[keep])
        sums, counts, total = np.zeros((*shape, 4)), np.zeros((*shape, 4)), np.zeros(shape[1:])
        np.add.at(sums, place, np.nan_to_num(values[keep]))
        np.add.at(counts, place, np.isfinite(values[keep]))
        np.add.at(total, place[1:], 1)
        found.append(_Sums(groups[chosen], sums, counts, total.astype(np.int64)))
    return found


def effects(table: Any, confidence: float = 0.95, seed: int = 0) -> list[Effect]:
    """Return what each perturbation does: over all prototypes, then to each prototype.

    A perturbation matters to a prototype when the interval of focused minus dual drop lies above
    0: it costs more where the map says the prototype looks than elsewhere.

    Parameters
    ----------
    table : mapping of columns, pandas.DataFrame or pyarrow.Table
        See the top of this module.
    confidence : float
        Of the intervals (`sightline.stats.interval`, clustered by image).
    seed : int
        Of what intervals and tests draw. The same seed gives the same bits.

    Returns
    -------
    list of Effect
        Perturbations in the order of the table. One without rows of a prototype is left out there.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> table = {"img_id": np.arange(20), "proto_idx": [3] * 20, "perturbation": ["hue"] * 20,
    ...     "original_score": np.ones(20), "focused": rng.uniform(0.4, 0.6, 20),
    ...     "dual": rng.uniform(0.8, 1.0, 20)}
    >>> found = effects(table)[1]
    >>> found.prototype, found.perturbation, round(found.difference, 2), found.matters
    (3, 'hue', 0.41, True)
    """
    rows = read_rows(table)
    if not len(rows):
        return []
    everything = _summed(rows, np.full(len(rows), ALL))
    each = _summed(rows, rows.prototype)
    return [
        *_family(everything, rows, confidence, seed),
        *_family(each, rows, confidence, seed),
    ]


def _family(parts: list[_Sums], rows: Rows, confidence: float, seed: int) -> list[Effect]:
    """Return the effects of groups that are corrected for each other."""
    found = []
    comparisons = sum(part.rows.size for part in parts)
    flips = min(max(_FLIPS, 40 * comparisons - 1), _MOST_FLIPS)
    for part in parts:
        found += _effects(part, rows, confidence, (flips, seed))
    corrected = holm([effect.p for effect in found])
    done = [effect._replace(p_holm=float(p)) for effect, p in zip(found, corrected, strict=True)]
    return sorted(done, key=lambda effect: effect.prototype)


def _effects(part: _Sums, rows: Rows, confidence: float, draws: tuple[int, int]) -> list[Effect]:
    """Return the effects of groups with equally many images, not corrected yet."""
    flips, seed = draws
    flat = (len(part.sums), -1)
    spans = intervals(
        part.sums.reshape(flat), counts=part.counts.reshape(flat), confidence=confidence, seed=seed
    )
    shape = part.sums.shape[1:]
    enough = spans.n >= FEWEST
    mean, n = spans.value.reshape(shape), spans.n.reshape(shape)
    low, high = (np.where(enough, end, np.nan).reshape(shape) for end in (spans.low, spans.high))
    kind = _KINDS.index("difference")
    most = np.where(np.arange(len(_KINDS)) == kind, np.inf, rows.most)
    low, high = np.minimum(low, most), np.minimum(high, most)
    gaps = np.where(part.counts[..., kind] > 0, part.sums[..., kind], np.nan)
    tested = flip_pvalues(gaps.reshape(flat), flips, seed).reshape(shape[:2])
    return [
        Effect(
            int(prototype),
            name,
            images=int(n[at][0]),
            undefined=int(part.rows[at] - part.counts[:, at[0], at[1], 0].sum()),
            **{
                f"{what}{end}": float(values[at][place])
                for place, what in enumerate(_KINDS)
                for end, values in (("", mean), ("_low", low), ("_high", high))
            },
            matters=bool(low[at][kind] > 0) if n[at][kind] >= FEWEST else None,
            p=float(tested[at]) if n[at][kind] >= FEWEST else np.nan,
            p_holm=np.nan,
        )
        for number, prototype in enumerate(part.prototypes)
        for column, name in enumerate(rows.names)
        if part.rows[at := (number, column)]
    ]


def natures(found: Iterable[Effect]) -> dict[int, tuple[str, ...] | None]:
    """Return what the similarity to each prototype is made of.

    Parameters
    ----------
    found : iterable of Effect
        As `effects` gives them; those over all prototypes are left aside.

    Returns
    -------
    dict
        For each prototype the perturbations that matter, that with the largest difference first.
        An empty tuple: none does, and the nature of the similarity is unknown. None: undecided,
        since none is seen to matter and at least one could not be judged.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> table = {"img_id": np.arange(20), "proto_idx": [3] * 20, "perturbation": ["hue"] * 20,
    ...     "original_score": np.ones(20), "focused": rng.uniform(0.4, 0.6, 20),
    ...     "dual": rng.uniform(0.8, 1.0, 20)}
    >>> natures(effects(table))
    {3: ('hue',)}
    """
    by_prototype: dict[int, list[Effect]] = {}
    for effect in found:
        if effect.prototype != ALL:
            by_prototype.setdefault(effect.prototype, []).append(effect)
    return {prototype: _nature(by_prototype[prototype]) for prototype in sorted(by_prototype)}


def _nature(found: list[Effect]) -> tuple[str, ...] | None:
    matter = [effect for effect in found if effect.matters]
    if not matter and any(effect.matters is None for effect in found):
        return None
    matter.sort(key=lambda effect: (-effect.difference, effect.perturbation))
    return tuple(effect.perturbation for effect in matter)


def premise(
    table: Any, perturbation: str | None = None, confidence: float = 0.95, seed: int = 0
) -> Premise:
    """Return how often focused copies lose more than dual ones.

    The analysis rests on it: where a map shows what a score is made of, changing those pixels costs
    more than changing all others. Where it does not hold, drops say little about the prototype: the
    map may miss what counts, or the score may take in much more of the image than the map shows.
    Dual copies of a small map change nearly the whole image; `squared_distance` and
    `dual_squared_distance` say how much each copy was changed.

    Parameters
    ----------
    table : mapping of columns, pandas.DataFrame or pyarrow.Table
        See the top of this module.
    perturbation : str or None
        One of the table; None for all rows.
    confidence, seed
        As in `effects`.

    Examples
    --------
    >>> table = {"img_id": [0, 1], "proto_idx": [5, 5], "perturbation": ["hue", "hue"],
    ...     "original_score": [1.0, 1.0], "focused": [0.5, 0.9], "dual": [0.9, 0.9]}
    >>> found = premise(table)
    >>> found.share, found.equal, found.prototype_share
    (0.5, 0.5, 1.0)
    """
    rows = read_rows(table)
    if perturbation is not None:
        if perturbation not in rows.names:
            known = ", ".join(rows.names)
            raise UnknownNameError(f"unknown perturbation {perturbation!r}. Known: {known}")
        rows = rows.only(rows.perturbation == rows.names.index(perturbation))
    rows = rows.only(np.isfinite(rows.drop["difference"]))
    rows = rows.only(np.argsort(rows.image, kind="stable"))  # images are drawn in this order
    gaps = rows.drop["difference"]
    options: dict[str, Any] = {"images": rows.image, "confidence": confidence, "seed": seed}
    share, mean = interval(gaps > 0, kind="share", **options), interval(gaps, **options)
    prototypes, code = np.unique(rows.prototype, return_inverse=True)
    totals = np.bincount(code, gaps)
    ends = (share.low, share.high, mean.low, mean.high)
    share_low, share_high, low, high = ends if mean.n >= FEWEST else (np.nan,) * 4
    return Premise(
        rows=len(gaps),
        images=mean.n,
        share=share.value,
        share_low=share_low,
        share_high=share_high,
        equal=_share(gaps == 0),
        prototypes=len(prototypes),
        prototype_share=_share(totals > 0),
        difference=mean.value,
        difference_low=low,
        difference_high=high,
    )


def _share(hits: NDArray[np.bool_]) -> float:
    return float(hits.mean()) if len(hits) else np.nan
