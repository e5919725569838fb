"""From a study to rows: the plan, and the work of each task."""

from __future__ import annotations

from sightline.runner.benchmark_parts import BenchmarkJob
from sightline.runner.benchmark_plan import BenchmarkPlan, plan_benchmark
from sightline.runner.benchmarking import BenchmarkRun, run_benchmark
from sightline.runner.plan import Chunk, Plan, Task
from sightline.runner.planning import plan_study
from sightline.runner.shelf import Shelf
from sightline.runner.sources import Scoring, Source
from sightline.runner.work import BadImageError, Done, Worker

__all__ = [
    "BadImageError",
    "BenchmarkJob",
    "BenchmarkPlan",
    "BenchmarkRun",
    "Chunk",
    "Done",
    "Plan",
    "Scoring",
    "Shelf",
    "Source",
    "Task",
    "Worker",
    "plan_benchmark",
    "plan_study",
    "run_benchmark",
]
