"""A folder of images and one file of regions: plain JSON, COCO JSON or CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.core import InputError
from sightline.data.annotations import AnnotationFile, read_annotation_file
from sightline.data.dataset import from_annotations
from sightline.data.readers._image_files import ImageFiles, is_debris, leaves

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from sightline.data.dataset import Dataset
    from sightline.data.problems import Problems

__all__ = ["given_images", "open_dataset", "read"]

_STEMS, _SUFFIXES = ("annotations", "regions"), (".json", ".csv")


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
        images/, or any below in which the image is, for each image by itself.
    """
    root = path if path.is_dir() else path.parent
    file = path if path.is_file() else _find_file(root, annotations)
    if images is not None:
        files = given_images(root, images)
    else:
        files = ImageFiles(root, [root, root / "images"], root)
    found = read_annotation_file(file, problems, files.size)
    return open_dataset("folder", found, file, files, problems)


def given_images(root: Path, images: str | os.PathLike[str]) -> ImageFiles:
    """Return the files of the image folder that the caller names, wherever it is."""
    folder = root / images
    if not folder.is_dir():
        raise InputError(f"images: no such folder {folder}")
    within = folder.resolve().is_relative_to(root.resolve())
    return ImageFiles(root if within else folder, [folder], folder)


def open_dataset(
    kind: str,
    found: AnnotationFile,
    file: Path,
    files: ImageFiles,
    problems: Problems,
    split: str | None = None,
) -> Dataset:
    """Return the data set of an annotation file; `split` tags every image.

    An image whose name leaves the folder, or is that of several files, is set aside; one that is
    missing is not noticed before it is read.
    """
    paths: dict[str, Path | None] = {}
    for image_id in found.annotations:
        name = found.names[image_id]
        with problems.at(f"{file}: image {name!r}"):
            if leaves(name):
                raise InputError(f"leaves the folder {files.root}")
            paths[image_id] = files.find(name)
    annotations = {image_id: found.annotations[image_id] for image_id in paths}
    return from_annotations(
        kind,
        annotations,
        {key: path or files.place(found.names[key]) for key, path in paths.items()},
        splits=found.splits if split is None else dict.fromkeys(annotations, split),
        root=files.root,
        taxonomy=found.taxonomy,
        skipped=problems,
    )


def _find_file(root: Path, annotations: str | os.PathLike[str] | None) -> Path:
    if annotations is not None:
        return root / annotations
    usual = (root / f"{stem}{suffix}" for stem in _STEMS for suffix in _SUFFIXES)
    if first := next((file for file in usual if file.is_file()), None):
        return first
    named = (file for file in root.iterdir() if file.suffix.lower() in _SUFFIXES)
    files = sorted(file for file in named if not is_debris(file.name))
    if len(files) == 1:
        return files[0]
    if not files:
        raise InputError(f"{root}: holds no file of regions (annotations.json, annotations.csv)")
    listed = ", ".join(file.name for file in files)
    raise InputError(f"{root}: several files may hold the regions: {listed}; choose: annotations=")
