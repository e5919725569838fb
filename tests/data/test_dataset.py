from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from sightline.core import Annotation, InputError, Region, Taxonomy, UnknownNameError
from sightline.data import DATASETS, Dataset, from_annotations, load_dataset
from sightline.data.dataset import check_size
from sightline.data.problems import Problem, Problems

if TYPE_CHECKING:
    from collections.abc import Container

SPLITS = {"a": "train", "b": "test", "c": "train"}


def _region(*flags: str) -> Region:
    return Region("door", flags=flags)


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    for name in SPLITS:
        Image.new("RGB", (4, 3), "red").save(tmp_path / f"{name}.png")
    annotations = {
        name: Annotation(name, 4, 3, (_region(), _region("crowd")), labels=(f"style {name}",))
        for name in SPLITS
    }
    return from_annotations(
        "made",
        annotations,
        {name: tmp_path / f"{name}.png" for name in ("a", "b")},
        splits=SPLITS,
        root=tmp_path,
        taxonomy=Taxonomy.flat(["door"]),
        skipped=[Problem("x.txt line 1", "empty")],
    )


# --- a data set ----------------------------------------------------------------------------------


def test_a_data_set_is_a_sequence(dataset: Dataset, tmp_path: Path) -> None:
    assert (len(dataset), dataset.ids) == (3, ("a", "b", "c"))
    assert [sample.image_id for sample in dataset] == ["a", "b", "c"]
    assert dataset[-1].image_id == "c"
    assert dataset[0].labels == ("style a",)
    assert (dataset[0].split, dataset[0].path) == ("train", tmp_path / "a.png")
    assert repr(dataset) == "<Dataset made: 3 images>"
    with pytest.raises(IndexError):
        dataset[3]


def test_parts_keep_what_belongs_to_the_whole(dataset: Dataset, tmp_path: Path) -> None:
    parts = {
        "slice": (dataset[1:], ("b", "c")),
        "split": (dataset.in_split("train"), ("a", "c")),
        "select": (dataset.select(["c", "a"]), ("c", "a")),
        "ignoring": (dataset.ignoring("crowd"), ("a", "b", "c")),
    }
    for part, ids in parts.values():
        assert isinstance(part, Dataset)
        assert part.ids == ids
        assert (part.name, part.root, part.taxonomy.names) == ("made", tmp_path, ("door",))
        assert part.skipped == (Problem("x.txt line 1", "empty"),)
        assert list(part.annotations()) == list(ids)
    assert dataset[1:].splits == {"test": 1, "train": 1}
    assert dataset.splits == {"train": 2, "test": 1}


def test_data_sets_go_to_other_processes(dataset: Dataset) -> None:
    drawn = load_dataset("facades", count=3, size=64)
    for one in (dataset, dataset.ignoring("crowd")[:2], drawn):
        again = pickle.loads(pickle.dumps(one))  # noqa: S301 # made here
        assert again.ids == one.ids
        np.testing.assert_array_equal(again[0].image(), one[0].image())
        assert len(again[0].annotation.ignored) == len(one[0].annotation.ignored)


def test_images_are_in_it_by_id_and_sample(dataset: Dataset) -> None:
    every: Container[object] = dataset
    some: Container[object] = dataset[:2]
    assert "a" in every
    assert dataset[0] in every
    assert "z" not in every
    assert "c" not in some
    with pytest.raises(InputError, match="image 'a' is chosen twice"):
        dataset.select(["a", "b", "a"])


def test_paths_stay_right_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "set").mkdir()
    Image.new("RGB", (4, 3)).save(tmp_path / "set" / "a.png")
    (tmp_path / "set" / "annotations.csv").write_text("image,label,x0,y0,x1,y1\na.png,,,,,\n")
    monkeypatch.chdir(tmp_path)
    found = load_dataset("folder", "set")
    monkeypatch.chdir("/")
    assert found[0].image().shape == (3, 4, 3)


@pytest.mark.parametrize("path", ["x" * 5000, 5])
def test_what_is_no_path(path: Any) -> None:
    with pytest.raises(InputError, match="is not the name of a file or folder"):
        load_dataset("coco", path)


def test_flags_to_ignore_must_be_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"unknown flag 'crowdd'; did you mean 'crowd'\?"):
        load_dataset("facades", count=2, ignore=["crowdd"])
    with pytest.raises(InputError, match=r"unknown flag 'zzz'\. Known: ignore, "):
        load_dataset("facades", count=2, ignore=["zzz"])


def test_unknown_images_and_splits(dataset: Dataset) -> None:
    assert dataset.by_id("b").image_id == "b"
    with pytest.raises(UnknownNameError, match="no image 'd' among the 3 of made"):
        dataset.by_id("d")
    with pytest.raises(UnknownNameError, match="no image 'c' among the 2 of made"):
        dataset[:2].by_id("c")
    with pytest.raises(UnknownNameError, match="no image 'd'"):
        dataset.select(["a", "d"])
    with pytest.raises(InputError, match="no images in split 'val'; splits: 'train', 'test'"):
        dataset.in_split("val")


