from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline._raster import box_mask, polygon_mask
from sightline.data import read_annotations
from sightline.records import Annotation, InputError

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


def _write(folder: Path, content: Any, name: str = "annotations.json") -> Path:
    path = folder / name
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def _read(folder: Path, content: Any, name: str = "annotations.json") -> dict[str, Annotation]:
    return read_annotations(_write(folder, content, name))


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
        (lambda c: c["images"][1].update(id=0), r"images\[1\]: id 0 appears twice"),
        (
            lambda c: c["images"][1].update(file_name="val__a.jpg"),
            "image 7: image 'val__a.jpg' app",
        ),
        (
            lambda c: c["images"][1].update(file_name="b c.jpg"),
            "image 7: image name 'b c.jpg' must",
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
        (lambda c: c["annotations"].append(3), r"annotations\[6\] must be an object"),
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
        (lambda c: c["images"].append("b.jpg"), r"images\[2\] must be an object, got 'b.jpg'"),
        (lambda c: c["images"][1].update(image="a.jpg"), "image 'a.jpg': .* appears twice"),
        (lambda c: c["images"][1].pop("image"), "image None: name of the image must be text"),
        (lambda c: c["images"][0].pop("width"), "image 'a.jpg': width must be"),
        (lambda c: c["images"][0].update(width=True), "image 'a.jpg': width must be"),
        (lambda c: c["images"][0].update(labels="Gothic"), "labels must be a list"),
        (lambda c: c["images"][0].update(labels=[1]), "label must be text, got 1"),
        (lambda c: c["images"][0].update(regions=None), "'regions' must be a list"),
        (
            lambda c: [c["images"][0].pop(k) for k in ("width", "height")],
            "region 0: units 'pixels' need the image's width and height",
        ),
        (_set_region(1, 5), r"regions\[1\] must be an object"),
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
        (_set_region(1, {"point": [0, 0]}), "radius must be 1 finite numbers"),
        (_set_region(1, {"point": [0, 0], "radius": -1}), "radius must be >= 0"),
        (_set_region(1, {"rle": [1, 2]}), "RLE must be an object"),
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
        "0.5,0.5,1,1,door,a.jpg,,100,200,\r\n",
        "BOXES.CSV",
    )
    assert [r.box for r in found["a.jpg"].regions] == [(0.05, 0.1, 0.15, 0.4), (0.5, 0.5, 1, 1)]
    assert (found["a.jpg"].width, found["a.jpg"].height) == (200, 100)


HEADER = "image,label,x0,y0,x1,y1,width,height,units\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1 must name the columns image,label,x0,y0,x1,y1"),
        ("image;label;x0;y0;x1;y1\n", "not found in 'image;label;x0;y0;x1;y1'"),
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
        (HEADER + "a.jpg,,0,0,1,1,9,9,\na.jpg,,0,0,1,1,8,9,\n", "line 3: width, height .* before"),
        (HEADER + "a/b.jpg,,0,0,1,1,,,\na__b.jpg,,0,0,1,1,,,\n", "line 3: image name .* before"),
        (HEADER + ",door,0,0,1,1,,,\n", "line 2: image name '' must be"),
        (HEADER + "a.jpg,door,1,0,0,1,,,\n", "line 2: box must have x0 <= x1"),
        (HEADER + 'a.jpg,"door,0,0,1,1,,,\n', "is not CSV"),
    ],
)
def test_csv_errors_name_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        _read(tmp_path, text, "boxes.csv")
    assert str(caught.value).startswith(str(tmp_path / "boxes.csv"))


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
