"""Connections of the HTTP server: those that are idle, or only trickle, are closed.

Left to itself the server (uvicorn) waits for ever for the first request of a connection, for the
rest of a head or body, and for a client that does not read. A few thousand such connections would
keep all others out.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

from sightline.api.security import TARGET

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ConnectionLimits", "build_protocol"]

# Looks at a connection per `seconds`; it is cut that much later at most.
_CHECKS = 8


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """How long a connection may make no progress, and what counts as progress.

    Attributes
    ----------
    seconds
        In which the whole head of a request must come, counted from the connection or the last
        answer; and in which `progress` must be made where a body is sent or an answer is read.
        The work on an answer has no limit.
    progress
        Bytes of a body or an answer.
    head
        Bytes that the head of a request may have.

    Examples
    --------
    >>> ConnectionLimits().seconds
    15.0
    """

    seconds: float = 15.0
    progress: int = 16 << 10
    head: int = 64 << 10


def build_protocol(limits: ConnectionLimits, base: Any = AutoHTTPProtocol) -> Any:
    """Return a protocol class for uvicorn that cuts connections which make no progress.

    Parameters
    ----------
    limits
        Of each connection.
    base
        A protocol class of uvicorn, for httptools or for h11.
    """
    by_callbacks = hasattr(base, "on_headers_complete")  # httptools; h11 yields events
    mixins = (_BoundedHead, _WatchedConnection) if by_callbacks else (_WatchedConnection,)
    return type("WatchedProtocol", (*mixins, base), {"limits": limits})


class _WatchedConnection(asyncio.Protocol):
    """Looks at its connection from time to time, and cuts it where nothing has moved."""

    limits: ConnectionLimits
    # Of uvicorn's protocols:
    transport: asyncio.Transport
    loop: asyncio.AbstractEventLoop
    flow: Any
    cycle: Any

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to watch."""
        super().connection_made(transport)
        self._received, self._drained = 0, 0
        self._start(self._stage())
        self._schedule()

    def connection_lost(self, exc: Exception | None) -> None:
        """End watching."""
        self._timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what comes."""
        self._received += len(data)
        super().data_received(data)

    def resume_writing(self) -> None:
        """Count how often the client has read enough for more to be sent."""
        self._drained += 1
        super().resume_writing()

    def _schedule(self) -> None:
        self._timer = self.loop.call_later(self.limits.seconds / _CHECKS, self._check)

    def _stage(self) -> tuple[str, Any, int]:
        """Return what the connection waits for: of which request, and a count of its progress."""
        cycle = self.cycle
        done = cycle is None or cycle.response_complete
        buffered = self.transport.get_write_buffer_size()
        if buffered and (done or self.flow.write_paused):
            return "sending", self._drained, -buffered
        if done:
            return "waiting", cycle, 0
        if cycle.more_body and not self.flow.read_paused:
            return "receiving", cycle, self._received
        return "working", cycle, 0

    def _start(self, stage: tuple[str, Any, int]) -> None:
        self._begun, self._since = stage, self.loop.time()

    def _check(self) -> None:
        stage = self._stage()
        what, begun = stage[0], self._begun
        if what == "working" or stage[:2] != begun[:2]:
            self._start(stage)
        elif self.loop.time() - self._since >= self.limits.seconds:
            if what == "waiting" or stage[2] - begun[2] < self.limits.progress:
                self.transport.abort()  # to close it would wait for what the client does not read
                return
            self._start(stage)
        self._schedule()


class _BoundedHead(asyncio.Protocol):
    """What httptools leaves out: a limit on heads, and the target of a request for the app."""

    limits: ConnectionLimits
    # Of uvicorn's protocol:
    scope: Any
    url: bytes
    send_400_response: Callable[[str], None]
    _head, _heads, _in_head = 0, 0, False

    def data_received(self, data: bytes) -> None:
        """Refuse a head that is too long."""
        heads = self._heads
        super().data_received(data)
        if not self._in_head:
            return
        self._head = self._head + len(data) if heads == self._heads else 0
        if self._head > self.limits.head:
            self._in_head = False
            self.send_400_response("The head of the request is too long.")

    def on_message_begin(self) -> None:
        """Count the bytes of a head."""
        self._head, self._in_head = 0, True
        super().on_message_begin()  # type: ignore[misc]

    def on_headers_complete(self) -> None:
        """Tell the app the target."""
        self._in_head = False
        self._heads += 1
        self.scope[TARGET] = self.url
        super().on_headers_complete()  # type: ignore[misc]
