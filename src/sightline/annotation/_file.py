"""The file of a review: SQLite, only ever added to, made whole or not at all."""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.core import InputError
from sightline.core.kill_points import reach

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["FILE", "connect", "make", "review_file", "transaction", "translated"]

FILE = "review.sqlite"
"""Its name in the folder of a review."""
VERSION = 1
_OURS = 0x53_4C_52_56  # "SLRV"
_MAGIC = b"SQLite format 3\0"
_WAIT = 30.0  # seconds, while another process writes

_TABLES = {
    "meta": "key TEXT PRIMARY KEY, value TEXT NOT NULL",
    "images": (
        "number INTEGER PRIMARY KEY AUTOINCREMENT, image_id TEXT NOT NULL UNIQUE, width INTEGER, "
        "height INTEGER, gold INTEGER NOT NULL, split TEXT NOT NULL, file TEXT NOT NULL, "
        "labels TEXT NOT NULL"
    ),
    "regions": (
        "number INTEGER PRIMARY KEY AUTOINCREMENT, image_id TEXT NOT NULL, place INTEGER NOT NULL, "
        "dropped INTEGER NOT NULL, json TEXT NOT NULL, UNIQUE (image_id, place)"
    ),
    "imports": (
        "number INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, added INTEGER NOT NULL, "
        "json TEXT NOT NULL"
    ),
    "items": (
        "number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, "
        "image_id TEXT NOT NULL, json TEXT NOT NULL"
    ),
    "tasks": (
        "number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, "
        "image_id TEXT NOT NULL, json TEXT NOT NULL"
    ),
    "events": (
        "number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, at TEXT NOT NULL, "
        "who TEXT NOT NULL, person TEXT NOT NULL, mode TEXT NOT NULL, kind TEXT NOT NULL, "
        "image_id TEXT NOT NULL, item TEXT NOT NULL, data TEXT NOT NULL, seconds REAL, "
        "comment TEXT NOT NULL, before TEXT NOT NULL, after TEXT NOT NULL"
    ),
}
# What else is unique; "INSERT OR REPLACE" would delete such a row without asking its trigger.
_UNIQUE = {"meta": "key", "images": "image_id", "items": "id", "tasks": "id", "events": "id"}


def review_file(path: str | os.PathLike[str]) -> Path:
    """Return the file of a review, given by itself or by its folder."""
    place = Path(path)
    single = place.is_file() or (place.suffix and not place.is_dir())
    return place if single else place / FILE


def _statements() -> Iterator[str]:
    for table, columns in _TABLES.items():
        yield f"CREATE TABLE {table} ({columns}) STRICT"
        for verb in ("UPDATE", "DELETE"):
            yield (
                f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{table} are only added to'); END"
            )
        column = _UNIQUE.get(table)
        taken = ["rowid = NEW.rowid", *([f"{column} = NEW.{column}"] if column else [])]
        there = f"SELECT 1 FROM {table} WHERE {' OR '.join(taken)}"  # noqa: S608
        yield (
            f"CREATE TRIGGER {table}_once BEFORE INSERT ON {table} WHEN EXISTS ({there}) "
            f"BEGIN SELECT RAISE(ABORT, '{table} are only added to: this one is there'); END"
        )
    yield "CREATE INDEX of_item ON events (mode, image_id, item)"
    yield f"PRAGMA application_id = {_OURS}"
    yield f"PRAGMA user_version = {VERSION}"


_STATEMENTS = tuple(one for one in _statements() if one.startswith("CREATE "))


