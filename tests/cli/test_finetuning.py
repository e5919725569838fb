"""`sightline finetune`, and what can be done with what it writes."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from sightline.cli.finetune import read_data, read_held_out
from sightline.core import InputError, UnknownNameError
from sightline.data import Dataset, write_annotations
from sightline.models.recipes import read_recipe
from sightline.study import Study
from sightline.study.plan.methods import variant_name
from tests.attribution.methods.networks import tiny
from tests.cli.small import error, run
from tests.models.finetuning.pictures import write_pictures

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a network, pictures to learn from and pictures with regions, and train a probe."""
    folder = tmp_path_factory.mktemp("finetuning")
    tiny("dinov2").network.save_pretrained(folder / "net")
    write_annotations(write_pictures(folder / "plain", 30), folder / "plain" / "annotations.json")
    marked = write_pictures(folder / "marked", 9, first=60, marked=tuple(range(60, 69)))
    write_annotations(marked, folder / "marked" / "annotations.json")
    return folder


def words(work: Path, **changes: Any) -> list[object]:
    given = {
        "model": f"hf:{work / 'net'}",
        "data": f"folder:{work / 'plain'}",
        "strategy": "linear_probe",
        "epochs": 2,
        "out": work / "probe",
        **changes,
    }
    return ["finetune", *(part for key, value in given.items() for part in (f"--{key}", value))]


@pytest.fixture(scope="module")
def probe(work: Path) -> str:
    said = run(*words(work, **{"held-out": f"folder:{work / 'marked'}"})).stdout
    return str(said)


def test_it_says_what_was_made_and_what_next(work: Path, probe: str) -> None:
    lines = probe.splitlines()
    assert lines[0].startswith(f"Variant: {work / 'probe'} (linear_probe of hf:")
    assert lines[1] == "Classes (3): blue, green, red"
    assert lines[2] == "Images: 27 to learn from, 3 to choose by"
    assert lines[3].startswith("Epochs: 2, of which number ")
    assert "on 9 held-out images" in lines[4]
    assert lines[4].endswith("33.3% for always the commonest class")
    name = f"hf:{work / 'net'}@{work / 'probe'}"
    assert f"explain IMAGE --model {name}" in probe
    assert probe.rstrip().endswith(f"models: [hf:{work / 'net'}, {name}]")


def test_a_variant_is_explained(work: Path, probe: str) -> None:
    image = work / "marked" / "i060.png"
    name = f"hf:{work / 'net'}@{work / 'probe'}"
    said = run("explain", image, "--model", name, "--method", "saliency", "--maps", work / "m.npz")
    assert "blue" in said.stdout or "red" in said.stdout or "green" in said.stdout
    assert (work / "m.npz").is_file()


def test_a_study_compares_a_model_with_its_variant(work: Path, probe: str) -> None:
    for form, name in (("net@probe", "short"), ("net@./probe", "path")):
        study = f"""
name: {name}
data: {{name: folder, path: marked}}
models: ["hf:net", "hf:{form}"]
methods: [cls, mean, {{name: saliency, models: "hf:{form}"}}]
layers: [-1]
metrics: [coverage, iou]
percentiles: [90]
"""
        (work / f"{name}.yml").write_text(study)
        said = run("run", work / f"{name}.yml", "--out", work / "runs", "--workers", 1).stdout
        assert "hf:net@probe" in said
    store = work / "runs" / "path"
    counted = run("query", store, "SELECT DISTINCT model, variant FROM scores ORDER BY 2", "--json")
    assert json.loads(counted.stdout) == [
        {"model": "hf:net", "variant": ""},
        {"model": "hf:net@probe", "variant": "probe"},
    ]
    said = run(
        "compare", store, "--a", "hf:net", "--b", "hf:net@probe", "--metric", "coverage"
    ).stdout
    assert "hf:net@probe" in said
    # A linear probe looks where its base looks.
    values = run(
        "query", store, "SELECT variant, method, avg(value) v FROM scores_long "
        "WHERE name = 'coverage' AND method IN ('cls', 'mean') GROUP BY 1, 2 ORDER BY 2, 1",
        "--json",
    ).stdout  # fmt: skip
    cls, cls_probe, mean, mean_probe = (line["v"] for line in json.loads(values))
    assert cls == cls_probe
    assert mean == mean_probe


def test_a_study_on_images_of_the_training_says_so(work: Path, probe: str) -> None:
    (work / "seen.yml").write_text(
        "name: seen\ndata: {name: folder, path: plain}\nmodels: hf:net@probe\nmethods: [cls]\n"
    )
    said = run("run", work / "seen.yml", "--dry-run").stdout
    assert "was trained on 30 of these images (i000.png, i001.png, i002.png, …)" in said
    assert "90 maps" in said
    assert "up to" not in said


