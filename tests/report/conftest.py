"""The report of the demo's study, made once for all tests and workers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def demo_report(demo_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the report of `demo_store`: read it, do not change it."""
    from sightline.report import write_report
    from tests.demo import once

    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def make(folder: Path) -> Path:
        return write_report(demo_store, folder / "report").page.parent

    return once(shared / "demo_report", make)
