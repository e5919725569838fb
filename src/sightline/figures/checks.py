"""Checks of maps: right and wrong predictions, weights made random.

Each draws on the axes it is given, or makes a figure of a fitting size; either way the figure is
returned. `sightline.figures.save` writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sightline.attribution.sanity.table import RELIABLE, UNRELIABLE
from sightline.core import InputError, UnknownNameError
from sightline.core.checks import MIN_IMAGES
from sightline.figures._score_plots import (
    BEYOND_AXIS,
    GRID,
    collect_column,
    describe_beyond,
    find_dot_limits,
    known_chance,
    one_sentence,
    place_dot,
    select_axis_values,
    spec_of,
)
from sightline.figures.card import FigureCard
from sightline.figures.lines import (
    Look,
    choose_lines,
    counts_words,
    direction,
    filled_table,
    line_names,
    numbers,
    rows_of_lines,
    short_names,
)
from sightline.figures.panels import (
    bars,
    draw_box,
    legend_beside,
    name_rows,
    panels,
    shifts,
    text_inches,
)
from sightline.figures.style import BLACK, COLOURS, GREY, axes_for, figure_of, house_style, title
from sightline.stats import compare_groups, interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from sightline.figures.lines import Chosen, Line, Table
    from sightline.stats import Interval
    from sightline.stats.confidence import Kind

__all__ = ["create_cascade_randomization_plot", "create_model_vs_method_analysis"]

_CHANCE: dict[str, Any] = {"color": BLACK, "lw": 1.1, "ls": (0, (5, 2.5)), "zorder": 1}
_ROWS = 24
_NAME = 34
_FEW = 10  # images below which an interval says little
_TOO_FEW = f"Fewer than {MIN_IMAGES} images\non one side everywhere."


# --- right and wrong predictions -----------------------------------------------------------------

_SIDES = {"right": COLOURS["blue"], "wrong": COLOURS["vermillion"]}


Gap = tuple[float, float, float]
"""A difference with the ends of its interval."""
_NO_GAP: Gap = (np.nan, np.nan, np.nan)


class _Sides(NamedTuple):
    """A line's scores where the model is right, and where it is wrong.

    Right minus wrong is NaN where a side has too few images; `adjusted` where it is not known.
    """

    line: Line
    right: Interval
    wrong: Interval
    values: dict[str, NDArray[np.float64]]
    difference: Gap
    adjusted: Gap = _NO_GAP


def create_model_vs_method_analysis(
    values: Table,
    differences: Table | None = None,
    *,
    metric: str,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Draw scores where the model is right and where it is wrong, in four panels.

    Boxes of the scores of right and of wrong predictions (shares with intervals where a score is a
    hit or a miss); the difference of their means with its interval; the mean score of each method
    over the accuracy of its model, both with intervals; the mean score of each class over the
    model's accuracy on it. A difference is drawn where it has an interval, which needs 5 images on
    either side.

    Parameters
    ----------
    values
        A row for each line and image: columns that name the line, `image`, `value`, `correct`
        (whether the model's prediction is; missing where it is not known) and, where they are
        known, `label` (the class), `model`, `chance`, `group`.
    differences
        A row for each line: the columns that name it, `difference`, `low`, `high` (right minus
        wrong) and, where they are known, `adjusted`, `adjusted_low`, `adjusted_high` (the same at
        equal annotated area and confidence; hollow marks), as `analysis.correct_and_wrong` returns
        them. By default computed from the values, without adjustment.
    metric
        What the values are, ``metric[@threshold]``.
    axes
        Four, for the panels; by default those of a new figure.

    Examples
    --------
    >>> values = {"method": ["cls"] * 6, "image": list("abcdef"), "label": list("xxxyyy"),
    ...           "value": [0.3, 0.4, 0.5, 0.1, 0.2, 0.3],
    ...           "correct": [True, True, True, True, False, False]}
    >>> figure = create_model_vs_method_analysis(values, metric="iou@90")
    >>> [ax.get_xlabel() for ax in figure.axes][1:]
    ['iou@90, right − wrong', 'Accuracy of the model', 'Accuracy of the model on the class']
    """
    table, unknown = _judged(values)
    chosen = _sorted_lines(table, metric)
    found = {} if differences is None else _given_gaps(differences)
    sides = [_sides(line, metric, found.get(line.name)) for line in chosen.lines]
    with house_style():
        places = panels(axes, 4, size=_analysis_size(sides))
        chance = _chance_of(chosen, metric)
        arrows = _draw_sides(places[0], sides, metric, chance)
        _draw_differences(places[1], sides, metric, named=axes is not None)
        models = _draw_models(places[2], sides, metric, chance)
        about = _draw_classes(places[3], table, chosen, metric, chance)
        figure = figure_of(places[0])
        figure.draw_without_rendering()  # how wide panels are is known from here on
        notes = _sides_notes(sides, chosen, unknown, arrows)
        title(places[0], "Right and wrong predictions", notes, lines=4)
        title(places[1], "Right minus wrong", _difference_notes(sides, metric), lines=4)
        title(places[2], "By model", models, lines=4)
        title(places[3], "By class", about, lines=4)
        return figure


