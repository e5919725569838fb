"""Stores that all tests of the analysis read; none of them is changed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.demo import once
from tests.loaded import drawn_once
from tests.results.statistics import stores

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sightline.results import SparsityReport


@pytest.fixture(scope="module", autouse=True)
def _drawn_once() -> Iterator[None]:
    with drawn_once():
        yield


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("analysis")


@pytest.fixture(scope="session")
def sparse(shared: Path) -> Path:
    """Twenty facades with one label of each kind, one store for all workers of pytest."""
    kind = "representative"
    make = partial(stores.run_facades, name="sparse", labelling=kind, count=stores.COUNT)
    return once(shared / "analysis-sparse", make)


@pytest.fixture(scope="session")
def gold(shared: Path) -> Path:
    """The first eight with every part labelled, one store for all workers of pytest."""
    make = partial(stores.run_facades, name="gold", labelling="exhaustive", count=8)
    return once(shared / "analysis-gold", make)


@pytest.fixture(scope="session")
def odd(folder: Path) -> Path:
    """Pictures of two shapes, letterboxed, with pixels to ignore."""
    data = {"name": "folder", "path": str(stores.write_odd(folder / "pictures"))}
    return stores.run(folder, "odd", data=data, fit="letterbox")


@pytest.fixture(scope="session")
def cropped(folder: Path, odd: Path) -> Path:
    """The same, cropped, scored on pixels of the pictures."""
    data = {"name": "folder", "path": str(folder / "pictures")}
    return stores.run(folder, "cropped", data=data, fit="crop", resolution=48)


@pytest.fixture(scope="session")
def given(folder: Path, odd: Path) -> Path:
    """Maps made elsewhere, of all pictures but the last two."""
    return stores.run_given(folder, "given", folder / "pictures", range(7))


@pytest.fixture(scope="session")
def alone(sparse: Path) -> SparsityReport:
    """What missing labels do to the sparse store, by itself."""
    return stores.report_of(sparse)


@pytest.fixture(scope="session")
def joined(sparse: Path, gold: Path) -> SparsityReport:
    """The same with a gold set."""
    return stores.report_of(sparse, gold=gold)


@pytest.fixture(scope="session")
def complete(gold: Path) -> SparsityReport:
    """The report of a store that lacks no labels, as far as it knows."""
    return stores.report_of(gold)
