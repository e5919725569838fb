"""The folder of a benchmark of prototypes, by itself or in a study's store: the same files.

``DIR/`` or ``STORE/prototypes/NAME/`` holds

- ``config.yml``: the file that asked for it, as it was.
- ``benchmark.json``: `format`, `settings` (model, data, projection, attribution, analyses: all that
  decides the numbers), `versions`, `classes`, `accuracy`, `counts` (prototypes: those in use),
  `perturbations` (what each does), `files` (digest and number of lines of each table), with a
  checksum of its own. It is written last: a folder without it is not finished. Nothing in it tells
  the time: the same benchmark gives the same bytes.
- ``relevance.parquet``: kind (prototype: on the image it was taken from; patch: on a test image),
  img_id, image, proto_idx, row, column (the cell), score, mask_relevance, energy_relevance,
  energy_raw, chance, reason (why one of them is undefined, or ""), label, predicted.
- ``drops.parquet``: img_id, image, proto_idx, row, column, perturbation, description,
  original_score, focused, dual, whole (scores after it), squared_distance, dual_squared_distance,
  height, width (of what the model saw), label, predicted.
- the tables and the picture that the file names; ``debug/`` where pictures were asked for.
- ``lock``: held by whoever writes. ``.parts/``: what is done while it is not finished.

Tables of what was not analysed are not there.
"""

from __future__ import annotations

import json
import re
import shutil
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.core import InputError
from sightline.core.errors import shown
from sightline.data.csv_files import write_csv
from sightline.store.checksums import read_json, save_json
from sightline.store.files import (
    NotPlainError,
    is_inner_name,
    leads_out,
    plain_digest,
    read_plain,
    remove_parts,
    write_whole,
)
from sightline.store.folder import Store, check_room, make_room
from sightline.store.lock import hold

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

__all__ = [
    "BENCHMARK_FORMAT",
    "BenchmarkFolder",
    "benchmark_folder",
    "check_place",
    "create_benchmark",
    "differences",
    "relevance_schema",
    "drops_schema",
    "table_bytes",
]

BENCHMARK_FORMAT = 2
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
_PART = re.compile(r"(.+)-([0-9a-f]{16})\.parquet")
_MOST = 4  # differences that a message names


def relevance_schema() -> pa.Schema:
    """Return the columns of relevance.parquet."""
    import pyarrow as pa

    numbers = ("score", "mask_relevance", "energy_relevance", "energy_raw", "chance")
    return pa.schema(
        [
            ("kind", pa.string()),
            *_pair_columns(),
            *((name, pa.float64()) for name in numbers),
            ("reason", pa.string()),
            ("label", pa.string()),
            ("predicted", pa.string()),
        ]
    )


def drops_schema() -> pa.Schema:
    """Return the columns of drops.parquet."""
    import pyarrow as pa

    numbers = ("original_score", "focused", "dual", "whole")
    distances = ("squared_distance", "dual_squared_distance")
    return pa.schema(
        [
            *_pair_columns(),
            ("perturbation", pa.string()),
            ("description", pa.string()),
            *((name, pa.float64()) for name in (*numbers, *distances)),
            ("height", pa.int32()),
            ("width", pa.int32()),
            ("label", pa.string()),
            ("predicted", pa.string()),
        ]
    )


def _pair_columns() -> list[tuple[str, pa.DataType]]:
    """Return the columns that say which image, which prototype and which cell."""
    import pyarrow as pa

    return [
        ("img_id", pa.int64()),
        ("image", pa.string()),
        ("proto_idx", pa.int64()),
        ("row", pa.int32()),
        ("column", pa.int32()),
    ]


