"""`sightline gold` and `sightline review`, as a person calls them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.annotation.events import Event
from sightline.annotation.journal import Journal
from sightline.annotation.proposals import Proposal, Proposals, write_proposals
from sightline.annotation.review import Review
from sightline.core import Region
from sightline.data import load_dataset, read_annotations
from sightline.data.writers import write_annotations
from sightline.study import Study, run_study
from tests.cli.small import error, run

if TYPE_CHECKING:
    from pathlib import Path

DATA = "facades,count=10,seed=1,labelling=representative"


def study(folder: Path) -> Path:
    """Run a study of the first images, of maps that were made elsewhere."""
    names = load_dataset("facades", count=4, seed=1).ids
    maps: dict[str, Any] = dict.fromkeys(names, np.eye(4, dtype=np.float32))
    for way in ("near", "far", "blank"):
        np.savez(folder / f"{way}.npz", **maps)
    methods = [
        {"name": way, "params": {"maps": str(folder / f"{way}.npz"), "model": "eyes"}}
        for way in ("near", "far", "blank")
    ]
    words: dict[str, Any] = {"models": [], "methods": methods, "metrics": ["coverage"]}
    data: Any = {"name": "facades", "count": 4, "seed": 1}
    return run_study(Study(name="s", data=data, **words), folder, workers=1).store.path


def test_the_help_says_where_people_decide() -> None:
    said = run("review", "--help").stdout
    assert "decide in the browser: sightline serve STORE --review FOLDER" in said


def test_people_are_asked_about_maps(folder: Path, tmp_path: Path) -> None:
    store = study(tmp_path)
    both = ("--map", "eyes near", "--map", "eyes far")
    said = run("review", "ask", folder, store, *both, "--images", 3).stdout
    assert "Maps: eyes near, eyes far" in said
    assert "Questions: 9 new on 3 images, 9 in all" in said
    said = run("review", "ask", folder, store, *both, "--images", 3).stdout
    assert "Questions: 0 new on 3 images, 9 in all" in said
    said = run(
        "review", "ask", folder, store, "--kind", "rate", "--images", 50, "--count", 5
    ).stdout
    assert "Maps: eyes near, eyes far, eyes blank" in said
    assert "on 4 images" in said
    with Journal.open(folder) as journal:
        kinds = [task.kind for task in journal.tasks()]
        assert {task.image_id for task in journal.tasks()} <= set(journal.images)
    assert kinds.count("choose") == 3
    assert "no map 'eyes nera' in" in error("review", "ask", folder, store, "--map", "eyes nera")


def test_maps_of_other_images_are_not_asked_about(folder: Path, tmp_path: Path) -> None:
    store = study(tmp_path)
    run("review", "new", "O", "--data", "photos")
    said = error("review", "ask", tmp_path / "O", store)
    assert "has none of the" in said


def test_results_of_a_detector_are_added(folder: Path, tmp_path: Path) -> None:
    dataset = load_dataset("facades", count=10, seed=1)
    write_annotations(dataset, tmp_path / "coco.json", format="coco")
    known = json.loads((tmp_path / "coco.json").read_text())
    one = {"image_id": known["images"][0]["id"], "category_id": known["categories"][0]["id"]}
    found = [one | {"bbox": [10, 20, 30, 40], "score": 0.5}]
    (tmp_path / "results.json").write_text(json.dumps(found))
    words = ("review", "add", folder, tmp_path / "results.json")
    assert "Added: 1 of 1" in run(*words, "--coco", tmp_path / "coco.json").stdout
    with Journal.open(folder) as journal:
        (item,) = journal.items()
    assert (item.image_id, item.source) == (dataset.ids[0], "imported")
    assert "coco" in error(*words)


def said_json(*arguments: object) -> Any:
    return json.loads(run(*arguments, "--json").stdout)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    run("gold", "draw", DATA, "--count", 4, "--seed", 3)
    run("review", "new", "R", "--data", DATA, "--gold", "gold.json")
    return tmp_path / "R"


def act(folder: Path) -> None:
    """Draw a region in the review, take it away, draw another; annotate the gold and lock it."""
    with Journal.open(folder) as journal:
        review = Review(journal)
        gold = review.gold_queue()
        other = next(image for image in journal.images if image not in gold)
        box = {"label": "window", "box": [0.25, 0.25, 0.5, 0.5]}

        def send(mode: str, kind: str, image: str, item: str, expected: int, **more: Any) -> int:
            who = "Anna" if mode == "review" else "Gil"
            name = f"{len(journal.events())}"
            sent = Event(name, who, mode, kind, image, item, **more)
            return journal.append(sent, expected).number

        number = send("review", "draw", other, "drawn-1", 0, data=box, seconds=4.0)
        send("review", "edit", other, "drawn-1", number, data={"label": "door"})
        send("review", "draw", other, "drawn-2", 0, data=box)
        send("review", "reject", other, "drawn-2", 3)
        for image in gold:
            number = send("gold", "draw", image, f"drawn-{image}", 0, data=box)
            number = send("gold", "done", image, "", number)
        send("gold", "lock", "", "", number)


def test_gold_is_drawn_and_shown(folder: Path) -> None:
    found = said_json("gold", "show", "gold.json")
    assert (found["seed"], found["random"], len(found["images"])) == (3, True, 4)
    assert found["data"]["options"] == {"seed": 1, "labelling": "representative"}
    shown = run("gold", "show", "gold.json").stdout
    assert "4 of 10 images, drawn at random, seed 3" in shown
    assert all(one["image"] in shown for one in found["images"])
    run("gold", "draw", DATA, "--count", 4, "--seed", 3)  # the same again changes nothing
    assert "holds another draw already" in error("gold", "draw", DATA, "--count", 4, "--seed", 4)
    by = run("gold", "draw", DATA, "--count", 8, "--seed", 0, "--by", "split", "-o", "s.json")
    assert "test" in by.stdout
    assert "Note: stratum 'test' has 2 gold images" in by.stdout


def test_gold_can_be_picked_by_hand(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("facade-00003.png\n\nfacade-00001.png\n")
    said = run("gold", "draw", DATA, "--images", "ids.txt", "-o", "h.json").stdout
    assert "2 of 10 images, picked by hand" in said
    assert "Note: picked by hand" in said
    assert said_json("gold", "show", "h.json")["random"] is False
    assert "takes no --count" in error("gold", "draw", DATA, "--images", "ids.txt", "--count", 2)
    assert "needs --count and --seed" in error("gold", "draw", DATA, "--count", 2)
    (tmp_path / "ids.txt").write_text("else.png")
    assert "no image 'else.png'" in error("gold", "draw", DATA, "--images", "ids.txt")


def test_a_review_is_made_and_not_made_twice(folder: Path) -> None:
    found = said_json("review", "status", folder)
    assert (found["items"], found["gold"]["images"], found["people"]) == (0, 4, [])
    assert found["seconds"] is None
    with Journal.open(folder) as journal:
        assert journal.dataset().ids == tuple(journal.images)
    message = error("review", "new", folder, "--data", DATA)
    assert "there is a review already" in message
    fewer = "facades,count=9,seed=1"
    message = error("review", "new", "S", "--data", fewer, "--gold", "gold.json")
    assert re.search("not among the 9|not these 9", message)
    assert not (folder.parent / "S").exists()
    assert "--data must be a data set" in error("review", "new", "S", "--data", "?")
    assert "--data facades: " in error("review", "new", "S", "--data", "facades,colour=red")
    assert "count must be 1 or more" in error("review", "new", "S", "--data", "facades,count=0")


def test_what_people_did_is_shown_and_written(folder: Path) -> None:
    act(folder)
    status = run("review", "status", folder).stdout
    assert "Gold: 4 of 4 images done, locked" in status
    assert "Drawn by people: 1" in status
    assert "Anna" in status
    lines = run("review", "log", folder).stdout
    assert "13 events" in lines
    assert "withdrawn → accepted" in lines
    assert "label changed: door" in lines
    events = said_json("review", "log", folder)
    assert [one["number"] for one in events] == list(range(1, 14))
    assert events[1]["before"]["region"]["label"] == "window"
    assert events[1]["after"]["region"]["label"] == "door"
    assert {"who", "at", "kind", "image_id"} <= set(events[0])
    out = folder.parent / "completed.json"
    said = run("review", "export", folder, "--out", out).stdout
    assert "1 drawn" in said
    sources = [r.source for one in read_annotations(out).values() for r in one.regions]
    assert sources.count("drawn") == 1
    assert set(sources) == {"given", "drawn"}
    run("review", "export", folder, "--out", out, "--format", "coco", "--gold")
    gold = read_annotations(out)
    assert {image: len(one.regions) for image, one in gold.items()} == dict.fromkeys(gold, 1)
    assert len(gold) == 4


def test_gold_that_is_not_locked_is_not_written(folder: Path) -> None:
    assert "not locked yet" in error(
        "review", "export", folder, "--out", folder.parent / "g.json", "--gold"
    )
    assert not (folder.parent / "g.json").exists()
    assert "no such file" in error("review", "status", folder.parent)


def test_proposals_are_taken_and_added(folder: Path) -> None:
    region = Region("window", box=(0.25, 0.25, 0.5, 0.5), score=0.8, source="similarity")
    made = [Proposal(f"p{n}", f"facade-0000{n}.png", region, 0.8, "similarity") for n in range(3)]
    write_proposals(Proposals(tuple(made[:2]), DATA), folder.parent / "a.json")
    write_proposals(Proposals(tuple(made), DATA), folder.parent / "b.json")
    said = run("review", "new", "S", "--data", DATA, "--proposals", "a.json").stdout
    assert "Proposals: 2" in said
    assert "Added: 1 of 3 proposals" in run("review", "add", "S", "b.json").stdout
    assert "Added: 0 of 3 proposals" in run("review", "add", "S", "b.json").stdout
    assert said_json("review", "status", "S")["open"] == 3
    with Journal.open("S") as journal:
        sent = Event("1", "Anna", "review", "accept", "facade-00001.png", "p1", seconds=2.5)
        journal.append(sent)
    status = run("review", "status", "S").stdout
    assert "Decided: 1 of 3 proposals, 2.5 s each (median)" in status
    assert "1 accepted" in (said := run("review", "export", "S", "--out", "c.json").stdout)
    assert "Note: 2 proposals are not decided" in said
    assert "no.json" in error("review", "add", "S", "no.json")
