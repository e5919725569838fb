"""A model by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from sightline.core import InputError, UnknownNameError
from sightline.core.registry import Registry
from sightline.models.cards import MODELS
from sightline.models.hooks import first_tensor, outputs
from sightline.models.model import Detections, Model, Output
from sightline.models.preprocess import Preprocess
from sightline.models.timm import describe_timm, is_timm, load_timm

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor


__all__ = ["Description", "find_folder", "load_model", "usable_device"]

# Libraries of models change what all threads share while they load, and one that is imported by
# two threads at once may be half there for the second.
_LOADING = RLock()


@dataclass(frozen=True)
class Description:
    """What Sightline must know about a network of your own.

    Attributes
    ----------
    layers : sequence of str
        Names of the modules that are its layers, as in `network.named_modules()`, from input to
        output. The last one gives the patch features: `(batch, channels, rows, columns)`, or
        tokens `(batch, tokens, channels)`.
    preprocess : Preprocess
        How images become its input.
    patch : int or (width, height)
        Pixels of the input behind a cell of the last layer.
    classes : int or sequence of str
        How many classes, or their names; none unless given.
    prefix : sequence of str
        Tokens before the patches: "class", "distillation", "register".
    heads : int
        Attention heads of each layer, if its layers call torch's `scaled_dot_product_attention`
        over all tokens.
    cam_layers : sequence of str
        Where class activation maps read each layer; the layers themselves unless given.
    name : str
        How the model is called in results.
    detect : callable, optional
        For a detector: turns what the network returns into `Detections`, whose classes are then
        `classes`.

    Examples
    --------
    >>> import torch
    >>> from sightline.models import Description, Preprocess, load_model
    >>> network = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 16, 16), torch.nn.Flatten(1))
    >>> load_model(network, Description(["0"], Preprocess(size=(32, 32)), patch=16, name="tiny"))
    Model('tiny', 32x32 squash, patch 16x16, 1 layers, 0 heads, 0 classes)
    """

    layers: Sequence[str]
    preprocess: Preprocess
    patch: int | tuple[int, int]
    classes: int | Sequence[str] = ()
    prefix: Sequence[str] = ()
    heads: int = 0
    cam_layers: Sequence[str] = ()
    name: str = "module"
    detect: Callable[[Any], Detections] | None = None


def load_model(
    spec: str | nn.Module,
    description: Description | None = None,
    *,
    fit: str | None = None,
    size: int | tuple[int, int] | None = None,
    device: str | torch.device | None = None,
    dtype: str | torch.dtype | None = None,
) -> Model:
    """Return a model by name, or a network of your own with its description.

    Parameters
    ----------
    spec : str or nn.Module
        "demo/vit" and the other shipped models (`sightline models` lists them); "hf:" with a
        folder, or with an id of the Hugging Face hub; "timm:" with a name of timm; "cabrnet:" with
        a folder that CaBRNet wrote; one of these with "@" and a folder that `sightline finetune`
        wrote; or a network: one of transformers needs no description.
    description : Description
        For a network that is not one of transformers.
    fit : {"squash", "crop", "letterbox", "native"}
        How images are brought to the input; "squash" unless given, which shows the whole image.
    size : int or (width, height)
        Of the input, where the network allows others than its own.
    device : str or torch.device
        Where to run; the CPU unless given.
    dtype : {"float32", "bfloat16", "float16"} or torch.dtype
        Precision of the weights and of what passes through the network; single unless given. Maps
        are float32 whatever it is.

    Examples
    --------
    >>> load_model("demo/vit")
    Model('demo/vit', 224x224 squash, patch 16x16, 12 layers, 4 heads, 4 classes)
    """
    if isinstance(spec, str) and description is not None:
        raise InputError(f"a description is for a network, not for the name {spec!r}")
    with _LOADING:
        model = _by_name(spec) if isinstance(spec, str) else _own(spec, description)
    if device is not None:
        model.network.to(usable_device(device))
    if dtype is not None:
        model.network.to(_precision(dtype))
    return model if fit is None and size is None else model.fitted(fit=fit, size=size)


def _precision(dtype: str | torch.dtype) -> torch.dtype:
    """Return a type of numbers by its name."""
    known = ("float32", "bfloat16", "float16")
    name = str(dtype).removeprefix("torch.")
    if name not in known:
        raise InputError(f"dtype must be one of {', '.join(known)}, got {dtype!r}")
    found: torch.dtype = getattr(torch, name)
    return found


def usable_device(device: str | torch.device) -> torch.device:
    """Return a device that is there."""
    try:
        found = torch.empty(0, device=device).device
        if found.type == "meta":
            raise RuntimeError("it holds no numbers")
        return found
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        why = (str(error).splitlines() or [""])[0]
        raise InputError(f"device {str(device)!r} cannot be used: {why}") from error


def _by_name(spec: str) -> Model:
    kind, colon, rest = spec.partition(":")
    if spec in MODELS:
        return MODELS[spec].load()
    if (variant := _variant(spec)) is not None:
        return variant
    if colon and kind == "hf" and rest:
        from sightline.models.huggingface import load_folder, load_hub

        return load_folder(spec, find_folder(rest) or load_hub(rest))
    if colon and kind == "timm" and rest:
        return load_timm(rest)
    if colon and kind == "cabrnet" and rest:
        from sightline.models.cabrnet import load_cabrnet

        return load_cabrnet(rest)
    if spec and find_folder(spec):
        raise InputError(f"unknown model {spec!r}; to load the folder, say 'hf:{spec}'")
    try:
        return MODELS[spec].load()
    except UnknownNameError as error:
        kinds = "or hf:FOLDER, hf:ID of the hub, timm:NAME, cabrnet:FOLDER"
        raise UnknownNameError(f"{error}; {kinds}") from None


def _variant(spec: str) -> Model | None:
    """Return the model of `base@FOLDER` where that folder holds a variant."""
    from sightline.models.recipes import is_variant
    from sightline.models.variants import load_variant

    kind, _, rest = spec.partition(":")
    if "@" not in spec or (kind == "hf" and find_folder(rest)):  # the @ belongs to a folder's name
        return None
    for place in (place for place, sign in enumerate(spec) if sign == "@"):
        base, named = spec[:place], spec[place + 1 :]
        folder = find_folder(named) if base and named else None
        if folder is not None and is_variant(folder):
            return load_variant(_by_name(base), folder, name=spec)
    base, _, variant = spec.rpartition("@")
    if base in MODELS or kind == "hf":  # no id of the hub has an @
        shipped = [name for name in MODELS if name.startswith(f"{base}@")]
        known = (
            f"shipped: {', '.join(shipped)}; others are folders" if shipped else "it is a folder"
        )
        raise UnknownNameError(
            f"unknown variant {variant!r} of {base}; {known} that `sightline finetune` wrote"
        )
    return None


def find_folder(name: str) -> Path | None:
    """Return the folder of that name, None where there is none."""
    try:
        folder = Path(name).expanduser()
        return folder if folder.is_dir() else None
    except (OSError, RuntimeError):  # a name too long, a home of nobody
        return None


def _own(network: nn.Module, description: Description | None) -> Model:
    if not isinstance(network, nn.Module):
        kind = type(network).__name__
        raise InputError(f"model must be a name or a torch.nn.Module, got {kind}")
    if description is None:
        if is_timm(network):
            return describe_timm(type(network).__name__, network)
        if not hasattr(network, "config"):
            name = type(network).__name__
            raise InputError(f"{name} is not a network of transformers: give a Description")
        from sightline.models.families import build_model

        return build_model(type(network).__name__, network)
    _check(description)
    layers = tuple(_module(network, name) for name in description.layers)
    if not layers:
        raise InputError("description needs at least one layer, got none")
    side, classes = description.patch, description.classes
    names = tuple(map(str, range(classes) if isinstance(classes, int) else classes))
    detects = description.detect is not None
    return Model(
        description.name,
        network,
        description.preprocess,
        _caller(description.layers[-1], bool(classes), description.detect),
        (side, side) if isinstance(side, int) else tuple(side),  # type: ignore[arg-type]
        layers,
        tuple(_module(network, name) for name in description.cam_layers),
        tuple(description.prefix),
        description.heads,
        () if detects else names,
        detects=names if detects else (),
    )


def _check(description: Any) -> None:
    """Raise where a description holds something of the wrong kind."""
    if not isinstance(description, Description):
        kind = type(description).__name__
        raise InputError(f"description must be a Description, got {kind}")
    if not isinstance(description.preprocess, Preprocess):
        raise InputError(f"preprocess must be a Preprocess, got {description.preprocess!r}")
    for field in ("layers", "cam_layers", "prefix", "classes"):
        value = getattr(description, field)
        counts = field == "classes" and isinstance(value, int) and value >= 0
        if not counts and (isinstance(value, str) or not isinstance(value, Sequence)):
            raise InputError(
                f"{field} of the description must be a sequence of names, got {value!r}"
            )
    if description.detect is not None and not (
        callable(description.detect) and description.classes
    ):
        raise InputError(
            "detect of the description must be a function, with classes for what it detects; got "
            f"{description.detect!r} and classes {description.classes!r}"
        )
    if not isinstance(description.heads, int):
        raise InputError(f"heads of the description must be a number, got {description.heads!r}")
    if not isinstance(description.patch, int | Sequence):
        raise InputError(
            f"patch of the description must be a side or a pair: {description.patch!r}"
        )


def _module(network: nn.Module, name: str) -> nn.Module:
    modules = Registry[nn.Module](f"module of {type(network).__name__}")
    for known, module in network.named_modules(remove_duplicate=False):
        modules.add(known, module)
    return modules[name]


def _caller(
    name: str, classifies: bool, detect: Callable[[Any], Detections] | None = None
) -> Callable[[nn.Module, Tensor], Output]:
    def call(network: nn.Module, pixels: Tensor) -> Output:
        last = network.get_submodule(name)  # not kept: a copy of the model has another
        with outputs([last]) as seen:
            answer = network(pixels)
        if detect is not None:
            return Output(None, first_tensor(seen[last]), detections=_detected(detect(answer)))
        logits = first_tensor(getattr(answer, "logits", answer)) if classifies else None
        return Output(logits, first_tensor(seen[last]))

    return call


def _detected(found: Any) -> Detections:
    """Return detections, which may come as a plain tuple."""
    tensors = isinstance(found, tuple) and all(isinstance(one, torch.Tensor) for one in found[:2])
    if not tensors or len(found) not in (2, 3):
        kind = type(found).__name__
        raise InputError(f"detect of the description must return Detections, got {kind}")
    return Detections(*found)
