"""Variants of `demo/vit-dino` that tell styles: `python -m training.variants --out FOLDER`.

A second step, `python -m training.variants pack FROM TO`, names the weights as the transformers
that is installed there does; the folders can be loaded before it, too.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file

from sightline.core import Annotation, Sample
from sightline.data import Dataset
from sightline.data.facades import STYLES
from sightline.models import load_model
from sightline.models.finetuning import Chosen, Settings, choose_images, finetune
from sightline.models.finetuning.adapters import target_ends
from sightline.models.finetuning.variant_folder import write_tensors
from sightline.models.recipes import RECIPE, read_recipe
from sightline.models.variants import (
    ADAPTER,
    DELTA,
    load_variant,
    place_weights,
    weight_digests,
)
from training.data import HELD_OUT, SIZE, Images, draw

if TYPE_CHECKING:
    import numpy as np

BASE, CARD = "demo/vit-dino", "card.json"
VALIDATION, TEST = 2_000, 2_000
SETTINGS = {
    "linear_probe": Settings(),
    "lora": Settings(epochs=20, batch=128, rate=2e-3, rank=8),
    "full": Settings(epochs=15, batch=128, rate=3e-4),
}
WHAT = {
    "linear_probe": "demo/vit-dino as it is, with a linear classifier of the four styles of "
    "Facades.",
    "lora": "demo/vit-dino with adapters of rank 8 in its attention, trained to tell the four "
    "styles.",
    "full": "demo/vit-dino with all its weights trained on to tell the four styles of Facades.",
}


def as_dataset(images: Images, first: int = 0, last: int | None = None) -> Dataset:
    """Return some of the images that were drawn as a data set."""
    pixels = images.pixels.permute(0, 2, 3, 1).cpu().numpy()
    styles = [STYLES[number] for number in images.styles.tolist()]
    numbers = range(first, len(styles) if last is None else last)
    rows = {f"facade-{number:05}.png": number for number in numbers}
    return Dataset("facades", dict.fromkeys(rows, ""), partial(_sample, pixels, styles, rows))


def _sample(pixels: np.ndarray, styles: list[str], rows: dict[str, int], image_id: str) -> Sample:
    row = rows[image_id]
    annotation = Annotation(image_id, SIZE, SIZE, (), (styles[row],))
    return Sample(image_id, annotation, "", None, lambda: pixels[row])


def choose(count: int, validation: int, test: int) -> Chosen:
    """Draw facades: the first of seed 1 to learn from, the next to choose by, seed 7 held out."""
    images, held_out = draw(count + validation, 1, "cpu"), draw(test, HELD_OUT, "cpu")
    chosen = choose_images(
        as_dataset(images, 0, count),
        validation=as_dataset(images, count),
        held_out=as_dataset(held_out),
    )
    return replace(chosen, source=_facades(1, count + validation))


def _facades(seed: int, count: int) -> dict[str, Any]:
    """Return what a recipe says of drawn images, whose data set does not know the seed."""
    return {"name": "facades", "path": None, "seed": seed, "images": count}


def train(strategy: str, chosen: Chosen, folder: Path, epochs: int | None = None) -> dict[str, Any]:
    """Train one variant, write its folder, and return its card."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    begun = time.time()
    settings = SETTINGS[strategy]
    settings = settings if epochs is None else replace(settings, epochs=epochs)
    model = load_model(BASE, device=device)
    done = finetune(model, chosen, strategy, folder, settings=settings, progress=_report)
    recipe = replace(done.recipe, held_out=_facades(HELD_OUT, len(chosen.held_out)))
    (folder / RECIPE).write_text(recipe.to_json())
    card = {
        "what": WHAT[strategy],
        "family": model.family,
        "figures": {
            "accuracy_held_out": round(recipe.figures["accuracy_held_out"], 4),
            "accuracy_validation": round(recipe.figures["accuracy_validation"], 4),
            "accuracy_training": round(recipe.figures["accuracy_training"], 4),
        },
        "command": "python -m training.variants --out FOLDER",
        "base": BASE,
        "images": len(recipe.training),
        "parameters": sum(p.numel() for p in done.model.network.parameters()),
        "bytes": _size(folder),
        "seconds_training": round(time.time() - begun, 1),
        "loss_by_epoch": [round(epoch["training_loss"], 4) for epoch in recipe.epochs],
        "validation_loss_by_epoch": [round(epoch["validation_loss"], 4) for epoch in recipe.epochs],
    }
    (folder / CARD).write_text(json.dumps(card, indent=1) + "\n")
    return card


def _size(folder: Path) -> int:
    """Return the bytes of a variant without its card."""
    return sum(file.stat().st_size for file in folder.iterdir() if file.name != CARD)


def _report(done: int, total: int, what: str) -> None:
    if done == total or done % 500 == 0:
        print(f"{what}: {done} of {total}", flush=True)


def pack(source: Path, folder: Path) -> None:
    """Write a variant anew, with the names that weights have in the transformers of this machine.

    Nothing else changes but the bytes that the card tells.
    """
    recipe = read_recipe(source)
    base = load_model(recipe.base)
    places = place_weights(recipe.weights, weight_digests(base.network), source)
    shutil.copytree(source, folder)
    if recipe.strategy == "lora":
        _pack_adapters(source, folder, places, base)
    elif recipe.strategy == "full":
        delta = load_file(source / DELTA)
        write_tensors({places[name]: value for name, value in delta.items()}, folder / DELTA)
    weights = {places[name]: digest for name, digest in recipe.weights.items()}
    (folder / RECIPE).write_text(replace(recipe, weights=weights).to_json())
    card = json.loads((source / CARD).read_text()) | {"bytes": _size(folder)}
    (folder / CARD).write_text(json.dumps(card, indent=1) + "\n")
    one, two = (load_variant(base, place, name="packed").digest for place in (source, folder))
    if one != two:
        raise SystemExit(f"{folder}: the packed variant has other weights than {source}")


def _pack_adapters(source: Path, folder: Path, places: dict[str, str], base: Any) -> None:
    start, renamed = "base_model.model.", {}
    for key, value in load_file(source / ADAPTER[1]).items():
        module, dot, rest = key.removeprefix(start).rpartition(".lora_")
        place = places[f"{module}.weight"].removesuffix(".weight")
        renamed[f"{start}{place}{dot}{rest}"] = value
    write_tensors(renamed, folder / ADAPTER[1])
    config = json.loads((source / ADAPTER[0]).read_text())
    config["target_modules"] = target_ends(base.network, (), base.name)
    (folder / ADAPTER[0]).write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")


def main(words: list[str]) -> None:
    """Train the three variants, or pack them."""
    parser = argparse.ArgumentParser(description=__doc__)
    if words[:1] == ["pack"]:
        parser.add_argument("source", type=Path)
        parser.add_argument("out", type=Path)
        args = parser.parse_args(words[1:])
        for folder in sorted(path.parent for path in args.source.glob(f"*/{RECIPE}")):
            pack(folder, args.out / folder.name)
        return
    parser.add_argument("--count", type=int, default=12_000)
    parser.add_argument("--validation", type=int, default=VALIDATION)
    parser.add_argument("--test", type=int, default=TEST)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args(words)
    args.out.mkdir(parents=True, exist_ok=True)
    begun = time.time()
    chosen = choose(args.count, args.validation, args.test)
    print(f"drawn and compared in {time.time() - begun:.1f} s", flush=True)
    for strategy in SETTINGS:
        folder = args.out / f"{BASE.removeprefix('demo/')}@{strategy}"
        print(json.dumps(train(strategy, chosen, folder, args.epochs)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
