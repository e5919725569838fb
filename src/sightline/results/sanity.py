"""Whether maps are about what a network learnt: its weights are drawn anew, and maps compared."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from sightline.attribution.sanity.table import RELIABLE, SIMILARITIES, UNRELIABLE, WAYS, guide_of
from sightline.core import InputError
from sightline.core.checks import check_choice, check_confidence
from sightline.results._check_rows import by_line, framed, of_check, stored_rows
from sightline.results._missing_label_inputs import mean
from sightline.results.checked_layers import add_best_layers
from sightline.results.leaderboard import so_far, with_note
from sightline.stats._crossed_means import Crossed, Pairs, crossed_difference, crossed_mean
from sightline.stats.confidence import interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from sightline.attribution.sanity.table import Similarity, Way
    from sightline.results import Results

    Partners = Mapping[int, Mapping[str, str]]

__all__ = ["NO_RANKING", "Reading", "cascade_table", "sanity_table"]

Reading = Literal["signed", "absolute"]

MARGIN = 0.1
"""How much more similar than maps of two images maps may be, to pass."""
TOP = 2
"""Stages at the top within which the guide's drop must come: the head and the last block."""
FEW = 5
"""Draws of weights below which intervals over them tell little."""

NO_RANKING = (
    "verdicts say whether maps depend on what was learnt, and must not be used to rank methods: "
    "from the top down, lower layers keep what they learnt and pass it on, so that maps of "
    "faithful methods stay alike too, and noise lowers any similarity, so that noisy maps look "
    "better (Binder et al. 2023)"
)
_SANITY = (
    *("model", "method", "target", "layer", "similarity", "low", "high", "cross", "difference"),
    *("difference_low", "difference_high", "verdict", "guide", "cascade", "edge", "training"),
    *("images", "seeds"),
)
_CASCADE = (
    *("model", "method", "target", "layer", "stage", "name", "similarity", "low", "high", "cross"),
    *("edge", "training", "accuracy", "accuracy_low", "accuracy_high", "images", "seeds"),
)


def sanity_table(
    results: Results,
    *,
    measure: Similarity = "spearman",
    reading: Reading = "signed",
    way: Way = "full",
    confidence: float = 0.95,
    metric: str | None = None,
) -> pd.DataFrame:
    """Return for each method whether its maps depend on what the network learnt.

    The similarity is that of an image's map of the network whose weights were drawn anew to its
    map of the trained network; the cross-image similarity that of the trained network's maps of
    two images, which tells how alike maps are that share nothing but habits of method and model,
    such as a bright centre. Intervals are for other images and other draws of the weights at once.

    The verdict is "fail" where the lower end of the difference to the cross-image similarity lies
    above 0.1, or that of the similarity above 0.6; "pass" where it is no fail and the upper end of
    the difference lies below 0.1; else "cannot tell".

    Parameters
    ----------
    results
        Of a study with the check `randomisation`.
    measure
        "spearman" (ranks), "ssim" (structure), "hog" (directions of edges), "overlap" (of the
        highest pixels).
    reading
        "signed" compares values as they are, "absolute" their sizes. Maps without signs are the
        same in both.
    way
        "full": all weights at once; of "top-down" and "bottom-up" the last stage, when all are.
    confidence
        Of the intervals.
    metric
        Of the leaderboard whose layer `best_layer` is, its default if not given.

    Returns
    -------
    DataFrame
        model, method, target, layer (that was checked), best_layer (that the leaderboard reports),
        similarity, low, high, cross, difference, difference_low, difference_high, verdict, guide
        (the guide's rule for the similarity: below 0.3 "reliable", above 0.6 "unreliable", else
        "between"), cascade (its rule for the way from the top: "sharp drop: reliable" where the
        similarity is below 0.3 within two stages, "high throughout: unreliable" where it is above
        0.6 at all, else "gradual: acceptable"; "" where no such way is stored), edge (similarity to
        the edges of the image), training (to the map of the same network trained from another
        seed), images, seeds. ``attrs["counts"]`` counts verdicts.

    Raises
    ------
    InputError
        If the check was not run, or not in that way.

    References
    ----------
    Adebayo et al. (2018), Sanity checks for saliency maps; Binder et al. (2023), Shortcomings of
    top-down randomization-based sanity checks for evaluations of deep neural network explanations.
    """
    frame = stored_rows(results, "randomisation")
    found = sanity_of(
        frame,
        measure=measure,
        reading=reading,
        way=way,
        confidence=confidence,
        partners=_partners(results),
    )
    found = add_best_layers(found, results, metric)
    return with_note(found, found.attrs["note"], so_far(results._tables))


