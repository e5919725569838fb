"""The stored maps of a study, one image at a time, and their scores, made when asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from sightline.core import UnknownNameError
from sightline.core.lru_cache import Kept
from sightline.metrics import score_maps
from sightline.results._grids import spread_over
from sightline.results.map_reader import _ignored
from sightline.results.scored_map import one_map, span_of
from sightline.study.worker.scores import scenes_of, view_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sightline.core import Annotation
    from sightline.metrics import Scores
    from sightline.metrics.selection import Sign
    from sightline.results.map_reader import Scenes
    from sightline.results.scored_map import MapKey, OneMap, Rule
    from sightline.store.shards import StoredMaps
    from sightline.study.plan.sources import Source
    from sightline.study.worker.scores import Scene

    # By layer and head.
    Spans = dict[tuple[int | None, int | None], tuple[float, float]]

__all__ = ["NoMapError", "OnDemand", "Stack"]

# Bytes of maps that stay at hand: on their own grids, and on the rasters on which they are scored.
# Grids as fine as the image have room of their own: a few would push out all the others.
_GRIDS, _FINE, _RASTERS = 32 << 20, 48 << 20, 32 << 20
# Bytes of all maps of a source on an image from which on they are fine.
_LEAST_FINE = 64 << 10
# Of annotations, so that none waits for maps that are read for another.
_ANNOTATIONS = 64 << 20
# Images over which the range of values of a data set is looked for.
_SAMPLE = 32


class NoMapError(UnknownNameError):
    """A map that is not stored, or not yet."""


class Stack(NamedTuple):
    """Maps of several layers and heads on one raster, with their scores.

    Attributes
    ----------
    keys
        Of each map, in the order of the scores.
    scores
        From `score_maps`, of as many maps.
    """

    keys: tuple[MapKey, ...]
    scores: Scores


class OnDemand:
    """The maps of a store, one image at a time; those asked for last stay at hand.

    It may be asked in several threads.

    Parameters
    ----------
    scenes
        The data and the maps of the study.
    """

    def __init__(self, scenes: Scenes) -> None:
        self.scenes = scenes
        self._images = frozenset(scenes.images)
        self._sources = {
            (one.name, one.method, one.target, one.seed): one
            for one in scenes.sources
            if not one.check
        }
        self._grids: Kept[StoredMaps] = Kept(_GRIDS, _grid_bytes)
        self._fine: Kept[StoredMaps] = Kept(_FINE, _grid_bytes)
        self._are_fine: dict[str, bool] = {}
        self._rasters: Kept[OneMap] = Kept(_RASTERS, _raster_bytes)
        self._annotations: Kept[Annotation] = Kept(_ANNOTATIONS, _annotation_bytes)
        self._spans: Kept[Spans] = Kept(1 << 20, lambda found: 64 * len(found))

    def source(self, key: MapKey) -> Source:
        """Return how a map was made.

        Raises
        ------
        UnknownNameError
            If the study has no such maps.
        """
        source = self._sources.get((key.model, key.method, key.target, key.seed))
        if source is None or key.layer not in source.layers or key.head not in source.heads:
            raise UnknownNameError(f"the study has no maps of {key.told()}")
        return source

    def map(self, image: str, key: MapKey) -> OneMap:
        """Return one map on the raster on which it was scored.

        Raises
        ------
        UnknownNameError
            If there is no such image, or no such map of it: `NoMapError` where it is not stored.
        InputError
            If maps were not kept.
        """
        return self._rasters.get((image, key), lambda: self._map(image, key))

    def _map(self, image: str, key: MapKey) -> OneMap:
        source = self.source(key)
        maps = _only(self.stored(image, source), [key.layer], [key.head])
        annotation = self._annotation(image)
        return one_map(self.scenes.scoring, maps, annotation, key, source.sign)

    def stored(self, image: str, source: Source) -> StoredMaps:
        """Return all maps of a source on one image, on their own grids."""
        if image not in self._images:
            raise UnknownNameError(f"no image {image!r} is stored")
        return self._room(source).get((image, source.key), lambda: self._stored(image, source))

    def _room(self, source: Source) -> Kept[StoredMaps]:
        """Return where the maps of a source are kept: those seen first say whether all are fine."""
        return self._fine if self._are_fine.get(source.key) else self._grids

    def has(self, image: str, key: MapKey) -> bool:
        """Say whether the maps of a source on an image are at hand, and its annotation."""
        return self._annotations.peek(image) is not None and self._peek(image, key) is not None

    def _peek(self, image: str, key: MapKey) -> StoredMaps | None:
        """Return all maps of a source on an image, if they are at hand."""
        source = self._sources.get((key.model, key.method, key.target, key.seed))
        return None if source is None else self._room(source).peek((image, source.key))

    def on_one_raster(self, image: str, key: MapKey) -> bool:
        """Say whether all layers at hand of a source are scored on the same pixels of an image."""
        maps = self._peek(image, key)
        if maps is None:
            return False
        cells = (layer.shape[1:] for layer in maps.values[0])
        ways = set(zip(maps.geometries[0], cells, strict=True))
        scoring = self.scenes.scoring
        over_image = scoring.resolution != "grid"  # there regions are carried along each way
        return len(ways) == 1 or (over_image and len({view_of(scoring, *way) for way in ways}) == 1)

    def _annotation(self, image: str) -> Annotation:
        return self._annotations.get(image, lambda: self.scenes.sample(image).annotation)

    def _stored(self, image: str, source: Source) -> StoredMaps:
        maps = self.scenes.maps_of(source, image)
        if maps is None:
            told = " · ".join(part for part in (source.name, source.method, source.target) if part)
            why = "none was given" if source.kind == "given" else "it is not computed yet"
            raise NoMapError(f"no map of {told} on image {image!r} is stored: {why}")
        self._are_fine.setdefault(source.key, _grid_bytes(maps) > _LEAST_FINE)
        return maps

    def stacks(
        self,
        image: str,
        key: MapKey,
        rule: Rule,
        metric: str,
        *,
        heads: bool = False,
        whole: bool = False,
    ) -> list[Stack]:
        """Score the maps of all layers of a source on one image, by one metric.

        Parameters
        ----------
        image, key
            Whose; layer and head of the key do not matter but for `heads`.
        rule, metric
            How they are scored.
        heads
            Score every single head, in place of the head of the key.
        whole
            Leave out the scores of single regions, for a metric of one pass.
        """
        source = self.source(key)
        chosen = [head for head in source.heads if head is not None] if heads else [key.head]
        if not chosen:
            return []
        some = _only(self.stored(image, source), source.layers, chosen)
        annotation = self._annotation(image)
        found = []
        for scene in scenes_of(self.scenes.scoring, some, 0, annotation):
            scores = score_maps(
                scene.maps.reshape(-1, *scene.maps.shape[-2:]),
                **_against(scene, whole=whole),
                selection=rule.selection,
                percentiles=(rule.percentile,),
                sign=cast("Sign", source.sign),
                ties=rule.ties,
                metrics=[metric],
                threads=1,
            )
            keys = (key._replace(layer=k, head=h) for k in scene.layers for h in chosen)
            found.append(Stack(tuple(keys), scores))
        return found

    def dataset_span(self, key: MapKey) -> tuple[float, float] | None:
        """Return the least and the greatest value over a sample of images, as maps are read.

        None where no map of the sample is stored.
        """
        source = self.source(key)
        return self._spans.get(source.key, lambda: self._find_spans(source)).get(
            (key.layer, key.head)
        )

    def _find_spans(self, source: Source) -> Spans:
        found: Spans = {}
        for image in spread_over(self.scenes.images, _SAMPLE):
            maps = self.scenes.maps_of(source, image)
            for k, layer in enumerate(() if maps is None else source.layers):
                for h, head in enumerate(source.heads):
                    low, high = span_of(maps.values[0][k][h], source.sign)  # type: ignore[union-attr]
                    known = found.get((layer, head), (low, high))
                    found[layer, head] = min(known[0], low), max(known[1], high)
        return found


def _against(scene: Scene, *, whole: bool) -> dict[str, Any]:
    """Return what the maps of a scene are scored against: its regions, or all of them as one."""
    if not whole:
        return {"regions": [scene.regions], "ignore": scene.ignore}
    shape = scene.maps.shape[-2:]
    masks = scene.regions.union_mask(*shape)
    return {"masks": masks, "ignore": _ignored(scene.regions, scene.ignore, scene.maps[0, 0])}


def _only(
    maps: StoredMaps, layers: Sequence[int | None], heads: Sequence[int | None]
) -> StoredMaps:
    """Return the maps of some layers and heads of one image."""
    places = [maps.layers.index(layer) for layer in layers]
    chosen = [maps.heads.index(head) for head in heads]
    return replace(
        maps,
        values=(tuple(maps.values[0][k][chosen] for k in places),),
        geometries=(tuple(maps.geometries[0][k] for k in places),),
        layers=tuple(layers),
        heads=tuple(heads),
        targets=(),
    )


def _grid_bytes(maps: StoredMaps) -> int:
    return 1024 + sum(layer.nbytes for layer in maps.values[0])


def _annotation_bytes(one: Annotation) -> int:
    masks = [getattr(region.mask, "nbytes", 2048) for region in (*one.regions, *one.dropped)]
    return 1024 + 512 * len(masks) + sum(masks)


def _raster_bytes(one: OneMap) -> int:
    """Return the bytes of values, and of masks, which may be drawn later."""
    return 1024 + one.values.nbytes + one.values.size * (len(one.regions.scored) + 2)
