"""What perturbations do to a batch of images, by torch."""

from __future__ import annotations

from functools import lru_cache
from math import ceil, pi
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from sightline.attribution.prototypes.perturbations import AREA, THRESHOLD
from sightline.core import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch import Tensor

__all__ = ["CHANGES", "checked_images", "checked_maps", "find_boxes"]

# How much of red, green and blue is in grey: ITU-R 601.
_GREY = (0.299, 0.587, 0.114)
# How far beyond 0 and 1 rounding may take a colour.
_ROUNDING = 1e-4


def checked_images(images: Tensor) -> Tensor:
    """Return images in single precision, or raise where they are no colours from 0 to 1."""
    if images.ndim != 4 or images.shape[1] != 3 or 0 in images.shape[2:]:
        seen = tuple(images.shape)
        raise InputError(f"images must be (n, 3, height, width), got {seen}")
    if not images.is_floating_point():
        raise InputError(f"images must hold colours from 0 to 1 as floats, got {images.dtype}")
    if images.numel():
        low, high = (float(end) for end in images.aminmax())
        if not (low >= -_ROUNDING and high <= 1 + _ROUNDING):
            raise InputError(f"images must hold colours from 0 to 1, got {low:g} to {high:g}")
    return images.float().clamp(0, 1)


def checked_maps(values: Tensor, images: Tensor) -> Tensor:
    """Return maps in single precision, or raise where they are no weights of these images."""
    expected = (len(images), *images.shape[2:])
    if tuple(values.shape) != expected:
        raise InputError(f"values must be {expected}, as the images are, got {tuple(values.shape)}")
    if ((values < 0) | (values > 1)).any():
        low, high = (float(end) for end in values.aminmax())
        raise InputError(f"values must lie from 0 to 1, got {low:g} to {high:g}")
    return values.float()


def find_boxes(values: Tensor, area: float, threshold: float | None) -> Tensor:
    """Return the boxes of `relevant_boxes`."""
    flat = values.flatten(1)
    high = _select_top(flat, area) if threshold is None else flat > threshold
    nothing = ~high.any(dim=1, keepdim=True) | ~flat.isfinite().all(dim=1, keepdim=True)
    high = (high | nothing).view_as(values)
    columns, rows = high.any(dim=1), high.any(dim=2)
    x0, x1 = _ends(columns)
    y0, y1 = _ends(rows)
    return torch.stack((x0, y0, x1, y1), dim=1)


def _select_top(flat: Tensor, area: float) -> Tensor:
    """Return the highest pixels of each map, without a lowest value that fills up the area."""
    count = max(1, ceil(area * flat.shape[1] - 1e-9))
    least = flat.topk(count, dim=1, sorted=False).values.amin(dim=1, keepdim=True)
    high, above = flat >= least, flat > least
    lowest = least == flat.amin(dim=1, keepdim=True)
    fills_up = lowest & (high.sum(dim=1, keepdim=True) > count)
    return torch.where(fills_up & above.any(dim=1, keepdim=True), above, high)


