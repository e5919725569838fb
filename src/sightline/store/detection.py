"""What an evaluation of detections found, in a folder of its own beside a study's results.

``STORE/detection/NAME/`` holds

- ``results.json``: `format`, `name`, `sightline` (the version), `sources` (names, sizes and digests
  of the files evaluated), `results` (what `DetectionResults.to_dict` gives: protocol, options,
  figures, intervals), `curves` (the IoU and, for each class, `ground_truths` and `detections`),
  `confusion` (labels, the lowest score counted, what is counted apart), `errors` (mAP, counts,
  costs), `reliability` (ECE, MCE) and `files` (digest and number of lines of each table), with a
  checksum of its own. Nothing in it tells the time: the same evaluation gives the same bytes.
- ``classes.parquet``: a line for each class, as `DetectionResults.by_class` gives it.
- ``curves.parquet``: class, kind, iou, recall, precision, confidence. Kind "raw" is the curve at
  one IoU, thinned to at most 1,000 points a class (see `thin_curve`); "coco101" is pycocotools'
  precision at 101 recalls, of every IoU threshold, whose confidence is NaN where that recall is
  not reached.
- ``confusion.parquet``: row, column (places in the labels), true, predicted (how they are called),
  count; cells of 0 are left out.
- ``errors.parquet``: error (its kind), count, cost (the AP it costs).
- ``reliability.parquet``: low, high (ends of the bin), count, confidence, precision.
- ``images.parquet``: what each image costs, the most first.
- ``boxes_true.parquet``: image, label (ids, as evaluated), x, y, width, height in pixels, area,
  crowd, difficult, counts (whether it has to be found), partner (line in boxes_found of the
  detection that finds it at the IoU of the curves).
- ``boxes_found.parquet``: the same of what was found, with score, hit (1 true positive, 0 false
  positive, -1 neither), partner (line in boxes_true) and iou (with that one); see `match_boxes`.
  Where masks were evaluated, both have their run lengths.
- ``pictures.parquet``: image (id), name (of its file; its id where that is not known), width,
  height (in pixels, where that is known).

Tables of what was not evaluated are not there.
"""

from __future__ import annotations

import re
import shutil
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sightline.core import InputError
from sightline.core.kill_points import reach
from sightline.store.checksums import json_bytes, seal
from sightline.store.detection_boxes import box_tables
from sightline.store.detection_parts import (
    DetectionParts,
    detection_notes,
    detection_parts,
    detection_tables,
)
from sightline.store.files import plain_digest, sync_folder, write_whole
from sightline.store.folder import Store, make_room
from sightline.store.lock import hold
from sightline.store.prototypes import table_bytes

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from sightline.detection import DetectionResults

__all__ = [
    "DETECTION_FORMAT",
    "describe_source",
    "detection_folder",
    "write_detection",
]
DETECTION_FORMAT = 1
_NAME = re.compile(r"[A-Za-z0-9._-]{1,200}")
# No name of a result has a tilde: these never meet one.
_LOCK, _OLD, _PART = "~lock", "~old", "~part"
_ANNOTATIONS = {".json", ".txt", ".xml", ".yaml", ".yml"}


