"""The best configuration against the best baseline of the run, against loops over the rows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.results import (
    BaselineComparison,
    format_baseline_comparison,
    open_results,
)
from tests.results.slow import halves, unit_scores
from tests.results.stores import KINDS, Kind, make_store

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.results import Results
    from tests.results.stores import Made

NAN = math.nan
PLAIN = BaselineComparison(
    "iou@90", "vit · cls · layer 9", 0.206, "", "centre", 0.225, "",
    -0.019, -0.031, -0.008, 0.002, 120,
)  # fmt: skip

SENTENCE = (
    "Best: vit · cls · layer 9 (0.206), worse than the best baseline, centre (0.225): "
    "difference −0.019 (95% CI −0.031 to −0.008, p = 0.002, n = 120)."
)


def compute_split_half(made: Made, metric: str, model: str, sign: int) -> dict[str, float]:
    """Return the score of each image by the layer of cls that is best on the other half."""
    half = halves(made)
    layers = {
        layer: {
            image: score[0]
            for (image,), score in unit_scores(
                made, metric, model=model, method="cls", layer=layer
            ).items()
        }
        for layer in range(4)
    }
    scores: dict[str, float] = {}
    for own in (0, 1):
        others = [image for image in half if half[image] != own]
        means = {
            layer: np.nanmean([values[image] for image in others])
            for layer, values in layers.items()
        }
        best = max(means, key=lambda layer: sign * means[layer])
        scores |= {image: layers[best][image] for image in half if half[image] == own}
    return scores


@pytest.mark.parametrize("metric", ["iou@90", "coverage", "kl"])
def test_the_difference_is_paired_by_image_with_layers_chosen_by_halves(
    made: Made, results: Results, metric: str
) -> None:
    sign = -1 if metric == "kl" else 1
    board = results.leaderboard(metric, method="cls")
    first = board.iloc[0]
    baselines = {
        "random": unit_scores(made, metric, model="demo/vit", method="random"),
        "center": unit_scores(made, metric, model="demo/cnn", method="center"),
    }
    values = {name: [score[0] for score in units.values()] for name, units in baselines.items()}
    base = max(values, key=lambda name: sign * np.nanmean(values[name]))
    own = compute_split_half(made, metric, first["model"], sign)
    theirs = {image: score[0] for (image,), score in baselines[base].items()}
    gaps = [own[image] - theirs[image] for image in own]

    found = results.compare_best(metric, method="cls")
    assert found is not None
    assert found.configuration == f"{first['model']} · cls · layer {first['layer']}"
    assert found.value == pytest.approx(first["value"])
    assert found.chosen == "best of 4 layers on the same images"
    assert (found.baseline, found.baseline_chosen) == (base, "")
    assert found.baseline_value == pytest.approx(np.nanmean(values[base]), rel=2e-6)
    assert found.difference == pytest.approx(np.nanmean(gaps), rel=1e-5)
    assert found.low <= found.difference <= found.high
    assert found.n == np.isfinite(gaps).sum()
    assert found.split
    assert board.attrs["best_baseline"] == found.to_dict()


def test_without_a_choice_it_is_the_comparison_of_the_two(made: Made, results: Results) -> None:
    found = results.compare_best("iou@90", model="demo/cnn")
    table = results.compare("gradcam", "center", "iou@90", by="method", model="demo/cnn")
    line = table.iloc[0]
    assert found is not None
    assert found.configuration == "demo/cnn · gradcam · predicted · layer 3"
    for name in ("difference", "low", "high", "p", "n"):
        assert getattr(found, name) == line[name]
    assert not found.split
    assert found.baseline == "demo/cnn · center"


@pytest.mark.parametrize("layer", ["best", "split", "last", "all", 2])
def test_every_rule_of_layers_is_compared(results: Results, layer: Any) -> None:
    board = results.leaderboard("iou@90", layer=layer)
    told = board.attrs["best_baseline"]
    assert told["split"] == (layer in ("best", "split", "all") and "cls" in told["configuration"])
    plain = board[board["group"] != "baseline"]
    assert told["value"] == pytest.approx(plain["value"].iloc[0])
    progression = results.layer_progression("iou@90").attrs["best_baseline"]
    if layer in ("best", "all"):
        assert progression == told


def test_filters_do_not_hide_the_baselines(results: Results) -> None:
    every = results.leaderboard("iou@90").attrs["best_baseline"]["baseline"]
    assert every in ("random", "center")
    filters: tuple[dict[str, Any], ...] = (
        {"method": "cls"},
        {"method": "cls", "head": 1},
        {"method": "cls", "head": "all"},
        {"method": "best"},
    )
    for words in filters:
        board = results.leaderboard("iou@90", **words)
        assert board.attrs["best_baseline"]["baseline"] == every, words
    own = results.compare_best("iou@90", model="demo/vit", method="cls")
    assert own is not None
    assert own.baseline == "demo/vit · random"  # the only one of this model
    # This model has no baselines of its own: those of the run stand in.
    other = results.compare_best("iou@90", model="demo/vit@seed2")
    assert other is not None
    assert other.baseline.split(" · ")[-1] in ("random", "center")


def test_a_baseline_that_differs_by_model_is_named_with_it(tmp_path: Path) -> None:
    centres = [Kind("demo/vit", variant, "center", "baseline") for variant in ("", "seed2")]
    made = make_store(tmp_path, kinds=(*KINDS[:2], *centres), seed=3)
    with open_results(made.path) as results:
        found = results.compare_best("iou@90")
    assert found is not None
    assert found.baseline in ("demo/vit · center", "demo/vit@seed2 · center")


def test_without_baselines_the_sentence_says_so(tmp_path: Path) -> None:
    with open_results(make_store(tmp_path, kinds=KINDS[:2]).path) as results:
        told = results.leaderboard("iou@90").attrs["best_baseline"]
    assert told["baseline"] == ""
    assert told["difference"] is None
    assert "; the run has no baseline to compare it with. 0." in told["sentence"]


def test_baselines_alone_are_no_best_configuration(results: Results) -> None:
    told = results.leaderboard("iou@90", method="random").attrs["best_baseline"]
    assert told["configuration"] == ""
    board = results.leaderboard("iou@90")
    best = board.loc[board["group"] == "baseline", "method"].iloc[0]
    said = f"Best: no method is scored here; the best baseline is {best} ("
    assert told["sentence"].startswith(said)


def test_no_value_is_better_so_nothing_is_best(tmp_path: Path) -> None:
    made = make_store(tmp_path, metrics=("entropy", "iou"), percentiles=(90,))
    with open_results(made.path) as results:
        assert results.compare_best("entropy") is None
        assert results.leaderboard("entropy").attrs["best_baseline"] is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, SENTENCE),
        ({"metric": "kl"}, ", better than the best baseline, centre"),
        ({"difference": 0.1}, ", better than the best baseline, centre"),
        ({"metric": "kl", "difference": 0.1}, ", worse than the best baseline, centre"),
        ({"p": 0.2}, ", not shown to differ from the best baseline, centre"),
        ({"p": NAN, "n": 3}, ", not tested against the best baseline, centre (0.225): diff"),
        ({"p": NAN, "n": 3}, "(95% CI −0.031 to −0.008, too few images for a p-value, n = 3)."),
        ({"p": NAN, "n": 1, "low": NAN, "high": NAN}, "(no interval, too few images"),
        ({"p": NAN, "n": 0}, "centre (0.225): no image has a score of both."),
        ({"split": True}, "n = 120, split-half selection)."),
        ({"p": 0.0001}, "p < 0.001"),
        ({"chosen": "best of 12 layers on the same images"},
         " 0.206 is the best of 12 layers on the same images, which is optimistic."),
        ({"chosen": "best of 12 layers on the same images",
          "baseline_chosen": "best of 12 layers on the same images"},
         " 0.206 and 0.225 are the best of 12 layers on the same images, which is optimistic."),
        ({"is_baseline": True}, "itself a baseline, worse than the best baseline"),
        ({"is_baseline": True, "configuration": "centre"}, "itself the best baseline."),
    ],
)  # fmt: skip
def test_the_sentence(changes: dict[str, Any], said: str) -> None:
    assert said in format_baseline_comparison(replace(PLAIN, **changes))


@pytest.mark.parametrize("metric", ["iou@90", "kl"])
@pytest.mark.parametrize(
    ("sides", "by"),
    [(("demo/vit", "demo/vit@seed2"), "model"), (("cls", "random"), "method"), ((1, 2), "layer")],
)
def test_a_comparison_says_where_the_best_baseline_is(
    results: Results, metric: str, sides: tuple[str | int, str | int], by: Any
) -> None:
    frame = results.compare(*sides, metric, by=by)
    told = frame.attrs["best_baseline"]
    assert frame.attrs["summary"][-1] == told["sentence"]
    assert told["sentence"].startswith("Better of the two: ")
    assert told["baseline"] in ("random", "center")
    sign = -1 if metric == "kl" else 1
    first = frame.attrs["summary"][0]
    line = frame.iloc[frame.attrs["sentences"].index(first)]
    better = "a" if sign * line["difference"] >= 0 else "b"
    side = f"layer {line[better]}" if by == "layer" else str(line[better])
    assert side in told["configuration"]
