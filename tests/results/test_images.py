"""Tables of images against loops over the rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from sightline.core import InputError, UnknownNameError
from sightline.metrics import iou_ceiling, iou_chance
from sightline.results import open_results
from tests.results.slow import unit_scores
from tests.results.stores import KINDS, make_store

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.results import Results
    from tests.results.stores import Made


def test_images_are_sorted_by_their_score(made: Made, results: Results) -> None:
    frame = results.images("coverage", model="demo/vit", method="cls", layer=2)
    units = unit_scores(made, "coverage", model="demo/vit", method="cls", layer=2)
    assert sorted(frame["image"]) == sorted(image for (image,) in units)
    for _, line in frame.iterrows():
        value, chance, _ = units[line["image"],]
        assert line["value"] == pytest.approx(value, nan_ok=True)
        assert line["chance"] == pytest.approx(chance, nan_ok=True)
        mine = made.images[made.images["image"] == line["image"]].iloc[0]
        assert line["labels"] == tuple(mine["labels"])
        assert (line["area"], line["regions"], line["split"]) == (
            mine["area"],
            mine["regions"],
            mine["split"],
        )
    defined = frame["value"].dropna()
    assert defined.is_monotonic_decreasing
    assert frame["value"].tail(len(frame) - len(defined)).isna().all()
    assert len(frame) - len(defined) == 3
    up = results.images("coverage", model="demo/vit", method="cls", layer=2, ascending=True)
    assert up["value"].dropna().is_monotonic_increasing
    assert up["value"].tail(3).isna().all()


def test_images_are_filtered(made: Made, results: Results) -> None:
    assert set(results.images(split="test")["image"]) == {"image00", "image03", "image06"}
    gothic = {i["image"] for i in made.images.to_dict("records") if "gothic" in i["labels"]}
    assert set(results.images(label="gothic")["image"]) == gothic
    towers = made.regions.query("label == 'tower' and dropped == ''")["image"]
    assert set(results.images(label="tower")["image"]) == set(towers)
    assert len(results.images(limit=3)) == 3
    with pytest.raises(UnknownNameError, match="did you mean 'gothic'"):
        results.images(label="gothik")
    with pytest.raises(UnknownNameError, match="Stored: test, train"):
        results.images(split="val")
    with pytest.raises(InputError, match="limit must be at least 1; got 0"):
        results.images(limit=0)


@pytest.mark.parametrize("column", ["image", "area", "regions"])
def test_images_are_sorted_by_other_columns(results: Results, column: str) -> None:
    frame = results.images(column, ascending=True)
    assert frame[column].is_monotonic_increasing
    assert frame.attrs["metric"] == "iou@90"


def test_one_image_has_all_its_scores(made: Made, results: Results) -> None:
    frame = results.image("image05")
    raw = made.rows[made.rows["image"] == "image05"]
    real = raw[~raw["metric"].isin(["top_k_any_chance", "kl_uniform"])]
    assert len(frame) == len(real)
    keys = ["model", "variant", "method", "target", "seed", "layer", "head", "region", "check"]
    keys += ["metric", "threshold"]
    left = frame.astype({"seed": "Int64"}).set_index(keys)["value"].to_dict()
    right = real.astype(dict.fromkeys(("seed", "layer", "head", "region"), "Int64"))
    assert {str(k): v for k, v in left.items()} == pytest.approx(
        {str(k): v for k, v in right.set_index(keys)["value"].to_dict().items()}, nan_ok=True
    )
    iou = frame[(frame["name"] == "iou@90") & frame["value"].notna()]
    g = iou["area"].to_numpy(float)
    np.testing.assert_allclose(iou["chance"], iou_chance(np.full(len(g), 0.1), g))
    np.testing.assert_allclose(iou["ceiling"], iou_ceiling(np.full(len(g), 0.1), g))
    any_of = frame[frame["metric"] == "top_k_any"]
    assert any_of["chance"].notna().all()


def test_scores_of_an_image_come_in_the_order_of_the_study(results: Results) -> None:
    frame = results.image("image03")
    sources = frame[["model", "variant", "method", "target", "seed", "check"]].drop_duplicates()
    assert sources["method"].tolist() == [kind.method for kind in KINDS]
    pd.testing.assert_frame_equal(frame, results.image("image03"))


def test_an_unknown_image_is_answered_with_near_ones(results: Results) -> None:
    with pytest.raises(UnknownNameError, match=r"no image 'imge03' is stored; nearest: image03"):
        results.image("imge03")


def test_an_image_whose_chunk_is_not_done(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[:1], skip=(1,))
    with pytest.raises(InputError, match="nothing is stored yet of image 'image07': 1 of 2 tasks"):
        open_results(made.path).image("image07")


def test_an_image_without_scored_regions_is_undefined(results: Results) -> None:
    frame = results.image("image01").query("metric == 'iou' or metric == 'coverage'")
    assert all(math.isnan(value) for value in frame["value"])
    assert frame["chance"].isna().all()


@pytest.mark.parametrize(
    "words",
    [
        {"method": "gradcam", "target": "label", "layer": 3},
        {"method": "gradcam", "target": "predicted", "layer": 3},
        {"method": "random", "seed": 0},
        {"method": "random", "seed": 1},
        {"method": "random"},
        {"method": "cls", "head": 1, "layer": 2},
    ],
)
def test_images_of_a_target_head_or_seed(
    made: Made, results: Results, words: dict[str, Any]
) -> None:
    frame = results.images("coverage", model="demo/vit", **words)
    units = unit_scores(made, "coverage", model="demo/vit", **words)
    assert len(frame) == len(units) == 8
    for _, line in frame.iterrows():
        assert line["value"] == pytest.approx(units[line["image"],][0], nan_ok=True)
