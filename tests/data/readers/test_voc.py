from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.core import InputError, Taxonomy
from sightline.data.datasets import load_dataset
from sightline.data.readers import _voc_files
from tests.data.fixtures_files import write_grey, write_image, write_texts

if TYPE_CHECKING:
    from pathlib import Path


def bndbox(xmin: object, ymin: object, xmax: object, ymax: object) -> str:
    # The order of the tags is that of some of the real files.
    return (
        f"<bndbox><xmax>{xmax}</xmax><xmin>{xmin}</xmin>"
        f"<ymax> {ymax}\n</ymax><ymin>{ymin}</ymin></bndbox>"
    )


def part(name: str, *corners: object) -> str:
    return f"<part><name>{name}</name>{bndbox(*corners)}</part>"


def thing(name: str, *corners: object, more: str = "") -> str:
    return f"<object><name>{name}</name><pose>Left</pose>{bndbox(*corners)}{more}</object>"


def xml(filename: str, size: tuple[object, object] | None, *things: str) -> str:
    written = f"<filename>{filename}</filename>" if filename else ""
    if size is not None:
        written += (
            f"<size><width>{size[0]}</width><height>{size[1]}</height><depth>3</depth></size>"
        )
    return f"<annotation><folder>VOC</folder>{written}{''.join(things)}</annotation>"


PERSON = thing(
    "person",
    11,
    6,
    20,
    15,
    more="<truncated>1</truncated><difficult>0</difficult>"
    + part("head", 11, 6, 15, 10)
    + part("hand", 16.5, 8, 18, 9),
)
DOG = thing("dog", 1, 1, 40, 20, more="<difficult>1</difficult>" + part("head", 1, 1, 4, 4))
TEXTS = {
    "Annotations/000001.xml": '<?xml version="1.0" encoding="gb2312"?>\n'
    + xml("000001.jpg", (40, 20), PERSON, DOG),
    "Annotations/000002.xml": xml("000002.jpg", (0, 0), thing("dog", 0, 10.5, 41, 21.0)),
    "Annotations/000003.xml": xml("", None, thing("cat", 30, 3, 40, 4), thing("cat", 2, 3, 2, 3)),
    "Annotations/000004.xml": xml("000004.jpg", (8, 8)),
    "Annotations/README": "no annotation",
    "ImageSets/Main/train.txt": "000001\n",
    "ImageSets/Main/val.txt": "000002\n000001\n",
    "ImageSets/Main/trainval.txt": "000002\n000001\n",
    "ImageSets/Main/test.txt": "000003\n000005\n",
    "ImageSets/Main/dog_train.txt": "000001  1\n000002 -1\n",
    "ImageSets/Segmentation/trainval.txt": "000001\n",
}


