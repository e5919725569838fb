from __future__ import annotations

import numpy as np

from sightline.data.facades.camera import Camera
from sightline.data.facades.dice import Dice
from sightline.data.facades.scene import draw_plan


def test_the_way_back_is_the_inverse() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 50))
    for index in range(20):
        plan = draw_plan(Dice(0, index, "layout"))
        camera = Camera.draw(Dice(0, index, "camera"), plan.extent)
        np.testing.assert_allclose(camera.unproject(*camera.project(x, y)), (x, y), atol=1e-12)


def test_straight_lines_stay_straight_and_what_is_built_is_in_the_picture() -> None:
    for index in range(100):
        plan = draw_plan(Dice(0, index, "layout"))
        camera = Camera.draw(Dice(0, index, "camera"), plan.extent)
        x0, y0, x1, y1 = plan.extent
        corners = camera.project(np.array([x0, x1, x0, x1]), np.array([y0, y0, y1, y1]))
        assert all(-0.04 < value < 1.04 for axis in corners for value in axis.tolist())
        ends = np.array([x0, (x0 + x1) / 2, x1]), np.array([y0, (y0 + y1) / 2, y1])
        a, b, c = np.stack(camera.project(*ends), axis=1)
        assert abs(np.linalg.det(np.stack([b - a, c - a]))) < 1e-12
