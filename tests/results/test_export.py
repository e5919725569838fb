"""Files that are handed on hold what the tables hold."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from sightline.core import InputError
from sightline.results import export_results, open_results
from sightline.results.export import markdown_table
from sightline.store import regions_table, write_table
from tests.results.stores import KINDS, Kind, make_store

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.results import Results
    from tests.results.stores import Made

NUMBERS = ["value", "area", "visible", "selected", "chance", "ceiling", "uniform"]


def scores(results: Results) -> pd.DataFrame:
    """Return the long view with the base names of models, which have a column for the variant."""
    keys = list(results.query("DESCRIBE scores_long")["column_name"][:14])
    order = ", ".join(f'"{key}" NULLS FIRST' for key in keys)
    base = "SELECT * REPLACE (split_part(model, '@', 1) AS model) FROM scores_long"
    chunks = "SELECT image, chunk FROM images"
    sql = f"SELECT * FROM ({base}) JOIN ({chunks}) USING (image) ORDER BY chunk, {order}"  # noqa: S608
    return results.query(sql).drop(columns="chunk")


@pytest.mark.parametrize("to", ["csv", "parquet"])
def test_all_scores_are_written(results: Results, tmp_path: Path, to: Any) -> None:
    calls: list[int] = []
    path = export_results(results, tmp_path / f"x.{to}", to, calls.append)
    found = pd.read_csv(path) if to == "csv" else pd.read_parquet(path)
    expected = scores(results)
    assert list(found.columns) == list(results.query("SELECT * FROM scores_long LIMIT 1").columns)
    assert len(found) == len(expected)
    for column in NUMBERS:
        np.testing.assert_allclose(
            found[column].astype(float), expected[column].astype(float), rtol=1e-7, err_msg=column
        )
    texts = found[["image", "model", "method", "name"]]
    assert texts.to_numpy().tolist() == expected[list(texts)].to_numpy().tolist()
    assert calls == sorted(calls)
    assert calls[-1] == len(found)


def test_exports_are_the_same_each_time(results: Results, tmp_path: Path) -> None:
    first, second = (
        export_results(results, tmp_path / name, "csv").read_bytes() for name in ("a.csv", "b.csv")
    )
    assert first == second


def test_sqlite_has_four_tables(made: Made, results: Results, tmp_path: Path) -> None:
    path = export_results(results, tmp_path / "x.sqlite", "sqlite")
    with closing(sqlite3.connect(path)) as base:
        found = pd.read_sql("SELECT * FROM scores", base)
        board = pd.read_sql("SELECT * FROM leaderboard", base)
        images = pd.read_sql("SELECT * FROM images ORDER BY image", base)
        regions = pd.read_sql("SELECT count(*) AS n FROM regions", base)
        nothing = base.execute("SELECT count(*) FROM scores WHERE value IS NULL").fetchone()[0]
    expected = scores(results)
    np.testing.assert_allclose(found["value"], expected["value"])
    np.testing.assert_allclose(found["chance"], expected["chance"])
    assert nothing == expected["value"].isna().sum() > 0
    assert board["method"].tolist() == results.leaderboard()["method"].tolist()
    assert board["value"].tolist() == results.leaderboard()["value"].tolist()
    assert images["labels"].tolist() == [", ".join(labels) for labels in made.images["labels"]]
    assert regions["n"][0] == len(made.regions)


def test_markdown_has_the_tables_and_their_notes(results: Results, tmp_path: Path) -> None:
    text = export_results(results, tmp_path / "x.md", "markdown").read_text("utf-8")
    assert text.startswith("# small\n")
    for heading in ("Leaderboard: iou@90", "Layer progression: iou@90", "Feature breakdown"):
        assert f"## {heading}\n" in text
    assert "| demo/vit@seed2 | cls |" in text
    assert "best of 4 layers on the same images" in text
    assert "16 of 16 tasks" in text
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(lines) == 2 * 3 + len(results.leaderboard()) + (4 + 4 + 3) + 4
    assert "nan" not in text


def test_names_do_not_break_a_markdown_table(tmp_path: Path) -> None:
    kinds = (Kind("a|b", "", "<i>*x*", "given"),)
    made = make_store(tmp_path / "s", kinds=kinds)
    text = markdown_table(open_results(made.path).leaderboard())
    assert r"a\|b" in text
    assert r"\<i\>\*x\*" in text


def test_a_file_is_replaced_only_by_a_whole_one(results: Results, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("old")

    def stop(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_results(results, path, "csv", stop)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.csv"]


def test_wrong_endings_and_kinds_are_refused(results: Results, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a csv file must end in \.csv"):
        export_results(results, tmp_path / "x.txt", "csv")
    with pytest.raises(InputError, match="to must be one of csv, parquet, sqlite, markdown"):
        export_results(results, tmp_path / "x.xlsx", "xlsx")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="does not exist"):
        export_results(results, tmp_path / "no" / "x.csv", "csv")


def test_nothing_stored_leaves_no_file(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[:1], skip=(0, 1))
    with pytest.raises(InputError, match="nothing is stored yet"):
        export_results(open_results(made.path), tmp_path / "x.csv", "csv")
    assert not (tmp_path / "x.csv").exists()


def test_labels_do_not_break_a_markdown_file(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[7:8])
    lines: list[Any] = made.regions.to_dict("records")
    for line in lines:
        line["label"] = "rose\nwindow\r\n| [x](y) &lt;"
    pq.write_table(regions_table(lines), made.store.regions_path)
    path = export_results(open_results(made.path), tmp_path / "x.md", "markdown")
    (line,) = (line for line in path.read_text("utf-8").splitlines() if "rose" in line)
    assert line.startswith(r"| rose<br>window<br>\| \[x\](y) \&lt; | 0.")
    assert line.endswith(" |")


def test_markdown_without_scores_of_regions(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[7:8], metrics=("kl",))
    path = export_results(open_results(made.path), tmp_path / "x.md", "markdown")
    text = path.read_text("utf-8")
    assert "| demo/cnn | center |" in text
    assert "## Feature breakdown\n\nNothing.\n\nno scores of any of the metrics" in text


@pytest.mark.parametrize("empty", ["regions", "images", "scores"])
def test_sqlite_has_all_tables_also_when_they_are_empty(tmp_path: Path, empty: str) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[7:8])
    shards = [*made.score_files, *made.region_files]
    files = shards if empty == "scores" else [made.path / f"{empty}.parquet"]
    for file in files:
        write_table(file, pq.read_table(file).slice(0, 0), kind="file")
    with open_results(made.path) as found:
        path = export_results(found, tmp_path / "x.sqlite", "sqlite")
        whole = export_results(found, tmp_path / "x.csv", "csv")
        columns = found.query("DESCRIBE scores_long")["column_name"].tolist()
    with closing(sqlite3.connect(path)) as base:
        counts = {
            name: len(pd.read_sql(f"SELECT * FROM {name}", base))  # noqa: S608
            for name in ("scores", "images", "regions", "leaderboard")
        }
    assert counts[empty] == 0
    assert (counts["leaderboard"] == 0) == (empty == "scores")
    assert sum(count == 0 for count in counts.values()) == (2 if empty == "scores" else 1)
    assert pd.read_csv(whole).columns.tolist() == columns
