"""Random weights in place of trained ones, for as long as a `with` lasts.

Every tensor of a stage is drawn anew as its kind of layer begins its training:

=====================================  ==========================================================
linear layers and convolutions         weights and biases uniform within ±1/√(inputs of a unit)
norms of any kind                      weight 1, bias 0; running mean 0, variance 1, counter 0
attention of torch                     in-projections Xavier uniform, their biases 0
embeddings, tokens, registers,         normal, standard deviation 0.02: as vision transformers
positions, position bias tables        begin
scales of layers                       the constant that the configuration says, else 1
prototypes                             uniform from 0 to 1
global response norm                   0
any other parameter                    biases 0; other vectors and single numbers normal, standard
                                       deviation 0.02; matrices as linear layers
other buffers of real numbers          their own values, shuffled; a constant one stays
=====================================  ==========================================================

What is structure stays: whole numbers and truth values (indices of positions), buffers that are
computed and not saved with the network (frequencies of rotary positions), and buffers of real
numbers that are constant. `structure` names them all.

Each tensor has a stream of random numbers of its own, which follows from its name and the seed
alone: the same tensor gets the same values in every order of stages. They are drawn on the CPU.
"""

from __future__ import annotations

from contextlib import contextmanager
from hashlib import sha256
from math import prod, sqrt
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from sightline.attribution.sanity.stages import all_tensors
from sightline.core import InputError
from sightline.models.hooks import undisturbed
from sightline.models.prototypes import PrototypeNetwork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from torch import Generator, Tensor

    from sightline.attribution.sanity.stages import Stage
    from sightline.models import Model

__all__ = ["redrawing", "redrawn", "structure"]

# Of tokens and positions, at the beginning of a vision transformer's training.
SPREAD = 0.02
_DENSE = (
    *(nn.Linear, nn.Bilinear, nn.Conv1d, nn.Conv2d, nn.Conv3d),
    *(nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d),
)
# What norms begin with, by the name of the tensor.
_NORM = {
    **dict.fromkeys(("weight", "running_var"), 1.0),
    **dict.fromkeys(("bias", "running_mean", "num_batches_tracked"), 0.0),
}
# Parts of the names of parameters that lie in no layer of torch.
_TOKENS = ("token", "embed", "pos", "cls", "class", "register", "reg_", "probe", "query", "table")
_SCALES = ("gamma", "lambda", "scale")
# How configurations call what scales of layers begin with.
_SCALE_SETTINGS = ("layerscale_value", "layer_scale_init_value", "layer_scale_initial_value")


@contextmanager
def redrawn(model: Model, stages: Iterable[Stage], seed: int) -> Iterator[None]:
    """Replace what a model learnt in some stages by random numbers; then restore it exactly.

    Other threads wait for the network meanwhile. It is restored also after an exception.

    Parameters
    ----------
    model : Model
        The trained model; its network is changed in place.
    stages : iterable of Stage
        Of `stages_of`.
    seed : int
        Other seeds draw other numbers.

    Raises
    ------
    InputError
        If a stage is not one of this network, or has weights that cannot be drawn.

    Examples
    --------
    >>> from sightline import load_model
    >>> from sightline.attribution.sanity.stages import stages_of
    >>> model = load_model("demo/cnn")
    >>> before = model.digest
    >>> with redrawn(model, stages_of(model)[:1], seed=0):
    ...     print(model.digest == before)
    False
    >>> model.digest == before
    True
    """
    with redrawing(model, seed) as draw:
        draw(stages)
        yield


@contextmanager
def redrawing(model: Model, seed: int) -> Iterator[Callable[[Iterable[Stage]], None]]:
    """Yield what draws some stages of a model anew, and gives all others back what they learnt.

    `redrawn` for one group of stages after another: what two that follow each other share is
    drawn once.

    Parameters
    ----------
    model, seed
        As in `redrawn`.

    Examples
    --------
    >>> from sightline import load_model
    >>> from sightline.attribution.sanity.stages import stages_of
    >>> model = load_model("demo/cnn")
    >>> stages, before = stages_of(model), model.digest
    >>> with redrawing(model, seed=0) as draw:
    ...     for some in (stages[:1], stages[:2], ()):
    ...         draw(some)
    ...         print(model.digest == before)
    False
    False
    True
    """
    with undisturbed(model.network):
        weights = _Weights(model, seed)
        try:
            yield weights.draw
        finally:
            weights.draw(())


class _Weights:
    """The weights of a network, some of them drawn anew."""

    def __init__(self, model: Model, seed: int) -> None:
        network = model.network
        self.model, self.seed = model, seed
        self.kept, self.tensors = structure(network), all_tensors(network)
        self.scale = _first_scale(network)
        self.before: dict[str, Tensor] = {}

    def draw(self, stages: Iterable[Stage]) -> None:
        """Have these stages drawn anew, and no others."""
        wanted = {name: None for one in stages for name in one.tensors if name not in self.kept}
        for name in wanted:
            _check(self.model, name, self.tensors)
        with torch.no_grad():
            # The last first: tensors may share their memory.
            for name in [name for name in self.before if name not in wanted][::-1]:
                self.tensors[name].copy_(self.before.pop(name))
            new = [name for name in wanted if name not in self.before]
            self.before |= {name: self.tensors[name].detach().clone() for name in new}
            for name in new:
                module, last = _place(self.model.network, name)
                source = _source(name, self.seed)
                values = _drawn(module, last, self.before[name], source, self.scale)
                self.tensors[name].copy_(values)


