from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO

from sightline.core import Annotation, InputError, Region, Taxonomy
from sightline.core.raster import mask_box
from sightline.core.run_lengths import decode_rle
from sightline.data import load_dataset
from sightline.data.annotations import read_annotation_file
from sightline.data.dataset import from_annotations
from sightline.data.formats.drafts import Draft, Facts
from sightline.data.formats.shapes import Shape, encode_rle
from sightline.data.writers import write_annotations

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.data.annotations import AnnotationFile
    from sightline.data.dataset import Dataset

LABELS = st.sampled_from(["window", "rose window", "Tür", "", 'a "quoted" one'])
FLAGS = st.lists(
    st.sampled_from(["crowd", "ignore", "difficult", "truncated", "occluded", "hidden"]),
    unique=True,
).map(tuple)
SCORES = st.none() | st.floats(0, 1)
SOURCES = st.sampled_from(["", "1", "7", "boxes.txt line 3"])
SHARES = st.floats(-0.5, 1.5).map(lambda value: round(value, 3) + 1e-4)


def _ordered(values: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    x0, x1 = sorted(values[:2])
    y0, y1 = sorted(values[2:])
    return x0, y0, x1, y1


def _box_of(part: tuple[float, ...]) -> tuple[float, float, float, float]:
    return min(part[::2]), min(part[1::2]), max(part[::2]), max(part[1::2])


BOXES = st.tuples(SHARES, SHARES, SHARES, SHARES).map(_ordered)
PARTS = st.lists(st.tuples(SHARES, SHARES), min_size=3, max_size=6).map(
    lambda points: tuple(value for point in points for value in point)
)


@st.composite
def shapes(draw: st.DrawFn, width: int, height: int) -> Shape:
    kind = draw(st.sampled_from(["box", "polygon", "point", "mask"]))
    if kind == "box":
        return Shape("box", draw(BOXES))
    if kind == "polygon":
        parts = tuple(draw(st.lists(PARTS, min_size=1, max_size=3)))
        return Shape("polygon", _box_of(tuple(v for part in parts for v in part)), parts)
    if kind == "point":
        return Shape("point", draw(BOXES), radius=draw(st.floats(0, 100)))
    mask = draw(hnp.arrays(np.bool_, (height, width)))
    box = mask_box(mask)
    flags = () if box else ("empty",)
    shown: Any = mask if draw(st.booleans()) else _runs(mask)
    return Shape("mask", box or (0.0, 0.0, 0.0, 0.0), shown, flags=flags)


def _runs(mask: Any) -> dict[str, Any]:
    """Return a mask as uncompressed run lengths."""
    runs, last = [0], False
    for value in mask.ravel(order="F").tolist():
        if value != last:
            runs.append(0)
            last = value
        runs[-1] += 1
    return {"size": list(mask.shape), "counts": runs}


@st.composite
def annotated(draw: st.DrawFn, name: str) -> Annotation:
    width, height = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    draft = Draft(name, (width, height), draw(st.lists(st.sampled_from(["Gothic", "church"]))))
    number = -1
    for shape in draw(st.lists(shapes(width, height), max_size=4)):
        number += draw(st.integers(1, 2))  # numbers are left out where records were set aside
        dropped = draw(st.sampled_from([False, False, False, True]))
        facts = Facts(draw(LABELS), draw(FLAGS), draw(SOURCES), draw(SCORES), dropped)
        draft.add(draft.number(number), shape, facts)
    return draft.finish()


@st.composite
def sets(draw: st.DrawFn) -> dict[str, Annotation]:
    names = draw(st.lists(st.sampled_from(["a.jpg", "b__c.png", "d"]), unique=True))
    return {name: draw(annotated(name)) for name in names}


TAXONOMIES = st.sampled_from(
    [
        Taxonomy(),
        Taxonomy.flat(["window", "rose window", "Tür", 'a "quoted" one']),
        Taxonomy(
            {
                "opening": [],
                "round": [],
                "window": ["opening"],
                "rose window": ["window", "round"],
                "Tür": ["opening"],
                'a "quoted" one': [],
            }
        ),
    ]
)


def _written(
    folder: Path, found: Any, kind: Any = "plain", taxonomy: Taxonomy | None = None
) -> AnnotationFile:
    write_annotations(found, folder / "out.json", format=kind, taxonomy=taxonomy)
    return read_annotation_file(folder / "out.json")


def _same_mask(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) or one is None:
        return bool(one == other)
    one, other = (decode_rle(mask) if isinstance(mask, dict) else mask for mask in (one, other))
    return bool(np.array_equal(one, other))


def _facts(region: Region) -> tuple[Any, ...]:
    label, kind = region.label, region.kind
    return label, kind, region.flags, region.index, region.source, region.score, region.radius


def _pairs(one: Annotation, other: Annotation) -> list[tuple[Region, Region]]:
    assert (one.image_id, one.width, one.height) == (other.image_id, other.width, other.height)
    assert one.labels == other.labels
    return [
        *zip(one.regions, other.regions, strict=True),
        *zip(one.dropped, other.dropped, strict=True),
    ]


# --- there and back ------------------------------------------------------------------------------


@settings(max_examples=60)
@given(found=sets(), taxonomy=TAXONOMIES)
def test_plain_comes_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, found: dict[str, Annotation], taxonomy: Taxonomy
) -> None:
    back = _written(tmp_path_factory.mktemp("plain"), found, taxonomy=taxonomy)
    assert list(back.annotations) == list(found)
    for name, annotation in found.items():
        for one, other in _pairs(annotation, back.annotations[name]):
            assert _facts(one) == _facts(other)
            assert one.box == other.box
            assert _same_mask(one.mask, other.mask)
    if len(taxonomy):
        assert back.taxonomy == taxonomy
        assert back.taxonomy.names == taxonomy.names


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # pycocotools'
@settings(max_examples=60)
@given(found=sets(), taxonomy=TAXONOMIES)
def test_coco_comes_back_and_others_can_read_it(
    tmp_path_factory: pytest.TempPathFactory, found: dict[str, Annotation], taxonomy: Taxonomy
) -> None:
    folder = tmp_path_factory.mktemp("coco")
    back = _written(folder, found, "coco", taxonomy)
    assert list(back.annotations) == list(found)
    for name, annotation in found.items():
        for one, other in _pairs(annotation, back.annotations[name]):
            assert _facts(one) == _facts(other)
            assert one.box == pytest.approx(other.box, abs=1e-9)
            if isinstance(one.mask, tuple) and isinstance(other.mask, tuple):
                for part, again in zip(one.mask, other.mask, strict=True):
                    assert part == pytest.approx(again, abs=1e-9)
            else:
                assert _same_mask(one.mask, other.mask)
    if len(taxonomy):
        assert back.taxonomy == taxonomy
        assert back.taxonomy.names == taxonomy.names
    _check_with_pycocotools(folder / "out.json", found)


