"""Images of every kind, and of every bad kind, on their way to the input."""

from __future__ import annotations

import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sightline.core import Annotation, InputError, Sample
from sightline.data.images import MAX_PIXELS
from sightline.models import Preprocess
from sightline.models.preprocess import MAX_INPUT, as_image, as_images

FITS = ("squash", "crop", "letterbox", "native")
RGB = np.random.default_rng(0).integers(0, 256, (12, 20, 3)).astype(np.uint8)
GREY = RGB[..., 0]


def saved(folder: Path, name: str, image: Image.Image, **options: Any) -> Path:
    image.save(folder / name, **options)
    return folder / name


def test_arrays() -> None:
    np.testing.assert_array_equal(as_image(RGB), RGB)
    np.testing.assert_array_equal(as_image(np.dstack([RGB, GREY])), RGB)
    np.testing.assert_array_equal(as_image(GREY), np.dstack([GREY] * 3))
    turned = as_image(RGB[::-1, ::-2])
    np.testing.assert_array_equal(turned, RGB[::-1, ::-2])
    assert turned.flags.c_contiguous


def test_paths_and_samples(tmp_path: Path) -> None:
    path = saved(tmp_path, "a.png", Image.fromarray(RGB))
    annotation = Annotation("a", 20, 12, ())
    sample = Sample("a", annotation, path=path, load=lambda: RGB)
    with Image.open(path) as opened:
        for image in (path, str(path), sample, opened):
            np.testing.assert_array_equal(as_image(image), RGB)


def test_modes_of_files(tmp_path: Path) -> None:
    picture = Image.fromarray(RGB)
    cmyk = saved(tmp_path, "cmyk.tif", picture.convert("CMYK"))
    np.testing.assert_array_equal(as_image(cmyk), RGB)
    palette = picture.quantize(16)
    expected = np.asarray(palette.convert("RGB"))
    np.testing.assert_array_equal(as_image(saved(tmp_path, "palette.png", palette)), expected)
    wide = Image.fromarray(GREY.astype(np.uint16) * 257)
    deep = saved(tmp_path, "deep.png", wide)
    np.testing.assert_array_equal(as_image(deep), np.dstack([GREY] * 3))
    frames = [Image.fromarray(np.full((8, 8, 3), value, np.uint8)) for value in (40, 200)]
    moving = saved(tmp_path, "a.gif", frames[0], save_all=True, append_images=frames[1:])
    assert np.unique(as_image(moving)).tolist() == [40]


def test_modes_of_pillow() -> None:
    picture = Image.fromarray(RGB)
    np.testing.assert_array_equal(as_image(picture.convert("CMYK")), RGB)
    np.testing.assert_array_equal(as_image(picture.convert("RGBA")), RGB)
    np.testing.assert_array_equal(as_image(Image.fromarray(GREY)), np.dstack([GREY] * 3))
    wide = Image.fromarray(GREY.astype(np.uint16) * 257)
    assert wide.mode.startswith("I;16")
    np.testing.assert_array_equal(as_image(wide), np.dstack([GREY] * 3))  # not clipped to white
    with pytest.raises(InputError, match="floating-point"):
        as_image(Image.fromarray(GREY.astype(np.float32)))


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (RGB.astype(np.float32) / 255, "uint8.*float32"),
        (RGB.astype(np.uint16), "uint8.*uint16"),
        (RGB > 3, "uint8.*bool"),
        (RGB[:0], r"\(height, width, 3\), got \(0, 20, 3\)"),
        (RGB[:, :0, 0], r"got \(12, 0\)"),
        (RGB[..., :2], r"got \(12, 20, 2\)"),
        (RGB[None, None], r"got \(1, 1, 12, 20, 3\)"),
        (RGB[0, 0], r"got \(3,\)"),
        (np.uint8(3), "uint8|array"),
        (None, "NoneType"),
        (3, "int"),
        ([[1, 2], [3, 4]], "list"),
        (RGB.tobytes(), "bytes"),
        ("nowhere.png", "nowhere.png: no such image"),
        (Path(), "is not a file"),
        (np.broadcast_to(np.uint8(1), (20_000, 20_000)), "20000 x 20000"),
        (np.broadcast_to(np.uint8(1), (20_000, 20_000, 3)), "20000 x 20000"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_is_no_image(thing: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        as_image(thing)


def test_huge_images_are_refused_before_they_are_decoded(tmp_path: Path) -> None:
    path = tmp_path / "huge.png"
    header = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")]
    parts = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    ]
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(parts))
    with pytest.raises(InputError, match=r"huge\.png: image must have at most"):
        as_image(path)

    class Large(Image.Image):
        size = (20_000, 20_000)

    with pytest.raises(InputError, match="20000 x 20000"):
        as_image(Large())


