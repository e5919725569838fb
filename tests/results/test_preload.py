"""Rows of whole images in memory: the same tables, read from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from sightline.results import Results, open_results
from sightline.results._catalogue import Where
from sightline.results._lines import Line, make_lines
from sightline.results._sums import Found, sum_up
from sightline.results.images import scores_of_images

if TYPE_CHECKING:
    from collections.abc import Iterator

WHOLE = "stored.scores_in_memory"


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
    ((held,),) = own._tables.fetch("SELECT count(*) FROM stored.scores_in_memory")
    ((wanted,),) = own._tables.fetch("SELECT count(*) FROM stored.scores")
    assert 0 < held == wanted


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


def lines_of(found: Results) -> list[Line]:
    tables = found._tables
    ways = ("all", "best", "split", "last")
    return [line for way in ways for line in make_lines(tables, tables.names[0], Where(), way)]


def test_scores_of_images_are_the_same_out_of_one_query_for_all_lines(own: Results) -> None:
    lines, names = lines_of(own), own._tables.names[:3]
    before = [scores_of_images(own._tables, name, line) for name in names for line in lines]
    own._tables.preload()
    after = [scores_of_images(own._tables, name, line) for name in names for line in lines]
    assert before
    for one, other in zip(before, after, strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)


def plain(found: Found) -> list[object]:
    return [
        (key, pick, [(repr(one.sums), one.numbers.tolist(), one.values.tolist()) for one in halves])
        for key, candidates in found.items()
        for pick, halves in candidates.items()
    ]


def test_sums_of_some_maps_are_those_out_of_all(own: Results) -> None:
    tables, name = own._tables, own._tables.names[0]
    line = lines_of(own)[0]
    model, pick = line.model, line.picks[0]
    wheres = [
        Where(),
        Where((model,)),
        Where(methods=(pick.method,)),
        Where(layer=0),
        Where(seed=0),
    ]
    before = [plain(sum_up(tables, [name], where)[name]) for where in wheres]
    tables.preload()
    assert [plain(sum_up(tables, [name], where)[name]) for where in wheres] == before


def test_what_is_in_memory_is_asked_for_once(own: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    tables, name = own._tables, own._tables.names[0]
    tables.preload()
    line = lines_of(own)[0]
    wanted = scores_of_images(tables, name, line)
    monkeypatch.setattr(tables, "arrow", None)  # whoever asks again fails
    monkeypatch.setattr(tables, "frame", None)
    pd.testing.assert_frame_equal(scores_of_images(tables, name, line), wanted, check_exact=True)
    assert make_lines(tables, name, Where((line.model,)), "all")
    monkeypatch.undo()
    own.close()
    assert not tables._at_hand
