"""No process outlives the test that started it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.study.executors.studies import STARTED

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def clear_away() -> Iterator[None]:
    yield
    while STARTED:
        STARTED.pop().clear_away()
