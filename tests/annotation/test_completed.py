"""Completed and gold annotations: what is in them, where it is from, and what is never mixed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from sightline.annotation.completion import completed, export, review_facts
from sightline.annotation.journal import Journal
from sightline.annotation.proposals import Proposals
from sightline.core import InputError
from sightline.data import load_dataset, read_annotation_file, read_annotations
from sightline.data.choice import DataChoice
from tests.annotation.reviews import GOLD, IMAGES, batch, draw, event, new_review, proposed
from tests.cli.small import write_data

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    """Make a review with one of each decision, and a locked gold set."""
    with new_review(tmp_path) as made:
        made.append(event("accept", "p0", "anna"))
        made.append(event("reject", "p1", "anna"))
        made.append(event("edit", "p2", "bo", data={"label": "rose", "box": [0, 0, 0.5, 0.5]}))
        made.append(event("skip", "p3", "bo"))
        made.append(event("accept", "p5", "bo"))
        made.append(event("undo", "p5", "anna", data={"event": 5}), expected=5)
        draw(made, GOLD[0], "drawn-r", mode="review", who="anna")
        draw(made, IMAGES[3], "drawn-s", mode="review", who="bo")
        made.append(event("reject", "drawn-s", image_id=IMAGES[3]), expected=8)
        for image in GOLD:
            number = draw(made, image, f"drawn-{image}").number
            more: dict[str, Any] = {"mode": "gold", "image_id": image}
            made.append(event("done", "", "gil", **more), expected=number)
        made.append(event("lock", "", "gil", mode="gold", image_id=""), expected=13)
        yield made


def test_completed_is_what_was_given_and_what_people_accepted(journal: Journal) -> None:
    found = completed(journal)
    regions = {
        image: [(r.label, r.source, r.index) for r in one.regions]
        for image, one in found.annotations.items()
    }
    assert regions == {
        IMAGES[0]: [("window", "given", 0), ("window", "similarity", 2), ("window", "drawn", 3)],
        IMAGES[1]: [("window", "given", 0)],
        IMAGES[2]: [("window", "given", 0), ("rose", "similarity", 2)],
        IMAGES[3]: [("window", "given", 0)],
    }
    assert found.annotations[IMAGES[2]].regions[1].box == (0, 0, 0.5, 0.5)
    assert [r.index for r in found.annotations[IMAGES[0]].dropped] == [1]
    assert found.unfinished == 3  # p3 skipped, p4 open, p5 undone
    added = [one for one in found.origins if one.how != "given"]
    assert [(one.item, one.how, one.events, one.by) for one in added] == [
        ("p0", "accepted", (1,), "anna"),
        ("drawn-r", "drawn", (7,), "anna"),
        ("p2", "edited", (3,), "bo"),
    ]
    assert (added[0].model, added[0].digest, added[0].prompt) == ("demo/vit-dino", "0123abcd", 0)


def test_gold_is_what_was_drawn_from_scratch(journal: Journal) -> None:
    gold = completed(journal, "gold")
    found, origins = gold.annotations, gold.origins
    assert {image: len(one.regions) for image, one in found.items()} == dict.fromkeys(GOLD, 1)
    assert {r.source for one in found.values() for r in one.regions} == {"drawn"}
    assert {one.item for one in origins} == {f"drawn-{image}" for image in GOLD}
    # Neither has anything of the other.
    items = {one.item for one in completed(journal).origins}
    assert not items & {one.item for one in origins}
    assert found[GOLD[0]].labels == ("Baroque",)
    assert found[GOLD[0]].dropped == ()


def test_gold_is_given_out_only_when_locked(journal: Journal, tmp_path: Path) -> None:
    journal.append(
        event("reopen", "", "gil", mode="gold", image_id="", comment="missed"), expected=14
    )
    with pytest.raises(InputError, match="not locked yet"):
        completed(journal, "gold")
    facts = review_facts(journal)["gold"]
    assert not facts["locked"]
    assert [(one["by"], one["why"]) for one in facts["reopened"]] == [("gil", "missed")]
    with (
        Journal.create(tmp_path / "none.sqlite", load_dataset("facades", count=1)) as other,
        pytest.raises(InputError, match="has no gold set"),
    ):
        completed(other, "gold")
    with pytest.raises(InputError, match="which must be one of completed, gold"):
        completed(journal, "all")  # type: ignore[arg-type]


def test_facts_say_all_that_a_paper_needs(journal: Journal) -> None:
    facts = json.loads(json.dumps(review_facts(journal), allow_nan=False))
    assert facts["proposers"] == [
        {"model": "demo/vit-dino", "digest": "0123abcd", "source": "similarity", "proposals": 6}
    ]
    other = Proposals((), "", {"features": {"model": "demo/vit", "digest": "77"}})
    journal.add_proposals(other)
    assert review_facts(journal)["proposers"][0] == {
        "model": "demo/vit",
        "digest": "77",
        "source": "features",
        "proposals": 0,
    }
    assert facts["people"] == {"review": ["anna", "bo"], "gold": ["gil"]}
    assert facts["decisions"] == {
        "open": 2,
        "accepted": 2,
        "rejected": 1,
        "skipped": 1,
        "edited": 1,
        "drawn": 1,
    }
    assert facts["gold"]["random"] is False
    assert facts["gold"]["locked"] is True
    assert facts["images"] == 4


@pytest.mark.parametrize("kind", ["plain", "coco"])
@pytest.mark.parametrize("which", ["completed", "gold"])
def test_files_give_the_annotations_back(
    journal: Journal, tmp_path: Path, kind: Any, which: Any
) -> None:
    path = tmp_path / "out.json"
    written = export(journal, path, format=kind, which=which)
    read = read_annotation_file(path)
    assert read.annotations.keys() == written.annotations.keys()
    for image, one in written.annotations.items():
        again = read.annotations[image]
        assert [(r.label, r.index, r.source) for r in again.regions] == [
            (r.label, r.index, r.source) for r in one.regions
        ]
        for ours, theirs in zip(one.regions, again.regions, strict=True):
            assert ours.box == pytest.approx(theirs.box)
        assert again.labels == one.labels
    assert read.splits[IMAGES[0]] == "test"
    told = json.loads(path.read_text())["provenance"]
    assert (told["which"], told["digest"]) == (which, written.digest)
    assert len(told["regions"]) == len(written.origins)
    last = told["regions"][-1]
    assert {"image", "region", "how", "source"} <= set(last)


def test_the_digest_is_of_the_regions_alone(journal: Journal) -> None:
    before = completed(journal).digest
    journal.append(event("comment", "p0", comment="sure"))
    assert completed(journal).digest == before
    journal.append(event("accept", "p4"))
    assert completed(journal).digest != before


def test_a_completed_file_takes_the_place_of_the_one_it_completes(tmp_path: Path) -> None:
    write_data(tmp_path / "data")
    choice = DataChoice("folder", str(tmp_path / "data"))
    dataset = choice.open()
    image = dataset.ids[0]
    items = batch([proposed("p0", image)])
    with Journal.create(tmp_path, dataset, items, choice=choice) as journal:
        journal.append(event("accept", "p0", image_id=image))
        export(journal, tmp_path / "data" / "annotations.json")
    again = load_dataset("folder", tmp_path / "data")
    assert again.ids == dataset.ids
    assert len(again.by_id(image).annotation.regions) == 2
    assert again.by_id(image).image().shape == (48, 64, 3)
    assert read_annotations(tmp_path / "data" / "annotations.json").keys() == set(dataset.ids)
