"""Random choices whose bits are the same wherever they are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Dice"]

T = TypeVar("T")
_STREAMS = (
    *("style", "borrowing", "layout", "camera", "colour", "backdrop", "foreground"),
    *("clouds", "stones", "grain", "labelling", "changes"),
)


class Dice:
    """One of the random streams of an image; a stream never depends on how others are used.

    Parameters
    ----------
    seed, index : int
        The data set and the image.
    stream : str
        What the numbers are for.
    """

    def __init__(self, seed: int, index: int, stream: str) -> None:
        self.rng = np.random.default_rng((seed, index, _STREAMS.index(stream)))

    def between(self, low: float, high: float) -> float:
        """Return a number from low to high."""
        # Not `Generator.uniform`: compilers may fuse its product and sum, which rounds otherwise.
        return low + (high - low) * self.rng.random()

    def chance(self, share: float) -> bool:
        """Return True in that share of the cases."""
        return self.rng.random() < share

    def pick(self, choices: Sequence[T]) -> T:
        """Return one of the choices, all equally likely."""
        return choices[int(self.rng.random() * len(choices))]

    def shuffled(self, choices: Sequence[T]) -> list[T]:
        """Return the choices in random order."""
        return [choices[i] for i in np.argsort(self.rng.random(len(choices)), kind="stable")]
