"""Variants: loading them onto their base, and nothing else."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from sightline.attribution.methods import explain
from sightline.core import InputError, UnknownNameError
from sightline.data import load_dataset
from sightline.models import MODELS, Model, load_model
from sightline.models.cards import DEMO
from sightline.models.recipes import RECIPE, STRATEGIES, Recipe, read_recipe
from sightline.models.variants import (
    ADAPTER,
    DELTA,
    HEAD,
    add_head,
    load_variant,
    weight_digests,
    weights_digest,
)
from tests.attribution.methods.networks import CLASSES, make_images, smooth, tiny

if TYPE_CHECKING:
    from pathlib import Path

QUERY = "encoder.layer.0.attention.q_proj"


def head_of(model: Model, channels: int = 16) -> nn.Linear:
    torch.manual_seed(5)
    return nn.Linear(channels, 3)


def write(folder: Path, base: Model, strategy: str, **changes: Any) -> Path:
    """Write a variant by hand: a head, and one changed weight."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(head_of(base).state_dict(), folder / HEAD)
    rng = torch.Generator().manual_seed(3)
    down, up = torch.randn((2, 16), generator=rng), torch.randn((16, 2), generator=rng)
    name = f"{QUERY}.weight"
    if strategy == "lora":
        start = f"base_model.model.{QUERY}"
        pairs = {f"{start}.lora_A.weight": down, f"{start}.lora_B.weight": up}
        save_file(pairs, folder / ADAPTER[1])
        config = {"peft_type": "LORA", "r": 2, "lora_alpha": 6, "bias": "none"}
        (folder / ADAPTER[0]).write_text(json.dumps(config))
    if strategy == "full":
        save_file({name: (3 * up @ down).half()}, folder / DELTA)
    weights = {} if strategy == "linear_probe" else {name: weight_digests(base.network)[name]}
    size = list(base.preprocess.size or ())
    recipe = Recipe(
        "base", weights_digest(base.network), strategy, CLASSES,
        {"size": size, "fit": base.preprocess.fit}, weights=weights,
    )  # fmt: skip
    (folder / RECIPE).write_text(replace(recipe, **changes).to_json())
    return folder


@pytest.fixture
def base() -> Model:
    return tiny("dinov2")


def logits_by_hand(base: Model, change: torch.Tensor | None = None) -> torch.Tensor:
    network, found = deepcopy(base.network), []
    if change is not None:
        network.get_submodule(QUERY).weight.data.add_(change)
    head = head_of(base)
    for image in make_images():
        with torch.no_grad():
            tokens = network(base.prepare(image).pixels).last_hidden_state
            found.append(head(tokens[0, 0]))
    return torch.stack(found)


@pytest.mark.parametrize("strategy", ["linear_probe", "lora", "full"])
def test_a_variant_is_its_base_with_what_the_files_add(
    base: Model, tmp_path: Path, strategy: str
) -> None:
    before = base.digest
    variant = load_variant(base, write(tmp_path / "v", base, strategy))
    change = None
    if strategy == "lora":
        pairs = load_file(tmp_path / "v" / ADAPTER[1])
        up, down = (pairs[f"base_model.model.{QUERY}.lora_{name}.weight"] for name in "BA")
        change = 6 / 2 * up @ down
    elif strategy == "full":
        change = load_file(tmp_path / "v" / DELTA)[f"{QUERY}.weight"].float()
    torch.testing.assert_close(variant.logits(make_images()), logits_by_hand(base, change))
    assert base.digest == before
    assert variant.classes == CLASSES
    assert variant.name == f"{base.name}@{tmp_path / 'v'}"
    assert len(variant.layers) == len(base.layers)
    assert set(variant.layers) <= set(variant.network.modules())
    assert not set(variant.layers) & set(base.network.modules())