def test_the_warning_does_not_depend_on_how_the_folder_is_called(
    work: Path, probe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(work)
    (work / "link").symlink_to("plain")
    run(*words(work, data="folder:link", out=work / "linked"))
    assert read_recipe(work / "linked").data["path"] == str((work / "plain").resolve())
    shutil.copytree(work / "plain", work / "copied")
    for place, said in (
        ("plain", "was trained on 30 of these images"),
        ("link", "was trained on 30 of these images"),
        ("copied", "was trained on images named as 30 of these (i000.png, i001.png, i002.png, …)"),
    ):
        (work / "seen.yml").write_text(
            f"name: seen\ndata: {{name: folder, path: {place}}}\nmodels: hf:net@linked\n"
            "methods: [cls]\n"
        )
        assert said in run("run", work / "seen.yml", "--dry-run").stdout


def test_a_study_on_images_that_the_base_was_trained_on_says_so(work: Path, probe: str) -> None:
    """A variant of a variant."""
    base = f"hf:{work / 'net'}@{work / 'probe'}"
    facades = "facades,count=12,seed=1,size=64"
    held = "facades,count=4,seed=2,size=64"
    run(*words(work, model=base, data=facades, out=work / "twice", **{"held-out": held}))
    name = f"{base}@{work / 'twice'}"
    for data, said in (
        ("{name: folder, path: plain}", "was trained on 30 of these images (i000.png"),
        ("{name: facades, count: 8, seed: 1}", "was trained on 8 of these images (facad"),
        ("{name: facades, count: 8, seed: 2}", ""),
    ):
        (work / "nested.yml").write_text(
            f"name: nested\ndata: {data}\nmodels: '{name}'\nmethods: [cls]\n"
        )
        told = run("run", work / "nested.yml", "--dry-run").stdout
        assert said in told
        assert ("trained on" in told) == bool(said)


def test_json_holds_what_was_made(work: Path, probe: str) -> None:
    out = work / "as_json"
    said = json.loads(run(*words(work, out=out), "--json").stdout)
    assert said["folder"] == str(out)
    assert said["strategy"] == "linear_probe"
    assert (said["training"], said["validation"]) == (27, 3)
    assert said["figures"]["images_training"] == 27
    assert len(said["epochs"]) == 2


def test_held_out_images_end_it_or_are_left_out(work: Path) -> None:
    held = work / "plain" / "annotations.json"
    few = json.loads(held.read_text())
    few["images"] = few["images"][:3]
    (work / "few.json").write_text(json.dumps(few))
    asked = words(work, out=work / "less", **{"held-out": work / "few.json"})
    assert error(*asked).startswith(
        "3 images of folder are held out for scoring, and must not be trained on: "
        "i000.png, i001.png, i002.png; leave_out (--leave-out) leaves them out"
    )
    said = run(*asked, "--leave-out").stdout
    assert "Left out, held out (3): i000.png, i001.png, i002.png" in said
    assert read_recipe(work / "less").left_out["held out"] == ("i000.png", "i001.png", "i002.png")


def test_bad_input_ends_as_one_line(work: Path, probe: str) -> None:
    changed = {"out": work / "no"}
    assert "27 to learn" in probe
    assert "holds a variant already" in error(*words(work))
    marked = words(work, data=f"folder:{work / 'marked'}", **changed)
    assert "9 images of folder are annotated with regions" in error(*marked)
    assert error(*words(work, data="folder", **changed)).startswith("--data folder: folder needs")
    assert "unknown data set 'foldr'" in error(*words(work, data="foldr:x", **changed))
    assert "must be a data set, say" in error(*words(work, data="a b", **changed))
    assert "has no option 'cuont'" in error(*words(work, data="facades,cuont=3", **changed))
    assert "is a folder; say which" in error(*words(work, **changed, **{"held-out": work}))
    assert "rate must be above 0" in error(*words(work, rate=-1, **changed))
    assert "unknown model" in error(*words(work, model="demo/vti", **changed))
    assert "cannot be used" in error(*words(work, device="nowhere", **changed))
    assert not (work / "no").exists()


def test_texts_name_data_sets(work: Path) -> None:
    facades = read_data("facades,count=3,seed=4,split=train", "--data")
    assert len(facades) == 3
    assert read_data(f"folder:{work / 'plain'}", "--data").ids[0] == "i000.png"
    assert len(read_data(f"folder:{work / 'plain'},count=2", "--data")) == 2
    with pytest.raises(UnknownNameError, match="--held-out nothing: unknown data set"):
        read_data("nothing", "--held-out")
    assert read_held_out(None) is None
    assert read_held_out("annotated") == "annotated"
    with pytest.raises(InputError, match="--data must be a data set"):
        read_data("", "--data")


def test_a_study_or_its_results_are_held_out(work: Path, probe: str) -> None:
    (work / "held.yml").write_text(
        "name: held\ndata: {name: folder, path: marked}\nmodels: hf:net\nmethods: [cls]\n"
        "layers: [-1]\nmetrics: [coverage]\n"
    )
    run("run", work / "held.yml", "--out", work / "runs", "--workers", 1)
    for text in (work / "held.yml", work / "runs" / "held"):
        found = read_held_out(str(text))
        assert isinstance(found, Dataset)
        assert found.ids[0] == "i060.png"
        assert len(found) == 9


def test_folders_of_one_name_are_told_apart() -> None:
    places = ("/a/lora", "/b/lora", "/b/full")
    values: Any = {"name": "x", "data": "facades", "methods": "cls"}
    values["models"] = [{"model": "demo/vit", "variant": place} for place in places]
    study = Study(**values)
    assert [variant_name(study, one) for one in study.models] == ["/a/lora", "/b/lora", "full"]
