"""The page of all figures: whatever a figure is about, it has a picture there."""

from __future__ import annotations

from pathlib import Path

from sightline.figures import FIGURES
from tests.scripts import load_script

DOCS = Path(__file__).parents[2] / "docs"


def test_every_figure_has_its_place_and_its_picture() -> None:
    gallery = load_script(DOCS / "make_figures.py")
    page = gallery.render()
    assert {card.group for card in FIGURES.values()} == set(gallery.GROUPS)
    for name, card in FIGURES.items():
        assert f"### {card.title}\n" in page
        assert (gallery.PICTURES / f"{name}.png").is_file()
