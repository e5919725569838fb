"""Curves, average precision, its mean and the best threshold, against slow loops."""

from __future__ import annotations

import contextlib
import io
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.core import InputError
from sightline.detection.ap import (
    best_f1,
    calculate_ap,
    calculate_ap_per_class,
    calculate_map,
    calculate_pr_data,
    class_counts_at,
    matches_pr_data,
)
from sightline.detection.confusion import generate_confusion_matrix
from sightline.detection.matching import match_dataset, match_predictions
from sightline.detection.sizes import calculate_map_by_size
from tests.detection import detected
from tests.reference import detection as slow

RESULTS = st.lists(
    st.tuples(st.sampled_from(detected.SCORES), st.booleans(), st.sampled_from([1, 2])), max_size=12
)


def counts_for(results: list[Any], more: dict[int, int]) -> dict[int, int]:
    hits = {label: sum(row[1] for row in results if row[2] == label) for label in more}
    return {label: hits[label] + extra for label, extra in more.items()}


MORE = st.fixed_dictionaries({1: st.integers(0, 2), 2: st.integers(0, 2)})


def test_arguments_have_the_names_that_are_documented() -> None:
    results, counts = match_predictions(predictions=[], ground_truths=[], iou_threshold=0.5)
    data = calculate_pr_data(all_match_results=results, all_num_gt_per_class=counts)
    assert data == {}
    assert calculate_ap(precision=[1.0], recall=[0.5]) == 0.5
    assert calculate_map(ap_scores_per_class={1: 0.5}) == 0.5
    sizes = {"small": (0, 10)}
    by_size = calculate_map_by_size(
        predictions=[], ground_truths=[], gt_areas=[], size_ranges=sizes, iou_threshold=0.5
    )
    assert by_size == {"small": 0.0}
    matrix, labels = generate_confusion_matrix(
        predictions=[], ground_truths=[], iou_threshold=0.5, confidence_threshold=0.25,
        target_classes=[3],
    )  # fmt: skip
    assert matrix.shape == (3, 3)
    assert labels == [3, "Others", "Background"]


def test_the_worked_example_with_its_rounded_recalls() -> None:
    recall, precision = [0.33, 0.67, 0.67, 1.0, 1.0], [1.0, 1.0, 0.67, 0.75, 0.6]
    assert calculate_ap(precision, recall) == pytest.approx(0.9175, abs=1e-12)


def test_the_worked_example_interval_by_interval() -> None:
    recall, precision = [0.33, 0.67, 0.67, 1.0, 1.0], [1.0, 1.0, 0.67, 0.75, 0.6]
    # What comes after a recall is all that raises precision before it.
    sums = [calculate_ap(precision[:n], recall[:n]) for n in range(6)]
    assert sums == pytest.approx([0.0, 0.33, 0.67, 0.67, 0.9175, 0.9175], abs=1e-12)
    gains = np.diff(np.array(sums)[[0, 1, 2, 4]])
    assert gains.tolist() == pytest.approx([0.33, 0.34, 0.2475], abs=1e-12)
    falling = calculate_ap([0.5, 1.0], [0.5, 1.0])
    assert falling == 1.0  # the best precision from each recall on
    assert calculate_ap([0.25], [0.5]) == 0.125  # the point at recall 0 adds no area


def test_one_empty_list_is_enough_for_zero() -> None:
    assert calculate_ap([], [0.5]) == calculate_ap([0.5], []) == 0.0
    assert calculate_ap(np.zeros(0), np.zeros(0), interpolation="voc11") == 0.0


def test_the_worked_example_with_exact_thirds() -> None:
    hits = [True, True, False, True, False]
    results = [(0.9 - i / 10, hit, "cat") for i, hit in enumerate(hits)]
    data = calculate_pr_data(results, {"cat": 3})["cat"]
    assert data["precision"].tolist() == [1.0, 1.0, 2 / 3, 0.75, 0.6]
    assert data["recall"].tolist() == [1 / 3, 2 / 3, 2 / 3, 1.0, 1.0]
    assert data["confidence"].tolist() == [row[0] for row in results]
    assert data["num_gt"] == 3
    ap = calculate_ap(data["precision"], data["recall"])
    assert ap == pytest.approx(11 / 12, abs=1e-15)


