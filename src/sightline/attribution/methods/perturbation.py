"""Perturbation: what becomes of a score where parts of the image are hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from sightline.attribution.methods.copies import score_copies
from sightline.attribution.methods.gradient import COLOURS, plain_image
from sightline.attribution.methods.methods import (
    Found,
    Request,
    asked_goal,
    number,
    random_of,
    register,
    whole_number,
)
from sightline.attribution.methods.targets import Classes, Goal
from sightline.core import InputError
from sightline.core.errors import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from sightline.models import Inputs, Model, Output

__all__ = ["COVER", "Probability", "clean_scores", "cover_of", "rise_maps"]

# Of the Gaussian that blurs, as a share of the input's shorter side.
_BLUR = 0.05
# Bytes of masks at once where they are summed up.
_MASKS = 1 << 24

COVER = "what hidden pixels become: mean (colour of preprocessing), black, white or blur"
_SEED = "whole number; with the image it decides the masks"


@register(
    "occlusion",
    what="How far the score falls where a window is hidden, averaged over the windows on a pixel.",
    group="perturbation",
    sign="signed",
    needs=("classes",),
    cost="windows (169), and 1",
    params={"window": 0.143, "stride": 0.0715, "baseline": "mean"},
    about={
        "window": "side of a window: pixels of the input, or a share of its width and height",
        "stride": "from a window to the next: pixels or a share, at most the window",
        "baseline": COVER,
    },
    paper="Zeiler & Fergus 2014, arXiv:1311.2901",
)
def occlusion(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the mean fall of the score over all windows that hide a pixel."""
    pixels = inputs.pixels
    windows = _windows(request, *pixels.shape[2:])
    cover = cover_of(model, pixels, request.params["baseline"])
    goal, clean = clean_scores(model, inputs, request)

    def hide(copies: Tensor, images: Tensor, numbers: Tensor) -> Tensor:
        for copy, image, window in zip(copies, images.tolist(), numbers.tolist(), strict=True):
            copy[:, *windows[window]] = cover[image][:, *windows[window]]
        return copies

    scores = score_copies(model, pixels, goal, len(windows), hide, request.batch)
    falls = (clean[:, None] - scores).double()
    total = falls.new_zeros(len(pixels), *pixels.shape[2:])
    seen = falls.new_zeros(*pixels.shape[2:])
    for window, fall in zip(windows, falls.T, strict=True):
        total[:, *window] += fall[:, None, None]
        seen[*window] += 1
    return Found([(total / seen)[:, None]], goal)


def _windows(request: Request, height: int, width: int) -> list[tuple[slice, slice]]:
    """Return all windows, row by row; the last of a row or column ends at the border."""
    starts, sides = [], []
    for side in (height, width):
        window, stride = (_length(request, name, side) for name in ("window", "stride"))
        if stride > window:
            raise InputError(
                f"stride must be at most the window, so that windows leave nothing out; got "
                f"{stride} and {window} pixels"
            )
        starts.append([*range(0, side - window, stride), side - window])
        sides.append(window)
    return [
        (slice(top, top + sides[0]), slice(left, left + sides[1]))
        for top in starts[0]
        for left in starts[1]
    ]


def _length(request: Request, name: str, side: int) -> int:
    """Return a length in pixels that may be given as a share of a side."""
    value = request.params[name]
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= 1:
        return min(int(value), side)
    if isinstance(value, float | np.floating) and 0 < value <= 1:
        return max(1, round(float(value) * side))
    raise InputError(
        f"{name} must be pixels (a whole number, 1 or more) or a share of the input (above 0, up "
        f"to 1.0), got {shown(value)}"
    )


