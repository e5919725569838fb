from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.annotation.proposals import (
    FORMAT,
    Proposal,
    Proposals,
    propose,
    read_proposals,
    write_proposals,
)
from sightline.annotation.proposers import PROPOSERS, make_proposer
from sightline.core import Annotation, InputError, Region, UnknownNameError
from sightline.data import from_annotations, write_annotations

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from sightline.core import Sample
    from sightline.data import Dataset

LEFT, RIGHT, LOW = (0.0, 0.0, 0.25, 0.5), (0.5, 0.0, 0.75, 0.5), (0.5, 0.5, 0.75, 1.0)


def window(box: Any = LEFT, score: float | None = 0.5, **more: Any) -> Region:
    return Region(more.pop("label", "window"), box=box, score=score, source="sam", **more)


def made(box: Any = LEFT, score: float = 0.5, prompt: int | None = 0, **more: Any) -> Proposal:
    image = more.pop("image", "a.jpg")
    return Proposal.made(image, window(box, score, **more), prompt, "hf:sam", "0123")


# --- records -------------------------------------------------------------------------------------


def test_an_id_is_the_same_for_the_same_proposal_and_another_for_others() -> None:
    nearly = tuple(corner + 1e-7 for corner in LEFT)
    assert made().id == made(nearly, score=0.9).id
    others = [made(RIGHT), made(prompt=1), made(label="door"), made(image="b.jpg"), made()]
    others.append(Proposal.made("a.jpg", window(), 0, "hf:sam", "0124"))
    assert len({one.id for one in others}) == len(others)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": "a b"}, "id of a proposal must match .*, got 'a b'"),
        ({"image_id": "a/b"}, "image_id must match"),
        ({"score": 1.2}, "score must be from 0 to 1, got 1.2"),
        ({"score": float("nan")}, "score must be from 0 to 1, got nan"),
        ({"source": ""}, "source must say"),
        ({"region": Region("window", "point", LEFT, radius=2)}, "must be one of box.*'point'"),
    ],
)
def test_what_is_no_proposal_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(made(), **change)


def test_a_proposal_needs_a_score() -> None:
    with pytest.raises(InputError, match="needs a score"):
        Proposal.made("a.jpg", window(score=None), 0)


def test_proposals_know_their_images_and_models() -> None:
    other = Proposal.made("b.jpg", window(), None)
    found = Proposals((made(), other, made(RIGHT)))
    assert [one.region.box for one in found.of("a.jpg")] == [LEFT, RIGHT]
    assert found.of("c.jpg") == ()
    assert found.models() == {("hf:sam", "0123")}
    with pytest.raises(InputError, match="two proposals have the id"):
        Proposals((made(), made()))


# --- making --------------------------------------------------------------------------------------


class Listed:
    """A proposer that says what it was told."""

    name, model, digest = "listed", "none", "00"
    settings: Mapping[str, Any] = {"least": 0.1}

    def __init__(self, found: list[Proposal]) -> None:
        self.found = found
        self.asked: list[str] = []

    def propose(self, sample: Sample) -> list[Proposal]:
        self.asked.append(sample.image_id)
        return [one for one in self.found if one.image_id == sample.image_id]


def churches() -> Dataset:
    """Return three images with a window at the left; on the first, one to ignore at the right."""
    marked, ignored = window(score=None), window(RIGHT, None, flags=("ignore",), index=1)
    found = {
        name: Annotation(name, 40, 20, (marked, ignored) if name == "a.jpg" else (marked,))
        for name in ("a.jpg", "b.jpg", "c.jpg")
    }
    return from_annotations("churches", found, {})


def test_what_is_marked_already_is_not_proposed_and_of_copies_the_best_is() -> None:
    right = tuple(np.add(RIGHT, (0.01, 0, 0.01, 0)))
    listed = Listed([made(right, 0.4, 1), made(RIGHT, 0.6), made(LEFT, 0.9), made(LOW, 0.7)])
    found = propose(churches(), listed, images=["a.jpg"])
    assert [(one.region.box, one.score) for one in found.items] == [(LOW, 0.7), (RIGHT, 0.6)]
    assert listed.asked == ["a.jpg"]
    assert found.settings == {"proposer": "listed", "model": "none", "digest": "00", "least": 0.1}
    assert found.data == "churches: 1 images"


