"""A prototype head on the CNN: `python -m training.protopnet --out FOLDER`.

Cells of the third stage of `demo/cnn`, which stays as it is, are compared with prototypes (Chen et
al. 2019, arXiv:1806.10574). Two 1x1 layers and the prototypes learn together; then each prototype
is moved onto the nearest cell of a training image of its class, and the weights of the classes are
fitted to what the prototypes then are.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional as F

from sightline.data.facades import STYLES, Facade
from sightline.models import load_model
from sightline.models.cards import DEMO
from sightline.models.prototypes import (
    PrototypeNetwork,
    load_prototypes,
    make_add_on,
    make_trunk,
    similarity,
)
from training.data import HELD_OUT, SIZE, Images, draw, normalise

BASE, STAGES = "demo/cnn", 3
WIDTH, EACH = 64, 10  # channels that are compared; prototypes of a class
RATE, BATCH, EPOCHS = 3e-3, 256, 20
# Weights of the costs beside the cross-entropy; the first two and the last are the paper's.
CLUSTER, SEPARATION, USE, APART, SPARSE = 0.8, 0.08, 0.8, 0.05, 1e-4
KEPT = 0.5  # share of the prototypes that a picture may use in a step
MARGIN = 2.0  # squared distance that prototypes of a class keep
WHAT = "Compares cells of demo/cnn with 40 prototypes, patches of training images."


class Features(NamedTuple):
    """What the trunk says of images `(n, channels, rows, columns)`, with their styles."""

    values: Tensor
    styles: Tensor


class Place(NamedTuple):
    """The cell that a prototype was moved onto: number of the image, row and column."""

    image: int
    row: int
    column: int


@torch.no_grad()
def features_of(trunk: nn.Module, images: Images) -> Features:
    """Run the trunk once; it does not learn."""
    parts = [trunk(normalise(pixels)) for pixels in images.pixels.split(250)]
    return Features(torch.cat(parts), images.styles)


def owners(device: torch.device | str) -> Tensor:
    """Return the class of each prototype."""
    return torch.arange(len(STYLES), device=device).repeat_interleave(EACH)


def make_network(trunk: nn.Sequential, channels: int, seed: int) -> PrototypeNetwork:
    """Return a network that knows nothing yet: each prototype speaks for its class."""
    torch.manual_seed(seed)
    classes = torch.arange(len(STYLES))[:, None]
    weights = torch.where(owners("cpu") == classes, 1.0, -0.5)
    start = torch.rand(weights.shape[1], WIDTH)
    return PrototypeNetwork(trunk, make_add_on(channels, WIDTH), start, weights)


def cost(network: PrototypeNetwork, part: Features, rng: torch.Generator) -> Tensor:
    """Return the loss of a batch: cross-entropy and four costs.

    Some cell is near a prototype of its class (cluster), all are far from those of other classes
    (separation); so far the paper. In each step a picture may use half of the prototypes only, each
    prototype must be near some cell of its class (use: Li et al. 2018, arXiv:1710.04806), and those
    of a class keep apart: else one prototype of a class does all, and the others are nothing.
    """
    squares = network.distances(network.add_on(part.values)).flatten(2)
    nearest, own = squares.amin(2), owners(part.styles.device) == part.styles[:, None]
    kept = torch.rand(nearest.shape, generator=rng, device=nearest.device) < KEPT
    logits = network.classifier(similarity(nearest) * kept / KEPT)
    far = nearest.masked_fill(own, math.inf).amin(1).mean()
    near = nearest.masked_fill(~(own & kept), math.inf).amin(1)
    used = nearest.masked_fill(~own, math.inf).amin(0)
    costs = CLUSTER * near[near.isfinite()].mean() - SEPARATION * far
    costs = costs + USE * used[used.isfinite()].mean() + APART * crowding(network.prototypes)
    return F.cross_entropy(logits, part.styles) + costs


def crowding(prototypes: Tensor) -> Tensor:
    """Return by how much prototypes of a class are nearer to each other than `MARGIN`."""
    own = owners(prototypes.device)
    gaps = (prototypes[:, None] - prototypes).square().sum(2)
    counts = (own[:, None] == own) & ~torch.eye(len(own), dtype=torch.bool, device=own.device)
    return (F.relu(MARGIN - gaps) * counts).sum(1).mean()


def learn(network: PrototypeNetwork, known: Features, seed: int, epochs: int) -> list[float]:
    """Train the 1x1 layers and the prototypes; return the mean loss of each epoch."""
    device = known.styles.device
    rng = torch.Generator(device).manual_seed(seed)
    optimiser = torch.optim.Adam([*network.add_on.parameters(), network.prototypes], RATE)
    batch = min(BATCH, len(known.styles))
    count = len(known.styles) // batch
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs * count)
    losses = []
    for _ in range(epochs):
        total = torch.zeros((), device=device)
        order = torch.randperm(len(known.styles), generator=rng, device=device)
        for rows in order.split(batch)[:count]:
            loss = cost(network, Features(known.values[rows], known.styles[rows]), rng)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            total += loss.detach()
        losses.append(float(total) / count)
    return losses


@torch.no_grad()
def project(network: PrototypeNetwork, known: Features) -> list[Place]:
    """Move each prototype onto the nearest cell of an image of its class; no image gives two."""
    parts = [network.add_on(values) for values in known.values.split(500)]
    squares = [network.distances(part).flatten(2).min(2) for part in parts]
    nearest, cells = (torch.cat([part[i] for part in squares]) for i in range(2))
    columns = known.values.shape[3]
    places: list[Place] = []
    for number, owner in enumerate(owners(known.styles.device).tolist()):
        gaps = nearest[:, number].masked_fill(known.styles != owner, math.inf)
        gaps[[place.image for place in places]] = math.inf
        image = int(gaps.argmin())
        row, column = divmod(int(cells[image, number]), columns)
        places.append(Place(image, row, column))
    for number, (image, row, column) in enumerate(places):
        feature = network.add_on(known.values[image : image + 1])[0, :, row, column]
        network.prototypes[number] = feature
    return places


@torch.no_grad()
def most_similar(network: PrototypeNetwork, known: Features) -> Tensor:
    """Return the similarity of the most similar cell `(n, prototypes)`."""
    parts = [network.distances(network.add_on(values)) for values in known.values.split(500)]
    return similarity(torch.cat([part.amin((2, 3)) for part in parts]))


def tune(network: PrototypeNetwork, known: Features, steps: int = 300) -> None:
    """Fit the weights of the classes, with few for prototypes of other classes."""
    similar = most_similar(network, known)
    weight = network.classifier.weight
    other = owners(weight.device) != torch.arange(len(STYLES), device=weight.device)[:, None]
    optimiser = torch.optim.Adam([weight], 1e-2)
    for _ in range(steps):
        sparse = SPARSE * (weight * other).abs().sum()
        loss = F.cross_entropy(similar @ weight.T, known.styles) + sparse
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def accuracy(network: PrototypeNetwork, known: Features) -> float:
    """Share of the images whose style is found."""
    logits = most_similar(network, known) @ network.class_weights.T
    return round(float((logits.argmax(1) == known.styles).double().mean()), 4)


def sources(
    network: PrototypeNetwork, known: Features, places: list[Place]
) -> list[dict[str, Any]]:
    """Return a row for each prototype: its class, image, cell, box, similarity and parts."""
    patch = SIZE // known.values.shape[3]
    similar = most_similar(network, Features(*(part[[p.image for p in places]] for part in known)))
    rows = []
    for number, (place, owner) in enumerate(zip(places, owners("cpu").tolist(), strict=True)):
        image, row, column = place
        left, top = column * patch, row * patch
        rows.append(
            {
                "label": STYLES[owner],
                "seed": 1,
                "index": image,
                "cell": [row, column],
                "box": [left, top, left + patch, top + patch],
                "similarity": round(float(similar[number, number]), 4),
                "parts": parts_in(image, (left, top, left + patch, top + patch)),
            }
        )
    return rows


def parts_in(index: int, box: tuple[int, int, int, int]) -> list[str]:
    """Return the part types of a training image that are seen in a box."""
    x0, y0, x1, y1 = box
    facade = Facade.generate(1, index, SIZE)
    return sorted({part.label for part in facade.parts if part.mask[y0:y1, x0:x1].any()})


def on_parts(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """Return how many prototypes show a part that votes for their class, and how many cells do."""
    shown, chance = [], []
    for row in rows:
        (down, across), side = row["cell"], row["box"][2] - row["box"][0]
        facade = Facade.generate(row["seed"], row["index"], SIZE)
        votes = np.zeros((SIZE, SIZE), bool)
        for part in facade.parts:
            if part.style == row["label"]:
                votes |= part.mask
        cells = votes.reshape(SIZE // side, side, SIZE // side, side).any((1, 3))
        shown.append(float(cells[down, across]))
        chance.append(float(cells.mean()))
    return sum(shown) / len(shown), sum(chance) / len(chance)


def save(network: PrototypeNetwork, folder: Path, card: dict[str, Any]) -> None:
    """Save the head, and the card; the prototypes in full, since they are features of patches."""
    folder.mkdir(parents=True, exist_ok=True)
    head = {f"add_on.{name}": value.half() for name, value in network.add_on.state_dict().items()}
    head["prototypes"] = network.prototypes.detach()
    head["classifier.weight"] = network.class_weights.half()
    tensors = {name: value.cpu().contiguous() for name, value in head.items()}
    save_file(tensors, folder / "prototypes.safetensors")
    (folder / "prototypes.safetensors").chmod(0o644)
    write_card(folder, card)


def write_card(folder: Path, card: dict[str, Any]) -> None:
    (folder / "card.json").write_text(json.dumps(card, indent=1) + "\n", "utf-8")


@torch.no_grad()
def logits_right(name: str, folder: Path | None, images: Images) -> float:
    """Return the share of styles that a model gets right, loaded as users do."""
    model = load_model(name) if folder is None else load_prototypes(name, folder)
    network = model.network.to(images.pixels.device)
    answers = [model(normalise(part)).logits.argmax(1) for part in images.pixels.split(250)]
    network.cpu()
    return round(float((torch.cat(answers) == images.styles).double().mean()), 4)


def train(images: Images, seed: int, epochs: int) -> tuple[PrototypeNetwork, dict[str, Any]]:
    """Train a head; return the network, and what the card says of it."""
    base = load_model(BASE)
    trunk = make_trunk(base, STAGES).to(images.pixels.device).eval().requires_grad_(False)
    known = features_of(trunk, images)
    network = make_network(trunk, known.values.shape[1], seed).to(images.pixels.device)
    losses = learn(network, known, seed, epochs)
    network.add_on.half().float()  # what ships
    before = accuracy(network, known)
    places = project(network, known)
    tune(network, known)
    rows = sources(network, known, places)
    shown, chance = on_parts(rows)
    figures = {
        "accuracy_training_before_projection": before,
        "on_parts_of_class": shown,
        "on_parts_of_class_chance": round(chance, 4),
    }
    weights = (DEMO / BASE.removeprefix("demo/") / "model.safetensors").read_bytes()
    card = {
        "what": WHAT,
        "family": "protopnet",
        "figures": figures,
        "base": BASE,
        "base_weights": sha256(weights).hexdigest(),
        "stages": STAGES,
        "patch": SIZE // known.values.shape[3],
        "parameters": sum(p.numel() for p in network.parameters()),
        "loss_by_epoch": [round(loss, 4) for loss in losses],
        "prototypes": rows,
    }
    return network, card


def main() -> None:
    """Train, save, load, measure on held-out images."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=24_000)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--held-out", type=int, default=2_000, help="images to measure with")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.backends.cudnn.allow_tf32 = False  # features are to be those of any machine
    begun = time.time()
    images, held_out = draw(args.count, 1, device), draw(args.held_out, HELD_OUT, device)
    drawn = time.time()
    network, card = train(images, args.seed, args.epochs)
    command = f"python -m training.protopnet --seed {args.seed} --epochs {args.epochs} --out FOLDER"
    card |= {
        "command": command,
        "images": args.count,
        "seconds_drawing": round(drawn - begun, 1),
        "seconds_training": round(time.time() - drawn, 1),
    }
    save(network, args.out, card)
    card["figures"] |= {
        "accuracy_held_out": logits_right("demo/protopnet", args.out, held_out),
        "accuracy_held_out_base": logits_right(BASE, None, held_out),
        "accuracy_training": logits_right(
            "demo/protopnet", args.out, Images(*(part[:2000] for part in images))
        ),
    }
    write_card(args.out, card)
    print(json.dumps(card))


if __name__ == "__main__":
    main()
