"""Queries read the views and reach nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest

from sightline.core import InputError
from sightline.results import open_results
from sightline.store import duckdb as _database
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
    "SELECT * FROM read_parquet('s3://bucket/x.parquet')",
    "SELECT * FROM 'https://example.com/x.parquet'",
    "SELECT * FROM read_parquet('/tmp/*.parquet')",
    "SELECT * FROM parquet_metadata('/tmp/x.parquet')",
    "SELECT * FROM read_duckdb('/tmp/x.db')",
    'SELECT * FROM "/etc/passwd"',
    "SELECT list_transform([1], lambda x: (SELECT content FROM read_text('/etc/passwd')))",
    "SELECT 1 LIMIT (SELECT count(*) FROM read_text('/etc/passwd'))",
    "SELECT 1 ORDER BY (SELECT content FROM read_text('/etc/passwd'))",
    "SELECT * FROM query_table(['/etc/passwd'])",
    "FROM duckdb_secrets()",
    "FROM which_secret('s3://bucket', 's3')",
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
    "ATTACH '/etc/passwd' AS other (READ_ONLY)",
    "CREATE TABLE x (i INTEGER)",
    "CREATE VIEW x AS SELECT 1",
    "CREATE OR REPLACE VIEW scores AS SELECT 1",
    "DROP VIEW scores",
    "INSERT INTO rows VALUES (1)",
    "DELETE FROM scores",
    "UPDATE rows SET value = 0",
    "WITH x AS (DELETE FROM scores RETURNING *) SELECT * FROM x",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{path}/x.duckdb_extension'",
    "PRAGMA database_list",
    "SET threads = 1",
    "SET enable_external_access = true",
    "PRAGMA enable_profiling = 'json'",
    "SET VARIABLE x = 1",
    "CREATE SECRET s (TYPE s3)",
    "CREATE MACRO x() AS 1",
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
    shard = made.score_files[0]
    before = {path: path.read_bytes() for path in made.path.rglob("*") if path.is_file()}
    with pytest.raises(InputError, match="reads only"):
        results.query(sql.format(path=made.path, shard=shard))
    assert {path: path.read_bytes() for path in made.path.rglob("*") if path.is_file()} == before
    assert results.query("SELECT count(*) AS n FROM scores")["n"][0] > 0


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM scores",
        "select name, avg(chance) from scores_long group by name order by name;",
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
        "SELECT image, value FROM scores_long QUALIFY row_number() OVER (ORDER BY value DESC) < 3",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) FROM t",
        "-- a comment\nSELECT 'COPY x TO y' AS text",
        "PIVOT (SELECT method, name, value FROM scores_long) ON method IN ('cls') USING avg(value)",
    ],
)
def test_queries_that_read_are_answered(results: Results, sql: str) -> None:
    assert len(results.query(sql)) > 0


def test_a_query_gives_numbers_and_texts(made: Made, results: Results) -> None:
    frame = results.query(
        "SELECT method, layer, max(value) AS top FROM scores_long "
        "WHERE metric = 'recall' AND threshold = '50' GROUP BY ALL ORDER BY ALL NULLS FIRST"
    )
    rows = made.rows.query("metric == 'recall' and threshold == '50'")
    expected = rows.groupby(["method", "layer"], dropna=False, observed=True)["value"].max()
    assert frame["top"].dtype == float
    assert len(frame) == len(expected)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT nam FROM scores", "scores: image, model, variant, method"),
        ("SELECT * FROM score", "images: image, chunk, split, labels"),
        ("SELEC 1", "syntax error"),
        ("SELECT avg(value FROM scores", "syntax error"),
    ],
)
def test_mistakes_are_answered_with_what_is_there(results: Results, sql: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        results.query(sql)


def test_other_shards_in_the_folder_cannot_be_read(made: Made, results: Results) -> None:
    stale = next(p for p in made.store.scores.iterdir() if p not in made.score_files)
    with pytest.raises(InputError, match="no other files"):
        results.query("SELECT * FROM read_parquet('{}')".format(stale))  # noqa: S608, UP032


def test_settings_are_closed() -> None:
    connection = _database.connect([])
    names = ("enable_external_access", "lock_configuration", "autoload_known_extensions",
             "autoinstall_known_extensions", "allow_community_extensions")  # fmt: skip
    found = connection.execute(
        "SELECT name, value FROM duckdb_settings() WHERE name IN $names", {"names": names}
    ).fetchall()
    assert dict(found) == dict.fromkeys(names, "false") | {"lock_configuration": "true"}
    with pytest.raises(duckdb.Error):
        connection.execute("SET enable_external_access = true")


ENDLESS = "SELECT sum(a.range * b.range) FROM range(100000000) a, range(100000000) b"


def test_a_query_that_takes_too_long_is_ended(results: Results) -> None:
    with pytest.raises(InputError, match=r"longer than 0\.2 s and was ended"):
        results.query(ENDLESS, seconds=0.2)
    assert len(results.query("SELECT count(*) FROM scores")) == 1


def test_a_query_that_takes_too_much_memory_is_refused(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_database, "_MEMORY", "80MB")
    monkeypatch.setattr(_database, "_SPILLED", "0MB")
    with open_results(made.path) as found:
        with pytest.raises(InputError, match=r"(?i)memory"):
            found.query("SELECT list(range) FROM range(100000000)")
        assert len(found.query("SELECT count(*) FROM scores")) == 1


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT * FROM " + "(SELECT * FROM " * 900 + "scores" + ")" * 900, "too many of them"),
        ("SELECT " + "(" * 9000 + "1" + ")" * 9000, "depth"),
        ("SELECT " + "1+" * 9000 + "1", "depth"),
        ("SELECT " + " " * 100_000 + "1", "100,000 characters"),
        ("SELECT '\ud800'", "Unicode"),
        ("SELECT 1\x00; DROP VIEW scores", "2 statements|syntax error"),
    ],
    ids=["nested", "brackets", "sum", "long", "surrogate", "zero"],
)
def test_a_query_made_to_break_is_refused(results: Results, sql: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        results.query(sql)


def test_no_table_is_made_beside_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[7:8])
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    with open_results(Path("..") / "s") as found:
        found.leaderboard()
        found.query("SELECT * FROM scores_long ORDER BY value")
    assert made.path.is_dir()
    assert not list(here.iterdir())
