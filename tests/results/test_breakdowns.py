"""Breakdowns by label against loops over the rows."""

from __future__ import annotations

import math
from statistics import median, stdev
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from sightline.core import Taxonomy, UnknownNameError
from sightline.results import export_results, open_results
from sightline.stats.confidence import interval
from sightline.store import images_table
from tests.results.slow import check_figures, halves, means, unit_scores
from tests.results.stores import KINDS, TAXONOMY, edit_table, make_store

if TYPE_CHECKING:
    from pathlib import Path

    from sightline.results import Results
    from tests.results.stores import Made

OTHERS = ("recall", "pointing", "coverage")
BESIDE = ("", "_low", "_high", "_median", "_std", "_chance")
IOU = ["iou", "low", "high", "median", "std", "chance", "ceiling"]
FIGURES = [*IOU, *(f"{m}{b}" for m in OTHERS for b in BESIDE)]
COLUMNS = ["label", *FIGURES, "n", "images", "undefined"]


def names_of(made: Made, *, ancestors: bool) -> dict[tuple[str, int], list[str]]:
    """Return the labels that each region counts for."""
    taxonomy = Taxonomy(TAXONOMY)
    return {
        (region["image"], region["region"]): [
            region["label"],
            *(taxonomy.ancestors(region["label"]) if ancestors else ()),
        ]
        for region in made.regions.to_dict("records")
    }


def slow_ends(units: dict[Any, Any], name: str) -> list[float]:
    """Return the interval of a mean over units, clustered by image, within what scores can be."""
    keys = sorted(units)
    values = [units[key][0] for key in keys]
    kind: Any = "share" if name == "pointing" else "mean"
    found = interval(values, images=[key[0] for key in keys], kind=kind)
    return [min(max(end, 0.0), 1.0) if end == end else end for end in (found.low, found.high)]


def slow_spread(units: dict[Any, Any]) -> list[float]:
    """Return median and standard deviation of the defined scores."""
    values = [unit[0] for unit in units.values() if not math.isnan(unit[0])]
    if not values:
        return [math.nan, math.nan]
    return [median(values), stdev(values) if len(values) > 1 else math.nan]


@pytest.mark.parametrize("ancestors", [False, True])
@pytest.mark.parametrize("method", ["cls", "random"])
def test_features_are_means_over_regions(
    made: Made, results: Results, method: str, ancestors: bool
) -> None:
    layer = 2 if method == "cls" else None
    frame = results.feature_breakdown(
        model="demo/vit", method=method, layer=layer, ancestors=ancestors
    )
    assert frame.columns.tolist() == COLUMNS
    names = names_of(made, ancestors=ancestors)
    expected = {"portal", "rose window", "tower", "window"} | ({"opening"} if ancestors else set())
    assert frame["label"].tolist() == sorted(expected)
    for name, columns in {
        "iou@90": ("iou", "chance", "ceiling"),
        "recall@90": ("recall", "recall_chance"),
        "pointing": ("pointing", "pointing_chance"),
        "coverage": ("coverage", "coverage_chance"),
    }.items():
        units = unit_scores(
            made, name, by=("image", "region"), model="demo/vit", method=method, layer=layer
        )
        for _, line in frame.iterrows():
            mine = {key: unit for key, unit in units.items() if line["label"] in names[key]}
            figures = means(mine)
            for column, what in zip(columns, ("value", "chance", "ceiling"), strict=False):
                assert line[column] == pytest.approx(figures[what], rel=2e-6, nan_ok=True)
            before = "" if name == "iou@90" else f"{columns[0]}_"
            ends = [line[f"{before}{end}"] for end in ("low", "high")]
            assert ends == pytest.approx(slow_ends(mine, name), rel=2e-6, nan_ok=True)
            spread = [line[f"{before}{what}"] for what in ("median", "std")]
            assert spread == pytest.approx(slow_spread(mine), nan_ok=True)
            if name == "iou@90":
                check_figures(line[["n", "undefined"]], figures)
                defined = {key for key, unit in mine.items() if not math.isnan(unit[0])}
                assert line["images"] == len({image for image, _ in defined})


def test_features_of_a_line_chosen_by_halves(made: Made, results: Results) -> None:
    half, names = halves(made), names_of(made, ancestors=False)
    board = results.leaderboard("iou@90", layer="split", model="demo/vit@seed2")
    layers = [int(layer) for layer in board["layer"][0].split("|")] * 2
    frame = results.feature_breakdown(model="demo/vit@seed2", layer="split")
    units = {
        layer: unit_scores(
            made,
            "iou@90",
            by=("image", "region"),
            model="demo/vit@seed2",
            method="cls",
            layer=layer,
        )
        for layer in layers
    }
    for _, line in frame.iterrows():
        values = [
            units[layers[half[image]]][image, region]
            for image, region in units[layers[0]]
            if line["label"] in names[image, region]
        ]
        assert line["iou"] == pytest.approx(means(values)["value"])
    assert f"layer {board['layer'][0]} (split-half of 4 layers)" in frame.attrs["note"]


