"""Leaderboards, layers and percentiles against loops over the rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from sightline.core import InputError
from sightline.metrics import METRICS
from sightline.results import open_results
from sightline.stats.confidence import interval
from sightline.store import images_table
from sightline.store.schema import list_score_columns
from tests.results.slow import check_figures, halves, means, unit_scores
from tests.results.stores import KINDS, Kind, edit_table, make_store

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.results import Results
    from tests.results.stores import Made

LAYERED = [("demo/vit", "cls"), ("demo/vit@seed2", "cls")]
LINES = {
    ("demo/vit", "cls", ""),
    ("demo/vit@seed2", "cls", ""),
    ("demo/vit", "gradcam", "predicted"),
    ("demo/vit", "gradcam", "label"),
    ("demo/vit", "random", ""),
    ("demo/cnn", "gradcam", "predicted"),
    ("demo/cnn", "center", ""),
}


def find(frame: pd.DataFrame, **keys: Any) -> pd.Series[Any]:
    for name, value in keys.items():
        frame = frame[frame[name] == value]
    assert len(frame) == 1
    return frame.iloc[0]


def layer_means(made: Made, name: str, model: str, method: str) -> dict[int, dict[str, float]]:
    return {
        layer: means(unit_scores(made, name, model=model, method=method, layer=layer))
        for layer in range(4)
    }


@pytest.mark.parametrize("metric", ["iou@90", "coverage", "recall@50", "kl"])
def test_every_line_is_the_mean_over_images_at_its_best_layer(
    made: Made, results: Results, metric: str
) -> None:
    board = results.leaderboard(metric)
    assert {tuple(key) for key in board[["model", "method", "target"]].to_numpy()} == LINES
    assert board.attrs["metric"] == metric
    sign = -1 if metric == "kl" else 1
    for model, method in LAYERED:
        line = find(board, model=model, method=method)
        by_layer = layer_means(made, metric, model, method)
        best = max(by_layer, key=lambda layer: sign * by_layer[layer]["value"])
        assert line["layer"] == best
        assert line["chosen"] == "best of 4 layers on the same images"
        check_figures(line, by_layer[best])
    random = find(board, method="random")
    check_figures(random, means(unit_scores(made, metric, model="demo/vit", method="random")))
    assert random["chosen"] == ""
    assert random["layer"] is pd.NA
    assert random["group"] == "baseline"
    one = unit_scores(made, metric, model="demo/vit", method="gradcam", target="label", layer=3)
    check_figures(find(board, target="label"), means(one))
    assert "chosen on the same images" in board.attrs["note"]


@pytest.mark.parametrize("metric", ["iou@90", "kl"])
def test_ranks_follow_the_direction(results: Results, metric: str) -> None:
    board = results.leaderboard(metric)
    values = board["value"].to_numpy()
    assert (np.diff(values) >= 0).all() if metric == "kl" else (np.diff(values) <= 0).all()
    assert board["rank"].tolist() == list(range(1, 8))


def test_equal_lines_share_their_rank(tmp_path: Path) -> None:
    twin = (Kind("m", "", "random", "baseline"), Kind("m", "", "zero", "baseline"))
    made = make_store(tmp_path / "s", kinds=(*twin, KINDS[7]))
    for path in made.score_files:
        edit_table(path, _equal_chance)
    board = open_results(made.path).leaderboard("coverage")
    twins = board[board["method"].isin(["random", "zero"])]
    other = board[board["method"] == "center"].iloc[0]
    assert sorted(board["rank"]) in ([1.0, 2.5, 2.5], [1.5, 1.5, 3.0])
    assert twins["rank"].nunique() == 1
    assert other["rank"] in (1.0, 3.0)


def _equal_chance(rows: pd.DataFrame) -> None:
    twins = rows["method"].isin(["random", "zero"])
    rows.loc[twins, "coverage"] = rows["annotated_fraction"].astype(float)


@pytest.mark.parametrize("metric", ["iou@90", "coverage"])
def test_split_halves_choose_on_the_other_half(made: Made, results: Results, metric: str) -> None:
    board = results.leaderboard(metric, layer="split")
    half = halves(made)
    assert sorted(half.values()) == [0] * 4 + [1] * 4
    for model, method in LAYERED:
        units = {
            layer: unit_scores(made, metric, model=model, method=method, layer=layer)
            for layer in range(4)
        }
        used = {}
        for here in (0, 1):
            there = {
                layer: means([u for (image,), u in found.items() if half[image] != here])["value"]
                for layer, found in units.items()
            }
            used[here] = max(there, key=lambda layer: there[layer])
        values = [units[used[half[image]]][image,] for image in half]
        line = find(board, model=model, method=method)
        shown = str(used[0]) if used[0] == used[1] else f"{used[0]}|{used[1]}"
        assert line["layer"] == shown
        assert line["chosen"] == "split-half of 4 layers"
        check_figures(line, means(values))


def test_split_halves_tell_from_chance_what_best_does_not(tmp_path: Path) -> None:
    """Among layers of noise, the best looks better than it is; chosen by halves, it does not."""
    made = make_store(tmp_path / "s", count=40, kinds=(KINDS[1],), metrics=("coverage",))
    with open_results(made.path) as found:
        best, split = (found.leaderboard(layer=how)["value"][0] for how in ("best", "split"))
        layers = found.leaderboard(layer="all")["value"]
    assert layers.min() <= split <= best == layers.max()
    assert split < best


def test_last_layer_numbered_layer_and_all_layers(made: Made, results: Results) -> None:
    by_layer = layer_means(made, "iou@90", "demo/vit", "cls")
    last = find(results.leaderboard(layer="last"), model="demo/vit", method="cls")
    assert (last["layer"], last["chosen"]) == (3, "last of 4 layers")
    check_figures(last, by_layer[3])
    first = results.leaderboard(layer=1)
    assert set(first["method"]) == {"cls", "random", "center"}  # gradcam has no layer 1
    check_figures(find(first, model="demo/vit", method="cls"), by_layer[1])
    every = results.leaderboard(layer="all")
    assert len(every) == 4 + 4 + 5
    assert set(every["chosen"]) == {""}


def test_the_best_method_of_each_model(made: Made, results: Results) -> None:
    board = results.leaderboard("coverage", method="best")
    assert sorted(board["method"][board["group"] == "baseline"]) == ["center", "random"]
    line = find(board[board["group"] != "baseline"], model="demo/vit")
    candidates = [
        *layer_means(made, "coverage", "demo/vit", "cls").values(),
        *(
            means(
                unit_scores(
                    made, "coverage", model="demo/vit", method="gradcam", target=target, layer=3
                )
            )
            for target in ("label", "predicted")
        ),
    ]
    check_figures(line, max(candidates, key=lambda one: one["value"]))
    assert line["chosen"] == "best of 6 methods and layers on the same images"
    only = find(board[board["group"] != "baseline"], model="demo/cnn")
    assert (only["method"], only["chosen"]) == ("gradcam", "")
    last = find(
        results.leaderboard("coverage", method="best", layer="last").query("group != 'baseline'"),
        model="demo/vit",
    )
    assert last["chosen"] == "best of 3 methods on the same images"


def test_the_method_chosen_by_halves(made: Made, results: Results) -> None:
    half = halves(made)
    units = {
        ("cls", "", layer): unit_scores(
            made, "coverage", model="demo/vit", method="cls", layer=layer
        )
        for layer in range(4)
    }
    for target in ("label", "predicted"):
        units["gradcam", target, 3] = unit_scores(
            made, "coverage", model="demo/vit", method="gradcam", target=target, layer=3
        )
    used = []
    for here in (0, 1):
        worth = {
            pick: means([u for (image,), u in found.items() if half[image] != here])["value"]
            for pick, found in units.items()
        }
        used.append(max(worth, key=lambda pick: worth[pick]))
    values = [units[used[half[image]]][image,] for image in half]
    board = results.leaderboard("coverage", method="split")
    line = find(board[board["group"] != "baseline"], model="demo/vit")
    check_figures(line, means(values))
    assert line["chosen"] == "split-half of 6 methods and layers"
    methods = [pick[0] for pick in used]
    assert line["method"] == (methods[0] if methods[0] == methods[1] else "|".join(methods))


def test_choices_that_contradict_each_other_are_refused(results: Results) -> None:
    with pytest.raises(InputError, match="method 'best' does not go with layer 'split'"):
        results.leaderboard(method="best", layer="split")
    with pytest.raises(InputError, match="does not go with layer 'all'"):
        results.leaderboard(method="split", layer="all")
    with pytest.raises(InputError, match="layer must be a number or one of best, split, last"):
        results.leaderboard(layer="first")  # type: ignore[arg-type]


def test_heads_have_lines_of_their_own(made: Made, results: Results) -> None:
    board = results.leaderboard(head="all", layer=2)
    assert sorted(board["head"]) == [0, 1]
    for head in (0, 1):
        units = unit_scores(made, "iou@90", model="demo/vit", method="cls", layer=2, head=head)
        check_figures(find(board, head=head), means(units))
    assert results.leaderboard(head=1)["head"].tolist() == [1]
    assert "head" not in results.leaderboard()


def test_a_target_leaves_maps_without_one_in_place(results: Results) -> None:
    board = results.leaderboard(target="label")
    assert set(board["target"]) == {"", "label"}
    assert {"cls", "random", "center"} <= set(board["method"])


def test_one_seed(made: Made, results: Results) -> None:
    line = find(results.leaderboard(seed=1), method="random")
    check_figures(
        line, means(unit_scores(made, "iou@90", model="demo/vit", method="random", seed=1))
    )
    assert line["value"] != find(results.leaderboard(), method="random")["value"]


def test_a_base_stands_for_its_variants_and_a_full_name_for_itself(tmp_path: Path) -> None:
    kinds = (
        Kind("m", "a", "cls", "attention"),
        Kind("m", "b", "cls", "attention"),
        Kind("n", "", "cls", "attention"),
        Kind("n", "x", "cls", "attention"),
    )
    with open_results(make_store(tmp_path / "s", kinds=kinds).path) as found:
        assert set(found.leaderboard(model="m")["model"]) == {"m@a", "m@b"}
        assert set(found.leaderboard(model="n")["model"]) == {"n"}
        assert set(found.leaderboard(model="n@x")["model"]) == {"n@x"}


def test_without_a_better_direction_nothing_is_ranked_or_chosen(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", metrics=("entropy",), kinds=KINDS[:2])
    with open_results(made.path) as found:
        board = found.leaderboard()
        assert board["rank"].isna().all()
        assert set(board["layer"]) == {3}
        assert set(board["chosen"]) == {"last of 4 layers"}
        with pytest.raises(InputError, match="no value is better"):
            found.leaderboard(method="best")


def test_a_uniform_reference_stands_beside_metrics_without_chance(
    made: Made, results: Results
) -> None:
    board = results.leaderboard("kl")
    rows = made.rows.query("metric == 'kl_uniform' and method == 'center'")
    values = made.rows.query("metric == 'kl' and method == 'center'")["value"].to_numpy()
    expected = rows["value"].to_numpy()[~np.isnan(values)].mean()
    assert find(board, method="center")["uniform"] == pytest.approx(expected)
    assert board["chance"].isna().all()
    assert "uniform" not in results.leaderboard("coverage")
    assert "corrected" not in results.leaderboard("coverage")


def test_recall_never_stands_alone(made: Made, results: Results, tmp_path: Path) -> None:
    """Beside it stands the IoU of the same maps, whatever layer would be best by that."""
    board = results.leaderboard("recall@50")
    assert board.attrs["metric"] == "recall@50"
    for _, line in board.iterrows():
        keys = {name: line[name] for name in ("model", "method", "target", "layer")}
        expected = means(unit_scores(made, "iou@50", **keys))["value"]
        assert line["iou@50"] == pytest.approx(expected), line["method"]
    layers = results.layer_progression("recall@50", model="demo/vit", method="cls")
    each = [one["value"] for one in layer_means(made, "iou@50", "demo/vit", "cls").values()]
    assert layers["iou@50"].tolist() == pytest.approx(each)
    sweep = results.percentile_sweep("recall", model="demo/vit", method="cls", layer=2)
    for _, line in sweep.iterrows():
        name = f"iou@{line['percentile']:g}"
        units = unit_scores(made, name, model="demo/vit", method="cls", layer=2)
        assert line["iou"] == pytest.approx(means(units)["value"])
    heads = results.head_ranking("recall@50", model="demo/vit", method="cls", layer=2)
    for _, line in heads.iterrows():
        keys = {"model": "demo/vit", "method": "cls", "layer": 2, "head": line["head"]}
        assert line["iou@50"] == pytest.approx(means(unit_scores(made, "iou@50", **keys))["value"])
    assert "coverage" not in results.leaderboard("iou@50")
    assert not [name for name in results.leaderboard("coverage") if "@" in str(name)]


def test_without_the_same_threshold_another_score_stands_beside_recall(tmp_path: Path) -> None:
    for number, (metrics, column) in enumerate(
        [
            (("recall@90", "coverage", "iou@50"), "coverage"),
            (("lift@90", "iou@50"), "iou@50"),
            (("recall@90", "pointing"), None),
        ]
    ):
        made = make_store(tmp_path / f"{number}", kinds=KINDS[7:8], metrics=metrics)
        board = open_results(made.path).leaderboard(metrics[0])
        beside = [name for name in board if name == "coverage" or "@" in str(name)]
        assert beside == ([] if column is None else [column])
        if column is not None:
            units = unit_scores(made, column, model="demo/cnn", method="center")
            assert board[column][0] == pytest.approx(means(units)["value"])
            sweep = open_results(made.path).percentile_sweep(metrics[0].partition("@")[0])
            assert sweep[column].tolist() == pytest.approx(board[column].tolist())
            assert "iou" not in sweep, "IoU of another threshold is not called IoU"


def test_stored_chance_is_used_where_no_formula_gives_it(made: Made, results: Results) -> None:
    line = find(results.leaderboard("top_k_any@k5"), method="center")
    rows = made.rows[made.rows["region"].isna()].query("method == 'center'")
    values = rows.query("metric == 'top_k_any'").set_index("image")["value"]
    chance = rows.query("metric == 'top_k_any_chance'").set_index("image")["value"]
    kept = values.dropna().index
    assert line["value"] == pytest.approx(values[kept].mean())
    assert line["chance"] == pytest.approx(chance[kept].mean())


def test_best_iou_has_the_quartiles_of_its_percentile(tmp_path: Path) -> None:
    kinds = tuple(kind for kind in KINDS if kind.method in ("cls", "random", "center"))
    made = make_store(tmp_path / "s", metrics=("iou", "best_iou"), kinds=kinds)
    results = open_results(made.path)
    for layer in ("best", "split", "all"):
        board = results.leaderboard("best_iou", layer=layer)
        assert "best percentile" in board.attrs["note"]
        line = find(board[board["layer"].fillna(-1) != 2], method="center")
        rows = made.rows[made.rows["region"].isna()].query("method == 'center'")
        values = rows.query("metric == 'best_iou_percentile'")["value"].dropna()
        expected = np.quantile(values, (0.25, 0.5, 0.75))
        names = ["percentile_q1", "percentile_median", "percentile_q3"]
        assert line[names].tolist() == pytest.approx(expected.tolist())
        assert (board["percentile_q1"] <= board["percentile_q3"]).all()
        assert board["percentile_median"].between(0, 100).all()
    board = results.leaderboard("best_iou", layer=1, model="demo/vit@seed2", method="cls")
    rows = made.rows.query("variant == 'seed2' and layer == 1 and metric == 'best_iou_percentile'")
    assert board["percentile_median"][0] == pytest.approx(rows["value"].median())
    assert "percentile_median" not in results.leaderboard("iou@90")
    assert "best_iou_percentile" not in results.metrics
    stored = set(results.query("SELECT DISTINCT metric FROM scores_long")["metric"])
    assert stored == {"iou", "best_iou"}


def test_the_default_metric_is_the_best_documented_one(tmp_path: Path, results: Results) -> None:
    assert results.leaderboard().attrs["metric"] == "iou@90"
    for number, (metrics, first) in enumerate(
        [
            (("iou", "pointing", "coverage"), "coverage"),
            (("pointing", "average_precision"), "average_precision"),
            (("recall", "pointing"), "recall@50"),
        ]
    ):
        folder = tmp_path / str(number)
        made = make_store(folder, metrics=metrics, percentiles=(50,), kinds=KINDS[7:8])
        assert open_results(made.path).leaderboard().attrs["metric"] == first


def test_layer_progression_has_a_line_for_each_layer(made: Made, results: Results) -> None:
    frame = results.layer_progression("coverage", model="demo/vit", method="cls")
    assert frame["layer"].tolist() == [0, 1, 2, 3]
    for layer, expected in layer_means(made, "coverage", "demo/vit", "cls").items():
        check_figures(frame.iloc[layer], expected)
    every = results.layer_progression("coverage")
    assert len(every) == 4 + 4 + 5
    keys = ["model", "method", "group", "target", "layer"]
    figures = ["value", "low", "high", "chance", "ceiling", "n", "undefined"]
    assert every.columns.tolist() == [*keys, *figures]
    assert every["layer"].isna().sum() == 2


def test_percentile_sweep_stays_at_one_layer(made: Made, results: Results) -> None:
    board = results.leaderboard("iou@90")
    frame = results.percentile_sweep()
    assert len(frame) == 3 * len(board)
    for _, line in frame.iterrows():
        chosen = find(board, model=line["model"], method=line["method"], target=line["target"])
        layer = line["layer"]
        assert layer is chosen["layer"] or layer == chosen["layer"]
        units = unit_scores(
            made,
            f"iou@{line['percentile']:g}",
            model=line["model"],
            method=line["method"],
            target=line["target"],
            layer=None if layer is pd.NA else layer,
        )
        check_figures(line, means(units))
        assert line["selected"] == pytest.approx((100 - line["percentile"]) / 100)
    assert "iou@90" in frame.attrs["note"]
    fixed = results.percentile_sweep("recall", model="demo/vit@seed2", layer=0)
    assert set(fixed["layer"]) == {0}
    assert fixed["percentile"].tolist() == [95, 90, 50]


def test_percentile_sweep_by_halves(made: Made, results: Results) -> None:
    half = halves(made)
    board = results.leaderboard("iou@90", layer="split")
    frame = results.percentile_sweep(layer="split")
    for model, method in LAYERED:
        layers = [int(n) for n in find(board, model=model, method=method)["layer"].split("|")] * 2
        for percentile in (95, 90, 50):
            units = {
                layer: unit_scores(
                    made, f"iou@{percentile}", model=model, method=method, layer=layer
                )
                for layer in layers
            }
            values = [units[layers[half[image]]][image,] for image in half]
            line = find(frame, model=model, method=method, percentile=percentile)
            check_figures(line, means(values))


def test_an_unfinished_study_says_so(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", skip=(0, 5))
    found = open_results(made.path)
    assert found.progress == (14, 16)
    board = found.leaderboard()
    assert "so far: 14 of 16 tasks" in board.attrs["note"]
    line = find(board, model="demo/vit", method="cls")
    assert line["n"] + line["undefined"] == 4
    assert not math.isnan(line["value"])


def test_no_bit_of_a_table_changes_from_one_call_to_the_next(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", count=60, metrics=("coverage", "iou"), kinds=KINDS[:6])
    for ask in ("leaderboard", "layer_progression", "feature_breakdown", "style_breakdown"):
        found = []
        for _ in range(3):
            with open_results(made.path) as opened:
                found.append(getattr(opened, ask)())
        assert found[0].equals(found[1])
        assert found[0].equals(found[2])


@pytest.mark.parametrize("without", [0, 1])
def test_a_half_without_scores_gives_the_other_no_layer(tmp_path: Path, without: int) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[1:2])
    half = halves(made)

    def blank(rows: pd.DataFrame) -> None:
        some = [half[image] == without for image in rows["image"]]
        rows.loc[some, list_score_columns(rows.columns)] = math.nan

    for path in [*made.score_files, *made.region_files]:
        edit_table(path, blank)
    made.rows.loc[[half[image] == without for image in made.rows["image"]], "value"] = math.nan
    units = {
        layer: unit_scores(made, "iou@90", model="demo/vit@seed2", method="cls", layer=layer)
        for layer in range(4)
    }
    worth = {
        layer: means([u for (image,), u in found.items() if half[image] != without])["value"]
        for layer, found in units.items()
    }
    best = max(worth, key=lambda layer: worth[layer])
    with open_results(made.path) as found:
        (line,) = found.leaderboard(layer="split").to_dict("records")
        assert math.isnan(line["value"])
        assert (line["n"], line["undefined"]) == (0, 8)
        assert line["layer"] == (f"{best}|-" if without == 0 else f"-|{best}")
        blind = "second" if without == 0 else "first"
        said = f"none for the {blind} half: no score of the other half is defined"
        assert said in line["chosen"]
        assert "see chosen" in found.leaderboard(layer="split").attrs["note"]
        images = found.images(layer="split")
        assert said in images.attrs["note"]
        assert len(images) == 8
        assert images[["value", "chance"]].isna().all(axis=None)
        assert found.feature_breakdown(layer="split")["n"].sum() == 0
        assert found.percentile_sweep(layer="split")["n"].tolist() == [0, 0, 0]
        assert found.curves(layer="split")["n"].max() <= 4
        assert found.leaderboard(layer="best")["n"][0] > 0


def test_one_image_has_no_other_half(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[1:2])
    lines: list[Any] = made.images.to_dict("records")
    with open_results(made.path) as found:
        name = found.images(layer=0)["image"][0]
    for path in [*made.score_files, *made.region_files]:
        edit_table(path, lambda rows: rows[rows["image"] == name])
    pq.write_table(
        images_table([line for line in lines if line["image"] == name]), made.store.images_path
    )
    line = open_results(made.path).leaderboard(layer="split").iloc[0]
    assert (line["n"], line["undefined"]) == (0, 1)
    assert line["layer"].startswith("-|")


# --- intervals -----------------------------------------------------------------------------------


def slow_spread(units: dict[Any, Any], metric: str) -> dict[str, float]:
    """Return the interval of a mean over images in the order of their names, within its range."""
    name = metric.partition("@")[0]
    kind: Any = "share" if name == "pointing" else "mean"
    found = interval([units[image][0] for image in sorted(units)], kind=kind)
    low, high = np.clip((found.low, found.high), *METRICS[name].range)
    return {"low": low, "high": high, "median": found.median, "std": found.std}


@pytest.mark.parametrize("metric", ["iou@90", "coverage", "kl", "pointing"])
def test_intervals_are_over_images(made: Made, results: Results, metric: str) -> None:
    board = results.leaderboard(metric, layer="all")
    assert len(board) == 4 + 4 + 5
    for _, line in board.iterrows():
        layer = None if line["layer"] is pd.NA else line["layer"]
        keys = {name: line[name] for name in ("model", "method", "target")}
        units = unit_scores(made, metric, layer=layer, **keys)
        check_figures(line, slow_spread(units, metric))
        assert line["low"] <= line["value"] <= line["high"]
    layers = results.layer_progression(metric)
    same = ["model", "method", "target", "layer", "low", "high"]
    pd.testing.assert_frame_equal(
        layers[same].sort_values(same[:4]).reset_index(drop=True),
        board[same].sort_values(same[:4]).reset_index(drop=True),
    )


def test_intervals_of_a_line_chosen_by_halves(made: Made, results: Results) -> None:
    half = halves(made)
    board = results.leaderboard("coverage", layer="split")
    for model, method in LAYERED:
        line = find(board, model=model, method=method)
        layers = [int(layer) for layer in str(line["layer"]).split("|")] * 2
        units = [
            unit_scores(made, "coverage", model=model, method=method, layer=layer)
            for layer in layers[:2]
        ]
        mixed = {(image,): units[here][image,] for image, here in half.items()}
        check_figures(line, slow_spread(mixed, "coverage"))


def test_intervals_of_percentiles_and_heads(made: Made, results: Results) -> None:
    sweep = results.percentile_sweep("iou", model="demo/vit", method="cls", layer=2)
    for _, line in sweep.iterrows():
        name = f"iou@{line['percentile']:g}"
        units = unit_scores(made, name, model="demo/vit", method="cls", layer=2)
        check_figures(line, slow_spread(units, name))
    for _, line in results.head_ranking(model="demo/vit", method="cls").iterrows():
        keys = {"layer": line["layer"], "head": line["head"]}
        units = unit_scores(made, "iou@90", model="demo/vit", method="cls", **keys)
        check_figures(line, slow_spread(units, "iou@90"))


def test_lines_do_not_change_each_others_intervals(results: Results) -> None:
    every = find(results.leaderboard("coverage"), model="demo/vit", method="cls")
    alone = results.leaderboard("coverage", model="demo/vit", method="cls").iloc[0]
    assert (every["low"], every["high"]) == (alone["low"], alone["high"])


def test_one_image_has_no_interval(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", count=2, kinds=(KINDS[0], KINDS[7]), skip=(2, 3))
    with open_results(made.path) as found:
        board = found.leaderboard()
        assert board["n"].tolist() == [1, 1]
        assert board["value"].notna().all()
        assert board[["low", "high", "std"]].isna().all(axis=None)
        assert found.layer_progression()["low"].isna().all()
        assert found.feature_breakdown()["high"].isna().all()
        assert found.style_breakdown()["low"].isna().all()


def test_ends_are_scores_that_there_can_be(tmp_path: Path) -> None:
    """Few images give wide intervals, but none beyond the range of a metric."""
    made = make_store(tmp_path / "s", count=6, metrics=("recall", "pointing"))
    with open_results(made.path) as found:
        for frame in (found.leaderboard("recall@50"), found.leaderboard("pointing")):
            assert frame["low"].min() >= 0
            assert frame["high"].max() <= 1


def _infinite_kl(rows: pd.DataFrame) -> None:
    rows.loc[rows["method"] == "center", "kl"] = math.inf


def test_an_infinite_score_has_no_interval(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", metrics=("kl",), kinds=KINDS[6:8])
    for path in made.score_files:
        edit_table(path, _infinite_kl)
    board = open_results(made.path).leaderboard("kl").set_index("method")
    assert board["value"].tolist()[1] == math.inf
    assert board.loc["center", ["low", "high"]].isna().all()
    assert board.loc["gradcam", ["low", "high"]].notna().all()
