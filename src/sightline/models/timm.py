"""Networks of timm, which needs torchvision: an extra of its own."""

from __future__ import annotations

import os
import re
import warnings
from contextlib import contextmanager
from math import floor
from threading import Lock
from typing import TYPE_CHECKING, Any

from sightline.core import InputError, MissingPackageError
from sightline.models.model import Model, Output
from sightline.models.preprocess import Preprocess

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor, nn

__all__ = ["describe_timm", "is_timm", "load_timm"]

# Networks of blocks over all tokens, and how those attend that call torch's attention once.
_VITS = ("VisionTransformer", "VisionTransformerRelPos", "Beit", "Eva")
_ATTENDS = ("Attention", "AttentionRope", "EvaAttention", "ParallelScalingBlock", "RelPosAttention")
_FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")
# timm reads more than names of its own: hf-hub:SOMEBODY/THING, local-dir:FOLDER.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LOADING = Lock()
# What torch.load reads before its argument, whatever a library passes: tensors alone, or anything.
_SAFE, _UNSAFE = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"


def load_timm(name: str) -> Model:
    """Return a network of timm by its name there, with the weights timm has for it.

    ViTs (EVA among them) have attention and take inputs of any size, CNNs have their stages.
    Weights are read as tensors alone, whatever timm would do.

    Raises
    ------
    MissingPackageError
        If timm, or torchvision, which it needs, cannot be imported.
    InputError
        If it is no name of an architecture but leads to a folder or to somebody's repository, if
        timm does not know it, or if its weights cannot be had.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            "timm: takes the plain name of an architecture such as vit_small_patch16_224, got "
            f"{name!r}; weights of your own are loaded by hf:FOLDER, or as a torch.nn.Module"
        )
    try:
        import timm
    except (ImportError, RuntimeError) as error:  # torchvision without its operators
        line = "pip install 'sightline[timm]'"
        raise MissingPackageError(f"timm:{name} needs timm and torchvision: {line}") from error
    try:
        network = _create(timm.create_model, name)
    except Exception as error:  # the hub's client raises errors of many libraries
        why = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"timm:{name} cannot be had: {why}") from error
    return describe_timm(f"timm:{name}", network.eval())


def _create(create: Any, name: str) -> Any:
    """Return a network, one that takes any size where its class can."""
    with warnings.catch_warnings(), _tensors_alone():
        warnings.simplefilter("ignore")
        try:
            return create(name, pretrained=True, dynamic_img_size=True)
        except TypeError:  # CNNs have no such option
            return create(name, pretrained=True)


@contextmanager
def _tensors_alone() -> Iterator[None]:
    """Have torch load nothing but tensors; some versions of timm ask it to run whole pickles.

    One thread at a time: what is set is one for all of them.
    """
    with _LOADING:
        before = {name: os.environ.pop(name, None) for name in (_SAFE, _UNSAFE)}
        os.environ[_SAFE] = "1"
        try:
            yield
        finally:
            os.environ.pop(_SAFE, None)
            os.environ.update({name: value for name, value in before.items() if value is not None})


def is_timm(network: object) -> bool:
    """Return whether a network is one that timm made."""
    return isinstance(getattr(network, "pretrained_cfg", None), dict) and hasattr(
        network, "forward_features"
    )


def describe_timm(name: str, network: Any) -> Model:
    """Return the adapter of a network of timm."""
    kinds = {kind.__name__ for kind in type(network).__mro__}
    if kinds & set(_VITS):
        return _vit(name, network)
    stages = getattr(network, "feature_info", None)
    if not isinstance(stages, list) or getattr(network, "output_fmt", "NCHW") != "NCHW":
        kind = type(network).__name__
        raise InputError(
            f"{name}: a {kind} of timm has neither blocks over all tokens nor stages that give "
            "(batch, channels, rows, columns): give a Description"
        )
    side = stages[-1]["reduction"]
    return Model(
        name,
        network,
        _preprocess(name, network, side),
        _call,
        (side, side),
        layers=tuple(network.get_submodule(stage["module"]) for stage in stages),
        classes=_classes(network),
    )


def _vit(name: str, network: Any) -> Model:
    """Return the adapter of a network of blocks over all tokens."""
    attends = [getattr(block, "attn", block) for block in network.blocks]
    known = all(type(module).__name__ in _ATTENDS for module in attends)
    prefix = ["class"] * (getattr(network, "cls_token", None) is not None)
    prefix += ["distillation"] * (getattr(network, "dist_token", None) is not None)
    prefix += ["register"] * (network.num_prefix_tokens - len(prefix))
    rows, columns = network.patch_embed.feat_ratio(as_scalar=False)
    return Model(
        name,
        network,
        _preprocess(name, network),
        _call,
        (columns, rows),
        layers=tuple(network.blocks),
        cam_layers=tuple(_before_attention(network, i) for i in range(len(attends))),
        prefix=tuple(prefix),
        heads=attends[0].num_heads if known else 0,
        classes=_classes(network),
    )


def _before_attention(network: Any, number: int) -> nn.Module:
    """Return the module that gives what a block attends over: the last sight of the patches.

    That is the norm before attention, or, where norms come after it, what enters the block.
    """
    block: Any = network.blocks[number]
    if "Post" in type(block).__name__:
        before: nn.Module = network.blocks[number - 1] if number else _entrance(network)
        return before
    norm: nn.Module = block.in_norm if hasattr(block, "in_norm") else block.norm1
    return norm


def _entrance(network: Any) -> Any:
    """Return the last module before the first block."""
    names = ("norm_pre", "pos_drop", "patch_embed")
    return next(getattr(network, name) for name in names if hasattr(network, name))


def _preprocess(name: str, network: Any, side: int = 1) -> Preprocess:
    """Return how timm prepares images for it, with `fit` "squash".

    The size is rounded to whole cells: some CNNs are asked about 176 pixels in cells of 32.
    """
    config = network.pretrained_cfg
    channels, height, width = config["input_size"]
    if channels != 3:
        raise InputError(f"{name} takes {channels} channels, and images have 3")
    made = getattr(getattr(network, "patch_embed", None), "img_size", None)
    height, width = made or (height, width)  # another size may have been asked of timm
    height, width = (max(round(n / side), 1) * side for n in (height, width))
    filter_name = config.get("interpolation", "bicubic")
    return Preprocess(
        size=(width, height),
        resize_to=floor(min(width, height) / config.get("crop_pct", 1.0)),  # as timm does
        mean=tuple(config["mean"]),
        std=tuple(config["std"]),
        resample=filter_name if filter_name in _FILTERS else "bicubic",
    )


def _classes(network: Any) -> tuple[str, ...]:
    """Return the names of the classes: those in its configuration, of ImageNet, or numbers."""
    count = getattr(network, "num_classes", 0)
    names = network.pretrained_cfg.get("label_names")
    if isinstance(names, list | tuple) and len(names) == count:
        return tuple(map(str, names))
    if count == 1000:
        from timm.data import ImageNetInfo

        whole = ImageNetInfo("imagenet-1k").label_descriptions()
        return tuple(str(name).split(",")[0] for name in whole)
    return tuple(map(str, range(count)))


def _call(network: Any, pixels: Tensor) -> Output:
    """Run the network, through torch's attention whatever timm was set to."""
    _check_size(network, pixels)
    with _fused(network):
        features = network.forward_features(pixels)
        logits = network.forward_head(features) if network.num_classes else None
    return Output(logits, features)


def _check_size(network: Any, pixels: Tensor) -> None:
    """Raise where the network was made for inputs of one size, and these have another."""
    patches: Any = getattr(network, "patch_embed", None)
    wanted = getattr(patches, "img_size", None)
    if wanted is None or not getattr(patches, "strict_img_size", False):
        return
    if tuple(wanted) != tuple(pixels.shape[2:]):
        width, height = pixels.shape[3], pixels.shape[2]
        raise InputError(
            f"this {type(network).__name__} of timm takes {wanted[1]} x {wanted[0]} pixels only, "
            f"got {width} x {height}; with dynamic_img_size=True timm makes some for any size"
        )


@contextmanager
def _fused(network: nn.Module) -> Iterator[None]:
    """Have all blocks call torch's attention, which can be seen; then as they were."""
    modules: list[Any] = [
        module for module in network.modules() if getattr(module, "fused_attn", True) is False
    ]
    for module in modules:
        module.fused_attn = True
    try:
        yield
    finally:
        for module in modules:
            module.fused_attn = False
