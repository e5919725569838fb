"""Lack of memory or of address space, and how it is recognised."""

from __future__ import annotations

import errno
from contextlib import suppress

from sightline.records.errors import OutOfMemoryError

__all__ = [
    "describe_error",
    "find_memory_error",
    "get_address_space_limit",
    "is_out_of_memory",
]

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
        if isinstance(cause, OSError) and cause.errno == errno.ENOMEM:
            return cause
        text = str(cause).lower()
        system = isinstance(cause, RuntimeError | ImportError | OSError)
        if "out of memory" in text or (system and any(phrase in text for phrase in _PHRASES)):
            return cause
        cause = cause.__cause__ or cause.__context__
    return None


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
