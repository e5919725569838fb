from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from sightline.data import check_table_path, tables, write_table
from sightline.records import InputError

if TYPE_CHECKING:
    from pathlib import Path

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
