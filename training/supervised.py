"""Style classifiers: `python -m training.supervised {vit,cnn} --seed 1 --out FOLDER`."""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F
from transformers import (
    Dinov2WithRegistersConfig,
    Dinov2WithRegistersForImageClassification,
    ResNetConfig,
    ResNetForImageClassification,
)

from sightline.data.facades import STYLES
from training.data import HELD_OUT, SIZE, Images, draw, normalise, random_views

LABELS = dict(enumerate(STYLES))


def make_vit() -> Any:
    """A small ViT: 12 layers, patch 16, a class token and 4 registers."""
    return Dinov2WithRegistersForImageClassification(
        Dinov2WithRegistersConfig(
            hidden_size=128,
            num_hidden_layers=12,
            num_attention_heads=4,
            mlp_ratio=4,
            image_size=SIZE,
            patch_size=16,
            num_register_tokens=4,
            drop_path_rate=0.05,
            layerscale_value=1.0,
            id2label=LABELS,
            label2id={name: number for number, name in LABELS.items()},
        )
    )


def make_cnn() -> Any:
    """A small ResNet of basic blocks."""
    return ResNetForImageClassification(
        ResNetConfig(
            embedding_size=32,
            hidden_sizes=[32, 64, 128, 256],
            depths=[2, 2, 2, 2],
            layer_type="basic",
            id2label=LABELS,
            label2id={name: number for number, name in LABELS.items()},
        )
    )


COLOUR = 0.3
MODELS = {"vit": (make_vit, 1e-3, 60), "cnn": (make_cnn, 2e-3, 25)}


@torch.inference_mode()
def accuracy(model: Any, images: Images) -> float:
    """Share of the images whose style is found."""
    model.eval()
    right = 0
    for start in range(0, len(images.styles), 500):
        rows = slice(start, start + 500)
        logits = model(pixel_values=normalise(images.pixels[rows])).logits
        right += int((logits.argmax(1) == images.styles[rows]).sum())
    model.train()
    return right / len(images.styles)


def train(
    name: str,
    images: Images,
    seed: int,
    *,
    epochs: int | None = None,
    batch: int = 256,
    colour: float = COLOUR,
) -> tuple[Any, list[float]]:
    """Train a classifier; return it with the mean loss of each epoch.

    `colour` is how far views are recoloured.
    """
    torch.manual_seed(seed)
    make, rate, length = MODELS[name]
    model, epochs = make().to(images.pixels.device), epochs or length
    steps = epochs * (len(images.styles) // batch)
    optimiser = torch.optim.AdamW(model.parameters(), rate, weight_decay=0.05)
    rng = torch.Generator(images.pixels.device).manual_seed(seed)
    step, losses = 0, []
    for _ in range(epochs):
        total = torch.zeros((), device=images.pixels.device)
        order = torch.randperm(len(images.styles), generator=rng, device=images.pixels.device)
        for rows in order.split(batch)[: len(order) // batch]:
            part = step / steps
            warm = min(1.0, step / (0.05 * steps))
            for group in optimiser.param_groups:
                group["lr"] = rate * warm * 0.5 * (1 + math.cos(math.pi * part))
            views = random_views(images.pixels[rows], SIZE, (0.6, 1.0), colour, rng)
            with torch.autocast(images.pixels.device.type, torch.bfloat16):
                logits = model(pixel_values=views).logits
            loss = F.cross_entropy(logits.float(), images.styles[rows], label_smoothing=0.05)
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            total += loss.detach()
            step += 1
        losses.append(float(total) / max(len(order) // batch, 1))
    return model, losses


WHAT = {
    "vit": "Supervised ViT that tells the four styles of Facades.",
    "cnn": "Supervised ResNet of basic blocks that tells the four styles of Facades.",
}
CONFOUNDED = "As demo/{}, but sky and ground told the style in training; it learned those."
# How `normalise` prepares images, as transformers writes it.
PROCESSOR = {
    "size": {"height": SIZE, "width": SIZE},
    "resample": 3,
    "image_mean": [0.5] * 3,
    "image_std": [0.5] * 3,
    "rescale_factor": 1 / 255,
}


def save(model: Any, folder: Path, card: dict[str, Any]) -> None:
    """Save weights in half precision as safetensors, the preprocessing, and the card."""
    model.eval().half().cpu().save_pretrained(folder)
    for name, content in (("preprocessor_config", PROCESSOR), ("card", card)):
        (folder / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")


def measure(model: Any, images: Images, *, confounded: bool, count: int) -> dict[str, float]:
    """Return the accuracy on held-out and on training images.

    A model of confounded images is asked about images where sky and ground tell nothing, too.
    """
    device = str(images.pixels.device)
    figures = {
        "accuracy_held_out": accuracy(model, draw(count, HELD_OUT, device, confounded=confounded)),
        "accuracy_training": accuracy(model, Images(*(part[:2000] for part in images))),
    }
    if confounded:
        figures["accuracy_unconfounded"] = accuracy(model, draw(count, HELD_OUT, device))
    return figures


def command(args: argparse.Namespace) -> str:
    """Return the line that trains the model again."""
    settings = f"--seed {args.seed} --epochs {args.epochs or MODELS[args.name][2]}"
    if args.confounded:
        settings += " --confounded"
    if args.colour != COLOUR:
        settings += f" --colour {args.colour}"
    return f"python -m training.supervised {args.name} {settings} --out FOLDER"


def main() -> None:
    """Train, measure on held-out images, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=MODELS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=24_000)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--confounded", action="store_true", help="sky and ground tell the style")
    parser.add_argument("--colour", type=float, default=COLOUR, help="how far views are recoloured")
    parser.add_argument("--held-out", type=int, default=2_000, help="images to measure with")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    begun = time.time()
    images = draw(args.count, 1, device, confounded=args.confounded)
    drawn = time.time()
    model, losses = train(args.name, images, args.seed, epochs=args.epochs, colour=args.colour)
    trained = time.time()
    model.half().float()  # what ships
    card = {
        "what": (CONFOUNDED if args.confounded else WHAT[args.name]).format(args.name),
        "family": model.config.model_type,
        "figures": measure(model, images, confounded=args.confounded, count=args.held_out),
        "command": command(args),
        "images": args.count,
        "parameters": sum(p.numel() for p in model.parameters()),
        "seconds_drawing": round(drawn - begun, 1),
        "seconds_training": round(trained - drawn, 1),
        "loss_by_epoch": [round(loss, 4) for loss in losses],
    }
    save(model, args.out, card)
    print(json.dumps(card))


if __name__ == "__main__":
    main()
