"""How often do intervals of AP hold the AP of the population, and how often do comparisons err?

Images are drawn from populations of which so many can be drawn that their AP is known. An image is
harder or easier for all its objects, so that objects of one image are not independent.
"""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from scipy.special import ndtr

from benchmarks.calibration.lines import Line
from sightline.detection.coco import accumulate_matches, match_detections
from sightline.detection.columns import Detections, GroundTruth
from sightline.detection.comparison import compare_detectors
from sightline.detection.intervals import figure_intervals, resample_figures

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["WORLDS", "World", "draw", "run"]

GATES = {50: (0.90, 0.98), 200: (0.92, 0.97), 1000: (0.92, 0.97)}
OPTIONS: dict[str, Any] = {"iou_thresholds": (0.5, 0.75), "size_ranges": {"all": (0.0, 1e10)}}
LEVEL, MOST = 0.05, 0.07
SEED = 20261115
_DRAWS = 400
_POPULATION = 60_000
# Images that are expected to have a class: below 10 its intervals are told, not promised. Not those
# that do have it: classes that show up more often than they should are no fair sample.
_BINS = {
    "under 5": (0, 5, None),
    "5–9": (5, 10, None),
    "10–29": (10, 30, 0.9),
    "30 +": (30, 10**9, 0.9),
}


@dataclass(frozen=True)
class World:
    """A population of images.

    `shares` says how many images have a class, `quality` how well its objects are found (the
    normal quantile of the chance).
    """

    name: str
    shares: tuple[float, ...]
    quality: tuple[float, ...]

    def gates(self, images: int) -> tuple[float | None, float | None]:
        """Promise nothing where half of the classes are in fewer than 5 images."""
        few = np.median(self.shares) * images < 5
        return (None, None) if few else GATES[images]


def _many(rare: int, share: float) -> World:
    quality = np.linspace(-0.5, 1.8, rare).tolist()
    name = f"2 common classes and {rare} in {100 * share:g}% of the images"
    return World(name, (0.4, 0.2, *[share] * rare), (0.8, 0.3, *quality))


WORLDS = (
    World("3 common classes", (0.5, 0.4, 0.3), (0.8, 0.3, 1.2)),
    World("4 classes found well", (0.5, 0.4, 0.3, 0.2), (2.2, 2.0, 1.8, 2.5)),
    World(
        "5 classes, two of them rare",
        (0.5, 0.3, 0.1, 0.04, 0.02),
        (0.8, 0.3, 0.5, 0.7, 1.0),
    ),
    _many(18, 0.03),
    _many(58, 0.015),
)


def draw(
    world: World, images: int, rng: np.random.Generator, *, worse: tuple[float, ...] = (0.0,)
) -> tuple[GroundTruth, list[Detections]]:
    """Draw images, and what detectors find in them, each `worse` than the world says by so much."""
    hard = rng.normal(0, 1, images)
    image, label, box = (
        np.concatenate(part) for part in zip(*_objects(world, images, rng), strict=True)
    )
    truth = GroundTruth.from_arrays(
        image, label, box, images=np.arange(images), classes=np.arange(len(world.shares))
    )
    return truth, [_found(world, truth, hard, rng, much) for much in worse]


def _objects(
    world: World, images: int, rng: np.random.Generator
) -> list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """Place the objects of an image side by side, one row a class."""
    found = []
    for k, share in enumerate(world.shares):
        counts = np.where(rng.random(images) < share, 1 + rng.poisson(1.0, images), 0)
        image = np.repeat(np.arange(images), counts)
        place = np.arange(len(image)) - np.repeat(np.cumsum(counts) - counts, counts)
        box = np.full((len(image), 4), 40.0)
        box[:, 0], box[:, 1] = 100.0 * place, 100.0 * k
        found.append((image, np.full(len(image), k), box))
    return found


def _found(
    world: World, truth: GroundTruth, hard: NDArray[Any], rng: np.random.Generator, worse: float
) -> Detections:
    """Find objects, the surer the nearer, and report boxes of nothing beside them."""
    much = hard[truth.image]
    seen = rng.random(len(truth)) < ndtr(np.array(world.quality)[truth.label] - 0.5 * much - worse)
    off = rng.gamma(2, 2.5, len(truth))
    near = truth.box + off[:, None] * np.array([1.0, 0, 0, 0])
    sure = rng.normal(1.2 - 0.3 * much - 0.05 * off, 1)
    rate = (0.3 + 2 * np.array(world.shares)) * np.exp(0.5 * hard - 0.125)[:, None]
    image, label = np.indices(rate.shape).reshape(2, -1)
    wrong = rng.poisson(rate).ravel()
    image, label = np.repeat(image, wrong), np.repeat(label, wrong)
    nowhere = np.tile([5000.0, 0.0, 40.0, 40.0], (len(image), 1))
    return Detections.from_arrays(
        np.concatenate([truth.image[seen], image]),
        np.concatenate([truth.label[seen], label]),
        np.concatenate([near[seen], nowhere]),
        np.concatenate([sure[seen], rng.normal(0, 1, len(image))]),
    )