@given(RESULTS, MORE)
def test_curves_and_ap_equal_slow_loops(results: list[Any], more: dict[int, int]) -> None:
    counts = counts_for(results, more)
    data = calculate_pr_data(results, counts)
    found: dict[str, dict[Any, float]] = {
        kind: calculate_ap_per_class(data, interpolation=kind)
        for kind in ("all_points", "coco101", "voc11")
    }
    for label in data:
        precision, recall = slow.curve(results, label, counts[label])
        np.testing.assert_array_equal(data[label]["precision"], precision)
        np.testing.assert_array_equal(data[label]["recall"], recall)
        if not counts[label]:
            assert all(math.isnan(values[label]) for values in found.values())
            continue
        assert found["all_points"][label] == pytest.approx(slow.area(precision, recall), abs=1e-14)
        for kind, points in (("coco101", 101), ("voc11", 11)):
            expected = slow.sampled(precision, recall, points)
            assert found[kind][label] == pytest.approx(expected, abs=1e-14)


@given(detected.images(), detected.LIMITS)
def test_matches_of_a_data_set_give_the_same_curves(
    scene: tuple[list[Any], list[Any]], limit: float
) -> None:
    parts = [match_predictions(p, t, limit) for p, t in zip(*scene, strict=True)]
    by_hand = calculate_pr_data([part[0] for part in parts], [part[1] for part in parts])
    at_once = matches_pr_data(match_dataset(*scene, limit))
    assert list(by_hand) == list(at_once)
    for label, data in by_hand.items():
        for name in ("precision", "recall", "confidence", "num_gt"):
            np.testing.assert_array_equal(data[name], at_once[label][name])
    value = calculate_map(calculate_ap_per_class(at_once))
    assert value == pytest.approx(slow.mean_ap(*scene, limit), abs=1e-14)


@given(detected.images(whole=True, difficult=True), detected.LIMITS)
def test_voc_equals_the_steps_of_the_development_kit(
    scene: tuple[list[Any], list[Any]], limit: float
) -> None:
    data = matches_pr_data(match_dataset(*scene, limit, protocol="voc"))
    area = calculate_ap_per_class(data)
    points = calculate_ap_per_class(data, interpolation="voc11")
    for label in data:
        precision, recall = slow.devkit(*scene, label, limit)
        np.testing.assert_array_equal(data[label]["precision"], precision)
        np.testing.assert_array_equal(data[label]["recall"], recall)
        if not data[label]["num_gt"]:
            assert math.isnan(area[label])
            continue
        assert area[label] == pytest.approx(slow.devkit_ap(precision, recall), abs=1e-14)
        assert points[label] == pytest.approx(slow.sampled(precision, recall, 11), abs=1e-14)


@given(detected.images(difficult=True), detected.LIMITS, st.sampled_from([0.0, 0.25, 0.5, 0.9, 2]))
def test_counts_at_a_confidence(
    scene: tuple[list[Any], list[Any]], limit: float, least: float
) -> None:
    matches = match_dataset(*scene, limit)
    results = [
        row for p, t in zip(*scene, strict=True) for row in match_predictions(p, t, limit)[0]
    ]
    found = class_counts_at(matches, least)
    assert tuple(found) == matches.labels
    for i, (label, each) in enumerate(found.items()):
        expected = slow.counts_at(results, label, int(matches.num_gt[i]), least)
        assert (each.label, each.tp, each.fp, each.fn) == (label, *expected)
    plain = [[row[:2] for row in true] for true in scene[1]]
    matrix = generate_confusion_matrix(
        scene[0], plain, limit, least, list(matches.labels), matching="same_class"
    )
    assert str(matrix.class_counts()[:-1]) == str(tuple(found.values()))


def test_shares_at_a_confidence() -> None:
    box, far = (0, 0, 10, 10), (50, 0, 60, 10)
    rows = [[box, 0.9, "a"], [far, 0.5, "a"], [box, 0.4, "b"], [far, 0.9, "d"]]
    truths: Any = [[box, "a"], [box, "b"], [far, "c"], [far, "d", True]]
    matches = match_dataset([rows], [truths], protocol="voc")
    found = class_counts_at(matches, 0.5)
    assert found["a"] == ("a", 1, 1, 0, 0.5, 1.0, 2 / 3)
    assert str(found["b"]) == str(found["b"]._replace(precision=math.nan, recall=0.0, f1=0.0))
    assert (found["c"].fn, found["c"].recall) == (1, 0.0)
    assert str(found["d"][1:]) == "(0, 0, 0, nan, nan, nan)"  # it found a difficult one
    single: Any = np.float32(0.4)
    assert class_counts_at(matches, single)["b"].tp == 0  # 0.4 as float32 is higher
    assert class_counts_at(matches, 0.4)["b"].tp == 1
    for wrong in (math.nan, None, "0.5"):
        with pytest.raises(InputError, match="confidence must be a number"):
            class_counts_at(matches, wrong)  # type: ignore[arg-type]