def describe_source(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return name, size and digest of a file, or of the annotation files of a folder.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "found.json"
    ...     _ = file.write_text("[]")
    ...     describe_source(file)["name"], describe_source(folder)["files"]
    ('found.json', 1)
    """
    given = Path(path)
    try:
        name = given.resolve().name
        if not given.is_dir():
            return {"name": name, "bytes": given.stat().st_size, "sha256": plain_digest(given)}
        found = (one for one in given.rglob("*") if one.suffix.lower() in _ANNOTATIONS)
        files = sorted((one.relative_to(given).as_posix(), one) for one in found if one.is_file())
        lines = [f"{place}\0{plain_digest(one)}\n" for place, one in files]
        return {"name": name, "files": len(files), "sha256": _sha("".join(lines).encode())}
    except OSError as error:
        raise InputError(f"{path}: must be a file or a folder that can be read: {error}") from error


def _sha(content: bytes) -> str:
    return sha256(content).hexdigest()


def detection_folder(store: str | os.PathLike[str], name: str) -> Path:
    """Return where the results of that name lie in a store, or would.

    Raises
    ------
    InputError
        If that is no name.

    Examples
    --------
    >>> detection_folder("runs/a", "yolo-v1").as_posix()
    'runs/a/detection/yolo-v1'
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in (".", ".."):
        raise InputError(
            "name must be 1 to 200 letters, digits, dots, hyphens or underscores, "
            f"not '.' or '..'; got {name!r}"
        )
    return Path(store) / "detection" / name


def write_detection(
    store: str | os.PathLike[str],
    name: str,
    given: DetectionResults | DetectionParts,
    *,
    sources: Mapping[str, Any] | None = None,
) -> Path:
    """Put the results of an evaluation into a store, whole or not at all.

    Older results of the same name are replaced. Whoever reads meanwhile sees the old or the new
    ones. See the head of this module for what is written.

    Parameters
    ----------
    store
        The folder of a study, an empty or a new folder.
    name
        Up to 200 letters, digits, dots, hyphens and underscores.
    given
        What was found.
    sources
        Where it comes from, as ``{"ground_truth": describe_source(path)}``.

    Returns
    -------
    Path
        The folder written.

    Raises
    ------
    InputError
        If the name or the folder does not fit, or another process writes there.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sightline.detection.evaluate import evaluate_detections
    >>> box = (0, 0, 40, 40)
    >>> results = evaluate_detections([[[box, "cat"]]], [[[box, 0.9, "cat"]]], protocol="voc")
    >>> with TemporaryDirectory() as folder:
    ...     path = write_detection(folder, "mine", results)
    ...     print(*sorted(file.stem for file in path.iterdir()))
    boxes_found boxes_true classes confusion curves errors pictures reliability results
    """
    target = detection_folder(store, name)
    parts = given if isinstance(given, DetectionParts) else detection_parts(given)
    files = _content(name, parts, sources or {})
    try:
        make_room(Store(store), "detection")
        with hold(target.parent / _LOCK):
            _recover(target.parent)
            _replace(target, files)
    except OSError as error:
        raise InputError(f"{store}: results cannot be written there: {error}") from error
    return target


def _recover(folder: Path) -> None:
    """Put right what killed writers have left: no half results, and none set aside for ever."""
    for part in folder.glob(f"*{_PART}"):
        shutil.rmtree(part)
    for old in folder.glob(f"*{_OLD}"):
        kept = old.with_name(old.name.removesuffix(_OLD))
        if kept.exists():
            shutil.rmtree(old)
        else:
            old.rename(kept)


def _replace(target: Path, files: Mapping[str, bytes]) -> None:
    """Write files to a folder beside the target, then let it take the target's place."""
    part = target.with_name(f"{target.name}~{uuid4().hex}{_PART}")
    old = target.with_name(f"{target.name}{_OLD}")
    part.mkdir()
    try:
        reach("folder:opened")
        for name, content in files.items():
            write_whole(part / name, content)
            reach("folder:half")
        reach("folder:synced")
        if target.exists():
            target.rename(old)
            reach("folder:moved")
        part.rename(target)
        reach("folder:renamed")
    finally:
        shutil.rmtree(part, ignore_errors=True)
        if old.exists():
            if target.exists():
                shutil.rmtree(old, ignore_errors=True)
            else:
                old.rename(target)
    sync_folder(target.parent)


def _content(name: str, parts: DetectionParts, sources: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files as bytes: what cannot be written is known before anything is."""
    import pyarrow as pa

    try:
        tables = detection_tables(parts)
        if parts.boxes is not None:
            tables |= box_tables(parts.boxes)
        files = {f"{key}.parquet": table_bytes(table, ".parquet") for key, table in tables.items()}
    except pa.ArrowException as error:
        raise InputError(f"results must fit into tables: {error}") from error
    about = {
        "format": DETECTION_FORMAT,
        "name": name,
        "sightline": _version(),
        "sources": dict(sources),
        "results": dict(parts.summary),
        **detection_notes(parts),
        "files": {
            file: {"lines": tables[file.removesuffix(".parquet")].num_rows, "sha256": _sha(content)}
            for file, content in files.items()
        },
    }
    try:
        content = json_bytes(about)
    except (TypeError, ValueError) as error:
        raise InputError(f"results must be values that JSON has: {error}") from error
    return {**files, "results.json": seal(content, "results.json")}


def _version() -> str:
    """Return the version of the package; "" where it was not installed."""
    try:
        return version("sightline")
    except PackageNotFoundError:
        return ""
