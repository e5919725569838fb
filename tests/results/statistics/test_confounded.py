"""A model that goes by sky and ground is caught by its maps; one trained again is not."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from sightline import load_dataset
from sightline.attribution.methods import METHODS
from sightline.attribution.sanity.parts import parts_rows
from sightline.attribution.sanity.table import Job
from sightline.data.facades import facade_of
from sightline.models import load_model
from sightline.results.faithfulness import background_of
from tests.results.statistics import check_rows as checked

if TYPE_CHECKING:
    import pandas as pd

    from sightline.core import Sample

COUNT = 10  # sign flips of so many images give p = 0.002 at the least
METHODS_ASKED = ("cls", "grad_rollout")


@cache
def facades() -> list[Sample]:
    """Held out from all training."""
    return list(load_dataset("facades", count=COUNT, seed=7))


@cache
def on_background(name: str) -> dict[str, list[float]]:
    """Return by method which share of the last layer's maps is on sky and ground."""
    model, found = load_model(name), {}
    for method in METHODS_ASKED:
        target = "predicted" if METHODS[method].explains else ""
        job = Job(model, method, {}, (11,), target, COUNT, {}, "parts")
        rows = parts_rows(job, facades())
        found[method] = [row.value for row in rows if row.metric == "parts_background"]
    return found


def compared(one: str, other: str) -> pd.DataFrame:
    """Return the test of two models, a line for each method."""
    rows = [
        checked.measured(values, "parts_background", "parts", model=name, method=method, layer=11)
        for name in (one, other)
        for method, values in on_background(name).items()
    ]
    return background_of(checked.frame(*rows), one, other)


@pytest.mark.parametrize("honest", ["demo/vit", "demo/vit@seed2"])
def test_a_confounded_model_points_at_the_background(honest: str) -> None:
    """More than an honest one, on the same images; and more than a map that knows nothing."""
    found = compared("demo/confounded", honest)
    assert found["method"].tolist() == list(METHODS_ASKED)
    assert (found["images"] == COUNT).all()
    assert (found["p_holm"] < 0.01).all()
    assert (found["low"] > 0).all()
    even = np.mean([facade_of(sample).background().mean() for sample in facades()])
    assert (found["share_other"] < even).all()
    assert (found["share_one"] > even).all()


def test_the_same_network_trained_again_is_not_caught() -> None:
    found = compared("demo/vit@seed2", "demo/vit")
    assert (found["p"] > 0.05).all()
    assert ((found["low"] < 0) & (found["high"] > 0)).all()
