"""The photographs inside scikit-image: their files, and the regions drawn on them."""

from __future__ import annotations

import json
import pickle
import re
import shutil
from collections import Counter
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np
import pytest
import skimage.data

from sightline.core import InputError, MissingPackageError
from sightline.data import DATASETS, inspect_dataset, load_dataset
from sightline.data import photos as module
from sightline.data.photos import REGIONS, photos
from sightline.models.efficientnet import imagenet_classes

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.core import Sample
    from sightline.core.raster import Mask

# A few places that must be in, and that must not be in, the regions of a label: x, y in pixels.
PLACES = {
    "astronaut.png": {
        "human face": ([(225, 150), (190, 120)], [(225, 40), (225, 200)]),
        "space shuttle": ([(395, 150), (415, 40), (445, 120)], [(370, 100), (480, 290)]),
        "helmet": ([(400, 420), (300, 480)], [(260, 480), (500, 400)]),
        "booster": ([(388, 60), (394, 258), (446, 250)], [(415, 250), (370, 255)]),
        "mission patch": ([(170, 360), (200, 385)], [(215, 385)]),
        "flag": ([(20, 60), (60, 190)], [(100, 120)]),
    },
    "camera.png": {
        "camera": ([(290, 160), (320, 145)], [(290, 130), (290, 195)]),
        "tripod": ([(293, 400), (350, 405), (260, 420)], [(320, 450), (275, 450)]),
        "person": ([(100, 300), (215, 100), (325, 185), (110, 490)], [(165, 490), (255, 215)]),
    },
    "chelsea.png": {
        "eye": ([(170, 115), (318, 135)], [(235, 115)]),
        "nose": ([(268, 240)], [(268, 215), (268, 270)]),
        "cat": ([(200, 50), (100, 280)], [(15, 50), (430, 150)]),
    },
    "coffee.png": {
        "coffee": ([(290, 150)], [(290, 80), (290, 200)]),
        "spoon": ([(410, 80), (365, 290)], [(430, 200)]),
        "saucer": ([(120, 200), (290, 370), (450, 220)], [(290, 240), (365, 290), (60, 200)]),
        "cup handle": ([(215, 270)], [(240, 310)]),
    },
    "coins.png": {"coin": ([(44, 54), (347, 187), (358, 268)], [(75, 90), (383, 150)])},
    "motorcycle_left.png": {
        "motorcycle wheel": ([(140, 320), (670, 400)], [(220, 325), (600, 285)]),
        "fuel tank": ([(420, 200)], [(420, 255)]),
        "headlight": ([(540, 150)], [(572, 130)]),
        "motorcycle": ([(332, 420), (505, 40), (350, 130)], [(650, 250), (480, 330)]),
    },
    "rocket.jpg": {
        "rocket": ([(322, 140), (322, 300)], [(322, 415), (300, 300)]),
        "nose cone": ([(322, 150)], [(322, 190)]),
        "lattice tower": (
            [(60, 100), (16, 250), (195, 300), (455, 300), (600, 100), (572, 280)],
            [(322, 200), (8, 250), (566, 280)],
        ),
    },
}


def masks_of(sample: Sample, label: str) -> list[Mask]:
    height, width = sample.image().shape[:2]
    regions = [region for region in sample.annotation.regions if region.label == label]
    return [region.to_mask(height, width) for region in regions]


def test_the_images_are_those_of_scikit_image() -> None:
    shown = load_dataset("photos")
    assert shown.ids == tuple(PLACES)
    cat = shown.by_id("chelsea.png").image()
    np.testing.assert_array_equal(cat, skimage.data.chelsea())
    grey = shown.by_id("coins.png").image()
    np.testing.assert_array_equal(grey[..., 1], skimage.data.coins())
    assert all((sample.annotation.height, sample.annotation.width) == sample.image().shape[:2]
               for sample in shown)  # fmt: skip


@pytest.mark.parametrize("image", PLACES)
def test_regions_lie_on_what_they_name(image: str) -> None:
    sample = photos().by_id(image)
    for label, (inside, outside) in PLACES[image].items():
        union = np.any(masks_of(sample, label), axis=0)
        assert [union[y, x] for x, y in inside] == [True] * len(inside), label
        assert [union[y, x] for x, y in outside] == [False] * len(outside), label


