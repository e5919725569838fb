"""What pictures share: letters that fit, boxes beside and below each other, and files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from PIL import Image, ImageDraw, ImageFont

from sightline.data.outputs import check_output, replacing

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence
    from pathlib import Path

__all__ = [
    "Block",
    "FAINT",
    "INK",
    "Item",
    "WHITE",
    "beside",
    "check_picture_path",
    "font",
    "padded",
    "paint",
    "readable",
    "shortened",
    "stacked",
    "text_block",
    "wrapped",
    "write_picture",
]

WHITE, INK, FAINT = (255, 255, 255), (30, 30, 30), (110, 110, 110)
TEXT = 12

_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG"}


# --- letters -------------------------------------------------------------------------------------


@cache
def font(size: int = TEXT) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Return the letters of all pictures."""
    return ImageFont.load_default(size)


def readable(text: str) -> str:
    """Return a text in characters that the letters have: accents are dropped, others spelt out.

    Examples
    --------
    >>> readable("Köln, 2 × 3")
    'Koln, 2 x 3'
    """
    return "".join(map(_drawable, text.replace("×", "x").replace("−", "-")))


@cache
def _drawable(letter: str) -> str:
    if _has(letter):
        return letter
    plain = "".join(filter(_has, normalize("NFKD", letter)))
    return plain or letter.encode("unicode_escape").decode()


@cache
def _has(letter: str) -> bool:
    """Return whether a character has a shape of its own, not the box that stands for any other."""
    one, none = (font().getmask(text) for text in (letter, "\U0010fffd"))
    return letter.isprintable() and (one.size, bytes(one)) != (none.size, bytes(none))


def shortened(text: str, width: float, size: int = TEXT) -> str:
    """Return a text that fits, its middle left out where it is too long."""
    letters, kept = font(size), len(text)
    short = text
    while letters.getlength(short) > width and kept > 2:
        kept -= 1
        short = f"{text[: (kept + 1) // 2]}…{text[len(text) - kept // 2 :]}"
    return short


def wrapped(text: str, width: float, size: int = TEXT) -> list[str]:
    """Return a text in lines that fit, broken between words; inside those that are too long.

    Examples
    --------
    >>> wrapped("attention of the class token", 80)
    ['attention of', 'the class', 'token']
    """
    letters, lines = font(size), [""]
    for word in text.split():
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if letters.getlength(joined) <= width:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        for letter in word:
            if lines[-1] and letters.getlength(lines[-1] + letter) > width:
                lines.append("")
            lines[-1] += letter
    return lines


# --- boxes ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Item:
    """A line of text or a picture in its place.

    Attributes
    ----------
    box : tuple of 4 ints
        Left, top, right, bottom in pixels.
    content : str or PIL.Image.Image
        What is drawn there.
    ink : tuple of 3 ints
        Colour of the text.
    size : int
        Of its letters.
    """

    box: tuple[int, int, int, int]
    content: str | Image.Image
    ink: tuple[int, int, int] = INK
    size: int = TEXT

    def moved(self, right: int, down: int) -> Item:
        """Return the item in another place."""
        x0, y0, x1, y1 = self.box
        return replace(self, box=(x0 + right, y0 + down, x1 + right, y1 + down))


@dataclass(frozen=True, slots=True)
class Block:
    """Items that stand together, in a rectangle that holds all of them."""

    width: int = 0
    height: int = 0
    items: tuple[Item, ...] = field(default=(), repr=False)

    def moved(self, right: int, down: int) -> tuple[Item, ...]:
        """Return the items in another place."""
        return tuple(item.moved(right, down) for item in self.items)

    @classmethod
    def of(cls, picture: Image.Image) -> Block:
        """Return the block of one picture."""
        return cls(*picture.size, (Item((0, 0, *picture.size), picture),))


def text_block(text: str, width: int, *, ink: Any = INK, size: int = TEXT) -> Block:
    """Return a text in as many lines as it takes; no line is wider than `width`."""
    lines, high = wrapped(readable(text), width, size) if text else [], size + 4
    items = []
    for number, line in enumerate(lines):
        wide = min(width, -int(-font(size).getlength(line) // 1))
        items.append(Item((0, number * high, wide, (number + 1) * high), line, ink, size))
    return Block(max((item.box[2] for item in items), default=0), len(lines) * high, tuple(items))


def stacked(blocks: Sequence[Block], gap: int = 0) -> Block:
    """Return blocks below each other; empty ones take no room."""
    items, top, kept = list[Item](), 0, [block for block in blocks if block.height]
    for block in kept:
        items += block.moved(0, top)
        top += block.height + gap
    width = max((block.width for block in kept), default=0)
    return Block(width, max(0, top - gap), tuple(items))


def beside(blocks: Sequence[Block], gap: int = 0) -> Block:
    """Return blocks side by side, their tops level."""
    items, left = list[Item](), 0
    for block in blocks:
        items += block.moved(left, 0)
        left += block.width + gap
    height = max((block.height for block in blocks), default=0)
    return Block(max(0, left - gap), height, tuple(items))


def padded(
    block: Block, *, width: int = 0, height: int = 0, border: int = 0, top: int = 0
) -> Block:
    """Return a block with room around it: at least `width` x `height`, then a border."""
    return Block(
        max(block.width, width) + 2 * border,
        max(block.height, height) + 2 * border + top,
        block.moved(border, border + top),
    )


def paint(block: Block) -> Image.Image:
    """Return a block as a picture in RGB."""
    page = Image.new("RGB", (max(1, block.width), max(1, block.height)), WHITE)
    draw = ImageDraw.Draw(page)
    for item in block.items:
        if isinstance(item.content, str):
            draw.text(item.box[:2], item.content, fill=item.ink, font=font(item.size))
        else:
            page.paste(item.content, item.box[:2])
    return page


# --- files ---------------------------------------------------------------------------------------


def check_picture_path(path: str | os.PathLike[str], what: str = "a picture") -> Path:
    """Return `path` when a picture can be written there.

    Raises
    ------
    InputError
        If the ending is not one of .png, .jpg, .jpeg, or the folder does not exist.
    """
    return check_output(path, what, _FORMATS)


def write_picture(picture: Image.Image, path: Path) -> None:
    """Write a picture as its ending says; a file of that name is replaced in one step."""
    with replacing(path) as part:
        picture.save(part, _FORMATS[path.suffix.lower()], quality=92)
