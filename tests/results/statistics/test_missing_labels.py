"""The report on missing labels: its tables, what it concludes, and the stores that fit together."""

from __future__ import annotations

# The texts put together here are SQL of ours.
# ruff: noqa: S608
import json
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from sightline.core import InputError, UnknownNameError
from sightline.results import _pair_tables as _paired
from sightline.results import open_results, sparsity_report
from sightline.results.missing_label_findings import (
    BIAS,
    BIAS_VERDICTS,
    OPEN,
    SURVIVES,
    VERDICTS,
    conclude,
    verdict_of,
)
from sightline.stats import compare_paired, compute_detectable_difference
from sightline.stats.corrections import holm
from sightline.stats.missing_labels import ppi_mean
from tests.results.statistics import stores
from tests.results.statistics.stores import report_of

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.results import SparsityReport


def test_lines_hold_what_the_leaderboard_holds(alone: SparsityReport, sparse: Path) -> None:
    with open_results(sparse) as results:
        board = results.leaderboard("iou@90")
        regions = results.query(
            "SELECT avg(value) AS v FROM (SELECT image, region, avg(value) AS value "
            "FROM scores_long WHERE model = 'demo/vit' AND variant = '' AND method = 'random' "
            "AND name = 'recall@90'"
            " AND region IS NOT NULL GROUP BY image, region)"
        )["v"].iloc[0]
    assert np.allclose(alone.lines["iou"], board["value"], atol=1e-12)
    assert list(alone.lines["low"]) == list(board["low"])
    random = alone.lines[(alone.lines["method"] == "random")].iloc[0]
    assert random["label_recall"] == pytest.approx(regions, abs=1e-12)  # one of each is labelled
    assert alone.main.split(" · layer ")[0] in ("demo/vit · cls", "demo/vit@seed2 · cls")
    assert alone.best_baseline.to_dict() == board.attrs["best_baseline"]
    assert (alone.images, alone.regions) == (stores.COUNT, len(open_regions(sparse, "")))


def test_recall_of_regions_states_which_mean_it_estimates(
    alone: SparsityReport, complete: SparsityReport, sparse: Path
) -> None:
    with open_results(sparse) as results:
        frame = results.query(
            "SELECT s.image, r.label, avg(s.value) AS recall FROM scores_long s JOIN regions r "
            "USING (image, region) WHERE s.model = 'demo/vit' AND s.variant = '' AND "
            "s.method = 'random' AND s.name = 'recall@90' GROUP BY s.image, r.label"
        )
        instances = results.query("SELECT image, label, count(*) AS n FROM regions GROUP BY ALL")
    both = frame.merge(instances, on=["image", "label"])
    random = alone.lines[(alone.lines["method"] == "random")].iloc[0]
    weighted = np.average(both["recall"], weights=both["n"])
    assert random["region_recall"] == pytest.approx(weighted, abs=1e-12)
    assert random["label_recall"] == pytest.approx(both["recall"].mean(), abs=1e-12)
    assert abs(random["region_recall"] - random["label_recall"]) > 0.01
    assert "weighs as many as its known instances" in alone.note
    assert "not over regions" in complete.note


def open_regions(store: Path, dropped: str) -> list[tuple[str, str]]:
    with open_results(store) as results:
        frame = results.query(f"SELECT image, label FROM regions WHERE dropped = '{dropped}'")
    return list(frame.itertuples(index=False, name=None))


def test_counts_tell_how_many_instances_have_no_label(
    alone: SparsityReport, joined: SparsityReport, sparse: Path, gold: Path
) -> None:
    hidden = open_regions(sparse, "unlabelled")
    assert alone.counts["unlabelled"].sum() == len(hidden)
    assert alone.counts["gold"].isna().all()
    every = open_regions(gold, "")
    images = {image for image, _ in every}
    mine = [label for image, label in open_regions(sparse, "") if image in images]
    assert joined.counts["gold"].sum() == len(every)
    assert joined.counts["on_gold_images"].sum() == len(mine)
    one = joined.counts.set_index("label").loc["door"]
    assert one["labelled"] == pytest.approx(one["regions"] / (one["regions"] + one["unlabelled"]))


