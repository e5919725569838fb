"""Agreement of maps is SciPy's rank correlation, averaged over images."""

from __future__ import annotations

import json
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from sightline.results import open_results, open_scenes
from sightline.results._grids import coarser, read, to_cells
from sightline.results.agreement import CELLS, map_agreement, rank_correlations
from sightline.stats import interval
from sightline.stats._order import leaf_order
from tests.results.statistics import stores
from tests.results.statistics.test_map_reader import lines_of

if TYPE_CHECKING:
    from pathlib import Path


def test_it_is_the_mean_of_rank_correlations(sparse: Path) -> None:
    with open_results(sparse) as results:
        scenes = open_scenes(results)
        lines = lines_of(scenes, "best")[:3]
        seen: list[Any] = []
        found = map_agreement(scenes, lines, most=6, progress=lambda *told: seen.append(told))
        assert (found.n, found.images) == (6, 20)
        assert seen == [(i, 3, "agreement of maps") for i in (1, 2, 3)]
        images = [scenes.images[place] for place in (0, 4, 8, 11, 15, 19)]
        for one, other in combinations(range(3), 2):
            expected = []
            for image in images:
                pair = []
                for line in (lines[one], lines[other]):
                    seed = scenes.seeds(line)[0]
                    maps = scenes.maps(line, seed, images=[image], resolution=224)
                    assert maps.maps[0].shape == (224, 224)
                    cells = to_cells(read(maps.maps[0], maps.sign), None, (CELLS, CELLS))
                    pair.append(cells.ravel())
                expected.append(spearmanr(pair[0], pair[1]).statistic)
            assert found.matrix[one, other] == pytest.approx(np.mean(expected), abs=1e-9)
            span = interval(expected)
            ends = found.low[one, other], found.high[other, one]
            assert ends == pytest.approx(np.clip((span.low, span.high), -1, 1), abs=1e-6)
        for whole in (found.matrix, found.low, found.high):
            np.testing.assert_array_equal(whole, whole.T)
        assert found.order.tolist() == leaf_order(found.matrix).tolist()
        np.testing.assert_allclose(np.diag(found.matrix), 1)
        assert (found.counts == 6).all()


def test_ties_share_ranks_and_constants_have_none() -> None:
    one, other = np.array([[1.0, 1.0, 2.0, 5.0]]), np.array([[3.0, 1.0, 4.0, 4.0]])
    found = rank_correlations([one, other, np.zeros((1, 4)), -one])
    assert found[0, 1] == pytest.approx(spearmanr(one.ravel(), other.ravel()).statistic)
    assert found[0, 3] == pytest.approx(-1)
    assert np.isnan(found[2]).all()
    assert np.isnan(found[:, 2]).all()


def test_what_one_did_not_see_is_left_out() -> None:
    one, other = np.array([[1.0, 2.0, 3.0, np.nan]]), np.array([[9.0, 2.0, 3.0, 1.0]])
    found = rank_correlations([one, other, None])
    assert found[0, 1] == pytest.approx(spearmanr([1, 2, 3], [9, 2, 3]).statistic)
    assert np.isnan(found[2]).all()
    assert np.isnan(rank_correlations([one[:, 3:], other[:, 3:]])).all()
    assert np.isnan(rank_correlations([None, None])).all()


@pytest.mark.parametrize("store", ["odd", "cropped", "given"])
def test_maps_of_any_geometry_can_be_compared(store: str, request: pytest.FixtureRequest) -> None:
    with open_results(request.getfixturevalue(store)) as results:
        scenes = open_scenes(results)
        lines = lines_of(scenes, "best")[:3]
        found = map_agreement(scenes, lines)
        assert np.isfinite(found.matrix).all()
        assert (np.abs(found.matrix) <= 1).all()
        np.testing.assert_allclose(np.diag(found.matrix), 1)  # also where images lack a map
        images = min(len(scenes.views(line, scenes.seeds(line)[0])) for line in lines)
        assert found.counts.max() == found.n == images


def test_cells_are_means_of_what_was_seen() -> None:
    values = np.arange(16.0).reshape(4, 4)
    unseen = np.zeros((4, 4), bool)
    unseen[:2, :2] = True
    unseen[0, 2] = True
    found = to_cells(values, unseen, (2, 2))
    expected = [[np.nan, (3 + 6 + 7) / 3], [(8 + 9 + 12 + 13) / 4, (10 + 11 + 14 + 15) / 4]]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert coarser(values.shape, 9) == (4, 4)
    assert coarser((3, 300), 9) == (1, 9)
    np.testing.assert_array_equal(to_cells(values, None, (4, 4)), values)


def test_maps_of_images_whose_size_is_not_known_can_be_compared(tmp_path: Path) -> None:
    pictures = stores.write_odd(tmp_path / "pictures")
    file = pictures / "annotations.json"
    content = json.loads(file.read_text())
    for image in content["images"]:
        del image["width"], image["height"]
    file.write_text(json.dumps(content))
    store = stores.run_given(tmp_path, "given", pictures, range(9))
    for number in range(9):  # of other cells than those of the first
        np.save(tmp_path / "given-second" / f"{number:03}.npy", np.eye(20, 12, number, np.float32))
    with open_results(store) as results:
        scenes = open_scenes(results)
        found = map_agreement(scenes, lines_of(scenes)[:2])
        assert (found.counts == 9).all()
        assert np.isfinite(found.matrix).all()
