"""A command under a limit of address space, watched by a process that can say why it ended.

Libraries of compiled code end the process where they cannot allocate: no handler of this process
would run.
"""

import os
import signal
import subprocess
import sys

import typer

__all__ = ["SUPERVISED", "run_supervised"]

SUPERVISED = "SIGHTLINE_SUPERVISED"
"""Set in the environment of the process that does the work."""
_ABORTED = 127, 128 + signal.SIGABRT, 128 + signal.SIGSEGV, 128 + signal.SIGBUS
_INTERRUPTED = 130


def run_supervised(limit: int) -> int:
    """Run this command again in a process of its own, and return the status to end with.

    Parameters
    ----------
    limit
        Bytes of address space, for the message.
    """
    command = [sys.executable, *sys.orig_argv[1:]]
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process decides
    try:
        process = subprocess.Popen(  # noqa: S603
            command,
            env={**os.environ, SUPERVISED: "1"},
            preexec_fn=lambda: signal.signal(signal.SIGINT, handler),
        )
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        status = process.wait()
    finally:
        signal.signal(signal.SIGINT, handler)
    if status in (0, _INTERRUPTED):
        return status
    note = f"the address space of a process is limited to {limit / 1e9:.2g} GB (ulimit -v)"
    if status < 0 or status in _ABORTED:
        what = signal.Signals(-status).name if status < 0 else f"status {status}"
        typer.echo(
            f"error: out of memory or address space: the command ended with {what}, and {note}. "
            "What is stored is kept; raise the limit and run again to resume",
            err=True,
        )
        return 1
    typer.echo(f"Note: {note}.", err=True)
    return status
