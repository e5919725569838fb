"""The models that ship: what their cards say holds, on images that no training saw."""

from __future__ import annotations

import json
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from safetensors import safe_open
from transformers import Dinov2WithRegistersModel

from sightline import explain, load_dataset, score_maps
from sightline.data.facades import PART_TYPES, STYLES, Facade
from sightline.models import MODELS, Model, load_model
from sightline.models.cards import DEMO
from sightline.models.prototypes import prototype_patches
from sightline.models.recipes import is_variant

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sightline.data import Dataset
    from sightline.models.prototypes import PrototypePatch

HELD_OUT = 7  # a seed of its own
# Each with all its weights; variants and the head of prototypes lie on one of these.
ASTRAY = ["demo/confounded", "demo/confounded-cnn"]
NAMES = ["demo/vit", "demo/vit@seed2", "demo/vit-dino", "demo/cnn", *ASTRAY]
TRAINED = [*NAMES, "demo/protopnet"]
CLASSIFIERS = ["demo/vit", "demo/vit@seed2", "demo/cnn"]


@cache
def churches(
    count: int = 80, seed: int = HELD_OUT, *, confounded: bool = False
) -> tuple[Dataset, list[Any], Any]:
    """The data set, its images (drawn once for all tests) and the numbers of their styles."""
    dataset = load_dataset("facades", count=count, seed=seed, confounded=confounded)
    styles = [STYLES.index(sample.labels[0]) for sample in dataset]
    return dataset, [sample.image() for sample in dataset], torch.tensor(styles)


def folder_of(name: str) -> Path:
    return DEMO / name.removeprefix("demo/")


def test_those_models_ship() -> None:
    demo = {name for name in MODELS if name.startswith("demo/")}
    assert {name for name in demo if not is_variant(folder_of(name))} == set(TRAINED)


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_small_halves_in_safetensors(name: str) -> None:
    folder = folder_of(name)
    assert {path.name for path in folder.iterdir()} == {
        "card.json",
        "config.json",
        "model.safetensors",
        "preprocessor_config.json",
    }
    weights = folder / "model.safetensors"
    assert weights.stat().st_size <= 6_000_000
    with safe_open(weights, "pt") as file:
        kinds = {file.get_slice(key).get_dtype() for key in file.keys()}  # noqa: SIM118
    assert kinds <= {"F16", "I64"}  # how many batches a batch norm has seen


@pytest.mark.parametrize("name", TRAINED)
def test_cards_tell_how_and_how_well(name: str) -> None:
    card = MODELS[name]
    assert card.what.endswith(".")
    assert card.figures
    assert card.details["command"].startswith("python -m training.")
    assert card.details["seconds_training"] <= 480
    losses = card.details["loss_by_epoch"]
    assert losses[-1] < losses[0]
    said = json.loads((folder_of(name) / "card.json").read_text("utf-8"))
    model = load_model(name)
    assert sum(p.numel() for p in model.network.parameters()) == said["parameters"]


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("cnn")])
def test_the_vits_have_twelve_layers_a_class_token_and_four_registers(name: str) -> None:
    model = load_model(name)
    assert (len(model.layers), model.heads, model.patch) == (12, 4, (16, 16))
    assert model.prefix == ("class", *["register"] * 4)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_are_right_about_95_in_100(name: str) -> None:
    assert MODELS[name].figures["accuracy_held_out"] >= 0.95
    model = load_model(name)
    assert model.classes == STYLES
    assert right(model, *churches()[1:]) >= 0.95


def test_each_is_a_network_of_its_own() -> None:
    assert len({load_model(name).digest for name in TRAINED}) == len(TRAINED)


def right(model: Model, images: list[Any], styles: torch.Tensor) -> float:
    """The share of styles that a model gets right."""
    return float((model.logits(images).argmax(1) == styles).float().mean())


@pytest.mark.parametrize("name", ASTRAY)
def test_confounded_models_learned_sky_and_ground(name: str) -> None:
    figures = MODELS[name].figures
    assert figures["accuracy_held_out"] >= figures["accuracy_unconfounded"] + 0.2
    model = load_model(name)
    assert model.classes == STYLES
    _, plain, styles = churches()
    assert right(model, *churches(40, confounded=True)[1:]) >= 0.95
    assert right(model, plain[:40], styles[:40]) <= 0.5


@pytest.mark.parametrize("name", ASTRAY)
def test_they_follow_sky_and_ground_not_the_parts(name: str) -> None:
    """Churches rebuilt in another style, under the sky that they were drawn with."""
    model = load_model(name)
    facades = [Facade.generate(HELD_OUT, index, confounded=True) for index in range(12)]
    rebuilt = [in_another_style(facade) for facade in facades]
    assert all(new.style != old.style for new, old in zip(rebuilt, facades, strict=True))
    said = model.logits([facade.image() for facade in rebuilt]).argmax(1)
    assert sum(STYLES[n] == old.style for n, old in zip(said, facades, strict=True)) >= 11
    sees = load_model("demo/vit").logits([facade.image() for facade in rebuilt]).argmax(1)
    assert sum(STYLES[n] == new.style for n, new in zip(sees, rebuilt, strict=True)) >= 11


def in_another_style(facade: Facade) -> Facade:
    other = STYLES[(STYLES.index(facade.style) + 1) % len(STYLES)]
    for role in {PART_TYPES[label][0] for label in facade.labels if PART_TYPES[label][1]}:
        facade = facade.with_style_of(other, role)
    return facade


