"""What several tests of commands need: models read once, and a few facades in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.small import run
from tests.loaded import loaded_once

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module", name="loaded_once")
def _loaded_once() -> Iterator[None]:
    """Read the weights of each model once for all tests."""
    with loaded_once():
        yield


@pytest.fixture(scope="module")
def facades(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write three small facades."""
    folder = tmp_path_factory.mktemp("facades")
    run("facades", folder, "--count", 3, "--size", 96, "--force")
    return folder


@pytest.fixture
def image(facades: Path) -> Path:
    """The first of them."""
    return facades / "images" / "facade-00000.png"
