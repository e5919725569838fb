"""Results that name images by files and number classes in their own way, as Ultralytics writes."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sightline.core import InputError
from sightline.data import load_dataset
from sightline.detection import (
    DetectionResults,
    GroundTruth,
    Picture,
    as_detections,
    as_ground_truth,
    as_tables,
    evaluate_detections,
)
from sightline.detection.files import _result_ids
from sightline.detection.files.coco_json import read_coco_detections, read_coco_ground_truth
from tests.cli.small import error, run

Row = dict[str, Any]
STEMS = ["000009", "000025", "c0", "c1", "d.e"]
SIZE = (80, 60)


def _coco91() -> list[int]:
    """Return COCO's ids of YOLO's 80 classes."""
    return [n for n in range(1, 91) if n not in (12, 26, 29, 30, 45, 66, 68, 69, 71, 83)]


def _ultralytics_id(stem: str) -> int | str:
    return int(stem) if stem.isnumeric() else stem


def _write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A YOLO data set of three classes, predictions of it, and both as COCO's files."""
    root = tmp_path_factory.mktemp("yolo")
    rng = np.random.default_rng(0)
    (root / "labels").mkdir()
    (root / "data.yaml").write_text("names: [x, y, z]")
    for stem in STEMS:
        boxes = np.hstack([rng.uniform(0.3, 0.7, (6, 2)), rng.uniform(0.1, 0.5, (6, 2))])
        lines = [f"{n % 3} {' '.join(map(str, box))}" for n, box in enumerate(boxes.tolist())]
        (root / "labels" / f"{stem}.txt").write_text("\n".join(lines))
    truth = as_ground_truth(root, image_sizes=SIZE)
    found, objects = [], []
    for n, (image, label) in enumerate(
        zip(truth.image.tolist(), truth.label.tolist(), strict=True)
    ):
        box = truth.box[n].tolist()
        ids = {"image_id": STEMS.index(image) + 1, "category_id": label, "bbox": box}
        objects.append({"id": n + 1, **ids, "area": box[2] * box[3], "iscrowd": 0})
        for _ in range(3):
            moved = (truth.box[n] + rng.normal(0, 2, 4)).tolist()
            ids = {"image_id": _ultralytics_id(image), "file_name": f"{image}.jpg"}
            score = round(float(rng.random()), 3)
            found.append({**ids, "category_id": label, "bbox": moved, "score": score})
    content = {
        "images": [{"id": n, "file_name": f"{stem}.jpg"} for n, stem in enumerate(STEMS, 1)],
        "categories": [{"id": n, "name": name} for n, name in enumerate("xyz")],
        "annotations": objects,
    }
    _write(root / "gt.json", content)
    _write(root / "predictions.json", found)
    numbers = {_ultralytics_id(stem): n for n, stem in enumerate(STEMS, 1)}
    own = [{**row, "image_id": numbers[row["image_id"]]} for row in found]
    _write(root / "dt.json", own)
    return root


def _rows(folder: Path) -> list[Row]:
    rows: list[Row] = json.loads((folder / "predictions.json").read_text())
    return rows


SIZES = "--image-size", f"{SIZE[0]}x{SIZE[1]}"


@pytest.mark.compiles
def test_predictions_of_ultralytics_are_scored_as_the_same_in_coco(folder: Path) -> None:
    options = "--json", "--ci", "0.95", "--resamples", "200"
    expected = json.loads(run("detect", folder / "gt.json", folder / "dt.json", *options).stdout)
    assert expected["intervals"]
    assert 0.05 < expected["AP"] < 0.95
    for path in (folder, folder / "data.yaml"):
        content = run("detect", path, folder / "predictions.json", *SIZES, *options).stdout
        assert json.loads(content) == expected
    # The same names beside COCO's ground truth, whose ids are others.
    content = run("detect", folder / "gt.json", folder / "predictions.json", *options).stdout
    assert json.loads(content) == expected
    against = "--against", folder / "predictions.json", "--resamples", 100, "--json"
    content = run("detect", folder, folder / "predictions.json", *SIZES, *against).stdout
    assert {row["difference"] for row in json.loads(content)["against"]} <= {0, None}


