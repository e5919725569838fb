"""One small store for all tests that only read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sightline.results import Results, open_results
from tests.results.stores import Made, make_store

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make_store(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="session")
def results(made: Made) -> Iterator[Results]:
    with open_results(made.path) as found:
        yield found
