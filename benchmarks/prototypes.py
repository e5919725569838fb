"""Both analyses of prototypes beside plain loops that take one image after the other.

    python -m benchmarks.prototypes [--images N] [--rounds N] [--threads N] [--device cuda]
                                    [--markdown]

All do the same work on the same facades and must find the same numbers: the most similar prototype
of each image, its map, its relevance, and the scores of focused and dual copies under all
perturbations. Three ways:

- the loop takes the steps of CaBRNet's own: two analyses, each over all images by itself. For an
  image one pass gives its similarities, one says which prototype is most similar, one makes the
  map; for each perturbation the focused and the dual copy are each made from the image, and each
  goes through the network alone: 18 passes, 12 perturbed images. The steps alone are CaBRNet's; how
  each is done is what one writes with numpy and SciPy, and what it computes is ours;
- the lean loop leaves out what is done twice: 13 passes, 6 perturbed images;
- ours, as `sightline benchmark` does it: one pass of 32 images, copies in batches.

On one thread of a CPU times are CPU seconds, else seconds of the clock; the least of the rounds
counts, in which the three take turns.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from scipy import ndimage

from sightline import load_dataset
from sightline.attribution.prototypes import (
    attribute,
    default_perturbations,
    find_matches,
    normalised,
    perturbed_scores,
    prototype_score,
    quickened,
    segmentation_of,
    similarity_maps,
    unit_images,
)
from sightline.attribution.prototypes.relevance import relevance
from sightline.models import load_model

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
PHASES = ("matches", "maps", "relevance", "copies", "passes of copies")
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


def case_of(count: int, device: str = "cpu") -> Case:
    """Return facades as the model takes them."""
    model = load_model(MODEL, device=device)
    samples = load_dataset("facades", count=count, seed=SEED)
    (inputs,) = model.batches(samples, count)
    masks = np.stack(
        [segmentation_of(s, g) for s, g in zip(samples, inputs.geometries, strict=True)]
    )
    images = unit_images(model, inputs).permute(0, 2, 3, 1).cpu().numpy()
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
    pixels = case.pixels[part]
    with clock.phase("matches"):
        model = quickened(case.model, pixels)
        similarities = similarity_maps(model, pixels)
        prototypes, cells, _ = (each[:, 0] for each in find_matches(model, similarities))
    with clock.phase("maps"):
        own = similarities[torch.arange(len(pixels), device=pixels.device), prototypes]
        maps = attribute(case.model, pixels, prototypes, cells, similarities=own)
    with clock.phase("relevance"):
        shares = relevance(maps, case.masks[part], AREA)
    ask = prototype_score(model, prototypes, cells)

    def score(images: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        with clock.phase("passes of copies"):
            return ask(images, index)

    passes = clock.seconds["passes of copies"]
    with clock.phase("copies"):
        images = unit_images(model, pixels)
        said = perturbed_scores(score, images, maps.values, default_perturbations(), batch=BATCH)
    clock.seconds["copies"] -= clock.seconds["passes of copies"] - passes
    assert said.dual is not None
    both = np.stack((said.focused, said.dual), axis=2).reshape(len(pixels), -1)
    scores = np.concatenate((said.original[:, None], both), axis=1)
    return Found(prototypes.cpu().numpy(), scores, np.stack((shares.mask, shares.energy), axis=1))


# --- plain loops ---------------------------------------------------------------------------------


def lean(case: Case, clock: Clock) -> Found:
    """Analyse one image after the other, nothing done twice."""
    rows = []
    for image, mask in zip(case.images, case.masks, strict=True):
        with clock.phase("matches"):
            similarities = forward(case.model, image)
            place = np.unravel_index(similarities.argmax(), similarities.shape)
        with clock.phase("maps"):
            heatmap = heatmap_of(similarities[place[0]], image.shape[:2])
        with clock.phase("relevance"):
            shares = relevance_of(heatmap, mask)
        scores = [float(similarities[place])]
        for change in PERTURBATIONS:
            with clock.phase("copies"):
                changed = change(image, heatmap)
                copies = blended(image, changed, heatmap), blended(image, changed, 1 - heatmap)
            for copy in copies:
                with clock.phase("passes of copies"):
                    scores.append(float(forward(case.model, copy)[place]))
        rows.append((int(place[0]), scores, shares))
    return Found(*(np.array(columns) for columns in zip(*rows, strict=True)))


def one_by_one(case: Case, clock: Clock) -> Found:
    """Analyse all images for relevance, then all again for perturbations: CaBRNet's steps."""
    shares = []
    for image, mask in zip(case.images, case.masks, strict=True):
        _, heatmap = _explained(case.model, image, clock)
        with clock.phase("relevance"):
            shares.append(relevance_of(heatmap, mask))
    found = [_perturbed(case.model, image, clock) for image in case.images]
    prototypes, scores = (np.array(column) for column in zip(*found, strict=True))
    return Found(prototypes, scores, np.array(shares))


def _explained(model: Model, image: Array, clock: Clock) -> tuple[Explained, Array]:
    """Return the most similar prototype, its cell and score, and its map: three passes."""
    with clock.phase("matches"):
        similarities = forward(model, image)
        prototype = int(forward(model, image).max(axis=(1, 2)).argmax())
        row, column = np.argwhere(similarities[prototype] == similarities[prototype].max())[0]
    with clock.phase("maps"):
        heatmap = heatmap_of(forward(model, image)[prototype], image.shape[:2])
    score = float(similarities[prototype, row, column])
    return Explained(prototype, int(row), int(column), score), heatmap