@lru_cache(16)
def population(world: World, worse: float, sets: int) -> NDArray[np.float64]:
    """Return the AP of each class, from as many images as are needed to know it."""
    rng = np.random.default_rng([SEED, 9, crc32(world.name.encode())])
    found = []
    for _ in range(sets):
        truth, (one,) = draw(world, _POPULATION, rng, worse=(worse,))
        matches = match_detections(truth, one, **OPTIONS)
        found.append(accumulate_matches(matches).class_precision())
    return np.asarray(np.mean(found, axis=0))


def coverage(world: World, images: int, repeats: int, sets: int) -> list[Line]:
    """Return how often the intervals of AP and of the AP of classes hold what is true."""
    rng = np.random.default_rng([SEED, crc32(world.name.encode()), images])
    true = population(world, 0.0, sets)
    held, plain, errors, shown = [], [], [], []
    classes: dict[str, list[bool]] = defaultdict(list)
    for seed in range(repeats):
        truth, (one,) = draw(world, images, rng)
        matches = match_detections(truth, one, **OPTIONS)
        arrays = accumulate_matches(matches)
        ends = figure_intervals(matches, arrays, truth, resamples=_DRAWS, seed=seed)
        there = np.isfinite(arrays.class_precision())
        mean = true[there].mean()  # over the classes that the images show
        held.append(ends["AP"].low <= mean <= ends["AP"].high)
        draws = resample_figures(matches, truth, resamples=_DRAWS, seed=seed).figures["AP"]
        low, high = np.quantile(draws, [0.025, 0.975])
        plain.append(low <= mean <= high)
        errors.append(ends["AP"].value - mean)
        shown.append(draws.mean() - ends["AP"].value)
        for k in np.flatnonzero(there).tolist():
            each = ends["AP", k]
            if each.n >= 2:
                classes[_bin(world.shares[k] * images)].append(each.low <= true[k] <= each.high)
    setting = f"{world.name}, n = {images}"
    gates = world.gates(images)
    return [
        Line("coverage, AP", setting, float(np.mean(held)), *gates),
        Line("coverage, AP, percentiles", setting, float(np.mean(plain)), note="not offered"),
        Line("bias of AP", setting, float(np.mean(errors))),
        Line("bias of AP in the draws", setting, float(np.mean(shown))),
    ] + [
        Line(f"coverage, AP of classes in {name} images", setting, float(np.mean(hits)), low)
        for name, (_, _, low) in _BINS.items()
        if len(hits := classes[name]) >= repeats // 2
    ]


def _bin(images: float) -> str:
    return next(name for name, (low, high, _) in _BINS.items() if low <= images < high)


def comparison(world: World, images: int, repeats: int, sets: int) -> list[Line]:
    """Return how often detectors that are alike seem to differ, and how often ends hold a gap."""
    rng = np.random.default_rng([SEED, 1, crc32(world.name.encode()), images])
    gap = population(world, 0.0, sets) - population(world, 0.4, sets)
    alike, power, held, none_held = [], [], [], []
    for seed in range(repeats):
        truth, (one, other, worse) = draw(world, images, rng, worse=(0.0, 0.0, 0.4))
        there = np.isin(np.arange(len(gap)), truth.label)
        same, differs = (
            compare_detectors(
                truth, one, two, **OPTIONS, resamples=_DRAWS, seed=seed
            ).differences["AP"]
            for two in (other, worse)
        )  # fmt: skip
        alike.append(same.p <= LEVEL)
        none_held.append(same.low <= 0 <= same.high)
        power.append(differs.p <= LEVEL)
        held.append(differs.low <= gap[there].mean() <= differs.high)
    setting = f"{world.name}, n = {images}"
    gates = world.gates(images)
    return [
        Line("false positives, exchange of detectors", setting, float(np.mean(alike)), None, MOST),
        Line("power, exchange of detectors", setting, float(np.mean(power))),
        Line("coverage, difference of AP", setting, float(np.mean(held)), *gates),
        Line("coverage, no difference of AP", setting, float(np.mean(none_held)), *gates),
    ]


def run(repeats: int, *, small: bool = False) -> list[Line]:
    """Return all of it, from all cores; with fewer worlds and images, from one, if small."""
    sets = 1 if small else 3
    sizes = (50, 200) if small else (50, 200, 1000)
    worlds = WORLDS[:3] if small else WORLDS
    cells = [
        (coverage, world, n, repeats // (2 if n == 1000 else 1), sets)
        for world in worlds
        for n in sizes
    ]
    cells += [
        (comparison, world, n, repeats, sets) for world in (WORLDS[0], WORLDS[2]) for n in sizes[:2]
    ]
    if small:
        return [line for cell in cells for line in _cell(cell)]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        return [line for lines in pool.map(_cell, cells) for line in lines]


def _cell(cell: tuple[Callable[..., list[Line]], World, int, int, int]) -> list[Line]:
    simulate, *arguments = cell
    return simulate(*arguments)
