"""The gold set: images drawn at random, which people annotate completely, without a machine."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from sightline.core import InputError
from sightline.core.checks import MIN_IMAGES
from sightline.data.annotations import parse_json
from sightline.data.formats.checks import as_object, items, located, number, show, text
from sightline.data.formats.lines import read_text
from sightline.data.outputs import check_output, replacing

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

    from sightline.core import Sample
    from sightline.data.choice import DataChoice
    from sightline.data.dataset import Dataset

__all__ = [
    "FORMAT",
    "Gold",
    "check_population",
    "draw_gold",
    "is_drawn_from",
    "pick_gold",
    "read_gold",
    "strata_of",
    "write_gold",
]

# So many gold images each of several strata needs for an estimate that joins them with the others.
_ENOUGH = 4
FORMAT = "sightline-gold/1"
By = Literal["style", "split", "label"]
_LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Gold:
    """Which images are annotated completely, and how they were chosen.

    Attributes
    ----------
    images : tuple of str
        Their ids, sorted.
    strata : dict of str to str
        The stratum of each; "" for all where there are none.
    weights : dict of str to float
        One over the probability with which each was drawn; NaN where they were picked by hand.
    population : dict of str to int
        How many images each stratum of the data set has.
    digest : str
        Of the ids of all images of the data set.
    seed : int or None
        Of the draw; None where they were picked by hand.
    by : str
        What the strata are: "style", "split", "label", or "" where there are none.
    random : bool
        Whether they were drawn at random: else what holds for them need not hold for the rest.
    data : mapping
        The words that open the data set; {} where they are not known.

    Examples
    --------
    >>> from sightline.data import load_dataset
    >>> gold = draw_gold(load_dataset("facades", count=8), 2, seed=1)
    >>> len(gold.images), gold.random, set(gold.weights.values())
    (2, True, {4.0})
    >>> gold.notes
    ('there are 2 gold images: an estimate needs 5',)
    """

    images: tuple[str, ...]
    strata: Mapping[str, str]
    weights: Mapping[str, float]
    population: Mapping[str, int]
    digest: str
    seed: int | None = None
    by: str = ""
    random: bool = True
    data: Mapping[str, Any] | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What speaks against estimates from them."""
        found = [] if self.random else ["picked by hand: they stand for themselves alone"]
        counts = Counter(self.strata.values())
        least = _ENOUGH if len(self.population) > 1 else MIN_IMAGES
        for name in self.population:
            if counts[name] < least:
                where = f"stratum {name!r} has" if self.by else "there are"
                found.append(f"{where} {counts[name]} gold images: an estimate needs {least}")
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """Return it as its file has it."""
        return {
            "format": FORMAT,
            "random": self.random,
            "seed": self.seed,
            "by": self.by,
            "data": dict(self.data or {}),
            "digest": self.digest,
            "population": dict(self.population),
            "images": [
                {"image": one, "stratum": self.strata[one], "weight": _finite(self.weights[one])}
                for one in self.images
            ],
        }

    @classmethod
    def from_dict(cls, content: Any) -> Self:
        """Return what `to_dict` gave.

        Raises
        ------
        InputError
            If an entry is missing or does not fit.
        """
        found = as_object(content)
        if found.get("format") != FORMAT:
            raise InputError(f"format must be {FORMAT!r}, got {show(found.get('format'))}")
        if not isinstance(found.get("random"), bool):
            raise InputError(f"random must be true or false, got {show(found.get('random'))}")
        entries = _read_images(items(found, "images"), drawn=found["random"])
        population = as_object(found.get("population"))
        strata = {image: stratum for image, (stratum, _) in entries.items()}
        _check_population(population, strata)
        return cls(
            images=tuple(sorted(entries)),
            strata=strata,
            weights={image: weight for image, (_, weight) in entries.items()},
            population=population,
            digest=text(found.get("digest"), "digest"),
            seed=_check_seed(found.get("seed")) if found["random"] else None,
            by=text(found.get("by", ""), "by"),
            random=found["random"],
            data=as_object(found.get("data", {})),
        )


