"""Reliability: kills, damaged files, full disks, jumping clocks, and one digest whatever happens.

    python -m benchmarks.reliability --kills 200 [--seed 0] [--markdown]
    python -m benchmarks.reliability --bits
    python -m benchmarks.reliability --damage
    python -m benchmarks.reliability --disk
    python -m benchmarks.reliability --points [10]

The study is a real one: a shipped network on drawn facades, maps by attention, gradients and
chance, the mean of the others' maps, and maps made elsewhere. Without a part named, all five run.

--kills
    Runs it and ends all its processes by SIGKILL at an instant drawn evenly from the time that an
    undisturbed run takes, again and again, until a run is through; then every file is compared with
    those of the undisturbed run. Most runs are forks of a process that has everything imported, so
    that instants fall into the work; one in twenty is the program `sightline run` with two workers.
--bits
    Reruns over workers, scoring batches, engines, with and without kills: how many digests?
--damage
    Flips one byte at a time in every file of the store: is it found, made anew, and the same?
    And how fast checksums are looked at.
--disk
    Runs it on a file system of few bytes (a tmpfs, where one may be mounted), and gives it more
    room each time it fills up.
--points
    Kills small studies and reviews at each point inside their writes (see
    `sightline.core.kill_points`), ten times at each unless told otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from argparse import RawDescriptionHelpFormatter
from collections import Counter
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.maps import machine, progress, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sightline.study import Study

IMAGES = 6
GIVEN_IMAGES = 40  # of the part without a network: more than the largest scoring batch
GIVEN = ("elsewhere", "tied")
EVERY = 20  # a kill in so many is of the program itself
BATCHES = (1, 7, 32)
LONG = 600  # seconds after which a run that should have ended is a failure
_OUT = "out"


# --- the study -----------------------------------------------------------------------------------


def make_study(folder: Path, **changes: Any) -> Study:
    """Return the study; maps made elsewhere are written where they are not there yet."""
    from sightline.study import Study

    values: dict[str, Any] = {
        "name": "real",
        "data": {"name": "facades", "count": IMAGES, "seed": 1, "labelling": "representative"},
        "models": ["demo/vit"],
        "methods": ["cls", "gradcam", "random", "mean_map", *_given(folder)],
        "layers": [0, -1],
        "seeds": list(range(12)),
        "metrics": ["iou", "coverage", "pointing"],
        "percentiles": [50, 90],
        "batch": 4,
    }
    return Study(**{**values, **changes})


def _given(folder: Path) -> list[dict[str, Any]]:
    """Return methods whose maps lie in files; those of one have many ties."""
    for method in GIVEN:
        if not (folder / method).exists():
            (folder / method).mkdir(parents=True)
            for number in range(GIVEN_IMAGES):
                rng = np.random.default_rng([number, len(method)])
                values = rng.integers(-9, 90 if method == "tied" else 1 << 20, (16, 16))
                np.save(folder / method / f"facade-{number:05}.npy", values.astype(np.float32))
    return [
        {"name": one, "params": {"maps": str(folder / one), "sign": "positive"}} for one in GIVEN
    ]


def given_study(folder: Path, **changes: Any) -> Study:
    """Return the part of the study that needs no network; its batch is that of scoring."""
    data = {"name": "facades", "count": GIVEN_IMAGES, "seed": 1, "labelling": "representative"}
    values = {"data": data, "models": [], "methods": _given(folder), "layers": "all", "seeds": [0]}
    return make_study(folder, **{**values, **changes})


# --- running and killing -------------------------------------------------------------------------


class Running(NamedTuple):
    """A run of a study in a process group of its own."""

    pid: int

    def kill(self) -> None:
        """End every process of it; nobody is asked."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def ended(self, seconds: float) -> bool:
        """Wait for its end; say whether it came in time. One that went wrong is an error."""
        until = time.monotonic() + seconds
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                if status:
                    raise RuntimeError(
                        f"a run ended with status {os.waitstatus_to_exitcode(status)}"
                    )
                return True
            if time.monotonic() > until:
                return False
            time.sleep(0.002)


def fork(study: Study, out: Path, workers: int = 1) -> Running:
    """Run a study in a child that has everything imported already."""

    def work() -> None:
        from sightline.study import run_study

        run_study(study, out, workers=workers)

    return Running(fork_child(work))


