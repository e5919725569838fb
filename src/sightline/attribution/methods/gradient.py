"""Gradients of a class with respect to the pixels that the network takes."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from sightline.attribution.methods.methods import (
    Found,
    Request,
    asked_goal,
    clean_goal,
    number,
    random_of,
    register,
    whole_number,
)
from sightline.attribution.methods.noise import draw_noise, noise_source
from sightline.core import InputError, MissingPackageError
from sightline.core.errors import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import Tensor

    from sightline.attribution.methods.targets import Goal
    from sightline.models import Inputs, Model

__all__ = ["COLOURS", "farthest", "gradient_of", "plain_image"]

# Colours from 0 to 1; None is what preprocessing turns into 0.
COLOURS = {"mean": None, "black": 0.0, "white": 1.0}


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
    gradient, goal = gradient_of(model, inputs.pixels, asked_goal(request))
    return Found([farthest(gradient)], goal)


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
    gradient, goal = gradient_of(model, inputs.pixels, asked_goal(request))
    return Found([(inputs.pixels * gradient).sum(1, keepdim=True)], goal)


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
    goal = clean_goal(model, inputs, request)

    def score(pixels: Tensor, images: Tensor) -> Tensor:
        return goal.take(images).scores(model(pixels))

    found = (
        _captum()
        .IntegratedGradients(score)
        .attribute(
            inputs.pixels,
            plain_image(model, inputs.pixels, request.params["baseline"]),
            additional_forward_args=torch.arange(len(inputs.pixels), device=inputs.pixels.device),
            n_steps=whole_number(request, "steps", 1),
            internal_batch_size=max(request.batch, len(inputs.pixels)),
        )
    )
    return Found([found.sum(1, keepdim=True)], goal)


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
    pixels, goal = inputs.pixels, clean_goal(model, inputs, request)
    spread = share * (pixels.amax((1, 2, 3), True) - pixels.amin((1, 2, 3), True))
    sources = [_source(key, request) for key in inputs.keys]
    images = torch.arange(len(pixels), device=pixels.device)
    together, total = max(1, request.batch // len(pixels)), torch.zeros_like(pixels)
    for start in range(0, samples, together):
        count = min(together, samples - start)
        noisy = torch.cat([pixels + spread * draw_noise(sources, pixels) for _ in range(count)])
        gradient, _ = gradient_of(model, noisy, goal.take(images.repeat(count)))
        total += gradient.unflatten(0, (count, len(pixels))).sum(0)
    return Found([farthest(total / samples)], goal)


@register(
    "smoothgrad_ig",
    what="Integrated gradients averaged over noisy copies of the image; adds up to what the class "
    "gains, averaged over the copies.",
    group="gradient",
    sign="absolute",
    needs=("classes",),
    gradients=True,
    cost="samples x steps (8 x 8), and as many backward; 1 more for a predicted class",
    params={"samples": 8, "steps": 8, "noise": 0.15, "baseline": "mean", "seed": 0},
    about={
        "samples": "noisy copies of each image",
        "steps": "points on the way from the plain image to each copy",
        "noise": "standard deviation, as a share of the range of the image's values",
        "baseline": "colour of the plain image: mean (of preprocessing), black or white",
        "seed": "whole number; with the image it decides the noise",
    },
    paper="Smilkov et al. 2017, arXiv:1706.03825",
)
def smoothgrad_ig(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the mean over noisy copies of integrated gradients, by the Gauss-Legendre rule."""
    samples, share = whole_number(request, "samples", 1), number(request, "noise", 0, 100)
    places, weights = np.polynomial.legendre.leggauss(whole_number(request, "steps", 1))
    start = plain_image(model, inputs.pixels[:1], request.params["baseline"])[0]
    goal = clean_goal(model, inputs, request)

    def points() -> Iterator[_Point]:
        for image, end in _noisy_copies(inputs, request, samples, share):
            for place, weight in zip((places + 1) / 2, weights / 2, strict=True):
                way = end - start
                yield _Point(image, start + float(place) * way, float(weight) / samples * way)

    found = _summed(model, inputs.pixels, goal, points(), request.batch)
    return Found([found.sum(1, keepdim=True)], goal)


