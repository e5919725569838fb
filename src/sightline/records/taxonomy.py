"""Labels in levels: each may have several parents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.records.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Taxonomy"]


class Taxonomy:
    """Labels and the labels above them.

    Parameters
    ----------
    parents : mapping of str to iterable of str
        For each label those directly above it, none, one or several. A parent must be a label too.

    Raises
    ------
    InputError
        If a parent is no label, is named twice, or labels stand above themselves.

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
                    raise InputError(f"parent {parent!r} of {name!r} is not a label of its own")
            if len(set(above)) < len(above):
                raise InputError(f"parents of {name!r} name one label twice: {list(above)}")
        self._ancestors = {name: self._climb(name) for name in self._parents}

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
        return hash(tuple(self._parents.items()))

    def __repr__(self) -> str:
        return f"Taxonomy({len(self)} labels, {len(self.roots)} without parents)"

    def _climb(self, name: str) -> tuple[str, ...]:
        """Walk up level by level; a way that comes back to `name` is an error."""
        found: dict[str, None] = {}
        level = list(self._parents[name])
        while level:
            if name in level:
                raise InputError(f"label {name!r} stands above itself")
            found.update(dict.fromkeys(level))
            above = (parent for label in level for parent in self._parents[label])
            level = [parent for parent in dict.fromkeys(above) if parent not in found]
        return tuple(found)
