from __future__ import annotations

import pytest

from sightline.data.facades import Facade


@pytest.fixture(scope="session")
def many() -> tuple[Facade, ...]:
    """Facades of three seeds, whole blocks of four; each is drawn once for all tests."""
    return tuple(Facade.generate(seed, index, 112) for seed in (0, 1, 977) for index in range(60))


@pytest.fixture(scope="session")
def few(many: tuple[Facade, ...]) -> tuple[Facade, ...]:
    """Some of them, of all styles."""
    return many[:16]
