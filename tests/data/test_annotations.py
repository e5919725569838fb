from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sightline.core import Annotation, InputError, Taxonomy
from sightline.core import raster as _raster
from sightline.core.raster import box_mask, box_pixels, mask_box, polygon_mask
from sightline.core.run_lengths import decode_rle
from sightline.data import read_annotations
from sightline.data.annotations import read_annotation_file
from sightline.data.formats.checks import numbers
from sightline.data.formats.drafts import Draft, Facts
from sightline.data.formats.shapes import (
    Shape,
    encode_rle,
    polygon_shape,
    polygon_shapes,
    rle_shape,
)
from sightline.data.images import MAX_PIXELS
from sightline.data.problems import Problems

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RLE = {"size": [10, 20], "counts": [0, 15, 185]}

COCO: dict[str, Any] = {
    "images": [
        {"id": 0, "file_name": "val/a.jpg", "width": 20, "height": 10},
        {"id": 7, "file_name": "b.jpg", "width": 200, "height": 100},
    ],
    "categories": [{"id": 0, "name": "door"}, {"id": 90, "name": "window"}],
    "annotations": [
        {"id": 0, "image_id": 0, "category_id": 0, "bbox": [2, 1, 10, 5], "iscrowd": 0},
        {"id": 1, "image_id": 0, "category_id": 90, "bbox": [25, 1, 3, 3], "segmentation": []},
        {"id": 2, "image_id": 0, "category_id": 90, "bbox": [-4, 5, 8, 9]},
        {
            "id": 3,
            "image_id": 0,
            "category_id": 0,
            "segmentation": [[2, 1, 12, 1, 12, 6, 2, 6], [14, 7, 19, 7, 14, 9]],
        },
        {"id": 4, "image_id": 0, "category_id": 0, "iscrowd": 1, "segmentation": RLE},
        {"image_id": 7, "category_id": 0, "bbox": [0, 0, 1, 1]},
    ],
}

PLAIN: dict[str, Any] = {
    "format": "sightline-annotations",
    "version": 1,
    "units": "pixels",
    "images": [
        {
            "image": "a.jpg",
            "width": 200,
            "height": 100,
            "labels": ["Gothic"],
            "regions": [
                {"label": "window", "box": [20, 10, 60, 40]},
                {"label": "gable", "polygon": [[0, 50], [50, 0], [100, 50]]},
                {"label": "beak", "point": [150, 50], "radius": 20},
                {"label": "wall", "rle": {"size": [4, 4], "counts": "088"}},
                {"label": "gone", "box": [200, 10, 220, 20]},
                {"box": [190, -10, 260, 50]},
            ],
        },
        {"image": "empty.jpg"},
    ],
}


BY_SLASH = "(in ids '/' is '__', ' ' is '_')"


def _write(folder: Path, content: Any, name: str = "annotations.json") -> Path:
    path = folder / name
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def _read(folder: Path, content: Any, name: str = "annotations.json") -> dict[str, Annotation]:
    return read_annotations(_write(folder, content, name))


def _skip(folder: Path, content: Any, name: str = "annotations.json") -> tuple[Any, list[str]]:
    """Return what is left of a file, and what was set aside without the file's name."""
    problems = Problems(skip=True)
    path = _write(folder, content, name)
    found = read_annotation_file(path, problems)
    assert all(problem.where.startswith(f"{path}: ") for problem in problems)
    return found, [str(problem).removeprefix(f"{path}: ") for problem in problems]


