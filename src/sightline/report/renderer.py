"""Drawing the figures of a report: pictures in a second process as well, where there are many.

More than half of the time of a report goes into pictures. A second process opens the same store
while this one reads scores, and then draws pictures from the first on, and changes over layers,
which need all maps, while this one asks the models, computes what the page says, draws the charts,
and takes pictures from the last on. Files and page are the same whoever draws: where the second
process fails, this one draws what is missing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.core import InputError
from sightline.figures.cards import FIGURES
from sightline.report.figures import Choice, StoreFigures
from sightline.report.plates import Plate, Saving, Wanted, draw_plate, labels_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

__all__ = ["Drawing", "main"]

MANY = 6
"""Pictures that are worth a process of their own."""
_PLATES = ".plates.json"


class Drawing:
    """The figures of a report in the making; leaving it ends the second process.

    Parameters
    ----------
    figures, metric
        Of the store, and the main metric, where one was asked for.
    how
        Where and as what they are saved.
    workers
        Processes that draw, 1 or 2. Unless given, a second one starts where there are two cores,
        and draws where there are many pictures.
    """

    def __init__(
        self,
        figures: StoreFigures,
        metric: str | None,
        how: Saving,
        *,
        workers: int | None = None,
    ) -> None:
        if workers is not None and workers not in (1, 2):
            raise InputError(f"workers must be 1 or 2; got {workers!r}")
        self._figures, self._metric, self._how = figures, metric, how
        self._several = workers == 2 if workers else (os.cpu_count() or 1) > 1
        self._least = 1 if workers else MANY
        self._wanted: list[Wanted] = []
        self._shared: list[Wanted] = []
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Drawing:
        if self._several:
            code = "from sightline.report.renderer import main; main()"
            self._process = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, "-c", code],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            self._tell(
                {
                    "store": str(self._figures.results.path),
                    "metric": self._metric,
                    "folder": str(self._how.folder),
                    "formats": self._how.formats,
                    "dpi": self._how.dpi,
                    "parent": os.getpid(),
                }
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._tell(None)
            self._process.wait()
            (self._how.folder / _PLATES).unlink(missing_ok=True)
            for one in self._shared:
                _claim(self._how.folder, one).unlink(missing_ok=True)

    def begin(self, pictures: Sequence[Wanted]) -> None:
        """Let the second process draw pictures from now on, those that are certain."""
        if self._process is not None and len(pictures) >= self._least:
            self._shared = list(pictures)
            self._tell(self._shared)

    def go_on(self, wanted: Sequence[Wanted]) -> None:
        """Say which figures are wanted in all; the second process goes on with their pictures."""
        self._wanted = list(wanted)
        pictures = [one for one in self._wanted if _apart(one)]
        if self._shared or (self._process is not None and len(pictures) >= self._least):
            others = [one for one in pictures if one not in self._shared]
            others.sort(key=lambda one: FIGURES[one.card].group == "images")  # the longest first
            self._shared += others
            self._tell(others)
        self._tell(None)

    def finish(
        self, missing: dict[str, str], progress: Callable[[int, int, str], object]
    ) -> list[Plate]:
        """Draw what is left, wait for the rest, and return all, in their order.

        Parameters
        ----------
        missing
            Told why a figure is not there after all.
        progress
            Told how much is done, of how much, and of what.
        """
        found: dict[str, Plate | str] = {}
        mine = [one for one in self._wanted if one not in self._shared]
        for one in (*mine, *reversed(self._shared)):
            if one in self._shared and not _claimed(self._how.folder, one):
                continue
            progress(len(found), len(self._wanted), f"Drawing {one.card}")
            found[one.file] = self._draw(one)
        if self._shared:
            progress(len(found), len(self._wanted), "Drawing pictures")
            found |= self._received()
        plates = []
        for one in self._wanted:
            plate = found[one.file] if one.file in found else self._draw(one)
            if isinstance(plate, str):
                missing[_title(one)] = plate
            else:
                plates.append(plate)
        labels = labels_of([one.wanted for one in plates])
        return [one._replace(label=label) for one, label in zip(plates, labels, strict=True)]

    def _draw(self, one: Wanted) -> Plate | str:
        return draw_plate(self._figures, one, self._how)

    def _tell(self, what: Any) -> None:
        """Send the second process a line, or with nothing to say the end."""
        stream = None if self._process is None else self._process.stdin
        if stream is None or stream.closed:
            return
        with suppress(OSError):  # it has ended already: this process will draw
            if what is None:
                stream.close()
            else:
                stream.write(json.dumps(what).encode() + b"\n")
                stream.flush()

    def _received(self) -> dict[str, Plate | str]:
        """Wait for the second process; nothing where it failed."""
        failed = self._process is None or self._process.wait() != 0
        file = self._how.folder / _PLATES
        if failed or not file.is_file():
            return {}
        content = json.loads(file.read_text("utf-8"))
        return {file: _plate(one) for file, one in content.items()}


def _apart(one: Wanted) -> bool:
    """Return whether a figure is that of maps alone, whatever the models were asked meanwhile."""
    return FIGURES[one.card].group == "images" or one.card == "layer-changes"


def _claim(folder: Path, one: Wanted) -> Path:
    return folder / f".{one.file.replace('/', '.')}.claim"


def _claimed(folder: Path, one: Wanted) -> bool:
    """Take a picture; of two processes one gets it."""
    try:
        _claim(folder, one).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _title(wanted: Wanted) -> str:
    """Return under which name a figure is missing: of those of a card, which one."""
    return f"{FIGURES[wanted.card].title}: {wanted.note}" if wanted.note else wanted.card


def _plate(content: Any) -> Plate | str:
    if isinstance(content, str):
        return content
    wanted, label, about, alt, kind, html, files = content
    return Plate(_wanted(wanted), label, about, alt, kind, html, tuple(files))


def _wanted(content: Sequence[Any]) -> Wanted:
    place, card, file, choice, note = content
    return Wanted(place, card, file, Choice(*choice), note)


def main() -> None:
    """Draw what stdin asks for: a line says of which store, others say which pictures."""
    from sightline.results import open_results

    told = json.loads(sys.stdin.readline())
    how = Saving(Path(told["folder"]), tuple(told["formats"]), int(told["dpi"]))
    with open_results(told["store"]) as results:
        figures = StoreFigures(results, predictions=False)
        with suppress(Exception):  # read ahead; what is wrong comes out when it is drawn
            figures.lines(Choice(metric=told["metric"]))
            figures.missing("examples")
        found: dict[str, Plate | str] = {}
        for content in (one for line in sys.stdin for one in json.loads(line)):
            if os.name == "posix" and os.getppid() != told["parent"]:
                return  # nobody waits any more
            wanted = _wanted(content)
            if _claimed(how.folder, wanted):
                found[wanted.file] = draw_plate(figures, wanted, how)
    if found:
        (how.folder / _PLATES).write_text(json.dumps(found), encoding="utf-8")
