from __future__ import annotations

import numpy as np
import pytest

from sightline import load_dataset
from sightline.data import score_by_image
from sightline.data.demo import METHODS, demo_map

CHURCHES = load_dataset("facades", count=12, seed=0)


def test_methods_rank_as_they_should() -> None:
    means = {}
    for method in METHODS:
        maps = {sample.image_id: demo_map(sample, method) for sample in CHURCHES}
        summary = score_by_image(maps, CHURCHES.annotations()).summary()
        means[method] = {row.metric: row for row in summary}
    for metric in ("coverage", "average_precision", "auc_roc", "iou@90"):
        found = {method: rows[metric].mean or 0.0 for method, rows in means.items()}
        chance = means["constant"][metric].chance or 0.0
        assert max(found, key=found.__getitem__) == "sees-the-parts"
        assert min(found["sees-half"], found["edges"], found["centre-gaussian"]) > 1.2 * chance
        assert found["uniform-random"] == pytest.approx(chance, abs=0.02)
        assert found["constant"] == pytest.approx(chance, abs=1e-12)


def test_edges_are_where_brightness_changes() -> None:
    found = demo_map(CHURCHES[0], "edges")
    grey = CHURCHES[0].image().astype(float).mean(axis=2)
    cell = np.hypot(*np.gradient(grey))[40:44, 100:104]
    assert found[10, 25] == pytest.approx(cell.mean(), rel=1e-5)


def test_maps_are_seeded() -> None:
    one, two, other = (demo_map(CHURCHES[0], "uniform-random", seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()
    assert (one != demo_map(CHURCHES[1], "uniform-random")).any()
