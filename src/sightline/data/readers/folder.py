"""A folder of images and one file of regions: plain JSON, COCO JSON or CSV."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sightline.data.annotations import AnnotationFile, read_annotation_file
from sightline.data.dataset import from_annotations
from sightline.data.images import inside, is_image
from sightline.records import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sightline.data.dataset import Dataset
    from sightline.data.problems import Problems

__all__ = ["Source", "given_images", "holding", "open_dataset", "read"]

_STEMS, _SUFFIXES = ("annotations", "regions"), (".json", ".csv")


class Source(NamedTuple):
    """Where a data set lies.

    Attributes
    ----------
    root : Path
        Its folder; no image is read from elsewhere.
    file : Path
        The file of regions.
    images : Path
        What the names in the file are relative to.
    """

    root: Path
    file: Path
    images: Path


def read(
    path: Path,
    problems: Problems,
    split: str | None,
    *,
    annotations: str | os.PathLike[str] | None = None,
    images: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Open a folder of images with its file of regions.

    Parameters
    ----------
    path : Path
        The folder, or the file of regions in it.
    problems : Problems
        Where records that do not fit are set aside.
    split : str or None
        Not used: the file says which image is in which split.
    annotations : path, optional
        The file of regions in the folder; by default annotations.json, annotations.csv,
        regions.json, regions.csv, or the only .json or .csv file.
    images : path, optional
        The folder that the names in the file are relative to; by default the folder itself, its
        images/, or the one below in which they are.
    """
    root = path if path.is_dir() else path.parent
    file = path if path.is_file() else _find_file(root, annotations)
    found = read_annotation_file(file, problems)
    if images is not None:
        return open_dataset("folder", found, given_images(root, file, images), problems)
    names = found.names.values()
    folder = holding([root, root / "images"], names) or _below(root, names) or root
    return open_dataset("folder", found, Source(root, file, folder), problems)


def given_images(root: Path, file: Path, images: str | os.PathLike[str]) -> Source:
    """Return the source with the image folder that the caller names, wherever it is."""
    folder = root / images
    if not folder.is_dir():
        raise InputError(f"images: no such folder {folder}")
    return Source(root if folder.resolve().is_relative_to(root.resolve()) else folder, file, folder)


def holding(folders: Iterable[Path], names: Iterable[str]) -> Path | None:
    """Return the folder that holds the first of the images that is in any of them."""
    there = [folder for folder in dict.fromkeys(folders) if folder.is_dir()]
    pairs = product([name for name in names if not _leaves(name)], there)
    return next((folder for name, folder in pairs if os.path.isfile(f"{folder}/{name}")), None)  # noqa: PTH113  # five times as fast


def open_dataset(
    kind: str, found: AnnotationFile, source: Source, problems: Problems, split: str | None = None
) -> Dataset:
    """Return the data set of an annotation file; `split` tags every image.

    A name that leaves the folder is set aside; a missing image is not noticed before it is read.
    """
    annotations = dict(found.annotations)
    inside(source.root, str(source.images.absolute()))
    for image_id, name in found.names.items():
        if _leaves(name):
            problems.add(f"{source.file}: image {name!r}", f"leaves the folder {source.images}")
            del annotations[image_id]
    return from_annotations(
        kind,
        annotations,
        {image_id: source.images / found.names[image_id] for image_id in annotations},
        splits=found.splits if split is None else dict.fromkeys(annotations, split),
        root=source.root,
        taxonomy=found.taxonomy,
        skipped=problems,
    )


def _leaves(name: str) -> bool:
    """Return whether a name leads out of its folder, links aside: those show when it is opened."""
    return name.startswith("/") or ".." in name.split("/")


def _find_file(root: Path, annotations: str | os.PathLike[str] | None) -> Path:
    if annotations is not None:
        return root / annotations
    usual = (root / f"{stem}{suffix}" for stem in _STEMS for suffix in _SUFFIXES)
    if first := next((file for file in usual if file.is_file()), None):
        return first
    files = sorted(file for file in root.iterdir() if file.suffix.lower() in _SUFFIXES)
    if len(files) == 1:
        return files[0]
    if not files:
        raise InputError(f"{root}: holds no file of regions (annotations.json, annotations.csv)")
    listed = ", ".join(file.name for file in files)
    raise InputError(f"{root}: several files may hold the regions: {listed}; choose: annotations=")


def _below(root: Path, names: Iterable[str]) -> Path | None:
    """Return the folder somewhere below that holds the first of the images that is there."""
    files: dict[str, list[str]] = {}
    for file in sorted(_images_below(root)):
        files.setdefault(file.rpartition("/")[2], []).append(file)
    for name in names:
        for file in files.get(name.rpartition("/")[2], ()):
            if file.endswith(f"/{name}"):
                return root / file.removesuffix(name)
    return None


def _images_below(root: Path) -> Iterator[str]:
    for place, _, names in os.walk(root):
        for name in names:
            if is_image(name):
                yield Path(place, name).relative_to(root).as_posix()
