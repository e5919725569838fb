"""COCO's files: both ways of reading agree, with each other and with pycocotools."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import io
import json
import math
import mmap
import os
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pycocotools import mask as rle
from pycocotools.coco import COCO

from sightline.core import InputError
from sightline.detection.coco import coco_arrays
from sightline.detection.files import _json_columns as fast
from sightline.detection.files import _json_scan as scan
from sightline.detection.files.coco_json import (
    coco_detections,
    coco_ground_truth,
    read_coco_detections,
    read_coco_ground_truth,
)
from tests.detection.test_coco import columns, crowded, theirs

if TYPE_CHECKING:
    from collections.abc import Callable

    from sightline.detection.columns import Detections, GroundTruth

Row = dict[str, Any]


def as_text(content: bytes) -> Any:
    return np.frombuffer(content + b"\0", np.uint8).copy()


def plain(table: GroundTruth | Detections) -> dict[str, Any]:
    """Every column as bytes, so that -0.0 is not 0.0."""
    names = type(table).__dataclass_fields__
    values = {name: getattr(table, name) for name in names}
    return {
        name: (value.dtype.str, value.shape, value.tobytes())
        if isinstance(value, np.ndarray)
        else value
        for name, value in values.items()
    }


def outcome(content: bytes, kind: str) -> Any:
    """What a file gives: its columns or its error."""
    read = read_coco_detections if kind == "detections" else read_coco_ground_truth
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file.json")
        path.write_bytes(content)
        try:
            return plain(read(path))
        except InputError as error:
            return str(error).replace(folder, "")


def assert_both_ways(content: bytes, kind: str) -> Any:
    quick = outcome(content, kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast, "scan_detections", lambda text: None)
        patch.setattr(fast, "scan_ground_truth", lambda text: None)
        slow = outcome(content, kind)
    if isinstance(slow, str) or isinstance(quick, str):
        assert isinstance(slow, str)
        assert isinstance(quick, str)
        if "finite" not in slow:  # what is beyond the floats is inf to one, an integer to the other
            assert quick == slow
    assert quick == slow or "finite" in quick
    return quick


# --- both ways of reading ------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.floats(0, 1000).map(repr),
    st.floats(0, 1, width=32).map(repr),
    st.integers(0, 10**25).map(str),
    st.sampled_from(["0", "-0", "-0.0", "1E2", "1e-3", "2.50", "0.1e+1", "1e400", "5e-324"]),
    st.sampled_from(["01", "1.", ".5", "+1", "-", "1e", "NaN", "Infinity", "true", '"1"', "null"]),
    st.tuples(st.integers(0, 10**21), st.integers(-40, 20)).map(lambda t: f"{t[0]}e{t[1]}"),
    st.tuples(st.integers(0, 10**4), st.text("0123456789", min_size=1, max_size=30)).map(
        lambda t: f"{t[0]}.{t[1]}"
    ),
)  # fmt: skip
USUAL_NUMBERS = st.floats(0, 1000).map(repr)
IDS = st.one_of(st.integers(0, 3), st.integers(-(10**18), 10**18)).map(str)
ODD_IDS = st.sampled_from(["1.0", '"1"', "true", "null", "1e2", "01", str(2**63), str(-(2**63))])
BLANK = st.sampled_from(["", "", " ", "\n  ", "\t", "\r\n"])
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=5),
    st.sampled_from(['}, {"', "],", "\\", '"', "\x7f", "é", "\U0001f600", "\\u12"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def members(draw: st.DrawFn, fields: dict[str, st.SearchStrategy[str]], odd: bool) -> str:
    """One object as text: fields in any order, extra ones, blanks anywhere."""
    there = [name for name in fields if not odd or draw(st.integers(0, 30))]
    parts = [(name, draw(fields[name])) for name in there]
    extra = draw(st.lists(st.sampled_from(["note", "segmentation", "id2", "scor"]), max_size=2))
    ascii_only = draw(st.booleans())
    parts += [(name, json.dumps(draw(VALUES), ensure_ascii=ascii_only)) for name in extra]
    if odd and draw(st.integers(0, 10)) == 0:
        parts.append(draw(st.sampled_from(parts)) if parts else ("x", "1"))
    if odd and draw(st.integers(0, 20)) == 0:
        parts.append(("ima\\u0067e_id", "3"))
    parts = draw(st.permutations(parts))
    blank = [draw(BLANK) for _ in range(4)]
    inner = f"{blank[0]},{blank[1]}".join(f'"{name}"{blank[2]}:{blank[3]}{v}' for name, v in parts)
    return f"{{{blank[1]}{inner}{blank[3]}}}"


@st.composite
def boxes(draw: st.DrawFn, numbers: st.SearchStrategy[str], odd: bool) -> str:
    count = 4 if not odd else draw(st.sampled_from([4] * 12 + [3, 5, 0]))
    return f"[{draw(BLANK)}" + f"{draw(BLANK)},".join(draw(numbers) for _ in range(count)) + "]"


@st.composite
def files(draw: st.DrawFn, kind: str) -> bytes:
    """The bytes of a file, often quite usual, sometimes broken."""
    odd = draw(st.booleans())
    numbers = st.one_of(USUAL_NUMBERS, NUMBERS) if odd else USUAL_NUMBERS
    ids = st.one_of(IDS, IDS, IDS, ODD_IDS) if odd else IDS
    fields = {"image_id": ids, "category_id": ids, "bbox": boxes(numbers, odd)}
    if kind == "detections":
        rows = draw(st.lists(members(fields | {"score": numbers}, odd), max_size=4))
        text = f"{draw(BLANK)}[{draw(BLANK)}{','.join(rows)}]{draw(BLANK)}"
    else:
        small = st.integers(0, 2).map(str)
        fields |= {"id": st.integers(-99, 999).map(str), "image_id": small, "category_id": small}
        fields |= {"area": numbers, "iscrowd": st.sampled_from(["0", "1", "1", "true", "2"])}
        rows = draw(st.lists(members(fields, odd), max_size=4))
        lists = {
            "annotations": f"[{','.join(rows)}]",
            "images": '[{"id": 0}, {"file_name": "a", "id": 1}, {"id": 2, "width": 3}]',
            "categories": '[{"id": 0, "name": "Kät"}, {"id": 1}, {"id": 2, "name": "b\\u00e9"}]',
            "info": json.dumps(draw(VALUES)),
        }
        order = draw(st.permutations(list(lists)))[: draw(st.sampled_from([4, 4, 4, 3]))]
        text = "{" + ",".join(f'"{name}":{draw(BLANK)}{lists[name]}' for name in order) + "}"
    content = bytearray(text.encode())
    if draw(st.integers(0, 3)) == 0 and content:
        place = draw(st.integers(0, len(content) - 1))
        content[place : place + draw(st.integers(0, 2))] = draw(
            st.sampled_from([b"", b",", b"}", b"]", b'"', b"\\", b"\0", b"\xff", b"{", b"-", b"9"])
        )
    return bytes(content)


@given(files("detections"))
@settings(max_examples=400, deadline=None)
def test_any_detections_both_ways(content: bytes) -> None:
    assert_both_ways(content, "detections")


@given(files("ground truth"))
@settings(max_examples=400, deadline=None)
def test_any_ground_truth_both_ways(content: bytes) -> None:
    assert_both_ways(content, "ground truth")


def scanned(numbers: list[str]) -> Any:
    rows = ",".join(
        f'{{"image_id":1,"category_id":1,"bbox":[0,0,0,0],"score":{number}}}' for number in numbers
    )
    found = fast.scan_detections(as_text(f"[{rows}]".encode()))
    return None if found is None else found.numbers["score"]


HALFWAY = st.tuples(st.integers(2**52, 2**53 - 1), st.sampled_from([-1, 0, 1])).map(
    lambda t: str(4 * t[0] + 2 + t[1])  # the middle of two floats, and beside it
)


def scaled(whole: Any, power: int) -> str:
    return f"{whole}e{power}"


@given(
    st.lists(
        st.one_of(
            st.floats(allow_nan=False, allow_infinity=False).map(repr),
            st.floats(0, 1).map(repr),
            st.floats(0, 1, width=32).map(repr),
            HALFWAY,
            st.builds(scaled, HALFWAY, st.integers(-40, 40)),
            st.builds(scaled, st.integers(0, 2**64 - 1), st.integers(-70, 70)),
            st.tuples(st.integers(0, 99), st.integers(0, 30), st.integers(0, 10**22)).map(
                lambda t: f"-{t[0]}.{'0' * t[1]}{t[2]}"
            ),
        ),
        max_size=30,
    )
)
@settings(max_examples=500, deadline=None)
def test_numbers_are_those_of_python(numbers: list[str]) -> None:
    expected = np.array([float(number) for number in numbers])
    assert scanned(numbers).tobytes() == expected.tobytes()


@given(st.lists(st.tuples(st.integers(2**51, 2**53 - 1), st.integers(1, 2)), min_size=1))
def test_the_middle_of_two_floats_goes_to_the_even_one(parts: list[tuple[int, int]]) -> None:
    """A half, or a quarter, beside a number that has no bit left for it."""
    numbers = [
        f"{whole}.5" if whole >= 2**52 else f"{whole}.{25 if half == 1 else 75}"
        for whole, half in parts
    ]
    expected = np.array([float(number) for number in numbers])
    assert scanned(numbers).tobytes() == expected.tobytes()


def test_minus_zero_is_that_of_python() -> None:
    texts = ["-0", "-0.0", "-0e0", "0", "-0E400", "-0.00000000000000000000000"]
    expected = np.array([json.loads(text) for text in texts], np.float64)
    assert scanned(texts).tobytes() == expected.tobytes()


def test_many_numbers_that_only_python_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "MOST_LEFT", 3)
    numbers = [f"0.{digit}{'123456789' * 3}" for digit in range(4)]
    assert scanned(numbers[:3]).tolist() == [float(number) for number in numbers[:3]]
    assert scanned(numbers) is None
    row = '{{"image_id":1,"category_id":1,"bbox":[0,0,1,1],"score":{}}}'
    content = f"[{','.join(map(row.format, numbers))}]".encode()
    assert np.frombuffer(outcome(content, "detections")["score"][2]).tolist() == list(
        map(float, numbers)
    )


def test_most_numbers_do_not_need_python() -> None:
    rng = np.random.default_rng(0)
    values = (rng.random(5000) * 10.0 ** rng.integers(-8, 4, 5000)).tolist()
    values += rng.random(5000).astype(np.float32).tolist()
    rows = [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 0, 0], "score": v} for v in values]
    text, table = as_text(json.dumps(rows).encode()), fast.DETECTIONS
    ints, out = np.empty((2, len(rows)), np.int64), np.empty((len(rows), 5))
    left = np.zeros((len(rows) + 1, 4), np.int64)
    ended, count, _ = scan.scan_records(
        text.ctypes.data, 1, len(text), table.names, table.rows, ints, out, left
    )
    assert (ended, count) == (scan.CLOSED, len(rows))
    assert left[0, 0] == 0
    np.testing.assert_array_equal(out[:, 4], values)


def test_usual_files_are_read_in_the_fast_way() -> None:
    row = {"image_id": 1, "category_id": -2, "bbox": [1, 2.5, 3, 4e0], "score": 0.5}
    more: Row = {
        "segmentation": {"size": [4, 4], "counts": 'a\\b"c'},
        "note": ["é", [], {}, None, [True, {"a": 1}]],
    }
    for options in ({}, {"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False}):
        text = json.dumps([row, row | more, more | row], **options).encode()
        found = fast.scan_detections(as_text(text))
        assert found is not None
        assert found.ints["category_id"].tolist() == [-2] * 3
        assert found.numbers["bbox"].tolist() == [[1, 2.5, 3, 4]] * 3
    assert fast.scan_detections(as_text(b" [ ] \n")) is not None
    truth = {"info": {}, "images": [{"id": 1}], "annotations": [], "categories": []}
    assert fast.scan_ground_truth(as_text(json.dumps(truth).encode())) is not None


def test_a_field_that_is_there_twice_is_read_as_python_does() -> None:
    long, short = "0." + "123456789" * 4, "0.25"
    row = f'{{"image_id":1,"category_id":1,"bbox":[0,0,1,1],"score":{long},"score":{short}}}'
    assert fast.scan_detections(as_text(f"[{row}]".encode())) is None
    found = assert_both_ways(f"[{row}]".encode(), "detections")
    assert np.frombuffer(found["score"][2]).tolist() == [0.25]


def at_the_edge(room: mmap.mmap) -> Callable[[bytes], Any]:
    """Return what puts a text right before a page that must not be read."""
    page, last = mmap.PAGESIZE, len(room) - mmap.PAGESIZE
    address = ctypes.addressof(ctypes.c_char.from_buffer(room)) + last
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), page, 0) == 0
    places = np.frombuffer(room, np.uint8)[:last]

    def put(content: bytes) -> Any:
        text = places[last - len(content) - 1 :]
        text[:] = np.frombuffer(content + b"\0", np.uint8)
        return text

    return put


@pytest.mark.skipif(sys.platform == "win32", reason="memory is guarded in another way")
@pytest.mark.parametrize("threads", [1, 3])
def test_nothing_beyond_the_text_is_read(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "threads_for", lambda asked, work, least: threads)
    put = at_the_edge(mmap.mmap(-1, 2 * mmap.PAGESIZE))
    more: Row = {"note": ['\\ " é', [[], {}, -1.5e-7, True, False, None]], "s": {"bbox": [1]}}
    row = TRUE | {"bbox": [0.1234567890123456789, 1e-5, 10**30, 4]} | more
    dts = json.dumps([GOOD | more, more | GOOD]).encode()
    gts = json.dumps({"info": more, **truth_file([row])}).encode()
    for content, read in ((dts, fast.scan_detections), (gts, fast.scan_ground_truth)):
        whole: Any = read
        assert whole(put(content)) is not None
        assert all(whole(put(content[:end])) is None for end in range(1, len(content)))


@pytest.mark.parametrize("parts", [1, 2, 5, 40])
@pytest.mark.parametrize("note", ["", '}, {"image_id": 3', "}\n,{"])
def test_parts_of_a_file_at_once(parts: int, note: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, rows = crowded(1)
    content = json.dumps([row | {"note": [note, {"a": [{}, {}]}]} for row in rows[:300]]).encode()
    monkeypatch.setattr(fast, "threads_for", lambda asked, work, least: parts)
    found = fast.scan_detections(as_text(content))
    assert found is not None
    np.testing.assert_array_equal(found.numbers["bbox"], [row["bbox"] for row in rows[:300]])
    np.testing.assert_array_equal(found.ints["image_id"], [row["image_id"] for row in rows[:300]])
    assert fast.scan_detections(as_text(content[:-1])) is None
    assert fast.scan_detections(as_text(content + b"]")) is None


def test_nesting_that_is_too_deep_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text('[{"a": ' + "[" * 200_000 + "]" * 200_000 + "}]")
    with pytest.raises(InputError, match=r"deep.json: must be JSON; it is nested too deep"):
        read_coco_detections(path)


# --- with pycocotools ----------------------------------------------------------------------------


def write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


def truth_file(gts: list[Row], **more: Any) -> Row:
    return {
        "images": [{"id": i, "width": 40, "height": 30} for i in (40, 1, 2, 5)],
        "categories": [{"id": k, "name": f"class {k}"} for k in (4, 1, 3)],
        "annotations": gts,
        **more,
    }


@pytest.mark.compiles
def test_from_files_to_figures(tmp_path: Path) -> None:
    gts, dts = crowded(3)
    truth = read_coco_ground_truth(write(tmp_path / "gt.json", truth_file(gts)))
    found = read_coco_detections(str(write(tmp_path / "dt.json", dts)), truth)
    built = columns(gts, dts)
    assert plain(truth) | {"names": {}} == plain(built[0])
    assert plain(found) == plain(built[1])
    assert truth.names == {1: "class 1", 3: "class 3", 4: "class 4"}
    evaluation = theirs(gts, dts)
    np.testing.assert_array_equal(coco_arrays(truth, found).precision, evaluation.eval["precision"])
    assert plain(coco_ground_truth(truth_file(gts))) == plain(truth)
    assert plain(coco_detections(dts, truth)) == plain(found)


def theirs_read(content: Row, found: list[Row], tmp_path: Path) -> tuple[COCO, COCO]:
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO(str(write(tmp_path / "gt.json", content)))
        return truth, truth.loadRes(str(write(tmp_path / "dt.json", found)))


def picture_runs(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return rle.encode(np.asfortranarray((rng.random((30, 40)) < 0.3).astype(np.uint8)))


def text_runs(seed: int) -> Row:
    runs = picture_runs(seed)
    return {"size": runs["size"], "counts": runs["counts"].decode()}


SEGMENTATIONS: list[Any] = [
    [[1, 1, 20.5, 2, 15, 25.25], [30, 3, 38, 3, 38, 9, 30, 9]],
    [[0.5, 0.5, 60, 0.5, 60, 60]],
    {"size": [30, 40], "counts": [10, 50, 600, 40, 500]},
    {"size": [30, 40], "counts": [1200]},
    text_runs(0),
]


def test_masks_of_ground_truth_are_those_of_pycocotools(tmp_path: Path) -> None:
    gts = [
        {"id": n, "image_id": 2, "category_id": 1, "bbox": [0, 0, 3, 3], "area": 5.5,
         "iscrowd": int(isinstance(runs, dict)), "segmentation": runs}
        for n, runs in enumerate(SEGMENTATIONS, 1)
    ]  # fmt: skip
    reference, _ = theirs_read(truth_file(gts), [GOOD], tmp_path)
    truth = read_coco_ground_truth(tmp_path / "gt.json", masks=True)
    assert truth.masks is not None
    for mine, number in zip(truth.masks, truth.ids.tolist(), strict=True):
        expected = reference.annToRLE(reference.anns[number])
        assert mine["size"] == expected["size"]
        counts = expected["counts"]
        assert mine["counts"] == (counts.encode() if isinstance(counts, str) else counts)
    assert read_coco_ground_truth(tmp_path / "gt.json").masks is None
    for row in gts:
        del row["area"], row["bbox"]
    bare = coco_ground_truth(truth_file(gts), masks=True)
    np.testing.assert_array_equal(bare.area, rle.area(list(truth.masks)))
    np.testing.assert_array_equal(bare.box, rle.toBbox(list(truth.masks)))
    np.testing.assert_array_equal(coco_ground_truth(truth_file(gts)).box, bare.box)


@pytest.mark.parametrize("boxes", ["none", "all", "later", "empty"])
@pytest.mark.parametrize("masks", [False, True])
def test_detections_with_masks_are_those_of_pycocotools(
    boxes: str, masks: bool, tmp_path: Path
) -> None:
    dts: list[Row] = [
        {"image_id": 2, "category_id": 1, "score": 0.5, "segmentation": text_runs(n)}
        for n in range(4)
    ]
    for n, row in enumerate(dts):
        if boxes == "all" or (boxes == "later" and n > 1):
            row["bbox"] = [1, 2, 3.5, 4]
        if boxes == "empty":
            row["bbox"] = []
    given = copy.deepcopy(dts)
    found = coco_detections(dts, masks=masks)
    assert dts == given
    kept = [{k: v for k, v in row.items() if v != []} for row in dts]
    _, reference = theirs_read(truth_file([]), kept, tmp_path)
    expected = [reference.anns[n] for n in range(1, 5)]
    np.testing.assert_array_equal(found.area, [row["area"] for row in expected])
    np.testing.assert_array_equal(found.box, [row["bbox"] for row in expected])
    assert plain(read_coco_detections(tmp_path / "dt.json", masks=masks)) == plain(found)
    if masks:
        assert found.masks is not None
        assert [runs["counts"].decode() for runs in found.masks] == [
            row["segmentation"]["counts"] for row in dts
        ]
    else:
        assert found.masks is None


def test_parsed_content_may_hold_arrays_and_is_left_alone() -> None:
    rows = [
        {"image_id": np.int64(2), "category_id": np.int32(1), "score": np.float32(0.1),
         "bbox": np.array([1, 2, 3, 4], np.float32)},
        {"image_id": 2, "category_id": 1, "score": 1, "bbox": (1, 2, 3, 4)},
    ]  # fmt: skip
    found = coco_detections(tuple(rows))
    assert found.box.tolist() == [[1, 2, 3, 4]] * 2
    assert found.score.tolist() == [float(np.float32(0.1)), 1.0]
    assert isinstance(rows[0]["bbox"], np.ndarray)
    assert found.image.dtype == np.int64


def test_nothing_was_found_and_nothing_is_there(tmp_path: Path) -> None:
    assert len(read_coco_detections(write(tmp_path / "dt.json", []))) == 0
    for masks in (False, True):
        truth = read_coco_ground_truth(write(tmp_path / "gt.json", truth_file([])), masks=masks)
        assert len(truth) == 0
        assert truth.images is not None
        assert truth.images.tolist() == [1, 2, 5, 40]
    assert len(coco_detections([], masks=True)) == 0


def test_a_flag_may_be_true_and_an_area_may_be_left_out() -> None:
    row = {"id": 0, "image_id": 2, "category_id": 1, "bbox": [0, 0, 4, 5]}
    truth = coco_ground_truth(truth_file([row | {"iscrowd": True}, row | {"id": 1, "area": 3}]))
    assert truth.crowd.tolist() == [True, False]
    assert truth.area.tolist() == [20, 3]


# --- errors --------------------------------------------------------------------------------------

GOOD = {"image_id": 2, "category_id": 1, "bbox": [0, 0, 4, 5], "score": 0.5}
FOUND_ERRORS = [
    ({"image_id": 77}, r"record 1: image_id must be one of the 4 images of the .*; got 77"),
    ({"image_id": "2"}, r"record 1: image_id must be one of the 4 images of .*, …\); got '2'"),
    ({"image_id": 2.0}, r"record 1: image_id must be an integer; got 2.0"),
    ({"image_id": True}, r"record 1: image_id must be an integer; got true"),
    ({"image_id": 2**70}, r"record 1: image_id must be an integer of 64 bits; got 118059"),
    ({"category_id": None}, r"record 1: category_id must be an integer; got null"),
    ({"category_id": ...}, r"record 1: category_id is missing"),
    ({"bbox": [0, 0, -4, 5]}, r"record 1: bbox must have a width .* at least 0; got \[0.0"),
    ({"bbox": [0, 0, 4]}, r"record 1: bbox must be 4 finite numbers: x, y, .*; got \[0, 0, 4\]"),
    ({"bbox": [0, 0, 4, math.nan]}, r"record 1: bbox must be 4 .*; got \[0, 0, 4, nan\]"),
    ({"bbox": [0, 0, 4, True]}, r"record 1: bbox must be 4 finite"),
    ({"bbox": "0 0 4 5"}, r"record 1: bbox must be 4 finite numbers"),
    ({"bbox": ...}, r"record 1: bbox is missing, which the first record has"),
    ({"score": math.nan}, r"record 1: score must be a finite number; got nan"),
    ({"score": math.inf}, r"record 1: score must be a finite number; got inf"),
    ({"score": 10**400}, r"record 1: score must be a finite number; got 1000"),
    ({"score": "0.5"}, r"record 1: score must be a finite number; got '0.5'"),
    ({"score": False, "id": 9}, r"record 1 \(id 9\): score must be a finite number; got false"),
    ({"score": ...}, r"record 1: score is missing"),
]  # fmt: skip


def changed(row: Row, change: Row) -> Row:
    return {name: value for name, value in (row | change).items() if value is not ...}


@pytest.mark.parametrize(("change", "message"), FOUND_ERRORS)
def test_detections_that_do_not_fit(change: Row, message: str, tmp_path: Path) -> None:
    truth = coco_ground_truth(truth_file([]))
    path = write(tmp_path / "dt.json", [GOOD, changed(GOOD, change), GOOD])
    with pytest.raises(InputError, match=rf"dt\.json: {message}"):
        read_coco_detections(path, truth)


TRUE = {"id": 7, "image_id": 2, "category_id": 1, "bbox": [0, 0, 4, 5], "area": 9, "iscrowd": 0}
TRUTH_ERRORS = [
    ({"image_id": 77}, r"annotations\[1\] \(id 8\): image_id must be .* of the 4 images; got 77"),
    ({"category_id": 9}, r"annotations\[1\] \(id 8\): category_id must be .* 3 categories; got 9"),
    ({"id": 7}, r"annotations\[1\] \(id 7\): id must be .*; annotations\[0\] has it too"),
    ({"id": "8"}, r"annotations\[1\]: id must be an integer; got '8'"),
    ({"id": ...}, r"annotations\[1\]: id is missing"),
    ({"bbox": [0, 0, 4, -5]}, r"annotations\[1\] \(id 8\): bbox must have a width and a height of"),
    ({"bbox": None}, r"annotations\[1\] \(id 8\): bbox must be 4 finite numbers.*; got null"),
    ({"bbox": ...}, r"annotations\[1\] \(id 8\): bbox and segmentation are missing"),
    ({"area": -1}, r"annotations\[1\] \(id 8\): area must be finite and at least 0; got -1"),
    ({"area": math.nan}, r"annotations\[1\] \(id 8\): area must be a finite number; got nan"),
    ({"iscrowd": 2}, r"annotations\[1\] \(id 8\): iscrowd must be 0 or 1; got 2"),
    ({"iscrowd": "no"}, r"annotations\[1\] \(id 8\): iscrowd must be an integer; got 'no'"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), TRUTH_ERRORS)
def test_ground_truth_that_does_not_fit(change: Row, message: str, tmp_path: Path) -> None:
    rows = [TRUE, changed(TRUE | {"id": 8}, change)]
    path = write(tmp_path / "gt.json", truth_file(rows))
    with pytest.raises(InputError, match=rf"gt\.json: {message}"):
        read_coco_ground_truth(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"images": [{"id": 1}, {"id": 1}]}, r"images\[1\]: id must be different from .*; got 1"),
        ({"images": {}}, "'images' must be a list of objects; got an object"),
        ({"images": [3]}, r"images\[0\]: must be an object; got 3"),
        ({"images": [{}]}, r"images\[0\]: id is missing"),
        ({"categories": [{"id": 1}, {"id": 1}]}, r"categories\[1\]: id must be different"),
        ({"categories": [{"id": 1, "name": 5}]}, r"categories\[0\] .*: name must be text; got 5"),
        ({"categories": ...}, "categories is missing; expected lists of images, annotations and"),
        ({"annotations": None}, "'annotations' must be a list of objects; got null"),
    ],
)  # fmt: skip
def test_lists_that_do_not_fit(change: Row, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "gt.json", changed(truth_file([]), change))
    with pytest.raises(InputError, match=rf"gt\.json: {message}"):
        read_coco_ground_truth(path)


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        (None, "segmentation is missing"),
        ([], "segmentation must be polygons of at least 3 points"),
        ([[1, 2, 3, 4]], "segmentation must be polygons of at least 3 points"),
        ([[1, 2, 3, 4, 5, math.nan]], "segmentation must be polygons"),
        ([5], "segmentation must be polygons"),
        ([[0, 0, 1e9, 0, 1e9, 9]], "segmentation must be polygons within 1000000 pixels; got 1000"),
        ([[0, 0, 9, -2e6, 9, 9]], "segmentation must be polygons within 1000000 pixels; got 2000"),
        ("x", "segmentation must be polygons or run lengths; got str"),
        ({"counts": "1"}, "segmentation must have a size of height and width; got None"),
        ({"size": [3, -1], "counts": "1"}, "segmentation must have a size of height and width"),
        ({"size": [30, 40]}, "segmentation must have counts: run lengths"),
        ({"size": [30, 40], "counts": [7, 8]}, "counts that add up to 30 × 40 pixels; got 15"),
        ({"size": [30, 40], "counts": [-7, 1207]}, "must have counts: run lengths of at least 0"),
        ({"size": [0, 40], "counts": [0, 0]}, "must have a size of height and width; got \\[0, 40"),
        ({"size": [65536, 65536], "counts": "1"}, r"must have fewer than 2\^32 pixels; got 65536"),
        ({"size": [30, 40], "counts": "0T3"}, "counts that add up to 30 × 40 pixels; got 100"),
        ({"size": [30, 40], "counts": ""}, "counts that add up to 30 × 40 pixels; got 0"),
        ({"size": [30, 40], "counts": "0o"}, "counts as pycocotools writes them; got '0o'"),
        ({"size": [30, 40], "counts": "é"}, "must have counts as pycocotools writes them"),
    ],
)  # fmt: skip
def test_masks_that_do_not_fit(runs: Any, message: str) -> None:
    row = TRUE | {"segmentation": runs}
    with pytest.raises(InputError, match=rf"ground truth: annotations\[0\] \(id 7\): .*{message}"):
        coco_ground_truth(truth_file([row]), masks=True)


def test_polygons_need_sizes_and_known_images() -> None:
    row = TRUE | {"segmentation": [[1, 1, 9, 1, 9, 9]]}
    content = truth_file([row], images=[{"id": 2, "width": 40}])
    with pytest.raises(InputError, match=r"images\[0\] \(id 2\): height must be .*; got null"):
        coco_ground_truth(content, masks=True)
    with pytest.raises(InputError, match=r"image_id must be the id of one of the 4 images; got 3"):
        coco_ground_truth(truth_file([row | {"image_id": 3}]), masks=True)
    found = GOOD | {"segmentation": [[1, 1, 9, 1, 9, 9]]}
    with pytest.raises(InputError, match=r"record 0: segmentation must be run lengths: an object"):
        coco_detections([found], masks=True)
    with pytest.raises(InputError, match=r"record 0: segmentation is missing"):
        coco_detections([GOOD], masks=True)
    with pytest.raises(InputError, match=r"record 0: bbox and segmentation are missing"):
        coco_detections([changed(GOOD, {"bbox": ...})])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must be JSON; the file is empty"),
        (b"nothing", "must be JSON; Expecting value: line 1 column 1"),
        (b"[1, 2", "must be JSON; Expecting ',' delimiter"),
        (b"\xff\xfe\xfd", "must be JSON"),
        (b"[[1]]", r"record 0: must be an object; got \[1\]"),
        (b"5", "must be a list of objects; got int"),
        (
            b'{"annotations": []}',
            "must be a list of detections; got an .*looks like ground",
        ),
        (b"{}", "must be a list of detections; got an object$"),
    ],
)
def test_files_that_are_no_detections(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"a\.json: {message}"):
        read_coco_detections(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'[{"image_id": 1}]', "must be an object .*; got a list; it looks like detections"),
        (b"null", "must be an object with lists of images, annotations and categories; got null"),
        (b"{}", "images is missing"),
    ],
)  # fmt: skip
def test_files_that_are_no_ground_truth(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=rf"a\.json: {message}"):
        read_coco_ground_truth(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json: there is no such file"):
        read_coco_ground_truth(tmp_path / "none.json")
    with pytest.raises(InputError, match=r"must be a \.json file; it is a folder"):
        read_coco_detections(tmp_path)


@pytest.mark.parametrize("path", [None, 5, "a\0b"])
def test_paths_that_are_none(path: Any) -> None:
    with pytest.raises(InputError, match=r"path .* is not the name of a file: "):
        read_coco_detections(path)


@pytest.mark.skipif(sys.platform == "win32", reason="has no named pipes of this kind")
def test_a_path_may_be_that_of_a_pipe_or_bytes(tmp_path: Path) -> None:
    path = tmp_path / "Löcher.json"
    write(path, [GOOD] * 500)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(path.read_bytes(),))
    writer.start()
    found = read_coco_detections(pipe)
    writer.join()
    assert plain(found) == plain(read_coco_detections(os.fsencode(path)))  # type: ignore[arg-type]
    assert len(found) == 500


def test_files_with_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    for encoding in ("utf-8-sig", "utf-16"):
        path.write_text(json.dumps([GOOD]), encoding=encoding)
        assert read_coco_detections(path).image.tolist() == [2]
