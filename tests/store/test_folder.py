"""The folder of a study: what may be one, and which shards belong to its manifest."""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from sightline.core import InputError
from sightline.results import open_results, results_digest
from sightline.store import Store, create_store, open_store, task_name
from sightline.store.checksums import save_json
from sightline.store.snapshot import list_shards, list_stored_tasks
from sightline.store.verify import verify_store
from sightline.study import forecast_study, run_study
from tests.study.executors.studies import given_study

_NAMES = ("model", "variant", "method", "group", "target", "seed", "check", "layers", "heads")
_SOURCE: dict[str, Any] = dict.fromkeys((*_NAMES, "rules"))
SOURCES: list[dict[str, Any]] = [{**_SOURCE, "key": "k1"}, {**_SOURCE, "key": "k2"}]
_CHECK: dict[str, Any] = {**_SOURCE, "key": "k3", "options": {}, "part": "parts"}
_EMPTY: dict[str, Any] = {"format": 2, "sources": [], "chunks": []}
CHUNKS: list[dict[str, Any]] = [{"images": 2, "digest": "d1"}, {"images": 1, "digest": "d2"}]
TASKS = [
    task_name("k1", 0, "d1"),
    task_name("k2", 0, "d1"),
    task_name("k1", 1, "d2"),
    task_name("k2", 1, "d2"),
]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = create_store(tmp_path / "s")
    made.save_manifest({"sources": SOURCES, "chunks": CHUNKS})
    return made


def test_a_name_is_the_chunk_and_a_hash_of_key_and_digest() -> None:
    expected = sha256(b"keydigest").hexdigest()[:16]
    assert task_name("key", 3, "digest") == f"000003-{expected}"
    names = [task_name(*parts) for parts in (("a", 0, "b"), ("b", 0, "b"), ("a", 0, "c"))]
    assert len(set(names)) == 3
    assert task_name("a", 1_234_567, "b").startswith("1234567-")


def test_making_a_store_twice_is_making_it_once(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "deep" / "s"
    store = create_store(path)
    store.score_file("a").touch()
    create_store(str(path))
    folders = {"scores", "region_scores", "checks", "maps"}
    assert {entry.name for entry in path.iterdir()} == {*folders, "cache", "lock"}
    assert {folder.name for folder in store.shard_folders} == folders
    assert store.done() == {"a"}


def test_a_file_is_no_place_for_a_store(tmp_path: Path) -> None:
    file = tmp_path / "s"
    file.write_text("mine")
    with pytest.raises(InputError, match=f"{file}: must be a folder for results, is a file"):
        create_store(file)
    with pytest.raises(InputError, match="must be the folder of a study's results, is a file"):
        open_store(file)
    with pytest.raises(InputError, match="results cannot be written there"):
        create_store(file / "below")
    assert file.read_text() == "mine"


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path) -> None:
    for name in ("thesis.tex", "figures", "a", "b"):
        (tmp_path / name).touch()
    with pytest.raises(InputError, match="new or hold the results of a study; holds a, "):
        create_store(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def test_an_empty_folder_may_become_a_store(tmp_path: Path) -> None:
    assert create_store(tmp_path).scores.is_dir()


def test_a_place_that_cannot_be_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(InputError, match=r"results cannot be written there: .*Permission denied"):
        create_store(tmp_path / "s")


def test_what_is_no_store_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder; `sightline run` makes one"):
        open_store(tmp_path / "none")
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "manifest.json").touch()
    with pytest.raises(
        InputError, match=f"{tmp_path}: no study is stored there.*; below it are first"
    ):
        open_store(tmp_path)


