"""The columns of the results tables, and tables brought to them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from sightline.store.schema import (
    KEYS,
    MAP_KEYS,
    build_checks_schema,
    build_region_scores_schema,
    build_scores_schema,
    conform,
    list_score_columns,
)

TEXT = pa.dictionary(pa.int32(), pa.string())
SCORES = ["iou@90", "selected_fraction@mass60", "pointing_chance@tol15", "entropy_uniform"]
FACTS = {
    "annotated_fraction": pa.float32(),
    "visible_fraction": pa.float32(),
    "pixels": pa.int32(),
    "undefined": pa.uint16(),
}
NUMBERS = {
    **dict.fromkeys(("layer", "head", "stage_index"), pa.int16()),
    **dict.fromkeys(("seed", "region", "draw"), pa.int32()),
}


def read_types(schema: pa.Schema) -> dict[str, Any]:
    assert all(field.nullable for field in schema)
    return dict(zip(schema.names, schema.types, strict=True))


def keys_of(table: str) -> dict[str, Any]:
    return {name: NUMBERS.get(name, TEXT) for name in KEYS[table]}


def test_every_table_begins_with_the_keys_of_its_maps() -> None:
    assert MAP_KEYS == ("image", "model", "variant", "method", "target", "layer", "head", "seed")
    assert list(KEYS) == ["scores", "region_scores", "checks"]
    for table, keys in KEYS.items():
        assert keys[: len(MAP_KEYS)] == MAP_KEYS, table
        assert len(set(keys)) == len(keys), table


def test_scores_have_keys_facts_scores_and_curves_in_this_order() -> None:
    curves = dict.fromkeys(("roc", "pr"), pa.list_(pa.float32()))
    expected = keys_of("scores") | FACTS | dict.fromkeys(SCORES, pa.float64()) | curves
    schema = build_scores_schema(SCORES)
    assert read_types(schema) == expected
    assert schema.names == list(expected)
    assert build_scores_schema([]).names == [*KEYS["scores"], *FACTS, "roc", "pr"]


def test_region_scores_have_the_region_and_no_curves() -> None:
    expected = keys_of("region_scores") | FACTS | dict.fromkeys(SCORES, pa.float64())
    schema = build_region_scores_schema(iter(SCORES))
    assert read_types(schema) == expected
    assert schema.names == list(expected)
    assert expected["level"] == expected["label"] == TEXT


def test_checks_have_a_column_for_each_measure_and_curve() -> None:
    schema = build_checks_schema(["spearman", "deletion"], ["deletion_curve"])
    points = dict.fromkeys(("curve_fractions", "deletion_curve"), pa.list_(pa.float64()))
    numbers = dict.fromkeys(("spearman", "deletion"), pa.float64())
    assert read_types(schema) == keys_of("checks") | numbers | points
    assert build_checks_schema((), ()).names == [*KEYS["checks"], "curve_fractions"]


@pytest.mark.parametrize("build", [build_scores_schema, build_region_scores_schema])
def test_scores_are_told_from_keys_facts_and_curves(build: Any) -> None:
    assert list_score_columns(build(SCORES).names) == SCORES
    assert list_score_columns(build(()).names) == []
    assert list_score_columns(reversed(build(SCORES).names)) == SCORES[::-1]


def test_a_table_gets_the_columns_of_a_schema_in_their_order() -> None:
    schema = build_scores_schema(["iou@90", "coverage"])
    table = pa.table(
        {
            "coverage": pa.array([0.25, float("nan"), None]),
            "mine": [1, 2, 3],
            "layer": pa.array([0, None, 11], pa.int64()),
            "image": ["b.png", "a.png", "b.png"],
            "roc": pa.array([[0.5], [], None], pa.list_(pa.float64())),
        }
    )
    found = conform(table, schema)
    assert found.schema == schema
    assert found["image"].to_pylist() == ["b.png", "a.png", "b.png"]
    assert found["layer"].to_pylist() == [0, None, 11]
    assert found["roc"].to_pylist() == [[0.5], [], None]
    first, second, third = found["coverage"].to_pylist()
    assert (first, third) == (0.25, None)
    assert second != second  # NaN is no null
    missing = {*schema.names} - {*table.column_names}
    assert all(found[name].null_count == 3 for name in missing)
    assert conform(found, schema).schema == schema


def test_a_table_without_rows_gets_the_columns_too() -> None:
    schema = build_region_scores_schema(["iou@90"])
    for table in (schema.empty_table(), pa.table({"image": pa.array([], pa.string())})):
        assert conform(table, schema).schema == schema
        assert conform(table, schema).num_rows == 0


@pytest.mark.parametrize(
    ("name", "values"), [("layer", [40_000]), ("pixels", ["many"]), ("iou@90", ["high"])]
)
def test_values_that_do_not_fit_a_column_are_refused(name: str, values: list[Any]) -> None:
    with pytest.raises(pa.ArrowInvalid):
        conform(pa.table({name: values}), build_scores_schema(["iou@90"]))
