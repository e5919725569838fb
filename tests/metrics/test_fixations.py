"""Fixations: counts and densities of points, and what refuses a mask made of points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from sightline import metrics, score_maps
from sightline.core import Annotation, InputError, Region
from tests.reference import maps as reference

HEIGHT, WIDTH = 40, 50
RNG = np.random.default_rng(0)
POINTS = np.concatenate([RNG.random((30, 2)), [[0.31, 0.22]] * 4, [[1.0, 1.0], [0.0, 1.0]]])
COUNTS = metrics.count_points(POINTS, HEIGHT, WIDTH)
DENSITY = metrics.compute_point_density(POINTS, HEIGHT, WIDTH, sigma=3)
MAP = RNG.random((HEIGHT, WIDTH)) + 3 * np.sqrt(DENSITY / DENSITY.max())
SOFT = ("cc", "sim", "kl", "mse", "emd")


def test_points_are_counted_in_their_pixels() -> None:
    counts = np.zeros((HEIGHT, WIDTH), int)
    for x, y in POINTS:
        counts[min(int(y * HEIGHT), HEIGHT - 1), min(int(x * WIDTH), WIDTH - 1)] += 1
    np.testing.assert_array_equal(COUNTS, counts)
    assert (COUNTS.sum(), COUNTS.max()) == (36, 4)
    assert not metrics.count_points([], 2, 3).any()
    edges = [(k / 400, 0.5) for k in range(400)]  # 29 / 400 * 400 is below 29
    assert (metrics.count_points(edges, 1, 400) == 1).all()
    for odd in ((1.01, 0.5), (-0.1, 0.5), (math.nan, 0.5)):
        with pytest.raises(InputError, match=r"each in \[0, 1\]; point 1 is"):
            metrics.count_points([(0.5, 0.5), odd], 4, 4)
    unpaired: list[Any] = [[(0.1, 0.2, 0.3)] * 2, [0.1, 0.2, 0.3, 0.4]]  # with a duration; flat
    for points in unpaired:
        with pytest.raises(InputError, match=r"points must be \(x, y\) each; got shape"):
            metrics.count_points(points, 4, 4)


def test_a_density_is_a_gaussian_around_each_point() -> None:
    slow = reference.point_density(COUNTS, 3)
    np.testing.assert_allclose(DENSITY, slow, rtol=0, atol=1e-15)
    assert DENSITY.sum() == pytest.approx(1)
    assert not metrics.compute_point_density([], 2, 3, sigma=1).any()
    for sigma in (0, -1, math.inf, math.nan):
        with pytest.raises(InputError, match="sigma must be a finite number of pixels > 0"):
            metrics.compute_point_density(POINTS, 4, 4, sigma=sigma)


@pytest.mark.parametrize("sign", ["positive", "absolute", "signed"])
@pytest.mark.parametrize("make", [np.asarray, torch.tensor])
def test_repeated_fixations_count(make: Any, sign: Any) -> None:
    values = MAP - (1.5 if sign != "positive" else 0)
    names = ["nss"] if sign == "signed" else ["nss", "information_gain"]
    found = score_maps(make(values), fixations=make(COUNTS), metrics=names, sign=sign)
    rows, columns = np.nonzero(COUNTS)
    repeats = np.repeat(np.stack([rows, columns]), COUNTS[rows, columns], axis=1)
    read = np.abs(values) if sign == "absolute" else values
    standard = (read - read.mean()) / read.std()
    assert float(found["nss"]) == pytest.approx(standard[tuple(repeats)].mean(), abs=1e-12)
    assert float(found["nss"]) != pytest.approx(standard[COUNTS > 0].mean(), abs=1e-3)
    if sign != "signed":
        gain = np.log2(read / read.sum() * read.size)[tuple(repeats)].mean()
        assert float(found["information_gain"]) == pytest.approx(gain, abs=1e-9)
    slow = reference.nss(values, COUNTS, sign=sign)
    assert float(found["nss"]) == pytest.approx(slow, abs=1e-12)
    assert float(metrics.compute_nss(make(values), make(COUNTS), sign=sign)) == float(found["nss"])


def test_fixations_stand_in_for_masks() -> None:
    found = score_maps(MAP, fixations=COUNTS, metrics=["auc_judd", "auc_roc", "pointing"])
    masked = score_maps(MAP, COUNTS > 0, metrics=["auc_judd", "auc_roc", "pointing"])
    assert all(found[name] == masked[name] for name in masked)
    once = score_maps(MAP, fixations=COUNTS > 0, metrics=["nss"])["nss"]
    assert once == score_maps(MAP, COUNTS > 0, metrics=["nss"])["nss"]
    batch = score_maps(np.stack([MAP, MAP[::-1]]), fixations=COUNTS, metrics=["nss"])["nss"]
    assert batch[0] == score_maps(MAP, fixations=COUNTS, metrics=["nss"])["nss"]
    ignore = np.zeros_like(COUNTS, bool)
    ignore[:, :20] = True
    part = score_maps(MAP, fixations=COUNTS, ignore=ignore, metrics=["nss"])["nss"]
    assert part == pytest.approx(reference.nss(MAP[:, 20:], COUNTS[:, 20:]), abs=1e-12)
    assert math.isnan(score_maps(MAP, fixations=0 * COUNTS, metrics=["nss"])["nss"])


def test_odd_fixations_are_refused() -> None:
    with pytest.raises(InputError, match="give fixations or masks"):
        score_maps(MAP, COUNTS > 0, fixations=COUNTS)
    with pytest.raises(InputError, match=r"fixations must hold whole numbers .*; found 0\.5"):
        score_maps(MAP, fixations=COUNTS / 2)
    with pytest.raises(InputError, match="fixations must be finite and not negative"):
        score_maps(MAP, fixations=-COUNTS)
    with pytest.raises(InputError, match="mask must hold whole numbers"):
        metrics.compute_nss(MAP, COUNTS / 2)
    with pytest.raises(InputError, match="masks must hold only 0 and 1"):
        score_maps(MAP, COUNTS)


@pytest.mark.parametrize("make", [np.asarray, torch.tensor])
@pytest.mark.filterwarnings("ignore:MSE")
def test_targets_are_what_soft_metrics_compare_with(make: Any) -> None:
    found = score_maps(make(MAP), targets=make(DENSITY), metrics=SOFT)
    for name in SOFT:
        if name != "emd":
            expected = getattr(reference, name)(MAP, DENSITY)
            assert float(found[name]) == pytest.approx(expected, rel=1e-9)
        direct = getattr(metrics, f"compute_{name}")(make(MAP), make(DENSITY))
        assert float(found[name]) == float(direct)
    both = score_maps(
        make(np.stack([MAP, MAP])),
        regions=[[(0.0, 0.0, 0.5, 0.5)]],
        targets=make(np.stack([DENSITY, DENSITY[::-1].copy()])),
        metrics=["cc", "coverage"],
    )
    assert float(both["cc"][0]) == float(found["cc"]) != float(both["cc"][1])
    ignore = np.zeros_like(COUNTS, bool)
    ignore[:, :20] = True
    part = score_maps(MAP, targets=DENSITY, ignore=ignore, metrics=["cc"])["cc"]
    assert part == pytest.approx(reference.cc(MAP[:, 20:], DENSITY[:, 20:]), abs=1e-12)


def test_odd_targets_are_refused() -> None:
    for odd in (-DENSITY, np.where(COUNTS > 0, np.nan, DENSITY)):
        with pytest.raises(InputError, match="targets must be finite and not negative"):
            score_maps(MAP, targets=odd, metrics=["cc"])
    with pytest.raises(InputError, match="must not be zero everywhere; that of map 1 is"):
        score_maps(np.stack([MAP] * 2), targets=np.stack([DENSITY, 0 * DENSITY]), metrics=["cc"])
    with pytest.raises(InputError, match="coverage needs masks, regions or fixations"):
        score_maps(MAP, targets=DENSITY)
    with pytest.raises(InputError, match="needs masks, regions, or both"):
        score_maps(MAP)


ADVICE = r"targets=compute_point_density\(points, height, width, sigma=\.\.\.\)"


@pytest.mark.parametrize("name", SOFT[:-1])
@pytest.mark.filterwarnings("ignore:MSE")
def test_masks_made_of_points_are_refused_with_advice(name: str) -> None:
    point = Annotation("a", 50, 40, regions=(Region("gaze", "point", box=(0.5, 0.5, 0.5, 0.5)),))
    for make in (np.asarray, torch.tensor):
        for target in (COUNTS > 0, COUNTS):
            with pytest.raises(InputError, match=f"made of points .*{ADVICE}"):
                getattr(metrics, f"compute_{name}")(make(MAP), make(target))
            with pytest.raises(InputError, match=f"target is made of points .*{ADVICE}"):
                score_maps(make(MAP), targets=make(target), metrics=[name])
    for options in (
        {"fixations": COUNTS},
        {"regions": [[COUNTS > 0]]},
        {"regions": [[np.eye(40, 50) > 2, COUNTS > 0]]},
        {"regions": [point]},
    ):
        with pytest.raises(InputError, match=ADVICE):
            score_maps(MAP, metrics=[name], **options)
        assert score_maps(MAP, metrics=["auc_roc"], **options)["auc_roc"] > 0
    with pytest.raises(InputError, match=f"{name} needs targets, or regions.* of points.*{ADVICE}"):
        score_maps(MAP, COUNTS > 0, metrics=[name])


@pytest.mark.parametrize("size", [(60, 80), (75, 100), (100, 133), (150, 200)])
def test_fixations_that_cluster_are_points_too(size: tuple[int, int]) -> None:
    """As those of 15 people who look at the same few things."""
    centres = RNG.uniform(0.2, 0.8, (6, 2))
    points = np.clip(RNG.normal(centres[RNG.integers(0, 6, 150)], 0.08), 0, 1)
    counts = metrics.count_points(points, *size)
    with pytest.raises(InputError, match="made of points"):
        metrics.compute_cc(RNG.random(size), counts > 0)


def test_areas_are_no_points() -> None:
    """Discs, boxes of a pixel, lines, single pixels of a coarse grid, densities."""
    disc = Region("eye", "point", box=(0.4, 0.4, 0.5, 0.5), radius=2.5)
    pixel = Region("stud", "box", box=(0.4, 0.4, 0.42, 0.425))
    line = np.eye(HEIGHT, WIDTH) > 0
    for regions in ([Annotation("a", 50, 40, regions=(disc, pixel))], [[line]]):
        assert np.isfinite(score_maps(MAP, regions=regions, metrics=["cc"])["cc"])
    assert np.isfinite(metrics.compute_cc(MAP, line))
    pole, ignore = np.zeros((HEIGHT, WIDTH)), np.zeros((HEIGHT, WIDTH), bool)
    pole[:, 31] = ignore[:5] = 1  # without ignored pixels its neighbours are in no row
    part = score_maps(MAP, targets=pole, ignore=ignore, metrics=["cc"])["cc"]
    assert part == pytest.approx(reference.cc(MAP[5:], pole[5:]), abs=1e-12)
    with pytest.raises(InputError, match="target is made of points"):
        score_maps(MAP, targets=COUNTS, ignore=ignore, metrics=["cc"])
    assert np.isfinite(score_maps(MAP, targets=COUNTS, metrics=["emd"])["emd"])  # a distance
    coarse = np.zeros((14, 14), bool)
    coarse[3, 4] = coarse[9, 9] = True
    assert np.isfinite(metrics.compute_cc(RNG.random((14, 14)), coarse))
    assert np.isfinite(score_maps(RNG.random((14, 14)), regions=[[coarse]], metrics=["cc"])["cc"])


def test_a_point_mask_says_little_of_a_map_that_is_right() -> None:
    """Why: the correlation with the points themselves is far below that with their density."""
    exact = float(score_maps(DENSITY, targets=DENSITY, metrics=["cc"])["cc"])
    assert exact == pytest.approx(1)
    assert reference.cc(DENSITY, COUNTS > 0) < 0.3
