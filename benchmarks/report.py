"""The report of a store: seconds of each part, and what its files weigh.

    python -m benchmarks.report [STORE] [--markdown]

STORE is the demo's, runs/demo, unless given. The report goes to a folder that is removed again.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from argparse import RawDescriptionHelpFormatter
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from benchmarks.maps import machine, table


class Target(NamedTuple):
    text: str
    unit: str
    most: float


TARGETS = {
    "seconds": Target("report of the demo study, all parts", "s", 60),
    "page": Target("its page with everything inside", "MB", 15),
}


def measure(store: Path) -> dict[str, float]:
    """Write a report; return seconds of its parts and megabytes of its page and files."""
    from sightline.report import write_report

    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        made = write_report(store, Path(folder) / "report")
        found = {"seconds": time.perf_counter() - start}
        found |= {f"{part}, s": seconds for part, seconds in made.seconds.items()}
        found["page"] = made.page.stat().st_size / 1e6
        found |= weights(made.page.read_text("utf-8"))
        found["all files, MB"] = sum(path.stat().st_size for path in made.files) / 1e6
        found["files"] = len(made.files)
    return found


def weights(page: str) -> dict[str, float]:
    """Return what a page is made of, in megabytes."""
    kinds: Counter[str] = Counter()
    for kind, body in re.findall(r"data:([\w/+.-]+);base64,([A-Za-z0-9+/=]*)", page):
        kinds[kind] += len(body)
    bare = re.sub(r"base64,[A-Za-z0-9+/=]*", "", page)
    charts = sum(len(one) for one in re.findall(r"<svg .*?</svg>", bare, re.DOTALL))
    found = {f"{kind} inside, MB": size / 1e6 for kind, size in kinds.most_common()}
    return found | {
        "charts in place, MB": charts / 1e6,
        "text and tables, MB": (len(bare) - charts) / 1e6,
    }


def rows(found: dict[str, float]) -> list[list[str]]:
    """Return the figures as a table; those with a target first."""
    lines = [["what", "unit", "target", "measured"]]
    for key, target in TARGETS.items():
        lines.append([target.text, target.unit, f"≤ {target.most:g}", f"{found[key]:.1f}"])
    for key, value in found.items():
        if key not in TARGETS:
            what, _, unit = key.rpartition(", ")
            text = f"{value:.2f}".rstrip("0").rstrip(".")
            lines.append([what or key, unit if what else "", "", text])
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    parser.add_argument("store", nargs="?", type=Path, default=Path("runs/demo"))
    parser.add_argument("--markdown", action="store_true", help="print tables for the pages")
    options = parser.parse_args()
    found = measure(options.store)
    print(machine())
    print(table(rows(found), markdown=options.markdown))
    if any(found[key] > target.most for key, target in TARGETS.items()):
        sys.exit(1)


if __name__ == "__main__":
    main()
