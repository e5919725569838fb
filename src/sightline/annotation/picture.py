"""A picture of proposals beside what is marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PIL import Image, ImageDraw

from sightline.data.pictures import Block, beside, font, padded, paint, stacked, text_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sightline.annotation.proposals import Proposals
    from sightline.core import Sample

__all__ = ["draw_proposals"]

_TILE, _GAP, _COLUMNS = 448, 12, 3
_TEXT = 12
# Okabe and Ito's orange and blue, told apart by all kinds of colour vision.
_GIVEN, _PROPOSED = (230, 159, 0), (0, 114, 178)
_WORDS = "orange: marked by people; blue, with its score: proposed"


def draw_proposals(proposals: Proposals, samples: Sequence[Sample]) -> Image.Image:
    """Draw images with the boxes of what is marked and of what is proposed, with scores.

    Parameters
    ----------
    proposals : Proposals
        From `propose`.
    samples : sequence of Sample
        The images to draw.

    Examples
    --------
    >>> from sightline.annotation import Proposals
    >>> from sightline.data import load_dataset
    >>> draw_proposals(Proposals(()), [load_dataset("facades", count=1)[0]]).mode
    'RGB'
    """
    tiles = [_tile(sample, proposals) for sample in samples]
    rows = [tiles[start : start + _COLUMNS] for start in range(0, len(tiles), _COLUMNS)]
    width = min(_COLUMNS, max(1, len(tiles))) * (_TILE + _GAP) - _GAP
    page = stacked([text_block(_WORDS, width), *(beside(row, _GAP) for row in rows)], _GAP)
    return paint(padded(page, border=_GAP))


def _tile(sample: Sample, proposals: Proposals) -> Block:
    image = Image.fromarray(sample.image())
    scale = _TILE / max(image.size)
    size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    shown = image.resize(size, Image.Resampling.LANCZOS)
    found = proposals.of(sample.image_id)
    draw = ImageDraw.Draw(shown)
    for region in sample.annotation.scored:
        _outline(draw, region.box, size, _GIVEN)
    for proposal in found:
        _outline(draw, proposal.region.box, size, _PROPOSED)
    for proposal in reversed(found):  # the best on top
        _write(draw, proposal.region.box, size, f"{proposal.score:.2f}")
    words = f"{sample.image_id}: {len(sample.annotation.scored)} marked, {len(found)} proposed"
    return padded(stacked([Block.of(shown), text_block(words, _TILE)], 4), width=_TILE)


def _pixels(box: Sequence[float], size: tuple[int, int]) -> tuple[int, int, int, int]:
    x0, y0, x1, y1 = (round(corner * size[place % 2]) for place, corner in enumerate(box))
    return x0, y0, max(x0, x1 - 1), max(y0, y1 - 1)


def _outline(
    draw: ImageDraw.ImageDraw,
    box: Sequence[float],
    size: tuple[int, int],
    colour: tuple[int, int, int],
) -> None:
    x0, y0, x1, y1 = _pixels(box, size)
    draw.rectangle((x0 - 1, y0 - 1, x1 + 1, y1 + 1), outline=(255, 255, 255), width=4)
    draw.rectangle((x0, y0, x1, y1), outline=colour, width=2)


def _write(
    draw: ImageDraw.ImageDraw, box: Sequence[float], size: tuple[int, int], text: str
) -> None:
    """Write a score above its box, or in it where there is no room above."""
    x0, y0, _, _ = _pixels(box, size)
    top = y0 - _TEXT - 4 if y0 >= _TEXT + 4 else y0 + 2
    left, upper, right, lower = draw.textbbox((x0, top), text, font=font(_TEXT))
    draw.rectangle((left - 1, upper - 1, right + 1, lower + 1), fill=(255, 255, 255))
    draw.text((x0, top), text, fill=_PROPOSED, font=font(_TEXT))
