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

from sightline.core import InputError, MissingPackageError
from sightline.store.lock import hold, is_held
from sightline.study.executors.lane import TICK
from sightline.study.executors.run import RunError
from sightline.study.worker.threads import THREADS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from threading import Event as Signal

    from sightline.study import Engine

__all__ = ["ENV", "Cluster", "check_engine"]

# Threads are set before the libraries of a worker start; their number is part of the plan.
ENV = {"OMP_NUM_THREADS": str(THREADS), "MKL_NUM_THREADS": str(THREADS)}
# For Ray's own memory on this machine: the plan, and a few words about each task.
_OBJECTS = 128 << 20
_PATIENCE = 10.0  # seconds for a machine to answer
_ROOM = 60.0  # seconds for a cluster to have room for a worker
_FOLDERS = "sl-ray-"
_SHORT = 20  # characters of a path that leave room for the names of Ray's sockets in it
_OLD = 60.0  # seconds after which a folder that nobody holds is one that was left
_SILENT = {"RAY_USAGE_STATS_ENABLED": "0"}
_RAYS = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH")  # which Ray sets itself, to ask for the secret
_QUIET = {
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
    if not 0 < int(port) < 1 << 16:
        raise InputError(f"engine.address: the port must be 1 to 65535, got {address}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except (OSError, ValueError) as error:  # a name that can be none is a wrong value
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
        self._reached = False

    @property
    def own(self) -> bool:
        """Whether it was started for this run alone."""
        return self._cores is not None

    def start(self, workers: int, gpus: float, stop: Signal | None = None) -> None:
        """Have room for workers, each with a core and some GPUs; the first at least must fit.

        Parameters
        ----------
        workers, gpus
            How many, and the GPUs that each has.
        stop : Event, optional
            Ends the wait for room when it is set.
        """
        if gpus > 1 and gpus % 1:
            raise InputError(f"engine.gpus: must be whole where there is more than 1, got {gpus:g}")
        ray = _imported()
        if self._cores is not None and self._cores < workers:
            self.close()
        if not ray.is_initialized():
            self._reach(workers)
        elif not self._reached and self.engine.address not in (None, "auto"):
            _check_same(self.engine.address, ray.get_runtime_context().gcs_address)
        _check_machines(gpus, [one["Resources"] for one in ray.nodes() if one["Alive"]])
        if not self.own:  # others may use it, too
            _wait_for_room(gpus, stop)

    def _reach(self, workers: int) -> None:
        if self.engine.address is None:
            self._held.enter_context(_started(workers))
            self._cores = workers
        else:
            self._held.enter_context(_reached(self.engine.address))
            self._reached = True

    def close(self) -> None:
        """End the cluster if it was started for this run, and leave any other."""
        self._cores, self._reached = None, False
        self._held.close()


def _check_same(asked: str | None, there: str) -> None:
    """Raise where this process is connected to another cluster than a study asks for.

    >>> _check_same("localhost:6379", "127.0.0.1:6379")
    """

    def place(address: str) -> tuple[str, str]:
        host, _, port = address.rpartition(":")
        with suppress(OSError, ValueError):
            host = socket.gethostbyname(host)
        return host, port

    if asked is not None and place(asked) != place(there):
        raise InputError(
            f"engine.address: this process uses the Ray cluster at {there} already; the study asks "
            f"for {asked}"
        )


def _counts(resources: Mapping[str, float]) -> str:
    return f"{resources.get('CPU', 0):g} cores and {resources.get('GPU', 0):g} GPUs"


def _check_machines(gpus: float, machines: Sequence[Mapping[str, float]]) -> None:
    """Raise where no machine of a cluster can ever have a worker.

    >>> _check_machines(1, [{"CPU": 8}, {"CPU": 2, "GPU": 1}])
    """
    if not any(one.get("CPU", 0) >= 1 and one.get("GPU", 0) >= gpus for one in machines):
        seen = "; ".join(dict.fromkeys(map(_counts, machines))) or "none"
        raise InputError(
            f"engine: a worker takes 1 core and {gpus:g} GPUs of one machine; the machines of the "
            f"cluster have: {seen}"
        )


def _wait_for_room(gpus: float, stop: Signal | None) -> None:
    """Wait until a cluster has done something that takes what a worker takes."""
    import ray

    asked = ray.remote(lambda: None).options(num_cpus=1, num_gpus=gpus).remote()
    end, done = time.monotonic() + _ROOM, False
    try:
        while not (done := bool(ray.wait([asked], timeout=TICK)[0])):
            if stop is not None and stop.is_set():
                return
            if time.monotonic() > end:
                raise InputError(
                    f"engine: the cluster had no room for a worker with 1 core and {gpus:g} GPUs "
                    f"in {_ROOM:g} seconds: it has {_counts(ray.cluster_resources())}, of which "
                    f"{_counts(ray.available_resources())} are free"
                )
    finally:
        if not done:  # Ray may end the process that cancels what is done
            ray.cancel(asked)


def _imported() -> Any:
    """Import Ray, quiet from its first moment."""
    _hush()
    import ray
    import ray.data  # sets its levels of logging when it is imported

    return ray


def _hush() -> None:
    """Have Ray send nothing, whatever the environment says, and say little unless it does."""
    os.environ.update(_SILENT)
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)


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
            _start(cores, folder)
            yield
    finally:
        ray.shutdown()
        _forget_token()
        _remove(Path(folder))


def _start(cores: int, folder: str) -> None:
    """Start a cluster that asks for our secret, whatever the environment says of secrets."""
    import ray
    from ray.exceptions import RayError

    try:
        with _environment({**ENV, "RAY_AUTH_TOKEN": _token()}), _hushed():
            _forget_token()
            ray.init(
                address="local",
                num_cpus=cores,
                object_store_memory=_OBJECTS,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                _temp_dir=folder,
            )
            if os.environ.get("RAY_AUTH_MODE") != "token":
                raise RuntimeError("it would let anybody in")
    except (OSError, RuntimeError, ValueError, RayError) as error:
        what = (str(error).splitlines() or [type(error).__name__])[0]
        raise RunError(f"Ray cannot be started on this machine: {what}") from error


def _forget_token() -> None:
    """Have Ray look for a secret anew: it keeps the first that it found in this process."""
    import ray._raylet as raylet

    if (loader := getattr(raylet, "AuthenticationTokenLoader", None)) is not None:
        loader.instance().reset_cache()


@contextmanager
def _reached(address: str) -> Iterator[None]:
    """Be connected to a cluster while the block runs."""
    ray = _imported()
    try:
        with _hushed():
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        what = (str(error).splitlines() or [type(error).__name__])[0]
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
    """Have variables set for the processes that a block starts, and others left to Ray."""
    before = dict(os.environ)
    os.environ.update(changes)
    for name in _RAYS:
        os.environ.pop(name, None)
    try:
        yield
    finally:
        for name in {*changes, *_RAYS}:
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
