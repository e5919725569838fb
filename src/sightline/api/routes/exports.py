"""Files to take away: tables as CSV, the study, Table 1, and every figure of the report."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import pandas as pd
from fastapi import APIRouter, Path, Query
from fastapi.responses import Response, StreamingResponse

from sightline.api.choice import AskedTable, TableWords, choose_line, find_where
from sightline.api.problems import PROBLEMS, naming, not_found, of_store
from sightline.api.routes import _frames as frames
from sightline.api.routes import heads
from sightline.api.routes.system import study_yaml
from sightline.api.state import Here, Served
from sightline.core import SightlineError
from sightline.data import CSVWriter, write_csv
from sightline.report.figures import Choice as FigureChoice
from sightline.report.figures import Drawn, StoreFigures
from sightline.report.plates import DIGITS
from sightline.report.scores import read_scores
from sightline.report.tables import detailed_results, summary_results, table_one
from sightline.store.files import read_plain

__all__ = ["names_of", "router"]

router = APIRouter(tags=["exports"])

_KINDS = {
    "csv": "text/csv; charset=utf-8",
    "tex": "text/x-tex; charset=utf-8",
    "md": "text/markdown; charset=utf-8",
    "yml": "application/yaml; charset=utf-8",
    "json": "application/json",
    "png": "image/png",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
}
_PICTURES = ("png", "svg", "pdf")
# matplotlib's settings are of the whole process: one figure at a time.
_DRAWING = threading.Lock()
# Choices of lines that a store of figures may remember before it is made anew.
_MOST_CHOICES = 32

_BYTES, _PARSED = {"type": "string", "format": "binary"}, ("application/json", "application/yaml")
_FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The file.",
        "content": {
            kind: {} if kind in _PARSED else {"schema": _BYTES}
            for kind in (kind.partition(";")[0] for kind in _KINDS.values())
        },
    }
}


@router.get(
    "/api/export/{name}",
    summary="A table, a text or a figure as a file",
    description="`/api/study` lists the names (`downloads`). Words choose what a table or figure "
    "is about, as in the routes that show it; `image` is the image of figures of one, `model` of "
    "figures of detections is the name of the evaluation. rows.csv has every score, and nothing "
    "to choose.",
    response_class=Response,
    responses={**_FILES, **PROBLEMS},
)
def export_file(
    served: Here,
    name: Annotated[str, Path(max_length=100, examples=["leaderboard.csv"])],
    words: TableWords,
    image: Annotated[
        str | None, Query(description="Image of a figure of one image.", max_length=200)
    ] = None,
    ancestors: Annotated[bool, Query(description="Of labels.csv: add the labels above.")] = False,
    dpi: Annotated[int, Query(description="Dots per inch of PNG.", ge=50, le=300)] = 150,
) -> Response:
    """Return a file."""
    stem, _, ending = name.rpartition(".")
    if name in _TEXTS:
        return _sent(served, name, _TEXTS[name](served).encode())
    if name == "rows.csv":
        with of_store():
            served.name(None)
        return StreamingResponse(
            _rows(served), media_type=_KINDS["csv"], headers=_headers(served, name)
        )
    if name in _TABLES:
        return _sent(served, name, _csv(_TABLES[name](served, words, ancestors)))
    if stem in StoreFigures.names() and (ending in _PICTURES or ending == "csv"):
        return _sent(served, name, _figure(served, stem, ending, words, (image, dpi)))
    known = names_of(served)
    close = get_close_matches(name, known, n=3)
    hint = f"; nearest: {', '.join(close)}" if close else ""
    raise not_found(f"there is no file {name!r} to export{hint}; /api/study lists all", "name")


def names_of(served: Served) -> tuple[str, ...]:
    """Return the names of all files that this store can give."""
    return served.kept("export names", lambda: tuple(_names(served)))


def _names(served: Served) -> Iterator[str]:
    yield "study.yml"
    yield "manifest.json"
    if not served.tables.tasks:
        return
    yield from (name for name in _TEXTS if name not in ("study.yml", "manifest.json"))
    for name in (*_TABLES, "rows.csv"):
        if name not in ("heads.csv", "head_matrix.csv") or heads.with_heads(served):
            yield name
    if find_spec("matplotlib") is not None:
        for name in _drawable(served):
            yield from (f"{name}.{ending}" for ending in _PICTURES)
            if f"{name}.csv" not in _TABLES:
                yield f"{name}.csv"


def _drawable(served: Served) -> list[str]:
    """Return the names of the figures that can be drawn from the store."""
    with _DRAWING, served.lock:
        figures = _figures(served)
        return [name for name in StoreFigures.names() if not figures.missing(name)]


def _sent(served: Served, name: str, content: bytes) -> Response:
    kind = _KINDS[name.rpartition(".")[2]]
    return Response(content, media_type=kind, headers=_headers(served, name))


def _headers(served: Served, name: str) -> dict[str, str]:
    study = re.sub(r"[^A-Za-z0-9._-]+", "_", str(served.study["name"])) or "study"
    return {"Content-Disposition": f'attachment; filename="{study}-{name}"'}


# --- tables --------------------------------------------------------------------------------------


def _images(served: Served, words: AskedTable, _: bool) -> pd.DataFrame:
    """Return the score of each image, as the gallery shows it."""
    words = frames.asked(served, words)
    chosen = choose_line(served, words)
    frame = served.results.images(str(chosen.name), **frames.given_words(words))
    frame.insert(1, "metric", str(chosen.name))
    frame["labels"] = ["; ".join(labels) for labels in frame["labels"]]
    return frame


def _ranking(served: Served, words: AskedTable, _: bool) -> pd.DataFrame:
    return frames.ranking(served, words, ())


def _heads(served: Served, words: AskedTable, _: bool) -> pd.DataFrame:
    headed = heads.choose_heads(served, words)
    frame = heads.ranking_of(served, headed).copy()
    told = {"model": headed.choice.model, "method": headed.choice.method}
    for place, (name, value) in enumerate((told | {"metric": str(headed.name)}).items()):
        frame.insert(place, name, value)
    return frame


def _head_matrix(served: Served, words: AskedTable, _: bool) -> pd.DataFrame:
    headed = heads.choose_heads(served, words, regions=True)
    return heads.matrix_of(served, headed).reset_index()


def _summary(served: Served, words: AskedTable, _: bool) -> pd.DataFrame:
    words = frames.asked(served, words)
    with naming("metric"):
        return summary_results(read_scores(served.results, words.metric))


def _detailed(served: Served, words: AskedTable, _: bool) -> pd.DataFrame:
    words = frames.asked(served, words)
    with naming("metric"):
        scored = read_scores(served.results, words.metric)
    with _DRAWING, served.lock:
        known = _figures(served).predictions()
    return detailed_results(served.results, scored, known)


_TABLES: Mapping[str, Callable[[Served, AskedTable, bool], pd.DataFrame]] = {
    "leaderboard.csv": lambda served, words, _: frames.board(served, words),
    "images.csv": _images,
    "layers.csv": lambda served, words, _: frames.progression(served, words),
    "percentiles.csv": lambda served, words, _: frames.sweep(served, words),
    "ranking.csv": _ranking,
    "labels.csv": lambda served, words, above: frames.label_breakdown(served, words, above)[0],
    "styles.csv": lambda served, words, _: frames.style_breakdown(served, words)[0],
    "heads.csv": _heads,
    "head_matrix.csv": _head_matrix,
    "summary_results.csv": _summary,
    "detailed_results.csv": _detailed,
}


def _csv(frame: pd.DataFrame) -> bytes:
    file = io.BytesIO()
    write_csv(frame, file, digits=DIGITS)
    return file.getvalue()


def _rows(served: Served) -> Iterator[bytes]:
    """Yield every score as CSV, part by part."""
    header = True
    for batch in served.results.batches("scores_long"):
        part = io.BytesIO()
        writer = CSVWriter(part, batch.schema, header=header)
        writer.write_batch(batch)
        writer.close()
        header = False
        yield part.getvalue()


# --- texts ---------------------------------------------------------------------------------------


def _manifest(served: Served) -> str:
    return read_plain(served.results.path / "manifest.json").decode("utf-8")


def _table_one(served: Served, form: str) -> str:
    with of_store():
        served.name(None)
        table = table_one(read_scores(served.results))
    return table.latex() if form == "tex" else table.markdown()


_TEXTS: Mapping[str, Callable[[Served], str]] = {
    "study.yml": study_yaml,
    "manifest.json": _manifest,
    "table1.tex": lambda served: _table_one(served, "tex"),
    "table1.md": lambda served: _table_one(served, "md"),
}


# --- figures -------------------------------------------------------------------------------------


class _Figures:
    """The figures of a store; made anew where they remember too much."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._figures = self._made()

    def _made(self) -> StoreFigures:
        return StoreFigures(self._served.results, predictions=False)

    def get(self) -> StoreFigures:
        if len(self._figures._lines) > _MOST_CHOICES:
            self._figures = self._made()
        return self._figures


