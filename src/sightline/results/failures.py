"""Images on which maps score worst, and what these images have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.core.checks import MIN_IMAGES
from sightline.metrics import METRICS
from sightline.results._lines import find_line, units_of
from sightline.results._missing_label_inputs import mean
from sightline.results._views import full_model
from sightline.results.leaderboard import so_far, with_note
from sightline.results.predictions import predictions_of
from sightline.stats.corrections import holm
from sightline.stats.groups import compare_groups

if TYPE_CHECKING:
    import pandas as pd

    from sightline.core.choices import Layer
    from sightline.results import Results
    from sightline.results._lines import Line
    from sightline.results._tables import Tables


__all__ = ["ASSOCIATION", "REASONS", "Cases", "failure_cases", "failure_reasons", "worst_images"]

ASSOCIATION = (
    "reasons are associations: what the worst images have more often than others, not what made "
    "them fail; reasons come together, and what was not looked at may be behind them"
)
REASONS = {
    "small area": "the annotated area is at or below the lower quartile",
    "large area": "the annotated area is at or above the upper quartile",
    "many regions": "the number of annotated regions is at or above the upper quartile",
    "off centre": "the middle of the regions is as far from the image's as the upper quartile",
    "hidden parts": "parts are in the file that are out of sight",
    "cut off": "a region reaches the image's edge, or the model did not see all of the regions",
    "unlabelled instances": "objects are on the image that nobody labelled",
    "wrong class": "the model's prediction is wrong",
    "low confidence": "the model's confidence is at or below the lower quartile",
}
"""What is looked at, and when it holds; quartiles are over the images with a score."""
COUNT = 12
"""Images that are called the worst unless said otherwise."""

_EDGE = 1e-3
_SEEN = 0.999
_WORST = (
    *("image", "value", "chance", "label", "predicted", "probability", "correct", "area"),
    *("regions", "visible", "reasons"),
)


@dataclass(frozen=True, eq=False)
class Cases:
    """Images with a score, the worst first.

    Attributes
    ----------
    frame : DataFrame
        A line for each: its score, what the model said, what is annotated, and a column for each
        of `REASONS`, whether it holds.
    line : Line
        The maps that were scored.
    metric : str
        Name of the score.
    so_far : str
        How much of the study is stored, where that is not all.
    """

    frame: pd.DataFrame
    line: Line
    metric: str
    so_far: str


def failure_cases(
    results: Results,
    metric: str | None = None,
    *,
    model: str | None = None,
    method: str | None = None,
    layer: Layer | None = None,
    predictions: pd.DataFrame | None = None,
) -> Cases:
    """Return the images of a study by how badly maps score on them, with what holds of each.

    Parameters
    ----------
    results
        Of the study.
    metric, model, method, layer
        Which scores; see `Results`. Where names are left out, the best that is no baseline.
    predictions
        As `predictions_of` returns them, which is asked unless they are given.

    Raises
    ------
    InputError
        If no value of the metric is worse than another.
    """
    tables = results._tables
    name = tables.name(metric)
    direction = METRICS[name.metric].direction
    if direction == "neither":
        raise InputError(f"{name}: no value is worse than another, so no image is the worst")
    number = layer if isinstance(layer, int) else None
    where = tables.catalogue.where(model=model, method=method, layer=number)
    line = find_line(tables, name, where, layer)
    units = tables.frame(units_of(tables, name, line), line.values())[["image", "value", "chance"]]
    units = units[units["value"].notna().to_numpy()]
    known = predictions_of(results) if predictions is None else predictions
    said = known[(known["model"] == line.model).to_numpy()].drop(columns="model")
    cases = units.merge(_images(tables, line), on="image").merge(said, on="image", how="left")
    cases["worth"] = cases["value"] if direction == "higher" else -cases["value"]
    cases = cases.sort_values(["worth", "image"], kind="stable", ignore_index=True)
    return Cases(cases.assign(**_held(cases)), line, str(name), so_far(tables))


def worst_images(cases: Cases, count: int = COUNT) -> pd.DataFrame:
    """Return the images on which maps score worst, with what may have to do with it.

    Parameters
    ----------
    cases
        Of `failure_cases`.
    count
        How many images at most.

    Returns
    -------
    DataFrame
        image, value, chance, label, predicted, probability, correct, area (annotated share),
        regions, visible (share of the annotated area that the model saw), reasons (those of
        `REASONS` that hold here and not on every image, joined by "; "); the worst first.

    Raises
    ------
    InputError
        If the count is below 1.
    """
    _check_count(count)
    frame = cases.frame
    worst = frame.head(count)
    told = [one for one in REASONS if not frame[one].all()]  # what holds everywhere tells nothing
    held = worst[told].fillna(value=False).to_numpy(np.bool_)
    reasons = ["; ".join(np.array(told)[row]) for row in held]
    found = worst.assign(reasons=reasons)[list(_WORST)].reset_index(drop=True)
    return _named(found, cases, f"the {len(found)} worst of {len(frame)} images with a score")


def failure_reasons(cases: Cases, count: int = COUNT) -> pd.DataFrame:
    """Return what the images on which maps score worst have more often than the rest.

    Parameters
    ----------
    cases
        Of `failure_cases`.
    count
        How many images are the worst.

    Returns
    -------
    DataFrame
        reason (one of `REASONS`; those that hold on no image, or on all, are left out), worst,
        rest (share of either on which it holds), difference, low, high (its 95% interval, of
        Newcombe; NaN below 5 images on either side), p (Fisher's exact test, two-sided), p_holm
        (corrected over the reasons), worst_images, rest_images (of which it is known); the smallest
        p first.

    Raises
    ------
    InputError
        If the count is below 1, or not at least one image is left beside the worst.
    """
    _check_count(count)
    scored = len(cases.frame)
    if scored <= count:
        raise InputError(
            f"count must leave images to compare the worst with: {scored} have a score; got {count}"
        )
    frame = reasons_of(cases.frame[list(REASONS)], count)
    left = [reason for reason in REASONS if reason not in set(frame["reason"])]
    about = f"the {count} worst of {scored} images with a score against the rest"
    frame = _named(frame, cases, about)
    told = f"on no image, on all, or not known: {', '.join(left)}" if left else ""
    lacking = frame.loc[frame["difference"].isna(), "reason"]
    few = f"too few images for a difference, which needs {MIN_IMAGES} of either: "
    few = few + ", ".join(lacking) if len(lacking) else ""
    return with_note(frame, frame.attrs["note"], told, few)


def reasons_of(held: pd.DataFrame, count: int) -> pd.DataFrame:
    """Return the table of `failure_reasons`.

    Parameters
    ----------
    held
        A line for each image, the worst first; a column for each reason, whether it holds,
        missing where that is not known.
    count
        How many of the images are the worst.
    """
    import pandas as pd
    from scipy.stats import fisher_exact

    rows = []
    for reason in held:
        halves = held[reason].iloc[:count], held[reason].iloc[count:]
        sides = [half.dropna().to_numpy(np.float64) for half in halves]
        both = np.concatenate(sides)
        if not all(map(len, sides)) or both.min() == both.max():
            continue
        worst = np.arange(len(both)) < len(sides[0])
        gap = compare_groups(both, worst, kind="share")
        counts = [[int(side.sum()), int(len(side) - side.sum())] for side in sides]
        rows.append(
            {
                "reason": str(reason),
                "worst": float(sides[0].mean()),
                "rest": float(sides[1].mean()),
                "difference": gap.value,
                "low": gap.low,
                "high": gap.high,
                "p": float(fisher_exact(np.array(counts)).pvalue),
                "worst_images": len(sides[0]),
                "rest_images": len(sides[1]),
            }
        )
    columns = ("reason", "worst", "rest", "difference", "low", "high", "p")
    frame = pd.DataFrame(rows, columns=[*columns, "worst_images", "rest_images"])
    frame.insert(len(columns), "p_holm", holm(frame["p"].to_numpy(np.float64)))
    return frame.sort_values("p", kind="stable", ignore_index=True)


# --- what is known of images ---------------------------------------------------------------------


def _images(tables: Tables, line: Line) -> pd.DataFrame:
    """Return what the store knows of each image, and of its regions."""
    images = tables.frame("SELECT image, area, regions FROM images")
    regions = tables.frame(
        f"""SELECT image, avg((x0 + x1) / 2) FILTER (dropped = '') AS x,
  avg((y0 + y1) / 2) FILTER (dropped = '') AS y,
  count(*) FILTER (dropped = 'hidden') AS hidden,
  count(*) FILTER (dropped = 'unlabelled') AS unlabelled,
  count(*) FILTER (dropped = '' AND (least(x0, y0) <= {_EDGE} OR greatest(x1, y1) >= {1 - _EDGE}))
    AS at_edge
FROM regions GROUP BY image"""  # noqa: S608
    )
    seen = tables.frame(
        f"""SELECT image, min(visible_fraction)::DOUBLE AS visible FROM stored.scores
WHERE {full_model()} = $model GROUP BY image""",  # noqa: S608
        {"model": line.model},
    )
    return images.merge(regions, on="image", how="left").merge(seen, on="image", how="left")


def _held(cases: pd.DataFrame) -> dict[str, Any]:
    """Return for each reason on which images it holds; missing where that is not known."""
    import pandas as pd

    def flag(holds: Any, known: Any) -> Any:
        return pd.Series(holds, cases.index, dtype="boolean").where(known)

    far = ((cases["x"] - 0.5) ** 2 + (cases["y"] - 0.5) ** 2) ** 0.5
    some = {
        "small area": _quarter(cases["area"], "low"),
        "large area": _quarter(cases["area"], "high"),
        "many regions": _quarter(cases["regions"].astype(float), "high"),
        "off centre": _quarter(far, "high"),
        "low confidence": _quarter(cases["probability"], "low"),
    }
    cut = (cases["at_edge"] > 0) | (cases["visible"] < _SEEN)
    return {
        **{name: flag(holds, values.notna()) for name, (holds, values) in some.items()},
        "hidden parts": flag(cases["hidden"] > 0, cases["hidden"].notna()),
        "cut off": flag(cut, cases["at_edge"].notna()),
        "unlabelled instances": flag(cases["unlabelled"] > 0, cases["unlabelled"].notna()),
        "wrong class": ~cases["correct"].astype("boolean"),
    }


def _quarter(values: pd.Series[float], end: str) -> tuple[Any, pd.Series[float]]:
    """Say which values lie at the lower or upper quartile or beyond it, and return them."""
    if not values.notna().any():
        return False, values
    cut = float(np.nanquantile(values.to_numpy(np.float64), 0.25 if end == "low" else 0.75))
    return (values <= cut if end == "low" else values >= cut), values


# --- words ---------------------------------------------------------------------------------------


def _named(frame: pd.DataFrame, cases: Cases, about: str) -> pd.DataFrame:
    line, name = cases.line, cases.metric
    frame.attrs |= {"metric": name, "model": line.model, "method": line.method}
    frame.attrs["association"] = ASSOCIATION
    return with_note(
        frame,
        f"{name}, {line.told()}: {about}",
        ASSOCIATION,
        f"mean of these: {mean(frame['value']):.3f}" if "value" in frame and len(frame) else "",
        cases.so_far,
    )


def _check_count(count: int) -> None:
    if count < 1:
        raise InputError(f"count must be at least 1; got {count}")
