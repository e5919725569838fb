"""Figures that show on examples what a score means: where maps point, where their energy lies.

Images and maps are given as in `sightline.figures.images`. What is counted is counted on the map's
own grid, where the model looked. A mask on another raster is brought there: of energy, the part of
a cell that is annotated counts; elsewhere, a cell counts when half of it is annotated (or, where
there is none, that with most of the annotation).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.figures._score_plots import BEYOND_AXIS, select_axis_values
from sightline.figures._tiles import (
    ANNOTATED,
    KEY,
    Label,
    Plan,
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
    on_raster,
    outline,
    read,
    read_sign,
    selected,
    share_text,
    shares_on,
    show_picture,
    spread,
    write_label,
)
from sightline.figures.card import FigureCard
from sightline.figures.lines import (
    BASELINE,
    as_table,
    counts_words,
    format_label,
    format_selection,
    line_names,
    list_selections,
    numbers,
    short_names,
)
from sightline.figures.panels import text_inches
from sightline.figures.style import (
    BLACK,
    COLOURS,
    GREY,
    LIGHT,
    figure_of,
    house_style,
    new_figure,
    shown,
)
from sightline.metrics import iou_ceiling, iou_chance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from sightline.figures._tiles import Mask, Pixels, Values
    from sightline.figures.lines import Table

__all__ = [
    "Example",
    "create_ebpg_visualization",
    "create_pointing_game_visualization",
    "draw_examples",
]

MARKS = 40
"""Tied maxima that are marked; of more, so many, spread evenly."""
BARS = 24
"""Methods in a bar chart; of more, the best."""
BOTH, MAP_ONLY = COLOURS["yellow"], COLOURS["vermillion"]
INSIDE, OUTSIDE = COLOURS["blue"], COLOURS["orange"]
RED = "#CC2A1E"


# --- pointing game -------------------------------------------------------------------------------


class _Peaks(NamedTuple):
    """The highest cells of a map.

    `x` and `y` are shares of width and height, `hits` says which lie inside; `score` is the share
    of them that do, NaN where nothing is annotated.
    """

    x: Values
    y: Values
    hits: Mask
    score: float
    cells: int

    @property
    def said(self) -> str:
        """The outcome in words."""
        if not math.isfinite(self.score):
            return "undefined"
        return "hit" if self.score == 1 else "miss" if self.score == 0 else "tied"


def create_pointing_game_visualization(
    image: Any,
    values: Any,
    mask: Any,
    *,
    name: str,
    sign: str | None = None,
    percent: float = 10,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Draw where a map is highest, whether that is annotated, and its top part.

    A green star is a hit, a red cross a miss. Maxima that are tied are all marked, and the score is
    the share of them that is annotated, as `pointing_game_hit` counts.

    Parameters
    ----------
    image, values, mask
        The image, its map and what is annotated.
    name
        Of the method.
    sign
        How values are read: "positive", "absolute" or "signed"; needed if some are negative.
    percent
        How much of the map the third panel compares with the annotation: the cells at or above
        that quantile, tied ones included.
    axes
        Three; a new figure unless given.

    Examples
    --------
    >>> import numpy as np
    >>> image, mask = np.zeros((20, 30, 3), np.uint8), [[False, True], [False, False]]
    >>> figure = create_pointing_game_visualization(image, [[0, 9], [1, 2]], mask, name="cls")
    >>> figure.axes[0].texts[-1].get_text()
    'cls: hit'
    """
    if not 0 < percent < 100:
        raise InputError(f"percent must lie between 0 and 100; got {percent!r}")
    with house_style():
        picture, found = as_picture(image), as_map(values)
        area = _needed(mask)
        seen = np.isfinite(found)
        inside = on_raster(area, found.shape) & seen
        sign = read_sign(found, sign)
        peaks = _peaks(read(found, sign), inside)
        top = selected(read(found, sign), percent / 100)
        labels = [
            Label(
                f"{shown(name, 48)}: {peaks.said}", _peaks_note(peaks, float(inside[seen].mean()))
            ),
            Label("Annotation", area_text(area)),
            Label(f"Top {percent:g}% and the annotation", _top_note(top[seen], inside[seen])),
        ]
        plan = Plan(picture.shape[:2], 3, wide=2.7, foot=0.62, least=2.2)
        sheet = lay_out(labels, plan, axes)
        show_picture(sheet.axes[0], heat(picture, found, sign))
        show_picture(sheet.axes[1], filled(picture, {ANNOTATED: area}))
        for ax in sheet.axes[:2]:
            outline(ax, edges_of(area, picture))
            _mark(ax, peaks, picture)
        _compare(sheet.axes[2], picture, top, inside, seen)
        _mark_key(sheet.axes[1], peaks)
        colour_keys(sheet, [sign], ends_of([found], [sign], "the map"), below=0)
        return sheet.figure


