"""Groups of pixels by regions: any union of regions, against masks; selections, against IoU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.core import Annotation, InputError, MapError, Region
from sightline.metrics import compute_image_iou, compute_iou
from sightline.stats.missing_labels import atoms_of, image_atoms, overlaps


def masks_of(seed: int, count: int, height: int = 6, width: int = 5) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.asarray(rng.random((count, height, width)) < rng.uniform(0, 0.6, (count, 1, 1)))


@given(st.integers(0, 10_000), st.integers(0, 70), st.booleans())
def test_each_pixel_is_in_the_group_of_its_regions(seed: int, count: int, ignoring: bool) -> None:
    masks = masks_of(seed, count)
    ignore = masks_of(seed + 1, 1)[0] if ignoring else None
    atoms = atoms_of(masks, ignore)
    seen = np.ones(masks.shape[1:], bool) if ignore is None else ~ignore
    assert atoms.regions == count
    assert atoms.total == seen.sum()
    assert len(np.unique(atoms.member, axis=0)) == len(atoms.member)
    np.testing.assert_array_equal(
        atoms.pixels, [(atoms.index == s).sum() for s in range(len(atoms.pixels))]
    )
    for at in np.ndindex(*seen.shape):
        covering, group = masks[(slice(None), *at)], atoms.index[at]
        if not seen[at]:
            assert group == -2
        elif not covering.any():
            assert group == -1
        else:
            np.testing.assert_array_equal(atoms.member[group], covering)


@given(st.integers(0, 10_000), st.integers(1, 40))
def test_the_union_of_kept_regions(seed: int, count: int) -> None:
    masks, rng = masks_of(seed, count), np.random.default_rng(seed)
    atoms = atoms_of(masks)
    kept = rng.random((9, count)) < 0.4
    kept[0] = False
    covered = atoms.covered(kept)
    assert set(np.unique(covered)) <= {0.0, 1.0}
    for row, which in zip(covered, kept, strict=True):
        union = masks[which].any(0)
        np.testing.assert_array_equal(row, [union[atoms.index == s][0] for s in range(len(row))])
        assert row @ atoms.pixels == union.sum()


def test_regions_without_a_pixel_keep_their_number() -> None:
    atoms = atoms_of(np.zeros((3, 2, 2), bool))
    assert atoms.member.shape == (0, 3)
    assert atoms.covered(np.ones((2, 3), bool)).shape == (2, 0)
    everything = atoms_of(np.ones((1, 2, 2), bool), np.ones((2, 2), bool))
    assert (everything.regions, everything.total, len(everything.pixels)) == (1, 0, 0)


@pytest.mark.parametrize(
    ("percentile", "options"),
    [
        (90, {}),
        (50, {"ties": "include"}),
        (90, {"selection": "mass60"}),
        (75, {"sign": "absolute"}),
        (75, {"sign": "signed"}),
        (90, {"selection": "mean", "sign": "absolute"}),
    ],
)
def test_iou_is_that_of_the_union(percentile: float, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(3)
    options = {"sign": "positive", **options}
    maps = [rng.integers(-3, 5, (h, 7)).astype(float) for h in (5, 8, 8)]
    masks = [masks_of(i, 1 + i, len(values), 7) for i, values in enumerate(maps)]
    found = overlaps(maps, masks, percentile, **options)
    slow = [
        compute_iou(values, own.any(0), percentile, **options)
        for values, own in zip(maps, masks, strict=True)
    ]
    np.testing.assert_allclose(found.iou(), [one.iou for one in slow], rtol=0, atol=1e-12)
    areas = found.selected / [values.size for values in maps]
    np.testing.assert_allclose(areas, [one.attention_area for one in slow], rtol=0, atol=1e-12)
    again = overlaps(maps, found.atoms, percentile, **options)
    np.testing.assert_array_equal(again.iou(), found.iou())


def test_ignored_pixels_are_left_out() -> None:
    rng = np.random.default_rng(0)
    regions = (
        Region("window", box=(0.1, 0.1, 0.5, 0.6)),
        Region("door", box=(0.4, 0.4, 0.9, 0.9)),
        Region("tree", box=(0.0, 0.5, 0.6, 1.0), flags=("ignore",)),
    )
    annotation = Annotation("a.jpg", regions=regions)
    values = rng.random((12, 10))
    assert image_atoms(annotation, (12, 10)).regions == 2
    found = overlaps([values], [annotation], 80).iou()[0]
    assert found == pytest.approx(float(compute_image_iou(values, annotation, 80).iou), abs=1e-12)


def test_what_has_no_iou_is_undefined() -> None:
    whole = Region("", box=(0, 0, 1, 1), flags=("ignore",))
    all_ignored = Annotation("a.jpg", regions=(Region("window"), whole))
    empty = np.zeros((0, 4, 4), bool)
    values = np.arange(16.0).reshape(4, 4)
    assert np.isnan(overlaps([values, values], [all_ignored, empty]).iou()).all()
    dark = overlaps([np.zeros((4, 4))], [np.ones((1, 4, 4), bool)], selection="mass60")
    assert np.isnan(dark.iou()).all()
    assert overlaps([], []).iou().shape == (0,)


@pytest.mark.parametrize(
    ("maps", "masks", "options", "message"),
    [
        ([np.ones((2, 2))], [], {}, "1 maps and 0 annotations"),
        ([np.ones((2, 2))], [np.ones((1, 2, 3))], {}, "image 0: .*2×2.*got 2×3"),
        ([np.ones((2, 2))], [atoms_of(np.ones((1, 3, 2)))], {}, "image 0: .*2×2.*3×2"),
        ([np.ones((1, 2, 2))], [np.ones((1, 2, 2))], {}, "image 0: a map must have shape"),
        ([np.full((2, 2), np.nan)], [np.ones((1, 2, 2))], {}, "map 0 is not finite"),
        ([np.ones((2, 2))], [np.ones((2, 2))], {}, "image 0: masks must have shape"),
        ([np.ones((2, 2))], [np.ones((1, 2, 2))], {"selection": "matched"}, "'matched' takes as"),
        ([np.ones((2, 2))], [np.ones((1, 2, 2))], {"ties": "no"}, "ties must be one of"),
        ([np.ones((2, 2))], [np.ones((1, 2, 2))], {"sign": "no"}, "sign must be one of"),
        (
            [np.ones((2, 2))],
            [np.ones((1, 2, 2))],
            {"selection": "mean", "sign": "signed"},
            "mean selection needs sign",
        ),
    ],
)
def test_what_does_not_fit_is_named(
    maps: list[Any], masks: list[Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        overlaps(maps, masks, **options)


def test_a_map_that_is_not_finite_is_named_by_its_image() -> None:
    maps = [np.ones((2, 2)), np.ones((2, 2)), np.full((2, 2), np.nan)]
    with pytest.raises(MapError, match=r"^map 2 is not finite: 4 NaN") as caught:
        overlaps(maps, [np.ones((1, 2, 2))] * 3)
    assert caught.value.index == 2


def test_ignore_must_fit_the_masks() -> None:
    with pytest.raises(InputError, match="ignore must have the masks' height and width 2×2"):
        atoms_of(np.ones((1, 2, 2)), np.ones((2, 3)))
