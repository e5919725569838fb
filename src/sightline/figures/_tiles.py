"""What figures of images share: pictures and maps made ready, colours, outlines, tiles in rows."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError, MapError
from sightline.core.choices import SIGNS
from sightline.figures.panels import panels
from sightline.figures.style import BLACK, COLOURS, GREY, LIGHT, figure_of, new_figure, shown
from sightline.metrics import resolve_sign

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]
    Values = NDArray[np.float64]
    Mask = NDArray[np.bool_]

__all__ = [
    "ANNOTATED",
    "KEY",
    "Label",
    "Plan",
    "Sheet",
    "area_text",
    "as_map",
    "as_mask",
    "as_picture",
    "colour_keys",
    "edges_of",
    "ends_of",
    "far_of",
    "filled",
    "heat",
    "lay_out",
    "on_raster",
    "outline",
    "read",
    "read_sign",
    "select_sign",
    "selected",
    "share_text",
    "shares_on",
    "show_picture",
    "spread",
    "write_label",
]

ANNOTATED = COLOURS["sky"]
"""The colour of annotations, in all figures of images."""

# The image below a map is grey and dim, and colours cover it by a fixed share: they mean the map.
_COVER, _DARKEST, _BRIGHTEST = 0.65, 40, 215
# From so many cells on, colours end where this share of the values does: a few high ones would
# leave the rest in the dark.
_MANY, _KEPT = 400, 0.99
_SMALLEST, _LARGEST = 256, 512  # longer side of a picture as it is drawn, in pixels
_EDGE, _GAP = 0.12, 0.14  # inches around the tiles and between them
_BAR = 1.2  # inches of a key
_HEAD, _TILE, _NOTE = 11.0, 8.5, 7.5  # letters, in points
_LINE = 1.22  # of their size is from line to line
_PARTS = re.compile(r"\s|[^\s_/@.,:-]+[_/@.,:-]*|[_/@.,:-]+")  # between which lines may end


# --- what is given -------------------------------------------------------------------------------


def as_picture(image: Any, what: str = "image") -> Pixels:
    """Return an image in RGB, its longer side in the limits of what is drawn."""
    from PIL import Image

    if isinstance(image, Image.Image):
        picture = image.convert("RGB")
    else:
        picture = Image.fromarray(_rgb_array(image, what))
    width, height = picture.size
    longer = min(max(width, height, _SMALLEST), _LARGEST)
    if longer != max(width, height):
        scale = longer / max(width, height)
        size = max(1, round(width * scale)), max(1, round(height * scale))
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    return np.asarray(picture)


def _rgb_array(image: Any, what: str) -> Pixels:
    """Return an array of an image as 8 bits of red, green and blue."""
    pixels = np.asarray(image)
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[..., 0]
    grey = pixels.ndim == 2
    if not (grey or (pixels.ndim == 3 and pixels.shape[2] in (3, 4))) or 0 in pixels.shape:
        seen = f"an array {pixels.shape}" if pixels.ndim else type(image).__name__
        raise InputError(f"{what} must be (height, width, 3) or a Pillow image; got {seen}")
    if pixels.dtype.kind == "f":
        if not (np.isfinite(pixels).all() and pixels.min() >= 0 and pixels.max() <= 1):
            raise InputError(f"{what} must lie in 0 to 1 where it has decimals; it does not")
        pixels = np.rint(pixels * 255).astype(np.uint8)
    if pixels.dtype != np.uint8:
        raise InputError(f"{what} must have 8 bits (uint8); got {pixels.dtype}")
    rgb = np.repeat(pixels[..., None], 3, axis=2) if grey else pixels[..., :3]
    return np.ascontiguousarray(rgb)


def as_map(values: Any, what: str = "values") -> Values:
    """Return a map as float64; NaN is where the model did not look."""
    try:
        found = np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers (rows, columns); got {values!r:.60}") from error
    if found.ndim != 2 or 0 in found.shape:
        raise InputError(f"{what} must be a map (rows, columns); got shape {found.shape}")
    if np.isinf(found).any():
        raise InputError(f"{what} must be finite, or NaN where nothing is known; it holds inf")
    if np.isnan(found).all():
        raise InputError(f"{what} must hold numbers; all of it is NaN")
    return found


def as_mask(mask: Any, what: str = "mask") -> Mask | None:
    """Return what is annotated as booleans, on whatever raster; None stays None."""
    if mask is None:
        return None
    found = np.asarray(mask)
    if found.ndim != 2 or 0 in found.shape:
        raise InputError(f"{what} must be (rows, columns); got shape {found.shape}")
    if found.dtype != np.bool_:
        odd = found[(found != 0) & (found != 1)]
        if odd.size:
            raise InputError(f"{what} must hold only 0 and 1 (or booleans); found {odd[0]}")
        found = found != 0
    return np.asarray(found, np.bool_)


def read_sign(
    values: Values, sign: str | None, allowed: Sequence[str] = SIGNS, what: str = "values"
) -> str:
    """Return how values are read; without a sign "positive", if none of them is negative."""
    if sign is None:
        try:
            return resolve_sign(values)
        except MapError as error:
            raise InputError(f"{what}: {error.image_message}") from error
    if sign not in allowed:
        raise InputError(f"sign must be {' or '.join(map(repr, allowed))}; got {sign!r}")
    return sign


def select_sign(signs: str | Mapping[str, str] | None, name: str) -> str | None:
    """Return the sign of one method; None where it is not stated."""
    return signs if signs is None or isinstance(signs, str) else signs.get(name)


def read(values: Values, sign: str) -> Values:
    """Return values as they count: below zero as zero, by their size, or as they are."""
    if sign == "signed":
        return values
    return np.maximum(values, 0) if sign == "positive" else np.abs(values)


def shares_on(mask: Mask, shape: tuple[int, ...]) -> Values:
    """Return how much of each cell of a map is annotated, exactly: their mean is the mask's."""
    if mask.shape == shape:
        return mask.astype(np.float64)
    down, across = (_parts(*pair) for pair in zip(mask.shape, shape, strict=True))
    return np.asarray(down @ mask.astype(np.float64) @ across.T)


