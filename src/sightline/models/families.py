"""Families of networks in transformers: how they differ, and nothing else."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isqrt
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from sightline.core import InputError
from sightline.core.registry import Registry
from sightline.models.hooks import first_tensor, outputs
from sightline.models.model import Model, Output
from sightline.models.preprocess import Preprocess

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from torch import Tensor

__all__ = ["FAMILIES", "Family", "build_model", "family_of", "vision_config"]

IMAGENET = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}
CLIP = {"mean": (0.48145466, 0.4578275, 0.40821073), "std": (0.26862954, 0.26130258, 0.27577711)}


@dataclass(frozen=True)
class Family:
    """How a family of transformers' networks is loaded, called and taken apart.

    Attributes
    ----------
    title : str
        As people call it.
    base : str
        The class without a classifier.
    classifiers : tuple of str
        Classes with one, as `architectures` of a configuration names them.
    prefix : callable
        Names the tokens before the patches, from the configuration.
    kind : {"tokens", "stages", "detector"}
        A plain ViT; a pyramid of stages: a CNN, or windowed attention; or a detector.
    inputs : callable
        Turns pixels into the arguments of the network.
    defaults : dict
        Preprocessing where the folder has no `preprocessor_config.json`.
    settings : dict
        What the configuration holds while the network runs.
    restored : tuple of str
        Attributes of modules that a pass changes, and that the next must find as they were.

    Examples
    --------
    >>> from sightline.models import FAMILIES
    >>> FAMILIES["vit"].title, FAMILIES["vit"].kind, FAMILIES["swin"].kind
    ('ViT', 'tokens', 'stages')
    """

    title: str
    base: str
    classifiers: tuple[str, ...] = ()
    prefix: Callable[[Any], tuple[str, ...]] = lambda config: ()
    kind: str = "tokens"
    inputs: Callable[[Any, Tensor], dict[str, Any]] = lambda config, pixels: {
        "pixel_values": pixels
    }
    defaults: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    restored: tuple[str, ...] = ()


FAMILIES: Registry[Family] = Registry("model type")


def family_of(kind: Any) -> Family:
    """Return the family of a type of network, detectors included."""
    from sightline.models.detectors import DETECTORS

    return DETECTORS[kind] if str(kind) in DETECTORS else FAMILIES[str(kind)]


def vision_config(config: Any) -> Any:
    """Return the part of a configuration that is about images."""
    return getattr(config, "vision_config", config)


def _class_token(config: Any) -> tuple[str, ...]:
    return ("class",)


def _registers(config: Any) -> tuple[str, ...]:
    return ("class", *["register"] * config.num_register_tokens)


def _interpolated(config: Any, pixels: Tensor) -> dict[str, Any]:
    return {"pixel_values": pixels, "interpolate_pos_encoding": True}


def _unmasked(config: Any, pixels: Tensor) -> dict[str, Any]:
    """All patches in reading order: the network keeps those with the smallest noise first."""
    side = config.patch_size
    count = (pixels.shape[2] // side) * (pixels.shape[3] // side)
    noise = torch.arange(count, device=pixels.device, dtype=torch.float32)
    return _interpolated(config, pixels) | {"noise": noise.expand(len(pixels), count)}


def _cut(config: Any, pixels: Tensor) -> dict[str, Any]:
    """Cut pixels into the rows of values that SigLIP 2 takes."""
    side = vision_config(config).patch_size
    rows, columns = pixels.shape[2] // side, pixels.shape[3] // side
    parts = pixels.unflatten(3, (columns, side)).unflatten(2, (rows, side))
    values = parts.permute(0, 2, 4, 3, 5, 1).reshape(len(pixels), rows * columns, -1)
    shapes = torch.tensor([[rows, columns]] * len(pixels), device=pixels.device)
    return {"pixel_values": values, "pixel_attention_mask": None, "spatial_shapes": shapes}


def _windowed(config: Any, pixels: Tensor) -> dict[str, Any]:
    """As `_interpolated`, for inputs whose last layer has room for a window."""
    least = config.window_size * config.patch_size * 2 ** (len(config.depths) - 1)
    if min(pixels.shape[2:]) < least:
        seen = f"{pixels.shape[3]} x {pixels.shape[2]}"
        raise InputError(f"this Swin needs inputs of at least {least} x {least}, got {seen}")
    return _interpolated(config, pixels)


_CROPPED = {"resize_to": 256}
_BILINEAR = {"resample": "bilinear"}

for _type, _family in {
    "vit": Family(
        "ViT",
        "ViTModel",
        ("ViTForImageClassification",),
        _class_token,
        inputs=_interpolated,
        defaults=_BILINEAR,
    ),
    "deit": Family(
        "DeiT",
        "DeiTModel",
        ("DeiTForImageClassification", "DeiTForImageClassificationWithTeacher"),
        lambda config: ("class", "distillation"),
        inputs=_interpolated,
        defaults={**IMAGENET, **_CROPPED},
    ),
    "dinov2": Family(
        "DINOv2",
        "Dinov2Model",
        ("Dinov2ForImageClassification",),
        _class_token,
        defaults={**IMAGENET, **_CROPPED},
    ),
    "dinov2_with_registers": Family(
        "DINOv2 with registers",
        "Dinov2WithRegistersModel",
        ("Dinov2WithRegistersForImageClassification",),
        _registers,
        defaults={**IMAGENET, **_CROPPED},
    ),
    "dinov3_vit": Family(
        "DINOv3", "DINOv3ViTModel", (), _registers, defaults={**IMAGENET, **_BILINEAR}
    ),
    "vit_mae": Family(
        "MAE",
        "ViTMAEModel",
        (),
        _class_token,
        inputs=_unmasked,
        defaults=IMAGENET,
        settings={"mask_ratio": 0.0},
    ),
    "clip": Family(
        "CLIP",
        "CLIPVisionModel",
        ("CLIPForImageClassification",),
        _class_token,
        inputs=_interpolated,
        defaults=CLIP,
    ),
    "clip_vision_model": Family(
        "CLIP, vision part",
        "CLIPVisionModel",
        (),
        _class_token,
        inputs=_interpolated,
        defaults=CLIP,
    ),
    "siglip": Family(
        "SigLIP",
        "SiglipVisionModel",
        ("SiglipForImageClassification",),
        inputs=_interpolated,
    ),
    "siglip_vision_model": Family("SigLIP, vision part", "SiglipVisionModel", inputs=_interpolated),
    "siglip2": Family(
        "SigLIP 2",
        "Siglip2VisionModel",
        ("Siglip2ForImageClassification",),
        inputs=_cut,
        defaults=_BILINEAR,
    ),
    "siglip2_vision_model": Family(
        "SigLIP 2, vision part", "Siglip2VisionModel", inputs=_cut, defaults=_BILINEAR
    ),
    "resnet": Family(
        "ResNet",
        "ResNetModel",
        ("ResNetForImageClassification",),
        kind="stages",
        defaults={**IMAGENET, **_CROPPED},
    ),
    "convnext": Family(
        "ConvNeXt",
        "ConvNextModel",
        ("ConvNextForImageClassification",),
        kind="stages",
        defaults={**IMAGENET, **_CROPPED},
    ),
    "convnextv2": Family(
        "ConvNeXt V2",
        "ConvNextV2Model",
        ("ConvNextV2ForImageClassification",),
        kind="stages",
        defaults={**IMAGENET, **_CROPPED},
    ),
    "dinov3_convnext": Family(
        "DINOv3 ConvNeXt",
        "DINOv3ConvNextModel",
        (),
        _class_token,  # the mean of the patches
        kind="stages",
        defaults={**IMAGENET, **_BILINEAR},
    ),
    "swin": Family(
        "Swin",
        "SwinModel",
        ("SwinForImageClassification",),
        kind="stages",
        inputs=_windowed,
        defaults={**IMAGENET, **_CROPPED},
        restored=("window_size", "shift_size"),
    ),
}.items():
    FAMILIES.add(_type, _family)


def build_model(
    name: str, network: nn.Module, preprocess: Preprocess | None = None, *, fit: str = "squash"
) -> Model:
    """Return the adapter of a network of transformers, by the type in its configuration.

    Raises
    ------
    UnknownNameError
        If the type is none of `FAMILIES`.
    """
    whole: Any = network.config
    family, config = family_of(getattr(whole, "model_type", None)), vision_config(whole)
    if family.kind == "detector":
        from sightline.models.detectors import build_detector

        return build_detector(name, network, preprocess, fit=fit)
    trunk = _trunk(network, family)
    classifies = any(kind.__name__ in family.classifiers for kind in type(network).__mro__)
    if getattr(config, "num_channels", 3) != 3:
        raise InputError(f"{name} takes {config.num_channels} channels; images have 3")
    layers = _blocks(trunk, config, family)
    pools = [module for module in trunk.modules() if isinstance(module, nn.MultiheadAttention)]
    tokens = family.kind == "tokens"
    return Model(
        name,
        network if classifies else trunk,
        preprocess or default_preprocess(whole, fit),
        _caller(family),
        _patch(config, family),
        layers,
        tuple(map(first_norm, layers)) if tokens else layers,
        family.prefix(config),
        config.num_attention_heads if tokens else 0,
        class_names(whole) if classifies else (),
        pools[0] if pools else None,
        whole.model_type,
    )


def default_preprocess(config: Any, fit: str = "squash") -> Preprocess:
    """Return the preprocessing of a family, where a folder does not say its own."""
    vision = vision_config(config)
    size = getattr(vision, "image_size", 224) or 224
    if hasattr(vision, "num_patches"):  # SigLIP 2 says how many patches, of any shape together
        size = isqrt(vision.num_patches) * vision.patch_size
    pair = (size, size) if isinstance(size, int) else (size[1], size[0])
    defaults = dict(family_of(config.model_type).defaults)
    if "resize_to" in defaults:
        defaults["resize_to"] = round(defaults["resize_to"] / 224 * min(pair))
    usual = defaults.pop("size", pair)
    return Preprocess(size=pair if hasattr(vision, "image_size") else usual, fit=fit, **defaults)


def _trunk(network: nn.Module, family: Family) -> nn.Module:
    """Return the part that gives `last_hidden_state`: the network, or what it is wrapped in."""
    for module in network.modules():
        if any(kind.__name__ == family.base for kind in type(module).__mro__):
            return module
    if isinstance(getattr(network, "vision_model", None), nn.Module):
        return network.vision_model  # older versions keep only the inside of the base
    raise InputError(f"{type(network).__name__} holds no {family.base}: give a Description")


def _blocks(trunk: nn.Module, config: Any, family: Family) -> tuple[nn.Module, ...]:
    """Return the layers: the first list of as many blocks as the configuration says."""
    stages = family.kind == "stages"
    return blocks_of(trunk, len(config.depths) if stages else config.num_hidden_layers)


def blocks_of(trunk: nn.Module, count: int) -> tuple[nn.Module, ...]:
    """Return the first list of as many modules."""
    for module in trunk.modules():
        if isinstance(module, nn.ModuleList) and len(module) == count:
            return tuple(module)
    raise InputError(f"{type(trunk).__name__} has no list of {count} layers")


def first_norm(block: nn.Module) -> nn.Module:
    """Return the norm before attention, the last place where patches reach the class token."""
    return next(module for module in block.modules() if isinstance(module, nn.LayerNorm))


def _patch(config: Any, family: Family) -> tuple[int, int]:
    if family.kind == "stages":
        stem = getattr(config, "patch_size", 4)
        side = stem * 2 ** (len(config.depths) - 1)
        side *= 1 + bool(getattr(config, "downsample_in_first_stage", False))
        return side, side
    side = config.patch_size
    return (side, side) if isinstance(side, int) else (side[1], side[0])


def class_names(config: Any) -> tuple[str, ...]:
    """Return the names of the classes that a configuration lists."""
    return tuple(str(config.id2label.get(number, number)) for number in range(config.num_labels))


def _caller(family: Family) -> Callable[[nn.Module, Tensor], Output]:
    settings = {"return_dict": True, **family.settings}

    def call(network: nn.Module, pixels: Tensor) -> Output:
        trunk = _trunk(network, family)  # not kept: a copy of the model has another
        config: Any = trunk.config
        arguments = family.inputs(config, pixels)
        changing = [
            (module, {name: getattr(module, name) for name in family.restored})
            for module in (trunk.modules() if family.restored else ())
            if all(hasattr(module, name) for name in family.restored)
        ]
        with _set((config, settings), *changing), outputs([trunk]) as seen:
            answer = network(**arguments, return_dict=True)
        return Output(getattr(answer, "logits", None), first_tensor(seen[trunk]))

    return call


@contextmanager
def _set(*things: tuple[Any, dict[str, Any]]) -> Iterator[None]:
    """Give attributes of things other values; then those they had before."""
    before = [(thing, {name: getattr(thing, name) for name in to}) for thing, to in things]
    try:
        _assign(things)
        yield
    finally:
        _assign(before)


def _assign(things: Iterable[tuple[Any, dict[str, Any]]]) -> None:
    for thing, values in things:
        for name, value in values.items():
            setattr(thing, name, value)
