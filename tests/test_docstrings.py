"""Docstrings of public names: what they tell of parameters and fields is what there is."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass
from functools import cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tests.public import packages

if TYPE_CHECKING:
    from collections.abc import Iterator


def listed(doc: str | None, title: str) -> set[str]:
    """Return the names that a section of a docstring lists."""
    text = inspect.cleandoc(doc or "")
    section = re.search(rf"(?ms)^{title}\n-+\n(.*?)(?=^\S[^\n]*\n---|\Z)", text)
    heads = re.findall(r"^(\S.*?)(?: : .*)?$", section[1], re.MULTILINE) if section else []
    return {name.strip(" *") for head in heads for name in head.split(",")}


def inner(thing: type) -> Iterator[tuple[str, Any]]:
    """Yield the public functions of a class."""
    for name, value in vars(thing).items():
        own = getattr(value, "__func__", value)
        if isinstance(own, FunctionType) and not name.startswith("_"):
            yield name, own


@cache
def documented() -> dict[str, Any]:
    """Return the public functions and classes, and the functions of those, by name."""
    found: dict[str, Any] = {}
    for package in packages():
        for name in package.__all__:
            thing, place = getattr(package, name), f"{package.__name__}.{name}"
            if isinstance(thing, type):
                found |= {place: thing} | {f"{place}.{key}": one for key, one in inner(thing)}
            elif isinstance(thing, FunctionType):
                found[place] = thing
    return found


def unlike(thing: Any) -> set[str]:
    """Return the parameters that are told and not there, or there and not told."""
    told = listed(thing.__doc__, "Parameters")
    known = set(inspect.signature(thing).parameters) - {"self", "cls"} if told else set()
    return told ^ known


def test_parameters_are_those_of_the_signature() -> None:
    assert len(documented()) > 700
    wrong = {name: unlike(thing) for name, thing in documented().items()}
    assert {name: some for name, some in wrong.items() if some} == {}


def test_attributes_are_those_of_the_class() -> None:
    for name, thing in documented().items():
        told = listed(thing.__doc__, "Attributes")
        if told:
            kept = {one.name for one in fields(thing)} if is_dataclass(thing) else set()
            kept |= set(getattr(thing, "_fields", ()))
            set_up = set(re.findall(r"self\.(\w+)", inspect.getsource(thing)))
            assert told <= kept | set_up | set(dir(thing)), name
            assert {one for one in kept if not one.startswith("_")} <= told, name


def test_examples_stand_in_a_section_of_their_own() -> None:
    for name, thing in documented().items():
        text = inspect.cleandoc(thing.__doc__ or "")
        before = text.partition(">>> ")[0]
        assert before == text or "Examples\n--------\n" in before, name


def test_what_is_not_told_is_found() -> None:
    def made(one: int, two: int, *others: int) -> None:
        """Do something.

        Parameters
        ----------
        one, three : int
            Numbers.
        *others
            More.

        Returns
        -------
        four
            None.
        """

    assert unlike(made) == {"two", "three"}
