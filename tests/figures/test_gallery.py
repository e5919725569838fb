"""Figures that no store feeds, of what is done to a model on the images of the demo's study."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from sightline.data import load_dataset
from sightline.report._feeds import REASONS
from sightline.study.template import demo_study
from tests.figures.drawn import assert_legible, assert_not_blank


def test_figures_of_checks_are_drawn_from_the_images_of_the_demo() -> None:
    file = Path(__file__).parents[2] / "docs" / "make_figures.py"
    spec = importlib.util.spec_from_file_location("make_figures", file)
    assert spec is not None
    assert spec.loader is not None
    gallery = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gallery)
    samples = list(load_dataset("facades", count=6, seed=demo_study().data.seed))
    drawn = dict(gallery.draw_checks(samples))
    assert set(drawn) == set(REASONS)  # stores feed all others
    for figure in drawn.values():
        assert_legible(figure)
        assert_not_blank(figure)
