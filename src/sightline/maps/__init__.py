"""Maps: where a model looks, by attention, gradients and class activation; and baselines."""

import sightline.models  # noqa: F401 (says what to install where torch is missing)

# isort: split
from sightline.maps import attention, cam, cam_channels, gradient  # noqa: F401 (register their methods)

# isort: split
from sightline.maps import fullgrad, lrp, relu  # noqa: F401 (as these do)

# isort: split
from sightline.maps import detections, perturbation, superpixels  # noqa: F401 (as these do)

# isort: split
from sightline.maps import baselines  # noqa: F401 (after all others in the table)
from sightline.maps.detections import Detected
from sightline.maps.files import write_maps
from sightline.maps.make import explain
from sightline.maps.maps import Maps
from sightline.maps.methods import METHODS, Method
from sightline.maps.picture import draw_maps
from sightline.maps.similar import similarity
from sightline.maps.similar_picture import draw_similarity
from sightline.maps.targets import Similar

__all__ = [
    "Detected",
    "METHODS",
    "Maps",
    "Method",
    "Similar",
    "draw_maps",
    "draw_similarity",
    "explain",
    "similarity",
    "write_maps",
]