def _judged(values: Table) -> tuple[pd.DataFrame, int]:
    """Return the rows whose prediction is known to be right or wrong, and how many are not."""
    table = filled_table(values, "values", ("image", "value", "correct"))
    known = table["correct"].notna().to_numpy()
    if not known.any():
        raise InputError("values must say in 'correct' which predictions are; it is always missing")
    kept = table[known].reset_index(drop=True)
    fits = kept["correct"].isin([True, False])
    if not fits.all():
        seen = kept["correct"][~fits].tolist()[0]
        raise InputError(f"values: column 'correct' must hold True and False; got {seen!r}")
    correct = kept["correct"].astype("bool")
    kept = kept.assign(correct=correct, value=numbers(kept, "value", "values"))
    return kept, int(table["image"].nunique() - kept["image"].nunique())


def _sorted_lines(table: pd.DataFrame, metric: str) -> Chosen:
    parts = rows_of_lines(table, line_names(table, "values"))
    found = {name: numbers(rows, "value") for name, rows in parts.items()}
    scores = {
        name: float(np.nanmean(one)) if np.isfinite(one).any() else np.nan
        for name, one in found.items()
    }
    lower = direction(metric) == "lower"
    return choose_lines(parts, scores, lower=lower, most=_ROWS, longest=_NAME)


def _given_gaps(differences: Table) -> dict[str, tuple[Gap, Gap]]:
    """Return the plain and the adjusted difference of each line of a table."""
    rows = filled_table(differences, "differences", ("difference", "low", "high"))
    sets = (("difference", "low", "high"), ("adjusted", "adjusted_low", "adjusted_high"))
    plain, adjusted = (
        zip(*(numbers(rows, name, "differences").tolist() for name in names), strict=True)
        for names in sets
    )
    names = line_names(rows, "differences")
    return {name: (one, two) for name, one, two in zip(names, plain, adjusted, strict=True)}


def _sides(line: Line, metric: str, given: tuple[Gap, Gap] | None = None) -> _Sides:
    spec = spec_of(metric)
    kind: Kind = "share" if spec is not None and spec.share else "mean"
    # What few images leave open is still a score: ends lie where scores can.
    limits = spec.range if spec is not None else None
    found, values = [], {}
    for name, correct in (("right", True), ("wrong", False)):
        rows = line.rows[line.rows["correct"] == correct]
        one = numbers(rows, "value")
        images = rows["image"].astype(str).tolist()
        several = images if len(set(images)) < len(images) else None
        found.append(interval(one, images=several, kind=kind, limits=limits))
        values[name] = one[np.isfinite(one)]
    plain, adjusted = given or (_compare_sides(line, kind, limits), _NO_GAP)
    return _Sides(line, found[0], found[1], values, plain, adjusted)


def _compare_sides(line: Line, kind: Kind, limits: tuple[float, float] | None) -> Gap:
    """Return right minus wrong, with one value per image, as `analysis.correct_and_wrong` does."""
    rows = line.rows.assign(value=numbers(line.rows, "value")).groupby("image", sort=False)
    found = compare_groups(
        rows["value"].mean(),
        rows["correct"].first(),
        kind=kind,
        limits=(-np.inf, np.inf) if limits is None else limits,
    )
    return found.value, found.low, found.high


