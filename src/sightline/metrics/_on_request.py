"""Metrics beyond the one pass: each by its definition, for the maps of a batch."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import Array, namespace, nan_where, share
from sightline.metrics._border import check_density
from sightline.metrics._ignore import each_kept, without
from sightline.metrics._regions import alike
from sightline.metrics.distribution import soft_target
from sightline.metrics.fixations import ADVICE, is_made_of_points
from sightline.metrics.location import dilate
from sightline.metrics.selection import Threshold
from sightline.metrics.spec import Facts, MetricSpec

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.metrics._regions import RegionTable
    from sightline.metrics.scores import Scores
    from sightline.metrics.selection import Sign

__all__ = ["Asked", "Scene", "add_on_request"]

Asked = tuple[MetricSpec, Threshold | None]


class Scene(NamedTuple):
    """A flattened batch with all that metrics outside the pass may need."""

    maps: Array
    masks: Array
    table: RegionTable | None
    ignored: NDArray[np.bool_] | None
    dropped: Array
    lead: tuple[int, ...]
    fixations: Array | None = None
    targets: Array | None = None

    def region_targets(self, table: RegionTable) -> NDArray[np.float64]:
        """Return the soft target of each map's regions; maps with the same ones share it.

        It is that of their boxes in whole pixels, as of masks and discs: see `distribution`.
        """
        height, width = self.maps.shape[-2:]
        boxes = table.boxes / np.array([width, height, width, height])
        out = np.empty((len(table.spans), height, width))
        for same in alike(table.spans, self.ignored):
            out[same] = soft_target(boxes[self.seen(same.start)], height, width)
        return out

    def others(self) -> Array:
        """Return how many of the other images are annotated at each pixel.

        Images are counted along the first axis of the maps.
        """
        xp = namespace(self.masks)
        counts = xp.astype(self.masks, xp.float64)
        if len(self.lead) > 1:
            counts = xp.reshape(counts, (self.lead[0], -1, *self.masks.shape[-2:]))
        return xp.reshape(xp.sum(counts, axis=0) - counts, self.masks.shape)

    def seen(self, row: int) -> list[int]:
        """Return the regions of a map that have pixels which are not ignored."""
        table = cast("RegionTable", self.table)
        size = tuple(self.masks.shape[-2:])
        keep = np.ones(size, np.bool_) if self.ignored is None else ~self.ignored[row]
        regions = range(*table.spans[row])
        return [region for region in regions if (table.mask(region, *size) & keep).any()]

    def apply(self, spec: MetricSpec, maps: Array, *against: Array, sign: Sign) -> Array:
        """Return a metric of each map, without the pixels to ignore; NaN for dropped maps."""
        xp = namespace(maps)
        maps = xp.where(self.dropped[:, None, None], xp.zeros_like(maps), maps)
        if self.ignored is None:
            values = spec.function(maps, *against, sign=sign)
        elif spec.spatial:  # places matter: no energy is where nothing counts
            kept = (without(array, self.ignored) for array in (maps, *against))
            values = spec.function(*kept, sign=sign)
        else:
            function = partial(spec.function, sign=sign)
            values = each_kept(function, maps, *against, ignored=self.ignored)
        return nan_where(self.dropped, values)


def add_on_request(scores: Scores, item: Asked, scene: Scene, sign: Sign) -> None:
    """Add the columns of a metric that the one pass does not give, by its definition."""
    spec, threshold = item
    if threshold is not None:
        _add_tolerant(scores, item, scene, sign)
        return
    xp = namespace(scene.maps)
    against = _against(spec, scene)
    values = scene.apply(spec, scene.maps, *against, sign=sign)
    scores.add(spec.name, values)
    if spec.chance is not None:
        chance = spec.chance.value(Facts(scores.counts.pixels, scores.counts.inside))
        scores.add(f"{spec.name}_chance", nan_where(xp.isnan(values), chance))
    elif "target" in spec.needs:  # what a map without any information would get
        even = xp.ones_like(xp.astype(scene.maps, xp.float64))
        scores.add(f"{spec.name}_uniform", scene.apply(spec, even, *against, sign=sign))


def list_requested(item: Asked) -> list[str]:
    """Return the columns that `add_on_request` adds for a metric."""
    spec, threshold = item
    token = "" if threshold is None else f"@{threshold}"
    if spec.chance is not None:
        return [f"{spec.name}{token}", f"{spec.name}_chance{token}"]
    return [spec.name, *([f"{spec.name}_uniform"] if "target" in spec.needs else [])]


def _add_tolerant(scores: Scores, item: Asked, scene: Scene, sign: Sign) -> None:
    """Add the pointing game with a tolerance: what is near the annotation counts as inside."""
    spec, threshold = item
    near = dilate(scene.masks, cast("Threshold", threshold).level)
    xp = namespace(near)
    values = scene.apply(spec, scene.maps, near, sign=sign)
    if scene.ignored is not None:
        near = without(near, scene.ignored)
    count = xp.sum(xp.astype(xp.reshape(near, (near.shape[0], -1)), xp.float64), axis=-1)
    scores.add(f"{spec.name}@{threshold}", values)
    chance = share(count, scores.counts.pixels)
    scores.add(f"{spec.name}_chance@{threshold}", nan_where(xp.isnan(values), chance))


def _against(spec: MetricSpec, scene: Scene) -> list[Array]:
    """Return what a metric compares the maps with."""
    found = []
    for need in spec.needs:
        if need == "mask":
            counted = spec.repeats and scene.fixations is not None
            found.append(scene.fixations if counted else scene.masks)
        elif need == "others":
            found.append(scene.others())
        elif scene.targets is not None:
            if not spec.spatial:  # before ignored pixels are taken out, and neighbours with them
                check_density(scene.targets, scene.maps)
            found.append(scene.targets)
        elif scene.fixations is not None:
            raise InputError(f"{spec.name} needs targets: it takes no fixations. {ADVICE}")
        elif scene.table is None:
            advice = f"; masks are made of points. {ADVICE}" * is_made_of_points(scene.masks)
            raise InputError(
                f"{spec.name} needs targets, or regions, from which its soft target is made{advice}"
            )
        else:
            xp = namespace(scene.maps)
            if not spec.spatial:  # compared pixel by pixel
                scene.table.refuse_points(*scene.maps.shape[-2:])
            targets = scene.region_targets(scene.table)
            found.append(xp.asarray(targets, device=scene.maps.device))
    return found
