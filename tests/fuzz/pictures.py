"""Pictures good and bad, made by a seed: what a reader of images meets in folders of strangers."""

from __future__ import annotations

import io
import os
import struct
import zlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["Case", "Verdict", "pictures", "write"]

Verdict = Literal["good", "bad", "any"]

WIDTH, HEIGHT = 23, 17  # a turn shows, and no side is a multiple of 8
LOSSLESS = ("png", "bmp", "tif", "ppm", "webp")
SAVED: dict[str, tuple[str, dict[str, Any]]] = {
    "png": ("PNG", {}),
    "bmp": ("BMP", {}),
    "tif": ("TIFF", {}),
    "ppm": ("PPM", {}),
    "webp": ("WEBP", {"lossless": True, "exact": True}),
    "jpg": ("JPEG", {"quality": 100, "subsampling": 0}),
    "gif": ("GIF", {}),
}
_ORIENTATION = 0x0112


@dataclass(frozen=True, slots=True)
class Case:
    """A file, what reading it must come to, and its upright pixels where that is a picture.

    `make`, where it is there, puts something else than a plain file at a path.
    """

    name: str
    verdict: Verdict
    content: bytes = b""
    expected: Any = None
    atol: int = 0
    make: Callable[[Path], None] | None = None


def write(case: Case, folder: Path) -> Path:
    """Put a case into a folder."""
    path = folder / case.name
    if case.make is not None:
        case.make(path)
    else:
        path.write_bytes(case.content)
    return path


def pictures(seed: int, broken: int = 230) -> Iterator[Case]:
    """Yield the cases of a seed; `broken` says how many with bytes that are changed at random."""
    rng = np.random.default_rng(seed)
    plain = smooth(rng)
    files = {ending: saved(Image.fromarray(plain), ending) for ending in SAVED}
    yield from _modes(rng)
    yield from _turned(plain)
    yield from _appended(plain)
    yield from _moving(plain)
    yield from _named_otherwise(plain, files)
    yield from _cut(files, rng)
    yield from _changed(files, rng, broken)
    yield from _declared(plain, files)
    yield from _bombs(plain)
    yield from _texts()
    yield from _no_files()


