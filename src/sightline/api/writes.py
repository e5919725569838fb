"""What may be sent, and from where: requests with a body, which change a review or take work.

A page of somebody else can have a browser post a form to this machine without asking anyone. So
what takes a body takes JSON alone, which needs the browser's leave, from no other origin, and of a
limited size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect

from sightline.api.problems import problem_response

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["LARGEST", "CheckedWrites"]

_GUARDED = ("/api/review", "/api/rating", "/api/similarity/", "/api/prototypes/")
LARGEST = {"/api/review/proposals": 20 << 20}
"""The largest body of a path, in bytes."""
_USUAL = 256 << 10


class CheckedWrites:
    """Middleware that reads the bodies of writing requests, and refuses those that do not fit.

    Parameters
    ----------
    app
        What keeps what is sent.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or not _writes(scope):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        largest = LARGEST.get(scope["path"], _USUAL)
        if (refusal := _refusal(headers, largest)) is not None:
            await refusal(scope, receive, send)
            return
        try:
            body = await _read(receive, largest)
        except ClientDisconnect:  # nobody waits for an answer, and half a body says nothing
            return
        if body is None:
            await _too_large(largest)(scope, receive, send)
            return
        await self.app(scope, _Again(body, receive), send)


def _writes(scope: Scope) -> bool:
    guarded = scope["path"].startswith(_GUARDED)
    return guarded and scope["method"] not in ("GET", "HEAD", "OPTIONS")


def _refusal(headers: Headers, largest: int) -> Response | None:
    """Return why a request is refused before its body is read; None where it is not."""
    origin = headers.get("origin")
    if origin is not None and not _is_here(origin, headers.get("host", "")):
        told = f"only pages of this service may write; got the origin {origin[:100]!r}"
        return problem_response(403, told, "Origin")
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        told = f"Content-Type must be application/json, got {kind[:100]!r}"
        return problem_response(415, told, "Content-Type")
    said = headers.get("content-length", "")
    if said.isascii() and said.isdigit() and int(said[:20]) > largest:
        return _too_large(largest)
    return None


def _is_here(origin: str, host: str) -> bool:
    """Say whether an origin is the host that is asked.

    >>> _is_here("http://localhost:8000", "LOCALHOST:8000")
    True
    >>> [_is_here(o, "localhost:8000") for o in ("null", "http://localhost:1", "http://evil")]
    [False, False, False]
    """
    try:
        found = urlsplit(origin)
    except ValueError:
        return False
    named = found.scheme in ("http", "https") and origin == f"{found.scheme}://{found.netloc}"
    return named and host != "" and found.netloc.lower() == host.lower()


def _too_large(largest: int) -> Response:
    size = f"{largest >> 20} MB" if largest >> 20 else f"{largest >> 10} kB"
    return problem_response(413, f"the body may have {size} at most", "body")


async def _read(receive: Receive, largest: int) -> bytes | None:
    """Return the body of a request; None where it is too large.

    Raises
    ------
    ClientDisconnect
        If it does not come to its end.
    """
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > largest:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


class _Again:
    """Tells the body that was read, then whatever else comes."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self.body: bytes | None = body
        self.receive = receive

    async def __call__(self) -> Message:
        if self.body is None:
            return await self.receive()
        body, self.body = self.body, None
        return {"type": "http.request", "body": body, "more_body": False}
