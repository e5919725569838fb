"""Façades with simulated maps: every instance known, some labelled, attention known by design."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.ndimage import gaussian_filter

from benchmarks.calibration.fields import smooth_fields
from sightline.data import load_dataset
from sightline.stats.missing_labels import Atoms, Overlaps, atoms_of, overlaps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.core import Annotation, Region

    Floats = NDArray[np.float64]

__all__ = ["PERCENTILE", "Layout", "Model", "World", "layouts", "paint", "recalls", "world"]

PERCENTILE = 95
_SIZE = 112  # of the drawings, before they are laid over the grid

Model = Literal["even", "drawn", "all", "one", "label and wrong places"]
"""Where maps look: at each instance with equal probability, more at salient ones, at all, at the
labelled one alone, at the labelled one and as many wrong places as there are other instances."""


@dataclass(frozen=True, eq=False)
class Layout:
    """A façade and the part that is looked for, with 2 to 12 instances.

    Its regions are: the instances of the part, as many wrong places of their shapes, all other
    parts.
    """

    masks: NDArray[np.bool_]  # (regions, H, W)
    atoms: Atoms
    labels: tuple[str, ...]  # "" for wrong places
    difficult: NDArray[np.bool_]
    instances: int
    salience: Floats  # (instances,)
    labelled: dict[str, NDArray[np.bool_]]  # labelling -> (regions,)

    @property
    def others(self) -> int:
        return len(self.masks) - 2 * self.instances

    def chosen(self, labelling: str) -> int:
        """Return the instance of the part that is labelled."""
        return int(np.argmax(self.labelled[labelling][: self.instances]))

    def relabelled(self, rng: np.random.Generator) -> Layout:
        """Return the same with another random instance of each part labelled.

        As in the data set, a difficult one is labelled only where there is no other.
        """
        marks = np.zeros(len(self.masks), np.bool_)
        names = np.array(self.labels)
        for label in dict.fromkeys(self.labels):
            if label:
                same = np.flatnonzero(names == label)
                easy = same[~self.difficult[same]]
                marks[rng.choice(easy if len(easy) else same)] = True
        return replace(self, labelled={**self.labelled, "representative": marks})


@lru_cache(4)
def layouts(count: int, size: int, seed: int = 0) -> tuple[Layout, ...]:
    """Return the first `count` façades that have a part with 2 to 12 instances, on a small grid."""
    sets = [
        load_dataset("facades", count=2 * count, seed=seed, size=_SIZE, labelling=labelling)
        for labelling in ("exhaustive", "representative", "salient")
    ]
    rng = np.random.default_rng([seed, 17])
    found: list[Layout] = []
    for i in range(2 * count):
        whole, random, salient = (dataset[i].annotation for dataset in sets)
        layout = _layout(whole, random, salient, size, rng)
        found += [] if layout is None else [layout]
        if len(found) == count:
            break
    return tuple(found)


def _layout(
    whole: Annotation,
    random: Annotation,
    salient: Annotation,
    size: int,
    rng: np.random.Generator,
) -> Layout | None:
    counts = Counter(region.label for region in whole.regions)
    fitting = [label for label, n in counts.items() if 2 <= n <= 12]
    if not fitting:
        return None
    label = fitting[int(rng.integers(len(fitting)))]
    own = [region for region in whole.regions if region.label == label]
    others = [region for region in whole.regions if region.label != label]
    shapes, rest = (
        np.array([region.to_mask(size, size) for region in regions]).reshape(-1, size, size)
        for regions in (own, others)
    )
    regions = [*own, *[None] * len(own), *others]
    masks = np.concatenate([shapes, _elsewhere(shapes, rng), rest])
    labelled = {}
    for name, sparse in (("representative", random), ("salient", salient)):
        marked = {region.index for region in sparse.regions}
        labelled[name] = np.array([r is not None and r.index in marked for r in regions])
    return Layout(
        masks=masks,
        atoms=atoms_of(masks),
        labels=tuple("" if r is None else r.label for r in regions),
        difficult=np.array([r is not None and r.difficult for r in regions]),
        instances=len(own),
        salience=np.array([_salience(region) for region in own]),
        labelled=labelled,
    )


def _salience(region: Region) -> float:
    x0, y0, x1, y1 = region.box
    away = (x0 + x1 - 1) ** 2 + (y0 + y1 - 1) ** 2
    return int(region.to_mask(_SIZE, _SIZE).sum()) * (2 - away)


def _elsewhere(masks: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return the same shapes at other places, as free of the given ones as twenty tries allow."""
    taken, size = masks.any(0), masks.shape[-1]
    found = []
    for mask in masks:
        tries: list[tuple[int, int, NDArray[np.bool_]]] = []
        for _ in range(20):
            moved = np.roll(mask, rng.integers(0, size, 2), (0, 1))
            tries.append((int((moved & taken).sum()), len(tries), moved))
        best = min(tries, key=lambda one: one[:2])[2]
        found.append(best)
        taken = taken | best
    return np.stack(found)


