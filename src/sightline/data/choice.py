"""Which images are meant, in words that can be stored and opened again."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sightline.data.dataset import Dataset

__all__ = ["DataChoice"]


@dataclass(frozen=True)
class DataChoice:
    """Which images are analysed, in words that can be stored.

    Attributes
    ----------
    name, path
        The data set, and its folder or file; None for those that have none.
    split
        Only the images of one split.
    count
        Facades: how many are drawn. Other data sets: only the first so many images.
    options
        Others of the data set.

    Examples
    --------
    >>> DataChoice("facades", count=10, split="test").open().ids
    ('facade-00004.png', 'facade-00009.png')
    """

    name: str
    path: str | None = None
    split: str | None = None
    count: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def open(self) -> Dataset:
        """Open the data set, with the images that are asked for alone."""
        from sightline.data.datasets import load_dataset

        options = dict(self.options)
        if self.name == "facades" and self.count is not None:
            options["count"] = self.count
        found = load_dataset(self.name, self.path, split=self.split, **options)
        return found if self.count is None else found[: self.count]

    def to_dict(self) -> dict[str, Any]:
        """Return its attributes, as JSON has them."""
        path = None if self.path is None else str(Path(self.path).absolute())
        found = {"name": self.name, "path": path, "split": self.split, "count": self.count}
        return found | {"options": dict(self.options)}

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Self:
        """Return what `to_dict` told."""
        return cls(**{name: found[name] for name in cls.__dataclass_fields__})
