"""Commands called as a user would, and small data sets with maps for them."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image
from typer.testing import CliRunner

from sightline.cli import app, output
from sightline.store import Store
from sightline.store.snapshot import list_stored_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STYLES = ("Gothic", "[i]Baroque")
BOXES = {"door": [0.1, 0.1, 0.4, 0.5], "[bold]window": [0.5, 0.5, 0.9, 0.9]}


def run(*arguments: object, code: int = 0, columns: int = 200) -> Any:
    """Call the program, on a terminal of some width."""
    output.console.cache_clear()  # it keeps the width that it began with
    runner = CliRunner(env={"COLUMNS": str(columns)})
    result = runner.invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


@contextmanager
def stopped() -> Iterator[Event]:
    """Stop a run before its first task; in place of `running.stopping`."""
    event = Event()
    event.set()
    yield event


def error(*arguments: object) -> str:
    """Return the line that a call which cannot work ends with: status 2, nothing else."""
    said = run(*arguments, code=2).stderr
    assert re.fullmatch(r"error: [^\n]+\n", said), said
    return str(said).removeprefix("error: ").rstrip("\n")


def write_data(folder: Path, count: int = 6) -> None:
    """Write images of noise; every second one has two regions and the other style."""
    (folder / "images").mkdir(parents=True)
    lines = []
    for number in range(count):
        rng = np.random.default_rng(number)
        name = f"{number:03}.png"
        Image.fromarray(rng.integers(0, 256, (48, 64, 3), np.uint8)).save(folder / "images" / name)
        boxes = list(BOXES.items())[: 1 + number % 2]
        lines.append(
            {
                "image": name,
                "width": 64,
                "height": 48,
                "labels": [STYLES[number % 2]],
                "regions": [{"label": label, "box": box} for label, box in boxes],
            }
        )
    content = {"format": "sightline-annotations", "version": 1, "images": lines}
    (folder / "annotations.json").write_text(json.dumps(content))


def write_maps(folder: Path, count: int = 6, seed: int = 0) -> None:
    """Write a random map for each image."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    for number in range(count):
        np.save(folder / f"{number:03}.npy", rng.random((12, 16), np.float32))


GIVEN = """
name: given
data: {name: folder, path: data}
methods:
  - {name: first, params: {maps: one, model: "net[/b]"}}
  - {name: second, params: {maps: two, model: "net[/b]"}}
batch: 2
metrics: [iou, recall, coverage, pointing]
percentiles: [90, 50]
"""


def write_given(folder: Path) -> Path:
    """Write data, two sets of maps, and a study over them; return its file."""
    write_data(folder / "data")
    write_maps(folder / "one")
    write_maps(folder / "two", seed=1)
    (folder / "given.yml").write_text(GIVEN)
    return folder / "given.yml"


def list_score_files(path: Path) -> list[Path]:
    """Return the files that mark the tasks of a run as done, in their order."""
    store = Store(path)
    return [store.score_file(task) for task in list_stored_tasks(store, store.manifest())[0]]


def words(text: str, start: str) -> list[str]:
    """Return the words after `start` on the line that begins with it."""
    (line,) = (line for line in text.splitlines() if line.strip().startswith(start))
    return line.strip().removeprefix(start).split()


def numbers(text: str, *starts: str) -> list[float]:
    """Return the numbers at the end of the line that begins with these words."""
    found = re.search(rf"^ *{' +'.join(map(re.escape, starts))} (.*)$", text, re.MULTILINE)
    assert found, text
    return [float(word) for word in found[1].split() if re.fullmatch(r"-?[\d.]+", word)]
