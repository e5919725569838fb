"""Maps that stay on the device where they were made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.runner.streams import mark
from sightline.store.shards import StoredMaps

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from sightline.maps.make import Made

    Tensor = Any

__all__ = ["Block", "TensorMaps", "tensor_maps"]


class Block(NamedTuple):
    """Maps of one size: of neighbouring images, of some of their layers.

    Attributes
    ----------
    start : int
        Position of the first image in its chunk.
    layers : tuple of int
        Positions of the layers.
    values : Tensor (images, layers, heads, rows, columns)
    """

    start: int
    layers: tuple[int, ...]
    values: Tensor


@dataclass(frozen=True, eq=False)
class TensorMaps(StoredMaps):
    """Maps of a chunk on a device; `values` is empty.

    Attributes
    ----------
    blocks : tuple of Block
        Which hold all of them.
    made : mark or None
        Behind what makes them, on a GPU; see `mark`.
    """

    blocks: tuple[Block, ...] = ()
    made: Any = None

    @property
    def count(self) -> int:
        """How many maps there are."""
        return sum(int(np.prod(block.values.shape[:3])) for block in self.blocks)

    def on_host(self) -> StoredMaps:
        """Return the maps in main memory."""
        values: list[list[Any]] = [[None] * len(self.layers) for _ in self.images]
        for start, layers, tensor in self.blocks:
            array: NDArray[np.float32] = tensor.cpu().numpy()
            for image, found in enumerate(array, start):
                for layer, one in zip(layers, found, strict=True):
                    values[image][layer] = one
        names = ("images", "geometries", "layers", "heads", "targets", "about")
        kept = {name: getattr(self, name) for name in names}
        return StoredMaps(values=tuple(map(tuple, values)), **kept)


def tensor_maps(maps: StoredMaps, made: Iterable[Made], heads: Sequence[int]) -> TensorMaps:
    """Return maps where they are, with those over all heads before single ones.

    Parameters
    ----------
    maps : StoredMaps
        All about them but values, geometries and targets.
    made : iterable of Made
        Batch by batch.
    heads : sequence of int
        Single heads, if any.
    """
    blocks: list[Block] = []
    geometries: list[Any] = []
    targets: list[str] = []
    for batch in made:
        for new in _blocks(batch, len(geometries), heads):
            blocks = _added(blocks, new)
        geometries += batch.geometries
        targets += batch.targets
    names = ("images", "values", "layers", "heads", "about")
    kept = {name: getattr(maps, name) for name in names}
    ways = tuple(geometries)
    made_of = mark(block.values for block in blocks)
    return TensorMaps(
        **kept, geometries=ways, targets=tuple(targets), blocks=tuple(blocks), made=made_of
    )


def _blocks(batch: Made, start: int, heads: Sequence[int]) -> Iterable[Block]:
    """Yield the maps of a batch, layers of one size together."""
    import torch

    layers = [_with_fused(layer, heads) for layer in batch.maps]
    for shape in dict.fromkeys(layer.shape for layer in layers):
        some = tuple(k for k, layer in enumerate(layers) if layer.shape == shape)
        yield Block(start, some, torch.stack([layers[k] for k in some], 1))


def _with_fused(layer: Tensor, heads: Sequence[int]) -> Tensor:
    """Return, where single heads are asked for, the mean over all and after it those."""
    import torch

    if not heads:
        return layer
    every = tuple(heads) == tuple(range(layer.shape[1]))  # a list would wait for the device
    chosen = layer if every else layer[:, list(heads)]
    return torch.cat([layer.mean(1, keepdim=True), chosen], 1)


def _added(blocks: list[Block], new: Block) -> list[Block]:
    """Return blocks with another one, which may go on where one of them ends."""
    import torch

    for number, old in enumerate(blocks):
        ends = old.start + len(old.values) == new.start
        if ends and old.layers == new.layers and old.values.shape[1:] == new.values.shape[1:]:
            longer = old._replace(values=torch.cat([old.values, new.values]))
            return [*blocks[:number], longer, *blocks[number + 1 :]]
    return [*blocks, new]