def _parts(pixels: int, cells: int) -> Values:
    """Return how much of each cell (row) each pixel (column) is, along one side of an image."""
    edges = np.linspace(0, pixels, cells + 1)
    first = np.maximum(edges[:-1, None], np.arange(pixels))
    last = np.minimum(edges[1:, None], np.arange(1, pixels + 1))
    return np.asarray(np.maximum(last - first, 0) * cells / pixels)


def on_raster(mask: Mask, shape: tuple[int, ...]) -> Mask:
    """Return a mask on the raster of a map: cells at least half of which are annotated.

    Where there is no such cell, those with most of the annotation: it is never lost.
    """
    if mask.shape == shape:
        return mask
    share = shares_on(mask, shape)
    least = min(0.5, float(share.max())) - 1e-9
    return np.asarray((share > 0) & (share >= least), np.bool_)


def selected(values: Values, share: float) -> Mask:
    """Return the cells at or above the quantile that leaves a share of them; ties all count.

    Cells that are NaN are never among them.
    """
    seen = np.isfinite(values)
    cut = np.quantile(values[seen], 1 - share)
    return np.asarray(seen & (np.nan_to_num(values, nan=-np.inf) >= cut), np.bool_)


def spread(values: Values, shape: tuple[int, ...]) -> Values:
    """Return a map over the pixels of a picture, by Pillow's bilinear filter; NaN stays NaN.

    On the way to more pixels that is bilinear interpolation between the centres of cells; to
    fewer, a weighted mean of those that fall together.
    """
    seen = np.isfinite(values)
    if values.shape == shape:
        return values
    far = float(np.abs(values[seen]).max()) or 1.0  # Pillow has 32 bits only
    known = _resized(np.where(seen, values / far, 0.0), shape)
    if seen.all():
        return known * far
    weight = _resized(seen * 1.0, shape)
    return np.where(weight >= 0.5, known / np.maximum(weight, 0.5) * far, np.nan)


