"""Small studies in a folder, real processes that run them, and what lies in their stores."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from sightline.store import Store
from sightline.store.compact import list_files
from sightline.store.snapshot import list_shards, list_stored_tasks
from sightline.study import Study, to_yaml
from tests.study.tables import decode, get_bytes, melt, sort

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

SIZE = (40, 32)  # width and height of an image
CLI = "from sightline.cli import main; main()"
LONG = 120  # seconds after which a process that should have ended is a failure


def write_images(folder: Path, count: int) -> None:
    """Write pictures of noise with two boxes each; image n is the same however many there are."""
    (folder / "images").mkdir(parents=True, exist_ok=True)
    lines = []
    for number in range(count):
        rng = np.random.default_rng(number)
        pixels = rng.integers(0, 256, (SIZE[1], SIZE[0], 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / "images" / f"{number:03}.png")
        x, y = (int(edge) for edge in rng.integers(0, 10, 2))
        boxes = [("door", [x, y, x + 12, y + 15]), ("window", [x + 14, y + 2, x + 28, y + 20])]
        lines.append(
            {
                "image": f"{number:03}.png",
                "width": SIZE[0],
                "height": SIZE[1],
                "regions": [{"label": label, "box": box} for label, box in boxes],
            }
        )
    head = {"format": "sightline-annotations", "version": 1, "units": "pixels"}
    (folder / "annotations.json").write_text(json.dumps({**head, "images": lines}))


def write_given(folder: Path, method: str, count: int, side: int = 16) -> None:
    """Write maps of an imagined method, with ties, as `.npy` files."""
    (folder / method).mkdir(parents=True, exist_ok=True)
    for number in range(count):
        rng = np.random.default_rng([number, *method.encode()])
        values = rng.integers(-9, 90, (side, side)).astype(np.float32) / 7
        np.save(folder / method / f"{number:03}.npy", values)


def given_study(
    folder: Path, *, images: int, methods: Iterable[str], side: int = 16, **keys: Any
) -> Study:
    """Return a study over maps made elsewhere, whose files are written where they are missing."""
    if not (folder / "annotations.json").exists():
        write_images(folder, images)
    entries = []
    for method in methods:
        if not (folder / method).exists():
            write_given(folder, method, images, side)
        entries.append({"name": method, "params": {"maps": str(folder / method)}})
    values: dict[str, Any] = {
        "batch": 2,
        "sign": "positive",
        "metrics": ["iou", "coverage", "pointing"],
        "percentiles": [50, 90],
    }
    values |= {"name": "given", "methods": entries}
    data = {"name": "folder", "path": str(folder), **keys.pop("data", {})}
    return Study(**{**values, "data": data, **keys})


def model_study(**keys: Any) -> Study:
    """Return a study of a shipped model on a few drawn images."""
    values: dict[str, Any] = {
        "name": "looks",
        "data": {"name": "facades", "count": 6, "seed": 1, "labelling": "representative"},
        "models": ["demo/vit"],
        "methods": ["cls", "random"],
        "layers": [0, -1],
        "metrics": ["iou", "coverage"],
        "percentiles": [90],
        "batch": 2,
    }
    return Study(**{**values, **keys})


STARTED: list[Process] = []


class Process:
    """A run of a study as another program, in a process group of its own."""

    def __init__(
        self,
        study: Study,
        out: Path,
        *options: str,
        env: Mapping[str, str] | None = None,
        code: str = CLI,
    ) -> None:
        out.mkdir(parents=True, exist_ok=True)
        file = out / f"{study.name}.yml"
        file.write_text(to_yaml(study))
        self.log = out / f"{study.name}.{time.monotonic_ns()}.log"
        # A mark in the environment by which workers are found, whoever their parent is by then.
        self.mark = f"SIGHTLINE_TEST={self.log}"
        name, _, value = self.mark.partition("=")
        STARTED.append(self)
        with self.log.open("wb") as log:
            self.popen = subprocess.Popen(
                [sys.executable, "-c", code, "run", str(file), "--out", str(out), *options],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **(env or {}), name: value},
                start_new_session=True,
            )

    def alive(self) -> list[int]:
        """Return the processes of this run that are there, workers among them."""
        return [pid for pid in processes() if has_mark(pid, self.mark)]

    def kill(self, *, group: bool) -> None:
        """Kill the driver alone, or every process of the run."""
        if group:
            os.killpg(self.popen.pid, signal.SIGKILL)
        else:
            self.popen.kill()
        self.popen.wait(LONG)

    def interrupt(self) -> None:
        """Send what Ctrl-C in a terminal sends: to every process of the run."""
        os.killpg(self.popen.pid, signal.SIGINT)

    def halt(self) -> None:
        """Stop the driver where it is, to go on later; return when all its threads stand."""
        os.kill(self.popen.pid, signal.SIGSTOP)
        flags = os.WSTOPPED | os.WNOHANG
        wait_until(lambda: os.waitid(os.P_PID, self.popen.pid, flags) is not None, "the halt")

    def clear_away(self) -> None:
        """Kill what a test that failed has left."""
        for pid in self.alive():
            os.kill(pid, signal.SIGKILL)
        self.popen.wait(LONG)

    def end(self) -> tuple[int, str]:
        """Wait for the end; return the exit status and all that was said."""
        status = self.popen.wait(LONG)
        return status, self.log.read_text("utf-8", "replace")


def processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def has_mark(pid: int, mark: str) -> bool:
    """Say whether a process that has not ended was started with a mark."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except (OSError, IndexError):  # it ended meanwhile, or belongs to others
        return False
    return state not in "ZX" and mark.encode() in words


