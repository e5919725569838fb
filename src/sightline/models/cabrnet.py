"""Models of CaBRNet: their checkpoints, read through CaBRNet's own package.

Nothing here imports that package until a checkpoint is loaded; a network that was built with it
needs no import at all (`wrap_cabrnet`).
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from sightline.core import InputError, MissingPackageError
from sightline.models.preprocess import Preprocess

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from torch import Tensor

    from sightline.models.model import Model

__all__ = ["CabrnetNetwork", "load_cabrnet", "wrap_cabrnet"]

ARCHITECTURE, STATE, DATA = "model_arch.yml", "model_state.pth", "dataset.yml"
CLASSES = "classes.txt"
RECIPE = (
    "pip install loguru thop graphviz onnx onnxruntime onnx_graphsurgeon opencv-python-headless "
    "torchvision && pip install --no-deps cabrnet==1.2"
)


class CabrnetNetwork(nn.Module):  # type: ignore[misc]
    """A network of CaBRNet with the names of `HasPrototypes`; it returns logits alone.

    Parameters
    ----------
    network : nn.Module
        A `CaBRNet`: with `similarities(pixels)`, an `extractor` and a `classifier`.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        lacking = [
            name
            for name in ("similarities", "extractor", "classifier")
            if not hasattr(network, name)
        ]
        if lacking:
            kind = type(network).__name__
            raise InputError(f"{kind} is no network of CaBRNet: it lacks {', '.join(lacking)}")
        self.network = network

    @property
    def class_weights(self) -> Tensor:
        """What the similarity to each prototype says for each class: `(classes, prototypes)`.

        The weights of the last layer (ProtoPNet; PIPNet, which takes those below 0 as 0; ProtoPool,
        by the prototypes that its slots hold). A tree has none: 1 where a prototype is on the way
        to a class, else 0.
        """
        classifier: Any = self.network.classifier
        if not hasattr(classifier, "last_layer"):
            mapping = torch.as_tensor(classifier.prototype_class_mapping)
            return mapping.T.float().to(classifier.prototypes.device)
        weights = classifier.last_layer.weight.detach()
        if hasattr(classifier, "proto_slot_map"):
            slots = classifier.proto_slot_map.detach()
            if classifier._compatibility_mode:
                slots = slots.softmax(1)
            return torch.einsum("kcs,cps->kp", weights.unflatten(1, slots.shape[::2]), slots)
        return weights.relu() if _is_pipnet(classifier) else weights

    def similarities(self, pixels: Tensor) -> Tensor:
        """Return how similar each cell is to each prototype: `(batch, prototypes, h, w)`."""
        return self.network.similarities(pixels)

    def forward(self, pixels: Tensor) -> Tensor:
        """Return the logits `(batch, classes)`; of a tree, what it returns for the classes."""
        return self.network(pixels)[2 if _is_pipnet(self.network.classifier) else 0]


def _is_pipnet(classifier: Any) -> bool:
    """Whether a classifier is PIPNet's: its outputs come in another order."""
    return hasattr(classifier, "normalization_multiplier")


