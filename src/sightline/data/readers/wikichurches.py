"""WikiChurches: photographs of churches with boxes of their building parts.

::

    building_parts.json     the labels with their parents; per image its styles and boxes
    images/                 Q1234_wd0.jpg, …; images may also lie beside the file
    style_names.txt         optional: "Q46261 Romanesque", one style a line

Boxes are shares of the image and may reach outside, however far: they are clipped, the far edge
stays. A box wholly outside is dropped and keeps its number. Boxes are numbered through all groups
of an image. `churches.json` and the other files of the collection say nothing about a box or an
annotated image that `building_parts.json` does not say, and are not read. There are no splits.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING, Any, TypeAlias

from sightline.core import InputError, Taxonomy
from sightline.data.dataset import Dataset, from_annotations
from sightline.data.formats.checks import located, numbers, records, show, text
from sightline.data.formats.drafts import Draft, Facts
from sightline.data.formats.lines import read_text, table
from sightline.data.formats.shapes import box_shape
from sightline.data.readers._image_files import claim, find_image

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from sightline.data.formats.shapes import Shape
    from sightline.data.problems import Problems

__all__ = ["STYLES", "read"]

STYLES = {
    "Q46261": "Romanesque",
    "Q176483": "Gothic",
    "Q236122": "Renaissance",
    "Q840829": "Baroque",
}
"""The styles of the annotated images; `style_names.txt` adds others and renames none of these."""

_STYLE_LINE = re.compile(r"(Q[0-9]+)(?:\s*[,:\t]\s*|\s+)([^\s,:].*)")
_SIDES = ("left", "top", "width", "height")
_Element: TypeAlias = tuple[str, Any, Any]  # place, label of the group, values


def read(
    path: Path,
    problems: Problems,
    split: str | None,
    *,
    images: str | os.PathLike[str] = "images",
) -> Dataset:
    """Open WikiChurches; see `sightline.data.load_dataset`.

    Parameters
    ----------
    path : Path
        The folder of `building_parts.json`, or that file.
    problems : Problems
        Raises, or collects what is set aside: a box, or an image whose record does not fit.
    split : str or None
        Not used: there are no splits.
    images : path
        The folder of the images, beside `building_parts.json` or elsewhere.
    """
    file = path if path.is_file() else path / "building_parts.json"
    root = file.parent
    with located(str(file)):
        content, repeated = _parse(read_text(file, None if path == file else root))
        taxonomy = _taxonomy(records(content, "meta"))
        found = _object(content.get("annotations"), "'annotations'")
    for key in repeated:
        problems.add(f"{file}: {key!r}", "appears twice in one object; the first one counts")
    styles = _styles(root / "style_names.txt", problems)
    folder, root = _image_folder(root, images)
    folders = [folder, root]
    drafts: list[tuple[str, Draft, list[_Element]]] = []
    files: dict[str, Path] = {}
    taken: dict[str, str] = {}
    for name, record in found.items():
        with problems.at(where := f"{file}: image {name!r}"):
            labels, elements = _labels(record, styles), list(_elements(record))
            image = find_image(name, folders) or folders[0] / name
            image_id = claim(name, repr(name), taken)
            files[image_id] = image
            drafts.append((where, Draft(image_id, None, labels), elements))
    for where, draft, elements in drafts:
        _add_boxes(draft, elements, taxonomy.names, where, problems)
    annotations = {draft.image_id: draft.finish() for _, draft, _ in drafts}
    return from_annotations(
        "wikichurches", annotations, files, root=root, taxonomy=taxonomy, skipped=problems
    )


def _image_folder(root: Path, images: Any) -> tuple[Path, Path]:
    """Return the folder of the images and the one they must stay in: that of the file, or it."""
    if not isinstance(images, str | os.PathLike):
        raise InputError(f"images must be the path of a folder, got {show(images)}")
    folder = root / images
    if images == "images":
        return folder, root
    if not folder.is_dir():
        raise InputError(f"images: no such folder {folder}")
    return folder, root if folder.resolve().is_relative_to(root.resolve()) else folder


def _parse(content: str) -> tuple[dict[str, Any], list[str]]:
    """Return the parsed file, and the keys that an object in it has twice."""
    repeated: list[str] = []

    def first_counts(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                repeated.append(key)
            found.setdefault(key, value)
        return found

    try:
        # NaN and Infinity, which JSON does not have, become floats that `numbers` refuses where
        # they stand; the message then names the box.
        parsed = json.loads(content, object_pairs_hook=first_counts)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not valid JSON: {error}") from error
    return _object(parsed, "the file"), repeated


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{what} must be an object, got {type(value).__name__}")
    return value


def _taxonomy(meta: list[dict[str, Any]]) -> Taxonomy:
    """Return the labels, in the order of the file: a box names its label by position."""
    names: dict[str, int] = {}
    for number, record in enumerate(meta):
        name = text(record.get("name"), f"name of meta[{number}]")
        if name in names:
            raise InputError(f"meta[{names[name]}] and meta[{number}] are both named {name!r}")
        names[name] = number
    by_number = tuple(names)
    parents = {}
    for name, number in names.items():
        above = meta[number].get("parents") or []
        if not isinstance(above, list):
            raise InputError(f"parents of meta[{number}] must be a list, got {show(above)}")
        what = f"parent of meta[{number}] ({name!r})"
        parents[name] = [_label(parent, by_number, what) for parent in above]
    return Taxonomy(parents)


def _label(number: Any, names: tuple[str, ...], what: str) -> str:
    """Return the name of a label given by its position in meta."""
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < len(names):
        raise InputError(f"{what} must be one of meta, 0 to {len(names) - 1}, got {show(number)}")
    return names[number]


def _styles(file: Path, problems: Problems) -> Mapping[str, str]:
    found = table(file, problems, _style, file.parent) if file.exists() else {}
    return {**found, **STYLES}


def _style(line: str) -> tuple[str, str]:
    found = _STYLE_LINE.fullmatch(line)
    if found is None:
        raise InputError(f"must be a style and its name like 'Q46261 Romanesque', got {line!r}")
    return found[1], found[2]


def _labels(record: Any, styles: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the image's styles; one nobody named keeps its Q number."""
    found = _object(record, "it").get("styles") or []
    if not isinstance(found, list):
        raise InputError(f"styles must be a list, got {show(found)}")
    ids = [text(style, f"styles[{number}]") for number, style in enumerate(found)]
    return tuple(dict.fromkeys(styles.get(style, style) for style in ids))


