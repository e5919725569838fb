"""A study on a Ray cluster: Ray Data hands the tasks to a pool of workers, which write shards."""

from __future__ import annotations

import logging
import platform
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from threading import Event as Signal
from threading import Thread
from typing import TYPE_CHECKING, Any

from sightline.executors.lane import Failed, Finished
from sightline.executors.local import DEPTH, DEPTH_ON_DEVICE, Outcome
from sightline.executors.ray_cluster import ENV, Cluster
from sightline.executors.ray_notes import Notes
from sightline.executors.ray_worker import Job, Killed, RayWorker, pack_tasks, unpack_events
from sightline.runner.manifest import package_versions

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from sightline.executors.ray_worker import Event
    from sightline.runner import Plan, Shelf, Task
    from sightline.store import Store
    from sightline.study import Engine

__all__ = ["execute", "on_ray"]

_TICK = 0.2  # seconds between looks at whether to stop


@contextmanager
def on_ray(engine: Engine) -> Iterator[Callable[..., Outcome]]:
    """Yield what does tasks on Ray, see `execute`; the cluster ends with the block."""
    with closing(Cluster(engine)) as cluster:
        yield partial(execute, cluster)


def execute(
    cluster: Cluster,
    plan: Plan,
    store: Store,
    tasks: Iterable[Task],
    *,
    workers: int,
    shelf: Shelf,
    stop: Signal,
    watch: Callable[[Finished], object],
) -> Outcome:
    """Do tasks in a pool of processes of a Ray cluster.

    Parameters
    ----------
    cluster : Cluster
        Which is started if it is not there.
    plan, store, tasks, workers, shelf, stop, watch
        As on one machine, see `sightline.executors.local.execute`.
    """
    tasks = list(tasks)
    first = [task for task in tasks if plan.sources[task.source].kind != "mean"]
    then = [task for task in tasks if plan.sources[task.source].kind == "mean"]
    driver = _Driver(plan, store, stop, watch)
    for phase in (first, then):
        groups = _groups(plan, phase)
        if not groups or driver.ending():
            continue
        gpus = _gpus(cluster.engine, shelf.device)
        cluster.start(min(workers, len(tasks)), gpus)
        driver.run(groups, _Pool(cluster, min(workers, len(groups)), gpus, shelf.device))
        if driver.outcome.bad:
            break  # a mean needs the maps of all
    return driver.outcome


def _groups(plan: Plan, tasks: Iterable[Task]) -> list[list[Task]]:
    """Return tasks in groups that one worker does together: their maps come from one pass."""
    groups: list[list[Task]] = []
    for task in tasks:
        if groups and plan.follows(task, groups[-1][-1]):
            groups[-1].append(task)
        else:
            groups.append([task])
    return groups


def _gpus(engine: Engine, device: str) -> float:
    """Return how many GPUs each worker has: as the study says, or one where they are used."""
    return (device != "cpu") * 1.0 if engine.gpus is None else engine.gpus


class _Pool:
    """Workers of a cluster: how many, and what each has."""

    def __init__(self, cluster: Cluster, size: int, gpus: float, device: str) -> None:
        self.cluster, self.size, self.gpus, self.device = cluster, size, gpus, device

    def each(self, groups: Sequence[Sequence[Task]], job: Job) -> Generator[Event]:
        """Yield what becomes of tasks, as it is heard."""
        from ray import data

        with _quiet(data.DataContext.get_current()):
            rows = [{"tasks": pack_tasks(group)} for group in groups]
            blocks = data.from_items(rows, override_num_blocks=len(rows)).map_batches(
                RayWorker,
                fn_constructor_args=(job,),
                batch_size=None,
                compute=data.ActorPoolStrategy(
                    size=self.size,
                    max_concurrent_calls_per_actor=self._depth(),
                    enable_true_multi_threading=True,
                ),
                num_cpus=1,
                num_gpus=self.gpus or None,
                runtime_env=None if self.cluster.own else {"env_vars": ENV},
            )
            for batch in blocks.iter_batches(batch_size=None, prefetch_batches=0):
                for text in batch["events"]:
                    yield from unpack_events(text)

    def _depth(self) -> int:
        return DEPTH if self.device == "cpu" else DEPTH_ON_DEVICE

    def job(self, plan: Plan, store: Store, notes: Notes) -> Job:
        """Return what workers need to know."""
        import ray

        return Job(
            ray.put(plan.for_workers()),
            store=str(store.path.resolve()),
            notes=str(notes.folder),
            folder=str(Path.cwd()),
            device=self.device,
            machine=platform.node() or "unknown",
            versions=package_versions(),
        )


@contextmanager
def _quiet(context: Any) -> Iterator[None]:
    """Have Ray Data draw no bars, since there is one already, and log only errors."""
    loggers = [logging.getLogger(name) for name in ("ray", "ray.data")]
    before = context.enable_progress_bars, [logger.level for logger in loggers]
    context.enable_progress_bars = False
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        context.enable_progress_bars = before[0]
        for logger, level in zip(loggers, before[1], strict=True):
            logger.setLevel(level)


class _Driver:
    """Listens to the workers, and says when to stop."""

    def __init__(
        self, plan: Plan, store: Store, stop: Signal, watch: Callable[[Finished], object]
    ) -> None:
        self.plan, self.store = plan, store
        self.stop, self.watch = stop, watch
        self.outcome = Outcome()

    def ending(self) -> bool:
        """Say whether nothing more is to be begun."""
        return self.stop.is_set() or bool(self.outcome.memory) or self.outcome.error is not None

    def run(self, groups: Sequence[Sequence[Task]], pool: _Pool) -> None:
        """Do groups of tasks until none is left, or the run must end."""
        from ray.exceptions import RayError

        notes = Notes.create(self.store)
        try:
            job = pool.job(self.plan, self.store, notes)
            with _stopping(self.stop, notes), closing(pool.each(groups, job)) as events:
                self._listen(events, notes)
        except RayError as error:
            if self.outcome.error is None:
                self.outcome.error = Failed(groups[0][0], "worker", _said(error), {})
        finally:
            self.store.clean()  # of the notes, and of files that killed workers have begun

    def _listen(self, events: Iterator[Event], notes: Notes) -> None:
        for event in events:
            self._hear(event)
            notes.hear(event.task.name)
            if self.ending():
                notes.stop()
                if not notes.in_hand():
                    return

    def _hear(self, event: Event) -> None:
        source = self.plan.sources[event.task.source]
        if isinstance(event, Finished):
            self.watch(event)
        elif isinstance(event, Failed):
            self.outcome.note(event, source)
        elif isinstance(event, Killed):
            self.outcome.note(_died(event.task, source.kind), source)


def _died(task: Task, kind: str) -> Failed:
    """Return the verdict on a task of which two workers died: a model took too much memory."""
    if kind in ("model", "check"):
        return Failed(task, "memory", "its process was killed by the system", {})
    what = f"a worker ended again while it had task {task.name}; fewer workers need less memory"
    return Failed(task, "worker", what, {})


def _said(error: BaseException) -> str:
    """Return what Ray says of a fault, without its traces."""
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"Ray cannot go on: {lines[-1] if lines else type(error).__name__}"


@contextmanager
def _stopping(stop: Signal, notes: Notes) -> Iterator[None]:
    """Tell the workers when a run is to stop, while the block runs."""
    over = Signal()

    def look() -> None:
        while not over.wait(_TICK):
            if stop.is_set():
                notes.stop()
                return

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
