"""The cards of images: digests of pixels and annotations, and lines of tables."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.core import Annotation, InputError, Region, Sample
from sightline.data.dataset import Dataset
from sightline.study import Data
from sightline.study.plan.images import Cards, read_cards, study_dataset
from tests.study.studies import make_folder, plan_of

if TYPE_CHECKING:
    from pathlib import Path


def quiet(done: int, total: int) -> None:
    pass


def cards_of(*samples: Sample, pixels: bool = False) -> Cards:
    found = {sample.image_id: sample for sample in samples}
    data = Dataset("folder", dict.fromkeys(found, ""), found.__getitem__)
    return read_cards(data, Data(name="folder", path="x"), pixels=pixels, progress=quiet)


def sample(*regions: Region, **changes: Any) -> Sample:
    given: dict[str, Any] = {"image_id": "a", "width": 20, "height": 10, "labels": ("x",)}
    return Sample("a", Annotation(**{**given, "regions": regions, **changes}))


MASK = np.zeros((10, 20), np.bool_)
MASK[2:4, 3:9] = True
BOX = Region("door", box=(0.1, 0.1, 0.5, 0.5))
OTHERS: dict[str, Sample] = {
    "box": sample(replace(BOX, box=(0.1, 0.1, 0.5, 0.6))),
    "label": sample(replace(BOX, label="gate")),
    "index": sample(replace(BOX, index=1)),
    "flags": sample(replace(BOX, flags=("ignore",))),
    "kind": sample(replace(BOX, kind="point", radius=2.0)),
    "radius": sample(replace(BOX, kind="point", radius=3.0)),
    "mask": sample(replace(BOX, kind="mask", mask=MASK)),
    "other mask": sample(replace(BOX, kind="mask", mask=~MASK)),
    "turned mask": sample(replace(BOX, kind="mask", mask=MASK.reshape(20, 10))),
    "polygon": sample(replace(BOX, kind="polygon", mask=((0.1, 0.1, 0.5, 0.1, 0.5, 0.5),))),
    "run lengths": sample(
        replace(BOX, kind="mask", mask={"size": [10, 20], "counts": b"P128000000000\\3"})
    ),
    "other lengths": sample(
        replace(BOX, kind="mask", mask={"size": [10, 20], "counts": [9, 20, 171]})
    ),
    "two": sample(BOX, replace(BOX, index=1)),
    "none": sample(),
    "dropped": sample(dropped=(BOX,)),
    "size": sample(BOX, width=40, height=20),
    "no size": sample(BOX, width=None, height=None),
    "labels": sample(BOX, labels=("x", "y")),
}


def test_every_part_of_an_annotation_is_digested() -> None:
    cards = {name: cards_of(one) for name, one in {"plain": sample(BOX), **OTHERS}.items()}
    assert len({one.cards[0].annotation for one in cards.values()}) == len(cards)
    assert len({one.annotations for one in cards.values()}) == len(cards)
    again = cards_of(sample(replace(BOX)))
    assert again.cards[0].annotation == cards["plain"].cards[0].annotation


def test_where_a_region_comes_from_does_not_matter() -> None:
    same = cards_of(sample(replace(BOX, source="file.json: line 7")))
    assert same.annotations == cards_of(sample(BOX)).annotations


def test_a_line_of_the_table_of_images() -> None:
    ignored = Region("crowd", box=(0.0, 0.0, 0.3, 1.0), flags=("ignore",), index=1)
    one = sample(BOX, ignored)
    (card,) = cards_of(one).cards
    area = one.annotation.union_mask(10, 20).mean()
    line: dict[str, Any] = {"image": "a", "split": "", "labels": ["x"], "width": 20, "height": 10}
    assert card.line == line | {"area": area, "regions": 1, "digest": ""}
    (unknown,) = cards_of(sample(BOX, width=None, height=None)).cards
    assert unknown.line["area"] == pytest.approx(0.16, abs=2e-3)
    (large,) = cards_of(sample(BOX, width=4000, height=2000)).cards
    assert large.line["area"] == pytest.approx(0.16, abs=2e-3)


def test_pixels_are_digested_with_their_shape() -> None:
    pixels = np.arange(600, dtype=np.uint8).reshape(10, 20, 3)
    pictures = [pixels, pixels.reshape(20, 10, 3), pixels + np.uint8(1), pixels]
    digests = []
    for picture in pictures:
        drawn = replace(sample(BOX), load=partial(np.asarray, picture))
        digests.append(cards_of(drawn, pixels=True).cards[0].digest)
    assert digests[0] == digests[3]
    assert len(set(digests)) == 3


def test_without_a_model_no_picture_is_opened() -> None:
    def fail() -> Any:
        raise AssertionError("opened")

    (card,) = cards_of(replace(sample(BOX), load=fail)).cards
    assert card.digest == ""


def test_an_image_without_a_file_is_told_where_a_model_must_see_it() -> None:
    assert not cards_of(sample(BOX)).missing
    missing = cards_of(sample(BOX), pixels=True).missing
    assert missing == {"a": "image 'a': has no file, and a model must see it"}


def test_a_missing_file_is_named_or_left_out(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "f", 3)
    (folder / "001.png").unlink()
    message = r"data: image '001\.png': .*001\.png is not there.*--skip-bad"
    with pytest.raises(InputError, match=message):
        plan_of(folder)
    plan = plan_of(folder, skip_bad=True)
    assert [chunk.images for chunk in plan.chunks] == [("000.png", "002.png")]
    assert list(plan.skipped or ()) == ["001.png"]


def test_no_images_are_an_error() -> None:
    with pytest.raises(InputError, match="data: folder holds no images"):
        cards_of()


def test_an_unknown_split_is_an_error(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "f", 3)
    with pytest.raises(InputError, match="no images in split 'val'"):
        plan_of(folder, data={"split": "val"})


def test_facades_are_drawn_as_asked_for() -> None:
    data = Data(name="facades", count=7, seed=3, labelling="salient", split="test")
    found = study_dataset(data)
    assert found.ids == ("facade-00004.png",)
    assert len(study_dataset(Data(name="facades"))) == 200