def _figures(served: Served) -> StoreFigures:
    """Return the figures of the store; hold the locks while using them."""
    figures = served.kept("figures", lambda: _Figures(served)).get()
    if "scenes" not in vars(figures):
        with suppress(SightlineError):  # told by the figures that need them
            vars(figures)["scenes"] = served.scenes  # read once, for all who ask
    return figures


def _figure(
    served: Served, stem: str, ending: str, words: AskedTable, more: tuple[str | None, int]
) -> bytes:
    """Return a figure, or its numbers, as a file has them."""
    image, dpi = more
    if image is not None:
        served.image(image)
    if not stem.startswith(_DETECTION):
        words = frames.asked(served, words)
        find_where(served, words, words.layer)
    choice = FigureChoice(words.metric, words.model, words.method, words.layer, words.target, image)
    with _DRAWING, served.lock:
        figures = _figures(served)
        why = figures.missing(stem)
        if why:
            raise not_found(f"figure {stem!r} cannot be drawn: {why}", "name")
        with naming("model" if stem.startswith(_DETECTION) else "name"):
            drawn = figures.draw(stem, choice)
        return _csv(drawn.data) if ending == "csv" else _saved(drawn, ending, dpi)


_DETECTION = ("detection-", "confusion-matrix", "error-types", "reliability")


def _saved(drawn: Drawn, ending: str, dpi: int) -> bytes:
    from sightline.figures import save

    with TemporaryDirectory() as folder:
        (path,) = save(drawn.figure, FilePath(folder) / "figure", (ending,), dpi=dpi)
        return path.read_bytes()
