"""Maps of one layer against those of the next, as the agreement of two lines is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sightline.core import InputError
from sightline.results import open_results, open_scenes
from sightline.results._lines import make_lines
from sightline.results.agreement import map_agreement
from sightline.results.map_changes import layer_changes
from tests.results.statistics import check_rows as checked

if TYPE_CHECKING:
    from pathlib import Path


def test_it_is_the_agreement_of_two_layers(sparse: Path) -> None:
    with open_results(sparse) as results:
        scenes = open_scenes(results)
        seen: list[Any] = []
        found = layer_changes(
            scenes, model="demo/vit", most=6, progress=lambda *told: seen.append(told)
        )
        assert found["method"].tolist() == ["cls", "mean_map"]  # those that have layers
        assert found["layer"].tolist() == [3, 3]
        assert found["next"].tolist() == [11, 11]
        assert seen[-1] == (4, 4, "maps across layers")
        tables = results._tables
        where = tables.catalogue.where(model="demo/vit", method="cls")
        lines = make_lines(tables, tables.name(None), where, "all")
        lines = [line for line in lines if line.model == "demo/vit"]
        agreed = map_agreement(scenes, lines, most=6)
        line = checked.lines(found)[0]
        assert line.spearman == pytest.approx(agreed.matrix[0, 1])
        assert (line.low, line.high) == pytest.approx((agreed.low[0, 1], agreed.high[0, 1]))
        assert line.images == 6
        with pytest.raises(InputError, match="random: no maps of two layers"):
            layer_changes(scenes, method="random")
