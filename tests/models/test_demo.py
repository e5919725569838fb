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
from sightline.data.facades import STYLES
from sightline.models import MODELS, Model, load_model
from sightline.models.cards import DEMO

if TYPE_CHECKING:
    from collections.abc import Callable

    from sightline.data import Dataset

HELD_OUT = 7  # a seed of its own
NAMES = ["demo/vit", "demo/vit@seed2", "demo/vit-dino", "demo/cnn"]
CLASSIFIERS = ["demo/vit", "demo/vit@seed2", "demo/cnn"]


@cache
def churches(count: int, seed: int = HELD_OUT) -> tuple[Dataset, list[Any], Any]:
    """The data set, its images (drawn once for all tests) and the numbers of their styles."""
    dataset = load_dataset("facades", count=count, seed=seed)
    styles = [STYLES.index(sample.labels[0]) for sample in dataset]
    return dataset, [sample.image() for sample in dataset], torch.tensor(styles)


def test_those_models_ship() -> None:
    assert {name for name in MODELS if name.startswith("demo/")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_weights_are_small_halves_in_safetensors(name: str) -> None:
    folder = DEMO / name.removeprefix("demo/")
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


@pytest.mark.parametrize("name", NAMES)
def test_cards_tell_how_and_how_well(name: str) -> None:
    card = MODELS[name]
    assert card.what.endswith(".")
    assert card.figures
    assert card.details["command"].startswith("python -m training.")
    assert card.details["seconds_training"] <= 480
    losses = card.details["loss_by_epoch"]
    assert losses[-1] < losses[0]
    said = json.loads((DEMO / name.removeprefix("demo/") / "card.json").read_text("utf-8"))
    model = load_model(name)
    assert sum(p.numel() for p in model.network.parameters()) == said["parameters"]


@pytest.mark.parametrize("name", ["demo/vit", "demo/vit@seed2", "demo/vit-dino"])
def test_the_vits_have_twelve_layers_a_class_token_and_four_registers(name: str) -> None:
    model = load_model(name)
    assert (len(model.layers), model.heads, model.patch) == (12, 4, (16, 16))
    assert model.prefix == ("class", *["register"] * 4)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_are_right_about_95_in_100(name: str) -> None:
    assert MODELS[name].figures["accuracy_held_out"] >= 0.95
    model, (_, images, styles) = load_model(name), churches(200)
    assert model.classes == STYLES
    assert (model.logits(images[:80]).argmax(1) == styles[:80]).float().mean() >= 0.95


def test_the_two_seeds_are_two_networks() -> None:
    assert len({load_model(name).digest for name in NAMES}) == len(NAMES)


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
    dataset, images, _ = churches(200)
    regions = [sample.annotation for sample in dataset]
    scores = []
    for model in (load_model("demo/vit-dino"), random_weights()):
        maps = explain(model, images, "cls", layers=-1).to_image(224).stack()[:, 0, 0]
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
    _, bank, styles = churches(100, seed=1)
    _, queries, truth = churches(200)
    made: dict[str, Callable[[list[Any]], Any]] = {
        "trained": partial(class_tokens, load_model("demo/vit-dino")),
        "random": partial(class_tokens, random_weights()),
        "pixels": small,
    }
    right = {
        name: (nearest(make(bank), styles, make(queries[:60])) == truth[:60]).float().mean()
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
