from __future__ import annotations

import copy
import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sightline.core import InputError, Taxonomy
from sightline.data.datasets import load_dataset
from tests.data.fixtures_files import write_image, write_texts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def element(left: float, top: float, width: float, height: float, label: int) -> dict[str, Any]:
    return {"left": left, "top": top, "width": width, "height": height, "label": label}


CONTENT: dict[str, Any] = {
    "meta": [
        {"name": "Arcade", "parents": []},
        {"name": "Blind", "parents": []},
        {"name": "Blind Arcade", "parents": [0, 1]},
        {"name": "Window"},
        {"name": "Rose Window", "parents": [3]},
    ],
    "annotations": {
        "Q1_wd0.jpg": {
            "styles": ["Q46261"],
            "bbox_groups": [
                {
                    "group_label": 3,
                    "elements": [
                        element(0.25, 0.5, 0.5, 0.25, 4),
                        element(-0.25, 0.5, 0.5, 0.25, 3),
                    ],
                },
                {
                    "group_label": 0,
                    "elements": [
                        element(1.25, 0.0, 0.25, 0.25, 2),
                        element(0.75, 0.75, 0.5, 0.5, 2),
                        element(0.5, 0.5, 0, 0, 0),
                    ],
                },
            ],
        },
        "Q2_wd1": {"styles": ["Q176483", "Q840829", "Q999"], "bbox_groups": []},
        "Q3_wd0.png": {"styles": ["Q7", "Q236122", "Q7"]},
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, CONTENT)
    write_texts(tmp_path, {"style_names.txt": "Q7 Brick Gothic: north\nQ46261 Something else\n"})
    write_image(tmp_path / "images" / "Q1_wd0.jpg", (40, 20))
    write_image(tmp_path / "images" / "Q2_wd1.jpg", (30, 20))
    write_image(tmp_path / "Q3_wd0.png", (20, 20))
    return tmp_path


def write(folder: Path, content: Any) -> None:
    write_texts(folder, {"building_parts.json": json.dumps(content)})


def edited(folder: Path, edit: Callable[[dict[str, Any]], None]) -> Path:
    content = copy.deepcopy(CONTENT)
    edit(content)
    write(folder, content)
    return folder


def boxes(content: dict[str, Any], group: int = 0) -> Any:
    return content["annotations"]["Q1_wd0.jpg"]["bbox_groups"][group]["elements"]


def test_reads_labels_with_their_parents(folder: Path) -> None:
    dataset = load_dataset("wikichurches", folder)
    assert dataset.taxonomy == Taxonomy(
        {
            "Arcade": [],
            "Blind": [],
            "Blind Arcade": ["Arcade", "Blind"],
            "Window": [],
            "Rose Window": ["Window"],
        }
    )
    assert dataset.root == folder
    assert dataset.splits == {"": 3}


def test_reads_styles_by_name(folder: Path) -> None:
    dataset = load_dataset("wikichurches", folder)
    assert [sample.labels for sample in dataset] == [
        ("Romanesque",),
        ("Gothic", "Baroque", "Q999"),
        ("Brick Gothic: north", "Renaissance"),
    ]


def test_numbers_boxes_through_groups_clips_them_and_drops_those_outside(folder: Path) -> None:
    annotation = load_dataset("wikichurches", folder)[0].annotation
    assert [(r.index, r.label, r.box, r.flags, r.source) for r in annotation.regions] == [
        (0, "Rose Window", (0.25, 0.5, 0.75, 0.75), (), "group 0 element 0, Window"),
        (1, "Window", (0.0, 0.5, 0.25, 0.75), ("clipped",), "group 0 element 1, Window"),
        (3, "Blind Arcade", (0.75, 0.75, 1.0, 1.0), ("clipped",), "group 1 element 1, Arcade"),
        (4, "Arcade", (0.5, 0.5, 0.5, 0.5), (), "group 1 element 2, Arcade"),
    ]
    assert [(region.index, region.box) for region in annotation.dropped] == [
        (2, (1.25, 0.0, 1.5, 0.25))
    ]


@pytest.mark.parametrize(
    ("left", "width", "kept"),
    [
        (-1.2, 1.5, (0.0, -1.2 + 1.5)),
        (-4.0, 9.0, (0.0, 1.0)),
        (0.5, 7.0, (0.5, 1.0)),
        (1.5, 0.8, None),
        (-2.5, 0.5, None),
        (120.0, 80.0, None),
    ],
)
def test_boxes_far_outside_are_clipped_or_dropped(
    folder: Path, left: float, width: float, kept: tuple[float, float] | None
) -> None:
    edited(folder, lambda content: boxes(content)[0].update(left=left, width=width))
    annotation = load_dataset("wikichurches", folder)[0].annotation
    regions = {region.index: region.box[::2] for region in annotation.regions}
    dropped = {region.index: region.box[::2] for region in annotation.dropped}
    assert regions.get(0) == kept
    assert dropped.get(0) == (None if kept else (left, left + width))
    assert sorted([*regions, *dropped]) == [0, 1, 2, 3, 4]


def test_finds_images_in_their_folder_beside_the_file_and_without_an_ending(folder: Path) -> None:
    dataset = load_dataset("wikichurches", folder)
    assert dataset.ids == ("Q1_wd0.jpg", "Q2_wd1", "Q3_wd0.png")
    assert [sample.image().shape for sample in dataset] == [(20, 40, 3), (20, 30, 3), (20, 20, 3)]
    assert dataset[1].path == folder / "images" / "Q2_wd1.jpg"


def test_takes_the_file_and_another_folder_of_images(folder: Path) -> None:
    (folder / "images").rename(folder / "photos")
    dataset = load_dataset("wikichurches", folder / "building_parts.json", images="photos")
    assert dataset[0].path == folder / "photos" / "Q1_wd0.jpg"
    with pytest.raises(InputError, match=r"images: no such folder .*pictures"):
        load_dataset("wikichurches", folder, images="pictures")


def test_the_folder_of_images_may_be_elsewhere(folder: Path, tmp_path_factory: Any) -> None:
    elsewhere = tmp_path_factory.mktemp("photos")
    write_image(elsewhere / "Q1_wd0.jpg", (40, 20))
    write_image(elsewhere / "Q2_wd1.JPG", (30, 20))
    for images in (elsewhere, os.path.relpath(elsewhere, folder)):
        dataset = load_dataset("wikichurches", folder, images=images)
        assert [sample.image().shape for sample in dataset[:2]] == [(20, 40, 3), (20, 30, 3)]
        assert dataset.root is not None
        assert dataset.root.resolve() == elsewhere.resolve()
        with pytest.raises(InputError, match=r"Q3_wd0\.png: no such image"):
            dataset[2].image()
    with pytest.raises(InputError, match="images must be the path of a folder, got 5"):
        load_dataset("wikichurches", folder, images=5)


@pytest.mark.parametrize("name", ["building_parts.json", "style_names.txt"])
def test_a_file_must_not_be_a_link_to_elsewhere(
    folder: Path, tmp_path_factory: Any, name: str
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "file"
    (folder / name).rename(elsewhere)
    (folder / name).symlink_to(elsewhere)
    with pytest.raises(InputError, match=rf"{name}: '{name}' leaves the folder"):
        load_dataset("wikichurches", folder)
    if name == "building_parts.json":  # but one that the caller names may be
        assert len(load_dataset("wikichurches", folder / name)) == 3


def test_a_missing_image_is_missed_when_it_is_opened(folder: Path) -> None:
    (folder / "images" / "Q1_wd0.jpg").unlink()
    sample = load_dataset("wikichurches", folder)[0]
    with pytest.raises(InputError, match=r"Q1_wd0\.jpg: no such image"):
        sample.image()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"width": -0.1}, "width and height must be >= 0, got -0.1 and 0.25"),
        ({"height": float("nan")}, "finite numbers, got .*nan"),
        ({"top": float("-inf")}, "finite numbers"),
        ({"left": "0.1"}, "finite numbers, got .'0.1'"),
        ({"left": None}, "finite numbers"),
        ({"left": 1e308, "width": 1e308}, "box must be finite"),
        ({"label": 5}, "label must be one of meta, 0 to 4, got 5"),
        ({"label": -1}, "label must be one of meta, 0 to 4, got -1"),
        ({"label": True}, "label must be one of meta"),
        ({"label": "4"}, "label must be one of meta"),
    ],
)
def test_a_bad_box_is_named_or_set_aside_alone(
    folder: Path, change: dict[str, Any], said: str
) -> None:
    edited(folder, lambda content: boxes(content)[1].update(change))
    place = r"building_parts\.json: image 'Q1_wd0\.jpg' group 0 element 1: "
    with pytest.raises(InputError, match=place + ".*" + said):
        load_dataset("wikichurches", folder)
    dataset = load_dataset("wikichurches", folder, skip_bad=True)
    assert [region.index for region in dataset[0].annotation.regions] == [0, 3, 4]
    assert [region.index for region in dataset[0].annotation.dropped] == [2]
    assert len(dataset) == 3
    assert [problem.where.endswith("group 0 element 1") for problem in dataset.skipped] == [True]


