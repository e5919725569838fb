"""Made-up evaluations of detections to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.detection import reliability_curve
from sightline.figures import (
    draw_confusion_matrix,
    draw_error_types,
    draw_intervals,
    draw_pr_curves,
    draw_reliability,
)
from tests.figures.drawn import curves_of, matrix_of, names_of, table_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure


class _Errors:
    map = 0.25
    counts = {"classification": 1000, "localisation": 200, "duplicate": 3, "missed": 40}  # noqa: RUF012
    cost = {"classification": 0.01, "localisation": 0.03, "duplicate": 0.0, "missed": 0.2}  # noqa: RUF012


def _pr(count: int) -> Figure:
    return draw_pr_curves(curves_of(count), names=names_of(count), iou=0.5)


def _classes(count: int) -> Figure:
    return draw_intervals(table_of(count))


def _confusions(count: int) -> Figure:
    return draw_confusion_matrix(matrix_of(count), names=names_of(count))


def _errors(count: int) -> Figure:
    return draw_error_types(_Errors())


def _reliability(count: int) -> Figure:
    rng = np.random.default_rng(count)
    scores: Any = rng.random(100 * count)
    return draw_reliability(reliability_curve(scores, rng.random(100 * count) < scores))


SAMPLES: dict[str, Callable[[int], Figure]] = {
    "detection-pr": _pr,
    "detection-classes": _classes,
    "confusion-matrix": _confusions,
    "error-types": _errors,
    "reliability": _reliability,
}