def _resized(values: Values, shape: tuple[int, ...]) -> Values:
    from PIL import Image

    picture = Image.fromarray(values.astype(np.float32))
    found = picture.resize((shape[1], shape[0]), Image.Resampling.BILINEAR)
    return np.asarray(found, np.float64)


# --- colours -------------------------------------------------------------------------------------


def far_of(values: Values, sign: str) -> float:
    """Return the value at the bright end of a map's colours: the largest, or the 99th percentile.

    That of many cells, as a few would leave all others dark; the largest, too, where nearly all
    are zero.
    """
    return _far(values, sign)[0]


def _far(values: Values, sign: str) -> tuple[float, bool]:
    """Return the far end of a map's colours, and whether some values lie beyond it."""
    seen = np.abs(read(values[np.isfinite(values)], sign))
    far = float(np.quantile(seen, _KEPT)) if seen.size >= _MANY else 0.0
    return (far, True) if far else (float(seen.max()), False)


def heat(picture: Pixels, values: Values, sign: str, far: float | None = None) -> Pixels:
    """Return an image in dim grey under the colours of a map; what is NaN stays grey."""
    over = spread(read(values, sign), picture.shape[:2])
    far = far_of(values, sign) if far is None else far
    grey = picture @ np.array([0.299, 0.587, 0.114])
    return _covered(grey, over / (far or 1.0), sign)


def _covered(grey: Any, share: Values, sign: str) -> Pixels:
    """Return grey under the colours of shares of the far end."""
    from matplotlib import colormaps

    place = (share + 1) / 2 if sign == "signed" else share
    scale = colormaps["RdBu_r" if sign == "signed" else "inferno"]
    colours = 255 * scale(np.clip(np.nan_to_num(place), 0, 1))[..., :3]
    dim = _DARKEST + (_BRIGHTEST - _DARKEST) / 255 * np.asarray(grey, np.float64)[..., None]
    mixed = np.where(np.isfinite(share)[..., None], dim + _COVER * (colours - dim), dim)
    return np.asarray(np.rint(mixed), np.uint8)


def filled(picture: Pixels, areas: Mapping[str, Mask], cover: float = 0.5) -> Pixels:
    """Return an image in pale grey with areas in colour, by the colour's code."""
    from matplotlib.colors import to_rgb
    from PIL import Image

    grey = (picture @ np.array([0.299, 0.587, 0.114]))[..., None]
    found = np.repeat(70 + grey * (225 - 70) / 255, 3, axis=2)
    height, width = picture.shape[:2]
    for colour, area in areas.items():
        near = Image.fromarray(area).resize((width, height), Image.Resampling.NEAREST)
        inside = np.asarray(near, np.bool_)
        found[inside] += cover * (255 * np.array(to_rgb(colour)) - found[inside])
    return np.asarray(np.rint(found), np.uint8)


def show_picture(ax: Axes, picture: Pixels) -> None:
    """Draw a picture that fills its axes; one unit is one of its pixels."""
    height, width = picture.shape[:2]
    ax.imshow(picture, extent=(0, width, height, 0), interpolation="antialiased")
    ax.set(xlim=(0, width), ylim=(height, 0), xticks=[], yticks=[])
    ax.spines[:].set(visible=True, color=LIGHT, linewidth=0.6)
    ax.set_anchor("NW")


def edges_of(mask: Mask | None, picture: Pixels) -> list[Values]:
    """Return the edge of what is annotated as lines over the pixels of a picture."""
    if mask is None or not mask.any():
        return []
    from contourpy import contour_generator

    height, width = picture.shape[:2]
    # A border of nothing closes the line where the annotation reaches the edge of the image.
    area = np.pad(_on_pixels(mask, (height, width)), 1)
    across = np.clip(np.arange(width + 2) - 0.5, 0, width)
    down = np.clip(np.arange(height + 2) - 0.5, 0, height)
    found = contour_generator(across, down, area).lines(0.5)
    return [np.asarray(line, np.float64) for line in found]


