"""Which images a model may learn from: never those that its maps will be scored on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from PIL import Image

from sightline.core import Annotation, InputError, Sample
from sightline.data import Dataset, facade_of
from sightline.data.images import ENDINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["ANNOTATED", "Chosen", "HeldOut", "choose_images", "describe_held_out"]

ANNOTATED = "annotated"
HeldOut: TypeAlias = Dataset | Mapping[str, Annotation] | Literal["annotated"] | None
Progress: TypeAlias = "Callable[[int, int, str], object]"

# Grey values of 256 by which small copies of one picture, saved twice, may differ on average.
_NEAR = 6.0
_SMALL = (16, 16)


@dataclass(frozen=True, eq=False)
class Chosen:
    """The images of a training.

    Attributes
    ----------
    training, validation : Dataset
        Images to learn from, and those by which the best epoch is chosen.
    classes : tuple of str
        The labels, in the order of the alphabet.
    held_out : Dataset, mapping of str to Annotation, "annotated" or None
        What is kept for scoring; accuracy is measured on images of a data set that have a label.
    left_out : dict of str to tuple of str
        Ids that are not used, by the reason.
    source : dict
        The data set: its name, path (or None), seed (or None) and the number of its images.

    Examples
    --------
    >>> from sightline.data import load_dataset
    >>> from sightline.models.finetuning import choose_images
    >>> chosen = choose_images(load_dataset("facades", count=10), held_out={})
    >>> len(chosen.training), len(chosen.validation), chosen.source["name"]
    (6, 4, 'facades')
    """

    training: Dataset
    validation: Dataset
    classes: tuple[str, ...]
    held_out: HeldOut = None
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    source: Mapping[str, Any] = field(default_factory=dict)


def choose_images(
    data: Dataset,
    *,
    held_out: HeldOut = None,
    leave_out: bool = False,
    validation: float | Dataset = 0.1,
    seed: int = 0,
    progress: Progress = lambda done, total, what: None,
) -> Chosen:
    """Return the images of a data set that may be learned from, in two parts.

    An image is in both sets when it is the same file, the same drawing, has the same pixels, or
    the same file name, whatever its ending, and nearly the same picture (one was saved anew).

    Parameters
    ----------
    data : Dataset
        Images with one label each; those with none or several are left out, and listed.
    held_out : Dataset, mapping of str to Annotation, or "annotated"
        What maps will be scored on. Of annotations without images the ids are compared,
        without ".jpg" and the like; their ends, where one names folders that the other leaves out.
        "annotated": all images of `data` that have regions are left out. Needed where images of
        `data` have regions.
    leave_out : bool
        Leave out images that are held out, instead of raising.
    validation : float or Dataset
        Share of each class, drawn by the seed; or images of their own, which must not be held
        out either.
    seed : int
        Of the draw.
    progress : callable
        Called with what is done, the total and a word.

    Raises
    ------
    InputError
        If images are held out and were not to be left out, if images have regions and nothing is
        held out, or if fewer than two classes are left.

    Examples
    --------
    >>> from sightline.data import load_dataset
    >>> chosen = choose_images(
    ...     load_dataset("facades", count=20, seed=1), held_out=load_dataset("facades", count=4)
    ... )
    >>> len(chosen.training), len(chosen.validation), chosen.classes
    (16, 4, ('Baroque', 'Gothic', 'Renaissance', 'Romanesque'))
    """
    every = {sample.image_id: _label(sample) for sample in data}
    left_out = {
        "no label": tuple(i for i, label in every.items() if label is None),
        "several labels": tuple(i for i, label in every.items() if label == ""),
    }
    labels = {i: label for i, label in every.items() if label}
    held = _Held(held_out, leave_out, progress)
    left_out["held out"] = held.ids(data.select(labels), data.name)
    away = set(left_out["held out"])
    kept = data.select(i for i in labels if i not in away)
    classes = tuple(sorted({str(labels[i]) for i in kept.ids}))
    if isinstance(validation, Dataset):
        fitting = _known(validation, classes)
        ids = held.ids(fitting, "the validation set")
        left_out["held out, of the validation set"] = ids
        training, checked = kept, fitting.select(i for i in fitting.ids if i not in ids)
        _check_some_left(checked, len(fitting))
        _check_apart(training, checked, progress)
    else:
        training, checked = _split(kept, labels, validation, seed)
    _check_classes(training, labels, data)
    found = {why: ids for why, ids in left_out.items() if ids}
    return Chosen(training, checked, classes, held_out, found, _described(data))


def _label(sample: Sample) -> str | None:
    """Return the label of an image; None where it has none, "" where it has several."""
    if len(sample.labels) != 1:
        return "" if sample.labels else None
    return sample.labels[0] or None


def _known(data: Dataset, classes: Sequence[str]) -> Dataset:
    """Return the images whose label is one of the classes."""
    found = data.select(sample.image_id for sample in data if _label(sample) in classes)
    if not len(found):
        raise InputError(f"no image of the validation set {data.name} has a label of the training")
    return found


def _check_some_left(checked: Dataset, count: int) -> None:
    if not len(checked):
        raise InputError(
            f"all {count} images of the validation set {checked.name} that could be used are held "
            "out for scoring; give other images, or a share"
        )


def _check_apart(training: Dataset, validation: Dataset, progress: Progress) -> None:
    both = _shared(training, validation, progress)
    if both:
        raise InputError(f"{_are(both, 'the validation set')} in the training: {_ids(both)}")


def _split(
    data: Dataset, labels: Mapping[str, str | None], share: Any, seed: int
) -> tuple[Dataset, Dataset]:
    """Return two parts: of each class this share is in the second, drawn by the seed."""
    if not isinstance(share, float | int) or not 0 < share < 1:
        raise InputError(f"validation must be a share between 0 and 1, got {share!r}")
    by_class: dict[str, list[str]] = {}
    for image_id in data.ids:
        by_class.setdefault(str(labels[image_id]), []).append(image_id)
    rng = np.random.default_rng(seed)
    chosen: set[str] = set()
    for label in sorted(by_class):
        ids = by_class[label]
        if len(ids) < 2:
            raise InputError(f"class {label!r} needs 2 images or more, got {len(ids)}")
        count = min(max(round(share * len(ids)), 1), len(ids) - 1)
        chosen.update(ids[place] for place in rng.permutation(len(ids))[:count])
    parts = ([i for i in data.ids if i not in chosen], [i for i in data.ids if i in chosen])
    return data.select(parts[0]), data.select(parts[1])


def _check_classes(training: Dataset, labels: Mapping[str, str | None], data: Dataset) -> None:
    seen = sorted({str(labels[i]) for i in training.ids})
    if len(seen) < 2:
        found = f"only {seen[0]!r}" if seen else "none"
        raise InputError(
            f"training needs images of two classes or more; the {len(data)} images of {data.name} "
            f"leave {len(training)}, of {found}"
        )


class _Held(NamedTuple):
    """What is held out, and whether images of it are left out or end it."""

    out: HeldOut
    leave_out: bool
    progress: Progress

    def ids(self, data: Dataset, name: str) -> tuple[str, ...]:
        """Return the ids to leave out; raise where there are any and they were not to be."""
        if self.out is None or isinstance(self.out, str):
            return self._marked(data, name)
        if isinstance(self.out, Dataset):
            found = _shared(data, self.out, self.progress)
        else:
            found = _named(data, self.out)
        if found and not self.leave_out:
            raise InputError(
                f"{_are(found, name)} held out for scoring, and must not be trained on: "
                f"{_ids(found)}; leave_out (--leave-out) leaves them out"
            )
        return tuple(found)

    def _marked(self, data: Dataset, name: str) -> tuple[str, ...]:
        """Return the ids of images that have regions; raise where nothing is said of them."""
        if self.out not in (None, ANNOTATED):
            raise InputError(f"held_out must be a data set, annotations or {ANNOTATED!r}")
        marked = tuple(sample.image_id for sample in data if sample.annotation.regions)
        if marked and self.out is None:
            raise InputError(
                f"{_are(marked, name)} annotated with regions ({_ids(marked)}); maps "
                "scored on images that a model was trained on tell nothing about new ones: say "
                f"what is held out for scoring (held_out, --held-out; {ANNOTATED!r}: all of these)"
            )
        return marked


def _named(data: Dataset, held_out: Iterable[str]) -> list[str]:
    """Return the ids that are held out, or end as one that is does, or the other way round."""
    whole, ends = set(), set()
    for tails in map(_tails, held_out):
        whole.add(tails[0])
        ends.update(tails)
    found = ((image_id, _tails(image_id)) for image_id in data.ids)
    return [one for one, tails in found if tails[0] in ends or not whole.isdisjoint(tails)]


def _tails(image_id: str) -> list[str]:
    """Return an id without the ending of its file, and what is left without its first folders."""
    stem, dot, ending = image_id.rpartition(".")
    known = f"{dot}{ending}".lower() in ENDINGS
    parts = (stem if known else image_id).split("__")  # what a "/" is in ids
    return ["__".join(parts[start:]) for start in range(len(parts))]


class _Seen(NamedTuple):
    """What tells that an image is another one."""

    origin: tuple[Any, ...]
    pixels: str
    small: NDArray[np.float32]


def _shared(data: Dataset, other: Dataset, progress: Progress) -> list[str]:
    """Return the ids of the images of `data` that are in `other`."""
    total = len(data) + len(other)
    known: dict[str, list[_Seen]] = {}
    for done, sample in enumerate(other):
        progress(done, total, "Comparing images")
        known.setdefault(_tails(sample.image_id)[-1], []).append(_look(other, sample))
    origins = {one.origin for some in known.values() for one in some}
    pixels = {one.pixels for some in known.values() for one in some}
    found = []
    for done, sample in enumerate(data, len(other)):
        progress(done, total, "Comparing images")
        seen, namesakes = _look(data, sample), known.get(_tails(sample.image_id)[-1], [])
        same = seen.origin in origins or seen.pixels in pixels
        if same or any(_near(seen.small, one.small) for one in namesakes):
            found.append(sample.image_id)
    return found


def _look(data: Dataset, sample: Sample) -> _Seen:
    image = sample.image()
    total = sha256(repr(image.shape).encode())
    total.update(np.ascontiguousarray(image).tobytes())
    small = Image.fromarray(image).convert("L").resize(_SMALL, Image.Resampling.BOX)
    return _Seen(_origin(data, sample), total.hexdigest(), np.asarray(small, np.float32))


def _origin(data: Dataset, sample: Sample) -> tuple[Any, ...]:
    """Return where an image comes from: a file, or what it is drawn from."""
    if sample.path is not None:
        return ("file", str(sample.path.resolve()))
    try:
        facade = facade_of(sample)
    except InputError:
        return ("only here", id(data), sample.image_id)
    return ("facade", facade.seed, facade.index)


def _near(one: NDArray[np.float32], two: NDArray[np.float32]) -> bool:
    return float(np.abs(one - two).mean()) < _NEAR


def describe_held_out(held_out: HeldOut) -> dict[str, Any]:
    """Return what tells what was held out, for the recipe."""
    if held_out is None:
        return {}
    if isinstance(held_out, Dataset):
        return _described(held_out)
    if isinstance(held_out, str):
        return {"name": "all images with regions"}
    return {"name": "annotations", "images": len(held_out)}


def _described(data: Dataset) -> dict[str, Any]:
    """Return what tells a data set from others."""
    path = None if data.root is None else str(data.root.resolve())
    kind, *where = _origin(data, data[0]) if len(data) else ("",)
    seed = where[0] if kind == "facade" else None
    return {"name": data.name, "path": path, "seed": seed, "images": len(data)}


def _are(ids: Sequence[str], data: str) -> str:
    return f"1 image of {data} is" if len(ids) == 1 else f"{len(ids)} images of {data} are"


def _ids(ids: Iterable[str], most: int = 5) -> str:
    listed = list(ids)
    return ", ".join(listed[:most]) + (", …" if len(listed) > most else "")
