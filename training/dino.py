"""A ViT that learns without labels, in the way of DINO: `python -m training.dino --out FOLDER`.

Student and teacher see random cuts of the same picture; the student must foresee what the teacher,
a slow average of the student, says about another cut (Caron et al. 2021, arXiv:2104.14294), what it
says about patches that are hidden from the student (iBOT: Zhou et al. 2022, arXiv:2111.07832), and
tell which cuts are of the same picture (InfoNCE: van den Oord et al. 2018, arXiv:1807.03748).
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import os
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.optim.swa_utils import get_ema_multi_avg_fn
from transformers import Dinov2WithRegistersConfig, Dinov2WithRegistersModel

from sightline.data.facades import PART_TYPES, STYLES, Facade
from training.data import (
    HELD_OUT,
    SIZE,
    Images,
    busy_places,
    disguise,
    draw,
    edges,
    normalise,
    random_views,
)
from training.supervised import save

if TYPE_CHECKING:
    from collections.abc import Callable

WIDTH, PATCH = 128, 16
GRID = SIZE // PATCH
WHAT = "ViT that learned from facades without labels, in the way of DINO; it has no classes."
LOCAL, CUTS = 96, 4  # side and number of the small views
CLASSES = 256
HIDDEN = 60  # patches of a view, where some are hidden


def make_model(**settings: Any) -> Any:
    """The same architecture as the supervised ViT, without a classifier."""
    return Dinov2WithRegistersModel(
        Dinov2WithRegistersConfig(
            hidden_size=WIDTH,
            num_hidden_layers=12,
            num_attention_heads=4,
            mlp_ratio=4,
            image_size=SIZE,
            patch_size=PATCH,
            num_register_tokens=4,
            drop_path_rate=0.05,
            layerscale_value=1.0,
            **settings,
        )
    )


class Head(nn.Module):
    """Three layers, a narrow unit vector, and as many directions as there are pseudo-classes.

    Batch normalisation keeps the pictures apart from the first step on: without it all fall onto
    one point before the model has learned to tell them apart.
    """

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(WIDTH, 512, bias=False),
            nn.BatchNorm1d(512),
            nn.GELU(),
            nn.Linear(512, 512, bias=False),
            nn.BatchNorm1d(512),
            nn.GELU(),
            nn.Linear(512, 128),
        )
        self.directions = nn.Parameter(torch.randn(CLASSES, 128))

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Return the unit vector, and its cosine to each direction."""
        points = self.layers(features)
        with torch.autocast(points.device.type, enabled=False):  # they are divided by a small heat
            points, directions = F.normalize(points.float(), dim=-1), F.normalize(self.directions)
            return points, points @ directions.T


class Network(nn.Module):
    """The model with a head for its class token and one for its patch tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.model = make_model()
        self.head = Head()
        self.patch_head = Head()

    def tokens(self, views: Tensor, hidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return class tokens and patch tokens; the model does not see hidden patches."""
        found = self.model(pixel_values=views, bool_masked_pos=hidden).last_hidden_state
        return found[:, 0], found[:, 5:]


@torch.no_grad()
def share_out(logits: Tensor, heat: Tensor) -> Tensor:
    """Return the teacher's soft classes, balanced by Sinkhorn-Knopp so that all are used."""
    shares = ((logits - logits.max(-1, keepdim=True).values) / heat).exp().T
    for _ in range(3):
        shares = shares / shares.sum(1, keepdim=True).clamp(min=1e-12) / len(shares)
        shares = shares / shares.sum(0, keepdim=True).clamp(min=1e-12) / shares.shape[1]
    return (shares * shares.shape[1]).T


def disagreement(wanted: Tensor, said: Tensor) -> Tensor:
    """Return the mean cross-entropy."""
    return -(wanted * (said.float() / 0.1).log_softmax(-1)).sum(-1).mean()


def confusion(points: Tensor, keys: Tensor) -> Tensor:
    """Return how hard it is to tell by a view which picture of the batch it shows.

    `keys` are another view of each picture. In short runs without this, the loss of the classes
    stayed at that of a guess: the views are so unlike that there is little to foresee at first.
    """
    numbers = torch.arange(len(points), device=points.device)
    return F.cross_entropy(points @ keys.T / 0.15, numbers)


def hide(count: int, rng: torch.Generator) -> Tensor:
    """Return which patches to hide in each of some views, as numbers."""
    return torch.rand((count, GRID * GRID), generator=rng, device=rng.device).topk(HIDDEN).indices