GOOD = thing("dog", 1, 1, 2, 2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "VOCdevkit" / "VOC2007"
    write_texts(folder, TEXTS)
    write_image(folder / "JPEGImages" / "000001.jpg", (40, 20))
    write_image(folder / "JPEGImages" / "000002.jpg", (40, 20))
    write_image(folder / "JPEGImages" / "000003.png", (20, 10))
    return folder


def test_reads_boxes_of_whole_pixels_counted_from_one(folder: Path) -> None:
    dataset = load_dataset("voc", folder)
    person, dog = dataset[0].annotation.regions
    assert (person.label, person.box, person.flags) == (
        "person",
        (0.25, 0.25, 0.5, 0.75),
        ("truncated",),
    )
    assert (dog.label, dog.box, dog.flags) == ("dog", (0.0, 0.0, 1.0, 1.0), ("difficult",))
    assert (dog.index, dog.source, dog.difficult) == (1, "object 2", True)
    expected = np.zeros((20, 40), bool)
    expected[5:15, 10:20] = True
    np.testing.assert_array_equal(person.to_mask(20, 40), expected)


def test_takes_the_size_from_the_image_where_it_is_missing_or_zero(folder: Path) -> None:
    dataset = load_dataset("voc", folder)
    (dog,) = dataset[1].annotation.regions
    assert (dog.box, dog.flags) == ((0.0, 9.5 / 20, 1.0, 1.0), ("clipped",))
    annotation = dataset[2].annotation
    assert (annotation.width, annotation.height) == (20, 10)
    (cat,) = annotation.regions
    assert (cat.index, cat.box) == (1, (1 / 20, 2 / 10, 2 / 20, 3 / 10))
    assert [region.index for region in annotation.dropped] == [0]


def test_images_are_found_by_their_name_or_that_of_the_file(folder: Path) -> None:
    dataset = load_dataset("voc", folder)
    assert dataset.ids == ("000001.jpg", "000002.jpg", "000003", "000004.jpg")
    assert dataset[2].image().shape == (10, 20, 3)
    with pytest.raises(InputError, match=r"000004\.jpg: no such image"):
        dataset[3].image()


@pytest.mark.parametrize(
    ("annotation", "image"),
    [
        ("a.xml", "a.jpg"),
        ("annotations/a.xml", "images/a.jpg"),
        ("ANNOTATIONS/a.xml", "Images/a.jpg"),
        ("Annotations/a.xml", "a.jpg"),
        ("Annotations/a.xml", "Annotations/a.jpg"),
        ("annotations/a.xml", "JPEGImages/a.JPG"),
        ("below/annotations/a.xml", "below/images/a.jpg"),
    ],
)
def test_files_may_lie_elsewhere(tmp_path: Path, annotation: str, image: str) -> None:
    write_texts(tmp_path, {annotation: xml("a.jpg", (8, 8), GOOD), "notes/b.txt": "no XML"})
    write_image(tmp_path / image, (8, 8))
    (sample,) = load_dataset("voc", tmp_path)
    assert (sample.image_id, sample.split, sample.path) == ("a.jpg", "", tmp_path / image)
    assert [region.label for region in sample.annotation.regions] == ["dog"]
    assert sample.image().shape == (8, 8, 3)


@pytest.mark.parametrize(("xmls", "images"), [("", ""), ("annotations/", "images/")])
def test_folders_may_be_splits(tmp_path: Path, xmls: str, images: str) -> None:
    for split in ("train", "valid", "test"):
        write_texts(tmp_path / split, {f"{xmls}a.xml": xml("a.jpg", (8, 8), GOOD)})
        write_image(tmp_path / split / f"{images}a.jpg", (8, 8))
    dataset = load_dataset("voc", tmp_path)
    assert dataset.root == tmp_path
    assert [(sample.image_id, sample.split) for sample in dataset] == [
        ("train__a.jpg", "train"),
        ("valid__a.jpg", "valid"),
        ("test__a.jpg", "test"),
    ]
    assert dataset[1].image().shape == (8, 8, 3)
    for split in ("val", "valid"):
        (sample,) = load_dataset("voc", tmp_path, split=split)
        assert sample.path == tmp_path / "valid" / f"{images}a.jpg"


def test_a_folder_may_be_called_validation(tmp_path: Path) -> None:
    for split in ("train", "validation"):
        write_texts(tmp_path / split, {"a.xml": xml("a.jpg", (8, 8), GOOD)})
        write_image(tmp_path / split / "a.jpg", (8, 8))
    (sample,) = load_dataset("voc", tmp_path, split="val")
    assert sample.path == tmp_path / "validation" / "a.jpg"


@pytest.mark.parametrize("written", ["IMG_77.jpg", "photos\\\\b.jpg", "C:\\\\b.jpg", "b.png"])
def test_an_image_may_be_named_like_the_file(tmp_path: Path, written: str) -> None:
    write_texts(tmp_path, {"Annotations/b.xml": xml(written, (8, 8))})
    write_image(tmp_path / "JPEGImages" / "b.jpg", (8, 8))
    (sample,) = load_dataset("voc", tmp_path)
    assert (sample.image_id, sample.path) == ("b.jpg", tmp_path / "JPEGImages" / "b.jpg")


def test_names_from_windows_have_folders(tmp_path: Path) -> None:
    write_texts(tmp_path, {"Annotations/b.xml": xml("west\\a.jpg", (8, 8))})
    write_image(tmp_path / "JPEGImages" / "west" / "a.JPG", (8, 8))
    (sample,) = load_dataset("voc", tmp_path)
    assert sample.image_id == "west__a.jpg"
    assert sample.path == tmp_path / "JPEGImages" / "west" / "a.JPG"


@pytest.mark.parametrize(
    ("written", "flags"),
    [
        ("True", ("difficult",)),
        ("yes", ("difficult",)),
        (" 1 ", ("difficult",)),
        ("false", ()),
        ("No", ()),
        ("", ()),
    ],
)
def test_flags_may_be_words(tmp_path: Path, written: str, flags: tuple[str, ...]) -> None:
    text = thing("dog", 1, 1, 2, 2, more=f"<difficult>{written}</difficult>")
    write_texts(tmp_path, {"Annotations/b.xml": xml("b.jpg", (8, 8), text)})
    assert load_dataset("voc", tmp_path)[0].annotation.regions[0].flags == flags


def test_what_systems_leave_behind_is_passed_over(folder: Path) -> None:
    names = ("Annotations/._000001.xml", "ImageSets/Main/._train.txt")
    write_texts(folder, dict.fromkeys(names, b"\0\5\x16\7\xff"))
    write_texts(folder.parent, {"__MACOSX/Annotations/a.xml": "", ".x/Annotations/a.xml": ""})
    assert len(load_dataset("voc", folder.parent)) == 4
    with pytest.raises(InputError, match="lists: dog_train, test, train, trainval, val"):
        load_dataset("voc", folder, split="dev")


@pytest.mark.parametrize("name", ["ImageSets/Main/train.txt", "Annotations/000001.xml"])
def test_a_link_must_stay_in_the_folder(folder: Path, name: str) -> None:
    (folder / name).rename(folder.parent / "elsewhere")
    (folder / name).symlink_to(folder.parent / "elsewhere")
    with pytest.raises(InputError, match=rf"{name}: '{name}' leaves the folder"):
        load_dataset("voc", folder)


def test_labels_without_parts_stand_alone(folder: Path) -> None:
    assert load_dataset("voc", folder).taxonomy == Taxonomy.flat(["cat", "dog", "person"])


def test_parts_stand_under_their_objects_and_are_numbered_behind_them(folder: Path) -> None:
    dataset = load_dataset("voc", folder, parts=True)
    assert dataset.taxonomy.parents == {
        "cat": (),
        "dog": (),
        "hand": ("person",),
        "head": ("dog", "person"),
        "person": (),
    }
    regions = dataset[0].annotation.regions
    assert [(region.index, region.label, region.source) for region in regions] == [
        (0, "person", "object 1"),
        (1, "dog", "object 2"),
        (2, "head", "object 1 part 1"),
        (3, "hand", "object 1 part 2"),
        (4, "head", "object 2 part 1"),
    ]
    assert regions[3].box == (15.5 / 40, 7 / 20, 18 / 40, 9 / 20)


def test_an_image_belongs_to_the_first_split_that_lists_it(folder: Path) -> None:
    dataset = load_dataset("voc", folder)
    assert [sample.split for sample in dataset] == ["train", "val", "test", ""]


def test_a_split_is_read_in_the_order_of_its_list(folder: Path) -> None:
    dataset = load_dataset("voc", folder, split="trainval")
    assert dataset.ids == ("000002.jpg", "000001.jpg")
    assert dataset.splits == {"trainval": 2}
    assert load_dataset("voc", folder, split="val").ids == ("000002.jpg", "000001.jpg")


def test_a_listed_image_needs_its_file(folder: Path) -> None:
    with pytest.raises(InputError, match=r"000005\.xml: cannot be read: No such file"):
        load_dataset("voc", folder, split="test")
    assert load_dataset("voc", folder, split="test", skip_bad=True).ids == ("000003",)


def test_lists_of_a_class_name_the_images_that_show_it(folder: Path) -> None:
    assert load_dataset("voc", folder, split="dog_train").ids == ("000001.jpg",)


def test_lists_are_checked(folder: Path) -> None:
    with pytest.raises(InputError, match="no list of split 'dev'; lists: dog_train, test, train"):
        load_dataset("voc", folder, split="dev")
    write_texts(folder, {"ImageSets/Main/odd.txt": "000001 2\n"})
    with pytest.raises(InputError, match=r"odd\.txt line 1: must be one id, or an id and -1, 0 or"):
        load_dataset("voc", folder, split="odd")
    with pytest.raises(InputError, match="leaves the folder"):
        load_dataset("voc", folder, split="../../../x")
    write_texts(folder, {"ImageSets/Main/train.txt": "000001\n../../x\n"})
    with pytest.raises(InputError, match=r"x\.xml: .* leaves the folder"):
        load_dataset("voc", folder, split="train")
    write_texts(folder, {"ImageSets/Main/train.txt": "000001\n../../x\n000001\n"})
    with pytest.raises(InputError, match=r"train\.txt line 3: '000001' repeats .* of line 1"):
        load_dataset("voc", folder, split="train")
    dataset = load_dataset("voc", folder, split="train", skip_bad=True)
    assert dataset.ids == ("000001.jpg",)
    assert {problem.where.rpartition("/")[2] for problem in dataset.skipped} == {
        "train.txt line 3",
        "x.xml",
    }


def test_takes_a_folder_that_holds_exactly_one(folder: Path) -> None:
    assert load_dataset("voc", folder.parent).root == folder
    assert load_dataset("voc", folder.parent.parent).root == folder
    write_texts(folder.parent / "VOC2012", {"Annotations/a.xml": xml("a.jpg", (1, 1))})
    with pytest.raises(InputError, match="several data sets, name one of them: VOC2007, VOC2012"):
        load_dataset("voc", folder.parent)
    with pytest.raises(
        InputError, match="needs XML files in a folder Annotations, beside the images, or in"
    ):
        load_dataset("voc", folder / "JPEGImages")


MASK = np.zeros((20, 40), int)
MASK[5:15, 10:20] = 1
MASK[8:12, 12:30] = 2
MASK[4, 10:20] = 255


def test_masks_are_indices_of_the_palette(folder: Path) -> None:
    write_grey(folder / "SegmentationObject" / "000001.png", MASK, "P")
    dataset = load_dataset("voc", folder, masks=True)
    assert dataset.ids == ("000001.jpg",)
    assert dataset.taxonomy.names == ("dog", "person", "void")
    annotation = dataset[0].annotation
    person, dog, void = annotation.regions
    assert (person.kind, person.label, person.flags) == ("mask", "person", ("truncated",))
    np.testing.assert_array_equal(person.to_mask(20, 40), MASK == 1)
    np.testing.assert_array_equal(dog.to_mask(20, 40), MASK == 2)
    assert (void.label, void.flags, void.index) == ("void", ("ignore",), 5)
    np.testing.assert_array_equal(annotation.ignore_mask(20, 40), MASK == 255)
    np.testing.assert_array_equal(annotation.union_mask(20, 40), (MASK > 0) & (MASK < 255))


def test_masks_of_objects_and_boxes_of_parts_go_together(folder: Path) -> None:
    write_grey(folder / "SegmentationObject" / "000001.png", MASK, "P")
    annotation = load_dataset("voc", folder, masks=True, parts=True)[0].annotation
    assert [(region.index, region.kind) for region in annotation.regions] == [
        (0, "mask"),
        (1, "mask"),
        (2, "box"),
        (3, "box"),
        (4, "box"),
        (5, "mask"),
    ]


def test_an_object_without_a_pixel_is_dropped(folder: Path) -> None:
    write_grey(folder / "SegmentationObject" / "000001.png", np.where(MASK == 2, 2, 0), "P")
    annotation = load_dataset("voc", folder, masks=True)[0].annotation
    assert [(region.index, region.label) for region in annotation.regions] == [(1, "dog")]
    assert [(r.index, r.flags) for r in annotation.dropped] == [(0, ("truncated", "empty"))]


def test_masks_have_lists_of_their_own(folder: Path) -> None:
    write_grey(folder / "SegmentationObject" / "000001.png", MASK, "P")
    assert load_dataset("voc", folder, masks=True, split="trainval").ids == ("000001.jpg",)
    with pytest.raises(InputError, match="no list of split 'val'; lists: trainval"):
        load_dataset("voc", folder, masks=True, split="val")


def test_a_mask_must_fit_its_image(folder: Path) -> None:
    with pytest.raises(InputError, match="masks need a folder SegmentationObject"):
        load_dataset("voc", folder, masks=True)
    file = folder / "SegmentationObject" / "000001.png"
    write_grey(file, MASK.T, "P")
    with pytest.raises(InputError, match=r"000001\.xml: .*000001\.png has \(20, 40\) pixels"):
        load_dataset("voc", folder, masks=True)
    assert len(load_dataset("voc", folder, masks=True, skip_bad=True)) == 0
    write_grey(file, MASK + 1, "P")
    with pytest.raises(InputError, match=r"000001\.png: has object 3, the XML only 2"):
        _ = load_dataset("voc", folder, masks=True)[0].annotation
    dataset = load_dataset("voc", folder, masks=True, skip_bad=True)
    assert (len(dataset), dataset.annotations()) == (0, {})
    assert [problem.where.endswith("000001.xml") for problem in dataset.skipped] == [True]
    write_grey(file, MASK, "RGB")
    with pytest.raises(InputError, match=r"000001\.png: .*must have a palette, has mode 'RGB'"):
        _ = load_dataset("voc", folder, masks=True)[0].annotation
    write_grey(file, MASK, "P")
    dataset = load_dataset("voc", folder, masks=True)
    file.write_bytes(file.read_bytes()[:-30])
    with pytest.raises(InputError, match=r"000001\.png: cannot be read as a mask"):
        _ = dataset[0].annotation


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (thing("cat", 5, 1, 4, 2), "xmin <= xmax, ymin <= ymax, got 5 1 4 2"),
        (thing("cat", 5, 2, 6, 1), "xmin <= xmax, ymin <= ymax"),
        (thing("cat", "nan", 1, 4, 2), "xmin must be a finite number, got 'nan'"),
        (thing("cat", 1, 1, "1e400", 2), "xmax must be a finite number"),
        (thing("cat", "", 1, 4, 2), "xmin must be a finite number, got ''"),
        ("<object><name>cat</name></object>", "xmin must be a finite number, got ''"),
        (thing(" ", 1, 1, 2, 2), "has no name"),
        (thing("cat", 1, 1, 2, 2, more="<difficult>2</difficult>"), "difficult must be 0 or 1"),
    ],
)
def test_a_bad_object_is_named_or_set_aside_alone(folder: Path, bad: str, said: str) -> None:
    text = xml("000004.jpg", (8, 8), GOOD, bad, GOOD)
    write_texts(folder, {"Annotations/000004.xml": text})
    with pytest.raises(InputError, match=r"000004\.xml: object 2: .*" + said):
        load_dataset("voc", folder)
    dataset = load_dataset("voc", folder, skip_bad=True)
    assert [region.index for region in dataset[3].annotation.regions] == [0, 2]
    assert len(dataset.skipped) == 1


