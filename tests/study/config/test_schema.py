"""The JSON Schema of a study file, checked by a small reader of schemas."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from sightline.study import Data, Engine, MethodEntry, ModelEntry, Study, demo_study, new_study
from sightline.study import study_schema as make_schema

TYPES: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
    "array": list,
    "object": dict,
}
WORDS = {
    *("$schema", "$defs", "$ref", "title", "description", "default", "type", "anyOf", "enum"),
    *("const", "properties", "required", "additionalProperties", "items", "pattern"),
    *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
}


def fits(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """Say whether a value fits a schema made of `WORDS`."""
    assert set(schema) <= WORDS, set(schema) - WORDS
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        return fits(value, root["$defs"][name], root)
    if "anyOf" in schema:
        return any(fits(value, one, root) for one in schema["anyOf"])
    kind = schema.get("type")
    if kind is not None and not isinstance(value, TYPES[kind]):
        return False
    if isinstance(value, bool) and kind in ("integer", "number"):
        return False
    return (
        value in schema.get("enum", [value])
        and value == schema.get("const", value)
        and _in_limits(value, schema)
        and all(fits(one, schema.get("items", {}), root) for one in _if(list, value))
        and _keys_fit(value, schema, root)
    )


def _if(kind: type, value: Any) -> Any:
    return value if isinstance(value, kind) else kind()


def _in_limits(value: Any, schema: dict[str, Any]) -> bool:
    if isinstance(value, str):
        long = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
        return long and re.search(schema.get("pattern", ""), value) is not None
    if isinstance(value, int | float):
        return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
    if isinstance(value, list):
        return schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))  # type: ignore[no-any-return]
    return True


def _keys_fit(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    if not isinstance(value, dict):
        return True
    known = schema.get("properties", {})
    if schema.get("additionalProperties", True) is False and set(value) - set(known):
        return False
    return set(schema.get("required", ())) <= set(value) and all(
        fits(one, known[key], root) for key, one in value.items() if key in known
    )


SCHEMA = make_schema()
LEAST: dict[str, Any] = {"name": "a", "data": "facades", "methods": "cls"}


def test_it_is_plain_json_with_a_title() -> None:
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    assert SCHEMA["title"] == "Sightline study"
    assert SCHEMA["required"] == ["name", "data", "methods"]
    assert ">>>" not in json.dumps(SCHEMA)


@pytest.mark.parametrize("part", [Study, Data, Engine, MethodEntry, ModelEntry])
def test_every_key_has_a_description_and_no_other_is_allowed(part: Any) -> None:
    schema = SCHEMA if part is Study else SCHEMA["$defs"][part.__name__]
    assert schema["additionalProperties"] is False
    assert list(schema["properties"]) == list(part.model_fields)
    for key, about in schema["properties"].items():
        assert len(about["description"]) > 10, key
        assert about["description"] == part.model_fields[key].description


def test_whole_studies_fit() -> None:
    assert fits(demo_study().to_dict(), SCHEMA, SCHEMA)
    for kind in ("facades", "folder", "maps"):
        assert fits(yaml.safe_load(new_study(kind=kind)), SCHEMA, SCHEMA)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"data": {"name": "facades"}},
        {"models": "demo/vit"},
        {"models": ["demo/vit", {"model": "demo/cnn", "fit": "crop"}]},
        {"methods": ["cls", {"name": "rollout", "params": {"discard": 0.5}, "models": "a"}]},
        {"methods": {"name": "cls", "models": ["a", "b"]}},
        {"layers": 3},
        {"layers": [0, -1]},
        {"heads": "all"},
        {"targets": [3, "label"]},
        {"percentiles": 97.5},
        {"metrics": "iou@90"},
        {"resolution": 224},
        {"seeds": 3},
        {"engine": {"workers": 2}},
        {"engine": "ray"},
        {"engine": {"kind": "ray", "address": "10.0.0.1:6379", "gpus": 0.5}},
        {"engine": {"kind": "ray", "address": "[::1]:6379"}},
        {"sign": None, "batch": None, "heads": None},
    ],
)
def test_what_a_study_reads_the_schema_allows(changes: dict[str, Any]) -> None:
    values = {**LEAST, **changes}
    if "models" not in changes:
        values["models"] = ["a", "b"]
    if changes.get("methods"):
        values["models"] = ["a", "b"]
    assert Study.from_dict(values)
    assert fits(values, SCHEMA, SCHEMA)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "a/b"},
        {"name": 3},
        {"data": {"name": "facade"}},
        {"data": {"name": "facades", "cuont": 3}},
        {"data": {"name": "facades", "count": 0}},
        {"models": [3]},
        {"models": [{"model": "a", "fit": "zoom"}]},
        {"methods": [{"params": {}}]},
        {"layers": "last"},
        {"layers": True},
        {"regions": 1},
        {"resolution": "pixel"},
        {"resolution": 5000},
        {"seeds": [-1]},
        {"methods": []},
        {"metrics": []},
        {"percentiles": [101]},
        {"keep_maps": None},
        {"checks": 3},
        {"checks": {"cascade": {}}},
        {"checks": {"randomisation": {"seeds": 0}}},
        {"checks": {"randomisation": {"ways": ["down"]}}},
        {"checks": {"parts": None}},
        {"engine": "slurm"},
        {"engine": {"kind": "ray", "address": "head"}},
        {"engine": {"kind": "ray", "gpus": -1}},
        {"zzz": 1},
    ],
)
def test_what_a_study_refuses_the_schema_refuses(changes: dict[str, Any]) -> None:
    values = {**LEAST, "models": "a", **changes}
    assert fits({**LEAST, "models": "a"}, SCHEMA, SCHEMA)
    with pytest.raises(ValueError, match="study"):
        Study.from_dict(values)
    assert not fits(values, SCHEMA, SCHEMA)
