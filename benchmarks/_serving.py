"""A service in a process of its own, and what it takes: shared by the benchmarks of the API."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMAND = "from sightline.cli import main; main()"


@dataclass(frozen=True)
class Running:
    """A service that listens."""

    process: subprocess.Popen[str]
    host: str
    port: int

    @property
    def address(self) -> str:
        return f"http://{self.host}:{self.port}"


@contextmanager
def serving(
    store: Path,
    *words: str,
    before: str = "",
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    log: Path | None = None,
) -> Iterator[Running]:
    """Serve a store as `sightline serve` does; end the service afterwards."""
    command = [sys.executable, "-c", before + COMMAND, "serve", str(store)]
    with (log or Path(os.devnull)).open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [*command, "--port", "0", "--no-open", *words],
            stdout=subprocess.PIPE, stderr=errors if log else None, text=True, cwd=cwd,
            env=os.environ | {"COLUMNS": "300"} | (env or {}),
        )  # fmt: skip
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"http://([\d.]+):(\d+)", line)
            assert found, line
            yield Running(process, found[1], int(found[2]))
        finally:
            process.terminate()
            process.wait()


def cpu_seconds(process: int) -> float:
    """Return the processor time that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(process: int) -> float:
    """Return the memory that a process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def wait_for(condition: object, seconds: float) -> bool:
    """Wait until something that can be called says yes; tell whether it did."""
    assert callable(condition)
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        if condition():
            return True
        time.sleep(0.2)
    return False
