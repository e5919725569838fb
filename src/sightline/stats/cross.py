"""Every map of a class scored on the regions of every image of that class: one matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import shape_of
from sightline.metrics import score_maps
from sightline.stats._images import plain_labels
from sightline.stats._linear import Rule
from sightline.stats._scenes import Scenes, check_finite, check_sign

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from sightline.core.choices import Direction
    from sightline.metrics.selection import Sign, Ties

    Score = Callable[[NDArray[np.bool_]], NDArray[np.float64]]

__all__ = ["CrossScores", "cross_scores"]

# Maps and masks become float64 while they are multiplied: keep each below this many numbers.
CHUNK = 1 << 23


@dataclass(frozen=True)
class CrossScores:
    """Scores of maps on the regions of other images.

    Attributes
    ----------
    n
        Images in all.
    blocks
        For each block of images among which maps may be exchanged: their positions ``(m,)`` and
        the matrix ``(m, m)`` whose entry ``[i, j]`` is the score of map i on the regions of image
        j. The diagonal holds the scores themselves.
    metric
        What was scored.
    direction
        Which values are better.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.stats import CrossScores, cross_image
    >>> own = CrossScores(2, ((np.array([0, 1]), np.array([[0.9, 0.2], [0.4, 0.8]])),))
    >>> null = cross_image(own)
    >>> round(null.value, 3), round(null.mean, 3)  # on their own images, and on any
    (0.85, 0.575)
    """

    n: int
    blocks: tuple[tuple[NDArray[np.int64], NDArray[np.float64]], ...]
    metric: str = ""
    direction: Direction = "higher"

    def __post_init__(self) -> None:
        if not self.blocks:
            raise InputError("blocks must hold at least one block of images; got none")
        images = np.concatenate([indices for indices, _ in self.blocks])
        if not np.array_equal(np.sort(images), np.arange(self.n)):
            raise InputError(f"blocks must hold each of the images 0 … {self.n - 1} once")
        for indices, matrix in self.blocks:
            if matrix.shape != (len(indices), len(indices)):
                raise InputError(
                    f"a block of {len(indices)} images needs a matrix of {len(indices)} rows and "
                    f"columns; got shape {shape_of(matrix.shape)}"
                )

    @property
    def values(self) -> NDArray[np.float64]:
        """Each image's own score, ``(n,)``."""
        found = np.full(self.n, np.nan)
        for indices, matrix in self.blocks:
            found[indices] = np.diagonal(matrix)
        return found


def cross_scores(
    maps: Any,
    masks: Any,
    /,
    metric: str = "iou@90",
    *,
    ignore: Any = None,
    classes: Sequence[Hashable] | None = None,
    sign: Sign | None = None,
    ties: Ties = "share",
    block: int = 1000,
    seed: int = 0,
) -> CrossScores:
    """Score every map on the regions of every image of its class.

    Parameters
    ----------
    maps
        One map for each image: ``(n, H, W)``, or a sequence of arrays of several sizes.
    masks
        Annotated pixels of the same sizes.
    metric
        A metric that compares a map with annotated pixels, with its threshold.
    ignore
        Pixels to leave out, of the same sizes, or None; an entry of a sequence may be None. A map
        on the regions of image j is scored without the pixels that image j ignores.
    classes
        One label for each image: maps are exchanged only within a class. Where images reached
        the model in different ways (letterboxed or not, cropped or not), give each way its own.
        Images of different sizes are never in one class.
    sign, ties
        As in `score_maps`.
    block
        Classes of more images are cut, at random, into blocks of at most so many.
    seed
        Decides how they are cut.

    Examples
    --------
    >>> import numpy as np
    >>> maps = np.random.default_rng(0).random((3, 8, 8))
    >>> scores = cross_scores(maps, maps > 0.8, "auc_roc")
    >>> indices, matrix = scores.blocks[0]
    >>> indices.tolist(), np.diagonal(matrix).tolist()
    ([0, 1, 2], [1.0, 1.0, 1.0])
    """
    rule = Rule.parse(metric, sign, ties)
    if block < 2:
        raise InputError(f"block must be at least 2 images; got {block}")
    scenes = Scenes.read(maps, masks, ignore, "ignore")
    parts = _blocks(scenes, classes, block, seed)
    return CrossScores(
        len(scenes),
        tuple((part, _matrix(scenes, part, rule)) for part in parts),
        rule.column,
        rule.spec.direction,
    )


def _blocks(
    scenes: Scenes, classes: Sequence[Hashable] | None, block: int, seed: int
) -> list[NDArray[np.int64]]:
    """Return the positions of the images of each block."""
    labels = [None] * len(scenes) if classes is None else plain_labels(classes)
    if len(labels) != len(scenes):
        raise InputError(
            f"classes must hold a label for each of {len(scenes)} images; got {len(labels)}"
        )
    members: dict[Hashable, list[int]] = {}
    for index, label in enumerate(labels):
        members.setdefault((scenes.maps[index].shape, label), []).append(index)
    found = []
    for number, indices in enumerate(members.values()):
        whole = np.array(indices)
        count = -(-len(whole) // block)
        if count > 1:
            whole = np.random.default_rng([seed, number]).permutation(whole)
        found += [np.sort(part) for part in np.array_split(whole, count)]
    return found


def _matrix(scenes: Scenes, images: NDArray[np.int64], rule: Rule) -> NDArray[np.float64]:
    matrix = np.full((len(images), len(images)), np.nan)
    prepare = _by_product if rule.linear else _by_pass
    for columns, keep in scenes.kept_alike(images):
        if not keep.any():
            continue
        step = max(1, CHUNK // int(keep.sum()))
        for start in range(0, len(images), step):
            rows = slice(start, start + step)
            maps = np.stack([scenes.maps[i] for i in images[rows]])
            check_finite(_kept(maps, keep), images[rows])
            check_sign(_kept(maps, keep), images[rows], rule.sign)
            score = prepare(maps, keep, rule)
            for left in range(0, len(columns), step):
                some = columns[left : left + step]
                matrix[rows, some] = score(np.stack([scenes.masks[i] for i in images[some]]))
    return matrix


def _kept(arrays: NDArray[Any], keep: NDArray[np.bool_]) -> NDArray[Any]:
    """Return the pixels that are left of each array, `(arrays, pixels)`."""
    return arrays.reshape(len(arrays), -1) if keep.all() else arrays[:, keep]


def _by_product(maps: NDArray[Any], keep: NDArray[np.bool_], rule: Rule) -> Score:
    """Weigh the pixels of maps once; one matrix product then scores them on any masks."""
    weights = rule.weights(_kept(maps, keep))

    def score(masks: NDArray[np.bool_]) -> NDArray[np.float64]:
        inside = _kept(masks, keep).astype(np.float64)
        sums = weights.pixels @ inside.T
        return rule.score(sums, weights.selected[:, None], inside.sum(axis=1), inside.shape[1])

    return score


def _by_pass(maps: NDArray[Any], keep: NDArray[np.bool_], rule: Rule) -> Score:
    """Score maps on each mask in turn."""
    ignore = None if keep.all() else ~keep
    name, sign, ties = rule.column, rule.sign, rule.ties

    def score(masks: NDArray[np.bool_]) -> NDArray[np.float64]:
        columns = [
            score_maps(maps, mask, sign=sign, ties=ties, ignore=ignore, metrics=[name])[name]
            for mask in masks
        ]
        return np.stack(columns, axis=1)

    return score
