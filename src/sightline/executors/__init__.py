"""What runs a study: on this machine, in one process or several."""

from __future__ import annotations

from sightline.executors.run import Run, RunError, Watch, run_study

__all__ = ["Run", "RunError", "Watch", "run_study"]