def cascade_table(
    results: Results,
    *,
    way: Way = "top-down",
    measure: Similarity = "spearman",
    reading: Reading = "signed",
    confidence: float = 0.95,
    metric: str | None = None,
) -> pd.DataFrame:
    """Return how similar maps stay while a network's weights are drawn anew, stage by stage.

    Parameters
    ----------
    results, measure, reading, confidence, metric
        See `sanity_table`.
    way
        "top-down" (from the output), "bottom-up", "single" (each stage alone), "full".

    Returns
    -------
    DataFrame
        model, method, target, layer, best_layer, stage (from 0 in the order of the way; -1: nothing
        is randomised, and the similarity is 1), name, similarity, low, high, cross, edge, training
        (see `sanity_table`), accuracy (of the network at this stage, mean over images and draws),
        accuracy_low, accuracy_high, images, seeds.

    Raises
    ------
    InputError
        If the check was not run, or not in that way.
    """
    frame = stored_rows(results, "randomisation")
    found = cascade_of(frame, way=way, measure=measure, reading=reading, confidence=confidence)
    found = add_best_layers(found, results, metric)
    return with_note(found, found.attrs["note"], so_far(results._tables))


def _partners(results: Results) -> Partners:
    """Return for each seed whose map each image's is compared with."""
    from sightline.study.plan.checks import partners_of

    labels = dict(results._tables.fetch("SELECT image, labels FROM images"))
    chunks = results.manifest.get("checked", {}).get("randomisation", ())
    images = [image for chunk in chunks for image in chunk["images"]]
    asked = [one["options"].get("seeds", 0) for one in results.manifest.get("checks", ())]
    return {
        seed: dict(zip(images, partners_of(images, labels, seed), strict=True))
        for seed in range(max(asked, default=0))
    }


# --- of rows -------------------------------------------------------------------------------------


def sanity_of(
    frame: pd.DataFrame,
    *,
    measure: Similarity = "spearman",
    reading: Reading = "signed",
    way: Way = "full",
    confidence: float = 0.95,
    partners: Partners | None = None,
) -> pd.DataFrame:
    """Return the table of `sanity_table` of rows as `Results.checks` returns them.

    `partners` says for each seed whose map each image's is compared with. Where that is not known,
    intervals are too wide.
    """
    _check(measure, reading, way, confidence)
    if way == "single":
        raise InputError("way must be one that ends with all weights drawn anew; got 'single'")
    rows = []
    for line in _lines(frame, measure, reading, way):
        cross = line.of("reference", "cross")
        table, images = _by_draw(_last(line.of("randomisation", way)))
        whole = crossed_mean(table, confidence=confidence, limits=_get_limits(measure))
        gap = _gap(table, _pairs(cross, images, partners), confidence, measure)
        rows.append({**line.names, **line.beside(), **_figures(whole, gap), "cascade": line.rule()})
    found = framed(rows, _SANITY)
    found.attrs.update(measure=measure, reading=reading, way=way, confidence=confidence)
    found.attrs["counts"] = dict(Counter(found["verdict"]))
    unknown = "" if partners else "partners of images are not known: intervals are too wide"
    return with_note(found, _about(found), _OURS, _GUIDE, NO_RANKING, _few(found), unknown)