def test_images_are_opened_when_asked_for(dataset: Dataset, tmp_path: Path) -> None:
    np.testing.assert_array_equal(dataset[0].image(), np.tile((255, 0, 0), (3, 4, 1)))
    with pytest.raises(InputError, match="image 'c' has no file"):
        dataset[2].image()
    sample = dataset[1]
    (tmp_path / "b.png").unlink()
    with pytest.raises(InputError, match=r"b\.png: no such image"):
        sample.image()
    Image.new("RGB", (3, 4)).save(tmp_path / "b.png")
    with pytest.raises(InputError, match=r"b\.png: the annotation is of 4 x 3 .* has 3 x 4 .*EXIF"):
        sample.image()


def test_a_link_that_leaves_the_folder(dataset: Dataset, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.png"
    Image.new("RGB", (4, 3)).save(outside)
    (tmp_path / "b.png").unlink()
    (tmp_path / "b.png").symlink_to(outside)
    with pytest.raises(InputError, match=r"b\.png' leaves the folder"):
        dataset[1].image()


def test_paths_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("set").mkdir()
    Image.new("RGB", (4, 3)).save("set/a.png")
    files = {"a": Path("set/a.png")}
    found = from_annotations("made", {"a": Annotation("a")}, files, root=Path("set"))
    assert found[0].image().shape == (3, 4, 3)


def test_regions_can_be_ignored(dataset: Dataset) -> None:
    for sample in dataset.ignoring("crowd", "difficult"):
        assert [region.ignore for region in sample.annotation.regions] == [False, True]
    assert not any(region.ignore for region in dataset[0].annotation.regions)


def test_images_may_get_other_annotations(dataset: Dataset) -> None:
    first, last = dataset.ids[0], dataset.ids[-1]
    new = Annotation(last, regions=(Region("tower"),))
    found = dataset.annotated({last: new, first: Annotation(first, labels=("other",))})
    assert found.ids == (first, last)
    assert found[0].annotation.labels == ("other",)
    assert found[0].annotation.regions == ()
    given, sample = dataset[-1].annotation, found[1]
    assert sample.annotation.regions == new.regions
    assert (sample.annotation.width, sample.annotation.labels) == (given.width, given.labels)
    assert (sample.path, sample.split) == (dataset[-1].path, dataset[-1].split)
    assert "tower" in found.taxonomy.parents
    assert "tower" not in dataset.taxonomy.parents
    assert pickle.loads(pickle.dumps(found))[1].annotation.regions[0].label == "tower"  # noqa: S301
    with pytest.raises(UnknownNameError, match="no image 'x'"):
        dataset.annotated({"x": Annotation("x")})
    with pytest.raises(InputError, match=f"the annotation of '{first}' is of '{last}'"):
        dataset.annotated({first: new})


def test_sizes_are_compared_where_they_are_known() -> None:
    check_size(Path("a.png"), (9, 9), Annotation("a"))
    check_size(Path("a.png"), (4, 3), Annotation("a", 4, 3))
    with pytest.raises(InputError, match=r"has 4 x 4$"):
        check_size(Path("a.png"), (4, 4), Annotation("a", 4, 3))


# --- problems ------------------------------------------------------------------------------------


def test_problems_are_raised() -> None:
    problems = Problems()
    with pytest.raises(InputError, match=r"^line 3: width must be >= 0$"), problems.at("line 3"):
        raise InputError("width must be >= 0")
    with pytest.raises(InputError, match=r"^line 4: bad$"):
        problems.add("line 4", "bad")
    assert len(problems) == 0


def test_problems_are_collected() -> None:
    problems = Problems(skip=True)
    with problems.at("line 3"):
        float("x")
    problems.add("line 4", "bad")
    assert [str(p) for p in problems] == [
        "line 3: could not convert string to float: 'x'",
        "line 4: bad",
    ]
    with pytest.raises(TypeError), problems.at("line 5"):
        raise TypeError  # a mistake of ours is never set aside
    assert len(problems) == 2


# --- by name -------------------------------------------------------------------------------------


def test_unknown_names_and_options(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="cocoo"):
        load_dataset("cocoo", tmp_path)
    with pytest.raises(InputError, match="coco has no option 'image'; did you mean 'images'"):
        load_dataset("coco", tmp_path, image="x")
    with pytest.raises(InputError, match="coco needs a path"):
        load_dataset("coco")
    with pytest.raises(InputError, match="none: no such file or folder; coco needs"):
        load_dataset("coco", tmp_path / "none")
    with pytest.raises(InputError, match="ignore must be a list of flags, got the text 'crowd'"):
        load_dataset("coco", tmp_path, ignore="crowd")


@pytest.mark.parametrize("name", ["coco", "folder"])
def test_readers_have_the_same_form(name: str) -> None:
    spec = DATASETS[name]
    assert list(inspect.signature(spec.reader).parameters)[:3] == ["path", "problems", "split"]
    assert spec.options == {"annotations": None, "images": None}
