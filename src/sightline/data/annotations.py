"""Annotation files: COCO JSON, Sightline's own plain JSON, and CSV."""

from __future__ import annotations

import gc
import json
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.core import InputError
from sightline.data.formats.checks import located, show
from sightline.data.formats.coco import is_coco, read_coco
from sightline.data.formats.drafts import AnnotationFile
from sightline.data.formats.lines import read_text
from sightline.data.formats.plain import FORMAT, is_plain, read_plain
from sightline.data.formats.table import COLUMNS, OPTIONAL, read_table
from sightline.data.problems import Problems

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from sightline.core import Annotation
    from sightline.data.formats.checks import Size

__all__ = ["AnnotationFile", "parse_json", "read_annotation_file", "read_annotations"]

_UNKNOWN = (
    'unknown annotation format; known are COCO (.json with "images", "annotations", "categories"), '
    f'plain (.json with "format": "{FORMAT}"), '
    f"CSV (.csv with the columns {','.join(COLUMNS)}[,{','.join(OPTIONAL)}])"
)


def read_annotations(path: str | os.PathLike[str]) -> dict[str, Annotation]:
    """Read the annotations of a set of images.

    The format is told by the file's ending and content; one that is neither COCO JSON, plain JSON
    nor CSV is an error.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    dict of str to Annotation
        By image id (see `to_image_id`), in the file's order.

    Raises
    ------
    InputError
        If the file or a record in it does not fit; the message names both.
    """
    return read_annotation_file(path).annotations


def read_annotation_file(
    path: str | os.PathLike[str],
    problems: Problems | None = None,
    size_of: Callable[[str], Size | None] | None = None,
) -> AnnotationFile:
    """Read all that an annotation file says: also file names, splits and the labels' parents.

    Parameters
    ----------
    path : path
        The file, as for `read_annotations`.
    problems : Problems, optional
        Where records that do not fit are set aside: a region, an image with its regions, a
        category. By default the first one raises.
    size_of : callable, optional
        Returns the width and height of an image by its name, None when it does not know it: asked
        for the images whose size a file leaves out although its regions need it.

    Raises
    ------
    InputError
        If the file as a whole cannot be read, or a record does not fit and is not set aside.
    """
    path = Path(path)
    problems = Problems() if problems is None else problems
    inner = Problems(problems.skip)
    with located(str(path)), _uncollected():
        found = _read(path, inner, size_of)
    for problem in inner:
        problems.add(f"{path}: {problem.where}", problem.what)
    return found


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the garbage collector from walking a million new lists again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _read(
    path: Path, problems: Problems, size_of: Callable[[str], Size | None] | None
) -> AnnotationFile:
    if path.is_dir():
        raise InputError("must be a file of annotations, .json or .csv; it is a folder")
    if path.suffix.lower() == ".csv":
        return read_table(read_text(path), problems, size_of)
    if path.suffix.lower() != ".json":
        raise InputError(_UNKNOWN)
    content = parse_json(read_text(path))
    if is_plain(content):
        return read_plain(content, problems, size_of)
    if is_coco(content):
        return read_coco(content, problems, size_of)
    raise InputError(_UNKNOWN)


def parse_json(text: str) -> Any:
    """Return what JSON says; a key that an object has twice is an error.

    Raises
    ------
    InputError
        If it is none, or too deep.
    """
    try:
        return json.loads(text, object_pairs_hook=_object)
    except InputError:
        raise
    except (ValueError, RecursionError) as error:  # a ValueError: too many digits
        raise InputError(f"is not valid JSON: {error}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        doubled = next(key for key, count in Counter(keys).items() if count > 1)
        raise InputError(f"an object has the key {show(doubled)} twice: {show(keys)}")
    return found
