"""The queries on the page about results run, and its tables name every column."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sightline.attribution.sanity.table import STORED_CURVES, STORED_MEASURES
from sightline.metrics import CONDITIONS
from sightline.results import open_results
from sightline.store import task_name, write_table
from sightline.store.schema import (
    build_checks_schema,
    build_region_scores_schema,
    build_scores_schema,
)
from tests.results.stores import make_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sightline.results import Results
    from tests.results.stores import Made

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text("utf-8")
QUERIES = re.findall(r"^```sql\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
STAGES = ("head", "layer3", "layer2")
FIXED = {
    "scores": build_scores_schema(()),
    "region_scores": build_region_scores_schema(()),
    "checks": build_checks_schema((), ()),
}
"""The results tables without the columns that depend on a study."""


class Expected(NamedTuple):
    """The view that a query reads, and the columns that must be finite numbers in every row."""

    view: str
    finite: tuple[str, ...]


EXPECTED = (
    Expected("scores", ("iou", "chance", "ceiling", "maps")),
    Expected("scores", ("maps", "images")),
    Expected("scores", ("layer", "iou")),
    Expected("region_scores", ("recall", "chance", "n")),
    Expected("scores", ("a", "b", "difference")),
    Expected("scores", ("tpr",)),
    Expected("checks", ("stage_index", "similarity", "n")),
    Expected("scores_long", ("iou", "chance")),
    Expected("leaderboard", ("value", "low", "high", "n")),
    Expected("scores", ("layer", "iou@90", "iou_chance@90")),
)


class Opened(NamedTuple):
    """A small store with checks, and its results."""

    made: Made
    checks: pd.DataFrame
    results: Results

    def query(self, number: int) -> pd.DataFrame:
        """Return what a query of the page finds, counted from 1."""
        return self.results.query(QUERIES[number - 1])

    @property
    def whole(self) -> pd.DataFrame:
        """The scores of whole images with fused heads, and the full names of their models."""
        rows = self.made.rows
        variants = rows["variant"].where(rows["variant"] == "", "@" + rows["variant"])
        rows = rows.assign(model=rows["model"] + variants)
        return rows[rows["region"].isna() & rows["head"].isna()]

    def iou(self) -> pd.DataFrame:
        """Return the IoU at 90 of whole images."""
        rows = self.whole
        return rows[(rows["metric"] == "iou") & (rows["threshold"] == "90")]


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    made = make_store(tmp_path_factory.mktemp("queries") / "run")
    checks = add_checks(made)
    with open_results(made.path) as results:
        yield Opened(made, checks, results)


def add_checks(made: Made) -> pd.DataFrame:
    """Add a randomisation, one similarity of it undefined; return its rows."""
    rng = np.random.default_rng(3)
    keys = {"model": "demo/vit", "variant": "", "method": "cls", "target": "", "rules": "00000002"}
    keys |= {"check": "randomisation", "order": "top-down"}
    lines: list[dict[str, Any]] = [
        {**keys, "image": image, "layer": 3, "draw": draw, "stage_index": index, "stage": stage}
        | {name: float(rng.uniform(-1, 1)) for name in ("spearman", "ssim", "hog", "overlap")}
        for image in made.images["image"][:3]
        for draw in (0, 1)
        for index, stage in enumerate(STAGES)
    ]
    lines[1]["spearman"] = np.nan
    part = "randomisation/top-down"
    source = {**made.kinds[0].manifest(), "check": part, "key": "randomised", "part": "one"}
    chunk = {"images": [line["image"] for line in lines], "digest": "checked"}
    checks = {"checks": [{**source, "options": {}}], "checked": {"one": [chunk]}}
    schema = build_checks_schema(STORED_MEASURES, STORED_CURVES)
    path = made.store.check_file(task_name("randomised", 0, "checked"))
    write_table(path, pa.Table.from_pylist(lines, schema), kind="checks")
    made.store.save_manifest(made.store.manifest() | checks)
    return pd.DataFrame(lines)


def test_the_page_has_ten_queries() -> None:
    assert len(QUERIES) == len(EXPECTED) == 10
    assert len(set(QUERIES)) == 10


@pytest.mark.parametrize("number", range(1, 11))
def test_every_query_returns_rows_with_finite_numbers(opened: Opened, number: int) -> None:
    view, finite = EXPECTED[number - 1]
    assert re.search(rf"\bFROM {view}\b", QUERIES[number - 1])
    found = opened.query(number)
    assert len(found) > 0
    assert np.isfinite(found[[*finite]].to_numpy(float)).all()


# --- the answers are those of the rows -----------------------------------------------------------


def test_means_are_those_of_defined_scores_with_chance_and_ceiling(opened: Opened) -> None:
    groups = opened.iou().groupby(["model", "method"])["value"]
    found = opened.query(1).set_index(["model", "method"]).sort_index()
    assert found["iou"].tolist() == pytest.approx(groups.mean().sort_index().tolist())
    assert found["maps"].tolist() == groups.count().sort_index().tolist()
    assert (found["chance"] < found["ceiling"]).all()


def test_undefined_maps_are_counted_by_their_condition(opened: Opened) -> None:
    rows = opened.made.rows
    rows = rows[rows["region"].isna() & (rows["metric"] == "coverage") & rows["value"].isna()]
    reasons = np.where(rows["image"] == "image01", "empty annotation", "map sums to zero")
    groups = rows.assign(undefined=reasons).groupby(["method", "undefined"])["image"]
    found = opened.query(2).set_index(["method", "undefined"]).sort_index()
    assert found["maps"].to_dict() == groups.count().to_dict()
    assert found["images"].to_dict() == groups.nunique().to_dict()


def test_the_best_layer_has_the_largest_mean(opened: Opened) -> None:
    rows = opened.iou().dropna(subset="layer")
    means = rows.groupby(["model", "method", "layer"])["value"].mean()
    best = means.groupby(["model", "method"]).idxmax()
    found = opened.query(3)
    assert {(*key,) for key in best} == {
        *found[["model", "method", "layer"]].itertuples(index=False, name=None)
    }
    assert found["iou"].max() == pytest.approx(means.max())


def test_labels_are_means_over_their_regions(opened: Opened) -> None:
    rows = opened.made.rows
    chosen = (rows["method"] == "cls") & (rows["layer"] == 3) & rows["head"].isna()
    chosen &= (rows["metric"] == "recall") & (rows["threshold"] == "90") & rows["region"].notna()
    joined = rows[chosen].merge(opened.made.regions[["image", "region", "label"]])
    groups = joined.groupby("label")["value"]
    found = opened.query(4).set_index("label")
    assert found["recall"].to_dict() == pytest.approx(groups.mean().to_dict())
    assert found["n"].to_dict() == groups.count().to_dict()


def test_differences_are_between_maps_of_the_same_image_and_layer(opened: Opened) -> None:
    rows = opened.iou()
    rows = rows[(rows["method"] == "cls") & (rows["layer"] == 3)].set_index("image")
    a, b = (rows[rows["model"] == name]["value"] for name in ("demo/vit", "demo/vit@seed2"))
    expected = (a - b).dropna().to_dict()
    found = opened.query(5).set_index("image")
    assert found["difference"].to_dict() == pytest.approx(expected)
    assert 0 < len(expected) < len(opened.made.images)


def test_the_point_of_a_curve_is_that_at_a_rate_of_a_tenth(opened: Opened) -> None:
    curves = opened.made.curves
    variants = curves["variant"].where(curves["variant"] == "", "@" + curves["variant"])
    curves = curves.assign(model=curves["model"] + variants)
    chosen = (curves["curve"] == "roc") & (curves["point"] == 10) & curves["head"].isna()
    groups = curves[chosen].groupby(["model", "method"])["value"]
    found = opened.query(6).set_index(["model", "method"])["tpr"]
    assert found.to_dict() == pytest.approx(groups.mean().to_dict(), rel=1e-6)


def test_checks_are_means_of_what_is_defined(opened: Opened) -> None:
    groups = opened.checks.groupby("stage")["spearman"]
    found = opened.query(7)
    assert found["stage"].tolist() == [*STAGES]
    assert found.set_index("stage")["similarity"].to_dict() == pytest.approx(
        groups.mean().to_dict()
    )
    assert found["n"].tolist() == [6, 5, 6]


def test_the_long_view_has_the_same_means(opened: Opened) -> None:
    rows = opened.whole
    groups = rows[rows["metric"] == "iou"].groupby(["method", "threshold"])["value"]
    found = opened.query(8).set_index(["method", "threshold"])["iou"]
    assert found.to_dict() == pytest.approx(groups.mean().to_dict())


def test_every_metric_has_a_first_place(opened: Opened) -> None:
    assert {*opened.query(9)["metric"]} == {*opened.results.metrics}


def test_images_below_chance_are_listed(opened: Opened) -> None:
    frame = opened.results.image("image00")
    chosen = (frame["name"] == "iou@90") & frame["region"].isna() & (frame["method"] == "gradcam")
    below = frame[chosen & (frame["value"] < frame["chance"])]
    found = opened.query(10)
    assert (found["iou@90"] < found["iou_chance@90"]).all()
    assert len(below) == (found["image"] == "image00").sum() > 0


# --- the tables of the page ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "view",
    ["scores", "region_scores", "scores_long", "leaderboard", "checks", "images", "regions"],
)
def test_every_column_of_a_view_is_on_the_page(opened: Opened, view: str) -> None:
    """Scores aside: those of a table are named by example, measures on the page of checks."""
    columns = {*opened.results.query(f"DESCRIBE {view}")["column_name"]}
    if view in FIXED:
        assert {*FIXED[view].names} <= columns
        columns = {*FIXED[view].names}
    assert columns <= {*re.findall(r"`(\w+)`", PAGE)}


@pytest.mark.parametrize("table", [*FIXED])
def test_the_page_has_the_types_of_results_tables(table: str) -> None:
    documented = {column: kind for owner, column, kind in list_documented_types() if not owner}
    for field in FIXED[table]:
        kind = describe_type(field.type)
        told = documented.get(field.name) == kind or f"`{field.name}` ({kind})" in PAGE
        assert told, (field.name, kind)


@pytest.mark.parametrize("table", ["images", "regions"])
def test_the_page_has_the_types_of_images_and_regions(opened: Opened, table: str) -> None:
    schema = pq.read_schema(getattr(opened.made.store, f"{table}_path"))
    types = {field.name: describe_type(field.type) for field in schema}
    assert types == {
        column: kind for owner, column, kind in list_documented_types() if owner == table
    }


def describe_type(kind: pa.DataType) -> str:
    """Return a type of Arrow as the page names it."""
    if pa.types.is_list(kind):
        points = "101 " if kind.value_type == pa.float32() else ""
        return f"list of {points}{describe_type(kind.value_type)}"
    if pa.types.is_dictionary(kind):
        return describe_type(kind.value_type)
    return {"string": "text", "float": "float32", "double": "float64"}.get(str(kind), str(kind))


def list_documented_types() -> Iterator[tuple[str, str, str]]:
    """Yield the columns that the page lists with their types: of which table ("": results)."""
    for head, body in re.findall(r"^\| (column.*) \| type \|.*\n.*\n((?:\|.*\n)+)", PAGE, re.M):
        owner = re.search(r"of `(\w+)`", head)
        for names, types in re.findall(r"^\| (`.*?) \| (.*?) \|", body, re.M):
            columns = re.findall(r"`([\w@]+)`", names)
            kinds = types.split(", ") if ", " in types else [types] * len(columns)
            for column, kind in zip(columns, kinds, strict=True):
                yield owner[1] if owner else "", column, kind


def test_the_conditions_have_their_bits() -> None:
    for bit, condition in enumerate(CONDITIONS):
        assert f"\n| {1 << bit} | {condition} |\n" in PAGE