def test_undefined_regions_are_counted(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", metrics=("coverage",), kinds=KINDS[:1])
    frame = open_results(made.path).feature_breakdown(layer=0)
    assert frame["iou"].isna().all()
    assert frame["undefined"].sum() == 1 + 2  # regions of the first image of each chunk
    assert "not computed by this study: iou@90, recall@90, pointing" in frame.attrs["note"]


def test_other_thresholds(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", selection=["percentile", "matched"], kinds=KINDS[7:8])
    with open_results(made.path) as found:
        frame = found.feature_breakdown(method="center", percentile="matched")
        assert frame["ceiling"].tolist() == pytest.approx([1.0] * 4)
        chances = found.feature_breakdown(percentile=95.0)["recall_chance"]
        assert chances.tolist() == pytest.approx([0.05] * 4)
        assert found.feature_breakdown(percentile=91)["iou"].isna().all()


def test_the_best_line_that_is_no_baseline_is_taken_and_told(results: Results) -> None:
    board = results.leaderboard("iou@90")
    best = board[board["group"] != "baseline"].iloc[0]
    note = results.feature_breakdown().attrs["note"]
    assert f"{best['model']} · {best['method']}" in note
    assert str(best["chosen"]) in note


def test_without_scores_of_regions_the_table_is_empty(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", metrics=("iou",), kinds=KINDS[7:8])
    for path in made.region_files:
        edit_table(path, lambda rows: rows[:0])
    frame = open_results(made.path).feature_breakdown()
    assert frame.columns.tolist() == COLUMNS
    assert len(frame) == 0
    assert "no single regions" in frame.attrs["note"]


@pytest.mark.parametrize("metric", ["iou@90", "coverage"])
def test_styles_count_an_image_in_each_of_its_labels(
    made: Made, results: Results, metric: str
) -> None:
    frame = results.style_breakdown(metric, model="demo/vit", method="cls", layer=1)
    units = unit_scores(made, metric, model="demo/vit", method="cls", layer=1)
    labels: dict[str, list[str]] = dict(
        zip(made.images["image"], made.images["labels"], strict=True)
    )
    assert frame["label"].tolist() == ["baroque", "gothic"]
    for _, line in frame.iterrows():
        mine = {key: unit for key, unit in units.items() if line["label"] in labels[key[0]]}
        check_figures(line, means(mine))
        assert [line["low"], line["high"]] == pytest.approx(
            slow_ends(mine, metric), rel=2e-6, nan_ok=True
        )
    assert frame[["n", "undefined"]].to_numpy().sum() == 8 + 2 - 1
    assert "an image with two labels counts in both" in frame.attrs["note"]
    assert "images without a label, left out: 1" in frame.attrs["note"]


def test_an_image_counts_once_in_a_label_that_it_bears_twice(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[7:8])
    lines: list[Any] = made.images.to_dict("records")
    for line in lines:
        line["labels"] = ["gothic", "gothic"]
    pq.write_table(images_table(lines), made.store.images_path)
    frame = open_results(made.path).style_breakdown()
    assert frame[["label", "n", "undefined"]].to_numpy().tolist() == [["gothic", 7, 1]]


def test_unknown_names_are_answered_with_known_ones(results: Results) -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean 'cls'.*Stored: cls, gradcam"):
        results.style_breakdown(method="clss")


def test_images_without_a_defined_score_are_not_counted(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", metrics=("coverage",), kinds=KINDS[:1])
    frame = open_results(made.path).feature_breakdown(layer=0).set_index("label")
    names = names_of(made, ancestors=False)
    units = unit_scores(
        made, "coverage", by=("image", "region"), model="demo/vit", method="cls", layer=0
    )
    images: dict[str, set[str]] = {label: set() for label in frame.index}
    for (image, region), (value, *_) in units.items():
        if not math.isnan(value):
            images[names[image, region][0]].add(image)
    assert frame["images"].to_dict() == {label: len(found) for label, found in images.items()}
    assert frame["undefined"].any()


@pytest.mark.parametrize(
    ("options", "shown", "note"),
    [
        ({"percentiles": (95, 90, 50)}, "90", ""),
        ({"percentiles": (95, 80)}, "95", "percentile 90 was not computed: percentile 95, the"),
        ({"percentiles": (50, 80)}, "80", "percentile 80, the highest of this study"),
        ({"percentiles": (50, 80), "metrics": ("recall",)}, "80", "percentile 80, the highest"),
        ({"selection": "mass60"}, "mass60", "percentile 90 was not computed: threshold mass60"),
        ({"metrics": ("coverage",)}, "90", ""),
    ],
)
def test_the_percentile_unless_given(
    tmp_path: Path, options: dict[str, Any], shown: str, note: str
) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[7:8], **options)
    with open_results(made.path) as found:
        frame, same = found.feature_breakdown(), found.feature_breakdown(percentile=shown)
        pd.testing.assert_frame_equal(frame, same)
        computed = any(name.startswith("recall") for name in found.metrics)
        assert frame["recall"].notna().all() == computed
        text = export_results(found, tmp_path / "x.md", "markdown").read_text("utf-8")
    assert (
        f"at {'percentile ' if shown.isdigit() else 'threshold '}{shown}: " in frame.attrs["note"]
    )
    assert note in frame.attrs["note"]
    assert ("was not computed" in frame.attrs["note"]) == bool(note)
    assert "was not computed" not in same.attrs["note"]
    assert note in text


def test_one_seed_of_a_baseline(made: Made, results: Results) -> None:
    names = names_of(made, ancestors=False)
    for seed in (0, 1):
        frame = results.feature_breakdown(model="demo/vit", method="random", seed=seed)
        units = unit_scores(
            made,
            "iou@90",
            by=("image", "region"),
            model="demo/vit",
            method="random",
            seed=seed,
        )
        for _, line in frame.iterrows():
            mine = [unit for key, unit in units.items() if line["label"] in names[key]]
            assert line["iou"] == pytest.approx(means(mine)["value"])
        assert f"random · seed {seed}" in frame.attrs["note"]
