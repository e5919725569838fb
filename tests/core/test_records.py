from __future__ import annotations

import math
from dataclasses import FrozenInstanceError
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.core import (
    Annotation,
    BoundingBox,
    ImageAnnotation,
    InputError,
    MapError,
    Region,
    Sample,
    Taxonomy,
    UnknownNameError,
    to_image_id,
)
from sightline.core.paths import resolved
from sightline.store.files import leads_out
from tests.scripts import printed_by

if TYPE_CHECKING:
    from pathlib import Path

BOX = Region("window", box=(0.0, 0.0, 0.5, 0.5), index=0)
POINT = Region("beak", kind="point", box=(0.5, 0.25, 1.0, 0.75), radius=10, index=2)
TRIANGLE = Region(
    "gable", kind="polygon", box=(0, 0, 1, 1), mask=((0.0, 1.0, 0.5, 0.0, 1.0, 1.0),), index=3
)


def test_each_kind_is_drawn() -> None:
    np.testing.assert_array_equal(BOX.to_mask(2, 2), [[True, False], [False, False]])
    disc = POINT.to_mask(40, 40)
    assert disc[20, 29]
    assert not disc[11, 21]
    assert abs(disc.sum() - math.pi * 100) < 12
    assert abs(TRIANGLE.to_mask(50, 50).mean() - 0.5) < 0.02


def test_masks_are_kept_as_array_or_run_lengths() -> None:
    array = np.zeros((4, 6), np.bool_)
    array[1, 2:5] = True
    given = Region("a", kind="mask", mask=array)
    rle = Region("a", kind="mask", mask={"size": [4, 6], "counts": [9, 1, 3, 1, 3, 1, 6]})
    np.testing.assert_array_equal(given.to_mask(4, 6), array)
    np.testing.assert_array_equal(rle.to_mask(4, 6), array)
    np.testing.assert_array_equal(given.to_mask(8, 12), array.repeat(2, 0).repeat(2, 1))


