"""What a data set holds and what is wrong with it, before any model is asked."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from dataclasses import dataclass, fields, is_dataclass
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import Annotation, InputError
from sightline.data.dataset import header_size
from sightline.data.images import is_image
from sightline.data.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sightline.core import Sample, Taxonomy
    from sightline.data.dataset import Dataset

    _Size = tuple[int, int]

__all__ = [
    "ImageSizes",
    "LabelCount",
    "LabelShare",
    "Report",
    "SometimesMissing",
    "Spread",
    "inspect_dataset",
]

_DRAWN_SIDE = 256  # of the grid that shapes other than boxes are drawn on to tell their area
_MOST_EXACT = 500  # boxes in an image whose union is exact: its cost grows with their square
_MOST_PAIRED = 200  # labels in the table of pairs: it grows with their square
_FLAGS = ("clipped", "difficult", "crowd", "ignore")


@dataclass(frozen=True, slots=True)
class Spread:
    """How values are spread: the least, the quartiles, the mean and the largest."""

    least: float
    lower: float
    median: float
    upper: float
    mean: float
    most: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread | None:
        """Return the spread of values, None when there are none."""
        found = np.fromiter(values, np.float64)
        if found.size == 0:
            return None
        least, lower, median, upper, most = np.quantile(found, (0, 0.25, 0.5, 0.75, 1)).tolist()
        return cls(least, lower, median, upper, float(found.mean()), most)


@dataclass(frozen=True, slots=True)
class LabelCount:
    """How often a label of regions occurs.

    Attributes
    ----------
    label : str
        The label.
    own : int
        Regions with this very label.
    regions, images : int
        Regions, and images with regions, that have the label or one below it in the taxonomy.
    share : float
        Share of the images.
    """

    label: str
    own: int
    regions: int
    images: int
    share: float


@dataclass(frozen=True, slots=True)
class LabelShare:
    """How many images have a label as a whole."""

    label: str
    images: int
    share: float


@dataclass(frozen=True, slots=True)
class SometimesMissing:
    """A label that some images of a style have and others lack: perhaps nobody marked it there."""

    style: str
    label: str
    present: int
    absent: int


@dataclass(frozen=True, slots=True)
class ImageSizes:
    """Sizes of the images in pixels: of the file where it was read, else of the annotation."""

    width: Spread | None
    height: Spread | None
    portrait: int
    landscape: int
    square: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Report:
    """What `inspect_dataset` found.

    Attributes
    ----------
    name : str
        The kind of data set.
    images, regions, unlabelled : int
        How many there are; `regions` counts those to ignore and those without a label too.
    kinds : dict of str to int
        Regions by how they were marked.
    labels : tuple of LabelCount
        Every label of regions, those above them and the rest of the taxonomy; frequent ones first.
    image_labels : tuple of LabelShare
        Labels of whole images: styles, classes.
    splits : dict of str to int
        Images in each split.
    per_image : Spread or None
        Regions per image.
    empty : tuple of str
        Images without regions.
    region_area, union_area : Spread or None
        Area of the regions, and of what the scored regions of an image cover together, as a share
        of the image; images that have none are left out. Boxes are measured exactly, clipped to
        the image. Other shapes, and unions with one or of more than 500 boxes, are drawn with a
        longer side of at most 256.
    clipped, difficult, crowd, ignore : int
        Regions with that flag.
    outside, hidden : int
        Regions that were dropped: wholly outside the image or empty, and out of sight.
    missing : tuple of str
        Images without a file.
    problems : tuple of Problem
        Images whose file or masks cannot be read, or that have another size than their annotation.
    skipped : tuple of Problem
        Records that the reader left out, such as the second of two with one id.
    beside : tuple of str
        Image files in the folders of the images that are none of them.
    unknown_labels : dict of str to int
        Labels that the taxonomy lacks, where there is one, and how many regions have them.
    pair_labels : tuple of str
        The labels of `pairs`: those of regions, at most the 200 in most images.
    pairs : tuple of tuples of int
        Images that have both labels; the diagonal tells the images that have the one.
    repeated : dict of str to dict
        Images with two or more regions of a label, with those labels and counts.
    repeated_share : float
        Their share of the images.
    sometimes_missing : tuple of SometimesMissing
        For each label of images the labels of regions that some of them lack.
    sizes : ImageSizes
        Sizes of the images.
    usable : tuple of str
        Images whose file and annotation are good, for `Dataset.select`.
    decoded : bool
        Whether every image was decoded; if not, only the headers were read.

    Examples
    --------
    >>> from sightline.data import from_annotations, inspect_dataset
    >>> from sightline.core import Annotation, Region
    >>> one = Annotation("a", regions=(Region("door", box=(0, 0, 0.5, 0.5)),))
    >>> both = {"a": one, "b": Annotation("b")}
    >>> report = inspect_dataset(from_annotations("mine", both, files={}))
    >>> report.images, report.kinds, report.empty, report.region_area.mean
    (2, {'box': 1}, ('b',), 0.25)
    """

    name: str
    images: int
    regions: int
    unlabelled: int
    kinds: dict[str, int]
    labels: tuple[LabelCount, ...]
    image_labels: tuple[LabelShare, ...]
    splits: dict[str, int]
    per_image: Spread | None
    empty: tuple[str, ...]
    region_area: Spread | None
    union_area: Spread | None
    clipped: int
    difficult: int
    crowd: int
    ignore: int
    outside: int
    hidden: int
    missing: tuple[str, ...]
    problems: tuple[Problem, ...]
    skipped: tuple[Problem, ...]
    beside: tuple[str, ...]
    unknown_labels: dict[str, int]
    pair_labels: tuple[str, ...]
    pairs: tuple[tuple[int, ...], ...]
    repeated: dict[str, dict[str, int]]
    repeated_share: float
    sometimes_missing: tuple[SometimesMissing, ...]
    sizes: ImageSizes
    usable: tuple[str, ...]
    decoded: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON can hold it; what is undefined is None."""
        found: dict[str, Any] = _plain(self)
        return found


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one image adds to the report; its annotation is not kept."""

    image_id: str
    path: Path | None
    styles: tuple[str, ...]
    labels: Counter[str]
    kinds: Counter[str]
    flags: Counter[str]
    areas: tuple[float, ...]
    union: float | None
    hidden: int
    outside: int
    size: _Size | None
    missing: bool
    problem: Problem | None


def inspect_dataset(
    dataset: Dataset,
    *,
    decode: bool = True,
    progress: Callable[[int, int], object] | None = None,
) -> Report:
    """Report what a data set holds and what is wrong with it.

    Parameters
    ----------
    dataset : Dataset
        From `load_dataset`.
    decode : bool
        Decode every image; otherwise only the headers of the files are read.
    progress : callable, optional
        Called with the number of images done and of all.

    Examples
    --------
    >>> from sightline.data.dataset import from_annotations
    >>> from sightline.core import Annotation, Region
    >>> parts = (Region("door", box=(0, 0, 0.5, 0.5)), Region("door", box=(0.5, 0, 1.0, 1.0)))
    >>> church = Annotation("a.jpg", regions=parts)
    >>> report = inspect_dataset(from_annotations("mine", {"a.jpg": church}, files={}))
    >>> report.regions, report.union_area.mean, report.repeated, report.missing
    (2, 0.75, {'a.jpg': {'door': 2}}, ('a.jpg',))
    """
    seen = []
    for number, image_id in enumerate(dataset.ids, 1):
        seen.append(_look(dataset, image_id, decode))
        if progress is not None:
            progress(number, len(dataset))
    return _summarise(dataset, seen, decode)


def _summarise(dataset: Dataset, seen: Sequence[_Seen], decoded: bool) -> Report:
    flags, kinds = _total(one.flags for one in seen), _total(one.kinds for one in seen)
    own = _total(one.labels for one in seen)
    unlabelled = own.pop("", 0)
    taxonomy, styles = dataset.taxonomy, Counter(style for one in seen for style in one.styles)
    pair_labels, pairs = _pairs(seen)
    repeated = {one.image_id: many for one in seen if (many := _repeats(one))}
    return Report(
        name=dataset.name,
        images=len(seen),
        regions=kinds.total(),
        unlabelled=unlabelled,
        kinds=dict(kinds),
        labels=_count_labels(seen, own, taxonomy),
        image_labels=tuple(LabelShare(s, n, _share(n, seen)) for s, n in styles.most_common()),
        splits=dataset.splits,
        per_image=Spread.of(one.kinds.total() for one in seen),
        empty=tuple(one.image_id for one in seen if not one.kinds),
        region_area=Spread.of(area for one in seen for area in one.areas),
        union_area=Spread.of(one.union for one in seen if one.union is not None),
        **{flag: flags[flag] for flag in _FLAGS},
        outside=sum(one.outside for one in seen),
        hidden=sum(one.hidden for one in seen),
        missing=tuple(one.image_id for one in seen if one.missing),
        problems=tuple(one.problem for one in seen if one.problem),
        skipped=dataset.skipped,
        beside=_beside([one.path for one in seen if one.path]),
        unknown_labels={n: own[n] for n in own if len(taxonomy) and n not in taxonomy},
        pair_labels=pair_labels,
        pairs=pairs,
        repeated=repeated,
        repeated_share=_share(len(repeated), seen),
        sometimes_missing=_sometimes_missing(seen, styles),
        sizes=_sizes([one.size for one in seen]),
        usable=tuple(one.image_id for one in seen if not (one.missing or one.problem)),
        decoded=decoded,
    )


# --- one image -----------------------------------------------------------------------------------


def _look(dataset: Dataset, image_id: str, decode: bool) -> _Seen:
    annotation, path, size, problem = Annotation(image_id), None, None, None
    areas: tuple[float, ...] = ()
    union, missing = None, False
    try:
        sample = dataset.by_id(image_id)  # reads masks that lie in files of their own
        annotation, path = sample.annotation, sample.path
        areas, union = _areas(annotation)
        missing = sample.load is None or (path is not None and not path.exists())
        size = None if missing else _seen_size(sample, dataset.root, decode)
    except InputError as error:
        problem = Problem(f"image {image_id!r}", str(error))
    if size is None and annotation.width and annotation.height:
        size = annotation.width, annotation.height
    hidden = sum("hidden" in region.flags for region in annotation.dropped)
    return _Seen(
        image_id,
        path,
        tuple(dict.fromkeys(annotation.labels)),
        Counter(region.label for region in annotation.regions),
        Counter(region.kind for region in annotation.regions),
        Counter(flag for region in annotation.regions for flag in region.flags),
        areas,
        union,
        hidden,
        len(annotation.dropped) - hidden,
        size,
        missing,
        problem,
    )


def _seen_size(sample: Sample, root: Path | None, decode: bool) -> _Size | None:
    """Return the size of the image, None for one that is drawn and not asked for."""
    if decode:
        height, width = sample.image().shape[:2]
        return width, height
    return header_size(sample, root)


def _areas(annotation: Annotation) -> tuple[tuple[float, ...], float | None]:
    """Return the share of the image that each region covers, and the scored ones together."""
    regions = annotation.regions
    boxes = np.clip([region.box for region in regions], 0, 1).reshape(-1, 4)
    areas = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    if len(regions) <= _MOST_EXACT and all(region.kind == "box" for region in regions):
        union = _boxes_union(boxes, [region.ignore for region in regions])
    else:
        areas, union = _drawn(annotation, areas)
    return tuple(areas.tolist()), union if annotation.scored else None


def _boxes_union(boxes: np.ndarray, ignored: Sequence[bool]) -> float:
    """Return what boxes cover together, on the grid that their own edges make."""
    xs, ys = np.unique(boxes[:, ::2]), np.unique(boxes[:, 1::2])
    covered = np.zeros((max(len(ys) - 1, 0), max(len(xs) - 1, 0)), bool)
    columns, rows = np.searchsorted(xs, boxes[:, ::2]), np.searchsorted(ys, boxes[:, 1::2])
    # What is to be ignored comes last and takes away.
    for number in np.argsort(ignored, kind="stable"):
        (x0, x1), (y0, y1) = columns[number], rows[number]
        covered[y0:y1, x0:x1] = not ignored[number]
    return float(np.diff(ys) @ covered @ np.diff(xs))


def _drawn(annotation: Annotation, areas: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the areas with those of other shapes than boxes drawn, and the union's."""
    width, height = annotation.width or _DRAWN_SIDE, annotation.height or _DRAWN_SIDE
    scale = min(1.0, _DRAWN_SIDE / max(width, height))
    grid = ceil(height * scale), ceil(width * scale)
    union, ignored = np.zeros(grid, bool), np.zeros(grid, bool)
    for number, region in enumerate(annotation.regions):
        mask = region.to_mask(*grid)
        if region.kind != "box":
            areas[number] = np.count_nonzero(mask) / mask.size
        together = ignored if region.ignore else union
        together |= mask
    return areas, np.count_nonzero(union & ~ignored) / union.size


