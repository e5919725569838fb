"""The work of one task: read images, make maps, score them, write the files."""

from __future__ import annotations

import json
from collections import OrderedDict
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from os import cpu_count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError, Sample
from sightline.core.errors import OutOfMemoryError
from sightline.core.geometry import Geometry
from sightline.core.memory import describe_error, is_out_of_memory
from sightline.data.mapfiles import match_images, open_maps
from sightline.store.shards import STUDY, VIEWS, StoredMaps, read_maps, write_maps, write_table
from sightline.study.plan.checks import build_checks_table, checked_rows, partners_of
from sightline.study.worker.inputs import Shown, on_device
from sightline.study.worker.model_cache import Shelf
from sightline.study.worker.scores import Scored, score_chunk, summarise_views
from sightline.study.worker.streams import aside, stays_on
from sightline.study.worker.tensors import TensorMaps, tensor_maps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from sightline.attribution.methods.make import Made
    from sightline.attribution.sanity.table import Row
    from sightline.core import Annotation
    from sightline.data.mapfiles import MapFiles
    from sightline.store import Store
    from sightline.study.plan.plan import Plan, Task
    from sightline.study.plan.sources import Source
    from sightline.study.worker.scoring_tensors import Figures

__all__ = ["BadImageError", "Checked", "Done", "Worker"]

# Of images that were read, to be used again by the next source.
CACHE_BYTES = 256 << 20
# Threads that make rows of figures and write them, where a device gives more than one can take.
_WRITERS = 12
# Sums over all images that are kept, for the means of so many sources.
_TOTALS = 8


class BadImageError(InputError):
    """Images, or maps of them, that cannot be used; `images` says which and why.

    Examples
    --------
    >>> bad = BadImageError({"a.jpg": "a.jpg: no such image"})
    >>> list(bad.images), str(bad)
    (['a.jpg'], 'a.jpg: no such image')
    """

    def __init__(self, images: dict[str, str]) -> None:
        super().__init__("; ".join(images.values()))
        self.images = images


@dataclass(frozen=True, eq=False)
class Checked(StoredMaps):
    """What a check found, in place of maps: it keeps none.

    Attributes
    ----------
    rows : sequence of Row
    """

    rows: Sequence[Row] = ()


class Done(NamedTuple):
    """What a task has written.

    Attributes
    ----------
    rows, maps : int
        How many.

    Examples
    --------
    >>> Done(rows=140, maps=4).maps
    4
    """

    rows: int
    maps: int


