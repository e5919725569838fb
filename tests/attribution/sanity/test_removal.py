"""Orders of removal and what stands in for pixels, against slow loops and a sparse solver."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import lil_matrix
from scipy.sparse.linalg import spsolve

from sightline.attribution.sanity._imputation import filled_in
from sightline.attribution.sanity.removal import (
    Covered,
    Imputed,
    Order,
    cell_means,
    over_input,
    random_colours,
    rank_pixels,
    read_as,
    shares_of,
    source_of,
)
from sightline.core import InputError
from sightline.models.preprocess import Preprocess
from tests.attribution.methods.networks import linear, make_images

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.models import Inputs, Model

WEIGHTS = {
    (down, across): 1 / 6 if 0 in (down, across) else 1 / 12
    for down in (-1, 0, 1)
    for across in (-1, 0, 1)
    if (down, across) != (0, 0)
}


def imputed(pixels: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The linear system of missing pixels, equation by equation, solved directly."""
    number = {tuple(place): i for i, place in enumerate(np.argwhere(missing).tolist())}
    matrix, right = lil_matrix((len(number), len(number))), np.zeros((len(number), len(pixels)))
    for (row, column), i in number.items():
        for (down, across), weight in WEIGHTS.items():
            y, x = row + down, column + across
            if not (0 <= y < missing.shape[0] and 0 <= x < missing.shape[1]):
                continue
            matrix[i, i] += weight
            if (y, x) in number:
                matrix[i, number[y, x]] -= weight
            else:
                right[i] += weight * pixels[:, y, x]
    found = pixels.astype(np.float64)
    found[:, missing] = np.reshape(spsolve(matrix.tocsc(), right), right.shape).T
    return found


def inputs_of(model: Model, count: int = 2) -> Inputs:
    return next(model.batches(make_images(count), count))


# --- filling in -----------------------------------------------------------------------------------


