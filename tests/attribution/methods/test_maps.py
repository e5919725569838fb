"""Maps: choosing among them, and bringing them to the pixels of the images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from sightline.attribution.methods import Maps, explain
from sightline.core import InputError
from sightline.core.geometry import fit_geometry
from tests.attribution.methods.networks import make_images, tiny

RNG = np.random.default_rng(4)


def make(fit: str = "squash", width: int = 60, height: int = 40, **options: Any) -> Maps:
    """Two images, two layers (grids 6 x 4 and 3 x 2) and two heads of random values."""
    geometry = fit_geometry(fit, width, height, size=options.pop("size", (48, 32)), **options)
    geometries = (geometry.patches(8), geometry.patches(16))
    values = tuple(
        tuple(RNG.normal(size=(2, *g.grid[::-1])).astype(np.float32) for g in geometries)
        for _ in range(2)
    )
    targets = ("a", "b")
    return Maps(
        values, (geometries,) * 2, (3, 7), (0, 5), "m", "x", "signed", targets, {"p": 1}, 4.0
    )


def test_of_takes_numbers_of_layers_and_heads() -> None:
    maps = make()
    assert np.array_equal(maps.of(1, 7, 5), maps.values[1][1][1])
    assert np.array_equal(maps.of(layer=3, head=0), maps.values[0][0][0])
    assert np.array_equal(maps.of(-1, 3, 5), maps.values[1][0][1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"layer": 1, "head": 0}, "layer must be one of 3, 7, got 1"),
        ({"head": 0}, "layer must be one of 3, 7, got None"),
        ({"layer": 3}, "head must be one of 0, 5, got None"),
        ({"layer": 3, "head": 1}, "head must be one of 0, 5, got 1"),
    ],
)
def test_of_what_is_not_there(given: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make().of(**given)


def test_layer_and_head_may_be_left_out_where_there_is_one() -> None:
    maps = explain(tiny("vit"), make_images(), "cls", layers=1)
    assert np.array_equal(maps.of(2), maps.values[2][0][0])
    assert np.array_equal(maps.of(2), maps.of(2, layer=1))


def test_stack_needs_one_grid() -> None:
    maps = make()
    with pytest.raises(InputError, match=r"one grid, got \(2, 2, 3\), \(2, 4, 6\)"):
        maps.stack()
    stacked = maps.to_image(20).stack()
    assert stacked.shape == (2, 2, 2, 20, 20)
    assert np.array_equal(stacked[1, 0, 1], maps.to_image(20).of(1, 3, 5), equal_nan=True)


def test_images_are_chosen_like_items_of_a_list() -> None:
    maps = make()
    assert len(maps) == 2
    assert [len(part) for part in (maps[0], maps[-1], maps[:], maps[5:], maps[::-1])] == [
        1,
        1,
        2,
        0,
        2,
    ]
    assert np.array_equal(maps[-1].of(0, 7, 5), maps.of(1, 7, 5))
    assert maps[-1].targets == ("b",)
    assert maps[::-1].targets == ("b", "a")
    assert maps[0].geometries == maps.geometries[:1]
    assert maps[0].seconds == 2.0
    assert [part.targets for part in maps] == [("a",), ("b",)]
    with pytest.raises(IndexError):
        maps[2]


def test_repr() -> None:
    assert repr(make()) == "Maps(x of m: 2 images x 2 layers x 2 heads)"


@pytest.mark.parametrize(
    ("size", "wanted"),
    [(None, (40, 60)), (21, (21, 21)), (np.int64(21), (21, 21)), ((30, 10), (10, 30))],
)
def test_sizes(size: Any, wanted: tuple[int, int]) -> None:
    shown = make().to_image(size)
    assert {values.shape for image in shown.values for values in image} == {(2, *wanted)}
    assert {geometry.grid for image in shown.geometries for geometry in image} == {wanted[::-1]}
    assert all(values.dtype == np.float32 for image in shown.values for values in image)


@pytest.mark.parametrize("size", [0, -3, (4, 0), (4, 4, 4), 2.5, "big"])
def test_sizes_that_are_none(size: Any) -> None:
    with pytest.raises(InputError, match="size must be"):
        make().to_image(size)


@pytest.mark.parametrize("how", ["bilinear", "nearest"])
def test_how_is_recorded_and_all_else_kept(how: Any) -> None:
    maps = make()
    shown = maps.to_image(how=how)
    assert (maps.upsampling, shown.upsampling) == ("", how)
    for name in ("layers", "heads", "model", "method", "sign", "targets", "params", "seconds"):
        assert getattr(shown, name) == getattr(maps, name)
    with pytest.raises(InputError, match=f"on pixels already .{how}."):
        shown.to_image()


def test_bilinear_unless_said() -> None:
    maps = make()
    assert maps.to_image().upsampling == "bilinear"
    with pytest.raises(InputError, match="nearest, bilinear"):
        maps.to_image(how="cubic")  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [None, (75, 90), 17])
def test_bilinear_is_that_of_torch_where_the_image_was_squashed(size: Any) -> None:
    maps = make()
    shown = maps.to_image(size)
    for image, layer in np.ndindex(2, 2):
        given, found = maps.values[image][layer], shown.values[image][layer]
        wanted = torch.nn.functional.interpolate(
            torch.from_numpy(given)[None], found.shape[1:], mode="bilinear", align_corners=False
        )[0].numpy()
        np.testing.assert_allclose(found, wanted, atol=1e-5)


@pytest.mark.parametrize("fit", ["squash", "crop", "letterbox", "native"])
@pytest.mark.parametrize(("width", "height"), [(60, 40), (97, 31), (31, 97)])
def test_each_pixel_has_the_value_of_the_cell_over_it(fit: str, width: int, height: int) -> None:
    """Nearest; where each pixel's centre lies on the input follows from the fit, by hand."""
    if fit == "native":
        maps = make(fit, width, height, size=48, patch=16)
    elif fit == "crop":
        maps = make(fit, width, height, resize_to=48)
    else:
        maps = make(fit, width, height)
    wide, tall = maps.geometries[0][0].size
    if fit in ("squash", "native"):
        scale, left, top = (wide / width, tall / height), 0.0, 0.0
    else:
        short = 48 / min(width, height)
        fill = min(wide / width, tall / height)
        resized = [int(side * (short if fit == "crop" else fill)) for side in (width, height)]
        scale = resized[0] / width, resized[1] / height
        left, top = (int((a - b) / 2) for a, b in ((wide, resized[0]), (tall, resized[1])))
    shown, unseen = maps.to_image(how="nearest"), 0
    for layer, cell in ((3, 8), (7, 16)):
        given, found = maps.of(1, layer, 5), shown.of(1, layer, 5)
        assert found.shape == (height, width)
        for y, x in np.ndindex(height, width):
            column, row = (x + 0.5) * scale[0] + left, (y + 0.5) * scale[1] + top
            if 0 <= column < wide and 0 <= row < tall:
                assert found[y, x] == given[int(row / cell), int(column / cell)]
            else:
                unseen += 1
                assert np.isnan(found[y, x])
    assert bool(unseen) == (fit == "crop")


