"""The service over the fixture store, asked in the same process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient

from sightline.api import app as service
from sightline.api import create_app

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fastapi import FastAPI

    from sightline.api.state import Served


@pytest.fixture(scope="session", autouse=True)
def _routes_once() -> Iterator[None]:
    """Put the routes together once: each service has the same, and each anew takes 0.3 seconds."""
    make = service._with_routes
    routes = make(None).router.routes

    def with_routes(lifespan: Any) -> FastAPI:
        app = make(lifespan)
        assert len(app.router.routes) == len(routes)
        app.router.routes[:] = routes
        return app

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(service, "_with_routes", with_routes)
        yield


@pytest.fixture(scope="session")
def api_store(served_store: Path) -> Path:
    """The store that is served; copy it before changing anything."""
    return served_store


@pytest.fixture(scope="session")
def api(api_store: Path) -> FastAPI:
    """The service."""
    return create_app(api_store)


@pytest.fixture(scope="session")
def client(api: FastAPI) -> Iterator[TestClient]:
    """A client of the service, as one on the same machine."""
    with TestClient(api, base_url="http://127.0.0.1") as found:
        yield found


@pytest.fixture(scope="session")
def served(api: FastAPI) -> Served:
    """What the service has loaded."""
    found: Served = api.state.service.now()
    return found