# --- all images ----------------------------------------------------------------------------------


def _total(counters: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for counter in counters:
        total.update(counter)
    return total


def _count_labels(
    seen: Sequence[_Seen], own: Mapping[str, int], taxonomy: Taxonomy
) -> tuple[LabelCount, ...]:
    names = dict.fromkeys((*taxonomy, *own))
    upward = {name: _upward(name, taxonomy) for name in names}
    regions, images = Counter[str](), Counter[str]()
    for name, count in own.items():
        regions.update(dict.fromkeys(upward[name], count))
    for one in seen:
        images.update({above for name in one.labels if name for above in upward[name]})
    ordered = sorted(names, key=lambda name: (-images[name], -regions[name]))
    return tuple(
        LabelCount(name, own.get(name, 0), regions[name], images[name], _share(images[name], seen))
        for name in ordered
    )


def _share(count: int, seen: Sequence[_Seen]) -> float:
    return count / len(seen) if seen else 0.0


def _upward(label: str, taxonomy: Taxonomy) -> tuple[str, ...]:
    return (label, *(taxonomy.ancestors(label) if label in taxonomy else ()))


def _pairs(seen: Sequence[_Seen]) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    images = Counter(label for one in seen for label in one.labels if label)
    labels = tuple(label for label, _ in images.most_common(_MOST_PAIRED))
    column = {label: number for number, label in enumerate(labels)}
    present = np.zeros((len(seen), len(labels)))  # float: integers are multiplied without BLAS
    for row, one in zip(present, seen, strict=True):
        row[[column[label] for label in one.labels if label in column]] = 1
    return labels, tuple(map(tuple, (present.T @ present).astype(int).tolist()))


def _repeats(one: _Seen) -> dict[str, int]:
    return {label: count for label, count in one.labels.items() if label and count > 1}


def _sometimes_missing(
    seen: Sequence[_Seen], styles: Mapping[str, int]
) -> tuple[SometimesMissing, ...]:
    present: dict[str, Counter[str]] = defaultdict(Counter)
    for one in seen:
        for style in one.styles:
            present[style].update(label for label in one.labels if label)
    return tuple(
        SometimesMissing(style, label, count, total - count)
        for style, total in styles.items()
        for label, count in present[style].most_common()
        if count < total
    )


def _sizes(sizes: Sequence[_Size | None]) -> ImageSizes:
    known = [size for size in sizes if size is not None]
    shapes = Counter((width > height) - (width < height) for width, height in known)
    return ImageSizes(
        Spread.of(width for width, _ in known),
        Spread.of(height for _, height in known),
        portrait=shapes[-1],
        landscape=shapes[1],
        square=shapes[0],
        unknown=len(sizes) - len(known),
    )


def _beside(paths: Sequence[Path]) -> tuple[str, ...]:
    """Return the image files of the folders that `paths` lie in, without `paths`.

    What a Python package has in its folder (photos) is its own affair.
    """
    named = set(map(os.fspath, paths))
    folders = {os.path.dirname(path) for path in named}  # noqa: PTH120  # a Path per file is slow
    folders = {folder for folder in folders if not Path(folder, "__init__.py").is_file()}
    found = (
        os.path.join(folder, name)  # noqa: PTH118
        for folder in sorted(folders)
        if os.path.isdir(folder or ".")  # noqa: PTH112
        for name in sorted(os.listdir(folder or "."))  # noqa: PTH208
        if is_image(name)
    )
    return tuple(path for path in found if path not in named)


def _plain(value: Any) -> Any:
    """Return dataclasses and named tuples as dicts, tuples as lists."""
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Problem):
        return value._asdict()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
