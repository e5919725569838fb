"""Compile kernels, and tell while it is done, which takes a while, once on a machine."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["announce_compilation", "compiled", "compiled_sums"]

log = logging.getLogger("sightline")

_Kernel = TypeVar("_Kernel", bound="Callable[..., Any]")
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def compiled(function: _Kernel) -> _Kernel:
    """Compile a kernel at its first call; keep it on disk where there is a folder for that."""
    return _compile(function, _OPTIONS)


def compiled_sums(function: _Kernel) -> _Kernel:
    """Compile as `compiled` does, but let sums use vector registers.

    Their order then follows from the code, never from batch or thread.
    """
    return _compile(function, {**_OPTIONS, "fastmath": {"reassoc", "nsz"}})


def _compile(function: _Kernel, options: dict[str, Any]) -> _Kernel:
    try:
        return cast("_Kernel", njit(cache=True, **options)(function))
    except RuntimeError:  # neither the package, the home nor NUMBA_CACHE_DIR may be written
        return cast("_Kernel", njit(**options)(function))


@cache
def announce_compilation(kernel: Any, what: str) -> None:
    """Tell, once, that the first use of a kernel on a machine compiles it and its kin.

    `what` names them: "the matching kernels".
    """
    function, folder = kernel.py_func, kernel.stats.cache_path
    if folder is None:
        log.warning(
            "compiling %s: some seconds, in every process; set NUMBA_CACHE_DIR to a folder that "
            "can be written to do it once",
            what,
        )
        return
    module = function.__module__.rpartition(".")[2]
    if not any(Path(folder).glob(f"{module}.{function.__qualname__}-*.nbi")):
        log.warning("compiling %s: some seconds, once on this machine", what)
