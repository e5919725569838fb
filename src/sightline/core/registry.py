"""A named table that refuses duplicates and helps with typing errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from sightline.core import UnknownNameError
from sightline.core.errors import shown

__all__ = ["Registry", "over_defaults"]

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """A read-only mapping from name to entry that grows through `add`.

    Examples
    --------
    >>> colours: Registry[int] = Registry("colour")
    >>> colours.add("red", 1)
    >>> colours["rad"]
    Traceback (most recent call last):
        ...
    sightline.core.errors.UnknownNameError: unknown colour 'rad'; did you mean 'red'? Known: red
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, T] = {}
        self._earlier: dict[str, str] = {}

    def add(self, name: str, entry: T) -> None:
        """Add `entry` under `name`; a name that is taken raises."""
        if name in self._entries:
            raise ValueError(f"{self.kind} {shown(name)} is registered twice")
        self._entries[name] = entry

    def rename(self, earlier: str, name: str) -> None:
        """Have an entry found under an earlier name too; it is listed under its name alone."""
        if earlier in self:
            raise ValueError(f"{self.kind} {earlier!r} is registered twice")
        self._earlier[earlier] = name

    def __getitem__(self, name: str) -> T:
        if isinstance(name, str):
            name = self._earlier.get(name, name)
        if isinstance(name, str) and name in self._entries:
            return self._entries[name]
        nearest = self.nearest(str(name))
        hint = f"; did you mean {nearest!r}?" if nearest else "."
        raise UnknownNameError(f"unknown {self.kind} {shown(name)}{hint} Known: {', '.join(self)}")

    def nearest(self, name: str) -> str | None:
        """Return what may be meant by a name that is not known, if anything is near."""
        close = get_close_matches(name, self._entries, n=1)
        return close[0] if close else None

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._earlier  # without looking for the nearest

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def over_defaults(
    given: Mapping[str, Any], defaults: Mapping[str, Any], kind: str
) -> dict[str, Any]:
    """Return the defaults with what is given over them; a name that they do not have raises.

    Examples
    --------
    >>> over_defaults({"steps": 8}, {"steps": 32, "seed": 0}, "parameter")
    {'steps': 8, 'seed': 0}
    """
    known: Registry[Any] = Registry(kind)
    for name, value in defaults.items():
        known.add(name, value)
    for name in given:
        known[name]  # raises for an unknown name
    return {**defaults, **given}
