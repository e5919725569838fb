"""Energy gathers as a slow sort of the pixels says, and ends at the coverage that is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.results import open_results, open_scenes
from sightline.results._grids import spread_over
from sightline.results.energy import cumulative_energy, energy_curve
from sightline.stats.confidence import intervals
from tests.results.statistics.test_map_reader import lines_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


def slow(values: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Take pixel after pixel, the brightest first; those that are equal together."""
    flat, inside = values.ravel().astype(np.float64), mask.ravel()
    x, annotated, total = [0.0], [0.0], [0.0]
    for level in sorted(set(flat.tolist()), reverse=True):
        same = flat == level
        x.append(x[-1] + same.sum() / flat.size)
        annotated.append(annotated[-1] + flat[same & inside].sum() / flat.sum())
        total.append(total[-1] + flat[same].sum() / flat.sum())
    at = np.linspace(0, 1, 101)
    return np.stack([np.interp(at, x, one) for one in (annotated, total)])


@pytest.mark.parametrize("power", [1, 6])
@pytest.mark.parametrize("levels", [3, 40, 10**6])
def test_curves_are_those_of_a_sort(levels: int, power: int) -> None:
    rng = np.random.default_rng(levels)
    values = (rng.integers(0, levels, (24, 31)) / levels).astype(np.float32) ** power
    mask = rng.random((24, 31)) < 0.2
    found = energy_curve(values, mask)
    np.testing.assert_allclose(found[:2], slow(values, mask), atol=2e-3 if levels > 40 else 1e-12)
    np.testing.assert_allclose(found[0, -1], values[mask].sum() / values.sum(), rtol=1e-6)
    np.testing.assert_allclose(found[2], np.linspace(0, 1, 101) * mask.mean())
    assert (np.diff(found[0]) >= 0).all()


def test_a_map_that_knows_nothing_gathers_as_chance_does() -> None:
    mask = np.zeros((10, 10), bool)
    mask[:3] = True
    value, total, chance = energy_curve(np.full((10, 10), 0.7, np.float32), mask)
    np.testing.assert_allclose(value, chance, atol=1e-12)
    np.testing.assert_allclose(total, np.linspace(0, 1, 101), atol=1e-12)


def test_ignored_pixels_count_for_nothing() -> None:
    values = np.array([[9.0, 4.0], [1.0, 0.0]])
    mask = np.array([[True, True], [False, False]])
    ignore = np.array([[True, False], [False, False]])
    value, total, chance = energy_curve(values, mask, ignore)
    assert value[-1] == pytest.approx(0.8)
    assert total[-1] == pytest.approx(1)
    assert chance[-1] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("values", "mask"),
    [(np.zeros((3, 3)), np.eye(3, dtype=bool)), (np.ones((3, 3)), np.zeros((3, 3), bool))],
    ids=["no energy", "nothing annotated"],
)
def test_undefined(values: NDArray[Any], mask: NDArray[np.bool_]) -> None:
    assert np.isnan(energy_curve(values, mask)).all()


@pytest.mark.parametrize("store", ["sparse", "odd", "cropped", "given"])
def test_the_end_is_the_coverage(store: str, request: pytest.FixtureRequest) -> None:
    with open_results(request.getfixturevalue(store)) as results:
        scenes = open_scenes(results)
        lines = lines_of(scenes)[:4]
        seen: list[tuple[int, int, str]] = []
        found = cumulative_energy(scenes, lines, progress=lambda *told: seen.append(told))
        name = results._tables.name("coverage")
        for place, line in enumerate(lines):
            part = found.table[found.table["place"] == place]
            # Of several seeds it is the first.
            known = scenes.units(name, line)["value"] if len(scenes.seeds(line)) == 1 else None
            assert len(part) == 101
            assert (part["low"].dropna() <= part["value"][part["low"].notna()] + 1e-9).all()
            if known is not None:
                assert part["value"].iloc[-1] == pytest.approx(known.mean(), abs=1e-6)
                assert part["n"].iloc[0] == known.notna().sum()
                ordered = known.sort_index().dropna()
                ends = intervals(ordered.to_numpy()[:, None])  # by image
                for side in ("low", "high"):
                    expected = np.clip(getattr(ends, side)[0], 0, 1)
                    assert part[side].iloc[-1] == pytest.approx(expected, abs=1e-5, nan_ok=True)
                assert part["undefined"].iloc[0] == known.isna().sum()
        used = {"sparse": 20, "odd": 9, "cropped": 9, "given": 7}[store]
        assert (found.n, found.images) == (used, len(scenes.images))
        assert seen[-1] == (len(lines), len(lines), "energy of maps")


def test_few_images_are_spread(sparse: Any) -> None:
    with open_results(sparse) as results:
        scenes = open_scenes(results)
        found = cumulative_energy(scenes, lines_of(scenes)[:1], most=5)
        assert (found.n, found.images) == (5, 20)
        assert found.table["n"].unique().tolist() == [5]
        assert spread_over(scenes.images, 5)[::4] == (scenes.images[0], scenes.images[-1])
