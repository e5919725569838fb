"""From a model and images to maps."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
import torch

from sightline.attribution.methods.detections import check_detection
from sightline.attribution.methods.maps import Maps, grid_geometries
from sightline.attribution.methods.methods import METHODS, Method, Request
from sightline.attribution.methods.targets import Goal, Target, needs_classes, read_target
from sightline.core import InputError
from sightline.core.errors import shown
from sightline.models import Inputs, Model, load_model
from sightline.models.hooks import undisturbed
from sightline.models.memory import choose_batch
from sightline.models.preprocess import ImageLike, as_images

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from torch import Tensor, nn

    from sightline.attribution.methods.passes import Passed
    from sightline.core.geometry import Geometry

__all__ = ["Made", "Wanted", "explain", "make_maps"]

_Found = TypeVar("_Found")


def explain(
    model: Model | str | nn.Module,
    images: ImageLike | Sequence[ImageLike],
    method: str,
    *,
    layers: str | int | Iterable[int] = "all",
    heads: str | int | Iterable[int] | None = None,
    target: Target | Sequence[Target] = "predicted",
    params: Mapping[str, Any] | None = None,
    batch: int | None = None,
) -> Maps:
    """Return maps of where a model looks: raw, signed, on its own grid, with their geometry.

    Parameters
    ----------
    model : Model, str or nn.Module
        A model, or what `load_model` takes.
    images : image or sequence of images
        Arrays `(height, width, 3)` in 8 bits, paths, PIL images or samples of a data set.
    method : str
        A name of `METHODS`; `sightline methods` lists them.
    layers : "all", int or ints
        Counted from 0; -1 is the last. All come from one pass.
    heads : None, "all", int or ints
        None fuses the heads of a layer.
    target : "predicted", "label", class, "embedding", Similar, "detection", Detected, or several
        What methods that explain something explain: what the model predicts, the label of the
        sample, a class by name or number, or, without classes, the model's embedding of the image
        or its similarity to another; of a detector, its most confident detection or any other.
        One for all images, or one for each.
    params : mapping, optional
        Parameters of the method; its card in `METHODS` has the defaults.
    batch : int, optional
        How many images are in memory at once; chosen from free memory unless given.

    Examples
    --------
    >>> from sightline import load_dataset
    >>> samples = load_dataset("facades", count=2, seed=0)
    >>> maps = explain("demo/vit", samples, "cls", layers=[0, 11])
    >>> maps
    Maps(cls of demo/vit: 2 images x 2 layers x 1 heads)
    >>> maps.of(image=0, layer=11).shape
    (14, 14)
    >>> maps.to_image().of(image=0, layer=11).shape
    (224, 224)
    """
    card = METHODS[method]
    model = model if isinstance(model, Model) else load_model(model)
    wanted = Wanted(method, layers, heads, target, params)
    filled, todo = _filled(model, card, wanted), as_images(images)
    if not todo:
        raise InputError("images must hold at least one image, got none")
    if card.of_maps is not None:
        of = _underlying(model, card, filled["of"])
        found = explain(model, todo, of, layers=layers, heads=heads, target=target, batch=batch)
        used = {**found.params, **filled, "of": of}
        return replace(card.of_maps(found), method=method, params=used)
    asked = _Asked.of(model, todo, wanted)
    most = _batch_of(model, card, batch)
    batches = ((inputs, None, most(inputs.pixels)) for inputs in model.batches(todo, most))
    return _joined(list(asked.each(batches, _maps_of)))


@contextmanager
def _running(model: Model, card: Method) -> Iterator[None]:
    """Have a network run undisturbed, with gradients where a method needs them.

    Not in inference mode: what a network keeps from a pass must serve later passes with gradients.
    """
    normal = torch.inference_mode(False)
    with undisturbed(model.network), normal, torch.set_grad_enabled(card.gradients):
        yield


class Wanted(NamedTuple):
    """Maps to be made: what `explain` is asked for, but the model and the images.

    Attributes
    ----------
    method, layers, heads, target, params, batch
        As in `explain`.
    """

    method: str
    layers: str | int | Iterable[int] = "all"
    heads: str | int | Iterable[int] | None = None
    target: Target | Sequence[Target] = "predicted"
    params: Mapping[str, Any] | None = None
    batch: int = 1


class Made(NamedTuple):
    """Maps of one batch, where they were made.

    Attributes
    ----------
    maps : list of Tensor (batch, heads, rows, columns)
        One for each layer, float32.
    geometries : tuple of tuples of Geometry
        By image and layer.
    targets : tuple of str
        The class that each image's maps explain; empty for a method that explains none.
    """

    maps: list[Tensor]
    geometries: tuple[tuple[Geometry, ...], ...]
    targets: tuple[str, ...]

    def arrays(self) -> list[NDArray[np.float32]]:
        """Return the maps in main memory, as copies: views would keep the tensors alive."""
        return [layer.cpu().numpy().copy() for layer in self.maps]


def make_maps(
    model: Model,
    images: Sequence[ImageLike],
    batches: Iterable[tuple[Inputs, Passed | None]],
    wanted: Wanted,
) -> Generator[Made]:
    """Yield the maps of images whose inputs are there, batch by batch; `explain` gives the same.

    Parameters
    ----------
    model : Model
        Which is asked.
    images : sequence of images
        Those of all batches.
    batches : iterable of pairs
        Of inputs and what passes of them have shown.
    wanted : Wanted
        How.
    """
    asked = _Asked.of(model, images, wanted)
    yield from asked.each(((*pair, wanted.batch) for pair in batches), _made)


def _filled(model: Model, card: Method, wanted: Wanted) -> dict[str, Any]:
    """Return all parameters of a method that fits the model."""
    card.check_fits(model, classless=not needs_classes(wanted.target))
    return card.with_defaults(wanted.params)


class _Asked(NamedTuple):
    """What a model is asked for, checked; a `Request` for all batches."""

    model: Model
    card: Method
    layers: tuple[int, ...]
    heads: tuple[int, ...] | None
    goal: Goal | None
    params: dict[str, Any]

    @classmethod
    def of(cls, model: Model, images: Sequence[ImageLike], wanted: Wanted) -> _Asked:
        """Check what is wanted of the maps of some images."""
        card = METHODS[wanted.method]
        filled = _filled(model, card, wanted)
        layers = _asked_layers(model, card, wanted.layers)
        heads = _asked_heads(model, card, wanted.heads)
        goal = _asked_goal(model, card, list(images), wanted.target)
        return cls(model, card, layers, heads, goal, filled)

    def each(
        self,
        batches: Iterable[tuple[Inputs, Passed | None, int]],
        make: Callable[[Model, Method, Request, Inputs], _Found],
    ) -> Generator[_Found]:
        """Yield what is made of each batch of inputs, given with how many may be in memory."""
        done = 0
        with _running(self.model, self.card):
            for inputs, passed, most in batches:
                goal = None if self.goal is None else self.goal.take(_rows(done, inputs))
                request = Request(self.layers, self.heads, goal, self.params, most, passed)
                yield make(self.model, self.card, request, inputs)
                done += len(inputs.keys)


def _made(model: Model, card: Method, request: Request, inputs: Inputs) -> Made:
    """Return the maps of one batch where they are made."""
    found = card.function(model, inputs, request)
    maps = [layer.detach().float() for layer in found.maps]
    shapes = [(int(layer.shape[2]), int(layer.shape[3])) for layer in maps]
    ways: dict[Geometry, tuple[Geometry, ...]] = {}  # those of a batch are few
    for geometry in inputs.geometries:
        if geometry not in ways:
            ways[geometry] = grid_geometries(model.name, geometry, shapes)
    targets = () if found.goal is None else found.goal.names(model.classes)
    return Made(maps, tuple(ways[geometry] for geometry in inputs.geometries), targets)


def _batch_of(model: Model, card: Method, batch: int | None) -> Callable[[Tensor], int]:
    """Return what tells how many images like one may be in memory; one answer for each size."""
    chosen: dict[tuple[int, ...], int] = {}
    if batch is not None and (not isinstance(batch, int | np.integer) or batch < 1):
        raise InputError(f"batch must be 1 or more, got {shown(batch)}")

    def most(pixels: Tensor) -> int:
        shape = tuple(pixels.shape[1:])
        if batch is not None:
            return int(batch)
        if shape not in chosen:
            runs = card.group != "baseline"
            chosen[shape] = choose_batch(model, pixels[:1], gradients=card.gradients, runs=runs)
        return chosen[shape]

    return most


def usual_method(model: Model) -> str:
    """Return the first method of the table, baselines apart, that a model has all for."""
    for name, card in METHODS.items():
        if card.group != "baseline" and not card.lacks(model):
            return name
    raise InputError(f"no method but the baselines works with {model.name}")


def _underlying(model: Model, card: Method, of: str | None) -> str:
    """Return the method whose maps another is made from."""
    if of is not None and METHODS[of].of_maps is not None:
        raise InputError(f"{card.name} can be made of any method but itself, got {shown(of)}")
    return usual_method(model) if of is None else of


def _maps_of(model: Model, card: Method, request: Request, inputs: Inputs) -> Maps:
    """Return the maps of one batch."""
    begun = perf_counter()
    made = _made(model, card, request, inputs)
    arrays = made.arrays()
    seconds = perf_counter() - begun
    heads = request.heads if card.headed and request.heads is not None else (None,)
    return Maps(
        tuple(zip(*arrays, strict=True)),
        made.geometries,
        request.layers or (None,),
        heads,
        model.name,
        card.name,
        card.sign,
        made.targets,
        {**request.params, "batch": request.batch},
        seconds,
    )


def _joined(parts: list[Maps]) -> Maps:
    return replace(
        parts[0],
        values=tuple(chain.from_iterable(part.values for part in parts)),
        geometries=tuple(chain.from_iterable(part.geometries for part in parts)),
        targets=tuple(chain.from_iterable(part.targets for part in parts)),
        params={**parts[0].params, "batch": min(part.params["batch"] for part in parts)},
        seconds=sum(part.seconds for part in parts),
    )


def _asked_layers(model: Model, card: Method, layers: str | int | Iterable[int]) -> tuple[int, ...]:
    if card.layered:
        return model.layer_indices(layers)
    if not isinstance(layers, str) or layers != "all":
        raise InputError(
            f"method {card.name!r} has no layers: leave layers out, got {shown(layers)}"
        )
    return ()


def _asked_heads(
    model: Model, card: Method, heads: str | int | Iterable[int] | None
) -> tuple[int, ...] | None:
    if heads is None:
        return None
    if not card.headed:
        raise InputError(f"method {card.name!r} has no heads: leave heads out, got {shown(heads)}")
    return model.head_indices(heads)


def _asked_goal(model: Model, card: Method, images: list[ImageLike], target: Any) -> Goal | None:
    """Return what to explain; None for a method that explains nothing."""
    if "detections" in card.needs:
        check_detection(card.name, target)
    if card.explains:
        return read_target(model, images, target)
    if isinstance(target, str) and target == "predicted":
        return None
    raise InputError(
        f"method {card.name!r} explains no class: leave target out, got {shown(target)}"
    )


def _rows(start: int, inputs: Inputs) -> Tensor:
    return torch.arange(start, start + len(inputs.keys), device=inputs.pixels.device)