def test_bands_fall_as_labels_go_missing(alone: SparsityReport) -> None:
    for _, lines in alone.dropout.groupby(["model", "method"]):
        assert list(lines["rate"]) == [0, 0.1, 0.2, 0.3, 0.4, 0.5]
        assert (lines["low"] <= lines["mean"]).all()
        assert (lines["mean"] <= lines["high"]).all()
    cls = alone.dropout[(alone.dropout["method"] == "cls") & (alone.dropout["model"] == "demo/vit")]
    assert (np.diff(cls["mean"]) < 0).all()
    assert cls["emptied"].iloc[0] == 0


def test_pairs_differ_in_their_model_alone(alone: SparsityReport) -> None:
    (pair,) = alone.verdicts.to_dict("records")
    assert (pair["a"], pair["b"], pair["method"]) == ("demo/vit", "demo/vit@seed2", "cls")
    values = alone.lines[alone.lines["method"] == "cls"].set_index("model")["iou"]
    gap = values["demo/vit"] - values["demo/vit@seed2"]
    assert pair["difference"] == pytest.approx(gap, abs=1e-12)
    assert pair["low"] <= gap <= pair["high"]
    assert pair["p_holm"] == pair["p"]
    assert math.isnan(pair["joined"])
    assert pair["verdict"] in VERDICTS.values()
    assert list(alone.deltas["rate"]) == [0, 0.1, 0.2, 0.3, 0.4, 0.5]
    (dropout,) = alone.deltas[alone.deltas["rate"] == 0.3].to_dict("records")
    assert 0 < pair["p_dropout"] <= 1
    assert (pair["p_dropout"], pair["significant_dropout"]) == (
        dropout["p"],
        dropout["significant"],
    )
    (told,) = alone.to_dict()["verdicts"]
    assert told["p_dropout"] == pytest.approx(pair["p_dropout"])


def test_the_four_results_stand_side_by_side(
    joined: SparsityReport, gold: Path, sparse: Path
) -> None:
    lines = joined.sets[joined.sets["model"] == "demo/vit"].set_index("set")
    assert list(lines.index) == ["sparse", "gold", "joined", "joined, these images"]
    layer = int(lines["layer"].iloc[0])
    values = []
    for store in (gold, sparse):
        with open_results(store) as results:
            frame = results.images("iou@90", model="demo/vit", method="cls", layer=layer)
        values.append(frame.set_index("image")["value"])
    both = values[1].reindex(values[0].index)
    rest = values[1].drop(values[0].index)
    found = ppi_mean(values[0], both, rest)
    assert lines.loc["gold", "value"] == pytest.approx(values[0].mean())
    assert lines.loc["sparse", "value"] == pytest.approx(values[1].mean())
    assert lines.loc["joined", "value"] == pytest.approx(found.value)
    assert lines.loc["joined", "low"] == pytest.approx(found.low)
    assert list(lines["n"]) == [20, 8, 20, 20]


def test_bias_is_the_paired_difference_on_the_gold_images(
    joined: SparsityReport, alone: SparsityReport, gold: Path, sparse: Path
) -> None:
    assert alone.bias.empty
    assert list(joined.bias["labels"]) == ["sparse", "sparse"]
    row = joined.bias[joined.bias["model"] == "demo/vit"].iloc[0]
    values = []
    for store in (gold, sparse):
        with open_results(store) as results:
            layer = int(row["layer"])
            frame = results.images("iou@90", model="demo/vit", method="cls", layer=layer)
        values.append(frame.set_index("image")["value"])
    pair = compare_paired(values[0], values[1].reindex(values[0].index))
    assert row["difference"] == pytest.approx(pair.difference, abs=1e-12)
    assert (row["p"], row["n"], row["undefined"]) == (pytest.approx(pair.p), 8, 0)
    gaps = values[0] - values[1].reindex(values[0].index)
    least = compute_detectable_difference(gaps, alpha=0.05 / 2)
    assert row["detectable"] == pytest.approx(least, rel=1e-9)
    assert list(joined.bias["p_holm"]) == list(holm(joined.bias["p"].to_numpy()))
    assert set(joined.bias["verdict"]) <= set(BIAS_VERDICTS.values())