def test_labels_and_most_choose_after_places_are_settled() -> None:
    door = made(RIGHT, 0.8, 1, label="door")
    listed = Listed([door, made(RIGHT, 0.6), made(LOW, 0.5), made((0.8, 0, 0.9, 0.5), 0.4)])
    found = propose(churches(), listed, labels=["window"], most=1)
    assert [one.region.box for one in found.items] == [LOW]  # a door claims the place at the right
    assert found.settings["labels"] == ["window"]
    assert found.settings["most"] == 1


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    propose(churches(), Listed([]), progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_wrong_choices_are_named() -> None:
    with pytest.raises(UnknownNameError, match="no region has the label 'door'; there are window"):
        propose(churches(), Listed([]), labels=["door"])
    with pytest.raises(UnknownNameError, match=r"d\.jpg"):
        propose(churches(), Listed([]), images=["d.jpg"])
    with pytest.raises(InputError, match="most must be a whole number of 1 or more, got 0"):
        propose(churches(), Listed([]), most=0)
    with pytest.raises(UnknownNameError, match="unknown proposer 'similar'; did you mean"):
        make_proposer("similar", "demo/vit-dino")
    assert list(PROPOSERS) == ["similarity", "sam"]


# --- files ---------------------------------------------------------------------------------------

numbers = st.floats(0, 1, allow_nan=False)
box_shapes = st.tuples(*[st.floats(0, 0.5), st.floats(0, 0.5), *[st.floats(1e-6, 0.5)] * 2]).map(
    lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3])
)


@given(
    st.lists(
        st.builds(
            lambda box, score, label, prompt, image: made(
                box, score, prompt, label=label, image=image
            ),
            box_shapes,
            numbers,
            st.text(max_size=5),
            st.none() | st.integers(0, 9),
            st.sampled_from(("a.jpg", "b.jpg")),
        ),
        max_size=4,
        unique_by=lambda one: one.id,
    )
)
def test_files_give_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, items: list[Proposal]
) -> None:
    path = tmp_path_factory.getbasetemp() / "again.json"
    written = Proposals(tuple(items), "words", {"least": 0.5, "scales": [1, 2]})
    write_proposals(written, path)
    found = read_proposals(path)
    assert (found.data, found.settings) == (written.data, written.settings)
    for one, other in zip(found.items, items, strict=True):
        assert replace(one, region=other.region) == other
        for name in ("label", "kind", "box", "source", "score"):
            assert getattr(one.region, name) == getattr(other.region, name)


def test_masks_and_polygons_come_back(tmp_path: Path) -> None:
    mask = np.zeros((8, 6), bool)
    mask[2:5, 1:4] = True
    drawn = Region("w", "mask", (1 / 6, 0.25, 4 / 6, 0.625), mask, score=0.5, source="sam")
    part = (0.1, 0.1, 0.5, 0.1, 0.5, 0.6)
    outlined = Region("w", "polygon", (0.1, 0.1, 0.5, 0.6), (part,), score=0.5, source="sam")
    items = tuple(Proposal.made("a.jpg", region, 0) for region in (drawn, outlined))
    write_proposals(Proposals(items), tmp_path / "p.json")
    first, second = read_proposals(tmp_path / "p.json").items
    assert (first.region.to_mask(8, 6) == mask).all()
    assert second.region.mask == (part,)
    # One a line, and the same bytes when written again.
    text = (tmp_path / "p.json").read_text()
    assert sum('"id"' in line for line in text.splitlines()) == 2
    write_proposals(read_proposals(tmp_path / "p.json"), tmp_path / "q.json")
    assert (tmp_path / "q.json").read_text() == text


def test_settings_that_json_cannot_hold_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    for value in (float("nan"), {1, 2}):
        with pytest.raises(InputError, match=r"p\.json: cannot be written as JSON"):
            write_proposals(Proposals((), settings={"x": value}), tmp_path / "p.json")
    assert list(tmp_path.iterdir()) == []


GOOD: dict[str, Any] = {
    "id": "p1", "image": "a.jpg", "prompt": 0, "label": "w", "box": [0, 0, 0.5, 0.5],
    "source": "sam", "score": 0.5, "model": "", "digest": "",
}  # fmt: skip