def _analysis_size(sides: Sequence[_Sides]) -> tuple[float, float]:
    label = text_inches(one.line.label for one in sides)
    return 13.4 + 1.35 * label, 2.75 + max(0.36 * len(sides), 1.6)


def _chance_of(chosen: Chosen, metric: str) -> float:
    """Return the mean chance of all lines; where values have none, that of the metric."""
    found = [numbers(line.rows, "chance", "values") for line in chosen.lines]
    known = np.concatenate(found) if found else np.array([])
    known = known[np.isfinite(known)]
    return float(known.mean()) if len(known) else known_chance(metric)


def _draw_sides(ax: Axes, sides: Sequence[_Sides], metric: str, chance: float) -> str:
    """Draw two boxes in each row, right over wrong, with their counts; return a note on arrows."""
    spec = spec_of(metric)
    shares = spec is not None and spec.share
    low, high = _find_side_ends(sides, shares=shares).reshape(-1, 2).T
    limits = find_dot_limits(low, high, np.array([chance]))
    dots: list[float] = []
    for place, one in enumerate(sides):
        for name, shift in (("right", -0.19), ("wrong", 0.19)):
            if not len(one.values[name]):
                continue
            side: Interval = getattr(one, name)
            if shares:
                _draw_share(ax, place + shift, side, name, limits)
                dots.append(side.value)
            elif np.isfinite(side.low):
                _draw_side(ax, place + shift, one.values[name], name)
            else:
                _draw_few(ax, place + shift, one.values[name], name, limits)
                dots.extend(one.values[name])
        ax.annotate(
            f"{one.right.n:,} | {one.wrong.n:,}", (1, place), (4, 0), va="center", fontsize=7.5,
            xycoords=("axes fraction", "data"), textcoords="offset points", color=GREY,
            annotation_clip=False,
        )  # fmt: skip
    if np.isfinite(chance):
        ax.axvline(chance, **_CHANCE)
    name_rows(ax, [one.line.label for one in sides])
    _mark_names(ax, sides)
    ax.set_xlabel(metric, parse_math=False)
    _sides_legend(ax, np.isfinite(chance))
    beyond = any(not limits[0] <= dot <= limits[1] for dot in dots)
    return f"arrows: {BEYOND_AXIS}" if beyond else ""


def _find_side_ends(sides: Sequence[_Sides], *, shares: bool) -> NDArray[np.float64]:
    """Return the ends of each side that may set the axis: NaN where it has no interval.

    Fractions are drawn with their interval, scores as boxes over their values.
    """
    ends = []
    for one in sides:
        for name, side in (("right", one.right), ("wrong", one.wrong)):
            values = one.values[name]
            if shares or not np.isfinite(side.low):
                ends.append((side.low, side.high))
            else:
                ends.append((values.min(), values.max()))
    return np.array(ends)


def _mark_names(ax: Axes, sides: Sequence[_Sides]) -> None:
    """Draw next to each name the mark that its points have in the other panels."""
    from matplotlib.transforms import ScaledTranslation

    left = ScaledTranslation(-8 / 72, 0, figure_of(ax).dpi_scale_trans)
    for place, one in enumerate(sides):
        ax.plot(
            [0], [place], ls="none", **one.line.look.point, clip_on=False,
            transform=ax.get_yaxis_transform() + left,
        )  # fmt: skip
    ax.tick_params(axis="y", pad=15)


def _draw_side(ax: Axes, place: float, values: NDArray[np.float64], side: str) -> None:
    """Draw the box of right predictions, or of wrong ones."""
    colour = _SIDES[side]
    fill = "#CFE3F1" if side == "right" else "white"
    style = {"facecolor": fill, "edgecolor": colour, "lw": 1.1}
    draw_box(ax, place, values, style, high=0.3, marks=(colour, colour))


def _draw_few(
    ax: Axes, place: float, values: NDArray[np.float64], side: str, limits: tuple[float, float]
) -> None:
    """Draw the values of a side that has too few for a box."""
    look = Look(_SIDES[side], "-", "o" if side == "right" else "s", side == "wrong")
    for value in values:
        position, point = place_dot(float(value), limits, look.point)
        ax.plot([position], [place], ls="none", **point, zorder=3)


