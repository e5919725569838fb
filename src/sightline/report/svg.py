"""Small charts as inline SVG: bands over rates, and intervals on one scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Mark", "Scale", "band_chart", "interval_chart", "span_of"]


@dataclass(frozen=True)
class Scale:
    """A linear scale from values to pixels.

    >>> Scale(0, 1, 10, 110)(0.5)
    60.0
    """

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return where a value lies."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self, count: int = 4) -> list[float]:
        """Return round numbers between the ends.

        >>> Scale(0, 0.34, 0, 1).ticks()
        [0.0, 0.1, 0.2, 0.3]
        """
        step = _round_step((self.high - self.low) / count)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(number * step, 10) + 0.0 for number in range(first, last + 1)]


def _round_step(rough: float) -> float:
    """Return 1, 2 or 5 times a power of ten, near a number."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough - 1e-12)


def span_of(values: Iterable[float], *, zero: bool = True) -> tuple[float, float]:
    """Return ends that hold all values with some room, and 0 if asked for."""
    found = [value for value in values if math.isfinite(value)]
    if zero or not found:
        found.append(0.0)
    low, high = min(found), max(found)
    if low == high:
        return low, low + 1.0
    room = (high - low) * 0.06
    return (low if low == 0 else low - room), (high if high == 0 else high + room)


WIDTH, HEIGHT = 300, 190
LEFT, RIGHT, TOP, BOTTOM = 46, 20, 12, 34


def band_chart(
    points: Sequence[tuple[float, float, float, float]],
    value: float,
    span: tuple[float, float],
    told: str,
) -> str:
    """Return a band with its middle over rates, and a line at the value that it starts from.

    Parameters
    ----------
    points : sequence of (rate, low, mean, high)
        From the smallest rate to the largest.
    value : float
        With all labels.
    span : tuple of 2 floats
        Ends of the scale.
    told : str
        What the chart shows, for those who cannot see it.
    """
    x = Scale(0, max(point[0] for point in points), LEFT, WIDTH - RIGHT)
    y = Scale(*span, HEIGHT - BOTTOM, TOP)
    upper = [(x(rate), y(high)) for rate, _, _, high in points]
    lower = [(x(rate), y(low)) for rate, low, _, _ in reversed(points)]
    middle = [(x(rate), y(mean)) for rate, _, mean, _ in points]
    parts = [
        *_grid(y),
        *(_text(x(rate), HEIGHT - BOTTOM + 15, f"{rate:.0%}") for rate, *_ in points),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, "labels left out at random"),
        f'<polygon class="band" points="{_joined([*upper, *lower])}"/>',
        f'<polyline class="mean" points="{_joined(middle)}"/>',
        _level("value", y(value)),
    ]
    if span[0] < 0 < span[1]:
        parts.insert(0, _level("zero", y(0)))
    return _svg(parts, WIDTH, HEIGHT, told)


def _level(kind: str, at: float) -> str:
    """Return a line across the chart."""
    return f'<line class="{kind}" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'


def _grid(y: Scale) -> list[str]:
    parts = []
    for tick in y.ticks():
        at = y(tick)
        parts.append(_level("grid", at))
        parts.append(_text(LEFT - 6, at + 4, f"{tick:g}", "end"))
    return parts


@dataclass(frozen=True)
class Mark:
    """A value with its interval, and the colour class it is drawn in."""

    label: str
    value: float
    low: float
    high: float
    kind: str


ROW, NAME = 24, 190


def interval_chart(
    marks: Sequence[Mark], span: tuple[float, float], told: str, name: int = NAME
) -> str:
    """Return values with their intervals, one below the other on one scale.

    Parameters
    ----------
    marks : sequence of Mark
        What to draw.
    span : tuple of 2 floats
        Ends of the scale.
    told : str
        What the chart shows, for those who cannot see it.
    name : int
        Room for labels.
    """
    wide = 430 + name
    x = Scale(*span, name, wide - 70)
    tall = ROW * len(marks) + 26
    parts = []
    for tick in x.ticks(6):
        at = x(tick)
        parts.append(
            f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="2" y2="{ROW * len(marks)}"/>'
        )
        parts.append(_text(at, ROW * len(marks) + 17, f"{tick:g}"))
    for number, mark in enumerate(marks):
        parts += _mark(mark, x, ROW * number + ROW / 2, wide)
    return _svg(parts, wide, tall, told)


def _mark(mark: Mark, x: Scale, y: float, wide: int) -> list[str]:
    parts = [_text(x.start - 12, y + 4, mark.label, "end", "name")]
    if not math.isfinite(mark.value):
        return [*parts, _text(x.start, y + 4, "no estimate", "start", "soft")]
    if math.isfinite(mark.low):
        parts.append(
            f'<line class="span {mark.kind}" x1="{x(mark.low):.1f}" x2="{x(mark.high):.1f}" '
            f'y1="{y}" y2="{y}"/>'
        )
    at = x(mark.value)
    if min(x.start, x.end) <= at <= max(x.start, x.end):
        parts.append(f'<circle class="{mark.kind}" cx="{at:.1f}" cy="{y}" r="5"/>')
    else:  # it has no interval, and the axis is that of those that have
        edge, sign = (x.end, "▸") if at > x.end else (x.start, "◂")
        parts.append(_text(edge, y + 4, sign, "middle", mark.kind))
    parts.append(_text(wide - 8, y + 4, f"{mark.value:.3f}", "end", "number"))
    return parts


def _text(x: float, y: float, text: str, anchor: str = "middle", kind: str = "tick") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _joined(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _svg(parts: Iterable[str], width: float, height: float, told: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(told)}" '
        f'style="max-width:{width:g}px">{"".join(parts)}</svg>'
    )
