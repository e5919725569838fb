"""Maps of a chunk scored at once: regions carried to the maps, or maps brought to the image."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError, MapError, Region
from sightline.metrics import score_maps
from sightline.metrics._columns import list_stored_columns
from sightline.metrics.engine import list_columns
from sightline.store.schema import build_region_scores_schema, build_scores_schema, conform

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from sightline.core import Annotation
    from sightline.core.geometry import Geometry
    from sightline.metrics import Scores
    from sightline.store.shards import StoredMaps
    from sightline.study.plan.sources import Scoring, Source

__all__ = [
    "BadMapError",
    "Line",
    "Scene",
    "Scored",
    "call",
    "carried",
    "joined",
    "raster_of",
    "rows_per_map",
    "scenes_of",
    "score_chunk",
    "score_schemas",
    "seen_of",
    "tables",
    "summarise_views",
    "unseen",
    "view_of",
]

# Maps are scored together up to this many pixels: 32 MB of float32.
MOST_PIXELS = 1 << 23
# Images whose annotations are kept as a model sees them: those of a wave.
_KEPT = 160


class BadMapError(InputError):
    """A map that cannot be scored; `image` says whose."""

    def __init__(self, image: str, message: str) -> None:
        super().__init__(f"image {image!r}: {message}")
        self.image = image


class Scored(NamedTuple):
    """The results tables of a task: one row per map, and one per map and region."""

    scores: pa.Table
    region_scores: pa.Table


@dataclass(frozen=True, eq=False)
class Line:
    """What rows say of an image of which some layers were scored.

    Attributes
    ----------
    image : str
        Its id.
    layers : tuple of int or None
    seen : float
        Share of the annotated area that the model could see.
    seen_regions : tuple of floats
        The same of each region.
    """

    image: str
    layers: tuple[int | None, ...]
    seen: float
    seen_regions: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Scene(Line):
    """An image as its maps of some layers are scored.

    Attributes
    ----------
    maps : array (layers, heads, rows, columns)
    regions : Annotation
        On the raster of the maps.
    ignore : array (rows, columns) or None
        Pixels of the raster that are not image, or that the model did not see.
    """

    maps: NDArray[Any]
    regions: Annotation
    ignore: NDArray[np.bool_] | None


def score_chunk(
    source: Source, scoring: Scoring, maps: StoredMaps, annotations: Sequence[Annotation]
) -> Scored:
    """Score the maps of a source on some images.

    Parameters
    ----------
    source : Source
        Says how values are read, and what its rows are called.
    scoring : Scoring
        What is computed, and at which resolution.
    maps : StoredMaps
        The maps.
    annotations : sequence of Annotation
        Of the images, in the order of the maps.

    Raises
    ------
    BadMapError
        If a map is not finite; it names the image.
    """
    scenes = (
        scene
        for i, annotation in enumerate(annotations)
        for scene in scenes_of(scoring, maps, i, annotation)
    )
    parts = [_score(source, scoring, maps.heads, group) for group in _groups(scenes)]
    return joined(scoring, parts)


def joined(scoring: Scoring, parts: Sequence[Scored]) -> Scored:
    """Return the tables of several parts as one; of none, tables without a row."""
    import pyarrow as pa

    if not parts:
        return Scored(*(schema.empty_table() for schema in score_schemas(scoring)))
    if len(parts) == 1:
        return parts[0]
    columns = zip(*parts, strict=True)
    return Scored(*(pa.concat_tables(tables).unify_dictionaries() for tables in columns))


def rows_per_map(scoring: Scoring, sign: str = "positive") -> tuple[int, int]:
    """Return how many scores a map has for its union, and how many for each region.

    Raises
    ------
    InputError
        If a metric is not defined for maps that are read with that sign.
    """
    scores = call(scoring, sign, np.ones((1, 8, 8), np.float32), [[(0.0, 0.0, 0.5, 0.5)]])
    tables = scores, scores.regions or scores
    whole, regions = (len(list_stored_columns(table, scoring.ties)) for table in tables)
    return whole, regions if scoring.regions else 0


@lru_cache
def score_schemas(scoring: Scoring) -> tuple[pa.Schema, pa.Schema]:
    """Return the schemas of `scores` and `region_scores`, the same for maps of every sign.

    Tables of one study then have the same columns, null where signed maps have no such score.
    """
    whole, regions = list_columns(
        selection=scoring.selection,
        percentiles=scoring.percentiles,
        ties=scoring.ties,
        metrics=scoring.metrics,
    )
    return build_scores_schema(whole), build_region_scores_schema(regions)


def call(
    scoring: Scoring,
    sign: str,
    values: Any,
    regions: Any,
    ignore: Any = None,
    *,
    masks: Any = None,
) -> Scores:
    """Score maps as a study says; those on a device that are not finite get NaN."""
    return score_maps(
        values,
        masks=masks,
        regions=regions,
        ignore=ignore,
        nonfinite="raise" if isinstance(values, np.ndarray) else "drop",
        selection=scoring.selection,
        percentiles=scoring.percentiles,
        sign=sign,  # type: ignore[arg-type]
        ties=scoring.ties,
        metrics=scoring.metrics,
        threads=1,
        curves=True,
    )


def scenes_of(
    scoring: Scoring, maps: StoredMaps, i: int, annotation: Annotation
) -> Iterator[Scene]:
    """Yield an image's maps, those of equal size together, never too many pixels at once.

    Parameters
    ----------
    scoring : Scoring
        At which resolution they are scored.
    maps : StoredMaps
        Of several images.
    i : int
        Which of them.
    annotation : Annotation
        Its regions.
    """
    on_grid = scoring.resolution == "grid"
    ways, values = maps.geometries[i], maps.values[i]
    shapes = [
        raster_of(scoring, way, value.shape[1:]) for way, value in zip(ways, values, strict=True)
    ]
    for shape in dict.fromkeys(shapes):
        some = [k for k, other in enumerate(shapes) if other == shape]
        step = max(1, MOST_PIXELS // (len(maps.heads) * shape[0] * shape[1]))
        for part in (some[start : start + step] for start in range(0, len(some), step)):
            chosen = [values[k] for k in part]
            yield Scene(
                maps.images[i],
                tuple(maps.layers[k] for k in part),
                *seen_of(ways[part[0]], annotation),
                np.stack(chosen if on_grid else _on_image([ways[k] for k in part], chosen, shape)),
                carried(ways[part[0]], annotation) if on_grid else annotation,
                unseen(ways[part[0]], None if on_grid else shape),
            )


def view_of(scoring: Scoring, way: Geometry, cells: tuple[int, ...]) -> tuple[Any, ...]:
    """Return what two images must have in common for the map of one to be laid over the other.

    The size of the raster, which of its pixels count, and what part of the image is seen.

    Parameters
    ----------
    scoring : Scoring
        At which resolution maps are scored.
    way : Geometry
        How the image reached the map.
    cells : tuple of 2 ints
        Rows and columns of the map.
    """
    on_grid = scoring.resolution == "grid"
    shape = raster_of(scoring, way, cells)
    hidden = unseen(way, None if on_grid else shape)
    left_out = b"" if hidden is None else np.packbits(hidden).tobytes()
    return shape, left_out, tuple(round(edge, 6) for edge in way.visible_box)


def summarise_views(scoring: Scoring, maps: StoredMaps) -> dict[str, Any] | None:
    """Return the distinct views of each layer of maps, for JSON; see `view_of`.

    None where maps are scored on a raster over the image, which all maps of an image share.
    """
    if scoring.resolution != "grid":
        return None
    views: list[list[tuple[Any, ...]]] = []
    for ways in zip(*maps.geometries, strict=True):
        found = {view_of(scoring, way, way.grid[::-1]) for way in dict.fromkeys(ways)}
        views.append(sorted((*shape, gone.hex(), *box) for shape, gone, box in found))
    layers = maps.layers if views else ()
    return {"images": len(maps.geometries), "layers": layers, "views": views}


def raster_of(scoring: Scoring, way: Geometry, cells: tuple[int, ...]) -> tuple[int, int]:
    """Return rows and columns on which a map is scored."""
    on_grid = scoring.resolution == "grid"
    return (cells[0], cells[1]) if on_grid else _raster(way.source, scoring.resolution)


@lru_cache(1024)
def _bare(way: Geometry) -> Geometry:
    """Return the way to the input of a model, whatever the cells of the grid on it."""
    return replace(way, patch=(1, 1))


def seen_of(way: Geometry, annotation: Annotation) -> tuple[float, tuple[float, ...]]:
    """Return the share that the model could see of the union and of each region."""
    return _seen(_bare(way), annotation)


# Every source of a model shows the images of a wave in the same way.
@lru_cache(_KEPT)
def _seen(way: Geometry, annotation: Annotation) -> tuple[float, tuple[float, ...]]:
    if way.visible_box == (0.0, 0.0, 1.0, 1.0):
        return (1.0 if annotation.scored else nan), (1.0,) * len(annotation.scored)
    regions = tuple(way.visible(region) for region in annotation.scored)
    return way.visible_share(annotation), regions


@lru_cache(32)  # few: they are as large as images
def unseen(way: Geometry, size: tuple[int, int] | None) -> NDArray[np.bool_] | None:
    """Return what is not image on the grid, or not seen on a raster over it; None for nothing."""
    seen = way.content_mask() if size is None else way.seen_mask(*size)
    return None if seen.all() else ~seen


def _on_image(
    ways: Sequence[Geometry], values: Sequence[NDArray[Any]], size: tuple[int, int]
) -> tuple[NDArray[Any], ...]:
    """Return the maps of an image on a raster over it; those that came one way go back at once."""
    found: dict[int, NDArray[Any]] = {}
    for way in dict.fromkeys(ways):
        same = [k for k, other in enumerate(ways) if other == way]
        with np.errstate(invalid="ignore"):  # maps that are not finite are named when scored
            back = way.to_image(np.stack([values[k] for k in same]), *size, fill=0, how="bilinear")
        found.update(zip(same, back, strict=True))
    return tuple(found[k] for k in range(len(ways)))


def _raster(source: tuple[int, int], resolution: str | int) -> tuple[int, int]:
    """Return rows and columns of the raster over an image."""
    if isinstance(resolution, str):
        return source[1], source[0]
    scale = resolution / max(source)
    return max(1, round(source[1] * scale)), max(1, round(source[0] * scale))


def carried(way: Geometry, annotation: Annotation) -> Annotation:
    """Return the annotation on the model's input; what is out of sight stays, without a pixel."""
    return _carried(_bare(way), annotation)