def _draw_share(
    ax: Axes, place: float, found: Interval, side: str, limits: tuple[float, float]
) -> None:
    look = Look(_SIDES[side], "-", "o" if side == "right" else "s", side == "wrong")
    bars(ax, [place], [found.low], [found.high], look, across=True)
    value, point = place_dot(found.value, limits, look.point)
    ax.plot([value], [place], ls="none", **point, zorder=3)


def _sides_legend(ax: Axes, chance: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.transforms import ScaledTranslation

    handles: list[Any] = [
        Patch(facecolor="#CFE3F1", edgecolor=_SIDES["right"]),
        Patch(facecolor="white", edgecolor=_SIDES["wrong"]),
    ]
    texts = ["right", "wrong"]
    if chance:
        handles.append(Line2D([], [], **{**_CHANCE, "zorder": 1}))
        texts.append("chance")
    down = ScaledTranslation(0, -0.45, figure_of(ax).dpi_scale_trans)
    ax.legend(
        handles, texts, loc="upper left", bbox_to_anchor=(0, 0), ncols=3, borderaxespad=0,
        bbox_transform=ax.transAxes + down, borderpad=0, columnspacing=1.2, handlelength=1.8,
    )  # fmt: skip


def _sides_notes(sides: Sequence[_Sides], chosen: Chosen, unknown: int, arrows: str) -> str:
    """Say what boxes and counts mean, and what does not follow from them."""
    images = counts_words([max((one.right.n + one.wrong.n for one in sides), default=0)])
    without = counts_words([unknown]) + " without prediction" if unknown else ""
    meant = "beside: right | wrong; diamonds: means" if sides else ""
    return one_sentence(images, without, meant, arrows, *chosen.notes)


def _draw_differences(ax: Axes, sides: Sequence[_Sides], metric: str, *, named: bool) -> None:
    """Draw the difference of means in each row, with its interval, beside zero."""
    ax.axvline(0, color=BLACK, lw=1, zorder=1)
    both = any(_has_interval(one.adjusted) for one in sides)
    for place, one in enumerate(sides):
        look = one.line.look
        hollow = {**look.point, "mfc": "white", "mec": look.colour, "mew": 1.1}
        pairs = ((one.difference, -0.14, look.point), (one.adjusted, 0.18, hollow))
        for (value, low, high), shift, point in pairs:
            if _has_interval((value, low, high)):  # a mark alone would stretch the axis
                height = place + shift * both
                bars(ax, [height], [low], [high], look, across=True)
                ax.plot([value], [height], ls="none", **point, zorder=3)
    name_rows(ax, [one.line.label if named else "" for one in sides])
    reach = 1.08 * max((abs(end) for end in ax.dataLim.intervalx if np.isfinite(end)), default=0)
    ax.set_xlim(-(reach or 1), reach or 1)
    ax.locator_params(axis="x", nbins=6)
    ax.set_xlabel(f"{metric}, right − wrong", parse_math=False)
    if not any(_has_interval(one.difference) for one in sides):
        _say(ax, _one_sided(sides))


def _has_interval(gap: Gap) -> bool:
    return bool(np.isfinite(gap).all())


def _one_sided(sides: Sequence[_Sides]) -> str:
    right, wrong = sum(one.right.n for one in sides), sum(one.wrong.n for one in sides)
    if right and not wrong:
        return "All predictions are right:\nthere is nothing to compare."
    if wrong and not right:
        return "All predictions are wrong:\nthere is nothing to compare."
    return _TOO_FEW if right else "Nothing to compare."


def _say(ax: Axes, text: str) -> None:
    """Write in the middle of axes why they are empty."""
    ax.text(
        0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color=GREY, fontsize=8.5,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 3},
    )  # fmt: skip


def _difference_notes(sides: Sequence[_Sides], metric: str) -> str:
    if not any(_has_interval(one.difference) for one in sides):
        return ""
    side = "left" if direction(metric) == "lower" else "right"
    told = f"{side} of 0: better where the model is right"
    compared = [one for one in sides if _has_interval(one.difference)]
    least = min(min(one.right.n, one.wrong.n) for one in compared)
    few = f"wide: {least} on one side" if least < _FEW else ""
    intervals = "bars: 95% intervals" + (f" ({few})" if few else "")
    both = any(_has_interval(one.adjusted) for one in sides)
    hollow = "hollow: at equal annotated area and confidence" if both else ""
    left = len(sides) - len(compared)
    skipped = f"{left} with fewer than {MIN_IMAGES} images on a side not drawn" if left else ""
    return one_sentence(intervals, skipped, told, hollow, "plausibility, not faithfulness")