def cascade_of(
    frame: pd.DataFrame,
    *,
    way: Way = "top-down",
    measure: Similarity = "spearman",
    reading: Reading = "signed",
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Return the table of `cascade_table` of rows as `Results.checks` returns them."""
    _check(measure, reading, way, confidence)
    rows: list[dict[str, Any]] = []
    for line in _lines(frame, measure, reading, way):
        same = {**line.names, **line.beside()}
        right = line.right("randomisation", way)
        rows.append({**same, **_trained(line, way, confidence)})
        part = line.of("randomisation", way)
        for stage in sorted({int(one) for one in part["stage"]}):
            some = part[(part["stage"] == stage).to_numpy()]
            table = _by_draw(some)[0]
            whole = crossed_mean(table, confidence=confidence, limits=_get_limits(measure))
            rows.append(
                {
                    **same,
                    **_accuracy(right[(right["stage"] == stage).to_numpy()], confidence),
                    "stage": stage,
                    "name": str(some["stage_name"].iloc[0]),
                    "similarity": whole.value,
                    "low": whole.low,
                    "high": whole.high,
                    "images": whole.images,
                    "seeds": whole.draws,
                }
            )
    found = framed(rows, _CASCADE)
    found.attrs.update(measure=measure, reading=reading, way=way, confidence=confidence)
    return with_note(found, _about(found), NO_RANKING, _few(found))


class _Line(NamedTuple):
    """The rows of one line: similarities, and whether predictions are right.

    Attributes
    ----------
    names
        Which maps.
    similar, judged
        Rows by check and way.
    """

    names: dict[str, Any]
    similar: dict[tuple[str, str], pd.DataFrame]
    judged: dict[tuple[str, str], pd.DataFrame]
    nothing: pd.DataFrame

    def of(self, check: str, way: str) -> pd.DataFrame:
        """Return similarities; none where none are stored."""
        return self.similar.get((check, way), self.nothing)

    def right(self, check: str, way: str) -> pd.DataFrame:
        """Return whether predictions are right."""
        return self.judged.get((check, way), self.nothing)

    def beside(self) -> dict[str, float]:
        """Return what similarities are compared with."""
        ways = ("cross", "edge", "training")
        return {way: mean(self.of("reference", way)["value"]) for way in ways}

    def rule(self) -> str:
        """Return what the guide says of the way from the top."""
        stages = self.of("randomisation", "top-down").groupby("stage", sort=True)["value"]
        return cascade_rule([mean(values) for _, values in stages])


def _lines(frame: pd.DataFrame, measure: str, reading: str, way: str) -> list[_Line]:
    """Return the rows of each line that was checked in a way."""
    of_check(frame, "randomisation", way)
    wanted = frame["check"].isin(["randomisation", "reference"])
    wanted &= frame["measure"].isin([measure, f"{measure}_abs", "correct"])
    found = []
    for names, rows in by_line(frame[wanted.to_numpy()]):
        judged = (rows["measure"] == "correct").to_numpy()
        line = _Line(
            names, _by_way(_read(rows, measure, reading)), _by_way(rows[judged]), rows.iloc[:0]
        )
        if len(line.of("randomisation", way)):
            found.append(line)
    if not found:
        raise InputError(f"no similarities of the measure {measure!r} are stored")
    return found


def _by_way(rows: pd.DataFrame) -> dict[tuple[str, str], pd.DataFrame]:
    groups = rows.groupby(["check", "way"], sort=False, observed=True)
    return {(str(check), str(way)): some for (check, way), some in groups}


def _read(rows: pd.DataFrame, measure: str, reading: str) -> pd.DataFrame:
    """Return the rows of a measure; of maps without signs, sizes are the values themselves."""
    sized = rows[(rows["measure"] == f"{measure}_abs").to_numpy()]
    if reading == "absolute" and len(sized):
        return sized
    return rows[(rows["measure"] == measure).to_numpy()]


def _last(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the last stage, when all weights are drawn anew."""
    last = max(int(one) for one in rows["stage"])
    return rows[(rows["stage"] == last).to_numpy()]


def _by_draw(rows: pd.DataFrame) -> tuple[NDArray[np.float64], list[str]]:
    """Return values as (images, draws), and the images."""
    wide = rows.pivot(index="image", columns="redraw", values="value").sort_index()
    return wide.to_numpy(np.float64), [str(image) for image in wide.index]


def _pairs(cross: pd.DataFrame, images: Sequence[str], partners: Partners | None) -> Pairs:
    """Return the similarities of maps of two images, by the places of these."""
    places = {image: place for place, image in enumerate(images)}
    kept = cross[cross["image"].isin(places).to_numpy()]
    seeds = kept["redraw"].astype(int)
    second = [
        places.get((partners or {}).get(seed, {}).get(str(image), ""), -1)
        for seed, image in zip(seeds, kept["image"], strict=True)
    ]
    first = [places[str(image)] for image in kept["image"]]
    values = kept["value"].to_numpy(np.float64)
    return Pairs(np.array(first, np.intp), np.array(second, np.intp), values)


def _get_limits(measure: str) -> tuple[float, float]:
    """Return the range of a similarity: that of a correlation, but for the share of pixels."""
    return (0.0, 1.0) if measure == "overlap" else (-1.0, 1.0)


def _gap(table: NDArray[np.float64], pairs: Pairs, confidence: float, measure: str) -> Crossed:
    """Return how much more similar maps are than those of two images."""
    least, most = _get_limits(measure)
    limits = least - most, most - least
    found = crossed_difference(table, pairs, confidence=confidence, limits=limits)
    if len(pairs.values):
        return found
    return Crossed(math.nan, math.nan, math.nan, 0, found.draws)


# --- verdicts ------------------------------------------------------------------------------------


def _figures(whole: Crossed, gap: Crossed) -> dict[str, Any]:
    return {
        "similarity": whole.value,
        "low": whole.low,
        "high": whole.high,
        "difference": gap.value,
        "difference_low": gap.low,
        "difference_high": gap.high,
        "verdict": verdict_of(whole, gap),
        "guide": guide_of(whole.value),
        "images": whole.images,
        "seeds": whole.draws,
    }


def verdict_of(similarity: Crossed, difference: Crossed) -> str:
    """Return "pass", "fail" or "cannot tell"; what is undefined tells nothing.

    >>> verdict_of(Crossed(0.1, 0.0, 0.2, 32, 5), Crossed(0.02, -0.05, 0.09, 32, 5))
    'pass'
    """
    if difference.low > MARGIN or similarity.low > UNRELIABLE:
        return "fail"
    return "pass" if difference.high < MARGIN else "cannot tell"


def cascade_rule(similarities: Sequence[float]) -> str:
    """Return what the guide says of similarities from the top down; "" where there are none.

    >>> cascade_rule([0.9, 0.2, 0.1]), cascade_rule([0.9, 0.5, 0.1]), cascade_rule([0.9, 0.7, 0.8])
    ('sharp drop: reliable', 'gradual: acceptable', 'high throughout: unreliable')
    """
    known = [one for one in similarities if not math.isnan(one)]
    if not known:
        return ""
    if min(known) > UNRELIABLE:
        return "high throughout: unreliable"
    top = [one for one in similarities[:TOP] if not math.isnan(one)]
    return "sharp drop: reliable" if min(top, default=1.0) < RELIABLE else "gradual: acceptable"


def _trained(line: _Line, way: str, confidence: float) -> dict[str, Any]:
    """Return the figures of the trained network, whose maps are what others are compared with."""
    part, judged = line.of("randomisation", way), line.right("reference", "trained")
    right = interval(judged["value"], kind="share", confidence=confidence)
    return {
        "stage": -1,
        "name": "trained",
        "similarity": 1.0,
        "low": math.nan,
        "high": math.nan,
        "accuracy": right.value,
        "accuracy_low": right.low,
        "accuracy_high": right.high,
        "images": int(part["image"].nunique()),
        "seeds": int(part["redraw"].nunique()),
    }


def _accuracy(rows: pd.DataFrame, confidence: float) -> dict[str, float]:
    """Return the share of right predictions over images and draws."""
    names = ("accuracy", "accuracy_low", "accuracy_high")
    if not rows["value"].notna().any():
        return dict.fromkeys(names, math.nan)
    table, _ = _by_draw(rows)
    found: Any = crossed_mean(table, confidence=confidence, limits=(0, 1))
    if found.low == found.high:  # always right, or never: the spread is not seen, yet there is one
        means = [mean(row) for row in table]
        found = interval(means, kind="share", confidence=confidence)
    return dict(zip(names, (found.value, found.low, found.high), strict=True))


# --- words ---------------------------------------------------------------------------------------

_MEASURES = {
    "spearman": "rank correlation (Spearman)",
    "ssim": "structural similarity (SSIM)",
    "hog": "correlation of the directions of edges (HOG)",
    "overlap": "overlap of the highest pixels",
}
_OURS = (
    f"fail: the lower end of the difference to maps of other images above {MARGIN}, or of the "
    f"similarity above {UNRELIABLE}; pass: the upper end of the difference below {MARGIN}"
)
_GUIDE = (
    f"the guide's rule: below {RELIABLE} reliable, above {UNRELIABLE} unreliable; it knows neither "
    "intervals nor how alike maps of different images are"
)
_WAYS = {
    "full": "all weights drawn anew at once",
    "top-down": "weights drawn anew from the output down",
    "bottom-up": "weights drawn anew from the input up",
    "single": "the weights of one stage alone drawn anew",
}


def _about(found: pd.DataFrame) -> str:
    told = found.attrs
    values = "values as they are" if told["reading"] == "signed" else "sizes of values"
    return (
        f"{_MEASURES[told['measure']]} of {values}, {_WAYS[told['way']]}; means over images and "
        f"draws with {told['confidence']:.0%} intervals over both"
    )


def _few(found: pd.DataFrame) -> str:
    """Say where draws are too few."""
    least = int(found["seeds"].min()) if len(found) else FEW
    if least < 2:
        return "one draw of the weights does not tell how draws differ: there are no intervals"
    return f"{least} draws of the weights: fewer than {FEW} tell little" if least < FEW else ""


def _check(measure: str, reading: str, way: str, confidence: float) -> None:
    check_choice("measure", measure, SIMILARITIES)
    check_choice("reading", reading, get_args(Reading))
    check_choice("way", way, WAYS)
    check_confidence(confidence)
