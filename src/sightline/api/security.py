"""Who may ask: a token where others could reach the service, checked hosts where they cannot.

- Bound to this machine (127.0.0.1), no token is needed. The Host header must name this machine, so
  that a web page of somebody else cannot reach the service under a name of its own (DNS rebinding).
- A request names one host: two Host headers, or an address of another host than Host names, are
  refused.
- Bound to anything else, every path needs the token, the app's files included: as
  ``Authorization: Bearer …``, or once as ``?token=…``, which sets a cookie that scripts cannot
  read.
- No other origin may read anything (no CORS), embed the pages, or learn addresses from them.
"""

from __future__ import annotations

import hmac
from asyncio import CancelledError
from hashlib import sha256
from html import escape
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse

from sightline.api.problems import problem_response, unexpected

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Guard", "SECURE", "TARGET", "is_loopback"]

TARGET = "sightline.target"
"""Key of an ASGI scope: the target of a request as it was sent, which may be a whole address."""

SECURE = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' blob: data:; "
    "style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Headers of every answer."""

_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_WEEK = 7 * 24 * 3600


def is_loopback(host: str) -> bool:
    """Say whether a host to bind to can be reached from this machine alone.

    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class _Seen(NamedTuple):
    """Where a request showed the token."""

    allowed: bool
    by_word: bool


class Guard:
    """Middleware that lets in whoever may ask, and puts `SECURE` on every answer.

    Parameters
    ----------
    app
        What is guarded.
    token
        What every request must know; None: the service is reached from this machine alone.
    scope_name
        Of the cookie, so that services on several ports of a machine do not share it.
    """

    def __init__(self, app: ASGIApp, token: str | None = None, scope_name: str = "") -> None:
        self.app, self.token = app, token
        self._cookie = f"sightline-{sha256(scope_name.encode()).hexdigest()[:8]}"
        self._proof = sha256(f"cookie of {token}".encode()).hexdigest()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sending = _Securing(send)
        try:
            await self._answer(scope, receive, sending)
        except CancelledError:  # the server ends, and waits no longer
            if not sending.begun:
                await problem_response(503, "the service is ending")(scope, receive, sending)
        except Exception as error:
            if not sending.begun:
                await unexpected(scope, error)(scope, receive, sending)
            raise  # for the server's log; the connection is cut where it was too late to tell

    async def _answer(self, scope: Scope, receive: Receive, sending: _Securing) -> None:
        if refusal := _find_host_conflict(scope):
            await problem_response(400, refusal, "Host")(scope, receive, sending)
            return
        if scope["path"].startswith(("http:", "https:")):  # h11 leaves the address as it was sent
            path = urlsplit(scope["raw_path"].decode("ascii")).path or "/"
            scope = {**scope, "path": unquote(path), "raw_path": path.encode("ascii")}
        if self.token is None:
            await self._by_host(scope, receive, sending)
            return
        seen = self._seen(scope)
        if not seen.allowed:
            await _unauthorised(scope, receive, sending)
            return
        if seen.by_word:
            sending.cookie = (
                f"{self._cookie}={self._proof}; Path=/; Max-Age={_WEEK}; HttpOnly; SameSite=Strict"
            )
            if not scope["path"].startswith("/api/"):
                await _onward(scope)(scope, receive, sending)
                return
        await self.app(scope, receive, sending)

    async def _by_host(self, scope: Scope, receive: Receive, send: Send) -> None:
        host = Headers(scope=scope).get("host", "")
        if is_loopback(_host_name(host).strip("[]")):
            await self.app(scope, receive, send)
            return
        told = f"this service is for this machine alone: Host must be {', '.join(_LOCAL)}"
        await problem_response(421, f"{told}; got {host[:100]!r}", "Host")(scope, receive, send)

    def _seen(self, scope: Scope) -> _Seen:
        headers = Headers(scope=scope)
        kind, _, value = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self._same(value.strip(), self.token or ""):
            return _Seen(allowed=True, by_word=False)
        words = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        if self._same(words.get("token", ""), self.token or ""):
            return _Seen(allowed=True, by_word=True)
        return _Seen(self._same(_cookie(headers, self._cookie), self._proof), by_word=False)

    @staticmethod
    def _same(seen: str, known: str) -> bool:
        """Compare in a time that does not tell how much is right."""
        return hmac.compare_digest(seen.encode(), known.encode())


class _Securing:
    """Sends answers with the headers that all have."""

    def __init__(self, send: Send) -> None:
        self.send, self.cookie, self.begun = send, "", False

    async def __call__(self, message: Message) -> None:
        self.begun = True
        if message["type"] == "http.response.start":
            message.setdefault("headers", [])
            message = {**message, "headers": list(message["headers"])}
            headers = MutableHeaders(scope=message)
            for name, value in SECURE.items():
                headers[name] = value
            if self.cookie:
                headers.append("Set-Cookie", self.cookie)
        await self.send(message)


def _host_name(host: str) -> str:
    """Return a Host header without its port.

    >>> _host_name("127.0.0.1:8000"), _host_name("[::1]:8000"), _host_name("LOCALHOST")
    ('127.0.0.1', '[::1]', 'localhost')
    """
    name, colon, port = host.rpartition(":")
    bare = name if colon and port.isdigit() and not host.endswith("]") else host
    return bare.lower()


def _find_host_conflict(scope: Scope) -> str:
    """Return why a request does not name one host; "" where it does.

    Proxies and servers differ in which of two names they believe: whoever sends two may want one
    to be checked and the other to be used.
    """
    hosts = Headers(scope=scope).getlist("host") or [""]
    if len(hosts) > 1:
        return f"a request has one Host header; got {len(hosts)}"
    target = scope.get(TARGET) or scope.get("raw_path") or b"/"
    if target.startswith((b"/", b"?")) or target == b"*":
        return ""
    shown = repr(target[:100].decode("latin-1"))
    try:
        url = urlsplit(target.decode("ascii"))
        same = _split_host(url.netloc, url.scheme) == _split_host(hosts[0], url.scheme)
    except ValueError:  # no number of a port, no ASCII
        same = False
    if same and url.scheme in ("http", "https"):
        return ""
    return f"the address that is asked for must be of the host that Host names; got {shown}"


def _split_host(host: str, scheme: str) -> tuple[str, int]:
    """Return the name and port that a Host header, or the address of a request, means.

    >>> _split_host("LOCALHOST", "http"), _split_host("[::1]:8000", "http")
    (('localhost', 80), ('[::1]', 8000))
    """
    name = _host_name(host)
    port = host[len(name) + 1 :]
    return name, int(port) if port else {"https": 443}.get(scheme, 80)


def _cookie(headers: Headers, name: str) -> str:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return "" if found is None else found.value


async def _unauthorised(scope: Scope, receive: Receive, send: Send) -> None:
    told = (
        "this service needs its token: open the address that `sightline serve` printed, "
        "or send 'Authorization: Bearer TOKEN'"
    )
    headers = {"WWW-Authenticate": "Bearer", "Cache-Control": "no-store"}
    if scope["path"].startswith("/api/"):
        await problem_response(401, told, None, headers)(scope, receive, send)
        return
    page = f"<!doctype html><meta charset=utf-8><title>Sightline</title><p>{escape(told)}."
    await HTMLResponse(page, 401, headers)(scope, receive, send)


def _onward(scope: Scope) -> HTMLResponse:
    """Return a page that goes on to the same address without the token.

    Not a redirect: after a link from elsewhere, a browser would not send the strict cookie along
    with it; it does when this page leads on.
    """
    words = [
        pair for pair in parse_qsl(scope["query_string"].decode("latin-1")) if pair[0] != "token"
    ]
    path = "/" + quote(scope["path"].lstrip("/\\"))
    url = escape(path + (f"?{urlencode(words)}" if words else ""))
    page = (
        "<!doctype html><meta charset=utf-8><title>Sightline</title>"
        f'<meta http-equiv="refresh" content="0; url={url}"><p><a href="{url}">Sightline</a>'
    )
    return HTMLResponse(page, headers={"Cache-Control": "no-store"})
