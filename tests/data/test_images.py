from __future__ import annotations

import os
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from sightline.core import InputError
from sightline.core.memory import is_out_of_memory
from sightline.data import images
from sightline.data.images import image_size, inside, is_image, read_image

# Three columns by two rows: a turn shows.
PIXELS = np.arange(18, dtype=np.uint8).reshape(2, 3, 3) * 14

# What EXIF's orientations do to the stored pixels to show them upright.
UPRIGHT: dict[int, Any] = {
    1: lambda p: p,
    2: lambda p: p[:, ::-1],
    3: lambda p: p[::-1, ::-1],
    4: lambda p: p[::-1],
    5: lambda p: p.transpose(1, 0, 2),
    6: lambda p: np.rot90(p, -1),
    7: lambda p: p.transpose(1, 0, 2)[::-1, ::-1],
    8: lambda p: np.rot90(p),
}


def _save(path: Path, pixels: Any = PIXELS, **options: Any) -> Path:
    Image.fromarray(pixels).save(path, **options)
    return path


@pytest.mark.parametrize("name", ["a.png", "a.bmp", "a.tif", "a.ppm", "a.webp", "A.PNG"])
def test_formats_without_loss(tmp_path: Path, name: str) -> None:
    path = _save(tmp_path / name, **({"lossless": True} if name.endswith("webp") else {}))
    found = read_image(path)
    assert found.dtype == np.uint8
    assert (image_size(path), is_image(path)) == ((3, 2), True)
    np.testing.assert_array_equal(found, PIXELS)


@pytest.mark.parametrize("name", ["a.jpg", "a.jpeg", "a.gif"])
def test_formats_with_loss(tmp_path: Path, name: str) -> None:
    path = _save(tmp_path / name, np.full((2, 3, 3), 128, np.uint8))
    assert image_size(path) == (3, 2)
    np.testing.assert_allclose(read_image(path), np.full((2, 3, 3), 128), atol=2)


def test_a_jpeg_with_several_pictures(tmp_path: Path) -> None:
    first = Image.new("RGB", (8, 8), "white")
    first.save(tmp_path / "a.jpg", "MPO", save_all=True, append_images=[Image.new("RGB", (8, 8))])
    assert read_image(tmp_path / "a.jpg").min() > 250


@pytest.mark.parametrize("ending", ["png", "tif", "webp", "jpg"])
@pytest.mark.parametrize("orientation", sorted(UPRIGHT))
def test_images_are_turned_upright(tmp_path: Path, orientation: int, ending: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    more: dict[str, dict[str, Any]] = {"webp": {"lossless": True}, "jpg": {"quality": 100}}
    path = _save(tmp_path / f"a.{ending}", exif=exif, **more.get(ending, {}))
    expected = UPRIGHT[orientation](PIXELS)
    if ending == "jpg":
        assert read_image(path).shape == expected.shape
    else:
        np.testing.assert_array_equal(read_image(path), expected)
    assert image_size(path) == expected.shape[1::-1]


@pytest.mark.parametrize(
    ("mode", "pixel", "expected"),
    [
        ("L", 7, (7, 7, 7)),
        ("LA", (7, 0), (7, 7, 7)),
        ("1", 1, (255, 255, 255)),
        ("RGBA", (1, 2, 3, 0), (1, 2, 3)),
        ("I;16", 0x1280, (0x12, 0x12, 0x12)),
    ],
)
def test_modes_become_rgb(tmp_path: Path, mode: str, pixel: Any, expected: Any) -> None:
    Image.new(mode, (3, 2), pixel).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_image(tmp_path / "a.png"), np.tile(expected, (2, 3, 1)))


@pytest.mark.parametrize(("kind", "what"), [(np.int32, "32 bits"), (np.float32, "floating")])
def test_numbers_whose_white_is_unknown_are_refused(tmp_path: Path, kind: Any, what: str) -> None:
    path = _save(tmp_path / "a.tif", np.full((2, 3), 200, kind))
    assert image_size(path) == (3, 2)
    with pytest.raises(InputError, match=rf"a\.tif: holds .*{what}"):
        read_image(path)


def test_whatever_pillow_raises_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise TypeError("strange tag")

    path = _save(tmp_path / "a.png")
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", fail)
    with pytest.raises(InputError, match=r"a\.png: cannot be read as an image: strange tag"):
        read_image(path)


