"""How much of an attribution lies on the object."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.attribution.prototypes import Attributed, counted_of, scaled_values, segmentation_of
from sightline.attribution.prototypes.relevance import masks_of, relevance, spread_evenly
from sightline.core import Annotation, InputError, Region, Sample
from sightline.core.geometry import fit_geometry
from sightline.data import load_dataset
from sightline.metrics import compute_coverage, compute_precision
from tests.reference import matching as reference


def _attributed(raw: Any, height: int, width: int, mode: str = "bilinear") -> Attributed:
    grid = torch.as_tensor(np.asarray(raw, np.float32))
    return Attributed(grid, scaled_values(grid, height, width, mode))


def _square(height: int, width: int, *box: int) -> np.ndarray:
    inside = np.zeros((1, height, width), bool)
    y0, x0, y1, x1 = box
    inside[0, y0:y1, x0:x1] = True
    return inside


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(-1, 3), min_size=12, max_size=12),
    st.lists(st.booleans(), min_size=63, max_size=63),
    st.lists(st.booleans(), min_size=63, max_size=63),
    st.sampled_from([0.05, 0.1, 0.37, 1.0]),
)
def test_relevance_is_that_of_a_loop(
    numbers: list[int], on: list[bool], count: list[bool], area: float
) -> None:
    """Grids that do not divide the input, ties, negative values, pixels that do not count."""
    raw = np.reshape(numbers, (1, 3, 4))
    inside, counted = (np.reshape(mask, (1, 9, 7)) for mask in (on, count))
    attributed = _attributed(raw, 9, 7)
    found = relevance(attributed, inside, area, counted)
    values = attributed.values[0].numpy()
    scene = inside[0], counted[0]
    np.testing.assert_allclose(found.mask, reference.mask(values, *scene, area), atol=1e-9)
    np.testing.assert_allclose(found.energy, reference.energy(values, *scene), atol=1e-12)
    spread = reference.spread(np.maximum(raw[0], 0), 9, 7)
    np.testing.assert_allclose(found.energy_raw, reference.energy(spread, *scene), atol=1e-12)
    hits, total = (inside & counted).sum(), counted.sum()
    np.testing.assert_allclose(found.chance, hits / total if hits else np.nan)


@pytest.mark.parametrize("mode", ["bilinear", "cubic"])
@pytest.mark.parametrize("size", [(224, 224), (41, 67)])
def test_a_constant_map_scores_chance(mode: str, size: tuple[int, int]) -> None:
    inside = np.random.default_rng(1).random((2, *size)) < 0.3
    counted = np.ones((2, *size), bool)
    counted[:, :9] = False
    for level in (0.1, 7.3):
        attributed = _attributed(np.full((2, 7, 7), level), *size, mode)
        for known in (None, counted):
            found = relevance(attributed, inside, 0.1, known)
            for score in found[:3]:
                np.testing.assert_allclose(score, found.chance, rtol=0, atol=1e-12)


@pytest.mark.parametrize("level", [0.0, -1.0])
def test_a_map_of_nothing_is_undefined(level: float) -> None:
    inside = _square(8, 8, 0, 0, 4, 2)
    found = relevance(_attributed(np.full((1, 2, 2), level), 8, 8), inside)
    assert np.isnan([found.mask[0], found.energy[0], found.energy_raw[0]]).all()
    assert found.chance[0] == 1 / 8
    assert found.reasons == ["the map is 0 everywhere"]


def test_fewer_positive_pixels_than_the_area_leave_mask_relevance_undefined() -> None:
    """Zeros filled up the selection: a cell wholly on the object drifted towards chance."""
    values = np.zeros((4, 10, 10), np.float32)
    values[0, 0, :9] = 1  # 9% of the pixels, all of them on the object
    values[1, 0, :10] = 1  # 10%: just enough
    values[2, 0, :9] = 1  # enough of the half of the pixels that counts
    values[3, 0, :9] = 1  # no object
    inside = np.repeat(_square(10, 10, 0, 0, 5, 10), 4, 0)
    inside[3] = False
    counted = np.ones_like(inside)
    counted[2, 5:] = False
    attributed = Attributed(torch.from_numpy(values), torch.from_numpy(values))
    found = relevance(attributed, inside, 0.1, counted)
    few = "fewer pixels of the map are above 0 than area_percentage selects"
    assert found.reasons == [few, "", "", "nothing is annotated on the image"]
    assert np.isnan(found.mask).tolist() == [True, False, False, True]
    assert found.mask[1] == found.mask[2] == 1
    assert found.energy[:3].tolist() == [1, 1, 1]  # which needs no selection
    assert relevance(attributed, inside, 0.09, counted).mask[0] == 1


def test_one_cell_of_a_real_grid_has_no_mask_relevance() -> None:
    """What `location=cell` gives: one of 14 x 14 cells is 2% of the pixels."""
    cell = np.zeros((1, 14, 14))
    cell[0, 5, 6] = 1
    inside = _square(224, 224, 60, 60, 120, 140)
    for mode in ("bilinear", "cubic"):
        found = relevance(_attributed(cell, 224, 224, mode), inside)
        assert np.isnan(found.mask[0])
        assert found.energy[0] == pytest.approx(1, abs=1e-3)
    assert relevance(_attributed(cell, 224, 224), inside, 0.02).mask[0] == pytest.approx(1)


def test_no_object_is_undefined_and_all_object_is_one() -> None:
    raw = np.random.default_rng(0).random((2, 3, 3))
    inside = np.stack([np.zeros((6, 6), bool), np.ones((6, 6), bool)])
    found = relevance(_attributed(raw, 6, 6), inside)
    for score in found:
        assert np.isnan(score[0])
        assert score[1] == pytest.approx(1)
        assert score.dtype == np.float64


def test_the_object_in_padding_alone_is_undefined() -> None:
    inside, counted = _square(6, 6, 0, 0, 2, 6), ~_square(6, 6, 0, 0, 2, 6)
    found = relevance(_attributed(np.eye(3)[None], 6, 6), inside, 0.1, counted)
    assert np.isnan([score[0] for score in found]).all()


def test_a_peak_on_the_object_scores_one_under_cubic_upsampling() -> None:
    """Scaled after upsampling it would score a third; a strict threshold finds no pixel at all."""
    peak = np.zeros((1, 7, 7))
    peak[0, 3, 3] = 1
    inside = _square(224, 224, 64, 64, 160, 160)
    found = relevance(_attributed(peak, 224, 224, "cubic"), inside, 0.01)
    assert found.energy[0] > 0.99
    assert found.mask[0] == 1
    assert found.energy_raw[0] == 1
    assert found.chance[0] == pytest.approx(0.1837, abs=1e-4)


def test_a_plateau_is_shared_and_not_emptied() -> None:
    """Three tenths are equal and highest; `values > quantile` would select none of them."""
    values = np.zeros((1, 10, 10), np.float32)
    values[0, :3] = 1
    inside = _square(10, 10, 0, 0, 10, 5)
    attributed = Attributed(torch.from_numpy(values), torch.from_numpy(values))
    assert not (values > np.quantile(values, 0.9)).any()
    assert relevance(attributed, inside).mask[0] == pytest.approx(0.5, abs=1e-12)


def test_the_numbers_are_those_of_the_metrics() -> None:
    raw = np.random.default_rng(5).normal(size=(3, 4, 4))
    inside = np.random.default_rng(6).random((3, 16, 16)) < 0.4
    attributed = _attributed(raw, 16, 16, "cubic")
    found = relevance(attributed, inside, 0.25)
    values = attributed.values.numpy()
    np.testing.assert_array_equal(found.energy, compute_coverage(values, inside))
    np.testing.assert_allclose(found.mask, compute_precision(values, inside, 75), atol=1e-12)


def test_pixels_between_cells_take_their_share_of_both() -> None:
    assert spread_evenly(np.array([[[0.0, 6.0]]]), 2, 3).tolist() == [[[0, 3, 6], [0, 3, 6]]]
    assert spread_evenly(np.array([[[2.0], [4.0]]]), 1, 1).tolist() == [[[3]]]


@pytest.mark.parametrize("area", [0, -0.1, 1.1, float("nan"), "0.1"])
def test_the_area_must_be_a_share(area: Any) -> None:
    with pytest.raises(InputError, match="area must be above 0 and at most 1, got"):
        relevance(_attributed(np.eye(2)[None], 4, 4), _square(4, 4, 0, 0, 1, 1), area)


@pytest.mark.parametrize(
    "masks", [np.ones((1, 3, 4), bool), np.ones((4, 4), bool), np.ones((1, 4, 4))]
)
def test_masks_must_be_as_the_maps_are(masks: np.ndarray) -> None:
    attributed, good = _attributed(np.eye(2)[None], 4, 4), np.ones((1, 4, 4), bool)
    with pytest.raises(InputError, match=r"segmentations must be \(1, 4, 4\) of bool"):
        relevance(attributed, masks)
    with pytest.raises(InputError, match=r"counted must be \(1, 4, 4\) of bool"):
        relevance(attributed, good, 0.1, masks)


def _sample(width: int, height: int, *regions: Region) -> Sample:
    return Sample("a", Annotation("a", width, height, regions))


def test_letterboxes_keep_padding_out() -> None:
    """An image of 40x20 in the middle of 20x20: rows 5 to 15."""
    sample = _sample(40, 20, Region(box=(0.5, 0.0, 1.0, 1.0)))
    geometry = fit_geometry("letterbox", 40, 20, size=(20, 20))
    inside, counted = segmentation_of(sample, geometry), counted_of(sample, geometry)
    assert np.array_equal(inside, _square(20, 20, 5, 10, 15, 20)[0])
    assert np.array_equal(counted, _square(20, 20, 5, 0, 15, 20)[0])
    attributed = _attributed(np.ones((1, 4, 4)), 20, 20)
    assert relevance(attributed, inside[None], 0.1, counted[None]).energy[0] == 0.5
    assert relevance(attributed, inside[None]).energy[0] == 0.25  # with padding


def test_crops_lose_what_was_cut_away() -> None:
    sample = _sample(40, 20, Region(box=(0.0, 0.0, 0.5, 1.0)))
    geometry = fit_geometry("crop", 40, 20, size=(20, 20))
    assert np.array_equal(segmentation_of(sample, geometry), _square(20, 20, 0, 0, 20, 10)[0])
    assert counted_of(sample, geometry).all()
    away = _sample(40, 20, Region(box=(0.0, 0.0, 0.2, 1.0)))
    assert not segmentation_of(away, geometry).any()


def test_regions_to_ignore_do_not_count() -> None:
    ignored = Region(box=(0.0, 0.0, 1.0, 0.5), flags=("ignore",))
    sample = _sample(10, 10, Region(box=(0.0, 0.25, 1.0, 1.0)), ignored)
    geometry = fit_geometry("squash", 10, 10, size=(8, 8))
    assert np.array_equal(segmentation_of(sample, geometry), _square(8, 8, 4, 0, 8, 8)[0])
    assert np.array_equal(counted_of(sample, geometry), _square(8, 8, 4, 0, 8, 8)[0])


def test_masks_are_those_of_what_is_carried_also_where_the_input_is_the_image() -> None:
    (sample,) = load_dataset("facades", count=1, seed=4)
    same = fit_geometry("squash", 224, 224, size=(224, 224))
    cut = replace(same, content=(0, 0, 112, 224))
    for geometry in (same, same.flip(horizontal=True), cut):
        carried = geometry.carry(sample.annotation)
        on, counted = masks_of(sample, geometry)
        np.testing.assert_array_equal(on, carried.union_mask(224, 224))
        np.testing.assert_array_equal(counted, geometry.content_mask(224, 224))
    other = replace(sample, annotation=replace(sample.annotation, width=200))
    with pytest.raises(InputError, match="is for an image of 200x224"):
        masks_of(other, same)


def test_the_object_of_a_facade_is_the_union_of_the_masks_of_its_parts() -> None:
    (sample,) = load_dataset("facades", count=1, seed=3)
    geometry = fit_geometry("squash", 224, 224, size=(224, 224))
    wanted = np.zeros((224, 224), bool)
    for region in sample.annotation.regions:
        assert region.kind == "mask"
        wanted |= region.to_mask(224, 224)
    found = segmentation_of(sample, geometry)
    assert np.array_equal(found, wanted)
    assert 0.05 < found.mean() < 0.9
