"""Kills at every point inside the writes of studies, reviews and other files.

Each kill is a SIGKILL that a fork sends itself at the point, so that it is sure to hit. Then the
work is done again in another fork, and what is stored is compared with that of work in peace.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.maps import progress
from benchmarks.reliability import ask, contents, fork_child, parts
from sightline.core import kill_points
from sightline.core.kill_points import (
    FILE_POINTS,
    FOLDER_POINTS,
    OUTPUT_POINTS,
    POINTS,
    REVIEW_POINTS,
    STUDY_POINTS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sightline.annotation.events import Event
    from sightline.annotation.journal import Journal
    from sightline.study import Study

__all__ = [
    "PointResult",
    "kill_at_points",
    "kill_files",
    "kill_folders",
    "kill_outputs",
    "kill_reviews",
    "kill_studies",
]

EVENTS, ITEMS, ADDED = 6, 6, 4  # decisions and proposals of a review, and those added later


@dataclass
class PointResult:
    """What became of the kills at a point.

    Attributes
    ----------
    point : str
    kills : int
        How many there were; `again` of them in a run that resumed one that was killed.
    parts : int
        Temporary files that were there after the kills.
    compared : int
        Files or decisions that were compared in the end.
    differences : list of str
        Those that were not as without a kill; expected to be empty.
    """

    point: str
    kills: int = 0
    again: int = 0
    parts: int = 0
    compared: int = 0
    differences: list[str] = field(default_factory=list)


def kill_at_points(folder: Path, count: int, seed: int) -> list[PointResult]:
    """Kill at each point `count` times."""
    results = []
    for kill in (kill_studies, kill_reviews, kill_files, kill_folders, kill_outputs):
        results += kill(folder / kill.__name__, count, seed)
    return results


# --- killing -------------------------------------------------------------------------------------


def kill_at(work: Callable[[], object], point: str, nth: int) -> bool:
    """Do something in a fork and kill it where it reaches a point for the nth time.

    Return whether it came there before its end.
    """
    left = nth

    def hit(reached: str) -> None:
        nonlocal left
        left -= reached == point
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def begin() -> None:
        kill_points.hook = hit
        work()

    status = os.waitstatus_to_exitcode(os.waitpid(fork_child(begin), 0)[1])
    if status not in (0, -signal.SIGKILL):
        raise RuntimeError(f"{point}: a child ended with status {status}")
    return status != 0


def count_points(work: Callable[[], object]) -> Counter[str]:
    """Return how often each point is reached by something that is done in a fork."""

    def count() -> dict[str, int]:
        reached: Counter[str] = Counter()
        kill_points.hook = lambda point: reached.update([point])
        work()
        return reached

    reached = Counter[str](ask(count))
    if unknown := reached.keys() - set(POINTS):
        raise RuntimeError(f"points that are not in POINTS: {', '.join(sorted(unknown))}")
    return reached


def _check_reached(points: tuple[str, ...], reached: set[str]) -> None:
    if missing := [point for point in points if point not in reached]:
        raise RuntimeError(f"points that nothing reaches: {', '.join(missing)}")


# --- studies -------------------------------------------------------------------------------------


def make_studies(folder: Path) -> list[Study]:
    """Return two small studies: of precomputed maps, and of a model with maps and a check."""
    from tests.study.executors.studies import given_study, model_study

    check = {"images": 2, "methods": "gradcam", "ways": "full", "seeds": 1}
    model = model_study(
        name="model",
        data={"name": "facades", "count": 3, "seed": 1, "labelling": "representative"},
        models=["demo/cnn"],
        methods=["gradcam"],
        layers=[-1],
        checks={"randomisation": check},
    )
    return [given_study(folder / "data", images=3, methods="ab"), model]


def run(study: Study, out: Path) -> Path:
    """Run a study in this process; return its folder."""
    from sightline.study import run_study

    return run_study(study, out, workers=1).store.path


def kill_studies(folder: Path, count: int, seed: int) -> list[PointResult]:
    """Kill runs at each point of their writes, and compare what they have stored in the end."""
    chance, results, seen = np.random.default_rng(seed), [], set[str]()
    folder.mkdir(parents=True)
    for study in make_studies(folder):
        run(study, folder / "warm")  # its forks have imported and compiled all that they need
        reached = count_points(lambda study=study: run(study, folder / "calm"))  # type: ignore[misc]
        for point in sorted(reached.keys() - seen, key=STUDY_POINTS.index):
            killer = _StudyKiller(study, folder, chance, PointResult(point))
            results.append(killer.kill(count, reached[point]))
            progress(f"{point}: {results[-1].kills} kills")
        seen |= reached.keys()
    _check_reached(STUDY_POINTS, seen)
    return results


class _StudyKiller:
    """Runs of a study that are killed at one point until they are through."""

    def __init__(
        self, study: Study, folder: Path, chance: np.random.Generator, result: PointResult
    ) -> None:
        self.study, self.folder, self.chance, self.result = study, folder, chance, result
        store = folder / "calm" / study.name
        self.calm = contents(store)
        self.done = result.point.startswith("cache:")  # all else is stored by then
        self.scores = ask(lambda: _hash_scores(store)) if self.done else ""

    def kill(self, count: int, times: int) -> PointResult:
        """Kill `count` runs, each at one of the times that a run comes to the point."""
        result, number = self.result, 0
        while result.kills < count:
            number += 1
            out = self.folder / result.point.replace(":", "-") / str(number)
            if not self._kill(out, int(self.chance.integers(times)) + 1):
                raise RuntimeError(f"{result.point} was not reached")
            while result.kills < count and self.chance.random() < 0.5 and self._kill(out, 1):
                result.again += 1
            self._compare(out)
        return result

    def _kill(self, out: Path, nth: int) -> bool:
        killed = kill_at(lambda: run(self.study, out), self.result.point, nth)
        self.result.kills += killed
        if killed:
            self.result.parts += parts(out)
            damaged = ask(lambda: _find_damaged(out / self.study.name))
            self.result.differences += [f"{name} is damaged after the kill" for name in damaged]
        if killed and self.done:
            self._read(out / self.study.name)
        return killed

    def _read(self, store: Path) -> None:
        """Compare what a reader finds after a kill, when all but the cache is stored."""
        stored = contents(store)
        names = {k for k, _ in stored.items() ^ self.calm.items() if not k.endswith(".part")}
        self.result.differences += [f"{name} after the kill" for name in sorted(names)]
        if ask(lambda: _hash_scores(store)) != self.scores:
            self.result.differences.append("readers find other scores after the kill")

    def _compare(self, out: Path) -> None:
        """Bring a run to its end and compare each file."""
        verified = ask(lambda: _finish(self.study, out))
        stored = contents(out / self.study.name)
        self.result.compared += len(stored)
        self.result.differences += [f"{name} is not as it should be" for name in verified]
        self.result.differences += sorted({k for k, _ in stored.items() ^ self.calm.items()})


def _find_damaged(store: Path) -> list[str]:
    """Return the files that are damaged; none may be, whenever a run was killed."""
    from sightline.store.verify import verify_store

    return verify_store(store).damaged if (store / "manifest.json").exists() else []


def _finish(study: Study, out: Path) -> list[str]:
    """Run a study to its end; return what is wrong with its files."""
    from sightline.store.verify import verify_store

    store = run(study, out)
    found = verify_store(store)
    bad = [*found.damaged, *found.missing, *found.foreign, *found.left, *found.bare]
    return [*bad, *_find_uncached(store)]


def _find_uncached(path: Path) -> list[str]:
    """Return the shards of a finished run whose rows are in no sorted copy."""
    from sightline.store import open_store
    from sightline.store.compact import list_files

    store = open_store(path)
    return [
        file.relative_to(path).as_posix()
        for table in ("scores", "region_scores")
        for file in list_files(store, table, store.tasks())
        if file.parent != store.cache
    ]


def _hash_scores(store: Path) -> str:
    """Return a hash of all scores and curves of a run as a reader finds them."""
    from sightline.results import open_results

    with open_results(store) as results:
        scores = results.query("SELECT * FROM scores_long ORDER BY ALL").to_csv()
        curves = results.curves().to_csv()
    return sha256((scores + curves).encode()).hexdigest()


# --- reviews -------------------------------------------------------------------------------------


def add_proposals(journal: Journal) -> str:
    """Add proposals to a review, in one transaction of several statements; return a name for it."""
    from tests.annotation.reviews import IMAGES, batch, proposed

    journal.add_proposals(batch(proposed(f"p{ITEMS + n}", IMAGES[n]) for n in range(ADDED)))
    return "proposals"


def make_events() -> list[Event]:
    """Return decisions with ids of their own, the same each time."""
    from tests.annotation.reviews import BOX, event

    decided = [event(kind, item, id=kind) for kind, item in (("accept", "p2"), ("reject", "p3"))]
    drawn = (event("draw", f"drawn-{n}", id=f"draw-{n}", data=BOX) for n in range(EVENTS - 2))
    return [*decided, *drawn]


def decide(folder: Path, acknowledge: Callable[[str], object]) -> None:
    """Open a review, add proposals and decide; acknowledge each that has been saved."""
    from sightline.annotation.journal import Journal

    with Journal.open(folder) as journal:
        acknowledge(add_proposals(journal))
        for event in make_events():
            journal.append(event)
            acknowledge(event.id)


def kill_reviews(folder: Path, count: int, seed: int) -> list[PointResult]:
    """Kill writers of reviews at each point, and look at what is kept."""
    from tests.annotation.reviews import new_review

    chance, results = np.random.default_rng(seed), []
    folder.mkdir(parents=True)
    review = _new_folder(folder, "calm")
    made = count_points(lambda: new_review(review).close())
    decided = count_points(lambda: decide(review, str))
    _check_reached(REVIEW_POINTS, {*made, *decided})
    calm = ask(lambda: _read(review))
    for point in REVIEW_POINTS:
        result = PointResult(point)
        for number in range(count):
            place = _new_folder(folder, f"{point.replace(':', '-')}-{number}")
            nth = int(chance.integers((decided if point in decided else made)[point])) + 1
            if point in decided:
                _kill_decisions(place, nth, result)
            else:
                _kill_making(place, nth, result)
            result.compared += len(calm)
            if ask(lambda place=place: _read(place)) != calm:  # type: ignore[misc]
                result.differences.append(f"{place.name}: other decisions than without a kill")
            result.differences += [path.name for path in place.glob(".*")]
        results.append(result)
        progress(f"{point}: {result.kills} kills")
    return results


def _new_folder(folder: Path, name: str) -> Path:
    path = folder / name
    path.mkdir()
    return path


def _kill_decisions(folder: Path, nth: int, result: PointResult) -> None:
    """Kill a process that saves decisions, look at what is kept, then send all decisions again."""
    from tests.annotation.reviews import new_review

    ask(lambda: new_review(folder).close())
    ours, theirs = os.pipe()

    def acknowledge(name: str) -> None:
        os.write(theirs, f"{name}\n".encode())

    killed = kill_at(lambda: decide(folder, acknowledge), result.point, nth)
    os.close(theirs)
    with os.fdopen(ours) as file:
        acknowledged = file.read().split()
    if not killed:
        raise RuntimeError(f"{result.point} was not reached")
    result.kills += 1
    result.differences += ask(lambda: list(_compare_decisions(folder, acknowledged)))


def _compare_decisions(folder: Path, acknowledged: list[str]) -> Iterator[str]:
    """Yield what is wrong with the decisions that are kept; send all of them again."""
    from sightline.annotation.journal import Journal

    sent = make_events()
    with Journal.open(folder) as journal:
        items, events = len(journal.items()), [stored.event for stored in journal.events()]
        kept = [*["proposals"] * (items > ITEMS), *(event.id for event in events)]
        if kept[: len(acknowledged)] != acknowledged:
            yield f"acknowledged {acknowledged}, kept {kept}"
        if len(kept) > len(acknowledged) + 1:
            yield f"kept {kept}, acknowledged {acknowledged}"
        if events != sent[: len(events)] or items not in (ITEMS, ITEMS + ADDED):
            yield f"{items} proposals and {events} are not as they were sent"
        add_proposals(journal)
        for event in sent:
            if journal.append(event).repeated != (event in events):
                yield f"{event.id} was sent again and is kept twice, or not at all"


def _kill_making(folder: Path, nth: int, result: PointResult) -> None:
    """Kill whoever makes a review; then make it where it is not there, and decide."""
    from tests.annotation.reviews import new_review

    if not kill_at(lambda: new_review(folder).close(), result.point, nth):
        raise RuntimeError(f"{result.point} was not reached")
    result.kills += 1
    result.parts += len(list(folder.glob(".*.part")))
    result.differences += ask(lambda: _make_again(folder))
    ask(lambda: decide(folder, str))


def _make_again(folder: Path) -> list[str]:
    """Make a review again; it must be refused only where the first is there, whole."""
    from sightline.annotation._file import FILE
    from sightline.core import InputError
    from tests.annotation.reviews import new_review

    there = (folder / FILE).exists()
    try:
        new_review(folder).close()
    except InputError as error:
        return [] if there else [f"the review cannot be made again: {error}"]
    return ["a review was made where one was"] if there else []


def _read(folder: Path) -> list[Any]:
    """Return all that a review holds but for times and its id."""
    from sightline.annotation.journal import Journal

    with Journal.open(folder) as journal:
        items = [[one.number, one.id, one.image_id] for one in journal.items()]
        events = [
            [one.number, one.event.id, one.event.kind, one.before, one.after]
            for one in journal.events()
        ]
        added = [one["added"] for one in journal.imports() if one["added"]]  # 0: sent again
        return [*items, *events, added, *journal.images]


# --- other files ---------------------------------------------------------------------------------


def kill_files(folder: Path, count: int, seed: int) -> list[PointResult]:
    """Kill who replaces a file: it has all of the old content, or all of the new."""
    from sightline.store.files import write_whole

    return _kill_replacing(write_whole, FILE_POINTS, folder, count, seed)


def kill_outputs(folder: Path, count: int, seed: int) -> list[PointResult]:
    """Kill who replaces a file that a command writes; see `kill_files`."""
    from sightline.data.outputs import replacing

    def write(path: Path, content: bytes) -> None:
        with replacing(path) as part:
            part.write_bytes(content)

    return _kill_replacing(write, OUTPUT_POINTS, folder, count, seed)


def _kill_replacing(
    write: Callable[[Path, bytes], object],
    points: tuple[str, ...],
    folder: Path,
    count: int,
    seed: int,
) -> list[PointResult]:
    """Kill a writer of a file at each of its points, and look at the file."""
    from sightline.store.files import remove_parts

    old, new = (np.random.default_rng([seed, n]).bytes(100_000) for n in range(2))
    path, results = folder / "a.bin", []
    folder.mkdir(parents=True)
    for point in points:
        result = PointResult(point)
        for _ in range(count):
            write(path, old)
            result.kills += kill_at(lambda: write(path, new), point, 1)
            if path.read_bytes() != (new if point.endswith(":renamed") else old):
                result.differences.append("another content than the old or the new")
            result.parts += parts(folder)
            remove_parts(folder)
            result.compared += 1
            result.differences += [one.name for one in folder.iterdir() if one != path]
        results.append(result)
    return results


# --- folders -------------------------------------------------------------------------------------


def write_detections(store: Path, name: str, score: float) -> list[str]:
    """Evaluate a detection of some score and store the results; return the names of their files."""
    from sightline.detection.evaluate import evaluate_detections
    from sightline.store import write_detection

    box = (0, 0, 40, 40)
    results = evaluate_detections([[[box, "cat"]]], [[[box, score, "cat"]]], protocol="voc")
    return sorted(path.name for path in write_detection(store, name, results).iterdir())


def kill_folders(folder: Path, count: int, seed: int) -> list[PointResult]:
    """Kill who replaces a folder of results: the next writer finds the old ones, or the new."""
    del seed  # nothing is drawn
    calm = []
    for number, score in enumerate((0.9, 0.4)):
        place = folder / f"calm-{number}"
        write_detections(place, "mine", score)  # the forks have all imported that they need
        calm.append(contents(place))
    results = []
    for point in FOLDER_POINTS:
        result = PointResult(point)
        for number in range(count):
            _kill_folder(folder / f"{point.replace(':', '-')}-{number}", calm, result)
        results.append(result)
        progress(f"{point}: {result.kills} kills")
    return results


def _kill_folder(store: Path, calm: list[dict[str, str]], result: PointResult) -> None:
    """Kill who replaces results, then store others beside them, then replace them."""
    ask(lambda: write_detections(store, "mine", 0.9))
    result.kills += kill_at(lambda: write_detections(store, "mine", 0.4), result.point, 1)
    result.parts += len(list((store / "detection").glob("*~*~part")))
    ask(lambda: write_detections(store, "other", 0.9))
    expected = calm[result.point == "folder:renamed"]
    result.differences += _differ(contents(store), expected, "the next writer of others")
    ask(lambda: write_detections(store, "mine", 0.4))
    result.differences += _differ(contents(store), calm[1], "the next writer")
    result.compared += len(calm[1])


def _differ(stored: dict[str, str], expected: dict[str, str], when: str) -> list[str]:
    """Return the files that are not as expected, but for the lock and the results of others."""
    mine = stored.items() ^ expected.items()
    names = {
        name for name, _ in mine if not name.startswith(("detection/other/", "detection/~lock"))
    }
    return [f"{name} after {when}" for name in sorted(names)]
