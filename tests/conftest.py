"""How Hypothesis runs here: without a clock, and the same examples in every CI run."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("sightline", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("sightline")
