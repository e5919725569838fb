from __future__ import annotations

from math import cos, isclose, pi, sin
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image, ImageDraw

from sightline.data.facades.shapes import (
    Box,
    Outline,
    arch,
    comb,
    ellipse,
    half_turn,
    mirrored,
    pointed_arch,
    rectangle,
    smooth,
    strip,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

BOX = Box(0.2, 0.1, 0.6, 0.9)


def around(outline: Outline) -> tuple[float, float, float, float]:
    x, y = zip(*outline, strict=True)
    return min(x), min(y), max(x), max(y)


def filled(outlines: list[Outline]) -> NDArray[np.bool_]:
    image = Image.new("L", (300, 300))
    for outline in outlines:
        ImageDraw.Draw(image).polygon([(300 * x, 300 * y) for x, y in outline], fill=1)
    mask: NDArray[np.bool_] = np.asarray(image) == 1
    return mask


@pytest.mark.parametrize("shape", [rectangle, ellipse, half_turn, arch, pointed_arch])
def test_shapes_fill_their_box(shape: Callable[[Box], Outline]) -> None:
    assert around(shape(BOX)) == pytest.approx(BOX)


def test_points_of_an_ellipse_lie_on_it() -> None:
    for x, y in ellipse(BOX):
        assert isclose(((x - 0.4) / 0.2) ** 2 + ((y - 0.5) / 0.4) ** 2, 1.0, rel_tol=1e-12)


def test_pointed_arches_are_two_arcs_about_the_opposite_feet() -> None:
    rise = sin(pi / 3)  # an equilateral arch
    points = pointed_arch(Box(0.0, 0.0, 1.0, 2.0), rise)[1:-1]
    for x, y in points:
        centre = 1.0 if x < 0.5 else 0.0
        assert isclose((x - centre) ** 2 + (rise - y) ** 2, 1.0, rel_tol=1e-9)
    assert points[len(points) // 2] == pytest.approx((cos(pi / 3), 0.0))


def test_an_arch_too_low_for_its_curve_is_flattened() -> None:
    flat = Box(0.0, 0.0, 1.0, 0.2)
    assert around(arch(flat)) == pytest.approx(flat)
    assert around(pointed_arch(flat)) == pytest.approx(flat)


def test_boxes_by_shares() -> None:
    assert BOX.part(0.25, 0.5, 0.75, 1.0) == pytest.approx((0.3, 0.5, 0.5, 0.9))
    assert BOX.grown(0.1) == pytest.approx((0.1, 0.0, 0.7, 1.0))
    assert BOX.grown(0.1, 0.0) == pytest.approx((0.1, 0.1, 0.7, 0.9))
    columns = BOX.columns(4)
    assert [c.width for c in columns] == pytest.approx([0.1] * 4)
    assert columns[0].x0 == BOX.x0
    assert columns[-1].x1 == pytest.approx(BOX.x1)


def test_a_comb_is_its_teeth_and_their_foot() -> None:
    cells = [cell.part(0.2, 0.0, 0.8, 1.0) for cell in BOX.columns(3)]
    for shape in (rectangle, arch, pointed_arch):
        apart, joined = filled([shape(cell) for cell in cells]), filled([comb(cells, shape)])
        assert (apart <= joined).all()
        extra = np.argwhere(joined & ~apart)
        assert set(extra[:, 0].tolist()) <= {round(300 * BOX.y1)}


def test_mirrored_outlines_are_symmetric() -> None:
    outline = mirrored(((1.0, 0.0), (0.5, 0.7), (0.0, 1.0)), BOX)
    assert around(outline) == pytest.approx(BOX)
    flipped = [(2 * BOX.middle - x, y) for x, y in reversed(outline)]
    assert np.array(outline) == pytest.approx(np.array(flipped))


def test_smoothing_keeps_the_ends_and_stays_inside() -> None:
    corner = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))
    curve = smooth(corner)
    assert (curve[0], curve[-1]) == (corner[0], corner[-1])
    assert corner[1] not in curve
    assert all(x >= y for x, y in curve)


def test_a_strip_is_as_wide_as_said() -> None:
    a, b, c, d = np.array(strip((0.0, 0.0), (0.3, 0.4), 0.1))
    assert np.linalg.norm(a - d) == pytest.approx(0.1)
    assert np.linalg.norm(b - c) == pytest.approx(0.1)
    assert np.dot(a - d, b - a) == pytest.approx(0.0)
    assert (a + d) / 2 == pytest.approx(np.zeros(2))
