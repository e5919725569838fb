"""`sightline demo --photos`: photographs and a model of ImageNet, from the study to its report."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from sightline.attribution.methods import METHODS
from sightline.cli import progress
from sightline.core import MissingPackageError
from sightline.data import photos as module
from sightline.models import MODELS, efficientnet
from sightline.results import open_results
from sightline.study import Study, load_study, photos_study, plan_study, to_yaml
from tests.cli.small import run, stopped

NAME = "pypi:efficientnet_lite0"


def small_study() -> Study:
    values = photos_study().to_dict()
    values |= {"layers": [-1], "percentiles": [90], "resolution": "grid"}
    values["methods"] = ["gradcam", "edge", "centre"]
    values["data"]["count"] = 3
    return Study.from_dict(values)


def test_the_study_of_the_photos(tmp_path: Path) -> None:
    found = photos_study()
    assert (found.name, found.data.name, found.resolution) == ("photos", "photos", 224)
    assert [entry.full for entry in found.models] == [NAME]
    assert NAME in MODELS
    (tmp_path / "study.yml").write_text(to_yaml(found))
    assert load_study(tmp_path / "study.yml") == found
    baselines = {name for name, card in METHODS.items() if card.group == "baseline"}
    assert baselines <= {method.name for method in found.methods}
    plan = plan_study(found)
    assert plan.left_out == ()  # every method fits the model
    assert len(plan.cards.cards) == 7


def test_the_demo_of_photos_ends_with_what_it_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported = []

    def written(path: Path, **options: Any) -> None:
        reported.append(path)
        raise MissingPackageError("no matplotlib here")

    monkeypatch.setattr("sightline.study.photos_study", small_study)
    monkeypatch.setattr("sightline.report.write_report", written)
    monkeypatch.chdir(tmp_path)
    said = run("demo", "--photos", "--workers", 1).stdout
    store = Path("runs/photos")
    assert said.startswith("Plan: 3 images with ")
    assert said.endswith("No report: no matplotlib here\n")
    assert reported == [store]
    with open_results(store) as results:
        lines = results.leaderboard()
    assert set(lines["method"]) == {"gradcam", "edge", "centre"}
    assert set(lines["model"]) == {NAME}
    for method in lines["method"]:
        assert any(line.split()[1:2] == [method] for line in said.splitlines())
    commands = [line.strip() for line in said.splitlines() if line.startswith("  sightline ")]
    assert f"sightline compare {store} --a gradcam --b centre --by method" in commands
    for command in commands:  # what is told to be next can be typed
        run(*shlex.split(command)[1:])


def test_a_stopped_demo_of_photos_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sightline.study.photos_study", small_study)
    monkeypatch.setattr(progress, "stopping", stopped)
    said = run("demo", "--photos", "--out", tmp_path, code=130).stdout
    command = shlex.split(said.splitlines()[-1])
    assert command == ["sightline", "demo", "--photos", "--out", str(tmp_path)]


@pytest.mark.parametrize(
    ("place", "extra"), [(efficientnet, "efficientnet"), (module, "models")], ids=["model", "data"]
)
def test_what_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: Any, extra: str
) -> None:
    monkeypatch.setattr(place, "find_spec", lambda name: None)
    result = run("demo", "--photos", "--out", tmp_path, code=2)
    assert result.stderr.startswith("error: ")
    assert result.stderr.endswith(f"pip install 'sightline[{extra}]'\n")
    assert not list(tmp_path.glob("photos/scores/*"))
