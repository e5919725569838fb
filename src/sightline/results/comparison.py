"""Two models, methods or layers, image by image."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from sightline.core import InputError
from sightline.metrics import METRICS
from sightline.results._baseline import BaselineComparison
from sightline.results._catalogue import BASELINE
from sightline.results._lines import best_line, make_lines
from sightline.results._values import image_table, mean_intervals
from sightline.results._wording import (
    beside,
    find_main_comparison,
    line_name,
    ratio,
    sentences,
    summary,
)
from sightline.results.leaderboard import (
    CHOSEN,
    find_warnings,
    layer_column,
    list_map_keys,
    so_far,
    with_note,
)
from sightline.stats.paired_tests import compare_family, effect_size, wilcoxon

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from sightline.core.choices import By
    from sightline.results._catalogue import Where
    from sightline.results._lines import Line
    from sightline.results._sums import Found
    from sightline.results._tables import Tables
    from sightline.results._views import Name

    Pairs = Sequence[tuple[Line, Line]]

__all__ = ["compare", "compare_best", "compare_with_baseline", "paired_figures"]

# Scores closer than this are equal.
_EQUAL = 1e-9
# Weights closer than this, in relative terms, are equal: areas are stored with 24 bits.
_CLOSE = 1e-5
_OTHERS = {"model": "method", "method": "model", "layer": "model with layers"}
_NULL = (
    "two-sided p by sign-flip test: if a and b were exchangeable on every image, each difference "
    "might as well have the other sign"
)

_PLAIN = (
    "where the two sides select or draw areas of different sizes, p is of the plain differences "
    "of images"
)


def compare(
    tables: Tables, name: Name, sides: tuple[Where, Where], layer: int | str, by: By
) -> pd.DataFrame:
    """Return a line for each pair of lines that belong together; see `Results.compare`."""
    import pandas as pd

    if layer == "all":
        raise InputError("layer must be best, split, last or a number; got 'all'")
    first, second = (_lines(tables, name, where, layer, by) for where in sides)
    pairs = [(a, b) for a in first for b in second if _belong(a, b, by)]
    if not pairs:
        raise InputError(f"nothing to compare: no {_OTHERS[by]} is stored for both")
    named = [_named(a, b, by) for a, b in pairs]
    names = pd.DataFrame(named)
    for column in ("layer_a", "layer_b"):
        # Not out of the table: there a missing layer among texts is no longer None.
        names[column] = layer_column([one[column] for one in named])
    chosen = {f"chosen_{side}": [line.chosen for line in lines] for side, lines in _sides(pairs)}
    frame = names.assign(**paired_figures(name, pairs), **chosen)
    for what in ("chance", "ceiling"):
        for side, lines in _sides(pairs):
            means = [line.sums.mean(what) for line in lines]
            frame.insert(list(frame).index("difference"), f"{what}_{side}", means)
    frame.attrs["metric"] = str(name)
    frame.attrs["by"] = by
    frame.attrs["sentences"] = sentences(frame)
    baselines = [a.group == b.group == BASELINE for a, b in pairs]
    frame.attrs["summary"] = summary(frame, baselines)
    place = find_main_comparison(frame, baselines)
    winner = _find_better_side(name, frame["difference"].iloc[place])
    frame.attrs["best_baseline"] = None
    if winner is not None:
        where = _widen(sides[winner], by)
        best = compare_with_baseline(tables, name, pairs[place][winner], where, layer)
        frame.attrs["best_baseline"] = best.to_dict("Better of the two")
        frame.attrs["summary"].append(frame.attrs["best_baseline"]["sentence"])
    return with_note(
        frame,
        *_notes(name, pairs, frame),
        beside(name),
        _alone(first, second, pairs),
        so_far(tables),
        warnings=find_warnings(tables, list_map_keys(line for pair in pairs for line in pair)),
    )


def _find_better_side(name: Name, difference: float) -> int | None:
    """Return which side has the better mean, None where neither has."""
    direction = METRICS[name.metric].direction
    if direction == "neither" or math.isnan(difference) or difference == 0:
        return None
    return int((difference < 0) == (direction == "higher"))


def _widen(where: Where, by: By) -> Where:
    """Return which maps baselines are looked for in: those of a side, whatever is compared."""
    where = replace(where, methods=None, head=None)
    if by == "model":
        return replace(where, models=None)
    return replace(where, layer=None) if by == "layer" else where


def _lines(tables: Tables, name: Name, where: Where, layer: int | str, by: By) -> list[Line]:
    """Return the lines of one side; maps without layers have none to compare."""
    found = make_lines(tables, name, where, layer)
    return [line for line in found if by != "layer" or line.layer is not None]


def _sides(pairs: Pairs) -> tuple[tuple[str, list[Line]], tuple[str, list[Line]]]:
    return ("a", [a for a, _ in pairs]), ("b", [b for _, b in pairs])


def _notes(name: Name, pairs: Pairs, frame: pd.DataFrame) -> list[str]:
    """Say what the unit and the null are, what is corrected for, and how layers were chosen."""
    count = int((frame["p"].notna() & (frame["equal"] < 1)).sum())
    over = f"corrected for the {count} comparisons of this table: p_holm, p_bh, p_max_t"
    chosen = {line.chosen for pair in pairs for line in pair if line.chosen}
    best = any("same images" in how for how in chosen)
    return [
        f"mean differences of {name} over images, a − b, with 95% intervals",
        ratio(name),
        _PLAIN if ratio(name) and not _all_alike(pairs) else "",
        _NULL,
        over if count > 1 else "",
        " and ".join(sorted(chosen)),
        f"{CHOSEN}, which p does not allow for" if best else "",
    ]


def _all_alike(pairs: Pairs) -> bool:
    """Say whether scores count the same on both sides of every pair."""
    a, b = _side_by_side(pairs)
    return bool(_alike(_weights(pairs, np.isfinite(a) & np.isfinite(b))).all())


def _alone(first: Sequence[Line], second: Sequence[Line], pairs: Pairs) -> str:
    """Name the lines that have no counterpart."""
    paired = {id(line) for pair in pairs for line in pair}
    lines = [line for line in (*first, *second) if id(line) not in paired]
    names = [replace(line, chosen="").told() for line in lines]
    return f"stored for one of the two only, and left out: {', '.join(names)}" if names else ""


def _belong(a: Line, b: Line, by: By) -> bool:
    """Say whether two lines differ only in what is compared."""
    if by == "model":
        return (a.picks[0][:2], a.head) == (b.picks[0][:2], b.head)
    if by == "layer":
        return (a.model, a.picks[0][:2], a.head) == (b.model, b.picks[0][:2], b.head)
    targets = {a.target, b.target} - {""}
    return (a.model, a.head) == (b.model, b.head) and len(targets) < 2


def _named(a: Line, b: Line, by: By) -> dict[str, Any]:
    """Return what is compared, and what both have in common."""
    first, second = (str(getattr(line, by)) for line in (a, b))
    return {
        "a": first,
        "b": second,
        "model": "" if by == "model" else a.model,
        "method": "" if by == "method" else a.method,
        "target": a.target or b.target,
        "layer_a": a.layer,
        "layer_b": b.layer,
    }


# --- the best baseline ---------------------------------------------------------------------------


def compare_best(
    tables: Tables,
    name: Name,
    where: Where,
    layer: int | str,
    method: str | None = None,
    found: Found | None = None,
) -> BaselineComparison | None:
    """Compare the best configuration of a leaderboard with the best baseline of the run.

    Parameters
    ----------
    tables, name, where, layer, method, found
        Of the leaderboard, as `make_lines` takes them.

    Returns
    -------
    BaselineComparison or None
        None where no value of the metric is better than another, or nothing is scored.
    """
    if METRICS[name.metric].direction == "neither":
        return None
    layer = "best" if layer == "all" else layer
    lines = [one for one in make_lines(tables, name, where, layer, method, found) if one.sums.n]
    methods = [line for line in lines if line.group != BASELINE]
    best = best_line(methods, name, where) if methods else None
    compared = compare_with_baseline(tables, name, best, where, layer, found)
    return compared if compared.configuration or compared.baseline else None


def compare_with_baseline(
    tables: Tables,
    name: Name,
    line: Line | None,
    where: Where,
    layer: int | str,
    found: Found | None = None,
) -> BaselineComparison:
    """Compare a configuration with the best baseline of the run, paired by image.

    A layer or method that was chosen on the same images is chosen by split-half selection for the
    difference, on both sides.

    Parameters
    ----------
    tables, name
        The run and the metric.
    line
        The configuration; None where there is none but baselines.
    where
        Whose baselines: those of its models or, where these have none, of any. Baselines need not
        be among its methods and heads.
    layer
        How layers were chosen.
    found
        The scores of `where`, if they have been summed up before.
    """
    bases = _list_baselines(tables, name, where, layer, found)
    base = best_line(bases, name, where) if bases else None
    comparison = BaselineComparison(str(name))
    if line is not None:
        comparison = replace(
            comparison,
            configuration=_format_name(line),
            value=line.sums.mean(),
            chosen=line.chosen,
            is_baseline=line.group == BASELINE,
        )
    if base is not None:
        # Of some models alone it is not known whether it scores the same for all.
        comparison = replace(
            comparison,
            baseline=_format_name(base, () if where.models else bases),
            baseline_value=base.sums.mean(),
            baseline_chosen=base.chosen,
        )
    if line is None or base is None:
        return comparison
    if line == base:
        return replace(comparison, configuration=comparison.baseline)
    pair = _split(tables, name, line, where, layer), _split(tables, name, base, where, layer)
    figures = paired_figures(name, [pair])
    numbers: dict[str, Any] = {
        what: float(figures[what][0]) for what in ("difference", "low", "high", "p")
    }
    split = any(side.split for side in pair)
    return replace(comparison, **numbers, n=int(figures["n"][0]), split=split)


def _list_baselines(
    tables: Tables, name: Name, where: Where, layer: int | str, found: Found | None
) -> list[Line]:
    """Return the baselines with a score: of the models of a filter, or else of the run."""
    if found is None or where.methods is not None or where.head is not None:
        methods = tables.catalogue.list_methods(BASELINE)
        where, found = replace(where, methods=methods, head=None), None
        if not methods:
            return []
    lines = make_lines(tables, name, where, layer, None, found)
    scored = [line for line in lines if line.group == BASELINE and line.sums.n]
    if scored or where.models is None:
        return scored
    return _list_baselines(tables, name, replace(where, models=None), layer, None)


def _split(tables: Tables, name: Name, line: Line, where: Where, layer: int | str) -> Line:
    """Return a configuration, split-half selection instead of one on the same images."""
    if "same images" not in line.chosen:
        return line
    own = replace(where, models=(line.model,), head=line.head)
    if "methods" in line.chosen:
        lines = make_lines(tables, name, own, layer, "split")
        return next(other for other in lines if other.group != BASELINE)
    method, target, _ = line.picks[0]
    lines = make_lines(tables, name, replace(own, methods=(method,)), "split")
    return next(other for other in lines if other.target == target)


def _format_name(line: Line, baselines: Sequence[Line] = ()) -> str:
    """Name a configuration; a baseline that scores the same for all models without its model."""
    same = [one for one in baselines if one.picks[0][:2] == line.picks[0][:2]]
    shared = bool(same) and all(
        np.array_equal(one.scores.numbers, line.scores.numbers)
        and np.array_equal(one.scores.values, line.scores.values)
        for one in same
    )
    model = "" if shared else line.model
    return line_name(model, line.method, line.target, line.layer, line.head, line.seed)


# --- figures -------------------------------------------------------------------------------------


def paired_figures(name: Name, pairs: Pairs, *, flips: int = 9999, seed: int = 0) -> dict[str, Any]:
    """Return the figures of all pairs, column by column; `flips` and `seed` are of the test."""
    a, b = _side_by_side(pairs)
    both = np.isfinite(a) & np.isfinite(b)
    gaps = np.where(both & (np.abs(a - b) <= _EQUAL), 0.0, a - b)
    direction = METRICS[name.metric].direction
    better = gaps * {"higher": 1, "lower": -1, "neither": np.nan}[direction]
    shares = {"better": better > 0, "equal": gaps == 0, "worse": better < 0}
    unknown = {"better", "worse"} if direction == "neither" else set()
    weights = _weights(pairs, both)
    moves = _moves(gaps, (a, b), weights)
    return {
        "n": both.sum(axis=0),
        "value_a": _means(a, weights[0]),
        "value_b": _means(b, weights[1]),
        "difference": moves.difference,
        **_tests(name, moves, flips, seed),
        **{what: _means(np.nan if what in unknown else on, both) for what, on in shares.items()},
        "only_a": (np.isfinite(a) & ~both).sum(axis=0),
        "only_b": (np.isfinite(b) & ~both).sum(axis=0),
    }


def _side_by_side(pairs: Pairs, what: Literal["values", "weights"] = "values") -> tuple[Any, Any]:
    """Return the scores of both sides (images, pairs), or what they count in a mean."""
    table = image_table([line for _, lines in _sides(pairs) for line in lines], what)
    table[np.isinf(table)] = np.nan
    return table[:, : len(pairs)], table[:, len(pairs) :]


def _weights(pairs: Pairs, both: Any) -> tuple[Any, Any]:
    """Return what scores count on both sides, 0 where a side is undefined."""
    first, second = (np.where(both, one, 0.0) for one in _side_by_side(pairs, "weights"))
    return first, second


def _alike(weights: tuple[Any, Any]) -> Any:
    """Say of each pair whether its scores count the same on both sides."""
    return np.isclose(*weights, rtol=_CLOSE, atol=0).all(axis=0)


class _Moves(NamedTuple):
    """The difference of two means, and how images move it.

    Attributes
    ----------
    difference
        Of the means over the images where both sides are defined.
    gaps
        Differences of images, as large as they count: those that the test flips.
    spans, weights
        Differences of images and what they count, of which the interval is made.
    """

    difference: Any
    gaps: Any
    spans: Any
    weights: Any


def _moves(gaps: Any, sides: tuple[Any, Any], weights: tuple[Any, Any]) -> _Moves:
    """Return how images move the difference of two means.

    Where scores count the same on both sides, the difference is a mean of the gaps, and stays one
    when some are flipped. Elsewhere the plain gaps are flipped, and the interval is of what an
    image adds to the difference: its residual from the mean on one side less that on the other.
    """
    same, (first, _) = _alike(weights), weights
    means = [_means(one, weight) for one, weight in zip(sides, weights, strict=True)]
    pulls = [
        (one - mean) * _relative(weight)
        for one, mean, weight in zip(sides, means, weights, strict=True)
    ]
    apart = means[0] - means[1]
    return _Moves(
        difference=np.where(same, _means(gaps, first), apart),
        gaps=np.where(same, gaps * _relative(first), gaps),
        spans=np.where(same, gaps, pulls[0] - pulls[1] + apart),
        weights=np.where(same, first, 1.0),
    )


def _relative(weights: Any) -> Any:
    """Return weights over their mean."""
    total = weights.sum(axis=0)
    count = np.count_nonzero(weights, axis=0)
    return weights * np.divide(count, total, out=np.zeros(len(total)), where=total > 0)


def _tests(name: Name, moves: _Moves, flips: int, seed: int) -> dict[str, Any]:
    """Return intervals, p-values and effect sizes of differences (images, pairs)."""
    limits = METRICS[name.metric].difference_range
    gaps, span = moves.gaps, mean_intervals(moves.spans, moves.weights, limits)
    # Where two sides never differ, nothing is tested; given the sizes of the differences, which is
    # what a sign-flip test does, such pairs can be left out of the family beforehand.
    same = ~(np.abs(gaps) > 0).any(axis=0)
    family = compare_family(np.where(same, np.nan, gaps), flips=flips, seed=seed)
    ranks = np.array([wilcoxon(column) for column in gaps.T])
    found = {"p": family.p, "p_holm": family.holm, "p_bh": family.bh, "p_max_t": family.max_t}
    effects = [effect_size(column[np.isfinite(column)]) for column in gaps.T]
    return {
        "low": span.low,
        "high": span.high,
        **{what: np.where(same, ranks, values) for what, values in found.items()},
        "p_wilcoxon": ranks,
        "dz": [effect.dz for effect in effects],
        "rank_biserial": [effect.rank_biserial for effect in effects],
    }


def _means(values: Any, weights: Any) -> Any:
    """Return the weighed means of columns; NaN where nothing counts."""
    count = weights.sum(axis=0)
    total = (np.where(weights, values, 0.0) * weights).sum(axis=0)
    return np.divide(total, count, out=np.full(len(count), np.nan), where=count > 0)
