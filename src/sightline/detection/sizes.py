"""Mean average precision by the size of the objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.detection._options import check_number, check_share
from sightline.detection._tables import read_scene
from sightline.detection.ap import calculate_ap_per_class, calculate_map, matches_pr_data
from sightline.detection.matching import match_scene

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sightline.detection._entries import BoxForm
    from sightline.detection._tables import Pixel
    from sightline.detection.ap import Interpolation

__all__ = ["SIZE_RANGES", "calculate_map_by_size", "check_sizes"]

# Square pixels: the least area of a class and the first that is too large.
SIZE_RANGES: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"small": (0, 32**2), "medium": (32**2, 96**2), "large": (96**2, float("inf"))}
)


def calculate_map_by_size(
    predictions: Any,
    ground_truths: Any,
    gt_areas: Any = None,
    size_ranges: Mapping[str, tuple[float, float]] = SIZE_RANGES,
    iou_threshold: float = 0.5,
    *,
    images: tuple[Iterable[Any], Iterable[Any]] | None = None,
    box_format: BoxForm = "xyxy",
    pixel: Pixel | None = None,
    interpolation: Interpolation = "all_points",
) -> dict[str, float]:
    """Mean average precision for ground truths of each size, by the plain steps.

    For each range, all predictions are matched with the ground truths of that size alone. What
    finds an object of another size is therefore a false positive: even perfect predictions stay
    below 1 where sizes are mixed. COCO's figures ignore such predictions; `coco_arrays` gives
    those.

    Parameters
    ----------
    predictions, ground_truths, images, box_format, pixel
        A data set, in any form that `match_dataset` takes.
    gt_areas
        Areas of the ground truths, in lists like theirs. None takes the records' own areas, or
        those of the boxes, which grow with `pixel`.
    size_ranges
        For each name ``(min_area, max_area)``: ``min_area <= area < max_area``.
    iou_threshold
        From which IoU on a match counts.
    interpolation
        As in `calculate_ap`.

    Returns
    -------
    dict
        For each name the mean over classes with ground truths of that size; 0.0 without any.

    Examples
    --------
    >>> boxes = [(0, 0, 10, 10), (0, 0, 200, 200)]
    >>> calculate_map_by_size(
    ...     [[[boxes[0], 0.9, 1], [boxes[1], 0.8, 1]]], [[[boxes[0], 1], [boxes[1], 1]]]
    ... )
    {'small': 1.0, 'medium': 0.0, 'large': 0.5}
    """
    limit, sizes = check_share("iou_threshold", iou_threshold), check_sizes(size_ranges)
    scene = read_scene(
        predictions, ground_truths, images=images, areas=gt_areas, box_format=box_format,
        pixel=pixel,
    )  # fmt: skip
    figures = {}
    for name, (least, beyond) in sizes.items():
        rows = np.flatnonzero((scene.true.area >= least) & (scene.true.area < beyond))
        part = scene._replace(true=scene.true.at(rows))
        data = matches_pr_data(match_scene(part, limit))
        figures[name] = calculate_map(calculate_ap_per_class(data, interpolation=interpolation))
    return figures


def check_sizes(size_ranges: Any) -> dict[str, tuple[float, float]]:
    """Return least area and first too large of each size, or raise where they are no ranges."""
    if not isinstance(size_ranges, Mapping):
        raise InputError(f"size_ranges must be a mapping from name to range; got {size_ranges!r}")
    return {name: _limits(name, limits) for name, limits in size_ranges.items()}


def _limits(name: str, limits: Any) -> tuple[float, float]:
    good = isinstance(limits, Sequence) and not isinstance(limits, str) and len(limits) == 2
    if good:
        least, beyond = (check_number(f"size range {name!r}", limit) for limit in limits)
        if 0 <= least < beyond:
            return least, beyond
    raise InputError(f"size range {name!r} must be (min_area, max_area); got {limits!r}")
