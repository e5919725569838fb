"""Attention maps against the matrices that the slow path of transformers returns."""

from __future__ import annotations

import weakref
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import (
    Dinov2WithRegistersConfig,
    Dinov2WithRegistersForImageClassification,
    SiglipConfig,
    SiglipForImageClassification,
)

from sightline.attribution.methods import explain
from sightline.attribution.methods import weights as weights_maps
from sightline.attribution.methods.attention import _drop_least
from sightline.attribution.methods.weights import weighted_rows
from sightline.core import InputError
from sightline.models import Model, load_model
from sightline.models.attention import Heads

if TYPE_CHECKING:
    from numpy.typing import NDArray

TINY: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
PREFIX = {"dinov2": 5, "siglip": 0}


def make_network(kind: str, attention: str) -> Any:
    torch.manual_seed(3)
    labels = {"num_labels": 5, "attn_implementation": attention}
    if kind == "dinov2":
        config = Dinov2WithRegistersConfig(
            **TINY, image_size=64, patch_size=16, num_register_tokens=4, **labels
        )
        network = Dinov2WithRegistersForImageClassification(config)
    else:
        vision = {**TINY, "intermediate_size": 64, "image_size": 64, "patch_size": 16}
        network = SiglipForImageClassification(SiglipConfig(vision_config=vision, **labels))
    with torch.no_grad():
        for name, value in network.named_parameters():
            if "norm" not in name and "layer_scale" not in name:
                value.normal_(std=0.25)  # far from the flat attention of fresh weights
    return network.eval()


