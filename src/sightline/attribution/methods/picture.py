"""Pictures of maps: colours over a grey image, labelled, each with its own scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from sightline.attribution.methods.colours import MANY, Scale, covered, overlay
from sightline.attribution.methods.files import covers_image
from sightline.attribution.methods.maps import Maps
from sightline.core import InputError
from sightline.data.pictures import (
    FAINT,
    Block,
    Item,
    beside,
    font,
    padded,
    paint,
    stacked,
    text_block,
)
from sightline.models.preprocess import ImageLike, as_image, as_images

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from sightline.core.geometry import Geometry

__all__ = ["arrange_maps", "class_words", "draw_maps"]

_GAP, _ROW, _BAR, _NARROW = 12, 16, 8, 112
_WIDEST = 12  # tiles in a line
_ABREAST = 8  # tiles of several images in a line
_SINGLE = 448, 1024  # longer side of a picture that stands alone: at least, at most


def draw_maps(
    maps: Maps | Sequence[Maps],
    images: ImageLike | Sequence[ImageLike],
    *,
    names: Sequence[str] = (),
    notes: Sequence[str] = (),
    tile: int | None = None,
    fit: str = "",
) -> Image.Image:
    """Draw maps over their images.

    They stand in rows, after the image itself: a row for each method (for each layer of it where
    there are several heads), in it a map for each layer or head. Every map has its own scale of
    colours, with its numbers below it.

    Parameters
    ----------
    maps : Maps or sequence of Maps
        From `explain`, of one method each, for the same images.
    images : image or sequence of images
        Those that were explained.
    names, notes : sequence of str
        A heading for each image, and a text below it.
    tile : int, optional
        Longer side of an image in pixels; chosen unless given.
    fit : str
        How the images were brought to the input, for the title; unless given, its size.

    Returns
    -------
    PIL.Image.Image
        In RGB.

    Examples
    --------
    >>> from sightline import load_dataset
    >>> from sightline.attribution.methods import explain
    >>> samples = load_dataset("facades", count=1, seed=0)
    >>> draw_maps(explain("demo/vit", samples, "cls", layers=[5, 11]), samples, tile=128).size
    (432, 277)
    """
    return paint(arrange_maps(maps, images, names=names, notes=notes, tile=tile, fit=fit))


def class_words(name: str) -> str:
    """Return the name of a class; of one that has but a number, what it is.

    Examples
    --------
    >>> class_words("Gothic"), class_words("967")
    ('Gothic', 'class 967')
    """
    return f"class {name}" if name.isdecimal() else name


def arrange_maps(
    maps: Maps | Sequence[Maps],
    images: ImageLike | Sequence[ImageLike],
    *,
    names: Sequence[str] = (),
    notes: Sequence[str] = (),
    tile: int | None = None,
    fit: str = "",
) -> Block:
    """Return what `draw_maps` draws, with the place of each text and picture."""
    found, todo = [maps] if isinstance(maps, Maps) else list(maps), as_images(images)
    _check(found, todo, names, notes, tile)
    named = len(found) > 1 or any(one.targets for one in found)
    lines = _lines(found)
    groups = _groups(lines)
    across = max(max(map(len, groups)), *(len(line) for rows in lines for line in rows))
    alone = len(todo) == 1 and [[[len(line)] for line in rows] for rows in lines] == [[[1]]]
    abreast = max(1, _ABREAST // (1 + across))
    side = tile or (None if alone else _side((1 + across) * min(abreast, len(todo))))
    blocks = []
    for number, image in enumerate(todo):
        pixels = as_image(image)
        _check_image(found, number, pixels)
        shown = _resized(pixels, side)
        parts = [
            _method(one[number], own, shown, named) for one, own in zip(found, lines, strict=True)
        ]
        rows = [_level([parts[i] for i in group]) for group in groups]
        body = _beside_image(shown, rows)
        blocks.append(_headed(body, *(texts[number] if texts else "" for texts in (names, notes))))
    pairs = [blocks[i : i + abreast] for i in range(0, len(blocks), abreast)]
    page = stacked([beside(pair, 2 * _GAP) for pair in pairs], 2 * _GAP)
    return _framed(found, page, named, fit)


def _check(
    found: list[Maps],
    images: list[ImageLike],
    names: Sequence[str],
    notes: Sequence[str],
    tile: int | None,
) -> None:
    if not found or not images:
        raise InputError("there must be maps and images to draw, got none")
    for what, count in (
        *((f"maps of {one.method!r}", len(one)) for one in found),
        ("names", len(names) or len(images)),
        ("notes", len(notes) or len(images)),
    ):
        if count != len(images):
            raise InputError(f"{what} must be one for each of {len(images)} images, got {count}")
    if any(one.upsampling for one in found):
        raise InputError("maps must be on the model's grid, got maps on pixels")
    if tile is not None and tile < 32:
        raise InputError(f"tile must be >= 32, got {tile}")


def _check_image(found: list[Maps], number: int, pixels: NDArray[np.uint8]) -> None:
    size = pixels.shape[1::-1]
    for one in found:
        source = one.geometries[number][0].source
        if source != size:
            made = f"maps of {one.method!r} are of one of {source[0]}x{source[1]}"
            raise InputError(f"image {number} is {size[0]}x{size[1]}, its {made}")


def _lines(found: list[Maps]) -> list[list[list[tuple[int, int]]]]:
    """Return, for each method, which maps stand in a line: positions of layer and head."""
    every = []
    for maps in found:
        layers, heads = range(len(maps.layers)), range(len(maps.heads))
        if len(heads) == 1:
            every.append([[(layer, 0) for layer in layers]])
        else:
            every.append([[(layer, head) for head in heads] for layer in layers])
    single = len(every) == 1 and len(every[0]) == 1
    most = _ABREAST if single else _WIDEST
    return [[part for line in lines for part in _balanced(line, most)] for lines in every]


def _balanced(line: list[tuple[int, int]], most: int) -> list[list[tuple[int, int]]]:
    """Cut a line that is too long into parts of nearly equal length."""
    parts = -(-len(line) // most)
    each = -(-len(line) // parts)
    return [line[i : i + each] for i in range(0, len(line), each)]


def _groups(lines: list[list[list[tuple[int, int]]]]) -> list[list[int]]:
    """Return which methods share a row: those with a single map each that follow one another."""
    room = max(_ABREAST - 1, *(len(line) for rows in lines for line in rows))
    groups: list[list[int]] = []
    before = False
    for number, rows in enumerate(lines):
        single = sum(map(len, rows)) == 1
        if single and before and len(groups[-1]) < room:
            groups[-1].append(number)
        else:
            groups.append([number])
        before = single
    return groups


def _side(tiles: int) -> int:
    return 256 if tiles <= 4 else 192 if tiles <= 8 else 144


def _resized(image: NDArray[np.uint8], side: int | None) -> Image.Image:
    """Return an image whose longer side has a length; one within limits where none is said."""
    height, width = image.shape[:2]
    longer = side or min(max(width, height, _SINGLE[0]), _SINGLE[1])
    scale = longer / max(width, height)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    return Image.fromarray(image).resize(size, Image.Resampling.LANCZOS)


def _headed(body: Block, name: str, note: str) -> Block:
    width = max(body.width, _NARROW)
    heading = stacked([text_block(name, width), text_block(note, width, ink=FAINT)])
    return stacked([heading, body], 6)


def _beside_image(image: Image.Image, rows: list[Block]) -> Block:
    """Return rows of maps to the right of their image, which is level with the first of them."""
    label = text_block("the image itself", max(image.width, _NARROW), ink=FAINT)
    first = stacked([Block.of(image), label], 4)
    top = next(item.box[1] for item in rows[0].items if isinstance(item.content, Image.Image))
    return beside([padded(first, top=top), stacked(rows, _GAP)], _GAP)


def _level(parts: list[tuple[Block, Block]]) -> Block:
    """Return headings with what is below them side by side; all maps begin at one height."""
    high = max(heading.height for heading, _ in parts)
    wholes = [
        stacked([padded(heading, width=body.width, height=high), body], 4)
        for heading, body in parts
    ]
    return beside(wholes, _GAP)


def _method(
    maps: Maps, lines: list[list[tuple[int, int]]], image: Image.Image, named: bool
) -> tuple[Block, Block]:
    """Return the heading and the maps of one method over one image."""
    pixels, rows, layers = np.asarray(image), list[Block](), list(maps.values[0])
    over = [
        _over(layer, geometry, image.size)
        for layer, geometry in zip(layers, maps.geometries[0], strict=True)
    ]
    for line in lines:
        cells = []
        for layer, head in line:
            values, known = (part[head] for part in over[layer])
            scale = Scale.of(known, maps.sign)
            label = _label(maps, layer, head) or " " * named  # scales in a row stay level
            cells.append(_cell(pixels, values, scale, label))
        rows.append(beside(cells, _GAP))
    body = stacked(rows, _GAP)
    target = f" for {class_words(maps.targets[0])}" if maps.targets else ""
    return text_block(f"{maps.method}{target}" * named, body.width), body


def _over(
    values: NDArray[np.float32], geometry: Geometry, size: tuple[int, int]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return maps `(heads, rows, columns)` over the pixels of a picture, and what scales them.

    That is the cells that are image, so that the numbers do not depend on the size of the picture;
    where cells are smaller than its pixels, they are averaged, and those means are the scale.
    """
    width, height = size
    rows, columns = values.shape[1:]
    fine = max(1, -(-columns // width), -(-rows // height))
    over = geometry.to_image(values, height * fine, width * fine, how="bilinear")
    if fine > 1:
        blocks = over.reshape(len(over), height, fine, width, fine)
        over = blocks.mean(axis=(2, 4))
        return over, over
    seen = geometry.content_mask()
    return over, values[:, seen] if seen.any() else values


def _label(maps: Maps, layer: int, head: int) -> str:
    parts = (("layer", maps.layers[layer]), ("head", maps.heads[head]))
    return ", ".join(f"{what} {number}" for what, number in parts if number is not None)


def _cell(pixels: NDArray[np.uint8], values: NDArray[Any], scale: Scale, label: str) -> Block:
    """Return a map over its image, with its name and its scale below."""
    width = max(pixels.shape[1], _NARROW)
    picture = Block.of(Image.fromarray(overlay(pixels, values, scale=scale)))
    bar = _bar(scale, pixels.shape[1])
    return padded(stacked([picture, text_block(label, width), bar], 4), width=width)


def _bar(scale: Scale, width: int) -> Block:
    """Return the colours of a scale, as they look over a middle grey, and their numbers.

    It is as wide as the map, or as its numbers need.
    """
    low, high = _number(scale.low), _number(scale.high)
    texts = [f"all {low}"] if scale.low == scale.high else [low, high]
    width = max(width, sum(_at(text, 0)[2] for text in texts) + _GAP * (len(texts) - 1))
    ramp = np.tile(np.linspace(scale.low, scale.high, width), (_BAR, 1))
    colours = Block.of(Image.fromarray(covered(128, ramp, scale)))
    ends = [
        Item(_at(text, right), text, FAINT) for text, right in zip(texts, (0, width), strict=False)
    ]
    return stacked([colours, Block(width, _ROW, tuple(ends))], 2)


def _at(text: str, right: int) -> tuple[int, int, int, int]:
    """Return the box of a number that begins at the left, or ends at the right."""
    wide = -int(-font().getlength(text) // 1)
    left = right - wide if right else 0
    return (left, 0, left + wide, _ROW)


def _number(value: float) -> str:
    return f"{value:.2g}"


def _framed(found: list[Maps], page: Block, named: bool, fit: str) -> Block:
    """Return the page between its title and what its colours mean."""
    width = max(page.width, 3 * _NARROW)
    sizes = {geometry.size for one in found for image in one.geometries for geometry in image}
    seen = ["input {} x {}".format(*sizes.pop())] if len(sizes) == 1 else []
    title = " · ".join(
        [found[0].model, *[found[0].method] * (not named), *([fit] if fit else seen)]
    )
    footer = text_block(" ".join(_meanings(found)), width, ink=FAINT)
    parts = [text_block(title, width, size=15), page, footer]
    return padded(stacked(parts, _GAP), width=width, border=_GAP)


def _meanings(found: list[Maps]) -> list[str]:
    """Return sentences about the colours."""
    ways = [geometry for one in found for image in one.geometries for geometry in image]
    hidden = not all(covers_image(way, on_grid=False) for way in ways)
    grids = list(dict.fromkeys(way.grid for way in ways))  # in the order of the layers
    many = max(columns * rows for columns, rows in grids) >= MANY
    cells = ", ".join("{} x {}".format(*grid) for grid in grids[:6]) + ", …" * (len(grids) > 6)
    return [
        *_colours(found),
        f"Maps of {cells} cells, interpolated bilinearly.",
        "The numbers below a map are the values at the ends of its colours.",
        *[f"Those of {MANY} cells or more end at their 99th percentile."] * many,
        *["Without colour: not seen by the model."] * hidden,
    ]


def _colours(found: list[Maps]) -> list[str]:
    """Return what the colours are; where they differ between methods, of which."""
    plain = [one for one in found if one.sign == "positive"]
    others = [one for one in found if one.sign != "positive"]
    below = any(map(_has_negative, plain))
    if plain and others:
        zero = "; below zero counts as zero" * below
        return [
            f"{_methods(plain)}: dark to bright, little to much{zero}.",
            f"{_methods(others)}: red above zero, pale at zero, blue below.",
        ]
    if others:
        return ["Red: above zero; pale: zero; blue: below."]
    return ["Dark to bright: little to much.", *["Values below zero count as zero."] * below]


def _methods(found: list[Maps]) -> str:
    return ", ".join(dict.fromkeys(one.method for one in found))


def _has_negative(maps: Maps) -> bool:
    """Return whether values are shown as zero that are below it."""
    return maps.sign == "positive" and any(
        bool((layer < 0).any()) for image in maps.values for layer in image
    )