def outline(ax: Axes, edges: Sequence[Values]) -> None:
    """Draw edges as white lines in a dark casing, to be seen on any ground."""
    from matplotlib.collections import LineCollection

    for colour, wide in ((BLACK, 1.6), ("white", 0.75)) if edges else ():
        ax.add_collection(LineCollection(edges, colors=colour, linewidths=wide), autolim=False)


def _on_pixels(mask: Mask, shape: tuple[int, ...]) -> Values:
    """Return a mask over the pixels of a picture: cells stay square, small ones become shares."""
    from PIL import Image

    coarse = mask.shape[0] <= shape[0] and mask.shape[1] <= shape[1]
    way = Image.Resampling.NEAREST if coarse else Image.Resampling.BOX
    picture = Image.fromarray(mask.astype(np.float32)).resize((shape[1], shape[0]), way)
    return np.asarray(picture, np.float64)


# --- tiles ---------------------------------------------------------------------------------------


class Label(NamedTuple):
    """What stands over a tile: its name, and a note in small letters."""

    head: str
    note: str = ""


class Sheet(NamedTuple):
    """Tiles that were laid out.

    Attributes
    ----------
    figure
        Theirs.
    axes
        One for each tile.
    own
        Whether the figure was made for them.
    """

    figure: Figure
    axes: list[Axes]
    own: bool


class Plan(NamedTuple):
    """How tiles are laid out.

    Attributes
    ----------
    shape
        Rows and columns of the pictures, for the tiles' form.
    columns
        Tiles in a row.
    wide
        Inches of a tile; chosen by the picture's form unless given.
    head, notes
        Over all tiles.
    foot
        Inches to keep free below the tiles.
    span
        How many tiles wide a label may be; those between have none.
    least
        Inches that a tile is wide at least, for what stands below it.
    """

    shape: tuple[int, ...]
    columns: int
    wide: float = 0.0
    head: str = ""
    notes: str = ""
    foot: float = 0.0
    span: int = 1
    least: float = 1.3

    @property
    def tile(self) -> tuple[float, float]:
        """Width and height of a tile's picture in inches; of nearly one area for all forms."""
        aspect = self.shape[1] / self.shape[0]
        wide = min(max((self.wide or 1.9) * math.sqrt(aspect), 1.3), 3.4)
        return max(wide, self.least), min(max(wide / aspect, 0.4), 3.6)


def lay_out(labels: Sequence[Label], plan: Plan, axes: Sequence[Axes] | None) -> Sheet:
    """Return axes in rows with their labels over them; those given keep their places."""
    if axes is not None:
        found = panels(axes, len(labels), size=(1, 1))
        for ax, label in zip(found, labels, strict=True):
            write_label(ax, label)
        return Sheet(figure_of(found[0]), found, False)
    figure = new_figure(1, 1)
    figure.set_layout_engine("none")
    wide, high = plan.tile
    texts = [_lines_of(one, plan.span * (wide + _GAP) - _GAP) for one in labels]
    rows = [texts[i : i + plan.columns] for i in range(0, len(texts), plan.columns)]
    rooms = [max(map(_room, row)) for row in rows]
    across = min(plan.columns, len(labels))
    width = 2 * _EDGE + across * wide + (across - 1) * _GAP
    width, top = _heading(figure, plan, width)
    height = top + sum(rooms) + len(rows) * (high + _GAP) + plan.foot + _EDGE - _GAP
    figure.set_size_inches(width, height)
    found = []
    down = top
    for row, room in zip(rows, rooms, strict=True):
        down += room + high
        for place, lines in enumerate(row):
            left = _EDGE + place * (wide + _GAP)
            box = (left / width, 1 - down / height, wide / width, high / height)
            found.append(figure.add_axes(box))
            _write(found[-1], *lines)
        down += _GAP
    return Sheet(figure, found, True)


