"""The one table of feeds: how each registered figure comes out of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.report import (
    _feeds_checks,
    _feeds_curves,
    _feeds_detection,
    _feeds_images,
    _feeds_prototypes,
    _feeds_scores,
)

if TYPE_CHECKING:
    from sightline.report._feed import Feed

__all__ = ["FEEDS"]

FEEDS: dict[str, Feed] = {
    **_feeds_images.FEEDS,
    **_feeds_curves.FEEDS,
    **_feeds_scores.FEEDS,
    **_feeds_checks.FEEDS,
    **_feeds_prototypes.FEEDS,
    **_feeds_detection.FEEDS,
}