def no_object(content: dict[str, Any]) -> None:
    boxes(content, 1)[0] = [0, 0, 1, 1]


def no_group_label(content: dict[str, Any]) -> None:
    del content["annotations"]["Q1_wd0.jpg"]["bbox_groups"][1]["group_label"]


def test_an_element_must_be_an_object_and_its_group_named(folder: Path) -> None:
    with pytest.raises(InputError, match="group 1 element 0: it must be an object, got list"):
        load_dataset("wikichurches", edited(folder, no_object))
    with pytest.raises(InputError, match="group 1 element 0: group_label must be one of meta"):
        load_dataset("wikichurches", edited(folder, no_group_label))


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ([], "it must be an object, got list"),
        ({"styles": "Q46261"}, "styles must be a list, got 'Q46261'"),
        ({"styles": [46261]}, r"styles\[0\] must be text, got 46261"),
        ({"bbox_groups": {}}, "'bbox_groups' must be a list of objects"),
        ({"bbox_groups": [{"group_label": 0}]}, "group 0: 'elements' must be a list, got NoneType"),
    ],
)
def test_a_bad_image_is_named_or_set_aside_alone(folder: Path, record: Any, said: str) -> None:
    edited(folder, lambda content: content["annotations"].update({"Q2_wd1": record}))
    with pytest.raises(InputError, match=r"building_parts\.json: image 'Q2_wd1': " + said):
        load_dataset("wikichurches", folder)
    dataset = load_dataset("wikichurches", folder, skip_bad=True)
    assert dataset.ids == ("Q1_wd0.jpg", "Q3_wd0.png")
    assert len(dataset.skipped) == 1