def draw_gold(
    dataset: Dataset,
    count: int,
    seed: int,
    *,
    by: By | None = None,
    choice: DataChoice | None = None,
) -> Gold:
    """Draw images at random, each of a stratum with the same probability.

    Each image has a number that follows from the seed and its id; those with the smallest are
    drawn. So the draw does not depend on the order of the data set, nor on any library.

    Parameters
    ----------
    dataset : Dataset
        All images.
    count : int
        How many to draw.
    seed : int
        The same seed draws the same images.
    by : {"style", "split", "label"}, optional
        Draw from strata: the first label of the image, its split, or the rarest label among its
        regions. A stratum gets its share of the count; at least 4 images (all, where it has
        fewer) as far as the count goes, since an estimate needs as many. Weights keep what that
        changes.
    choice : DataChoice, optional
        The words that open the data set, to be kept.

    Raises
    ------
    InputError
        If there are fewer images, or more strata than images to draw.

    Examples
    --------
    >>> from sightline.data import load_dataset
    >>> gold = draw_gold(load_dataset("facades", count=40, seed=0), 12, seed=3, by="split")
    >>> dict(gold.population), sorted(set(gold.weights.values()))
    ({'test': 8, 'train': 32}, [2.0, 4.0])
    """
    _check_seed(seed)
    if type(count) is not int or not 1 <= count <= len(dataset):
        raise InputError(f"count must be from 1 to the {len(dataset)} images, got {show(count)}")
    strata = strata_of(dataset, by)
    groups: dict[str, list[str]] = {}
    for image_id, stratum in strata.items():
        groups.setdefault(stratum, []).append(image_id)
    sizes = {name: len(groups[name]) for name in sorted(groups)}
    drawn: dict[str, tuple[str, float]] = {}
    for name, share in _shares(sizes, count).items():
        ranked = sorted(groups[name], key=lambda image_id: _rank(seed, image_id))
        drawn |= dict.fromkeys(ranked[:share], (name, sizes[name] / share))
    return _gold(dataset, drawn, sizes, seed=seed, by=by or "", choice=choice)


def pick_gold(dataset: Dataset, images: Iterable[str], *, choice: DataChoice | None = None) -> Gold:
    """Return a gold set of images picked by hand; it is marked as not drawn at random.

    Raises
    ------
    InputError, UnknownNameError
        If one is named twice, or is not in the data set.

    Examples
    --------
    >>> from sightline.data import load_dataset
    >>> gold = pick_gold(load_dataset("facades", count=8), ["facade-00003.png"])
    >>> gold.images, gold.random
    (('facade-00003.png',), False)
    """
    chosen = dataset.select(images).ids
    if not chosen:
        raise InputError("a gold set needs at least one image, got none")
    drawn = dict.fromkeys(chosen, ("", float("nan")))
    return _gold(dataset, drawn, {"": len(dataset)}, seed=None, by="", choice=choice)


def check_population(gold: Gold, ids: Iterable[str]) -> None:
    """Raise unless a gold set was drawn from just these images."""
    known = set(ids)
    if unknown := [image for image in gold.images if image not in known]:
        raise InputError(f"gold image {unknown[0]!r} is not among the {len(known)} of the data set")
    if not is_drawn_from(gold, known):
        seen = sum(gold.population.values())
        raise InputError(
            f"the gold set was drawn from {seen} images, which are not these {len(known)}; "
            "draw it from the same data set"
        )


def is_drawn_from(gold: Gold, ids: Iterable[str]) -> bool:
    """Say whether a gold set was drawn from just these images."""
    return gold.digest == _digest(set(ids))


def _gold(
    dataset: Dataset,
    drawn: Mapping[str, tuple[str, float]],
    sizes: Mapping[str, int],
    *,
    seed: int | None,
    by: str,
    choice: DataChoice | None,
) -> Gold:
    images = tuple(sorted(drawn))
    return Gold(
        images=images,
        strata={image: drawn[image][0] for image in images},
        weights={image: drawn[image][1] for image in images},
        population=sizes,
        digest=_digest(dataset.ids),
        seed=seed,
        by=by,
        random=seed is not None,
        data={} if choice is None else choice.to_dict(),
    )


