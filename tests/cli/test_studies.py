"""`sightline new`, `schema`, `run` and `demo`: studies written, run, stopped and run again."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import sys
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml
from rich.console import Console

from sightline.attribution.methods import METHODS
from sightline.cli import progress
from sightline.cli.output import timespan
from sightline.cli.progress import expected_blocks, plan_lines, stopping
from sightline.cli.stores import layer_lines
from sightline.core.words import counted
from sightline.figures import FIGURES
from sightline.report import StoreFigures
from sightline.report.findings import find
from sightline.report.scores import read_scores
from sightline.results import open_results
from sightline.store import Store
from sightline.store.checksums import save_json
from sightline.study import Study, demo_study, load_study, plan_study, run_study
from sightline.study.config.benchmark import DataChoice
from sightline.study.config.model import Data, Engine, MethodEntry, ModelEntry
from tests.cli.small import (
    GIVEN,
    error,
    list_score_files,
    numbers,
    run,
    stopped,
    words,
    write_given,
)
from tests.report.few import draw_few
from tests.study.executors.studies import table

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("loaded_once")
MODEL = """
name: looks
data: {name: facades, count: 4, seed: 1, labelling: representative}
models: [demo/cnn]
methods: [gradcam, random, mean_map]
layers: [1, -1]
targets: [predicted, label]
selection: [percentile, mass60, mean, matched]
metrics: [iou, coverage, pointing, kl]
percentiles: [90]
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write_given(tmp_path)


def rows_of(store: Path) -> pd.DataFrame:
    """Return the stored scores of a run, a row each."""
    rows: pd.DataFrame = table(store).to_pandas()
    return rows


# --- new and schema ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["facades", "folder", "maps"])
def test_each_kind_of_new_study_is_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "first.look.yml"
    said = run("new", path, "--kind", kind).stdout
    found = load_study(path)
    assert found.name == "first.look"
    assert found.data.name == ("facades" if kind == "facades" else "folder")
    assert bool(found.models) == (kind != "maps")
    command = shlex.split(said.splitlines()[-1])
    assert command == ["sightline", "run", str(path), "--dry-run"]


def test_new_study_of_shipped_models_can_be_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("new")
    file = Path("study.yml")
    file.write_text(file.read_text().replace("count: 60", "count: 2"))
    plan = plan_study(load_study(file))
    assert plan.images == 2
    assert {source.name for source in plan.sources} == {"demo/vit", "demo/vit-dino"}


@pytest.mark.parametrize(
    ("options", "data", "models", "maps"),
    [
        (("--maps", "m.npz"), "folder", 0, "m.npz"),
        (("--maps", "m.npz", "--data", "coco", "--path", "c.json"), "coco", 0, "m.npz"),
        (("--path", "images"), "folder", 1, None),
        (("--data", "voc", "--path", "voc"), "voc", 1, None),
        (("--data", "facades", "--model", "demo/cnn", "--model", "demo/vit"), "facades", 2, None),
        (("--model", "demo/cnn"), "facades", 1, None),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_kind_follows_what_is_given(
    tmp_path: Path, options: tuple[str, ...], data: str, models: int, maps: str | None
) -> None:
    run("new", tmp_path / "s.yml", *options)
    found = load_study(tmp_path / "s.yml")
    assert found.data.name == data
    assert len(found.models) == models
    assert [Path(entry.params["maps"]).name for entry in found.methods if entry.given] == (
        [maps] if maps else []
    )


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("my study.yml", "my-study"),
        (".hidden.yaml", "hidden"),
        ("été 2.yml", "t-2"),
        ("中.yml", "study"),
        ("n" * 150 + ".yml", "n" * 100),
    ],
)
def test_name_of_the_study_comes_from_the_file(tmp_path: Path, file: str, name: str) -> None:
    run("new", tmp_path / file)
    assert load_study(tmp_path / file).name == name
    run("new", tmp_path / file, "--name", "other", "--force")
    assert load_study(tmp_path / file).name == "other"


