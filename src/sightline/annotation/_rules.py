"""What may be done by whom, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sightline.annotation.events import DRAWN, Conflict, Event, NotBlind, same_person
from sightline.annotation.states import counting_undos
from sightline.core import InputError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from sightline.annotation.events import Stored
    from sightline.annotation.journal import Image, Item
    from sightline.annotation.states import State

__all__ = ["check", "check_undo", "person"]

_OF_SET = ("lock", "reopen")
_OTHER = {"review": "gold", "gold": "review"}


def person(event: Event) -> str:
    """Return who did something, as people are compared."""
    return same_person(event.who)


def check(
    connection: sqlite3.Connection,
    event: Event,
    image: Image | None,
    item: Item | None,
    before: State,
) -> None:
    """Raise unless an event may be kept, whatever else has been seen.

    Raises
    ------
    Conflict
        If the gold image is done or the gold set locked.
    InputError
        If what it is about is not there, or the person is not blind.
    """
    if event.kind in _OF_SET:
        _check_set(connection, event)
        return
    if event.mode == "gold" and not event.image_id:
        raise InputError(f"{event.kind} needs an image; a lock is not undone, but reopened")
    if image is None:
        raise InputError(f"the review has no image {event.image_id!r}")
    if event.mode == "gold" and not image.gold:
        raise InputError(f"image {image.image_id!r} is not in the gold set")
    _check_item(connection, event, item, before)
    _check_blind(connection, event)
    if event.mode == "gold":
        _check_open(connection, event)
    _check_shape(event, image)


def check_undo(event: Event, about: Sequence[Stored]) -> None:
    """Raise unless what an event undoes is there and counts.

    Raises
    ------
    InputError
        Which names the event.
    """
    if event.kind != "undo":
        return
    wanted = event.data["event"]
    named = {stored.number: stored for stored in about}
    if wanted not in named:
        what = event.item or event.image_id
        raise InputError(f"event {wanted} is none of {what!r}: there is nothing to undo")
    undone = counting_undos(about)
    if wanted in undone:
        by = undone[wanted]
        raise InputError(
            f"event {wanted} is undone already, by event {by.number} of {by.event.who}; "
            "undo that to bring it back"
        )


def _check_item(
    connection: sqlite3.Connection, event: Event, item: Item | None, before: State
) -> None:
    if event.mode == "rating":
        _check_task(connection, event)
    elif event.kind == "done":
        if event.item:
            raise InputError(f"done is about an image, got the item {event.item!r}")
    elif not event.item:
        if event.kind not in ("comment", "undo"):
            raise InputError(f"{event.kind} is about a region: item must name it, got none")
    elif item is None:
        _check_drawn(connection, event, before)
    elif event.kind == "draw":
        raise InputError(f"item of a drawn region must begin with {DRAWN!r}, got {event.item!r}")


def _check_drawn(connection: sqlite3.Connection, event: Event, before: State) -> None:
    """Raise unless a region that a person drew is there, or a new one gets a name of its own."""
    if not event.item.startswith(DRAWN) or event.item == DRAWN:
        raise InputError(
            f"item in mode {event.mode} must be a drawn region, {DRAWN}…, got {event.item!r}"
        )
    row = connection.execute(
        "SELECT mode, image_id FROM events WHERE item = ? ORDER BY number LIMIT 1", (event.item,)
    ).fetchone()
    if event.kind == "draw":
        if row is not None:
            raise Conflict(f"{event.item!r} is drawn already; give another name", before.to_dict())
    elif row != (event.mode, event.image_id):
        raise InputError(
            f"image {event.image_id!r} has no drawn region {event.item!r} in mode {event.mode}"
        )
    elif event.kind == "skip":
        raise InputError(f"a drawn region cannot be skipped: {event.item!r}")
    elif event.kind not in ("undo", "comment") and before.region is None:
        raise InputError(f"{event.item!r} is withdrawn; undo that first")


def _check_task(connection: sqlite3.Connection, event: Event) -> None:
    row = connection.execute(
        "SELECT image_id, json_extract(json, '$.kind') FROM tasks WHERE id = ?", (event.item,)
    ).fetchone()
    if row is None or row[0] != event.image_id:
        raise InputError(f"image {event.image_id!r} has no task {event.item!r}")
    if event.kind in ("rate", "choose") and event.kind != row[1]:
        raise InputError(f"task {event.item!r} asks to {row[1]}, got {event.kind}")


# --- gold -----------------------------------------------------------------------------------------


def is_locked(connection: sqlite3.Connection) -> bool:
    """Return whether the gold set is locked."""
    row = connection.execute(
        "SELECT kind FROM events WHERE mode = 'gold' AND image_id = '' "
        "AND kind IN ('lock', 'reopen') ORDER BY number DESC LIMIT 1"
    ).fetchone()
    return row is not None and row[0] == "lock"


def _is_done(connection: sqlite3.Connection, image_id: str) -> bool:
    """Return whether a gold image is marked as done: that is undone by undoing the mark."""
    rows = connection.execute(
        "SELECT kind, json_extract(after, '$.status') FROM events WHERE mode = 'gold' "
        "AND image_id = ? AND item = '' ORDER BY number DESC LIMIT 1",
        (image_id,),
    ).fetchone()
    return rows is not None and rows[1] == "done"


def _check_set(connection: sqlite3.Connection, event: Event) -> None:
    if event.image_id or event.item:
        raise InputError(f"{event.kind} is about the gold set, got image {event.image_id!r}")
    gold = [row[0] for row in connection.execute("SELECT image_id FROM images WHERE gold = 1")]
    if not gold:
        raise InputError("the review has no gold set")
    locked = is_locked(connection)
    if event.kind == "reopen":
        if not locked:
            raise Conflict("the gold set is not locked", {"status": "open"})
        if not event.comment.strip():
            raise InputError("to reopen the gold set, say why: comment is empty")
        return
    if locked:
        raise Conflict("the gold set is locked already", {"status": "locked"})
    if left := [image for image in gold if not _is_done(connection, image)]:
        raise InputError(
            f"{len(left)} of {len(gold)} gold images are not done, the first is {left[0]!r}"
        )


def _check_open(connection: sqlite3.Connection, event: Event) -> None:
    if is_locked(connection):
        raise Conflict(
            "the gold set is locked: nothing in it changes unless it is reopened, with a reason",
            {"status": "locked"},
        )
    changes = event.kind != "comment" and (event.item or event.kind == "done")
    if changes and _is_done(connection, event.image_id):
        raise Conflict(
            f"gold image {event.image_id!r} is done; undo that to change it", {"status": "done"}
        )


def _check_blind(connection: sqlite3.Connection, event: Event) -> None:
    """Raise if a person works on the proposals and on the gold of one image."""
    other = _OTHER.get(event.mode)
    row = connection.execute(
        "SELECT number, who FROM events WHERE mode = ? AND image_id = ? AND person = ? LIMIT 1",
        (other, event.image_id, person(event)),
    ).fetchone()
    if row is not None:
        raise NotBlind(not_blind(event.who, event.image_id, event.mode, row))


def not_blind(who: str, image_id: str, mode: str, row: Any) -> str:
    """Return why a person may not work on an image."""
    did, may = "annotated the gold of", "review its proposals"
    if mode == "gold":
        did, may = "reviewed proposals of", "annotate its gold"
    return (
        f"{row[1]!r} {did} image {image_id!r} (event {row[0]}), so {who!r} may not {may}: "
        "one must be blind to the other"
    )


def _check_shape(event: Event, image: Image) -> None:
    rle = event.data.get("rle")
    if rle is not None and rle["size"] != [image.height, image.width]:
        raise InputError(
            f"mask must have the size of the image, {image.height} x {image.width} (height x "
            f"width), got {rle['size']}"
        )