def _draw_models(ax: Axes, sides: Sequence[_Sides], metric: str, chance: float) -> str:
    """Draw the mean score of each method over the accuracy of its model; return the notes."""
    spec = spec_of(metric)
    kind: Kind = "share" if spec is not None and spec.share else "mean"
    limits = None if spec is None else spec.range
    skipped, accuracies = 0, set()
    for one in sides:
        rows = one.line.rows.assign(image=one.line.rows["image"].astype(str))
        # In the order of the leaderboard, for the same resamples.
        rows = rows.sort_values("image", kind="stable")
        several = rows["image"].tolist() if rows["image"].duplicated().any() else None
        values = numbers(rows, "value")
        score = interval(values, images=several, kind=kind, limits=limits)
        right = interval(_compute_correct(one.line), kind="share")
        if not np.isfinite((score.low, score.high, right.low, right.high)).all():
            skipped += 1
            continue
        accuracies.add(round(right.value, 9))
        look = one.line.look
        bars(ax, [right.value], [score.low], [score.high], look)
        bars(ax, [score.value], [right.low], [right.high], look, across=True)
        ax.plot([right.value], [score.value], ls="none", **look.point, zorder=3)
    _score_axes(ax, metric, chance)
    ax.set_xlabel("Accuracy of the model")
    if not accuracies:
        scored = any(one.right.n + one.wrong.n for one in sides)
        _say(ax, f"Fewer than {MIN_IMAGES} images." if scored else "Nothing to compare.")
        return ""
    return one_sentence(
        "a point per model and method, marks as at the names, bars: 95% intervals",
        "one accuracy: no trend to see" if len(accuracies) == 1 else "",
        f"{skipped} with fewer than {MIN_IMAGES} images not drawn" if skipped else "",
    )


def _compute_correct(line: Line) -> NDArray[np.float64]:
    """Return for each image with a score whether the line's model is right on it."""
    rows = line.rows[np.isfinite(numbers(line.rows, "value"))]
    return rows.groupby("image")["correct"].first().to_numpy(np.float64)


def _score_axes(ax: Axes, metric: str, chance: float) -> None:
    if np.isfinite(chance):
        ax.axhline(chance, **_CHANCE)
    ax.grid(color=GRID, lw=0.6)
    ax.set_ylabel(metric, parse_math=False)


class _Point(NamedTuple):
    """A class as one line sees it."""

    accuracy: float
    score: float
    images: int


def _draw_classes(ax: Axes, table: pd.DataFrame, chosen: Chosen, metric: str, chance: float) -> str:
    """Draw the mean score of each class over the accuracy on it; return the notes."""
    by = "label" if "label" in table and table["label"].notna().any() else None
    every = {line.name: _class_points(line, table, by) for line in chosen.lines}
    found = {
        name: [one for one in points if one.images >= MIN_IMAGES] for name, points in every.items()
    }
    for line in chosen.lines:
        points = found[line.name]
        size = line.look.point["ms"] * (1 if len(points) <= 20 else 0.6)
        look = {**line.look.point, "ms": size}
        x, y = [one.accuracy for one in points], [one.score for one in points]
        ax.plot(x, y, ls="none", **look, alpha=0.85, zorder=2 if line.look.baseline else 3)
    _score_axes(ax, metric, chance)
    ax.set_xlabel("Accuracy of the model" + (" on the class" if by else ""))
    shares = [one.accuracy for points in found.values() for one in points]
    if not shares:
        of = " of each class" if by else ""
        few = f"Fewer than {MIN_IMAGES} images{of}."
        _say(ax, few if any(every.values()) else "Nothing to compare.")
        return ""
    middle, half = (min(shares) + max(shares)) / 2, max(max(shares) - min(shares), 0.1) * 0.58
    ax.set_xlim(middle - half, min(middle + half, 1 + 0.08 * half))
    many = max((len(points) for points in found.values()), default=0)
    classes = (
        counts_words([many], "class") if by else "no classes are given: a point for each model"
    )
    left = max(len(points) for points in every.values()) - many
    skipped = f"{left} with fewer than {MIN_IMAGES} images not drawn" if left else ""
    same = "" if max(shares) > min(shares) else f"accuracy is {shares[0]:.2f} everywhere"
    return one_sentence(classes, skipped, "marks as at the names", same)