def _ends(there: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first place of each row that is true, and the one after the last."""
    first = there.int().argmax(dim=1)
    last = there.flip(1).int().argmax(dim=1)
    return first, there.shape[1] - last


def _grey(images: Tensor) -> Tensor:
    red, green, blue = (images[:, at : at + 1] for at in range(3))
    return (_GREY[0] * red).add_(green, alpha=_GREY[1]).add_(blue, alpha=_GREY[2])


def _towards(images: Tensor, goal: Tensor, factor: float) -> Tensor:
    return (factor * images).add_((1 - factor) * goal).clamp_(0, 1)


def _brightness(images: Tensor, params: Mapping[str, Any], maps: Tensor) -> Tensor:
    return (images * params["factor"]).clamp_(0, 1)


def _contrast(images: Tensor, params: Mapping[str, Any], maps: Tensor) -> Tensor:
    # Row by row, in the same order whatever the threads.
    rows = _grey(images).mean(dim=3, keepdim=True).double()
    return _towards(images, rows.mean(dim=2, keepdim=True).float(), params["factor"])


def _saturation(images: Tensor, params: Mapping[str, Any], maps: Tensor) -> Tensor:
    return _towards(images, _grey(images), params["factor"])


def _hue(images: Tensor, params: Mapping[str, Any], maps: Tensor) -> Tensor:
    if params["factor"] == 0:
        return images  # there and back again would leave rounding
    value, chroma, sector = _sectors(images)
    # A channel has the value less chroma where the hue is opposite its own, from a sixth before to
    # a sixth after, and the value from two sixths away.
    opposite = images.new_tensor((3.0, 5.0, 1.0)).view(3, 1, 1)
    away = sector + 6 * params["factor"] - opposite
    depth = away.sub_((away / 6).round_(), alpha=6).abs_().neg_().add_(2).clamp_(0, 1)
    return depth.mul_(chroma).neg_().add_(value).clamp_(0, 1)


def _sectors(images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return value, chroma and hue (in sixths of the circle, from -1 to 5) of HSV."""
    value = images.amax(dim=1, keepdim=True)
    chroma = value - images.amin(dim=1, keepdim=True)
    red, green, blue = images.split(1, dim=1)
    safe = torch.where(chroma > 0, chroma, 1.0)
    sector = torch.where(
        value == red,
        (green - blue) / safe,
        torch.where(value == green, 2 + (blue - red) / safe, 4 + (red - green) / safe),
    )
    return value, chroma, sector


def _blur(images: Tensor, params: Mapping[str, Any], maps: Tensor) -> Tensor:
    height, width = images.shape[2:]
    ksize, sigma = params["ksize"], params["sigma"]
    if ksize == 1:
        return images
    across, down = (_smoothing(side, ksize, sigma).to(images) for side in (width, height))
    return (down @ (images @ across.T)).clamp_(0, 1)


@lru_cache(8)
def _smoothing(side: int, ksize: int, sigma: float) -> Tensor:
    """Return the matrix (side, side) that blurs a line of pixels; it is mirrored at its ends."""
    reach = ksize // 2
    offsets = torch.arange(-reach, reach + 1)
    weights = torch.exp(-0.5 * (offsets.double() / sigma) ** 2)
    weights /= weights.sum()
    period = max(2 * (side - 1), 1)
    places = (torch.arange(side)[:, None] + offsets) % period
    places = torch.minimum(places, period - places) if side > 1 else places
    matrix = torch.zeros(side, side, dtype=torch.float64)
    return matrix.scatter_add_(1, places, weights.expand(side, -1).contiguous())


def _distortion(images: Tensor, params: Mapping[str, Any], maps: Tensor) -> Tensor:
    direction = params["direction"]
    if params["amplitude"] == 0:
        return images
    threshold = THRESHOLD if params["box"] == "threshold" else None
    x0, y0, x1, y1 = find_boxes(maps, AREA, threshold).to(images.device).double().unbind(1)
    sides = x1 - x0 if params["side"] == "width" else torch.maximum(x1 - x0, y1 - y0)
    speeds = 2 * pi * params["periods"] / sides[:, None]

    def waves(count: int) -> Tensor:
        places = torch.arange(count, device=images.device, dtype=torch.float64)
        return params["amplitude"] * (speeds * places).sin()

    found = images
    if direction in ("horizontal", "both"):
        found = _moved(found, waves(images.shape[2]))
    if direction in ("vertical", "both"):
        found = _moved(found.mT, waves(images.shape[3])).mT.contiguous()
    return found


def _moved(images: Tensor, shifts: Tensor) -> Tensor:
    """Return images whose rows moved to the right by shifts (n, rows), edge pixels held.

    All pixels of a row move alike: each row is a window of the row with its edges drawn out, one
    pixel wider than the image, and lies between the window's pixels and their right neighbours.
    """
    count, _, rows, columns = images.shape
    shifts = shifts.clamp(-columns, columns)  # nothing but the edge is left further out
    whole = shifts.floor()
    reach = int(shifts.abs().max().ceil()) + 1 if count else 1
    drawn_out = functional.pad(images, (reach, reach, 0, 0), mode="replicate")
    windows = drawn_out.unfold(3, columns + 1, 1).permute(0, 2, 3, 1, 4)
    each, row = (torch.arange(size, device=images.device) for size in (count, rows))
    taken = windows[each[:, None], row, (reach - 1 - whole).long()].permute(0, 2, 1, 3)
    share = (1 - (shifts - whole)).to(images.dtype)[:, None, :, None]
    return taken[..., :-1].lerp(taken[..., 1:], share)


CHANGES: dict[str, Callable[[Tensor, Mapping[str, Any], Tensor], Tensor]] = {
    "brightness": _brightness,
    "contrast": _contrast,
    "saturation": _saturation,
    "hue": _hue,
    "blur": _blur,
    "distortion": _distortion,
}
"""What makes each change: images, parameters and maps to images."""
