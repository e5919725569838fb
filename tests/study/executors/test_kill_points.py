"""A run that is killed at any point of any write has the same files in the end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sightline.core.kill_points import (
    FILE_POINTS,
    FOLDER_POINTS,
    KINDS,
    OUTPUT_POINTS,
    POINTS,
    REVIEW_POINTS,
    STUDY_POINTS,
)
from tests.point_kills import check_kills, kill_points

if TYPE_CHECKING:
    from pathlib import Path

# Writes under the final name at once, which is what must not be done.
IN_PLACE = """
from sightline.core.kill_points import reach
from sightline.store import files

def write(path, content, kind="file"):
    with path.open("wb") as file:
        reach("file:opened")
        file.write(content[: len(content) // 2])
        file.flush()
        reach("file:half")
        file.write(content[len(content) // 2 :])
    reach("file:synced")
    reach("file:renamed")

files.write_whole = write
"""
# Removes what the writer that was killed had put aside, which is what must not be done.
FORGET_OLD = """
import shutil
from sightline.store import detection

def recover(folder):
    for path in folder.glob("*~*[!k]"):
        shutil.rmtree(path)

detection._recover = recover
"""
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def test_all_points_are_tested() -> None:
    """Those of reviews are in `tests/annotation/test_kill_points.py`."""
    tested = {*STUDY_POINTS, *REVIEW_POINTS, *FILE_POINTS, *FOLDER_POINTS, *OUTPUT_POINTS}
    assert tested == set(POINTS)
    assert len(POINTS) == len(set(POINTS))


def test_a_run_survives_a_kill_at_each_point(tmp_path: Path) -> None:
    results = kill_points("kill_studies", tmp_path)
    check_kills(results, STUDY_POINTS)
    parts = {result.point: result.parts for result in results}
    for kind in KINDS:  # the kills hit what they should
        assert [parts[f"{kind}:{step}"] for step in ("opened", "half", "synced")] == [1, 1, 1]
        assert parts[f"{kind}:renamed"] == 0


def test_a_file_is_old_or_new_after_a_kill_at_each_point(tmp_path: Path) -> None:
    check_kills(kill_points("kill_files", tmp_path), FILE_POINTS)


def test_an_output_is_old_or_new_after_a_kill_at_each_point(tmp_path: Path) -> None:
    results = kill_points("kill_outputs", tmp_path)
    check_kills(results, OUTPUT_POINTS)
    assert [result.parts for result in results] == [0, 1, 1, 0]


def test_a_folder_is_old_or_new_after_a_kill_at_each_point(tmp_path: Path) -> None:
    results = kill_points("kill_folders", tmp_path)
    check_kills(results, FOLDER_POINTS)
    parts = {result.point: result.parts for result in results}
    assert parts == {point: int(point != "folder:renamed") for point in FOLDER_POINTS}


def test_a_writer_that_loses_a_folder_is_found(tmp_path: Path) -> None:
    found = kill_points("kill_folders", tmp_path, before=FORGET_OLD)
    assert {result.point for result in found if result.differences} == {"folder:moved"}


def test_a_writer_that_is_not_safe_is_found(tmp_path: Path) -> None:
    found = kill_points("kill_files", tmp_path, before=IN_PLACE)
    bad = {result.point for result in found if result.differences}
    assert bad == {"file:opened", "file:half", "file:synced"}
