"""The regions of a data set of `load_dataset` as ground truth or, with scores, as detections."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from sightline.core import InputError
from sightline.data.dataset import header_size
from sightline.data.readers._yolo_files import class_names, find_config, read_config
from sightline.detection.columns import Detections, GroundTruth, Picture

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.core import Region, Sample
    from sightline.data.dataset import Dataset
    from sightline.detection.columns import Rle

__all__ = ["region_detections", "region_ground_truth"]


class _Row(NamedTuple):
    """A region of an image of (width, height)."""

    image: str
    region: Region
    size: tuple[int, int]


def region_ground_truth(dataset: Dataset, *, masks: bool = False) -> GroundTruth:
    """Read boxes in pixels of their images, whose sizes the annotation or the file tells.

    Regions to ignore count as crowds: what finds them is no mistake. Files of images and, of YOLO,
    the numbers of classes are those of the files, so that results may name them so.

    >>> from sightline.data import load_dataset
    >>> truth = region_ground_truth(load_dataset("facades", count=2, seed=0))
    >>> truth.images.tolist(), truth.pixel
    (['facade-00000.png', 'facade-00001.png'], 'continuous')
    """
    rows = _rows(dataset)
    labels = [row.region.label for row in rows]
    truth = GroundTruth.from_arrays(
        [row.image for row in rows],
        labels,
        [_box(row) for row in rows],
        crowd=np.array([row.region.crowd or row.region.ignore for row in rows], np.bool_),
        difficult=np.array([row.region.difficult for row in rows], np.bool_),
        masks=_masks(rows) if masks else None,
        images=list(dataset.ids),
        classes=sorted({*labels, *dataset.taxonomy.names}),
        pixel="continuous",
        pictures=_pictures(dataset, rows),
    )
    places = _class_places(dataset)
    return replace(truth, indexed_classes=bool(places), class_places=places)


def _pictures(dataset: Dataset, rows: list[_Row]) -> dict[str, Picture]:
    """Return files and the sizes that are known: of regions' images, or where annotated."""
    sizes = {row.image: row.size for row in rows}
    found = {}
    for sample in dataset:
        told = (sample.annotation.width, sample.annotation.height)
        size = sizes.get(sample.image_id, told)
        found[sample.image_id] = Picture(sample.image_id, *size, _file(sample, dataset.root))
    return found


def _file(sample: Sample, root: Path | None) -> str | None:
    """Return the path of an image in its data set, or elsewhere."""
    if sample.path is None:
        return None
    within = root is not None and sample.path.is_relative_to(root)
    return (sample.path.relative_to(root) if root and within else sample.path).as_posix()


def _class_places(dataset: Dataset) -> dict[int, str]:
    """Return the numbers of classes in the files of YOLO, none where these are not the data set's.

    The taxonomy has the names in the same order, but not numbers that are left out.
    """
    root = dataset.root
    if dataset.name != "yolo" or root is None:
        return {}
    try:
        file = find_config(root)
        config = {} if file is None else read_config(file, root)
        places = class_names(root, file, config, None) or {}
    except InputError:
        return {}
    return places if dataset.taxonomy.names[: len(places)] == tuple(places.values()) else {}


def region_detections(dataset: Dataset, *, masks: bool = False) -> Detections:
    """Read regions that a machine proposed: each must have a score."""
    rows = _rows(dataset)
    for row in rows:
        if row.region.score is None:
            raise InputError(
                f"detections: image {row.image!r}, region {row.region.index}: "
                "must have a score; has none"
            )
    return Detections.from_arrays(
        [row.image for row in rows],
        [row.region.label for row in rows],
        [_box(row) for row in rows],
        [row.region.score for row in rows],
        masks=_masks(rows) if masks else None,
        pixel="continuous",
    )


def _rows(dataset: Dataset) -> list[_Row]:
    found: list[_Row] = []
    for sample in dataset:
        regions = sample.annotation.regions
        size = _size(sample, dataset) if regions else (1, 1)
        for region in regions:
            if region.kind == "point":
                raise InputError(
                    f"image {sample.image_id!r}, region {region.index} ({region.label!r}): "
                    "must be a box, a polygon or a mask; is a point"
                )
            found.append(_Row(sample.image_id, region, size))
    return found


def _size(sample: Sample, dataset: Dataset) -> tuple[int, int]:
    """Return the width and height of an image."""
    annotation = sample.annotation
    if annotation.width is not None and annotation.height is not None:
        return annotation.width, annotation.height
    size = header_size(sample, dataset.root)
    if size is None:
        raise InputError(
            f"image {sample.image_id!r}: its size in pixels must be known; neither the annotation "
            "nor a file of the image tells it"
        )
    return size


def _box(row: _Row) -> tuple[float, float, float, float]:
    (x0, y0, x1, y1), (width, height) = row.region.box, row.size
    return x0 * width, y0 * height, (x1 - x0) * width, (y1 - y0) * height


def _masks(rows: list[_Row]) -> list[Rle]:
    from pycocotools import mask

    found: list[Any] = []
    for row in rows:
        width, height = row.size
        pixels = np.asfortranarray(row.region.to_mask(height, width), np.uint8)
        found.append(mask.encode(pixels))
    return cast("list[Rle]", found)