def test_new_replaces_nothing_unasked(tmp_path: Path) -> None:
    path = tmp_path / "s.yml"
    path.write_text("mine")
    assert error("new", path) == f"{path}: is there already; --force replaces it"
    assert path.read_text() == "mine"
    run("new", path, "--force")
    assert load_study(path).name == "s"
    assert [one.name for one in tmp_path.iterdir()] == ["s.yml"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("s.json",), "s.json: a study must end in .yml, .yaml"),
        (("none/s.yml",), "none/s.yml: folder none does not exist"),
        (("s.yml", "--kind", "facades", "--path", "x"), "draws its images: leave path out"),
        (("s.yml", "--kind", "maps", "--model", "demo/vit"), "has no models"),
        (("s.yml", "--kind", "folder", "--maps", "m"), "maps are for a study of kind 'maps'"),
        (("s.yml", "--data", "cooco", "--path", "x"), "did you mean 'coco'?"),
        (("s.yml", "--name", "a/b"), "name: expected 1 to 100 of A-Z"),
    ],
)
def test_new_says_what_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in error("new", *words)
    assert list(tmp_path.iterdir()) == []


def test_schema_has_every_key() -> None:
    schema = json.loads(run("schema").stdout)
    assert set(schema["properties"]) == set(Study.model_fields)
    assert schema["additionalProperties"] is False
    for part in (Data, ModelEntry, MethodEntry, Engine):
        assert set(schema["$defs"][part.__name__]["properties"]) == set(part.model_fields)


# --- run -----------------------------------------------------------------------------------------


def test_a_run_from_plan_to_leaderboard(study: Path, tmp_path: Path) -> None:
    out = tmp_path / "my runs"
    result = run("run", study, "--out", out, "--workers", 1)
    said = result.stdout
    plan = "Plan: 6 images with 9 regions, 2 methods, 12 maps, 6 tasks"
    assert said.splitlines()[0] == plan
    assert re.fullmatch(r"6 of 6 tasks, [\d,]+ maps/s\n", result.stderr)
    rows = rows_of(out / "given")
    union = rows[rows["region"].isna() & (rows["metric"] == "iou") & (rows["threshold"] == "90")]
    for method, mean in union.groupby("method", observed=True)["value"].mean().items():
        assert numbers(said, "net[/b]", str(method))[0] == pytest.approx(mean, abs=6e-4)
    stored = rf"Stored: {len(rows):,} scores of 12 maps in (<1|\d+) s"
    assert any(re.fullmatch(stored, line) for line in said.splitlines())
    assert f"Results: {out / 'given'}" in said
    command = shlex.split(said.splitlines()[-1])
    assert command == ["sightline", "show", str(out / "given")]
    shown = run(*command[1:]).stdout
    assert said[said.index("given: iou@90") : said.index("Stored")] == shown


@pytest.mark.parametrize(
    "text", [GIVEN, MODEL + "regions: false", MODEL], ids=["maps", "union", "model"]
)
def test_dry_run_counts_what_a_run_stores(tmp_path: Path, text: str) -> None:
    study = write_given(tmp_path)
    study.write_text(text)
    options = ("run", study, "--out", tmp_path / "runs")
    expected = run(*options, "--dry-run").stdout
    assert not (tmp_path / "runs").exists()
    found = re.search(r"In all ([\d,]+) maps, ([\d,]+) scores, ", expected)
    assert found
    maps, rows = (int(number.replace(",", "")) for number in found.groups())
    said = run(*options, "--workers", 1).stdout
    assert expected.splitlines()[0] == said.splitlines()[0]
    name = load_study(study).name
    assert len(rows_of(tmp_path / "runs" / name)) == rows
    assert f"Stored: {rows:,} scores of {maps:,} maps in" in said
    assert f"Results would go to {tmp_path / 'runs' / name}" in expected
    if text == GIVEN:
        again = run(*options, "--dry-run").stdout
        assert again.count(" 3/3 ") == 2
        assert "nothing is left to do" in again