def look(pixels: Tensor, strengths: Tensor, rng: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return 2 large and 4 small views of each picture: the first of all pictures, and so on.

    The small ones lie where there is something to see, not in the sky.
    """
    wide = random_views(pixels.repeat(2, 1, 1, 1), SIZE, (0.2, 1.0), 0.4, rng)
    places = busy_places(strengths.repeat(CUTS, 1), rng)
    small = random_views(pixels.repeat(CUTS, 1, 1, 1), LOCAL, (0.03, 0.2), 0.4, rng, places)
    return disguise(wide, rng), disguise(small, rng)


def pick(patches: Tensor, hidden: Tensor) -> Tensor:
    """Return the hidden patches of every second view, one under the other."""
    return patches[1::2].gather(1, hidden[..., None].expand(-1, -1, WIDTH)).flatten(0, 1)


def loss_of(
    student: Network,
    teacher: Network,
    views: tuple[Tensor, Tensor],
    hidden: Tensor,
    heat: Tensor,
) -> Tensor:
    """Return the three terms of the loss: classes of pictures, of patches, and confusion."""
    wide, small = views
    with torch.no_grad():
        tokens, patches = teacher.tokens(wide)
        one, two = share_out(teacher.head(tokens)[1], heat).chunk(2)
        wanted_patches = share_out(teacher.patch_head(pick(patches, hidden))[1], heat)
    mask = torch.zeros(len(wide), GRID * GRID, dtype=torch.bool, device=wide.device)
    mask[1::2].scatter_(1, hidden, True)
    tokens, patches = student.tokens(wide, mask)
    points, said = student.head(tokens)
    near, said_near = student.head(student.tokens(small)[0])
    said_patches = student.patch_head(pick(patches, hidden))[1]
    classes = [disagreement(torch.cat([two, one]), said)]
    classes += [disagreement((one + two) / 2, part) for part in said_near.chunk(CUTS)]
    keys = points.chunk(2)
    confused = [confusion(keys[0], keys[1]), confusion(keys[1], keys[0])]
    confused += [confusion(part, key) for part in near.chunk(CUTS) for key in keys]
    terms = [
        torch.stack(classes).mean(),
        0.5 * disagreement(wanted_patches, said_patches),
        torch.stack(confused).mean(),
    ]
    return torch.stack(terms)


def make_step(student: Network, teacher: Network) -> Callable[..., Tensor]:
    """Return a function of a batch that leaves gradients and gives the terms of the loss."""
    device = next(student.parameters()).device

    def step(wide: Tensor, small: Tensor, hidden: Tensor, heat: Tensor) -> Tensor:
        student.zero_grad()
        with torch.autocast(device.type, torch.bfloat16):
            terms = loss_of(student, teacher, (wide, small), hidden, heat)
        terms.sum().backward()
        return terms.detach()

    return step


def recorded(step: Callable[..., Tensor], *inputs: Tensor) -> Callable[..., Tensor]:
    """Return a step as a CUDA graph: for a model this small, Python is slower than the GPU."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step(*inputs)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(*inputs)

    def replay(*fresh: Tensor) -> Tensor:
        for old, new in zip(inputs, fresh, strict=True):
            old.copy_(new)
        graph.replay()
        return loss

    return replay


def make_networks(device: torch.device) -> tuple[Network, Network]:
    """Return student and teacher, alike."""
    student = Network().to(device)
    teacher = copy.deepcopy(student).requires_grad_(False)
    teacher.model.eval()  # no drop path; the heads go on to take the statistics of the batch
    if device.type == "cuda":
        for layer in (*student.model.encoder.layer, *teacher.model.encoder.layer):
            layer.compile(dynamic=False)
    return student, teacher


def schedule(part: float) -> tuple[float, float, float]:
    """Return learning rate, heat of the teacher and what it keeps of itself, by the part done."""
    cosine = 0.5 * (1 + math.cos(math.pi * part))
    rate = 1e-3 * min(1.0, part / 0.1) * cosine + 1e-6
    return rate, 0.04 + 0.02 * min(1.0, part / 0.3), 1 - 0.01 * cosine


def train(
    images: Images, seed: int, epochs: int, *, batch: int = 256
) -> tuple[Any, list[list[float]]]:
    """Train; return the teacher's model and the mean terms of the loss of each epoch."""
    torch.manual_seed(seed)
    device = images.pixels.device
    student, teacher = make_networks(device)
    optimiser = torch.optim.AdamW(student.parameters(), weight_decay=0.04, fused=True)
    rng = torch.Generator(device).manual_seed(seed)
    strengths = edges(images.pixels)
    step, losses, each = None, [], len(images.pixels) // batch
    for epoch in range(epochs):
        total = torch.zeros(3, device=device)
        order = torch.randperm(len(images.pixels), generator=rng, device=device)
        for number, rows in enumerate(order.split(batch)[:each]):
            rate, heat, keep = schedule((epoch + number / each) / epochs)
            views = look(images.pixels[rows], strengths[rows], rng)
            inputs = (*views, hide(batch, rng), torch.tensor(heat, device=device))
            if step is None:
                step = make_step(student, teacher)
                step = recorded(step, *inputs) if device.type == "cuda" else step
            total += step(*inputs)
            optimiser.param_groups[0]["lr"] = rate
            torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
            optimiser.step()
            follow = get_ema_multi_avg_fn(keep)
            follow(list(teacher.parameters()), list(student.parameters()), None)
        losses.append((total / each).tolist())
        print(epoch, [round(term, 3) for term in losses[-1]], flush=True)
    return teacher.model, losses


class Truth(NamedTuple):
    """Held-out pictures, where their parts are, and the part type of each patch, -1 for none."""

    images: Images
    parts: Tensor
    types: Tensor


def _truth(seed: int, index: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the union of the parts of a facade, and the part type of each patch.

    A patch is of the part last painted among those that cover a quarter of it.
    """
    facade = Facade.generate(seed, index, SIZE)
    types = np.full((GRID, GRID), -1)
    for part in facade.parts:
        cells = part.mask.reshape(GRID, PATCH, GRID, PATCH)
        types[cells.mean((1, 3)) >= 0.25] = list(PART_TYPES).index(part.label)
    return facade.annotation().union_mask(SIZE, SIZE), types.ravel()


def draw_truth(count: int, seed: int, device: str) -> Truth:
    """Draw facades with their parts."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(partial(_truth, seed), range(count), chunksize=20))
    parts, types = (np.stack(column) for column in zip(*found, strict=True))
    images = draw(count, seed, device)
    return Truth(images, torch.from_numpy(parts).to(device), torch.from_numpy(types).to(device))


@torch.inference_mode()
def class_tokens(model: Any, pixels: Tensor) -> Tensor:
    """Return the class tokens, as unit vectors."""
    parts = [model(pixel_values=normalise(p)).last_hidden_state[:, 0] for p in pixels.split(500)]
    return F.normalize(torch.cat(parts).float(), dim=-1)


def raw_pixels(pixels: Tensor) -> Tensor:
    """Return the pictures themselves, made smaller, as unit vectors."""
    return F.normalize(F.avg_pool2d(normalise(pixels), 4).flatten(1), dim=-1)


def neighbours(bank: Tensor, styles: Tensor, queries: Tensor, truth: Tensor, k: int = 20) -> float:
    """Return the share of queries whose style most of their k nearest neighbours have."""
    nearest = (queries @ bank.T).topk(k).indices
    votes = F.one_hot(styles[nearest], len(STYLES)).sum(1)
    return float((votes.argmax(1) == truth).float().mean())


@torch.inference_mode()
def attention_scores(model: Any, truth: Truth) -> Tensor:
    """Return coverage and AUC `(layers, 2, images)` of the class token's attention to the patches.

    The mean over the heads, enlarged to the pixels, against the union of the parts.
    """
    found = []
    for pixels, parts in zip(truth.images.pixels.split(20), truth.parts.split(20), strict=True):
        layers = model(pixel_values=normalise(pixels), output_attentions=True).attentions
        scores = []
        for layer in layers:
            rows = layer.float().mean(1)[:, 0, -(GRID * GRID) :].reshape(-1, 1, GRID, GRID)
            maps = F.interpolate(rows, SIZE, mode="bilinear", align_corners=False).flatten(1)
            inside = parts.flatten(1)
            cover = (maps * inside).sum(1) / maps.sum(1)
            scores.append(torch.stack([cover, auc(maps, inside)]))
        found.append(torch.stack(scores))
    return torch.cat(found, -1)


def auc(maps: Tensor, inside: Tensor) -> Tensor:
    """Return for each map the chance that a pixel inside has more than one outside; ties half."""
    ordered = maps.sort(1).values
    below = torch.searchsorted(ordered, maps)
    upto = torch.searchsorted(ordered, maps, right=True)
    many = inside.sum(1).double()
    ranks = ((below + upto + 1).double() / 2 * inside).sum(1)
    return (ranks - many * (many + 1) / 2) / (many * (maps.shape[1] - many))


def sign_flip(gains: Tensor, flips: int = 20_000) -> float:
    """Return the p value of a mean gain: how often random signs give one as large, both ways."""
    rng = torch.Generator(gains.device).manual_seed(0)
    signs = torch.randint(0, 2, (flips, len(gains)), generator=rng, device=gains.device) * 2 - 1
    means = (signs.to(gains.dtype) * gains).mean(1).abs()
    return float((1 + (means >= gains.mean().abs()).sum()) / (1 + flips))


@torch.inference_mode()
def patch_retrieval(model: Any, truth: Truth) -> tuple[float, float]:
    """Return how well a patch of a part finds the others of its type in its picture, and chance.

    The mean average precision over all such patches, by the cosine of their last features.
    """
    precisions, shares = [], []
    for pixels, types in zip(truth.images.pixels.split(50), truth.types.split(50), strict=True):
        tokens = model(pixel_values=normalise(pixels)).last_hidden_state[:, -(GRID * GRID) :]
        points = F.normalize(tokens.float(), dim=-1)
        cosines = points @ points.mT
        cosines.diagonal(dim1=1, dim2=2).fill_(-2)  # itself comes last
        same = types[:, :, None] == types[:, None, :]
        same.diagonal(dim1=1, dim2=2).fill_(False)
        asked = (types >= 0) & (same.sum(-1) > 0)
        hits = same.gather(2, cosines.argsort(-1, descending=True))[asked].double()
        places = torch.arange(1, hits.shape[1] + 1, device=hits.device)
        precisions.append((hits.cumsum(1) / places * hits).sum(1) / hits.sum(1))
        shares.append(hits.sum(1) / (hits.shape[1] - 1))
    return float(torch.cat(precisions).mean()), float(torch.cat(shares).mean())


def for_reading(model: Any) -> Any:
    """Return a copy whose attention can be read, with the weights rounded as they ship."""
    device = next(model.parameters()).device
    plain = make_model(attn_implementation="eager").to(device).eval()
    plain.load_state_dict(model.state_dict())
    return plain.half().float()


def measure(
    model: Any, images: Images, truth: Truth
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Return the figures on held-out pictures, beside those of random weights and raw pixels.

    Those of attention are of the last layer; they come by layer, too.

    Neighbours are looked for by all of them, attention and patches are read on the first 200.
    """
    torch.manual_seed(0)
    trained = for_reading(model)
    blank = for_reading(make_model().to(images.pixels.device))
    bank, pictures = Images(*(part[:8000] for part in images)), truth.images
    few = Truth(Images(*(part[:200] for part in pictures)), truth.parts[:200], truth.types[:200])
    found: dict[str, float] = {}
    scores = {}
    for name, network in (("", trained), ("_random_weights", blank)):
        keys, queries = (class_tokens(network, each.pixels) for each in (bank, pictures))
        found[f"knn{name}"] = neighbours(keys, bank.styles, queries, pictures.styles)
        found[f"patch_ap{name}"], found["patch_ap_chance"] = patch_retrieval(network, few)
        scores[name] = attention_scores(network, few)
    keys, queries = raw_pixels(bank.pixels), raw_pixels(pictures.pixels)
    found["knn_raw_pixels"] = neighbours(keys, bank.styles, queries, pictures.styles)
    found["coverage_chance"] = float(few.parts.float().mean())
    by_layer = {}
    for i, score in enumerate(("coverage", "auc")):
        for name, values in scores.items():
            means = [round(mean, 4) for mean in values[:, i].mean(-1).tolist()]
            by_layer[f"{score}{name}_by_layer"], found[f"{score}{name}"] = means, means[-1]
        found[f"{score}_p"] = sign_flip(scores[""][-1, i] - scores["_random_weights"][-1, i])
    return found, by_layer


def main() -> None:
    """Train, measure on held-out images, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=24_000)
    parser.add_argument("--epochs", type=int, default=58)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_float32_matmul_precision("high")
    begun = time.time()
    images, truth = draw(args.count, 1, device), draw_truth(400, HELD_OUT, device)
    drawn = time.time()
    model, losses = train(images, args.seed, args.epochs)
    trained = time.time()
    names = ("class_loss_by_epoch", "patch_loss_by_epoch", "confusion_by_epoch")
    figures, by_layer = measure(model, images, truth)
    settings = f"--seed {args.seed} --epochs {args.epochs}"
    card = {
        "what": WHAT,
        "family": model.config.model_type,
        "figures": figures,
        "command": f"python -m training.dino {settings} --out FOLDER",
        "images": args.count,
        "parameters": sum(p.numel() for p in model.parameters()),
        "seconds_drawing": round(drawn - begun, 1),
        "seconds_training": round(trained - drawn, 1),
        "loss_by_epoch": [round(sum(terms), 4) for terms in losses],
    }
    for name, terms in zip(names, zip(*losses, strict=True), strict=True):
        card[name] = [round(term, 4) for term in terms]
    save(for_reading(model), args.out, card | by_layer)
    print(json.dumps(card | by_layer))


if __name__ == "__main__":
    main()