@pytest.mark.parametrize("kind", ["dinov2", "vit", "resnet", "siglip"])
def test_the_head_reads_the_embedding(kind: str) -> None:
    base = tiny(kind)
    images = make_images(2)
    embeddings = base.embeddings(images)
    head = head_of(base, embeddings.shape[1])
    variant = add_head(base, head, CLASSES, "tuned")
    with torch.no_grad():
        torch.testing.assert_close(variant.logits(images), head(embeddings))
    torch.testing.assert_close(variant.embeddings(images), embeddings)
    for ours, theirs in zip(variant.features(images), base.features(images), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("method", ["cls", "rollout", "grad_attention", "saliency", "gradcam"])
def test_methods_see_into_variants(base: Model, tmp_path: Path, method: str) -> None:
    variant = load_variant(base, write(tmp_path / "v", base, "lora"))
    before = variant.digest
    maps = explain(variant, make_images(2), method)
    assert all(np.ptp(one) > 0 for layers in maps.values for one in layers)
    assert variant.digest == before
    copied = deepcopy(variant)
    assert set(copied.layers) <= set(copied.network.modules())
    assert torch.equal(copied.logits(make_images(1)), variant.logits(make_images(1)))


def test_a_classifier_of_the_base_is_replaced(tmp_path: Path) -> None:
    base = tiny("vit")
    variant = add_head(base, head_of(base), ("a", "b", "c"), "tuned")
    assert variant.classes == ("a", "b", "c")
    assert not torch.allclose(variant.logits(make_images(1)), base.logits(make_images(1)))


def test_the_size_it_was_trained_with_is_taken(base: Model, tmp_path: Path) -> None:
    folder = write(tmp_path / "v", base, "linear_probe", input={"size": [16, 24], "fit": "crop"})
    variant = load_variant(base, folder)
    assert variant.preprocess.size == (16, 24)
    assert variant.preprocess.fit == "crop"
    assert variant.fitted(fit="squash").preprocess.size == (16, 24)


def test_another_base_is_refused(base: Model, tmp_path: Path) -> None:
    folder = write(tmp_path / "v", base, "full")
    other = deepcopy(base)
    with torch.no_grad():
        other.network.get_submodule(QUERY).weight[0, 0] += 1e-3
    with pytest.raises(InputError, match=rf"was trained from base with weights {'.' * 16}; "):
        load_variant(other, folder)


@pytest.mark.parametrize("strategy", ["lora", "full"])
def test_weights_are_found_under_other_names(base: Model, tmp_path: Path, strategy: str) -> None:
    """As where another version of a library calls them otherwise."""
    folder = write(tmp_path / "v", base, strategy)
    expected = load_variant(base, folder).digest
    old = "encoder.layer.0.attention.attention.query"
    for name in (ADAPTER[1], DELTA):
        if (folder / name).is_file():
            tensors = load_file(folder / name)
            save_file({key.replace(QUERY, old): v for key, v in tensors.items()}, folder / name)
    text = (folder / RECIPE).read_text()
    assert QUERY in text
    (folder / RECIPE).write_text(text.replace(QUERY, old))
    assert load_variant(base, folder).digest == expected


def test_weights_that_cannot_be_told_apart_are_refused(base: Model, tmp_path: Path) -> None:
    with torch.no_grad():
        for layer in base.network.encoder.layer:
            layer.attention.q_proj.weight.fill_(0.5)
    folder = write(tmp_path / "v", base, "full")
    load_variant(base, folder)
    text = (folder / RECIPE).read_text().replace(QUERY, "gone")
    (folder / RECIPE).write_text(text)
    with pytest.raises(InputError, match=r"cannot tell which weight gone.weight belongs to: 3 wei"):
        load_variant(base, folder)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (RECIPE, "{", "cannot be read as JSON"),
        (RECIPE, '{"format": "other"}', "is not the recipe of a variant"),
        (RECIPE, '{"format": "sightline-variant", "version": 9}', "version must be 1, got 9"),
        (RECIPE, '{"format": "sightline-variant", "version": 1}', "cannot be understood"),
        (RECIPE, None, "has no recipe.json"),
        (HEAD, None, "has no head.safetensors"),
        (HEAD, "abc", "cannot be read as safetensors"),
        (ADAPTER[0], None, "has no adapter_config.json"),
        (ADAPTER[0], "[]", "cannot be understood"),
        (ADAPTER[0], "[" * 100_000, "cannot be understood"),
        (ADAPTER[1], None, "has no adapter_model.safetensors"),
    ],
)
def test_broken_files_are_named(
    base: Model, tmp_path: Path, name: str, content: str | None, message: str
) -> None:
    folder = write(tmp_path / "v", base, "lora")
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(content)
    with pytest.raises(InputError, match=message):
        load_variant(base, folder)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"use_dora": True}, "only plain LoRA is read, got use_dora"),
        ({"use_rslora": True}, "got use_rslora"),
        ({"peft_type": "IA3"}, "got peft_type IA3"),
        ({"bias": "all"}, "bias all"),
        ({"alpha_pattern": {"x": 1}}, "alpha_pattern"),
        ({"r": 0}, "r and lora_alpha must be above 0, got 0 and 6"),
        ({"lora_alpha": float("inf")}, "got 2 and inf"),
        ({"lora_alpha": float("nan")}, "got 2 and nan"),
        ({"r": 4}, "a lora_A and a lora_B that fit"),  # the files have 2
        ({"lora_alpha": 1e300}, "the change of .* must hold finite numbers"),
    ],
)
def test_other_adapters_are_refused(
    base: Model, tmp_path: Path, config: dict[str, Any], message: str
) -> None:
    folder = write(tmp_path / "v", base, "lora")
    values = json.loads((folder / ADAPTER[0]).read_text()) | config
    (folder / ADAPTER[0]).write_text(json.dumps(values))
    with pytest.raises(InputError, match=message):
        load_variant(base, folder)


