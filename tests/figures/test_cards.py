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
from sightline.figures import FIGURES, house_style, save
from sightline.figures.card import Group
from tests.figures.drawn import _boxes, assert_legible, assert_not_blank

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure


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


@pytest.mark.parametrize("count", [3, 15])
@pytest.mark.parametrize("name", FIGURES)
def test_it_can_be_read_is_the_same_twice_and_has_live_text(
    name: str, count: int, tmp_path: Path
) -> None:
    figure = samples()[name](count)
    (svg,) = save(figure, tmp_path / "one", ("svg",))
    if count == 3:  # what differs from time to time differs with few methods, too
        (again,) = save(samples()[name](count), tmp_path / "two", ("svg",))
        assert again.read_bytes() == svg.read_bytes()
    assert_legible(figure)
    assert_not_blank(figure)
    assert_live(figure, svg)
    assert figure.get_size_inches()[0] <= 24


@pytest.mark.parametrize("name", FIGURES)
def test_it_is_saved_as_a_picture_and_for_print(name: str, tmp_path: Path) -> None:
    figure = samples()[name](3)
    png, pdf = save(figure, tmp_path / "a", ("png", "pdf"), dpi=150)
    width, height = figure.get_size_inches() * 150
    with Image.open(png) as image:
        assert image.size == pytest.approx((width, height), abs=1)
        assert image.convert("L").getextrema()[0] < 100  # type: ignore[operator]
    content = pdf.read_bytes()
    assert b"/Font" in content
    assert b"/Type3" not in content


def test_dots_are_as_many_as_asked_for(tmp_path: Path) -> None:
    figure = samples()["roc"](3)
    (file,) = save(figure, tmp_path / "a", ("png",), dpi=300)
    with Image.open(file) as image:
        assert image.size == pytest.approx(figure.get_size_inches() * 300, abs=1)


def assert_live(figure: Figure, svg: Path) -> None:
    """All that can be read is text in the file."""
    written = " ".join(" ".join(ET.parse(svg).getroot().itertext()).split())  # noqa: S314
    with house_style():
        texts = [text for text, _ in _boxes(figure)]
    for line in (line for text in texts for line in text.splitlines()):
        assert " ".join(line.split()) in written, line
