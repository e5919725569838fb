from __future__ import annotations

from itertools import product
from math import log
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.annotation import _placement
from sightline.annotation._placement import (
    Placed,
    cell_range,
    find_places,
    surroundings,
    unit_vectors,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCALES = (0.6, 1.0, 1.5)


def noise(seed: int, channels: int, rows: int, columns: int) -> NDArray[np.float32]:
    """Return features of length 1 that are like nothing."""
    rng = np.random.default_rng(seed)
    return unit_vectors(rng.standard_normal((channels, rows, columns)).astype(np.float32))


def smooth(seed: int, rows: int, columns: int) -> NDArray[np.float32]:
    """Return features of length 1 that change little from cell to cell."""
    rough = np.random.default_rng(seed).standard_normal((6, rows + 4, columns + 4))
    parts = [rough[:, i : i + rows, j : j + columns] for i, j in product(range(5), range(5))]
    return unit_vectors(np.sum(parts, 0).astype(np.float32))


# --- the slow, obvious way -----------------------------------------------------------------------


def sampled(side: int, onto: int) -> list[tuple[int, int]]:
    """Return pairs of a cell of the region and one of a place, along one side."""
    count, cells = min(onto, _placement.MOST_CELLS), min(side, _placement.MOST_CELLS)
    inner = [(2 * i + 1) * side // (2 * cells) for i in range(cells)]
    return [
        (inner[(2 * k + 1) * cells // (2 * count)], (2 * k + 1) * onto // (2 * count))
        for k in range(count)
    ]


def mean_cosine(
    features: NDArray[np.float32],
    region: tuple[int, int, int, int],
    place: tuple[int, int, int, int],
) -> float:
    """Return the mean cosine of a region with a place; both are row, column, rows, columns."""
    values = [
        float(
            features[:, region[0] + a, region[1] + b].astype(float)
            @ features[:, place[0] + c, place[1] + d]
        )
        for a, c in sampled(region[2], place[2])
        for b, d in sampled(region[3], place[3])
    ]
    return sum(values) / len(values)


def best_by_loops(
    features: NDArray[np.float32], box: tuple[float, ...], penalty: float
) -> dict[tuple[int, int], tuple[float, float]]:
    """Return, by twice the middle in cells, the best score, and how large that place is."""
    rows, columns = features.shape[1:]
    (r0, r1), (c0, c1) = cell_range(box[1], box[3], rows), cell_range(box[0], box[2], columns)
    region = r0, c0, r1 - r0, c1 - c0
    around = [
        mean_cosine(features, region, (r, c, *region[2:]))
        for r, c in product(range(rows - region[2] + 1), range(columns - region[3] + 1))
        if 1 / 3 <= max(abs(r - r0) / max(region[2], 2), abs(c - c0) / max(region[3], 2)) <= 2 / 3
    ]
    if not around:
        return {}
    own = sum(around) / len(around)
    found: dict[tuple[int, int], tuple[float, float]] = {}
    heights, widths = (
        sorted({max(1, round(s * k)) for k in SCALES if s * k <= n})
        for s, n in ((region[2], rows), (region[3], columns))
    )
    for h, w in product(heights, widths):
        taller, wider = h / region[2], w / region[3]
        if not 1 / 1.85 <= wider / taller <= 1.85:
            continue
        for r, c in product(range(rows - h + 1), range(columns - w + 1)):
            value = mean_cosine(features, region, (r, c, h, w))
            value -= penalty * (abs(log(taller)) + abs(log(wider)))
            score = (value - own) / (1 - own)
            before = found.get((2 * r + h, 2 * c + w), (-np.inf, 0.0))
            if score > before[0] + 1e-9:
                found[2 * r + h, 2 * c + w] = score, taller * wider
    return found


@pytest.mark.parametrize(
    ("size", "box"),
    [
        ((9, 11), (2.2, 3.1, 5.0, 5.4)),
        ((7, 7), (0.0, 0.0, 2.0, 3.0)),
        ((20, 6), (1.0, 1.0, 3.0, 15.2)),  # more cells than are compared
        ((6, 6), (2.4, 2.4, 2.5, 2.5)),  # less than a cell
    ],
)
def test_scores_are_those_of_the_slow_way(size: tuple[int, int], box: tuple[float, ...]) -> None:
    features = smooth(1, *size)
    window = _placement._Window.of(box, features.shape[1:])
    alike = _placement._compared(features, window)
    own = surroundings(_placement._laid(alike, window.size), window)
    best, sizes = _placement._best_sizes(alike, window, SCALES, 0.1)
    expected = best_by_loops(features, box, 0.1)
    assert set(zip(*np.nonzero(np.isfinite(best)), strict=True)) == set(expected)
    for middle, (score, larger) in expected.items():
        assert (best[middle] - own) / (1 - own) == pytest.approx(score, abs=1e-5)
        assert sizes[middle].prod() == pytest.approx(larger)


# --- what it is for ------------------------------------------------------------------------------


def planted(corners: list[tuple[int, int]], size: tuple[int, int] = (4, 3)) -> NDArray[np.float32]:
    """Return a field of noise with one pattern at several places: row and column of its corner."""
    features, pattern = noise(0, 16, 24, 24).copy(), noise(9, 16, *size)
    for row, column in corners:
        features[:, row : row + size[0], column : column + size[1]] = pattern
    return features


def test_copies_are_found_where_they_are_with_score_1() -> None:
    features = planted([(2, 2), (10, 15), (18, 4)])
    found = find_places(features, (2, 2, 5, 6), scales=SCALES, penalty=0.1, least=0.5)
    assert sorted(found.boxes.round(1).tolist()) == [[4, 18, 7, 22], [15, 10, 18, 14]]
    assert found.scores == pytest.approx(1, abs=1e-5)


def test_a_box_keeps_its_place_within_its_cells() -> None:
    found = find_places(planted([(2, 2), (10, 15)]), (1.7, 2.4, 4.9, 6.3), least=0.5)
    assert found.boxes.round(1).tolist() == [[14.7, 10.4, 17.9, 14.3]]


def test_a_larger_copy_is_found_at_its_size() -> None:
    features = noise(0, 16, 24, 24).copy()
    pattern = noise(9, 16, 4, 4)
    features[:, 2:6, 2:6] = pattern
    features[:, 10:16, 12:18] = pattern[:, (np.arange(6) * 2 + 1) // 3][
        :, :, (np.arange(6) * 2 + 1) // 3
    ]
    found = find_places(features, (2, 2, 6, 6), scales=(1, 1.5), penalty=0.05, least=0.6)
    assert found.boxes == pytest.approx(np.array([[12, 10, 18, 16]]), abs=0.2)
    alone = find_places(features, (2, 2, 6, 6), scales=(1,), least=0.3)
    assert alone.scores.max() < found.scores[0] - 0.1


def test_where_all_is_the_same_nothing_stands_out() -> None:
    features = unit_vectors(np.ones((3, 10, 10), np.float32))
    assert len(find_places(features, (2, 2, 5, 5)).scores) == 0


def test_a_region_as_large_as_the_image_has_no_other_place() -> None:
    assert len(find_places(noise(0, 4, 6, 6), (0, 0, 6, 6), scales=SCALES).scores) == 0


def test_features_of_0_are_like_nothing() -> None:
    features = planted([(2, 2), (10, 15)])
    features[:, 14:, :] = 0
    assert np.isfinite(unit_vectors(features)).all()
    found = find_places(unit_vectors(features), (2, 2, 5, 6), least=0.5)
    assert len(found.scores) == 1


boxes = st.tuples(st.floats(0, 9), st.floats(0, 9), st.floats(0.1, 6), st.floats(0.1, 6)).map(
    lambda b: (b[0], b[1], min(10, b[0] + b[2]), min(10, b[1] + b[3]))
)


@given(seed=st.integers(0, 99), box=boxes, most=st.integers(1, 6))
def test_places_are_apart_ordered_and_as_many_as_asked(
    seed: int, box: tuple[float, float, float, float], most: int
) -> None:
    features = smooth(seed, 10, 10)
    found = find_places(features, box, scales=SCALES, penalty=0.1, least=0.1, most=99)
    assert (found.scores >= 0.1).all()
    assert (found.scores <= 1 + 1e-5).all()
    assert (np.diff(found.scores) <= 0).all()
    for a, b in product([*found.boxes, np.array(box)], repeat=2):
        sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
        smaller = min((a[2:] - a[:2]).prod(), (b[2:] - b[:2]).prod())
        assert a is b or np.allclose(a, b) or np.maximum(sides, 0).prod() <= 0.2 * smaller + 1e-9
    few = find_places(features, box, scales=SCALES, penalty=0.1, least=0.1, most=most)
    assert isinstance(few, Placed)
    assert few.boxes.tolist() == found.boxes[:most].tolist()


def test_turning_the_grid_turns_the_places() -> None:
    features = planted([(2, 2), (10, 15), (18, 4)])
    found = find_places(features, (2, 2, 5, 6), scales=SCALES, penalty=0.1, least=0.3)
    turned = features.transpose(0, 2, 1).copy()
    other = find_places(turned, (2, 2, 6, 5), scales=SCALES, penalty=0.1, least=0.3)
    assert sorted(other.boxes[:, [1, 0, 3, 2]].round(5).tolist()) == sorted(
        found.boxes.round(5).tolist()
    )


@pytest.mark.parametrize(
    ("start", "stop", "cells"),
    [
        (1.4, 4.2, (1, 4)),
        (1.5, 3.5, (2, 3)),
        (1.6, 1.7, (1, 2)),
        (-2, 0.2, (0, 1)),
        (9.8, 12, (9, 10)),
    ],
)
def test_cells_of_a_stretch(start: float, stop: float, cells: tuple[int, int]) -> None:
    assert cell_range(start, stop, 10) == cells