def wait_until(true: Any, what: str, pause: float = 0.005) -> None:
    """Look again and again until something holds; two minutes without it are a failure."""
    for _ in range(int(LONG / pause)):
        if true():
            return
        time.sleep(pause)
    raise AssertionError(f"never: {what}")


def wait_for_workers(run: Process) -> None:
    """Wait until no process of a run is left; to look at all of the machine's takes a while."""
    wait_until(lambda: not run.alive(), "workers end by themselves", pause=0.05)


def shard_names(store: Path) -> set[str]:
    """Return the names of the whole files that mark tasks as done."""
    return {path.name for name in ("scores", "checks") for path in (store / name).glob("[!.]*")}


def stored_shards(store: Path) -> dict[str, list[Path]]:
    """Return by table the shards of a store's own tasks that are done."""
    found = Store(store)
    return list_shards(found, *list_stored_tasks(found, found.manifest()))


def read_files(paths: Iterable[Path]) -> pa.Table:
    """Return the rows of files of one table, sorted by their keys, as a plain table."""
    parts = [decode(pq.read_table(path, partitioning=None)) for path in paths]
    return sort(pa.concat_tables(parts))


def table(store: Path) -> pa.Table:
    """Return all scores of a store's own tasks, a row each, sorted, as one plain table."""
    files = stored_shards(store)
    rows = melt(*(read_files(files[name]) for name in ("scores", "region_scores")))
    keys = ["image", "region", "model", "variant", "layer", "head", "method", "target", "seed"]
    keys += ["metric", "threshold"]
    return rows.sort_by([(key, "ascending") for key in keys]).combine_chunks()


def table_bytes(store: Path) -> bytes:
    """Return the results tables of a store to the last bit, whatever files they lie in."""
    files = stored_shards(store)
    return b"".join(get_bytes(read_files(some)) for some in files.values() if some)


def shard_bytes(store: Path) -> dict[str, bytes]:
    """Return the content of every shard of the store's own tasks but for maps."""
    return {
        f"{path.parent.name}/{path.name}": path.read_bytes()
        for files in stored_shards(store).values()
        for path in files
    }


def parts(store: Path) -> list[Path]:
    """Return the files that somebody has begun and not finished."""
    return [path for path in store.rglob("*") if path.name.endswith(".part")]


def stamps(store: Path) -> dict[str, tuple[int, int, int]]:
    """Return for every shard what changes when it is written anew."""
    found = {}
    for folder in ("scores", "region_scores", "checks", "maps"):
        for path in (store / folder).glob("*"):
            stat = path.stat()
            found[f"{folder}/{path.name}"] = stat.st_ino, stat.st_mtime_ns, stat.st_size
    return found


def check_whole(store: Path) -> None:
    """Check that a store is complete and holds nothing half done."""
    found = Store(store)
    tasks = found.tasks()
    assert len(set(tasks)) == len(tasks)
    for name in ("scores", "region_scores"):
        assert [path.stem for path in stored_shards(store)[name] if path.exists()] == tasks
    assert parts(store) == []
    check_copies(store)


def check_copies(store: Path) -> None:
    """Check that the sorted copies of a store hold what the shards of its tasks hold."""
    found, shards = Store(store), stored_shards(store)
    for name in ("scores", "region_scores"):
        copies = list_files(found, name, found.tasks())
        assert {path.parent for path in copies} == {found.cache}
        assert get_bytes(read_files(copies)) == get_bytes(read_files(shards[name]))
