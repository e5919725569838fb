from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations_with_replacement
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from sightline.core import Annotation, InputError, Region, Sample, Taxonomy
from sightline.data.dataset import Dataset, from_annotations
from sightline.data.problems import Problem
from sightline.data.report import Report, Spread, inspect_dataset

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PARTS = Taxonomy(
    {"opening": [], "round": [], "window": ["opening"], "rose": ["window", "round"], "door": []}
)
SIXTEENTHS = 16


def report_of(
    *annotations: Annotation, files: Mapping[str, Path] | None = None, **options: Any
) -> Report:
    decode = options.pop("decode", True)
    named = {annotation.image_id: annotation for annotation in annotations}
    return inspect_dataset(from_annotations("mine", named, files or {}, **options), decode=decode)


def labelled(image_id: str, *labels: str, styles: Sequence[str] = ()) -> Annotation:
    return Annotation(image_id, regions=tuple(map(Region, labels)), labels=tuple(styles))


def save(path: Path, width: int = 30, height: int = 20) -> Path:
    Image.new("RGB", (width, height), (200, 10, 10)).save(path)
    return path


# --- what it holds -------------------------------------------------------------------------------


def test_counts() -> None:
    report = report_of(
        labelled("a", "door", "rose", "", styles=("Gothic",)),
        labelled("b", styles=("Gothic", "Baroque", "Gothic")),
        Annotation("c", regions=(Region("door", kind="point", box=(0, 0, 1, 1)),)),
        splits={"a": "train", "b": "train"},
    )
    assert (report.name, report.images, report.regions, report.unlabelled) == ("mine", 3, 4, 1)
    assert report.kinds == {"box": 3, "point": 1}
    assert report.splits == {"train": 2, "": 1}
    assert [(one.label, one.images, one.share) for one in report.image_labels] == [
        ("Gothic", 2, 2 / 3),
        ("Baroque", 1, 1 / 3),
    ]
    assert report.empty == ("b",)
    assert report.per_image == Spread(0, 0.5, 1, 2, 4 / 3, 3)
    assert report.missing == ("a", "b", "c")


def test_labels_count_for_those_above_them_once() -> None:
    report = report_of(
        labelled("a", "rose", "rose", "window"),
        labelled("b", "door", "rose", "spire"),
        labelled("c"),
        taxonomy=PARTS,
    )
    rows = {row.label: (row.own, row.regions, row.images) for row in report.labels}
    assert rows == {
        "opening": (0, 4, 2),
        "round": (0, 3, 2),
        "window": (1, 4, 2),
        "rose": (3, 3, 2),
        "door": (1, 1, 1),
        "spire": (1, 1, 1),
    }
    assert [row.label for row in report.labels][:2] == ["opening", "window"]
    assert {row.label: row.share for row in report.labels}["rose"] == 2 / 3
    assert report.unknown_labels == {"spire": 1}


def test_no_label_is_unknown_without_a_taxonomy() -> None:
    report = report_of(labelled("a", "door", "door", ""))
    assert report.unknown_labels == {}
    assert [(row.label, row.own, row.images) for row in report.labels] == [("door", 2, 1)]


def test_labels_of_many_images_come_before_those_of_many_regions() -> None:
    report = report_of(labelled("a", *["window"] * 9, "spire"), labelled("b", "door"),
                       labelled("c", "door", "spire", "spire"))  # fmt: skip
    assert [row.label for row in report.labels] == ["spire", "door", "window"]


def test_flags_and_what_was_dropped() -> None:
    shown = [("clipped",), ("clipped", "difficult"), ("crowd", "ignore"), ("ignore",), ()]
    hidden = [("hidden",), ("hidden",), (), ("empty",), ()]
    report = report_of(
        Annotation(
            "a",
            regions=tuple(Region("door", flags=flags) for flags in shown),
            dropped=tuple(Region("door", flags=flags) for flags in hidden),
        )
    )
    assert (report.clipped, report.difficult, report.crowd, report.ignore) == (2, 1, 1, 2)
    assert (report.outside, report.hidden) == (3, 2)
    assert report.regions == 5


