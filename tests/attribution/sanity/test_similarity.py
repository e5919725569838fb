"""Similarities against SciPy, scikit-image and slow loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from skimage.feature import hog as hog_of_skimage
from skimage.metrics import structural_similarity

from sightline.attribution.sanity.similarity import (
    Views,
    compare,
    hog,
    overlap,
    resized,
    scaled,
    spearman,
    ssim,
)
from sightline.attribution.sanity.table import SIMILARITIES
from sightline.core import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FUNCTIONS: dict[str, Callable[..., Floats]] = {
    "spearman": spearman,
    "ssim": ssim,
    "hog": hog,
    "overlap": overlap,
}
SHAPES = [(14, 14), (7, 9), (3, 2), (30, 41)]


def _maps(shape: tuple[int, int], seed: int = 0, count: int = 3) -> Floats:
    """Smooth signed maps, each with ties, that are a little alike."""
    rng = np.random.default_rng([seed, *shape])
    maps = resized(rng.normal(size=(count, 4, 4)), shape) + 0.3 * rng.normal(size=(count, *shape))
    return np.round(maps, 1)


def _rms(values: Floats) -> Floats:
    found: Floats = values / np.sqrt(np.mean(values**2))
    return found


@given(st.sampled_from(SHAPES), st.integers(0, 99))
@settings(max_examples=12, deadline=None)
def test_spearman_is_that_of_scipy(shape: tuple[int, int], seed: int) -> None:
    a, b = _maps(shape, seed), _maps(shape, seed + 100)
    expected = [spearmanr(x.ravel(), y.ravel()).statistic for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(spearman(a, b), expected, atol=1e-12)


def test_ssim_is_that_of_scikit_image_for_maps_of_one_root_mean_square() -> None:
    a, b = _maps((30, 41)), _maps((30, 41), 1) + _maps((30, 41))
    a, b = a - a.min(), b - b.min()  # no window's means have opposite signs
    expected = [
        structural_similarity(
            _rms(x), _rms(y), win_size=7, data_range=1, use_sample_covariance=False
        )
        for x, y in zip(a, b, strict=True)
    ]
    assert min(expected) > 0.05
    np.testing.assert_allclose(ssim(a, b), expected, atol=1e-9)


@pytest.mark.parametrize("shape", [(7, 9), (3, 2), (6, 12)])
def test_ssim_of_small_maps_takes_windows_that_fit(shape: tuple[int, int]) -> None:
    a, b = _maps(shape), _maps(shape, 1)
    rows, columns = min(7, shape[0]), min(7, shape[1])
    for x, y, found in zip(map(_rms, a), map(_rms, b), ssim(a, b), strict=True):
        values = []
        for top in range(shape[0] - rows + 1):
            for left in range(shape[1] - columns + 1):
                p = x[top : top + rows, left : left + columns]
                q = y[top : top + rows, left : left + columns]
                both = ((p - p.mean()) * (q - q.mean())).mean()
                level = (2 * p.mean() * q.mean() + 1e-4) / (p.mean() ** 2 + q.mean() ** 2 + 1e-4)
                values.append(max(level, 0) * (2 * both + 9e-4) / (p.var() + q.var() + 9e-4))
        assert found == pytest.approx(np.mean(values), abs=1e-12)


@pytest.mark.parametrize("shape", [(14, 14), (112, 112), (150, 200)])
def test_hog_is_the_correlation_of_those_of_scikit_image(shape: tuple[int, int]) -> None:
    a, b = _maps(shape, count=2), _maps(shape, 1, count=2)

    def features(one: Floats) -> Floats:
        raster = np.round(resized(_rms(one)[None], (112, 112))[0], 9)
        found: Floats = hog_of_skimage(
            raster, 9, pixels_per_cell=(8, 8), cells_per_block=(1, 1), block_norm="L2"
        )
        return found

    expected = [np.corrcoef(features(x), features(y))[0, 1] for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(hog(a, b), expected, atol=1e-9)


@given(st.sampled_from(SHAPES), st.integers(0, 99))
@settings(max_examples=12, deadline=None)
def test_overlap_is_the_cosine_of_shares(shape: tuple[int, int], seed: int) -> None:
    a, b = _maps(shape, seed), _maps(shape, seed + 100)
    for x, y, found in zip(a, b, overlap(a, b), strict=True):
        p, q = _shares(x), _shares(y)
        assert found == pytest.approx(p @ q / np.sqrt((p @ p) * (q @ q)), abs=1e-12)


def _shares(values: Floats) -> Floats:
    """Cell after cell, from the highest; the last ones that are equal share what is left."""
    left = max(1.0, round(values.size / 10))
    shares = np.zeros(values.size)
    for level in sorted(set(values.ravel()), reverse=True):
        cells = np.flatnonzero(values.ravel() == level)
        shares[cells] = min(1.0, left / len(cells))
        left -= shares[cells].sum()
        if left <= 1e-9:
            break
    return shares


def test_overlap_without_ties_is_the_share_of_cells_in_common() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 20, 20, 30))
    for x, y, found in zip(a, b, overlap(a, b), strict=True):
        tops = [set(np.argsort(one.ravel())[-60:]) for one in (x, y)]
        assert found == pytest.approx(len(tops[0] & tops[1]) / 60)
    assert overlap(a, b).mean() == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize("shape", SHAPES)
def test_all_at_once_is_each_alone_whatever_the_scale(shape: tuple[int, int]) -> None:
    a, b = _maps(shape), _maps(shape, 1)
    whole = compare(Views.of(a), Views.of(b))
    assert tuple(whole) == SIMILARITIES
    for name, values in whole.items():
        np.testing.assert_allclose(values, FUNCTIONS[name](a, b), atol=1e-12)
        np.testing.assert_allclose(values, FUNCTIONS[name](b, a), atol=1e-12)
        for factor in (1e-300, 1e-30, 1e30, 1e300):
            np.testing.assert_allclose(values, FUNCTIONS[name](a * factor, b), atol=1e-9)
        for one in range(len(a)):  # no map knows of the others
            alone = FUNCTIONS[name](a[one : one + 1], b[one : one + 1])
            np.testing.assert_allclose(alone, values[one : one + 1], atol=1e-12)


@pytest.mark.parametrize("name", SIMILARITIES)
def test_a_map_is_like_itself_and_unlike_its_inverse(name: str) -> None:
    maps = _maps((14, 14))
    np.testing.assert_allclose(FUNCTIONS[name](maps, maps), 1, atol=1e-9)
    if name == "hog":  # edges of the inverse run the same way
        np.testing.assert_allclose(hog(maps, -maps), 1, atol=1e-9)
    else:
        assert (FUNCTIONS[name](maps, -maps) < 0.01).all()


@pytest.mark.parametrize("name", SIMILARITIES)
@pytest.mark.parametrize("odd", [0.0, -2.5, np.nan, np.inf])
def test_constants_and_what_is_no_number_are_like_nothing(name: str, odd: float) -> None:
    maps = _maps((14, 14))
    bad = maps.copy()
    if np.isfinite(odd):
        bad[1] = odd
    else:
        bad[1, 3, 4] = odd
    for pair in ((maps, bad), (bad, maps), (bad, bad)):
        found = FUNCTIONS[name](*pair)
        assert np.isnan(found).tolist() == [False, True, False]
    assert np.isnan(FUNCTIONS[name](np.ones((1, 1, 1)), np.ones((1, 1, 1)))).all()


def test_maps_of_other_shapes_are_refused() -> None:
    with pytest.raises(InputError, match=r"one shape, got \(1, 2, 3\) and \(1, 3, 2\)"):
        spearman(np.zeros((1, 2, 3)), np.zeros((1, 3, 2)))
    with pytest.raises(InputError, match=r"must be \(maps, rows, columns\), got shape \(4, 5\)"):
        scaled(np.zeros((4, 5)))


@pytest.mark.parametrize(("old", "new"), [((14, 14), (112, 56)), ((3, 5), (7, 5))])
def test_more_cells_are_interpolated_as_torch_does(
    old: tuple[int, int], new: tuple[int, int]
) -> None:
    maps = _maps(old)
    expected = torch.nn.functional.interpolate(
        torch.from_numpy(maps)[:, None], new, mode="bilinear", align_corners=False
    )
    np.testing.assert_allclose(resized(maps, new), expected[:, 0], atol=1e-12)


@pytest.mark.parametrize(("old", "new"), [((14, 15), (5, 4)), ((28, 28), (7, 7))])
def test_fewer_cells_take_the_mean_of_what_they_cover(
    old: tuple[int, int], new: tuple[int, int]
) -> None:
    maps = _maps(old)
    many = maps.repeat(new[0], axis=1).repeat(new[1], axis=2)  # every border falls on a cell
    parts = many.reshape(len(maps), new[0], old[0], new[1], old[1])
    np.testing.assert_allclose(resized(maps, new), parts.mean(axis=(2, 4)), atol=1e-12)