def _elements(record: Any) -> Iterator[_Element]:
    """Yield the boxes of an image, group by group."""
    record = _object(record, "it")
    groups = records(record, "bbox_groups") if "bbox_groups" in record else []
    for group, content in enumerate(groups):
        with located(f"group {group}"):
            elements = content.get("elements")
            if not isinstance(elements, list):
                raise InputError(f"'elements' must be a list, got {type(elements).__name__}")
        for number, values in enumerate(elements):
            yield f"group {group} element {number}", content.get("group_label"), values


def _add_boxes(
    draft: Draft, elements: list[_Element], names: tuple[str, ...], where: str, problems: Problems
) -> None:
    for place, group, element in elements:
        number = draft.number()
        with problems.at(f"{where} {place}"):
            values, group_name = _object(element, "it"), _label(group, names, "group_label")
            facts = Facts(_label(values.get("label"), names, "label"), (), f"{place}, {group_name}")
            draft.add(number, _box(values), facts)


def _box(values: dict[str, Any]) -> Shape:
    left, top, width, height = numbers([values.get(side) for side in _SIDES], 4, ", ".join(_SIDES))
    if width < 0 or height < 0:
        raise InputError(f"width and height must be >= 0, got {width:g} and {height:g}")
    return box_shape((left, top, left + width, top + height), "exact", None)
