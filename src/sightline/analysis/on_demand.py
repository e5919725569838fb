"""One stored map at a time, as it was scored, and its scores by any rule, made when asked for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np

from sightline._kept import Kept
from sightline.analysis._rasters import read, spread_over
from sightline.analysis.scenes import _ignored
from sightline.metrics import METRICS, score_maps
from sightline.metrics.selection import Threshold, parse_selection
from sightline.records import InputError, UnknownNameError
from sightline.runner.scoring import scenes_of, view_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sightline.analysis.scenes import Scenes
    from sightline.geometry import Geometry
    from sightline.metrics import Scores
    from sightline.metrics.selection import Sign, Ties
    from sightline.records import Annotation, Region
    from sightline.runner.scoring import Scene
    from sightline.runner.sources import Scoring, Source
    from sightline.store.shards import StoredMaps

    # By layer and head.
    Spans = dict[tuple[int | None, int | None], tuple[float, float]]

__all__ = ["MapKey", "NoMapError", "OnDemand", "OneMap", "Rule", "Stack", "one_map", "scores_of"]

# Bytes of maps that stay at hand: on their own grids, and on the rasters on which they are scored.
# Grids as fine as the image have room of their own: a few would push out all the others.
_GRIDS, _FINE, _RASTERS = 32 << 20, 48 << 20, 32 << 20
# Bytes of all maps of a source on an image from which on they are fine.
_LEAST_FINE = 64 << 10
# Of annotations, so that none waits for maps that are read for another.
_ANNOTATIONS = 64 << 20
# Images over which the range of values of a data set is looked for.
_SAMPLE = 32
# What 32 bits hold without losing digits.
_LEAST, _MOST = 2.0**-100, 2.0**100


class NoMapError(UnknownNameError):
    """A map that is not stored, or not yet."""


class MapKey(NamedTuple):
    """Which map of an image.

    Attributes
    ----------
    model
        Full name; "" for maps made elsewhere that name none.
    method
        How it was made.
    layer, head
        From 0; None where there are no layers, or heads are fused.
    target
        What is explained; "" for no class.
    seed
        None where nothing is drawn.
    """

    model: str
    method: str
    layer: int | None = None
    head: int | None = None
    target: str = ""
    seed: int | None = None

    def told(self) -> str:
        """Say in words which map is meant.

        >>> MapKey("demo/vit", "cls", 3, 0).told()
        'demo/vit · cls · layer 3 · head 0'
        """
        numbers = (("layer", self.layer), ("head", self.head), ("seed", self.seed))
        parts = [self.model, self.method, self.target]
        parts += [f"{name} {number}" for name, number in numbers if number is not None]
        return " · ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Rule:
    """By which rule pixels are selected.

    Attributes
    ----------
    selection
        ``"percentile"``, ``"mass60"``, ``"mean"`` or ``"matched"``.
    percentile
        Any number between 0 and 100, of percentile selection.
    ties
        What equal pixels get.

    Examples
    --------
    >>> str(Rule(percentile=87.5)), str(Rule("mass60"))
    ('87.5', 'mass60')
    """

    selection: str = "percentile"
    percentile: float = 90.0
    ties: Ties = "share"

    def __post_init__(self) -> None:
        if self.selection == "percentile" and not 0 < self.percentile < 100:
            raise InputError(f"percentile must lie between 0 and 100; got {self.percentile:g}")
        _ = self.threshold  # raises where the selection is none

    @property
    def threshold(self) -> Threshold:
        """The threshold of metrics that have one."""
        (found,) = parse_selection(self.selection, (self.percentile,))
        return found

    def __str__(self) -> str:
        return str(self.threshold)

    def named(self, metric: str) -> str:
        """Return the name of a metric by this rule: ``iou@90``, ``coverage``."""
        return f"{metric}@{self}" if METRICS[metric].thresholded else metric

    @property
    def exact(self) -> bool:
        """Whether its name tells all of it: 90.0000001 is called 90, and is not 90."""
        return self.selection != "percentile" or float(str(self)) == self.percentile


@dataclass(frozen=True, eq=False)
class OneMap:
    """A map of an image on the raster on which it was scored.

    Attributes
    ----------
    image : str
        Whose.
    key : MapKey
        Which.
    values : array (rows, columns)
        Raw, with their signs.
    regions : Annotation
        What is annotated, on the raster.
    unseen : array (rows, columns) or None
        Pixels that are not image, or that the model did not see.
    visible : float
        Share of the annotated area that the model could see; NaN where nothing is annotated.
    visible_regions : dict of int to float
        The same of each region, by its index.
    sign : {"positive", "absolute", "signed"}
        How values are read.
    way : Geometry
        From the image to the cells.
    cells : array (rows, columns)
        The map on the model's own grid.
    on_grid : bool
        Whether the raster is that grid; else it lies over the whole image.
    noted : dict
        What was found out about it and depends on no rule.
    """

    image: str
    key: MapKey
    values: NDArray[Any]
    regions: Annotation
    unseen: NDArray[np.bool_] | None
    visible: float
    visible_regions: dict[int, float]
    sign: Sign
    way: Geometry
    cells: NDArray[Any]
    on_grid: bool
    noted: dict[Any, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def ignore(self) -> NDArray[np.bool_] | None:
        """Pixels that count for nothing: unseen, or marked to be ignored; None for none."""
        found = _ignored(self.regions, self.unseen, self.values)
        return found if found is not None and found.any() else None

    @cached_property
    def masks(self) -> dict[int, NDArray[np.bool_]]:
        """The pixels of each region that is scored, by its index."""
        shape = self.values.shape
        return {region.index: region.to_mask(*shape) for region in self.regions.scored}

    @property
    def place(self) -> tuple[float, float, float, float]:
        """Where the raster lies: x0, y0, x1, y1 as shares of the image, which it may leave."""
        return self.grid_place if self.on_grid else (0.0, 0.0, 1.0, 1.0)

    @property
    def grid_place(self) -> tuple[float, float, float, float]:
        """Where the model's own grid lies, in the same shares."""
        (width, height), source = self.way.size, self.way.source
        x, y = self.way.to_source([0, width], [0, height])
        x, y = x / source[0], y / source[1]
        return float(x[0]), float(y[0]), float(x[1]), float(y[1])

    @property
    def kept(self) -> int:
        """How many pixels count."""
        return self.values.size - (0 if self.ignore is None else int(self.ignore.sum()))

    @cached_property
    def span(self) -> tuple[float, float]:
        """The least and the greatest value, as the map is read; 0 where no pixel counts."""
        return _span(self.values if self.ignore is None else self.values[~self.ignore], self.sign)

    def region(self, index: int) -> Region:
        """Return a region that is scored.

        Raises
        ------
        UnknownNameError
            If the image has none of that index.
        """
        for region in self.regions.scored:
            if region.index == index:
                return region
        known = ", ".join(str(region.index) for region in self.regions.scored) or "none"
        raise UnknownNameError(f"image {self.image!r} has no scored region {index}; it has {known}")

    def over_image(
        self, height: int, width: int, how: Literal["nearest", "bilinear"] = "bilinear"
    ) -> NDArray[Any]:
        """Return the map over the whole image; NaN where the model did not look."""
        return self.way.to_image(self.cells, height, width, how=how)

    def single(self) -> tuple[NDArray[np.float32], float]:
        """Return the values in 32 bits, and by what power of 2 they must be multiplied.

        That is 1 unless the numbers are too large or too small for 32 bits, which maps made
        elsewhere may be. No score depends on it.
        """
        far = float(np.abs(self.values).max(initial=0))
        scale = 1.0 if far == 0 or _LEAST <= far <= _MOST else float(2.0 ** np.floor(np.log2(far)))
        return (self.values / scale).astype(np.float32), scale