class Worker:
    """Does the tasks of a plan, step by step: `read`, `make`, `score`, `write`.

    The steps of one task follow each other; those of different tasks may run in different threads,
    each step in one.

    Parameters
    ----------
    plan : Plan
        What is to be done.
    store : Store
        Where it goes.
    shelf : Shelf, optional
        Where models are kept.
    """

    def __init__(self, plan: Plan, store: Store, shelf: Shelf | None = None) -> None:
        self.plan, self.store, self.shelf = plan, store, shelf or Shelf()
        self._images = _Images(CACHE_BYTES)
        self._shown = Shown()
        self._last: tuple[Any, list[Sample]] = None, []
        self._given: dict[str, tuple[MapFiles, dict[str, str]]] = {}
        self._totals: dict[str, list[NDArray[np.float64]]] = {}

    def source(self, task: Task) -> Source:
        """Return the source of a task."""
        return self.plan.sources[task.source]

    def read(self, task: Task) -> list[Sample]:
        """Return the images of a task: with their pixels, where a model sees them.

        A device gets them, too, while the model has others.

        Raises
        ------
        BadImageError
            If one cannot be read.
        """
        source = self.source(task)
        # The parts of a facade are known by how it is drawn: it is not to be a mere picture.
        pixels = source.kind in ("model", "check") and source.part != "parts"
        images = self.plan.chunk_of(task).images
        if source.kind != "model" or not stays_on(source.device):
            return self._read(images, pixels)
        if self._last[0] != images:
            self._last = images, self._read(images, pixels, self._shown.each)
        samples = self._last[1]
        with _told_of_memory(source):
            model = self.shelf.at_hand(source.load or source.name, source.fit)
            if model is not None and samples:
                self._shown.ahead(model, source, samples, self.plan.sharing(source))
        return samples

    def _read(
        self, images: Sequence[str], pixels: bool, each: Callable[..., Any] = map
    ) -> list[Sample]:
        """Return images, read one after the other, or by what `each` does in several threads."""
        bad: dict[str, str] = {}

        def tried(step: Callable[[Any], Sample], image: str, given: Any) -> Sample | None:
            try:
                return step(given)
            except (InputError, OSError) as error:
                if is_out_of_memory(error):
                    raise
                bad[image] = str(error)
                return None

        def drawn(image: str, sample: Sample | None) -> Sample | None:
            return None if sample is None else tried(_drawn, image, sample)

        if each is map or not pixels:
            read = [tried(partial(self._sample, pixels=pixels), image, image) for image in images]
        else:  # annotations are read here, since not all readers stand several threads
            read = [tried(self.plan.dataset.by_id, image, image) for image in images]
            read = list(each(drawn, images, read))
        if bad:
            raise BadImageError({image: bad[image] for image in images if image in bad})
        return [sample for sample in read if sample is not None]

    def sample(self, image: str) -> Sample:
        """Return an image with its annotation; those that were asked for last are kept."""
        return self._sample(image, False)

    def _sample(self, image: str, pixels: bool) -> Sample:
        """Return an image with its annotation, and its pixels if they are asked for."""
        key = image, pixels
        sample = self._images.get(key)
        if sample is None:
            sample = self.plan.dataset.by_id(image)
            if pixels:
                sample = _drawn(sample)
            self._images.put(key, sample)
        return sample

    def make(self, task: Task, samples: Sequence[Sample]) -> tuple[StoredMaps, list[Sample]]:
        """Return the maps of a task, or the rows of a check, and the images that have some.

        Raises
        ------
        OutOfMemoryError
            If the model takes more than there is.
        BadImageError
            If maps are not finite, or cannot be read.
        """
        source = self.source(task)
        with _told_of_memory(source):
            if source.kind == "check":
                rows = self._checked(source, samples)
                return Checked((), (), (), source.layers, source.heads, rows=rows), list(samples)
            maps, kept = self._maps(task, source, samples)
        if not isinstance(maps, TensorMaps):  # of which one would have to wait: see `score`
            _check_finite(maps, source)
        return maps, kept

    def _checked(self, source: Source, samples: Sequence[Sample]) -> list[Row]:
        """Return the rows of a check, which may need other images of it beside its own."""
        if not samples:
            return []
        partners: dict[int, list[Sample]] = {}
        if source.check == "reference":
            images = [image for chunk in self.plan.chunks_of(source) for image in chunk.images]
            labels = {image: self.sample(image).labels for image in images}
            for seed in range(source.options["seeds"]):
                other = dict(zip(images, partners_of(images, labels, seed), strict=True))
                partners[seed] = self._read([other[one.image_id] for one in samples], True)
        return checked_rows(source, samples, partners, self.shelf)

    def again(self, task: Task, image: str | None = None) -> tuple[StoredMaps, list[Sample]]:
        """Return the maps of a task that is done, as they were scored, and the images they are of.

        Maps of a model are read from the store; others are cheap, and made once more.

        Parameters
        ----------
        task : Task
            That is done.
        image : str, optional
            Of this image of the task alone, which takes less reading.

        Raises
        ------
        InputError
            If they were not kept, or are there no longer.
        """
        images = self.plan.chunk_of(task).images if image is None else (image,)
        samples = [self.sample(name) for name in images]
        if self.source(task).kind != "model" or not samples:
            return self.make(task, samples)
        path = self.store.map_file(task.name)
        if not path.is_file():
            raise InputError(f"{path}: the maps of a task that is done are not there")
        return read_maps(path, image), samples

    def _maps(
        self, task: Task, source: Source, samples: Sequence[Sample]
    ) -> tuple[StoredMaps, list[Sample]]:
        if not samples:
            return StoredMaps((), (), (), source.layers, source.heads), []
        if source.kind == "given":
            return self._given_maps(source, samples)
        if source.kind == "mean":
            return self._mean_maps(task, source, samples), list(samples)
        # What is scored needs no pixels, and may wait for long.
        return self._model_maps(source, samples), [_without_pixels(one) for one in samples]

    def _model_maps(self, source: Source, samples: Sequence[Sample]) -> StoredMaps:
        from sightline.attribution.methods.make import Wanted, make_maps

        heads = tuple(head for head in source.heads if head is not None)
        layers: Any = [layer for layer in source.layers if layer is not None] or "all"
        wanted = Wanted(
            source.method,
            layers,
            "all" if heads else None,
            source.target or "predicted",
            source.params,
            source.batch,
        )
        model = self.shelf.model(source.load or source.name, source.fit)
        batches = self._shown.batches(model, source, samples, self.plan.sharing(source))
        ids = tuple(sample.image_id for sample in samples)
        maps = StoredMaps(ids, (), (), source.layers, source.heads, about=self._about(source))
        with closing(make_maps(model, samples, batches, wanted)) as made:
            found = (tensor_maps if on_device(model) else _host_maps)(maps, made, heads)
        self._shown.done(source, samples, self.plan.sharing(source))
        return found

    def _about(self, source: Source) -> dict[str, Any]:
        names = ("model", "variant", "fit", "method", "target", "seed", "sign", "weights")
        return {name: getattr(source, name) for name in names} | {"params": dict(source.params)}

    def _given_maps(
        self, source: Source, samples: Sequence[Sample]
    ) -> tuple[StoredMaps, list[Sample]]:
        maps, names = self._open(source)
        kept = [sample for sample in samples if sample.image_id in names]
        values, bad = [], {}
        for sample in kept:
            try:
                values.append(maps[names[sample.image_id]])
            except InputError as error:
                if is_out_of_memory(error):
                    raise
                bad[sample.image_id] = str(error)
        if bad:
            raise BadImageError(bad)
        ways = [
            _whole(sample, value.shape[1], value.shape[0])
            for sample, value in zip(kept, values, strict=True)
        ]
        return (
            StoredMaps(
                tuple(sample.image_id for sample in kept),
                tuple((value[None],) for value in values),
                tuple((way,) for way in ways),
                (None,),
                (None,),
            ),
            kept,
        )

    def _open(self, source: Source) -> tuple[MapFiles, dict[str, str]]:
        if source.key not in self._given:
            maps = open_maps(source.maps, source.params.get("channels"))
            images = [card.image for card in self.plan.cards.cards]
            self._given[source.key] = maps, dict(match_images(maps, images).pairs)
        return self._given[source.key]

    def _mean_maps(self, task: Task, source: Source, samples: Sequence[Sample]) -> StoredMaps:
        """Return for each image the mean of the maps of all others."""
        totals = self._total(source)
        whole = len(samples) != 1
        own = self._stored(source, task.chunk, None if whole else samples[0].image_id)
        count = self.plan.images - 1
        if count < 1:
            raise InputError(f"{source.method}: is the mean over other images, and there is one")
        values = tuple(
            tuple(
                ((total - layer) / count).astype(np.float32)
                for total, layer in zip(totals, image, strict=True)
            )
            for image in own.values
        )
        return replace(own, values=values, targets=(), about=self._about(source))

    def _total(self, source: Source) -> list[NDArray[np.float64]]:
        """Return the sum over all images of each layer's maps, read from the store."""
        if source.of not in self._totals:
            total: list[NDArray[np.float64]] = []
            for number, chunk in enumerate(self.plan.chunks):
                for image in self._stored(source, number).values if chunk.images else ():
                    if total and any(a.shape != b.shape for a, b in zip(total, image, strict=True)):
                        raise InputError(
                            f"{source.method} of {source.name}: needs maps of one grid, which fit "
                            f"{source.fit!r} does not give: use another fit"
                        )
                    wide = [layer.astype(np.float64) for layer in image]
                    total = [a + b for a, b in zip(total, wide, strict=True)] if total else wide
            self._totals[source.of] = total
            while len(self._totals) > _TOTALS:
                self._totals.pop(next(iter(self._totals)))
        return self._totals[source.of]

    def _stored(self, source: Source, chunk: int, image: str | None = None) -> StoredMaps:
        from sightline.store import task_name

        name = task_name(source.of, chunk, self.plan.chunks[chunk].digest)
        return read_maps(self.store.map_file(name), image)

    def score(
        self, task: Task, maps: StoredMaps, samples: Sequence[Sample]
    ) -> Scored | Figures | pa.Table:
        """Return the tables of a task, or the figures that `write` makes them of."""
        from sightline.study.worker.scores import BadMapError

        if isinstance(maps, Checked):
            return build_checks_table(self.source(task), maps.rows)
        annotations = [sample.annotation for sample in samples]
        source = self.source(task)
        if isinstance(maps, TensorMaps):
            return self._figures(source, maps, annotations)
        try:
            return score_chunk(source, self.plan.scoring, maps, annotations)
        except BadMapError as error:
            raise BadImageError({error.image: str(error)}) from error

    def _figures(
        self, source: Source, maps: TensorMaps, annotations: Sequence[Annotation]
    ) -> Figures:
        """Return the figures of maps on a device, in main memory."""
        from sightline.study.worker.scoring_tensors import score_tensors

        tensors = [block.values for block in maps.blocks]
        with ExitStack() as held:
            held.enter_context(_told_of_memory(source))
            if tensors:
                held.enter_context(aside(tensors[0].device, maps.made, tensors))
            odd = _some_odd(tensors)
            figures = score_tensors(source, self.plan.scoring, maps, annotations)
            odd = bool(odd)
        if figures.odd or odd:
            _check_finite(maps.on_host(), source)
        return figures

    def kept(self, task: Task, maps: StoredMaps) -> StoredMaps:
        """Return what `write` needs of maps that are scored: a device need not hold them on."""
        if not isinstance(maps, TensorMaps):
            return maps
        wanted = self.plan.keep_maps and self.source(task).kind == "model"
        return maps.on_host() if wanted else maps.let_go()

    def write(self, task: Task, maps: StoredMaps, scored: Scored | Figures | pa.Table) -> Done:
        """Write the files of a task; the scores last, since they mark it as done."""
        study = {STUDY: self.plan.scoring.study}
        if isinstance(maps, Checked):
            path = self.store.check_file(task.name)
            return Done(write_table(path, scored, kind="checks", about=study), 0)
        if not isinstance(scored, Scored):
            scored = scored.scored()
        kept = self.plan.keep_maps and self.source(task).kind == "model"
        count = sum(layer.shape[0] for image in maps.values for layer in image)
        if isinstance(maps, TensorMaps):
            count = maps.count
            maps = maps.on_host() if kept else maps
        if kept and maps.images:
            write_maps(self.store.map_file(task.name), maps)
        rows = write_table(
            self.store.region_file(task.name),
            scored.region_scores,
            kind="region_scores",
            about=study,
        )
        views = summarise_views(self.plan.scoring, maps)
        rows += write_table(
            self.store.score_file(task.name),
            scored.scores,
            kind="scores",
            about={**study, VIEWS: json.dumps(views)} if views is not None else study,
        )
        return Done(rows, count)

    @property
    def writers(self) -> int:
        """How many threads write, beside the one that scores; 0 where that one writes itself."""
        away = any(stays_on(source.device) for source in self.plan.sources)
        return 0 if not away else max(1, min(_WRITERS, cpu_count() or 1))

    def close(self) -> None:
        """Let the inputs of models go, and close the files of maps made elsewhere."""
        self._shown.close()
        for maps, _ in self._given.values():
            maps.close()