def benchmark_folder(store: str | os.PathLike[str], name: str) -> Path:
    """Return where the benchmark of that name lies in a store, or would.

    Raises
    ------
    InputError
        If that is no name.

    Examples
    --------
    >>> benchmark_folder("runs/a", "first").as_posix()
    'runs/a/prototypes/first'
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(
            "name must be 1 to 200 letters, digits, dots, hyphens or underscores, not starting "
            f"with a dot or hyphen; got {name!r}"
        )
    return Path(store) / "prototypes" / name


def create_benchmark(path: str | os.PathLike[str], *, name: str | None = None) -> BenchmarkFolder:
    """Make the folder of a benchmark, or open one that is there.

    Parameters
    ----------
    path
        The folder; a store where a name is given.
    name
        Of the benchmark in the store.

    Raises
    ------
    InputError
        If the folder holds other things, or cannot be written to.
    """
    folder = check_place(path, name)
    try:
        if name is not None:
            make_room(Store(path), "prototypes")
        folder.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: results cannot be written there: {error}") from error
    return folder


def check_place(path: str | os.PathLike[str], name: str | None = None) -> BenchmarkFolder:
    """Return the folder of a benchmark that is there or could be made; nothing is changed.

    Raises
    ------
    InputError
        If the folder holds other things, or cannot be looked into.
    """
    folder = BenchmarkFolder(Path(path) if name is None else benchmark_folder(path, name))
    known = {folder.about_path.name, folder.parts.name}
    try:
        check_room(folder.path, known, "a benchmark", besides={"lock"})
    except OSError as error:
        raise InputError(f"{folder.path}: results cannot be written there: {error}") from error
    return folder


class BenchmarkFolder:
    """The folder of one benchmark.

    Attributes
    ----------
    path : Path
        The folder.
    about_path, config_path, parts, debug : Path
        benchmark.json, the copy of the file that asked for it, the folder of finished parts, and
        that of pictures.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.about_path = self.path / "benchmark.json"
        self.config_path = self.path / "config.yml"
        self.parts = self.path / ".parts"
        self.debug = self.path / "debug"

    def __repr__(self) -> str:
        return f"BenchmarkFolder({str(self.path)!r})"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for writing while a block runs; see `hold`."""
        with hold(self.path / "lock"):
            remove_parts(self.path)
            yield

    def about(self) -> dict[str, Any] | None:
        """Return what benchmark.json says; None where the benchmark is not finished.

        Raises
        ------
        InputError
            If it cannot be understood.
        """
        try:
            found = read_json(self.about_path, "run the benchmark with --overwrite to make it anew")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{self.about_path}: must be JSON: {error}") from error
        seen = found.get("format") if isinstance(found, dict) else None
        if seen != BENCHMARK_FORMAT:
            raise InputError(f"{self.about_path}: format must be {BENCHMARK_FORMAT}, got {seen!r}")
        for key in ("settings", "files"):
            if not isinstance(found.get(key), dict):
                raise InputError(f"{self.about_path}: must hold an object {key}")
        _check_files(found, self.about_path)
        return found  # type: ignore[no-any-return]

    def is_whole(self) -> bool:
        """Say whether the benchmark is finished and each file has the bytes that were written."""
        about = self.about()
        return about is not None and all(
            self._digest(name) == one["sha256"] for name, one in about["files"].items()
        )

    def _digest(self, name: str) -> str:
        """Return the digest of a file below the folder; "" where it has none, or leads out."""
        path = self.path / name
        try:
            return "" if leads_out(path, self.path) else plain_digest(path)
        except (OSError, ValueError):
            return ""

    # --- while it is being written; only the holder of the lock may -----------------------------

    def begun(self) -> dict[str, Any] | None:
        """Return the settings of what has been begun here; None where nothing has."""
        try:
            return json.loads(read_plain(self.parts / "settings.json"))  # type: ignore[no-any-return]
        except (OSError, ValueError):
            return None

    def begin(self, settings: Mapping[str, Any], config: str) -> None:
        """Write down what is asked for; parts of the same settings are kept."""
        self.parts.mkdir(exist_ok=True)
        named = ((self.path / name).parent for name in settings.get("files", {}).values())
        for folder in {self.parts, *named, *self.debug.glob("*")}:
            remove_parts(folder)
        text = json.dumps(settings, indent=1, allow_nan=False)
        write_whole(self.parts / "settings.json", text.encode())
        write_whole(self.config_path, config.encode())

    def clear(self) -> None:
        """Remove what a benchmark has written here, and nothing else."""
        try:
            about = self.about() or {}
        except InputError:
            about = {}
        drawn = about.get("settings", {}).get("files", {}).values()
        for name in (*about.get("files", {}), *drawn):
            path = self.path / name
            if not leads_out(path.parent, self.path):
                path.unlink(missing_ok=True)
        for path in (self.about_path, self.config_path):
            path.unlink(missing_ok=True)
        for folder in (self.parts, self.debug):
            if folder.is_dir():
                shutil.rmtree(folder)

    def part(self, name: str) -> pa.Table | None:
        """Return a finished part; None where there is none, or its bytes are not those written."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        for path in sorted(self.parts.glob(f"{name}-*.parquet")):
            parts = _PART.fullmatch(path.name)
            if parts is None or parts[1] != name:
                continue
            try:
                content = read_plain(path)
            except NotPlainError:
                content = b""
            if sha256(content).hexdigest()[:16] == parts[2]:
                return pq.read_table(pa.BufferReader(content))
            path.unlink()  # damaged: it is made again
        return None

    def save_part(self, name: str, table: pa.Table) -> None:
        """Keep a part: whole, under a name that tells whether its bytes have changed."""
        content = table_bytes(table, ".parquet")
        path = self.parts / f"{name}-{sha256(content).hexdigest()[:16]}.parquet"
        write_whole(path, content)

    def save_file(self, name: str, content: bytes) -> None:
        """Write a file below the folder, whole."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.parent.resolve().is_relative_to(self.path.resolve()):
            raise InputError(f"{name}: must lie inside {self.path}, leads to {path.resolve()}")
        write_whole(path, content)

    def finish(self, tables: Mapping[str, pa.Table], about: Mapping[str, Any]) -> None:
        """Write the tables, then benchmark.json; the parts are of no more use."""
        files = {}
        for name, table in tables.items():
            content = table_bytes(table, Path(name).suffix.lower())
            files[name] = {"lines": table.num_rows, "sha256": sha256(content).hexdigest()}
            self.save_file(name, content)
        save_json(self.about_path, {"format": BENCHMARK_FORMAT, **about, "files": files})
        shutil.rmtree(self.parts)


def _check_files(about: Mapping[str, Any], path: Path) -> None:
    """Raise where benchmark.json names files that lie elsewhere, or does not tell their digests."""
    drawn = about["settings"].get("files", {})
    names = [*about["files"], *(drawn.values() if isinstance(drawn, dict) else [drawn])]
    for name in names:
        if not is_inner_name(name, below=True):
            raise InputError(f"{path}: files must lie in its folder, got {shown(name)}")
    for name, one in about["files"].items():
        if not isinstance(one, dict) or not isinstance(one.get("sha256"), str):
            raise InputError(f"{path}: files must each have sha256, {shown(name)} has none")


def table_bytes(table: pa.Table, ending: str) -> bytes:
    """Return a table as the bytes of a file; what is undefined is empty in CSV."""
    import pyarrow.parquet as pq

    file = BytesIO()
    if ending == ".csv":
        write_csv(table.to_pandas(), file)
        return file.getvalue()
    pq.write_table(table.replace_schema_metadata(None), file, compression="zstd")
    return file.getvalue()


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return what differs between settings, in words; "" where nothing does.

    Examples
    --------
    >>> differences({"batch": 8, "model": {"name": "a"}}, {"batch": 8, "model": {"name": "b"}})
    "model.name is 'a' there and 'b' here"
    """
    one, two = (dict(_leaves(found)) for found in (old, new))
    nothing = object()
    found = [
        f"{key} is {_word(one, key)} there and {_word(two, key)} here"
        for key in dict.fromkeys((*one, *two))
        if one.get(key, nothing) != two.get(key, nothing)
    ]
    more = f", and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return ", ".join(found[:_MOST]) + more


def _word(found: Mapping[str, Any], key: str) -> str:
    return repr(found[key]) if key in found else "absent"


def _leaves(found: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all values of nested mappings and lists, with the way to each."""
    if isinstance(found, dict | list) and found:
        items = found.items() if isinstance(found, dict) else enumerate(found)
        for key, value in items:
            yield from _leaves(value, f"{above}.{key}" if above else str(key))
    elif above:
        yield above, found
