"""Every file of a store looked at: whether it is there, with the bytes that were written."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from sightline.core import InputError
from sightline.store.checksums import DamagedError, check_files, read_json
from sightline.store.files import is_inner_name, leads_out, plain_digest
from sightline.store.folder import STUDY_DIGEST, Store, check_tasks, tasks_of
from sightline.store.lock import is_held

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from sightline.store.checksums import FileState

__all__ = ["Verified", "verify_store"]

_SHARD = re.compile(r"\d{6,}-[0-9a-f]{16}\.(parquet|safetensors)")
_MEAN = "mean_map"  # made of maps that are kept; its own are not


@dataclass
class Verified:
    """What was found in a store. Files are named by their way from its folder.

    Attributes
    ----------
    path : Path
        The folder.
    files, bytes : int
        How many were read.
    sound, bare, damaged, missing, foreign, left : list of str
        Files whose bytes are those that were written; that have no checksum, since an earlier
        version wrote them; whose bytes have changed; that should be there; that nobody asked for;
        that writers which were killed have left, and which the next run removes.
    other : int
        Files of settings that the study had once.
    running : bool
        Whether a run is writing: what is missing may be yet to come.
    """

    path: Path
    files: int = 0
    bytes: int = 0
    sound: list[str] = field(default_factory=list)
    bare: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    other: int = 0
    running: bool = False

    @property
    def good(self) -> bool:
        """Whether all that should be there is, as it was written, and nothing else is."""
        return not (self.damaged or self.foreign or (self.missing and not self.running))


def verify_store(
    path: str | os.PathLike[str], progress: Callable[[int, int], object] | None = None
) -> Verified:
    """Read every file of a store and compare it with its checksum; nothing is changed.

    Parameters
    ----------
    path
        The folder of a study's results, with its detections and prototypes; or that of a benchmark
        of prototypes.
    progress
        Told how many files are done, of how many.

    Raises
    ------
    InputError
        If no results are stored there.
    """
    store = Store(path)
    found = Verified(store.path)
    if not store.manifest_path.exists():
        if not any(_folders(store.path)) and not (store.path / "benchmark.json").exists():
            raise InputError(f"{path}: no results are stored there (manifest.json)")
    else:
        found.running = is_held(store.lock_path)
        wanted = _wanted(store, found)
        there = _shards(store, found)
        tables = [store.images_path, store.regions_path]
        found.missing += [_name(store, one) for one in [*tables, *wanted] if not one.exists()]
        found.other = len(there - wanted) if wanted else 0
        extra = [one for one in (*tables, store.path / "predictions.parquet") if one.exists()]
        _note(found, check_files([*extra, *sorted(there)], progress))
    for folder, about in _folders(store.path):
        _check_folder(found, folder, about)
    return found


def _name(store: Store, path: Path) -> str:
    return path.relative_to(store.path).as_posix()


def _note(found: Verified, states: Mapping[Path, FileState]) -> None:
    for path, state in states.items():
        lists = {"sound": found.sound, "bare": found.bare, "damaged": found.damaged}
        lists.get(state, found.missing).append(path.relative_to(found.path).as_posix())
        found.files += 1
        with suppress(OSError):  # gone, or of no name that a disk knows
            found.bytes += path.stat().st_size


def _wanted(store: Store, found: Verified) -> set[Path]:
    """Return the files that the manifest's tasks have when they are done."""
    try:
        manifest = store.manifest()
    except (DamagedError, OSError):
        found.damaged.append(store.manifest_path.name)
        return set()
    _note(found, check_files([store.manifest_path]))
    _note(found, _study_state(store, manifest))
    files = {store.check_file(task) for task in check_tasks(manifest)}
    kept = manifest.get("study", {}).get("keep_maps") == "grid"
    for task in tasks_of(manifest):
        files |= {store.score_file(task.name), store.region_file(task.name)}
        if kept and task.chunk.get("images") and _keeps_maps(task.source):
            files.add(store.map_file(task.name))
    return files


def _study_state(store: Store, manifest: Mapping[str, Any]) -> dict[Path, FileState]:
    """Return the state of study.yml, whose digest the manifest has; {} where none is wanted."""
    path, told = store.study_path, manifest.get(STUDY_DIGEST)
    try:
        state: FileState = "sound" if plain_digest(path) == told else "damaged"
    except FileNotFoundError:
        return {} if told is None else {path: "gone"}
    except OSError:
        return {path: "damaged"}
    return {path: "bare" if told is None else state}


def _keeps_maps(source: Mapping[str, Any]) -> bool:
    return not source.get("maps") and source["method"] != _MEAN


def _shards(store: Store, found: Verified) -> set[Path]:
    """Return all shards that are there; note what else is."""
    there = set()
    for path in chain.from_iterable(one.iterdir() for one in store.shard_folders if one.is_dir()):
        if _SHARD.fullmatch(path.name):
            there.add(path)
        elif path.name.startswith(".") and path.name.endswith(".part"):
            if not found.running:
                found.left.append(_name(store, path))
        else:
            found.foreign.append(_name(store, path))
    return there


def _folders(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the folders of detections and prototypes, with the file that tells of their tables."""
    for kind, about in (("detection", "results.json"), ("prototypes", "benchmark.json")):
        inner = path / kind
        for one in sorted(inner.iterdir()) if inner.is_dir() else ():
            if one.is_dir() and "~" not in one.name and (one / about).exists():
                yield one, about
    if (path / "benchmark.json").exists():
        yield path, "benchmark.json"


def _check_folder(found: Verified, folder: Path, about: str) -> None:
    """Compare the tables of a folder with the digests that a file beside them tells."""
    place = folder.relative_to(found.path)
    found.files += 1
    found.bytes += (folder / about).stat().st_size
    files = _told(folder / about)
    (found.damaged if files is None else found.sound).append((place / about).as_posix())
    states: dict[Path, FileState] = {}
    for name, digest in (files or {}).items():
        path = folder / name
        try:
            same = not leads_out(path, folder) and plain_digest(path) == digest
            states[path] = "sound" if same else "damaged"
        except FileNotFoundError:
            found.missing.append((place / name).as_posix())
        except (OSError, ValueError):  # of no name that a disk knows, too
            states[path] = "damaged"
    _note(found, states)


def _told(path: Path) -> dict[str, str] | None:
    """Return the digests of tables that a file tells by name; None where it is damaged.

    Names of files that lie elsewhere no writer has written: those are opened for nobody.
    """
    try:
        told = read_json(path, "make it anew")["files"]
        files = {name: one["sha256"] for name, one in told.items()}
    except (InputError, OSError, KeyError, TypeError, AttributeError):
        return None
    below = path.name == "benchmark.json"  # its tables may lie in folders
    names = all(is_inner_name(name, below=below) for name in files)
    return files if names and all(isinstance(one, str) for one in files.values()) else None