def _changed(content: dict[str, Any], change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    content = copy.deepcopy(content)
    change(content)
    return content


# --- COCO ----------------------------------------------------------------------------------------


def test_coco_images_and_numbers(tmp_path: Path) -> None:
    found = _read(tmp_path, COCO)
    assert list(found) == ["val__a.jpg", "b.jpg"]
    first = found["val__a.jpg"]
    assert (first.width, first.height) == (20, 10)
    assert [region.index for region in first.regions] == [0, 2, 3, 4]
    assert [region.index for region in first.dropped] == [1]
    assert [region.source for region in first.regions] == ["0", "2", "3", "4"]
    assert [region.label for region in first.regions] == ["door", "window", "door", "door"]
    assert found["b.jpg"].regions[0].index == 0


def test_coco_shapes(tmp_path: Path) -> None:
    box, reaching, polygon, crowd = _read(tmp_path, COCO)["val__a.jpg"].regions
    assert box.kind == reaching.kind == "box"
    assert box.box == (0.1, 0.1, 0.6, 0.6)
    assert box.flags == ()
    assert reaching.box == (0.0, 0.5, 0.2, 1.0)  # the far edge stays at x = 4
    assert reaching.flags == ("clipped",)
    assert (polygon.kind, polygon.box) == ("polygon", (0.1, 0.1, 0.95, 0.9))
    np.testing.assert_array_equal(
        polygon.to_mask(10, 20),
        box_mask((0.1, 0.1, 0.6, 0.6), 10, 20)
        | polygon_mask([[0.7, 0.7, 0.95, 0.7, 0.7, 0.9]], 10, 20),
    )
    assert (crowd.kind, crowd.flags, crowd.box) == ("mask", ("crowd",), (0.0, 0.0, 0.1, 1.0))
    assert crowd.to_mask(10, 20).sum() == 15


def test_coco_compressed_masks(tmp_path: Path) -> None:
    compressed = _changed(
        COCO,
        lambda c: c["annotations"][4].update(segmentation={"size": [10, 20], "counts": "0?i5"}),
    )
    plain, packed = _read(tmp_path, COCO), _read(tmp_path, compressed)
    np.testing.assert_array_equal(
        packed["val__a.jpg"].union_mask(10, 20), plain["val__a.jpg"].union_mask(10, 20)
    )


def test_coco_mask_without_pixels_is_dropped(tmp_path: Path) -> None:
    empty = _changed(
        COCO, lambda c: c["annotations"][4].update(segmentation={"size": [10, 20], "counts": [200]})
    )
    assert [r.index for r in _read(tmp_path, empty)["val__a.jpg"].dropped] == [1, 4]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda c: c["annotations"][2].update(category_id=5),
            r"\[2\] \(id 2\): category_id 5 is not",
        ),
        (lambda c: c["annotations"][2].pop("category_id"), "category_id must be"),
        (lambda c: c["annotations"][3].update(image_id=9), r"\[3\] \(id 3\): image_id 9 is not"),
        (lambda c: c["annotations"][3].update(image_id=[9]), "image_id must be"),
        (
            lambda c: c["images"][1].update(id=0),
            r"images\[0\]: image 0: 2 images have this id, \['val/a.jpg', 'b.jpg'\]: their regions",
        ),
        (
            lambda c: c["images"][1].update(file_name="val__a.jpg"),
            "image 7: image 'val__a.jpg' app",
        ),
        (
            lambda c: c["images"][1].update(file_name="http://b/c.jpg"),
            "image 7: image name 'http://b/c.jpg' is a URL",
        ),
        (lambda c: c["images"][1].pop("file_name"), "image 7: name of the image must be text"),
        (lambda c: c["images"][1].update(id=None), r"images\[1\]: id must be"),
        (
            lambda c: [c["images"][1].pop(k) for k in ("width", "height")],
            "image 7: width and height",
        ),
        (lambda c: c["images"][1].pop("width"), "image 7: width must be"),
        (lambda c: c["images"][1].update(height=0), "image 7: height must be .* got 0"),
        (lambda c: c["images"][1].update(height=2.5), "image 7: height must be .* got 2.5"),
        (lambda c: c["categories"][0].pop("name"), "name of category 0"),
        (lambda c: c.pop("categories"), "'categories' must be a list"),
        (lambda c: c.update(annotations={}), "'annotations' must be a list of objects, got dict"),
        (lambda c: c["annotations"].append(3), r"annotations\[6\]: must be an object"),
        (
            lambda c: c["annotations"][0].update(bbox=[0, 0, float("nan"), 1]),
            "bbox must be 4 finite",
        ),
        (
            lambda c: c["annotations"][3].update(bbox=[0, 0, float("nan"), 1]),
            "bbox must be 4 finite",
        ),
        (lambda c: c["annotations"][0].update(bbox=[0, 0, 1]), "bbox must be 4 finite"),
        (lambda c: c["annotations"][0].update(bbox=[0, 0, "1", 1]), "bbox must be 4 finite"),
        (lambda c: c["annotations"][0].update(bbox=[0, 0, True, 1]), "bbox must be 4 finite"),
        (lambda c: c["annotations"][0].update(bbox=[5, 5, -2, 1]), "negative size"),
        (lambda c: c["annotations"][0].pop("bbox"), "neither a bbox nor a segmentation"),
        (lambda c: c["annotations"][3].update(segmentation=[[1, 2, 3, 4]]), "three points"),
        (
            lambda c: c["annotations"][3].update(segmentation=[[1, 2, 3, 4, 5, 6, 7]]),
            "got 7 numbers",
        ),
        (lambda c: c["annotations"][3].update(segmentation=[1, 2, 3]), "polygon must be a list of"),
        (lambda c: c["annotations"][3].update(segmentation="x"), "segmentation must be polygons"),
        (lambda c: c["annotations"][4].update(segmentation={"size": [10, 20]}), "RLE needs 'size'"),
        (lambda c: c["annotations"][4]["segmentation"].update(counts=[0, 999]), "sum to 999"),
        (lambda c: c["annotations"][4]["segmentation"].update(size=[20, 10]), "RLE is 10 x 20"),
    ],
)
def test_coco_errors_name_file_and_record(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        _read(tmp_path, _changed(COCO, change))
    assert str(caught.value).startswith(str(tmp_path / "annotations.json"))


def test_coco_marks_and_scores(tmp_path: Path) -> None:
    def mark(content: dict[str, Any]) -> None:
        content["annotations"][0].update(ignore=1, difficult=1, score=0.25)
        content["annotations"][2].update(ignore=0, difficult=False, score=1, iscrowd=None)
        content["images"][0].update(labels=["Gothic", "church"], split="train")

    path = _write(tmp_path, _changed(COCO, mark))
    found = read_annotation_file(path)
    first = found.annotations["val__a.jpg"]
    assert [region.flags for region in first.regions[:2]] == [("ignore", "difficult"), ("clipped",)]
    assert [region.score for region in first.regions] == [0.25, 1.0, None, None]
    assert first.labels == ("Gothic", "church")
    assert found.names == {"val__a.jpg": "val/a.jpg", "b.jpg": "b.jpg"}
    assert found.splits == {"val__a.jpg": "train"}


def test_coco_labels_in_levels(tmp_path: Path) -> None:
    def levels(content: dict[str, Any]) -> None:
        content["categories"] = [
            {"id": 0, "name": "door", "supercategory": "opening"},
            {
                "id": 90,
                "name": "window",
                "supercategory": "opening",
                "parents": ["opening", "glass"],
            },
            {"id": 1, "name": "opening", "supercategory": "opening"},
            {"id": 2, "name": "wall"},
        ]

    found = read_annotation_file(_write(tmp_path, _changed(COCO, levels))).taxonomy
    assert found == Taxonomy(
        {
            "door": ["opening"],
            "window": ["opening", "glass"],
            "opening": [],
            "wall": [],
            "glass": [],
        }
    )
    assert found.names == ("door", "window", "opening", "wall", "glass")


def test_coco_labels_above_themselves(tmp_path: Path) -> None:
    def circle(content: dict[str, Any]) -> None:
        content["categories"][0]["supercategory"] = "window"
        content["categories"][1]["supercategory"] = "door"

    with pytest.raises(InputError, match="categories: label 'door' stands above itself"):
        _read(tmp_path, _changed(COCO, circle))
    found, told = _skip(tmp_path, _changed(COCO, circle))
    assert told == ["categories: label 'door' stands above itself"]
    assert found.taxonomy == Taxonomy.flat(["door", "window"])


def test_coco_boxes_that_end_on_the_border_are_not_clipped(tmp_path: Path) -> None:
    # 0.1 + 0.7 * 49 and the like reach a little beyond the border by rounding.
    boxes = [[x / 10, 0, 49 - x / 10, 7] for x in range(490)]
    content = _changed(COCO, lambda c: c["images"][0].update(width=49, height=7))
    content["annotations"] = [
        {"id": n, "image_id": 0, "category_id": 0, "bbox": box} for n, box in enumerate(boxes)
    ]
    found = _read(tmp_path, content)["val__a.jpg"].regions
    assert len(found) == 490
    assert {region.flags for region in found} == {()}
    assert all(region.box[2] <= 1 for region in found)


def test_coco_sets_aside_the_bad_records_alone(tmp_path: Path) -> None:
    def spoil(content: dict[str, Any]) -> None:
        content["images"] += [
            {"id": 8, "file_name": "c.jpg", "width": 0, "height": 9},
            {"id": 9, "file_name": "b.jpg", "width": 9, "height": 9},
            "d.jpg",
        ]
        content["categories"].append({"id": 91})
        content["annotations"][0]["bbox"] = [0, 0, float("nan"), 1]
        content["annotations"][3]["segmentation"] = [[1, 2, 3]]
        content["annotations"] += [
            {"id": 20, "image_id": 8, "category_id": 0, "bbox": [0, 0, 1, 1]},
            {"id": 21, "image_id": 7, "category_id": 91, "bbox": [0, 0, 1, 1]},
            {"id": 4, "image_id": 7, "category_id": 0, "bbox": [0, 0, 1, 1]},
            {"id": 22, "image_id": 7, "category_id": 0, "bbox": [0, 0, 1, 1]},
        ]

    content = _changed(COCO, spoil)
    found, told = _skip(tmp_path, content)
    assert told == [
        "categories[2]: name of category 91 must be text, got None",
        "images[2]: image 8: width must be a whole number of pixels from 1 to 1000000, got 0",
        "images[3]: image 9: image 'b.jpg' appears twice, first as 'b.jpg' " + BY_SLASH,
        "images[4]: must be an object, got 'd.jpg'",
        "annotations[0] (id 0): bbox must be 4 finite numbers, got [0, 0, nan, 1]",
        "annotations[3] (id 3): polygon needs x, y of three points or more, got 3 numbers",
        "annotations[7] (id 21): category_id 91 is not in the file",
        "annotations[8] (id 4): id 4 appears twice",
    ]
    good = _read(tmp_path, COCO)["val__a.jpg"]
    first, second = found.annotations.values()
    kept = [region for region in good.regions if region.index not in (0, 3)]
    assert [(r.index, r.label, r.box, r.source) for r in first.regions] == [
        (r.index, r.label, r.box, r.source) for r in kept
    ]
    assert [region.index for region in first.dropped] == [1]
    assert [(r.index, r.source) for r in second.regions] == [(0, ""), (3, "22")]


def test_coco_images_of_one_id_are_all_set_aside(tmp_path: Path) -> None:
    def double(content: dict[str, Any]) -> None:
        content["images"] += [
            {"id": 0, "file_name": "c.jpg", "width": 9, "height": 9},
            {"id": True, "file_name": "d.jpg", "width": 9, "height": 9},
        ]

    found, told = _skip(tmp_path, _changed(COCO, double))
    both = "image 0: 2 images have this id, ['val/a.jpg', 'c.jpg']: their regions cannot be told"
    assert told == [
        f"images[0]: {both} apart",
        f"images[2]: {both} apart",
        "images[3]: id must be a whole number or text, got True",
    ]
    assert found.names == {"b.jpg": "b.jpg"}
    assert [len(annotation.regions) for annotation in found.annotations.values()] == [1]


def test_coco_as_other_programs_write_it(tmp_path: Path) -> None:
    triangle = [0, 0, 5, 0, 5, 5]

    def write(content: dict[str, Any]) -> None:
        content["images"][0].update(width=20.0, height=10.0, labels=None, split=None)
        content["categories"] = [
            {"id": 0, "name": "door", "supercategory": "none"},
            {"id": 90, "name": "window", "supercategory": ""},
            {"id": 1, "name": "rose", "supercategory": None},
        ]
        for record, change in zip(
            content["annotations"],
            [
                {"segmentation": [[]]},
                {"segmentation": None, "score": None, "id": None},
                {"bbox": None, "segmentation": [triangle]},
                {"bbox": [], "segmentation": [[], triangle]},
            ],
            strict=False,
        ):
            record.update(change)

    found = read_annotation_file(_write(tmp_path, _changed(COCO, write)))
    first = found.annotations["val__a.jpg"]
    assert (first.width, first.height, first.labels) == (20, 10, ())
    assert [region.kind for region in first.regions] == ["box", "polygon", "polygon", "mask"]
    assert first.regions[1].mask == first.regions[2].mask == ((0, 0, 0.25, 0, 0.25, 0.5),)
    assert found.taxonomy == Taxonomy.flat(["door", "window", "rose"])


def test_coco_asks_for_sizes_that_are_missing(tmp_path: Path) -> None:
    def leave_out(content: dict[str, Any]) -> None:
        del content["images"][1]["width"], content["images"][1]["height"]

    path = _write(tmp_path, _changed(COCO, leave_out))
    _asks_for_size(path, "b.jpg", (0, 0, 0.005, 0.01), "image 7: width and height are missing")


def _asks_for_size(path: Path, image: str, box: tuple[float, ...], missing: str) -> None:
    """A file asks for the size of one image alone, and says when nobody knows it."""
    asked: list[str] = []

    def size_of(name: str) -> tuple[int, int] | None:
        asked.append(name)
        return 200, 100

    found = read_annotation_file(path, size_of=size_of).annotations[image]
    assert asked == [image]
    assert (found.width, found.height, found.regions[0].box) == (200, 100, box)
    with pytest.raises(InputError, match=missing):
        read_annotation_file(path, size_of=lambda _: None)


@pytest.mark.parametrize("ending", ["csv", "json"])
def test_pixels_ask_for_sizes_that_are_missing(tmp_path: Path, ending: str) -> None:
    """A box in pixels of an image at hand needs no width and height; others are not asked for."""
    path = tmp_path / f"boxes.{ending}"
    if ending == "csv":
        rows = ("a.jpg,door,20,10,40,30,pixels", "b.jpg,door,0,0,1,1,")
        path.write_text("\n".join(("image,label,x0,y0,x1,y1,units", *rows)))
    else:
        images = [
            {"image": "a.jpg", "regions": [{"box": [20, 10, 40, 30]}]},
            {"image": "b.jpg"},
        ]
        content = {"format": "sightline-annotations", "version": 1, "units": "pixels"}
        path.write_text(json.dumps(content | {"images": images}))
    _asks_for_size(path, "a.jpg", (0.1, 0.1, 0.2, 0.3), "need the image's width and height")


def test_a_folder_is_no_file_of_annotations(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must be a file of annotations.*it is a folder"):
        read_annotations(tmp_path)


HUGE = [2**31, 2**70, 10**400, 1e300, float("inf"), float("nan"), 10**6 + 1]


@pytest.mark.parametrize("width", HUGE)
def test_sizes_beyond_every_image(tmp_path: Path, width: float) -> None:
    message = "width must be a whole number of pixels from 1 to 1000000, got"
    coco = _changed(COCO, lambda c: c["images"][0].update(width=width))
    coco["annotations"] = [
        {"id": 0, "image_id": 0, "category_id": 0, "segmentation": [[0, 0, 5, 0, 5, 5]]}
    ]
    plain = _changed(PLAIN, lambda c: c["images"][0].update(width=width))
    for content in (coco, plain):
        with pytest.raises(InputError, match=message):
            _read(tmp_path, content)


# --- image ids -----------------------------------------------------------------------------------


def _named(*images: tuple[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a plain file and a COCO file of images with ids of their own."""
    plain = {
        "format": "sightline-annotations",
        "version": 1,
        "images": [{"image": name, "id": key} for name, key in images],
    }
    records = [
        {"id": n, "file_name": name, "width": 4, "height": 3, "sightline": {"id": key}}
        for n, (name, key) in enumerate(images)
    ]
    return plain, {"images": records, "annotations": [], "categories": []}


def test_images_may_have_ids_of_their_own(tmp_path: Path) -> None:
    for content in _named(("train/images/a.jpg", "train__a.jpg"), ("b.jpg", None)):
        found = read_annotation_file(_write(tmp_path, content))
        assert found.names == {"train__a.jpg": "train/images/a.jpg", "b.jpg": "b.jpg"}
        assert list(found.annotations) == ["train__a.jpg", "b.jpg"]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("a b", "image_id must match .*, got 'a b'"),
        ("", "image_id must match"),
        ("../a", "image_id must match"),
        ("x" * 201, "image_id must match"),
        (7, "id of the image must be text, got 7"),
        ("c.jpg", "image 'c.jpg' appears twice, first as 'b.jpg'"),
    ],
)
def test_ids_that_do_not_fit(tmp_path: Path, key: Any, message: str) -> None:
    for content in _named(("b.jpg", key), ("c.jpg", None)):
        with pytest.raises(InputError, match=message):
            _read(tmp_path, content)


def test_names_from_windows(tmp_path: Path) -> None:
    plain, coco = _named(("sub\\a.jpg", None))
    csv = "image,label,x0,y0,x1,y1\nsub\\a.jpg,door,0,0,1,1\n"
    for content, name in ((plain, "a.json"), (coco, "a.json"), (csv, "a.csv")):
        found = read_annotation_file(_write(tmp_path, content, name))
        assert found.names == {"sub__a.jpg": "sub\\a.jpg"}


# --- plain JSON ----------------------------------------------------------------------------------


def test_plain_images(tmp_path: Path) -> None:
    found = _read(tmp_path, PLAIN)
    first, empty = found["a.jpg"], found["empty.jpg"]
    assert (first.width, first.height, first.labels) == (200, 100, ("Gothic",))
    assert [r.label for r in first.regions] == ["window", "gable", "beak", "wall", ""]
    assert [(r.index, r.label) for r in first.dropped] == [(4, "gone")]
    assert (empty.width, empty.height, empty.regions) == (None, None, ())


def test_plain_shapes(tmp_path: Path) -> None:
    box, polygon, point, mask, reaching = _read(tmp_path, PLAIN)["a.jpg"].regions
    assert box.box == (0.1, 0.1, 0.3, 0.4)
    assert (polygon.kind, polygon.box) == ("polygon", (0.0, 0.0, 0.5, 0.5))
    assert (point.kind, point.radius, point.box) == ("point", 20, (0.65, 0.3, 0.85, 0.7))
    disc = (np.arange(200) + 0.5 - 150) ** 2 + (np.arange(100)[:, None] + 0.5 - 50) ** 2 <= 400
    np.testing.assert_array_equal(point.to_mask(100, 200), disc)
    assert mask.box == (0.0, 0.0, 0.5, 1.0)
    assert (reaching.box, reaching.flags) == ((0.95, 0.0, 1.0, 0.5), ("clipped",))


def test_units_only_scale(tmp_path: Path) -> None:
    def normalise(content: dict[str, Any]) -> None:
        del content["units"]  # normalised by default
        for region in content["images"][0]["regions"]:
            for key in region.keys() & {"box", "point"}:
                region[key] = [v / (200, 100)[i % 2] for i, v in enumerate(region[key])]
            if "polygon" in region:
                region["polygon"] = [[x / 200, y / 100] for x, y in region["polygon"]]
            if "radius" in region:
                region["radius"] /= 200  # of the longer side

    pixels, shares = _read(tmp_path, PLAIN), _read(tmp_path, _changed(PLAIN, normalise))
    for one, other in zip(pixels["a.jpg"].regions, shares["a.jpg"].regions, strict=True):
        assert one.box == other.box
        assert one.radius == other.radius
    np.testing.assert_array_equal(
        pixels["a.jpg"].region_masks(30, 40), shares["a.jpg"].region_masks(30, 40)
    )


def test_points_beside_the_image(tmp_path: Path) -> None:
    def add_points(content: dict[str, Any]) -> None:
        content["images"][0]["regions"] = [
            {"point": [-10, 50], "radius": 12},
            {"point": [-10, 50], "radius": 8},
            {"point": [-10, -10], "radius": 12},  # its box reaches the image, the disc does not
        ]

    found = _read(tmp_path, _changed(PLAIN, add_points))["a.jpg"]
    assert [(r.index, r.flags) for r in found.regions] == [(0, ("clipped",))]
    assert found.regions[0].box == pytest.approx((-0.11, 0.38, 0.01, 0.62))
    assert [r.index for r in found.dropped] == [1, 2]


def _set_region(index: int, region: Any) -> Callable[[dict[str, Any]], object]:
    return lambda content: content["images"][0]["regions"].__setitem__(index, region)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c.update(version=2), "version must be 1, got 2"),
        (
            lambda c: c.update(units="percent"),
            "units must be 'normalised' or 'pixels', got 'percent'",
        ),
        (lambda c: c.pop("units"), "image 'a.jpg': region 0: coordinate 20 .* units 'pixels'"),
        (lambda c: c.pop("images"), "'images' must be a list"),
        (lambda c: c["images"].append("b.jpg"), r"images\[2\]: must be an object, got 'b.jpg'"),
        (lambda c: c["images"][1].update(image="a.jpg"), "image 'a.jpg': .* appears twice"),
        (lambda c: c["images"][1].pop("image"), "image None: name of the image must be text"),
        (lambda c: c["images"][0].pop("width"), "image 'a.jpg': width must be"),
        (lambda c: c["images"][0].update(width=True), "image 'a.jpg': width must be"),
        (lambda c: c["images"][0].update(labels="Gothic"), "labels must be a list"),
        (lambda c: c["images"][0].update(labels=[1]), "label must be text, got 1"),
        (lambda c: c["images"][0].update(regions=3), "'regions' must be a list"),
        (
            lambda c: [c["images"][0].pop(k) for k in ("width", "height")],
            "region 0: units 'pixels' need the image's width and height",
        ),
        (_set_region(1, 5), r"region 1: must be an object"),
        (_set_region(1, {}), "region 1: must have exactly one .* got nothing"),
        (_set_region(1, {"boks": [0, 0, 1, 1]}), "got boks"),
        (_set_region(1, {"box": [0, 0, 1, 1], "point": [0, 0]}), "got box, point"),
        (_set_region(1, {"box": [0, 0, 1, 1], "label": 3}), "label must be text, got 3"),
        (_set_region(1, {"box": [9, 0, 1, 1]}), "region 1: box must have x0 <= x1"),
        (_set_region(1, {"box": {"x": 1}}), "box must be 4 finite numbers"),
        (_set_region(1, {"box": [0, 0, 1, float("inf")]}), "box must be 4 finite numbers"),
        (_set_region(1, {"polygon": 3}), "polygon must be a list of points"),
        (_set_region(1, {"polygon": [0, 0, 1, 1, 0, 1]}), "point of a polygon must be 2 finite"),
        (_set_region(1, {"polygon": [[0, 0], [1, 1]]}), "three points or more"),
        (_set_region(1, {"polygon": [[0, 0], [1, 1], [1e9, 0]]}), "image sizes outside"),
        (_set_region(1, {"point": [0, 0]}), "radius must be a finite number, got None"),
        (_set_region(1, {"point": [0, 0], "radius": -1}), "radius must be >= 0"),
        (_set_region(1, {"rle": [1, 2]}), "RLE must be an object"),
        (_set_region(1, {"polygons": []}), "polygons must be a list of polygons"),
        (_set_region(1, {"polygons": [[1, 2]]}), "point of a polygon must be 2 finite"),
        (_set_region(1, {"disc": [1, 2]}), "region 1: disc: must be an object"),
        (_set_region(1, {"disc": {"box": [0, 0, 1, 1]}}), "region 1: disc: radius must be"),
        (_set_region(1, {"disc": {"box": [2, 0, 1, 1], "radius": 1}}), "box must have x0 <= x1"),
        (_set_region(1, {"box": [0, 0, 1, 1], "flags": "crowd"}), "flags must be a list of texts"),
        (
            _set_region(1, {"box": [0, 0, 1, 1], "flags": ["Crowd"]}),
            "region 1: unknown flag 'Crowd'; did you mean 'crowd'",
        ),
        (_set_region(1, {"box": [0, 0, 1, 1], "flags": ["crowd", "crowd"]}), "name one twice"),
        (
            _set_region(1, {"box": [0, 0, 1, 1], "score": float("nan")}),
            "score must be a finite number",
        ),
        (_set_region(1, {"box": [0, 0, 1, 1], "source": 3}), "source must be text, got 3"),
        (_set_region(1, {"box": [0, 0, 1, 1], "index": 0}), "index must be a whole number >= 1"),
        (_set_region(1, {"box": [0, 0, 1, 1], "index": "2"}), "index must be a whole number >= 1"),
        (lambda c: c.update(labels=["window"]), "labels: must be an object"),
        (lambda c: c.update(labels={"a": "b"}), "labels: parents must be a list of texts"),
        (lambda c: c.update(labels={"a": ["b"]}), "labels: parent 'b' of 'a' is not a label"),
        (lambda c: c["images"][0].update(split=1), "image 'a.jpg': split must be text, got 1"),
        (_set_region(1, {"rle": {"size": [2, 2], "counts": [9]}}), "region 1: RLE counts sum to 9"),
    ],
)
def test_plain_errors_name_file_and_record(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        _read(tmp_path, _changed(PLAIN, change))
    assert str(caught.value).startswith(str(tmp_path / "annotations.json"))


def test_point_needs_the_size_of_the_image(tmp_path: Path) -> None:
    image = {"image": "a.jpg", "regions": [{"point": [0.5, 0.5], "radius": 0.1}]}
    content = {"format": "sightline-annotations", "version": 1, "images": [image]}
    with pytest.raises(InputError, match="region 0: a point needs the image's width and height"):
        _read(tmp_path, content)


def test_plain_extras(tmp_path: Path) -> None:
    def extend(content: dict[str, Any]) -> None:
        content["labels"] = {"opening": [], "window": ["opening"]}
        content["images"][0]["split"] = "test"
        regions = content["images"][0]["regions"]
        regions[0].update(flags=["difficult", "ignore"], score=0.5, source="seen by A")
        regions[1] = {"polygons": [[[0, 50], [50, 0], [100, 50]], [[0, 90], [9, 80], [9, 90]]]}
        regions[2] = {"label": "beak", "disc": {"box": [0.65, 0.3, 0.85, 0.7], "radius": 20}}
        regions[3].update(flags=["hidden"])
        regions[5]["index"] = 9

    found = read_annotation_file(_write(tmp_path, _changed(PLAIN, extend)))
    first = found.annotations["a.jpg"]
    box, polygons, point, last = first.regions
    assert (box.flags, box.score, box.source) == (("difficult", "ignore"), 0.5, "seen by A")
    assert polygons.box == (0.0, 0.0, 0.5, 0.9)
    np.testing.assert_array_equal(
        polygons.to_mask(100, 200),
        polygon_mask([[0, 0.5, 0.25, 0, 0.5, 0.5]], 100, 200)
        | polygon_mask([[0, 0.9, 0.045, 0.8, 0.045, 0.9]], 100, 200),
    )
    assert (point.kind, point.box, point.radius) == ("point", (0.65, 0.3, 0.85, 0.7), 20)
    assert last.index == 9
    assert [region.label for region in first.dropped] == ["wall", "gone"]
    assert found.splits == {"a.jpg": "test"}
    assert found.taxonomy == Taxonomy({"opening": [], "window": ["opening"]})


def test_plain_coordinates_may_be_taken_as_they_are(tmp_path: Path) -> None:
    content: dict[str, Any] = {
        "format": "sightline-annotations",
        "version": 1,
        "images": [{"image": "a.jpg", "regions": [{"box": [20, 0, 30, 1]}]}],
    }
    with pytest.raises(InputError, match="coordinate 20 is far outside"):
        _read(tmp_path, content)
    assert len(_read(tmp_path, {**content, "exact": True})["a.jpg"].dropped) == 1
    with pytest.raises(InputError, match="exact coordinates are normalised"):
        _read(tmp_path, {**content, "exact": True, "units": "pixels"})


def test_plain_null_is_as_if_left_out(tmp_path: Path) -> None:
    def empty(content: dict[str, Any]) -> None:
        content["labels"] = None
        content["images"][0].update(split=None, labels=None, id=None)
        content["images"][1].update(regions=None, width=None, height=None)
        content["images"][0]["regions"][0] |= dict.fromkeys(
            ("label", "score", "flags", "source", "index", "dropped", "polygon")
        )

    found = read_annotation_file(_write(tmp_path, _changed(PLAIN, empty)))
    first = found.annotations["a.jpg"]
    assert (first.labels, found.splits) == ((), {})
    box = first.regions[0]
    assert (box.label, box.score, box.flags, box.source, box.index) == ("", None, (), "", 0)
    assert found.annotations["empty.jpg"].regions == ()


def test_plain_labels_that_are_declared_are_all(tmp_path: Path) -> None:
    seen = ("window", "gable", "beak", "wall", "gone")
    assert read_annotation_file(_write(tmp_path, PLAIN)).taxonomy == Taxonomy.flat(seen)
    content = _changed(PLAIN, lambda c: c.update(labels={"window": []}))
    assert read_annotation_file(_write(tmp_path, content)).taxonomy == Taxonomy.flat(["window"])


def test_plain_sets_aside_the_bad_records_alone(tmp_path: Path) -> None:
    def spoil(content: dict[str, Any]) -> None:
        content["labels"] = {"window": ["opening"]}
        regions = content["images"][0]["regions"]
        regions[0]["box"] = [0, 0, "x", 1]
        regions[2] = "point"
        content["images"] += [{"image": "b.jpg", "labels": 3}, 7, {"image": "a.jpg"}]

    found, told = _skip(tmp_path, _changed(PLAIN, spoil))
    assert told == [
        "labels: parent 'opening' of 'window' is not a label of its own",
        "image 'a.jpg': region 0: box must be 4 finite numbers, got [0, 0, 'x', 1]",
        "image 'a.jpg': region 2: must be an object, got 'point'",
        "image 'b.jpg': labels must be a list of texts, got 3",
        "images[3]: must be an object, got 7",
        "image 'a.jpg': image 'a.jpg' appears twice, first as 'a.jpg' " + BY_SLASH,
    ]
    assert list(found.annotations) == ["a.jpg", "empty.jpg"]
    assert [region.index for region in found.annotations["a.jpg"].regions] == [1, 3, 5]
    assert [region.index for region in found.annotations["a.jpg"].dropped] == [4]


def test_a_bad_number_counts_as_one(tmp_path: Path) -> None:
    content = _changed(PLAIN, lambda c: c["images"][0]["regions"][1].update(index=-3))
    found, told = _skip(tmp_path, content)
    assert told == ["image 'a.jpg': region 1: index must be a whole number >= 1, got -3"]
    assert [region.index for region in found.annotations["a.jpg"].regions] == [0, 2, 3, 5]
    content = _changed(COCO, lambda c: c["annotations"][0].update(sightline=[1]))
    found, told = _skip(tmp_path, content)
    assert told == ["annotations[0] (id 0): must be an object, got [1]"]
    assert [region.index for region in found.annotations["val__a.jpg"].regions] == [2, 3, 4]


# --- CSV -----------------------------------------------------------------------------------------


def test_csv(tmp_path: Path) -> None:
    found = _read(
        tmp_path,
        "image,label,x0,y0,x1,y1\n"
        'sub/a.jpg,"arch, round",0.1,0.2,0.3,0.4\n'
        "b.jpg,,0,0,1,1\n"
        "\n"
        "sub/a.jpg,door,1.2,0,1.3,1\n"
        "sub/a.jpg,door,-0.5,0.5,0.5,1\n"
        "c.jpg,,,,,\n",
        "boxes.csv",
    )
    assert list(found) == ["sub__a.jpg", "b.jpg", "c.jpg"]
    first = found["sub__a.jpg"]
    assert [(r.index, r.label, r.box) for r in first.regions] == [
        (0, "arch, round", (0.1, 0.2, 0.3, 0.4)),
        (2, "door", (0.0, 0.5, 0.5, 1.0)),
    ]
    assert [r.index for r in first.dropped] == [1]
    assert (found["c.jpg"].regions, found["c.jpg"].width) == ((), None)


def test_csv_in_pixels_and_any_order_of_columns(tmp_path: Path) -> None:
    found = _read(
        tmp_path,
        "\ufeffx0, y0, x1, y1, label, image, units, height, width, note\r\n"
        "10,10,30,40,door,a.jpg,pixels,100,200.0,ignored\r\n"
        "100,50,200,100,door,a.jpg,,,,\r\n",
        "BOXES.CSV",
    )
    assert [r.box for r in found["a.jpg"].regions] == [(0.05, 0.1, 0.15, 0.4), (0.5, 0.5, 1, 1)]
    assert (found["a.jpg"].width, found["a.jpg"].height) == (200, 100)


def test_csv_optional_columns(tmp_path: Path) -> None:
    text = (
        "image,label,x0,y0,x1,y1,split,score,flags,labels,\n"
        "a.jpg,door,0,0,1,1,,.5,difficult crowd,,\n"
        ",,,,,,, ,,,\n"
        "a.jpg,rose,0,0,1,1,train,,,Gothic; built in brick;,\n"
        "b.jpg,rose,0,0,1,1,,,,,\n"
    )
    found = read_annotation_file(_write(tmp_path, text, "boxes.csv"))
    first = found.annotations["a.jpg"]
    assert [region.score for region in first.regions] == [0.5, None]
    assert [region.flags for region in first.regions] == [("difficult", "crowd"), ()]
    assert first.labels == ("Gothic", "built in brick")
    assert found.splits == {"a.jpg": "train"}
    assert list(found.annotations) == ["a.jpg", "b.jpg"]


def test_csv_any_row_may_tell_about_the_image(tmp_path: Path) -> None:
    rows = ["a.jpg,door,10,10,30,40,,,", "a.jpg,,,,,,200,100,pixels", "a.jpg,door,0,0,20,10,,,"]
    for order in ((0, 1, 2), (1, 0, 2), (0, 2, 1)):
        found = _read(tmp_path, HEADER + "\n".join(rows[n] for n in order), "boxes.csv")["a.jpg"]
        assert (found.width, found.height) == (200, 100)
        assert [r.box for r in found.regions] == [(0.05, 0.1, 0.15, 0.4), (0, 0, 0.1, 0.1)]


HEADER = "image,label,x0,y0,x1,y1,width,height,units\n"
FULL = "image,label,x0,y0,x1,y1,split,score,flags,labels\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1 must name the columns image,label,x0,y0,x1,y1"),
        ("image;label;x0;y0;x1;y1\n", r"separated by ','; it is separated by ';'"),
        ("image\tlabel\tx0\ty0\tx1\ty1\n", r"it is separated by '\\t'"),
        ("image,label,x0,y0,x1\n", "y1 not found"),
        (HEADER + "a.jpg,door,0,0,1,1\n", "line 2: 9 cells expected, got 6"),
        (HEADER + "a.jpg,door,0,0,1,one,,,\n", "line 2: x0,y0,x1,y1 must be 4 finite numbers"),
        (HEADER + "a.jpg,door,0,0,1,,,,\n", "line 2: x0,y0,x1,y1 must be 4 finite numbers"),
        (HEADER + "a.jpg,door,0,0,1,nan,,,\n", "line 2: x0,y0,x1,y1 must be 4 finite numbers"),
        (HEADER + "a.jpg,door,0,0,20,20,,,\n", "line 2: coordinate 20 .* units 'pixels'"),
        (HEADER + "a.jpg,door,0,-1.1,1,1,,,\n", "line 2: coordinate -1.1 "),
        (HEADER + "a.jpg,door,0,0,20,20,,,pixels\n", "line 2: units 'pixels' need"),
        (HEADER + "a.jpg,door,0,0,20,20,9,9,px\n", "line 2: units must be"),
        (HEADER + "a.jpg,door,0,0,1,1,9,,\n", "line 2: height must be"),
        (HEADER + "a.jpg,door,0,0,1,1,9,9.5,\n", "line 2: height must be .* got 9.5"),
        (HEADER + "a.jpg,door,0,0,1,1,9,tall,\n", "line 2: height must be .* got 'tall'"),
        (HEADER + "a.jpg,,0,0,1,1,9,9,\na.jpg,,0,0,1,1,8,9,\n", "line 3: size .* before"),
        (
            HEADER + "a/b.jpg,,0,0,1,1,,,\na__b.jpg,,0,0,1,1,,,\n",
            "line 3: name of this image .* before",
        ),
        (HEADER + ",door,0,0,1,1,,,\n", "line 2: image name '' must give an id of 1 to 200"),
        (HEADER + "a.jpg,door,1,0,0,1,,,\n", "line 2: box must have x0 <= x1"),
        (HEADER + 'a.jpg,"door,0,0,1,1,,,\n', "is not CSV"),
        ("image,label,x0,y0,x1,y1,x0\n", "line 1 names the column 'x0' twice"),
        (HEADER + "a.jpg,,0_0,0,1,1,,,\n", "line 2: x0,y0,x1,y1 must be 4 .*got .'0_0', 0.0,"),
        (
            HEADER + "a.jpg,,0,0,1,1,9,9,pixels\na.jpg,,0,0,1,1,,,normalised\n",
            "line 3: units of this image was 'pixels' before, here it is 'normalised'",
        ),
        (FULL + "a.jpg,,,,,,train,,,\na.jpg,,,,,,test,,,\n", "line 3: split of this image was"),
        (FULL + "a.jpg,,,,,,,,,A;B\na.jpg,,,,,,,,,A\n", "line 3: labels of this image was"),
        (FULL + "a.jpg,,0,0,1,1,,high,,\n", "line 2: score must be a finite number, got 'high'"),
        (FULL + "a.jpg,,0,0,1,1,,,crowdd,\n", "line 2: unknown flag 'crowdd'; did you mean"),
    ],
)
def test_csv_errors_name_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        _read(tmp_path, text, "boxes.csv")
    assert str(caught.value).startswith(str(tmp_path / "boxes.csv"))


def test_csv_sets_aside_the_bad_lines_alone(tmp_path: Path) -> None:
    text = HEADER + (
        "a.jpg,door,0,0,1,1,9,9,\n"
        "a.jpg,door,0,0,1,nan,9,9,\n"
        "a.jpg,door,0,0\n"
        "http://b/c.jpg,door,0,0,1,1,9,9,\n"
        "a.jpg,door,0,0,1,1,8,9,\n"
        "a.jpg,rose,0,0,1,1,9,9,\n"
    )
    found, told = _skip(tmp_path, text, "boxes.csv")
    assert [line.partition(":")[0] for line in told] == ["line 3", "line 4", "line 5", "line 6"]
    assert [(r.index, r.label) for r in found.annotations["a.jpg"].regions] == [
        (0, "door"),
        (3, "rose"),
    ]
    assert found.names == {"a.jpg": "a.jpg"}
    assert found.taxonomy.names == ("door", "rose")


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [[], {}, {"images": []}, {"format": "other"}, 3, None])
def test_unknown_json_lists_the_formats(tmp_path: Path, content: Any) -> None:
    with pytest.raises(InputError, match=r"unknown.*COCO .*plain .*CSV ") as caught:
        _read(tmp_path, content)
    assert "annotations.json" in str(caught.value)


def test_other_endings_are_not_guessed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a\.txt: unknown.*COCO .*plain .*CSV "):
        _read(tmp_path, COCO, "a.txt")


@pytest.mark.parametrize("text", ["{", "", '{"a": 1} x', "[" * 100_000])
def test_broken_json(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match=r"annotations\.json: is not valid JSON"):
        _read(tmp_path, text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json: cannot be read: No such file"):
        read_annotations(tmp_path / "none.json")
    (tmp_path / "a.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(InputError, match=r"a\.json: is not UTF-8"):
        read_annotations(str(tmp_path / "a.json"))


def test_broken_json_names_the_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not valid JSON: .*line 3 column 2"):
        _read(tmp_path, '{"images":\n [],\n x}')
    with pytest.raises(InputError, match=r"not valid JSON: .*digits"):
        _read(tmp_path, f'{{"images": {"9" * 5000}}}')


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('{"images": [], "annotations": [1], "annotations": [], "categories": []}', "annotations"),
        ('{"images": [{"id": 0, "id": 1}], "annotations": [], "categories": []}', "id"),
        ('{"format": "sightline-annotations", "images": [], "images": []}', "images"),
    ],
)
def test_keys_that_appear_twice(tmp_path: Path, text: str, key: str) -> None:
    for read in (_read, _skip):
        with pytest.raises(InputError, match=rf"json: an object has the key '{key}' twice: \["):
            read(tmp_path, text)


def test_deep_and_large_values_make_short_messages(tmp_path: Path) -> None:
    deep: Any = 0
    for _ in range(900):
        deep = [deep]
    for value in (deep, list(range(10**5)), "x" * 10**5, {str(i): i for i in range(10**5)}):
        content = copy.deepcopy(COCO)
        content["annotations"][0]["bbox"] = value
        with pytest.raises(InputError, match="bbox must be 4 finite numbers") as caught:
            _read(tmp_path, content)
        assert len(str(caught.value)) < 600


# --- shapes --------------------------------------------------------------------------------------

MASKS = hnp.arrays(np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, max_side=8))
EDGES = st.sampled_from([-1.5, -0.5, 0.0, 0.25, 1.0, 1.5, 2.0]) | st.floats(-2, 3)


@given(MASKS, st.booleans())
def test_the_box_of_run_lengths_is_that_of_the_mask(mask: Any, packed: bool) -> None:
    rle = encode_rle(mask)
    if not packed:
        flat = np.concatenate([[False], mask.ravel(order="F")])
        edges = np.flatnonzero(np.diff(flat.astype(int)))
        rle["counts"] = np.diff(np.concatenate([[0], edges, [mask.size]])).tolist()
        np.testing.assert_array_equal(decode_rle(rle), mask)
    shape = rle_shape(rle, mask.shape[::-1])
    box = mask_box(mask)
    assert shape.box == (box or (0, 0, 0, 0))
    assert shape.flags == (() if box else ("empty",))


@pytest.mark.parametrize(
    ("rle", "message"),
    [
        ({"size": [2, 2], "counts": [5, -1]}, "whole numbers from 0 to .*, got -1"),
        ({"size": [2, 2], "counts": [1.5, 2.5]}, "whole numbers"),
        ({"size": [2, 2], "counts": [1, 2]}, "sum to 3, not to 2 x 2"),
        ({"size": [2, 2], "counts": "\u1234"}, "never writes"),
        ({"size": [2, 2], "counts": "0P"}, "in the middle of a number"),
        ({"size": [2, 2], "counts": None}, "whole numbers"),
        ({"size": 4, "counts": [4]}, "needs 'size'"),
        ({"size": [2], "counts": [2]}, r"needs 'size' \[height, width\]"),
        ({"size": [2, 2.0], "counts": [4]}, r"needs 'size' \[height, width\]"),
        ({"size": [2**20, 2**20], "counts": [2**40]}, "must be 1 to"),
        ({"size": [0, 2], "counts": []}, "must be 1 to"),
        ({"size": [16384, 16384], "counts": [1, 2**28 - 1]}, "1 to 80000000 pixels, got 16384 x"),
    ],
)
def test_run_lengths_that_do_not_fit(rle: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rle_shape(rle)


def test_masks_are_as_large_as_images_may_be() -> None:
    rle_shape({"size": [1, MAX_PIXELS], "counts": [MAX_PIXELS]})
    with pytest.raises(ValueError, match="must be 1 to"):
        rle_shape({"size": [1, MAX_PIXELS + 1], "counts": [MAX_PIXELS + 1]})


@given(
    hnp.arrays(np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9)),
    st.tuples(st.integers(1, 12), st.integers(1, 12)),
    st.integers(1, 20),
)
def test_masks_are_resized_alike_in_blocks(mask: Any, shape: tuple[int, int], block: int) -> None:
    whole = _raster.resize_mask(mask, *shape)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_raster, "_BLOCK", block)
        np.testing.assert_array_equal(_raster.resize_mask(mask, *shape), whole)


@given(st.tuples(EDGES, EDGES), st.tuples(EDGES, EDGES))
def test_what_lies_outside_is_dropped_by_the_rule_of_the_masks(
    across: tuple[float, float], down: tuple[float, float]
) -> None:
    (x0, x1), (y0, y1) = sorted(across), sorted(down)
    draft = Draft("a", None)
    draft.add(0, Shape("box", (x0, y0, x1, y1)), Facts())
    outside = box_pixels((x0, y0, x1, y1), 1, 1) is None
    assert (len(draft.dropped), len(draft.regions)) == (int(outside), int(not outside))


NUMBERS: Any = st.floats(-100, 100) | st.integers(-100, 100)
ODD: Any = st.sampled_from([float("nan"), float("inf"), True, "1", None, 10**400, 1e6])


@given(st.lists(st.lists(NUMBERS | ODD, max_size=9) | st.none(), max_size=5))
def test_polygons_at_once_are_those_one_by_one(flats: list[Any]) -> None:
    sizes = [(7 + number, 11) for number in range(len(flats))]
    for flat, size, shape in zip(flats, sizes, polygon_shapes(flats, sizes), strict=True):
        if shape is not None:
            assert shape == polygon_shape([numbers(flat, None, "polygon")], "pixels", size)
        elif flat is not None and len(flat) >= 6 and len(flat) % 2 == 0:
            # Left out only where a closer look is needed.
            plain = all(type(value) in (int, float) for value in flat)
            assert not plain or not all(-7 <= value <= 14 for value in flat)


def test_polygons_that_need_a_closer_look() -> None:
    square = [0, 0, 5, 0, 5, 5, 0, 5]
    found = polygon_shapes(
        [square, square[:4], "x", [*square, 1], [*square, 1e9, 1]], [(10, 10)] * 5
    )
    assert [shape is not None for shape in found] == [True, False, False, False, False]


def test_polygons_outside_are_dropped_although_their_box_is_not(tmp_path: Path) -> None:
    corner = [[-0.5, -0.5], [0.4, -0.5], [-0.5, 0.4]]
    reaching = [[-0.5, -0.5], [0.8, -0.5], [-0.5, 0.8]]
    line = [[-0.5, 0.5], [0.5, 0.5], [0.0, 0.5]]
    regions = [{"label": "x", "polygon": points} for points in (corner, reaching, line)]
    content = {
        "format": "sightline-annotations",
        "version": 1,
        "images": [{"image": "a.jpg", "regions": regions}],
    }
    (tmp_path / "a.json").write_text(json.dumps(content))
    found = read_annotations(tmp_path / "a.json")["a.jpg"]
    assert [region.index for region in found.dropped] == [0]
    assert [region.index for region in found.regions] == [1, 2]
    assert all(region.to_mask(40, 40).any() for region in found.regions)