def test_one_or_several() -> None:
    assert len(as_images(np.stack([RGB, RGB]))) == 2
    assert len(as_images(RGB)) == len(as_images(GREY)) == len(as_images("a.png")) == 1
    assert as_images(["a.png", Path("b.png")]) == ["a.png", Path("b.png")]
    assert len(as_images(RGB for _ in range(3))) == 3  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a sequence of images, got int"):
        as_images(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("size", [(64, 64), (96, 64), (32, 96)])
def test_one_pixel(fit: str, size: tuple[int, int]) -> None:
    """Its colour is all there is; what is not image is 0."""
    image = np.array([[[255, 0, 51]]], np.uint8)
    prepare = Preprocess(size=None if fit == "native" else size, fit=fit)
    pixels, geometry = prepare(image, (16, 16))
    assert geometry.source == (1, 1)
    assert pixels.shape == ((3, 16, 16) if fit == "native" else (3, *size[::-1]))
    x0, y0, x1, y1 = (int(edge) for edge in geometry.content)
    colour = np.array([1, -1, -0.6]).reshape(3, 1, 1)
    np.testing.assert_allclose(pixels[:, y0:y1, x0:x1] - colour, 0, atol=1e-6)
    assert (x1 - x0) * (y1 - y0) > 0
    pixels[:, y0:y1, x0:x1] = 0
    assert not pixels.any()


@pytest.mark.parametrize("size", [(1, 5000), (5000, 1)])
def test_narrow_images(size: tuple[int, int]) -> None:
    image = np.full((*size, 3), 255, np.uint8)
    for fit in ("squash", "letterbox"):
        pixels, _ = Preprocess(size=(64, 64), fit=fit)(image, (16, 16))
        assert pixels.max() == 1
    native, geometry = Preprocess(size=None, fit="native")(image, (16, 16))
    assert sorted(native.shape) == [3, 16, 5008]
    assert geometry.size == native.shape[:0:-1]
    cropped, _ = Preprocess(size=(64, 64), fit="crop")(image, (16, 16))
    assert cropped.min() == 1
    with pytest.raises(InputError, match=r"too narrow for fit 'crop'.*use fit 'squash'"):
        Preprocess(size=(224, 224), fit="crop")(image, (16, 16))


def test_a_crop_is_resized_to_the_short_side_unless_told() -> None:
    plain = Preprocess(size=(64, 64), fit="crop")
    assert plain.geometry(256, 128).scale == (0.5, 0.5)
    assert replace(plain, resize_to=96).geometry(256, 128).scale == (0.75, 0.75)
    assert replace(plain, size=(64, 32)).geometry(256, 128).scale == (0.25, 0.25)


def test_large_inputs_are_refused() -> None:
    native = Preprocess(size=None, fit="native")
    side = int(MAX_INPUT**0.5)
    assert native.geometry(side, side, (16, 16)).size == (side, side)
    with pytest.raises(
        InputError, match=r"at most 16,777,216 pixels, got 4112 x 4096.*smaller size"
    ):
        native.geometry(side + 16, side, (16, 16))
    limited = replace(native, size=(64, 64))
    assert limited.geometry(side + 16, side, (16, 16)).size == (64, 64)
    assert MAX_PIXELS > MAX_INPUT
    with pytest.raises(InputError, match="at most"):
        Preprocess(size=(9000, 9000)).geometry(10, 10)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"fit": "stretch"}, "fit must be one of squash, crop, letterbox, native, got 'stretch'"),
        ({"resample": "cubic"}, "resample must be one of"),
        ({"size": None}, "fit 'squash' needs a size"),
        ({"size": 224}, r"size must be \(width, height\) in pixels, got 224"),
        ({"size": (0, 4)}, "size must be"),
        ({"size": (4, 4, 4)}, "size must be"),
        ({"size": (4.5, 4)}, "size must be"),
        ({"resize_to": 0}, "resize_to must be a length in pixels, got 0"),
        ({"resize_to": 2.5}, "resize_to must be"),
        ({"mean": (0.5,)}, "mean must be 3 numbers"),
        ({"mean": (0.5, 0.5, np.nan)}, "mean must be 3 numbers"),
        ({"std": (1, 0, 1)}, "std must be above 0"),
    ],
)
def test_preprocessing_that_makes_no_sense(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Preprocess(**values)


def test_an_image_of_the_right_size_is_not_resampled() -> None:
    image = np.random.default_rng(1).integers(0, 256, (32, 48, 3)).astype(np.uint8)
    for fit in FITS:
        pixels, geometry = Preprocess(size=(48, 48) if fit == "native" else (48, 32), fit=fit)(
            image, (16, 16)
        )
        np.testing.assert_allclose(pixels, image.transpose(2, 0, 1) / 127.5 - 1, atol=1e-6)
        assert geometry.visible_box == (0, 0, 1, 1)


def test_sizes_have_a_limit_of_their_own() -> None:
    with pytest.raises(InputError, match="size must have at most 16,777,216 pixels, got 100000 x"):
        Preprocess(size=(100_000, 100_000))


@pytest.mark.parametrize("mean", [0.5, None, "abc", (0, 0)])
def test_means_are_three_numbers(mean: Any) -> None:
    with pytest.raises(InputError, match="mean must be 3 numbers"):
        Preprocess(mean=mean)
