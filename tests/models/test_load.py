"""Networks of one's own, described in a few lines."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from time import sleep
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from sightline.attribution.methods import explain
from sightline.core import InputError, UnknownNameError
from sightline.models import Description, Model, Preprocess, load, load_model

IMAGES = [
    np.random.default_rng(seed).integers(0, 256, (50, 70, 3)).astype(np.uint8) for seed in (0, 1)
]
INPUT = Preprocess(size=(48, 32))


class Cnn(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 4, stride=4)
        self.deep = nn.Conv2d(8, 16, 2, stride=2)
        self.out = nn.Linear(16, 3)

    def forward(self, pixels: Tensor) -> Tensor:
        features = self.deep(self.stem(pixels).relu()).relu()
        logits: Tensor = self.out(features.mean((2, 3)))
        return logits


class Block(nn.Module):  # type: ignore[misc]
    """Attention of 2 heads with channels of 4; `how` says which of torch's arguments it uses."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.norm, self.ask, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)
        self.how = how

    def parts(self, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        asked = self.ask(self.norm(tokens)).unflatten(-1, (3, 2, 4))
        query, key, value = (3 * asked[:, :, i].transpose(1, 2) for i in range(3))
        return query, key, value

    def options(self, tokens: Tensor) -> dict[str, Any]:
        count = tokens.shape[1]
        steps = torch.arange(count)
        known: dict[str, dict[str, Any]] = {
            "plain": {},
            "scale": {"scale": 0.125},
            "causal": {"is_causal": True},
            "mask": {"attn_mask": (steps[:, None] - steps).abs() < 6},
            "bias": {"attn_mask": torch.linspace(-2, 2, count).expand(1, 1, count, count)},
        }
        return known[self.how]

    def weights(self, tokens: Tensor) -> Tensor:
        """By hand, `(batch, heads, tokens, tokens)`."""
        query, key, _ = self.parts(tokens)
        count = tokens.shape[1]
        scores = torch.einsum("bhqc,bhkc->bhqk", query, key)
        scores = scores * (0.125 if self.how == "scale" else 0.5)
        for q in range(count):
            for k in range(count):
                if (self.how == "causal" and k > q) or (self.how == "mask" and abs(q - k) >= 6):
                    scores[..., q, k] = -torch.inf
        if self.how == "bias":
            scores = scores + torch.linspace(-2, 2, count)
        return scores.exp() / scores.exp().sum(-1, keepdim=True)

    def forward(self, tokens: Tensor) -> Tensor:
        query, key, value = self.parts(tokens)
        seen = F.scaled_dot_product_attention(query, key, value, **self.options(tokens))
        output: Tensor = tokens + self.out(seen.transpose(1, 2).flatten(2))
        return output


class Vit(nn.Module):  # type: ignore[misc]
    """A class token, three blocks, and attention once more after the last of them."""

    def __init__(self, how: str = "plain") -> None:
        super().__init__()
        self.cut = nn.Conv2d(3, 8, 8, stride=8)
        self.first = nn.Parameter(torch.randn(1, 1, 8))
        self.blocks = nn.ModuleList([Block(how) for _ in range(3)])
        self.after = Block("plain")
        self.out = nn.Linear(8, 3)

    def tokens(self, pixels: Tensor) -> Tensor:
        patches = self.cut(pixels).flatten(2).transpose(1, 2)
        return torch.cat([self.first.expand(len(pixels), -1, -1), patches], 1)

    def forward(self, pixels: Tensor) -> Tensor:
        tokens = self.tokens(pixels)
        for block in self.blocks:
            tokens = block(tokens)
        logits: Tensor = self.out(self.after(tokens)[:, 0])
        return logits


def cnn() -> tuple[Cnn, Description]:
    torch.manual_seed(0)
    return Cnn().eval(), Description(["stem", "deep"], INPUT, 8, classes=3)


def vit(how: str = "plain") -> tuple[Vit, Description]:
    torch.manual_seed(0)
    names = [f"blocks.{i}" for i in range(3)]
    described = Description(names, INPUT, 8, ("a", "b", "c"), ("class",), heads=2, name="mine")
    return Vit(how).eval(), described


def pixels_of(model: Model) -> Tensor:
    return torch.cat([model.prepare(image).pixels for image in IMAGES])


def test_a_cnn() -> None:
    network, description = cnn()
    model = load_model(network, description)
    pixels = pixels_of(model)
    assert pixels.shape == (2, 3, 32, 48)
    with torch.no_grad():
        features = network.deep(network.stem(pixels).relu())
        torch.testing.assert_close(model.logits(IMAGES), network(pixels))
    torch.testing.assert_close(torch.stack(model.features(IMAGES)), features)
    assert features.shape == (2, 16, 4, 6)
    assert model.classes == ("0", "1", "2")
    assert model.cam_layers == (network.stem, network.deep)
    assert repr(model) == "Model('module', 48x32 squash, patch 8x8, 2 layers, 0 heads, 3 classes)"


def test_a_vit() -> None:
    network, description = vit()
    model = load_model(network, description)
    pixels = pixels_of(model)
    with torch.no_grad():
        tokens = network.tokens(pixels)
        for block in network.blocks:
            tokens = block(tokens)
        torch.testing.assert_close(model.logits(IMAGES), network(pixels))
    for row in range(4):
        for column in range(6):
            found = torch.stack(model.features(IMAGES))[:, :, row, column]
            torch.testing.assert_close(found, tokens[:, 1 + row * 6 + column])
    assert model.classes == ("a", "b", "c")


@pytest.mark.parametrize("how", ["plain", "scale", "causal", "mask", "bias"])
def test_attention_equals_weights_made_by_hand(how: str) -> None:
    network, description = vit(how)
    model = load_model(network, description)
    tokens = network.tokens(pixels_of(model)).detach()
    passed = torch.eye(tokens.shape[1])
    found = {name: explain(model, IMAGES, name, heads="all") for name in ("cls", "mean")}
    rollout = explain(model, IMAGES, "rollout")
    for layer in range(3):
        with torch.no_grad():
            block: Any = network.blocks[layer]
            weights, tokens = block.weights(tokens), block(tokens)
        passed = (weights.mean(1) + torch.eye(tokens.shape[1])) / 2 @ passed
        for name, rows in (("cls", weights[:, :, 0]), ("mean", weights.mean(2))):
            expected = rows[..., 1:].unflatten(-1, (4, 6)).numpy()
            for image in range(2):
                maps = found[name].values[image][layer]
                np.testing.assert_allclose(maps, expected[image], atol=1e-6)
        expected = passed[:, 0, 1:].unflatten(-1, (4, 6)).numpy()
        for image in range(2):
            np.testing.assert_allclose(rollout.of(image, layer), expected[image], atol=1e-6)


def test_gradients_reach_attention() -> None:
    """Of the weights themselves, by autograd through attention made by hand."""
    network, description = vit()
    model = load_model(network, description)
    tokens, kept = network.tokens(pixels_of(model)[:1]), []
    for block in network.blocks:
        weights = block.weights(tokens)
        weights.retain_grad()
        kept.append(weights)
        values = block.parts(tokens)[2]
        tokens = tokens + block.out((weights @ values).transpose(1, 2).flatten(2))
    logits = network.out(network.after(tokens)[:, 0])
    logits[0, 1].backward()
    found = explain(model, IMAGES[0], "grad_attention", target="b")
    for layer, weights in enumerate(kept):
        assert weights.grad is not None
        product = (weights * weights.grad).clamp(min=0).mean(1)[0, 0, 1:].unflatten(0, (4, 6))
        assert product.max() > 1e-5
        expected = product.detach().numpy()
        np.testing.assert_allclose(found.of(0, layer), expected, rtol=1e-3, atol=1e-9)


class Keywords(Block):
    def forward(self, tokens: Tensor) -> Tensor:
        query, key, value = self.parts(tokens)
        seen = F.scaled_dot_product_attention(value=value, key=key, query=query)
        output: Tensor = tokens + self.out(seen.transpose(1, 2).flatten(2))
        return output


class Shared(Block):
    """Both heads share one head of keys and values."""

    def weights(self, tokens: Tensor) -> Tensor:
        query, key, _ = self.parts(tokens)
        return (query @ key[:, :1].transpose(2, 3) * 0.5).softmax(-1)

    def forward(self, tokens: Tensor) -> Tensor:
        query, key, value = self.parts(tokens)
        shared = {"enable_gqa": True}
        seen = F.scaled_dot_product_attention(query, key[:, :1], value[:, :1], **shared)
        output: Tensor = tokens + self.out(seen.transpose(1, 2).flatten(2))
        return output


@pytest.mark.parametrize("kind", [Keywords, Shared])
def test_other_ways_to_call_attention(kind: Any) -> None:
    network, description = vit()
    network.blocks[0] = kind("plain").eval()
    model = load_model(network, description)
    with torch.no_grad():
        expected = kind.weights(network.blocks[0], network.tokens(pixels_of(model)))
    found = explain(model, IMAGES, "mean", layers=0, heads="all").values[0][0]
    goal = expected.mean(2)[0, :, 1:].unflatten(-1, (4, 6)).numpy()
    np.testing.assert_allclose(found, goal, atol=1e-6)


class Twice(Block):
    def forward(self, tokens: Tensor) -> Tensor:
        return super().forward(super().forward(tokens))


class Flat(Block):
    def forward(self, tokens: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(tokens, tokens, tokens)


class Other(Block):
    def forward(self, tokens: Tensor) -> Tensor:
        query, key, value = self.parts(tokens)
        weights = (query @ key.transpose(2, 3)).softmax(-1)
        output: Tensor = tokens + self.out((weights @ value).transpose(1, 2).flatten(2))
        return output


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Twice, "layer 1 attends more than once"),
        (Flat, r"must be \(batch, heads, tokens, channels\)"),
        (Other, "layer 1 of mine calls neither"),
    ],
)
def test_attention_that_cannot_be_seen(kind: Any, message: str) -> None:
    network, description = vit()
    network.blocks[1] = kind("plain").eval()
    with pytest.raises(InputError, match=message):
        explain(load_model(network, description), IMAGES[0], "mean")
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in network.modules())