def _perturbed(model: Model, image: Array, clock: Clock) -> tuple[int, list[float]]:
    """Return the prototype, and the scores of the image and all its copies."""
    one, heatmap = _explained(model, image, clock)
    scores = [one.score]
    for change in PERTURBATIONS:
        for weight in (heatmap, 1 - heatmap):
            with clock.phase("copies"):
                copy = blended(image, change(image, heatmap), weight)
            with clock.phase("passes of copies"):
                scores.append(float(forward(model, copy)[one.prototype, one.row, one.column]))
    return one.prototype, scores


class Explained(NamedTuple):
    """What an image is most similar to."""

    prototype: int
    row: int
    column: int
    score: float


def blended(image: Array, changed: Array, weight: Array) -> Array:
    """Return the changed image where the weight is 1, the image where it is 0."""
    found: Array = weight[:, :, None] * changed + (1 - weight[:, :, None]) * image
    return found


def forward(model: Model, image: Array) -> Array:
    """Return the similarities of one image: (prototypes, rows, columns)."""
    pixels = torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1), np.float32))[None]
    with torch.no_grad():
        found: Array = model.network.similarities(normalised(model, pixels))[0].cpu().numpy()
    return found


def heatmap_of(similarities: Array, shape: tuple[int, ...]) -> Array:
    """Return the map of a prototype from 0 to 1, on pixels."""
    low, high = similarities.min(), similarities.max()
    scaled = (similarities - low) / (high - low)
    rows, columns = (
        (np.arange(wide) + 0.5) * small / wide - 0.5
        for small, wide in zip(scaled.shape, shape, strict=True)
    )
    places = np.meshgrid(rows, columns, indexing="ij")
    found: Array = ndimage.map_coordinates(scaled, places, order=1, mode="nearest")
    return found.clip(0, 1)


def relevance_of(heatmap: Array, mask: Array) -> list[float]:
    """Return mask and energy relevance."""
    return [mask_relevance(heatmap, mask), float((heatmap * mask).sum() / heatmap.sum())]


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
    """Return an image whose hues are turned: to HSV and back."""
    value, chroma = image.max(axis=2), np.ptp(image, axis=2)
    red, green, blue = np.moveaxis(image, 2, 0)
    safe = np.where(chroma > 0, chroma, 1)
    turn = np.select(
        [value == red, value == green],
        [(green - blue) / safe, 2 + (blue - red) / safe],
        4 + (red - green) / safe,
    )
    sector = (turn / 6 + HUE) % 1 * 6
    channels = []
    for offset in (5, 3, 1):
        k = (offset + sector) % 6
        channels.append(value - chroma * np.clip(np.minimum(k, 4 - k), 0, 1))
    return np.stack(channels, axis=2)


def blur(image: Array, heatmap: Array) -> Array:
    """Return a blurred image."""
    reach = KSIZE // 2 / SIGMA
    found: Array = ndimage.gaussian_filter(image, (SIGMA, SIGMA, 0), mode="mirror", truncate=reach)
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
    channels = [
        ndimage.map_coordinates(image[:, :, channel], (rows, columns), order=1, mode="nearest")
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


def measure(case: Case, rounds: int, now: Callable[[], float]) -> tuple[list[Seconds], Seconds]:
    """Return the least seconds by phase of the loop, the lean one and ours; and differences."""
    ways = (one_by_one, lean, batched)
    best: list[Seconds] = [{} for _ in ways]
    apart: Seconds = {}
    for _ in range(rounds):
        found = []
        for place, run in enumerate(ways):
            clock = Clock(now)
            found.append(run(case, clock))
            total = sum(clock.seconds.values())
            if total < sum(best[place].values() or [np.inf]):
                best[place] = dict(clock.seconds)
        apart = {
            name: max(value, furthest(found[2], found[1])[name])
            for name, value in furthest(found[2], found[0]).items()
        }
    return best, apart


Seconds = dict[str, float]


def lines_of(best: list[Seconds], count: int) -> list[list[str]]:
    """Return a row for each phase and one for all: milliseconds an image, and the ratios."""
    rows = {name: [each[name] for each in best] for name in PHASES}
    rows["all"] = [sum(each.values()) for each in best]
    return [
        [
            name,
            *(f"{1000 * each / count:.1f}" for each in seconds),
            *(f"{each / seconds[-1]:.1f}×" for each in seconds[:-1]),
        ]
        for name, seconds in rows.items()
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


def clock_of(device: str, threads: int) -> Callable[[], float]:
    """Return what tells the time: CPU seconds of one thread, else seconds of the clock."""
    if device == "cpu":
        return time.process_time if threads == 1 else time.perf_counter

    def now() -> float:
        torch.cuda.synchronize(device)
        return time.perf_counter()

    return now


def main() -> None:
    """Run all three and print what each phase takes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--images", type=int, default=BATCH)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--markdown", action="store_true")
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    torch.backends.cudnn.allow_tf32 = False  # the loops in single precision too, as ours
    case = case_of(asked.images, asked.device)
    now = clock_of(asked.device, asked.threads)
    few = Case(case.model, case.images[:1], case.pixels[:1], case.masks[:1])
    batched(few, Clock(now))  # imports, kernels
    best, apart = measure(case, asked.rounds, now)
    head = ["phase", "loop, ms an image", "lean loop", "ours", "of the loop", "of the lean one"]
    show(head, lines_of(best, asked.images), markdown=asked.markdown)
    kind = "CPU time" if now is time.process_time else "time of the clock"
    print(
        f"\n{asked.images} images in batches of {BATCH}, {2 * len(PERTURBATIONS)} changed copies "
        f"each, {kind}, {asked.device}, threads {asked.threads}; largest difference of scores "
        f"{apart['scores']:.1e}, of relevance {apart['relevance']:.1e}"
    )


if __name__ == "__main__":
    main()
