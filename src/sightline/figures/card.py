"""What a figure is: what it shows, how to read it, what it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

__all__ = ["FigureCard", "Group"]

Group = Literal["images", "curves", "scores", "checks", "prototypes", "detection"]


@dataclass(frozen=True, slots=True)
class FigureCard:
    """All there is to know about a figure.

    Attributes
    ----------
    name
        By which commands know it.
    title
        In a few words.
    function
        That draws it.
    file
        Its name in reports, without an ending.
    group
        What it is about: single images, curves, scores, checks of maps, prototypes, detections.
    shows
        What is drawn, panel by panel.
    reading
        How to read it, and what not to read out of it.
    needs
        What it is drawn from.
    unselected
        Why nothing that it shows is the best of several on the same images; empty where layers or
        methods can be, which it then names and marks.

    Examples
    --------
    >>> from sightline.figures import FIGURES
    >>> card = FIGURES["leaderboard"]
    >>> card.title, card.group, card.file
    ('Leaderboard', 'scores', 'leaderboard')
    """

    name: str
    title: str
    function: Callable[..., Figure]
    file: str
    group: Group
    shows: str
    reading: str
    needs: str
    unselected: str = ""
