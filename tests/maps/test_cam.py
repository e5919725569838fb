"""Grad-CAM against one backward pass for each image and layer, and loops over cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch import nn

from sightline.maps import explain
from sightline.models import Model, load_model
from sightline.models.load import Description
from sightline.models.preprocess import Preprocess
from sightline.records import InputError
from tests.maps.networks import CLASSES, ONE, linear, make_images, one_patch, tiny

if TYPE_CHECKING:
    from numpy.typing import NDArray

IMAGES = make_images()
# Name of the module that a layer is read at, and size (rows, columns) of its grid for an input
# of 64 x 96 (ViT: 24 x 40).
LAYERS: dict[str, list[tuple[str, tuple[int, int]]]] = {
    "vit": [(f"vit.layers.{i}.layernorm_before", (3, 5)) for i in range(3)],
    "resnet": [(f"resnet.encoder.stages.{i}", (16 >> i, 24 >> i)) for i in range(4)],
    "swin": [
        (f"swin.encoder.layers.{i}", size) for i, size in enumerate([(8, 12), (4, 6), (4, 6)])
    ],
}
SIZES = {"vit": (40, 24), "resnet": (96, 64), "swin": (96, 64)}


@pytest.fixture(scope="module", params=list(LAYERS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def model(kind: str) -> Model:
    return tiny(kind, size=SIZES[kind])


def slow(model: Model, image: Any, target: int, name: str, grid: tuple[int, int]) -> NDArray[Any]:
    """One image, one layer: a hook of its own, `backward`, then loops over cells and channels."""
    kept: list[Any] = []

    def keep(module: Any, arguments: Any, output: Any) -> None:
        kept.append(output if isinstance(output, torch.Tensor) else output[0])
        kept[0].retain_grad()

    handle = dict(model.network.named_modules())[name].register_forward_hook(keep)
    pixels = model.prepare(image).pixels.requires_grad_()
    extra = {} if "resnet" in name else {"interpolate_pos_encoding": True}
    network: Any = model.network
    network(pixels, **extra).logits[0, target].backward()
    handle.remove()
    network.zero_grad()
    values, slopes = kept[0].detach()[0].numpy(), kept[0].grad[0].numpy()
    if values.ndim == 2:  # tokens: the class token goes, and channels come first
        start = len(values) - grid[0] * grid[1]
        values, slopes = (part[start:].T.reshape(-1, *grid) for part in (values, slopes))
    found = np.zeros(grid)
    for row, column in np.ndindex(*grid):
        for channel in range(len(values)):
            found[row, column] += slopes[channel].mean() * values[channel, row, column]
    return found


@pytest.mark.parametrize("target", [0, 2])
def test_every_layer_is_as_the_slow_way(kind: str, model: Model, target: int) -> None:
    maps = explain(model, IMAGES, "gradcam", target=target)
    assert maps.layers == tuple(range(len(LAYERS[kind])))
    for i, image in enumerate(IMAGES):
        for layer, (name, grid) in enumerate(LAYERS[kind]):
            wanted, found = slow(model, image, target, name, grid), maps.of(i, layer)
            assert found.shape == grid
            assert np.abs(found - wanted).max() <= 1e-5 * np.abs(wanted).max()
            assert np.ptp(wanted) > 0


def test_values_below_0_are_kept(model: Model) -> None:
    first, other = (explain(model, IMAGES, "gradcam", target=i) for i in (0, 1))
    least = [values.min() for maps in (first, other) for image in maps.values for values in image]
    assert min(least) < 0


def test_each_layer_has_its_own_grid_and_geometry(kind: str, model: Model) -> None:
    maps = explain(model, IMAGES, "gradcam", layers=[-1, 0])
    assert maps.layers == (len(LAYERS[kind]) - 1, 0)
    for place, (_, (rows, columns)) in enumerate((LAYERS[kind][-1], LAYERS[kind][0])):
        assert maps.geometries[0][place].grid == (columns, rows)
        assert maps.geometries[0][place].size == SIZES[kind]


def test_layers_are_given_in_the_order_asked_for(model: Model) -> None:
    maps, whole = (
        explain(model, IMAGES, "gradcam", layers=[1, 0]),
        explain(model, IMAGES, "gradcam"),
    )
    for place, layer in enumerate((1, 0)):
        assert np.array_equal(maps.values[0][place], whole.values[0][layer])
    with pytest.raises(InputError, match="layers must differ, got 1, 1"):
        explain(model, IMAGES, "gradcam", layers=[1, 1])


def test_all_lies_on_the_one_patch_that_is_read() -> None:
    maps = explain(one_patch(), IMAGES, "gradcam", target=[0, 1, 2])
    cells = np.abs(maps.stack()[:, :, 0])
    assert cells[..., ONE[0], ONE[1]].min() > 0
    cells[..., ONE[0], ONE[1]] = 0
    assert not cells.any()


@pytest.mark.parametrize("method", ["grad_attention", "grad_rollout"])
def test_so_does_graded_attention(method: str) -> None:
    cells = np.stack([explain(one_patch(), IMAGES, method, target=i).stack() for i in range(3)])
    assert cells[..., ONE[0], ONE[1]].max() > 0
    cells[..., ONE[0], ONE[1]] = 0
    assert not cells.any()


def test_a_linear_layer_by_hand() -> None:
    model = linear()
    network: Any = model.network
    for target in range(3):
        weights = network.head.weight[target].detach().reshape(5, 3, 4).mean((1, 2))
        values = network.embed(model.prepare(IMAGES[0]).pixels)[0].detach()
        wanted = (weights[:, None, None] * values).sum(0).numpy()
        found = explain(model, IMAGES[0], "gradcam", target=target).of()
        np.testing.assert_allclose(found, wanted, atol=1e-5 * np.abs(wanted).max())


class _InPlace(nn.Module):  # type: ignore[misc]
    """A layer whose output is overwritten by the next module, and one that is never used."""

    def __init__(self, crop: int = 0, pass_by: bool = False) -> None:
        super().__init__()
        self.body = nn.Conv2d(3, 4, 8 - crop, 8)
        self.act = nn.ReLU(inplace=True)
        self.spare = nn.Conv2d(4, 4, 1)
        self.head = nn.Linear(4, 3)
        self.pass_by = pass_by

    def forward(self, pixels: Any) -> Any:
        hidden = self.act(self.body(pixels))
        if self.pass_by:
            self.spare(hidden)
        return self.head(hidden.mean((2, 3)))


def own(network: nn.Module, layers: list[str], size: int = 32) -> Model:
    plain = Preprocess(size=(size, size))
    return load_model(network, Description(layers, plain, 8, CLASSES, name="own"))


def test_a_layer_whose_output_is_overwritten_is_read_as_it_is_used() -> None:
    torch.manual_seed(0)
    model = own(_InPlace(), ["body"])
    network: Any = model.network
    values = network.body(model.prepare(IMAGES[0]).pixels).relu()[0].detach()
    wanted = (network.head.weight[1].detach()[:, None, None] / 16 * values).sum(0).numpy()
    found = explain(model, IMAGES[0], "gradcam", target=1).of()
    np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize(
    ("network", "layers", "message"),
    [
        (_InPlace(pass_by=True), ["body", "spare"], "no class of own depends on layer 1"),
        (_InPlace(), ["spare", "body"], "layer 0 of own was not used in its forward pass"),
    ],
)
def test_layers_without_a_say(network: nn.Module, layers: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        explain(own(network, layers), IMAGES, "gradcam")


def test_a_grid_that_does_not_divide_the_input_is_refused() -> None:
    pools = nn.AdaptiveAvgPool2d(4), nn.AdaptiveAvgPool2d(1)
    network = nn.Sequential(nn.Conv2d(3, 3, 3), *pools, nn.Flatten())
    message = "own: a map of 30x30 cells does not divide the input of 32x32 pixels"
    with pytest.raises(InputError, match=message):
        explain(own(network, ["0", "1"]), IMAGES, "gradcam")
