"""COCO: a .json file of boxes, polygons, run lengths and crowds, and folders of images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.data.annotations import read_annotation_file
from sightline.data.readers.folder import Source, given_images, holding, open_dataset
from sightline.records import InputError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from sightline.data.dataset import Dataset
    from sightline.data.problems import Problems

__all__ = ["read"]


def read(
    path: Path,
    problems: Problems,
    split: str | None,
    *,
    annotations: str | os.PathLike[str] | None = None,
    images: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Open a COCO data set.

    Parameters
    ----------
    path : Path
        The .json file, or the folder it is in, itself or in its annotations/.
    problems : Problems
        Where records that do not fit are set aside.
    split : str or None
        Chooses annotations/instances_<split>.json or annotations/<split>.json, and tags every
        image, unless the file itself says which image is in which split.
    annotations : path, optional
        The .json file in the folder.
    images : path, optional
        The folder of the images; by default <split>/, images/<split>/, images/ or the folder
        itself, whichever holds them.
    """
    file = path if path.is_file() else _find_file(path, split, annotations)
    found = read_annotation_file(file, problems)
    if images is not None:
        source = given_images(path if path.is_dir() else file.parent, file, images)
    else:
        source = _find_images(path, file, split, found.names.values())
    chosen = split is not None and file in _files_of(path, split)
    tag = split if chosen or not found.splits else None
    return open_dataset("coco", found, source, problems, tag)


def _files_of(root: Path, split: str) -> tuple[Path, Path]:
    folder = root / "annotations"
    return folder / f"instances_{split}.json", folder / f"{split}.json"


def _find_file(root: Path, split: str | None, annotations: str | os.PathLike[str] | None) -> Path:
    if annotations is not None:
        return root / annotations
    named = _files_of(root, split) if split is not None else ()
    if first := next((file for file in named if file.is_file()), None):
        return first
    files = sorted([*root.glob("*.json"), *root.glob("annotations/*.json")])
    if len(files) > 1:
        files = [file for file in files if _looks_like_coco(file)]
    if len(files) == 1:
        return files[0]
    if not files:
        raise InputError(f"{root}: holds no COCO file, itself or in annotations/ (.json)")
    listed = ", ".join(file.relative_to(root).as_posix() for file in files)
    raise InputError(f"{root}: holds several COCO files: {listed}; choose: split= or annotations=")


def _looks_like_coco(file: Path) -> bool:
    content = file.read_bytes()
    return b'"images"' in content and b'"annotations"' in content


def _find_images(path: Path, file: Path, split: str | None, names: Iterable[str]) -> Source:
    """Return the first of the usual folders that holds images of the file."""
    guess = split if split is not None else file.stem.removeprefix("instances_")
    roots = [path] if path.is_dir() else [file.parent, file.parent.absolute().parent]
    for root in roots:
        bases = [base for base in (root, *file.parents[:2]) if base.is_relative_to(root)]
        folder = holding([folder for base in bases for folder in _usual(base, guess)], names)
        if folder is not None:
            return Source(root, file, folder)
    return Source(roots[0], file, roots[0])


def _usual(base: Path, split: str) -> Iterator[Path]:
    yield from (base / split, base / "images" / split, base / "images", base)
