"""Drawn images as files: a folder that any tool can read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from sightline.core import InputError
from sightline.data.dataset import from_annotations
from sightline.data.facades.dataset import facade_of
from sightline.data.formats.shapes import encode_rle
from sightline.data.outputs import replacing
from sightline.data.writers import write_annotations

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from sightline.core import Annotation
    from sightline.data.dataset import Dataset
    from sightline.data.facades.facade import Facade

__all__ = ["check_facades_folder", "write_facades"]

# Three times as fast as the default; the files are a twentieth larger.
_COMPRESS_LEVEL = 1


def write_facades(
    dataset: Dataset,
    folder: str | os.PathLike[str],
    progress: Callable[[int, int], object] | None = None,
) -> None:
    """Write facades as PNG, their annotations in two formats, and what decides their styles.

    Files of the same names are replaced, others are left as they are.

    Parameters
    ----------
    dataset : Dataset
        ``load_dataset("facades")``, or some of it.
    folder : path
        Receives `images/*.png`, `annotations.json` (Sightline's plain format), `coco.json`, and
        `facades.json`: for every image its style, the votes for each style (`evidence`), the part
        types that vote for its own (`deciding`), and what `Facade.generate` draws it from.
    progress : callable, optional
        Called with the number of images written and of all.

    Raises
    ------
    InputError
        If a sample is not a facade drawn by code.
    """
    images = Path(folder, "images")
    images.mkdir(parents=True, exist_ok=True)
    annotations, splits, truths = {}, {}, {}
    for number, sample in enumerate(dataset, 1):
        truths[sample.image_id] = _truth(facade_of(sample))
        _write_image(Image.fromarray(sample.image()), images / sample.image_id)
        annotations[sample.image_id] = _compact(sample.annotation)
        splits[sample.image_id] = sample.split
        if progress is not None:
            progress(number, len(dataset))
    kept = from_annotations(
        dataset.name, annotations, files={}, splits=splits, taxonomy=dataset.taxonomy
    )
    write_annotations(kept, Path(folder, "annotations.json"), format="plain")
    write_annotations(kept, Path(folder, "coco.json"), format="coco")
    _write_truths(truths, Path(folder, "facades.json"))


def check_facades_folder(folder: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Return `folder` when it is new or empty; with `force` it may hold files.

    Raises
    ------
    InputError
        If it is a file or holds something.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file, not a folder")
    if not force and folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"{folder}: is not empty; --force (force=True) writes into it")
    return folder


def _compact(annotation: Annotation) -> Annotation:
    """Return the annotation with run lengths for masks: all are held until they are written."""
    return replace(
        annotation,
        regions=tuple(
            replace(region, mask=encode_rle(region.mask))
            if isinstance(region.mask, np.ndarray)
            else region
            for region in annotation.regions
        ),
    )


def _truth(facade: Facade) -> dict[str, object]:
    return {
        "style": facade.style,
        "evidence": facade.evidence,
        "deciding": facade.deciding,
        "seed": int(facade.seed),  # these may be numpy's, which JSON does not know
        "index": int(facade.index),
        "size": int(facade.size),
        "confounded": bool(facade.confounded),
    }


def _write_truths(truths: dict[str, dict[str, object]], path: Path) -> None:
    """Write one line for each image."""
    lines = [f"{json.dumps(name)}: {json.dumps(truth)}" for name, truth in truths.items()]
    with replacing(path) as part:
        part.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8", newline="\n")


def _write_image(image: Image.Image, path: Path) -> None:
    with replacing(path) as part:
        image.save(part, "PNG", compress_level=_COMPRESS_LEVEL)
