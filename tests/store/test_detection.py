"""Results of an evaluation lie in a store whole or not at all, and the same bytes each time."""

from __future__ import annotations

import json
import math
import os
from hashlib import sha256
from importlib.metadata import version
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.core import InputError
from sightline.detection import calculate_ap, calculate_pr_data
from sightline.store import create_store, detection, open_store, write_whole
from sightline.store.detection import describe_source, detection_folder, write_detection
from sightline.store.detection_parts import DetectionParts, thin_curve
from sightline.store.lock import hold

if TYPE_CHECKING:
    from pathlib import Path


def _parts(value: float = 0.5, **more: Any) -> DetectionParts:
    frame = pd.DataFrame({"class": [1, 2], "name": ["cat", "owl"], "AP": [value, math.nan]})
    return DetectionParts({"protocol": "coco", "AP": value}, frame, **more)


def _files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def _about(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return found


# --- where ---------------------------------------------------------------------------------------


def test_a_new_folder_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "new"
    folder = write_detection(path, "mine", _parts())
    assert folder == path / "detection" / "mine"
    assert set(_files(folder)) == {"results.json", "classes.parquet"}
    assert {entry.name for entry in path.iterdir()} == {"lock", "detection"}
    create_store(path)  # a study may follow
    write_detection(path, "other", _parts())


def test_an_empty_folder_will_do_and_so_will_a_study(tmp_path: Path) -> None:
    write_detection(tmp_path, "a", _parts())
    store = create_store(tmp_path / "study")
    store.save_manifest({"sources": [], "chunks": []})
    before = store.manifest_path.read_bytes()
    write_detection(store.path, "a", _parts())
    assert store.manifest_path.read_bytes() == before
    assert open_store(store.path).tasks() == []


def test_a_study_that_runs_is_no_hindrance(tmp_path: Path) -> None:
    store = create_store(tmp_path / "s")
    with store.locked():
        write_detection(store.path, "a", _parts())


def test_a_folder_of_other_things_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").touch()
    with pytest.raises(InputError, match=r"must be empty, new or hold .*; holds thesis.doc"):
        write_detection(tmp_path, "a", _parts())
    with pytest.raises(InputError, match=r"thesis.doc: must be a folder for results, is a file"):
        write_detection(tmp_path / "thesis.doc", "a", _parts())
    with pytest.raises(InputError, match="results cannot be written there"):
        write_detection(tmp_path / "thesis.doc" / "below", "a", _parts())
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.doc"]


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "../a", "a b", "a~old", "ä", "a\n", "x" * 201, None, 3]
)
def test_names_that_could_lead_elsewhere_are_refused(tmp_path: Path, name: Any) -> None:
    with pytest.raises(InputError, match=r"name must be 1 to 200 letters.*; got"):
        write_detection(tmp_path / "s", name, _parts())
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("name", ["a", "...", ".a", "lock", "v1.2_x-y", "x" * 200])
def test_other_names_are_taken(tmp_path: Path, name: str) -> None:
    assert write_detection(tmp_path, name, _parts()) == detection_folder(tmp_path, name)


# --- whole or not at all -------------------------------------------------------------------------


def test_older_results_of_the_name_are_replaced_and_others_kept(tmp_path: Path) -> None:
    folder = write_detection(tmp_path, "a", _parts(0.1, images=pd.DataFrame({"image": [1]})))
    other = _files(write_detection(tmp_path, "b", _parts(0.2)))
    assert "images.parquet" in _files(folder)
    write_detection(tmp_path, "a", _parts(0.3))
    assert _about(folder)["results"]["AP"] == 0.3
    assert "images.parquet" not in _files(folder)
    assert _files(folder.parent / "b") == other
    assert sorted(one.name for one in folder.parent.iterdir()) == ["a", "b", "~lock"]


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("fails_at", [0, 1, "aside", "rename"])
def test_a_write_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int | str, old: bool
) -> None:
    target = detection_folder(tmp_path, "a")
    if old:
        write_detection(tmp_path, "a", _parts(0.1))
    before = _files(target) if old else None
    with monkeypatch.context() as patch:
        _break(patch, fails_at)
        if fails_at == "aside" and not old:
            return  # nothing is set aside
        with pytest.raises(InputError, match="results cannot be written there: full"):
            write_detection(tmp_path, "a", _parts(0.2))
    assert (_files(target) if target.exists() else None) == before
    left = {one.name for one in target.parent.iterdir()}
    assert left == ({"a", "~lock"} if old else {"~lock"})
    write_detection(tmp_path, "a", _parts(0.2))
    assert _about(target)["results"]["AP"] == 0.2


