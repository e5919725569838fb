"""What is served: one moment of a store after the other, each with what was loaded of it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

from duckdb import Error as DuckDBError
from fastapi import Depends, Request

import sightline
from sightline.api.problems import Refusal, not_found, of_store
from sightline.api.sizes import bytes_of
from sightline.core import Annotation, InputError, Sample, SightlineError, Taxonomy
from sightline.core.lru_cache import Kept
from sightline.results import Results, open_results
from sightline.results._catalogue import Where
from sightline.results._lines import Line, best_line, make_lines
from sightline.results._sums import Found, narrowed, sum_up
from sightline.results._views import Name

if TYPE_CHECKING:
    from sightline.api.review import Desk
    from sightline.data.dataset import Dataset
    from sightline.results import Scenes
    from sightline.results._tables import Tables

__all__ = ["AHEAD", "Here", "Image", "Region", "SCOPE", "Served", "Service", "get_served"]

T = TypeVar("T")

# Things that were read or computed and stay at hand, the longest unused going first: so many of
# them, each with a few numbers for every image, as hold this many numbers.
_LEAST_KEPT, _MOST_KEPT, _MOST_NUMBERS = 64, 2048, 2_000_000
# Nor do they take more bytes, about, however many layers and models each is over.
_MOST_BYTES = 64 << 20
# Seconds between looks at the folder, and how many times the last reading took must pass.
_PAUSE, _REST = 1.0, 5.0
SCOPE = "sightline.served"
"""Where a request holds the moment of the store that it is about."""
AHEAD = "sightline.ahead"
"""What marks a request that nobody waits for: the service asks itself, to keep the answer."""
# What lies in a store and changes no answer.
_ASIDE = (
    *("lock", "cache", "report", "review"),
    *(f"review.sqlite{end}" for end in ("", "-wal", "-shm")),
)


@dataclass(frozen=True, slots=True)
class Image:
    """A line of the store's table of images."""

    image: str
    chunk: int
    split: str
    labels: tuple[str, ...]
    width: int | None
    height: int | None
    area: float | None
    regions: int
    digest: str


@dataclass(frozen=True, slots=True)
class Region:
    """A line of the store's table of regions."""

    region: int
    label: str
    box: tuple[float, float, float, float]
    area: float | None
    dropped: str


def room_for(most: int, most_bytes: int = _MOST_BYTES) -> Kept[Any]:
    """Return a place for so many things or bytes; the last one always stays, however large."""
    least = most_bytes // most
    return Kept(most_bytes, lambda made: min(max(bytes_of(made), least), most_bytes))


