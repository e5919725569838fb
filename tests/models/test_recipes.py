"""Recipes of variants: their file, and ids that count up."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest

from sightline.models.recipes import RECIPE, Recipe, expanded, read_recipe, shortened

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    "ids",
    [
        (),
        ("a",),
        ("7.png", "8.png", "9.png", "10.png"),
        ("x-098.png", "x-099.png", "x-100.png", "x-102.png"),
        ("1a2.png", "1a3.png", "2a4.png", "b", "b", "c"),
        ("999.png", "1000.png", "0001.png", "0002.png", "0003.png"),
        ("x٣.png", "x4.png", "x5.png"),
        ("road to rome.png", "a1.png to a3.png", "x\n1", "x\n2", "x\n3"),
    ],
)
def test_ids_come_back_from_ranges(ids: tuple[str, ...]) -> None:
    assert expanded(shortened(ids)) == ids


def test_a_range_that_never_ends_is_refused() -> None:
    with pytest.raises(ValueError, match="no range"):
        expanded([["a1.png", "b9.png"]])


@pytest.mark.parametrize(
    "pair",
    [["a9.png", "a1.png"], ["a", "b"], ["a1", "a01"], ["a0", "a99999999999"], ["a1"], ["a1", 2]],
)
def test_pairs_that_are_no_range_are_refused(pair: list[Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        expanded([pair])


def test_a_recipe_comes_back_from_its_file(tmp_path: Path) -> None:
    ids = tuple(f"i{n:03}.png" for n in range(8, 30))
    recipe = Recipe(
        "demo/vit", "0" * 16, "full", ("a", "b"), {"size": (8, 8), "fit": "squash"}, {"rate": 0.1},
        {"name": "folder", "path": "/x", "seed": None, "images": 24},
        {"name": "annotations", "images": 3}, ids, ("j.png",),
        {"held out": ids[:3]}, {"a": 20, "b": 2}, ({"training_loss": 0.5},), {"guess": 0.9},
        {"torch": "2"}, {"w": "f" * 16},
    )  # fmt: skip
    (tmp_path / RECIPE).write_text(recipe.to_json())
    assert read_recipe(tmp_path) == recipe
    written = json.loads((tmp_path / RECIPE).read_text())
    assert written["training"] == [["i008.png", "i029.png"]]
    assert list(written)[2:] == [one.name for one in fields(Recipe)]
