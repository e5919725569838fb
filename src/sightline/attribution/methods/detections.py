"""Detections: which parts of an image a detector needs for a box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn import functional

from sightline.attribution.methods.boxes import checked_box, show_box
from sightline.attribution.methods.methods import METHODS, Found, Request, register
from sightline.attribution.methods.perturbation import rise_maps
from sightline.attribution.methods.targets import Goal, first_of, needs_classes
from sightline.core import InputError
from sightline.core.errors import shown
from sightline.core.registry import Registry
from sightline.models.preprocess import as_image

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from sightline.attribution.methods.methods import Method
    from sightline.core.geometry import Geometry
    from sightline.models import Detections, Inputs, Model, Output
    from sightline.models.preprocess import ImageLike

    Box = tuple[float, float, float, float]

__all__ = [
    "Detected",
    "Detection",
    "MostConfident",
    "check_detection",
    "is_detection",
    "lacking_for",
    "read_detections",
]


@dataclass(frozen=True)
class Detected:
    """A target: a detection, real or wished for, of which a detector is asked what it needs.

    Attributes
    ----------
    box : (x0, y0, x1, y1), optional
        Corners in pixels of the image. Without them, the most confident detection is meant.
    label : str or int, optional
        The class, by name or number. With a box, None leaves open what is in it; without one, it
        means the most confident detection of any class.

    Examples
    --------
    >>> Detected((10, 20, 60, 80), "tower")
    Detected(box=(10, 20, 60, 80), label='tower')
    """

    box: Box | None = None
    label: str | int | None = None


def is_detection(target: Any) -> bool:
    """Return whether a target is a detection: "detection", or `Detected`."""
    return isinstance(target, Detected) or (isinstance(target, str) and target == "detection")


def check_detection(method: str, target: Any) -> None:
    """Raise where a method that explains detections is asked for something else."""
    first = first_of(target)
    if not is_detection(first) and not (isinstance(first, str) and first == "predicted"):
        raise InputError(
            f"method {method!r} explains detections: target must be 'detection', the most "
            f"confident one, or Detected(box, label), got {shown(first)}"
        )


def lacking_for(card: Method, model: Model, target: Any) -> list[str]:
    """Return what a model lacks for a method that is to explain a target."""
    lacking = card.lacks(model, classless=not needs_classes(target))
    if lacking or not card.explains:
        return lacking
    if is_detection(target):
        return [] if model.detects else ["detections"]
    named = not (isinstance(target, str) and target == "predicted")
    if named and "detections" in card.needs:
        return ["a detection as target"]
    return ["classes"] if named and needs_classes(target) and not model.classes else []


def read_detections(model: Model, images: Sequence[ImageLike], targets: Sequence[Any]) -> Goal:
    """Return the goal of targets that are detections, one for each image.

    Raises
    ------
    InputError
        If the model detects nothing, a label is not one of its classes, or a box does not lie on
        what the model sees of its image.
    """
    if not model.detects:
        fitting = "a detector is loaded by 'hf:', or with a Description that has detect"
        raise InputError(
            f"target 'detection' needs detections, which {model.name} has not; {fitting}"
        )
    wanted = [one if isinstance(one, Detected) else Detected() for one in targets]
    labels = [_label(model, one.label) for one in wanted]
    boxes = [one.box for one in wanted if one.box is not None]
    if not boxes:
        return MostConfident(torch.tensor(labels, device=model.device), model.detects)
    if len(boxes) < len(wanted):
        raise InputError("targets must all have a box where one has, or be 'detection'")
    shares = [_on_input(model, *pair) for pair in zip(images, boxes, strict=True)]
    one_hot = functional.one_hot(torch.tensor(labels) + 1, len(model.detects) + 1)[:, 1:]
    return Detection(
        torch.tensor(np.array(shares), device=model.device, dtype=model.dtype),
        one_hot.to(model.device, model.dtype),
        tuple("detected box" if number < 0 else _named(model, number) for number in labels),
    )


def _named(model: Model, number: int) -> str:
    return f"detected {model.detects[number]}"


def _label(model: Model, label: Any) -> int:
    """Return the number of a class; -1 where none is named."""
    if label is None:
        return -1
    if isinstance(label, str):
        known: Registry[int] = Registry(f"class of the detections of {model.name}")
        for number, name in enumerate(model.detects):
            known.add(name if model.detects.count(name) == 1 else f"{name} ({number})", number)
        return known[label]
    whole = isinstance(label, int | np.integer) and not isinstance(label, bool)
    if not whole or not 0 <= label < len(model.detects):
        last = len(model.detects) - 1
        raise InputError(
            f"label of a detection must be a class by name or a number from 0 to {last} for "
            f"{model.name}, got {shown(label)}"
        )
    return int(label)


def _on_input(model: Model, image: ImageLike, box: Any) -> Box:
    """Return corners of a box of an image as shares of the model's input."""
    height, width = as_image(image).shape[:2]
    corners = checked_box(box, width, height)
    geometry: Geometry = model.preprocess.geometry(width, height, model.patch)
    x, y = geometry.to_input(corners[0::2], corners[1::2])
    x, y = np.clip(x / geometry.size[0], 0, 1), np.clip(y / geometry.size[1], 0, 1)
    if x[0] >= x[1] or y[0] >= y[1]:
        seen = ", ".join(f"{share:.2f}" for share in geometry.visible_box)
        raise InputError(
            f"box {show_box(corners)} lies where {model.name} sees nothing of the image: it sees "
            f"the part {seen} (shares of the image); use fit 'squash' or 'letterbox'"
        )
    return float(x[0]), float(y[0]), float(x[1]), float(y[1])


