"""What an IoU must be read against: three kinds of chance, and the ceiling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import shape_of, to_numpy
from sightline.metrics import iou_ceiling, iou_chance

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["References", "iou_references"]


@dataclass(frozen=True, slots=True)
class References:
    """Figures beside which an IoU means something; arrays of the shape of the areas.

    Attributes
    ----------
    closed
        Chance in closed form, a g / (a + g − a g): what a constant map scores.
    exact
        Mean over all placements of the selected pixels; NaN where their number is not known.
    matched
        Chance in closed form of a selection as large as the annotation, g / (2 − g).
    ceiling
        The largest IoU possible, min(a, g) / max(a, g).

    Examples
    --------
    >>> from sightline.stats import iou_references
    >>> found = iou_references(0.1, 0.1)  # 10% of the pixels are selected, 10% annotated
    >>> round(float(found.closed), 4), round(float(found.ceiling), 4)
    (0.0526, 1.0)
    """

    closed: NDArray[np.float64]
    exact: NDArray[np.float64]
    matched: NDArray[np.float64]
    ceiling: NDArray[np.float64]


def iou_references(a: Any, g: Any, /, *, pixels: Any = None) -> References:
    """Return chance and ceiling of the IoU at the selected share `a` and annotated share `g`.

    None of them knows that people and models both look at the centre: for that see `cross_image`.

    Parameters
    ----------
    a, g
        Selected and annotated share of the image, numbers or arrays.
    pixels
        Pixels of the image, one number or one for each, for the exact mean.

    Examples
    --------
    >>> found = iou_references(0.1, [0.05, 0.103], pixels=1000)
    >>> found.closed.round(4).tolist(), found.exact.round(4).tolist()
    ([0.0345, 0.0535], [0.0347, 0.0537])
    >>> found.matched.round(4).tolist(), found.ceiling.round(4).tolist()
    ([0.0256, 0.0543], [0.5, 0.9709])
    """
    given = [np.asarray(to_numpy(share), np.float64) for share in (a, g)]
    try:
        a, g = np.broadcast_arrays(*given)
    except ValueError:
        shapes = " and ".join(shape_of(share.shape) for share in given)
        raise InputError(f"a and g must have shapes that go together; got {shapes}") from None
    exact = np.full(a.shape, np.nan) if pixels is None else iou_chance(a, g, pixels=pixels)
    figures = (iou_chance(a, g), exact, iou_chance(g, g), iou_ceiling(a, g))
    return References(*(np.asarray(figure, np.float64) for figure in figures))
