"""The folder of a study: what lies where, and which tasks are done."""

from __future__ import annotations

import os
import shlex
import shutil
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.core import InputError
from sightline.core.errors import shown
from sightline.core.kill_points import reach
from sightline.store.checksums import read_json, save_json
from sightline.store.files import (
    make_folder,
    open_plain,
    plain_digest,
    remove_parts,
    write_whole,
)
from sightline.store.lock import hold, open_lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Set
    from contextlib import AbstractContextManager

__all__ = [
    "FORMAT",
    "LEFT",
    "PLAN",
    "STUDY_DIGEST",
    "ManifestTask",
    "Store",
    "check_room",
    "check_tasks",
    "create_store",
    "how_to_mend",
    "make_room",
    "open_store",
    "list_recorded_tasks",
    "task_name",
    "tasks_of",
]

FORMAT = 2
STUDY_DIGEST = "study_sha256"  # what the manifest calls the digest of study.yml
LEFT = "left"  # what the manifest calls its tasks that were never done
PLAN = "sightline-plan"  # the key under which the tables say to which plan they belong


def task_name(key: str, number: int, digest: str) -> str:
    """Return the name of a task: which chunk of images, and a hash over all that decides its rows.

    Parameters
    ----------
    key : str
        Of the source of its maps, with how they are scored.
    number : int
        Of the chunk of images.
    digest : str
        Of the chunk's images and annotations.

    Examples
    --------
    >>> task_name("a", 12, "b")
    '000012-fb8e20fc2e4c3f24'
    """
    return f"{number:06}-{sha256((key + digest).encode()).hexdigest()[:16]}"