def test_running_again_and_after_a_change(study: Path, tmp_path: Path) -> None:
    options = ("run", study, "--out", tmp_path / "runs", "--workers", 1)
    run(*options)
    before = rows_of(tmp_path / "runs" / "given")
    again = run(*options, "--profile").stdout
    assert "6 tasks, of which 6 stored already" in again.splitlines()[0]
    assert "Nothing was left to do" in again
    assert "Where the time went: nothing was computed" in again
    text = study.read_text().replace("batch: 2", "  - {name: third, params: {maps: one}}\nbatch: 2")
    study.write_text(text)
    more = run(*options).stdout
    assert "9 tasks, of which 6 stored already" in more.splitlines()[0]
    after = rows_of(tmp_path / "runs" / "given")
    assert len(after) == len(before) * 3 // 2
    assert f"Stored: {len(before) // 2:,} scores of 6 maps" in more


def test_lines_are_printed_now_and_then(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    lines = run("run", study, "--out", tmp_path, "--workers", 1).stderr.splitlines()
    assert [line.split(",")[0] for line in lines] == [f"{n} of 6 tasks" for n in range(1, 7)]
    assert all(re.search(r", (<1|\d+) s left$", line) for line in lines[:-1])
    assert re.fullmatch(r"6 of 6 tasks, [\d,]+ maps/s", lines[-1])


def test_a_terminal_sees_a_bar(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Console(file=StringIO(), force_terminal=True, width=100)
    monkeypatch.setattr(progress, "console", lambda stderr: screen)
    run("run", study, "--out", tmp_path, "--workers", 1)
    assert isinstance(screen.file, StringIO)
    drawn = re.sub(r"\x1b\[[?\d;]*\w", "", screen.file.getvalue())
    assert "Reading images" in drawn
    assert re.search(r"Running.* 6/6 .*maps/s", drawn)
    assert " of 6 tasks" not in drawn


def test_profile_has_the_four_steps(study: Path, tmp_path: Path) -> None:
    said = run("run", study, "--out", tmp_path, "--workers", 1, "--profile").stdout
    steps = ("reading images", "making maps", "scoring", "writing")
    lines = [words(said, f"{step}  ") for step in steps]
    assert all(len(line) == 3 for line in lines)
    assert sum(int(share.rstrip("%")) for _, share, _ in lines) == pytest.approx(100, abs=2)
    assert "Over 1 worker, whose steps overlap; " in said


def test_bad_images_are_listed_and_left_out(study: Path, tmp_path: Path) -> None:
    text = study.read_text()
    study.write_text(text[: text.index("methods:")] + "models: demo/cnn\nmethods: [edge]\n")
    for number in (1, 4):
        (tmp_path / "data" / "images" / f"{number:03}.png").write_text("no image")
    options = ("run", study, "--out", tmp_path / "runs", "--workers", 1)
    refused = run(*options, code=2)
    assert refused.stderr.startswith("error: 2 images could not be used:\n")
    assert "leave them out: --skip-bad" in refused.stderr
    assert "Traceback" not in refused.output
    said = run(*options, "--skip-bad").stdout
    assert "Images left out (2):\n" in said
    for number in (1, 4):
        path = tmp_path / "data" / "images" / f"{number:03}.png"
        assert f"\n  {path}: cannot be read as an image" in said
    assert "Plan: 4 images with 6 regions, 1 model, 1 method, 4 maps, 1 task\n" in said
    assert "Means of iou@90 over 4 images with 95% intervals" in said
    assert rows_of(tmp_path / "runs" / "given")["image"].nunique() == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("name: given", "name: given\npercentile: 90"), "did you mean 'percentiles'?"),
        (("{name: first", "{nam: 1, name: first"), "unknown key 'nam'; did you mean 'name'?"),
        (("batch: 2", "batch: no"), "batch: expected a whole number, got false"),
        (("path: data", "path: nowhere"), "nowhere: no such file or folder"),
        (("maps: one", "maps: nowhere"), "methods: first: "),
        (("batch: 2", "  - cls\nmodels: demo/vot"), "unknown model 'demo/vot'; did you mean"),
        (("batch: 2", "  - clss\nmodels: demo/cnn"), "unknown method 'clss'; did you mean 'cls'?"),
        (("batch: 2", "  - cls\nmodels: demo/cnn"), "'cls' fits none of the models"),
        (("[iou, recall", "[iuo, recall"), "unknown metric 'iuo'; did you mean 'iou'?"),
        (("name: given", "name: [given"), "not YAML"),
    ],
    ids=lambda change: change[1].split("\n")[-1] if isinstance(change, tuple) else None,
)
@pytest.mark.parametrize("option", [(), ("--dry-run",)], ids=["run", "dry"])
def test_what_is_wrong_with_a_study_is_one_line(
    study: Path, tmp_path: Path, change: tuple[str, str], message: str, option: tuple[str, ...]
) -> None:
    study.write_text(study.read_text().replace(*change))
    assert message in error("run", study, "--out", tmp_path / "runs", *option)
    assert not list(tmp_path.glob("runs/*/manifest.json"))


