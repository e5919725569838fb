"""Do maps find what decides? `python -m benchmarks.deciding`

Facades are drawn by code, so that it is known what the shipped models can decide by: `demo/vit`
and `demo/cnn` by the parts that vote for a style, `demo/confounded` and `demo/confounded-cnn` by
sky and ground alone. For each method on each model:

- deciding: AUC of what decides against all other pixels, of the map as studies read it and of its
  part above zero. Parts are large, have edges and stand in the middle, which baselines find
  without any model; sky and ground are the opposite, so that such a prior costs there.
- exchange (parts only): one deciding role is built in another style, all else stays. How often does
  the map of the image's own style give that place a larger share before than after? Where a map
  does not look at what decides, it is half. Maps are read with their signs here.

A method finds what decides where it beats every baseline, image by image (the largest of the p of
signed-rank tests; of random maps the mean over 8 draws). As there are two readings and four
models, p must be below 0.05 / 8.
"""

from __future__ import annotations

import argparse
import time
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from scipy.stats import binomtest, wilcoxon

from sightline.attribution.methods import METHODS, Maps, Method, explain
from sightline.data.facades import STYLES, Facade
from sightline.models import Model, load_model

SEED, SIZE = 7, 224  # held out from all training
LEAST = 50  # pixels of a role that is exchanged
DRAWS = 8  # of random maps: what counts is their mean
BASELINES = ("edge", "centre", "smooth_random", "random")
MODELS = ("demo/vit", "demo/cnn", "demo/confounded", "demo/confounded-cnn")
READINGS = ("as studies read it", "above zero")
LEVEL = 0.05 / (len(MODELS) * len(READINGS))


class Scene(NamedTuple):
    """A facade of which it is known what decides.

    Attributes
    ----------
    image : array (size, size, 3)
        The picture.
    style : str
        What it shows.
    deciding : array (size, size) of bool
        The parts that vote for the style; or sky and ground.
    """

    image: np.ndarray
    style: str
    deciding: np.ndarray


class Exchange(NamedTuple):
    """A facade with one role in the form of another style.

    Attributes
    ----------
    after : array (size, size, 3)
        The picture.
    place : array (size, size) of bool
        Where the role is, before or after.
    """

    after: np.ndarray
    place: np.ndarray


def covered(facade: Facade, names: set[str], by: str) -> np.ndarray:
    """Return the pixels of parts whose label or role is one of some names."""
    mask = np.zeros((SIZE, SIZE), bool)
    for part in facade.parts:
        if getattr(part, by) in names:
            mask |= part.mask
    return mask


def draw_pairs(count: int) -> tuple[list[Scene], list[Exchange]]:
    """Draw facades, and exchange one role of each, chosen at random among those that decide."""
    rng, index = np.random.default_rng(0), 0
    scenes: list[Scene] = []
    exchanges: list[Exchange] = []
    while len(scenes) < count:
        facade = Facade.generate(SEED, index, SIZE)
        index += 1
        roles = sorted({part.role for part in facade.parts if part.label in facade.deciding})
        role = roles[rng.integers(len(roles))]
        other = [style for style in STYLES if style != facade.style][rng.integers(3)]
        changed = facade.with_style_of(other, role)
        place = covered(facade, {role}, "role") | covered(changed, {role}, "role")
        if np.count_nonzero(place) >= LEAST:
            deciding = covered(facade, set(facade.deciding), "label")
            scenes.append(Scene(facade.image(), facade.style, deciding))
            exchanges.append(Exchange(changed.image(), place))
    return scenes, exchanges


def draw_backdrops(count: int) -> list[Scene]:
    """Draw facades whose sky and ground tell the style."""
    facades = [Facade.generate(SEED, i, SIZE, confounded=True) for i in range(count)]
    return [Scene(one.image(), one.style, one.background()) for one in facades]


def decides_by(model: str) -> Literal["parts", "sky and ground"]:
    """Return what a shipped model decides by."""
    return "sky and ground" if "confounded" in model else "parts"


def auc(values: np.ndarray, mask: np.ndarray) -> float:
    """Return how often a pixel of the mask has more than one outside; ties count half."""
    inside, outside = values[mask], np.sort(values[~mask])
    below = np.searchsorted(outside, inside) + np.searchsorted(outside, inside, side="right")
    return float(below.mean() / 2 / len(outside))


def ask(
    model: Model,
    card: Method,
    scenes: list[Scene],
    images: list[np.ndarray] | None = None,
    *,
    batch: int | None = None,
    params: dict[str, Any] | None = None,
) -> Maps:
    """Ask one method why images are of the styles of scenes; of layers it is the last."""
    options: dict[str, Any] = {"layers": -1} if card.layered else {}
    if card.explains:
        options["target"] = [scene.style for scene in scenes]
    images = [scene.image for scene in scenes] if images is None else images
    return explain(model, images, card.name, batch=batch, params=params, **options)


def over_images(maps: Maps, size: int = SIZE) -> np.ndarray:
    """Return maps of one layer over their images, (images, size, size)."""
    return maps.to_image(size).stack()[:, 0, 0].astype(np.float64)


