"""The scores of all layers on one image, out of the rows of the study.

A row holds the value to the bit. Chance and ceiling follow from areas, which rows hold in 32 bits;
they come from the scores of one map of the same image, in all bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.metrics import METRICS
from sightline.results._sums import Candidate
from sightline.results.image_maps import figure_of

if TYPE_CHECKING:
    from sightline.results._full_scores import Whole
    from sightline.results._sums import Candidates, Halves
    from sightline.results.on_demand import OnDemand
    from sightline.results.scored_map import MapKey

__all__ = ["areas_decide", "stored_layers"]


def areas_decide(name: str, ties: str) -> bool:
    """Say whether chance and ceiling of a score are the same for all maps of a raster.

    They follow from how many pixels are selected, which is fixed where equal ones share, but of
    whole pixels.

    >>> areas_decide("iou@90", "share"), areas_decide("iou@90", "include")
    (True, False)
    >>> areas_decide("iou@mass60", "share"), areas_decide("gini", "share")
    (False, False)
    """
    base, _, threshold = name.partition("@")
    return METRICS[base].thresholded and ties == "share" and threshold[:1].isdigit()


def stored_layers(
    maps: OnDemand, whole: Whole, image: tuple[str, int], name: str, stored: Candidates
) -> list[tuple[MapKey, dict[str, Any]]] | None:
    """Return a score of all layers of a source on one image; None where rows do not tell.

    Parameters
    ----------
    maps
        Of the store.
    whole
        The scores of one of the maps, which has a layer, by the ties of the study.
    image
        Its id, and its number among all ids in their order.
    name
        The score, for which `areas_decide`.
    stored
        The rows of the model with fused heads.
    """
    key = whole.key
    if (key.head, key.seed) != (None, None) or not maps.on_one_raster(image[0], key):
        return None
    figure, found = figure_of(whole.columns, 0, name), []
    for layer in maps.source(key).layers:
        halves = stored.get(Candidate(key.method, key.target, layer))
        value = None if halves is None else _value(halves, image[1])
        if value is None:
            return None
        found.append((key._replace(layer=layer), figure | {"value": value}))
    return found


def _value(halves: Halves, number: int) -> float | None:
    """Return the value of an image; None where it is undefined, or there is no row."""
    for half in halves:
        place = int(np.searchsorted(half.numbers, number))
        if place < len(half.numbers) and half.numbers[place] == number:
            return float(half.values[place])
    return None
