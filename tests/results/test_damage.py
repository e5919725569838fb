"""Files that were torn are named, whatever is asked of them."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from sightline.core import InputError
from sightline.results import diff_results, export_results, open_results, results_digest
from sightline.store import Store, write_table
from sightline.store.damage import naming_damage
from sightline.store.snapshot import list_stored_tasks
from tests.results.stores import KINDS, make_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda content: content[: len(content) // 2],
    "junk": lambda content: b"junk" * 100,
    "empty": lambda content: b"",
    # Its end is whole, and DuckDB's message does not name it.
    "middle": lambda content: content[:200] + bytes(len(content) // 2) + content[-200:],
    "page": lambda content: content[:200] + bytes(len(content) // 2)
    + content[200 + len(content) // 2 :],
}  # fmt: skip
ASKED: dict[str, Callable[[Path, Path], Any]] = {
    "leaderboard": lambda path, out: open_results(path).leaderboard(),
    "metrics": lambda path, out: open_results(path).metrics,
    "images": lambda path, out: open_results(path).images(),
    "image": lambda path, out: open_results(path).image("image01"),
    "query": lambda path, out: open_results(path).query("SELECT sum(coverage) FROM scores"),
    "csv": lambda path, out: export_results(open_results(path), out / "x.csv", "csv"),
    "sqlite": lambda path, out: export_results(open_results(path), out / "x.db", "sqlite"),
    "markdown": lambda path, out: export_results(open_results(path), out / "x.md", "markdown"),
    "digest": lambda path, out: results_digest(path),
    "diff": lambda path, out: diff_results(path, path),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store to copy and to damage."""
    folder = tmp_path_factory.mktemp("whole") / "s"
    return make_store(folder, kinds=KINDS[6:8], count=4, metrics=("coverage",)).path


@pytest.mark.parametrize("ask", ASKED)
@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("number", [0, 1])
def test_a_damaged_shard_is_named(
    whole: Path, tmp_path: Path, how: str, ask: str, number: int
) -> None:
    path = shutil.copytree(whole, tmp_path / "s")
    tasks = list_stored_tasks(Store(path), Store(path).manifest())[0]
    shard = Store(path).score_file(tasks[number])
    shard.write_bytes(DAMAGES[how](shard.read_bytes()))
    with pytest.raises(InputError) as caught:
        ASKED[ask](path, tmp_path)
    assert str(caught.value) == f"{shard} is damaged; run the study again to make it anew"
    assert [entry.name for entry in tmp_path.iterdir()] == ["s"]


@pytest.mark.parametrize("name", ["images.parquet", "regions.parquet"])
def test_a_damaged_table_is_named(tmp_path: Path, name: str) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[7:8])
    (made.path / name).write_bytes(b"junk")
    with pytest.raises(InputError, match=f"{name} is damaged; run the study again"):
        open_results(made.path).leaderboard()


def test_damaged_scores_of_regions_are_named(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[7:8])
    file = made.region_files[1]
    file.write_bytes(b"junk")
    with pytest.raises(InputError) as caught:
        open_results(made.path).feature_breakdown()
    assert str(caught.value) == f"{file} is damaged; run the study again to make it anew"


def test_a_shard_that_is_taken_away_is_named(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[7:8])
    shard = made.score_files[1]
    with open_results(made.path) as found:
        shard.unlink()
        with pytest.raises(InputError, match="is gone; run the study again") as caught:
            found.leaderboard()
    assert str(shard) in str(caught.value)


def test_other_errors_pass_unchanged(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[7:8])
    for error in (duckdb.ConversionException("text"), duckdb.BinderException("text")):
        with pytest.raises(type(error), match="text"), naming_damage(made.score_files):
            raise error


def test_a_query_is_not_blamed_on_files(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[7:8])
    with open_results(made.path) as found, pytest.raises(InputError, match="Could not convert"):
        found.query("SELECT CAST(image AS INTEGER) FROM scores")


def test_shards_without_the_rows_of_an_image(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    made = make_store(tmp_path / "s", kinds=KINDS[7:8])
    for shard in [*made.score_files, *made.region_files]:
        table = pq.read_table(shard)
        keep = [image != "image01" for image in table.column("image").to_pylist()]
        write_table(shard, table.filter(keep), kind="scores")
    with open_results(made.path) as found:
        assert len(found.image("image02"))
        with pytest.raises(InputError, match="nothing is stored yet of image 'image01'"):
            found.image("image01")
