"""Score-CAM and Ablation-CAM against one whole pass for each image and channel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from sightline.attribution.methods import explain
from sightline.core import InputError
from sightline.models import Model, load_model
from sightline.models.load import Description
from sightline.models.preprocess import Preprocess
from tests.attribution.methods.networks import CLASSES, PLAIN, linear, make_images, tiny

IMAGES = make_images()
SIZES = {"vit": (40, 24), "resnet": (96, 64), "swin": (96, 64)}


@pytest.fixture(scope="module", params=list(SIZES))
def model(request: pytest.FixtureRequest) -> Model:
    """In double precision: small differences of large numbers are then not lost."""
    found = tiny(str(request.param), size=SIZES[str(request.param)])
    found.network.double()
    return found


def logit(model: Model, pixels: Any, target: int) -> float:
    with torch.no_grad():
        logits = model(pixels).logits
    assert logits is not None
    return float(logits[0, target])


def layer_of(model: Model, pixels: Any, layer: int) -> Any:
    """Channels of a layer on their grid, by a hook of its own."""
    kept: list[Any] = []

    def keep(module: Any, arguments: Any, output: Any) -> None:
        kept.append(output if isinstance(output, torch.Tensor) else output[0])

    handle = model.cam_layers[layer].register_forward_hook(keep)
    with torch.no_grad():
        model(pixels)
    handle.remove()
    return model.to_grid(kept[0], pixels)[0].numpy()


def enlarged(values: Any, height: int, width: int) -> Any:
    """Linear between the middles of cells, first down, then across; constant beyond them."""
    for axis, size in enumerate((height, width)):
        count = values.shape[axis]
        places = (np.arange(size) + 0.5) * count / size - 0.5
        lines = np.moveaxis(values, axis, 0).reshape(count, -1)
        new = np.stack([np.interp(places, np.arange(count), line) for line in lines.T], 1)
        shape = [size if a == axis else values.shape[a] for a in range(2)]
        values = new.reshape(size, -1) if axis == 0 else new.reshape(size, -1).T
        values = values.reshape(shape)
    return values


def slow_score(model: Model, pixels: Any, target: int, layer: int) -> Any:
    channels = layer_of(model, pixels, layer)
    scores = []
    for channel in channels:
        large = enlarged(channel, *pixels.shape[2:])
        if np.ptp(channel) == 0:
            scores.append(-np.inf)
            continue
        mask = torch.from_numpy((large - large.min()) / (large.max() - large.min()))
        scores.append(logit(model, pixels * mask, target))
    weights = np.exp(np.array(scores) - max(scores))
    return np.tensordot(weights / weights.sum(), channels, 1)


def slow_ablation(model: Model, pixels: Any, target: int, layer: int) -> Any:
    channels, found = layer_of(model, pixels, layer), 0
    whole = logit(model, pixels, target)
    for number, channel in enumerate(channels):

        def without(module: Any, arguments: Any, output: Any, number: int = number) -> Any:
            first = output if isinstance(output, torch.Tensor) else output[0]
            changed = first.clone()
            if changed.ndim == 4:
                changed[:, number] = 0
            else:
                changed[:, len(model.prefix) :, number] = 0
            return changed if first is output else (changed, *output[1:])

        handle = model.cam_layers[layer].register_forward_hook(without)
        found = found + (whole - logit(model, pixels, target)) * channel
        handle.remove()
    return found


@pytest.mark.parametrize("method", ["scorecam", "ablationcam"])
def test_every_layer_is_as_the_slow_way(model: Model, method: str) -> None:
    slow = slow_score if method == "scorecam" else slow_ablation
    maps = explain(model, IMAGES[:2], method, target=[0, 2], batch=5)
    assert maps.layers == tuple(range(len(model.layers)))
    for i, target in enumerate((0, 2)):
        pixels = model.prepare(IMAGES[i]).pixels
        for layer in maps.layers:
            assert layer is not None
            wanted, found = slow(model, pixels, target, layer), maps.of(i, layer)
            assert found.shape == wanted.shape
            assert np.abs(found - wanted).max() <= 1e-5 * np.abs(wanted).max()
            assert np.ptp(wanted) > 0


def test_ablation_of_a_linear_network_by_hand() -> None:
    """The drop is what the channel gave: the weight of each is its share of the class."""
    model = linear()
    network: Any = model.network
    values = network.embed(model.prepare(IMAGES[0]).pixels)[0].detach()
    for target in range(3):
        given = network.head.weight[target].detach().reshape(5, 3, 4) * values
        wanted = (given.sum((1, 2))[:, None, None] * values).sum(0).numpy()
        found = explain(model, IMAGES[0], "ablationcam", target=target).of()
        np.testing.assert_allclose(found, wanted, atol=1e-4 * np.abs(wanted).max())


class _Rows(nn.Module):  # type: ignore[misc]
    """What follows the layer counts on as many rows as there are images."""

    def __init__(self, stubborn: bool) -> None:
        super().__init__()
        self.body = nn.Conv2d(3, 4, 8, 8)
        self.head = nn.Linear(4 * 12, 3)
        self.stubborn = stubborn

    def forward(self, pixels: Any) -> Any:
        hidden = self.body(pixels).tanh()
        rows = len(pixels) if self.stubborn else len(hidden)
        return self.head(hidden.reshape(rows, -1))


def rows(stubborn: bool) -> Model:
    torch.manual_seed(7)
    plain = Preprocess(size=(32, 24), **PLAIN)
    return load_model(_Rows(stubborn), Description(["body"], plain, 8, CLASSES, name="rows"))


def test_a_network_that_must_run_as_a_whole_gives_the_same() -> None:
    wanted = explain(rows(False), IMAGES, "ablationcam", target=1).stack()
    found = explain(rows(True), IMAGES, "ablationcam", target=1).stack()
    np.testing.assert_allclose(found, wanted, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize(("stubborn", "most"), [(False, 1), (True, 8)])
def test_only_what_follows_the_layer_runs_for_each_channel(stubborn: bool, most: int) -> None:
    model = rows(stubborn)
    seen: list[int] = []
    network: Any = model.network
    network.body.register_forward_pre_hook(lambda module, arguments: seen.append(len(arguments[0])))
    explain(model, IMAGES, "ablationcam", target=1, batch=8)
    # After the images as they are, and one pass that finds out whether copies may begin there.
    assert seen[:2] == [3, 1]
    assert max(seen[2:]) == most
    assert sum(seen[2:]) == (3 if most == 1 else 3 * 4)


@pytest.mark.parametrize(("cells", "most"), [(12, 4), (12 * 64, 1)])
def test_copies_that_begin_at_a_small_layer_run_together(cells: int, most: int) -> None:
    """A layer as large as the pixels: no more copies than the batch; a 48th of them: all four."""
    stride = 8 if cells == 12 else 1
    layers = [nn.Conv2d(3, 4, stride, stride), nn.Flatten(), nn.Linear(4 * cells, 3)]
    plain = Preprocess(size=(32, 24), **PLAIN)
    model = load_model(nn.Sequential(*layers), Description(["0"], plain, stride, CLASSES))
    seen: list[int] = []
    layers[2].register_forward_pre_hook(lambda module, arguments: seen.append(len(arguments[0])))
    explain(model, IMAGES[0], "ablationcam", target=1, batch=1)
    assert seen[:2] == [1, 2]  # the image as it is, and twice at the layer
    assert seen[2:] == [most] * (4 // most)


@pytest.mark.parametrize("method", ["scorecam", "ablationcam"])
def test_some_channels_are_those_that_vary_most(method: str) -> None:
    model = rows(False)
    network: Any = model.network
    whole = explain(model, IMAGES, method, target=0).stack()
    assert np.array_equal(
        explain(model, IMAGES, method, target=0, params={"channels": 99}).stack(), whole
    )
    few = explain(model, IMAGES, method, target=0, params={"channels": 1}).stack()[:, 0, 0]
    for i, image in enumerate(IMAGES):
        values = network.body(model.prepare(image).pixels)[0].detach()
        best = values[values.var((1, 2)).argmax()].numpy()
        ratio = few[i] / best
        np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-3)  # that channel alone
        if method == "scorecam":
            np.testing.assert_allclose(ratio, 1, rtol=1e-5)  # and weights add up to 1


@pytest.mark.parametrize("method", ["scorecam", "ablationcam"])
@pytest.mark.parametrize("channels", [0, -1, 1.5, True, "all"])
def test_bad_numbers_of_channels(method: str, channels: Any) -> None:
    with pytest.raises(InputError, match=r"channels must be a whole number, from 1 to [\d,]+, got"):
        explain(linear(), IMAGES, method, params={"channels": channels})


def test_a_channel_that_is_the_same_everywhere_has_no_weight() -> None:
    model = rows(False)
    network: Any = model.network
    with torch.no_grad():
        network.body.weight[2] = 0
        network.body.bias[2] = 50.0
    found = explain(model, IMAGES, "scorecam", target=0).stack()
    assert np.abs(found).max() < 10
    with torch.no_grad():
        network.body.weight.zero_()
    assert np.isfinite(explain(model, IMAGES, "scorecam", target=0).stack()).all()


@pytest.mark.parametrize("method", ["scorecam", "ablationcam"])
def test_layers_without_use_are_named(method: str) -> None:
    network = nn.Sequential(nn.Conv2d(3, 4, 8, 8), nn.Flatten(), nn.Linear(48, 3))
    network.spare = nn.Conv2d(4, 4, 1)
    network.forward = lambda pixels: network[2](network[1](network[0](pixels)))
    plain = Preprocess(size=(32, 24), **PLAIN)
    model = load_model(network, Description(["spare", "0"], plain, 8, CLASSES, name="own"))
    with pytest.raises(InputError, match=f"{method}: layer 0 of own was not used"):
        explain(model, IMAGES, method)


@pytest.mark.parametrize("method", ["scorecam", "ablationcam"])
def test_an_embedding_can_be_explained_too(method: str) -> None:
    maps = explain(tiny("dinov2"), IMAGES, method, target="embedding", params={"channels": 3})
    assert maps.targets == ("embedding",) * 3
    assert np.ptp(maps.stack()) > 0