BAD = {
    "{": "must be JSON",
    "": "must be JSON",
    "[1]": "format must be 2, got None",
    "null": "format must be 2, got None",
    '{"format": 3}': "format must be 2, got 3$",
    '{"format": "2"}': "format must be 2, got '2'$",
    '{"format": 1}': (
        "format must be 2, got 1; it was written by an older version: run its study again elsewhere"
    ),
    '{"sources": []}': "format must be 2, got None",
    '{"format": 2, "chunks": []}': "must hold a list of sources",
    '{"format": 2, "sources": [3], "chunks": []}': "must hold a list of sources",
    '{"format": 2, "sources": [], "chunks": [{}]}': "chunks must each have digest",
    '{"format": 2, "sources": [], "chunks": [], "checks": 1}': "must hold a list of checks",
    '{"format": 2, "sources": [], "chunks": [], "checks": [{}]}': "checks must each have model",
    json.dumps({"format": 2, "sources": [], "chunks": [], "checks": [_CHECK]}): (
        "checked must name the images of 'parts'"
    ),
    json.dumps({**_EMPTY, "chunks": [{"digest": 5}]}): "digest must be a text, got 5",
    json.dumps(
        {**_EMPTY, "chunks": [{"digest": "\ud800"}]}
    ): r"digest must be a text, got '.ud800'",
    json.dumps({**_EMPTY, "sources": [{**_SOURCE, "key": None}]}): "key must be a text, got None",
    json.dumps({**_EMPTY, "checks": [{**_CHECK, "part": []}]}): r"part must be a text, got \[\]",
    json.dumps({**_EMPTY, "study": []}): r"study must be an object, got \[\]",
    json.dumps({**_EMPTY, "runs": {}}): r"runs must be a list, got \{\}",
    json.dumps({**_EMPTY, "study_sha256": 5}): "study_sha256 must be a text, got 5",
    json.dumps({**_EMPTY, "checked": [1]}): r"checked must be an object, got \[1\]",
    json.dumps({**_EMPTY, "checked": {"p": 5}}): "checked must hold a list of chunks of 'p'",
    json.dumps({**_EMPTY, "checked": {"p": [{}]}}): "digest must be a text, got None",
}


@pytest.mark.parametrize("text", BAD)
def test_a_bad_manifest_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=BAD[text]) as caught:
        open_store(tmp_path)
    assert str(tmp_path / "manifest.json") in str(caught.value)


def test_a_manifest_that_is_not_text(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="must be JSON"):
        open_store(tmp_path)


def test_a_manifest_comes_back(store: Store) -> None:
    found = open_store(str(store.path)).manifest()
    assert found == {"format": 2, "sources": SOURCES, "chunks": CHUNKS}
    with pytest.raises(ValueError, match="JSON compliant"):
        store.save_manifest({"value": float("nan")})
    assert store.manifest() == found  # the old one stays


def test_the_tasks_are_those_of_the_manifest(store: Store) -> None:
    assert store.tasks() == TASKS
    assert store.tasks(0) == TASKS[:2]
    assert store.tasks(1) == TASKS[2:]
    assert store.tasks(2) == []


def read_tasks(store: Store) -> tuple[list[str], list[str]]:
    return list_stored_tasks(store, store.manifest())


def test_only_shards_of_the_manifest_are_read(store: Store) -> None:
    """Those of other settings, and what is being written, lie beside them."""
    assert read_tasks(store) == ([], [])
    for task in (TASKS[3], TASKS[0]):
        store.score_file(task).touch()
    other = task_name("an older key", 0, "d1")
    store.score_file(other).touch()
    store.region_file(other).touch()
    store.check_file(other).touch()
    (store.scores / f".{TASKS[1]}.parquet.77.part").touch()
    store.region_file(TASKS[2]).touch()  # its scores are written after them
    store.map_file(TASKS[2]).touch()
    assert read_tasks(store) == ([TASKS[0], TASKS[3]], [])
    assert store.done() == {TASKS[0], TASKS[3], other}
    assert list_shards(store, *read_tasks(store)) == {
        "scores": [store.score_file(TASKS[0]), store.score_file(TASKS[3])],
        "region_scores": [store.region_file(TASKS[0]), store.region_file(TASKS[3])],
        "checks": [],
    }


