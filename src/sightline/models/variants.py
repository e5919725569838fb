"""Variants of a model: a base, what fine-tuning changed in it, and a classifier on top."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import nn

from sightline.core import InputError
from sightline.models.recipes import RECIPE, Recipe, read_recipe

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from os import PathLike

    from torch import Tensor

    from sightline.models.model import Model, Output

__all__ = [
    "ADAPTER",
    "DELTA",
    "HEAD",
    "Variant",
    "add_head",
    "load_variant",
    "place_weights",
    "recipes_of",
    "weight_digests",
    "weights_digest",
]

HEAD, DELTA = "head.safetensors", "delta.safetensors"
ADAPTER = ("adapter_config.json", "adapter_model.safetensors")
_PREFIX = "base_model.model."  # before the names of modules in files of peft
# What a configuration of peft may hold beside the plain product of two matrices.
_BEYOND = (
    *("use_dora", "use_rslora", "rank_pattern", "alpha_pattern"),
    *("modules_to_save", "fan_in_fan_out"),
)


class Variant(nn.Module):  # type: ignore[misc]
    """A network with a linear classifier on its embedding.

    Attributes
    ----------
    trunk : nn.Module
        The network of the base, changed or not.
    head : nn.Linear
        The classifier.
    base : Model
        How the trunk is called; it holds no network of its own.
    recipe : Recipe or None
        How it was trained.
    """

    def __init__(
        self, trunk: nn.Module, head: nn.Linear, base: Model, recipe: Recipe | None = None
    ) -> None:
        super().__init__()
        self.trunk, self.head, self.recipe = trunk, head, recipe
        self.base = replace(base, network=nn.Identity(), layers=(), cam_layers=(), pool=None)

    def forward(self, pixels: Tensor) -> Output:
        """Return what the trunk says of images, with the logits of the classifier."""
        output = replace(self.base, network=self.trunk)(pixels)
        embedding: Any = output.embedding
        if embedding.shape[1] != self.head.in_features:
            seen = f"{self.base.name} has {embedding.shape[1]}"
            raise InputError(f"the classifier takes {self.head.in_features} channels; {seen}")
        logits = self.head(embedding.to(self.head.weight.dtype))
        return output._replace(logits=logits, detections=None)


def _run(network: nn.Module, pixels: Tensor) -> Output:
    output: Output = network(pixels)
    return output


def add_head(
    base: Model,
    head: nn.Linear,
    classes: Sequence[str],
    name: str,
    recipe: Recipe | None = None,
) -> Model:
    """Return a model with a linear classifier on its embedding; it shares the network."""
    return replace(
        base,
        name=name,
        network=Variant(base.network, head.to(base.device), base, recipe).eval(),
        forward=_run,
        classes=tuple(classes),
        detects=(),
    )


def recipes_of(network: nn.Module) -> Iterator[Recipe]:
    """Yield how a network was trained, if it is a variant, and how those below it were."""
    while isinstance(network, Variant):
        if network.recipe is not None:
            yield network.recipe
        network = network.trunk


def weight_digests(network: nn.Module) -> dict[str, str]:
    """Return 16 hex digits over the shape and the values of each weight, by its name.

    Numbers that are whole (counters) are no weights.
    """
    found = {}
    for name, value in network.state_dict().items():
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            plain = value.detach().float().cpu().contiguous()
            total = sha256(f"{tuple(plain.shape)} ".encode())
            total.update(plain.numpy().tobytes())
            found[name] = total.hexdigest()[:16]
    return found


def weights_digest(network: nn.Module) -> str:
    """Return 16 hex digits over the values of all weights, whatever they are called.

    Versions of a library may give the same weight different names.
    """
    return _whole(weight_digests(network))


def _whole(digests: Mapping[str, str]) -> str:
    return sha256(" ".join(sorted(digests.values())).encode()).hexdigest()[:16]


def load_variant(base: Model, folder: str | PathLike[str], *, name: str | None = None) -> Model:
    """Return the variant of a model that `finetune` wrote to a folder.

    What was trained is merged into a copy of the base's weights, so that layers, attention and
    gradients are found as in any model.

    Parameters
    ----------
    base : Model
        The model that the variant began from, as it was then.
    folder : path
        Where the variant lies.
    name : str, optional
        How it is called in results; "base@folder" unless given.

    Raises
    ------
    InputError
        If a file is missing or broken, or the base has other weights.
    """
    folder = Path(folder)
    recipe = read_recipe(folder)
    digests = weight_digests(base.network)
    if _whole(digests) != recipe.digest:
        raise InputError(
            f"{folder}: was trained from {recipe.base} with weights {recipe.digest}; "
            f"{base.name} has weights {_whole(digests)}"
        )
    head, base = _read_head(folder, len(recipe.classes)), deepcopy(base)
    changes = {"lora": _adapter_changes, "full": _delta_changes}.get(recipe.strategy)
    if changes is not None:
        weights = base.network.state_dict()
        places = place_weights(recipe.weights, digests, folder)
        found = {name: weights[place] for name, place in places.items()}
        _add(found, changes(folder, {key: tuple(one.shape) for key, one in found.items()}), folder)
    name = name or f"{base.name}@{folder}"
    try:
        base = base.fitted(fit=recipe.input["fit"], size=recipe.input["size"])
    except InputError as error:
        raise InputError(f"{folder}: {RECIPE}: {error}") from error
    return add_head(base, head, recipe.classes, name, recipe)


def place_weights(
    known: Mapping[str, str], digests: Mapping[str, str], folder: Path
) -> dict[str, str]:
    """Return what weights of a recipe are called here, by their names there.

    Parameters
    ----------
    known, digests : mapping of str to str
        Digests of weights by name, in the recipe and in the base as it is loaded here.
    folder : Path
        Where the recipe lies.

    Raises
    ------
    InputError
        If a weight has another name here, and its digest fits none or several.
    """
    by_digest: dict[str, list[str]] = {}
    for name, digest in digests.items():
        by_digest.setdefault(digest, []).append(name)
    found = {}
    for name, digest in known.items():
        same = by_digest.get(digest, [])
        if name not in same and len(same) != 1:
            seen = f"{len(same)} weights of the base fit"
            raise InputError(f"{folder}: cannot tell which weight {name} belongs to: {seen}")
        found[name] = name if name in same else same[0]
    return found


def _add(weights: dict[str, Tensor], changes: dict[str, Tensor], folder: Path) -> None:
    """Add changes to weights of the same names."""
    if set(changes) != set(weights):
        odd = sorted(set(changes) ^ set(weights))[0]
        raise InputError(f"{folder}: {RECIPE} and the files differ about {odd}")
    if len({weight.data_ptr() for weight in weights.values()}) != len(weights):
        raise InputError(f"{folder}: {RECIPE} names a weight twice")
    for name, change in changes.items():
        if weights[name].shape != change.shape:
            seen = f"{tuple(change.shape)}, expected {tuple(weights[name].shape)}"
            raise InputError(f"{folder}: the change of {name} has shape {seen}")
        if not torch.isfinite(change.to(weights[name].dtype)).all():
            raise InputError(f"{folder}: the change of {name} must hold finite numbers")
    with torch.no_grad():
        for name, change in changes.items():
            weights[name].add_(change.to(weights[name]))


def _read_tensors(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        tensors = load_file(path)
    except FileNotFoundError:
        raise InputError(f"{path.parent}: has no {path.name}") from None
    except (OSError, SafetensorError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as safetensors: {error}") from error
    for name, value in tensors.items():
        if not value.is_floating_point() or not torch.isfinite(value.float()).all():
            raise InputError(f"{path}: {name} must hold finite numbers")
    return {name: value.float() for name, value in tensors.items()}


def _read_head(folder: Path, classes: int) -> nn.Linear:
    path = folder / HEAD
    tensors = _read_tensors(path)
    if set(tensors) != {"weight", "bias"} or tensors["weight"].ndim != 2:
        raise InputError(f"{path}: must hold weight and bias, got {', '.join(sorted(tensors))}")
    rows, columns = tensors["weight"].shape
    if rows != classes or tuple(tensors["bias"].shape) != (classes,):
        raise InputError(f"{path}: must have {classes} classes, got {rows}")
    head = nn.Linear(columns, rows)
    head.load_state_dict(tensors)
    return head


_Shapes: TypeAlias = "Mapping[str, tuple[int, ...]]"


def _delta_changes(folder: Path, shapes: _Shapes) -> dict[str, Tensor]:
    return _read_tensors(folder / DELTA)


def _adapter_changes(folder: Path, shapes: _Shapes) -> dict[str, Tensor]:
    """Return what adapters of peft add to weights: the product of their two matrices, scaled."""
    config, path = _adapter_config(folder), folder / ADAPTER[1]
    tensors, rank = _read_tensors(path), config["r"]
    found = {}
    for key, down in tensors.items():
        module = key.removeprefix(_PREFIX).removesuffix(".lora_A.weight")
        if not key.endswith(".lora_A.weight"):
            continue
        up = tensors.get(key.replace(".lora_A.", ".lora_B."), torch.empty(0))
        shape, seen = shapes.get(f"{module}.weight", ()), (*up.shape, *down.shape)
        # Before they are multiplied: two small matrices can make one that fits into no memory.
        if len(shape) != 2 or seen != (shape[0], rank, rank, shape[1]):
            raise InputError(f"{path}: {module} must have a lora_A and a lora_B that fit")
        found[f"{module}.weight"] = config["lora_alpha"] / rank * (up @ down)
    if 2 * len(found) != len(tensors):
        raise InputError(f"{path}: must hold pairs of lora_A and lora_B and nothing else")
    return found


def _adapter_config(folder: Path) -> dict[str, Any]:
    path = folder / ADAPTER[0]
    try:
        config = json.loads(path.read_text("utf-8"))
        plain = config["peft_type"] == "LORA" and config["bias"] == "none"
        other = [name for name in _BEYOND if config.get(name)]
        rank, alpha = config["r"], config["lora_alpha"]
        good = isinstance(rank, int) and rank >= 1 and 0 < alpha < inf
    except FileNotFoundError:
        raise InputError(f"{folder}: has no {path.name}") from None
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise InputError(f"{path}: cannot be understood: {error!r}") from error
    if not plain or other:
        seen = ", ".join(other) or f"peft_type {config['peft_type']}, bias {config['bias']}"
        raise InputError(f"{path}: only plain LoRA is read, got {seen}")
    if not good:
        raise InputError(f"{path}: r and lora_alpha must be above 0, got {rank!r} and {alpha!r}")
    return dict(config)
