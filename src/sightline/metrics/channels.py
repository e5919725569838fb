"""Channels: attributions of RGB inputs have three, of which one map is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sightline.core import InputError
from sightline.core.arrays import Array, namespace, shape_of
from sightline.core.checks import check_choice
from sightline.core.choices import CHANNELS
from sightline.metrics._border import RGB, check_maps

if TYPE_CHECKING:
    from sightline.core.choices import Channels

__all__ = ["reduce_channels"]


def reduce_channels(maps: Any, channels: Channels, /) -> Array:
    """Reduce attributions of RGB inputs to one map per image.

    Parameters
    ----------
    maps
        ``(..., 3, H, W)``, numpy or torch: what Captum returns for a batch of images.
    channels : {"mean_abs", "sum", "max_abs"}
        ``"mean_abs"`` and ``"max_abs"`` take the mean and the largest of the three magnitudes, so
        that no value is negative. ``"sum"`` adds the values with their signs: evidence for and
        against cancels, and the result needs a `sign`.

    Returns
    -------
    array
        ``(..., H, W)``, where the maps are; in their type if that is float32 or float64, else in
        float64.

    Examples
    --------
    >>> import numpy as np
    >>> pixel = np.array([0.5, -2.0, 0.5]).reshape(3, 1, 1)
    >>> [reduce_channels(pixel, name).item() for name in ("mean_abs", "sum", "max_abs")]
    [1.0, -1.0, 2.0]
    """
    check_choice("channels", channels, CHANNELS)
    maps = check_maps(maps)
    if len(maps.shape) < 3 or maps.shape[-3] != RGB:
        raise InputError(
            f"channels={channels!r} reduces maps of shape (..., 3, H, W); "
            f"got shape {shape_of(maps.shape)}"
        )
    xp = namespace(maps)
    if maps.dtype not in (xp.float32, xp.float64):
        maps = xp.astype(maps, xp.float64)
    red, green, blue = (maps[..., channel, :, :] for channel in range(RGB))
    if channels == "sum":
        return red + green + blue
    red, green, blue = xp.abs(red), xp.abs(green), xp.abs(blue)
    if channels == "mean_abs":  # by a tensor: devices multiply by a number's rounded inverse
        return (red + green + blue) / xp.full_like(red, RGB)
    return xp.maximum(xp.maximum(red, green), blue)
