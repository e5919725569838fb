"""A service over a study that is being computed: no error, and every answer of one moment."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient

from sightline.api import create_app, state
from sightline.study import Watch, run_study
from tests.study.executors.studies import given_study

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.study import Run

IMAGES, METHODS = 8, ("one", "two")
ASKED = ("progress", "leaderboard", "images", "metrics", "study", "export/leaderboard.csv")
ALLOWED = (200, 409)  # 409: nothing of it is stored yet


class Looking(Watch):
    """Asks a service over the store, after each task and all the time in threads of its own."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self.client: TestClient | None = None
        self.seen: list[dict[str, Any]] = []
        self.statuses: list[tuple[str, int]] = []
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self._ask, args=(place,)) for place in (0,)]

    def moved(self, run: Run) -> None:
        if self.client is None:
            self.client = TestClient(create_app(self.store), base_url="http://127.0.0.1")
            self.client.__enter__()
            for thread in self.threads:
                thread.start()
        found = {name: self.client.get(f"/api/{name}") for name in ASKED}
        self.statuses += [(name, answer.status_code) for name, answer in found.items()]
        progress = found["progress"].json()
        again = self.client.get("/api/progress").json()
        board = found["leaderboard"].json().get("lines", [])
        self.seen.append({"before": progress, "lines": board, "after": again})

    def _ask(self, place: int) -> None:
        assert self.client is not None
        while not self.over.is_set():
            name = ASKED[place % len(ASKED)]
            self.statuses.append((name, self.client.get(f"/api/{name}").status_code))
            place += 1

    def end(self) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join()
        assert self.client is not None
        self.client.__exit__(None, None, None)


@pytest.fixture(scope="module")
def looked(tmp_path_factory: pytest.TempPathFactory) -> Looking:
    """What a service told while a study was computed, and afterwards."""
    folder = tmp_path_factory.mktemp("running")
    study = given_study(folder / "data", images=IMAGES, methods=METHODS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state, "_PAUSE", 0.0)  # it looks at the folder whenever it is asked
        patch.setattr(state, "_REST", 0.0)
        looking = Looking(folder / "out" / study.name)
        try:
            run = run_study(study, folder / "out", workers=1, watch=looking)
            assert run.complete
            assert looking.client is not None
            looking.moved(run)
        finally:
            looking.end()
    return looking


def test_nothing_fails_while_a_study_is_computed(looked: Looking) -> None:
    assert {one for one in looked.statuses if one[1] not in ALLOWED} == set()
    answered = {name for name, status in looked.statuses if status == 200}
    assert answered == set(ASKED)


def test_what_is_told_grows_with_the_study(looked: Looking) -> None:
    done = [one[when]["done"] for one in looked.seen for when in ("before", "after")]
    rows = [one[when]["rows"] for one in looked.seen for when in ("before", "after")]
    assert done == sorted(done)
    assert rows == sorted(rows)
    assert len(set(done)) > 3  # it was seen on its way
    assert all(one["before"]["running"] for one in looked.seen[:-1])
    assert (looked.seen[-1]["after"]["running"], looked.seen[-1]["after"]["finished"]) == (
        False,
        True,
    )


def test_a_leaderboard_on_the_way_counts_the_images_that_are_there(looked: Looking) -> None:
    for one in looked.seen:
        assert all(0 < line["n"] + line["undefined"] <= IMAGES for line in one["lines"])
    counts = [sum(line["n"] for line in one["lines"]) for one in looked.seen]
    assert len(set(counts)) > 2


def test_in_the_end_it_tells_what_a_new_service_tells(looked: Looking) -> None:
    with TestClient(create_app(looked.store), base_url="http://127.0.0.1") as fresh:
        lines = fresh.get("/api/leaderboard").json()["lines"]
    assert looked.seen[-1]["lines"] == lines
    assert len(lines) == len(METHODS)