def _class_points(line: Line, table: pd.DataFrame, by: str | None) -> list[_Point]:
    """Return accuracy and mean score of each class, or of all images where none is given."""
    model = line.rows["model"].iloc[0] if "model" in table else None
    same = table if model is None else table[table["model"] == model]
    whole = line.rows if model is None else same
    if by is None:
        groups = [(line.rows, whole)]
    else:
        judged = dict(list(whole.groupby(by, sort=True)))
        groups = [(rows, judged[name]) for name, rows in line.rows.groupby(by, sort=True)]
    points = []
    for rows, all_rows in groups:
        scores = numbers(rows, "value")
        if np.isfinite(scores).any():
            once = all_rows.drop_duplicates("image")
            point = _Point(float(once["correct"].mean()), float(np.nanmean(scores)), len(once))
            points.append(point)
    return points


# --- weights made random -------------------------------------------------------------------------

_GUIDE = {
    f"{UNRELIABLE:.2f}  the guide: above, unreliable": (UNRELIABLE, (0, (1, 1.5))),
    f"{RELIABLE:.2f}  the guide: below, reliable": (RELIABLE, (0, (4, 1.5, 1, 1.5))),
}
_SIMILARITIES = {
    "spearman": "Spearman's ρ",
    "ssim": "Structural similarity",
    "hog": "Correlation of gradients (HOG)",
    "overlap": "Overlap of the highest cells",
}
_BESIDE = {"cross": "other images", "edge": "edges", "training": "trained anew"}
_GAP = 0.3  # between the stages and what stands behind them
_REFERENCES: tuple[Any, ...] = ((0, (5, 1.5)), (0, (2, 1)), (0, (5, 1, 1, 1, 1, 1)))


def create_cascade_randomization_plot(
    table: Table,
    *,
    references: Mapping[str, float] | None = None,
    measure: str = "spearman",
    ax: Axes | None = None,
) -> Figure:
    """Draw how much maps stay the same while a model's weights are made random, stage by stage.

    Parameters
    ----------
    table
        A row for each line and stage: columns that name the line, `stage` (in order of first
        appearance), `value` (similarity to the map of the trained model, mean over images) and,
        where they are known, `low`, `high`, `n`, `group`. What a line is compared with stands
        behind the stages, where it is known: `cross` (similarity to the trained model's maps of
        other images), `edge` (to the edges of the image), `training` (to maps of the same network
        trained anew). `accuracy` (of the model at that stage, one for all lines) is a black line.
    references
        Similarities to compare all lines with, by name.
    measure
        What the similarity is: "spearman", "ssim", "hog" or "overlap". The guide's lines are about
        the first.
    ax
        Where to draw; a new figure unless given.

    Examples
    --------
    >>> table = {"method": ["cls"] * 3, "stage": ["trained", "head", "block 11"],
    ...          "value": [1.0, 0.9, 0.2]}
    >>> figure = create_cascade_randomization_plot(table, references={"edges": 0.35})
    >>> [text.get_text() for text in figure.axes[0].get_legend().get_texts()][:3]
    ['0.20  cls', '0.35  edges', '0.00  no relation']
    """
    if measure not in _SIMILARITIES:
        known = ", ".join(_SIMILARITIES)
        raise UnknownNameError(f"measure must be one of {known}; got {measure!r}")
    rows = filled_table(table, "table", ("stage", "value"))
    stages = list(dict.fromkeys(str(one) for one in rows["stage"]))
    rows = rows.assign(x=[stages.index(str(one)) for one in rows["stage"]])
    _check_correlations(rows, references or {})
    beside = [one for one in _BESIDE if np.isfinite(numbers(rows, one, "table")).any()]
    parts = {
        name: one.sort_values("x", kind="stable")
        for name, one in rows_of_lines(rows, line_names(rows, "table")).items()
    }
    scores = {name: _last_known(one) for name, one in parts.items()}
    chosen = choose_lines(parts, scores, lower=True)
    texts = [f"{round(line.score, 2) + 0.0:.2f}  {line.label}" for line in chosen.lines]
    with house_style():
        wide = max(5.2, 0.62 * (len(stages) + len(beside)) + 1.2)
        room = text_inches([*texts, *_GUIDE])
        ax = axes_for(ax, wide + 1.6 + room, max(5.4, 2.6 + 0.165 * len(texts)))
        aside = shifts(len(chosen.lines), min(0.05, 0.4 / max(len(chosen.lines), 1)))
        handles = [
            _cascade_line(ax, line, shift) for line, shift in zip(chosen.lines, aside, strict=True)
        ]
        _draw_beside(ax, chosen.lines, beside, len(stages))
        levels = _accuracy(ax, rows) | _levels(ax, references or {}, guide=measure == "spearman")
        _cascade_axes(ax, stages, beside, measure)
        beyond = _limit_cascade(ax, chosen.lines, beside, references or {})
        legend_beside(
            ax, [*handles, *levels.values()], [*texts, *levels], "At the last stage, method"
        )
        title(ax, "Do maps change with the weights?", _cascade_notes(chosen, beyond))
        return figure_of(ax)


