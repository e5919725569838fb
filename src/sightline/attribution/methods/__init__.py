"""Maps: where a model looks, by attention, gradients and class activation; and baselines."""

import sightline.models  # noqa: F401 (says what to install where torch is missing)

# isort: split
from sightline.attribution.methods import attention, cam, cam_channels, gradient  # noqa: F401 (register their methods)

# isort: split
from sightline.attribution.methods import fullgrad, lrp, relu  # noqa: F401 (as these do)

# isort: split
from sightline.attribution.methods import detections, perturbation, superpixels  # noqa: F401 (as these do)

# isort: split
from sightline.attribution.methods import baselines  # noqa: F401 (after all others in the table)
from sightline.attribution.methods.detections import Detected
from sightline.attribution.methods.files import write_maps
from sightline.attribution.methods.make import explain
from sightline.attribution.methods.maps import Maps
from sightline.attribution.methods.methods import METHODS, Method
from sightline.attribution.methods.picture import draw_maps
from sightline.attribution.methods.similar import similarity
from sightline.attribution.methods.similar_picture import draw_similarity
from sightline.attribution.methods.targets import Similar

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
