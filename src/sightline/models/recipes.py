"""Recipes of variants: how each was trained and what of, in a file beside its weights."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.core import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

__all__ = [
    "RECIPE",
    "STRATEGIES",
    "Recipe",
    "expanded",
    "is_variant",
    "read_recipe",
    "shortened",
]

STRATEGIES = ("linear_probe", "lora", "full")
RECIPE = "recipe.json"
_FORMAT, _VERSION = "sightline-variant", 1


@dataclass(frozen=True)
class Recipe:
    """How a variant was made, and what of.

    Attributes
    ----------
    base : str
        Name of the model that it began from.
    digest : str
        Of the base's weights, whatever they are called: see `weights_digest`.
    strategy : {"linear_probe", "lora", "full"}
        What was trained: the classifier alone, adapters in the layers, or all weights.
    classes : tuple of str
        What it tells apart.
    input : dict
        Size (width and height) and fit of the images that it was trained with.
    settings : dict
        Epochs, batch, rate and the other choices, and the device.
    data : dict
        The data set it was trained on: its name, path, seed and the number of its images.
    held_out : dict
        The same of what was held out, and compared with it; empty where nothing was.
    training, validation : tuple of str
        Ids of the images that were learned from, and by which the best epoch was chosen.
    left_out : dict of str to tuple of str
        Ids of images that were not used, by the reason.
    counts : dict of str to int
        How many of the training images are of each class.
    epochs : tuple of dict
        Of each epoch, the losses and the accuracy.
    figures : dict of str to float
        What was measured at the end, with what is saved.
    versions : dict of str to str
        Of Python and the packages.
    weights : dict of str to str
        Digests of the base's weights that the files change, by name: it tells which is which
        where another version of a library calls them otherwise.

    Examples
    --------
    >>> recipe = Recipe("demo/vit-dino", "7714b6c295daf346", "lora", ("Baroque", "Gothic"))
    >>> recipe.base, recipe.strategy, recipe.classes
    ('demo/vit-dino', 'lora', ('Baroque', 'Gothic'))
    """

    base: str
    digest: str
    strategy: str
    classes: tuple[str, ...]
    input: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    held_out: Mapping[str, Any] = field(default_factory=dict)
    training: tuple[str, ...] = ()
    validation: tuple[str, ...] = ()
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    epochs: tuple[Mapping[str, float], ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    weights: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> str:
        """Return the recipe as the text of its file; ids that count up are written as ranges."""
        values = {"format": _FORMAT, "version": _VERSION, **asdict(self)}
        for name in ("training", "validation"):
            values[name] = shortened(values[name])
        values["left_out"] = {why: shortened(ids) for why, ids in self.left_out.items()}
        return json.dumps(values, indent=1) + "\n"


def is_variant(folder: Path) -> bool:
    """Return whether a folder holds a variant."""
    return (folder / RECIPE).is_file()


def read_recipe(folder: str | PathLike[str]) -> Recipe:
    """Return the recipe of the variant in a folder.

    Raises
    ------
    InputError
        If there is none, or it cannot be understood.

    Examples
    --------
    >>> read_recipe("nowhere")
    Traceback (most recent call last):
        ...
    sightline.core.errors.InputError: nowhere: has no recipe.json: no variant of a model
    """
    path = Path(folder) / RECIPE
    try:
        values = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{folder}: has no {RECIPE}: no variant of a model") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read as JSON: {error}") from error
    if not isinstance(values, dict) or values.get("format") != _FORMAT:
        raise InputError(f"{path}: is not the recipe of a variant")
    if values.get("version") != _VERSION:
        seen = values.get("version")
        raise InputError(f"{path}: version must be {_VERSION}, got {seen!r}")
    try:
        return _recipe(values)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}: cannot be understood: {error!r}") from error


# What the parts of a recipe are in JSON; the others are objects.
_KINDS: dict[str, type] = {
    **dict.fromkeys(("base", "digest", "strategy"), str),
    **dict.fromkeys(("classes", "training", "validation", "epochs"), list),
}


def _recipe(values: dict[str, Any]) -> Recipe:
    given = {one.name: values[one.name] for one in fields(Recipe)}
    for name, value in given.items():
        if not isinstance(value, _KINDS.get(name, dict)):
            raise ValueError(f"{name} {value!r}")
    if given["strategy"] not in STRATEGIES:
        raise ValueError(f"strategy {given['strategy']!r}")
    classes = given["classes"]
    if len(set(classes)) != len(classes) or not all(isinstance(one, str) for one in classes):
        raise ValueError(f"classes {classes!r}")
    if not all(isinstance(one, dict) for one in given["epochs"]):
        raise ValueError("epochs that are no objects")
    for name in ("training", "validation"):
        given[name] = expanded(given[name])
    given["left_out"] = {why: expanded(ids) for why, ids in given["left_out"].items()}
    given["classes"], given["epochs"] = tuple(classes), tuple(given["epochs"])
    given["input"] = {"size": tuple(given["input"]["size"]), "fit": given["input"]["fit"]}
    given["weights"] = {name: str(digest) for name, digest in given["weights"].items()}
    return Recipe(**given)


_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)", re.ASCII | re.DOTALL)
_MOST = 10_000_000  # images that a recipe may list


def shortened(ids: Sequence[str]) -> list[str | list[str]]:
    """Return ids, of which those that count up stand as a pair: the first and the last.

    >>> shortened(["a-08.png", "a-09.png", "a-10.png", "b.png"])
    [['a-08.png', 'a-10.png'], 'b.png']
    """
    runs: list[list[str]] = []
    for one in ids:
        if runs and _later(runs[-1][-1], 1) == one:
            runs[-1].append(one)
        else:
            runs.append([one])
    found: list[str | list[str]] = []
    for run in runs:
        found += [[run[0], run[-1]]] if len(run) > 2 else run
    return found


def expanded(parts: Iterable[Any]) -> tuple[str, ...]:
    """Return the ids that `shortened` was given.

    >>> expanded([["a-08.png", "a-10.png"], "b.png"])
    ('a-08.png', 'a-09.png', 'a-10.png', 'b.png')
    """
    found: list[str] = []
    for part in parts:
        if isinstance(part, str):
            found.append(part)
            continue
        first, last = part
        count = _number(last) - _number(first)
        if count < 0 or len(found) + count >= _MOST or _later(first, count) != last:
            raise ValueError(f"{part!r} is no range of ids")
        found += [str(_later(first, step)) for step in range(count + 1)]
    return tuple(found)


def _number(image_id: str) -> int:
    """Return the last number of an id, -1 where there is none."""
    parts = _NUMBERED.fullmatch(image_id)
    return -1 if parts is None else int(parts[2])


def _later(image_id: str, steps: int) -> str | None:
    """Return the id so many after one: its last number is higher."""
    parts = _NUMBERED.fullmatch(image_id)
    if parts is None:
        return None
    start, digits, end = parts.groups()
    return f"{start}{int(digits) + steps:0{len(digits)}}{end}"
