"""How often nulls call maps "significant" that know nothing of the regions.

A data set of maps and masks is drawn anew in every repeat. Its p-value counts once. The p-values of
its images share their maps, so they are not independent of each other: a repeat contributes the
share of its images that are rejected, and the rate is the mean of these shares.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.calibration.fields import boxes, centre, facade_masks, smooth_fields
from benchmarks.calibration.lines import Line
from sightline.metrics import compute_coverage, compute_iou, iou_chance
from sightline.stats.nulls import (
    CrossScores,
    Null,
    best_of,
    cross_image,
    cross_scores,
    torus_scores,
    torus_shift,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    Draw = tuple[NDArray[np.float64], NDArray[np.bool_]]
    # Of data sets (sets, images, H, W), the number of the first one gives the seeds.
    Test = Callable[[Draw, str, int], Iterator[Null]]

__all__ = ["run"]

SCORES = ("iou@90", "coverage", "auc_roc")
ALPHA = 0.05
DRAWS = 99
"""With the maps as they are 100: 0.05 can be reached exactly."""

Bounds = tuple[float | None, float | None]
KEPT: Bounds = (0.03, 0.07)
AT_MOST: Bounds = (None, 0.07)
NOMINAL: Bounds = (None, ALPHA)
TOLD: Bounds = (None, None)


@dataclass(frozen=True)
class Scene:
    """A kind of data set: maps that look like attention, drawn without a look at the masks."""

    name: str
    masks: NDArray[np.bool_]
    scale: float
    pull: float = 0
    periodic: bool = False

    @property
    def size(self) -> int:
        return int(self.masks.shape[-1])

    def draw(self, rng: np.random.Generator, images: int) -> Draw:
        fields = smooth_fields(rng, images, self.size, self.scale, periodic=self.periodic)
        masks = self.masks[rng.integers(len(self.masks), size=images)]
        return np.exp(fields + self.pull * centre(self.size)), masks


@dataclass(frozen=True)
class SameMap:
    """A kind of data set in which all images have one map, but for some noise."""

    name: str
    masks: NDArray[np.bool_]
    one: NDArray[np.float64]
    noise: float = 0

    def draw(self, rng: np.random.Generator, images: int) -> Draw:
        maps = self.one + self.noise * rng.standard_normal((images, *self.one.shape))
        return maps, self.masks[rng.integers(len(self.masks), size=images)]


def run(repeats: int, *, small: bool = False) -> list[Line]:
    """Return the rates. What is only told has fewer repeats; the small version is coarser too."""
    told, images = repeats // (10 if small else 4), 20
    scenes = _scenes(16 if small else 24)
    lines: list[Line] = []
    for name in ("boxes", "centre", "facades", "facades centre"):
        lines += _rates(cross_test, scenes[name], repeats, images, KEPT, "cross-image")
    for name in ("periodic boxes",) if small else ("periodic boxes", "periodic facades"):
        lines += _rates(torus_test, scenes[name], repeats, images, KEPT, "torus shift")
    for name in ("boxes", "centre", "facades centre"):
        lines += _rates(torus_test, scenes[name], told, images, TOLD, "torus shift")
    lines += _letterboxed(scenes["boxes"], repeats, told)
    lines += _same_map(scenes["centre"], repeats, images, small=small)
    lines += _chosen(scenes["centre"], repeats, images)
    for name in ("boxes", "centre"):
        lines += _not_offered(scenes[name], told, images)
        lines.append(_against_closed_form(scenes[name], told, images))
    return lines + _power(scenes["centre"], told, images)


def _scenes(size: int) -> dict[str, Scene]:
    rng = np.random.default_rng(20)
    scale, pull = size / 8, 1.0
    spread, central = boxes(rng, 500, size), boxes(rng, 500, size, central=True)
    facades = facade_masks(60, size)
    return {
        "boxes": Scene("smooth maps, boxes anywhere", spread, scale),
        "centre": Scene("smooth maps and boxes, both central", central, scale, pull),
        "facades": Scene("smooth maps, façades", facades, scale),
        "facades centre": Scene("smooth central maps, façades", facades, scale, pull),
        "periodic boxes": Scene("periodic maps, boxes anywhere", spread, scale, periodic=True),
        "periodic facades": Scene("periodic maps, façades", facades, scale, periodic=True),
    }


def cross_sets(
    draw: Draw,
    metric: str,
    ignore: NDArray[np.bool_] | None = None,
    classes: NDArray[np.bool_] | None = None,
) -> Iterator[CrossScores]:
    """Score data sets at once, which saves time: maps are never exchanged between classes.

    `ignore` (images, H, W) and `classes` (images,) are those of each data set.
    """
    sets, images = draw[0].shape[:2]
    maps, masks = (array.reshape(-1, *array.shape[2:]) for array in draw)
    own = np.zeros(images, np.int64) if classes is None else classes.astype(np.int64)
    labels = (2 * np.arange(sets)[:, None] + own).ravel()
    hidden = None if ignore is None else np.tile(ignore, (sets, 1, 1))
    whole = cross_scores(maps, masks, metric, ignore=hidden, classes=labels.tolist())
    blocks: list[list[Any]] = [[] for _ in range(sets)]
    for indices, matrix in whole.blocks:
        blocks[indices[0] // images].append((indices % images, matrix))
    for some in blocks:
        yield CrossScores(images, tuple(some), whole.metric, whole.direction)


def cross_test(draw: Draw, metric: str, seed: int) -> Iterator[Null]:
    return _crossed(cross_sets(draw, metric), seed)


def _crossed(sets: Iterable[CrossScores], seed: int) -> Iterator[Null]:
    for at, scores in enumerate(sets, seed):
        yield cross_image(scores, permutations=DRAWS, seed=at)


def torus_test(draw: Draw, metric: str, seed: int) -> Iterator[Null]:
    sets, images = draw[0].shape[:2]
    maps, masks = (array.reshape(-1, *array.shape[2:]) for array in draw)
    whole = torus_scores(maps, masks, metric)
    for at in range(sets):
        some = replace(whole, shifts=whole.shifts[at * images : (at + 1) * images])
        yield torus_shift(some, draws=DRAWS, seed=seed + at)


class _Count:
    """Rates at which p-values of data sets and of images come out at most 0.05."""

    def __init__(self) -> None:
        self.sets: list[float] = []
        self.images: list[float] = []

    def add(self, null: Null) -> None:
        defined = null.p_images[np.isfinite(null.p_images)]
        self.sets.append(null.p <= ALPHA)
        self.images.append(float(np.mean(defined <= ALPHA)))

    def lines(self, kind: str, setting: str, bounds: Bounds) -> Iterator[Line]:
        yield Line(f"{kind}, p of a data set", setting, float(np.mean(self.sets)), *bounds)
        if bounds == KEPT and "@" in setting:
            bounds = AT_MOST  # overlaps of single images come in steps: ties count against
        yield Line(f"{kind}, p of an image", setting, float(np.mean(self.images)), *bounds)


def _rates(
    test: Test, scene: Scene | SameMap, repeats: int, images: int, bounds: Bounds, kind: str
) -> list[Line]:
    """Return false-positive rates: no map knows anything."""
    counts = {metric: _Count() for metric in SCORES}
    for seed, draw in _draws(scene, repeats, images):
        for metric, count in counts.items():
            for null in test(draw, metric, seed):
                count.add(null)
    return [
        line
        for metric, count in counts.items()
        for line in count.lines(kind, f"{scene.name}: {metric}", bounds)
    ]


def _draws(scene: Scene | SameMap, repeats: int, images: int) -> Iterator[tuple[int, Draw]]:
    """Draw data sets (sets, images, H, W), several at once to save time; the first one's number."""
    rng = np.random.default_rng([21, *scene.name.encode()])
    batch = 50
    for start in range(0, repeats, batch):
        count = min(batch, repeats - start)
        maps, masks = scene.draw(rng, count * images)
        yield (
            start,
            (
                maps.reshape(count, images, *maps.shape[1:]),
                masks.reshape(count, images, *masks.shape[1:]),
            ),
        )