@pytest.mark.parametrize("kept", [["000009", "000025"], ["c0", "c1"], STEMS])
def test_bytes_and_parsed_results_are_read_alike(
    folder: Path, kept: list[str], tmp_path: Path
) -> None:
    """Integers go the fast way, names the other; parsed results are lists of records."""
    truth = as_ground_truth(folder, image_sizes=SIZE)
    rows = [row for row in _rows(folder) if row["file_name"].removesuffix(".jpg") in kept]
    path = _write(tmp_path / "predictions.json", rows)
    for found in (read_coco_detections(path, truth), as_detections(rows, truth)):
        assert found.image.tolist() == [row["file_name"].removesuffix(".jpg") for row in rows]
        assert found.box.tolist() == [row["bbox"] for row in rows]
        assert found.label.tolist() == [row["category_id"] for row in rows]


# --- images --------------------------------------------------------------------------------------

GOOD = {"category_id": 0, "bbox": [0, 0, 4, 5], "score": 0.5}
FILES = {4: "val/007.jpg", 7: "val/b.png", 9: "c.jpg", 12: "d.e.jpg"}


def _truth(files: dict[Any, str]) -> Row:
    images = [{"id": n, "file_name": name} for n, name in files.items()]
    return {"images": images, "categories": [{"id": 0}], "annotations": []}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([4, 7, 9], [4, 7, 9]),
        ([7, 12], [7, 12]),  # 7 is also the stem of another image, but 12 is not
        ([7, "b", "c"], [4, 7, 9]),
        (["007", "b", "d.e"], [4, 7, 12]),
        (["val/007.jpg", "c.jpg"], [4, 9]),
        (["007.jpg", "b.png", "c.jpg"], [4, 7, 9]),
        ([], []),
    ],
)
def test_names_of_images(names: list[Any], expected: list[int], tmp_path: Path) -> None:
    rows = [{"image_id": name, **GOOD} for name in names]
    path = _write(tmp_path / "gt.json", _truth(FILES))
    for truth in (as_ground_truth(path), as_ground_truth(_truth(FILES))):
        assert as_detections(rows, truth).image.tolist() == expected


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ([4, 77], r"record 1: image_id must be one of the 4 images .* \(4, 7, 9, …\); got 77"),
        (
            ["b", "x"],
            r"record 1: image_id .* by id, by file name or by stem \('007', 7, 'b', …\); got 'x'",
        ),
        # One file names its images in one way: 9 would be an id, "b" a stem.
        ([9, "b", "c"], r"record 0: image_id must be one of the 4 images .*; got 9"),
        (["c.png"], r"record 0: image_id must be one of the 4 images .*; got 'c\.png'"),
        (["4"], r"record 0: image_id must be one of the 4 images .*; got '4'"),
        (["c", 1.5], r"record 1: image_id must be an integer or text; got 1\.5"),
        (["c", True], r"record 1: image_id must be an integer or text; got true"),
        (["c", None], r"record 1: image_id must be an integer or text; got null"),
        (["\ud800"], r"record 0: image_id must be an integer or text; got '\\ud800'"),
    ],
)
def test_names_that_are_unknown(names: list[Any], message: str) -> None:
    rows = [{"image_id": name, **GOOD} for name in names]
    with pytest.raises(InputError, match=message):
        as_detections(rows, as_ground_truth(_truth(FILES)))