def smooth(rng: np.random.Generator) -> Any:
    """A picture without noise, so that what is lost in a JPEG stays small; each side differs."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    a, b, c = rng.integers(0, 40, 3)
    return np.stack([a + 8 * x, b + 9 * y, c + 4 * (x + y)], 2).astype(np.uint8)


def saved(image: Image.Image, ending: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    kind, usual = SAVED[ending]
    image.save(stream, kind, **{**usual, **options})
    return stream.getvalue()


# --- good pictures -------------------------------------------------------------------------------


def _modes(rng: np.random.Generator) -> Iterator[Case]:
    """Every mode in every format that can hold it."""
    rgb, alpha = smooth(rng), rng.integers(0, 256, (HEIGHT, WIDTH), np.uint8)
    grey = rgb[..., 0]
    bits = grey > grey.mean()
    wide = rng.integers(0, 65536, (HEIGHT, WIDTH)).astype(np.uint16)
    images: dict[str, tuple[Image.Image, Any, tuple[str, ...]]] = {
        "rgb": (Image.fromarray(rgb), rgb, LOSSLESS),
        "l": (Image.fromarray(grey), _grey(grey), ("png", "bmp", "tif", "ppm", "gif")),
        "1": (Image.fromarray(bits), _grey(bits * 255), ("png", "bmp", "tif", "ppm", "gif")),
        "la": (_with_alpha(grey, alpha), _grey(grey), ("png", "tif")),
        "rgba": (_with_alpha(rgb, alpha), rgb, ("png", "tif", "webp", "bmp")),
        "i16": (Image.fromarray(wide), _grey(wide >> 8), ("png", "tif", "ppm")),
    }
    for mode, (image, expected, endings) in images.items():
        for ending in endings:
            yield Case(f"mode-{mode}.{ending}", "good", saved(image, ending), expected)
    for number, mode in enumerate(("I", "F")):
        unknown = Image.new(mode, (WIDTH, HEIGHT), 300)
        yield Case(f"mode-{mode.lower()}-{number}.tif", "bad", saved(unknown, "tif"))
    yield from _palettes((grey // 4).astype(np.uint8), rng)
    yield from _whites(rng)
    yield from _inks(rgb, alpha)
    yield from _packed(rgb)
    yield from _sizes()


def _palettes(index: Any, rng: np.random.Generator) -> Iterator[Case]:
    palette = rng.integers(0, 256, (256, 3), np.uint8)
    indexed = Image.fromarray(index).copy()
    indexed.putpalette(palette.tobytes())
    for ending in ("png", "bmp", "tif", "gif"):
        yield Case(f"mode-p.{ending}", "good", saved(indexed, ending), palette[index])
    for number, shown in enumerate((0, 7, b"\x10\x20", bytes(range(64)))):
        clear = saved(indexed, "png", transparency=shown)
        yield Case(f"mode-p-clear-{number}.png", "good", clear, palette[index])


def _whites(rng: np.random.Generator) -> Iterator[Case]:
    """Values of more than eight bits, and of other whites than the largest."""
    deep = rng.integers(0, 65536, (HEIGHT, WIDTH, 3)).astype(">u2")
    data = chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row.tobytes() for row in deep)))
    content = png(WIDTH, HEIGHT, data, depth=16)
    yield Case("mode-rgb16.png", "good", content, (deep >> 8).astype(np.uint8))
    for white in (255, 1000, 65535):
        kind = ">u2" if white > 255 else "u1"
        values = (deep.astype(int) % (white + 1)).astype(kind)
        content = f"P6 {WIDTH} {HEIGHT} {white}\n".encode() + values.tobytes()
        yield Case(f"white-{white}-colour.ppm", "good", content, values / white * 255, 1)
        content = f"P5 {WIDTH} {HEIGHT} {white}\n".encode() + values[..., 0].tobytes()
        seen = _grey(values[..., 0] / white * 255)
        yield Case(f"white-{white}-grey.ppm", "good", content, seen, 1)


def _inks(rgb: Any, alpha: Any) -> Iterator[Case]:
    cmyk = Image.fromarray(np.dstack([rgb, alpha]), "CMYK")
    inks = 255 - np.dstack([rgb, alpha]).astype(float)
    printed = np.rint(inks[..., :3] * inks[..., 3:] / 255)
    yield Case("mode-cmyk.tif", "good", saved(cmyk, "tif"), printed, 1)
    flat = Image.new("CMYK", (WIDTH, HEIGHT), (40, 80, 120, 20))
    seen = np.tile(np.rint((255 - np.array([40, 80, 120])) * 235 / 255), (HEIGHT, WIDTH, 1))
    yield Case("mode-cmyk.jpg", "good", saved(flat, "jpg"), seen, 3)


def _packed(rgb: Any) -> Iterator[Case]:
    """Ways to pack the same pixels."""
    image, grey = Image.fromarray(rgb), rgb[..., 0]
    yield Case("mode-rgb.jpg", "good", saved(image, "jpg"), rgb, 8)
    yield Case("mode-l.jpg", "good", saved(Image.fromarray(grey), "jpg"), _grey(grey), 6)
    yield Case("progressive.jpg", "good", saved(image, "jpg", progressive=True), rgb, 8)
    for packed in ("tiff_lzw", "tiff_adobe_deflate", "packbits", "raw"):
        content = saved(image, "tif", compression=packed)
        yield Case(f"packed-{packed}.tif", "good", content, rgb)


def _sizes() -> Iterator[Case]:
    for size in ((1, 1), (1, 40), (40, 1), (3000, 1)):
        dot = np.full((size[1], size[0], 3), 77, np.uint8)
        for ending in ("png", "bmp", "tif", "ppm", "webp"):
            name = f"size-{size[0]}x{size[1]}.{ending}"
            yield Case(name, "good", saved(Image.fromarray(dot), ending), dot)


def _appended(plain: Any) -> Iterator[Case]:
    """JPEGs with something behind their end mark, or with another one inside."""
    image = Image.fromarray(plain)
    film = np.random.default_rng(0).bytes(8_000_000)  # has the mark of a scan 120 times
    for kind, late in (("usual", False), ("late", True)):
        content = saved(image, "jpg", progressive=late)
        yield Case(f"film-behind-{kind}.jpg", "good", content + film, plain, 8)
        yield Case(f"jpeg-behind-{kind}.jpg", "good", content + 50 * content, plain, 8)
        small = b"\xff\xe1" + struct.pack(">H", 2 + len(content)) + content
        yield Case(f"jpeg-in-{kind}.jpg", "good", content[:2] + small * 40 + content[2:], plain, 8)
        filled = content[:-2] + b"\xff" * 70_000 + b"\xff\xd9"
        yield Case(f"filled-{kind}.jpg", "good", filled, plain, 8)


def _grey(values: Any) -> Any:
    return np.repeat(np.asarray(values)[..., None], 3, axis=2).astype(np.uint8)


def _with_alpha(values: Any, alpha: Any) -> Image.Image:
    return Image.fromarray(np.dstack([values, alpha]))


def upright(pixels: Any, orientation: int) -> Any:
    """Turn stored pixels as EXIF says: rows and columns swapped from 5 on, then mirrored."""
    turned = pixels.transpose(1, 0, 2) if orientation > 4 else pixels
    left_right, top_down = orientation in (2, 3, 6, 7), orientation in (3, 4, 7, 8)
    turned = turned[:, ::-1] if left_right else turned
    return turned[::-1] if top_down else turned


def _turned(plain: Any) -> Iterator[Case]:
    for ending in ("jpg", "png", "tif", "webp"):
        for orientation in range(1, 9):
            exif = Image.Exif()
            exif[_ORIENTATION] = orientation
            content = saved(Image.fromarray(plain), ending, exif=exif)
            name, expected = f"turned-{orientation}.{ending}", upright(plain, orientation)
            yield Case(name, "good", content, expected, 8 if ending == "jpg" else 0)
    for odd in (0, 9, 255, 65535):
        exif = Image.Exif()
        exif[_ORIENTATION] = odd
        content = saved(Image.fromarray(plain), "png", exif=exif)
        yield Case(f"turned-odd-{odd}.png", "good", content, plain)


def _moving(plain: Any) -> Iterator[Case]:
    """Of several pictures the first counts, however many there are."""
    first, other = Image.fromarray(plain), Image.new("RGB", (WIDTH, HEIGHT), "white")
    for ending in ("png", "gif", "webp", "tif"):
        for count in (1, 30):
            more = {"save_all": True, "append_images": [other] * count}
            if ending != "tif":
                more["duration"] = 20
            content = saved(first, ending, **more)
            read = np.asarray(first.quantize(256).convert("RGB")) if ending == "gif" else plain
            name = f"moving-{count}.{ending}"
            yield Case(name, "good", content, read, 40 if ending == "gif" else 0)
    dot = saved(Image.new("L", (1, 1)), "gif")
    frames = dot[:-1] + dot[dot.index(b"\x2c") : -1] * 20_000 + dot[-1:]
    yield Case("thousands.gif", "good", frames, np.zeros((1, 1, 3), np.uint8))
    yield Case("thousands.tif", "good", _tiff_of_many(plain, 20_000), plain)
    stream = io.BytesIO()
    first.save(stream, "MPO", save_all=True, append_images=[other], quality=100, subsampling=0)
    yield Case("several.jpg", "good", stream.getvalue(), plain, 8)


def _named_otherwise(plain: Any, files: dict[str, bytes]) -> Iterator[Case]:
    """What a file is shows by its content, whatever its ending."""
    for true in SAVED:
        for said in SAVED:
            if true != said and true in LOSSLESS:
                yield Case(f"is-{true}.{said}", "good", files[true], plain)
    for true in ("jpg", "gif"):
        atol = 8 if true == "jpg" else 60
        yield Case(f"is-{true}.PNG", "good", files[true], plain, atol)


# --- broken --------------------------------------------------------------------------------------


def _cut(files: dict[str, bytes], rng: np.random.Generator) -> Iterator[Case]:
    """Cut off at many places; what lies behind the pixels may be missing, and nothing else."""
    for ending, content in files.items():
        places = {0, 1, 2, 3, 4, 8, 12, 16, 24, 33, len(content) - 40, len(content) - 1}
        places |= set(rng.integers(1, max(len(content) * 9 // 10, 2), 10).tolist())
        for place in sorted(place for place in places if 0 <= place < len(content)):
            enough = place >= len(content) - 24  # checksums and end marks
            yield Case(f"cut-{place}.{ending}", "any" if enough else "bad", content[:place])


def _changed(files: dict[str, bytes], rng: np.random.Generator, count: int) -> Iterator[Case]:
    """Bytes changed, put in, taken out and swapped at random."""
    endings = sorted(files)
    for number in range(count):
        ending = endings[number % len(endings)]
        content = bytearray(files[ending])
        for _ in range(int(rng.integers(1, 9))):
            place = int(rng.integers(0, max(len(content), 1)))
            match int(rng.integers(0, 4)):
                case 0 if content:
                    content[place] ^= 1 << int(rng.integers(0, 8))
                case 1:
                    content[place : place + 4] = b"\xff\xff\xff\xff"
                case 2:
                    content[place:place] = rng.bytes(int(rng.integers(1, 30)))
                case _:
                    del content[place : place + int(rng.integers(1, 30))]
        yield Case(f"changed-{number}.{ending}", "any", bytes(content))


# --- sizes that are declared ---------------------------------------------------------------------


def chunk(kind: bytes, data: bytes) -> bytes:
    """A chunk of a PNG with the right checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, *chunks: bytes, depth: int = 8, colour: int = 2) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"".join((b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", header), *chunks, chunk(b"IEND", b"")))


def _declared(plain: Any, files: dict[str, bytes]) -> Iterator[Case]:
    """Few bytes that declare many pixels, or none; what they hold is too little for both."""
    tiny = chunk(b"IDAT", zlib.compress(plain.tobytes()))
    sizes = [(0, 0), (0, 9), (9, 0), (8900, 8900), (10**4, 10**5), (2**31 - 1, 2**31 - 1)]
    for width, height in [*sizes, (1, 2**31 - 1), (2**31 - 1, 1), (2**32 - 1, 3)]:
        yield Case(f"declares-{width}x{height}.png", "bad", png(width, height, tiny))
        bmp = bytearray(files["bmp"])
        struct.pack_into("<II", bmp, 18, width % 2**31, height % 2**31)
        yield Case(f"declares-{width}x{height}.bmp", "bad", bytes(bmp))
        ppm = f"P6 {width} {height} 255\n".encode() + plain.tobytes()
        yield Case(f"declares-{width}x{height}.ppm", "bad", ppm)
        yield Case(f"declares-{width}x{height}.tif", "bad", _tiff(width, height, plain.tobytes()))
        small = min(width, 65535), min(height, 65535)
        # A GIF's frame need not cover its screen, and tells the size where that is 0.
        gif = bytearray(files["gif"])
        struct.pack_into("<HH", gif, 6, *small)
        at = gif.index(b"\x2c")
        struct.pack_into("<HH", gif, at + 5, *small)
        yield Case(f"declares-{width}x{height}.gif", "any", bytes(gif))
        jpg = bytearray(files["jpg"])
        struct.pack_into(">HH", jpg, jpg.index(b"\xff\xc0") + 5, *small[::-1])
        # Rows that are missing are grey in a JPEG of some decoders: never here.
        yield Case(f"declares-{width}x{height}.jpg", "bad", bytes(jpg))
    for width, height in ((16384, 16384), (2**24, 256), (2**24, 1), (1, 2**24)):
        yield Case(f"declares-{width}x{height}.webp", "bad", _webp(files["webp"], width, height))
    odd = ("P6 x 3 255\n", "P6 -3 3 255\n", "P6 3 3 0\n", "P6 3 3 70000\n", "P7\n", "P6 3")
    for number, header in enumerate(odd):
        yield Case(f"header-{number}.ppm", "bad", header.encode() + bytes(27))
    yield Case("digits.ppm", "bad", b"P6 " + b"9" * 50_000 + b" 3 255\n" + bytes(27))
    yield Case("plain-too-large.ppm", "bad", b"P3 2 2 255\n" + b"9" * 40 + b" 1" * 20)
    for depth, colour in ((8, 1), (3, 2), (16, 3), (8, 9), (0, 0)):
        content = png(WIDTH, HEIGHT, tiny, depth=depth, colour=colour)
        yield Case(f"depth-{depth}-{colour}.png", "bad", content)


def _tiff(width: int, height: int, data: bytes, *more: tuple[int, int, int, int]) -> bytes:
    """A TIFF of one uncompressed strip with the tags given."""
    tags = [
        (256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 2),
        (273, 4, 1, 8), (277, 3, 1, 3), (278, 4, 1, height), (279, 4, 1, len(data)),
    ]  # fmt: skip
    kept = {tag[0]: tag for tag in [*tags, *more]}
    where = 8 + len(data) + len(data) % 2
    ifd = struct.pack("<H", len(kept))
    for tag, kind, count, value in sorted(kept.values()):
        ifd += struct.pack("<HHI", tag, kind, count) + struct.pack("<I", value)
    body = data + b"\0" * (len(data) % 2) + ifd + struct.pack("<I", where)  # the next is itself
    return b"II*\0" + struct.pack("<I", where) + body


def _tiff_of_many(pixels: Any, count: int) -> bytes:
    """A TIFF whose picture is there many times: each list of tags leads to the next."""
    content = _tiff(WIDTH, HEIGHT, pixels.tobytes())
    (first,) = struct.unpack_from("<I", content, 4)
    tags, start = content[first:-4], len(content)
    body = [content[:-4], struct.pack("<I", start)]
    for number in range(1, count):
        body += [tags, struct.pack("<I", start + number * (len(tags) + 4))]
    return b"".join([*body, tags, bytes(4)])


def _webp(content: bytes, width: int, height: int) -> bytes:
    """A moving WebP whose canvas is as large as declared, with one small frame."""
    data = content[12:]
    corner = struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    canvas = b"VP8X" + struct.pack("<I", 10) + b"\x02\0\0\0" + corner
    moving = b"ANIM" + struct.pack("<I", 6) + bytes(6)
    frame = bytes(6) + bytes([WIDTH - 1, 0, 0, HEIGHT - 1, 0, 0, 20, 0, 0, 0]) + data
    body = b"WEBP" + canvas + moving + b"ANMF" + struct.pack("<I", len(frame)) + frame
    return b"RIFF" + struct.pack("<I", len(body)) + body


# --- bombs ---------------------------------------------------------------------------------------


def _zeros(mega: int) -> bytes:
    """Megabytes of zeros in a thousandth of them."""
    packer = zlib.compressobj(1)
    block = bytes(1 << 20)
    return b"".join(packer.compress(block) for _ in range(mega)) + packer.flush()


def _bombs(plain: Any) -> Iterator[Case]:
    rows = b"".join(b"\0" + row.tobytes() for row in plain)
    data = chunk(b"IDAT", zlib.compress(rows))
    bomb = _zeros(100)
    yield Case("too-much-data.png", "any", png(WIDTH, HEIGHT, chunk(b"IDAT", bomb)))
    for kind, head in ((b"zTXt", b"a\0\0"), (b"iTXt", b"a\0\1\0\0\0"), (b"iCCP", b"a\0\0")):
        name = f"bomb-{kind.decode()}.png"
        yield Case(name, "any", png(WIDTH, HEIGHT, chunk(kind, head + bomb), data))
    many = [chunk(b"zTXt", b"a\0\0" + _zeros(1)[:-6])] * 300
    yield Case("bomb-many-texts.png", "any", png(WIDTH, HEIGHT, *many, data))
    several = [chunk(b"tEXt", b"k%d\0v" % n) for n in range(20_000)]
    yield Case("many-chunks.png", "good", png(WIDTH, HEIGHT, *several, data), plain)
    frames = chunk(b"acTL", struct.pack(">II", 2**31 - 1, 0))
    yield Case("declares-frames.png", "any", png(WIDTH, HEIGHT, frames, data))
    yield Case("loop.tif", "good", _tiff(WIDTH, HEIGHT, plain.tobytes()), plain)
    for tag in ((273, 4, 2**31, 8), (279, 4, 2**32 - 1, 8), (700, 1, 2**31, 0), (34665, 4, 1, 8)):
        content = _tiff(WIDTH, HEIGHT, plain.tobytes(), tag)
        yield Case(f"tag-{tag[0]}.tif", "any", content)
    yield Case("strip-past-end.tif", "bad", _tiff(WIDTH, HEIGHT, b"xx", (279, 4, 1, 2**31)))
    for samples in (0, 5, 60_000):
        tags = ((277, 3, 1, samples), (258, 3, 1, 8))
        yield Case(f"samples-{samples}.tif", "any", _tiff(WIDTH, HEIGHT, plain.tobytes(), *tags))
    yield from _many_scans(Image.fromarray(plain).resize((64, 64)))
    yield Case("rle.bmp", "any", _bmp_rle(8, b"\0\2\xff\xff" * 40))
    yield Case("rle-wide.bmp", "any", _bmp_rle(79_000_000, b"\0\2\0\xff" * 40))
    junk = saved(Image.fromarray(plain), "jpg")
    yield Case("junk.jpg", "bad", b"\xff\xd8" + bytes(300_000) + junk[2:200])


def _many_scans(image: Image.Image) -> Iterator[Case]:
    """JPEGs whose last scan is there thousands of times: each is a whole pass."""
    late, usual = (saved(image, "jpg", progressive=way) for way in (True, False))
    last, end = late.rindex(b"\xff\xda"), b"\xff\xd9"
    many = late[:last] + late[last:-2] * 4000
    yield Case("scans.jpg", "bad", many + end)
    yield Case("scans-film.jpg", "bad", many + end + bytes(1000) + late)
    yield Case("scans-no-end.jpg", "bad", many)
    yield Case("scans-filled.jpg", "bad", late[:last] + (b"\xff" * 9 + late[last:-2]) * 4000 + end)
    # Where data restart, a decoder looks behind a mark that it does not know.
    again = b"\xff\xdd\x00\x04\x00\x01"
    hidden = late[last:-2] + b"\xff\x02\xff\xff" + late[last:-2] * 4000
    yield Case("scans-hidden.jpg", "bad", late[:last] + again + hidden + end)
    # One colour at a time, without any data.
    one = b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00"
    yield Case("scans-usual.jpg", "bad", usual[: usual.index(b"\xff\xda")] + one * 4000 + end)
    notes = b"\xff\xfe\x00\x02" * 200_000
    yield Case("segments.jpg", "bad", late[:-2] + notes + end)
    yield Case("segments-first.jpg", "bad", late[:2] + notes + late[2:])
    for kind, mark in (("zeros", bytes(3)), ("restarts", b"\xff\xd3"), ("fill", b"\xff")):
        junk = late[:2] + b"\xff\xfe\x00\x02" + mark * 1_100_000
        yield Case(f"junk-{kind}.jpg", "bad", junk)
        yield Case(f"junk-{kind}-first.jpg", "bad", junk + late[2:])


def _bmp_rle(width: int, data: bytes) -> bytes:
    info = struct.pack("<IiiHHIIiiII", 40, width, 1, 1, 8, 1, len(data), 0, 0, 2, 0)
    head = struct.pack("<2sIHHI", b"BM", 62 + len(data), 0, 0, 62)
    return head + info + b"\0\0\0\0\xff\xff\xff\0" + data


# --- no pictures at all --------------------------------------------------------------------------

_TEXTS: dict[str, bytes] = {
    "text": b"not an image",
    "html": b"<!doctype html><img src=x onerror=alert(1)>",
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg"><image href="file:///etc/passwd"/></svg>',
    "pdf": b"%PDF-1.7\n1 0 obj\n<< /Type /Catalog >>\nendobj\n",
    "eps": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\n"
    b"(/tmp/sightline-fuzz-eps) (w) file closefile showpage\n",
    "empty": b"",
    "zeros": bytes(4096),
    "ones": b"\xff" * 4096,
    "zip": b"PK\x03\x04" + bytes(64),
    "gzip": b"\x1f\x8b\x08" + bytes(64),
    "elf": b"\x7fELF" + bytes(64),
    "ico": b"\0\0\1\0\1\0\x10\x10\0\0\1\0\x20\0" + bytes(64),
    "psd": b"8BPS\0\1" + bytes(64),
    "fits": b"SIMPLE  =                    T" + bytes(64),
    "xpm": b"/* XPM */\nstatic char *x[] = {};",
    "wmf": b"\xd7\xcd\xc6\x9a\0\0" + bytes(64),
    "riff": b"RIFF\xff\xff\xff\xffWEBP" + bytes(64),
    "tiff-big": b"II+\0\x08\0\0\0" + b"\xff" * 64,
}


def _texts() -> Iterator[Case]:
    for kind, content in _TEXTS.items():
        for ending in ("jpg", "png"):
            yield Case(f"holds-{kind}.{ending}", "bad", content)


def _no_files() -> Iterator[Case]:
    """What would be waited for, or never end."""
    yield Case("folder.png", "bad", make=lambda path: path.mkdir())
    yield Case("pipe.png", "bad", make=lambda path: os.mkfifo(path))
    yield Case("zero.png", "bad", make=lambda path: path.symlink_to("/dev/zero"))
    yield Case("random.jpg", "bad", make=lambda path: path.symlink_to("/dev/urandom"))
    yield Case("none.png", "bad", make=lambda path: path.symlink_to("nowhere.png"))
    yield Case("loop.png", "bad", make=lambda path: path.symlink_to("loop.png"))
    yield Case("long.png", "bad", make=lambda path: path.symlink_to("a" * 200))
    for ending, head in (("png", b"\x89PNG\r\n\x1a\n"), ("webp", b"RIFF\0\0\0\0WEBPVP8 ")):
        yield Case(f"sparse.{ending}", "bad", make=partial(_sparse, head))
    yield Case("sparse.jpg", "bad", make=partial(_sparse, b"\xff\xd8"))


def _sparse(head: bytes, path: Path) -> None:
    """A file of 50 GB that takes no room."""
    with path.open("wb") as stream:
        stream.write(head)
        stream.truncate(50 * 10**9)
