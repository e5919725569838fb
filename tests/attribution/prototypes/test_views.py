"""Attributions as pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.attribution.prototypes import (
    box_to_percentile,
    crop_to_percentile,
    heatmap,
    percentile_box,
)
from sightline.core import InputError

IMAGE = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
YELLOW, BLACK = (240, 228, 66), (0, 0, 0)


def _peak() -> np.ndarray:
    values = np.zeros((20, 30))
    values[5:9, 10:22] = 0.8  # 48 of 600 pixels
    values[6, 11] = 1
    return values


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=30, max_size=30), st.integers(0, 99))
def test_the_box_holds_all_of_the_top_and_no_line_without_it(
    numbers: list[int], percentile: int
) -> None:
    values = np.reshape(numbers, (5, 6)) / 4
    x0, y0, x1, y1 = percentile_box(values, percentile)
    count = max(1, -(-(100 - percentile) * 30 // 100))
    top = values >= np.sort(values, axis=None)[::-1][count - 1]
    there = np.argwhere(top)
    assert [y0, x0] == there.min(0).tolist()
    assert [y1, x1] == (there.max(0) + 1).tolist()


def test_a_plateau_is_kept_whole_and_a_constant_map_is_the_image() -> None:
    assert percentile_box(_peak(), 95) == (10, 5, 22, 9)
    assert percentile_box(_peak(), 99.9) == (11, 6, 12, 7)
    assert percentile_box(np.ones((20, 30)), 95) == (0, 0, 30, 20)
    assert percentile_box(torch.ones(2, 3), 50) == (0, 0, 3, 2)


def test_a_crop_is_the_part_of_the_image() -> None:
    cropped = crop_to_percentile(IMAGE, _peak())
    assert np.array_equal(cropped, IMAGE[5:9, 10:22])
    cropped[:] = 0
    assert IMAGE[5:9, 10:22].any()
    unit = crop_to_percentile(torch.from_numpy(IMAGE / 255), torch.from_numpy(_peak()))
    assert np.array_equal(unit, IMAGE[5:9, 10:22])


def test_a_box_is_drawn_inside_its_edge() -> None:
    values = np.zeros((20, 30))
    values[4:16, 8:24] = 1
    before = IMAGE.copy()
    found = box_to_percentile(IMAGE, values, 70, width=1)
    assert np.array_equal(IMAGE, before)
    inside = np.zeros((20, 30), bool)
    inside[4:16, 8:24] = True
    middle = np.zeros((20, 30), bool)
    middle[6:14, 10:22] = True
    changed = inside & ~middle
    assert np.array_equal(found[~changed], IMAGE[~changed])
    assert (found[4, 8:24] == YELLOW).all()
    assert (found[4:16, 23] == YELLOW).all()
    assert (found[5, 9:23] == BLACK).all()
    assert (found[5:15, 9] == BLACK).all()


def test_boxes_of_one_pixel_are_seen() -> None:
    values = np.zeros((20, 30))
    values[19, 29] = 1
    found = box_to_percentile(IMAGE, values, 99.9)
    assert tuple(found[19, 29]) == YELLOW
    assert np.array_equal(found[:19], IMAGE[:19])


def test_a_heatmap_is_brighter_where_values_are_higher() -> None:
    grey = np.full((1, 5, 3), 128, np.uint8)
    found = heatmap(grey, [[0.0, 0.25, 0.5, 0.75, 1.0]]).sum(-1)[0].tolist()
    assert found == sorted(found)
    assert len(set(found)) == 5


def test_colours_of_a_heatmap_mean_the_same_in_every_map() -> None:
    grey = np.full((1, 2, 3), 128, np.uint8)
    low, high = heatmap(grey, [[0.0, 0.5]]), heatmap(grey, [[0.5, 1.0]])
    assert np.array_equal(low[0, 1], high[0, 0])


@pytest.mark.parametrize("percentile", [-1, 100, 120, float("nan"), True])
def test_a_percentile_must_leave_something(percentile: Any) -> None:
    with pytest.raises(InputError, match="percentile must be from 0 to below 100, got"):
        percentile_box(_peak(), percentile)


@pytest.mark.parametrize(
    ("image", "values", "words"),
    [
        (IMAGE[:5], _peak(), r"image must be \(20, 30, 3\), as the map is, got \(5, 30, 3\)"),
        (IMAGE[..., 0], _peak(), r"image must be \(20, 30, 3\)"),
        (IMAGE, _peak()[None], r"values must be \(height, width\), got \(1, 20, 30\)"),
        (IMAGE, np.full((20, 30), np.nan), "values must be finite"),
        (IMAGE.astype(int), _peak(), r"of floats from 0 to 1, got int64 from \d+ to \d+"),
        (IMAGE.astype(float), _peak(), "must be of uint8, or of floats from 0 to 1, got float"),
        (np.full((20, 30, 3), np.nan), _peak(), "got float64 from nan to nan"),
    ],
)
@pytest.mark.parametrize("view", [heatmap, crop_to_percentile, box_to_percentile])
def test_wrong_arguments_are_named(view: Any, image: Any, values: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        view(image, values)


def test_a_line_has_a_width() -> None:
    with pytest.raises(InputError, match="width must be 1 pixel or more, got 0"):
        box_to_percentile(IMAGE, _peak(), width=0)
