"""Whether maps show what a network relies on: pixels are changed, parts are taken away."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sightline.attribution.sanity.table import CURVES
from sightline.core import InputError, UnknownNameError
from sightline.results._catalogue import refuse
from sightline.results._check_rows import framed, of_check, side_by_side, stored_rows
from sightline.results._missing_label_inputs import mean, or_none
from sightline.results.checked_layers import add_best_layers
from sightline.results.leaderboard import layer_column, so_far, with_note
from sightline.stats.confidence import intervals
from sightline.stats.paired_tests import compare_family

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from sightline.core.choices import Layer
    from sightline.results import Results

__all__ = ["BETTER", "background_test", "faithfulness_curves", "faithfulness_table", "parts_table"]

BETTER: dict[str, Literal["higher", "lower", "zero"]] = {
    "deletion": "lower",
    "insertion": "higher",
    "road_morf": "lower",
    "road_lerf": "higher",
    "pixel_flipping": "lower",
    "infidelity": "lower",
    "max_sensitivity": "lower",
    "faithfulness_correlation": "higher",
    "completeness": "zero",
    "random_logit": "lower",
}
"""Which values of a measure speak for a map."""

# Between which values of a measure lie; those of curves where they are probabilities of a class.
_LIMITS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(CURVES, (0.0, 1.0)),
    **dict.fromkeys(("infidelity", "max_sensitivity", "completeness"), (0.0, math.inf)),
    **dict.fromkeys(("faithfulness_correlation", "random_logit"), (-1.0, 1.0)),
}
_NAMES = ("model", "method", "group", "target", "layer")
_RANDOM = "random"
# What the random map has of these, 0 and 1, it has whatever the model: no method is compared.
_GIVEN = ("max_sensitivity", "random_logit")
_PARTS = ("precision", "recall", "ap", "base", "background")
# Of a line's names, by their places, those that two models have in common.
_SHARED = {"method": 1, "group": 2, "target": 3}
# Values closer than this are equal.
_EQUAL = 1e-9
_FAITHFUL = (
    *_NAMES,
    *("measure", "value", "low", "high", "random", "difference", "difference_low"),
    *("difference_high", "better", "images"),
)


def faithfulness_table(
    results: Results, *, confidence: float = 0.95, metric: str | None = None
) -> pd.DataFrame:
    """Return how well maps tell what the network relies on, by several measures.

    Parameters
    ----------
    results
        Of a study with the check `faithfulness`.
    confidence
        Of the intervals.
    metric
        Of the leaderboard whose layer `best_layer` is, its default if not given.

    Returns
    -------
    DataFrame
        model, method, group, target, layer (that was checked), best_layer (that the leaderboard
        reports), measure, value (mean over images), low, high, random (the random map's mean on the
        same images), difference (value − random, paired by image; NaN of `max_sensitivity` and
        `random_logit`, of which the random map has 0 and 1 whatever the model), difference_low,
        difference_high, better (which values speak for a map: "higher", "lower", "zero"), images
        (with a defined value).

    Raises
    ------
    InputError
        If the check was not run.
    """
    found = faithfulness_of(stored_rows(results, "faithfulness"), confidence=confidence)
    found = add_best_layers(found, results, metric)
    return with_note(found, found.attrs["note"], so_far(results._tables))


def faithfulness_curves(
    results: Results, measure: str, *, confidence: float = 0.95, metric: str | None = None
) -> pd.DataFrame:
    """Return the score of the class while more and more pixels are changed.

    Parameters
    ----------
    results, confidence, metric
        See `faithfulness_table`.
    measure
        "deletion", "insertion", "road_morf", "road_lerf" or "pixel_flipping".

    Returns
    -------
    DataFrame
        model, method, group, target, layer, best_layer, share (of the pixels that are changed),
        value (mean over images), low, high, images.

    Raises
    ------
    UnknownNameError
        If the measure has no curve.
    InputError
        If the check was not run, or not with this measure.
    """
    frame = stored_rows(results, "faithfulness")
    found = curves_of(frame, measure, confidence=confidence)
    found = add_best_layers(found, results, metric)
    return with_note(found, found.attrs["note"], so_far(results._tables))


def parts_table(
    results: Results, *, confidence: float = 0.95, metric: str | None = None
) -> pd.DataFrame:
    """Return how well maps rank the parts whose removal changes the class.

    On drawn facades this is known for each part: the truth that other measures only come near to.

    Parameters
    ----------
    results
        Of a study of facades with the check `parts`.
    confidence
        Of the intervals.
    metric
        Of the leaderboard whose layer `best_layer` is, its default if not given.

    Returns
    -------
    DataFrame
        model, method, group, target, layer, best_layer, precision (share of deciding types of parts
        among the first 3, or as many as decide), recall (share of the deciding types that are among
        the first as many), ap (average precision of the ranking), base (share of the types that
        decide: what chance gives precision and recall), background (share of the map on sky and
        ground), each with its interval (precision_low, …), images (with a precision).

    Raises
    ------
    InputError
        If the check was not run.
    """
    found = parts_of(stored_rows(results, "parts"), confidence=confidence)
    found = add_best_layers(found, results, metric)
    return with_note(found, found.attrs["note"], so_far(results._tables))


def background_test(
    results: Results,
    one: str,
    other: str,
    *,
    method: str | None = None,
    layer: Layer = "last",
) -> pd.DataFrame:
    """Test whether one model's maps lie more on the background than another's.

    Of drawn facades whose parts were checked, the background is sky and ground, as the drawing
    says. Else it is what coverage leaves: what lies outside all annotated regions, which is all
    that nobody annotated.

    Parameters
    ----------
    results
        Of a study with the check `parts`, or that computed coverage.
    one, other
        Full names of two models.
    method
        A line for each that both models have by default. Of maps of several layers that were
        checked, a line for each layer where both models have the same, else one for the last.
    layer
        Of the maps that coverage is of; see `Results`. Checks have layers of their own.

    Returns
    -------
    DataFrame
        one, other, method, group, target, layer_one, layer_other, share_one, share_other (of the
        maps, on the background), difference (paired by image; above 0: one's maps lie more on it),
        low, high, p (two-sided, sign flips), p_holm (over the lines of the table), images.
        ``attrs["source"]`` is "parts" or "coverage".

    Raises
    ------
    UnknownNameError
        If one of the models, or neither the check nor coverage, is stored.
    """
    catalogue = results._tables.catalogue
    for name in (one, other):
        if name not in results.models:
            refuse("model", name, results.models)
    rows = results.checks("parts")
    rows = rows[(rows["measure"] == "parts_background").to_numpy()]
    rows = rows if method is None else rows[(rows["method"] == method).to_numpy()]
    if {one, other} <= set(rows["model"]):
        frame = background_of(rows, one, other)
        source, about = "parts", "sky and ground of the drawn facades"
        warnings = ()
    else:
        found = results.compare(one, other, "coverage", method=method, layer=layer)
        frame = _uncovered(found, [catalogue.group(one, name) for name in found["method"]])
        source, about = "coverage", "what lies outside all annotated regions"
        warnings = found.attrs["warnings"]
    frame.attrs["source"] = source
    return with_note(
        frame,
        f"share of maps on the background ({about}), {one} minus {other}, paired by image, with "
        "95% intervals",
        "p two-sided by sign flips; p_holm is corrected over the lines of the table",
        so_far(results._tables),
        warnings=warnings,
    )


def _uncovered(found: pd.DataFrame, groups: list[str]) -> pd.DataFrame:
    """Return what a comparison of coverage says of the rest."""
    import pandas as pd

    return pd.DataFrame(
        {
            "one": found["a"],
            "other": found["b"],
            "method": found["method"],
            "group": groups,
            "target": found["target"],
            "layer_one": found["layer_a"],
            "layer_other": found["layer_b"],
            "share_one": 1 - found["value_a"],
            "share_other": 1 - found["value_b"],
            "difference": 0 - found["difference"],
            "low": 0 - found["high"],
            "high": 0 - found["low"],
            "p": found["p"],
            "p_holm": found["p_holm"],
            "images": found["n"],
        }
    )


# --- of rows -------------------------------------------------------------------------------------


def faithfulness_of(frame: pd.DataFrame, *, confidence: float = 0.95) -> pd.DataFrame:
    """Return the table of `faithfulness_table` of rows as `Results.checks` returns them."""
    rows = of_check(frame, "faithfulness")
    rows = rows[rows["measure"].isin(BETTER).to_numpy()]
    names, table = side_by_side(rows, [*_NAMES, "measure"])
    least, most = _get_limits(table, [name[-1] for name in names])
    found = intervals(table, confidence=confidence, limits=(least, most))
    beside = [_random_place(name, names) for name in names]
    compared = [
        None if name[-1] in _GIVEN else place for name, place in zip(names, beside, strict=True)
    ]
    apart = intervals(
        _gaps(table, compared), confidence=confidence, limits=(least - most, most - least)
    )
    lines = [
        {
            **dict(zip((*_NAMES, "measure"), name, strict=True)),
            "value": found.value[place],
            "low": found.low[place],
            "high": found.high[place],
            "random": _on_same(table, place, beside[place]),
            "difference": apart.value[place],
            "difference_low": apart.low[place],
            "difference_high": apart.high[place],
            "better": BETTER[name[-1]],
            "images": int(found.n[place]),
        }
        for place, name in enumerate(names)
    ]
    order = {measure: place for place, measure in enumerate(BETTER)}
    result = framed(lines, _FAITHFUL)
    result = result.sort_values("measure", key=lambda one: one.map(order), kind="stable")
    return with_note(
        result.reset_index(drop=True),
        f"means over images with {confidence:.0%} intervals; differences to the random map of the "
        "same model are paired by image",
        "changed pixels show the network what it never learnt: a score may fall for that alone, "
        "which is why the random map stands beside",
        "measures disagree with each other, and none is the truth",
    )


def _get_limits(
    table: NDArray[np.float64], measures: Sequence[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the range of each column's measure.

    Curves of a target that is no class have no limits: their values lie beyond those of shares.
    """
    least, most = np.array([_LIMITS[one] for one in measures], np.float64).reshape(-1, 2).T
    free = ((table < least - _EQUAL) | (table > most + _EQUAL)).any(axis=0)
    return np.where(free, -np.inf, least), np.where(free, np.inf, most)


def _random_place(name: tuple[Any, ...], names: list[tuple[Any, ...]]) -> int | None:
    """Return the column of the random map of the same model, for the same class or for any."""
    model, _, _, target, _, measure = name
    found = {
        other[3]: place
        for place, other in enumerate(names)
        if (other[0], other[1], other[5]) == (model, _RANDOM, measure)
    }
    return found.get(target, found.get("") if target in ("", "predicted") else None)


def _gaps(table: NDArray[np.float64], beside: Sequence[int | None]) -> NDArray[np.float64]:
    """Return what each column has more than its random map; NaN where it has none, or is it."""
    gaps = np.full_like(table, np.nan)
    for place, random in enumerate(beside):
        if random is not None and random != place:
            gaps[:, place] = table[:, place] - table[:, random]
    return gaps


def _on_same(table: NDArray[np.float64], place: int, random: int | None) -> float:
    """Return the random map's mean over the images on which the other has a value."""
    if random is None:
        return math.nan
    both = np.isfinite(table[:, place]) & np.isfinite(table[:, random])
    return float(table[both, random].mean()) if both.any() else math.nan


def curves_of(frame: pd.DataFrame, measure: str, *, confidence: float = 0.95) -> pd.DataFrame:
    """Return the table of `faithfulness_curves` of rows as `Results.checks` returns them."""
    if measure not in CURVES:
        raise UnknownNameError(f"no measure {measure!r} has a curve; known: {', '.join(CURVES)}")
    rows = of_check(frame, "faithfulness")
    rows = rows[(rows["measure"] == f"{measure}_curve").to_numpy()]
    if rows.empty:
        raise InputError(f"faithfulness was not measured by {measure!r}")
    names, table = side_by_side(rows, [*_NAMES, "point"])
    limits = _get_limits(table, [measure] * len(names))
    found = intervals(table, confidence=confidence, limits=limits)
    lines = [
        {
            **dict(zip((*_NAMES, "share"), name, strict=True)),
            "value": found.value[place],
            "low": found.low[place],
            "high": found.high[place],
            "images": int(found.n[place]),
        }
        for place, name in enumerate(names)
    ]
    result = framed(lines, (*_NAMES, "share", "value", "low", "high", "images"))
    places = result.groupby(list(_NAMES), sort=False, dropna=False).ngroup()
    result = result.assign(place=places).sort_values(["place", "share"], kind="stable")
    result = result.drop(columns="place").reset_index(drop=True)
    result.attrs["measure"], result.attrs["better"] = measure, BETTER[measure]
    return with_note(
        result,
        f"score of the class by the share of pixels changed ({measure}), mean over images with "
        f"{confidence:.0%} intervals at each point",
        f"a {BETTER[measure]} area under the curve speaks for a map",
    )


def parts_of(frame: pd.DataFrame, *, confidence: float = 0.95) -> pd.DataFrame:
    """Return the table of `parts_table` of rows as `Results.checks` returns them."""
    rows = of_check(frame, "parts")
    names, table = side_by_side(rows, [*_NAMES, "measure"])
    _as_precision(names, table)
    found = intervals(table, confidence=confidence, limits=(0, 1))
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    for place, name in enumerate(names):
        line = lines.setdefault(name[:5], {**dict(zip(_NAMES, name, strict=False)), "images": 0})
        what = name[5].removeprefix("parts_")
        line |= {what: found.value[place], f"{what}_low": found.low[place]}
        line |= {f"{what}_high": found.high[place]}
        if what == "precision" or not line["images"]:
            line["images"] = int(found.n[place])
    columns = [f"{what}{end}" for what in _PARTS for end in ("", "_low", "_high")]
    result = framed(list(lines.values()), (*_NAMES, *columns, "images"))
    return with_note(
        result,
        "types of parts of the drawn facades whose removal costs the class a vote, against what "
        f"maps rank first; means over images with {confidence:.0%} intervals",
        "images whose class the model takes for another are left out: what made it do so is not "
        "known",
        "base: the share of parts that decide, which a ranking at random gets, of the images on "
        "which precision is defined",
        "the truth of the drawings: what a network that learnt the rule relies on",
    )


def _as_precision(names: Sequence[tuple[Any, ...]], table: NDArray[np.float64]) -> None:
    """Leave out what chance gives on images on which a line has no precision."""
    places = {name: place for place, name in enumerate(names)}
    for name, place in places.items():
        other = places.get((*name[:5], "parts_precision"))
        if name[5] == "parts_base" and other is not None:
            table[np.isnan(table[:, other]), place] = np.nan


def _pairs(names: list[tuple[Any, ...]], one: str, other: str) -> Iterator[tuple[int, int]]:
    """Yield the columns of the same maps of two models: layer by layer, or of the last ones."""
    sides: list[dict[tuple[Any, ...], dict[Any, int]]] = [{}, {}]
    for place, (model, method, _, target, layer) in enumerate(names):
        for side, wanted in zip(sides, (one, other), strict=True):
            if model == wanted:
                side.setdefault((method, target), {})[or_none([layer])[0]] = place
    for key, ours in sides[0].items():
        theirs = sides[1].get(key, {})
        if ours.keys() == theirs.keys():
            yield from ((place, theirs[layer]) for layer, place in ours.items())
        elif theirs:
            yield ours[max(ours)], theirs[max(theirs)]


def background_of(frame: pd.DataFrame, one: str, other: str) -> pd.DataFrame:
    """Return the table of `background_test` of rows as `Results.checks` returns them."""
    import pandas as pd

    rows = frame[(frame["measure"] == "parts_background").to_numpy()]
    names, table = side_by_side(rows, _NAMES)
    pairs = list(_pairs(names, one, other))
    ours, theirs = (table[:, [pair[side] for pair in pairs]] for side in (0, 1))
    both = np.isfinite(ours) & np.isfinite(theirs)
    gaps = np.where(both, ours - theirs, np.nan)
    # Maps that ask no model are the same: nothing is tested.
    same = both.any(axis=0) & ~(np.abs(gaps) > _EQUAL).any(axis=0)
    tested = compare_family(np.where(same, np.nan, gaps))
    found = intervals(gaps, limits=(-1, 1))
    lines = [(names[place], names[second]) for place, second in pairs]
    columns: dict[str, Any] = {
        "one": one,
        "other": other,
        **{what: [line[0][at] for line in lines] for what, at in _SHARED.items()},
        "layer_one": layer_column(or_none([line[0][4] for line in lines])),
        "layer_other": layer_column(or_none([line[1][4] for line in lines])),
        **{
            f"share_{what}": [mean(side[both[:, place], place]) for place in range(len(pairs))]
            for what, side in (("one", ours), ("other", theirs))
        },
        "difference": found.value,
        "low": found.low,
        "high": found.high,
        "p": np.where(same, 1.0, tested.p),
        "p_holm": np.where(same, 1.0, tested.holm),
        "images": found.n,
    }
    return pd.DataFrame(columns, index=range(len(pairs)))
