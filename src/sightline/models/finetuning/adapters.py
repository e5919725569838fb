"""Adapters of low rank in linear layers, by peft."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

from torch import nn

from sightline.core import InputError, MissingPackageError
from sightline.models.finetuning.variant_folder import write_tensors
from sightline.models.variants import ADAPTER

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.models.finetuning.settings import Settings

__all__ = ["add_adapters", "adapted_weights", "save_adapters"]

# Linear layers that make queries and values, as families of networks call them.
_QUERIES_AND_VALUES = (("q_proj", "v_proj"), ("query", "value"), ("qkv",))


def _peft() -> Any:
    try:
        import peft
    except ImportError as error:
        line = "pip install 'sightline[finetune]'"
        raise MissingPackageError(f"strategy lora needs peft: {line}") from error
    return peft


def target_ends(network: nn.Module, wanted: tuple[str, ...], name: str) -> list[str]:
    """Return the ends of the names of the linear layers that get adapters.

    Where other modules have these ends, too, the whole names of the linear layers.

    Raises
    ------
    InputError
        If there are none of those that were asked for.
    """
    linear = [key for key, module in network.named_modules() if isinstance(module, nn.Linear)]
    choices = [wanted] if wanted else _QUERIES_AND_VALUES
    for ends in choices:
        found = [key for key in linear if any(_ends(key, end) for end in ends)]
        if found and all(any(_ends(key, end) for key in found) for end in ends):
            others = (key for key, _ in network.named_modules() if key not in linear)
            return found if any(_ends(key, end) for key in others for end in ends) else list(ends)
    kinds = sorted({key.rpartition(".")[2] for key in linear})
    asked = ", ".join(wanted) or "q_proj, v_proj"
    known = f"its linear layers end in {', '.join(kinds[:12])}" if kinds else "it has none"
    raise InputError(f"{name} has no linear layers {asked} for adapters: {known}")


def _ends(key: str, end: str) -> bool:
    return key == end or key.endswith(f".{end}")


def add_adapters(network: nn.Module, settings: Settings, name: str) -> Any:
    """Put adapters into the linear layers of a network, which are trained alone; return how."""
    peft = _peft()
    config = peft.LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        target_modules=target_ends(network, settings.targets, name),
        inference_mode=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of layers that peft has not met
        peft.inject_adapter_in_model(config, network)
    return config


def adapted_weights(network: nn.Module) -> list[str]:
    """Return the names that the weights below adapters had before there were any."""
    ending = ".base_layer.weight"
    return [
        key.removesuffix(ending) + ".weight" for key in network.state_dict() if key.endswith(ending)
    ]


def save_adapters(network: nn.Module, config: Any, name: str, folder: Path) -> None:
    """Write adapters of the model of this name as peft does: a configuration and safetensors."""
    peft = _peft()
    # Without embedding layers, which peft would ask the hub about.
    state = peft.get_peft_model_state_dict(network, save_embedding_layers=False)
    write_tensors({f"base_model.model.{key}": v for key, v in state.items()}, folder / ADAPTER[1])
    values = {**config.to_dict(), "inference_mode": True, "base_model_name_or_path": name}
    values = {key: sorted(v) if isinstance(v, set) else v for key, v in values.items()}
    text = json.dumps(values, indent=1, sort_keys=True)  # the same text each time
    (folder / ADAPTER[0]).write_text(text + "\n", "utf-8")
