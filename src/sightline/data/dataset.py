"""A data set: a lazy sequence of samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from sightline.core import Annotation, InputError, Sample, Taxonomy, UnknownNameError
from sightline.data.formats.plain import with_labels
from sightline.data.images import image_size, inside, read_image

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from sightline.data.problems import Problem

__all__ = ["Dataset", "LazyAnnotations", "check_size", "from_annotations", "header_size"]


class Dataset(Sequence[Sample]):
    """Samples in order; each is made when asked for, and its image opened later still.

    Attributes
    ----------
    name : str
        The kind of data set.
    root : Path or None
        Its folder.
    ids : tuple of str
        The image ids, in order.
    taxonomy : Taxonomy
        The labels of regions, with those above them.
    skipped : tuple of Problem
        What was left out.

    Examples
    --------
    >>> from sightline.data import load_dataset
    >>> facades = load_dataset("facades", count=10, seed=0)
    >>> len(facades), facades.ids[0], len(facades.in_split("test"))
    (10, 'facade-00000.png', 2)
    >>> facades.by_id(facades.ids[3]).annotation.labels
    ('Romanesque',)
    """

    def __init__(
        self,
        name: str,
        splits: Mapping[str, str],
        make: Callable[[str], Sample],
        *,
        root: Path | None = None,
        taxonomy: Taxonomy | None = None,
        skipped: Iterable[Problem] = (),
    ) -> None:
        self.name, self.root = name, root
        self.ids = tuple(splits)
        self.taxonomy = taxonomy or Taxonomy()
        self.skipped = tuple(skipped)
        self._splits, self._make = splits, make

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> Dataset: ...
    def __getitem__(self, index: int | slice) -> Sample | Dataset:
        if isinstance(index, slice):
            return self.select(self.ids[index])
        return self._make(self.ids[index])

    def __contains__(self, item: object) -> bool:
        """Return whether an image is in it, given as a sample or by its id."""
        return (item.image_id if isinstance(item, Sample) else item) in self._splits

    def __repr__(self) -> str:
        return f"<Dataset {self.name}: {len(self)} images>"

    @property
    def splits(self) -> dict[str, int]:
        """The splits, "" where there is none, and how many images each has."""
        counts: dict[str, int] = {}
        for image_id in self.ids:
            split = self._splits[image_id]
            counts[split] = counts.get(split, 0) + 1
        return counts

    def by_id(self, image_id: str) -> Sample:
        """Return the sample of an image."""
        if image_id not in self._splits:
            raise UnknownNameError(f"no image {image_id!r} among the {len(self)} of {self.name}")
        return self._make(image_id)

    def select(self, ids: Iterable[str]) -> Dataset:
        """Return the data set of some of the images, in the order given."""
        ids = tuple(ids)
        if unknown := [image_id for image_id in ids if image_id not in self._splits]:
            raise UnknownNameError(f"no image {unknown[0]!r} among the {len(self)} of {self.name}")
        if len(set(ids)) < len(ids):
            twice = next(image_id for image_id, count in Counter(ids).items() if count > 1)
            raise InputError(f"image {twice!r} is chosen twice")
        return self._with({image_id: self._splits[image_id] for image_id in ids}, self._make)

    def in_split(self, split: str) -> Dataset:
        """Return the images of one split."""
        found = [image_id for image_id in self.ids if self._splits[image_id] == split]
        if not found:
            known = ", ".join(repr(name) for name in self.splits)
            raise InputError(f"{self.name} has no images in split {split!r}; splits: {known}")
        return self.select(found)

    def ignoring(self, *flags: str) -> Dataset:
        """Return the data set in which regions with one of `flags` are ignored as well."""
        return self._with(self._splits, partial(_ignoring, self._make, flags))

    def annotated(self, annotations: Mapping[str, Annotation]) -> Dataset:
        """Return the images that have an annotation in `annotations`, with that one, in our order.

        Labels of an image are kept where its new annotation has none.
        """
        if unknown := [image_id for image_id in annotations if image_id not in self._splits]:
            raise UnknownNameError(f"no image {unknown[0]!r} among the {len(self)} of {self.name}")
        for image_id, annotation in annotations.items():
            if annotation.image_id != image_id:
                raise InputError(f"the annotation of {image_id!r} is of {annotation.image_id!r}")
        ids = [image_id for image_id in self.ids if image_id in annotations]
        splits = {image_id: self._splits[image_id] for image_id in ids}
        found = self._with(splits, partial(_annotated, self._make, dict(annotations)))
        found.taxonomy = with_labels(self.taxonomy, annotations.values())
        return found

    def _with(self, splits: Mapping[str, str], make: Callable[[str], Sample]) -> Dataset:
        return Dataset(
            self.name,
            splits,
            make,
            root=self.root,
            taxonomy=self.taxonomy,
            skipped=self.skipped,
        )

    def annotations(self) -> dict[str, Annotation]:
        """Return every annotation by image id."""
        return {image_id: self._make(image_id).annotation for image_id in self.ids}


def from_annotations(
    name: str,
    annotations: Mapping[str, Annotation],
    files: Mapping[str, Path],
    *,
    splits: Mapping[str, str] | None = None,
    root: Path | None = None,
    taxonomy: Taxonomy | None = None,
    skipped: Iterable[Problem] = (),
) -> Dataset:
    """Return the data set of annotations in memory whose images lie in files.

    Parameters
    ----------
    name, root, taxonomy, skipped
        As in `Dataset`.
    annotations : mapping of str to Annotation
        By image id.
    files : mapping of str to Path
        The file of each image; an image may have none.
    splits : mapping of str to str, optional
        The split of each image.

    Examples
    --------
    >>> from sightline.data import from_annotations
    >>> from sightline.core import Annotation
    >>> mine = from_annotations("mine", {"a": Annotation("a"), "b": Annotation("b")}, files={})
    >>> len(mine), mine.ids, mine[0].path
    (2, ('a', 'b'), None)
    """
    splits = {image_id: (splits or {}).get(image_id, "") for image_id in annotations}
    return Dataset(
        name,
        splits,
        partial(_make_sample, annotations, files, splits, root),
        root=root,
        taxonomy=taxonomy,
        skipped=skipped,
    )


class LazyAnnotations(Mapping[str, Annotation]):
    """Annotations that are made when first asked for: masks in image files take long to decode."""

    def __init__(self, make: Mapping[str, Callable[[], Annotation]]) -> None:
        self._make = make
        self._made: dict[str, Annotation] = {}

    def __getitem__(self, image_id: str) -> Annotation:
        if image_id not in self._made:
            self._made[image_id] = self._make[image_id]()
        return self._made[image_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._make)

    def __len__(self) -> int:
        return len(self._make)


def header_size(sample: Sample, root: Path | None) -> tuple[int, int] | None:
    """Return the size of an image from its header, checked like `Sample.image`; None if drawn."""
    if sample.path is None:
        return None
    _check_inside(sample.path, root)
    size = image_size(sample.path)
    check_size(sample.path, size, sample.annotation)
    return size


# Functions, not closures: a data set goes to other processes.


def _make_sample(
    annotations: Mapping[str, Annotation],
    files: Mapping[str, Path],
    splits: Mapping[str, str],
    root: Path | None,
    image_id: str,
) -> Sample:
    annotation, path = annotations[image_id], files.get(image_id)
    load = None if path is None else partial(_load, path, annotation, root)
    return Sample(image_id, annotation, splits[image_id], path, load)


def _ignoring(make: Callable[[str], Sample], flags: Sequence[str], image_id: str) -> Sample:
    sample = make(image_id)
    return replace(sample, annotation=sample.annotation.ignoring(*flags))


def _annotated(
    make: Callable[[str], Sample], annotations: Mapping[str, Annotation], image_id: str
) -> Sample:
    sample, annotation = make(image_id), annotations[image_id]
    given = sample.annotation
    kept = replace(
        annotation,
        width=annotation.width or given.width,
        height=annotation.height or given.height,
        labels=annotation.labels or given.labels,
    )
    return replace(sample, annotation=kept)


def _load(path: Path, annotation: Annotation, root: Path | None) -> NDArray[np.uint8]:
    _check_inside(path, root)
    image = read_image(path)
    check_size(path, image.shape[1::-1], annotation)
    return image


def _check_inside(path: Path, root: Path | None) -> None:
    if root is not None:  # a link may lead out of it
        inside(root, str(path.absolute()))


def check_size(path: Path, seen: Sequence[Any], annotation: Annotation) -> None:
    """Raise unless an upright image has the size that its annotation was made at."""
    expected = annotation.width, annotation.height
    if None in expected or tuple(seen) == expected:
        return
    turned = " (upright; its EXIF orientation turns it)" if tuple(seen) == expected[::-1] else ""
    raise InputError(
        f"{path}: the annotation is of {expected[0]} x {expected[1]} pixels, "
        f"the image has {seen[0]} x {seen[1]}{turned}"
    )
