"""Maps of one table that were scored on different grids are named, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from sightline.results import (
    Results,
    against_chance,
    class_scatter,
    compute_accuracy_scatter,
    correct_and_wrong,
    open_results,
)
from sightline.results.leaderboard import GRIDS
from tests.cli.small import write_data
from tests.results.statistics import stores

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

BOXES = {"door": [0.0, 0.25, 0.25, 0.75], "[bold]window": [0.5, 0.5, 1.0, 0.75]}
"""Regions that cover whole cells of grids of 4 x 4 and 8 x 8."""
Shape = tuple[int, int]


def write_sized(folder: Path, shapes: Sequence[Shape | None]) -> str:
    """Write a random map of a size for each image; none of some."""
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number, shape in enumerate(shapes):
        if shape is not None:
            np.save(folder / f"{number:03}.npy", rng.random(shape, np.float32))
    return str(folder)


def run_sized(folder: Path, *sized: Sequence[Shape | None], **keys: Any) -> Path:
    """Run a study over sets of maps, each a method, named by its place."""
    methods = [
        {"name": f"m{place}", "params": {"maps": write_sized(folder / f"maps{place}", shapes)}}
        for place, shapes in enumerate(sized)
    ]
    given = {"data": {"name": "folder", "path": str(folder / "data")}, "models": []}
    return stores.run(folder, "sized", **{**given, "methods": methods, "layers": "all"}, **keys)


@pytest.fixture
def whole_cells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tests.cli.small.BOXES", BOXES)
    write_data(tmp_path / "data")
    return tmp_path


def test_grids_are_named_where_all_regions_cover_whole_cells_of_each(whole_cells: Path) -> None:
    store = run_sized(whole_cells, [(4, 4)] * 6, [(8, 8)] * 6, resolution="grid")
    with open_results(store) as results:
        areas = results.query("SELECT DISTINCT image, annotated_fraction FROM scores")
        assert len(areas) == 6  # the same on both grids
        board = results.leaderboard()
        assert board.attrs["warnings"] == (GRIDS,)
        assert GRIDS in board.attrs["note"]
        assert results.leaderboard(method="m0").attrs["warnings"] == ()


@pytest.mark.parametrize(
    ("first", "second", "mixed"),
    [
        ([(4, 4)] * 6, [(4, 4)] * 6, False),
        ([(4, 4)] * 6, [(4, 4)] * 5 + [(5, 4)], True),
        # Sizes that differ among images are the same for both methods.
        ([(4, 4), (6, 8)] * 3, [(4, 4), (6, 8)] * 3, False),
        # A method has no map of the images that were larger.
        ([(4, 4), (6, 8)] * 3, [(4, 4), None] * 3, False),
        ([(4, 4), (6, 8)] * 3, [(6, 6), None] * 3, True),
    ],
)
def test_grids_are_compared_image_by_image(
    tmp_path: Path, first: list[Shape], second: list[Shape | None], mixed: bool
) -> None:
    write_data(tmp_path / "data")
    with open_results(run_sized(tmp_path, first, second, resolution="grid")) as results:
        assert (GRIDS in results.leaderboard().attrs["warnings"]) == mixed


def test_on_a_raster_over_the_image_no_grid_matters(tmp_path: Path) -> None:
    write_data(tmp_path / "data")
    with open_results(run_sized(tmp_path, [(4, 4)] * 6, [(8, 8)] * 6, resolution=24)) as results:
        assert results.leaderboard().attrs["warnings"] == ()


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    """A transformer that sees whole images squashed or cropped, and a network with stages."""
    folder = tmp_path_factory.mktemp("fitted")
    write_data(folder / "data")
    models = [
        {"model": "demo/vit", "fit": "crop"},
        {"model": "demo/vit-dino", "fit": "squash"},
        {"model": "demo/cnn", "fit": "squash"},
    ]
    path = stores.run(
        folder, "fitted", data={"name": "folder", "path": str(folder / "data")}, models=models,
        methods=["rollout", "gradcam"], layers="all", resolution="grid", keep_maps="none",
    )  # fmt: skip
    with open_results(path) as results:
        yield results


def test_parts_of_the_image_that_differ_are_named(fitted: Results) -> None:
    board = fitted.leaderboard(method="rollout")
    assert set(board["model"]) == {"demo/vit", "demo/vit-dino"}
    assert board.attrs["warnings"] == (GRIDS,)
    compared = fitted.compare("demo/vit", "demo/vit-dino", method="rollout")
    assert compared.attrs["warnings"] == (GRIDS,)
    assert fitted.leaderboard(model="demo/vit").attrs["warnings"] == ()


def test_layers_of_one_network_on_different_grids_are_named(fitted: Results) -> None:
    by_layer = fitted.layer_progression(model="demo/cnn", method="gradcam")
    assert by_layer.attrs["warnings"] == (GRIDS,)
    assert fitted.layer_progression(model="demo/vit").attrs["warnings"] == ()
    assert fitted.leaderboard(model="demo/cnn", layer="last").attrs["warnings"] == ()


def test_percentiles_of_lines_on_different_grids_are_named(fitted: Results) -> None:
    assert fitted.percentile_sweep("iou").attrs["warnings"] == (GRIDS,)
    assert fitted.percentile_sweep("iou", model="demo/vit").attrs["warnings"] == ()


def test_scores_by_accuracy_of_models_on_different_grids_are_named(fitted: Results) -> None:
    images = [image for (image,) in fitted.query("SELECT image FROM images").to_numpy()]
    known = pd.DataFrame(
        [
            {"model": model, "image": image, "label": "a", "correct": place % 2 == 0,
             "probability": 0.5}
            for model in ("demo/vit", "demo/vit-dino")
            for place, image in enumerate(images)
        ]
    )  # fmt: skip
    for table in (correct_and_wrong, compute_accuracy_scatter, class_scatter):
        both = table(fitted, predictions=known)
        assert GRIDS in both.attrs["warnings"]
        alone = table(fitted, predictions=known[known["model"] == "demo/vit"])
        assert alone.attrs["warnings"] == ()


def test_tests_against_chance_of_maps_on_different_grids_are_named(tmp_path: Path) -> None:
    write_data(tmp_path / "data")
    store = run_sized(tmp_path, [(4, 4)] * 6, [(8, 8)] * 6, resolution="grid")
    with open_results(store) as results:
        assert against_chance(results, permutations=99).attrs["warnings"] == (GRIDS,)
        alone = against_chance(results, permutations=99, method="m0")
        assert alone.attrs["warnings"] == ()
        paired = against_chance(results, permutations=99, against="m0")
        assert paired.attrs["warnings"] == (GRIDS,)
