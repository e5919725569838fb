"""FullGrad: all parts of a score, by hand, and that they add up."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from transformers import ConvNextConfig, ConvNextForImageClassification

from sightline.attribution.methods import explain
from sightline.attribution.methods.fullgrad import bias_like, bias_of, each_part
from sightline.attribution.methods.targets import Classes
from sightline.models import Model, load_model
from sightline.models.hooks import undisturbed
from tests.attribution.methods.networks import CLASSES, ONE, linear, make_images, one_patch, tiny
from tests.attribution.methods.relu_networks import described, one_cell, plain, residual
from tests.attribution.methods.seen import close

IMAGES = make_images()


def resnet() -> Model:
    """A tiny ResNet with means and biases far from 0."""
    model = tiny("resnet", size=(64, 32))
    for module in model.network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.bias, std=0.3)
            nn.init.normal_(module.running_mean, std=0.3)
    return model


def pixels_of(model: Model) -> Any:
    return torch.cat([model.prepare(image).pixels for image in IMAGES])


def parts_of(model: Model, target: int) -> list[tuple[Any, int]]:
    found: list[tuple[Any, int]] = []
    with undisturbed(model.network):
        goal = Classes(torch.full((len(IMAGES),), target))
        each_part(model, pixels_of(model), goal, lambda *part: found.append(part))
    return found


@pytest.mark.parametrize("make", [linear, plain, residual, one_cell, resnet])
@pytest.mark.parametrize("target", [0, 2])
def test_the_parts_add_up_to_the_score(make: Any, target: int) -> None:
    model = make()
    parts = parts_of(model, target)
    sums = sum(part.reshape(len(IMAGES), -1).sum(1) for part, _ in parts)
    scores = model.logits(IMAGES)[:, target]
    assert torch.allclose(sums, scores, atol=1e-4)
    pixels = parts[-1][0].reshape(len(IMAGES), -1).sum(1)
    assert (pixels - scores).abs().max() > 1e-3  # the biases are needed for it


def tent(place: float, cell: int, count: int) -> float:
    """How much of a cell counts at a place: 1 at its centre, 0 at the next cell's."""
    return max(0.0, 1 - abs(min(max(place, 0), count - 1) - cell))


def spread(cells: Any, height: int, width: int) -> Any:
    """Cells over pixels by hand: between the centres of four cells; the sum stays."""
    rows, columns = cells.shape
    found = np.zeros((height, width))
    for y, x, r, c in np.ndindex(height, width, rows, columns):
        down = tent((y + 0.5) * rows / height - 0.5, r, rows)
        right = tent((x + 0.5) * columns / width - 0.5, c, columns)
        found[y, x] += down * right * cells[r, c]
    return found * rows * columns / (height * width)


def test_the_map_by_hand() -> None:
    """Biases as leaves of their own, one for each place, and a map made cell by cell."""
    model = plain()
    first, _, second, _, flat, head = model.network
    for i, image in enumerate(IMAGES):
        pixels = model.prepare(image).pixels.requires_grad_()
        low = first.bias[:, None, None].detach().repeat(1, 6, 8).requires_grad_()
        high = second.bias[:, None, None].detach().repeat(1, 3, 4).requires_grad_()
        value = functional.conv2d(pixels, first.weight, stride=4) + low
        value = functional.conv2d(value.relu(), second.weight, stride=2) + high
        score = head(flat(value.relu()))[0, i]
        slopes = torch.autograd.grad(score, (pixels, low, high))
        sizes = [
            (slope * part).detach().abs().sum(-3).reshape(*part.shape[-2:]).numpy()
            for slope, part in zip(slopes, (pixels, low, high), strict=True)
        ]
        wanted = sizes[0] + spread(sizes[1], 24, 32) + spread(sizes[2], 24, 32)
        found = explain(model, image, "fullgrad", target=i).of()
        close(found, wanted)
        assert found.sum() == pytest.approx(sum(size.sum() for size in sizes), rel=1e-5)
        assert found.min() >= 0


def test_the_bias_of_a_batch_norm_is_what_it_adds() -> None:
    for affine in (True, False):
        norm = nn.BatchNorm2d(4, affine=affine).eval()
        nn.init.normal_(norm.running_mean)
        nn.init.uniform_(norm.running_var, 0.5, 2)
        if affine:
            nn.init.normal_(norm.weight)
            nn.init.normal_(norm.bias)
        found = bias_of(norm)
        assert found is not None
        wanted = norm(torch.zeros(2, 4, 3, 5)).detach()
        shown = bias_like(wanted, *found).expand_as(wanted)
        assert torch.allclose(shown, wanted, atol=1e-6)


@pytest.mark.parametrize(
    ("module", "axis"),
    [
        (nn.Conv2d(3, 4, 1), 1),
        (nn.Linear(3, 4), -1),
        (nn.LayerNorm(4), -1),
        (nn.LayerNorm((4, 3, 5)), -3),
        (nn.GroupNorm(2, 4), 1),
        (nn.Conv2d(3, 4, 1, bias=False), None),
        (nn.Linear(3, 4, bias=False), None),
        (nn.BatchNorm2d(4, affine=False, track_running_stats=False), None),
        (nn.ReLU(), None),
    ],
)
def test_where_channels_are(module: nn.Module, axis: int | None) -> None:
    found = bias_of(module)
    assert (None if found is None else found[1]) == axis


