"""A store to a report: a page, tables and figures in a folder."""

from __future__ import annotations

import re
import time
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from sightline.core import InputError
from sightline.data import write_csv
from sightline.figures.style import FORMATS
from sightline.report._figures_checks import compare_predictions
from sightline.report.checks import read_checks
from sightline.report.figures import Choice, StoreFigures
from sightline.report.findings import find, guide_rules
from sightline.report.methods_text import methods_text
from sightline.report.page import data_uri, page_html
from sightline.report.plates import DIGITS, Saving, example_figures, wanted_figures
from sightline.report.prototypes import in_short, read_benchmarks
from sightline.report.references import bibtex
from sightline.report.renderer import Drawing
from sightline.report.scores import read_scores
from sightline.report.sections import Content, sections_of
from sightline.report.tables import detailed_results, summary_results, table_one
from sightline.results import Results, detection_names, open_results

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    import pandas as pd

    from sightline.report.methods_text import MethodsText
    from sightline.report.plates import Plate
    from sightline.report.scores import Scored
    from sightline.report.tables import TableOne

    Progress = Callable[[int, int, str], object]

__all__ = ["Report", "write_report"]

LIMIT = 13_000_000
"""Bytes that the page may have with the files it holds; further files lie beside it."""
LABELS_PAGE = "sparsity.html"
_STAGE = re.compile(r"\.[0-9a-f]{32}\.part")
_OLD = 3600  # seconds after which nobody writes into a stage any more


class Report(NamedTuple):
    """A report that was written.

    Attributes
    ----------
    page
        The page: index.html.
    files
        All files, the page among them.
    missing
        Why figures are not there, by name.
    summary
        What the page says first, as heads and sentences.
    seconds
        How long each part took.
    """

    page: Path
    files: tuple[Path, ...]
    missing: dict[str, str]
    summary: tuple[tuple[str, str], ...]
    seconds: dict[str, float]


