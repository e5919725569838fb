"""From a study file to the files of a run: config, plan, worker, executors; prototypes.

Light to import: a public name is imported from its home when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sightline.study.config.benchmark import (
        Benchmark,
        DataChoice,
        LocalPerturbationAnalysis,
        RelevanceAnalysis,
        load_benchmark,
    )
    from sightline.study.config.check_options import CheckedLayer, Checks
    from sightline.study.config.files import load_study, to_yaml
    from sightline.study.config.model import (
        Data,
        Engine,
        MethodEntry,
        ModelEntry,
        Study,
        study_schema,
    )
    from sightline.study.config.template import (
        demo_benchmark,
        demo_study,
        example_benchmark,
        new_study,
        photos_study,
    )
    from sightline.study.executors.progress import Run, Watch
    from sightline.study.executors.run import Forecast, RunError, forecast_study, run_study
    from sightline.study.plan.plan import Chunk, Plan, Task
    from sightline.study.plan.planner import plan_study
    from sightline.study.plan.sources import Scoring, Source
    from sightline.study.prototypes.parts import BenchmarkJob
    from sightline.study.prototypes.plan import BenchmarkPlan, plan_benchmark
    from sightline.study.prototypes.run import BenchmarkRun, run_benchmark
    from sightline.study.worker.model_cache import Shelf
    from sightline.study.worker.worker import BadImageError, Done, Worker

_HOME = {
    "BadImageError": "worker.worker",
    "Benchmark": "config.benchmark",
    "BenchmarkJob": "prototypes.parts",
    "BenchmarkPlan": "prototypes.plan",
    "BenchmarkRun": "prototypes.run",
    "CheckedLayer": "config.check_options",
    "Checks": "config.check_options",
    "Chunk": "plan.plan",
    "Data": "config.model",
    "DataChoice": "config.benchmark",
    "Done": "worker.worker",
    "Engine": "config.model",
    "Forecast": "executors.run",
    "LocalPerturbationAnalysis": "config.benchmark",
    "MethodEntry": "config.model",
    "ModelEntry": "config.model",
    "Plan": "plan.plan",
    "RelevanceAnalysis": "config.benchmark",
    "Run": "executors.progress",
    "RunError": "executors.run",
    "Scoring": "plan.sources",
    "Shelf": "worker.model_cache",
    "Source": "plan.sources",
    "Study": "config.model",
    "Task": "plan.plan",
    "Watch": "executors.progress",
    "Worker": "worker.worker",
    "demo_benchmark": "config.template",
    "demo_study": "config.template",
    "example_benchmark": "config.template",
    "forecast_study": "executors.run",
    "load_benchmark": "config.benchmark",
    "load_study": "config.files",
    "new_study": "config.template",
    "photos_study": "config.template",
    "plan_benchmark": "prototypes.plan",
    "plan_study": "plan.planner",
    "run_benchmark": "prototypes.run",
    "run_study": "executors.run",
    "study_schema": "config.model",
    "to_yaml": "config.files",
}

__all__ = [
    "BadImageError",
    "Benchmark",
    "BenchmarkJob",
    "BenchmarkPlan",
    "BenchmarkRun",
    "CheckedLayer",
    "Checks",
    "Chunk",
    "Data",
    "DataChoice",
    "Done",
    "Engine",
    "Forecast",
    "LocalPerturbationAnalysis",
    "MethodEntry",
    "ModelEntry",
    "Plan",
    "RelevanceAnalysis",
    "Run",
    "RunError",
    "Scoring",
    "Shelf",
    "Source",
    "Study",
    "Task",
    "Watch",
    "Worker",
    "demo_benchmark",
    "demo_study",
    "example_benchmark",
    "forecast_study",
    "load_benchmark",
    "load_study",
    "new_study",
    "photos_study",
    "plan_benchmark",
    "plan_study",
    "run_benchmark",
    "run_study",
    "study_schema",
    "to_yaml",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"sightline.study.{_HOME[name]}"), name)
    raise AttributeError(f"module 'sightline.study' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
