"""The folder of a benchmark: what is refused, kept and removed."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from sightline.core import InputError
from sightline.store.checksums import save_json
from sightline.store.prototypes import (
    BenchmarkFolder,
    benchmark_folder,
    create_benchmark,
    differences,
    drops_schema,
    relevance_schema,
    table_bytes,
)

if TYPE_CHECKING:
    from pathlib import Path

TABLE = pa.table({"a": [1, 2], "b": [0.5, float("nan")], "c": [None, "x,y"]})


@pytest.fixture
def folder(tmp_path: Path) -> BenchmarkFolder:
    made = create_benchmark(tmp_path / "out")
    made.begin({"batch": 4}, "config\n")
    return made


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"new or hold a benchmark; holds mine\.txt"):
        create_benchmark(tmp_path)
    with pytest.raises(InputError, match="must be a folder for results, is a file"):
        create_benchmark(tmp_path / "mine.txt")
    with pytest.raises(InputError, match="must be empty, new or hold the results of a study"):
        create_benchmark(tmp_path, name="first")


def test_the_folder_of_a_study_is_no_folder_of_a_benchmark(tmp_path: Path) -> None:
    for name in ("lock", "manifest.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(InputError, match=r"holds lock, manifest\.json"):
        create_benchmark(tmp_path)
    assert create_benchmark(tmp_path, name="first").path == tmp_path / "prototypes" / "first"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "-a", ".a", "a" * 201, "a b"])
def test_names_that_are_no_folder_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="name must be"):
        benchmark_folder(tmp_path, name)


def test_a_part_comes_back_only_with_its_own_bytes(folder: BenchmarkFolder) -> None:
    assert folder.part("drops-00001") is None
    folder.save_part("drops-00001", TABLE)
    folder.save_part("drops-00001-more", TABLE.slice(1))
    found = folder.part("drops-00001")
    assert found is not None
    assert found.num_rows == 2
    (file,) = (
        one for one in folder.parts.iterdir() if "more" not in one.name and "drops" in one.name
    )
    file.write_bytes(file.read_bytes()[:-1] + b"0")
    assert folder.part("drops-00001") is None
    assert not file.exists()


def test_finishing_writes_all_and_says_so_last(
    folder: BenchmarkFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(folder, "save_file", lambda name, content: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            folder.finish({"a.csv": TABLE}, {"settings": {}})
    assert folder.about() is None
    assert folder.begun() == {"batch": 4}
    folder.finish({"sub/a.csv": TABLE, "b.parquet": TABLE}, {"settings": {"batch": 4}})
    about = folder.about()
    assert about is not None
    assert about["files"]["sub/a.csv"]["lines"] == 2
    assert (folder.path / "sub" / "a.csv").read_text() == 'a,b,c\n1,0.5,\n2,,"x,y"\n'
    assert not folder.parts.exists()
    assert folder.is_whole()
    (folder.path / "b.parquet").unlink()
    assert not folder.is_whole()


def test_what_killed_writers_left_is_removed(folder: BenchmarkFolder) -> None:
    for place in ("tables", "debug/relevance", ".parts"):
        (folder.path / place).mkdir(parents=True, exist_ok=True)
        (folder.path / place / ".a.csv.0.part").write_text("half")
    folder.begin({"files": {"info_db": "tables/a.csv", "global_stats": "new/b.csv"}}, "")
    assert not list(folder.path.rglob("*.part"))


def test_clearing_removes_what_was_written_and_nothing_else(folder: BenchmarkFolder) -> None:
    folder.debug.mkdir()
    settings = {"files": {"distribution_img": "drops.png"}}
    folder.finish({"a.csv": TABLE}, {"settings": settings})
    for name in ("drops.png", "mine.csv"):
        (folder.path / name).write_text("x")
    folder.clear()
    assert {one.name for one in folder.path.iterdir()} == {"mine.csv"}


def test_a_link_that_leads_out_is_refused(folder: BenchmarkFolder, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (folder.path / "sub").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="must lie inside"):
        folder.save_file("sub/a.csv", b"")
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "must be JSON"), ("[]", "format must be 2, got None"), ('{"format": 2}', "settings")],
)
def test_what_cannot_be_understood_is_said(folder: BenchmarkFolder, text: str, said: str) -> None:
    folder.about_path.write_text(text)
    with pytest.raises(InputError, match=said):
        folder.about()
    folder.clear()  # it can still be replaced
    assert folder.about() is None


@pytest.mark.parametrize("name", ["../mine.csv", "/etc/hosts", "", ".", "a/../../b", "a\\b", "a\0"])
def test_names_that_lead_elsewhere_are_neither_read_nor_removed(
    folder: BenchmarkFolder, tmp_path: Path, name: str
) -> None:
    """They may come from a stranger."""
    mine = tmp_path / "mine.csv"
    mine.write_text("mine")
    told = {name: {"sha256": sha256(b"mine").hexdigest()}}
    for files, drawn in ((told, {}), ({}, {"distribution_img": name})):
        about = {"format": 2, "settings": {"files": drawn}, "files": files}
        save_json(folder.about_path, about)
        with pytest.raises(
            InputError, match=r"benchmark\.json: files must lie in its folder, got '"
        ):
            folder.is_whole()
        folder.clear()
        assert mine.read_text() == "mine"
        assert not folder.about_path.exists()


def test_links_that_lead_out_are_neither_read_nor_removed(
    folder: BenchmarkFolder, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    mine = tmp_path / "elsewhere" / "a.csv"
    folder.finish({"sub/a.csv": TABLE}, {"settings": {}})
    assert folder.is_whole()
    (folder.path / "sub" / "a.csv").rename(mine)
    (folder.path / "sub").rmdir()
    (folder.path / "sub").symlink_to(mine.parent)
    assert not folder.is_whole()
    folder.clear()
    assert mine.exists()


@pytest.mark.parametrize("one", [5, {}, {"sha256": 5}])
def test_tables_without_digest_are_refused(folder: BenchmarkFolder, one: object) -> None:
    save_json(folder.about_path, {"format": 2, "settings": {}, "files": {"a.csv": one}})
    with pytest.raises(InputError, match=r"files must each have sha256, 'a\.csv' has none"):
        folder.is_whole()


def test_differences_name_the_way_to_them() -> None:
    old = {"a": 1, "b": {"c": [1, 2]}, "d": None}
    assert differences(old, {"a": 1, "b": {"c": [1, 2]}, "d": None}) == ""
    told = differences(old, {"a": 1, "b": {"c": [1, 3]}, "e": "x"})
    assert told == (
        "b.c.1 is 2 there and 3 here, d is None there and absent here, e is absent there and 'x' "
        "here"
    )
    many = differences({}, {str(n): n for n in range(9)})
    assert many.endswith("3 here, and 5 more")


def test_columns_are_those_that_the_readers_know() -> None:
    pair = ["img_id", "image", "proto_idx", "row", "column"]
    assert relevance_schema().names == [
        *("kind", *pair, "score", "mask_relevance", "energy_relevance", "energy_raw", "chance"),
        *("reason", "label", "predicted"),
    ]
    assert drops_schema().names == [
        *(*pair, "perturbation", "description", "original_score", "focused", "dual", "whole"),
        *("squared_distance", "dual_squared_distance", "height", "width", "label", "predicted"),
    ]
    assert table_bytes(TABLE, ".parquet") == table_bytes(TABLE, ".parquet")
