"""`sightline sanity`: runs checks where they are missing, and says in words what they found."""

from __future__ import annotations

import json
import re
import shutil
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from sightline.cli.sanity import _as_before, _asked, _has_all, _randomised, _with_checks
from sightline.cli.studies import RunOptions
from sightline.core import InputError
from sightline.results import open_results
from sightline.store import Store
from sightline.study import Study, load_study, to_yaml
from tests.cli.small import run

if TYPE_CHECKING:
    from pathlib import Path

LEAST: dict[str, Any] = {
    "name": "few",
    "data": {"name": "facades", "count": 3, "seed": 1},
    "models": "demo/cnn",
    "methods": ["gradcam"],
    "layers": -1,
    "metrics": ["iou"],
    "percentiles": [90],
    "batch": 4,
}
TABLES = ("verdicts", "cascade", "faithfulness", "parts", "correct", "accuracy", "agreement")


def test_a_store_with_checks_is_told_in_words(demo_store: Path) -> None:
    found = run("sanity", demo_store).output
    for title in (
        "Do maps depend on what the network learnt?",
        "as stages are drawn anew from the output down: demo/cnn",
        "Does the model rely on what maps rank first?",
        "Do maps rank first the parts that decide the class?",
        "Do maps score better where the model is right?",
        "Do methods show the same? demo/vit",
    ):
        assert title in found
    assert "must not be used to rank methods" in found
    assert "The guide's rule" in found
    assert "Of 1 line: " in found
    assert "Plan:" not in found  # nothing was run


def test_tables_as_json_and_as_files(demo_store: Path, tmp_path: Path) -> None:
    out = tmp_path / "tables"
    done = run("sanity", demo_store, "--json", "--measure", "ssim", "--absolute", "--csv", out)
    found = json.loads(done.stdout)
    assert (found["measure"], found["reading"]) == ("ssim", "absolute")
    assert set(TABLES) < set(found)
    (verdict,) = found["verdicts"]["lines"]
    assert (verdict["method"], verdict["seeds"], verdict["images"]) == ("gradcam", 2, 3)
    assert verdict["verdict"] in ("pass", "fail", "cannot tell")
    for name in TABLES:
        assert len(pd.read_csv(out / f"{name}.csv")) == len(found[name]["lines"])
    assert {one["method"] for one in found["faithfulness"]["lines"]} == {
        "gradcam", "random", "centre", "edge",
    }  # fmt: skip


def test_a_study_file_is_run_and_checks_are_added_to_its_store(tmp_path: Path) -> None:
    file = tmp_path / "few.yml"
    file.write_text(to_yaml(Study(**LEAST)))
    asked = ("--checks", "parts", "--methods", "gradcam", "--workers", 1)
    found = run("sanity", file, "--out", tmp_path, "--images", 2, *asked).output
    store = tmp_path / "few"
    assert "4 checks, 5 tasks" in found
    assert f"Results: {store}" in found
    assert "Do maps rank first the parts that decide the class?" in found
    assert "Do maps depend" not in found
    assert "Plan:" not in run("sanity", store).output
    more = run("sanity", store, "--images", 3, "--json")
    assert "of which 1 stored already" in more.stderr
    assert len(json.loads(more.stdout)["parts"]["lines"]) == 4
    with open_results(store) as results:
        assert results.study["checks"]["parts"]["images"] == 3
        assert results.checks()["image"].nunique() == 3
    _kept_while_cut_off(Store(store))
    other = tmp_path / "other"
    shutil.copytree(store, other)
    refused = run("sanity", other, "--images", 2, code=2).output
    assert "holds the study 'few'; to add checks, its folder must have the same name" in refused


def test_the_checked_layer_is_the_reported_one(tmp_path: Path) -> None:
    file, store = tmp_path / "few.yml", tmp_path / "few"
    file.write_text(
        to_yaml(Study(**LEAST | {"models": "demo/vit", "methods": "cls", "layers": "all"}))
    )
    run("run", file, "--out", tmp_path, "--workers", 1)
    best = _best_layer(store)
    assert best != 11  # or the last layer would do
    options = ("--checks", "parts", "--images", 2, "--workers", 1)
    added = run("sanity", store, *options, "--json")
    assert f"Layers checked (parts): demo/vit cls layer {best}" in added.stderr
    assert _checked_layers(added.stdout) == [(best, best)]
    last = run("sanity", store, "--layers", "last", "--json")
    assert _checked_layers(last.stdout) == [(11, best)]
    note = json.loads(last.stdout)["parts"]["note"]
    words = f"the leaderboard's best layer by iou@90 is {best}: demo/vit cls"
    assert f"checked on layer 11, {words}" in note
    moved = run("sanity", shutil.copytree(store, tmp_path / "moved")).output
    assert "Plan:" not in moved  # of another name: what is there is shown
    assert f"Checked on layer 11, {words}" in moved
    both = run("sanity", store).output
    assert "6 tasks, of which 6 stored already" in both  # nothing is made
    assert f"Layers checked (parts): demo/vit cls layers {best}, 11" in both
    table = both.partition("Do maps rank first the parts")[2]
    for layer in (best, 11):
        assert re.search(rf"demo/vit +cls +{layer} +{best} ", table)
    again = run("sanity", store).output
    assert "Plan:" not in again
    assert again.partition("Do maps rank first the parts")[2] == table
    fresh = run("sanity", file, *options, "--layers", "best", "--out", tmp_path / "new", "--json")
    assert _checked_layers(fresh.stdout) == [(best, best)]
    refused = run("sanity", store, "--layers", "first", code=2).output
    assert "--layers must be best, last, all or numbers separated by commas; got 'first'" in refused


