"""The analysis of prototypes beside a plain loop that takes one image after the other.

    python -m benchmarks.prototypes [--images N] [--rounds N] [--threads N] [--markdown]

Both do the same work on the same facades and must find the same numbers: the most similar
prototype of each image, its map, its relevance, and the scores of focused and dual copies under all
perturbations. The loop is what one writes with scikit-image, SciPy and numpy: one image, one
perturbation, one copy and one forward pass at a time. On one thread times are CPU seconds, else
seconds of the clock; the least of the rounds counts, in which the two take turns.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from sightline import load_dataset
from sightline.models import load_model
from sightline.prototypes import (
    attribute,
    best_matches,
    default_perturbations,
    normalised,
    perturbed_scores,
    prototype_score,
    segmentation_of,
    unit_images,
)
from sightline.prototypes.relevance import relevance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sightline.models import Model

MODEL = "demo/protopnet"
SEED = 11  # of facades that the model has not seen
BATCH, AREA = 32, 0.1
TOLERANCE = 2e-3  # of scores (up to 9.2) and shares: single precision beside double
CONTRAST, BRIGHTNESS, SATURATION, HUE = 0.2, 0.3, 0.3, 0.2
SIGMA, KSIZE = 2.0, 21
PERIODS, AMPLITUDE = 5, 7
GREY = (0.299, 0.587, 0.114)
PHASES = ("matches", "maps", "relevance", "copies", "passes")
Array = np.ndarray


@dataclass
class Clock:
    """Seconds by phase."""

    now: Callable[[], float]
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add what is done within to a phase."""
        begun = self.now()
        yield
        self.seconds[name] += self.now() - begun


class Found(NamedTuple):
    """What both must agree on; n images, p perturbations."""

    prototypes: Array  # (n,)
    scores: Array  # (n, 1 + 2 p): as it is; then focused and dual of each perturbation
    relevance: Array  # (n, 2): mask, energy


class Case(NamedTuple):
    """Images as floats (height, width, 3), and where their parts are."""

    model: Model
    images: list[Array]
    pixels: torch.Tensor
    masks: Array


def case_of(count: int) -> Case:
    """Return facades as the model takes them."""
    model = load_model(MODEL)
    samples = load_dataset("facades", count=count, seed=SEED)
    (inputs,) = model.batches(samples, count)
    masks = np.stack(
        [segmentation_of(s, g) for s, g in zip(samples, inputs.geometries, strict=True)]
    )
    images = unit_images(model, inputs).permute(0, 2, 3, 1).numpy()
    return Case(model, list(images), inputs.pixels, masks)


# --- ours ----------------------------------------------------------------------------------------


