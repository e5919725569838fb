"""The engine against slow, exact loops; batches, threads and pixel order change nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

import sightline
from sightline import metrics
from sightline.metrics import _torch, engine
from tests.reference import maps as reference
from tests.strategies import scenes

SIGNS = ["positive", "absolute", "signed"]
TIES = ["share", "include"]
SHARES = ["mass", "mass10", "mass33.3", "mass90", "mass100"]


def assert_equal(found: Any, expected: dict[str, float], tolerance: float = 1e-12) -> None:
    for name, value in expected.items():
        seen = float(found[name])
        if np.isnan(value):
            assert np.isnan(seen), (name, seen, value)
        else:
            assert abs(seen - value) <= tolerance * max(1.0, abs(value)), (name, seen, value)


def on_torch(*args: Any, **options: Any) -> Any:
    """Score through the code that runs on a device, on tensors in main memory."""
    import torch

    def measure(maps: Any, masks: Any, plan: Any, table: Any, drop: bool, *_: Any) -> Any:
        maps, masks = (torch.tensor(np.asarray(array)) for array in (maps, masks))
        return _torch.measure(maps, masks, plan, table=table, drop=drop)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_measure", measure)
        return sightline.score_maps(*args, **options)


ON_EITHER = pytest.mark.parametrize("score", [sightline.score_maps, on_torch])


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("sign", SIGNS)
@ON_EITHER
@settings(max_examples=60)
@given(scene=scenes())
def test_rankings_and_percentiles_equal_the_reference(
    scene: Any, sign: Any, ties: Any, score: Any
) -> None:
    attention, mask = scene
    options: dict[str, Any] = {
        "selection": ("percentile", "matched"),
        "percentiles": (100, 97.5, 90, 50, 0),
    }
    expected = reference.scores(attention, mask, sign=sign, ties=ties, **options)
    assert_equal(score(attention, mask, sign=sign, ties=ties, **options), expected)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("sign", SIGNS[:2])
@ON_EITHER
@settings(max_examples=60)
@given(scene=scenes(tame=True), share=st.sampled_from(SHARES))
def test_energy_selections_equal_the_reference(
    scene: Any, share: str, sign: Any, ties: Any, score: Any
) -> None:
    attention, mask = scene
    expected = reference.scores(attention, mask, selection=(share, "mean"), sign=sign, ties=ties)
    found = score(attention, mask, selection=(share, "mean"), sign=sign, ties=ties)
    assert_equal(found, expected)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("sign", SIGNS)
@ON_EITHER
@settings(max_examples=25)
@given(scene=scenes(tame=True), data=st.data())
def test_regions_equal_the_reference(
    scene: Any, sign: Any, ties: Any, data: st.DataObject, score: Any
) -> None:
    attention, mask = scene
    height, width = mask.shape
    y = sorted(data.draw(st.tuples(st.integers(0, height - 1), st.integers(1, height))))
    x = sorted(data.draw(st.tuples(st.integers(0, width - 1), st.integers(1, width))))
    x1, y1 = max(x[1], x[0] + 1), max(y[1], y[0] + 1)
    box = (x[0] / width, y[0] / height, x1 / width, y1 / height)
    boxed = np.zeros_like(mask)
    boxed[y[0] : y1, x[0] : x1] = True
    options: dict[str, Any] = {"sign": sign, "ties": ties, "selection": ("percentile", "matched")}
    if sign != "signed":
        options["selection"] += ("mass", "mean")
    found = score(attention, mask, regions=[[box, mask]], **options).regions
    for i, region in enumerate((boxed, mask)):
        expected = reference.region_scores(attention, region, **options)
        assert set(expected) <= set(found)
        assert_equal({name: found[name][i] for name in found}, expected)


@settings(max_examples=100)
@given(scene=scenes())
def test_auc_and_average_precision_equal_scikit_learn(scene: Any) -> None:
    attention, mask = scene
    if not 0 < mask.mean() < 1:
        return
    scores = sightline.score_maps(attention, mask, sign="signed")
    # scikit-learn compares values after subtraction, which overflows for the largest ones.
    with np.errstate(over="ignore"):
        ranks = np.unique(attention.ravel(), return_inverse=True)[1]
    assert abs(scores["auc_roc"] - roc_auc_score(mask.ravel(), ranks)) <= 1e-12
    assert abs(scores["average_precision"] - average_precision_score(mask.ravel(), ranks)) <= 1e-12


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_noisy_maps_equal_scikit_learn(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    attention = rng.random((3, 60, 70)).astype(dtype)
    attention[1] = np.round(attention[1], 2)
    mask = rng.random((3, 60, 70)) < 0.2
    scores = sightline.score_maps(attention, mask)
    for i in range(3):
        truth, values = mask[i].ravel(), attention[i].ravel()
        assert abs(scores["auc_roc"][i] - roc_auc_score(truth, values)) <= 1e-12
        assert abs(scores["average_precision"][i] - average_precision_score(truth, values)) <= 1e-12


def batch_of_maps() -> tuple[Any, Any, list[Any]]:
    rng = np.random.default_rng(3)
    attention = rng.random((37, 20, 30)).astype(np.float32) - 0.1
    attention[::5] = np.round(attention[::5], 1)
    mask = rng.random((37, 20, 30)) < 0.3
    corners = np.sort(rng.random((37, 4, 2, 2)), axis=2)
    return attention, mask, list(corners.reshape(37, 4, 4))


def columns(scores: Any) -> dict[str, Any]:
    found = {name: np.asarray(scores[name]) for name in scores}
    return found | {f"regions {name}": np.asarray(scores.regions[name]) for name in scores.regions}


@pytest.mark.compiles
@pytest.mark.parametrize("sign", ["positive", "absolute"])
def test_batch_size_and_threads_change_no_bit(sign: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from sightline.metrics import _cpu

    attention, mask, boxes = batch_of_maps()
    selection = ("percentile", "mass", "mean", "matched")
    options: dict[str, Any] = {"selection": selection, "sign": sign}
    whole = columns(sightline.score_maps(attention, mask, regions=boxes, threads=1, **options))
    monkeypatch.setattr(_cpu, "SHARED_CHUNK_BYTES", 1)
    threaded = columns(sightline.score_maps(attention, mask, regions=boxes, threads=3, **options))
    for name, values in whole.items():
        assert values.tobytes() == threaded[name].tobytes(), name
    single = [
        columns(sightline.score_maps(a, m, regions=[r], **options))
        for a, m, r in zip(attention, mask, boxes, strict=True)
    ]
    for name, values in whole.items():
        assert np.concatenate([s[name].ravel() for s in single]).tobytes() == values.tobytes(), name


def test_chunks_of_the_torch_pass_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    attention, mask, boxes = batch_of_maps()
    whole = columns(on_torch(attention, mask, regions=boxes, sign="positive"))
    monkeypatch.setattr(_torch, "CHUNK_PIXELS", 1)
    chunked = columns(on_torch(attention, mask, regions=boxes, sign="positive"))
    for name, values in whole.items():
        assert values.tobytes() == chunked[name].tobytes(), name


@ON_EITHER
@settings(max_examples=50)
@given(scene=scenes(tame=True), seed=st.integers(0, 1000))
def test_pixel_order_changes_nothing(scene: Any, seed: int, score: Any) -> None:
    attention, mask = scene
    order = np.random.default_rng(seed).permutation(mask.size)
    selection = ("percentile", "mass", "mean", "matched")
    one = score(attention, mask, selection=selection, sign="positive")
    other = score(
        attention.ravel()[order].reshape(mask.shape),
        mask.ravel()[order].reshape(mask.shape),
        selection=selection,
        sign="positive",
    )
    assert_equal(other, {name: float(one[name]) for name in one})


@pytest.mark.parametrize("percentile", [50, 60, 75, 90, 95])
def test_include_is_the_literal_quantile_rule_of_torch(percentile: int) -> None:
    import torch

    rng = np.random.default_rng(1)
    agreed = 0
    for _ in range(40):
        attention = torch.tensor(rng.random((14, 14)).astype(np.float32))
        mask = torch.tensor(rng.random((14, 14)) < 0.2)
        selected = attention >= torch.quantile(attention, percentile / 100)
        exact = attention.double() >= torch.quantile(attention.double(), percentile / 100)
        if not torch.equal(selected, exact):  # float32 rounding moved the threshold
            continue
        agreed += 1
        iou = (selected & mask).sum() / (selected | mask).sum().double()
        found = sightline.score_maps(attention, mask, percentiles=[percentile], ties="include")
        assert abs(float(found[f"iou@{percentile}"]) - float(iou)) <= 1e-12
        area = selected.double().mean()
        assert abs(float(found[f"attention_area@{percentile}"]) - float(area)) <= 1e-12
    assert agreed >= 20


@ON_EITHER
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_include_selects_what_is_at_or_above_the_quantile_of_numpy(dtype: Any, score: Any) -> None:
    """Also where share × (N − 1) misses a whole number by rounding, as 0.57 × 100 does."""
    percentiles = list(range(1, 100))
    attention = np.random.default_rng(2).random((20, 1, 101)).astype(dtype)
    # Half of the maps are runs of neighbouring floats, between which nothing can be interpolated.
    steps = np.spacing(attention[::2, :, :1]) * np.arange(101).astype(dtype)
    attention[::2] = attention[::2, :, :1] + steps
    found = score(attention, attention > 0.5, percentiles=percentiles, ties="include")
    for percentile in percentiles:
        cut = np.quantile(attention.astype(np.float64), percentile / 100, axis=2, keepdims=True)
        expected = (attention >= cut).sum(axis=(1, 2)) / 101
        assert np.array_equal(np.asarray(found[f"attention_area@{percentile}"]), expected)


@pytest.mark.parametrize("make", [np.asfortranarray, lambda m: np.repeat(m, 2, -1)[..., ::2]])
def test_memory_layout_does_not_matter(make: Any) -> None:
    attention, mask, _ = batch_of_maps()
    plain, laid = (
        sightline.score_maps(array, mask, sign="positive") for array in (attention, make(attention))
    )
    assert all(np.array_equal(plain[name], laid[name], equal_nan=True) for name in plain)


def test_read_only_maps_are_scored_and_left_alone() -> None:
    attention, mask, boxes = batch_of_maps()
    before = attention.copy(), mask.copy()
    attention.flags.writeable = mask.flags.writeable = False
    sightline.score_maps(attention, mask, regions=boxes, sign="signed")
    sightline.score_maps(attention, mask, regions=boxes, sign="positive")
    assert np.array_equal(attention, before[0])
    assert np.array_equal(mask, before[1])


@pytest.mark.compiles
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "bool"])
def test_tensors_in_main_memory_give_tensors(dtype: str) -> None:
    import torch

    attention = torch.arange(24).reshape(2, 3, 4).to(getattr(torch, dtype))
    mask = torch.zeros(3, 4, dtype=torch.bool)
    mask[0] = True
    scores = sightline.score_maps(attention, mask, regions=[[mask], [mask]])
    expected = sightline.score_maps(attention.double().numpy(), mask.numpy())
    assert scores.regions is not None
    assert isinstance(scores["coverage"], torch.Tensor)
    assert isinstance(scores.regions["iou@90"], torch.Tensor)
    for name in expected:
        assert np.allclose(scores[name].numpy(), expected[name], rtol=0, atol=0, equal_nan=True)


@ON_EITHER
def test_huge_values_do_not_overflow(score: Any) -> None:
    attention = np.array([[1.7e308, 1.7e308], [1.0, 0.0]])
    mask = np.array([[True, False], [False, False]])
    top = np.array([[True, True], [False, False]])
    scores = score(
        attention, mask, selection=("mass", "mean"), regions=[[(0, 0, 1, 0.5), top ^ mask]]
    )
    assert scores["coverage"] == 0.5
    assert scores["iou@mean"] == 0.5
    assert scores["attention_area@mass60"] == pytest.approx(0.3, abs=1e-12)
    assert scores.regions is not None
    assert scores.regions["coverage"].tolist() == [1.0, 0.5]


@ON_EITHER
def test_a_tie_group_completes_a_mass_in_spite_of_rounding(score: Any) -> None:
    """0.56 × 25 rounds to more than 14, which the two highest pixels hold exactly."""
    assert 0.56 * 25 > 14
    attention = np.array([[8, 6, *[1] * 11]])
    found = score(attention, attention > 5, selection="mass56", ties="include")
    assert found["attention_area@mass56"] == 2 / 13
    expected = metrics.compute_iou(attention, attention > 5, selection="mass56", ties="include")
    assert expected.attention_area == 2 / 13


WHOLE = ("recall", "lift", "iou_share", "iou_corrected", "attention_area")


@ON_EITHER
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize(
    "attention",
    [
        np.full((38, 20), 0.7),
        np.full((37, 38), 1e-30),
        np.random.default_rng(0).random((40, 30)),
        np.random.default_rng(1).random((40, 30)) - 0.5,
        np.array([[1.0, 1e-13, 1e-300, 0.0, 0.0]]),
        np.array([[1.7e308, 1.7e308, 1.0, 0.0]]),
    ],
)
def test_the_whole_mass_is_held_by_every_positive_pixel(
    attention: Any, ties: Any, score: Any
) -> None:
    mask = np.random.default_rng(2).random(attention.shape) < 0.7
    mask.flat[0] = True
    taken = attention > 0
    a, g, recall = taken.mean(), mask.mean(), (taken & mask).sum() / mask.sum()
    iou = (taken & mask).sum() / (taken | mask).sum()
    chance, ceiling = a * g / (a + g - a * g), min(a, g) / max(a, g)
    corrected = np.nan if taken.all() else (iou - chance) / (ceiling - chance)
    expected = dict(zip(WHOLE, (recall, recall / a, iou / ceiling, corrected, a), strict=True))
    options: dict[str, Any] = {"selection": "mass100", "ties": ties, "sign": "positive"}
    found = score(attention, mask, regions=[[mask]], **options)
    assert found["recall@mass100"] == recall
    for columns in (found, {name: value[0] for name, value in found.regions.items()}):
        assert_equal({name: columns[f"{name}@mass100"] for name in WHOLE}, expected)
    assert metrics.compute_recall(attention, mask, **options) == recall
    alone = {
        "lift": metrics.compute_lift(attention, mask, **options),
        "iou_share": metrics.compute_share_of_ceiling(attention, mask, **options),
        "iou_corrected": metrics.compute_corrected_iou(attention, mask, **options),
    }
    assert_equal(alone, {name: expected[name] for name in alone})


@ON_EITHER
def test_what_exceeds_the_mean_by_rounding_alone_is_not_above_it(score: Any) -> None:
    attention = np.array([[0.1, 0.2, 0.3, 0.1, 0.2, 0.3]])
    found = score(attention, attention > 0.25, selection="mean")
    assert found["attention_area@mean"] == 2 / 6


@ON_EITHER
@pytest.mark.parametrize("sign", SIGNS)
def test_a_map_that_is_not_finite_can_be_dropped(score: Any, sign: Any) -> None:
    attention, mask, boxes = batch_of_maps()
    broken = attention.copy()
    broken[5, 0, 1], broken[5, 2, 2] = np.nan, -np.inf
    expected = columns(score(attention, mask, regions=boxes, sign=sign))
    found = columns(score(broken, mask, regions=boxes, sign=sign, nonfinite="drop"))
    for name, values in found.items():
        lost = np.arange(len(values)) // (4 if name.startswith("regions ") else 1) == 5
        assert np.isnan(values[lost]).all(), name
        assert np.array_equal(values[~lost], expected[name][~lost], equal_nan=True), name


def test_definitions_of_huge_values_do_not_overflow() -> None:
    attention = np.array([[1.7e308, 1.7e308], [1.0, 0.0]])
    mask = np.array([[True, False], [False, False]])
    assert metrics.compute_coverage(attention, mask) == 0.5
    assert metrics.compute_iou(attention, mask, selection="mean").iou == 0.5
    assert metrics.compute_gini(attention) == pytest.approx(0.5, abs=1e-12)
    assert metrics.compute_entropy(attention) == pytest.approx(0.5, abs=1e-12)
    assert metrics.compute_nss(attention, mask) == pytest.approx(1.0, abs=1e-12)


@ON_EITHER
def test_huge_negative_values_do_not_drown_small_ones(score: Any) -> None:
    attention = np.array([[-1e300, 1e-280, 0.0, 3e-280]])
    found = score(attention, np.array([[True, True, False, False]]), sign="positive")
    assert float(found["coverage"]) == pytest.approx(0.25)