@lru_cache(_KEPT)
def _carried(way: Geometry, annotation: Annotation) -> Annotation:
    there = way.carry(annotation)
    seen = {region.index: region for region in there.regions}
    regions = tuple(
        seen.get(region.index) or _emptied(region)
        for region in annotation.regions
        if region.index in seen or not region.ignore
    )
    return replace(there, regions=regions)


def _emptied(region: Region) -> Region:
    nothing = np.zeros((1, 1), np.bool_)
    return Region(region.label, "mask", mask=nothing, flags=region.flags, index=region.index)


def _groups(scenes: Iterable[Scene]) -> Iterator[list[Scene]]:
    """Yield scenes that can be scored at once, of one size with the same layers, as they come."""
    waiting: dict[tuple[Any, ...], list[Scene]] = {}
    pixels = 0
    for scene in scenes:
        if pixels + scene.maps.size > MOST_PIXELS:
            yield from waiting.values()
            waiting, pixels = {}, 0
        kind = (scene.maps.shape, scene.maps.dtype, scene.layers)
        waiting.setdefault(kind, []).append(scene)
        pixels += scene.maps.size
    yield from waiting.values()


def _score(
    source: Source, scoring: Scoring, heads: Sequence[int | None], group: list[Scene]
) -> Scored:
    values = np.stack([scene.maps for scene in group])
    ignore = None
    if any(scene.ignore is not None for scene in group):
        nothing = np.zeros(values.shape[-2:], np.bool_)
        ignore = np.stack([nothing if s.ignore is None else s.ignore for s in group])[:, None, None]
    try:
        scores = call(scoring, source.sign, values, [scene.regions for scene in group], ignore)
    except MapError as error:
        each = values.shape[1] * values.shape[2]
        image = group[error.index // each].image
        raise BadMapError(image, f"{error.image_message} ({source.method})") from error
    return tables(source, scoring, heads, group, scores)


def tables(
    source: Source,
    scoring: Scoring,
    heads: Sequence[int | None],
    group: Sequence[Line],
    scores: Scores,
) -> Scored:
    """Return the results tables of maps that were scored together."""
    import pyarrow as pa

    whole, regions = score_schemas(scoring)
    keys = _build_keys(source, heads, group)
    count = len(group[0].layers) * len(heads)
    visible = np.repeat([line.seen for line in group], count).astype(np.float32)
    maps = conform(scores.to_table({**keys, "visible_fraction": visible}), whole)
    if scores.regions is None or not scoring.regions:
        return Scored(maps, regions.empty_table())
    owners = pa.array(scores.regions.map)
    own = {name: values.take(owners) for name, values in keys.items()}
    own["visible_fraction"] = _visible_regions(group, count)
    own["level"] = "region"
    return Scored(maps, conform(scores.regions.to_table(own), regions))


def _build_keys(
    source: Source, heads: Sequence[int | None], group: Sequence[Line]
) -> dict[str, pa.Array]:
    """Return the keys of every map of a group, image after image, layer after layer."""
    import pyarrow as pa

    layers = group[0].layers
    count = len(layers) * len(heads)
    images = pa.array([line.image for line in group])
    places = np.repeat(np.arange(len(group), dtype=np.int32), count)
    none = np.zeros(len(places), np.int32)
    keys = {"image": pa.DictionaryArray.from_arrays(places, images)}
    for name, value in source.row_keys().items():
        kind = pa.int32() if name == "seed" else pa.string()
        values = pa.array([value], kind)
        text = pa.types.is_string(kind)
        keys[name] = (
            pa.DictionaryArray.from_arrays(none, values) if text else values.take(pa.array(none))
        )
    of_image = np.tile(np.arange(count, dtype=np.int32), len(group))
    layer, head = pa.array(layers, pa.int16()), pa.array(heads, pa.int16())
    keys["layer"] = layer.take(pa.array(of_image // len(heads)))
    keys["head"] = head.take(pa.array(of_image % len(heads)))
    return keys


def _visible_regions(group: Sequence[Line], count: int) -> NDArray[np.float32]:
    """Return how much of each region was visible, for each of an image's maps in turn."""
    sizes = [len(line.seen_regions) for line in group]
    if len(set(sizes)) == 1:
        each = np.array([line.seen_regions for line in group], np.float32)
        return np.repeat(each[:, None], count, axis=1).reshape(-1)
    return np.concatenate([np.tile(line.seen_regions, count) for line in group]).astype(np.float32)