def batched(case: Case, clock: Clock) -> Found:
    """Analyse all images, 32 in a batch."""
    parts = [
        _one_batch(case, slice(start, start + BATCH), clock)
        for start in range(0, len(case.images), BATCH)
    ]
    return Found(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _one_batch(case: Case, part: slice, clock: Clock) -> Found:
    model, pixels = case.model, case.pixels[part]
    with clock.phase("matches"):
        prototypes, cells, _ = (each[:, 0] for each in best_matches(model, pixels, 1))
    with clock.phase("maps"):
        maps = attribute(model, pixels, prototypes, cells, batch=BATCH)
    with clock.phase("relevance"):
        shares = relevance(maps, case.masks[part], AREA)
    ask = prototype_score(model, prototypes, cells)

    def score(images: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        with clock.phase("passes"):
            return ask(images, index)

    passes = clock.seconds["passes"]
    with clock.phase("copies"):
        images = unit_images(model, pixels)
        said = perturbed_scores(score, images, maps.values, default_perturbations(), batch=BATCH)
    clock.seconds["copies"] -= clock.seconds["passes"] - passes
    assert said.dual is not None
    both = np.stack((said.focused, said.dual), axis=2).reshape(len(pixels), -1)
    scores = np.concatenate((said.original[:, None], both), axis=1)
    return Found(prototypes.numpy(), scores, np.stack((shares.mask, shares.energy), axis=1))


# --- the plain loop ------------------------------------------------------------------------------


def one_by_one(case: Case, clock: Clock) -> Found:
    """Analyse one image after the other."""
    rows = [
        _one_image(case.model, image, mask, clock)
        for image, mask in zip(case.images, case.masks, strict=True)
    ]
    return Found(*(np.array(columns) for columns in zip(*rows, strict=True)))


def _one_image(
    model: Model, image: Array, mask: Array, clock: Clock
) -> tuple[int, list[float], list[float]]:
    with clock.phase("matches"):
        similarities = forward(model, image)
        prototype, row, column = np.unravel_index(similarities.argmax(), similarities.shape)
    with clock.phase("maps"):
        heatmap = heatmap_of(similarities[prototype], image.shape[:2])
    with clock.phase("relevance"):
        shares = [mask_relevance(heatmap, mask), float((heatmap * mask).sum() / heatmap.sum())]
    scores = [float(similarities[prototype, row, column])]
    for change in PERTURBATIONS:
        with clock.phase("copies"):
            changed = change(image, heatmap)
            weight = heatmap[:, :, None]
            focused = weight * changed + (1 - weight) * image
            dual = (1 - weight) * changed + weight * image
        for copy in (focused, dual):
            with clock.phase("passes"):
                scores.append(float(forward(model, copy)[prototype, row, column]))
    return int(prototype), scores, shares


def forward(model: Model, image: Array) -> Array:
    """Return the similarities of one image: (prototypes, rows, columns)."""
    pixels = torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1), np.float32))[None]
    with torch.no_grad():
        found: Array = model.network.similarities(normalised(model, pixels))[0].numpy()
    return found


def heatmap_of(similarities: Array, shape: tuple[int, ...]) -> Array:
    """Return the map of a prototype from 0 to 1, on pixels."""
    from skimage.transform import resize

    low, high = similarities.min(), similarities.max()
    scaled = (similarities - low) / (high - low)
    found: Array = resize(scaled, shape, order=1, mode="edge", anti_aliasing=False)
    return found.clip(0, 1)


def mask_relevance(heatmap: Array, mask: Array) -> float:
    """Return the share of the highest tenth on the mask; the last pixel counts in part."""
    wanted = AREA * heatmap.size
    whole = int(wanted)
    inside = mask.ravel()[np.argsort(-heatmap, axis=None, kind="stable")[: whole + 1]]
    return float((inside[:whole].sum() + (wanted - whole) * inside[whole]) / wanted)


def grey(image: Array) -> Array:
    """Return the brightness of each pixel, with an axis for colours."""
    return np.expand_dims(image @ np.array(GREY, image.dtype), 2)


def brightness(image: Array, heatmap: Array) -> Array:
    """Return a darker image."""
    return np.clip(image * BRIGHTNESS, 0, 1)


def contrast(image: Array, heatmap: Array) -> Array:
    """Return an image nearer to its mean brightness."""
    mean = float(grey(image).mean())
    return np.clip(CONTRAST * image + (1 - CONTRAST) * mean, 0, 1)


def saturation(image: Array, heatmap: Array) -> Array:
    """Return an image nearer to grey."""
    return np.clip(SATURATION * image + (1 - SATURATION) * grey(image), 0, 1)


def hue(image: Array, heatmap: Array) -> Array:
    """Return an image whose hues are turned."""
    from skimage.color import hsv2rgb, rgb2hsv

    hsv = rgb2hsv(image)
    hsv[:, :, 0] = (hsv[:, :, 0] + HUE) % 1
    found: Array = hsv2rgb(hsv)
    return found


def blur(image: Array, heatmap: Array) -> Array:
    """Return a blurred image."""
    from skimage.filters import gaussian

    reach = KSIZE // 2 / SIGMA
    found: Array = gaussian(image, SIGMA, mode="mirror", truncate=reach, channel_axis=-1)
    return found


