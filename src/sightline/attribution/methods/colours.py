"""Colours of maps: what each value looks like over a grey image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MANY", "Scale", "covered", "overlay"]

# Anchors of matplotlib's inferno at each tenth, and of ColorBrewer's RdBu turned round, with a
# white in the middle that is white.
_INFERNO = (
    "000004", "160b39", "420a68", "6a176e", "932667", "bc3754", "dd513a", "f37819", "fca50a",
    "f6d746", "fcffa4",
)  # fmt: skip
_BLUE_RED = (
    "053061", "2166ac", "4393c3", "92c5de", "d1e5f0", "ffffff", "fddbc7", "f4a582", "d6604d",
    "b2182b", "67001f",
)  # fmt: skip
# The image below is grey and dim, and colours cover it by a fixed share: they mean the map alone.
_COVER, _DARKEST, _BRIGHTEST = 0.6, 40, 215

MANY = 400
"""From so many cells on, colours end where a share of the values does."""
_KEPT = 0.99


@dataclass(frozen=True, slots=True)
class Scale:
    """What the colours of one map mean.

    Attributes
    ----------
    low, high : float
        Values of the first and the last colour; equal for a map that is constant.
    diverging : bool
        Blue below zero, white at zero, red above; otherwise from dark to bright.
    """

    low: float
    high: float
    diverging: bool

    @classmethod
    def of(cls, values: NDArray[Any], sign: str) -> Scale:
        """Return the scale of a map: what is not a number is left out.

        Of "positive" maps it goes from the least to the largest value, those below 0 being 0; of
        others as far below zero as above. Maps of 400 cells or more end where all but 1 % of the
        values are: a few would make the others invisible.
        """
        seen = values[np.isfinite(values)].astype(np.float64)
        seen = np.maximum(seen, 0) if sign == "positive" else np.abs(seen)
        if not seen.size:
            return cls(0.0, 0.0, sign != "positive")
        far = float(np.quantile(seen, _KEPT) if seen.size >= MANY else seen.max())
        far = far or float(seen.max())  # nearly all are 0
        return cls(float(seen.min()), far, False) if sign == "positive" else cls(-far, far, True)

    def colours(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the colours of values, `(..., 3)` from 0 to 255; black where there is none."""
        anchors = _BLUE_RED if self.diverging else _INFERNO
        table = np.array([[int(text[i : i + 2], 16) for i in (0, 2, 4)] for text in anchors])
        if self.high > self.low:
            share = (np.asarray(values, np.float64) - self.low) / (self.high - self.low)
        else:
            share = np.full(np.shape(values), 0.5 if self.diverging else 0.0)
        places = np.clip(np.nan_to_num(share), 0, 1) * (len(table) - 1)
        steps = np.arange(len(table))
        return np.stack([np.interp(places, steps, table[:, c]) for c in range(3)], axis=-1)


def overlay(
    image: NDArray[np.uint8],
    values: NDArray[Any],
    sign: str = "positive",
    scale: Scale | None = None,
) -> NDArray[np.uint8]:
    """Return an image in dim grey under the colours of a map; what is NaN stays grey.

    Parameters
    ----------
    image : array (height, width, 3)
        In 8 bits.
    values : array (height, width)
        A map over its pixels.
    sign : {"positive", "absolute", "signed"}
        How the values are meant: dark to bright, or (both others) blue, pale at zero, red.
    scale : Scale, optional
        What the colours mean; from the values unless given.
    """
    if image.shape[:2] != values.shape:
        raise InputError(f"map must be {image.shape[:2]} like its image, got {values.shape}")
    grey = image @ np.array([0.299, 0.587, 0.114])
    return covered(grey, values, Scale.of(values, sign) if scale is None else scale)


def covered(grey: Any, values: NDArray[Any], scale: Scale) -> NDArray[np.uint8]:
    """Return grey `(height, width)` under the colours of a map."""
    grey = _DARKEST + (_BRIGHTEST - _DARKEST) / 255 * np.asarray(grey)[..., None]
    mixed = grey + _COVER * (scale.colours(values) - grey)
    shown = np.where(np.isfinite(values)[..., None], mixed, grey)
    found: NDArray[np.uint8] = np.rint(shown).astype(np.uint8)
    return found
