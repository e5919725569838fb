"""Files of a store that cannot be read, in words that say which and what to do."""

from __future__ import annotations

from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sightline.core import InputError
from sightline.store.checksums import find_damaged
from sightline.store.files import open_plain
from sightline.store.folder import how_to_mend

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import pyarrow as pa

__all__ = ["check_bytes", "damage", "naming_damage", "read_table", "read_told"]


def damage(path: Path, mend: str = "") -> InputError:
    """Return the error for a file that cannot be read; `mend` says how it is made anew."""
    what = "is damaged" if path.is_file() else "is gone"
    return InputError(f"{path} {what}; {mend or how_to_mend(path)}")


def read_told(path: Path, told: Any, mend: str) -> pa.Table:
    """Read a Parquet file whose bytes have the digest that is told of it, as `{"sha256": …}`.

    Raises
    ------
    InputError
        If it is gone, damaged, or nothing is told of it; see `damage`.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with open_plain(path) as file:
            content = file.read()
        if sha256(content).hexdigest() == told["sha256"]:
            return pq.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError, KeyError, TypeError) as error:
        raise damage(path, mend) from error
    raise damage(path, mend)


def check_bytes(files: Iterable[Path]) -> None:
    """Raise for the first file whose bytes are not those that were written.

    DuckDB looks at no checksums: what it would read is checked beforehand, each file once.
    """
    found = find_damaged(files)
    if found is not None:
        raise damage(found)


def read_table(path: Path) -> pa.Table:
    """Read a whole Parquet file; one that is damaged is named."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    check_bytes([path])
    try:
        return pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise damage(path) from error


@contextmanager
def naming_damage(files: Iterable[Path]) -> Iterator[None]:
    """Name the file that is to blame for an error while these are read; others pass unchanged."""
    import duckdb
    import pyarrow as pa

    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        mistakes = (duckdb.PermissionException, duckdb.CatalogException, duckdb.BinderException)
        found = _damaged(str(error), list(files), named=isinstance(error, mistakes))
        if found is None:
            raise
        raise damage(found) from error


def _damaged(said: str, files: list[Path], *, named: bool) -> Path | None:
    """Return the first unreadable file among those that an error names, or among all.

    Not every error names one; but those of a mistaken query do, where the query is not to blame.
    """
    those = [path for path in files if str(path) in said]
    among = those if named else [*those, *files]
    return next((path for path in among if not _readable(path)), None)


def _readable(path: Path) -> bool:
    try:
        read_table(path)
    except InputError:
        return False
    return True
