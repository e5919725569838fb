"""What the API asks and answers about a review: proposals, decisions, the gold set, ratings."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints

from sightline.api.schemas import Answer, Problem, ReviewGold

__all__ = [
    "GoldImage",
    "GoldLine",
    "GoldList",
    "ProposalsAdded",
    "RatingAgreement",
    "RatingAnswerAsked",
    "RatingInfo",
    "RatingLine",
    "RatingNext",
    "RatingSaved",
    "RatingSummary",
    "RatingTask",
    "ReviewConflict",
    "ReviewEvent",
    "ReviewEventAsked",
    "ReviewEvents",
    "ReviewFacts",
    "ReviewHistory",
    "ReviewImage",
    "ReviewInfo",
    "ReviewItem",
    "ReviewPerson",
    "ReviewProposer",
    "ReviewQueue",
    "ReviewRegion",
    "ReviewRegionAsked",
    "ReviewSaved",
]

Box = tuple[float, float, float, float]
Shapes = Literal["box", "polygon", "mask", "point"]
Rings = tuple[tuple[tuple[float, float], ...], ...]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Status = Literal["open", "accepted", "rejected", "skipped", "withdrawn"]
Mode = Literal["review", "gold"]
Kind = Literal[
    "accept", "reject", "skip", "edit", "draw", "comment", "undo", "done", "lock", "reopen"
]
RatingKind = Literal["rate", "choose"]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Who = Annotated[str, StringConstraints(min_length=1, max_length=60)]

_BOX = "x0, y0, x1, y1 as shares of the image."
_OUTLINE = "Rings of x, y as shares, of regions that are no boxes."
_LAST = "Number of the last event of the review, whatever it is about; 0: there is none."
_ITEM = "0c7a1f3de4b85a96"
_UUID = "5f0c2f0e-2a3b-4a51-9a0b-3d1c9b1f6f11"

SentId = Annotated[
    str,
    Field(
        min_length=8,
        max_length=100,
        pattern=r"^[A-Za-z0-9-]+$",
        description="Made by whoever sends it, a UUID: sent twice, it counts once.",
        examples=[_UUID],
    ),
]


class ReviewPerson(Answer):
    """What one person did."""

    who: str = Field(description="The person.")
    decisions: int = Field(description="Items that this person decided.")
    events: int = Field(description="All that this person did, comments and undoing included.")
    seconds_median: float | None = Field(description="For an item; null: not measured.")


class ReviewProposer(Answer):
    """What made proposals."""

    model: str = Field(description="Its name; empty: not known.")
    digest: str = Field(description="Of its weights; empty: not known.")
    source: str = Field(description="How proposals were made.", examples=["similarity"])
    proposals: int = Field(description="How many are from it.")
    shared: tuple[str, ...] = Field(
        default=(), description="Evaluated models of the study that have the same weights."
    )


class ReviewInfo(Answer):
    """Where a review stands."""

    id: str = Field(description="Of the review alone, whatever its folder is called.")
    folder: str = Field(description="Name of its folder.")
    images: int
    items: int = Field(description="How many regions are proposed.")
    open: int = Field(description="Of them, not decided yet.")
    accepted: int = Field(description="Of them, accepted, as they were or edited.")
    rejected: int = Field(description="Of them, rejected.")
    skipped: int = Field(description="Of them, put off.")
    edited: int = Field(description="Of them, accepted with another box or label.")
    drawn: int = Field(description="Regions that people added.")
    seconds_median: float | None = Field(description="For an item; null: not measured.")
    people: tuple[ReviewPerson, ...] = Field(description="In the order in which they began.")
    labels: tuple[str, ...] = Field(description="What a region may be called.")
    gold: ReviewGold | None = Field(description="The gold set; null: there is none.")
    last: int = Field(description=_LAST)
    proposers: tuple[ReviewProposer, ...] = Field(description="What made the proposals.")
    order: str = Field(description="By what the queue is ordered, in words.")
    warnings: tuple[str, ...] = Field(
        description="What speaks against results of this review, in sentences."
    )


class ReviewRegion(Answer):
    """A region that was annotated from the start."""

    index: int = Field(description="In the order of the annotation: the `prompt` of items.")
    label: str
    kind: Shapes
    box: Box = Field(description=_BOX)
    outline: Rings = Field(default=(), description=_OUTLINE)


class ReviewItem(Answer):
    """A proposed or drawn region, and where it stands."""

    id: str = Field(description="Its own.", examples=[_ITEM])
    image: str
    label: str
    kind: Shapes
    box: Box = Field(description=f"As it stands: {_BOX}")
    outline: Rings = Field(default=(), description=_OUTLINE)
    proposed: Box | None = Field(description="Box as it was proposed; null: a person drew it.")
    proposed_label: str | None = Field(
        description="Label as it was proposed; null: a person drew it."
    )
    score: float | None = Field(description="Of the proposal, 0 to 1; null: a person drew it.")
    source: str = Field(description="similarity, sam, imported, …; drawn by a person.")
    prompt: int | None = Field(
        description="Index of the annotated region that it was made from; null: none."
    )
    model: str = Field(description="What proposed it; empty: not known.")
    status: Status = Field(
        description="withdrawn: it was drawn, and that was undone; its box is the last it had."
    )
    edited: bool = Field(description="Whether a person changed its box or label.")
    version: int = Field(description="Number of its last event, which a decision expects; 0: none.")
    decision: int = Field(description="Number of the event that made it so; 0: none.")
    value: float | None = Field(
        description="Expected value of a decision: score × attention outside all regions."
    )
    by: str | None = Field(description="Who decided last; null: nobody.")
    at: str | None = Field(description="When; null: never.")
    comment: str | None = Field(description="The last comment; null: none.")


class ReviewQueue(Answer):
    """Items that are not decided, the most valuable first, skipped ones last."""

    total: int = Field(description="How many there are, on all pages.")
    items: tuple[ReviewItem, ...]
    last: int = Field(description=_LAST)


class ReviewImage(Answer):
    """An image, what is annotated on it, and what was proposed and drawn.

    Whether it is in the gold set is not told: who reviews is to treat all images alike.
    """

    image: str
    width: int | None
    height: int | None
    given: tuple[ReviewRegion, ...] = Field(description="What was annotated from the start.")
    items: tuple[ReviewItem, ...] = Field(description="Proposals, then what people drew.")
    attention: float | None = Field(
        description="Share of the best line's map outside all regions; null: not known."
    )
    version: int = Field(description="Number of the last event about the image; 0: none.")
    last: int = Field(description=_LAST)


class ReviewFacts(Answer):
    """Where something stood before an event, or after it."""

    status: str = Field(description="open, accepted, done, locked, …", examples=["accepted"])
    label: str | None = Field(description="Of the region; null: there is none.")
    box: Box | None = Field(description="x0, y0, x1, y1 as shares; null: there is no region.")
    edited: bool = Field(description="Whether a person had changed it.")


class ReviewEvent(Answer):
    """What a person did; never changed, never deleted."""

    number: int = Field(description="Events are numbered as they came.")
    id: str = Field(description="As it was sent.", examples=[_UUID])
    at: str = Field(description="When, in UTC, by the clock of the service.")
    who: str = Field(description="The person.")
    mode: Mode = Field(description="What it belongs to.")
    kind: Kind = Field(description="What was done.")
    image: str = Field(description="The image; empty: all of the gold set.")
    item: str | None = Field(description="The proposed or drawn region; null: the image.")
    before: ReviewFacts = Field(description="Where it stood.")
    after: ReviewFacts = Field(description="Where it stands by it.")
    seconds: float | None = Field(description="How long it took; null: not measured.")
    comment: str = Field(description="In the person's own words; empty: none.")
    undoes: int | None = Field(description="Number of the event that it undoes; null: none.")


class ReviewHistory(Answer):
    """All events about an item, in order."""

    item: ReviewItem = Field(description="Where it stands now.")
    events: tuple[ReviewEvent, ...] = Field(description="The first one first.")
    last: int = Field(description=_LAST)


class ReviewEvents(Answer):
    """Events, in order."""

    events: tuple[ReviewEvent, ...] = Field(description="The first one first.")
    last: int = Field(description=_LAST)
    more: bool = Field(description="Whether there are further ones: ask after the last of these.")


class ReviewRegionAsked(Answer):
    """A region as a person drew or changed it: a box or a polygon, a label, or both."""

    box: tuple[Share, Share, Share, Share] | None = Field(
        default=None, description=_BOX, examples=[[0.1, 0.2, 0.3, 0.4]]
    )
    polygon: tuple[tuple[Share, Share], ...] | None = Field(
        default=None, min_length=3, max_length=2000, description="Corners x, y as shares."
    )
    label: str | None = Field(
        default=None, min_length=1, max_length=200, description="What it shows."
    )


class ReviewEventAsked(Answer):
    """What a person did."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_extra={
            "examples": [
                {
                    "id": _UUID,
                    "who": "Anna",
                    "kind": "accept",
                    "image": "facade-00000.png",
                    "item": _ITEM,
                    "expected": 0,
                    "seconds": 2.4,
                }
            ]
        },
    )

    id: SentId
    who: Who = Field(description="The person.", examples=["Anna"])
    mode: Mode = Field(default="review", description="About proposals, or about the gold set.")
    kind: Kind = Field(
        description="accept, reject, skip, edit, draw, comment, undo; in the gold set also done, "
        "lock, reopen, and no skip. reject takes a drawn region away."
    )
    image: str = Field(
        default="", max_length=200, description="The image; empty for lock and reopen alone."
    )
    item: str | None = Field(
        default=None,
        max_length=200,
        description="The proposed or drawn region; for draw a new name, drawn-UUID. Null: the "
        "event is about the image.",
    )
    expected: int = Field(
        default=0,
        ge=0,
        le=2**53,
        description="The `version` that the person had seen: of the item; where item is null, of "
        "the image; for lock and reopen, of the gold set. 409 where another event came since.",
    )
    after: ReviewRegionAsked | None = Field(
        default=None, description="Of edit and draw: the region as it is to be."
    )
    comment: str = Field(default="", max_length=4000, description="In the person's own words.")
    seconds: float | None = Field(
        default=None, ge=0, le=86_400, allow_inf_nan=False, description="How long it took."
    )
    undoes: int | None = Field(
        default=None, ge=1, le=2**53, description="Of undo: number of the event."
    )