def wrap_cabrnet(
    network: nn.Module,
    preprocess: Preprocess,
    *,
    classes: Sequence[str] = (),
    name: str = "cabrnet",
) -> Model:
    """Return a network that was built with CaBRNet as a model.

    Parameters
    ----------
    network : nn.Module
        A `CaBRNet`.
    preprocess : Preprocess
        How images become its input; with a size.
    classes : sequence of str
        Names of the classes; numbers unless given.
    name : str
        How the model is called in results.

    Raises
    ------
    InputError
        If it is no network of CaBRNet, takes features from several layers, or its grid does not
        divide the input.
    """
    from sightline.models.load import Description, load_model

    wrapped = CabrnetNetwork(network).eval()
    count = int(network.classifier.num_classes)
    if classes and len(classes) != count:
        raise InputError(f"{name} has {count} classes, got {len(classes)} names")
    if preprocess.size is None:
        raise InputError(f"preprocess of {name} must have a size")
    width, height = preprocess.size
    with torch.no_grad():
        found = wrapped.similarities(torch.zeros(1, 3, height, width))
    if not isinstance(found, torch.Tensor) or found.ndim != 4:
        raise InputError(f"{name} must give one tensor of similarities (batch, prototypes, h, w)")
    rows, columns = found.shape[2:]
    if height % rows or width % columns:
        seen = f"{columns}x{rows} cells of an input of {width}x{height}"
        raise InputError(f"the grid of {name} must divide its input, got {seen}")
    patch = (width // columns, height // rows)
    told = Description(["network.extractor"], preprocess, patch, list(classes) or count, name=name)
    return load_model(wrapped, told)


def load_cabrnet(
    folder: str | PathLike[str],
    preprocess: Preprocess | None = None,
    *,
    classes: Sequence[str] = (),
    name: str | None = None,
) -> Model:
    """Return the model of a checkpoint folder that CaBRNet wrote.

    Needs the package `cabrnet`. Its own pins cannot be met beside ours (gradio 4.43 wants Pillow
    below 11), so that it is installed without them; the error where it is missing gives the line.

    Parameters
    ----------
    folder : path
        With ``model_arch.yml`` and ``model_state.pth``.
    preprocess : Preprocess, optional
        How images become its input; from ``dataset.yml`` unless given.
    classes : sequence of str
        Names of the classes; unless given, the lines of ``classes.txt`` in the folder, a file of
        your own since CaBRNet writes none; numbers where there is none either.
    name : str, optional
        How the model is called in results; "cabrnet:" with the folder unless given.

    Raises
    ------
    MissingPackageError
        If the package, or something it imports, is not installed.
    InputError
        If a file is missing or is not what it should be.

    Notes
    -----
    Weights are read as tensors alone (``torch.load(weights_only=True)``); ``state.pickle`` is
    never opened, the configuration is read as plain YAML, and only modules of `cabrnet` that it
    names are imported. Weights that it names for the backbone are neither fetched nor read: the
    checkpoint holds them.

    Examples
    --------
    >>> load_cabrnet("nowhere")
    Traceback (most recent call last):
        ...
    sightline.core.errors.InputError: there is no file nowhere/model_arch.yml
    """
    place = Path(folder).expanduser()
    config = _safe_config(_yaml(place / ARCHITECTURE))
    state = read_state(place / STATE)
    preprocess = preprocess or _preprocess(place / DATA)
    network = _build(config)
    try:
        network.load_state_dict(state)
    except (RuntimeError, TypeError) as error:
        raise InputError(f"{place / STATE} does not fit {ARCHITECTURE}: {error}") from error
    names = list(classes) or _names(place / CLASSES)
    return wrap_cabrnet(network, preprocess, classes=names, name=name or f"cabrnet:{folder}")


def read_state(path: Path) -> dict[str, Any]:
    """Return the tensors of a checkpoint by name; a file that holds code is refused.

    Beside tensors there may be plain values: a tree says how it was pruned.
    """
    _existing(path)
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file can fail in any way
        why = (str(error).splitlines() or [""])[0]
        raise InputError(f"{path} must hold tensors and plain values alone: {why}") from error
    if not isinstance(state, dict):
        raise InputError(f"{path} must hold tensors by name, got {type(state).__name__}")
    return state


def _build(config: dict[str, Any]) -> nn.Module:
    """Return the network of a configuration, with weights that are still to be filled in."""
    try:
        from cabrnet.archs.generic.model import CaBRNet  # type: ignore[import-not-found]
    except ImportError as error:
        missing = getattr(error, "name", None) or "cabrnet"
        raise MissingPackageError(
            f"models of CaBRNet need its package, and {missing} is missing: {RECIPE}"
        ) from error
    with torch.random.fork_rng(devices=[]):  # layers draw numbers before they are filled
        return CaBRNet.build_from_config(config)


def _safe_config(config: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration that fetches no weights and imports nothing but CaBRNet."""
    config = deepcopy(config)
    for part in ("extractor", "classifier", "top_arch"):
        if not isinstance(config.get(part), dict):
            raise InputError(f"{ARCHITECTURE} must have a mapping {part!r}")
    if not isinstance(config.get("similarity", {}), dict):
        raise InputError(f"{ARCHITECTURE} must have a mapping 'similarity', or none")
    for part in ("classifier", "top_arch", "similarity"):
        module = config.get(part, {}).get("module", "cabrnet")
        if str(module).split(".")[0] != "cabrnet":
            raise InputError(
                f"module of {part!r} in {ARCHITECTURE} must be one of cabrnet, got {module!r}"
            )
    backbone = config["extractor"].get("backbone")
    if not isinstance(backbone, dict):
        raise InputError(f"extractor in {ARCHITECTURE} must have a mapping 'backbone'")
    if str(backbone.get("arch", "")).lower() == "generic_onnx_model":
        raise InputError(f"backbones of ONNX are not supported, and {ARCHITECTURE} has one")
    backbone["weights"] = "None"
    return config


def _preprocess(path: Path) -> Preprocess:
    """Return the preprocessing of the test set: one resize to a fixed size, one normalisation."""
    data = _yaml(path).get("test_set")
    params = data.get("params") if isinstance(data, dict) else None
    steps = _steps(params.get("transform") if isinstance(params, dict) else None)
    ways = [str(step.get("type")) for step in steps]
    told = {way: step.get("params") or {} for way, step in zip(ways, steps, strict=True)}
    resize, normalise = told.get("Resize", {}), told.get("Normalize", {})
    size = resize.get("size")
    plain = ways in (["Resize", "ToTensor", "Normalize"], ["Resize", "ToTensor"])
    if not plain or set(resize) != {"size"} or not isinstance(size, list) or len(size) != 2:
        raise InputError(
            f"test_set of {path} must have the transform Resize to [height, width], ToTensor and, "
            f"where colours are normalised, Normalize; got {ways or 'none'}: give a preprocess"
        )
    mean, std = normalise.get("mean", (0, 0, 0)), normalise.get("std", (1, 1, 1))
    return Preprocess((size[1], size[0]), mean=mean, std=std, resample="bilinear")


def _steps(transform: Any) -> list[dict[str, Any]]:
    """Return the steps of a transform: a mapping or a list of them, or a Compose."""
    if isinstance(transform, dict) and transform.get("type") == "Compose":
        transform = transform.get("transforms")
    if isinstance(transform, dict):
        transform = [transform] if "type" in transform else list(transform.values())
    listed = transform if isinstance(transform, list) else []
    return [step for step in listed if isinstance(step, dict)]


def _names(path: Path) -> list[str]:
    """Return the names of classes, one a line; none where there is no file."""
    if not path.is_file():
        return []
    try:
        return [line.strip() for line in path.read_text("utf-8").splitlines() if line.strip()]
    except UnicodeDecodeError as error:
        raise InputError(f"{path} must be text, a name a line: {error}") from error


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    return path


def _yaml(path: Path) -> dict[str, Any]:
    """Return the mapping of a YAML file; nothing in it is evaluated."""
    from sightline.data.formats.plain_yaml import parse_yaml

    file = _existing(path)
    try:
        found = parse_yaml(file.read_text("utf-8"))
    except ValueError as error:
        raise InputError(f"{path} must be YAML: {error}") from error
    if not isinstance(found, dict):
        raise InputError(f"{path} must hold a mapping, got {type(found).__name__}")
    return found
