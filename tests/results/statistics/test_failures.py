"""The worst images, and what they have in common, by hand and by Fisher's test."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact

from sightline.core import InputError
from sightline.metrics import METRICS
from sightline.results import open_results
from sightline.results.failures import (
    ASSOCIATION,
    REASONS,
    _held,
    failure_cases,
    failure_reasons,
    reasons_of,
    worst_images,
)
from sightline.stats import holm
from tests.results.statistics import check_rows as checked
from tests.results.statistics.test_correctness import WRONG, said

if TYPE_CHECKING:
    from pathlib import Path


def fisher(counts: list[list[int]]) -> float:
    """Return SciPy's p-value."""
    return float(fisher_exact(np.array(counts)).pvalue)


def test_the_worst_come_first_with_their_reasons(sparse: Path) -> None:
    with open_results(sparse) as results:
        answers = said(results)
        chosen: Any = {"model": "demo/vit", "method": "cls", "layer": 3}
        cases = failure_cases(results, "iou@90", **chosen, predictions=answers)
        found, reasons = worst_images(cases, 6), failure_reasons(cases, 6)
        values = results.query(
            "SELECT image, value FROM scores_long WHERE name = 'iou@90' AND method = 'cls' "
            "AND variant = '' AND layer = 3 AND region IS NULL ORDER BY value, image"
        )
        images: Any = results.query("SELECT image, area, regions FROM images").set_index("image")
    assert found["image"].tolist() == values["image"].tolist()[:6]
    np.testing.assert_array_equal(found["value"], values["value"][:6])
    wrong = set(answers["image"][list(WRONG)])
    small = images["area"] <= images["area"].quantile(0.25)
    unsure: Any = answers.set_index("image")["probability"]
    unsure = unsure <= unsure.quantile(0.25)
    for line in checked.lines(found):
        held = line.reasons.split("; ")
        assert ("wrong class" in held) == (line.image in wrong) == (not line.correct)
        assert ("small area" in held) == small[line.image]
        assert ("low confidence" in held) == unsure[line.image]
        assert line.area == images["area"][line.image]
    line = next(one for one in checked.lines(reasons) if one.reason == "wrong class")
    share = found["image"].isin(wrong).mean()
    assert line.worst == pytest.approx(share)
    assert line.rest == pytest.approx((7 - 6 * share) / 14)
    assert (line.worst_images, line.rest_images) == (6, 14)
    for frame in (found, reasons):
        assert ASSOCIATION in frame.attrs["note"]
        assert "demo/vit · cls · layer 3" in frame.attrs["note"]
    assert "hidden parts" in reasons.attrs["note"]  # none is: nothing to compare


def test_high_values_are_the_worst_of_what_should_be_low(
    sparse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen: Any = {"model": "demo/vit", "method": "cls", "layer": 3}
    with open_results(sparse) as results:
        answers = said(results)
        high = worst_images(failure_cases(results, "coverage", **chosen, predictions=answers), 20)
        card = replace(METRICS["coverage"], direction="lower")
        monkeypatch.setitem(METRICS._entries, "coverage", card)
        low = worst_images(failure_cases(results, "coverage", **chosen, predictions=answers), 20)
    assert high["value"].is_monotonic_increasing
    assert high["value"].nunique() > 10
    assert low["value"].tolist() == high["value"].tolist()[::-1]


def test_what_has_no_worst_images_is_named(sparse: Path) -> None:
    with open_results(sparse) as results:
        with pytest.raises(InputError, match="entropy: no value is worse"):
            failure_cases(results, "entropy", predictions=said(results))
        cases = failure_cases(results, predictions=said(results))
    with pytest.raises(InputError, match="count must be at least 1"):
        worst_images(cases, 0)
    with pytest.raises(InputError, match="20 have a score; got 20"):
        failure_reasons(cases, 20)


def test_shares_are_compared_by_fishers_test() -> None:
    cases = pd.DataFrame(
        {
            "a": [True] * 8 + [False] * 2 + [True] * 5 + [False] * 25,
            "b": [True, False] * 20,
            "c": [False] * 40,  # holds nowhere
            "d": pd.array([None] * 10 + [True, False] * 15, dtype="boolean"),  # not known
        }
    ).astype("boolean")
    found = reasons_of(cases, 10)
    assert found["reason"].tolist() == ["a", "b"]
    expected = [fisher([[8, 2], [5, 25]]), fisher([[5, 5], [15, 15]])]
    np.testing.assert_allclose(found["p"], expected)
    np.testing.assert_allclose(found["p_holm"], holm(expected))
    first = found.iloc[0]
    # Newcombe's method 10, worked by hand from Wilson's ends (0.490, 0.943) and (0.073, 0.336).
    assert first["low"] == pytest.approx(8 / 10 - 5 / 30 - np.hypot(0.3098, 0.1690), abs=2e-3)
    assert first["high"] == pytest.approx(8 / 10 - 5 / 30 + np.hypot(0.1433, 0.0933), abs=2e-3)


def test_a_difference_needs_five_images_on_either_side() -> None:
    held = pd.DataFrame({"a": [True, True, False, False, False, False, False, False, True, False]})
    for worst, defined in ((4, False), (5, True), (6, False)):
        found = reasons_of(held, worst).iloc[0]
        assert np.isfinite(found[["difference", "low", "high"]].to_numpy(float)).all() == defined
        assert found["p"] <= 1


def test_reasons_at_random_are_rarely_found() -> None:
    rng = np.random.default_rng(4)
    found = [
        reasons_of(pd.DataFrame(rng.random((60, 3)) < 0.3, columns=list("abc")), 12)["p_holm"].min()
        for _ in range(150)
    ]
    assert np.mean(np.array(found) <= 0.05) <= 0.07


def test_what_holds_is_read_off_the_image() -> None:
    cases = pd.DataFrame(
        {
            "area": [0.1, 0.2, 0.3, 0.4, 0.5],
            "regions": [1, 1, 1, 1, 9],
            "x": [0.5, 0.5, 0.9, 0.5, np.nan],
            "y": [0.5, 0.6, 0.9, 0.5, np.nan],
            "hidden": [0, 2, 0, 0, np.nan],
            "unlabelled": [0, 0, 0, 1, np.nan],
            "at_edge": [1, 0, 0, 0, np.nan],
            "visible": [1, 1, 0.5, 1, 1],
            "probability": [np.nan] * 5,
            "correct": pd.array([True, False, None, True, True], dtype="boolean"),
        }
    )
    held = _held(cases)
    assert set(held) == set(REASONS)
    told = {name: [None if pd.isna(x) else int(x) for x in one] for name, one in held.items()}
    assert told["small area"] == [1, 1, 0, 0, 0]
    assert told["large area"] == [0, 0, 0, 1, 1]
    assert told["many regions"] == [1, 1, 1, 1, 1]  # the quartile itself: it tells nothing
    assert told["off centre"] == [0, 0, 1, 0, None]
    assert told["hidden parts"] == [0, 1, 0, 0, None]
    assert told["cut off"] == [1, 0, 1, 0, None]
    assert told["unlabelled instances"] == [0, 0, 0, 1, None]
    assert told["wrong class"] == [0, 1, None, 0, 0]
    assert told["low confidence"] == [None] * 5
