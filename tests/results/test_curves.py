"""Mean curves against loops over the stored ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from sightline.core import InputError
from sightline.results import open_results
from tests.results.slow import select
from tests.results.stores import KINDS, edit_table, make_store

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.results import Results
    from tests.results.stores import Made


@pytest.mark.parametrize("kind", ["roc", "pr"])
@pytest.mark.parametrize(("method", "layer"), [("cls", 2), ("random", None)])
def test_curves_are_averaged_over_seeds_then_images(
    made: Made, results: Results, kind: str, method: str, layer: int | None
) -> None:
    frame = results.curves(kind, model="demo/vit", method=method, layer=layer)  # type: ignore[arg-type]
    assert frame["x"].tolist() == pytest.approx(np.linspace(0, 1, 101))
    rows = select(
        made.curves,
        curve=kind,
        model="demo/vit",
        variant="",
        method=method,
        layer=layer,
        head=None,
        check="",
    )
    for _, line in frame.iterrows():
        by_image: dict[str, list[float]] = {}
        for row in rows[rows["point"] == line["point"]].itertuples():
            by_image.setdefault(str(row.image), []).append(float(row.value))
        found = [[v for v in values if not math.isnan(v)] for values in by_image.values()]
        defined = [sum(values) / len(values) for values in found if values]
        assert line["value"] == pytest.approx(sum(defined) / len(defined))
        assert (line["n"], line["undefined"]) == (len(defined), len(found) - len(defined))


def test_a_study_without_curves(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[7:8])
    for path in made.score_files:
        edit_table(path, lambda rows: rows.assign(roc=None, pr=None))
    with open_results(made.path) as found:
        frame = found.curves("roc")
        assert len(frame) == 0
        assert "kept no curves" in frame.attrs["note"]
        assert found.query("SELECT count(roc) AS n FROM scores")["n"].tolist() == [0]


def test_other_kinds_are_refused(results: Results) -> None:
    with pytest.raises(InputError, match="kind must be one of roc, pr; got 'det'"):
        results.curves("det")  # type: ignore[arg-type]
