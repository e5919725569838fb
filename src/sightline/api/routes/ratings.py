"""People judge maps, blind to the methods that made them."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, Literal, cast
from urllib.parse import quote

from fastapi import APIRouter, Body, Path, Query, Request
from fastapi.responses import Response

from sightline.annotation.events import Conflict, same_person
from sightline.annotation.journal import TaskRecord
from sightline.annotation.rating_tasks import (
    method_of,
    next_tasks,
    rating_event,
    shown_task,
)
from sightline.annotation.ratings import Judged, answers, summarise_ratings
from sightline.annotation.states import Key, fold
from sightline.api.choice import AskedMap
from sightline.api.problems import Refusal, not_found, picture
from sightline.api.review import Desk, finite
from sightline.api.routes.maps import get_overlay
from sightline.api.routes.review import (
    BLIND,
    CONFLICT,
    READING,
    WRITING,
    conflict_response,
    desk_of,
)
from sightline.api.schemas_review import (
    RatingAgreement,
    RatingAnswerAsked,
    RatingInfo,
    RatingKind,
    RatingLine,
    RatingNext,
    RatingSaved,
    RatingSummary,
    RatingTask,
)
from sightline.api.state import Here
from sightline.stats.agreement import Alpha

__all__ = ["router"]

router = APIRouter(tags=["rating"])

_NOTE = "Means over images and people; intervals are for other images and other people."
_UNBLINDED = " Shown before all questions were answered: answers after this are not blind."
RaterWord = Annotated[
    str, Query(min_length=1, max_length=60, description="Who asks.", examples=["Anna"])
]
TaskPart = Annotated[
    str,
    Path(
        description="Id of a question.", max_length=200, examples=["task-3f2a90bb17c4d5e6f7a8b9c0"]
    ),
]


@router.get(
    "/api/rating",
    response_model=RatingInfo,
    responses=READING,
    summary="How far a person is with the questions about maps",
    description="How many there are, and how many this person has answered.",
)
def rating(request: Request, served: Here, who: RaterWord) -> RatingInfo:
    """Return how far a person is."""
    desk = desk_of(request)
    with desk.answering():
        tasks = desk.journal.tasks()
        return RatingInfo(
            tasks=len(tasks),
            done=len(tasks) - len(next_tasks(desk.journal, who)),
            kinds=dict(Counter(task.kind for task in tasks)),
            people=len(_people(desk)),
        )


def _people(desk: Desk) -> set[str]:
    given = answers(desk.journal.tasks(), desk.journal.events(mode="rating"))
    return {one.person for one in given}


@router.get(
    "/api/rating/next",
    response_model=RatingNext,
    responses=READING,
    summary="The next question about maps",
    description="In an order that differs from person to person. No method is named, nor does an "
    "address tell one.",
)
def rating_next(request: Request, served: Here, who: RaterWord) -> RatingNext:
    """Return the next question."""
    desk = desk_of(request)
    with desk.answering():
        count, left = len(desk.journal.tasks()), next_tasks(desk.journal, who)
        task = _shown(desk, left[0], who) if left else None
        return RatingNext(task=task, tasks=count, done=count - len(left))


def _shown(desk: Desk, task: TaskRecord, who: str) -> RatingTask:
    """Return what a person is shown of a question: no method is named."""
    states = fold(desk.journal.events(mode="rating", image_id=task.image_id))
    state = states.get(Key("rating", task.image_id, task.id, same_person(who)))
    places = [f"/api/rating/tasks/{quote(task.id, safe='')}/{side}.png" for side in _sides(task)]
    return RatingTask(
        id=task.id,
        image=task.image_id,
        kind=cast("RatingKind", task.kind),
        left=places[0],
        right=places[1] if len(places) > 1 else None,
        version=0 if state is None else state.version,
    )


def _sides(task: TaskRecord) -> list[str]:
    found: list[str] = shown_task(task)["sides"]
    return found


def _task(desk: Desk, name: str) -> TaskRecord:
    for task in desk.journal.tasks():
        if task.id == name:
            return task
    raise not_found(f"no question {name!r:.210} is asked", "task")


@router.get(
    "/api/rating/tasks/{task}/{side}.png",
    response_class=Response,
    responses={**picture("image/png"), **READING},
    summary="A map that is to be judged",
    description="The image with the map over it, in the colours of all the others.",
)
def rating_picture(
    request: Request,
    served: Here,
    task: TaskPart,
    side: Annotated[
        Literal["left", "right"], Path(description="Of the question.", examples=["left"])
    ],
    size: Annotated[int, Query(ge=64, le=2048, description="Pixels of the longer side.")] = 640,
) -> Response:
    """Return a map over its image."""
    desk = desk_of(request)
    with desk.answering():
        asked = _task(desk, task)
        words = _map_words(method_of(asked, side))
    try:
        return get_overlay(
            served, asked.image_id, words, colour="inferno", outline=False, size=size
        )
    except Refusal as refusal:  # which must not name the method
        told = f"the map of question {asked.id} cannot be drawn from this store"
        raise Refusal(409, told) from refusal


def _map_words(name: str) -> AskedMap:
    """Return the words that choose a map by its name in a question.

    >>> found = _map_words("demo/vit-dino@lora rollout@2")
    >>> found.model, found.method, found.layer
    ('demo/vit-dino@lora', 'rollout', 2)
    """
    model, _, rest = name.rpartition(" ")
    method, _, layer = rest.partition("@")
    number = layer.removeprefix("layer")
    if layer and not (number.isascii() and number.isdigit() and len(number) < 6):
        raise Refusal(409, "a question names a layer that is no number")
    return AskedMap(model=model or None, method=method, layer=int(number) if layer else None)


@router.post(
    "/api/rating/answers",
    response_model=RatingSaved,
    responses={**WRITING, 409: CONFLICT},
    summary="Answer a question about maps",
    description="Keeps the answer. The same `id` again changes nothing. To answer anew, name the "
    "`version` of the question.",
)
def rating_answer(
    request: Request, served: Here, asked: Annotated[RatingAnswerAsked, Body()]
) -> RatingSaved | Response:
    """Keep an answer."""
    desk = desk_of(request)
    with desk.answering():
        task = _task(desk, asked.task)
        event = rating_event(task, asked.answer, who=asked.who, id=asked.id, seconds=asked.seconds)
        try:
            stored = desk.journal.append(event, asked.expected)
        except Conflict as conflict:
            version = conflict.state.get("version")
            return conflict_response(str(conflict), None, version, desk.review.refresh())
        count, left = len(desk.journal.tasks()), len(next_tasks(desk.journal, asked.who))
        return RatingSaved(
            number=stored.number, tasks=count, done=count - left, repeated=stored.repeated
        )


@router.get(
    "/api/rating/summary",
    response_model=RatingSummary,
    responses=BLIND,
    summary="What people think of maps",
    description="Method by method, and how far people agree. 403 for whoever has questions left, "
    "unless `unblind` is set; what this person answers after that is not blind.",
)
def rating_summary(
    request: Request,
    served: Here,
    who: Annotated[str, Query(max_length=60, description="Who asks.", examples=["Anna"])] = "",
    unblind: Annotated[bool, Query(description="Show it though questions are left.")] = False,
) -> RatingSummary:
    """Return what people think of maps."""
    desk = desk_of(request)
    with desk.answering():
        left = len(next_tasks(desk.journal, who)) if who else len(desk.journal.tasks())
        if left and not unblind:
            whose = f"{who} has" if who else "nobody is named, who may have"
            raise Refusal(403, f"{whose} {left} questions left; unblind=true shows it", "unblind")
        found = summarise_ratings(answers(desk.journal.tasks(), desk.journal.events(mode="rating")))
        return RatingSummary(
            ratings=tuple(map(_line, found.ratings)),
            wins=tuple(map(_line, found.wins)),
            pairs=tuple(map(_line, found.pairs)),
            left=_line(found.left),
            ratings_agreement=_agreement(found.ratings_alpha),
            choices_agreement=_agreement(found.choices_alpha),
            people=len(_people(desk)),
            note=_NOTE + (_UNBLINDED if left else ""),
            unblinded=left > 0,
        )


def _line(one: Judged) -> RatingLine:
    return RatingLine(
        method=one.method,
        value=finite(one.value),
        low=finite(one.low),
        high=finite(one.high),
        answers=one.answers,
        images=one.images,
        people=one.people,
    )


def _agreement(one: Alpha) -> RatingAgreement:
    numbers = {name: finite(getattr(one, name)) for name in ("value", "low", "high")}
    return RatingAgreement(**numbers, units=one.units, reason=one.reason)
