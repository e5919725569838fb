"""Gradients of a class with respect to the pixels that the network takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sightline.maps.methods import (
    Found,
    Request,
    class_score,
    number,
    random_of,
    register,
    whole_number,
)
from sightline.records import InputError, MissingPackageError

if TYPE_CHECKING:
    from numpy.random import Generator
    from torch import Tensor

    from sightline.models import Inputs, Model

__all__: list[str] = []

# Colours from 0 to 1; None is what preprocessing turns into 0.
_BASELINES = {"mean": None, "black": 0.0, "white": 1.0}


@register(
    "saliency",
    what="How much the class changes with each pixel: of the three channels' gradients the one "
    "farthest from 0.",
    group="gradient",
    sign="absolute",
    needs=("classes",),
    gradients=True,
    cost="1, and 1 backward",
    paper="Simonyan et al. 2014, arXiv:1312.6034",
)
def saliency(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the gradient of the class with respect to the pixels."""
    gradient, targets = _gradient(model, inputs.pixels, request.targets)
    return Found([_farthest(gradient)], targets)


@register(
    "input_x_gradient",
    what="Each pixel times its gradient, summed over the channels.",
    group="gradient",
    sign="absolute",
    needs=("classes",),
    gradients=True,
    cost="1, and 1 backward",
    paper="Shrikumar et al. 2017, arXiv:1605.01713",
)
def input_x_gradient(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return pixels times gradient."""
    gradient, targets = _gradient(model, inputs.pixels, request.targets)
    return Found([(inputs.pixels * gradient).sum(1, keepdim=True)], targets)


@register(
    "integrated_gradients",
    what="Mean gradient on the way from a plain image to this one, times the difference of the "
    "two; adds up to what the class gains, the more exactly the more steps.",
    group="gradient",
    sign="absolute",
    needs=("classes",),
    gradients=True,
    cost="steps (32), and as many backward; 1 more for a predicted class",
    params={"steps": 32, "baseline": "mean"},
    about={
        "steps": "points on the way from the plain image",
        "baseline": "colour of the plain image: mean (of preprocessing), black or white",
    },
    paper="Sundararajan et al. 2017, arXiv:1703.01365",
)
def integrated_gradients(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return integrated gradients by the Gauss-Legendre rule, summed over the channels."""
    integrated = _captum().IntegratedGradients(lambda pixels: model(pixels).logits)
    targets = _clean_targets(model, inputs, request)
    found = integrated.attribute(
        inputs.pixels,
        _baseline(model, inputs, request.params["baseline"]),
        target=targets,
        n_steps=whole_number(request, "steps", 1),
        internal_batch_size=max(request.batch, len(inputs.pixels)),
    )
    return Found([found.sum(1, keepdim=True)], targets)


@register(
    "smoothgrad",
    what="Gradient averaged over noisy copies of the image, then taken as in saliency.",
    group="gradient",
    sign="absolute",
    needs=("classes",),
    gradients=True,
    cost="samples (16), and as many backward; 1 more for a predicted class",
    params={"samples": 16, "noise": 0.15, "seed": 0},
    about={
        "samples": "noisy copies of each image",
        "noise": "standard deviation, as a share of the range of the image's values",
        "seed": "whole number; with the image it decides the noise",
    },
    paper="Smilkov et al. 2017, arXiv:1706.03825",
)
def smoothgrad(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the mean gradient over samples; each image has noise of its own."""
    samples, share = whole_number(request, "samples", 1), number(request, "noise", 0, 100)
    pixels, targets = inputs.pixels, _clean_targets(model, inputs, request)
    spread = share * (pixels.amax((1, 2, 3), True) - pixels.amin((1, 2, 3), True))
    sources = [random_of(key, request) for key in inputs.keys]
    together, total = max(1, request.batch // len(pixels)), torch.zeros_like(pixels)
    for start in range(0, samples, together):
        count = min(together, samples - start)
        noisy = torch.cat([pixels + spread * _noise(sources, pixels) for _ in range(count)])
        gradient, _ = _gradient(model, noisy, targets.repeat(count))
        total += gradient.unflatten(0, (count, len(pixels))).sum(0)
    return Found([_farthest(total / samples)], targets)


def _gradient(model: Model, pixels: Tensor, targets: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the gradient of the class of each image, and the classes.

    Captum's would need to be told the class: one more pass where it is the predicted one.
    """
    leaf = pixels.detach().clone().requires_grad_()
    with torch.enable_grad():
        score, chosen = class_score(model(leaf).logits, targets)
    return torch.autograd.grad(score, leaf)[0], chosen


def _clean_targets(model: Model, inputs: Inputs, request: Request) -> Tensor:
    """Return the classes to explain; those predicted are for the image as it is."""
    if request.targets is not None:
        return request.targets
    with torch.no_grad():
        return class_score(model(inputs.pixels).logits, None)[1]


def _farthest(gradient: Tensor) -> Tensor:
    """Return of the channels' values the one farthest from 0, with its sign."""
    return gradient.gather(1, gradient.abs().argmax(1, keepdim=True))


def _baseline(model: Model, inputs: Inputs, name: Any) -> Tensor:
    """Return the plain image at which integration begins, as the network takes it."""
    if name not in _BASELINES:
        raise InputError(f"baseline must be one of {', '.join(_BASELINES)}, got {name!r}")
    plain, colour = torch.zeros_like(inputs.pixels), _BASELINES[name]
    if colour is not None:
        mean, std = np.array(model.preprocess.mean), np.array(model.preprocess.std)
        plain += plain.new_tensor((colour - mean) / std)[:, None, None]
    return plain


def _noise(sources: list[Generator], pixels: Tensor) -> Tensor:
    """Draw one more sample of noise for each image, from its own source."""
    drawn = [source.standard_normal(pixels.shape[1:], np.float32) for source in sources]
    return torch.from_numpy(np.stack(drawn)).to(pixels)


def _captum() -> Any:
    try:
        from captum import attr  # type: ignore[import-untyped]
    except ImportError as error:
        line = "pip install 'sightline[models]'"
        raise MissingPackageError(f"integrated_gradients needs captum: {line}") from error
    return attr
