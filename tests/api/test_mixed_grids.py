"""Answers that compare maps which were scored on different grids say so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from fastapi.testclient import TestClient

from sightline.api import create_app
from sightline.results.leaderboard import GRIDS
from tests.api.asking import get
from tests.results.statistics import stores

if TYPE_CHECKING:
    from collections.abc import Iterator

IMAGE = "facade-00000.png"
PAIR: dict[str, Any] = {"a": "demo/vit", "b": "demo/cnn"}
BOTH = ["leaderboard", "layers", "percentiles", "ranking", f"metrics/{IMAGE}/models", "sparsity"]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A transformer and a network with stages, each scored on its own grids."""
    store = stores.run_facades(
        tmp_path_factory.mktemp("mixed"), "mixed", "representative", 4,
        models=["demo/vit", "demo/cnn"], methods=["gradcam", "centre"], layers="all", seeds=[0],
        resolution="grid",
    )  # fmt: skip
    with TestClient(create_app(store), base_url="http://127.0.0.1") as found:
        yield found


@pytest.mark.parametrize(
    ("path", "words"),
    [
        *((path, {}) for path in BOTH),
        ("compare", PAIR),
        ("checks/background", {"one": "demo/vit", "other": "demo/cnn"}),
        ("layers", {"model": "demo/cnn", "method": "gradcam"}),
        (f"metrics/{IMAGE}/layers", {"model": "demo/cnn", "method": "gradcam"}),
    ],
)
def test_what_compares_maps_of_different_grids_warns(
    mixed: TestClient, path: str, words: dict[str, Any]
) -> None:
    found = get(mixed, path, **words)
    assert found["warnings"] == [GRIDS]
    assert GRIDS not in found["note"]  # it is said once


@pytest.mark.parametrize(
    ("path", "words"),
    [
        *((path, {"model": "demo/vit"}) for path in BOTH),
        ("compare", {"by": "layer", "a": "0", "b": "1", "model": "demo/vit"}),
        ("breakdown/labels", {}),
        (f"metrics/{IMAGE}/layers", {"model": "demo/vit", "method": "gradcam"}),
    ],
)
def test_what_compares_maps_of_one_grid_does_not_warn(
    mixed: TestClient, path: str, words: dict[str, Any]
) -> None:
    assert get(mixed, path, **words)["warnings"] == []


@pytest.mark.parametrize(
    "path",
    ["leaderboard", "layers", "percentiles", "ranking", "breakdown/labels", "breakdown/styles",
     "heads", "heads/matrix", "checks/correctness"],
)  # fmt: skip
def test_on_one_raster_for_all_nothing_warns(client: TestClient, path: str) -> None:
    assert get(client, path)["warnings"] == []