def test_a_wrong_number_of_heads() -> None:
    network, description = vit()
    model = load_model(network, replace(description, heads=3))
    with pytest.raises(InputError, match="said to have 3 heads, layer 0 attends with 2"):
        explain(model, IMAGES[0], "mean")


def test_a_network_without_description() -> None:
    with pytest.raises(InputError, match="Cnn is not a network of transformers"):
        load_model(cnn()[0])


@pytest.mark.parametrize("thing", [None, 3, Cnn])
def test_something_else(thing: Any) -> None:
    with pytest.raises(InputError, match="must be a name or a torch"):
        load_model(thing)


def test_a_configuration_of_an_unknown_type() -> None:
    network = cnn()[0]
    network.config = nn.Identity()
    with pytest.raises(UnknownNameError, match="unknown model type"):
        load_model(network)


def test_a_wrong_layer_names_the_nearest() -> None:
    network, description = vit()
    with pytest.raises(UnknownNameError, match=r"'block\.1'; did you mean 'blocks\.1'"):
        load_model(network, replace(description, layers=["blocks.0", "block.1"]))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": []}, "at least one layer"),
        ({"layers": "deep"}, "layers of the description must be a sequence of names"),
        ({"prefix": "class"}, "prefix of the description must be a sequence of names"),
        ({"prefix": ("klass",)}, "must be among class, distillation, register, got 'klass'"),
        ({"classes": "abc"}, "classes of the description must be"),
        ({"patch": 7}, "48x32 is no multiple of the patch 7x7"),
        ({"patch": 0}, "patch"),
        ({"patch": 2.5}, "patch"),
        ({"heads": -1}, "heads must be 0 or more, got -1"),
        ({"cam_layers": ["stem"]}, "cam_layers must be as many as layers, got 1 for 2"),
    ],
)
def test_descriptions_that_make_no_sense(change: dict[str, Any], message: str) -> None:
    network, description = cnn()
    with pytest.raises(InputError, match=message):
        load_model(network, replace(description, **change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"patch": 16}, "48x32 gives 6x4 cells, but with patch 16x16 it must be 3x2"),
        ({"patch": 4}, "48x32 gives 6x4 cells, but with patch 4x4 it must be 12x8"),
        ({"classes": 5}, r"5 classes, but its forward pass gives logits of shape \(1, 3\)"),
        ({"classes": ("a", "b")}, "2 classes, but its forward pass gives logits"),
        ({"layers": ["out"]}, "a layer must give tokens"),
    ],
)
def test_descriptions_that_the_network_contradicts(change: dict[str, Any], message: str) -> None:
    network, description = cnn()
    model = load_model(network, replace(description, **change))
    network.train()
    with pytest.raises(InputError, match=message):
        model.features(IMAGES[0])
    assert network.training  # also while the error is still at hand