@given(st.lists(st.lists(st.sampled_from(["door", "rose", "window", "tower", ""]), max_size=6)))
@settings(max_examples=30)
def test_pairs_and_repeats_are_those_of_a_loop(images: list[list[str]]) -> None:
    report = report_of(*(labelled(f"i{n}", *labels) for n, labels in enumerate(images)))
    assert set(report.pair_labels) == {label for labels in images for label in labels} - {""}
    for one, other in combinations_with_replacement(range(len(report.pair_labels)), 2):
        wanted = {report.pair_labels[one], report.pair_labels[other]}
        expected = sum(wanted <= set(labels) for labels in images)
        assert report.pairs[one][other] == report.pairs[other][one] == expected
    repeated = {
        f"i{n}": {
            label: labels.count(label) for label in labels if label and labels.count(label) > 1
        }
        for n, labels in enumerate(images)
    }
    assert report.repeated == {image: found for image, found in repeated.items() if found}
    assert report.repeated_share * max(1, len(images)) == pytest.approx(len(report.repeated))


def test_pairs_are_of_the_most_frequent_labels() -> None:
    many = [labelled("all", *(f"l{n}" for n in range(210))), labelled("last", "l209")]
    report = report_of(*many)
    assert len(report.pair_labels) == len(report.pairs) == len(report.pairs[0]) == 200
    assert report.pair_labels[0] == "l209"
    assert report.pairs[0][:2] == (2, 1)
    assert len(report.labels) == 210


def test_labels_that_some_images_of_a_style_lack() -> None:
    report = report_of(
        labelled("a", "door", "rose", "rose", styles=["Gothic"]),
        labelled("b", "door", styles=["Gothic"]),
        labelled("c", "door", "dome", styles=["Baroque", "Gothic"]),
        labelled("d", "tower"),
    )
    found = {(s.style, s.label): (s.present, s.absent) for s in report.sometimes_missing}
    assert found == {("Gothic", "rose"): (1, 2), ("Gothic", "dome"): (1, 2)}


# --- areas ---------------------------------------------------------------------------------------


@st.composite
def boxes(draw: st.DrawFn) -> Region:
    """Draw a box whose corners lie on a grid of sixteenths, some of them outside the image."""
    edges = st.integers(-4, SIXTEENTHS + 4)
    x0, x1 = sorted((draw(edges), draw(edges)))
    y0, y1 = sorted((draw(edges), draw(edges)))
    flags = draw(st.sampled_from([(), (), ("ignore",)]))
    box = x0 / SIXTEENTHS, y0 / SIXTEENTHS, x1 / SIXTEENTHS, y1 / SIXTEENTHS
    return Region("door", box=box, flags=flags)


@given(st.lists(boxes(), max_size=6))
@settings(max_examples=60)
def test_areas_of_boxes_are_counted_cells(regions: list[Region]) -> None:
    cells = np.zeros((len(regions), SIXTEENTHS, SIXTEENTHS), bool)
    for cell, region in zip(cells, regions, strict=True):
        x0, y0, x1, y1 = (max(0, round(edge * SIXTEENTHS)) for edge in region.box)
        cell[y0:y1, x0:x1] = True
    ignored = np.array([region.ignore for region in regions], bool)
    union = (cells[~ignored].any(axis=0) & ~cells[ignored].any(axis=0)).mean()
    report = report_of(Annotation("a", regions=tuple(regions)))
    spread = Spread.of(cells.mean(axis=(1, 2)))
    assert report.region_area == spread
    assert (report.union_area is None) == bool(ignored.all())
    if report.union_area is not None:
        assert report.union_area.mean == pytest.approx(union, abs=1e-12)


def test_a_box_is_exact_beside_other_shapes() -> None:
    mask = np.zeros((40, 80), bool)
    mask[:20, :20] = True
    shapes = (
        Region("box", box=(0.0, 0.0, 1 / 3, 1 / 7)),
        Region("mask", kind="mask", mask=mask, box=(0, 0, 0.25, 0.5)),
        Region(
            "triangle", kind="polygon", box=(0, 0, 1, 1), mask=((0.0, 0.0, 1.0, 0.0, 0.0, 1.0),)
        ),
        Region("disc", kind="point", box=(0.25, 0.0, 0.75, 1.0), radius=250),
    )
    for shape, area in zip(shapes, (1 / 21, 1 / 8, 1 / 2, np.pi / 8), strict=True):
        one = report_of(Annotation("a", 1000, 500, regions=(shape, shapes[0])))
        assert one.region_area is not None
        found = {one.region_area.least, one.region_area.most}
        assert 1 / 21 in found
        assert min(abs(value - area) for value in found) < 0.01


