"""Detectors of transformers: networks that propose boxes with classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from sightline.core import InputError
from sightline.core.registry import Registry
from sightline.models.families import (
    IMAGENET,
    Family,
    blocks_of,
    class_names,
    default_preprocess,
    first_norm,
)
from sightline.models.hooks import first_tensor, outputs
from sightline.models.model import Detections, Model, Output

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    from sightline.models.preprocess import Preprocess

__all__ = ["DETECTORS", "build_detector", "read_boxes", "read_classes"]

_SIZE = {**IMAGENET, "resample": "bilinear", "size": (800, 800)}


def _detector(title: str, base: str, prefix: tuple[str, ...] = ()) -> Family:
    return Family(title, base, (), lambda config: prefix, "detector", defaults=_SIZE)


DETECTORS: Registry[Family] = Registry("type of detector")
for _type, _family in {
    "yolos": _detector("YOLOS", "YolosForObjectDetection", ("class",)),
    "detr": _detector("DETR", "DetrForObjectDetection"),
    "table-transformer": _detector("Table Transformer", "TableTransformerForObjectDetection"),
    "conditional_detr": _detector("Conditional DETR", "ConditionalDetrForObjectDetection"),
    "dab-detr": _detector("DAB-DETR", "DabDetrForObjectDetection"),
}.items():
    DETECTORS.add(_type, _family)

# These give each class a probability of its own; the others share one out, "nothing" included.
_EACH_CLASS = ("conditional_detr", "dab-detr")


class _Parts(NamedTuple):
    """Where a detector keeps its encoder, the patches of it, and tokens after the patches."""

    trunk: nn.Module
    patch: tuple[int, int]
    suffix: int


def build_detector(
    name: str, network: nn.Module, preprocess: Preprocess | None = None, *, fit: str = "squash"
) -> Model:
    """Return the adapter of a detector of transformers, by the type in its configuration.

    Its layers are those of the encoder, which the boxes are read from.
    """
    config: Any = network.config
    family = DETECTORS[config.model_type]
    if not any(kind.__name__ == family.base for kind in type(network).__mro__):
        raise InputError(f"{type(network).__name__} gives no boxes; {family.base} does")
    parts = _parts(network, config)
    layers = blocks_of(parts.trunk, config.num_hidden_layers)
    # Patches reach the tokens for boxes through the attention of a block: not after the last.
    before = tuple(map(first_norm, layers)) if parts.suffix else layers
    return Model(
        name,
        network,
        preprocess or default_preprocess(config, fit),
        _caller(config.model_type in _EACH_CLASS),
        parts.patch,
        layers,
        before,
        family.prefix(config),
        family=config.model_type,
        detects=class_names(config),
        suffix=parts.suffix,
    )


def _parts(network: Any, config: Any) -> _Parts:
    if config.model_type == "yolos":
        side = config.patch_size
        patch = (side, side) if isinstance(side, int) else (side[1], side[0])
        return _Parts(network.vit, patch, config.num_detection_tokens)
    side = _stride(config)
    return _Parts(network.model.encoder, (side, side), 0)


def _stride(config: Any) -> int:
    """Return the pixels behind a cell of the backbone's last feature map."""
    backbone = config.backbone_config
    if backbone.model_type == "timm_backbone":
        return 16 if getattr(config, "dilation", False) else 32
    stages = getattr(backbone, "stage_names", None) or []
    if not stages or not backbone.out_features:
        raise InputError(f"the backbone {backbone.model_type} does not say its stages")
    halved = stages.index(backbone.out_features[-1]) - 1
    halved += bool(getattr(backbone, "downsample_in_first_stage", False))
    return int(getattr(backbone, "patch_size", 4) * 2**halved)


def _caller(each_class: bool) -> Callable[[nn.Module, Tensor], Output]:
    def call(network: nn.Module, pixels: Tensor) -> Output:
        config: Any = network.config
        trunk = _parts(network, config).trunk  # not kept: a copy of the model has another
        with outputs([trunk]) as seen:
            answer = network(pixel_values=pixels, return_dict=True)
        boxes = read_boxes(answer.pred_boxes)
        found = Detections(boxes, *read_classes(answer.logits, each_class))
        return Output(None, first_tensor(seen[trunk]), detections=found)

    return call


def read_boxes(boxes: Tensor) -> Tensor:
    """Return corners x0, y0, x1, y1 of boxes given by centre, width and height.

    Examples
    --------
    >>> import torch
    >>> read_boxes(torch.tensor([[0.5, 0.5, 0.5, 1.0]])).tolist()
    [[0.25, 0.0, 0.75, 1.0]]
    """
    centre, half = boxes[..., :2], boxes[..., 2:] / 2
    return torch.cat([centre - half, centre + half], -1)


def read_classes(logits: Tensor, each_class: bool) -> tuple[Tensor, Tensor]:
    """Return probabilities of classes `(..., classes)` and how sure it is of anything, `(...)`.

    Where the classes share one probability with "nothing", which comes last, it is sure by what
    "nothing" leaves. Where each has one of its own, it is as sure as of the likeliest. Those of
    the classes are given that there is something: times how sure, they are the network's own.

    Examples
    --------
    >>> import torch
    >>> classes, sure = read_classes(torch.tensor([[2.0, 1.0, 1.0]]).log(), each_class=False)
    >>> classes.tolist(), sure.tolist()
    ([[0.666..., 0.333...]], [0.75])
    """
    own = logits.sigmoid() if each_class else logits.softmax(-1)[..., :-1]
    sure = own.amax(-1) if each_class else own.sum(-1)
    return own / sure.clamp(min=torch.finfo(own.dtype).tiny)[..., None], sure
