"""The one table of methods: how maps are made, and what is known about each way."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from sightline.records import InputError
from sightline.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.random import Generator
    from torch import Tensor

    from sightline.maps.maps import Maps
    from sightline.models import Inputs, Model

__all__ = [
    "Found",
    "METHODS",
    "Method",
    "Request",
    "class_score",
    "number",
    "random_of",
    "register",
    "whole_number",
]


class Request(NamedTuple):
    """What a method is asked for.

    Attributes
    ----------
    layers : tuple of int
        Empty for a method without layers.
    heads : tuple of int or None
        None fuses them.
    targets : Tensor (batch,) or None
        Numbers of the classes to explain; None for those that the model predicts.
    params : mapping
        Parameters of the method, complete.
    batch : int
        How many images may be in memory at once, with all that gradients need.
    """

    layers: tuple[int, ...]
    heads: tuple[int, ...] | None
    targets: Tensor | None
    params: Mapping[str, Any]
    batch: int


class Found(NamedTuple):
    """What a method returns.

    Attributes
    ----------
    maps : list of Tensor (batch, heads, rows, columns)
        One for each layer asked for; a single one where the method has no layers.
    targets : Tensor (batch,) or None
        Numbers of the classes explained.
    """

    maps: list[Tensor]
    targets: Tensor | None = None


MapFunction: TypeAlias = "Callable[[Model, Inputs, Request], Found]"
Needs: TypeAlias = Literal["attention", "class token", "pooling", "classes", "layers"]


@dataclass(frozen=True)
class Method:
    """A way to make a map.

    Attributes
    ----------
    name : str
        As given to `explain`.
    function : callable
        Makes the maps of a batch.
    what : str
        What the map shows, in one sentence.
    group : {"attention", "gradient", "cam", "baseline"}
        Its kin.
    sign : {"positive", "absolute", "signed"}
        How its values are meant to be read: by default, rows score them so.
    needs : tuple of str
        What a model must have: "attention", "class token", "pooling", "classes", "layers".
    gradients : bool
        Whether it runs the network backward.
    cost : str
        In forward passes of the network.
    layered, headed : bool
        Whether it has a map for each layer, and for each head.
    params, about : dict
        Parameters with their default values, and what each means.
    paper : str
        Where it comes from.
    of_maps : callable, optional
        For a method made from another's maps: turns the `Maps` of method `params["of"]` into its
        own; `function` is not called.
    """

    name: str
    function: MapFunction = field(repr=False)
    what: str
    group: Literal["attention", "gradient", "cam", "baseline"]
    sign: Literal["positive", "absolute", "signed"]
    needs: tuple[Needs, ...] = ()
    gradients: bool = False
    cost: str = "1"
    layered: bool = False
    headed: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    paper: str = ""
    of_maps: Callable[[Maps], Maps] | None = field(default=None, repr=False)

    def lacks(self, model: Model) -> list[str]:
        """Return which of its needs a model does not meet."""
        met = {
            "attention": model.heads > 0,
            "class token": model.has_class_token,
            "pooling": model.pool is not None,
            "classes": bool(model.classes),
            "layers": bool(model.layers),
        }
        return [need for need in self.needs if not met[need]]

    def check_fits(self, model: Model) -> None:
        """Raise where the model lacks what the method needs; methods that work are named."""
        lacking = self.lacks(model)
        if lacking:
            works = [m for m in METHODS.values() if not m.lacks(model)]
            works = [m for m in works if m.group != "baseline"] or works
            works.sort(key=lambda m: m.group != self.group)
            raise InputError(
                f"method {self.name!r} needs {' and '.join(lacking)}, which {model.name} does not "
                f"have; methods that work with it: {', '.join(repr(m.name) for m in works)}"
            )

    def with_defaults(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the parameters, those given over the defaults."""
        if given and not self.params:
            raise InputError(f"method {self.name!r} takes no parameters, got {', '.join(given)}")
        known: Registry[Any] = Registry(f"parameter of {self.name!r}")
        for name, value in self.params.items():
            known.add(name, value)
        for name in given or {}:
            known[name]  # raises for an unknown name
        return {**self.params, **(given or {})}


METHODS: Registry[Method] = Registry("method")


def register(name: str, **card: Any) -> Callable[[MapFunction], MapFunction]:
    """Add the decorated function to `METHODS` under `name`, with its card."""

    def add(function: MapFunction) -> MapFunction:
        METHODS.add(name, Method(name, function, **card))
        return function

    return add


def class_score(logits: Tensor | None, targets: Tensor | None) -> tuple[Tensor, Tensor]:
    """Return the sum over the batch of the logits of the targets, and the targets.

    Without targets, each image's is the class with the largest logit.
    """
    if logits is None:
        raise InputError("the network gave no logits")
    chosen = logits.argmax(1) if targets is None else targets
    return logits.gather(1, chosen[:, None]).sum(), chosen


def number(request: Request, name: str, least: float, most: float = inf) -> float:
    """Return a parameter that must be a number from `least` to `most`."""
    value = request.params[name]
    real = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not real or not least <= value <= most or value == inf:
        limits = f"{least} or more" if most == inf else f"from {least} to {most}"
        raise InputError(f"{name} must be a number, {limits}, got {value!r}")
    return float(value)


def whole_number(request: Request, name: str, least: int = 0) -> int:
    """Return a parameter that must be a whole number, `least` or more."""
    value = request.params[name]
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise InputError(f"{name} must be a whole number, {least} or more, got {value!r}")
    return int(value)


def random_of(key: int, request: Request) -> Generator:
    """Return the source of random numbers of one image: its key with the parameter `seed`."""
    return np.random.default_rng([key, whole_number(request, "seed")])
