"""The plan of a study: sources of maps, chunks of images, and the tasks that they make up."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.core import InputError
from sightline.store import task_name
from sightline.study.plan.sources import Scoring, Source, digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sightline.data.dataset import Dataset
    from sightline.study.plan.images import Card, Cards
    from sightline.study.plan.methods import LeftOut

__all__ = [
    "Chunk",
    "Plan",
    "Task",
    "check_dict",
    "check_enough",
    "chunk_of",
    "chunked",
    "seal",
    "source_dict",
]

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
        Positions in the plan: of a check, the second among the chunks of that check.

    Examples
    --------
    >>> Task("000000-61202697f1fc61cd", source=0, chunk=0).chunk
    0
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

    Examples
    --------
    >>> Chunk(("a.jpg", "b.jpg"), digest="4d0f879e93b2faf5").images
    ('a.jpg', 'b.jpg')
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
    checked : mapping
        For each check of the study, the images on which it is made, in groups of their own.
    review : mapping or None
        What is known of the review whose annotations are scored against: see `Reviewed`.
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
    checked: Mapping[str, tuple[Chunk, ...]] = field(default_factory=dict)
    review: Mapping[str, Any] | None = None

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks, in the order in which they are taken: checks after all maps.

        Those whose maps one pass of a network gives follow each other.
        """
        checks = [s for s, source in enumerate(self.sources) if source.kind == "check"]
        waves = _waves(self.chunks)
        pairs = [
            *((s, c) for wave in waves for some in self._together for c in wave for s in some),
            *((s, c) for s in checks for c in range(len(self.chunks_of(self.sources[s])))),
        ]
        return tuple(
            Task(task_name(source.key, c, self.chunks_of(source)[c].digest), s, c)
            for s, c, source in ((s, c, self.sources[s]) for s, c in pairs)
        )

    @property
    def _together(self) -> Iterable[list[int]]:
        """The sources of maps, those together that one pass serves."""
        found: dict[Any, list[int]] = {}
        for number, source in enumerate(self.sources):
            if source.kind != "check":
                found.setdefault(source.passes or number, []).append(number)
        return found.values()

    def sharing(self, source: Source) -> tuple[Source, ...]:
        """Return the sources whose maps a pass for a source gives, itself among them."""
        return () if source.passes is None else self._by_passes[source.passes]

    def follows(self, task: Task, other: Task) -> bool:
        """Say whether the maps of a task come from the pass of another."""
        one, two = (self.sources[each.source].passes for each in (task, other))
        return one is not None and one == two and task.chunk == other.chunk

    @cached_property
    def _by_passes(self) -> dict[tuple[Any, ...], tuple[Source, ...]]:
        found: dict[tuple[Any, ...], tuple[Source, ...]] = {}
        for one in self.sources:
            if one.passes is not None:
                found[one.passes] = (*found.get(one.passes, ()), one)
        return found

    def chunks_of(self, source: Source) -> tuple[Chunk, ...]:
        """Return the groups of images of a source."""
        return self.checked[source.part] if source.kind == "check" else self.chunks

    def chunk_of(self, task: Task) -> Chunk:
        """Return the images of a task."""
        return self.chunks_of(self.sources[task.source])[task.chunk]

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
        return source.maps_per_image * len(self.chunk_of(task).images)

    def with_batch(self, limited: str, batch: int) -> Plan:
        """Return the plan in which a model sees fewer images at once: its rows get new rules.

        A name that `Source.limited_as` gives: the model's means its checks, too.
        """
        changed = (
            replace(source, batch=min(batch, source.batch))
            if limited in (source.name, source.limited_as)
            else source
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
        checked = {
            name: tuple(_without(chunk, skipped, by_image) for chunk in some)
            for name, some in self.checked.items()
        }
        for name, some in checked.items():
            check_enough(name, sum(len(chunk.images) for chunk in some))
        changed = replace(self, chunks=chunks, skipped=skipped, checked=checked)
        return changed.sealed()

    def sealed(self) -> Plan:
        """Return the plan with the keys of its sources."""
        return replace(self, sources=self._sealed(self.sources))

    def _sealed(self, sources: Iterable[Source]) -> tuple[Source, ...]:
        checked = {
            name: digest_of([chunk.digest for chunk in some]) for name, some in self.checked.items()
        }
        images = {"": self.data_digest, **checked}
        return seal(tuple(sources), self.scoring, self.cards.annotations, images)


def seal(
    sources: tuple[Source, ...], scoring: Scoring, annotations: str, images: Mapping[str, str]
) -> tuple[Source, ...]:
    """Return the sources with their keys; a mean follows the source that it is made of.

    Parameters
    ----------
    sources, scoring, annotations
        The sources, how they are scored, and the digest of all annotations.
    images : mapping
        Digests of the images that are used: under "" of maps, under the names of checks of those.
    """
    sealed: list[Source] = []
    by_old: dict[str, str] = {}
    for source in sources:
        if source.kind == "mean":
            source = replace(source, of=by_old[source.of])
        new = source.sealed(scoring, annotations, images[source.part])
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


def check_enough(check: str, count: int) -> None:
    """Raise where there are too few images for a check, which compares maps of several."""
    if count < 2:
        raise InputError(f"checks: {check} needs 2 images or more that can be read, got {count}")


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


def check_dict(source: Source) -> dict[str, Any]:
    """Return what the manifest says of a check."""
    return source_dict(source) | {"part": source.part, "options": dict(source.options)}