@pytest.mark.parametrize("resolution", ["grid", "pixels"])
def test_grids_of_different_sizes_in_one_table_are_told(
    study: Path, tmp_path: Path, resolution: str
) -> None:
    for file in (tmp_path / "two").iterdir():
        np.save(file, np.load(file)[:7, :5])
    study.write_text(f"{study.read_text()}resolution: {resolution}\n")
    said = run("run", study, "--out", tmp_path / "runs", "--workers", 1).stdout
    assert ("Maps were scored on grids of different sizes" in said) == (resolution == "grid")
    both = ("--a", "first", "--b", "second", "--by", "method")
    beside = run("compare", tmp_path / "runs" / "given", *both).stdout
    assert ("grids of different sizes" in beside) == (resolution == "grid")
    alone = run("show", tmp_path / "runs" / "given", "--method", "first").stdout
    assert "grids" not in alone
    with open_results(tmp_path / "runs" / "given") as results:
        heads = [one.head for one in find(results, read_scores(results)).limits]
    assert ("Grids of different sizes" in heads) == (resolution == "grid")


def test_a_study_that_is_not_there_or_cannot_be_stored(study: Path, tmp_path: Path) -> None:
    assert "none.yml: the study file cannot be read" in error("run", tmp_path / "none.yml")
    (tmp_path / "file").write_text("")
    said = error("run", study, "--out", tmp_path / "file")
    assert f"{tmp_path / 'file' / 'given'}: results cannot be written there" in said


