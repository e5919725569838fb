"""Reports with a few of their figures, for tests of something else than figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sightline.figures import FIGURES
from sightline.report import plates, renderer
from sightline.report import write as writing
from sightline.report.plates import (
    Plate,
    Saving,
    Wanted,
    draw_plate,
    example_figures,
    wanted_figures,
)
from sightline.report.renderer import Drawing

if TYPE_CHECKING:
    import pytest

    from sightline.report import StoreFigures

NAMED = (
    *("roc_curves", "pr_curves", "metrics_comparison", "methods_ranking_heatmap"),
    "sanity_check_comparison",
)
"""Files of charts whose names are promised."""
DPI = 150
"""Of the charts in the demo's report, the least that can be asked for."""
CARDS = 5
"""Cards of prototypes in the demo's report."""
LIMIT = 12_000_000
"""Signs of the page of the demo's report: not all of its files have room inside."""


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


def draw_few_formats(patch: pytest.MonkeyPatch) -> None:
    """Have this process save charts of promised names and one picture as asked, others as SVG."""

    def draw(figures: StoreFigures, one: Wanted, how: Saving) -> Plate | str:
        all_formats = FIGURES[one.card].file in NAMED or one.card == "attribution"
        return draw_plate(figures, one, how if all_formats else how._replace(formats=("svg",)))

    patch.setattr(renderer, "draw_plate", draw)
