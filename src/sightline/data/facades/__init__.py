"""Facades: church fronts drawn by code, on which everything is known.

styles (the words) -> scene (where parts are) -> painters, surfaces, draw (pixels) -> facade
(picture and truth) -> dataset.
"""

from sightline.data.facades.dataset import facade_of, facades, read
from sightline.data.facades.facade import Facade, FacadePart, Labelling
from sightline.data.facades.styles import PART_TYPES, ROLES, STYLES, taxonomy

__all__ = [
    "PART_TYPES",
    "ROLES",
    "STYLES",
    "Facade",
    "FacadePart",
    "Labelling",
    "facade_of",
    "facades",
    "read",
    "taxonomy",
]
