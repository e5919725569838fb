"""Where else on a grid of features a part of it would fit, at which size, and how well."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sightline.annotation._nms import box_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["MOST_CELLS", "Placed", "cell_range", "find_places", "surroundings", "unit_vectors"]

MOST_CELLS = 12
"""Of a region, along either side, that are compared; a larger one is sampled evenly."""
# A region moved by this share of its size still shows itself in part, and what is beside it.
_RING = 1 / 3, 2 / 3
# How much wider in relation to its height a place may be than the region, as a ratio.
_ASPECT = 1.85
# Of two places of which one lies in the other by this share, the better one stays.
_APART = 0.2
# Below this, a region and its surroundings are the same to the model.
_NOTHING = 1e-6


class Placed(NamedTuple):
    """Places where a region would fit: boxes `(n, 4)` in cells, and scores `(n,)`, best first."""

    boxes: NDArray[np.float64]
    scores: NDArray[np.float64]


def unit_vectors(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return features `(channels, rows, columns)` of length 1; those that are 0 stay 0."""
    lengths = np.sqrt(np.einsum("crk,crk->rk", features, features, dtype=np.float64))
    scaled: NDArray[np.float32] = (features / np.maximum(lengths, 1e-30)).astype(np.float32)
    return scaled


def cell_range(start: float, stop: float, count: int) -> tuple[int, int]:
    """Return the cells from `start` to `stop` whose middles lie there; at least one.

    Examples
    --------
    >>> cell_range(1.4, 4.2, 10), cell_range(1.6, 1.7, 10)
    ((1, 4), (1, 2))
    """
    low, high = int(np.floor(start + 0.5)), int(np.ceil(stop - 0.5))
    if high <= low:
        low = int((start + stop) / 2)
        high = low + 1
    low = min(max(low, 0), count - 1)
    return low, max(low + 1, min(high, count))


def find_places(
    features: NDArray[np.float32],
    box: Sequence[float],
    *,
    scales: Sequence[float] = (1.0,),
    penalty: float = 0.0,
    least: float = 0.0,
    most: int = 20,
) -> Placed:
    """Return where else a region would fit, with scores up to 1.

    The cells of the region are laid over every part of the grid that is as large, or a few times
    larger or smaller, and compared with the cells there: the mean of their cosines. The score says
    how far that goes from what the region has with its own surroundings (0) to what it has with
    itself (1).

    Parameters
    ----------
    features : array (channels, rows, columns)
        Of length 1: see `unit_vectors`.
    box : four numbers
        Corners x0, y0, x1, y1 of the region in cells.
    scales : sequence of float
        How many times larger a place may be, along each side on its own.
    penalty : float
        What a place loses of its mean cosine when one side is e times as long as the region's.
    least : float
        The least score.
    most : int
        The most places.
    """
    window = _Window.of(box, features.shape[1:])
    alike = _compared(features, window)
    own = surroundings(_laid(alike, window.size), window)
    if not 1 - own > _NOTHING:  # also where there are no surroundings
        return Placed(np.empty((0, 4)), np.empty(0))
    best, sizes = _best_sizes(alike, window, scales, penalty)
    scores = (best - own) / (1 - own)
    rows, columns = np.nonzero(scores >= max(least, 0))
    boxes = _boxes(best, sizes, (rows, columns), window)
    found = scores[rows, columns]
    kept = _apart(boxes, found, window.box, most)
    return Placed(boxes[kept], found[kept])


class _Window(NamedTuple):
    """A region on the grid: its box, and the cells it takes."""

    box: tuple[float, float, float, float]
    rows: tuple[int, int]
    columns: tuple[int, int]

    @classmethod
    def of(cls, box: Sequence[float], shape: tuple[int, ...]) -> _Window:
        x0, y0, x1, y1 = map(float, box)
        rows, columns = cell_range(y0, y1, shape[0]), cell_range(x0, x1, shape[1])
        return cls((x0, y0, x1, y1), rows, columns)

    @property
    def size(self) -> tuple[int, int]:
        return self.rows[1] - self.rows[0], self.columns[1] - self.columns[0]