class ReviewSaved(Answer):
    """An event that is kept, and what has become of what it is about."""

    event: ReviewEvent = Field(description="As it is kept.")
    item: ReviewItem | None = Field(description="Where it stands now; null: no item is meant.")
    version: int = Field(
        description="Of what it is about: the item, the image, or the gold set; the next event "
        "about the same expects it."
    )
    last: int = Field(description=_LAST)
    repeated: bool = Field(description="Whether it was there already, and nothing was written.")


class ReviewConflict(Problem):
    """Somebody else came first, and nothing was written; or the gold set is done or locked."""

    item: ReviewItem | None = Field(
        default=None, description="Where the item stands now; null: no item is meant."
    )
    version: int | None = Field(default=None, description="What would have to be expected.")
    last: int | None = Field(default=None, description=_LAST)


class ProposalsAdded(Answer):
    """What became of proposals that were sent."""

    added: int = Field(description="New ones.")
    known: int = Field(description="Those that were there already.")
    refused: tuple[str, ...] = Field(description="Those that do not fit, and why; 100 at most.")
    refused_count: int = Field(description="How many do not fit.")
    last: int = Field(description=_LAST)


class GoldLine(Answer):
    """An image of the gold set."""

    image: str
    done: bool = Field(description="Whether it is annotated completely.")
    regions: int | None = Field(
        description="How many regions are drawn on it; null: this person must not know."
    )
    allowed: bool = Field(
        description="Whether this person may annotate it: who reviewed its proposals may not."
    )


