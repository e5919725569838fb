"""Checks are tasks as all others are: stopped, damaged or shared among workers, no bit changes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from sightline.attribution.sanity.table import STORED_CURVES, STORED_MEASURES, Row
from sightline.core import InputError, UnknownNameError
from sightline.results import export_results, open_results
from sightline.results.diff import diff_results
from sightline.results.digest import results_digest
from sightline.store import Store, check_tasks
from sightline.study import forecast_study, run_study
from tests.study.executors.studies import model_study, write_images
from tests.study.executors.test_same import StopAfter

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.attribution.sanity.table import Job
    from sightline.study import Study


@pytest.fixture(scope="module")
def study() -> Study:
    one = {"images": 3, "methods": "gradcam"}
    return model_study(
        models=["demo/cnn"],
        methods=["gradcam"],
        layers=-1,
        data={"name": "facades", "count": 3, "seed": 1},
        checks={
            "randomisation": {**one, "ways": "full", "seeds": 2},
            "faithfulness": {**one, "measures": "deletion", "steps": 2},
            "parts": one,
        },
    )


@pytest.fixture(scope="module")
def whole(study: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_study(study, tmp_path_factory.mktemp("whole"), workers=1).store.path


def test_checks_lie_beside_the_scores(whole: Path, tmp_path: Path) -> None:
    with open_results(whole) as results:
        frame = results.checks()
        assert results.progress == (1 + 3 + 4 + 4, 12)  # maps; draws and reference; removal; parts
        assert list(frame["check"].unique()) == [
            "reference", "randomisation", "faithfulness", "parts",
        ]  # fmt: skip
        assert set(results.query('SELECT DISTINCT "check" FROM scores_long')["check"]) == {""}
        assert len(results.query("SELECT * FROM scores")) == 3
        rows = results.query("SELECT * FROM checks")
        names = ["check", "method", "order", "draw", "stage_index", "stage", "image"]
        assert len(rows) == len(rows.drop_duplicates(names)) == 3 * (4 + 2 + 4 + 4)
        numbers = rows[list(STORED_MEASURES)].notna().sum().sum()
        points = sum(len(curve) for name in STORED_CURVES for curve in rows[name].dropna())
        assert numbers + points == len(frame)
        path = export_results(results, tmp_path / "all.sqlite", "sqlite")
        with closing(sqlite3.connect(path)) as base:
            assert base.execute("SELECT count(*) FROM checks").fetchone() == (len(rows),)
            assert base.execute('SELECT DISTINCT "check" FROM scores').fetchall() == [("",)]
        assert results.methods == ["gradcam"]
        assert set(results.leaderboard()["method"]) == {"gradcam"}
        full = frame[(frame["check"] == "randomisation") & (frame["measure"] == "spearman")]
        assert set(full["redraw"]) == {0, 1}
        assert set(full["stage_name"]) == {"all"}
        assert len(full) == 2 * 3
        again = results.checks("randomisation", measure="spearman")
        assert again["value"].tolist() == full["value"].tolist()
        with pytest.raises(UnknownNameError, match="'spearmann' are stored; did you mean 'spearm"):
            results.checks(measure="spearmann")
        assert set(results.checks("faithfulness")["method"]) == {
            "gradcam", "random", "centre", "edge",
        }  # fmt: skip


def test_stopped_and_damaged_runs_go_on_to_the_same_bits(
    study: Study, whole: Path, tmp_path: Path
) -> None:
    watch = StopAfter(5)
    run_study(study, tmp_path, workers=1, watch=watch, stop=watch.stop)
    store = Store(tmp_path / study.name)
    stored = sorted(store.done())
    assert 5 <= len(stored) < 12
    with open_results(store.path) as results:
        assert f"So far: {len(stored)} of 12 tasks" in results.checks().attrs["note"]
    checks = [task for task in check_tasks(store.manifest()) if task in stored]
    store.check_file(checks[0]).write_bytes(b"PAR1 cut off")
    store.check_file(checks[1]).unlink()
    run = run_study(study, tmp_path, workers=2)
    assert run.complete
    assert run.stored == len(stored) - 2
    assert results_digest(store.path) == results_digest(whole)
    for task in check_tasks(store.manifest()):
        assert store.check_file(task).read_bytes() == Store(whole).check_file(task).read_bytes()
    assert diff_results(whole, store.path).same


def test_a_check_without_memory_is_made_of_fewer_images_and_maps_stay(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {**study.to_dict(), "batch": 4, "checks": {"faithfulness": {"methods": "gradcam"}}}
    asked: list[int] = []

    def greedy(job: Job, samples: Any, partners: Any) -> list[Row]:
        asked.append(job.batch)
        if job.batch > 2:
            raise MemoryError("no room")
        return [Row(one.image_id, None, job.check, "deletion", "", 0.5) for one in samples]

    monkeypatch.setattr("sightline.study.plan.checks.check_rows", greedy)
    few = type(study).from_dict(keys)
    run = run_study(few, tmp_path, workers=1)
    assert run.complete
    assert run.notes[-1] == (
        "checking demo/cnn ran out of memory with 4 images at once: its tasks are done with 2."
    )
    assert run.store.manifest()["batches"] == {"checking demo/cnn": 2}
    assert {one.batch for one in run.plan.sources if one.kind == "model"} == {4}
    assert len(run.store.done()) == run.total  # no map was made twice
    again = run_study(few, tmp_path, workers=1)
    assert (again.stored, again.finished) == (run.total, 0)
    assert asked.count(2) == 4


def test_what_a_run_would_take_is_told_without_images_that_cannot_be_read(tmp_path: Path) -> None:
    write_images(tmp_path / "data", 4)
    study = model_study(
        models=["demo/cnn"],
        methods=["gradcam"],
        layers=-1,
        data={"name": "folder", "path": str(tmp_path / "data")},
        checks={"faithfulness": {"measures": "completeness"}},
    )
    file = tmp_path / "data" / "images" / "000.png"
    file.write_bytes(file.read_bytes()[:99])
    with pytest.raises(InputError, match=r"000\.png"):
        forecast_study(study, tmp_path)
    plan, expected, _ = forecast_study(study, tmp_path, skip_bad=True)
    assert list(plan.skipped or {}) == ["000.png"]
    checks = [one for one in expected if one.source.kind == "check"]
    assert [one.rows for one in checks] == [3] * 4


def test_checks_are_added_to_a_store_and_count_as_what_differs(
    study: Study, whole: Path, tmp_path: Path
) -> None:
    plain = study.to_dict() | {"checks": {}}
    first = run_study(type(study).from_dict(plain), tmp_path, workers=1)
    assert first.total == 1
    with open_results(first.store.path) as results:
        assert results.checks().empty
        assert "no checks" in results.checks().attrs["note"]
    assert not diff_results(whole, first.store.path).same
    assert results_digest(first.store.path) != results_digest(whole)
    some = study.to_dict() | {"checks": {"parts": study.to_dict()["checks"]["parts"]}}
    second = run_study(type(study).from_dict(some), tmp_path, workers=1)
    assert (second.stored, second.finished) == (1, 4)
    with open_results(second.store.path) as results, open_results(whole) as other:
        found, wanted = results.checks("parts"), other.checks("parts")
    assert found.drop(columns="value").equals(wanted.drop(columns="value"))
    assert found["value"].round(12).equals(wanted["value"].round(12))
