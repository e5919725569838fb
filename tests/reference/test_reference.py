"""The reference itself, against figures worked out by hand, enumeration and scikit-learn."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from typing import SupportsFloat

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from tests.reference import maps

# Groups, highest first, as value: pixels, of them inside:  3: 1, 1   2: 2, 1   1: 1, 0   0: 2, 1
MAP = [[3.0, 2.0, 2.0], [1.0, 0.0, 0.0]]
MASK = [[True, True, False], [False, True, False]]
RULES = ("percentile", "mass", "mean", "matched")


def close(got: float, expected: SupportsFloat | str) -> bool:
    expected = Fraction(expected) if isinstance(expected, str) else expected
    return math.isclose(got, float(expected), rel_tol=1e-14, abs_tol=1e-14)


@pytest.mark.parametrize(
    ("column", "expected"),
    {
        "annotation_area": "1/2",
        "coverage": "5/8",
        "coverage_chance": "1/2",
        "auc_roc": "2/3",  # 3 beats 3; 2 beats 2 and ties once; 0 ties once: 6 of 9
        "auc_roc_chance": "1/2",
        "average_precision": "13/18",  # (1/1 + 2/3 + 3/6) / 3
        "average_precision_random": "0.645",  # (2.45 + 2 · 3.55 / 5) / 6
        "relevance_rank": "2/3",
        "pointing": "1",
        "top_k_pointing@k5": "1/2",  # 2 of the first 4, then half of one
        "top_k_any@k5": "1",
        "top_k_any_chance@k5": "1",
        "best_iou": "1/2",
        "best_iou_percentile": "50",  # 3 pixels and all 6 give 1/2: the fewer
    }.items(),
)
def test_threshold_free_scores_by_hand(column: str, expected: str) -> None:
    assert close(maps.scores(MAP, MASK)[column], expected)


@pytest.mark.parametrize(
    ("metric", "at_50", "at_75"),
    [
        ("attention_area", "1/2", "1/4"),  # k = 3, tp = 2 and k = 1.5, tp = 1 + 0.5 / 2
        ("iou", "1/2", "5/13"),
        ("iou_chance", "1/3", "1/5"),
        ("iou_ceiling", "1", "1/2"),
        ("iou_share", "1/2", "10/13"),
        ("iou_corrected", "1/4", "8/13"),
        ("dice", "2/3", "5/9"),
        ("dice_chance", "1/2", "1/3"),
        ("precision", "2/3", "5/6"),
        ("precision_chance", "1/2", "1/2"),
        ("recall", "2/3", "5/12"),
        ("recall_chance", "1/2", "1/4"),
        ("lift", "4/3", "5/3"),
        ("lift_chance", "1", "1"),
    ],
)
def test_percentile_scores_by_hand(metric: str, at_50: str, at_75: str) -> None:
    columns = maps.scores(MAP, MASK, percentiles=(50, 75.0))
    assert close(columns[f"{metric}@50"], at_50)
    assert close(columns[f"{metric}@75"], at_75)


@pytest.mark.parametrize(
    ("selection", "threshold", "share", "include"),
    [
        ("mass", "mass60", "19/60", "1/2"),  # 4.8 of 8: the 3, and 1.8 of the next value, 2
        ("mass37.5", "mass37.5", "1/6", "1/6"),  # the 3 alone
        ("mass100", "mass100", "2/3", "2/3"),
        ("mean", "mean", "1/2", "1/2"),
        ("matched", "matched", "1/2", "1/2"),
        ("percentile", "97.5", "1/40", "1/6"),
        ("percentile", "75", "1/4", "1/2"),  # the quantile is 2
        ("percentile", "50", "1/2", "1/2"),  # the quantile is 1.5
        ("percentile", "0", "1", "1"),
        ("percentile", "100", "0", "1/6"),
    ],
)
def test_selected_area_by_hand(selection: str, threshold: str, share: str, include: str) -> None:
    percentiles = (97.5, 75, 50, 0, 100)
    for ties, expected in (("share", share), ("include", include)):
        columns = maps.scores(MAP, MASK, selection=selection, percentiles=percentiles, ties=ties)
        assert close(columns[f"attention_area@{threshold}"], expected)


def test_matched_selection_takes_or_splits_the_tied_boundary() -> None:
    mask = [[True, True, False], [False, False, False]]
    share = maps.scores(MAP, mask, selection="matched")
    include = maps.scores(MAP, mask, selection="matched", ties="include")
    assert close(share["recall@matched"], "3/4")
    assert close(share["attention_area@matched"], "1/3")
    assert close(include["recall@matched"], "1")
    assert close(include["attention_area@matched"], "1/2")
    assert share["relevance_rank"] == include["relevance_rank"] == share["recall@matched"]


def test_mass_selection_forgives_rounding() -> None:
    # In floats 0.6 holds a hair less than 60 % of 0.6 + 0.3 + 0.1.
    attention, mask = [[0.6, 0.3, 0.1]], [[True, False, False]]
    assert Fraction(0.6) < Fraction(3, 5) * (Fraction(0.6) + Fraction(0.3) + Fraction(0.1))
    for ties in ("share", "include"):
        columns = maps.scores(attention, mask, selection="mass60", ties=ties)
        assert close(columns["attention_area@mass60"], "1/3")


def test_mean_selection_forgives_rounding() -> None:
    mask = [[True, False, False]]
    area = "attention_area@mean"
    assert maps.scores([[1, 1 + 1e-15, 1]], mask, selection="mean")[area] == 0
    assert close(maps.scores([[1, 1 + 1e-9, 1]], mask, selection="mean")[area], "1/3")


def test_shared_ties_are_the_mean_over_every_way_to_break_them() -> None:
    values = np.asarray([2, 2, 2, 1, 1, 1])
    inside = np.asarray([False, True, False, False, True, True])
    orders = [sorted(order, key=lambda i: -values[i]) for order in permutations(range(6))]
    columns = maps.scores(values.reshape(2, 3), inside.reshape(2, 3), percentiles=(50, 25, 0))
    top = [inside[order[:5]] for order in orders]
    assert close(columns["top_k_pointing@k5"], np.mean([hits.mean() for hits in top]))
    assert close(columns["top_k_any@k5"], np.mean([hits.any() for hits in top]))
    assert close(columns["pointing"], np.mean([inside[order[0]] for order in orders]))
    # The cut through a tied pixel at k = 4.5 lies half way between k = 4 and k = 5.
    found = [inside[order[:4]].sum() / 2 + inside[order[:5]].sum() / 2 for order in orders]
    assert close(columns["recall@25"], np.mean(found) / 3)


def test_any_of_top_k_is_hypergeometric_within_the_tied_group() -> None:
    mask = np.zeros((2, 5), dtype=bool)
    mask[1, 4] = True
    falling = np.asarray([[9, 8, 8, 1, 1], [1, 1, 1, 1, 1]])  # two of the seven 1s are drawn
    assert close(maps.scores(falling, mask)["top_k_any@k5"], "2/7")
    assert close(maps.scores(falling, mask)["top_k_pointing@k5"], "2/35")
    assert close(maps.scores(np.ones((2, 5)), mask)["top_k_any@k5"], "1/2")


@pytest.mark.parametrize("seed", range(20))
def test_ranking_scores_equal_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(2, 13, size=2))
    attention = rng.integers(-3, 2 + 3 * seed, size=shape) / 7
    mask = rng.random(shape) < rng.uniform(0.1, 0.9)
    mask.flat[:2] = True, False
    for sign, prepared in (
        ("positive", np.maximum(attention, 0)),
        ("absolute", np.abs(attention)),
        ("signed", attention),
    ):
        columns = maps.scores(attention, mask, sign=sign)
        expected = roc_auc_score(mask.ravel(), prepared.ravel())
        assert columns["auc_roc"] == pytest.approx(expected, abs=1e-12)
        expected = average_precision_score(mask.ravel(), prepared.ravel())
        assert columns["average_precision"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("value", [0.0, 1e-300, 0.1, 1e300])
@pytest.mark.parametrize("inside", [1, 7, 30])
def test_a_constant_map_scores_chance(value: float, inside: int) -> None:
    mask = np.arange(30).reshape(5, 6) < inside
    columns = maps.scores(np.full((5, 6), value), mask, selection=RULES)
    undefined = {name for name, score in columns.items() if math.isnan(score)}
    chances = [name for name in columns if "_chance" in name and name not in undefined]
    for name in chances:
        assert columns[name] == pytest.approx(columns[name.replace("_chance", "")], abs=1e-12)
    assert ("coverage" in undefined) == ("iou@mass60" in undefined) == (value == 0)
    assert ("auc_roc" in undefined) == (inside == 30)
    assert columns["attention_area@mean"] == 1


def test_random_average_precision_is_the_mean_over_all_rankings() -> None:
    inside = (True, True, False, False, False)
    scored = [
        maps.scores([[5, 4, 3, 2, 1]], [order])["average_precision"]
        for order in permutations(inside)
    ]
    columns = maps.scores([[5, 4, 3, 2, 1]], [inside])
    assert close(columns["average_precision_random"], math.fsum(scored) / len(scored))
    assert maps.scores([[5]], [[True]])["average_precision_random"] == 1


def test_an_empty_annotation_leaves_only_the_areas() -> None:
    columns = maps.scores(MAP, np.zeros((2, 3), dtype=bool), selection=RULES)
    defined = {name.split("@")[0] for name, score in columns.items() if not math.isnan(score)}
    assert defined == {"annotation_area", "attention_area"}
    assert columns["annotation_area"] == columns["attention_area@matched"] == 0
    assert close(columns["attention_area@mass60"], "19/60")


def test_an_empty_selection() -> None:
    columns = maps.scores(MAP, MASK, percentiles=(100,))
    zero = ("iou", "iou_chance", "iou_ceiling", "dice", "recall", "attention_area")
    assert [columns[f"{name}@100"] for name in zero] == [0] * len(zero)
    undefined = ("iou_share", "iou_corrected", "precision", "lift", "lift_chance")
    assert all(math.isnan(columns[f"{name}@100"]) for name in undefined)


def test_fewer_pixels_than_k_and_full_coverage() -> None:
    columns = maps.scores([[1, 2], [3, 4]], [[True, True], [True, True]])
    for name in ("top_k_pointing@k5", "top_k_any@k5", "auc_roc", "auc_roc_chance"):
        assert math.isnan(columns[name])
    assert math.isnan(columns["iou_corrected@50"])
    assert columns["average_precision"] == columns["iou_share@50"] == columns["best_iou"] == 1


def test_sign_comes_first() -> None:
    attention, mask = [[-4, 1], [2, 0]], [[True, False], [False, False]]
    assert maps.scores(attention, mask)["pointing"] == 0
    assert close(maps.scores(attention, mask)["auc_roc"], "1/6")
    assert maps.scores(attention, mask, sign="absolute")["pointing"] == 1
    assert close(maps.scores(attention, mask, sign="absolute")["coverage"], "4/7")
    signed = maps.scores(attention, mask, sign="signed", selection=("percentile", "matched"))
    assert signed["auc_roc"] == 0
    assert not {"coverage", "coverage_chance"} & set(signed)


def test_a_region_has_its_own_area_and_matched_budget() -> None:
    region = [[False, True, False], [False, False, False]]
    columns = maps.region_scores(MAP, region, selection=RULES, percentiles=(50,))
    assert "auc_roc" not in columns
    assert "top_k_any@k5" not in columns
    assert close(columns["annotation_area"], "1/6")
    assert close(columns["coverage"], "1/4")
    assert columns["pointing"] == columns["recall@matched"] == 0
    assert close(columns["recall@50"], "1")
    assert close(columns["lift@50"], "2")
    assert close(columns["recall@mass60"], "9/20")
    assert close(columns["attention_area@matched"], "1/6")


def test_what_is_refused() -> None:
    for selection in ("mass", "mean", "mass70"):
        with pytest.raises(ValueError, match="signed"):
            maps.scores(MAP, MASK, sign="signed", selection=selection)
    with pytest.raises(ValueError, match="median"):
        maps.scores(MAP, MASK, selection="median")
    with pytest.raises(ValueError, match="first"):
        maps.scores(MAP, MASK, ties="first")
    with pytest.raises(ValueError, match="finite"):
        maps.scores([[math.nan]], [[True]])
    with pytest.raises(ValueError, match="negative"):
        maps.entropy(MAP, sign="signed")


def test_complexity_by_hand() -> None:
    half = [[1, 1], [0, 0]]
    assert close(maps.entropy(half), "1/2")
    assert close(maps.gini(half), "1/2")
    assert close(maps.sparsity(half), 2 - math.sqrt(2))
    assert close(maps.entropy(np.full((3, 4), 0.1)), 1)
    assert maps.gini(np.full((3, 4), 0.1)) == maps.sparsity(np.full((3, 4), 0.1)) == 0
    single = [[0, 7], [0, 0]]
    assert (maps.entropy(single), maps.gini(single), maps.sparsity(single)) == (0, 0.75, 1)
    for metric in (maps.entropy, maps.gini, maps.sparsity):
        assert math.isnan(metric([[0, -1]]))
    assert math.isnan(maps.entropy([[3]]))
    assert math.isnan(maps.sparsity([[3]]))


def test_nss_by_hand() -> None:
    assert close(maps.nss([[0, 0, 0, 4]], [[0, 0, 0, 1]]), math.sqrt(3))
    assert close(maps.nss([[0, 0, 0, 4]], [[1, 0, 0, 0]]), -1 / math.sqrt(3))
    assert maps.nss([[2, 2]], [[1, 0]]) == 0
    assert math.isnan(maps.nss([[2, 2]], [[0, 0]]))


def test_cc_by_hand() -> None:
    assert close(maps.cc([[0, 1, 2]], [[0, 2, 4]]), 1)
    assert close(maps.cc([[0, 1, 2]], [[4, 2, 0]]), -1)
    assert close(maps.cc([[0, 1, 2]], [[0, 1, 0]]), 0)
    assert close(maps.cc([[0, 1, 2]], [[0, 0, 1]]), math.sqrt(3) / 2)
    assert maps.cc([[2, 2]], [[1, 0]]) == 0
    assert math.isnan(maps.cc([[2, 2]], [[1, 1]]))


def test_sim_and_kl_by_hand() -> None:
    assert close(maps.sim([[1, 1, 2]], [[2, 1, 1]]), "3/4")
    assert close(maps.kl([[1, 1]], [[1, 0]]), math.log(2))
    assert close(maps.kl([[1, 3]], [[1, 1]]), math.log(2 / math.sqrt(3)))
    assert close(maps.kl([[0, 1]], [[1, 0]]), -math.log(2.220446049250313e-16))
    for metric in (maps.sim, maps.kl):
        assert math.isnan(metric([[0, 0]], [[1, 0]]))
        assert math.isnan(metric([[1, 0]], [[0, 0]]))


def test_information_gain_by_hand() -> None:
    assert close(maps.information_gain([[3, 1]], [[1, 0]]), math.log2(1.5))
    assert close(maps.information_gain([[3, 1]], [[1, 0]], [[1, 3]]), math.log2(3))
    assert close(maps.information_gain([[3, 1]], [[1, 1]]), math.log2(0.75) / 2)
    assert math.isnan(maps.information_gain([[0, 0]], [[1, 0]]))
    assert math.isnan(maps.information_gain([[3, 1]], [[1, 0]], [[0, 0]]))
    assert math.isnan(maps.information_gain([[3, 1]], [[0, 0]]))


def test_other_areas_under_the_curve_by_hand() -> None:
    assert close(maps.auc_judd(MAP, MASK), "13/18")  # (0, 1/3), (1/3, 2/3), (1, 1)
    assert close(maps.auc_judd(np.ones((2, 3)), MASK), "1/2")
    # Only inside values make points: (0, 1/2), then (1, 1). The plain AUC is 1/2.
    assert close(maps.auc_judd([[3, 2, 1]], [[1, 0, 1]]), "3/4")
    assert math.isnan(maps.auc_judd(MAP, np.ones((2, 3))))
    assert math.isnan(maps.auc_judd(MAP, np.zeros((2, 3))))
    outside = ~np.asarray(MASK)
    columns = maps.scores(MAP, MASK)
    assert maps.shuffled_auc(MAP, MASK, outside) == columns["auc_roc"]
    counts = [[1, 0, 0], [2, 0, 1]]  # of 4, the 3 beats 3 and a half, the 2 beats 3, the 0 a half
    assert close(maps.shuffled_auc(MAP, MASK, counts), "7/12")
    assert math.isnan(maps.shuffled_auc(MAP, MASK, np.zeros((2, 3))))
    assert math.isnan(maps.shuffled_auc(MAP, np.zeros((2, 3)), counts))


def test_mse_by_hand() -> None:
    assert close(maps.mse([[2, 1]], [[1, 0]]), "1/8")
    assert close(maps.mse([[0, 0]], [[1, 0]]), "1/2")
    assert math.isnan(maps.mse([[2, 1]], [[0, 0]]))


def test_pointing_with_tolerance_by_hand() -> None:
    attention = [[5, 0, 0], [0, 0, 0], [0, 5, 0]]
    mask = [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert maps.pointing(attention, mask) == 0
    assert close(maps.pointing(attention, mask, 1), "1/2")
    assert close(maps.pointing(attention, mask, 1.4), "1/2")
    assert maps.pointing(attention, mask, 1.5) == 1
    assert close(maps.pointing_chance(attention, mask, 1), "5/9")
    assert math.isnan(maps.pointing(attention, np.zeros((3, 3)), 1))
    assert math.isnan(maps.pointing_chance(attention, np.zeros((3, 3)), 1))


def test_literal_threshold_is_the_quantile_rule() -> None:
    assert maps.literal_threshold(MAP, 50).tolist() == [[True, True, True], [False] * 3]
    assert maps.literal_threshold(np.zeros((2, 2), dtype=np.float32), 90).all()
    assert maps.literal_threshold([[-2, -1]], 90).tolist() == [[False, True]]