def make(path: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
    """Make the file of a review and fill it; it appears whole or not at all.

    Raises
    ------
    InputError
        If there is one already, or its folder is not there.
    """
    if not path.parent.is_dir():
        raise InputError(f"{path}: folder {path.parent} does not exist")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        with translated(path):
            connection = sqlite3.connect(part, isolation_level=None)
            try:
                reach("review-file:opened")
                with transaction(connection):
                    for statement in _statements():
                        connection.execute(statement)
                    reach("review-file:half")
                    fill(connection)
                connection.execute("PRAGMA journal_mode = WAL")
            finally:
                connection.close()
        reach("review-file:synced")
        _name(part, path)
        reach("review-file:renamed")
    except (FileExistsError, InputError) as error:
        if not path.exists():
            raise
        # Whoever was quicker has removed our part, whatever SQLite says of it.
        told = f"{path}: there is a review already; give another folder"
        raise InputError(told) from (None if isinstance(error, FileExistsError) else error)
    finally:
        part.unlink(missing_ok=True)
        if path.exists():
            _remove_parts(path)
    _sync_folder(path.parent)


def _remove_parts(path: Path) -> None:
    """Remove what others have left who were killed while they made a review that is there now."""
    for part in path.parent.glob(f".{escape(path.name)}.*.part*"):
        with suppress(OSError):  # another process may be about to find out
            part.unlink()


def _name(part: Path, path: Path) -> None:
    """Give a file its name, unless there is one of that name."""
    try:
        os.link(part, path)  # unlike a renaming, it refuses to take the place of another
    except FileExistsError:
        raise
    except OSError:  # some file systems have no links
        if path.exists():
            raise FileExistsError(path) from None
        part.rename(path)


def _sync_folder(folder: Path) -> None:
    """Make sure that the name of a new file outlives a loss of power."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def connect(path: Path) -> sqlite3.Connection:
    """Open the file of a review; what is not one is left as it is.

    Raises
    ------
    InputError
        If there is none, it is something else, of a newer version, or damaged.
    """
    _check_header(path)
    with translated(path):
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=rw",
            uri=True,
            timeout=_WAIT,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("PRAGMA trusted_schema = OFF")  # the file may be a stranger's
            _check_inside(path, connection)
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()
            raise
    return connection


def _check_header(path: Path) -> None:
    """Raise unless the first bytes are those of a review; nothing but reading is done."""
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except FileNotFoundError:
        raise InputError(
            f"{path}: no such file; `sightline review new FOLDER --data DATA` makes a review"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if len(head) < 100 or not head.startswith(_MAGIC):
        raise InputError(f"{path}: must be the file of a review (SQLite), is something else")
    if (found := int.from_bytes(head[68:72], "big")) != _OURS:
        raise InputError(
            f"{path}: must be the file of a review, is a database of another program (id {found})"
        )
    version = int.from_bytes(head[60:64], "big")
    if version != VERSION:
        newer = "; a newer Sightline made it" if version > VERSION else ""
        raise InputError(f"{path}: version must be {VERSION}, is {version}{newer}")


def _check_inside(path: Path, connection: sqlite3.Connection) -> None:
    (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if said != "ok":
        raise InputError(f"{path}: is damaged: {said}; nothing was changed")
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    if missing := sorted(set(_TABLES) - {name for (name,) in names}):
        raise InputError(f"{path}: is damaged: no table {missing[0]!r}; nothing was changed")
    ours, theirs = set(_STATEMENTS), set(_schema(connection))
    if odd := sorted(theirs ^ ours):
        what = "has what no review has" if odd[0] in theirs else "lacks what every review has"
        raise InputError(f"{path}: {what}: {odd[0][:80]!r}; nothing was changed")


def _schema(connection: sqlite3.Connection) -> Iterator[str]:
    """Yield what a file is made of: tables, triggers (which could do anything), indices."""
    found = connection.execute(
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name != 'sqlite_sequence'"
    )
    return (sql for (sql,) in found)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Do everything inside or nothing; others may not write meanwhile."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        reach("review:begun")
        yield
        reach("review:before-commit")
        connection.execute("COMMIT")
        reach("review:after-commit")
    except BaseException:
        if connection.in_transaction:  # a full disk may have ended it
            connection.execute("ROLLBACK")
        raise


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Say what SQLite could not do, and with which file."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_BUSY:
            said = f"another process has been writing for {_WAIT:g} s; try again"
        elif code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            said = f"is damaged: {error}; nothing was changed"
        else:
            said = str(error)
        raise InputError(f"{path}: {said}") from error
