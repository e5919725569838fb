"""Queries read the views and reach nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sightline.records import InputError
from sightline.results import open_results
from tests.results.stores import KINDS, make_store

if TYPE_CHECKING:
    from sightline.results import Results
    from tests.results.stores import Made

OUTSIDE = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM read_json('/etc/passwd')",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM read_parquet('https://example.com/x.parquet')",
    "SELECT getenv('HOME')",
    "SELECT * FROM local_frame",
    "SELECT * FROM query('SELECT * FROM read_text(''/etc/passwd'')')",
    "WITH x AS (SELECT * FROM read_text('/etc/passwd')) SELECT * FROM x",
    "SELECT (SELECT content FROM read_text('/etc/passwd'))",
    "SELECT * FROM scores WHERE image IN (SELECT content FROM read_text('/etc/passwd'))",
    "SELECT 1 UNION ALL SELECT content FROM read_text('/etc/passwd')",
    "SELECT * FROM scores, LATERAL (SELECT * FROM glob('/etc/*'))",
    "DESCRIBE SELECT * FROM read_csv('/etc/passwd')",
    "SUMMARIZE SELECT * FROM read_csv('/etc/passwd')",
    "EXPLAIN ANALYZE SELECT * FROM read_csv('/etc/passwd')",
]
WRITING = [
    "COPY (SELECT 1) TO '{path}/x.csv'",
    "COPY scores TO '{path}/x.parquet'",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{path}/x.csv'",
    "explain (analyze) copy (SELECT 1) TO '{path}/x.csv'",
    "/* */ EXPLAIN ANALYZE COPY (SELECT 1) TO '{path}/x.csv'",
    "WITH x AS (COPY (SELECT 1) TO '{path}/x.csv') SELECT * FROM x",
    "WITH x AS (COPY (SELECT 1) TO '{shard}' (USE_TMP_FILE false)) SELECT * FROM x",
    "EXPLAIN ANALYZE WITH x AS (COPY (SELECT 1) TO '{shard}' (USE_TMP_FILE false)) FROM x",
    "SELECT * FROM query('WITH x AS (COPY (SELECT 1) TO ''{shard}'' (USE_TMP_FILE false)) FROM x')",
    "COPY (SELECT 1) TO '{shard}' (USE_TMP_FILE false)",
    "EXPORT DATABASE '{path}/x'",
    "ATTACH '{path}/x.db'",
    "ATTACH ':memory:' AS other",
    "CREATE TABLE x (i INTEGER)",
    "CREATE VIEW x AS SELECT 1",
    "CREATE OR REPLACE VIEW scores AS SELECT 1",
    "DROP VIEW scores",
    "INSERT INTO rows VALUES (1)",
    "DELETE FROM rows",
    "UPDATE rows SET value = 0",
    "WITH x AS (DELETE FROM rows RETURNING *) SELECT * FROM x",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_list",
    "SET threads = 1",
    "RESET lock_configuration",
    "CALL pragma_version()",
    "BEGIN",
    "USE memory",
    "SELECT 1; COPY (SELECT 1) TO '{path}/x.csv'",
    "SELECT 1; SELECT 2",
    "PREPARE x AS SELECT 1",
    "SELECT * FROM enable_logging()",
    "",
    "-- nothing",
]


@pytest.mark.parametrize("sql", OUTSIDE)
def test_nothing_outside_the_store_can_be_read(results: Results, sql: str) -> None:
    local_frame = results.leaderboard()  # a variable that DuckDB could find
    with pytest.raises(InputError) as caught:
        results.query(sql)
    assert "root:" not in str(caught.value)
    assert len(local_frame)


@pytest.mark.parametrize("sql", WRITING)
def test_nothing_can_be_written(made: Made, results: Results, sql: str) -> None:
    shard = made.store.shards()[0]
    before = {path: path.read_bytes() for path in made.path.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match="reads only"):
        results.query(sql.format(path=made.path, shard=shard))
    assert {path: path.read_bytes() for path in made.path.rglob("*") if path.is_file()} == before
    assert results.query("SELECT count(*) AS n FROM scores")["n"][0] > 0


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM scores",
        "select name, avg(chance) from scores group by name order by name;",
        "WITH x AS (SELECT image FROM images) SELECT * FROM x JOIN regions USING (image)",
        "FROM scores LIMIT 3",
        "VALUES (1)",
        "EXPLAIN SELECT * FROM scores",
        "EXPLAIN ANALYZE SELECT count(*) FROM scores",
        "DESCRIBE scores",
        "DESCRIBE SELECT 1 AS a",
        "SHOW TABLES",
        "SHOW ALL TABLES",
        "SUMMARIZE images",
        "SELECT unnest(labels) AS style, count(*) FROM images GROUP BY style",
        "SELECT * FROM range(3)",
        "SELECT image, value FROM rows QUALIFY row_number() OVER (ORDER BY value DESC) < 3",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) FROM t",
        "-- a comment\nSELECT 'COPY x TO y' AS text",
        "PIVOT (SELECT method, name, value FROM scores) ON method IN ('cls') USING avg(value)",
    ],
)
def test_queries_that_read_are_answered(results: Results, sql: str) -> None:
    assert len(results.query(sql)) > 0


def test_a_query_gives_numbers_and_texts(made: Made, results: Results) -> None:
    frame = results.query(
        "SELECT method, layer, max(value) AS top FROM rows "
        "WHERE metric = 'recall' AND threshold = '50' GROUP BY ALL ORDER BY ALL NULLS FIRST"
    )
    rows = made.rows.query("metric == 'recall' and threshold == '50'")
    expected = rows.groupby(["method", "layer"], dropna=False, observed=True)["value"].max()
    assert frame["top"].dtype == float
    assert len(frame) == len(expected)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT nam FROM scores", "scores: study, rules, image, region"),
        ("SELECT * FROM score", "images: image, chunk, split, labels"),
        ("SELEC 1", "syntax error"),
        ("SELECT avg(value FROM scores", "syntax error"),
    ],
)
def test_mistakes_are_answered_with_what_is_there(results: Results, sql: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        results.query(sql)


def test_other_shards_in_the_folder_cannot_be_read(made: Made, results: Results) -> None:
    stale = next(p for p in made.store.rows.iterdir() if p not in made.store.shards())
    with pytest.raises(InputError, match="no other files"):
        results.query("SELECT * FROM read_parquet('{}')".format(stale))  # noqa: S608, UP032


def test_no_table_is_made_beside_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[7:8])
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    with open_results(Path("..") / "s") as found:
        found.leaderboard()
        found.query("SELECT * FROM scores ORDER BY value")
    assert made.path.is_dir()
    assert not list(here.iterdir())
