"""Figures about one image: maps of all methods, of all layers, one map in depth, the sanity check.

Each draws on the axes it is given, or makes a figure of a fitting size; either way the figure is
returned. Images are drawn with at most 512 pixels on their longer side. Maps may be on any grid:
Pillow brings them to the drawn image bilinearly, for the colours alone. Whatever is counted is
counted on the map's own grid; of a cell that is partly annotated, that part counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.attribution.sanity.table import RELIABLE, UNRELIABLE, guide_of
from sightline.core import InputError
from sightline.figures._tiles import (
    ANNOTATED,
    KEY,
    Label,
    Plan,
    Sheet,
    area_text,
    as_map,
    as_mask,
    as_picture,
    colour_keys,
    edges_of,
    ends_of,
    far_of,
    filled,
    heat,
    lay_out,
    outline,
    read,
    read_sign,
    select_sign,
    selected,
    share_text,
    shares_on,
    show_picture,
    spread,
)
from sightline.figures.card import FigureCard
from sightline.figures.lines import as_table, counts_words, line_names, numbers, short_names
from sightline.figures.style import BLACK, COLOURS, GREY, LIGHT, house_style, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sightline.figures._tiles import Mask, Pixels, Values
    from sightline.figures.lines import Table

__all__ = [
    "create_sanity_check_comparison",
    "draw_layer_maps",
    "visualize_all_methods",
    "visualize_attribution_enhanced",
]

MAPS = 40
"""Maps in one figure; of more, the first."""
_PAIRS = 24  # of maps, with trained and with random weights


# --- all methods ---------------------------------------------------------------------------------


def visualize_all_methods(
    image: Any,
    maps: Mapping[str, Any],
    mask: Any = None,
    *,
    signs: str | Mapping[str, str] | None = None,
    notes: Mapping[str, str] | None = None,
    head: str = "",
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Draw an image, what is annotated on it, and the maps of all methods over it.

    Of more than 40 maps the first 40 are drawn, the rest counted.

    Parameters
    ----------
    image
        (height, width, 3) in 8 bits, or a Pillow image.
    maps
        (rows, columns) by the method's name, each over the whole image and on any grid; NaN where
        the model did not look.
    mask
        What is annotated, on any raster over the whole image.
    signs
        How values are read, of all methods or by name: "positive" and "absolute" maps go from
        dark (0) to bright, "signed" ones from blue over white (0) to red.
    notes
        A text for a method, such as its score.
    head
        Over the whole of a new figure.
    axes
        As many as there are tiles: the image, the annotation where there is a mask, each map. A
        new figure unless given.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((20, 30, 3), np.uint8)
    >>> figure = visualize_all_methods(image, {"cls": [[0, 1], [2, 3]]}, notes={"cls": "0.41"})
    >>> [text.get_text() for text in figure.axes[1].texts]
    ['0.41', 'cls']
    """
    seen: object = maps
    if not isinstance(seen, Mapping):
        raise InputError(f"maps must be maps by the method's name; got {type(seen).__name__}")
    if not maps:
        raise InputError("maps must hold one map at least; got none")
    with house_style():
        picture, area = as_picture(image), as_mask(mask)
        drawn = {name: as_map(maps[name], f"map {name!r}") for name in list(maps)[:MAPS]}
        ways = {
            name: read_sign(drawn[name], select_sign(signs, name), what=f"map {name!r}")
            for name in drawn
        }
        labels = [Label("Image"), *_annotated(area)]
        short = short_names(map(str, drawn), 60)
        labels += [Label(short[str(name)], str((notes or {}).get(name, ""))) for name in drawn]
        sheet = _sheet(labels, picture, ways.values(), axes, (head, _left_out(len(maps), area)))
        edges = edges_of(area, picture)
        _first_tiles(sheet.axes, picture, area, edges)
        for ax, (name, values) in zip(sheet.axes[-len(drawn) :], drawn.items(), strict=True):
            show_picture(ax, heat(picture, values, ways[name]))
            outline(ax, edges)
        colour_keys(sheet, ways.values(), ends_of(drawn.values(), ways.values()))
        return sheet.figure


