"""Builds the web app into the wheel; for editable installs `make web` does."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

APP = "src/sightline/api/static"
QUIET = ("--no-audit", "--no-fund", "--prefer-offline")
NO_NODE = (
    "the wheel of Sightline holds its web app, and building that needs Node 20.19 or newer with "
    "npm, which was not found. Install Node (https://nodejs.org), or take a wheel that is built. "
    "For work in a checkout: pip install --editable ."
)


class AppHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the app before its files are collected."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, unless the install is editable."""
        if version == "editable":
            return
        build_app(Path(self.root))
        build_data["artifacts"].append(f"{APP}/**")


def build_app(root: Path) -> None:
    """Build the app of a checkout or of an unpacked source archive."""
    npm = shutil.which("npm")
    if npm is None:
        raise RuntimeError(NO_NODE)
    web = root / "web"
    if not (web / "node_modules" / ".package-lock.json").is_file():
        _install(npm, web)
    _run([npm, "run", "build"], web)
    if not (root / APP / "index.html").is_file():
        raise RuntimeError(f"the app was built, but {APP}/index.html is not there")


def _install(npm: str, web: Path) -> None:
    """Install what the lock file names, with the native parts that it lacks for this machine."""
    try:
        _run([npm, "ci", *QUIET], web)
    except RuntimeError:
        _run([npm, "install", "--no-save", *QUIET], web)


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        told = (done.stdout + done.stderr)[-3000:]
        raise RuntimeError(f"`{' '.join(command[1:])}` failed in {folder}:\n{told}")
