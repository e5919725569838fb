"""Tables of tests and of missing labels say where maps were scored on different grids."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sightline.results import Results, against_chance, open_results, sparsity_report
from sightline.results.leaderboard import GRIDS
from tests.results.statistics import stores

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    """A transformer and a network with stages, each scored on its own grid."""
    store = stores.run_facades(
        tmp_path_factory.mktemp("mixed"), "mixed", "representative", 6,
        models=["demo/vit", "demo/cnn"], methods=["gradcam", "centre"], layers=-1, seeds=[0],
        resolution="grid",
    )  # fmt: skip
    with open_results(store) as results:
        yield results


@pytest.mark.parametrize("options", [{}, {"against": "centre"}])
def test_tests_warn(mixed: Results, options: dict[str, Any]) -> None:
    table = against_chance(mixed, permutations=99, **options)
    assert table.attrs["warnings"] == (GRIDS,)
    assert table.attrs["note"].endswith(GRIDS)
    alone = against_chance(mixed, model="demo/vit", permutations=99, **options)
    assert alone.attrs["warnings"] == ()


def test_the_sparsity_report_warns(mixed: Results) -> None:
    assert sparsity_report(mixed, draws=10).warnings == (GRIDS,)
    assert sparsity_report(mixed, model="demo/vit", draws=10).warnings == ()
