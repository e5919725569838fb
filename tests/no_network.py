"""No test reaches beyond this machine: whoever tries is refused, as without a network."""

from __future__ import annotations

import socket
from ipaddress import ip_address
from typing import Any

__all__ = ["refuse_network"]


def _is_here(address: Any) -> bool:
    """Say whether an address is of this machine, or a path."""
    if not isinstance(address, tuple):
        return True
    host = address[0]
    if not isinstance(host, str) or host in ("", "localhost"):
        return True
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


def refuse_network() -> None:
    """Have all connections of this process refused but those to itself."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex
    found = socket.getaddrinfo

    def refused(address: Any) -> ConnectionRefusedError:
        return ConnectionRefusedError(f"tests have no network; asked for {address!r}")

    def connecting(self: socket.socket, address: Any) -> None:
        if not _is_here(address):
            raise refused(address)
        connect(self, address)

    def connecting_ex(self: socket.socket, address: Any) -> int:
        if not _is_here(address):
            raise refused(address)
        return connect_ex(self, address)

    def looked_up(host: Any, *words: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name not in (None, socket.gethostname()) and not _is_here((name,)):
            raise refused(name)
        return found(host, *words, **more)

    socket.socket.connect = connecting  # type: ignore[method-assign, assignment]
    socket.socket.connect_ex = connecting_ex  # type: ignore[method-assign, assignment]
    socket.getaddrinfo = looked_up
