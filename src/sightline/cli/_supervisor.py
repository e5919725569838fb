"""A command under a limit of address space, watched by a process that can say why it ended.

Libraries of compiled code end the process where they cannot allocate, some with status 1 and words
of their own: no handler of this process would run.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import typer

__all__ = ["SUPERVISED", "report_end", "run_supervised"]

SUPERVISED = "SIGHTLINE_SUPERVISED"
"""Set in the environment of the process that does the work: where it tells that it ended itself."""
# How a process ends that lacks memory; other signals are sent by somebody.
_SIGNALS = signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGKILL
_INTERRUPTED = 130


def run_supervised(limit: int) -> int:
    """Run this command again in a process of its own, and return the status to end with.

    Parameters
    ----------
    limit
        Bytes of address space, for the message.
    """
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process decides
    try:
        status, orderly = _run_again(handler)
    finally:
        signal.signal(signal.SIGINT, handler)
    if status in (0, _INTERRUPTED):
        return status
    if status < 0 and -status not in _SIGNALS:
        return 128 - status
    note = f"the address space of a process is limited to {limit / 1e9:.2g} GB (ulimit -v)"
    if orderly:
        typer.echo(f"Note: {note}.", err=True)
        return status
    end = signal.Signals(-status).name if status < 0 else f"status {status}"
    typer.echo(
        f"error: out of memory or address space: the command ended with {end}, and {note}. "
        "What is stored is kept; raise the limit and run again to resume",
        err=True,
    )
    return 1


def report_end(supervisor: str | None) -> None:
    """Tell the supervisor, if there is one, that the command ends itself and has said why."""
    if supervisor is not None:
        with suppress(OSError, ValueError):
            os.write(int(supervisor), b".")


def _run_again(handler: object) -> tuple[int, bool]:
    """Run this command in a process of its own; return its status, and whether it ended itself."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    try:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, *sys.orig_argv[1:]],
            env={**os.environ, SUPERVISED: str(writing)},
            pass_fds=[writing],
            preexec_fn=lambda: signal.signal(signal.SIGINT, handler),  # type: ignore[arg-type]
        )
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        status = process.wait()
        with suppress(BlockingIOError):
            return status, status >= 0 and os.read(reading, 1) == b"."
        return status, False
    finally:
        os.close(reading)
        os.close(writing)