def test_tasks_of_checks_are_read_apart(store: Store) -> None:
    checked = {"parts": [{"digest": "c1"}, {"digest": "c2"}]}
    store.save_manifest(
        {"sources": SOURCES, "chunks": CHUNKS, "checks": [_CHECK], "checked": checked}
    )
    first, second = task_name("k3", 0, "c1"), task_name("k3", 1, "c2")
    store.check_file(second).touch()
    assert read_tasks(store) == ([], [second])
    store.score_file(TASKS[2]).touch()
    store.check_file(first).touch()
    assert read_tasks(store) == ([TASKS[2]], [first, second])
    assert store.done() == {TASKS[2], first, second}
    assert list_shards(store, *read_tasks(store))["checks"] == [
        store.check_file(first),
        store.check_file(second),
    ]
    assert store.done_file(first) == store.check_file(first)
    assert store.done_file(TASKS[2]) == store.score_file(TASKS[2])


def test_a_task_is_whole_with_the_end_of_its_last_file(store: Store) -> None:
    task = TASKS[0]
    store.region_file(task).write_bytes(b"PAR1")
    assert not store.is_whole(task)
    store.score_file(task).write_bytes(b"PAR1 and what was written be")
    assert not store.is_whole(task)
    store.score_file(task).write_bytes(b"PAR1 and all of it PAR1")
    assert store.is_whole(task)


def test_a_new_manifest_chooses_other_shards(store: Store) -> None:
    for task in TASKS:
        store.score_file(task).touch()
    store.save_manifest({"sources": SOURCES[1:], "chunks": CHUNKS[:1]})
    assert read_tasks(store) == ([TASKS[1]], [])
    assert store.done() == set(TASKS)


OLD = "format must be 2, got 1; it was written by an older version: run its study again elsewhere"


def test_a_run_of_an_older_version_is_refused_and_left_alone(store: Store) -> None:
    """It has other folders, and its manifest another format."""
    shutil.rmtree(store.scores)
    for name in ("rows", "curves"):
        (store.path / name).mkdir()
        (store.path / name / f"{TASKS[0]}.parquet").write_bytes(b"PAR1PAR1")
    save_json(store.manifest_path, {"format": 1, "sources": SOURCES, "chunks": CHUNKS})
    before = {path: path.stat().st_mtime_ns for path in store.path.rglob("*")}
    for opens in (open_store, open_results, results_digest, verify_store):
        with pytest.raises(InputError, match=OLD) as caught:
            opens(store.path)
        assert str(caught.value).startswith(f"{store.manifest_path}: ")
    assert {path: path.stat().st_mtime_ns for path in store.path.rglob("*")} == before


def test_a_study_is_not_run_into_the_results_of_an_older_version(tmp_path: Path) -> None:
    study = given_study(tmp_path / "data", images=2, methods="a")
    store = run_study(study, tmp_path / "runs").store
    manifest = json.loads(store.manifest_path.read_text())
    save_json(store.manifest_path, {**manifest, "format": 1})
    before = {p: p.read_bytes() for p in store.path.rglob("*") if p.is_file() and p.name != "lock"}
    with pytest.raises(InputError, match=OLD):
        run_study(study, tmp_path / "runs")
    with pytest.raises(InputError, match=OLD):
        forecast_study(study, tmp_path / "runs")
    after = {p: p.read_bytes() for p in store.path.rglob("*") if p.is_file() and p.name != "lock"}
    assert after == before


def test_where_things_lie(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.score_file("t") == tmp_path / "scores" / "t.parquet"
    assert store.region_file("t") == tmp_path / "region_scores" / "t.parquet"
    assert store.check_file("t") == tmp_path / "checks" / "t.parquet"
    assert store.map_file("t") == tmp_path / "maps" / "t.safetensors"
    assert store.cache == tmp_path / "cache"
    found = (store.study_path, store.images_path, store.regions_path, store.lock_path)
    expected = ("study.yml", "images.parquet", "regions.parquet", "lock")
    assert found == tuple(tmp_path / name for name in expected)
    store.save_text("study.yml", "name: ä\n")
    assert store.study_path.read_text("utf-8") == "name: ä\n"
    assert repr(store) == f"Store({str(tmp_path)!r})"
