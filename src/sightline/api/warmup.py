"""What a service prepares when it starts: what every page needs, then what is likely to be asked.

It happens in a thread of its own, beside the first requests, which go first.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from typing import Any
from urllib.parse import quote, unquote

from fastapi import FastAPI

from sightline.api.state import AHEAD, Served, Service
from sightline.core import SightlineError

__all__ = ["asker", "prepare"]

# How many times as long as it worked a thread rests that nobody waits for, while others ask; and
# the longest rest, in seconds.
_LEISURE, _LONGEST_REST = 2.0, 0.5
# Seconds after which nothing more is prepared, and that a single answer may take.
_LONGEST, _LONGEST_EACH = 300.0, 60.0
# Of the small pictures in the gallery of the app, and elsewhere in it.
_SMALL_PIXELS = (384, 256)


def asker(app: FastAPI, token: str | None) -> Callable[[str], object]:
    """Return a function, for other threads, that has a path answered so that the answer is kept."""
    loop = asyncio.get_running_loop()
    headers = [(b"host", b"localhost")]
    headers += [(b"authorization", f"Bearer {token}".encode())] if token else []

    def ask(path: str) -> None:
        path, _, words = path.partition("?")
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
            "method": "GET", "path": unquote(path), "raw_path": path.encode(), "root_path": "",
            "query_string": words.encode(), "headers": headers, "client": None, "server": None,
            AHEAD: True,
        }  # fmt: skip
        answer = asyncio.run_coroutine_threadsafe(app(scope, _nothing, _nowhere), loop)
        with suppress(Exception):  # what goes wrong is told to whoever asks next
            answer.result(_LONGEST_EACH)

    return ask


async def _nothing() -> dict[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _nowhere(_: Any) -> None:
    pass


def prepare(service: Service) -> None:
    """Load, beside the first requests, what they will need; errors are told to whoever asks."""
    try:
        served = service.last
        steps = _first_steps(served)
        steps.append(partial(_order_review, service, served))
        for step in steps:
            with suppress(SightlineError, OSError):
                if not service.closed:
                    step()
        with suppress(SightlineError, OSError):
            _score_ahead(service, served)
    finally:
        service.warming = False
    if service.when_warm is not None:
        service.when_warm()


def _first_steps(served: Served) -> list[Callable[[], object]]:
    """Return what to do first: every page needs it."""
    from sightline.api.routes.scores import warm_up
    from sightline.api.routes.system import health_of, study_of

    steps: list[Callable[[], object]] = [
        served.preload,
        lambda: study_of(served),
        lambda: health_of(served),
        lambda: served.scenes,
        lambda: warm_up(served),
    ]
    if find_spec("torch") is not None:  # methods are described beside the code that makes maps
        steps.insert(0, lambda: import_module("sightline.attribution.methods"))
    return steps


def _order_review(service: Service, served: Served) -> None:
    """Find out what the queue of the review is ordered by, if one is served."""
    if (desk := service.desk) is not None:
        desk.look(served)


def _score_ahead(service: Service, served: Served) -> None:
    """Prepare what is likely to be asked for, at leisure: whoever asks meanwhile goes first."""
    from sightline.api.routes.scores import score_lines
    from sightline.api.routes.tables import tables_ahead

    if not served.finished:
        return
    ask, until = service.ask, time.monotonic() + _LONGEST
    begun, asked = time.monotonic(), service.asked
    for paths in chain(map(_pages_of, score_lines(served)), tables_ahead(served)):
        if ask is not None:
            for path in paths:
                ask(path)
        if service.asked != asked:
            time.sleep(min(_LEISURE * (time.monotonic() - begun), _LONGEST_REST))
        if service.closed or service.last is not served or time.monotonic() > until:
            return
        begun, asked = time.monotonic(), service.asked


def _pages_of(image: str) -> tuple[str, ...]:
    """Return what the app asks for of an image first, beside its scores."""
    name = quote(image)
    one = f"/api/images/{name}"
    small = (f"{one}/thumbnail?size={size}" for size in _SMALL_PIXELS)
    return *small, one, f"{one}/file", f"/api/metrics/{name}/models"