def _one_by_one(scene: Scene, repeats: int, images: int) -> Iterator[Draw]:
    """Draw data sets (images, H, W)."""
    for _, draw in _draws(scene, repeats, images):
        yield from zip(*draw, strict=True)


def _letterboxed(scene: Scene, repeats: int, told: int) -> list[Line]:
    """Half the images fill only a band: their maps and masks are empty elsewhere."""
    images, size = 40, scene.size
    band = np.zeros((size, size), np.bool_)
    band[size // 4 : size - size // 4] = True
    boxed = np.arange(images) % 2 == 0
    seen = np.where(boxed[:, None, None], band, True)

    def mixed(draw: Draw) -> Draw:
        return draw[0] * seen, draw[1] & seen

    def apart(draw: Draw, metric: str, seed: int) -> Iterator[Null]:
        return _crossed(cross_sets(mixed(draw), metric, ~seen, boxed), seed)

    def together(draw: Draw, metric: str, seed: int) -> Iterator[Null]:
        return cross_test(mixed(draw), metric, seed)

    return [
        *_rates(apart, scene, repeats, images, KEPT, "cross-image, letterboxed in a class"),
        *_rates(together, scene, told, images, TOLD, "cross-image, letterboxed among others"),
    ]


def _chosen(scene: Scene, repeats: int, images: int) -> list[Line]:
    """The best of six layers that know nothing, with a p-value that pays for the choice or not."""
    layers, metric = 6, "coverage"
    plain, paid = [], []
    for first, (maps, masks) in _draws(scene, repeats, layers * images):
        some = masks[:, :images]
        crossed = [cross_sets((one, some), metric) for one in np.split(maps, layers, axis=1)]
        for seed, candidates in enumerate(zip(*crossed, strict=True), first):
            nulls = [
                cross_image(one, permutations=DRAWS, seed=seed, keep_draws=True)
                for one in candidates
            ]
            plain.append(max(nulls, key=lambda null: null.value).p)
            paid.append(best_of(nulls).p)
    setting = f"{scene.name}: {metric}, best of {layers} layers"
    rates = [float(np.mean(np.array(p) <= ALPHA)) for p in (paid, plain)]
    return [
        Line("cross-image, chosen again in each draw", setting, rates[0], *KEPT),
        Line("cross-image, as if not chosen", setting, rates[1], note="not offered"),
    ]


def _same_map(scene: Scene, repeats: int, images: int, *, small: bool) -> list[Line]:
    """A map that is the same for every image says nothing about any of them."""
    mean = scene.draw(np.random.default_rng(22), 200)[0].mean(axis=0)
    maps = {
        "a constant map": np.ones_like(mean),
        "a Gaussian in the centre": np.exp(centre(scene.size)),
        "the mean map": mean,
    }
    lines: list[Line] = []
    for name, one in maps.items():
        # Without noise all scores are ties, whatever is drawn.
        same = SameMap(name, scene.masks, one)
        lines += _rates(cross_test, same, min(repeats, 50), images, NOMINAL, "cross-image")
        if small and name == "the mean map":
            continue  # no two of its pixels are as close as the noise: ties again
        same = SameMap(f"{name}, noise of 1e-12", scene.masks, one, 1e-12)
        lines += _rates(cross_test, same, repeats, images, AT_MOST, "cross-image")
    return lines


def _not_offered(scene: Scene, repeats: int, images: int) -> Iterable[Line]:
    """Two tests that Sightline does not offer, and why."""
    from scipy.stats import ttest_1samp

    rng = np.random.default_rng(23)
    against_form, against_pixels = [], []
    for maps, masks in _one_by_one(scene, repeats, images):
        found = compute_iou(maps, masks, 90)
        chance = iou_chance(found.attention_area, found.annotation_area)
        against_form.append(ttest_1samp(found.iou - chance, 0, alternative="greater").pvalue)
        pixels, inside = maps[0].ravel(), masks[0].ravel()
        shuffled = rng.permuted(np.tile(pixels, (DRAWS, 1)), axis=1)
        null = shuffled[:, inside].sum(axis=1) / pixels.sum()
        own = float(compute_coverage(maps[0], masks[0]))
        against_pixels.append((1 + (null >= own - 1e-9).sum()) / (DRAWS + 1))
    for what, setting, p in (
        ("t-test against closed-form chance, data set", "iou@90", against_form),
        ("pixel permutation, image", "coverage", against_pixels),
    ):
        rate = float(np.mean(np.array(p) <= ALPHA))
        yield Line(what, f"{scene.name}: {setting}", rate, note="not offered")


def _against_closed_form(scene: Scene, repeats: int, images: int) -> Line:
    """What maps score by chance on others' regions, beside what the closed form says."""
    ratios = []
    for maps, masks in _one_by_one(scene, min(repeats, 200), images):
        closed = iou_chance(0.1, masks.mean(axis=(1, 2))).mean()
        ((_, matrix),) = cross_scores(maps, masks, "iou@90").blocks
        ratios.append(matrix.mean() / closed)
    what = "cross-image mean over closed-form chance"
    return Line(what, f"{scene.name}: iou@90", float(np.mean(ratios)), note="a ratio")


def _power(scene: Scene, repeats: int, images: int) -> list[Line]:
    """Maps that do look at the regions, a little."""
    lines = []
    for strength in (0.5, 2.0):

        def drawn(draw: Draw, metric: str, seed: int, by: float = strength) -> Iterator[Null]:
            maps, masks = draw
            return cross_test((maps * np.exp(by * masks), masks), metric, seed)

        kind = f"cross-image, power, regions × {np.exp(strength):.1f}"
        lines += _rates(drawn, scene, repeats, images, TOLD, kind)
    return lines