def _spread(count: int, over: int) -> NDArray[np.intp]:
    """Return `count` whole numbers below `over`, evenly spread; all of them where it is as many."""
    return ((2 * np.arange(count) + 1) * over // (2 * count)).astype(np.intp)


def _compared(features: NDArray[np.float32], window: _Window) -> NDArray[np.float32]:
    """Return the cosine of cells of the region with all cells `(down, across, rows, columns)`."""
    down, across = (min(side, MOST_CELLS) for side in window.size)
    rows = window.rows[0] + _spread(down, window.size[0])
    columns = window.columns[0] + _spread(across, window.size[1])
    cells = features[:, rows][:, :, columns].reshape(len(features), -1)
    cosines = cells.T @ features.reshape(len(features), -1)
    return cosines.reshape(down, across, *features.shape[1:])


def _laid(alike: NDArray[np.float32], size: tuple[int, int]) -> NDArray[np.float64]:
    """Return the mean cosine of the region with every part of the grid of a size, by its corner."""
    (down, across), (height, width) = alike.shape[:2], alike.shape[2:]
    count = min(size[0], MOST_CELLS), min(size[1], MOST_CELLS)
    total = np.zeros((height - size[0] + 1, width - size[1] + 1))
    for i, row in zip(_spread(count[0], down), _spread(count[0], size[0]), strict=True):
        for j, column in zip(_spread(count[1], across), _spread(count[1], size[1]), strict=True):
            part = alike[i, j, row : row + total.shape[0], column : column + total.shape[1]]
            total += part
    return total / (count[0] * count[1])


def surroundings(laid: NDArray[np.float64], window: _Window) -> float:
    """Return the mean cosine of a region with what is around it, NaN where nothing is.

    It is moved by a third to two thirds of its size, along one side or both, by whole cells.
    """
    down = np.abs(np.arange(laid.shape[0]) - window.rows[0]) / max(window.size[0], 2)
    across = np.abs(np.arange(laid.shape[1]) - window.columns[0]) / max(window.size[1], 2)
    far = np.maximum(down[:, None], across[None])
    near = (far >= _RING[0]) & (far <= _RING[1])
    return float(laid[near].mean()) if near.any() else float("nan")


def _sizes(window: _Window, scales: Sequence[float], shape: tuple[int, ...]) -> Iterator[_Size]:
    """Yield the sizes of places in whole cells, none twice."""
    sides = [
        sorted({max(1, round(side * scale)) for scale in scales if side * scale <= limit})
        for side, limit in zip(window.size, shape, strict=True)
    ]
    for height in sides[0]:
        for width in sides[1]:
            size = _Size(height, width, height / window.size[0], width / window.size[1])
            if 1 / _ASPECT <= size.wider / size.taller <= _ASPECT:
                yield size


class _Size(NamedTuple):
    """Rows and columns of a place, and how many times those of the region they are."""

    rows: int
    columns: int
    taller: float
    wider: float


def _best_sizes(
    alike: NDArray[np.float32], window: _Window, scales: Sequence[float], penalty: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the best mean cosine of places around each middle, and how much larger that one is.

    Middles lie on borders of cells or halfway between: `(2 rows, 2 columns)`. Where no place has
    its middle, the value is -inf.
    """
    rows, columns = alike.shape[2:]
    best = np.full((2 * rows, 2 * columns), -np.inf)
    sizes = np.ones((2 * rows, 2 * columns, 2))
    for size in _sizes(window, scales, (rows, columns)):
        loss = penalty * (abs(log(size.taller)) + abs(log(size.wider)))
        found = _laid(alike, (size.rows, size.columns)) - loss
        here = (
            slice(size.rows, size.rows + 2 * found.shape[0], 2),
            slice(size.columns, size.columns + 2 * found.shape[1], 2),
        )
        better = found > best[here]
        best[here] = np.where(better, found, best[here])
        sizes[here][better] = size.taller, size.wider
    return best, sizes


def _boxes(
    best: NDArray[np.float64],
    sizes: NDArray[np.float64],
    at: tuple[NDArray[np.intp], NDArray[np.intp]],
    window: _Window,
) -> NDArray[np.float64]:
    """Return the boxes around middles, in cells, each moved to where its score would be highest."""
    x0, y0, x1, y1 = window.box
    taller, wider = sizes[at].T
    # The box need not lie in the middle of its cells.
    down = (y0 + y1) / 2 - sum(window.rows) / 2
    across = (x0 + x1) / 2 - sum(window.columns) / 2
    y = at[0] / 2 + down * taller + _peak(best, at, 0)
    x = at[1] / 2 + across * wider + _peak(best, at, 1)
    half_width, half_height = (x1 - x0) * wider / 2, (y1 - y0) * taller / 2
    return np.stack([x - half_width, y - half_height, x + half_width, y + half_height], 1)


def _peak(
    best: NDArray[np.float64], at: tuple[NDArray[np.intp], NDArray[np.intp]], axis: int
) -> NDArray[np.float64]:
    """Return how far, in cells, a parabola through a value and its neighbours has its top."""
    padded = np.pad(best, 2, constant_values=-np.inf)
    step = np.zeros(2, np.intp)
    step[axis] = 2  # half cells
    middle = np.stack(at) + 2
    before, after = (padded[tuple(middle + sign * step[:, None])] for sign in (-1, 1))
    here = best[at]
    with np.errstate(invalid="ignore"):
        bend = before - 2 * here + after
        good = np.isfinite(bend) & (bend < -1e-12)
        shift = np.divide(before - after, 2 * bend, out=np.zeros(len(here)), where=good)
    clipped: NDArray[np.float64] = np.clip(shift, -0.5, 0.5)
    return clipped


def _apart(
    boxes: NDArray[np.float64],
    scores: NDArray[np.float64],
    given: tuple[float, float, float, float],
    most: int,
) -> list[int]:
    """Return which places stay: the best ones that are neither the region nor one another."""
    waiting = np.argsort(-scores, kind="stable")
    waiting = waiting[~_same(boxes[waiting], given)]
    kept: list[int] = []
    while len(waiting) and len(kept) < most:
        kept.append(int(waiting[0]))
        waiting = waiting[~_same(boxes[waiting], boxes[waiting[0]])]
    return kept


def _same(boxes: NDArray[np.float64], other: Sequence[float]) -> NDArray[np.bool_]:
    one = np.asarray(other, np.float64)[None]
    parts = np.maximum(box_parts(boxes, one)[:, 0], box_parts(one, boxes)[0])
    same: NDArray[np.bool_] = parts >= _APART
    return same
