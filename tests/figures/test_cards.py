"""Every figure of the table is described, and can be read with few and with many methods."""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, get_args
from xml.etree import ElementTree as ET

import pytest
from PIL import Image

from sightline import figures
from sightline.figures import FIGURES, save
from sightline.figures.card import Group
from tests.figures.drawn import assert_drawn

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure


TWICE = {name for name, card in FIGURES.items() if card.group == "checks"} | {"layer-changes"}
"""Drawn twice here; that others have the same bytes is seen in reports, by tests of feeding."""


@cache
def samples() -> dict[str, Callable[[int], Figure]]:
    """Made-up figures by the names of their cards."""
    found: dict[str, Callable[[int], Figure]] = {}
    for file in sorted(Path(__file__).parent.glob("samples_*.py")):
        module = importlib.import_module(f"tests.figures.{file.stem}")
        assert not found.keys() & module.SAMPLES.keys(), file.stem
        found |= module.SAMPLES
    return found


def test_every_card_has_a_sample() -> None:
    assert set(samples()) == set(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
def test_a_card_says_all(name: str) -> None:
    card = FIGURES[name]
    assert card.name == name
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", name)
    assert re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)*", card.file)
    assert card.group in get_args(Group)
    assert card.title == card.title.strip() != ""
    for text in (card.shows, card.reading, card.needs):
        assert re.fullmatch(r"[A-Z“].*[.)]", text, re.DOTALL), text
    assert re.fullmatch(r"([A-Z].*\.)?", card.unselected)
    assert getattr(figures, card.function.__name__) is card.function
    assert card.function.__name__ in figures.__all__
    assert ">>>" in (card.function.__doc__ or "")


def test_files_and_titles_are_different() -> None:
    assert len({card.file for card in FIGURES.values()}) == len(FIGURES)
    assert len({card.title for card in FIGURES.values()}) == len(FIGURES)


def test_figures_of_the_guide_have_its_names() -> None:
    guide = {
        "visualize_all_methods",
        "visualize_attribution_enhanced",
        "create_roc_curve_comparison",
        "create_pr_curve_comparison",
        "create_iou_threshold_curves",
        "create_pointing_game_visualization",
        "create_ebpg_visualization",
        "create_methods_ranking_heatmap",
        "create_metrics_radar_chart",
        "create_model_vs_method_analysis",
        "create_sanity_check_comparison",
        "create_cascade_randomization_plot",
    }
    assert guide <= {card.function.__name__ for card in FIGURES.values()}
    files = {
        "roc_curves",
        "pr_curves",
        "metrics_comparison",
        "methods_ranking_heatmap",
        "sanity_check_comparison",
        "cascade_randomization_test",
    }
    assert files <= {card.file for card in FIGURES.values()}


@pytest.mark.parametrize("name", FIGURES)
def test_few_methods_can_be_read_in_all_formats(name: str, tmp_path: Path) -> None:
    figure = samples()[name](3)
    svg, png, pdf = save(figure, tmp_path / "one", ("svg", "png", "pdf"), dpi=100)
    assert_readable(figure, svg)
    with Image.open(png) as image:
        assert image.size == pytest.approx(figure.get_size_inches() * 100, abs=1)
        assert image.convert("L").getextrema()[0] < 100  # type: ignore[operator]
    content = pdf.read_bytes()
    assert b"/Font" in content
    assert b"/Type3" not in content
    if name in TWICE:
        (again,) = save(samples()[name](3), tmp_path / "two", ("svg",), dpi=100)
        assert again.read_bytes() == svg.read_bytes()


@pytest.mark.parametrize("name", FIGURES)
def test_many_methods_can_be_read(name: str, tmp_path: Path) -> None:
    figure = samples()[name](15)
    assert_readable(figure, *save(figure, tmp_path / "one", ("svg",), dpi=50))


def test_dots_are_as_many_as_asked_for(tmp_path: Path) -> None:
    figure = samples()["roc"](3)
    (file,) = save(figure, tmp_path / "a", ("png",), dpi=300)
    with Image.open(file) as image:
        assert image.size == pytest.approx(figure.get_size_inches() * 300, abs=1)


def assert_readable(figure: Figure, svg: Path) -> None:
    """Nothing is cut off or covered, all that can be read is text in the file, and it fits."""
    written = " ".join(" ".join(ET.parse(svg).getroot().itertext()).split())  # noqa: S314
    for line in (line for text in assert_drawn(figure) for line in text.splitlines()):
        assert " ".join(line.split()) in written, line
    assert figure.get_size_inches()[0] <= 24
