"""The COCO protocol against pycocotools: every array equal, bit for bit."""

from __future__ import annotations

import contextlib
import copy
import io
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools import mask as rle
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from benchmarks.detection import TOOLS, all_equal, make, measure, summary, table, write
from sightline.core import InputError
from sightline.detection import _kernels as kernels
from sightline.detection.coco import (
    SIZE_RANGES,
    CocoArrays,
    accumulate_matches,
    coco_arrays,
    match_detections,
)
from sightline.detection.columns import Detections, GroundTruth

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]
IMAGES, CLASSES = [1, 2, 5, 40], [1, 3, 4]


def theirs(gts: list[Row], dts: list[Row], kind: str = "bbox", **asked: Any) -> COCOeval:
    """Evaluate with pycocotools; options are attributes of its parameters."""
    if kind == "segm":  # with boxes beside the masks it would take their areas
        dts = [{key: row[key] for key in row if key != "bbox"} for row in dts]
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = {
            "info": {},
            "images": [{"id": i, "width": 40, "height": 40} for i in IMAGES],
            "categories": [{"id": k, "name": str(k)} for k in CLASSES],
            "annotations": copy.deepcopy(gts),
        }
        truth.createIndex()
        found = truth.loadRes(copy.deepcopy(dts)) if dts else nothing(truth)
        evaluation = COCOeval(truth, found, kind)
        for name, value in asked.items():
            setattr(evaluation.params, name, value)
        evaluation.evaluate()
        evaluation.accumulate()
        if not asked:
            evaluation.summarize()
    return evaluation


def nothing(truth: COCO) -> COCO:
    """No detections: their reader wants at least one."""
    empty = COCO()
    empty.dataset = {**truth.dataset, "annotations": []}
    empty.createIndex()
    return empty


def columns(gts: list[Row], dts: list[Row]) -> tuple[GroundTruth, Detections]:
    def column(rows: list[Row], key: str) -> list[Any]:
        return [row[key] for row in rows]

    masks = bool(gts and dts and "segmentation" in gts[0])
    truth = GroundTruth.from_arrays(
        column(gts, "image_id"),
        column(gts, "category_id"),
        column(gts, "bbox"),
        area=column(gts, "area"),
        crowd=column(gts, "iscrowd"),
        ids=column(gts, "id"),
        masks=column(gts, "segmentation") if masks else None,
        images=IMAGES,
        classes=CLASSES,
    )
    found = Detections.from_arrays(
        column(dts, "image_id"),
        column(dts, "category_id"),
        column(dts, "bbox"),
        column(dts, "score"),
        masks=column(dts, "segmentation") if masks else None,
    )
    return truth, found


def assert_same(ours: CocoArrays, evaluation: COCOeval) -> None:
    for name in ("precision", "recall", "scores"):
        np.testing.assert_array_equal(getattr(ours, name), evaluation.eval[name], name)


def assert_all_same(gts: list[Row], dts: list[Row], kind: str = "bbox") -> CocoArrays:
    evaluation, ours = theirs(gts, dts, kind), coco_arrays(*columns(gts, dts))
    assert_same(ours, evaluation)
    expected = np.where(evaluation.stats == -1, np.nan, evaluation.stats)
    np.testing.assert_array_equal(list(ours.figures().values()), expected)
    return ours


def truth_row(number: int, image: int, label: int, box: Any, **more: Any) -> Row:
    row = {"id": number, "image_id": image, "category_id": label, "bbox": list(box)}
    return {**row, "area": box[2] * box[3], "iscrowd": 0, **more}


def found_row(image: int, label: int, box: Any, score: float, **more: Any) -> Row:
    return {"image_id": image, "category_id": label, "bbox": list(box), "score": score, **more}


