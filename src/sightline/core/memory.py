"""Lack of memory or of address space, and how it is recognised."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.core.errors import OutOfMemoryError, SightlineError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "describe_error",
    "find_memory_error",
    "get_address_space_limit",
    "guard_imports",
    "is_out_of_memory",
]

# Megabytes of address space that a library takes with all that it loads, and more for each thread
# of a core: measured with one and with two. With less scipy's OpenBLAS 0.3.30 never ends to load.
_NEEDED = {"torch": (900, 150), "scipy": (170, 50)}

# What libraries say that have no error of their own for it: torch, the loader of shared libraries,
# threads, C++.
_PHRASES = (
    "allocate memory",
    "failed to map segment",
    "cannot create shared object",
    "can't start new thread",
    "bad_alloc",
    "bad allocation",
    "memory allocation failed",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error, or what caused it, is a lack of memory or of address space.

    Examples
    --------
    >>> is_out_of_memory(MemoryError()), is_out_of_memory(OSError(28, "No space left on device"))
    (True, False)
    """
    return find_memory_error(error) is not None


def find_memory_error(error: BaseException) -> BaseException | None:
    """Return the error, or the one that caused it, which is a lack of memory or address space.

    Examples
    --------
    >>> find_memory_error(ValueError("too long")) is None
    True
    """
    cause: BaseException | None = error
    seen: set[int] = set()
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        if isinstance(cause, MemoryError | OutOfMemoryError):
            return cause
        if _says_so(cause):
            return cause
        cause = cause.__cause__ or cause.__context__
    return None


def _says_so(error: BaseException) -> bool:
    """Return whether an error of a library says that memory is lacking, by number or in words."""
    number = getattr(error, "errno", None)
    if isinstance(error, SightlineError) or isinstance(number, int):  # they quote names of files
        return number == errno.ENOMEM
    text = str(error).lower()
    system = isinstance(error, RuntimeError | ImportError | OSError)
    if "out of memory" in text or f"(os error {errno.ENOMEM})" in text:  # as Rust's libraries say
        return True
    return system and any(phrase in text for phrase in _PHRASES)


def describe_error(error: BaseException) -> str:
    """Return what an error says, or its kind where it says nothing.

    Examples
    --------
    >>> describe_error(MemoryError()), describe_error(ValueError("too long"))
    ('out of memory', 'too long')
    """
    text = str(error).strip()
    if text:
        return text
    return "out of memory" if isinstance(error, MemoryError) else type(error).__name__


def get_address_space_limit() -> int | None:
    """Return how many bytes of address space this process may have; None without a limit."""
    with suppress(ImportError):  # not on every system
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        return None if limit == resource.RLIM_INFINITY else limit
    return None


def guard_imports() -> None:
    """Refuse the import of libraries for which too little address space is left, from here on.

    Nothing is refused where the address space has no limit.
    """
    sys.meta_path.insert(0, _ImportGuard())


class _ImportGuard:
    """A finder of modules that finds none, and looks at the address space before it is too late."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> None:
        limit = get_address_space_limit()
        if limit is None or name not in _NEEDED:
            return
        needed, left = _estimate_needed(name), limit - _get_address_space()
        if left < needed:
            raise OutOfMemoryError(
                f"out of memory or address space: {name} needs {needed / 1e9:.2g} GB of address "
                f"space, and {max(0, left) / 1e9:.2g} GB are left of {limit / 1e9:.2g} GB "
                "(ulimit -v). What is stored is kept; raise the limit and run again"
            )


def _estimate_needed(library: str) -> int:
    """Return the bytes of address space that a library takes, with as many threads as it starts."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    count = int(threads) if threads.isdecimal() else os.cpu_count() or 1
    base, each = _NEEDED[library]
    return (base + each * min(count, os.cpu_count() or 1)) * 1_000_000


def _get_address_space() -> int:
    """Return how many bytes of address space this process has; 0 where the system does not say."""
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 0
