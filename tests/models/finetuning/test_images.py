"""Images that a model may learn from, and images that it may not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sightline.core import Annotation, InputError, Sample
from sightline.data import Dataset, from_annotations, load_dataset
from sightline.models.finetuning import choose_images
from tests.models.finetuning.pictures import COLOURS, make_data, write_pictures


def test_a_share_of_each_class_is_kept_for_validation() -> None:
    data = make_data(60)
    one, two, other = (choose_images(data, validation=0.2, seed=seed) for seed in (1, 1, 2))
    assert one.classes == tuple(COLOURS)
    assert sorted(one.training.ids + one.validation.ids) == sorted(data.ids)
    labels = [sample.labels[0] for sample in one.validation]
    assert [labels.count(name) for name in COLOURS] == [4, 4, 4]
    assert one.validation.ids == two.validation.ids
    assert one.validation.ids != other.validation.ids
    assert list(one.training.ids) == [i for i in data.ids if i not in one.validation.ids]
    assert one.source == {"name": "drawn", "path": None, "seed": None, "images": 60}


def test_images_without_one_label_are_left_out_and_listed() -> None:
    data = make_data(12, i003=(), i004=("red", "blue"), i005=("",))
    chosen = choose_images(data)
    assert chosen.left_out == {
        "no label": ("i003.png", "i005.png"),
        "several labels": ("i004.png",),
    }
    assert len(chosen.training) + len(chosen.validation) == 9


def test_images_with_regions_need_something_held_out() -> None:
    data = make_data(12, marked=(1, 5))
    with pytest.raises(
        InputError, match=r"2 images of drawn are annotated with regions \(i001.png, "
    ):
        choose_images(data)
    chosen = choose_images(data, held_out="annotated")
    assert chosen.left_out == {"held out": ("i001.png", "i005.png")}
    assert not {"i001.png", "i005.png"} & {*chosen.training.ids, *chosen.validation.ids}
    away = make_data(3, first=50)
    assert len(choose_images(data, held_out=away).training) == 9


def test_held_out_images_are_refused_by_id_or_left_out(tmp_path: Path) -> None:
    data = write_pictures(tmp_path / "all", 12)
    held_out = data.select(["i002.png", "i007.png"])
    with pytest.raises(
        InputError,
        match=r"2 images of folder are held out for scoring, and must not be trained on: "
        r"i002.png, i007.png; leave_out \(--leave-out\) leaves them out",
    ):
        choose_images(data, held_out=held_out)
    chosen = choose_images(data, held_out=held_out, leave_out=True)
    assert chosen.left_out == {"held out": ("i002.png", "i007.png")}
    assert len(chosen.training) + len(chosen.validation) == 10
    assert chosen.held_out is held_out


def test_annotations_alone_hold_out_by_id() -> None:
    data = make_data(12)
    annotations = make_data(2, first=3).annotations()
    with pytest.raises(InputError, match=r"i003\.png, i004\.png"):
        choose_images(data, held_out=annotations)
    chosen = choose_images(data, held_out=annotations, leave_out=True)
    assert chosen.left_out == {"held out": ("i003.png", "i004.png")}
    assert chosen.held_out is annotations


def test_annotations_and_images_may_name_folders_otherwise() -> None:
    """As where a file of annotations lies beside the images, and another above them."""
    held_out = ["i001.png", "site__naive.png", "b__c__x.png", "spire.JPG", "st.john"]
    annotations = {name: Annotation(name, 32, 24) for name in held_out}
    same = ["a__i001.png", "naive.png", "c__x.png", "spire.png"]
    names = [*same, "d__x.png", "i002.png", "ai001.png", "y.png", "st.mary"]
    given = {n: Annotation(n, 32, 24, (), (["a", "b"][k % 2],)) for k, n in enumerate(names)}
    data = from_annotations("drawn", given, {name: Path(name) for name in names})
    with pytest.raises(InputError, match=r"4 images of drawn are held out"):
        choose_images(data, held_out=annotations)
    found = choose_images(data, held_out=annotations, leave_out=True)
    assert found.left_out == {"held out": tuple(same)}


def test_the_same_pixels_under_another_name_are_found(tmp_path: Path) -> None:
    data = write_pictures(tmp_path / "one", 9)
    (tmp_path / "two").mkdir()
    copy = tmp_path / "two" / "other.png"
    copy.write_bytes((tmp_path / "one" / "i004.png").read_bytes())
    annotation = data.by_id("i004.png").annotation
    held_out = from_annotations(
        "folder", {"other.png": replace(annotation, image_id="other.png")}, {"other.png": copy}
    )
    with pytest.raises(InputError, match=r"1 image of folder is held out .*: i004.png;"):
        choose_images(data, held_out=held_out)


def test_a_picture_saved_anew_under_its_id_is_found(tmp_path: Path) -> None:
    data = load_dataset("facades", count=8, seed=1)
    files = {}
    for sample in data:
        files[sample.image_id] = tmp_path / sample.image_id
        small = Image.fromarray(sample.image()).resize((150, 150))
        small.save(files[sample.image_id], "JPEG", quality=60)
    annotations = {sample.image_id: _unsized(sample) for sample in data}
    held_out = from_annotations("folder", annotations, files, root=tmp_path)
    with pytest.raises(InputError, match="8 images of facades are held out"):
        choose_images(data, held_out=held_out)


def test_a_picture_saved_anew_in_another_folder_is_found(tmp_path: Path) -> None:
    data = load_dataset("facades", count=8, seed=1)
    sample = data[3]
    place = (tmp_path / "deep" / sample.image_id).with_suffix(".jpg")
    place.parent.mkdir()
    Image.fromarray(sample.image()).save(place, "JPEG", quality=60)
    name = f"deep__{place.name}"
    annotations = {name: replace(_unsized(sample), image_id=name)}
    held_out = from_annotations("folder", annotations, {name: place}, root=tmp_path)
    with pytest.raises(InputError, match=rf"1 image of facades is held out .*: {sample.image_id};"):
        choose_images(data, held_out=held_out)


def _unsized(sample: Sample) -> Annotation:
    return replace(sample.annotation, width=None, height=None)


def test_facades_of_other_seeds_share_ids_but_are_others() -> None:
    data, other = (load_dataset("facades", count=12, seed=seed) for seed in (1, 2))
    assert data.ids == other.ids
    assert choose_images(data, held_out=other).left_out == {}
    same = load_dataset("facades", count=3, seed=1, size=96)
    with pytest.raises(InputError, match="3 images of facades are held out"):
        choose_images(data, held_out=same)


def test_a_drawing_is_the_same_under_another_name_and_at_another_size() -> None:
    data, small = (load_dataset("facades", count=12, seed=1, size=size) for size in (224, 96))

    def make(image_id: str) -> Sample:
        sample = small.by_id(image_id.removeprefix("new-"))
        return replace(sample, image_id=image_id)

    held_out = Dataset("facades", {f"new-{name}": "" for name in small.ids[:4]}, make)
    with pytest.raises(InputError, match="4 images of facades are held out"):
        choose_images(data, held_out=held_out)


def test_validation_images_of_their_own() -> None:
    data, checked = make_data(12), make_data(7, first=20, i021=("purple",))
    chosen = choose_images(data, validation=checked)
    assert chosen.training.ids == data.ids
    assert chosen.validation.ids == tuple(i for i in checked.ids if i != "i021.png")
    with pytest.raises(InputError, match=r"1 image of the validation set is in the training: i01"):
        choose_images(data, validation=make_data(3, first=11))
    with pytest.raises(InputError, match=r"of the validation set is held out for .*: i026\.png"):
        choose_images(data, validation=checked, held_out=make_data(1, first=26))
    with pytest.raises(InputError, match="no image of the validation set"):
        choose_images(data, validation=make_data(1, i000=("purple",)))


def test_validation_images_are_held_out_as_others_are() -> None:
    """They choose the epoch, so the model would know them."""
    data, checked = make_data(12), make_data(6, first=20, marked=(22, 24))
    with pytest.raises(InputError, match=r"2 images of the validation set are annotated with regi"):
        choose_images(data, validation=checked)
    marked = choose_images(data, validation=checked, held_out="annotated")
    annotations = {name: Annotation(name, 32, 24) for name in ("i022.png", "i024.png")}
    with pytest.raises(InputError, match=r"2 images of the validation set are held out .*: i022"):
        choose_images(data, validation=checked, held_out=annotations)
    named = choose_images(data, validation=checked, held_out=annotations, leave_out=True)
    for chosen in (marked, named):
        ids = ("i022.png", "i024.png")
        assert chosen.left_out == {"held out, of the validation set": ids}
        assert chosen.validation.ids == ("i020.png", "i021.png", "i023.png", "i025.png")
    with pytest.raises(InputError, match=r"all 6 images of the validation set drawn .* held out"):
        choose_images(data, validation=checked, held_out=checked, leave_out=True)


def test_a_large_share_leaves_an_image_of_each_class() -> None:
    chosen = choose_images(make_data(12), validation=0.95)
    assert sorted(sample.labels[0] for sample in chosen.training) == sorted(COLOURS)


@pytest.mark.parametrize("share", [0, 1, -0.1, "half", None, True])
def test_shares_that_are_none(share: object) -> None:
    with pytest.raises(InputError, match="validation must be a share between 0 and 1"):
        choose_images(make_data(), validation=share)  # type: ignore[arg-type]


def test_too_few_classes_or_images() -> None:
    red: Any = {f"i{n:03}": ("red",) for n in range(6)}
    with pytest.raises(InputError, match=r"two classes or more; the 6 .* leave 5, of only 'red'"):
        choose_images(make_data(6, **red))
    with pytest.raises(InputError, match="class 'purple' needs 2 images or more, got 1"):
        choose_images(make_data(9, i003=("purple",)))
    with pytest.raises(InputError, match="leave 0, of none"):
        choose_images(make_data(9, marked=tuple(range(9))), held_out="annotated")
    with pytest.raises(InputError, match="held_out must be"):
        choose_images(make_data(9), held_out="everything")  # type: ignore[arg-type]


def test_comparing_reads_each_image_once() -> None:
    seen: list[tuple[int, int, str]] = []
    choose_images(make_data(9), held_out=make_data(3, first=30), progress=lambda *a: seen.append(a))
    assert [done for done, _, _ in seen] == list(range(12))
    assert {(total, what) for _, total, what in seen} == {(12, "Comparing images")}
    assert np.all([total == 12 for _, total, _ in seen])
