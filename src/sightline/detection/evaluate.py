"""From ground truth and detections to all figures, by one of three protocols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from sightline.core import InputError
from sightline.core.checks import check_choice
from sightline.detection.coco import (
    IOU_THRESHOLDS,
    MAX_DETS,
    SIZE_RANGES,
    accumulate_matches,
    check_limits,
    check_sizes,
    match_detections,
)
from sightline.detection.columns import as_extents
from sightline.detection.matching import match_thresholds
from sightline.detection.readers import as_tables
from sightline.detection.results import DetectionResults, Settings
from sightline.detection.sizes import SIZE_RANGES as PLAIN_SIZES
from sightline.detection.sizes import check_sizes as check_plain_sizes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sightline.detection._entries import BoxForm
    from sightline.detection.ap import Interpolation
    from sightline.detection.columns import Detections, GroundTruth, Pixel
    from sightline.detection.matching import MatchProtocol

__all__ = ["PROTOCOLS", "Protocol", "check_intervals", "check_options", "evaluate_detections"]

Protocol = Literal["coco", "voc", "simple"]
PROTOCOLS: tuple[Protocol, ...] = ("coco", "voc", "simple")


def evaluate_detections(
    ground_truth: Any,
    detections: Any,
    *,
    protocol: Protocol = "coco",
    iou_thresholds: Sequence[float] | float | None = None,
    size_ranges: Mapping[str, tuple[float, float]] | None = None,
    max_dets: Sequence[int] = MAX_DETS,
    ci: float | None = None,
    resamples: int = 1000,
    seed: int = 0,
    pixel: Pixel | None = None,
    masks: bool | None = None,
    interpolation: Interpolation | None = None,
    images: Iterable[Any] | None = None,
    box_format: BoxForm = "xyxy",
    threads: int | None = None,
) -> DetectionResults:
    """Evaluate what a detector found against what is there.

    Parameters
    ----------
    ground_truth, detections
        `GroundTruth` and `Detections`; paths of COCO JSON, Pascal VOC or YOLO files; parsed COCO
        JSON; a data set of `load_dataset`; one list an image or a mapping from image id to lists
        (``[box, class]`` and ``[box, score, class]``); lists of dicts of tensors as torchvision and
        transformers use them. They are not changed.
    protocol
        "coco": pycocotools' arrays to the last bit, but an annotation of id 0 is an ordinary one.
        "voc": Pascal VOC's steps: each detection is judged by the object that it overlaps most,
        even if that is taken; its IoU must be above the threshold; difficult objects count neither
        way. "simple": as `match_predictions` and `calculate_map_by_size`.
    iou_thresholds
        Of a match: 0.5, 0.55, …, 0.95 under "coco", 0.5 under the others, unless given.
    size_ranges
        Names with least and largest area, both inside under "coco", the largest outside under
        "simple"; "voc" has none. The figures APs, APm and APl are of "small", "medium", "large".
    max_dets
        Under "coco" the limits to the detections of one image and class, ascending.
    ci
        How sure intervals of the figures are to be, as 0.95. None gives none. Only under "coco".
    resamples, seed
        From how many draws of images the intervals come, and what these start at.
    pixel
        "continuous": widths are distances of edges. "inclusive": they are those of a first and a
        last pixel, so that each counts one more. None takes what the files say, else the
        protocol's: inclusive under "voc".
    masks
        Whether masks overlap, or boxes. None takes the masks of columns where both sides have
        them, and boxes of everything else.
    interpolation
        As in `calculate_ap`: coco101 under "coco", all_points under the others, unless given.
    images, box_format
        Ids of images that stand in lists, and how their boxes are written; see `as_tables`, which
        reads what needs more words (a split, the sizes of YOLO's images).
    threads
        As many as there are cores unless given; they do not change the result.

    Returns
    -------
    DetectionResults

    Examples
    --------
    >>> box, near, other = (0, 0, 40, 40), (0, 0, 40, 30), (60, 60, 90, 90)
    >>> truth = {"a": [[box, "cat"]], "b": [[other, "dog"]]}
    >>> found = {"a": [[near, 0.9, "cat"]], "b": [[other, 0.8, "dog"]]}
    >>> results = evaluate_detections(truth, found)
    >>> round(results.figures["AP"], 3), round(results.figures["AP50"], 3), results.figures["APl"]
    (0.8, 1.0, nan)
    >>> results.by_class()["AP"].round(3).tolist()
    [0.6, 1.0]
    """
    settings = check_options(
        protocol=protocol, pixel=pixel, iou_thresholds=iou_thresholds, size_ranges=size_ranges,
        max_dets=max_dets, interpolation=interpolation,
    )  # fmt: skip
    check_intervals(protocol=protocol, ci=ci, resamples=resamples, seed=seed)
    truth, found = as_tables(
        ground_truth, detections, images=images, box_format=box_format, masks=bool(masks)
    )
    truth, found = _overlapping(truth, found, masks)
    if pixel is None:
        settings = settings._replace(pixel=_pixel(truth, found, settings.pixel))
    if protocol != "coco":
        return _plain(truth, found, settings)
    results = _coco(truth, found, settings, threads)
    if ci is None:
        return results
    return results.with_intervals(ci, resamples=resamples, seed=seed, threads=threads)


def check_options(
    *,
    protocol: Protocol = "coco",
    pixel: Pixel | None = None,
    iou_thresholds: Sequence[float] | float | None = None,
    size_ranges: Mapping[str, tuple[float, float]] | None = None,
    max_dets: Sequence[int] = MAX_DETS,
    interpolation: Interpolation | None = None,
) -> Settings:
    """Return how to evaluate, or raise where options do not fit; see `evaluate_detections`.

    Examples
    --------
    >>> check_options(protocol="voc").pixel
    'inclusive'
    """
    check_choice("protocol", protocol, PROTOCOLS)
    own: Pixel = "inclusive" if protocol == "voc" else "continuous"
    check_choice("pixel", pixel or own, ("continuous", "inclusive"))
    return Settings(
        protocol=protocol,
        pixel=pixel or own,
        iou_thresholds=_thresholds(iou_thresholds, protocol),
        size_ranges=_sizes(size_ranges, protocol),
        max_dets=check_limits(max_dets),
        interpolation=_interpolation(interpolation, protocol),
    )


def check_intervals(
    *, protocol: Protocol = "coco", ci: float | None = None, resamples: int = 1000, seed: int = 0
) -> None:
    """Raise where intervals cannot be made as asked; see `evaluate_detections`.

    Examples
    --------
    >>> check_intervals(ci=95)
    Traceback (most recent call last):
    sightline.core.errors.InputError: confidence must lie between 0 and 1; got 95
    """
    if ci is None:
        return
    if protocol != "coco":
        raise InputError(f"ci needs protocol='coco'; got {protocol!r}")
    from sightline.detection.intervals import check_draws

    check_draws(ci, resamples, seed)


def _coco(
    truth: GroundTruth, found: Detections, settings: Settings, threads: int | None
) -> DetectionResults:
    """Match and accumulate in compiled passes."""
    sides = as_extents(truth, settings.pixel), as_extents(found, settings.pixel)
    matches = match_detections(
        *sides,
        iou_thresholds=settings.iou_thresholds,
        size_ranges=settings.size_ranges,
        most=max(settings.max_dets),
        threads=threads,
    )
    arrays = accumulate_matches(matches, max_dets=settings.max_dets, threads=threads)
    return DetectionResults(truth, found, settings, matches, arrays)


def _plain(truth: GroundTruth, found: Detections, settings: Settings) -> DetectionResults:
    """Match at each threshold by Pascal VOC's steps or the plain ones."""
    matches = match_thresholds(
        found.of_classes(truth.classes),
        truth,
        settings.iou_thresholds,
        protocol=cast("MatchProtocol", settings.protocol),
        pixel=settings.pixel,
    )
    return DetectionResults(truth, found, settings, matches, None)


def _overlapping(
    truth: GroundTruth, found: Detections, masks: bool | None
) -> tuple[GroundTruth, Detections]:
    """Keep masks on both sides or on none."""
    if masks is None:
        masks = truth.masks is not None and found.masks is not None
    for side, what in ((truth, "ground truth"), (found, "detections")):
        if masks and side.masks is None and len(side):
            raise InputError(f"masks=True needs masks on both sides; {what} has none")
    if masks:
        return replace(truth, masks=truth.masks or ()), replace(found, masks=found.masks or ())
    area = found.area if found.masks is None else found.box[:, 2] * found.box[:, 3]
    return replace(truth, masks=None), replace(found, masks=None, area=area)


def _pixel(truth: GroundTruth, found: Detections, own: Pixel) -> Pixel:
    """Return how widths are to be read: as the tables say, else as the protocol does."""
    said = {side.pixel for side in (truth, found) if side.pixel is not None}
    if len(said) == 2:
        raise InputError(
            "widths must be written alike on both sides: "
            f"those of the ground truth are {truth.pixel}, those of the detections {found.pixel}; "
            "convert one side, or give pixel="
        )
    return said.pop() if said else own


def _thresholds(asked: Sequence[float] | float | None, protocol: Protocol) -> tuple[float, ...]:
    if asked is None:
        return IOU_THRESHOLDS if protocol == "coco" else (0.5,)
    try:
        values = np.atleast_1d(np.asarray(asked, np.float64))
    except (TypeError, ValueError):
        raise InputError(f"iou_thresholds must be numbers; got {asked!r}") from None
    least_fits = (values >= 0) if protocol == "coco" else (values > 0)
    if values.ndim != 1 or not values.size or not (least_fits & (values <= 1)).all():
        least = "of at least 0" if protocol == "coco" else "above 0"
        raise InputError(f"iou_thresholds must be numbers {least} and at most 1; got {asked!r}")
    if len(np.unique(values)) != len(values):
        raise InputError(f"iou_thresholds must differ from each other; got {asked!r}")
    return tuple(values.tolist())


def _sizes(
    asked: Mapping[str, tuple[float, float]] | None, protocol: Protocol
) -> dict[str, tuple[float, float]]:
    if protocol == "voc":
        if asked is not None:
            raise InputError("size_ranges must not be given with protocol='voc', which has none")
        return {}
    if asked is None:
        return dict(SIZE_RANGES if protocol == "coco" else PLAIN_SIZES)
    if protocol == "coco" and isinstance(asked, Mapping) and "all" not in asked:
        asked = {"all": SIZE_RANGES["all"], **asked}
    (check_sizes if protocol == "coco" else check_plain_sizes)(asked)
    return dict(asked)


def _interpolation(asked: Interpolation | None, protocol: Protocol) -> Interpolation:
    own: Interpolation = "coco101" if protocol == "coco" else "all_points"
    if protocol == "coco" and asked not in (None, own):
        raise InputError(f"interpolation must be 'coco101' with protocol='coco'; got {asked!r}")
    check_choice("interpolation", asked or own, ("all_points", "coco101", "voc11"))
    return asked or own