def test_a_bad_part_is_named_or_set_aside_alone(folder: Path) -> None:
    bad = thing("dog", 1, 1, 2, 2, more=part("head", 4, 1, 2, 2) + part("tail", 1, 1, 2, 2))
    write_texts(folder, {"Annotations/000004.xml": xml("000004.jpg", (8, 8), bad)})
    assert len(load_dataset("voc", folder)[3].annotation.regions) == 1
    with pytest.raises(InputError, match=r"000004\.xml: object 1 part 1: bndbox"):
        load_dataset("voc", folder, parts=True)
    dataset = load_dataset("voc", folder, parts=True, skip_bad=True)
    assert [region.index for region in dataset[3].annotation.regions] == [0, 2]


LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "haha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<annotation><filename>&b;</filename></annotation>"""
EXTERNAL = '<!DOCTYPE a SYSTEM "http://127.0.0.1/a.dtd"><annotation/>'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAUGHS, "must not declare a document type or entities, got '<!DOCTYPE'"),
        (EXTERNAL, "must not declare a document type or entities"),
        (LAUGHS.encode("utf-16"), "is not UTF-8 text"),
        (xml("café.jpg", (8, 8)).encode("latin-1"), "is not UTF-8 text"),
        (xml("&b;", (8, 8)), "is not valid XML: undefined entity"),
        ("<annotation>", "is not valid XML"),
        ("", "is not valid XML"),
        ("<html/>", "must be an <annotation>, got <html>"),
        (xml("000004.jpg", (-8, 8)), "width and height of size must be whole numbers >= 0"),
        (xml("000004.jpg", ("1e300", 8)), "width and height of size must be whole numbers >= 0"),
        (xml("x" * 5000, (8, 8)), "must give an id of 1 to 200 characters"),
        (xml("000004.jpg", None), "size is missing, and cannot be taken from the image: .*no such"),
        (xml("http://a/b.jpg", (8, 8)), "image name 'http://a/b.jpg' is a URL"),
        (xml("000001.jpg", (8, 8)), r"'000001\.jpg' of 000004\.xml is that of 000001\.xml"),
    ],
)
def test_a_bad_file_is_named_or_set_aside_alone(folder: Path, text: str | bytes, said: str) -> None:
    write_texts(folder, {"Annotations/000004.xml": text})
    with pytest.raises(InputError, match=r"Annotations/000004\.xml: .*" + said):
        load_dataset("voc", folder)
    dataset = load_dataset("voc", folder, skip_bad=True)
    assert dataset.ids == ("000001.jpg", "000002.jpg", "000003")
    assert len(dataset.skipped) == 1


