"""Annotations to files: plain JSON, which keeps everything, and COCO JSON, which others read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sightline.core import InputError, Taxonomy, to_image_id
from sightline.data.dataset import Dataset
from sightline.data.formats._written import WrittenImage
from sightline.data.formats.checks import located, show
from sightline.data.formats.coco_writer import coco_content
from sightline.data.formats.plain_writer import plain_content, region_record
from sightline.data.outputs import check_output, replacing
from sightline.data.readers._image_files import leaves

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from sightline.core import Annotation, Sample
    from sightline.data.formats._written import Json

__all__ = ["region_record", "write_annotations"]

_FORMATS = {"plain": plain_content, "coco": coco_content}


def write_annotations(
    annotations: Dataset | Mapping[str, Annotation],
    path: str | os.PathLike[str],
    *,
    format: Literal["plain", "coco"] = "plain",  # noqa: A002  # the word for it
    taxonomy: Taxonomy | None = None,
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Write annotations as JSON that `read_annotations` and `load_dataset` read again.

    Plain JSON gives back every region as it is. COCO has boxes and polygons in pixels (the same to
    1e-9 of the image), masks at the size of the image, and points drawn as discs; what it has no
    word for stands in keys of ours, which other programs pass over.

    Parameters
    ----------
    annotations : Dataset or mapping of str to Annotation
        A data set brings its taxonomy, its splits and its files along, named relative to its
        folder.
    path : path
        The .json file; one of that name is replaced in one step.
    format : {"plain", "coco"}
        Which of the two.
    taxonomy : Taxonomy, optional
        The labels with those above them, instead of the data set's.
    extra : mapping, optional
        More keys of the file, which readers pass over: where the regions come from.

    Raises
    ------
    InputError
        If the file cannot be written there, two annotations have one image id, an image has no
        size nor file and the format is COCO, or a region could not be read again.
    """
    path = check_output(path, "a file of annotations", (".json",))
    if format not in _FORMATS:
        raise InputError(f"format must be one of {', '.join(_FORMATS)}, got {format!r}")
    if isinstance(annotations, Dataset):
        taxonomy = annotations.taxonomy if taxonomy is None else taxonomy
        root = annotations.root
        images = [
            WrittenImage(one.annotation, _name(one, root), one.split, one.path, root)
            for one in annotations
        ]
    else:
        images = [WrittenImage(one, one.image_id) for one in annotations.values()]
    with located(str(path)):
        _check_ids(images)
        content = _FORMATS[format](images, taxonomy or Taxonomy())
        if taken := sorted(content.keys() & (extra or {})):
            raise InputError(f"extra keys must be others than the file's own, got {taken[0]!r}")
        text = _dump(content | dict(extra or {}))
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def _name(sample: Sample, root: Path | None) -> str:
    """Return the path of an image in its data set; its id where a reader could not take that."""
    if sample.path is None or root is None or not sample.path.is_relative_to(root):
        return sample.image_id
    name = sample.path.relative_to(root).as_posix()
    try:
        to_image_id(name)
    except InputError:  # too long
        return sample.image_id
    return sample.image_id if leaves(name) else name


def _check_ids(images: Iterable[WrittenImage]) -> None:
    seen: set[str] = set()
    for image in images:
        if image.annotation.image_id in seen:
            raise InputError(f"two annotations have the image_id {image.annotation.image_id!r}")
        seen.add(image.annotation.image_id)


def _dump(content: Json) -> str:
    """Return JSON with one record a line, so that a change of one shows as one."""
    entries = []
    for key, value in content.items():
        text = _json(value)
        if isinstance(value, list) and value:
            lines = ",\n".join(map(_json, value))
            text = f"[\n{lines}\n]"
        entries.append(f"{json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(entries) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, default=_as_number)


def _as_number(value: Any) -> Any:
    """Return a number of numpy as one of Python."""
    if isinstance(value, np.generic):
        return value.item()
    raise InputError(f"{type(value).__name__} cannot be written: {show(value)}")
