"""The service under load: 50 clients that read a mix of everything for a minute.

    python -m benchmarks.api runs/demo           # once the service has prepared itself
    python -m benchmarks.api runs/demo --cold    # from the moment at which it listens
    python -m benchmarks.api runs/demo --minutes 5 --study    # while a study runs beside it

The service runs in a process of its own, as `sightline serve` does; the clients run in this one,
on the same cores. Each client opens the app as a person does: a gallery with thumbnails, an image
with its map and scores, half of them at percentile 90, tables; none of them pauses. A share of the
requests bring the tag of an answer and get 304. Printed are the times by kind of request, errors,
requests a second, and the processor time and the memory of the service as the minute goes by.

A service prepares what is likely to be asked for when it starts, and tells so at /api/health. The
minute begins after that, unless `--cold` is given; how long it took is printed.

With `--study`, `sightline run` computes a study of facades with `demo/vit` all the while, with one
worker, in a process of its own, as somebody would start it in another terminal: with the priority
that programs have, unless `--nice` says otherwise. When one is done, the next begins.
Printed is how much of the time one ran, and how much of the processors it got.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from benchmarks._serving import COMMAND, cpu_seconds, memory_mb, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENTS, SECONDS, TARGET_MS = 50, 60.0, 300.0
# Seconds before memory must be flat, and by what share it may still grow; seconds to wait for a
# service that prepares itself.
SETTLED, FLAT, PATIENCE = 10.0, 0.05, 400.0
# Out of a hundred requests of a client that looks at images and tables.
MIX = {
    "thumbnail": 30,
    "metrics": 18,
    "map": 10,
    "images": 8,
    "layers": 6,
    "percentiles": 5,
    "models": 4,
    "detail": 5,
    "file": 4,
    "leaderboard": 3,
    "progression": 2,
    "labels": 1,
    "heads": 1,
    "progress": 3,
}


@dataclass
class Known:
    """What a service says that it has."""

    images: list[str]
    choices: list[dict[str, Any]]
    metrics: list[str]
    pictures: str
    version: str
    heads: dict[str, Any] | None


@dataclass
class Measured:
    """What clients saw."""

    times: dict[str, list[float]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    not_modified: int = 0

    def add(self, kind: str, seconds: float) -> None:
        self.times.setdefault(kind, []).append(seconds)

    def every(self) -> list[float]:
        return sorted(one for some in self.times.values() for one in some)


class Connection:
    """One connection that stays open, and speaks just enough HTTP."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def get(self, path: str, tag: str | None = None) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of an answer."""
        if self.writer is None or self.writer.is_closing():
            self.reader, self.writer = await asyncio.open_connection(self.host, self.port)
        assert self.reader is not None
        lines = [f"GET {path} HTTP/1.1", f"Host: {self.host}:{self.port}", "Accept: */*"]
        lines += [f"If-None-Match: {tag}"] if tag else []
        self.writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:] if line)
        }
        status = int(head[0].split()[1])
        if headers.get("transfer-encoding") == "chunked":
            return status, headers, await self._chunks()
        length = 0 if status == 304 else int(headers.get("content-length", 0))
        return status, headers, await self.reader.readexactly(length)

    async def _chunks(self) -> bytes:
        assert self.reader is not None
        parts = []
        while size := int((await self.reader.readline()).strip() or b"0", 16):
            parts.append(await self.reader.readexactly(size))
            await self.reader.readexactly(2)
        await self.reader.readexactly(2)
        return b"".join(parts)

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


def path_of(kind: str, known: Known, dice: random.Random) -> str:
    """Return what a client asks for."""
    image = quote(dice.choice(known.images))
    choice = dict(dice.choice(known.choices))
    percentile = {**choice, "percentile": dice.choice((90, 90, 80, dice.randint(50, 99)))}
    tables: dict[str, tuple[str, dict[str, Any]]] = {
        "thumbnail": (f"/api/images/{image}/thumbnail", {"size": 256, "v": known.pictures}),
        "file": (f"/api/images/{image}/file", {"v": known.pictures}),
        "detail": (f"/api/images/{image}", {}),
        "metrics": (f"/api/metrics/{image}", percentile),
        "map": (f"/api/maps/{image}", choice),
        "layers": (f"/api/metrics/{image}/layers", choice),
        "percentiles": (f"/api/metrics/{image}/percentiles", choice),
        "models": (f"/api/metrics/{image}/models", {}),
        "images": ("/api/images", {"sort": dice.choice(known.metrics), "limit": 60, **choice}),
        "leaderboard": ("/api/leaderboard", {"metric": dice.choice(known.metrics)}),
        "progression": ("/api/layers", {"metric": dice.choice(known.metrics)}),
        "labels": ("/api/breakdown/labels", choice),
        "heads": ("/api/heads", known.heads or {}),
        "progress": ("/api/progress", {}),
    }
    path, words = tables[kind]
    return f"{path}?{urlencode(words)}" if words else path


