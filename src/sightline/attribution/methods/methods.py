"""The one table of methods: how maps are made, and what is known about each way."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from sys import float_info
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import torch

from sightline.attribution.methods.heads import linear_head
from sightline.core import InputError
from sightline.core.errors import shown
from sightline.core.limits import PARAMETER_LIMITS
from sightline.core.registry import Registry, over_defaults

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.random import Generator
    from torch import Tensor

    from sightline.attribution.methods.maps import Maps
    from sightline.attribution.methods.passes import Passed
    from sightline.attribution.methods.targets import Goal
    from sightline.core.choices import Sign
    from sightline.models import Inputs, Model

__all__ = [
    "Found",
    "METHODS",
    "Method",
    "RELUS",
    "Request",
    "asked_goal",
    "check_number",
    "check_whole",
    "clean_goal",
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
    goal : Goal or None
        What to explain; None for a method that explains nothing.
    params : mapping
        Parameters of the method, complete.
    batch : int
        How many images may be in memory at once, with all that gradients need.
    passed : Passed or None
        What a pass of these images has shown, to which methods add what theirs shows.
    """

    layers: tuple[int, ...]
    heads: tuple[int, ...] | None
    goal: Goal | None
    params: Mapping[str, Any]
    batch: int
    passed: Passed | None = None


class Found(NamedTuple):
    """What a method returns.

    Attributes
    ----------
    maps : list of Tensor (batch, heads, rows, columns)
        One for each layer asked for; a single one where the method has no layers.
    goal : Goal or None
        What was explained, settled.
    """

    maps: list[Tensor]
    goal: Goal | None = None


MapFunction: TypeAlias = "Callable[[Model, Inputs, Request], Found]"
Needs: TypeAlias = Literal[
    "attention", "class token", "pooling", "classes", "layers", "linear head", "ReLU", "detections"
]
# The modules that count as ReLUs: those cut off above, too.
RELUS = (torch.nn.ReLU, torch.nn.ReLU6)


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
    group : {"attention", "gradient", "cam", "perturbation", "baseline"}
        Its kin.
    sign : {"positive", "absolute", "signed"}
        How its values are meant to be read: by default, rows score them so; of signed ones, the
        part above zero.
    needs : tuple of str
        What a model must have: "attention", "class token", "pooling", "classes", "layers",
        "linear head" (one linear layer on the mean of the last features), "ReLU" (as modules),
        "detections". For "classes", a detector's detections will do.
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

    Examples
    --------
    >>> from sightline.attribution.methods import METHODS
    >>> method = METHODS["cls"]
    >>> method.group, method.sign, method.needs, method.layered, method.headed
    ('attention', 'positive', ('attention', 'class token'), True, True)
    """

    name: str
    function: MapFunction = field(repr=False)
    what: str
    group: Literal["attention", "gradient", "cam", "perturbation", "baseline"]
    sign: Sign
    needs: tuple[Needs, ...] = ()
    gradients: bool = False
    cost: str = "1"
    layered: bool = False
    headed: bool = False
    params: Mapping[str, Any] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    paper: str = ""
    of_maps: Callable[[Maps], Maps] | None = field(default=None, repr=False)

    @property
    def explains(self) -> bool:
        """Whether its maps are of a class, or of another target."""
        return "classes" in self.needs or "detections" in self.needs

    def lacks(self, model: Model, *, classless: bool = False) -> list[str]:
        """Return which of its needs a model does not meet.

        `classless` is for a target that needs no classes, such as an embedding.
        """
        met = {
            "attention": model.heads > 0,
            "class token": model.has_class_token,
            "pooling": model.pool is not None,
            "classes": bool(model.classes) or bool(model.detects) or classless,
            "layers": bool(model.layers),
            "detections": bool(model.detects),
            "linear head": "linear head" not in self.needs or linear_head(model) is not None,
            "ReLU": any(isinstance(module, RELUS) for module in model.network.modules()),
        }
        return [need for need in self.needs if not met[need]]

    def check_fits(self, model: Model, *, classless: bool = False) -> None:
        """Raise where the model lacks what the method needs; methods that work are named."""
        lacking = self.lacks(model, classless=classless)
        if lacking:
            works = [m for m in METHODS.values() if not m.lacks(model, classless=classless)]
            works = [m for m in works if m.group != "baseline"] or works
            works.sort(key=lambda m: m.group != self.group)
            hint = "" if lacking != ["classes"] else "; or say target 'embedding'"
            raise InputError(
                f"method {self.name!r} needs {' and '.join(lacking)}, which {model.name} does not "
                f"have; methods that work with it: {', '.join(repr(m.name) for m in works)}{hint}"
            )

    def with_defaults(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the parameters, those given over the defaults."""
        if given and not self.params:
            raise InputError(f"method {self.name!r} takes no parameters, got {', '.join(given)}")
        return over_defaults(given or {}, self.params, f"parameter of {self.name!r}")


METHODS: Registry[Method] = Registry("method")


def register(name: str, **card: Any) -> Callable[[MapFunction], MapFunction]:
    """Add the decorated function to `METHODS` under `name`, with its card."""

    def add(function: MapFunction) -> MapFunction:
        METHODS.add(name, Method(name, function, **card))
        return function

    return add


def asked_goal(request: Request) -> Goal:
    """Return what a method that explains something is asked to explain."""
    if request.goal is None:
        raise RuntimeError("a method that explains something is always given a goal")
    return request.goal


def clean_goal(model: Model, inputs: Inputs, request: Request) -> Goal:
    """Return what to explain, settled by a pass of the images as they are where it needs one."""
    goal = asked_goal(request)
    if not goal.is_open:
        return goal
    with torch.no_grad():
        return goal.settled(model(inputs.pixels))


def number(request: Request, name: str, least: float, most: float = inf) -> float:
    """Return a parameter that must be a number from `least` to `most`."""
    return check_number(name, request.params[name], least, most)


_MOST = float_info.max


def check_number(name: str, value: Any, least: float, most: float = inf) -> float:
    """Return a number from `least` to `most`; what is none raises under this name.

    >>> check_number("noise", 0.5, 0, 100)
    0.5
    """
    real = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not real or not least <= value <= min(most, _MOST):
        limits = f"{least} or more" if most == inf else f"from {least} to {most}"
        raise InputError(f"{name} must be a number, {limits}, got {shown(value)}")
    return float(value)


def whole_number(request: Request, name: str, least: int = 0) -> int:
    """Return a parameter that must be a whole number, `least` or more."""
    return check_whole(name, request.params[name], least)


def check_whole(name: str, value: Any, least: int = 0) -> int:
    """Return a whole number, `least` or more; what is none raises under this name.

    Parameters that multiply the work have a largest value, too: `PARAMETER_LIMITS`.

    >>> check_whole("seed", 3)
    3
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    most = PARAMETER_LIMITS.get(name, inf)
    if not whole or not least <= value <= most:
        limits = f"{least} or more" if most == inf else f"from {least:,} to {most:,}"
        raise InputError(f"{name} must be a whole number, {limits}, got {shown(value)}")
    return int(value)


def random_of(key: int, request: Request) -> Generator:
    """Return the source of random numbers of one image: its key with the parameter `seed`."""
    return np.random.default_rng([key, whole_number(request, "seed")])
