"""The page of all figures: whatever a figure is about, it has a picture there."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from sightline.figures import FIGURES

DOCS = Path(__file__).parents[2] / "docs"


def test_every_figure_has_its_place_and_its_picture() -> None:
    spec = importlib.util.spec_from_file_location("make_figures", DOCS / "make_figures.py")
    assert spec is not None
    assert spec.loader is not None
    gallery = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gallery)
    page = gallery.render()
    assert {card.group for card in FIGURES.values()} == set(gallery.GROUPS)
    for name, card in FIGURES.items():
        assert f"### {card.title}\n" in page
        assert (gallery.PICTURES / f"{name}.png").is_file()
