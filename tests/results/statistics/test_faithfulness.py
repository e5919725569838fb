"""Tables of faithfulness: paired by image, and right about what speaks for a map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.attribution.sanity.table import MEASURES
from sightline.core import InputError, UnknownNameError
from sightline.results import open_results
from sightline.results.faithfulness import (
    BETTER,
    background_of,
    background_test,
    curves_of,
    faithfulness_of,
    parts_of,
)
from sightline.stats import interval, sign_flip
from tests.results.statistics import check_rows as checked

if TYPE_CHECKING:
    from pathlib import Path

RANDOM = {"method": "random", "group": "baseline", "target": ""}
NAN = float("nan")


def test_every_measure_says_what_speaks_for_a_map() -> None:
    assert tuple(BETTER) == MEASURES


def test_values_are_compared_with_the_random_map_image_by_image() -> None:
    ours, theirs = [0.1, 0.3, 0.2, NAN, 0.4, 0.2, 0.3], [0.5, 0.6, NAN, 0.4, 0.5, 0.5, 0.4]
    found = faithfulness_of(
        checked.frame(
            checked.measured([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], "infidelity"),
            checked.measured(ours, "deletion"),
            checked.measured(theirs, "deletion", **RANDOM),
            checked.measured([0.9] * 7, "deletion_curve", point=0.1),
        )
    )
    assert found["measure"].tolist() == ["deletion", "deletion", "infidelity"]
    line, random, alone = checked.lines(found)
    assert line.value == pytest.approx(0.25)
    assert (line.images, line.better) == (6, "lower")
    assert line.random == pytest.approx((0.5 + 0.6 + 0.5 + 0.5 + 0.4) / 5)  # on images of both
    gaps = interval([-0.4, -0.3, -0.1, -0.3, -0.1])
    assert (line.difference, line.difference_low, line.difference_high) == pytest.approx(
        (gaps.value, gaps.low, gaps.high)
    )
    span = interval(ours)
    ends = max(span.low, 0), min(span.high, 1)
    assert (line.low, line.high) == pytest.approx(ends)
    assert random.group == "baseline"
    assert np.isnan([random.difference, alone.difference, alone.random]).all()


def test_curves_of_what_is_no_class_have_no_limits() -> None:
    """The length of an embedding is no share: its interval holds its mean."""
    values = [7.0, 8.0, 9.5, 8.5, 8.0]
    rows = checked.frame(
        checked.measured(values, "deletion", target="embedding"),
        checked.measured(values, "deletion_curve", target="embedding", point=0.5),
        checked.measured([0.99, 1.0, 1.0, 0.9, 1.0], "deletion"),
    )
    (line, share), (point,) = (
        checked.lines(found) for found in (faithfulness_of(rows), curves_of(rows, "deletion"))
    )
    span = interval(values)
    for one in (line, point):
        assert (one.low, one.high) == pytest.approx((span.low, span.high))
    assert share.high == 1


def test_what_a_random_map_has_whatever_the_model_is_compared_with_nothing() -> None:
    """It never changes, and is the same for every class: that is no merit and no fault."""
    found = faithfulness_of(
        checked.frame(
            checked.measured([0.2, 0.3, 0.4], "max_sensitivity"),
            checked.measured([0.0, 0.0, 0.0], "max_sensitivity", **RANDOM),
            checked.measured([0.5, 0.3, 0.4], "random_logit"),
            checked.measured([1.0, 1.0, 1.0], "random_logit", **RANDOM),
        )
    )
    assert found["random"].tolist() == [0, 0, 1, 1]
    assert found[["difference", "difference_low", "difference_high"]].isna().all(axis=None)


def test_a_random_map_of_another_class_or_model_is_not_beside() -> None:
    found = faithfulness_of(
        checked.frame(
            checked.measured([0.1, 0.2], "deletion", target="label"),
            checked.measured([0.1, 0.2], "deletion", model="other"),
            checked.measured([0.5, 0.6], "deletion", **RANDOM),
            checked.measured([0.7, 0.8], "deletion", **{**RANDOM, "target": "label"}),
        )
    )
    assert found["random"].tolist()[0] == pytest.approx(0.75)
    assert np.isnan(found["random"].tolist()[1])


def test_curves_run_from_the_first_share_to_the_last() -> None:
    points = {1.0: [0.0, 0.2], 0.0: [1.0, 0.8], 0.5: [0.5, NAN]}
    rows = checked.frame(
        *(checked.measured(v, "insertion_curve", point=p) for p, v in points.items()),
        checked.measured([0.3, 0.1], "insertion_curve", point=0.0, **RANDOM),
    )
    found = curves_of(rows, "insertion")
    assert found["share"].tolist() == [0.0, 0.5, 1.0, 0.0]
    np.testing.assert_allclose(found["value"], [0.9, 0.5, 0.1, 0.2])
    assert found["images"].tolist() == [2, 1, 2, 2]
    assert found.attrs["better"] == "higher"
    with pytest.raises(InputError, match="'deletion'"):
        curves_of(rows, "deletion")
    with pytest.raises(UnknownNameError, match="known: deletion"):
        curves_of(rows, "infidelity")


def test_parts_stand_beside_what_chance_gives() -> None:
    rows = checked.frame(
        checked.measured([1.0, 0.5, 0.75, NAN, 0.75, 0.75], "parts_precision", "parts", layer=11),
        checked.measured([0.5, 0.5, *[NAN] * 4], "parts_recall", "parts", layer=11),
        checked.measured([0.2, 0.4, 0.3, 0.9, 0.3, 0.3], "parts_base", "parts", layer=11),
        checked.measured([0.1, 0.2, 0.3, 0.4, 0.25, 0.25], "parts_background", "parts", layer=11),
        checked.measured([0.1, 0.2, 0.3], "parts_ap", "parts", **RANDOM),
    )
    ours, random = checked.lines(parts_of(rows))
    assert (ours.precision, ours.recall, ours.base) == pytest.approx((0.75, 0.5, 0.3))
    assert ours.background == pytest.approx(0.25)
    assert 0 <= ours.precision_low < 0.75 < ours.precision_high <= 1
    assert (ours.layer, ours.images, random.images) == (11, 5, 3)
    assert np.isnan([ours.recall_low, ours.recall_high]).all()  # two images
    assert np.isnan([ours.ap, random.precision]).all()
    with pytest.raises(InputError, match="'faithfulness' are stored"):
        faithfulness_of(rows)


def test_the_background_of_drawings_is_compared_image_by_image() -> None:
    ours, theirs = np.linspace(0.3, 0.6, 8), np.linspace(0.2, 0.3, 8)
    theirs[7] = NAN
    found = background_of(
        checked.frame(
            checked.measured(ours, "parts_background", "parts", layer=3),
            checked.measured(theirs, "parts_background", "parts", model="n", layer=5),
            checked.measured(ours, "parts_background", "parts", **RANDOM),
            checked.measured(ours, "parts_background", "parts", **{**RANDOM, "model": "n"}),
            checked.measured(ours, "parts_background", "parts", method="cls"),
            checked.measured([NAN] * 8, "parts_background", "parts", method="mean"),
            checked.measured(ours, "parts_background", "parts", method="mean", model="n"),
        ),
        "m",
        "n",
    )
    line, random, nothing = checked.lines(found)  # "cls" is stored for one model alone
    gaps = (ours - theirs)[:7]
    assert (line.share_one, line.share_other) == pytest.approx((ours[:7].mean(), theirs[:7].mean()))
    assert line.difference == pytest.approx(gaps.mean())
    assert line.low < line.difference < line.high
    assert line.p == line.p_holm == pytest.approx(2 / 2**7)
    assert (line.layer_one, line.layer_other, line.images) == (3, 5, 7)
    assert (random.difference, random.p) == (0, 1)
    assert np.isnan([nothing.difference, nothing.p, nothing.p_holm]).all()
    assert nothing.images == 0


def test_the_background_of_several_layers_is_compared_layer_by_layer() -> None:
    shares = {("m", 3): 0.1, ("m", 5): 0.2, ("n", 5): 0.6, ("n", 3): 0.4, ("o", 1): 0.3}

    def found(one: str, other: str) -> list[Any]:
        rows = [
            checked.measured([share] * 4, "parts_background", "parts", model=model, layer=layer)
            for (model, layer), share in shares.items()
        ]
        return checked.lines(background_of(checked.frame(*rows), one, other))

    told = [(line.layer_one, line.layer_other, line.difference) for line in found("m", "n")]
    assert told == [(3, 3, pytest.approx(-0.3)), (5, 5, pytest.approx(-0.4))]
    (line,) = found("m", "o")  # of other layers: the last of each
    assert (line.layer_one, line.layer_other, line.share_one) == (5, 1, pytest.approx(0.2))


def test_the_background_is_what_coverage_leaves(sparse: Path) -> None:
    with open_results(sparse) as results:
        found = background_test(results, "demo/vit", "demo/vit@seed2", method="cls", layer=3)
        (line,) = checked.lines(found)
        coverage = results.query(
            "SELECT image, variant, value FROM scores_long WHERE name = 'coverage' "
            "AND method = 'cls' AND layer = 3 AND region IS NULL ORDER BY image"
        ).pivot(index="image", columns="variant", values="value")
    gaps = (coverage["seed2"] - coverage[""]).to_numpy()
    assert line.share_one == pytest.approx(1 - coverage[""].mean())
    assert line.difference == pytest.approx(line.share_one - line.share_other)
    assert line.difference == pytest.approx(gaps.mean())
    span = interval(gaps)
    assert (line.low, line.high) == pytest.approx((span.low, span.high), abs=0.01)
    assert line.low < line.difference < line.high
    assert line.p == pytest.approx(sign_flip(gaps), abs=0.02)
    assert found.attrs["source"] == "coverage"