def _best_layer(store: Path) -> int:
    with open_results(store) as results:
        board = results.leaderboard()
        return int(board[board["method"] == "cls"]["layer"].iloc[0])


def _checked_layers(text: str) -> list[tuple[int, int]]:
    lines = json.loads(text)["parts"]["lines"]
    return [(one["layer"], one["best_layer"]) for one in lines if one["method"] == "cls"]


def _kept_while_cut_off(store: Store) -> None:
    """A store says what it lacks: killed between its files, or while another process is at it."""
    study = load_study(store.study_path)
    assert _has_all(store, study)
    rest = study.to_dict() | {"checks": {"parts": {"images": 2}}}
    assert not _has_all(store, Study.from_dict(rest))  # the manifest has not heard of it
    for folder in (store.scores, store.checks):
        shard = next(folder.iterdir())
        away = shard.rename(store.path / "away")
        assert not _has_all(store, study)
        with store.locked():
            assert _has_all(store, study)  # what is there so far is shown
        away.rename(shard)


def test_maps_of_a_store_stay_what_they_are_when_checks_are_added() -> None:
    usual = RunOptions(device="")
    manifest: dict[str, Any] = {"models": [{"device": "cuda"}], "skipped": [{"image": "a.png"}]}
    found = _as_before(usual, manifest)
    assert (found.device, found.skip_bad) == ("cuda", True)
    assert _as_before(usual._replace(device="mps"), manifest).device == "mps"
    plain = _as_before(usual, {"models": [], "skipped": []})
    assert (plain.device, plain.skip_bad) == ("cpu", False)


def test_other_checks_of_a_store_stay() -> None:
    checks = {"randomisation": {"seeds": 7}, "parts": {"images": 9}}
    study = Study.from_dict({**LEAST, "checks": checks})
    asked = _asked("parts,faithfulness", None, None, 3, None)
    found = _with_checks(study, asked, kept=True).checks
    assert found.randomisation == study.checks.randomisation
    assert found.parts is not None
    assert found.faithfulness is not None
    assert (found.parts.images, found.faithfulness.images) == (3, 3)
    assert _with_checks(study, asked).checks.randomisation is None
    with pytest.raises(InputError, match=r"--seeds: is of the check randomisation, got parts"):
        _with_checks(study, _asked("parts", None, 3, None, None))


@pytest.mark.parametrize(
    ("ways", "tables", "whole"),
    [
        (("bottom-up", "single"), ["verdicts", "cascade-bottom-up", "cascade-single"], "bottom-up"),
        (("full", "top-down"), ["verdicts", "cascade"], "full"),
    ],
)
def test_tables_are_of_the_ways_that_were_run(
    ways: tuple[str, ...], tables: list[str], whole: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    for name in ("sanity_table", "cascade_table"):
        monkeypatch.setattr(f"sightline.results.{name}", lambda _, way, **how: asked.append(way))
    names = [*(f"randomisation/{way}/0" for way in ways), "reference", "parts"]
    results: Any = SimpleNamespace(manifest={"checks": [{"check": name} for name in names]})
    found = _randomised(results, "spearman", "signed")
    assert list(found) == tables
    for make in found.values():
        make()
    assert asked == [whole, *(way for way in ways if way != "full")]


def test_options_stand_over_the_study() -> None:
    study = Study.from_dict({**LEAST, "checks": {"randomisation": {"seeds": 7, "images": 9}}})
    asked = _asked(None, "single, bottom-up", 6, None, None)
    found = _with_checks(study, asked).checks
    assert found.randomisation is not None
    assert found.randomisation.ways == ("single", "bottom-up")
    assert (found.randomisation.seeds, found.randomisation.images) == (6, 9)
    assert found.faithfulness is None


@pytest.mark.parametrize(("data", "parts"), [("facades", True), ("photos", False)])
def test_without_a_section_all_checks_are_made_that_the_data_allow(data: str, parts: bool) -> None:
    study = Study(**LEAST | {"data": data})
    found = _with_checks(study, _asked(None, None, None, 3, "gradcam")).checks
    assert dict(found.asked()).keys() == {"randomisation", "faithfulness"} | (
        {"parts"} if parts else set()
    )
    assert all((one.images, one.methods) == (3, ("gradcam",)) for _, one in found.asked())  # type: ignore[attr-defined]


def test_without_a_classifier_parts_are_left_out_unless_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    study = Study(**LEAST | {"models": "demo/vit-dino", "methods": ["cls"]})
    found = _with_checks(study, {}).checks
    assert dict(found.asked()).keys() == {"randomisation", "faithfulness"}
    assert "parts is left out: it needs a classifier" in capsys.readouterr().out
    asked = _with_checks(study, {"checks": ["parts"]}).checks
    assert dict(asked.asked()).keys() == {"parts"}  # the plan then says why it does not fit
    both = Study(**LEAST | {"models": ["demo/vit-dino", "demo/cnn"]})
    assert _with_checks(both, {}).checks.parts is not None


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "few.yml"
    file.write_text(to_yaml(Study(**LEAST)))
    assert "unknown key 'cascade'" in run("sanity", file, "--checks", "cascade", code=2).output
    assert "'down'" in run("sanity", file, "--ways", "down", code=2).output
    (tmp_path / "taken").touch()
    assert "is a file" in run("sanity", file, "--csv", tmp_path / "taken", code=2).output
    assert "no study is stored" in run("sanity", tmp_path, code=2).output
