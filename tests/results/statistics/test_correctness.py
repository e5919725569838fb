"""Right and wrong predictions: means, and least squares that know of area and confidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from sightline.core import InputError
from sightline.results import open_results
from sightline.results.correctness import (
    class_scatter,
    compute_accuracy_scatter,
    correct_and_wrong,
)
from sightline.stats import interval
from tests.results.statistics import check_rows as checked

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
            "SELECT image, value FROM scores_long WHERE name = 'coverage' AND method = 'cls' "
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


@pytest.mark.parametrize("wrong", [0, 1, 4])
def test_a_difference_of_few_images_is_undefined_and_says_why(sparse: Path, wrong: int) -> None:
    """One wrong image of 12 gave an adjusted difference with a value and no interval."""
    with open_results(sparse) as results:
        answers = said(results)
        answers["correct"] = pd.array(np.arange(20) >= wrong, dtype="boolean")
        found = correct_and_wrong(results, "coverage", layer="last", predictions=answers)
    columns = ["difference", "low", "high", "adjusted", "adjusted_low", "adjusted_high"]
    assert found[columns].isna().all(axis=None)
    sides = f"{20 - wrong} right and {wrong} wrong"
    assert set(found["reason"]) == {f"too few images: {sides}, a difference needs 5 of each"}
    assert found["right"].notna().all()
    assert "no difference below 5 images on either side" in found.attrs["note"]


def test_a_value_always_has_an_interval(sparse: Path) -> None:
    with open_results(sparse) as results:
        answers = said(results).assign(probability=[0.9] * 19 + [0.1])  # one image alone varies
        for metric in ("coverage", "pointing", "iou@90"):
            found = correct_and_wrong(results, metric, layer="last", predictions=answers)
            for name, end in (("difference", ""), ("adjusted", "adjusted_")):
                known = found[name].notna()
                assert (found[f"{end}low"].notna() == known).all()
                assert found.loc[known, f"{end}low"].between(-1, 1).all()
                assert found.loc[known, f"{end}high"].between(-1, 1).all()
                assert (found.loc[~known, "reason"] != "").all()


def test_without_areas_the_adjusted_difference_alone_is_undefined(sparse: Path) -> None:
    with open_results(sparse) as results:
        answers = said(results).assign(probability=np.nan)
        found = correct_and_wrong(results, "coverage", layer="last", predictions=answers)
    assert found["difference"].notna().all()
    assert found["adjusted"].isna().all()
    assert found["reason"].str.startswith("adjusted: too few images: 0 right and 0 wrong").all()


def test_models_have_their_accuracy_and_mean_score(sparse: Path) -> None:
    with open_results(sparse) as results:
        board = results.leaderboard("coverage", layer="last")
        first = said(results)
        found = compute_accuracy_scatter(results, "coverage", layer="last", predictions=first)
        few = compute_accuracy_scatter(results, "coverage", layer="last", predictions=first.head(4))
    right = interval(first["correct"].astype(float), kind="share")
    ends = (right.value, right.low, right.high)
    for row in checked.lines(found):
        line = board.query("model == @row.model and method == @row.method").iloc[0]
        assert (row.value, row.low, row.high) == pytest.approx((line.value, line.low, line.high))
        assert (row.accuracy, row.accuracy_low, row.accuracy_high) == pytest.approx(ends)
        assert (row.images, row.reason) == (20, "")
    assert found["method"].tolist() == ["centre", "cls", "mean_map", "random"]
    assert set(few["reason"]) == {"too few images: 4, an interval needs 5"}
    assert few["low"].isna().all()


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