@pytest.mark.parametrize(
    "error", [OSError(12, "Cannot allocate memory"), MemoryError(), RuntimeError("bad_alloc")]
)
@pytest.mark.parametrize("place", ["PIL.Image.open", "PIL.ImageFile.ImageFile.load"])
def test_a_lack_of_memory_is_no_fault_of_the_image(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, error: Exception
) -> None:
    path = _save(tmp_path / "a.png")

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(place, fail)
    with pytest.raises(type(error)) as caught:
        read_image(path)
    monkeypatch.undo()
    assert not isinstance(caught.value, InputError)


def test_an_image_named_after_it_is_no_lack_of_memory(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_image(tmp_path / "out of memory.png")
    assert not is_out_of_memory(caught.value)


def test_palettes(tmp_path: Path) -> None:
    image = Image.new("P", (3, 2), 1)
    image.putpalette([0, 0, 0, 9, 8, 7])
    for options in ({}, {"transparency": 0}, {"transparency": b"\x10\x20"}):
        image.save(tmp_path / "a.png", **options)
        np.testing.assert_array_equal(read_image(tmp_path / "a.png"), np.tile((9, 8, 7), (2, 3, 1)))


# --- bad files -----------------------------------------------------------------------------------


def _chunk(kind: bytes, data: bytes) -> bytes:
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def _declare(path: Path, width: int, height: int) -> Path:
    """Write a PNG of a few bytes that declares a size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(b"")) + _chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + data)
    return path


@pytest.mark.parametrize("size", [(30_000, 30_000), (10_000, 8_001), (2**31 - 1, 2**31 - 1)])
def test_a_few_bytes_that_declare_a_huge_image(tmp_path: Path, size: tuple[int, int]) -> None:
    path = _declare(tmp_path / "a.png", *size)
    for function in (read_image, image_size):
        with pytest.raises(InputError, match=r"a\.png: .*") as caught:
            function(path)
        assert "at most 80,000,000 pixels" in str(caught.value)


def test_the_largest_size_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MAX_PIXELS", 6)
    assert read_image(_save(tmp_path / "b.png")).shape == (2, 3, 3)
    monkeypatch.setattr(images, "MAX_PIXELS", 5)
    with pytest.raises(InputError, match="at most 5 pixels, the file declares 3 x 2"):
        read_image(tmp_path / "b.png")


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.bmp", "a.tif", "a.webp", "a.gif"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.9])
def test_truncated_images(tmp_path: Path, name: str, share: float) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    path = _save(tmp_path / name, noise)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match=rf"{name}: cannot be read as an image"):
        read_image(path)


def test_files_that_are_no_images(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("not an image")
    with pytest.raises(InputError, match=r"a\.png: cannot be read as an image"):
        read_image(tmp_path / "a.png")
    with pytest.raises(InputError, match=r"none\.png: no such image"):
        image_size(tmp_path / "none.png")
    with pytest.raises(InputError, match="is not a file"):
        read_image(tmp_path)
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(InputError, match=r"pipe\.png: is not a file"):
        read_image(tmp_path / "pipe.png")
    with pytest.raises(InputError, match=r"http://host/a\.png: no such image"):
        read_image("http://host/a.png")


def test_formats_that_call_other_programs_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n")
    with pytest.raises(InputError, match=r"a\.jpg: cannot be read as an image"):
        read_image(tmp_path / "a.jpg")


# --- names ---------------------------------------------------------------------------------------


def test_names_inside(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.jpg", "sub/a.jpg", "sub/../a.jpg", "./a.jpg", "..a.jpg"):
        assert inside(tmp_path, name) == tmp_path / name
    assert inside(tmp_path, str(tmp_path / "a.jpg")) == tmp_path / "a.jpg"


@pytest.mark.parametrize("name", ["../a.jpg", "sub/../../a.jpg", "/etc/passwd", "link/a.jpg", "x"])
def test_names_that_leave(tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "link").symlink_to(tmp_path)
    (root / "x").symlink_to(Path("..", "secret"))
    with pytest.raises(InputError, match="leaves the folder"):
        inside(root, name)


def test_a_folder_of_almost_the_same_name_is_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root2").mkdir()
    with pytest.raises(InputError, match="leaves the folder"):
        inside(tmp_path / "root", os.path.join("..", "root2", "a.jpg"))  # noqa: PTH118


def test_names_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not the name of a file"):
        inside(tmp_path, "a\0b")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError, match=r"is not the name of a file|leaves"):
        inside(tmp_path, "loop/a.jpg")
