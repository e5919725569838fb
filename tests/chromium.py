"""The browser of the tests: Debian's Chromium, without a screen."""

from __future__ import annotations

import shutil
from typing import Any

# The shell has no windows to make for each page: it takes a quarter of the processor's time.
_NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
LACKING = (
    "" if CHROMIUM else "Chromium is not installed (Debian: apt install chromium-headless-shell)"
)


def launch(player: Any) -> Any:
    """Return the browser, started."""
    return player.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