@pytest.mark.parametrize(
    ("files", "name", "message"),
    [
        (["9.jpg", "000009.jpg"], 9, r"9 names 100 \('9\.jpg'\) and 101 \('000009\.jpg'\)"),
        (["a/x.jpg", "b/x.jpg"], "x", r"'x' names 100 \('a/x\.jpg'\) and 101 \('b/x\.jpg'\)"),
        (["a/x.jpg", "b/x.jpg"], "x.jpg", r"'x\.jpg' names 100 .* and 101"),
        (["x.jpg", "x.png"], "x", r"'x' names 100 \('x\.jpg'\) and 101 \('x\.png'\)"),
    ],
)
def test_names_of_two_images(files: list[str], name: Any, message: str) -> None:
    truth = as_ground_truth(_truth(dict(enumerate([*files, "other.jpg"], 100))))
    rows = [{"image_id": "other", **GOOD}, {"image_id": name, **GOOD}]
    rows = rows if not str(name).endswith(".jpg") else rows[1:]
    with pytest.raises(InputError, match=f"image_id must name one image .*; {message}"):
        as_detections(rows, truth)
    whole = [{"image_id": file, **GOOD} for file in files]
    assert as_detections(whole, truth).image.tolist() == [100, 101]


def test_two_numbers_of_one_value_in_a_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "labels").mkdir()
    for stem in ("9", "000009"):
        (tmp_path / "labels" / f"{stem}.txt").write_text("0 0.5 0.5 0.5 0.5")
    path = _write(tmp_path / "predictions.json", [{"image_id": 9, **GOOD}])
    told = error("detect", tmp_path, path, *SIZES)
    for part in ("predictions.json", "record 0", "9 names", "'000009'", "'9'"):
        assert part in told
    row = [{"image_id": "9", **GOOD}]
    assert as_tables(tmp_path, row, image_sizes=SIZE)[1].image.tolist() == ["9"]
    path = _write(tmp_path / "predictions.json", [{"image_id": "cO", **GOOD}])
    told = error("detect", folder, path, *SIZES)
    assert "image_id must be one of the 5 images" in told
    assert "got 'cO'" in told
    assert "'c0'" in told


def test_images_whose_endings_are_not_known() -> None:
    truth = GroundTruth.from_arrays([], [], [], images=["a", "b.c", "007"])
    rows = [{"image_id": name, **GOOD} for name in ("b.c.jpg", "a.png", "007.jpg")]
    assert as_detections(rows, truth).image.tolist() == ["b.c", "a", "007"]
    rows = [{"image_id": name, **GOOD} for name in ("b.c", 7)]
    assert as_detections(rows, truth).image.tolist() == ["b.c", "007"]
    with pytest.raises(InputError, match="got 'b'"):  # an image b.c is no file b
        as_detections([{"image_id": "b", **GOOD}], truth)


def test_names_without_a_ground_truth() -> None:
    assert as_detections([{"image_id": "a", **GOOD}]).image.tolist() == ["a"]
    rows = [{"image_id": "a", **GOOD}, {"image_id": 3, **GOOD}]
    with pytest.raises(InputError, match="record 1: image_id must be text, as in other records"):
        as_detections(rows)


@given(st.lists(st.sampled_from([0, 7, 12, 100, 4711]), unique=True, min_size=1))
def test_padded_numbers_are_found(numbers: list[int]) -> None:
    names = {1000 + n: f"{n:012}.jpg" for n in numbers}
    truth = as_ground_truth(_truth(names))
    found = as_detections([{"image_id": n, **GOOD} for n in numbers], truth)
    assert found.image.tolist() == [1000 + n for n in numbers]


# --- integers that are ids and stems -------------------------------------------------------------

NUMBERED = {0: "a/000009.jpg", 9: "a/000034.jpg", 25: "25.jpg", 34: "x.jpg", 7: "b/000007.jpg"}
EITHER = r"image_id 9 may be the id of image 9 \('a/000034\.jpg'\) or the stem of image 0 \('a/0000"


def _read_in_every_way(files: dict[Any, str], rows: list[Row], folder: Path) -> list[list[int]]:
    """Return the images of results by the fast reader of each side, and by Python's."""
    content = _truth(files)
    truths = as_ground_truth(_write(folder / "gt.json", content)), as_ground_truth(content)
    path = _write(folder / "dt.json", rows)
    return [
        as_detections(given, truth).image.tolist() for truth in truths for given in (path, rows)
    ]


