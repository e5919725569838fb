"""Drops of scores: tables of them, and what is seen in them without any test.

All functions take a table with a row for each image, prototype and perturbation: a mapping of
columns, a data frame of pandas, or a pyarrow table. Its columns are `img_id` (or `image`),
`proto_idx`, `perturbation`, `original_score`, `focused` and, where they are known, `dual` and
`whole`; the names of the CSV files (`score_after_perturbation`, `dual_score_after_perturbation`) do
as well. Rows can stand in any order: the numbers are the same, to the bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sightline.core import InputError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

__all__ = [
    "Floats",
    "GlobalStats",
    "LargestDrop",
    "Rows",
    "drops",
    "global_stats",
    "largest_drops",
    "read_rows",
]

Floats: TypeAlias = NDArray[np.float64]

# Differences of drops up to this are rounding: scores come from networks in single precision.
_EQUAL = 1e-6


def drops(original: ArrayLike, after: ArrayLike) -> Floats:
    """Return which share of a score is gone: (original - after) / original.

    Below 0 where the score rose. NaN where the original score is 0 or less: a share of it means
    nothing there.

    Examples
    --------
    >>> drops([2.0, 2.0, 0.0, -1.0], [1.0, 3.0, 0.0, -2.0])
    array([ 0.5, -0.5,  nan,  nan])
    """
    before, now = np.asarray(original, np.float64), np.asarray(after, np.float64)
    return np.divide(before - now, before, out=np.full_like(before - now, np.nan), where=before > 0)


class GlobalStats(NamedTuple):
    """The whole table in a few numbers.

    Attributes
    ----------
    covered : tuple of int
        The prototypes that have rows; others are never among the most similar of an image.
    images : int
        In the table.
    drops : dict
        Mean focused drop over the rows of each perturbation.
    undefined : dict
        Rows of each perturbation without a drop, which do not count there.

    Examples
    --------
    >>> table = {"img_id": [0, 0], "proto_idx": [5, 5], "perturbation": ["hue", "blur"],
    ...     "original_score": [1.0, 1.0], "focused": [0.5, 0.75]}
    >>> found = global_stats(table)
    >>> found.covered, found.images, found.drops, found.undefined
    ((5,), 1, {'hue': 0.5, 'blur': 0.25}, {'hue': 0, 'blur': 0})
    """

    covered: tuple[int, ...]
    images: int
    drops: dict[str, float]
    undefined: dict[str, int]


class LargestDrop(NamedTuple):
    """Which perturbation takes most of the similarity of an image to a prototype.

    Attributes
    ----------
    image : object
        As in the table.
    prototype : int
        Its number.
    perturbation : str
        The one with the largest focused drop, the first by name of equal ones; "" if no drop is
        defined.
    drop : float
        The largest; below 0 where every perturbation raised the score; NaN if undefined.

    Examples
    --------
    >>> found = LargestDrop("facade-00000.png", 5, "hue", 0.5)
    >>> f"{found.perturbation} takes {found.drop:.0%} of the likeness to number {found.prototype}"
    'hue takes 50% of the likeness to number 5'
    """

    image: Any
    prototype: int
    perturbation: str
    drop: float


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table in an order of their own: by perturbation, prototype and image.

    `most` is the largest drop that there can be: 1 where no score of the table is below 0.
    """

    labels: NDArray[Any]
    names: tuple[str, ...]
    image: NDArray[np.intp]
    prototype: NDArray[np.int64]
    perturbation: NDArray[np.intp]
    drop: Mapping[str, Floats]
    most: float

    def __len__(self) -> int:
        return len(self.image)

    @property
    def by_name(self) -> NDArray[np.intp]:
        """The place of each row's perturbation in the alphabet."""
        return np.argsort(np.argsort(np.array(self.names, str)))[self.perturbation]

    def only(self, keep: NDArray[np.bool_] | NDArray[np.intp]) -> Rows:
        """Return some of the rows."""
        return Rows(
            labels=self.labels,
            names=self.names,
            image=self.image[keep],
            prototype=self.prototype[keep],
            perturbation=self.perturbation[keep],
            drop={kind: values[keep] for kind, values in self.drop.items()},
            most=self.most,
        )


def _names(table: Any) -> list[str]:
    """Return the names of the columns of a mapping, a data frame or an Arrow table."""
    return list(table.column_names if hasattr(table, "column_names") else table)


def _column(table: Any, *names: str) -> NDArray[Any] | None:
    """Return the first of these columns that a table has."""
    known = _names(table)
    for name in names:
        if name in known:
            values = table[name]
            return np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    return None