def write_report(
    results: Results | str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    metric: str | None = None,
    formats: Sequence[str] = FORMATS,
    dpi: int = 200,
    predictions: bool = True,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Report:
    """Write the report of a study: a page that needs nothing else, tables, and all figures.

    The same store gives the same bytes. A page of `sightline sparsity` in the folder is linked.
    Files are put in place when all of them are made; those
    of the same names are replaced, others are left as they are.

    Parameters
    ----------
    results
        Of a study, or the folder they lie in.
    out
        Folder of the report; `report` in that of the study unless given.
    metric
        By which lines are sorted and layers chosen; that which leads the leaderboard unless given.
    formats
        Of the figures' files: "png", "svg", "pdf".
    dpi
        Dots per inch of PNG, 150 to 300.
    predictions
        Whether classifiers may be run on the images, where the store does not know yet what they
        predict.
    workers
        Processes that draw, 1 or 2; by what there is to draw unless given.
    progress
        Told how much is done, of how much, and of what.

    Raises
    ------
    InputError
        If nothing is stored, a name is not known, or the folder cannot be written.
    """
    if unknown := [one for one in formats if one not in FORMATS]:
        raise InputError(f"formats must be of {', '.join(FORMATS)}; got {unknown[0]!r}")
    if not 150 <= dpi <= 300:
        raise InputError(f"dpi must lie in 150 to 300; got {dpi!r}")
    opened = nullcontext(results) if isinstance(results, Results) else open_results(results)
    with opened as source:
        own = source.path if isinstance(results, Results) else Path(results)
        folder = own / "report" if out is None else Path(out)
        with _staging(folder) as stage:
            how = Saving(stage, tuple(formats), dpi)
            made = _Made(source, how, metric, predictions, workers, progress)
            report = made.write()
            _put_in_place(stage, folder)
    names = sorted(path.relative_to(stage) for path in report.files)
    return report._replace(page=folder / "index.html", files=tuple(folder / name for name in names))


@contextmanager
def _staging(folder: Path) -> Iterator[Path]:
    """Yield an empty folder inside the one that is written, and remove it afterwards.

    Inside, so that files are moved within one file system, also where the folder is a mount.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file, not a folder")
    new = [one for one in (folder, *folder.parents) if not one.exists()]
    _clear(folder)
    stage = folder / f".{uuid4().hex}.part"
    try:
        stage.mkdir(parents=True)
    except OSError as error:
        raise InputError(f"{folder}: the report cannot be written there: {error}") from error
    try:
        yield stage
    finally:
        rmtree(stage, ignore_errors=True)
        with suppress(OSError):  # a folder of which nothing came goes again
            for one in new:
                one.rmdir()


def _clear(folder: Path) -> None:
    """Remove what reports that were killed long ago have left."""
    for one in folder.glob(".*.part"):
        if _STAGE.fullmatch(one.name) and time.time() - one.stat().st_mtime > _OLD:
            rmtree(one, ignore_errors=True)


def _put_in_place(stage: Path, folder: Path) -> None:
    """Move all files, the page last, so that a page never shows what is not there."""
    files = sorted(path for path in stage.rglob("*") if path.is_file())
    files.sort(key=lambda path: path.name == "index.html")
    try:
        for path in files:
            place = folder / path.relative_to(stage)
            place.parent.mkdir(parents=True, exist_ok=True)
            path.replace(place)
    except OSError as error:
        raise InputError(f"{folder}: the report cannot be written there: {error}") from error


class _Made:
    """A report in the making."""

    def __init__(
        self,
        results: Results,
        how: Saving,
        metric: str | None,
        predictions: bool,
        workers: int | None,
        progress: Progress | None,
    ) -> None:
        self.results, self.how, self.stage, self.metric = results, how, how.folder, metric
        self.workers = workers
        self.progress: Progress = progress or (lambda done, total, what: None)
        self.figures = StoreFigures(results, progress=self.progress, predictions=predictions)
        self.seconds: dict[str, float] = {}

    @contextmanager
    def _timed(self, what: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[what] = time.perf_counter() - start

    def write(self) -> Report:
        """Write all files into the stage."""
        with Drawing(self.figures, self.metric, self.how, workers=self.workers) as drawing:
            self.progress(0, 1, "Reading scores")
            with self._timed("scores"):
                lines = self.figures.lines(Choice(metric=self.metric))
                scored = read_scores(self.results, self.metric, lines)
                drawing.begin(example_figures(self.figures, scored, self.metric))
            self.progress(0, 1, "Asking the models")
            with self._timed("predictions"):
                known = self.figures.predictions()
            with self._timed("choice of figures"):
                wanted, missing = wanted_figures(self.figures, scored, self.metric)
                drawing.go_on(wanted)
            with self._timed("checks"):
                checked = read_checks(self.figures, scored)
                benchmarks = read_benchmarks(self.figures)
            with self._timed("words"):
                findings = find(self.results, scored, known, checked, progress=self.progress)
                short = map(in_short, benchmarks.found)
                findings = replace(findings, summary=(*findings.summary, *short))
                right = compare_predictions(self.figures, Choice(metric=self.metric))
                guide = guide_rules(scored, right, checked)
            with self._timed("tables"):
                first = table_one(scored)
                names = detection_names(self.results.path)
                text = methods_text(
                    self.results, scored, detection=bool(names), predictions=known is not None,
                    prototypes=bool(benchmarks.found),
                )  # fmt: skip
                self._tables(scored, known, first, text)
                beside = checked.files() | benchmarks.files()
                for name, table in beside.items():
                    write_csv(table, self.stage / name, digits=DIGITS)
            with self._timed("figures"):
                plates = drawing.finish(missing, self.progress)
        self.progress(len(wanted), len(wanted), "Writing the page")
        with self._timed("page"):
            link = _Links(self.stage, plates, tuple(beside))
            content = Content(
                self.results, scored, findings, guide, first, text, plates, missing, names, checked,
                benchmarks, link, link.beside, self._find_labels_page(),
            )  # fmt: skip
            self._page(content)
        files = tuple(path for path in self.stage.rglob("*") if path.is_file())
        said = tuple((one.head, one.text) for one in findings.summary)
        return Report(self.stage / "index.html", files, missing, said, self.seconds)

    def _find_labels_page(self) -> str:
        """Return the page of `sightline sparsity` in the report's folder, or ""."""
        return LABELS_PAGE if (self.stage.parent / LABELS_PAGE).is_file() else ""

    def _tables(
        self, scored: Scored, known: pd.DataFrame | None, first: TableOne, text: MethodsText
    ) -> None:
        tables = {
            "summary_results.csv": summary_results(scored),
            "detailed_results.csv": detailed_results(self.results, scored, known),
        }
        for name, table in tables.items():
            write_csv(table, self.stage / name, digits=DIGITS)
        texts = {
            "table1.tex": first.latex(),
            "table1.md": first.markdown(),
            "methods.tex": text.latex(),
            "references.bib": bibtex(text.cited),
        }
        for name, content in texts.items():
            (self.stage / name).write_text(content, encoding="utf-8", newline="\n")

    def _page(self, content: Content) -> None:
        study = str(self.results.study["name"])
        data = self.results.study["data"]["name"]
        lead = (
            f"Do maps of where models look agree with what people marked? Study {study} on "
            f"{data}, made by Sightline {self.results.manifest['versions'].get('sightline', '')}."
        )
        page = page_html(f"{study}: results", lead, sections_of(content))
        (self.stage / "index.html").write_text(page, encoding="utf-8", newline="\n")


class _Links:
    """Addresses of files: inside the page while there is room, else beside it."""

    def __init__(self, stage: Path, plates: Sequence[Plate], checks: Sequence[str] = ()) -> None:
        self._stage = stage
        room = LIMIT - sum(len(plate.html) for plate in plates) - 400_000
        tables = ["table1.tex", "table1.md", "references.bib", "methods.tex", "summary_results.csv",
                  *checks, "detailed_results.csv"]  # fmt: skip
        charts = [name for plate in plates if plate.kind == "chart" for name in plate.files]
        pictures = [name for plate in plates if plate.kind != "chart" for name in plate.files]
        order = ("csv", "svg", "pdf", "png")  # the heaviest last
        kinds = {ending: place for place, ending in enumerate(order)}
        charts.sort(key=lambda name: kinds[name.rpartition(".")[2]])
        pictures.sort(key=lambda name: kinds[name.rpartition(".")[2]])
        self.all = (*tables, *charts, *pictures)
        self._inside: set[str] = set()
        for name in self.all:
            size = (stage / name).stat().st_size * 4 // 3 + 100
            if size <= room:
                self._inside.add(name)
                room -= size

    @property
    def beside(self) -> int:
        """How many files are not inside the page."""
        return len(self.all) - len(self._inside)

    def __call__(self, name: str) -> str:
        """Return the address of a file."""
        if name not in self._inside:
            return name
        return data_uri((self._stage / name).read_bytes(), name.rpartition(".")[2])
