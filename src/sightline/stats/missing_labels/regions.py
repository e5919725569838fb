"""Figures of single regions that bear missing labels better than IoU, and where they disagree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from sightline.core import InputError
from sightline.core.arrays import divide, to_numpy
from sightline.core.checks import check_choice
from sightline.metrics import bbox_recall, iou_ceiling
from sightline.stats._given import floats
from sightline.stats._images import numbered

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = [
    "EITHER",
    "Divergence",
    "bbox_recall",
    "compute_region_mean",
    "divergence",
    "lift",
    "share_of_ceiling",
]

MeanOver = Literal["regions", "image_label"]

EITHER = (
    "this cannot be told apart from attention to instances that nobody annotated, nor from "
    "attention to these regions and to wrong places"
)
"""What disagreeing metrics may mean."""


def lift(recall: Any, attended: Any, /) -> NDArray[np.float64]:
    """How many times more of a region is selected than by chance: recall / a.

    1 is chance, 1 / a the most. It does not fall directly with instances that nobody annotated,
    but they do compete for the same selected pixels. NaN where nothing is selected.

    Parameters
    ----------
    recall
        Selected share of each region.
    attended
        Selected share of the image, one for all or one for each.

    Examples
    --------
    >>> lift([0.5, 0.1], 0.1)
    array([5., 1.])
    """
    recall, attended = _alike(recall, attended)
    return np.asarray(divide(recall, attended), np.float64)


def share_of_ceiling(iou: Any, a: Any, g: Any, /) -> NDArray[np.float64]:
    """IoU as a share of the largest possible at the areas a and g: IoU / (min(a, g) / max(a, g)).

    NaN where nothing is selected or annotated. Diffuse maps have much of it by chance: at a = 0.5
    a map without information has about half.

    Examples
    --------
    >>> share_of_ceiling([0.1], [0.1], [0.02])
    array([0.5])
    """
    iou, a, g = _alike(iou, a, g)
    return np.asarray(divide(iou, np.asarray(iou_ceiling(a, g))), np.float64)


def compute_region_mean(
    values: Any,
    /,
    *,
    images: Iterable[Any],
    labels: Iterable[Any],
    instances: Any = None,
    mean_over: MeanOver = "regions",
) -> float:
    """Mean of a score of single regions: over all regions, or over images and labels.

    The two are different figures where images differ in how many instances a label has. With one
    label kept per image and label, the plain mean over labelled regions estimates the mean over
    image × label, whatever it is called; with the known number of instances it can be weighted to
    estimate the mean over regions. Both hold if the labelled instances were chosen at random.

    Parameters
    ----------
    values : array (regions,)
        Recall, lift or IoU of each labelled region; NaN ones are skipped.
    images, labels : sequences (regions,)
        The image and the label of each.
    instances : array (regions,), optional
        How many instances of the region's label its image has, labelled or not. Without them every
        instance counts as labelled.
    mean_over : {"regions", "image_label"}
        Whether every region weighs the same, or every label of an image.

    Returns
    -------
    float
        NaN where nothing is defined.

    Examples
    --------
    >>> one_per_label = {"images": ["a", "b"], "labels": ["window", "window"]}
    >>> compute_region_mean([0.9, 0.1], **one_per_label, mean_over="image_label")
    0.5
    >>> round(compute_region_mean([0.9, 0.1], **one_per_label, instances=[1, 7]), 3)
    0.2
    """
    check_choice("mean_over", mean_over, get_args(MeanOver))
    scores = floats(values, "values")
    cells = numbered(zip(images, labels, strict=True))[1]
    if len(cells) != len(scores):
        raise InputError(
            f"there must be an image and a label for each of {len(scores)} regions; got "
            f"{len(cells)}"
        )
    defined = np.isfinite(scores)
    scores, cells = scores[defined], cells[defined]
    if not len(scores):
        return float("nan")
    labelled = np.bincount(cells)[cells].astype(np.float64)
    if mean_over == "image_label":
        total = np.ones(len(scores))
    else:
        total = labelled if instances is None else _count(instances, defined, labelled)
    return float(np.average(scores, weights=total / labelled))


def _count(
    instances: Any, defined: NDArray[np.bool_], labelled: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the known instances of each region's label on its image: at least the labelled."""
    counts = floats(instances, "instances")
    if counts.shape != defined.shape or not (counts > 0).all():
        raise InputError(
            f"instances must hold a number above 0 for each of {len(defined)} regions; got "
            f"{len(counts)}, the least {counts.min(initial=np.inf):g}"
        )
    return np.maximum(counts[defined], labelled)


