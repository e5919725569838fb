"""What a pass of a batch showed of attention, kept for the methods that ask for the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from torch import Tensor

    from sightline.models.attention import Heads

__all__ = ["Passed"]


class Passed:
    """Queries and keys of the layers of one pass; nothing where they would take too much memory.

    Parameters
    ----------
    most_bytes : int
        That may be kept.
    methods : sequence of str
        Those whose rows are to be made together, which saves a device making weights again.
    """

    def __init__(self, most_bytes: int, methods: Sequence[str] = ()) -> None:
        self.most_bytes, self.bytes = most_bytes, 0
        self.methods = tuple(methods)
        self.rows: dict[str, dict[int, Tensor]] | None = None
        self._kept: dict[int, Heads] = {}

    def add(self, layer: int, heads: Heads) -> None:
        """Keep what a layer worked with; where that is too much, nothing is kept any more."""
        self.bytes += _held(heads.query, heads.key)
        if self.bytes > self.most_bytes:
            self._kept.clear()
        else:
            self._kept[layer] = heads.without_values()

    def settle(self, rows: dict[str, dict[int, Tensor]]) -> None:
        """Keep the rows of all methods, by method and layer, and no more what they follow from."""
        self.rows = rows
        self._kept.clear()
        self.most_bytes = 0

    def forget(self) -> None:
        """Let go of everything: who asks again makes a pass of its own."""
        self.rows = None
        self._kept.clear()
        self.most_bytes = 0

    def of(self, layers: Iterable[int]) -> dict[int, Heads] | None:
        """Return the heads of some layers; None where they are not all there."""
        wanted = tuple(layers)
        if not all(layer in self._kept for layer in wanted):
            return None
        return {layer: self._kept[layer] for layer in wanted}


def _held(*tensors: Tensor) -> int:
    """Return the memory that tensors keep: queries may lie together with keys and values."""
    storages = (tensor.untyped_storage() for tensor in tensors)
    return sum({one.data_ptr(): int(one.nbytes()) for one in storages}.values())
