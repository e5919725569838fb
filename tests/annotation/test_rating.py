"""People judge maps: tasks that name no method, answers as events, figures with intervals."""

from __future__ import annotations

import json
from collections import Counter
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.annotation.journal import TaskRecord
from sightline.annotation.rating_tasks import (
    draw_images,
    draw_tasks,
    method_of,
    next_tasks,
    rating_event,
    shown_task,
)
from sightline.annotation.ratings import Answer, answers, summarise_ratings
from sightline.core import InputError, UnknownNameError
from tests.annotation.reviews import IMAGES, event, new_review

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sightline.annotation.journal import Journal

METHODS = ("cls", "gradcam", "random")


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with new_review(tmp_path) as made:
        made.add_tasks(draw_tasks(IMAGES, METHODS, seed=1))
        yield made


def test_tasks_are_drawn_from_the_seed_alone() -> None:
    tasks = draw_tasks(IMAGES, METHODS, seed=1)
    assert tasks == draw_tasks(IMAGES[::-1], METHODS[::-1], seed=1)
    assert tasks != draw_tasks(IMAGES, METHODS, seed=2)
    assert Counter(task.kind for task in tasks) == {"rate": 12, "choose": 12}
    assert len({task.id for task in tasks}) == 24
    assert draw_tasks(IMAGES, METHODS, seed=1, count=5) == tasks[:5]
    assert {task.kind for task in draw_tasks(IMAGES, METHODS, seed=1, pairs=False)} == {"rate"}


def test_sides_and_order_are_random() -> None:
    images = [f"i{n}" for n in range(400)]
    tasks = draw_tasks(images, ("a", "b"), seed=0, ratings=False)
    lefts = [task.methods[0] == "a" for task in tasks]
    assert 160 < sum(lefts) < 240  # 4 standard deviations
    places = np.array([int(task.image_id[1:]) for task in tasks])
    assert abs(np.corrcoef(places, np.arange(400))[0, 1]) < 0.2
    assert abs(np.corrcoef(lefts, places)[0, 1]) < 0.2


def test_what_is_shown_names_no_method(journal: Journal) -> None:
    for task in journal.tasks():
        told = json.dumps(shown_task(task))
        assert not any(method in told for method in METHODS)
        sides = shown_task(task)["sides"]
        assert tuple(method_of(task, side) for side in sides) == task.methods
    with pytest.raises(UnknownNameError, match="has no side 'top'"):
        method_of(task, "top")


def test_tasks_are_kept_and_asked_in_an_order_of_ones_own(journal: Journal) -> None:
    tasks = journal.tasks()
    assert tasks == list(draw_tasks(IMAGES, METHODS, seed=1))
    assert journal.add_tasks(tasks) == 0
    mine, yours = next_tasks(journal, "Anna"), next_tasks(journal, "bo")
    assert mine == next_tasks(journal, "anna ")
    assert mine != yours
    assert set(mine) == set(yours) == set(tasks)
    first = mine[0]
    answer = 4 if first.kind == "rate" else "left"
    stored = journal.append(rating_event(first, answer, who="anna", id="a", seconds=3))
    assert next_tasks(journal, "anna") == mine[1:]
    assert next_tasks(journal, "bo") == yours  # each has answers of their own
    journal.append(
        event("undo", first.id, "anna", mode="rating", image_id=first.image_id, data={"event": 1}),
        expected=stored.number,
    )
    assert next_tasks(journal, "anna") == mine
    assert answers(tasks, journal.events(mode="rating")) == []


def test_two_people_answer_one_task_without_conflict(journal: Journal) -> None:
    task = next(task for task in journal.tasks() if task.kind == "choose")
    for who, answer in (("anna", "left"), ("bo", "right"), ("cy", "equal")):
        journal.append(rating_event(task, answer, who=who, id=who))
    found = answers(journal.tasks(), journal.events(mode="rating"))
    assert [(one.person, one.value) for one in found] == [("anna", 1), ("bo", 0), ("cy", 0.5)]
    with pytest.raises(InputError, match="expected was 0"):
        journal.append(rating_event(task, "right", who="Anna", id="again"))


NONE = {"rate": (0, 6, 2.5, "left", True), "choose": ("both", 1, None)}


@pytest.mark.parametrize(("kind", "answer"), [(k, one) for k, said in NONE.items() for one in said])
def test_answers_that_are_none(journal: Journal, kind: str, answer: Any) -> None:
    task = next(task for task in journal.tasks() if task.kind == kind)
    with pytest.raises(InputError, match="answer must be"):
        journal.append(rating_event(task, answer, who="anna", id="a"))
    other = TaskRecord(task.id, task.image_id, "rate" if kind == "choose" else "choose", ())
    with pytest.raises(InputError, match=f"asks to {kind}"):
        journal.append(rating_event(other, 3 if kind == "choose" else "left", who="anna", id="a"))


