"""Prototypes: whether they lie on the object, and what their similarity is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.attribution.prototypes.nature import ALL
from sightline.attribution.prototypes.score_drops import largest_drops
from sightline.core import InputError
from sightline.figures._score_plots import fit, plural, sentences
from sightline.figures._tiles import Label, Plan, as_map, as_picture, heat, lay_out, show_picture
from sightline.figures.card import FigureCard
from sightline.figures.lines import filled_table, numbers, short_names
from sightline.figures.panels import cell_axes, legend_beside, panels, text_inches
from sightline.figures.style import (
    BLACK,
    COLOURS,
    GREY,
    LIGHT,
    axes_for,
    figure_of,
    house_style,
    shown,
    title,
)
from sightline.stats import interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from sightline.figures.lines import Table
    from sightline.stats import Interval

    Numbers = NDArray[np.float64]

__all__ = [
    "PrototypeCard",
    "draw_drop_heatmap",
    "draw_max_drop_distribution",
    "draw_prototype_cards",
    "draw_relevance_distributions",
]

MOST = 60
"""Prototypes that a figure shows."""
_GRID = "#EEEEEE"
_CHANCE: dict[str, Any] = {"color": BLACK, "ls": (0, (5, 2.5))}
_MEASURES = {"energy_relevance": "energy", "mask_relevance": "mask"}
_KINDS = {"prototype": "Prototypes", "patch": "Patches"}


# --- relevance -----------------------------------------------------------------------------------


def draw_relevance_distributions(table: Table, *, axes: Sequence[Axes] | None = None) -> Figure:
    """Draw how relevant prototypes and patches are to the object, beside chance.

    A row of panels for prototypes and one for patches, energy on the left and mask on the right.

    Parameters
    ----------
    table
        A row for each prototype and each patch: `kind` ("prototype", "patch"), `energy_relevance`,
        `mask_relevance`, `chance` (the share of the image that the object takes) and, where it is
        known, `image`. Intervals take images as drawn at random.
    axes
        Two for each kind that the table has; a new figure unless given.

    Examples
    --------
    >>> table = {"kind": ["patch", "patch"], "energy_relevance": [0.4, 0.6],
    ...     "mask_relevance": [0.5, 0.9], "chance": [0.2, 0.3]}
    >>> [ax.get_title(loc="left") for ax in draw_relevance_distributions(table).axes]
    ['Patches: energy', 'Patches: mask']
    """
    rows = filled_table(table, "table", ("kind", *_MEASURES, "chance"))
    if unknown := [one for one in rows["kind"] if one not in _KINDS]:
        raise InputError(f"kind must be one of {', '.join(_KINDS)}; got {unknown[0]!r}")
    kinds = [kind for kind in _KINDS if kind in set(rows["kind"])]
    with house_style():
        places = panels(axes, 2 * len(kinds), size=(8.4, 2.55 * len(kinds) + 0.5), columns=2)
        pairs = [(kind, measure) for kind in kinds for measure in _MEASURES]
        for ax, (kind, measure) in zip(places, pairs, strict=True):
            ax.set_xlabel("Share of the attribution on the object" if measure[0] == "e" else
                          "Share of its top pixels on the object")  # fmt: skip
            ax.set_ylabel(_KINDS[kind] if measure[0] == "e" else "")
        found = [_draw_relevance(ax, rows[rows["kind"] == kind], measure)
                 for ax, (kind, measure) in zip(places, pairs, strict=True)]  # fmt: skip
        figure = figure_of(places[0])
        figure.draw_without_rendering()  # how wide panels are is known from here on
        for ax, (kind, measure), told in zip(places, pairs, found, strict=True):
            title(ax, f"{_KINDS[kind]}: {_MEASURES[measure]}", told, lines=2)
        _relevance_legend(places[0])
        return figure


def _draw_relevance(ax: Axes, rows: pd.DataFrame, measure: str) -> str:
    """Draw one distribution with its mean over chance's; return what is to be said of it."""
    what = _KINDS[rows["kind"].iloc[0]].lower()
    values, chance = numbers(rows, measure), numbers(rows, "chance")
    known = np.isfinite(values) & np.isfinite(chance)
    lost = int((~known).sum())
    edges = np.linspace(0, 1, 21)
    ax.set_xlim(0, 1)
    ax.grid(axis="y", color=_GRID, lw=0.6)
    undefined = f"{lost} undefined not drawn" if lost else ""
    if not known.any():
        return sentences(undefined)
    # Shares may be 1 + rounding.
    ax.hist(np.clip(values[known], 0, 1), bins=edges.tolist(), color=COLOURS["sky"], alpha=0.75)
    ax.hist(np.clip(chance[known], 0, 1), bins=edges.tolist(), histtype="step", lw=1.1, **_CHANCE)
    mean = _mean(rows[known], values[known])
    ax.axvline(mean.value, color=COLOURS["blue"], lw=2)
    if np.isfinite(mean.low):
        ax.axvspan(mean.low, mean.high, color=COLOURS["blue"], alpha=0.18, lw=0)
    level = float(chance[known].mean())
    ax.axvline(level, lw=1.6, **_CHANCE)
    ax.locator_params(axis="y", integer=True)
    ends = f" ({mean.low:.2f} to {mean.high:.2f})" if np.isfinite(mean.low) else ""
    return sentences(
        f"mean {mean.value:.2f}{ends}, chance {level:.2f}; "
        f"{int(known.sum()):,} {what} on {plural(mean.n, 'image')}",
        undefined,
    )


