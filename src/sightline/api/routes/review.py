"""Reviewing proposals, and annotating the gold set: what is to decide, and decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from fastapi import APIRouter, Body, Path, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from sightline.annotation.completion import export
from sightline.annotation.events import Conflict, Event
from sightline.annotation.review import GoldView, ItemView, Person
from sightline.api.problems import MEDIA_TYPE, PROBLEMS, SENT, described, not_found, wrong
from sightline.api.review import Desk, event_of, finite, shape_of, warnings_of
from sightline.api.schemas_review import (
    GoldImage,
    GoldLine,
    GoldList,
    Mode,
    ProposalsAdded,
    ReviewConflict,
    ReviewEventAsked,
    ReviewEvents,
    ReviewHistory,
    ReviewImage,
    ReviewInfo,
    ReviewItem,
    ReviewPerson,
    ReviewQueue,
    ReviewRegion,
    ReviewSaved,
)
from sightline.api.state import Here, Service
from sightline.core import InputError, UnknownNameError

if TYPE_CHECKING:
    from sightline.annotation.proposals import Proposals

__all__ = ["BLIND", "CONFLICT", "READING", "WRITING", "conflict_response", "desk_of", "router"]

router = APIRouter(tags=["review"])

# How many of the proposals that do not fit are named.
_MOST_REFUSED = 100
_NO_GOLD = "the review has no gold set; `sightline gold draw` draws one"
_NONE = "no review is served; `sightline serve STORE --review FOLDER` serves one"


READING: dict[int | str, dict[str, Any]] = {
    404: described("No review is served, or it has no such image or item."),
    409: described("The review cannot answer this; `detail` says why."),
    422: PROBLEMS[422],
}
BLIND: dict[int | str, dict[str, Any]] = {
    403: described("The person did the other half of the image and must stay blind to this one."),
    **READING,
}
WRITING: dict[int | str, dict[str, Any]] = {
    **READING,
    **SENT,
    403: described("Asked by a page from elsewhere; or the person is not blind."),
}
CONFLICT = described(
    "Somebody else came first, or the gold set is done or locked; nothing was written.",
    "ReviewConflict",
)
_FILE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file.", "content": {"application/json": {}}},
    **READING,
}


def desk_of(request: Request) -> Desk:
    """Return the review that is served.

    Raises
    ------
    Refusal
        404, if none is.
    """
    desk = cast("Service", request.app.state.service).desk
    if desk is None:
        raise not_found(_NONE)
    return desk


WhoWord = Annotated[
    str,
    Query(max_length=60, description="Who asks: images that must stay hidden are left out."),
]
ImagePart = Annotated[
    str,
    Path(
        description="Id of an image of the review.", max_length=200, examples=["facade-00000.png"]
    ),
]
ItemPart = Annotated[
    str,
    Path(
        description="Id of a proposed or drawn region.",
        max_length=200,
        examples=["0c7a1f3de4b85a96"],
    ),
]


@router.get(
    "/api/review",
    response_model=ReviewInfo,
    responses=READING,
    summary="Where the review stands",
    description="Counts, people, labels, proposers, and what to be careful about. 404 where none "
    "is served: `sightline serve STORE --review FOLDER`.",
)
def review(request: Request, served: Here) -> ReviewInfo:
    """Return where the review stands."""
    desk = desk_of(request)
    attention = desk.look(served)
    with desk.answering():
        last = desk.review.refresh()
        (told, labels), proposers = desk.stands(), desk.proposers(served)
        counts = ("items", "open", "accepted", "rejected", "skipped", "edited", "drawn")
        return ReviewInfo(
            id=str(desk.journal.meta("id")),
            folder=desk.name,
            images=len(desk.journal.images),
            **{name: getattr(told, name) for name in counts},
            seconds_median=finite(told.seconds),
            people=tuple(_person(one) for one in told.people),
            labels=labels,
            gold=desk.gold(),
            last=last,
            proposers=proposers,
            order=attention.told,
            warnings=warnings_of(desk, served, proposers),
        )


def _person(one: Person) -> ReviewPerson:
    seconds = finite(one.seconds)
    return ReviewPerson(who=one.who, decisions=one.items, events=one.events, seconds_median=seconds)


@router.get(
    "/api/review/queue",
    response_model=ReviewQueue,
    responses=READING,
    summary="What is to decide next",
    description="Proposals that are not decided, by expected value: score × share of attention "
    "outside all regions of the image. Skipped ones come last.",
)
def review_queue(
    request: Request,
    served: Here,
    who: WhoWord = "",
    label: Annotated[
        str | None, Query(max_length=200, description="Only of this label, as it stands.")
    ] = None,
    image: Annotated[str | None, Query(max_length=200, description="Only of this image.")] = None,
    limit: Annotated[int, Query(ge=1, le=500, description="How many at most.")] = 50,
    offset: Annotated[int, Query(ge=0, le=10**9, description="How many to leave out before.")] = 0,
) -> ReviewQueue:
    """Return items that are not decided."""
    desk = desk_of(request)
    desk.look(served)
    with desk.answering():
        last = desk.review.refresh()
        found = [one for one in desk.review.queue(who) if _wanted(one, label, image)]
        page = tuple(desk.item(one) for one in found[offset : offset + limit])
        return ReviewQueue(total=len(found), items=page, last=last)


def _wanted(one: ItemView, label: str | None, image: str | None) -> bool:
    region = one.state.region or {}
    return (label is None or region.get("label", "") == label) and (
        image is None or one.image_id == image
    )


@router.get(
    "/api/review/images/{image}",
    response_model=ReviewImage,
    responses=BLIND,
    summary="An image with its proposals",
    description="What was annotated from the start, what was proposed, and what people drew. "
    "Nothing of a gold annotation. 403 for whoever annotated its gold.",
)
def review_image(
    request: Request, served: Here, image: ImagePart, who: WhoWord = ""
) -> ReviewImage:
    """Return an image for who reviews its proposals."""
    desk = desk_of(request)
    attention = desk.look(served)
    with desk.answering():
        last = desk.review.refresh()
        view = desk.review.image(image, who)
        size = view.width, view.height
        items = (*view.items, *(one for one in view.drawn if one.state.region is not None))
        return ReviewImage(
            image=image,
            width=view.width,
            height=view.height,
            given=tuple(
                ReviewRegion(index=one["index"], **shape_of(_bare(one), *size)._asdict())
                for one in view.given
            ),
            items=tuple(desk.item(one) for one in items),
            attention=attention.shares.get(image),
            version=view.version,
            last=last,
        )


def _bare(region: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in region.items() if name != "index"}


@router.get(
    "/api/review/items/{item}/history",
    response_model=ReviewHistory,
    responses=BLIND,
    summary="All that was done with a region",
    description="Every event about a proposed or drawn region, with who, when, before and after.",
)
def review_history(
    request: Request, served: Here, item: ItemPart, who: WhoWord = ""
) -> ReviewHistory:
    """Return all events about an item."""
    desk = desk_of(request)
    desk.look(served)
    with desk.answering():
        last = desk.review.refresh()
        view = desk.review.item(item)
        desk.review.image(view.image_id, who)  # refuses who is not blind
        events = tuple(event_of(one) for one in desk.review.history(item))
        return ReviewHistory(item=desk.item(view), events=events, last=last)


@router.get(
    "/api/review/events",
    response_model=ReviewEvents,
    responses=READING,
    summary="What was done since",
    description="Events in order, for pages that follow what others do; `last` says whether there "
    "is news. Those of the gold set are not among those of the review, nor the other way round.",
)
def review_events(
    request: Request,
    served: Here,
    after: Annotated[int, Query(ge=0, le=2**53, description="Number of the last one known.")] = 0,
    mode: Annotated[Mode, Query(description="About proposals, or about the gold set.")] = "review",
    who: WhoWord = "",
    limit: Annotated[int, Query(ge=1, le=1000, description="How many at most.")] = 200,
) -> ReviewEvents:
    """Return events."""
    desk = desk_of(request)
    with desk.answering():
        last = desk.review.refresh()
        hidden = desk.hidden(who, mode)
        found = desk.journal.events(after=after, mode=mode)
        seen = [one for one in found if one.event.image_id not in hidden]
        events = tuple(event_of(one) for one in seen[:limit])
        return ReviewEvents(events=events, last=last, more=len(seen) > limit)


@router.post(
    "/api/review/events",
    response_model=ReviewSaved,
    responses={**WRITING, 409: CONFLICT},
    summary="Decide",
    description="Keeps what a person did. Once answered it outlives any crash. The same `id` "
    "again is answered by what was kept, and changes nothing: send it again when the connection "
    "was lost. 409 where somebody else came first, with the item as it stands now. 403 where the "
    "person annotated the gold of the image, or reviewed its proposals. 404: no such image or "
    "item. The body must be application/json; an Origin header must name this host.",
)
def review_decide(
    request: Request, served: Here, asked: Annotated[ReviewEventAsked, Body()]
) -> ReviewSaved | Response:
    """Keep an event."""
    desk = desk_of(request)
    desk.look(served)
    with desk.answering():
        _check_named(desk, asked)
        try:
            stored = desk.journal.append(_event(asked), asked.expected)
        except Conflict as conflict:
            return _conflicting(desk, asked, conflict)
        last = desk.review.refresh()
        return ReviewSaved(
            event=event_of(stored),
            item=_item_now(desk, asked),
            version=_version_now(desk, asked),
            last=last,
            repeated=stored.repeated,
        )


def _check_named(desk: Desk, asked: ReviewEventAsked) -> None:
    """Raise where an event names what is not there, or leaves out what it needs."""
    if asked.kind in ("lock", "reopen"):
        return
    if asked.image not in desk.journal.images:
        count = len(desk.journal.images)
        raise not_found(f"no image {asked.image!r:.210} among the {count} of the review", "image")
    if asked.image in desk.hidden(asked.who, asked.mode):
        look = desk.review.gold_image if asked.mode == "gold" else desk.review.image
        look(asked.image, asked.who)  # says why not
    if asked.item is None:
        if asked.kind not in ("comment", "undo", "done"):
            raise wrong(f"item must name the region that {asked.kind} is about, got null", "item")
        return
    if asked.kind == "draw":
        return
    if asked.mode == "gold":
        if desk.journal.images[asked.image].gold and not desk.gold_item(asked.image, asked.item):
            raise not_found(f"no region {asked.item!r:.210} is drawn on {asked.image}", "item")
    elif desk.review.item(asked.item).image_id != asked.image:
        raise not_found(f"image {asked.image} has no item {asked.item!r:.210}", "item")


def _event(asked: ReviewEventAsked) -> Event:
    """Return what was done as the journal keeps it."""
    for field, kinds in (("after", ("edit", "draw")), ("undoes", ("undo",))):
        given, needed = getattr(asked, field) is not None, asked.kind in kinds
        if given != needed:
            must = f"must be given with kind {asked.kind}; got null"
            if given:
                fits = " or ".join(kinds)
                must = f"must be left out with kind {asked.kind}: it goes with {fits} alone"
            raise wrong(f"{field} {must}", field)
    if asked.kind == "comment" and not asked.comment.strip():
        raise wrong("comment is empty", "comment")
    data: dict[str, Any] = {}
    if asked.after is not None:
        data = asked.after.model_dump(mode="json", exclude_none=True)
    if asked.undoes is not None:
        data = {"event": asked.undoes}
    about = asked.image, asked.item or "", data, asked.seconds, asked.comment
    return Event(asked.id, asked.who, asked.mode, asked.kind, *about)


def _item_now(desk: Desk, asked: ReviewEventAsked) -> ReviewItem | None:
    """Return where the item of an event stands; None where it has none."""
    if asked.item is None:
        return None
    if asked.mode == "gold":
        view = desk.gold_item(asked.image, asked.item)
        return None if view is None else desk.item(view, "gold")
    try:
        return desk.item(desk.review.item(asked.item))
    except UnknownNameError:  # it was to be drawn
        return None


def _version_now(desk: Desk, asked: ReviewEventAsked) -> int:
    """Return what the next event about the same is to expect."""
    if (item := _item_now(desk, asked)) is not None:
        return item.version
    if asked.image:
        look = desk.review.gold_image if asked.mode == "gold" else desk.review.image
        return look(asked.image).version
    gold = desk.stands()[0].gold
    return 0 if gold is None else gold.version


def _conflicting(desk: Desk, asked: ReviewEventAsked, conflict: Conflict) -> Response:
    last = desk.review.refresh()
    item = _item_now(desk, asked)
    version = _version_now(desk, asked) if item is not None or asked.item is None else None
    return conflict_response(str(conflict), item, version, last)


def conflict_response(
    detail: str, item: ReviewItem | None, version: int | None, last: int
) -> Response:
    """Return the answer to whoever came second."""
    problem = ReviewConflict(
        title="Conflict", status=409, detail=detail, item=item, version=version, last=last
    )
    return Response(problem.model_dump_json(), 409, media_type=MEDIA_TYPE)


@router.get(
    "/api/review/export",
    response_class=Response,
    responses=_FILE,
    summary="The annotations that the review has come to",
    description="A JSON file with the origin of every region: what was given, accepted, edited, "
    "drawn, by whom, when, with which model. 409 for the gold set while it is not locked.",
)
def review_export(
    request: Request,
    served: Here,
    format: Annotated[  # noqa: A002  # the word for it
        Literal["plain", "coco"], Query(description="Sightline's own JSON, or COCO's.")
    ] = "plain",
    which: Annotated[
        Literal["completed", "gold"], Query(description="With accepted proposals, or the gold.")
    ] = "completed",
) -> Response:
    """Return the annotations as a file."""
    desk = desk_of(request)
    with desk.answering():
        if which == "gold" and desk.journal.gold is None:
            raise not_found("the review has no gold set", "which")
        with TemporaryDirectory() as folder:
            path = FilePath(folder, "annotations.json")
            export(desk.journal, path, format=format, which=which)
            content = path.read_bytes()
    name = f'attachment; filename="{which}-{format}.json"'
    return Response(content, media_type="application/json", headers={"Content-Disposition": name})


@router.post(
    "/api/review/proposals",
    response_model=ProposalsAdded,
    responses=WRITING,
    summary="Add proposals",
    description="The content of a file of proposals, 20 MB at most: Sightline's own, or a COCO "
    "file or plain JSON whose regions have scores. Those that are there already change nothing; "
    "those of other images are named in `refused`. COCO results alone are refused: they name "
    "images by number.",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"description": "The content of the file."},
                    "example": {"format": "sightline-proposals/1", "proposals": []},
                }
            },
        }
    },
)
async def review_propose(request: Request, served: Here) -> ProposalsAdded:
    """Add proposals."""
    desk = desk_of(request)
    return await run_in_threadpool(_add, desk, await request.body())


def _add(desk: Desk, content: bytes) -> ProposalsAdded:
    """Add the proposals of a file that have an image of the review."""
    with desk.answering():
        found = _read_proposals(content)
        known = desk.journal.images
        refused = tuple(
            f"proposal {one.id!r}: the review has no image {one.image_id!r:.210}"
            for one in found.items
            if one.image_id not in known
        )
        kept = tuple(one for one in found.items if one.image_id in known)
        added = desk.journal.add_proposals(replace(found, items=kept)) if kept else 0
        return ProposalsAdded(
            added=added,
            known=len(kept) - added,
            refused=refused[:_MOST_REFUSED],
            refused_count=len(refused),
            last=desk.review.refresh(),
        )


def _read_proposals(content: bytes) -> Proposals:
    """Return the proposals of a file that was sent; its content is data, and never a path."""
    from sightline.annotation.proposals import read_proposals

    with TemporaryDirectory() as folder:
        path = FilePath(folder, "proposals.json")
        path.write_bytes(content)
        try:
            return read_proposals(path)
        except InputError as error:
            told = str(error).replace(str(path), "the file")
            raise wrong(told, "body") from error


@router.get(
    "/api/review/gold",
    response_model=GoldList,
    responses=READING,
    summary="The gold set",
    description="Its images, how far they are, and how they were drawn. Nothing of proposals.",
)
def gold_list(request: Request, served: Here, who: WhoWord = "") -> GoldList:
    """Return the gold set."""
    desk = desk_of(request)
    with desk.answering():
        last = desk.review.refresh()
        told, gold = desk.gold(), desk.journal.gold
        if told is None or gold is None:
            raise not_found(_NO_GOLD)
        hidden = desk.hidden(who, "gold")
        lines = (_gold_line(desk.review.gold_image(one), hidden) for one in gold.images)
        about = told.model_dump(exclude={"images"})
        return GoldList(
            images=tuple(lines),
            count=told.images,
            **about,
            labels=desk.gold_labels(),
            warnings=gold.notes,
            last=last,
        )


def _gold_line(view: GoldView, hidden: frozenset[str]) -> GoldLine:
    drawn = sum(one.state.status == "accepted" for one in view.drawn)
    allowed = view.image_id not in hidden
    regions = drawn if allowed else None
    return GoldLine(image=view.image_id, done=view.done, regions=regions, allowed=allowed)


@router.get(
    "/api/review/gold/{image}",
    response_model=GoldImage,
    responses=BLIND,
    summary="A gold image",
    description="What people drew on it from scratch: never a proposal, nor what was given or "
    "completed. 403 for whoever reviewed its proposals.",
)
def gold_image(request: Request, served: Here, image: ImagePart, who: WhoWord = "") -> GoldImage:
    """Return a gold image."""
    desk = desk_of(request)
    with desk.answering():
        last = desk.review.refresh()
        known = desk.journal.images.get(image)
        if known is None or not known.gold:
            raise not_found(f"image {image!r:.210} is not in the gold set", "image")
        view = desk.review.gold_image(image, who)
        drawn = (one for one in view.drawn if one.state.status == "accepted")
        return GoldImage(
            image=image,
            width=view.width,
            height=view.height,
            regions=tuple(desk.item(one, "gold") for one in drawn),
            done=view.done,
            done_by=view.state.decision if view.done else None,
            locked=view.locked,
            version=view.version,
            last=last,
        )
