"""COCO: a .json file of boxes, polygons, run lengths and crowds, and folders of images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.core import InputError
from sightline.data.annotations import read_annotation_file
from sightline.data.readers._image_files import ImageFiles, is_debris
from sightline.data.readers._splits import split_names
from sightline.data.readers.folder import given_images, open_dataset

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from pathlib import Path

    from sightline.data.dataset import Dataset
    from sightline.data.problems import Problems

__all__ = ["read"]

_PLACES = ("*.json", "annotations/*.json", "*/_annotations.coco.json")


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
        The .json file, or the folder it is in, itself or in its annotations/; or one with a
        folder for each split, which holds _annotations.coco.json and the images.
    problems : Problems
        Where records that do not fit are set aside.
    split : str or None
        Chooses the file that is named so (annotations/instances_<split>.json,
        annotations/<split>.json, another that ends in _<split>.json) or lies in a folder of this
        name, and tags every image, unless the file itself says which image is in which split.
    annotations : path, optional
        The .json file in the folder.
    images : path, optional
        The folder of the images; by default the one named as the file or the split is, there or
        in images/, else the file's own, images/, the folder itself, or any below.
    """
    file = path if path.is_file() else _find_file(path, split, annotations)
    root = path if path.is_dir() else _base(file)
    files = given_images(root, images) if images is not None else _files(root, file, split)
    found = read_annotation_file(file, problems, files.size)
    tag = None
    if split and split not in found.splits.values():
        if _is_of(file, split):
            tag = split
        elif not found.splits:
            raise InputError(_no_split(root, [file], split))
    return open_dataset("coco", found, file, files, problems, tag)


# --- the file ------------------------------------------------------------------------------------


def _find_file(root: Path, split: str | None, annotations: str | os.PathLike[str] | None) -> Path:
    if annotations is not None:
        return root / annotations
    files = _json_files(root)
    for name in split_names(split) if split else ():
        for file in (root / "annotations" / f"{stem}.json" for stem in (f"instances_{name}", name)):
            if file in files:
                return file
    named = [file for file in files if split and _is_of(file, split)]
    files = _coco_files(named) or _coco_files(files)
    if len(files) == 1:
        return files[0]
    if not files:
        raise InputError(f"{root}: holds no COCO file, itself or in annotations/ (.json)")
    if split and not named:
        raise InputError(_no_split(root, files, split))
    listed = _listed(files, root)
    raise InputError(f"{root}: holds several COCO files: {listed}; choose: split= or annotations=")


def _json_files(root: Path) -> list[Path]:
    found = {file for place in _PLACES for file in root.glob(place) if file.is_file()}
    return sorted(file for file in found if not is_debris(file.name))


def _coco_files(files: list[Path]) -> list[Path]:
    """Return the files that look like COCO; one alone need not, since reading it says more."""
    return files if len(files) < 2 else [file for file in files if _looks_like_coco(file)]


def _looks_like_coco(file: Path) -> bool:
    content = file.read_bytes()
    return all(word in content for word in (b'"images"', b'"annotations"', b'"categories"'))


def _is_of(file: Path, split: str) -> bool:
    """Return whether a file, or its folder, is named after a split."""
    folder = file.absolute().parent.name
    return any(
        f"_{file.stem}".endswith(f"_{name}") or folder == name for name in split_names(split)
    )


def _no_split(root: Path, files: Iterable[Path], split: str) -> str:
    return f"{root}: no file of split {split!r}; there are: {_listed(files, root)}"


def _listed(files: Iterable[Path], root: Path) -> str:
    return ", ".join(file.as_posix().removeprefix(f"{root.as_posix()}/") for file in files)


# --- the images ----------------------------------------------------------------------------------


def _base(file: Path) -> Path:
    """Return the folder of the data set that a file is of."""
    folder = file.parent
    return folder.absolute().parent if folder.absolute().name == "annotations" else folder


def _files(root: Path, file: Path, split: str | None) -> ImageFiles:
    """Return the image files in the usual folders, or below one that is named as the file is."""
    names = [file.stem.removeprefix("instances_"), file.stem.rpartition("_")[2], split]
    bases = [base for base in (*file.parents[:2], root) if base.is_relative_to(root)]
    own = [f / name for base in bases for f in (base, base / "images") for name in names if name]
    usual = [folder for base in bases for folder in (base / "images", base)]
    named = (folder for folder in own if folder.is_dir() and folder != file.parent)
    below = next(named, root if _base(file) != file.parent else bases[0])
    return ImageFiles(root, [*own, *usual], below)
