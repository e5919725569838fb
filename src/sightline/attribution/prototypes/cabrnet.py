"""Where CaBRNet took the prototypes of a checkpoint from; the model is ``cabrnet:FOLDER``."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from sightline.attribution.prototypes.matches import Nearest
from sightline.core import InputError

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["read_projection"]

PROJECTION = "projection_info.csv"


def read_projection(path: str | PathLike[str]) -> list[Nearest]:
    """Return where CaBRNet took each prototype from: its ``projection_info.csv``, or the folder.

    Prototypes that were taken from nowhere (image -1) are left out. Files in pickle are refused.

    Raises
    ------
    InputError
        If there is no such file, or a column is missing.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with Path(folder, "projection_info.csv").open("w") as file:
    ...         for line in ("proto_idx,img_idx,h,w,score", "0,12,3,5,4.5", "1,-1,0,0,0"):
    ...             print(line, file=file)
    ...     read_projection(folder)
    [Nearest(prototype=0, image=12, cell=(3, 5), similarity=4.5)]
    """
    file = Path(path).expanduser()
    file = file / PROJECTION if file.is_dir() else file
    if file.suffix.lower() in (".pickle", ".pkl"):
        raise InputError(f"{file} is a pickle, which can run code: save it as {PROJECTION}")
    if not file.is_file():
        raise InputError(f"there is no file {file}")
    with file.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    try:
        found = [
            Nearest(
                int(row["proto_idx"]),
                int(row["img_idx"]),
                (int(row["h"]), int(row["w"])),
                float(row["score"]),
            )
            for row in rows
        ]
    except (KeyError, TypeError, ValueError) as error:
        wanted = "proto_idx, img_idx, h, w and score"
        raise InputError(f"{file} must have the columns {wanted}, all numbers: {error}") from error
    return [one for one in found if one.image >= 0]
