"""The maps of a store once more, exactly as they were scored, with the regions they met."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sightline.core import InputError
from sightline.results._lines import make_lines, units_of
from sightline.results._sums import HALVES
from sightline.store import open_store, task_name
from sightline.study.plan.images import (
    Card,
    Cards,
    annotation_digest,
    study_dataset,
    unlabelled_regions,
)
from sightline.study.plan.plan import Chunk, Plan, Task, chunk_of
from sightline.study.plan.sources import Scoring, Source
from sightline.study.worker.scores import scenes_of, view_of
from sightline.study.worker.worker import Worker

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Hashable,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from sightline.core import Annotation, Region, Sample
    from sightline.data.dataset import Dataset
    from sightline.results import Results
    from sightline.results._lines import Line
    from sightline.results._sums import Candidate
    from sightline.results._tables import Tables
    from sightline.results._views import Name
    from sightline.store.shards import StoredMaps
    from sightline.study import Study

    Progress = Callable[[int, int, str], object]

__all__ = ["LineMaps", "Scenes", "open_scenes"]

# Of the maps that stay at hand: 256 MB of float32.
_MOST_PIXELS = 1 << 26

# Recomputed scores differ from stored ones by rounding alone; more means that maps have changed.
_CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class LineMaps:
    """The maps of one line on all its images, on the rasters on which they were scored.

    Attributes
    ----------
    images : tuple of str
        Their ids.
    maps : tuple of arrays (rows, columns)
        The map of each.
    regions : tuple of Annotation
        What is annotated, on the raster of the map.
    unseen : tuple of arrays (rows, columns) or None
        Pixels that are not image, or that the model did not see; None where there are none.
    views : tuple
        What is the same where images show the same part of the picture on the same raster: the
        map of one can be laid over the other.
    classes : tuple
        The same, apart for the halves of the images where these have different layers.
    sign : str
        How values are read.
    seed : int or None
        That the maps were drawn with.
    """

    images: tuple[str, ...]
    maps: tuple[NDArray[Any], ...]
    regions: tuple[Annotation, ...]
    unseen: tuple[NDArray[np.bool_] | None, ...]
    views: tuple[Hashable, ...]
    classes: tuple[Hashable, ...]
    sign: str = "positive"
    seed: int | None = None

    @cached_property
    def masks(self) -> tuple[NDArray[np.bool_], ...]:
        """The annotated pixels of each image."""
        pairs = zip(self.regions, self.maps, strict=True)
        return tuple(regions.union_mask(*values.shape) for regions, values in pairs)

    @cached_property
    def ignore(self) -> tuple[NDArray[np.bool_] | None, ...]:
        """The pixels of each image that count for nothing: unseen, or marked to be ignored."""
        return tuple(map(_ignored, self.regions, self.unseen, self.maps))


def _ignored(
    regions: Annotation, unseen: NDArray[np.bool_] | None, values: NDArray[Any]
) -> NDArray[np.bool_] | None:
    if not regions.ignored:
        return unseen
    marked = regions.ignore_mask(*values.shape)
    return marked if unseen is None else marked | unseen


class _Part(NamedTuple):
    """The maps of one source on a chunk, and which of its images are wanted."""

    source: Source
    maps: StoredMaps
    annotations: Mapping[str, Annotation]
    wanted: frozenset[str]


def open_scenes(results: Results) -> Scenes:
    """Open the data and the maps of a study that was run.

    Parameters
    ----------
    results : Results
        Of the study.

    Raises
    ------
    InputError
        If maps were not kept, or the data are no longer those that were scored.
    """
    return Scenes(results)


class Scenes:
    """The data and the maps of a study that was run.

    Maps and annotations may be read in several threads: they come one after the other.

    Parameters
    ----------
    results : Results
        Of the study.

    Attributes
    ----------
    results : Results
        Of the study.
    study : Study
        What was asked for.
    scoring : Scoring
        How maps were scored.
    dataset : Dataset
        The images with their annotations.
    images : tuple of str
        Those that were used.
    """

    def __init__(self, results: Results) -> None:
        from sightline.study import Study
        from sightline.study.plan.planner import scoring_of

        self.results = results
        self._tables: Tables = results._tables
        self._store = open_store(results.path)
        self.study: Study = Study.from_dict(self._tables.manifest["study"])
        self.scoring: Scoring = scoring_of(self.study)
        self.dataset: Dataset = study_dataset(self.study.data)
        self._lock = RLock()
        self._sources = _sources(self._tables.manifest)
        self._at_hand: dict[Task, tuple[StoredMaps, list[Sample]]] = {}
        plan = Plan(self.dataset, self.scoring, tuple(self._sources), (), Cards((), ""))
        self._worker = Worker(plan, self._store)
        self._chunks = self._read_chunks()
        self.images: tuple[str, ...] = tuple(i for chunk in self._chunks for i in chunk.images)
        self._chunk_of = {i: n for n, chunk in enumerate(self._chunks) for i in chunk.images}
        cards = Cards(tuple(Card(image, "", "", {}, ()) for image in self.images), "")
        self._worker.plan = replace(plan, chunks=self._chunks, cards=cards)

    def _read_chunks(self) -> tuple[Chunk, ...]:
        """Return the images in their chunks, if their annotations are those that were scored."""
        lines = self._tables.fetch("SELECT chunk, image, digest FROM images")
        known = set(self.dataset.ids)
        gone = [image for _, image, _ in lines if image not in known]
        if gone:
            raise InputError(
                f"{self._store.path}: the data changed since the study was run: image "
                f"{gone[0]!r} is not there ({len(gone)} in all); run it again"
            )
        chunks = []
        for number, stored in enumerate(self._tables.manifest["chunks"]):
            cards = [self._card(image, digest) for n, image, digest in lines if n == number]
            chunk = chunk_of(cards)
            if chunk.digest != stored["digest"]:
                raise InputError(
                    f"{self._store.path}: the annotations changed since the study was run, on one "
                    f"or more of the {len(cards)} images from {chunk.images[0]!r}; run it again"
                )
            chunks.append(chunk)
        return tuple(chunks)

    def _card(self, image: str, digest: str) -> Card:
        return Card(image, digest, annotation_digest(self._worker.sample(image).annotation), {}, ())

    @cached_property
    def halves(self) -> dict[str, int]:
        """The half of the images that each belongs to, where layers are chosen by halves."""
        return {image: half for image, half, *_ in self._tables.fetch(HALVES)}

    @property
    def sources(self) -> tuple[Source, ...]:
        """Each way in which maps were made."""
        return tuple(self._sources)

    def sample(self, image: str) -> Sample:
        """Return an image with its annotation."""
        with self._lock:
            return self._worker.sample(image)

    def maps_of(self, source: Source, image: str) -> StoredMaps | None:
        """Return all maps of a source on one image; None where none is stored yet, or at all.

        Raises
        ------
        InputError
            If maps were not kept.
        """
        number = self._chunk_of[image]
        name = task_name(source.key, number, self._chunks[number].digest)
        if not self._store.score_file(name).is_file():
            return None
        self._check_kept(source)
        with self._lock:
            task = Task(name, self._sources.index(source), number)
            maps, _ = self._worker.again(task, image)
        return maps if maps.images else None

    def unlabelled(self, image: str) -> tuple[Region, ...]:
        """Return the instances that a sparse labelling left out, where that is known."""
        return unlabelled_regions(self.sample(image), self.study.data)

    def units(self, name: Name, line: Line) -> pd.DataFrame:
        """Return the stored scores of a line by image, with chance and selected share."""
        sql = units_of(self._tables, name, line)
        return self._tables.frame(sql, line.values()).set_index("image")

    def check_same(self, name: Name, line: Line, images: Sequence[str], values: Any) -> None:
        """Raise where maps do not give the scores that are stored of them."""
        import numpy as np

        stored = self.units(name, line)["value"].reindex(list(images)).to_numpy(np.float64)
        if not np.allclose(stored, values, rtol=0, atol=_CLOSE, equal_nan=True):
            raise InputError(
                f"{line.told()}: its maps do not give the {name} that is stored: the maps or the "
                "data changed since the study was run; run it again"
            )

    def lines(
        self,
        metric: str | None = None,
        *,
        model: str | None = None,
        method: str | None = None,
        layer: int | Literal["best", "split", "last", "all"] = "best",
        target: str | None = None,
    ) -> list[Line]:
        """Return the lines of the leaderboard, in the order of their names: whose maps to ask for.

        Parameters
        ----------
        metric, model, method, layer, target
            As in `Results.leaderboard`: layers are chosen by the metric. ``"all"`` gives each
            layer a line.
        """
        where = self.results._where(model, method, layer, target)
        return make_lines(self._tables, self._tables.name(metric), where, layer)

    def seeds(self, line: Line) -> tuple[int | None, ...]:
        """Return the seeds of the maps of a line."""
        found = {source.seed: None for source in self._of(line, line.picks[0])}
        return tuple(found)

    def rivals(self, line: Line) -> tuple[Line, ...]:
        """Return the lines of the other layers, where a line's was chosen as the best of them."""
        pick = line.picks[0]
        if not line.chosen.startswith("best"):
            return ()
        layers = [layer for layer in self._of(line, pick)[0].layers if layer != pick.layer]
        others = [pick._replace(layer=layer) for layer in layers]
        return tuple(replace(line, picks=(other, other)) for other in others)

    def maps(
        self,
        line: Line,
        seed: int | None = None,
        *,
        complete: bool = False,
        images: Collection[str] | None = None,
        resolution: int | None = None,
    ) -> LineMaps:
        """Return the maps of a line, drawn with one of its `seeds`.

        Parameters
        ----------
        line : Line
            Which maps.
        seed : int or None
            Which of them, where several were drawn.
        complete : bool
            Whether the regions include `unlabelled` instances.
        images : collection of str, optional
            Of these images alone; the files of others are not read.
        resolution : int, optional
            The longer side of the raster, over the image, on which maps are returned; that on
            which they were scored unless given.

        Raises
        ------
        InputError
            If maps were not kept.
        """
        found: dict[str, tuple[Any, ...]] = {}
        sign, scoring = "positive", self.scoring
        if resolution is not None:
            scoring = replace(scoring, resolution=resolution)
        for part, pick in self._parts(line, seed, images):
            sign = part.source.sign
            for i, image in enumerate(part.maps.images):
                if image in part.wanted:
                    one = _only(part.maps, i, pick.layer, line.head)
                    annotation = part.annotations[image]
                    annotation = self._completed(annotation) if complete else annotation
                    (scene,) = scenes_of(scoring, one, 0, annotation)
                    kind = view_of(scoring, one.geometries[0][0], one.values[0][0].shape[1:])
                    found[image] = scene.maps[0, 0], scene.regions, scene.ignore, kind
        images = tuple(image for image in self.images if image in found)
        if not images:
            raise InputError(f"{self._store.path}: no maps of {line.told()} are stored yet")
        maps, regions, unseen, kinds = zip(*(found[image] for image in images), strict=True)
        classes = self._with_halves(line, images, kinds)
        return LineMaps(images, maps, regions, unseen, kinds, classes, sign, seed)

    def first_maps(
        self, line: Line, *, images: Collection[str] | None = None, resolution: int | None = None
    ) -> LineMaps:
        """Return the maps of a line, drawn with the first of its seeds of which any are stored.

        Parameters
        ----------
        line, images, resolution
            See `maps`.
        """
        seeds = self.seeds(line)
        stored = (seed for seed in seeds if any(self._tasks(line, seed, images)))
        return self.maps(line, next(stored, seeds[0]), images=images, resolution=resolution)

    def _completed(self, annotation: Annotation) -> Annotation:
        """Return an annotation with the instances that were left out."""
        every = (*annotation.regions, *self.unlabelled(annotation.image_id))
        ordered = tuple(sorted(every, key=lambda region: region.index))
        return replace(annotation, regions=ordered)

    def views(self, line: Line, seed: int | None = None) -> dict[str, Hashable]:
        """Return the class of each image that a line has a map of; see `LineMaps`."""
        found: dict[str, Hashable] = {}
        for part, pick in self._parts(line, seed):
            for i, image in enumerate(part.maps.images):
                if image in part.wanted:
                    k = part.maps.layers.index(pick.layer)
                    way, value = part.maps.geometries[i][k], part.maps.values[i][k]
                    found[image] = view_of(self.scoring, way, value.shape[1:])
        images = tuple(found)
        classes = self._with_halves(line, images, [found[image] for image in images])
        return dict(zip(images, classes, strict=True))

    def _with_halves(
        self, line: Line, images: Iterable[str], kinds: Sequence[Hashable]
    ) -> tuple[Hashable, ...]:
        """Return classes; where halves have different layers, they do not mix."""
        if line.picks[0] == line.picks[1]:
            return tuple(kinds)
        pairs = zip(images, kinds, strict=True)
        return tuple((kind, self.halves[image]) for image, kind in pairs)

    def _of(self, line: Line, pick: Candidate) -> list[Source]:
        """Return the sources of a line's maps, one for each seed."""
        named = (line.model, pick.method, pick.target, "")
        return [
            source
            for source in self._sources
            if (source.name, source.method, source.target, source.check) == named
            and (line.seed is None or source.seed in (None, line.seed))
        ]

    def _parts(
        self, line: Line, seed: int | None, images: Collection[str] | None = None
    ) -> Iterator[tuple[_Part, Candidate]]:
        """Yield the maps of a line chunk by chunk, those of each half of the images."""
        for task, wanted, pick in self._tasks(line, seed, images):
            yield self._part(task, wanted), pick

    def _tasks(
        self, line: Line, seed: int | None, images: Collection[str] | None
    ) -> Iterator[tuple[Task, frozenset[str], Candidate]]:
        """Yield the tasks that are done, with the images that are wanted of them."""
        for pick in dict.fromkeys(line.picks):
            wanted = self._wanted(line, pick)
            wanted = wanted if images is None else wanted & frozenset(images)
            (source,) = (one for one in self._of(line, pick) if one.seed == seed)
            place = self._sources.index(source)
            for number, chunk in enumerate(self._chunks):
                if wanted & set(chunk.images):
                    name = task_name(source.key, number, chunk.digest)
                    if self._store.score_file(name).is_file():
                        yield Task(name, place, number), wanted, pick

    def _wanted(self, line: Line, pick: Candidate) -> frozenset[str]:
        """Return the images that a line shows by one of its picks."""
        halves = {half for half in (0, 1) if line.picks[half] == pick and half not in line.blind}
        if len(halves) == 2:
            return frozenset(self.images)
        return frozenset(image for image in self.images if self.halves[image] in halves)

    def _part(self, task: Task, wanted: frozenset[str]) -> _Part:
        source = self._sources[task.source]
        self._check_kept(source)
        with self._lock:
            maps, samples = self._again(task)
        return _Part(source, maps, {one.image_id: one.annotation for one in samples}, wanted)

    def _check_kept(self, source: Source) -> None:
        """Raise where the maps of a source were not kept."""
        if source.kind != "given" and self.study.keep_maps == "none":
            raise InputError(
                f"{self._store.path}: this needs the maps of the study, which were not kept "
                "(keep_maps: none); set keep_maps: grid in its file and run it again"
            )

    def _again(self, task: Task) -> tuple[StoredMaps, list[Sample]]:
        """Return the maps of a task; those of one source stay at hand, as layer follows layer."""
        if self._at_hand and next(iter(self._at_hand)).source != task.source:
            self._at_hand.clear()
        if task not in self._at_hand:
            found = self._worker.again(task)
            held = [maps for maps, _ in self._at_hand.values()]
            if sum(map(_pixels, [*held, found[0]])) > _MOST_PIXELS:
                return found
            self._at_hand[task] = found
        return self._at_hand[task]

    def close(self) -> None:
        """Close the files of maps made elsewhere."""
        self._worker.close()


