"""How tests run: one thread, no network; Hypothesis without a clock, the same in every CI run."""

from __future__ import annotations

import os

# Workers of pytest share the cores: one thread each, set before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Nothing is asked of a network, not even whether it is there.
os.environ["HF_HUB_OFFLINE"] = "1"

import gc
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from tests.no_network import refuse_network
from tests.workers import pytest_addoption, pytest_runtestloop, shared_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

# Some virtual machines announce AMX and die of it: torch in half precision is to do without.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

# With as much in memory as packages bring, looking for cycles as often as usual takes 8% of all.
gc.set_threshold(10_000, 20, 50)

settings.register_profile(
    "sightline",
    deadline=None,
    derandomize="CI" in os.environ,
    max_examples=60,  # the suite has its time
)
settings.load_profile("sightline")
# What tests run in this process (studies, reports, the service, commands) needs none.
refuse_network()


def _do_not_wait(fd: Any) -> None:
    """Look at the file as `os.fsync` does, without waiting for the disk."""
    os.fstat(fd if isinstance(fd, int) else fd.fileno())


# Nobody pulls the plug while tests run. Processes that they start wait, as a user's do.
os.fsync = _do_not_wait


__all__ = ["pytest_addoption", "pytest_runtestloop"]  # hooks

# What takes long, for workers to begin with: begun last, one of them is waited for alone.
_LONG = (
    *("study/executors/test_ray.py", "golden/test_golden.py", "e2e", "api", "results/statistics"),
    "report/test_browser.py",
    *("study/executors/test_kills.py", "attribution/methods/test_deciding.py"),
    *("stats/test_calibration_nulls.py", "stats/test_calibration_sparse.py", "test_docs.py"),
    *("detection/test_simulations.py", "common/test_methods.py"),
    *("study/executors/test_processes.py", "study/executors/test_same.py", "report/test_write.py"),
    *("figures/test_cards.py", "report/test_feeding.py", "test_tutorials.py"),
    *("models/test_demo.py", "cli/test_reading.py"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files and folders that take long before the others."""
    here = Path(__file__).parent
    places = {here / name: place for place, name in enumerate(_LONG)}
    last = len(_LONG)
    items.sort(key=lambda item: places.get(item.path, places.get(item.path.parent, last)))


def pytest_collection_finish() -> None:
    """Leave what is there by now, all of which stays, out of every search for cycles."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    """Let go of it, for packages that count what is left at the end."""
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _forget_screen() -> Iterator[None]:
    """Have each test see a screen of its own width: the program keeps the one it began with."""
    yield
    printing = sys.modules.get("sightline.cli.output")
    if printing is not None:
        printing.console.cache_clear()


@pytest.fixture(scope="session", autouse=True)
def _commands_once() -> Iterator[None]:
    """Put the commands together once: the runner of tests does it for each call, in 40 ms."""
    from typer import testing
    from typer.main import get_command

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(testing, "_get_command", cache(get_command))
        yield


@pytest.fixture(scope="session")
def demo_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of the demo's study on 16 images, with predictions and detections.

    It is one for all workers of pytest: copy it before changing anything.
    """
    from tests.demo import make_demo_store, once

    return once(shared_folder(tmp_path_factory) / "demo", make_demo_store)


@pytest.fixture(scope="session")
def served_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store behind tests of the service and the app, with heads, a variant and detections.

    It is one for all workers of pytest: copy it before changing anything.
    """
    from tests.demo import make_served_store, once

    return once(shared_folder(tmp_path_factory) / "served", make_served_store)


@pytest.fixture(scope="session")
def small_benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a benchmark of a small network's prototypes, in a store.

    It is one for all workers of pytest: copy it before changing anything.
    """
    from tests.demo import once
    from tests.small_prototypes import make_small_benchmark

    return once(shared_folder(tmp_path_factory) / "prototypes", make_small_benchmark)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that all workers of pytest share."""
    return shared_folder(tmp_path_factory)
