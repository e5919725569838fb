from __future__ import annotations

import hashlib
from colorsys import rgb_to_hsv
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np
import pytest
from PIL import Image, ImageDraw

from sightline.core import InputError
from sightline.data.facades import PART_TYPES, Facade, FacadePart
from sightline.data.facades.camera import Camera
from sightline.data.facades.changes import Change, Changes
from sightline.data.facades.colours import Look
from sightline.data.facades.dice import Dice
from sightline.data.facades.painters import PAINTERS
from sightline.data.facades.scene import place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

DIGEST = "d975e36b91d0eee801a79c1e806ad800ee76e391fa7bd2e27155e2f223068bd1"


class Case(NamedTuple):
    """A facade and the same with one role otherwise; each is drawn once for all tests."""

    facade: Facade
    role: str
    changed: dict[str, Facade]


@pytest.fixture(scope="module")
def cases(few: tuple[Facade, ...]) -> list[Case]:
    """Every role of four facades, one of each style."""
    return [
        Case(facade, role, {what: facade.changed(role, what) for what in get_args(Change)})
        for facade in few[4:8]
        for role in sorted({part.role for part in facade.parts})
    ]


def quarters(facade: Facade, role: str, lean: float = 0.0) -> NDArray[np.int64]:
    """How many quarters of each pixel lie in the silhouettes of a role, seen or not."""
    camera = Camera.draw(Dice(facade.seed, facade.index, "camera"), facade.plan.extent)
    look = Look.draw(Dice(facade.seed, facade.index, "colour"))
    side = 2 * facade.size
    sheet = Image.new("1", (side, side))
    for part in place(facade.plan, facade.forms):
        if PART_TYPES.get(part.name, ("",))[0] != role:
            continue
        middle = np.array([(part.box.x0 + part.box.x1) / 2, (part.box.y0 + part.box.y1) / 2])
        # Half of the shorter side at either end of the longer one.
        slope = lean * min(part.box.width, part.box.height) / max(part.box.width, part.box.height)
        tall = part.box.height >= part.box.width
        shear = np.array([[1, slope], [0, 1]]) if tall else np.array([[1, 0], [slope, 1]])
        for shape in PAINTERS[part.name](part.box, look, part.variant):
            outline = (np.array(shape.outline) - middle) @ shear.T + middle
            points = np.stack(camera.project(*outline.T), axis=1) * side
            ImageDraw.Draw(sheet).polygon(np.floor(points).ravel().tolist(), fill=1)
    found: NDArray[np.int64] = np.asarray(sheet).reshape(facade.size, 2, -1, 2).sum(axis=(1, 3))
    return found


def differs(one: Facade, other: Facade) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (one.image() != other.image()).any(axis=2)
    return found