async def client(
    address: tuple[str, int], known: Known, seed: int, until: float, measured: Measured
) -> None:
    """Ask until the time is over."""
    dice = random.Random(seed)
    connection, tags = Connection(*address), dict[str, str]()
    kinds = [kind for kind in MIX if kind != "heads" or known.heads]
    while time.perf_counter() < until:
        (kind,) = dice.choices(kinds, [MIX[one] for one in kinds])
        path = path_of(kind, known, dice)
        begun = time.perf_counter()
        try:
            status, headers, _ = await connection.get(path, tags.get(path))
        except (OSError, asyncio.IncompleteReadError) as error:
            measured.errors[type(error).__name__] += 1
            connection.close()
            connection = Connection(*address)
            continue
        measured.add(kind, time.perf_counter() - begun)
        if status not in (200, 304):
            measured.errors[f"{status} {path.partition('?')[0]}"] += 1
        measured.not_modified += status == 304
        if "etag" in headers and dice.random() < 0.5:
            tags[path] = headers["etag"]
    connection.close()


async def look(address: tuple[str, int]) -> Known:
    """Return what a service has."""
    connection = Connection(*address)

    async def ask(path: str) -> Any:
        status, _, body = await connection.get(path)
        assert status == 200, (path, status, body[:300])
        return json.loads(body)

    study, progress = await ask("/api/study"), await ask("/api/progress")
    images = [one["image"] for one in (await ask("/api/images?limit=500"))["items"]]
    board = await ask("/api/leaderboard")
    metrics = await ask("/api/metrics")
    choices = [
        {name: line[name] for name in ("model", "method", "layer") if line[name] is not None}
        for line in board["lines"]
    ]
    headed = next((one for one in study["models"] if one["heads"]), None)
    heads = headed and {"model": headed["name"], "method": "cls"}
    connection.close()
    stored = metrics["stored"][:6]
    return Known(images, choices, stored, study["pictures"], progress["version"], heads)


async def wait_until_warm(address: tuple[str, int]) -> None:
    """Wait until a service has prepared itself."""
    connection, begun = Connection(*address), time.perf_counter()
    while time.perf_counter() - begun < PATIENCE:
        _, _, body = await connection.get("/api/health")
        if not json.loads(body)["warming"]:
            connection.close()
            return
        await asyncio.sleep(1)
    raise TimeoutError(f"the service still prepares itself after {PATIENCE:.0f} s")


# --- a study beside it ----------------------------------------------------------------------------

STUDY = {
    "data": {"name": "facades", "count": 400},
    "models": ["demo/vit"],
    "methods": ["cls", "rollout", "gradcam", "random"],
    "keep_maps": "grid",
}


class Studying:
    """Runs one study after the other, each under a name of its own, until told to end."""

    def __init__(self, folder: Path, nice: int) -> None:
        self.folder, self.nice = folder, nice
        self.done, self.failed, self.running_s, self.cpu_s = 0, "", 0.0, 0.0
        self.process: subprocess.Popen[bytes] | None = None
        self.ended = False
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        number = 0
        while not self.ended and not self.failed:
            number += 1
            study = self.folder / f"beside-{number}.yml"
            study.write_text(json.dumps({"name": study.stem, **STUDY}))  # JSON is YAML
            self._one(study)

    def _one(self, study: Path) -> None:
        words = ["run", str(study), "--out", str(self.folder), "--workers", "1"]
        log, begun = self.folder / "log", time.perf_counter()
        with log.open("wb") as told:
            self.process = subprocess.Popen(
                [sys.executable, "-c", f"import os; os.nice({self.nice}); {COMMAND}", *words],
                stdout=told, stderr=told, start_new_session=True,
            )  # fmt: skip
            _, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.running_s += time.perf_counter() - begun
        self.cpu_s += used.ru_utime + used.ru_stime
        if self.process.returncode == 0:
            self.done += 1
            shutil.rmtree(self.folder / study.stem)
        elif not self.ended:
            self.failed = log.read_text("utf-8", "replace")[-2000:]

    def wait(self) -> None:
        """Wait until the first one computes."""
        until = time.perf_counter() + PATIENCE
        while time.perf_counter() < until and not self.failed:
            if any(self.folder.glob("beside-*/scores/*")):
                return
            time.sleep(0.5)
        raise RuntimeError(f"no study began: {self.failed}")

    def end(self) -> None:
        """End the one that runs."""
        self.ended = True
        if self.process is not None and self.process.returncode is None:
            os.killpg(self.process.pid, 15)
        self.thread.join()


