"""Comparisons image by image against loops over the rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from sightline.core import InputError
from sightline.results import open_results
from sightline.results._wording import sentences, summary
from sightline.stats.paired_tests import compare_family, compare_paired
from tests.results.slow import halves, means, unit_scores
from tests.results.stores import KINDS, Kind, edit_table, make_store

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


@pytest.mark.parametrize("metric", ["iou@90", "recall@50", "kl"])
def test_chance_and_ceiling_stand_beside_both_sides(
    made: Made, results: Results, metric: str
) -> None:
    (line,) = results.compare("demo/vit", "demo/vit@seed2", metric, layer=2).to_dict("records")
    for side, model in (("a", "demo/vit"), ("b", "demo/vit@seed2")):
        expected = means(unit_scores(made, metric, model=model, method="cls", layer=2))
        for what in ("chance", "ceiling"):
            assert line[f"{what}_{side}"] == pytest.approx(expected[what], rel=2e-6, nan_ok=True)


def test_recall_is_to_be_read_beside_other_scores(results: Results) -> None:
    frame = results.compare("demo/vit", "demo/vit@seed2", "recall@90", layer=2)
    assert "read it beside iou or coverage only" in frame.attrs["note"]
    frame = results.compare("demo/vit", "demo/vit@seed2", "coverage", layer=2)
    assert "beside iou" not in frame.attrs["note"]


def test_maps_without_layers_have_none_beside_layers_chosen_by_halves(tmp_path: Path) -> None:
    cls = tuple(Kind("m", v, "cls", "attention", (0, 1, 2, 3)) for v in ("a", "b"))
    plain = tuple(Kind("m", v, "saliency", "gradient") for v in ("a", "b"))
    made = make_store(tmp_path / "s", kinds=cls + plain, seed=1)
    frame = open_results(made.path).compare("m@a", "m@b", layer="split").set_index("method")
    layers = [frame["layer_a"].to_dict(), frame["layer_b"].to_dict()]
    assert any("|" in str(column["cls"]) for column in layers)
    assert all(column["saliency"] in ("", pd.NA) for column in layers)


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
    with pytest.raises(InputError, match="by must be 'model', 'method' or 'layer'; got 'head'"):
        results.compare("a", "b", by="head")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="must be numbers of layers where by is 'layer'; got '0'"):
        results.compare("0", 1, by="layer")
    with pytest.raises(InputError, match="layer is what is compared"):
        results.compare(0, 1, by="layer", layer=2)
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


# --- tests ---------------------------------------------------------------------------------------

MANY = tuple(
    Kind("m", variant, method, "attention", (0, 1))
    for variant in ("a", "b")
    for method in ("cls", "mean", "rollout")
)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make_store(tmp_path_factory.mktemp("many") / "s", count=24, kinds=MANY)


def sides(made: Made, metric: str, method: str, layers: tuple[int, int]) -> list[Any]:
    """Return the scores of two models in the order of the images."""
    found = [
        unit_scores(made, metric, model=model, method=method, layer=layer)
        for model, layer in zip(("m@a", "m@b"), layers, strict=True)
    ]
    return [[one[key][0] for key in sorted(one)] for one in found]


@pytest.mark.parametrize("metric", ["iou@90", "coverage", "kl", "pointing"])
def test_tests_are_those_of_pairs_and_of_their_family(many: Made, metric: str) -> None:
    with open_results(many.path) as found:
        frame = found.compare("m@a", "m@b", metric, layer=1)
    assert frame["method"].tolist() == ["cls", "mean", "rollout"]
    gaps = []
    for _, line in frame.iterrows():
        a, b = sides(many, metric, line["method"], (1, 1))
        pair = compare_paired(a, b)
        for what in ("n", "difference", "low", "high", "p_wilcoxon", "dz", "rank_biserial"):
            assert line[what] == pytest.approx(getattr(pair, what)), what
        gaps.append(np.subtract(a, b))
    family = compare_family(np.stack(gaps, axis=1))
    for column, values in {
        "p": family.p,
        "p_holm": family.holm,
        "p_bh": family.bh,
        "p_max_t": family.max_t,
    }.items():
        assert frame[column].to_numpy() == pytest.approx(values), column
    note = frame.attrs["note"]
    assert "exchangeable on every image" in note
    assert "corrected for the 3 comparisons of this table" in note


def test_two_layers(many: Made) -> None:
    with open_results(many.path) as found:
        frame = found.compare(0, 1, "coverage", by="layer", method="mean")
        every = found.compare(0, 1, "coverage", by="layer")
    assert frame[["a", "b", "model", "method"]].to_numpy().tolist() == [
        ["0", "1", "m@a", "mean"],
        ["0", "1", "m@b", "mean"],
    ]
    assert frame[["layer_a", "layer_b"]].to_numpy().tolist() == [[0, 1]] * 2
    for _, line in frame.iterrows():
        a, b = (
            unit_scores(many, "coverage", model=line["model"], method="mean", layer=layer)
            for layer in (0, 1)
        )
        check(line, slow(a, b))
    assert len(every) == 6
    assert "layer 0 " in frame.attrs["sentences"][0].lower()


def test_maps_without_layers_are_no_comparison_of_layers(results: Results) -> None:
    frame = results.compare(0, 3, by="layer")
    assert frame[["model", "method"]].to_numpy().tolist() == [
        ["demo/vit", "cls"],
        ["demo/vit@seed2", "cls"],
    ]
    assert "random" not in frame.attrs["note"]
    assert "demo/vit · gradcam · label · layer 3" in frame.attrs["note"]
    with pytest.raises(InputError, match="no model with layers is stored for both"):
        results.compare(0, 3, by="layer", method="random")


def test_what_is_the_same_on_every_image_is_not_counted(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", count=12, kinds=MANY)
    for path in made.score_files:
        rows = pd.read_parquet(path)
        if set(rows["method"]) == {"mean"}:
            edit_table(path, lambda rows: rows.assign(**{"iou@90": 0.25}))
    with open_results(made.path) as found:
        frame = found.compare("m@a", "m@b", layer=1).set_index("method")
        two = compare_family(
            np.stack(
                [np.subtract(*sides(made, "iou@90", m, (1, 1))) for m in ("cls", "rollout")], axis=1
            )
        )
    same: Any = frame.loc["mean"]
    assert same[["difference", "low", "high", "equal"]].tolist() == [0, 0, 0, 1]
    assert same[["p", "p_holm", "p_bh", "p_max_t", "p_wilcoxon"]].tolist() == [1] * 5
    assert frame.loc[["cls", "rollout"], "p_holm"].tolist() == pytest.approx(two.holm)
    assert "for the 2 comparisons" in frame.attrs["note"]
    assert frame.attrs["summary"][-2] == "The same on every image, and not counted: mean."
    assert "score the same on iou@90 with mean on each of 12 images." in frame.attrs["sentences"][1]


def test_few_images_have_no_p_values(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", count=4, kinds=MANY)
    frame = open_results(made.path).compare("m@a", "m@b", layer=1)
    assert frame[["p", "p_holm", "p_bh", "p_max_t", "p_wilcoxon"]].isna().all(axis=None)
    assert frame[["low", "high"]].isna().all(axis=None)
    assert "no interval below 5 images" in frame.attrs["note"]
    assert all("over 3 images: too few for a test, which needs 6" in one
               for one in frame.attrs["sentences"])  # fmt: skip


def test_no_bit_of_a_comparison_changes(many: Made) -> None:
    found = []
    for _ in range(2):
        with open_results(many.path) as opened:
            found.append(opened.compare("m@a", "m@b"))
    assert found[0].equals(found[1])
    assert found[0].attrs == found[1].attrs


# --- sentences -----------------------------------------------------------------------------------


def said(by: str = "model", metric: str = "iou@90", **changes: Any) -> str:
    """Return the sentence of a line with these figures."""
    line: dict[str, Any] = {"a": "m@a", "b": "m@b", "model": "", "method": "cls", "target": ""}
    line |= {"layer_a": 3, "layer_b": 4, "n": 120, "value_a": 0.3, "value_b": 0.2}
    line |= {"difference": 0.1, "chosen_a": "", "chosen_b": ""}
    line |= {"low": 0.05, "high": 0.15, "p": 0.0002, "p_holm": 0.0002, "equal": 0.0}
    frame = pd.DataFrame([line | changes])
    frame.attrs |= {"metric": metric, "by": by}
    (sentence,) = sentences(frame)
    return sentence


FIGURES = "95% interval {} to {}, 120 images, p = {} by sign-flip test"


def test_a_difference_that_is_shown() -> None:
    figures = FIGURES.format("0.050", "0.150", "0.0002")
    assert said() == (
        "m@a (layer 3) scores 0.100 higher than m@b (layer 4) on iou@90 with cls "
        f"({figures}): more than chance explains."
    )


def test_the_better_side_comes_first() -> None:
    figures = FIGURES.format("0.050", "0.150", "0.0002")
    assert said(difference=-0.1, low=-0.15, high=-0.05, layer_a=pd.NA).startswith(
        f"m@b (layer 4) scores 0.100 higher than m@a on iou@90 with cls ({figures})"
    )
    assert said(metric="kl", difference=-0.1, low=-0.15, high=-0.05).startswith(
        f"m@a (layer 3) scores 0.100 lower (better) than m@b (layer 4) on kl with cls ({figures})"
    )
    assert said(metric="kl").startswith("m@b (layer 4) scores 0.100 lower (better) than m@a")
    assert said(metric="entropy", difference=-0.1).startswith("m@b (layer 4) scores 0.100 higher")


def test_no_difference_is_not_equality() -> None:
    figures = FIGURES.format("-0.010", "0.020", "0.64")
    assert said(difference=0.00042, low=-0.01, high=0.02, p=0.64, p_holm=0.64) == (
        "No difference could be shown between m@a (layer 3) and m@b (layer 4) on iou@90 with cls: "
        f"the first scores 0.00042 higher ({figures}). That does not make them equal: any "
        "difference within the interval fits these images."
    )


def test_other_words_for_methods_layers_and_targets() -> None:
    by: dict[str, Any]
    by = {"a": "cls", "b": "mean", "model": "m", "method": "", "layer_a": pd.NA, "layer_b": pd.NA}
    assert said("method", **by).startswith("cls scores 0.100 higher than mean on iou@90 with m (")
    by = {"a": "3", "b": "11", "model": "m", "method": "cam", "target": "label"}
    assert said("layer", **by).startswith(
        "Layer 3 scores 0.100 higher than layer 11 on iou@90 with m cam for target label ("
    )
    assert said("layer", **by).endswith(
        "If the layers were picked by looking at these same images, p does not allow for that."
    )


def test_layers_chosen_on_the_same_images_are_named() -> None:
    best = "best of 12 layers on the same images"
    end = "p does not allow for that, a choice by halves (split) does."
    both = said(chosen_a=best, chosen_b=best)
    assert both.endswith(
        f"Both layers were chosen as best on these same images, which flatters both sides; {end}"
    )
    one = said(chosen_b=best)
    assert one.endswith(
        f"The layer of m@b was chosen as best on these same images, which flatters it; {end}"
    )
    assert end not in said(chosen_a="split-half of 12 layers")


def test_nothing_in_common_and_nothing_different() -> None:
    nan = float("nan")
    assert said(n=0, difference=nan, p=nan, equal=nan) == (
        "m@a (layer 3) and m@b (layer 4) cannot be compared on iou@90 with cls: "
        "no image has a score of both."
    )
    assert said(n=1, difference=0.0, p=nan, equal=1.0).endswith("with cls on each of 1 image.")


def family(p: list[float], p_holm: list[float], **changes: list[Any]) -> pd.DataFrame:
    count = len(p)
    columns: dict[str, Any] = {"a": ["m@a"] * count, "b": "m@b", "model": "", "target": ""}
    columns |= {"method": list("xyz")[:count], "layer_a": 3, "layer_b": 4, "n": 120}
    columns |= {"value_a": [0.3, 0.5, 0.9][:count], "value_b": 0.2, "difference": 0.1}
    columns |= {"low": 0.05, "high": 0.15, "p": p, "p_holm": p_holm, "equal": 0.0}
    columns |= {"chosen_a": "", "chosen_b": ""}
    frame = pd.DataFrame(columns | changes)
    frame.attrs |= {"metric": "iou@90", "by": "model"}
    frame.attrs["sentences"] = sentences(frame)
    return frame


def test_the_correction_is_told() -> None:
    first, second, third = family([0.001, 0.03, 0.5], [0.003, 0.06, 0.5]).attrs["sentences"]
    assert "p = 0.001 by sign-flip test, 0.003 after Holm's correction for 3 comparisons" in first
    assert first.endswith("more than chance explains, also after that correction.")
    assert second.endswith(
        "on its own that would count, but among 3 comparisons chance easily brings one like it. "
        "None is shown."
    )
    assert third.startswith("No difference could be shown")


def test_the_main_line_is_the_best_that_is_no_baseline() -> None:
    frame = family([0.001, 0.03, 0.5], [0.003, 0.06, 0.5], difference=[-0.1, 0.1, 0.1])
    told = summary(frame, [False, False, True])
    assert told[0] == frame.attrs["sentences"][1]
    assert told[1] == (
        "Of 3 comparisons: 0 with m@a higher, 1 with m@b higher, 2 without a shown difference "
        "(Holm, at 0.05)."
    )
    assert summary(frame, [True] * 3)[0] == frame.attrs["sentences"][2]
    alone = family([0.5], [0.5])
    assert summary(alone, [False]) == alone.attrs["sentences"]
    nothing = family([math.nan] * 2, [math.nan] * 2, n=[0, 3])
    assert summary(nothing, [False, False]) == [nothing.attrs["sentences"][1]]
