"""A study that changes: what is missing is added, what is there stays, nothing is mixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.study import Run, forecast_study, run_study
from tests.study.executors.studies import (
    check_whole,
    given_study,
    model_study,
    stamps,
    table,
    table_bytes,
)

if TYPE_CHECKING:
    from pathlib import Path

METRICS = ["iou", "coverage"]


class Place:
    """A store that several versions of a study go to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.fresh = 0
        given_study(folder / "data", images=12, methods="abc")  # writes all files

    def run(self, **changes: Any) -> Run:
        """Run a version of the study, and check its table against a run of its own."""
        old = stamps(self.folder / "given") if (self.folder / "given").exists() else {}
        keys = {"methods": "ab", "metrics": METRICS, "data": {"count": 8}, **changes}
        study = given_study(self.folder / "data", images=12, **keys)
        run = run_study(study, self.folder, workers=1)
        now = stamps(self.folder / "given")
        assert {name: now[name] for name in old} == old, "a stored shard was written anew"
        assert len(now) - len(old) == 2 * run.finished  # scores and region_scores
        self.fresh += 1
        alone = run_study(study, self.folder / f"fresh{self.fresh}", workers=1).store.path
        check_whole(run.store.path)
        assert table_bytes(run.store.path) == table_bytes(alone)
        return run


def counts(run: Run) -> tuple[int, int]:
    """Return how many tasks were there and how many were done."""
    assert run.complete
    return run.stored, run.finished


def methods_of(run: Run) -> set[str]:
    return set(table(run.store.path)["method"].to_pylist())


def test_only_a_new_method_is_computed(tmp_path: Path) -> None:
    place = Place(tmp_path)
    assert counts(place.run()) == (0, 8)
    more = place.run(methods="abc")
    assert counts(more) == (8, 4)
    assert methods_of(more) == {"a", "b", "c"}
    fewer = place.run(methods="b")
    assert counts(fewer) == (4, 0)
    assert methods_of(fewer) == {"b"}
    assert counts(place.run()) == (8, 0)


@pytest.mark.parametrize(
    ("key", "value", "metrics", "thresholds"),
    [
        ("metrics", [*METRICS, "pointing"], {"iou", "coverage", "pointing"}, {"50", "90", ""}),
        ("percentiles", [50, 75, 90], {"iou", "coverage"}, {"50", "75", "90", ""}),
    ],
)
def test_a_new_metric_or_percentile_is_a_new_task(
    tmp_path: Path, key: str, value: Any, metrics: set[str], thresholds: set[str]
) -> None:
    place = Place(tmp_path)
    first = place.run()
    before = table_bytes(first.store.path)
    more = place.run(**{key: value})
    assert counts(more) == (0, 8)
    rows = table(more.store.path)
    assert set(rows["metric"].to_pylist()) == metrics
    assert set(rows["threshold"].to_pylist()) == thresholds
    back = place.run()
    assert counts(back) == (8, 0)
    assert table_bytes(back.store.path) == before


def test_more_images_add_chunks(tmp_path: Path) -> None:
    place = Place(tmp_path)
    assert counts(place.run()) == (0, 8)
    assert counts(place.run(data={"count": 12})) == (8, 4)
    # The last chunk of an odd number is another chunk.
    odd = place.run(data={"count": 7})
    assert counts(odd) == (6, 2)
    assert set(table(odd.store.path)["image"].to_pylist()) == {f"{n:03}.png" for n in range(7)}
    assert counts(place.run(data={})) == (12, 0)


@pytest.mark.parametrize(
    ("key", "value"),
    [("sign", "absolute"), ("ties", "include"), ("resolution", 20), ("resolution", "pixels")],
)
def test_other_rules_never_mix(tmp_path: Path, key: str, value: Any) -> None:
    place = Place(tmp_path)
    first = place.run()
    rules = set(table(first.store.path)["rules"].to_pylist())
    other = place.run(**{key: value})
    assert counts(other) == (0, 8)
    assert not rules & set(table(other.store.path)["rules"].to_pylist())
    back = place.run()
    assert counts(back) == (8, 0)
    assert set(table(back.store.path)["rules"].to_pylist()) == rules


def test_changed_maps_are_scored_anew(tmp_path: Path) -> None:
    import numpy as np

    place = Place(tmp_path)
    first = place.run()
    before = table(first.store.path)
    file = tmp_path / "data" / "a" / "003.npy"
    np.save(file, np.load(file)[::-1])
    again = place.run()
    assert counts(again) == (4, 4)  # of method b nothing is new
    rows = table(again.store.path)
    assert rows.filter(rows["method"].to_numpy() == "b").equals(
        before.filter(before["method"].to_numpy() == "b")
    )
    assert not rows.equals(before)


def test_a_mean_follows_the_images_it_is_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sightline.study.plan.planner.CHUNK", 2)
    methods = ["cls", "mean_map"]
    facades = {"name": "facades", "seed": 1, "labelling": "representative"}
    fewer = model_study(methods=methods, data={**facades, "count": 3})
    more = model_study(methods=methods, data={**facades, "count": 4})
    first = run_study(fewer, tmp_path, workers=1)
    assert counts(first) == (0, 4)
    # One chunk of attention is there; both chunks of means are of other images now.
    second = run_study(more, tmp_path, workers=1)
    assert counts(second) == (1, 3)
    alone = run_study(more, tmp_path / "fresh", workers=1)
    assert table_bytes(second.store.path) == table_bytes(alone.store.path)
    assert counts(run_study(fewer, tmp_path, workers=1)) == (4, 0)


def test_maps_of_other_images_change_nothing(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.run()
    np.save(tmp_path / "data" / "a" / "elsewhere.npy", np.ones((3, 3)))
    assert counts(place.run()) == (8, 0)


def test_a_forecast_is_of_what_a_run_would_do(tmp_path: Path) -> None:
    study = given_study(tmp_path / "data", images=6, methods="ab")
    first = forecast_study(study, tmp_path, workers=4)
    assert not (tmp_path / study.name).exists()
    assert [(one.tasks, one.stored) for one in first.expected] == [(3, 0), (3, 0)]
    assert first.workers == 4
    run = run_study(study, tmp_path, workers=1)
    assert sum(one.rows for one in first.expected) == run.rows
    then = forecast_study(study, tmp_path)
    assert [(one.tasks, one.stored, one.seconds) for one in then.expected] == [(3, 3, 0.0)] * 2
    assert then.workers == 1
