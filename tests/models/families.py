"""Tiny networks of every family, of transformers' own classes, and how to call each by hand."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
import transformers
from torch import Tensor

PATCH = 16
TEXT = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4}
TEXT |= {"intermediate_size": 32, "vocab_size": 99, "bos_token_id": 1, "eos_token_id": 2}
LAYERS = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
VIT = {**LAYERS, "intermediate_size": 64, "image_size": 64, "patch_size": PATCH}
DINO = {**LAYERS, "mlp_ratio": 2, "image_size": 64, "patch_size": PATCH}
CUT = {**LAYERS, "intermediate_size": 64, "num_patches": 16, "patch_size": PATCH}
DECODER = {"decoder_hidden_size": 16, "decoder_num_hidden_layers": 1}
DECODER |= {"decoder_num_attention_heads": 2, "decoder_intermediate_size": 16}
STAGES = {"hidden_sizes": [8, 16, 32], "depths": [1, 2, 1]}
SWIN = {"image_size": 64, "embed_dim": 8, "depths": [2, 2, 2], "num_heads": [2, 2, 4]}

# Names of the last weights of a block's parts.
LAST = ("o_proj", "out_proj", "output.dense", "fc2", "down_proj", "pwconv2", "pointwise_conv2")

Hidden = Callable[[Any, Tensor], Tensor]


def plain(trunk: Any, pixels: Tensor) -> Tensor:
    hidden: Tensor = trunk(pixel_values=pixels).last_hidden_state
    return hidden


def interpolated(trunk: Any, pixels: Tensor) -> Tensor:
    hidden: Tensor = trunk(pixels, interpolate_pos_encoding=True).last_hidden_state
    return hidden


def unmasked(trunk: Any, pixels: Tensor) -> Tensor:
    """The encoder of MAE, module by module, without the part that masks."""
    embeddings = trunk.embeddings
    patches = embeddings.patch_embeddings(pixels)
    positions = embeddings.interpolate_pos_encoding(patches, *pixels.shape[2:])
    first = embeddings.cls_token + positions[:, :1]
    hidden = torch.cat([first.expand(len(pixels), -1, -1), patches + positions[:, 1:]], 1)
    for layer in trunk.layers if hasattr(trunk, "layers") else trunk.encoder.layer:
        hidden = layer(hidden)
        hidden = hidden[0] if isinstance(hidden, tuple) else hidden
    normed: Tensor = trunk.layernorm(hidden)
    return normed


def cut(trunk: Any, pixels: Tensor) -> Tensor:
    hidden: Tensor = trunk(*cut_patches(pixels)).last_hidden_state
    return hidden


def cut_patches(pixels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """SigLIP 2 takes patches, cut here one by one."""
    rows, columns = pixels.shape[2] // PATCH, pixels.shape[3] // PATCH
    values = [
        one[:, row * PATCH : (row + 1) * PATCH, column * PATCH : (column + 1) * PATCH]
        .permute(1, 2, 0)
        .flatten()
        for one in pixels
        for row in range(rows)
        for column in range(columns)
    ]
    patches = torch.stack(values).unflatten(0, (len(pixels), rows * columns))
    mask = torch.ones(len(pixels), rows * columns, dtype=torch.int32)
    shapes = torch.tensor([[rows, columns]] * len(pixels))
    return patches, mask, shapes


@dataclass(frozen=True)
class Case:
    """One class of transformers.

    Attributes
    ----------
    network, config : str
        Names of the classes.
    settings : dict
        Of the configuration.
    trunk : str
        Name of the part that a classifier wraps; "" where the network is that part.
    prefix : int
        Tokens before the patches.
    hidden : callable
        Calls the trunk by hand, and returns tokens or a grid.
    attends : bool
        Whether its attention goes over the whole image.
    """

    network: str
    config: str
    settings: dict[str, Any] = field(default_factory=dict)
    trunk: str = ""
    prefix: int = 0
    hidden: Hidden = plain
    attends: bool = True


CASES = {
    case.network: case
    for case in (
        Case("ViTModel", "ViTConfig", VIT, "", 1, interpolated),
        Case("ViTForImageClassification", "ViTConfig", VIT, "vit", 1, interpolated),
        Case("DeiTModel", "DeiTConfig", VIT, "", 2, interpolated),
        Case("DeiTForImageClassification", "DeiTConfig", VIT, "deit", 2, interpolated),
        Case("DeiTForImageClassificationWithTeacher", "DeiTConfig", VIT, "deit", 2, interpolated),
        Case("Dinov2Model", "Dinov2Config", DINO, "", 1),
        Case("Dinov2ForImageClassification", "Dinov2Config", DINO, "dinov2", 1),
        Case("Dinov2WithRegistersModel", "Dinov2WithRegistersConfig", DINO, "", 5),
        Case(
            "Dinov2WithRegistersForImageClassification",
            "Dinov2WithRegistersConfig",
            {**DINO, "num_register_tokens": 3},
            "dinov2_with_registers",
            4,
        ),
        Case("DINOv3ViTModel", "DINOv3ViTConfig", {**VIT, "num_register_tokens": 4}, "", 5),
        Case("ViTMAEModel", "ViTMAEConfig", {**VIT, **DECODER}, "", 1, unmasked),
        Case("CLIPVisionModel", "CLIPVisionConfig", VIT, "", 1, interpolated),
        Case(
            "CLIPForImageClassification",
            "CLIPConfig",
            {"vision_config": VIT, "text_config": TEXT},
            "vision_model",
            1,
            interpolated,
        ),
        Case("SiglipVisionModel", "SiglipVisionConfig", VIT, "", 0, interpolated),
        Case(
            "SiglipForImageClassification",
            "SiglipConfig",
            {"vision_config": VIT, "text_config": TEXT},
            "vision_model",
            0,
            interpolated,
        ),
        Case("Siglip2VisionModel", "Siglip2VisionConfig", CUT, "", 0, cut),
        Case(
            "Siglip2ForImageClassification",
            "Siglip2Config",
            {"vision_config": CUT, "text_config": TEXT},
            "vision_model",
            0,
            cut,
        ),
        Case(
            "ResNetModel",
            "ResNetConfig",
            {**STAGES, "embedding_size": 8, "layer_type": "bottleneck"},
            attends=False,
        ),
        Case(
            "ResNetForImageClassification",
            "ResNetConfig",
            {**STAGES, "embedding_size": 8, "layer_type": "basic"},
            "resnet",
            attends=False,
        ),
        Case("ConvNextModel", "ConvNextConfig", {**STAGES, "num_stages": 3}, attends=False),
        Case(
            "ConvNextForImageClassification",
            "ConvNextConfig",
            {**STAGES, "num_stages": 3},
            "convnext",
            attends=False,
        ),
        Case("ConvNextV2Model", "ConvNextV2Config", {**STAGES, "num_stages": 3}, attends=False),
        Case(
            "ConvNextV2ForImageClassification",
            "ConvNextV2Config",
            {**STAGES, "num_stages": 3},
            "convnextv2",
            attends=False,
        ),
        Case("DINOv3ConvNextModel", "DINOv3ConvNextConfig", STAGES, "", 1, attends=False),
        Case("SwinModel", "SwinConfig", {**SWIN, "window_size": 2}, "", 0, interpolated, False),
        Case(
            "SwinForImageClassification",
            "SwinConfig",
            {**SWIN, "window_size": 2},
            "swin",
            0,
            interpolated,
            False,
        ),
    )
}


@cache
def _weights(name: str) -> dict[str, Tensor]:
    """Weights of a network that looks at its input: large, and nowhere equal."""
    torch.manual_seed(0)
    network = _empty(name, None)
    made = torch.Generator().manual_seed(len(name))
    weights = dict(network.state_dict())
    for key, value in weights.items():
        fixed = not value.is_floating_point() or "running" in key
        if fixed or (name == "ViTMAEModel" and "position" in key):
            continue
        weights[key] = _values(name, key, value, torch.randn(value.shape, generator=made))
    return weights


def _values(name: str, key: str, value: Tensor, noise: Tensor) -> Tensor:
    if "norm" in key and key.endswith("weight"):
        return 1 + 0.1 * noise
    if value.ndim == 1 or "scale" in key:
        return 0.1 * noise + (0.2 if "scale" in key or "gamma" in key else 0)
    if "token" in key or "position" in key:
        return noise / 2
    small = 1.0
    if any(part in key for part in LAST):
        # What a block adds, after looking around, is little beside what passes it by.
        small = 0.1 if "ConvNext" in name else 0.5
    return noise * small * value[0].numel() ** -0.5


def _empty(name: str, attention: str | None) -> Any:
    case = CASES[name]
    config = getattr(transformers, case.config)(**deepcopy(case.settings), num_labels=5)
    if attention:
        config._attn_implementation = attention
    return getattr(transformers, name)(config).eval()


def tiny(name: str, attention: str | None = None, sharp: float = 1) -> Any:
    """Return a fresh network; every call gives the same weights and a configuration of its own.

    The weights that make queries and keys are multiplied by `sharp`.
    """
    network = _empty(name, attention)
    asking = ("q_proj.weight", "k_proj.weight", "query.weight", "key.weight")
    network.load_state_dict(
        {
            key: value * sharp if key.endswith(asking) else value
            for key, value in _weights(name).items()
        }
    )
    return network


def trunk_of(name: str, network: Any) -> Any:
    return getattr(network, CASES[name].trunk) if CASES[name].trunk else network


def features_by_hand(name: str, network: Any, pixels: Tensor) -> Tensor:
    """Patch features `(batch, channels, rows, columns)`, one cell after the other."""
    case = CASES[name]
    with torch.no_grad():
        hidden = case.hidden(trunk_of(name, network), pixels)
    if hidden.ndim == 4:
        return hidden
    rows, columns = pixels.shape[2] // PATCH, pixels.shape[3] // PATCH
    grid = torch.empty(len(hidden), hidden.shape[2], rows, columns)
    for row in range(rows):
        for column in range(columns):
            grid[:, :, row, column] = hidden[:, case.prefix + row * columns + column]
    assert hidden.shape[1] == case.prefix + rows * columns
    return grid
