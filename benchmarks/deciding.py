"""Do maps find the parts that decide? `python -m benchmarks.deciding`

Facades are drawn by code: which parts vote for the style is known, and any of them can be exchanged
for the form of another style at the same place. Two figures for each method on a shipped model:

- deciding: AUC of the parts that vote for the image's own style against all other pixels. Here
  baselines are strong: these parts are large, have edges, and stand in the middle.
- exchange: one deciding role is built in another style, all else stays. How often does the map of
  the image's own style give that place a larger share before than after? Where a map does not look
  at what decides, it is half. Maps are read with their signs here.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.stats import binomtest, wilcoxon

from sightline.data.facades import STYLES, Facade
from sightline.maps import METHODS, Maps, Method, explain
from sightline.models import Model, load_model

SEED, SIZE = 7, 224  # held out from all training
LEAST = 50  # pixels of a role that is exchanged
BASELINES = ("edge", "centre", "smooth_random", "random")


class Pair(NamedTuple):
    """A facade with one role in the form of its style, and in that of another.

    Attributes
    ----------
    before, after : array (size, size, 3)
        The two pictures.
    place : array (size, size) of bool
        Where the role is, in either.
    deciding : array (size, size) of bool
        All parts that vote for the style, in the first.
    style : str
        That of the first.
    """

    before: np.ndarray
    after: np.ndarray
    place: np.ndarray
    deciding: np.ndarray
    style: str


def covered(facade: Facade, names: set[str], by: str) -> np.ndarray:
    """Return the pixels of parts whose label or role is one of some names."""
    mask = np.zeros((SIZE, SIZE), bool)
    for part in facade.parts:
        if getattr(part, by) in names:
            mask |= part.mask
    return mask


def draw_pairs(count: int) -> list[Pair]:
    """Draw facades, and exchange one role of each, chosen at random among those that decide."""
    rng, index = np.random.default_rng(0), 0
    pairs: list[Pair] = []
    while len(pairs) < count:
        facade = Facade.generate(SEED, index, SIZE)
        index += 1
        roles = sorted({part.role for part in facade.parts if part.label in facade.deciding})
        role = roles[rng.integers(len(roles))]
        other = [style for style in STYLES if style != facade.style][rng.integers(3)]
        changed = facade.with_style_of(other, role)
        place = covered(facade, {role}, "role") | covered(changed, {role}, "role")
        if np.count_nonzero(place) >= LEAST:
            deciding = covered(facade, set(facade.deciding), "label")
            pairs.append(Pair(facade.image(), changed.image(), place, deciding, facade.style))
    return pairs


def auc(values: np.ndarray, mask: np.ndarray) -> float:
    """Return how often a pixel of the mask has more than one outside; ties count half."""
    inside, outside = values[mask], np.sort(values[~mask])
    below = np.searchsorted(outside, inside) + np.searchsorted(outside, inside, side="right")
    return float(below.mean() / 2 / len(outside))


def deciding_aucs(maps: Maps, pairs: list[Pair]) -> list[float]:
    """Return the AUC of the deciding parts in the first picture of each pair, as maps are read."""
    values = maps.to_image(SIZE).stack()[:, 0, 0].astype(np.float64)
    read = np.abs(values) if maps.sign == "absolute" else np.maximum(values, 0)
    return [auc(one, pair.deciding) for one, pair in zip(read, pairs, strict=True)]


class Line(NamedTuple):
    """What one method scores: AUC of each image, and wins of each pair (1, 0, or half)."""

    name: str
    group: str
    aucs: np.ndarray
    wins: np.ndarray
    seconds: float


def measure(
    model: Model,
    card: Method,
    pairs: list[Pair],
    batch: int | None = None,
    params: dict[str, Any] | None = None,
) -> Line:
    """Ask one method about all pairs; of layers it is the last."""
    images = [pair.before for pair in pairs] + [pair.after for pair in pairs]
    options: dict[str, Any] = {"layers": -1} if card.layered else {}
    if card.explains:
        options["target"] = [pair.style for pair in pairs] * 2
    begun = time.perf_counter()
    maps = explain(model, images, card.name, batch=batch, params=params, **options)
    seconds = time.perf_counter() - begun
    values = maps.to_image(SIZE).stack()[:, 0, 0].astype(np.float64)
    aucs = deciding_aucs(maps[: len(pairs)], pairs)
    shares = [
        [one[pair.place].mean() / max(np.abs(one).mean(), 1e-30) for one in ends]
        for pair, *ends in zip(pairs, values[: len(pairs)], values[len(pairs) :], strict=True)
    ]
    before, after = np.array(shares).T
    wins = np.where(before == after, 0.5, before > after)
    return Line(card.name, card.group, np.array(aucs), wins, seconds)


def shown(line: Line, rival: Line | None) -> str:
    """Return the line of a method: its figures, and whether it beats the best baseline."""
    whole = np.round(line.wins.sum()).astype(int)
    low, high = binomtest(whole, len(line.wins)).proportion_ci(method="wilson")
    beats = "baseline"
    if rival is not None:
        gain = line.aucs - rival.aucs
        p = wilcoxon(gain, alternative="greater").pvalue if np.any(gain) else 1.0
        beats = f"{gain.mean():+.3f} (p {p:.3f})"
    cells = [
        line.name,
        f"{line.aucs.mean():.3f}",
        beats,
        f"{line.wins.mean():.2f} [{low:.2f}, {high:.2f}]",
        f"{line.seconds * 1000 / (2 * len(line.wins)):.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print a table for each model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=["demo/vit", "demo/cnn"])
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--batch", type=int, help="copies in memory at once")
    parser.add_argument("--methods", help="names with commas; all unless given")
    args = parser.parse_args()
    pairs = draw_pairs(args.count)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    where = torch.cuda.get_device_name() if device == "cuda" else f"{torch.get_num_threads()} cores"
    for name in args.models:
        model = load_model(name, device=device)
        print(f"\n{name}: {args.count} held-out facades and their exchanges, {where}\n")
        print("| method | deciding | against best baseline | exchange [95%] | ms an image |")
        print("| --- | ---: | ---: | ---: | ---: |", flush=True)
        lines = [measure(model, METHODS[one], pairs, args.batch) for one in BASELINES]
        rival = max(lines, key=lambda line: line.aucs.mean())
        for line in lines:
            print(shown(line, None), flush=True)
        asked = args.methods.split(",") if args.methods else list(METHODS)
        for card in (METHODS[one] for one in asked):
            if card.group != "baseline" and not card.lacks(model):
                print(shown(measure(model, card, pairs, args.batch), rival), flush=True)


if __name__ == "__main__":
    main()
