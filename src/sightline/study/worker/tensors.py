"""Maps that stay on the device where they were made."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.store.shards import StoredMaps
from sightline.study.worker.streams import mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from sightline.attribution.methods.make import Made

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
    gone : int
        How many there were, where they were let go.
    """

    blocks: tuple[Block, ...] = ()
    made: Any = None
    gone: int = 0

    @property
    def count(self) -> int:
        """How many maps there are."""
        return self.gone + sum(int(np.prod(block.values.shape[:3])) for block in self.blocks)

    def let_go(self) -> TensorMaps:
        """Return all about the maps but themselves."""
        return replace(self, blocks=(), made=None, gone=self.count)

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
    runs: list[list[Block]] = []
    geometries: list[Any] = []
    targets: list[str] = []
    for batch in made:
        for new in _blocks(batch, len(geometries), heads):
            _add(runs, new)
        geometries += batch.geometries
        targets += batch.targets
    blocks = [_joined(run) for run in runs]
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


def _add(runs: list[list[Block]], new: Block) -> None:
    """Add a block to the run that it goes on, or begin another with it."""
    for run in runs:
        last = run[-1]
        ends = last.start + len(last.values) == new.start
        if ends and last.layers == new.layers and last.values.shape[1:] == new.values.shape[1:]:
            run.append(new)
            return
    runs.append([new])


def _joined(run: list[Block]) -> Block:
    import torch

    if len(run) == 1:
        return run[0]
    return run[0]._replace(values=torch.cat([block.values for block in run]))
