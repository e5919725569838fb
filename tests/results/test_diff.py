"""Differences between stores against loops over the rows."""

from __future__ import annotations

import json
import math
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sightline.core import InputError
from sightline.results import diff_results
from sightline.store import write_table
from sightline.store.checksums import save_json
from tests.results.stores import KINDS, make_store

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from tests.results.stores import Made


def slow(a: pd.DataFrame, b: pd.DataFrame) -> dict[tuple[str, ...], dict[str, Any]]:
    """Match rows one by one."""
    keys = [
        name for name in a.columns if name not in ("study", "rules", "value", "area", "visible")
    ]

    def table(rows: pd.DataFrame) -> dict[tuple[str, ...], float]:
        return {
            tuple("" if str(x) == "nan" else str(x) for x in row[:-1]): row[-1]
            for row in rows[[*keys, "value"]].itertuples(index=False, name=None)
        }

    one, other = table(a), table(b)
    out: dict[tuple[str, ...], dict[str, Any]] = {}
    for key in {*one, *other}:
        named = dict(zip(keys, key, strict=True))
        model = named["model"] + (f"@{named['variant']}" if named["variant"] else "")
        name = named["metric"] + (f"@{named['threshold']}" if named["threshold"] else "")
        if named["check"]:
            name = f"{named['check'].partition('/')[0]}: {named['metric']}"
        line = out.setdefault(
            (model, named["method"], name),
            {"both": 0, "only_a": 0, "only_b": 0, "changed": 0, "gaps": []},
        )
        if key not in other:
            line["only_a"] += 1
        elif key not in one:
            line["only_b"] += 1
        else:
            x, y = one[key], other[key]
            line["both"] += 1
            line["changed"] += x != y and not (math.isnan(x) and math.isnan(y))
            if not math.isnan(x) and not math.isnan(y):
                line["gaps"].append(y - x)
    return out


def test_scores_are_matched_row_by_row(made: Made, tmp_path: Path) -> None:
    other = make_store(tmp_path / "o", seed=0, kinds=KINDS[:6], ties="include")
    found = diff_results(made.path, other.path)
    expected = slow(made.rows, other.rows)
    assert not found.same
    assert len(found.scores) == len(expected)
    for _, line in found.scores.iterrows():
        mine = expected[line["model"], line["method"], line["metric"]]
        for column in ("both", "only_a", "only_b", "changed"):
            assert line[column] == mine[column], column
        if mine["gaps"]:
            assert line["largest"] == pytest.approx(max(map(abs, mine["gaps"])))
            assert line["mean"] == pytest.approx(sum(mine["gaps"]) / len(mine["gaps"]), abs=1e-12)
        else:
            assert math.isnan(line["largest"])


def test_a_store_is_the_same_as_itself(made: Made) -> None:
    found = diff_results(made.path, made.path)
    assert found.same
    assert len(found.settings) == 0
    assert found.scores["both"].sum() == len(made.rows)


def test_the_names_of_study_and_rules_do_not_keep_rows_apart(made: Made, tmp_path: Path) -> None:
    other = make_store(tmp_path / "o")
    for path in [*other.score_files, *other.region_files]:
        table = pq.read_table(path)
        place = table.schema.get_field_index("rules")
        table = table.set_column(place, "rules", pa.array(["other"] * table.num_rows))
        write_table(path, table, kind="scores")
    assert diff_results(made.path, other.path).same


def test_one_changed_value_is_found(made: Made, tmp_path: Path) -> None:
    other = make_store(tmp_path / "o")
    path = other.score_files[0]
    table = pq.read_table(path)
    values = table.column("iou@90").to_pylist()
    place = next(i for i, value in enumerate(values) if value == 0)
    values[place] = 0.125
    column = table.schema.get_field_index("iou@90")
    write_table(path, table.set_column(column, "iou@90", pa.array(values)), kind="scores")
    found = diff_results(made.path, other.path)
    assert not found.same
    assert found.scores["changed"].sum() == 1
    assert found.scores["largest"].max() == 0.125


def test_settings_that_differ_are_listed(tmp_path: Path) -> None:
    a, b = (make_store(tmp_path / name, kinds=KINDS[7:8]) for name in "ab")
    manifest = json.loads(b.store.manifest_path.read_text())
    manifest["study"] |= {"ties": "include", "data": {"count": 9, "name": "x"}}
    manifest["versions"]["sightline"] = "1"
    manifest["git"] = "abc"
    manifest["data"]["digest"] = "e" * 64
    manifest["machine"] = {"name": "another"}
    manifest["models"] = [{"model": "demo/cnn", "variant": "", "digest": "f"}]
    b.store.save_manifest(manifest)
    found = diff_results(a.path, b.path)
    lines = {key: (x, y) for key, x, y in found.settings.itertuples(index=False, name=None)}
    assert lines == {
        "data.digest": ("d" * 64, "e" * 64),
        "git": (None, "abc"),
        "models": ({}, None),
        "models.demo/cnn.digest": (None, "f"),
        "models.demo/cnn.model": (None, "demo/cnn"),
        "models.demo/cnn.variant": (None, ""),
        "study.data.count": (None, 9),
        "study.data.name": (None, "x"),
        "study.ties": ("share", "include"),
        "versions.sightline": ("0", "1"),
    }
    assert found.same  # the scores are


def test_stores_without_checks_are_the_same_whatever_their_version(
    made: Made, tmp_path: Path
) -> None:
    path = shutil.copytree(made.path, tmp_path / "older")
    manifest = json.loads((path / "manifest.json").read_text())
    nothing: list[Any] = [[], {}]
    for checks in nothing:
        manifest["study"]["checks"] = checks
        save_json(path / "manifest.json", manifest)
        assert diff_results(made.path, path).same


def test_nothing_stored(made: Made, tmp_path: Path) -> None:
    empty = make_store(tmp_path / "e", kinds=KINDS[:1], skip=(0, 1))
    with pytest.raises(InputError, match="nothing is stored yet"):
        diff_results(made.path, empty.path)
