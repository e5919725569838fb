"""Tables of heads against loops over the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sightline.core import InputError, UnknownNameError
from sightline.results import open_results
from tests.results.slow import check_figures, means, unit_scores
from tests.results.stores import Kind, make_store

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.results import Results
    from tests.results.stores import Made


@pytest.mark.parametrize("layer", [None, 1])
def test_heads_are_ranked_by_their_means(made: Made, results: Results, layer: int | None) -> None:
    frame = results.head_ranking("coverage", model="demo/vit", method="cls", layer=layer)
    layers = range(4) if layer is None else [layer]
    assert sorted(zip(frame["layer"], frame["head"], strict=True)) == [
        (number, head) for number in layers for head in (0, 1)
    ]
    for _, line in frame.iterrows():
        units = unit_scores(
            made,
            "coverage",
            model="demo/vit",
            method="cls",
            layer=line["layer"],
            head=line["head"],
        )
        check_figures(line, means(units))
    assert frame["value"].is_monotonic_decreasing
    assert frame["rank"].tolist() == list(range(1, len(frame) + 1))


def test_equal_heads_share_a_rank(tmp_path: Path) -> None:
    kind = Kind("m", "", "cls", "attention", (0,), (0, 1, 2))
    made = make_store(tmp_path / "s", kinds=(kind,), metrics=("pointing",))
    with open_results(made.path) as found:
        frame = found.head_ranking(model="m", method="cls")
    ranks = frame["value"].round(12).rank(ascending=False, method="average")
    assert frame["rank"].tolist() == ranks.tolist()


def test_heads_by_labels(made: Made, results: Results) -> None:
    frame = results.head_feature_matrix("recall@50", model="demo/vit", method="cls")
    assert frame.index.names == ["layer", "head"]
    assert len(frame) == 8
    labels = {(r["image"], r["region"]): r["label"] for r in made.regions.to_dict("records")}
    for layer, head in frame.index:
        units = unit_scores(
            made,
            "recall@50",
            by=("image", "region"),
            model="demo/vit",
            method="cls",
            layer=layer,
            head=head,
        )
        for label in frame.columns:
            mine = means([unit for key, unit in units.items() if labels[key] == label])
            assert frame.loc[(layer, head), label] == pytest.approx(mine["value"])
            assert frame.attrs["n"][label] == mine["n"]
    one = results.head_feature_matrix(model="demo/vit", method="cls", layer=3)
    assert one.index.tolist() == [(3, 0), (3, 1)]


def test_what_has_no_heads_or_regions_is_refused(results: Results) -> None:
    with pytest.raises(UnknownNameError, match="metric of regions 'average_precision'"):
        results.head_feature_matrix("average_precision", model="demo/vit", method="cls")
    for ask in (results.head_ranking, results.head_feature_matrix):
        frame = ask("iou@90", model="demo/vit@seed2", method="cls")
        assert len(frame) == 0
        assert "no single heads" in frame.attrs["note"]


def test_several_models_or_targets_are_not_mixed(tmp_path: Path) -> None:
    kinds = (
        Kind("m", "a", "cls", "attention", (0,), (0, 1)),
        Kind("m", "b", "cls", "attention", (0,), (0, 1)),
        Kind("n", "", "grad", "attention", (0,), (0, 1), target="label"),
        Kind("n", "", "grad", "attention", (0,), (0, 1), target="predicted"),
    )
    with open_results(make_store(tmp_path / "s", kinds=kinds).path) as found:
        with pytest.raises(InputError, match="model must be one model; got m@a, m@b"):
            found.head_ranking(model="m", method="cls")
        with pytest.raises(InputError, match="target must be given: maps of label, predicted"):
            found.head_ranking(model="n", method="grad")
        with pytest.raises(InputError, match="target must be given"):
            found.head_feature_matrix(model="n", method="grad")
        assert len(found.head_ranking(model="n", method="grad", target="label")) == 2