def _rank(seed: int, image_id: str) -> bytes:
    return sha256(f"gold/{seed}/{image_id}".encode()).digest()


def _digest(ids: Iterable[str]) -> str:
    return sha256("\n".join(sorted(ids)).encode()).hexdigest()


# --- strata ---------------------------------------------------------------------------------------


def strata_of(dataset: Dataset, by: str | None) -> dict[str, str]:
    """Return the stratum of each image: "" for all where there are none."""
    if by is None:
        return dict.fromkeys(dataset.ids, "")
    if by not in get_args(By):
        raise InputError(f"by must be one of {', '.join(get_args(By))}, got {show(by)}")
    samples = list(dataset)
    if by == "split":
        return {sample.image_id: sample.split for sample in samples}
    if by == "style":
        return {sample.image_id: (sample.labels or ("",))[0] for sample in samples}
    seen = Counter(label for sample in samples for label in _labels(sample))
    return {
        sample.image_id: min(_labels(sample), key=lambda label: (seen[label], label), default="")
        for sample in samples
    }


def _labels(sample: Sample) -> set[str]:
    return {region.label for region in sample.annotation.regions}


def _shares(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """Return how many images of each stratum are drawn: by size, none left out."""
    if count < len(sizes):
        raise InputError(
            f"count must be at least {len(sizes)}, one image for each stratum, got {count}"
        )
    least = {name: min(_ENOUGH, size) for name, size in sizes.items()}
    if sum(least.values()) > count:
        least = dict.fromkeys(sizes, 1)
    shares = dict(least)
    total = sum(sizes.values())
    for _ in range(count - sum(least.values())):
        # To the stratum that is furthest below its share; the first by name among equals.
        open_to = [name for name in sizes if shares[name] < sizes[name]]
        furthest = max(open_to, key=lambda name: sizes[name] * count / total - shares[name])
        shares[furthest] += 1
    return shares


# --- files ----------------------------------------------------------------------------------------


def write_gold(gold: Gold, path: str | os.PathLike[str]) -> None:
    """Write a gold set as JSON; a file of that name is replaced in one step."""
    place = check_output(path, "a gold set", (".json",))
    with replacing(place) as part:
        part.write_text(json.dumps(gold.to_dict(), indent=1, allow_nan=False) + "\n", "utf-8")


def read_gold(path: str | os.PathLike[str]) -> Gold:
    """Read the file of a gold set.

    Raises
    ------
    InputError
        If it is none; the message names the file and what does not fit.
    """
    place = Path(path)
    with located(str(place)):
        return Gold.from_dict(parse_json(read_text(place)))


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _read_images(entries: list[Any], *, drawn: bool) -> dict[str, tuple[str, float]]:
    found: dict[str, tuple[str, float]] = {}
    for place, entry in enumerate(entries):
        with located(f"images[{place}]"):
            record = as_object(entry)
            image = text(record.get("image"), "image")
            if image in found:
                raise InputError(f"image {show(image)} appears twice")
            weight = number(record.get("weight"), "weight") if drawn else float("nan")
            if drawn and weight < 1:
                raise InputError(f"weight must be 1 or more, got {weight:g}")
            found[image] = text(record.get("stratum", ""), "stratum"), weight
    if not found:
        raise InputError("a gold set needs at least one image, got none")
    return found


def _check_population(population: Mapping[str, Any], strata: Mapping[str, str]) -> None:
    drawn = Counter(strata.values())
    for name in dict.fromkeys((*drawn, *population)):
        size = population.get(name)
        if type(size) is not int or size < drawn[name]:
            least = f"its {drawn[name]} gold images" if drawn[name] else "0, a whole number"
            raise InputError(
                f"population of stratum {show(name)} must be at least {least}, got {show(size)}"
            )


def _check_seed(seed: Any) -> int:
    if type(seed) is not int or not 0 <= seed <= _LARGEST_SEED:
        raise InputError(f"seed must be a whole number from 0, got {show(seed)}")
    return seed
