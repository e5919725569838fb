"""The benchmark of prototypes: all sides do the same work. No time is asserted."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from benchmarks import prototypes as bench
from sightline.attribution.prototypes import default_perturbations


@pytest.fixture(scope="module")
def case() -> bench.Case:
    return bench.case_of(2)


def test_all_find_the_same_numbers(case: bench.Case) -> None:
    steps = count()
    best, apart = bench.measure(case, 1, lambda: float(next(steps)))
    assert [set(each) for each in best] == [set(bench.PHASES)] * 3
    assert max(apart.values()) < bench.TOLERANCE
    loop, lean, _ = best  # of two images, a step of this clock for each phase
    assert loop["passes of copies"] == lean["passes of copies"] == 2 * 12
    assert (loop["copies"], lean["copies"]) == (2 * 12, 2 * 6)
    assert (loop["maps"], lean["maps"]) == (2 * 2, 2)


def test_the_loop_has_the_defaults_of_the_analysis() -> None:
    names = [each.name for each in default_perturbations()]
    assert names == [change.__name__ for change in bench.PERTURBATIONS]
    params = [dict(each.steps[0].params) for each in default_perturbations()]
    factors = [each["factor"] for each in params if "factor" in each]
    assert factors == [bench.BRIGHTNESS, bench.CONTRAST, bench.SATURATION, bench.HUE]
    assert (params[4]["ksize"], params[4]["sigma"]) == (bench.KSIZE, bench.SIGMA)
    assert (params[5]["periods"], params[5]["amplitude"]) == (bench.PERIODS, bench.AMPLITUDE)


def test_what_differs_is_said() -> None:
    one = bench.Found(np.array([1]), np.ones((1, 13)), np.ones((1, 2)))
    assert bench.furthest(one, one) == {"scores": 0, "relevance": 0}
    with pytest.raises(AssertionError, match="same prototypes"):
        bench.furthest(one, one._replace(prototypes=np.array([2])))
    with pytest.raises(AssertionError, match=r"scores lie 1\.00e-02 apart"):
        bench.furthest(one, one._replace(scores=one.scores + 0.01))
    with pytest.raises(AssertionError, match="relevance lie nan apart"):
        bench.furthest(one, one._replace(relevance=one.relevance * np.nan))


def test_tables_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    seconds = dict.fromkeys(bench.PHASES, 0.1)
    lines = bench.lines_of([dict.fromkeys(seconds, each) for each in (0.3, 0.2, 0.1)], 10)
    assert lines[-1] == ["all", "150.0", "100.0", "50.0", "3.0×", "2.0×"]
    bench.show(["a", "b"], [["1", "22"]], markdown=True)
    bench.show(["a", "b"], [["1", "22"]], markdown=False)
    assert capsys.readouterr().out == "| a | b |\n| --- | ---: |\n| 1 | 22 |\na  b \n1  22\n"