def test_drawn_union_leaves_out_what_is_ignored() -> None:
    left = Region("a", kind="polygon", box=(0, 0, 0.5, 1), mask=((0, 0, 0.5, 0, 0.5, 1, 0, 1.0),))
    right = replace(left, box=(0.5, 0, 1, 1), mask=((0.5, 0, 1, 0, 1, 1, 0.5, 1.0),))
    whole, top = Region("b"), Region("c", box=(0, 0, 1, 0.5), flags=("ignore",))
    report = report_of(Annotation("a", 640, 480, regions=(left, right, whole, top)))
    assert report.union_area is not None
    assert report.union_area.mean == pytest.approx(0.5, abs=0.01)


def test_images_without_scored_regions_have_no_area() -> None:
    ignored = Annotation("b", regions=(Region("door", flags=("ignore",)),))
    report = report_of(Annotation("a"), ignored, labelled("c", "door"))
    assert report.union_area == Spread(1, 1, 1, 1, 1, 1)
    assert report.region_area == Spread(1, 1, 1, 1, 1, 1)
    assert report.empty == ("a",)


def test_a_spread_is_that_of_percentiles() -> None:
    values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0]
    lower, median, upper = np.percentile(values, [25, 50, 75]).tolist()
    assert Spread.of(values) == Spread(1.0, lower, median, upper, float(np.mean(values)), 9.0)
    assert Spread.of([]) is None


# --- files ---------------------------------------------------------------------------------------


def test_sizes_are_those_of_files_then_of_annotations(tmp_path: Path) -> None:
    files = {name: save(tmp_path / f"{name}.png", *size) for name, size in
             {"wide": (40, 10), "tall": (10, 30), "even": (8, 8)}.items()}  # fmt: skip
    named = [Annotation(name) for name in (*files, "none")]
    told = Annotation("told", width=100, height=60)
    for decode in (True, False):
        sizes = report_of(*named, told, files=files, decode=decode).sizes
        assert (sizes.portrait, sizes.landscape, sizes.square, sizes.unknown) == (1, 2, 1, 1)
        assert sizes.width is not None
        assert sizes.height is not None
        assert (sizes.width.least, sizes.width.median, sizes.width.most) == (8, 25, 100)
        assert (sizes.height.least, sizes.height.median, sizes.height.most) == (8, 20, 60)


def test_what_is_wrong_with_images(tmp_path: Path) -> None:
    files = {name: save(tmp_path / name) for name in ("good.png", "short.jpg", "other.png")}
    noise = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
    Image.fromarray(noise).save(files["short.jpg"], quality=95)
    files["short.jpg"].write_bytes(files["short.jpg"].read_bytes()[:-500])
    files["text.png"] = tmp_path / "text.png"
    files["text.png"].write_text("no image")
    files["folder.png"] = tmp_path / "folder.png"
    files["folder.png"].mkdir()
    files["gone.png"] = tmp_path / "gone.png"
    annotations = [Annotation(name, 30, 20) for name in files]
    annotations[2] = Annotation("other.png", 20, 30)
    full = report_of(*annotations, files=files)
    quick = report_of(*annotations, files=files, decode=False)
    assert full.missing == quick.missing == ("gone.png",)
    assert (full.decoded, quick.decoded) == (True, False)
    wrong = {problem.where: problem.what for problem in full.problems}
    bad = ["short.jpg", "other.png", "text.png", "folder.png"]
    assert list(wrong) == [f"image {name!r}" for name in bad]
    for name, what in zip(bad, wrong.values(), strict=True):
        assert str(files[name]) in what
    assert "20 x 30 pixels, the image has 30 x 20" in wrong["image 'other.png'"]
    # A header does not tell that the file ends too early.
    assert [problem.where for problem in quick.problems] == [f"image {n!r}" for n in bad[1:]]


def test_what_can_be_used(tmp_path: Path) -> None:
    files = {"a.png": save(tmp_path / "a.png"), "b.png": tmp_path / "b.png"}
    files["b.png"].write_text("no image")
    annotations = {name: Annotation(name) for name in ("a.png", "b.png", "c.png")}
    dataset = from_annotations("made", annotations, files)
    report = inspect_dataset(dataset)
    assert report.usable == ("a.png",)
    assert dataset.select(report.usable)[0].image().shape == (20, 30, 3)


@pytest.mark.parametrize("decode", [True, False])
def test_links_that_leave_the_folder_are_a_problem(tmp_path: Path, decode: bool) -> None:
    (tmp_path / "set").mkdir()
    save(tmp_path / "a.png")
    (tmp_path / "set" / "a.png").symlink_to(tmp_path / "a.png")
    files = {"a.png": tmp_path / "set" / "a.png"}
    dataset = from_annotations("made", {"a.png": Annotation("a.png")}, files, root=tmp_path / "set")
    (problem,) = inspect_dataset(dataset, decode=decode).problems
    assert "leaves the folder" in problem.what


