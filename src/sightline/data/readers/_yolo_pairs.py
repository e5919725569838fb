"""Which label file of a YOLO data set belongs to which image."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from sightline.data.readers._splits import SPLITS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from sightline.data.problems import Problems

__all__ = ["PLACES", "Pairs", "pair", "split_folder", "swap"]

PLACES = (
    "a .txt file beside the image, in labels/ beside it, in labels/ where the image is in images/, "
    "or of the same name in any folder labels/"
)
"""Where the label file of an image may be."""

_SPLIT_FOLDER = re.compile(rf"({'|'.join(SPLITS)})\d*")


class Pairs(NamedTuple):
    """Paths in the folder of a data set.

    Attributes
    ----------
    labels : dict of str to str
        The label file of each image that has one.
    alone : list of str
        The files in folders called labels that belong to no image.
    unclear : set of str
        The images whose label file could be one of several; each was told to be a problem.
    """

    labels: dict[str, str]
    alone: list[str]
    unclear: set[str]


def pair(images: Collection[str], texts: set[str], root: Path, problems: Problems) -> Pairs:
    """Find the label file of each image: where it belongs, else by its name alone."""
    usual = ((image, _usual(image, texts)) for image in images)
    labels = {image: label for image, label in usual if label is not None}
    rest = sorted(texts.difference(labels.values()))
    alone = [name for name in rest if "labels" in name.split("/")[:-1]]
    owners = _owners(alone, images, labels)
    claims = Counter(image for found in owners.values() for image in found)
    stems = Counter(map(_stem, owners))
    unclear: set[str] = set()
    for label, found in owners.items():
        if len(found) == 1 and claims[found[0]] == 1:
            labels[found[0]] = label
        else:
            unclear.update(found)
            also = ", and so may another of its name" if stems[_stem(label)] > 1 else ""
            problems.add(str(root / label), f"may belong to {' or '.join(found)}{also}")
    return Pairs(labels, [name for name in alone if name not in owners], unclear)


def _usual(image: str, texts: set[str]) -> str | None:
    """Return the label file of an image at one of the usual places."""
    beside = image.rpartition(".")[0] + ".txt"
    folder, slash, name = beside.rpartition("/")
    places = (swap(beside, "images", "labels"), beside, f"{folder}{slash}labels/{name}")
    return next((place for place in places if place in texts), None)


def _owners(
    alone: Collection[str], images: Collection[str], labels: Mapping[str, str]
) -> dict[str, list[str]]:
    """Return the images without labels that are named like a label file, if there are any.

    Not those in a folder where others have labels (there is nothing on them), nor in another split.
    """
    settled = {_folder(image) for image in labels}
    by_stem: dict[str, list[str]] = {}
    for image in images:
        if _folder(image) not in settled:
            by_stem.setdefault(_stem(image), []).append(image)
    owners: dict[str, list[str]] = {}
    for label in alone:
        named, split = by_stem.get(_stem(label), []), split_folder(label)
        same = [image for image in named if not split or split_folder(image) == split]
        if found := same or [image for image in named if not split_folder(image)]:
            owners[label] = found
    return owners


def split_folder(path: str) -> str:
    """Return the first folder of a path that is called like a split."""
    folders = path.split("/")[:-1]
    return next((folder for folder in folders if _SPLIT_FOLDER.fullmatch(folder)), "")


def swap(path: str, old: str, new: str) -> str:
    """Return a path with the last of its folders that is called `old` renamed."""
    *folders, name = path.split("/")
    if old in folders:
        last = len(folders) - 1 - folders[::-1].index(old)
        folders[last] = new
    return "/".join([*folders, name])


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]
