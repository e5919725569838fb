"""What Sightline makes public: found by walking, so that new names are tested, too."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import sightline

NESTED = ("sightline.core.geometry", "sightline.core.registry", "sightline.models.finetuning")
"""Modules inside packages that users import from, which these do not list."""


def packages() -> list[ModuleType]:
    """Return Sightline, its packages, and modules that these make public."""
    names = [module.name for module in iter_modules(sightline.__path__, "sightline.")]
    found = [sightline, *map(import_module, [*names, *NESTED])]
    public = [getattr(one, name) for one in found for name in one.__all__]
    return found + [thing for thing in public if isinstance(thing, ModuleType)]
