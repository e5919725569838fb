"""Run lengths, against COCO's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask as coco

from sightline.core.run_lengths import decode_rle, runs_box


@given(st.integers(1, 30), st.integers(1, 30), st.randoms(use_true_random=False))
def test_run_lengths_are_those_of_coco(height: int, width: int, random: Any) -> None:
    share = random.random()
    cells = [[random.random() < share for _ in range(width)] for _ in range(height)]
    mask = np.asfortranarray(cells, np.uint8)
    rle = coco.encode(mask)
    np.testing.assert_array_equal(decode_rle(rle), mask)
    np.testing.assert_array_equal(decode_rle({**rle, "counts": rle["counts"].decode()}), mask)


def test_run_lengths_as_numbers() -> None:
    rle = {"size": [2, 3], "counts": [1, 2, 3]}
    assert decode_rle(rle).tolist() == [[False, True, False], [True, False, False]]
    np.testing.assert_array_equal(
        decode_rle({**rle, "counts": np.array([1, 2, 3])}), decode_rle(rle)
    )


@pytest.mark.parametrize(
    ("rle", "message"),
    [
        ({"size": [2, 3], "counts": [1, 2, 9]}, "sum to 12, not to 2 x 3"),
        ({"size": [2, 3], "counts": [1, 2]}, "sum to 3"),
        ({"size": [2, 3], "counts": []}, "sum to 0"),
        ({"size": [2, 3], "counts": [7, -1]}, "got -1"),
        ({"size": [2, 3], "counts": [3.0, 3.0]}, "whole numbers"),
        ({"size": [2, 3], "counts": 6}, "whole numbers"),
        ({"size": [2, 3], "counts": "0"}, "sum to 0"),
        ({"size": [2, 3], "counts": "0~"}, "never writes"),
        ({"size": [2, 3], "counts": "0é"}, "never writes"),
        ({"size": [2, 3], "counts": "0P"}, "middle of a number"),
        ({"size": [2], "counts": [2]}, "needs 'size'"),
        ({"size": [2, None], "counts": [2]}, "needs 'size'"),
        ({"counts": [2]}, "needs 'size'"),
        ({"size": [0, 3], "counts": []}, "got 0 x 3"),
        ({"size": [10**6, 10**6], "counts": [10**12]}, "1000000 x 1000000"),
    ],
)
def test_bad_run_lengths_raise(rle: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode_rle(rle)


@pytest.mark.parametrize("seed", range(20))
def test_the_box_of_runs_is_that_of_the_mask(seed: int) -> None:
    rng = np.random.default_rng(seed)
    height, width = rng.integers(1, 7, 2).tolist()
    mask = rng.random((height, width)) < rng.choice([0.0, 0.1, 0.5, 1.0])
    flat = mask.T.ravel()
    ends = np.flatnonzero(np.diff(np.concatenate([[False], flat, [False]])))
    runs = np.diff(np.concatenate([[0], ends, [flat.size]])).astype(np.int64)
    rows, columns = np.nonzero(mask)
    box = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1) if rows.size else None
    assert runs_box(runs, height) == box
