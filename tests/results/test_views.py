"""Chance and ceiling of the view against the table of metrics, for every rule of selection."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from sightline.metrics import METRICS, score_maps
from sightline.results import open_results
from sightline.results._views import Name, scores_sql
from sightline.store.duckdb import quote
from tests.results.stores import KINDS, make_store

if TYPE_CHECKING:
    from pathlib import Path

ONE_PASS = [name for name, spec in METRICS.items() if spec.one_pass]
# What the best map reaches where areas set no bound; nss has no end.
BEST = {"kl": 0.0} | dict.fromkeys(
    (
        *("coverage", "average_precision", "pointing", "top_k_pointing", "top_k_any"),
        *("auc_roc", "relevance_rank", "best_iou"),
    ),
    1.0,
)


def direct(seed: int, options: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Score maps on one image; return rows and the columns they were made of."""
    rng = np.random.default_rng(seed)
    maps = np.round(rng.random((3, 10, 10)), 1)
    boxes = np.array([[0.1, 0.1, 0.5, 0.6], [0.4, 0.3, 0.95, 0.9]])
    scores = score_maps(maps, regions=[boxes] * 3, **options)
    keys = {"image": "i", "model": "m", "method": "x", "layer": [0, 1, 2]}
    return scores.to_rows(keys), scores, scores.regions


@pytest.mark.parametrize("ties", ["share", "include"])
@pytest.mark.parametrize("selection", ["percentile", "mass60", "mean", "matched"])
def test_every_chance_and_ceiling_is_that_of_the_engine(ties: str, selection: str) -> None:
    import duckdb

    options = {
        "metrics": [*ONE_PASS, "pointing@tol2", "kl", "nss"],
        "selection": selection,
        "percentiles": (97.5, 90, 50),
        "ties": ties,
    }
    rows, scores, regions = direct(3, options)
    names = {Name(*pair.values()) for pair in rows.select(["metric", "threshold"]).to_pylist()}
    base = duckdb.connect()
    base.register("rows", rows)
    frame = base.sql(scores_sql("rows", names)).to_arrow_table().to_pandas()
    base.close()
    counts = [sum(name.partition("@")[0] in METRICS for name in part) for part in (scores, regions)]
    assert len(frame) == 3 * counts[0] + 3 * 2 * counts[1]
    for columns, mine in (
        (scores, frame[frame["region"].isna()].sort_values("layer")),
        (regions, frame[frame["region"].notna()].sort_values(["layer", "region"])),
    ):
        for name in columns:
            metric, _, token = name.partition("@")
            if metric not in METRICS:
                continue
            got = mine[mine["name"] == name]
            at = f"@{token}" if token else ""
            for column, figure in (("chance", "_chance"), ("uniform", "_uniform")):
                stated = f"{metric}{figure}{at}"
                expected = columns[stated] if stated in columns else np.full(len(got), math.nan)
                np.testing.assert_allclose(got[column], expected, rtol=1e-6, err_msg=stated)
            if METRICS[metric].thresholded:
                np.testing.assert_allclose(
                    got["selected"], columns[f"attention_area{at}"], rtol=1e-6, err_msg=name
                )
            if metric == "iou":
                np.testing.assert_allclose(
                    got["ceiling"], columns[f"iou_ceiling{at}"], rtol=1e-6, err_msg=name
                )
            if METRICS[metric].ceiling is None:
                expected = np.where(got["value"].isna(), math.nan, BEST.get(metric, math.nan))
                np.testing.assert_array_equal(got["ceiling"].astype(float), expected)


def test_rows_beside_metrics_are_no_scores(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[:1], ties="include")
    with open_results(made.path) as found:
        rows = found.query("SELECT DISTINCT metric FROM rows")["metric"]
        scores = found.query("SELECT DISTINCT metric FROM scores")["metric"]
        assert set(rows) - set(scores) == {"attention_area", "top_k_any_chance", "kl_uniform"}
        assert set(scores) == {"iou", "recall", "coverage", "pointing", "average_precision",
                               "top_k_any", "kl"}  # fmt: skip
        assert len(found.query("SELECT * FROM rows")) == len(made.rows)


def test_no_score_is_lost_or_doubled_by_the_joins(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", ties="include", selection=["percentile", "mass60"])
    with open_results(made.path) as found:
        frame = found.query("SELECT * FROM scores")
    real = made.rows[made.rows["metric"].isin(set(METRICS))]
    assert len(frame) == len(real)
    areas = made.rows[made.rows["metric"] == "attention_area"]
    keys = [c for c in made.rows.columns[:14] if c != "metric"]
    merged = real[real["metric"] == "iou"].merge(areas, on=keys, suffixes=("", "_area"))
    mine = frame[frame["metric"] == "iou"].sort_values(keys)["selected"]
    np.testing.assert_array_equal(mine, merged.sort_values(keys)["value_area"])


def test_where_a_score_is_undefined_so_is_its_chance(results: Any) -> None:
    frame = results.query("SELECT value, chance, ceiling FROM scores WHERE name = 'iou@90'")
    missing = frame["value"].isna()
    assert missing.any()
    assert frame["chance"].isna().equals(missing)
    assert frame["ceiling"].isna().equals(missing)


def test_only_the_manifests_own_shards_are_read(made: Any, results: Any) -> None:
    assert len(list(made.store.rows.iterdir())) == len(made.store.shards()) + 1
    frame = results.query("SELECT count(*) AS n FROM rows")
    assert frame["n"][0] == len(made.rows)


def test_all_views_are_there(made: Any, results: Any) -> None:
    views = results.query("SHOW TABLES")["name"].tolist()
    assert views == ["checks", "curves", "images", "regions", "rows", "scores"]
    assert len(results.query("SELECT * FROM images")) == len(made.images)
    assert len(results.query("SELECT * FROM regions")) == len(made.regions)
    assert len(results.query("SELECT * FROM curves")) == len(made.curves)


def test_texts_are_quoted() -> None:
    assert quote("a'b") == "'a''b'"


def test_folders_with_odd_names_can_be_read(tmp_path: Path) -> None:
    made = make_store(tmp_path / "it's [a] 'store' *?", kinds=KINDS[7:8])
    with open_results(made.path) as found:
        assert len(found.leaderboard()) == 1
        assert isinstance(found.image("image00"), pd.DataFrame)


def test_chance_with_a_tolerance_is_only_what_is_stored() -> None:
    """What is near the annotation counts as inside, so that the annotated share says too little."""
    import duckdb

    rows, scores, _ = direct(1, {"metrics": ["pointing", "pointing@tol2"]})
    with duckdb.connect() as base:
        base.register("rows", rows)
        names = [Name("pointing", ""), Name("pointing", "tol2")]
        alone = base.sql(scores_sql("rows", names)).to_arrow_table().to_pandas()
        both = [*names, Name("pointing_chance", "tol2")]
        beside = base.sql(scores_sql("rows", both)).to_arrow_table().to_pandas()
    assert alone[alone["threshold"] == "tol2"]["chance"].isna().all()
    assert alone[(alone["threshold"] == "") & alone["value"].notna()]["chance"].notna().all()
    found = beside[beside["threshold"] == "tol2"].sort_values("layer")["chance"]
    np.testing.assert_allclose(found, scores["pointing_chance@tol2"])