def test_a_stopped_run_says_how_to_go_on(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "my runs"
    options = ("run", study, "--out", out, "--workers", 1, "--skip-bad")
    event = Event()

    @contextmanager
    def stopped() -> Iterator[Event]:
        yield event

    with monkeypatch.context() as patch:
        patch.setattr(progress, "stopping", stopped)
        patch.setattr(progress.Bar, "moved", lambda self, run: event.set())
        said = run(*options, code=130).stdout
    found = re.search(r"^Stopped: (\d) of 6 tasks stored\. To go on:\n  (.*)\n\Z", said, re.M)
    assert found
    command = shlex.split(found[2])
    assert command[1:] == ["run", *map(str, options[1:])]
    assert len(list_score_files(out / "given")) == int(found[1]) < 6
    assert f"so far: {found[1]} of 6 tasks." in run("show", out / "given").stdout.lower()
    run(*command[1:])
    run("run", study, "--out", tmp_path / "other", "--workers", 1)
    digests = {run("digest", folder / "given").stdout for folder in (out, tmp_path / "other")}
    assert len(digests) == 1


def test_results_of_an_older_version_are_refused(study: Path, tmp_path: Path) -> None:
    """Its folders have other names, and its manifest another format."""
    options = ("run", study, "--out", tmp_path / "runs", "--workers", 1)
    run(*options)
    store = Store(tmp_path / "runs" / "given")
    for name, old in (("scores", "rows"), ("region_scores", "curves")):
        (store.path / name).rename(store.path / old)
    for folder in (store.checks, store.cache):
        shutil.rmtree(folder)
    save_json(store.manifest_path, {**store.manifest(), "format": 1})
    before = {path: path.read_bytes() for path in store.path.rglob("*.*")}
    message = (
        f"{store.manifest_path}: format must be 2, got 1; it was written by an older version: "
        "run its study again elsewhere"
    )
    assert error(*options) == message
    assert error(*options, "--dry-run") == message
    for command in ("show", "digest", "verify", "sparsity", "stats"):
        assert error(command, store.path) == message
    assert {path: path.read_bytes() for path in store.path.rglob("*.*")} == before
    run(*options[:3], tmp_path / "elsewhere")
    assert len(list_score_files(tmp_path / "elsewhere" / "given")) == 6


def test_a_run_stopped_before_its_first_task(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "stopping", stopped)
    said = run("run", study, "--out", tmp_path, code=130).stdout
    assert "Stopped: 0 of 6 tasks stored." in said
    assert "nothing is stored yet: 0 of 6 tasks" in error("show", tmp_path / "given")


def test_the_first_interrupt_stops_and_the_second_ends(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "_exit", sys.exit)
    before = signal.getsignal(signal.SIGINT)
    with stopping() as stop:
        assert not stop.is_set()
        signal.raise_signal(signal.SIGINT)
        assert stop.is_set()
        assert "Stopping after the tasks in hand" in capsys.readouterr().err
        with pytest.raises(SystemExit, match="130"):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


# --- what is said, piece by piece ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.001, "<1 s"),
        (0.5, "<1 s"),
        (0.51, "1 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h 0 min"),
        (7300, "2 h 2 min"),
        (90_061, "25 h 1 min"),
    ],
)
def test_times_as_people_say_them(seconds: float, text: str) -> None:
    assert timespan(seconds) == text


def test_one_is_not_many() -> None:
    assert [counted(n, "row") for n in (0, 1, 2, 12345)] == [
        "0 rows",
        "1 row",
        "2 rows",
        "12,345 rows",
    ]


def test_plan_in_lines() -> None:
    values = yaml.safe_load(MODEL)
    values |= {"models": ["demo/cnn", "demo/vit-dino"], "methods": ["cls", "rollout", "gradcam"]}
    plan = plan_study(Study.from_dict(values))
    first, *others = plan_lines(plan)
    # demo/cnn: gradcam for two targets; demo/vit-dino: cls and rollout; two layers each.
    assert first.endswith(", 2 models, 3 methods, 32 maps, 4 tasks")
    regions = sum(len(sample.annotation.scored) for sample in plan.dataset)
    assert first.startswith(f"Plan: 4 images with {regions} regions, ")
    assert others == [
        "Does not fit demo/cnn (needs attention and class token): cls",
        "Does not fit demo/cnn (needs attention): rollout",
        "Does not fit demo/vit-dino (needs classes): gradcam",
    ]


def test_expected_time_counts_workers_that_have_work() -> None:
    from sightline.study.plan.probe import Expected

    values = yaml.safe_load(MODEL)
    source = plan_study(Study.from_dict(values)).sources[0]
    one = Expected(source, maps=4, rows=500_000, tasks=3, stored=1, seconds=60.0)
    *_, last = expected_blocks([one], 8)
    assert last == "In all 4 maps, 500,000 scores, about 4 MB; about 30 s with 2 workers"
    *_, last = expected_blocks([one, one], 2)
    assert last == "In all 8 maps, 1,000,000 scores, about 8 MB; about 1 min 0 s with 2 workers"


