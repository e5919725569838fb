"""Labels of images say the same whatever holds them."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.core import InputError
from sightline.stats._images import numbered, plain_labels, sums_by_image


def test_labels_of_arrays_tensors_and_lists_are_alike() -> None:
    torch = pytest.importorskip("torch")
    for labels in ([3, 1, 3], (3, 1, 3), np.array([3, 1, 3]), torch.tensor([3, 1, 3])):
        names, codes = numbered(labels)
        assert names == (3, 1)
        assert codes.tolist() == [0, 1, 0]
        assert numbered(iter(labels))[0] == (3, 1)
    assert plain_labels([["a", 1], ("a", np.int64(1))]) == [("a", 1), ("a", 1)]
    assert plain_labels(np.array(["x", "y"])) == ["x", "y"]
    assert plain_labels([None, "x"]) == [None, "x"]


def test_undefined_values_neither_add_nor_count() -> None:
    sums, counts = sums_by_image(np.array([1.0, np.nan, 3.0, np.nan]), "aabb", "values")
    assert (sums.tolist(), counts.tolist()) == ([1, 3], [1, 1])
    sums, counts = sums_by_image(np.array([]), None, "values")
    assert len(sums) == len(counts) == 0
    with pytest.raises(InputError, match="one for each of 1 values; got 2"):
        sums_by_image(np.array([1.0]), "ab", "values")
