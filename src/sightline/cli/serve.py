"""The command that serves the results of a study: the API and the web app."""

import ctypes
import gc
import os
import secrets
import socket
import sys
import threading
import warnings
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sightline.cli.output import show
from sightline.core import InputError, MissingPackageError

__all__ = ["serve"]

# Seconds that a thread computes while another waits. The one that receives and sends waits several
# times for each answer: with Python's 5 ms, answers that are ready wait for those that are not.
_TURN = 0.0005
# Of the C library's memory (mallopt of glibc): numbers of its settings, and what they are set to.
# Threads share two heaps; large arrays are given back at once when they are let go of. Once all is
# prepared, so are maps: coming and going for hours, they would leave gaps that nothing fits.
_M_ARENA_MAX, _ARENAS = -8, 2
_M_MMAP_THRESHOLD, _LARGE, _LARGE_LATER = -3, 1 << 20, 160 << 10


def serve(
    store: Annotated[Path, typer.Argument(help="Folder of a study's results: runs/NAME.")],
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen at; beyond this machine (0.0.0.0, a name) a token is needed."
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen at; 0: any that is free.")
    ] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            help="What every request must show; one is made and printed where --host needs it."
        ),
    ] = None,
    open_page: Annotated[
        bool | None,
        typer.Option("--open/--no-open", help="Open the app in a browser; only from a terminal."),
    ] = None,
    review: Annotated[
        Path | None,
        typer.Option(
            help="Folder of a review, in which people decide on proposals, annotate the gold set "
            "and judge maps."
        ),
    ] = None,
    prepare: Annotated[
        bool,
        typer.Option(
            "--prepare/--no-prepare",
            help="Make the answers that pages ask for first before they do, while nobody asks.",
        ),
    ] = True,
) -> None:
    """Show the results of a study in a browser: the web app, and its API under /api.

    The study may still be running: what is stored is shown.

    Ctrl-C ends it.
    """
    from sightline.api import create_app  # says so where packages are missing
    from sightline.api.security import is_loopback

    local = is_loopback(host)
    if token is not None and len(token) < 8:
        raise InputError(f"--token must have at least 8 characters, got {len(token)}")
    known = token if local or token else secrets.token_urlsafe(24)
    run = _server(partial(create_app, store, token=known, warm=prepare, review=review))
    listening = _listen(host, port)
    address = _address(host, listening.getsockname()[1])
    page = address if known is None else f"{address}/?token={known}"
    show(f"Sightline shows {store} at {page}")
    if review is not None:
        show(f"What people decide is kept in {review}")
    if not local:
        can = "can read the results" + ("" if review is None else " and decide in the review")
        show(f"Whoever has this address {can}; it is sent unencrypted (HTTP).")
    show("Ctrl-C ends it.")
    if open_page or (open_page is None and sys.stdout.isatty()):
        threading.Timer(0.5, webbrowser.open, [page]).start()
    run(listening)


def _server(create: Callable[[], Any]) -> Any:
    """Return a function that serves an app at a socket until it is told to end."""
    try:
        import uvicorn
    except ImportError as error:
        told = "sightline serve needs uvicorn: pip install 'sightline[web]'"
        raise MissingPackageError(told) from error

    from sightline.api.connections import ConnectionLimits, build_protocol

    _share_memory()
    # fastapi hides this one for a moment at a time, which other threads can cut short
    warnings.filterwarnings("ignore", "The 'alias' attribute", UserWarning)
    app = create()
    app.state.service.when_warm = _settle
    config = uvicorn.Config(
        app,
        http=build_protocol(ConnectionLimits()),
        ws="none",  # the service has none, and what is no HTTP would pass the limits by
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
    )
    server = uvicorn.Server(config)

    def run(listening: socket.socket) -> None:
        sys.setswitchinterval(_TURN)
        try:
            server.run(sockets=[listening])
        except KeyboardInterrupt:  # uvicorn has ended what was under way
            pass
        finally:
            listening.close()
        if app.state.service.busy:  # Python would cut threads off in the midst of native code
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
        gc.unfreeze()  # at its end Python is to find all that was set aside

    return run


def _share_memory() -> None:
    """Have threads share memory, where the C library is one that gives each a heap of its own."""
    with suppress(AttributeError, OSError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_ARENA_MAX, _ARENAS)
        mallopt(_M_MMAP_THRESHOLD, _LARGE)


def _settle() -> None:
    """Set aside what was loaded: looking through it for what may go would hold up all answers."""
    gc.freeze()
    with suppress(AttributeError, OSError, TypeError):
        library = ctypes.CDLL(None)
        library.malloc_trim(0)
        library.mallopt(_M_MMAP_THRESHOLD, _LARGE_LATER)


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; say so where it cannot."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, proto)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
            found.listen(128)
        except BaseException:
            found.close()
            raise
    except OSError as error:
        raise InputError(
            f"cannot listen at {host} port {port}: {error.strerror or error}; "
            "--port names another, --port 0 takes any that is free"
        ) from error
    return found


def _address(host: str, port: int) -> str:
    """Return the address of a service, as a browser takes it."""
    names = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}  # noqa: S104
    name = names.get(host, host)
    return f"http://{f'[{name}]' if ':' in name else name}:{port}"