def test_errors_of_drawing_name_the_region() -> None:
    region = Region("door", kind="mask", mask={"size": [2, 2], "counts": [9]}, index=5)
    with pytest.raises(InputError, match=r"region 5 \('door'\): RLE counts sum to 9"):
        region.to_mask(2, 2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "circle"}, "box, mask, polygon, point, got 'circle'"),
        ({"kind": "mask"}, "mask belongs to"),
        ({"kind": "box", "mask": ((0.0, 0.0, 1.0, 1.0, 0.0, 1.0),)}, "mask belongs to"),
        ({"box": (0, 0, math.nan, 1)}, "finite"),
        ({"box": (0.5, 0, 0.4, 1)}, "x0 <= x1"),
    ],
)
def test_bad_regions_raise(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Region("x", **fields)


def test_union_is_any_region() -> None:
    annotation = Annotation("a.jpg", 100, 100, (BOX, POINT))
    masks = annotation.region_masks(20, 30)
    assert masks.shape == (2, 20, 30)
    np.testing.assert_array_equal(annotation.union_mask(20, 30), masks.any(axis=0))
    np.testing.assert_array_equal(annotation.get_union_mask(20, 30), masks.any(axis=0))
    assert masks[0].any()
    assert masks[1].any()


VOID = Region("void", box=(0.25, 0.0, 1.0, 0.25), flags=("ignore",), index=1)
CROWD = Region("people", box=(0.5, 0.5, 1.0, 1.0), flags=("crowd", "clipped"), index=4)


def test_flags_are_properties() -> None:
    assert (VOID.ignore, VOID.crowd, VOID.difficult) == (True, False, False)
    assert (CROWD.ignore, CROWD.crowd, CROWD.difficult) == (False, True, False)
    assert Region(flags=("difficult",)).difficult


def test_ignored_regions_are_left_out_of_every_target() -> None:
    annotation = Annotation("a.jpg", 80, 80, (BOX, VOID, CROWD))
    assert annotation.scored == (BOX, CROWD)
    assert annotation.ignored == (VOID,)
    left_out = np.zeros((8, 8), bool)
    left_out[:2, 2:] = True
    np.testing.assert_array_equal(annotation.ignore_mask(8, 8), left_out)
    window, people = np.zeros((2, 8, 8), bool)
    window[:4, :4], people[4:, 4:] = True, True
    np.testing.assert_array_equal(annotation.union_mask(8, 8), (window | people) & ~left_out)
    masks = annotation.label_masks(8, 8)
    assert list(masks) == ["window", "people"]
    np.testing.assert_array_equal(masks["window"], window & ~left_out)
    assert len(annotation.region_masks(8, 8)) == 3
    target = annotation.soft_target(8, 8)
    assert (target[left_out] == 0).all()
    assert (target[~left_out] > 0).all()


def test_flags_can_be_ignored_too() -> None:
    annotation = Annotation("a.jpg", 80, 80, (BOX, VOID, CROWD), dropped=(CROWD,))
    without = annotation.ignoring("crowd", "difficult")
    assert without.scored == (BOX,)
    assert without.regions[2].flags == ("crowd", "clipped", "ignore")
    assert without.regions[1] is VOID
    assert annotation.ignoring().scored == annotation.scored


def test_masks_of_labels_join_and_climb() -> None:
    parts = Taxonomy({"opening": [], "window": ["opening"], "door": ["opening"]})
    regions = (
        Region("window", box=(0, 0, 0.5, 0.5)),
        Region("window", box=(0.5, 0, 1, 0.5)),
        Region("door", box=(0, 0.5, 0.5, 1)),
        Region("odd", box=(0.5, 0.5, 1, 1)),
    )
    masks = Annotation("a.jpg", regions=regions).label_masks(2, 2, parts)
    assert {label: mask.astype(int).tolist() for label, mask in masks.items()} == {
        "window": [[1, 1], [0, 0]],
        "opening": [[1, 1], [1, 0]],
        "door": [[0, 0], [1, 0]],
        "odd": [[0, 0], [0, 1]],
    }


def test_a_soft_target_peaks_in_each_region() -> None:
    annotation = Annotation("a.jpg", 100, 100, (BOX, POINT))
    target = annotation.soft_target(21, 21)
    assert target.shape == (21, 21)
    assert target[5, 5] == 1.0  # the middle of the 11 pixels of the box
    assert target[10, 15] == 1.0  # and that of the disc
    assert 0 < target[20, 0] < 1e-3
    assert not Annotation("a.jpg").soft_target(3, 3).any()


def test_taxonomies_have_several_parents() -> None:
    parts = Taxonomy(
        {"thing": [], "glass": ["thing"], "opening": ["thing"], "window": ["opening", "glass"]}
    )
    assert parts.ancestors("window") == ("opening", "glass", "thing")
    assert parts.ancestors("thing") == ()
    assert parts.children("thing") == ("glass", "opening")
    assert parts.roots == ("thing",)
    assert parts.names == ("thing", "glass", "opening", "window")
    assert parts.parents["window"] == ("opening", "glass")
    assert "window" in parts
    assert len(parts) == 4
    assert parts == Taxonomy(parts.parents)
    assert hash(parts) == hash(Taxonomy(parts.parents))
    assert parts != Taxonomy.flat(parts)
    assert len({Taxonomy.flat("ab"), Taxonomy.flat("ba")}) == 1  # they are equal
    assert repr(parts) == "Taxonomy(4 labels, 1 without parents)"
    with pytest.raises(UnknownNameError, match="unknown label 'door'; known: thing, glass"):
        parts.ancestors("door")


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ({"a": ["b"]}, "parent 'b' of 'a' is not a label"),
        ({"a": ["a"]}, "'a' stands above itself"),
        ({"a": ["b"], "b": ["c"], "c": ["a"]}, "stands above itself"),
        ({"a": [], "b": ["a", "a"]}, "'b' name one label twice"),
    ],
)
def test_bad_taxonomies_raise(parents: dict[str, list[str]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Taxonomy(parents)


def test_samples_open_their_image_when_asked() -> None:
    opened = []

    def load() -> Any:
        opened.append(1)
        return np.zeros((2, 3, 3), np.uint8)

    sample = Sample("a.jpg", Annotation("a.jpg", 3, 2, labels=("Gothic",)), "test", load=load)
    assert sample.labels == ("Gothic",)
    assert not opened
    assert sample.image().shape == (2, 3, 3)
    assert len(opened) == 1
    with pytest.raises(InputError, match=r"image 'a\.jpg' has no file"):
        Sample("a.jpg", sample.annotation).image()


def test_annotation_without_regions_is_empty() -> None:
    empty = Annotation("a.jpg", dropped=(BOX,))
    assert empty.region_masks(3, 4).shape == (0, 3, 4)
    assert not empty.union_mask(3, 4).any()


@pytest.mark.parametrize("image_id", ["", "a/b", "a b", "ä", "a\n", "x" * 201])
def test_image_ids_are_checked(image_id: str) -> None:
    with pytest.raises(InputError, match="image_id must match"):
        Annotation(image_id)


@pytest.mark.parametrize("image_id", [".", ".."])
def test_folders_are_no_image_ids(image_id: str) -> None:
    with pytest.raises(InputError, match=r"must match .* and not be '\.' or '\.\.', got '\.+'"):
        Annotation(image_id)


def test_image_ids_of_file_names() -> None:
    assert to_image_id("001.Owl/Owl_1.jpg") == "001.Owl__Owl_1.jpg"
    assert to_image_id("./set\\a//b.jpg") == "set__a__b.jpg"
    assert to_image_id("x" * 200) == "x" * 200
    assert to_image_id("Kirche (Köln)\n2.jpg") == "Kirche_-28K-f6ln-29-a2.jpg"
    for name, message in (
        ("x" * 201, "gives 201"),
        ("", "gives 0"),
        ("https://example.org/a.jpg", "is a URL"),
    ):
        with pytest.raises(InputError, match=message):
            to_image_id(name)


def test_bounding_box() -> None:
    box = BoundingBox(left=-0.25, top=0.5, width=0.75, height=0.5, label="door")
    np.testing.assert_array_equal(
        box.to_mask(2, 4), [[False, False, False, False], [True, True, False, False]]
    )
    region = box.to_region(index=4)
    assert (region.label, region.box, region.index) == ("door", (-0.25, 0.5, 0.5, 1.0), 4)
    assert not BoundingBox(1.5, 0, 1, 1).to_mask(3, 3).any()


@pytest.mark.parametrize("numbers", [(0, 0, -1, 1), (0, 0, 1, -1), (math.nan, 0, 1, 1)])
def test_bad_bounding_boxes_raise(numbers: tuple[float, float, float, float]) -> None:
    with pytest.raises(InputError, match="finite left, top and width, height >= 0"):
        BoundingBox(*numbers)


def test_records_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        BOX.label = "door"  # type: ignore[misc]
    assert ImageAnnotation is Annotation


def test_errors_are_value_errors() -> None:
    error = MapError("map 3 is not finite", 3)
    assert isinstance(error, InputError)
    assert isinstance(error, ValueError)
    assert error.index == 3


@pytest.mark.parametrize(
    "module", ["sightline", "sightline.core", "sightline.core.registry", "sightline.cli"]
)
def test_import_is_light(module: str) -> None:
    heavy = "numpy", "numba", "pandas", "pyarrow", "scipy", "torch", "pycocotools", "PIL", "yaml"
    code = f"import sys, {module}; print(*(set({heavy}) & set(sys.modules)))"
    assert printed_by(code).split() == []


def test_a_link_to_itself_leads_nowhere_in_every_python(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for name in ("loop", "loop/a.jpg"):
        with pytest.raises(OSError, match=r"loop|many levels"):
            resolved(tmp_path / name)
        assert leads_out(tmp_path / name, tmp_path)
    assert not leads_out(tmp_path / "missing", tmp_path)
