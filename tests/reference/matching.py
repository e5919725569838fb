"""Prototypes in loops: similarities, matches, gradients, upsampled maps, relevance.

Nothing here is shared with the package. A cell of `side` x `side` pixels has the features
``weight @ pixels + bias``, its similarity to a prototype is ``log((d + 1) / (d + 1e-4))``, with d
the squared distance of the two.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

EPSILON = 1e-4


def similarities(pixels: Any, weight: Any, bias: Any, prototypes: Any) -> np.ndarray:
    """Of images `(n, 3, h, w)` to prototypes; weight `(channels, 3, side, side)`."""
    side = weight.shape[-1]
    count, _, height, width = pixels.shape
    found = np.zeros((count, len(prototypes), height // side, width // side))
    for i, p, r, c in np.ndindex(*found.shape):
        patch = pixels[i, :, r * side : (r + 1) * side, c * side : (c + 1) * side]
        distance = 0.0
        for channel in range(len(weight)):
            feature = bias[channel] + sum(
                float(a) * float(b)
                for a, b in zip(weight[channel].ravel(), patch.ravel(), strict=True)
            )
            distance += (feature - float(prototypes[p, channel])) ** 2
        found[i, p, r, c] = math.log((distance + 1) / (distance + EPSILON))
    return found


def gradient(
    image: Any, weight: Any, bias: Any, prototype: Any, cell: tuple[int, int]
) -> np.ndarray:
    """Of the similarity of one cell with respect to an image `(3, h, w)`, by the chain rule."""
    side, (r, c) = weight.shape[-1], cell
    rows, columns = slice(r * side, (r + 1) * side), slice(c * side, (c + 1) * side)
    patch = image[:, rows, columns]
    off = [float((weight[k] * patch).sum() + bias[k] - prototype[k]) for k in range(len(prototype))]
    distance = sum(value**2 for value in off)
    slope = 1 / (distance + 1) - 1 / (distance + EPSILON)
    found = np.zeros(image.shape)
    found[:, rows, columns] = slope * sum(2 * off[k] * weight[k] for k in range(len(prototype)))
    return found


def best_matches(maps: Any, count: int) -> list[list[tuple[int, tuple[int, int], float]]]:
    """Of maps `(n, prototypes, h, w)`: prototype, cell and similarity, the best first."""
    found = []
    for image in maps:
        tops = []
        for number, values in enumerate(image):
            cell = (0, 0)
            for place in np.ndindex(*values.shape):
                if values[place] > values[cell]:
                    cell = place
            tops.append((number, cell, float(values[cell])))
        found.append(sorted(tops, key=lambda top: (-top[2], top[0]))[:count])
    return found


def nearest(maps: Sequence[Any]) -> list[tuple[int, tuple[int, int], float]]:
    """Of the maps of each image `(prototypes, h, w)`: image, cell and similarity."""
    found = []
    for number in range(len(maps[0])):
        best = (-1, (-1, -1), -math.inf)
        for image, values in enumerate(maps):
            for cell in np.ndindex(*values[number].shape):
                if values[number][cell] > best[2]:
                    best = (image, cell, float(values[number][cell]))
        found.append(best)
    return found


def upsampled(grid: Any, height: int, width: int, mode: str) -> np.ndarray:
    """A map at the centres of pixels; what lies beyond the edge has the value of the edge."""
    found = np.zeros((height, width))
    for y, x in np.ndindex(height, width):
        for (row, down), (column, across) in product(
            _taps((y + 0.5) * grid.shape[0] / height - 0.5, mode),
            _taps((x + 0.5) * grid.shape[1] / width - 0.5, mode),
        ):
            r, c = min(max(row, 0), grid.shape[0] - 1), min(max(column, 0), grid.shape[1] - 1)
            found[y, x] += down * across * float(grid[r, c])
    return found


def _taps(place: float, mode: str) -> list[tuple[int, float]]:
    """The cells that a place lies between, and how much of each it takes."""
    first = math.floor(place)
    if mode == "bilinear":
        place = max(place, 0.0)
        first = math.floor(place)
        return [(first, 1 - place + first), (first + 1, place - first)]
    return [(first + i, _cubic(abs(place - first - i))) for i in (-1, 0, 1, 2)]


def _cubic(away: float, a: float = -0.75) -> float:
    if away <= 1:
        return (a + 2) * away**3 - (a + 3) * away**2 + 1
    return a * away**3 - 5 * a * away**2 + 8 * a * away - 4 * a


def min_max(values: Any) -> np.ndarray:
    """From 0 to 1."""
    return np.asarray((values - values.min()) / (values.max() - values.min()))


def scaled(grid: Any, height: int, width: int, mode: str) -> np.ndarray:
    """From 0 to 1 on the grid, then upsampled, then cut off."""
    spread = upsampled(min_max(np.asarray(grid, np.float64)), height, width, mode)
    return np.asarray(np.clip(spread, 0, 1))


def spread(grid: Any, height: int, width: int) -> np.ndarray:
    """Each pixel has the mean of the cells below it, by area."""
    rows, columns = grid.shape
    found = np.zeros((height, width))
    for (y, x), (r, c) in product(np.ndindex(height, width), np.ndindex(rows, columns)):
        down = min((y + 1) / height, (r + 1) / rows) - max(y / height, r / rows)
        across = min((x + 1) / width, (c + 1) / columns) - max(x / width, c / columns)
        found[y, x] += max(down, 0) * max(across, 0) * height * width * float(grid[r, c])
    return found


def energy(values: Any, inside: Any, counted: Any) -> float:
    """Share of the sum of a map that lies inside."""
    pixels = [p for p in np.ndindex(*values.shape) if counted[p]]
    total = sum(max(float(values[p]), 0.0) for p in pixels)
    if not total or not any(inside[p] for p in pixels):
        return math.nan
    return sum(max(float(values[p]), 0.0) for p in pixels if inside[p]) / total


def mask(values: Any, inside: Any, counted: Any, area: float) -> float:
    """Share of the top of a map that lies inside: equal pixels take equal parts of what is left."""
    pixels = [p for p in np.ndindex(*values.shape) if counted[p]]
    if not any(inside[p] for p in pixels):
        return math.nan
    budget = left = area * len(pixels)
    if sum(float(values[p]) > 0 for p in pixels) < budget - 1e-9:
        return math.nan
    hits = 0.0
    for value in sorted({max(float(values[p]), 0.0) for p in pixels}, reverse=True):
        equal = [p for p in pixels if max(float(values[p]), 0.0) == value]
        part = min(left, len(equal))
        hits += part * sum(bool(inside[p]) for p in equal) / len(equal)
        left -= part
    return hits / budget
