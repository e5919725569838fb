"""The readable definitions against slow loops, on every kind of array."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import array_api_strict
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline import metrics
from tests.reference import maps as reference
from tests.strategies import maps, scenes


def read_only(array: Any) -> Any:
    array = np.array(array)
    array.flags.writeable = False
    return array


BACKENDS = {
    "numpy": np.array,
    "read-only": read_only,
    "torch": lambda array: torch.tensor(np.array(array)),
    "strict": lambda array: array_api_strict.asarray(np.array(array)),
}


@pytest.fixture(params=list(BACKENDS), scope="module")
def backend(request: pytest.FixtureRequest) -> Any:
    return BACKENDS[request.param]


def close(found: Any, expected: float) -> None:
    seen = float(found)
    if np.isnan(expected):
        assert np.isnan(seen)
    else:
        assert abs(seen - expected) <= 1e-12 * max(1.0, abs(expected)), (seen, expected)


def plain(array: Any) -> Any:
    """The standard knows neither half floats nor what a half integer would be in torch."""
    return array.astype(np.float32) if array.dtype == np.float16 else array


PERCENTILE = "best_iou_percentile"  # a companion of best_iou, no metric
ONE_PASS: dict[str, Any] = {
    "coverage": metrics.compute_coverage,
    "auc_roc": metrics.compute_auc_roc,
    "average_precision": metrics.compute_average_precision,
    "relevance_rank": metrics.compute_relevance_rank,
    "best_iou": lambda maps, masks, **kw: metrics.compute_best_iou(maps, masks, **kw).iou,
    PERCENTILE: lambda maps, masks, **kw: metrics.compute_best_iou(maps, masks, **kw).percentile,
    "pointing": metrics.pointing_game_hit,
    "top_k_pointing@k5": metrics.top_k_pointing_accuracy,
    "top_k_any@k5": metrics.top_k_pointing_hit,
}
OVERLAP: dict[str, Any] = {
    "dice": metrics.compute_dice,
    "precision": metrics.compute_precision,
    "recall": metrics.compute_recall,
    "lift": metrics.compute_lift,
    "iou_share": metrics.compute_share_of_ceiling,
    "iou_corrected": metrics.compute_corrected_iou,
}


@settings(max_examples=40)
@given(scene=scenes())
def test_rankings_pointing_and_energy(scene: Any, backend: Any) -> None:
    attention, mask = scene
    expected = reference.scores(attention, mask)
    given_map, given_mask = backend(plain(attention)), backend(mask)
    for name, function in ONE_PASS.items():
        close(function(given_map, given_mask, sign="positive"), expected[name])


@pytest.mark.parametrize("ties", ["share", "include"])
@settings(max_examples=25)
@given(
    scene=scenes(tame=True), selection=st.sampled_from(["percentile", "mass", "mean", "matched"])
)
def test_overlaps(scene: Any, selection: str, ties: Any, backend: Any) -> None:
    attention, mask = scene
    expected = reference.scores(attention, mask, selection=selection, percentiles=(80,), ties=ties)
    token = {"percentile": "80", "mass": "mass60"}.get(selection, selection)
    options: dict[str, Any] = {"selection": selection, "ties": ties, "sign": "positive"}
    given_map, given_mask = backend(plain(attention)), backend(mask)
    for name, function in OVERLAP.items():
        found = function(given_map, given_mask, 80, **options)
        close(found, expected[f"{name}@{token}"])
    iou, attended, annotated = metrics.compute_iou(given_map, given_mask, 80, **options)
    close(iou, expected[f"iou@{token}"])
    close(attended, expected[f"attention_area@{token}"])
    close(annotated, expected["annotation_area"])


@settings(max_examples=25)
@given(scene=scenes(tame=True), data=st.data())
def test_distributions_and_complexity(scene: Any, backend: Any, data: st.DataObject) -> None:
    attention, mask = scene
    target = np.abs(data.draw(maps(attention.shape, tame=True)).astype(np.float64))
    others = np.round(10 * target)
    given_map, given_mask = backend(plain(attention)), backend(mask)
    soft, counts = backend(target), backend(others)
    for name in ("entropy", "gini", "sparsity"):
        found = getattr(metrics, f"compute_{name}")(given_map, sign="positive")
        close(found, getattr(reference, name)(attention))
    for name in ("nss", "auc_judd", "information_gain"):
        found = getattr(metrics, f"compute_{name}")(given_map, given_mask, sign="positive")
        close(found, getattr(reference, name)(attention, mask))
    for name in ("cc", "sim", "kl", "mse"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = getattr(metrics, f"compute_{name}")(given_map, soft, sign="positive")
        close(found, getattr(reference, name)(attention, target))
    found = metrics.compute_shuffled_auc(given_map, given_mask, counts, sign="positive")
    close(found, reference.shuffled_auc(attention, mask, others))
    gain = metrics.compute_information_gain(given_map, given_mask, soft, sign="positive")
    close(gain, reference.information_gain(attention, mask, target))


@settings(max_examples=40)
@given(scene=scenes(), tolerance=st.sampled_from([0, 1, 1.5, 2, 3.7, 15]))
def test_pointing_with_tolerance(scene: Any, tolerance: float, backend: Any) -> None:
    attention, mask = scene
    found = metrics.pointing_game_hit(
        backend(plain(attention)), backend(mask), tolerance, sign="positive"
    )
    close(found, reference.pointing(attention, mask, tolerance))


@settings(max_examples=40)
@given(attention=maps(), percentile=st.sampled_from([0, 33.3, 50, 90, 97.5, 100]))
def test_threshold_attention_is_the_literal_rule(
    attention: Any, percentile: float, backend: Any
) -> None:
    found = metrics.threshold_attention(backend(plain(attention)), percentile)
    expected = reference.literal_threshold(attention, percentile)
    assert np.array_equal(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize(
    "name", [*(name for name in ONE_PASS if name != PERCENTILE), "entropy", "nss", "iou"]
)
def test_batches_keep_their_leading_shape(name: str, backend: Any) -> None:
    rng = np.random.default_rng(0)
    attention, mask = rng.random((3, 2, 5, 6)), rng.random((3, 2, 5, 6)) < 0.4
    metric = name.partition("@")[0]
    function = metrics.METRICS[metric].function
    others = () if name == "entropy" else (backend(mask),)
    found = function(backend(attention), *others)
    found = found[0] if isinstance(found, tuple) else found
    assert tuple(found.shape) == (3, 2)
    for i in range(3):
        for j in range(2):
            others = () if name == "entropy" else (mask[i, j],)
            one = function(attention[i, j], *others)
            close(found[i, j], float(one[0] if isinstance(one, tuple) else one))


def test_one_mask_serves_a_whole_batch(backend: Any) -> None:
    attention, mask = np.random.default_rng(0).random((4, 5, 5)), np.eye(5) > 0
    found = metrics.compute_auc_roc(backend(attention), backend(mask))
    for i in range(4):
        close(found[i], float(metrics.compute_auc_roc(attention[i], mask)))


def test_iou_at_threshold_and_curve_agree_with_iou() -> None:
    rng = np.random.default_rng(0)
    attention, mask = np.round(rng.random((2, 10, 10)), 1), rng.random((10, 10)) < 0.2
    areas, curve = metrics.compute_iou_curve(attention, mask)
    assert areas.shape == (101,)
    assert curve.shape == (2, 101)
    for k in (5, 10, 15, 20, 25):
        found = metrics.compute_iou_at_threshold(attention, mask, k)
        expected = metrics.compute_iou(attention, mask, 100 - k).iou
        assert np.array_equal(found, expected)
        assert np.allclose(curve[:, k], expected, atol=1e-12)
    assert (curve.max(axis=1) <= metrics.compute_best_iou(attention, mask).iou + 1e-12).all()


def test_iou_at_threshold_passes_its_options_on() -> None:
    attention, mask = np.array([[-3.0, 1.0, 1.0, 0.0]]), np.array([[1, 1, 0, 0]])
    for sign in ("positive", "absolute", "signed"):
        for ties in ("share", "include"):
            found = metrics.compute_iou_at_threshold(attention, mask, 25, sign=sign, ties=ties)
            assert found == metrics.compute_iou(attention, mask, 75, sign=sign, ties=ties).iou
    assert metrics.compute_iou_at_threshold(attention, mask, 25, sign="absolute") == 0.5


@pytest.mark.parametrize(("pixels", "positives"), [(5, 1), (6, 2), (7, 3), (7, 6)])
def test_noise_exceeds_the_chance_of_auc_judd_as_its_card_says(pixels: int, positives: int) -> None:
    places = combinations(range(pixels), positives)
    masks = np.array([[i in chosen for i in range(pixels)] for chosen in places])[:, None]
    ranks = np.broadcast_to(np.arange(pixels, dtype=float), masks.shape)  # each order once
    found = metrics.compute_auc_judd(ranks, masks).mean()
    assert found == pytest.approx(0.5 + 1 / (2 * (positives + 1)), abs=1e-12)
    assert metrics.compute_auc_roc(ranks, masks).mean() == pytest.approx(0.5, abs=1e-12)


def test_definitions_refuse_maps_that_are_not_finite() -> None:
    attention = np.ones((3, 4, 4))
    attention[1, 0, 0] = np.nan
    with pytest.raises(ValueError, match="map 1 is not finite: 1 NaN and 0 infinite of 16 pixels"):
        metrics.compute_auc_roc(attention, np.eye(4))
