"""YAML that a stranger may have written: plain values, and none that grow when they are read."""

from __future__ import annotations

from typing import Any

import yaml

from sightline.core import InputError

__all__ = ["MAX_CHARACTERS", "PlainLoader", "parse_yaml"]

MAX_CHARACTERS = 10_000_000
"""The longest text that is read."""

_LONGEST, _MOST_MERGED = 100, 10_000
# What PyYAML raises on values that are not what their tags say.
_UNREADABLE = (
    *(yaml.YAMLError, RecursionError, ValueError, LookupError, AttributeError, TypeError),
    ArithmeticError,
)


class PlainLoader(yaml.SafeLoader):  # type: ignore[misc]
    """Plain values only; what << merges is counted, as a few lines can stand for gigabytes."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._merging = self._merged = 0

    def flatten_mapping(self, node: Any) -> None:
        """Put the values of << into a mapping, which calls this for each that it merges."""
        self._merging += 1
        super().flatten_mapping(node)
        self._merging -= 1
        if not self._merging:
            return
        self._merged += 1 + len(node.value)  # an empty one takes time, too
        if self._merged > _MOST_MERGED:
            problem = f"<< must merge at most {_MOST_MERGED:,} values in all"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)

    def construct_scalar(self, node: Any) -> Any:
        """Return the text of a value; a number must not be too long."""
        number = node.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
        if number and ":" in node.value and len(node.value) > _LONGEST:
            # 1:2:3:… counts in sixties, which takes time by the square of its length
            raise ValueError(f"a number with ':' must have at most {_LONGEST} characters")
        return super().construct_scalar(node)


def parse_yaml(text: str) -> Any:
    r"""Return what a YAML text says.

    Raises
    ------
    InputError
        If it is none, or has tags, more than 10,000 values merged by <<, or more than
        `MAX_CHARACTERS`.

    Examples
    --------
    >>> parse_yaml("names: [door, window]")
    {'names': ['door', 'window']}
    >>> parse_yaml("usual: &usual {width: 8}\nwide: {<<: *usual, height: 2}")["wide"]
    {'width': 8, 'height': 2}
    """
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"must have at most {MAX_CHARACTERS:,} characters, has {len(text):,}")
    try:
        return yaml.load(text, PlainLoader)  # noqa: S506 (a safe loader)
    except _UNREADABLE as error:
        raise InputError(f"is not valid YAML: {error}") from error
