"""A kill at any step of a transaction of a review: what was acknowledged is there, once."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from sightline.core.kill_points import REVIEW_POINTS
from tests.point_kills import check_kills, kill_points

if TYPE_CHECKING:
    from pathlib import Path

KILLS = 4  # at each point; a writer comes to most of them several times
# Each statement is saved by itself, which is what must not be done.
NO_TRANSACTION = """
from contextlib import contextmanager
from sightline.annotation import journal
from sightline.core.kill_points import reach

@contextmanager
def save_each(connection):
    reach("review:begun")
    yield
    reach("review:before-commit")
    reach("review:after-commit")

journal.transaction = save_each
"""
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def test_decisions_survive_a_kill_at_each_point(tmp_path: Path) -> None:
    check_kills(kill_points("kill_reviews", tmp_path, count=KILLS), REVIEW_POINTS, KILLS)


def test_proposals_that_are_added_in_part_are_found(tmp_path: Path) -> None:
    found = kill_points("kill_reviews", tmp_path, count=KILLS, before=NO_TRANSACTION)
    assert {"review:executed"} <= {result.point for result in found if result.differences}
