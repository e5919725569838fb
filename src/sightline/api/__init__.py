"""The service over the results of a study: typed answers over HTTP, and the web app beside them.

It computes nothing itself: every score comes from the engine that the study used. `create_app` is
the way in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sightline.core import MissingPackageError

if TYPE_CHECKING:
    from sightline.api.app import create_app

__all__ = ["create_app"]


def __getattr__(name: str) -> Any:
    """Import the service when it is asked for: it needs the extra `web`."""
    if name != "create_app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import fastapi  # noqa: F401 (all of it needs this)
    except ImportError as error:
        told = "the service needs fastapi: pip install 'sightline[web]'"
        raise MissingPackageError(told) from error
    from sightline.api.app import create_app

    return create_app
