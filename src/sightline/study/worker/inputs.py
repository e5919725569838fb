"""Images as a model takes them: made once for the sources that share them, ahead on a device."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from os import cpu_count
from threading import Lock
from typing import TYPE_CHECKING, Any

from sightline.core.arrays import has_triton
from sightline.study.worker.streams import aside, stays_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sightline.attribution.methods.passes import Passed
    from sightline.core import Sample
    from sightline.models import Inputs, Model
    from sightline.study.plan.sources import Source

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
    return stays_on(str(model.device.type))


class Shown:
    """The inputs of chunks, and what passes of them have shown."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, list[Batch]] = OrderedDict()
        self._asked: dict[Any, set[str]] = {}
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
        from sightline.models.inputs import load_inputs

        if _input_bytes(model, samples) > _most(INPUT_BYTES, model):
            return
        with aside(model.device):
            found = load_inputs(model, samples, source.batch, each=self.each)
            _wait_for([inputs.pixels for inputs in found])
        self._put(key, [(inputs, _memory(model, len(found), sharing)) for inputs in found])

    def done(self, source: Source, samples: Sequence[Sample], sharing: Sequence[Source]) -> None:
        """Let go of what passes have shown, when all who share it have had it."""
        key = _key(source, samples)
        with self._lock:
            asked = self._asked.setdefault(key, set())
            asked.add(source.key)
            if asked >= {one.key for one in sharing}:
                for _, passed in self._kept.get(key, ()):
                    if passed is not None:
                        passed.forget()

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
            self._kept.clear()
            self._asked.clear()  # what other chunks have shown makes room
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
                oldest, _ = self._kept.popitem(last=False)
                self._asked.pop(oldest, None)

    def close(self) -> None:
        """Let everything go."""
        with self._lock:
            self._kept.clear()
            self._asked.clear()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


def _input_bytes(model: Model, samples: Sequence[Sample]) -> int:
    """Return what images take as inputs; all have the size of the first."""
    pixels = samples[0].image()
    width, height = model.preprocess.geometry(pixels.shape[1], pixels.shape[0], model.patch).size
    return len(samples) * 3 * width * height * int(model.dtype.itemsize)


def _key(source: Source, samples: Sequence[Sample]) -> Any:
    return source.shown_as, tuple(sample.image_id for sample in samples)


def _most(limits: dict[str, int], model: Model) -> int:
    """Return how many bytes may be kept, which on a device is an eighth of it at most."""
    limit = limits.get(model.device.type, limits["cpu"])
    if model.device.type == "cpu":
        return limit
    from sightline.models.memory import total_memory

    return min(limit, total_memory(model.device) // 8)


def _memory(model: Model, batches: int, sharing: Sequence[Source]) -> Passed | None:
    """Return where a pass of one of some batches is kept, if several sources share it."""
    from sightline.attribution.methods.passes import Passed

    if len(sharing) < 2:
        return None
    kernels = has_triton(next(iter(model.network.parameters())))  # see `_together` of attention
    together = _made_together(sharing) if kernels else ()
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