@given(RESULTS, MORE)
def test_best_f1_equals_trying_every_threshold(results: list[Any], more: dict[int, int]) -> None:
    counts = counts_for(results, more)
    for label, data in calculate_pr_data(results, counts).items():
        rows = [row for row in results if row[2] == label]
        found = best_f1(data)
        if not counts[label]:
            assert all(math.isnan(value) for value in found)
            continue
        assert found.f1 == pytest.approx(slow.best_f1(rows, counts[label]), abs=1e-15)
        kept = [row for row in rows if row[0] >= found.threshold]
        hits = sum(row[1] for row in kept)
        if rows:
            assert found.precision == hits / len(kept)
            assert found.recall == hits / counts[label]


@pytest.mark.parametrize("seed", range(3))
def test_ap_of_a_data_set_is_that_of_pycocotools(seed: int) -> None:
    from pycocotools import coco, cocoeval

    rng = np.random.default_rng(seed)
    n, spread = 60, 260
    true = np.hstack([rng.uniform(0, 90, (n, 2)), rng.uniform(5, 60, (n, 2))])
    source = rng.integers(0, n, spread)
    box = true[source] * rng.uniform(0.8, 1.25, (spread, 4))
    images, labels = rng.integers(0, 6, n), rng.integers(1, 4, n)
    label = np.where(rng.random(spread) < 0.8, labels[source], rng.integers(1, 4, spread))
    score = rng.permutation(spread) / spread
    truth = coco.COCO()
    truth.dataset = {
        "images": [{"id": i} for i in range(6)],
        "categories": [{"id": k} for k in (1, 2, 3)],
        "annotations": [
            {"id": j + 1, "image_id": int(images[j]), "category_id": int(labels[j])}
            | {"bbox": true[j].tolist(), "area": float(true[j, 2] * true[j, 3]), "iscrowd": 0}
            for j in range(n)
        ],
    }
    with contextlib.redirect_stdout(io.StringIO()):
        truth.createIndex()
        found = truth.loadRes(
            np.column_stack([images[source], box, score, label]).astype(np.float64)
        )
        judge = cocoeval.COCOeval(truth, found, "bbox")
        judge.params.maxDets = [1, 10, 1000]
        judge.evaluate()
        judge.accumulate()
    columns = SimpleNamespace(image=images[source], label=label, box=box, score=score)
    truths = SimpleNamespace(image=images, label=labels, box=true)
    for t, limit in enumerate(judge.params.iouThrs):
        data = matches_pr_data(match_dataset(columns, truths, limit))
        ours = calculate_ap_per_class(data, interpolation="coco101")
        theirs = judge.eval["precision"][t, :, :, 0, 2].mean(axis=0)
        assert [ours[k] for k in (1, 2, 3)] == pytest.approx(theirs.tolist(), abs=1e-12)


def test_a_threshold_keeps_equal_scores_together() -> None:
    data = calculate_pr_data([(0.5, True, 1), (0.5, False, 1)], {1: 1})
    assert best_f1(data[1]) == (0.5, 2 / 3, 0.5, 1.0)
    lists: Any = {"precision": [1.0], "recall": [0.5], "confidence": [0.5], "num_gt": 2}
    assert best_f1(lists) == (0.5, 2 / 3, 1.0, 0.5)


def test_no_predictions() -> None:
    data = calculate_pr_data([], {1: 2, 2: 0})
    assert calculate_ap_per_class(data)[1] == 0.0
    assert math.isnan(calculate_ap_per_class(data)[2])
    found = best_f1(data[1])
    assert (found.f1, found.recall) == (0.0, 0.0)
    assert math.isnan(found.threshold)
    assert calculate_pr_data([], {}) == {}
    assert calculate_ap([], []) == 0.0
    assert calculate_ap(iter([0.5]), iter([1.0])) == 0.5


def test_mean_skips_what_is_undefined() -> None:
    assert calculate_map({}) == 0.0
    assert calculate_map({1: math.nan, 2: None, 3: "x", 4: True}) == 0.0
    assert calculate_map({1: np.float32(0.5), 2: 1, 3: math.nan}) == 0.75


def test_mean_takes_numbers_of_any_kind() -> None:
    torch = pytest.importorskip("torch")
    assert calculate_map({1: torch.tensor(0.5), 2: np.array(1.0), 3: np.float32(0.0)}) == 0.5


