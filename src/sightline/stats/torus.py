"""Every map scored at every place that a shift around the torus takes it to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.core.raster import mask_pixels
from sightline.stats._linear import Rule
from sightline.stats._scenes import Scenes, check_finite, check_sign

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sightline.core.choices import Direction
    from sightline.metrics.selection import Sign, Ties

__all__ = ["TorusScores", "torus_scores"]

# Maps of one size are transformed together, about this many pixels at a time.
CHUNK = 1 << 20


@dataclass(frozen=True)
class TorusScores:
    """Scores of maps at all their cyclic shifts.

    Attributes
    ----------
    shifts
        For each image an array ``(H·W,)``: its score with the map moved ``dy`` down and ``dx`` to
        the right stands at ``dy·W + dx``. The first is the score itself.
    metric
        What was scored.
    direction
        Which values are better.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.stats import torus_scores
    >>> peak = np.array([[[0.0, 1.0], [0.0, 0.0]]])
    >>> scores = torus_scores(peak, peak > 0, "pointing")
    >>> scores.n, scores.values.round(3).tolist(), scores.shifts[0].shape
    (1, [1.0], (4,))
    """

    shifts: tuple[NDArray[np.float64], ...]
    metric: str = ""
    direction: Direction = "higher"

    @property
    def n(self) -> int:
        """Images in all."""
        return len(self.shifts)

    @property
    def values(self) -> NDArray[np.float64]:
        """Each image's own score, ``(n,)``."""
        return np.array([shift[0] for shift in self.shifts])


def torus_scores(
    maps: Any,
    masks: Any,
    /,
    metric: str = "iou@90",
    *,
    visible: Any = None,
    sign: Sign | None = None,
    ties: Ties = "share",
) -> TorusScores:
    """Score every map at all its cyclic shifts, by one Fourier transform each.

    Parameters
    ----------
    maps
        One map for each image: ``(n, H, W)``, or a sequence of arrays of several sizes.
    masks
        Annotated pixels of the same sizes.
    metric
        A metric that sums over annotated pixels: AUC, coverage, pointing, or an overlap whose
        threshold does not look at the annotation.
    visible
        The rectangle of each image that counts, as booleans of the same sizes (an entry may be
        None: all of it). Maps are shifted inside it. Pixels missing within it are refused: a
        shift would bring them under the map.
    sign, ties
        As in `score_maps`.

    Examples
    --------
    >>> import numpy as np
    >>> field = np.arange(4.0).reshape(1, 2, 2)
    >>> torus_scores(field, field == 3, "pointing").shifts[0].round(12).tolist()
    [1.0, 0.0, 0.0, 0.0]
    """
    rule = Rule.parse(metric, sign, ties)
    if not rule.linear:
        raise InputError(
            f"the torus shift is offered for scores that add up over annotated pixels "
            f"(auc_roc, coverage, pointing, iou@90 and the like); got {metric!r}"
        )
    scenes = Scenes.read(maps, masks, visible, "visible")
    shifts: dict[int, NDArray[np.float64]] = {}
    for indices, stacked, inside in _stacks(scenes):
        check_sign(stacked, indices, rule.sign)
        shifts.update(zip(indices, _shifts(stacked, inside, rule), strict=True))
    ordered = tuple(shifts[index] for index in range(len(scenes)))
    return TorusScores(ordered, rule.column, rule.spec.direction)


def _stacks(scenes: Scenes) -> Iterator[tuple[list[int], NDArray[Any], NDArray[np.bool_]]]:
    """Yield what is visible of images of one size, some at a time: positions, maps, masks."""
    windows = [_window(visible, image) for image, visible in enumerate(scenes.pixels)]
    alike: dict[tuple[int, ...], list[int]] = {}
    for index, window in enumerate(windows):
        alike.setdefault(scenes.maps[index][window].shape, []).append(index)
    for shape, indices in alike.items():
        step = max(1, CHUNK // math.prod(shape))
        for start in range(0, len(indices), step):
            part = indices[start : start + step]
            maps = np.stack([scenes.maps[i][windows[i]] for i in part])
            check_finite(maps, part)
            yield part, maps, np.stack([scenes.masks[i][windows[i]] for i in part])


def _window(visible: NDArray[np.bool_] | None, image: int) -> tuple[slice, slice]:
    """Return the rectangle of an image that is visible."""
    if visible is None:
        return slice(None), slice(None)
    pixels = mask_pixels(visible)
    if pixels is None:
        raise InputError(f"the torus shift needs visible pixels; image {image} has none")
    x0, y0, x1, y1 = pixels
    window = slice(y0, y1), slice(x0, x1)
    if not visible[window].all():
        raise InputError(
            "the torus shift is not offered with ignored pixels: visible must be a full rectangle; "
            f"image {image} lacks {int((~visible[window]).sum())} pixels in it"
        )
    return window


def _shifts(maps: NDArray[Any], masks: NDArray[np.bool_], rule: Rule) -> NDArray[np.float64]:
    """Return the scores `(maps, shifts)` of maps of one size."""
    size = maps.shape[1:]
    weights = rule.weights(maps.reshape(len(maps), -1))
    surfaces = np.fft.rfft2(weights.pixels.reshape(maps.shape))
    sums = np.fft.irfft2(surfaces.conj() * np.fft.rfft2(masks), size).reshape(len(maps), -1)
    if weights.pixels.min() >= 0:
        sums = np.maximum(sums, 0)  # the transform leaves rounding around 0
    annotated = masks.sum(axis=(1, 2)).astype(np.float64)
    return rule.score(sums, weights.selected[:, None], annotated[:, None], masks[0].size)
