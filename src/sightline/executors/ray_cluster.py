"""A Ray cluster for the time of a run: one of its own on this machine, or one that is there."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from sightline.records import InputError, MissingPackageError
from sightline.runner.threads import THREADS
from sightline.store.lock import hold, is_held

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sightline.study import Engine

__all__ = ["ENV", "Cluster", "check_engine"]

# Threads are set before the libraries of a worker start; their number is part of the plan.
ENV = {"OMP_NUM_THREADS": str(THREADS), "MKL_NUM_THREADS": str(THREADS)}
# For Ray's own memory on this machine: the plan, and a few words about each task.
_OBJECTS = 128 << 20
_PATIENCE = 10.0  # seconds for a machine to answer
_FOLDERS = "sl-ray-"
_SHORT = 20  # characters of a path that leave room for the names of Ray's sockets in it
_OLD = 60.0  # seconds after which a folder that nobody holds is one that was left
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",  # what it says of workers that died: the run says it
}


def check_engine(engine: Engine, workers: int | None = None) -> None:
    """Raise where Ray cannot be used as a study asks, as far as can be told at once.

    Parameters
    ----------
    engine : Engine
        What the study says.
    workers : int, optional
        As asked for beside the study.

    Raises
    ------
    MissingPackageError
        If Ray is not installed.
    InputError
        If a cluster does not answer, or it is not said how much of it to use.
    """
    if find_spec("ray") is None:
        raise MissingPackageError("engine: ray needs Ray: pip install 'sightline[ray]'")
    if engine.address is None:
        return
    if (workers or engine.workers) is None:
        raise InputError(
            f"engine.workers: how many workers of the cluster at {engine.address} to use must be "
            "given, there or as --workers"
        )
    if engine.address != "auto":
        _check_answer(engine.address)


def _check_answer(address: str) -> None:
    """Raise where nobody listens at an address: Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except OSError as error:
        raise InputError(f"engine.address: no Ray cluster answers at {address}: {error}") from error


class Cluster:
    """Ray, started or reached when first needed, and left as it was found.

    Parameters
    ----------
    engine : Engine
        What the study says.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._held = ExitStack()
        self._cores: int | None = None  # of our own cluster

    @property
    def own(self) -> bool:
        """Whether it was started for this run alone."""
        return self._cores is not None

    def start(self, workers: int, gpus: float) -> None:
        """Have room for workers, each with a core and some GPUs; the first at least must fit."""
        ray = _imported()
        if self._cores is not None and self._cores < workers:
            self.close()
        if not ray.is_initialized():
            self._reach(workers)
        there = ray.cluster_resources()
        if there.get("CPU", 0) < 1 or there.get("GPU", 0) < gpus:
            raise InputError(
                f"engine: a worker takes 1 core and {gpus:g} GPUs; the cluster has "
                f"{there.get('CPU', 0):g} cores and {there.get('GPU', 0):g} GPUs"
            )

    def _reach(self, workers: int) -> None:
        if self.engine.address is None:
            self._held.enter_context(_started(workers))
            self._cores = workers
        else:
            self._held.enter_context(_reached(self.engine.address))

    def close(self) -> None:
        """End the cluster if it was started for this run, and leave any other."""
        self._cores = None
        self._held.close()


def _imported() -> Any:
    """Import Ray, quiet from its first moment."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    import ray
    import ray.data  # sets its levels of logging when it is imported

    return ray


def _remove(folder: Path) -> None:
    """Remove a folder into which processes that are ending may still write."""
    for _ in range(50):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)


def _sweep(folder: Path) -> None:
    """Remove the folders of clusters whose drivers were killed."""
    for lock in folder.glob(f"{_FOLDERS}*/lock"):
        with suppress(OSError):
            if time.time() - lock.stat().st_mtime > _OLD and not is_held(lock):
                shutil.rmtree(lock.parent, ignore_errors=True)


@contextmanager
def _started(cores: int) -> Iterator[None]:
    """Run a cluster on this machine while the block runs.

    It ends with this process, however that ends. Nothing is written outside its own folder.
    """
    ray = _imported()
    usual = tempfile.gettempdir()
    above = usual if len(usual) <= _SHORT else "/tmp"  # noqa: S108 (the folder in it is ours alone)
    _sweep(Path(above))
    folder = tempfile.mkdtemp(prefix=_FOLDERS, dir=above)
    try:
        with hold(Path(folder, "lock")):
            with _environment({**ENV, "RAY_AUTH_TOKEN": _token()}), _hushed():
                ray.init(
                    address="local",
                    num_cpus=cores,
                    object_store_memory=_OBJECTS,
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    _temp_dir=folder,
                )
            yield
    finally:
        ray.shutdown()
        _remove(Path(folder))


@contextmanager
def _reached(address: str) -> Iterator[None]:
    """Be connected to a cluster while the block runs."""
    ray = _imported()
    try:
        with _hushed():
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as error:
        what = str(error).splitlines()[0]
        raise InputError(f"engine.address: no Ray cluster answers at {address}: {what}") from error
    try:
        yield
    finally:
        ray.shutdown()


@cache
def _token() -> str:
    """Return what this process and its clusters know and no other user of the machine does."""
    return token_hex(32)


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Have variables set for the processes that a block starts; what is there stays."""
    before = dict(os.environ)
    os.environ.update({**changes, **{k: v for k, v in before.items() if k not in ENV}})
    try:
        yield
    finally:
        for name in {*changes, "RAY_AUTH_MODE"}:  # Ray sets the last one itself
            if name in before:
                os.environ[name] = before[name]
            else:
                os.environ.pop(name, None)


@contextmanager
def _hushed() -> Iterator[None]:
    """Hold back the error stream while Ray starts, and then pass on what is not its own log."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as held:
        stream = os.dup(2)
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(stream, 2)
            held.seek(0)
            for line in held:
                if b"logging.cc:" not in line:
                    os.write(stream, line)
            os.close(stream)
