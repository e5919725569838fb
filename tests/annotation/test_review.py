"""Where a review stands: what is shown to whom, what comes next, how far it is."""

from __future__ import annotations

import json
from math import nan
from typing import TYPE_CHECKING

import pytest

from sightline.annotation.review import Review
from sightline.core import InputError, UnknownNameError
from tests.annotation.reviews import (
    BOX,
    GOLD,
    IMAGES,
    batch,
    draw,
    event,
    new_review,
    proposed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def review(tmp_path: Path) -> Iterator[Review]:
    with new_review(tmp_path) as journal:
        yield Review(journal)


def test_an_image_is_shown_with_all_but_its_gold(review: Review) -> None:
    draw(review.journal, GOLD[0], "drawn-gold")
    review.journal.append(event("edit", "p0", data={"label": "door"}))
    draw(review.journal, GOLD[0], "drawn-more", mode="review", who="anna")
    view = review.image(GOLD[0], who="anna")
    assert [one["label"] for one in view.given] == ["window"]
    assert view.given[0]["index"] == 0
    assert [(one.id, one.state.status) for one in view.items] == [
        ("p0", "accepted"),
        ("p4", "open"),
    ]
    assert view.items[0].state.region["label"] == "door"  # type: ignore[index]
    assert view.items[0].proposed["label"] == "window"  # type: ignore[index]
    assert [one.id for one in view.drawn] == ["drawn-more"]
    assert view.gold
    assert view.version == 3
    assert "drawn-gold" not in json.dumps(view.to_dict())
    assert view.to_dict()["drawn"][0]["score"] is None  # undefined is null


def test_a_gold_image_is_shown_without_any_help(review: Review) -> None:
    draw(review.journal, GOLD[0], "drawn-gold")
    review.journal.append(event("accept", "p0"))
    draw(review.journal, GOLD[0], "drawn-more", mode="review", who="anna")
    view = review.gold_image(GOLD[0], who="gil")
    assert [one.id for one in view.drawn] == ["drawn-gold"]
    assert (view.done, view.locked, view.version) == (False, False, 1)
    told = json.dumps(view.to_dict())
    assert not any(word in told for word in ("p0", "p4", "drawn-more", "given", "items"))
    with pytest.raises(InputError, match=r"'church-2.jpg' is not in the gold set"):
        review.gold_image(IMAGES[2])


def test_people_are_blind(review: Review) -> None:
    draw(review.journal, GOLD[0], "drawn-1", who="Gil")
    review.journal.append(event("reject", "p1", "anna"))
    with pytest.raises(InputError, match=r"'Gil' annotated the gold .* 'GIL' may not review"):
        review.image(GOLD[0], who="GIL")
    with pytest.raises(InputError, match="'anna' reviewed proposals"):
        review.gold_image(GOLD[1], who="Anna")
    assert [one.id for one in review.queue("gil")] == ["p2", "p3", "p5"]
    assert [one.id for one in review.queue("bo")] == ["p0", "p2", "p3", "p4", "p5"]
    assert review.gold_queue("anna") == (GOLD[0],)
    assert review.gold_queue("gil") == GOLD
    assert review.image(GOLD[0]).image_id == GOLD[0]  # nobody in particular: a service's own use


def test_the_queue_goes_by_expected_value(tmp_path: Path) -> None:
    with new_review(tmp_path) as journal:
        by_score = Review(journal).queue()
        assert [one.id for one in by_score] == ["p0", "p1", "p2", "p3", "p4", "p5"]
        assert by_score[1].value == pytest.approx(0.8)
        review = Review(journal, attention={IMAGES[3]: 1.0, IMAGES[0]: 0.1, IMAGES[1]: nan})
        review.attention[IMAGES[2]] = 0.5
        #   0.9*.1 .8 .7*.5 .6 .5*.1 .4
        assert [one.id for one in review.queue()] == ["p1", "p3", "p5", "p2", "p0", "p4"]
        by_image = [one.id for one in review.queue(order="image")]
        assert by_image == ["p1", "p5", "p3", "p2", "p0", "p4"]
        journal.append(event("skip", "p1"))
        journal.append(event("accept", "p3"))
        assert [one.id for one in review.queue()] == ["p5", "p2", "p0", "p4", "p1"]
        with pytest.raises(InputError, match="order must be one of value, image"):
            review.queue(order="random")  # type: ignore[arg-type]


def test_equal_values_keep_the_order_of_the_images(review: Review) -> None:
    more = [proposed(f"q{n}", IMAGES[3 - n], 0.95) for n in range(4)]
    review.journal.add_proposals(batch(more))
    assert [one.id for one in review.queue()][:4] == ["q3", "q2", "q1", "q0"]


def test_progress_counts_and_takes_the_time(review: Review) -> None:
    journal = review.journal
    assert review.progress().seconds != review.progress().seconds  # NaN: nothing was measured
    journal.append(event("accept", "p0", "Anna", seconds=2))
    journal.append(event("reject", "p1", "anna", seconds=4))
    journal.append(event("skip", "p2", "bo", seconds=1))
    journal.append(event("edit", "p3", "bo", data={"label": "x"}, seconds=7))
    journal.append(event("undo", "p3", "anna", data={"event": 4}, seconds=1), expected=4)
    journal.append(event("undo", "p3", "anna", data={"event": 5}, seconds=2), expected=5)
    draw(journal, IMAGES[2], "drawn-1", mode="review", who="bo")
    draw(journal, GOLD[0], "drawn-2", who="gil")
    found = review.progress()
    assert (found.items, found.open, found.accepted, found.rejected) == (6, 2, 2, 1)
    assert (found.skipped, found.edited, found.drawn, found.done) == (1, 1, 1, 3)
    assert found.seconds == 4  # of 2, 4, 10; p2 is not decided
    assert [(one.who, one.events, one.items) for one in found.people] == [
        ("Anna", 4, 2),
        ("bo", 3, 2),
        ("gil", 1, 1),
    ]
    assert [one.seconds for one in found.people][:2] == [3, 7]
    assert found.gold is not None
    assert (found.gold.images, found.gold.done, found.gold.version) == (2, 0, 8)
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["people"][2]["seconds"] is None


def test_history_and_names(review: Review) -> None:
    journal = review.journal
    journal.append(event("accept"))
    journal.append(event("undo", data={"event": 1}), expected=1)
    draw(journal, IMAGES[2], "drawn-1", mode="review", who="anna")
    draw(journal, GOLD[0], "drawn-2")
    assert [stored.event.kind for stored in review.history("p2")] == ["accept", "undo"]
    assert [stored.number for stored in review.history("drawn-1")] == [3]
    assert review.item("drawn-1").state.region == BOX
    for name in ("drawn-2", "p99", ""):  # gold is not looked up as an item of the review
        with pytest.raises(UnknownNameError):
            review.history(name)
    with pytest.raises(UnknownNameError):
        review.image("else")
    assert review.labels() == ("window",)
    journal.append(event("edit", "p3", data={"label": "apse"}))
    assert review.labels() == ("apse", "window")


def test_labels_of_the_gold_set_are_not_told_to_who_reviews(tmp_path: Path) -> None:
    with new_review(tmp_path) as journal:
        data = {"label": "tower", "box": [0.5, 0.5, 0.75, 1.0]}
        journal.append(event("draw", "drawn-1", "gil", mode="gold", image_id=GOLD[0], data=data))
        assert "tower" not in Review(journal).labels()
        journal.append(event("draw", "drawn-2", data=data))
        assert "tower" in Review(journal).labels()