def _rows_of(names: list[Any], files: list[Any] | None = None) -> list[Row]:
    rows = [{"image_id": name, **GOOD} for name in names]
    pairs = zip(rows, files or [None] * len(rows), strict=True)
    return [row if file is None else {**row, "file_name": file} for row, file in pairs]


@pytest.mark.parametrize(
    ("names", "files", "expected"),
    [
        ([9, 25], ["000009.jpg", "25.jpg"], [0, 25]),
        ([25, 9, 9], [None, "a/000009.png", "000009.jpg"], [25, 0, 0]),
        ([9, 34, 25], ["000009.jpg", "000034.jpg", None], [0, 9, 25]),
        ([9, 25], ["000034.jpg", None], [9, 25]),
        ([9, 34], ["000034.jpg", "x.jpg"], [9, 34]),
        ([9, 0], None, [9, 0]),  # 0 is not a stem
        ([9, 0], ["000009.jpg", "000009.jpg"], [9, 0]),
        ([7, 25], None, [7, 25]),  # the same image both ways
        ([7, 25], ["b.jpg", 3], [7, 25]),
        ([], None, []),
    ],
)
def test_the_names_of_files_tell_stems_from_ids(
    names: list[int], files: list[Any] | None, expected: list[int], tmp_path: Path
) -> None:
    assert _read_in_every_way(NUMBERED, _rows_of(names, files), tmp_path) == [expected] * 4


@pytest.mark.parametrize(
    ("names", "files", "message"),
    [
        ([9], None, r"record 0: " + EITHER + r"09\.jpg'\); write the file_name of its .* itself$"),
        ([7, 25, 9, 34], None, r"record 2: " + EITHER),
        ([9, 9], ["000009.jpg", None], r"record 1: " + EITHER),
        ([9, 9], ["000009.jpg", "000034.jpg"], EITHER + r".*; got file_name '000034\.jpg'"),
        (
            [9, 34],
            ["000009.jpg", "x.jpg"],
            r"record 1: image_id 34 may be .* got file_name 'x\.jpg'",
        ),
        ([9], ["y.jpg"], EITHER + r".*; got file_name 'y\.jpg'"),
        ([9], [3], EITHER),
    ],
)
def test_integers_that_are_ids_and_stems_are_refused(
    names: list[int], files: list[Any] | None, message: str, tmp_path: Path
) -> None:
    rows, content = _rows_of(names, files), _truth(NUMBERED)
    paths = _write(tmp_path / "gt.json", content), _write(tmp_path / "dt.json", rows)
    for truth in (paths[0], content):
        for results in (paths[1], rows):
            with pytest.raises(InputError, match=message):
                as_tables(truth, results)


def test_ids_of_coco_stay_ids(tmp_path: Path) -> None:
    own = {n: f"{n:012}.jpg" for n in (9, 25, 30)}
    assert _read_in_every_way(own, _rows_of([9, 30]), tmp_path) == [[9, 30]] * 4
    counted = dict(enumerate(own.values(), 1)) | {n: f"{n + 90:012}.jpg" for n in range(4, 40)}
    names = list(counted)
    assert _read_in_every_way(counted, _rows_of(names), tmp_path) == [names] * 4
    # As a stem, 9 names two images: results of stems would be refused.
    twice = {1: "a/9.jpg", 2: "b/9.jpg", 9: "c.jpg"}
    assert _read_in_every_way(twice, _rows_of([9]), tmp_path) == [[9]] * 4
    bare = GroundTruth.from_arrays([9], [0], [[0, 0, 4, 5]], images=[9, 25])
    assert as_detections(_rows_of([9]), bare).image.tolist() == [9]


def test_columns_with_files_are_ambiguous_too() -> None:
    pictures = {0: Picture("9.jpg"), 9: Picture("10.jpg")}
    truth = GroundTruth.from_arrays([9], [0], [[0, 0, 4, 5]], images=[0, 9], pictures=pictures)
    with pytest.raises(InputError, match="image_id 9 may be the id of image 9"):
        as_detections(_rows_of([9]), truth)


