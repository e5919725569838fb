"""The plan of a study: sources of maps, chunks of images, and the tasks that they make up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.records import InputError
from sightline.runner.sources import Scoring, Source, digest_of
from sightline.store import task_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sightline.data.dataset import Dataset
    from sightline.runner.images import Card, Cards
    from sightline.runner.methods import LeftOut

__all__ = ["Chunk", "Plan", "Task", "chunk_of", "chunked", "seal", "source_dict"]

# Images that are taken together from source to source, so that they are read once and models
# change rarely. The first chunk is taken alone: after it, the cost of every source is known.
WAVE = 128


class Task(NamedTuple):
    """One source of maps on one chunk of images.

    Attributes
    ----------
    name : str
        Of its files.
    source, chunk : int
        Positions in the plan.
    """

    name: str
    source: int
    chunk: int


@dataclass(frozen=True)
class Chunk:
    """Images that are treated together.

    Attributes
    ----------
    images : tuple of str
        Their ids.
    digest : str
        Over their pixels and annotations.
    """

    images: tuple[str, ...]
    digest: str


@dataclass(frozen=True, eq=False)
class Plan:
    """All that a run does, fixed beforehand: neither workers nor kills change it.

    Attributes
    ----------
    dataset : Dataset
        The images and annotations.
    scoring : Scoring
        How maps are scored.
    sources : tuple of Source
        The ways of making maps.
    chunks : tuple of Chunk
        The images in groups.
    cards : Cards
        What is known of each image.
    keep_maps : bool
        Whether maps made here are kept.
    left_out : tuple of LeftOut
        Methods that do not fit a model.
    notes : tuple of str
        What else the user should know beforehand.
    skipped : mapping
        Images that could not be read and are left out, with the reason.
    """

    dataset: Dataset
    scoring: Scoring
    sources: tuple[Source, ...]
    chunks: tuple[Chunk, ...]
    cards: Cards
    keep_maps: bool = True
    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: Mapping[str, str] | None = None

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks, in the order in which they are taken."""
        return tuple(
            Task(task_name(self.sources[s].key, c, self.chunks[c].digest), s, c)
            for wave in _waves(self.chunks)
            for s in range(len(self.sources))
            for c in wave
        )

    @property
    def data_digest(self) -> str:
        """A hash over the pixels and annotations of the images used."""
        used = {image for chunk in self.chunks for image in chunk.images}
        cards = [card for card in self.cards.cards if card.image in used]
        return digest_of([(card.image, card.digest, card.annotation) for card in cards])

    @property
    def digest(self) -> str:
        """A hash over the images in their chunks, which ties tables to a manifest."""
        return digest_of([chunk.digest for chunk in self.chunks])

    def for_workers(self) -> Plan:
        """Return the plan without what workers have no use for, since each gets a copy."""
        cards = tuple(replace(card, line={}, regions=()) for card in self.cards.cards)
        return replace(self, cards=replace(self.cards, cards=cards))

    @property
    def images(self) -> int:
        """How many images are used."""
        return sum(len(chunk.images) for chunk in self.chunks)

    def size(self, task: Task) -> int:
        """Return how many maps a task makes."""
        source = self.sources[task.source]
        return source.maps_per_image * len(self.chunks[task.chunk].images)

    def with_batch(self, model: str, batch: int) -> Plan:
        """Return the plan in which a model sees fewer images at once: its rows get new rules."""
        changed = (
            replace(source, batch=batch) if source.name == model and source.batch else source
            for source in self.sources
        )
        return replace(self, sources=self._sealed(changed))

    def without(self, images: Mapping[str, str]) -> Plan:
        """Return the plan without some images, given with the reason for each, and sealed."""
        skipped = {**(self.skipped or {}), **images}
        by_image = {card.image: card for card in self.cards.cards}
        chunks = tuple(_without(chunk, skipped, by_image) for chunk in self.chunks)
        if not any(chunk.images for chunk in chunks):
            raise InputError("no image of the study can be read")
        changed = replace(self, chunks=chunks, skipped=skipped)
        return changed.sealed()

    def sealed(self) -> Plan:
        """Return the plan with the keys of its sources."""
        return replace(self, sources=self._sealed(self.sources))

    def _sealed(self, sources: Iterable[Source]) -> tuple[Source, ...]:
        return seal(tuple(sources), self.scoring, self.cards.annotations, self.data_digest)


def seal(
    sources: tuple[Source, ...], scoring: Scoring, annotations: str, images: str
) -> tuple[Source, ...]:
    """Return the sources with their keys; a mean follows the source that it is made of."""
    sealed: list[Source] = []
    by_old: dict[str, str] = {}
    for source in sources:
        if source.kind == "mean":
            source = replace(source, of=by_old[source.of])
        new = source.sealed(scoring, annotations, images)
        by_old[source.key] = new.key
        sealed.append(new)
    return tuple(sealed)


def _waves(chunks: Sequence[Chunk]) -> Iterator[range]:
    largest = max((len(chunk.images) for chunk in chunks), default=1)
    step = max(1, WAVE // max(largest, 1))
    yield range(min(1, len(chunks)))
    for start in range(1, len(chunks), step):
        yield range(start, min(start + step, len(chunks)))


def chunked(cards: Sequence[Card], size: int) -> tuple[Chunk, ...]:
    """Return images in chunks of a size; the last may be smaller."""
    return tuple(chunk_of(cards[start : start + size]) for start in range(0, len(cards), size))


def chunk_of(cards: Iterable[Card]) -> Chunk:
    """Return images as one chunk, with its digest."""
    cards = list(cards)
    parts = [(card.image, card.digest, card.annotation) for card in cards]
    return Chunk(tuple(card.image for card in cards), digest_of(parts)[:16])


def _without(chunk: Chunk, skipped: Mapping[str, str], cards: Mapping[str, Card]) -> Chunk:
    if not any(image in skipped for image in chunk.images):
        return chunk
    return chunk_of(cards[image] for image in chunk.images if image not in skipped)


def source_dict(source: Source) -> dict[str, Any]:
    """Return what the manifest says of a source."""
    names = (
        "model",
        "variant",
        "fit",
        "method",
        "group",
        "target",
        "seed",
        "check",
        "sign",
        "rules",
    )
    found: dict[str, Any] = {name: getattr(source, name) for name in (*names, "key", "maps")}
    return found | {
        "params": dict(source.params),
        "layers": list(source.layers),
        "heads": list(source.heads),
    }