def judged(seed: int, images: int = 12, people: int = 4) -> list[Answer]:
    """Return answers of people who like "good" by 1 more; images and people differ, too."""
    rng = np.random.default_rng(seed)
    names = [f"i{n}" for n in range(images)]
    tasks = draw_tasks(names, ("bad", "good"), seed=seed)
    of_image, of_person = rng.normal(0, 0.4, images), rng.normal(0, 0.4, people)
    found = []
    for task in tasks:
        place = names.index(task.image_id)
        for person in range(people):
            base = 3 + of_image[place] + of_person[person]
            score = {m: base + (m == "good") + rng.normal(0, 0.5) for m in ("bad", "good")}
            if task.kind == "rate":
                value = float(np.clip(round(score[task.methods[0]]), 1, 5))
            else:
                value = float(score[task.methods[0]] > score[task.methods[1]])
            found.append(Answer(task, f"r{person}", value))
    return found


def test_figures_by_hand() -> None:
    rate = [TaskRecord(f"t{n}", f"i{n}", "rate", ("a",)) for n in range(2)]
    given = [
        Answer(rate[0], "x", 2.0),
        Answer(rate[0], "y", 4.0),
        Answer(rate[1], "x", 5.0),
    ]
    pair = TaskRecord("c", "i0", "choose", ("b", "a"))
    given += [Answer(pair, "x", 1.0), Answer(pair, "y", 0.5)]
    found = summarise_ratings(given)
    (one,) = found.ratings
    assert (one.method, one.value) == ("a", 4.0)  # the mean of the images' means 3 and 5
    assert (one.answers, one.images, one.people) == (3, 2, 2)
    assert isnan(one.low)
    assert one.reason == "too few images: 2, an interval needs 5"
    tasks = [TaskRecord(f"t{n}", f"i{n}", "rate", ("a",)) for n in range(5)]
    said = [Answer(task, who, 1 + n) for n, task in enumerate(tasks) for who in ("x", "y")]
    (five,) = summarise_ratings(said).ratings
    assert 1 <= five.low < five.value < five.high <= 5
    (alone,) = summarise_ratings(said[::2]).ratings
    assert alone.reason == "too few people: 1, an interval needs 2"
    assert [(w.method, w.value) for w in found.wins] == [("b", 0.75), ("a", 0.25)]
    assert [(p.method, p.value) for p in found.pairs] == [("a > b", 0.25)]
    assert isnan(found.wins[0].low)
    assert found.left.value == 0.75
    assert found.ratings_alpha.units == 1


def test_nothing_answered_is_undefined() -> None:
    found = summarise_ratings([])
    assert found.ratings == found.wins == found.pairs == ()
    assert isnan(found.left.value)
    assert found.ratings_alpha.reason == "no unit was judged by two people"


def test_the_better_method_is_found_and_people_agree() -> None:
    found = summarise_ratings(judged(0))
    assert [one.method for one in found.ratings] == ["good", "bad"]
    assert found.wins[0].method == "good"
    assert found.wins[0].low > 0.5
    assert found.wins[0].value + found.wins[1].value == pytest.approx(1)
    assert found.pairs[0].value == pytest.approx(1 - found.wins[0].value)
    assert found.left.low < 0.5 < found.left.high
    assert 0.2 < found.ratings_alpha.value < 0.9
    again = summarise_ratings(judged(0)[::-1])
    assert again == found  # whatever the order of the answers


def test_intervals_are_for_other_images_and_other_people() -> None:
    held = total = 0
    for seed in range(60):
        for one in summarise_ratings(judged(100 + seed, images=10, people=5)).ratings:
            truth = 4.0 if one.method == "good" else 3.0
            held += one.low <= truth <= one.high
            total += 1
    assert held / total > 0.88  # clipping to 1 … 5 and few people cost a little of 0.95


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (([], METHODS), "nothing to ask"),
        ((IMAGES, []), "nothing to ask"),
        ((["a", "a"], METHODS), "image 'a' is given twice"),
        ((IMAGES, ["m", "m"]), "method 'm' is given twice"),
    ],
)
def test_tasks_that_cannot_be_drawn(given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        draw_tasks(given[0], given[1], seed=0)
    with pytest.raises(InputError, match="count must be from 1 to the 24 tasks, got 25"):
        draw_tasks(IMAGES, METHODS, seed=0, count=25)


def test_images_are_drawn_as_many_as_asked_for() -> None:
    drawn = draw_images(IMAGES, 2, seed=0)
    assert len(drawn) == 2
    assert set(drawn) <= set(draw_images(IMAGES, 3, seed=0))
    assert draw_images(IMAGES, len(IMAGES), seed=0) == tuple(sorted(IMAGES))
    for count in (-1, 0, len(IMAGES) + 1, True, 1.5):
        with pytest.raises(InputError, match=r"count must be from 1 to the .* images, got"):
            draw_images(IMAGES, count, seed=0)  # type: ignore[arg-type]
