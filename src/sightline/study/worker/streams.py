"""Streams of a GPU: images are brought and maps scored while the network goes on."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Tensor = Any

__all__ = ["aside", "mark", "stays_on"]

_OWN = threading.local()


def stays_on(device: str) -> bool:
    """Say whether maps stay on a device and are scored there: on GPUs that know 64-bit numbers."""
    return device != "cpu" and not device.startswith("mps")


def mark(tensors: Iterable[Tensor]) -> Any:
    """Return a mark behind what makes tensors on a GPU, for `aside` to wait for; None elsewhere."""
    import torch

    there = [tensor.device for tensor in tensors if tensor.is_cuda]
    if not there:
        return None
    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream(there[0]))  # it need not be the first device
    return event


@contextmanager
def aside(device: Any, after: Any = None, used: Iterable[Tensor] = ()) -> Iterator[None]:
    """Have what a block asks of a GPU go beside the network's work, in a stream of this thread.

    Elsewhere, nothing is changed.

    Parameters
    ----------
    device : torch.device
    after : mark, optional
        To wait for, on the device: see `mark`.
    used : iterable of Tensor
        That were made in another stream: their memory is kept until the block's work is done.
    """
    import torch

    if device.type != "cuda":
        yield
        return
    streams = vars(_OWN)
    stream = streams.setdefault(str(device), None) or torch.cuda.Stream(device, priority=-1)
    streams[str(device)] = stream
    if after is not None:
        stream.wait_event(after)
    for tensor in used:
        tensor.record_stream(stream)
    with torch.cuda.stream(stream):
        yield
