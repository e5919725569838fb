"""Letters that fit, and boxes that stand beside and below each other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from sightline.data.pictures import (
    Block,
    beside,
    font,
    padded,
    paint,
    readable,
    stacked,
    text_block,
    wrapped,
)

RED = Image.new("RGB", (30, 20), (255, 0, 0))
BLUE = Image.new("RGB", (10, 40), (0, 0, 255))


@pytest.mark.parametrize("width", [10, 40, 100, 1000])
@pytest.mark.parametrize(
    "text", ["a", "attention of the class token to each patch", "x" * 80, "short " + "y" * 50, "  "]
)
def test_lines_fit_and_keep_every_letter(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(font().getlength(line) <= width or len(line) == 1 for line in lines)
    for line, below in pairwise(lines):  # no line is ended early
        assert font().getlength(f"{line} {below.split()[0]}") > width or len(line) == 1


def test_words_are_kept_whole_where_they_fit() -> None:
    width = font().getlength("attention of")
    assert wrapped("attention of the patch", width) == ["attention of", "the patch"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Köln, Gdańsk", "Koln, Gdansk"),
        ("3 × 4 − 1", "3 x 4 - 1"),
        ("中", r"\u4e2d"),
        ("a\nb\x1b", r"a\nb\x1b"),
        ("cls · layer …", "cls · layer …"),
    ],
)
def test_characters_without_letters_are_spelt_out(text: str, shown: str) -> None:
    assert readable(text) == shown


def test_blocks_are_placed_where_they_are_drawn() -> None:
    block = padded(
        beside([Block.of(RED), stacked([Block.of(BLUE), Block(), Block.of(RED)], 5)], 7), border=3
    )
    assert (block.width, block.height) == (30 + 7 + 30 + 6, 40 + 5 + 20 + 6)
    assert [item.box for item in block.items] == [
        (3, 3, 33, 23),
        (40, 3, 50, 43),
        (40, 48, 70, 68),
    ]
    pixels = np.asarray(paint(block))
    expected = np.full((71, 73, 3), 255, np.uint8)
    expected[3:23, 3:33] = expected[48:68, 40:70] = (255, 0, 0)
    expected[3:43, 40:50] = (0, 0, 255)
    np.testing.assert_array_equal(pixels, expected)


def test_room_is_added_around_a_block() -> None:
    block = padded(Block.of(RED), width=50, height=10, border=2, top=9)
    assert (block.width, block.height) == (54, 20 + 4 + 9)
    assert block.items[0].box == (2, 11, 32, 31)


@pytest.mark.parametrize("size", [12, 15])
def test_ink_stays_in_the_box_of_its_line(size: int) -> None:
    block = padded(text_block("Ägypten gypsum (layer 11), jÅ|", 90, size=size), border=20)
    dark = np.asarray(paint(block)).min(axis=2) < 200
    for item in block.items:
        left, top, right, bottom = item.box
        assert right - left <= 90
        assert dark[top:bottom, left:right].any()
        dark[top:bottom, left:right] = False
    assert not dark.any()


def test_nothing_has_no_size() -> None:
    assert text_block("", 100) == stacked([]) == beside([]) == Block()
    assert paint(Block()).size == (1, 1)
