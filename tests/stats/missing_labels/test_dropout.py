"""Bands under dropout, against a literal loop over draws, images and union masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sightline.core import Annotation, InputError, Region
from sightline.metrics import compute_iou
from sightline.stats._resample import Weights
from sightline.stats.missing_labels import (
    RATES,
    bootstrap_iou_under_dropout,
    delta_bands,
    delta_under_dropout,
    dropout_bands,
    dropout_sweep,
    overlaps,
)
from sightline.stats.paired_tests import sign_flip

DRAWS = 25


def scene(seed: int = 0, n: int = 8) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return maps with ties, and overlapping masks of one to four regions."""
    rng = np.random.default_rng(seed)
    maps = rng.integers(0, 12, (n, 8, 8)).astype(float)
    masks = [rng.random((1 + i % 4, 8, 8)) < 0.15 for i in range(n)]
    return maps, masks


def slow_ious(maps: Any, masks: list[np.ndarray], rate: float, draws: int, seed: int) -> np.ndarray:
    """Return the IoU of each draw and image, one compute_iou after the other."""
    rng = np.random.default_rng([seed, 1])
    table = np.empty((draws, len(masks)))
    for image, own in enumerate(masks):
        numbers = rng.random((draws, len(own)))
        for draw in range(draws):
            kept = [mask for mask, number in zip(own, numbers[draw], strict=True) if number >= rate]
            union = np.any(kept, axis=0) if kept else np.zeros(own.shape[1:], bool)
            table[draw, image] = compute_iou(maps[image], union, 80).iou
    return table


def slow_draws(table: np.ndarray, seed: int) -> tuple[list[float], list[float]]:
    """Return mean and emptied share of each draw, image by image."""
    draws, n = table.shape
    times = np.concatenate([block for _, block in Weights(n, draws, seed)])
    means, emptied = [], []
    for row, weights in zip(table, times, strict=True):
        total = count = lost = 0.0
        for iou, weight in zip(row, weights, strict=True):
            if np.isnan(iou):
                lost += weight
            else:
                total, count = total + weight * iou, count + weight
        emptied.append(lost / n)
        if count:
            means.append(total / count)
    return means, emptied


@pytest.mark.parametrize("rate", [0.0, 0.3, 0.8])
def test_a_band_is_that_of_the_literal_loop(rate: float) -> None:
    maps, masks = scene()
    band = bootstrap_iou_under_dropout(maps, masks, 80, rate, DRAWS, seed=5)
    means, emptied = slow_draws(slow_ious(maps, masks, rate, DRAWS, 5), 5)
    value = np.mean(
        [compute_iou(m, own.any(0), 80).iou for m, own in zip(maps, masks, strict=True)]
    )
    low, high = np.percentile(means, [2.5, 97.5])
    expected = (value, low, high, np.mean(means), np.mean(emptied))
    found = (band.value, band.low, band.high, band.mean, band.emptied)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert (band.rate, band.n, band.undefined) == (rate, 8, 0)


def test_every_region_is_dropped_with_the_rate() -> None:
    """Image 0 has one region, image 1 two: they are emptied with rate and rate²."""
    masks = [np.ones((1, 2, 2), bool), np.ones((2, 2, 2), bool)]
    maps = np.ones((2, 2, 2))
    found = bootstrap_iou_under_dropout(maps, masks, 50, 0.3, 40_000)
    assert found.emptied == pytest.approx((0.3 + 0.09) / 2, abs=0.005)


def test_images_are_resampled_too() -> None:
    maps = np.stack([np.eye(4), 1 - np.eye(4)])
    masks = np.broadcast_to(np.eye(4) > 0, (2, 1, 4, 4))
    found = bootstrap_iou_under_dropout(maps, masks, 75, 0.0, 200)
    assert (found.low, found.high) == (0.0, 1.0)
    assert found.value == pytest.approx(0.5)
    assert found.mean == pytest.approx(0.5, abs=0.1)


def test_a_sweep_is_the_bands_one_by_one() -> None:
    maps, masks = scene()
    sweep = dropout_sweep(maps, masks, 80, n_bootstrap=DRAWS, seed=2)
    assert tuple(band.rate for band in sweep) == RATES == (0.1, 0.2, 0.3, 0.4, 0.5)
    for band in sweep:
        alone = bootstrap_iou_under_dropout(maps, masks, 80, band.rate, DRAWS, seed=2)
        assert alone == band
    assert [band.emptied for band in sweep] == sorted(band.emptied for band in sweep)


