"""Images as the input of a network, kept at hand where they fit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from sightline.core import InputError
from sightline.models.hooks import undisturbed
from sightline.models.memory import SHARE, free_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor

    from sightline.data import Dataset
    from sightline.models import Model

__all__ = ["Pictures", "embeddings_of", "read_pictures"]

_READERS = 4
_CHUNK = 64


class Pictures(NamedTuple):
    """Images with the numbers of their classes.

    Attributes
    ----------
    model : Model
        Which takes them.
    data : Dataset
        Where they come from.
    numbers : Tensor (images,)
        Their classes, on the device of the model.
    kept : Tensor (images, 3, height, width) or None
        All of them, where they fit; else they are read anew each time.
    """

    model: Model
    data: Dataset
    numbers: Tensor
    kept: Tensor | None

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: Tensor) -> Tensor:
        """Return the inputs of some images."""
        if self.kept is not None:
            return self.kept[rows.to(self.kept.device)].to(self.model.device)
        return torch.cat(list(_read(self.model, self.data, rows.tolist())))

    def batches(self, batch: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield inputs and class numbers in order."""
        for rows in torch.arange(len(self)).split(batch):
            yield self.take(rows), self.numbers[rows.to(self.numbers.device)]


def read_pictures(
    model: Model, data: Dataset, classes: Sequence[str], move: Callable[[int], object]
) -> Pictures:
    """Return the images of a data set; each must have one of the classes as its label.

    Raises
    ------
    InputError
        If the model takes images of any size: a batch must have one.
    """
    if model.preprocess.fit == "native":
        raise InputError("training needs inputs of one size: fit squash, crop or letterbox")
    numbers = [classes.index(sample.labels[0]) for sample in data]
    first = next(_read(model, data, [0]))
    kept, each = None, first.nbytes * len(data)
    places = [model.device, torch.device("cpu")]
    place = next((p for p in places if each < SHARE * free_memory(p)), None)
    if place is not None:
        kept = torch.empty((len(data), *first.shape[1:]), dtype=first.dtype, device=place)
        for row, one in enumerate(_read(model, data, range(len(data)))):
            kept[row] = one[0]
            move(row + 1)
    return Pictures(model, data, torch.tensor(numbers, device=model.device), kept)


def _read(model: Model, data: Dataset, rows: Sequence[int]) -> Iterator[Tensor]:
    """Yield inputs in order, read by some threads."""
    with ThreadPoolExecutor(_READERS) as pool:
        for start in range(0, len(rows), _CHUNK):  # a bounded number wait in memory

            def read(row: int) -> Tensor:
                return model.prepare(data[row]).pixels

            yield from pool.map(read, rows[start : start + _CHUNK])


def embeddings_of(
    model: Model, pictures: Pictures, batch: int, move: Callable[[int], object]
) -> Tensor:
    """Return the embedding of each image, `(images, channels)`."""
    found: list[Any] = []
    with undisturbed(model.network), torch.no_grad():
        for pixels, _ in pictures.batches(batch):
            found.append(model(pixels).embedding)
            move(sum(map(len, found)))
    return torch.cat(found)