@pytest.mark.parametrize("name", ["../Q1_wd0.jpg", "/etc/passwd", "a/../../b.jpg"])
def test_an_image_must_lie_in_the_folder(folder: Path, name: str) -> None:
    edited(folder, lambda content: content["annotations"].update({name: {}}))
    with pytest.raises(InputError, match=r"image '.*': '.*' leaves the folder"):
        load_dataset("wikichurches", folder)
    assert len(load_dataset("wikichurches", folder, skip_bad=True)) == 3


def test_one_id_has_one_image(folder: Path) -> None:
    edited(folder, lambda content: content["annotations"].update({"a/b.jpg": {}, "a__b.jpg": {}}))
    with pytest.raises(InputError, match=r"'a__b\.jpg' of 'a__b\.jpg' is that of 'a/b\.jpg'"):
        load_dataset("wikichurches", folder)
    assert load_dataset("wikichurches", folder, skip_bad=True).ids[3:] == ("a__b.jpg",)


def test_an_image_that_is_in_the_file_twice_is_found(folder: Path) -> None:
    written = json.dumps(CONTENT).replace('"Q2_wd1":', '"Q1_wd0.jpg":')
    write_texts(folder, {"building_parts.json": written})
    with pytest.raises(InputError, match=r"building_parts\.json: 'Q1_wd0\.jpg': appears twice"):
        load_dataset("wikichurches", folder)
    dataset = load_dataset("wikichurches", folder, skip_bad=True)
    assert dataset.ids == ("Q1_wd0.jpg", "Q3_wd0.png")
    assert dataset[0].labels == ("Romanesque",)