def structure(network: nn.Module) -> dict[str, str]:
    """Return the tensors of a network that are no weights, each with the reason.

    Examples
    --------
    >>> from torch import nn
    >>> network = nn.Sequential(nn.Linear(2, 2))
    >>> network.register_buffer("position_ids", torch.arange(4))
    >>> structure(network)
    {'position_ids': 'whole numbers'}
    """
    found = {}
    for name in all_tensors(network):
        reason = _why_kept(*_place(network, name))
        if reason:
            found[name] = reason
    return found


def _why_kept(module: nn.Module, name: str) -> str:
    """Return why a tensor is no weight; "" for one that is."""
    if name in module._parameters or (_is_norm(module) and name in _NORM):
        return ""
    tensor = module._buffers[name]
    if not tensor.is_floating_point():
        return "whole numbers"
    if name in module._non_persistent_buffers_set:
        return "computed, not saved"
    flat = tensor.detach().flatten()
    return "constant" if not flat.numel() or bool((flat == flat[0]).all()) else ""


def _place(network: nn.Module, name: str) -> tuple[nn.Module, str]:
    """Return the module that holds a tensor, and what it calls it."""
    path, _, last = name.rpartition(".")
    return network.get_submodule(path), last


def _check(model: Model, name: str, tensors: dict[str, Tensor]) -> None:
    if name not in tensors:
        raise InputError(f"{model.name} has no tensor {name!r}: is the stage of another model?")
    norm = _is_norm(_place(model.network, name)[0])
    if not tensors[name].is_floating_point() and not norm:
        seen = str(tensors[name].dtype).removeprefix("torch.")
        raise InputError(
            f"{model.name}: weights must be real numbers to be drawn, {name} is {seen}"
        )


def _drawn(module: nn.Module, name: str, tensor: Tensor, source: Generator, scale: float) -> Tensor:
    """Return new values of a tensor that a module calls by a name, on the CPU."""
    if _is_norm(module) and name in _NORM:
        return torch.full(tensor.shape, _NORM[name])
    if name in module._buffers:
        shuffled = torch.randperm(tensor.numel(), generator=source)
        return tensor.detach().cpu().flatten()[shuffled].reshape(tensor.shape)
    if isinstance(module, _DENSE) and name in ("weight", "bias"):
        return _uniform(tensor, 1 / sqrt(max(_inputs(module), 1)), source)
    if isinstance(module, nn.MultiheadAttention):
        return _attention(tensor, name, source)
    if isinstance(module, nn.Embedding):
        return _normal(tensor, source)
    return _other(module, name, tensor, source, scale)


def _source(name: str, seed: int) -> Generator:
    """Return the random numbers of one tensor under a seed."""
    digits = sha256(f"{seed} {name}".encode()).digest()[:8]
    return torch.Generator().manual_seed(int.from_bytes(digits, "big") >> 1)


def _is_norm(module: nn.Module) -> bool:
    return "norm" in type(module).__name__.lower() and not _is_response_norm(module)


def _is_response_norm(module: nn.Module) -> bool:
    """Return whether a module is a global response norm, which begins as nothing."""
    return any(name in type(module).__name__ for name in ("GRN", "ResponseNorm"))


def _inputs(module: nn.Module) -> int:
    """Return how many numbers each unit of a layer adds up."""
    weight: Any = module.weight
    return prod(weight.shape[1:])


def _attention(tensor: Tensor, name: str, source: Generator) -> Tensor:
    if name == "in_proj_bias":
        return torch.zeros(tensor.shape)
    found = torch.empty(tensor.shape)
    matrix = found.flatten(0, -2)  # biases of keys and values are (1, 1, width)
    nn.init.xavier_uniform_(matrix, generator=source)
    return found


def _other(module: nn.Module, name: str, tensor: Tensor, source: Generator, scale: float) -> Tensor:
    """Return new values of a parameter that lies in no layer of torch, by its name and shape."""
    if isinstance(module, PrototypeNetwork):
        return torch.rand(tensor.shape, generator=source)
    if _is_response_norm(module):
        return torch.zeros(tensor.shape)
    if name.endswith("bias"):
        return torch.zeros(tensor.shape)
    if any(part in name for part in _TOKENS):
        return _normal(tensor, source)
    if any(part in name for part in _SCALES):
        said = getattr(module, "init_values", None)
        return torch.full(tensor.shape, said if isinstance(said, int | float) else scale)
    wide = [side for side in tensor.shape if side > 1]
    if len(wide) < 2:
        return _normal(tensor, source)
    return _uniform(tensor, 1 / sqrt(prod(tensor.shape[1:])), source)


def _first_scale(network: nn.Module) -> float:
    """Return what scales of layers begin with, as the configuration says."""
    configs: Sequence[Any] = [getattr(part, "config", None) for part in network.modules()]
    said = [getattr(config, name, None) for config in configs for name in _SCALE_SETTINGS]
    return next((float(one) for one in said if isinstance(one, int | float)), 1.0)


def _uniform(tensor: Tensor, reach: float, source: Generator) -> Tensor:
    return torch.empty(tensor.shape).uniform_(-reach, reach, generator=source)


def _normal(tensor: Tensor, source: Generator) -> Tensor:
    return torch.empty(tensor.shape).normal_(0, SPREAD, generator=source)