def test_files_of_images_are_not_parsed_for_ids(tmp_path: Path) -> None:
    truth = as_ground_truth(_write(tmp_path / "gt.json", _truth({9: "9.jpg", 25: "a/0025.png"})))
    assert as_detections(_rows_of([25, 9]), truth).image.tolist() == [25, 9]
    assert "_known" not in vars(truth.pictures)


@given(
    st.lists(
        st.text(st.sampled_from('019./\\"aé\n'), max_size=6)
        | st.from_regex(r"([ab/]{0,3})0{0,19}[0-9]{1,20}(\.jpg)?", fullmatch=True)
        | st.none()
        | st.integers(0, 99),
        min_size=1,
    ),
    st.sampled_from(["/", "\\/", "\\u002f"]),
)
def test_bytes_tell_the_stems_that_parsed_names_have(names: list[Any], slash: str) -> None:
    content = _truth(dict(enumerate(names)))
    text = json.dumps(content).replace("/", slash)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "gt.json")
        path.write_text(text)
        fast = _result_ids._number_stems(
            np.arange(len(names)), read_coco_ground_truth(path).pictures
        )
    slow = _result_ids._number_stems(np.arange(len(names)), as_ground_truth(content).pictures)
    assert fast.tolist() == slow.tolist()


# --- data sets -----------------------------------------------------------------------------------


def _draw_data_set(root: Path, config: str) -> list[Row]:
    """Write a data set of YOLO with images in folders; return results as Ultralytics has them."""
    rng = np.random.default_rng(1)
    (root / "data.yaml").write_text(config)
    rows: list[Row] = []
    for number, stem in enumerate(["000009", "000025", "west front", "a__b"]):
        for folder in ("images", "labels"):
            (root / folder / "train").mkdir(parents=True, exist_ok=True)
        Image.new("L", SIZE).save(root / "images" / "train" / f"{stem}.png")
        boxes = np.hstack([rng.uniform(0.3, 0.7, (6, 2)), rng.uniform(0.1, 0.5, (6, 2))])
        lines = [f"{n % 3} {' '.join(map(str, box))}" for n, box in enumerate(boxes.tolist())]
        (root / "labels" / "train" / f"{stem}.txt").write_text("\n".join(lines))
        corners = np.hstack([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, 2:]]) * np.tile(SIZE, 2)
        for n, box in enumerate((corners + rng.normal(0, 2, (6, 4))).tolist()):
            score = round(float(rng.random()), 3) + number / 1e4
            row = {"image_id": _ultralytics_id(stem), "category_id": n % 3, "bbox": box}
            rows.append({**row, "file_name": f"{stem}.png", "score": score})
    return rows


def _ends(results: DetectionResults) -> list[float]:
    return [end for one in results.intervals.values() for end in (one.low, one.high)]


@pytest.mark.parametrize("config", ["names: [x, y, z]", "names: {2: z, 0: x, 1: y, 7: zz}"])
def test_data_sets_of_yolo_are_named_as_their_files(config: str, tmp_path: Path) -> None:
    rows = _draw_data_set(tmp_path, config)
    truth = load_dataset("yolo", tmp_path)
    path = _write(tmp_path / "predictions.json", rows)
    expected = evaluate_detections(tmp_path, rows, ci=0.95, resamples=100)
    assert 0.05 < expected.figures["AP"] < 0.95
    shifted = [{**row, "category_id": row["category_id"] + 1} for row in rows]
    files = [{**row, "image_id": row["file_name"]} for row in rows]
    for results in (rows, path, shifted, files):
        result = evaluate_detections(truth, results, ci=0.95, resamples=100)
        assert result.figures == pytest.approx(expected.figures, nan_ok=True)
        assert _ends(result) == pytest.approx(_ends(expected), nan_ok=True)
    some = as_tables(truth.select(truth.ids[:1]), rows[:6])[1]
    assert some.label.tolist() == ["x", "y", "z"] * 2
    assert set(some.image.tolist()) == {"train__000009.png"}
    few = [{**row, "category_id": 1} for row in rows]
    assert set(as_tables(truth, few, category_ids="one")[1].label.tolist()) == {"x"}
    with pytest.raises(InputError, match="say which by category_ids"):
        as_tables(truth, few)
    with pytest.raises(InputError, match=r"by stem \(.*\); got 'south front'"):
        as_tables(truth, [{**rows[0], "image_id": "south front"}])