@pytest.mark.parametrize("prefix", [(), ("class", "register")])
def test_a_wrong_prefix(prefix: tuple[str, ...]) -> None:
    network, description = vit()
    model = load_model(network, replace(description, prefix=prefix))
    with pytest.raises(InputError, match="patch tokens do not fill an input of 48x32; is prefix"):
        model.features(IMAGES[0])


def test_patches_that_are_not_square() -> None:
    network, description = vit()
    network.cut = nn.Conv2d(3, 8, (16, 8), stride=(16, 8))
    model = load_model(network, replace(description, patch=(8, 16)))
    with torch.no_grad():
        tokens = network.tokens(pixels_of(model))
        for block in network.blocks:
            tokens = block(tokens)
    assert model.prepare(IMAGES[0]).geometries[0].grid == (6, 2)
    expected = tokens[0, 1:].T.reshape(8, 2, 6)
    torch.testing.assert_close(model.features(IMAGES[0])[0], expected)


def test_outputs_with_logits_or_in_tuples() -> None:
    class Wrapped(Cnn):
        def forward(self, pixels: Tensor) -> Any:
            logits = super().forward(pixels)
            return type("Answer", (), {"logits": logits}) if self.named else (logits, None)

    _, description = cnn()
    for named in (True, False):
        torch.manual_seed(0)
        network = Wrapped().eval()
        network.named = named
        plain = load_model(*cnn())
        torch.testing.assert_close(
            load_model(network, description).logits(IMAGES), plain.logits(IMAGES)
        )


