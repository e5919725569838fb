"""The one table of feeds: how each registered figure comes out of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.report import (
    _figures_checks,
    _figures_curves,
    _figures_detection,
    _figures_images,
    _figures_prototypes,
    _figures_scores,
)

if TYPE_CHECKING:
    from sightline.report._figure_data import Feed

__all__ = ["FEEDS"]

FEEDS: dict[str, Feed] = {
    **_figures_images.FEEDS,
    **_figures_curves.FEEDS,
    **_figures_scores.FEEDS,
    **_figures_checks.FEEDS,
    **_figures_prototypes.FEEDS,
    **_figures_detection.FEEDS,
}
