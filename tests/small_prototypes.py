"""A small network with prototypes, and one benchmark of it that many tests look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from sightline.models import Description, Model, Preprocess, PrototypeNetwork, load_model
from sightline.study import BenchmarkJob, run_benchmark
from sightline.study.config.benchmark import DataChoice, parse_benchmark
from tests.loaded import drawn_once

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.models.prototypes import Source

STYLES = ("Romanesque", "Gothic", "Renaissance", "Baroque")
PROTOTYPES, BATCH, COUNT = 6, 4, 14
DATA = DataChoice("facades", count=COUNT, options={"seed": 1, "size": 64})
CONFIG = """\
# A note that the copy keeps.
relevance_analysis:
  prototype_info_db: tables/prototypes.csv
  patch_info_db: patches.parquet
  num_prototypes: 2
  sampling_ratio: 3
local_perturbation_analysis:
  info_db: info.csv
  distribution_img: drops.svg
  hue_factor: 0.5
"""


def small_model(sources: tuple[Source, ...] = (), fit: str = "squash") -> Model:
    """Return a model of 64 x 64 pixels in 8 x 8 cells that knows the styles of facades."""
    draw = torch.Generator().manual_seed(3)
    with torch.random.fork_rng(devices=[]):
        trunk = nn.Sequential(nn.Conv2d(3, 4, 8, 8))
    for parameter in trunk.parameters():
        parameter.data = torch.randn(parameter.shape, generator=draw) / 8
    numbers = torch.randn(PROTOTYPES, 4, generator=draw)
    weights = torch.randn(len(STYLES), PROTOTYPES, generator=draw)
    network = PrototypeNetwork(trunk, nn.Identity(), numbers, weights, sources)
    told = Description(["trunk.0"], Preprocess(size=(64, 64), fit=fit), 8, STYLES, name="small")
    return load_model(network.eval(), told)


def small_asked(config: str = CONFIG, **others: object) -> BenchmarkJob:
    """Return what a small benchmark asks for."""
    given = {"model": small_model(), "data": DATA, "batch": BATCH} | others
    return BenchmarkJob(parse_benchmark(config), **given)  # type: ignore[arg-type]


def make_small_benchmark(folder: Path) -> Path:
    """Run the small benchmark into a store; return the folder of its results."""
    with drawn_once():
        return run_benchmark(small_asked(), folder / "store", name="small", text=CONFIG).path
