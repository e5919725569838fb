"""How many threads a worker uses: fixed, since sums in another order have other last bits."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sightline.study.plan.plan import Plan

__all__ = ["THREADS", "fixed_threads", "planned_threads"]

THREADS = 1


@contextmanager
def planned_threads(plan: Plan) -> Iterator[None]:
    """Have torch use the planned number of threads in this thread, where a plan runs models."""
    if not any(source.kind in ("model", "check") for source in plan.sources):
        yield
        return
    with fixed_threads():
        yield


@contextmanager
def fixed_threads() -> Iterator[None]:
    """Have torch use a fixed number of threads in this thread."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    try:
        yield
    finally:
        torch.set_num_threads(before)