class Served:
    """One moment of a store, and what was loaded of it; a request sees one and the same.

    Parameters
    ----------
    path
        The folder of the study.
    version
        What `Service` found the folder's files to be.

    Attributes
    ----------
    results : Results
        Of the study, at that moment.
    version : str
        Changes whenever answers may.
    lock : RLock
        To hold while something that only one thread may use is used: the drawing of figures.
    """

    def __init__(self, path: Path, version: str) -> None:
        self.results: Results = open_results(path)
        self.version = version
        self.lock = threading.RLock()
        room = _MOST_NUMBERS // max(len(self.images), 1)
        self._kept = room_for(min(max(room, _LEAST_KEPT), _MOST_KEPT))
        self._opened = room_for(_LEAST_KEPT)

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what is kept under a key; make it first where it is not there.

        Several threads that ask at once wait for the one that makes it. What was not used for
        the longest time is forgotten: keep nothing that is large.
        """
        return cast("T", self._kept.get(key, make))

    def put(self, key: Hashable, made: Any) -> None:
        """Keep a thing under a key, in place of what was there."""
        self._kept.put(key, made)

    def peek(self, key: Hashable) -> Any:
        """Return what is kept under a key; None where it is not there."""
        return self._kept.peek(key)

    # --- what the store says of itself -----------------------------------------------------------

    @property
    def tables(self) -> Tables:
        """The tables behind `results`."""
        return self.results._tables

    @property
    def manifest(self) -> dict[str, Any]:
        """What the store says of itself."""
        return self.results.manifest

    @property
    def study(self) -> dict[str, Any]:
        """Every choice of the study."""
        return self.results.study

    @property
    def finished(self) -> bool:
        """Whether all tasks are done."""
        done, count = self.results.progress
        return done == count

    @cached_property
    def images(self) -> Mapping[str, Image]:
        """All images by id, in the study's order."""
        found = {}
        for line in self.tables._state.tables["images"].drop_columns("group").to_pylist():
            labels = tuple(line["labels"] or ())
            found[line["image"]] = Image(**line | {"labels": labels, "split": line["split"] or ""})
        return found

    @cached_property
    def regions(self) -> Mapping[str, tuple[Region, ...]]:
        """All regions by image, in the order of the annotation."""
        found: dict[str, list[Region]] = {}
        for line in self.tables._state.tables["regions"].to_pylist():
            box = (line["x0"], line["y0"], line["x1"], line["y1"])
            one = Region(line["region"], line["label"], box, line["area"], line["dropped"] or "")
            found.setdefault(line["image"], []).append(one)
        return {image: tuple(regions) for image, regions in found.items()}

    @cached_property
    def taxonomy(self) -> Taxonomy:
        """The labels of regions, with those above them."""
        return Taxonomy(self.manifest.get("data", {}).get("taxonomy") or {})

    @cached_property
    def pictures(self) -> str:
        """What identifies the pictures of all images; a study that goes on changes none."""
        digest = self.manifest.get("data", {}).get("digest", "")
        return _short(str(self.results.path), str(digest), code_version())

    # --- what a request names --------------------------------------------------------------------

    def image(self, image_id: str) -> Image:
        """Return an image of the table.

        Raises
        ------
        Refusal
            404, if it is not there.
        """
        if image_id not in self.images:
            close = get_close_matches(image_id, self.images, n=3)
            hint = f"; nearest: {', '.join(close)}" if close else ""
            raise not_found(f"no image {image_id!r} is stored{hint}", "image_id")
        return self.images[image_id]

    def region(self, image_id: str, index: int, field: str = "bbox_index") -> Region:
        """Return a region that is scored.

        Raises
        ------
        Refusal
            404, if the image is not there, has no such region, or it is not scored.
        """
        self.image(image_id)
        regions = self.regions.get(image_id, ())
        scored = [one.region for one in regions if not one.dropped]
        for one in regions:
            if one.region == index and not one.dropped:
                return one
            if one.region == index:
                raise not_found(f"region {index} of {image_id} is not scored: {one.dropped}", field)
        known = ", ".join(map(str, scored[:20])) + (", …" if len(scored) > 20 else "")
        raise not_found(f"image {image_id} has no region {index}; it has {known or 'none'}", field)

    def name(self, metric: str | None, *, regions: bool = False) -> Name:
        """Return a stored score by its name, that which leads the tables by default."""
        with of_store():
            self._need_rows()
        return self.tables.name(metric, regions=regions)

    def line(self, name: Name, where: Where, layer: int | str | None = None) -> Line:
        """Return the line that names stand for: the best that is no baseline, if there is one."""
        key = "line", name, where, layer
        return self.kept(key, lambda: self._find_line(name, where, layer))

    def scores_of_all(self, name: Name, head: int | str | None, seed: int | None) -> Found:
        """Return a score of all maps on all images, by model and head, then by what made them."""
        self.preload()
        where = Where(head=head, seed=seed)
        key = "scores of all", name, where
        return self.kept(key, lambda: sum_up(self.tables, [name], where)[name])

    def preload(self) -> bool:
        """Take the rows of whole images into memory, once all are there; say whether they are."""
        return self.finished and self._opened.get("preload", self.tables.preload)

    def _find_line(self, name: Name, where: Where, layer: int | str | None) -> Line:
        # One query finds the scores of all maps: another choice of theirs needs none.
        found = self.scores_of_all(name, where.head, where.seed)
        how = "best" if layer is None else layer
        lines = make_lines(self.tables, name, where, how, found=narrowed(found, where))
        return best_line(lines, name, where)

    def _need_rows(self) -> None:
        if not self.tables.tasks:
            raise InputError(f"nothing is stored yet: {self.results.progress}")

    # --- the data behind it ----------------------------------------------------------------------

    @property
    def dataset(self) -> Dataset:
        """The data set of the study.

        Raises
        ------
        Refusal
            409, if it cannot be opened.
        """
        found: Dataset = self._opened.get("dataset", self._open_dataset)
        return found

    def _open_dataset(self) -> Dataset:
        from sightline.study import Study
        from sightline.study.plan.images import study_dataset

        with of_store():
            return study_dataset(Study.from_dict(self.study).data)

    def sample(self, image_id: str) -> Sample:
        """Return an image with its annotation, out of the data set.

        Raises
        ------
        Refusal
            404, if the study has no such image; 409, if the data set has it no longer.
        """
        self.image(image_id)
        dataset = self.dataset
        with of_store():
            return dataset.by_id(image_id)

    def pictured(self, image_id: str) -> Sample:
        """Return an image of the data set whose picture is the one that was scored.

        Raises
        ------
        Refusal
            404, if the study has no such image; 409, if its file is gone or has changed.
        """
        sample, digest = self.sample(image_id), self.images[image_id].digest
        if digest and sample.path is not None:
            from sightline.study.plan.images import pixels_digest

            root = self.dataset.root
            seen = self.kept(("digest", image_id), lambda: pixels_digest(sample, root))
            if seen != digest:
                what = "changed" if seen else "is gone"
                raise Refusal(409, f"the file of {image_id} {what} since the study was run")
        return sample

    def annotation(self, image_id: str) -> Annotation:
        """Return what is annotated on an image, if it is what was scored.

        Raises
        ------
        Refusal
            404, if the study has no such image; 409, if the data are gone or have changed.
        """
        annotation = self.sample(image_id).annotation
        stored = {
            one.region: (one.label, one.box)
            for one in self.regions.get(image_id, ())
            if one.dropped != "unlabelled"
        }
        there = {
            one.index: (one.label, tuple(float(edge) for edge in one.box))
            for one in (*annotation.regions, *annotation.dropped)
        }
        if stored != there:
            raise Refusal(
                409, f"the annotation of {image_id} changed since the study was run; run it again"
            )
        return annotation

    @property
    def scenes(self) -> Scenes:
        """The maps and what they met, as they were scored; several threads may ask.

        Raises
        ------
        Refusal
            409, if the data are gone or have changed.
        """
        found: Scenes = self._opened.get("scenes", self._open_scenes)
        return found

    def _open_scenes(self) -> Scenes:
        from sightline.results import open_scenes

        with of_store():
            self._need_rows()
            return open_scenes(self.results)