@pytest.mark.parametrize(
    ("bias", "verdict", "sentence"),
    [
        ({"difference": 0.024, "low": 0.006, "p": 0.009, "p_holm": 0.018}, "too low",
         "p = 0.009, Holm 0.018): missing labels make the sparse score too low."),
        ({"difference": -0.024, "low": -0.05, "high": -0.004, "p": 0.009, "p_holm": 0.018},
         "too high",
         "missing labels make the sparse score too high."),
        ({"difference": 0.024, "low": -0.002, "p": 0.009, "p_holm": 0.018}, "not shown",
         "Holm 0.018), and the interval does not exclude 0 although the test rejects it: no bias"),
        ({"difference": 0.024, "p": 0.04, "p_holm": 0.08}, "not shown",
         "bias of at least 0.031 would have been found with 80% power, corrected for 2 config"),
        ({"difference": 0.0, "p": 1.0, "p_holm": 1.0, "detectable": math.nan,
          "reason": "all differences are equal"}, "not shown",
         "bias that would have been found with 80% power (all differences are equal)."),
        ({"p": math.nan, "p_holm": math.nan, "detectable": math.nan, "n": 4, "undefined": 1,
          "reason": "too few gold images: 4, p-values need 6"}, "not tested",
         "on the 4 images with both scores is +0.020 (95% interval -0.010 to +0.050): not tested"),
    ],
)  # fmt: skip
def test_no_bias_is_never_said_without_what_would_have_been_found(
    joined: SparsityReport, bias: dict[str, Any], verdict: str, sentence: str
) -> None:
    """Where the sparse mean lies in the interval of the joined one, too, the pairs decide."""
    plain = {"difference": 0.02, "low": -0.01, "high": 0.05, "detectable": 0.031, "n": 8,
             "undefined": 0, "reason": ""}  # fmt: skip
    sets = joined.sets.assign(low=0.0, high=1.0)
    found = conclude(replace(joined, sets=sets, bias=joined.bias.assign(**{**plain, **bias})))
    assert set(found.bias["verdict"]) == {verdict}
    (text,) = (text for text in found.conclusions if "Against the gold" in text)
    assert sentence in text
    assert ("no bias could be shown" in text) == (verdict == "not shown")
    assert "lies inside" not in text


def test_gold_labels_are_compared_with_the_corrected_iou(joined: SparsityReport) -> None:
    row = joined.pu[joined.pu["model"] == "demo/vit"].iloc[0]
    assert row["gold_low"] <= row["gold_difference"] <= row["gold_high"]
    told = {}
    for p in (0.03, 0.06):
        report = conclude(replace(joined, pu=joined.pu.assign(gold_p_holm=p)))
        (told[p],) = (text for text in report.conclusions if text.startswith("Corrected"))
    assert "the gold set contradicts it: gold minus it is" in told[0.03]
    assert "contradicts" not in told[0.06]
    assert "This estimate is rough: it holds only if" in told[0.06]


def test_a_completed_set_takes_the_place_of_the_sparse_one(
    sparse: Path, gold: Path, folder: Path
) -> None:
    completed = stores.run_facades(folder, "completed", "exhaustive", stores.COUNT, methods=["cls"])
    found = report_of(sparse, gold=gold, completed=completed, method="cls")
    lines = found.sets[found.sets["model"] == "demo/vit"].set_index("set")
    assert list(lines.index[:4]) == ["sparse", "completed", "gold", "joined"]
    # Completed as people would have: what is joined is what is true of all.
    assert lines.loc["joined", "value"] == pytest.approx(lines.loc["completed", "value"], abs=0.02)
    assert list(dict.fromkeys(found.bias["labels"])) == ["sparse", "completed"]
    for labels, rows in found.bias.groupby("labels"):
        gaps = rows["difference"].to_numpy(np.float64)
        assert (gaps == 0).all() if labels == "completed" else (gaps > 0).all()
        assert list(rows["p_holm"]) == list(holm(rows["p"].to_numpy()))
    assert found.missing == ()


def test_choices_by_halves_are_those_of_the_study(sparse: Path, gold: Path) -> None:
    found = report_of(sparse, gold=gold, layer="split", method="cls")
    with open_results(sparse) as results:
        halves = results._tables.fetch(
            "SELECT image, (row_number() OVER (ORDER BY sha256(image)) - 1) % 2 AS half FROM images"
        )
    for model in ("demo/vit", "demo/vit@seed2"):
        line = found.sets[(found.sets["model"] == model) & (found.sets["set"] == "gold")].iloc[0]
        layers = str(line["layer"]).split("|")
        with open_results(gold) as results:
            boards = [
                results.images("iou@90", model=model, method="cls", layer=int(layer)).set_index(
                    "image"
                )["value"]
                for layer in (layers[0], layers[-1])
            ]
        values = [boards[half][image] for image, half in halves if image in boards[0].index]
        assert line["value"] == pytest.approx(np.mean(values), abs=1e-12)


