from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sightline.core import InputError, Taxonomy
from sightline.data.datasets import load_dataset
from sightline.data.problems import Problems
from sightline.data.readers.cub import read
from tests.data.fixtures_files import write_grey, write_image, write_texts

ALBATROSS, AUK = "001.Black_footed_Albatross", "002.Crested_Auk"
FIRST, SECOND, THIRD = f"{ALBATROSS}/A_0046_18.jpg", f"{AUK}/B_0001.jpg", f"{AUK}/B_0002.jpg"
IDS = tuple(name.replace("/", "__") for name in (FIRST, SECOND, THIRD))
SEGMENTATION = f"segmentations/{ALBATROSS}/A_0046_18.png"
TEXTS = {
    "images.txt": f"1 {FIRST}\n2 {SECOND}\n3 {THIRD}\n",
    "classes.txt": f"1 {ALBATROSS}\n2 {AUK}\n",
    "image_class_labels.txt": "1 1\n2 2\n3 2\n",
    "train_test_split.txt": "1 0\n2 1\n3 1\n",
    "bounding_boxes.txt": "1 10.0 5.0 20.0 10.0\n2 -1.0 0.0 41.5 41.0\n3 1.5 2.0 3.0 0.0\n",
    "parts/parts.txt": "1 back\n2 left eye\n3 left leg\n4 right eye\n5 tail\n",
    "parts/part_locs.txt": (
        "1 1 20.0 10.0 1\n1 2 0.0 0.0 0\n1 3 39.5 10.0 1\n1 4 12.5 7.5 1\n1 5 80.0 10.0 1\n"
        "2 1 1.0 1.0 1\n2 2 2.0 2.0 1\n2 3 3.0 3.0 1\n2 4 4.0 4.0 1\n2 5 5.0 5.0 0\n"
        "3 5 0.0 0.0 0\n3 4 0.0 0.0 0\n3 3 0.0 0.0 0\n3 2 0.0 0.0 0\n3 1 7.0 7.0 1\n"
    ),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "CUB_200_2011"
    write_texts(folder, TEXTS)
    for name, size in ((FIRST, (40, 20)), (SECOND, (40, 40)), (THIRD, (8, 16))):
        write_image(folder / "images" / name, size)
    return folder


def replaced(folder: Path, file: str, old: str, new: str) -> None:
    assert old in TEXTS[file]
    write_texts(folder, {file: TEXTS[file].replace(old, new)})


def test_reads_classes_and_splits(folder: Path) -> None:
    dataset = load_dataset("cub", folder)
    assert dataset.ids == IDS
    assert [sample.labels for sample in dataset] == [(ALBATROSS,), (AUK,), (AUK,)]
    assert [sample.split for sample in dataset] == ["test", "train", "train"]
    assert load_dataset("cub", folder, split="test").ids == IDS[:1]
    assert [sample.image().shape for sample in dataset] == [(20, 40, 3), (40, 40, 3), (16, 8, 3)]


def test_takes_the_folder_above(folder: Path) -> None:
    assert load_dataset("cub", folder.parent).root == folder


def test_parts_are_discs_and_hidden_ones_are_dropped(folder: Path) -> None:
    annotation = load_dataset("cub", folder, radius=28.0)[0].annotation
    # 28 pixels at 224 are 5 at a longer side of 40: 1/8 of the width, 1/4 of the height.
    assert [(r.index, r.label, r.box, r.radius, r.flags) for r in annotation.regions] == [
        (0, "back", (0.375, 0.25, 0.625, 0.75), 5.0, ()),
        (2, "left leg", (0.8625, 0.25, 1.1125, 0.75), 5.0, ("clipped",)),
        (3, "right eye", (0.1875, 0.125, 0.4375, 0.625), 5.0, ()),
    ]
    assert [(r.index, r.label, r.flags) for r in annotation.dropped] == [
        (1, "left eye", ("hidden",)),
        (4, "tail", ()),
    ]
    assert annotation.regions[0].source == "image 1 part 1"
    rows, columns = np.mgrid[:20, :40] + 0.5
    disc = (columns - 20) ** 2 + (rows - 10) ** 2 <= 25
    np.testing.assert_array_equal(annotation.regions[0].to_mask(20, 40), disc)


def test_the_radius_is_in_pixels_of_a_stated_size(folder: Path) -> None:
    radii = [
        load_dataset("cub", folder, **options)[0].annotation.regions[0].radius
        for options in ({}, {"radius": 30.0}, {"at": 448})
    ]
    assert radii == pytest.approx([15 / 224 * 40, 30 / 224 * 40, 15 / 448 * 40])


@pytest.mark.parametrize("place", ["20 10 1", "+20.0 1e1 1", "  20.\t0010.00  1", "20.0 10.0 1"])
def test_numbers_may_be_written_in_other_ways(folder: Path, place: str) -> None:
    replaced(folder, "parts/part_locs.txt", "20.0 10.0 1", place)
    radius = 15 / 224 * 40
    box = (0.5 - radius / 40, 0.5 - radius / 20, 0.5 + radius / 40, 0.5 + radius / 20)
    assert load_dataset("cub", folder)[0].annotation.regions[0].box == pytest.approx(box)


def test_part_numbers_do_not_depend_on_the_order_of_lines(folder: Path) -> None:
    annotation = load_dataset("cub", folder)[2].annotation
    assert [region.index for region in annotation.regions] == [0]
    assert [region.index for region in annotation.dropped] == [1, 2, 3, 4]


def test_paired_parts_stand_under_what_they_are(folder: Path) -> None:
    taxonomy = load_dataset("cub", folder).taxonomy
    assert taxonomy == Taxonomy(
        {
            "eye": [],
            "leg": [],
            "back": [],
            "left eye": ["eye"],
            "left leg": ["leg"],
            "right eye": ["eye"],
            "tail": [],
        }
    )


def test_boxes_are_in_pixels_and_clipped(folder: Path) -> None:
    dataset = load_dataset("cub", folder, regions="box")
    regions = [sample.annotation.regions for sample in dataset]
    assert [(r.label, r.kind, r.box, r.flags) for (r,) in regions] == [
        ("bird", "box", (0.25, 0.25, 0.75, 0.75), ()),
        ("bird", "box", (0.0, 0.0, 1.0, 1.0), ("clipped",)),
        ("bird", "box", (1.5 / 8, 2 / 16, 4.5 / 8, 2 / 16), ()),
    ]
    assert dataset.taxonomy == Taxonomy({"bird": []})


def write_masks(folder: Path) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Write segmentations: five annotators on the first image, one on the second, none after."""
    grey = np.zeros((20, 40), int)
    for votes in range(1, 6):
        grey[2 * votes : -1, 3 * votes : 38] = 51 * votes
    write_grey(folder / SEGMENTATION, grey)
    write_grey(folder / "segmentations" / AUK / "B_0001.png", np.eye(40) * 7, "LA")
    write_grey(folder / "segmentations" / AUK / "B_0002.png", np.zeros((16, 8)))
    return grey


def test_masks_take_half_of_the_largest_value(folder: Path) -> None:
    grey = write_masks(folder)
    first, second, third = load_dataset("cub", folder, regions="mask")
    (region,) = first.annotation.regions
    assert (region.label, region.kind) == ("bird", "mask")
    np.testing.assert_array_equal(region.to_mask(20, 40), grey >= 3 * 51)
    (region,) = second.annotation.regions
    np.testing.assert_array_equal(region.to_mask(40, 40), np.eye(40, dtype=bool))
    assert not third.annotation.regions
    assert third.annotation.dropped[0].flags == ("empty",)


def test_exactly_half_of_the_largest_value_is_in(folder: Path) -> None:
    write_masks(folder)
    grey = np.tile(np.repeat([204, 102, 101, 0], 10), (20, 1))
    write_grey(folder / SEGMENTATION, grey)
    (region,) = load_dataset("cub", folder, regions="mask")[0].annotation.regions
    np.testing.assert_array_equal(region.to_mask(20, 40), grey >= 102)


def test_segmentations_may_lie_beside_the_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_masks(folder.parent)
    assert len(load_dataset("cub", folder, regions="mask")[0].annotation.regions) == 1
    monkeypatch.chdir(folder)
    assert len(read(Path(), Problems(), None, regions="mask")[0].annotation.regions) == 1


def test_a_mask_is_decoded_once_and_when_asked_for(folder: Path) -> None:
    write_masks(folder)
    dataset = load_dataset("cub", folder, regions="mask")
    whole = (folder / SEGMENTATION).read_bytes()
    (folder / SEGMENTATION).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"A_0046_18\.png: cannot be read as an image"):
        _ = dataset[0].annotation
    (folder / SEGMENTATION).write_bytes(whole)
    assert dataset[0].annotation is dataset.by_id(IDS[0]).annotation


def test_a_mask_that_cannot_be_decoded_is_set_aside_alone(folder: Path) -> None:
    write_masks(folder)
    whole = (folder / SEGMENTATION).read_bytes()
    (folder / SEGMENTATION).write_bytes(whole[: len(whole) // 2])
    dataset = load_dataset("cub", folder, regions="mask", skip_bad=True)
    assert tuple(dataset.annotations()) == IDS[1:]
    assert "A_0046_18.png: cannot be read as an image" in str(dataset.skipped[0])


@pytest.mark.parametrize("broken", ["missing", "other size", "text"])
def test_a_bad_mask_is_named_or_set_aside_alone(folder: Path, broken: str) -> None:
    write_masks(folder)
    match broken:
        case "missing":
            (folder / SEGMENTATION).unlink()
        case "other size":
            write_grey(folder / SEGMENTATION, np.ones((40, 20)))
        case _:
            (folder / SEGMENTATION).write_text("no image")
    with pytest.raises(InputError, match=r"images\.txt: image 1 .*: .*A_0046_18\.png"):
        load_dataset("cub", folder, regions="mask")
    dataset = load_dataset("cub", folder, regions="mask", skip_bad=True)
    assert dataset.ids == IDS[1:]
    assert len(dataset.skipped) == 1


@pytest.mark.parametrize("line", ["4", "4 ", "four x.jpg", "-4 x.jpg", "1 again.jpg", "²  x.jpg"])
def test_a_bad_line_is_named_or_set_aside_alone(folder: Path, line: str) -> None:
    write_texts(folder, {"images.txt": f"{TEXTS['images.txt']}\n{line}\n"})
    with pytest.raises(InputError, match=r"images\.txt line 5: "):
        load_dataset("cub", folder)
    dataset = load_dataset("cub", folder, skip_bad=True)
    assert dataset.ids == IDS
    assert len(dataset.skipped) == 1


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "1 3 39.5 10.0 1",
            "1 3 39.5 10.0",
            "must be 'image part x y visible', got '1 3 39.5 10.0'",
        ),
        ("1 3 39.5 10.0 1", "1 3 nan 10.0 1", "x must be a finite number, got 'nan'"),
        ("1 3 39.5 10.0 1", "1 3 39.5 1e999 1", "y must be a finite number, got '1e999'"),
        ("1 3 39.5 10.0 1", "1 3 3_9 10.0 1", "x must be a finite number, got '3_9'"),
        ("1 3 39.5 10.0 1", "1 3 39.5 10.0 2", "visible must be 0 or 1, got '2'"),
        ("1 3 39.5 10.0 1", "1 6 39.5 10.0 1", r"part 6 is not in parts\.txt"),
        ("1 3 39.5 10.0 1", "1 1 39.5 10.0 1", r"repeats \(1, 1\) of line 1"),
    ],
)
def test_a_bad_part_is_named_or_set_aside_alone(
    folder: Path, old: str, new: str, said: str
) -> None:
    replaced(folder, "parts/part_locs.txt", old, new)
    with pytest.raises(InputError, match=r"part_locs\.txt line 3: .*" + said):
        load_dataset("cub", folder)
    dataset = load_dataset("cub", folder, skip_bad=True)
    assert [region.index for region in dataset[0].annotation.regions] == [0, 3]
    assert (len(dataset), len(dataset.skipped)) == (3, 1)


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("image_class_labels.txt", "2 2\n", "", r"has no line in image_class_labels\.txt"),
        (
            "image_class_labels.txt",
            "2 2\n",
            "2 9\n",
            r"has no line in classes\.txt for its class 9",
        ),
        ("train_test_split.txt", "2 1\n", "", r"has no line in train_test_split\.txt"),
        ("images.txt", SECOND, f"{AUK}/none.jpg", "pixels .*skip_bad leaves.*: no such image"),
        ("images.txt", SECOND, "../secret.jpg", r"'\.\./secret\.jpg' leaves the folder"),
        ("images.txt", SECOND, "a b.jpg", "image name|no such image"),
        ("images.txt", SECOND, FIRST, "image id .* of image 2 is that of image 1"),
    ],
)
def test_a_bad_image_is_named_or_set_aside_alone(
    folder: Path, file: str, old: str, new: str, said: str
) -> None:
    replaced(folder, file, old, new)
    with pytest.raises(InputError, match=r"images\.txt: image 2 \(.*\): .*(" + said + ")"):
        load_dataset("cub", folder)
    dataset = load_dataset("cub", folder, skip_bad=True)
    assert dataset.ids == (IDS[0], IDS[2])
    assert len(dataset.skipped) == 1


@pytest.mark.parametrize(
    ("regions", "file", "old"),
    [
        ("box", "bounding_boxes.txt", "1 10.0 5.0 20.0 10.0\n"),
        ("parts", "parts/part_locs.txt", TEXTS["parts/part_locs.txt"].partition("2 1 ")[0]),
    ],
)
def test_every_image_needs_its_lines(folder: Path, regions: str, file: str, old: str) -> None:
    replaced(folder, file, old, "")
    with pytest.raises(InputError, match=rf"images\.txt: image 1 .*: has no line in {file}"):
        load_dataset("cub", folder, regions=regions)
    assert load_dataset("cub", folder, regions=regions, skip_bad=True).ids == IDS[1:]


def test_a_box_must_not_have_a_negative_size(folder: Path) -> None:
    replaced(folder, "bounding_boxes.txt", "20.0", "-20.0")
    with pytest.raises(InputError, match=r"bounding_boxes\.txt line 1: width and height"):
        load_dataset("cub", folder, regions="box")


def test_a_shorter_list_of_images_is_a_smaller_data_set(folder: Path) -> None:
    write_texts(folder, {"images.txt": f"2 {SECOND}\n"})
    for regions in ("parts", "box"):
        dataset = load_dataset("cub", folder, regions=regions)
        assert dataset.ids == IDS[1:2]
        assert dataset.skipped == ()


def test_part_names_are_never_skipped(folder: Path) -> None:
    replaced(folder, "parts/parts.txt", "3 left leg", "3")
    with pytest.raises(InputError, match=r"parts\.txt line 3: must be a number and a name"):
        load_dataset("cub", folder, skip_bad=True)


@pytest.mark.parametrize("text", [b"1 caf\xe9.jpg\n", None])
def test_an_unreadable_file_is_named(folder: Path, text: bytes | None) -> None:
    if text is None:
        (folder / "classes.txt").unlink()
    else:
        write_texts(folder, {"classes.txt": text})
    with pytest.raises(InputError, match=r"classes\.txt: (is not UTF-8 text|cannot be read)"):
        load_dataset("cub", folder, skip_bad=True)


def test_a_table_must_not_be_a_link_to_elsewhere(folder: Path) -> None:
    for name in TEXTS:
        (folder / name).rename(folder.parent / "elsewhere")
        (folder / name).symlink_to(folder.parent / "elsewhere")
        for regions in ("parts", "box"):
            if name != "bounding_boxes.txt" if regions == "parts" else "parts/" not in name:
                with pytest.raises(InputError, match=rf"{name}: '{name}' leaves the folder"):
                    load_dataset("cub", folder, regions=regions, skip_bad=True)
        (folder / name).unlink()
        (folder.parent / "elsewhere").rename(folder / name)


def test_endings_of_images_may_be_in_other_case(folder: Path) -> None:
    (folder / "images" / FIRST).rename(folder / "images" / FIRST.replace(".jpg", ".JPG"))
    sample = load_dataset("cub", folder)[0]
    assert sample.image_id == IDS[0]
    assert sample.image().shape == (20, 40, 3)


def test_windows_line_ends_and_a_byte_order_mark_are_fine(folder: Path) -> None:
    for name, text in TEXTS.items():
        write_texts(folder, {name: "\ufeff" + text.replace("\n", "\r\n")})
    assert load_dataset("cub", folder).taxonomy.names[-1] == "tail"


def test_turned_images_have_their_upright_size(folder: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (20, 40)).save(folder / "images" / FIRST, exif=exif)
    sample = load_dataset("cub", folder)[0]
    assert (sample.annotation.width, sample.annotation.height) == (40, 20)
    assert sample.image().shape == (20, 40, 3)


@pytest.mark.parametrize(
    "options",
    [
        {"regions": "masks"},
        {"radius": -1.0},
        {"radius": float("nan")},
        {"radius": "a"},
        {"radius": True},
        {"radius": 10**400},
        {"at": 0},
        {"at": None},
    ],
)
def test_options_are_checked(folder: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(options))):
        load_dataset("cub", folder, **options)
