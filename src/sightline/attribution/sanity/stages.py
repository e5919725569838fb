"""Stages: the parts of a network from its output to its input, each tensor in exactly one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from sightline.models.hooks import first_tensor, outputs, undisturbed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from torch import Tensor, nn

    from sightline.models import Model

__all__ = ["Stage", "all_tensors", "stages_of"]

HEAD, EMBEDDING, WHOLE = "head", "embedding", "network"


@dataclass(frozen=True)
class Stage:
    """A part of a network that is randomised at once.

    Attributes
    ----------
    name : str
        "head", "layer11", …, "layer0", "embedding".
    tensors : tuple of str
        Names of its parameters and buffers, as the network calls them.
    """

    name: str
    tensors: tuple[str, ...]


def all_tensors(network: nn.Module) -> dict[str, Tensor]:
    """Return every parameter and buffer of a network by name; one that is shared, once.

    Buffers that are not saved with the network are among them.
    """
    found: dict[str, Tensor] = {}
    met: set[int] = set()
    for place, module in network.named_modules():
        own = (*module.named_parameters("", False), *module.named_buffers("", False))
        for name, tensor in own:
            if id(tensor) not in met:
                met.add(id(tensor))
                found[f"{place}.{name}" if place else name] = tensor
    return found


def stages_of(model: Model) -> tuple[Stage, ...]:
    """Return the stages of a model, from output to input.

    A layer's stage is what its output depends on and no earlier layer's does: the layer itself
    and what stands between it and the layer before. The head is all that comes after the last
    layer, the embedding what comes before the first. Which tensors a layer depends on is read from
    the graph of one forward pass; what the pass does not use (a mask token, a text part) goes
    where its module does, or by the order in which the network lists it. A model without layers is
    one stage, "network". Stages without tensors are left out.

    Examples
    --------
    >>> from sightline import load_model
    >>> stages = stages_of(load_model("demo/cnn"))
    >>> [stage.name for stage in stages]
    ['head', 'layer3', 'layer2', 'layer1', 'layer0', 'embedding']
    >>> stages[0].tensors
    ('classifier.1.weight', 'classifier.1.bias')
    """
    tensors = all_tensors(model.network)
    if not model.layers:
        return (Stage(WHOLE, tuple(tensors)),)
    places = _places(model, tensors)
    count = len(model.layers)
    names = [EMBEDDING, *(f"layer{number}" for number in range(count)), HEAD]
    found = [
        Stage(name, tuple(tensor for tensor in tensors if places[tensor] == place))
        for place, name in enumerate(names)
    ]
    return tuple(stage for stage in reversed(found) if stage.tensors)


def _places(model: Model, tensors: Mapping[str, Tensor]) -> dict[str, int]:
    """Return the place of each tensor: 0 before the first layer, from 1 the layers, then after."""
    inside = _inside(model)
    used = _used(model)
    modules = _module_places(model, tensors, inside, used)
    found = {}
    for name, tensor in tensors.items():
        if id(tensor) in used:
            found[name] = used[id(tensor)]
            if found[name] == 1 and id(tensor) not in inside:
                found[name] = 0  # the first layer depends on the embedding, too
        else:
            found[name] = inside.get(id(tensor), modules[_owner(name)])
    return found


def _inside(model: Model) -> dict[int, int]:
    """Return the place of every tensor that lies in a layer, by its identity."""
    found: dict[int, int] = {}
    for number, layer in enumerate(model.layers):
        for tensor in all_tensors(layer).values():
            found.setdefault(id(tensor), number + 1)
    return found


def _module_places(
    model: Model, tensors: Mapping[str, Tensor], inside: Mapping[int, int], used: Mapping[int, int]
) -> dict[str, int]:
    """Return where tensors go that the pass does not use, by the name of their module.

    As the other tensors of the same module do; else to the embedding if the network lists the
    module before its first layer, and to the head if after.
    """
    found: dict[str, int] = {}
    place = 0
    for name, tensor in tensors.items():
        owner = _owner(name)
        if id(tensor) in inside:
            place = len(model.layers) + 1
        found.setdefault(owner, place)
    for name, tensor in tensors.items():
        if id(tensor) in used and id(tensor) not in inside:
            found[_owner(name)] = used[id(tensor)] - (used[id(tensor)] == 1)
    return found


def _owner(name: str) -> str:
    return name.rpartition(".")[0]


def _used(model: Model) -> dict[int, int]:
    """Return the first place whose output depends on a parameter, by its identity."""
    network = model.network
    found: dict[int, int] = {}
    with undisturbed(network), torch.inference_mode(False), torch.enable_grad():
        for parameter in network.parameters():
            parameter.requires_grad_(parameter.is_floating_point())
        with outputs(model.layers) as seen:
            last = model(_plain_input(model))
        layers = [[first_tensor(seen[one])] if one in seen else [] for one in model.layers]
        after = [*last[:3], *(last.detections or ())]
        for number, results in enumerate([*layers, after], 1):
            for parameter in _leaves(results):
                found.setdefault(id(parameter), number)
    return found


def _plain_input(model: Model) -> Tensor:
    """Return one grey image as the network takes it."""
    width, height = model.preprocess.geometry(256, 256, model.patch).size
    return torch.zeros(1, 3, height, width, device=model.device, dtype=model.dtype)


def _leaves(results: Sequence[Any]) -> Iterator[Tensor]:
    """Yield the parameters in the graph behind results."""
    waiting = [one.grad_fn for one in results if isinstance(one, torch.Tensor)]
    met: set[Any] = set()
    while waiting:
        node = waiting.pop()
        if node is None or node in met:
            continue
        met.add(node)
        if hasattr(node, "variable"):
            yield node.variable
        waiting.extend(following for following, _ in node.next_functions)