def test_what_padding_says_is_not_shown() -> None:
    maps = make("letterbox", 96, 32)  # rows 0 and 3 of 4 are padding
    values = maps.values[0][0].copy()
    values[:, [0, 3]] = 1e6
    changed = Maps(((values,),), ((maps.geometries[0][0],),), (3,), (0, 5), "m", "x")
    shown = changed.to_image(how="nearest").of(head=5)
    assert shown.shape == (32, 96)
    assert shown.max() < 1e6
    assert np.isfinite(changed.to_image().of(head=5)).all()


def test_ragged_layers_and_images() -> None:
    images = [*make_images(1), np.zeros((96, 64, 3), np.uint8)]
    maps = explain(tiny("resnet", fit="native"), images, "gradcam")
    assert [values.shape for values in maps.values[0]] == [
        (1, 8, 16),
        (1, 4, 8),
        (1, 2, 4),
        (1, 1, 2),
    ]
    assert [values.shape[1:] for values in maps.values[1]] == [(24, 16), (12, 8), (6, 4), (3, 2)]
    shown = maps.to_image()
    assert [values.shape for values in shown.values[0]] == [(1, 40, 56)] * 4
    assert [values.shape for values in shown.values[1]] == [(1, 96, 64)] * 4
    assert maps.to_image(32).stack().shape == (2, 4, 1, 32, 32)