def test_many_boxes_are_drawn() -> None:
    cells = [(i / 32, j / 32, (i + 1) / 32, (j + 1) / 32) for i in range(32) for j in range(16)]
    regions = tuple(Region("cell", box=box) for box in cells)
    report = report_of(Annotation("a.png", 256, 256, regions))
    assert len(cells) > 500
    assert report.union_area is not None
    assert report.union_area.mean == 0.5


def test_drawn_images_are_drawn_only_to_be_decoded() -> None:
    def refuse() -> Any:
        raise InputError("cannot be drawn")

    drawn = Sample("a", Annotation("a", 8, 4), load=lambda: np.zeros((4, 8, 3), np.uint8))
    bad = Sample("b", Annotation("b", 8, 4), load=refuse)
    dataset = Dataset("drawn", {"a": "", "b": ""}, {"a": drawn, "b": bad}.__getitem__)
    report = inspect_dataset(dataset)
    assert (report.missing, report.beside) == ((), ())
    assert report.problems == (Problem("image 'b'", "cannot be drawn"),)
    quick = inspect_dataset(dataset, decode=False)
    assert quick.problems == ()
    assert quick.sizes.landscape == report.sizes.landscape == 2


def test_masks_that_cannot_be_read_are_a_problem() -> None:
    def make(image_id: str) -> Sample:
        if image_id == "b":
            raise InputError("b_mask.png: no such image")
        return Sample(image_id, labelled(image_id, "door"))

    report = inspect_dataset(Dataset("masks", {"a": "", "b": ""}, make))
    assert report.problems == (Problem("image 'b'", "b_mask.png: no such image"),)
    assert (report.images, report.regions, report.missing) == (2, 1, ("a",))


def test_images_beside_them_are_listed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "masks").mkdir()
    named = {"x": save(tmp_path / "a" / "x.png"), "y": tmp_path / "b" / "y.png"}
    for name in ("a/z.png", "a/w.PNG", "masks/x.png"):
        save(tmp_path / name)
    (tmp_path / "a" / "notes.txt").write_text("")
    report = report_of(Annotation("x"), Annotation("y"), files=named)
    assert report.beside == (str(tmp_path / "a" / "w.PNG"), str(tmp_path / "a" / "z.png"))


def test_images_beside_them_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("x.png", "y.png"):
        save(Path(name))
    assert report_of(Annotation("x"), files={"x": Path("x.png")}).beside == ("y.png",)


# --- as a whole ----------------------------------------------------------------------------------


def test_to_dict_is_json(tmp_path: Path) -> None:
    skipped = (Problem("boxes.csv line 3", "image 'a' appears twice"),)
    church = labelled("a", "door", "door", "spire", styles=["Gothic"])
    other = labelled("b", "door", styles=["Gothic"])
    (tmp_path / "b.png").write_text("")
    report = report_of(
        church, other, files={"b": tmp_path / "b.png"}, taxonomy=PARTS, skipped=skipped
    )
    content = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert content == report.to_dict()
    assert content["skipped"] == [{"where": "boxes.csv line 3", "what": "image 'a' appears twice"}]
    assert content["problems"][0]["where"] == "image 'b'"
    assert content["labels"][0] == {
        "label": "door", "own": 3, "regions": 3, "images": 2, "share": 1.0
    }  # fmt: skip
    assert content["repeated"] == {"a": {"door": 2}}
    assert content["sometimes_missing"] == [
        {"style": "Gothic", "label": "spire", "present": 1, "absent": 1}
    ]
    assert content["per_image"]["most"] == 3
    assert content["sizes"]["width"] is None


def test_nothing_to_report() -> None:
    report = report_of(taxonomy=PARTS)
    assert (report.images, report.regions, report.per_image, report.region_area) == (
        0,
        0,
        None,
        None,
    )
    assert [row.images for row in report.labels] == [0] * len(PARTS)
    json.dumps(report.to_dict(), allow_nan=False)


def test_progress_is_told() -> None:
    told: list[tuple[int, int]] = []
    named = {name: labelled(name) for name in ("a", "b", "c")}
    inspect_dataset(
        from_annotations("mine", named, {}), progress=lambda done, total: told.append((done, total))
    )
    assert told == [(1, 3), (2, 3), (3, 3)]
