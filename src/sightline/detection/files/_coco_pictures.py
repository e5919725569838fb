"""Files and sizes of the images of a COCO file, read when they are asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from sightline.data.formats.checks import has_half
from sightline.detection.columns import Picture

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["CocoPictures", "Stems"]

Stems: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.int64]]"
"""Ids of images, and the integers that the stems of their files are, negative where none."""


class CocoPictures(Mapping[Any, Picture]):
    """The `Picture` of each image that has a file's name, by id.

    Evaluations do not need them, and parsing the names of many images takes long: nothing is parsed
    before the first question.

    Parameters
    ----------
    given
        The list of images, parsed or as JSON.
    stems
        The ids of the images, and the integers that the stems of their files are, negative where
        they are none; None where they are not known without parsing.

    Examples
    --------
    >>> CocoPictures(b'[{"id": 7, "file_name": "a/b.png", "width": 4, "height": 3}, {"id": 8}]')[7]
    Picture(name='a/b.png', width=4, height=3, file=None)
    """

    def __init__(self, given: bytes | list[dict[str, Any]], stems: Stems | None = None) -> None:
        self._given = given
        self.stems = stems

    @cached_property
    def _known(self) -> dict[Any, Picture]:
        given = json.loads(self._given) if isinstance(self._given, bytes) else self._given
        named = ((one["id"], one.get("file_name"), one) for one in given)
        return {
            number: Picture(name, _side(one.get("width")), _side(one.get("height")))
            for number, name, one in named
            if isinstance(name, str) and name and not has_half(name)
        }

    def __getitem__(self, key: Any) -> Picture:
        return self._known[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def _side(value: Any) -> int | None:
    """Return a number of pixels, None where it is none."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and value > 0 else None