def _needed(mask: Any) -> Mask:
    area = as_mask(mask)
    if area is None:
        raise InputError("mask must be what is annotated; got None")
    return area


def _peaks(values: Values, inside: Mask) -> _Peaks:
    """Return the highest cells, spread evenly where there are more than are marked."""
    rows, columns = np.nonzero(values == np.nanmax(values))
    hits = inside[rows, columns]
    score = float(hits.mean()) if inside.any() else math.nan
    kept = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MARKS)).round().astype(int))
    height, width = values.shape
    return _Peaks(
        (columns[kept] + 0.5) / width, (rows[kept] + 0.5) / height, hits[kept], score, len(rows)
    )


def _peaks_note(peaks: _Peaks, chance: float) -> str:
    note = f"chance {chance:.2f}"
    if not math.isfinite(peaks.score):
        return "nothing is annotated in sight"
    if peaks.cells == 1:
        return f"score {peaks.score:.0f}; {note}"
    marked = f", {len(peaks.x)} of them marked" if len(peaks.x) < peaks.cells else ""
    said = f"{peaks.cells:,} tied maxima{marked}"
    return f"score {peaks.score:.2f}: the annotated share of {said}; {note}"


def _mark(ax: Axes, peaks: _Peaks, picture: Pixels) -> None:
    """Mark maxima: stars that hit, crosses that miss, rings where nothing is annotated."""
    height, width = picture.shape[:2]
    known = math.isfinite(peaks.score)
    for hit in (False, True):
        at = peaks.hits == hit
        if not at.any():
            continue
        marker, size, colour = _marker(hit, known)
        ax.plot(
            peaks.x[at] * width, peaks.y[at] * height, ls="none", marker=marker, ms=size,
            mfc=colour, mec="white", mew=1.1, clip_on=False, zorder=6,
        )  # fmt: skip


def _marker(hit: bool, known: bool = True) -> tuple[str, float, str]:
    if not known:
        return "o", 8.0, GREY
    return ("*", 15.0, COLOURS["green"]) if hit else ("X", 10.0, RED)


def _mark_key(ax: Axes, peaks: _Peaks) -> None:
    """Say below a panel what its marks are."""
    known = math.isfinite(peaks.score)
    kinds = sorted(set(peaks.hits.tolist()), reverse=True)
    words = {True: "hit: annotated", False: "miss: not annotated"}
    handles = []
    for hit in kinds:
        marker, size, colour = _marker(hit, known)
        handles.append(
            ax.plot([], [], ls="none", marker=marker, ms=size * 0.7, mfc=colour, mec="white")[0]
        )
    _legend_below(ax, handles, [words[hit] if known else "the maximum" for hit in kinds])


def _legend_below(ax: Axes, handles: Sequence[Any], texts: Sequence[str]) -> None:
    ax.legend(
        list(handles), list(texts), loc="upper left", bbox_to_anchor=(0, 0), borderaxespad=0.5,
        fontsize=7.5, handlelength=1.4, borderpad=0,
    )  # fmt: skip


def _compare(ax: Axes, picture: Pixels, top: Mask, inside: Mask, seen: Mask) -> None:
    """Draw the top part and the annotation: where both are, and where only one is.

    Shares are of what was seen, as those of the whole figure are.
    """
    from matplotlib.patches import Patch

    areas = {BOTH: top & inside, MAP_ONLY: top & ~inside, ANNOTATED: inside & ~top}
    show_picture(ax, filled(picture, areas, cover=0.75))
    words = ("both", "map only", "annotation only")
    handles = [Patch(facecolor=colour, edgecolor=GREY, lw=0.5) for colour in areas]
    shares = [share_text(float(area[seen].mean())) for area in areas.values()]
    texts = [f"{word}: {share}" for word, share in zip(words, shares, strict=True)]
    _legend_below(ax, handles, texts)


