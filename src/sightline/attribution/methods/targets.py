"""What a map explains: one number for each image, and how it is asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import torch
from torch.nn import functional

from sightline.core import InputError, Sample
from sightline.core.errors import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from sightline.attribution.methods.detections import Detected
    from sightline.models import Model, Output
    from sightline.models.preprocess import ImageLike

__all__ = [
    "Classes",
    "Embeddings",
    "Goal",
    "Similar",
    "Target",
    "first_of",
    "needs_classes",
    "read_target",
]


class Goal(ABC):
    """What the maps of a batch explain: one number for each image.

    It is open while only a pass of the unchanged images can tell what it is.
    """

    is_open: ClassVar[bool] = False

    def settled(self, output: Output) -> Goal:
        """Return the goal once the network has seen the images unchanged.

        What is to be predicted becomes what this output predicts.
        """
        return self

    @abstractmethod
    def scores(self, output: Output) -> Tensor:
        """Return the number of each image `(batch,)`; gradients flow through it."""

    @abstractmethod
    def take(self, rows: Tensor) -> Goal:
        """Return the goal of some images by number, each as often as it is named."""

    @abstractmethod
    def names(self, classes: Sequence[str]) -> tuple[str, ...]:
        """Return what is explained in words, one for each image."""


@dataclass(frozen=True, eq=False)
class Classes(Goal):
    """The logit of a class for each image: its number in `numbers`, `(batch,)`."""

    numbers: Tensor

    def scores(self, output: Output) -> Tensor:
        """Return the logits of the classes."""
        return _logits(output).gather(1, self.numbers[:, None])[:, 0]

    def take(self, rows: Tensor) -> Goal:
        """Return the classes of some images."""
        return Classes(self.numbers[rows])

    def names(self, classes: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the classes."""
        return tuple(classes[number] for number in self.numbers.tolist())


class _Unsettled(Goal):
    is_open = True

    def scores(self, output: Output) -> Tensor:
        return self.settled(output).scores(output)

    def take(self, rows: Tensor) -> Goal:
        return self

    def names(self, classes: Sequence[str]) -> tuple[str, ...]:
        raise RuntimeError("a goal has names once it is settled")


class Predicted(_Unsettled):
    """The class with the largest logit."""

    def settled(self, output: Output) -> Goal:
        """Return the classes that the output predicts."""
        return Classes(_logits(output).argmax(1))


class Own(_Unsettled):
    """The embedding that the network gives each image."""

    def settled(self, output: Output) -> Goal:
        """Return the embeddings of the output."""
        vectors = _embedding(output).detach()
        return Embeddings(vectors, ("embedding",) * len(vectors))


