from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sightline.data.facades.camera import Camera
from sightline.data.facades.colours import GROUNDS, SKIES, Backdrop, Look, Masonry, Ramp
from sightline.data.facades.dice import Dice
from sightline.data.facades.surfaces import _noise, draw_backdrop, draw_grain, draw_masonry

FRONTAL = Camera(scale=1.0, x=0.5, y=0.88, centre=0.5, pan=0.0, tilt=0.0)


def test_noise_is_smooth_and_within_a_byte() -> None:
    for octaves in (1, 3):
        noise = _noise(np.random.default_rng(0), (200, 160), (5, 4), octaves)
        assert noise.shape == (200, 160)
        assert noise.min() >= 0
        assert noise.max() <= 255
        assert noise.std() > 20
        assert max(abs(np.diff(noise, axis=axis)).max() for axis in (0, 1)) <= 20


def test_noise_meets_the_drawn_values_at_the_corners() -> None:
    values = np.random.default_rng(4).integers(0, 256, (6, 5), dtype=np.int16)
    noise = _noise(np.random.default_rng(4), (50, 40), (5, 4))
    np.testing.assert_array_equal(noise[::10, ::10], values[:-1, :-1])


def test_the_backdrop_has_the_colours_asked_for() -> None:
    plain = Backdrop(((10, 20, 30), (110, 120, 130)), (200, 100, 50), clouds=-200)
    planes = draw_backdrop(plain, 80, 100, np.random.default_rng(0)).astype(int)
    np.testing.assert_array_equal(planes[:, 0, 0], (10, 20, 30))
    np.testing.assert_array_equal(planes[:, 40, 0], (60, 70, 80))
    ground = planes[:, 80:].reshape(3, -1)
    assert (ground <= np.array([[200], [100], [50]])).all()
    assert (ground >= 0.7 * np.array([[200], [100], [50]])).all()
    cloudy = draw_backdrop(replace(plain, clouds=190), 80, 100, np.random.default_rng(0))
    assert (cloudy[:, :70] >= planes[:, :70]).all()
    np.testing.assert_array_equal(cloudy[:, 80:], planes[:, 80:])


def test_the_choice_of_a_backdrop_changes_its_colours_alone() -> None:
    for index in range(10):
        free, *chosen = (Backdrop.draw(Dice(0, index, "backdrop"), k) for k in (None, 0, 1, 2, 3))
        for choice, backdrop in enumerate(chosen):
            assert backdrop.clouds == free.clouds
            np.testing.assert_allclose(backdrop.sky, SKIES[choice], atol=12)
            np.testing.assert_allclose(backdrop.ground, GROUNDS[choice], atol=12)


def test_courses_are_where_the_bond_says() -> None:
    bond = Masonry(courses=10, stones=5, joint=100, tone=0)
    levels = draw_masonry(FRONTAL, bond, 200, np.random.default_rng(0))
    joints = levels < -50
    rows = joints.all(axis=1)
    assert rows.mean() == pytest.approx(0.17, abs=0.03)
    starts = np.flatnonzero(np.diff(rows.astype(int)) == 1)
    assert set(np.diff(starts).tolist()) == {20}
    between = joints[starts[1] + 10], joints[starts[2] + 10]
    assert (between[0] ^ between[1]).any(), "stones of the next course are not shifted"
    assert 0.05 < between[0].mean() < 0.12


def test_plaster_is_smooth_and_grain_is_small() -> None:
    levels = draw_masonry(FRONTAL, Masonry(64, 64, 0, 3), 100, np.random.default_rng(0))
    assert abs(levels).max() <= 16 + 3
    grain = draw_grain(100, np.random.default_rng(0))
    assert (grain.min(), grain.max()) == (-5, 5)
    assert abs(grain.mean()) < 0.2


def test_ramps_run_from_dark_to_light() -> None:
    ramp = Ramp.of((200, 100, 50), 70)
    assert ramp.base == (200, 100, 50, 70)
    levels = [sum(colour[:3]) for colour in ramp]
    assert levels == sorted(levels)
    assert Ramp.of((255, 255, 255)).light == (255, 255, 255, 0)


def test_looks_vary() -> None:
    looks = [Look.draw(Dice(0, index, "colour")) for index in range(60)]
    assert len({look.masonry for look in looks}) == 4
    assert len({look.wall.base for look in looks}) > 50
    gains = [look.gain for look in looks]
    assert 100 <= min(gains) < 112
    assert 128 < max(gains) <= 140