class Service:
    """The store that is served; looks now and then whether it has grown.

    Parameters
    ----------
    path
        The folder of the study.
    review
        The folder of a review that is served beside it, if one is.

    Attributes
    ----------
    trouble : str
        Why the folder could not be read anew; "" where it could.
    closed : bool
        Whether the service is ending: nothing is to be begun.
    busy : bool
        Whether threads were still at work when it ended.
    warming : bool
        Whether what is likely to be asked for is still being prepared.
    asked : int
        How many requests of others there were, but for whether there is news.
    ask : callable or None
        Has a path answered, for the answer to be kept.
    when_warm : callable or None
        Called once all is prepared.

    Raises
    ------
    InputError
        If no study is stored there, or no review.
    """

    def __init__(
        self, path: str | os.PathLike[str], review: str | os.PathLike[str] | None = None
    ) -> None:
        self.path = Path(path).resolve()
        self.trouble, self.closed, self.busy = "", False, False
        self.warming, self.asked = False, 0
        self.ask: Callable[[str], object] | None = None
        self.when_warm: Callable[[], object] | None = None
        self._lock = threading.Lock()
        self._looked = self._cost = 0.0
        self._served = self._read(store_version(self.path))
        self._review, self._desk = review, None if review is None else _open_desk(review)

    @property
    def desk(self) -> Desk | None:
        """The review that is served; None where none is."""
        with self._lock:
            if self._desk is None and self._review is not None:
                self._desk = _open_desk(self._review)
            return self._desk

    def due(self) -> bool:
        """Say whether it is time to look at the folder again."""
        return time.monotonic() - self._looked > max(_PAUSE, _REST * self._cost)

    @property
    def last(self) -> Served:
        """The moment that was read last."""
        return self._served

    def now(self) -> Served:
        """Return the store as it is, read anew where it has changed."""
        if not self.due():
            return self._served
        with self._lock:
            if not self.due():
                return self._served
            version = store_version(self.path)
            if version != self._served.version:
                self._renew(version)
            self._looked = time.monotonic()
            return self._served

    def close(self) -> None:
        """Let go of files; what is asked after all opens them again."""
        self.closed = True
        with self._lock:
            if self._desk is not None:
                self._desk.close()
            self._desk = None
        with suppress(DuckDBError):  # which refuses where a thread has not ended yet
            self._served.results.close()

    def _renew(self, version: str) -> None:
        try:
            self._served, self.trouble = self._read(version), ""
        except (SightlineError, OSError) as error:  # cut off while it changes: the last one stands
            self.trouble = str(error)

    def _read(self, version: str) -> Served:
        begun = time.monotonic()
        served = Served(self.path, version)
        self._looked = time.monotonic()
        self._cost = self._looked - begun
        return served


