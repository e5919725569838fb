"""From a model and images to attribution maps: methods, sanity checks, prototypes.

Light to import: a package is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.attribution import methods, prototypes, sanity

__all__ = ["methods", "prototypes", "sanity"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"sightline.attribution.{name}")
    raise AttributeError(f"module 'sightline.attribution' has no attribute {name!r}")