def _draw_beside(ax: Axes, lines: Sequence[Line], columns: Sequence[str], stages: int) -> None:
    """Mark behind the stages what each line is compared with."""
    aside = shifts(len(lines), min(0.12, 0.7 / max(len(lines), 1)))
    for place, column in enumerate(columns):
        for line, shift in zip(lines, aside, strict=True):
            values = numbers(line.rows, column, "table")
            values = values[np.isfinite(values)]
            x = stages + _GAP + place + shift
            ax.plot([x] * len(values[:1]), values[:1], ls="none", **line.look.point, zorder=3)


def _accuracy(ax: Axes, rows: pd.DataFrame) -> dict[str, Any]:
    """Draw the accuracy of the model at each stage; return its handle by the legend's text."""
    known = rows.assign(accuracy=numbers(rows, "accuracy", "table")).dropna(subset="accuracy")
    if known.empty:
        return {}
    if known.groupby("x")["accuracy"].nunique().max() > 1:
        raise InputError("table: accuracy must be one for all lines of a stage: draw one model")
    at = known.drop_duplicates("x").sort_values("x")
    (handle,) = ax.plot(at["x"], at["accuracy"], color=BLACK, lw=2.2, alpha=0.55, zorder=2)
    return {f"{at['accuracy'].iloc[-1]:.2f}  accuracy of the model": handle}


def _levels(ax: Axes, references: Mapping[str, float], *, guide: bool = True) -> dict[str, Any]:
    """Draw what lines are compared with; return the handles by the legend's texts."""
    found: dict[str, Any] = {}
    names = short_names(references, 44)
    for place, (name, level) in enumerate(references.items()):
        dash = _REFERENCES[place % len(_REFERENCES)]
        text = f"{level:.2f}  {names[name]}"
        found[text] = ax.axhline(level, color=GREY, lw=1.2, ls=dash, zorder=1)
    found["0.00  no relation"] = ax.axhline(0, **_CHANCE)
    for text, (level, dash) in _GUIDE.items() if guide else ():
        found[text] = ax.axhline(level, color="#8A3E6B", lw=1.2, ls=dash, zorder=1)
    return found


def _check_correlations(rows: pd.DataFrame, references: Mapping[str, float]) -> None:
    for value in (*numbers(rows, "value", "table").tolist(), *references.values()):
        if np.isfinite(value) and not -1 - 1e-9 <= value <= 1 + 1e-9:
            raise InputError(f"correlations must lie in -1 to 1; got {value:g}")


def _last_known(rows: pd.DataFrame) -> float:
    """Return the value at the last stage at which it is defined."""
    values = numbers(rows, "value")
    known = values[np.isfinite(values)]
    return float(known[-1]) if len(known) else np.nan