@register(
    "gradient_shap",
    what="Gradient at random points between a random plain image and this one, times the "
    "difference of the two, averaged; adds up to what the class gains, the more exactly the more "
    "samples.",
    group="gradient",
    sign="absolute",
    needs=("classes",),
    gradients=True,
    cost="samples (32), and as many backward; 1 more for a predicted class",
    params={"samples": 32, "noise": 0.0, "baseline": "any", "seed": 0},
    about={
        "samples": "random points of each image",
        "noise": "standard deviation of noise on the image, as a share of the range of its values",
        "baseline": "colour of the plain image: mean (of preprocessing), black, white, or any of "
        "the three at random",
        "seed": "whole number; with the image it decides all that is random",
    },
    paper="Lundberg & Lee 2017, arXiv:1705.07874",
)
def gradient_shap(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return expected gradients: plain image, place on the way and noise are drawn by image."""
    samples, share = whole_number(request, "samples", 1), number(request, "noise", 0, 100)
    name = request.params["baseline"]
    if name != "any" and name not in tuple(COLOURS):
        raise InputError(f"baseline must be one of {', '.join(COLOURS)}, any, got {shown(name)}")
    names = list(COLOURS) if name == "any" else [name]
    plains = [plain_image(model, inputs.pixels[:1], one)[0] for one in names]
    # A source of their own: the noise must not move them.
    sources = [random_of(key, request).spawn(1)[0] for key in inputs.keys]
    goal = clean_goal(model, inputs, request)

    def points() -> Iterator[_Point]:
        for image, end in _noisy_copies(inputs, request, samples, share):
            start = plains[sources[image].integers(len(plains))]
            way = end - start
            yield _Point(image, start + sources[image].random() * way, way / samples)

    found = _summed(model, inputs.pixels, goal, points(), request.batch)
    return Found([found.sum(1, keepdim=True)], goal)


class _Point(NamedTuple):
    """Where a gradient is taken: whose, at which pixels, and what it is multiplied by."""

    image: int
    pixels: Tensor
    factor: Tensor


def _noisy_copies(
    inputs: Inputs, request: Request, samples: int, share: float
) -> Iterator[tuple[int, Tensor]]:
    """Yield image after image `samples` copies with noise, and the number of the image."""
    for image, (pixels, key) in enumerate(zip(inputs.pixels, inputs.keys, strict=True)):
        source, spread = _source(key, request), share * (pixels.max() - pixels.min())
        for _ in range(samples):
            noise = draw_noise([source], pixels[None])[0] if share else 0
            yield image, pixels + spread * noise


def _summed(
    model: Model, pixels: Tensor, goal: Goal, points: Iterator[_Point], batch: int
) -> Tensor:
    """Return the sum of factor times gradient over the points of each image, in full batches."""
    total = torch.zeros_like(pixels)
    while chunk := list(islice(points, batch)):
        rows = torch.tensor([point.image for point in chunk], device=pixels.device)
        together = torch.stack([point.pixels for point in chunk])
        gradients, _ = gradient_of(model, together, goal.take(rows))
        for point, gradient in zip(chunk, gradients, strict=True):
            total[point.image] += point.factor * gradient
    return total


def gradient_of(model: Model, pixels: Tensor, goal: Goal) -> tuple[Tensor, Goal]:
    """Return the gradient of the goal of each image, and the goal, settled.

    Captum's would need to be told the class: one more pass where it is the predicted one.
    """
    leaf = pixels.detach().clone().requires_grad_()
    with torch.enable_grad():
        output = model(leaf)
        goal = goal.settled(output)
        score = goal.scores(output).sum()
    return torch.autograd.grad(score, leaf)[0], goal


def farthest(gradient: Tensor) -> Tensor:
    """Return of the channels' values the one farthest from 0, with its sign."""
    most, least = gradient.amax(1, keepdim=True), gradient.amin(1, keepdim=True)
    return torch.where(most >= -least, most, least)


def plain_image(model: Model, pixels: Tensor, name: Any) -> Tensor:
    """Return images of one colour, as the network takes them, in the place of others."""
    if name not in tuple(COLOURS):
        raise InputError(f"baseline must be one of {', '.join(COLOURS)}, got {shown(name)}")
    plain, colour = torch.zeros_like(pixels), COLOURS[name]
    if colour is not None:
        mean, std = np.array(model.preprocess.mean), np.array(model.preprocess.std)
        plain += plain.new_tensor((colour - mean) / std)[:, None, None]
    return plain


def _source(key: int, request: Request) -> torch.Generator:
    return noise_source(key, whole_number(request, "seed"))


def _captum() -> Any:
    try:
        from captum import attr  # type: ignore[import-untyped]
    except ImportError as error:
        line = "pip install 'sightline[models]'"
        raise MissingPackageError(f"integrated_gradients needs captum: {line}") from error
    return attr
