"""The command line: parse, call one library function, print.

Nothing heavy is imported before a command runs, so that help and version answer at once.
"""

from sightline.cli.app import app, main

__all__ = ["app", "main"]
