"""Networks of timm, which needs torchvision: an extra of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sightline.models.load import Description, load_model
from sightline.models.preprocess import Preprocess
from sightline.records import InputError, MissingPackageError

if TYPE_CHECKING:
    from sightline.models.model import Model

__all__ = ["load_timm"]


def load_timm(name: str) -> Model:
    """Return a network of timm by its name there, with the weights timm has for it.

    ViTs (EVA among them) have attention, CNNs their stages.
    """
    try:
        import timm
    except (ImportError, RuntimeError) as error:  # torchvision without its operators
        line = "pip install 'sightline[timm]'"
        raise MissingPackageError(f"timm:{name} needs timm and torchvision: {line}") from error
    try:
        network = timm.create_model(name, pretrained=True)
    except RuntimeError as error:
        raise InputError(f"timm:{name}: {error}") from error
    return describe_timm(f"timm:{name}", network.eval())


def describe_timm(name: str, network: Any) -> Model:
    """Return the adapter of a network of timm."""
    config = network.pretrained_cfg
    _, height, width = config["input_size"]
    preprocess = Preprocess(
        size=(width, height),
        resize_to=int(height / config.get("crop_pct", 1.0)),  # as timm does
        mean=config["mean"],
        std=config["std"],
        resample=config.get("interpolation", "bicubic"),
    )
    classes = getattr(network, "num_classes", 0)
    if hasattr(network, "blocks") and hasattr(network, "patch_embed"):
        numbers = range(len(network.blocks))
        heads = network.blocks[0].attn.num_heads
        prefix = ["class"] * bool(getattr(network, "cls_token", None) is not None)
        prefix += ["register"] * (network.num_prefix_tokens - len(prefix))
        side = network.patch_embed.patch_size
        described = Description(
            layers=[f"blocks.{i}" for i in numbers],
            cam_layers=[f"blocks.{i}.norm1" for i in numbers],
            preprocess=preprocess,
            patch=(side[1], side[0]),
            classes=classes,
            prefix=prefix,
            heads=heads,
            name=name,
        )
    else:
        stages = network.feature_info
        described = Description(
            layers=[stage["module"] for stage in stages],
            preprocess=preprocess,
            patch=stages[-1]["reduction"],
            classes=classes,
            name=name,
        )
    return load_model(network, described)
