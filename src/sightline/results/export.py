"""Results as files for other programs, and as text for people."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, Literal, get_args

from sightline.core import InputError, UnknownNameError
from sightline.data.csv_files import CSVWriter
from sightline.data.outputs import check_output, replacing
from sightline.results._html import texts, title
from sightline.results.leaderboard import empty_board, with_note

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pandas as pd
    import pyarrow as pa

    from sightline.results.results import Results

    Progress = Callable[[int], object]

__all__ = ["Format", "export_results", "markdown_table"]

Format = Literal["csv", "parquet", "sqlite", "markdown"]
_ENDINGS = {
    "csv": (".csv",),
    "parquet": (".parquet",),
    "sqlite": (".sqlite", ".sqlite3", ".db"),
    "markdown": (".md", ".markdown"),
}


def export_results(
    results: Results,
    path: str | os.PathLike[str],
    to: Format,
    progress: Progress | None = None,
) -> Path:
    """Write results to a file; one of that name is replaced in one step.

    Parameters
    ----------
    results
        What to write.
    path
        Where; its ending must fit: .csv, .parquet, .sqlite (.sqlite3, .db), .md (.markdown).
    to
        ``"csv"`` or ``"parquet"``: every score with chance and ceiling. ``"sqlite"``: those as the
        table `scores`, with `images`, `regions`, `leaderboard` and, where the study has some,
        `checks`. ``"markdown"``: leaderboard,
        layer progression and feature breakdown as text.
    progress
        Called with the number of scores written so far.

    Returns
    -------
    Path
        Of the file.
    """
    if to not in get_args(Format):
        raise InputError(f"to must be one of {', '.join(get_args(Format))}; got {to!r}")
    path = check_output(path, f"a {to} file", _ENDINGS[to])
    report = progress or (lambda done: None)
    with replacing(path) as part:
        _WRITERS[to](results, part, report)
    return path


def _write_csv(results: Results, path: Path, report: Progress) -> None:
    _write_arrow(results, report, lambda schema: CSVWriter(path, schema))


def _write_parquet(results: Results, path: Path, report: Progress) -> None:
    import pyarrow.parquet as pq

    _write_arrow(results, report, lambda schema: pq.ParquetWriter(path, schema, compression="zstd"))


def _write_arrow(
    results: Results, report: Progress, make_writer: Callable[[pa.Schema], Any]
) -> None:
    """Write the scores batch by batch."""
    writer, done = None, 0
    try:
        for batch in results.batches("scores_long"):
            writer = writer or make_writer(batch.schema)
            writer.write_batch(batch)
            done += batch.num_rows
            report(done)
    finally:
        if writer is not None:
            writer.close()


def _write_sqlite(results: Results, path: Path, report: Progress) -> None:
    """Write a data base with a table of each kind."""
    with closing(sqlite3.connect(path)) as base:
        # The file takes its name only when it is whole: no journal is needed.
        base.execute("PRAGMA journal_mode = OFF")
        _fill(base, "scores", results.batches("scores_long"), report)
        for name in ("images", "regions"):
            _fill(base, name, results.batches(name), None)
        if results.manifest.get("checks"):
            _fill(base, "checks", results.batches("checks"), None)
        board = results.leaderboard() if results.metrics else empty_board()
        board.astype(object).where(board.notna(), None).to_sql("leaderboard", base, index=False)
        base.execute("CREATE INDEX scores_by_image ON scores (image)")
        base.commit()


def _fill(
    base: sqlite3.Connection, name: str, batches: Iterator[pa.RecordBatch], report: Progress | None
) -> None:
    """Fill one table; lists become texts with commas, NaN becomes NULL."""
    done = 0
    for batch in batches:
        columns = batch.schema.names
        kinds = ", ".join(f'"{field.name}" {_sqlite_type(field.type)}' for field in batch.schema)
        base.execute(f'CREATE TABLE IF NOT EXISTS "{name}" ({kinds})')
        marks = ", ".join("?" * len(columns))
        lines = zip(*(_plain(batch.column(i)) for i in range(len(columns))), strict=True)
        base.executemany(f'INSERT INTO "{name}" VALUES ({marks})', lines)  # noqa: S608
        done += batch.num_rows
        if report is not None:
            report(done)


def _sqlite_type(kind: pa.DataType) -> str:
    import pyarrow as pa

    if pa.types.is_integer(kind):
        return "INTEGER"
    return "REAL" if pa.types.is_floating(kind) else "TEXT"


def _plain(array: pa.Array) -> list[Any]:
    """Return values as SQLite takes them."""
    import pyarrow as pa

    values: list[Any] = array.to_pylist()
    if pa.types.is_nested(array.type):
        return [", ".join(map(str, value or ())) for value in values]
    return values  # sqlite3 itself turns NaN into NULL


def _write_markdown(results: Results, path: Path, report: Progress) -> None:
    """Write the tables that people read first."""
    study = title(results)
    board, layers = results.leaderboard(), results.layer_progression()
    layers = layers[layers["layer"].notna()]
    try:
        features = results.feature_breakdown()
    except UnknownNameError as error:  # there are no such scores, which is no reason to stop
        features = with_note(board.head(0), str(error))
    parts = [
        f"# {_escape(study)}",
        f"{results.progress}.",
        *_section(f"Leaderboard: {board.attrs['metric']}", board),
        *_section(f"Layer progression: {board.attrs['metric']}", layers),
        *_section("Feature breakdown", features),
    ]
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    report(len(board))


def _section(heading: str, frame: pd.DataFrame) -> list[str]:
    table = markdown_table(frame) if len(frame) else "Nothing."
    return [f"## {_escape(heading)}", table, _escape(str(frame.attrs.get("note", "")))]


def markdown_table(frame: pd.DataFrame) -> str:
    """Return a table as Markdown; numbers are rounded to three digits and set to the right."""
    numbers = [frame[name].dtype.kind in "iuf" for name in frame.columns]
    rule = ["---:" if right else "---" for right in numbers]
    rows = [[str(name) for name in frame.columns], rule, *texts(frame)]
    return "\n".join(
        "| " + " | ".join(text if row is rule else _escape(text) for text in row) + " |"
        for row in rows
    )


def _escape(text: str) -> str:
    r"""Return text that Markdown shows as it is.

    >>> _escape("a|b_c\nd")
    'a\\|b\\_c<br>d'
    """
    for sign in "\\|_*`<>#[]&":
        text = text.replace(sign, f"\\{sign}")
    return "<br>".join(text.splitlines())


_WRITERS: dict[str, Callable[[Results, Path, Progress], None]] = {
    "csv": _write_csv,
    "parquet": _write_parquet,
    "sqlite": _write_sqlite,
    "markdown": _write_markdown,
}
