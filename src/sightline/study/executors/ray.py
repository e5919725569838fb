"""A study on a Ray cluster: Ray Data hands the tasks to a pool of workers, which write shards."""

from __future__ import annotations

import logging
import platform
from contextlib import closing, contextmanager
from ctypes import c_ulong, py_object, pythonapi
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event as Signal
from threading import Thread
from typing import TYPE_CHECKING, Any

from sightline.study.executors.lane import TICK, Failed, Finished
from sightline.study.executors.local import DEPTH, DEPTH_ON_DEVICE, Outcome, in_phases
from sightline.study.executors.ray_cluster import ENV, Cluster
from sightline.study.executors.ray_notes import Notes
from sightline.study.executors.ray_worker import Job, Killed, RayWorker, pack_tasks, unpack_events
from sightline.study.plan.manifest import package_versions

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from sightline.store import Store
    from sightline.study import Engine, Plan, Shelf, Task
    from sightline.study.executors.ray_worker import Event

__all__ = ["on_ray"]

_PATIENCE, _LONG = 2.0, 30.0  # seconds for a pool to give something, and to end


@contextmanager
def on_ray(engine: Engine) -> Iterator[Callable[..., Outcome]]:
    """Yield what does tasks on Ray; the cluster is started when needed and ends with the block.

    It takes what `sightline.study.executors.local.execute` takes.
    """
    with closing(Cluster(engine)) as cluster:

        def execute(
            plan: Plan,
            store: Store,
            tasks: Iterable[Task],
            *,
            workers: int,
            shelf: Shelf,
            stop: Signal,
            watch: Callable[[Finished], object],
        ) -> Outcome:
            driver = _Driver(plan, store, stop, watch)
            pool = _Pool(cluster, workers, shelf.device)
            for phase in in_phases(plan, tasks):
                driver.run(_groups(plan, phase), pool)
                if driver.outcome.bad:
                    break  # a mean needs the maps of all
            return driver.outcome

        yield execute


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
    """Workers of a cluster: how many at most, and what each has."""

    def __init__(self, cluster: Cluster, size: int, device: str) -> None:
        self.cluster, self.size, self.device = cluster, size, device
        self.gpus = _gpus(cluster.engine, device)

    def start(self, stop: Signal) -> None:
        """Have room for workers, see `Cluster.start`."""
        self.cluster.start(self.size, self.gpus, stop)

    def each(self, groups: Sequence[Sequence[Task]], job: Job) -> Generator[list[Event]]:
        """Yield what becomes of the tasks of each group, as it is heard."""
        from ray import data

        with _quiet(data.DataContext.get_current()):
            rows = [{"tasks": pack_tasks(group)} for group in groups]
            blocks = data.from_items(rows, override_num_blocks=len(rows)).map_batches(
                RayWorker,
                fn_constructor_args=(job,),
                batch_size=None,
                compute=data.ActorPoolStrategy(
                    size=min(self.size, len(groups)),
                    max_concurrent_calls_per_actor=self._depth(),
                    enable_true_multi_threading=True,
                ),
                num_cpus=1,
                num_gpus=self.gpus or None,
                runtime_env=None if self.cluster.own else {"env_vars": ENV},
            )
            for batch in blocks.iter_batches(batch_size=None, prefetch_batches=0):
                for text in batch["events"]:
                    yield unpack_events(text)

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
            models=tuple(dict.fromkeys(f for one in plan.sources for f in _folders(one.load))),
        )


def _folders(model: str) -> list[str]:
    """Return the folders that are part of a model's name and that this machine has.

    >>> _folders("hf:/"), _folders("demo/vit@/nowhere"), _folders("timm:vit")
    (['/'], [], [])
    """
    ends = (model[n + 1 :] for n, sign in enumerate(model) if sign in ":@")
    return [end for end in ends if end.startswith("/") and Path(end).is_dir()]


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
        if not groups or self.ending():
            return
        pool.start(self.stop)
        if self.ending():  # there was no room yet
            return
        from ray.exceptions import RayError

        try:
            notes = Notes.create(self.store)
        except OSError as error:
            self._fail("disk", str(error))
            return
        try:
            job = pool.job(self.plan, self.store, notes)
            with closing(_Fetched(pool.each(groups, job))) as blocks:
                self._listen(blocks, notes)
        except RayError as error:
            self._fail("worker", _said(error))
        finally:
            self.store.clean()  # of the notes, and of files that killed workers have begun

    def _listen(self, blocks: Iterable[list[Event]], notes: Notes) -> None:
        """Hear what became of each block, all of it, and then look at whether to go on."""
        try:
            for block in blocks:
                for event in block:
                    self._hear(event)
                if not self._goes_on(block, notes):
                    return
        finally:
            notes.stop()

    def _goes_on(self, block: Iterable[Event], notes: Notes) -> bool:
        try:
            for event in block:
                notes.hear(event.task.name)
            if self.ending():
                notes.stop()
                return notes.in_hand()
        except OSError as error:
            self._fail("disk", str(error))
            return False
        return True

    def _fail(self, kind: str, message: str) -> None:
        """Note what ends the run, unless something has ended it before."""
        if self.outcome.error is None:
            self.outcome.error = Failed(self.plan.tasks[0], kind, message, {})

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


class _Fetched:
    """Blocks that a thread fetches, so that nobody who waits for them is deaf meanwhile.

    Iterating gives the blocks, and an empty one whenever none has come for a moment.

    Parameters
    ----------
    blocks : generator
        Is closed by the thread.
    """

    def __init__(self, blocks: Generator[list[Event]]) -> None:
        self._found: SimpleQueue[list[Event] | BaseException | None] = SimpleQueue()
        self._over, self._waiting = Signal(), False
        self._thread = Thread(target=self._fetch, args=(blocks,), daemon=True)
        self._thread.start()

    def _fetch(self, blocks: Generator[list[Event]]) -> None:
        try:
            with closing(blocks):
                while not self._over.is_set():
                    self._waiting = True
                    block = next(blocks, None)
                    self._waiting = False
                    if block is None:
                        break
                    self._found.put(block)
            self._found.put(None)
        except BaseException as error:  # whatever it is, the driver must hear of it
            self._found.put(error)

    def __iter__(self) -> Iterator[list[Event]]:
        while True:
            try:
                found = self._found.get(timeout=TICK)
            except Empty:
                yield []
                continue
            if found is None:
                return
            if isinstance(found, BaseException):
                raise found
            yield found

    def close(self) -> None:
        """End the pool: when it gives its next block, or at once if it has nobody who gives one."""
        self._over.set()
        self._thread.join(_PATIENCE)
        if self._thread.is_alive() and self._waiting:
            # Ray Data has no way to be told: what waits for it is thrown out, and it ends itself.
            pythonapi.PyThreadState_SetAsyncExc(
                c_ulong(self._thread.ident or 0), py_object(SystemExit)
            )
        self._thread.join(_LONG)