def layers(
    values: dict[str, list[float]], metric: str = "iou@90", chance: float = 0.1
) -> pd.DataFrame:
    parts = [
        pd.DataFrame(
            {"model": "m", "method": name, "target": "", "layer": range(len(found)), "value": found}
        )
        for name, found in values.items()
    ]
    frame = pd.concat(parts).assign(chance=chance)
    frame.attrs["metric"] = metric
    return frame


def test_layers_as_blocks() -> None:
    rising = [n / 7 for n in range(8)]
    title, first, second, chance = layer_lines(layers({"up": rising, "flat": [0.5, 0.25, np.nan]}))
    assert title == "iou@90 from the first layer to the last (a full block is 1.000):"
    assert first.split() == ["m", "up", "▁▂▃▄▅▆▇█", "best", "1.000", "at", "layer", "7"]
    assert second.split()[2:] == ["▅▃", "best", "0.500", "at", "layer", "0"]
    assert chance.split()[-2:] == ["▂", "0.100"]
    assert first.index("▁") == second.index("▅") == chance.index("▂")


def test_layers_of_other_kinds_of_scores() -> None:
    lower = layer_lines(layers({"a": [0.5, 0.2, 0.4]}, "kl"))
    assert lower[1].endswith("best 0.200 at layer 1")
    neither = layer_lines(layers({"a": [0.5, 0.2]}, "entropy", chance=np.nan))
    assert neither[1].endswith("0.200 to 0.500")
    assert len(neither) == 2
    (_, zero, _) = layer_lines(layers({"a": [0.0, 0.0]}))
    assert "▁▁" in zero
    (_, below, _) = layer_lines(layers({"a": [-1.0, 1.0]}, "nss"))
    assert "▁█" in below
    targets = layers({"a": [0.5]})
    both = pd.concat([targets.assign(target="predicted"), targets.assign(target="label")])
    both.attrs = targets.attrs
    assert [line.split()[:3] for line in layer_lines(both)[1:3]] == [
        ["m", "a", "(predicted)"],
        ["m", "a", "(label)"],
    ]
    none = layers({"a": [0.5]}).assign(layer=pd.array([None], dtype="Int64"))
    none.attrs = targets.attrs
    assert layer_lines(none) == ["No maps of single layers are stored."]


# --- demo ----------------------------------------------------------------------------------------


def test_the_study_of_the_demo() -> None:
    found = demo_study()
    assert (found.data.name, found.data.count, found.data.labelling) == (
        "facades",
        120,
        "representative",
    )
    assert [entry.full for entry in found.models] == [
        "demo/vit",
        "demo/vit@seed2",
        "demo/vit-dino",
        "demo/cnn",
    ]
    methods = {entry.name: entry for entry in found.methods}
    baselines = {name for name, card in METHODS.items() if card.group == "baseline"}
    assert methods.keys() == {
        "cls", "mean", "rollout", "gradcam", "integrated_gradients", *baselines
    }  # fmt: skip
    gradients = methods.pop("integrated_gradients")
    assert gradients.params == {"steps": 16}
    assert gradients.models == ("demo/vit", "demo/cnn")
    assert all(entry.models is None and not entry.params for entry in methods.values())
    assert found.layers == "all"
    assert len(found.percentiles) == 8
    assert "percentile" in found.selection
    assert found.regions is True
    assert [name for name, _ in found.checks.asked()] == ["randomisation", "faithfulness", "parts"]


