from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageDraw

from sightline.core.raster import mask_box
from sightline.data.facades import Facade
from sightline.data.facades.camera import Camera
from sightline.data.facades.colours import Backdrop, Look, Masonry
from sightline.data.facades.dice import Dice
from sightline.data.facades.draw import Drawing, Setting, draw
from sightline.data.facades.painters import PAINTERS
from sightline.data.facades.scene import GROUND, Part, draw_plan, foreground, place
from sightline.data.facades.shapes import Box
from sightline.data.facades.styles import ROLES


def scene(index: int, size: int) -> tuple[tuple[Part, ...], Setting]:
    plan = draw_plan(Dice(8, index, "layout"))
    parts = place(plan, dict.fromkeys(ROLES, "Baroque"))
    setting = Setting(
        size,
        Camera.draw(Dice(8, index, "camera"), plan.extent),
        Look.draw(Dice(8, index, "colour")),
        Backdrop.draw(Dice(8, index, "backdrop"), None),
        8,
        index,
    )
    return (*parts, *foreground(Dice(8, index, "foreground"), plan)), setting


def lineage(parts: tuple[Part, ...], number: int) -> set[int]:
    """A part and all that it belongs to."""
    found = set()
    while number >= 0:
        found.add(number)
        number = parts[number].parent
    return found


def painted_apart(part: Part, setting: Setting) -> np.ndarray:
    """All pixels of one part alone, on its own sheet of twice the size."""
    side = 2 * setting.size
    sheet = Image.new("1", (side, side))
    for shape in PAINTERS[part.name](part.box, setting.look, part.variant):
        x, y = setting.camera.project(*np.array(shape.outline).T)
        pixels = np.floor(np.stack([x, y], axis=1) * side).astype(int)
        ImageDraw.Draw(sheet).polygon([tuple(p) for p in pixels.tolist()], fill=1)
    return np.asarray(sheet)


@pytest.mark.parametrize("index", range(12))
def test_masks_are_what_later_parts_leave_visible(index: int) -> None:
    parts, setting = scene(index, 80)
    drawing = draw(parts, setting)
    sheets = [painted_apart(part, setting) for part in parts]
    labelled = [number for number, part in enumerate(parts) if part.is_labelled]
    for sight, number in zip(drawing.sights, labelled, strict=True):
        visible = sheets[number].copy()
        for later in range(number + 1, len(parts)):
            if number not in lineage(parts, later):
                visible &= ~sheets[later]
        quarters = visible.reshape(80, 2, 80, 2).sum(axis=(1, 3))
        np.testing.assert_array_equal(sight.mask, quarters >= 2)
        assert sight.box == mask_box(quarters >= 2)
        assert sight.share == pytest.approx(visible.sum() / sheets[number].sum())
    anything = np.any(sheets, axis=0).reshape(80, 2, 80, 2).any(axis=(1, 3))
    np.testing.assert_array_equal(drawing.background, ~anything)


@pytest.mark.parametrize("index", range(12))
def test_nothing_but_sky_and_ground_is_painted_on_the_background(index: int) -> None:
    parts, setting = scene(index, 112)
    drawing, empty = draw(parts, setting), draw((), setting)
    assert empty.background.all()
    assert empty.sights == ()
    painted = (drawing.image != empty.image).any(axis=2)
    assert not (painted & drawing.background).any()


def test_a_window_makes_no_hole_in_its_tower_but_a_tree_does(few: tuple[Facade, ...]) -> None:
    holes = 0
    for facade in few:
        towers = [part for part in facade.parts if part.label == "bell tower"]
        inner = [p for p in facade.parts if p.role == "window" or p.label == "clock"]
        for tower in towers:
            for part in inner:
                shared = tower.mask & part.mask
                assert not shared.any() or (tower.mask >= part.mask).all()
            holes += tower.visible < 0.97
    assert holes


def colours(drawing: Drawing) -> np.ndarray:
    return drawing.image.reshape(-1, 3).astype(int)


def test_gain_brightens_and_textures_are_the_same_for_any_parts() -> None:
    parts, setting = scene(1, 80)
    dark = draw(parts, replace(setting, look=replace(setting.look, gain=100)))
    bright = draw(parts, replace(setting, look=replace(setting.look, gain=130)))
    assert (colours(dark) <= colours(bright)).all()
    assert colours(bright).mean() > colours(dark).mean() + 10
    empty = draw((parts[0],), setting)
    full = draw(parts, setting)
    np.testing.assert_array_equal(
        full.image[full.background], empty.image[full.background & empty.background]
    )


def test_walls_have_joints_and_plaster_has_none() -> None:
    _, setting = scene(0, 128)
    wall = (Part("wall", Box(0.0, 0.0, 1.0, GROUND)),)
    frontal = Camera(scale=1.0, x=0.5, y=GROUND, centre=0.5, pan=0.0, tilt=0.0)
    for joint in (0, 60):
        look = replace(setting.look, masonry=Masonry(courses=16, stones=8, joint=joint, tone=0))
        drawing = draw(wall, replace(setting, camera=frontal, look=look))
        # The middle of the wall: a course is 8 rows high, and its joint is the first.
        rows = drawing.image[16:96, 16:112].astype(int).mean(axis=(1, 2)).reshape(10, 8)
        depth = np.median(rows[:, 3:] - rows[:, :1])
        assert (depth > 30) if joint else (abs(depth) < 5)


@pytest.mark.parametrize("size", [64, 518])
def test_the_layout_does_not_depend_on_the_size(size: int) -> None:
    for index in range(3):
        one, other = Facade.generate(5, index, size), Facade.generate(5, index, 224)
        assert one.image().shape == (size, size, 3)
        assert one.image().dtype == np.uint8
        boxes = [part.box for part in other.parts]
        assert [part.label for part in one.parts] == [part.label for part in other.parts]
        np.testing.assert_allclose([part.box for part in one.parts], boxes, atol=2.5 / 64)