def test_results_in_any_form() -> None:
    rows = [(0.9, True, 1), (0.4, False, 1), (0.3, True, 2)]
    expected = calculate_pr_data(rows, {1: 1, 2: 1, 3: 2})
    for form in (
        iter(rows),
        [list(row) for row in rows],
        [rows[:2], [], rows[2:]],
        (iter(part) for part in (rows[:2], [], rows[2:])),
        [(np.float64(s), np.bool_(t), np.int64(k)) for s, t, k in rows],
        [(s, int(t), k) for s, t, k in rows],
    ):
        counts: Any = iter([{1: 1}, {2: 1.0, np.int64(3): 2}])
        found = calculate_pr_data(form, counts)
        assert str(found) == str(expected)
    assert list(expected) == [1, 2, 3]  # those with predictions or with ground truths
    assert expected[3]["num_gt"] == 2
    assert calculate_pr_data([[], []], {}) == {}


def test_a_class_without_ground_truth_has_no_recall_but_precision() -> None:
    data = calculate_pr_data([(0.9, False, "x"), (0.8, False, "x")], {})["x"]
    assert np.isnan(data["recall"]).all()
    assert data["precision"].tolist() == [0.0, 0.0]
    assert data["num_gt"] == 0
    assert math.isnan(calculate_ap(data["precision"], data["recall"]))


def test_inputs_stay_as_they_are() -> None:
    results = [(0.1, False, 1), (0.9, True, 1)]
    precision, recall = np.array([0.5, 1.0]), np.array([0.5, 1.0])
    for array in (precision, recall):
        array.flags.writeable = False
    calculate_pr_data(results, {1: 1})
    calculate_ap(precision, recall)
    assert results == [(0.1, False, 1), (0.9, True, 1)]


@pytest.mark.parametrize(
    ("precision", "recall", "words"),
    [
        ([1.0], [0.5, 1.0], "one length"),
        ([1.0, 1.0], [1.0, 0.5], "rise"),
        ([1.0], [1.5], "0 and 1"),
        ([math.nan], [0.5], "precision"),
        ([2.0], [0.5], "precision must lie within 0 and 1"),
        ([math.inf], [0.5], "precision must lie within 0 and 1"),
        ([-0.1], [0.5], "precision must lie within 0 and 1"),
        (["a"], [0.5], "precision must be numbers"),
        ([0.5], [{}], "recall must be numbers"),
    ],
)
def test_errors_name_what_is_wrong(precision: Any, recall: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        calculate_ap(precision, recall)


def test_results_and_counts_are_checked() -> None:
    with pytest.raises(InputError, match=r"\(score, is_tp, class_id\)"):
        calculate_pr_data([(0.5, True)], {})
    with pytest.raises(InputError, match="whole number; got -1"):
        calculate_pr_data([], {1: -1})
    odd: Any
    for odd in ({1: 1.5}, {1: math.nan}, {1: "2"}, {1: None}):
        with pytest.raises(InputError, match="class 1 must be a whole number"):
            calculate_pr_data([], odd)
    for score in (math.nan, math.inf, None, "0.5", True):
        with pytest.raises(InputError, match="finite number; got"):
            calculate_pr_data([(score, True, 1)], {1: 1})
    for label in (None, 0.5, True, (1,)):
        with pytest.raises(InputError, match="class id must be an integer or a string"):
            calculate_pr_data([(0.5, True, label)], {})
    for wrong in (-1, None, "yes", 0.5):
        with pytest.raises(InputError, match="is_tp"):
            calculate_pr_data([(0.5, wrong, 1)], {1: 1})
    for odd in ([3], ["abc"], [{}], [[(0.5, True)], []]):
        with pytest.raises(InputError, match=r"\(score, is_tp, class_id\)"):
            calculate_pr_data(odd, {})
    with pytest.raises(InputError, match="strings everywhere"):
        calculate_pr_data([(0.5, True, 1)], {"1": 1})
    with pytest.raises(InputError, match="as many ground truths as true positives, 2; got 1"):
        calculate_pr_data([(0.5, True, 1)] * 2, {1: 1})
    with pytest.raises(InputError, match="as many ground truths as true positives, 1; got 0"):
        calculate_pr_data([(0.5, True, 1)], {})
    with pytest.raises(InputError, match="class id must be an integer or a string"):
        calculate_pr_data([(0.5, False, [1])], {})
    for odd in (None, 3):
        with pytest.raises(InputError, match="match results must be a list"):
            calculate_pr_data(odd, {})
    for odd in (None, 3, [3], "ab"):
        with pytest.raises(InputError, match="counted by class id; got"):
            calculate_pr_data([], odd)
    for odd in (None, [0.5]):
        with pytest.raises(InputError, match="a mapping from class id to AP; got"):
            calculate_map(odd)
    kind: Any = "coco"
    with pytest.raises(InputError, match="interpolation"):
        calculate_ap([], [], interpolation=kind)
