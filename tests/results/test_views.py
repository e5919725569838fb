"""Chance and ceiling of the view against the table of metrics, for every rule of selection."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from sightline.core import InputError
from sightline.metrics import METRICS, score_maps
from sightline.results import open_results
from sightline.results._views import Name, scores_sql
from sightline.store.duckdb import quote
from sightline.store.schema import (
    build_region_scores_schema,
    build_scores_schema,
    conform,
    list_score_columns,
)
from tests.results.stores import KINDS, make_store

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pyarrow as pa

    from sightline.results import Results
    from tests.results.stores import Made

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
    """Score maps on one image; return their tables and the columns they were made of."""
    rng = np.random.default_rng(seed)
    maps = np.round(rng.random((3, 10, 10)), 1)
    boxes = np.array([[0.1, 0.1, 0.5, 0.6], [0.4, 0.3, 0.95, 0.9]])
    scores = score_maps(maps, regions=[boxes] * 3, **options)
    keys = {"image": "i", "model": "m", "method": "x", "layer": np.arange(3, dtype=np.int16)}
    assert scores.regions is not None
    own = keys | {"layer": scores.regions.map.astype(np.int16)}
    tables = [
        (scores.to_table(keys), build_scores_schema),
        (scores.regions.to_table(own), build_region_scores_schema),
    ]
    found = [
        conform(table, build(list_score_columns(name for name in table.column_names)))
        for table, build in tables
    ]
    return found, scores, scores.regions


def read_scores(tables: list[pa.Table], names: Iterable[Name]) -> pd.DataFrame:
    """Return what the SQL of scores gives for both tables."""
    base = duckdb.connect()
    for name, table in zip(("scores", "region_scores"), tables, strict=True):
        base.register(name, table)
    parts: list[pd.DataFrame] = [
        base.sql(scores_sql(name, table.column_names, names, regions=name == "region_scores")).df()
        for name, table in zip(("scores", "region_scores"), tables, strict=True)
    ]
    base.close()
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("ties", ["share", "include"])
@pytest.mark.parametrize("selection", ["percentile", "mass60", "mean", "matched"])
def test_every_chance_and_ceiling_is_that_of_the_engine(ties: str, selection: str) -> None:
    options = {
        "metrics": [*ONE_PASS, "pointing@tol2", "kl", "nss"],
        "selection": selection,
        "percentiles": (97.5, 90, 50),
        "ties": ties,
    }
    tables, scores, regions = direct(3, options)
    columns = list_score_columns(tables[0].column_names)
    names = [Name(*name.partition("@")[::2]) for name in columns]
    frame = read_scores(tables, [name for name in names if name.metric in METRICS])
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


def test_columns_beside_metrics_are_no_scores(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", kinds=KINDS[:1], ties="include")
    with open_results(made.path) as found:
        stored = {str(name).partition("@")[0] for name in found.scores()}
        scores = found.query("SELECT DISTINCT metric FROM scores_long")["metric"]
    wanted = {"iou", "recall", "coverage", "pointing", "average_precision", "top_k_any", "kl"}
    assert set(scores) == wanted
    assert {"selected_fraction", "top_k_any_chance", "kl_uniform", *wanted} <= stored


def test_no_score_is_lost_or_doubled(tmp_path: Path) -> None:
    made = make_store(tmp_path / "s", ties="include", selection=["percentile", "mass60"])
    with open_results(made.path) as found:
        frame = found.query("SELECT * FROM scores_long")
    real = made.rows[made.rows["metric"].isin(set(METRICS))]
    assert len(frame) == len(real)
    fractions = made.rows[made.rows["metric"] == "selected_fraction"]
    others = ("metric", "value", "area", "visible")
    keys = [name for name in made.rows.columns if name not in others]
    merged = real[real["metric"] == "iou"].merge(fractions, on=keys, suffixes=("", "_selected"))
    mine = frame[frame["metric"] == "iou"].sort_values(keys)["selected"]
    np.testing.assert_array_equal(mine, merged.sort_values(keys)["value_selected"])


def test_wide_views_have_null_for_nan_and_derived_columns(made: Made, results: Results) -> None:
    rows = made.rows[made.rows["region"].isna() & (made.rows["metric"] == "iou")]
    at_90 = rows[rows["threshold"] == "90"]
    ((mean, count, undefined),) = results.query(
        """SELECT avg("iou@90"), count("iou@90"), count(*) FILTER (undefined IS NOT NULL)
        FROM scores"""
    ).to_numpy()
    assert mean == pytest.approx(at_90["value"].mean())
    assert 0 < count == at_90["value"].notna().sum() < len(at_90)
    assert undefined >= len(at_90) - count
    wide = results.query(
        """SELECT "iou@90" AS iou, "iou_chance@90" AS chance, "iou_ceiling@90" AS ceiling,
        "iou_corrected@90" AS corrected FROM scores ORDER BY ALL"""
    )
    long = results.query(
        """SELECT value AS iou, chance, ceiling, NULL AS corrected FROM scores_long
        WHERE name = 'iou@90' AND region IS NULL"""
    )
    for name in ("iou", "chance", "ceiling"):
        np.testing.assert_array_equal(
            np.sort(wide[name].to_numpy(float)), np.sort(long[name].to_numpy(float))
        )
    expected = (wide["iou"] - wide["chance"]) / (wide["ceiling"] - wide["chance"])
    np.testing.assert_allclose(wide["corrected"], expected)


def test_undefined_scores_have_their_reason(made: Made, results: Results) -> None:
    told = results.query("SELECT image, undefined FROM scores WHERE undefined IS NOT NULL")
    by_image = told.groupby("image")["undefined"].first().to_dict()
    assert "empty annotation" in by_image["image01"]
    image = results.image("image01")
    missing = image[image["value"].isna()]
    assert set(missing["undefined"]) <= {"empty annotation", "map sums to zero"}
    assert (image.loc[image["value"].notna(), "undefined"] == "").all()
    zero = results.query("SELECT undefined FROM scores WHERE image = 'image00' AND method = 'cls'")
    assert set(zero["undefined"]) == {"map sums to zero"}


def test_frames_of_scores(made: Made, results: Results) -> None:
    frame = results.scores()
    means = frame.groupby(["model", "method"])["iou@90"].mean()
    rows = made.rows[made.rows["region"].isna() & (made.rows["metric"] == "iou")]
    rows = rows[rows["threshold"] == "90"]
    full = rows["model"] + np.where(rows["variant"] == "", "", "@" + rows["variant"])
    expected = rows.groupby([full, rows["method"]])["value"].mean()
    np.testing.assert_allclose(means.to_numpy(), expected.to_numpy())
    assert means.index.tolist() == expected.index.tolist()
    kept = results.scores(dtype_backend="pyarrow")
    assert kept["iou@90"].isna().sum() < frame["iou@90"].isna().sum()  # NaN is no null
    regions = results.region_scores()
    assert len(regions) == len(made.rows.query("region.notna() and metric == 'coverage'"))
    assert set(regions["level"]) == {"region"} or regions["level"].isna().all()
    with pytest.raises(InputError, match="dtype_backend must be one of numpy, pyarrow"):
        results.scores(dtype_backend="polars")  # type: ignore[arg-type]


def test_where_a_score_is_undefined_so_is_its_chance(results: Any) -> None:
    frame = results.query("SELECT value, chance, ceiling FROM scores_long WHERE name = 'iou@90'")
    missing = frame["value"].isna()
    assert missing.any()
    assert frame["chance"].isna().equals(missing)
    assert frame["ceiling"].isna().equals(missing)


def test_only_the_manifests_own_shards_are_read(made: Any, results: Any) -> None:
    assert len(list(made.store.scores.iterdir())) == len(made.score_files) + 1
    frame = results.query("SELECT count(*) AS n FROM scores_long")
    assert frame["n"][0] == len(made.rows[made.rows["metric"].isin(set(METRICS))])


def test_all_views_are_there(made: Any, results: Any) -> None:
    views = results.query("SHOW TABLES")["name"].tolist()
    assert views == ["checks", "images", "region_scores", "regions", "scores", "scores_long"]
    assert len(results.query("SELECT * FROM images")) == len(made.images)
    assert len(results.query("SELECT * FROM regions")) == len(made.regions)
    board = results.query("SELECT * FROM leaderboard WHERE metric = 'iou@90' ORDER BY rank, model")
    assert board["value"].tolist() == results.leaderboard("iou@90")["value"].tolist()


def test_texts_are_quoted() -> None:
    assert quote("a'b") == "'a''b'"


def test_folders_with_odd_names_can_be_read(tmp_path: Path) -> None:
    made = make_store(tmp_path / "it's [a] 'store' *?", kinds=KINDS[7:8])
    with open_results(made.path) as found:
        assert len(found.leaderboard()) == 1
        assert isinstance(found.image("image00"), pd.DataFrame)


def test_chance_with_a_tolerance_is_only_what_is_stored() -> None:
    """What is near the annotation counts as inside, so that the annotated share says too little."""
    tables, scores, _ = direct(1, {"metrics": ["pointing", "pointing@tol2"]})
    names = [Name("pointing", ""), Name("pointing", "tol2")]
    without = [tables[0].drop_columns("pointing_chance@tol2"), tables[1]]
    alone, beside = read_scores(without, names), read_scores(tables, names)
    alone, beside = (frame[frame["region"].isna()] for frame in (alone, beside))
    assert alone[alone["threshold"] == "tol2"]["chance"].isna().all()
    assert alone[(alone["threshold"] == "") & alone["value"].notna()]["chance"].notna().all()
    found = beside[beside["threshold"] == "tol2"].sort_values("layer")["chance"]
    np.testing.assert_allclose(found, scores["pointing_chance@tol2"])