def test_a_large_file_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(TEXTS["Annotations/000001.xml"])
    monkeypatch.setattr(_voc_files, "MAX_BYTES", size)
    assert len(load_dataset("voc", folder)) == 4
    monkeypatch.setattr(_voc_files, "MAX_BYTES", size - 1)
    with pytest.raises(InputError, match=rf"000001\.xml: must have at most .* has {size}"):
        load_dataset("voc", folder)


def test_labels_that_are_parts_of_each_other_are_an_error(folder: Path) -> None:
    one = thing("head", 1, 1, 2, 2, more=part("dog", 1, 1, 2, 2))
    write_texts(folder, {"Annotations/000004.xml": xml("000004.jpg", (8, 8), one)})
    with pytest.raises(InputError, match=r"VOC2007: label .* stands above itself"):
        load_dataset("voc", folder, parts=True)


def test_a_part_named_like_its_object_has_no_parent(folder: Path) -> None:
    one = thing("cat", 1, 1, 2, 2, more=part("cat", 1, 1, 2, 2))
    write_texts(folder, {"Annotations/000004.xml": xml("000004.jpg", (8, 8), one)})
    assert load_dataset("voc", folder, parts=True).taxonomy.parents["cat"] == ()


pixels = st.integers(1, 12)


@settings(max_examples=25)
@given(st.tuples(pixels, pixels), st.tuples(pixels, pixels))
def test_a_box_covers_its_first_and_last_pixel(
    tmp_path_factory: pytest.TempPathFactory, xs: tuple[int, int], ys: tuple[int, int]
) -> None:
    (x0, x1), (y0, y1) = sorted(xs), sorted(ys)
    folder = tmp_path_factory.mktemp("voc")
    text = xml("a.jpg", (12, 12), thing("a", x0, y0, x1, y1))
    write_texts(folder, {"Annotations/a.xml": text})
    mask = load_dataset("voc", folder)[0].annotation.union_mask(12, 12)
    rows, columns = np.mgrid[1:13, 1:13]
    inside = (x0 <= columns) & (columns <= x1) & (y0 <= rows) & (rows <= y1)
    np.testing.assert_array_equal(mask, inside)


@pytest.mark.parametrize(
    "written", ["/home/me/photos/a.png", "../photos/a.png", "./a.png", "C:\\a.png"]
)
def test_of_a_path_elsewhere_the_last_part_counts(tmp_path: Path, written: str) -> None:
    write_texts(tmp_path, {"Annotations/a.xml": xml(written, (8, 6), thing("cat", 1, 1, 4, 3))})
    write_image(tmp_path / "JPEGImages" / "a.png", (8, 6))
    (sample,) = load_dataset("voc", tmp_path)
    assert (sample.image_id, sample.path) == ("a.png", tmp_path / "JPEGImages" / "a.png")
    assert sample.image().shape == (6, 8, 3)


def test_two_files_about_one_image(tmp_path: Path) -> None:
    texts = {
        f"Annotations/{name}.xml": xml(w, (8, 6)) for name, w in (("a", "a.png"), ("b", "./a.png"))
    }
    write_texts(tmp_path, texts)
    write_image(tmp_path / "JPEGImages" / "a.png", (8, 6))
    with pytest.raises(InputError, match=r"image id 'a\.png' of .*b\.xml is that of .*a\.xml"):
        load_dataset("voc", tmp_path)
