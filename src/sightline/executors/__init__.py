"""What runs a study: on this machine, in one process or several, or on a Ray cluster."""

from __future__ import annotations

from sightline.executors.progress import Run, Watch
from sightline.executors.run import Forecast, RunError, forecast_study, run_study

__all__ = ["Forecast", "Run", "RunError", "Watch", "forecast_study", "run_study"]