@pytest.mark.parametrize(("config", "options"), [("", {}), ("names: [x, y, z]", {"names": "zyx"})])
def test_data_sets_without_numbers_of_classes(config: str, options: Row, tmp_path: Path) -> None:
    rows = _draw_data_set(tmp_path, config)
    options = {name: list(value) for name, value in options.items()}
    message = "category_id is a number, but .*; as ground truth take the path of COCO's or YOLO's"
    with pytest.raises(InputError, match=message):
        as_tables(load_dataset("yolo", tmp_path, **options), rows)


def test_data_sets_of_coco_are_named_by_files(tmp_path: Path) -> None:
    rows = _draw_data_set(tmp_path, "names: [x, y, z]")
    images = [
        {"id": n, "file_name": name, "width": SIZE[0], "height": SIZE[1]}
        for n, name in enumerate(dict.fromkeys(row["file_name"] for row in rows))
    ]
    names = {image["file_name"]: image["id"] for image in images}
    objects = [
        {"id": n, "image_id": names[row["file_name"]], "category_id": 0, "bbox": row["bbox"]}
        for n, row in enumerate(rows)
    ]
    categories = [{"id": 0, "name": "x"}]
    content = {"images": images, "annotations": objects, "categories": categories}
    path = _write(tmp_path / "gt.json", content)
    truth = load_dataset("coco", path, images=tmp_path / "images" / "train")
    message = "category_id is a number, but .*; as ground truth take the path of COCO's or YOLO's"
    with pytest.raises(InputError, match=message):
        as_tables(truth, rows)
    table = as_ground_truth(truth)
    assert [Path(str(one.file)).name for one in table.pictures.values()] == list(names)


# --- classes -------------------------------------------------------------------------------------


def _labels(count: int | None) -> GroundTruth:
    """Return the ground truth of a YOLO folder of one image with the last of its classes."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        (root / "labels").mkdir()
        (root / "labels" / "a.txt").write_text(f"{(count or 3) - 1} 0.5 0.5 0.5 0.5")
        if count is not None:
            names = {n: f"class {n}" for n in range(count)}
            (root / "data.yaml").write_text(json.dumps({"names": names}))
        return as_ground_truth(root, image_sizes=SIZE)


def _found(numbers: list[int]) -> list[Row]:
    return [{**GOOD, "image_id": "a", "category_id": number} for number in numbers]


@pytest.mark.parametrize(
    ("count", "numbers", "expected"),
    [
        (3, [0, 1, 2], [0, 1, 2]),
        (3, [2, 0], [2, 0]),
        (3, [1, 2, 3], [0, 1, 2]),
        (3, [3], [2]),
        (1, [0], [0]),
        (1, [1, 1], [0, 0]),
        (80, [0, 79], [0, 79]),
        (80, [12, 80], [11, 79]),
        (80, [1, 13, 90], [0, 11, 79]),
        (None, [0, 5], [0, 5]),
        (3, [], []),
    ],
)
def test_the_numbering_that_fits_is_found(
    count: int | None, numbers: list[int], expected: list[int]
) -> None:
    assert as_detections(_found(numbers), _labels(count)).label.tolist() == expected


@pytest.mark.parametrize("numbers", [[1, 2], [1], [2, 2]])
@pytest.mark.parametrize("count", [3, None])
def test_numbers_that_fit_twice_need_an_answer(count: int | None, numbers: list[int]) -> None:
    truth = _labels(count)
    message = r"category_id \d to \d may number the classes as the labels \('zero'\), or from 1, .*"
    with pytest.raises(InputError, match=message + r"\('one'\).*by category_ids"):
        as_detections(_found(numbers), truth)
    found = as_detections(_found(numbers), truth, category_ids="zero")
    assert found.label.tolist() == numbers
    found = as_detections(_found(numbers), truth, category_ids="one")
    assert found.label.tolist() == [number - 1 for number in numbers]


def test_classes_with_the_ids_of_coco_are_numbered_as_they_are() -> None:
    """They are 80, as YOLO's classes of COCO, but not 0 to 79."""
    truth = replace(_labels(80), classes=np.array(_coco91()), label=np.array([1, 90]))
    assert as_detections(_found([1, 90]), truth).label.tolist() == [1, 90]
    with pytest.raises(InputError, match="category_id must be a class of the ground truth"):
        as_detections(_found(_coco91()), truth, category_ids="coco91")