def _top_note(top: Mask, inside: Mask) -> str:
    """Return what was reached, and its IoU beside that of chance and the best possible."""
    reached, annotated = float(top.mean()), float(inside.mean())
    note = f"{share_text(reached)} reached"
    if annotated:
        note += f"; IoU {(top & inside).sum() / (top | inside).sum():.2f}"
        note += f" (chance {float(iou_chance(reached, annotated)):.2f},"
        note += f" ceiling {float(iou_ceiling(reached, annotated)):.2f})"
    return note


# --- energy --------------------------------------------------------------------------------------


def create_ebpg_visualization(
    image: Any,
    values: Any,
    mask: Any,
    *,
    name: str,
    sign: str | None = None,
    scores: Table | None = None,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Draw how much of a map's energy lies inside the annotation.

    Energy is the map's sum, values below zero counting as zero or by their size.

    Parameters
    ----------
    image, values, mask
        The image, its map and what is annotated.
    name
        Of the method.
    sign
        How values are read: "positive" or "absolute"; needed if some are negative.
    scores
        Energy inside of several methods, for the third panel: columns `name` (or those of
        `line_names`), `value` and, where known, `low`, `high`, `chance`, `n`, `group`, `layer`,
        `chosen`. Without them this map is compared with chance.
    axes
        Three; a new figure unless given.

    Examples
    --------
    >>> import numpy as np
    >>> image, mask = np.zeros((20, 30, 3), np.uint8), [[True, False], [False, False]]
    >>> figure = create_ebpg_visualization(image, [[3, 1], [0, 0]], mask, name="cls")
    >>> figure.axes[1].texts[1].get_text()
    '75% of the energy inside'
    """
    with house_style():
        picture, found, area = as_picture(image), as_map(values), _needed(mask)
        sign = read_sign(found, sign, ("positive", "absolute"))
        share, chance = _energy(read(found, sign), shares_on(area, found.shape))
        bars = _bars(scores, name, share, chance)
        labels = [
            Label(name, "blue: energy inside the annotation; orange: outside"),
            _pie_label(share),
            _bar_label(bars, scores),
        ]
        left, middle, right = _energy_axes(labels, axes, picture, bars)
        _split(left, picture, read(found, sign), area)
        _pie(middle, share, chance)
        _bar_chart(right, bars, shown(name, 60))
        return figure_of(left)


def _energy(values: Values, inside: Values) -> tuple[float, float]:
    """Return the share of a map's sum that is inside, and what a map without structure has.

    `inside` says how much of each cell is annotated.
    """
    seen = np.isfinite(values)
    total = float(values[seen].sum())
    chance = float(inside[seen].mean())
    if not total or not chance:
        return math.nan, chance
    return float((values * inside)[seen].sum()) / total, chance


def _energy_axes(
    labels: Sequence[Label], axes: Sequence[Axes] | None, picture: Pixels, bars: Sequence[_Bar]
) -> list[Axes]:
    """Return the axes of the three panels, labels over them."""
    if axes is not None:
        return lay_out(labels, Plan((1, 1), 3), axes).axes
    wide, high = Plan(picture.shape[:2], 3, wide=2.7).tile
    sizes = [(wide, high), (2.5, 2.5), (2.9, max(2.2, 0.19 * min(len(bars), BARS)))]
    names = 0.55 + text_inches([bar.label for bar in bars], _BAR_NAME)  # left of the bars
    lefts = [0.15, wide + 0.45, wide + 0.45 + 2.5 + names]
    figure = new_figure(lefts[2] + 2.9 + 0.5, 1)
    figure.set_layout_engine("none")
    width = figure.get_size_inches()[0]
    found = [figure.add_axes((0, 0, one[0] / width, 0.5)) for one in sizes]
    room = max(write_label(ax, label) for ax, label in zip(found, labels, strict=True))
    height = room + 0.15 + max(high + 0.1, 2.5 + 0.65, sizes[2][1] + 0.55)
    figure.set_size_inches(width, height)
    for ax, (across, down), left in zip(found, sizes, lefts, strict=True):
        up = height - room - 0.1 - down
        ax.set_position((left / width, up / height, across / width, down / height))
    return found


def _split(ax: Axes, picture: Pixels, values: Values, area: Mask) -> None:
    """Draw the energy over a pale image: the stronger the colour the more, blue inside."""
    from matplotlib.colors import to_rgb

    over = np.nan_to_num(spread(values, picture.shape[:2]))
    far = far_of(values, "positive")
    strength = (np.clip(over / far, 0, 1) if far else over)[..., None]
    within = on_raster(area, picture.shape[:2])[..., None]
    colour = 255 * np.where(within, to_rgb(INSIDE), to_rgb(OUTSIDE))
    pale = np.repeat(185 + 0.27 * (picture @ np.array([0.299, 0.587, 0.114]))[..., None], 3, 2)
    show_picture(ax, np.asarray(np.rint(pale + strength * (colour - pale)), np.uint8))
    outline(ax, edges_of(area, picture))


def _pie(ax: Axes, share: float, chance: float) -> None:
    """Draw the share inside, clockwise from the top, and chance as a line."""
    ax.set_aspect("equal", anchor="N")
    ax.set_axis_off()
    if not math.isfinite(share):
        ax.set(xlim=(-1, 1), ylim=(-1, 1))
        ax.text(0, 0, "undefined", ha="center", va="center", fontsize=11, color=GREY)
        return
    wedges, *_ = ax.pie(
        [share, 1 - share], colors=[INSIDE, OUTSIDE], startangle=90, counterclock=False,
        wedgeprops={"edgecolor": "white", "linewidth": 1.2},
    )  # fmt: skip
    angle = math.pi / 2 - 2 * math.pi * chance
    (line,) = ax.plot(
        [0, 1.1 * math.cos(angle)], [0, 1.1 * math.sin(angle)], color=BLACK, lw=1.6, ls=(0, (3, 2))
    )
    ax.set(xlim=(-1.12, 1.12), ylim=(-1.12, 1.12))
    texts = [f"inside: {share_text(share)}", f"outside: {share_text(1 - share)}"]
    texts.append(f"chance: {share_text(chance)}, the annotated share")
    _legend_below(ax, [*wedges, line], texts)


def _pie_label(share: float) -> Label:
    if not math.isfinite(share):
        return Label("Energy inside: undefined", "the map is zero, or nothing annotated in sight")
    return Label(f"{share_text(share)} of the energy inside", "clockwise from the top")


_COLUMNS = ("value", "low", "high", "chance")
_ABOUT = ("group", "layer", "chosen")
_BAR_NAME = 7.5  # letters of a bar's name, in points


class _Bar(NamedTuple):
    name: str
    value: float
    low: float = math.nan
    high: float = math.nan
    chance: float = math.nan
    baseline: bool = False
    label: str = ""


def _bars(scores: Table | None, name: str, share: float, chance: float) -> list[_Bar]:
    """Return the bars of the third panel, the highest first; undefined ones at the end."""
    if scores is None:
        own = shown(name, 60)
        return [
            _Bar(own, share, label=own),
            _Bar("chance", chance, baseline=True, label="chance"),
        ]
    rows = as_table(scores, "scores", ["value"])
    if not len(rows):
        raise InputError("scores must have one row at least; it has none")
    columns = [numbers(rows, one, "scores").tolist() for one in _COLUMNS]
    names = line_names(rows, "scores")
    short = short_names(names, 36)  # different names do not look alike
    groups, layers, chosen = (
        list(rows[one].astype(object).where(rows[one].notna(), "")) if one in rows
        else [""] * len(rows)
        for one in _ABOUT
    )  # fmt: skip
    labels = [
        format_label(short[name], layer, str(how))
        for name, layer, how in zip(names, layers, chosen, strict=True)
    ]
    found = [
        _Bar(name, value, low, high, chance, group == BASELINE, label)
        for name, group, label, value, low, high, chance in zip(
            names, groups, labels, *columns, strict=True
        )
    ]
    return sorted(found, key=lambda bar: (math.isnan(bar.value), -np.nan_to_num(bar.value)))


def _known(bars: Sequence[_Bar]) -> list[_Bar]:
    return [bar for bar in bars if math.isfinite(bar.value)]


def _bar_chart(ax: Axes, bars: Sequence[_Bar], name: str) -> None:
    """Draw a bar for each method with its interval and chance; that of the map has an edge."""
    drawn = _known(bars)[:BARS]
    for place, bar in enumerate(drawn):
        ax.barh(
            [place], [bar.value], height=0.7, color=LIGHT if bar.baseline else COLOURS["sky"],
            edgecolor=BLACK if name in (bar.name, bar.label) else "none", linewidth=1.1,
        )  # fmt: skip
        if math.isfinite(bar.low) and math.isfinite(bar.high):
            ax.plot([bar.low, bar.high], [place, place], color=GREY, lw=1.6)
        if math.isfinite(bar.chance):
            ax.plot([bar.chance] * 2, [place - 0.42, place + 0.42], color=BLACK, lw=1.6)
    _bar_axis(ax, drawn)


def _find_bar_end(drawn: Sequence[_Bar]) -> float:
    """Return where the axis ends: beyond bars with intervals; beyond all where none has one.

    Bars of a single image have none by nature.
    """
    columns = [(bar.value, bar.low, bar.high, bar.chance) for bar in drawn]
    value, low, high, chance = np.array(columns, np.float64).reshape(-1, 4).T
    held = [select_axis_values(value, low, high), high[np.isfinite(low)], chance]
    return float(min(1.0, 1.08 * np.nanmax(np.concatenate(held), initial=0)) or 1.0)


def _bar_axis(ax: Axes, drawn: Sequence[_Bar]) -> None:
    """Name the bars on the left and write their values on the right."""
    names = [bar.label for bar in drawn]
    ax.set_yticks(range(len(drawn)), names, fontsize=_BAR_NAME, parse_math=False)
    for place, bar in enumerate(drawn):
        ax.annotate(
            f"{bar.value:.2f}", (1, place), (4, 0), xycoords=("axes fraction", "data"),
            textcoords="offset points", va="center", fontsize=7.5, annotation_clip=False,
        )  # fmt: skip
    ax.set(xlim=(0, _find_bar_end(drawn)))
    ax.set_ylim(max(len(drawn), 2) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.locator_params(axis="x", nbins=5)
    ax.grid(axis="x", color="#EEEEEE", lw=0.6)
    ax.set_xlabel("Share of energy inside")


def _bar_label(bars: Sequence[_Bar], scores: Table | None) -> Label:
    """Say what the bars are: of how many images, with which marks."""
    if scores is None:
        return Label("This map and chance")
    known, notes = _known(bars), list[str]()
    rows = as_table(scores, "scores", ())
    counts = numbers(rows, "n", "scores")[np.isfinite(numbers(rows, "value", "scores"))]
    if images := counts_words(counts):
        notes.append("mean of " * bool(np.nanmax(counts) > 1) + images)
    if any(math.isfinite(bar.low) for bar in known):
        notes.append("grey lines: intervals")
    if any(math.isfinite(bar.chance) for bar in known):
        notes.append("black ticks: chance")
    if any(bar.baseline for bar in known):
        notes.append("grey bars: baselines")
    if any(bar.value > _find_bar_end(known[:BARS]) for bar in known[:BARS]):
        notes.append(f"cut bars: {BEYOND_AXIS}")
    if len(known) > BARS:
        notes.append(f"{BARS} best of {len(known)} drawn")
    if undefined := len(bars) - len(known):
        notes.append(f"{undefined} undefined not drawn")
    if selection := format_selection(list_selections(rows)):
        notes.append(selection)
    return Label("Energy inside, by method", "; ".join(notes))


# --- best, median, worst -------------------------------------------------------------------------


class Example(NamedTuple):
    """One image with its map.

    Attributes
    ----------
    image, values, mask
        The image, its map and what is annotated; the mask may be None.
    caption
        Such as "best: 0.81"; what follows a line break is in small letters.
    sign
        How values are read.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.figures import Example
    >>> grey = np.full((8, 8, 3), 128, np.uint8)
    >>> Example(grey, np.eye(8), caption="best: 0.81", sign="absolute").sign
    'absolute'
    """

    image: Any
    values: Any
    mask: Any = None
    caption: str = ""
    sign: str | None = None


def draw_examples(
    examples: Sequence[Example], *, head: str = "", axes: Sequence[Axes] | None = None
) -> Figure:
    """Draw images with their maps beside them, the edge of the annotation on both.

    Up to 4 examples stand one below the other; of more, three in a row.

    Parameters
    ----------
    examples
        Image, map, mask, caption and sign of each, such as those of the best, the median and the
        worst score of a method.
    head
        Over the whole of a new figure.
    axes
        Two for each example; a new figure unless given.

    Examples
    --------
    >>> import numpy as np
    >>> one = Example(np.zeros((20, 30, 3), np.uint8), [[0, 1], [2, 3]], caption="best: 0.81")
    >>> figure = draw_examples([one], head="cls")
    >>> figure.axes[0].texts[0].get_text()
    'best: 0.81'
    """
    shown_ones = [Example(*one) for one in examples]
    if not shown_ones:
        raise InputError("examples must hold one at least; got none")
    with house_style():
        pictures = [as_picture(one.image, f"image {i}") for i, one in enumerate(shown_ones)]
        areas = [as_mask(one.mask, f"mask {i}") for i, one in enumerate(shown_ones)]
        maps = [as_map(one.values, f"map {i}") for i, one in enumerate(shown_ones)]
        signs = [read_sign(values, one.sign) for values, one in zip(maps, shown_ones, strict=True)]
        labels = [label for one in shown_ones for label in (_caption(one), Label(""))]
        shape = np.median([picture.shape[:2] for picture in pictures], axis=0).astype(int)
        notes = "White lines: the edge of the annotation." if any(map(_any, areas)) else ""
        plan = Plan(
            (int(shape[0]), int(shape[1])), 2 if len(shown_ones) < 5 else 6, head=head,
            notes=notes, foot=0.05 + KEY * len({sign == "signed" for sign in signs}),
            wide=2.3 if len(shown_ones) < 5 else 1.6, span=2,
        )  # fmt: skip
        sheet = lay_out(labels, plan, axes)
        for place, (picture, area) in enumerate(zip(pictures, areas, strict=True)):
            image, over = sheet.axes[2 * place : 2 * place + 2]
            show_picture(image, picture)
            show_picture(over, heat(picture, maps[place], signs[place]))
            edges = edges_of(area, picture)
            outline(image, edges)
            outline(over, edges)
        colour_keys(sheet, signs, ends_of(maps, signs))
        return sheet.figure


def _caption(example: Example) -> Label:
    head, _, note = str(example.caption or "").partition("\n")
    return Label(head, note)


def _any(area: Mask | None) -> bool:
    return area is not None and bool(area.any())


# --- cards ---------------------------------------------------------------------------------------

CARDS = (
    FigureCard(
        name="examples",
        title="Best, median and worst images of a method",
        function=draw_examples,
        file="examples",
        group="images",
        shows="Images with the edge of the annotation, and beside each its map.",
        reading="The median shows what is usual; the best and the worst show what is possible and "
        "what goes wrong.",
        needs="Images, maps, masks and captions.",
    ),
    FigureCard(
        name="pointing-game",
        title="The pointing game on one image",
        function=create_pointing_game_visualization,
        file="pointing_game",
        group="images",
        shows="Where the map is highest, on the map and on the annotation; its top 10 percent "
        "against the annotation.",
        reading="A green star is a hit, a red cross a miss. Where maxima are tied all are marked, "
        "and the score is the share that is annotated.",
        needs="An image, its map and a mask.",
    ),
    FigureCard(
        name="energy",
        title="Energy inside the annotation",
        function=create_ebpg_visualization,
        file="energy_pointing_game",
        group="images",
        shows="The map's energy inside and outside the annotation; a pie of both with chance; the "
        "energy inside of several methods.",
        reading="Chance is the annotated share of the image: a map without structure reaches it. "
        "Bars are means over images, with intervals where they are known.",
        needs="An image, its map and a mask; scores of methods for the third panel.",
    ),
)