def test_corrected_iou_uses_what_is_known(alone: SparsityReport, complete: SparsityReport) -> None:
    assert set(alone.pu["by"]) == {"known counts"}
    assert (alone.pu["corrected"] > alone.pu["iou"]).all()
    assert (alone.pu["overlap"].between(0, 0.5)).all()
    assert set(complete.pu["by"]) == {"labelling frequency 0.20 to 1.00 on every image"}
    assert complete.pu["corrected"].isna().all()
    assert complete.labelling.empty
    text = " ".join(complete.conclusions)
    assert "is not known to the store" in text
    assert "not an interval" in text


def test_labels_picked_for_a_reason_are_noticed(alone: SparsityReport, folder: Path) -> None:
    assert list(alone.labelling["quantity"][:2]) == ["area", "distance to the centre"]
    assert (alone.labelling["p"] > 0.001).all()
    store = stores.run_facades(folder, "salient", "salient", stores.COUNT, models=["demo/vit"],
                               methods=["cls"])  # fmt: skip
    found = report_of(store, method="cls")
    test = {one["quantity"]: one for one in found.labelling.to_dict("records")}
    assert test["distance to the centre"]["p"] < 0.01
    assert test["distance to the centre"]["direction"] == "smaller"
    assert any("were not chosen at random" in text for text in found.conclusions)
    assert list(found.labelling["p_holm"]) == list(holm(found.labelling["p"].to_numpy()))


def test_several_tests_of_the_labelling_are_corrected(alone: SparsityReport) -> None:
    tests = alone.labelling.assign(p=[0.03, 0.5, 0.9], p_holm=[0.09, 1.0, 1.0])
    text = " ".join(conclude(replace(alone, labelling=tests)).conclusions)
    assert "were not chosen at random" not in text
    assert "(p ≥ 0.03, Holm ≥ 0.09)" in text


def test_targets_have_figures_of_their_own(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"methods": ["gradcam"], "targets": ["predicted", "label"]}
    keys["models"] = ["demo/vit@seed2", "demo/vit"]
    sparse = stores.run_facades(tmp_path, "sparse", "representative", 10, **keys)
    gold = stores.run_facades(tmp_path, "gold", "exhaustive", 8, **keys)
    found = report_of(sparse, gold=gold, layer=11)
    named = ["model", "target"]
    on_gold = dict(found.sets[found.sets["set"] == "gold"].set_index(named)["value"])
    with open_results(gold) as results:
        board = dict(results.leaderboard("iou@90", layer=11).set_index(named)["value"])
    assert on_gold["demo/vit@seed2", "label"] != on_gold["demo/vit@seed2", "predicted"]
    for key, value in on_gold.items():
        assert value == pytest.approx(board[key], abs=1e-12)
    assert len(set(found.conclusions)) == len(found.conclusions)
    assert "gradcam (label): " in " ".join(found.conclusions)
    assert found.main in (f"{model} · gradcam · {target} · layer 11" for model, target in board)


def test_conclusions_say_what_they_rest_on(alone: SparsityReport, joined: SparsityReport) -> None:
    kinds = [kind for kind, _ in alone.findings]
    assert kinds == sorted(kinds, key=[BIAS, SURVIVES, OPEN].index)
    assert set(kinds) == {BIAS, SURVIVES, OPEN}
    text = " ".join(alone.conclusions)
    assert "a sensitivity band, not a confidence interval" in text
    assert "does not mean that only missing labels" in text
    assert "cannot be told apart from" in text or "no proof of their absence" in text
    assert "takes a gold set" in text
    assert [one.split(".")[0] for one in alone.missing] == [
        "No gold set was given",
        "No completed set was given",
    ]
    assert "if the gold images were drawn at random" in " ".join(joined.conclusions)
    assert "takes a gold set" not in " ".join(joined.conclusions)
    assert len(joined.missing) == 1


def test_a_report_is_plain_values_for_json(joined: SparsityReport) -> None:
    plain = joined.to_dict()
    again = json.loads(json.dumps(plain, allow_nan=False))
    assert again["metric"] == "iou@90"
    assert len(again["sets"]) == len(joined.sets)
    assert again["conclusions"] == list(joined.conclusions)


PAIR = {
    "difference": 0.05,
    "p_holm": 0.01,
    "same_sign": 0.99,
    "recall": 0.01,
    "recall_low": -0.01,
    "recall_high": 0.03,
    "label_recall": 0.01,
    "label_recall_low": -0.01,
    "label_recall_high": 0.03,
    "coverage": 0.02,
    "coverage_low": 0.01,
    "coverage_high": 0.03,
    "joined": math.nan,
    "joined_p_holm": math.nan,
}


