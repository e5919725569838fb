"""`sightline benchmark`: runs, draws, tells; and what it says before any work is done."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sightline.cli import benchmark
from sightline.core import InputError, MissingPackageError
from sightline.study.config.benchmark import parse_benchmark
from sightline.study.config.template import example_benchmark
from tests.cli.small import run
from tests.small_prototypes import CONFIG, COUNT, PROTOTYPES, small_model

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCAL = "local_perturbation_analysis: {perturbations: {dark: {type: brightness}}}"
BOTH = parse_benchmark("relevance_analysis: {}")


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the command load the small model, whatever name it is given."""
    from tests.loaded import drawn_once

    with drawn_once(), monkeypatch.context() as patch:
        patch.setattr("sightline.models.load_model", lambda *names, **options: small_model())
        yield


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "mine.yml"
    file.write_text(CONFIG)
    return file


@pytest.fixture
def done(small_benchmark: Path, tmp_path: Path) -> Path:
    """A folder with the small benchmark, as the command below would leave it."""
    return Path(shutil.copytree(small_benchmark, tmp_path / "out"))


def _asked(config: Path, *words: Any, code: int = 0) -> Any:
    data = ("--data", "facades,size=64", "--count", COUNT, "--seed", 1)
    return run("benchmark", config, "--model", "small", *data, "--batch", 4, *words, code=code)


