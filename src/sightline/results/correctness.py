"""Model or method: how maps score where the model is right, and where it is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.core import InputError
from sightline.core.checks import MIN_IMAGES
from sightline.metrics import METRICS
from sightline.results._lines import make_lines
from sightline.results._missing_label_inputs import line_columns, mean
from sightline.results.leaderboard import (
    CHOSEN,
    find_warnings,
    list_map_keys,
    so_far,
    with_note,
)
from sightline.results.predictions import predictions_of
from sightline.stats import compare_groups, interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from sightline.core.choices import Layer
    from sightline.results import Results
    from sightline.results._lines import Line
    from sightline.results._tables import Tables
    from sightline.stats import GroupDifference
    from sightline.stats.confidence import Kind

__all__ = ["class_scatter", "compute_accuracy_scatter", "correct_and_wrong", "line_values"]

_CAUSES = ("area", "probability")
_FIGURES = (
    *("right", "wrong", "difference", "low", "high", "adjusted", "adjusted_low"),
    *("adjusted_high", "right_images", "wrong_images", "reason"),
)
_ACCURACY = (
    *("accuracy", "accuracy_low", "accuracy_high", "value", "low", "high", "images", "reason"),
)


def correct_and_wrong(
    results: Results,
    metric: str | None = None,
    *,
    layer: Layer = "best",
    predictions: pd.DataFrame | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Return how maps score where the model is right, and where it is wrong.

    Images on which a model is right differ from others in more than that: the annotated area may
    be larger, the model surer. The adjusted difference is that of images alike in both: least
    squares on whether the prediction is right, the annotated share of the image, and the model's
    confidence. Intervals take images as the units, each with a scatter of its own.

    Parameters
    ----------
    results
        Of a study whose images have labels.
    metric
        ``"iou@90"``, ``"coverage"``: a name that the study computed; see `Results.leaderboard`.
    layer
        See `Results`.
    predictions
        As `predictions_of` returns them, which is asked unless they are given.
    confidence
        Of the intervals.

    Returns
    -------
    DataFrame
        model, method, group, target, layer, right, wrong (means over images), difference (right −
        wrong), low, high, adjusted, adjusted_low, adjusted_high, right_images, wrong_images,
        reason. Differences are NaN, and the reason says why, where they have no interval: below 5
        images on either side, and where right and wrong images cannot be compared at equal area
        and confidence.

    Raises
    ------
    InputError
        If it is of no prediction known whether it is right.
    """
    lines, table, notes = _judged_lines(results, metric, layer, predictions)
    rows = [_sides(some, notes[0], confidence) for some in _of_lines(table, len(lines))]
    frame = _with_lines(lines, rows, _FIGURES)
    few = frame["difference"].isna().any()
    return _annotate(
        frame,
        results,
        lines,
        notes[0],
        f"means of {notes[0]} over images where the model is right and where it is wrong, with "
        f"{confidence:.0%} intervals",
        "adjusted: least squares on right or wrong, annotated area and confidence",
        f"no difference below {MIN_IMAGES} images on either side: see reason" if few else "",
        *notes[1:],
        "better where right shows plausibility, not faithfulness: a map may fit what people marked "
        "for reasons that have nothing to do with the prediction",
    )


