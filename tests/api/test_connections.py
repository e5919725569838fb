"""What the HTTP server does with connections that are idle, trickle or name two hosts."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from typer.testing import CliRunner
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sightline.api import create_app
from sightline.api.connections import ConnectionLimits, build_protocol
from sightline.api.security import Guard
from sightline.cli import app as command_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HOST = "127.0.0.1"
LIMITS = ConnectionLimits(seconds=0.3, progress=1000)
LARGE = 64 << 20  # more than the buffers of sockets hold
HEAD = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000\r\n\r\n"
GET = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


async def echo(scope: Any, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
    """Answer: /large much at once, /early before the body is read, /slow after a second."""
    if scope["type"] != "http":
        return
    if scope["path"] != "/early":
        while (await receive()).get("more_body"):
            pass
    if scope["path"] == "/slow":
        await asyncio.sleep(1)
    parts = [b"x" * LARGE] if scope["path"] == "/large" else [b"answer"]
    if scope["path"] == "/parts":
        parts = [b"x" * (1 << 16)] * (LARGE >> 16)
    size = str(sum(map(len, parts))).encode()
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-length", size)]}
    )
    for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body"})


@contextmanager
def serving(app: Any, base: Any, limits: ConnectionLimits) -> Iterator[int]:
    """Serve an app in a thread; yield the port."""
    config = uvicorn.Config(
        app, http=build_protocol(limits, base), ws="none", log_level="error",
        timeout_keep_alive=60, timeout_graceful_shutdown=1, lifespan="off",
    )  # fmt: skip
    server = uvicorn.Server(config)
    with socket.create_server((HOST, 0)) as listening:
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(30)


@pytest.fixture(scope="module", params=[HttpToolsProtocol, H11Protocol], ids=["httptools", "h11"])
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    """A server of `echo` with small limits."""
    with serving(Guard(echo), request.param, LIMITS) as number:
        yield number


def connect(port: int) -> closing[socket.socket]:
    return closing(socket.create_connection((HOST, port), timeout=20))


def read_until_closed(connection: socket.socket) -> bytes:
    """Return what comes until the server closes; a timeout of the socket raises."""
    parts = []
    try:
        while part := connection.recv(1 << 20):
            parts.append(part)
    except ConnectionError:
        pass
    return b"".join(parts)


def trickle(connection: socket.socket, byte: bytes) -> None:
    """Send one byte after another until the connection is closed."""
    for _ in range(1000):
        try:
            connection.sendall(byte)
        except ConnectionError:
            return
        time.sleep(0.02)
    pytest.fail("the connection stays open")


@pytest.mark.parametrize(
    "sent", [b"", GET[:20], HEAD, HEAD + b"x" * 10, GET, GET + GET[:9], b"\r\n" * 5]
)
def test_an_idle_connection_is_closed(port: int, sent: bytes) -> None:
    with connect(port) as connection:
        connection.sendall(sent)
        answers = read_until_closed(connection)
    assert answers.count(b"answer") == sent.count(GET)


@pytest.mark.parametrize(
    ("sent", "byte"),
    [
        (b"", b"G"),
        (b"GET / HTTP/1.1\r\n", b"a"),
        (b"", b"\r\n"),
        (HEAD, b"x"),
        (HEAD.replace(b"Content-Length: 100000", b"Transfer-Encoding: chunked"), b"1\r\nx\r\n"),
        (HEAD.replace(b"/ ", b"/early "), b"x"),
        (GET, b"G"),
    ],
)
def test_a_connection_that_trickles_is_closed(port: int, sent: bytes, byte: bytes) -> None:
    with connect(port) as connection:
        connection.sendall(sent)
        trickle(connection, byte)


@pytest.mark.parametrize("path", [b"/large", b"/parts"])
@pytest.mark.parametrize("count", [0, 1])
def test_a_client_that_does_not_read_is_closed(port: int, path: bytes, count: int) -> None:
    with connect(port) as connection:
        connection.sendall(GET.replace(b"/ ", path + b" "))
        for _ in range(50):
            connection.recv(count) if count else None
            time.sleep(0.02)
        assert len(read_until_closed(connection)) < LARGE


@pytest.mark.parametrize("base", [HttpToolsProtocol, H11Protocol])
def test_what_moves_is_not_cut(base: Any) -> None:
    """Pauses are a tenth of the limit, so that a thread which stalls for a while does no harm."""
    limits = replace(LIMITS, seconds=2)
    with (
        serving(Guard(echo), base, limits) as port,
        connect(port) as asking,
        connect(port) as sending,
    ):
        sending.sendall(HEAD)
        for _ in range(12):  # longer than the limit together
            asking.sendall(GET)
            assert asking.recv(1000).endswith(b"answer")
            sending.sendall(b"x" * 5000)
            time.sleep(limits.seconds / 10)
        sending.sendall(b"x" * 40000)
        assert sending.recv(1000).endswith(b"answer")


def test_the_work_on_an_answer_has_no_limit(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(GET.replace(b"/ ", b"/slow "))
        assert connection.recv(1000).endswith(b"answer")


@pytest.mark.parametrize("path", [b"/large", b"/parts"])
def test_a_slow_reader_gets_all(port: int, path: bytes) -> None:
    seen = 0
    with connect(port) as connection:
        connection.sendall(GET.replace(b"/ ", path + b" "))
        start = time.monotonic()
        while seen < LARGE and (part := connection.recv(1 << 20)):
            seen += len(part)
            if time.monotonic() - start < 1:  # three times the limit
                time.sleep(0.05)
    assert seen >= LARGE


def test_a_long_head_is_refused(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        try:
            for k in range(200):
                connection.sendall(b"X-%d: %s\r\n" % (k, b"x" * 4000))
        except ConnectionError:
            return
        assert b" 400 " in read_until_closed(connection)


TWO = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: %s\r\n\r\n"
URI = b"GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (TWO % b"evil.example", 400),
        (TWO % HOST.encode(), 400),
        (URI % b"http://evil.example/", 400),
        (URI % b"http://evil.example", 400),
        (URI % b"HTTP://127.0.0.1:1/", 400),
        (URI % b"http://127.0.0.1@evil.example/", 400),
        (URI % b"http://evil@127.0.0.1/", 400),
        (URI % b"ftp://127.0.0.1/", 400),
        (URI % b"evil.example:80", 400),
        (URI % b"http://127.0.0.1:80/", 200),
        (URI % b"//evil.example/", 200),  # a path, and read as one
        (b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
        (b"GET http://127.0.0.1/ HTTP/1.0\r\n\r\n", 400),
    ],
)
def test_a_request_names_one_host(port: int, sent: bytes, status: int) -> None:
    with connect(port) as connection:
        connection.sendall(sent)
        answer = connection.recv(5000)
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer


@pytest.mark.parametrize("base", [HttpToolsProtocol, H11Protocol])
@pytest.mark.parametrize("token", [None, "correct horse battery"])
def test_an_address_of_this_host_is_its_path(api_store: Any, base: Any, token: str | None) -> None:
    path = b"/api/images?limit=1" + (b"&token=correct%20horse%20battery" if token else b"")
    app = create_app(api_store, token=token)
    with serving(app, base, ConnectionLimits()) as port, connect(port) as connection:
        host = b"127.0.0.1:%d" % port
        for target in (path, b"http://" + host + path):
            connection.sendall(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, host))
            answer = connection.recv(1 << 20)
            assert answer.startswith(b"HTTP/1.1 200 "), answer
        connection.sendall(b"GET http://evil.example%s HTTP/1.1\r\nHost: %s\r\n\r\n" % (path, host))
        assert connection.recv(1 << 20).startswith(b"HTTP/1.1 400 ")


def test_the_command_serves_within_limits(api_store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    configs: list[uvicorn.Config] = []
    monkeypatch.setattr("sys.setswitchinterval", lambda seconds: None)
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: configs.append(self.config))
    done = CliRunner().invoke(command_line, ["serve", str(api_store), "--port", "0", "--no-open"])
    assert done.exit_code == 0, done.output
    protocol: Any = configs[0].http
    assert issubclass(protocol, HttpToolsProtocol)
    assert protocol.limits == ConnectionLimits()
    assert protocol.limits.seconds * 9 / 8 < 30
    assert configs[0].timeout_keep_alive < 30
    assert configs[0].ws == "none"
