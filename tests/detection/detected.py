"""Small data sets of boxes as Hypothesis makes them: ties of score and overlap, empty images."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from sightline.detection.columns import Detections, GroundTruth

LABELS = ["ant", "bee", "cat", "dog"]
SCORES = [0.0, 0.2, 0.25, 0.5, 0.5000001, 0.75, 1.0]
LIMITS = st.sampled_from([0.1, 0.25, 1 / 3, 0.5, 0.75, 1.0])


@st.composite
def boxes(draw: st.DrawFn, *, whole: bool = False) -> tuple[float, float, float, float]:
    """Corners on a coarse grid, sometimes without area, or shifted by an odd amount."""
    x, y = draw(st.integers(0, 3)), draw(st.integers(0, 2))
    w, h = draw(st.integers(0, 4)), draw(st.integers(1, 3))
    shift = 0.0 if whole else draw(st.sampled_from([0.0, 0.0, 0.1]))
    return (x + shift, float(y), x + shift + w, float(y + h))


def predictions(*, whole: bool = False) -> st.SearchStrategy[list[Any]]:
    """Predictions of one image."""
    row = st.tuples(boxes(whole=whole), st.sampled_from(SCORES), st.sampled_from(LABELS))
    return st.lists(row.map(list), max_size=6)


def truths(
    *, whole: bool = False, difficult: bool = False, crowd: bool = False
) -> st.SearchStrategy[list[Any]]:
    """Ground truths of one image: box, label, whether it is difficult, and whether a crowd."""
    flags = [st.booleans() if asked else st.just(False) for asked in (difficult, crowd)]
    row = st.tuples(boxes(whole=whole), st.sampled_from(LABELS), *flags[: 2 if crowd else 1])
    return st.lists(row.map(list), max_size=5)


def images(
    *, whole: bool = False, difficult: bool = False, crowd: bool = False
) -> st.SearchStrategy[tuple[list[Any], list[Any]]]:
    """Predictions and ground truths, one list an image; `whole` ones lie on whole pixels."""
    true = truths(whole=whole, difficult=difficult, crowd=crowd)
    pairs = st.lists(st.tuples(predictions(whole=whole), true), max_size=3)
    return pairs.map(lambda rows: ([row[0] for row in rows], [row[1] for row in rows]))


def flagged() -> st.SearchStrategy[tuple[list[Any], list[Any]]]:
    """Data sets with difficult objects and crowds, on whole pixels."""
    return images(whole=True, difficult=True, crowd=True)


def columns(scene: tuple[list[Any], list[Any]], **options: Any) -> tuple[Detections, GroundTruth]:
    """Return the same as records; `options` are those of both sides."""
    found, true = ([(i, row) for i, part in enumerate(side) for row in part] for side in scene)
    return (
        Detections.from_arrays(
            [i for i, _ in found], [row[2] for _, row in found], sized(found),
            [row[1] for _, row in found], **options,
        ),
        GroundTruth.from_arrays(
            [i for i, _ in true], [row[1] for _, row in true], sized(true),
            difficult=[any(row[2:3]) for _, row in true],
            crowd=[any(row[3:]) for _, row in true], **options,
        ),
    )  # fmt: skip


def sized(rows: list[Any]) -> Any:
    """Boxes as corner and size."""
    corners = np.array([row[0] for _, row in rows], np.float64).reshape(-1, 4)
    return np.hstack([corners[:, :2], corners[:, 2:] - corners[:, :2]])


def fixed(values: Any) -> Any:
    """Return an array that cannot be written to."""
    array = np.array(values)
    array.flags.writeable = False
    return array
