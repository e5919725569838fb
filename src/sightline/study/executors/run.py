"""Run a study: plan it, do what is missing, and say what became of it."""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from hashlib import sha256
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.core import InputError, SightlineError
from sightline.core.errors import OutOfMemoryError
from sightline.store import Store, create_store, images_table, regions_table
from sightline.store.checksums import DamagedError, check_files
from sightline.store.compact import compact
from sightline.store.files import is_occupied, move_aside, plain_digest
from sightline.store.folder import LEFT, PLAN, STUDY_DIGEST, list_recorded_tasks
from sightline.store.shards import write_table
from sightline.study import Plan, Shelf, plan_study
from sightline.study.executors.lane import Failed, Finished
from sightline.study.executors.local import Outcome, execute
from sightline.study.executors.progress import Run, Watch
from sightline.study.plan.manifest import manifest_of, package_versions, timestamp
from sightline.study.plan.probe import expect
from sightline.study.worker.worker import BadImageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from sightline.store.checksums import FileState
    from sightline.study import Study, Task
    from sightline.study.plan.probe import Expected

__all__ = ["Forecast", "RunError", "forecast_study", "run_study"]


_SHOWN = 5  # damaged files that a note names


class RunError(SightlineError):
    """A run that ended before its time; what was finished is kept.

    Examples
    --------
    >>> issubclass(RunError, SightlineError), issubclass(RunError, InputError)
    (True, False)
    """


def run_study(
    study: Study,
    out: str | os.PathLike[str] = "runs",
    *,
    workers: int | None = None,
    device: str = "cpu",
    skip_bad: bool = False,
    watch: Watch | None = None,
    stop: Event | None = None,
) -> Run:
    """Run a study: what its store has already is kept, what is missing is added.

    Killed at any moment and run again, it goes on from the last finished task, and the table of
    results is the same to the last bit.

    Parameters
    ----------
    study : Study
        What is to be done.
    out : path
        The folder of results; the study gets a folder of its name in it.
    workers : int, optional
        Processes that share the work; as the study says, or one for each core. They change no bit.
    device : str
        Where networks run: "cpu", "cuda", …
    skip_bad : bool
        Leave out images that cannot be read. Otherwise all else is done, and then they raise.
    watch : Watch, optional
        Is told how far the run is.
    stop : Event, optional
        Set it to have what has begun finished, and the run end.

    Raises
    ------
    InputError
        If something does not fit; the message names it.
    RunError
        If the run had to end before its time: a full disk, no memory, images that cannot be read.
        What was finished is kept, and the same call resumes.
    """
    if workers is not None and workers < 1:
        raise InputError(f"workers must be at least 1, got {workers}")
    watch, stop = watch or Watch(), stop or Event()
    engine = _engine(study, workers)
    store = create_store(Path(out, study.name))
    with ExitStack() as held:
        with _writing(store):
            held.enter_context(store.locked())
            store.clean()
        try:
            does = held.enter_context(engine)
            return _Runner(study, store, watch, stop, skip_bad).run(workers, device, does)
        finally:
            store.discard()  # where the plan failed before anything was stored


def _engine(study: Study, workers: int | None) -> AbstractContextManager[Callable[..., Outcome]]:
    """Return what gives the function that does tasks, for the time of a run."""
    if study.engine.kind == "local":
        return nullcontext(execute)
    from sightline.study.executors.ray import on_ray
    from sightline.study.executors.ray_cluster import check_engine

    check_engine(study.engine, workers)
    return on_ray(study.engine)


class Forecast(NamedTuple):
    """What a study will take.

    Attributes
    ----------
    plan : Plan
    expected : list of Expected
        For each source of maps.
    workers : int
        Processes that would share the work.
    """

    plan: Plan
    expected: list[Expected]
    workers: int


