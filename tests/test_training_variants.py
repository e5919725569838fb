"""How the variants that ship were trained, and packed for the names that weights have here."""

from __future__ import annotations

import json
import shutil
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from sightline.models import load_model, load_variant, read_recipe
from sightline.models.finetuning import Settings, finetune
from sightline.models.recipes import RECIPE
from sightline.models.variants import ADAPTER, HEAD
from tests.models.finetuning.pictures import make_data

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.models import Model

OLD = {"q_proj": "attention.query", "v_proj": "attention.value", "k_proj": "attention.key"}


@pytest.fixture(scope="module")
def base() -> Model:
    return load_model("demo/vit-dino", size=32)


def test_drawn_images_are_a_data_set() -> None:
    variants, data = (import_module(f"training.{name}") for name in ("variants", "data"))
    pixels = torch.randint(0, 256, (6, 3, 224, 224), generator=torch.Generator().manual_seed(0))
    images = data.Images(pixels.to(torch.uint8), torch.tensor([0, 1, 2, 3, 0, 1]))
    found = variants.as_dataset(images, 2)
    assert found.ids == tuple(f"facade-{n:05}.png" for n in range(2, 6))
    assert np.array_equal(found[0].image(), images.pixels[2].permute(1, 2, 0).numpy())
    assert found[0].labels == (variants.STYLES[2],)
    assert variants.as_dataset(images, 0, 2).ids == ("facade-00000.png", "facade-00001.png")


def test_a_training_tells_what_it_was_made_of(tmp_path: Path) -> None:
    variants = import_module("training.variants")
    chosen = variants.choose(8, 4, 4)
    card = variants.train("linear_probe", chosen, tmp_path / "v", 1)
    facades = {"name": "facades", "path": None}
    recipe = read_recipe(tmp_path / "v")
    assert recipe.data == {**facades, "seed": 1, "images": 12}
    assert recipe.held_out == {**facades, "seed": 7, "images": 4}
    assert recipe.training == tuple(f"facade-{n:05}.png" for n in range(8))
    assert recipe.validation == tuple(f"facade-{n:05}.png" for n in range(8, 12))
    written = (tmp_path / "v" / name for name in (RECIPE, HEAD))
    assert card["bytes"] == sum(path.stat().st_size for path in written)
    assert card["images"] == 8
    assert json.loads((tmp_path / "v" / "card.json").read_text()) == card


@pytest.mark.parametrize("strategy", ["linear_probe", "lora", "full"])
def test_packing_renames_and_changes_nothing_else(
    base: Model, tmp_path: Path, strategy: str
) -> None:
    settings = Settings(epochs=1, batch=8)
    made = finetune(base, make_data(9), strategy, tmp_path / "here", settings=settings)
    size = sum(file.stat().st_size for file in (tmp_path / "here").iterdir())
    card = json.dumps({"what": "A variant.", "bytes": size}, indent=1) + "\n"
    (tmp_path / "here" / "card.json").write_text(card)
    there = tmp_path / "there" / "v"
    shutil.copytree(tmp_path / "here", there)
    text = (there / RECIPE).read_text()
    for new, old in OLD.items():
        text = text.replace(f"attention.{new}", f"attention.{old}")
    (there / RECIPE).write_text(text)
    (there / "card.json").write_text(card.replace(str(size), "3"))
    _rename(there)
    import_module("training.variants").main(
        ["pack", str(tmp_path / "there"), str(tmp_path / "out")]
    )
    packed = tmp_path / "out" / "v"
    assert load_variant(base, packed).digest == made.model.digest
    for file in (tmp_path / "here").iterdir():
        assert (packed / file.name).read_bytes() == file.read_bytes(), file.name
    assert read_recipe(packed) == made.recipe


def _rename(folder: Path) -> None:
    """Write the weights under the names that an older transformers gives them."""
    from safetensors.torch import load_file, save_file

    for path in (folder / ADAPTER[1], folder / "delta.safetensors"):
        if path.is_file():
            tensors = load_file(path)
            for new, old in OLD.items():
                tensors = {
                    key.replace(f"attention.{new}", f"attention.{old}"): value
                    for key, value in tensors.items()
                }
            save_file(tensors, path)
    if (folder / ADAPTER[0]).is_file():
        config = json.loads((folder / ADAPTER[0]).read_text())
        config["target_modules"] = ["query", "value"]
        (folder / ADAPTER[0]).write_text(json.dumps(config))
