from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask as coco

from sightline.core.raster import (
    box_mask,
    box_pixels,
    disc_mask,
    mask_box,
    polygon_box,
    polygon_mask,
    resize_mask,
)

SIDES = st.integers(1, 40)
# Sixty-fourths are exact in floating point, and their multiples hit centres and borders of pixels.
EXACT = st.integers(-32, 96).map(lambda n: n / 64)
ANY = st.floats(-0.5, 1.5)


@st.composite
def boxes(draw: st.DrawFn, coordinates: st.SearchStrategy[float] = ANY) -> tuple[float, ...]:
    x0, x1 = sorted((draw(coordinates), draw(coordinates)))
    y0, y1 = sorted((draw(coordinates), draw(coordinates)))
    return x0, y0, x1, y1


def _centres_inside(low: float, high: float, size: int) -> list[int]:
    """The definition, in exact arithmetic."""
    first, last = max(Fraction(low), Fraction(0)), min(Fraction(high), Fraction(1))
    return [i for i in range(size) if first <= Fraction(2 * i + 1, 2 * size) <= last]


# --- boxes ---------------------------------------------------------------------------------------


@given(boxes(EXACT), SIDES, SIDES)
def test_box_holds_the_pixels_whose_centre_it_holds(
    box: tuple[float, ...], height: int, width: int
) -> None:
    pixels = box_pixels(box, height, width)
    columns = _centres_inside(box[0], box[2], width)
    rows = _centres_inside(box[1], box[3], height)
    if pixels is not None and columns and rows:
        assert list(range(pixels[0], pixels[2])) == columns
        assert list(range(pixels[1], pixels[3])) == rows


@given(boxes(), SIDES, SIDES)
def test_every_box_inside_has_a_pixel(box: tuple[float, ...], height: int, width: int) -> None:
    x0, y0, x1, y1 = box
    overlaps = min(x1, 1) > max(x0, 0) and min(y1, 1) > max(y0, 0)
    assert not overlaps or box_mask(box, height, width).any()


@given(boxes(), SIDES, SIDES)
def test_error_of_the_area_is_bounded(box: tuple[float, ...], height: int, width: int) -> None:
    pixels = box_pixels(box, height, width)
    if pixels is None:
        return
    for low, high, first, last, size in (
        (box[0], box[2], pixels[0], pixels[2], width),
        (box[1], box[3], pixels[1], pixels[3], height),
    ):
        length = (min(high, 1) - max(low, 0)) * size
        assert 0 <= first < last <= size
        # Half a pixel per edge; a box between two centres may take both neighbours.
        assert abs(last - first - length) <= (1 if length >= 1 else 2) + 1e-6


@given(boxes(), st.floats(0.01, 0.5), SIDES, SIDES)
def test_clipping_leaves_the_far_edge(
    box: tuple[float, ...], more: float, height: int, width: int
) -> None:
    x0, y0, x1, y1 = box
    if x0 <= 0 < x1 - 1 / width and box_pixels(box, height, width):
        inside = box_pixels((0.0, y0, x1, y1), height, width)
        further = box_pixels((x0 - more, y0, x1, y1), height, width)
        assert box_pixels(box, height, width) == inside == further


@given(boxes(EXACT), SIDES, SIDES)
def test_mirrored_boxes_have_mirrored_masks(
    box: tuple[float, ...], height: int, width: int
) -> None:
    x0, y0, x1, y1 = box
    mask = box_mask(box, height, width)
    np.testing.assert_array_equal(box_mask((1 - x1, y0, 1 - x0, y1), height, width), mask[:, ::-1])
    np.testing.assert_array_equal(box_mask((x0, 1 - y1, x1, 1 - y0), height, width), mask[::-1])
    np.testing.assert_array_equal(box_mask((y0, x0, y1, x1), width, height), mask.T)


@given(st.integers(1, 5000), st.data())
def test_pixel_edges_survive_normalising(width: int, data: st.DataObject) -> None:
    halves = st.integers(0, 2 * width)
    first, last = sorted((data.draw(halves), data.draw(halves)))
    pixels = box_pixels((first / 2 / width, 0, last / 2 / width, 1), 1, width)
    assert pixels is not None
    if last - first >= 2:
        assert (pixels[0], pixels[2]) == (math.ceil(first / 2 - 0.5), math.floor(last / 2 + 0.5))


