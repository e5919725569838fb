"""Networks are left as they were found."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import nn
from transformers.modeling_outputs import BaseModelOutput

from sightline.attribution.methods import explain
from sightline.models import Description, Preprocess, hooks, load_model
from sightline.models.attention import _WATCHED, seen_attention
from sightline.models.hooks import (
    calls,
    edited,
    first_tensor,
    functions,
    outputs,
    running,
    undisturbed,
)
from tests.models.families import tiny

if TYPE_CHECKING:
    from collections.abc import Callable

IMAGE = np.random.default_rng(0).integers(0, 256, (64, 64, 3)).astype(np.uint8)


class WrongError(Exception):
    pass


def mixed_network() -> nn.Module:
    """Modes, frozen parameters and gradients as a training run may leave them."""
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Linear(4, 4), nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(0.5)), nn.Linear(4, 2)
    )
    network[0].eval()
    network[1][0].eval()
    network[2].weight.requires_grad_(False)
    network(torch.randn(3, 4)).sum().backward()
    network[0].bias.grad = None
    return network


def state(network: nn.Module) -> list[Any]:
    """What must not change; gradients by identity and by value."""
    parameters = list(network.parameters())
    return [
        [module.training for module in network.modules()],
        [p.requires_grad for p in parameters],
        [id(p.grad) for p in parameters],
        [None if p.grad is None else p.grad.tolist() for p in parameters],
        [value.tolist() for value in network.state_dict().values()],
        torch.get_rng_state().tolist(),
        [len(m._forward_hooks) + len(m._forward_pre_hooks) for m in network.modules()],
    ]


def test_everything_is_restored() -> None:
    network = mixed_network()
    before = state(network)
    with undisturbed(network):
        assert not any(module.training for module in network.modules())
        assert not any(p.requires_grad for p in network.parameters())
        network(torch.randn(3, 4))
        torch.rand(5)
        network[2].bias.grad = torch.ones(2)
        network[0].weight.requires_grad_(True)
        network.train()
    assert state(network) == before
    assert len(set(before[0])) == 2
    assert len(set(before[1])) == 2


def test_everything_is_restored_after_an_exception() -> None:
    network = mixed_network()
    before = state(network)

    def fail() -> None:
        with undisturbed(network), outputs(network.modules()):
            torch.rand(5)
            raise WrongError

    with pytest.raises(WrongError):
        fail()
    assert state(network) == before


def test_nested_and_side_by_side() -> None:
    one, other = mixed_network(), mixed_network()
    before = state(one), state(other)
    with undisturbed(one):
        with undisturbed(other), undisturbed(one):
            torch.rand(1)
        assert not any(module.training for module in one.modules())
        assert state(other) == before[1]
    assert (state(one), state(other)) == before


def test_outputs_are_those_of_the_last_call() -> None:
    network = nn.Linear(2, 2)
    with outputs([network]) as seen:
        network(torch.zeros(1, 2))
        last = network(torch.ones(1, 2))
    assert seen[network] is last
    network(torch.full((1, 2), 2.0))
    assert seen[network] is last


def test_calls_are_seen_before_and_after_also_of_one_that_fails() -> None:
    class Fails(nn.Module):  # type: ignore[misc]
        def forward(self, pixels: Any) -> Any:
            raise WrongError

    told: list[str] = []
    network = Fails()

    def see(_: Any, arguments: tuple[Any, ...]) -> None:
        told.append(f"before {arguments[0]}")

    with calls([network], see, lambda _: told.append("after")), pytest.raises(WrongError):
        network(3)
    assert told == ["before 3", "after"]
    assert not network._forward_hooks
    assert not network._forward_pre_hooks


def test_first_tensor() -> None:
    tensor = torch.zeros(1)
    output = type("Output", (), {"last_hidden_state": (tensor, 2)})
    assert first_tensor(tensor) is tensor
    assert first_tensor([[tensor, 1], 2]) is tensor
    assert first_tensor(output) is tensor


class _Pair(NamedTuple):
    first: torch.Tensor
    second: int


class _Giver(nn.Module):  # type: ignore[misc]
    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def forward(self) -> Any:
        return self.answer


@pytest.mark.parametrize(
    "wrap",
    [
        lambda tensor: tensor,
        lambda tensor: (tensor, 2),
        lambda tensor: [(tensor, 1), 2],
        lambda tensor: _Pair(tensor, 2),
        lambda tensor: BaseModelOutput(last_hidden_state=tensor, hidden_states=(tensor,)),
    ],
)
def test_edited_changes_the_first_tensor_and_nothing_else(wrap: Any) -> None:
    tensor = torch.zeros(2)
    module = _Giver(wrap(tensor))
    with edited(module, lambda value: value + 1):
        found = module()
    assert first_tensor(found).tolist() == [1, 1]
    assert type(found) is type(module.answer)
    if not isinstance(found, torch.Tensor):
        assert found[1] is module.answer[1]
    assert first_tensor(module()) is tensor
    assert not module._forward_hooks


def test_edited_goes_when_something_fails() -> None:
    module = nn.Identity()

    def fail(value: Any) -> Any:
        raise WrongError

    with pytest.raises(WrongError), edited(module, fail):
        module(torch.zeros(1))
    assert not module._forward_hooks


def failing(network: Any, after: int) -> Callable[[], None]:
    """Make the last layer fail at a call; return what undoes it."""
    layer, count = network.layers[-1], [0]
    plain = layer.forward

    def forward(*arguments: Any, **options: Any) -> Any:
        count[0] += 1
        if count[0] > after:
            raise WrongError
        return plain(*arguments, **options)

    layer.forward = forward

    def undo() -> None:
        del layer.forward

    return undo


@pytest.mark.parametrize("method", ["cls", "rollout", "grad_attention"])
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
def test_attention_leaves_nothing_behind(method: str, attention: str) -> None:
    network = tiny("ViTForImageClassification", attention)
    network.train()
    network.vit.layers[0].eval()
    network.classifier.weight.requires_grad_(False)
    model = load_model(network)
    before, config = state(network), network.config.to_dict()
    expected = explain(model, IMAGE, method)
    assert state(network) == before
    assert network.config.to_dict() == config
    assert network.config._attn_implementation == attention
    undo = failing(network.vit, after=1)
    with pytest.raises(WrongError):
        explain(model, [IMAGE, IMAGE], method, batch=1)
    undo()
    assert state(network) == before
    assert network.config._attn_implementation == attention
    assert not _WATCHED
    again = explain(model, IMAGE, method)
    np.testing.assert_array_equal(again.stack(), expected.stack())


def test_two_models_at_once_and_one_inside_itself() -> None:
    first, second = load_model(tiny("ViTModel")), load_model(tiny("Dinov2Model"))
    pixels = first.prepare(IMAGE).pixels
    told: list[str] = []

    def tell(who: str) -> Callable[[int, Any], None]:
        return lambda layer, _: told.append(f"{who}{layer}")

    with torch.no_grad(), seen_attention(first, tell("a")):
        with seen_attention(second, tell("b")):
            second(pixels)
            first(pixels)
        with seen_attention(first, tell("c")):
            first(pixels)
        first(pixels)
        second(pixels)
    first(pixels)
    assert told == ["b0", "b1", "b2", "a0", "a1", "a2", "c0", "c1", "c2", "a0", "a1", "a2"]
    assert not _WATCHED
    assert first.network.config._attn_implementation == "sdpa"


def test_a_network_that_shares_the_configuration_runs_as_ever() -> None:
    import transformers

    watched = tiny("ViTModel")
    other = transformers.ViTModel(watched.config).eval()
    model = load_model(watched)
    pixels = model.prepare(IMAGE).pixels
    with torch.no_grad():
        expected = other(pixels).last_hidden_state
        with seen_attention(model, lambda *_: None):
            found = other(pixels).last_hidden_state
    assert torch.equal(found, expected)


def test_explain_without_gradients_makes_no_graph() -> None:
    network = tiny("ViTModel")
    network(torch.zeros(1, 3, 64, 64)).last_hidden_state.sum().backward()
    before = state(network)
    model = load_model(network)
    features = model.features(IMAGE)[0]
    explain(model, IMAGE, "mean")
    assert not features.requires_grad
    assert not features.is_inference()  # else it could not be trained upon
    assert state(network) == before


def test_threads_take_turns_with_a_network() -> None:
    model = load_model(tiny("ViTForImageClassification"))
    model.network.train()
    image = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    alone = explain(model, image, "gradcam").stack()
    found: list[Any] = []

    def work() -> None:
        found.extend(explain(model, image, "gradcam").stack() for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 15
    assert all(np.array_equal(one, alone) for one in found)
    assert all(p.requires_grad for p in model.network.parameters())
    assert model.network.training


def test_convolutions_are_exact_while_any_thread_needs_it() -> None:
    flags = torch.backends.cudnn
    before = (flags.deterministic, flags.allow_tf32)
    first, second = hooks._exact(True), hooks._exact(True)
    first.__enter__()
    second.__enter__()
    assert (flags.deterministic, flags.allow_tf32) == (True, False)
    first.__exit__(None, None, None)  # the first to come is the first to go
    assert (flags.deterministic, flags.allow_tf32) == (True, False)
    second.__exit__(None, None, None)
    assert (flags.deterministic, flags.allow_tf32) == before
    with hooks._exact(False):
        assert (flags.deterministic, flags.allow_tf32) == before


class Caching(nn.Module):  # type: ignore[misc]
    """Keeps a tensor from its first pass."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head, self.scale = nn.Conv2d(3, 4, 8, 8), nn.Linear(4, 2), None

    def forward(self, pixels: Any) -> Any:
        if self.scale is None:
            self.scale = torch.ones(4, 1, 1) * 0.5
        return self.head((self.conv(pixels) * self.scale).mean((2, 3)))


