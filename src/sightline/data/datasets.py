"""The data sets by name, and the one function that opens any of them."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.core import InputError
from sightline.core.registry import Registry
from sightline.data.formats.checks import check_flags, existing
from sightline.data.problems import Problems

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    from sightline.data.dataset import Dataset

__all__ = ["DATASETS", "DatasetSpec", "load_dataset", "recognise_folder"]


@dataclass(frozen=True, slots=True)
class DatasetSpec:
    """How a kind of data set is opened.

    Attributes
    ----------
    name : str
        What `load_dataset` calls it.
    module : str
        Where its function `read(path, problems, split, *, …)` is.
    meaning : str
        What it is, in one line.
    layout : str
        Which files are expected where; "" when it has no path: drawn, or in a package.
    marks : tuple of str
        Patterns of files: a folder that has one of them is of this kind (`recognise_folder`).

    Examples
    --------
    >>> from sightline.data import DATASETS
    >>> spec = DATASETS["facades"]
    >>> spec.meaning, sorted(spec.options)[:3]
    ('church fronts drawn by code, every part known', ['confounded', 'count', 'labelling'])
    """

    name: str
    module: str
    meaning: str
    layout: str
    marks: tuple[str, ...] = ()

    @property
    def reader(self) -> Callable[..., Dataset]:
        """The function that opens it, imported when first used."""
        read: Callable[..., Dataset] = import_module(self.module).read
        return read

    @property
    def options(self) -> dict[str, Any]:
        """Its own options with their defaults."""
        parameters = inspect.signature(self.reader).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}


_SPLITS = ("train", "val", "valid", "validation", "test")

DATASETS: Registry[DatasetSpec] = Registry("data set")
for _spec in (
    DatasetSpec(
        "facades",
        "sightline.data.facades",
        "church fronts drawn by code, every part known",
        "",
    ),
    DatasetSpec(
        "photos",
        "sightline.data.photos",
        "the photographs inside scikit-image, objects and parts outlined",
        "",
    ),
    DatasetSpec(
        "folder",
        "sightline.data.readers.folder",
        "a folder of images and one file of regions",
        "annotations.json (plain or COCO) or annotations.csv, images anywhere below",
        ("*.json", "*.csv"),
    ),
    DatasetSpec(
        "coco",
        "sightline.data.readers.coco",
        "COCO: boxes, polygons, run lengths, crowds",
        "a .json file, or annotations/*.json and folders of images",
        ("annotations/*.json", "*/_annotations.coco.json"),
    ),
    DatasetSpec(
        "voc",
        "sightline.data.readers.voc",
        "Pascal VOC: boxes with difficult ones, instance masks",
        "Annotations/*.xml and JPEGImages/, or both in one folder; ImageSets/, SegmentationObject/",
        ("Annotations/*.xml", "*.xml", *(f"{split}/*.xml" for split in _SPLITS)),
    ),
    DatasetSpec(
        "yolo",
        "sightline.data.readers.yolo",
        "YOLO: one text file of boxes or polygons per image",
        "images/, labels/, and data.yaml or classes.txt",
        ("labels", "*/labels", "data.yaml", "dataset.yaml"),
    ),
    DatasetSpec(
        "cub",
        "sightline.data.readers.cub",
        "CUB-200-2011: birds with part points, boxes, masks",
        "images.txt, classes.txt, bounding_boxes.txt, parts/, images/, segmentations/",
        ("bounding_boxes.txt", "CUB_200_2011/bounding_boxes.txt"),
    ),
    DatasetSpec(
        "wikichurches",
        "sightline.data.readers.wikichurches",
        "WikiChurches: church fronts with boxes of building parts",
        "building_parts.json, images/, and where present style_names.txt",
        ("building_parts.json",),
    ),
):
    DATASETS.add(_spec.name, _spec)


def load_dataset(
    name: str,
    path: str | os.PathLike[str] | None = None,
    *,
    split: str | None = None,
    skip_bad: bool = False,
    ignore: Sequence[str] = (),
    **options: Any,
) -> Dataset:
    """Open a data set: a sequence of samples whose images are read only when asked for.

    Nothing is ever fetched from a network.

    Parameters
    ----------
    name : str
        One of `DATASETS`: facades, photos, folder, coco, voc, yolo, cub, wikichurches.
    path : path
        Its folder or file; none for facades, which are drawn, and photos.
    split : str, optional
        Only the images of one split.
    skip_bad : bool
        Leave out records that do not fit and list them in `Dataset.skipped`; otherwise the first
        one raises.
    ignore : sequence of str
        Flags ("crowd", "difficult") of regions whose pixels are left out of every score.
    **options
        Those of the data set, checked by name: `DATASETS[name].options`.

    Raises
    ------
    InputError
        If a file or record does not fit, or an option is not one; the message names it.

    Examples
    --------
    >>> churches = load_dataset("facades", count=8, seed=0)
    >>> len(churches), churches[0].image().shape
    (8, (224, 224, 3))
    """
    spec = DATASETS[name]
    _check_options(spec, options)
    if isinstance(ignore, str):
        raise InputError(f"ignore must be a list of flags, got the text {ignore!r}")
    check_flags(list(ignore))
    problems = Problems(skip_bad)
    dataset = spec.reader(_check_path(spec, path), problems, split, **options)
    if split is not None:
        dataset = dataset.in_split(split)
    return dataset.ignoring(*ignore) if ignore else dataset


def recognise_folder(path: str | os.PathLike[str]) -> str:
    """Return the kind of data set that a folder holds, told by its files.

    A folder of images with one file of regions is "folder" only where it is nothing else.

    Raises
    ------
    InputError
        If it holds none, or what fits several; the message names the kinds.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as place:
    ...     _ = (Path(place) / "building_parts.json").write_text("{}")
    ...     recognise_folder(place)
    'wikichurches'
    """
    root = Path(path)
    kinds = [spec.name for spec in DATASETS.values() if _has_marks(root, spec.marks)]
    if len(kinds) > 1 and "folder" in kinds:
        kinds.remove("folder")
    if len(kinds) == 1:
        return kinds[0]
    known = kinds or [spec.name for spec in DATASETS.values() if spec.layout]
    seen = "that may be of several kinds" if kinds else "whose files do not tell what it holds"
    raise InputError(
        f"{path}: is a folder {seen}; say {known[0]}:{path}, or another kind: {', '.join(known)}"
    )


def _has_marks(root: Path, marks: tuple[str, ...]) -> bool:
    """Return whether a folder has a file of one of the patterns; systems' own files are none."""
    found = (file.name for mark in marks for file in root.glob(mark))
    return any(not name.startswith(".") for name in found)


def _check_path(spec: DatasetSpec, path: str | os.PathLike[str] | None) -> Path | None:
    if not spec.layout:
        if path is not None:
            raise InputError(f"{spec.name} needs no files and takes no path, got {str(path)!r}")
        return None
    if path is None:
        raise InputError(f"{spec.name} needs a path to {spec.layout}")
    return existing(path, f"no such file or folder; {spec.name} needs {spec.layout}")


def _check_options(spec: DatasetSpec, options: dict[str, Any]) -> None:
    known = spec.options
    for name in options:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else "."
            raise InputError(
                f"{spec.name} has no option {name!r}{hint} Known: {', '.join(known) or 'none'}"
            )