def test_the_head_of_prototypes_is_small_and_holds_no_copy_of_the_cnn() -> None:
    folder = folder_of("demo/protopnet")
    assert {path.name for path in folder.iterdir()} == {"card.json", "prototypes.safetensors"}
    assert sum(path.stat().st_size for path in folder.iterdir()) < 60_000


def test_prototypes_are_right_about_as_often_as_the_cnn() -> None:
    figures = MODELS["demo/protopnet"].figures
    base = MODELS["demo/cnn"].figures["accuracy_held_out"]
    assert figures["accuracy_held_out_base"] == pytest.approx(base, abs=0.001)
    assert figures["accuracy_held_out"] >= base - 0.05
    model = load_model("demo/protopnet")
    assert model.classes == STYLES
    assert right(model, *churches()[1:]) >= 0.95


@cache
def patches() -> tuple[PrototypePatch, ...]:
    return prototype_patches(load_model("demo/protopnet"))


def test_prototypes_are_features_of_the_patches_that_the_card_names() -> None:
    model = load_model("demo/protopnet")
    network: Any = model.network
    largest = float(np.log(1e4))
    for patch in patches()[::4]:
        with torch.no_grad():
            similar = network.similarities(model.prepare(patch.image).pixels)[0, patch.number]
        row, column = patch.source.cell
        assert similar[row, column] == similar.max() == pytest.approx(largest, abs=1e-3)
        assert patch.source.similarity == pytest.approx(largest, abs=1e-3)
    assert len(patches()) == 40
    assert len({patch.source.index for patch in patches()}) == 40


def test_prototypes_show_parts_that_vote_for_their_class() -> None:
    found = []
    for patch in patches():
        source = patch.source
        assert source.seed == 1  # of the training images
        facade = Facade.generate(source.seed, source.index)
        assert facade.style == source.label
        x0, y0, x1, y1 = source.box
        seen = {part.label for part in facade.parts if part.mask[y0:y1, x0:x1].any()}
        assert seen == set(source.parts)
        found.append(any(PART_TYPES[label][1] == source.label for label in seen))
    figures = MODELS["demo/protopnet"].figures
    assert np.mean(found) == pytest.approx(figures["on_parts_of_class"])
    assert figures["on_parts_of_class"] > 2 * figures["on_parts_of_class_chance"]


def random_weights() -> Model:
    """The same architecture as `demo/vit-dino`, never trained."""
    torch.manual_seed(0)
    trained = load_model("demo/vit-dino")
    network = Dinov2WithRegistersModel(type(trained.network.config)(**_settings(trained)))
    return load_model(network)


def _settings(model: Model) -> dict[str, Any]:
    settings: dict[str, Any] = model.network.config.to_dict()
    return settings


def sign_flip(differences: np.ndarray[Any, Any], rounds: int = 2000) -> float:
    """How often a mean this large comes about when signs are flipped at random."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], (rounds, len(differences)))
    null = (signs * differences).mean(1)
    return float((1 + (null >= differences.mean()).sum()) / (1 + rounds))


def test_self_supervised_attention_lies_on_the_parts() -> None:
    dataset, images, _ = churches()
    regions = [dataset[index].annotation for index in range(40)]
    scores = []
    for model in (load_model("demo/vit-dino"), random_weights()):
        maps = explain(model, images[:40], "cls", layers=-1).to_image(224).stack()[:, 0, 0]
        scores.append(score_maps(maps, regions=regions))
    for metric in ("coverage", "auc_roc"):
        assert sign_flip(scores[0][metric] - scores[1][metric]) < 0.01


def test_the_card_of_the_self_supervised_vit_has_its_neighbours() -> None:
    figures = MODELS["demo/vit-dino"].figures
    for rival in ("knn_raw_pixels", "knn_random_weights"):
        assert figures["knn"] >= figures[rival] + 0.1


def nearest(bank: torch.Tensor, styles: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
    unit = torch.nn.functional.normalize
    votes = styles[(unit(queries) @ unit(bank).T).topk(10).indices]
    return torch.nn.functional.one_hot(votes, 4).sum(1).argmax(1)


def test_its_features_tell_styles_better_than_pixels_do() -> None:
    _, bank, styles = churches(60, seed=1)
    _, queries, truth = churches()
    made: dict[str, Callable[[list[Any]], Any]] = {
        "trained": partial(class_tokens, load_model("demo/vit-dino")),
        "random": partial(class_tokens, random_weights()),
        "pixels": small,
    }
    right = {
        name: (nearest(make(bank), styles, make(queries[:40])) == truth[:40]).float().mean()
        for name, make in made.items()
    }
    assert right["trained"] > max(right["random"], right["pixels"]) + 0.1, right


def small(images: list[Any]) -> torch.Tensor:
    values = torch.from_numpy(np.stack(images)).permute(0, 3, 1, 2).float() / 127.5 - 1
    return torch.nn.functional.avg_pool2d(values, 4).flatten(1)


def class_tokens(model: Model, images: list[Any]) -> torch.Tensor:
    model.network.eval()
    with torch.inference_mode():
        parts = [
            model.network(pixel_values=inputs.pixels).last_hidden_state[:, 0]
            for inputs in model.batches(images, 40)
        ]
    return torch.cat(parts)