def deciding_aucs(maps: Maps, scenes: list[Scene], step: int = 1) -> np.ndarray:
    """Return the AUC of what decides in each scene, a line for each of `READINGS`.

    With a step, on that many times fewer rows and columns.
    """
    values = over_images(maps, SIZE // step)
    masks = [scene.deciding[step // 2 :: step, step // 2 :: step] for scene in scenes]
    above = [auc(*pair) for pair in zip(np.maximum(values, 0), masks, strict=True)]
    if maps.sign != "absolute":
        return np.array([above, above])
    return np.array([[auc(*pair) for pair in zip(np.abs(values), masks, strict=True)], above])


def baseline_aucs(model: Model, name: str, scenes: list[Scene], step: int = 1) -> np.ndarray:
    """Return the AUC of a baseline in each scene; of random maps, the mean over several draws."""
    card = METHODS[name]
    seeds = range(DRAWS) if "seed" in card.params else [None]
    params = [None if seed is None else {"seed": seed} for seed in seeds]
    maps = (ask(model, card, scenes, params=one) for one in params)
    found: np.ndarray = np.mean([deciding_aucs(one, scenes, step)[0] for one in maps], axis=0)
    return found


def exchange_wins(before: Maps, after: Maps, exchanges: list[Exchange]) -> np.ndarray:
    """Return 1 where the share of an exchanged place is larger before, half where it is equal."""
    shares = [
        [one[exchange.place].mean() / max(np.abs(one).mean(), 1e-30) for one in ends]
        for exchange, *ends in zip(exchanges, over_images(before), over_images(after), strict=True)
    ]
    first, second = np.array(shares).T
    return np.where(first == second, 0.5, first > second)


class Line(NamedTuple):
    """What one method scores on one model: AUCs by reading and image, and wins of exchanges."""

    name: str
    aucs: np.ndarray
    wins: np.ndarray | None
    seconds: float

    def gains(self, rivals: list[Line]) -> list[tuple[float, float]]:
        """Return for each reading the least gain over a baseline, and the largest p of no gain."""
        found = []
        for one in self.aucs:
            gains = [one - rival.aucs[0] for rival in rivals]
            found.append((min(gain.mean() for gain in gains), max(map(_p, gains))))
        return found


def _p(gain: np.ndarray) -> float:
    return float(wilcoxon(gain, alternative="greater").pvalue) if np.any(gain) else 1.0


def measure(
    model: Model,
    card: Method,
    scenes: list[Scene],
    exchanges: list[Exchange] | None,
    batch: int | None = None,
) -> Line:
    """Ask one method about all scenes and exchanges."""
    begun = time.perf_counter()
    before = ask(model, card, scenes, batch=batch)
    seconds = (time.perf_counter() - begun) / len(scenes)
    wins = None
    if exchanges is not None:
        after = ask(model, card, scenes, [one.after for one in exchanges], batch=batch)
        wins = exchange_wins(before, after, exchanges)
    aucs = deciding_aucs(before, scenes)
    if card.group == "baseline":
        aucs[:] = baseline_aucs(model, card.name, scenes)
    return Line(card.name, aucs, wins, seconds)


def shown(line: Line, rivals: list[Line] | None) -> str:
    """Return the line of a method: its figures, and whether it beats the best baseline."""
    cells = [line.name, *(f"{one.mean():.3f}" for one in line.aucs)]
    if rivals is None:
        cells.append("baseline")
    else:
        gain, p = min(line.gains(rivals), key=lambda pair: pair[1])
        cells.append(f"{gain:+.3f} (p {p:.4f}){' ✓' if p < LEVEL else ''}")
    if line.wins is not None:
        whole = np.round(line.wins.sum()).astype(int)
        low, high = binomtest(whole, len(line.wins)).proportion_ci(method="wilson")
        cells.append(f"{line.wins.mean():.2f} [{low:.2f}, {high:.2f}]")
    return f"| {' | '.join([*cells, f'{line.seconds * 1000:.0f}'])} |"


def table(name: str, lines: int, args: argparse.Namespace) -> dict[str, bool]:
    """Print the table of a model; return which methods find what decides."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = load_model(name, device=device)
    scenes, exchanges = draw_pairs(lines)
    pairs: list[Exchange] | None = exchanges
    if decides_by(name) != "parts":
        scenes, pairs = draw_backdrops(lines), None
    exchange = " exchange [95%] |" if pairs else ""
    print(f"\n`{name}`, decided by {decides_by(name)}:\n")
    print(f"| method | {' | '.join(READINGS)} | over the best baseline |{exchange} ms an image |")
    print(f"| --- | ---: | ---: | ---: |{' ---: |' if pairs else ''} ---: |", flush=True)
    rivals = [measure(model, METHODS[one], scenes, pairs, args.batch) for one in BASELINES]
    for line in rivals:
        print(shown(line, None), flush=True)
    found = {}
    for card in (METHODS[one] for one in args.methods.split(",")):
        if card.group != "baseline" and not card.lacks(model):
            line = measure(model, card, scenes, pairs, args.batch)
            print(shown(line, rivals), flush=True)
            found[card.name] = min(p for _, p in line.gains(rivals)) < LEVEL
    return found


def main() -> None:
    """Print a table for each model, then where each method finds what decides."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--batch", type=int, help="copies in memory at once")
    parser.add_argument("--methods", default=",".join(METHODS), help="names with commas")
    args = parser.parse_args()
    where = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    print(f"{args.count} held-out facades; {where}; torch {torch.__version__}")
    found = {name: table(name, args.count, args) for name in args.models}
    print(f"\nBetter than every baseline (p < {LEVEL:.5f}):\n")
    for method in dict.fromkeys(method for methods in found.values() for method in methods):
        good = [name for name, methods in found.items() if methods.get(method)]
        print(f"- {method}: {', '.join(good) or 'NOWHERE'}")


if __name__ == "__main__":
    main()
