"""The benchmark of checks, on the side that needs no peer: what is redrawn, and its tables."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from benchmarks import sanity as bench


@pytest.fixture(scope="module")
def case() -> bench.Case:
    return bench.case_of("demo/cnn", 1)


def test_all_of_a_network_is_redrawn_and_no_two_layers_alike(case: bench.Case) -> None:
    for model in (bench.toy_model(), case.model):
        before = bench.weights_of(model.network)
        assert bench.shares(before, bench.by_sightline(model)) == ("100.0%", "0.0%")
        assert bench.shares(before, bench.weights_of(model.network))[0] == "0.0%"  # restored


def test_what_is_left_and_what_is_shared_is_counted() -> None:
    before = {name: torch.full((2, 2), float(place)) for place, name in enumerate("abc")}
    after = {"a": before["a"], "b": torch.ones(2, 2) * 7, "c": torch.ones(2, 2) * 7}
    assert bench.survivors(before, after) == 4
    assert bench.twins(after) == 8
    assert bench.shares(before, after) == ("66.7%", "66.7%")
    assert bench.twins({"bias": torch.zeros(3), "norm": torch.zeros(3)}) == 0


def test_every_round_asks_a_model_that_no_check_has_seen(case: bench.Case) -> None:
    assert case.job().model.name != case.job().model.name
    assert case.job().model.network is case.model.network
    assert case.maps.shape == case.pixels.shape[:1] + case.pixels.shape[2:]
    colours = bench.first_colour(case)
    assert np.array_equal(colours[:, 0], case.maps)
    assert (colours[:, 1:] < case.maps.min()).all()


def test_the_least_time_and_the_largest_difference_count(case: bench.Case) -> None:
    rounds = iter([bench.Compared(0.0, 0.08, 0.01, 0.008), bench.Compared(1e-6, 0.06, 0.02, 0.01)])
    found = bench.compared(case, lambda case: {"ROAD": next(rounds)}, 2)
    assert found == [("demo/cnn", "ROAD", "1.0e-06", "60.0", "10.0", "6.0×", "8.0")]


def test_tables_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    bench.show(("a", "b"), [("1", "22")], markdown=True)
    bench.show(("a", "b"), [("1", "22")], markdown=False)
    assert capsys.readouterr().out == "| a | b |\n| --- | --- |\n| 1 | 22 |\n\na  b\n1  22\n\n"