@pytest.mark.parametrize(
    ("meta", "said"),
    [
        ([{"name": "a"}, {"name": "b"}, {"name": "a"}], r"meta\[0\] and meta\[2\] are both named"),
        ([{"name": "a", "parents": [1]}], r"parent of meta\[0\] \('a'\) must be one of meta"),
        ([{"name": "a", "parents": [-1]}], r"parent of meta\[0\] \('a'\) must be one of meta"),
        ([{"name": "a", "parents": 0.5}], r"parents of meta\[0\] must be a list, got 0.5"),
        ([{"name": "a", "parents": [0]}], "label 'a' stands above itself"),
        ([{"name": 3}], r"name of meta\[0\] must be text, got 3"),
        (["a"], r"meta\[0\].* must be an object"),
        (None, "'meta' must be a list"),
    ],
)
def test_labels_must_make_sense(folder: Path, meta: Any, said: str) -> None:
    edited(folder, lambda content: content.update({"meta": meta}))
    for skip_bad in (False, True):
        with pytest.raises(InputError, match=r"building_parts\.json: " + said):
            load_dataset("wikichurches", folder, skip_bad=skip_bad)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"\xff\xfe{", "is not UTF-8 text"),
        ("{", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[]", "the file must be an object, got list"),
        ('{"meta": []}', "'annotations' must be an object, got NoneType"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, text: str | bytes, said: str) -> None:
    write_texts(tmp_path, {"building_parts.json": text})
    with pytest.raises(InputError, match=r"building_parts\.json: " + said):
        load_dataset("wikichurches", tmp_path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"building_parts\.json: cannot be read"):
        load_dataset("wikichurches", tmp_path)


@pytest.mark.parametrize("separator", ["\t", " ", "  ", ",", ", ", ":", " : "])
def test_style_names_are_separated_in_many_ways(folder: Path, separator: str) -> None:
    write_texts(folder, {"style_names.txt": f"\ufeffQ999{separator}Neo Gothic\r\n\r\n"})
    assert load_dataset("wikichurches", folder)[1].labels == ("Gothic", "Baroque", "Neo Gothic")


@pytest.mark.parametrize("line", ["Q999", "999 Neo Gothic", "Q999Neo", "Q999;Neo", "Q12 again"])
def test_a_bad_style_is_named_or_set_aside_alone(folder: Path, line: str) -> None:
    write_texts(folder, {"style_names.txt": f"Q12 Tudor\n{line}\nQ7 Brick\n"})
    with pytest.raises(InputError, match=r"style_names\.txt line 2: "):
        load_dataset("wikichurches", folder)
    dataset = load_dataset("wikichurches", folder, skip_bad=True)
    assert dataset[2].labels == ("Brick", "Renaissance")
    assert len(dataset.skipped) == 1


sides = st.floats(-0.5, 1.5)
sizes = st.floats(0, 0.5)


@settings(max_examples=30)
@given(st.lists(st.tuples(sides, sides, sizes, sizes), max_size=5))
def test_every_box_keeps_its_number_and_its_far_edge(
    tmp_path_factory: pytest.TempPathFactory, corners: list[tuple[float, float, float, float]]
) -> None:
    folder = tmp_path_factory.mktemp("churches")
    elements = [element(*box, 0) for box in corners]
    record = {"bbox_groups": [{"group_label": 0, "elements": elements}]}
    write(folder, {"meta": [{"name": "a"}], "annotations": {"a.jpg": record}})
    annotation = load_dataset("wikichurches", folder)[0].annotation
    both = [*annotation.regions, *annotation.dropped]
    assert sorted(region.index for region in both) == list(range(len(corners)))
    for region in annotation.regions:
        left, top, width, height = corners[region.index]
        assert region.box == (max(left, 0), max(top, 0), min(left + width, 1), min(top + height, 1))
    for region in annotation.dropped:
        left, top, width, height = corners[region.index]
        assert left + width <= 0 or top + height <= 0 or left >= 1 or top >= 1