def forecast_study(
    study: Study,
    out: str | os.PathLike[str] = "runs",
    *,
    workers: int | None = None,
    device: str = "cpu",
    skip_bad: bool = False,
    watch: Watch | None = None,
) -> Forecast:
    """Return what `run_study` with the same arguments would do; nothing is written."""
    _engine(study, workers)
    store, shelf, watch = Store(Path(out, study.name)), Shelf(device), watch or Watch()
    runner = _Runner(study, store, watch, Event(), skip_bad)
    plan = runner.plan(shelf)
    while True:
        try:
            expected = expect(plan, store, shelf, watch.planning)
        except BadImageError as error:
            if not skip_bad:
                raise
            plan = plan.without(error.images)
        else:
            break
    left = sum(one.tasks - one.stored for one in expected)
    return Forecast(plan, expected, runner.workers(plan, left, workers))


class _Runner:
    """One run of a study, in a store that it holds."""

    def __init__(
        self, study: Study, store: Store, watch: Watch, stop: Event, skip_bad: bool
    ) -> None:
        self.study, self.store, self.watch = study, store, watch
        self.stop, self.skip_bad = stop, skip_bad
        self.notes: list[str] = []
        self._lost: list[str] = []
        self._told_bare = False
        self._done: set[str] = set()
        self.old = self._old_manifest()
        self._known = list_recorded_tasks(self.old)  # tasks that were done once

    def _old_manifest(self) -> dict[str, Any]:
        """Return the manifest of the last run; a lost one is made again, since plans repeat."""
        path = self.store.manifest_path
        try:
            if path.exists():
                return self.store.manifest()
            state = "missing"
        except DamagedError:
            state = "damaged"
        if state == "damaged" or self.store.done():  # rows are written after the manifest
            self._lost.append(path.name)
            self.notes.append(
                f"{path} was {state} and is made again; what it told of earlier runs is lost."
            )
        return {}

    def run(self, workers: int | None, device: str, does: Callable[..., Outcome]) -> Run:
        begun, shelf = perf_counter(), Shelf(device)
        run = Run(self.store, self.plan(shelf), notes=self.notes, damaged=self._lost)
        self._compare_versions(run)
        self._tell_batches(run)
        while True:
            todo = self._begin(run, workers)
            started = perf_counter()

            def watch(event: Finished, run: Run = run, started: float = started) -> None:
                run.add(event)
                self._done.add(event.task.name)
                run.seconds = perf_counter() - started
                self.watch.moved(run)

            outcome = does(
                run.plan,
                self.store,
                todo,
                workers=run.workers,
                shelf=shelf,
                stop=self.stop,
                watch=watch,
            )
            run.stopped = self.stop.is_set()
            changed = None if run.stopped or outcome.error else self._changed(run, outcome)
            if changed is None:
                break
            run.plan = changed
        run.seconds = perf_counter() - begun
        self._end(run, outcome)
        self._compact(run.plan)
        return run

    def _compact(self, plan: Plan) -> None:
        """Write sorted copies of the tables; without them, as on a full disk, shards are read."""
        done = self.store.done()
        maps = [task.name for task in plan.tasks if plan.sources[task.source].kind != "check"]
        with suppress(OSError, MemoryError, InputError):
            compact(self.store, [name for name in maps if name in done])

    def plan(self, shelf: Shelf) -> Plan:
        """Return the plan, with what earlier runs have learnt."""
        plan = plan_study(
            self.study,
            shelf=shelf,
            batches=self.old.get("batches", {}),
            skip_bad=self.skip_bad,
            progress=self.watch.planning,
        )
        return self._as_before(plan)

    def workers(self, plan: Plan, tasks: int, asked: int | None) -> int:
        """Return how many processes share some tasks: as asked, as the study says, or as usual."""
        wanted = asked or self.study.engine.workers or _usual_workers(plan, tasks)
        return max(1, min(wanted, tasks))

    def _as_before(self, plan: Plan) -> Plan:
        """Leave out the images that an earlier run left out, unless their files have changed."""
        seen = {source["key"] for source in self.old.get("sources", [])}
        if any(source.kind == "given" and source.key not in seen for source in plan.sources):
            return plan  # its maps may have been mended
        digests = {card.image: card.digest for card in plan.cards.cards}
        known = {
            one["image"]: one["why"]
            for one in self.old.get("skipped", [])
            if digests.get(one["image"]) == one["digest"]
        }
        return plan.without(known) if known and self.skip_bad else plan

    def _compare_versions(self, run: Run) -> None:
        """Note where the tasks that are there were computed by other versions."""
        done, now = self.store.done(), package_versions()
        if not any(task.name in done for task in run.plan.tasks):
            return
        before = self.old.get("versions", {})
        for name in ("sightline", "numpy", "torch", "transformers"):
            if name in before and name in now and before[name] != now[name]:
                run.notes.append(
                    f"Some results were computed with {name} {before[name]}, this run has "
                    f"{now[name]}: their last digits may differ. To compute all anew, remove "
                    f"{self.store.path}."
                )

    def _tell_batches(self, run: Run) -> None:
        """Note which models take smaller batches, as an earlier run was short of memory."""
        limited = {source.limited_as for source in run.plan.sources}
        for name, batch in self.old.get("batches", {}).items():
            if name in limited:
                run.notes.append(
                    f"{name} is given {batch} images at once, since an earlier run was out of "
                    "memory with more."
                )

    def _begin(self, run: Run, workers: int | None) -> list[Task]:
        """Save the plan and return what is to be done."""
        plan = run.plan
        sound = self._sound(run)
        self._save(plan)
        todo = [task for task in plan.tasks if task.name not in sound]
        run.stored, run.finished = len(plan.tasks) - len(todo), 0
        run.sources, run._stored_of = {}, {}
        for task in plan.tasks:
            if task.name in sound:
                run._stored_of[task.source] = run._stored_of.get(task.source, 0) + 1
        run.workers = self.workers(plan, len(todo), workers)
        self.watch.planned(run)
        return todo

    def _sound(self, run: Run) -> set[str]:
        """Return the tasks that are done, after every byte of their files was looked at."""
        self._known |= self.store.done()
        files = {task.name: self._files(run.plan, task) for task in run.plan.tasks}
        moved = self._move_aside(files)
        files = {name: some for name, some in files.items() if name in self._known}
        states = check_files(
            [*self._tables(), *(file for some in files.values() for file in some)],
            lambda number, count: self.watch.planning(number, count, "Checking what is stored"),
        )
        states |= self._study_state() | dict.fromkeys(moved, "damaged")
        self._tell(run, states)
        return {
            name
            for name, some in files.items()
            if all(states[file] in ("sound", "bare") for file in some)
        }

    def _move_aside(self, files: Mapping[str, list[Path]]) -> list[Path]:
        """Make room where a folder, a device or an outward link has the name of a file."""
        store = self.store
        single = (store.images_path, store.regions_path, store.study_path, store.manifest_path)
        names = [*single, *(file for some in files.values() for file in some)]
        occupied = [path for path in names if is_occupied(path)]
        with _writing(store):
            for path in occupied:
                place = move_aside(path, store.aside_path)
                self.notes.append(
                    f"{path.relative_to(store.path).as_posix()} was no file of the run and is now "
                    f"{place}."
                )
        return occupied

    def _tables(self) -> list[Path]:
        """Return the tables that an earlier run wrote."""
        tables = (self.store.images_path, self.store.regions_path)
        return [path for path in tables if self.old or self._lost or path.exists()]

    def _study_state(self) -> dict[Path, FileState]:
        """Return whether study.yml is as the last run wrote it, or as this one will.

        Where the manifest was lost, only the second is known.
        """
        from sightline.study import to_yaml

        digest, path = self.old.get(STUDY_DIGEST), self.store.study_path
        if digest is None and self.store.manifest_path.name not in self._lost:
            return {}  # an earlier version wrote the manifest
        known = {digest, sha256(to_yaml(self.study).encode()).hexdigest()}
        try:
            return {path: "sound" if plain_digest(path) in known else "damaged"}
        except FileNotFoundError:
            return {path: "gone"}
        except OSError:
            return {path: "damaged"}

    def _files(self, plan: Plan, task: Task) -> list[Path]:
        """Return the files that a task has when it is done."""
        source = plan.sources[task.source]
        if source.kind == "check":
            return [self.store.check_file(task.name)]
        files = [self.store.score_file(task.name), self.store.region_file(task.name)]
        if plan.keep_maps and source.kind == "model" and plan.chunks[task.chunk].images:
            files.append(self.store.map_file(task.name))
        return files

    def _tell(self, run: Run, states: Mapping[Path, FileState]) -> None:
        """Note how many files cannot be checked, once; keep which are damaged or missing."""
        names = {path: path.relative_to(self.store.path).as_posix() for path in states}
        kept = self.old.get("study", {}).get("keep_maps") == "grid"
        new = [
            names[path]
            for path, state in states.items()
            if state == "damaged"
            or (state == "gone" and (kept or path.parent != self.store.maps))  # else never written
        ]
        run.damaged += [name for name in new if name not in run.damaged]
        bare = sum(one == "bare" for one in states.values())
        if bare and not self._told_bare:
            self._told_bare = True
            files = "1 stored file has" if bare == 1 else f"{bare} stored files have"
            run.notes.append(
                f"{files} no checksum: an earlier version wrote them, and whether their bytes have "
                f"changed since cannot be told. To compute all anew, remove {self.store.path}."
            )

    def _tell_mended(self, run: Run) -> None:
        """Note which damaged or missing files were made again, and which are still to be."""
        planned = {task.name for task in run.plan.tasks}
        made, left = [], []
        for name in run.damaged:
            task = Path(name).stem
            if name == self.store.manifest_path.name:  # has a note of its own
                continue
            if "/" not in name or task in self._done:  # tables are written before all tasks
                made.append(name)
            elif task in planned:
                left.append(name)
        if made:
            files = "1 file was" if len(made) == 1 else f"{len(made)} files were"
            run.notes.append(f"{files} damaged or missing, and made again: {_some(made)}.")
        if left:
            files = "1 file is" if len(left) == 1 else f"{len(left)} files are"
            run.notes.append(f"{files} damaged or missing, and not yet made again: {_some(left)}.")

    def _save(self, plan: Plan) -> None:
        """Write the study, its tables and its manifest, which names the tasks."""
        from sightline.study import to_yaml

        chunk_of = {image: n for n, chunk in enumerate(plan.chunks) for image in chunk.images}
        used = [card for card in plan.cards.cards if card.image in chunk_of]
        images = images_table([{**card.line, "chunk": chunk_of[card.image]} for card in used])
        regions = regions_table(line for card in used for line in card.regions)
        self.old = manifest_of(self.study, plan, self.old)
        with _writing(self.store):
            mark = {PLAN: plan.digest}  # readers see whether they belong together
            write_table(self.store.images_path, images.replace_schema_metadata(mark), kind="images")
            write_table(
                self.store.regions_path, regions.replace_schema_metadata(mark), kind="regions"
            )
            text = to_yaml(self.study)
            self.store.save_text(self.store.study_path.name, text)
            self.old[STUDY_DIGEST] = sha256(text.encode()).hexdigest()
            self._save_manifest(plan)

    def _save_manifest(self, plan: Plan) -> None:
        """Write the manifest, with the tasks that were never done."""
        self._known |= self._done
        self.old[LEFT] = [task.name for task in plan.tasks if task.name not in self._known]
        self.store.save_manifest(self.old)

    def _changed(self, run: Run, outcome: Outcome) -> Plan | None:
        """Return the plan to go on with after a fault that can be mended; None without one."""
        run.bad.update(outcome.bad)
        plan = run.plan
        for limited, why in outcome.memory.items():
            batch = max(s.batch for s in plan.sources if s.limited_as == limited)
            if batch <= 1:
                message = f"{limited} runs out of memory with a single image: {why}"
                outcome.error = Failed(plan.tasks[0], "exhausted", message, {})
                return None
            half = batch // 2
            run.notes.append(
                f"{limited} ran out of memory with {batch} images at once: its tasks are done with "
                f"{half}."
            )
            self.old["batches"] = {**self.old.get("batches", {}), limited: half}
            plan = plan.with_batch(limited, half)
        if self.skip_bad and outcome.bad:
            plan = plan.without(outcome.bad)
        return plan if plan is not run.plan else None

    def _end(self, run: Run, outcome: Outcome) -> None:
        """Note the run, and raise what ended it before its time."""
        self._tell_mended(run)
        done = run.stored + run.finished
        self.old["runs"] = [
            *self.old.get("runs", []),
            {
                "ended": timestamp(),
                "seconds": round(run.seconds, 3),
                "tasks": run.tasks,
                "maps": run.maps,
                "rows": run.rows,
                "workers": run.workers,
                "steps": {name: round(seconds, 3) for name, seconds in run.steps.items()},
                **({"damaged": list(run.damaged)} if run.damaged else {}),
                **({"batches": self.old["batches"]} if self.old.get("batches") else {}),
            },
        ]
        error = outcome.error
        if error is not None and error.kind == "disk":
            raise RunError(
                f"{self.store.path}: cannot be written to: {error.message}. {done} of {run.total} "
                "tasks are stored; make room, then run again to go on"
            )
        with _writing(self.store):
            self._save_manifest(run.plan)
        if error is not None and error.kind == "bug":
            raise RuntimeError(f"task {error.task.name} failed:\n{error.message}")
        kept = f"{done} of {run.total} tasks are stored"
        if error is not None and error.kind == "exhausted":
            text = f"{error.message} ({kept}; run again to resume)"
            raise RunError(text) from OutOfMemoryError(text)
        if error is not None:
            raise (InputError if error.kind == "input" else RunError)(f"{error.message} ({kept})")
        if run.bad and not self.skip_bad:
            raise RunError(_about_bad(run, done))
        if not (run.complete or run.stopped):
            raise RunError(
                f"{run.total - done} of {run.total} tasks were not done, and nothing says why; run "
                "again to go on"
            )