def test_the_p_value_of_a_joined_difference_fits_its_interval() -> None:
    rng = np.random.default_rng(0)
    truth, completed = rng.normal(0.1, 0.2, 40), rng.normal(0.1, 0.2, 100)
    found = ppi_mean(truth, completed[:40], completed[40:])
    p = _paired._p_value(found)
    # Where p is 0.05, an end of the 95% interval is 0.
    edge = ppi_mean(truth, completed[:40], completed[40:], confidence=1 - p)
    assert min(abs(edge.low), abs(edge.high)) == pytest.approx(0, abs=1e-9)
    assert math.isnan(_paired._p_value(replace(found, value=math.nan)))
    assert _paired._p_value(replace(found, se=0.0)) == 0
    assert _paired._p_value(replace(found, value=0.0, se=0.0)) == 1


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "survives"),
        ({"p_holm": 0.2}, "not shown"),
        ({"p_holm": math.nan}, "not shown"),
        ({"same_sign": 0.9}, "fragile"),
        ({"same_sign": 0.947}, "fragile"),
        ({"coverage_low": -0.04, "coverage_high": -0.02}, "open"),
        ({"recall_low": -0.04, "recall_high": -0.02}, "open"),
        ({"label_recall_low": -0.04, "label_recall_high": -0.02}, "open"),
        ({"joined": 0.04, "joined_p_holm": 0.01}, "confirmed"),
        ({"joined": -0.04, "joined_p_holm": 0.01}, "reversed"),
        ({"joined": -0.04, "joined_p_holm": 0.06}, "survives"),
        ({"difference": 0.0, "p_holm": 1.0, "joined": 0.04, "joined_p_holm": 0.01}, "not shown"),
        ({"difference": -0.05, "coverage_low": 0.01, "coverage_high": 0.03}, "open"),
        ({"difference": -0.05, "coverage_low": -0.1, "coverage_high": 0.03}, "survives"),
    ],
)
def test_verdicts(changes: dict[str, float], verdict: str) -> None:
    assert verdict_of({**PAIR, **changes}) == verdict


# --- stores that do not fit ------------------------------------------------------------


def test_other_scores_than_iou_are_refused(sparse: Path) -> None:
    with open_results(sparse) as results:
        with pytest.raises(InputError, match="must be iou at a percentile"):
            sparsity_report(results, "coverage")
        with pytest.raises(UnknownNameError, match="iou@70"):
            sparsity_report(results, "iou@70")


def test_a_store_of_other_images_is_refused(sparse: Path, odd: Path) -> None:
    with pytest.raises(InputError, match=r"--gold .*none of its 9 images is in the study"):
        report_of(sparse, gold=odd)


def test_a_store_scored_otherwise_is_refused(sparse: Path, tmp_path: Path) -> None:
    keys: dict[str, Any] = {"models": ["demo/vit"], "methods": ["centre"]}
    other = stores.run_facades(tmp_path, "pixels", "exhaustive", 2, resolution=32, **keys)
    with pytest.raises(InputError, match="resolution must be 'grid' as in the study, is 32"):
        report_of(sparse, gold=other)
    lacking = stores.run_facades(tmp_path, "lacking", "exhaustive", 2, **keys)
    with pytest.raises(InputError, match=r"--completed .*holds no maps of demo/vit · cls"):
        report_of(sparse, completed=lacking)
    fit = stores.run_facades(tmp_path, "fit", "exhaustive", 2, models=["demo/vit"], fit="crop",
                             methods=["cls"])  # fmt: skip
    with pytest.raises(InputError, match="fit must be 'squash', is 'crop'"):
        report_of(sparse, gold=fit, model="demo/vit")


def test_a_store_without_the_metric_is_named(sparse: Path, tmp_path: Path) -> None:
    other = stores.run_facades(tmp_path, "other", "exhaustive", 2, metrics=["coverage"])
    with pytest.raises(InputError, match=r"--gold .*other: no scores of metric 'iou@90'"):
        report_of(sparse, gold=other)