def test_a_finished_benchmark_is_drawn_and_told(
    config: Path, done: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _asked(config, "--out", done).output
    assert "small: accuracy" in found
    assert f"on {COUNT} images" in found
    for text in ("prototypes, energy", "patches, mask", "chance", "What takes the score"):
        assert text in found
    for name in ("brightness", "contrast", "saturation", "hue", "blur", "distortion"):
        assert name in found
    assert f"of {PROTOTYPES} prototypes" in found
    assert "Premise: the focused drop is larger than the dual one in" in found
    assert "Nature of the similarity:" in found
    assert f"Results: {done}" in found.replace("\n", "")
    assert "Largest focused drop" in (done / "drops.svg").read_text()
    before = (done / "drops.svg").stat().st_mtime_ns
    monkeypatch.setattr(benchmark, "progress", None)  # no bar is made either
    assert _asked(config, "--out", done, "--quiet").output == ""
    assert (done / "drops.svg").stat().st_mtime_ns == before


def test_what_was_found_as_json(config: Path, done: Path) -> None:
    (done / "drops.svg").write_text("there")
    found = json.loads(_asked(config, "--out", done, "--json").stdout)
    assert found["counts"]["analysed_drops"] == COUNT
    assert [one["kind"] for one in found["relevance"]] == ["prototype"] * 2 + ["patch"] * 2
    over_all = [one for one in found["effects"] if one["prototype"] == -1]
    assert [one["perturbation"] for one in over_all][:2] == ["brightness", "contrast"]
    few = [one for one in found["effects"] if one["images"] < 10]
    assert few
    assert all(one["focused_low"] is None for one in few)
    assert set(found["natures"]) == {str(one) for one in found["global_stats"]["covered"]}


def test_a_small_run_into_a_store_from_files_that_ask_for_quiet(tmp_path: Path) -> None:
    file = tmp_path / "few.yml"
    file.write_text(LOCAL.replace("{perturb", "{quiet: true, sampling_ratio: 13, perturb", 1))
    store = tmp_path / "store"
    assert _asked(file, "--store", store).output == ""
    folder = store / "prototypes" / "few"
    assert (folder / "max_similarity_drop.png").is_file()
    assert (folder / "config.yml").read_text() == file.read_text()
    assert (folder / "local_perturbation.csv").is_file()
    assert not (folder / "relevance.parquet").exists()


def test_dry_run_tells_what_is_left_and_writes_nothing(
    config: Path, done: Path, tmp_path: Path
) -> None:
    found = _asked(config, "--out", tmp_path / "new", "--dry-run").output
    assert f"{PROTOTYPES} prototypes (on facades), patches of 5 images" in found
    assert f"of {COUNT} images: {COUNT * 13} perturbed inputs" in found.replace("\n", " ")
    assert "Parts: 9 of 9 to do" in found
    assert not (tmp_path / "new").exists()
    assert "Parts: 0 of 9 to do" in _asked(config, "--out", done, "--dry-run").output
    again = _asked(config, "--out", done, "--dry-run", "--overwrite").output
    assert "Parts: 9 of 9 to do" in again
    other = _asked(config, "--out", done, "--dry-run", "--overwrite", "--batch", "5").output
    assert "to do" in other
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine.txt").write_text("stays")
    refused = _asked(config, "--out", tmp_path / "taken", "--dry-run", code=2).output
    assert "must be empty, new or hold a benchmark" in refused.replace("\n", " ")


def test_ctrl_c_says_how_to_go_on(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*given: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sightline.study.prototypes.run._made", stop)
    monkeypatch.setattr("sys.argv", ["sightline", "benchmark", "mine.yml", "--overwrite"])
    found = _asked(config, "--out", tmp_path / "new", "--overwrite", code=130).output
    assert "finished parts are kept" in found
    assert found.rstrip().endswith("sightline benchmark mine.yml")


def test_without_the_package_for_figures_the_tables_stay(
    config: Path, done: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*given: Any) -> None:
        raise MissingPackageError("figures need matplotlib")

    monkeypatch.setattr("sightline.figures.prototypes.draw_max_drop_distribution", missing)
    found = _asked(config, "--out", done, "--quiet")
    assert "No picture of the largest drops: figures need matplotlib" in found.stderr
    assert not (done / "drops.svg").exists()


def test_the_example_is_printed_by_itself() -> None:
    assert run("benchmark", "--example").stdout == example_benchmark()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say where results go: --out DIR, or --store STORE --name NAME"),
        (("--out", "a", "--store", "b"), "say where results go"),
        (("--out", "a", "--name", "b"), "--name needs --store"),
        (("--store", "a", "--name", "b/c"), "name must be 1 to 200 letters"),
        (("--out", "a", "--projection", "?"), "--projection must be a data set"),
        (("--out", "a", "--attribution", "salience"), "did you mean 'saliency'"),
        (("--out", "a", "--method", "gradcam"), "is for local_perturbation_analysis"),
        (("--out", "a", "--param", "mode"), "--param must be name=value, got 'mode'"),
        (("--out", "a", "--path", "b"), "facades needs no files"),
    ],
)
def test_mistakes_are_said_before_any_work(
    words: tuple[str, ...], said: str, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(config.parent)
    found = _asked(config, *words, code=2)
    assert said in found.stderr.replace("\n", " ")
    assert [one.name for one in config.parent.iterdir()] == ["mine.yml"]


def test_the_name_of_a_file_may_be_none_of_a_benchmark(tmp_path: Path) -> None:
    file = tmp_path / "my file.yml"
    file.write_text(LOCAL)
    found = _asked(file, "--store", tmp_path / "store", code=2)
    assert "got 'my file'; --name gives another one" in found.stderr.replace("\n", " ")


def test_a_mistake_in_the_file_is_named(config: Path) -> None:
    config.write_text("relevance_analysis: {area_percentag: 0.1}")
    found = _asked(config, "--out", config.parent / "out", code=2)
    assert "mine.yml, line 1" in found.stderr.replace("\n", "")
    assert "did you mean 'area_percentage'?" in found.stderr.replace("\n", " ")


def test_options_of_the_data_are_said_once() -> None:
    given = {"count": 3, "seed": None, "split": "test"}
    chosen = benchmark._choice("facades,seed=4", "--data", BOTH, None, given)
    assert (chosen.count, chosen.split, chosen.options) == (3, "test", {"seed": 4})
    with pytest.raises(InputError, match="--count is said in --data facades,count=4 as well"):
        benchmark._choice("facades,count=4", "--data", BOTH, None, given)
    with pytest.raises(InputError, match="--path is said in --data folder:a as well"):
        benchmark._choice("folder:a", "--data", BOTH, Path("b"))
    with pytest.raises(InputError, match="count must be 1 or more, got 'x'"):
        benchmark._choice("facades,count=x", "--data", BOTH)
    with pytest.raises(InputError, match="count must be 1 or more, got True"):
        benchmark._choice("facades,count=true", "--data", BOTH)


def test_birds_are_compared_with_their_segmentations() -> None:
    assert benchmark._choice("cub:birds", "--data", BOTH).options == {"regions": "mask"}
    said = benchmark._choice("cub:birds,regions=box", "--data", BOTH)
    assert said.options == {"regions": "box"}
    assert benchmark._choice("cub:birds", "--data", parse_benchmark(LOCAL)).options == {}