@contextmanager
def _writing(store: Store) -> Iterator[None]:
    """Say of a store that cannot be written to what is to be done."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise InputError(f"{store.path}: results cannot be written there: {error}") from error
        raise RunError(
            f"{store.path}: cannot be written to: {error}. What is stored is kept; make room, then "
            "run again to go on"
        ) from error


def _some(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


def _about_bad(run: Run, done: int) -> str:
    shown = [f"  {why}" for why in list(run.bad.values())[:5]]
    more = [f"  … and {len(run.bad) - 5} more"] if len(run.bad) > 5 else []
    what = f"{len(run.bad)} image{'s' * (len(run.bad) > 1)} could not be used:"
    then = (
        f"{done} of {run.total} tasks are stored. Mend the files and run again, or leave them out: "
        "--skip-bad"
    )
    return "\n".join([what, *shown, *more, then])


def _usual_workers(plan: Plan, tasks: int) -> int:
    """Return one worker a core, where there is work enough; a device has one."""
    if any(source.device != "cpu" for source in plan.sources):
        return 1
    # A process takes some seconds to start: about as long as a dozen tasks.
    return min(_cores(), 1 + tasks // 12)


def _cores() -> int:
    """Return how many cores this process may use."""
    usable = getattr(os, "sched_getaffinity", None)  # not on every system
    return len(usable(0)) if usable else os.cpu_count() or 1
