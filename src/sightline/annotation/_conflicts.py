"""Which proposals stay where several, or marked regions, claim one place."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from sightline.annotation._nms import box_ious, box_parts

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["settle"]

Claim: TypeAlias = tuple[str, tuple[float, float, float, float]]

# Boxes of one label of which one lies in the other by this share are one instance.
_INSIDE = 0.5
# Boxes of two labels with this IoU claim one place.
_SAME_PLACE = 0.5


def settle(claims: Sequence[Claim], given: Sequence[Claim]) -> list[int]:
    """Return which claims stay, in their order: an earlier one goes before a later one.

    Parameters
    ----------
    claims : sequence of (label, box)
        The best first.
    given : sequence of (label, box)
        Of marked regions, which go before all.

    Examples
    --------
    >>> window, door = (0.0, 0.0, 0.2, 0.4), (0.5, 0.5, 0.7, 1.0)
    >>> claims = [("door", window), ("window", (0.0, 0.0, 0.2, 0.1)), ("window", door)]
    >>> settle(claims, [("window", window)])
    [2]
    """
    if not claims:
        return []
    labels = np.array([label for label, _ in (*given, *claims)], object)
    boxes = np.array([box for _, box in (*given, *claims)], np.float64)
    own = labels[:, None] == labels[None]
    parts = box_parts(boxes, boxes)
    clash = np.where(
        own, np.maximum(parts, parts.T) >= _INSIDE, box_ious(boxes, boxes) >= _SAME_PLACE
    )
    stays = np.zeros(len(boxes), np.bool_)
    stays[: len(given)] = True
    for place in range(len(given), len(boxes)):
        stays[place] = not (clash[place] & stays).any()
    return np.flatnonzero(stays[len(given) :]).tolist()
