"""Numbers to pictures, in one house style; needs matplotlib, the extra `figures`."""

from __future__ import annotations

from sightline.figures.card import FigureCard
from sightline.figures.cards import FIGURES
from sightline.figures.detection import (
    draw_confusion_matrix,
    draw_error_types,
    draw_intervals,
    draw_pr_curves,
    draw_reliability,
)
from sightline.figures.style import COLOURS, house_style, new_figure, save

__all__ = [
    "COLOURS",
    "FIGURES",
    "FigureCard",
    "draw_confusion_matrix",
    "draw_error_types",
    "draw_intervals",
    "draw_pr_curves",
    "draw_reliability",
    "house_style",
    "new_figure",
    "save",
]
