"""How the pixels of an image became the grid of a model: regions forward, maps back.

Pixel i reaches from i to i + 1, its centre is at i + 0.5. The "image" is the upright one that was
annotated, the "input" what the model is given, the "grid" its patches. Numpy alone.
"""

from sightline.core.geometry.fit import FITS, fit_geometry
from sightline.core.geometry.transform import Geometry

__all__ = ["FITS", "Geometry", "fit_geometry"]
