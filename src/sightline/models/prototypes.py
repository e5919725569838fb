"""Networks that decide by prototypes: patches of training images that an image is compared with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import torch
from torch import nn

from sightline.core import InputError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from sightline.models.model import Model

__all__ = [
    "HasPrototypes",
    "PrototypeNetwork",
    "PrototypePatch",
    "Source",
    "load_prototypes",
    "prototype_patches",
    "prototypes_of",
]

WEIGHTS, CARD = "prototypes.safetensors", "card.json"
# How near a similarity can come to infinity: that of a distance of 0 is log(1 / EPSILON), 9.21.
EPSILON = 1e-4


@runtime_checkable
class HasPrototypes(Protocol):
    """What a network must have for its prototypes to be analysed.

    `PrototypeNetwork` has it; a network of your own needs these two, and comes in through
    ``load_model(network, Description(...))``. An attribute `sources`, a tuple of `Source`, may say
    where the prototypes were taken from.

    Examples
    --------
    >>> import torch
    >>> from sightline.models import HasPrototypes, PrototypeNetwork
    >>> trunk = torch.nn.Conv2d(3, 2, 4, 4)
    >>> network = PrototypeNetwork(trunk, torch.nn.Sigmoid(), torch.rand(6, 2), torch.rand(3, 6))
    >>> isinstance(network, HasPrototypes), isinstance(trunk, HasPrototypes)
    (True, False)
    """

    @property
    def class_weights(self) -> Tensor:
        """What the similarity to each prototype says for each class: `(classes, prototypes)`."""
        ...

    def similarities(self, pixels: Tensor) -> Tensor:
        """Return how similar each cell is to each prototype: `(batch, prototypes, h, w)`."""
        ...


def prototypes_of(model: Model) -> HasPrototypes:
    """Return the network of a model that decides by prototypes.

    Raises
    ------
    InputError
        If it has no `similarities` or no `class_weights`, or these are not `(classes, prototypes)`.

    Examples
    --------
    >>> from sightline.models import load_model
    >>> prototypes_of(load_model("demo/vit"))
    Traceback (most recent call last):
        ...
    sightline.core.errors.InputError: demo/vit has no prototypes: its network lacks
    similarities(pixels) and class_weights; one that has them is demo/protopnet
    """
    # Not by isinstance: from Python 3.12 on it does not see the parameters of a module.
    network: Any = model.network
    lacking = [] if callable(getattr(network, "similarities", None)) else ["similarities(pixels)"]
    weights: Any = getattr(network, "class_weights", None)
    if not isinstance(weights, torch.Tensor):
        lacking.append("class_weights")
    if lacking:
        lacks = f"{model.name} has no prototypes: its network lacks {' and '.join(lacking)}"
        raise InputError(f"{lacks}; one that has them is demo/protopnet")
    shape, classes = tuple(weights.shape), len(model.classes)
    if len(shape) != 2 or 0 in shape or (classes and shape[0] != classes):
        wanted = f"class_weights must be ({classes or 'classes'}, prototypes)"
        raise InputError(f"{model.name}: {wanted}, got {shape}")
    return network  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Source:
    """Where a prototype was taken from.

    Attributes
    ----------
    label : str
        The class of the image.
    seed, index : int
        The facade: `Facade.generate(seed, index)`.
    cell : (row, column)
        Of the grid on which similarities lie.
    box : (x0, y0, x1, y1)
        The pixels behind the cell. The feature sees beyond them.
    similarity : float
        Of the prototype to that cell: the largest there is, since it was taken from there.
    parts : tuple of str
        The part types that are seen in the box.
    """

    label: str
    seed: int
    index: int
    cell: tuple[int, int]
    box: tuple[int, int, int, int]
    similarity: float
    parts: tuple[str, ...] = ()


def similarity(squares: Tensor) -> Tensor:
    """Return the similarity at squared distances: from 9.21 where they are 0 down to 0."""
    return ((squares + 1) / (squares + EPSILON)).log()


class PrototypeNetwork(nn.Module):  # type: ignore[misc]
    """A classifier that compares every cell of an image with prototypes.

    The similarity of a cell to a prototype is ``log((d² + 1) / (d² + 0.0001))``, where d is their
    distance. The most similar cell counts, and a linear layer without bias weighs the prototypes.

    Parameters
    ----------
    trunk : nn.Sequential
        From pixels to features `(batch, channels, rows, columns)`.
    add_on : nn.Module
        From these to the features that prototypes are compared with.
    prototypes : Tensor (prototypes, channels)
        What cells are compared with.
    class_weights : Tensor (classes, prototypes)
        What the similarity to each prototype says for each class.
    sources : sequence of Source
        Where the prototypes were taken from, if they were.

    References
    ----------
    Chen et al. 2019, This looks like that, arXiv:1806.10574.

    Examples
    --------
    >>> import torch
    >>> trunk = torch.nn.Sequential(torch.nn.Conv2d(3, 2, 4, 4))
    >>> network = PrototypeNetwork(trunk, torch.nn.Sigmoid(), torch.rand(6, 2), torch.rand(3, 6))
    >>> network.similarities(torch.rand(5, 3, 16, 8)).shape
    torch.Size([5, 6, 4, 2])
    >>> network(torch.rand(5, 3, 16, 8)).shape
    torch.Size([5, 3])
    """

    def __init__(
        self,
        trunk: nn.Sequential,
        add_on: nn.Module,
        prototypes: Tensor,
        class_weights: Tensor,
        sources: tuple[Source, ...] = (),
    ) -> None:
        super().__init__()
        if prototypes.ndim != 2 or class_weights.ndim != 2 or not len(prototypes):
            raise InputError(
                "prototypes must be (prototypes, channels) and class_weights (classes, prototypes)"
                f", got {tuple(prototypes.shape)} and {tuple(class_weights.shape)}"
            )
        if class_weights.shape[1] != len(prototypes):
            seen = f"{class_weights.shape[1]} for {len(prototypes)} prototypes"
            raise InputError(f"class_weights must have a column for each prototype, got {seen}")
        self.trunk = trunk
        self.add_on = add_on
        self.prototypes = nn.Parameter(prototypes.clone())
        self.classifier = nn.Linear(*class_weights.shape[::-1], bias=False)
        self.classifier.weight = nn.Parameter(class_weights.clone())
        self.sources = sources

    @property
    def class_weights(self) -> Tensor:
        """What the similarity to each prototype says for each class: `(classes, prototypes)`."""
        return self.classifier.weight.detach()

    def distances(self, features: Tensor) -> Tensor:
        """Return squared distances of what the add-on gives: `(batch, prototypes, h, w)`."""
        cells = features.flatten(2).transpose(1, 2)
        # Differences are squared: a² - 2ab + b² would leave something of an exact match.
        exact = "donot_use_mm_for_euclid_dist"
        squares = torch.cdist(cells, self.prototypes, compute_mode=exact).square()
        return squares.transpose(1, 2).unflatten(2, features.shape[2:])

    def similarities(self, pixels: Tensor) -> Tensor:
        """Return how similar each cell is to each prototype: `(batch, prototypes, h, w)`."""
        return similarity(self.distances(self.add_on(self.trunk(pixels))))

    def forward(self, pixels: Tensor) -> Tensor:
        """Return the logits `(batch, classes)`."""
        return self.classify(self.similarities(pixels))

    def classify(self, similarities: Tensor) -> Tensor:
        """Return the logits `(batch, classes)` of similarities `(batch, prototypes, h, w)`."""
        return self.classifier(similarities.amax((2, 3)))


@dataclass(frozen=True, eq=False)
class PrototypePatch:
    """The piece of a training image that a prototype is.

    Attributes
    ----------
    number : int
        Of the prototype.
    source : Source
        Class, image, cell and box.
    weights : dict
        What the similarity to it says for each class, by name, or number where there are none.
    image : array of uint8 (height, width, 3)
        The whole image.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.models import PrototypePatch
    >>> from sightline.models.prototypes import Source
    >>> source = Source("Gothic", seed=1, index=2, cell=(0, 0), box=(0, 0, 16, 16), similarity=9)
    >>> patch = PrototypePatch(0, source, {"Gothic": 1.0}, np.zeros((64, 64, 3), np.uint8))
    >>> patch.crop().shape, patch.crop(margin=4).shape
    ((16, 16, 3), (20, 20, 3))
    """

    number: int
    source: Source
    weights: dict[str, float]
    image: NDArray[np.uint8]

    def crop(self, margin: int = 0) -> NDArray[np.uint8]:
        """Return the pixels of its box with a margin around, as far as the image goes."""
        x0, y0, x1, y1 = self.source.box
        rows = slice(max(y0 - margin, 0), y1 + margin)
        return self.image[rows, max(x0 - margin, 0) : x1 + margin].copy()


def prototype_patches(model: Model) -> tuple[PrototypePatch, ...]:
    """Return the pieces of training images that the prototypes of a model are; drawn again.

    Raises
    ------
    InputError
        If the model has no prototypes, or does not say of each where it is from (`sources`).

    Examples
    --------
    >>> import torch
    >>> from sightline.models import Description, Preprocess, load_model
    >>> trunk = torch.nn.Sequential(torch.nn.Conv2d(3, 2, 16, 16))
    >>> source = Source("Gothic", seed=1, index=2, cell=(3, 4), box=(64, 48, 80, 64), similarity=9)
    >>> network = PrototypeNetwork(
    ...     trunk, torch.nn.Sigmoid(), torch.rand(1, 2), torch.ones(1, 1), (source,)
    ... )
    >>> told = Description(["trunk.0"], Preprocess(size=(224, 224)), 16, ["Gothic"])
    >>> prototype_patches(load_model(network, told))[0].crop(margin=8).shape
    (32, 32, 3)
    """
    network = prototypes_of(model)
    sources: Any = getattr(network, "sources", ())
    if not sources or not all(isinstance(one, Source) for one in sources):
        raise InputError(f"{model.name} does not say where its prototypes are from")
    weights = network.class_weights.detach().T.tolist()
    if len(sources) != len(weights):
        seen = f"{len(sources)} for {len(weights)}"
        raise InputError(f"{model.name}: sources must be one for each prototype, got {seen}")
    classes = model.classes or tuple(map(str, range(len(weights[0]))))
    return tuple(
        PrototypePatch(
            number,
            source,
            dict(zip(classes, row, strict=True)),
            _drawn(source.seed, source.index).copy(),
        )
        for number, (source, row) in enumerate(zip(sources, weights, strict=True))
    )


@lru_cache(64)
def _drawn(seed: int, index: int) -> NDArray[np.uint8]:
    from sightline.data.facades import Facade

    return Facade.generate(seed, index).image()


def make_trunk(base: Model, stages: int) -> nn.Sequential:
    """Return the first stages of a ResNet of transformers, with what comes before them."""
    inside: Any = base.network.base_model
    return nn.Sequential(inside.embedder, *inside.encoder.stages[:stages])


def make_add_on(channels: int, width: int) -> nn.Sequential:
    """Return two 1x1 layers that end between 0 and 1, as in the paper."""
    return nn.Sequential(
        nn.Conv2d(channels, width, 1), nn.ReLU(), nn.Conv2d(width, width, 1), nn.Sigmoid()
    )


def load_prototypes(name: str, folder: Path) -> Model:
    """Return a prototype network that ships: the head in the folder on the network it names.

    Raises
    ------
    InputError
        If the weights of the network that it was trained on are others.
    """
    from safetensors.torch import load_file

    from sightline.models.cards import MODELS
    from sightline.models.load import Description, load_model

    card = json.loads((folder / CARD).read_text("utf-8"))
    base = MODELS[card["base"]].load()
    _check_base(name, card)
    head = {key: value.float() for key, value in load_file(folder / WEIGHTS).items()}
    with torch.random.fork_rng(devices=[]):  # layers draw numbers before they are filled
        network = _joined(base, card, head)
    stages = range(1, card["stages"] + 1)
    described = Description(
        layers=[*(f"trunk.{stage}" for stage in stages), "add_on"],
        preprocess=base.preprocess,
        patch=card["patch"],
        classes=base.classes,
        name=name,
    )
    return load_model(network.eval(), described)


def _check_base(name: str, card: dict[str, Any]) -> None:
    """Raise where the file of the base has changed: names in it do not depend on versions."""
    from sightline.models.cards import DEMO

    file = DEMO / card["base"].removeprefix("demo/") / "model.safetensors"
    seen = sha256(file.read_bytes()).hexdigest()
    if seen != card["base_weights"]:
        wanted = f"weights {card['base_weights'][:16]}, got {seen[:16]}"
        raise InputError(f"{name} was trained on {card['base']} with {wanted}")


def _joined(base: Model, card: dict[str, Any], head: dict[str, Tensor]) -> PrototypeNetwork:
    """Return the network of a trunk and the tensors of a head."""
    width, channels = head["add_on.0.weight"].shape[:2]
    add_on = make_add_on(channels, width)
    add_on.load_state_dict(
        {key.removeprefix("add_on."): head[key] for key in head if key.startswith("add_on.")}
    )
    sources = tuple(_source(row) for row in card["prototypes"])
    trunk = make_trunk(base, card["stages"])
    return PrototypeNetwork(trunk, add_on, head["prototypes"], head["classifier.weight"], sources)


def _source(row: dict[str, Any]) -> Source:
    """Return a row of the card; JSON has lists alone."""
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in row.items()
    }
    return Source(**values)