def test_what_a_network_keeps_from_a_pass_serves_later_ones() -> None:
    network = Caching()
    model = load_model(network, Description(["conv"], Preprocess(size=(32, 32)), 8, 2))
    image = np.zeros((32, 32, 3), np.uint8)
    model.logits(image)
    explain(model, [image, image], "edge")
    network.scale = None
    explain(model, image, "saliency")  # counts memory first, without gradients
    network(torch.ones(1, 3, 32, 32)).sum().backward()
    assert network.conv.weight.grad is not None


class Attending(nn.Module):  # type: ignore[misc]
    """One layer of attention over 16 patches, with a table kept from its first pass."""

    def __init__(self) -> None:
        super().__init__()
        self.table: Any = None

    def forward(self, tokens: Any) -> Any:
        if self.table is None:
            self.table = torch.linspace(0, 1, tokens.shape[1])[:, None] + 1
        heads = (tokens * self.table)[:, None]
        return torch.nn.functional.scaled_dot_product_attention(heads, heads, heads)[:, 0]


class Small(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.layer, self.head = nn.Conv2d(3, 4, 8, 8), Attending(), nn.Linear(4, 2)

    def forward(self, pixels: Any) -> Any:
        tokens = self.conv(pixels).flatten(2).transpose(1, 2)
        return self.head(self.layer(tokens).mean(1))


@pytest.mark.parametrize("batch", [None, 1])
def test_attention_leaves_a_network_fit_for_gradients(batch: int | None) -> None:
    network = Small()
    described = Description(["layer"], Preprocess(size=(32, 32)), 8, 2, heads=1)
    model, image = load_model(network, described), np.zeros((32, 32, 3), np.uint8)
    explain(model, image, "mean", batch=batch)
    assert network.layer.table is not None
    explain(model, image, "gradcam", batch=batch)
    network(torch.ones(1, 3, 32, 32)).sum().backward()
    assert network.conv.weight.grad is not None


class _Named(nn.Module):  # type: ignore[misc]
    """Takes what it doubles by position or by name, and something else beside."""

    def forward(self, value: Any = 1, *, plus: int = 0) -> Any:
        return 2 * value + plus


def test_something_else_runs_for_a_module() -> None:
    module, seen = _Named(), []

    def run(which: nn.Module, forward: Any, value: Any) -> Any:
        seen.append((which, value))
        return forward(value + 10)

    with running([module, module], run):  # once, though named twice
        assert module(3) == 26
        assert module(3, plus=1) == 27
        assert module(value=4, plus=1) == 29
        assert module() == 2  # there is no value to change
    assert seen == [(module, 3), (module, 3), (module, 4)]
    assert module(3) == 6
    assert "forward" not in vars(module)


def test_functions_are_seen_however_they_are_called() -> None:
    seen: list[str] = []
    value = torch.tensor([-1.0, 2.0])
    with functions(seen.append):
        found = [nn.ReLU()(value), torch.relu(value), value.relu(), value.clone().relu_()]
    torch.relu(value)  # nobody looks any more
    assert [name for name in seen if name.startswith("relu")] == ["relu", "relu", "relu", "relu_"]
    assert all(one.tolist() == [0, 2] for one in found)


def test_what_ran_for_a_module_before_runs_again() -> None:
    module: Any = _Named()
    module.forward = lambda value: -value

    def fail(*_: Any) -> None:
        raise WrongError

    with running([module], lambda *_: 5):
        assert module(3) == 5
    with running([module], fail), pytest.raises(WrongError):
        module(3)
    assert module(3) == -3
