"""Health, progress, metrics and the study, beside what the store and the library say."""

from __future__ import annotations

import os
import shutil
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from fastapi.testclient import TestClient

from sightline import __version__
from sightline.api import create_app
from sightline.api.routes import system
from sightline.metrics import METRICS
from sightline.results import open_results
from sightline.store import hold
from sightline.study import Study
from tests.study.executors.studies import table

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.results import Results


@pytest.fixture(scope="module")
def results(api_store: Path) -> Results:
    """What the store holds."""
    return open_results(api_store)


@pytest.fixture(scope="module")
def study(client: TestClient) -> dict[str, Any]:
    """What the service says of the study."""
    found: dict[str, Any] = client.get("/api/study").json()
    return found


@pytest.fixture
def begun(api_store: Path, tmp_path: Path) -> TestClient:
    """A client of a store of which nothing is stored yet."""
    copy = shutil.copytree(api_store, tmp_path / "begun")
    for folder in ("scores", "region_scores", "checks"):
        shutil.rmtree(copy / folder)
        (copy / folder).mkdir()
    return TestClient(create_app(copy), base_url="http://127.0.0.1")


# --- health --------------------------------------------------------------------------------------


def test_health_tells_what_is_loaded(client: TestClient, results: Results) -> None:
    found = client.get("/api/health").json()
    assert (found["status"], found["version"]) == ("ok", __version__)
    assert (found["tasks_done"], found["tasks_all"]) == tuple(results.progress)
    assert (found["images"], found["models"]) == (12, len(results.models))
    assert found["detection"] == ["eager"]
    for what in ("pictures", "maps", "heads", "sparsity"):
        assert found[what] is True
        assert what not in found["missing"]
    assert set(found["checks"]) == {one["part"] for one in results.manifest["checks"]}
    assert found["prototypes"] == ["demo"]
    assert "prototypes" not in found["missing"]
    assert found["review"] is None
    assert "--review FOLDER" in found["missing"]["review"]


def test_health_of_a_study_that_has_just_begun(begun: TestClient) -> None:
    found = begun.get("/api/health").json()
    assert found["tasks_done"] == 0
    assert found["pictures"] is True
    assert found["maps"] is False
    assert "nothing is stored yet: 0 of" in found["missing"]["maps"]
    image = "facade-00000.png"
    tables = ("images", "leaderboard", "layers", "percentiles", "ranking", "sparsity", "heads")
    for path in (*tables, f"maps/{image}", f"metrics/{image}"):
        answer = begun.get(f"/api/{path}")
        assert answer.status_code == 409, path
        assert "nothing is stored yet" in answer.json()["detail"]


# --- progress ------------------------------------------------------------------------------------


def test_progress_of_a_finished_study(client: TestClient, results: Results) -> None:
    found = client.get("/api/progress").json()
    assert (found["done"], found["all"]) == tuple(results.progress)
    assert (found["running"], found["finished"]) == (False, True)
    assert found["rows"] == table(results.path).num_rows
    assert found["updated"].endswith("+00:00")


def test_progress_sees_who_writes(client: TestClient, api_store: Path) -> None:
    with hold(api_store / "lock"):
        assert client.get("/api/progress").json()["running"] is True
    assert client.get("/api/progress").json()["running"] is False


