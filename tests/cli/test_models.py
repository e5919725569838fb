"""`sightline models` and `sightline methods`: what is registered is shown."""

from __future__ import annotations

import json

import pytest

from sightline.attribution.methods import METHODS
from sightline.models import MODELS, load_model
from sightline.models.families import FAMILIES
from tests.cli.small import run
from tests.scripts import printed_by


@pytest.mark.parametrize("columns", [80, 200])
def test_models_are_shown_with_kinds_and_how_to_load_others(columns: int) -> None:
    out = run("models", columns=columns).stdout
    for name in [*MODELS, *FAMILIES]:
        assert f" {name} " in out
    for way in ("hf:FOLDER", "hf:ID", "timm:NAME"):
        assert way in out


def test_figures_of_models_are_shown_by_name_and_what_is_not_known_as_a_dash() -> None:
    lines = {line.split()[0]: line for line in run("models").stdout.splitlines() if line.strip()}
    assert (
        lines["demo/vit"]
        .rstrip()
        .endswith(f" {MODELS['demo/vit'].figures['accuracy_held_out']:.1%}")
    )
    knn = f"{MODELS['demo/vit-dino'].figures['knn']:.1%}"
    assert lines["demo/vit-dino"].split()[-1] == knn
    assert lines["(k-NN)"].split() == ["(k-NN)"]  # below it
    assert lines["pypi:efficientnet_lite0"].split()[-3:] == ["–", "–", "–"]


def test_models_as_json_agree_with_what_is_loaded() -> None:
    said = json.loads(run("models", "--json").stdout)
    assert [model["name"] for model in said["models"]] == list(MODELS)
    assert [family["model_type"] for family in said["families"]] == list(FAMILIES)
    for entry in said["models"]:
        assert entry["what"] == MODELS[entry["name"]].what
        if not entry["name"].startswith("demo/"):
            assert entry["layers"] is entry["input"] is entry["classes"] is None
            continue
        model = load_model(entry["name"])
        assert entry["layers"] == len(model.layers)
        assert tuple(entry["input"]) == model.preprocess.size
        assert (entry["heads"] or 0) == model.heads
        assert entry["patch"] in (model.patch[0], None)
        assert tuple(entry["classes"] or ()) == model.classes
        assert entry["figures"] == MODELS[entry["name"]].figures
        assert entry["parameters"] == sum(p.numel() for p in model.network.parameters())


def test_kinds_say_what_they_offer() -> None:
    said = json.loads(run("models", "--json").stdout)["families"]
    known = {family["model_type"]: family for family in said}
    assert known["dinov2_with_registers"]["tokens"] == ["class", "registers"]
    assert known["siglip"]["tokens"] == []
    assert known["deit"]["tokens"] == ["class", "distillation"]
    assert known["vit"]["attention"] is True
    assert known["swin"]["attention"] is known["resnet"]["attention"] is False
    assert known["vit"]["classifiers"] == ["ViTForImageClassification"]


@pytest.mark.parametrize("columns", [80, 200])
def test_methods_are_shown(columns: int) -> None:
    out = run("methods", columns=columns).stdout
    assert all(out.count(f" {name} ") >= 2 for name in METHODS)
    words = " ".join(out.split())
    assert "Caron et al. 2021" in words
    assert "fusion=mean" in words


def test_methods_as_json_hold_the_whole_card() -> None:
    said = json.loads(run("methods", "--json").stdout)
    assert [method["name"] for method in said] == list(METHODS)
    for entry in said:
        card = METHODS[entry["name"]]
        for name in ("what", "group", "sign", "cost", "paper", "gradients"):
            assert entry[name] == getattr(card, name)
        assert entry["needs"] == list(card.needs)
        assert entry["params"] == dict(card.params)
        assert ("layer" in entry["by"], "head" in entry["by"]) == (card.layered, card.headed)
        assert "lacks" not in entry


def test_methods_that_fit_a_model() -> None:
    model = load_model("demo/cnn")
    out = run("methods", "--model", "demo/cnn").stdout
    rest, _, table = out.partition("Methods that fit demo/cnn")
    for name, card in METHODS.items():
        assert (f"\n  {name} " in table) == (not card.lacks(model))
    assert "cls (no attention, no class token)" in rest
    assert "demo/cnn: 4 layers, 4 classes\n" in rest
    said = json.loads(run("methods", "--model", "demo/cnn", "--json").stdout)
    assert {entry["name"]: entry["lacks"] for entry in said} == {
        name: card.lacks(model) for name, card in METHODS.items()
    }


def test_unknown_model_names_the_nearest() -> None:
    result = run("methods", "--model", "demo/vits", code=2)
    assert result.stderr.startswith("error: unknown model 'demo/vits'; did you mean 'demo/vit'?")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("package", "arguments"),
    [
        ("torch", ["models"]),
        ("torch", ["explain", "a.jpg", "--out", "a.png"]),
        ("transformers", ["methods", "--model", "demo/vit"]),
    ],
)
def test_a_missing_package_is_one_line(package: str, arguments: list[str]) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from typer.testing import CliRunner; from sightline.cli import app\n"
        "from sightline.cli import explain_steps; explain_steps._pick = lambda *_: ([], [])\n"
        f"result = CliRunner().invoke(app, {arguments!r}); print(result.exit_code, result.stderr)"
    )
    said = printed_by(code)
    assert said.startswith("2 error: "), said
    assert package in said
    assert "pip install 'sightline[models]'" in said
    assert len(said.strip().splitlines()) == 1


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from sightline.cli import app; "
        "[CliRunner().invoke(app, [c, '--help']) for c in ('explain', 'models', 'methods')]; "
        "print(*{'PIL', 'torch', 'numpy', 'transformers', 'safetensors'} & sys.modules.keys())"
    )
    assert printed_by(code).strip() == ""