class GoldList(Answer):
    """The gold set."""

    images: tuple[GoldLine, ...] = Field(description="Its images.")
    count: int
    done: int = Field(description="How many are annotated completely.")
    locked: bool = Field(description="Whether nothing in it changes any more.")
    reopened: int = Field(description="How often its lock was taken away.")
    random: bool = Field(description="Whether it was drawn at random.")
    seed: int | None = Field(description="Of the draw; null: picked by hand.")
    by: str = Field(description="What its strata are; empty: there are none.")
    labels: tuple[str, ...] = Field(description="What a region may be called.")
    warnings: tuple[str, ...] = Field(description="What speaks against estimates from it.")
    version: int = Field(description="Number of its last event: what lock and reopen expect.")
    last: int = Field(description=_LAST)


class GoldImage(Answer):
    """A gold image with what people drew on it from scratch, and nothing else."""

    image: str
    width: int | None
    height: int | None
    regions: tuple[ReviewItem, ...] = Field(description="What people drew, in that order.")
    done: bool = Field(description="Whether it is annotated completely.")
    done_by: int | None = Field(
        description="Number of the event that said so, which undo takes back; null: not done."
    )
    locked: bool = Field(description="Whether nothing in the gold set changes any more.")
    version: int = Field(description="Number of the last event about it: what done expects.")
    last: int = Field(description=_LAST)