def test_lines_together_are_as_each_alone() -> None:
    masks = scene()[1]
    lines = [overlaps(scene(seed)[0], masks) for seed in (0, 1, 2)]
    together = dropout_bands(lines, (0.2, 0.5), DRAWS, seed=1)
    for line, bands in zip(lines, together, strict=True):
        assert dropout_bands([line], (0.2, 0.5), DRAWS, seed=1) == [bands]


def test_lines_undefined_on_different_images() -> None:
    maps, masks = scene()
    dark = maps.copy()
    dark[3] = 0
    lines = [overlaps(each, masks, selection="mass60") for each in (maps, dark)]
    both = dropout_bands(lines, (0.3,), DRAWS)
    assert [bands[0].n for bands in both] == [8, 7]
    assert both[1][0].undefined == 1
    assert dropout_bands(lines[1:], (0.3,), DRAWS) == both[1:]
    assert dropout_bands(lines[:1], (0.3,), DRAWS) == both[:1]


def test_an_image_without_regions_is_counted_and_changes_nothing_else() -> None:
    maps, masks = scene()
    none = np.zeros((0, 8, 8), bool)
    band = bootstrap_iou_under_dropout(maps, masks, 80, 0.3, DRAWS)
    more = bootstrap_iou_under_dropout([*maps, maps[0]], [*masks, none], 80, 0.3, DRAWS)
    assert (more.n, more.undefined) == (8, 1)
    assert (more.value, more.low, more.high, more.emptied) == pytest.approx(
        (band.value, band.low, band.high, band.emptied)
    )
    nothing = bootstrap_iou_under_dropout(maps[:1], [none], 80, 0.3, DRAWS)
    assert nothing.n == 0
    assert np.isnan([nothing.value, nothing.low, nothing.high, nothing.mean]).all()


def test_a_seed_gives_the_same_bits() -> None:
    maps, masks = scene()
    one, two, other = (
        bootstrap_iou_under_dropout(maps, masks, n_bootstrap=DRAWS, seed=seed) for seed in (4, 4, 5)
    )
    assert one == two != other


def test_annotations_are_their_masks() -> None:
    regions = (Region("a", box=(0, 0, 0.5, 0.5)), Region("b", box=(0.25, 0.25, 1, 0.75)))
    annotation = Annotation("a.jpg", regions=regions)
    maps = scene(n=2)[0]
    found = bootstrap_iou_under_dropout(maps, [annotation, annotation], n_bootstrap=DRAWS)
    masks = annotation.region_masks(8, 8)
    assert found == bootstrap_iou_under_dropout(maps, [masks, masks], n_bootstrap=DRAWS)


@pytest.mark.parametrize("rate", [-0.1, 1.0, float("nan")])
def test_a_rate_must_be_a_probability_below_one(rate: float) -> None:
    maps, masks = scene()
    with pytest.raises(InputError, match=r"dropout rates must lie in \[0, 1\)"):
        bootstrap_iou_under_dropout(maps, masks, 90, rate)


def test_other_errors() -> None:
    maps, masks = scene()
    line = overlaps(maps, masks)
    with pytest.raises(InputError, match="n_bootstrap must be at least 1; got 0"):
        dropout_bands([line], n_bootstrap=0)
    with pytest.raises(InputError, match="at least one line"):
        dropout_bands([])
    with pytest.raises(InputError, match="same images with the same regions"):
        delta_bands(line, overlaps(maps[:7], masks[:7]))


def test_the_undisturbed_difference_is_the_paired_test() -> None:
    maps, masks = scene(n=40)
    others = scene(1, 40)[0]
    (band,) = delta_under_dropout(maps, others, masks, 80, (0,), 300, seed=3)
    a, b = (overlaps(each, masks, 80).iou() for each in (maps, others))
    assert band.value == pytest.approx((a - b).mean(), abs=1e-15)
    assert band.p == sign_flip(a - b, seed=3)
    assert band.emptied == 0
    assert band.p_draws.shape == (1,)
    times = np.concatenate([block for _, block in Weights(40, 300, 3)])
    means = times @ (a - b) / 40
    np.testing.assert_allclose(
        (band.low, band.high, band.mean), (*np.percentile(means, [2.5, 97.5]), means.mean())
    )
    assert band.same_sign == np.mean(np.sign(means) == np.sign(band.value))


