"""The cross-image null: its matrix equals a loop over pairs, its p-values count what they say."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sightline.core import InputError, MapError, UnknownNameError
from sightline.metrics import METRICS, score_maps
from sightline.stats import cross as cross_module
from sightline.stats import nulls
from sightline.stats.nulls import CrossScores, Null, best_of, cross_image, cross_scores
from tests.reference import nulls as reference
from tests.strategies import maps as any_map

if TYPE_CHECKING:
    from sightline.core.choices import Direction

LINEAR = (
    "auc_roc",
    "coverage",
    "dice@50",
    "iou@0",
    "iou@100",
    "iou@90",
    "iou@97.5",
    "iou@mass60",
    "iou@mean",
    "iou_corrected@90",
    "iou_share@90",
    "lift@90",
    "pointing",
    "precision@75",
    "recall@90",
    "recall@mass80",
    "top_k_pointing@k3",
    "top_k_pointing@k5",
)
OTHERS = (
    "auc_judd",
    "average_precision",
    "best_iou",
    "information_gain",
    "iou@matched",
    "nss",
    "pointing@tol2",
    "relevance_rank",
    "top_k_any@k5",
)
UNSIGNED = ("coverage", "information_gain", "iou@mass60", "iou@mean", "recall@mass80")
SIDE = 6


def scene(seed: int = 0, images: int = 7) -> tuple[Any, Any]:
    """Maps with ties, without any energy, constant, negative; masks empty, full, of one pixel."""
    rng = np.random.default_rng(seed)
    maps = rng.normal(size=(images, SIDE, SIDE))
    maps[1] = rng.integers(-1, 3, (SIDE, SIDE))
    maps[2] = 0
    maps[3] = 0.1
    maps[4] *= 1e-9
    masks = rng.random((images, SIDE, SIDE)) < 0.3
    masks[1] = True
    masks[2] = False
    masks[3] = False
    masks[3, 2, 2] = True
    return maps, masks


def patches(images: int = 7, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    ignore = rng.random((images, SIDE, SIDE)) < 0.2
    ignore[0] = False
    ignore[4] = ignore[5]
    ignore[6] = True
    return ignore


@cache
def slow(sign: Any, ties: Any, ignoring: bool = False) -> dict[str, Any]:
    names = [m for m in (*LINEAR, *OTHERS) if sign != "signed" or m not in UNSIGNED]
    ignore = patches() if ignoring else None
    return reference.cross_matrices(*scene(), names, ignore, sign=sign, ties=ties)


def test_every_fitting_metric_is_listed() -> None:
    fitting = {name for name, spec in METRICS.items() if spec.needs == ("mask",)}
    fitting = {name for name in fitting if METRICS[name].level != "dataset"}
    assert {name.partition("@")[0] for name in (*LINEAR, *OTHERS)} == fitting


@pytest.mark.parametrize("ties", ["share", "include"])
@pytest.mark.parametrize("sign", ["positive", "absolute", "signed"])
@pytest.mark.parametrize("metric", [*LINEAR, *OTHERS])
def test_the_matrix_is_that_of_a_loop_over_pairs(metric: str, sign: Any, ties: Any) -> None:
    if sign == "signed" and metric in UNSIGNED:
        with pytest.raises(InputError, match="sign 'positive' or 'absolute'"):
            cross_scores(*scene(), metric, sign=sign, ties=ties)
        return
    maps, masks = scene()
    found = cross_scores(maps, masks, metric, sign=sign, ties=ties)
    ((indices, matrix),) = found.blocks
    np.testing.assert_allclose(matrix, slow(sign, ties)[metric], rtol=0, atol=1e-12)
    assert indices.tolist() == list(range(7))
    own = score_maps(maps, masks, metrics=[metric], sign=sign, ties=ties)[metric]
    np.testing.assert_allclose(found.values, own, rtol=0, atol=1e-12)
    assert (found.n, found.metric, found.direction) == (7, metric, "higher")


@pytest.mark.parametrize("metric", [*LINEAR, *OTHERS])
def test_pixels_are_ignored_where_the_scored_image_ignores_them(metric: str) -> None:
    ((_, matrix),) = cross_scores(*scene(), metric, ignore=patches(), sign="positive").blocks
    expected = slow("positive", "share", ignoring=True)[metric]
    np.testing.assert_allclose(matrix, expected, rtol=0, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(data=st.data(), metric=st.sampled_from(LINEAR), ties=st.sampled_from(["share", "include"]))
def test_any_maps_score_as_in_a_loop(data: st.DataObject, metric: str, ties: Any) -> None:
    shape = data.draw(hnp.array_shapes(min_dims=2, max_dims=2, max_side=5))
    maps = [data.draw(any_map(shape)) for _ in range(3)]
    masks = data.draw(hnp.arrays(bool, (3, *shape)))
    ((_, matrix),) = cross_scores(maps, masks, metric, ties=ties, sign="positive").blocks
    expected = reference.cross_matrices(maps, masks, [metric], ties=ties)[metric]
    np.testing.assert_allclose(matrix, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("metric", LINEAR)
def test_sums_do_not_overflow(metric: str) -> None:
    maps, masks = scene()
    huge = 1e308 * (np.abs(maps)[:2] / np.abs(maps).max())
    ((_, matrix),) = cross_scores(huge, masks[5:], metric).blocks
    expected = reference.cross_matrices(huge, masks[5:], [metric])[metric]
    np.testing.assert_allclose(matrix, expected, rtol=0, atol=1e-12)
    assert np.isfinite(matrix).all()


def test_linear_and_other_metrics_take_their_own_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    maps, masks = scene()
    monkeypatch.setattr(cross_module, "score_maps", None)
    for metric in LINEAR:
        cross_scores(maps, masks, metric, ignore=patches(), sign="positive")
    for metric in OTHERS:
        with pytest.raises(TypeError):
            cross_scores(maps, masks, metric, sign="positive")


@pytest.mark.parametrize("metric", ["iou@90", "auc_roc", "best_iou"])
def test_chunks_change_nothing(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    maps, masks = scene()
    ((_, whole),) = cross_scores(maps, masks, metric, ignore=patches(), sign="positive").blocks
    monkeypatch.setattr(cross_module, "CHUNK", 80)
    ((_, pieces),) = cross_scores(maps, masks, metric, ignore=patches(), sign="positive").blocks
    np.testing.assert_allclose(pieces, whole, rtol=0, atol=1e-15)


def test_classes_and_sizes_are_never_mixed() -> None:
    rng = np.random.default_rng(0)
    sizes = [(4, 4), (4, 5), (4, 4), (4, 4), (4, 5), (4, 4), (2, 8)]
    maps = [rng.random(size) for size in sizes]
    masks = [rng.random(size) < 0.5 for size in sizes]
    classes = ["a", "a", "b", "a", "a", ("b", 1), "a"]
    found = cross_scores(maps, masks, "coverage", classes=classes)
    assert [indices.tolist() for indices, _ in found.blocks] == [[0, 3], [1, 4], [2], [5], [6]]
    for indices, matrix in found.blocks:
        parts = [maps[i] for i in indices], [masks[i] for i in indices]
        expected = reference.cross_matrices(*parts, ["coverage"])["coverage"]
        np.testing.assert_allclose(matrix, expected, rtol=0, atol=1e-12)
    null = cross_image(found)
    assert (null.n, null.alone, null.blocks, null.undefined) == (4, 3, 2, 0)
    assert math.isnan(null.p)
    assert null.reason == ("too few images: 4 with a score, 5 are needed; 3 alone in their class")


def test_large_classes_are_cut_into_blocks_at_random() -> None:
    maps, masks = np.random.default_rng(0).random((2, 23, 3, 3))
    classes = ["a"] * 19 + ["b"] * 4
    found = cross_scores(maps, masks < 0.5, "coverage", classes=classes, block=5)
    sizes = [len(indices) for indices, _ in found.blocks]
    assert sizes == [5, 5, 5, 4, 4]
    assert sorted(np.concatenate([indices for indices, _ in found.blocks])) == list(range(23))
    assert found.blocks[0][0].tolist() != [0, 1, 2, 3, 4]
    assert found.blocks[-1][0].tolist() == [19, 20, 21, 22]
    again = cross_scores(maps, masks < 0.5, "pointing", classes=classes, block=5)
    other = cross_scores(maps, masks < 0.5, "coverage", classes=classes, block=5, seed=1)
    assert [b[0].tolist() for b in found.blocks] == [b[0].tolist() for b in again.blocks]
    assert [b[0].tolist() for b in found.blocks] != [b[0].tolist() for b in other.blocks]
    np.testing.assert_allclose(
        found.values, score_maps(maps, masks < 0.5)["coverage"], rtol=0, atol=1e-12
    )


def block(matrix: Any, direction: Any = "higher") -> CrossScores:
    return CrossScores(len(matrix), ((np.arange(len(matrix)), matrix),), "", direction)


@pytest.mark.parametrize("direction", ["higher", "lower"])
@pytest.mark.parametrize("gaps", [False, True])
def test_the_p_value_of_a_data_set_is_that_of_all_permutations(direction: Any, gaps: bool) -> None:
    matrix = np.random.default_rng(5).random((7, 7))
    better = 1 if direction == "higher" else -1
    matrix[np.diag_indices(7)] += 0.1 * better
    if gaps:
        matrix[2] = np.nan  # a map without energy
        matrix[:, 4] = np.nan  # an image without annotation
    exact = reference.all_permutations_p(matrix, better)
    assert 0.01 < exact < 0.5
    null = cross_image(block(matrix, direction), permutations=29999)
    assert null.p == pytest.approx(exact, abs=0.01)
    assert cross_image(block(matrix), direction=direction, permutations=29999).p == null.p
    assert null.mean == pytest.approx(np.nanmean(matrix))
    assert null.value == pytest.approx(np.nanmean(np.diagonal(matrix)))
    assert (null.n, null.undefined) == ((5, 2) if gaps else (7, 0))


def test_the_maps_as_they_are_count_among_the_draws() -> None:
    best = np.eye(40)
    assert [cross_image(block(best), permutations=n).p for n in (1, 3, 99)] == [0.5, 0.25, 0.01]


def test_permutations_stay_within_blocks() -> None:
    matrix = np.arange(9.0).reshape(3, 3)
    blocks = ((np.array([0, 2, 4]), matrix), (np.array([1, 3, 5]), 100 + matrix.T))
    null = cross_image(CrossScores(6, blocks), permutations=2000, keep_draws=True)
    assert null.draws is not None
    assert set(np.round(6 * null.draws, 9)) == {6 * np.diagonal(matrix).sum() / 3 + 300}
    assert null.p == 1  # the trace is the same under every permutation


def test_blocks_are_permuted_apart_and_the_mean_is_over_images() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.random((3, 3)), rng.random((2, 2))
    blocks = ((np.arange(3), first), (np.array([3, 4]), second), (np.array([5]), np.ones((1, 1))))
    null = cross_image(CrossScores(6, blocks), permutations=20000, keep_draws=True)
    assert null.draws is not None
    assert null.mean == pytest.approx((3 * first.mean() + 2 * second.mean()) / 5)
    assert null.value == pytest.approx((np.trace(first) + np.trace(second)) / 5)
    assert len(np.unique(null.draws.round(12))) == 6 * 2
    assert null.draws.mean() == pytest.approx(null.mean, abs=0.01)
    assert null.sd == pytest.approx(null.draws.std())
    assert (null.alone, null.n, null.blocks) == (1, 5, 2)
    twins = CrossScores(6, ((np.arange(3), first), (np.arange(3, 6), 100 * first)))
    draws = cross_image(twins, permutations=2000, keep_draws=True).draws
    assert len(np.unique(np.asarray(draws).round(12))) == 6 * 6


def test_an_image_is_compared_with_the_other_maps_on_its_regions() -> None:
    rng = np.random.default_rng(2)
    matrix = rng.normal(size=(25, 25)).round(1)
    matrix[3] = np.nan
    matrix[:, 7] = np.nan
    matrix[:6, 9] = np.nan  # 19 maps are left
    for direction, better in (("higher", 1), ("lower", -1)):
        null = cross_image(block(matrix, direction), permutations=9)
        expected = [reference.image_p(matrix[:, j], matrix[j, j], better) for j in range(25)]
        np.testing.assert_array_equal(null.p_images, expected)
        assert np.flatnonzero(np.isnan(null.p_images)).tolist() == [3, 7, 9]
        assert (null.n, null.undefined) == (23, 2)
        columns = [reference.defined_mean(column) for column in matrix.T]
        assert null.mean == pytest.approx(reference.defined_mean(columns), abs=1e-12)


def test_an_image_needs_twenty_maps() -> None:
    for size, enough in ((19, False), (20, True)):
        matrix = np.random.default_rng(0).random((size, size))
        null = cross_image(block(matrix), permutations=9)
        assert np.isfinite(null.p_images).all() == enough
        assert np.isfinite(null.p)
        few = "too few maps in their class: 19 images have fewer than the 20 needed"
        assert null.reason_images == ("" if enough else few)


def test_a_data_set_needs_five_images() -> None:
    for size in (1, 2, 4, 5):
        matrix = np.random.default_rng(0).random((size, size))
        null = cross_image(block(matrix), permutations=9)
        assert math.isnan(null.p) == bool(null.reason) == (size < 5)
    nothing = cross_image(CrossScores(2, ((np.arange(2), np.full((2, 2), np.nan)),)))
    assert math.isnan(nothing.value)
    assert math.isnan(nothing.sd)
    assert (nothing.n, nothing.undefined) == (0, 2)


def test_scores_that_differ_by_rounding_are_ties() -> None:
    noise = 1e-12 * np.random.default_rng(0).random((30, 30))
    matrix = np.full((30, 30), 0.3) + noise
    matrix[np.diag_indices(30)] += 1e-10
    null = cross_image(block(matrix), permutations=99)
    assert null.p == 1
    assert (null.p_images == 1).all()
    matrix[np.diag_indices(30)] += 1e-8
    null = cross_image(block(matrix), permutations=99)
    assert null.p == 0.01
    assert (null.p_images == 1 / 30).all()


@pytest.mark.parametrize("metric", ["iou@90", "coverage", "auc_roc", "pointing"])
def test_the_same_map_for_every_image_is_never_significant(metric: str) -> None:
    rng = np.random.default_rng(3)
    masks = rng.random((30, 9, 9)) < 0.2
    at = np.linspace(-1, 1, 9)
    for one in (np.ones((9, 9)), np.exp(-(at[:, None] ** 2) - at**2), rng.random((9, 9))):
        null = cross_image(cross_scores(np.stack([one] * 30), masks, metric), permutations=99)
        assert null.p == 1
        assert (null.p_images == 1).all()


def test_lines_on_the_same_images_share_their_permutations() -> None:
    matrix = np.random.default_rng(0).random((12, 12))
    scores = block(matrix)
    twice = block(2 * matrix)
    first = cross_image(scores, permutations=50, keep_draws=True)
    second = cross_image(twice, permutations=50, keep_draws=True)
    other = cross_image(scores, permutations=50, keep_draws=True, seed=1)
    np.testing.assert_allclose(np.asarray(second.draws), 2 * np.asarray(first.draws))
    assert (np.asarray(other.draws) != first.draws).any()
    assert cross_image(scores, permutations=50).draws is None


def test_drawing_in_pieces_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.random.default_rng(0).random((12, 12))
    scores = block(matrix)
    whole = cross_image(scores, permutations=50, keep_draws=True)
    monkeypatch.setattr(nulls, "CHUNK", 40)
    pieces = cross_image(scores, permutations=50, keep_draws=True)
    np.testing.assert_array_equal(np.asarray(pieces.draws), np.asarray(whole.draws))


def test_tensors_are_read() -> None:
    torch = pytest.importorskip("torch")
    maps, masks = scene()
    plain = cross_scores(maps.astype(np.float32), masks, "iou@90", sign="positive")
    tensors = cross_scores(
        torch.tensor(maps, dtype=torch.float32), torch.tensor(masks), "iou@90", sign="positive"
    )
    np.testing.assert_array_equal(plain.blocks[0][1], tensors.blocks[0][1])
    rough = cross_scores(
        torch.tensor(maps, dtype=torch.bfloat16), torch.tensor(masks), "iou@90", sign="positive"
    )
    assert np.isfinite(rough.values).sum() == 6


def test_a_map_may_be_anything_where_nobody_looks() -> None:
    maps, masks = scene()
    ignore = np.zeros_like(masks)
    ignore[:, 0] = True
    maps[5, 0] = np.nan
    assert (
        np.isfinite(
            cross_scores(maps, masks, "auc_roc", ignore=ignore, sign="positive").values
        ).sum()
        == 5
    )
    ignore[1, 0, 0] = False
    for metric in ("auc_roc", "best_iou"):
        with pytest.raises(MapError, match="map 5 is not finite: 1 NaN"):
            cross_scores(maps, masks, metric, ignore=ignore, sign="positive")
        with pytest.raises(MapError, match="map 5 is not finite: 6 NaN"):
            cross_scores(maps, masks, metric, classes=["a", "b"] * 3 + ["a"], sign="positive")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": "iou"}, "iou has a value for each threshold: name one, as iou@90"),
        ({"metric": "cc"}, "cc does not compare a map with annotated pixels alone"),
        ({"metric": "entropy"}, "entropy does not compare"),
        ({"metric": "shuffled_auc"}, "shuffled_auc does not compare"),
        ({"metric": "corloc@90"}, "figure of a data set"),
        ({"sign": "both"}, "sign must be one of"),
        ({"ties": "drop"}, "ties must be one of"),
        ({"block": 1}, "block must be at least 2 images; got 1"),
        ({"classes": ["a"]}, "classes must hold a label for each of 7 images; got 1"),
        ({"masks": np.ones((3, 6, 6), bool)}, "masks must hold one array for each of 7 maps"),
        ({"masks": np.ones((7, 5, 6), bool)}, "masks must have the maps' height and width 6×6"),
        ({"masks": [None] * 7}, "found None"),
        ({"ignore": np.full((7, 6, 6), 2)}, "ignore must hold only 0 and 1"),
        ({"maps": np.zeros((7, 2, 6, 6))}, r"maps must have shape \(n, H, W\); got 7×2×6×6"),
        ({"maps": [np.zeros((6, 6)), np.zeros((2, 6, 6))]}, "entry 1 has shape 2×6×6"),
        ({"maps": []}, "at least one map"),
    ],
)
def test_mistakes_are_named(change: dict[str, Any], message: str) -> None:
    maps, masks = scene()
    given = {"maps": maps, "masks": masks, "metric": "iou@90", **change}
    positional = [given.pop(name) for name in ("maps", "masks", "metric")]
    with pytest.raises(InputError, match=message):
        cross_scores(*positional, **given)


def test_unknown_metrics_and_wrong_draws_are_named() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'iou'"):
        cross_scores(*scene(), "iuo@90")
    scores = CrossScores(2, ((np.arange(2), np.ones((2, 2))),))
    with pytest.raises(InputError, match="permutations must be at least 1; got 0"):
        cross_image(scores, permutations=0)
    with pytest.raises(InputError, match=r"direction must be 'higher' or 'lower'.*'neither'"):
        cross_image(scores, direction="neither")


def test_matrices_of_your_own_are_checked() -> None:
    square = np.ones((2, 2))
    with pytest.raises(InputError, match="each of the images 0 … 2 once"):
        CrossScores(3, ((np.array([0, 1]), square),))
    with pytest.raises(InputError, match="each of the images 0 … 1 once"):
        CrossScores(2, ((np.array([0, 0]), square),))
    with pytest.raises(InputError, match="2 rows and columns; got shape 2×3"):
        CrossScores(2, ((np.arange(2), np.ones((2, 3))),))


def test_the_assumption_is_one_sentence() -> None:
    null = cross_image(cross_scores(*scene(), "coverage", sign="positive"), permutations=9)
    assert null.kind == "cross-image"
    assert "exchangeable" in null.assumption
    assert "." not in null.assumption


# --- the best of several -------------------------------------------------------------------------


def candidates(count: int, seed: int = 5) -> list[Null]:
    rng = np.random.default_rng(seed)
    masks = rng.random((24, 6, 6)) > 0.7
    crossed = [cross_scores(rng.random((24, 6, 6)), masks, "coverage") for _ in range(count)]
    return [cross_image(one, permutations=199, seed=3, keep_draws=True) for one in crossed]


@pytest.mark.parametrize("direction", ["higher", "lower"])
def test_the_best_is_chosen_again_in_each_draw(direction: Direction) -> None:
    found, sign = candidates(5), 1 if direction == "higher" else -1
    best = best_of(found, direction=direction)
    values = [sign * null.value for null in found]
    drawn = [
        max(sign * null.draws[i] for null in found if null.draws is not None) for i in range(199)
    ]
    assert best.value == sign * max(values)
    assert best.p == (1 + sum(one >= max(values) - 1e-9 for one in drawn)) / 200
    assert best.draws is not None
    assert (sign * best.draws).tolist() == drawn
    assert best.mean == pytest.approx(sign * np.mean(drawn), abs=1e-15)
    assert best.p_images is found[values.index(max(values))].p_images


def test_one_candidate_is_no_choice() -> None:
    (null,) = candidates(1)
    assert best_of([null]).p == null.p


def test_the_best_needs_draws_of_all() -> None:
    first, second = candidates(2)
    for wrong in (
        [],
        [first, replace(second, draws=None)],
        [first, replace(second, draws=np.ones(3))],
    ):
        with pytest.raises(InputError, match="same number of draws"):
            best_of(wrong)


def test_the_best_of_what_has_no_score_has_none() -> None:
    (null,) = candidates(1)
    nothing = replace(null, value=np.nan, p=np.nan, reason="too few images")
    assert best_of([nothing, nothing]).reason == "too few images"
    assert best_of([nothing, null]).value == null.value


def test_no_blocks_are_refused() -> None:
    with pytest.raises(InputError, match="at least one block of images; got none"):
        CrossScores(0, ())


def test_classes_may_be_a_tensor() -> None:
    torch = pytest.importorskip("torch")
    maps, labels = np.random.default_rng(0).random((6, 4, 4)), np.arange(6) % 2
    scores = cross_scores(maps, maps > 0.5, "auc_roc", classes=torch.tensor(labels))
    assert [indices.tolist() for indices, _ in scores.blocks] == [[0, 2, 4], [1, 3, 5]]