# --- rating --------------------------------------------------------------------------------------


class RatingInfo(Answer):
    """How far a person is with the questions about maps."""

    tasks: int = Field(description="How many questions there are.")
    done: int = Field(description="How many of them this person has answered.")
    kinds: dict[str, int] = Field(
        description="How many ask to rate one map, and how many to choose between two."
    )
    people: int = Field(description="How many people have answered any.")


class RatingTask(Answer):
    """A question about maps of an image. Nothing in it says which methods they are of."""

    id: str = Field(description="Its own.")
    image: str
    kind: RatingKind = Field(description="Rate one map from 1 to 5, or choose between two.")
    left: str = Field(description="Where the map, or the left of two, can be fetched: a PNG.")
    right: str | None = Field(description="Where the right one can be; null: there is none.")
    version: int = Field(description="Number of this person's last answer to it; 0: none.")


class RatingNext(Answer):
    """The next question for a person."""

    task: RatingTask | None = Field(description="Null: all are answered.")
    tasks: int = Field(description="How many questions there are.")
    done: int = Field(description="How many of them this person has answered.")


class RatingAnswerAsked(Answer):
    """A person's answer to a question about maps."""

    id: SentId
    who: Who = Field(description="The person.", examples=["Anna"])
    task: Name = Field(description="Id of the question.")
    answer: Annotated[int, Field(strict=True, ge=1, le=5)] | Literal["left", "right", "equal"] = (
        Field(description="1 (bad) to 5 (good) of one map; left, right or equal of two.")
    )
    expected: int = Field(default=0, ge=0, le=2**53, description="The `version` of the question.")
    seconds: float | None = Field(
        default=None, ge=0, le=86_400, allow_inf_nan=False, description="How long it took."
    )


class RatingSaved(Answer):
    """An answer that is kept."""

    number: int = Field(description="Of its event.")
    tasks: int = Field(description="How many questions there are.")
    done: int = Field(description="How many of them this person has answered.")
    repeated: bool = Field(description="Whether it was there already, and nothing was written.")


class RatingLine(Answer):
    """What people think of the maps of one method, or of one method beside another."""

    method: str = Field(description="Name of the map; of a pair: the first > the second.")
    value: float | None = Field(description="Mean rating, or share of choices won.")
    low: float | None = Field(
        description="Lower end of the 95% interval for other images and people; null: none."
    )
    high: float | None = Field(description="Upper end, likewise.")
    answers: int = Field(description="How many answers it is over.")
    images: int
    people: int = Field(description="How many people gave them.")


class RatingAgreement(Answer):
    """How far people agree: Krippendorff's alpha."""

    value: float | None = Field(description="1: all agree; 0: as by chance; null: undefined.")
    low: float | None = Field(description="Lower end of the 95% interval; null: none.")
    high: float | None = Field(description="Upper end of the 95% interval; null: none.")
    units: int = Field(description="Questions that at least two people answered.")
    reason: str = Field(description="Why it is undefined; empty: it is not.")


class RatingSummary(Answer):
    """What people think of maps, method by method, and how far they agree."""

    ratings: tuple[RatingLine, ...] = Field(description="Mean ratings, 1 to 5, the best first.")
    wins: tuple[RatingLine, ...] = Field(
        description="Share of its choices that each wins, equal ones half; the best first."
    )
    pairs: tuple[RatingLine, ...] = Field(
        description="Share of choices between two that the first wins."
    )
    left: RatingLine = Field(
        description="Share of choices for the left side: 0.5 unless the side mattered."
    )
    ratings_agreement: RatingAgreement = Field(description="On ratings, as ranks.")
    choices_agreement: RatingAgreement = Field(description="On choices.")
    people: int = Field(description="How many people have answered any question.")
    note: str = Field(description="What must be known to read the numbers.")
    unblinded: bool = Field(
        description="Whether it is shown though this person has questions left: answers after "
        "that are not blind."
    )
