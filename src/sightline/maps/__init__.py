"""Maps: where a model looks, by attention, gradients and class activation; and baselines."""

import sightline.models  # noqa: F401 (says what to install where torch is missing)

# isort: split
from sightline.maps import attention, cam, gradient  # noqa: F401 (register their methods)

# isort: split
from sightline.maps import baselines  # noqa: F401 (after all others in the table)
from sightline.maps.files import write_maps
from sightline.maps.make import explain
from sightline.maps.maps import Maps
from sightline.maps.methods import METHODS, Method
from sightline.maps.picture import draw_maps

__all__ = ["METHODS", "Maps", "Method", "draw_maps", "explain", "write_maps"]
