"""The front: figures of three protocols, by class, with curves and errors."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.core import InputError
from sightline.detection import (
    FIGURES,
    Detections,
    GroundTruth,
    calculate_ap,
    calculate_map_by_size,
    evaluate_detections,
)
from sightline.detection.coco import SIZE_RANGES
from tests.detection.detected import images as plain_sets
from tests.detection.test_coco import (
    CLASSES,
    Row,
    assert_same,
    columns,
    found_row,
    sets,
    theirs,
    truth_row,
)
from tests.reference import detection as reference

BOX = (0.0, 0.0, 40.0, 40.0)


def flags_dropped(truths: list[Any]) -> list[Any]:
    return [[item[:2] for item in image] for image in truths]


@settings(max_examples=60, deadline=None)
@given(sets())
def test_the_arrays_and_figures_are_pycocotools(case: tuple[list[Row], list[Row]]) -> None:
    results = evaluate_detections(*columns(*case))
    evaluation = theirs(*case)
    assert results.arrays is not None
    assert_same(results.arrays, evaluation)
    expected = np.where(evaluation.stats == -1, np.nan, evaluation.stats)
    np.testing.assert_array_equal([results.figures[name] for name in FIGURES], expected)


@settings(max_examples=40, deadline=None)
@given(sets())
def test_a_class_has_the_figures_of_its_cells(case: tuple[list[Row], list[Row]]) -> None:
    evaluation, results = theirs(*case), evaluate_detections(*columns(*case))
    figures = results.class_figures()
    for k, label in enumerate(CLASSES):
        for name, cells in (
            ("AP", evaluation.eval["precision"][:, :, k, 0, 2]),
            ("AP75", evaluation.eval["precision"][5, :, k, 0, 2]),
            ("APm", evaluation.eval["precision"][:, :, k, 2, 2]),
            ("AR1", evaluation.eval["recall"][:, k, 0, 0]),
            ("ARs", evaluation.eval["recall"][:, k, 1, 2]),
        ):
            defined = cells[cells > -1]
            expected = np.mean(defined) if defined.size else np.nan
            np.testing.assert_array_equal(figures[label][name], expected, name)


@settings(max_examples=60, deadline=None)
@given(sets(), st.sampled_from(["all", "small", "medium", "large"]), st.integers(0, 9))
def test_curves_give_the_precision_of_the_arrays(
    case: tuple[list[Row], list[Row]], size: str, place: int
) -> None:
    """At each recall the best precision from there on, read off the raw points."""
    results = evaluate_detections(*columns(*case))
    assert results.arrays is not None
    a = list(SIZE_RANGES).index(size)
    curves = results.pr_curves(results.settings.iou_thresholds[place], size=size)
    for k, label in enumerate(CLASSES):
        data, total = curves[label], results.arrays.ground_truths[k, a]
        assert data["num_gt"] == total
        if not total:
            assert np.isnan(data["recall"]).all()
            continue
        assert (np.diff(data["confidence"]) <= 0).all()
        expected = results.arrays.precision[place, :, k, a, -1]
        for r, point in enumerate(np.linspace(0, 1, 101)):
            rest = data["precision"][data["recall"] >= point]
            assert expected[r] == pytest.approx(rest.max(initial=0.0), abs=1e-12)
        reached = results.arrays.recall[place, k, a, -1]
        assert (data["recall"][-1] if len(data["recall"]) else 0.0) == reached


def test_a_curve_takes_no_more_than_the_limit() -> None:
    truth = GroundTruth.from_arrays([1], [1], [[0, 0, 9, 9]])
    found = Detections.from_arrays([1] * 3, [1] * 3, [[0, 0, 9, 9]] * 3, [0.9, 0.8, 0.7])
    results = evaluate_detections(truth, found, max_dets=(1, 2))
    assert results.pr_curves()[1]["confidence"].tolist() == [0.9, 0.8]
    assert results.figures["AR1"] == 1.0
    assert math.isnan(results.figures["AR100"])


@settings(max_examples=60, deadline=None)
@given(plain_sets(difficult=True), st.sampled_from([0.25, 0.5, 0.75]))
def test_voc_follows_its_steps(case: tuple[list[Any], list[Any]], limit: float) -> None:
    predictions, truths = case
    results = evaluate_detections(truths, predictions, protocol="voc", iou_thresholds=limit)
    judged, counts = [], dict.fromkeys(results.classes, 0)
    for found, true in zip(predictions, truths, strict=True):
        hits = reference.voc(found, true, limit)
        judged += [(p[1], hit, p[2]) for p, hit in zip(found, hits, strict=True) if hit >= 0]
        for _, label, difficult in true:
            counts[label] += not difficult
    expected = []
    for label, n in counts.items():
        rows = [(score, hit == 1, name) for score, hit, name in judged]
        ap = reference.area(*reference.curve(rows, label, n)) if n else math.nan
        assert results.class_figures()[label]["AP"] == pytest.approx(ap, nan_ok=True)
        expected += [ap] if n else []
    mean = np.mean(expected) if expected else math.nan
    assert results.figures["AP"] == pytest.approx(mean, nan_ok=True)
    assert results.settings.pixel == "inclusive"
    assert set(results.without_ground_truth) == {label for label, n in counts.items() if not n}


@settings(max_examples=60, deadline=None)
@given(plain_sets())
def test_simple_follows_its_steps(case: tuple[list[Any], list[Any]]) -> None:
    predictions, truths = case[0], flags_dropped(case[1])
    results = evaluate_detections(
        truths, predictions, protocol="simple", iou_thresholds=[0.5, 0.75]
    )
    expected = [reference.mean_ap(predictions, truths, limit) for limit in (0.5, 0.75)]
    assert results.figures["AP50"] == pytest.approx(expected[0])
    assert results.figures["AP75"] == pytest.approx(expected[1])
    if results.classes and any(truths):
        assert results.figures["AP"] == pytest.approx(np.mean(expected))
    sizes = [calculate_map_by_size(predictions, truths, None, iou_threshold=t) for t in (0.5, 0.75)]
    for letter, name in (("s", "small"), ("m", "medium"), ("l", "large")):
        assert results.figures[f"AP{letter}"] == pytest.approx(np.mean([s[name] for s in sizes]))


def test_nothing_to_find_is_0_by_the_plain_steps_and_undefined_by_the_others() -> None:
    found: list[Any] = [[[BOX, 0.9, "cat"]]]
    truth: list[Any] = [[]]
    assert evaluate_detections(truth, found, protocol="simple").figures["AP"] == 0.0
    assert math.isnan(evaluate_detections(truth, found, protocol="voc").figures["AP"])
    assert math.isnan(evaluate_detections(truth, found).figures["AP"])


@pytest.mark.parametrize("protocol", ["coco", "voc", "simple"])
def test_inputs_stay_as_they_are(protocol: Any) -> None:
    truth = {"a": [[BOX, "cat"]], "b": [[BOX, "dog"]]}
    found = {"b": [[BOX, 0.3, "dog"], [BOX, 0.9, "dog"]], "a": [[BOX, 0.5, "cat"]]}
    kept = copy.deepcopy((truth, found))
    results = evaluate_detections(truth, found, protocol=protocol)
    results.confusion_matrix()
    results.error_types()
    results.by_class()
    assert (truth, found) == kept


@pytest.mark.parametrize("protocol", ["coco", "voc", "simple"])
def test_columns_may_be_read_only(protocol: Any) -> None:
    truth, found = columns(
        [truth_row(1, 1, 1, BOX), truth_row(2, 5, 3, BOX)],
        [found_row(1, 1, BOX, 0.9), found_row(5, 3, BOX, 0.8)],
    )
    for side in (truth, found):
        for name in side.__slots__:
            column = getattr(side, name)
            if isinstance(column, np.ndarray):
                column.setflags(write=False)
    results = evaluate_detections(truth, found, protocol=protocol, pixel="inclusive")
    assert results.figures["AP"] == pytest.approx(1.0)
    assert results.error_types().counts["missed"] == 0
    assert np.trace(results.confusion_matrix().matrix) == 2


# --- pixels --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "own"), [("coco", 0.6), ("simple", 0.6), ("voc", 7 / 11)])
def test_a_pixel_more_moves_an_overlap_over_the_threshold(protocol: Any, own: float) -> None:
    """Widths 10 and 6: 0.6 of each other, and 7/11 where each counts one more."""
    truth = GroundTruth.from_arrays([1], [1], [[0, 0, 10, 0.5]], area=[5])
    found = Detections.from_arrays([1], [1], [[0, 0, 6, 0.5]], [0.9])
    cases: list[tuple[Any, float]] = [(None, own), ("continuous", 0.6), ("inclusive", 7 / 11)]
    for pixel, overlap in cases:
        for limit, hit in ((overlap - 0.01, 1.0), (overlap + 0.01, 0.0)):
            figures = evaluate_detections(
                truth, found, protocol=protocol, pixel=pixel, iou_thresholds=[limit]
            ).figures
            assert figures["AP"] == pytest.approx(hit), (pixel, limit)


def test_files_that_say_how_widths_are_written_are_believed() -> None:
    truth = GroundTruth.from_arrays([1], [1], [[0, 0, 31, 31]], pixel="inclusive")
    found = Detections.from_arrays([1], [1], [[0, 0, 31, 31]], [0.9])
    results = evaluate_detections(truth, found)
    assert results.settings.pixel == "inclusive"
    assert results.figures["APs"] == pytest.approx(1.0)  # 32 × 32: the last of the small ones
    assert results.figures["APm"] == pytest.approx(1.0)
    edges = Detections.from_arrays([1], [1], [[0, 0, 31, 31]], [0.9], pixel="continuous")
    with pytest.raises(InputError, match=r"written alike.*inclusive, those of the detections cont"):
        evaluate_detections(truth, edges)
    assert evaluate_detections(truth, edges, pixel="continuous").settings.pixel == "continuous"


def test_areas_that_are_given_stay_when_boxes_grow() -> None:
    truth = GroundTruth.from_arrays(
        [1, 1], [1, 1], [[0, 0, 31, 31], [50, 0, 31, 31]], area=[961, 9]
    )
    found = Detections.from_arrays([1], [1], [[0, 0, 31, 31]], [0.9])
    counts = evaluate_detections(truth, found, pixel="inclusive").by_class()
    assert counts["ground_truths_medium"].tolist() == [1]  # 32 × 32
    assert counts["ground_truths_small"].tolist() == [2]


# --- classes -------------------------------------------------------------------------------------


def test_classes_without_ground_truth_are_listed_and_left_out() -> None:
    truth = {"a": [[BOX, "cat"]], "b": []}
    found = {"a": [[BOX, 0.9, "cat"]], "b": [[BOX, 0.8, "dog"]]}
    for protocol in ("coco", "voc", "simple"):
        results = evaluate_detections(truth, found, protocol=protocol)
        assert results.figures["AP"] == pytest.approx(1.0)
        assert results.without_ground_truth == ("dog",)
        assert math.isnan(results.class_figures()["dog"]["AP"])


@pytest.mark.parametrize("protocol", ["coco", "voc", "simple"])
def test_detections_of_unlisted_classes_take_no_part_and_are_counted(protocol: Any) -> None:
    truth = GroundTruth.from_arrays(
        [1], [1], [[0, 0, 9, 9]], images=[1, 2], classes=[1, 2], names={1: "cat", 2: "dog"}
    )
    boxes = [[0, 0, 9, 9], [0, 0, 9, 9], [4, 4, 9, 9]]
    found = Detections.from_arrays([1, 1, 2], [1, 7, 7], boxes, [0.5, 0.9, 0.8])
    results = evaluate_detections(truth, found, protocol=protocol)
    assert results.left_out == {7: 2}
    assert results.classes == (1, 2)
    assert results.names == {1: "cat", 2: "dog"}
    assert results.confusion_matrix().class_labels == [1, 2, "Others", "Background"]
    assert results.confusion_matrix().matrix.sum() == 1
    assert sum(results.error_types().counts.values()) == 0
    assert results.images == 2
    assert results.to_dict()["left_out"] == {"7": 2}


def test_the_table_of_classes() -> None:
    truth = GroundTruth.from_arrays(
        [1, 1, 2], [4, 4, 4], [[0, 0, 20, 20], [50, 0, 50, 50], [0, 0, 9, 9]], crowd=[0, 0, 1],
        classes=[3, 4], names={4: "cat"},
    )  # fmt: skip
    boxes = [[0, 0, 20, 20], [50, 0, 50, 50], [90, 90, 5, 5]]
    found = Detections.from_arrays([1, 1, 2], [4, 4, 4], boxes, [0.9, 0.6, 0.7])
    frame = evaluate_detections(truth, found).by_class()
    assert frame["class"].tolist() == [3, 4]
    assert frame["name"].tolist() == ["3", "cat"]
    line = frame.iloc[1]
    assert (line["ground_truths"], line["detections"]) == (2, 3)
    sizes = [line[f"ground_truths_{size}"] for size in ("small", "medium", "large")]
    assert sizes == [1, 1, 0]
    assert (line["threshold"], line["f1"]) == (0.6, pytest.approx(0.8))
    assert (line["precision"], line["recall"]) == (pytest.approx(2 / 3), 1.0)
    assert frame.iloc[0][["AP", "AR100", "f1"]].isna().all()


# --- further ------------------------------------------------------------------------------------


def test_reliability_counts_every_detection_that_is_not_ignored() -> None:
    truth = {"a": [[BOX, "cat"]], "b": [[BOX, "dog"]]}
    found = {"a": [[BOX, 0.95, "cat"]], "b": [[BOX, 0.85, "cat"], [BOX, 0.45, "dog"]]}
    results = evaluate_detections(truth, found)
    whole = results.reliability()
    assert whole.count.sum() == 3
    assert whole.ece == pytest.approx((0.05 + 0.85 + 0.55) / 3)
    assert results.reliability("dog").count.sum() == 1
    with pytest.raises(InputError, match=r"label must be one of .*'cat', 'dog'.*; got 'owl'"):
        results.reliability("owl")


@settings(max_examples=40, deadline=None)
@given(plain_sets(), st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.sampled_from(["voc", "coco"]))
def test_counts_at_a_confidence(case: tuple[list[Any], list[Any]], least: float, kind: Any) -> None:
    """Dropping what is below changes nothing above it."""
    predictions, truths = case[0], flags_dropped(case[1])
    kept = [[p for p in image if p[1] >= least] for image in predictions]
    counts = evaluate_detections(truths, predictions, protocol=kind).counts_at(least)
    for label, data in evaluate_detections(truths, kept, protocol=kind).pr_curves().items():
        n = len(data["recall"])
        hits = round(data["precision"][-1] * n) if n else 0
        expected = (hits, n - hits, data["num_gt"] - hits)
        assert (counts[label].tp, counts[label].fp, counts[label].fn) == expected


def test_one_threshold_is_a_number_or_a_list() -> None:
    truth, found = [[[BOX, 1]]], [[[BOX, 0.9, 1]]]
    one = evaluate_detections(truth, found, iou_thresholds=0.75)
    assert one.settings.iou_thresholds == (0.75,)
    assert one.figures["AP75"] == pytest.approx(1.0)
    assert math.isnan(one.figures["AP50"])
    assert one.pr_curves()[1]["recall"].tolist() == [1.0]  # at the lowest there is


def test_own_sizes_have_a_whole_beside_them() -> None:
    truth, found = [[[BOX, 1]]], [[[BOX, 0.9, 1]]]
    results = evaluate_detections(truth, found, size_ranges={"tiny": (0, 10), "large": (10, 1e9)})
    assert list(results.settings.size_ranges) == ["all", "tiny", "large"]
    assert results.figures["AP"] == results.figures["APl"] == pytest.approx(1.0)
    assert math.isnan(results.figures["APs"])


@pytest.mark.compiles
def test_masks_overlap_where_both_sides_have_them() -> None:
    from pycocotools import mask

    grid = np.zeros((20, 20), np.uint8, order="F")
    grid[:10, :10] = 1
    half = grid.copy(order="F")
    half[5:] = 0
    truth = GroundTruth.from_arrays([1], [1], [[0, 0, 10, 10]], masks=[mask.encode(grid)])
    found = Detections.from_arrays([1], [1], [[0, 0, 10, 10]], [0.9], masks=[mask.encode(half)])
    assert evaluate_detections(truth, found).figures["AP"] == pytest.approx(0.1)
    boxes = evaluate_detections(truth, found, masks=False)
    assert boxes.figures["AP"] == pytest.approx(1.0)
    assert boxes.detections.area.tolist() == [100.0]
    bare = Detections.from_arrays([1], [1], [[0, 0, 10, 10]], [0.9])
    assert evaluate_detections(truth, bare).figures["AP"] == pytest.approx(1.0)
    with pytest.raises(InputError, match="masks on both sides; detections has none"):
        evaluate_detections(truth, bare, masks=True)


@pytest.mark.compiles
def test_intervals_where_asked_for() -> None:
    rng = np.random.default_rng(3)
    truth = {i: [[BOX, "cat"]] for i in range(30)}
    found = {
        i: [[BOX if rng.random() < 0.7 else (50, 50, 60, 60), rng.random(), "cat"]]
        for i in range(30)
    }
    results = evaluate_detections(truth, found, ci=0.9, resamples=200)
    ap = results.intervals["AP"]
    assert ap.low < results.figures["AP"] < ap.high
    frame = results.by_class()
    assert (frame["low"] < frame["AP"]).all()
    assert results.to_dict()["intervals"]["AP"]["low"] == ap.low
    assert evaluate_detections(truth, found).intervals == {}
    with pytest.raises(InputError, match="ci needs protocol='coco'; got 'voc'"):
        evaluate_detections(truth, found, protocol="voc", ci=0.95)


def test_json_has_the_figures_first_and_null_for_undefined() -> None:
    content = evaluate_detections({1: [[BOX, 3]]}, {1: [[BOX, 0.9, 3]]}).to_dict()
    assert list(content)[:12] == list(FIGURES)
    assert content["APs"] is None
    assert content["per_class"][0]["AP"] == pytest.approx(1.0)
    assert json.loads(json.dumps(content, allow_nan=False)) == content


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protocol": "yolo"}, "protocol must be one of coco, voc, simple; got 'yolo'"),
        ({"pixel": "half"}, "pixel must be one of continuous, inclusive; got 'half'"),
        ({"iou_thresholds": [0.5, 1.5]}, "iou_thresholds must be numbers of at least 0"),
        ({"iou_thresholds": []}, "iou_thresholds must be numbers of at least 0"),
        ({"iou_thresholds": [0.5, 0.5]}, "iou_thresholds must differ"),
        ({"iou_thresholds": ["a"]}, r"iou_thresholds must be numbers; got \['a'\]"),
        ({"protocol": "voc", "iou_thresholds": 0.0}, "iou_thresholds must be numbers above 0"),
        ({"protocol": "voc", "size_ranges": {"a": (0, 1)}}, "size_ranges must not be given"),
        ({"size_ranges": {"a": (2, 1)}}, "size_ranges: a must not end below its start"),
        ({"size_ranges": [(0, 1)]}, r"size_ranges must be pairs of numbers by name; got \[\(0, 1"),
        ({"protocol": "simple", "size_ranges": {"a": (2, 1)}}, "size range 'a' must be"),
        ({"interpolation": "voc11"}, "interpolation must be 'coco101' with protocol='coco'"),
        ({"protocol": "voc", "interpolation": "x"}, "interpolation must be one of"),
        ({"max_dets": (10, 1)}, "max_dets must be whole numbers from 1 on, ascending"),
        ({"max_dets": ()}, "max_dets must be whole numbers from 1 on, ascending"),
        ({"ci": 1.5}, "confidence must lie between 0 and 1; got 1.5"),
        ({"resamples": 0, "ci": 0.9}, "resamples must be"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate_detections({1: [[BOX, 3]]}, {1: [[BOX, 0.9, 3]]}, **options)


def test_a_threshold_is_found_whatever_rounding_made_of_it() -> None:
    results = evaluate_detections({1: [[BOX, 3]]}, {1: [[BOX, 0.9, 3]]})
    assert 0.9 not in results.settings.iou_thresholds
    assert results.pr_curves(0.9)[3]["num_gt"] == 1
    assert results.by_class(iou=0.9)["f1"].tolist() == [1.0]
    assert results.arrays is not None
    assert results.arrays.mean_precision(threshold=0.9) == pytest.approx(1.0)
    with pytest.raises(InputError, match=r"threshold must be one of 0.5, .*; got 0.91"):
        results.arrays.mean_precision(threshold=0.91)
    with pytest.raises(InputError, match=r"iou must be a number; got '0.9'"):
        results.pr_curves("0.9")  # type: ignore[arg-type]


def test_questions_that_do_not_fit() -> None:
    coco = evaluate_detections({1: [[BOX, 3]]}, {1: [[BOX, 0.9, 3]]})
    voc = evaluate_detections({1: [[BOX, 3]]}, {1: [[BOX, 0.9, 3]]}, protocol="voc")
    with pytest.raises(InputError, match=r"iou must be one of 0.5, .*; got 0.51"):
        coco.pr_curves(0.51)
    with pytest.raises(InputError, match="size must be one of all, small, medium, large"):
        coco.pr_curves(size="tiny")
    with pytest.raises(InputError, match="size must be 'all' with 'voc'; got 'small'"):
        voc.pr_curves(size="small")
    with pytest.raises(InputError, match="this needs protocol='coco'; got 'voc'"):
        voc.costliest_images()


def test_voc_of_2007_reads_eleven_points() -> None:
    truth = [[[BOX, 1], [(50, 50, 90, 90), 1]]]
    found = [[[BOX, 0.9, 1]]]
    results = evaluate_detections(truth, found, protocol="voc", interpolation="voc11")
    assert results.figures["AP"] == calculate_ap([1.0], [0.5], interpolation="voc11")


def test_costliest_images_first() -> None:
    truth = {"good": [[BOX, 1]], "bad": [[BOX, 1]], "worse": [[BOX, 1]], "empty": []}
    wrong = (60, 60, 90, 90)
    found = {
        "good": [[BOX, 0.99, 1]],
        "bad": [],
        "worse": [[wrong, 0.95, 1]],
        "empty": [],
    }
    table = evaluate_detections(truth, found).costliest_images(3)
    assert set(table["image"].tolist()[:2]) == {"worse", "bad"}
    assert table["cost"].iloc[1] > 0
    assert table["cost"].iloc[2] == pytest.approx(0)
    assert table["misses"].tolist()[:2] == [1, 1]


@pytest.mark.parametrize("protocol", ["coco", "voc", "simple"])
def test_the_table_of_no_classes_has_its_columns(protocol: Any) -> None:
    some = evaluate_detections({1: [[(0, 0, 4, 4), 1]]}, {1: []}, protocol=protocol)
    none = evaluate_detections({1: []}, {1: []}, protocol=protocol)
    assert list(none.by_class()) == list(some.by_class())
    assert not len(none.by_class())


def test_a_comparison_wants_the_same_images_classes_and_masks() -> None:
    box = (0, 0, 40, 40)
    one = evaluate_detections({1: [[box, 1]]}, {1: [[box, 0.5, 1]]})
    more = evaluate_detections({1: [[box, 1]], 2: []}, {1: [[box, 0.5, 1]]})
    with pytest.raises(InputError, match="the same ground truth; it differs"):
        one.compare(more)
    pixels = np.zeros((2, 1, 50, 50), np.bool_)
    pixels[0, :, :40, :40] = pixels[1, :, :20, :40] = True
    found = [{"boxes": [box], "labels": [1], "scores": [0.5], "masks": pixels[0]}]
    truths = [[{"boxes": [box], "labels": [1], "area": [9], "masks": mask}] for mask in pixels]
    whole, half = (evaluate_detections(truth, found, masks=True) for truth in truths)
    with pytest.raises(InputError, match="the same ground truth; it differs"):
        whole.compare(half)


def test_masks_of_nothing() -> None:
    assert math.isnan(evaluate_detections([], [], masks=True).figures["AP"])
