"""The one table of figures: commands, reports and documentation read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.figures import checks, comparing, curves, detection, examples, images, ranking
from sightline.registry import Registry

if TYPE_CHECKING:
    from sightline.figures.card import FigureCard

__all__ = ["FIGURES"]

FIGURES: Registry[FigureCard] = Registry("figure")
for _module in (images, examples, comparing, ranking, curves, checks, detection):
    for _card in _module.CARDS:
        FIGURES.add(_card.name, _card)