class Store:
    """The folder of one study.

    Attributes
    ----------
    path : Path
        The folder.
    scores, region_scores, checks, maps : Path
        Folders of shards: one file for each finished task.
    cache : Path
        What is derived from the shards, and may be deleted.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.scores, self.region_scores, self.checks, self.maps, self.cache = (
            self.path / name for name in ("scores", "region_scores", "checks", "maps", "cache")
        )

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r})"

    @property
    def shard_folders(self) -> tuple[Path, ...]:
        """The folders of shards."""
        return self.scores, self.region_scores, self.checks, self.maps

    @property
    def manifest_path(self) -> Path:
        """What the store holds and how it came about."""
        return self.path / "manifest.json"

    @property
    def study_path(self) -> Path:
        """The study, with every choice written out."""
        return self.path / "study.yml"

    @property
    def aside_path(self) -> Path:
        """Where things are moved that have the name of a file of the run and are none."""
        return self.path / "moved-aside"

    @property
    def lock_path(self) -> Path:
        """Held by whoever writes."""
        return self.path / "lock"

    @property
    def images_path(self) -> Path:
        """The table of images."""
        return self.path / "images.parquet"

    @property
    def regions_path(self) -> Path:
        """The table of regions."""
        return self.path / "regions.parquet"

    def locked(self) -> AbstractContextManager[None]:
        """Hold the store for writing while a block runs; see `hold`."""
        return hold(self.lock_path)

    def manifest(self) -> dict[str, Any]:
        """Return the manifest.

        Raises
        ------
        InputError
            If there is none, or it cannot be understood; `DamagedError` if it is damaged.
        """
        path = self.manifest_path
        try:
            found = read_json(path, lambda: how_to_mend(path))
        except FileNotFoundError as error:
            told = f"{self.path}: no study is stored there ({path.name}){self._stored_below()}"
            raise InputError(told) from error
        seen = found.get("format") if isinstance(found, dict) else None
        if seen != FORMAT:
            older = isinstance(seen, int) and seen < FORMAT
            advice = "; it was written by an older version: run its study again elsewhere"
            told = f"{path}: format must be {FORMAT}, got {shown(seen)}{advice * older}"
            raise InputError(told)
        _check_manifest(found, path)
        return found  # type: ignore[no-any-return]

    def _stored_below(self) -> str:
        """Name some studies that lie one folder deeper: runs was given for runs/first."""
        found = sorted(file.parent.name for file in self.path.glob("*/manifest.json"))
        return f"; below it are {', '.join(found[:5])}{', …' * (len(found) > 5)}" if found else ""

    def save_manifest(self, content: Mapping[str, Any]) -> None:
        """Write the manifest, with its checksum."""
        reach("manifest:before")
        save_json(self.manifest_path, {"format": FORMAT, **content}, "manifest")
        reach("manifest:after")

    def save_text(self, name: str, text: str) -> None:
        """Write a text file of the store, as that of the study."""
        write_whole(self.path / name, text.encode(), "study")

    def clean(self) -> None:
        """Remove what killed writers have left."""
        shutil.rmtree(self.path / ".ray", ignore_errors=True)  # notes of a driver to its workers
        for folder in (self.path, *self.shard_folders, self.cache):
            remove_parts(folder)

    def discard(self) -> None:
        """Remove the folder if nothing was ever stored in it; only the holder of the lock may."""
        if self.manifest_path.exists() or self.done():
            return
        for path in (self.study_path, self.images_path, self.regions_path):
            path.unlink(missing_ok=True)
        with suppress(OSError):  # something else lies there
            for folder in (*self.shard_folders, self.cache):
                folder.rmdir()
            if [entry.name for entry in self.path.iterdir()] == [self.lock_path.name]:
                self.lock_path.unlink()
                self.path.rmdir()

    def score_file(self, task: str) -> Path:
        """Return where the scores of a task lie; written last, it marks the task as done."""
        return self.scores / f"{task}.parquet"

    def region_file(self, task: str) -> Path:
        """Return where the scores of single regions of a task lie."""
        return self.region_scores / f"{task}.parquet"

    def check_file(self, task: str) -> Path:
        """Return where what a check found lies; it marks the task as done."""
        return self.checks / f"{task}.parquet"

    def map_file(self, task: str) -> Path:
        """Return where the maps of a task lie."""
        return self.maps / f"{task}.safetensors"

    def done(self) -> set[str]:
        """Return the names of all tasks that are stored, whatever the study."""
        names = (*_names(self.scores), *_names(self.checks))
        return {name.removesuffix(".parquet") for name in names}

    def tasks(self, chunk: int | None = None) -> list[str]:
        """Return the names of the tasks of the manifest, of all chunks or of one."""
        tasks = tasks_of(self.manifest())
        return [one.name for one in tasks if chunk is None or one.number == chunk]

    def done_file(self, task: str) -> Path:
        """Return the file that marks a task as done."""
        check = self.check_file(task)
        return check if check.exists() else self.score_file(task)

    def is_whole(self, task: str) -> bool:
        """Return whether a task is stored, in a file that ends as such files do."""
        return _is_whole(self.done_file(task))


def _check_manifest(found: Mapping[str, Any], path: Path) -> None:
    """Raise where a manifest lacks what readers need."""
    names = ("model", "variant", "method", "group", "target", "seed", "check")
    lists = {"sources": (*names, "layers", "heads", "rules", "key"), "chunks": ("digest",)}
    if "checks" in found:  # older stores know of none
        lists["checks"] = (*lists["sources"], "part", "options")
    for name, needed in lists.items():
        entries = found.get(name)
        if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
            raise InputError(f"{path}: must hold a list of {name}")
        for one in entries:
            if missing := [key for key in needed if key not in one]:
                raise InputError(f"{path}: {name} must each have {', '.join(missing)}")
            _check_texts(one, (key for key in ("key", "digest", "part") if key in needed), path)
    _check_kinds(found, path)
    known = found.get("checked", {})
    for one in found.get("checks", ()):
        if one["part"] not in known:
            raise InputError(f"{path}: checked must name the images of {shown(one['part'])}")
    for part, chunks in known.items():
        if not isinstance(chunks, list) or not all(isinstance(one, dict) for one in chunks):
            raise InputError(f"{path}: checked must hold a list of chunks of {shown(part)}")
        for one in chunks:
            _check_texts(one, ["digest"], path)


def _check_texts(found: Mapping[str, Any], keys: Iterable[str], path: Path) -> None:
    """Raise where one of the texts that name a task is none."""
    for key in keys:
        value = found.get(key)
        if not isinstance(value, str) or not value.isprintable():  # nor half of a character
            raise InputError(f"{path}: {key} must be a text, got {shown(value)}")


def _check_kinds(found: Mapping[str, Any], path: Path) -> None:
    """Raise where a part that a manifest may lack is of another kind."""
    for name, kind in _KINDS.items():
        if name in found and not isinstance(found[name], kind):
            raise InputError(f"{path}: {name} must be {_WORDS[kind]}, got {shown(found[name])}")


_WORDS: dict[type, str] = {dict: "an object", list: "a list", str: "a text"}
_KINDS: dict[str, type] = {
    **dict.fromkeys(("study", "versions", "data", "batches", "checked"), dict),
    **dict.fromkeys(("runs", "skipped", LEFT), list),
    STUDY_DIGEST: str,
}


def _names(folder: Path) -> set[str]:
    """Return the names of whole files in a folder; those being written begin with a dot."""
    if not folder.is_dir():
        return set()
    return {entry.name for entry in os.scandir(folder) if not entry.name.startswith(".")}


def _is_whole(path: Path) -> bool:
    """Say whether a Parquet file has its end: a disk that failed may have cut it."""
    try:
        with open_plain(path) as file:
            file.seek(-4, os.SEEK_END)
            return file.read() == b"PAR1"
    except OSError:
        return False


class ManifestTask(NamedTuple):
    """A task of a manifest.

    Attributes
    ----------
    source, chunk : mapping
        What the manifest says of the source of its maps, and of its images.
    number : int
        Of the chunk.
    name : str
        That of its files.
    """

    source: Mapping[str, Any]
    number: int
    chunk: Mapping[str, Any]
    name: str


def tasks_of(manifest: Mapping[str, Any]) -> Iterator[ManifestTask]:
    """Yield the tasks of a manifest, but for those of its checks, in order.

    Examples
    --------
    >>> told = {"sources": [{"key": "a"}], "chunks": [{"digest": "b"}, {"digest": "c"}]}
    >>> [(task.number, task.name) for task in tasks_of(told)]
    [(0, '000000-fb8e20fc2e4c3f24'), (1, '000001-f45de51cdef30991')]
    """
    for number, chunk in enumerate(manifest["chunks"]):
        for source in manifest["sources"]:
            name = task_name(source["key"], number, chunk["digest"])
            yield ManifestTask(source, number, chunk, name)


def check_tasks(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the tasks of a manifest's checks.

    Examples
    --------
    >>> chunks = [{"digest": "b"}, {"digest": "c"}]
    >>> told = {"checks": [{"key": "a", "part": "parts"}], "checked": {"parts": chunks}}
    >>> list(check_tasks(told))
    ['000000-fb8e20fc2e4c3f24', '000001-f45de51cdef30991']
    """
    for source in manifest.get("checks", ()):
        for number, one in enumerate(manifest["checked"][source["part"]]):
            yield task_name(source["key"], number, one["digest"])


