"""The folder of a study: what may be one, and which shards belong to its manifest."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from sightline.core import InputError
from sightline.store import Store, create_store, open_store, task_name

_NAMES = ("model", "variant", "method", "group", "target", "seed", "check", "layers", "heads")
_SOURCE: dict[str, Any] = dict.fromkeys((*_NAMES, "rules"))
SOURCES: list[dict[str, Any]] = [{**_SOURCE, "key": "k1"}, {**_SOURCE, "key": "k2"}]
_CHECK: dict[str, Any] = {**_SOURCE, "key": "k3", "options": {}, "part": "parts"}
_EMPTY: dict[str, Any] = {"format": 1, "sources": [], "chunks": []}
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
    store.row_file("a").touch()
    create_store(str(path))
    assert {entry.name for entry in path.iterdir()} == {"rows", "curves", "maps", "lock"}
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
    assert create_store(tmp_path).rows.is_dir()


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
    "[1]": "format must be 1, got None",
    "null": "format must be 1, got None",
    '{"format": 2}': "format must be 1, got 2",
    '{"format": "1"}': "format must be 1, got '1'",
    '{"sources": []}': "format must be 1, got None",
    '{"format": 1, "chunks": []}': "must hold a list of sources",
    '{"format": 1, "sources": [3], "chunks": []}': "must hold a list of sources",
    '{"format": 1, "sources": [], "chunks": [{}]}': "chunks must each have digest",
    '{"format": 1, "sources": [], "chunks": [], "checks": 1}': "must hold a list of checks",
    '{"format": 1, "sources": [], "chunks": [], "checks": [{}]}': "checks must each have model",
    json.dumps({"format": 1, "sources": [], "chunks": [], "checks": [_CHECK]}): (
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
    assert found == {"format": 1, "sources": SOURCES, "chunks": CHUNKS}
    with pytest.raises(ValueError, match="JSON compliant"):
        store.save_manifest({"value": float("nan")})
    assert store.manifest() == found  # the old one stays


def test_the_tasks_are_those_of_the_manifest(store: Store) -> None:
    assert store.tasks() == TASKS
    assert store.tasks(0) == TASKS[:2]
    assert store.tasks(1) == TASKS[2:]
    assert store.tasks(2) == []


def test_only_shards_of_the_manifest_are_read(store: Store) -> None:
    """Those of other settings, and what is being written, lie beside them."""
    assert store.shards() == []
    for task in (TASKS[3], TASKS[0]):
        store.row_file(task).touch()
    other = task_name("an older key", 0, "d1")
    store.row_file(other).touch()
    (store.rows / f".{TASKS[1]}.parquet.77.part").touch()
    store.curve_file(TASKS[2]).touch()
    store.curve_file(other).touch()
    assert store.shards() == [store.row_file(TASKS[0]), store.row_file(TASKS[3])]
    assert store.shards_of(0) == [store.row_file(TASKS[0])]
    assert store.shards_of(1) == [store.row_file(TASKS[3])]
    assert store.curve_files() == [store.curve_file(TASKS[2])]
    assert store.done() == {TASKS[0], TASKS[3], other}


def test_a_new_manifest_chooses_other_shards(store: Store) -> None:
    for task in TASKS:
        store.row_file(task).touch()
    store.save_manifest({"sources": SOURCES[1:], "chunks": CHUNKS[:1]})
    assert store.shards() == [store.row_file(TASKS[1])]
    assert store.done() == set(TASKS)


def test_where_things_lie(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.row_file("t") == tmp_path / "rows" / "t.parquet"
    assert store.curve_file("t") == tmp_path / "curves" / "t.parquet"
    assert store.map_file("t") == tmp_path / "maps" / "t.safetensors"
    found = (store.study_path, store.images_path, store.regions_path, store.lock_path)
    expected = ("study.yml", "images.parquet", "regions.parquet", "lock")
    assert found == tuple(tmp_path / name for name in expected)
    store.save_text("study.yml", "name: ä\n")
    assert store.study_path.read_text("utf-8") == "name: ä\n"
    assert repr(store) == f"Store({str(tmp_path)!r})"
