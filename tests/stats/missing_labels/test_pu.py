"""IoU corrected for unlabelled instances: against exact cases and loops over images."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from sightline.core import InputError
from sightline.stats._resample import Weights
from sightline.stats.missing_labels import pu_band, pu_iou

NAN = float("nan")


def study(seed: int = 0, n: int = 60) -> dict[str, Any]:
    """Return labelled regions of some kinds on each image, one or two of each."""
    rng = np.random.default_rng(seed)
    rows = []
    for image in range(n):
        attended = rng.uniform(0.05, 0.2)
        for kind in rng.permutation(["window", "column", "tower"])[: 1 + image % 3]:
            labelled = int(rng.integers(1, 3))
            count = labelled + int(rng.integers(0, 9 if kind == "window" else 3))
            rows += [
                (rng.beta(3, 2), rng.uniform(0.005, 0.02), attended, count, image, str(kind))
                for _ in range(labelled)
            ]
    order = rng.permutation(len(rows))
    columns = zip(*(rows[i] for i in order), strict=True)
    names = ("recall", "area", "attended", "instances", "images", "groups")
    return {name: list(column) for name, column in zip(names, columns, strict=True)}


def slow(data: dict[str, Any], weights: Any = None, *, pooled: bool = True) -> dict[int, float]:
    """Return the corrected IoU of each image, cell by cell."""
    cells: dict[Any, list[Any]] = defaultdict(list)
    for row in zip(*data.values(), strict=True):
        cells[row[4], row[5]].append(row)
    facts = {}
    for key, rows in cells.items():
        area = np.mean([row[1] for row in rows])
        recall = sum(row[0] * row[1] for row in rows) / sum(row[1] for row in rows)
        facts[key] = (recall, max(rows[0][3], len(rows)), area)
    stratum = {key: sum(n >= edge for edge in (3, 5, 8)) for key, (_, n, _) in facts.items()}
    sizes: dict[Any, int] = defaultdict(int)
    for image, kind in facts:
        sizes[kind, stratum[image, kind]] += 1
    pools: dict[Any, Any] = {}
    for image, kind in facts:
        name = (kind, stratum[image, kind])
        pools[image, kind] = name if sizes[name] >= 10 else (None, name[1])
    ious = {}
    for one in {image for image, _ in facts}:
        attended = next(row[2] for rows in cells.values() for row in rows if row[4] == one)
        hits = whole = 0.0
        for (image, kind), (recall, n, area) in facts.items():
            if image != one:
                continue
            alike = [key for key in facts if pools[key] == pools[image, kind]]
            times = [1.0 if weights is None else weights[key[0]] for key in alike]
            if pooled and any(times):  # else the image is not in the resample
                recall = np.average([facts[key][0] for key in alike], weights=times)
            whole += n * area
            hits += recall * n * area
        whole = min(whole, 1.0)
        hits = min(hits, attended, whole)
        ious[one] = hits / (attended + whole - hits)
    return ious


def call(data: dict[str, Any], **options: Any) -> Any:
    given = (data[name] for name in ("recall", "area", "attended", "instances"))
    return pu_iou(*given, images=data["images"], groups=data["groups"], **options)


def test_it_is_that_of_the_loop_over_images() -> None:
    data = study()
    found, own = call(data, pooled=True, resamples=10), call(data, resamples=10)
    for result, expected in ((found, slow(data)), (own, slow(data, pooled=False))):
        assert result.images == tuple(dict.fromkeys(data["images"]))
        np.testing.assert_allclose(result.iou, [expected[i] for i in result.images], atol=1e-12)
        assert result.value == pytest.approx(np.mean(list(expected.values())))
        assert (result.n, result.undefined, result.reason) == (60, 0, "")
    assert found.own == own.own == own.value
    assert found.pooled == own.pooled == found.value


def test_images_are_resampled_and_recall_pooled_anew() -> None:
    data = study(1, 12)
    found = call(data, pooled=True, resamples=40, seed=7, confidence=0.8)
    draws = []
    for row in np.concatenate([block for _, block in Weights(12, 40, 7)]):
        weights = dict(zip(found.images, row, strict=True))
        ious = slow(data, weights)
        draws.append(sum(weights[i] * ious[i] for i in ious) / 12)
    np.testing.assert_allclose((found.low, found.high), np.quantile(draws, [0.1, 0.9]), atol=1e-12)
    own = call(data, resamples=40, seed=7)
    times = np.concatenate([block for _, block in Weights(12, 40, 7)])
    np.testing.assert_allclose(
        (own.low, own.high), np.quantile(times @ own.iou / 12, [0.025, 0.975]), atol=1e-12
    )


def test_with_every_instance_labelled_nothing_is_corrected() -> None:
    """Two instances of 0.02 and 0.04 with recalls 0.5 and 1: IoU 0.05 / (0.1 + 0.06 − 0.05)."""
    found = pu_iou([0.5, 1.0], [0.02, 0.04], 0.1, [2, 2], images=["a", "a"])
    assert found.value == pytest.approx(0.05 / 0.11)
    assert found.reason == "too few images: 1, an interval needs 5"
    assert np.isnan([found.low, found.high]).all()


def test_pooled_recall_is_that_of_images_with_similar_counts() -> None:
    recall, counts = [0.2, 0.4, 0.9, 0.7], [1, 2, 3, 4]
    found = pu_iou(recall, [0.02] * 4, 0.1, counts, images=range(4), pooled=True)
    hits = np.array([0.3 * 0.02, 0.3 * 0.04, 0.8 * 0.06, 0.8 * 0.08])
    whole = np.array([0.02, 0.04, 0.06, 0.08])
    np.testing.assert_allclose(found.iou, hits / (0.1 + whole - hits))
    all_in_one = pu_iou(recall, [0.02] * 4, 0.1, counts, images=range(4), strata=(), pooled=True)
    hits = 0.55 * whole
    np.testing.assert_allclose(all_in_one.iou, hits / (0.1 + whole - hits))


COUNT, AREA, ATTENDED = 6, 0.02, 0.1


def simulate_errors(
    recall: np.ndarray, area: np.ndarray | float = AREA, seed: int = 0
) -> tuple[float, ...]:
    """Return how far own and pooled estimates are off, by recall (images, instances).

    One instance of each image is labelled, at random.
    """
    rng = np.random.default_rng(seed)
    images = len(recall)
    areas = np.broadcast_to(area, images)
    hits, whole = recall.mean(1) * COUNT * areas, COUNT * areas
    truth = (hits / (ATTENDED + whole - hits)).mean()
    labelled = recall[np.arange(images), rng.integers(COUNT, size=images)]
    found = pu_iou(labelled, areas, ATTENDED, [COUNT] * images, images=range(images), resamples=1)
    assert found.value == found.own
    return found.own / truth - 1, found.pooled / truth - 1


def test_own_recall_is_right_where_images_differ_and_their_instances_do_not() -> None:
    recall = np.random.default_rng(1).choice([0.05, 0.7], (400, 1))
    own, pooled = simulate_errors(np.repeat(recall, COUNT, axis=1))
    assert own == pytest.approx(0, abs=1e-12)
    assert pooled < -0.1


def test_pooled_recall_is_right_where_instances_differ_and_images_do_not() -> None:
    recall = np.random.default_rng(2).choice([0.05, 0.7], (4000, COUNT))
    own, pooled = simulate_errors(recall)
    assert own > 0.1
    assert abs(pooled) < 0.05


def test_pooled_recall_is_too_high_where_recall_falls_with_area() -> None:
    area = np.tile([0.005, 0.06], 200)
    recall = np.where(area < 0.01, 0.9, 0.1)
    own, pooled = simulate_errors(np.repeat(recall[:, None], COUNT, axis=1), area)
    assert own == pytest.approx(0, abs=1e-12)
    assert pooled > 0.1


def test_kinds_are_pooled_apart_once_they_have_ten_images() -> None:
    def values(count: int) -> np.ndarray:
        recall = [0.2] * count + [0.8] * count
        kinds = ["window"] * count + ["door"] * count
        images, counts = range(2 * count), [2] * 2 * count
        found = pu_iou(
            recall, [0.02] * 2 * count, 0.1, counts, images=images, groups=kinds, pooled=True
        )
        return np.asarray(found.iou)

    few, enough = values(9), values(10)
    assert np.ptp(few) == 0
    assert enough[0] == pytest.approx(0.2 * 0.04 / (0.14 - 0.2 * 0.04))
    assert enough[-1] == pytest.approx(0.8 * 0.04 / (0.14 - 0.8 * 0.04))


def test_no_more_is_hit_or_annotated_than_there_is() -> None:
    found = pu_iou([1.0, 0.5], [0.1, 0.5], [0.2, 0.9], [5, 4], images=["a", "b"])
    assert found.iou[0] == pytest.approx(0.2 / 0.5)
    assert found.iou[1] == pytest.approx(0.9 / 1.0)  # 4 × 0.5 × 0.5 = 1 is more than was selected


def test_a_count_is_at_least_that_of_the_labels() -> None:
    two = pu_iou([0.5, 0.5], [0.02, 0.02], 0.1, [1, 1], images=["a", "a"])
    right = pu_iou([0.5, 0.5], [0.02, 0.02], 0.1, [2, 2], images=["a", "a"])
    assert two.value == right.value


def test_undefined_regions_are_counted() -> None:
    found = pu_iou(
        [0.5, NAN, 0.5, 0.5], [0.02, 0.02, 0.0, 0.02], [0.1, 0.1, 0.1, NAN], [3] * 4, images="abcd"
    )
    assert (found.n, found.undefined, found.images) == (1, 3, ("a",))
    nothing = pu_iou([], [], 0.1, [], images=[])
    assert (nothing.n, nothing.reason) == (0, "no labelled region")
    assert np.isnan([nothing.value, nothing.low, nothing.high, nothing.own]).all()


def test_a_band_runs_over_the_frequencies() -> None:
    data = study(2)
    given = (data["recall"], data["area"], data["attended"])
    who = {"images": data["images"], "groups": data["groups"]}
    band = pu_band(*given, **who, frequency=(0.25, 1.0), steps=4)
    np.testing.assert_allclose(band.frequencies, [0.25, 0.5, 0.75, 1.0])
    cells = list(zip(data["images"], data["groups"], strict=True))
    own = pu_band(*given, **who, frequency=(0.25, 1.0), steps=4, pooled=False)
    for i, frequency in enumerate(band.frequencies):
        counts = [cells.count(cell) / frequency for cell in cells]
        expected = pu_iou(*given, counts, **who, resamples=2)
        assert band.values[i] == pytest.approx(expected.pooled, abs=1e-12)
        assert own.values[i] == pytest.approx(expected.own, abs=1e-12)
    np.testing.assert_allclose(band.iou.mean(1), band.values)
    assert band.images == tuple(dict.fromkeys(data["images"]))
    assert (band.low, band.high) == (band.values.min(), band.values.max())
    assert band.low < band.high
    assert band.n == 60
    known = pu_band(*given, **who, frequency=(0.5, 0.5))
    assert known.low == known.high == pytest.approx(band.values[1])
    assert len(known.values) == 1
    assert np.isnan(pu_band([], [], 0.1, images=[]).low)


def test_a_band_is_nearer_by_pooled_recall_where_nothing_is_missing_on_some_images() -> None:
    """One frequency scales every image, also those on which everything is labelled."""
    rng = np.random.default_rng(3)
    counts = np.tile([1, 1, 4], 100)
    recall = rng.beta(1, 2, 300) * np.where(counts == 1, 1.0, 0.5)
    area = np.where(counts == 1, 0.04, 0.02)
    hits, whole = recall * area * counts, area * counts
    truth = (hits / (ATTENDED + whole - hits)).mean()
    share = 300 / counts.sum()
    given = (recall, area, ATTENDED)
    band = pu_band(*given, images=range(300), frequency=(share, share))
    own = pu_band(*given, images=range(300), frequency=(share, share), pooled=False)
    assert own.low > 1.1 * truth
    assert abs(band.low - truth) < 0.6 * (own.low - truth)


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(InputError, match="one entry for each region; got 2, 1 and 2"):
        pu_iou([0.5, 0.5], [0.1], 0.1, [1, 1], images="ab")
    with pytest.raises(InputError, match="groups must hold one entry for each of 2 regions; got 1"):
        pu_iou([0.5, 0.5], [0.1, 0.1], 0.1, [1, 1], images="ab", groups=["x"])
    with pytest.raises(InputError, match="strata must rise"):
        pu_iou([0.5], [0.1], 0.1, [1], images="a", strata=(5, 3))
    for frequency in ((0.0, 0.5), (0.6, 0.5), (0.5, 1.1)):
        with pytest.raises(InputError, match="frequency must be"):
            pu_band([0.5], [0.1], 0.1, images="a", frequency=frequency)
    for call, message in (
        (lambda: pu_iou([5.0], [0.1], 0.1, [1], images="a"), "recall must hold shares"),
        (lambda: pu_iou([0.5], [40.0], 0.1, [1], images="a"), "area must hold shares.*got 40"),
        (lambda: pu_iou([0.5], [0.1], [0.1, 0.2], [1], images="a"), "attended must be one number"),
        (lambda: pu_iou([0.5], [0.1], 0.1, [1, 2], images="a"), "instances must be one number"),
        (lambda: pu_iou([0.5], [0.1], 0.1, [1], images="a", confidence=2), "confidence must lie"),
        (lambda: pu_iou([0.5], [0.1], 0.1, [1], images="a", resamples=0), "resamples must be"),
        (lambda: pu_band([0.5], [0.1], 0.1, images="a", steps=0), "steps must be at least 1"),
    ):
        with pytest.raises(InputError, match=message):
            call()


def test_tensors_are_read() -> None:
    torch = pytest.importorskip("torch")
    recall, area = [0.5, 0.6, 0.7], [0.1, 0.1, 0.2]
    images, counts = [0, 1, 1], [2, 3, 3]
    plain = pu_iou(recall, area, 0.1, counts, images=images)
    first, second = (torch.tensor(values, dtype=torch.float64) for values in (recall, area))
    found = pu_iou(first, second, 0.1, torch.tensor(counts), images=torch.tensor(images))
    assert found.images == plain.images == (0, 1)
    np.testing.assert_array_equal(found.iou, plain.iou)
