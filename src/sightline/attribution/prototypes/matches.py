"""Which prototypes an image is most similar to, where, and how similar."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from sightline.core import InputError
from sightline.models import prototypes_of
from sightline.models.hooks import undisturbed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from sightline.models import Inputs, Model
    from sightline.models.preprocess import ImageLike

__all__ = [
    "Matches",
    "Nearest",
    "best_matches",
    "cell_similarities",
    "find_matches",
    "first_maxima",
    "nearest_images",
    "normalised",
    "prototype_classes",
    "prototypes_in_use",
    "similarity_maps",
    "unit_images",
]


class Matches(NamedTuple):
    """The prototypes that each image of a batch is most similar to.

    Attributes
    ----------
    prototypes : Tensor (batch, count) of int64
        Their numbers, the most similar first; equal ones by number. -1, with a score of -inf, where
        fewer prototypes than `count` belong to the image's class.
    cells : Tensor (batch, count, 2) of int64
        Row and column of the most similar cell; the first in reading order where several are.
    scores : Tensor (batch, count)
        The similarity there.
    """

    prototypes: Tensor
    cells: Tensor
    scores: Tensor


class Nearest(NamedTuple):
    """The cell of a set of images that is most similar to a prototype.

    Attributes
    ----------
    prototype : int
        Its number.
    image : int
        Index of the image in the set.
    cell : (row, column)
        On the grid of similarities.
    similarity : float
        Of that cell to the prototype.

    Examples
    --------
    >>> found = Nearest(prototype=7, image=2, cell=(3, 11), similarity=4.5)
    >>> found.image, found.cell
    (2, (3, 11))
    """

    prototype: int
    image: int
    cell: tuple[int, int]
    similarity: float


def unit_images(model: Model, inputs: Inputs | Tensor) -> Tensor:
    """Return the input of a network as images in [0, 1]: `(n, 3, height, width)`, float32.

    The mean and standard deviation of preprocessing are undone. What is padding has the mean
    colour.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.models import load_model
    >>> model = load_model("demo/protopnet")
    >>> image = np.full((60, 80, 3), 51, np.uint8)
    >>> round(unit_images(model, model.prepare(image)).mean().item(), 6)
    0.2
    """
    pixels = inputs if isinstance(inputs, torch.Tensor) else inputs.pixels
    mean, std = _colours(model, pixels)
    return (pixels.float() * std + mean).clamp(0, 1)


def normalised(model: Model, images: Tensor) -> Tensor:
    """Return images in [0, 1] as the network takes them: the way back from `unit_images`.

    Examples
    --------
    >>> import torch
    >>> from sightline.models import load_model
    >>> model = load_model("demo/protopnet")
    >>> grey = torch.full((1, 3, 224, 224), 0.5)
    >>> torch.allclose(unit_images(model, normalised(model, grey)), grey)
    True
    """
    mean, std = _colours(model, images)
    return (images - mean).div_(std).to(model.device, model.dtype)


def _colours(model: Model, pixels: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation of preprocessing, one for each channel."""
    if pixels.ndim != 4 or pixels.shape[1] != 3:
        raise InputError(f"images must be (n, 3, height, width), got {tuple(pixels.shape)}")
    pair = torch.tensor([model.preprocess.mean, model.preprocess.std], device=pixels.device)
    mean, std = pair[:, :, None, None]
    return mean, std


def similarity_maps(model: Model, pixels: Tensor) -> Tensor:
    """Return how similar each cell is to each prototype: `(batch, prototypes, rows, columns)`.

    Parameters
    ----------
    model : Model
        With prototypes.
    pixels : Tensor (batch, 3, height, width)
        What the network takes: `Inputs.pixels`, or `normalised` images.

    Raises
    ------
    InputError
        If the model has no prototypes, or a similarity is not a number.
    """
    with undisturbed(model.network), torch.no_grad():
        return cell_similarities(model, pixels)


def cell_similarities(model: Model, pixels: Tensor) -> Tensor:
    """Return `similarity_maps` in the state that the network and gradients are in now."""
    network = prototypes_of(model)
    if pixels.is_cpu:  # where convolutions are a third quicker when channels come last
        pixels = pixels.contiguous(memory_format=torch.channels_last)
    found, count = network.similarities(pixels), network.class_weights.shape[1]
    if found.ndim != 4 or found.shape[:2] != (len(pixels), count) or not found.numel():
        wanted = f"({len(pixels)}, {count}, rows, columns)"
        seen = tuple(found.shape)
        raise InputError(f"{model.name}: similarities must be {wanted}, got {seen}")
    if not found.isfinite().all():
        raise InputError(f"{model.name}: similarities must be finite, got NaN or infinity")
    return found.float()


def prototypes_in_use(model: Model) -> tuple[int, ...]:
    """Return the numbers of the prototypes that say anything for a class.

    One that was pruned stays in the network, but all its class weights are 0.

    Raises
    ------
    InputError
        If the model has no prototypes, or none is in use.
    """
    used = (prototypes_of(model).class_weights != 0).any(0).nonzero().flatten().tolist()
    if not used:
        raise InputError(f"{model.name} uses no prototype: all its class weights are 0")
    return tuple(used)


