"""The journal: what is kept, what is refused, and that nothing is ever changed."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from sightline.annotation._file import FILE
from sightline.annotation.events import Conflict, Event
from sightline.annotation.gold import draw_gold
from sightline.annotation.journal import Journal
from sightline.annotation.review import Review
from sightline.core import InputError, UnknownNameError
from sightline.data.choice import DataChoice
from tests.annotation.reviews import (
    BOX,
    GOLD,
    IMAGES,
    batch,
    churches,
    draw,
    event,
    new_review,
    proposed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with new_review(tmp_path) as made:
        yield made


def count(journal: Journal) -> int:
    return len(journal.events())


# --- what was there from the start ----------------------------------------------------------------


def test_a_review_keeps_what_it_was_made_from(journal: Journal) -> None:
    given = journal.given()
    assert list(journal.images) == list(IMAGES) == list(given)
    assert [one.gold for one in journal.images.values()] == [True, True, False, False]
    one = given[IMAGES[0]]
    assert [(r.label, r.box, r.index, r.source) for r in one.regions] == [
        ("window", (0.0, 0.0, 0.25, 0.25), 0, "1")
    ]
    assert [(r.label, r.index, r.flags) for r in one.dropped] == [("door", 1, ("hidden",))]
    assert (one.width, one.height, one.labels) == (40, 20, ("Baroque",))
    items = journal.items()
    assert [(i.id, i.image_id, i.model, i.digest) for i in items[:2]] == [
        ("p0", IMAGES[0], "demo/vit-dino", "0123abcd"),
        ("p1", IMAGES[1], "demo/vit-dino", "0123abcd"),
    ]
    assert items[0].region == {
        "label": "window",
        "box": [0.25, 0.25, 0.5, 0.5],
        "source": "similarity",
        "score": 0.9,
    }
    assert journal.gold is not None
    assert journal.gold.images == GOLD
    assert not journal.gold.random


def test_the_data_set_is_opened_again(tmp_path: Path) -> None:
    choice = DataChoice("facades", count=3, options={"seed": 5, "labelling": "representative"})
    with Journal.create(tmp_path, choice.open(), choice=choice) as made:
        again = made.dataset()
        assert again.ids == tuple(made.images)
        assert again[0].annotation.regions[0].label == made.given()[again.ids[0]].regions[0].label
    other = DataChoice("facades", count=2, options={"seed": 5})
    with (
        Journal.create(tmp_path / "b.sqlite", choice.open(), choice=other) as made,
        pytest.raises(InputError, match=r"has no image 'facade-00002.png' any more"),
    ):
        made.dataset()
    with Journal.create(tmp_path / "c.sqlite", churches()) as made:
        with pytest.raises(InputError, match="does not say which data set"):
            made.dataset()
        with pytest.raises(UnknownNameError, match="'nothing'"):
            made.meta("nothing")


def test_a_review_is_not_made_twice(tmp_path: Path) -> None:
    new_review(tmp_path).close()
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(InputError, match="there is a review already"):
        new_review(tmp_path)
    assert (tmp_path / FILE).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_a_review_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'else.jpg', which is not among the 4"):
        Journal.create(tmp_path, churches(), batch([proposed("p", "else.jpg")]))
    gold = draw_gold(churches(IMAGES[:3]), 2, 0)
    with pytest.raises(InputError, match="drawn from 3 images, which are not these 4"):
        Journal.create(tmp_path, churches(), gold=gold)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match=r"folder .* does not exist"):
        Journal.create(tmp_path / "no" / "r.sqlite", churches())


def test_proposals_are_added_once(journal: Journal) -> None:
    more = [proposed("p0", IMAGES[0], 0.9), proposed("new", IMAGES[1])]
    assert journal.add_proposals(batch(more)) == 1
    assert journal.add_proposals(batch(more)) == 0
    near = replace(more[0], score=more[0].score + 1e-7)  # made again on another machine
    assert journal.add_proposals(batch([near])) == 0
    assert [item.id for item in journal.items(after=6)] == ["new"]
    assert [one["added"] for one in journal.imports()] == [6, 1, 0, 0]
    assert journal.imports()[1]["settings"] == {"threshold": 0.5}
    other = [proposed("good", IMAGES[0]), proposed("p0", IMAGES[0], score=0.3)]
    with pytest.raises(InputError, match="item 'p0' is there already, and says something else"):
        journal.add_proposals(batch(other))
    assert len(journal.items()) == 7  # "good" was not added either
    with pytest.raises(InputError, match="must not begin with 'drawn-'"):
        journal.add_proposals(batch([proposed("drawn-1", IMAGES[0])]))


# --- events ---------------------------------------------------------------------------------------


def test_an_event_keeps_who_when_what_before_and_after(journal: Journal) -> None:
    stored = journal.append(event("accept", "p2", " Anna  Berg ", seconds=2.5, comment="clear"))
    (kept,) = journal.events()
    assert kept == stored
    assert (kept.number, kept.event.who, kept.event.seconds) == (1, "Anna Berg", 2.5)
    assert kept.at.endswith("+00:00")
    assert (kept.before["status"], kept.after["status"]) == ("open", "accepted")
    told = json.loads(json.dumps(kept.to_dict()))
    assert told["after"]["region"]["box"] == [0.25, 0.25, 0.5, 0.5]
    assert told["comment"] == "clear"


def test_an_event_sent_twice_is_kept_once(journal: Journal) -> None:
    sent = event("accept", id="one")
    first = journal.append(sent)
    journal.append(event("reject"), expected=1)
    again = journal.append(sent)  # the answer was lost; meanwhile somebody else decided
    assert again.repeated
    assert not first.repeated
    assert (again.number, again.after) == (first.number, first.after)
    assert count(journal) == 2
    with pytest.raises(InputError, match="'one' is that of event 1, whose kind is another"):
        journal.append(event("reject", id="one"), expected=2)


def test_a_second_person_gets_a_conflict_with_the_present_state(journal: Journal) -> None:
    journal.append(event("accept", who="anna"))
    with pytest.raises(Conflict, match="p2 has changed: its last event is event 1 by anna") as hit:
        journal.append(event("reject", who="bo"), expected=0)
    assert hit.value.state["status"] == "accepted"
    assert hit.value.state["version"] == 1
    assert count(journal) == 1
    stored = journal.append(event("reject", who="bo"), expected=hit.value.state["version"])
    assert stored.before["status"] == "accepted"
    with pytest.raises(Conflict, match="expected was 7"):
        journal.append(event("accept", "p3"), expected=7)


def test_comments_never_conflict(journal: Journal) -> None:
    journal.append(event("accept"))
    for n in range(2):
        journal.append(event("comment", who=f"bo{n}", comment="hm"), expected=0)
    journal.append(event("comment", "", comment="of the image", image_id=IMAGES[2]))
    view = Review(journal).image(IMAGES[2])
    assert [one["text"] for one in view.items[0].state.comments] == ["hm", "hm"]
    assert [one["text"] for one in view.state.comments] == ["of the image"]
    assert view.items[0].state.status == "accepted"
    assert (view.items[0].state.version, view.version) == (3, 4)


def test_undo_is_an_event_and_of_anyone(journal: Journal) -> None:
    journal.append(event("accept", who="anna"))
    undone = journal.append(event("undo", who="bo", data={"event": 1}), expected=1)
    assert (undone.before["status"], undone.after["status"]) == ("accepted", "open")
    redone = journal.append(event("undo", data={"event": 2}), expected=2)
    assert redone.after["status"] == "accepted"
    with pytest.raises(InputError, match="event 2 is undone already, by event 3 of anna"):
        journal.append(event("undo", data={"event": 2}), expected=3)
    with pytest.raises(InputError, match="event 9 is none of 'p2'"):
        journal.append(event("undo", data={"event": 9}), expected=3)
    with pytest.raises(InputError, match="event 1 is none of 'p3'"):
        journal.append(event("undo", "p3", data={"event": 1}))


def test_edits_keep_what_they_do_not_change(journal: Journal) -> None:
    journal.append(event("edit", data={"box": [0.1, 0.1, 0.2, 0.2]}))
    both = journal.append(event("edit", data={"label": "rose window"}), expected=1)
    assert both.after["region"]["label"] == "rose window"
    assert both.after["region"]["box"] == [0.1, 0.1, 0.2, 0.2]
    assert both.after["region"]["score"] == pytest.approx(0.7)
    # An undone event counts as if it had never been, also with others after it.
    back = journal.append(event("undo", data={"event": 1}), expected=2)
    assert back.after["region"]["box"] == [0.25, 0.25, 0.5, 0.5]
    assert back.after["region"]["label"] == "rose window"
    shape = {"polygon": [[0, 0], [1, 0], [1, 1]]}
    drawn = journal.append(event("edit", data=shape), expected=3)
    assert "box" not in drawn.after["region"]
    rejected = journal.append(event("reject"), expected=4)
    assert rejected.after["region"] == drawn.after["region"]


def test_what_is_drawn_can_be_changed_and_withdrawn(journal: Journal) -> None:
    name = "drawn-1"
    draw(journal, IMAGES[2], name, mode="review")
    journal.append(event("edit", name, data={"label": "door"}), expected=1)
    gone = journal.append(event("undo", name, data={"event": 1}), expected=2)
    assert (gone.after["status"], gone.after["region"]) == ("withdrawn", None)
    with pytest.raises(InputError, match="'drawn-1' is withdrawn; undo that first"):
        journal.append(event("accept", name), expected=3)
    back = journal.append(event("undo", name, data={"event": 3}), expected=3)
    assert back.after["region"] == BOX | {"label": "door"}
    with pytest.raises(Conflict, match="'drawn-1' is drawn already"):
        draw(journal, IMAGES[3], name, mode="review")
    with pytest.raises(InputError, match="cannot be skipped"):
        journal.append(event("skip", name), expected=4)


def test_what_is_drawn_belongs_to_its_image_and_mode(journal: Journal) -> None:
    draw(journal, GOLD[0], "drawn-1")
    draw(journal, IMAGES[2], "drawn-2", mode="review")
    wrong = [
        event("reject", "drawn-1", image_id=GOLD[0]),
        event("reject", "drawn-2", image_id=IMAGES[3]),
        event("comment", "drawn-1", image_id=GOLD[0], comment="seen"),
    ]
    for one in wrong:
        with pytest.raises(InputError, match="has no drawn region"):
            journal.append(one, expected=1)
    assert count(journal) == 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (event("accept", "p9", image_id=IMAGES[2]), "has no proposal 'p9'"),
        (event("accept", "p2", image_id=IMAGES[1]), "'church-1.jpg' has no proposal 'p2'"),
        (event("accept", "p2", image_id="else"), "'else' has no proposal 'p2'"),
        (event("comment", "", image_id="else", comment="?"), "the review has no image 'else'"),
        (event("accept", "", image_id=IMAGES[2]), "accept is about a region"),
        (event("accept", "drawn-9"), "has no drawn region 'drawn-9' in mode review"),
        (event("draw", "p2", data=BOX), "must begin with 'drawn-'"),
        (event("draw", "drawn-", data=BOX), "must be a drawn region"),
        (event("done", "p2"), "kind in mode review must be one of"),
        (event("rate", "p2", mode="rating", data={"answer": 3}), "has no task 'p2'"),
        (event("draw", "drawn-1", mode="gold", data=BOX), "'church-2.jpg' is not in the gold set"),
        (event("accept", "p0", mode="gold"), "must be a drawn region"),
    ],
)
def test_what_is_not_there_is_named(journal: Journal, wrong: Event, said: str) -> None:
    with pytest.raises(InputError, match=said):
        journal.append(wrong)
    assert count(journal) == 0


# --- gold -----------------------------------------------------------------------------------------


def gold(kind: str, image: str = "", item: str = "", **more: Any) -> Event:
    return event(kind, item, more.pop("who", "gil"), mode="gold", image_id=image, **more)


def lock_all(journal: Journal) -> int:
    for image in GOLD:
        drawn = draw(journal, image, f"drawn-{image}")
        journal.append(gold("done", image), expected=drawn.number)
    return journal.append(gold("lock"), expected=count(journal)).number


def test_a_locked_gold_set_takes_nothing_until_it_is_reopened(journal: Journal) -> None:
    number = lock_all(journal)
    name = f"drawn-{GOLD[0]}"
    refused = [
        gold("draw", GOLD[0], "drawn-x", data=BOX),
        gold("reject", GOLD[0], name),
        gold("comment", GOLD[0], comment="?"),
        gold("undo", GOLD[0], data={"event": 2}),
        gold("done", GOLD[0]),
    ]
    for one in refused:
        with pytest.raises(Conflict, match="gold set is locked"):
            journal.append(one, expected=number)
    with pytest.raises(InputError, match="say why"):
        journal.append(gold("reopen"), expected=number)
    assert count(journal) == number
    journal.append(gold("reopen", comment="a door was missed"), expected=number)
    with pytest.raises(Conflict, match=r"'church-0.jpg' is done; undo that"):
        journal.append(gold("draw", GOLD[0], "drawn-x", data=BOX))
    journal.append(gold("undo", GOLD[0], data={"event": 2}), expected=2)
    draw(journal, GOLD[0], "drawn-x")
    with pytest.raises(InputError, match="1 of 2 gold images are not done"):
        journal.append(gold("lock"), expected=count(journal))
    journal.append(gold("done", GOLD[0]), expected=count(journal))
    journal.append(gold("lock"), expected=count(journal))
    progress = Review(journal).progress().gold
    assert progress is not None
    assert (progress.done, progress.locked, progress.reopened) == (2, True, 1)


def test_the_lock_itself_is_not_undone(journal: Journal) -> None:
    number = lock_all(journal)
    with pytest.raises(InputError, match="a lock is not undone, but reopened"):
        journal.append(gold("undo", data={"event": number}), expected=number)
    assert Review(journal).progress().gold.locked  # type: ignore[union-attr]
    with pytest.raises(Conflict, match="locked already"):
        journal.append(gold("lock"), expected=number)


def test_done_needs_to_have_seen_all_that_was_drawn(journal: Journal) -> None:
    first = draw(journal, GOLD[0], "drawn-1")
    draw(journal, GOLD[0], "drawn-2")  # in another tab
    with pytest.raises(Conflict) as hit:
        journal.append(gold("done", GOLD[0]), expected=first.number)
    assert hit.value.state["version"] == 2
    journal.append(gold("done", GOLD[0]), expected=2)


def test_gold_and_review_of_an_image_are_by_different_people(journal: Journal) -> None:
    draw(journal, GOLD[0], "drawn-1", who="Gil Ort")
    for name in ("Gil Ort", "gil  ORT", "ｇｉｌ ort"):
        said = rf"'Gil Ort' annotated the gold of image '{GOLD[0]}' \(event 1\), so '.*' may not"
        with pytest.raises(InputError, match=said):
            journal.append(event("accept", "p0", name))
    journal.append(event("accept", "p0", "anna"))
    said = r"'anna' reviewed proposals of .* 'ANNA' may not annotate"
    with pytest.raises(InputError, match=said):
        draw(journal, GOLD[0], "drawn-2", who="ANNA")
    journal.append(event("accept", "p2", "gil ort"))  # another image
    assert count(journal) == 3
    # The undoing of a decision was seen, too.
    journal.append(event("undo", "p0", "anna", data={"event": 2}), expected=2)
    with pytest.raises(InputError, match="blind"):
        draw(journal, GOLD[0], "drawn-3", who="anna")


# --- hostile and odd input ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ['"; DROP TABLE events; --', "' OR 1=1", "%_", "ünï çødé", "x" * 200]
)
def test_strange_names_are_data(journal: Journal, name: str) -> None:
    journal.append(event("accept", id=name, who=name[:100], comment=name * 10))
    (kept,) = journal.events()
    assert (kept.event.id, kept.event.who, kept.event.comment) == (name, name[:100], name * 10)
    assert journal.append(event("accept", id=name, who=name[:100], comment=name * 10)).repeated


@pytest.mark.parametrize("part", ["id", "who", "item", "image_id", "comment"])
@pytest.mark.parametrize("value", ["a\0b", "x" * 100_000, "\ud800", 7, None], ids=repr)
def test_what_cannot_be_kept_is_refused(journal: Journal, part: str, value: Any) -> None:
    parts: dict[str, Any] = {"id": "e", "who": "anna", "item": "p2", "image_id": IMAGES[2]}
    with pytest.raises(InputError) as hit:
        journal.append(Event(mode="review", kind="accept", **parts | {part: value}))
    assert len(str(hit.value)) < 1000
    assert count(journal) == 0


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"label": "a"},
        {"label": "a", "box": [0, 0, 1, 1], "rle": {}},
        {"label": "a", "box": [0.5, 0, 0.5, 1]},
        {"label": "a", "box": [0, 0, 1.5, 1]},
        {"label": "a", "box": [0, 0, float("nan"), 1]},
        {"label": "a", "box": [0, 0, 10**400, 1]},
        {"label": "a", "box": "all"},
        {"label": "a\0", "box": [0, 0, 1, 1]},
        {"label": "a", "box": [0, 0, 1, 1], "score": 1},
        {"label": "a", "polygon": [[0, 0], [1, 1]]},
        {"label": "a", "polygon": [[0, 0]] * 100_000},
        {"label": "a", "rle": {"size": [10**9, 10**9], "counts": "1"}},
        {"label": "a", "rle": {"size": [3, 3], "counts": [4, 1, 4]}},
        {"label": object()},
        [],
    ],
)
def test_regions_that_do_not_fit_are_refused(journal: Journal, data: Any) -> None:
    with pytest.raises(InputError):
        journal.append(event("draw", "drawn-1", data=data))
    assert count(journal) == 0


def test_masks_have_the_size_of_their_image(journal: Journal) -> None:
    rle = {"size": [20, 40], "counts": [20, 40, 740]}
    stored = journal.append(event("draw", "drawn-1", data={"label": "a", "rle": rle}))
    assert stored.after["region"]["rle"]["size"] == [20, 40]


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 1e9, "3", True])
def test_times_are_sane(journal: Journal, seconds: Any) -> None:
    with pytest.raises(InputError, match="seconds must be"):
        journal.append(event("accept", seconds=seconds))


# --- the file -------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["events", "items", "images", "regions", "imports", "meta"])
def test_sqlite_itself_refuses_changes(journal: Journal, table: str) -> None:
    journal.append(event("accept", id="one"))
    other = sqlite3.connect(journal.path)
    before = other.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608
    columns = ", ".join("?" * len(before[0]))
    changes: list[tuple[str, tuple[Any, ...]]] = [
        (f"DELETE FROM {table}", ()),  # noqa: S608
        (f"UPDATE {table} SET rowid = rowid + 1", ()),  # noqa: S608
        (f"INSERT OR REPLACE INTO {table} VALUES ({columns})", before[0]),  # noqa: S608
    ]
    for sql, values in changes:
        with pytest.raises(sqlite3.IntegrityError, match="only added to"):
            other.execute(sql, values)
    other.rollback()
    assert other.execute(f"SELECT * FROM {table}").fetchall() == before  # noqa: S608
    other.close()


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE notes (text)")
    other.close()


def newer(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 2")
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    other.close()


def damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:8192] = b"\xff" * 4096
    path.write_bytes(bytes(content))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


SPOILT = {
    foreign: "is a database of another program",
    newer: "version must be 1, is 2; a newer Sightline made it",
    damaged: "is damaged",
    cut: "is damaged",
    lambda path: path.write_text("hello " * 100): "is something else",
    lambda path: path.write_bytes(b""): "is something else",
}


@pytest.mark.parametrize(("spoil", "said"), SPOILT.items())
def test_what_is_no_review_is_left_as_it_is(tmp_path: Path, spoil: Any, said: str) -> None:
    path = tmp_path / FILE
    if spoil is not foreign:
        new_review(tmp_path).close()
    spoil(path)
    before = path.read_bytes()
    with pytest.raises(InputError, match=said) as hit:
        Journal.open(tmp_path)
    assert str(path) in str(hit.value)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == [FILE]


def test_a_full_disk_loses_nothing_and_is_said(journal: Journal) -> None:
    journal.append(event("accept"))
    pages = journal._connection.execute("PRAGMA page_count").fetchone()[0]
    journal._connection.execute(f"PRAGMA max_page_count = {pages}")
    data = {"label": "a", "polygon": [[n / 9999, n % 2 / 9] for n in range(7000)]}
    with pytest.raises(InputError, match=r"review\.sqlite: database or disk is full"):
        journal.append(event("draw", "drawn-1", data=data))
    assert count(journal) == 1
    journal._connection.execute("PRAGMA max_page_count = 1000000")
    assert journal.append(event("draw", "drawn-1", data=data)).number == 2


def test_a_review_is_made_where_files_cannot_be_linked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.link", refuse)
    new_review(tmp_path).close()
    with pytest.raises(InputError, match="there is a review already"):
        new_review(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_a_missing_review_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file; `sightline review new"):
        Journal.open(tmp_path)
    with pytest.raises(InputError, match="no such file"):
        Journal.open(tmp_path / "none")


def test_a_review_can_be_moved(tmp_path: Path) -> None:
    with new_review(tmp_path) as made:
        made.append(event("accept"))
        told = made.events(mode="review")
    shutil.copytree(tmp_path, tmp_path / "copy", ignore=lambda *_: ["copy"])
    with Journal.open(tmp_path / "copy" / FILE) as moved:
        assert moved.events(mode="review") == told
        assert moved.events(mode="gold") == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM tasks; END", "no review has"),
        ("CREATE VIEW other AS SELECT * FROM events", "no review has"),
        ("DROP TRIGGER events_no_delete", "every review has"),
    ],
)
def test_a_file_made_of_anything_else_is_refused(tmp_path: Path, change: str, told: str) -> None:
    new_review(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / "review.sqlite")) as connection:
        connection.execute(change)
    with pytest.raises(InputError, match=f"what {told}: 'CREATE "):
        Journal.open(tmp_path)
