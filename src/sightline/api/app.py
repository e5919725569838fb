"""The service: routes over a store, guarded and cached, with the built app beside them."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from copy import deepcopy
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

from anyio.to_thread import current_default_thread_limiter
from fastapi import Depends, FastAPI, Query, Request
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from sightline import __version__
from sightline.api.answer_cache import CachedAnswers
from sightline.api.choice import unknown_word
from sightline.api.problems import PROBLEMS, add_handlers, describe_problems
from sightline.api.security import Guard
from sightline.api.state import Service
from sightline.api.static_app import BuiltApp
from sightline.api.warmup import asker, prepare
from sightline.api.writes import CheckedWrites

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig  # which older ones do not have

__all__ = ["MODULES", "create_app", "openapi_schema"]

MODULES = (
    "system",
    "images",
    "maps",
    "scores",
    "similarity",
    "tables",
    "heads",
    "compare",
    "sparsity",
    "detection",
    "exports",
    "checks",
    "doubts",
    "prototypes",
    "prototypes_live",
    "review",
    "ratings",
)
"""The modules of routes, in the order in which they are documented."""

# Seconds that are waited for what is being loaded when a service ends.
_PATIENCE = 1.0
# Names of the threads that no request holds: what loads at the start, and what takes long.
_APART = ("loading", "sparsity report")
# Whatever variables of the environment say (FASTAPI_OTEL_AUTO_CONFIGURE), nothing is reported.
_UNTOLD: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
_THREADS = 2 * (os.cpu_count() or 2)
_EVERYWHERE = ("token", "v")  # query words of all routes
_TITLE = "Sightline"
_ABOUT = """Where models look, and where people marked what matters: the results of one study.

- Every word of a query may be left out; `choice` in the answer says what was chosen then, and why.
- A number that is not defined is null. Chance and ceiling stand beside scores.
- What goes wrong is told as problem details (RFC 9457); `field` names the part of the request.
- Answers have an ETag. With `?v=` and the version that `/api/progress` tells, they may be kept for
  ever.
"""


def create_app(
    store: str | os.PathLike[str],
    *,
    token: str | None = None,
    warm: bool = False,
    review: str | os.PathLike[str] | None = None,
) -> FastAPI:
    """Return the service over the results of a study.

    Parameters
    ----------
    store
        The folder of the study, which may still be running.
    token
        That every request must show; None where only this machine can reach the service.
    warm
        Whether to load what first answers need as soon as the service starts.
    review
        The folder of a review, in which people then decide; None: none is served.

    Raises
    ------
    InputError
        If no study is stored there, or the folder holds no review.
    """
    service = Service(store, review)
    app = _with_routes(_living(service, token, warm=warm))
    app.state.service = service
    add_handlers(app)
    app.router.default = BuiltApp()  # whatever no route is for
    # The last one added is the first that sees a request.
    app.add_middleware(CachedAnswers, service=service)
    app.add_middleware(CheckedWrites)
    app.add_middleware(Guard, token=token, scope_name=str(service.path))
    return app


def openapi_schema() -> dict[str, Any]:
    """Return the schema of the API (OpenAPI 3.1), which is the same for every store."""
    return deepcopy(_schema())


@cache
def _schema() -> dict[str, Any]:
    """Return the schema, which takes seconds to write down: once a process."""
    return _with_routes(None).openapi()


def _with_routes(lifespan: Any) -> FastAPI:
    """Return the service without a store: its routes and what is said of them."""
    app = FastAPI(
        title=_TITLE,
        version=__version__,
        summary="Does a vision model look where experts look?",
        description=_ABOUT,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        dependencies=[Depends(_check_words)],
        responses={422: PROBLEMS[422]},
        generate_unique_id_function=_operation,
        redirect_slashes=False,
        telemetry=_UNTOLD,
    )
    for name in MODULES:
        app.include_router(import_module(f"sightline.api.routes.{name}").router)
    describe_problems(app)
    return app


def _operation(route: APIRoute) -> str:
    """Return the name of an operation: that of its function."""
    return route.name


async def _check_words(
    request: Request,
    _v: Annotated[
        str | None,
        Query(
            alias="v",
            max_length=64,
            description="Version of the store that is wanted (see /api/progress): the answer may "
            "then be kept for ever.",
        ),
    ] = None,
) -> None:
    """Refuse query words that a route does not have: a misspelt one must not pass unseen."""
    asked = [name for name in request.query_params if name not in _EVERYWHERE]
    if not asked:
        return
    route = getattr(request.scope.get("route"), "path", "")
    known = _words().get((route, request.method), ())
    for name in asked:
        if name not in known:
            raise unknown_word(name, list(known))


@cache
def _words() -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the query words of each route, those that are documented.

    They are the same for every store.
    """
    return {
        (path, method.upper()): tuple(
            one["name"] for one in about.get("parameters", ()) if one["in"] == "query"
        )
        for path, methods in _schema()["paths"].items()
        for method, about in methods.items()
    }


def _living(service: Service, token: str | None, *, warm: bool) -> Any:
    """Return what happens when a service starts, and when it ends."""

    @asynccontextmanager
    async def run(app: FastAPI) -> AsyncIterator[None]:
        # More threads than that only wait for each other, and keep kept answers waiting.
        current_default_thread_limiter().total_tokens = _THREADS
        warming = threading.Thread(target=prepare, args=(service,), name=_APART[0], daemon=True)
        if warm:
            service.ask, service.warming = asker(app, token), True
            warming.start()
        yield
        service.closed = True
        if warm:
            await run_in_threadpool(warming.join, _PATIENCE)
        service.busy = _at_work()
        service.close()

    return run


def _at_work() -> bool:
    """Say whether threads still compute what nobody waits for any more."""
    apart = any(one.name in _APART for one in threading.enumerate())
    return apart or current_default_thread_limiter().borrowed_tokens > 0
