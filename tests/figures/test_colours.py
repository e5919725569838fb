"""Lines are told apart by colour-blind readers, and in grey."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from skimage.color import deltaE_ciede2000, rgb2lab

from sightline.figures.checks import _SIDES
from sightline.figures.drops import _KINDS
from sightline.figures.lines import looks_of
from sightline.figures.style import COLOURS, GREY

# Machado, Oliveira and Fernandes (2009), A physiologically-based model for simulation of color
# vision deficiency: severity 1, for linear RGB.
SEEN_AS = {
    "all cones": np.eye(3),
    "no green cones": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "no red cones": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "no blue cones": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
APART = 10.0
"""CIEDE2000 between two colours of lines: 1 can just be seen, 10 at a glance."""
LIGHTER = 8.0
"""Steps of L* between greys that are told apart."""


def seen(colours: list[str], matrix: Any) -> Any:
    """Return colours in CIELAB, as somebody with such eyes sees them."""
    rgb = np.array([to_rgb(colour) for colour in colours])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    found = np.clip(linear @ matrix.T, 0, 1)
    curved = np.where(found <= 0.0031308, 12.92 * found, 1.055 * found ** (1 / 2.4) - 0.055)
    return rgb2lab(curved[None])[0]


def nearest(colours: list[str], matrix: Any) -> float:
    """Return the smallest difference between two of some colours."""
    lab = seen(colours, matrix)
    return min(float(deltaE_ciede2000(one, other)) for one, other in combinations(lab, 2))


@pytest.mark.parametrize("eyes", SEEN_AS)
def test_colours_of_lines_stay_apart(eyes: str) -> None:
    looks = looks_of([f"m{i}" for i in range(6)])
    colours = [*{look.colour for look in looks.values()}, GREY]
    assert len(colours) == 7
    assert nearest(colours, SEEN_AS[eyes]) > APART


@pytest.mark.parametrize("eyes", SEEN_AS)
def test_colours_of_sides_stay_apart(eyes: str) -> None:
    assert nearest(list(_SIDES.values()), SEEN_AS[eyes]) > 2 * APART
    kinds = [look.colour for _, look in _KINDS.values()]
    assert nearest(kinds, SEEN_AS[eyes]) > APART


def test_the_simulation_knows_colours_that_are_confused() -> None:
    green, brown = "#7F9A4D", "#B48A4B"
    assert nearest([green, brown], SEEN_AS["all cones"]) > 2 * APART
    assert nearest([green, brown], SEEN_AS["no green cones"]) < APART
    grey = seen(["#808080"], SEEN_AS["no green cones"])[0]
    assert np.abs(grey[1:]).max() < 0.5


def test_colours_of_lines_are_seen_on_white() -> None:
    lightness = seen([COLOURS[name] for name in list(COLOURS)[:6]], np.eye(3))[:, 0]
    assert lightness.max() < 75


@pytest.mark.parametrize("count", [3, 15, 24])
def test_no_two_looks_are_alike_even_in_grey(count: int) -> None:
    base = [f"b{i}" for i in range(5)]
    looks = looks_of([*(f"m{i}" for i in range(count)), *base], base)
    grey = {name: seen([look.colour], np.eye(3))[0][0] for name, look in looks.items()}
    for (name, one), (other, two) in combinations(looks.items(), 2):
        lighter = abs(grey[name] - grey[other]) > LIGHTER
        differ = [one.dash != two.dash, one.marker != two.marker, one.baseline != two.baseline]
        assert lighter or any(differ), (name, other)


def test_markers_of_fifteen_lines_are_all_different() -> None:
    looks = looks_of([f"m{i}" for i in range(15)])
    assert len({look.marker for look in looks.values()}) == 15
    many = looks_of([f"m{i}" for i in range(24)])
    assert len({(look.colour, str(look.dash)) for look in many.values()}) == 24