def class_scatter(
    results: Results,
    metric: str | None = None,
    *,
    layer: Layer = "best",
    predictions: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return the accuracy of models and the scores of maps on each class.

    Parameters
    ----------
    results, metric, layer, predictions
        See `correct_and_wrong`.

    Returns
    -------
    DataFrame
        model, method, group, target, layer, label (of images), accuracy (of the model on it),
        value (mean score), images (of the label whose prediction can be judged).

    Raises
    ------
    InputError
        If it is of no prediction known whether it is right.
    """
    lines, table, notes = _judged_lines(results, metric, layer, predictions)
    kept: list[Line] = []
    rows: list[dict[str, Any]] = []
    for line, some in zip(lines, _of_lines(table, len(lines)), strict=True):
        for label, of_class in some.groupby("label", sort=True):
            kept.append(line)
            rows.append(
                {
                    "label": str(label),
                    "accuracy": float(of_class["correct"].mean()),
                    "value": mean(of_class["value"]),
                    "images": len(of_class),
                }
            )
    frame = _with_lines(kept, rows, ("label", "accuracy", "value", "images"))
    return _annotate(
        frame,
        results,
        lines,
        notes[0],
        f"accuracy of the model and mean {notes[0]} on the images of each class",
        *notes[1:],
    )


def compute_accuracy_scatter(
    results: Results,
    metric: str | None = None,
    *,
    layer: Layer = "best",
    predictions: pd.DataFrame | None = None,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Return the accuracy of each model and the score of its maps: a point per model and method.

    Parameters
    ----------
    results, metric, layer, predictions, confidence
        See `correct_and_wrong`.

    Returns
    -------
    DataFrame
        model, method, group, target, layer, accuracy (of the model), accuracy_low, accuracy_high,
        value (mean score), low, high, images (whose prediction can be judged and whose score is
        defined; both means are over them), reason (why an interval is NaN).

    Raises
    ------
    InputError
        If it is of no prediction known whether it is right.
    """
    lines, table, notes = _judged_lines(results, metric, layer, predictions)
    rows = [_compute_accuracy(some, notes[0], confidence) for some in _of_lines(table, len(lines))]
    frame = _with_lines(lines, rows, _ACCURACY)
    return _annotate(
        frame,
        results,
        lines,
        notes[0],
        f"accuracy of the model and mean {notes[0]} on the same images, with {confidence:.0%} "
        "intervals",
        *notes[1:],
        "models differ in more than accuracy: a trend over a few models is no evidence that one "
        "causes the other",
    )


def line_values(tables: Tables, lines: Sequence[Line]) -> pd.DataFrame:
    """Return the scores of lines by image: columns line (its place), model, image, value."""
    import pandas as pd

    names = np.array(
        [image for (image,) in tables.fetch("SELECT image FROM images ORDER BY image")]
    )
    parts = [
        pd.DataFrame(
            {
                "line": place,
                "model": line.model,
                "image": names[line.scores.numbers],
                "value": np.asarray(line.scores.values, np.float64),
            }
        )
        for place, line in enumerate(lines)
    ]
    empty = pd.DataFrame({"line": [], "model": [], "image": [], "value": []})
    return pd.concat(parts, ignore_index=True) if parts else empty


def _judged_lines(
    results: Results, metric: str | None, layer: Layer, predictions: pd.DataFrame | None
) -> tuple[list[Line], pd.DataFrame, list[str]]:
    """Return lines of classifiers, their scores where predictions can be judged, and notes."""
    tables = results._tables
    name = tables.name(metric)
    known = predictions_of(results) if predictions is None else predictions
    told = str(known.attrs.get("note", ""))
    known = known[known["correct"].notna().to_numpy()]
    if known.empty:
        raise InputError(
            "it is of no prediction known whether it is right: that needs classifiers, and labels "
            f"of images that are among their classes{f' ({told})' if told else ''}"
        )
    where = tables.catalogue.where(layer=layer if isinstance(layer, int) else None)
    models = set(known["model"])
    lines = [line for line in make_lines(tables, name, where, layer) if line.model in models]
    areas = tables.frame("SELECT image, area FROM images")
    table = line_values(tables, lines).merge(known, on=["model", "image"], how="inner")
    table = table.merge(areas, on="image", how="left")
    best = any("same images" in line.chosen for line in lines)
    return lines, table, [str(name), f"layers: {CHOSEN}" if best else "", told]


def _of_lines(table: pd.DataFrame, count: int) -> list[pd.DataFrame]:
    parts = dict(list(table.groupby("line", sort=True)))
    return [parts.get(place, table.iloc[:0]) for place in range(count)]


def _sides(rows: pd.DataFrame, metric: str, confidence: float) -> dict[str, Any]:
    """Return the scores of one line where the model is right and where it is wrong."""
    rows = _select_defined(rows)
    values = rows["value"].to_numpy(np.float64)
    right = rows["correct"].to_numpy(np.bool_)
    spec = METRICS[metric.partition("@")[0]]
    options: dict[str, Any] = {
        "kind": _get_kind(metric),
        "confidence": confidence,
        "limits": spec.range,
        "names": ("right", "wrong"),
    }
    plain = compare_groups(values, right, **options)
    adjusted = compare_groups(values, right, others=rows[list(_CAUSES)], **options)
    return {
        "right": mean(values[right]),
        "wrong": mean(values[~right]),
        "difference": plain.value,
        "low": plain.low,
        "high": plain.high,
        "adjusted": adjusted.value,
        "adjusted_low": adjusted.low,
        "adjusted_high": adjusted.high,
        "right_images": int(right.sum()),
        "wrong_images": int((~right).sum()),
        "reason": _explain(plain, adjusted),
    }


def _explain(plain: GroupDifference, adjusted: GroupDifference) -> str:
    """Return why differences are undefined, the adjusted one's reason where it is another."""
    if not adjusted.reason or adjusted.reason == plain.reason:
        return plain.reason
    return "; ".join(filter(None, (plain.reason, f"adjusted: {adjusted.reason}")))


def _compute_accuracy(rows: pd.DataFrame, metric: str, confidence: float) -> dict[str, Any]:
    """Return the accuracy of one line's model and its mean score, on the same images."""
    # In the order of the leaderboard, for the same resamples.
    rows = _select_defined(rows).sort_values("image", kind="stable")
    right = interval(rows["correct"].to_numpy(np.float64), kind="share", confidence=confidence)
    score = interval(
        rows["value"].to_numpy(np.float64),
        kind=_get_kind(metric),
        confidence=confidence,
        limits=METRICS[metric.partition("@")[0]].range,
    )
    return {
        "accuracy": right.value,
        "accuracy_low": right.low,
        "accuracy_high": right.high,
        "value": score.value,
        "low": score.low,
        "high": score.high,
        "images": len(rows),
        "reason": score.reason,
    }


def _select_defined(rows: pd.DataFrame) -> pd.DataFrame:
    found: pd.DataFrame = rows[np.isfinite(rows["value"].to_numpy(np.float64))]
    return found


def _get_kind(metric: str) -> Kind:
    return "share" if METRICS[metric.partition("@")[0]].share else "mean"


def _with_lines(
    lines: Sequence[Line], rows: Sequence[dict[str, Any]], columns: Sequence[str]
) -> pd.DataFrame:
    """Return figures with the names of their lines before them."""
    import pandas as pd

    figures = pd.DataFrame(list(rows), columns=list(columns))
    return pd.concat([pd.DataFrame(line_columns(lines)), figures], axis=1)


def _annotate(
    frame: pd.DataFrame, results: Results, lines: Sequence[Line], metric: str, *notes: str
) -> pd.DataFrame:
    """Put the metric, notes, progress and warnings of its lines into a table's attributes."""
    tables = results._tables
    frame.attrs["metric"] = metric
    warnings = find_warnings(tables, list_map_keys(lines))
    return with_note(frame, *notes, so_far(tables), warnings=warnings)
