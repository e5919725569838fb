"""Weights instead of copies: draws, intervals, and what they are worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.detection import make
from sightline.core import InputError
from sightline.detection import _weighted_ap as weighted
from sightline.detection import intervals
from sightline.detection.coco import (
    MAX_DETS,
    RECALL_POINTS,
    SIZE_RANGES,
    CocoArrays,
    accumulate_matches,
    coco_arrays,
    match_detections,
)
from sightline.detection.columns import Detections, GroundTruth
from sightline.detection.images import image_costs
from sightline.detection.intervals import (
    FigureInterval,
    Support,
    figure_intervals,
    mean_ends,
    resample_figures,
)

Sides = tuple[GroundTruth, Detections]
FIGURES = ["AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl"]


def small(seed: int, images: int = 6, each: int = 12, *, ties: bool = True) -> Sides:
    """Few images of three classes; scores of different images are equal now and then.

    Within an image no two are: of copies of such an image, pairs would take turns.
    """
    rng = np.random.default_rng(seed)
    count = rng.integers(0, 5, images)
    image = np.repeat(np.arange(images), count)
    side = rng.choice([10.0, 40.0, 120.0], len(image))
    box = np.column_stack([rng.uniform(0, 300, (len(image), 2)), side, side * 1.5])
    label = rng.integers(0, 3, len(image))
    truth = GroundTruth.from_arrays(
        image, label, box, crowd=rng.random(len(image)) < 0.1, images=np.arange(images),
        classes=np.arange(3),
    )  # fmt: skip
    near = rng.integers(0, max(len(image), 1), images * each) if len(image) else np.empty(0, int)
    moved = box[near] + rng.normal(0, 0.07, (len(near), 4)) * np.tile(box[near, 2:], 2)
    label = np.where(rng.random(len(near)) < 0.8, label[near], rng.integers(0, 3, len(near)))
    other = rng.random(len(near)) < 0.3
    where = np.where(other, rng.integers(0, images, len(near)), image[near])
    score = np.empty(len(near))
    for i in range(images):
        here = where == i
        levels = here.sum() * (1 if ties else 1000)
        score[here] = rng.permutation(levels)[: here.sum()] / max(levels, 1)
    return truth, Detections.from_arrays(where, label, np.abs(moved), score)


def copies(sides: Sides, weights: Any) -> Sides:
    """Hold each image as often as its weight says; copies stand next to each other."""
    truth, found = sides
    size = 1 + max(int(max(weights)), 1)

    def rows(image: Any) -> tuple[Any, Any]:
        which = np.repeat(np.arange(len(image)), np.asarray(weights, int)[image])
        turn = np.array([turn for i in image for turn in range(int(weights[i]))], int)
        return which, image[which] * size + turn

    gt, gt_image = rows(truth.image)
    dt, dt_image = rows(found.image)
    images = [i * size + turn for i in range(len(weights)) for turn in range(int(weights[i]))]
    return (
        GroundTruth.from_arrays(
            gt_image, truth.label[gt], truth.box[gt], area=truth.area[gt], crowd=truth.crowd[gt],
            images=images, classes=truth.classes,
        ),
        Detections.from_arrays(dt_image, found.label[dt], found.box[dt], found.score[dt]),
    )  # fmt: skip


def needs(points: Any, *totals: Any, slots: int = 1) -> Any:
    """Ask how many true positives recalls need, of one set of totals after the other."""
    known, columns = np.zeros(slots), np.empty((slots, len(points) + 1))
    need = np.empty((len(points) + 1, weighted.LANES))
    for total in totals:
        weighted.needs(points, total, known, columns, need)
    return need


def assert_same_curves(sides: Sides, weights: Any, **options: Any) -> None:
    """Compare the curves of weights with those of copies, bit for bit."""
    max_dets = options.get("max_dets", MAX_DETS)
    points = np.array(options.pop("recall_points", RECALL_POINTS))
    theirs = coco_arrays(*copies(sides, weights), recall_points=points, **options)
    options.pop("max_dets", None)
    matches = match_detections(*sides, most=max_dets[-1], **options)
    table = weighted.cells(matches, sides[0], max_dets, range(len(matches.size_ranges)))
    shape = (len(max_dets), len(matches.thresholds))
    lanes = np.repeat(np.array(weights, float)[None, :, None], weighted.LANES, axis=2)
    lanes[:, :, 1:] = 1.0
    for c, cell in enumerate(table):
        k, a = divmod(c, len(matches.size_ranges))
        totals = np.empty((1, weighted.LANES))
        weighted.weigh_truths(cell.truth_image, cell.truth_count, lanes, totals)
        assert totals[0, 0] == theirs.ground_truths[k, a]
        if totals[0, 0] == 0:
            assert (theirs.precision[:, :, k, a] == -1).all()
            continue
        curve = np.empty((shape[1], len(points) + 1, weighted.LANES))
        found = np.empty((*shape, weighted.LANES))
        mean = np.empty((shape[1], weighted.LANES))
        weighted.weigh_block(
            cell.image, cell.limit, cell.true, cell.false,
            weighted.peaks_of(cell.true, cell.false), lanes[0], needs(points, totals[0]),
            np.zeros(weighted.LANES), curve, mean, found,
        )  # fmt: skip
        np.testing.assert_allclose(mean, curve[:, 1:].mean(axis=1), rtol=1e-13)
        np.testing.assert_array_equal(curve[:, 1:, 0], theirs.precision[:, :, k, a, -1])
        np.testing.assert_array_equal(found[..., 0].T / totals[0, 0], theirs.recall[:, k, a])


@given(st.integers(0, 10**6), st.lists(st.integers(0, 4), min_size=6, max_size=6))
@settings(max_examples=60, deadline=None)
def test_weights_are_copies(seed: int, weights: list[int]) -> None:
    if sum(weights):
        assert_same_curves(small(seed), weights)


@pytest.mark.parametrize(
    "options",
    [
        {"max_dets": (2, 3)},
        {"iou_thresholds": tuple(np.linspace(0.01, 0.99, 63))},
        {"iou_thresholds": tuple(np.linspace(0.01, 0.99, 40)), "max_dets": (1,)},
        {"recall_points": (0.3, 0.3, 1.0, 1.5)},
        {"recall_points": (0.0,)},
        {"size_ranges": {"some": (0.0, 3000.0)}},
    ],
)
def test_weights_are_copies_with_other_options(options: dict[str, Any]) -> None:
    for seed in range(4):
        assert_same_curves(small(seed), [3, 0, 1, 2, 1, 7], **options)


def test_weights_are_copies_with_more_limits_than_a_byte_counts() -> None:
    limits = tuple(range(1, 201))
    assert_same_curves(small(3, each=800), [3, 0, 1, 2, 1, 7], max_dets=limits)


def test_recalls_that_a_rounded_product_would_miss() -> None:
    """Recall points that lie on a multiple of 1 / total or next to it."""
    for total in range(1, 130):
        lanes = np.full(weighted.LANES, float(total))
        points = np.concatenate([np.arange(total + 1) / total, np.linspace(0, 1, 101), [-0.5]])
        points = np.unique(np.concatenate([points, np.nextafter(points, -2)]))
        beyond = np.array([np.nextafter(1, 2), 1.2, 1e300, np.inf])
        need = needs(np.concatenate([points, beyond]), lanes)
        expected = [next(m for m in range(-total, total + 1) if m / total >= r) for r in points]
        assert need[: len(points), 0].tolist() == expected
        assert np.isinf(need[len(points) :]).all()


@pytest.mark.parametrize("slots", [1, 3, 64])
def test_what_recalls_need_does_not_depend_on_the_totals_before(slots: int) -> None:
    rng = np.random.default_rng(slots)
    totals = rng.integers(1, 9, (20, weighted.LANES)).astype(float)
    points = np.array(RECALL_POINTS)
    for count in range(1, 21):
        kept = needs(points, *totals[:count], slots=slots)
        np.testing.assert_array_equal(kept, needs(points, totals[count - 1], slots=99))


@pytest.mark.parametrize("seed", range(3))
def test_draws_are_the_figures_of_copies(seed: int) -> None:
    sides = small(seed, images=9)
    matches = match_detections(*sides)
    draws = resample_figures(matches, sides[0], resamples=13, seed=seed)
    rng = np.random.default_rng(seed)
    for b in range(13):
        weights = np.bincount(rng.integers(0, 9, 9), minlength=9)
        theirs = coco_arrays(*copies(sides, weights))
        ours = {name: table[b] for name, table in draws.figures.items()}
        assert list(ours) == FIGURES
        np.testing.assert_allclose(list(ours.values()), list(theirs.figures().values()), 1e-12)
        np.testing.assert_allclose(draws.tables["AP"][b], theirs.class_precision(), 1e-12)


def test_figures_not_asked_for_are_undefined() -> None:
    sides = small(1, images=9)
    options: dict[str, Any] = {"iou_thresholds": (0.6,), "size_ranges": {"all": (0.0, 1e10)}}
    matches = match_detections(*sides, **options)
    arrays = accumulate_matches(matches, max_dets=(10, 20))
    draws = resample_figures(matches, sides[0], max_dets=(10, 20), resamples=5)
    found = figure_intervals(matches, arrays, sides[0], resamples=100)
    for name, value in arrays.figures().items():
        assert np.isnan(draws.figures[name]).all() == np.isnan(value), name
        assert np.isnan(found[name].low) == np.isnan(value), name
    assert np.isfinite(found["AR10"].low)
    assert np.isnan(found["AP50"].value)
    assert found["APs"].n == 0
    assert found["APs"].reason == found["AP50"].reason
    assert "not asked for" in found["APs"].reason


def test_threads_do_not_change_a_bit() -> None:
    truth, found = make(300, classes=5, each=60, seed=4)
    matches = match_detections(truth, found)
    one = resample_figures(matches, truth, resamples=300, threads=1)
    assert max(len(cell.image) for cell in weighted.cells(matches, truth, (100,), [0])) > 5000
    for threads in (2, 5):
        many = resample_figures(matches, truth, resamples=300, threads=threads)
        for name, table in one.tables.items():
            np.testing.assert_array_equal(table, many.tables[name])


def test_more_draws_begin_with_the_same_ones_and_seeds_differ() -> None:
    sides = small(2, images=30)
    matches = match_detections(*sides)
    few, many, other = (
        resample_figures(matches, sides[0], resamples=n, seed=seed).figures["AP"]
        for n, seed in ((130, 0), (700, 0), (130, 1))
    )
    assert len(many) == 700
    np.testing.assert_array_equal(few, many[:130])
    assert (few != other).any()


def test_intervals_hold_the_value_and_say_what_they_rest_on() -> None:
    truth, found = make(150, classes=6, each=40, seed=2)
    matches = match_detections(truth, found)
    arrays = accumulate_matches(matches)
    before = arrays.precision.copy()
    result = figure_intervals(matches, arrays, truth, resamples=200)
    assert list(result) == [*FIGURES, *(("AP", k) for k in range(1, 7))]
    for key, each in result.items():
        assert isinstance(each, FigureInterval)
        assert 0 <= each.low <= each.value <= each.high <= 1, key
        assert each.low < each.high
        assert each.confidence == 0.95
        assert each.method == ("t" if isinstance(key, str) else "logit")
    assert {name: result[name].value for name in FIGURES} == arrays.figures()
    assert [result["AP", k].value for k in range(1, 7)] == arrays.class_precision().tolist()
    counted = ~truth.crowd
    assert result["AP"].n == len(np.unique(truth.image[counted]))
    assert result["AP", 2].n == len(np.unique(truth.image[counted & (truth.label == 2)]))
    small_ones = counted & (truth.area <= 1024)
    assert result["ARs"].n == len(np.unique(truth.image[small_ones]))
    np.testing.assert_array_equal(before, arrays.precision)
    wide = figure_intervals(matches, arrays, truth, resamples=200, confidence=0.99)
    assert wide["AP"].low < result["AP"].low
    assert wide["AP", 1].high > result["AP", 1].high


def test_too_few_images_and_no_spread_are_told() -> None:
    box = [[0, 0, 40, 40]] * 4
    truth = GroundTruth.from_arrays([1, 2, 3, 3], [1, 1, 1, 2], box, classes=[1, 2, 3])
    found = Detections.from_arrays([1, 2, 3, 3], [1, 1, 1, 2], box, [0.9] * 4)
    matches = match_detections(truth, found)
    result = figure_intervals(matches, accumulate_matches(matches), truth, resamples=100)
    assert result["AP", 1].low == result["AP", 1].high == 1
    assert result["AP", 1].reason == "all draws are equal"
    assert result["AP", 2].reason == "too few images: 1, an interval needs 2"
    assert np.isnan([result["AP", 2].low, result["AP", 2].std]).all()
    assert result["AP", 2].method == ""
    assert result["AP", 3].reason.startswith("no ground truth")
    assert np.isnan(result["AP", 3].value)


def test_one_image_with_ground_truth_among_others_has_no_interval() -> None:
    box = [[0, 0, 40, 40]] * 5
    truth = GroundTruth.from_arrays([1], [1], box[:1], images=range(1, 6))
    found = Detections.from_arrays(range(1, 6), [1] * 5, box, [0.5, 0.9, 0.8, 0.7, 0.6])
    result = figure_intervals(*arrays_of((truth, found)), truth, resamples=100)
    for key in ("AP", "AR100", ("AP", 1)):
        assert np.isfinite(result[key].value)
        assert np.isnan([result[key].low, result[key].high, result[key].std]).all()
        assert result[key].reason == "too few images: 1, an interval needs 2"


def test_rounding_is_no_spread() -> None:
    """One true positive has a precision of 1 but for the last bit, two have 1."""
    box, label = [[0, 0, 40, 40]] * 10, [1] * 8 + [2] * 2
    truth = GroundTruth.from_arrays(range(10), label, box)
    found = Detections.from_arrays(range(10), label, box, [0.9] * 10)
    matches = match_detections(truth, found)
    result = figure_intervals(matches, accumulate_matches(matches), truth, resamples=100)
    for key in ("AP", ("AP", 1), ("AP", 2)):
        assert (result[key].low, result[key].high, result[key].std) == (1, 1, 0)
        assert result[key].reason == "all draws are equal"


def test_two_images_and_a_high_confidence_give_all_there_can_be() -> None:
    truth = GroundTruth.from_arrays([1, 2], [1, 1], [[0, 0, 40, 40]] * 2)
    found = Detections.from_arrays([1], [1], [[0, 0, 40, 40]], [0.9])
    result = figure_intervals(*arrays_of((truth, found)), truth, confidence=0.99999)
    for key in ("AP", ("AP", 1)):
        assert (result[key].low, result[key].high) == pytest.approx((0, 1), abs=1e-9)


def test_a_mean_over_classes_is_put_together_as_said() -> None:
    rng = np.random.default_rng(0)
    table = 0.5 + rng.normal(0, [0.01, 0.1], (4000, 2))
    table[::7, 1] = np.nan
    ends = mean_ends(0.47, table, Support(np.array([500, 2]), 500), 0.95)
    # Twice the bias of 0.03 is taken off; the second class has one degree of freedom.
    assert (ends.low + ends.high) / 2 == pytest.approx(0.47 - 2 * 0.03, abs=0.004)
    assert (ends.high - ends.low) / 2 > 12 * ends.error
    both = np.where(np.isnan(table[:, 1]), 0.01, np.hypot(0.01, 0.1 * np.sqrt(2)) / 2)
    assert ends.error == pytest.approx(np.sqrt((both**2).mean()), rel=0.05)
    many = mean_ends(0.47, table, Support(np.array([500, 500]), 500), 0.95)
    assert (many.high - many.low) / 2 == pytest.approx(1.96 * many.error, rel=0.01)
    assert many.error < ends.error
    nothing = mean_ends(0.47, np.full((9, 2), np.nan), Support(np.array([5, 5]), 5), 0.95)
    assert np.isnan(nothing.low)


def test_the_logit_scale_goes_there_and_back() -> None:
    values = np.linspace(0, 1, 11)
    np.testing.assert_allclose(intervals._from_logit(intervals._logit(values)), values, atol=1e-12)
    assert intervals._logit(1.0) == pytest.approx(np.log(203))  # half a recall point beyond 1


def test_the_bias_of_a_class_is_taken_off_once() -> None:
    draws = np.random.default_rng(0).normal(0.6, 0.02, 2000)
    ends = intervals._logit_ends(0.55, draws, 1000, 0.95)
    assert (ends.low + ends.high) / 2 == pytest.approx(0.5, abs=0.005)
    assert ends.high - ends.low == pytest.approx(4 * 0.02, rel=0.1)
    few = intervals._logit_ends(0.55, draws, 2, 0.95)
    assert few.high - few.low > 3 * (ends.high - ends.low)


def test_ends_are_drawn_in_and_keep_the_value_between_them() -> None:
    close = intervals.close_ends
    assert close(0.5, intervals.Ends(-0.1, 0.4, 0.1), (0.0, 1.0), 9) == (0.0, 0.5, 0.1, "")
    assert close(0.5, intervals.Ends(0.6, 1.4, 0.1), (0.0, 1.0), 9) == (0.5, 1.0, 0.1, "")


def test_nothing_at_all() -> None:
    truth = GroundTruth.from_arrays([], [], [])
    found = Detections.from_arrays([], [], [], [])
    matches = match_detections(truth, found)
    result = figure_intervals(matches, accumulate_matches(matches), truth, resamples=100)
    assert list(result) == FIGURES
    assert np.isnan([each.low for each in result.values()]).all()


def arrays_of(sides: Sides) -> tuple[Any, CocoArrays]:
    matches = match_detections(*sides)
    return matches, accumulate_matches(matches)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 1.0}, "confidence must lie between 0 and 1; got 1.0"),
        ({"confidence": 0.0}, "confidence must lie between 0 and 1; got 0.0"),
        ({"resamples": 99}, "resamples must be at least 100; got 99"),
        ({"resamples": 200.0}, "resamples must be a whole number; got 200.0"),
        ({"seed": -1}, "seed must be at least 0; got -1"),
        ({"seed": 1.5}, "seed must be a whole number; got 1.5"),
        ({"threads": 0}, "threads must be at least 1; got 0"),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], message: str) -> None:
    sides = small(0)
    with pytest.raises(InputError, match=message):
        figure_intervals(*arrays_of(sides), sides[0], **options)


def test_arrays_must_be_those_of_the_matches() -> None:
    sides = small(0)
    matches, arrays = arrays_of(sides)
    options: dict[str, Any]
    for options in (
        {"iou_thresholds": (0.5,)},
        {"size_ranges": {"all": (0.0, 1e10)}},
        {"size_ranges": {f"{name} ones": ends for name, ends in SIZE_RANGES.items()}},
    ):
        other = coco_arrays(*sides, **options)
        with pytest.raises(InputError, match="arrays must be accumulated from the matches"):
            figure_intervals(matches, other, sides[0])
        with pytest.raises(InputError, match="arrays must be accumulated from the matches"):
            image_costs(matches, other, sides[0])
    with pytest.raises(InputError, match="arrays must be accumulated from the matches"):
        image_costs(matches, arrays_of(small(1))[1], sides[0])
    assert len(image_costs(matches, arrays, sides[0])) == 6


def test_the_ground_truth_must_be_the_one_that_was_matched() -> None:
    sides, other = small(0), small(1)
    message = "truth must be the ground truth that was matched"
    with pytest.raises(InputError, match=message):
        figure_intervals(*arrays_of(sides), other[0])
    strings = GroundTruth.from_arrays(["a"], ["b"], [[0, 0, 1, 1]])
    with pytest.raises(InputError, match=message):
        resample_figures(match_detections(*sides), strings)
    with pytest.raises(InputError, match="resamples must be at least 1; got 0"):
        resample_figures(match_detections(*sides), sides[0], resamples=0)
    with pytest.raises(InputError, match="max_dets must be at most 5, as matched; got 100"):
        resample_figures(match_detections(*sides, most=5), sides[0])