def _needed(table: Any, *names: str) -> NDArray[Any]:
    """Return the first of these columns, or raise."""
    found = _column(table, *names)
    if found is None:
        known = ", ".join(_names(table))
        raise UnknownNameError(f"the table has no column {' or '.join(names)}; it has: {known}")
    return found


def read_rows(table: Any) -> Rows:
    """Return the rows of a table."""
    images, prototypes = _needed(table, "img_id", "image"), _needed(table, "proto_idx")
    named, original = _needed(table, "perturbation"), _needed(table, "original_score")
    after = {
        "focused": _needed(table, "focused", "score_after_perturbation"),
        "dual": _column(table, "dual", "dual_score_after_perturbation"),
        "whole": _column(table, "whole"),
    }
    columns = (images, prototypes, named, original, *after.values())
    lengths = sorted({len(column) for column in columns if column is not None})
    if len(lengths) != 1:
        raise InputError(f"all columns must have the same length, got {lengths}")
    drop = {kind: _drops(original, scores) for kind, scores in after.items()}
    gaps = drop["focused"] - drop["dual"]
    drop["difference"] = np.where(np.abs(gaps) <= _EQUAL, 0.0, gaps)
    labels, image = np.unique(images, return_inverse=True)
    names = {name: number for number, name in enumerate(dict.fromkeys(named.tolist()))}
    perturbation = np.array([names[name] for name in named.tolist()], np.intp)
    scores = [column for column in after.values() if column is not None]
    most = math.inf if any((column.astype(np.float64) < 0).any() for column in scores) else 1.0
    found = Rows(labels, tuple(names), image, prototypes.astype(np.int64), perturbation, drop, most)
    # Sums are taken in this order, whatever that of the table.
    numbers = (drop["whole"], drop["dual"], drop["focused"])
    return found.only(np.lexsort((*numbers, image, found.prototype, found.by_name)))


def _drops(original: NDArray[Any], scores: NDArray[Any] | None) -> Floats:
    if scores is None:
        return np.full(len(original), np.nan)
    return drops(original.astype(np.float64), scores.astype(np.float64))


def global_stats(table: Any) -> GlobalStats:
    """Return the covered prototypes and the mean focused drop of each perturbation.

    Examples
    --------
    >>> table = {"img_id": [0, 1, 2], "proto_idx": [5, 7, 5], "perturbation": ["hue"] * 3,
    ...     "original_score": [1.0, 1.0, 0.0], "focused": [0.5, 0.9, 0.1]}
    >>> found = global_stats(table)
    >>> found.covered, round(found.drops["hue"], 3), found.undefined
    ((5, 7), 0.3, {'hue': 1})
    """
    rows = read_rows(table)
    focused = rows.drop["focused"]
    defined = np.isfinite(focused)
    size = len(rows.names)
    counts = np.bincount(rows.perturbation[defined], minlength=size)
    totals = np.bincount(rows.perturbation[defined], focused[defined], minlength=size)
    means = np.divide(totals, counts, out=np.full(size, np.nan), where=counts > 0)
    missing = np.bincount(rows.perturbation[~defined], minlength=size)
    return GlobalStats(
        covered=tuple(np.unique(rows.prototype).tolist()),
        images=len(rows.labels),
        drops=dict(zip(rows.names, means.tolist(), strict=True)),
        undefined=dict(zip(rows.names, missing.tolist(), strict=True)),
    )


def largest_drops(table: Any) -> list[LargestDrop]:
    """Return the largest focused drop of each image and prototype, by image, then by prototype.

    Examples
    --------
    >>> table = {"img_id": [0, 0], "proto_idx": [5, 5], "perturbation": ["hue", "blur"],
    ...     "original_score": [1.0, 1.0], "focused": [0.5, 0.75]}
    >>> largest_drops(table)
    [LargestDrop(image=0, prototype=5, perturbation='hue', drop=0.5)]
    """
    rows = read_rows(table)
    focused = np.where(np.isfinite(rows.drop["focused"]), rows.drop["focused"], -np.inf)
    # The first of each pair is the largest.
    order = np.lexsort((rows.by_name, -focused, rows.prototype, rows.image))
    pairs = np.stack((rows.image, rows.prototype))[:, order]
    first = np.ones(len(order), bool)
    first[1:] = (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)
    images = rows.labels.tolist()
    return [
        LargestDrop(
            images[rows.image[at]],
            int(rows.prototype[at]),
            rows.names[rows.perturbation[at]] if np.isfinite(focused[at]) else "",
            float(focused[at]) if np.isfinite(focused[at]) else np.nan,
        )
        for at in order[first]
    ]
