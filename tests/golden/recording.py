"""Attribution maps that are committed, in place of those that networks compute here.

Networks differ in the last bits between machines, and percentiles turn such bits into other
scores. While `recorded_maps` is active each method still runs, its maps are compared with the
recorded ones, and the recorded ones are returned: what follows is the same everywhere.
"""

from __future__ import annotations

import platform
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from sightline.attribution.methods import METHODS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from sightline.attribution.methods.methods import Found, Method, Request
    from sightline.models import Inputs, Model

MAPS = Path(__file__).parent / "maps.safetensors"
MACHINE = Path(__file__).parent / "machine.json"
"""The machine that wrote the answers."""
TOLERANCE = 1e-4
"""How far maps may be from the recorded ones on another machine, relative to their maximum."""


@cache
def describe_machine() -> dict[str, str]:
    """Return what decides the last bits of a network: processor and libraries."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.is_file() else []
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    flags = sha256(facts.get("flags", "").encode()).hexdigest()[:8]
    return {
        "processor": f"{facts.get('model name', platform.machine())} {flags}",
        "torch": torch.__version__.partition("+")[0],
        "numpy": np.__version__,
    }


class Recording:
    """Maps by model, method, parameters, layer and image.

    Parameters
    ----------
    path : Path
        The file.
    exact : bool
        Whether this machine is the one that wrote it.
    write : bool
        Whether maps are written instead of compared.
    """

    def __init__(self, path: Path, *, exact: bool, write: bool) -> None:
        self.path, self.exact, self.write = path, exact, write
        self.maps: dict[str, NDArray[Any]] = {} if write else load_file(path)
        self.used: set[str] = set()

    def replay(self, key: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the recorded map under a key, which `values` must equal."""
        if self.write:
            same = self.maps.get(key, values)
            assert np.array_equal(same, values), f"{key}: two maps have this name"
            self.maps[key] = values.copy()  # contiguous, and of its own
            return values
        assert key in self.maps, f"{key}: no such map was recorded"
        self.used.add(key)
        expected = self.maps[key]
        limit = 0.0 if self.exact else TOLERANCE * float(np.abs(expected).max(initial=0))
        error = float(np.abs(values - expected).max(initial=0))
        assert error <= limit, f"{key}: differs from the recorded map by {error}, allowed {limit}"
        return expected

    def save(self) -> None:
        """Write the maps to the file."""
        save_file(dict(sorted(self.maps.items())), self.path)


@cache
def _name_network(model: Model) -> str:
    """Return the name of a model with a hash of its weights, whose last bits do not count."""
    weights = model.network.state_dict().values()
    sizes = [f"{float(one.double().abs().mean()):.3g}" for one in weights]
    return f"{model.name} {sha256(' '.join(sizes).encode()).hexdigest()[:8]}"


def _replaying(method: Method, recording: Recording) -> Method:
    """Return a method whose maps are replaced by the recorded ones."""

    def function(model: Model, inputs: Inputs, request: Request) -> Found:
        found = method.function(model, inputs, request)
        goals = ("",) * len(inputs.keys)
        if found.goal is not None:
            kind = type(request.goal).__name__
            goals = tuple(f"{kind} {name}" for name in found.goal.names(model.classes))
        layers = request.layers or (None,)
        params = "".join(f" {name}={value}" for name, value in sorted(request.params.items()))
        heads = "" if request.heads is None else " heads"
        maps = []
        for layer, values in zip(layers, found.maps, strict=True):
            arrays = values.detach().float().cpu().numpy()
            kept = [
                recording.replay(
                    f"{_name_network(model)} {method.name}{params} {goal} {layer}{heads} {key:x}",
                    array,
                )
                for key, goal, array in zip(inputs.keys, goals, arrays, strict=True)
            ]
            maps.append(torch.from_numpy(np.stack(kept)).to(values.device))
        return found._replace(maps=maps)

    return replace(method, function=function)


@contextmanager
def recorded_maps(recording: Recording) -> Iterator[None]:
    """Have all methods return the recorded maps."""
    with pytest.MonkeyPatch.context() as patch:
        for name in METHODS:
            patch.setitem(METHODS._entries, name, _replaying(METHODS[name], recording))
        yield