@pytest.mark.parametrize(
    "box",
    [
        (1.1, 0.2, 1.3, 0.4),
        (0.2, -0.4, 0.4, -0.1),
        (1.0, 0.2, 1.2, 0.4),  # leans on the border from outside
        (-0.3, 0.2, 0.0, 0.4),
        (-0.1, -0.1, -0.1, -0.1),
    ],
)
def test_box_outside_has_no_pixels(box: tuple[float, ...]) -> None:
    assert box_pixels(box, 7, 5) is None
    assert not box_mask(box, 7, 5).any()


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        ((1.0, 0.0, 1.0, 1.0), (4, 0, 5, 7)),  # a line on the border
        ((0.0, 0.0, 0.0, 0.0), (0, 0, 1, 1)),
        ((0.41, 0.5, 0.42, 0.5), (2, 3, 3, 4)),
        ((0.39, 0.0, 0.41, 1.0), (1, 0, 3, 7)),  # its centre lies between two columns
        ((-1.0, -1.0, 2.0, 2.0), (0, 0, 5, 7)),
    ],
)
def test_small_and_large_boxes(box: tuple[float, ...], expected: tuple[int, ...]) -> None:
    assert box_pixels(box, 7, 5) == expected


@pytest.mark.parametrize(
    ("box", "message"),
    [
        ((0.5, 0, 0.4, 1), "x0 <= x1"),
        ((0, 0.5, 1, 0.4), "y0 <= y1"),
        ((0, math.nan, 1, 1), "finite"),
        ((0, 0, math.inf, 1), "finite"),
    ],
)
def test_bad_boxes_raise(box: tuple[float, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        box_pixels(box, 4, 4)


# --- discs ---------------------------------------------------------------------------------------


@given(st.floats(0.3, 0.7), st.floats(0.3, 0.7), st.floats(0.05, 0.3))
def test_area_of_a_disc(x: float, y: float, radius: float) -> None:
    size = 200
    area = disc_mask(x, y, radius, size, size).sum()
    # Pixels whose centre is in differ from the area by those that the circle crosses.
    assert abs(area - math.pi * (radius * size) ** 2) <= 8 * radius * size + 4


@given(EXACT, EXACT, st.integers(0, 32).map(lambda n: n / 64), SIDES, SIDES)
def test_discs_are_symmetric(x: float, y: float, radius: float, height: int, width: int) -> None:
    mask = disc_mask(x, y, radius, height, width)
    np.testing.assert_array_equal(disc_mask(1 - x, y, radius, height, width), mask[:, ::-1])
    np.testing.assert_array_equal(disc_mask(x, 1 - y, radius, height, width), mask[::-1])
    np.testing.assert_array_equal(disc_mask(y, x, radius, width, height), mask.T)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 0.5), SIDES, SIDES)
def test_every_disc_has_a_pixel(x: float, y: float, radius: float, height: int, width: int) -> None:
    assert disc_mask(x, y, radius, height, width).any()


@given(st.integers(1, 60), st.data())
def test_pixels_on_the_circle_are_in(size: int, data: st.DataObject) -> None:
    centre, radius = data.draw(st.integers(0, size - 1)), data.draw(st.integers(0, size))
    middle = (centre + 0.5) / size
    row = disc_mask(middle, middle, radius / size, size, size)[centre]
    expected = range(max(centre - radius, 0), min(centre + radius, size - 1) + 1)
    assert np.flatnonzero(row).tolist() == list(expected)


def test_circle_on_an_oblong_image() -> None:
    expected = (np.arange(40) + 0.5 - 20) ** 2 + (np.arange(20)[:, None] + 0.5 - 10) ** 2 <= 36
    np.testing.assert_array_equal(disc_mask(0.5, 0.5, (6 / 40, 6 / 20), 20, 40), expected)


def test_disc_beside_the_image() -> None:
    assert disc_mask(-0.1, 0.5, 0.2, 10, 10)[5, 0]
    assert not disc_mask(-0.1, 0.5, 0.05, 10, 10).any()
    assert not disc_mask(-0.1, -0.1, 0.12, 10, 10).any()  # its box reaches in, the disc does not
    assert disc_mask(-0.1, 0.5, 0.101, 10, 10).sum() == 2  # y lies between two rows


@pytest.mark.parametrize("bad", [(math.nan, 0, 1), (0, math.inf, 1), (0, 0, -1), (0, 0, math.nan)])
def test_bad_discs_raise(bad: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="finite x, y and radius >= 0"):
        disc_mask(*bad, 4, 4)


def _coco_decode(rle: dict[str, Any]) -> np.ndarray[Any, Any]:
    with warnings.catch_warnings():  # pycocotools 2.0.11 meets numpy 2
        warnings.simplefilter("ignore", DeprecationWarning)
        decoded: np.ndarray[Any, Any] = coco.decode(rle)
    return decoded


# --- polygons ------------------------------------------------------------------------------------


