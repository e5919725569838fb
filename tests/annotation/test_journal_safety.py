"""Killed processes and many writers: no decision is lost, and none is applied twice."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from sightline.annotation.completion import completed
from sightline.annotation.events import Conflict
from sightline.annotation.journal import Journal
from sightline.annotation.review import Review
from sightline.annotation.states import fold
from tests.annotation.reviews import BOX, IMAGES, event, new_review
from tests.annotation.worker import drawing

WORKER = Path(__file__).with_name("worker.py")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def work(*arguments: object) -> None:
    command = [sys.executable, str(WORKER), *map(str, arguments)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr


def told(folder: Path, pattern: str) -> list[list[str]]:
    return [
        line.split(maxsplit=1)
        for path in sorted(folder.glob(pattern))
        for line in path.read_text().splitlines()
    ]


def test_nothing_is_lost_or_doubled_when_writers_are_killed(tmp_path: Path) -> None:
    kills = 10
    new_review(tmp_path).close()
    work("kill", tmp_path, kills)
    said = told(tmp_path, "said-*.txt")
    sent = [name for word, name in said if word == "sent"]
    acknowledged = {name for word, name in said if word == "kept"}
    assert len({name.split("-")[0] for name in acknowledged}) == kills  # each wrote before it died
    with Journal.open(tmp_path) as journal:
        kept = Counter(stored.event.item for stored in journal.events())
        assert set(kept.values()) == {1}
        assert {f"drawn-{name}" for name in acknowledged} <= set(kept)
        # At most the last that each sent is in doubt; all are sent again, as after a lost answer.
        assert len(set(sent) - acknowledged) <= kills
        for name in sent:
            again = journal.append(drawing(name))
            assert again.repeated == (f"drawn-{name}" in kept)
        assert Counter(s.event.item for s in journal.events()) == Counter(
            f"drawn-{name}" for name in sent
        )
        assert len(completed(journal).annotations[IMAGES[2]].regions) == 1 + len(sent)
        numbers = [stored.number for stored in journal.events()]
        assert numbers == list(range(1, len(sent) + 1))


def test_many_processes_and_threads_decide_each_item_once(tmp_path: Path) -> None:
    new_review(tmp_path, count=12).close()
    work("compete", tmp_path, 4, 4)
    said = told(tmp_path, "won-*.txt")
    won = [name for word, name in said if word == "won"]
    drew = [name for word, name in said if word == "drew"]
    with Journal.open(tmp_path) as journal:
        events = journal.events()
        decided = [s for s in events if s.event.kind != "draw"]
        assert Counter(s.event.item for s in decided) == Counter(f"p{n}" for n in range(12))
        assert sorted(s.event.id for s in decided) == sorted(won)
        assert sorted(drew) == list("01234")
        assert len(events) == 12 + 5
        regions = {item.id: item.region for item in journal.items()}
        assert Review(journal).states == fold(events, regions)


def test_threads_share_a_journal_and_a_review(tmp_path: Path) -> None:
    with new_review(tmp_path) as journal:
        review = Review(journal)
        won: list[str] = []

        def decide(thread: int) -> None:
            for _ in range(8):
                version = review.item("p2").state.version
                try:
                    journal.append(event("accept", who=f"t{thread}"), expected=version)
                except Conflict:
                    continue
                won.append(f"t{thread}")

        threads = [threading.Thread(target=decide, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert Counter(won) == Counter(s.event.who for s in review.history("p2"))
        assert len(won) >= 8  # somebody always gets through


def test_two_tabs_see_each_other(tmp_path: Path) -> None:
    new_review(tmp_path).close()
    with Journal.open(tmp_path) as one, Journal.open(tmp_path) as other:
        first, second = Review(one), Review(other)
        assert len(second.queue()) == 6
        one.append(event("accept"))
        assert second.item("p2").state.status == "accepted"
        with pytest.raises(Conflict):
            other.append(event("reject"), expected=0)
        other.append(event("draw", "drawn-1", data=BOX))
        assert [view.id for view in first.image(IMAGES[2]).drawn] == ["drawn-1"]
        assert first.states == second.states
