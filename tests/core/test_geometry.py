"""Geometry against Pillow, against points traced step by step, and against its own laws."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from PIL import Image
from pycocotools import mask as coco

from sightline.core import Annotation, InputError, Region
from sightline.core import raster as _raster
from sightline.core.geometry import FITS, Geometry, fit_geometry
from sightline.metrics import compute_iou, score_maps

Array = np.ndarray[Any, np.dtype[Any]]
NAN = float("nan")

# --- a slow reference: steps as lists, points traced through them one step at a time -------------

Step = tuple[Any, ...]


def build(width: int, height: int, steps: list[Step]) -> Geometry:
    geometry = Geometry.of(width, height)
    for name, *arguments in steps:
        geometry = getattr(geometry, name)(*arguments)
    return geometry


def sizes_of(width: int, height: int, steps: list[Step]) -> list[tuple[int, int]]:
    """The size before each step, and after the last."""
    sizes = [(width, height)]
    for name, *args in steps:
        w, h = sizes[-1]
        if name == "resize":
            w, h = args
        elif name == "crop":
            w, h = args[2:]
        elif name == "pad":
            w, h = w + args[0] + args[2], h + args[1] + args[3]
        sizes.append((w, h))
    return sizes


def within(x: Array, y: Array, size: tuple[int, int]) -> Array:
    inside: Array = (x >= 0) & (x < size[0]) & (y >= 0) & (y < size[1])
    return inside


def trace(x: Array, y: Array, width: int, height: int, steps: list[Step]) -> tuple[Array, ...]:
    """Where points of the image end up, and which survive every step."""
    sizes = sizes_of(width, height, steps)
    seen = within(x, y, sizes[0])
    for (name, *args), before, after in zip(steps, sizes, sizes[1:], strict=False):
        if name == "resize":
            x, y = x / before[0] * after[0], y / before[1] * after[1]
        elif name == "crop":
            x, y = x - args[0], y - args[1]
        elif name == "pad":
            x, y = x + args[0], y + args[1]
        elif name == "flip":
            x, y = (before[0] - x if args[0] else x), (before[1] - y if args[1] else y)
        seen = seen & within(x, y, after)
    return x, y, seen


def trace_back(x: Array, y: Array, width: int, height: int, steps: list[Step]) -> tuple[Array, ...]:
    """Where points of the input come from, and which are image rather than padding."""
    sizes = sizes_of(width, height, steps)
    image = within(x, y, sizes[-1])
    for (name, *args), before, after in reversed(list(zip(steps, sizes, sizes[1:], strict=False))):
        if name == "resize":
            x, y = x / after[0] * before[0], y / after[1] * before[1]
        elif name == "crop":
            x, y = x + args[0], y + args[1]
        elif name == "pad":
            x, y = x - args[0], y - args[1]
        elif name == "flip":
            x, y = (before[0] - x if args[0] else x), (before[1] - y if args[1] else y)
        image = image & within(x, y, before)
    return x, y, image


def points_of(width: int, height: int, each: int) -> tuple[Array, Array]:
    """A regular lattice of `each` x `each` points per pixel."""
    x, y = (np.arange(side * each) + 0.5 for side in (width, height))
    grid = np.meshgrid(x / each, y / each)
    return grid[0], grid[1]


SIDES = st.integers(1, 24)


@st.composite
def chains(draw: st.DrawFn, most: int = 4) -> tuple[int, int, list[Step]]:
    width, height = draw(SIDES), draw(SIDES)
    steps: list[Step] = []
    for _ in range(draw(st.integers(0, most))):
        w, h = sizes_of(width, height, steps)[-1]
        name = draw(st.sampled_from(["resize", "crop", "pad", "flip", "window"]))
        if name == "resize":
            steps.append((name, draw(SIDES), draw(SIDES)))
        elif name == "crop":
            left, top = draw(st.integers(-3, w - 1)), draw(st.integers(-3, h - 1))
            steps.append((name, left, top, draw(SIDES), draw(SIDES)))
        elif name == "pad":
            steps.append((name, *(draw(st.integers(0, 4)) for _ in range(4))))
        elif name == "window":  # what padding must not bring back
            steps.append(("crop", w // 3, h // 3, -(-w // 3), -(-h // 3)))
            steps.append(("pad", *(draw(st.integers(0, 9)) for _ in range(4))))
        else:
            steps.append((name, draw(st.booleans()), draw(st.booleans())))
    return width, height, steps


def close(a: Geometry, b: Geometry) -> bool:
    if (a.source, a.size, a.patch) != (b.source, b.size, b.patch):
        return False
    return all(
        np.allclose(getattr(a, name), getattr(b, name), rtol=1e-9, atol=1e-7)
        for name in ("scale", "offset", "content")
    )


# --- laws ----------------------------------------------------------------------------------------


@given(chains(3), st.integers(0, 3), st.integers(0, 3))
def test_composition_is_associative_and_steps_are_compositions(
    chain: tuple[int, int, list[Step]], first: int, second: int
) -> None:
    width, height, steps = chain
    one, two = sorted((min(first, len(steps)), min(second, len(steps))))
    sizes = sizes_of(width, height, steps)
    a = build(width, height, steps[:one])
    b = build(*sizes[one], steps[one:two])
    c = build(*sizes[two], steps[two:])
    whole = build(width, height, steps)
    assert close(a.then(b).then(c), whole)
    assert close(a.then(b.then(c)), whole)
    assert Geometry.of(width, height).then(whole) == whole
    assert whole.then(Geometry.of(*whole.size)) == whole


def test_patches_follow_the_last_geometry_that_has_some() -> None:
    plain = Geometry.of(28, 28)
    assert plain.patches(7).then(plain).patch == (7, 7)
    assert plain.patches(7).then(plain.patches(14)).patch == (14, 14)
    assert plain.patches(7, 14).grid == (4, 2)
    assert plain.patches(7).inverse().patch == (1, 1)


@given(chains())
def test_there_and_back_is_the_identity_on_what_is_seen(
    chain: tuple[int, int, list[Step]],
) -> None:
    width, height, steps = chain
    geometry = build(width, height, steps)
    back = geometry.then(geometry.inverse())
    np.testing.assert_allclose(back.scale, 1, rtol=1e-9)
    np.testing.assert_allclose(back.offset, 0, atol=1e-7)
    assert back.visible_box == pytest.approx(geometry.visible_box, abs=1e-9)
    assert close(geometry.inverse().inverse(), geometry)
    x, y = points_of(width, height, 2)
    np.testing.assert_allclose(geometry.to_source(*geometry.to_input(x, y)), (x, y), atol=1e-7)


@given(chains())
def test_points_and_what_is_seen_are_those_of_the_steps(
    chain: tuple[int, int, list[Step]],
) -> None:
    width, height, steps = chain
    geometry = build(width, height, steps)
    x, y = points_of(width, height, 3)
    to_x, to_y, seen = trace(x, y, width, height, steps)
    np.testing.assert_allclose(geometry.to_input(x, y), (to_x, to_y), atol=1e-7)
    x0, y0, x1, y1 = np.array(geometry.visible_box) * [width, height, width, height]
    clear = np.minimum.reduce([abs(x - x0), abs(x - x1), abs(y - y0), abs(y - y1)]) > 1e-6
    inside = (x > x0) & (x < x1) & (y > y0) & (y < y1)
    np.testing.assert_array_equal(inside[clear], seen[clear])


@given(chains())
def test_json_brings_back_the_same_geometry(chain: tuple[int, int, list[Step]]) -> None:
    geometry = build(*chain)
    again = Geometry.from_dict(json.loads(json.dumps(geometry.to_dict())))
    assert again == geometry
    assert hash(again) == hash(geometry)
    assert again.size == (1, 1) or geometry.patches(*geometry.size) != geometry


def test_padding_does_not_bring_back_what_was_cropped() -> None:
    lost = Geometry.of(100, 100).crop(20, 0, 60, 100).pad(20, 0, 20, 0)
    assert lost.scale == (1.0, 1.0)
    assert lost.offset == (0.0, 0.0)
    assert lost.content_box == lost.visible_box == (0.2, 0.0, 0.8, 1.0)
    assert lost != Geometry.of(100, 100)
    assert lost.content_mask(1, 10).tolist() == [[False] * 2 + [True] * 6 + [False] * 2]
    for region in (
        Region(),
        Region(kind="mask", mask=np.ones((3, 7), bool)),
        Region(kind="polygon", mask=((0, 0, 1, 0, 1, 1, 0, 1),)),
        Region(kind="point", box=(-1, -1, 2, 2), radius=150),
    ):
        carried = lost.carry_region(region)
        assert carried is not None
        assert carried.box == pytest.approx((0.2, 0, 0.8, 1))
        assert carried.flags == ("clipped",)
        assert lost.visible(region) == pytest.approx(0.6)
    kept = Geometry.of(100, 100).pad(20, 0, 20, 0).crop(20, 0, 100, 100)
    assert kept == Geometry.of(100, 100)


def test_repr_can_be_read() -> None:
    geometry = Geometry.of(640, 480).resize(299, 224).crop(37, 0, 224, 224).patches(14, 28)
    assert repr(geometry) == (
        "Geometry(640x480 -> 224x224, scale 0.467x0.467, offset -37.0,0.0, patch 14x28)"
    )
    lost = Geometry.of(9, 9).crop(3, 0, 6, 9).pad(3, 0, 0, 0)
    assert repr(lost).endswith("patch 1x1, content 3.0,0.0,9.0,9.0)")


# --- stock preprocessing, done with Pillow -------------------------------------------------------

Style = Literal["slow", "fast", "torchvision"]
OFFSETS: dict[Style, Any] = {"slow": "floor", "fast": "trunc", "torchvision": "round"}


def centred(n: int, c: int, style: Style) -> tuple[int, int]:
    """Padding in front and start of the crop, as written in the three libraries."""
    if style == "slow":  # pads by the ceiling, then cuts
        front = math.ceil((max(c, n) - n) / 2)
        return front, (n - c) // 2 + front
    front = (c - n) // 2 if c > n else 0
    rest = max(n, c) - c
    return front, round(rest / 2.0) if style == "torchvision" else int(rest / 2.0)


def centre(image: Array, size: tuple[int, int], style: Style) -> Array:
    (height, width), (w, h) = image.shape, size
    (left, x), (top, y) = centred(width, w, style), centred(height, h, style)
    canvas = np.zeros((max(height, h), max(width, w)), np.float32)
    canvas[top : top + height, left : left + width] = image
    return canvas[y : y + h, x : x + w]


def resized(image: Array, width: int, height: int) -> Array:
    return np.asarray(Image.fromarray(image).resize((width, height), Image.Resampling.BILINEAR))


def process(
    image: Array, fit: str, size: int, short: int | None, style: Style, patch: int
) -> Array:
    """What a processor makes of an image (floats from 0 to 1)."""
    height, width = image.shape
    if fit == "squash":
        return resized(image, size, size)
    if fit == "native":
        sides = [max(1, math.floor(side / patch + 0.5)) * patch for side in (width, height)]
        return resized(image, *sides)
    if fit == "crop":
        edge = short or size
        long = int(edge * max(width, height) / min(width, height))
        sides = [edge, long] if width <= height else [long, edge]
    else:
        sides = [max(1, int(side * size / max(width, height))) for side in (width, height)]
    return centre(resized(image, *sides), (size, size), style)


IMAGES = {  # width, height, box in pixels
    "landscape": (640, 427, (150, 60, 310, 230)),
    "portrait": (333, 500, (40, 120, 200, 240)),
    "square": (224, 224, (50, 40, 130, 190)),
    "odd": (501, 375, (180, 101, 333, 290)),
    "tiny": (9, 7, (3, 2, 6, 5)),
    "strip": (40, 22, (12, 4, 27, 19)),
}
CASES = [
    *itertools.product(["squash", "letterbox", "native"], [None], ["fast"]),
    *itertools.product(["crop"], [None, 256, 180], ["slow", "fast", "torchvision"]),
    *itertools.product(["letterbox"], [None], ["slow", "torchvision"]),
]


def shown(name: str) -> tuple[int, int, Array, Annotation]:
    """An image that shows a box, and the annotation of that box."""
    width, height, (x0, y0, x1, y1) = IMAGES[name]
    image = np.zeros((height, width), np.float32)
    image[y0:y1, x0:x1] = 1
    box = (x0 / width, y0 / height, x1 / width, y1 / height)
    region = Region("door", box=box, index=3)
    return width, height, image, Annotation("a.jpg", width, height, (region,), ("Gothic",))


def fitted(
    name: str, fit: str, short: int | None, style: Style, patch: int
) -> tuple[Array, Annotation, Geometry]:
    """An image as Pillow brings it to an input of 224 pixels, its annotation and the geometry."""
    width, height, image, annotation = shown(name)
    seen = process(image, fit, 224, short, style, patch)
    goal = None if fit == "native" else 224
    geometry = fit_geometry(
        fit, width, height, size=goal, patch=patch, resize_to=short, offset=OFFSETS[style]
    )
    return seen, annotation, geometry


def ends(mask: Array) -> Array:
    """The box around what is set, in cells."""
    found = _raster.mask_box(mask)
    assert found is not None
    rows, columns = mask.shape
    cells: Array = np.array(found) * np.array([columns, rows, columns, rows])
    return cells


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize(("fit", "short", "style"), CASES)
def test_a_box_goes_where_pillow_takes_it_and_comes_back(
    name: str, fit: str, short: int | None, style: Style
) -> None:
    patch = 14
    seen, annotation, geometry = fitted(name, fit, short, style, patch)
    columns, rows = geometry.grid
    assert seen.shape == (rows * patch, columns * patch) == geometry.size[::-1]
    carried = geometry.carry(annotation)
    assert (carried.width, carried.height) == geometry.size
    # Forward, in pixels of the input: the edges of what Pillow shows are at most a pixel away.
    pixels = np.array(carried.regions[0].box) * [*geometry.size, *geometry.size]
    assert abs(ends(seen >= 0.5) - pixels).max() <= 1
    # On the grid: at most half a cell away.
    mask = carried.union_mask(rows, columns)
    if min(pixels[2:] - pixels[:2]) >= patch:
        assert abs(ends(mask) - pixels / patch).max() <= 0.5 + 1e-9
    # Its edges, taken back as numbers: at most half a cell from the known box.
    grid = np.array([columns, rows, columns, rows])
    returned = geometry.inverse().carry_boxes((ends(mask) / grid)[None])[0]
    known = np.array(annotation.regions[0].box)
    cells = patch / (np.array(geometry.scale) * geometry.source)  # as shares of the image
    assert (abs(returned - known) <= np.tile(cells, 2) / 2 + 1e-9).all()
    # And as a map, which has whole pixels of the image: half of one more.
    back = geometry.to_image(mask.astype(np.float32), fill=0) > 0.5
    away = abs(ends(back) - IMAGES[name][2])
    cell = patch / np.array([*geometry.scale, *geometry.scale])
    assert (away <= np.maximum(cell, 1) / 2 + 0.5 + 1e-6).all()


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize(("fit", "short", "style"), CASES)
def test_a_perfect_model_scores_one(name: str, fit: str, short: int | None, style: Style) -> None:
    patch = 4
    seen, annotation, geometry = fitted(name, fit, short, style, patch)
    columns, rows = geometry.grid
    attention = seen.reshape(rows, patch, columns, patch).mean((1, 3))
    carried = geometry.carry(annotation)
    mask = carried.union_mask(rows, columns)
    iou = float(compute_iou(attention, mask, selection="matched").iou)
    assert iou > (0.94 if name == "tiny" else 0.99)  # the blur of a large pixel ranks corners last
    scores = score_maps(attention, regions=[carried], selection="matched")
    assert float(scores["iou@matched"]) == pytest.approx(iou)
    exact = score_maps(mask.astype(float), regions=[carried], selection="matched")
    assert float(exact["iou@matched"]) == 1
    cropped = fit == "crop" and short != 180  # with 180, much of the long side is still shown
    if (cropped or fit == "letterbox") and name in ("landscape", "portrait"):
        stretched = annotation.union_mask(rows, columns)  # as if the whole image were squashed
        assert compute_iou(attention, stretched, selection="matched").iou < 0.6


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize(("width", "height"), [(1, 1), (3, 1000), (1000, 3), (1, 2)])
def test_odd_images_fit(fit: str, width: int, height: int) -> None:
    size = None if fit == "native" else 28
    geometry = fit_geometry(fit, width, height, size=size, patch=14)
    whole = Annotation("a.jpg", width, height, (Region(), Region(box=(0.5, 0.5, 0.5, 0.5))))
    carried = geometry.carry(whole)
    assert carried.regions[0].box == geometry.content_box
    content = geometry.content_mask()
    np.testing.assert_array_equal(carried.regions[0].to_mask(*content.shape), content)
    assert content.any()
    assert not (carried.union_mask(*content.shape) & ~content).any()
    back = geometry.to_image(content, fill=0)
    assert back.shape == (height, width)
    np.testing.assert_array_equal(back == 1, geometry.seen_mask())


# --- fits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "size", "scale", "offset"),
    [
        # 640 x 480 to 298 (of 298.67) x 224, then (298 - 224) // 2 = 37 from the left
        ({"fit": "crop", "size": 224}, (224, 224), (298 / 640, 224 / 480), (-37, 0)),
        (
            {"fit": "crop", "size": 224, "rounding": "round"},
            (224, 224),
            (299 / 640, 224 / 480),
            (-37, 0),
        ),
        (
            {"fit": "crop", "size": 224, "rounding": "round", "offset": "round"},
            (224, 224),
            (299 / 640, 224 / 480),
            (-38, 0),
        ),
        ({"fit": "crop", "size": (28, 14), "resize_to": 30}, (28, 14), (1 / 16, 1 / 16), (-6, -8)),
        # short side 7 on a crop of 14: 7 pixels of padding, 3 or 4 of them in front
        ({"fit": "crop", "size": 14, "resize_to": 7}, (14, 14), (9 / 640, 7 / 480), (2, 3)),
        (
            {"fit": "crop", "size": 14, "resize_to": 7, "offset": "floor"},
            (14, 14),
            (9 / 640, 7 / 480),
            (3, 4),
        ),
        (
            {"fit": "crop", "size": 14, "resize_to": 7, "offset": "round"},
            (14, 14),
            (9 / 640, 7 / 480),
            (2, 3),
        ),
        ({"fit": "letterbox", "size": 64}, (64, 64), (0.1, 0.1), (0, 8)),
        ({"fit": "letterbox", "size": (80, 24)}, (80, 24), (0.05, 0.05), (24, 0)),
        ({"fit": "squash", "size": (28, 56)}, (28, 56), (28 / 640, 56 / 480), (0, 0)),
        ({"fit": "native", "patch": 14}, (644, 476), (644 / 640, 476 / 480), (0, 0)),
        ({"fit": "native", "patch": 16, "size": 64}, (64, 48), (0.1, 0.1), (0, 0)),
        ({"fit": "native", "patch": (32, 64), "size": 6400}, (640, 512), (1, 512 / 480), (0, 0)),
    ],
)
def test_fits_by_hand(
    arguments: dict[str, Any],
    size: tuple[int, int],
    scale: tuple[float, float],
    offset: tuple[float, float],
) -> None:
    geometry = fit_geometry(arguments.pop("fit"), 640, 480, **arguments)
    assert geometry.size == size
    assert geometry.scale == pytest.approx(scale)
    assert geometry.offset == pytest.approx(offset)


# --- regions forward -----------------------------------------------------------------------------


def test_carrying_keeps_what_is_known_and_sets_apart_what_is_out_of_sight() -> None:
    geometry = Geometry.of(100, 50).crop(50, 0, 50, 50)
    gone = Region("far", box=(2, 2, 3, 3), index=2)
    regions = (
        Region("left", box=(0, 0, 0.5, 1), index=0),  # leans on the edge from outside
        Region("cut", box=(0.25, 0.5, 0.75, 1), flags=("difficult",), index=1, score=0.5),
        Region("whole", box=(0.5, 0, 1, 1), flags=("crowd", "ignore"), index=3, source="x"),
        Region("line", box=(0.5, 0, 0.5, 1), index=4),
    )
    annotation = Annotation("a.jpg", 100, 50, regions, ("Gothic",), (gone,))
    carried = geometry.carry(annotation)
    assert (carried.image_id, carried.labels) == ("a.jpg", ("Gothic",))
    assert (carried.width, carried.height) == (50, 50)
    assert [region.label for region in carried.regions] == ["cut", "whole", "line"]
    assert [region.index for region in carried.regions] == [1, 3, 4]
    assert [region.box for region in carried.regions] == [
        (0, 0.5, 0.5, 1),
        (0, 0, 1, 1),
        (0, 0, 0, 1),
    ]
    assert [region.flags for region in carried.regions] == [
        ("difficult", "clipped"),
        ("crowd", "ignore"),
        (),
    ]
    assert carried.regions[0].score == 0.5
    assert carried.regions[1].source == "x"
    assert carried.dropped == (regions[0], gone)
    assert geometry.carry(replace(annotation, width=None, height=None)).width == 50


def test_flips_mirror() -> None:
    box, geometry = Region(box=(0.1, 0.2, 0.3, 0.7)), Geometry.of(10, 10)
    for horizontal, vertical, expected in [
        (True, False, (0.7, 0.2, 0.9, 0.7)),
        (False, True, (0.1, 0.3, 0.3, 0.8)),
        (True, True, (0.7, 0.3, 0.9, 0.8)),
    ]:
        flipped = geometry.flip(horizontal, vertical)
        carried = flipped.carry_region(box)
        assert carried is not None
        assert carried.box == pytest.approx(expected)
        image = box.to_mask(10, 10)
        mirrored = image[:: -1 if vertical else 1, :: -1 if horizontal else 1]
        np.testing.assert_array_equal(carried.to_mask(10, 10), mirrored)
        np.testing.assert_array_equal(flipped.to_image(mirrored), image)
        assert flipped.flip(horizontal, vertical) == geometry


@given(chains(), st.lists(st.lists(st.floats(-0.5, 1.5), min_size=4, max_size=4), max_size=4))
def test_boxes_are_carried_together_as_one_by_one(
    chain: tuple[int, int, list[Step]], corners: list[list[float]]
) -> None:
    geometry = build(*chain)
    boxes = np.sort(np.array(corners).reshape(-1, 2, 2), axis=1).reshape(-1, 4)
    carried = geometry.carry_boxes(boxes)
    for box, to in zip(boxes, carried, strict=True):
        x, y = geometry.to_input(box[::2] * chain[0], box[1::2] * chain[1])
        assert np.sort(x) / geometry.size[0] == pytest.approx(to[::2], abs=1e-8)
        assert np.sort(y) / geometry.size[1] == pytest.approx(to[1::2], abs=1e-8)
        region = geometry.carry_region(Region(box=tuple(box.tolist())))
        if region is not None:
            low, high = geometry.content_box[:2] * 2, geometry.content_box[2:] * 2
            assert region.box == pytest.approx(np.clip(to, low, high), abs=1e-9)


def spans(cells: int, axis: int, chain: tuple[int, int, list[Step]]) -> Array:
    """How long each of `cells` equal parts of an axis of the image is on each pixel of the input,
    (pixels, cells): one interval at a time, cut at every step."""
    width, height, steps = chain
    sizes = sizes_of(width, height, steps)
    found = np.zeros((sizes[-1][axis], cells))
    for cell in range(cells):
        low, high = (end * sizes[0][axis] / cells for end in (cell, cell + 1))
        for (name, *args), before, after in zip(steps, sizes, sizes[1:], strict=False):
            if name == "resize":
                low, high = (end * after[axis] / before[axis] for end in (low, high))
            elif name in ("crop", "pad"):
                shift = args[axis] * (-1 if name == "crop" else 1)
                low, high = low + shift, high + shift
            elif args[axis]:
                low, high = before[axis] - high, before[axis] - low
            low, high = max(low, 0), min(high, after[axis])
        for pixel in range(len(found)):
            found[pixel, cell] = max(0, min(high, pixel + 1) - max(low, pixel))
    return found


@settings(max_examples=60)
@given(chains(), st.integers(0, 2**16), SIDES, SIDES)
def test_masks_are_carried_by_covered_area(
    chain: tuple[int, int, list[Step]], seed: int, rows: int, columns: int
) -> None:
    mask = np.random.default_rng(seed).random((rows, columns)) < 0.5
    covered = spans(rows, 1, chain) @ mask @ spans(columns, 0, chain).T
    carried = build(*chain).carry_region(Region(kind="mask", mask=mask))
    most = covered.max()
    assert (carried is None) == (most < 1e-7)
    if carried is not None:
        assert isinstance(carried.mask, np.ndarray)
        np.testing.assert_array_equal(carried.mask, covered > min(0.5, most) - 1e-7)


@pytest.mark.parametrize("encode", [np.asarray, lambda mask: coco.encode(np.asfortranarray(mask))])
def test_masks_are_squashed_as_masks_are_resized(encode: Any) -> None:
    mask = np.random.default_rng(0).random((37, 53)) < 0.4
    region = Region(kind="mask", mask=encode(mask.astype(np.uint8)))
    carried = fit_geometry("squash", 53, 37, size=(20, 30)).carry_region(region)
    assert carried is not None
    np.testing.assert_array_equal(carried.mask, _raster.resize_mask(mask, 30, 20))
    assert carried.box == _raster.mask_box(_raster.resize_mask(mask, 30, 20))
    dot = np.zeros((500, 500), bool)
    dot[3, 499] = True
    carried = fit_geometry("squash", 500, 500, size=14).carry_region(Region(kind="mask", mask=dot))
    assert carried is not None
    assert np.argwhere(carried.to_mask(14, 14)).tolist() == [[0, 13]]


STAR = (0.1, 0.95, 0.45, 0.02, 0.9, 0.9, 0.5, 0.6)
SHAPES = [
    Region("star", "polygon", _raster.polygon_box([STAR]), (STAR,)),
    Region("two", "polygon", (0, 0, 1, 1), ((0, 0, 1, 0, 0, 1), (1, 1, 0.3, 1, 1, 0.2))),
    Region("out", "polygon", (-2, -1, 3, 1), ((-2.0, 0.2, 3.0, -1.0, 0.5, 1.0),)),
    Region("disc", "point", (0.3, 0.2, 0.6, 0.8), radius=30),
    Region("edge", "point", (-0.15, 0.5, 0.15, 1.1), radius=30),
]
WAYS: list[list[Step]] = [
    [("resize", 150, 150)],
    [("resize", 300, 150), ("crop", 75, 0, 150, 150)],
    [("resize", 240, 120), ("pad", 0, 60, 0, 60)],
    [("crop", 60, 20, 100, 60), ("pad", 10, 5, 15, 20), ("flip", True, False)],
    [("flip", True, True), ("crop", 110, 40, 20, 30), ("resize", 140, 210)],
]


@pytest.mark.parametrize("region", SHAPES, ids=lambda region: region.label)
@pytest.mark.parametrize("steps", WAYS, ids=range(len(WAYS)))
def test_shapes_are_carried_as_pixels_are_warped(region: Region, steps: list[Step]) -> None:
    geometry = build(200, 100, steps)
    fine = region.to_mask(1000, 2000)
    x, y, image = trace_back(*points_of(*geometry.size, 1), 200, 100, steps)
    row, column = np.clip(y * 10, 0, 999).astype(int), np.clip(x * 10, 0, 1999).astype(int)
    warped = image & fine[row, column]
    carried = geometry.carry_region(region)
    if not warped.any():
        assert carried is None
        return
    assert carried is not None
    drawn = carried.to_mask(*warped.shape)
    edge = drawn ^ warped
    outline = 2 * np.count_nonzero(warped[1:] != warped[:-1]) + 2 * np.count_nonzero(
        warped[:, 1:] != warped[:, :-1]
    )
    assert edge.sum() <= 0.25 * outline + 4  # both are right to about half a pixel
    assert not (drawn & ~geometry.content_mask(*drawn.shape)).any()
    cut = "clipped" in carried.flags
    assert cut == (geometry.visible(region) < 1 or min(region.box) < 0 or max(region.box) > 1)


def test_a_disc_becomes_an_ellipse_of_the_same_area() -> None:
    geometry = Geometry.of(200, 100).resize(50, 100)
    carried = geometry.carry_region(SHAPES[3])
    assert carried is not None
    assert carried.kind == "point"
    assert carried.box == SHAPES[3].box
    assert carried.radius == pytest.approx(30 * 0.5)
    assert carried.to_mask(100, 50).sum() == pytest.approx(math.pi * carried.radius**2, rel=0.02)
    padded = geometry.pad(10, 10, 10, 10)
    cut = padded.carry_region(SHAPES[4])
    assert cut is not None
    assert (cut.kind, cut.radius) == ("polygon", 0)
    whole = padded.carry_region(SHAPES[3])
    assert whole is not None
    assert whole.kind == "point"


def test_polygons_that_do_not_reach_in_are_out_of_sight() -> None:
    geometry = Geometry.of(10, 10).crop(5, 5, 5, 5)
    around = (0.2, 0.2, 1.0, 0.2, 1.0, 0.3, 0.3, 0.3, 0.3, 1.0, 0.2, 1.0)  # an L around the crop
    leaning = (0.0, 0.0, 0.5, 0.0, 0.5, 1.0, 0.0, 1.0)
    for polygon in (around, leaning):
        region = Region(kind="polygon", box=_raster.polygon_box([polygon]), mask=(polygon,))
        assert geometry.carry_region(region) is None
        both = replace(region, mask=(polygon, (0.6, 0.6, 0.9, 0.6, 0.9, 0.9)))
        carried = geometry.carry_region(both)
        assert carried is not None
        assert carried.box == pytest.approx((0.2, 0.2, 0.8, 0.8))
    line = Region(kind="polygon", box=(0.6, 0.6, 0.9, 0.9), mask=((0.6, 0.6, 0.9, 0.9, 0.6, 0.6),))
    assert geometry.carry_region(line) is not None


@given(st.integers(1, 2000), st.integers(1, 2000), st.sampled_from(FITS))
def test_nothing_that_is_shown_whole_is_called_clipped(width: int, height: int, fit: str) -> None:
    size = None if fit == "native" else 224
    geometry = fit_geometry(fit, width, height, size=size, patch=14)
    x0, y0, x1, y1 = geometry.visible_box
    regions = [
        Region(box=(x0, y0, x1, y1)),
        Region(kind="polygon", box=(x0, y0, x1, y1), mask=((x0, y0, x1, y0, x1, y1, x0, y1),)),
        Region(kind="point", box=(x0, y0, x1, y1), radius=1),
    ]
    for region in regions:
        carried = geometry.carry_region(region)
        assert carried is not None
        assert carried.flags == ()
        assert carried.kind == region.kind
        assert carried.box == pytest.approx(geometry.content_box, abs=1e-12)
        assert geometry.visible(region) == 1


# --- what is seen --------------------------------------------------------------------------------


@given(chains(), st.lists(st.floats(-0.2, 1.2), min_size=4, max_size=4))
def test_visible_shares_of_boxes(chain: tuple[int, int, list[Step]], corners: list[float]) -> None:
    width, height, steps = chain
    (x0, x1), (y0, y1) = sorted(corners[:2]), sorted(corners[2:])
    assume(min(x1, 1) - max(x0, 0) > 0.01)
    assume(min(y1, 1) - max(y0, 0) > 0.01)
    share = build(*chain).visible(Region(box=(x0, y0, x1, y1)))
    u, v = np.meshgrid((np.arange(100) + 0.5) / 100, (np.arange(100) + 0.5) / 100)
    x = max(x0, 0) + u * (min(x1, 1) - max(x0, 0))
    y = max(y0, 0) + v * (min(y1, 1) - max(y0, 0))
    _, _, seen = trace(x * width, y * height, width, height, steps)
    assert share == pytest.approx(seen.mean(), abs=0.021)


@pytest.mark.parametrize("region", SHAPES, ids=lambda region: region.label)
@pytest.mark.parametrize("steps", WAYS, ids=range(len(WAYS)))
def test_visible_shares_of_shapes(region: Region, steps: list[Step]) -> None:
    geometry = build(200, 100, steps)
    fine = region.to_mask(1000, 2000)
    x, y = points_of(200, 100, 10)
    _, _, seen = trace(x, y, 200, 100, steps)
    expected = (fine & seen).sum() / fine.sum()
    assert geometry.visible(region) == pytest.approx(expected, abs=0.01)
    mask = Region(kind="mask", mask=fine)
    assert geometry.visible(mask) == pytest.approx(expected, abs=1e-9)
    pair = Annotation("a.jpg", 200, 100, (region, Region(box=(0.5, 0, 1, 1))))
    union = fine | (x > 100)
    share = (union & seen).sum() / union.sum()
    assert geometry.visible_share(pair) == pytest.approx(share, abs=0.01)


def test_visible_shares_of_what_has_no_area() -> None:
    geometry = Geometry.of(100, 100).crop(50, 0, 50, 50)
    assert geometry.visible(Region(box=(0.25, 0.1, 0.75, 0.1))) == 0.5  # a line, by its length
    assert geometry.visible(Region(box=(0.7, 0.0, 0.7, 1.0))) == 0.5
    assert geometry.visible(Region(box=(0.7, 0.2, 0.7, 0.2))) == 1
    assert geometry.visible(Region(box=(0.2, 0.2, 0.2, 0.2))) == 0
    assert geometry.visible(Region(kind="point", box=(0.7, 0.2, 0.7, 0.2))) == 1
    assert math.isnan(geometry.visible(Region(box=(1.0, 0.0, 1.5, 1.0))))
    assert math.isnan(geometry.visible(Region(kind="mask", mask=np.zeros((3, 3), bool))))
    assert math.isnan(geometry.visible_share(Annotation("a.jpg")))
    ignored = Annotation("a.jpg", regions=(Region(flags=("ignore",)),))
    assert math.isnan(geometry.visible_share(ignored))
    assert geometry.visible_share(Annotation("a.jpg", regions=(Region(),))) == 0.25
    # a small image is drawn larger, so that edges between its pixels count
    small = Geometry.of(2, 2).crop(1, 0, 1, 2)
    third = Annotation("a.jpg", regions=(Region(box=(0.4, 0, 0.7, 1)),))
    assert small.visible_share(third) == pytest.approx(2 / 3, abs=0.01)
    triangle = Region(kind="polygon", box=(0.25, 0, 0.75, 1), mask=((0.25, 0, 0.75, 0, 0.75, 1),))
    assert small.visible(triangle) == pytest.approx(0.75, abs=0.01)


def test_a_model_may_see_nothing() -> None:
    blind = Geometry.of(10, 10).pad(10, 0, 0, 0).crop(0, 0, 10, 10).patches(5)
    assert blind.visible_box == blind.content_box == (0.0, 0.0, 0.0, 0.0)
    for region in (
        Region(),
        Region(box=(0, 0, 0, 0)),
        Region(kind="point", box=(-0.1, -0.1, 0.1, 0.1), radius=1),
        Region(kind="mask", mask=np.ones((3, 3), bool)),
        Region(kind="polygon", mask=((0, 0, 1, 0, 1, 1),)),
    ):
        assert blind.visible(region) == 0
        assert blind.carry_region(region) is None
    assert not blind.content_mask().any()
    assert np.isnan(blind.to_image(np.ones((2, 2)))).all()
    assert blind.pad(5, 5, 5, 5).then(blind.pad(5, 5, 5, 5).inverse()).content == (0, 0, 0, 0)


@given(chains(), SIDES, SIDES)
def test_content_is_what_half_a_cell_is_image(
    chain: tuple[int, int, list[Step]], rows: int, columns: int
) -> None:
    width, height, steps = chain
    grid = (width, height, [*steps, ("resize", columns, rows)])
    covered = spans(1, 1, grid) @ spans(1, 0, grid).T
    content = build(*chain).content_mask(rows, columns)
    expected = (covered > min(0.5, covered.max()) - 1e-7) & (covered > 1e-7)
    np.testing.assert_array_equal(content, expected)


# --- maps back -----------------------------------------------------------------------------------


@given(chains(), SIDES, SIDES)
def test_maps_hold_nan_where_the_model_saw_nothing_and_values_elsewhere(
    chain: tuple[int, int, list[Step]], rows: int, columns: int
) -> None:
    width, height, steps = chain
    geometry = build(*chain)
    values = np.arange(geometry.size[0] * geometry.size[1], dtype=np.float64)
    maps = values.reshape(geometry.size[::-1])
    found = geometry.to_image(maps, rows, columns)
    seen = geometry.seen_mask(rows, columns)
    assert found.shape == seen.shape == (rows, columns)
    np.testing.assert_array_equal(np.isnan(found), ~seen)
    x, y = points_of(columns, rows, 1)
    x, y, alive = trace(x * width / columns, y * height / rows, width, height, steps)
    clear = alive & (abs(x - np.round(x)) > 1e-6) & (abs(y - np.round(y)) > 1e-6)
    x0, y0, x1, y1 = geometry.content
    clear_out = (x < x0 - 1e-6) | (x > x1 + 1e-6) | (y < y0 - 1e-6) | (y > y1 + 1e-6)
    left, top, right, bottom = geometry.visible_box
    if (right - left) * columns > 1 and (bottom - top) * rows > 1:  # else a pixel at least is kept
        assert not seen[clear_out].any()
    assert seen[clear].all()
    expected = maps[y[clear].astype(int), x[clear].astype(int)]
    np.testing.assert_array_equal(found[clear], expected)


@pytest.mark.parametrize(
    "geometry",
    [
        Geometry.of(90, 61).resize(60, 40).patches(5, 4),
        Geometry.of(90, 61).crop(7, 3, 60, 40).flip(True, True).patches(4, 5),
        Geometry.of(90, 61).resize(30, 20).pad(6, 4, 4, 6).patches(4, 3),
        Geometry.of(3, 2).resize(40, 40).patches(4),
    ],
    ids=repr,
)
def test_ramps_come_back_exactly(geometry: Geometry) -> None:
    columns, rows = geometry.grid
    x, y = (np.arange(columns) + 0.5) * geometry.patch[0], (np.arange(rows) + 0.5)[:, None]
    ramps = np.stack([0.5 + 2 * x - y * geometry.patch[1], 0 * x + 7 * y])
    found = geometry.to_image(ramps, how="bilinear")
    width, height = geometry.source
    column, row = geometry.points_to_grid(*points_of(width, height, 1))
    inner = (column >= 0.5) & (column <= columns - 0.5) & (row >= 0.5) & (row <= rows - 0.5)
    inner &= geometry.seen_mask()
    assert inner.any()
    on_x, on_y = column * geometry.patch[0], row * geometry.patch[1]
    np.testing.assert_allclose(found[0][inner], (0.5 + 2 * on_x - on_y)[inner], atol=1e-12)
    np.testing.assert_allclose(found[1][inner], 7 * row[inner], rtol=1e-12)
    constant = geometry.to_image(np.full((rows, columns), 0.3), how="bilinear", fill=0.3)
    np.testing.assert_allclose(constant, 0.3, rtol=1e-12)  # edges are clamped


def test_a_pixel_between_two_cells_takes_the_second() -> None:
    for width in range(1, 200, 2):
        geometry = fit_geometry("squash", width, 1, size=(14, 1), patch=(7, 1))
        found = geometry.to_image(np.array([[0.0, 1.0]]))[0]
        assert found.tolist() == [0.0] * (width // 2) + [1.0] * (width // 2 + 1)


def test_bilinear_maps_are_those_of_pillow() -> None:
    maps = np.random.default_rng(0).random((7, 5)).astype(np.float32)
    geometry = fit_geometry("squash", 100, 91, size=(70, 98), patch=14)
    np.testing.assert_allclose(
        geometry.to_image(maps, how="bilinear"), resized(maps, 100, 91), atol=1e-6
    )


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_maps_keep_their_precision(kind: Any) -> None:
    geometry = Geometry.of(8, 4).crop(0, 0, 4, 4).patches(2)
    maps = np.arange(12).reshape(3, 2, 2)
    for how in ("nearest", "bilinear"):
        found = geometry.to_image(maps.astype(kind), how=how)
        assert found.dtype == kind
        assert found.shape == (3, 4, 8)
    assert geometry.to_image(maps).dtype == np.float64
    assert geometry.to_image(maps, fill=-1)[0, 0].tolist() == [0, 0, 1, 1, -1, -1, -1, -1]


# --- errors --------------------------------------------------------------------------------------

SQUARE = Geometry.of(10, 10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Geometry.of(0, 3), "source must be width and height, whole and >= 1"),
        (lambda: Geometry.of(2.5, 3), "source must be .* got \\(2.5, 3\\)"),  # type: ignore[arg-type]
        (lambda: SQUARE.resize(3, 0), "size must be width and height"),
        (lambda: SQUARE.crop(0, 0, 0, 5), "size must be width and height"),
        (lambda: SQUARE.pad(0, 0, 0, -1), "padding must be >= 0"),
        (lambda: SQUARE.then(Geometry.of(3, 4)), "starts from 3x4, the first ends at 10x10"),
        (lambda: SQUARE.patches(3), "input 10x10 is no multiple of the patch 3x3"),
        (lambda: SQUARE.patches(0), "patch must be"),
        (lambda: SQUARE.patches(5).pad(1, 0, 0, 0).grid, "input 11x10 is no multiple"),
        (lambda: SQUARE.carry_boxes([1, 2, 3, 4]), "boxes must be \\(n, 4\\)"),
        (
            lambda: SQUARE.carry(Annotation("a.jpg", 10, 20)),
            "annotation of 'a.jpg' is for an image of 10x20, the geometry for 10x10",
        ),
        (lambda: SQUARE.visible_share(Annotation("a.jpg", 9)), "an image of 9xNone"),
        (lambda: SQUARE.to_image(np.zeros((5, 10))), "on the grid 10×10, got 5×10"),
        (lambda: SQUARE.to_image(np.zeros((10, 10)), 0, 5), "size must be .* got \\(5, 0\\)"),
        (lambda: SQUARE.to_image(np.zeros(3)), "on the grid 10×10, got 3"),
        (
            lambda: SQUARE.to_image(np.zeros((10, 10)), how="cubic"),  # type: ignore[arg-type]
            "how must be one of nearest, bilinear; got 'cubic'",
        ),
        (
            lambda: SQUARE.carry_region(Region("x", "polygon", mask=((0, 0, 1, 1),), index=4)),
            "region 4 \\('x'\\): polygon needs",
        ),
        (
            lambda: SQUARE.visible(Region("x", "mask", mask={"size": [2, 2], "counts": [1]})),
            "region 0 \\('x'\\): RLE counts sum to 1",
        ),
        (
            lambda: fit_geometry("zoom", 9, 9, size=9),
            "fit must be one of squash, crop, letterbox, native; got 'zoom'",
        ),
        (lambda: fit_geometry("squash", 9, 9), "size must be 2 finite numbers"),
        (lambda: fit_geometry("squash", 9, 9, size=15, patch=14), "15x15 .* patch 14x14"),
        (lambda: fit_geometry("native", 9, 9, size=15, patch=14), "size 15 .* patch 14x14"),
        (lambda: fit_geometry("native", 9, 9, size=(14, 28)), "size of 'native' must be one"),
        (lambda: fit_geometry("crop", 9, 9, size=(14, 28)), "no resize_to, must be one number"),
        (lambda: fit_geometry("squash", 9, 9, size=4, resize_to=5), "resize_to belongs to fit"),
        (lambda: fit_geometry("crop", 9, 9, size=4, rounding="up"), "rounding must be one of"),  # type: ignore[arg-type]
        (lambda: fit_geometry("crop", 9, 9, size=4, offset="up"), "offset must be one of"),  # type: ignore[arg-type]
    ],
)
def test_errors_name_what_is_wrong(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("source", [10], "source must be 2"),
        ("size", [10, "10"], "size must be 2"),
        ("scale", [0, 1], "scale must not be 0"),
        ("scale", [1e400, 1], "scale must be 2 finite numbers"),
        ("offset", None, "offset must be 2"),
        ("content", [0, 0, 11, 10], "content must be corners"),
        ("content", [5, 0, 3, 10], "content must be corners"),
        ("content", [0, 0, 10], "content must be 4"),
        ("patch", "55", "patch must be 2"),
    ],
)
def test_bad_descriptions_are_refused(name: str, value: Any, message: str) -> None:
    good = SQUARE.to_dict()
    assert Geometry.from_dict(good) == SQUARE
    with pytest.raises(InputError, match=message):
        Geometry.from_dict({**good, name: value})
    with pytest.raises(InputError, match="geometry must have source, size"):
        Geometry.from_dict({key: value for key, value in good.items() if key != name})
    with pytest.raises(InputError, match="geometry must have"):
        Geometry.from_dict({**good, "shear": 1})


def test_visible_shares_of_small_and_outlying_shapes_are_exact() -> None:
    wide = Geometry.of(4000, 3000).crop(2001, 0, 1999, 3000)
    box = (1999 / 4000, 0.1, 2003 / 4000, 0.1 + 4 / 3000)
    x0, y0, x1, y1 = box
    square = Region("s", "polygon", box, ((x0, y0, x1, y0, x1, y1, x0, y1),))
    assert wide.visible(square) == pytest.approx(0.5)
    assert wide.visible(Region("b", box=box)) == pytest.approx(0.5)
    assert wide.visible(Region("p", "point", box, radius=2)) == pytest.approx(0.5)
    annotation = Annotation("a", 4000, 3000, (Region("b", box=box),))
    assert wide.visible_share(annotation) == pytest.approx(0.5)
    padded = Geometry.of(100, 100).pad(10, 10, 10, 10)
    corner = ((-0.5, -0.5, 0.4, -0.5, -0.5, 0.4),)
    outside = Region("t", "polygon", (-0.5, -0.5, 0.4, 0.4), corner)
    beside = Region("d", "point", (-0.2, -0.2, 0.01, 0.01), radius=10.5)
    for region in (outside, beside):
        assert math.isnan(padded.visible(region))
        assert padded.carry_region(region) is None
    line = Region("l", "polygon", (0.25, 0.5, 0.75, 0.5), ((0.25, 0.5, 0.75, 0.5, 0.5, 0.5),))
    assert Geometry.of(100, 100).crop(0, 0, 50, 100).visible(line) == pytest.approx(0.5)
