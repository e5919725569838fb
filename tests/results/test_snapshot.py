"""A store is read at one moment: manifest and tables that belong together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from sightline.core import InputError
from sightline.results import open_results
from sightline.store import images_table, regions_table
from tests.results.stores import KINDS, make_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sightline.store import Store

APART = (
    "its tables do not belong to its manifest: a run was cut off while it changed the study; "
    "run it again"
)


def mark_table(path: Path, plan: str | None) -> None:
    """Say in a table to which plan it belongs."""
    table = pq.read_table(path)
    mark = None if plan is None else {"sightline-plan": plan}
    pq.write_table(table.replace_schema_metadata(mark), path)


def mark(store: Store, manifest: str, images: str | None, regions: str | None) -> None:
    """Say in all parts of a store to which plan they belong."""
    store.save_manifest({**store.manifest(), "plan": manifest})
    mark_table(store.images_path, images)
    mark_table(store.regions_path, regions)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return make_store(tmp_path / "s", kinds=KINDS[7:8]).store


def test_tables_of_the_same_plan_are_read(store: Store) -> None:
    mark(store, "one", "one", "one")
    with open_results(store.path) as found:
        assert len(found.images()) == 8


@pytest.mark.parametrize("plans", [("two", "one", "one"), ("one", "two", "one"),
                                   ("one", "one", "two"), ("one", None, None)])  # fmt: skip
def test_tables_of_another_plan_are_refused(
    store: Store, monkeypatch: pytest.MonkeyPatch, plans: tuple[str, str | None, str | None]
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("sightline.store.snapshot.time.sleep", pauses.append)
    mark(store, *plans)
    with pytest.raises(InputError) as caught:
        open_results(store.path)
    assert str(caught.value) == f"{store.path}: {APART}"
    assert sum(pauses) == pytest.approx(1)


def test_a_run_that_is_replacing_them_is_waited_for(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[Callable[[], None]] = [
        lambda: store.save_manifest({**store.manifest(), "plan": "two"}),
        lambda: mark_table(store.regions_path, "two"),
    ]
    monkeypatch.setattr("sightline.store.snapshot.time.sleep", lambda _: steps.pop()())
    mark(store, "one", "two", "one")
    with open_results(store.path) as found:
        assert found.manifest["plan"] == "two"
        assert len(found.images()) == 8
    assert not steps


@pytest.mark.parametrize("connected", [False, True])
def test_what_a_run_replaces_is_seen_after_refreshing_only(tmp_path: Path, connected: bool) -> None:
    made = make_store(tmp_path / "s")
    store = made.store
    with open_results(made.path) as found, open_results(made.path) as other:
        if connected:
            found.leaderboard()
        lines: list[Any] = made.images.to_dict("records")
        pq.write_table(images_table(lines[:1]), store.images_path)
        pq.write_table(regions_table([]), store.regions_path)
        store.save_manifest({**store.manifest(), "sources": [KINDS[7].manifest()]})
        for _ in range(2):
            assert len(found.images()) == 8
            assert found.leaderboard()["method"].nunique() == 4
            assert len(found.feature_breakdown()) == 4
            assert found.query("SELECT count(*) AS n FROM regions")["n"][0] == len(made.regions)
            assert found.progress == (16, 16)
            found.close()  # what is opened again is the same
        other.refresh()
        assert other.progress == (2, 2)
        assert len(other.images()) == 1
        assert other.leaderboard()["method"].tolist() == ["center"]


def test_missing_tables_are_named(store: Store) -> None:
    store.regions_path.unlink()
    with pytest.raises(InputError, match=r"the store lacks .*regions\.parquet"):
        open_results(store.path)
