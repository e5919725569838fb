"""How tests run: one thread, no network; Hypothesis without a clock, the same in every CI run."""

from __future__ import annotations

import os

# Workers of pytest share the cores: one thread each, set before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Nothing is asked of a network, not even whether it is there.
os.environ["HF_HUB_OFFLINE"] = "1"

from hypothesis import settings

settings.register_profile("sightline", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("sightline")