def _annotated(area: Mask | None) -> list[Label]:
    """Return the label of the annotation's tile, if there is one."""
    return [] if area is None else [Label("Annotation", area_text(area))]


def _left_out(count: int, area: Mask | None) -> str:
    notes = ["White lines: the edge of the annotation."] if area is not None and area.any() else []
    if count > MAPS:
        notes.append(f"{MAPS} of {count} maps are drawn.")
    return " ".join(notes)


def _columns(count: int, shape: tuple[int, ...]) -> int:
    """Return how many tiles stand in a row, so that a page is a little wider than high."""
    aspect = min(max(shape[1] / shape[0], 0.4), 2.5)
    best = round(math.sqrt(count * 1.6 / aspect))
    most = min(max(best, 3 if count > 4 else count), 8, count)
    rows = -(-count // most)
    return -(-count // rows)


def _sheet(
    labels: Sequence[Label],
    picture: Pixels,
    signs: Any,
    axes: Sequence[Axes] | None,
    texts: tuple[str, str] = ("", ""),
) -> Sheet:
    """Lay out tiles with room for the keys of their colours."""
    foot = 0.05 + KEY * len({sign == "signed" for sign in signs})
    shape = picture.shape[:2]
    plan = Plan(shape, _columns(len(labels), shape), head=texts[0], notes=texts[1], foot=foot)
    return lay_out(labels, plan, axes)


def _first_tiles(
    axes: Sequence[Axes], picture: Pixels, area: Mask | None, edges: Sequence[Values]
) -> None:
    """Draw the image and, where there is one, its annotation."""
    show_picture(axes[0], picture)
    if area is not None:
        show_picture(axes[1], filled(picture, {ANNOTATED: area}))
        outline(axes[1], edges)


# --- one map in depth ----------------------------------------------------------------------------

_LEVELS = (0.2, 0.4, 0.6, 0.8)  # of the far end of the colours: where contour lines are


def visualize_attribution_enhanced(
    image: Any,
    values: Any,
    mask: Any = None,
    *,
    name: str,
    sign: str | None = None,
    percents: Sequence[float] = (5, 10, 20),
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Draw one map in depth: with contour lines, beside the annotation, and its highest parts.

    The highest parts are the cells at or above a quantile: where many are equal there are more of
    them than the name says. The share that was reached stands over each view.

    Parameters
    ----------
    image, values, mask, axes
        As in `visualize_all_methods`, for one map. Panels: the image, the map with contour lines,
        the annotation with those lines (where there is a mask), each of the highest parts.
    name
        Of the method.
    sign
        How values are read: "positive", "absolute" or "signed"; needed if some are negative.
    percents
        How much of the map each view shows, in percent.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((20, 30, 3), np.uint8)
    >>> figure = visualize_attribution_enhanced(image, [[0, 1], [2, 3]], name="cls", percents=[25])
    >>> [text.get_text() for text in figure.axes[2].texts]
    ['25% reached', 'Top 25%']
    """
    given: Iterable[object] = percents
    for one in given:
        if not (isinstance(one, (int, float, np.number)) and 0 < one < 100):
            raise InputError(f"percents must lie between 0 and 100; got {one!r}")
    with house_style():
        picture, area, found = as_picture(image), as_mask(mask), as_map(values)
        sign = read_sign(found, sign)
        tops = [selected(read(found, sign), one / 100) for one in percents]
        seen, edges = np.isfinite(found), edges_of(area, picture)
        labels = [
            Label("Image"),
            Label(name, _contour_note(found, sign)),
            *_annotated(area),
            *(_top_label(*pair, seen, area) for pair in zip(percents, tops, strict=True)),
        ]
        notes = _enhanced_notes(area)
        sheet = _sheet(labels, picture, [sign], axes, (f"{shown(name, 60)} in depth", notes))
        _first_tiles([sheet.axes[0], sheet.axes[-1 - len(tops)]], picture, area, edges)
        _contoured(sheet.axes, picture, found, sign, area is not None)
        for ax, top in zip(sheet.axes[len(labels) - len(tops) :], tops, strict=True):
            show_picture(ax, _spotlight(picture, top))
            outline(ax, edges)
        colour_keys(sheet, [sign], ends_of([found], [sign], "the map"))
        return sheet.figure


def _enhanced_notes(area: Mask | None) -> str:
    levels = ", ".join(f"{level:.0%}" for level in _LEVELS)
    notes = f"Contour lines at {levels} of the far end of the colours."
    if area is None:
        return notes
    return f"{notes} On the annotation they are orange; white lines: its edge."


def _contour_note(values: Values, sign: str) -> str:
    seen = read(values[np.isfinite(values)], sign)
    if seen.max() == seen.min():
        return f"all {seen.max():.3g}: no contours"
    return f"{seen.min():.3g} to {seen.max():.3g}"


def _top_label(wanted: float, top: Mask, seen: Mask, area: Mask | None) -> Label:
    """Return what was reached, and how much of it is annotated."""
    note = f"{share_text(float(top[seen].mean()))} reached"
    if area is not None and area.any():
        inside = shares_on(area, top.shape)
        note += f"; {share_text(float(inside[top].mean()))} of it annotated"
        note += f" (chance {share_text(float(inside[seen].mean()))})"
    return Label(f"Top {wanted:g}%", note)


def _contoured(
    axes: Sequence[Axes], picture: Pixels, values: Values, sign: str, annotated: bool
) -> None:
    """Draw the map, and its contour lines on it and on the annotation."""
    show_picture(axes[1], heat(picture, values, sign))
    over = spread(read(values, sign), picture.shape[:2])
    height, width = picture.shape[:2]
    levels = _levels(over, far_of(values, sign))
    if not levels:
        return
    inks = {axes[1]: "white"} | ({axes[2]: COLOURS["vermillion"]} if annotated else {})
    for ax, ink in inks.items():
        ax.contour(
            np.arange(width) + 0.5, np.arange(height) + 0.5, np.ma.masked_invalid(over), levels,
            colors=ink, linewidths=0.8, linestyles=["--" if one < 0 else "-" for one in levels],
        )  # fmt: skip


def _levels(over: Values, far: float) -> list[float]:
    """Return the values of contour lines, those below zero first; none that nothing crosses."""
    steps = [-level for level in reversed(_LEVELS)] + list(_LEVELS)
    seen = over[np.isfinite(over)]
    return [far * step for step in steps if seen.min() < far * step < seen.max()]


def _spotlight(picture: Pixels, top: Mask) -> Pixels:
    """Return an image in its colours where a part is selected, pale grey elsewhere."""
    from PIL import Image

    height, width = picture.shape[:2]
    near = Image.fromarray(top).resize((width, height), Image.Resampling.NEAREST)
    pale = 190 + 0.2 * (picture @ np.array([0.299, 0.587, 0.114]))[..., None]
    lit = np.where(np.asarray(near, np.bool_)[..., None], picture, pale)
    return np.asarray(np.rint(lit), np.uint8)


# --- layers --------------------------------------------------------------------------------------


def draw_layer_maps(
    image: Any,
    maps: Mapping[Any, Any] | Sequence[Any],
    mask: Any = None,
    *,
    name: str,
    sign: str | None = None,
    layers: Sequence[Any] | None = None,
    notes: Mapping[Any, str] | None = None,
    shared: bool = False,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Draw how the map of a method changes from layer to layer.

    Parameters
    ----------
    image, mask
        As in `visualize_all_methods`.
    maps
        A map by layer, or maps in the order of the layers.
    name
        Of the method.
    sign
        How values are read: "positive", "absolute" or "signed"; needed if some are negative.
    layers
        Which layers to draw, of maps by layer; what they are called, of maps in order. All, and
        0, 1, 2…, unless given.
    notes
        A text for a layer, such as its score.
    shared
        Whether all maps have one scale of colours: that shows how strong they are. Otherwise each
        has its own, which shows where each is strongest.
    axes
        One for the image, with the edge of the annotation, and one for each layer; a new figure
        unless given.

    Examples
    --------
    >>> import numpy as np
    >>> image = np.zeros((20, 30, 3), np.uint8)
    >>> figure = draw_layer_maps(image, {3: [[0, 1]], 11: [[1, 0]]}, name="cls")
    >>> [ax.texts[-1].get_text() for ax in figure.axes[:3]]
    ['Image', 'Layer 3', 'Layer 11']
    """
    with house_style():
        picture, area = as_picture(image), as_mask(mask)
        drawn = _by_layer(maps, layers)
        (sign,) = {read_sign(one, sign) for one in drawn.values()}
        far = max(far_of(one, sign) for one in drawn.values()) if shared else None
        texts = notes or {}
        edges = edges_of(area, picture)
        labels = [Label("Image", *(f"{one.note} annotated" for one in _annotated(area) if edges))]
        labels += [Label(_layer_name(key), str(texts.get(key, ""))) for key in drawn]
        of = "one scale of colours for all" if shared else "each with its own scale of colours"
        said = f"{counts_words([len(drawn)], 'layer')}, {of}. {_left_out(0, area)}".strip()
        head = f"{shown(name, 60)}, layer by layer"
        sheet = _sheet(labels, picture, [sign], axes, (head, said))
        show_picture(sheet.axes[0], picture)
        outline(sheet.axes[0], edges)
        for ax, values in zip(sheet.axes[1:], drawn.values(), strict=True):
            show_picture(ax, heat(picture, values, sign, far))
            outline(ax, edges)
        each = ends_of(drawn.values(), [sign] * len(drawn))
        ends = each if far is None else f"{far:.3g}"
        colour_keys(sheet, [sign], ends)
        return sheet.figure


def _by_layer(
    maps: Mapping[Any, Any] | Sequence[Any], layers: Sequence[Any] | None
) -> dict[Any, Values]:
    """Return the maps that are drawn, by layer."""
    if not len(maps):
        raise InputError("maps must hold one map at least; got none")
    if isinstance(maps, Mapping):
        keys = list(maps if layers is None else layers)
        if missing := [key for key in keys if key not in maps]:
            raise InputError(f"layers must be of {', '.join(map(str, maps))}; got {missing[0]!r}")
        return {key: as_map(maps[key], f"map of layer {key}") for key in keys}
    keys = list(range(len(maps)) if layers is None else layers)
    if len(keys) != len(maps) or len(set(keys)) != len(keys):
        raise InputError(f"layers must name each of {len(maps)} maps; got {list(keys)!r}")
    pairs = zip(keys, maps, strict=True)
    return {key: as_map(one, f"map of layer {key}") for key, one in pairs}


def _layer_name(key: Any) -> str:
    return str(key) if isinstance(key, str) and not key.isdecimal() else f"Layer {key}"


# --- sanity --------------------------------------------------------------------------------------


class _Similar(NamedTuple):
    """How alike the maps of a trained and a randomised model are."""

    value: float
    low: float
    high: float
    cross: float
    verdict: str


def create_sanity_check_comparison(
    image: Any,
    original: Mapping[str, Any],
    randomised: Mapping[str, Any],
    similarities: Table,
    *,
    signs: str | Mapping[str, str] | None = None,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Draw maps of a model beside those of the same model with random weights.

    A map that stays the same does not depend on what the model learned. The guide's rule: a rank
    correlation below 0.3 is reliable, one above 0.6 unreliable.

    Parameters
    ----------
    image
        As in `visualize_all_methods`.
    original, randomised
        Maps by the method's name, of the trained model and of the one with random weights.
    similarities
        Columns `name` (or those of `line_names`), `value` (Spearman's rank correlation) and, where
        known, `low`, `high`, `n` (images), `cross` (the correlation with maps of other images, a
        cross in the panel) and `verdict` (ours, in a word or two, beside the guide's).
    signs
        How values are read, of all methods or by name.
    axes
        Three for each method; a new figure unless given.

    Examples
    --------
    >>> import numpy as np
    >>> image, maps = np.zeros((20, 30, 3), np.uint8), {"cls": [[0, 1], [2, 3]]}
    >>> figure = create_sanity_check_comparison(
    ...     image, maps, {"cls": [[1, 0], [3, 2]]}, {"name": ["cls"], "value": [0.6]})
    >>> [text.get_text() for text in figure.axes[2].texts]
    ['the guide: between', 'ρ = 0.60']
    """
    found = _similarities(similarities, original, randomised)
    with house_style():
        picture = as_picture(image)
        ways = {name: _read_both(original, randomised, name, signs) for name in found}
        labels = [label for name in found for label in _sanity_labels(name, found[name])]
        notes = _sanity_notes(similarities, found, len(original))
        plan = Plan(
            picture.shape[:2], 3 if len(found) < 6 else 6, wide=1.9,
            head="Do maps change when the weights are random?", notes=notes,
            foot=0.45 + KEY * len({way == "signed" for way in ways.values()}),
        )  # fmt: skip
        sheet = lay_out(labels, plan, axes)
        for row, name in enumerate(found):
            own = sheet.axes[3 * row : 3 * row + 3]
            for ax, maps in zip(own, (original, randomised), strict=False):
                values = as_map(maps[name], f"map {name!r}")
                show_picture(ax, heat(picture, values, ways[name]))
            _similarity(own[2], found[name], last=row >= len(found) - plan.columns // 3)
        both = [as_map(maps[one]) for maps in (original, randomised) for one in found]
        colour_keys(sheet, ways.values(), ends_of(both, [*ways.values()] * 2))
        return sheet.figure


def _read_both(
    original: Mapping[str, Any],
    randomised: Mapping[str, Any],
    name: str,
    signs: str | Mapping[str, str] | None,
) -> str:
    """Return how the values of the two maps of a method are read."""
    both = [as_map(maps[name]).ravel() for maps in (original, randomised)]
    return read_sign(np.concatenate(both)[None], select_sign(signs, name), what=f"map {name!r}")


def _similarities(
    table: Table, original: Mapping[str, Any], randomised: Mapping[str, Any]
) -> dict[str, _Similar]:
    """Return the similarity of each method that is drawn, in the order of the maps."""
    import pandas as pd

    rows = as_table(table, "similarities", ["value"])
    names = line_names(rows, "similarities")
    columns = [numbers(rows, one, "similarities").tolist() for one in ("value", "low", "high")]
    columns.append(numbers(rows, "cross", "similarities").tolist())
    given = rows["verdict"] if "verdict" in rows else [""] * len(rows)
    verdicts = ["" if pd.isna(one) else str(one) for one in given]
    known = {
        name: _Similar(value, low, high, cross, verdict)
        for name, verdict, value, low, high, cross in zip(names, verdicts, *columns, strict=True)
    }
    if not original:
        raise InputError("original must hold one map at least; got none")
    for name in original:
        for what, there in (("randomised", randomised), ("similarities", known)):
            if name not in there and shown(name, 60) not in there:
                raise InputError(f"{what} must have {name!r}, as original has; it has not")
    return {name: known.get(name) or known[shown(name, 60)] for name in list(original)[:_PAIRS]}


def _sanity_labels(name: str, found: _Similar) -> list[Label]:
    said = f"ρ = {found.value:.2f}" if math.isfinite(found.value) else "ρ undefined"
    if math.isfinite(found.low) and math.isfinite(found.high):
        said += f" [{found.low:.2f}, {found.high:.2f}]"
    guide = f"the guide: {guide_of(found.value)}" if math.isfinite(found.value) else ""
    ours = f"ours: {found.verdict}" if found.verdict else ""
    verdicts = "; ".join(one for one in (ours, guide) if one)
    return [Label(name, "as trained"), Label(name, "random weights"), Label(said, verdicts)]


def _sanity_notes(table: Table, found: Mapping[str, _Similar], count: int) -> str:
    rows = as_table(table, "similarities", ())
    notes = f"ρ: Spearman's rank correlation of the two maps; lines at {RELIABLE} and {UNRELIABLE}:"
    notes += " the guide's (below, shaded: reliable; above: unreliable)."
    if any(math.isfinite(one.low) for one in found.values()):
        notes += " Bars: intervals."
    if any(math.isfinite(one.cross) for one in found.values()):
        notes += " Crosses: the trained model's maps of other images, which ours compares with."
    if images := counts_words(numbers(rows, "n", "similarities")):
        notes += f" {images}."
    return notes + (f" {len(found)} of {count} methods are drawn." if len(found) < count else "")


def _similarity(ax: Axes, found: _Similar, *, last: bool) -> None:
    """Draw one rank correlation between -1 and 1, with the guide's lines."""
    blue = COLOURS["blue"]
    ax.axvspan(-1.05, RELIABLE, color="#F2F2F2", lw=0, zorder=0)
    ax.axvline(0, color=LIGHT, lw=0.8, zorder=1)
    for place in (RELIABLE, UNRELIABLE):
        ax.axvline(place, color=GREY, lw=0.9, ls=(0, (4, 3)), zorder=1)
    if math.isfinite(found.value):
        if math.isfinite(found.low) and math.isfinite(found.high):
            ax.plot([found.low, found.high], [0, 0], color=blue, lw=2.6, solid_capstyle="butt")
        ax.plot([found.value], [0], "o", ms=6.5, mfc=blue, mec="white", mew=0.8, zorder=4)
    if math.isfinite(found.cross):
        ax.plot([found.cross], [0], "x", ms=6, mec=BLACK, mew=1.4, zorder=5)
    ax.set(xlim=(-1.05, 1.05), ylim=(-1, 1), yticks=[])
    ticks = (-1, 0, RELIABLE, UNRELIABLE, 1)
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="x", labelbottom=last, labelsize=7)
    if last:
        ax.set_xlabel("Rank correlation ρ", fontsize=8, color=BLACK)


# --- cards ---------------------------------------------------------------------------------------

CARDS = (
    FigureCard(
        name="all-methods",
        title="Maps of all methods on one image",
        function=visualize_all_methods,
        file="all_methods",
        group="images",
        shows="The image, what is annotated on it, and the map of each method over it, with the "
        "edge of the annotation and the method's score.",
        reading="Each map has its own scale: bright places can be compared within a map, not "
        "between maps. One image is an example, no evidence: see the leaderboard.",
        needs="An image, maps by method; a mask for the annotation.",
    ),
    FigureCard(
        name="attribution",
        title="One map in depth",
        function=visualize_attribution_enhanced,
        file="attribution",
        group="images",
        shows="The image; the map with contour lines; the annotation with those lines; the "
        "highest 5, 10 and 20 percent of the map.",
        reading="Over each view stands the share that was reached, more than its name where cells "
        "are equal, and how much of it is annotated, beside chance.",
        needs="An image and one map; a mask for the annotation.",
    ),
    FigureCard(
        name="layer-maps",
        title="Maps of a method across layers",
        function=draw_layer_maps,
        file="layer_maps",
        group="images",
        shows="The map of one method at each layer over the same image.",
        reading="Each map has its own scale of colours unless the notes say that all share one.",
        needs="An image, maps by layer; a mask for the annotation.",
        unselected="It shows every layer of the method.",
    ),
    FigureCard(
        name="sanity-check",
        title="Maps of trained and of random weights",
        function=create_sanity_check_comparison,
        file="sanity_check_comparison",
        group="checks",
        shows="For each method the map of the trained model, the map with random weights, and "
        "their rank correlation over all images that were checked, with its interval; a cross is "
        "the correlation with the trained model's maps of other images.",
        reading="A map that stays the same does not depend on what the model learned. By the "
        "guide's rule below 0.3 is reliable, above 0.6 unreliable. Ours asks whether the map with "
        "random weights is more like the trained one than a map of another image is: maps of one "
        "method share much, such as a pull to the centre. Verdicts do not rank methods: noisy maps "
        "pass most easily. One image is an example; the numbers are those of all.",
        needs="An image, maps by method of both models, their rank correlations.",
        unselected="It shows how similar maps are, by which no layer was chosen.",
    ),
)