@contextmanager
def studying(nice: int) -> Iterator[Studying]:
    """Have studies computed; end them afterwards, and say what they got."""
    with tempfile.TemporaryDirectory() as folder:
        found = Studying(Path(folder), nice)
        begun = time.perf_counter()
        found.thread.start()
        try:
            found.wait()
            yield found
        finally:
            found.end()
            whole = time.perf_counter() - begun
            print(
                f"studies beside it: {found.done} done and one begun; one ran "
                f"{found.running_s / whole:.0%} of {whole:.0f} s and took {found.cpu_s:.0f} s of "
                f"processor time, nice {nice}"
            )
            if found.failed:
                print(f"A STUDY FAILED:\n{found.failed}")


# --- what it takes --------------------------------------------------------------------------------


async def watch(process: int, until: float, found: list[tuple[float, float]]) -> None:
    """Note the memory of the service, thirty times in all, and after how many seconds."""
    begun = time.perf_counter()
    step = (until - begun) / 30
    while time.perf_counter() < until - step / 2:
        await asyncio.sleep(step)
        found.append((time.perf_counter() - begun, memory_mb(process)))


def growth(memory: list[tuple[float, float]]) -> float:
    """Return by what share memory still grew once it was to be flat."""
    after = [size for seconds, size in memory if seconds >= SETTLED]
    return max(after) / after[0] - 1 if after else float("nan")


def share(ordered: list[float], part: float) -> float:
    """Return a quantile in milliseconds."""
    return 1000 * ordered[min(int(part * len(ordered)), len(ordered) - 1)]


def show(measured: Measured, memory: list[tuple[float, float]], seconds: float, cpu: float) -> None:
    """Print what was measured."""
    every = measured.every()
    print(f"{'':14}{'requests':>9}{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}{'max ms':>9}")
    for kind, times in sorted(measured.times.items(), key=lambda one: -len(one[1])):
        _line(kind, sorted(times))
    _line("all", every)
    print(f"\n{len(every) / seconds:,.0f} requests/s, {measured.not_modified:,} answered by 304")
    print(f"errors: {sum(measured.errors.values())} {dict(measured.errors) or ''}")
    print(f"processor time of the service: {cpu:.1f} s, {1000 * cpu / len(every):.2f} ms a request")
    print("memory of the service, MB: " + " ".join(f"{size:.0f}" for _, size in memory[::3]))
    met = share(every, 0.95) < TARGET_MS and not measured.errors
    print(f"p95 under {TARGET_MS:.0f} ms and no errors: {'yes' if met else 'NO'}")
    flat = growth(memory) <= FLAT
    told = f"{'yes' if flat else 'NO'} ({growth(memory):+.1%} from {SETTLED:.0f} s on)"
    print(f"memory flat: {told}")


def _line(name: str, times: list[float]) -> None:
    figures = "".join(f"{share(times, part):9.1f}" for part in (0.5, 0.95, 0.99, 1.0))
    print(f"{name:14}{len(times):9,}{figures}")


async def measure(address: tuple[str, int], process: int, clients: int, seconds: float) -> Measured:
    """Have clients ask, and print what they saw."""
    known, measured, memory = await look(address), Measured(), list[tuple[float, float]]()
    until, before = time.perf_counter() + seconds, cpu_seconds(process)
    asking = [client(address, known, seed, until, measured) for seed in range(clients)]
    await asyncio.gather(*asking, watch(process, until, memory))
    show(measured, memory, seconds, cpu_seconds(process) - before)
    return measured


def main(arguments: list[str] | None = None) -> Measured:
    """Start a service, ask it, stop it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("store", type=Path, help="folder of a study's results")
    parser.add_argument("--clients", type=int, default=CLIENTS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--minutes", type=float, help="in place of seconds")
    parser.add_argument("--cold", action="store_true", help="do not wait until it is prepared")
    parser.add_argument("--study", action="store_true", help="compute studies beside it")
    parser.add_argument("--nice", type=int, default=0, help="priority of these studies: 0 to 19")
    asked = parser.parse_args(arguments)
    seconds = 60 * asked.minutes if asked.minutes else asked.seconds
    with ExitStack() as stack:
        running = stack.enter_context(serving(asked.store))
        address, process = (running.host, running.port), running.process.pid
        begun = time.perf_counter()
        if not asked.cold:
            asyncio.run(wait_until_warm(address))
        print(f"{asked.clients} clients, {seconds:.0f} s, {asked.store}")
        took = f"{time.perf_counter() - begun:.0f} s, {cpu_seconds(process):.0f} s of processor"
        print(f"{'begun as soon as it listened' if asked.cold else f'prepared in {took}'}\n")
        if asked.study:
            stack.enter_context(studying(asked.nice))
        return asyncio.run(measure(address, process, asked.clients, seconds))


if __name__ == "__main__":
    main()