@pytest.mark.parametrize(
    ("strategy", "tensors", "message"),
    [
        (
            "full",
            {f"{QUERY}.weight": torch.zeros(3, 3)},
            r"has shape \(3, 3\), expected \(16, 16\)",
        ),
        ("full", {f"{QUERY}.weight": torch.full((16, 16), torch.nan)}, "must hold finite numbers"),
        ("full", {f"{QUERY}.weight": torch.full((16, 16), 1e300, dtype=torch.float64)}, "finite"),
        ("full", {f"{QUERY}.weight": torch.zeros(16, 16, dtype=torch.int8)}, "finite numbers"),
        ("full", {"other": torch.zeros(2)}, "differ about"),
        (
            "lora",  # 360 GB, if they were multiplied
            {
                f"base_model.model.{QUERY}.lora_A.weight": torch.zeros(2, 300_000),
                f"base_model.model.{QUERY}.lora_B.weight": torch.zeros(300_000, 2),
            },
            "must have a lora_A and a lora_B that fit",
        ),
        (
            "lora",
            {"a.lora_A.weight": torch.zeros(2, 4)},
            "must have a lora_A and a lora_B that fit",
        ),
        ("lora", {"a.lora_B.weight": torch.zeros(2, 4)}, "pairs of lora_A and lora_B"),
    ],
)
def test_tensors_that_do_not_fit_are_named(
    base: Model, tmp_path: Path, strategy: str, tensors: dict[str, Any], message: str
) -> None:
    folder = write(tmp_path / "v", base, strategy)
    save_file(tensors, folder / (DELTA if strategy == "full" else ADAPTER[1]))
    before = base.digest
    with pytest.raises(InputError, match=message):
        load_variant(base, folder)
    assert base.digest == before


def test_a_head_of_other_classes_is_refused(base: Model, tmp_path: Path) -> None:
    folder = write(tmp_path / "v", base, "linear_probe")
    save_file(nn.Linear(16, 2).state_dict(), folder / HEAD)
    with pytest.raises(InputError, match="must have 3 classes, got 2"):
        load_variant(base, folder)


def test_a_head_of_another_model_is_named(base: Model, tmp_path: Path) -> None:
    folder = write(tmp_path / "v", base, "linear_probe")
    save_file(nn.Linear(5, 3).state_dict(), folder / HEAD)
    with pytest.raises(InputError, match="classifier takes 5 channels; Dinov2Model has 16"):
        load_variant(base, folder).logits(make_images(1))


def test_one_weight_is_not_changed_twice(base: Model, tmp_path: Path) -> None:
    folder = write(tmp_path / "v", base, "full")
    change = load_file(folder / DELTA)[f"{QUERY}.weight"]
    save_file({f"{QUERY}.weight": change, "gone": change.clone()}, folder / DELTA)
    values = json.loads((folder / RECIPE).read_text())
    values["weights"]["gone"] = values["weights"][f"{QUERY}.weight"]
    (folder / RECIPE).write_text(json.dumps(values))
    with pytest.raises(InputError, match=r"recipe\.json names a weight twice"):
        load_variant(base, folder)


def test_a_base_in_half_precision(base: Model, tmp_path: Path) -> None:
    base.network.half().float()
    folder = write(tmp_path / "v", base, "linear_probe")
    expected = load_variant(base, folder).logits(make_images(2))
    half = replace(base, network=deepcopy(base.network).to(torch.bfloat16))
    half = load_variant(half, write(tmp_path / "half", half, "linear_probe"))
    torch.testing.assert_close(half.logits(make_images(2)), expected, rtol=0.1, atol=0.1)


