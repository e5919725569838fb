"""Comparisons image by image against loops over the rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from sightline.records import InputError
from sightline.results import open_results
from tests.results.slow import halves, unit_scores
from tests.results.stores import KINDS, Kind, make_store

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.results import Results
    from tests.results.stores import Made


def slow(a: dict[Any, Any], b: dict[Any, Any], sign: int = 1) -> dict[str, float]:
    pairs = [(a[k][0], b[k][0]) for k in a if k in b]
    both = [(x, y) for x, y in pairs if not math.isnan(x) and not math.isnan(y)]
    count = len(both)
    return {
        "n": count,
        "value_a": sum(x for x, _ in both) / count,
        "value_b": sum(y for _, y in both) / count,
        "difference": sum(x - y for x, y in both) / count,
        "better": sum(sign * (x - y) > 1e-9 for x, y in both) / count,
        "equal": sum(abs(x - y) <= 1e-9 for x, y in both) / count,
        "worse": sum(sign * (x - y) < -1e-9 for x, y in both) / count,
    }


def check(line: Any, expected: dict[str, float]) -> None:
    for what, value in expected.items():
        assert line[what] == pytest.approx(value), what


@pytest.mark.parametrize("metric", ["coverage", "iou@90", "kl"])
def test_two_models_are_paired_by_image(made: Made, results: Results, metric: str) -> None:
    frame = results.compare("demo/vit", "demo/vit@seed2", metric, layer=2)
    assert len(frame) == 1
    a, b = (
        unit_scores(made, metric, model=model, method="cls", layer=2)
        for model in ("demo/vit", "demo/vit@seed2")
    )
    check(frame.iloc[0], slow(a, b, -1 if metric == "kl" else 1))
    assert frame["method"].tolist() == ["cls"]


def test_each_side_at_its_own_best_layer(made: Made, results: Results) -> None:
    frame = results.compare("demo/vit", "demo/vit@seed2")
    board = results.leaderboard(method="cls").set_index("model")
    assert frame["layer_a"][0] == board.loc["demo/vit", "layer"]
    assert frame["layer_b"][0] == board.loc["demo/vit@seed2", "layer"]
    assert "best of 4 layers on the same images" in frame.attrs["note"]
    a, b = (
        unit_scores(made, "iou@90", model=model, method="cls", layer=board.loc[model, "layer"])
        for model in ("demo/vit", "demo/vit@seed2")
    )
    check(frame.iloc[0], slow(a, b))


def test_layers_chosen_by_halves(made: Made, results: Results) -> None:
    half = halves(made)
    frame = results.compare("demo/vit", "demo/vit@seed2", layer="split")
    sides = []
    for model, shown in (
        ("demo/vit", frame["layer_a"][0]),
        ("demo/vit@seed2", frame["layer_b"][0]),
    ):
        layers = [int(layer) for layer in str(shown).split("|")] * 2
        units = [
            unit_scores(made, "iou@90", model=model, method="cls", layer=layer) for layer in layers
        ]
        sides.append({(image,): units[half[image]][image,] for image in half})
    check(frame.iloc[0], slow(sides[0], sides[1]))


def test_two_methods_share_a_model_and_a_target_where_both_have_one(
    made: Made, results: Results
) -> None:
    frame = results.compare("gradcam", "random", "iou@90", by="method", model="demo/vit")
    assert sorted(frame["target"]) == ["label", "predicted"]
    for _, line in frame.iterrows():
        a = unit_scores(
            made, "iou@90", model="demo/vit", method="gradcam", target=line["target"], layer=3
        )
        b = unit_scores(made, "iou@90", model="demo/vit", method="random")
        check(line, slow(a, b))
        assert (line["a"], line["b"], line["model"]) == ("gradcam", "random", "demo/vit")


def test_images_on_one_side_only_are_counted(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[:2], skip=(3,))
    frame = open_results(made.path).compare("demo/vit", "demo/vit@seed2", layer=0)
    assert frame[["n", "only_a", "only_b"]].iloc[0].tolist() == [3, 4, 0]
    back = open_results(made.path).compare("demo/vit@seed2", "demo/vit", layer=0)
    assert back[["n", "only_a", "only_b"]].iloc[0].tolist() == [3, 0, 4]
    assert back["difference"][0] == pytest.approx(-frame["difference"][0])


def test_what_cannot_be_compared_is_refused(results: Results) -> None:
    with pytest.raises(InputError, match="nothing to compare: no method is stored for both"):
        results.compare("demo/vit@seed2", "demo/cnn")
    with pytest.raises(InputError, match="by must be 'model' or 'method'; got 'layer'"):
        results.compare("a", "b", by="layer")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="model is what is compared"):
        results.compare("demo/vit", "demo/cnn", model="demo/vit")
    with pytest.raises(InputError, match="got 'all'"):
        results.compare("demo/vit", "demo/cnn", layer="all")  # type: ignore[arg-type]


def test_different_targets_are_not_compared(tmp_path: Path) -> None:
    kinds = tuple(
        Kind("m", "", method, "cam", target=target)
        for method in ("gradcam", "layercam")
        for target in ("label", "predicted")
    )
    with open_results(make_store(tmp_path / "s", kinds=kinds).path) as found:
        frame = found.compare("gradcam", "layercam", by="method")
    assert frame["target"].tolist() == ["label", "predicted"]


@pytest.mark.parametrize(
    "words", [{"target": "label"}, {"seed": 1}, {"target": "predicted", "seed": 0}]
)
def test_one_target_or_seed(made: Made, results: Results, words: dict[str, Any]) -> None:
    frame = results.compare("gradcam", "random", "iou@90", by="method", model="demo/vit", **words)
    seed = {key: value for key, value in words.items() if key == "seed"}
    targets = [words["target"]] if "target" in words else ["label", "predicted"]
    assert frame["target"].tolist() == targets
    for _, line in frame.iterrows():
        a = unit_scores(
            made, "iou@90", model="demo/vit", method="gradcam", target=line["target"], layer=3
        )
        b = unit_scores(made, "iou@90", model="demo/vit", method="random", **seed)
        check(line, slow(a, b))


def test_one_head(tmp_path: Path) -> None:
    kinds = tuple(Kind("m", v, "cls", "attention", (0, 1), (None, 0, 1)) for v in ("a", "b"))
    made = make_store(tmp_path / "s", kinds=kinds)
    frame = open_results(made.path).compare("m@a", "m@b", "coverage", layer=1, head=1)
    a, b = (
        unit_scores(made, "coverage", model=model, method="cls", layer=1, head=1)
        for model in ("m@a", "m@b")
    )
    check(frame.iloc[0], slow(a, b))


def test_what_has_no_counterpart_is_named(results: Results) -> None:
    note = results.compare("demo/vit", "demo/cnn").attrs["note"]
    left = "stored for one of the two only, and left out: "
    names = "demo/vit · cls · layer {}, demo/vit · gradcam · label · layer 3, demo/vit · random, "
    layer = results.leaderboard(model="demo/vit", method="cls")["layer"][0]
    assert f"{left}{names.format(layer)}demo/cnn · center" in note
    assert left not in results.compare("demo/vit", "demo/vit@seed2", method="cls").attrs["note"]
