"""Which files a Pascal VOC data set has; `sightline.data.readers.voc` says how they are laid."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from sightline.core import InputError
from sightline.data.formats.lines import table
from sightline.data.images import inside
from sightline.data.readers._image_files import find_image, is_debris
from sightline.data.readers._splits import SPLITS, split_asked

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.data.problems import Problems

__all__ = ["Layout", "Place", "find_layout", "image_of", "read_splits"]

_XML_FOLDERS = ("Annotations", "annotations", "ANNOTATIONS")
_IMAGE_FOLDERS = ("JPEGImages", "images", "Images")
_LISTS = ("train", "val", "test")


class Place(NamedTuple):
    """A folder of XML files.

    Attributes
    ----------
    xml : Path
        The folder.
    images : list of Path
        Where the images of its files may be.
    split : str
        The split that the folder stands for; "" when it is the only one.
    """

    xml: Path
    images: list[Path]
    split: str


class Layout(NamedTuple):
    """The folder of a data set, and where its XML files are."""

    root: Path
    places: list[Place]


def find_layout(path: Path) -> Layout:
    """Return the layout of a folder, or of the only one below it that has an Annotations folder."""
    if places := _places(path, beside=True):
        return Layout(path, places)
    folders = [*sorted(path.glob("*")), *sorted(path.glob("VOCdevkit/*"))]
    below = [Layout(folder, _places(folder)) for folder in folders if not is_debris(folder.name)]
    found = [layout for layout in below if layout.places]
    if not found:
        raise InputError(
            f"{path}: needs XML files in a folder Annotations, beside the images, or in folders "
            f"{', '.join(SPLITS)}"
        )
    if len(found) > 1:
        names = ", ".join(layout.root.name for layout in found)
        raise InputError(f"{path}: holds several data sets, name one of them: {names}")
    return found[0]


def _places(root: Path, beside: bool = False) -> list[Place]:
    """Return the folders of XML files: one, or one for each split."""
    if here := _place(root, "", beside):
        return [here]
    splits = (_place(root / name, name, beside=True) for name in SPLITS)
    return [place for place in splits if place is not None]


def _place(base: Path, split: str, beside: bool) -> Place | None:
    folders = [*(base / name for name in _XML_FOLDERS), *([base] if beside else [])]
    xml = next((folder for folder in folders if _ids(folder)), None)
    if xml is None:
        return None
    images = (*(base / name for name in _IMAGE_FOLDERS), xml, base)
    return Place(xml, [folder for folder in dict.fromkeys(images) if folder.is_dir()], split)


def _ids(folder: Path) -> list[str]:
    return sorted(file.stem for file in folder.glob("*.xml") if not is_debris(file.name))


def read_splits(
    layout: Layout, problems: Problems, split: str | None, masks: bool
) -> list[tuple[Place, str, str]]:
    """Return the place, the id and the split of each file to read."""
    root, (place, *others) = layout
    if place.split:
        pairs = [(place, name) for place in (place, *others) for name in _ids(place.xml)]
        return [(place, name, split_asked(place.split, split)) for place, name in pairs]
    tags = _tags(root, problems, split, masks)
    names = _ids(place.xml) if split is None else tags
    return [(place, name, tags.get(name, "")) for name in names]


def _tags(root: Path, problems: Problems, split: str | None, masks: bool) -> dict[str, str]:
    """Return the splits of ids that are listed: in the list of `split`, or in any."""
    folder = root / "ImageSets" / "Segmentation"
    if not (masks and folder.is_dir()):
        folder = root / "ImageSets" / "Main"
    if split is not None:
        file = inside(folder, f"{split}.txt")
        if not os.path.isfile(file):  # noqa: PTH113  # false, too, for a name too long
            lists = (other.stem for other in folder.glob("*.txt") if not is_debris(other.name))
            known = ", ".join(sorted(lists)) or "none"
            raise InputError(f"{file}: no list of split {split!r}; lists: {known}")
        return dict.fromkeys(_listed(file, problems, root), split)
    tags: dict[str, str] = {}
    for name in _LISTS:
        if (file := folder / f"{name}.txt").is_file():
            tags = {**dict.fromkeys(_listed(file, problems, root), name), **tags}
    return tags


def _listed(file: Path, problems: Problems, root: Path) -> list[str]:
    """Return the ids of a list; of a class's list those that show it, or might (1 or 0, not -1)."""
    return [name for name, shows in table(file, problems, _id_line, root).items() if shows]


def _id_line(line: str) -> tuple[str, bool]:
    match line.split():
        case [name]:
            return name, True
        case [name, ("-1" | "0" | "1") as shows]:
            return name, shows != "-1"
    raise InputError(f"must be one id, or an id and -1, 0 or 1, got {line!r}")


def image_of(place: Place, name: str, written: str) -> tuple[str, Path]:
    """Return the name and the file of the image of an XML file.

    That is what the file says or, where that is not there, an image named like the file itself:
    files are renamed more often than what is written in them. Of a path that leads elsewhere, as
    on the machine of the annotator, the last part counts.
    """
    written = written.replace("\\", "/") or name
    if written.startswith("/") or ".." in written.split("/"):
        written = written.rpartition("/")[2] or name
    path = find_image(written, place.images)
    if path is None and (path := find_image(name, place.images)) is not None:
        written = path.name
    prefix = f"{place.split}/" if place.split else ""
    return prefix + written, path or place.images[0] / written
