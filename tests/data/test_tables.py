from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sightline
from sightline.core import InputError
from sightline.data import CSVWriter, check_table_path, tables, write_csv, write_table

FRAME = pd.DataFrame(
    {
        "image": ["a", "a"],
        "region": pd.array([None, 3], dtype="Int32"),
        "label": ["", 'arch, "round"'],
        "iou@90": [0.1 + 0.2, np.nan],
    }
)


def test_csv_keeps_every_digit(tmp_path: Path) -> None:
    write_table(FRAME, tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines == [
        "image,region,label,iou@90",
        "a,,,0.30000000000000004",
        'a,3,"arch, ""round""",',
    ]


TEXTS = ["=1+1", "@x", "+1", "+cmd", "-1.5e3", "-1+cmd|' /C'!A0", "-a.png", "a=b", "\t=1", "\r=1",
         "a\r=1", "a\r\n=1", None]  # fmt: skip
SAFE = ["'=1+1", "'@x", "+1", "'+cmd", "-1.5e3", "'-1+cmd|' /C'!A0", "'-a.png", "a=b", "'\t=1",
        "'\n=1", "a\n=1", "a\n=1", None]  # fmt: skip


@pytest.mark.parametrize("kind", ["object", "string", "category"])
def test_no_text_in_csv_is_a_formula(tmp_path: Path, kind: str) -> None:
    names = {"text": "=name", "value": "value"}
    texts: Any = pd.Series(TEXTS, dtype=object).astype(kind)  # type: ignore[call-overload]
    frame = pd.DataFrame({"text": texts, "value": -1.0}).rename(columns=names)
    before = frame.copy()
    write_csv(frame, tmp_path / "t.csv", digits=10)
    with (tmp_path / "t.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["'=name", "value"]
    assert [row[0] or None for row in rows] == SAFE
    assert {row[1] for row in rows} == {"-1"}
    pd.testing.assert_frame_equal(frame, before)


KINDS = (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string()))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_no_text_of_batches_is_a_formula(tmp_path: Path, kind: pa.DataType) -> None:
    texts = pa.array(TEXTS, pa.string()).cast(kind)
    table = pa.table({"=name": texts, "value": [-1.0] * len(TEXTS)})
    writer = CSVWriter(tmp_path / "t.csv", table.schema)
    for batch in table.to_batches(max_chunksize=4):
        writer.write_batch(batch)
    writer.close()
    with (tmp_path / "t.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["'=name", "value"]
    assert [row[0] or None for row in rows] == SAFE


def test_csv_is_written_in_one_place() -> None:
    """Every other writer would have to escape formulas again."""
    root = Path(sightline.__file__).parent
    own = root / "data" / "csv_files.py"
    words = re.compile(r"\.to_csv\(|pyarrow\.csv|pyarrow import csv|csv\.writer|DictWriter")
    writers = {path for path in root.rglob("*.py") if words.search(path.read_text())}
    assert writers == {own}


def test_parquet_keeps_types(tmp_path: Path) -> None:
    write_table(FRAME, tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), FRAME)


def test_json_has_null_for_undefined(tmp_path: Path) -> None:
    write_table(FRAME, tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text()) == [
        {"image": "a", "region": None, "label": "", "iou@90": 0.1 + 0.2},
        {"image": "a", "region": 3, "label": 'arch, "round"', "iou@90": None},
    ]


def test_places_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"t\.xlsx: a table must end in \.csv, \.parquet, \.json"):
        check_table_path(tmp_path / "t.xlsx")
    with pytest.raises(InputError, match=r"folder .*none does not exist"):
        check_table_path(tmp_path / "none" / "t.csv")
    (tmp_path / "dir.csv").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        check_table_path(tmp_path / "dir.csv")
    with pytest.raises(InputError, match="must end in"):
        write_table(FRAME, tmp_path / "t")


def test_failure_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_table(FRAME, tmp_path / "t.csv")
    before = (tmp_path / "t.csv").read_bytes()

    def fail(frame: pd.DataFrame, path: Path) -> None:
        path.write_text("half of it")
        raise OSError("disk full")

    monkeypatch.setitem(tables._WRITERS, ".csv", fail)
    with pytest.raises(OSError, match="disk full"):
        write_table(FRAME, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_file_is_replaced(tmp_path: Path) -> None:
    write_table(FRAME, tmp_path / "t.csv")
    write_table(FRAME.iloc[:1], tmp_path / "t.csv")
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 2
