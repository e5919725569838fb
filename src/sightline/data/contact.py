"""A contact sheet: many images of a data set on one page, with their regions drawn."""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw

from sightline.core import Annotation, InputError, Sample
from sightline.core.raster import mask_pixels
from sightline.data.pictures import (
    FAINT,
    INK,
    WHITE,
    check_picture_path,
    font,
    shortened,
    write_picture,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from sightline.core import Region
    from sightline.core.raster import Mask
    from sightline.data.dataset import Dataset

__all__ = ["check_sheet_path", "contact_sheet", "write_contact_sheet"]

# Okabe and Ito's colours, told apart by all kinds of colour vision; the darkest comes last.
_COLOURS = (
    (230, 159, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66),
    (213, 94, 0), (204, 121, 167), (0, 114, 178), (0, 0, 0),
)  # fmt: skip
_DASHES = ((1.0, 1), (0.65, 28), (0.5, 12))  # drawn share and period: solid, dashed, dotted
_GREY, _TILE, _NOTICE, _RULE = (150, 150, 150), (244, 244, 244), (222, 222, 222), (210, 210, 210)
_FINE = 2  # tiles are drawn this many times larger and reduced, for smooth lines
_LINE, _CASING = 4, 2  # widths on the larger tile
_GAP, _ROW = 12, 16
_SWATCH = 28, 16


@dataclass(frozen=True, slots=True)
class _Pen:
    """How the outline of a region is drawn: a line between two of a contrasting colour."""

    colour: tuple[int, int, int]
    drawn: float = 1.0
    period: float = 1
    hatched: bool = False

    @property
    def casing(self) -> tuple[int, int, int]:
        red, green, blue = self.colour
        return (0, 0, 0) if 0.3 * red + 0.59 * green + 0.11 * blue > 125 else (255, 255, 255)


_IGNORED = _Pen(_GREY, hatched=True)
_OTHER = _Pen(WHITE)


def contact_sheet(
    dataset: Dataset,
    *,
    count: int = 40,
    columns: int = 8,
    tile: int = 224,
    seed: int | None = None,
    labels: bool = True,
) -> Image.Image:
    """Draw images of a data set with the outlines of their regions.

    Each image keeps its shape. Regions to ignore are grey and hatched. An image that cannot be read
    is a grey tile that says why.

    Parameters
    ----------
    dataset : Dataset
        From `load_dataset`.
    count, columns : int
        How many images are drawn, and how many in a row.
    tile : int
        Longer side of an image in pixels.
    seed : int, optional
        Draw a sample of the images made from this seed; the first ones unless given.
    labels : bool
        Give each label its own line and list them below; otherwise all regions are drawn alike.
        The 24 most frequent labels differ, the others share a white line.

    Returns
    -------
    PIL.Image.Image
        In RGB.

    Examples
    --------
    >>> from sightline.data import contact_sheet, load_dataset
    >>> contact_sheet(load_dataset("facades", count=1), columns=1, tile=64).size
    (88, 316)
    """
    for name, value, least in (("count", count, 1), ("columns", columns, 1), ("tile", tile, 32)):
        if value < least:
            raise InputError(f"{name} must be >= {least}, got {value}")
    if len(dataset) == 0:
        raise InputError(f"{dataset.name} has no images to draw")
    samples = [_sample(dataset, image_id) for image_id in _choose(dataset, count, seed)]
    shown = Counter(region.label for sample in samples for region in sample.annotation.scored)
    pens = _pens(shown) if labels else dict.fromkeys(shown, _Pen(_COLOURS[0]))
    tiles = (_captioned(sample, tile, pens) for sample in samples)
    page = _page(tiles, len(samples), min(columns, len(samples)))
    ignored = sum(len(sample.annotation.ignored) for sample in samples)
    return _below(page, _legend(shown, pens, ignored)) if labels else page


def write_contact_sheet(
    dataset: Dataset,
    path: str | os.PathLike[str],
    *,
    count: int = 40,
    columns: int = 8,
    tile: int = 224,
    seed: int | None = None,
    labels: bool = True,
) -> None:
    """Write a `contact_sheet` as .png or .jpg; a file of that name is replaced in one step."""
    path = check_sheet_path(path)
    sheet = contact_sheet(
        dataset, count=count, columns=columns, tile=tile, seed=seed, labels=labels
    )
    write_picture(sheet, path)


def check_sheet_path(path: str | os.PathLike[str]) -> Path:
    """Return `path` when a contact sheet can be written there.

    Raises
    ------
    InputError
        If the ending is not one of .png, .jpg, .jpeg, or the folder does not exist.
    """
    return check_picture_path(path, "a contact sheet")


def _choose(dataset: Dataset, count: int, seed: int | None) -> list[str]:
    count = min(count, len(dataset))
    if seed is None:
        return list(dataset.ids[:count])
    chosen = np.random.default_rng(seed).choice(len(dataset), count, replace=False)
    return [dataset.ids[number] for number in sorted(chosen.tolist())]


def _sample(dataset: Dataset, image_id: str) -> Sample:
    """Return a sample; one whose masks cannot be read raises when its image is asked for."""
    try:
        return dataset.by_id(image_id)
    except InputError as error:
        found = error

    def load() -> NDArray[np.uint8]:
        raise found

    return Sample(image_id, Annotation(image_id), load=load)


def _pens(shown: Counter[str]) -> dict[str, _Pen]:
    """Return a pen for each label, the plainest for the most frequent ones."""
    each = [_Pen(colour, *dash) for dash in _DASHES for colour in _COLOURS]
    ranked = [label for label, _ in shown.most_common()]
    return {label: each[i] if i < len(each) else _OTHER for i, label in enumerate(ranked)}


# --- one image -----------------------------------------------------------------------------------


def _captioned(sample: Sample, tile: int, pens: dict[str, _Pen]) -> Image.Image:
    """Return an image in its tile with two lines of text below it."""
    cell = Image.new("RGB", (tile, tile + 2 * _ROW + 4), WHITE)
    cell.paste(_TILE, (0, 0, tile, tile))
    picture = _picture(sample, tile, pens)
    cell.paste(picture, ((tile - picture.width) // 2, (tile - picture.height) // 2))
    number = len(sample.annotation.regions)
    facts = [", ".join(sample.labels), f"{number} region{'' if number == 1 else 's'}"]
    draw = ImageDraw.Draw(cell)
    for row, (text, ink) in enumerate(
        [(sample.image_id, INK), (" · ".join(filter(None, facts)), FAINT)]
    ):
        draw.text((0, tile + 4 + row * _ROW), shortened(text, tile), fill=ink, font=font())
    return cell


def _picture(sample: Sample, tile: int, pens: dict[str, _Pen]) -> Image.Image:
    try:
        image = Image.fromarray(sample.image())
    except InputError as error:
        return _notice(str(error).removeprefix(f"{sample.path}: "), tile)
    scale = tile / max(image.size)
    width, height = (max(1, round(side * scale)) for side in image.size)
    large = image.resize((width * _FINE, height * _FINE), Image.Resampling.LANCZOS)
    return Image.fromarray(_draw(np.array(large), sample.annotation, pens)).reduce(_FINE)


def _draw(
    pixels: NDArray[np.uint8], annotation: Annotation, pens: dict[str, _Pen]
) -> NDArray[np.uint8]:
    """Draw the regions, large ones first, so that small ones inside them stay in sight."""
    for region in sorted(annotation.regions, key=_box_area, reverse=True):
        pen = _IGNORED if region.ignore else pens[region.label]
        _outline(pixels, region.to_mask(*pixels.shape[:2]), pen)
    return pixels


def _box_area(region: Region) -> float:
    x0, y0, x1, y1 = region.box
    return (x1 - x0) * (y1 - y0)


def _outline(pixels: NDArray[np.uint8], mask: Mask, pen: _Pen) -> None:
    """Draw the edge of a mask; the outside of the image counts as outside of the mask."""
    box = mask_pixels(mask)
    if box is None:
        return
    x0, y0, x1, y1 = box
    margin = _LINE + 2 * _CASING
    part = np.pad(mask[y0:y1, x0:x1], margin)
    edge = part & ~_shrunk(part, _LINE)
    cased = ~_shrunk(~part, _CASING) & ~_shrunk(part, _LINE + _CASING)
    top, left = y0 - margin, x0 - margin
    y, x = np.ogrid[top : top + part.shape[0], left : left + part.shape[1]]
    # The slant is one that edges of buildings seldom have: a parallel edge would have no dashes.
    edge &= (x + 0.6 * y) % pen.period < pen.drawn * pen.period
    inside = (y >= 0) & (y < len(pixels)) & (x >= 0) & (x < pixels.shape[1])
    if pen.hatched:
        edge |= part & ((x + y) % 16 < 3)
    for where, colour in ((cased, pen.casing), (edge, pen.colour)):
        down, across = np.nonzero(where & inside)
        pixels[down + top, across + left] = colour


def _shrunk(mask: Mask, by: int) -> Mask:
    """Return the pixels with nothing but set ones up to `by` away; what is outside is not read."""
    for axis in (0, 1):
        lines = np.moveaxis(mask, axis, 0)
        kept = lines.copy()
        for step in range(1, by + 1):
            kept[step:] &= lines[:-step]
            kept[:-step] &= lines[step:]
        mask = np.moveaxis(kept, 0, axis)
    return mask


def _notice(text: str, tile: int) -> Image.Image:
    """Return a grey tile that says something."""
    picture = Image.new("RGB", (tile, tile), _NOTICE)
    lines = textwrap.wrap(text, max(8, tile // 7), max_lines=max(1, tile // _ROW - 2))
    ImageDraw.Draw(picture).multiline_text(
        (tile / 2, tile / 2), "\n".join(lines), fill=FAINT, font=font(), anchor="mm",
        align="center",
    )  # fmt: skip
    return picture


# --- the page ------------------------------------------------------------------------------------


def _page(tiles: Iterator[Image.Image], count: int, columns: int) -> Image.Image:
    """Return tiles side by side; each is made, pasted and forgotten."""
    page = None
    for number, cell in enumerate(tiles):
        wide, high = cell.width + _GAP, cell.height + _GAP
        if page is None:
            size = columns * wide + _GAP, -(-count // columns) * high + _GAP
            page = Image.new("RGB", size, WHITE)
        row, column = divmod(number, columns)
        page.paste(cell, (_GAP + column * wide, _GAP + row * high))
    assert page is not None  # noqa: S101  # there is at least one image
    return page


def _legend(shown: Counter[str], pens: dict[str, _Pen], ignored: int) -> list[tuple[str, _Pen]]:
    """Return a text and a pen for each label, then for all labels without one of their own."""
    ranked = shown.most_common()
    entries = [
        (f"{label or '(no label)'}  {count}", pens[label])
        for label, count in ranked
        if pens[label] != _OTHER
    ]
    others = [count for label, count in ranked if pens[label] == _OTHER]
    if others:
        entries.append((f"{len(others)} other labels  {sum(others)}", _OTHER))
    if ignored:
        entries.append((f"ignored  {ignored}", _IGNORED))
    return entries


def _below(page: Image.Image, entries: Sequence[tuple[str, _Pen]]) -> Image.Image:
    """Return the page with a legend below it, in columns as wide as its longest text."""
    letters, room = font(), page.width - 2 * _GAP
    longest = max((letters.getlength(text) for text, _ in entries), default=0)
    wide = int(min(room, _SWATCH[0] + 8 + longest + 2 * _GAP))
    columns = max(1, room // wide)
    rows, high = -(-len(entries) // columns), _SWATCH[1] + 8
    whole = Image.new("RGB", (page.width, page.height + rows * high + 2 * _GAP), WHITE)
    whole.paste(page)
    draw = ImageDraw.Draw(whole)
    draw.line((_GAP, page.height, page.width - _GAP, page.height), fill=_RULE)
    for number, (text, pen) in enumerate(entries):
        row, column = divmod(number, columns)
        left, top = _GAP + column * wide, page.height + _GAP + row * high
        whole.paste(_swatch(pen), (left, top))
        place, width = (left + _SWATCH[0] + 8, top + _SWATCH[1] / 2), wide - _SWATCH[0] - 8
        draw.text(place, shortened(text, width), fill=INK, font=letters, anchor="lm")
    return whole


def _swatch(pen: _Pen) -> Image.Image:
    """Return the outline of a box as the images show it, on a middle grey."""
    width, height = (side * _FINE for side in _SWATCH)
    pixels = np.full((height, width, 3), 190, np.uint8)
    mask = np.zeros((height, width), bool)
    mask[_CASING + 2 : -_CASING - 2, _CASING + 2 : -_CASING - 2] = True
    _outline(pixels, mask, pen)
    return Image.fromarray(pixels).reduce(_FINE)
