"""What Sightline makes public: found by walking, so that new names are tested, too."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import sightline


def packages() -> list[ModuleType]:
    """Return Sightline, its packages but the private ones, and modules that these make public."""
    names = [one.name for one in iter_modules(sightline.__path__, "sightline.")]
    found = [sightline, *(import_module(name) for name in names if "._" not in name)]
    public = [getattr(one, name) for one in found for name in one.__all__]
    return found + [thing for thing in public if isinstance(thing, ModuleType)]