def distortion(image: Array, heatmap: Array) -> Array:
    """Return an image with waves, first across, then down."""
    high = heatmap >= np.sort(heatmap, axis=None)[-int(np.ceil(AREA * heatmap.size))]
    columns = np.flatnonzero(high.any(axis=0))
    speed = 2 * np.pi * PERIODS / (columns[-1] + 1 - columns[0])
    rows, places = (np.asarray(each) for each in np.indices(heatmap.shape))
    found = moved(image, rows, places - AMPLITUDE * np.sin(speed * rows))
    return moved(found, rows - AMPLITUDE * np.sin(speed * places), places)


def moved(image: Array, rows: Array, columns: Array) -> Array:
    """Return the image read at other places, between pixels as well."""
    from scipy.ndimage import map_coordinates

    channels = [
        map_coordinates(image[:, :, channel], (rows, columns), order=1, mode="nearest")
        for channel in range(3)
    ]
    return np.stack(channels, axis=2)


PERTURBATIONS = (brightness, contrast, saturation, hue, blur, distortion)


# --- side by side --------------------------------------------------------------------------------


def furthest(ours: Found, theirs: Found) -> dict[str, float]:
    """Return how far the numbers of both lie apart at most, or raise where that is too much."""
    if not np.array_equal(ours.prototypes, theirs.prototypes):
        raise AssertionError("the two do not find the same prototypes")
    apart = {
        name: float(np.abs(getattr(ours, name) - getattr(theirs, name)).max())
        for name in ("scores", "relevance")
    }
    for name, value in apart.items():
        if not value <= TOLERANCE:
            raise AssertionError(f"{name} lie {value:.2e} apart, more than {TOLERANCE:g}")
    return apart


def measure(case: Case, rounds: int, now: Callable[[], float]) -> tuple[dict[str, Any], ...]:
    """Return the least seconds of each phase, of ours and of the loop, and the differences."""
    best: list[dict[str, float]] = [{}, {}]
    apart: dict[str, float] = {}
    for _ in range(rounds):
        found = []
        for place, run in enumerate((batched, one_by_one)):
            clock = Clock(now)
            found.append(run(case, clock))
            total = sum(clock.seconds.values())
            if total < sum(best[place].values() or [np.inf]):
                best[place] = dict(clock.seconds)
        apart = furthest(*found)
    return best[0], best[1], apart


def lines_of(ours: dict[str, float], theirs: dict[str, float], count: int) -> list[list[str]]:
    """Return a row for each phase and one for all: milliseconds an image, and the ratio."""
    rows = [(name, theirs[name], ours[name]) for name in PHASES]
    rows.append(("all", sum(theirs.values()), sum(ours.values())))
    return [
        [name, *(f"{1000 * each / count:.1f}" for each in pair), f"{pair[0] / pair[1]:.1f}×"]
        for name, *pair in rows
    ]


def show(head: list[str], lines: list[list[str]], *, markdown: bool) -> None:
    """Print a table."""
    if markdown:
        rule = ["---", *("---:" for _ in head[1:])]
        print(*(f"| {' | '.join(line)} |" for line in (head, rule, *lines)), sep="\n")
        return
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    for line in (head, *lines):
        print("  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)))


def main() -> None:
    """Run both and print what each phase takes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--images", type=int, default=BATCH)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--markdown", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    now = time.process_time if asked.threads == 1 else time.perf_counter
    case = case_of(asked.images)
    ours, theirs, apart = measure(case, asked.rounds, now)
    head = ["phase", "loop, ms an image", "batched, ms an image", "faster"]
    show(head, lines_of(ours, theirs, asked.images), markdown=asked.markdown)
    copies = 2 * len(PERTURBATIONS)
    kind = "CPU time" if asked.threads == 1 else "time of the clock"
    print(
        f"\n{asked.images} images in batches of {BATCH}, {copies} changed copies each, {kind}, "
        f"threads {asked.threads}; largest difference of scores {apart['scores']:.1e}, of "
        f"relevance {apart['relevance']:.1e}"
    )


if __name__ == "__main__":
    main()
