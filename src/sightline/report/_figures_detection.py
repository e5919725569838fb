"""Figures of the evaluations of detections that lie in a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sightline.core import InputError
from sightline.core.words import counted
from sightline.figures import (
    draw_confusion_matrix,
    draw_error_types,
    draw_intervals,
    draw_pr_curves,
    draw_reliability,
)
from sightline.report._figure_data import Feed
from sightline.results import detection_names, open_detection

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.figure import Figure

    from sightline.report.figures import Choice, Drawn, StoreFigures
    from sightline.results import StoredDetection

__all__ = ["FEEDS"]


def _holding(store: StoreFigures, key: str) -> list[str]:
    """Return the evaluations that hold what a figure is drawn from."""
    path = store.results.path
    return [
        name
        for name in detection_names(path)
        if open_detection(path, name).about.get(key) is not None
    ]


def _opened(store: StoreFigures, choice: Choice, key: str) -> StoredDetection:
    """Return the evaluation of that name, or the first that holds what is drawn."""
    path = store.results.path
    names = detection_names(path)
    if choice.model is not None and choice.model not in names:
        known = ", ".join(names)
        raise InputError(f"model must be a stored evaluation: {known}; got {choice.model!r}")
    return open_detection(path, choice.model or _holding(store, key)[0])


def _drawn(
    store: StoreFigures,
    choice: Choice,
    key: str,
    draw: Callable[[StoredDetection], tuple[Figure, pd.DataFrame]],
) -> Drawn:
    from sightline.report.figures import Drawn

    found = _opened(store, choice, key)
    images = found.about["results"].get("images")
    count = "" if images is None else f", {counted(images, 'image')}"
    return Drawn(*draw(found), f"{found.name}: protocol {found.protocol}{count}")


def _pr(found: StoredDetection) -> tuple[Figure, pd.DataFrame]:
    best = {key: point for key, point in found.best_f1().items() if point.f1 > 0}
    rule = found.about["results"].get("interpolation", "coco101")
    figure = draw_pr_curves(
        found.pr_curves(), names=found.names, best=best, iou=found.iou, interpolation=rule
    )
    raw = found.curves[found.curves["kind"] == "raw"]
    return figure, raw.reset_index(drop=True)


def _classes(found: StoredDetection) -> tuple[Figure, pd.DataFrame]:
    return draw_intervals(found.classes), found.classes


def _confusion(found: StoredDetection) -> tuple[Figure, pd.DataFrame]:
    import pandas as pd

    matrix = found.confusion_matrix()
    if matrix is None:
        raise InputError(f"{found.name}: no confusion matrix is stored")
    labels = [str(found.names.get(label, label)) for label in matrix.class_labels]
    table = pd.DataFrame(matrix.matrix, columns=labels)
    table.insert(0, "true", labels)
    return draw_confusion_matrix(matrix, names=found.names), table


def _errors(found: StoredDetection) -> tuple[Figure, pd.DataFrame]:
    import pandas as pd

    costs = found.errors
    if costs is None:
        raise InputError(f"{found.name}: no kinds of error are stored")
    kinds = list(costs.counts)
    count, cost = (pd.Series(dict(one)).reindex(kinds) for one in (costs.counts, costs.cost))
    table = pd.DataFrame({"error": kinds, "count": count.to_numpy(), "cost": cost.to_numpy()})
    return draw_error_types(costs), table


def _reliability(found: StoredDetection) -> tuple[Figure, pd.DataFrame]:
    import pandas as pd

    known = found.reliability()
    if known is None:
        raise InputError(f"{found.name}: no reliability is stored")
    columns: dict[str, Any] = {"low": known.edges[:-1], "high": known.edges[1:]}
    columns |= {name: getattr(known, name) for name in ("count", "confidence", "precision")}
    return draw_reliability(known), pd.DataFrame(columns)


def _missing(store: StoreFigures, key: str, what: str) -> str:
    names = detection_names(store.results.path)
    if not names:
        return "no evaluation of detections is stored"
    if _holding(store, key):
        return ""
    which = f"its evaluation {names[0]!r} has" if len(names) == 1 else "its evaluations have"
    return f"{which} no {what}"


def _feed(
    draw: Callable[[StoredDetection], tuple[Figure, pd.DataFrame]], key: str, what: str
) -> Feed:
    return Feed(
        lambda store, choice: _drawn(store, choice, key, draw),
        lambda store: _missing(store, key, what),
        ("model",),
    )


FEEDS = {
    "detection-pr": _feed(_pr, "curves", "curves"),
    "detection-classes": _feed(_classes, "results", "classes"),
    "confusion-matrix": _feed(_confusion, "confusion", "confusion matrix"),
    "error-types": _feed(_errors, "errors", "kinds of error"),
    "reliability": _feed(_reliability, "reliability", "reliability of confidences"),
}
