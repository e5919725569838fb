"""The one table of figures: commands, reports and documentation read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sightline.core.registry import Registry
from sightline.figures import (
    agreement,
    checks,
    curves,
    detection,
    drops,
    examples,
    images,
    layers,
    prototypes,
    ranking,
    removal,
)
from sightline.figures import comparisons as comparing

if TYPE_CHECKING:
    from sightline.figures.card import FigureCard

__all__ = ["FIGURES", "find_card"]

FIGURES: Registry[FigureCard] = Registry("figure")
for _module in (
    *(images, examples, comparing, agreement, ranking, curves, layers),
    *(checks, drops, removal, prototypes, detection),
):
    for _card in _module.CARDS:
        FIGURES.add(_card.name, _card)


def find_card(name: str) -> FigureCard:
    """Return the card of a figure by its name, its function or its file.

    Where one function draws several figures, it stands for the first.

    Parameters
    ----------
    name
        "roc", "create_roc_curve_comparison" or "roc_curves".

    Examples
    --------
    >>> find_card("create_roc_curve_comparison").name, find_card("roc_curves").name
    ('roc', 'roc')
    """
    if name not in FIGURES:
        for card in FIGURES.values():
            if name in (card.function.__name__, card.file):
                return card
    return FIGURES[name]