def test_gold_images_must_be_completed_too(sparse: Path, gold: Path, folder: Path) -> None:
    few = stores.run_facades(folder, "few", "exhaustive", 5, methods=["cls"])
    message = r"--completed .*: 3 of the 8 gold images are not in it, such as 'facade-00005.png'"
    with pytest.raises(InputError, match=message):
        report_of(sparse, gold=gold, completed=few, method="cls")
    found = report_of(sparse, completed=few, method="cls")
    assert "the completed set has 5 of the 20 images" in found.note


def test_a_few_gold_images_give_no_estimate_and_no_claim(sparse: Path, folder: Path) -> None:
    three = stores.run_facades(folder, "three", "exhaustive", 3, methods=["cls"])
    found = report_of(sparse, gold=three, method="cls")
    text = " ".join(found.conclusions)
    assert "there is no estimate: too few gold images: 3, needs 5" in text
    assert "no bias could be shown" not in text
    assert not re.search(r"\bnan\b", text)
    ends = found.sets[["low", "high"]].dropna()
    assert ends.to_numpy().min() >= 0
    assert ends.to_numpy().max() <= 1


def test_labels_that_only_the_gold_set_has_are_counted(tmp_path: Path) -> None:
    sparse, gold = (_with_labels(tmp_path, name) for name in ("sparse", "gold"))
    found = report_of(sparse, gold=gold)
    counts = found.counts.set_index("label")
    assert list(counts.index) == ["door", "window"]
    assert counts["gold"].sum() == 2 * counts["regions"].sum()
    assert counts.loc["window", "labelled"] == 0
    assert "about 50% are labelled" in " ".join(found.conclusions)


def _with_labels(folder: Path, name: str) -> Path:
    """Run a study over pictures whose windows are labelled in the gold set alone."""
    data = stores.write_odd(folder / f"{name}-data")
    path = data / "annotations.json"
    content = json.loads(path.read_text("utf-8"))
    for image in content["images"]:
        image["regions"] = image["regions"][: 2 if name == "gold" else 1]
    path.write_text(json.dumps(content))
    return stores.run(folder, name, data={"name": "folder", "path": str(data)}, methods=["cls"])


def test_a_study_without_regions_has_no_report(tmp_path: Path) -> None:
    data = stores.write_odd(tmp_path / "data")
    path = data / "annotations.json"
    content = json.loads(path.read_text("utf-8"))
    for image in content["images"]:
        image["regions"] = []
    path.write_text(json.dumps(content))
    store = stores.run(
        tmp_path, "none", data={"name": "folder", "path": str(data)}, methods=["cls"]
    )
    with pytest.raises(InputError, match="no region is scored"):
        report_of(store)


def test_maps_that_changed_are_noticed(folder: Path, given: Path, tmp_path: Path) -> None:
    store = stores.run_given(tmp_path, "mine", folder / "pictures", range(7))
    path = tmp_path / "mine-first" / "003.npy"
    np.save(path, np.load(path) + np.eye(8, 9, dtype=np.float32))
    with pytest.raises(InputError, match="do not give the iou@90"):
        report_of(store, method="theirs")


def test_another_picture_by_the_same_name_is_refused(sparse: Path, tmp_path: Path) -> None:
    data = {"name": "facades", "count": 2, "seed": 6, "labelling": "exhaustive"}
    other = stores.run(tmp_path, "drawn", data=data, methods=["centre"])
    with pytest.raises(InputError, match="is another picture than that of the study"):
        report_of(sparse, gold=other)


def test_maps_of_different_grids_are_compared(folder: Path, tmp_path: Path) -> None:
    data = {"name": "facades", "count": 8, "seed": 5, "labelling": "representative"}
    store = stores.run(
        tmp_path,
        "grids",
        data=data,
        models=["demo/vit", "demo/cnn"],
        methods=["gradcam"],
        layers=[-1],
    )
    found = report_of(store)
    (pair,) = found.verdicts.to_dict("records")
    values = found.lines.set_index("model")["iou"]
    gap = values[pair["a"]] - values[pair["b"]]
    assert pair["difference"] == pytest.approx(gap, abs=1e-12)
    first = found.deltas[found.deltas["rate"] == 0].iloc[0]
    assert first["difference"] == pytest.approx(gap, abs=1e-12)
    assert first["low"] <= gap <= first["high"]


def test_a_study_of_baselines_alone_has_a_report(sparse: Path) -> None:
    found = report_of(sparse, method="centre", model="demo/vit")
    assert found.main == "demo/vit · centre"
    assert found.best_baseline.is_baseline
    assert found.verdicts.empty
    assert SURVIVES not in [kind for kind, _ in found.findings]
