"""Kernels for a GPU as Triton's interpreter runs them, on tensors here.

Triton decides when a kernel is defined, its own among them, whether it is interpreted: modules of
kernels are imported anew, with Triton, and put away afterwards. Whatever else uses Triton in this
process, on a device, keeps the modules it had.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["interpreted"]

# Modules that are put away have names all the same: Python cleans them up at the end by these.
_AWAY = "interpreted: "


@contextmanager
def interpreted(name: str) -> Iterator[Any]:
    """Give a module of kernels whose kernels are interpreted; on leaving, all is as before."""
    package, _, last = name.rpartition(".")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_INTERPRET", "1")
        for module in _with_triton(name):
            patch.delitem(sys.modules, module)
        for module in _with_triton(name, _AWAY):
            sys.modules[module] = sys.modules.pop(_AWAY + module)
        patch.setattr(import_module(package), last, None, raising=False)
        try:
            found = import_module(name)
            _multiply_numbers(patch)
            yield found
        finally:
            for module in _with_triton(name):
                sys.modules[_AWAY + module] = sys.modules.pop(module)


def _multiply_numbers(patch: pytest.MonkeyPatch) -> None:
    """Have products of bfloat16 made from numbers: the interpreter multiplies their bits."""
    language, runtime = (import_module(f"triton.{name}") for name in ("language", "runtime"))
    builder = runtime.interpreter.InterpreterBuilder
    usual = builder.create_dot

    def create_dot(self: Any, a: Any, b: Any, *more: Any) -> Any:
        wide = (
            self.cast_impl(x, language.float32) if x.dtype.scalar == language.bfloat16 else x
            for x in (a, b)
        )
        return usual(self, *wide, *more)

    patch.setattr(builder, "create_dot", create_dot)


def _with_triton(name: str, before: str = "") -> list[str]:
    """Return a module and those of Triton, but for compiled ones, which serve both ways."""
    known = [module.removeprefix(before) for module in sys.modules if module.startswith(before)]
    return [
        module
        for module in known
        if module == name or (f"{module}.".startswith("triton.") and "._C" not in module)
    ]