class LayerNorm2d(nn.LayerNorm):  # type: ignore[misc]
    """As in timm and torchvision, which tell by the name alone."""

    def forward(self, value: Any) -> Any:
        return super().forward(value.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def test_a_norm_that_turns_its_input_by_its_name() -> None:
    norm = LayerNorm2d(4)
    nn.init.normal_(norm.bias)
    found = bias_of(norm)
    assert found is not None
    wanted = norm(torch.zeros(2, 4, 4, 4))
    assert torch.allclose(bias_like(wanted, *found).expand_as(wanted), wanted)


@pytest.mark.parametrize("data_format", ["channels_first", "channels_last"])
def test_a_norm_that_turns_its_input(data_format: str) -> None:
    norm = nn.LayerNorm(4)
    norm.data_format = data_format
    found = bias_of(norm)
    assert found is not None
    assert found[1] == {"channels_first": 1, "channels_last": -1}[data_format]


def convnext() -> Model:
    torch.manual_seed(1)
    widths = {"hidden_sizes": [8, 8, 8, 8], "depths": [1, 1, 1, 1], "image_size": 64}
    network = ConvNextForImageClassification(ConvNextConfig(**widths, num_labels=3))
    with torch.no_grad():
        for value in network.parameters():
            value.normal_(std=0.3)
    return load_model(network.eval(), size=64)


@pytest.mark.parametrize("kind", ["vit", "siglip", "swin", "convnext", "resnet"])
def test_it_runs_on_every_kind_of_network(kind: str) -> None:
    """Most biases have a place: the map holds more than pixels times gradient."""
    model = convnext() if kind == "convnext" else tiny(kind, size=64)
    with torch.no_grad():
        for name, value in model.network.named_parameters():
            if name.endswith("bias"):
                value.normal_(std=0.3)
    maps = explain(model, IMAGES, "fullgrad", target=1)
    for i, image in enumerate(IMAGES):
        pixels = model.prepare(image).pixels.requires_grad_()
        logits: Any = model(pixels).logits
        slope = torch.autograd.grad(logits[0, 1], pixels)[0]
        sizes = (slope * pixels)[0].detach().abs().sum(0).numpy()
        assert (maps.of(i) >= sizes - 1e-4 * sizes.max()).all()
        assert maps.of(i).sum() > 1.05 * sizes.sum()


class _Heads(nn.Module):  # type: ignore[misc]
    """A norm over each of four heads: its axes are heads and tokens, no rows and columns."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Conv2d(3, 8, 8, 8, bias=False)
        self.norm = nn.LayerNorm(2)
        self.head = nn.Linear(8, 3, bias=False)

    def forward(self, pixels: Any) -> Any:
        tokens = self.embed(pixels).flatten(2).transpose(1, 2)
        heads = self.norm(tokens.unflatten(2, (4, 2)).transpose(1, 2))
        return self.head(heads.transpose(1, 2).flatten(2).mean(1))


def test_heads_are_not_taken_for_rows() -> None:
    model = described(_Heads(), "embed", "heads")
    nn.init.normal_(model.network.norm.bias, std=3)
    found = explain(model, IMAGES, "fullgrad", target=0).stack()[:, 0, 0]
    product = explain(model, IMAGES, "input_x_gradient", target=0)
    with undisturbed(model.network):
        parts = parts_of(model, 0)
    assert [tuple(part.shape) for part, _ in parts] == [(3, 4, 12, 2), (3, 3, 24, 32)]
    close(found, parts[-1][0].abs().sum(1), 1e-6)
    assert product.stack().any()


def test_the_peak_is_in_the_one_cell_that_is_read() -> None:
    """What a bias adds is spread between cells, so that neighbours have something of it."""
    for model in (one_patch(), one_cell()):
        maps = explain(model, IMAGES, "fullgrad", target=[0, 1, 2])
        for i in range(len(IMAGES)):
            cells = maps.of(i).reshape(3, 8, 4, 8).sum((1, 3))
            assert np.unravel_index(cells.argmax(), cells.shape) == ONE
            assert cells[ONE] > 0.5 * cells.sum()


def test_a_part_is_gone_when_the_next_one_comes() -> None:
    model, alive, most = residual(), [], 0

    def take(part: Any, _: int) -> None:
        nonlocal most
        alive.append(weakref.ref(part))
        most = max(most, sum(one() is not None for one in alive))

    with undisturbed(model.network):
        each_part(model, pixels_of(model), Classes(torch.tensor([0, 1, 2])), take)
    assert len(alive) == 5
    assert most == 1


def test_the_target_and_the_batch() -> None:
    model = residual()
    maps = explain(model, IMAGES, "fullgrad", batch=1)
    numbers = model.logits(IMAGES).argmax(1).tolist()
    assert maps.targets == tuple(CLASSES[number] for number in numbers)
    close(explain(model, IMAGES, "fullgrad", batch=3).stack(), maps.stack())
    other = explain(model, IMAGES, "fullgrad", target=[(number + 1) % 3 for number in numbers])
    assert not np.allclose(other.stack(), maps.stack())
    own = explain(model, IMAGES, "fullgrad", target="embedding")
    assert own.stack().any()