def shrink_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the demo have few images, methods and figures."""
    values = demo_study().to_dict()
    values |= {"models": ["demo/vit", "demo/cnn"], "layers": [0, -1], "percentiles": [90, 50]}
    values["data"]["count"] = 5
    values["methods"] = ["cls", "gradcam", "random", "centre"]
    values["checks"] = {"parts": {"images": 2, "methods": "gradcam", "models": "demo/cnn"}}
    small = Study.from_dict(values)
    monkeypatch.setattr("sightline.study.demo_study", lambda: small)
    asked = "local_perturbation_analysis: {perturbations: {hue: {type: hue}}}"
    few = DataChoice("facades", count=2, options={"seed": 7})
    monkeypatch.setattr("sightline.study.demo_benchmark", lambda: (asked, few))
    draw_few(monkeypatch, "leaderboard", "energy")  # reports have tests of their own


def test_the_demo_ends_with_what_it_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shrink_demo(monkeypatch)
    monkeypatch.chdir(tmp_path)
    said = run("demo", "--out", "my runs", "--workers", 1, columns=80).stdout
    store = Path("my runs/demo")
    assert said.startswith("Plan: 5 images with ")
    board, _, chart = said.partition("iou@90 from the first layer to the last")
    for model, method in (("demo/vit", "cls"), ("demo/cnn", "gradcam"), ("demo/vit", "gradcam")):
        value, low, high, chance, ceiling = numbers(board, model, method)
        assert 0 <= low <= value <= high <= 1
        assert 0 < chance < ceiling <= 1
        assert re.search(rf"{model} {method} +[▁▂▃▄▅▆▇█]{{2}}  best ", chart)
    assert "over 5 images with 95% intervals" in board
    assert "which flatters it: --layer split does not." in board
    assert re.search(r"a map that knows nothing +[▁▂▃▄▅▆▇█]  0\.\d{3}", chart)
    for name in ("study.yml", "scores", "maps", "manifest.json"):
        assert str(store / name) in chart
        assert (store / name).exists()
    commands = [shlex.split(line) for line in said.splitlines() if line.startswith("  sightline")]
    assert [command[3:] for command in commands] == [
        [],
        ["--by", "labels"],
        ["--layer", "split", "--metric", "coverage"],
        ["--a", "cls", "--b", "centre", "--by", "method"],
        ["--against", "chance"],
        [],
    ]
    assert commands[-1] == ["sightline", "sanity", str(store)]
    for command in commands:
        assert Path(command[2]) == store
        run(*command[1:])
    assert f"Prototypes of demo/protopnet: {store / 'prototypes' / 'demo'}" in said
    with open_results(store) as results:
        assert results.prototypes("demo").about["counts"]["analysed_drops"] == 2
    assert "Prototypes" in (store / "report" / "index.html").read_text("utf-8")
    assert f"Report: {store / 'report' / 'index.html'}" in said
    assert (store / "report" / "index.html").is_file()
    row = pd.read_csv(store / "report" / "examples" / f"{FIGURES['energy'].file}.csv").iloc[0]
    with open_results(store) as results:  # of maps that are scored on the pixels of the images
        scores = StoreFigures(results).values("coverage").set_index(["name", "image"])["value"]
    assert row["value"] == pytest.approx(scores[row["name"], row["image"]], abs=1e-6)
    again = run("demo", "--out", "my runs", "--workers", 1, "--no-report").stdout
    assert "Nothing was left to do" in again
    assert "Report:" not in again


def test_a_stopped_demo_names_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(study: Study, out: Path, **options: Any) -> Any:
        """End as a run that was stopped at once does."""
        event = Event()
        event.set()
        return run_study(given, out, **{**options, "stop": event})

    given = load_study(write_given(tmp_path))
    monkeypatch.setattr("sightline.study.run_study", stopped)
    said = run("demo", "--out", tmp_path / "a b", "--workers", 2, code=130).stdout
    command = shlex.split(said.splitlines()[-1])
    assert command == ["sightline", "demo", "--out", str(tmp_path / "a b"), "--workers", "2"]


def test_help_of_the_commands_says_what_they_take() -> None:
    for command in ("new", "schema", "run", "demo", "show", "query", "export", "diff", "digest"):
        assert "Usage:" in run(command, "--help").stdout