def test_a_stem_of_thousands_of_digits_is_a_name() -> None:
    truth = replace(_labels(3), images=np.array(["9" * 5000]), image=np.array(["9" * 5000] * 3))
    with pytest.raises(InputError, match="image_id must be one of the 1 images"):
        as_detections(_found([0]), truth)


def test_coco_and_one_may_both_fit() -> None:
    truth = _labels(80)
    with pytest.raises(
        InputError, match=r"from 1, .* \('one'\), or by COCO's ids, .* \('coco91'\)"
    ):
        as_detections(_found([1, 80]), truth)
    found = as_detections(_found(_coco91()), truth, category_ids="coco91")
    assert found.label.tolist() == list(range(80))


@pytest.mark.parametrize(
    ("numbers", "category_ids", "message"),
    [
        (
            [0, 1, 7],
            None,
            r"record 2: category_id must be a class .*\(0 to 2 as .*; 1 to 3 .*got 7",
        ),
        ([0, 3], None, r"record 1: category_id must be a class .*got 3"),
        ([1, 2, 3, 4], None, r"record 3: category_id must be a class of .*; got 4"),
        ([-1], None, r"record 0: category_id must be a class of .*; got -1"),
        ([1, 0], "one", r"record 1: category_id must be a class .*\(1 to 3 from 1.*; got 0"),
        ([1, 3], "zero", r"record 1: category_id must be a class .*\(0 to 2 as the .*; got 3"),
        ([1], "two", r"category_ids must be one of zero, one, coco91; got 'two'"),
    ],
)
def test_classes_that_are_unknown(numbers: list[int], category_ids: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_detections(_found(numbers), _labels(3), category_ids=category_ids)


def test_other_ground_truths_have_ids_of_their_own(folder: Path, tmp_path: Path) -> None:
    message = "category_ids is for YOLO's labels"
    options = "--category-ids", "one"
    assert message in error("detect", folder / "gt.json", folder / "dt.json", *options)
    shifted = [{**row, "category_id": row["category_id"] + 1} for row in _rows(folder)]
    path = _write(tmp_path / "predictions.json", shifted)
    told = [
        json.loads(run("detect", folder, file, *SIZES, *options, "--json").stdout)
        for file, options in (
            (folder / "predictions.json", ()),
            (path, ()),
            (path, ("--category-ids", "one")),
        )
    ]
    assert told[0] == told[1] == told[2]
    with pytest.raises(InputError, match="category_ids is for COCO results; got 'one'"):
        as_tables(folder, folder, image_sizes=SIZE, category_ids="one")
    named = GroundTruth.from_arrays(["a"], ["cat"], [[0, 0, 4, 5]])
    with pytest.raises(InputError, match=r"record 0: category_id is a number, but .* as 'cat'"):
        as_detections([{"image_id": "a", **GOOD}], named)


def test_columns_with_names_of_images_keep_their_classes() -> None:
    """Classes of arrays are ids, also where images are text: nothing is numbered anew."""
    truth = GroundTruth.from_arrays(
        ["a"], [3], [[0, 0, 4, 5]], classes=[1, 2, 3], pictures={"a": Picture("a.jpg")}
    )
    found = [{**GOOD, "image_id": "a.jpg", "category_id": 3}]
    assert evaluate_detections(truth, found).figures["AR100"] == 1
