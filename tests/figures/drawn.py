"""Made-up results to draw, and what may not happen on a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.detection import ConfusionMatrix, PRData, calculate_pr_data
from sightline.figures import house_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SLIVER = 1.5
"""Pixels that two boxes may share, as letters above and below a line may."""
_WORDS = ("cat", "traffic light", "$cost_1$ & <b>", "_hidden", "a long name of a class of things")


def row_names(ax: Axes) -> list[str]:
    """Return what stands at the rows of a figure."""
    return [text.get_text() for text in ax.get_yticklabels()]


def notes_of(ax: Axes) -> str:
    """Return the notes under the title."""
    (found,) = (
        text.get_text() for text in ax.texts if getattr(text, "xycoords", "") == "axes fraction"
    )
    return " ".join(found.split())


def names_of(count: int) -> dict[int, str]:
    return {i: f"{_WORDS[i % len(_WORDS)]} {i}" for i in range(count)}


def curves_of(count: int, seed: int = 0) -> dict[int, PRData]:
    """Curves; of more than 4 classes, the third has no objects, the fourth no detections."""
    rng = np.random.default_rng(seed)
    rows, totals = [], {}
    for label in range(count):
        totals[label] = 0 if count > 4 and label == 2 else int(rng.integers(20, 2000))
        if count > 4 and label == 3:
            continue
        scores = rng.random(60).round(2)
        hits = (rng.random(60) < scores * rng.uniform(0.2, 1)) & (totals[label] > 0)
        totals[label] = max(totals[label], int(hits.sum()))
        rows += [(s, bool(h), label) for s, h in zip(scores.tolist(), hits, strict=True)]
    return calculate_pr_data(rows, totals)


def matrix_of(count: int, seed: int = 0, *, others: bool = False) -> ConfusionMatrix:
    rng = np.random.default_rng(seed)
    matrix = np.where(rng.random((count + 2, count + 2)) < 0.1, rng.integers(0, 90), 0)
    matrix[np.arange(count), np.arange(count)] = rng.integers(1, 9999, count)
    matrix[-1, -1] = 0
    if not others:
        matrix[count], matrix[:, count] = 0, 0
    return ConfusionMatrix(matrix.astype(np.int64), [*range(count), "Others", "Background"])


def table_of(count: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    value = rng.random(count)
    value[2:3] = np.nan
    return {
        "name": list(names_of(count).values()),
        "AP": value,
        "low": value * 0.9,
        "high": value * 0.9 + 0.1,
        "ground_truths": rng.integers(0, 20000, count),
    }


def _boxes(figure: Figure) -> list[tuple[str, Any]]:
    """Return the texts that can be seen, with the places they take on a figure that was drawn."""
    from matplotlib.text import Text

    hidden = {text for ax in figure.axes for one in (ax, *ax.child_axes) for text in _hidden(one)}
    texts = figure.findobj(lambda one: isinstance(one, Text) and bool(one.get_text().strip()))
    seen = [one for one in texts if one.get_visible() and one not in hidden]
    return [(one.get_text(), one.get_window_extent()) for one in seen]  # type: ignore[attr-defined]


def _hidden(ax: Any) -> list[Any]:
    """Return the labels of ticks beyond the ends, and of axes that are off."""
    found = []
    for axis in (ax.xaxis, ax.yaxis):
        drawn = axis._update_ticks() if ax.axison else []
        ticks = [tick for tick in (*axis.majorTicks, *axis.minorTicks) if tick not in drawn]
        found += [text for tick in ticks for text in (tick.label1, tick.label2)]
        found += [] if ax.axison else [axis.label]
    return found


def assert_legible(figure: Figure) -> None:
    """No text is cut off, none lies on another, and no legend on its axes."""
    with house_style():
        figure.draw_without_rendering()
        _assert_apart(figure)


def assert_not_blank(figure: Figure) -> None:
    """Something is drawn in all axes: none is of one colour throughout."""
    with house_style():
        _assert_filled(figure)


def assert_drawn(figure: Figure) -> list[str]:
    """Assert that a figure is legible and not blank, drawn once; return its texts."""
    with house_style():
        _assert_filled(figure)
        return _assert_apart(figure)


def _assert_apart(figure: Figure) -> list[str]:
    """Find texts and legends of a figure that was drawn in their places; return the texts."""
    found = _boxes(figure)
    frame = figure.bbox.padded(1)
    for text, box in found:
        inside = frame.x0 <= box.x0 and box.x1 <= frame.x1
        assert inside, f"{text!r} is cut off"
        assert frame.y0 <= box.y0, f"{text!r} is cut off"
        assert box.y1 <= frame.y1, f"{text!r} is cut off"
    ends = np.array([(box.x0, box.y0, box.x1, box.y1) for _, box in found]).reshape(-1, 4)
    for place, (x0, y0, x1, y1) in enumerate(ends):
        rest = ends[place + 1 :]
        wide = np.minimum(rest[:, 2], x1) - np.maximum(rest[:, 0], x0)
        high = np.minimum(rest[:, 3], y1) - np.maximum(rest[:, 1], y0)
        on = np.flatnonzero((wide > SLIVER) & (high > SLIVER))
        assert not len(on), f"{found[place][0]!r} lies on {found[place + 1 + on[0]][0]!r}"
    for ax in figure.axes:
        legend = ax.get_legend()
        if legend is not None:
            assert not _overlap(legend.get_window_extent(), ax.get_window_extent())
    return [text for text, _ in found]


def _assert_filled(figure: Figure) -> None:
    """Draw a figure, and find something in all its axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas: Any = figure.canvas
    assert isinstance(canvas, FigureCanvasAgg)
    canvas.draw()  # type: ignore[no-untyped-call]
    pixels = np.asarray(canvas.buffer_rgba())[::-1, :, :3]  # type: ignore[no-untyped-call]
    for ax in figure.axes:
        box = ax.get_window_extent()
        x0, x1, y0, y1 = (max(round(end), 0) for end in (box.x0, box.x1, box.y0, box.y1))
        inside = pixels[y0 + 2 : y1 - 1, x0 + 2 : x1 - 1].reshape(-1, 3)
        assert len(inside), "axes without room"
        assert (inside != inside[0]).any(), f"nothing in the axes {ax.get_title(loc='left')!r}"


def _overlap(first: Any, second: Any) -> bool:
    """Say whether two boxes share more than a sliver."""
    wide = min(first.x1, second.x1) - max(first.x0, second.x0)
    high = min(first.y1, second.y1) - max(first.y0, second.y0)
    return bool(wide > SLIVER and high > SLIVER)
