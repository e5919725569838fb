"""Maps are made and scored on machines that lack pydantic, duckdb and captum."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from tests.study.tables import melt

if TYPE_CHECKING:
    from pathlib import Path

# A plan by hand: no study is read, so that nothing needs pydantic.
BARE = """
import sys
for name in ("pydantic", "duckdb", "captum"):
    sys.modules[name] = None

import sightline.study
from types import SimpleNamespace
from sightline import load_dataset
from sightline.study import Chunk, Plan, Scoring, Source, Task, Worker
from sightline.study.plan.images import read_cards
from sightline.study.plan.methods import method_sources
from sightline.study.plan.plan import seal
from sightline.study.worker.model_cache import Shelf
from sightline.store import create_store, write_table

dataset = load_dataset("facades", count=2)
data = SimpleNamespace(
    name="facades", count=2, seed=None, labelling=None, annotations="given", review=None
)
cards = read_cards(dataset, data, pixels=True, progress=lambda done, total: None)
entry = SimpleNamespace(model="demo/vit", variant="", fit=None, full="demo/vit")
method = SimpleNamespace(name="cls", given=False, models=None, params={})
study = SimpleNamespace(
    models=[entry], methods=[method], fit="squash", batch=2, layers="all", heads=None,
    targets=("predicted",),
    seeds=(0,), sign=None, keep_maps="grid",
)
shelf = Shelf()
sources, left_out = method_sources(study, entry, shelf, {})
scoring = Scoring("bare", ("coverage", "iou", "auc_roc"), ("percentile",), (90.0,))
sources = seal(tuple(sources), scoring, cards.annotations, {"": "images"})
plan = Plan(dataset, scoring, sources, (Chunk(dataset.ids, "digest"),), cards)
worker = Worker(plan, create_store(sys.argv[1]), shelf)
(task,) = plan.tasks
maps, samples = worker.make(task, worker.read(task))
scored = worker.score(task, maps, samples)
print(worker.write(task, maps, scored))
for name in ("pydantic", "duckdb", "captum", "sightline.study.config"):
    assert sys.modules.get(name) is None, name
"""
LIGHT = """
import sys
import sightline.store, sightline.study.executors.run
import sightline.study.plan.planner, sightline.study.worker.worker
heavy = ("torch", "numba", "pandas", "pydantic", "duckdb", "captum", "transformers", "sklearn")
found = [name for name in heavy if name in sys.modules]
assert not found, found
"""


def run(code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_maps_are_made_and_scored_without_them(tmp_path: Path) -> None:
    said = run(BARE, str(tmp_path / "s"))
    tables = [next((tmp_path / "s" / name).iterdir()) for name in ("scores", "region_scores")]
    scores, region_scores = map(pq.read_table, tables)
    rows = melt(scores, region_scores)
    assert said.strip() == f"Done(rows={rows.num_rows}, maps=24)"
    frame = scores.to_pandas()
    assert len(frame) == 24
    assert frame["coverage"].between(0, 1).all()
    assert set(frame["method"]) == {"cls"}


def test_the_packages_are_light_to_import() -> None:
    run(LIGHT)