def _span(values: NDArray[Any], sign: str) -> tuple[float, float]:
    if not values.size:
        return 0.0, 0.0
    as_read = read(values, sign)
    return float(as_read.min()), float(as_read.max())


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


def scores_of(
    one: OneMap,
    rule: Rule,
    metrics: Sequence[str] | None = None,
    percentiles: Sequence[float] | None = None,
) -> Scores:
    """Score one map and each region of its image, with the engine that studies use.

    Parameters
    ----------
    one
        The map.
    rule
        How pixels are selected.
    metrics
        Names; all of one pass unless given.
    percentiles
        Several, of percentile selection, in place of the one of the rule.
    """
    return score_maps(
        one.values[None],
        regions=[one.regions],
        ignore=None if one.unseen is None else one.unseen[None],
        selection=rule.selection,
        percentiles=percentiles or (rule.percentile,),
        sign=one.sign,
        ties=rule.ties,
        metrics=metrics,
        threads=1,
    )


def one_map(
    scoring: Scoring, maps: StoredMaps, annotation: Annotation, key: MapKey, sign: str
) -> OneMap:
    """Return a single map of an image as a study scores it.

    Parameters
    ----------
    scoring
        At which resolution.
    maps
        One map of one image.
    annotation
        Of the image.
    key, sign
        Which map it is, and how values are read.
    """
    (scene,) = scenes_of(scoring, maps, 0, annotation)
    return OneMap(
        maps.images[0],
        key,
        scene.maps[0, 0],
        scene.regions,
        scene.ignore,
        scene.seen,
        _by_index(scene),
        cast("Sign", sign),
        maps.geometries[0][0],
        maps.values[0][0][0],
        scoring.resolution == "grid",
    )


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
                    low, high = _span(maps.values[0][k][h], source.sign)  # type: ignore[union-attr]
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


def _by_index(scene: Scene) -> dict[int, float]:
    pairs = zip(scene.regions.scored, scene.seen_regions, strict=True)
    return {region.index: share for region, share in pairs}


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
