"""Both ways to sort keys give the same keys: scores do not depend on the machine's choice."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sightline.metrics import _sort, score_maps
from sightline.metrics._sort import FEW, RadixSort, key_sort, numpy_sort

TYPES: list[np.dtype[Any]] = [np.dtype(np.uint32), np.dtype(np.uint64)]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("pixels", [1, 2, 255, 2048, 5000])
def test_radix_sort_orders_like_numpy(dtype: np.dtype[Any], pixels: int) -> None:
    rng, largest = np.random.default_rng(pixels), np.iinfo(dtype).max
    keys = np.stack(
        [
            rng.integers(0, largest, pixels, dtype, endpoint=True),
            rng.integers(0, 3, pixels, dtype) + dtype.type(largest - 2),  # their last digit
            rng.integers(0, 2, pixels, dtype) << dtype.type(dtype.itemsize * 8 - 1),  # first bit
            np.full(pixels, largest, dtype),
            np.zeros(pixels, dtype),
            np.arange(pixels, dtype=dtype)[::-1] << dtype.type(9),
        ]
    )
    expected = np.sort(keys, axis=1)
    RadixSort(pixels, dtype)(keys)
    assert_array_equal(keys, expected)


@pytest.mark.parametrize("bit", range(64))
def test_every_bit_of_a_key_counts(bit: int) -> None:
    for dtype in TYPES[bit // 32 :]:
        keys = np.array([[1 << bit, 0, 1 << bit, (1 << bit) - 1]], dtype)
        expected = np.sort(keys, axis=1)
        RadixSort(4, dtype)(keys)
        assert_array_equal(keys, expected)


@pytest.mark.parametrize("sign", ["positive", "absolute", "signed"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_are_the_same_bits_by_either_sort(
    dtype: Any, sign: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    maps = rng.normal(size=(5, 48, 50)).astype(dtype)
    maps[1] = np.round(maps[1], 1)  # ties
    maps[2] = 1
    masks = rng.random(maps.shape) < 0.2
    boxes = [np.array([[0.1, 0.1, 0.4, 0.6], [0.2, 0.3, 0.9, 0.8]])] * 5
    found = []
    for radix in (True, False):
        monkeypatch.setattr(_sort, "_radix_is_quicker", lambda _, radix=radix: radix)
        assert isinstance(key_sort(48 * 50, np.dtype(np.uint32)), RadixSort) is radix
        scores = score_maps(maps, masks, sign=sign, regions=boxes, curves=True)
        found.append((scores, scores.regions))
    for one, other in zip(*found, strict=True):
        assert list(one) == list(other)
        for name in one:
            assert_array_equal(one[name], other[name], err_msg=name)


def test_few_keys_are_sorted_by_numpy_without_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sort, "_radix_is_quicker", lambda _: pytest.fail("tried"))
    assert key_sort(FEW - 1, TYPES[0]) is numpy_sort


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_the_quicker_of_both_is_taken(
    dtype: np.dtype[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([1.0, 2.0, 2.0, 1.0])
    monkeypatch.setattr(_sort, "_seconds", lambda *_: next(times))
    choose = _sort._radix_is_quicker.__wrapped__
    assert choose(dtype)
    assert not choose(dtype)
