"""Which files a YOLO data set has: `sightline.data.readers.yolo` says how they are laid out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import yaml

from sightline.data.formats.checks import located
from sightline.data.formats.lines import lines, read_text
from sightline.data.images import inside, is_image
from sightline.records import InputError

if TYPE_CHECKING:
    from collections.abc import Collection

    from sightline.data.problems import Problems

__all__ = ["Item", "class_names", "find_config", "find_items", "read_config"]

_SPLITS = ("train", "val", "test")
_SPLIT_FOLDER = re.compile(r"(train|val|valid|test)\d*")
_NAME_FILES = ("classes.txt", "obj.names", "labels/classes.txt", "labels/obj.names")
_Place: TypeAlias = tuple[str, str | dict[str, None]]  # split; its folder, or its images


class Item(NamedTuple):
    """An image, its label file, or both; paths in the folder."""

    name: str
    image: str | None
    label: str | None
    split: str

    @property
    def record(self) -> str:
        """The file that errors name."""
        return self.label or self.image or self.name


def find_config(root: Path) -> Path | None:
    """Return the .yaml file of a folder, if it has one."""
    for name in ("data.yaml", "dataset.yaml"):
        if (root / name).is_file():
            return root / name
    found = sorted(path for path in root.glob("*") if path.suffix in (".yaml", ".yml"))
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise InputError(f"{root}: has several .yaml files, call one data.yaml: {names}")
    return found[0] if found else None


def read_config(file: Path) -> dict[str, Any]:
    """Return what a .yaml file says."""
    with located(str(file)):
        try:
            config = yaml.safe_load(read_text(file))
        except (yaml.YAMLError, RecursionError) as error:
            raise InputError(f"is not valid YAML: {error}") from error
        if config is None:
            return {}
        if not isinstance(config, dict):
            raise InputError(f"must be names with values, got a {type(config).__name__}")
        if "kpt_shape" in config:
            raise InputError("kpt_shape: key points cannot be told from polygons and are not read")
    return config


def class_names(
    root: Path, file: Path | None, config: Mapping[str, Any], names: Any
) -> dict[int, str] | None:
    """Return the names of the classes by number, None where nothing says them."""
    if names is not None:
        return _numbered("names", names)
    if "names" in config:
        return _numbered(f"{file}: names", config["names"])
    for path in (root / name for name in _NAME_FILES):
        if path.is_file():
            with located(str(path)):
                content = read_text(path).rstrip()
            return _numbered(str(path), [line.strip() for line in content.split("\n")])
    return None


def _numbered(where: str, names: Any) -> dict[int, str]:
    if isinstance(names, list | tuple):
        names = dict(enumerate(names))
    if not isinstance(names, Mapping) or not names:
        raise InputError(f"{where} must be a list, or numbers with names")
    found: dict[int, str] = {}
    numbers: dict[str, int] = {}
    # Values are not shown: a few lines of YAML can stand for gigabytes.
    for number, name in names.items():
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            raise InputError(f"{where}: number of a class must be whole and >= 0")
        if isinstance(name, bool) or not isinstance(name, str | int | float) or name == "":
            kind = type(name).__name__
            raise InputError(f"{where}: name of class {number} must be text (in quotes), is {kind}")
        if (label := str(name)) in numbers:
            raise InputError(f"{where}: classes {numbers[label]} and {number} are both {label!r}")
        found[number], numbers[label] = label, number
    return found


def find_items(
    root: Path, config: Mapping[str, Any], split: str | None, problems: Problems
) -> Iterator[Item]:
    """Yield the images with their label files, then the label files without an image."""
    images, texts = _walk(root)
    places = _places(root, config, split, problems)
    listed = [name for _, place in places if isinstance(place, dict) for name in place]
    used: set[str] = set()
    for image in dict.fromkeys([*images, *listed]):
        label = next((name for name in _labels_of(image) if name in texts), None)
        if label is not None:
            used.add(label)
        elif not (root / image).is_file():
            problems.add(str(root / image), "neither the image nor its label file is there")
            continue
        yield Item(_without(image, "images"), image, label, _split(image, places))
    alone = [name for name in sorted(texts - used) if "labels" in name.split("/")[:-1]]
    for label in alone:
        image = _swap(label.removesuffix(".txt"), "labels", "images")
        yield Item(_without(image, "images"), None, label, _split(image, places))
    if not (images or listed or alone):
        raise InputError(f"{root}: holds neither images nor a folder of labels")


def _walk(root: Path) -> tuple[list[str], set[str]]:
    """Return the images and the text files in a folder and those below, links not followed."""
    images: list[str] = []
    texts: set[str] = set()
    for folder, below, files in os.walk(root):
        below.sort()
        prefix = Path(folder).relative_to(root).as_posix() + "/"
        for name in sorted(files):
            path = name if prefix == "./" else prefix + name
            if is_image(name):
                images.append(path)
            elif name.endswith(".txt") and name != "classes.txt":
                texts.add(path)
    return images, texts


def _places(
    root: Path, config: Mapping[str, Any], split: str | None, problems: Problems
) -> list[_Place]:
    """Return the folders and lists of images that the .yaml file gives to splits."""
    base = _stays(root, root, config.get("path")) or root
    places: list[_Place] = []
    # An image belongs to the first split that has it: the one that is asked for.
    for name in sorted(_SPLITS, key=lambda name: name != split):
        entries = config.get(name)
        for entry in entries if isinstance(entries, list) else [entries]:
            path = _stays(root, base, entry)
            if path is not None and path.is_dir():
                below = Path(os.path.relpath(path, root)).as_posix()
                places.append((name, "" if below == "." else below + "/"))
            elif path is not None:
                places.append((name, _listed(root, path, problems)))
    return places


def _stays(root: Path, base: Path, entry: Any) -> Path | None:
    """Return what an entry of the .yaml file names, None unless it is there, in the folder."""
    if not isinstance(entry, str) or not entry:
        return None
    path = Path(base, entry.removeprefix("../"))
    try:
        inside(root, os.path.relpath(path, root))
    except InputError:
        return None
    return path if path.exists() else None


def _listed(root: Path, file: Path, problems: Problems) -> dict[str, None]:
    """Return the images that a list names, one a line."""
    with located(str(file)):
        content = read_text(file)
    found: dict[str, None] = {}
    for number, line in lines(content):
        with problems.at(f"{file} line {number}"):
            if not is_image(line):
                raise InputError(f"must name an image, got {line!r}")
            found[Path(os.path.relpath(inside(root, line), root)).as_posix()] = None
    return found


def _split(image: str, places: Collection[_Place]) -> str:
    for split, place in places:
        if image in place if isinstance(place, dict) else image.startswith(place):
            return split
    folders = PurePosixPath(image).parts[:-1]
    return next((folder for folder in folders if _SPLIT_FOLDER.fullmatch(folder)), "")


def _labels_of(image: str) -> list[str]:
    """Return where the label file of an image may be."""
    beside = image.rpartition(".")[0] + ".txt"
    return [_swap(beside, "images", "labels"), beside]


def _swap(path: str, old: str, new: str) -> str:
    """Return a path with the last of its folders that is called `old` renamed."""
    *folders, name = path.split("/")
    if old in folders:
        last = len(folders) - 1 - folders[::-1].index(old)
        folders[last] = new
    return "/".join([*folders, name])


def _without(path: str, folder: str) -> str:
    """Return a path without the last of its folders of that name."""
    return _swap(path, folder, "").replace("//", "/").lstrip("/")
