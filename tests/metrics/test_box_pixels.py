"""Many boxes at once have the pixels that each has alone, and the first that is wrong is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.core import InputError
from sightline.core.raster import box_pixels
from sightline.metrics._regions import RegionTable

SIDES = st.integers(1, 40)


def edges(size: int) -> st.SearchStrategy[float]:
    """Edges and centres of pixels, what lies beside them, and anything else."""
    beside = st.sampled_from([0.0, 1e-13, -1e-13, 1e-12, -1e-12, 1e-10, -1e-10, 1e-7, -1e-7])
    near = st.builds(lambda half, by: half / (2 * size) + by, st.integers(0, 2 * size), beside)
    return near | st.floats(-1, 2)


@st.composite
def scenes(draw: st.DrawFn) -> tuple[list[tuple[float, ...]], int, int]:
    """Boxes, and the height and width of the image whose pixels they are near."""
    height, width = draw(SIDES), draw(SIDES)
    spans = [st.tuples(edges(size), edges(size)).map(sorted) for size in (width, height)]
    drawn = draw(st.lists(st.tuples(*spans), min_size=1, max_size=8))
    return [(x[0], y[0], x[1], y[1]) for x, y in drawn], height, width


@given(scenes())
def test_many_boxes_have_the_pixels_of_each(
    scene: tuple[list[tuple[float, ...]], int, int],
) -> None:
    boxes, height, width = scene
    each = [box_pixels(box, height, width) for box in boxes]
    inside = [box for box, pixels in zip(boxes, each, strict=True) if pixels is not None]
    if inside:
        table = RegionTable.build([np.array(inside)], (1,), height, width)
        assert [tuple(box) for box in table.boxes.tolist()] == [p for p in each if p is not None]
    if None in each:
        place = each.index(None)
        with pytest.raises(InputError, match=rf"^region {place} of regions\[0\] lies wholly"):
            RegionTable.build([np.array(boxes)], (1,), height, width)


NAN, INF = float("nan"), float("inf")
GOOD = (0.1, 0.2, 0.5, 0.6)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ((NAN, 0.0, 1.0, 1.0), "has a box that is not finite"),
        ((0.0, 0.0, 1.0, INF), "has a box that is not finite"),
        ((5.0, NAN, 1.0, 1.0), "has a box that is not finite"),
        ((NAN, 0.0, 1.0, 64.0), "has a box that is not finite"),
        ((0.0, 0.0, 64.0, 1.0), "has box edges that are no shares of the image"),
        ((0.0, -1.5, 1.0, 1.0), "has box edges that are no shares of the image"),
        ((0.0, 0.0, -3.0, 1.0), "has box edges that are no shares of the image"),
        ((0.0, 0.6, 1.0, 0.4), "must be a box"),
        ((1.2, 0.6, 1.4, 0.4), "must be a box"),
        ((1.2, 0.0, 1.4, 1.0), "lies wholly outside the image"),
        ((0.0, 1.0, 1.0, 1.5), "lies wholly outside the image"),
    ],
)
def test_what_is_wrong_with_a_box_is_told(bad: tuple[float, ...], why: str) -> None:
    regions: list[Any] = [np.array([GOOD]), np.array([GOOD, bad, GOOD])]
    with pytest.raises(InputError, match=rf"^region 1 of regions\[1\] {why}"):
        RegionTable.build(regions, (2,), 4, 4)


def test_the_worst_of_several_faults_is_told_first() -> None:
    outside, unordered, far = (1.2, 0.0, 1.4, 1.0), (0.9, 0.0, 0.1, 1.0), (0.0, 0.0, 9.0, 1.0)
    boxes = np.array([GOOD, outside, unordered, far])
    for count, why in ((4, "has box edges"), (3, "must be a box"), (2, "lies wholly")):
        with pytest.raises(InputError, match=rf"^region {count - 1} of regions\[0\] {why}"):
            RegionTable.build([boxes[:count]], (1,), 4, 4)
