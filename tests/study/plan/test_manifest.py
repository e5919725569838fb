"""What a store says of itself."""

from __future__ import annotations

import json
import platform
import subprocess
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from sightline.store import create_store
from sightline.study.plan import manifest as module
from sightline.study.plan.manifest import git_commit, manifest_of, package_versions, timestamp
from tests.study.studies import SHELF, make_folder, plan_of, study_of

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    command = ["git", *who, *arguments]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_the_commit_of_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert git_commit() is None
    git(tmp_path, "init", "-q")
    assert git_commit() is None  # nothing is committed
    (tmp_path / "study.yml").write_text("name: a\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "First")
    head = git(tmp_path, "rev-parse", "HEAD")
    assert git_commit() == head
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "new").touch()
    assert git_commit() == head  # what git does not know is no change
    (tmp_path / "study.yml").write_text("name: b\n")
    assert git_commit() == f"{head}+changes"


def test_without_git_there_is_no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_commit() is None

    def hang(*_: object, **__: object) -> None:
        raise subprocess.TimeoutExpired("git", 10)

    monkeypatch.setattr(subprocess, "run", hang)
    assert git_commit() is None


def test_versions_are_those_installed() -> None:
    found = package_versions()
    assert found["python"] == platform.python_version()
    assert found["numpy"] == np.__version__
    assert {"sightline", "torch", "pyarrow", "transformers"} <= set(found)
    assert all(found[name] == version(name) for name in found if name != "python")


def test_a_package_that_is_missing_has_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PACKAGES", ("numpy", "no-such-package"))
    assert set(package_versions()) == {"python", "numpy"}


def test_a_manifest_is_plain_json(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "f", 20)
    changes = {
        "models": ["demo/vit", "demo/cnn"],
        "methods": ["cls", "gradcam", "random"],
        "heads": "all",
        "layers": [0, 3],
    }
    study, plan = study_of(folder, **changes), plan_of(folder, **changes)
    plan = plan.without({"003.png": "torn"})
    old = {"runs": [{"tasks": 3}], "batches": {"demo/vit": 8}, "study": "of an earlier run"}
    content = manifest_of(study, plan, old)
    store = create_store(tmp_path / "s")
    store.save_manifest(content)
    found = store.manifest()
    assert found == {"format": 2, **json.loads(json.dumps(content))}
    assert found == {"format": 2, **content}  # nothing becomes another thing on the way
    assert store.tasks() == [
        task.name for task in sorted(plan.tasks, key=lambda task: (task.chunk, task.source))
    ]
    assert found["study"] == study.to_dict()
    assert found["runs"] == old["runs"]
    assert found["batches"] == old["batches"]
    assert found["threads"] == 1
    assert found["data"]["images"] == 19
    assert found["data"]["digest"] == plan.data_digest
    assert found["data"]["taxonomy"] == {"door": []}
    assert found["chunks"] == [
        {"images": len(chunk.images), "digest": chunk.digest} for chunk in plan.chunks
    ]
    assert [(one["model"], one["method"]) for one in found["left_out"]] == [("demo/cnn", "cls")]
    digest = plan.cards.cards[3].digest
    assert found["skipped"] == [{"image": "003.png", "why": "torn", "digest": digest}]


def test_models_and_sources_of_a_manifest(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "f", 2)
    changes = {"models": ["demo/vit@seed2", "demo/cnn"], "methods": ["random", "gradcam"]}
    study, plan = (
        study_of(folder, **changes, layers="all"),
        plan_of(folder, **changes, layers="all"),
    )
    found = manifest_of(study, plan, {})
    assert [(one["model"], one["variant"], one["layers"]) for one in found["models"]] == [
        ("demo/vit", "seed2", 12),
        ("demo/cnn", "", 4),
    ]
    for one, source in zip(found["models"], plan.sources[::2], strict=True):
        assert one["digest"] == SHELF.model(source.name, "squash").digest
        assert (one["fit"], one["batch"]) == ("squash", 4)
    for one, source in zip(found["sources"], plan.sources, strict=True):
        assert (one["key"], one["rules"]) == (source.key, source.rules)
        assert one["layers"] == list(source.layers)
        assert one["heads"] == [None]
        assert one["seed"] == source.seed
        assert one["group"] == source.group
    assert found["runs"] == []


def test_regions_of_images_that_are_left_out_are_not_counted(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "f", 4)  # 1, 2, 1 and 2 regions
    plan = plan_of(folder, methods=["random"])
    study = study_of(folder, methods=["random"])
    assert manifest_of(study, plan, {})["data"]["regions"] == 6
    fewer = manifest_of(study, plan.without({"003.png": "torn"}), {})
    assert (fewer["data"]["images"], fewer["data"]["regions"]) == (3, 4)


def test_a_time_says_its_zone() -> None:
    assert timestamp().endswith("+00:00")