@settings(max_examples=25)
@given(st.integers(1, 13), st.integers(1, 13), st.floats(0.05, 0.98), st.integers(0, 99))
def test_pixels_are_filled_in_as_a_sparse_solver_does(
    height: int, width: int, share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pixels, missing = rng.standard_normal((2, height, width)), rng.random((height, width)) < share
    missing[rng.integers(height), rng.integers(width)] = False
    found = filled_in(pixels, missing, 1e-8)
    assert np.abs(found - imputed(pixels, missing)).max() < 1e-6
    assert (found[:, ~missing] == pixels[:, ~missing]).all()


@pytest.mark.compiles
def test_large_holes_are_filled_in_to_the_tolerance() -> None:
    rng = np.random.default_rng(0)
    pixels = rng.standard_normal((3, 50, 61))
    missing = np.ones((50, 61), np.bool_)
    missing[:3, 20:] = missing[40:, 50:52] = False
    wanted = imputed(pixels, missing)
    assert np.abs(filled_in(pixels, missing) - wanted).max() < 5e-3
    assert np.abs(filled_in(pixels, missing, 1e-6) - wanted).max() < 5e-6
    assert np.ptp(wanted[:, missing]) > 1


def test_nothing_missing_changes_nothing_and_nothing_left_is_the_mean_colour() -> None:
    pixels = np.random.default_rng(0).standard_normal((3, 4, 5))
    assert (filled_in(pixels, np.zeros((4, 5), np.bool_)) == pixels).all()
    assert not filled_in(pixels, np.ones((4, 5), np.bool_)).any()


# --- orders ---------------------------------------------------------------------------------------


def test_the_largest_goes_first_and_what_is_unseen_last() -> None:
    rng = np.random.default_rng(1)
    values, seen = rng.random((5, 7)), rng.random((5, 7)) < 0.7
    ranks = rank_pixels(values, seen, rng)
    places = np.argsort(-np.where(seen, values, -1), axis=None, kind="stable")[: seen.sum()]
    assert (ranks.ravel()[places] == np.arange(seen.sum())).all()
    assert (ranks[~seen] == 35).all()
    back = rank_pixels(values, seen, rng, largest=False)
    assert (back[seen] == seen.sum() - 1 - ranks[seen]).all()


def test_equal_pixels_come_in_any_order_with_the_same_chance() -> None:
    values, seen = np.array([[0.0, 1.0, 0.0, 0.0]]), np.ones((1, 4), np.bool_)
    ranks = np.stack([rank_pixels(values, seen, np.random.default_rng(i))[0] for i in range(400)])
    assert (ranks[:, 1] == 0).all()
    for column in (0, 2, 3):
        counts = np.bincount(ranks[:, column], minlength=4)
        assert counts[0] == 0
        assert (np.abs(counts[1:] - 400 / 3) < 45).all()  # 4.8 standard deviations


def test_what_is_no_number_has_no_rank() -> None:
    values = np.array([[0.0, np.nan]])
    with pytest.raises(InputError, match="finite"):
        rank_pixels(values, np.ones((1, 2), np.bool_), np.random.default_rng(0))


@pytest.mark.parametrize("cells", [False, True])
def test_as_many_go_as_the_share_says(cells: bool) -> None:
    inputs = inputs_of(linear())
    values = np.random.default_rng(0).random((2, 24, 32))
    order = Order.of(values, inputs, 0, cells=cells)
    images, shares = torch.tensor([0, 0, 1, 1]), torch.tensor([0, 0.25, 0.5, 1])
    gone = order.gone(images, shares).numpy()
    assert gone.mean((1, 2)).tolist() == [0, 0.25, 0.5, 1]
    if cells:  # whole ones: the three of twelve with the largest mean
        means = cell_means(values[0], (8, 8))
        assert (cell_means(gone[1], (8, 8)) == (means >= np.sort(means, None)[-3])).all()
    else:
        assert values[0][gone[1]].min() > values[0][~gone[1]].max()


def letterboxed() -> tuple[Inputs, NDArray[np.bool_]]:
    """One image that is higher than wide on an input that is not, and what is image there."""
    look = Preprocess(size=(32, 24), fit="letterbox", mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.25))
    model = replace(linear(), preprocess=look)
    inputs = next(model.batches(make_images(1, height=40, width=20), 1))
    return inputs, inputs.geometries[0].content_mask(24, 32)


def test_padding_is_never_taken_away() -> None:
    inputs, seen = letterboxed()
    assert 0 < seen.sum() < seen.size
    order = Order.of(np.ones((1, 24, 32)), inputs, 0)
    one = torch.tensor([0])
    assert (order.gone(one, torch.ones(1))[0].numpy() == seen).all()
    half = order.gone(one, torch.tensor([0.5]))[0].numpy()
    assert half.sum() == round(seen.sum() / 2)
    assert not half[~seen].any()


# --- what stands in -------------------------------------------------------------------------------


def test_a_cover_hides_what_is_gone_or_lets_it_back() -> None:
    rng = np.random.default_rng(0)
    copies, cover = (torch.from_numpy(rng.random((2, 3, 4, 5))) for _ in range(2))
    gone, images = torch.from_numpy(rng.random((2, 4, 5)) < 0.5), torch.tensor([1, 0])
    numbers = torch.zeros(2, dtype=torch.int64)
    hidden = Covered(cover)(copies, gone, images, numbers)
    back = Covered(cover, back=True)(copies, gone, images, numbers)
    for i, image in enumerate((1, 0)):
        hole = gone[i].expand(3, -1, -1)
        assert (hidden[i][hole] == cover[image][hole]).all()
        assert (hidden[i][~hole] == copies[i][~hole]).all()
    assert (hidden + back == copies + cover[images]).all()


