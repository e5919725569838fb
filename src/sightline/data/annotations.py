"""Annotation files: COCO JSON, Sightline's own plain JSON, and CSV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.data._coco import is_coco, read_coco
from sightline.data._plain import FORMAT, is_plain, read_plain
from sightline.data._shapes import located
from sightline.data._table import COLUMNS, read_table
from sightline.records import Annotation, InputError

if TYPE_CHECKING:
    import os

__all__ = ["read_annotations"]

_UNKNOWN = (
    'unknown annotation format; known are COCO (.json with "images", "annotations", "categories"), '
    f'plain (.json with "format": "{FORMAT}"), '
    f"CSV (.csv with the columns {','.join(COLUMNS)}[,width,height,units])"
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
        By image id (the file name of the image, "/" replaced by "__"), in the file's order.

    Raises
    ------
    InputError
        If the file or a record in it does not fit; the message names both.
    """
    path = Path(path)
    with located(str(path)):
        if path.suffix.lower() == ".csv":
            return read_table(_text(path))
        if path.suffix.lower() != ".json":
            raise InputError(_UNKNOWN)
        content = _parse(_text(path))
        if is_plain(content):
            return read_plain(content)
        if is_coco(content):
            return read_coco(content)
        raise InputError(_UNKNOWN)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 text: {error}") from error


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"is not valid JSON: {error}") from error