@given(st.data(), st.integers(20, 700), st.integers(20, 700))
def test_polygon_is_that_of_coco(data: st.DataObject, height: int, width: int) -> None:
    x = st.integers(0, 10 * width).map(lambda n: n / 10)
    y = st.integers(0, 10 * height).map(lambda n: n / 10)
    polygons = data.draw(st.lists(st.lists(st.tuples(x, y), min_size=3, max_size=8), min_size=1))
    pixels = [[value for point in polygon for value in point] for polygon in polygons]
    expected = _coco_decode(coco.merge(coco.frPyObjects(pixels, height, width)))
    normalised = [[v / (width, height)[i % 2] for i, v in enumerate(flat)] for flat in pixels]
    if expected.any():
        np.testing.assert_array_equal(polygon_mask(normalised, height, width), expected)
    else:
        assert polygon_mask(normalised, height, width).any()


def test_polygon_of_a_rectangle_and_thin_ones() -> None:
    square = [[0.2, 0.2, 0.7, 0.2, 0.7, 0.7, 0.2, 0.7]]
    np.testing.assert_array_equal(
        polygon_mask(square, 10, 10), box_mask((0.2, 0.2, 0.7, 0.7), 10, 10)
    )
    hair = [[0.31, 0.31, 0.311, 0.31, 0.31, 0.311]]
    assert np.argwhere(polygon_mask(hair, 10, 10)).tolist() == [[3, 3]]
    assert polygon_box(square) == (0.2, 0.2, 0.7, 0.7)


@pytest.mark.parametrize(
    ("polygon", "message"),
    [
        ([0.1, 0.1, 0.5, 0.5], "three points or more, got 4"),
        ([0.1] * 7, "got 7"),
        ([0.1, 0.1, 0.5, 0.5, 0.2, math.nan], "not finite"),
        ([0.1, 0.1, 0.5, 0.5, 0.2, 1e6], "more than 10 image sizes"),
    ],
)
def test_bad_polygons_raise(polygon: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        polygon_mask([polygon], 8, 8)


# --- masks at another size -----------------------------------------------------------------------


def _slow_resize(mask: np.ndarray[Any, Any], height: int, width: int) -> np.ndarray[Any, Any]:
    rows, columns = mask.shape

    def share(i: int, j: int, n: int, m: int) -> Fraction:
        """How much of pixel j of m the pixel i of n covers."""
        low, high = max(Fraction(i, n), Fraction(j, m)), min(Fraction(i + 1, n), Fraction(j + 1, m))
        return max(high - low, Fraction(0)) * m

    covered = np.array(
        [
            [
                sum(
                    share(r, y, rows, height) * share(c, x, columns, width)
                    for r, c in np.argwhere(mask)
                )
                for x in range(width)
            ]
            for y in range(height)
        ],
        dtype=object,
    )
    level = (
        Fraction(1, 2)
        if (covered >= Fraction(1, 2)).any()
        else max(covered.max(), Fraction(1, 10**9))
    )
    return np.asarray(covered >= level, np.bool_)


SMALL = st.integers(1, 6)


@st.composite
def masks(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    rows, columns = draw(SMALL), draw(SMALL)
    cells = draw(st.lists(st.booleans(), min_size=rows * columns, max_size=rows * columns))
    return np.array(cells).reshape(rows, columns)


@given(masks(), SMALL, SMALL)
def test_resizing_equals_exact_areas(mask: np.ndarray[Any, Any], height: int, width: int) -> None:
    resized = resize_mask(mask, height, width)
    np.testing.assert_array_equal(resized, _slow_resize(mask, height, width))
    assert resized.any() == mask.any()
    np.testing.assert_array_equal(resize_mask(mask[:, ::-1], height, width), resized[:, ::-1])


@given(masks(), SMALL, SMALL)
def test_enlarging_by_whole_numbers_repeats(
    mask: np.ndarray[Any, Any], down: int, right: int
) -> None:
    expected = mask.repeat(down, axis=0).repeat(right, axis=1)
    resized = resize_mask(mask, expected.shape[0], expected.shape[1])
    np.testing.assert_array_equal(resized, expected)
    np.testing.assert_array_equal(resize_mask(resized, mask.shape[0], mask.shape[1]), mask)


@given(masks())
def test_tight_box_is_drawn_tight(mask: np.ndarray[Any, Any]) -> None:
    box = mask_box(mask)
    if box is None:
        assert not mask.any()
        return
    drawn = box_mask(box, *mask.shape)
    assert (drawn >= mask).all()
    assert drawn.sum() == np.prod(np.ptp(np.argwhere(mask), axis=0) + 1)