def test_fit_size_and_device() -> None:
    model = load_model(*cnn(), fit="letterbox", size=64, device="cpu")
    assert (model.preprocess.fit, model.preprocess.size) == ("letterbox", (64, 64))
    assert model.device == torch.device("cpu")
    for device in ("gpu", "cuda:99"):
        with pytest.raises(InputError, match=f"device '{device}' cannot be used"):
            load_model(*cnn(), device=device)
    with pytest.raises(InputError, match="fit must be one of"):
        load_model(*cnn(), fit="")
    with pytest.raises(InputError, match="size must be"):
        load_model(*cnn(), size=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"classes": None}, "classes of the description must be a sequence of names, got None"),
        ({"classes": -1}, "classes of the description must be a sequence of names, got -1"),
        ({"classes": 2.0}, "classes of the description"),
        ({"layers": None}, "layers of the description"),
        ({"prefix": None}, "prefix of the description"),
        ({"heads": "a"}, "heads of the description must be a number, got 'a'"),
        ({"patch": None}, "patch of the description must be a side or a pair: None"),
        ({"preprocess": None}, "preprocess must be a Preprocess, got None"),
    ],
)
def test_descriptions_of_the_wrong_kind(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"layers": ["0"], "preprocess": Preprocess(size=(32, 32)), "patch": 8}
    with pytest.raises(InputError, match=message):
        load_model(nn.Sequential(nn.Conv2d(3, 4, 8, 8)), Description(**{**good, **change}))


def test_descriptions_are_for_networks() -> None:
    described = Description(["0"], Preprocess(size=(32, 32)), 8)
    with pytest.raises(InputError, match="a description is for a network, not for the name"):
        load_model("demo/vit", described)
    wrong: Any = {"layers": ["0"]}
    with pytest.raises(InputError, match="description must be a Description, got dict"):
        load_model(nn.Sequential(nn.Conv2d(3, 4, 8, 8)), wrong)
    odd: Any = ([8, 8], [0, 1])
    pair = Description(["0"], Preprocess(size=(32, 32)), odd[0], classes=odd[1])
    model = load_model(nn.Sequential(nn.Conv2d(3, 4, 8, 8)), pair)
    assert (model.patch, model.classes) == ((8, 8), ("0", "1"))


def test_a_device_without_numbers_is_refused() -> None:
    with pytest.raises(InputError, match="device 'meta' cannot be used"):
        load_model("demo/cnn", device="meta")


def test_models_are_loaded_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries of models change what all threads share while they load."""
    inside, most = [], []
    model = load_model("demo/vit")

    def slowly(_: str) -> Model:
        inside.append(1)
        most.append(len(inside))
        sleep(0.01)
        inside.pop()
        return model

    monkeypatch.setattr(load, "_by_name", slowly)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(load_model, ["demo/vit"] * 8))
    assert most == [1] * 8
