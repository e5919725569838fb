"""Shipped models and drawn facades, made once for all tests of a process that only use them."""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

import pytest

from sightline.data.facades import dataset
from sightline.models import MODELS, load

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sightline.models import Model

_KEPT: dict[str, Model] = {}
_drawn = lru_cache(64)(dataset._drawn.__wrapped__)


@contextmanager
def drawn_once() -> Iterator[None]:
    """Keep more facades at hand than programs do: tests look at the same few again and again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dataset, "_drawn", _drawn)
        yield


@contextmanager
def loaded_once() -> Iterator[None]:
    """Give whoever loads a shipped model the one that was loaded before; facades likewise."""
    real = load._by_name

    def by_name(spec: str) -> Model:
        if spec not in MODELS:  # files can change
            return real(spec)
        if spec not in _KEPT:
            _KEPT[spec] = real(spec)
        return _KEPT[spec]

    with pytest.MonkeyPatch.context() as patch, drawn_once():
        patch.setattr(load, "_by_name", by_name)
        yield