def test_imputed_pixels_have_noise_of_their_own_whatever_the_batch() -> None:
    rng = np.random.default_rng(0)
    copies = torch.from_numpy(rng.standard_normal((3, 3, 24, 32), np.float32))
    gone = torch.from_numpy(rng.random((3, 24, 32)) < 0.5)
    images, numbers = torch.tensor([0, 1, 1]), torch.tensor([1, 1, 2])
    whole = (slice(24), slice(32))
    change, before = Imputed((11, 12), 0.3, 5, (whole, whole)), copies.clone()
    found = change(copies, gone, images, numbers)
    alone = change(copies[1:2], gone[1:2], images[1:2], numbers[1:2])
    assert (copies == before).all()
    assert (found[1] == alone[0]).all()
    noises = []
    for one, hole, copy in zip(found, gone, copies, strict=True):
        mask = hole.numpy()
        assert (one[:, ~hole] == copy[:, ~hole]).all()
        noises.append((one.numpy() - imputed(copy.numpy(), mask))[:, mask][:, :300].ravel())
    assert np.std(noises) == pytest.approx(0.3, rel=0.1)
    assert np.abs(np.corrcoef(noises) - np.eye(3)).max() < 0.15


def test_padding_is_no_neighbour_of_what_is_guessed() -> None:
    inputs, seen = letterboxed()
    copies = torch.where(torch.from_numpy(seen), inputs.pixels, 50.0)  # of any colour
    rim = seen & np.roll(~seen, 1, axis=1)
    gone, first = rim | np.roll(rim, 3, axis=1), torch.tensor([0])
    change = Imputed.of(inputs, 0.0, 0)
    found = change(copies, torch.from_numpy(gone)[None], first, first)[0].numpy()
    columns = np.flatnonzero(seen.any(axis=0))
    box = slice(columns[0], columns[-1] + 1)
    wanted = imputed(copies[0, :, :, box].numpy(), gone[:, box])
    assert np.abs(found[:, :, box] - wanted).max() < 5e-3
    assert (found[:, ~seen] == 50).all()
    nothing = change(copies, torch.from_numpy(seen)[None], first, first)[0].numpy()
    assert not nothing[:, seen].any()  # all of the image is gone: the mean colour


def test_random_colours_fill_the_range_that_preprocessing_leaves() -> None:
    model = linear()
    inputs = inputs_of(model)
    drawn = random_colours(model, inputs, 0).numpy()
    mean, std = (np.reshape(part, (3, 1, 1)) for part in ((0.4, 0.5, 0.6), (0.2, 0.3, 0.25)))
    colours = drawn * std + mean
    assert colours.min() > -1e-6
    assert colours.max() < 1 + 1e-6
    assert np.quantile(colours, [0.25, 0.5, 0.75]) == pytest.approx([0.25, 0.5, 0.75], abs=0.03)
    assert (drawn[0] != drawn[1]).all()


# --- small things ---------------------------------------------------------------------------------


def test_a_coarse_map_is_made_larger_between_the_middles_of_its_cells() -> None:
    found = over_input(torch.tensor([[[0.0, 4.0]]]), (2, 8))
    assert found.tolist() == [[[0, 0, 0.5, 1.5, 2.5, 3.5, 4, 4]] * 2]
    same = torch.rand(1, 3, 4)
    assert (over_input(same, (3, 4)) == same.double().numpy()).all()


def test_sources_follow_from_image_seed_and_purpose() -> None:
    draws = {
        tuple(source_of(*asked).integers(0, 99, 4))
        for asked in ((1, 0, "a"), (2, 0, "a"), (1, 1, "a"), (1, 0, "b"), (1, 0, "a"))
    }
    assert len(draws) == 4


@pytest.mark.parametrize("steps", [0, 101, 2.0, True])
def test_steps_must_be_whole_and_few(steps: Any) -> None:
    with pytest.raises(InputError, match="steps"):
        shares_of(steps)


def test_what_does_not_fit_is_named() -> None:
    with pytest.raises(InputError, match="3x2 pixels"):
        cell_means(np.zeros((4, 4)), (3, 2))
    with pytest.raises(InputError, match="sign"):
        read_as([1.0], "both")
