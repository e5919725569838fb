"""ROC and precision–recall curves against exact loops and scikit-learn; ties are one point."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import precision_recall_curve, roc_curve

import sightline
from sightline.metrics import _cpu, _torch
from tests.metrics.test_engine import ON_EITHER, SIGNS, batch_of_maps, on_torch
from tests.reference import maps as reference
from tests.strategies import scenes

STEPS = np.arange(101) / 100
NONE: dict[str, Any] = {"metrics": ["auc_roc"], "curves": True}


def assert_alike(found: Any, expected: Any, *index: int) -> None:
    """Compare curves; they are float32, so some 1e-7 apart."""
    assert set(found) == {"roc", "pr"}
    for name, curve in expected.items():
        seen = np.asarray(found[name])[index]
        assert seen.dtype == np.float32
        np.testing.assert_allclose(seen, curve, rtol=0, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("sign", SIGNS)
@ON_EITHER
@settings(max_examples=80)
@given(scene=scenes())
def test_curves_equal_the_reference(scene: Any, sign: Any, score: Any) -> None:
    attention, mask = scene
    expected = reference.curves(attention, mask, sign=sign)
    assert_alike(score(attention, mask, sign=sign, **NONE).curves, expected)


@ON_EITHER
@pytest.mark.parametrize("digits", [1, 2, 9])
def test_curves_equal_scikit_learn(digits: int, score: Any) -> None:
    rng = np.random.default_rng(0)
    attention = np.round(rng.random((4, 40, 50)).astype(np.float32), digits)
    mask = rng.random((4, 40, 50)) < np.array([0.01, 0.2, 0.5, 0.97])[:, None, None]
    attention[1] += 0.3 * mask[1]
    found = score(attention, mask, **NONE).curves
    for i in range(4):
        truth, values = mask[i].ravel(), attention[i].ravel()
        x, y, _ = roc_curve(truth, values, drop_intermediate=False)
        precision, recall, _ = precision_recall_curve(truth, values)
        # From the highest threshold on; the point that scikit-learn adds at recall 0 is left out.
        precision, recall = precision[-2::-1], recall[-2::-1]
        first = [np.argmax(recall * truth.sum() >= step * truth.sum() - 1e-6) for step in STEPS]
        assert_alike(found, {"roc": np.interp(STEPS, x, y), "pr": precision[first]}, i)


@ON_EITHER
def test_a_curve_by_hand(score: Any) -> None:
    """Two inside and two outside pixels: one hit, a tie of one of each, one miss."""
    found = score(np.array([[4.0, 2.0, 2.0, 1.0]]), np.array([[1, 1, 0, 0]]), **NONE).curves
    roc = np.where(STEPS < 0.5, 0.5 + STEPS, 1.0)
    assert_alike(found, {"roc": roc, "pr": np.where(STEPS <= 0.5, 1.0, 2 / 3)})
    missed = score(np.array([[1.0, 2.0]]), np.array([[1, 0]]), **NONE).curves
    # At recall 0 the precision is that of the highest value, which is outside.
    assert_alike(missed, {"roc": STEPS == 1, "pr": np.where(STEPS == 0, 0.0, 0.5)})


@ON_EITHER
def test_the_area_under_the_curve_is_the_auc(score: Any) -> None:
    """With 100 outside pixels every corner of the curve lies on a step."""
    rng = np.random.default_rng(1)
    mask = np.zeros((5, 1, 120), bool)
    mask[..., :20] = True
    attention = np.round(rng.random((5, 1, 120)), 9)
    scores = score(attention, mask, **NONE)
    # Without ties the curve is a staircase: each outside pixel counts the height to its left.
    heights = np.asarray(scores.curves["roc"], np.float64)[:, :-1]
    np.testing.assert_allclose(heights.mean(axis=1), np.asarray(scores["auc_roc"]), atol=1e-7)


@ON_EITHER
@settings(max_examples=40)
@given(scene=scenes(tame=True), data=st.data())
def test_curves_leave_ignored_pixels_out(scene: Any, data: st.DataObject, score: Any) -> None:
    attention, mask = scene
    ignored = np.stack([np.zeros_like(mask), data.draw(hnp.arrays(bool, mask.shape))])
    found = score(np.stack([attention] * 2), mask, ignore=ignored, sign="positive", **NONE).curves
    for i, left_out in enumerate(ignored):
        if left_out.all():
            assert np.isnan(np.asarray(found["roc"])[i]).all()
            assert np.isnan(np.asarray(found["pr"])[i]).all()
            continue
        pair = (np.asarray(array)[~left_out][None] for array in (attention, mask))
        assert_alike(found, reference.curves(*pair), i)


def test_batch_and_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    attention, mask, _ = batch_of_maps()
    whole = sightline.score_maps(attention, mask, threads=1, curves=True, sign="positive").curves
    monkeypatch.setattr(_cpu, "SHARED_CHUNK_BYTES", 1)
    threaded = sightline.score_maps(attention, mask, threads=3, curves=True, sign="positive").curves
    single = [
        sightline.score_maps(a, m, curves=True, sign="positive").curves
        for a, m in zip(attention, mask, strict=True)
    ]
    for name, curve in whole.items():
        assert curve.tobytes() == threaded[name].tobytes()
        assert curve.tobytes() == np.stack([one[name] for one in single]).tobytes()


def test_chunks_on_a_device_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    attention, mask, _ = batch_of_maps()
    whole = on_torch(attention, mask, sign="positive", **NONE).curves
    monkeypatch.setattr(_torch, "CHUNK_PIXELS", 1)
    chunked = on_torch(attention, mask, sign="positive", **NONE).curves
    for name, curve in whole.items():
        assert curve.numpy().tobytes() == chunked[name].numpy().tobytes()


@pytest.mark.compiles
def test_curves_have_the_leading_shape_and_change_no_score() -> None:
    rng = np.random.default_rng(2)
    attention, mask = rng.random((2, 3, 4, 5)), rng.random((2, 1, 4, 5)) < 0.4
    plain, traced = (
        sightline.score_maps(attention, mask, curves=on, channels="separate")
        for on in (False, True)
    )
    assert plain.curves == {}
    assert list(plain) == list(traced)
    assert all(plain[name].tobytes() == traced[name].tobytes() for name in plain)
    assert traced.curves["roc"].shape == traced.curves["pr"].shape == (2, 3, 101)
    assert not traced.curves["roc"].flags.writeable
    again = pickle.loads(pickle.dumps(traced))  # noqa: S301
    assert again.curves["pr"].tobytes() == traced.curves["pr"].tobytes()
    one = sightline.score_maps(attention[1, 2], mask[1, 0], curves=True, sign="positive").curves
    assert one["roc"].shape == (101,)
    assert one["roc"].tobytes() == traced.curves["roc"][1, 2].tobytes()


@ON_EITHER
def test_a_dropped_map_has_no_curves(score: Any) -> None:
    attention = np.random.default_rng(3).random((2, 4, 5))
    attention[0, 1, 1] = np.nan
    found = score(attention, np.eye(4, 5, dtype=bool), nonfinite="drop", **NONE).curves
    for curve in (np.asarray(found["roc"]), np.asarray(found["pr"])):
        assert np.isnan(curve[0]).all()
        assert not np.isnan(curve[1]).any()


def test_curves_of_tensors_are_tensors() -> None:
    import torch

    attention, mask, _ = batch_of_maps()
    found = sightline.score_maps(
        torch.tensor(attention), torch.tensor(mask), curves=True, sign="positive"
    ).curves
    expected = sightline.score_maps(attention, mask, curves=True, sign="positive").curves
    for name, curve in found.items():
        assert isinstance(curve, torch.Tensor)
        assert curve.numpy().tobytes() == expected[name].tobytes()
