"""Labels in levels: each may have several parents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.core.errors import InputError, UnknownNameError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Taxonomy"]

_MOST_ABOVE = 1_500_000


class Taxonomy:
    """Labels and the labels above them.

    Parameters
    ----------
    parents : mapping of str to iterable of str
        For each label those directly above it, none, one or several. A parent must be a label too.

    Raises
    ------
    InputError
        If a parent is no label, is named twice, or labels stand above themselves; or if the labels
        above each label are more than 1.5 millions in all.

    Examples
    --------
    >>> parts = Taxonomy({"opening": [], "window": ["opening"], "rose window": ["window"]})
    >>> parts.ancestors("rose window"), parts.children("opening"), parts.roots
    (('window', 'opening'), ('window',), ('opening',))
    """

    __slots__ = ("_ancestors", "_parents")

    def __init__(self, parents: Mapping[str, Iterable[str]] | None = None) -> None:
        self._parents = {name: tuple(above) for name, above in (parents or {}).items()}
        for name, above in self._parents.items():
            for parent in above:
                if parent not in self._parents:
                    seen = f"{shown(parent)} of {shown(name)}"
                    raise InputError(f"parent {seen} is not a label of its own")
            if len(set(above)) < len(above):
                seen = f"{shown(name)} name one label twice: {shown(list(above))}"
                raise InputError(f"parents of {seen}")
        self._ancestors: dict[str, tuple[str, ...]] = {}
        left = _MOST_ABOVE
        for name in self._parents:
            self._ancestors[name] = self._climb(name)
            left -= len(self._ancestors[name])
            if left < 0:  # n labels in a row have n² / 2 above them
                raise InputError(f"labels must have at most {_MOST_ABOVE:,} above them in all")

    @classmethod
    def flat(cls, names: Iterable[str]) -> Taxonomy:
        """Return labels without any parents."""
        return cls(dict.fromkeys(names, ()))

    @property
    def names(self) -> tuple[str, ...]:
        """All labels, in the order they were given."""
        return tuple(self._parents)

    @property
    def parents(self) -> dict[str, tuple[str, ...]]:
        """For each label those directly above it."""
        return dict(self._parents)

    @property
    def roots(self) -> tuple[str, ...]:
        """The labels without parents."""
        return tuple(name for name, above in self._parents.items() if not above)

    def ancestors(self, name: str) -> tuple[str, ...]:
        """Return every label above `name`, the nearest first, each once."""
        if name not in self._ancestors:
            raise UnknownNameError(f"unknown label {name!r}; known: {', '.join(self._parents)}")
        return self._ancestors[name]

    def children(self, name: str) -> tuple[str, ...]:
        """Return the labels directly below `name`."""
        self.ancestors(name)
        return tuple(child for child, above in self._parents.items() if name in above)

    def __contains__(self, name: object) -> bool:
        return name in self._parents

    def __iter__(self) -> Iterator[str]:
        return iter(self._parents)

    def __len__(self) -> int:
        return len(self._parents)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Taxonomy) and self._parents == other._parents

    def __hash__(self) -> int:
        return hash(frozenset(self._parents.items()))  # equal in any order

    def __repr__(self) -> str:
        return f"Taxonomy({len(self)} labels, {len(self.roots)} without parents)"

    def _climb(self, name: str) -> tuple[str, ...]:
        """Walk up level by level; a way that comes back to `name` is an error."""
        found: dict[str, None] = {}
        level = list(self._parents[name])
        while level:
            if name in level:
                raise InputError(f"label {shown(name)} stands above itself")
            found.update(dict.fromkeys(level))
            above = (parent for label in level for parent in self._parents[label])
            level = [parent for parent in dict.fromkeys(above) if parent not in found]
        return tuple(found)
