"""Reports with a few of their figures, for tests of something else than figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sightline.report import plates
from sightline.report import write as writing
from sightline.report.drawing import Drawing
from sightline.report.plates import Wanted, example_figures, wanted_figures

if TYPE_CHECKING:
    import pytest

DPI = 150
"""Of the charts in the demo's report, the least that can be asked for."""


def draw_few(patch: pytest.MonkeyPatch, *cards: str) -> None:
    """Have reports draw these figures in place of all, in this process unless asked for two."""

    def some(figures: Any, scored: Any, metric: str | None) -> tuple[list[Wanted], dict[str, str]]:
        wanted, missing = wanted_figures(figures, scored, metric)
        return [one for one in wanted if one.card in cards], missing

    def examples(figures: Any, scored: Any, metric: str | None) -> list[Wanted]:
        return example_figures(figures, scored, metric) if "examples" in cards else []

    def here(figures: Any, metric: str | None, how: Any, *, workers: int | None) -> Drawing:
        return Drawing(figures, metric, how, workers=workers or 1)

    patch.setattr(writing, "wanted_figures", some)
    patch.setattr(writing, "example_figures", examples)
    patch.setattr(writing, "Drawing", here)


def draw_few_examples(patch: pytest.MonkeyPatch, count: int) -> None:
    """Have reports draw all figures, but examples of the first lines alone."""

    def examples(figures: Any, scored: Any, metric: str | None) -> list[Wanted]:
        return example_figures(figures, scored, metric)[:count]

    patch.setattr(plates, "example_figures", examples)
    patch.setattr(writing, "example_figures", examples)
