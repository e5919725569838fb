"""A line of the report: a rate, and the bounds that it must keep to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A figure of a simulation.

    `low` and `high` bound it where something is promised; both are None where it is only told.
    """

    what: str
    setting: str
    figure: float
    low: float | None = None
    high: float | None = None
    note: str = ""

    @property
    def gated(self) -> bool:
        return self.low is not None or self.high is not None

    @property
    def holds(self) -> bool:
        low = -float("inf") if self.low is None else self.low
        high = float("inf") if self.high is None else self.high
        return low <= self.figure <= high

    def bounds(self) -> str:
        if not self.gated:
            return ""
        if self.low is None:
            return f"≤ {self.high:g}"
        return f"≥ {self.low:g}" if self.high is None else f"{self.low:g}–{self.high:g}"


def table(lines: list[Line]) -> str:
    """Return lines as a table in Markdown."""
    rows = ["| what | setting | figure | promised | |", "| --- | --- | ---: | --- | --- |"]
    for line in lines:
        missed = "" if line.holds else "**missed** "
        cells = (line.what, line.setting, f"{line.figure:.3f}", line.bounds(), missed + line.note)
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)
