"""How many images fit into memory at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch

from sightline.models.hooks import calls, undisturbed

if TYPE_CHECKING:
    from torch import Tensor, nn

    from sightline.models import Model

__all__ = ["choose_batch", "free_memory", "total_memory"]

LARGEST = 16
# Of what is free now; the rest is for what others will want.
SHARE = 0.25

# Where Linux says what a container may use, does use, and uses for files: versions 2 and 1.
_CONTAINERS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    (
        "/sys/fs/cgroup/memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)

_SEEN: WeakKeyDictionary[nn.Module, dict[tuple[int, ...], int]] = WeakKeyDictionary()


def choose_batch(
    model: Model,
    pixels: Tensor,
    *,
    gradients: bool,
    runs: bool = True,
    memory: int | None = None,
) -> int:
    """Return how many images like `pixels` may be in memory at once: a power of 2, at most 16.

    What all modules take in is counted in one pass of that image. With gradients all of it
    is kept, twice; without, a few modules' at a time. Where the network does not run, only the
    images themselves count. A quarter of `memory` is used, of what is free now unless given.
    """
    bytes_each = float(pixels.nbytes)
    if runs:
        bytes_each += (2.0 if gradients else 0.25) * _bytes_of_pass(model, pixels)
    memory = free_memory(model.device) if memory is None else memory
    fits = int(memory * SHARE / bytes_each)
    return min(1 << max(fits, 1).bit_length() - 1, LARGEST)


def _bytes_of_pass(model: Model, pixels: Tensor) -> int:
    """Return the size of what all modules take in for one image, which is counted only once."""
    by_shape = _SEEN.setdefault(model.network, {})
    if pixels.shape not in by_shape:
        by_shape[pixels.shape] = _counted_bytes(model, pixels)
    return by_shape[pixels.shape]


def _counted_bytes(model: Model, pixels: Tensor) -> int:
    total = 0

    def count(_: nn.Module, arguments: tuple[Any, ...]) -> None:
        nonlocal total
        total += sum(value.nbytes for value in arguments if isinstance(value, torch.Tensor))

    modules = [module for module in model.network.modules() if not any(module.children())]
    with undisturbed(model.network), torch.no_grad(), calls(modules, count):
        model(pixels)
    return total


def free_memory(device: torch.device) -> int:
    """Return the bytes that are free on a device, within the limits of a container."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    known = [1024 * value for value in _numbers("/proc/meminfo", "MemAvailable:")]
    for folder, limit, used, cache in _CONTAINERS:
        bounds = _numbers(f"{folder}/{limit}") + _numbers(f"{folder}/{used}")
        if len(bounds) == 2:
            # Files that were read count as used, but make room when asked.
            spare = sum(_numbers(f"{folder}/memory.stat", cache))
            known.append(bounds[0] - bounds[1] + spare)
    return max(min(known, default=1 << 30), 0)


def total_memory(device: torch.device) -> int:
    """Return the bytes that a device has, used or not, within the limits of a container."""
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    known = [1024 * value for value in _numbers("/proc/meminfo", "MemTotal:")]
    for folder, limit, *_ in _CONTAINERS:
        known += _numbers(f"{folder}/{limit}")
    return min(known, default=1 << 30)


def _numbers(path: str, name: str | None = None) -> list[int]:
    """Return the number in a file, or the one after a name; none where there is no such thing."""
    try:
        lines = [line.split() for line in Path(path).read_text("ascii").splitlines()]
    except OSError:
        return []
    fields = [line[0] for line in lines] if name is None else _after(name, lines)
    return [int(value) for value in fields if value.isdecimal()]


def _after(name: str, lines: list[list[str]]) -> list[str]:
    return [line[1] for line in lines if len(line) > 1 and line[0] == name]