@pytest.fixture(scope="module", params=["dinov2", "siglip"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def model(kind: str) -> Model:
    return load_model(make_network(kind, "sdpa"), size=(64, 48))


@pytest.fixture(scope="module")
def images() -> list[NDArray[np.uint8]]:
    rng = np.random.default_rng(5)
    return list(rng.integers(0, 256, (3, 40, 50, 3), np.uint8))


def eager(kind: str, model: Model, images: list[Any]) -> tuple[Any, list[Any]]:
    """Output and matrices (batch, heads, tokens, tokens) of each layer, by the slow path."""
    network = make_network(kind, "eager")
    network.load_state_dict(model.network.state_dict())
    pixels = torch.cat([model.prepare(image).pixels for image in images])
    extra = {"interpolate_pos_encoding": True} if kind == "siglip" else {}
    answer = network(pixel_values=pixels, output_attentions=True, **extra)
    return answer, list(answer.attentions)


def on_grid(kind: str, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return rows[..., PREFIX[kind] :].reshape(*rows.shape[:-1], 3, 4)


def start_row(kind: str, tokens: int) -> NDArray[np.float64]:
    return np.eye(tokens)[0] if kind == "dinov2" else np.full(tokens, 1 / tokens)


def matrices(kind: str, model: Model, images: list[Any]) -> list[NDArray[np.float64]]:
    return [layer.detach().double().numpy() for layer in eager(kind, model, images)[1]]


def test_received_attention_is_the_mean_of_the_columns(
    kind: str, model: Model, images: list[Any]
) -> None:
    found = explain(model, images, "mean", heads="all").stack()
    wanted = np.stack([layer.mean(2) for layer in matrices(kind, model, images)], 1)
    np.testing.assert_allclose(found, on_grid(kind, wanted), rtol=0, atol=1e-6)


def lessened(weights: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Weights less a share of the smallest, value by value; equal ones lose the same part."""
    left, found = int(share * weights.size), weights.copy()
    for value in sorted(set(weights.ravel().tolist())):
        tied = weights == value
        lost = min(left, int(tied.sum()))
        found[tied] = value * (1 - lost / tied.sum())
        left -= lost
    return found


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.35, 0.5, 0.89, 0.99])
@pytest.mark.parametrize("values", [1, 2, 5, 10_000])
def test_equal_weights_lose_equal_parts(values: int, share: float) -> None:
    weights = np.random.default_rng(values).integers(0, values, (9, 11)) / values + 0.1
    found = torch.tensor(weights, dtype=torch.float32)
    _drop_least(found, share)
    np.testing.assert_allclose(found, lessened(weights, share), rtol=1e-6, atol=0)
    if values == 10_000:  # none are equal: each is kept as it was, to the last bit, or gone
        order = np.sort(weights.ravel())
        gone = weights < order[int(share * order.size)]
        np.testing.assert_array_equal(found, np.where(gone, 0, weights.astype(np.float32)))


@pytest.mark.parametrize("discard", [0.1, 0.5, 0.9])
def test_rollout_of_uniform_attention_keeps_what_is_not_discarded(
    kind: str, model: Model, images: list[Any], discard: float
) -> None:
    flat = load_model(deepcopy(model.network), size=(64, 48))
    with torch.no_grad():
        for name, value in flat.network.named_parameters():
            if "query" in name or "q_proj" in name:
                value.zero_()
    found = explain(flat, images, "rollout", params={"discard": discard}).stack()
    tokens = 12 + PREFIX[kind]
    share = int(discard * tokens**2) / tokens**2  # of each weight, 1 / tokens
    mixed = (np.full((tokens, tokens), (1 - share) / tokens) + np.eye(tokens)) / (2 - share)
    powers = [np.linalg.matrix_power(mixed, number) for number in (1, 2, 3)]
    wanted = on_grid(kind, np.stack([start_row(kind, tokens) @ power for power in powers]))
    assert wanted.min() > 0
    np.testing.assert_allclose(found, np.broadcast_to(wanted[:, None], found.shape), atol=1e-7)


def rolled(
    kind: str, layers: list[NDArray[np.float64]], fusion: str, discard: float
) -> NDArray[np.float64]:
    """Rollout as the paper writes it: a running product of whole matrices, image by image."""
    tokens = layers[0].shape[-1]
    found = np.zeros((len(layers[0]), len(layers), tokens))
    for image in range(len(layers[0])):
        joint = np.eye(tokens)
        for number, layer in enumerate(layers):
            fused = lessened(getattr(layer[image], fusion)(axis=0), discard)
            mixed = fused + np.eye(tokens)
            joint = mixed / mixed.sum(1, keepdims=True) @ joint
            found[image, number] = start_row(kind, tokens) @ joint
    return found[:, :, None]


@pytest.mark.parametrize("fusion", ["mean", "max", "min"])
@pytest.mark.parametrize("discard", [0.0, 0.4, 0.9])
def test_rollout_is_the_product_of_the_layers(
    kind: str, model: Model, images: list[Any], fusion: str, discard: float
) -> None:
    found = explain(model, images, "rollout", params={"fusion": fusion, "discard": discard})
    wanted = rolled(kind, matrices(kind, model, images), fusion, discard)
    np.testing.assert_allclose(found.stack(), on_grid(kind, wanted), rtol=0, atol=1e-6)


def graded(kind: str, model: Model, images: list[Any]) -> list[NDArray[np.float64]]:
    """The positive part of gradient times attention, by autograd through the slow path."""
    answer, layers = eager(kind, model, images)
    score = answer.logits.max(1).values.sum()
    slopes = torch.autograd.grad(score, layers)
    pairs = zip(slopes, layers, strict=True)
    return [(slope * layer).clamp(min=0).detach().double().numpy() for slope, layer in pairs]


def test_gradient_weighted_attention_equals_autograd(
    kind: str, model: Model, images: list[Any]
) -> None:
    found = explain(model, images, "grad_attention", heads="all").stack()
    tokens = 12 + PREFIX[kind]
    wanted = np.stack(
        [
            np.einsum("q,bhqk->bhk", start_row(kind, tokens), layer)
            for layer in graded(kind, model, images)
        ],
        axis=1,
    )
    scale = wanted.max()
    assert scale > 0
    np.testing.assert_allclose(found / scale, on_grid(kind, wanted) / scale, rtol=0, atol=1e-5)


def test_gradient_rollout_adds_what_each_layer_brings(
    kind: str, model: Model, images: list[Any]
) -> None:
    found = explain(model, images, "grad_rollout")
    assert found.heads == (None,)
    tokens = 12 + PREFIX[kind]
    layers = graded(kind, model, images)
    for image in range(len(images)):
        joint = np.eye(tokens)
        for number, layer in enumerate(layers):
            joint = joint + layer[image].mean(0) @ joint
            wanted = on_grid(kind, start_row(kind, tokens) @ joint)
            np.testing.assert_allclose(found.of(image, number), wanted, rtol=1e-4, atol=1e-7)


def test_the_target_chooses_whose_gradient(model: Model, images: list[Any]) -> None:
    first, second = (explain(model, images, "grad_attention", target=t) for t in (0, "1"))
    assert first.targets == (model.classes[0],) * 3
    assert second.targets == (model.classes[1],) * 3
    assert np.abs(first.stack() - second.stack()).max() > 1e-6


@pytest.mark.parametrize("method", ["mean", "rollout", "grad_attention", "grad_rollout"])
def test_small_blocks_change_nothing(
    monkeypatch: pytest.MonkeyPatch, model: Model, images: list[Any], method: str
) -> None:
    whole = explain(model, images, method).stack()
    for block in (4 * 17 * 5, 4):  # five rows of weights at a time, and one
        monkeypatch.setitem(weights_maps._BLOCK, "cpu", block)
        parts = explain(model, images, method).stack()
        np.testing.assert_allclose(parts, whole, rtol=1e-5, atol=1e-9)


def test_fused_heads_are_the_mean_and_single_heads_keep_their_order(
    model: Model, images: list[Any]
) -> None:
    single = explain(model, images, "mean", heads="all").stack()
    fused = explain(model, images, "mean").stack()
    np.testing.assert_allclose(fused[:, :, 0], single.mean(2), rtol=1e-6)
    some = explain(model, images, "mean", heads=[2, 0], layers=[2, 1])
    assert (some.heads, some.layers) == ((2, 0), (2, 1))
    np.testing.assert_array_equal(some.stack(), single[:, [2, 1]][:, :, [2, 0]])


@pytest.mark.parametrize("method", ["mean", "rollout", "grad_rollout"])
def test_all_layers_come_from_one_pass(model: Model, images: list[Any], method: str) -> None:
    passes = []
    handle = model.network.register_forward_hook(lambda *_: passes.append(1))
    try:
        explain(model, images, method, batch=3)
    finally:
        handle.remove()
    assert len(passes) == 1


@pytest.mark.parametrize("method", ["rollout", "grad_rollout"])
def test_a_lower_layer_does_not_depend_on_those_above(
    model: Model, images: list[Any], method: str
) -> None:
    alone = explain(model, images, method, layers=1).stack()
    among = explain(model, images, method, layers=[2, 1, 0]).stack()
    np.testing.assert_allclose(alone[:, 0], among[:, 1], rtol=1e-5, atol=1e-9)


def test_the_network_keeps_its_fast_attention(
    monkeypatch: pytest.MonkeyPatch, model: Model, images: list[Any]
) -> None:
    seen = []
    fast = torch.nn.functional.scaled_dot_product_attention

    def spy(*args: Any, **kwargs: Any) -> Any:
        seen.append(args[0].shape)
        return fast(*args, **kwargs)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", spy)
    explain(model, images, "mean", batch=3)
    assert len(seen) == 3  # once a layer


class _Weights(TorchDispatchMode):  # type: ignore[misc]
    """Counts the elements of all living tensors that hold rows of attention weights."""

    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.tokens, self.living, self.most = tokens, dict[int, tuple[int, int]](), 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for value in result if isinstance(result, tuple | list) else (result,):
            if isinstance(value, torch.Tensor) and value.shape[-1:] == (self.tokens,):
                if id(value) not in self.living:
                    weakref.finalize(value, self.living.pop, id(value), None)
                store = value.untyped_storage()  # a view takes no memory of its own
                self.living[id(value)] = store.data_ptr(), store.nbytes() // value.element_size()
        self.most = max(self.most, sum(dict(self.living.values()).values()))
        return result


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("cls", {}),
        ("mean", {}),
        ("rollout", {}),
        ("rollout", {"fusion": "max", "discard": 0.5}),
        ("grad_attention", {}),
        ("grad_rollout", {}),
    ],
)
def test_never_more_than_one_layer_of_weights_is_alive(
    method: str, params: dict[str, Any], images: list[Any]
) -> None:
    model, tokens = load_model(make_network("dinov2", "sdpa"), size=288), 18 * 18 + 5
    with _Weights(tokens) as counted:
        explain(model, images[:1], method, params=params, batch=1)
    layer = 4 * tokens * tokens  # four heads
    few = 100 * tokens  # the rows that are multiplied, what they become, the keys
    assert tokens < counted.most <= layer + few
    if method == "cls":
        assert counted.most < layer / 20


@pytest.mark.parametrize("mask", ["bool", "added"])
def test_a_mask_is_never_spread_over_heads_and_images(mask: str) -> None:
    batch, count, tokens = 2, 8, 329
    part = torch.randn(batch, count, tokens, 4, generator=torch.Generator().manual_seed(0))
    given = torch.ones(batch, 1, tokens, tokens, dtype=torch.bool)
    added = torch.zeros(given.shape) if mask == "added" else given
    heads = Heads(part, part, part, 0.5, added, part.transpose(1, 2))
    rows = torch.full((batch, 1, tokens), 1 / tokens)
    with _Weights(tokens) as counted:
        weighted_rows(heads, rows)
    assert counted.most <= batch * count * tokens * tokens


def test_the_count_of_weights_sees_what_the_slow_path_keeps(images: list[Any]) -> None:
    network, tokens = make_network("dinov2", "eager"), 18 * 18 + 5
    pixels = load_model(network, size=288).prepare(images[0]).pixels
    with torch.inference_mode(), _Weights(tokens) as counted:
        network(pixel_values=pixels, output_attentions=True)
    assert counted.most >= 3 * 4 * tokens * tokens  # three layers


@pytest.mark.parametrize("mask", ["none", "added", "bool"])
@pytest.mark.parametrize("with_gradient", [False, True])
def test_weighted_rows_equal_whole_matrices(mask: str, with_gradient: bool) -> None:
    rng = torch.Generator().manual_seed(0)
    query, key, value, slope = (
        torch.randn(2, 3, 7, 4, generator=rng, dtype=torch.float32) for _ in range(4)
    )
    rows = torch.randn(2, 5, 7, generator=rng)
    rows[:, :, :2] = 0
    kept = torch.rand(2, 1, 7, 7, generator=rng) < 0.7
    kept[..., 0] = True
    added = torch.zeros(kept.shape).masked_fill(~kept, -torch.inf)
    given = {"none": None, "added": added, "bool": kept}[mask]
    scores = query.double() @ key.double().mT * 0.3
    weights = (scores + (0 if mask == "none" else added)).softmax(-1)
    if with_gradient:
        weights = (weights * (slope.double() @ value.double().mT)).clamp(min=0)
    heads = Heads(query, key, value, 0.3, given, query.transpose(1, 2))
    found = weighted_rows(heads, rows, slope if with_gradient else None)
    torch.testing.assert_close(
        found.double(), rows[:, None].double() @ weights, rtol=1e-5, atol=1e-6
    )


def test_rows_of_zeros_give_zeros() -> None:
    part = torch.ones(1, 2, 3, 4)
    found = weighted_rows(Heads(part, part, part, 1.0, None, part), torch.zeros(1, 1, 3))
    assert not found.any()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"fusion": "sum"}, "fusion must be mean, max or min, got 'sum'"),
        ({"discard": 1}, "discard must be a share from 0 to below 1, got 1"),
        ({"discard": "half"}, "discard must be a share from 0 to below 1, got 'half'"),
        ({"discard": True}, "discard must be a share from 0 to below 1, got True"),
    ],
)
def test_wrong_parameters_are_named(
    model: Model, images: list[Any], params: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        explain(model, images, "rollout", params=params)


def test_half_precision_gives_weights_in_single(images: list[Any]) -> None:
    network = make_network("dinov2", "sdpa")
    exact = explain(load_model(deepcopy(network)), images, "cls").stack()
    half = explain(load_model(network.bfloat16()), images, "cls").stack()
    assert half.dtype == np.float32
    assert 0 < np.abs(half - exact).max() < 0.05


def test_eager_networks_are_seen_too(images: list[Any]) -> None:
    fast = explain(load_model(make_network("dinov2", "sdpa")), images, "cls").stack()
    network = make_network("dinov2", "eager")
    slow = explain(load_model(network), images, "cls").stack()
    np.testing.assert_allclose(slow, fast, rtol=0, atol=1e-6)
    assert network.config._attn_implementation == "eager"


def test_cls_names_the_methods_that_work_without_a_class_token(images: list[Any]) -> None:
    model = load_model(make_network("siglip", "sdpa"))
    with pytest.raises(InputError, match=r"needs class token.*'mean', 'pool'"):
        explain(model, images, "cls")