def _check_with_pycocotools(path: Path, found: dict[str, Annotation]) -> None:
    theirs = COCO(str(path))
    assert len(theirs.imgs) == len(found)
    for image in theirs.imgs.values():
        ours = found[image["file_name"]]
        by_index = {region.index: region for region in (*ours.regions, *ours.dropped)}
        records = theirs.loadAnns(theirs.getAnnIds(imgIds=[image["id"]]))
        assert len(records) == len(by_index)
        for region, record in zip(
            sorted(by_index.values(), key=lambda region: region.index), records, strict=True
        ):
            assert record["iscrowd"] == region.crowd
            assert theirs.cats[record["category_id"]]["name"] == region.label
            if region.kind != "box":
                mask = theirs.annToMask(record).astype(bool)
                drawn = region.to_mask(ours.height or 0, ours.width or 0)
                # A polygon too small for COCO's rasteriser keeps one pixel here.
                if mask.any() or region.kind != "polygon":
                    np.testing.assert_array_equal(mask, drawn)
                    assert record["area"] == mask.sum()


@given(hnp.arrays(np.bool_, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9)))
def test_run_lengths(mask: Any) -> None:
    rle = encode_rle(mask)
    json.dumps(rle)
    np.testing.assert_array_equal(decode_rle(rle), mask)
    theirs = coco_mask.encode(np.asfortranarray(mask.astype(np.uint8)))
    assert rle == {"size": list(theirs["size"]), "counts": theirs["counts"].decode()}


def test_what_comes_from_pixels_far_outside(tmp_path: Path) -> None:
    far = Region("a", box=(30.0, 40.0, 50.5, 60.25), index=0)
    wide = Region("b", "polygon", (0, 0, 1, 1), ((-9.5, 0.0, 10.5, 0.0, 0.5, 3.0),), index=1)
    disc = Region("c", "point", (-5.0, -5.0, 6.0, 6.0), radius=3.3, index=2)
    found = {"a.jpg": Annotation("a.jpg", 10, 10, (wide, disc), dropped=(far,))}
    back = _written(tmp_path, found).annotations["a.jpg"]
    assert [region.box for region in back.dropped] == [far.box]
    assert back.regions[0].mask == wide.mask
    assert (back.regions[1].box, back.regions[1].radius) == (disc.box, 3.3)