def test_progress_counts_what_is_stored_now(api_store: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(api_store, tmp_path / "copy")
    with TestClient(create_app(copy), base_url="http://127.0.0.1") as asked:
        whole = asked.get("/api/progress").json()
        for folder in (copy / "scores", copy / "checks"):
            min(folder.iterdir()).unlink()
            (folder / ".half-written.parquet").write_text("")
            (folder / "000000-of-another-plan.parquet").write_text("")
        found = asked.get("/api/progress").json()
    assert found["done"] == whole["done"] - 2
    assert found["finished"] is False


def test_the_folders_of_tasks_are_listed_when_one_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever polls costs little; a folder that changed this very second is not trusted."""
    scores, checks = folders = [tmp_path / name for name in ("scores", "checks")]
    for folder in folders:
        folder.mkdir()
    found: dict[Any, Any] = {}
    served: Any = SimpleNamespace(
        results=SimpleNamespace(path=tmp_path),
        kept=lambda key, make: found[key] if key in found else found.setdefault(key, make()),
    )
    listed: list[Path] = []
    plain = os.scandir

    def scandir(path: Path) -> Any:
        listed.append(path)
        return plain(path)

    monkeypatch.setattr(os, "scandir", scandir)

    def count(folder: Path, name: str, seconds_ago: float) -> int:
        (folder / f"{name}.parquet").touch()
        then = time.time() - seconds_ago
        os.utime(folder, (then, then))
        return system._stored(served, frozenset("abcd"))[0]

    assert count(scores, "x", 90) == 0
    assert len(listed) == 2
    os.utime(checks, (0, 0))
    assert [count(scores, "a", 60), count(scores, "a", 60), count(checks, "b", 30)] == [1, 1, 2]
    assert system._stored(served, frozenset("abcd"))[0] == 2
    assert listed == 4 * folders  # the last was kept
    assert [count(scores, "c", 0), count(checks, "d", 0)] == [3, 4]
    assert len(listed) == 12


def test_progress_of_a_study_that_has_just_begun(begun: TestClient) -> None:
    found = begun.get("/api/progress").json()
    assert (found["done"], found["finished"]) == (0, False)
    assert (found["rows"], found["updated"]) == (0, None)


# --- metrics -------------------------------------------------------------------------------------


def test_metrics_are_those_of_the_one_table(client: TestClient, results: Results) -> None:
    found = client.get("/api/metrics").json()
    assert [one["name"] for one in found["metrics"]] == list(METRICS)
    for one in found["metrics"]:
        spec = METRICS[one["name"]]
        assert one["meaning"] == spec.meaning
        assert one["direction"] == spec.direction
        assert one["chance"] == (spec.chance.formula if spec.chance else None)
        assert one["thresholded"] == spec.thresholded
        low, high = spec.range
        assert (one["low"], one["high"]) == tuple(
            end if abs(end) != float("inf") else None for end in (low, high)
        )
    assert found["stored"] == results.metrics
    assert found["default"] == "iou@90"
    assert set(found["sortable"]) == {*results.metrics, "image", "area", "regions", "split"}


# --- the study -----------------------------------------------------------------------------------


def test_the_study_is_told_as_it_was_run(study: dict[str, Any], api_store: Path) -> None:
    text = (api_store / "study.yml").read_text("utf-8")
    assert study["yaml"] == text
    assert Study.from_dict(study["study"]) == Study.from_dict(yaml.safe_load(text))
    assert study["path"] == api_store.name
    assert study["images"] == 12
    assert study["selections"] == ["percentile", "mass60"]
    assert study["percentiles"] == [95, 90, 85, 80, 75, 70, 60, 50]
    assert {"versions", "machine", "git", "runs", "left_out"} <= set(study["provenance"])


def test_the_plan_has_a_line_for_each_source(study: dict[str, Any], results: Results) -> None:
    columns, rows = study["plan"]["columns"], study["plan"]["rows"]
    lines = [dict(zip(columns, row, strict=True)) for row in rows]
    maps = [line for line in lines if not line["check"]]
    assert len(maps) == len(results.manifest["sources"])
    checks = {(one["model"], one["variant"], one["method"], one["target"], one["part"])
              for one in results.manifest["checks"]}  # fmt: skip
    assert len(lines) - len(maps) == len(checks)
    assert sum(line["tasks"] for line in lines) == results.progress.all
    assert sum(line["done"] for line in lines) == results.progress.done
    cls = next(line for line in lines if line["method"] == "cls")
    assert (cls["layers"], cls["heads"]) == (3, 4)


def test_models_and_methods_are_those_of_the_store(study: dict[str, Any], results: Results) -> None:
    models = {one["name"]: one for one in study["models"]}
    assert list(models) == results.models
    lora, cnn = models["demo/vit-dino@lora"], models["demo/cnn"]
    assert (lora["base"], lora["variant"], lora["heads"]) == ("demo/vit-dino", "lora", 4)
    assert (cnn["variant"], cnn["heads"], cnn["baseline"]) == ("", 0, False)
    assert "cls" not in cnn["methods"]
    methods = {one["name"]: one for one in study["methods"]}
    assert list(methods) == results.methods
    assert (methods["cls"]["group"], methods["cls"]["layered"]) == ("attention", True)
    assert methods["gradcam"]["targets"] == ["predicted"]
    assert methods["random"]["layered"] is False
    assert "Caron" in methods["cls"]["paper"]


def test_labels_count_the_regions_below_them(study: dict[str, Any], results: Results) -> None:
    labels = {one["label"]: one for one in study["labels"]}
    own = results.query(
        "SELECT label, count(*) AS n, count(DISTINCT image) AS images FROM regions "
        "WHERE dropped = '' GROUP BY label"
    )
    parents = results.manifest["data"]["taxonomy"]
    leaves = dict(zip(own["label"], own["n"], strict=True))
    for label, images in zip(own["label"], own["images"], strict=True):
        if not any(label in above for above in parents.values()):
            assert (labels[label]["count"], labels[label]["images"]) == (leaves[label], images)
    window = sum(n for label, n in leaves.items() if "window" in (label, *parents[label]))
    assert (
        labels["window"]["count"]
        == window
        > max(n for label, n in leaves.items() if "window" in parents[label])
    )
    assert labels["window"]["parents"] == []


def test_styles_and_splits_are_those_of_the_images(study: dict[str, Any], results: Results) -> None:
    found = results.query("SELECT unnest(labels) AS label, count(*) AS n FROM images GROUP BY 1")
    known = dict(zip(found["label"], found["n"], strict=True))
    assert {one["label"]: one["count"] for one in study["styles"]} == known
    splits = results.query("SELECT DISTINCT split FROM images WHERE split <> '' ORDER BY 1")
    assert study["splits"] == list(splits["split"])


def test_the_default_is_the_best_that_is_no_baseline(
    study: dict[str, Any], results: Results
) -> None:
    board = results.leaderboard()
    best = board[board["group"] != "baseline"].iloc[0]
    default = study["default"]
    assert (default["model"], default["method"]) == (best["model"], best["method"])
    assert default["layer"] == best["layer"]
    assert {"model", "method", "layer", "percentile"} <= set(default["chosen"])
    assert "baselines excluded" in default["why"]


def test_a_study_that_has_just_begun_has_no_default(begun: TestClient) -> None:
    found = begun.get("/api/study")
    assert found.status_code == 200
    assert found.json()["default"] is None
    assert begun.get("/api/metrics").json()["stored"] == []
    page = begun.get("/api/images")
    assert page.status_code == 409
    assert "nothing is stored yet" in page.json()["detail"]