def _open_desk(review: str | os.PathLike[str]) -> Desk:
    from sightline.api.review import Desk  # which needs what is here

    return Desk(review)


def store_version(path: Path) -> str:
    """Return a hash over what a store holds: it changes whenever answers may."""
    parts = [str(path), code_version()]
    for entry in sorted(_entries(path), key=lambda one: one.name):
        if entry.name in _ASIDE or entry.name.startswith("."):
            continue
        parts.append(_described(entry))
        if entry.name in ("detection", "prototypes") and entry.is_dir():
            inner = sorted(_entries(Path(entry.path)), key=lambda one: one.name)
            parts += [_described(one) for one in inner]
    return _short(*parts)


def _entries(path: Path) -> list[os.DirEntry[str]]:
    with suppress(OSError), os.scandir(path) as found:
        return list(found)
    return []


def _described(entry: os.DirEntry[str]) -> str:
    try:
        about = entry.stat()
    except OSError:
        return f"{entry.name} gone"
    size = 0 if entry.is_dir() else about.st_size
    # A clock that was set back may give a new file the time of the old one; it is another file.
    return f"{entry.name} {size} {about.st_mtime_ns} {about.st_ctime_ns} {about.st_ino}"


def _short(*parts: str) -> str:
    return sha256("\n".join(parts).encode()).hexdigest()[:16]


def code_version() -> str:
    """Return a hash that changes with the program."""
    return _CODE


def _digest_code() -> str:
    root = Path(sightline.__file__).parent
    files = sorted(root.rglob("*.py"))
    return _short(sightline.__version__, *(f"{f} {f.stat().st_mtime_ns}" for f in files))


_CODE = _digest_code()


async def get_served(request: Request) -> Served:
    """Return the moment of the store that a request is about."""
    return cast("Served", request.scope[SCOPE])


Here = Annotated[Served, Depends(get_served)]
"""The first parameter of a route."""
