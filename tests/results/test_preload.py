"""Rows of whole images in memory: the same tables, read from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from sightline.results import Results, open_results

if TYPE_CHECKING:
    from collections.abc import Iterator

WHOLE = "rows_of_images"


@pytest.fixture
def own(results: Results) -> Iterator[Results]:
    """Results of their own, so that others read files as ever."""
    with open_results(results.path) as found:
        yield found


def tables_of(found: Results) -> list[pd.DataFrame]:
    return [
        found.leaderboard(),
        found.leaderboard(layer="split"),
        found.layer_progression(),
        found.images("coverage"),
        found.feature_breakdown(),
    ]


def reads_memory(found: Results, *, whole: bool) -> bool:
    return WHOLE in found._tables.scores(found._tables.names[:1], whole=whole)


def test_tables_are_the_same_from_memory(own: Results) -> None:
    before = tables_of(own)
    assert not reads_memory(own, whole=True)
    assert own._tables.preload()
    assert reads_memory(own, whole=True)
    assert not reads_memory(own, whole=False)
    for one, other in zip(before, tables_of(own), strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)


def test_it_holds_the_rows_of_whole_images_and_no_others(own: Results) -> None:
    own._tables.preload()
    ((held,),) = own._tables.fetch("SELECT count(*) FROM rows_of_images")
    ((wanted,),) = own._tables.fetch("SELECT count(*) FROM rows WHERE region IS NULL")
    ((every,),) = own._tables.fetch("SELECT count(*) FROM rows")
    assert 0 < held == wanted < every


def test_too_many_rows_stay_in_their_files(own: Results) -> None:
    assert not own._tables.preload(most=1)
    assert not reads_memory(own, whole=True)
    assert own._tables.preload()
    assert own._tables.preload()  # again: nothing to do


def test_what_is_closed_reads_files_again(own: Results) -> None:
    own._tables.preload()
    wanted = own.leaderboard()
    own.close()
    assert not reads_memory(own, whole=True)
    pd.testing.assert_frame_equal(own.leaderboard(), wanted, check_exact=True)