@dataclass(frozen=True, eq=False)
class Embeddings(Goal):
    """How far the network's embedding reaches in a direction: that of `vectors`, `(batch, n)`.

    An inner product with the unit vector. A cosine would be flat where an image is compared with
    itself, so that gradients say nothing.
    """

    vectors: Tensor
    labels: tuple[str, ...]

    def scores(self, output: Output) -> Tensor:
        """Return the inner products."""
        return (_embedding(output) * functional.normalize(self.vectors, dim=1)).sum(1)

    def take(self, rows: Tensor) -> Goal:
        """Return the directions of some images."""
        return type(self)(self.vectors[rows], tuple(self.labels[row] for row in rows.tolist()))

    def names(self, classes: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the directions."""
        return self.labels


@dataclass(frozen=True, eq=False)
class Patches(Embeddings):
    """How far the mean of the patches reaches in a direction: that of the features of a region."""

    def scores(self, output: Output) -> Tensor:
        """Return the inner products."""
        mean = output.features.mean((2, 3))
        return (mean * functional.normalize(self.vectors, dim=1)).sum(1)


def _logits(output: Output) -> Tensor:
    if output.logits is None:
        raise InputError("the network gave no logits")
    return output.logits


def _embedding(output: Output) -> Tensor:
    if output.embedding is None:
        raise InputError("the network gave no embedding")
    return output.embedding


@dataclass(frozen=True, eq=False)
class Similar:
    """A target: what makes images similar to this one, by the model's embedding of it.

    Attributes
    ----------
    image : array, path, PIL image or sample
        The image to be similar to.
    name : str
        How results call it.
    box : four numbers, Region or array of bool (height, width), optional
        A region of it, as `similarity` takes it: then the mean of the patches is compared with the
        mean feature of the region, in place of the embeddings.

    Examples
    --------
    >>> from sightline import explain, load_dataset
    >>> from sightline.attribution.methods import Similar
    >>> churches = load_dataset("facades", count=2, seed=0)
    >>> maps = explain("demo/vit-dino", churches[0], "saliency", target=Similar(churches[1]))
    >>> maps.targets
    ('similar',)
    """

    image: ImageLike
    name: str = "similar"
    box: Any = None


Target: TypeAlias = "str | int | Similar | Detected"


def first_of(target: Any) -> Any:
    """Return the first of several targets, or the one for all images."""
    return target[0] if _are_several(target) and len(target) else target


def _are_several(target: Any) -> bool:
    """Return whether there is a target for each image; an array may hold just a number."""
    return isinstance(target, list | tuple) or (isinstance(target, np.ndarray) and target.ndim > 0)


def needs_classes(target: Any) -> bool:
    """Return whether only a model with classes can be asked for a target."""
    from sightline.attribution.methods.detections import is_detection

    first = first_of(target)
    own = isinstance(first, str) and first == "embedding"
    return not (own or isinstance(first, Similar) or is_detection(first))


def read_target(model: Model, images: Sequence[ImageLike], target: Any) -> Goal:
    """Return the goal of all images: one target for all, or one for each.

    Raises
    ------
    InputError
        If a target is none that the model can be asked for.
    """
    from sightline.attribution.methods.detections import is_detection, read_detections

    several = _are_several(target)
    if several and len(target) != len(images):
        raise InputError(f"target must be one for all images, or {len(images)}, got {len(target)}")
    target = _of_one_kind(list(target)) if several else target
    if isinstance(target, str) and target == "predicted" and model.detects:
        target = "detection"  # what a detector predicts
    each = target if isinstance(target, list) else [target] * len(images)
    if is_detection(each[0]):
        return read_detections(model, images, each)
    if not needs_classes(target):
        return _embeddings(model, target, len(images))
    if isinstance(target, str) and target == "predicted":
        return Predicted()
    if isinstance(target, str) and target == "label":
        numbers = [_label(model, image) for image in images]
    else:
        numbers = [_class(model, one) for one in each]
    return Classes(torch.tensor(numbers, device=model.device))


def _of_one_kind(targets: list[Any]) -> Any:
    """Return the targets of several images, which must be of one kind; a word that all say, once.

    "predicted", "label" and "embedding" are a kind each.
    """
    from sightline.attribution.methods.detections import is_detection

    def kind(target: Any) -> str:
        if isinstance(target, Similar):
            return "Similar"
        words = isinstance(target, str) and target in ("predicted", "label", "embedding")
        return "detection" if is_detection(target) else str(target) if words else "class"

    for one in targets:
        if kind(one) != kind(targets[0]):
            raise InputError(
                "targets of several images must be of one kind: classes by name or number, or "
                f"all Similar, detections, or one word; got {targets[0]!r} and {one!r}"
            )
    return targets if kind(targets[0]) in ("class", "Similar", "detection") else targets[0]


def _embeddings(model: Model, target: Any, count: int) -> Goal:
    """Return the goal of one target that needs no classes, or of one for each image."""
    wanted = list(target) if isinstance(target, list | tuple) else [target]
    if isinstance(target, str):
        return Own()
    names, boxed = tuple(one.name for one in wanted), {one.box is not None for one in wanted}
    if len(boxed) > 1:
        raise InputError("targets must all be Similar with a box where one is, or all without")
    if boxed.pop():
        from sightline.attribution.methods.similar import region_feature

        found = torch.stack([region_feature(model, one.image, one.box) for one in wanted])
    else:
        found = model.embeddings([one.image for one in wanted])
    kind = Embeddings if wanted[0].box is None else Patches
    goal = kind(found.to(model.device, model.dtype), names)
    return goal if len(wanted) == count else goal.take(torch.zeros(count, dtype=torch.int64))


def _class(model: Model, target: Any) -> int:
    if isinstance(target, bool) or not isinstance(target, str | int | np.integer):
        raise InputError(f"target must be classes by name or number, got {shown(target)}")
    return model.class_index(target if isinstance(target, str) else int(target))


def _label(model: Model, image: ImageLike) -> int:
    if not isinstance(image, Sample):
        kind = type(image).__name__
        raise InputError(f"target 'label' needs samples of a data set, got {kind}")
    known = [label for label in image.labels if label in model.classes]
    if len(known) != 1:
        raise InputError(
            f"target 'label': image {image.image_id!r} must have one label that {model.name} "
            f"knows, got {', '.join(image.labels) or 'none'}"
        )
    return model.classes.index(known[0])
