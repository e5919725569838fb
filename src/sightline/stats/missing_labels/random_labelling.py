"""Whether the labelled instances look as if they had been chosen at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import to_numpy
from sightline.stats._given import floats
from sightline.stats._images import numbered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["LabellingTest", "labelling_looks_random"]

_FEWEST = 6
_ROOM = 5_000_000


@dataclass(frozen=True, slots=True)
class LabellingTest:
    """Whether labelled instances differ from the unlabelled ones beside them.

    Attributes
    ----------
    p : float
        Two-sided; small when the labelled ones were not chosen at random. A large one is no proof
        that they were.
    statistic : float
        Mean rank of the labelled instances within their groups, from 0 (smallest) to 1; 0.5 when
        they do not differ.
    direction : str
        "larger" or "smaller": how the labelled ones differ, whatever p says; "" if they do not.
    groups : int
        Groups with both labelled and unlabelled instances: only they can tell.
    instances : int
        Instances in those groups.
    reason : str
        Why there is no p-value, or "".

    Examples
    --------
    >>> from sightline.stats.missing_labels import labelling_looks_random
    >>> test = labelling_looks_random([3, 1, 2, 5, 2, 1], [1, 0, 0, 1, 0, 0], list("aaabbb"))
    >>> test.statistic, test.direction, test.groups, test.instances
    (0.75, 'larger', 2, 6)
    """

    p: float
    statistic: float
    direction: str
    groups: int
    instances: int
    reason: str = ""


def labelling_looks_random(
    values: Any,
    labelled: Any,
    groups: Sequence[Any] | NDArray[Any],
    /,
    *,
    permutations: int = 9999,
    seed: int = 0,
) -> LabellingTest:
    """Test whether the labelled instances were chosen at random from their groups.

    Within each group (usually the instances of one part on one image) the labels are dealt out
    anew, as many as there are, and the ranks of the labelled ones compared.

    Parameters
    ----------
    values : array (instances,)
        Any quantity of each instance: its area, its distance to the centre, the map's recall on
        it. An instance with NaN is left out.
    labelled : array of bool (instances,)
        Which were labelled.
    groups : sequence (instances,)
        What belongs together: any hashable labels, e.g. (image, label).
    permutations, seed
        How often labels are dealt out.

    Returns
    -------
    LabellingTest
        NaN where fewer than six groups hold both labelled and unlabelled instances.

    Examples
    --------
    >>> areas = np.arange(24) % 3
    >>> test = labelling_looks_random(areas, areas == 2, np.arange(24) // 3)
    >>> test.direction, test.groups, test.p < 0.01
    ('larger', 8, True)
    """
    cells = _cells(*_check(values, labelled, groups, permutations))
    observed, labels = float(cells.ranks[cells.labelled].sum()), int(cells.labelled.sum())
    used, instances = len(np.unique(cells.group)), len(cells.ranks)
    mean = 0.5 + observed / labels if labels else np.nan
    direction = "" if abs(observed) < 1e-9 else "larger" if observed > 0 else "smaller"
    if used < _FEWEST:
        reason = f"too few groups: {used} with labelled and unlabelled instances, needs {_FEWEST}"
        return LabellingTest(np.nan, mean, direction, used, instances, reason)
    drawn = _dealt(cells, permutations, np.random.default_rng(seed))
    p = (1 + np.count_nonzero(np.abs(drawn) >= abs(observed) - 1e-9)) / (permutations + 1)
    return LabellingTest(float(p), mean, direction, used, instances)


def _check(
    values: Any, labelled: Any, groups: Sequence[Any] | NDArray[Any], permutations: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.intp]]:
    values = floats(values, "values", None)
    labelled = np.asarray(to_numpy(labelled), np.bool_)
    if values.ndim != 1 or values.shape != labelled.shape or len(groups) != len(values):
        raise InputError(
            "values, labelled and groups must hold one entry for each instance; got "
            f"{values.size}, {labelled.size} and {len(groups)}"
        )
    if permutations < 1:
        raise InputError(f"permutations must be at least 1; got {permutations!r}")
    known = np.isfinite(values)
    return values[known], labelled[known], numbered(groups)[1][known]


class _Cells(NamedTuple):
    """The instances of groups that have both kinds, group by group."""

    ranks: NDArray[np.float64]  # around 0, in units of the group's size + 1
    labelled: NDArray[np.bool_]
    group: NDArray[np.intp]


def _cells(
    values: NDArray[np.float64], labelled: NDArray[np.bool_], codes: NDArray[np.intp]
) -> _Cells:
    order = np.lexsort((values, codes))
    values, labelled, codes = values[order], labelled[order], codes[order]
    size, marked = np.bincount(codes), np.bincount(codes, labelled)
    place = np.arange(len(codes)) - (np.cumsum(size) - size)[codes] + 1
    # Equal values share the mean of their places.
    begins = np.diff(codes, prepend=-1).astype(np.bool_) | (np.diff(values, prepend=np.nan) != 0)
    run = np.cumsum(begins) - 1
    ranks = (np.bincount(run, place) / np.bincount(run))[run]
    ranks = (ranks - (size[codes] + 1) / 2) / (size[codes] + 1)
    both = (marked[codes] > 0) & (marked[codes] < size[codes])
    return _Cells(ranks[both], labelled[both], codes[both])


def _dealt(cells: _Cells, draws: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the summed ranks of labels dealt out at random, (draws,)."""
    _, own, size = np.unique(cells.group, return_inverse=True, return_counts=True)
    kind = np.stack([size, np.bincount(own, cells.labelled).astype(np.intp)], axis=1)
    total = np.zeros(draws)
    for members, count in np.unique(kind, axis=0):
        same = (kind == (members, count)).all(1)
        table = cells.ranks[same[own]].reshape(-1, members)
        block = max(1, _ROOM // table.size)
        for start in range(0, draws, block):
            stop = min(draws, start + block)
            total[start:stop] += _deal(table, int(count), stop - start, rng)
    return total


def _deal(
    table: NDArray[np.float64], count: int, draws: int, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return what `count` labels in each group of (groups, size) sum up to, (draws,)."""
    rows, size = np.arange(len(table)), table.shape[1]
    if count in (1, size - 1):
        # One in, or one out: the ranks of a group sum to 0.
        one = table[rows, rng.integers(0, size, (draws, len(table)))].sum(1)
        return np.asarray(one if count == 1 else -one, np.float64)
    order = rng.random((draws, *table.shape)).argpartition(count - 1, axis=-1)[..., :count]
    found: NDArray[np.float64] = table[rows[:, None], order].sum((1, 2))
    return found