def _heading(figure: Figure, plan: Plan, width: float) -> tuple[float, float]:
    """Write what stands over all tiles; return the figure's width and how much it takes."""
    width = max(width, 3.4) if plan.head or plan.notes or plan.foot else width
    room = width - 2 * _EDGE
    head = wrapped(shown(plan.head, 160), _HEAD, room, bold=True) if plan.head else []
    notes = wrapped(plan.notes, 8, room) if plan.notes else []
    taken = 0.0
    for lines, size, ink in ((head, _HEAD, BLACK), (notes, 8.0, GREY)):
        if lines:
            figure.text(
                0, 1, "\n".join(lines), fontsize=size, color=ink, va="top", parse_math=False,
                fontweight="bold" if size == _HEAD else "normal", linespacing=_LINE,
                transform=_from_top(figure, _EDGE, _EDGE + taken),
            )  # fmt: skip
            taken += len(lines) * size * _LINE / 72 + 0.03
    return width, _EDGE + (taken + 0.07 if taken else 0.0)


def _from_top(figure: Figure, right: float, down: float) -> Any:
    """Return where (0, 1) is so many inches from the top left corner."""
    from matplotlib.transforms import ScaledTranslation

    return figure.transFigure + ScaledTranslation(right, -down, figure.dpi_scale_trans)


def write_label(ax: Axes, label: Label) -> float:
    """Write a label over axes, no wider than they are, and return the inches it takes."""
    lines = _lines_of(label, _inches(ax)[0])
    _write(ax, *lines)
    return _room(lines)


def _lines_of(label: Label, inches: float) -> tuple[list[str], list[str]]:
    head = wrapped(shown(label.head, 60), _TILE, inches, bold=True) if label.head else []
    return head, wrapped(label.note, _NOTE, inches) if label.note else []


def ends_of(maps: Iterable[Values], signs: Iterable[str], which: str = "each map") -> str:
    """Return what stands at the far end of the colours of maps, in words."""
    ends = {_far(values, sign)[1] for values, sign in zip(maps, signs, strict=True)}
    if len(ends) > 1:
        return f"the 99th percentile of {which}, of coarse and sparse ones the largest value"
    return f"the {'99th percentile' if True in ends else 'largest value'} of {which}"


def _room(lines: tuple[list[str], list[str]]) -> float:
    """Return the inches that a label takes above its tile."""
    head, note = lines
    return (len(head) * _TILE + len(note) * _NOTE) * _LINE / 72 + (0.07 if head or note else 0.0)


def _write(ax: Axes, head: list[str], note: list[str]) -> None:
    up = 3.5
    for lines, size, ink in ((note, _NOTE, GREY), (head, _TILE, BLACK)):
        if lines:
            ax.annotate(
                "\n".join(lines), (0, 1), (0, up), xycoords="axes fraction",
                textcoords="offset points", va="bottom", fontsize=size, color=ink,
                fontweight="bold" if ink == BLACK else "normal", linespacing=_LINE,
                parse_math=False, annotation_clip=False,
            )  # fmt: skip
            up += len(lines) * size * _LINE


def wrapped(text: str, size: float, inches: float, *, bold: bool = False) -> list[str]:
    """Return a text in lines that fit, broken between words, and after signs that join them.

    Words that are too long are broken anywhere.
    """
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    letters = FontProperties(family="sans-serif", size=size, weight="bold" if bold else "normal")
    room = 0.97 * inches * 72  # letters are a little wider at some resolutions

    def fits(line: str) -> bool:
        wide, _, _ = text_to_path.get_text_width_height_descent(line, letters, False)
        return bool(wide <= room)

    lines = [""]
    for part in _PARTS.findall(" ".join(text.split())):
        if fits((lines[-1] + part).rstrip()):
            lines[-1] += part
            continue
        if lines[-1]:
            lines.append("")
        for letter in part.lstrip():
            if lines[-1] and not fits(lines[-1] + letter):
                lines.append("")
            lines[-1] += letter
    return [line.strip() for line in lines]


