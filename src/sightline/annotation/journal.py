"""The journal of a review: every decision as an event, never changed, safe against any end.

Several tabs, threads, processes and people may write to one journal. An event is kept once it is
acknowledged, whatever happens to the process afterwards, and the same event sent twice is kept
once.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from sightline.annotation import _rules
from sightline.annotation._file import connect, make, review_file, transaction, translated
from sightline.annotation.events import DRAWN, Conflict, Event, Stored, check_event, check_id
from sightline.annotation.gold import Gold, check_population
from sightline.annotation.states import Key, State, fold_key, key_of
from sightline.core import Annotation, InputError, Taxonomy, UnknownNameError
from sightline.core.kill_points import reach
from sightline.data.choice import DataChoice
from sightline.data.dataset import header_size
from sightline.data.formats.checks import number, show, text
from sightline.data.formats.plain import read_region
from sightline.data.writers import region_record

if TYPE_CHECKING:
    import os
    import sqlite3
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from sightline.annotation.events import Json
    from sightline.annotation.proposals import Proposal, Proposals
    from sightline.core import Region, Sample
    from sightline.data.dataset import Dataset

__all__ = ["Image", "Item", "Journal", "TaskRecord"]

_NEAR = 1e-3  # of the image, and of scores
_EVENT = "number, id, at, who, mode, kind, image_id, item, data, seconds, comment, before, after"


@dataclass(frozen=True, slots=True)
class Image:
    """An image of a review; `file` is its path in the data set's folder, "" where it has none."""

    image_id: str
    width: int | None
    height: int | None
    gold: bool
    split: str
    file: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """A proposal as it was added: `region` as plain JSON has it; see `Proposal`."""

    number: int
    id: str
    image_id: str
    region: Mapping[str, Any]
    score: float
    source: str
    prompt: int | None
    model: str
    digest: str


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A question to people about the maps of an image; see `sightline.annotation.rating_tasks`.

    Examples
    --------
    >>> TaskRecord("task-1", "a.jpg", "choose", ("cls", "rollout")).methods
    ('cls', 'rollout')
    """

    id: str
    image_id: str
    kind: str
    methods: tuple[str, ...]


class Journal:
    """All that is known of a review, in one SQLite file.

    Made by `create`, opened by `open`; a context manager. Threads may share one.

    Attributes
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._lock = threading.RLock()

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Open a review, given by its folder or its file.

        Raises
        ------
        InputError
            If there is none there, or it cannot be read; then it is left as it is.
        """
        place = review_file(path)
        return cls(place, connect(place))

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        dataset: Dataset,
        proposals: Proposals | Sequence[Proposals] = (),
        *,
        gold: Gold | None = None,
        choice: DataChoice | None = None,
    ) -> Self:
        """Make a review of the images of a data set.

        Parameters
        ----------
        path : path
            Its folder or its file; there must be no review yet.
        dataset : Dataset
            The images with what is annotated on them.
        proposals : Proposals, or several
            What a machine proposes to add.
        gold : Gold, optional
            Which images are annotated completely; drawn from the same data set.
        choice : DataChoice, optional
            The words that open the data set, so that its images can be shown later.

        Raises
        ------
        InputError
            If there is a review already, or something does not fit.
        """
        place = review_file(path)
        batches: Any = [proposals] if hasattr(proposals, "settings") else proposals
        if gold is not None:
            check_population(gold, dataset.ids)

        def fill(connection: sqlite3.Connection) -> None:
            _fill(connection, dataset, gold, choice)
            for batch in batches:
                _add_items(connection, batch)

        make(place, fill)
        return cls.open(place)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, translated(self.path):
            yield self._connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, translated(self.path), transaction(self._connection):
            yield self._connection

    # --- what was there from the start ------------------------------------------------------------

    @cached_property
    def images(self) -> dict[str, Image]:
        """The images by id, in the order of the data set."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT image_id, width, height, gold, split, file, labels FROM images "
                "ORDER BY number"
            ).fetchall()
        return {row[0]: _image(*row) for row in rows}

    def meta(self, key: str) -> Any:
        """Return a fact that was kept at the start."""
        with self._reading() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise UnknownNameError(f"{self.path}: keeps nothing named {key!r}")
        return json.loads(row[0])

    @cached_property
    def choice(self) -> DataChoice | None:
        """The words that open the data set; None where they were not given."""
        found = self.meta("data")
        return None if found is None else DataChoice.from_dict(found)

    @cached_property
    def gold(self) -> Gold | None:
        """The gold set; None where there is none."""
        found = self.meta("gold")
        return None if found is None else Gold.from_dict(found)

    @cached_property
    def taxonomy(self) -> Taxonomy:
        """The labels of the data set with those above them."""
        return Taxonomy({name: tuple(above) for name, above in self.meta("taxonomy").items()})

    def dataset(self) -> Dataset:
        """Open the data set again.

        Raises
        ------
        InputError
            If the words for it were not kept, or it no longer has an image of the review.
        """
        if self.choice is None:
            raise InputError(f"{self.path}: does not say which data set its images are from")
        found = self.choice.open()
        known = set(found.ids)
        if missing := [image for image in self.images if image not in known]:
            raise InputError(
                f"{self.path}: the data set {self.choice.name} has no image {missing[0]!r} any more"
            )
        return found

    def given(self) -> dict[str, Annotation]:
        """Return what was annotated from the start, by image id."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT image_id, place, dropped, json FROM regions ORDER BY number"
            ).fetchall()
        kept: dict[str, tuple[list[Region], list[Region]]] = {}
        for image_id, place, dropped, record in rows:
            region = replace(read_region(json.loads(record), place), index=place)
            kept.setdefault(image_id, ([], []))[dropped].append(region)
        return {
            one.image_id: _annotation(one, *kept.get(one.image_id, ([], [])))
            for one in self.images.values()
        }

    # --- proposals and tasks ----------------------------------------------------------------------

    def add_proposals(self, proposals: Proposals) -> int:
        """Add proposals; return how many are new. Those that are there already change nothing.

        Raises
        ------
        InputError
            If one is of an image that the review has not, or another has its id; then nothing is
            added.
        """
        with self._writing() as connection:
            return _add_items(connection, proposals)

    def items(self, after: int = 0) -> list[Item]:
        """Return the proposals with a number above `after`, in the order they were added."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT number, id, image_id, json FROM items WHERE number > ? ORDER BY number",
                (after,),
            ).fetchall()
        return [_item(*row) for row in rows]

    def imports(self) -> list[Json]:
        """Return each adding of proposals: when, how many, of which data, with which settings."""
        with self._reading() as connection:
            rows = connection.execute("SELECT at, added, json FROM imports ORDER BY number")
            return [{"at": at, "added": added, **json.loads(said)} for at, added, said in rows]

    def add_tasks(self, tasks: Iterable[TaskRecord]) -> int:
        """Add questions about maps; return how many are new."""
        with self._writing() as connection:
            return sum(_add_task(connection, task) for task in tasks)

    def tasks(self) -> list[TaskRecord]:
        """Return the questions about maps, in the order they were added."""
        with self._reading() as connection:
            rows = connection.execute("SELECT json FROM tasks ORDER BY number").fetchall()
        return [TaskRecord(**json.loads(row[0]) | {"methods": _methods(row[0])}) for row in rows]

    # --- events -----------------------------------------------------------------------------------

    def events(
        self, *, after: int = 0, mode: str | None = None, image_id: str | None = None
    ) -> list[Stored]:
        """Return events with a number above `after`, in order; of a mode or an image alone."""
        wanted = {"mode": mode, "image_id": image_id}
        return self._events(after, {k: v for k, v in wanted.items() if v is not None})

    def _events(self, after: int, where: Mapping[str, str]) -> list[Stored]:
        terms = " AND ".join(["number > ?", *(f"{column} = ?" for column in where)])
        sql = f"SELECT {_EVENT} FROM events WHERE {terms} ORDER BY number"  # noqa: S608
        with self._reading() as connection:
            rows = connection.execute(sql, (after, *where.values())).fetchall()
        return [_stored(row) for row in rows]

    def append(self, event: Event, expected: int = 0) -> Stored:
        """Keep an event, and return it as it is kept.

        An event that is there already is returned as it was kept, and nothing is written: who
        lost the connection sends it again.

        Parameters
        ----------
        event : Event
            What a person did.
        expected : int
            Number of the last event that the person had seen: of the item; where the event is
            about an image, of that image in that mode; for lock and reopen, of the mode. 0 where
            there was none. Comments do not need it.

        Raises
        ------
        Conflict
            If another event has come since; it carries the present state.
        InputError
            If the event does not fit: an unknown image or item, a locked gold set, a person who
            is not blind. Nothing is written.
        """
        event = check_event(event)
        with self._writing() as connection:
            earlier = _rows(connection, "id = ?", (event.id,))
            if earlier:
                return _repeated(earlier[0], event)
            key, item = key_of(event), self._item_of(connection, event)
            about = _about(connection, key)
            regions = {event.item: item.region} if item is not None else {}
            before = fold_key(key, about, regions)
            _rules.check(connection, event, self.images.get(event.image_id), item, before)
            _check_expected(connection, event, key, expected, before)
            _rules.check_undo(event, about)
            stored = _insert(connection, event, about, regions, before)
        reach("review:before-answer")
        return stored

    def _item_of(self, connection: sqlite3.Connection, event: Event) -> Item | None:
        """Return the proposal that an event is about, if it is about one."""
        if event.mode != "review" or not event.item or event.item.startswith(DRAWN):
            return None
        row = connection.execute(
            "SELECT number, id, image_id, json FROM items WHERE id = ?", (event.item,)
        ).fetchone()
        if row is None or row[2] != event.image_id:
            raise InputError(f"image {event.image_id!r} has no proposal {event.item!r}")
        return _item(*row)


