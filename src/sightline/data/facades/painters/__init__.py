"""How each part type is drawn: short functions in one table, `PAINTERS`.

A painter gets a box, the look of the facade and a number from 0 to 1 that decides details, and
yields shapes in the order of painting. A part's silhouette is the union of its shapes; it casts no
shadow beyond, so that removing a part changes no pixel elsewhere.
"""

from sightline.data.facades.painters import (  # they fill the table
    articulation,
    crowns,
    neutral,
    openings,
    portals,
    scenery,
)
from sightline.data.facades.painters.brush import PAINTERS, Painter, Shape

__all__ = [
    "PAINTERS",
    "Painter",
    "Shape",
    "articulation",
    "crowns",
    "neutral",
    "openings",
    "portals",
    "scenery",
]
