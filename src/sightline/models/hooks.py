"""The one file that hooks into networks; everything is as before when a `with` ends."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch
from torch.overrides import TorchFunctionMode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from torch import Tensor, nn

__all__ = ["calls", "edited", "first_tensor", "functions", "outputs", "running", "undisturbed"]


# Threads take turns with a network, and with what torch keeps for the whole process.
_TURNS: WeakKeyDictionary[nn.Module, Any] = WeakKeyDictionary()
_GUARD = threading.Lock()
_EXACT: list[tuple[bool, bool]] = []


@contextmanager
def undisturbed(network: nn.Module) -> Iterator[None]:
    """Put the network into evaluation with frozen parameters; then restore all that could change.

    Other threads wait for the same network. On a GPU, convolutions meanwhile run in full precision
    and give the same bits every time.

    Restored, also after an exception: the mode of every module, which parameters require
    gradients and their gradients, and the state of torch's random generators.
    """
    weights = list(network.parameters())
    devices = sorted({p.device.index or 0 for p in weights if p.is_cuda})
    with _turn(network), _exact(bool(devices)), torch.random.fork_rng(devices=devices):
        modes = [(module, module.training) for module in network.modules()]
        parameters = [(p, p.requires_grad, p.grad) for p in weights]
        try:
            network.eval()
            for parameter, _, _ in parameters:
                parameter.requires_grad_(False)
            yield
        finally:
            for module, mode in modes:
                module.training = mode
            for parameter, needed, gradient in parameters:
                parameter.requires_grad_(needed)
                parameter.grad = gradient


def _turn(network: nn.Module) -> Any:
    """Return the lock of a network; a thread may hold it more than once."""
    with _GUARD:
        return _TURNS.setdefault(network, threading.RLock())


@contextmanager
def _exact(on_gpu: bool) -> Iterator[None]:
    """Run convolutions of a GPU in full precision, always by the same algorithm."""
    if not on_gpu:
        yield
        return
    flags = torch.backends.cudnn
    with _GUARD:
        _EXACT.append((flags.deterministic, flags.allow_tf32))
        flags.deterministic, flags.allow_tf32 = True, False
    try:
        yield
    finally:
        with _GUARD:
            before = _EXACT[0]
            _EXACT.pop()
            if not _EXACT:  # the last of all threads
                flags.deterministic, flags.allow_tf32 = before


@contextmanager
def outputs(modules: Iterable[nn.Module]) -> Iterator[dict[nn.Module, Any]]:
    """Collect what modules return, by module; the last call counts."""
    found: dict[nn.Module, Any] = {}

    def keep(module: nn.Module, _: Any, output: Any) -> None:
        found[module] = output

    with ExitStack() as stack:
        for module in modules:
            stack.callback(module.register_forward_hook(keep).remove)
        yield found


@contextmanager
def calls(
    modules: Iterable[nn.Module],
    see: Callable[[nn.Module, tuple[Any, ...]], None],
    leave: Callable[[nn.Module], None] | None = None,
) -> Iterator[None]:
    """Call `see(module, arguments)` before each module runs, and `leave(module)` after it."""

    def look(module: nn.Module, arguments: tuple[Any, ...]) -> None:
        see(module, arguments)

    def left(module: nn.Module, *_: Any) -> None:
        if leave is not None:
            leave(module)

    with ExitStack() as stack:
        for module in modules:
            stack.callback(module.register_forward_pre_hook(look).remove)
            stack.callback(module.register_forward_hook(left, always_call=True).remove)
        yield


@contextmanager
def edited(module: nn.Module, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Let a module return something else: `change` of the tensor that `first_tensor` finds."""

    def replace(_: nn.Module, arguments: Any, output: Any) -> Any:
        return _with_first(output, change(first_tensor(output)))

    handle = module.register_forward_hook(replace)
    try:
        yield
    finally:
        handle.remove()


def _with_first(output: Any, value: Tensor) -> Any:
    """Return an output with another first tensor."""
    if isinstance(output, torch.Tensor):
        return value
    if hasattr(output, "last_hidden_state"):
        fields = {**output, "last_hidden_state": _with_first(output.last_hidden_state, value)}
        return type(output)(**fields)
    parts = [_with_first(output[0], value), *output[1:]]
    return output._make(parts) if hasattr(output, "_make") else type(output)(parts)


@contextmanager
def running(
    modules: Iterable[nn.Module], run: Callable[[nn.Module, Callable[[Any], Any], Any], Any]
) -> Iterator[None]:
    """Let `run(module, forward, value)` stand for what modules compute.

    `value` is the first argument of the module, and `forward` what it computes of such a value.
    """
    with ExitStack() as stack:
        for module in dict.fromkeys(modules):
            own = "forward" in vars(module)  # somebody else's stands there already
            stack.callback(_put_back, module, module.forward if own else None)
            module.forward = _runner(module, module.forward, run)
        yield


def _put_back(module: nn.Module, forward: Any) -> None:
    if forward is None:
        del module.forward
    else:
        module.forward = forward


def _runner(module: nn.Module, forward: Any, run: Callable[..., Any]) -> Callable[..., Any]:
    """Return what a module does when `run` stands for it; the value may be given by name."""

    def runs(*given: Any, **named: Any) -> Any:
        if given:
            return run(module, lambda value: forward(value, *given[1:], **named), given[0])
        if not named:
            return forward()
        name = next(iter(named))
        return run(module, lambda value: forward(**{**named, name: value}), named[name])

    return runs


@contextmanager
def functions(see: Callable[[str], None]) -> Iterator[None]:
    """Call `see(name)` before each function of torch runs, also those that modules call."""

    class Watch(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, function: Any, _: Any, given: Any = (), named: Any = None
        ) -> Any:
            see(getattr(function, "__name__", ""))
            return function(*given, **(named or {}))

    with Watch():
        yield


def first_tensor(output: Any) -> Tensor:
    """Return the tensor of an output: itself, `last_hidden_state`, or the first of a tuple."""
    if isinstance(output, torch.Tensor):
        return output
    if hasattr(output, "last_hidden_state"):
        return first_tensor(output.last_hidden_state)
    return first_tensor(output[0])
