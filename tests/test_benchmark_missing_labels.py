"""The benchmark of missing labels: labels that are kept, scores that are read again, tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from benchmarks import missing_labels as bench
from sightline import load_model
from sightline.core import Annotation, Region
from sightline.stats.missing_labels import compute_label_bias

if TYPE_CHECKING:
    from pathlib import Path

BOXES = {
    "Gothic": [("arch", (1, 1, 20, 20)), ("arch", (31, 1, 50, 30)), ("door", (11, 31, 40, 60))],
    "Baroque": [("arch", (5, 5, 30, 40))],
    "originals": [("arch", (5, 5, 30, 40))],
}


@pytest.fixture
def monumai(tmp_path: Path) -> Path:
    for style, boxes in BOXES.items():
        (tmp_path / style / "xml").mkdir(parents=True)
        values = np.random.default_rng(len(style)).integers(0, 256, (60, 50, 3), np.uint8)
        Image.fromarray(values).save(tmp_path / style / "front.jpg")
        objects = "".join(
            f"<object><name>{label}</name><bndbox>"
            + "".join(
                f"<{corner}>{value}</{corner}>"
                for corner, value in zip(("xmin", "ymin", "xmax", "ymax"), box, strict=True)
            )
            + "</bndbox></object>"
            for label, box in boxes
        )
        size = "<size><width>50</width><height>60</height></size>"
        text = f"<annotation>{size}{objects}</annotation>"
        (tmp_path / style / "xml" / "front.xml").write_text(text)
    return tmp_path


def test_photographs_are_read_with_their_boxes(monumai: Path) -> None:
    first, second = bench.read_photographs(monumai)
    assert first.path == monumai / "Baroque" / "front.jpg"
    assert [region.label for region in second.annotation.regions] == ["arch", "arch", "door"]
    assert second.annotation.regions[1].box == pytest.approx((0.6, 0.0, 1.0, 0.5))


def test_one_region_of_each_label_is_kept_at_random() -> None:
    regions = tuple(Region("ab"[i % 2], index=i) for i in range(6))
    rng = np.random.default_rng(0)
    whole = Annotation("x", 10, 10, regions)
    kept = [bench.keep_one_per_label(whole, rng).regions for _ in range(60)]
    assert {tuple(one.label for one in some) for some in kept} == {("a", "b")}
    assert {one.index for some in kept for one in some} == set(range(6))


def test_scores_are_kept_and_read_again(monumai: Path, tmp_path: Path) -> None:
    photographs = bench.read_photographs(monumai)
    keep = tmp_path / "scores"
    keep.mkdir()
    methods = {"centre": (None,), "cls": (3, 11)}
    found = bench.measure(photographs, load_model("demo/vit"), methods, keep)
    assert list(found) == ["centre", "cls · layer 3", "cls · layer 11"]
    regions = found["centre"].regions
    assert regions["kept"].tolist().count(True) == 3
    assert regions["count"].tolist() == [1, 2, 2, 1]
    again = bench.measure(photographs, None, methods, keep)  # type: ignore[arg-type] # not asked
    for name, scores in found.items():
        for one, other in zip(scores, again[name], strict=True):
            numbers = list(one.select_dtypes("number"))
            np.testing.assert_allclose(one[numbers], other[numbers], rtol=1e-12)


def made_up(bias: float, seed: int = 0, n: int = 200) -> bench.Scores:
    """Return scores of images with one region each, of which the recall is known."""
    rng = np.random.default_rng(seed)
    recall, area = rng.uniform(0.1, 0.9, n), rng.uniform(0.01, 0.05, n)
    full = recall * area / (0.1 + area - recall * area)
    sparse = full - bias - rng.normal(0, 0.01, n)
    images = pd.DataFrame({"image": range(n), "full": full, "sparse": sparse})
    facts = {"image": range(n), "label": "arch", "kept": True, "recall": recall, "area": area}
    return bench.Scores(images, pd.DataFrame({**facts, "attended": 0.1, "count": 1}))


def test_pairs_find_a_bias_that_the_old_rule_does_not() -> None:
    scores = {"biased": made_up(0.01), "right": made_up(0.0)}
    biased, right = bench.detect(scores, draws=40)
    assert biased.bias == pytest.approx(0.01, abs=0.003)
    assert biased.test > 0.9
    assert biased.verdict > 0.9
    assert biased.power > 0.9
    assert biased.estimated > 0.9
    assert biased.old < biased.verdict
    assert right.test < 0.2
    assert max(right.signs) <= 0.07
    assert max(right.centred) <= 0.07


def test_a_verdict_asks_for_test_and_interval() -> None:
    """Of few, skewed differences the test may reject 0 where the interval does not exclude it."""
    scores = made_up(0.0)
    rng = np.random.default_rng(1)
    skewed = np.where(rng.random(200) < 0.08, 0.1, 0.002)
    scores.images["sparse"] = scores.images["full"] - skewed
    (rates,) = bench.detect({"skewed": scores}, draws=40)
    gaps = (scores.images["full"] - scores.images["sparse"]).to_numpy()
    shown, rejected = 0, 0
    for seed in range(40):
        study = np.random.default_rng(seed).choice(200, bench.STUDY, replace=False)[: bench.GOLD]
        gold = np.full(200, np.nan)
        gold[study] = gaps[study]
        bias = compute_label_bias(np.zeros(200), gold)
        rejected += bias.p <= 0.05
        shown += bias.p <= 0.05 and not bias.low <= 0 <= bias.high
    assert rates.test == rejected / 40
    assert rates.verdict == rates.corrected == shown / 40
    assert rates.verdict < rates.test


def test_tables_hold_a_row_for_each_configuration() -> None:
    scores = {"a": made_up(0.01), "b": made_up(0.0, 1)}
    errors = bench.correct(scores["a"])
    assert errors.own == pytest.approx(0, abs=1e-9)  # everything is labelled
    assert bench.correct_by_frequency(scores["a"]).own == pytest.approx(0, abs=1e-9)
    studies = bench.correct_studies(scores["a"], 5, 20, 6)
    assert studies.known["own"] == pytest.approx((0, 0), abs=1e-9)
    assert studies.frequency["own_complete"] == pytest.approx((0, 0), abs=1e-9)
    assert studies.own == 1.0
    assert len(set(np.round(list(bench.average_recall(scores["a"])), 12))) == 1
    for title, head, rows in bench.build_tables(scores, 2):
        assert title
        assert [len(row) for row in rows] == [len(head)] * 2


def test_images_on_which_nothing_is_missing_are_reported_apart() -> None:
    """Of every second image one of three instances is kept: others are scaled by 2, too."""
    scores = made_up(0.0)
    twins = scores.regions[scores.regions["image"] % 2 == 0].assign(kept=False)
    scores = scores._replace(regions=pd.concat([scores.regions, twins, twins], ignore_index=True))
    errors = bench.correct_by_frequency(scores)
    single = scores.regions[scores.regions["image"] % 2 == 1]
    area = 2 * single["area"]
    hits = (single["recall"] * area).clip(upper=0.1)
    truth = scores.images["full"][1::2].mean()
    assert errors.own_complete == pytest.approx((hits / (0.1 + area - hits)).mean() / truth - 1)
    assert errors.own_complete > 0.1


def test_the_most_covered_region_of_each_label_is_kept() -> None:
    scores = made_up(0.0, n=3)
    more = scores.regions.assign(kept=False, recall=[0.0, 1.0, 1.0], label=["arch", "arch", "door"])
    scores = scores._replace(regions=pd.concat([scores.regions, more]))
    kept = bench.keep_most_covered(scores).regions["kept"]
    assert kept.tolist() == [True, False, True, False, True, True]
