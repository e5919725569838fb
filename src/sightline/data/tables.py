"""Tables to files: the ending says how, and a file is there whole or not at all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sightline.data.csv_files import write_csv
from sightline.data.outputs import check_output, replacing

if TYPE_CHECKING:
    import os
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd

__all__ = ["check_table_path", "write_table"]


def _write_json(frame: pd.DataFrame, path: Path) -> None:
    """Write a list of objects; what is undefined is null."""
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    path.write_text(json.dumps(rows, indent=1, allow_nan=False) + "\n", encoding="utf-8")


_WRITERS: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    ".csv": write_csv,
    ".parquet": lambda frame, path: frame.to_parquet(path, index=False),
    ".json": _write_json,
}


def check_table_path(path: str | os.PathLike[str]) -> Path:
    """Return `path` when a table can be written there.

    Raises
    ------
    InputError
        If the ending is not one of .csv, .parquet, .json, or the folder does not exist.

    Examples
    --------
    >>> check_table_path("scores.csv").name
    'scores.csv'
    >>> check_table_path("scores.doc")
    Traceback (most recent call last):
        ...
    sightline.core.errors.InputError: ...
    """
    return check_output(path, "a table", _WRITERS)


def write_table(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table as .csv, .parquet or .json; a file of that name is replaced in one step."""
    path = check_table_path(path)
    with replacing(path) as part:
        _WRITERS[path.suffix.lower()](frame, part)
