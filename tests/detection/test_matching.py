"""Matches of predictions against slow loops, in every form that a data set may come in."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.core import InputError
from sightline.detection import _pairs
from sightline.detection.columns import Detections, GroundTruth
from sightline.detection.matching import match_dataset, match_predictions, match_thresholds
from tests.detection import detected
from tests.reference import detection as slow

BOX = (0, 0, 10, 10)


@given(detected.predictions(), detected.truths(), detected.LIMITS)
def test_one_image_equals_slow_loops(found: list[Any], true: list[Any], limit: float) -> None:
    before = copy.deepcopy((found, true))
    results, counts = match_predictions(found, true, limit)
    pairs = slow.greedy(found, true, limit)
    assert results == [(p[1], i in pairs, p[2]) for i, p in enumerate(found)]
    labels = [t[1] for t in true]
    assert counts == {label: labels.count(label) for label in labels}
    assert (found, true) == before


@given(detected.images(difficult=True), detected.LIMITS)
def test_voc_equals_slow_loops(scene: tuple[list[Any], list[Any]], limit: float) -> None:
    found = match_dataset(*scene, limit, protocol="voc")
    expected = [h for p, t in zip(*scene, strict=True) for h in slow.voc(p, t, limit)]
    assert found.hit.tolist() == expected
    plain = [t[1] for true in scene[1] for t in true if not t[2]]
    assert found.num_gt.tolist() == [plain.count(label) for label in found.labels]


@given(detected.images(), detected.LIMITS, st.randoms(use_true_random=False))
def test_the_form_of_the_data_changes_nothing(
    scene: tuple[list[Any], list[Any]], limit: float, random: Any
) -> None:
    plain = match_dataset(*scene, limit)
    names = [f"im{i}" for i in range(len(scene[0]))]
    found, true = (dict(zip(names, side, strict=True)) for side in scene)
    assert match_dataset(found, true, limit).hit.tolist() == plain.hit.tolist()
    flat = [[(n, o) for n, side in zip(names, part, strict=True) for o in side] for part in scene]
    # Images may come in any order, and mixed, as long as the order within each stays.
    place = [random.random() for _ in names]
    order = sorted(range(len(flat[0])), key=lambda i: place[names.index(flat[0][i][0])])
    ids = ([flat[0][i][0] for i in order], [name for name, _ in flat[1]])
    items = [flat[0][i][1] for i in order]
    again = match_dataset(items, [item for _, item in flat[1]], limit, images=ids)
    assert again.hit.tolist() == plain.hit[order].tolist()
    assert again.partner.tolist() == plain.partner[order].tolist()


@given(detected.flagged(), detected.LIMITS)
def test_records_with_columns_give_the_same(
    scene: tuple[list[Any], list[Any]], limit: float
) -> None:
    # On whole pixels: elsewhere sizes are rounded otherwise than corners, and ties fall apart.
    columns = detected.columns(scene)
    before = copy.deepcopy(columns)
    plain = [[[*t[:2], any(t[2:])] for t in true] for true in scene[1]]
    lists = match_dataset(scene[0], plain, limit)
    found = match_dataset(*columns, limit)
    assert found.hit.tolist() == lists.hit.tolist()
    assert found.partner.tolist() == lists.partner.tolist()
    assert found.num_gt.sum() == len(columns[1])  # the plain steps know no flags
    voc = match_dataset(*columns, limit, protocol="voc")
    expected = [h for p, t in zip(scene[0], plain, strict=True) for h in slow.voc(p, t, limit)]
    assert voc.hit.tolist() == expected
    for side, old in zip(columns, before, strict=True):
        for name in ("image", "label", "box", "area"):
            np.testing.assert_array_equal(getattr(side, name), getattr(old, name))


@given(detected.images(whole=True), detected.LIMITS)
def test_records_say_how_their_widths_count(
    scene: tuple[list[Any], list[Any]], limit: float
) -> None:
    wider = [
        [[[[*row[0][:2], row[0][2] + 1, row[0][3] + 1], *row[1:]] for row in part] for part in side]
        for side in scene
    ]
    expected = match_dataset(wider[0], wider[1], limit).partner.tolist()
    plain = match_dataset(*scene, limit).partner.tolist()
    silent, told = detected.columns(scene), detected.columns(scene, pixel="inclusive")
    assert match_dataset(*told, limit).partner.tolist() == expected
    assert match_dataset(*silent, limit, pixel="inclusive").partner.tolist() == expected
    assert match_dataset(*told, limit, pixel="continuous").partner.tolist() == plain
    # One that does not tell is taken to be as the other.
    assert match_dataset(silent[0], told[1], limit).partner.tolist() == expected
    assert match_dataset(told[0], silent[1], limit).partner.tolist() == expected
    # Where both tell, each is read in its own way.
    edges = detected.columns((wider[0], wider[1]), pixel="continuous")
    assert match_dataset(told[0], edges[1], limit).partner.tolist() == expected
    assert match_dataset(edges[0], told[1], limit).partner.tolist() == expected
    told_voc = match_dataset(*detected.columns(scene, pixel="continuous"), limit, protocol="voc")
    lists = match_dataset(*scene, limit, protocol="voc", pixel="continuous")
    assert told_voc.hit.tolist() == lists.hit.tolist()


def test_columns_are_read_as_corner_and_size() -> None:
    columns = SimpleNamespace(
        image=np.array([7, 3]),
        label=np.array([1, 1]),
        box=np.array([[5.0, 5, 10, 10], [0, 0, 4, 4]]),
        score=np.array([0.3, 0.9]),
    )
    true = SimpleNamespace(image=[7], label=[1], box=[(5, 5, 10, 9)], area=[80], crowd=[0])
    found = match_dataset(columns, true)
    assert found.hit.tolist() == [1, 0]
    assert found.images == (3, 7)


def test_masks_of_columns_overlap_instead_of_boxes() -> None:
    from pycocotools import mask

    def column(*pictures: Any) -> tuple[Any, ...]:
        return tuple(mask.encode(np.asfortranarray(p, np.uint8)) for p in pictures)

    upper, lower, box = np.tri(10), 1 - np.tri(10), [(0, 0, 10, 10)]
    true = SimpleNamespace(
        image=[1, 2], label=[1, 1], box=box * 2, masks=column(upper, np.ones((10, 10)))
    )
    found = SimpleNamespace(
        image=[2, 1, 1],
        label=[1, 1, 1],
        box=box * 3,
        score=[0.5, 0.9, 0.8],
        masks=column(upper, lower, upper),
    )
    assert match_dataset(found, true).hit.tolist() == [1, 0, 1]  # 55 of 100, none, all
    assert match_dataset(found, true).partner.tolist() == [1, -1, 0]
    found.masks = column(upper, lower, np.tri(10, 12))
    with pytest.raises(InputError, match="one image must have one size; got 10×12 and 10×10"):
        match_dataset(found, true)
    found.masks = None
    assert match_dataset(found, true).hit.tolist() == [1, 1, 0]


def test_equal_scores_across_images_go_by_image_id() -> None:
    found = match_dataset([[BOX, 0.5, 1]] * 2, [[BOX, 1]], images=(["b", "a"], ["a"]))
    assert found.hit.tolist() == [0, 1]


def test_pairs_are_the_same_however_many_are_compared_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    corner = rng.integers(0, 9, (60, 2))
    box = np.hstack([corner, corner + rng.integers(0, 6, (60, 2))]).tolist()
    found = [[b, 0.5, i % 2] for i, b in enumerate(box[:40])]
    true = [[b, i % 3] for i, b in enumerate(box[40:])]
    images = (rng.integers(0, 3, 40), rng.integers(0, 3, 20))
    partner = match_dataset(found, true, 0.2, images=images).partner.tolist()
    for size in (1, 3, 50):
        monkeypatch.setattr(_pairs, "_AT_ONCE", size)
        assert match_dataset(found, true, 0.2, images=images).partner.tolist() == partner
    assert max(partner) >= 0


def test_nothing_matches_across_images() -> None:
    assert match_dataset([[[BOX, 0.9, 1]], []], [[], [[BOX, 1]]]).hit.tolist() == [0]
    # More images than classes: no class of one image is taken for another of another image.
    for i in range(6):
        for j in range(6):
            found = match_dataset(
                {i: [[BOX, 0.9, "bee"]], 6: [[BOX, 0.8, "ant"]]},
                {j: [[BOX, "ant"]], 6: [[BOX, "ant"]]},
            )
            assert found.hit.tolist() == [0, 1]


def test_the_outcomes_that_the_rules_name() -> None:
    near, far = (0, 0, 10, 9), (50, 50, 60, 60)
    predictions = [
        [near, 0.6, "cat"],  # the object is claimed by a more confident one
        [BOX, 0.9, "cat"],  # found
        [BOX, 0.95, "dog"],  # overlap with another class is none
        [far, 0.99, "cat"],  # overlaps nothing
    ]
    truths = [[BOX, "cat"], [(80, 80, 90, 90), "cat"]]
    results, counts = match_predictions(predictions, truths, 0.5)
    assert [is_tp for _, is_tp, _ in results] == [False, True, False, False]
    assert counts == {"cat": 2}


def test_the_second_best_object_is_taken_if_the_best_is_not_free() -> None:
    truths = [[BOX, 1], [(0, 0, 10, 8), 1]]
    predictions = [[BOX, 0.9, 1], [(0, 0, 10, 10), 0.8, 1]]
    assert match_dataset([predictions], [truths]).partner.tolist() == [0, 1]
    assert match_dataset([predictions], [truths], protocol="voc").hit.tolist() == [1, 0]


def test_iou_exactly_at_the_threshold() -> None:
    half, whole = [[[(0, 0, 10, 5), 0.9, 1]]], [[[BOX, 1]]]
    assert match_dataset(half, whole, 0.5).hit.tolist() == [1]
    assert match_predictions(half[0], whole[0], 0.5) == ([(0.9, True, 1)], {1: 1})
    voc = match_dataset(half, whole, 0.5, protocol="voc", pixel="continuous")
    assert voc.hit.tolist() == [0]


def test_a_box_without_area_finds_nothing() -> None:
    point = (5, 5, 5, 5)
    assert match_predictions([[point, 0.9, 1]], [[point, 1]])[0] == [(0.9, False, 1)]
    inclusive = match_predictions([[point, 0.9, 1]], [[point, 1]], pixel="inclusive")
    assert inclusive[0] == [(0.9, True, 1)]


@given(detected.images(difficult=True), st.sampled_from(["simple", "voc"]))
def test_thresholds_at_once_are_thresholds_one_by_one(
    scene: tuple[list[Any], list[Any]], protocol: Any
) -> None:
    limits = [0.5, 0.1, 1.0, 0.75]
    several = match_thresholds(*scene, iter(limits), protocol=protocol)
    for limit, found in zip(limits, several, strict=True):
        one = match_dataset(*scene, limit, protocol=protocol)
        assert found.hit.tolist() == one.hit.tolist()
        assert found.partner.tolist() == one.partner.tolist()
    assert match_thresholds(*scene, []) == ()


def test_numbers_of_numpy_and_arrays_that_cannot_be_written_to() -> None:
    box = detected.fixed(np.array(BOX, np.float32))
    rows = [[box, np.float32(0.5), np.int64(3)], [list(box), 0.25, np.array(3)]]
    results, counts = match_predictions(rows, [[box, 3], [BOX, np.uint8(3)]])
    assert results == [(0.5, True, 3), (0.25, True, 3)]
    assert counts == {3: 2}
    assert [type(value) for value in results[0]] == [float, bool, int]
    assert match_predictions([[BOX, 1, np.str_("a")]], [[BOX, "a"]])[0] == [(1.0, True, "a")]


def test_columns_that_cannot_be_written_to() -> None:
    fixed = detected.fixed
    found = Detections.from_arrays(fixed([2, 1]), fixed([1, 1]), fixed([BOX, BOX]), fixed([0.5, 1]))
    true = GroundTruth.from_arrays(fixed([1]), fixed([1]), fixed([BOX]), crowd=fixed([True]))
    for protocol in ("simple", "voc"):
        assert match_dataset(found, true, protocol=protocol).hit.tolist()[0] == 0


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    box = torch.tensor([0.0, 0, 10, 10], requires_grad=True)
    row = [box, torch.tensor(0.5, dtype=torch.float64), torch.tensor(7)]
    assert match_predictions([row], [[box, torch.tensor(7)]]) == ([(0.5, True, 7)], {7: 1})
    edges = [torch.tensor(edge) for edge in BOX]
    assert match_predictions([[edges, 0.5, 7]], [[torch.tensor(BOX), 7]])[0] == [(0.5, True, 7)]


def test_iterators_and_images_on_one_side_only() -> None:
    found = ((row for row in [[BOX, 0.9, 1]]) for _ in range(2))
    assert match_dataset(found, iter([[], [[BOX, 1]]])).hit.tolist() == [0, 1]
    mapping: Any = {np.int64(4): iter([[BOX, 0.9, 1]]), 2: []}
    here = match_dataset(mapping, {4: [[BOX, 1]], 9: [[BOX, 1]]})
    assert (here.hit.tolist(), here.num_gt.tolist(), here.images) == ([1], [2], (4, 9))
    ids = iter([3]), iter(np.array([3]))
    assert match_dataset(iter([[BOX, 0.9, 1]]), iter([[BOX, 1]]), images=ids).hit.tolist() == [1]


def test_nothing_at_all() -> None:
    empty: Any
    for empty in ([], {}, [[]], {"a": []}):
        found = match_dataset(empty, empty)
        assert (len(found.hit), found.labels) == (0, ())
    assert match_predictions([], []) == ([], {})
    assert match_predictions([], [[BOX, 1]]) == ([], {1: 1})
    assert match_predictions([[BOX, 0.5, 1]], []) == ([(0.5, False, 1)], {})
    found_none, true_none = (
        Detections.from_arrays([], [], [], []),
        GroundTruth.from_arrays(["a"], ["cat"], [BOX]),
    )
    assert match_dataset(found_none, true_none).num_gt.tolist() == [1]


def test_classes_without_boxes_are_listed_and_unknown_images_refused() -> None:
    truth = GroundTruth.from_arrays([1], [5], [BOX], images=[1, 2], classes=[3, 5])
    found = match_dataset(Detections.from_arrays([2], [5], [BOX], [0.5]), truth)
    assert (found.labels, found.num_gt.tolist()) == ((3, 5), [0, 1])
    with pytest.raises(InputError, match="the ground truth lists; got 7 in row 1"):
        match_dataset(Detections.from_arrays([2, 7], [5, 5], [BOX] * 2, [0.5] * 2), truth)
    for image, label in (("2", 5), (2, "5")):
        with pytest.raises(InputError, match="integers everywhere or strings everywhere"):
            match_dataset(Detections.from_arrays([image], [label], [BOX], [0.5]), truth)


def test_boxes_too_small_or_too_far_out_for_numbers() -> None:
    tiny = (0.0, 0.0, 1e-200, 1e-200)
    assert match_predictions([[tiny, 0.9, 1]], [[tiny, 1]])[0] == [(0.9, False, 1)]
    for box in ((0.1, 0.7, 0.2, 0.3), (1e16, 0.0, 3.0, 4.0), (1e-3, 1e9, 1e-3, 1e-3)):
        one = (
            Detections.from_arrays([1], [1], [box], [0.5]),
            GroundTruth.from_arrays([1], [1], [box]),
        )
        assert match_dataset(*one, 1.0).hit.tolist() == [1]  # a box is what it is


def test_no_score_is_too_low_and_misses_follow_from_the_counts() -> None:
    predictions = [[BOX, 0.0, "cat"], [BOX, -3.0, "cat"], [(50, 0, 60, 10), 0.4, "dog"]]
    truths = [[BOX, "cat"], [(80, 80, 90, 90), "cat"], [(50, 0, 60, 10), "dog"]]
    results, counts = match_predictions(predictions, truths)
    assert [row[0] for row in results] == [0.0, -3.0, 0.4]
    hits = {name: sum(hit for _, hit, label in results if label == name) for name in counts}
    assert {name: counts[name] - hits[name] for name in counts} == {"cat": 1, "dog": 0}


def test_voc_looks_only_at_the_object_it_overlaps_most() -> None:
    near = (0, 0, 10, 8)
    truths = [[BOX, 1, True], [near, 1, False]]
    on_difficult = match_dataset([[[BOX, 0.9, 1]]], [truths], protocol="voc")
    assert (on_difficult.hit.tolist(), on_difficult.partner.tolist()) == ([-1], [0])
    twice = match_dataset([[[near, 0.9, 1], [near, 0.8, 1]]], [truths], protocol="voc")
    assert twice.hit.tolist() == [1, 0]
    assert twice.num_gt.tolist() == [1]
    touching = [[[(11, 0, 21, 10), 0.9, 1]]], [[[BOX, 1]]]
    assert match_dataset(*touching, 0.01, protocol="voc").hit.tolist() == [0]
    shared = [[[(10, 0, 20, 10), 0.9, 1]]], [[[BOX, 1]]]  # a column of pixels is in both
    assert match_dataset(*shared, 0.01, protocol="voc").hit.tolist() == [1]


@pytest.mark.parametrize(
    ("predictions", "truths", "words"),
    [
        ([[[BOX, 0.9]]], [[]], r"\[box, score, class_id\].*got"),
        ([[BOX, 0.9, 1]], [[BOX, 1]], r"one list an image"),
        ([[[BOX[:3], 0.9, 1]]], [[]], "4 numbers"),
        ([[[(*BOX[:3], "10"), 0.9, 1]]], [[]], "4 numbers"),
        ([[[(*BOX[:3], None), 0.9, 1]]], [[]], "4 numbers"),
        ([[[3, 0.9, 1]]], [[]], "4 numbers"),
        ([[[np.array([BOX]), 0.9, 1]]], [[]], "4 numbers"),
        ([[[BOX, 0.9, None]]], [[]], "class id of a prediction must be an integer.*None"),
        ([[[BOX, 0.9, 1.5]]], [[]], r"integer or a string; got 1\.5"),
        ([[[BOX, 0.9, True]]], [[]], "integer or a string; got True"),
        ([[[BOX, 0.9, (1, 2)]]], [[]], r"got \(1, 2\)"),
        ([[[BOX, 0.9, 1], [BOX, 0.9, "1"]]], [[]], "strings everywhere; got 1 and '1'"),
        ([[[BOX, 0.9, 1]]], [[[BOX, "1"]]], "class id must be integers everywhere"),
        ([[[BOX, "0.9", 1]]], [[]], "score must be a number; got '0.9' in image 0"),
        ([[[BOX, True, 1]]], [[]], "score must be a number; got True"),
        ([[[BOX, None, 1]]], [[]], "score must be a number; got None"),
        ([[]], [[[BOX, 1, "yes"]]], "whether it is difficult, 0 or 1"),
        ([[]], [[[BOX, 1, 2]]], "whether it is difficult, 0 or 1"),
        ([["abc"]], [[]], r"\[box, score, class_id\].*got 'abc'"),
        ([3], [[]], "image 0 must have a list of boxes; got 3"),
        ({None: []}, {}, None),
        ({None: [[BOX, 0.9, 1]]}, {}, "image must be an integer or a string; got None"),
        ({1: [[BOX, 0.9, 1]]}, {"1": [[BOX, 1]]}, "image must be integers everywhere"),
        ([[[(0, 0, float("nan"), 1), 0.9, 1]]], [[]], "finite numbers.*image 0"),
        ([[[(5, 0, 1, 1), 0.9, 1]]], [[]], "width and height.*xyxy"),
        ([[[BOX, float("nan"), 1]]], [[]], "finite score"),
        ([[], []], [[]], "2 and 1"),
        ([[]], {"a": []}, "same form.*lists and a mapping"),
        (3, [[]], "int"),
    ],
)
def test_errors_name_what_is_wrong(predictions: Any, truths: Any, words: str | None) -> None:
    if words is None:  # nothing is wrong, since nothing is there
        assert len(match_dataset(predictions, truths).hit) == 0
        return
    with pytest.raises(InputError, match=words):
        match_dataset(predictions, truths)


@pytest.mark.parametrize("limit", [0, -1, 1.5, float("nan"), None, "0.5"])
def test_the_threshold_is_checked(limit: Any) -> None:
    with pytest.raises(InputError, match="iou_threshold"):
        match_predictions([], [], limit)


def test_options_are_checked() -> None:
    one: Any = 0.5
    with pytest.raises(InputError, match="iou_thresholds must be a list of numbers"):
        match_thresholds([], [], one)
    wrong: Any = "yolo"
    for option in ({"protocol": wrong}, {"box_format": wrong}, {"pixel": wrong}):
        with pytest.raises(InputError, match="yolo"):
            match_dataset([], [], **option)
    with pytest.raises(InputError, match="one for each of 1 prediction"):
        match_dataset([[BOX, 0.9, 1]], [], images=([], []))
    with pytest.raises(InputError, match="two lists"):
        match_dataset([], [], images=[1, 2, 3])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="go with flat lists; got a mapping"):
        match_dataset({}, {}, images=([], []))


def test_boxes_may_be_written_from_their_centres() -> None:
    shift, where = (5, 5, 10, 10), (4.5, 5, 9, 10)
    centres = match_dataset([[[where, 0.9, 1]]], [[[shift, 1]]], 0.85, box_format="cxcywh")
    corners = match_dataset([[[(0, 0, 9, 10), 0.9, 1]]], [[[BOX, 1]]], 0.85)
    assert centres.hit.tolist() == corners.hit.tolist() == [1]
    with pytest.raises(InputError, match=r"width and height.*cxcywh"):
        match_dataset([[[(5, 5, -1, 1), 0.9, 1]]], [[]], box_format="cxcywh")


def test_columns_are_checked() -> None:
    def columns(**changed: Any) -> SimpleNamespace:
        plain = {"image": [1], "label": [1], "box": [BOX], "score": [0.5]}
        return SimpleNamespace(**(plain | changed))

    for name in ("image", "label", "score", "area", "crowd", "difficult"):
        with pytest.raises(InputError, match=f"one {name} for each of 1 boxes; got 2"):
            match_dataset(columns(**{name: [1, 0]}), columns())
    with pytest.raises(InputError, match=r"pixel must be one of.*'odd'"):
        match_dataset(columns(pixel="odd"), columns())
    with pytest.raises(InputError, match="predictions must have a score for each box"):
        match_dataset(columns(score=None), columns())
    with pytest.raises(InputError, match=r"shape \(N, 4\).*got 1×5"):
        match_dataset(columns(), columns(box=[(*BOX, 1)]))
    with pytest.raises(InputError, match="score of predictions must be numbers"):
        match_dataset(columns(score=["x"]), columns())
    with pytest.raises(InputError, match="class id must be an integer"):
        match_dataset(columns(label=[1.5]), columns())
    with pytest.raises(InputError, match="width and height"):
        match_dataset(columns(box=[(0, 0, -1, 2)]), columns())
    mixed = match_dataset(columns(label=np.array([1], np.uint8)), columns())
    assert mixed.hit.tolist() == [1]
