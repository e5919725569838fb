"""Pictures of maps: colours at known values, places of cells, labels that do not collide."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from sightline.attribution.methods import Maps
from sightline.attribution.methods.colours import Scale, overlay
from sightline.attribution.methods.picture import arrange_maps, draw_maps
from sightline.core import InputError
from sightline.core.geometry import Geometry, fit_geometry
from sightline.data.pictures import Block, font

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sightline.core.choices import Sign

# As matplotlib's inferno has them at 0, 0.1, … 1, and ColorBrewer's RdBu from its blue end.
INFERNO = (
    "000004", "160b39", "420a68", "6a176e", "932667", "bc3754", "dd513a", "f37819", "fca50a",
    "f6d746", "fcffa4",
)  # fmt: skip
BLUES = ("053061", "2166ac", "4393c3", "92c5de", "d1e5f0")
REDS = ("fddbc7", "f4a582", "d6604d", "b2182b", "67001f")


def rgb(text: str) -> list[int]:
    return list(bytes.fromhex(text))


def noise(height: int, width: int, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def made(
    geometries: list[Geometry],
    values: NDArray[Any] | None = None,
    *,
    layers: tuple[int | None, ...] = (11,),
    heads: tuple[int | None, ...] = (None,),
    method: str = "cls",
    sign: Sign = "positive",
    target: str = "",
) -> Maps:
    """Return maps as `explain` would, with these or with random values."""
    rng = np.random.default_rng(5)
    every = tuple(
        tuple(
            (
                rng.random((len(heads), *geometry.grid[::-1])) if values is None else values[None]
            ).astype(np.float32)
            for _ in layers
        )
        for geometry in geometries
    )
    ways = tuple((geometry,) * len(layers) for geometry in geometries)
    targets = (target,) * len(geometries) if target else ()
    return Maps(every, ways, layers, heads, "some/model", method, sign, targets)


def squash(width: int = 40, height: int = 30, grid: int = 4) -> Geometry:
    return fit_geometry("squash", width, height, size=8 * grid, patch=8)


# --- colours -------------------------------------------------------------------------------------


def test_positive_maps_run_through_inferno() -> None:
    values = np.linspace(2, 3, 11)
    colours = Scale.of(values, "positive").colours(values)
    np.testing.assert_allclose(colours, [rgb(text) for text in INFERNO], atol=1e-9)
    between = Scale.of(values, "positive").colours(np.array([2.05, 2.95]))
    for found, (a, b) in zip(between, [(0, 1), (9, 10)], strict=True):
        np.testing.assert_allclose(found, np.add(rgb(INFERNO[a]), rgb(INFERNO[b])) / 2, atol=1e-9)


@pytest.mark.parametrize("sign", ["signed", "absolute"])
def test_other_maps_are_white_at_zero_red_above_and_blue_below(sign: str) -> None:
    values = np.array([-4.0, -2.4, -0.8, 0.0, 0.4, 1.6, 3.2])
    scale = Scale.of(values, sign)
    assert (scale.low, scale.high) == (-4, 4)
    expected = [*(BLUES[i] for i in (0, 2, 4)), "ffffff"]
    np.testing.assert_allclose(
        scale.colours(values[:4]), [rgb(text) for text in expected], atol=1e-9
    )
    halfway = np.mean([rgb("ffffff"), rgb(REDS[0])], axis=0).tolist()
    np.testing.assert_allclose(
        scale.colours(values[4:]), [halfway, rgb(REDS[1]), rgb(REDS[3])], atol=1e-9
    )
    np.testing.assert_allclose(scale.colours(np.array([9.0])), [rgb(REDS[4])], atol=1e-9)


@pytest.mark.parametrize(
    ("values", "sign", "ends"),
    [
        ([0.2, 0.7, 0.4], "positive", (0.2, 0.7)),
        ([-3.0, 0.7, 0.4], "positive", (0, 0.7)),
        ([-3.0, -0.5], "positive", (0, 0)),
        ([0.3, 0.3], "positive", (0.3, 0.3)),
        ([-3.0, 1.0], "signed", (-3, 3)),
        ([0.0, 0.0], "signed", (0, 0)),
        ([np.nan, 0.5, 1.0], "positive", (0.5, 1)),
        ([np.nan, np.nan], "positive", (0, 0)),
        ([], "absolute", (0, 0)),
    ],
)
def test_ends_of_the_scale(values: list[float], sign: str, ends: tuple[float, float]) -> None:
    scale = Scale.of(np.array(values), sign)
    assert (scale.low, scale.high) == ends
    assert scale.diverging == (sign != "positive")
    assert np.isfinite(scale.colours(np.array([*values, 0.0]))).all()


def test_a_few_pixels_do_not_dim_a_map_of_many() -> None:
    values = np.r_[np.linspace(0, 1, 10_000), np.full(20, 50.0)]
    many = Scale.of(values, "positive")
    assert many.low == 0
    assert many.high == pytest.approx(np.sort(values)[int(0.99 * len(values))], abs=1e-3)
    assert Scale.of(values[-399:], "positive").high == 50  # few cells: all count
    hot = np.r_[np.linspace(0, 1, 399), 50]
    assert Scale.of(hot, "positive").high <= 1
    lone = np.zeros(10_000)
    lone[7] = -3
    assert Scale.of(lone, "signed").high == 3


def test_constant_maps_have_one_colour() -> None:
    image = np.full((6, 8, 3), 100, np.uint8)
    for value, sign in ((0.4, "positive"), (0.0, "positive"), (0.0, "signed")):
        shown = overlay(image, np.full((6, 8), value), sign)
        assert len(np.unique(shown.reshape(-1, 3), axis=0)) == 1


def test_colours_cover_a_grey_image_by_a_fixed_share() -> None:
    image, values = noise(5, 7), np.random.default_rng(1).normal(size=(5, 7))
    values[2, 3] = np.nan
    shown = overlay(image, values, "signed")
    far = np.nanmax(np.abs(values))
    for y in range(5):
        for x in range(7):
            red, green, blue = (float(part) for part in image[y, x])
            grey = 40 + 175 * (0.299 * red + 0.587 * green + 0.114 * blue) / 255
            if (y, x) == (2, 3):  # not seen: the image alone
                assert abs(shown[y, x] - np.full(3, grey)).max() <= 0.51
                continue
            colour = Scale(-far, far, True).colours(values[y, x])
            np.testing.assert_allclose(shown[y, x], 0.4 * grey + 0.6 * colour, atol=0.51)


def test_the_image_below_has_no_colour() -> None:
    red, green = (np.full((4, 4, 3), colour, np.uint8) for colour in ((200, 0, 0), (0, 102, 0)))
    values = np.linspace(0, 1, 16).reshape(4, 4)
    difference = overlay(red, values).astype(int) - overlay(green, values)
    assert abs(difference).max() <= 1  # both are the same grey


# --- places --------------------------------------------------------------------------------------


def pictures(block: Block) -> list[Image.Image]:
    """Return images and maps in order; colour bars, which are low, are left out."""
    found = [item.content for item in block.items if isinstance(item.content, Image.Image)]
    return [picture for picture in found if picture.height > 8]


@pytest.mark.parametrize(("width", "height"), [(640, 480), (300, 500)])
@pytest.mark.parametrize("fit", ["crop", "squash", "letterbox", "native"])
def test_a_cell_colours_its_pixels(width: int, height: int, fit: str) -> None:
    geometry = fit_geometry(
        fit, width, height, size=160, patch=32, resize_to=192 if fit == "crop" else None
    )
    columns, rows = geometry.grid
    cell = columns // 2 + (fit in ("crop", "squash")), rows // 2
    values = np.zeros((rows, columns), np.float32)
    values[cell[1], cell[0]] = 1
    image = np.full((height, width, 3), 128, np.uint8)
    _, shown = pictures(arrange_maps(made([geometry], values), image, tile=max(width, height)))
    assert shown.size == (width, height)
    lit = np.asarray(shown).astype(int)
    bright = lit[..., 0] - lit[..., 2] > 60
    (x0, y0, x1, y1) = (
        (cell[0] * 32 - geometry.offset[0]) / geometry.scale[0],
        (cell[1] * 32 - geometry.offset[1]) / geometry.scale[1],
        ((cell[0] + 1) * 32 - geometry.offset[0]) / geometry.scale[0],
        ((cell[1] + 1) * 32 - geometry.offset[1]) / geometry.scale[1],
    )
    y, x = np.nonzero(bright)
    assert abs(x.mean() + 0.5 - (x0 + x1) / 2) < 2
    assert abs(y.mean() + 0.5 - (y0 + y1) / 2) < 2
    assert x0 - 1 < x.min()
    assert x.max() < x1 + 1
    assert y0 - 1 < y.min()
    assert y.max() < y1 + 1
    # What the model did not see is grey alone, what it saw has the colour of zero.
    grey = (lit.max(axis=2) - lit.min(axis=2) == 0) & (lit[..., 0] > 100)
    seen = np.zeros((height, width), bool)
    left, top, right, bottom = np.multiply(geometry.visible_box, [width, height] * 2)
    seen[round(top) : round(bottom), round(left) : round(right)] = True
    assert (grey == ~seen).mean() > 0.99
    assert (fit == "crop") == (not seen.all())


def test_cells_smaller_than_pixels_are_averaged() -> None:
    geometry = fit_geometry("squash", 64, 64, size=128, patch=1)
    values = np.zeros((128, 128), np.float32)
    values[:64, ::2] = 1  # every second column: half of each pixel
    values[64:, :64] = 1
    _, shown = pictures(arrange_maps(made([geometry], values), np.zeros((64, 64, 3), np.uint8),
                                     tile=32))  # fmt: skip
    colours = np.asarray(shown).astype(float)
    expected = {(4, 16): 0.5, (28, 8): 1.0, (28, 28): 0.0}
    for (y, x), share in expected.items():
        plain = 0.6 * Scale(0, 1, False).colours(np.array(share)) + 0.4 * 40
        np.testing.assert_allclose(colours[y, x], plain, atol=2)


def test_numbers_do_not_depend_on_the_size_of_the_picture() -> None:
    maps, image = made([squash()]), noise(30, 40)
    values = maps.of()
    for tile in (64, 300):
        texts = [item.content for item in arrange_maps(maps, image, tile=tile).items]
        assert f"{values.min():.2g}" in texts
        assert f"{values.max():.2g}" in texts


def test_padding_does_not_set_the_scale() -> None:
    geometry = fit_geometry("letterbox", 40, 10, size=64, patch=8)
    values = np.full((8, 8), 100, np.float32)  # rows 3 and 4 hold the image
    values[3:5] = np.linspace(1, 2, 16).reshape(2, 8)
    texts = [item.content for item in arrange_maps(made([geometry], values), noise(10, 40)).items]
    assert "1" in texts
    assert "2" in texts
    assert "1e+02" not in texts


# --- the page ------------------------------------------------------------------------------------

LONG = "a-very-long-name-of-an-image-" * 5 + "Köln.png"
CASES: dict[str, dict[str, Any]] = {
    "one": {"methods": [{}]},
    "12 layers": {"methods": [{"layers": tuple(range(12))}]},
    "12 layers of 3 methods": {
        "methods": [
            {"layers": tuple(range(12)), "method": name, "target": target}
            for name, target in (("cls", ""), ("gradcam", "Romanesque"), ("x" * 90, "y " * 90))
        ]
    },
    "heads": {"methods": [{"layers": (5, 11), "heads": tuple(range(16))}]},
    "single maps": {
        "methods": [{"layers": (None,), "method": "integrated_gradients", "target": "Baroque"}] * 9
    },
    "mixed": {
        "methods": [
            {"layers": (2, 5, 8, 11)},
            {"layers": (None,), "method": "saliency", "sign": "signed", "target": "a long class"},
            {"layers": (None,), "method": "edge"},
            {"heads": (0, 1, 2), "method": "mean"},
        ]
    },
}
SHAPES = {"plain": (40, 30), "narrow": (3, 400), "wide": (500, 4), "dot": (1, 1)}


def case(name: str, shapes: list[str]) -> tuple[list[Maps], list[NDArray[np.uint8]]]:
    sizes = [SHAPES[shape] for shape in shapes]
    geometries = [squash(*size) for size in sizes]
    maps = [made(geometries, **options) for options in CASES[name]["methods"]]
    return maps, [noise(height, width) for width, height in sizes]


@pytest.mark.parametrize("shapes", [["plain"], ["narrow"], ["plain", "wide", "dot", "narrow"]])
@pytest.mark.parametrize("name", CASES)
def test_nothing_overlaps_or_is_cut_off(name: str, shapes: list[str]) -> None:
    maps, images = case(name, shapes)
    page = arrange_maps(
        maps, images, names=[LONG] * len(images), notes=["predicted " * 30] * len(images)
    )
    assert page.width < 3000
    boxes = [item.box for item in page.items if item.content]
    for left, top, right, bottom in boxes:
        assert 0 <= left < right <= page.width
        assert 0 <= top < bottom <= page.height
    for one, other in combinations(boxes, 2):
        apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
        assert apart, (one, other)
    for item in page.items:
        if isinstance(item.content, str):
            assert font(item.size).getlength(item.content) <= item.box[2] - item.box[0] + 1
        else:
            assert item.content.size == (item.box[2] - item.box[0], item.box[3] - item.box[1])


@pytest.mark.parametrize("name", CASES)
def test_every_map_has_its_label_and_numbers(name: str) -> None:
    maps, images = case(name, ["plain", "plain"])
    page = arrange_maps(maps, images, names=["first.png", "second.png"])
    texts = [item.content for item in page.items if isinstance(item.content, str)]
    for one in maps:
        for image in range(2):
            for layer in one.layers:
                for head in one.heads:
                    parts = [f"layer {layer}"] * (layer is not None)
                    parts += [f"head {head}"] * (head is not None)
                    assert not parts or ", ".join(parts) in texts
                    assert f"{one.of(image, layer, head).max():.2g}" in texts
    assert {"first.png", "second.png"} <= set(texts)
    count = 2 * sum(len(one.layers) * len(one.heads) for one in maps)
    assert len(pictures(page)) == count + 2
    joined = "".join("".join(texts).split())
    for one in maps:
        assert "".join(one.method.split()) in joined
        assert "".join((one.targets or ("",))[0].split()) in joined


def test_the_image_comes_first_and_is_large_where_there_is_one_map() -> None:
    image = noise(30, 40)
    first, *rest = pictures(arrange_maps(made([squash()], layers=(2, 3)), image, tile=40))
    np.testing.assert_array_equal(np.asarray(first), image)
    assert len(rest) == 2
    assert all((np.asarray(picture) != image).any() for picture in rest)
    first, single = pictures(arrange_maps(made([squash()]), image))
    assert first.size == single.size == (448, 336)
    photograph = Image.fromarray(image).resize((448, 336), Image.Resampling.LANCZOS)
    np.testing.assert_array_equal(np.asarray(first), np.asarray(photograph))
    _, large = pictures(arrange_maps(made([squash(3000, 1500)]), noise(1500, 3000)))
    assert large.size == (1024, 512)


@pytest.mark.parametrize(("shape", "tile"), [((30, 400), 400), ((400, 300), 200)])
def test_the_bar_is_as_wide_as_the_map_or_its_numbers(shape: tuple[int, int], tile: int) -> None:
    maps = made([squash(*shape)])
    page = arrange_maps(maps, noise(*shape[::-1]), tile=tile)
    pair = [f"{value:.2g}" for value in (maps.of().min(), maps.of().max())]
    needed = sum(-int(-font().getlength(text) // 1) for text in pair) + 12
    (bar,) = (
        item.content.width
        for item in page.items
        if isinstance(item.content, Image.Image) and item.content.height == 8
    )
    assert bar == max(pictures(page)[1].width, needed)
    assert (bar == needed) == (shape[0] == 30)


def test_maps_in_a_row_begin_at_one_height() -> None:
    """Also where one heading takes more lines than its neighbours; the image is level with them."""
    options: list[dict[str, Any]] = [
        {"method": "edge", "layers": (None,)},
        {
            "method": "integrated_gradients",
            "layers": (None,),
            "target": "many words " * 9,
        },
    ]
    page = arrange_maps([made([squash()], **one) for one in options], noise(30, 40), tile=112)
    found = [item.box for item in page.items if isinstance(item.content, Image.Image)]
    tall = [box for box in found if box[3] - box[1] > 8]
    assert len(tall) == 3
    assert len({box[1] for box in tall}) == 1


def test_title_and_what_the_colours_mean() -> None:
    def text(maps: Any, *images: Any, fit: str = "") -> str:
        page = arrange_maps(maps, list(images), tile=512, fit=fit)
        return " ".join(item.content for item in page.items if isinstance(item.content, str))

    image = noise(30, 40)
    plain = text(made([squash()]), image)
    assert "some/model · cls · input 32 x 32" in plain
    assert "Dark to bright" in plain
    assert "4 x 4 cells" in plain
    for words in ("Red", "not seen", "below zero", "percentile"):
        assert words not in plain
    signed = made([squash()], sign="signed", method="saliency", layers=(None,), target="Gothic")
    both = text([made([squash()]), signed], image)
    for words in (
        "cls: dark to bright, little to much.",
        "saliency: red above zero, pale at zero, blue below.",
        "saliency for Gothic",
        "some/model · input",
    ):
        assert words in both
    for words in ("Red", "Dark", "zero counts"):
        assert words not in both
    below = [made([squash()], np.full((4, 4), -1.0), method="gradcam"), made([squash()]), signed]
    assert "gradcam, cls: dark to bright, little to much; below zero counts" in text(below, image)
    assert "Red: above zero; pale: zero; blue: below." in text(signed, image)
    assert "Values below zero" in text(made([squash()], np.full((4, 4), -1.0)), image)
    crop = fit_geometry("crop", 40, 30, size=32, patch=8)
    assert "not seen by the model" in text(made([crop]), image)
    pixels = fit_geometry("squash", 40, 30, size=20, patch=1)
    assert "400 cells or more end at their 99th percentile" in text(made([pixels]), image)
    fewer = fit_geometry("squash", 40, 30, size=(20, 19), patch=1)
    assert "percentile" not in text(made([fewer]), image)
    assert "some/model · cls · native size" in text(made([squash()]), image, fit="native size")
    number = made([squash()], method="gradcam", target="967")
    assert "gradcam for class 967" in text(number, image)


def test_grids_are_listed_in_the_order_of_layers() -> None:
    ways = [squash(grid=grid) for grid in (8, 4, 2)]
    values = tuple(np.zeros((1, *way.grid), np.float32) for way in ways)
    maps = Maps((values,), (tuple(ways),), (0, 1, 2), (None,), "some/model", "gradcam")
    page = arrange_maps(maps, noise(30, 40))
    texts = " ".join(item.content for item in page.items if isinstance(item.content, str))
    assert "Maps of 8 x 8, 4 x 4, 2 x 2 cells" in texts


def test_pictures_are_the_same_each_time() -> None:
    maps, images = case("mixed", ["plain", "wide"])
    one, two = (draw_maps(maps, images, names=["a", "b"]).tobytes() for _ in range(2))
    assert one == two


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["a", "b"]}, "names must be one for each of 1 images, got 2"),
        ({"notes": ["a", "b"]}, "notes must be one for each of 1 images, got 2"),
        ({"tile": 8}, "tile must be >= 32, got 8"),
        ({"images": [noise(30, 40)] * 2}, "maps of 'cls' must be one for each of 2 images, got 1"),
        ({"images": noise(40, 30)}, "image 0 is 30x40, its maps of 'cls' are of one of 40x30"),
        ({"maps": []}, "there must be maps"),
        ({"maps": made([squash()]).to_image()}, "on the model's grid"),
    ],
)
def test_what_does_not_fit_is_named(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"maps": made([squash()]), "images": noise(30, 40), **options}
    with pytest.raises(InputError, match=message):
        draw_maps(arguments.pop("maps"), arguments.pop("images"), **arguments)


def test_a_map_must_have_the_shape_of_its_image() -> None:
    with pytest.raises(InputError, match="like its image"):
        overlay(noise(4, 5), np.zeros((5, 4)))