def test_names_with_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = tiny("dinov2")
    base.network.save_pretrained(tmp_path / "my@base")
    folder = write(tmp_path / "me@work" / "v", load_model(f"hf:{tmp_path / 'my@base'}"), "lora")
    monkeypatch.chdir(tmp_path)
    name = f"hf:my@base@{folder}"
    variant = load_model(name)
    assert (variant.name, variant.classes) == (name, CLASSES)
    assert load_model("hf:my@base").classes == ()
    with pytest.raises(UnknownNameError, match=r"unknown variant 'no' of hf:my@base; it is a fold"):
        load_model("hf:my@base@no")
    shipped = ", ".join(name for name in MODELS if name.startswith("demo/vit@"))
    known = rf"unknown variant 'no' of demo/vit; shipped: {shipped}; others are folders"
    with pytest.raises(UnknownNameError, match=known):
        load_model("demo/vit@no")


def test_digests_of_values_do_not_depend_on_names() -> None:
    one, two = nn.Sequential(nn.Linear(2, 3)), nn.ModuleDict({"other": nn.Linear(2, 3)})
    two["other"].load_state_dict(one[0].state_dict())
    assert weights_digest(one) == weights_digest(two)
    two["other"].bias.data[0] += 1
    assert weights_digest(one) != weights_digest(two)
    assert weights_digest(deepcopy(smooth().network)) == weights_digest(smooth().network)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": [1]}, "weights"),
        ({"weights": {"a": ["x"]}}, "cannot tell which weight a"),
        ({"classes": "abc"}, "classes 'abc'"),
        ({"classes": [1, 2, 3]}, "classes"),
        ({"classes": ["a", "a", "b"]}, "classes"),
        ({"data": []}, "data"),
        ({"epochs": [1]}, "epochs"),
        ({"training": ["a", 1]}, "cannot be understood"),
        ({"training": [["a0", "a99999999999"]]}, "is no range of ids"),
        ({"input": {"size": [32, 32], "fit": "none"}}, r"v: recipe\.json: fit must be one of"),
        ({"input": {"size": [33, 33], "fit": "crop"}}, r"v: recipe\.json: .*no multiple"),
        ({"strategy": "prompt"}, "strategy 'prompt'"),
        ({"digest": None}, "digest None"),
    ],
)
def test_recipes_that_cannot_be_are_refused(
    base: Model, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    folder = write(tmp_path / "v", base, "full")
    values = json.loads((folder / RECIPE).read_text()) | changes
    (folder / RECIPE).write_text(json.dumps(values))
    with pytest.raises(InputError, match=message):
        load_variant(base, folder)


SHIPPED = [name for name in MODELS if name.startswith("demo/vit-dino@")]


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_variants_are_small_and_tell_styles(name: str) -> None:
    folder = DEMO / name.removeprefix("demo/")
    names = {file.name for file in folder.iterdir()}
    assert not names & {"config.json", "model.safetensors"}  # no copy of the base
    recipe, card = read_recipe(folder), MODELS[name]
    sizes = [file.stat().st_size for file in folder.iterdir() if file.name != "card.json"]
    assert sum(sizes) == card.details["bytes"] < 6e6
    assert (recipe.base, recipe.strategy) == ("demo/vit-dino", name.partition("@")[2])
    facades = {"name": "facades", "path": None}
    assert recipe.data == {**facades, "seed": 1, "images": 14_000}
    assert recipe.held_out == {**facades, "seed": 7, "images": 2_000}
    assert {*recipe.training}.isdisjoint(recipe.validation)
    assert len(recipe.training) + len(recipe.validation) == 14_000
    assert card.figures["accuracy_held_out"] == pytest.approx(
        recipe.figures["accuracy_held_out"], abs=1e-4
    )
    assert card.figures["accuracy_held_out"] > 0.9
    images = load_dataset("facades", count=24, seed=7)
    model = load_model(name)
    found = [model.classes[n] for n in model.logits(list(images)).argmax(1).tolist()]
    right = sum(one == sample.labels[0] for one, sample in zip(found, images, strict=True))
    assert right >= 19


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_variants_attend_as_they_were_trained(name: str) -> None:
    image = load_dataset("facades", count=1, seed=7)[0]
    base, variant = load_model("demo/vit-dino", size=64), load_model(name, size=64)
    one, two = (explain(m, [image], "cls", layers=[-1]).values[0][0] for m in (base, variant))
    assert np.array_equal(one, two) == name.endswith("@linear_probe")


def test_no_shipped_variant_is_missing() -> None:
    assert sorted(name.partition("@")[2] for name in SHIPPED) == sorted(STRATEGIES)