def program(study: Study, out: Path, workers: int = 2) -> Running:
    """Run a study by the command line, from the start of Python on."""
    from sightline.study import to_yaml

    out.mkdir(parents=True, exist_ok=True)
    file = out / "study.yml"
    file.write_text(to_yaml(study))
    words = [sys.executable, "-c", "from sightline.cli import main; main()", "run", str(file)]
    words += ["--out", str(out), "--workers", str(workers)]
    made = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    )
    made.returncode = 0  # it is waited for by number
    return Running(made.pid)


def fork_child(work: Callable[[], object]) -> int:
    """Do something in a child with a session of its own; return its number."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        os.setsid()
        work()
        status = 0
    except BaseException as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
    finally:
        sys.stderr.flush()
        os._exit(status)


def ask(work: Callable[[], Any]) -> Any:
    """Return what a function gives in a child: this process starts no threads of its own."""
    ours, theirs = os.pipe()

    def tell() -> None:
        os.write(theirs, json.dumps(work()).encode())

    pid = fork_child(tell)
    os.close(theirs)
    with os.fdopen(ours, "rb") as file:
        content = file.read()
    if os.waitpid(pid, 0)[1]:
        raise RuntimeError("a child ended with an error")
    return json.loads(content)


def warm_up(folder: Path) -> None:
    """Run the study once in this process: its forks have all imported and compiled that it needs.

    The threads of a run end with it, so that forks are as good as new.
    """
    from sightline.results import results_digest
    from sightline.study import run_study

    results_digest(run_study(make_study(folder), folder / "warm", workers=1).store.path)


# --- comparing -----------------------------------------------------------------------------------


def contents(store: Path) -> dict[str, str]:
    """Return the hash of every file of a store but for those that are derived from others.

    Of the manifest it leaves out the log of runs.
    """
    found = {}
    for path in sorted(store.rglob("*")):
        name = path.relative_to(store).as_posix()
        if path.is_dir() or name == "lock" or name.startswith("cache/"):
            continue
        content = path.read_bytes()
        if name == "manifest.json":
            kept = json.loads(content)
            kept.pop("runs"), kept.pop("sightline-checksum")
            content = json.dumps(kept).encode()
        found[name] = sha256(content).hexdigest()
    return found


def digest_of(store: Path) -> str:
    """Return the digest of all scores."""

    def tell() -> str:
        from sightline.results import results_digest

        return results_digest(store)

    return str(ask(tell))


def parts(store: Path) -> int:
    """Return how many files somebody has begun and not finished."""
    return sum(1 for _ in store.rglob(".*.part"))


def where(store: Path, tasks: int) -> str:
    """Say how far a run was that was killed."""
    if not (store / "manifest.json").exists():
        return "before the plan"
    done = _count(store / "scores")
    return "after the plan" if not done else ("at the end" if done == tasks else "between tasks")


# --- kills ---------------------------------------------------------------------------------------


class Calm(NamedTuple):
    """An undisturbed run: its files, its digest, its tasks, and how long it took each way."""

    files: dict[str, str]
    digest: str
    tasks: int
    seconds: dict[str, float]


def undisturbed(study: Study, folder: Path) -> Calm:
    """Run a study twice in peace, in both ways."""
    seconds = {}
    for name, start in (("fork", fork), ("program", program)):
        begun = time.monotonic()
        if not start(study, folder / name).ended(LONG):
            raise RuntimeError("the undisturbed run takes too long")
        seconds[name] = time.monotonic() - begun
    stores = [folder / name / study.name for name in seconds]
    if contents(stores[0]) != contents(stores[1]):
        raise RuntimeError("two undisturbed runs differ")
    tasks = _count(stores[0] / "scores")
    return Calm(contents(stores[0]), digest_of(stores[0]), tasks, seconds)


class Kills:
    """Studies that are killed until they are through, and what became of them."""

    def __init__(self, study: Study, folder: Path, seed: int) -> None:
        self.study, self.folder = study, folder
        self.chance = np.random.default_rng(seed)
        self.calm = undisturbed(study, folder / "calm")
        self.kills = self.studies = self.files = self.parts = self.most = 0
        self.ways: Counter[str] = Counter()
        self.places: Counter[str] = Counter()
        self.digests: set[str] = set()

    def run(self, count: int) -> None:
        """Kill so many times, and finish what was begun."""
        while self.kills < count:
            self._one_study(count)
            progress(f"{self.kills} kills, {self.studies} studies, {len(self.digests)} digest")

    def _one_study(self, count: int) -> None:
        out = self.folder / f"study{self.studies}"
        store = out / self.study.name
        own = 0
        while True:
            way = "program" if self.kills % EVERY == EVERY - 1 else "fork"
            run = (program if way == "program" else fork)(self.study, out)
            spare = self.chance.random() * self.calm.seconds[way]
            if run.ended(spare if self.kills < count else LONG):
                break
            run.kill()
            own += 1
            self.kills += 1
            self.ways[way] += 1
            self.places[where(store, self.calm.tasks)] += 1
            self.parts += parts(store)
        self._compare(store)
        self.most = max(self.most, own)
        self.studies += 1
        shutil.rmtree(out)

    def _compare(self, store: Path) -> None:
        found = contents(store)
        self.digests.add(digest_of(store))
        self.files += len(found)
        if found != self.calm.files or self.digests != {self.calm.digest}:
            other = sorted({*found.items()} ^ {*self.calm.files.items()})
            raise RuntimeError(f"{store}: differs from the undisturbed run: {other}")

    def rows(self) -> list[list[str]]:
        """Return what came out."""
        ways = ", ".join(f"{count} of the {way}" for way, count in self.ways.items())
        places = ", ".join(f"{count} {place}" for place, count in self.places.most_common())
        took = ", ".join(f"{seconds:.1f} s by {way}" for way, seconds in self.calm.seconds.items())
        return [
            ["what", "seen"],
            ["an undisturbed run", f"{self.calm.tasks} tasks, {len(self.calm.files)} files"],
            ["it takes", took],
            ["kills", f"{self.kills}: {ways}"],
            ["where", places],
            ["studies brought to their end", f"{self.studies}, up to {self.most} kills each"],
            ["half-written files found after kills", f"{self.parts}; after the last run 0"],
            ["files compared, byte by byte", f"{self.files:,}; 0 differ"],
            ["digests seen", str(len(self.digests))],
        ]


def kills(folder: Path, count: int, seed: int) -> list[list[str]]:
    """Kill a study so many times."""
    found = Kills(make_study(folder), folder, seed)
    found.run(count)
    return found.rows()


# --- bits ----------------------------------------------------------------------------------------


def bits(folder: Path, seed: int) -> list[list[str]]:
    """Run studies over all that must change nothing; count the digests of each."""
    chance = np.random.default_rng(seed)
    engines = ["local", *(["ray"] if has_ray() else [])]
    rows = [["maps", "workers", "scoring batch", "engine", "kills", "digest"]]
    digests: dict[str, set[str]] = {}
    reruns: list[tuple[str, Any, int]] = [
        *(("given", make, batch) for make in (given_study,) for batch in BATCHES),
        ("a network's and given", make_study, 4),
    ]
    for number, ((what, make, batch), workers, engine, killed) in enumerate(
        product(reruns, (1, 2), engines, (False, True))
    ):
        study = make(folder, batch=batch, engine={"kind": engine, "workers": workers})
        out = folder / f"bits{number}"
        count = killed_run(study, out, workers, chance) if killed else calm_run(study, out, workers)
        digest = digest_of(out / study.name)
        digests.setdefault(what, set()).add(digest)
        rows.append([what, str(workers), str(batch), engine, str(count), digest[:12]])
        progress(" ".join(rows[-1]))
        shutil.rmtree(out)
    for what, seen in digests.items():
        if len(seen) != 1:
            raise RuntimeError(f"{what}: {len(seen)} digests, expected 1")
    return [*rows, [f"{len(rows) - 1} reruns", "", "", "", "", "one digest each"]]


def has_ray() -> bool:
    """Say whether Ray is installed."""
    from importlib.util import find_spec

    return find_spec("ray") is not None


def calm_run(study: Study, out: Path, workers: int) -> int:
    """Run a study in peace; return how often it was killed."""
    if not program(study, out, workers).ended(LONG):
        raise RuntimeError("a run takes too long")
    return 0


def killed_run(study: Study, out: Path, workers: int, chance: np.random.Generator) -> int:
    """Kill a run when it has stored some tasks, then let it end; return how often it was killed."""
    count, scores = 0, out / study.name / "scores"
    for _ in range(2):
        run, before = program(study, out, workers), _count(scores)
        while not run.ended(0.01):
            if _count(scores) > before:
                time.sleep(chance.random() * 0.05)
                run.kill()
                count += 1
                break
    return count + calm_run(study, out, workers)


def _count(folder: Path) -> int:
    return sum(1 for _ in folder.glob("[!.]*")) if folder.is_dir() else 0


# --- damage --------------------------------------------------------------------------------------


def damage(folder: Path, seed: int) -> list[list[str]]:
    """Flip a byte, cut or blank a part of every file; see that it is found and made anew."""
    study, chance = make_study(folder), np.random.default_rng(seed)
    store = folder / "damage" / study.name
    fork(study, folder / "damage").ended(LONG)
    calm = contents(store)
    flips = _flipped(store, chance)
    harmed = [
        path
        for path in sorted(store.glob("*/*"))
        if path.suffix in (".parquet", ".safetensors") and path.parent.name != "cache"
    ]
    for number, path in enumerate(harmed):
        _harm(path, ("flip", "cut", "blank")[number % 3], chance)
    told = ask(lambda: _verified(store))
    fork(study, folder / "damage").ended(LONG)
    log = json.loads((store / "manifest.json").read_text())["runs"][-1]["damaged"]
    same = contents(store) == calm
    if len(log) != len(harmed) or not same or told != len(harmed):
        raise RuntimeError(
            f"of {len(harmed)} damaged files {told} were found, {len(log)} made anew"
        )
    return [
        ["what", "seen"],
        ["bytes flipped, one at a time, in every file", f"{flips:,}; found {flips:,}"],
        ["shards flipped, cut or blanked", f"{len(harmed)}; `sightline verify` names {told}"],
        ["made anew by the next run, and told", f"{len(log)}; all bytes as before"],
        *_speed(folder),
    ]


def _flipped(store: Path, chance: np.random.Generator) -> int:
    """Flip bytes of every file in memory, 200 of each; return how many, all of which were found."""
    from sightline.store.checksums import check_content

    count = 0
    for path in sorted(store.rglob("*.*")):
        if path.suffix not in (".parquet", ".safetensors", ".json"):
            continue
        content = path.read_bytes()
        for place in chance.integers(0, len(content), 200):
            other = bytearray(content)
            other[place] ^= 1 << int(chance.integers(8))
            if check_content(bytes(other), path.name) != "damaged":
                raise RuntimeError(f"{path}: byte {place} was flipped, and nobody noticed")
            count += 1
    return count


def _harm(path: Path, how: str, chance: np.random.Generator) -> None:
    content = bytearray(path.read_bytes())
    place = int(chance.integers(len(content)))
    if how == "flip":
        content[place] ^= 1 << int(chance.integers(8))
    elif how == "cut":
        del content[place:]
    else:
        end = min(len(content), place + 512)
        content[place:end] = bytes(b ^ 0xFF for b in content[place:end])
    path.write_bytes(content)


def _verified(store: Path) -> int:
    from sightline.store.verify import verify_store

    return len(verify_store(store).damaged)


def _speed(folder: Path, count: int = 64, size: int = 16 << 20) -> list[list[str]]:
    """Return how fast checksums of large files are looked at and made, by CPU time."""

    def tell() -> list[float]:
        from sightline.store.checksums import check_files, json_bytes, seal

        head = json_bytes({})
        content = head + np.random.default_rng(0).bytes(size - len(head))
        begun = time.process_time()
        sealed = seal(content, "a")
        sealing = time.process_time() - begun
        paths = [folder / "speed" / str(number) / "a" for number in range(count)]
        for path in paths:
            path.parent.mkdir(parents=True)
            path.write_bytes(sealed)
        begun, cpu = time.perf_counter(), time.process_time()
        states = check_files(paths)
        seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
        if set(states.values()) != {"sound"}:
            raise RuntimeError("sound files are said to be damaged")
        return [sealing, seconds, cpu]

    sealing, seconds, cpu = ask(tell)
    shutil.rmtree(folder / "speed")
    total = count * size / 1e9
    looked = f"{total:.1f} GB in {count} files: {total / cpu:.2f} GB a second of a core"
    return [
        ["checksums looked at", f"{looked}; {seconds:.1f} s here"],
        ["a checksum made on writing", f"{size / sealing / 1e9:.2f} GB a second of a core"],
    ]


# --- disk ----------------------------------------------------------------------------------------


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Callable[[int], None]]:
    """Mount a file system of so many bytes; yield what gives it another size."""
    folder.mkdir(parents=True, exist_ok=True)

    def mount(*options: str) -> None:
        words = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(folder)]
        subprocess.run(words, check=True)

    mount(f"size={size}")
    try:
        yield lambda size: mount("remount", f"size={size}")
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def disk(folder: Path) -> list[list[str]]:
    """Run the study on a disk that is too small, and give it 24 KiB more each time it is full."""
    study, calm_out, out = make_study(folder), folder / "roomy", folder / "tight"
    fork(study, calm_out).ended(LONG)
    calm = contents(calm_out / study.name)
    size, full, said, room = 16 << 10, 0, set(), 24 << 10
    with small_disk(out, size) as resize:
        while (text := ask(lambda: _try(study, out))) is not None:
            full += 1
            said.add(_kind(text))
            if parts(out) or not set(_shards(out / study.name).items()) <= set(calm.items()):
                raise RuntimeError("a full disk left something half-written")
            size += room
            resize(size)
        if contents(out / study.name) != calm:
            raise RuntimeError("files differ after the disk was full")
    return [
        ["what", "seen"],
        ["runs that found the disk full", f"{full}, from 16 KiB on, 24 KiB more each time"],
        ["what they said", "; ".join(sorted(said))],
        ["half-written files", "0"],
        ["files after the last run", f"{len(calm)}, all as on a roomy disk, in {size >> 10} KiB"],
    ]


def _try(study: Study, out: Path) -> str | None:
    """Run a study; return what it said where the disk was full."""
    from sightline.core import InputError
    from sightline.study import RunError, run_study

    try:
        run_study(study, out, workers=1)
    except (RunError, InputError) as error:
        return str(error)
    return None


def _kind(text: str) -> str:
    if "No space left on device" not in text:
        raise RuntimeError(f"a full disk was told as: {text}")
    return "“make room, then run again to go on”" if "make room" in text else text


def _shards(store: Path) -> dict[str, str]:
    return {k: v for k, v in contents(store).items() if "/" in k} if store.exists() else {}


# --- points --------------------------------------------------------------------------------------


def points(folder: Path, count: int, seed: int) -> list[list[str]]:
    """Kill at each point inside the writes so many times."""
    from benchmarks._kill_points import kill_at_points

    results = kill_at_points(folder, count, seed)
    if wrong := [f"{one.point}: {text}" for one in results for text in one.differences]:
        raise RuntimeError(f"{len(wrong)} differences after kills: {'; '.join(wrong[:10])}")
    rows = [[one.point, one.kills, one.again, one.parts, one.compared, 0] for one in results]
    totals = ["all", *(sum(row[column] for row in rows) for column in range(1, 6))]  # type: ignore[misc]
    head = ["point", "kills", "of resumed runs", "temporary files", "compared", "differ"]
    return [head, *([str(value) for value in row] for row in [*rows, totals])]


# --- all -----------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.reliability",
        description=__doc__,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kills", type=int, nargs="?", const=200)
    parser.add_argument("--points", type=int, nargs="?", const=10)
    for name in ("bits", "damage", "disk"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--markdown", action="store_true")
    asked = parser.parse_args(argv)
    every = not (asked.kills or asked.bits or asked.damage or asked.disk or asked.points)
    os.environ["OMP_NUM_THREADS"] = "1"
    parts: dict[str, Callable[[Path], list[list[str]]]] = {}
    if every or asked.kills:
        parts["Kills and resumes"] = lambda folder: kills(folder, asked.kills or 200, asked.seed)
    if every or asked.points:
        parts["Kill points"] = lambda folder: points(folder, asked.points or 10, asked.seed)
    if every or asked.damage:
        parts["Damaged files"] = lambda folder: damage(folder, asked.seed)
    if every or asked.disk:
        parts["Full disks"] = disk
    if every or asked.bits:
        parts["Bits"] = lambda folder: bits(folder, asked.seed)
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        warm_up(Path(folder))
    for name, part in parts.items():
        with tempfile.TemporaryDirectory() as folder:
            begun = time.monotonic()
            rows = part(Path(folder))
            took = f"{name} ({time.monotonic() - begun:.0f} s)"
            print(f"\n{took}\n\n{table(rows, markdown=asked.markdown)}", flush=True)


if __name__ == "__main__":
    main()
