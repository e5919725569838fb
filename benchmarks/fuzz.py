"""Hostile pictures and files by the thousand: how many are read, refused, or do harm.

    python -m benchmarks.fuzz [--images 5000] [--files 14000] [--seed 1] [--seconds 600]

The generators are those of the tests, with another seed: about 430 pictures of every kind and as
many with bytes changed at random as are asked for; every node of right files replaced by every
wrong value, bombs, and right files with bytes changed. Each kind is read in one process whose
memory is limited. What must never be seen is counted as harm: a crash, another error than one that
names the file, wrong pixels, something executed, more memory than is allowed. Rounds with further
seeds follow until the seconds are over.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import NamedTuple

from benchmarks.maps import machine, progress, table
from tests.fuzz.child import Outcome

ROOT = Path(__file__).parents[1]
MEGABYTES = {"pictures": 1500, "files": 1000}
KINDS = 430  # pictures that are there whatever the number of broken ones
GARBLED = 440  # cases of files for each time that right ones are changed at random, and
FIXED = 11_000  # those that are there in any case


class Total(NamedTuple):
    """The rounds of one kind together."""

    what: str
    cases: int
    read: int
    refused: int
    harm: list[str]
    peak: float
    slowest: float
    limit: int


def run_round(what: str, seed: int, count: int) -> Outcome:
    """Read one corpus in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        words = [what, folder, seed, count, MEGABYTES[what]]
        done = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.child", *map(str, words)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=3600,
        )
    lines = done.stdout.splitlines()
    if done.returncode:
        return Outcome(cases=len(lines), wrong=[f"{lines[-1]}: ended the process: {done.stderr}"])
    return Outcome(**json.loads(lines[-1]))


def add(what: str, found: list[Outcome]) -> Total:
    return Total(
        what,
        sum(one.cases for one in found),
        sum(len(one.read) for one in found),
        sum(one.refusals for one in found),
        [wrong for one in found for wrong in one.wrong],
        max(one.peak for one in found),
        max(one.slowest for one in found),
        MEGABYTES[what],
    )


def measure(images: int, files: int, seed: int, seconds: float) -> list[Total]:
    """Return what came of each kind; at least one round of both is made."""
    counts = {
        "pictures": max(images - KINDS, 0),
        "files": max(1, round((files - FIXED) / GARBLED)),
    }
    found: dict[str, list[Outcome]] = {what: [] for what in counts}
    end = time.monotonic() + seconds
    while True:
        for what, count in counts.items():
            progress(f"{what}, seed {seed}")
            found[what].append(run_round(what, seed, count))
        seed += 1
        if time.monotonic() > end:
            return [add(what, rounds) for what, rounds in found.items()]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=5000, help="pictures in a round")
    parser.add_argument("--files", type=int, default=14_000, help="other files in a round")
    parser.add_argument("--seed", type=int, default=1, help="that of the first round")
    parser.add_argument("--seconds", type=float, default=0.0, help="go on for so long")
    parser.add_argument("--markdown", action="store_true", help="print a table for the docs")
    given = parser.parse_args()
    totals = measure(given.images, given.files, given.seed, given.seconds)
    heads = ["", "cases", "read", "refused by name", "harm", "memory, MB", "slowest, s of CPU"]
    rows = [
        [
            one.what,
            f"{one.cases:,}",
            f"{one.read:,}",
            f"{one.refused:,}",
            str(len(one.harm)),
            f"{one.peak:.0f} of {one.limit}",
            f"{one.slowest:.1f}",
        ]
        for one in totals
    ]
    print(machine())
    print(table([heads, *rows], markdown=given.markdown))
    for one in totals:
        for wrong in one.harm[:50]:
            print(f"{one.what}: {wrong}")
    return 1 if any(one.harm for one in totals) else 0


if __name__ == "__main__":
    sys.exit(main())