@register(
    "rise",
    what="How much higher the score is, among randomly masked images, where a pixel is shown.",
    group="perturbation",
    sign="signed",
    needs=("classes",),
    cost="masks (500), and 1",
    params={
        "masks": 500,
        "cells": 7,
        "share": 0.5,
        "of": "probability",
        "form": "centred",
        "baseline": "mean",
        "seed": 0,
    },
    about={
        "masks": "random masks for each image; the paper takes 4,000 and more",
        "cells": "cells of a mask along the shorter side of the input, before it is made smooth",
        "share": "of the cells that are shown, above 0 and below 1",
        "of": "what is scored for a class: its probability or its logit",
        "form": "centred: the mean score is taken off first, so that a pixel shown more often "
        "by chance does not stand out; paper: it is not",
        "baseline": COVER,
        "seed": _SEED,
    },
    paper="Petsiuk et al. 2018, arXiv:1806.07421",
)
def rise(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return masks summed with their scores, over their number and the expected mask."""
    of = request.params["of"]
    if of not in ("probability", "logit"):
        raise InputError(f"of must be probability or logit, got {shown(of)}")
    return rise_maps(model, inputs, request, probability=of == "probability")


def rise_maps(model: Model, inputs: Inputs, request: Request, *, probability: bool) -> Found:
    """Return the maps of RISE, for a goal of any kind; `probability` is for classes.

    With masks M_k and scores f_k, a pixel's value is the sum of (f_k - c) M_k over k, divided by
    the number of masks and the share of cells shown. c is the mean score in the form "centred",
    and 0 in that of the paper.
    """
    form = request.params["form"]
    if form not in ("centred", "paper"):
        raise InputError(f"form must be centred or paper, got {shown(form)}")
    share = number(request, "share", 0, 1)
    masks = _draw_masks(inputs, request, share)
    cover = cover_of(model, inputs.pixels, request.params["baseline"])
    goal, _ = clean_scores(model, inputs, request)

    def mask(copies: Tensor, images: Tensor, numbers: Tensor) -> Tensor:
        return cover[images].lerp_(copies, masks.at(images, numbers).to(copies)[:, None])

    asked = Probability(goal) if probability and isinstance(goal, Classes) else goal
    count = masks.cells.shape[1]
    scores = score_copies(model, inputs.pixels, asked, count, mask, request.batch).double()
    weights = scores - scores.mean(1, keepdim=True) if form == "centred" else scores
    return Found([masks.summed(weights)[:, None] / (count * share)], goal)


def _draw_masks(inputs: Inputs, request: Request, share: float) -> _Masks:
    """Draw the masks of all images, each from its own source."""
    count, cells = whole_number(request, "masks", 1), whole_number(request, "cells", 1)
    if not 0 < share < 1:
        raise InputError(f"share must be above 0 and below 1, got {share}")
    size = inputs.pixels.shape[2:]
    step = -(-min(size) // cells)
    rows, columns = (-(-side // step) for side in size)
    sources = [random_of(key, request) for key in inputs.keys]
    shown = np.stack([source.random((count, rows, columns)) < share for source in sources])
    shifts = np.stack([source.integers(0, step, (count, 2)) for source in sources])
    device = inputs.pixels.device
    return _Masks(
        torch.from_numpy(shown).to(device), torch.from_numpy(shifts).to(device), step, tuple(size)
    )


class _Masks(NamedTuple):
    """Smooth masks: coarse cells, made larger by a cell, shifted and cut.

    Attributes
    ----------
    cells : Tensor (images, masks, rows, columns)
        Whether a cell is shown.
    shifts : Tensor (images, masks, 2)
        Down and right, in pixels.
    step : int
        Side of a cell in pixels, before the mask is made larger.
    size : (height, width)
        Of a mask.
    """

    cells: Tensor
    shifts: Tensor
    step: int
    size: tuple[int, ...]

    def at(self, images: Tensor, numbers: Tensor) -> Tensor:
        """Return masks `(n, height, width)`, from 0 to 1, of images by number."""
        down, across = self._sides(self.shifts[images, numbers])
        return down @ self.cells[images, numbers].to(down) @ across.transpose(1, 2)

    def _sides(self, shifts: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weights of cells for pixels, down and across: `(n, pixels, cells)`."""
        down, across = (
            _stretched(side, count, self.step, shifts[:, axis])
            for axis, (side, count) in enumerate(zip(self.size, self.cells.shape[2:], strict=True))
        )
        return down, across

    def summed(self, weights: Tensor) -> Tensor:
        """Return the sum of masks with weights `(images, masks)`, as `(images, height, width)`.

        The coarse cells take the weights, so that no mask is ever made in full.
        """
        together = max(1, _MASKS // (8 * sum(self.size) * max(self.cells.shape[2:])))
        found = []
        for cells, shifts, weight in zip(self.cells, self.shifts, weights, strict=True):
            total = weights.new_zeros(self.size)
            for part in torch.arange(len(weight), device=weights.device).split(together):
                down, across = (side.to(weights) for side in self._sides(shifts[part]))
                rows = down @ (cells[part].to(weights) * weight[part, None, None])
                total += rows.transpose(0, 1).flatten(1) @ across.transpose(1, 2).flatten(0, 1)
            found.append(total)
        return torch.stack(found)


def _stretched(side: int, cells: int, step: int, shifts: Tensor) -> Tensor:
    """Return how much of each cell is in each pixel of a shifted side, `(n, pixels, cells)`.

    The cells are made larger bilinearly, to a length that is one cell more than needed.
    """
    at = torch.arange(side, device=shifts.device) + shifts[:, None].float() + 0.5
    at = (at * (cells / ((cells + 1) * step)) - 0.5).clamp(0, cells - 1)
    return (1 - (at[..., None] - torch.arange(cells, device=shifts.device)).abs()).clamp(min=0)


@dataclass(frozen=True, eq=False)
class Probability(Goal):
    """The probability of classes, of which a goal has the logits."""

    goal: Goal

    def scores(self, output: Output) -> Tensor:
        """Return the probabilities."""
        logits = output.logits
        if logits is None:
            raise InputError("the network gave no logits")
        return (self.goal.scores(output) - logits.logsumexp(1)).exp()

    def take(self, rows: Tensor) -> Goal:
        """Return those of some images."""
        return Probability(self.goal.take(rows))

    def names(self, classes: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the classes."""
        return self.goal.names(classes)


def clean_scores(model: Model, inputs: Inputs, request: Request) -> tuple[Goal, Tensor]:
    """Return the goal, settled, and its scores for the images as they are, from one pass."""
    with torch.no_grad():
        output = model(inputs.pixels)
        goal = asked_goal(request).settled(output)
        return goal, goal.scores(output).float()


def cover_of(model: Model, pixels: Tensor, name: Any) -> Tensor:
    """Return what hidden pixels become, as the network takes it: an image for each image."""
    if name == "blur":
        return _blurred(pixels)
    if name not in tuple(COLOURS):
        raise InputError(f"baseline must be one of {', '.join(COLOURS)}, blur; got {shown(name)}")
    return plain_image(model, pixels, name)


def _blurred(pixels: Tensor) -> Tensor:
    """Return images under a Gaussian; near a border it has only what is there."""
    sigma = _BLUR * min(pixels.shape[2:])
    down, across = (_bell(side, sigma, pixels) for side in pixels.shape[2:])
    return down @ pixels @ across.T


def _bell(side: int, sigma: float, like: Tensor) -> Tensor:
    at = torch.arange(side, device=like.device)
    weights = (-0.5 * ((at[:, None] - at) / sigma) ** 2).exp()
    return (weights / weights.sum(1, keepdim=True)).to(like)
