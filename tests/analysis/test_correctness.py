"""Right and wrong predictions: means, and least squares that know of area and confidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from sightline.analysis.correctness import _sides, class_scatter, correct_and_wrong
from sightline.records import InputError
from sightline.results import open_results
from tests.analysis import checked

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.results import Results

WRONG = range(0, 20, 3)


def said(results: Results, model: str = "demo/vit") -> pd.DataFrame:
    """Return answers made up for a model: every third is wrong."""
    images = results.query("SELECT image, labels[1] AS label FROM images ORDER BY image")
    place = np.arange(len(images))
    right = ~np.isin(place, list(WRONG))
    found = images.assign(
        model=model,
        predicted=np.where(right, images["label"], "other"),
        probability=0.4 + 0.5 * np.sin(place) ** 2,
        correct=pd.array(right, dtype="boolean"),
    )
    found.attrs["note"] = ""
    return found[["model", "image", "predicted", "probability", "label", "correct"]]


def test_means_and_slopes_are_those_of_least_squares(sparse: Path) -> None:
    with open_results(sparse) as results:
        answers = said(results)
        found = correct_and_wrong(results, "coverage", layer="last", predictions=answers)
        values = results.query(
            "SELECT image, value FROM scores WHERE name = 'coverage' AND method = 'cls' "
            "AND variant = '' AND layer = 11 AND region IS NULL ORDER BY image"
        )["value"].to_numpy()
        area = results.query("SELECT area FROM images ORDER BY image")["area"].to_numpy()
    assert set(found["model"]) == {"demo/vit"}  # nothing is known of the other
    assert found["method"].tolist() == ["centre", "cls", "mean_map", "random"]
    line = next(one for one in checked.lines(found) if one.method == "cls")
    right = answers["correct"].to_numpy(bool)
    assert (line.right, line.wrong) == pytest.approx((values[right].mean(), values[~right].mean()))
    assert line.difference == pytest.approx(line.right - line.wrong)
    design = np.column_stack([np.ones(20), right, area, answers["probability"]])
    assert line.adjusted == pytest.approx(np.linalg.lstsq(design, values, rcond=None)[0][1])
    assert line.low < line.difference < line.high
    assert line.adjusted_low < line.adjusted < line.adjusted_high
    assert (line.right_images, line.wrong_images) == (13, 7)
    assert line.layer == 11
    assert "not faithfulness" in found.attrs["note"]


def test_a_difference_that_is_the_area_alone_goes_when_adjusted() -> None:
    rng = np.random.default_rng(2)
    right = np.arange(60) % 3 > 0
    area = 0.2 + 0.3 * right + rng.uniform(0, 0.1, 60)
    rows = pd.DataFrame(
        {
            "value": 0.1 + area + rng.normal(0, 0.02, 60),
            "correct": pd.array(right, dtype="boolean"),
            "area": area,
            "probability": 0.9,  # the same everywhere: left out
        }
    )
    found = _sides(rows, 0.95)
    assert found["low"] > 0.25
    assert abs(found["adjusted"]) < 0.1
    assert found["adjusted_low"] < 0 < found["adjusted_high"]
    always = _sides(rows.assign(correct=pd.array([True] * 60, dtype="boolean")), 0.95)
    assert np.isnan([always["wrong"], always["difference"], always["adjusted"]]).all()
    assert (always["right_images"], always["wrong_images"]) == (60, 0)
    assert np.isnan(_sides(rows.assign(area=np.nan), 0.95)["adjusted"])


def test_classes_have_their_accuracy_and_mean(sparse: Path) -> None:
    with open_results(sparse) as results:
        answers = said(results)
        found = class_scatter(results, "coverage", layer=3, predictions=answers)
        styles = results.style_breakdown("coverage", model="demo/vit", method="cls", layer=3)
    some = found[found["method"] == "cls"].set_index("label")
    expected = answers.groupby("label")["correct"].mean().astype(float)
    pd.testing.assert_series_equal(some["accuracy"], expected, check_names=False)
    np.testing.assert_allclose(some["value"], styles.set_index("label")["value"][some.index])
    assert some["images"].sum() == 20


def test_without_labels_nothing_is_said(sparse: Path) -> None:
    with open_results(sparse) as results:
        answers = said(results).assign(correct=pd.array([None] * 20, dtype="boolean"))
        answers.attrs["note"] = "none was asked"
        with pytest.raises(InputError, match=r"no prediction known .* \(none was asked\)"):
            correct_and_wrong(results, predictions=answers)