# --- writing --------------------------------------------------------------------------------------


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _dump(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"), default=dict)


def _insert(
    connection: sqlite3.Connection,
    event: Event,
    about: Sequence[Stored],
    regions: Mapping[str, Mapping[str, Any]],
    before: State,
) -> Stored:
    number = 1 + (connection.execute("SELECT max(number) FROM events").fetchone()[0] or 0)
    stored = Stored(number, _now(), event, before.facts(), {})
    after = fold_key(key_of(event), [*about, stored], regions)
    stored = replace(stored, after=after.facts())
    values = (
        *(number, event.id, stored.at, event.who, _rules.person(event), event.mode, event.kind),
        *(event.image_id, event.item, _dump(event.data), event.seconds, event.comment),
        *(_dump(stored.before), _dump(stored.after)),
    )
    connection.execute(
        "INSERT INTO events (number, id, at, who, person, mode, kind, image_id, item, data, "
        "seconds, comment, before, after) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        values,
    )
    reach("review:executed")
    return stored


def _repeated(stored: Stored, event: Event) -> Stored:
    """Return the event that was kept under an id, if this is the same one."""
    parts = ("who", "mode", "kind", "image_id", "item", "data", "comment")
    for part in parts:
        if getattr(stored.event, part) != getattr(event, part):
            raise InputError(
                f"id {event.id!r} is that of event {stored.number}, whose {part} is another; "
                "a new event needs a new id"
            )
    return replace(stored, repeated=True)


def _check_expected(
    connection: sqlite3.Connection, event: Event, key: Key, expected: int, before: State
) -> None:
    if event.kind == "comment":
        return
    version = before.version
    if not event.item:
        where = "mode = ? AND image_id = ?" if event.image_id else "mode = ?"
        values = (event.mode, event.image_id)[: where.count("?")]
        sql = f"SELECT max(number) FROM events WHERE {where}"  # noqa: S608
        version = connection.execute(sql, values).fetchone()[0] or 0
    if version == expected:
        return
    last = _rows(connection, "number = ?", (version,))
    said = f"event {version} by {last[0].event.who} ({last[0].event.kind})" if last else "no event"
    what = event.item or event.image_id or "the gold set"
    raise Conflict(
        f"{what} has changed: its last event is {said}, expected was {show(expected)}",
        before.to_dict() | {"version": version},
    )


def _fill(
    connection: sqlite3.Connection, dataset: Dataset, gold: Gold | None, choice: DataChoice | None
) -> None:
    facts = {
        "data": None if choice is None else choice.to_dict(),
        "gold": None if gold is None else gold.to_dict(),
        "root": None if dataset.root is None else str(dataset.root),
        "taxonomy": {name: list(above) for name, above in dataset.taxonomy.parents.items()},
        "made": _now(),
        "id": uuid4().hex,
    }
    for key, value in facts.items():
        connection.execute("INSERT INTO meta VALUES (?, ?)", (key, _dump(value)))
    chosen = frozenset(() if gold is None else gold.images)
    for sample in dataset:
        _add_image(connection, sample, dataset.root, gold=sample.image_id in chosen)
        reach("review:filled")


def _add_image(
    connection: sqlite3.Connection, sample: Sample, root: Path | None, *, gold: bool
) -> None:
    annotation, path = sample.annotation, sample.path
    size = annotation.width, annotation.height
    if None in size and path is not None and path.is_file():
        size = header_size(sample, root) or size
    named = path is not None and root is not None and path.is_relative_to(root)
    file = path.relative_to(root).as_posix() if named and path is not None and root else ""
    connection.execute(
        "INSERT INTO images (image_id, width, height, gold, split, file, labels) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (sample.image_id, *size, int(gold), sample.split, file, _dump(sample.labels)),
    )
    for dropped, regions in enumerate((annotation.regions, annotation.dropped)):
        for region in regions:
            connection.execute(
                "INSERT INTO regions (image_id, place, dropped, json) VALUES (?, ?, ?, ?)",
                (sample.image_id, region.index, dropped, _dump(region_record(region))),
            )


def _add_items(connection: sqlite3.Connection, proposals: Proposals) -> int:
    known = {image for (image,) in connection.execute("SELECT image_id FROM images")}
    added = 0
    for proposal in proposals.items:
        record = _proposal_record(proposal)
        if proposal.image_id not in known:
            raise InputError(
                f"proposal {proposal.id!r} is of image {proposal.image_id!r:.210}, which is not "
                f"among the {len(known)} of the review"
            )
        added += _add_once(connection, "items", proposal.id, proposal.image_id, record)
    said = {"data": proposals.data, "settings": dict(proposals.settings)}
    connection.execute(
        "INSERT INTO imports (at, added, json) VALUES (?, ?, ?)", (_now(), added, _dump(said))
    )
    reach("review:imported")
    return added


def _add_once(
    connection: sqlite3.Connection, table: str, name: str, image_id: str, record: Json
) -> int:
    """Add what has an id, unless it is there already; return how many were added."""
    sql = f"SELECT json FROM {table} WHERE id = ?"  # noqa: S608
    found = connection.execute(sql, (name,)).fetchone()
    if found is None:
        sql = f"INSERT INTO {table} (id, image_id, json) VALUES (?, ?, ?)"  # noqa: S608
        connection.execute(sql, (name, image_id, _dump(record)))
        reach("review:executed")
        return 1
    if not _alike(json.loads(found[0]), json.loads(_dump(record))):
        raise InputError(f"{table[:-1]} {name!r} is there already, and says something else")
    return 0


def _alike(one: Any, other: Any) -> bool:
    """Return whether two records say the same; numbers as far as machines agree on them."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= _NEAR
    return bool(one == other)


def _proposal_record(proposal: Proposal) -> Json:
    if check_id(proposal.id, "id of a proposal").startswith(DRAWN):
        raise InputError(f"id of a proposal must not begin with {DRAWN!r}, got {proposal.id!r}")
    score, prompt = number(float(proposal.score), "score"), proposal.prompt
    if prompt is not None and type(prompt) is not int:
        raise InputError(f"prompt must be the index of a region or none, got {show(prompt)}")
    texts = {name: text(getattr(proposal, name), name) for name in ("source", "model", "digest")}
    region = region_record(proposal.region)
    return {"region": region, "score": score, "prompt": prompt, **texts}


def _add_task(connection: sqlite3.Connection, task: TaskRecord) -> int:
    check_id(task.id, "id of a task")
    known = connection.execute("SELECT 1 FROM images WHERE image_id = ?", (task.image_id,))
    if known.fetchone() is None:
        raise InputError(f"task {task.id!r} is of image {task.image_id!r}, which is not there")
    record = {name: getattr(task, name) for name in TaskRecord.__dataclass_fields__}
    return _add_once(connection, "tasks", task.id, task.image_id, record)


# --- reading --------------------------------------------------------------------------------------


def _rows(
    connection: sqlite3.Connection, where: str, values: tuple[str | int, ...]
) -> list[Stored]:
    sql = f"SELECT {_EVENT} FROM events WHERE {where} ORDER BY number"  # noqa: S608
    return [_stored(row) for row in connection.execute(sql, values)]


def _about(connection: sqlite3.Connection, key: Key) -> list[Stored]:
    """Return the events about what a key names."""
    where = "mode = ? AND image_id = ? AND item = ?"
    if key.person:
        return _rows(connection, f"{where} AND person = ?", key)
    return _rows(connection, where, key[:3])


def _stored(row: tuple[Any, ...]) -> Stored:
    number, name, at, who, mode, kind, image_id, item, data, seconds, comment, before, after = row
    event = Event(name, who, mode, kind, image_id, item, json.loads(data), seconds, comment)
    return Stored(number, at, event, json.loads(before), json.loads(after))


def _item(number: int, name: str, image_id: str, record: str) -> Item:
    return Item(number, name, image_id, **json.loads(record))


def _image(image_id: str, width: int | None, height: int | None, gold: int, *about: str) -> Image:
    split, file, labels = about
    return Image(image_id, width, height, bool(gold), split, file, tuple(json.loads(labels)))


def _methods(record: str) -> tuple[str, ...]:
    return tuple(json.loads(record)["methods"])


def _annotation(image: Image, regions: list[Region], dropped: list[Region]) -> Annotation:
    return Annotation(
        image.image_id, image.width, image.height, tuple(regions), image.labels, tuple(dropped)
    )
