"""Reads hostile files in a process whose memory is limited, and says how it went.

    python -m tests.fuzz.child pictures FOLDER SEED BROKEN MEGABYTES
    python -m tests.fuzz.child files FOLDER SEED GARBLED MEGABYTES [EVERY]

What is read is printed before, so that one which ends the process is known; the last line is JSON.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import traceback
import warnings
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sightline.core import InputError, SightlineError
from sightline.data.images import image_size, read_image
from tests.fuzz.pictures import Case, pictures, write

if TYPE_CHECKING:
    from tests.fuzz.files import FileCase

__all__ = ["Outcome", "read_files", "read_pictures"]

_LONGEST = 3000


@dataclass(slots=True)
class Outcome:
    """What came of the files: those read and refused, what is wrong, megabytes, seconds."""

    cases: int = 0
    distinct: int = 0
    read: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    refusals: int = 0
    wrong: list[str] = field(default_factory=list)
    peak: float = 0.0
    slowest: float = 0.0


def read_pictures(folder: Path, seed: int, broken: int, megabytes: int) -> Outcome:
    """Make the pictures of a seed, then read them with no more memory than is given."""
    warnings.simplefilter("ignore")  # Pillow tells about odd tags
    cases = list(pictures(seed, broken))
    found = Outcome(len(cases), len({case.content for case in cases if case.make is None}))
    for case in cases:
        write(case, folder)
    start = _peak()
    _limit(megabytes)
    for case in cases:
        print(case.name, flush=True)  # noqa: T201
        began = time.process_time()
        _read(case, folder / case.name, found)
        found.slowest = max(found.slowest, time.process_time() - began)
    found.peak = _peak() - start
    return found


def read_files(folder: Path, seed: int, garbled: int, megabytes: int, every: int = 1) -> Outcome:
    """Read the files of a seed one after the other, with no more memory than is given."""
    from tests.fuzz.files import VALID, FileCase, file_cases

    for reader, files in VALID.items():  # what is imported or compiled does not count
        _meet(FileCase(reader, "at first", files, good=True), folder / "at", Outcome())
    os.chdir(folder)  # where a mark would be made
    found, start = Outcome(), _peak()
    _limit(megabytes)
    for case in file_cases(seed, garbled, every):
        print(case.reader, case.what.encode("ascii", "replace"), flush=True)  # noqa: T201
        found.cases += 1
        began = time.process_time()
        _meet(case, folder / "at", found)
        found.slowest = max(found.slowest, time.process_time() - began)
    found.peak = _peak() - start
    return found


def _meet(case: FileCase, folder: Path, found: Outcome) -> None:
    from tests.fuzz.files import MARK, READERS, put

    put(case, folder)
    name, read = READERS[case.reader]
    about = f"{case.reader}: {case.what}"
    try:
        read(folder / name)
    except SightlineError as error:
        found.refused[about] = str(error)
        found.refusals += 1
        if case.good:
            found.wrong.append(f"{about}: good, but refused: {error}")
        if str(folder) not in str(error):
            found.wrong.append(f"{about}: names no file: {error}")
        if len(str(error)) > _LONGEST and case.reader != "study":  # that lists all problems
            found.wrong.append(f"{about}: {len(str(error))} characters: {str(error)[:200]}")
        if not ascii(str(error)).isprintable() or _halves(str(error)):
            found.wrong.append(f"{about}: cannot be shown: {str(error)!a}")
    except BaseException as error:  # whatever it is, it is to be told
        said = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(said.filename).name}:{said.lineno}"
        found.wrong.append(f"{about}: {type(error).__name__} at {place}: {str(error)[:200]!a}")
    else:
        found.read.append(about)
    if Path(MARK).exists() or (folder / MARK).exists():
        found.wrong.append(f"{about}: something in it was executed")


def _halves(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _limit(megabytes: int) -> None:
    """Let this process have no more memory than it has, and so much."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
    limit = pages * resource.getpagesize() + megabytes * 10**6
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _read(case: Case, path: Path, found: Outcome) -> None:
    try:
        pixels = read_image(path)
        size = image_size(path)
    except InputError as error:
        found.refused[case.name] = str(error)
        found.refusals += 1
        if case.verdict == "good":
            found.wrong.append(f"good, but refused: {error}")
        if not str(error).startswith(f"{path}: ") or len(str(error)) > _LONGEST:
            found.wrong.append(f"{case.name}: says {str(error)[:_LONGEST]}")
        return
    except BaseException as error:  # whatever it is, it is to be told
        found.wrong.append(f"{case.name}: {type(error).__name__}: {error}")
        return
    found.read.append(case.name)
    if case.verdict == "bad":
        found.wrong.append(f"{case.name}: bad, but read")
    if pixels.dtype != np.uint8 or pixels.shape != (size[1], size[0], 3):
        found.wrong.append(f"{case.name}: {pixels.dtype} {pixels.shape}, its size {size}")
    elif case.expected is not None:
        same = pixels.shape == case.expected.shape
        if not same or np.abs(pixels.astype(float) - case.expected).max() > case.atol:
            found.wrong.append(f"{case.name}: other pixels")


def _peak() -> float:
    """Return the most memory so far in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


if __name__ == "__main__":
    kind, place, *numbers = sys.argv[1:]
    seed, count, megabytes, *every = map(int, numbers)
    if kind == "pictures":
        told = read_pictures(Path(place), seed, count, megabytes)
    else:
        told = read_files(Path(place), seed, count, megabytes, *every)
    print(json.dumps(asdict(told)))  # noqa: T201
