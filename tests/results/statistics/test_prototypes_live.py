"""A stored benchmark whose model is asked again: the same pairs, pictures, and copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np
import pytest
import torch

from sightline.attribution.prototypes import Perturbation, Step
from sightline.core import InputError, UnknownNameError
from sightline.results import open_benchmark
from sightline.results.live_prototypes import AskedBenchmark, View, eight_bits, shown
from tests.loaded import drawn_once
from tests.small_prototypes import small_model

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def asked(small_benchmark: Path) -> Iterator[AskedBenchmark]:
    """The small benchmark; its network has no name to load it by."""
    found = AskedBenchmark(open_benchmark(small_benchmark))
    found.__dict__["_model"] = small_model()
    with drawn_once():
        yield found


def test_pairs_are_those_that_were_stored(asked: AskedBenchmark) -> None:
    rows = asked.found.drops.to_pylist()  # type: ignore[union-attr]
    for row in rows[:: len(asked.found.about["perturbations"])]:
        pair = asked.pair(row["image"])
        assert (pair.prototype, *pair.cell) == (row["proto_idx"], row["row"], row["column"])
        assert pair.score == pytest.approx(row["original_score"], rel=1e-5)
        assert pair.grid == (8, 8)
        x0, y0, x1, y1 = pair.box
        assert (x0, y0, x1 - x0, y1 - y0) == (8 * row["column"], 8 * row["row"], 8, 8)


def test_changes_have_the_scores_that_were_stored(asked: AskedBenchmark) -> None:
    made = asked.found.config.local_perturbation_analysis.made()  # type: ignore[union-attr]
    changes = {one.name: one for one in made}
    rows = asked.found.drops.to_pylist()  # type: ignore[union-attr]
    for row in rows[: 2 * len(changes)]:
        found = asked.changed(asked.pair(row["image"]), changes[row["perturbation"]])
        assert found.original == pytest.approx(row["original_score"], rel=1e-5)
        assert found.focused == pytest.approx(row["focused"], rel=1e-4)
        assert found.dual == pytest.approx(row["dual"], rel=1e-4)
        assert (found.focused_image != found.pair.image).any()


def test_a_score_of_0_or_less_has_no_drop(asked: AskedBenchmark) -> None:
    pair = asked.pair(asked.images.ids[0])
    darker = Perturbation("x", (Step("brightness"),))
    real = asked._model.network.similarities
    try:
        asked._model.network.similarities = lambda pixels: real(pixels) * 0
        found = asked.changed(pair, darker)
    finally:
        del asked._model.network.similarities
    assert found.original == 0
    assert np.isnan(found.focused_drop)
    assert np.isnan(found.dual_drop)


def test_prototypes_are_shown_where_they_are_nearest(asked: AskedBenchmark) -> None:
    rows = asked.found.relevance.to_pylist()  # type: ignore[union-attr]
    sources = {row["proto_idx"]: row for row in rows if row["kind"] == "prototype"}
    assert len(sources) == 6
    for number, row in sources.items():
        pair = asked.source(number)
        assert pair.cell == (row["row"], row["column"])
        assert pair.score == pytest.approx(row["score"], rel=1e-5)
    with pytest.raises(InputError, match="prototype 6 of small is from"):
        asked.source(6)


@pytest.mark.parametrize("view", get_args(View))
def test_views_are_pictures(asked: AskedBenchmark, view: View) -> None:
    pair = asked.pair(asked.images.ids[1], prototype=2, cell=(0, 7))
    found = shown(pair, view)
    assert found.dtype == np.uint8
    whole = eight_bits(pair.image)
    if view == "patch":  # at the upper right corner there is less around it
        assert np.array_equal(found, whole[:16, 48:])
    elif view == "image":
        assert np.array_equal(found, whole)
    elif view == "crop":
        assert found.shape[0] <= 64
    else:
        assert found.shape == whole.shape
        assert (found != whole).any()


def test_what_is_not_there_is_told(asked: AskedBenchmark) -> None:
    image = asked.images.ids[0]
    with pytest.raises(UnknownNameError, match="from 0 to 5, got 6"):
        asked.pair(image, 6)
    with pytest.raises(UnknownNameError, match=r"8x8, got \(8, 0\)"):
        asked.pair(image, 0, (8, 0))
    with pytest.raises(UnknownNameError, match="no image 'none'"):
        asked.pair("none")
    with pytest.raises(UnknownNameError, match="upsampling"):
        asked.pair(image, attribution="none")


def test_an_attribution_stored_under_its_earlier_name_is_asked_again(
    small_benchmark: Path,
) -> None:
    asked = AskedBenchmark(open_benchmark(small_benchmark))
    asked.__dict__["_model"] = small_model()
    told = {"name": "gradient_x_input", "params": {"channels": "mean"}}
    asked.found.about["settings"]["attribution"] = told
    image = asked.images.ids[0]
    stored, named = asked.pair(image), asked.pair(image, attribution="input_x_gradient")
    assert torch.equal(stored.values, named.values)


def test_a_network_without_a_name_cannot_be_loaded(small_benchmark: Path) -> None:
    with pytest.raises(InputError, match="the model small cannot be loaded"):
        _ = AskedBenchmark(open_benchmark(small_benchmark)).model
