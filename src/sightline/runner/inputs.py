"""Images as a model takes them: made once for the sources that share them, ahead on a device."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from os import cpu_count
from threading import Lock
from typing import TYPE_CHECKING, Any

from sightline.runner.streams import aside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sightline.maps.passes import Passed
    from sightline.models import Inputs, Model
    from sightline.records import Sample
    from sightline.runner.sources import Source

    Batch = tuple[Inputs, Passed | None]

__all__ = ["Shown", "on_device"]

# Chunks whose inputs are kept: one is used, one waits, one is made.
_CHUNKS = 3
# Of inputs that are kept for other sources, and of what a pass has shown, by chunk.
INPUT_BYTES = {"cpu": 1 << 27, "cuda": 1 << 31}
PASS_BYTES = {"cpu": 1 << 29, "cuda": 1 << 34}
_THREADS = 8


def on_device(model: Model) -> bool:
    """Say whether a model runs elsewhere than in main memory, where its maps then stay."""
    return str(model.device.type) != "cpu"


class Shown:
    """The inputs of chunks, and what passes of them have shown."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, list[Batch]] = OrderedDict()
        self._lock = Lock()
        self._pool: ThreadPoolExecutor | None = None

    def each(self, function: Callable[..., Any], *lists: Sequence[Any]) -> Iterator[Any]:
        """Do what `map` does, in several threads, each of which gets a part of the lists."""
        count = min(_THREADS, cpu_count() or 1)
        if self._pool is None:
            self._pool = ThreadPoolExecutor(count)
        items = list(zip(*lists, strict=True))
        size = -(-len(items) // count) or 1
        parts = [items[start : start + size] for start in range(0, len(items), size)]
        done = self._pool.map(lambda part: [function(*item) for item in part], parts)
        return chain.from_iterable(done)

    def ahead(
        self, model: Model, source: Source, samples: Sequence[Sample], sharing: Sequence[Source]
    ) -> None:
        """Bring images to a device before they are asked for.

        Not under the fit "native", whose inputs have no size that is known beforehand.
        """
        if not on_device(model) or model.preprocess.fit == "native":
            return
        key = _key(source, samples)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return
        from sightline.models.loading import load_inputs

        with aside(model.device):
            found = load_inputs(model, samples, source.batch, each=self.each)
            _wait_for([inputs.pixels for inputs in found])
        if sum(inputs.pixels.nbytes for inputs in found) <= _most(INPUT_BYTES, model):
            self._put(key, [(inputs, _memory(model, len(found), sharing)) for inputs in found])

    def batches(
        self, model: Model, source: Source, samples: Sequence[Sample], sharing: Sequence[Source]
    ) -> Iterable[Batch]:
        """Return the inputs of images, with what passes of them have shown if sources share it."""
        key = _key(source, samples)
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None:
            return kept
        if len(sharing) < 2:
            return ((inputs, None) for inputs in model.batches(list(samples), source.batch))
        return self._made(key, model, source, samples, sharing)

    def _made(
        self,
        key: Any,
        model: Model,
        source: Source,
        samples: Sequence[Sample],
        sharing: Sequence[Source],
    ) -> Iterator[Batch]:
        """Yield inputs as they are made; they are kept unless they are too large."""
        with self._lock:
            self._kept.clear()  # what other chunks have shown makes room
        made: list[Batch] = []
        count, size = -(-len(samples) // source.batch), 0
        for inputs in model.batches(list(samples), source.batch):
            size += inputs.pixels.nbytes
            fits = size <= _most(INPUT_BYTES, model)
            batch = inputs, _memory(model, count, sharing if fits else ())
            made = [*made, batch] if fits else []
            yield batch
        if made and size <= _most(INPUT_BYTES, model):
            self._put(key, made)

    def _put(self, key: Any, batches: list[Batch]) -> None:
        with self._lock:
            self._kept[key] = batches
            while len(self._kept) > _CHUNKS:
                self._kept.popitem(last=False)

    def close(self) -> None:
        """Let everything go."""
        with self._lock:
            self._kept.clear()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


def _key(source: Source, samples: Sequence[Sample]) -> Any:
    return source.shown_as, tuple(sample.image_id for sample in samples)


def _most(limits: dict[str, int], model: Model) -> int:
    return limits.get(model.device.type, limits["cpu"])


def _memory(model: Model, batches: int, sharing: Sequence[Source]) -> Passed | None:
    """Return where a pass of one of some batches is kept, if several sources share it."""
    from sightline.maps.passes import Passed

    if len(sharing) < 2:
        return None
    together = _made_together(sharing) if on_device(model) else ()
    return Passed(_most(PASS_BYTES, model) // batches, together)


def _wait_for(tensors: list[Any]) -> None:
    """Wait until tensors are there, which the network then uses in its own stream."""
    import torch

    if tensors and tensors[0].is_cuda:
        device = tensors[0].device
        torch.cuda.current_stream(device).synchronize()
        for tensor in tensors:
            tensor.record_stream(torch.cuda.default_stream(device))


def _made_together(sharing: Sequence[Source]) -> tuple[str, ...]:
    """Return the methods whose rows a device makes at once: rollout, and those beside it."""
    usual = {"fusion": "mean", "discard": 0.0}
    methods = {one.method for one in sharing if one.method != "rollout" or one.params == usual}
    if "rollout" not in methods:
        return ()
    return tuple(name for name in ("cls", "mean") if name in methods)
