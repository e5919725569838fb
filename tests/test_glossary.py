"""The glossary: every name that it gives exists, and no column and no key is missing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sightline.api import schemas
from sightline.results import open_results
from sightline.store.schema import (
    build_checks_schema,
    build_region_scores_schema,
    build_scores_schema,
)
from sightline.study import Study
from sightline.study.config.benchmark import Benchmark
from tests.results.stores import make_store

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "glossary.md").read_text("utf-8")
LINES = [line.split(" | ") for line in PAGE.splitlines() if line.startswith("| **")]
ANSWERED = {name for one in schemas.Answer.__subclasses__() for name in one.model_fields}
# After what kind of name names stand, up to the next kind.
NAMED = re.compile(r"\b(columns?|keys?|options?|words?) ((?:`[^`]+`(?:, | of `\w+`)?)+)")


def names(kind: str) -> set[str]:
    """Return the names of a kind that the page gives for its words."""
    found = (NAMED.findall(line[-1]) for line in LINES)
    texts = (text for pairs in found for what, text in pairs if what.startswith(kind))
    return {name for text in texts for name in re.findall(r"`([^`]+)`", text)}


def test_every_line_is_a_word_its_meaning_and_its_names() -> None:
    assert len(LINES) > 60
    assert {len(line) for line in LINES} == {3}
    words = [word for line in LINES for word in re.findall(r"\*\*(.+?)\*\*", line[0])]
    assert sorted(set(words)) == sorted(words), "a word stands twice"
    assert all("`" in line[2] for line in LINES)
    assert all(re.search(r"[.] ?$", line[1]) for line in LINES), "one sentence or two"


def test_no_column_and_no_key_is_missing() -> None:
    schemas = (
        build_scores_schema(()),
        build_region_scores_schema(()),
        build_checks_schema((), ()),
    )
    assert {name for schema in schemas for name in schema.names} <= names("column")
    assert set(Study.model_fields) <= names("key")


def test_no_column_of_the_view_with_a_row_per_score_is_missing(tmp_path: Path) -> None:
    with open_results(make_store(tmp_path / "run").path) as results:
        columns = results.query("DESCRIBE scores_long")["column_name"]
    assert len(columns) == 22
    assert set(columns) <= names("column")


def test_keys_are_those_of_files() -> None:
    schemas = [one.model_json_schema(by_alias=True) for one in (Study, Benchmark)]
    parts = [part for one in schemas for part in (one, *one["$defs"].values())]
    assert names("key") <= {name for part in parts for name in part.get("properties", ())}


@pytest.mark.parametrize(
    ("kind", "page"), [("column", "results.md"), ("option", "cli.md"), ("word", "rest.md")]
)
def test_what_is_named_is_on_the_page_of_its_kind_or_in_answers(kind: str, page: str) -> None:
    text, given = (DOCS / page).read_text("utf-8"), names(kind)
    assert len(given) > 8
    told = set(re.findall(r"`([\w-]+)`", text)) | set(re.findall(r"{(\w+)}", text))
    assert given - told <= ANSWERED