def pixels(case: Case, what: str) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The pixels of each instance that is easy to see, before and after."""
    before, after = (f.image().astype(np.int64) for f in (case.facade, case.changed[what]))
    for part in case.facade.parts:
        if part.role == case.role and not part.is_difficult and part.mask.sum() >= 20:
            yield before[part.mask], after[part.mask]


def twins(case: Case) -> Iterator[tuple[FacadePart, FacadePart]]:
    """The instances that are seen whole, before and after their shape changes."""
    after = {part.number: part for part in case.changed["shape"].parts}
    for part in case.facade.parts:
        twin = after.get(part.number)
        if part.role == case.role and twin and min(part.visible, twin.visible) == 1:
            yield part, twin


def test_the_style_and_what_is_there_stay(cases: list[Case]) -> None:
    for facade, _, changed in cases:
        for other in changed.values():
            assert (other.style, other.evidence) == (facade.style, facade.evidence)
            assert (other.labels, other.deciding) == (facade.labels, facade.deciding)


@pytest.mark.parametrize("what", ["colour", "texture"])
def test_silhouettes_stay_and_nothing_beyond_them_changes(what: str, cases: list[Case]) -> None:
    for facade, role, changed in cases:
        other = changed[what]
        for ours, theirs in zip(facade.parts, other.parts, strict=True):
            assert (ours.label, ours.number) == (theirs.label, theirs.number)
            np.testing.assert_array_equal(ours.mask, theirs.mask)
        np.testing.assert_array_equal(facade.background(), other.background())
        assert differs(facade, other).any()
        assert not (differs(facade, other) & (quarters(facade, role) == 0)).any()


def test_another_colour_keeps_the_value_of_every_pixel(cases: list[Case]) -> None:
    for case in cases:
        images = case.facade.image(), case.changed["colour"].image()
        np.testing.assert_array_equal(*(image.max(axis=2) for image in images))
        for before, after in pixels(case, "colour"):
            apart = np.abs(before.mean(axis=0) - after.mean(axis=0)).sum()
            assert apart > 0.25 * before.mean(axis=0).max()


def test_another_colour_leaves_what_a_part_carries(few: tuple[Facade, ...]) -> None:
    towers = [facade for facade in few if "bell tower" in facade.labels]
    assert towers
    for facade in towers:
        other = facade.changed("bell tower", "colour")
        inner = [part.mask for part in facade.parts if part.role == "window" and part.visible == 1]
        whole = np.any(inner, axis=0) & (quarters(facade, "window") == 4)
        assert not (differs(facade, other) & whole).any()


def test_another_texture_keeps_the_mean_and_adds_the_same_to_all_channels(
    cases: list[Case],
) -> None:
    strong = []
    for case in cases:
        for before, after in pixels(case, "texture"):
            np.testing.assert_allclose(after.mean(axis=0), before.mean(axis=0), rtol=0, atol=1)
            steps = after - before
            assert (steps == steps[:, :1]).all()
            assert steps.min() < 0 < steps.max()
            strong.append(steps[:, 0].std() > 8)
    assert np.mean(strong) > 0.7  # near black and white there is little room


def test_another_shape_changes_the_silhouette_and_little_of_the_area(cases: list[Case]) -> None:
    overlaps = []
    for case in cases:
        facade, role, changed = case
        lean = Changes.draw(Dice(facade.seed, facade.index, "changes")).lean
        either = (quarters(facade, role) > 0) | (quarters(facade, role, lean) > 0)
        assert not (differs(facade, changed["shape"]) & ~either).any()
        for part, twin in twins(case):
            assert twin.mask.sum() == pytest.approx(part.mask.sum(), rel=0.2, abs=6)
            overlaps.append((part.mask & twin.mask).sum() / (part.mask | twin.mask).sum())
    assert len(overlaps) > 30
    assert 0.4 < np.median(overlaps) < 0.7
    assert max(overlaps) < 0.9


def test_another_shape_keeps_the_colours(cases: list[Case]) -> None:
    apart = []
    for case in cases:
        images = case.facade.image(), case.changed["shape"].image()
        for pair in twins(case):
            means = [i[p.mask].mean(axis=0) for i, p in zip(images, pair, strict=True)]
            apart.append(np.abs(means[0] - means[1]).max())
    assert np.median(apart) < 5  # of 255: rims, and the stones of other places
    assert np.percentile(apart, 95) < 20


def test_changes_add_up_once_each_and_outlive_others() -> None:
    facade = Facade.generate(0, 2, 96)
    blue = facade.changed("pointed window", "colour")
    assert blue.changes == {("window", "colour")}
    assert not differs(blue, blue.changed("window", "colour")).any()
    both = blue.changed("window", "shape")
    assert not differs(both, facade.changed("window", "shape").changed("window", "colour")).any()
    assert differs(both, blue).any()
    baroque = blue.with_style_of("Baroque", "window")
    assert differs(baroque, facade.with_style_of("Baroque", "window")).any()
    assert not differs(blue.without("window"), facade.without("window")).any()


def test_only_one_detail_changes() -> None:
    facade = Facade.generate(0, 2, 96)
    assert {"door", "steps"} <= set(facade.labels)
    other = facade.changed("door", "colour")
    (door,) = (part.mask for part in facade.parts if part.label == "door")
    rim = np.abs(np.indices(door.shape)[:, None] - np.argwhere(door).T[..., None, None])
    assert not (differs(facade, other) & (rim.max(axis=0).min(axis=0) > 1)).any()
    assert (differs(facade, other) & door).any()


def test_bits_come_from_the_seed() -> None:
    found = hashlib.sha256()
    for index in (0, 3, 6, 9):
        facade = Facade.generate(5, index, 96)
        for what in get_args(Change):
            for role in ("window", "portal"):
                found.update(facade.changed(role, what).image().tobytes())
    assert found.hexdigest() == DIGEST
    drawn = [Changes.draw(Dice(5, index, "changes")) for index in range(40)]
    assert {one.lean for one in drawn} == {-1, 1}
    assert {one.pattern for one in drawn} == {"rising", "falling", "checks"}
    assert len({one.tints[0] for one in drawn}) == 6


def test_the_hue_is_60_degrees_or_more_from_the_main_material() -> None:
    changes = Changes.draw(Dice(0, 0, "changes"))
    painted = np.random.default_rng(0).integers(1, 256, (300, 3)).tolist()
    for colour in (*painted, (0, 0, 0), (90, 90, 90)):
        image = np.full((1, 1, 3), (200, 190, 180), np.uint8)
        changes.recolour(image, np.full((1, 1), 4), (*colour, 0))
        hues = [rgb_to_hsv(*(c / 255 for c in rgb))[0] for rgb in (colour, image[0, 0].tolist())]
        apart = abs(hues[0] - hues[1])
        assert len(set(colour)) == 1 or min(apart, 1 - apart) > 0.15  # a sixth, by another circle


def test_what_cannot_be_changed_is_said() -> None:
    facade = Facade.generate(0, 2, 64)
    with pytest.raises(InputError, match=r"what must be one of colour, shape, texture, got 'size'"):
        facade.changed("window", "size")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"no part 'minaret' on this facade; it has pointed"):
        facade.changed("minaret", "colour")