def _without_pixels(sample: Sample) -> Sample:
    """Return an image whose pixels are let go."""
    return replace(sample, load=_let_go)


def _let_go() -> NDArray[np.uint8]:
    raise RuntimeError("the pixels of an image were asked for after its maps were made")


def _some_odd(tensors: Sequence[Any]) -> Any:
    """Say whether some maps on a device are not finite, wherever that is on them."""
    import torch

    if not tensors:
        return False
    return ~torch.stack([torch.isfinite(one).all() for one in tensors]).all()


class _Images:
    """Samples that were read last, up to a number of bytes."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes, self.bytes = most_bytes, 0
        self._kept: OrderedDict[tuple[str, bool], Sample] = OrderedDict()

    def get(self, key: tuple[str, bool]) -> Sample | None:
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, key: tuple[str, bool], sample: Sample) -> None:
        self._kept[key] = sample
        self.bytes += _bytes(sample, key[1])
        while self.bytes > self.most_bytes and len(self._kept) > 1:
            oldest, dropped = self._kept.popitem(last=False)
            self.bytes -= _bytes(dropped, oldest[1])


def _bytes(sample: Sample, pixels: bool) -> int:
    """Return about how much memory a sample takes."""
    masks = sum(getattr(region.mask, "nbytes", 256) for region in sample.annotation.regions)
    return masks + (sample.image().nbytes if pixels else 0)


def _drawn(sample: Sample) -> Sample:
    """Return an image with its pixels at hand."""
    return replace(sample, load=partial(_same, sample.image()))


def _same(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return pixels


@contextmanager
def _told_of_memory(source: Source) -> Iterator[None]:
    """Say of a model that it took more memory than there is, where that is what went wrong."""
    try:
        yield
    except Exception as error:
        if source.kind in ("model", "check") and is_out_of_memory(error):
            raise OutOfMemoryError(f"{source.name}: {describe_error(error)}") from error
        raise


def _host_maps(maps: StoredMaps, made: Iterable[Made], heads: Sequence[int]) -> StoredMaps:
    """Return maps in main memory, with those over all heads before single ones."""
    values: list[tuple[NDArray[Any], ...]] = []
    geometries: list[tuple[Geometry, ...]] = []
    targets: list[str] = []
    for batch in made:
        for image in zip(*batch.arrays(), strict=True):
            fused = (_with_fused(layer, heads) for layer in image) if heads else image
            values.append(tuple(fused))
        geometries += batch.geometries
        targets += batch.targets
    ways = tuple(geometries)
    return replace(maps, values=tuple(values), geometries=ways, targets=tuple(targets))


def _with_fused(layer: NDArray[np.float32], heads: Sequence[int]) -> NDArray[np.float32]:
    """Return the mean over all heads, and after it the maps of some."""
    fused = layer.mean(0, keepdims=True, dtype=np.float32)
    return np.concatenate([fused, layer[list(heads)]])


def _check_finite(maps: StoredMaps, source: Source) -> None:
    """Raise for all images at once whose maps hold what is no number."""
    bad = {
        image: f"image {image!r}: its map of {source.method} holds {_odd(layers)}"
        for image, layers in zip(maps.images, maps.values, strict=True)
        if not all(np.isfinite(layer).all() for layer in layers)
    }
    if bad:
        raise BadImageError(bad)


def _odd(layers: Sequence[NDArray[Any]]) -> str:
    """Return what is not finite in maps."""
    counts = {
        "NaN": sum(int(np.isnan(layer).sum()) for layer in layers),
        "infinite": sum(int(np.isinf(layer).sum()) for layer in layers),
    }
    return " and ".join(f"{count} {what}" for what, count in counts.items() if count) + " values"


def _whole(sample: Sample, width: int, height: int) -> Geometry:
    """Return the geometry of a map that covers the whole of an image."""
    annotation = sample.annotation
    return _stretched(annotation.width or width, annotation.height or height, width, height)


@lru_cache(1024)
def _stretched(width: int, height: int, columns: int, rows: int) -> Geometry:
    return Geometry.of(width, height).resize(columns, rows)
