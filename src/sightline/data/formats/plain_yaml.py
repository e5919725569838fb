"""YAML that a stranger may have written: plain values, and none that grow when they are read."""

from __future__ import annotations

from typing import Any

import yaml

from sightline.records import InputError

__all__ = ["MAX_CHARACTERS", "PlainLoader", "parse_yaml"]

MAX_CHARACTERS = 10_000_000
"""The longest text that is read."""

_LONGEST = 100
# What PyYAML raises on values that are not what their tags say.
_UNREADABLE = (
    *(yaml.YAMLError, RecursionError, ValueError, LookupError, AttributeError, TypeError),
    ArithmeticError,
)


class PlainLoader(yaml.SafeLoader):  # type: ignore[misc]
    """Plain values only; no merging of aliases, by which a few lines stand for gigabytes."""

    def flatten_mapping(self, node: Any) -> None:
        """Refuse <<, which would put the values of aliases into a mapping."""
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                problem = "<< is not read: write the values out"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
        super().flatten_mapping(node)

    def construct_scalar(self, node: Any) -> Any:
        """Return the text of a value; a number must not be too long."""
        number = node.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
        if number and ":" in node.value and len(node.value) > _LONGEST:
            # 1:2:3:… counts in sixties, which takes time by the square of its length
            raise ValueError(f"a number with ':' must have at most {_LONGEST} characters")
        return super().construct_scalar(node)


def parse_yaml(text: str) -> Any:
    """Return what a YAML text says.

    Raises
    ------
    InputError
        If it is none, or has tags, merged aliases, or more than `MAX_CHARACTERS`.

    Examples
    --------
    >>> parse_yaml("names: [door, window]")
    {'names': ['door', 'window']}
    """
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"must have at most {MAX_CHARACTERS:,} characters, has {len(text):,}")
    try:
        return yaml.load(text, PlainLoader)  # noqa: S506 (a safe loader)
    except _UNREADABLE as error:
        raise InputError(f"is not valid YAML: {error}") from error