def test_each_draw_is_the_paired_test_of_its_differences() -> None:
    maps, masks = scene(n=9)
    others = scene(1, 9)[0]
    (band,) = delta_under_dropout(maps, others, masks, 80, (0.6,), DRAWS, flips=999, seed=3)
    gaps = slow_ious(maps, masks, 0.6, DRAWS, 3) - slow_ious(others, masks, 0.6, DRAWS, 3)
    enough = np.isfinite(gaps).sum(1) >= 6
    assert np.isnan(gaps[enough]).any()
    assert 0 < enough.sum() < DRAWS  # both kinds are met
    # Nine images have 512 patterns, and fewer images each of theirs equally often.
    slow = np.array([sign_flip(row, flips=999) for row in gaps])
    np.testing.assert_allclose(band.p_draws, slow, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(np.isnan(band.p_draws), ~enough)
    assert band.p == np.nanmedian(slow)
    assert band.significant == np.mean(slow[enough] <= 0.05)
    assert band.emptied == pytest.approx(np.isnan(gaps).mean())
    means, _ = slow_draws(gaps, 3)
    np.testing.assert_allclose((band.low, band.high), np.percentile(means, [2.5, 97.5]), atol=1e-12)
    assert band.same_sign == np.mean(np.sign(means) == np.sign(band.value))


def test_drawn_flips_are_common_to_all_draws() -> None:
    maps, masks = scene(n=20)
    whole = [own[:1].repeat(2, 0) | np.eye(8, dtype=bool) for own in masks]
    both = [np.concatenate([own, own]) for own in whole]  # four times the same region
    others = scene(1, 20)[0]
    (band,) = delta_under_dropout(maps, others, both, 80, (0.01,), DRAWS, flips=199, seed=3)
    (none,) = delta_under_dropout(maps, others, both, 80, (0,), DRAWS, flips=199, seed=3)
    # Hardly any image loses all four, so that every draw has the same differences.
    assert len(set(band.p_draws)) == 1
    gaps = overlaps(maps, both, 80).iou() - overlaps(others, both, 80).iou()
    assert band.p == sign_flip(gaps, flips=199, seed=3)
    assert none.p == sign_flip(gaps, flips=9999, seed=3)


def test_sides_are_exchangeable() -> None:
    maps, masks = scene(n=12)
    others = scene(1, 12)[0]
    ab, ba = (
        delta_under_dropout(*pair, masks, 80, (0, 0.3), DRAWS)
        for pair in ((maps, others), (others, maps))
    )
    for one, other in zip(ab, ba, strict=True):
        assert (one.value, one.low, one.high) == pytest.approx(
            (-other.value, -other.high, -other.low)
        )
        assert (one.p, one.same_sign) == (other.p, other.same_sign)


def test_too_few_images_have_no_p_value() -> None:
    maps, masks = scene(n=5)
    (band,) = delta_under_dropout(maps, scene(1, 5)[0], masks, 80, (0.1,), DRAWS)
    assert np.isnan(band.p)
    assert np.isnan(band.significant)
    assert band.reason == "too few images: 5, a sign-flip test needs 6"
    assert np.isfinite([band.value, band.low, band.high]).all()


def test_delta_counts_images_without_a_value() -> None:
    maps, masks = scene(n=9)
    masks[2] = np.zeros((0, 8, 8), bool)
    band = delta_under_dropout(maps, scene(1, 9)[0], masks, 80, (0.2,), DRAWS)[0]
    assert (band.n, band.undefined, band.reason) == (8, 1, "")
    # An image without regions draws nothing: the others fare as they do without it.
    rest, others = [i for i in range(9) if i != 2], scene(1, 9)[0]
    kept = [masks[i] for i in rest]
    (alone,) = delta_under_dropout(maps[rest], others[rest], kept, 80, (0.2,), DRAWS)
    assert (band.value, band.low, band.high) == pytest.approx((alone.value, alone.low, alone.high))
    assert (band.p, band.emptied) == (alone.p, alone.emptied)
    np.testing.assert_array_equal(band.p_draws, alone.p_draws)
    (nothing,) = delta_under_dropout(maps[2:3], maps[2:3], masks[2:3], 80, (0.2,), DRAWS)
    assert np.isnan([nothing.value, nothing.low, nothing.p, nothing.emptied]).all()


def test_drawn_flips_are_those_of_the_images_with_a_value() -> None:
    maps, masks = scene(n=21)
    others = scene(1, 21)[0]
    masks[2] = np.zeros((0, 8, 8), bool)
    (band,) = delta_under_dropout(maps, others, masks, 80, (0,), DRAWS, seed=4)
    gaps = overlaps(maps, masks, 80).iou() - overlaps(others, masks, 80).iou()
    assert np.isnan(gaps[2])
    assert band.p == sign_flip(gaps, seed=4)


def test_a_test_needs_flips() -> None:
    maps = np.random.default_rng(0).random((8, 4, 4))
    with pytest.raises(InputError, match="flips must be at least 1; got 0"):
        delta_under_dropout(maps, maps, maps[:, None] > 0.5, n_bootstrap=5, flips=0)