def _break(patch: pytest.MonkeyPatch, fails_at: int | str) -> None:
    """Let the disk be full at a file, or at a renaming."""
    from pathlib import Path

    if isinstance(fails_at, int):
        seen: list[Path] = []

        def whole(path: Path, content: bytes) -> None:
            seen.append(path)
            if len(seen) > fails_at:
                raise OSError("full")
            write_whole(path, content)

        patch.setattr(detection, "write_whole", whole)
        return
    rename, ending = Path.rename, "~old" if fails_at == "aside" else "/a"
    broken: list[Path] = []

    def renamed(self: Path, target: Path) -> Path:
        if str(target).endswith(ending) and not broken:
            broken.append(target)
            raise OSError("full")
        return rename(self, target)

    patch.setattr(Path, "rename", renamed)


def test_what_a_killed_writer_left_is_put_right(tmp_path: Path) -> None:
    folder = write_detection(tmp_path, "a", _parts(0.1))
    write_detection(tmp_path, "b", _parts(0.1))
    part = folder.with_name("a~123~part")
    part.mkdir()
    (part / "classes.parquet").touch()
    folder.rename(folder.with_name("a~old"))  # killed between the two steps
    (folder.parent / "b~old").mkdir()  # killed before it could clear up
    write_detection(tmp_path, "c", _parts())
    assert sorted(one.name for one in folder.parent.iterdir()) == ["a", "b", "c", "~lock"]
    assert _about(folder)["results"]["AP"] == 0.1


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    folder = write_detection(tmp_path, "a", _parts(0.1))
    with (
        hold(folder.parent / "~lock"),
        pytest.raises(InputError, match="is being written by process"),
    ):
        write_detection(tmp_path, "a", _parts(0.2))
    assert _about(folder)["results"]["AP"] == 0.1


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (DetectionParts({"AP": math.nan}, pd.DataFrame()), "must be values that JSON has"),
        (DetectionParts({"AP": object()}, pd.DataFrame()), "must be values that JSON has"),
        (DetectionParts({}, pd.DataFrame({"class": [1, "a"]})), "must fit into tables"),
    ],
)
def test_what_cannot_be_written_is_known_before_anything_is(
    tmp_path: Path, parts: DetectionParts, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        write_detection(tmp_path / "s", "a", parts)
    assert not (tmp_path / "s").exists()


# --- what ----------------------------------------------------------------------------------------


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    curves = calculate_pr_data([(0.9, True, 1), (0.5, False, 1)], {1: 2, 2: 0})
    first, second = (
        _files(write_detection(tmp_path / where, "a", _parts(curves=curves))) for where in "xy"
    )
    assert first == second


def test_results_json_tells_of_its_files_and_sources(tmp_path: Path) -> None:
    source = tmp_path / "truth.json"
    source.write_bytes(b"{}")
    sources = {"ground_truth": describe_source(source)}
    folder = write_detection(tmp_path / "s", "a", _parts(), sources=sources)
    about = _about(folder)
    assert about["format"] == 1
    assert about["name"] == "a"
    assert about["sightline"] == version("sightline")
    digest = sha256(b"{}").hexdigest()
    assert about["sources"]["ground_truth"] == {"name": "truth.json", "bytes": 2, "sha256": digest}
    content = (folder / "classes.parquet").read_bytes()
    assert about["files"] == {
        "classes.parquet": {"lines": 2, "sha256": sha256(content).hexdigest()}
    }


def test_the_digest_of_a_folder_is_that_of_its_annotations(tmp_path: Path) -> None:
    for name in ("a.txt", "sub/b.XML", "c.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    first = describe_source(tmp_path)
    assert first["files"] == 2
    (tmp_path / "c.jpg").write_text("other")
    assert describe_source(tmp_path) == first
    (tmp_path / "a.txt").write_text("other")
    assert describe_source(tmp_path)["sha256"] != first["sha256"]
    (tmp_path / "a.txt").write_text("a.txt")
    (tmp_path / "a.txt").rename(tmp_path / "b.txt")
    assert describe_source(tmp_path)["sha256"] != first["sha256"]
    with pytest.raises(InputError, match="must be a file or a folder that can be read"):
        describe_source(tmp_path / "gone")
    os.mkfifo(tmp_path / "pipe.json")  # which nobody writes to
    with pytest.raises(InputError, match="is not a plain file"):
        describe_source(tmp_path / "pipe.json")


def test_long_curves_are_thinned_and_short_ones_kept(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    scores = np.sort(rng.random(5000))[::-1]
    hits = rng.random(5000) < scores
    rows = [(s, bool(h), 7) for s, h in zip(scores.tolist(), hits, strict=True)]
    curves = calculate_pr_data([*rows, (0.9, True, 8), (0.5, False, 8)], {7: 4000, 8: 2, 9: 0})
    folder = write_detection(tmp_path, "a", _parts(curves=curves))
    table = pq.read_table(folder / "curves.parquet").to_pandas()
    assert list(table) == ["class", "kind", "iou", "recall", "precision", "confidence"]
    long = table[table["class"] == 7]
    assert len(long) == 1000
    ap = calculate_ap(long["precision"].to_numpy(), long["recall"].to_numpy())
    assert ap == pytest.approx(calculate_ap(curves[7]["precision"], curves[7]["recall"]), abs=2e-3)
    assert table[table["class"] == 8]["confidence"].tolist() == [0.9, 0.5]
    assert _about(folder)["curves"] == {
        "iou": 0.5,
        "classes": [
            {"class": 7, "ground_truths": 4000, "detections": 5000},
            {"class": 8, "ground_truths": 2, "detections": 2},
            {"class": 9, "ground_truths": 0, "detections": 0},
        ],
    }


# --- thinning ------------------------------------------------------------------------------------


@st.composite
def _hits(draw: st.DrawFn) -> tuple[Any, Any]:
    """Recall and precision of a class."""
    hits = np.array(draw(st.lists(st.booleans(), min_size=1, max_size=80)))
    found = np.cumsum(hits)
    return found / max(int(hits.sum()), 1), found / np.arange(1, len(hits) + 1)


@given(_hits(), st.integers(2, 90))
def test_thinning_keeps_ends_and_order_and_no_more_than_asked(curve: Any, most: int) -> None:
    recall, precision = curve
    kept = thin_curve(recall, precision, most)
    assert len(kept) <= max(most, 2)
    assert (np.diff(kept) > 0).all()
    assert kept[0] == 0
    assert kept[-1] == len(recall) - 1
    if len(recall) <= most:
        assert len(kept) == len(recall)


def _furthest(x: Any, y: Any, kept: Any) -> float:
    """Return how far a point lies from the lines between those kept, by slow steps."""
    worst = 0.0
    for start, end in pairwise(kept):
        a, b = np.array([x[start], y[start]]), np.array([x[end], y[end]])
        for i in range(start + 1, end):
            p = np.array([x[i], y[i]])
            length = float((b - a) @ (b - a))
            t = min(max(float((p - a) @ (b - a)) / length, 0), 1) if length else 0.0
            worst = max(worst, float(np.linalg.norm(p - a - t * (b - a))))
    return worst


@given(_hits(), st.integers(2, 30))
def test_points_left_out_lie_on_the_lines_or_the_limit_is_reached(curve: Any, most: int) -> None:
    recall, precision = curve
    kept = thin_curve(recall, precision, most)
    if len(kept) < min(most, len(recall)):
        assert _furthest(recall, precision, kept) < 1e-11


def test_the_furthest_point_is_kept_first() -> None:
    x = np.linspace(0, 1, 50)
    y = np.where(np.arange(50) == 20, 0.0, 1.0)
    assert thin_curve(x, y, 3).tolist() == [0, 20, 49]
    assert thin_curve(x, y, 40).tolist() == [0, 19, 20, 21, 49]
    beyond = thin_curve([0, 0, 0, 0], [0.2, 1, 0.5, 0.5], 3)
    assert beyond.tolist() == [0, 1, 3]


def test_a_curve_without_recall_is_thinned_by_its_place() -> None:
    nothing = np.full(2000, np.nan)
    assert thin_curve(nothing, np.zeros(2000)).tolist() == [0, 1999]
    with pytest.raises(InputError, match="most must be at least 2; got 1"):
        thin_curve([0, 1], [0, 1], 1)
