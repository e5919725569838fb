"""What several tests of commands need: models read once, and a few facades in files."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

from sightline.models import load
from tests.cli.small import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def loaded_once() -> Iterator[None]:
    """Read the weights of each model once for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(load, "_by_name", cache(load._by_name))
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