def own(*records: Any, **more: Any) -> dict[str, Any]:
    return {"format": FORMAT, "data": "", "settings": {}, "proposals": list(records), **more}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (own(GOOD, GOOD), "two proposals have the id 'p1'"),
        (own(GOOD | {"score": None}), r"proposals\[0\]: score must be a finite number, got None"),
        (own(GOOD | {"score": 2}), "score must be from 0 to 1, got 2"),
        (own(GOOD | {"score": 10**400}), "score must be a finite number"),
        (own(GOOD | {"box": [0, 0, 0, 1]}), "must have an area on the image"),
        (own(GOOD | {"box": [2, 2, 3, 3]}), "must have an area on the image"),
        (own(GOOD | {"box": [0, 0, 1]}), "box must be 4 finite numbers"),
        (own(GOOD | {"polygon": [[0, 0], [1, 0], [1, 1]]}), "must have exactly one of"),
        (own(GOOD | {"image": "../secret"}), "image_id must match"),
        (own(GOOD | {"image": 3}), "image must be text, got 3"),
        (own(GOOD | {"id": "drawn\n"}), "id of a proposal must match"),
        (own(GOOD | {"prompt": -1}), "prompt must be a whole number of 0 or more, or null: -1"),
        (own(GOOD | {"prompt": True}), "prompt must be a whole number"),
        (own(GOOD | {"model": None}), "model must be text"),
        (own(GOOD, 7), r"proposals\[1\]: must be an object, got 7"),
        (own(proposals={}), "'proposals' must be a list of objects, got dict"),
        (own(settings=[]), "must be an object"),
        ({"format": "sightline-proposals/2"}, "format must be 'sightline-proposals/1', got"),
        ({"format": "other"}, "unknown annotation format"),
        (7, "unknown annotation format"),
        ([], "give the COCO file that has them, as coco=FILE"),
    ],
)
def test_files_that_do_not_fit_say_where_and_what(
    tmp_path: Path, content: Any, message: str
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=rf"bad\.json: .*{message}"):
        read_proposals(path)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"format": 1, "format": 2}', "\x00"])
def test_files_that_are_no_json_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(InputError, match=r"bad\.json"):
        read_proposals(tmp_path / "bad.json")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    for name in ("none.json", "none.csv", "none.yml"):
        with pytest.raises(InputError, match=name):
            read_proposals(tmp_path / name)


def boxes_of(found: Proposals) -> list[tuple[Any, ...]]:
    return [
        (one.image_id, one.label, one.score, one.source, one.prompt, one.region.box)
        for one in found.items
    ]


def test_regions_with_scores_of_other_programs_are_imported(tmp_path: Path) -> None:
    annotation = Annotation("a.jpg", 40, 20, (window(), window(RIGHT, 0.25, index=1)))
    wanted = [
        ("a.jpg", "window", 0.5, "imported", None, LEFT),
        ("a.jpg", "window", 0.25, "imported", None, RIGHT),
    ]
    for name in ("plain", "coco"):
        write_annotations({"a.jpg": annotation}, tmp_path / f"{name}.json", format=name)
        assert boxes_of(read_proposals(tmp_path / f"{name}.json")) == wanted
    (tmp_path / "t.csv").write_text(
        "image,label,x0,y0,x1,y1,score\na.jpg,window,0,0,.25,.5,.5\na.jpg,window,.5,0,.75,.5,.25\n"
    )
    assert boxes_of(read_proposals(tmp_path / "t.csv")) == wanted
    results = [
        {"image_id": 1, "category_id": 1, "bbox": [0, 0, 10, 10], "score": 0.5},
        {"image_id": 1, "category_id": 1, "bbox": [20, 0, 10, 10], "score": 0.25},
    ]
    (tmp_path / "results.json").write_text(json.dumps(results))
    found = read_proposals(tmp_path / "results.json", coco=tmp_path / "coco.json")
    assert boxes_of(found) == wanted
    assert found.settings == {"proposer": "imported"}


def test_the_same_region_twice_is_two_proposals(tmp_path: Path) -> None:
    row = "a.jpg,window,0,0,.25,.5,.5\n"
    (tmp_path / "t.csv").write_text(f"image,label,x0,y0,x1,y1,score\n{row}{row}")
    first, second = read_proposals(tmp_path / "t.csv").items
    assert first.id != second.id


@pytest.mark.parametrize(
    ("score", "message"),
    [("", "region 0: a proposal needs a score"), ("7", "region 0: score must be from 0 to 1")],
)
def test_a_region_without_a_fitting_score_is_named(
    tmp_path: Path, score: str, message: str
) -> None:
    (tmp_path / "t.csv").write_text(f"image,label,x0,y0,x1,y1,score\na.jpg,w,0,0,.5,.5,{score}\n")
    with pytest.raises(InputError, match=rf"t\.csv: image 'a\.jpg': {message}"):
        read_proposals(tmp_path / "t.csv")


def test_results_name_the_record_that_does_not_fit(tmp_path: Path) -> None:
    annotation = Annotation("a.jpg", 40, 20, (window(),))
    write_annotations({"a.jpg": annotation}, tmp_path / "coco.json", format="coco")
    bad = [{"image_id": 1, "category_id": 9, "bbox": [0, 0, 10, 10], "score": 0.5}]
    (tmp_path / "results.json").write_text(json.dumps(bad))
    with pytest.raises(InputError, match=r"results\.json: .*9"):
        read_proposals(tmp_path / "results.json", coco=tmp_path / "coco.json")
    with pytest.raises(InputError, match=r"results\.json: must be a COCO file"):
        read_proposals(tmp_path / "results.json", coco=tmp_path / "results.json")
