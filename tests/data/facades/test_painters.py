from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image, ImageChops, ImageDraw
from scipy.ndimage import label

from sightline.data.facades.colours import Look
from sightline.data.facades.dice import Dice
from sightline.data.facades.painters import PAINTERS, Shape
from sightline.data.facades.scene import _SIZES
from sightline.data.facades.shapes import Box
from sightline.data.facades.styles import PART_TYPES, ROLES

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIDE = 128
BOX = Box(0.3, 0.35, 0.6, 0.75)
LOOKS = [Look.draw(Dice(0, index, "colour")) for index in range(6)]
SCENERY = {"wall", "roof", "left lean-to roof", "right lean-to roof", *_SIZES}


def drawn(shapes: list[Shape]) -> Image.Image:
    image = Image.new("RGB", (SIDE, SIDE), (255, 0, 255))
    for shape in shapes:
        points = [(int(SIDE * x), int(SIDE * y)) for x, y in shape.outline]
        ImageDraw.Draw(image).polygon(points, fill=shape.colour[:3])
    return image


def painted(image: Image.Image) -> NDArray[np.bool_]:
    mask: NDArray[np.bool_] = (np.asarray(image) != (255, 0, 255)).any(axis=2)
    return mask


def test_everything_placed_can_be_painted() -> None:
    assert set(PAINTERS) == set(PART_TYPES) | SCENERY
    assert {look.light for look in LOOKS} == {-1, 1}


@pytest.mark.parametrize("name", PAINTERS)
def test_a_part_is_in_one_piece(name: str) -> None:
    for look in LOOKS[:4]:
        for variant in (0.0, 0.55, 0.99):
            shapes = list(PAINTERS[name](BOX, look, variant))
            assert all(0 <= level <= 255 for shape in shapes for level in shape.colour)
            _, pieces = label(painted(drawn(shapes)), np.ones((3, 3)))
            assert pieces == 1, variant


@pytest.mark.parametrize("role", ["gable", "tower top"])
def test_crowns_reach_from_the_foot_to_the_top_of_the_middle(role: str) -> None:
    for form in ROLES[role].values():
        mask = painted(drawn(list(PAINTERS[form.label](BOX, LOOKS[0], 0.5))))
        rows = np.flatnonzero(mask[:, int(SIDE * BOX.middle)])
        assert rows[0] == pytest.approx(SIDE * BOX.y0, abs=2.5), form.label
        assert rows[-1] == pytest.approx(SIDE * BOX.y1, abs=1.5), form.label
        assert len(rows) == rows[-1] - rows[0] + 1, f"{form.label} is not in one piece"


@pytest.mark.parametrize("role", ROLES)
def test_the_forms_of_a_role_look_different(role: str) -> None:
    for look in LOOKS[:2]:
        images = {
            f.label: drawn(list(PAINTERS[f.label](BOX, look, 0.3))) for f in ROLES[role].values()
        }
        for one, other in combinations(images, 2):
            difference = np.asarray(ImageChops.difference(images[one], images[other])).max(axis=2)
            area = (painted(images[one]) | painted(images[other])).sum()
            assert (difference > 24).sum() > 0.15 * area, (one, other)


def test_the_side_away_from_the_light_is_darker() -> None:
    for look in LOOKS:
        for name in ("bell tower", "pyramid roof", "spire"):
            image = drawn(list(PAINTERS[name](BOX, look, 0.5)))
            middle = int(SIDE * 0.55)
            row = np.asarray(image.convert("L"))[middle, painted(image)[middle]].astype(float)
            left, right = row[: row.size // 3].mean(), row[-(row.size // 3) :].mean()
            assert (left > right) == (look.light < 0), name
