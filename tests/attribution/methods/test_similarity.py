"""Similarity of patches to a region: known features, slow loops, regions of every kind."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from sightline.attribution.methods import Similar, draw_similarity, explain, similarity
from sightline.attribution.methods.similar import as_region, region_feature
from sightline.attribution.methods.targets import Patches, read_target
from sightline.core import InputError, Region
from sightline.core.geometry import Geometry
from sightline.models import load_model
from sightline.models.load import Description
from sightline.models.preprocess import Preprocess
from tests.attribution.methods.networks import PLAIN, make_images, tiny

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.models import Model

RED, GREEN, BLUE, BLACK = (250, 0, 0), (0, 250, 0), (0, 0, 250), (0, 0, 0)


def colours(fit: str = "squash") -> Model:
    """A network whose features are the mean colour of each patch."""
    network = nn.Sequential(nn.Conv2d(3, 3, 8, 8, bias=False), nn.Identity())
    with torch.no_grad():
        network[0].weight.zero_()
        for channel in range(3):
            network[0].weight[channel, channel] = 1 / 64
    way = Preprocess(size=(32, 16), fit=fit, resample="nearest", **PLAIN)
    return load_model(network, Description(["0", "1"], way, 8, name="colours"))


def tiles(*rows: tuple[tuple[int, int, int], ...], side: int = 8) -> NDArray[np.uint8]:
    """An image of coloured tiles."""
    return np.repeat(np.repeat(np.array(rows, np.uint8), side, 0), side, 1)


FLAGS = tiles((RED, GREEN, RED, BLUE), (BLACK, GREEN, BLUE, RED))


class TestKnownAnswers:
    def test_a_patch_is_like_those_of_its_colour(self) -> None:
        found = similarity(colours(), FLAGS, (0, 0, 8, 8))
        assert found.of().tolist() == [[1, 0, 1, 0], [0, 0, 0, 1]]
        assert (found.sign, found.method, found.layers, found.targets) == (
            "signed", "similarity", (None,), (),
        )  # fmt: skip
        assert found.params == {"region": "box", "box": [0, 0, 8, 8]}
        assert found.geometries[0][0].grid == (4, 2)

    def test_a_patch_counts_by_the_share_that_is_covered(self) -> None:
        half = similarity(colours(), FLAGS, (4, 0, 12, 8)).of()
        assert half[0, :2].tolist() == pytest.approx([1 / sqrt(2)] * 2)
        more = similarity(colours(), FLAGS, (2, 3, 10, 5)).of()  # 6 parts of red, 2 of green
        assert more[0, :2].tolist() == pytest.approx([3 / sqrt(10), 1 / sqrt(10)])

    def test_opposite_features_are_below_zero(self) -> None:
        model = colours()
        with torch.no_grad():
            model.network[0].weight[1:] = 0
            model.network[0].weight[0, 1] = -1 / 64  # red less green
        found = similarity(model, FLAGS, (0, 0, 8, 8)).of()
        assert found.tolist() == [[1, -1, 1, 0], [0, -1, 0, 1]]

    def test_another_image_is_compared_with_the_region_of_the_first(self) -> None:
        other = tiles((GREEN, GREEN, BLUE, BLUE), (RED, BLACK, RED, BLUE))
        found = similarity(colours(), FLAGS, (8, 0, 16, 16), other=other)
        assert found.of().tolist() == [[1, 1, 0, 0], [0, 0, 0, 0]]
        both = similarity(colours(), FLAGS, (8, 0, 16, 16), other=[other, FLAGS])
        assert len(both) == 2
        assert both.of(1).tolist() == [[0, 1, 0, 0], [0, 1, 0, 0]]

    def test_regions_of_every_kind(self) -> None:
        mask = np.zeros((16, 32), bool)
        mask[:8, 8:16] = True
        corners = (0.25, 0.0, 0.5, 0.0, 0.5, 0.5, 0.25, 0.5)
        for region in (
            (8, 0, 16, 8),
            np.array([8, 0, 16, 8]),
            mask,
            Region(box=(0.25, 0, 0.5, 0.5)),
            Region("", "mask", (0.25, 0, 0.5, 0.5), mask),
            Region("", "polygon", (0.25, 0, 0.5, 0.5), (corners,)),
        ):
            found = similarity(colours(), FLAGS, region).of()
            assert found.round(3).tolist() == [[0, 1, 0, 0], [0, 1, 0, 0]], region


class TestAgainstLoops:
    @pytest.mark.parametrize("kind", ["vit", "resnet", "siglip", "swin"])
    def test_every_layer_as_a_loop_has_it(self, kind: str) -> None:
        model = tiny(kind, size=(64, 64) if kind in ("resnet", "swin") else (40, 24))
        image, box = make_images(1)[0], (10.5, 7, 31, 33)
        for layer in (None, 0, len(model.layers) - 1):
            found = similarity(model, image, box, layer=layer)
            assert found.of() == pytest.approx(slow(model, image, box, layer), abs=2e-6)
            assert found.layers == (layer,)
        last = similarity(model, image, box, layer=-1)
        assert last.layers == (len(model.layers) - 1,)

    def test_many_images_as_one_by_one(self) -> None:
        model, (first, *rest) = tiny("vit"), make_images(20)
        together = similarity(model, first, (0, 0, 20, 20), other=rest)
        for number, other in enumerate(rest):
            alone = similarity(model, first, (0, 0, 20, 20), other=other).of()
            assert together.of(number) == pytest.approx(alone, abs=1e-6)

    def test_the_network_is_left_as_it_was(self) -> None:
        model = tiny("vit")
        model.network.train()
        before = torch.random.get_rng_state()
        similarity(model, make_images(1)[0], (0, 0, 20, 20), layer=1)
        assert model.network.training
        assert torch.equal(before, torch.random.get_rng_state())
        assert all(p.requires_grad for p in model.network.parameters())
        assert not any(m._forward_hooks for m in model.network.modules())


def slow(
    model: Model, image: NDArray[np.uint8], box: tuple[float, ...], layer: int | None
) -> NDArray[np.float64]:
    """Cosines by loops over cells, with covered shares counted on a fine raster."""
    inputs = model.prepare(image)
    kept: list[Any] = []
    hook = None
    if layer is not None:
        hook = model.layers[layer].register_forward_hook(lambda *seen: kept.append(seen[2]))
    with torch.no_grad():
        features = model(inputs.pixels).features
    if hook is not None:
        hook.remove()
        out = kept[0] if isinstance(kept[0], torch.Tensor) else kept[0][0]
        features = model.to_grid(out, inputs.pixels)
    values = features[0].double().numpy()
    _, rows, columns = values.shape
    height, width = image.shape[:2]
    total, area = np.zeros(len(values)), 0.0
    for row in range(rows):
        for column in range(columns):
            across = overlap(box[0], box[2], column * width / columns, width / columns)
            down = overlap(box[1], box[3], row * height / rows, height / rows)
            total += across * down * values[:, row, column]
            area += across * down
    mean = total / area
    found = np.empty((rows, columns))
    for row in range(rows):
        for column in range(columns):
            one = values[:, row, column]
            found[row, column] = one @ mean / sqrt(one @ one) / sqrt(mean @ mean)
    return found


def overlap(low: float, high: float, start: float, length: float) -> float:
    return max(0.0, min(high, start + length) - max(low, start)) / length


class TestCoveredShares:
    @pytest.mark.parametrize(
        "way",
        [
            Geometry.of(60, 40).resize(48, 48).patches(8),
            Geometry.of(60, 40).resize(72, 48).crop(13, 0, 48, 48).patches(8),
            Geometry.of(60, 40).resize(48, 32).pad(0, 8, 0, 8).patches(8),
            Geometry.of(60, 40).resize(48, 48).flip().patches(8, 16),
        ],
    )
    def test_a_box_and_its_mask_by_sampling(self, way: Geometry) -> None:
        region = Region(box=(0.15, 0.2, 0.55, 0.9))
        fine = 32  # samples along the side of a cell
        columns, rows = way.grid
        x = (np.arange(columns * fine) + 0.5) * way.patch[0] / fine
        y = (np.arange(rows * fine) + 0.5) * way.patch[1] / fine
        back_x, back_y = way.to_source(x, y)
        inside = [
            (back >= region.box[k] * side) & (back < region.box[k + 2] * side)
            for k, (back, side) in enumerate(((back_x, 60), (back_y, 40)))
        ]
        seen = [(p >= c) & (p < d) for p, c, d in ((x, *way.content[::2]), (y, *way.content[1::2]))]
        hits = (inside[1] & seen[1])[:, None] & (inside[0] & seen[0])
        expected = hits.reshape(rows, fine, columns, fine).mean((1, 3))
        assert way.covered_shares(region) == pytest.approx(expected, abs=2 / fine)
        mask = region.to_mask(400, 600)
        drawn = Region("", "mask", region.box, mask)
        assert way.covered_shares(drawn) == pytest.approx(way.covered_shares(region), abs=1e-9)

    def test_the_whole_image_covers_what_is_image(self) -> None:
        way = Geometry.of(60, 40).resize(48, 32).pad(0, 8, 0, 8).patches(16)
        assert way.covered_shares(Region()).tolist() == [[0.5] * 3, [1.0] * 3, [0.5] * 3]

    def test_a_disc_has_its_area(self) -> None:
        way = Geometry.of(64, 64).patches(8)
        disc = Region("", "point", (0.25, 0.25, 0.75, 0.75), radius=16)
        assert way.covered_shares(disc).sum() * 64 == pytest.approx(np.pi * 16**2, rel=0.01)


class TestWrongRegions:
    @pytest.mark.parametrize(
        ("box", "message"),
        [
            ((1, 2, 3), r"box must be x0, y0, x1, y1 in pixels of the image \(32 x 16\), got"),
            ("here", r"box must be x0, y0, x1, y1 .* got 'here'"),
            ((1, 2, 3, "b"), r"got \(1, 2, 3, 'b'\)"),
            ((8, 2, 4, 9), r"with x0 < x1 and y0 < y1, got 8, 2, 4, 9"),
            ((8, 2, 8, 9), r"with x0 < x1"),
            ((0, 0, float("nan"), 9), r"got 0, 0, nan, 9"),
            ((30, 2, 33, 9), r"and lie inside it, got 30, 2, 33, 9"),
            ((-1, 2, 3, 9), r"and lie inside it, got -1, 2, 3, 9"),
            (np.zeros((4, 4), bool), r"mask of the region must be of bool with some set, none"),
            (np.ones((4, 4)), r"mask of the region must be of bool with some set, got float64"),
            (Region(box=(0.1, 0.2, 0.1, 0.9)), r"the region has no area"),
        ],
    )
    def test_they_are_named(self, box: Any, message: str) -> None:
        with pytest.raises(InputError, match=message):
            similarity(colours(), FLAGS, box)

    def test_a_region_that_is_cropped_away(self) -> None:
        wide = tiles((RED, GREEN, RED, BLUE, RED, GREEN, RED, BLUE))
        with pytest.raises(
            InputError,
            match=r"out of sight: with fit 'crop' colours sees .* 24, 0, 40, 8; give another fit",
        ):
            similarity(colours("crop"), wide, (0, 0, 8, 8))
        assert similarity(colours("crop"), wide, (24, 0, 32, 8)).of().max() == pytest.approx(1)

    def test_a_region_without_a_feature(self) -> None:
        with pytest.raises(InputError, match="the mean feature of the region is 0"):
            similarity(colours(), FLAGS, (0, 8, 8, 16))

    def test_layers_and_images(self) -> None:
        with pytest.raises(InputError, match="layer must be from 0 to 1 for colours"):
            similarity(colours(), FLAGS, (0, 0, 8, 8), layer=2)
        with pytest.raises(InputError, match="other must hold at least one image"):
            similarity(colours(), FLAGS, (0, 0, 8, 8), other=[])


class TestPicture:
    def test_the_region_is_outlined_on_image_and_map(self) -> None:
        grey = np.full((96, 96, 3), 90, np.uint8)
        grey[20:60, 30:50] = 160
        found = similarity(tiny("vit"), grey, (30, 20, 50, 60))
        picture = np.asarray(draw_similarity(found, grey, (30, 20, 50, 60)))
        plain = np.asarray(draw_similarity(found, grey, np.eye(96, dtype=bool)))
        assert picture.shape == plain.shape
        # Tiles are 384 pixels wide: 4 for each of the image's. Lines are along the box's sides.
        top = int(np.flatnonzero((picture[:, 12 : 12 + 384] == 90).all((1, 2)))[0])
        for left in (12, 12 + 384 + 12):
            column = picture[top : top + 384, left + 4 * 40]
            white = np.flatnonzero((column == 255).all(1))
            assert set(white.tolist()) == {79, 80, 239, 240}

    def test_beside_another_image(self) -> None:
        image, other = make_images(2, 40, 60)
        found = similarity(tiny("vit"), image, (5, 5, 30, 30), other=other)
        alone = draw_similarity(found, other, (5, 5, 30, 30))
        both = draw_similarity(found, image, (5, 5, 30, 30), other=other, fit="squash")
        assert both.width == alone.width + 384 + 24
        assert isinstance(both, Image.Image)


class TestTarget:
    def test_a_region_as_target_is_its_mean_feature(self) -> None:
        model = colours()
        goal = read_target(model, [FLAGS], Similar(FLAGS, box=(4, 0, 12, 8)))
        assert isinstance(goal, Patches)
        wanted = np.array([1, 1, 0]) / sqrt(2)
        output = model(model.prepare(FLAGS).pixels)
        mean = FLAGS.reshape(-1, 3).mean(0) / 255
        assert goal.scores(output).tolist() == pytest.approx([mean @ wanted], rel=1e-5)
        assert isinstance(goal.take(torch.tensor([0, 0])), Patches)

    def test_patches_are_compared_with_it_and_not_the_class_token(self) -> None:
        model, image = tiny("vit"), make_images(1, 40, 60)[0]
        goal = read_target(model, [image], Similar(image, box=(5, 5, 30, 30)))
        output = model(model.prepare(image).pixels)
        wanted = region_feature(model, image, (5, 5, 30, 30))
        mean = output.features[0].detach().flatten(1).mean(1)
        assert goal.scores(output).tolist() == pytest.approx(
            [float(mean @ wanted / wanted.norm())], rel=1e-4
        )
        assert output.embedding is not None
        assert not torch.allclose(output.embedding[0], mean, rtol=0.01)

    def test_its_maps_point_at_the_colour(self) -> None:
        target = Similar(FLAGS, "red", (0, 0, 8, 8))
        found = explain(colours(), FLAGS, "input_x_gradient", target=target)
        assert found.targets == ("red",)
        cells = found.of().reshape(2, 8, 4, 8).sum((1, 3))
        assert (cells > 0).tolist() == [[True, False, True, False], [False, False, False, True]]

    def test_boxes_are_of_all_or_of_none(self) -> None:
        targets = [Similar(FLAGS), Similar(FLAGS, box=(0, 0, 8, 8))]
        with pytest.raises(InputError, match="must all be Similar with a box"):
            read_target(colours(), [FLAGS, FLAGS], targets)

    def test_the_feature_of_a_region(self) -> None:
        found = region_feature(colours(), FLAGS, as_region((0, 0, 16, 8), 32, 16))
        assert found.tolist() == pytest.approx([125 / 255, 125 / 255, 0])