@dataclass(frozen=True, slots=True, eq=False)
class Divergence:
    """Regions on which the metrics disagree in the way that missing labels would make them.

    Attributes
    ----------
    flags : array of bool (regions,)
        Where all three hold.
    hit, lift, ceiling : arrays (regions,)
        Whether the maximum is inside (share of tied ones); coverage over area; IoU over ceiling.
    share : float
        Flagged share of the regions on which all three are defined; NaN if there are none.
    chance : float
        The most that a map would be flagged whose maximum is as likely at every place: the mean
        area of the regions. No centre-bias control.
    n, undefined : int
        Regions with and without a defined value.
    sentence : str
        What it says, and what it cannot say.

    Examples
    --------
    >>> from sightline.stats.missing_labels import divergence
    >>> found = divergence([1, 0], [0.1, 0.1], [0.05, 0.05], 0.1, [0.02, 0.02])
    >>> found.flags.tolist(), found.share, round(found.chance, 3)
    ([True, False], 0.5, 0.02)
    """

    flags: NDArray[np.bool_]
    hit: NDArray[np.float64]
    lift: NDArray[np.float64]
    ceiling: NDArray[np.float64]
    share: float
    chance: float
    n: int
    undefined: int
    sentence: str


def divergence(
    hit: Any,
    coverage: Any,
    iou: Any,
    attended: Any,
    area: Any,
    /,
    *,
    least_lift: float = 2.0,
    most_ceiling: float = 0.5,
) -> Divergence:
    """Find the regions that a map points at and gathers on, yet whose IoU is low.

    A region is flagged when the map's maximum is inside, it holds at least `least_lift` times the
    energy that its area gets by chance, and its IoU is at most `most_ceiling` of the largest
    possible at these areas. Energy and IoU are read against the region's own size, so that a box
    is neither flagged nor spared for being small.

    Parameters
    ----------
    hit, coverage, iou
        Pointing (share of tied maxima inside), energy share and IoU of each region alone.
    attended, area
        Selected share of the image (one for all or one for each) and the share of each region.
    least_lift, most_ceiling
        Where "gathers" begins and "low" ends.

    Examples
    --------
    >>> found = divergence([1, 1, 0], [0.1, 0.3, 0.1], [0.05, 0.9, 0.05], 0.1, [0.02, 0.1, 0.02])
    >>> found.flags.tolist(), found.n
    ([True, False, False], 3)
    """
    hit, coverage, iou, attended, area = _alike(hit, coverage, iou, attended, area)
    gathered = np.asarray(divide(coverage, area))
    ceiling = share_of_ceiling(iou, attended, area)
    defined = np.isfinite(hit) & np.isfinite(gathered) & np.isfinite(ceiling)
    flags = defined & (hit >= 0.5) & (gathered >= least_lift) & (ceiling <= most_ceiling)
    n = int(defined.sum())
    share = float(flags.sum() / n) if n else np.nan
    chance = float(area[defined].mean()) if n else np.nan
    told = _told(int(flags.sum()), n, least_lift, most_ceiling)
    return Divergence(flags, hit, gathered, ceiling, share, chance, n, flags.size - n, told)


def _told(flagged: int, n: int, least_lift: float, most_ceiling: float) -> str:
    if not n:
        return "No region has all three figures, so that nothing can be said."
    where = f"In {flagged} of {n} regions ({flagged / n:.1%})"
    what = (
        f"the map's maximum is inside and at least {least_lift:g} times the energy of chance, yet "
        f"IoU is at most {most_ceiling:.0%} of the largest possible"
    )
    if not flagged:
        return (
            f"{where} {what}: no sign of unannotated instances here, and no proof of their absence."
        )
    return f"{where} {what}: {EITHER}."


def _alike(*figures: Any) -> tuple[NDArray[np.float64], ...]:
    """Return figures as arrays of one shape; a single number stands for every region."""
    given = [np.asarray(to_numpy(values), np.float64) for values in figures]
    try:
        return np.broadcast_arrays(*given)
    except ValueError:
        sizes = ", ".join(str(values.size) for values in given)
        raise InputError(f"there must be one figure for each region; got {sizes}") from None