def _mean(rows: pd.DataFrame, values: Numbers) -> Interval:
    images = rows["image"].astype(str).tolist() if "image" in rows else None
    several = images if images and len(set(images)) < len(images) else None
    return interval(values, images=several, limits=(0, 1))


def _relevance_legend(ax: Axes) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Patch(color=COLOURS["sky"], alpha=0.75),
        Line2D([], [], color=COLOURS["blue"], lw=2),
        Line2D([], [], lw=1.4, **_CHANCE),
    ]
    texts = ["relevance", "its mean, 95% interval", "chance, and its mean"]
    figure_of(ax).legend(handles, texts, loc="outside lower left", ncols=3, frameon=False)


# --- drops ---------------------------------------------------------------------------------------


class _Heat(NamedTuple):
    """What the cells of a heatmap hold: (prototypes, perturbations)."""

    prototypes: list[int]
    perturbations: list[str]
    focused: Numbers
    difference: Numbers
    matters: NDArray[np.object_]
    images: Numbers
    left_out: int


def draw_drop_heatmap(
    table: Table,
    *,
    names: Mapping[int, str] | None = None,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Draw what each perturbation takes of the similarity to each prototype.

    On the left the mean focused drop; on the right, where dual copies are known, focused minus dual
    drop, with a dot where the perturbation matters and beside it what follows: the perturbations
    that matter, "unknown" where none does, "undecided" where images are too few.

    Parameters
    ----------
    table
        A row for each prototype and perturbation, as
        `sightline.attribution.prototypes.nature.effects` has them: `prototype`, `perturbation`,
        `focused` and, where they are known, `difference`, `matters` (missing where it is
        undecided), `images`. Rows over all prototypes are left out. Of more than 60 prototypes
        those with the most images are drawn.
    names
        What prototypes are called beside their numbers, such as their classes.
    axes
        One for each panel; a new figure unless given.

    Examples
    --------
    >>> table = {"prototype": [3, 3], "perturbation": ["hue", "blur"], "focused": [0.5, 0.1],
    ...     "difference": [0.4, 0.0], "matters": [True, False]}
    >>> figure = draw_drop_heatmap(table, names={3: "Gothic"})
    >>> figure.axes[0].get_yticklabels()[0].get_text(), figure.axes[1].texts[0].get_text()
    ('3 Gothic', '●')
    """
    found = _heat(filled_table(table, "table", ("prototype", "perturbation", "focused")))
    both = bool(np.isfinite(found.difference).any())
    count, wide = len(found.prototypes), 0.42 * len(found.perturbations)
    labels = [f"{one} {shown((names or {}).get(one, ''), 24)}".strip() for one in found.prototypes]
    changes = list(short_names(found.perturbations, 24).values())
    with house_style():
        own = axes is None
        room = text_inches(labels) + 2 * (wide + 1.2)
        places = panels(axes, 2 if both else 1, size=(max(room, 5), 0.185 * count + 2.6))
        far = _far(found)
        heads = ["Focused drop", "Focused − dual drop"]
        drawn = [found.focused, found.difference]
        for place, (ax, values) in enumerate(zip(places, drawn, strict=False)):
            mesh = _draw_heat(ax, values, far)
            beside = labels if place == 0 or not own else [""] * count
            cell_axes(ax, changes, beside, sizes=(8, 7.5))
        if both:
            _mark_cells(places[1], found)
            _write_natures(places[1], found)
        _heat_bar(places, mesh, far)
        if own:
            fit(places, width=max(wide, 2.2), columns=len(places))
        for ax, head, told in zip(places, heads, _heat_notes(found), strict=False):
            title(ax, head, told, lines=3)
        if own:
            fit(places, height=max(0.185 * count, 0.6), columns=len(places))
        return figure_of(places[0])


def _heat(rows: pd.DataFrame) -> _Heat:
    """Return the cells of a table, prototypes by number and perturbations as they come."""
    rows = rows[numbers(rows, "prototype") != ALL].reset_index(drop=True)
    if rows.empty:
        raise InputError("table must have a row of a single prototype; it has none")
    whose = numbers(rows, "prototype").astype(int).tolist()
    which = [str(one) for one in rows["perturbation"]]
    if len(set(zip(whose, which, strict=True))) < len(rows):
        raise InputError("table must have one row for each prototype and perturbation; some repeat")
    images = numbers(rows, "images")
    most = dict.fromkeys(sorted(set(whose)), 0.0)
    for one, count in zip(whose, images.tolist(), strict=True):
        most[one] = max(most[one], count if np.isfinite(count) else 0)
    kept = sorted(sorted(most, key=lambda one: -most[one])[:MOST])
    names = list(dict.fromkeys(which))
    shape = (len(kept), len(names))
    cells = {name: np.full(shape, np.nan) for name in ("focused", "difference", "images")}
    matters = np.full(shape, None, object)
    columns = {name: numbers(rows, name) for name in cells}
    said = rows["matters"].tolist() if "matters" in rows else [None] * len(rows)
    for at, (one, name) in enumerate(zip(whose, which, strict=True)):
        if one in kept:
            place = kept.index(one), names.index(name)
            for column, values in columns.items():
                cells[column][place] = values[at]
            matters[place] = bool(said[at]) if said[at] in (True, False) else None
    left_out = len(most) - len(kept)
    return _Heat(kept, names, matters=matters, left_out=left_out, **cells)


def _far(found: _Heat) -> float:
    """Return where the colours end: at the largest size, 1 at most."""
    sizes = np.abs(np.concatenate([found.focused.ravel(), found.difference.ravel()]))
    return min(max(float(np.nanmax(sizes, initial=0.0)), 0.05), 1.0)


def _draw_heat(ax: Axes, values: Numbers, far: float) -> Any:
    from matplotlib import colormaps

    scale = colormaps["RdBu_r"].with_extremes(bad="#DDDDDD")
    drawn = np.ma.masked_invalid(values)
    return ax.imshow(drawn, cmap=scale, vmin=-far, vmax=far, aspect="auto")


def _mark_cells(ax: Axes, found: _Heat) -> None:
    """Put dots on what matters, and hatch what is undecided."""
    from matplotlib.patches import Rectangle

    for row, column in np.ndindex(*found.difference.shape):
        if found.matters[row, column]:
            dark = abs(found.difference[row, column]) > 0.62 * _far(found)
            ax.text(column, row, "●", ha="center", va="center_baseline", fontsize=6,
                    color="white" if dark else BLACK, in_layout=False)  # fmt: skip
        elif found.matters[row, column] is None and np.isfinite(found.difference[row, column]):
            corner = (column - 0.5, row - 0.5)
            ax.add_patch(Rectangle(corner, 1, 1, fill=False, hatch="/////", ec=GREY, lw=0))


def _write_natures(ax: Axes, found: _Heat) -> None:
    """Write beside each row what the similarity is made of."""
    for row in range(len(found.prototypes)):
        text = _nature(found, row)
        plain = text in ("unknown", "undecided")
        ax.annotate(
            shown(text, 34), (1, row), (5, 0), xycoords=("axes fraction", "data"), va="center",
            textcoords="offset points", fontsize=7.5, color=GREY if plain else BLACK,
            annotation_clip=False, parse_math=False,
        )  # fmt: skip


def _nature(found: _Heat, row: int) -> str:
    matter = [column for column, one in enumerate(found.matters[row]) if one]
    if matter:
        matter.sort(key=lambda column: -found.difference[row, column])
        return ", ".join(found.perturbations[column] for column in matter)
    return "undecided" if any(one is None for one in found.matters[row]) else "unknown"


def _heat_bar(places: Sequence[Axes], mesh: Any, far: float) -> None:
    bar = figure_of(places[0]).colorbar(
        mesh, ax=list(places), location="bottom", fraction=0.06, pad=0.02, aspect=40, shrink=0.6,
        ticks=[-far, 0, far], extend="both" if far >= 1 else "neither",
    )  # fmt: skip
    bar.ax.set_xticklabels([f"−{far:.2g}", "0", f"{far:.2g}"])
    bar.set_label("Share of the similarity that is lost")
    bar.outline.set_visible(False)


def _heat_notes(found: _Heat) -> list[str]:
    """Return what stands over the two panels."""
    undefined = int(np.isnan(found.focused).sum())
    drawn = plural(len(found.prototypes), "prototype")
    left = sentences(
        f"{drawn}; {found.left_out} on fewer images not drawn" if found.left_out else drawn,
        "grey: undefined" if undefined else "",
    )
    hatched = any(one is None for one in found.matters.ravel())
    right = sentences(
        "●: matters, the 95% interval lies above 0",
        "hatched: undecided, images are too few" if hatched else "",
    )
    return [left, right]


# --- the largest drops ---------------------------------------------------------------------------

_MOST_COLOURS = 7


def draw_max_drop_distribution(table: Any, *, ax: Axes | None = None) -> Figure:
    """Draw how the largest drops of images and prototypes are distributed.

    Colours say which perturbation takes most.

    Parameters
    ----------
    table
        As in `sightline.attribution.prototypes.score_drops`: a row for each image, prototype and
        perturbation.
    ax
        Where to draw; a new figure unless given.

    Examples
    --------
    >>> table = {"img_id": [0, 0], "proto_idx": [5, 5], "perturbation": ["hue", "blur"],
    ...     "original_score": [1.0, 1.0], "focused": [0.5, 0.75]}
    >>> draw_max_drop_distribution(table).axes[0].get_xlabel()
    'Largest focused drop of the score'
    """
    largest = largest_drops(table)
    if not largest:
        raise InputError("table must have at least one row; it has none")
    by_name: dict[str, list[float]] = {}
    for one in largest:
        if np.isfinite(one.drop):
            by_name.setdefault(one.perturbation, []).append(one.drop)
    names = sorted(by_name, key=lambda name: (-len(by_name[name]), name))
    groups, looks = _grouped(names, by_name)
    every = [drop for some in groups.values() for drop in some]
    with house_style():
        labels = [f"{len(some):,}  {name}" for name, some in groups.items()]
        ax = axes_for(ax, 6.2 + text_inches(labels), 3.6)
        low, high = min([0.0, *every]), max([1.0, *every])
        edges = np.linspace(low, high, 41).tolist()
        if groups:
            ax.hist(list(groups.values()), bins=edges, stacked=True, color=looks)
        ax.axvline(0, color=BLACK, lw=1)
        ax.set_xlabel("Largest focused drop of the score")
        ax.set_ylabel("Pairs of image and prototype")
        ax.locator_params(axis="y", integer=True)
        ax.grid(axis="y", color=_GRID, lw=0.6)
        _drop_legend(ax, labels, looks)
        gone = len(largest) - len(every)
        middle = f"median {np.median(every):.2f}" if every else ""
        title(
            ax,
            "What the strongest perturbation takes",
            sentences(f"{len(every):,} pairs{'; ' if middle else ''}{middle}",
                      f"{gone} undefined not drawn" if gone else ""),
        )  # fmt: skip
        return figure_of(ax)


def _grouped(
    names: Sequence[str], by_name: Mapping[str, list[float]]
) -> tuple[dict[str, list[float]], list[str]]:
    """Return the drops of the perturbations that have a colour, and of all others together."""
    groups = {shown(name, 30): by_name[name] for name in names[:_MOST_COLOURS]}
    looks = [COLOURS[one] for one in list(COLOURS)[:_MOST_COLOURS]][: len(groups)]
    if rest := names[_MOST_COLOURS:]:
        groups[f"{len(rest)} others"] = [drop for name in rest for drop in by_name[name]]
        looks.append(GREY)
    return groups, looks


def _drop_legend(ax: Axes, labels: Sequence[str], looks: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    if labels:
        legend_beside(ax, [Patch(color=one) for one in looks], labels, "Pairs, strongest")


# --- cards ---------------------------------------------------------------------------------------


class PrototypeCard(NamedTuple):
    """A prototype as a card shows it.

    Attributes
    ----------
    number
        Of the prototype.
    image
        That it was taken from: (height, width, 3) in 8 bits, or a Pillow image.
    box
        Its patch: x0, y0, x1, y1 in pixels of the image.
    label
        The class it speaks for.
    notes
        What is known of it: weight, similarity, relevance beside chance, nature.
    values
        The attribution over the image, from 0; None where it is not shown.

    Examples
    --------
    >>> import numpy as np
    >>> from sightline.figures import PrototypeCard
    >>> card = PrototypeCard(7, np.zeros((8, 8, 3), np.uint8), (0, 0, 4, 4), "Gothic")
    >>> card.number, card.label, card.notes
    (7, 'Gothic', ())
    """

    number: int
    image: Any
    box: tuple[float, float, float, float]
    label: str = ""
    notes: tuple[str, ...] = ()
    values: Any = None


def draw_prototype_cards(
    cards: Sequence[PrototypeCard], *, head: str = "", total: int | None = None
) -> Figure:
    """Draw prototypes as cards: the patch with as much around it, and the image it is from.

    One card alone also shows its attribution, where it has one.

    Parameters
    ----------
    cards
        What to draw, in this order; of more than 60 the first.
    head
        Over all cards.
    total
        How many prototypes there are, where these are some of them; as many as cards unless given.

    Examples
    --------
    >>> card = PrototypeCard(3, np.zeros((40, 40, 3), np.uint8), (10, 10, 20, 20), "Gothic")
    >>> len(draw_prototype_cards([card]).axes)
    2
    """
    if not cards:
        raise InputError("cards must hold one at least; got none")
    drawn = list(cards[:MOST])
    alone = len(drawn) == 1
    tiles = 3 if alone and drawn[0].values is not None else 2
    notes = "Left: the patch and as much around it; right: the image, the patch in its box."
    if tiles == 3:
        notes = "The patch and as much around it; the image, the patch in its box; the attribution."
    every = len(cards) if total is None else total
    if len(drawn) < every and not alone:
        notes += f" {len(drawn)} of {every:,} prototypes are drawn."
    labels = [label for card in drawn for label in [_label(card), *[Label("")] * (tiles - 1)]]
    with house_style():
        columns = tiles * min(len(drawn), 4)
        wide = 2.2 if alone else 1.3
        plan = Plan((1, 1), columns, wide=wide, head=head, notes=notes, span=tiles)
        sheet = lay_out(labels, plan, None)
        for place, card in enumerate(drawn):
            _draw_card(sheet.axes[tiles * place : tiles * (place + 1)], card)
        return sheet.figure


def _label(card: PrototypeCard) -> Label:
    head = f"{card.number}" + (f": {card.label}" if card.label else "")
    return Label(head, "; ".join(card.notes))


def _draw_card(axes: Sequence[Axes], card: PrototypeCard) -> None:
    """Draw the patch, the image with its box, and the attribution where there is a place."""
    from matplotlib.patches import Rectangle

    picture = as_picture(card.image)
    scale = picture.shape[1] / np.asarray(card.image).shape[1]
    x0, y0, x1, y1 = (scale * side for side in card.box)
    if not (0 <= x0 < x1 <= picture.shape[1] + 1e-6 and 0 <= y0 < y1 <= picture.shape[0] + 1e-6):
        raise InputError(f"box of prototype {card.number} must lie in its image; got {card.box}")
    wide, high = x1 - x0, y1 - y0
    left, top = max(round(x0 - wide), 0), max(round(y0 - high), 0)
    around = picture[top : round(y1 + high), left : round(x1 + wide)]
    show_picture(axes[0], around)
    show_picture(axes[1], picture)
    for ax, (across, down) in zip(axes, ((left, top), (0, 0)), strict=False):
        for colour, line in ((BLACK, 2.0), (COLOURS["yellow"], 1.0)):
            corner = (x0 - across, y0 - down)
            ax.add_patch(Rectangle(corner, wide, high, fill=False, ec=colour, lw=line))
    if len(axes) > 2:
        show_picture(axes[2], heat(picture, as_map(card.values), "positive"))
    for ax in axes:
        ax.spines[:].set(color=LIGHT)


CARDS = (
    FigureCard(
        name="relevance",
        title="Do prototypes lie on the object?",
        function=draw_relevance_distributions,
        file="prototype_relevance",
        group="prototypes",
        shows="How much of the attribution of each prototype, on the image it was taken from, and "
        "of the patches most like prototypes on other images lies on what is annotated: energy "
        "(all of it) and mask (its top pixels). Dashed: chance, the share of the image that is "
        "annotated.",
        reading="Right of chance, prototypes look at the object more than pixels taken at random "
        "would; left of it, at the background. A prototype can lie on the object and still be "
        "about something that people do not see there.",
        needs="A benchmark of prototypes with relevance_analysis.",
        unselected="Prototypes have no layers to choose among.",
    ),
    FigureCard(
        name="drop-heatmap",
        title="What similarity is made of, by prototype",
        function=draw_drop_heatmap,
        file="drop_heatmap",
        group="prototypes",
        shows="A row for each prototype, a column for each perturbation. Left: the share of the "
        "similarity that is gone when the perturbation is applied where the attribution is high. "
        "Right: that minus the share that is gone when it is applied everywhere else; a dot where "
        "it matters, hatched where images are too few to tell.",
        reading="A dot says that this change costs more where the map says the prototype looks. "
        "A row without dots is of unknown nature: nothing tried explains the similarity, which "
        "questions that the prototype can be read. Blue on the right says that the rest of the "
        "image counts more than what the map shows. About 1 dot in 40 stands there by chance.",
        needs="A benchmark of prototypes with local_perturbation_analysis.",
        unselected="Prototypes have no layers to choose among.",
    ),
    FigureCard(
        name="max-drops",
        title="What the strongest perturbation takes",
        function=draw_max_drop_distribution,
        file="max_drops",
        group="prototypes",
        shows="Of each image and prototype the largest focused drop, coloured by the perturbation "
        "that causes it.",
        reading="Near 0, no perturbation that was tried touches the similarity. Perturbations "
        "differ in strength: that one is strongest does not make it the nature of the prototype.",
        needs="A benchmark of prototypes with local_perturbation_analysis.",
        unselected="Prototypes have no layers to choose among.",
    ),
    FigureCard(
        name="prototype-cards",
        title="Prototypes",
        function=draw_prototype_cards,
        file="prototype_cards",
        group="prototypes",
        shows="Each prototype as the patch it was taken from, in the image it is from, with the "
        "class it speaks for and its weight, what its similarity is made of, how much of its "
        "attribution lies on the object beside chance, and its similarity to the patch.",
        reading="The patch is the cell that was compared; the network sees more of the image than "
        "that. What a patch shows to people need not be what makes others similar to it.",
        needs="A benchmark of prototypes, its model and its images.",
        unselected="Prototypes have no layers to choose among.",
    ),
)