def test_a_mask_of_another_size_is_drawn_at_the_size_of_the_image(tmp_path: Path) -> None:
    half = np.array([[True, False]])
    region = Region("a", "mask", (0, 0, 0.5, 1), half)
    found = {"a.jpg": Annotation("a.jpg", 4, 3, (region,))}
    back = _written(tmp_path, found, "coco").annotations["a.jpg"]
    np.testing.assert_array_equal(back.regions[0].to_mask(3, 4), np.tile([1, 1, 0, 0], (3, 1)))


# --- data sets -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["plain", "coco"])
def test_a_data_set_brings_names_splits_and_labels(tmp_path: Path, kind: Any) -> None:
    (tmp_path / "images" / "sub").mkdir(parents=True)
    for name in ("sub/a.png", "b.png"):
        Image.new("RGB", (4, 3)).save(tmp_path / "images" / name)
    images = [
        {"image": name, "width": 4, "height": 3, "labels": ["church"], "split": split}
        for name, split in (("sub/a.png", "train"), ("b.png", "test"))
    ]
    labels = {"opening": [], "window": ["opening"]}
    content = {"format": "sightline-annotations", "version": 1, "labels": labels, "images": images}
    (tmp_path / "annotations.json").write_text(json.dumps(content))
    first = load_dataset("folder", tmp_path)
    write_annotations(first, tmp_path / "annotations.json", format=kind)
    again = load_dataset("folder", tmp_path)
    assert again.ids == first.ids == ("sub__a.png", "b.png")
    assert [sample.split for sample in again] == ["train", "test"]
    assert again[0].labels == ("church",)
    assert again.taxonomy == Taxonomy(labels)
    assert again[0].path == first[0].path
    assert again[0].image().shape == (3, 4, 3)
    names = read_annotation_file(tmp_path / "annotations.json").names
    assert list(names.values()) == ["images/sub/a.png", "images/b.png"]
    written = (tmp_path / "annotations.json").read_bytes()
    write_annotations(again, tmp_path / "annotations.json", format=kind)
    assert (tmp_path / "annotations.json").read_bytes() == written


def _samples(root: Path, *files: tuple[str, str]) -> Dataset:
    """Return a data set of images with ids of their own, in files of 5 x 4 pixels."""
    annotations, paths = {}, {}
    for name, image_id in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (5, 4)).save(root / name)
        box = Region("door", box=(0.2, 0.25, 0.4, 0.5))
        annotations[image_id] = Annotation(image_id, regions=(box,))
        paths[image_id] = root / name
    return from_annotations("some", annotations, paths, root=root)


@pytest.mark.parametrize("kind", ["plain", "coco"])
def test_images_are_found_again_under_their_ids(tmp_path: Path, kind: Any) -> None:
    files = (
        ("train/images/x.png", "train__x.png"),
        ("valid/images/x.png", "valid__x.png"),
        ("images/Köln (2).png", "K"),
        ("plain.png", "plain.png"),
    )
    first = _samples(tmp_path, *files)
    write_annotations(first, tmp_path / "annotations.json", format=kind)
    again = load_dataset("folder", tmp_path)
    assert again.ids == first.ids
    assert [sample.path for sample in again] == [tmp_path / name for name, _ in files]
    assert again[2].image().shape == (4, 5, 3)
    images = json.loads((tmp_path / "annotations.json").read_text())["images"]
    given = [image.get("id") if kind == "plain" else image.get("sightline") for image in images]
    assert given[3] is None


def test_a_name_that_cannot_be_read_again_gives_way_to_the_id(tmp_path: Path) -> None:
    long = "/".join(["x" * 60] * 4) + "/a.png"
    elsewhere = tmp_path.parent / f"{tmp_path.name}-elsewhere.png"
    found = {name: Annotation(name) for name in ("long", "out", "none")}
    paths = {"long": tmp_path / long, "out": elsewhere}
    first = from_annotations("some", found, paths, root=tmp_path)
    assert _written(tmp_path, first).names == {"long": "long", "out": "out", "none": "none"}


def test_sizes_come_from_the_files(tmp_path: Path) -> None:
    first = _samples(tmp_path, ("a.png", "a.png"))
    back = _written(tmp_path, first, "coco").annotations["a.png"]
    assert (back.width, back.height) == (5, 4)
    assert back.regions[0].box == pytest.approx((0.2, 0.25, 0.4, 0.5))
    (tmp_path / "a.png").unlink()
    with pytest.raises(InputError, match=r"image 'a\.png': COCO needs the width and height"):
        _written(tmp_path, first, "coco")
    secret = tmp_path.parent / f"{tmp_path.name}-secret.png"
    Image.new("RGB", (5, 4)).save(secret)
    (tmp_path / "a.png").symlink_to(secret)
    with pytest.raises(InputError, match="leaves the folder"):
        _written(tmp_path, first, "coco")


