"""The files of images, found by the names that a file of regions has for them."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

from sightline.core import InputError, to_image_id
from sightline.data.images import ENDINGS, image_size, inside, is_image

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sightline.data.formats.checks import Size

__all__ = ["ImageFiles", "claim", "find_image", "is_debris", "leaves"]

_LISTED = 5


def is_debris(path: str) -> bool:
    """Return whether a file is one that systems leave behind: hidden, or below __MACOSX."""
    return any(name.startswith(".") or name == "__MACOSX" for name in path.split("/"))


def claim(name: str, record: str, taken: dict[str, str]) -> str:
    """Return the id of an image and note the record it comes from; one id has one record."""
    image_id = to_image_id(name)
    if image_id in taken:
        raise InputError(
            f"image id {image_id!r} of {record} is that of {taken[image_id]} "
            "(in ids '/' is '__' and ' ' is '_')"
        )
    taken[image_id] = record
    return image_id


def find_image(name: str, folders: Sequence[Path]) -> Path | None:
    """Return the file of an image in the first folder that has it, None where none has.

    Its ending may be missing in `name`, or be in other case.
    """
    ending = Path(name).suffix if is_image(name) else ""
    spellings = [
        written
        for known in ([ending] if ending else ENDINGS)
        for written in (known, known.lower(), known.upper(), known.title())
    ]
    for folder in folders:
        start = str(inside(folder, name)).removesuffix(ending)
        for written in spellings:
            if os.path.isfile(start + written):  # noqa: PTH113 # false, too, for a name too long
                return Path(start + written)
    return None


def leaves(name: str) -> bool:
    """Return whether a name leads out of its folder, links aside: those show when it is opened."""
    plain = name.replace("\\", "/")
    return plain.startswith("/") or ".." in plain.split("/")


class ImageFiles:
    """Finds the file of each image for itself.

    Parameters
    ----------
    root : Path
        The data set's folder; no image is read from elsewhere.
    folders : iterable of Path
        What names may be relative to, the first that holds an image first.
    below : Path
        Where images are searched when no folder holds them, with all folders in it.
    """

    def __init__(self, root: Path, folders: Iterable[Path], below: Path) -> None:
        self.root, self._below = root, below
        self._folders = [folder for folder in dict.fromkeys(folders) if folder.is_dir()]
        self._used: dict[Path, None] = {}  # in order

    def find(self, name: str) -> Path | None:
        """Return the file of an image, None when there is none.

        One whose name differs in the case of its ending, in how accents are composed, or in a
        backslash for "/" is taken where none has exactly this name.

        Raises
        ------
        InputError
            If several files have the name, or their folder lies outside the data set.
        """
        for folder in self._folders:
            if os.path.isfile(f"{folder}/{name}"):  # noqa: PTH113  # five times as fast
                return self._use(folder) / name
        alike = self._index.get(_key(name).rpartition("/")[2], ())
        exact = [file for file in alike if f"/{file}".endswith(f"/{name}")]
        found = exact or [file for file in alike if f"/{_key(file)}".endswith(f"/{_key(name)}")]
        for folder in self._folders:
            near = [file for file in found if _key(file) == _key(f"{folder}/{name}")]
            if len(near) == 1:
                return self._use(folder) / Path(near[0]).relative_to(folder)
        if len(found) > 1:
            shown = ", ".join(os.path.relpath(file, self.root) for file in found[:_LISTED])
            more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
            raise InputError(f"{len(found)} files have this name: {shown}{more}; choose: images=")
        return Path(found[0]) if found else None

    def place(self, name: str) -> Path:
        """Return where an image that is missing is expected: beside the others."""
        return next(iter(self._used), self.root) / name

    def size(self, name: str) -> Size | None:
        """Return the width and height of an image by its file, None when there is none."""
        path = None if leaves(name) else self.find(name)
        if path is None:
            return None
        return image_size(inside(self.root, str(path.absolute())))

    def _use(self, folder: Path) -> Path:
        if folder not in self._used:
            inside(self.root, str(folder.absolute()))
            self._used[folder] = None
        return folder

    @cached_property
    def _index(self) -> dict[str, list[str]]:
        """The image files below, by what their names have in common with those alike."""
        index: dict[str, list[str]] = {}
        for file in sorted(_images_in(self._below)):
            index.setdefault(_key(file).rpartition("/")[2], []).append(file)
        return index


def _key(name: str) -> str:
    """Return what names that are alike have in common."""
    stem, dot, ending = normalize("NFC", name).replace("\\", "/").rpartition(".")
    return stem + dot + ending.lower()


def _images_in(folder: Path) -> Iterator[str]:
    """Yield the paths of the image files in a folder and below, but for hidden ones."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not is_debris(name)]
        base = str(Path(place))  # as other paths are written: "images", not "./images"
        for name in names:
            if not is_debris(name) and name.lower().endswith(ENDINGS):
                yield f"{base}/{name}"