# --- keys ----------------------------------------------------------------------------------------

KEY = 0.3
"""Inches that a key of colours takes below the tiles: two lines of text."""


def colour_keys(sheet: Sheet, signs: Iterable[str], ends: str, *, below: int | None = None) -> None:
    """Say below the tiles what colours mean: one bar for each kind of map there is.

    `ends` says what the far end of the colours stands for. `below` is the tile under which the
    bars stand; unless given, that is the foot of the figure, or the last of axes that were given.
    """
    tile = sheet.axes[-1 if below is None else below]
    foot = sheet.own and below is None
    kinds = set(signs)
    sized = "absolute" in kinds and "positive" not in kinds
    scales = sorted({kind == "signed" for kind in kinds})
    for place, signed in enumerate(scales):
        ax = _key_at_foot(sheet, len(scales) - place) if foot else _key_below(sheet, tile, place)
        room = sheet.figure.get_size_inches()[0] - 2 * _EDGE if foot else _inches(tile)[0]
        ramp = np.linspace(-1 if signed else 0, 1, 256)[None]
        colours = _covered(np.full((1, 256), 128.0), ramp, "signed" if signed else "positive")
        ax.imshow(colours, aspect="auto", extent=(0, 1, 0, 1))
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        words = f"blue: against, pale: 0, red: for; ends at ± {ends}" if signed else f"0 to {ends}"
        words += "; sizes, whatever the sign" if sized and not signed else ""
        ax.annotate(
            "\n".join(wrapped(words, _NOTE, room - _inches(ax)[0] - 0.08)),
            (1, 0.5 if foot else 1), (5, 0 if foot else 1), xycoords="axes fraction",
            textcoords="offset points", va="center" if foot else "top", fontsize=_NOTE,
            color=BLACK, annotation_clip=False, linespacing=1.1,
        )  # fmt: skip


def _inches(ax: Axes) -> tuple[float, float]:
    box = ax.get_window_extent()
    dpi = figure_of(ax).dpi
    return box.width / dpi, box.height / dpi


def _key_at_foot(sheet: Sheet, from_below: int) -> Axes:
    width, height = sheet.figure.get_size_inches()
    up = _EDGE + (from_below - 1) * KEY + 0.1
    bar = min(_BAR, 0.3 * width)
    return sheet.figure.add_axes((_EDGE / width, up / height, bar / width, 0.11 / height))


def _key_below(sheet: Sheet, tile: Axes, place: int) -> Axes:
    width, height = _inches(tile)
    down, bar = 0.22 + place * KEY, min(_BAR, 0.4 * width)
    if not sheet.own:
        return tile.inset_axes((0, -down / height, bar / width, 0.11 / height))
    # A picture that is higher than its tile is wide leaves room beside it, which the key takes.
    across, up = sheet.figure.get_size_inches()
    box = tile.get_position(original=True)
    return sheet.figure.add_axes((box.x0, box.y0 - down / up, bar / across, 0.11 / up))


def area_text(area: Mask) -> str:
    """Return how much of an image is annotated.

    >>> area_text(np.eye(4, dtype=bool)), area_text(np.zeros((4, 4), bool))
    ('25% of the image', 'nothing annotated')
    """
    return f"{share_text(float(area.mean()))} of the image" if area.any() else "nothing annotated"


def share_text(share: float) -> str:
    """Return a share as text.

    >>> share_text(0.1234), share_text(0.0001), share_text(float("nan"))
    ('12.3%', '<0.1%', 'undefined')
    """
    if not math.isfinite(share):
        return "undefined"
    return "<0.1%" if 0 < share < 0.0005 else f"{round(100 * share, 1):g}%"