def test_parts_lie_within_their_objects() -> None:
    shown = photos()
    within = {
        ("astronaut.png", "person"): ("human face", "hair", "eye", "nose", "ear", "spacesuit"),
        ("astronaut.png", "spacesuit"): ("mission patch", "name tag"),
        ("astronaut.png", "space shuttle"): ("orbiter", "external tank", "booster"),
        ("camera.png", "person"): ("human face", "hair", "ear", "eye", "nose"),
        ("chelsea.png", "cat"): ("eye", "nose", "ear"),
        ("coffee.png", "cup"): ("coffee", "cup handle"),
        ("motorcycle_left.png", "motorcycle"): (
            "motorcycle wheel", "saddle", "fuel tank", "engine", "headlight", "exhaust",
        ),
        ("rocket.jpg", "rocket"): ("nose cone",),
    }  # fmt: skip
    for (image, whole), parts in within.items():
        sample = shown.by_id(image)
        outline = np.any(masks_of(sample, whole), axis=0)
        for part in parts:
            for mask in masks_of(sample, part):
                assert (mask & outline).sum() >= 0.95 * mask.sum(), (image, part)


def test_things_of_one_label_do_not_overlap() -> None:
    for sample in photos():
        for label in {region.label for region in sample.annotation.regions}:
            masks = masks_of(sample, label)
            assert np.sum(masks, axis=0).max() == 1, (sample.image_id, label)
            assert min(mask.sum() for mask in masks) > 50


def test_every_instance_is_there() -> None:
    counts = Counter(region.label for sample in photos() for region in sample.annotation.regions)
    several = {"coin": 24, "eye": 5, "ear": 5, "lattice tower": 4, "nose": 3, "person": 2}
    assert {label: counts[label] for label in several} == several
    assert all(not sample.annotation.dropped for sample in photos())


def test_labels_are_objects_and_parts() -> None:
    shown = photos()
    used = {region.label for sample in shown for region in sample.annotation.regions}
    assert used == set(shown.taxonomy) - {"object", "part"}
    assert {shown.taxonomy.ancestors(label) for label in used} == {("object",), ("part",)}


def test_image_labels_are_classes_of_imagenet() -> None:
    labels = {sample.image_id: sample.labels for sample in photos()}
    assert {label for some in labels.values() for label in some} <= set(imagenet_classes())
    assert labels["coffee.png"] == ("espresso",)
    assert labels["coins.png"] == ()


def test_it_takes_no_path_and_no_options() -> None:
    assert DATASETS["photos"].options == {}
    with pytest.raises(InputError, match="photos needs no files and takes no path, got 'here'"):
        load_dataset("photos", "here")
    with pytest.raises(InputError, match="photos has no option 'count'"):
        load_dataset("photos", count=3)
    with pytest.raises(InputError, match="photos has no images in split 'test'"):
        load_dataset("photos", split="test")


def test_it_goes_to_other_processes() -> None:
    there = pickle.loads(pickle.dumps(photos()))  # noqa: S301
    assert there.ids == photos().ids
    assert there[2].image().shape == (300, 451, 3)


def test_other_pictures_of_the_package_are_not_missed() -> None:
    assert "chessboard" not in str(inspect_dataset(photos()))


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the package's pictures be a copy, which may be changed."""
    for image in PLACES:
        shutil.copy(module._folder() / image, tmp_path / image)
    monkeypatch.setattr(module, "_folder", lambda: tmp_path)
    return tmp_path


def test_a_file_of_another_version_is_refused(copied: Path) -> None:
    shutil.copy(copied / "coffee.png", copied / "chelsea.png")
    said = r"photos: image 'chelsea.png': .*chelsea.png must be the picture of scikit-image 0\.26\."
    installed = re.escape(version("scikit-image"))
    with pytest.raises(InputError, match=rf"{said}.*got .* of scikit-image {installed}"):
        photos()
    shown = load_dataset("photos", skip_bad=True)
    assert len(shown) == 6
    assert [problem.where for problem in shown.skipped] == ["photos: image 'chelsea.png'"]


def test_a_file_that_is_not_there_is_named(copied: Path) -> None:
    (copied / "rocket.jpg").unlink()
    with pytest.raises(InputError, match=r"rocket\.jpg cannot be read \(scikit-image .*No such"):
        photos()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"pip install 'sightline\[models\]'"):
        photos()


def test_the_file_says_where_each_picture_is_from() -> None:
    images = json.loads(REGIONS.read_text("utf-8"))["images"]
    assert all(record["about"].endswith(".") and len(record["sha256"]) == 64 for record in images)