def paint(
    places: tuple[Layout, ...],
    model: Model,
    rng: np.random.Generator,
    *,
    labelling: str = "salient",
    noise: float = 0.3,
) -> Floats:
    """Return a map for each layout: bumps where the model looks, and smooth noise."""
    size = places[0].masks.shape[-1]
    base = np.stack([_bumps(place, model, labelling, rng) for place in places])
    smooth = gaussian_filter(base, (0, 0.6, 0.6), mode="constant")
    return np.asarray(np.exp(3 * (smooth + noise * smooth_fields(rng, len(places), size, 1.5))))


def _bumps(place: Layout, model: Model, labelling: str, rng: np.random.Generator) -> Floats:
    k = place.instances
    height = np.exp(rng.normal(0, 0.25, k))
    stray = rng.random(place.others) < 0.08
    share = rng.beta(4, 1.5)
    luck = rng.random(k)
    wrong = np.zeros(k)
    label = np.arange(k) == place.chosen(labelling)
    if model == "even":
        height = height * (luck < share)
    elif model == "drawn":
        rank = place.salience.argsort().argsort() / (k - 1)
        height = height * (luck < share * (0.4 + 0.6 * rank)) * (0.8 + 0.4 * rank)
    elif model == "one":
        height = height * label
    elif model == "label and wrong places":
        wrong = height * ~label
        height = height * label
    weights = np.concatenate([height, wrong, 0.7 * stray])
    return np.asarray((place.masks * weights[:, None, None]).max(0))


@dataclass(frozen=True, eq=False)
class World:
    """Many façades with one map each: what is measured, and what would be with every label."""

    places: tuple[Layout, ...]
    maps: Floats  # (images, H, W)
    line: Overlaps
    table: dict[str, Floats]  # figure -> (images,)

    def __len__(self) -> int:
        return len(self.places)


def world(
    places: tuple[Layout, ...],
    maps: Floats,
    labelling: str,
    rng: np.random.Generator,
    *,
    found: float = 0.8,
    false: float = 0.3,
) -> World:
    """Measure maps against the labelled instance, all instances and a completion.

    The completion keeps the labelled instance, finds each other one with probability `found` and
    adds `false` wrong places an image on average.
    """
    line = overlaps(list(maps), [place.atoms for place in places], PERCENTILE)
    rows = []
    for i, place in enumerate(places):
        k, total = place.instances, len(place.masks)
        instances = np.arange(total) < k
        one = np.arange(total) == place.chosen(labelling)
        wrong = np.arange(total) - k
        kept = one | (instances & (rng.random(total) < found))
        kept |= (wrong >= 0) & (wrong < min(rng.poisson(false), k))
        everything = instances | (np.arange(total) >= 2 * k)
        sets = np.stack([one, instances, kept, place.labelled[labelling], everything])
        rows.append(_figures(place, maps[i], line, i, sets))
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    return World(places, maps, line, columns)


def _figures(
    place: Layout, values: Floats, line: Overlaps, i: int, sets: NDArray[np.bool_]
) -> dict[str, float]:
    """Return every figure of an image, against: label, instances, completion, all labels, all."""
    covered = place.atoms.covered(sets)
    hits, area = covered @ line.inside[i], covered @ place.atoms.pixels
    selected = line.selected[i]
    iou = hits / (selected + area - hits)
    pixels = values.size
    ceiling = np.minimum(area, selected) / np.maximum(area, selected)
    one, every = place.masks[sets[0]][0], place.masks[: place.instances].any(0)
    recall = float(recalls(place, line, i).mean())
    peak = values == values.max()
    return {
        "naive": iou[0],
        "truth": iou[1],
        "completed": iou[2],
        "union": iou[3],
        "union truth": iou[4],
        "recall": hits[0] / area[0],
        "recall truth": recall,
        "lift": hits[0] / area[0] / (selected / pixels),
        "lift truth": recall / (selected / pixels),
        "ceiling": iou[0] / ceiling[0],
        "ceiling truth": iou[1] / ceiling[1],
        "pointing": float(peak[one].any()),
        "pointing truth": float(peak[every].any()),
        "coverage": float(values[one].sum() / values.sum()),
        "coverage truth": float(values[every].sum() / values.sum()),
        "area": area[0] / pixels,
        "attended": selected / pixels,
        "instances": float(place.instances),
    }


def recalls(place: Layout, line: Overlaps, i: int) -> Floats:
    """Return the selected share of each instance."""
    member = place.atoms.member[:, : place.instances].astype(np.float64)
    return np.asarray((line.inside[i] @ member) / (place.atoms.pixels @ member))