def _cascade_line(ax: Axes, line: Line, shift: float) -> Any:
    """Draw a line a little to the side, so that its intervals do not lie on those of others."""
    x, value, low, high = (numbers(line.rows, one) for one in ("x", "value", "low", "high"))
    x = x + shift
    bars(ax, x, low, high, line.look)
    (handle,) = ax.plot(x, value, **line.look.line, zorder=2 if line.look.baseline else 3)
    return handle


def _cascade_axes(ax: Axes, stages: Sequence[str], beside: Sequence[str], measure: str) -> None:
    """Name the stages and what stands behind them, slanted where names are long."""
    places = [*range(len(stages)), *(len(stages) + _GAP + place for place in range(len(beside)))]
    ax.set_xlim(-0.4, places[-1] + 0.4)
    names = [*short_names(stages, 24).values(), *(_BESIDE[one] for one in beside)]
    level = sum(text_inches([name]) + 0.12 for name in names) < 4.4
    ax.set_xticks(
        places, names, rotation=0 if level else 35, parse_math=False,
        ha="center" if level else "right", rotation_mode="anchor",
    )  # fmt: skip
    if beside:
        ax.axvline(len(stages) - 0.5 + _GAP / 2, color=GREY, lw=0.8, zorder=1)
    told = "; behind the line, what maps are compared with" if beside else ""
    ax.set_xlabel(f"Weights made random so far{told}")
    ax.set_ylabel(f"{_SIMILARITIES[measure]} with the map of the trained model")
    ax.grid(axis="y", color=GRID, lw=0.6)


def _limit_cascade(
    ax: Axes, lines: Sequence[Line], columns: Sequence[str], references: Mapping[str, float]
) -> str:
    """Let the y axis hold similarities with intervals, all if none has; return a note on others."""
    value, low, high = (collect_column(lines, name) for name in ("value", "low", "high"))
    levels = [collect_column(lines, column) for column in columns]
    held = [select_axis_values(value, low, high), low[np.isfinite(high)], *levels]
    least = np.nanmin([*np.concatenate(held), *references.values()], initial=0)
    ax.set_ylim(min(-0.08, least - 0.05), 1.06)
    return describe_beyond(value, ax.get_ylim())


def _cascade_notes(chosen: Chosen, beyond: str) -> str:
    intervals = any(np.isfinite(numbers(line.rows, "low")).any() for line in chosen.lines)
    images = counts_words(n for line in chosen.lines for n in numbers(line.rows, "n").tolist())
    ends = "bars: 95% intervals" if intervals else ""
    return one_sentence(
        images, ends, "a map that stays does not show what was learned", *chosen.notes, beyond
    )


# --- cards ---------------------------------------------------------------------------------------

CARDS = (
    FigureCard(
        name="model-vs-method",
        title="Right and wrong predictions",
        function=create_model_vs_method_analysis,
        file="model_vs_method",
        group="checks",
        shows="Boxes of the scores of images that the model classifies right and wrong. The "
        "difference of the means with its interval, hollow at equal annotated area and confidence; "
        "with fewer than 5 images on a side there is none. The mean score of each method over the "
        "accuracy of its model. The mean score of each class over the model's accuracy on it.",
        reading="A difference above zero says that people agree more with the maps of right "
        "predictions. That is plausibility, not faithfulness: right images may simply be easier, "
        "their annotated areas larger. Zero does not show that a map ignores the model.",
        needs="Scores by image, and which predictions are right.",
    ),
    FigureCard(
        name="cascade",
        title="Cascading randomisation",
        function=create_cascade_randomization_plot,
        file="cascade_randomization_test",
        group="checks",
        shows="Similarity to the map of the trained model, while weights are made random stage by "
        "stage; a line for each method, the model's accuracy in black, the guide's lines at 0.3 "
        "and 0.6. Behind the stages: how like the same maps are to those of other images, to the "
        "image's edges, and to maps of the same network trained anew.",
        reading="A line that falls at once depends on what the top layers learned. One that stays "
        "high does not show what was learned. Maps of other images are where similarity begins: "
        "smooth maps correlate with each other whatever the weights. Do not rank methods by how "
        "fast they fall: what the lower layers see is still there when the upper ones are random, "
        "so that a faithful map may stay alike, and noisy maps fall fastest.",
        needs="Correlations at each stage.",
        unselected="It shows how similar maps are, by which no layer was chosen.",
    ),
)
