"""Perturbations, drops and blends pixel by pixel, with the standard library's colours."""

from __future__ import annotations

import colorsys
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping

Floats = NDArray[np.float64]


def grey(pixel: Floats) -> float:
    return float(0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2])


def clipped(value: float) -> float:
    return min(max(value, 0.0), 1.0)


def perturbed(image: Floats, kind: str, params: Mapping[str, Any], box: Any) -> Floats:
    """One step on one image (3, height, width)."""
    if kind == "blur":
        return blurred(image, params["ksize"], params["sigma"])
    if kind == "distortion":
        return distorted(image, params, box)
    height, width = image.shape[1:]
    greys = [grey(image[:, y, x]) for y in range(height) for x in range(width)]
    mean, factor = math.fsum(greys) / len(greys), params["factor"]
    found = np.empty_like(image)
    for y in range(height):
        for x in range(width):
            pixel = image[:, y, x]
            goal = {"brightness": 0.0, "contrast": mean, "saturation": grey(pixel)}
            if kind == "hue":
                hue, saturation, value = colorsys.rgb_to_hsv(*pixel)
                found[:, y, x] = colorsys.hsv_to_rgb((hue + factor) % 1, saturation, value)
            else:
                found[:, y, x] = [
                    clipped(factor * colour + (1 - factor) * goal[kind]) for colour in pixel
                ]
    return found


def mirrored(place: int, size: int) -> int:
    """Walk back and forth between the first and the last pixel."""
    while size > 1 and not 0 <= place < size:
        place = -place if place < 0 else 2 * (size - 1) - place
    return place if size > 1 else 0


def blurred(image: Floats, ksize: int, sigma: float) -> Floats:
    reach = ksize // 2
    line = [math.exp(-(k**2) / (2 * sigma**2)) for k in range(-reach, reach + 1)]
    total = math.fsum(line)
    _, height, width = image.shape
    found = np.zeros_like(image)
    for y in range(height):
        for x in range(width):
            for i, down in enumerate(line):
                for j, across in enumerate(line):
                    row = mirrored(y + i - reach, height)
                    column = mirrored(x + j - reach, width)
                    found[:, y, x] += image[:, row, column] * down * across / total**2
    return found


def distorted(image: Floats, params: Mapping[str, Any], box: Any) -> Floats:
    _, height, width = image.shape
    periods, amplitude = float(params["periods"]), float(params["amplitude"])
    width_of, height_of = float(box[2] - box[0]), float(box[3] - box[1])
    side = max(width_of, height_of) if params["side"] == "longest" else width_of

    def wave(place: int) -> float:
        return amplitude * math.sin(2 * math.pi * periods * place / side)

    found = image.copy()
    if params["direction"] != "vertical":
        before = found.copy()
        for c in range(3):
            for y in range(height):
                wanted = np.arange(width) - wave(y)
                found[c, y] = np.interp(wanted, np.arange(width), before[c, y])  # ends held
    if params["direction"] != "horizontal":
        before = found.copy()
        for c in range(3):
            for x in range(width):
                wanted = np.arange(height) - wave(x)
                found[c, :, x] = np.interp(wanted, np.arange(height), before[c, :, x])
    return found


def box_of(values: Floats, area: float) -> list[int]:
    """The box around the highest pixels, ties among them, without a lowest value that fills up."""
    ordered = sorted(values.ravel().tolist(), reverse=True)
    count = max(1, math.ceil(round(area * len(ordered), 9)))
    high = values >= ordered[count - 1]
    if ordered[count - 1] == ordered[-1] != ordered[0] and high.sum() > count:
        high = values > ordered[-1]
    rows, columns = np.nonzero(high)
    return [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]


def blended(image: Floats, changed: Floats, values: Floats, mode: str) -> Floats:
    weights = {"focused": values, "dual": 1 - values, "global": np.ones_like(values)}[mode]
    return weights * changed + (1 - weights) * image
