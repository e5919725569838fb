from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from sightline.annotation._masks import (
    grid_points,
    image_shares,
    mask_boxes,
    on_image,
    stability_scores,
)
from sightline.annotation.segmenters import CornerPreprocess
from sightline.core import InputError
from sightline.core.geometry import Geometry

SIZES = [(128, 80), (80, 128), (128, 128), (300, 200), (67, 100), (40, 7)]
"""Widths and heights."""


def corner(width: int, height: int, side: int = 128) -> Geometry:
    return CornerPreprocess((side, side), "letterbox").geometry(width, height)


def smooth(seed: int) -> torch.Tensor:
    """Return logits on 32 x 32 cells that change slowly, as those of a network do."""
    coarse = torch.from_numpy(np.random.default_rng(seed).normal(0, 4, (3, 1, 6, 6)))
    return functional.interpolate(coarse, (32, 32), mode="bicubic")[:, 0].float()


def in_two_steps(logits: torch.Tensor, way: Geometry) -> torch.Tensor:
    """Return what SAM's own processor does: up to the input, padding off, then to the image."""
    wide, high = (round(n * s) for n, s in zip(way.source, way.scale, strict=True))
    whole = functional.interpolate(logits[None], way.size[::-1], mode="bilinear")
    shown = functional.interpolate(whole[..., :high, :wide], way.source[::-1], mode="bilinear")
    return shown[0]


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_longer_side_fills_the_input(width: int, height: int) -> None:
    way = corner(width, height)

    scale = 128 / max(width, height)
    # As SAM's processor rounds: half goes up.
    expected = [np.floor(n * scale + 0.5) for n in (width, height)]
    assert way.content == (0, 0, *expected)
    assert way.size == (128, 128)
    assert way.offset == (0, 0)


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_masks_are_where_two_interpolations_put_them(width: int, height: int) -> None:
    way, logits = corner(width, height), smooth(width)

    ours = on_image(logits.numpy(), way, height, width)
    theirs = in_two_steps(logits, way).numpy()

    if max(width, height) == 128:  # the second one changes nothing then
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    # Half a pixel of the input next to it would be ten times as far away.
    assert np.abs(ours - theirs).mean() < 0.01 * np.abs(theirs).mean()
    assert ((ours > 0) == (theirs > 0)).mean() > 0.995


def test_a_mask_moved_by_half_a_pixel_is_told_apart() -> None:
    # The bound of the test above fails for a mask that is half a pixel of the input off.
    way, logits = corner(300, 200), smooth(1)
    moved = Geometry(way.source, way.size, way.scale, (0.5, 0.5), (0.5, 0.5, 128, way.content[3]))

    theirs = in_two_steps(logits, way).numpy()
    wrong = on_image(logits.numpy(), moved, 200, 300)

    assert np.nanmean(np.abs(wrong - theirs)) > 0.01 * np.abs(theirs).mean()


def test_stretched_inputs_have_no_padding() -> None:
    way, logits = Geometry.of(50, 30).resize(128, 128), smooth(2)

    expected = functional.interpolate(logits[None], (30, 50), mode="bilinear")[0]

    np.testing.assert_allclose(on_image(logits.numpy(), way, 30, 50), expected, atol=1e-5)
    assert image_shares(logits.numpy(), way).tolist() == [1.0] * 3


def test_points_lie_in_the_middle_of_equal_cells() -> None:
    points = grid_points(16)

    assert points.shape == (256, 2)
    assert points[0].tolist() == [1 / 32, 1 / 32]
    assert points[1].tolist() == [3 / 32, 1 / 32]  # along the row first
    np.testing.assert_allclose(points.mean(0), 0.5)
    assert grid_points(1).tolist() == [[0.5, 0.5]]


def test_stability_is_the_iou_of_two_cuts() -> None:
    logits = np.random.default_rng(3).normal(0, 2, (5, 9, 7)).astype(np.float32)

    found = stability_scores(logits)

    for mask, score in zip(logits, found, strict=True):
        high, low = ({*zip(*np.nonzero(mask > cut), strict=True)} for cut in (1, -1))
        assert score == len(high & low) / len(high | low)


def test_stability_by_hand() -> None:
    sharp, soft, none = np.full((3, 4, 4), -5, np.float32)
    sharp[:2], soft[:2], soft[0, 0] = 5, 0.5, 5
    edge = np.where(sharp > 0, np.float32(1), np.float32(-1))  # cuts are not part of a mask

    found = stability_scores(np.stack([sharp, soft, none, edge]))

    np.testing.assert_array_equal(found, [1, 1 / 8, np.nan, 0 / 8])


def test_shares_count_padding() -> None:
    way = corner(128, 64)  # the lower half of the input is padding
    masks = np.full((4, 32, 32), -1, np.float32)
    masks[0, :8], masks[1, 8:24], masks[2, 20:] = 1, 1, 1

    np.testing.assert_array_equal(image_shares(masks, way), [1, 0.5, 0, np.nan])


def test_boxes_are_tight() -> None:
    masks = np.zeros((2, 4, 8), np.bool_)
    masks[0, 1:3, 2:5] = True

    found = mask_boxes(masks)

    assert found[0].tolist() == [0.25, 0.25, 0.625, 0.75]
    assert np.isnan(found[1]).all()
    assert mask_boxes(masks[:0]).shape == (0, 4)


def test_refuses_cells_that_do_not_divide_the_input() -> None:
    with pytest.raises(InputError, match="30×32 for 128 x 128"):
        on_image(np.zeros((30, 32), np.float32), corner(9, 9), 9, 9)