@dataclass(frozen=True, eq=False)
class Detection(Goal):
    """How like a detection the network's likest proposal is, for each image.

    The largest, over all proposals, of: intersection over union of the boxes, times the cosine of
    the classes' probabilities, times how sure the network is of the proposal, where it says.

    Attributes
    ----------
    boxes : Tensor (batch, 4)
        Corners as shares of the input.
    probabilities : Tensor (batch, classes)
        Of the classes. All 0 where the class does not matter; the cosine is then 1.
    labels : tuple of str
        How results call it.
    """

    boxes: Tensor
    probabilities: Tensor
    labels: tuple[str, ...]

    def scores(self, output: Output) -> Tensor:
        """Return the similarity of each image's likest proposal."""
        found = _detections(output)
        alike = _overlap(self.boxes[:, None], found.boxes)
        wanted = functional.normalize(self.probabilities, dim=-1)[:, None]
        cosine = (wanted * functional.normalize(found.probabilities, dim=-1)).sum(-1)
        alike = alike * torch.where(wanted.any(-1), cosine, 1)
        if found.objectness is not None:
            alike = alike * found.objectness
        return alike.amax(1)

    def take(self, rows: Tensor) -> Goal:
        """Return the detections of some images."""
        labels = tuple(self.labels[row] for row in rows.tolist())
        return Detection(self.boxes[rows], self.probabilities[rows], labels)

    def names(self, classes: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the detections."""
        return self.labels


@dataclass(frozen=True, eq=False)
class MostConfident(Goal):
    """The detection that the network is most confident of, for each image.

    Attributes
    ----------
    numbers : Tensor (batch,)
        Of classes; -1 for any.
    classes : tuple of str
        Names of all classes.
    """

    numbers: Tensor
    classes: tuple[str, ...]
    is_open = True

    def settled(self, output: Output) -> Goal:
        """Return the most confident detections of the output."""
        found = _detections(output)
        sure = found.probabilities
        if found.objectness is not None:
            sure = sure * found.objectness[..., None]
        asked = self.numbers.clamp(min=0)[:, None, None].expand(-1, sure.shape[1], 1)
        of_class = torch.where(
            self.numbers[:, None] < 0, sure.amax(2), sure.gather(2, asked)[..., 0]
        )
        rows = torch.arange(len(sure), device=sure.device), of_class.argmax(1)
        boxes, probabilities = found.boxes[rows].detach(), found.probabilities[rows].detach()
        likely = torch.where(self.numbers < 0, probabilities.argmax(1), self.numbers).tolist()
        return Detection(
            boxes, probabilities, tuple(f"detected {self.classes[number]}" for number in likely)
        )

    def scores(self, output: Output) -> Tensor:
        """Return the similarity of the most confident detections to themselves."""
        return self.settled(output).scores(output)

    def take(self, rows: Tensor) -> Goal:
        """Return the goal of some images."""
        return MostConfident(self.numbers[rows], self.classes)

    def names(self, classes: Sequence[str]) -> tuple[str, ...]:
        """Raise: what is detected is known once the images were seen."""
        raise RuntimeError("a goal has names once it is settled")


def _detections(output: Output) -> Detections:
    if output.detections is None:
        raise InputError("the network gave no detections")
    if not output.detections.boxes.shape[1]:
        raise InputError("the network proposes no box; D-RISE needs its proposals, sure or not")
    return output.detections


def _overlap(one: Tensor, other: Tensor) -> Tensor:
    """Return the intersection over union of boxes; 0 where both are empty."""
    corner = torch.minimum(one[..., 2:], other[..., 2:]) - torch.maximum(
        one[..., :2], other[..., :2]
    )
    common = corner.clamp(min=0).prod(-1)
    areas = ((box[..., 2:] - box[..., :2]).clamp(min=0).prod(-1) for box in (one, other))
    union = sum(areas) - common
    return common / torch.where(union > 0, union, 1)


@register(
    "drise",
    what="How much more like a detection the detector's likest proposal is, among randomly masked "
    "images, where a pixel is shown.",
    group="perturbation",
    sign="signed",
    needs=("detections",),
    cost="masks (500), and 1",
    params={name: value for name, value in METHODS["rise"].params.items() if name != "of"},
    about={name: text for name, text in METHODS["rise"].about.items() if name != "of"},
    paper="Petsiuk et al. 2021, arXiv:2006.03204",
)
def drise(model: Model, inputs: Inputs, request: Request) -> Found:
    """Return the maps of RISE for the likeness of proposals to a detection."""
    return rise_maps(model, inputs, request, probability=False)