@pytest.mark.parametrize("kind", ["plain", "coco"])
def test_numbers_of_numpy(tmp_path: Path, kind: Any) -> None:
    single: Any = np.float32
    part = tuple(map(single, (0.125, 0.25, 0.5, 0.25, 0.5, 0.75)))
    regions = [
        Region("a", box=_corners(single, 0.125, 0.25, 0.5, 1), score=single(0.5)),
        Region("b", "polygon", _corners(np.float64, 0.125, 0.25, 0.5, 0.75), (part,)),
        Region("c", "point", _corners(single, 0, 0, 0.5, 1), radius=single(2)),
    ]
    whole: Any = np.int64
    numbered = tuple(replace(region, index=whole(n)) for n, region in enumerate(regions))
    found = {"a.jpg": Annotation("a.jpg", whole(8), whole(4), numbered)}
    back = _written(tmp_path, found, kind).annotations["a.jpg"]
    assert (back.width, back.height) == (8, 4)
    assert [(r.box, r.index, r.score) for r in back.regions] == [
        ((0.125, 0.25, 0.5, 1), 0, 0.5),
        ((0.125, 0.25, 0.5, 0.75), 1, None),
        ((0, 0, 0.5, 1), 2, None),
    ]


def _corners(kind: Any, *values: float) -> Any:
    return tuple(map(kind, values))


def test_a_parent_called_none_stays_one(tmp_path: Path) -> None:
    taxonomy = Taxonomy({"none": [], "a": ["none"]})
    found = {"a.jpg": Annotation("a.jpg", 4, 3, (Region("a"),))}
    assert _written(tmp_path, found, "coco", taxonomy).taxonomy == taxonomy


# --- errors --------------------------------------------------------------------------------------


def test_what_cannot_be_written(tmp_path: Path) -> None:
    found = {"a.jpg": Annotation("a.jpg", regions=(Region("door"),))}
    with pytest.raises(InputError, match=r"image 'a\.jpg': COCO needs the width and height"):
        write_annotations(found, tmp_path / "a.json", format="coco")
    with pytest.raises(InputError, match=r"a\.txt: a file of annotations must end in \.json"):
        write_annotations(found, tmp_path / "a.txt")
    with pytest.raises(InputError, match=r"folder .*none does not exist"):
        write_annotations(found, tmp_path / "none" / "a.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        write_annotations(found, tmp_path / "folder.json")
    with pytest.raises(InputError, match="format must be one of plain, coco, got 'voc'"):
        write_annotations(found, tmp_path / "a.json", format="voc")  # type: ignore[arg-type]
    assert [path.name for path in tmp_path.iterdir()] == ["folder.json"]


@pytest.mark.parametrize("kind", ["plain", "coco"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"flags": ("dificult",)}, "region 1: unknown flag 'dificult'; did you mean 'difficult'"),
        ({"index": 0}, "region 0: another region has this number"),
        (
            {"kind": "polygon", "mask": ((0.0, 0.0, 50.0, 0.0, 1.0, 1.0),)},
            "region 1: polygon has a vertex more than 10 image sizes outside",
        ),
    ],
)
def test_regions_that_could_not_be_read_again(
    tmp_path: Path, kind: Any, change: dict[str, Any], message: str
) -> None:
    second = replace(Region("door", index=1), **change)
    found = {"a.jpg": Annotation("a.jpg", 9, 9, (Region("door"), second))}
    with pytest.raises(InputError, match=rf"image 'a\.jpg': {message}"):
        write_annotations(found, tmp_path / "a.json", format=kind)


@pytest.mark.parametrize("kind", ["plain", "coco"])
def test_annotations_that_could_not_be_read_again(tmp_path: Path, kind: Any) -> None:
    same = Annotation("a.jpg", 4, 3)
    with pytest.raises(InputError, match=r"out\.json: two annotations have the image_id 'a\.jpg'"):
        _written(tmp_path, {"a.jpg": same, "b.jpg": same}, kind)
    with pytest.raises(InputError, match=r"image 'a\.jpg': height must be .*, got None"):
        _written(tmp_path, {"a.jpg": Annotation("a.jpg", 4)}, kind)
    assert not list(tmp_path.iterdir())


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    found = {"a.jpg": Annotation("a.jpg", 9, 9, (Region(score=float("nan")),))}
    with pytest.raises(InputError, match=r"a\.json: .*not JSON compliant"):
        write_annotations(found, path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]
