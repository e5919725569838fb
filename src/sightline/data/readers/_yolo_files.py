"""Which files a YOLO data set has: `sightline.data.readers.yolo` says how they are laid out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from sightline.core import InputError
from sightline.data.formats.checks import located, show, text
from sightline.data.formats.lines import lines, read_text
from sightline.data.formats.plain_yaml import parse_yaml
from sightline.data.images import inside, is_image
from sightline.data.readers._image_files import is_debris
from sightline.data.readers._splits import SPLITS, split_asked
from sightline.data.readers._yolo_pairs import PLACES, pair, split_folder, swap

if TYPE_CHECKING:
    from collections.abc import Collection

    from sightline.data.problems import Problems

__all__ = ["Item", "class_names", "find_config", "find_items", "read_config"]

_NAME_FILES = ("classes.txt", "obj.names", "labels/classes.txt", "labels/obj.names")
_Placed: TypeAlias = str | dict[str, None]  # a folder, or images
_Place: TypeAlias = tuple[str, _Placed]  # split, what it has


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
    files = [path for path in sorted(root.glob("*")) if path.suffix in (".yaml", ".yml")]
    found = [path for path in files if not is_debris(path.name)]
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise InputError(f"{root}: has several .yaml files, call one data.yaml: {names}")
    return found[0] if found else None


def read_config(file: Path, root: Path | None) -> dict[str, Any]:
    """Return what a .yaml file says, which must be in `root` where that is given."""
    with located(str(file)):
        content = read_text(file, root)
        config = parse_yaml(content)
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
                content = read_text(path, root).rstrip()
            found = [line.strip() for line in content.split("\n")]
            if "" in found:
                number = found.index("") + 1
                raise InputError(f"{path} line {number}: is blank, but each line names a class")
            return _numbered(str(path), found)
    return None


def _numbered(where: str, names: Any) -> dict[int, str]:
    if isinstance(names, list | tuple):
        names = dict(enumerate(names))
    if not isinstance(names, Mapping) or not names:
        raise InputError(f"{where} must be a list, or numbers with names")
    found: dict[int, str] = {}
    numbers: dict[str, int] = {}
    # Values are not shown: a few lines of YAML can stand for gigabytes.
    for key, name in names.items():
        # "0": in quotes is a number all the same
        number = int(key) if isinstance(key, str) and key.isdecimal() and len(key) < 10 else key
        if not _is_whole(number) or number < 0:
            raise InputError(f"{where}: number of a class must be whole and >= 0")
        if not (isinstance(name, str | float) or _is_whole(name)) or name == "":
            kind = type(name).__name__
            raise InputError(f"{where}: name of class {number} must be text (in quotes), is {kind}")
        if (label := text(str(name), f"{where}: name of class {number}")) in numbers:
            both = f"{numbers[label]} and {number}"
            raise InputError(f"{where}: classes {both} are both {show(label)}")
        found[number], numbers[label] = label, number
    return found


def _is_whole(value: Any) -> bool:
    """Return whether a value is a whole number that can be shown: YAML has some that cannot."""
    is_int = isinstance(value, int) and not isinstance(value, bool)
    return is_int and abs(value) < 1 << 63


def find_items(
    root: Path, config: Mapping[str, Any], split: str | None, problems: Problems
) -> Iterator[Item]:
    """Yield the images with their label files, then the label files without an image."""
    images, texts = _walk(root)
    places = _places(root, config, split, problems)
    names = {_folded(image): image for image in images}
    places = [(tag, _as_found(place, names)) for tag, place in places]
    listed = [name for _, place in places if isinstance(place, dict) for name in place]
    wanted = dict.fromkeys([*images, *listed])
    labels, alone, unclear = pair(wanted, texts, root, problems)
    if wanted and not labels and not unclear:
        raise InputError(
            f"{root}: none of its {len(wanted)} images has a label file; looked for were {PLACES} "
            "(folders that are links are not followed)"
        )
    for image in wanted:
        if image in labels or (image not in unclear and os.path.isfile(root / image)):  # noqa: PTH113
            tag = split_asked(_split(image, places), split)
            yield Item(_without(image, "images"), image, labels.get(image), tag)
        elif image not in unclear:
            problems.add(str(root / image), "neither the image nor its label file is there")
    for label in alone:
        image = swap(label.removesuffix(".txt"), "labels", "images")
        tag = split_asked(_split(image, places), split)
        yield Item(_without(image, "images"), None, label, tag)
    if not (wanted or alone):
        raise InputError(f"{root}: holds neither images nor a folder of labels")


def _folded(image: str) -> str:
    """Return a path with its ending in lower case."""
    stem, dot, ending = image.rpartition(".")
    return stem + dot + ending.lower()


def _as_found(place: _Placed, names: Mapping[str, str]) -> _Placed:
    """Return a list of images as their files are called: endings may differ in case."""
    if isinstance(place, str):
        return place
    return dict.fromkeys(names.get(_folded(image), image) for image in place)


def _walk(root: Path) -> tuple[list[str], set[str]]:
    """Return the images and the text files in a folder and those below, links not followed."""
    images: list[str] = []
    texts: set[str] = set()
    for folder, below, files in os.walk(root):
        below[:] = sorted(name for name in below if not is_debris(name))
        prefix = Path(folder).relative_to(root).as_posix() + "/"
        for name in sorted(files):
            path = name if prefix == "./" else prefix + name
            if is_debris(name):
                continue
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
    for name in sorted(SPLITS, key=lambda name: split_asked(name, split) != split):
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
        return path if path.exists() else None
    except (InputError, OSError):  # an OSError: the name is too long
        return None


def _listed(root: Path, file: Path, problems: Problems) -> dict[str, None]:
    """Return the images that a list names, one a line."""
    with located(str(file)):
        content = read_text(file)
    found: dict[str, None] = {}
    for number, line in lines(content):
        with problems.at(f"{file} line {number}"):
            if not is_image(line):
                raise InputError(f"must name an image, got {line!r}")
            path = _find_listed(root, file.parent, line.replace("\\", "/"))
            found[Path(os.path.relpath(path, root)).as_posix()] = None
    return found


def _find_listed(root: Path, folder: Path, name: str) -> Path:
    """Return the image that a list names: from the list's folder, from the root, or by its end.

    Lists are often written on another machine, with its absolute paths.
    """
    parts = [part for part in name.split("/") if part not in ("", ".", "..")]
    ends = ("/".join(parts[start:]) for start in range(len(parts)))
    for place in (folder / name, root / name, *(root / end for end in ends)):
        path = Path(os.path.abspath(place))  # noqa: PTH100  # links stay as they are
        if path.is_relative_to(root) and os.path.isfile(path):  # noqa: PTH113  # any length
            return inside(root, str(path))
    return inside(root, name)


def _split(image: str, places: Collection[_Place]) -> str:
    for split, place in places:
        if image in place if isinstance(place, dict) else image.startswith(place):
            return split
    return split_folder(image)


def _without(path: str, folder: str) -> str:
    """Return a path without the last of its folders of that name."""
    return swap(path, folder, "").replace("//", "/").lstrip("/")