def _pixels(maps: StoredMaps) -> int:
    return sum(layer.size for image in maps.values for layer in image)


def _only(maps: StoredMaps, i: int, layer: int | None, head: int | None) -> StoredMaps:
    """Return one map of one image."""
    k, h = maps.layers.index(layer), maps.heads.index(head)
    value = maps.values[i][k][h : h + 1]
    return replace(
        maps,
        images=(maps.images[i],),
        values=((value,),),
        geometries=((maps.geometries[i][k],),),
        layers=(layer,),
        heads=(head,),
        targets=(),
    )


def _sources(manifest: Mapping[str, Any]) -> list[Source]:
    """Return the sources that a manifest tells of; keys of means follow those they are made of."""
    try:
        sources = [_source(one) for one in manifest["sources"]]
    except (KeyError, TypeError) as error:
        raise InputError(f"manifest.json: sources must each have {error}") from error
    return [_with_of(source, sources) for source in sources]


def _source(one: Mapping[str, Any]) -> Source:
    params = one["params"]
    mean = set(params) == {"of"} and one["group"] == "baseline"
    return Source(
        "given" if one["maps"] else "mean" if mean else "model",
        one["model"],
        one["method"],
        variant=one["variant"],
        fit=one["fit"],
        group=one["group"],
        params=params,
        layers=tuple(one["layers"]),
        heads=tuple(one["heads"]),
        target=one["target"],
        seed=one["seed"],
        sign=one["sign"],
        maps=one["maps"],
        check=one["check"],
        rules=one["rules"],
        key=one["key"],
    )


def _with_of(source: Source, sources: Iterable[Source]) -> Source:
    """Return a mean with the key of the source whose maps it is the mean of."""
    if source.kind != "mean":
        return source
    same = ("model", "variant", "target", "seed", "check", "layers", "heads")
    (of,) = (
        other
        for other in sources
        if other.method == source.params["of"]
        and all(getattr(other, name) == getattr(source, name) for name in same)
    )
    return replace(source, of=of.key)