def prototype_classes(model: Model) -> tuple[str, ...]:
    """Return the class that each prototype speaks for most; empty where it speaks for none.

    Examples
    --------
    >>> from sightline.models import load_model
    >>> len(prototype_classes(load_model("demo/protopnet")))
    40
    """
    weights = prototypes_of(model).class_weights
    if not model.classes:
        return ("",) * int(weights.shape[1])
    tops, best = (each.tolist() for each in weights.max(dim=0))
    both = zip(tops, best, strict=True)
    found: list[str] = [model.classes[at] if top > 0 else "" for top, at in both]
    return tuple(found)


def best_matches(
    model: Model, pixels: Tensor, count: int = 1, classes: Tensor | None = None
) -> Matches:
    """Return the prototypes that each image of a batch is most similar to.

    Those that are not in use (`prototypes_in_use`) are skipped.

    Parameters
    ----------
    model : Model
        With prototypes.
    pixels : Tensor (batch, 3, height, width)
        What the network takes.
    count : int
        How many of each image; all where there are fewer.
    classes : Tensor (batch,), optional
        The number of a class for each image, as the predicted one: only prototypes that belong to
        it are considered, those whose largest class weight is above 0 and for this class.

    Examples
    --------
    >>> import torch
    >>> from sightline.models import load_model
    >>> model = load_model("demo/protopnet")
    >>> best_matches(model, torch.zeros(2, 3, 224, 224), 3).cells.shape
    torch.Size([2, 3, 2])
    """
    _check_count(count)
    return find_matches(model, similarity_maps(model, pixels), count, classes)


def find_matches(
    model: Model, maps: Tensor, count: int = 1, classes: Tensor | None = None
) -> Matches:
    """Return `best_matches` of images whose `similarity_maps` are known."""
    _check_count(count)
    scores, places = _best_cells(maps)
    used = torch.tensor(prototypes_in_use(model), device=scores.device)
    if classes is not None:
        scores = scores.masked_fill(~_find_members(model, classes, scores), -torch.inf)
    order = used[scores[:, used].argsort(dim=1, descending=True, stable=True)[:, :count]]
    found = Matches(order, _cells(places.gather(1, order), maps), scores.gather(1, order))
    return found._replace(prototypes=order.masked_fill(found.scores == -torch.inf, -1))


def _find_members(model: Model, classes: Tensor, scores: Tensor) -> Tensor:
    """Return which prototypes belong to the class of each image: `(batch, prototypes)`."""
    weights = prototypes_of(model).class_weights.to(scores.device)
    if classes.shape != scores.shape[:1] or classes.is_floating_point():
        seen = f"{tuple(classes.shape)} of {classes.dtype}"
        raise InputError(f"classes must be whole numbers ({len(scores)},), got {seen}")
    outside = classes[(classes < 0) | (classes >= len(weights))]
    if len(outside):
        text = f"class must be from 0 to {len(weights) - 1} for {model.name}"
        raise InputError(f"{text}, got {int(outside[0])}")
    return ((weights > 0) & (weights == weights.amax(0)))[classes.to(scores.device).long()]


def _check_count(count: int) -> None:
    if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1:
        raise InputError(f"count must be 1 or more prototypes of each image, got {count!r}")


def nearest_images(
    model: Model,
    samples: Sequence[ImageLike],
    batch: int = 16,
    progress: Callable[[int], None] | None = None,
) -> list[Nearest]:
    """Return for each prototype the most similar cell of a set of images.

    Of equal ones that of the first image counts.

    Parameters
    ----------
    model : Model
        With prototypes.
    samples : sequence of images
        The projection set.
    batch : int
        Images of a forward pass.
    progress : callable, optional
        Called with the number of images seen so far, after each batch.
    """
    found: list[Nearest] = []
    seen = 0
    for inputs in model.batches(samples, batch):
        new = _nearest_of_batch(similarity_maps(model, inputs.pixels), seen)
        found = [
            one if one.similarity > old.similarity else old
            for one, old in zip(new, found or new, strict=True)
        ]
        seen += len(inputs.pixels)
        if progress is not None:
            progress(seen)
    if not found:
        raise InputError("samples must hold at least one image, got none")
    return found


def _nearest_of_batch(maps: Tensor, seen: int) -> list[Nearest]:
    """Return for each prototype the most similar cell of a batch, of which `seen` went before."""
    scores, places = _best_cells(maps)
    images = scores.argmax(0)  # names the first of equal ones
    tops, best = (array.gather(0, images[None])[0] for array in (scores, places))
    rows, columns = _cells(best, maps).T.tolist()
    listed = zip(images.tolist(), rows, columns, tops.tolist(), strict=True)
    return [
        Nearest(number, seen + image, (row, column), value)
        for number, (image, row, column, value) in enumerate(listed)
    ]


def first_maxima(maps: Tensor) -> Tensor:
    """Return row and column of the largest value of each map `(n, rows, columns)`: `(n, 2)`.

    Of equal ones the first in reading order.
    """
    return _cells(maps.flatten(1).argmax(1), maps)


def _best_cells(maps: Tensor) -> tuple[Tensor, Tensor]:
    """Return of each map the largest value and the first place of it in reading order."""
    flat = maps.flatten(2)
    places = flat.argmax(2)
    return flat.gather(2, places[..., None])[..., 0], places


def _cells(places: Tensor, maps: Tensor) -> Tensor:
    """Return rows and columns of places in reading order."""
    columns = maps.shape[-1]
    return torch.stack([places // columns, places % columns], dim=-1)