def list_recorded_tasks(manifest: Mapping[str, Any]) -> set[str]:
    """Return the names of the tasks that were done once, as far as a manifest records it.

    Examples
    --------
    >>> told = {"sources": [{"key": "a"}], "chunks": [{"digest": "b"}, {"digest": "c"}]}
    >>> list_recorded_tasks({**told, "left": ["000000-fb8e20fc2e4c3f24"]})
    {'000001-f45de51cdef30991'}
    >>> list_recorded_tasks(told)
    set()
    """
    if LEFT not in manifest:  # earlier versions recorded none
        return set()
    left = {name for name in manifest[LEFT] if isinstance(name, str)}
    return {*(task.name for task in tasks_of(manifest)), *check_tasks(manifest)} - left


def how_to_mend(path: Path) -> str:
    """Return what makes a file of a store anew, with the command where that is known.

    Parameters
    ----------
    path : Path
        In the folder of a study, or in one of its folders.
    """
    said = "run the study again to make it anew"
    for folder in (path.parent, path.parent.parent):
        with suppress(OSError, ValueError):
            study = folder / "study.yml"
            with open_plain(study) as file:
                first = file.read(_HEAD).decode("utf-8", "ignore").splitlines()[:5]
            if _has_changed(study):
                return f"{said}, from a file of your own: {study} is damaged"
            if f"name: {folder.name}" in first:  # it would be written elsewhere if it was renamed
                words = ["sightline", "run", str(study), "--out", str(folder.parent)]
                return f"{said}: {shlex.join(words)}"
    return said


_HEAD = 1 << 16  # bytes of a study in which its name is looked for


def _has_changed(study: Path) -> bool:
    """Say whether study.yml is another than the manifest beside it tells, where that is sound."""
    try:
        found = read_json(study.with_name("manifest.json"), "")
    except (InputError, OSError):
        return False
    told = found.get(STUDY_DIGEST) if isinstance(found, dict) else None
    return told is not None and told != plain_digest(study)


def create_store(path: str | os.PathLike[str]) -> Store:
    """Make the folder of a study, or open one that is there.

    Raises
    ------
    InputError
        If the folder holds other things, or cannot be written to.
    """
    store = Store(path)
    try:
        _claim(store)
        for folder in (*store.shard_folders, store.cache):
            make_folder(folder)
    except OSError as error:
        raise InputError(f"{path}: results cannot be written there: {error}") from error
    return store


def make_room(store: Store, name: str) -> Path:
    """Return a folder of a store; make both, and refuse a folder that holds other things."""
    _claim(store)
    folder = store.path / name
    make_folder(folder)
    return folder


def _claim(store: Store) -> None:
    """Make the folder of a store; refuse one that holds other things."""
    known = {store.lock_path.name, store.manifest_path.name}
    check_room(store.path, known, "the results of a study")
    store.path.mkdir(parents=True, exist_ok=True)
    open_lock(store.lock_path).close()  # first: it says that the folder is a store


def check_room(path: Path, known: Set[str], what: str, besides: Set[str] = frozenset()) -> None:
    """Raise unless a folder is new, empty, or holds one of some names.

    Parameters
    ----------
    path : Path
        The folder.
    known : set of str
        Names of files, each of which says that the folder holds such results.
    what : str
        What these results are called.
    besides : set of str
        Names that may be there in any case.
    """
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: must be a folder for results, is a file")
    found = {entry.name for entry in path.iterdir()} if path.exists() else set()
    if found - besides and not found & known:
        some = ", ".join(sorted(found)[:3])
        raise InputError(f"{path}: must be empty, new or hold {what}; holds {some}")


def open_store(path: str | os.PathLike[str]) -> Store:
    """Open the folder of a study for reading.

    Raises
    ------
    InputError
        If no study is stored there.
    """
    store = Store(path)
    if store.path.is_file():
        raise InputError(f"{path}: must be the folder of a study's results, is a file")
    if not store.path.is_dir():
        raise InputError(f"{path}: no such folder; `sightline run` makes one")
    store.manifest()
    return store