# Few numbers, so that overlaps are equal to each other and to thresholds; areas on the borders.
SIDES = st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.0, 10.0, 32.0, 96.0, 33.3])
BOXES = st.tuples(st.sampled_from([0.0, 1.0, 2.0, 5.5]), st.sampled_from([0.0, 1.0]), SIDES, SIDES)
SCORES = st.one_of(
    st.sampled_from([0.5, 0.5, 0.9, 0.0, -0.0, -1.0, 1.0]), st.floats(-2, 2, width=32)
)
AREAS = st.sampled_from([0.0, 1024.0, 9216.0, 1023.99, 9216.01, 500.0, 1e10, 2e10])


@st.composite
def sets(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """Ground truths and detections, often of one image and class, in any order."""
    images, labels = st.sampled_from(IMAGES), st.sampled_from(CLASSES)
    if draw(st.booleans()):
        images, labels = st.sampled_from(IMAGES[:2]), st.sampled_from(CLASSES[:1])
    gts = [
        truth_row(number, draw(images), draw(labels), draw(BOXES))
        | ({"area": draw(AREAS)} if draw(st.booleans()) else {})
        | {"iscrowd": int(draw(st.integers(0, 4)) == 0)}
        for number in range(1, draw(st.integers(0, 12)) + 1)
    ]
    dts = [
        found_row(draw(images), draw(labels), draw(BOXES), draw(SCORES))
        for _ in range(draw(st.integers(0, 20)))
    ]
    return gts, dts


@given(sets())
@settings(max_examples=200, deadline=None)
def test_any_boxes(rows: tuple[list[Row], list[Row]]) -> None:
    assert_all_same(*rows)


@given(
    sets(),
    st.lists(st.sampled_from([0.0, 0.1, 0.5, 2 / 3, 1.0]), min_size=1, max_size=40),
    st.sampled_from([(1,), (2, 3), (1, 2, 5, 7)]),
    st.sampled_from([(0.0,), (0.0, 0.0, 0.5), tuple(np.linspace(0.1, 1, 7)), (0.3, 1.0, 1.5)]),
)
@settings(max_examples=100, deadline=None)
def test_any_parameters(
    rows: tuple[list[Row], list[Row]],
    thresholds: list[float],
    max_dets: tuple[int, ...],
    points: tuple[float, ...],
) -> None:
    ranges = {"all": (0.0, 1e10), "tiny": (4.0, 4.0), "rest": (4.0, 1024.0)}
    evaluation = theirs(
        *rows,
        iouThrs=np.array(thresholds),
        recThrs=np.array(points),
        maxDets=list(max_dets),
        areaRng=[list(ends) for ends in ranges.values()],
    )
    ours = coco_arrays(
        *columns(*rows),
        iou_thresholds=thresholds,
        recall_points=points,
        max_dets=max_dets,
        size_ranges=ranges,
    )
    assert_same(ours, evaluation)


@given(sets())
@settings(max_examples=60, deadline=None)
def test_any_masks(rows: tuple[list[Row], list[Row]]) -> None:
    gts, dts = rows
    for row in [*gts, *dts]:
        picture = np.zeros((40, 40), np.uint8, order="F")
        x, y, w, h = (int(value) for value in row["bbox"])
        picture[y : y + h, x : x + w] = 1
        picture[::3, y::2] = 0
        row["segmentation"] = rle.encode(picture)
        row["bbox"] = rle.toBbox(row["segmentation"]).tolist()
    if gts and dts:
        assert_all_same(gts, dts, "segm")


def crowded(seed: int, images: int = 4, scores: int = 20) -> tuple[list[Row], list[Row]]:
    """Many boxes of few images: more detections than any limit."""
    rng = np.random.default_rng(seed)

    def boxes(count: int) -> Any:
        return np.round(
            np.column_stack([rng.uniform(0, 60, (count, 2)), rng.gamma(3, 9, (count, 2))]), 1
        )

    gts = [
        truth_row(
            n,
            IMAGES[rng.integers(images)],
            CLASSES[rng.integers(3)],
            box.tolist(),
            iscrowd=int(rng.random() < 0.1),
        )
        for n, box in enumerate(boxes(120), 1)
    ]
    near = boxes(1500)
    picks = rng.integers(len(gts), size=1500)
    close = rng.random(1500) < 0.5
    dts = []
    for box, pick, copied in zip(near, picks, close, strict=True):
        row = gts[pick]
        box = np.abs(np.array(row["bbox"]) + rng.normal(0, 1.5, 4)) if copied else box
        score = float(rng.integers(scores)) / scores
        dts.append(found_row(row["image_id"], row["category_id"], box.tolist(), score))
    return gts, dts


@pytest.mark.parametrize("scores", [1, 20, 10**9])
@pytest.mark.parametrize("seed", range(3))
def test_many_boxes(seed: int, scores: int) -> None:
    assert_all_same(*crowded(seed, scores=scores))


def test_more_than_the_limit_in_one_image() -> None:
    gts, dts = crowded(7, images=1)
    ours = assert_all_same(gts, dts)
    assert ours.detections.max() == 100
    assert ours.detections[:, 0].tolist() == [1, 1, 1]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_change_a_bit(threads: int) -> None:
    truth, found = columns(*crowded(3))
    one, many = coco_arrays(truth, found, threads=1), coco_arrays(truth, found, threads=threads)
    for name in ("precision", "recall", "scores"):
        np.testing.assert_array_equal(getattr(one, name), getattr(many, name))


SQUARE = (0.0, 0.0, 32.0, 32.0)
CASES: dict[str, tuple[list[Row], list[Row]]] = {
    "nothing at all": ([], []),
    "no detections": ([truth_row(1, 1, 1, SQUARE)], []),
    "no ground truth": ([], [found_row(1, 1, SQUARE, 0.5)]),
    "crowd only": (
        [truth_row(1, 1, 1, SQUARE, iscrowd=1)],
        [found_row(1, 1, SQUARE, 0.5), found_row(1, 1, (0, 0, 9, 9), 0.4)],
    ),
    "crowd beside one": (
        [truth_row(1, 1, 1, (0, 0, 64, 64), iscrowd=1), truth_row(2, 1, 1, SQUARE)],
        [found_row(1, 1, SQUARE, score) for score in (0.9, 0.8, 0.7)],
    ),
    "all ties": (
        [truth_row(n, image, 1, SQUARE) for n, image in enumerate((5, 1, 2), 1)],
        [
            found_row(image, 1, (shift, 0, 32, 32), 0.5)
            for shift in (9, 0, 3)
            for image in (2, 5, 1)
        ],
    ),
    "one class, empty images": ([truth_row(1, 40, 4, SQUARE)], [found_row(40, 4, SQUARE, 1.0)]),
    "no area": (
        [truth_row(1, 1, 1, (3, 3, 0, 0)), truth_row(2, 1, 1, (3, 3, 0, 5))],
        [found_row(1, 1, (3, 3, 0, 0), 0.5), found_row(1, 1, (3, 3, 0, 5), 0.4)],
    ),
    "areas that vanish": (
        [truth_row(1, 1, 1, (0, 0, 1e-200, 1e-200)), truth_row(2, 1, 1, SQUARE)],
        [found_row(1, 1, (0, 0, 1e-200, 1e-200), 0.5), found_row(1, 1, SQUARE, 0.4)],
    ),
    "overlap exactly at a threshold": (
        [truth_row(1, 1, 1, (0, 0, 10, 10)), truth_row(2, 2, 1, (0, 0, 20, 20))],
        [found_row(1, 1, (0, 0, 10, 5), 0.5), found_row(2, 1, (0, 0, 20, 15), 0.4)],
    ),
    "areas exactly at the borders": (
        [truth_row(1, 1, 1, SQUARE), truth_row(2, 2, 1, (0, 0, 96, 96))],
        [
            found_row(1, 1, SQUARE, 0.5),
            found_row(2, 1, (0, 0, 96, 96), 0.4),
            found_row(2, 1, (200, 0, 32, 32), 0.6),
            found_row(2, 1, (200, 0, 96, 96), 0.7),
        ],
    ),
    "unknown class": ([truth_row(1, 1, 1, SQUARE)], [found_row(1, 99, SQUARE, 0.5)]),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    assert_all_same(*CASES[name])


def test_overlap_at_the_threshold_matches() -> None:
    ours = coco_arrays(*columns(*CASES["overlap exactly at a threshold"]))
    assert ours.recall[:, 0, 0, 2].tolist() == [1.0] + [0.5] * 5 + [0.0] * 4


def test_an_annotation_of_id_0_is_an_ordinary_one() -> None:
    first = [truth_row(0, 1, 1, SQUARE), truth_row(1, 2, 1, SQUARE)]
    usual = [{**row, "id": row["id"] + 1} for row in first]
    dts = [found_row(1, 1, SQUARE, 0.5), found_row(2, 1, SQUARE, 0.4)]
    assert_same(coco_arrays(*columns(first, dts)), theirs(usual, dts))
    assert coco_arrays(*columns(first, dts)).figures()["AP"] == 1


def test_the_order_of_images_does_not_matter_and_inputs_stay() -> None:
    gts, dts = crowded(5)
    truth, found = columns(gts, dts)
    before = found.box.copy(), found.score.copy(), truth.box.copy()
    one = coco_arrays(truth, found)
    dts.sort(key=lambda row: -row["image_id"])
    gts.sort(key=lambda row: -row["image_id"])
    two = coco_arrays(*columns(gts, dts))
    np.testing.assert_array_equal(one.precision, two.precision)
    np.testing.assert_array_equal(one.scores, two.scores)
    for old, new in zip(before, (found.box, found.score, truth.box), strict=True):
        np.testing.assert_array_equal(old, new)


def test_ids_may_be_strings_or_far_apart() -> None:
    gts, dts = crowded(5)
    usual = coco_arrays(*columns(gts, dts))
    below_0 = (-60).__add__
    for rename in ("img{:03d}".format, lambda number: number * 10**15 - 10**16, below_0):
        truth, found = (
            (
                [rename(row["image_id"]) for row in rows],
                [rename(row["category_id"]) for row in rows],
                [row["bbox"] for row in rows],
            )
            for rows in (gts, dts)
        )
        other = coco_arrays(
            GroundTruth.from_arrays(*truth, crowd=[row["iscrowd"] for row in gts]),
            Detections.from_arrays(*found, [row["score"] for row in dts]),
        )
        np.testing.assert_array_equal(usual.precision, other.precision)
        np.testing.assert_array_equal(usual.recall, other.recall)


def test_cells_tell_what_each_detection_is() -> None:
    truth, found = columns(*crowded(2))
    matches = match_detections(truth, found)
    ours = accumulate_matches(matches)
    for k in range(3):
        steps = slice(matches.starts[k], matches.starts[k + 1])
        for a in range(len(SIZE_RANGES)):
            true, ignored = (part[steps] for part in matches.cell(2, a))
            assert not (true & ignored).any()
            total = matches.totals[k, a]
            assert ours.recall[2, k, a, 2] == (true.sum() / total if total else -1)
        assert (np.diff(matches.score[matches.row[steps]]) <= 0).all()


def test_ground_truths_and_detections_are_counted() -> None:
    ours = coco_arrays(*columns(*CASES["areas exactly at the borders"]))
    assert ours.ground_truths.tolist() == [[2, 1, 2, 1], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert ours.detections.tolist() == [[2, 4, 4], [0, 0, 0], [0, 0, 0]]
    np.testing.assert_array_equal(ours.class_precision()[1:], [np.nan, np.nan])


def test_shorter_lists_of_the_same_matches() -> None:
    truth, found = columns(*crowded(2))
    matches = match_detections(truth, found)
    short = accumulate_matches(matches, max_dets=(3, 7))
    np.testing.assert_array_equal(
        short.precision, coco_arrays(truth, found, max_dets=(3, 7)).precision
    )
    assert np.isnan(short.figures()["AR1"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"iou_thresholds": []}, "iou_thresholds must be 1 to 63 numbers from 0 to 1"),
        ({"iou_thresholds": [0.5] * 64}, "iou_thresholds must be 1 to 63 numbers from 0 to 1"),
        ({"iou_thresholds": [float("nan")]}, "iou_thresholds must be"),
        ({"iou_thresholds": [1.5]}, "iou_thresholds must be"),
        ({"recall_points": [0.5, 0.1]}, "recall_points must be numbers in ascending order"),
        ({"max_dets": (10, 1)}, "max_dets must be whole numbers"),
        ({"max_dets": ()}, "max_dets must be"),
        ({"max_dets": 100}, "max_dets must be whole numbers from 1 on, ascending; got 100"),
        ({"max_dets": (1, 10.5)}, "max_dets must be whole numbers"),
        ({"max_dets": (1, float("nan"))}, "max_dets must be whole numbers"),
        ({"max_dets": (0, 1)}, "max_dets must be whole numbers"),
        ({"max_dets": (1, 1)}, "max_dets must be whole numbers"),
        ({"iou_thresholds": "half"}, "iou_thresholds must be 1 to 63 numbers from 0 to 1; got 'h"),
        ({"recall_points": [float("nan")]}, "recall_points must be numbers in ascending order"),
        ({"size_ranges": {"odd": 3}}, "size_ranges must be pairs of numbers by name; got"),
        ({"size_ranges": [(0, 1)]}, "size_ranges must be pairs of numbers by name"),
        ({"threads": "2"}, "threads must be at least 1; got '2'"),
        ({"size_ranges": {}}, "size_ranges must be 1 to 63 ranges"),
        ({"size_ranges": {"odd": (2, 1)}}, "size_ranges: odd must not end below its start"),
        ({"threads": 0}, "threads must be at least 1; got 0"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        coco_arrays(*columns(*CASES["all ties"]), **options)


def test_detections_must_name_known_images() -> None:
    truth, _ = columns(*CASES["all ties"])
    with pytest.raises(InputError, match=r"image must be one of the 4 .* row 1 is 77"):
        coco_arrays(truth, Detections.from_arrays([1, 77], [1, 1], [SQUARE, SQUARE], [1, 1]))
    with pytest.raises(InputError, match="image must be integers everywhere or strings"):
        coco_arrays(truth, Detections.from_arrays(["1"], [1], [SQUARE], [1]))


def test_more_can_not_be_asked_than_was_matched() -> None:
    with pytest.raises(InputError, match="most must be at least 1; got 0"):
        match_detections(*columns(*CASES["all ties"]), most=0)
    matches = match_detections(*columns(*CASES["all ties"]), most=5)
    with pytest.raises(InputError, match="max_dets must be at most 5, as matched; got 100"):
        accumulate_matches(matches)


def test_the_benchmark_makes_what_it_says_and_runs() -> None:
    truth, found = make(400, each=50)
    assert len(found) == 400 * 50
    assert len(truth) / 400 == pytest.approx(7.4, rel=0.2)
    assert truth.crowd.mean() == pytest.approx(0.01, abs=0.01)
    assert len(np.unique(found.score)) < len(found)


@pytest.mark.parametrize("mode", ["memory", "files"])
def test_the_benchmark_runs(mode: str, tmp_path: Path) -> None:
    write(tmp_path, 20, 30)
    tools = [tool for tool, package in TOOLS.items() if package in ("sightline", "pycocotools")]
    found = [measure(tool, mode, tmp_path, 2) for tool in tools]
    assert table(found).endswith("figures equal: yes")
    found[1]["figures"] = [0.5, *found[1]["figures"][1:]]
    assert table(found).endswith("figures equal: NO")
    assert not all_equal(found)
    promises = summary(found, {"fresh": 3.0})
    assert [row["holds"] for row in promises if "fresh" in row["what"]] == [False]


@pytest.mark.parametrize("spread", [1.0, 1e-13])
def test_scores_that_hardly_differ_are_sorted(spread: float) -> None:
    rng = np.random.default_rng(0)
    scores = 0.5 + spread * np.round(rng.normal(size=3000), 2)
    found = Detections.from_arrays(
        np.zeros(3000, int), np.zeros(3000, int), [[0, 0, 1, 1]] * 3000, scores
    )
    truth = GroundTruth.from_arrays([0], [0], [[0, 0, 1, 1]])
    order = match_detections(truth, found).row
    np.testing.assert_array_equal(order, np.argsort(-scores, kind="stable"))


def test_ids_at_the_ends_of_64_bits() -> None:
    ends = np.array([-(2**63), 2**63 - 1, 0])
    box = [[0, 0, 40, 40]] * 3
    truth = GroundTruth.from_arrays(ends, ends, box, ids=ends)
    figures = coco_arrays(truth, Detections.from_arrays(ends, ends, box, [0.5] * 3)).figures()
    assert figures["AP"] == pytest.approx(1)
    assert figures["AR1"] == 1


def test_columns_that_must_not_be_written_need_no_other_kernels() -> None:
    truth, found = columns(*crowded(2))
    usual = coco_arrays(truth, found)
    known = {name: len(getattr(kernels, name).signatures) for name in kernels.__all__}
    for rows in (truth, found):
        for name in ("image", "label", "box", "area"):
            getattr(rows, name).flags.writeable = False
    locked = coco_arrays(truth, found)
    assert usual.precision.tobytes() == locked.precision.tobytes()
    assert known == {name: len(getattr(kernels, name).signatures) for name in kernels.__all__}
    assert not found.box.flags.writeable


def test_nothing_at_all() -> None:
    none = np.empty((0, 4))
    truth, found = GroundTruth.from_arrays([], [], none), Detections.from_arrays([], [], none, [])
    arrays = coco_arrays(truth, found)
    assert arrays.precision.shape == (10, 101, 0, 4, 3)
    assert all(np.isnan(value) for value in arrays.figures().values())
    listed = GroundTruth.from_arrays([], [], none, images=[3], classes=[1, 2])
    assert (coco_arrays(listed, found).precision == -1).all()


def test_masks_of_other_sizes_are_refused() -> None:
    tall, wide = (rle.encode(np.ones(shape, np.uint8, order="F")) for shape in ((30, 40), (40, 30)))
    box = [[0, 0, 1, 1]] * 2
    truth = GroundTruth.from_arrays([1, 2], [1, 1], box, masks=[tall, wide])
    found = Detections.from_arrays([1, 2], [1, 1], box, [1, 1], masks=[tall, tall])
    message = "detections: masks .* row 1 is 30×40, row 1 of the ground truth is 40×30"
    with pytest.raises(InputError, match=message):
        coco_arrays(truth, found)


@given(
    st.lists(st.integers(0, 2000), min_size=1, max_size=12),
    st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=6),
)
def test_runs_are_added_as_pycocotools_reads_them(small: list[int], large: list[int]) -> None:
    for runs in (small, large, small + large):
        counts = rle.frPyObjects({"size": [1, 1], "counts": runs}, 1, 1)["counts"]
        assert kernels.sum_runs(np.frombuffer(counts, np.uint8)) == (sum(runs), sum(runs[1::2]))
        cut = np.frombuffer(counts[:-1] + b"o", np.uint8)
        assert kernels.sum_runs(cut) == (-1, -1)


@pytest.mark.parametrize("counts", [b"/", b"p", b"oooooooo0", b"@", b"0\xff", b"1110@"])
def test_broken_runs(counts: bytes) -> None:
    assert kernels.sum_runs(np.frombuffer(counts, np.uint8)) == (-1, -1)
