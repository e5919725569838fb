"""Figures of single regions, against the metrics; where they disagree, corrected for size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sightline.core import InputError
from sightline.metrics import (
    compute_coverage,
    compute_iou,
    compute_lift,
    compute_recall,
    compute_share_of_ceiling,
    pointing_game_hit,
)
from sightline.stats.missing_labels import (
    bbox_recall,
    compute_region_mean,
    divergence,
    lift,
    share_of_ceiling,
)


def test_lift_and_share_of_ceiling_are_those_of_the_metrics() -> None:
    rng = np.random.default_rng(0)
    maps, masks = rng.random((6, 9, 9)), rng.random((6, 9, 9)) < 0.2
    iou, a, g = compute_iou(maps, masks, 80)
    recall = compute_recall(maps, masks, 80)
    np.testing.assert_allclose(lift(recall, a), compute_lift(maps, masks, 80))
    np.testing.assert_allclose(lift(recall, float(a[0])), compute_lift(maps, masks, 80))
    np.testing.assert_allclose(
        share_of_ceiling(iou, a, g), compute_share_of_ceiling(maps, masks, 80)
    )
    assert bbox_recall(maps[0], masks[0], 80) == recall[0]


def test_nothing_selected_or_annotated_is_undefined() -> None:
    assert np.isnan(lift([0.0], 0.0)).all()
    assert np.isnan(share_of_ceiling([0.0], [0.0], [0.1])).all()
    assert np.isnan(share_of_ceiling([np.nan], [0.1], [0.0])).all()


def test_all_three_must_hold() -> None:
    fine = {"hit": 1.0, "coverage": 0.1, "iou": 0.05, "attended": 0.1, "area": 0.02}
    changes = [{}, {"hit": 0.4}, {"coverage": 0.03}, {"iou": 0.15}]
    columns = {name: [{**fine, **change}[name] for change in changes] for name in fine}
    found = divergence(*columns.values())
    assert found.flags.tolist() == [True, False, False, False]
    assert (found.share, found.n, found.undefined) == (0.25, 4, 0)
    assert found.chance == pytest.approx(0.02)
    np.testing.assert_allclose(found.lift, [5, 5, 1.5, 5])
    np.testing.assert_allclose(found.ceiling, [0.25, 0.25, 0.25, 0.75])
    np.testing.assert_array_equal(found.hit, columns["hit"])


def test_the_bounds_belong_to_it() -> None:
    figures = ([0.5], [0.5], [0.25], 0.5, [0.25])  # lift 2, half of the ceiling
    assert divergence(*figures).flags.all()
    assert not divergence(*figures, least_lift=2.1).flags.any()
    assert not divergence(*figures, most_ceiling=0.4).flags.any()


@pytest.mark.parametrize("size", [1.0, 0.1, 0.001])
def test_size_alone_neither_flags_nor_spares(size: float) -> None:
    """The same picture with everything smaller: the fixed bounds of 20% energy would go silent."""
    area, attended = 0.2 * size, 0.4 * size
    spread = divergence([1], [3 * area], [0.4 * area / attended], attended, [area])
    sharp = divergence([1], [3 * area], [0.9 * area / attended], attended, [area])
    chance = divergence([1], [area], [0.4 * area / attended], attended, [area])
    assert spread.flags.all()
    assert not sharp.flags.any()
    assert not chance.flags.any()


def test_a_map_without_information_is_hardly_flagged() -> None:
    rng = np.random.default_rng(1)
    maps, mask = rng.random((400, 16, 16)), np.zeros((16, 16), bool)
    mask[3:6, 4:9] = True
    iou, a, g = compute_iou(maps, mask)
    hit, coverage = pointing_game_hit(maps, mask), compute_coverage(maps, mask)
    found = divergence(hit, coverage, iou, a, g)
    assert found.share <= found.chance
    flat = np.ones((1, 16, 16))
    iou, a, g = compute_iou(flat, mask)
    constant = divergence(pointing_game_hit(flat, mask), compute_coverage(flat, mask), iou, a, g)
    assert constant.share == 0


def test_undefined_regions_are_counted() -> None:
    found = divergence([1, np.nan, 1], [0.1] * 3, [0.05] * 3, 0.1, [0.02, 0.02, 0.0])
    assert found.flags.tolist() == [True, False, False]
    assert (found.n, found.undefined, found.share) == (1, 2, 1.0)
    none = divergence([np.nan], [0.1], [0.1], 0.1, [0.1])
    assert np.isnan([none.share, none.chance]).all()
    assert "nothing can be said" in none.sentence


def test_the_sentence_says_what_cannot_be_told_apart() -> None:
    found = divergence([1, 0], [0.1, 0.1], [0.05, 0.05], 0.1, [0.02, 0.02])
    assert found.sentence == (
        "In 1 of 2 regions (50.0%) the map's maximum is inside and at least 2 times the energy of "
        "chance, yet IoU is at most 50% of the largest possible: this cannot be told apart from "
        "attention to instances that nobody annotated, nor from attention to these regions and to "
        "wrong places."
    )
    none = divergence([0], [0.1], [0.05], 0.1, [0.02])
    assert none.sentence.startswith("In 0 of 1 regions (0.0%)")
    assert none.sentence.endswith("no proof of their absence.")


def test_lengths_must_fit() -> None:
    with pytest.raises(InputError, match="one figure for each region; got 2, 3, 3, 1, 3"):
        divergence([1, 1], [1] * 3, [1] * 3, 0.1, [1] * 3)


def test_figures_that_do_not_fit_are_named() -> None:
    with pytest.raises(InputError, match="one figure for each region; got 2, 3"):
        lift([1, 2], [1, 2, 3])
    with pytest.raises(InputError, match="one figure for each region; got 2, 3, 1"):
        share_of_ceiling([1, 2], [1, 2, 3], 0.1)


def test_means_over_regions_and_over_images_and_labels_differ() -> None:
    """An image with one window (recall 0.9) and one with nine (recall 0.1 each)."""
    recall, images = [0.9, *[0.1] * 9], ["a", *["b"] * 9]
    every: dict[str, Any] = {"images": images, "labels": ["window"] * 10}
    assert compute_region_mean(recall, **every) == pytest.approx(0.18)
    assert compute_region_mean(recall, **every, mean_over="image_label") == pytest.approx(0.5)
    kept: dict[str, Any] = {"images": ["a", "b"], "labels": ["window"] * 2}
    assert compute_region_mean([0.9, 0.1], **kept) == pytest.approx(0.5)  # of the wrong mean
    assert compute_region_mean([0.9, 0.1], **kept, instances=[1, 9]) == pytest.approx(0.18)


def test_one_kept_label_estimates_the_mean_over_images_and_labels() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 9, 600)
    cells = np.repeat(np.arange(600), counts)
    # The more instances, the less of each is selected.
    recall = rng.beta(2, 1 + counts[cells])
    every: dict[str, Any] = {"images": cells // 2, "labels": cells % 2}
    regions, pairs = (
        compute_region_mean(recall, **every, mean_over=over) for over in ("regions", "image_label")
    )
    assert pairs > 1.2 * regions
    plain, weighted = [], []
    for _ in range(200):
        kept = np.array([rng.choice(np.flatnonzero(cells == cell)) for cell in range(600)])
        who: dict[str, Any] = {"images": cells[kept] // 2, "labels": cells[kept] % 2}
        plain.append(compute_region_mean(recall[kept], **who))
        weighted.append(compute_region_mean(recall[kept], **who, instances=counts))
    assert np.mean(plain) == pytest.approx(pairs, rel=0.01)
    assert np.mean(weighted) == pytest.approx(regions, rel=0.01)


def test_undefined_regions_do_not_count_and_counts_are_at_least_those_of_the_labels() -> None:
    nan = float("nan")
    who: dict[str, Any] = {"images": ["a", "a", "b"], "labels": ["x"] * 3}
    assert compute_region_mean([0.2, nan, 0.8], **who) == pytest.approx(0.5)
    low = compute_region_mean([0.2, 0.4, 0.8], **who, instances=[1, 1, 1])
    assert low == pytest.approx((0.2 + 0.4 + 0.8) / 3)
    assert np.isnan(compute_region_mean([nan] * 3, **who))
    assert np.isnan(compute_region_mean([], images=[], labels=[]))


def test_means_of_regions_name_what_does_not_fit() -> None:
    with pytest.raises(InputError, match="an image and a label for each of 2 regions; got 1"):
        compute_region_mean([0.1, 0.2], images=["a"], labels=["x"])
    with pytest.raises(InputError, match="mean_over must be"):
        compute_region_mean([0.1], images=["a"], labels=["x"], mean_over="labels")  # type: ignore[arg-type]
    for counts in ([0], [1, 2], [float("nan")]):
        with pytest.raises(InputError, match="a number above 0 for each of 1 regions"):
            compute_region_mean([0.1], images=["a"], labels=["x"], instances=counts)
